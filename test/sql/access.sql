--
-- access.sql: which database role may do what, and as whom the ledger works
--
-- PUBLIC gets the two guards for users' tables and nothing else.  A role needs
-- EXECUTE and a binding to the tenant; without the binding it is denied and
-- nothing is written.  The functions become the owner of the relations without
-- opening a way to him: names that a caller puts in the way are never looked
-- up, and the audit knows the effective role.  Proves R5 (direct DML by
-- others), R91, R92, and R95 for the identity.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT current_user AS me \gset
CREATE ROLE regress_booking_app;
CREATE ROLE regress_booking_two;
CREATE ROLE regress_booking_other;
CREATE ROLE regress_booking_member INHERIT IN ROLE regress_booking_app;
CREATE ROLE regress_booking_distant INHERIT IN ROLE regress_booking_member;
CREATE ROLE regress_booking_apart NOINHERIT IN ROLE regress_booking_app;

SELECT FROM booking_resource_put('access', 'room');
SELECT FROM booking_resource_put('access 2', 'room');
SELECT FROM booking_permit_all('access', 'ann');
SELECT FROM booking_permit_all('access', 'bob');
SELECT FROM booking_permit_all('access 2', 'ann');

-- What PUBLIC gets, from the catalogue.
CREATE TABLE test.members AS
	SELECT objid AS oid FROM pg_depend
	 WHERE deptype = 'e' AND classid = 'pg_proc'::regclass
	   AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'booking');
SELECT same('functions for PUBLIC', (SELECT string_agg(proname, ' ' ORDER BY proname) FROM pg_proc
			JOIN test.members USING (oid), aclexplode(coalesce(proacl, acldefault('f', proowner))) a WHERE a.grantee = 0),
			'booking_guard_monotonic booking_guard_terminal');
SELECT same('relations for PUBLIC', (SELECT string_agg(oid::regclass::text, ' ') FROM pg_class,
			aclexplode(coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner))) a
			WHERE relnamespace = 'booking'::regnamespace AND relkind IN ('r', 'v', 'S', 'm', 'p') AND a.grantee = 0), NULL::text);
SELECT same('the schema for PUBLIC', (SELECT count(*) FROM pg_namespace,
			aclexplode(coalesce(nspacl, acldefault('n', nspowner))) a WHERE nspname = 'booking' AND a.grantee = 0), 0);
SELECT same('no function is SECURITY DEFINER', (SELECT string_agg(proname, ' ') FROM pg_proc JOIN test.members USING (oid) WHERE prosecdef), NULL::text);

