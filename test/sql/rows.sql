--
-- rows.sql: a row written without a statement is the row a statement writes
--
-- The ledger inserts and finds its rows by the executor's own functions and
-- keeps what they need between calls.  CHECKs hold there as well; a trigger, a
-- rule or a column added later is met by the very next call of the same
-- session; and an index that is built anew is the one that is searched.
-- Proves R22 for the conflict that is found after the row was written.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

DO $$ BEGIN
	PERFORM booking_resource_put('rows', 'room');
	PERFORM booking_resource_put('rows', 'hall', capacity => 3);
	PERFORM booking_permit_all('rows', 'ann');
END $$;

CREATE FUNCTION test.claim(intent text, first numeric, resource text DEFAULT 'room')
RETURNS text
LANGUAGE sql
AS $$
	SELECT show(booking_claim('rows', 'ann', intent, resource, h(first, first + 1)));
$$;

-- what the next calls are compared with
SELECT same('plain', claim('plain', 1), 'committed committed receipt');
SELECT same('again', claim('plain', 1), 'historical_retry committed receipt replayed');
SELECT same('taken', claim('taken', 1), 'resource_conflict conflict');
SELECT same('after a conflict', claim('after', 2), 'committed committed receipt');
SELECT same('nothing is left of a refused row',
			(SELECT count(*) FROM booking.reservation r JOIN booking.intent i USING (intent_id)
			  WHERE i.tenant = 'rows'), 2::bigint);

-- a statement that was run is kept, and so is its text
CREATE FUNCTION test.kept(pattern text) RETURNS bigint LANGUAGE sql AS
	'SELECT count(*) FROM pg_backend_memory_contexts WHERE ident ~ pattern';
SELECT yes('statements are kept', kept('^SELECT .* FROM booking[.]permission') > 0);
SELECT same('none wrote a row of a claim', kept('^INSERT INTO booking[.](intent|reservation) '), 0);
SELECT same('none looked an intent or a resource up', kept('^SELECT .* FROM booking[.](intent|resource) +WHERE'), 0);

-- a CHECK of the owner's
ALTER TABLE booking.reservation ADD CONSTRAINT test_check CHECK (piece < 0) NOT VALID;
SELECT fails('CHECK of reservations', $$SELECT claim('check', 3)$$, '23514', hinted => false);
ALTER TABLE booking.reservation DROP CONSTRAINT test_check;
ALTER TABLE booking.intent ADD CONSTRAINT test_check CHECK (intent <> 'check') NOT VALID;
SELECT fails('CHECK of intents', $$SELECT claim('check', 3)$$, '23514', hinted => false);
SELECT same('others pass it', claim('pass', 3), 'committed committed receipt');
ALTER TABLE booking.intent DROP CONSTRAINT test_check;
SELECT same('without it', claim('check', 4), 'committed committed receipt');

-- a function that a CHECK calls
CREATE FUNCTION test.tolerates(piece integer) RETURNS boolean
LANGUAGE sql IMMUTABLE AS 'SELECT true';
ALTER TABLE booking.reservation ADD CONSTRAINT test_check CHECK (tolerates(piece));
SELECT same('function says yes', claim('yes', 5), 'committed committed receipt');
CREATE OR REPLACE FUNCTION test.tolerates(piece integer) RETURNS boolean
LANGUAGE sql IMMUTABLE AS 'SELECT false';
SELECT fails('function says no', $$SELECT claim('no', 6)$$, '23514', hinted => false);
ALTER TABLE booking.reservation DROP CONSTRAINT test_check;

