/* booking/sql/booking--0.1--0.2.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION booking UPDATE TO '0.2'" to load this file. \quit

/* ------------------------------------------------------------------------
 * Providers
 * ------------------------------------------------------------------------ */

CREATE TABLE booking.site (
	single				boolean NOT NULL DEFAULT true,
	event_key			bytea NOT NULL,
	system_identifier	bigint NOT NULL,
	database_oid		bigint NOT NULL,
	arm_digest			bytea NOT NULL,
	armed_at			timestamptz NOT NULL,
	CONSTRAINT site_pkey PRIMARY KEY (single),
	CONSTRAINT site_single_check CHECK (single)
);
COMMENT ON TABLE booking.site IS 'which database this is: only the one that was armed writes to providers';
COMMENT ON COLUMN booking.site.single IS 'there is one row at most';
COMMENT ON COLUMN booking.site.event_key IS 'key that event ids are derived with, made at the first booking_account_put';
COMMENT ON COLUMN booking.site.system_identifier IS 'cluster that was armed';
COMMENT ON COLUMN booking.site.database_oid IS 'database that was armed';
COMMENT ON COLUMN booking.site.arm_digest IS 'digest of booking.arm_key when it was armed';
COMMENT ON COLUMN booking.site.armed_at IS 'when it was armed';

CREATE TABLE booking.account (
	tenant			text COLLATE "C" NOT NULL,
	account			text COLLATE "C" NOT NULL,
	provider		text COLLATE "C" NOT NULL,
	base_url		text NOT NULL,
	settings		jsonb NOT NULL DEFAULT '{}',
	parked			boolean NOT NULL DEFAULT false,
	problem			text,
	blocked_until	timestamptz,
	changed_at		timestamptz NOT NULL,
	CONSTRAINT account_pkey PRIMARY KEY (tenant, account)
);
COMMENT ON TABLE booking.account IS 'accounts at calendar providers';
COMMENT ON COLUMN booking.account.tenant IS 'tenant that uses the account';
COMMENT ON COLUMN booking.account.account IS 'name within the tenant';
COMMENT ON COLUMN booking.account.provider IS 'adapter that speaks to it';
COMMENT ON COLUMN booking.account.base_url IS 'origin and path that all requests stay on';
COMMENT ON COLUMN booking.account.settings IS 'settings of the adapter; never a secret';
COMMENT ON COLUMN booking.account.parked IS 'credentials were refused: nothing is sent until they are put anew';
COMMENT ON COLUMN booking.account.problem IS 'why it is parked or blocked';
COMMENT ON COLUMN booking.account.blocked_until IS 'the provider asked to be left alone until then';
COMMENT ON COLUMN booking.account.changed_at IS 'when the row last changed';

CREATE TABLE booking.credential (
	tenant		text COLLATE "C" NOT NULL,
	account		text COLLATE "C" NOT NULL,
	sealed		boolean NOT NULL,
	secret		bytea NOT NULL,
	changed_at	timestamptz NOT NULL,
	CONSTRAINT credential_pkey PRIMARY KEY (tenant, account)
);
COMMENT ON TABLE booking.credential IS 'credentials of accounts; write-only, and dumped only under booking.dump_secrets';
COMMENT ON COLUMN booking.credential.tenant IS 'tenant of the account';
COMMENT ON COLUMN booking.credential.account IS 'account they sign in to';
COMMENT ON COLUMN booking.credential.sealed IS 'encrypted with the key of booking.secret_key_file';
COMMENT ON COLUMN booking.credential.secret IS 'the credential, sealed or plain';
COMMENT ON COLUMN booking.credential.changed_at IS 'when it was put';

CREATE TABLE booking.calendar (
	tenant		text COLLATE "C" NOT NULL,
	calendar	text COLLATE "C" NOT NULL,
	account		text COLLATE "C" NOT NULL,
	remote_id	text NOT NULL,
	resource	text COLLATE "C",
	role		text COLLATE "C" NOT NULL,
	address		text,
	changed_at	timestamptz NOT NULL,
	CONSTRAINT calendar_pkey PRIMARY KEY (tenant, calendar),
	CONSTRAINT calendar_role_check CHECK (role IN ('write', 'busy'))
);
CREATE UNIQUE INDEX calendar_write_idx ON booking.calendar (tenant, resource)
	WHERE role = 'write';
