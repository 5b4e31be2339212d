--
-- guards.sql: the two guards offered for users' own tables
--
-- booking_guard_terminal: a row whose column has one of the final values keeps
-- it.  booking_guard_monotonic: a change from an older source is ignored, one
-- of the same age passes only towards an end.  Both skip the change with a
-- WARNING instead of raising an error, so that a handler of messages
-- acknowledges a stale one.  Proves R19 and R57: create, reschedule and cancel
-- end the same in all 6 orders.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

-- Terminal.
CREATE TABLE test.visit (id integer PRIMARY KEY, status text, note text);
CREATE TRIGGER guard BEFORE UPDATE OR DELETE ON test.visit
	FOR EACH ROW EXECUTE FUNCTION booking_guard_terminal('status', 'canceled', 'no show');
INSERT INTO test.visit VALUES (1, 'booked', 'a'), (2, 'canceled', 'b'), (3, 'no show', 'c'), (4, NULL, 'd'), (5, 'Canceled', 'e');

CREATE FUNCTION test.visits()
RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(concat(id, ':', status, ':', note), ' ' ORDER BY id) FROM test.visit;
$$;

-- The warnings are part of the output.
\echo open rows change
UPDATE test.visit SET status = 'moved' WHERE id = 1;
UPDATE test.visit SET status = 'moved' WHERE id = 4;
UPDATE test.visit SET status = 'moved' WHERE id = 5;
SELECT visits();
\echo final rows keep their status
UPDATE test.visit SET status = 'booked' WHERE id = 2;
UPDATE test.visit SET status = NULL WHERE id = 3;
SELECT visits();
\echo one of many is skipped, the others change
UPDATE test.visit SET status = 'x' WHERE id IN (1, 2, 4);
SELECT visits();
\echo into a final status, and then no more
UPDATE test.visit SET status = 'canceled' WHERE id = 1;
UPDATE test.visit SET status = 'booked' WHERE id = 1;
SELECT visits();
\echo an upsert is skipped too
INSERT INTO test.visit VALUES (2, 'booked', 'late') ON CONFLICT (id) DO UPDATE SET status = EXCLUDED.status, note = EXCLUDED.note;
SELECT visits();
\echo other columns of a final row may change
UPDATE test.visit SET note = 'billed' WHERE id = 2;
SELECT visits();
\echo a final row is not deleted, an open one is
DELETE FROM test.visit WHERE id IN (2, 4);
SELECT visits();

-- Monotonic with terminal: all 6 orders of create, reschedule and cancel.
CREATE TABLE test.booking (id text PRIMARY KEY, status text NOT NULL, starts text NOT NULL, source_at timestamptz NOT NULL);
CREATE TRIGGER a_terminal BEFORE UPDATE ON test.booking
	FOR EACH ROW EXECUTE FUNCTION booking_guard_terminal('status', 'canceled');
CREATE TRIGGER b_monotonic BEFORE UPDATE ON test.booking
	FOR EACH ROW EXECUTE FUNCTION booking_guard_monotonic('source_at');

CREATE TABLE test.message (kind text, status text, starts text, source_at timestamptz);
INSERT INTO test.message VALUES
('create', 'booked', '9:00', '2030-06-01 08:00+00'),
('reschedule', 'booked', '11:00', '2030-06-01 08:00:00.000001+00'),
('cancel', 'canceled', '11:00', '2030-06-01 08:30+00');

CREATE FUNCTION test.receive(booking text, k text)
RETURNS void
LANGUAGE sql
AS $$
	INSERT INTO test.booking (id, status, starts, source_at)
	SELECT receive.booking, m.status, m.starts, m.source_at FROM test.message m WHERE m.kind = k
	ON CONFLICT (id) DO UPDATE SET status = EXCLUDED.status, starts = EXCLUDED.starts, source_at = EXCLUDED.source_at;
