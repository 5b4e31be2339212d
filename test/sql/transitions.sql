--
-- transitions.sql: the guards on the ledger's own tables
--
-- Whoever writes, an intent changes its state only along the machine, canceled
-- is the end, payload and receipt stay what they were, and nothing recorded is
-- removed.  The guards fire under session_replication_role = replica too,
-- since apply workers and restores run so.  Proves R96 for the ledger, R19 for
-- the order of changes.
--
-- All of this runs as superuser with direct DML, which is for nobody.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM booking_resource_put('transitions', 'r');
SELECT FROM booking_resource_put('transitions', 's');
SELECT FROM booking_permit_all('transitions', 'p');

CREATE TABLE test.state (state text);
INSERT INTO test.state VALUES ('proposed'), ('approved'), ('committed'), ('conflict'), ('creating'),
	('created'), ('unknown'), ('failed'), ('needs_proposal'), ('canceling'), ('canceled');

-- The arrows, with the event that draws each.
CREATE TABLE test.arrow (source text, target text, event text);
INSERT INTO test.arrow VALUES
('proposed', 'committed', 'approved, no provider attached'),
('proposed', 'approved', 'approved, provider attached'),
('proposed', 'needs_proposal', 'no longer valid at approval, or rejected'),
('proposed', 'canceled', 'cancel, or named as supersedes'),
('committed', 'canceled', 'cancel, or superseded'),
('conflict', 'canceled', 'cancel, or named as supersedes'),
('needs_proposal', 'proposed', 'next version proposed'),
('needs_proposal', 'canceled', 'cancel, or named as supersedes'),
('failed', 'proposed', 'next version proposed'),
('failed', 'canceled', 'cancel, or named as supersedes'),
('approved', 'creating', 'fresh, send begins'),
('approved', 'needs_proposal', 'not fresh'),
('approved', 'canceled', 'cancel, or superseded'),
('creating', 'created', 'complete matching answer'),
('creating', 'failed', 'definite rejection'),
('creating', 'approved', 'certainly not executed'),
('creating', 'unknown', 'lost, 5xx, cut body, crash'),
('creating', 'canceling', 'cancel'),
('creating', 'canceled', 'sent before, and the id was burnt by a person'),
('created', 'canceling', 'cancel'),
('created', 'canceled', 'update confirmed, or event deleted by others'),
('unknown', 'created', 'reconciled as equal, or resolved as existing'),
('unknown', 'creating', 'absent, proven, fresh'),
('unknown', 'needs_proposal', 'absent, proven, not fresh'),
('unknown', 'approved', 'resolved as absent'),
('unknown', 'failed', 'abandoned'),
('unknown', 'canceling', 'cancel'),
('unknown', 'canceled', 'sent before, and the id was burnt by a person'),
('canceling', 'canceled', 'cancel confirmed, event absent, or abandoned');

-- A row in a given state, as the functions would have left it.
CREATE FUNCTION test.plant(name text, state text)
RETURNS bigint
LANGUAGE sql
AS $$
	INSERT INTO booking.intent (created_at, changed_at, version, units, tenant, principal, intent,
								disposition, state, remote, event, receipt, resources, during, terms,
								created_role, changed_role)
	VALUES ('2030-01-01 00:00+00', '2030-01-01 00:00+00', 1, 1, 'transitions', 'p', name,
			CASE state WHEN 'conflict' THEN 'resource_conflict' WHEN 'proposed' THEN 'proposed'
					   WHEN 'failed' THEN 'failed' WHEN 'needs_proposal' THEN 'needs_proposal'
					   WHEN 'canceled' THEN 'canceled' WHEN 'canceling' THEN 'canceled'
					   ELSE 'committed' END,
			state, 'not_required', 'none', 'local:' || name, '{r}', test.h(9, 10), '{}', 'x', 'x')
	RETURNING intent_id;
$$;

-- Tries one change of state on a planted row and takes everything back.
CREATE FUNCTION test.change(source text, target text)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	id bigint;
	rows bigint;
BEGIN
	id := test.plant('planted', source);
	UPDATE booking.intent
	   SET state = target, revision = revision + 1,
		   version = version + CASE target WHEN 'proposed' THEN 1 ELSE 0 END,
		   disposition = CASE target WHEN 'proposed' THEN 'proposed'
							  WHEN 'failed' THEN 'failed'
							  WHEN 'needs_proposal' THEN 'needs_proposal'
							  WHEN 'conflict' THEN 'resource_conflict'
							  WHEN 'canceled' THEN 'canceled'
							  WHEN 'canceling' THEN 'canceled'
							  ELSE 'committed' END
	 WHERE intent_id = id;
	GET DIAGNOSTICS rows = ROW_COUNT;
	RAISE EXCEPTION USING ERRCODE = CASE rows WHEN 1 THEN 'TT001' ELSE 'TT000' END;
