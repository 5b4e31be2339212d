--
-- capacity.sql: a capacity is a promise about every instant
--
-- A claim is refused only if some instant would exceed the capacity; lanes are
-- no seat numbers and give way.  Several resources are booked all or none.
-- Overrides exceed the capacity on purpose and count from then on.  A capacity
-- is never lowered below what is booked.  Proves R4, R10, R11, R25.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM booking_permit_all('capacity', 'p');

-- What a test below may have broken shows at once.
CREATE FUNCTION test.sound(label text)
RETURNS SETOF text
LANGUAGE sql
AS $$
	SELECT test.same(label || ': booking_check()', (SELECT string_agg(c::text, '; ') FROM public.booking_check() c), NULL::text);
$$;

CREATE FUNCTION test.claim(i text, r text, during tstzrange, units integer DEFAULT 1)
RETURNS text
LANGUAGE sql
AS $$
	SELECT disposition FROM booking_claim('capacity', 'p', i, r, during, units => units);
$$;

-- The most units booked at any instant, counted without the lanes.
CREATE FUNCTION test.peak(r text)
RETURNS bigint
LANGUAGE sql
AS $$
	SELECT max((SELECT count(*) FROM booking.reservation o
				WHERE o.resource_id = v.resource_id AND o.occupied @> lower(v.occupied)))
	  FROM booking.reservation v JOIN booking.resource n USING (resource_id)
	 WHERE n.tenant = 'capacity' AND n.resource = r;
$$;

-- Puts rows of named intents into named lanes, by way of lanes no one uses.
CREATE FUNCTION test.lanes(wanted jsonb)
RETURNS void
LANGUAGE sql
AS $$
	UPDATE booking.reservation r SET unit = 60000 + w.value::integer
	  FROM jsonb_each_text(wanted) w, booking.intent n
	 WHERE n.tenant = 'capacity' AND n.intent = w.key AND r.intent_id = n.intent_id;
	UPDATE booking.reservation r SET unit = w.value::integer
	  FROM jsonb_each_text(wanted) w, booking.intent n
	 WHERE n.tenant = 'capacity' AND n.intent = w.key AND r.intent_id = n.intent_id;
$$;

-- What a resource is when nothing is said, and that NULL keeps what it is.
SELECT same('new', booking_resource_put('capacity', 'plain'), 1);
SELECT same('defaults', (SELECT concat_ws(' ', capacity, time_zone, extract(epoch FROM buffer_before)::integer, extract(epoch FROM buffer_after)::integer)
			FROM booking.resource WHERE tenant = 'capacity' AND resource = 'plain'), '1 UTC 0 0');
SELECT same('changed', booking_resource_put('capacity', 'plain', 4, 'Asia/Kathmandu', '10 min', '1h'), 2);
SELECT same('equal', booking_resource_put('capacity', 'plain', 4, 'Asia/Kathmandu', '600 s', '60 min'), 2);
SELECT same('kept', booking_resource_put('capacity', 'plain', buffer_after => '0'), 3);
SELECT same('values', (SELECT concat_ws(' ', capacity, time_zone, extract(epoch FROM buffer_before)::integer, extract(epoch FROM buffer_after)::integer)
			FROM booking.resource WHERE tenant = 'capacity' AND resource = 'plain'), '4 Asia/Kathmandu 600 0');

-- Units.
SELECT FROM booking_resource_put('capacity', 'three', 3);
SELECT same('2 of 3', claim('u1', 'three', h(9, 10), 2), 'committed');
SELECT same('two rows', held('capacity', 'p', 'u1'), 2);
SELECT same('2 more do not fit', claim('u2', 'three', h(9.5, 10.5), 2), 'resource_conflict');
SELECT same('nothing of them is held', held('capacity', 'p', 'u2'), 0);
SELECT same('1 more fits', claim('u3', 'three', h(9.5, 10.5)), 'committed');
SELECT same('it is full', claim('u4', 'three', h(9.9, 12)), 'resource_conflict');
SELECT same('2 fit where 1 is taken', claim('u5', 'three', h(10, 11), 2), 'committed');
SELECT same('all 3 next door', claim('u6', 'three', h(11, 12), 3), 'committed');
SELECT same('the peak is the capacity', peak('three'), 3);
SELECT * FROM booking_claim('capacity', 'p', 'u7', 'three', h(20, 21), units => 4) \gset more_
SELECT same('more units than there are', :'more_disposition', 'resource_conflict');
SELECT same('is stored', :'more_state', 'conflict');
SELECT yes('is explained', :'more_detail' ~ '\m3\M' AND :'more_detail' ~ '\m4\M');
SELECT sound('units');

