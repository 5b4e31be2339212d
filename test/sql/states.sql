--
-- states.sql: every row and column of the state machine that needs no provider
--
-- Each cell brings an intent into the state of its row, makes the call of its
-- column and compares what the call answers, where the intent then is, how
-- many rows it holds, and whether the call wrote anything at all.  Every cell
-- has a resource of its own; its intent has the payload A (one hour), other
-- calls use B (the next hour).  Proves R2 and R3 for the approval.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM booking_permit_all('states', 'p');
SELECT FROM booking_permit_all('states', 'q');

CREATE TABLE test.cell (
	n				integer GENERATED ALWAYS AS IDENTITY,
	state			text,		-- row of the table
	call			text,		-- column of the table
	disposition		text,		-- what the call answers
	state_after		text,		-- where the intent then is; NULL: unknown
	replayed		boolean,
	receipt			boolean,	-- the answer carries the intent's receipt
	held			integer,	-- rows the intent then holds
	writes			boolean
);

-- How a state is reached.  $ is "tenant, principal, intent, resource";
-- @ is "tenant, principal, intent"; A and B are the two payloads.
CREATE TABLE test.start (state text PRIMARY KEY, calls text[]);
INSERT INTO test.start VALUES
('none',			'{}'),
('proposed',		ARRAY['booking_propose($, A)']),
('proposed held',	ARRAY['booking_propose($, A, hold_for => ''1 hour'')']),
('proposed 2',		ARRAY['booking_propose($, B)', 'booking_propose($, A)']),
('committed',		ARRAY['booking_claim($, A)']),
('approved 2',		ARRAY['booking_propose($, B)', 'booking_propose($, A)',
						  'booking_approve(T, ''q'', P, I, 2)']),
('resource_conflict', ARRAY['booking_claim(T, ''q'', ''block '' || I, R, A)',
						  'booking_claim($, A)',
						  'booking_cancel(T, ''q'', ''block '' || I)']),
('inventory_conflict', ARRAY['booking_claim($, A, 99)']),
('needs_proposal',	ARRAY['booking_propose($, B)', 'booking_propose($, A)',
						  'booking_claim(T, ''q'', ''block '' || I, R, A)',
						  'booking_approve(T, ''q'', P, I, 2)',
						  'booking_cancel(T, ''q'', ''block '' || I)']),
('rejected',		ARRAY['booking_propose($, A, hold_for => ''1 hour'')',
						  'booking_reject(T, ''q'', P, I, 1, ''no'')']),
('canceled',		ARRAY['booking_claim($, A)', 'booking_cancel(@)']),
('canceled proposal', ARRAY['booking_propose($, A, hold_for => ''1 hour'')',
						  'booking_cancel(@)']),
('canceled conflict', ARRAY['booking_claim($, A, 99)', 'booking_cancel(@)']),
('superseded',		ARRAY['booking_claim($, A)',
						  'booking_claim(T, P, ''next '' || I, R, B, supersedes => I)']),
('tombstone',		ARRAY['booking_cancel(@)']),
('bound tombstone',	ARRAY['booking_cancel_exact($, A, NULL, 1, ''{}'')']),
('creating',		ARRAY['test.outside($, ''creating'')']),
('created',			ARRAY['test.outside($, ''created'')']),
('unknown',			ARRAY['test.outside($, ''unknown'')']),
('failed',			ARRAY['test.outside($, ''failed'')']),
('repaired',		ARRAY['test.outside($, ''failed'')', 'booking_propose($, B)']),
('canceling',		ARRAY['test.outside($, ''canceling'')']);

-- States that only a provider brings about: the row as the controller would
-- leave it, so that what is merely answered there can be tested.
CREATE FUNCTION test.outside(t text, p text, i text, r text, s text)
RETURNS void
LANGUAGE sql
AS $$
	WITH n AS (
		INSERT INTO booking.intent (created_at, changed_at, version, units, tenant, principal, intent, disposition, state,
									receipt, resources, during, terms, created_role, changed_role)
		VALUES ('2030-01-01 00:00+00', '2030-01-01 00:00+00', 1, 1, t, p, i,
				CASE s WHEN 'failed' THEN 'failed' WHEN 'canceling' THEN 'canceled' ELSE 'committed' END, s,
				'local:' || i, ARRAY[r], test.h(9, 10), '{}', 'x', 'x')
		RETURNING intent_id),
	o AS (
		INSERT INTO booking.operation (intent_id, created_at, changed_at, next_at, tenant, account, calendar, kind, state, event_id)
		SELECT intent_id, '2030-01-01 00:00+00', '2030-01-01 00:00+00', '2030-01-01 00:00+00', t, 'a', 'c', 'create', 'sending', i
		  FROM n WHERE s = 'creating')
	INSERT INTO booking.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
	SELECT intent_id, resource_id, 0, 0, test.h(9, 10), t FROM n, booking.resource
	 WHERE tenant = t AND resource = r AND s <> 'failed';