COMMENT ON TABLE booking.calendar IS 'calendars at providers';
COMMENT ON COLUMN booking.calendar.tenant IS 'tenant of the account';
COMMENT ON COLUMN booking.calendar.calendar IS 'name within the tenant';
COMMENT ON COLUMN booking.calendar.account IS 'account it is reached through';
COMMENT ON COLUMN booking.calendar.remote_id IS 'what the provider calls it: a path or URL for CalDAV';
COMMENT ON COLUMN booking.calendar.resource IS 'resource whose time it shows';
COMMENT ON COLUMN booking.calendar.role IS 'write: claims of the resource become events here; busy: its events block the resource';
COMMENT ON COLUMN booking.calendar.address IS 'address of the person whose calendar it is';
COMMENT ON COLUMN booking.calendar.changed_at IS 'when the row last changed';

-- name of the write calendar; NULL: claims stay local
ALTER TABLE booking.resource ADD COLUMN calendar text COLLATE "C";
COMMENT ON COLUMN booking.resource.calendar IS 'calendar that claims of the resource become events in; NULL: none, they stay local';

/* ------------------------------------------------------------------------
 * Operations
 * ------------------------------------------------------------------------ */

CREATE SEQUENCE booking.operation_id_seq;
CREATE TABLE booking.operation (
	operation_id	bigint NOT NULL DEFAULT pg_catalog.nextval('booking.operation_id_seq'),
	intent_id		bigint NOT NULL,
	previous_id		bigint,
	created_at		timestamptz NOT NULL,
	changed_at		timestamptz NOT NULL,
	next_at			timestamptz NOT NULL,
	generation		integer NOT NULL DEFAULT 1,
	sequence		integer NOT NULL DEFAULT 0,
	epoch			integer NOT NULL DEFAULT 0,
	tries			integer NOT NULL DEFAULT 0,
	uncertain		boolean NOT NULL DEFAULT false,
	tenant			text COLLATE "C" NOT NULL,
	account			text COLLATE "C" NOT NULL,
	calendar		text COLLATE "C" NOT NULL,
	kind			text COLLATE "C" NOT NULL,
	state			text COLLATE "C" NOT NULL DEFAULT 'waiting',
	event_id		text COLLATE "C" NOT NULL,
	href			text,
	etag			text,
	body			bytea,
	problem			text,
	message			text,
	CONSTRAINT operation_pkey PRIMARY KEY (operation_id),
	CONSTRAINT operation_kind_check CHECK (kind IN ('create', 'update', 'cancel')),
	CONSTRAINT operation_state_check CHECK (state IN
		('waiting', 'checking', 'sending', 'unknown', 'reconciling', 'parked',
		 'confirmed', 'rejected', 'dropped'))
);
ALTER SEQUENCE booking.operation_id_seq OWNED BY booking.operation.operation_id;
CREATE INDEX operation_due_idx ON booking.operation (next_at)
	WHERE state IN ('waiting', 'unknown');
CREATE INDEX operation_leased_idx ON booking.operation (operation_id)
	WHERE state IN ('checking', 'sending', 'reconciling');
