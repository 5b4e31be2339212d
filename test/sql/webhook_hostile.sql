--
-- webhook_hostile.sql: a sender who means ill, or repeats what was seen
--
-- What a source signs may be repeated for ever where the time is not signed, so
-- that nothing of it may grow: neither the inbox, nor what is booked.  An id of
-- one booking never stands for another's intent.  Where a sender writes to the
-- calendar of the resource by itself, its booking is neither refused, because
-- that calendar is busy then, nor written twice.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup
\set helpers :srcdir '/sql/webhook.inc'
SET client_min_messages = error;
\i :helpers

SELECT FROM booking_resource_put('hostile', 'room');
SELECT FROM source('hcc', 'calcom', tenant => 'hostile');
SELECT FROM source('hsw', 'standard', tenant => 'hostile');
SELECT FROM source('hac', 'acuity', tenant => 'hostile');
CREATE FUNCTION test.kept(source text)
RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(concat_ws(' ', i.verdict, i.reason, i.copies), ', ' ORDER BY i.delivery) FROM booking.inbox i WHERE i.source = kept.source;
$$;

-- The inbox keeps what it cannot use once.
SELECT same('unknown', (SELECT string_agg(deliver('hcc', b('{"triggerEvent": "MEETING_ENDED"}')), ', ') FROM generate_series(1, 3)), '200 ignored, 200 ignored, 200 ignored');
SELECT same('malformed', (SELECT string_agg(deliver('hcc', b('{')), ', ') FROM generate_series(1, 3)), '200 unusable, 200 unusable, 200 unusable');
SELECT same('kept once', kept('hcc'), 'ignored unknown_type 3, unusable malformed 3');
SELECT same('each is a failure', (SELECT failures FROM booking.webhook_source WHERE source = 'hcc'), 3);
SELECT same('for a person', (SELECT concat_ws(' ', principal, kind, tries, problem, calls) FROM booking.recovery WHERE tenant = 'hostile' AND kind = 'webhook'), 'hcc webhook 3 malformed {"SELECT * FROM booking_webhook_replay(''hcc'')"}');
SELECT same('others are others', deliver('hcc', b('{ ')), '200 unusable');
SELECT FROM deliver('hcc', cal('BOOKING_CREATED', 'u1', 1, 9));
SELECT same('altered', (SELECT string_agg(deliver('hcc', cal('BOOKING_CREATED', 'u1', 1, 10)), ', ') FROM generate_series(1, 3)), '200 duplicate, 200 duplicate, 200 duplicate');
SELECT same('kept once, too', (SELECT string_agg(concat_ws(' ', verdict, reason, copies), ', ' ORDER BY delivery) FROM booking.inbox WHERE source = 'hcc' AND booking = 'u1'), 'accepted 4, duplicate altered_copy 3');
SELECT same('and booked as it was', booked('hcc'), 'room 9-10 committed');

-- Headers: a name in any case and once, a value that is a signature as a whole.
CREATE FUNCTION test.verdict(source text, headers jsonb, body bytea)
RETURNS text
LANGUAGE sql
AS $$
	SELECT r.status || ' ' || r.verdict FROM booking_webhook_receive(verdict.source, verdict.headers, verdict.body) r;
