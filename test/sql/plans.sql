--
-- plans.sql: how the relations are reached, and what the catalogue must say
--
-- The look-ups that calls make use an index however many rows there are; every
-- function pins its path; every table and sequence is dumped.  Proves R23, R20
-- for the shape of the constraint, R22 for the form of the insert, R91 for the
-- path, R81, R82 and R86 for what is dumped.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

-- Enough rows that a sequential scan costs more, in a transaction that leaves
-- nothing behind.
BEGIN;
INSERT INTO booking.resource (tenant, resource)
SELECT 'plans', 'r' || n FROM generate_series(1, 5000) n;
INSERT INTO booking.permission (tenant, principal, resource, allowed)
SELECT 'plans', 'p' || n % 10, 'r' || n, true FROM generate_series(1, 5000) n;
INSERT INTO booking.slot (tenant, resource, slot, during)
SELECT 'plans', 'r' || n % 200, 's' || n, h(n, n + 1) FROM generate_series(1, 2000) n;
INSERT INTO booking.intent (intent_id, created_at, changed_at, version, units, tenant, principal, intent, disposition, state,
							receipt, resources, during, terms, created_role, changed_role)
SELECT 900000000 + n, '2030-01-01 00:00+00', '2030-01-01 00:00+00', 1, 1, 'plans', 'p' || n % 10, 'i' || n, 'committed', 'committed',
	   'local:' || n, ARRAY['r' || 1 + n % 200], h(n, n + 1), '{}', 'x', 'x'
  FROM generate_series(1, 20000) n;
INSERT INTO booking.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
SELECT 900000000 + n, resource_id, 0, 0, h(n, n + 1), 'plans'
  FROM generate_series(1, 20000) n JOIN booking.resource ON tenant = 'plans' AND resource = 'r' || 1 + n % 200;
INSERT INTO booking.proposal (intent_id, version, units, proposed_at, resources, during, terms, snapshot, proposed_role)
SELECT 900000000 + n, 1, 1, '2030-01-01 00:00+00', ARRAY['r1'], h(n, n + 1), '{}', '{}', 'x' FROM generate_series(1, 5000) n;
INSERT INTO booking.calendar (tenant, calendar, account, remote_id, resource, role, changed_at)
SELECT 'plans', 'c' || n, 'a', '/c/', 'r' || n, 'write', '2030-01-01 00:00+00' FROM generate_series(1, 5000) n;
INSERT INTO booking.operation (operation_id, intent_id, previous_id, created_at, changed_at, next_at, tenant, account, calendar, kind, state, event_id)
SELECT 900000000 + n, 900000000 + n, CASE WHEN n % 2 = 0 THEN 900000000 + n - 1 END, '2030-01-01 00:00+00', '2030-01-01 00:00+00', '2031-01-01 00:00+00', 'plans', 'a', 'c', 'create',
	   CASE WHEN n % 100 = 0 THEN 'waiting' ELSE 'confirmed' END, 'e' || n FROM generate_series(1, 20000) n;
INSERT INTO booking.attempt (attempt_id, operation_id, at, epoch, phase, mark)
SELECT 900000000 + n, 900000000 + n, '2030-01-01 00:00+00', 1, 'send', 'begun' FROM generate_series(1, 20000) n;
INSERT INTO booking.task (intent_id, created_at, start_at, due_at, done_at, before, tenant, task, state, payload)
SELECT 900000000 + n, '2030-01-01 00:00+00', '2030-01-01 00:00+00', '2030-01-01 00:00+00', '2030-01-01 00:00+00', '0', 'plans', 't', 'done', '{}'
  FROM generate_series(1, 5000) n;
ANALYZE booking.resource, booking.permission, booking.slot, booking.intent, booking.reservation, booking.proposal,
		booking.calendar, booking.operation, booking.attempt, booking.task;

-- The indexes that a statement's plan uses, and whether it scans a table.
CREATE FUNCTION test.plan(statement text)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	p json;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT json, COSTS off) ' || statement INTO p;
	RETURN (SELECT string_agg(x, ' ' ORDER BY x) FROM (
		SELECT i #>> '{}' AS x FROM jsonb_path_query(p::jsonb, 'strict $.**."Index Name"') i
		UNION SELECT 'scan of ' || (i ->> 'Relation Name')
		  FROM jsonb_path_query(p::jsonb, 'strict $.** ? (@."Node Type" == "Seq Scan")') i) u);
