--
-- contract.sql: the promises of the ledger, one assertion each
--
-- One intent identity has one recorded result, a unit is never owned twice,
-- canceled stays canceled, and permission comes before everything.  Each
-- statement here is a transaction of its own; what needs two sessions at once
-- is in the isolation specs.  Proves R7, R40, and R5 for the function path.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM booking_resource_put('contract', 'room');
SELECT FROM booking_permit('contract', 'ann', 'room');
SELECT FROM booking_permit('contract', 'bob', 'room');

-- The first call commits: a receipt, one intent row, one reservation.
SELECT * FROM booking_claim('contract', 'ann', 'first', 'room', h(9, 10)) \gset one_
SELECT same('first claim: disposition', :'one_disposition', 'committed');
SELECT same('first claim: state', :'one_state', 'committed');
SELECT same('first claim: remote', :'one_remote', 'not_required');
SELECT same('first claim: event', :'one_event', 'none');
SELECT same('first claim: is no replay', :'one_replayed', 'f');
SELECT yes('first claim: the receipt is opaque', :'one_receipt' ~ '^local:.{16,}$');
SELECT yes('first claim: nothing personal in the receipt',
		   :'one_receipt' !~ '(contract|ann|first|room)');
SELECT same('first claim: one intent',
			(SELECT count(*) FROM booking.intent WHERE tenant = 'contract'), 1);
SELECT same('first claim: one reservation',
			(SELECT count(*) FROM booking.reservation WHERE tenant = 'contract'), 1);
SELECT same('first claim: receipt recorded',
			(SELECT receipt FROM booking.intent WHERE tenant = 'contract'), :'one_receipt');

-- The same call again is history.
SELECT fingerprint() AS before \gset
SELECT * FROM booking_claim('contract', 'ann', 'first', 'room', h(9, 10)) \gset two_
SELECT same('redial: disposition', :'two_disposition', 'historical_retry');
SELECT same('redial: state', :'two_state', 'committed');
SELECT same('redial: the same receipt', :'two_receipt', :'one_receipt');
SELECT same('redial: marked as replay', :'two_replayed', 't');
SELECT same('redial: writes nothing', fingerprint(), :'before');

-- Another intent for the same unit loses, and that is recorded too.
SELECT same('loser', show(booking_claim('contract', 'bob', 'loser', 'room', h(9, 10))),
			'resource_conflict conflict');
SELECT same('loser: stored', (SELECT disposition || ' ' || state FROM booking.intent
			WHERE tenant = 'contract' AND intent = 'loser'), 'resource_conflict conflict');
SELECT same('loser: holds nothing', held('contract', 'bob', 'loser'), 0);
SELECT same('loser: no receipt', (SELECT receipt FROM booking.intent
			WHERE tenant = 'contract' AND intent = 'loser'), NULL::text);
SELECT same('loser replays', show(booking_claim('contract', 'bob', 'loser', 'room', h(9, 10))),
			'resource_conflict conflict replayed');

-- Cancel: canceled with the historical receipt, no reservation.
SELECT * FROM booking_cancel('contract', 'ann', 'first') \gset three_
SELECT same('cancel: disposition', :'three_disposition', 'canceled');
SELECT same('cancel: state', :'three_state', 'canceled');
SELECT same('cancel: historical receipt', :'three_receipt', :'one_receipt');
SELECT same('cancel: is no replay', :'three_replayed', 'f');
SELECT same('cancel: no reservation', held('contract', 'ann', 'first'), 0);

-- The loser's conflict stays although the slot is free, and it is bound to its
-- values.
SELECT same('loser replays after the slot is free',
			show(booking_claim('contract', 'bob', 'loser', 'room', h(9, 10))),
			'resource_conflict conflict replayed');
SELECT same('loser with another slot',
			(booking_claim('contract', 'bob', 'loser', 'room', h(11, 12))).disposition,
			'intent_conflict');
SELECT same('loser holds nothing still', held('contract', 'bob', 'loser'), 0);

