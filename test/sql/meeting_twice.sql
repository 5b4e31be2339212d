--
-- meeting_twice.sql: one meeting in two calendars of a resource is one
--
-- Where an event takes one unit, the same meeting seen through two accounts takes
-- one unit and not two: it has one UID (R50).  Other times of a series, and other
-- meetings at that time, are what they are.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

CREATE FUNCTION test.event(c text, o text, uid text, d tstzrange)
RETURNS void
LANGUAGE sql
AS $$
	INSERT INTO booking.event (calendar_id, seen_round, object, occurrence, during, busy, status, transparency, uid)
	SELECT calendar_id, 1, o, lower(d), d, true, 'confirmed', 'opaque', uid
	  FROM booking.calendar WHERE tenant = 'twice' AND calendar = c;
$$;
CREATE FUNCTION test.claim(i text, d tstzrange, units int DEFAULT 1)
RETURNS text
LANGUAGE sql
AS $$
	SELECT disposition FROM booking_claim('twice', 'p', i, 'desks', d, units => units);
$$;
CREATE FUNCTION test.free(units int)
RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(hours(f), ' ') FROM booking_free('twice', 'p', '{desks}', h(8, 14), '15 min', units => units) f;
$$;

SET client_min_messages = error;
SELECT FROM booking_permit_all('twice', 'p');
SELECT FROM booking_resource_put('twice', 'desks', 3);
SELECT FROM unnest('{here,there}'::text[]) a,
	booking_account_put('twice', a, 'caldav', 'https://' || a || '.example.org/', '{"busy_blocks": "one"}');
SELECT FROM unnest('{here,there}'::text[]) a, booking_calendar_put('twice', a, a, '/desks/', 'desks', 'busy');

-- A meeting that both calendars have, twice a day, and two that one has.
SELECT FROM event('here', 'a', 'meeting', h(9, 10));
SELECT FROM event('there', 'b', 'meeting', h(9, 10));
SELECT FROM event('here', 'a', 'meeting', h(11, 12));
SELECT FROM event('there', 'b', 'meeting', h(11.5, 12.5));
SELECT FROM event('here', 'c', 'one', h(13, 14));
SELECT FROM event('there', 'd', 'another', h(13, 14));

SELECT same('two of three are free beside it', free(2), '8-11.5 12-13');
SELECT same('two may be claimed', claim('i1', h(9, 10), 2), 'committed');
SELECT same('three may not', claim('i2', h(9, 10)), 'resource_conflict');
SELECT same('another time of it takes another', claim('i3', h(11.5, 12), 2), 'resource_conflict');
SELECT same('so one is left', claim('i4', h(11.5, 12)), 'committed');
SELECT same('another meeting takes another', claim('i5', h(13, 14), 2), 'resource_conflict');
SELECT FROM event('here', 'e', NULL, h(8, 9));
SELECT FROM event('there', 'e', NULL, h(8, 9));
SELECT same('what has no UID is no other', claim('i6', h(8, 9), 2), 'resource_conflict');

SELECT done();
