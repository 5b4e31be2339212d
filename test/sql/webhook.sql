--
-- webhook.sql: bookings that are made elsewhere
--
-- A delivery that is from its source is stored, applied and answered; whatever
-- the order and however often deliveries come, the same is booked in the end.
-- Nothing that is not verified is kept.  Proves DESIGN 10 but for signatures,
-- which are in webhook_sign.sql, and what happens at once, in 160_webhook.pl;
-- R57 to R60, R62, R66.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup
\set helpers :srcdir '/sql/webhook.inc'
SET client_min_messages = error;
\i :helpers

SELECT FROM unnest(ARRAY['room', 'desk']) r, booking_resource_put('hook', r);
SELECT FROM source('cy', 'calendly');
SELECT FROM source('cc', 'calcom');
SELECT FROM source('sw', 'standard');

-- One of each kind.
SELECT same('calendly books', deliver('cy', invitee('invitee.created', 'inv/1', 1, 9)), '200 accepted');
SELECT same('the booking', booked('cy'), 'room 9-10 committed');
SELECT same('the identity', (SELECT concat_ws('/', tenant, principal, intent) FROM booking.intent WHERE principal = 'cy'), 'hook/cy/inv/1');
SELECT same('a copy', deliver('cy', invitee('invitee.created', 'inv/1', 1, 9)), '200 duplicate');
SELECT same('counted', (SELECT copies FROM booking.inbox WHERE source = 'cy'), 2);
SELECT same('calendly cancels', deliver('cy', invitee('invitee.canceled', 'inv/1', 2, 9)), '200 accepted');
SELECT same('the cancel', booked('cy'), '-');
SELECT same('cal.com books', deliver('cc', cal('BOOKING_CREATED', 'u1', 1, 9)), '200 accepted');
SELECT same('cal.com moves', deliver('cc', cal('BOOKING_RESCHEDULED', 'u2', 2, 9.5, '{"rescheduleUid": "u1"}')), '200 accepted');
SELECT same('the move', booked('cc'), 'room 9.5-10.5 committed');
SELECT same('cal.com cancels', deliver('cc', cal('BOOKING_CANCELLED', 'u2', 3, 9.5)), '200 accepted');
SELECT same('nothing is left', booked('cc'), '-');
SELECT same('our own books', deliver('sw', std('created', 's1', 1, 9)), '200 accepted');
SELECT same('our own moves', deliver('sw', std('rescheduled', 's1', 2, 9.5)), '200 accepted');
SELECT same('under the same id', booked('sw'), 'room 9.5-10.5 committed');
SELECT same('by another intent', (SELECT intent FROM booking.webhook_booking WHERE source = 'sw'), 's1#1');
SELECT same('our own cancels', deliver('sw', std('canceled', 's1', 3, 9.5)), '200 accepted');
SELECT same('nothing is left here', booked('sw'), '-');

-- Late creations, older and equal versions.
SELECT same('late', deliver('sw', std('created', 's1', 0, 9)) || ': ' || last('sw'), '200 accepted: ignored canceled');
SELECT same('late and newer', deliver('sw', std('created', 's1', 9, 9)) || ': ' || last('sw'), '200 accepted: ignored canceled');
SELECT same('late creations are counted', (SELECT deliveries FROM booking.webhook_count WHERE source = 'sw' AND verdict = 'late_create'), 2::bigint);
SELECT same('older', (SELECT string_agg(deliver('sw', std(e, 's2', v, f)) || ': ' || last('sw'), ', ') FROM (VALUES ('created', 5, 9), ('rescheduled', 4, 11), ('rescheduled', 5, 12)) AS x (e, v, f)),
			'200 accepted: applied, 200 accepted: ignored older, 200 accepted: ignored same_version');
