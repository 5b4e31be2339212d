--
-- guard_values.sql: the values of booking_guard_terminal are values of the type
--
-- Whatever way a value is spelled in the trigger, it is the one that the column
-- reads there; what is no value of the column's type is an error and not a
-- guard of nothing.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

CREATE TYPE test.mood AS ENUM ('open', 'done');
CREATE DOMAIN test.short AS varchar(6) CHECK (VALUE <> 'never');

-- What a row with the value becomes, guarded by the spelling, or the error.
CREATE FUNCTION test.guarded(type text, spelling text, value text, other text)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('CREATE TABLE test.guarded (v %s, at integer)', type);
	EXECUTE format('INSERT INTO test.guarded VALUES (%L, 1)', value);
	EXECUTE format('CREATE TRIGGER a BEFORE UPDATE ON test.guarded FOR EACH ROW EXECUTE FUNCTION booking_guard_terminal(''v'', %L)', spelling);
	EXECUTE format('UPDATE test.guarded SET v = %L', other);
	GET DIAGNOSTICS result = ROW_COUNT;
	DROP TABLE test.guarded;
	RETURN CASE result WHEN '0' THEN 'kept' ELSE 'changed' END;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END
$$;
SET client_min_messages = error;

SELECT same(concat_ws(', ', type, spelling, value), guarded(type, spelling, value, other), expected)
  FROM (VALUES
	('boolean', 'true', 'true', 'false', 'kept'),
	('boolean', 't', 'true', 'false', 'kept'),
	('boolean', 'yes', 'true', NULL, 'kept'),
	('boolean', 'true', 'false', 'true', 'changed'),
	('boolean', 'true', NULL, 'true', 'changed'),
	('numeric(6,2)', '1', '1', '2', 'kept'),
	('numeric(6,2)', '1', '2', '1', 'changed'),
	('numeric', '1', '1.00', '2', 'kept'),
	('integer', ' 01', '1', '2', 'kept'),
	('char(10)', 'done', 'done', 'open', 'kept'),
	('char(10)', 'done', 'open', 'done', 'changed'),
	('varchar(10)', 'done', 'done', 'open', 'kept'),
	('text', 'done', 'done ', 'open', 'changed'),
	('text', 'done', 'Done', 'open', 'changed'),
	('test.mood', 'done', 'done', 'open', 'kept'),
	('test.mood', 'done', 'open', 'done', 'changed'),
	('test.short', 'done', 'done', 'open', 'kept'),
	('timestamptz', '2030-06-01 08:00+02', '2030-06-01 06:00+00', '2031-01-01 00:00+00', 'kept'),
	('json', '{"a": 1}', '{"a": 1}', '{}', 'kept'),
	('json', '{"a": 1}', '{"a": 2}', '{}', 'changed'),
	('integer[]', '{ 1, 2 }', '{1,2}', '{}', 'kept'))
	   AS t (type, spelling, value, other, expected);

-- What is no value of the type is named.
SELECT same(concat_ws(', ', type, spelling), guarded(type, spelling, value, value), expected)
  FROM (VALUES
	('boolean', 'done', 'true', '22P02 invalid input syntax for type boolean: "done"'),
	('numeric(6,2)', 'one', '1', '22P02 invalid input syntax for type numeric: "one"'),
	('test.mood', 'closed', 'open', '22P02 invalid input value for enum mood: "closed"'),
	('test.short', 'canceled', 'open', '22001 value too long for type character varying(6)'))
	   AS t (type, spelling, value, expected);
SELECT yes('a value that the domain refuses', guarded('test.short', 'never', 'open', 'open') LIKE '23514 %');

-- booking_guard_monotonic reads them in the same way.
CREATE TABLE test.flagged (id integer PRIMARY KEY, over boolean, version integer);
CREATE TRIGGER a BEFORE UPDATE ON test.flagged FOR EACH ROW EXECUTE FUNCTION booking_guard_terminal('over', 'true');
CREATE TRIGGER b BEFORE UPDATE ON test.flagged FOR EACH ROW EXECUTE FUNCTION booking_guard_monotonic('version');
INSERT INTO test.flagged VALUES (1, false, 1);
UPDATE test.flagged SET over = true;
SELECT yes('of the same age, towards the end', (SELECT over FROM test.flagged));
UPDATE test.flagged SET over = false, version = 2;
SELECT yes('and no more', (SELECT over FROM test.flagged));

SELECT done();