$$;
CREATE FUNCTION test.deliver(VARIADIC kinds text[])
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	name text := array_to_string(kinds, ', ');
	k text;
	result text;
BEGIN
	FOREACH k IN ARRAY kinds LOOP
		PERFORM test.receive(name, k);
	END LOOP;
	SELECT concat(status, ' ', starts) INTO result FROM test.booking WHERE id = name;
	RETURN result;
END
$$;
SET client_min_messages = error;
SELECT same(concat_ws(', ', a.kind, b.kind, c.kind), deliver(a.kind, b.kind, c.kind), 'canceled 11:00')
  FROM test.message a, test.message b, test.message c
 WHERE a.kind <> b.kind AND b.kind <> c.kind AND a.kind <> c.kind
 ORDER BY a.source_at, b.source_at;
SELECT same('six orders', (SELECT count(*) FROM test.booking), 6);
-- Every message comes twice, and once more at the end.
SELECT same('repeated: ' || concat_ws(', ', a.kind, b.kind, c.kind),
			deliver(a.kind, a.kind, b.kind, a.kind, c.kind, b.kind, c.kind, a.kind, b.kind), 'canceled 11:00')
  FROM test.message a, test.message b, test.message c
 WHERE a.kind <> b.kind AND b.kind <> c.kind AND a.kind <> c.kind
 ORDER BY a.source_at, b.source_at;
-- In whichever order the triggers fire.
ALTER TRIGGER a_terminal ON test.booking RENAME TO z_terminal;
SELECT same('triggers swapped: ' || concat_ws(', ', a.kind, b.kind, c.kind), deliver(a.kind, b.kind, c.kind, a.kind), 'canceled 11:00')
  FROM test.message a, test.message b, test.message c
 WHERE a.kind <> b.kind AND b.kind <> c.kind AND a.kind <> c.kind
 ORDER BY a.source_at, b.source_at;
-- Without the cancel the later time wins in both orders.
SELECT same('create, reschedule', deliver('create', 'reschedule'), 'booked 11:00');
SELECT same('reschedule, create', deliver('reschedule', 'create'), 'booked 11:00');

-- Of the same age: only towards an end.
INSERT INTO test.message VALUES
('same', 'booked', '12:00', '2030-06-01 08:00+00'),
('same cancel', 'canceled', '12:00', '2030-06-01 08:00+00');
SELECT same('create, same', deliver('create', 'same'), 'booked 9:00');
SELECT same('create, same cancel', deliver('create', 'same cancel'), 'canceled 12:00');
SELECT same('same cancel, create', deliver('same cancel', 'create'), 'canceled 12:00');

-- Integers as source versions; NULLs.
CREATE TABLE test.versioned (id integer PRIMARY KEY, v bigint, x text);
CREATE TRIGGER guard BEFORE UPDATE ON test.versioned
	FOR EACH ROW EXECUTE FUNCTION booking_guard_monotonic('v');
INSERT INTO test.versioned VALUES (1, 5, 'five'), (2, NULL, 'none');
UPDATE test.versioned SET v = 4, x = 'four' WHERE id = 1;
SELECT same('an older version', (SELECT x FROM test.versioned WHERE id = 1), 'five');
UPDATE test.versioned SET v = 6, x = 'six' WHERE id = 1;
SELECT same('a newer version', (SELECT x FROM test.versioned WHERE id = 1), 'six');
UPDATE test.versioned SET v = 10, x = 'ten' WHERE id = 1;
SELECT same('numbers, not texts', (SELECT x FROM test.versioned WHERE id = 1), 'ten');
UPDATE test.versioned SET v = 1, x = 'first' WHERE id = 2;
SELECT same('after none, one', (SELECT x FROM test.versioned WHERE id = 2), 'first');
UPDATE test.versioned SET v = NULL, x = 'none again' WHERE id = 2;
SELECT same('after one, none', (SELECT x FROM test.versioned WHERE id = 2), 'first');