-- What collided is explained by the interval that is full, not by whose it is.
SELECT * FROM booking_claim('capacity', 'p', 'u8', 'three', h(9, 9.75), terms => '{"x": 1}') \gset full_
SELECT yes('a conflict names the resource', :'full_detail'::jsonb::text ~ 'three');
SELECT yes('a conflict names no other intent', :'full_detail' !~ '\mu[1-6]\M');

-- R10: overlapping two-hour starts with 4 places.
SELECT FROM booking_resource_put('capacity', 'four', 4);
SELECT same('start ' || n, claim('start ' || n, 'four', h(8 + n * 0.5, 10 + n * 0.5)),
			'committed')
  FROM generate_series(0, 9) n;
SELECT same('4 present at once', peak('four'), 4);
SELECT same('no fifth', claim('start x', 'four', h(9.75, 9.8)), 'resource_conflict');
SELECT sound('overlapping starts');

-- No lane is free throughout, but no instant is full: lanes give way.  The
-- lanes are set by hand, so that the case does not depend on how they are
-- chosen: a [0, 2) in lane 0, b [3, 5) in lane 1, and c wants [1, 4).
SELECT FROM booking_resource_put('capacity', 'two', 2);
SELECT same('a', claim('lane a', 'two', h(0, 2)), 'committed');
SELECT same('b', claim('lane b', 'two', h(3, 5)), 'committed');
SELECT FROM lanes('{"lane a": 0, "lane b": 1}');
SELECT string_agg(format('%s/%s', r.intent_id, r.piece), ' ' ORDER BY r.intent_id) AS before
  FROM booking.reservation r JOIN booking.intent USING (intent_id) WHERE intent IN ('lane a', 'lane b') \gset
SELECT same('c fits', claim('lane c', 'two', h(1, 4)), 'committed');
SELECT same('rows kept their identity', (SELECT string_agg(format('%s/%s', r.intent_id, r.piece), ' ' ORDER BY r.intent_id)
			FROM booking.reservation r JOIN booking.intent USING (intent_id) WHERE intent IN ('lane a', 'lane b')), :'before');
SELECT same('and their time', (SELECT string_agg(hours(occupied), ' ' ORDER BY intent)
			FROM booking.reservation r JOIN booking.intent USING (intent_id) WHERE intent LIKE 'lane _' AND r.tenant = 'capacity'),
			'0-2 3-5 1-4');
SELECT same('no temporary lane is left', (SELECT count(*) FROM booking.reservation WHERE unit >= 2 AND resource_id =
			(SELECT resource_id FROM booking.resource WHERE tenant = 'capacity' AND resource = 'two')), 0);
SELECT same('a second one does not fit', claim('lane d', 'two', h(1, 4)), 'resource_conflict');
SELECT same('what fits still does', claim('lane e', 'two', h(4, 5)), 'committed');
SELECT same('before it too', claim('lane f', 'two', h(0, 1)), 'committed');
SELECT sound('lanes of two');

-- A longer chain in three lanes: a staircase that must be coloured anew as a
-- whole, with units of one claim among it.
SELECT FROM booking_resource_put('capacity', 'chain', 3);
SELECT same('step ' || n, claim('step ' || n, 'chain', h(n * 2, n * 2 + 3)), 'committed')
  FROM generate_series(0, 9) n;
SELECT FROM lanes((SELECT jsonb_object_agg('step ' || n, n % 3) FROM generate_series(0, 9) n));
SELECT same('across the whole chain', claim('across', 'chain', h(0, 21)), 'committed');
SELECT same('the peak of the chain', peak('chain'), 3);
SELECT same('gaps of an hour are left', claim('gap ' || n, 'chain', h(n * 2 + 1, n * 2 + 2)), 'committed')
  FROM generate_series(0, 9) n;
SELECT same('nothing else is', claim('no gap ' || n, 'chain', h(n, n + 0.5)), 'resource_conflict')
  FROM generate_series(1, 19) n;
SELECT sound('chain');

