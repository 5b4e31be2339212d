--
-- slots.sql: labels of a resource with an interval and a version
--
-- A slot claim names label and version, and books the interval that the label
-- has at that version.  Proves R4 for the sequential part.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM booking_permit_all('slots', 'p');
SELECT FROM booking_resource_put('slots', 'room');
SELECT FROM booking_resource_put('slots', 'class', 5);

CREATE FUNCTION test.booked(i text)
RETURNS text
LANGUAGE sql
AS $$
	SELECT concat_ws(' ', slot, hours(during), state) FROM booking.intent WHERE tenant = 'slots' AND intent = i;
$$;

-- Versions: NULL takes the next one, equal values change nothing, and what
-- does not go forward is refused.
SELECT same('new', booking_slot_put('slots', 'room', 'a', h(9, 10)), 1);
SELECT same('equal', booking_slot_put('slots', 'room', 'a', h(9, 10)), 1);
SELECT same('equal with its version', booking_slot_put('slots', 'room', 'a', h(9, 10), 1), 1);
SELECT same('moved', booking_slot_put('slots', 'room', 'a', h(9, 10.5)), 2);
SELECT same('a version of one''s own', booking_slot_put('slots', 'room', 'a', h(9, 11), 10), 10);
SELECT same('equal, a later version', booking_slot_put('slots', 'room', 'a', h(9, 11), 20), 20);
SELECT same('the next one', booking_slot_put('slots', 'room', 'a', h(9, 10)), 21);
SELECT fails('the present version', $$SELECT booking_slot_put('slots', 'room', 'a', h(9, 12), 21)$$, '55000', 'version');
SELECT fails('an earlier version', $$SELECT booking_slot_put('slots', 'room', 'a', h(9, 12), 20)$$, '55000', 'version');
SELECT same('nothing moved', (SELECT hours(during) || ' ' || version FROM booking.slot WHERE tenant = 'slots' AND slot = 'a'), '9-10 21');
SELECT same('new with a version', booking_slot_put('slots', 'room', 'b', h(10, 11), 7), 7);
SELECT fails('unknown resource', $$SELECT booking_slot_put('slots', 'nowhere', 'a', h(9, 10))$$, '42704', 'resource');
SELECT fails('unknown tenant', $$SELECT booking_slot_put('slots none', 'room', 'a', h(9, 10))$$, '42704', 'resource');
SELECT same('a slot changes no resource', (SELECT version FROM booking.resource WHERE tenant = 'slots' AND resource = 'room'), 1);

-- Claims.
SELECT same('claim', show(booking_claim_slot('slots', 'p', 'c1', 'room', 'a', 21)), 'committed committed receipt');
SELECT same('its time', booked('c1'), 'a 9-10 committed');
SELECT same('held', (SELECT hours(occupied) FROM booking.reservation JOIN booking.intent USING (intent_id)
			WHERE intent.tenant = 'slots' AND intent = 'c1'), '9-10');
