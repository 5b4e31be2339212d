--
-- busy.sql: what is in calendars takes time of resources
--
-- A busy event that is not of our own making blocks its resource for every
-- function that books or looks for time; one that is canceled or transparent
-- does not; what it is about is told to nobody.  A proposal is bound to what
-- calendars said: what they say at the approval is shown, and an overlap stands
-- in its way.  The worker does not run here: events and watermarks are written
-- as its rounds write them.  Proves R41 and R54 (what is known of a calendar
-- decides) and DESIGN 9.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

-- Events of a calendar.  What a title, an organizer or an attendee would be, is
-- "secret": it must show up nowhere.
CREATE FUNCTION test.event(c text, o text, d tstzrange, busy boolean DEFAULT true,
						   status text DEFAULT 'confirmed', owner text DEFAULT NULL)
RETURNS void
LANGUAGE sql
AS $$
	INSERT INTO booking.event (calendar_id, seen_round, object, during, busy, status, transparency,
		intent_id, organizer, attendees, problem)
	SELECT calendar_id, 1, o, d, busy, status, CASE WHEN busy OR status = 'canceled' THEN 'opaque' ELSE 'transparent' END,
		(SELECT intent_id FROM booking.intent WHERE tenant = 'busy' AND intent = owner),
		'secret@example.org', '[{"email": "secret@example.org"}]', CASE WHEN status = 'unknown' THEN 'secret' END
	  FROM booking.calendar WHERE tenant = 'busy' AND calendar = c;
$$;
CREATE FUNCTION test.no_event(c text, o text)
RETURNS void
LANGUAGE sql
AS $$
	DELETE FROM booking.event e USING booking.calendar k
	 WHERE k.calendar_id = e.calendar_id AND k.tenant = 'busy' AND k.calendar = c AND e.object = o;
$$;
-- A round has read a calendar.
CREATE FUNCTION test.round(c text)
RETURNS void
LANGUAGE sql
AS $$
	UPDATE booking.cursor k SET watermark = watermark + 1 FROM booking.calendar x
	 WHERE x.calendar_id = k.calendar_id AND x.tenant = 'busy' AND x.calendar = c;
$$;
CREATE FUNCTION test.why(detail jsonb)
RETURNS text
LANGUAGE sql
AS $$
	SELECT concat_ws(' ', detail ->> 'reason', detail ->> 'resource', detail ->> 'calendar',
		CASE WHEN detail ?| '{from,until}' THEN
			hours(tstzrange((detail ->> 'from')::timestamptz, (detail ->> 'until')::timestamptz)) END);
$$;
CREATE FUNCTION test.claim(i text, r text, d tstzrange, units int DEFAULT 1)
RETURNS text
LANGUAGE sql
AS $$
	SELECT c.disposition || coalesce(' ' || nullif(why(c.detail), ''), '') FROM booking_claim('busy', 'p', i, r, d, units => units) c;
$$;
CREATE FUNCTION test.free(r text[], d tstzrange, units int DEFAULT 1)
RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(hours(f), ' ') FROM booking_free('busy', 'p', r, d, '15 min', units => units) f;
$$;

SET client_min_messages = error;
SELECT FROM booking_permit_all('busy', 'p');
SELECT FROM booking_permit_all('busy', 'boss');
SELECT FROM unnest('{room,hall,plain,desk}'::text[]) r, booking_resource_put('busy', r);
SELECT FROM booking_resource_put('busy', 'seats', 3);
SELECT FROM booking_account_put('busy', 'acc', 'caldav', 'https://calendar.example.org/');
SELECT FROM booking_account_put('busy', 'one', 'caldav', 'https://calendar.example.org/', '{"busy_blocks": "one"}');
SELECT FROM booking_calendar_put('busy', 'room-w', 'acc', '/room/', 'room');
SELECT FROM booking_calendar_put('busy', 'room-b', 'acc', '/room-people/', 'room', 'busy');
SELECT FROM booking_calendar_put('busy', 'hall-b', 'acc', '/hall/', 'hall', 'busy');
SELECT FROM booking_calendar_put('busy', 'seats-b', 'acc', '/seats/', 'seats', 'busy');
SET client_min_messages = warning;

