--
-- at.sql: wall time to instant
--
-- A wall time and a zone name one instant, none (a gap) or two (a fold).
-- PostgreSQL's rules of the zone at that date decide; nothing depends on the
-- session's own zone or on whether a zone calls the later or the earlier time
-- its summer.  Proves R53.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

CREATE TABLE test.wall (n integer GENERATED ALWAYS AS IDENTITY, zone text, wall text, first text, second text);
-- first and second: the instants in UTC; both NULL: a gap; second NULL: one.
INSERT INTO test.wall (zone, wall, first, second) VALUES
-- Berlin goes from +1 to +2 on 31 March 2030 at 2:00, and back on 27 October at 3:00.
('Europe/Berlin', '2030-01-15 12:00', '2030-01-15 11:00:00', NULL),
('Europe/Berlin', '2030-07-15 12:00', '2030-07-15 10:00:00', NULL),
('Europe/Berlin', '2030-03-31 01:59:59.999999', '2030-03-31 00:59:59.999999', NULL),
('Europe/Berlin', '2030-03-31 02:00', NULL, NULL),
('Europe/Berlin', '2030-03-31 02:30', NULL, NULL),
('Europe/Berlin', '2030-03-31 02:59:59.999999', NULL, NULL),
('Europe/Berlin', '2030-03-31 03:00', '2030-03-31 01:00:00', NULL),
('Europe/Berlin', '2030-10-27 01:59:59.999999', '2030-10-26 23:59:59.999999', NULL),
('Europe/Berlin', '2030-10-27 02:00', '2030-10-27 00:00:00', '2030-10-27 01:00:00'),
('Europe/Berlin', '2030-10-27 02:30', '2030-10-27 00:30:00', '2030-10-27 01:30:00'),
('Europe/Berlin', '2030-10-27 02:59:59.999999', '2030-10-27 00:59:59.999999', '2030-10-27 01:59:59.999999'),
('Europe/Berlin', '2030-10-27 03:00', '2030-10-27 02:00:00', NULL),
-- New York: 10 March 2030 at 2:00, 3 November at 2:00.
('America/New_York', '2030-03-10 01:59', '2030-03-10 06:59:00', NULL),
('America/New_York', '2030-03-10 02:30', NULL, NULL),
('America/New_York', '2030-03-10 03:00', '2030-03-10 07:00:00', NULL),
('America/New_York', '2030-11-03 00:59', '2030-11-03 04:59:00', NULL),
('America/New_York', '2030-11-03 01:30', '2030-11-03 05:30:00', '2030-11-03 06:30:00'),
('America/New_York', '2030-11-03 02:00', '2030-11-03 07:00:00', NULL),
-- Lord Howe moves by half an hour: 7 April 2030 at 2:00, 6 October at 2:00.
('Australia/Lord_Howe', '2030-04-07 01:29', '2030-04-06 14:29:00', NULL),
('Australia/Lord_Howe', '2030-04-07 01:45', '2030-04-06 14:45:00', '2030-04-06 15:15:00'),
('Australia/Lord_Howe', '2030-04-07 02:00', '2030-04-06 15:30:00', NULL),
('Australia/Lord_Howe', '2030-10-06 01:59', '2030-10-05 15:29:00', NULL),
('Australia/Lord_Howe', '2030-10-06 02:15', NULL, NULL),
('Australia/Lord_Howe', '2030-10-06 02:30', '2030-10-05 15:30:00', NULL),
-- Kathmandu has three quarters of an hour, and lost 15 minutes in 1986.
('Asia/Kathmandu', '2030-06-01 12:00', '2030-06-01 06:15:00', NULL),
('Asia/Kathmandu', '1985-12-31 23:59', '1985-12-31 18:29:00', NULL),
('Asia/Kathmandu', '1986-01-01 00:07', NULL, NULL),
('Asia/Kathmandu', '1986-01-01 00:15', '1985-12-31 18:30:00', NULL),
-- Dublin calls its winter the exception.
('Europe/Dublin', '2030-03-31 01:30', NULL, NULL),
('Europe/Dublin', '2030-10-27 01:30', '2030-10-27 00:30:00', '2030-10-27 01:30:00'),
-- Apia had no 30 December 2011.
('Pacific/Apia', '2011-12-29 23:59', '2011-12-30 09:59:00', NULL),
('Pacific/Apia', '2011-12-30 12:00', NULL, NULL),
('Pacific/Apia', '2011-12-31 00:00', '2011-12-30 10:00:00', NULL),
-- A fold without any summer time: Caracas went back half an hour in 2007.
('America/Caracas', '2007-12-09 02:45', '2007-12-09 06:45:00', '2007-12-09 07:15:00'),
('UTC', '2030-03-31 02:30', '2030-03-31 02:30:00', NULL),
('Etc/GMT+5', '2030-03-31 02:30', '2030-03-31 07:30:00', NULL),
('UTC', '1970-01-01 00:00', '1970-01-01 00:00:00', NULL),
('UTC', '9999-12-31 23:59:59', '9999-12-31 23:59:59', NULL);

CREATE FUNCTION test.utc(t timestamptz)
RETURNS text
LANGUAGE sql
AS $$
	SELECT rtrim(rtrim(to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), '0'), '.');