-- Wrong use is an error that says so.
SET client_min_messages = warning;
CREATE TABLE test.wrong (id integer, status text, at timestamptz);
INSERT INTO test.wrong VALUES (1, 'a', '2030-06-01 08:00+00');
CREATE FUNCTION test.wrongly(timing text, guard text)
RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
	EXECUTE format('CREATE TRIGGER wrong %s ON test.wrong %s', timing, guard);
	UPDATE test.wrong SET status = 'b';
	RAISE SQLSTATE 'TT001';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;
SELECT same('a column that is not there', wrongly('BEFORE UPDATE', 'FOR EACH ROW EXECUTE FUNCTION booking_guard_terminal(''stat'', ''b'')'), '42703');
SELECT same('monotonic: a column that is not there', wrongly('BEFORE UPDATE', 'FOR EACH ROW EXECUTE FUNCTION booking_guard_monotonic(''att'')'), '42703');
SELECT yes('terminal without a column', wrongly('BEFORE UPDATE', 'FOR EACH ROW EXECUTE FUNCTION booking_guard_terminal()') ~ '^(22023|39P01)');
SELECT yes('terminal without a value', wrongly('BEFORE UPDATE', 'FOR EACH ROW EXECUTE FUNCTION booking_guard_terminal(''status'')') ~ '^(22023|39P01)');
SELECT yes('monotonic without a column', wrongly('BEFORE UPDATE', 'FOR EACH ROW EXECUTE FUNCTION booking_guard_monotonic()') ~ '^(22023|39P01)');
SELECT same('terminal after the row', wrongly('AFTER UPDATE', 'FOR EACH ROW EXECUTE FUNCTION booking_guard_terminal(''status'', ''b'')'), '39P01');
SELECT same('terminal for the statement', wrongly('BEFORE UPDATE', 'FOR EACH STATEMENT EXECUTE FUNCTION booking_guard_terminal(''status'', ''b'')'), '39P01');
SELECT same('monotonic after the row', wrongly('AFTER UPDATE', 'FOR EACH ROW EXECUTE FUNCTION booking_guard_monotonic(''at'')'), '39P01');
SELECT same('monotonic for the statement', wrongly('BEFORE UPDATE', 'FOR EACH STATEMENT EXECUTE FUNCTION booking_guard_monotonic(''at'')'), '39P01');
SELECT yes('called as a function', sqlstate_of('SELECT booking_guard_terminal()') IN ('0A000', '39P01'));

-- Anyone may use them, since PUBLIC has EXECUTE, with any path.
CREATE ROLE regress_booking_guards;
GRANT CREATE ON SCHEMA test TO regress_booking_guards;
SET ROLE regress_booking_guards;
CREATE TABLE test.theirs (id integer PRIMARY KEY, status varchar(20), at timestamp);
CREATE TRIGGER guard BEFORE UPDATE ON test.theirs FOR EACH ROW EXECUTE FUNCTION public.booking_guard_terminal('status', 'done');
CREATE TRIGGER guard_2 BEFORE UPDATE ON test.theirs FOR EACH ROW EXECUTE FUNCTION public.booking_guard_monotonic('at');
INSERT INTO test.theirs VALUES (1, 'done', '2030-06-01 08:00'), (2, 'open', '2030-06-01 08:00');
SET client_min_messages = error;
SET search_path = '';
UPDATE test.theirs SET status = 'open' WHERE id = 1;
UPDATE test.theirs SET at = '2030-06-01 07:00' WHERE id = 2;
SELECT test.same('theirs are guarded', (SELECT string_agg(concat(status, ' ', to_char(at, 'HH24')), ', ' ORDER BY id) FROM test.theirs), 'done 08, open 08');
RESET ROLE;
SET search_path = public, test;
SET client_min_messages = warning;
DROP TABLE test.theirs;
REVOKE ALL ON SCHEMA test FROM regress_booking_guards;
DROP ROLE regress_booking_guards;

SELECT done();