-- Calls of every function for tenant "access"; those that return a disposition
-- answer "denied", the others raise 42501.
CREATE TABLE test.call (n integer GENERATED ALWAYS AS IDENTITY, statement text, answers boolean);
GRANT SELECT ON test.call TO PUBLIC;
INSERT INTO test.call (statement, answers) VALUES
($$booking_claim('access', 'ann', 'x', 'room', h(9, 10))$$, true),
($$booking_claim_slot('access', 'ann', 'x', 'room', 's', 1)$$, true),
($$booking_claim_all('access', 'ann', 'x', '{room}', h(9, 10))$$, true),
($$booking_override('access', 'ann', 'x', 'room', h(9, 10), 1, '{}', 'why')$$, true),
($$booking_cancel('access', 'ann', 'x')$$, true),
($$booking_cancel_exact('access', 'ann', 'x', 'room', h(9, 10), NULL, 1, '{}')$$, true),
($$booking_cancel_exact_slot('access', 'ann', 'x', 'room', 's', 1, 1, '{}')$$, true),
($$booking_cancel_exact_all('access', 'ann', 'x', '{room}', h(9, 10), NULL, 1, '{}')$$, true),
($$booking_propose('access', 'ann', 'x', 'room', h(9, 10))$$, true),
($$booking_propose_slot('access', 'ann', 'x', 'room', 's', 1)$$, true),
($$booking_propose_all('access', 'ann', 'x', '{room}', h(9, 10))$$, true),
($$booking_approve('access', 'bob', 'ann', 'x', 1)$$, true),
($$booking_reject('access', 'bob', 'ann', 'x', 1, 'no')$$, true),
($$booking_status('access', 'ann', 'x')$$, true),
($$booking_list('access', 'ann')$$, false),
($$booking_free('access', 'ann', '{room}', h(9, 10), '1 hour')$$, false),
($$booking_tenant_put('access', true)$$, false),
($$booking_resource_put('access', 'room', 5)$$, false),
($$booking_slot_put('access', 'room', 's', h(9, 10))$$, false),
($$booking_permit('access', 'eve', 'room')$$, false),
($$booking_permit_all('access', 'eve')$$, false),
($$booking_bind_role('regress_booking_other', 'access')$$, false),
($$booking_unbind_role('regress_booking_app', 'access')$$, false),
($$booking_account_put('access', 'acc', 'caldav', 'https://calendar.example.org/')$$, false),
($$booking_account_remove('access', 'acc')$$, false),
($$booking_credential_put('access', 'acc', '{"type": "bearer", "token": "t"}')$$, false),
($$booking_credential_remove('access', 'acc')$$, false),
($$booking_calendar_put('access', 'cal', 'acc', '/cal/', 'room')$$, false),
($$booking_calendar_remove('access', 'cal')$$, false),
($$booking_resolve('access', 'ann', 'x', 'absent', '{}')$$, true),
($$booking_release('access', 'ann', 'x', 'why')$$, true),
($$booking_requeue('access', 'ann', 'x', 'why')$$, true),
($$booking_park('access', 'ann', 'x', 'why')$$, true),
($$booking_consumer_put('access', 'con')$$, false),
($$booking_consumer_remove('access', 'con')$$, false),
($$booking_changes('access', 'con')$$, false),
($$booking_consumer_ack('access', 'con', 0)$$, false),
($$booking_task_put('access', 'ann', 'x', 'remind', '1 hour')$$, false),
($$booking_task_take('access', 10, '1 hour')$$, false),
($$booking_task_done('access', 'ann', 'x', 'remind', 1)$$, false),
($$booking_arm()$$, false),
($$booking_worker_status()$$, false);

CREATE FUNCTION test.answer(statement text)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	r record;
BEGIN
	EXECUTE 'SELECT to_jsonb(x) AS x FROM ' || statement || ' x' INTO r;
	RETURN concat_ws(' ', r.x->>'disposition', r.x->>'state', r.x->>'receipt', r.x->>'version', r.x->>'snapshot', r.x->>'remote', r.x->>'event',
					 nullif(r.x->>'replayed', 'false'));
END
$$;

-- Without EXECUTE.
SELECT fingerprint() AS before \gset
SET ROLE regress_booking_other;
SELECT fails('no EXECUTE: ' || statement, 'SELECT ' || statement, '42501', hinted => false) FROM test.call ORDER BY n;
SELECT fails('no EXECUTE: check', 'SELECT booking_check()', '42501', hinted => false);
SELECT fails('no EXECUTE: start', 'SELECT booking_worker_start()', '42501', hinted => false);
SELECT fails('no EXECUTE: account check', $$CALL booking_account_check('access', 'acc')$$, '42501', hinted => false);
SELECT fails('no EXECUTE: sync', $$SELECT booking_sync('access', 'cal')$$, '42501', hinted => false);
SELECT fails('no EXECUTE: retain', $$CALL booking_retain('{}')$$, '42501', hinted => false);
SELECT fails('no EXECUTE: forget', $$CALL booking_forget('access', 'ann')$$, '42501', hinted => false);
SELECT fails('no EXECUTE: sync wait', $$CALL booking_sync_wait('access', 'cal')$$, '42501', hinted => false);
SELECT fails('no EXECUTE: capabilities', 'SELECT booking_provider_capabilities()', '42501', hinted => false);
SELECT fails('no EXECUTE: at', $$SELECT booking_at('2030-06-01 12:00', 'UTC')$$, '42501', hinted => false);
RESET ROLE;