END
$$;
SELECT same('intent by identity', plan($$SELECT * FROM booking.intent WHERE tenant = 'plans' AND principal = 'p1' AND intent = 'i77'$$), 'intent_identity_key');
SELECT same('intent by number', plan('SELECT * FROM booking.intent WHERE intent_id = 900000077'), 'intent_pkey');
SELECT same('a page of a list', plan($$SELECT * FROM booking.intent WHERE tenant = 'plans' AND principal = 'p1' AND intent > 'i77' ORDER BY intent LIMIT 100$$),
			'intent_identity_key');
SELECT same('rows of an intent', plan('SELECT * FROM booking.reservation WHERE intent_id = 900000077'), 'reservation_pkey');
SELECT same('one row', plan('SELECT * FROM booking.reservation WHERE intent_id = 900000077 AND piece = 0'), 'reservation_pkey');
SELECT resource_id AS r FROM booking.resource WHERE tenant = 'plans' AND resource = 'r7' \gset
SELECT same('all lanes of a resource within a time', plan(format('SELECT * FROM booking.reservation WHERE (resource_id * 65536 + unit) '
			'BETWEEN %s * 65536::bigint AND %s * 65536::bigint + 65535 AND occupied && h(70, 80)', :r, :r)), 'reservation_lane_excl');
SELECT same('all lanes of a resource', plan(format('SELECT * FROM booking.reservation WHERE (resource_id * 65536 + unit) '
			'BETWEEN %s * 65536::bigint AND %s * 65536::bigint + 65535', :r, :r)), 'reservation_lane_excl');
SELECT same('resource by name', plan($$SELECT * FROM booking.resource WHERE tenant = 'plans' AND resource = 'r7'$$), 'resource_name_key');
SELECT same('resources by name', plan($$SELECT * FROM booking.resource WHERE tenant = 'plans' AND resource = ANY ('{r7,r9}')$$), 'resource_name_key');
SELECT same('permission', plan($$SELECT * FROM booking.permission WHERE tenant = 'plans' AND principal = 'p1' AND resource = 'r7'$$), 'permission_pkey');
SELECT same('permission for all', plan($$SELECT * FROM booking.permission WHERE tenant = 'plans' AND principal = 'p1' AND resource = ''$$), 'permission_pkey');
SELECT same('slot', plan($$SELECT * FROM booking.slot WHERE tenant = 'plans' AND resource = 'r7' AND slot = 's77'$$), 'slot_pkey');
SELECT same('proposal', plan('SELECT * FROM booking.proposal WHERE intent_id = 900000077 AND version = 1'), 'proposal_pkey');
SELECT same('operations of an intent', plan('SELECT * FROM booking.operation WHERE intent_id = 900000077 ORDER BY operation_id DESC LIMIT 1'), 'operation_intent_idx');
SET LOCAL enable_seqscan = off;
SELECT same('the site', plan('SELECT * FROM booking.site WHERE single'), 'site_pkey');
RESET enable_seqscan;
SELECT same('operations that follow one', plan($$SELECT FROM booking.operation WHERE previous_id = 900000077 AND state NOT IN ('confirmed', 'rejected', 'dropped')$$),
			'operation_previous_idx');
SELECT same('operations that are due', plan($$SELECT * FROM booking.operation WHERE state IN ('waiting', 'unknown') AND next_at <= '2030-01-01 00:00+00'
			ORDER BY next_at LIMIT 100$$), 'operation_due_idx');
SELECT same('operations of a crash', plan($$SELECT * FROM booking.operation WHERE state IN ('checking', 'sending', 'reconciling')$$), 'operation_leased_idx');
SELECT same('attempts of an operation', plan('SELECT * FROM booking.attempt WHERE operation_id = 900000077'), 'attempt_operation_idx');
SELECT same('whether a tenant has reminders', plan($$SELECT EXISTS (SELECT FROM booking.task WHERE tenant = 'other')$$), 'task_tenant_idx');
SELECT same('write calendar of a resource', plan($$SELECT * FROM booking.calendar WHERE tenant = 'plans' AND resource = 'r77' AND role = 'write'$$), 'calendar_write_idx');
SELECT same('proposals of an intent', plan('SELECT * FROM booking.proposal WHERE intent_id = 900000077 ORDER BY version DESC'), 'proposal_pkey');