SELECT same('stays', booked('sw'), 'room 9-10 committed');
SELECT same('an altered copy is no copy', deliver('sw', std('created', 's2', 5, 13)) || ': ' || last('sw'), '200 duplicate: ignored altered_copy');
SELECT same('and changes nothing', booked('sw'), 'room 9-10 committed');
SELECT same('a replay lets the first of a version count', (SELECT string_agg(changed || ' ' || failed, ', ') FROM generate_series(1, 2), booking_webhook_replay('sw')) || ': ' || booked('sw'), '0 0, 0 0: room 9-10 committed');
SELECT same('and counts nothing again', (SELECT deliveries FROM booking.webhook_count WHERE source = 'sw' AND verdict = 'late_create'), 2::bigint);
SELECT same('an older cancel is a cancel', deliver('sw', std('canceled', 's2', 1, 9)) || ': ' || booked('sw'), '200 accepted: -');

-- Halves of a reschedule, in either order.
SELECT FROM booking_webhook_source_put('hook', 'cy', settings => '{"pair_wait": 600}');
SELECT FROM deliver('cy', invitee('invitee.created', 'p1', 1, 9));
SELECT same('half a pair waits', deliver('cy', invitee('invitee.canceled', 'p1', 2, 9, '{"rescheduled": true, "new_invitee": "p2"}')) || ': ' || last('cy'),
			'200 accepted: waiting other_half');
SELECT same('and keeps its units', booked('cy'), 'room 9-10 committed');
SELECT fails('a source in use is not removed', $$SELECT booking_webhook_source_remove('cy')$$, '55006');
SELECT same('the other half', deliver('cy', invitee('invitee.created', 'p2', 2, 9.5, '{"old_invitee": "p1"}')) || ': ' || booked('cy'), '200 accepted: room 9.5-10.5 committed');
SELECT same('nothing waits', (SELECT count(*) FROM booking.inbox WHERE state = 'waiting'), 0::bigint);
SELECT same('swapped', (SELECT successor FROM booking.intent WHERE principal = 'cy' AND intent = 'p1'), 'p2');
SELECT same('first the new one', deliver('cy', invitee('invitee.created', 'p3', 3, 10, '{"old_invitee": "p2"}')) || ': ' || booked('cy'), '200 accepted: room 10-11 committed');
SELECT same('then the old one', deliver('cy', invitee('invitee.canceled', 'p2', 3, 9.5, '{"rescheduled": true, "new_invitee": "p3"}')) || ': ' || last('cy'), '200 accepted: ignored canceled');

-- Only one half: it is a cancel in the end.
SELECT FROM deliver('cy', invitee('invitee.canceled', 'p3', 4, 10, '{"rescheduled": true, "new_invitee": "p4"}'));
SELECT same('kept', booked('cy'), 'room 10-11 committed');
SELECT same('not yet', (SELECT changed FROM booking_webhook_replay('cy')), 0::bigint);
SET booking.clock_offset = 601;
SELECT same('released', (SELECT changed FROM booking_webhook_replay('cy')), 1::bigint);
SELECT same('freed', booked('cy'), '-');
RESET booking.clock_offset;
SELECT same('later the other half', deliver('cy', invitee('invitee.created', 'p4', 5, 11, '{"old_invitee": "p3"}')) || ': ' || booked('cy'), '200 accepted: room 11-12 committed');
SELECT FROM deliver('cy', invitee('invitee.canceled', 'p4', 6, 11));

-- A cancel without a link, as for a reschedule that the host asked for.
SELECT FROM deliver('cc', cal('BOOKING_CREATED', 'r1', 1, 9));
SELECT FROM deliver('cc', cal('BOOKING_CANCELLED', 'r1', 2, 9, '{"requestReschedule": true}'));
SELECT same('tombstone', booked('cc'), '-');
SELECT same('its successor', deliver('cc', cal('BOOKING_CREATED', 'r2', 3, 10, '{"rescheduleUid": "r1"}')) || ': ' || booked('cc'), '200 accepted: room 10-11 committed');
SELECT same('linked, not revived', (SELECT state FROM booking.webhook_booking WHERE source = 'cc' AND booking = 'r1'), 'ended');
SELECT FROM deliver('cc', cal('BOOKING_CANCELLED', 'r2', 4, 10));

