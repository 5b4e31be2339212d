-- test/bench/schema.sql
--
-- What every run starts from: the extension with 10,000 resources of capacity
-- 1, 1,000 of capacity 20 and one hot resource, 100 principals that may book
-- them all, an application role bound to the tenant, and the tables of the
-- rivals.  The rivals' tables are copies made by LIKE, so they have the same
-- columns and indexes, the exclusion constraint among them.  They have no
-- CHECKs: PostgreSQL reads a CHECK's expression anew for every statement, which
-- would cost them more than all else they do.

\set ON_ERROR_STOP on
SET client_min_messages = warning;

CREATE EXTENSION booking CASCADE;

-- roles belong to the cluster: the second database finds it there
SELECT NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'bench_app') AS missing
\gset
\if :missing
CREATE ROLE bench_app LOGIN;
\endif
GRANT EXECUTE ON FUNCTION
	booking_claim(text, text, text, text, tstzrange, bigint, integer, jsonb, text, jsonb),
	booking_cancel(text, text, text, jsonb)
	TO bench_app;

SELECT booking_bind_role('bench_app', 'bench');
SELECT count(booking_resource_put('bench', 'r' || i))
  FROM generate_series(0, 9999) i;
SELECT count(booking_resource_put('bench', 'seats' || i, capacity => 20))
  FROM generate_series(0, 999) i;
SELECT booking_resource_put('bench', 'hot');
SELECT count(booking_permit_all('bench', 'p' || i)::text)
  FROM generate_series(0, 99) i;
-- somebody who may nothing, so that both sides can be asked to deny
SELECT booking_permit_all('bench', 'nobody', false);

CREATE SCHEMA rival;
-- starts above the bookings that each run begins with
CREATE SEQUENCE rival.intent_id_seq START 1000000;
CREATE TABLE rival.resource (LIKE booking.resource INCLUDING ALL);
CREATE TABLE rival.permission (LIKE booking.permission INCLUDING ALL);
CREATE TABLE rival.role_binding (LIKE booking.role_binding INCLUDING ALL);
CREATE TABLE rival.intent (LIKE booking.intent INCLUDING ALL EXCLUDING CONSTRAINTS);
CREATE TABLE rival.reservation (LIKE booking.reservation INCLUDING ALL EXCLUDING CONSTRAINTS);
ALTER TABLE rival.intent
	ALTER intent_id SET DEFAULT nextval('rival.intent_id_seq');

-- LIKE makes up names for the constraints; ON CONFLICT needs to know it
DO $$
DECLARE
	made name := (SELECT conname FROM pg_constraint
				   WHERE conrelid = 'rival.reservation'::regclass
					 AND contype = 'x');
BEGIN
	EXECUTE format('ALTER TABLE rival.reservation RENAME CONSTRAINT %I TO reservation_lane_excl',
				   made);
END
$$;

INSERT INTO rival.resource SELECT * FROM booking.resource;
INSERT INTO rival.permission SELECT * FROM booking.permission;
INSERT INTO rival.role_binding SELECT * FROM booking.role_binding;

-- the bare one-row insert
CREATE TABLE rival.one_row (
	id			bigserial PRIMARY KEY,
	resource_id	bigint NOT NULL,
	during		tstzrange NOT NULL
);

GRANT USAGE ON SCHEMA rival TO bench_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA rival TO bench_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA rival TO bench_app;

/*
 * The nth quarter of an hour.  The multiplication permutes the numbers below
 * ten million, so every number has a resource and a quarter of its own, and
 * consecutive numbers are far apart in every index.  Both functions are such
 * that the planner inlines them.
 */
CREATE FUNCTION rival.resource_of(n bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT n * 7368787 % 10000000 % 10000 $$;
CREATE FUNCTION rival.during_of(n bigint) RETURNS tstzrange
LANGUAGE sql STABLE AS $$
	SELECT tstzrange('2030-01-01 00:00:00+00'::timestamptz
					 + n * 7368787 % 10000000 / 10000 * interval '15 minutes',
					 '2030-01-01 00:15:00+00'::timestamptz
					 + n * 7368787 % 10000000 / 10000 * interval '15 minutes')
$$;

/* CPU time of this backend so far, in nanoseconds. */
CREATE FUNCTION rival.backend_cpu() RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
AS $$ SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::bigint $$;

ANALYZE;