-- The four functions that see a foreign event, in calendars of both roles.
SELECT FROM event('room-w', 'e1', h(10, 11));
SELECT FROM event('room-b', 'e2', h(14, 15));
SELECT same('claim, write calendar', claim('c1', 'room', h(10.5, 11.5)), 'resource_conflict calendar_busy room room-w 10-11');
SELECT same('claim, busy calendar', claim('c2', 'room', h(13, 14.5)), 'resource_conflict calendar_busy room room-b 14-15');
SELECT same('is recorded', show(booking_claim('busy', 'p', 'c1', 'room', h(10.5, 11.5))), 'resource_conflict conflict replayed');
SELECT same('holds nothing', held('busy', 'p', 'c1'), 0);
SELECT same('nothing is wanted', (SELECT count(*) FROM booking.operation WHERE tenant = 'busy'), 0);
SELECT same('beside it', claim('c3', 'room', h(11, 12)), 'committed');
SELECT same('a resource without calendars', claim('c4', 'plain', h(10, 11)), 'committed');
SELECT same('all: none is held', (SELECT why(detail) || ' ' || held('busy', 'p', 'all') FROM
	booking_claim_all('busy', 'p', 'all', '{plain,hall,room}', h(14, 14.5))), 'calendar_busy room room-b 14-15 0');
SELECT FROM booking_slot_put('busy', 'room', 'early', h(10, 10.5));
SELECT same('slot', (SELECT disposition || ' ' || why(detail) FROM booking_claim_slot('busy', 'p', 'slot', 'room', 'early', 1)),
			'resource_conflict calendar_busy room room-w 10-11');
SELECT same('hold', (SELECT disposition || ' ' || why(detail) FROM booking_propose('busy', 'p', 'hold', 'room', h(10, 11), hold_for => '1 hour')),
			'resource_conflict calendar_busy room room-w 10-11');
SELECT same('is not recorded', (booking_status('busy', 'p', 'hold')).disposition, 'unknown_intent');
SELECT same('a proposal without a hold is not judged yet', (booking_propose('busy', 'p', 'later', 'room', h(10, 11))).disposition, 'proposed');
SELECT same('but its approval is', (SELECT disposition || ' ' || why(detail) FROM booking_approve('busy', 'boss', 'p', 'later', 1)),
			'needs_proposal calendar_busy room room-w 10-11');
SELECT same('free', free('{room}', h(9, 16)), '9-10 12-14 15-16');
SELECT same('free of two', free('{room,plain}', h(9, 16)), '9-10 12-14 15-16');

-- What does not block, and what does.
SELECT FROM event('hall-b', 'transparent', h(9, 10), busy => false);
SELECT FROM event('hall-b', 'canceled', h(9, 10), busy => false, status => 'canceled');
SELECT FROM event('hall-b', 'no time', NULL, busy => false, status => 'unknown');
SELECT FROM event('hall-b', 'tentative', h(10, 11), status => 'tentative');
SELECT FROM event('hall-b', 'unknown', h(12, 38), status => 'unknown');
SELECT FROM event('hall-b', 'endless', tstzrange(lower(h(100, 101)), NULL));
SELECT same('transparent and canceled', claim('d1', 'hall', h(9, 10)), 'committed');
SELECT same('tentative', claim('d2', 'hall', h(10, 11)), 'resource_conflict calendar_busy hall hall-b 10-11');
SELECT same('unknown: the widest span', claim('d3', 'hall', h(36, 37)), 'resource_conflict calendar_busy hall hall-b 12-38');
SELECT same('without an end', claim('d4', 'hall', h(1000, 1001)), 'resource_conflict calendar_busy hall hall-b 100-');
SELECT same('free beside it', free('{hall}', h(9, 200)), '11-12 38-100');
SELECT same('nothing is free', free('{hall}', h(150, 200)), NULL);