SELECT same('replay', show(booking_claim_slot('slots', 'p', 'c1', 'room', 'a', 21)), 'historical_retry committed receipt replayed');
SELECT same('taken', show(booking_claim_slot('slots', 'p', 'c2', 'room', 'a', 21)), 'resource_conflict conflict');
SELECT same('taken for a plain interval as well', show(booking_claim('slots', 'p', 'c3', 'room', h(9.5, 10))), 'resource_conflict conflict');
SELECT same('stale', show(booking_claim_slot('slots', 'p', 'c4', 'room', 'b', 6)), 'inventory_conflict conflict');
SELECT same('stale replays', show(booking_claim_slot('slots', 'p', 'c4', 'room', 'b', 6)), 'inventory_conflict conflict replayed');
SELECT same('too new', show(booking_claim_slot('slots', 'p', 'c5', 'room', 'b', 8)), 'inventory_conflict conflict');
SELECT same('unknown', show(booking_claim_slot('slots', 'p', 'c6', 'room', 'nowhere', 1)), 'inventory_conflict conflict');
SELECT same('unknown: has no time', booked('c6'), 'nowhere conflict');
SELECT same('unknown replays', show(booking_claim_slot('slots', 'p', 'c6', 'room', 'nowhere', 1)), 'inventory_conflict conflict replayed');
SELECT same('made later, it replays still', booking_slot_put('slots', 'room', 'nowhere', h(20, 21)), 1);
SELECT same('for ever', show(booking_claim_slot('slots', 'p', 'c6', 'room', 'nowhere', 1)), 'inventory_conflict conflict replayed');
SELECT same('for others it is there', show(booking_claim_slot('slots', 'p', 'c7', 'room', 'nowhere', 1)), 'committed committed receipt');
SELECT fails('a slot demands a version', $$SELECT booking_claim_slot('slots', 'p', 'c8', 'room', 'b', NULL)$$, '22004', 'expected_version');
SELECT same('the version is the slot''s, not the resource''s', show(booking_claim_slot('slots', 'p', 'c9', 'room', 'b', 7)), 'committed committed receipt');
SELECT same('case counts', show(booking_claim_slot('slots', 'p', 'c10', 'room', 'B', 7)), 'inventory_conflict conflict');
SELECT same('not permitted', show(booking_claim_slot('slots', 'q', 'c11', 'room', 'b', 7)), 'denied -');

-- Moved: bookings stay where they are, replays are history, new claims go with
-- the new version.
\echo a notice says how many stay where they are
SET client_min_messages = notice;
SELECT same('a moves', booking_slot_put('slots', 'room', 'a', h(12, 13)), 22);
SET client_min_messages = warning;
SELECT same('c1 stays', booked('c1'), 'a 9-10 committed');
SELECT same('c1 replays', show(booking_claim_slot('slots', 'p', 'c1', 'room', 'a', 21)), 'historical_retry committed receipt replayed');
SELECT same('the old version', show(booking_claim_slot('slots', 'p', 'm1', 'room', 'a', 21)), 'inventory_conflict conflict');
SELECT same('the new version', show(booking_claim_slot('slots', 'p', 'm2', 'room', 'a', 22)), 'committed committed receipt');
SELECT same('the new time', booked('m2'), 'a 12-13 committed');

-- Labels belong to their resource; slots of one resource may overlap, and its
-- capacity decides.
SELECT same('the same label elsewhere', booking_slot_put('slots', 'class', 'a', h(9, 10)), 1);
SELECT same('is another slot', show(booking_claim_slot('slots', 'p', 's1', 'class', 'a', 1)), 'committed committed receipt');
SELECT same('overlapping slot', booking_slot_put('slots', 'class', 'a long', h(9, 12)), 1);
SELECT same('two of it', show(booking_claim_slot('slots', 'p', 's2', 'class', 'a long', 1, units => 2)), 'committed committed receipt');
SELECT same('two of the first', show(booking_claim_slot('slots', 'p', 's3', 'class', 'a', 1, units => 2)), 'committed committed receipt');
SELECT same('full', show(booking_claim_slot('slots', 'p', 's4', 'class', 'a', 1)), 'resource_conflict conflict');
SELECT same('the long one too', show(booking_claim_slot('slots', 'p', 's5', 'class', 'a long', 1)), 'resource_conflict conflict');
SELECT same('five seats, one slot', (SELECT count(*) FROM booking.reservation JOIN booking.resource USING (resource_id)
			WHERE resource.tenant = 'slots' AND resource = 'class' AND occupied @> lower(h(9, 10))), 5);

-- A tombstone for a slot that never was.
SELECT same('tombstone', show(booking_cancel_exact_slot('slots', 'p', 't1', 'room', 'never', 1, 1, '{}')), 'canceled canceled');
SELECT same('its create', show(booking_claim_slot('slots', 'p', 't1', 'room', 'never', 1)), 'canceled canceled replayed');

SELECT done();