-- With EXECUTE on everything, but not bound.
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO regress_booking_app, regress_booking_two, regress_booking_other, regress_booking_apart;
SELECT FROM booking_bind_role('regress_booking_app', 'access');
SELECT FROM booking_bind_role('regress_booking_other', 'access 2');
SELECT same('bindings', (SELECT string_agg(role || ' for ' || tenant, ', ' ORDER BY role) FROM booking.role_binding WHERE tenant LIKE 'access%'),
			'regress_booking_app for access, regress_booking_other for access 2');
SELECT fingerprint() AS before \gset
SET ROLE regress_booking_other;
SELECT same('not bound: ' || statement, answer(statement), 'denied') FROM test.call WHERE answers ORDER BY n;
SELECT fails('not bound: ' || statement, 'SELECT ' || statement, '42501') FROM test.call WHERE NOT answers ORDER BY n;
SELECT same('bound elsewhere', (booking_claim('access 2', 'ann', 'x', 'room', h(9, 10))).disposition, 'committed');
RESET ROLE;
SELECT same('denied calls write nothing', (SELECT count(*) FROM booking.intent WHERE tenant = 'access'), 0);
SELECT same('not even an audit entry', (SELECT count(*) FROM booking.audit WHERE tenant = 'access' AND role = 'regress_booking_other'), 0);
SELECT same('permissions stay', (SELECT count(*) FROM booking.permission WHERE tenant = 'access'), 2);
SELECT same('bindings stay', (SELECT count(*) FROM booking.role_binding WHERE tenant = 'access'), 1);
SELECT same('resources stay', (SELECT capacity FROM booking.resource WHERE tenant = 'access'), 1);

-- Bound, by itself and through roles whose privileges are inherited.
SET ROLE regress_booking_app;
SELECT same('bound', show(booking_claim('access', 'ann', 'by app', 'room', h(9, 10))), 'committed committed receipt');
SELECT same('not for the other tenant', show(booking_claim('access 2', 'ann', 'by app', 'room', h(20, 21))), 'denied -');
SELECT same('administration', booking_resource_put('access', 'desk'), 1);
SET ROLE regress_booking_member;
SELECT same('member', show(booking_claim('access', 'ann', 'by member', 'room', h(10, 11))), 'committed committed receipt');
SET ROLE regress_booking_distant;
SELECT same('member of a member', show(booking_claim('access', 'ann', 'by distant', 'room', h(11, 12))), 'committed committed receipt');
SET ROLE regress_booking_apart;
SELECT same('member that does not inherit', show(booking_claim('access', 'ann', 'by apart', 'room', h(12, 13))), 'denied -');
RESET ROLE;
SET SESSION AUTHORIZATION regress_booking_apart;
SELECT same('neither by session', show(booking_claim('access', 'ann', 'by apart', 'room', h(12, 13))), 'denied -');
SET ROLE regress_booking_app;
SELECT same('until it becomes the bound role', show(booking_claim('access', 'ann', 'by apart', 'room', h(12, 13))), 'committed committed receipt');
RESET SESSION AUTHORIZATION;
SELECT same('effective roles', (SELECT string_agg(intent || '=' || created_role, ', ' ORDER BY intent) FROM booking.intent WHERE tenant = 'access'),
			'by apart=regress_booking_app, by app=regress_booking_app, by distant=regress_booking_distant, by member=regress_booking_member');
SELECT same('the audit shows them', (SELECT string_agg(DISTINCT role, ', ' ORDER BY role) FROM booking.audit WHERE tenant = 'access' AND role <> :'me'),
			'regress_booking_app, regress_booking_distant, regress_booking_member');
SELECT same('and who is behind the rest', (SELECT string_agg(DISTINCT action, ', ' ORDER BY action) FROM booking.audit WHERE tenant = 'access' AND role = :'me'),
			'bind_role, permit_all, resource_put');