-- Several resources: all or none.
SELECT FROM unnest(ARRAY['x', 'y', 'z']) r, booking_resource_put('capacity', r);
SELECT same('y is taken', claim('taken', 'y', h(9, 10)), 'committed');
SELECT * FROM booking_claim_all('capacity', 'p', 'all 1', '{x,y,z}', h(9, 10)) \gset all_
SELECT same('all or none', :'all_disposition', 'resource_conflict');
SELECT same('none is held', held('capacity', 'p', 'all 1'), 0);
SELECT yes('the taken one is named', :'all_detail'::jsonb::text ~ '"y"');
SELECT yes('the free ones are not', :'all_detail'::jsonb::text !~ '"[xz]"');
SELECT same('x is free still', claim('x free', 'x', h(9, 10)), 'committed');
SELECT same('all of them', show(booking_claim_all('capacity', 'p', 'all 2', '{z,x,y}', h(10, 11))),
			'committed committed receipt');
SELECT same('one row each', held('capacity', 'p', 'all 2'), 3);
SELECT same('in the order given', (SELECT resources FROM booking.intent WHERE tenant = 'capacity' AND intent = 'all 2'),
			'{z,x,y}'::text[]);
SELECT same('each is taken now', claim('after all ' || r, r, h(10, 11)), 'resource_conflict')
  FROM unnest(ARRAY['x', 'y', 'z']) r;
SELECT same('one version is stale', show(booking_claim_all('capacity', 'p', 'all 3', '{x,y,z}', h(12, 13), '{1,1,2}')),
			'inventory_conflict conflict');
SELECT same('versions as they are', show(booking_claim_all('capacity', 'p', 'all 4', '{x,y,z}', h(12, 13), '{1,1,1}')),
			'committed committed receipt');
SELECT same('one is not permitted', show(booking_claim_all('capacity', 'p', 'all 6', '{x,nowhere}', h(20, 21))), 'denied -');
SELECT same('cancel frees all', show(booking_cancel('capacity', 'p', 'all 2')), 'canceled canceled receipt');
SELECT same('each is free now', claim('again all ' || r, r, h(10, 11)), 'committed')
  FROM unnest(ARRAY['x', 'y', 'z']) r;
SELECT same('units of each', show(booking_claim_all('capacity', 'p', 'all 7', '{three,four}', h(40, 41), units => 2)),
			'committed committed receipt');
SELECT same('rows for units of each', held('capacity', 'p', 'all 7'), 4);
SELECT same('units of each, too many for one', show(booking_claim_all('capacity', 'p', 'all 8', '{four,three}', h(40, 41), units => 2)),
			'resource_conflict conflict');
SELECT sound('several resources');

-- Overrides: recorded, visible, and counted by every later claim.
SELECT FROM booking_resource_put('capacity', 'room');
SELECT same('booked', claim('o1', 'room', h(9, 11)), 'committed');
SELECT same('on purpose', show(booking_override('capacity', 'p', 'o2', 'room', h(10, 12), 1, '{}', 'the boss asked')),
			'committed committed receipt');
SELECT same('is marked', (SELECT string_agg(override::text, ' ' ORDER BY r.intent_id) FROM booking.reservation r
			JOIN booking.intent USING (intent_id) WHERE r.tenant = 'capacity' AND intent IN ('o1', 'o2')), 'false true');
SELECT same('why', (SELECT override_reason FROM booking.intent WHERE tenant = 'capacity' AND intent = 'o2'), 'the boss asked');
SELECT same('who', (SELECT role || ' ' || (detail::text ~ 'the boss asked') FROM booking.audit
			WHERE tenant = 'capacity' AND action = 'override'), current_user || ' true');
SELECT same('replay', show(booking_override('capacity', 'p', 'o2', 'room', h(10, 12), 1, '{}', 'another reason')),
			'historical_retry committed receipt replayed');
SELECT same('other values', (booking_override('capacity', 'p', 'o2', 'room', h(10, 13), 1, '{}', 'the boss asked')).disposition,
			'intent_conflict');
SELECT same('it counts where it is alone', claim('o3', 'room', h(11.5, 13)), 'resource_conflict');
SELECT same('and not beyond', claim('o4', 'room', h(12, 13)), 'committed');
SELECT same('a second override', show(booking_override('capacity', 'p', 'o5', 'room', h(10, 12), 3, '{}', 'and three more')),
			'committed committed receipt');