CREATE INDEX operation_intent_idx ON booking.operation (intent_id);
COMMENT ON TABLE booking.operation IS 'one row a provider effect that is wanted';
COMMENT ON COLUMN booking.operation.operation_id IS 'order in which effects were wanted';
COMMENT ON COLUMN booking.operation.intent_id IS 'intent whose event it is about';
COMMENT ON COLUMN booking.operation.previous_id IS 'operation of the same event that this one follows';
COMMENT ON COLUMN booking.operation.created_at IS 'when it was wanted';
COMMENT ON COLUMN booking.operation.changed_at IS 'when the state last changed';
COMMENT ON COLUMN booking.operation.next_at IS 'not before this';
COMMENT ON COLUMN booking.operation.generation IS 'which id of the event; grows only when an id is provably burnt unused';
COMMENT ON COLUMN booking.operation.sequence IS 'revision number written into the event';
COMMENT ON COLUMN booking.operation.epoch IS 'number of sends; an answer to an earlier one is evidence only';
COMMENT ON COLUMN booking.operation.tries IS 'tries since the last progress, for the back-off';
COMMENT ON COLUMN booking.operation.uncertain IS 'some send may have taken effect';
COMMENT ON COLUMN booking.operation.tenant IS 'tenant of the calendar';
COMMENT ON COLUMN booking.operation.account IS 'account the request goes through';
COMMENT ON COLUMN booking.operation.calendar IS 'calendar of the event';
COMMENT ON COLUMN booking.operation.kind IS 'create, update or cancel';
COMMENT ON COLUMN booking.operation.state IS 'where the operation is';
COMMENT ON COLUMN booking.operation.event_id IS 'single-use id of the event, known before the first byte is sent';
COMMENT ON COLUMN booking.operation.href IS 'where the provider keeps the event';
COMMENT ON COLUMN booking.operation.etag IS 'the event''s version as last known';
COMMENT ON COLUMN booking.operation.body IS 'exact bytes to store, made once';
COMMENT ON COLUMN booking.operation.problem IS 'code of what went wrong last';
COMMENT ON COLUMN booking.operation.message IS 'a few words on it, capped';

CREATE SEQUENCE booking.attempt_id_seq;
CREATE TABLE booking.attempt (
	attempt_id		bigint NOT NULL DEFAULT pg_catalog.nextval('booking.attempt_id_seq'),
	operation_id	bigint NOT NULL,
	at				timestamptz NOT NULL,
	epoch			integer NOT NULL,
	phase			text COLLATE "C" NOT NULL,
	mark			text COLLATE "C" NOT NULL,
	status			integer,
	problem			text,
	message			text,
	CONSTRAINT attempt_pkey PRIMARY KEY (attempt_id),
	CONSTRAINT attempt_phase_check CHECK (phase IN ('send', 'lookup', 'resolve'))
);
ALTER SEQUENCE booking.attempt_id_seq OWNED BY booking.attempt.attempt_id;
CREATE INDEX attempt_operation_idx ON booking.attempt (operation_id);
COMMENT ON TABLE booking.attempt IS 'append-only evidence: when a try began, and how it ended';
COMMENT ON COLUMN booking.attempt.attempt_id IS 'order of recording';
COMMENT ON COLUMN booking.attempt.operation_id IS 'operation that was tried';
COMMENT ON COLUMN booking.attempt.at IS 'when';
COMMENT ON COLUMN booking.attempt.epoch IS 'which send of the operation';
COMMENT ON COLUMN booking.attempt.phase IS 'send, lookup or resolve (by an operator)';
COMMENT ON COLUMN booking.attempt.mark IS 'begun, or the outcome';
COMMENT ON COLUMN booking.attempt.status IS 'HTTP status the outcome follows from';
COMMENT ON COLUMN booking.attempt.problem IS 'code of what went wrong';
COMMENT ON COLUMN booking.attempt.message IS 'a few words on it, capped';

CREATE SEQUENCE booking.account_check_id_seq;
CREATE TABLE booking.account_check (
	check_id	bigint NOT NULL DEFAULT pg_catalog.nextval('booking.account_check_id_seq'),
	tenant		text COLLATE "C" NOT NULL,
	account		text COLLATE "C" NOT NULL,
	asked_at	timestamptz NOT NULL,
	done_at		timestamptz,
	findings	jsonb,
	CONSTRAINT account_check_pkey PRIMARY KEY (check_id)
);
ALTER SEQUENCE booking.account_check_id_seq OWNED BY booking.account_check.check_id;
COMMENT ON TABLE booking.account_check IS 'account checks that were asked for, and what they found';
COMMENT ON COLUMN booking.account_check.check_id IS 'number of the check';
COMMENT ON COLUMN booking.account_check.tenant IS 'tenant of the account';
COMMENT ON COLUMN booking.account_check.account IS 'account to check, with its calendars';
COMMENT ON COLUMN booking.account_check.asked_at IS 'when it was asked for';
COMMENT ON COLUMN booking.account_check.done_at IS 'when the worker answered';
COMMENT ON COLUMN booking.account_check.findings IS 'what works and what does not, in words';