-- Units: an event takes all of them, or one.
SELECT FROM event('seats-b', 'e', h(9, 10));
SELECT same('all units', claim('u1', 'seats', h(9, 10)), 'resource_conflict calendar_busy seats seats-b 9-10');
SELECT same('beside', claim('u2', 'seats', h(10, 11), 3), 'committed');
SELECT same('free', free('{seats}', h(8, 12)), '8-9 11-12');
SELECT FROM booking_account_put('busy', 'acc', 'caldav', settings => '{"busy_blocks": "one"}');
SELECT same('one unit: two are left', claim('u3', 'seats', h(9, 10), 2), 'committed');
SELECT same('not three', claim('u4', 'seats', h(9.5, 9.75)), 'resource_conflict calendar_busy seats seats-b 9-10');
SELECT same('without it as well', claim('u4b', 'seats', h(9.5, 9.75), 2), 'resource_conflict occupied seats 9-10');
SELECT same('canceled', (booking_cancel('busy', 'p', 'u3')).state, 'canceled');
SELECT same('three at once', claim('u5', 'seats', h(9, 10), 3), 'resource_conflict calendar_busy seats seats-b 9-10');
SELECT same('one and one', claim('u6', 'seats', h(9, 10)) || claim('u7', 'seats', h(9, 10)), 'committedcommitted');
SELECT same('and no more', claim('u8', 'seats', h(9, 10)), 'resource_conflict calendar_busy seats seats-b 9-10');
SELECT same('free units', free('{seats}', h(8, 12)) || ', ' || free('{seats}', h(8, 12), 2), '8-9 11-12, 8-9 11-12');
SELECT same('of one unit it is all', claim('u9', 'hall', h(10, 11)), 'resource_conflict calendar_busy hall hall-b 10-11');
SELECT FROM booking_account_put('busy', 'acc', 'caldav', settings => '{"busy_blocks": "none"}');
SELECT same('none', claim('u10', 'hall', h(10, 11)), 'committed');
SELECT same('none of it is free time lost', free('{room}', h(13, 16)), '13-16');
SELECT FROM booking_account_put('busy', 'acc', 'caldav', settings => '{}');
SELECT same('all again', claim('u11', 'room', h(14, 15)), 'resource_conflict calendar_busy room room-b 14-15');
SELECT fails('what it may say: ' || s, format('SELECT booking_account_put(''busy'', ''acc'', ''caldav'', settings => %L)', s),
			 '22023', 'settings')
  FROM unnest('{"{\"busy_blocks\": \"some\"}","{\"busy_blocks\": null}","{\"busy_blocks\": true}"}'::text[]) s;

-- Buffers: an event has those of the resource, as a booking has.
SELECT FROM booking_resource_put('busy', 'desk', buffer_before => '10 min', buffer_after => '20 min');
SET client_min_messages = error;
SELECT FROM booking_calendar_put('busy', 'desk-b', 'acc', '/desk/', 'desk', 'busy');
SET client_min_messages = warning;
SELECT same('a booking', claim('b0', 'desk', h(6, 7)), 'committed');
SELECT FROM event('desk-b', 'e', h(10, 11));
SELECT same('free as beside a booking', free('{desk}', h(4, 14)), '4-5.5 7.5-9.5 11.5-14');
SELECT same('too close before', claim('b1', 'desk', h(8, 9.51)), 'resource_conflict calendar_busy desk desk-b 10-11');
SELECT same('too close after', claim('b2', 'desk', h(11.49, 12)), 'resource_conflict calendar_busy desk desk-b 10-11');
SELECT same('far enough', claim('b3', 'desk', h(8, 9.5)) || claim('b4', 'desk', h(11.5, 12)), 'committedcommitted');