SELECT same('three rows', held('capacity', 'p', 'o5'), 3);
SELECT same('the first one goes', show(booking_cancel('capacity', 'p', 'o1')), 'canceled canceled receipt');
SELECT same('its time is free', claim('o6', 'room', h(9, 10)), 'committed');
SELECT same('but where the overrides are', claim('o7', 'room', h(10, 10.5)), 'resource_conflict');
SELECT same('an override of free time', show(booking_override('capacity', 'p', 'o8', 'room', h(20, 21), 1, '{}', 'to be safe')),
			'committed committed receipt');
SELECT same('counts as well', claim('o9', 'room', h(20, 21)), 'resource_conflict');
SELECT same('overrides go like others', show(booking_cancel('capacity', 'p', 'o8')), 'canceled canceled receipt');
SELECT same('and are free then', claim('o10', 'room', h(20, 21)), 'committed');
SELECT same('denied', show(booking_override('capacity', 'nobody', 'o11', 'room', h(20, 21), 1, '{}', 'x')), 'denied -');
SELECT sound('overrides');

-- Overrides in a class of two: one seat is left beside one of them.
SELECT FROM booking_resource_put('capacity', 'pair', 2);
SELECT FROM booking_override('capacity', 'p', 'pair 1', 'pair', h(9, 10), 1, '{}', 'x');
SELECT same('one seat is left', claim('pair 2', 'pair', h(9, 10)), 'committed');
SELECT same('none is left', claim('pair 3', 'pair', h(9, 10)), 'resource_conflict');
SELECT sound('overrides in a class');

-- Lowering.
SELECT FROM booking_resource_put('capacity', 'lower', 3);
SELECT same('seat ' || n, claim('seat ' || n, 'lower', h(9, 10)), 'committed') FROM generate_series(1, 3) n;
SELECT same('a fourth hour', claim('seat 4', 'lower', h(12, 13), 2), 'committed');
SELECT fails('below use', $$SELECT booking_resource_put('capacity', 'lower', 2)$$, '55000');
CREATE FUNCTION test.detail_of(statement text)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	d text;
BEGIN
	EXECUTE statement;
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
	RETURN d;
END
$$;
SELECT yes('the instants are listed', detail_of($$SELECT booking_resource_put('capacity', 'lower', 1)$$)
		   ~ '2030-06-01[ T]09:00.*2030-06-01[ T]12:00');
SELECT yes('only those that exceed', detail_of($$SELECT booking_resource_put('capacity', 'lower', 2)$$) !~ '12:00');
SELECT same('the capacity stays', (SELECT capacity FROM booking.resource WHERE tenant = 'capacity' AND resource = 'lower'), 3);
SELECT same('the version stays', (SELECT version FROM booking.resource WHERE tenant = 'capacity' AND resource = 'lower'), 1);
SELECT same('1 goes', (booking_cancel('capacity', 'p', 'seat 1')).disposition, 'canceled');
SELECT FROM lanes('{"seat 2": 1, "seat 3": 2}');
SELECT same('to what is used', booking_resource_put('capacity', 'lower', 2), 2);
SELECT same('lanes moved', (SELECT string_agg(unit::text, ' ' ORDER BY unit) FROM booking.reservation r
			JOIN booking.intent n USING (intent_id) WHERE n.tenant = 'capacity' AND n.intent IN ('seat 2', 'seat 3')), '0 1');
SELECT same('it is full', claim('seat 5', 'lower', h(9.5, 9.75)), 'resource_conflict');
SELECT same('equal values are no change', booking_resource_put('capacity', 'lower', 2), 2);
SELECT same('NULL keeps', booking_resource_put('capacity', 'lower'), 2);
SELECT sound('lowering');

-- Lowering among rows of several lanes that have to be coloured anew.
SELECT FROM booking_resource_put('capacity', 'sparse', 4);
SELECT same('sparse ' || n, claim('sparse ' || n, 'sparse', h(n * 2, n * 2 + 3)), 'committed') FROM generate_series(0, 7) n;
SELECT FROM lanes((SELECT jsonb_object_agg('sparse ' || n, n % 4) FROM generate_series(0, 7) n));
SELECT same('into two lanes', booking_resource_put('capacity', 'sparse', 2), 2);
SELECT same('two are used', (SELECT max(unit) FROM booking.reservation JOIN booking.resource USING (resource_id)
			WHERE resource.resource = 'sparse'), 1);
SELECT fails('not into one', $$SELECT booking_resource_put('capacity', 'sparse', 1)$$, '55000');
SELECT sound('lowering with lanes');