-- What the functions really execute: none of them reads a table from end to
-- end.  pg_stat counts the scans of this transaction.
CREATE FUNCTION test.scans()
RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(relname || '=' || pg_stat_get_xact_numscans(oid), ' ' ORDER BY relname)
	  FROM pg_class WHERE relnamespace = 'booking'::regnamespace AND relkind = 'r'
	   AND relname IN ('intent', 'reservation', 'proposal', 'resource', 'slot', 'permission');
$$;
SELECT scans() AS before \gset
SET LOCAL plan_cache_mode = force_generic_plan;
SELECT same('claim', (booking_claim('plans', 'p7', 'new', 'r7', h(30000, 30001))).disposition, 'committed');
SELECT same('replay', (booking_claim('plans', 'p7', 'new', 'r7', h(30000, 30001))).disposition, 'historical_retry');
SELECT same('conflict', (booking_claim('plans', 'p7', 'lost', 'r7', h(30000, 30001))).disposition, 'resource_conflict');
SELECT same('supersede', (booking_claim('plans', 'p7', 'newer', 'r7', h(30000, 30002), supersedes => 'new')).disposition, 'committed');
SELECT same('status', (booking_status('plans', 'p7', 'newer')).disposition, 'historical_retry');
SELECT same('cancel', (booking_cancel('plans', 'p7', 'newer')).disposition, 'canceled');
SELECT same('free', (SELECT count(*) FROM booking_free('plans', 'p7', '{r7}', h(30000, 30001), '1 hour')), 1);
SELECT same('no call scans a table', scans(), :'before');
SELECT same('nothing has such terms', (SELECT count(*) FROM booking.intent WHERE terms = '{"no such": 1}'), 0);
SELECT yes('but this did', scans() <> :'before');
ROLLBACK;

-- The constraint, as it must also come out of a dump: one bigint first (kept as
-- gbtreekey16), which is what its build and its inserts cost; immediate, or
-- replicas skip it.
SELECT same('exclusion constraint', (SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'reservation_lane_excl'),
			'EXCLUDE USING gist ((((resource_id * 65536) + unit)) WITH =, occupied WITH &&)');
SELECT same('its type', (SELECT string_agg(atttypid::regtype::text, ' ' ORDER BY attnum) FROM pg_attribute
			WHERE attrelid = 'booking.reservation_lane_excl'::regclass), 'gbtreekey16 tstzrange');
SELECT same('none can be deferred', (SELECT count(*) FROM pg_constraint WHERE connamespace = 'booking'::regnamespace AND condeferrable), 0);
SELECT same('all are valid', (SELECT count(*) FROM pg_constraint WHERE connamespace = 'booking'::regnamespace AND NOT convalidated), 0);
SELECT same('no foreign keys between data tables', (SELECT count(*) FROM pg_constraint WHERE connamespace = 'booking'::regnamespace AND contype = 'f'), 0);
SELECT same('every table has a key', (SELECT string_agg(relname, ' ') FROM pg_class c WHERE relnamespace = 'booking'::regnamespace AND relkind = 'r'
			AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype IN ('p', 'u'))), NULL::text);
SELECT same('labels compare byte for byte', (SELECT string_agg(attrelid::regclass || '.' || attname, ' ') FROM pg_attribute a JOIN pg_class c ON c.oid = attrelid
			WHERE relnamespace = 'booking'::regnamespace AND relkind = 'r' AND attnum > 0 AND atttypid IN ('text'::regtype, 'text[]'::regtype)
			AND attname IN ('tenant', 'principal', 'intent', 'resource', 'slot', 'resources', 'supersedes', 'successor', 'role', 'state', 'disposition')
			AND relname <> 'audit_entry' AND attcollation <> (SELECT oid FROM pg_collation WHERE collname = 'C' AND collnamespace = 'pg_catalog'::regnamespace)), NULL::text);

-- Functions.
CREATE TABLE test.members AS
	SELECT p.* FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
	 WHERE deptype = 'e' AND classid = 'pg_proc'::regclass
	   AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'booking');
-- All that reads relations pins its path; the others look at nothing but their
-- arguments, or start a process, or are procedures that commit, which cannot
-- have a SET clause and pin their path by themselves, as booking_claim does
-- where it runs a statement.
SELECT same('paths end with pg_temp', (SELECT string_agg(oid::regprocedure::text, ' ') FROM test.members
			WHERE proname NOT IN ('booking_at', 'booking_guard_terminal', 'booking_guard_monotonic', 'booking_worker_start', 'booking_account_check', 'booking_sync_wait', 'booking_retain', 'booking_forget', 'payload_digest', 'booking_claim')
			AND proname NOT LIKE '%\_is\_valid' AND ('search_path=pg_catalog, pg_temp' = ANY (proconfig)) IS NOT TRUE), NULL::text);