-- A retry after the cancel recreates nothing.
SELECT * FROM booking_claim('contract', 'ann', 'first', 'room', h(9, 10)) \gset four_
SELECT same('late retry: disposition', :'four_disposition', 'canceled');
SELECT same('late retry: state', :'four_state', 'canceled');
SELECT same('late retry: receipt', :'four_receipt', :'one_receipt');
SELECT same('late retry: marked as replay', :'four_replayed', 't');
SELECT same('late retry: nothing recreated', held('contract', 'ann', 'first'), 0);
SELECT same('cancel again', show(booking_cancel('contract', 'ann', 'first')),
			'canceled canceled receipt replayed');
SELECT same('the time is free for others',
			show(booking_claim('contract', 'bob', 'next', 'room', h(9, 10))),
			'committed committed receipt');

-- A stale version is answered, stored and replayed, also once it would fit.
SELECT same('version of a new resource', booking_resource_put('contract', 'desk'), 1);
SELECT FROM booking_permit('contract', 'ann', 'desk');
SELECT same('stale version',
			show(booking_claim('contract', 'ann', 'stale', 'desk', h(9, 10), 2)),
			'inventory_conflict conflict');
SELECT same('stale version: stored', (SELECT disposition FROM booking.intent
			WHERE tenant = 'contract' AND intent = 'stale'), 'inventory_conflict');
SELECT same('stale version: holds nothing', held('contract', 'ann', 'stale'), 0);
SELECT same('the version grows', booking_resource_put('contract', 'desk', time_zone => 'Europe/Berlin'), 2);
SELECT same('stale version replays for ever',
			show(booking_claim('contract', 'ann', 'stale', 'desk', h(9, 10), 2)),
			'inventory_conflict conflict replayed');
SELECT same('the right version commits',
			show(booking_claim('contract', 'ann', 'fresh', 'desk', h(9, 10), 2)),
			'committed committed receipt');
SELECT same('no version is no demand',
			show(booking_claim('contract', 'ann', 'any', 'desk', h(10, 11))),
			'committed committed receipt');
SELECT same('same identity, another version',
			(booking_claim('contract', 'ann', 'fresh', 'desk', h(9, 10), 1)).disposition,
			'intent_conflict');
SELECT same('same identity, no version',
			(booking_claim('contract', 'ann', 'fresh', 'desk', h(9, 10))).disposition,
			'intent_conflict');
SELECT same('intent_conflict changed nothing',
			show(booking_claim('contract', 'ann', 'fresh', 'desk', h(9, 10), 2)),
			'historical_retry committed receipt replayed');

-- Permission removed: denied, no receipt although one exists, nothing written.
SELECT FROM booking_permit('contract', 'ann', 'desk', false);
SELECT fingerprint() AS before \gset
SELECT same('revoked: claim', show(booking_claim('contract', 'ann', 'fresh', 'desk', h(9, 10), 2)), 'denied -');
SELECT same('revoked: new claim', show(booking_claim('contract', 'ann', 'new', 'desk', h(20, 21))), 'denied -');
SELECT same('revoked: status', show(booking_status('contract', 'ann', 'fresh')), 'denied -');
SELECT same('revoked: cancel', show(booking_cancel('contract', 'ann', 'fresh')), 'denied -');
SELECT same('revoked: exact cancel',
			show(booking_cancel_exact('contract', 'ann', 'fresh', 'desk', h(9, 10), 2, 1, '{}')),
			'denied -');
SELECT same('revoked: other values', show(booking_claim('contract', 'ann', 'fresh', 'desk', h(1, 2))), 'denied -');
SELECT same('revoked: propose', show(booking_propose('contract', 'ann', 'fresh', 'desk', h(1, 2))), 'denied -');
SELECT same('revoked: nothing written', fingerprint(), :'before');
SELECT same('never permitted', show(booking_claim('contract', 'eve', 'x', 'desk', h(20, 21))), 'denied -');
SELECT same('unknown resource', show(booking_claim('contract', 'bob', 'x', 'nowhere', h(20, 21))), 'denied -');
SELECT same('unknown tenant', show(booking_claim('contract none', 'bob', 'x', 'desk', h(20, 21))), 'denied -');
SELECT same('denied is never stored', fingerprint(), :'before');
SELECT FROM booking_permit('contract', 'ann', 'desk', true);
SELECT same('restored: history again',
			show(booking_claim('contract', 'ann', 'fresh', 'desk', h(9, 10), 2)),
			'historical_retry committed receipt replayed');