-- Holds that have ended do not keep a capacity up.
SELECT FROM booking_resource_put('capacity', 'holds', 2);
SELECT same('two holds', (booking_propose('capacity', 'p', 'hold ' || n, 'holds', h(9, 10), hold_for => '1 hour')).disposition, 'held')
  FROM generate_series(1, 2) n;
SELECT fails('live holds count', $$SELECT booking_resource_put('capacity', 'holds', 1)$$, '55000');
SET booking.clock_offset = '2h';
SELECT same('expired ones do not', booking_resource_put('capacity', 'holds', 1), 2);
SELECT sound('lowering over holds');
SELECT same('they go', (booking_cancel('capacity', 'p', 'hold ' || n)).disposition, 'canceled')
  FROM generate_series(1, 2) n;
RESET booking.clock_offset;

-- Raising.
SELECT same('raising', booking_resource_put('capacity', 'lower', 5), 3);
SELECT same('raised ' || n, claim('raised ' || n, 'lower', h(9, 10)),
			CASE WHEN n <= 3 THEN 'committed' ELSE 'resource_conflict' END) FROM generate_series(1, 4) n;
-- From 1 to more and back, where claims take another path.
SELECT same('raising a room', booking_resource_put('capacity', 'x', 2), 2);
SELECT same('a second one beside', claim('x 2', 'x', h(9, 10)), 'committed');
SELECT fails('not back', $$SELECT booking_resource_put('capacity', 'x', 1)$$, '55000');
SELECT same('it goes', (booking_cancel('capacity', 'p', 'x free')).disposition, 'canceled');
SELECT same('and back', booking_resource_put('capacity', 'x', 1), 3);
SELECT same('lane 0 is used', (SELECT unit FROM booking.reservation JOIN booking.intent USING (intent_id)
			WHERE intent.tenant = 'capacity' AND intent = 'x 2'), 0);
SELECT same('taken', claim('x 3', 'x', h(9, 10)), 'resource_conflict');
SELECT sound('raising');

-- Overrides above a capacity that grows over their lanes, and shrinks again.
SELECT FROM booking_resource_put('capacity', 'grow');
SELECT same('g1', claim('g1', 'grow', h(9, 10)), 'committed');
SELECT FROM booking_override('capacity', 'p', 'g2', 'grow', h(9, 10), 1, '{}', 'x');
SELECT same('raised over an override', booking_resource_put('capacity', 'grow', 2) > 1, true);
SELECT same('it counts still', claim('g3', 'grow', h(9, 10)), 'resource_conflict');
SELECT sound('raised over an override');
SELECT same('beside it', claim('g4', 'grow', h(10, 11), 2), 'committed');
SELECT same('g4 goes', (booking_cancel('capacity', 'p', 'g4')).disposition, 'canceled');
SELECT sound('overrides and raising');

-- Against brute force: 150 random sets of 12 claims on 8 hours, capacities 1
-- to 6, units 1 to 3; a claim is accepted exactly when no instant would exceed
-- the capacity, counted hour by hour.  The seed only makes a failure repeatable.
CREATE FUNCTION test.random_set(n integer)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	r text := 'random ' || n;
	capacity integer := 1 + n % 6;
	used integer[] := array_fill(0, ARRAY[8]);
	first integer;
	last integer;
	units integer;
	want text;
	got text;
BEGIN
	PERFORM booking_resource_put('capacity', r, capacity);
	FOR k IN 1 .. 12 LOOP
		first := floor(random() * 8);
		last := first + 1 + floor(random() * (8 - first));
		units := 1 + floor(random() * 3);
		SELECT CASE WHEN max(used[h + 1]) + units <= capacity THEN 'committed' ELSE 'resource_conflict' END INTO want
		  FROM generate_series(first, last - 1) h;
		got := test.claim(r || '/' || k, r, test.h(first, last), units);
		IF got <> want THEN
			RETURN format('claim %s of set %s: %s, want %s', k, n, got, want);
		END IF;
		IF got = 'committed' THEN
			FOR h IN first .. last - 1 LOOP
				used[h + 1] := used[h + 1] + units;
			END LOOP;
		END IF;
	END LOOP;
	RETURN 'as counted';
END
$$;
SELECT FROM setseed(0.42);
BEGIN;
SELECT same('random set', random_set(n), 'as counted') FROM generate_series(1, 150) n;
SELECT sound('random sets');
ROLLBACK;

SELECT done();