$$;
CREATE FUNCTION test.instant(wall text, zone text, fold text)
RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
	RETURN test.utc(booking_at(wall::timestamp, zone, fold));
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END
$$;

CREATE FUNCTION test.walk()
RETURNS SETOF text
LANGUAGE sql
AS $$
	SELECT test.same(format('%s %s %s', zone, wall, fold), test.instant(wall, zone, fold),
					 CASE WHEN first IS NULL THEN '22008'
						  WHEN second IS NULL OR fold = 'first' THEN first
						  WHEN fold = 'second' THEN second
						  ELSE '22008' END)
	  FROM test.wall, unnest(ARRAY['error', 'first', 'second']) WITH ORDINALITY f (fold, k) ORDER BY n, k;
$$;
SELECT walk();

-- Not the session's zone.
SET TimeZone = 'America/New_York';
SELECT walk();
SET TimeZone = 'Asia/Kathmandu';
SELECT walk();
SET TimeZone = 'Australia/Lord_Howe';
SELECT walk();
RESET TimeZone;

-- The default is to refuse; a hint says what to do.
SELECT fails('fold by default', $$SELECT booking_at('2030-10-27 02:30', 'Europe/Berlin')$$, '22008');
SELECT fails('gap', $$SELECT booking_at('2030-03-31 02:30', 'Europe/Berlin')$$, '22008');
SELECT same('no fold', utc(booking_at('2030-10-27 03:30', 'Europe/Berlin')), '2030-10-27 02:30:00');

-- Zones: only names of the database.  PostgreSQL takes any string as a POSIX
-- rule and then answers with the wrong sign or with UTC.
SELECT fails('zone ' || z, format('SELECT booking_at(''2030-06-01 12:00'', %L)', z), '22023', 'zone')
  FROM unnest(ARRAY['Mars/Olympus', 'Europe/Berlin ', 'FOO', 'FOO+3', 'EST5EDT,M3.2.0,M11.1.0', '<+03>-03', 'UTC+3', 'UTC-3', '+03', '-03:30', '3', '03:00',
					'CEST', 'PDT', 'Europe/Berlin,M3.5.0', '../../../etc/passwd', '/usr/share/zoneinfo/UTC', '', 'posixrules5', 'W. Europe Standard Time',
					repeat('x', 300), 'Europe', 'GMT+2', 'FOO3BAR']) z;
SELECT same('zone ' || z, utc(booking_at('2030-06-01 12:00', z)), want)
  FROM (VALUES ('UTC', '2030-06-01 12:00:00'), ('Etc/UTC', '2030-06-01 12:00:00'), ('Etc/GMT-3', '2030-06-01 09:00:00'),
			   ('America/Argentina/Buenos_Aires', '2030-06-01 15:00:00'), ('Asia/Kathmandu', '2030-06-01 06:15:00')) v (z, want);

SELECT fails('NULL local', $$SELECT booking_at(NULL, 'UTC')$$, '22004', 'local');
SELECT fails('NULL zone', $$SELECT booking_at('2030-06-01 12:00', NULL)$$, '22004', 'zone');
SELECT fails('NULL fold', $$SELECT booking_at('2030-06-01 12:00', 'UTC', NULL)$$, '22004', 'fold');
SELECT fails('fold ' || f, format('SELECT booking_at(''2030-06-01 12:00'', ''UTC'', %L)', f), '22023', 'fold')
  FROM unnest(ARRAY['', 'First', 'earlier', 'none', ' first', 'firs', 'first ']) f;
SELECT fails('local ' || w, format('SELECT booking_at(%L, ''UTC'')', w), '22023', 'local')
  FROM unnest(ARRAY['infinity', '-infinity', '1969-12-31 23:59:59', '10000-01-01 00:00', '0044-03-15 12:00 BC', '294276-12-31 23:59:59']) w;
-- R103: no year beyond 9999 comes out.
SELECT fails('local in 9999, instant in 10000', $$SELECT booking_at('9999-12-31 23:30', 'America/New_York')$$, '22023', 'local');

-- Wall to instant and back, over the months of change in four zones: every wall
-- time that exists once comes back, as PostgreSQL itself sees it.
SELECT same('round trip in ' || z, (SELECT count(*) FROM generate_series('2030-01-01 00:00'::timestamp, '2030-12-31 23:30'::timestamp, '30 min') w
			WHERE date_part('month', w) IN (3, 4, 10, 11)
			  AND CASE instant(w::text, z, 'first') WHEN '22008' THEN false
				  ELSE booking_at(w, z, 'first') AT TIME ZONE z <> w END), 0)
  FROM unnest(ARRAY['Europe/Berlin', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'America/New_York']) z;
SELECT same('gaps in ' || z, (SELECT count(*) FROM generate_series('2030-01-01 00:00'::timestamp, '2030-12-31 23:30'::timestamp, '30 min') w
			WHERE date_part('month', w) IN (3, 4, 10, 11)
			  AND instant(w::text, z, 'first') = '22008'), want)
  FROM (VALUES ('Europe/Berlin', 2), ('Australia/Lord_Howe', 1), ('Asia/Kathmandu', 0), ('America/New_York', 2)) v (z, want);

SELECT done();