-- The name of the event is a hint.
SELECT same('a request books nothing', deliver('cc', cal('BOOKING_REQUESTED', 'q1', 1, 9)) || ': ' || last('cc') || ': ' || booked('cc'), '200 accepted: ignored pending: -');
SELECT same('a request that is accepted does', deliver('cc', cal('BOOKING_REQUESTED', 'q1', 2, 9, '{"status": "ACCEPTED"}')) || ': ' || booked('cc'), '200 accepted: room 9-10 committed');
SELECT same('a creation that is rejected ends it', deliver('cc', cal('BOOKING_CREATED', 'q1', 3, 9, '{"status": "REJECTED"}')) || ': ' || booked('cc'), '200 accepted: -');

-- What nobody here can use: kept, and answered for good.
SELECT same('unknown type', deliver('cy', b('{"event": "routing_form_submission.created", "payload": {}}')) || ': ' || last('cy'), '200 ignored: ignored unknown_type');
SELECT same('flat', deliver('cc', b('{"triggerEvent": "MEETING_STARTED", "uid": "x"}')) || ': ' || last('cc'), '200 ignored: ignored unknown_type');
SELECT same('a prefix is another name', deliver('cy', b('{"event": "invitee.created2", "payload": {}}')) || ': ' || last('cy'), '200 ignored: ignored unknown_type');
SELECT same('unusable: ' || what, deliver('cy', body) || ': ' || last('cy'), '200 unusable: ignored ' || reason)
  FROM (VALUES ('no JSON', b('x'), 'malformed'), ('empty', ''::bytea, 'malformed'), ('an array', b('[]'), 'malformed'),
		('NUL', b(replace(convert_from(invitee('invitee.created', 'a@b', 1, 9), 'UTF8'), 'a@b', 'a\u0000b')), 'no_booking'),
		('bad UTF-8', '\x7b2265223a22ff227d'::bytea, 'malformed'), ('a NUL byte', '\x7b00'::bytea, 'malformed'),
		('no type', b('{"payload": {}}'), 'no_type'),
		('no booking', b('{"event": "invitee.created", "created_at": "2030-01-01T00:00:00Z", "payload": {"scheduled_event": {"start_time": "2030-01-01T00:00:00Z", "end_time": "2030-01-01T01:00:00Z"}}}'), 'no_booking'),
		('a long booking', invitee('invitee.created', repeat('x', 300), 1, 9), 'no_booking'),
		('no time', invitee('invitee.created', 'n1', 1, 9, '{"scheduled_event": {}}'), 'no_time'),
		('backwards', invitee('invitee.created', 'n2', 1, 9, '{"scheduled_event": {"start_time": "2030-01-01T02:00:00Z", "end_time": "2030-01-01T01:00:00Z"}}'), 'no_time'),
		('wrong shapes', b('{"event": "invitee.created", "payload": [1]}'), 'no_booking')) AS x (what, body, reason);
SELECT same('nothing of it is booked', booked('cy'), '-');
SELECT same('the bytes are kept', (SELECT count(*) FROM booking.inbox WHERE body = '\x7b00'), 1::bigint);

-- No place: a visible conflict, and not an error.
SELECT FROM booking_permit_all('hook', 'ann');
SELECT FROM booking_claim('hook', 'ann', 'mine', 'room', h(9, 10));
SELECT same('no place', deliver('cc', cal('BOOKING_CREATED', 'c1', 1, 9.5)) || ': ' || last('cc'), '200 accepted: applied resource_conflict');
SELECT same('visible', booked('cc'), 'room 9.5-10.5 conflict');
SELECT same('as a conflict', (SELECT concat_ws(' ', kind, object, hours(during)) FROM booking.conflict WHERE tenant = 'hook' AND resolved_at IS NULL), 'elsewhere c1 9.5-10.5');
SELECT same('moved to where there is place', deliver('cc', cal('BOOKING_RESCHEDULED', 'c2', 2, 10, '{"rescheduleUid": "c1"}')) || ': ' || booked('cc'), '200 accepted: room 10-11 committed');
SELECT same('and over', (SELECT count(*) FROM booking.conflict WHERE tenant = 'hook' AND resolved_at IS NULL), 0::bigint);
SELECT same('moved to where there is none', deliver('cc', cal('BOOKING_RESCHEDULED', 'c3', 3, 9, '{"rescheduleUid": "c2"}')) || ': ' || booked('cc'), '200 accepted: room 9-10 conflict');
SELECT FROM deliver('cc', cal('BOOKING_CANCELLED', 'c3', 4, 9));
SELECT same('over again', booked('cc') || (SELECT count(*) FROM booking.conflict WHERE tenant = 'hook' AND resolved_at IS NULL), '-0');

