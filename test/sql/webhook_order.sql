--
-- webhook_order.sql: the order of deliveries does not matter
--
-- A booking is created, rescheduled and canceled, one of its deliveries is late
-- by days, one was altered under the same id, and each comes twice.  Every order
-- is enumerated; what is booked in the end, and what the source is taken to
-- have, is the same.  So it is for the two halves of a reschedule, also where
-- only one of them comes, or one comes when the time for it is over.  Proves R57
-- and the first item of "it must show".
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set long ''
\getenv long BOOKING_TEST_LONG
\set setup :srcdir '/sql/setup.inc'
\i :setup
\set helpers :srcdir '/sql/webhook.inc'
SET client_min_messages = error;
\i :helpers

SELECT FROM booking_resource_put('hook_order', 'room', 2000);

-- All orders of an array, copies not told apart.
CREATE FUNCTION test.orders(items text[])
RETURNS SETOF text[]
LANGUAGE plpgsql
AS $$
DECLARE
	item text;
	rest text[];
	at integer;
BEGIN
	IF cardinality(items) <= 1 THEN
		RETURN NEXT items;
		RETURN;
	END IF;
	FOR item IN SELECT DISTINCT unnest(items) LOOP
		at := array_position(items, item);
		FOR rest IN SELECT * FROM orders(items[:at - 1] || items[at + 1:]) LOOP
			RETURN NEXT item || rest;
		END LOOP;
	END LOOP;
END
$$;

-- Deliver in an order, and say what it comes to after days.  Ids are made
-- unique by a suffix, so that orders do not meet.
CREATE FUNCTION test.outcome(source text, bodies jsonb, items text[], n integer)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	item text;
	body bytea;
	got text;
BEGIN
	PERFORM set_config('booking.clock_offset', '0', false);
	FOREACH item IN ARRAY items LOOP
		-- one is late by three days
		IF item LIKE '%late' THEN
			PERFORM set_config('booking.clock_offset', '259200', false);
		END IF;
		body := b(replace(bodies ->> item, '@', '-' || n));
		-- kind calcom: a signature without a time
		IF (SELECT status FROM booking_webhook_receive(outcome.source, calcom('key', body), body)) <> 200 THEN
			RETURN 'refused ' || item;
		END IF;
	END LOOP;
	PERFORM set_config('booking.clock_offset', '864000', false);
	PERFORM booking_webhook_replay_list(outcome.source, '{}');
	PERFORM set_config('booking.clock_offset', '0', false);
	SELECT string_agg(concat_ws(' ', replace(w.booking, '-' || n, ''), w.state,
			CASE w.state WHEN 'live' THEN hours(i.during) || ' ' || i.state || ' ' || (SELECT count(*) FROM booking.reservation v WHERE v.intent_id = i.intent_id) END), ', ' ORDER BY w.booking)
		INTO got
		FROM booking.webhook_booking w
		LEFT JOIN booking.intent i ON i.tenant = 'hook_order' AND i.principal = w.source AND i.intent = w.intent
		WHERE w.source = outcome.source AND w.booking IN ('a-' || n, 'b-' || n);
	-- whatever is booked is what a live booking stands for
	RETURN got || ' / ' || (SELECT count(*) FROM booking.intent i
		WHERE i.tenant = 'hook_order' AND i.principal = outcome.source AND i.state <> 'canceled'
		AND i.intent = ANY (ARRAY(SELECT b || n || g FROM unnest(ARRAY['a-', 'b-']) b, unnest(ARRAY['', '#1', '#2', '#3', '#4']) g))
		AND NOT EXISTS (SELECT FROM booking.webhook_booking w WHERE w.source = i.principal AND w.booking IN ('a-' || n, 'b-' || n) AND w.intent = i.intent AND w.state = 'live'));
END
$$;

CREATE FUNCTION test.text_of(body bytea)
RETURNS text
LANGUAGE sql
AS $$
	SELECT convert_from(body, 'UTF8');
$$;

SELECT FROM source('occ', 'calcom', tenant => 'hook_order');