$$;
SELECT same('header: ' || what, verdict('hcc', headers, b('{"triggerEvent": "MEETING_ENDED"}')), want)
  FROM encode(hmac(b('key'), b('{"triggerEvent": "MEETING_ENDED"}')), 'hex') h,
  LATERAL (VALUES ('mixed case', jsonb_build_object('X-CaL-sIgNaTuRe-256', h), '200 ignored'),
		('twice as members', jsonb_build_object('x-cal-signature-256', h, 'X-Cal-Signature-256', h), '401 malformed_signature'),
		('twice, one empty', jsonb_build_array(jsonb_build_array('x-cal-signature-256', h), jsonb_build_array('x-cal-signature-256', '')), '401 malformed_signature'),
		('folded', jsonb_build_object('x-cal-signature-256', left(h, 32) || E'\r\n ' || substr(h, 33)), '401 malformed_signature'),
		('a line behind', jsonb_build_object('x-cal-signature-256', h || E'\n'), '401 malformed_signature'),
		('joined by a proxy', jsonb_build_object('x-cal-signature-256', h || ', ' || h), '401 malformed_signature'),
		('full width', jsonb_build_object('x-cal-signature-256', translate(h, '0123456789', U&'\FF10\FF11\FF12\FF13\FF14\FF15\FF16\FF17\FF18\FF19')), '401 malformed_signature'),
		('very long', jsonb_build_object('x-cal-signature-256', repeat(h, 10000)), '401 malformed_signature'),
		('a longer name', jsonb_build_object('x-cal-signature-2567', h), '401 missing_signature'),
		('a blank in the name', jsonb_build_object('x-cal-signature-256 ', h), '401 missing_signature'),
		('an underscore', jsonb_build_object('x_cal_signature_256', h), '401 missing_signature'),
		('as a value', jsonb_build_object('a', 'x-cal-signature-256', 'b', h), '401 missing_signature'),
		('among many', (SELECT jsonb_agg(jsonb_build_array('h' || n, 'x-cal-signature-256')) FROM generate_series(1, 10000) n) || jsonb_build_array(jsonb_build_array('x-cal-signature-256', h)), '200 ignored'),
		('of another kind', calendly('key', b('{"triggerEvent": "MEETING_ENDED"}')), '401 missing_signature'),
		('of one more', standard('k', b('{"triggerEvent": "MEETING_ENDED"}')), '401 missing_signature'),
		('by another secret', calcom('Key', b('{"triggerEvent": "MEETING_ENDED"}')), '401 bad_signature'),
		('by a NUL more', calcom('key', b('{"triggerEvent": "MEETING_ENDED"}') || '\x00'), '401 bad_signature')) AS x (what, headers, want);
SELECT fails('no empty secret', $$SELECT booking_webhook_secret_put('hcc', '')$$, '22023', 'secret');
SELECT FROM booking_resource_put('hostile_other', 'room');
SELECT FROM source('other', 'calcom', tenant => 'hostile_other');
SELECT FROM booking_webhook_secret_retire('other', 'key'), booking_webhook_secret_put('other', 'theirs');
SELECT same('by the secret of another tenant', verdict('other', calcom('key', b('{}')), b('{}')) || ', ' || verdict('hcc', calcom('theirs', b('{}')), b('{}')), '401 bad_signature, 401 bad_signature');
SELECT fails('a source of another tenant', $$SELECT booking_webhook_source_put('hostile', 'other', 'calcom')$$, '42710', 'source');

-- A booking whose id looks like another's that was moved.
SELECT FROM deliver('hsw', std('created', 'a', 1, 11));
SELECT FROM deliver('hsw', std('rescheduled', 'a', 2, 12));
SELECT same('moved', booked('hsw') || ' ' || (SELECT intent FROM booking.webhook_booking WHERE source = 'hsw' AND booking = 'a'), 'room 12-13 committed a#1');
SELECT same('a cancel of another', deliver('hsw', std('canceled', 'a#1', 1, 12)) || ': ' || booked('hsw'), '200 accepted: room 12-13 committed');
SELECT same('a booking of another', deliver('hsw', std('created', 'a#2', 1, 13)) || ': ' || booked('hsw'), '200 accepted: room 12-13 committed, room 13-14 committed');
SELECT same('moved on', deliver('hsw', std('rescheduled', 'a', 3, 14)) || ': ' || booked('hsw'), '200 accepted: room 13-14 committed, room 14-15 committed');
SELECT same('each by its own', (SELECT string_agg(booking || ' ' || intent, ', ' ORDER BY booking) FROM booking.webhook_booking WHERE source = 'hsw'), 'a a#2, a#1 a#1#0, a#2 a#2#0');
SELECT same('ids with a mark', (SELECT string_agg(deliver('hsw', std('created', id, 1, n)), ', ') FROM (VALUES ('#', 15), ('#1', 16), ('1', 17), ('a#', 18), ('a#1x', 19)) AS x (id, n)), '200 accepted, 200 accepted, 200 accepted, 200 accepted, 200 accepted');
SELECT same('are what they are', (SELECT string_agg(intent, ', ' ORDER BY intent) FROM booking.webhook_booking WHERE source = 'hsw' AND booking !~ '^a#?[12]?$'), '#, #1#0, 1, a#1x');