-- Calendars come and go, also within a transaction that is taken back.
SELECT FROM event('hall-b', 'e3', h(60, 61));
SELECT same('blocked', claim('k1', 'hall', h(60, 61)), 'resource_conflict calendar_busy hall hall-b 60-61');
BEGIN;
SELECT FROM booking_calendar_remove('busy', 'hall-b');
SELECT same('not while it is gone', claim('k2', 'hall', h(60, 61)), 'committed');
ROLLBACK;
SELECT same('blocked again', claim('k2', 'hall', h(60, 61)), 'resource_conflict calendar_busy hall hall-b 60-61');
SELECT FROM booking_calendar_put('busy', 'hall-b', 'acc', '/hall/', 'plain', 'busy');
SELECT same('it shows another resource now', claim('k3', 'hall', h(60, 61)), 'committed');
SELECT same('whose time it takes', claim('k4', 'plain', h(60, 61)), 'resource_conflict calendar_busy plain hall-b 60-61');
SELECT FROM booking_calendar_put('busy', 'hall-b', 'acc', '/hall/', 'hall', 'busy');
UPDATE booking.calendar SET resource = NULL WHERE tenant = 'busy' AND calendar = 'hall-b';
SELECT same('changed directly', free('{hall}', h(62, 120)), '62-120');
UPDATE booking.calendar SET resource = 'hall' WHERE tenant = 'busy' AND calendar = 'hall-b';
SELECT same('and back', free('{hall}', h(62, 120)), '62-100');

-- Our own events are in nobody's way but where somebody moved them.
CREATE FUNCTION test.created(i text)
RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
	UPDATE booking.intent SET state = 'creating' WHERE tenant = 'busy' AND intent = i;
	UPDATE booking.intent SET state = 'created', remote = 'confirmed', event = 'present' WHERE tenant = 'busy' AND intent = i;
	UPDATE booking.operation o SET state = 'confirmed' FROM booking.intent n WHERE n.intent_id = o.intent_id AND n.tenant = 'busy' AND n.intent = i;
END
$$;
SELECT FROM unnest('{own,neighbour}'::text[]) r, booking_resource_put('busy', r, 2);
SELECT FROM booking_calendar_put('busy', 'own-w', 'acc', '/own/', 'own');
SELECT FROM booking_calendar_put('busy', 'neighbour-w', 'acc', '/own/', 'neighbour');
SELECT FROM booking_calendar_put('busy', 'guest-b', 'acc', '/guest/', 'neighbour', 'busy');
SELECT same('a booking', claim('o1', 'own', h(9, 10)), 'committed');
SELECT FROM created('o1');
SELECT FROM event('own-w', 'o1', h(9, 10), owner => 'o1');
SELECT same('its event takes what it holds', claim('o2', 'own', h(9, 10)), 'committed');
SELECT FROM event('neighbour-w', 'o1', h(9, 10), owner => 'o1');
SELECT same('nor of another resource in the same collection', claim('o3', 'neighbour', h(9, 10)), 'committed');
SELECT FROM no_event('own-w', 'o1');
SELECT FROM event('own-w', 'o1', h(12, 13), owner => 'o1');
SELECT same('moved away from what it holds', claim('o4', 'own', h(12, 13)), 'resource_conflict calendar_busy own own-w 12-13');
SELECT same('the booking itself may follow', (booking_claim('busy', 'p', 'o5', 'own', h(12, 13), supersedes => 'o1')).disposition, 'committed');
SELECT FROM no_event('own-w', 'o1');
SELECT same('a copy elsewhere, without its marker', claim('o6', 'own', h(20, 21)), 'committed');
INSERT INTO booking.event (calendar_id, seen_round, object, during, busy, status, transparency, uid)
SELECT c.calendar_id, 1, 'copy', h(20, 21), true, 'confirmed', 'opaque', o.event_id
  FROM booking.calendar c, booking.operation o JOIN booking.intent i USING (intent_id)
 WHERE c.tenant = 'busy' AND c.calendar IN ('guest-b', 'own-w') AND i.tenant = 'busy' AND i.intent = 'o6';
SELECT same('is known by its UID', claim('o7', 'own', h(20, 21)), 'committed');
SELECT same('and blocks a resource that the booking does not hold', claim('o8', 'neighbour', h(20, 21)), 'resource_conflict calendar_busy neighbour guest-b 20-21');

-- An exchange looks at all of its new time; an override heeds nothing.
SELECT FROM created('c3');
SELECT FROM event('room-b', 'x1', h(12.5, 13));
SELECT same('moved onto an event', (SELECT disposition || ' ' || why(detail) FROM booking_claim('busy', 'p', 'x1', 'room', h(11.5, 12.75), supersedes => 'c3')),
			'resource_conflict calendar_busy room room-b 12.5-13');