SELECT same('restored: a new claim commits',
			show(booking_claim('contract', 'ann', 'new', 'desk', h(20, 21))),
			'committed committed receipt');

-- A row for one resource wins over the row for all, in both directions.
SELECT FROM booking_permit_all('contract', 'cid');
SELECT FROM booking_permit('contract', 'cid', 'desk', false);
SELECT same('all allowed', (booking_claim('contract', 'cid', 'a', 'room', h(30, 31))).disposition, 'committed');
SELECT same('one forbidden', (booking_claim('contract', 'cid', 'b', 'desk', h(30, 31))).disposition, 'denied');
SELECT FROM booking_permit_all('contract', 'cid', false);
SELECT FROM booking_permit('contract', 'cid', 'desk', true);
SELECT same('all forbidden', (booking_claim('contract', 'cid', 'c', 'room', h(32, 33))).disposition, 'denied');
SELECT same('one allowed', (booking_claim('contract', 'cid', 'd', 'desk', h(32, 33))).disposition, 'committed');
SELECT same('a known intent demands permission on its own resource',
			show(booking_cancel('contract', 'cid', 'a')), 'denied -');

-- Cancel before create: the tombstone stops the late create, whatever values
-- it brings.
SELECT same('cancel first', show(booking_cancel('contract', 'ann', 'tomb')), 'canceled canceled');
SELECT same('create later', show(booking_claim('contract', 'ann', 'tomb', 'room', h(40, 41))),
			'canceled canceled replayed');
SELECT same('create later, others values', show(booking_claim('contract', 'ann', 'tomb', 'desk', h(42, 43))),
			'canceled canceled replayed');
SELECT same('propose later', (booking_propose('contract', 'ann', 'tomb', 'room', h(40, 41))).disposition, 'canceled');
SELECT same('the tombstone holds nothing', held('contract', 'ann', 'tomb'), 0);
SELECT same('nobody may plant tombstones without any permission',
			show(booking_cancel('contract', 'eve', 'tomb')), 'denied -');
SELECT same('nothing written for it',
			(SELECT count(*) FROM booking.intent WHERE tenant = 'contract' AND principal = 'eve'), 0);

-- Exact cancel before create binds its values.
SELECT same('exact cancel first',
			show(booking_cancel_exact('contract', 'ann', 'bound', 'room', h(40, 41), NULL, 1, '{"a": 1}')),
			'canceled canceled');
SELECT same('the same values later',
			show(booking_claim('contract', 'ann', 'bound', 'room', h(40, 41), terms => '{"a": 1.0}')),
			'canceled canceled replayed');
SELECT same('other values later',
			(booking_claim('contract', 'ann', 'bound', 'room', h(40, 42), terms => '{"a": 1}')).disposition,
			'intent_conflict');
SELECT same('exact cancel of other values',
			(booking_cancel_exact('contract', 'ann', 'fresh', 'desk', h(9, 11), 2, 1, '{}')).disposition,
			'intent_conflict');
SELECT same('changes nothing', held('contract', 'ann', 'fresh'), 1);
SELECT same('exact cancel of these values',
			show(booking_cancel_exact('contract', 'ann', 'fresh', 'desk', h(9, 10), 2, 1, '{}')),
			'canceled canceled receipt');
SELECT same('frees them', held('contract', 'ann', 'fresh'), 0);

-- A stored conflict can be canceled.
SELECT same('cancel of a conflict', show(booking_cancel('contract', 'bob', 'loser')), 'canceled canceled');
SELECT same('is terminal', show(booking_claim('contract', 'bob', 'loser', 'room', h(9, 10))),
			'canceled canceled replayed');