-- names in such a function are looked up in the catalog, not where the caller
-- says, whose settings stay as they are
CREATE SCHEMA test_trap;
CREATE FUNCTION test_trap.reverse(text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'hijacked as %', current_user USING ERRCODE = 'TT666'; END $$;
CREATE FUNCTION test.looks(piece integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
	$$BEGIN RETURN reverse('ab'::text) OPERATOR(pg_catalog.=) 'ba'; END$$;
ALTER TABLE booking.reservation ADD CONSTRAINT test_check CHECK (test.looks(piece)) NOT VALID;
SET search_path = test_trap, pg_catalog;
SELECT test.same('the trap is set', test.sqlstate_of('SELECT test.looks(1)'), 'TT666');
SELECT test.same('a CHECK names a function',
				 (public.booking_claim('rows', 'ann', 'looks', 'room', test.h(24, 25))).disposition, 'committed');
SELECT test.same('also of a hall',
				 (public.booking_claim('rows', 'ann', 'looks 2', 'hall', test.h(26, 27))).disposition, 'committed');
SELECT test.same('settings of the caller',
				 current_setting('search_path') || current_setting('enable_seqscan'), 'test_trap, pg_catalogon');
SET search_path = public, test;
ALTER TABLE booking.reservation DROP CONSTRAINT test_check;
-- the same of an index
CREATE INDEX test_looks ON booking.reservation (test.looks(piece));
SET search_path = test_trap, pg_catalog;
SELECT test.same('an index names a function',
				 (public.booking_claim('rows', 'ann', 'looks 3', 'room', test.h(25, 26))).disposition, 'committed');
SET search_path = public, test;
DROP INDEX booking.test_looks;
-- the same of a domain, in a row that a compiled function fills
CREATE FUNCTION test.reads(word text) RETURNS boolean LANGUAGE plpgsql AS
	$$BEGIN RETURN reverse(word) OPERATOR(pg_catalog.=) 'ba'; END$$;
CREATE DOMAIN test.word AS text CHECK (test.reads(VALUE));
CREATE TYPE test.form AS (word test.word);
ALTER TABLE booking.intent ADD CONSTRAINT test_check
	CHECK ((jsonb_populate_record(NULL::test.form, terms)).word = 'ab') NOT VALID;
SET search_path = test_trap, pg_catalog;
SELECT test.same('a domain of a row names a function',
				 (public.booking_claim('rows', 'ann', 'looks 4', 'room', test.h(27, 28), terms => '{"word": "ab"}')).disposition, 'committed');
SET search_path = public, test;
SELECT fails('and its rule', $$SELECT booking_claim('rows', 'ann', 'looks 5', 'room', h(28, 29), terms => '{"word": "x"}')$$,
			 '23514', hinted => false);
ALTER TABLE booking.intent DROP CONSTRAINT test_check;
DROP SCHEMA test_trap CASCADE;

-- triggers of the owner's
CREATE TABLE test.seen (what text);
CREATE FUNCTION test.see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO test.seen VALUES (concat_ws(' ', TG_TABLE_NAME, TG_WHEN, TG_LEVEL));
	RETURN NEW;
END $$;
CREATE TRIGGER see_before BEFORE INSERT ON booking.intent FOR EACH ROW EXECUTE FUNCTION test.see();
CREATE TRIGGER see_after AFTER INSERT ON booking.reservation FOR EACH ROW EXECUTE FUNCTION test.see();
CREATE TRIGGER see_statement AFTER INSERT ON booking.intent FOR EACH STATEMENT EXECUTE FUNCTION test.see();
SELECT same('with triggers', claim('triggers', 7), 'committed committed receipt');
SELECT yes('by a statement', kept('^INSERT INTO booking[.]intent ') > 0);
SELECT same('triggers saw it', (SELECT string_agg(what, ', ' ORDER BY what) FROM test.seen),
			'intent AFTER STATEMENT, intent BEFORE ROW, reservation AFTER ROW');
SELECT same('taken with triggers', claim('taken 2', 7), 'resource_conflict conflict');
DROP TRIGGER see_before ON booking.intent;
DROP TRIGGER see_after ON booking.reservation;
DROP TRIGGER see_statement ON booking.intent;
TRUNCATE test.seen;
SELECT same('without triggers', claim('no triggers', 8), 'committed committed receipt');
SELECT same('nothing saw it', (SELECT count(*) FROM test.seen), 0::bigint);

-- a rule
CREATE RULE see AS ON INSERT TO booking.intent DO ALSO INSERT INTO test.seen VALUES ('rule');
SELECT same('no upsert under a rule', sqlstate_of($$SELECT claim('rule', 9)$$), '0A000');
DROP RULE see ON booking.intent;
SELECT same('without the rule', claim('rule', 9), 'committed committed receipt');

-- a column and an index of the owner's
ALTER TABLE booking.intent ADD COLUMN note text DEFAULT 'kept';
SELECT same('another column', claim('column', 10), 'committed committed receipt');
SELECT same('its default', (SELECT note FROM booking.intent WHERE tenant = 'rows' AND intent = 'column'), 'kept');
SELECT same('found with another column', claim('column', 10), 'historical_retry committed receipt replayed');
ALTER TABLE booking.intent DROP COLUMN note;
SELECT same('a dropped column', claim('dropped', 11), 'committed committed receipt');
CREATE UNIQUE INDEX test_one ON booking.reservation (lower(occupied)) WHERE tenant = 'rows';
SELECT same('another index', claim('index', 12), 'committed committed receipt');
SELECT fails('and its rule', $$SELECT claim('index 2', 12, 'hall')$$, '23505', hinted => false);
DROP INDEX booking.test_one;
SELECT same('without the index', claim('index 2', 12, 'hall'), 'committed committed receipt');

-- indexes built anew, also within a transaction that is rolled back
REINDEX INDEX booking.intent_identity_key;
REINDEX TABLE booking.reservation;
SELECT same('found in the new index', claim('plain', 1), 'historical_retry committed receipt replayed');
SELECT same('kept out by the new index', claim('taken 3', 1), 'resource_conflict conflict');
BEGIN;
REINDEX TABLE booking.intent;
SELECT same('within', claim('within', 13), 'committed committed receipt');
ROLLBACK;
SELECT same('rolled back', claim('within', 13), 'committed committed receipt');

-- a CHECK that calls the ledger: the call within is a call of its own
CREATE FUNCTION test.reenters(piece integer) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF current_setting('test.inner', true) IS DISTINCT FROM 'done' THEN
		PERFORM set_config('test.inner', 'done', true);
		EXECUTE 'CREATE FUNCTION pg_temp.changed() RETURNS integer LANGUAGE sql AS ''SELECT 1''';
		PERFORM test.claim('inner', 16, 'hall');
	END IF;
	RETURN true;
END $$;
GRANT USAGE ON SCHEMA test TO PUBLIC;
ALTER FUNCTION test.claim(text, numeric, text) SET search_path = public, test;
ALTER TABLE booking.reservation ADD CONSTRAINT test_check CHECK (test.reenters(piece)) NOT VALID;
BEGIN;
SELECT same('outer', claim('outer', 16), 'committed committed receipt');
SELECT same('both hold', held('rows', 'ann', 'outer') + held('rows', 'ann', 'inner'), 2::bigint);
COMMIT;
ALTER TABLE booking.reservation DROP CONSTRAINT test_check;

-- what the ledger relies on is missing: an error, and never a second booking
BEGIN;
ALTER TABLE booking.reservation DROP CONSTRAINT reservation_lane_excl;
SELECT same('no constraint', sqlstate_of($$SELECT claim('bare', 1)$$), '42704');
ROLLBACK;
BEGIN;
ALTER INDEX booking.reservation_lane_excl RENAME TO other;
SELECT same('another name', sqlstate_of($$SELECT claim('bare', 1)$$), '42704');
ROLLBACK;
BEGIN;
ALTER TABLE booking.intent DROP CONSTRAINT intent_identity_key;
SELECT same('no identities', sqlstate_of($$SELECT claim('bare', 20)$$), '42704');
ROLLBACK;
BEGIN;
ALTER TABLE booking.reservation RENAME TO other;
SELECT same('no table', sqlstate_of($$SELECT claim('bare', 20)$$), '42P01');
ROLLBACK;

-- other types, and another order of the index
BEGIN;
ALTER TABLE booking.reservation ALTER piece TYPE numeric;
SELECT same('another type', claim('numeric', 17), 'committed committed receipt');
SELECT same('is stored', (SELECT piece FROM booking.reservation JOIN booking.intent i USING (intent_id)
						   WHERE i.tenant = 'rows' AND i.intent = 'numeric'), 0::numeric);
ROLLBACK;
BEGIN;
ALTER TABLE booking.intent DROP CONSTRAINT intent_identity_key,
	ADD CONSTRAINT intent_identity_key UNIQUE (principal, tenant, intent);
SELECT same('another order', claim('plain', 1), 'historical_retry committed receipt replayed');
SELECT same('and a new one', claim('order', 18), 'committed committed receipt');
ROLLBACK;

-- rows that a trigger suppresses end in an error
CREATE FUNCTION test.suppress() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER suppress BEFORE INSERT ON booking.reservation FOR EACH ROW EXECUTE FUNCTION test.suppress();
SELECT fails('reservations', $$SELECT claim('suppressed', 19)$$, '55000');
SELECT fails('reservations of the hall', $$SELECT claim('suppressed', 19, 'hall')$$, '55000');
DROP TRIGGER suppress ON booking.reservation;
CREATE TRIGGER suppress BEFORE INSERT ON booking.intent FOR EACH ROW EXECUTE FUNCTION test.suppress();
SELECT fails('intents', $$SELECT claim('suppressed', 19)$$, '55000');
DROP TRIGGER suppress ON booking.intent;

-- own writes are seen, also those of a savepoint
BEGIN;
SELECT same('first', claim('own', 14), 'committed committed receipt');
SAVEPOINT s;
SELECT same('own conflict', claim('own 2', 14), 'resource_conflict conflict');
ROLLBACK TO s;
SELECT same('the savepoint took it back', claim('own 2', 15), 'committed committed receipt');
SELECT same('own intent', claim('own', 14), 'historical_retry committed receipt replayed');
COMMIT;

SELECT * FROM done();