-- Ids that look alike are not the same, and what no label may hold is none.
SELECT FROM deliver('hsw', std('created', U&'caf\00e9', 1, 20));
SELECT FROM deliver('hsw', std('canceled', U&'cafe\0301', 2, 20));
SELECT same('composed', (SELECT state FROM booking.webhook_booking WHERE source = 'hsw' AND booking = U&'caf\00e9'), 'live');
SELECT same('no id: ' || what, deliver('hsw', b(replace(convert_from(std('canceled', 'idid', 9, 20), 'UTF8'), 'idid', id))) || ': ' || last('hsw'), '200 unusable: ignored no_booking')
  FROM (VALUES ('NUL', 'a\u0000'), ('half a pair', 'a\ud800'), ('a blank', 'a '), ('no width', 'a\u200b'), ('turned', 'a\u202e'), ('a line', 'a\n'), ('none', ''), ('long', repeat('a', 189))) AS x (what, id);

-- Of names that repeat the last one counts, here as at whoever signed it.
SELECT same('twice', deliver('hsw', b(replace(convert_from(std('created', 'twice', 1, 21), 'UTF8'), '"version"', '"id": "once", "version"'))) || ': ' || last('hsw'), '200 accepted: applied');
SELECT same('the last one', (SELECT string_agg(booking, ' ') FROM booking.inbox WHERE source = 'hsw' AND booking IN ('once', 'twice')), 'once');

-- A sender that writes to the calendar of the resource.
SELECT fails('by_calendar is a boolean', $$SELECT booking_webhook_source_put('hostile', 'hsw', settings => '{"by_calendar": 1}')$$, '22023', 'settings');
SELECT FROM booking_resource_put('hostile', 'desk');
SELECT FROM booking_account_put('hostile', 'acc', 'caldav', 'https://calendar.example.org/dav/');
SELECT FROM booking_calendar_put('hostile', 'desk', 'acc', '/u/desk/', 'desk');
CREATE FUNCTION test.asked()
RETURNS bigint
LANGUAGE sql
AS $$
	WITH gone AS (DELETE FROM booking.sync_request r USING booking.calendar c WHERE c.calendar_id = r.calendar_id AND c.tenant = 'hostile' RETURNING 1) SELECT count(*) FROM gone;
$$;
SELECT FROM asked();
SELECT FROM source('hby', 'standard', tenant => 'hostile');
SELECT FROM booking_webhook_map('hby', '*', 'desk');
SELECT same('before', deliver('hby', std('created', 'before', 1, 9)) || ': ' || booked('hby'), '200 accepted: desk 9-10 approved');
SELECT FROM booking_webhook_source_put('hostile', 'hby', settings => '{"by_calendar": true}');
SELECT same('a booking', deliver('hby', std('created', 'b1', 1, 11)) || ': ' || last('hby') || ': ' || booked('hby'), '200 accepted: applied: desk 9-10 approved');
SELECT same('is read', asked(), 1::bigint);
SELECT same('moved, and read', deliver('hby', std('rescheduled', 'b1', 2, 12)) || ' ' || asked(), '200 accepted 1');
SELECT same('canceled, and read', deliver('hby', std('canceled', 'b1', 3, 12)) || ' ' || asked(), '200 accepted 1');
SELECT same('replayed', (SELECT r::text FROM booking_webhook_replay('hby') r) || ' ' || asked(), '(4,0,0) 1');
SELECT same('what was booked before ends', deliver('hby', std('canceled', 'before', 2, 9)) || ': ' || booked('hby'), '200 accepted: -');
SELECT FROM booking_webhook_source_put('hostile', 'hac', settings => '{"by_calendar": true}');
SELECT FROM booking_webhook_map('hac', '*', 'desk');
SELECT FROM asked();
SELECT same('of Acuity', (SELECT string_agg(deliver('hac', b('action=changed&id=12')) || ' ' || asked(), ', ') FROM generate_series(1, 2)), '200 accepted 1, 200 duplicate 1');
SELECT same('kept once for all', kept('hac') || ' ' || last('hac'), 'accepted 2 applied');
SELECT FROM booking_webhook_map('hby', '*', NULL);
SELECT same('of nothing that is mapped', deliver('hby', std('created', 'b2', 1, 11)) || ': ' || last('hby'), '200 accepted: failed unmapped');

SELECT done();
