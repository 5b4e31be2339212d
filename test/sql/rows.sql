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
LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN true; END';
ALTER TABLE booking.reservation ADD CONSTRAINT test_check CHECK (tolerates(piece));
SELECT same('function says yes', claim('yes', 5), 'committed committed receipt');
CREATE OR REPLACE FUNCTION test.tolerates(piece integer) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN false; END';
SELECT fails('function says no', $$SELECT claim('no', 6)$$, '23514', hinted => false);
ALTER TABLE booking.reservation DROP CONSTRAINT test_check;

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