EXCEPTION WHEN OTHERS THEN
	RETURN CASE SQLSTATE WHEN 'TT001' THEN 'passes' WHEN 'TT000' THEN 'skipped' ELSE SQLSTATE END;
END
$$;

-- 11 x 11 pairs; a row may keep its state, other columns of it may change.
SELECT same(format('%s -> %s', s.state, t.state), change(s.state, t.state),
			CASE WHEN a.event IS NOT NULL THEN 'passes' ELSE '55000' END)
  FROM test.state s
 CROSS JOIN test.state t
  LEFT JOIN test.arrow a ON a.source = s.state AND a.target = t.state
 WHERE s.state <> t.state
 ORDER BY s.state COLLATE "C", t.state COLLATE "C";

SET session_replication_role = replica;
SELECT same(format('as replica: %s -> %s', s.state, t.state), change(s.state, t.state),
			CASE WHEN a.event IS NOT NULL THEN 'passes' ELSE '55000' END)
  FROM test.state s
 CROSS JOIN test.state t
  LEFT JOIN test.arrow a ON a.source = s.state AND a.target = t.state
 WHERE s.state <> t.state
 ORDER BY s.state COLLATE "C", t.state COLLATE "C";
RESET session_replication_role;

-- What was recorded stays: the identity, the payload, the receipt and the
-- origin of an intent, in every state.
CREATE TABLE test.assignment (n integer GENERATED ALWAYS AS IDENTITY, what text, assignment text);
INSERT INTO test.assignment (what, assignment) VALUES
('intent_id', 'intent_id = intent_id + 1000000'),
('tenant', $$tenant = 'x'$$),
('principal', $$principal = 'x'$$),
('intent', $$intent = 'x'$$),
('units', 'units = 2'),
('resources', $$resources = '{s}'$$),
('slot', $$slot = 'x'$$),
('during', 'during = test.h(9, 11)'),
('expected_versions', 'expected_versions = ARRAY[7]'),
('terms', $$terms = '{"x": 1}'$$),
('supersedes', $$supersedes = 'x'$$),
('payload emptied', 'resources = NULL, units = NULL, terms = NULL'),
('receipt', $$receipt = 'local:other'$$),
('receipt emptied', 'receipt = NULL'),
('created_at', $$created_at = '2029-01-01 00:00+00'$$),
('created_role', $$created_role = 'y'$$),
('version back', 'version = 0');

CREATE FUNCTION test.alter_planted(source text, assignment text)
RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM test.plant('planted', source);
	IF assignment !~ 'revision' THEN
		assignment := assignment || ', revision = revision + 1';
	END IF;
	EXECUTE format('UPDATE booking.intent SET %s WHERE tenant = ''transitions'' AND intent = ''planted''',
				   assignment);
	RAISE EXCEPTION USING ERRCODE = 'TT001';
EXCEPTION WHEN OTHERS THEN
	RETURN CASE SQLSTATE WHEN 'TT001' THEN 'passes' ELSE SQLSTATE END;
END
$$;

SELECT same(format('%s: %s', s.state, a.what), alter_planted(s.state, a.assignment), '55000')
  FROM test.state s CROSS JOIN test.assignment a
 ORDER BY s.state COLLATE "C", a.n;

SET session_replication_role = replica;
SELECT same(format('as replica: %s: %s', s.state, a.what), alter_planted(s.state, a.assignment), '55000')
  FROM test.state s CROSS JOIN test.assignment a
 ORDER BY s.state COLLATE "C", a.n;
RESET session_replication_role;

-- A later version brings another payload, and only where repair is possible.
SELECT same('needs_proposal: next payload', alter_planted('needs_proposal',
			$$state = 'proposed', version = version + 1, during = test.h(11, 12), units = 2$$), 'passes');
SELECT same('proposed: next payload', alter_planted('proposed',
			$$version = version + 1, during = test.h(11, 12), resources = '{s}'$$), 'passes');
SELECT same('committed: no next payload', alter_planted('committed',
			$$version = version + 1, during = test.h(11, 12)$$), '55000');
SELECT same('conflict: no next payload', alter_planted('conflict',
			$$version = version + 1, during = test.h(11, 12)$$), '55000');
SELECT same('canceled: no next payload', alter_planted('canceled',
			$$version = version + 1, during = test.h(11, 12)$$), '55000');
SELECT same('a receipt outlives repair', alter_planted('needs_proposal',
			$$state = 'proposed', version = version + 1, receipt = NULL$$), '55000');

-- R19: the order of changes is the revision, and it does not go back.
SELECT same('revision back', alter_planted('committed', 'revision = revision - 1'), '55000');

-- Nothing recorded is removed.
SELECT same(format('%s: delete', state), sqlstate_of(
			format('DO $d$ BEGIN PERFORM test.plant(''gone'', %L); DELETE FROM booking.intent WHERE intent = ''gone''; END $d$', state)),
			'55000')
  FROM test.state ORDER BY state COLLATE "C";