-- What was canceled here does not come back from there.
SELECT FROM booking_cancel('hook', 'sw', 'local');
SELECT same('canceled here', deliver('sw', std('created', 'local', 1, 12)) || ': ' || last('sw') || ': ' || booked('sw'), '200 accepted: ignored canceled: -');

-- Mappings: the most special name counts, and a replay changes what a fix changes.
SELECT FROM booking_webhook_map('cy', '*', NULL);
SELECT same('unmapped', deliver('cy', invitee('invitee.created', 'm1', 1, 14)) || ': ' || last('cy') || ': ' || booked('cy'), '200 accepted: failed unmapped: -');
SELECT same('still unmapped', (SELECT r::text FROM booking_webhook_replay('cy') r) ~ '^\(\d+,0,1\)$', true);
SELECT FROM booking_webhook_map('cy', 'https://api.example.com/users/u', 'desk');
SELECT same('mapped', (SELECT r::text FROM booking_webhook_replay('cy') r) ~ '^\(\d+,1,0\)$', true);
SELECT same('by its host', booked('cy') || ': ' || (SELECT state FROM booking.inbox WHERE booking = 'm1'), 'desk 14-15 committed: applied');
SELECT same('again', (SELECT r::text FROM booking_webhook_replay('cy') r) ~ '^\(\d+,0,0\)$', true);
SELECT FROM booking_webhook_map('cy', 'https://api.example.com/event_types/room', 'room');
SELECT same('listed', (SELECT r::text FROM booking_webhook_replay_list('cy', ARRAY(SELECT delivery FROM booking.inbox WHERE booking = 'm1')) r), '(1,1,0)');
SELECT same('by its type', booked('cy'), 'room 14-15 committed');
SELECT same('in a time', (SELECT r::text FROM booking_webhook_replay('cy', tstzrange('2020-01-01 00:00+00', '2020-01-02 00:00+00')) r), '(0,0,0)');
SELECT FROM deliver('cy', invitee('invitee.canceled', 'm1', 2, 14));
SELECT FROM booking_permit('hook', 'cy', 'room', false);
SELECT same('denied', deliver('cy', invitee('invitee.created', 'm2', 1, 14)) || ': ' || last('cy'), '200 accepted: failed denied');
SELECT FROM booking_permit('hook', 'cy', 'room');
SELECT same('then permitted', (SELECT changed FROM booking_webhook_replay('cy')), 1::bigint);
SELECT FROM deliver('cy', invitee('invitee.canceled', 'm2', 2, 14));

-- What only causes a reading.
SELECT FROM source('ac', 'acuity');
SELECT same('acuity', deliver('ac', b('action=scheduled&id=12&calendarID=3&appointmentTypeID=4')) || ': ' || last('ac'), '200 accepted: read_wanted');
SELECT same('is told twice', deliver('ac', b('action=changed&id=12&calendarID=3&appointmentTypeID=4')), '200 duplicate');
SELECT same('by its other name', deliver('ac', b('id=13&action=appointment.canceled')) || ': ' || last('ac'), '200 accepted: read_wanted');
SELECT same('an order', deliver('ac', b('action=order.completed&id=1')), '200 ignored');
SELECT same('a broken form', deliver('ac', b('action=sched%zz')) || ': ' || last('ac'), '200 unusable: ignored malformed');
SELECT same('nothing is booked by it', booked('ac'), '-');