SELECT same('the booking stands', show(booking_status('busy', 'p', 'c3')), 'historical_retry created receipt replayed remote=confirmed event=present');
SELECT same('moved beside it', (booking_claim('busy', 'p', 'x2', 'room', h(11.25, 12.5), supersedes => 'c3')).disposition, 'committed');
SELECT same('on purpose', (booking_override('busy', 'p', 'x3', 'room', h(14, 15), 1, '{}', 'the board meets')).disposition, 'committed');

-- A proposal is bound to what calendars said.
SELECT FROM booking_resource_put('busy', 'loft');
SELECT FROM booking_calendar_put('busy', 'loft-w', 'acc', '/loft/', 'loft');
SELECT FROM booking_calendar_put('busy', 'ann', 'acc', '/ann/', NULL, 'busy', 'Ann@example.org');
SELECT FROM round('loft-w');
CREATE FUNCTION test.propose(i text, d tstzrange, terms jsonb DEFAULT '{}')
RETURNS booking_proposal
LANGUAGE sql
AS $$
	SELECT booking_propose('busy', 'p', i, 'loft', d, terms => terms);
$$;
CREATE FUNCTION test.approve(i text, v int DEFAULT 1)
RETURNS text
LANGUAGE sql
AS $$
	SELECT concat_ws(' ', disposition, nullif(why(detail), ''), detail -> 'drift') FROM booking_approve('busy', 'boss', 'p', i, v);
$$;
SELECT same('the snapshot names calendar and watermark', (propose('p1', h(9, 10))).snapshot,
			'{"resources": {"loft": 1}, "calendars": {"loft-w": 1}}');
SELECT same('approved as proposed', approve('p1'), 'committed');
SELECT same('an attendee''s calendar matters', (propose('p2', h(10, 11), '{"event": {"attendees": [{"email": "ann@EXAMPLE.org"}]}}')).snapshot -> 'calendars',
			'{"ann": 0, "loft-w": 1}');
SELECT FROM round('ann');
SELECT FROM round('loft-w');
SELECT FROM event('loft-w', 'elsewhere', h(30, 31));
SELECT same('an unrelated change is shown', approve('p2'),
			'committed {"ann": {"present": 1, "proposed": 0}, "loft-w": {"present": 2, "proposed": 1}}');
SELECT same('and stays', (booking_status('busy', 'p', 'p2')).detail -> 'drift' ->> 'ann', '{"present": 1, "proposed": 0}');
SELECT same('proposed', (propose('p3', h(11, 12))).disposition, 'proposed');
SELECT FROM event('loft-w', 'news', h(11.5, 13));
SELECT FROM round('loft-w');
SELECT same('an overlap', approve('p3'), 'needs_proposal calendar_changed loft loft-w 11.5-13 {"loft-w": {"present": 3, "proposed": 2}}');
SELECT same('replays', (SELECT disposition || ' ' || why(detail) FROM booking_approve('busy', 'boss', 'p', 'p3', 1)),
			'needs_proposal calendar_changed loft loft-w 11.5-13');
SELECT same('another time', (booking_propose('busy', 'p', 'p3', 'loft', h(13, 14), after_version => 1)).version, 2);
SELECT same('is approved', approve('p3', 2), 'committed');
SELECT same('held', (booking_propose('busy', 'p', 'p4', 'loft', h(15, 16), hold_for => '1 hour')).disposition, 'held');
SELECT FROM event('loft-w', 'news 2', h(15, 16));
SELECT FROM round('loft-w');
SELECT same('a hold keeps no calendar free', approve('p4'), 'needs_proposal calendar_changed loft loft-w 15-16 {"loft-w": {"present": 4, "proposed": 3}}');
SELECT same('and is given back', held('busy', 'p', 'p4'), 0);