SELECT same('none is SECURITY DEFINER, LEAKPROOF or STRICT', (SELECT string_agg(proname, ' ') FROM test.members WHERE prosecdef OR proleakproof OR proisstrict), NULL::text);
SELECT same('what writes is volatile and never in parallel', (SELECT string_agg(proname, ' ') FROM test.members
			WHERE proname NOT IN ('booking_at', 'payload_digest') AND proname NOT LIKE '%\_is\_valid' AND (provolatile <> 'v' OR proparallel <> 'u')), NULL::text);
SELECT same('all are C functions of the library', (SELECT string_agg(proname, ' ') FROM test.members
			WHERE prolang <> (SELECT oid FROM pg_language WHERE lanname = 'c') OR probin <> '$libdir/booking'), NULL::text);
SELECT same('all have a comment', (SELECT string_agg(proname, ' ') FROM test.members WHERE obj_description(oid, 'pg_proc') IS NULL), NULL::text);
SELECT same('so have the relations', (SELECT string_agg(relname, ' ') FROM pg_class
			WHERE relnamespace = 'booking'::regnamespace AND relkind IN ('r', 'v') AND obj_description(oid, 'pg_class') IS NULL), NULL::text);
SELECT same('and their columns', (SELECT string_agg(relname || '.' || attname, ' ') FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
			WHERE relnamespace = 'booking'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
			AND col_description(pg_class.oid, attnum) IS NULL), NULL::text);

-- What is dumped: every table and sequence, each in full, but credentials only
-- under a setting, and channels never.
SELECT same('dumped', (SELECT string_agg(c.oid::regclass::text, ' ') FROM pg_class c
			WHERE relnamespace = 'booking'::regnamespace AND relkind IN ('r', 'S', 'p')
			AND c.oid <> ALL (SELECT unnest(extconfig) FROM pg_extension WHERE extname = 'booking')), NULL::text);
SELECT same('with one filter', (SELECT string_agg(t::regclass || ': ' || x, ' ' ORDER BY t::regclass::text) FROM pg_extension, unnest(extconfig, extcondition) u (t, x) WHERE extname = 'booking' AND x <> ''),
			'booking.channel: WHERE false booking.counter: WHERE false '
			'booking.credential: WHERE pg_catalog.current_setting(''booking.dump_secrets'', true) = ''on'''
			' booking.subscription_secret: WHERE pg_catalog.current_setting(''booking.dump_secrets'', true) = ''on'''
			' booking.token: WHERE pg_catalog.current_setting(''booking.dump_secrets'', true) = ''on'''
			' booking.webhook_credential: WHERE pg_catalog.current_setting(''booking.dump_secrets'', true) = ''on'''
			' booking.webhook_secret: WHERE pg_catalog.current_setting(''booking.dump_secrets'', true) = ''on''');
SELECT same('every relation is a member', (SELECT string_agg(relname, ' ') FROM pg_class c
			WHERE relnamespace = 'booking'::regnamespace AND relkind IN ('r', 'v', 'S')
			AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype = 'e')), NULL::text);
SELECT same('no reg* column stands in the way of pg_upgrade', (SELECT count(*) FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
			WHERE relnamespace = 'booking'::regnamespace AND atttypid::regtype::text LIKE 'reg%'), 0);

-- No statement of a call is compiled: the one row of a small table is read by a
-- scan, which enable_seqscan = off makes look dear, and compiling took ten
-- milliseconds.  The compiler would show among the files that a new session has
-- mapped.
SET client_min_messages = error;
SELECT FROM booking_permit_all('jit', 'p');
SELECT FROM booking_resource_put('jit', 'room');
SELECT FROM booking_account_put('jit', 'acc', 'caldav', 'https://calendar.example.org/');
SELECT FROM booking_calendar_put('jit', 'room', 'acc', '/room/', 'room');
\connect
\set ECHO none
SET search_path = public, test;
SET jit = on;
SELECT same('a claim with a calendar', (booking_claim('jit', 'p', 'i', 'room', h(9, 10))).state, 'approved');
SELECT same('nothing was compiled', position('llvmjit' in pg_read_file('/proc/self/maps')), 0);

SELECT done();