-- The same booking id throughout, where an alteration is a later version.
CREATE TABLE test.bodies AS SELECT jsonb_build_object(
	'created', text_of(cal('BOOKING_CREATED', 'a@', 1, 9)),
	'altered', text_of(cal('BOOKING_CREATED', 'a@', 2, 12)),
	'copy', text_of(cal('BOOKING_CREATED', 'a@', 1, 15)),
	'rescheduled', text_of(cal('BOOKING_RESCHEDULED', 'b@', 3, 10, '{"rescheduleUid": "a@"}')),
	'canceled late', text_of(cal('BOOKING_CANCELLED', 'b@', 4, 10)),
	'created late', text_of(cal('BOOKING_CREATED', 'a@', 1, 9)),
	'rescheduled late', text_of(cal('BOOKING_RESCHEDULED', 'b@', 3, 10, '{"rescheduleUid": "a@"}')),
	'canceled', text_of(cal('BOOKING_CANCELLED', 'b@', 4, 10))) AS bodies;

CREATE FUNCTION test.outcomes(source text, items text[], base integer)
RETURNS TABLE (outcome text, orders bigint)
LANGUAGE sql
AS $$
	SELECT outcome, count(*) FROM (
		SELECT test.outcome(outcomes.source, x.bodies, o, base + n::integer)
		  FROM test.bodies x, orders(items) WITH ORDINALITY AS p (o, n)) AS r (outcome)
	 GROUP BY outcome;
$$;

-- Each twice, one altered: 7! / (2! 2! 2!) orders.
SELECT same('each twice', (SELECT string_agg(outcome || ' x' || orders, '; ') FROM outcomes('occ', ARRAY['created', 'created', 'altered', 'rescheduled', 'rescheduled', 'canceled', 'canceled'], 10000)),
			'a ended, b ended / 0 x630');
-- One late by days besides, whichever: 7! / (2! 2!) orders each; in the reduced
-- size those of one of each.
SELECT same('late: ' || late, (SELECT string_agg(outcome || ' x' || orders, '; ') FROM outcomes('occ', items[:array_position(items, late) - 1] || (late || ' late') || items[array_position(items, late) + 1:], 12000 + n::integer * 2000)),
			'a ended, b ended / 0 x' || CASE cardinality(items) WHEN 7 THEN 1260 ELSE 24 END)
  FROM unnest(ARRAY['created', 'rescheduled', 'canceled']) WITH ORDINALITY AS x (late, n),
	LATERAL (SELECT CASE WHEN :'long' <> '' THEN ARRAY['created', 'created', 'altered', 'rescheduled', 'rescheduled', 'canceled', 'canceled']
			 ELSE ARRAY['created', 'altered', 'rescheduled', 'canceled'] END) AS y (items);
-- A copy of the same version with other values counts for nothing, or what it
-- says has ended: 5! / 2! orders.
SELECT same('an altered copy', (SELECT string_agg(outcome || ' x' || orders, '; ') FROM outcomes('occ', ARRAY['created', 'copy', 'rescheduled', 'canceled', 'canceled'], 20000)),
			'a ended, b ended / 0 x60');
-- Without a cancel the reschedule stands; without that, the newest version.
SELECT same('rescheduled', (SELECT string_agg(outcome || ' x' || orders, '; ') FROM outcomes('occ', ARRAY['created', 'created', 'altered', 'rescheduled', 'rescheduled'], 30000)),
			'a ended, b live 10-11 committed 1 / 0 x30');
SELECT same('altered', (SELECT string_agg(outcome || ' x' || orders, '; ') FROM outcomes('occ', ARRAY['created', 'altered', 'created', 'altered'], 31000)),
			'a live 12-13 committed 1 / 0 x6');

-- One id for all, as Standard Webhooks and our own shape have it.
UPDATE test.bodies SET bodies = jsonb_build_object(
	'created', text_of(cal('BOOKING_CREATED', 'a@', 1, 9)),
	'altered', text_of(cal('BOOKING_CREATED', 'a@', 2, 12)),
	'rescheduled', text_of(cal('BOOKING_RESCHEDULED', 'a@', 3, 10)),
	'canceled', text_of(cal('BOOKING_CANCELLED', 'a@', 4, 10)),
	'old cancel', text_of(cal('BOOKING_CANCELLED', 'a@', 2, 10)));
SELECT same('one id', (SELECT string_agg(outcome || ' x' || orders, '; ') FROM outcomes('occ', ARRAY['created', 'created', 'altered', 'rescheduled', 'rescheduled', 'canceled'], 40000)),
			'a ended / 0 x180');
SELECT same('one id, no cancel', (SELECT string_agg(outcome || ' x' || orders, '; ') FROM outcomes('occ', ARRAY['created', 'created', 'altered', 'rescheduled', 'rescheduled'], 41000)),
			'a live 10-11 committed 1 / 0 x30');
SELECT same('a cancel that is older', (SELECT string_agg(outcome || ' x' || orders, '; ') FROM outcomes('occ', ARRAY['created', 'old cancel', 'rescheduled'], 42000)),
			'a ended / 0 x6');