SELECT same('administration too', (SELECT role FROM booking.audit WHERE tenant = 'access' AND action = 'resource_put' AND detail::text ~ 'desk'), 'regress_booking_app');
-- A later change by another role is on record as well.
SET ROLE regress_booking_member;
SELECT same('cancel by another role', show(booking_cancel('access', 'ann', 'by app')), 'canceled canceled receipt');
RESET ROLE;
SELECT same('both roles are known', (SELECT string_agg(action || '=' || role, ', ' ORDER BY action) FROM booking.audit
			WHERE tenant = 'access' AND intent = 'by app' AND action LIKE 'intent_%'),
			'intent_changed=regress_booking_member, intent_recorded=regress_booking_app');

-- SECURITY DEFINER: the function's owner is the effective role.
CREATE FUNCTION test.definer(i text) RETURNS text LANGUAGE sql SECURITY DEFINER
AS $$SELECT public.booking_claim('access', 'ann', i, 'room', test.h(13, 14))::text$$;
ALTER FUNCTION test.definer(text) OWNER TO regress_booking_app;
SET ROLE regress_booking_other;
SELECT yes('through a bound owner', definer('definer') LIKE '(committed,%');
RESET ROLE;
SELECT same('who is on record', (SELECT created_role FROM booking.intent WHERE tenant = 'access' AND intent = 'definer'), 'regress_booking_app');
ALTER FUNCTION test.definer(text) OWNER TO regress_booking_other;
SELECT yes('through an owner that is not bound', definer('definer') LIKE '(denied,%');
SELECT same('the caller is himself again', current_user || ' ' || session_user, concat_ws(' ', :'me', :'me'));

-- An error within a call leaves the caller who he was.
SET ROLE regress_booking_app;
SELECT fails('an error of ours', $$SELECT booking_slot_put('access', 'nowhere', 's', h(1, 2))$$, '42704');
SELECT same('current_user after an error', current_user::text, 'regress_booking_app');
SELECT fails('still no table', 'SELECT * FROM booking.intent', '42501', hinted => false);
RESET ROLE;

-- No table or sequence for a bound role, on any path.
SET ROLE regress_booking_app;
SELECT fails(r || ': ' || v, format(v, r), '42501', hinted => false)
  FROM unnest(ARRAY['booking.tenant', 'booking.resource', 'booking.slot', 'booking.permission', 'booking.role_binding',
					'booking.intent', 'booking.proposal', 'booking.reservation', 'booking.audit_entry', 'booking.audit',
					'booking.site', 'booking.account', 'booking.credential', 'booking.calendar', 'booking.operation', 'booking.attempt',
					'booking.account_check', 'booking.recovery', 'booking.cursor', 'booking.sync_request', 'booking.event', 'booking.conflict',
					'booking.feed', 'booking.consumer', 'booking.change', 'booking.task',
					'booking.retention']) r,
	   unnest(ARRAY['SELECT * FROM %s', 'SELECT count(*) FROM %s', 'DELETE FROM %s', 'INSERT INTO %s DEFAULT VALUES', 'TRUNCATE %s', 'LOCK %s']) v
 WHERE r NOT IN ('booking.audit', 'booking.recovery') OR v NOT LIKE 'TRUNCATE%';
SELECT fails(s, format('SELECT nextval(%L)', s), '42501', hinted => false)
  FROM unnest(ARRAY['booking.resource_id_seq', 'booking.intent_id_seq', 'booking.audit_id_seq',
					'booking.operation_id_seq', 'booking.attempt_id_seq', 'booking.account_check_id_seq',
					'booking.calendar_id_seq', 'booking.sync_request_id_seq', 'booking.event_row_id_seq', 'booking.conflict_id_seq',
					'booking.change_id_seq', 'booking.task_id_seq']) s;