SELECT pg_catalog.pg_extension_config_dump('booking.site', '');
SELECT pg_catalog.pg_extension_config_dump('booking.account', '');
SELECT pg_catalog.pg_extension_config_dump('booking.credential',
	'WHERE pg_catalog.current_setting(''booking.dump_secrets'', true) = ''on''');
SELECT pg_catalog.pg_extension_config_dump('booking.calendar', '');
SELECT pg_catalog.pg_extension_config_dump('booking.operation', '');
SELECT pg_catalog.pg_extension_config_dump('booking.operation_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('booking.attempt', '');
SELECT pg_catalog.pg_extension_config_dump('booking.attempt_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('booking.account_check', '');
SELECT pg_catalog.pg_extension_config_dump('booking.account_check_id_seq', '');

/* ------------------------------------------------------------------------
 * Functions
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.booking_account_put(
	tenant text, account text, provider text, base_url text DEFAULT NULL,
	settings jsonb DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_account_put'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_account_put(text, text, text, text, jsonb) IS
	'create or change an account at a calendar provider; the first one arms the database';

CREATE FUNCTION @extschema@.booking_account_remove(tenant text, account text)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_account_remove'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_account_remove(text, text) IS
	'remove an account that no calendar uses, with its credential';

CREATE FUNCTION @extschema@.booking_credential_put(
	tenant text, account text, credential jsonb)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_credential_put'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_credential_put(text, text, jsonb) IS
	'store how to sign in to an account; no role reads it back';

CREATE FUNCTION @extschema@.booking_credential_remove(tenant text, account text)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_credential_remove'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_credential_remove(text, text) IS
	'forget how to sign in to an account';

CREATE FUNCTION @extschema@.booking_calendar_put(
	tenant text, calendar text, account text, remote_id text,
	resource text DEFAULT NULL, role text DEFAULT 'write',
	address text DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_calendar_put'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_calendar_put(text, text, text, text, text, text, text) IS
	'create or change a calendar; with role write, claims of its resource become events in it';

CREATE FUNCTION @extschema@.booking_calendar_remove(tenant text, calendar text)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_calendar_remove'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_calendar_remove(text, text) IS
	'remove a calendar without open operations; new claims of its resource stay local';

-- no SET clause: a procedure with one cannot commit, and this one must before
-- the worker can see the request; the C code pins search_path by itself
CREATE PROCEDURE @extschema@.booking_account_check(
	tenant text, account text, INOUT findings jsonb DEFAULT NULL)
AS 'MODULE_PATHNAME', 'booking_account_check'
LANGUAGE C;
COMMENT ON PROCEDURE @extschema@.booking_account_check(text, text, jsonb) IS
	'ask the worker what works of an account and its calendars, and wait for the answer';

CREATE FUNCTION @extschema@.booking_arm()
RETURNS void
AS 'MODULE_PATHNAME', 'booking_arm'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_arm() IS
	'let this database, and no copy of it, write to providers';

CREATE FUNCTION @extschema@.booking_worker_start()
RETURNS boolean
AS 'MODULE_PATHNAME', 'booking_worker_start'
LANGUAGE C VOLATILE PARALLEL UNSAFE;
COMMENT ON FUNCTION @extschema@.booking_worker_start() IS
	'start the worker of this database unless it runs; it leaves when idle, unless the library is preloaded';

CREATE FUNCTION @extschema@.booking_worker_status()
RETURNS TABLE (pid integer, state text, reason text, in_flight integer, due bigint)
AS 'MODULE_PATHNAME', 'booking_worker_status'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.booking_worker_status() IS
	'whether the worker of this database runs, what it does, and why it does not send';

CREATE FUNCTION @extschema@.booking_resolve(
	tenant text, principal text, intent text, verdict text, evidence jsonb)
RETURNS @extschema@.booking_result
AS 'MODULE_PATHNAME', 'booking_resolve'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_resolve(text, text, text, text, jsonb) IS
	'say what is true at the provider when the worker cannot prove it: exists, absent, adopt or abandon';

CREATE FUNCTION @extschema@.booking_release(
	tenant text, principal text, intent text, reason text)
RETURNS @extschema@.booking_result
AS 'MODULE_PATHNAME', 'booking_release'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_release(text, text, text, text) IS
	'free the units of an intent that is being canceled before the provider confirms it';

REVOKE ALL ON FUNCTION @extschema@.booking_account_put(text, text, text, text, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_account_remove(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_credential_put(text, text, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_credential_remove(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_calendar_put(text, text, text, text, text, text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_calendar_remove(text, text) FROM PUBLIC;
REVOKE ALL ON PROCEDURE @extschema@.booking_account_check(text, text, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_arm() FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_worker_start() FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_worker_status() FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_resolve(text, text, text, text, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_release(text, text, text, text) FROM PUBLIC;

/* ------------------------------------------------------------------------
 * Guards and views
 * ------------------------------------------------------------------------ */

CREATE TRIGGER guard
	BEFORE UPDATE OR DELETE ON booking.attempt
	FOR EACH ROW EXECUTE FUNCTION booking.guard_append_only();
ALTER TABLE booking.attempt ENABLE ALWAYS TRIGGER guard;

CREATE TRIGGER guard_truncate
	BEFORE TRUNCATE ON booking.attempt
	FOR EACH STATEMENT EXECUTE FUNCTION booking.guard_append_only();
ALTER TABLE booking.attempt ENABLE ALWAYS TRIGGER guard_truncate;

CREATE VIEW booking.recovery AS
	SELECT i.tenant, i.principal, i.intent, i.state, i.disposition, i.remote,
		   i.event, i.resources, i.during, i.units, i.terms,
		   NOT EXISTS (SELECT FROM pg_catalog.unnest(i.resources) AS n (name)
			 WHERE NOT COALESCE(
			   (SELECT p.allowed FROM booking.permission p
				 WHERE p.tenant OPERATOR(pg_catalog.=) i.tenant
				   AND p.principal OPERATOR(pg_catalog.=) i.principal
				   AND p.resource OPERATOR(pg_catalog.=) n.name),
			   (SELECT p.allowed FROM booking.permission p
				 WHERE p.tenant OPERATOR(pg_catalog.=) i.tenant
				   AND p.principal OPERATOR(pg_catalog.=) i.principal
				   AND p.resource OPERATOR(pg_catalog.=) ''),
			   false)) AS authorized,
		   o.operation_id, o.calendar, o.kind, o.state AS operation_state,
		   o.event_id, o.href, o.epoch, o.tries, o.uncertain, o.next_at,
		   o.problem, o.message,
		   (SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
					 'epoch', a.epoch, 'phase', a.phase, 'mark', a.mark,
					 'status', a.status, 'problem', a.problem)
				   ORDER BY a.attempt_id)
			  FROM (SELECT * FROM booking.attempt t
					 WHERE t.operation_id OPERATOR(pg_catalog.=) o.operation_id
					 ORDER BY t.attempt_id DESC LIMIT 10) a) AS attempts,
		   CASE WHEN o.state OPERATOR(pg_catalog.=) 'parked'
				THEN '{exists,absent,adopt,abandon}'::text[]
				ELSE '{}'::text[] END AS verdicts
	  FROM booking.operation o
	  JOIN booking.intent i
		ON i.intent_id OPERATOR(pg_catalog.=) o.intent_id
	 WHERE o.state OPERATOR(pg_catalog.=) ANY
		   ('{unknown,reconciling,parked}'::text[]);
COMMENT ON VIEW booking.recovery IS 'what is not settled at a provider: what is known, what was tried, what booking_resolve may say';