$$;

CREATE TABLE test.call (call text PRIMARY KEY, statement text);
INSERT INTO test.call VALUES
('claim',			'booking_claim($, A)'),
('claim other',		'booking_claim($, B)'),
('status',			'booking_status(@)'),
('cancel',			'booking_cancel(@)'),
('cancel exact',	'booking_cancel_exact($, A, NULL, 1, ''{}'')'),
('cancel other',	'booking_cancel_exact($, B, NULL, 1, ''{}'')'),
('propose',			'booking_propose($, A)'),
('propose other',	'booking_propose($, C)'),
('approve 1',		'booking_approve(T, ''q'', P, I, 1)'),
('approve 2',		'booking_approve(T, ''q'', P, I, 2)'),
('reject 1',		'booking_reject(T, ''q'', P, I, 1, ''no'')'),
('reject 2',		'booking_reject(T, ''q'', P, I, 2, ''no'')'),
('supersede',		'booking_claim(T, P, ''after '' || I, R, B, supersedes => I)');

INSERT INTO test.cell (state, call, disposition, state_after, replayed, receipt, held, writes) VALUES
-- none
('none', 'claim',				'committed', 'committed', false, true, 1, true),
('none', 'status',				'unknown_intent', NULL, false, false, 0, false),
('none', 'cancel',				'canceled', 'canceled', false, false, 0, true),
('none', 'cancel exact',		'canceled', 'canceled', false, false, 0, true),
('none', 'propose',				'proposed', 'proposed', false, false, 0, true),
('none', 'approve 1',			'unknown_intent', NULL, false, false, 0, false),
('none', 'reject 1',			'unknown_intent', NULL, false, false, 0, false),
('none', 'supersede',			'unknown_intent', NULL, false, false, 0, false),
-- proposed
('proposed', 'claim',			'proposed', 'proposed', true, false, 0, false),
('proposed', 'claim other',		'intent_conflict', 'proposed', false, false, 0, false),
('proposed', 'status',			'proposed', 'proposed', true, false, 0, false),
('proposed', 'cancel',			'canceled', 'canceled', false, false, 0, true),
('proposed', 'cancel exact',	'canceled', 'canceled', false, false, 0, true),
('proposed', 'cancel other',	'intent_conflict', 'proposed', false, false, 0, false),
('proposed', 'propose',			'proposed', 'proposed', true, false, 0, false),
('proposed', 'propose other',	'proposed', 'proposed', false, false, 0, true),
('proposed', 'approve 1',		'committed', 'committed', false, true, 1, true),
('proposed', 'reject 1',		'needs_proposal', 'needs_proposal', false, false, 0, true),
('proposed', 'supersede',		'committed', 'canceled', false, false, 0, true),
-- proposed with a hold
('proposed held', 'claim',		'held', 'proposed', true, false, 1, false),
('proposed held', 'claim other', 'intent_conflict', 'proposed', false, false, 1, false),
('proposed held', 'status',		'held', 'proposed', true, false, 1, false),
('proposed held', 'cancel',		'canceled', 'canceled', false, false, 0, true),
('proposed held', 'cancel exact', 'canceled', 'canceled', false, false, 0, true),
('proposed held', 'propose',	'held', 'proposed', true, false, 1, false),
('proposed held', 'propose other', 'proposed', 'proposed', false, false, 0, true),
('proposed held', 'approve 1',	'committed', 'committed', false, true, 1, true),
('proposed held', 'reject 1',	'needs_proposal', 'needs_proposal', false, false, 0, true),
('proposed held', 'supersede',	'committed', 'canceled', false, false, 0, true),
-- proposed twice: only the newest counts
('proposed 2', 'claim',			'proposed', 'proposed', true, false, 0, false),
('proposed 2', 'claim other',	'stale_proposal', 'proposed', false, false, 0, false),
('proposed 2', 'status',		'proposed', 'proposed', true, false, 0, false),
('proposed 2', 'propose',		'proposed', 'proposed', true, false, 0, false),
('proposed 2', 'propose other',	'proposed', 'proposed', false, false, 0, true),
('proposed 2', 'approve 1',		'stale_proposal', 'proposed', false, false, 0, false),
('proposed 2', 'approve 2',		'committed', 'committed', false, true, 1, true),
('proposed 2', 'reject 1',		'stale_proposal', 'proposed', false, false, 0, false),
('proposed 2', 'reject 2',		'needs_proposal', 'needs_proposal', false, false, 0, true),
('proposed 2', 'cancel',		'canceled', 'canceled', false, false, 0, true),
('proposed 2', 'supersede',		'committed', 'canceled', false, false, 0, true),
-- committed by a claim
('committed', 'claim',			'historical_retry', 'committed', true, true, 1, false),
('committed', 'claim other',	'intent_conflict', 'committed', false, NULL, 1, false),
('committed', 'status',			'historical_retry', 'committed', true, true, 1, false),
('committed', 'cancel',			'canceled', 'canceled', false, true, 0, true),
('committed', 'cancel exact',	'canceled', 'canceled', false, true, 0, true),
('committed', 'cancel other',	'intent_conflict', 'committed', false, NULL, 1, false),
('committed', 'propose other',	'intent_conflict', 'committed', false, NULL, 1, false),
('committed', 'approve 1',		'historical_retry', 'committed', true, true, 1, false),
('committed', 'approve 2',		'stale_proposal', 'committed', false, NULL, 1, false),
('committed', 'reject 2',		'stale_proposal', 'committed', false, NULL, 1, false),
('committed', 'supersede',		'committed', 'canceled', false, true, 0, true),
-- committed by an approval
('approved 2', 'claim',			'historical_retry', 'committed', true, true, 1, false),
('approved 2', 'claim other',	'stale_proposal', 'committed', false, NULL, 1, false),
('approved 2', 'status',		'historical_retry', 'committed', true, true, 1, false),
('approved 2', 'cancel',		'canceled', 'canceled', false, true, 0, true),
('approved 2', 'propose other',	'intent_conflict', 'committed', false, NULL, 1, false),
('approved 2', 'approve 1',		'stale_proposal', 'committed', false, NULL, 1, false),
('approved 2', 'approve 2',		'historical_retry', 'committed', true, true, 1, false),
('approved 2', 'reject 1',		'stale_proposal', 'committed', false, NULL, 1, false),
('approved 2', 'supersede',		'committed', 'canceled', false, true, 0, true),
-- conflict
('resource_conflict', 'claim',			'resource_conflict', 'conflict', true, false, 0, false),
('resource_conflict', 'claim other',	'intent_conflict', 'conflict', false, false, 0, false),
('resource_conflict', 'status',			'resource_conflict', 'conflict', true, false, 0, false),
('resource_conflict', 'cancel',			'canceled', 'canceled', false, false, 0, true),
('resource_conflict', 'cancel exact',	'canceled', 'canceled', false, false, 0, true),
('resource_conflict', 'propose',		'resource_conflict', 'conflict', true, false, 0, false),
('resource_conflict', 'propose other',	'resource_conflict', 'conflict', true, false, 0, false),
('resource_conflict', 'approve 1',		'resource_conflict', 'conflict', true, false, 0, false),
('resource_conflict', 'reject 1',		'resource_conflict', 'conflict', true, false, 0, false),
('resource_conflict', 'supersede',		'committed', 'canceled', false, false, 0, true),
('inventory_conflict', 'status',		'inventory_conflict', 'conflict', true, false, 0, false),
('inventory_conflict', 'claim other',	'intent_conflict', 'conflict', false, false, 0, false),
('inventory_conflict', 'cancel',		'canceled', 'canceled', false, false, 0, true),
('inventory_conflict', 'cancel exact',	'intent_conflict', 'conflict', false, false, 0, false),
('inventory_conflict', 'propose other',	'inventory_conflict', 'conflict', true, false, 0, false),
('inventory_conflict', 'approve 1',		'inventory_conflict', 'conflict', true, false, 0, false),
('inventory_conflict', 'approve 2',		'inventory_conflict', 'conflict', true, false, 0, false),
('inventory_conflict', 'supersede',		'committed', 'canceled', false, false, 0, true),
-- needs_proposal
('needs_proposal', 'claim',			'needs_proposal', 'needs_proposal', true, false, 0, false),
('needs_proposal', 'claim other',	'stale_proposal', 'needs_proposal', false, false, 0, false),
('needs_proposal', 'status',		'needs_proposal', 'needs_proposal', true, false, 0, false),
('needs_proposal', 'cancel',		'canceled', 'canceled', false, false, 0, true),
('needs_proposal', 'cancel exact',	'canceled', 'canceled', false, false, 0, true),
('needs_proposal', 'propose',		'needs_proposal', 'needs_proposal', true, false, 0, false),
('needs_proposal', 'propose other',	'proposed', 'proposed', false, false, 0, true),
('needs_proposal', 'approve 1',		'stale_proposal', 'needs_proposal', false, false, 0, false),
('needs_proposal', 'approve 2',		'needs_proposal', 'needs_proposal', true, false, 0, false),
('needs_proposal', 'reject 1',		'stale_proposal', 'needs_proposal', false, false, 0, false),
('needs_proposal', 'supersede',		'committed', 'canceled', false, false, 0, true),
('rejected', 'claim',				'needs_proposal', 'needs_proposal', true, false, 0, false),
('rejected', 'status',				'needs_proposal', 'needs_proposal', true, false, 0, false),
('rejected', 'propose',				'needs_proposal', 'needs_proposal', true, false, 0, false),
('rejected', 'propose other',		'proposed', 'proposed', false, false, 0, true),
('rejected', 'approve 1',			'needs_proposal', 'needs_proposal', true, false, 0, false),
('rejected', 'reject 1',			'needs_proposal', 'needs_proposal', true, false, 0, false),
('rejected', 'cancel',				'canceled', 'canceled', false, false, 0, true),
('rejected', 'supersede',			'committed', 'canceled', false, false, 0, true),
-- canceled, in all the ways to get there
('canceled', 'claim',				'canceled', 'canceled', true, true, 0, false),
('canceled', 'claim other',			'intent_conflict', 'canceled', false, NULL, 0, false),
('canceled', 'status',				'canceled', 'canceled', true, true, 0, false),
('canceled', 'cancel',				'canceled', 'canceled', true, true, 0, false),
('canceled', 'cancel exact',		'canceled', 'canceled', true, true, 0, false),
('canceled', 'cancel other',		'intent_conflict', 'canceled', false, NULL, 0, false),
('canceled', 'propose',				'canceled', 'canceled', true, NULL, 0, false),
('canceled', 'propose other',		'canceled', 'canceled', true, NULL, 0, false),
('canceled', 'approve 1',			'canceled', 'canceled', true, true, 0, false),
('canceled', 'reject 1',			'canceled', 'canceled', true, true, 0, false),
('canceled', 'supersede',			'predecessor_unresolved', 'canceled', false, NULL, 0, false),
('canceled proposal', 'claim',		'canceled', 'canceled', true, false, 0, false),
('canceled proposal', 'status',		'canceled', 'canceled', true, false, 0, false),
('canceled proposal', 'propose other', 'canceled', 'canceled', true, false, 0, false),
('canceled proposal', 'approve 1',	'canceled', 'canceled', true, false, 0, false),
('canceled proposal', 'supersede',	'predecessor_unresolved', 'canceled', false, false, 0, false),
('canceled conflict', 'status',		'canceled', 'canceled', true, false, 0, false),
('canceled conflict', 'propose other', 'canceled', 'canceled', true, false, 0, false),
('canceled conflict', 'supersede',	'predecessor_unresolved', 'canceled', false, false, 0, false),
('superseded', 'claim',				'canceled', 'canceled', true, true, 0, false),
('superseded', 'cancel',			'canceled', 'canceled', true, true, 0, false),
('superseded', 'propose other',		'canceled', 'canceled', true, NULL, 0, false),
('superseded', 'approve 1',			'canceled', 'canceled', true, true, 0, false),
('superseded', 'supersede',			'predecessor_unresolved', 'canceled', false, NULL, 0, false),
('tombstone', 'claim',				'canceled', 'canceled', true, false, 0, false),
('tombstone', 'claim other',		'canceled', 'canceled', true, false, 0, false),
('tombstone', 'status',				'canceled', 'canceled', true, false, 0, false),
('tombstone', 'cancel',				'canceled', 'canceled', true, false, 0, false),
('tombstone', 'cancel exact',		'canceled', 'canceled', true, false, 0, false),
('tombstone', 'cancel other',		'canceled', 'canceled', true, false, 0, false),
('tombstone', 'propose',			'canceled', 'canceled', true, false, 0, false),
('tombstone', 'approve 1',			'canceled', 'canceled', true, false, 0, false),
('tombstone', 'reject 1',			'canceled', 'canceled', true, false, 0, false),
('tombstone', 'supersede',			'predecessor_unresolved', 'canceled', false, false, 0, false),
('bound tombstone', 'claim',		'canceled', 'canceled', true, false, 0, false),
('bound tombstone', 'claim other',	'intent_conflict', 'canceled', false, false, 0, false),
('bound tombstone', 'cancel',		'canceled', 'canceled', true, false, 0, false),
('bound tombstone', 'propose',		'canceled', 'canceled', true, false, 0, false),
('bound tombstone', 'supersede',	'predecessor_unresolved', 'canceled', false, false, 0, false),
-- what only a provider brings about, where a call just answers
('creating', 'claim',				'historical_retry', 'creating', true, true, 1, false),
('creating', 'claim other',			'intent_conflict', 'creating', false, NULL, 1, false),
('creating', 'status',				'historical_retry', 'creating', true, true, 1, false),
('creating', 'propose other',		'intent_conflict', 'creating', false, NULL, 1, false),
('creating', 'approve 1',			'historical_retry', 'creating', true, true, 1, false),
('creating', 'approve 2',			'stale_proposal', 'creating', false, NULL, 1, false),
('creating', 'supersede',			'predecessor_unresolved', 'creating', false, NULL, 1, false),
('created', 'claim',				'historical_retry', 'created', true, true, 1, false),
('created', 'claim other',			'intent_conflict', 'created', false, NULL, 1, false),
('created', 'status',				'historical_retry', 'created', true, true, 1, false),
('created', 'propose other',		'intent_conflict', 'created', false, NULL, 1, false),
('created', 'approve 1',			'historical_retry', 'created', true, true, 1, false),
('created', 'approve 2',			'stale_proposal', 'created', false, NULL, 1, false),
('unknown', 'claim',				'historical_retry', 'unknown', true, true, 1, false),
('unknown', 'claim other',			'intent_conflict', 'unknown', false, NULL, 1, false),
('unknown', 'status',				'historical_retry', 'unknown', true, true, 1, false),
('unknown', 'propose other',		'intent_conflict', 'unknown', false, NULL, 1, false),
('unknown', 'approve 1',			'historical_retry', 'unknown', true, true, 1, false),
('unknown', 'approve 2',			'stale_proposal', 'unknown', false, NULL, 1, false),
('unknown', 'supersede',			'predecessor_unresolved', 'unknown', false, NULL, 1, false),
('failed', 'claim',					'failed', 'failed', true, true, 0, false),
('failed', 'status',				'failed', 'failed', true, true, 0, false),
('failed', 'cancel',				'canceled', 'canceled', false, true, 0, true),
('failed', 'propose other',			'proposed', 'proposed', false, NULL, 0, true),
('failed', 'approve 1',				'failed', 'failed', true, true, 0, false),
('failed', 'approve 2',				'stale_proposal', 'failed', false, NULL, 0, false),
('failed', 'supersede',				'committed', 'canceled', false, true, 0, true),
-- repair keeps the identity, the receipt and what was claimed first
('repaired', 'claim',				'stale_proposal', 'proposed', false, NULL, 0, false),
('repaired', 'claim other',			'proposed', 'proposed', true, true, 0, false),
('repaired', 'approve 1',			'stale_proposal', 'proposed', false, NULL, 0, false),
('repaired', 'approve 2',			'committed', 'committed', false, true, 1, true),
('repaired', 'cancel',				'canceled', 'canceled', false, true, 0, true),
('canceling', 'claim',				'canceled', 'canceling', true, true, 1, false),
('canceling', 'status',				'canceled', 'canceling', true, true, 1, false),
('canceling', 'cancel',				'canceled', 'canceling', true, true, 1, false),
('canceling', 'propose other',		'canceled', 'canceling', true, NULL, 1, false),
('canceling', 'approve 1',			'canceled', 'canceling', true, true, 1, false),
('canceling', 'supersede',			'predecessor_unresolved', 'canceling', false, NULL, 1, false);