-- Identities are scoped by tenant and principal and compared byte for byte.
SELECT FROM booking_resource_put('contract 2', 'room');
SELECT FROM booking_permit('contract 2', 'ann', 'room');
SELECT same('another tenant', show(booking_claim('contract 2', 'ann', 'first', 'room', h(9, 10))),
			'committed committed receipt');
SELECT same('another principal', show(booking_claim('contract', 'bob', 'first', 'room', h(50, 51))),
			'committed committed receipt');
SELECT same('another case', show(booking_claim('contract', 'bob', 'First', 'room', h(51, 52))),
			'committed committed receipt');
SELECT same('composed', show(booking_claim('contract', 'bob', U&'caf\00e9', 'room', h(52, 53))),
			'committed committed receipt');
SELECT same('decomposed', show(booking_claim('contract', 'bob', U&'cafe\0301', 'room', h(53, 54))),
			'committed committed receipt');
SELECT same('a principal in another case', show(booking_claim('contract', 'Bob', 'x', 'room', h(53, 54))), 'denied -');
SELECT same('no two receipts are alike',
			(SELECT count(receipt) - count(DISTINCT receipt) FROM booking.intent), 0);

-- A failure between reservation and receipt, whichever is written first,
-- leaves neither, and the next try commits.
CREATE FUNCTION test.fail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION 'injected' USING ERRCODE = 'XX999';
END
$$;
CREATE TRIGGER inject BEFORE INSERT ON booking.intent
	FOR EACH ROW EXECUTE FUNCTION test.fail();
SELECT fingerprint() AS before \gset
SELECT fails('failure at the intent', $$SELECT booking_claim('contract', 'ann', 'torn', 'room', h(60, 61))$$,
			 'XX999', hinted => false);
SELECT same('leaves neither', fingerprint(), :'before');
DROP TRIGGER inject ON booking.intent;
CREATE TRIGGER inject AFTER INSERT ON booking.reservation
	FOR EACH ROW EXECUTE FUNCTION test.fail();
SELECT fails('failure at the reservation', $$SELECT booking_claim('contract', 'ann', 'torn', 'room', h(60, 61))$$,
			 'XX999', hinted => false);
SELECT same('leaves neither either', fingerprint(), :'before');
DROP TRIGGER inject ON booking.reservation;

-- The same in a block that catches the failure and goes on.
DO $$
BEGIN
	BEGIN
		PERFORM booking_claim('contract', 'ann', 'torn', 'room', test.h(60, 61));
		RAISE EXCEPTION 'later failure';
	EXCEPTION WHEN raise_exception THEN
		NULL;
	END;
	PERFORM booking_claim('contract', 'ann', 'other', 'room', test.h(62, 63));
END
$$;
SELECT same('caught failure leaves nothing', show(booking_status('contract', 'ann', 'torn')), 'unknown_intent -');
SELECT same('what follows it stays', held('contract', 'ann', 'other'), 1);

BEGIN;
SAVEPOINT s;
SELECT same('in a savepoint', (booking_claim('contract', 'ann', 'torn', 'room', h(60, 61))).disposition, 'committed');
ROLLBACK TO s;
SELECT same('after its rollback', show(booking_status('contract', 'ann', 'torn')), 'unknown_intent -');
SAVEPOINT s;
SELECT same('and again', (booking_claim('contract', 'ann', 'torn', 'room', h(60, 61))).disposition, 'committed');
RELEASE s;
SELECT same('seen within the transaction', show(booking_claim('contract', 'ann', 'torn', 'room', h(60, 61))),
			'historical_retry committed receipt replayed');
ROLLBACK;
SELECT same('nothing after the rollback', fingerprint() = :'before', false);
SELECT same('gone with its transaction', show(booking_status('contract', 'ann', 'torn')), 'unknown_intent -');
SELECT same('the next try commits', show(booking_claim('contract', 'ann', 'torn', 'room', h(60, 61))),
			'committed committed receipt');