SELECT fails('no trigger of one''s own', 'CREATE TRIGGER t BEFORE INSERT ON booking.intent FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()',
			 '42501', hinted => false);
SELECT fails('nothing of one''s own in the schema', 'CREATE TABLE booking.x ()', '42501', hinted => false);
RESET ROLE;

-- A bound role looks after its tenant's accounts, and arms nothing.
SET ROLE regress_booking_app;
SET client_min_messages = error;
SELECT FROM booking_account_put('access', 'acc', 'caldav', 'https://calendar.example.org/');
SELECT FROM booking_credential_put('access', 'acc', '{"type": "bearer", "token": "t"}');
SET client_min_messages = warning;
SELECT FROM booking_calendar_put('access', 'cal', 'acc', '/cal/');
SELECT FROM booking_sync('access', 'cal');
SELECT fails('another tenant''s calendar is not read', $$SELECT booking_sync('access 2', 'cal')$$, '42501');
SELECT fails('another tenant''s account', $$SELECT booking_account_put('access 2', 'acc', 'caldav', 'https://calendar.example.org/')$$, '42501');
SELECT fails('arm', 'SELECT booking_arm()', '42501');
SELECT fails('status of the worker', 'SELECT booking_worker_status()', '42501');
SELECT fails('the credential, by name', 'SELECT secret FROM booking.credential', '42501', hinted => false);
SELECT FROM booking_calendar_remove('access', 'cal');
SELECT FROM booking_account_remove('access', 'acc');
RESET ROLE;
SELECT same('administration of accounts is audited', (SELECT string_agg(action || '=' || role, ' ' ORDER BY at) FROM booking.audit WHERE tenant = 'access' AND action ~ '^(account|cred)'),
			'account_put=regress_booking_app credential_put=regress_booking_app account_remove=regress_booking_app');

-- Overriding needs a privilege of its own.
REVOKE EXECUTE ON FUNCTION booking_override(text, text, text, text, tstzrange, integer, jsonb, text) FROM regress_booking_app;
SET ROLE regress_booking_app;
SELECT fails('no override', $$SELECT booking_override('access', 'ann', 'x', 'room', h(9, 10), 1, '{}', 'why')$$, '42501', hinted => false);
SELECT same('claims as before', (booking_claim('access', 'ann', 'claims', 'room', h(14, 15))).disposition, 'committed');
RESET ROLE;

-- Four eyes and roles: with one role that may approve, principals are told
-- apart; with two or more bound, the roles must differ too.
SELECT FROM booking_tenant_put('access', four_eyes => true);
SET ROLE regress_booking_app;
SELECT same('claim', show(booking_claim('access', 'ann', 'eyes 1', 'desk', h(20, 21))), 'proposed proposed');
SELECT same('same principal', show(booking_approve('access', 'ann', 'ann', 'eyes 1', 1)), 'denied -');
SELECT same('one role for all', show(booking_approve('access', 'bob', 'ann', 'eyes 1', 1)), 'committed committed receipt');
RESET ROLE;
SELECT FROM booking_bind_role('regress_booking_two', 'access');
SET ROLE regress_booking_app;
SELECT same('claim', show(booking_claim('access', 'ann', 'eyes 2', 'desk', h(21, 22))), 'proposed proposed');
SELECT same('same role', show(booking_approve('access', 'bob', 'ann', 'eyes 2', 1)), 'denied -');
SET ROLE regress_booking_two;
SELECT same('another role, same principal', show(booking_approve('access', 'ann', 'ann', 'eyes 2', 1)), 'denied -');
SELECT same('another role, another principal', show(booking_approve('access', 'bob', 'ann', 'eyes 2', 1)), 'committed committed receipt');
SELECT same('claim', show(booking_claim('access', 'ann', 'eyes 3', 'desk', h(22, 23))), 'proposed proposed');
RESET ROLE;
SELECT same('a superuser is judged by principals', show(booking_approve('access', 'bob', 'ann', 'eyes 3', 1)), 'committed committed receipt');
SELECT same('who approved is on record', (SELECT proposed_role || ' ' || decided_role || ' ' || decided_by FROM booking.proposal JOIN booking.intent USING (intent_id)
			WHERE tenant = 'access' AND intent = 'eyes 2'), 'regress_booking_app regress_booking_two bob');