-- Who reads takes it, and tells what was found.
SELECT max(delivery) FILTER (WHERE booking = '12') AS d12, max(delivery) FILTER (WHERE booking = '13') AS d13 FROM booking.inbox WHERE source = 'ac' \gset
SELECT same('to be read', (SELECT string_agg(delivery || ' ' || booking, ', ') FROM booking_webhook_reads('ac')), :'d12' || ' 12, ' || :'d13' || ' 13');
SELECT same('the same until it is done', (SELECT string_agg(booking, ', ') FROM booking_webhook_reads('ac', 1)), '12');
SELECT same('what is told then is another', deliver('ac', b('action=changed&id=12')), '200 accepted');
SELECT same('found', booking_webhook_read_done('ac', :d12, jsonb_build_object('start', iso(18), 'end', iso(19))), 'applied');
SELECT same('and booked', booked('ac'), 'room 18-19 committed');
SELECT same('gone', booking_webhook_read_done('ac', :d13, NULL), 'applied');
SELECT fails('done once', format('SELECT booking_webhook_read_done(%L, %s, NULL)', 'ac', :'d12'), '55000', 'delivery');
SELECT fails('of its source', format('SELECT booking_webhook_read_done(%L, %s, NULL)', 'cy', :'d12'), '55000', 'delivery');
SELECT max(delivery) AS d12 FROM booking.inbox WHERE source = 'ac' AND booking = '12' \gset
SELECT fails('found what: ' || f, format('SELECT booking_webhook_read_done(%L, %s, %L)', 'ac', :'d12', f), '22023', 'found')
  FROM unnest(ARRAY['1', '[]', '{}', '{"start": 1, "end": 2}', '{"start": "2030-01-01", "end": "2030-01-02"}']) f;
SELECT same('found elsewhere', booking_webhook_read_done('ac', :d12, jsonb_build_object('start', iso(20), 'end', iso(21))), 'applied');
SELECT same('and moved', booked('ac'), 'room 20-21 committed');
SELECT same('a replay asks for nothing that was read', (SELECT changed FROM booking_webhook_replay('ac')) || ' ' || (SELECT count(*) FROM booking_webhook_reads('ac')), '0 0');
SELECT FROM deliver('ac', b('action=canceled&id=12'));
SELECT same('found canceled', (SELECT string_agg(booking_webhook_read_done('ac', delivery, NULL), ' ') FROM booking_webhook_reads('ac')) || ' ' || booked('ac'), 'applied -');

-- Failures in a row.
SELECT same('bad', (SELECT verdict FROM booking_webhook_receive('sw', standard('x', 'a'), 'a')), 'bad_signature');
SELECT same('and bad again', (SELECT verdict FROM booking_webhook_receive('sw', '[]', 'a')), 'missing_signature');
SELECT same('two in a row', (SELECT failures || ' ' || problem FROM booking.webhook_source WHERE source = 'sw'), '2 missing_signature');
SELECT same('nothing of it is kept', (SELECT count(*) FROM booking.inbox WHERE body = 'a'), 0::bigint);
SELECT same('but counted', (SELECT string_agg(verdict || deliveries, ' ' ORDER BY verdict) FROM booking.webhook_count WHERE source = 'sw' AND verdict <> 'late_create'), 'bad_signature1 missing_signature1');
SELECT same('a good one', deliver('sw', std('canceled', 'z', 1, 9)), '200 accepted');
SELECT same('none in a row', (SELECT failures FROM booking.webhook_source WHERE source = 'sw'), 0);

-- Sources, and who may.
SELECT fails('kind', $$SELECT booking_webhook_source_put('hook', 'new', 'x')$$, '22023', 'kind');
SELECT fails('no kind', $$SELECT booking_webhook_source_put('hook', 'new')$$, '22004', 'kind');
SELECT fails('another kind', $$SELECT booking_webhook_source_put('hook', 'cy', 'calcom')$$, '55000');
SELECT fails('another tenant', $$SELECT booking_webhook_source_put('other', 'cy', 'calendly')$$, '42710', 'source');
SELECT fails('settings: ' || s, format('SELECT booking_webhook_source_put(%L, %L, %L, %L)', 'hook', 'new', 'calcom', s), '22023', 'settings')
  FROM unnest(ARRAY['[]', '1', '{"tolerance": 0}', '{"tolerance": 1.5}', '{"tolerance": "1"}', '{"tolerence": 1}', '{"pair_wait": -1}', '{"max_bytes": 100000000}', '{"terms": 1}', '{"terms": []}']) s;
