-- test/bench/same.sql
--
-- The comparison is only worth something if the rival keeps the promises of
-- booking_claim.  Both sides get the same calls; any answer that differs ends
-- the bench.  Runs as the application role, in a transaction that is rolled
-- back.

\set ON_ERROR_STOP on
\set QUIET on
SELECT setseed(0.5) \g /dev/null

BEGIN;
CREATE TEMP TABLE answer (n serial, question text, ours text, theirs text);

CREATE PROCEDURE pg_temp.ask(intent text, resource text, during tstzrange,
	version bigint DEFAULT NULL, units integer DEFAULT 1, terms jsonb DEFAULT '{}',
	principal text DEFAULT 'p1')
LANGUAGE plpgsql AS $$
DECLARE
	ours public.booking_result;
	theirs public.booking_result;
BEGIN
	ours := booking_claim('bench', principal, intent, resource, during, version, units, terms);
	theirs := rival.claim('bench', principal, intent, resource, during, version, units, terms);
	INSERT INTO answer (question, ours, theirs)
	VALUES (concat_ws(' ', 'claim', principal, intent, resource, during, version, units, terms),
			concat_ws(' ', ours.disposition, ours.state, ours.receipt IS NOT NULL, ours.replayed),
			concat_ws(' ', theirs.disposition, theirs.state, theirs.receipt IS NOT NULL, theirs.replayed));
END
$$;

CREATE PROCEDURE pg_temp.cancel(intent text)
LANGUAGE plpgsql AS $$
DECLARE
	ours public.booking_result;
	theirs public.booking_result;
BEGIN
	ours := booking_cancel('bench', 'p1', intent);
	theirs := rival.cancel('bench', 'p1', intent);
	INSERT INTO answer (question, ours, theirs)
	VALUES (concat_ws(' ', 'cancel', intent),
			concat_ws(' ', ours.disposition, ours.state, ours.receipt IS NOT NULL),
			concat_ws(' ', theirs.disposition, theirs.state, theirs.receipt IS NOT NULL));
END
$$;

SET TimeZone = 'UTC';

-- new, replayed, and each payload field changed
CALL pg_temp.ask('a', 'hot', '[2035-01-01 10:00+00,2035-01-01 11:00+00)');
CALL pg_temp.ask('a', 'hot', '[2035-01-01 10:00+00,2035-01-01 11:00+00)');
CALL pg_temp.ask('a', 'r1', '[2035-01-01 10:00+00,2035-01-01 11:00+00)');
CALL pg_temp.ask('a', 'hot', '[2035-01-01 10:00+00,2035-01-01 11:01+00)');
CALL pg_temp.ask('a', 'hot', '[2035-01-01 10:00+00,2035-01-01 11:00+00)', 1);
CALL pg_temp.ask('a', 'hot', '[2035-01-01 10:00+00,2035-01-01 11:00+00)', NULL, 2);
CALL pg_temp.ask('a', 'hot', '[2035-01-01 10:00+00,2035-01-01 11:00+00)', NULL, 1, '{"x": 1}');
-- terms are equal by value
CALL pg_temp.ask('b', 'hot', '[2035-01-02 10:00+00,2035-01-02 11:00+00)', 1, 1, '{"x": 1.0}');
CALL pg_temp.ask('b', 'hot', '[2035-01-02 10:00+00,2035-01-02 11:00+00)', 1, 1, '{"x": 1.00}');
-- taken, and the loser's retry after the time is free again
CALL pg_temp.ask('c', 'hot', '[2035-01-01 10:59+00,2035-01-01 12:00+00)');
CALL pg_temp.ask('c2', 'hot', '[2035-01-01 11:00+00,2035-01-01 12:00+00)');
CALL pg_temp.cancel('a');
CALL pg_temp.ask('c', 'hot', '[2035-01-01 10:59+00,2035-01-01 12:00+00)');
CALL pg_temp.ask('a', 'hot', '[2035-01-01 10:00+00,2035-01-01 11:00+00)');
CALL pg_temp.ask('c3', 'hot', '[2035-01-01 10:30+00,2035-01-01 11:00+00)');
-- a stale version, a tombstone, no permission, no such resource, too many units
CALL pg_temp.ask('d', 'hot', '[2035-01-03 10:00+00,2035-01-03 11:00+00)', 7);
CALL pg_temp.ask('d', 'hot', '[2035-01-03 10:00+00,2035-01-03 11:00+00)', 7);
CALL pg_temp.ask('d', 'hot', '[2035-01-03 10:00+00,2035-01-03 11:00+00)', 1);
CALL pg_temp.cancel('e');
CALL pg_temp.ask('e', 'hot', '[2035-01-04 10:00+00,2035-01-04 11:00+00)');
CALL pg_temp.ask('f', 'hot', '[2035-01-05 10:00+00,2035-01-05 11:00+00)', principal => 'nobody');
CALL pg_temp.ask('f', 'elsewhere', '[2035-01-05 10:00+00,2035-01-05 11:00+00)');
CALL pg_temp.ask('g', 'hot', '[2035-01-05 10:00+00,2035-01-05 11:00+00)', NULL, 2);

-- capacity 20, many random bookings of one to three units
DO $$
DECLARE
	start integer;
BEGIN
	FOR i IN 1 .. 300 LOOP
		start := floor(random() * 60);
		CALL pg_temp.ask('s' || i, 'seats0',
			tstzrange('2029-01-01 00:00+00'::timestamptz + start * interval '1 hour',
					  '2029-01-01 00:00+00'::timestamptz
					  + (start + 1 + floor(random() * 20)) * interval '1 hour'),
			NULL, 1 + floor(random() * 3)::integer);
		IF random() < 0.3 THEN
			CALL pg_temp.cancel('s' || 1 + floor(random() * i)::integer);
		END IF;
	END LOOP;
END
$$;

DO $$
DECLARE
	bad answer;
BEGIN
	SELECT * INTO bad FROM answer
	 WHERE ours IS DISTINCT FROM theirs ORDER BY n LIMIT 1;
	IF FOUND THEN
		RAISE EXCEPTION 'booking and its plpgsql rival disagree'
			USING DETAIL = format('%s: ours %s, theirs %s', bad.question, bad.ours, bad.theirs);
	END IF;
	IF (SELECT count(DISTINCT split_part(ours, ' ', 1)) FROM answer) < 7 THEN
		RAISE EXCEPTION 'the comparison did not meet every kind of answer';
	END IF;
END
$$;
ROLLBACK;