-- Pairs of Calendly; the source of its deliveries signs with a time.
CREATE FUNCTION test.pair(items text[], n integer)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	item text;
	body bytea;
BEGIN
	FOREACH item IN ARRAY items LOOP
		-- by then the worker has settled what waits
		IF item LIKE '%late' THEN
			PERFORM set_config('booking.clock_offset', '259200', false);
			PERFORM booking_webhook_replay_list('ocy', '{}');
		END IF;
		body := CASE replace(item, ' late', '')
			WHEN 'created' THEN invitee('invitee.created', 'a-' || n, 1, 9)
			WHEN 'old half' THEN invitee('invitee.canceled', 'a-' || n, 2, 9, jsonb_build_object('rescheduled', true, 'new_invitee', 'b-' || n))
			WHEN 'new half' THEN invitee('invitee.created', 'b-' || n, 2, 10, jsonb_build_object('old_invitee', 'a-' || n))
			WHEN 'canceled' THEN invitee('invitee.canceled', 'b-' || n, 3, 10)
			WHEN 'third' THEN invitee('invitee.created', 'c-' || n, 3, 11, jsonb_build_object('old_invitee', 'b-' || n))
			END;
		PERFORM booking_webhook_receive('ocy', calendly('key', body), body);
	END LOOP;
	PERFORM set_config('booking.clock_offset', '864000', false);
	PERFORM booking_webhook_replay_list('ocy', '{}');
	PERFORM set_config('booking.clock_offset', '0', false);
	RETURN (SELECT string_agg(concat_ws(' ', replace(w.booking, '-' || n, ''), w.state, CASE w.state WHEN 'live' THEN hours(i.during) || ' ' || i.state END), ', ' ORDER BY w.booking)
		FROM booking.webhook_booking w JOIN booking.intent i ON i.tenant = 'hook_order' AND i.principal = w.source AND i.intent = w.intent
		WHERE w.source = 'ocy' AND w.booking LIKE '%-' || n)
		|| ' / ' || (SELECT count(*) FROM booking.intent i WHERE i.principal = 'ocy' AND i.state <> 'canceled' AND i.intent LIKE '%-' || n);
END
$$;

SELECT FROM source('ocy', 'calendly', '{"tolerance": 604800}', tenant => 'hook_order');
SELECT same(items::text, (SELECT string_agg(DISTINCT pair(o, base + n::integer), '; ') FROM orders(items) WITH ORDINALITY AS x (o, n)), want)
  FROM (VALUES (1000, ARRAY['created', 'old half', 'new half'], 'a ended, b live 10-11 committed / 1'),
		(2000, ARRAY['created', 'created', 'old half', 'old half', 'new half', 'new half'], 'a ended, b live 10-11 committed / 1'),
		(3000, ARRAY['created', 'old half'], 'a ended / 0'),
		(4000, ARRAY['created', 'new half'], 'a ended, b live 10-11 committed / 1'),
		(5000, ARRAY['created', 'old half', 'new half', 'canceled'], 'a ended, b ended / 0'),
		(6000, ARRAY['created', 'old half', 'canceled'], 'a ended, b ended / 0'),
		(7000, ARRAY['created', 'old half', 'new half', 'third'], 'a ended, b ended, c live 11-12 committed / 1'),
		(8000, ARRAY['old half', 'old half'], 'a ended / 0'),
		(8100, ARRAY['new half', 'new half'], 'a ended, b live 10-11 committed / 1'),
		(8200, ARRAY['old half', 'new half'], 'a ended, b live 10-11 committed / 1'),
		(8300, ARRAY['created', 'new half', 'canceled'], 'a ended, b ended / 0'),
		(8400, ARRAY['old half', 'canceled'], 'a ended, b ended / 0'),
		(8500, ARRAY['created', 'old half', 'third'], 'a ended, b ended, c live 11-12 committed / 1'),
		(8600, ARRAY['created', 'created', 'old half', 'new half late'], 'a ended, b live 10-11 committed / 1'),
		(8700, ARRAY['created', 'old half late', 'new half', 'new half'], 'a ended, b live 10-11 committed / 1'),
		(8800, ARRAY['created late', 'old half', 'new half', 'canceled'], 'a ended, b ended / 0'),
		(8900, ARRAY['created', 'old half', 'new half late', 'canceled', 'canceled'], 'a ended, b ended / 0')) AS x (base, items, want);

SELECT done();