CREATE TABLE test.statement (n integer GENERATED ALWAYS AS IDENTITY, label text, statement text);
INSERT INTO test.statement (label, statement) VALUES
('delete intents', 'DELETE FROM booking.intent'),
('truncate intents', 'TRUNCATE booking.intent'),
('truncate them all', 'TRUNCATE booking.intent, booking.proposal, booking.reservation, booking.audit_entry'),
('delete proposals', 'DELETE FROM booking.proposal'),
('truncate proposals', 'TRUNCATE booking.proposal'),
('proposal: units', 'UPDATE booking.proposal SET units = units + 1'),
('proposal: during', 'UPDATE booking.proposal SET during = test.h(1, 2)'),
('proposal: resources', $$UPDATE booking.proposal SET resources = '{s}'$$),
('proposal: slot', $$UPDATE booking.proposal SET slot = 'x'$$),
('proposal: terms', $$UPDATE booking.proposal SET terms = '{"y": 2}'$$),
('proposal: expected_versions', 'UPDATE booking.proposal SET expected_versions = ARRAY[8]'),
('proposal: supersedes', $$UPDATE booking.proposal SET supersedes = 'x'$$),
('proposal: snapshot', $$UPDATE booking.proposal SET snapshot = '{"y": 2}'$$),
('proposal: version', 'UPDATE booking.proposal SET version = version + 10'),
('proposal: intent_id', 'UPDATE booking.proposal SET intent_id = intent_id + 1000000'),
('proposal: proposed_at', $$UPDATE booking.proposal SET proposed_at = '2029-01-01 00:00+00'$$),
('proposal: proposed_role', $$UPDATE booking.proposal SET proposed_role = 'y'$$),
('proposal: evidence', $$UPDATE booking.proposal SET evidence = '{"y": 2}'$$),
('proposal: reopened', $$UPDATE booking.proposal SET state = 'open' WHERE state <> 'open'$$),
('proposal: decided anew', $$UPDATE booking.proposal SET decided_by = 'x' WHERE state = 'approved'$$),
('proposal: displaced is not approved', $$UPDATE booking.proposal SET state = 'approved' WHERE state = 'displaced'$$),
('delete audit entries', 'DELETE FROM booking.audit_entry'),
('truncate audit entries', 'TRUNCATE booking.audit_entry'),
('audit entry: role', $$UPDATE booking.audit_entry SET role = 'y'$$),
('audit entry: at', $$UPDATE booking.audit_entry SET at = '2029-01-01 00:00+00'$$);

-- Something to try it on: an open, a displaced and an approved proposal.
SELECT FROM booking_propose('transitions', 'p', 'prop', 'r', h(20, 21));
SELECT FROM booking_propose('transitions', 'p', 'prop', 'r', h(21, 22));
SELECT FROM booking_approve('transitions', 'p', 'p', 'prop', 2);
SELECT FROM booking_propose('transitions', 'p', 'open', 'r', h(23, 24));
SELECT same('states of the proposals', (SELECT string_agg(p.state, ' ' ORDER BY p.intent_id, p.version)
			FROM booking.proposal p JOIN booking.intent USING (intent_id) WHERE tenant = 'transitions'),
			'displaced approved open');

SELECT fingerprint() AS before \gset
SELECT fails(label, statement, '55000', hinted => false) FROM test.statement ORDER BY n;
SET session_replication_role = replica;
SELECT fails('as replica: ' || label, statement, '55000', hinted => false) FROM test.statement ORDER BY n;
RESET session_replication_role;
SELECT same('nothing changed', fingerprint(), :'before');

-- At most one proposal of an intent is approved, by an index.
SELECT same('a second approved proposal', sqlstate_of(
			$$INSERT INTO booking.proposal (intent_id, version, units, proposed_at, state, resources, during, terms, snapshot, proposed_role)
			  SELECT intent_id, 9, 1, proposed_at, 'approved', resources, during, terms, snapshot, proposed_role
			  FROM booking.proposal WHERE state = 'approved'$$), '23505');

-- The guards are always on, and none of them enqueues anything: restores and
-- apply workers would run it twice.
SELECT same('guards are enabled always', (SELECT string_agg(tgrelid::regclass || '.' || tgname, ' ')
			FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'booking.%' AND tgenabled <> 'A'), NULL::text);
SELECT same('guards are BEFORE triggers', (SELECT count(*) FROM pg_trigger
			WHERE tgrelid::regclass::text LIKE 'booking.%' AND tgtype & 2 = 0), 0);

-- Rows planted for this test leave with it.
SET session_replication_role = replica;
ALTER TABLE booking.intent DISABLE TRIGGER guard;
DELETE FROM booking.intent WHERE tenant = 'transitions' AND created_role = 'x';
ALTER TABLE booking.intent ENABLE ALWAYS TRIGGER guard;
RESET session_replication_role;
SELECT same('the guard is back', (SELECT tgenabled FROM pg_trigger
			WHERE tgrelid = 'booking.intent'::regclass AND tgname = 'guard')::text, 'A');

SELECT done();