REVOKE EXECUTE ON FUNCTION booking_approve(text, text, text, text, integer, jsonb) FROM regress_booking_two;
SET ROLE regress_booking_app;
SELECT same('claim', show(booking_claim('access', 'ann', 'eyes 4', 'desk', h(23, 24))), 'proposed proposed');
SELECT same('only one may approve: principals decide', show(booking_approve('access', 'bob', 'ann', 'eyes 4', 1)), 'committed committed receipt');
RESET ROLE;
SELECT FROM booking_tenant_put('access', four_eyes => false);

-- Unbinding; bindings are by name, so a renamed role has none.
SELECT FROM booking_unbind_role('regress_booking_two', 'access');
SET ROLE regress_booking_two;
SELECT same('unbound', show(booking_status('access', 'ann', 'by member')), 'denied -');
RESET ROLE;
ALTER ROLE regress_booking_app RENAME TO regress_booking_renamed;
SET ROLE regress_booking_renamed;
SELECT same('renamed', show(booking_status('access', 'ann', 'by member')), 'denied -');
RESET ROLE;
ALTER ROLE regress_booking_renamed RENAME TO regress_booking_app;
SET ROLE regress_booking_app;
SELECT same('renamed back', show(booking_status('access', 'ann', 'by member')), 'historical_retry committed receipt replayed');
RESET ROLE;
SELECT same('bindings are audited', (SELECT string_agg(action, ' ' ORDER BY at) FROM booking.audit WHERE tenant = 'access' AND action ~ 'bind'),
			'bind_role bind_role unbind_role');