SELECT fails('no secret', $$SELECT booking_webhook_secret_put('cy', '')$$, '22023', 'secret');
SELECT fails('a secret of its kind', $$SELECT booking_webhook_secret_put('sw', 'whsec_short')$$, '22023', 'secret');
SELECT fails('unknown source', $$SELECT booking_webhook_secret_put('nobody', 'x')$$, '42704');
SELECT fails('unknown resource', $$SELECT booking_webhook_map('cy', 'k', 'nothing')$$, '42704');
SELECT fails('headers: ' || s, format('SELECT booking_webhook_receive(%L, %L, %L)', 'cy', s, 'x'), '22023', 'headers')
  FROM unnest(ARRAY['1', '"x"', '["x"]', '[["x"]]', '[["x", 1]]', '[["x", "y", "z"]]', '[[["x"], "y"]]', '{"x": ["y"]}', '{"x": 1}']) s;
SELECT same('unknown', (SELECT r.status || r.verdict FROM booking_webhook_receive('nobody', '{}', 'x') r), '404unknown_source');
DROP ROLE IF EXISTS regress_booking_hook;
CREATE ROLE regress_booking_hook;
GRANT USAGE ON SCHEMA test TO regress_booking_hook;
SET ROLE regress_booking_hook;
SELECT fails('nobody may receive', $$SELECT booking_webhook_receive('cy', '{}', 'x')$$, '42501', NULL, false);
RESET ROLE;
GRANT EXECUTE ON FUNCTION booking_webhook_receive(text, jsonb, bytea, text), booking_webhook_source_put(text, text, text, jsonb), booking_webhook_secret_put(text, text) TO regress_booking_hook;
SET ROLE regress_booking_hook;
SELECT fails('nobody reads secrets', $$SELECT * FROM booking.webhook_secret$$, '42501', NULL, false);
SELECT fails('nor manages what is not his', $$SELECT booking_webhook_source_put('hook', 'cy')$$, '42501');
SELECT fails('nor learns of sources', $$SELECT booking_webhook_secret_put('nobody', 'x')$$, '42501');
SELECT same('receives without a binding', (SELECT r.status || r.verdict FROM booking_webhook_receive('sw', standard('k', std('created', 'by role', 1, 16)), std('created', 'by role', 1, 16)) r), '200accepted');
RESET ROLE;
SELECT same('and it is booked', booked('sw'), 'room 16-17 committed');
REVOKE ALL ON FUNCTION booking_webhook_receive(text, jsonb, bytea, text), booking_webhook_source_put(text, text, text, jsonb), booking_webhook_secret_put(text, text) FROM regress_booking_hook;
REVOKE ALL ON SCHEMA test FROM regress_booking_hook;
DROP ROLE regress_booking_hook;

-- Evidence stays, and what ended stays ended.
SELECT fails('evidence', $$UPDATE booking.inbox SET body = '' WHERE source = 'cy'$$, '55000', NULL, false);
SELECT fails('ended', $$UPDATE booking.webhook_booking SET state = 'live', resource = 'room', during = test.h(1, 2) WHERE source = 'cy' AND booking = 'p1'$$, '55000', NULL, false);
SELECT FROM booking_webhook_source_remove('cc');
SELECT same('removed', (SELECT r.status || r.verdict FROM booking_webhook_receive('cc', '{}', 'x') r), '404unknown_source');
SELECT same('its secrets are gone', (SELECT count(*) FROM booking.webhook_secret WHERE source = 'cc'), 0::bigint);
SELECT fails('its name is not', $$SELECT booking_webhook_source_put('other', 'cc', 'calcom')$$, '42710', 'source');
SELECT FROM source('cc', 'calcom');
SELECT same('put again it remembers', deliver('cc', cal('BOOKING_CREATED', 'c3', 9, 9)) || ': ' || last('cc'), '200 accepted: ignored canceled');

SELECT done();
