--
-- install.sql: CREATE EXTENSION where something is in the way, and DROP
--
-- In a database of its own: objects that someone put in the way are neither
-- used nor replaced (R91), a schema "booking" of someone else is a clear error
-- (R79 for the part without a worker), another schema for the functions works,
-- and DROP EXTENSION leaves nothing behind.
--

\set ECHO none
\pset format unaligned
\pset tuples_only on
SET client_min_messages = warning;

SELECT current_database() AS home \gset
DROP DATABASE IF EXISTS regress_booking_install;
CREATE DATABASE regress_booking_install;
\c regress_booking_install
SET client_min_messages = warning;

-- A schema of that name: refused with a hint, and nothing is left behind.
CREATE SCHEMA booking;
CREATE TABLE booking.mine (x integer);
\set VERBOSITY default
\set SHOW_CONTEXT never
CREATE EXTENSION booking CASCADE;
SELECT 'left behind: ' || count(*) FROM pg_proc WHERE proname LIKE 'booking\_%';
SELECT 'untouched: ' || count(*) FROM booking.mine;
DROP SCHEMA booking CASCADE;

-- Traps in the schema that the functions go to.
CREATE FUNCTION public.caught() RETURNS void LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'hijacked as %', current_user; END$$;
CREATE FUNCTION public.text_op(text, text) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN PERFORM public.caught(); END$$;
CREATE FUNCTION public.name_op(name, text) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN PERFORM public.caught(); END$$;
CREATE FUNCTION public.int_op(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN PERFORM public.caught(); END$$;
CREATE FUNCTION public.times(bigint, integer) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$BEGIN PERFORM public.caught(); END$$;
CREATE OPERATOR public.= (LEFTARG = text, RIGHTARG = text, PROCEDURE = public.text_op);
CREATE OPERATOR public.= (LEFTARG = name, RIGHTARG = text, PROCEDURE = public.name_op);
CREATE OPERATOR public.>= (LEFTARG = bigint, RIGHTARG = bigint, PROCEDURE = public.int_op);
CREATE OPERATOR public.<= (LEFTARG = bigint, RIGHTARG = bigint, PROCEDURE = public.int_op);
CREATE OPERATOR public.> (LEFTARG = bigint, RIGHTARG = bigint, PROCEDURE = public.int_op);
CREATE OPERATOR public.* (LEFTARG = bigint, RIGHTARG = integer, PROCEDURE = public.times);
CREATE OPERATOR public.+ (LEFTARG = bigint, RIGHTARG = integer, PROCEDURE = public.times);
CREATE FUNCTION public.octet_length(text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$BEGIN PERFORM public.caught(); END$$;
CREATE FUNCTION public.date_part(text, interval) RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$BEGIN PERFORM public.caught(); END$$;
CREATE FUNCTION public.isempty(tstzrange) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$BEGIN PERFORM public.caught(); END$$;
CREATE FUNCTION public.lower(tstzrange) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE AS $$BEGIN PERFORM public.caught(); END$$;
CREATE FUNCTION public.upper(tstzrange) RETURNS timestamptz LANGUAGE plpgsql IMMUTABLE AS $$BEGIN PERFORM public.caught(); END$$;
CREATE FUNCTION public.lower_inc(tstzrange) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$BEGIN PERFORM public.caught(); END$$;
CREATE FUNCTION public.upper_inc(tstzrange) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$BEGIN PERFORM public.caught(); END$$;
CREATE FUNCTION public.range_op(tstzrange, tstzrange) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$BEGIN PERFORM public.caught(); END$$;
CREATE OPERATOR public.&& (LEFTARG = tstzrange, RIGHTARG = tstzrange, PROCEDURE = public.range_op, COMMUTATOR = OPERATOR(public.&&));
CREATE FUNCTION public.nextval(regclass) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN PERFORM public.caught(); END$$;
CREATE FUNCTION public.pg_extension_config_dump(regclass, text) RETURNS void LANGUAGE plpgsql AS $$BEGIN PERFORM public.caught(); END$$;
CREATE FUNCTION public.jsonb_build_object(VARIADIC "any") RETURNS jsonb LANGUAGE internal AS 'jsonb_build_object';
CREATE EXTENSION booking CASCADE;
-- Nothing of the extension depends on them, so they go without CASCADE.
DROP FUNCTION public.jsonb_build_object(VARIADIC "any"), public.pg_extension_config_dump(regclass, text), public.nextval(regclass),
	public.lower(tstzrange), public.upper(tstzrange), public.lower_inc(tstzrange), public.upper_inc(tstzrange), public.isempty(tstzrange), public.date_part(text, interval), public.octet_length(text);
DROP OPERATOR public.&& (tstzrange, tstzrange), public.* (bigint, integer), public.+ (bigint, integer), public.> (bigint, bigint), public.<= (bigint, bigint),
	public.>= (bigint, bigint), public.= (name, text), public.= (text, text);
DROP FUNCTION public.range_op(tstzrange, tstzrange), public.times(bigint, integer), public.int_op(bigint, bigint), public.name_op(name, text), public.text_op(text, text), public.caught();
SELECT 'works: ' || booking_resource_put('install', 'room');
SELECT FROM booking_permit('install', 'ann', 'room');
SELECT (booking_claim('install', 'ann', 'one', 'room', '[2030-06-01 09:00+00,2030-06-01 10:00+00)')).disposition;
DROP EXTENSION booking;
SELECT 'left behind: ' || count(*) FROM pg_proc WHERE proname LIKE 'booking\_%';
SELECT 'left behind: ' || count(*) FROM pg_namespace WHERE nspname = 'booking';
SELECT 'left behind: ' || count(*) FROM pg_type WHERE typname LIKE 'booking\_%';

-- A function of ours that someone made before: refused, not replaced.
CREATE FUNCTION public.booking_tenant_put(tenant text, four_eyes boolean DEFAULT NULL) RETURNS void LANGUAGE sql AS 'SELECT';
\set VERBOSITY sqlstate
CREATE EXTENSION booking;
\set VERBOSITY default
DROP FUNCTION public.booking_tenant_put(text, boolean);

-- The functions in another schema, whose name needs quotes; the path need not
-- know it.
CREATE SCHEMA "My App";
CREATE EXTENSION booking SCHEMA "My App";
SELECT 'functions in public: ' || count(*) FROM pg_proc WHERE proname LIKE 'booking\_%' AND pronamespace = 'public'::regnamespace;
-- Nothing of the dropped one is remembered in this session.
SELECT FROM "My App".booking_resource_put('install', 'other');
SELECT (x).disposition FROM (SELECT "My App".booking_claim('install', 'ann', 'one', 'room', '[2030-06-01 09:00+00,2030-06-01 10:00+00)') AS x) y;
SELECT FROM "My App".booking_resource_put('install', 'room');
SELECT (x).disposition FROM (SELECT "My App".booking_claim('install', 'ann', 'one', 'room', '[2030-06-01 09:00+00,2030-06-01 10:00+00)') AS x) y;
SELECT FROM "My App".booking_permit('install', 'ann', 'room');
SELECT (x).disposition, (x).replayed FROM (SELECT "My App".booking_claim('install', 'ann', 'one', 'room', '[2030-06-01 09:00+00,2030-06-01 10:00+00)') AS x) y;
SELECT (x).disposition, (x).replayed FROM (SELECT "My App".booking_claim('install', 'ann', 'one', 'room', '[2030-06-01 09:00+00,2030-06-01 10:00+00)') AS x) y;
SELECT 'violations: ' || count(*) FROM "My App".booking_check();
-- It can be neither moved nor dropped piece by piece.
\set VERBOSITY sqlstate
ALTER EXTENSION booking SET SCHEMA public;
DROP SCHEMA booking CASCADE;
DROP TABLE booking.intent;

\c :home
DROP DATABASE regress_booking_install;