-- Walk the table: a line for each difference.
CREATE FUNCTION test.expand(statement text, name text)
RETURNS text
LANGUAGE sql
AS $$
	SELECT regexp_replace(regexp_replace(regexp_replace(regexp_replace(
		   regexp_replace(regexp_replace(regexp_replace(
		   replace(replace(statement, '$', 'T, P, I, R'), '@', 'T, P, I'),
		   '\mT\M', quote_literal('states'), 'g'),
		   '\mP\M', quote_literal('p'), 'g'),
		   '\mI\M', quote_literal(name), 'g'),
		   '\mR\M', quote_literal(name), 'g'),
		   '\mA\M', 'test.h(9, 10)', 'g'),
		   '\mB\M', 'test.h(10, 11)', 'g'),
		   '\mC\M', 'test.h(11, 12)', 'g');
$$;

CREATE FUNCTION test.walk(c test.cell)
RETURNS SETOF text
LANGUAGE plpgsql
AS $$
DECLARE
	name text := format('cell %s', c.n);
	label text := format('%s / %s', c.state, c.call);
	statement text;
	before text;
	known text;
	got record;
	want text;
	answer text;
BEGIN
	PERFORM booking_resource_put('states', name);
	FOREACH statement IN ARRAY (SELECT calls FROM test.start s WHERE s.state = c.state) LOOP
		EXECUTE 'SELECT ' || test.expand(statement, name);
	END LOOP;
	before := test.fingerprint('states');
	SELECT test.expand(k.statement, name) INTO STRICT statement
	  FROM test.call k WHERE k.call = c.call;
	-- The composite types differ; their common columns do not.
	EXECUTE 'SELECT to_jsonb(r) AS r FROM ' || statement || ' r' INTO got;

	SELECT n.state, n.receipt INTO answer, known FROM booking.intent n
	 WHERE tenant = 'states' AND principal = 'p' AND intent = name;
	RETURN QUERY SELECT test.same(label || ': disposition', got.r->>'disposition', c.disposition);
	RETURN QUERY SELECT test.same(label || ': recorded state', answer, c.state_after);
	-- A supersede answers for the new intent.
	IF c.call <> 'supersede' THEN
		RETURN QUERY SELECT test.same(label || ': answered state', got.r->>'state', c.state_after);
		IF got.r ? 'receipt' AND c.receipt IS NOT NULL THEN
			RETURN QUERY SELECT test.same(label || ': receipt', got.r->>'receipt',
										  CASE WHEN c.receipt THEN known END);
			RETURN QUERY SELECT test.same(label || ': has a receipt', known IS NOT NULL, c.receipt);
		END IF;
	END IF;
	IF got.r ? 'remote' AND c.state_after IS NOT NULL AND c.disposition <> 'predecessor_unresolved' THEN
		RETURN QUERY SELECT test.same(label || ': remote', got.r->>'remote', 'not_required');
		RETURN QUERY SELECT test.same(label || ': event', got.r->>'event', 'none');
	END IF;
	IF EXISTS (SELECT FROM test.start s WHERE s.state = c.state AND s.calls::text LIKE '%outside%') THEN
		RETURN QUERY SELECT test.same(label || ': the first receipt', known, 'local:' || name);
	END IF;
	RETURN QUERY SELECT test.same(label || ': replayed', (got.r->>'replayed')::boolean, c.replayed);
	RETURN QUERY SELECT test.same(label || ': held', test.held('states', 'p', name), c.held);
	IF c.call = 'supersede' THEN
		RETURN QUERY SELECT test.same(label || ': held by the new one',
									  test.held('states', 'p', 'after ' || name),
									  CASE c.disposition WHEN 'committed' THEN 1 ELSE 0 END);
	END IF;
	RETURN QUERY SELECT test.same(label || ': writes', before <> test.fingerprint('states'), c.writes);
END
$$;

SELECT count(*) || ' cells' FROM test.cell;
SELECT walk(c) FROM test.cell c ORDER BY n;

-- Status answers what the same claim would, for every state that was reached.
SELECT same(intent, show(booking_status(tenant, principal, intent)),
			show(booking_claim(tenant, principal, intent, resources[1], during,
							   expected_versions[1], units, terms, supersedes)))
  FROM booking.intent
 WHERE tenant = 'states' AND version > 0
 ORDER BY intent_id;

-- A receipt exists exactly where something was committed once.
SELECT same('receipts', (SELECT count(*) FROM booking.intent
			WHERE tenant = 'states' AND state <> 'canceled' AND created_role <> 'x'
			AND (receipt IS NOT NULL) <> (state = 'committed')), 0);

SELECT done();