-- Attendees may have other plans that were known; new ones are news.
SELECT FROM event('ann', 'lunch', h(17, 18));
SELECT same('known', jsonb_array_length((propose('p5', h(17, 18), '{"event": {"attendees": [{"email": "ann@example.org"}]}}')).snapshot -> 'overlaps'), 1);
SELECT FROM round('ann');
SELECT same('is no obstacle', approve('p5'), 'committed {"ann": {"present": 2, "proposed": 1}}');
SELECT same('the operation remembers it', (SELECT cardinality(known_events) FROM booking.operation JOIN booking.intent i USING (intent_id)
			WHERE i.tenant = 'busy' AND i.intent = 'p5'), 1);
SELECT same('proposed', (propose('p6', h(18, 19), '{"event": {"attendees": [{"email": "ann@example.org"}]}}')).disposition, 'proposed');
SELECT FROM event('ann', 'dinner', h(18.5, 20));
SELECT FROM round('ann');
SELECT same('news', approve('p6'), 'needs_proposal calendar_changed ann 18.5-20 {"ann": {"present": 3, "proposed": 2}}');
SELECT same('attendees block no claim', (booking_claim('busy', 'p', 'p7', 'loft', h(19, 20), terms => '{"event": {"attendees": [{"email": "ann@example.org"}]}}')).disposition, 'committed');

-- What was approved and came to nothing gives way to the next version, which can
-- be approved as well.
CREATE FUNCTION test.proposals(i text)
RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(concat_ws(' ', p.version, p.state, p.decided_by), ', ' ORDER BY p.version)
	  FROM booking.proposal p JOIN booking.intent n USING (intent_id) WHERE n.tenant = 'busy' AND n.intent = i;
$$;
SELECT same('proposed', (propose('g1', h(21, 22))).disposition, 'proposed');
SELECT same('approved', approve('g1'), 'committed');
UPDATE booking.intent SET state = 'creating' WHERE tenant = 'busy' AND intent = 'g1';
DELETE FROM booking.reservation v USING booking.intent i WHERE i.intent_id = v.intent_id AND i.tenant = 'busy' AND i.intent = 'g1';
UPDATE booking.intent SET state = 'failed', disposition = 'failed', remote = 'rejected' WHERE tenant = 'busy' AND intent = 'g1';
UPDATE booking.operation o SET state = 'rejected' FROM booking.intent i WHERE i.intent_id = o.intent_id AND i.tenant = 'busy' AND i.intent = 'g1';
SELECT same('proposed again', (propose('g1', h(22, 23))).version, 2);
SELECT same('the first one gave way', proposals('g1'), '1 displaced boss, 2 open');
SELECT same('approved again', approve('g1', 2), 'committed');
SELECT same('one is approved', proposals('g1'), '1 displaced boss, 2 approved boss');
SELECT fails('a decided one stays as it is: ' || s, format($$UPDATE booking.proposal SET %s WHERE version = 2
	AND intent_id = (SELECT intent_id FROM booking.intent WHERE tenant = 'busy' AND intent = 'g1')$$, s), '55000')
  FROM unnest('{"state = ''open''","state = ''displaced'', decided_by = ''me''","reason = ''x''"}'::text[]) s;

-- Four eyes: a claim becomes a proposal, which is judged when it is approved.
SELECT FROM booking_tenant_put('busy', true);
SELECT same('claimed', claim('f1', 'loft', h(11.5, 12)), 'proposed');
SELECT same('approved', approve('f1'), 'needs_proposal calendar_busy loft loft-w 11.5-13');
SELECT FROM booking_tenant_put('busy', false);

-- Nothing of what an event is about is told to anybody.
SELECT same('no secret', (SELECT count(*) FROM booking.intent x WHERE tenant = 'busy' AND x::text ~ 'secret')
			+ (SELECT count(*) FROM booking.proposal x WHERE x::text ~ 'secret')
			+ (SELECT count(*) FROM booking.audit x WHERE tenant = 'busy' AND x::text ~ 'secret'), 0);
SELECT FROM booking_permit_all('busy', 'p', false);
SELECT same('denied tells nothing', show(booking_claim('busy', 'p', 'z1', 'room', h(10, 11))) || (booking_claim('busy', 'p', 'z1', 'room', h(10, 11))).detail,
			'denied -{}');
SELECT fails('nor does free time', $$SELECT booking_free('busy', 'p', '{room}', h(9, 16), '1 hour')$$, '42501');

SELECT done();