-- Versions: booleans, fractions and what no bigint holds are refused.
SELECT fingerprint() AS before \gset
SELECT fails('boolean', $$SELECT booking_claim('contract', 'ann', 'v', 'room', h(70, 71), true)$$, '42883');
SELECT fails('boolean by name', $$SELECT booking_claim('contract', 'ann', 'v', 'room', h(70, 71), expected_version => false)$$, '42883');
SELECT fails('fraction', $$SELECT booking_claim('contract', 'ann', 'v', 'room', h(70, 71), 1.5)$$, '42883');
SELECT fails('fraction as text', $$SELECT booking_claim('contract', 'ann', 'v', 'room', h(70, 71), '1.5')$$, '22P02', hinted => false);
SELECT fails('2^63', $$SELECT booking_claim('contract', 'ann', 'v', 'room', h(70, 71), 9223372036854775808)$$, '42883');
SELECT fails('2^63 as text', $$SELECT booking_claim('contract', 'ann', 'v', 'room', h(70, 71), '9223372036854775808')$$, '22003', hinted => false);
SELECT fails('0', $$SELECT booking_claim('contract', 'ann', 'v', 'room', h(70, 71), 0)$$, '22023', 'expected_version');
SELECT fails('-1', $$SELECT booking_claim('contract', 'ann', 'v', 'room', h(70, 71), -1)$$, '22023', 'expected_version');
SELECT fails('boolean in an array', $$SELECT booking_claim_all('contract', 'ann', 'v', '{room}', h(70, 71), ARRAY[true])$$, '42883');
SELECT fails('fraction in an array', $$SELECT booking_claim_all('contract', 'ann', 'v', '{room}', h(70, 71), ARRAY[1.5])$$, '42883');
SELECT fails('fraction in an array as text', $$SELECT booking_claim_all('contract', 'ann', 'v', '{room}', h(70, 71), '{1.5}')$$, '22P02', hinted => false);
SELECT fails('2^63 in an array', $$SELECT booking_claim_all('contract', 'ann', 'v', '{room}', h(70, 71), '{9223372036854775808}')$$, '22003', hinted => false);
SELECT fails('boolean for a slot', $$SELECT booking_claim_slot('contract', 'ann', 'v', 'room', 's', true)$$, '42883');
SELECT fails('2^63 for a slot', $$SELECT booking_claim_slot('contract', 'ann', 'v', 'room', 's', '9223372036854775808')$$, '22003', hinted => false);
-- Labels: control characters, blanks at the edges, more than 200 bytes.
SELECT fails('control character', $$SELECT booking_claim('contract', 'ann', E'v\n', 'room', h(70, 71))$$, '22023', 'intent');
SELECT fails('blank at the edge', $$SELECT booking_claim('contract', ' ann', 'v', 'room', h(70, 71))$$, '22023', 'principal');
SELECT fails('201 bytes', $$SELECT booking_claim(repeat('c', 201), 'ann', 'v', 'room', h(70, 71))$$, '22023', 'tenant');
SELECT fails('201 bytes in 101 characters', $$SELECT booking_claim('contract', 'ann', 'v', repeat(U&'\00e9', 100) || 'x', h(70, 71))$$, '22023', 'resource');
SELECT same('nothing admitted', fingerprint(), :'before');
SELECT same('2^63 - 1 is a version',
			show(booking_claim('contract', 'ann', 'v', 'room', h(70, 71), 9223372036854775807)),
			'inventory_conflict conflict');

-- A read-only transaction gets a clear error, a status in it is answered.
BEGIN READ ONLY;
SELECT sqlstate_of($$SELECT booking_claim('contract', 'ann', 'ro', 'room', h(80, 81))$$) AS claim,
	   show(booking_status('contract', 'ann', 'torn')) AS status \gset ro_
ROLLBACK;
SELECT same('claim in a read-only transaction', :'ro_claim', '25006');
SELECT same('status in a read-only transaction', :'ro_status', 'historical_retry committed receipt replayed');

SELECT done();