-- R91, R92: whatever the caller puts in the way is never looked up.  Every
-- function and operator here gives itself away.
CREATE SCHEMA regress_booking_evil;
GRANT ALL ON SCHEMA regress_booking_evil TO PUBLIC;
SET ROLE regress_booking_app;
SET search_path = regress_booking_evil;
CREATE FUNCTION caught() RETURNS void LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'hijacked as %', current_user USING ERRCODE = 'TT666'; END$$;
CREATE FUNCTION text_op(text, text) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN PERFORM regress_booking_evil.caught(); END$$;
CREATE FUNCTION int_op(bigint, bigint) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN PERFORM regress_booking_evil.caught(); END$$;
CREATE FUNCTION int_cmp(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN PERFORM regress_booking_evil.caught(); END$$;
CREATE FUNCTION int4_cmp(integer, integer) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN PERFORM regress_booking_evil.caught(); END$$;
CREATE FUNCTION range_op(tstzrange, tstzrange) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN PERFORM regress_booking_evil.caught(); END$$;
CREATE FUNCTION jsonb_op(jsonb, jsonb) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN PERFORM regress_booking_evil.caught(); END$$;
CREATE OPERATOR = (LEFTARG = text, RIGHTARG = text, PROCEDURE = text_op);
CREATE OPERATOR < (LEFTARG = text, RIGHTARG = text, PROCEDURE = text_op);
CREATE OPERATOR > (LEFTARG = text, RIGHTARG = text, PROCEDURE = text_op);
CREATE OPERATOR * (LEFTARG = bigint, RIGHTARG = bigint, PROCEDURE = int_op);
CREATE OPERATOR + (LEFTARG = bigint, RIGHTARG = bigint, PROCEDURE = int_op);
CREATE OPERATOR = (LEFTARG = bigint, RIGHTARG = bigint, PROCEDURE = int_cmp);
CREATE OPERATOR <= (LEFTARG = bigint, RIGHTARG = bigint, PROCEDURE = int_cmp);
CREATE OPERATOR >= (LEFTARG = bigint, RIGHTARG = bigint, PROCEDURE = int_cmp);
CREATE OPERATOR = (LEFTARG = integer, RIGHTARG = integer, PROCEDURE = int4_cmp);
CREATE OPERATOR && (LEFTARG = tstzrange, RIGHTARG = tstzrange, PROCEDURE = range_op);
CREATE OPERATOR = (LEFTARG = tstzrange, RIGHTARG = tstzrange, PROCEDURE = range_op);
CREATE OPERATOR = (LEFTARG = jsonb, RIGHTARG = jsonb, PROCEDURE = jsonb_op);
CREATE FUNCTION octet_length(text) RETURNS integer LANGUAGE plpgsql AS $$BEGIN PERFORM regress_booking_evil.caught(); END$$;
CREATE FUNCTION lower(tstzrange) RETURNS timestamptz LANGUAGE plpgsql AS $$BEGIN PERFORM regress_booking_evil.caught(); END$$;
CREATE FUNCTION upper(tstzrange) RETURNS timestamptz LANGUAGE plpgsql AS $$BEGIN PERFORM regress_booking_evil.caught(); END$$;
CREATE FUNCTION isempty(tstzrange) RETURNS boolean LANGUAGE plpgsql AS $$BEGIN PERFORM regress_booking_evil.caught(); END$$;
CREATE FUNCTION unnest(bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql AS $$BEGIN PERFORM regress_booking_evil.caught(); END$$;
CREATE FUNCTION unnest(integer[]) RETURNS SETOF integer LANGUAGE plpgsql AS $$BEGIN PERFORM regress_booking_evil.caught(); END$$;
CREATE FUNCTION nextval(regclass) RETURNS bigint LANGUAGE plpgsql AS $$BEGIN PERFORM regress_booking_evil.caught(); END$$;
CREATE TABLE booking_result (x integer);
CREATE TABLE booking_proposal (x integer);
CREATE TABLE intent (x integer);
CREATE TABLE reservation (x integer);
CREATE TABLE resource (x integer);
CREATE TABLE pg_class (x integer);
RESET ROLE;
SET search_path = public, test;
-- Calls that use most statements of the ledger; names in it are qualified,
-- since the trap catches the test too.
CREATE FUNCTION test.story(prefix text)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	r record;
	answers pg_catalog.text := '';
	statement pg_catalog.text;
BEGIN
	FOREACH statement IN ARRAY ARRAY[
		$s$public.booking_claim('access', 'ann', '@ 1', 'class', '[2031-01-01 09:00+00,2031-01-01 10:00+00)', units => 1)$s$,
		$s$public.booking_claim('access', 'ann', '@ 1', 'class', '[2031-01-01 09:00+00,2031-01-01 10:00+00)', units => 1)$s$,
		$s$public.booking_claim_all('access', 'ann', '@ 2', '{class,desk}', '[2031-01-01 09:00+00,2031-01-01 10:00+00)', '{1,1}', 1, '{"x": 1}')$s$,
		$s$public.booking_claim('access', 'ann', '@ 3', 'desk', '[2031-01-01 09:00+00,2031-01-01 11:00+00)')$s$,
		$s$public.booking_claim('access', 'ann', '@ 4', 'desk', '[2031-01-01 10:00+00,2031-01-01 11:00+00)', supersedes => '@ 2')$s$,
		$s$public.booking_propose('access', 'ann', '@ 5', 'class', '[2031-01-01 09:00+00,2031-01-01 10:00+00)', hold_for => '1 hour')$s$,
		$s$public.booking_approve('access', 'bob', 'ann', '@ 5', 1)$s$,
		$s$public.booking_claim_slot('access', 'ann', '@ 6', 'class', 's', 1)$s$,
		$s$public.booking_status('access', 'ann', '@ 6')$s$,
		$s$public.booking_cancel('access', 'ann', '@ 1')$s$,
		$s$public.booking_cancel('access', 'ann', '@ 4')$s$,
		$s$public.booking_cancel('access', 'ann', '@ 5')$s$] LOOP
		EXECUTE 'SELECT (x).disposition FROM ' || pg_catalog.replace(statement, '@', prefix) || ' x' INTO r;
		answers := pg_catalog.concat(answers, r.disposition, ' ');
	END LOOP;
	EXECUTE 'SELECT pg_catalog.count(*) AS n FROM public.booking_list(''access'', ''ann'')' INTO r;
	EXECUTE 'SELECT pg_catalog.count(*) AS n FROM public.booking_free(''access'', ''ann'', ''{class,desk}'', ''[2031-01-01 09:00+00,2031-01-01 12:00+00)'', ''1 hour'', ''1 hour'')' INTO r;
	RETURN answers || r.n::pg_catalog.text;
END
$$;
SELECT FROM booking_resource_put('access', 'class', 2);
SELECT same('nothing in the way', story('plain'),
			'committed historical_retry committed resource_conflict committed held committed inventory_conflict inventory_conflict canceled canceled canceled 3');
-- A session of its own, so that no plan was saved before the trap was set.
SELECT current_database() AS db \gset
\c :db
SET client_min_messages = warning;
SET ROLE regress_booking_app;
SET search_path = regress_booking_evil, pg_catalog;
CREATE TEMP TABLE intent (x integer);
CREATE TEMP TABLE reservation (x integer);
CREATE TEMP TABLE resource (x integer);
CREATE TEMP TABLE permission (x integer);
CREATE TEMP TABLE booking_result (x integer);
CREATE TEMP TABLE pg_class (x integer);
CREATE TEMP TABLE pg_proc (x integer);
CREATE DOMAIN pg_temp.text AS integer;
CREATE DOMAIN pg_temp.jsonb AS integer;
SELECT test.same('the trap is set', test.sqlstate_of($$SELECT 'a'::pg_catalog.text = 'b'::pg_catalog.text$$), 'TT666');
SELECT test.same('evil path', test.story('evil'),
				 'committed historical_retry committed resource_conflict committed held committed inventory_conflict inventory_conflict canceled canceled canceled 3');
SET search_path = pg_temp, regress_booking_evil, pg_catalog;
SELECT test.same('temporary first', test.story('temp'),
				 'committed historical_retry committed resource_conflict committed held committed inventory_conflict inventory_conflict canceled canceled canceled 3');
SET search_path = '';
SELECT test.same('no path', test.story('empty'),
				 'committed historical_retry committed resource_conflict committed held committed inventory_conflict inventory_conflict canceled canceled canceled 3');
SET search_path = regress_booking_evil, pg_catalog;
SELECT test.same('direct calls', (public.booking_claim('access', 'ann', 'direct', 'class', '[2031-02-01 09:00+00,2031-02-01 10:00+00)')).disposition, 'committed');
SELECT test.same('administration', public.booking_slot_put('access', 'class', 'evil', '[2031-02-01 09:00+00,2031-02-01 10:00+00)'), 1);
SELECT test.same('capacity and lanes', public.booking_resource_put('access', 'class', 3), 2);
SELECT test.same('and down', public.booking_resource_put('access', 'class', 1), 3);
RESET ROLE;
SELECT test.same('the owner on an evil path', (public.booking_claim('access', 'ann', 'owner', 'class', '[2031-02-01 10:00+00,2031-02-01 11:00+00)')).disposition, 'committed');
SELECT test.same('his check', (SELECT pg_catalog.count(*) FROM public.booking_check()), 0::bigint);
RESET search_path;

SET search_path = public, test;
DROP SCHEMA regress_booking_evil CASCADE;
SELECT done();
DROP FUNCTION test.definer;
DROP OWNED BY regress_booking_app, regress_booking_two, regress_booking_other, regress_booking_member, regress_booking_distant, regress_booking_apart;
DROP ROLE regress_booking_app, regress_booking_two, regress_booking_other, regress_booking_member, regress_booking_distant, regress_booking_apart;
