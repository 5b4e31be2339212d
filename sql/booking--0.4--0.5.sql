/* booking/sql/booking--0.4--0.5.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION booking UPDATE TO '0.5'" to load this file. \quit

/* ------------------------------------------------------------------------
 * Events of ours that no round has seen
 * ------------------------------------------------------------------------ */

CREATE INDEX event_unlisted_idx ON booking.event (calendar_id)
	WHERE etag IS NULL AND intent_id IS NOT NULL;

/* ------------------------------------------------------------------------
 * Checks: operators by their schema
 *
 * A number of one type compared with one of another has no operator of its own
 * in the catalog, so one that somebody made in the schema of the extension
 * before it was created would be taken, and run as the owner.
 * ------------------------------------------------------------------------ */

ALTER TABLE booking.resource
	DROP CONSTRAINT resource_buffer_before_check,
	ADD CONSTRAINT resource_buffer_before_check CHECK
		(buffer_before BETWEEN '0' AND '744 hours'
		 AND pg_catalog.date_part('day', buffer_before) OPERATOR(pg_catalog.=) 0
		 AND pg_catalog.date_part('month', buffer_before) OPERATOR(pg_catalog.=) 0),
	DROP CONSTRAINT resource_buffer_after_check,
	ADD CONSTRAINT resource_buffer_after_check CHECK
		(buffer_after BETWEEN '0' AND '744 hours'
		 AND pg_catalog.date_part('day', buffer_after) OPERATOR(pg_catalog.=) 0
		 AND pg_catalog.date_part('month', buffer_after) OPERATOR(pg_catalog.=) 0);
ALTER TABLE booking.task
	DROP CONSTRAINT task_before_check,
	ADD CONSTRAINT task_before_check CHECK
		(before BETWEEN '0' AND '8784 hours'
		 AND pg_catalog.date_part('day', before) OPERATOR(pg_catalog.=) 0
		 AND pg_catalog.date_part('month', before) OPERATOR(pg_catalog.=) 0);

/* ------------------------------------------------------------------------
 * Readers: a role that may read a relation sees the rows of its tenants
 *
 * Owner and superusers see all, as ever.  For others a table without a policy
 * has no rows, so what must not be read (keys, credentials, tokens, secrets)
 * has none, and nothing can be written.  A policy that looks another table up
 * relies on that one's policy, and its reader must be allowed to read it too.
 * ARRAY(...) is computed once for each statement, and an index can use it.
 * ------------------------------------------------------------------------ */

CREATE VIEW booking.bound_tenant WITH (security_barrier = true) AS
	SELECT DISTINCT b.tenant
	  FROM booking.role_binding b
	  JOIN pg_catalog.pg_roles r ON r.rolname OPERATOR(pg_catalog.=) b.role
	 WHERE pg_catalog.pg_has_role(r.oid, 'USAGE')
	   AND COALESCE(CASE WHEN b.cluster OPERATOR(pg_catalog.=)
					  (SELECT c.system_identifier FROM pg_catalog.pg_control_system() c)
					THEN b.role_oid END, r.oid) OPERATOR(pg_catalog.=) r.oid;
COMMENT ON VIEW booking.bound_tenant IS 'tenants that the current role is bound to';
COMMENT ON COLUMN booking.bound_tenant.tenant IS 'tenant whose rows the role may see';

-- the policies look it up as the reader; who has no USAGE on the schema cannot
GRANT SELECT (tenant) ON booking.bound_tenant TO PUBLIC;

ALTER VIEW booking.audit SET (security_invoker = true);
ALTER VIEW booking.recovery SET (security_invoker = true);

ALTER TABLE booking.tenant ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.tenant FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.resource ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.resource FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.slot ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.slot FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.permission ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.permission FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.role_binding ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.role_binding FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.intent ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.intent FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.reservation ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.reservation FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.audit_entry ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.audit_entry FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.account ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.account FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.calendar ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.calendar FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.operation ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.operation FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.account_check ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.account_check FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.conflict ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.conflict FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.feed ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.feed FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.consumer ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.consumer FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.change ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.change FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.task ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.task FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.webhook_source ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.webhook_source FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.inbox ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.inbox FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.webhook_booking ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.webhook_booking FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.proposal ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.proposal FOR SELECT USING
	(EXISTS (SELECT FROM booking.intent p WHERE p.intent_id OPERATOR(pg_catalog.=) proposal.intent_id));
ALTER TABLE booking.attempt ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.attempt FOR SELECT USING
	(EXISTS (SELECT FROM booking.operation p WHERE p.operation_id OPERATOR(pg_catalog.=) attempt.operation_id));
ALTER TABLE booking.conference ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.conference FOR SELECT USING
	(EXISTS (SELECT FROM booking.operation p WHERE p.operation_id OPERATOR(pg_catalog.=) conference.operation_id));
ALTER TABLE booking.cursor ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.cursor FOR SELECT USING
	(calendar_id OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT p.calendar_id FROM booking.calendar p)));
ALTER TABLE booking.sync_request ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.sync_request FOR SELECT USING
	(calendar_id OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT p.calendar_id FROM booking.calendar p)));
ALTER TABLE booking.event ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.event FOR SELECT USING
	(calendar_id OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT p.calendar_id FROM booking.calendar p)));
ALTER TABLE booking.webhook_map ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.webhook_map FOR SELECT USING
	(source OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT p.source FROM booking.webhook_source p)));
ALTER TABLE booking.webhook_count ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.webhook_count FOR SELECT USING
	(source OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT p.source FROM booking.webhook_source p)));

-- not for reading
ALTER TABLE booking.site ENABLE ROW LEVEL SECURITY;
ALTER TABLE booking.credential ENABLE ROW LEVEL SECURITY;
ALTER TABLE booking.token ENABLE ROW LEVEL SECURITY;
ALTER TABLE booking.webhook_secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE booking.channel ENABLE ROW LEVEL SECURITY;

/* ------------------------------------------------------------------------
 * Comments that were missing
 * ------------------------------------------------------------------------ */

COMMENT ON COLUMN booking.audit.at IS 'when it was recorded';
COMMENT ON COLUMN booking.audit.action IS 'function that acted, without its prefix; intent_recorded and intent_changed of intents';
COMMENT ON COLUMN booking.audit.role IS 'effective database role';
COMMENT ON COLUMN booking.audit.tenant IS 'tenant acted for';
COMMENT ON COLUMN booking.audit.principal IS 'principal acted for';
COMMENT ON COLUMN booking.audit.intent IS 'intent acted on';
COMMENT ON COLUMN booking.audit.detail IS 'values of the action';
COMMENT ON COLUMN booking.audit.evidence IS 'references the caller gave';
COMMENT ON COLUMN booking.recovery.tenant IS 'owner of the booking, calendar or source';
COMMENT ON COLUMN booking.recovery.principal IS 'whose intent it is; of deliveries, the source';
COMMENT ON COLUMN booking.recovery.intent IS 'identity of the intent; NULL where no booking is concerned or known';
COMMENT ON COLUMN booking.recovery.state IS 'where the intent is';
COMMENT ON COLUMN booking.recovery.disposition IS 'what was decided';
COMMENT ON COLUMN booking.recovery.remote IS 'what is known of the newest provider operation';
COMMENT ON COLUMN booking.recovery.event IS 'what is known of the provider''s event';
COMMENT ON COLUMN booking.recovery.resources IS 'names of the resources';
COMMENT ON COLUMN booking.recovery.during IS 'booked interval in [) form; of an orphan, the time of the event';
COMMENT ON COLUMN booking.recovery.units IS 'units of each resource';
COMMENT ON COLUMN booking.recovery.terms IS 'further approved values';
COMMENT ON COLUMN booking.recovery.authorized IS 'the principal would be allowed all of it now; NULL where nobody asks for anything';
COMMENT ON COLUMN booking.recovery.operation_id IS 'operation that is not settled; NULL for rows of another kind';
COMMENT ON COLUMN booking.recovery.calendar IS 'calendar concerned';
COMMENT ON COLUMN booking.recovery.kind IS 'what the operation does (create, update, cancel), or what the row is about where there is none';
COMMENT ON COLUMN booking.recovery.operation_state IS 'where the operation is';
COMMENT ON COLUMN booking.recovery.event_id IS 'id of the event, ours';
COMMENT ON COLUMN booking.recovery.href IS 'where the provider keeps the event';
COMMENT ON COLUMN booking.recovery.epoch IS 'number of sends';
COMMENT ON COLUMN booking.recovery.tries IS 'tries since the last progress; of deliveries, failures in a row';
COMMENT ON COLUMN booking.recovery.uncertain IS 'some send may have taken effect';
COMMENT ON COLUMN booking.recovery.next_at IS 'when the worker looks again by itself';
COMMENT ON COLUMN booking.recovery.problem IS 'code of what stands in the way';
COMMENT ON COLUMN booking.recovery.message IS 'a few words on it';
COMMENT ON COLUMN booking.recovery.attempts IS 'the last ten attempts, the oldest first';
COMMENT ON COLUMN booking.recovery.verdicts IS 'what booking_resolve takes now';
COMMENT ON SEQUENCE booking.resource_id_seq IS 'numbers of resources';
COMMENT ON SEQUENCE booking.intent_id_seq IS 'numbers of intents';
COMMENT ON SEQUENCE booking.audit_id_seq IS 'numbers of audit entries';
COMMENT ON SEQUENCE booking.operation_id_seq IS 'numbers of operations';
COMMENT ON SEQUENCE booking.attempt_id_seq IS 'numbers of attempts';
COMMENT ON SEQUENCE booking.account_check_id_seq IS 'numbers of account checks';
COMMENT ON SEQUENCE booking.calendar_id_seq IS 'numbers of calendars';
COMMENT ON SEQUENCE booking.sync_request_id_seq IS 'numbers of requests for a round';
COMMENT ON SEQUENCE booking.event_row_id_seq IS 'numbers of events';
COMMENT ON SEQUENCE booking.conflict_id_seq IS 'numbers of conflicts';
COMMENT ON SEQUENCE booking.change_id_seq IS 'order in which changes are written';
COMMENT ON SEQUENCE booking.task_id_seq IS 'numbers of reminders';
COMMENT ON SEQUENCE booking.inbox_delivery_seq IS 'numbers of deliveries';
COMMENT ON SEQUENCE booking.channel_id_seq IS 'numbers of channels';

/* ------------------------------------------------------------------------
 * Metrics
 *
 * The indexes have only what is open, so that gauges, and the first page of
 * booking.recovery, take as long however much is settled.
 * ------------------------------------------------------------------------ */

-- the worker alone writes it, and no other database is to go on with its numbers
CREATE TABLE booking.counter (
	value	bigint NOT NULL,
	counter	text COLLATE "C" NOT NULL,
	CONSTRAINT counter_pkey PRIMARY KEY (counter),
	CONSTRAINT counter_value_check CHECK (value >= 0)
);
COMMENT ON TABLE booking.counter IS 'counters of booking_metrics() as the worker stored them last; never dumped';
COMMENT ON COLUMN booking.counter.value IS 'how many, since the extension was created here';
COMMENT ON COLUMN booking.counter.counter IS 'metric and values of its labels';

-- what belongs to no tenant is the owner's
ALTER TABLE booking.counter ENABLE ROW LEVEL SECURITY;

SELECT pg_catalog.pg_extension_config_dump('booking.counter', 'WHERE false');

CREATE INDEX operation_open_idx ON booking.operation (state)
	WHERE state IN ('waiting', 'checking', 'sending', 'unknown', 'reconciling', 'parked');
CREATE INDEX proposal_open_idx ON booking.proposal (expires_at) WHERE state = 'open';
CREATE INDEX cursor_age_idx ON booking.cursor (finished_at) WHERE NOT parked;
CREATE INDEX cursor_parked_idx ON booking.cursor (calendar_id) WHERE parked;
CREATE INDEX cursor_failing_idx ON booking.cursor (failures) WHERE failures > 0;
CREATE INDEX account_parked_idx ON booking.account (tenant, account) WHERE parked;
CREATE INDEX account_blocked_idx ON booking.account (blocked_until)
	WHERE blocked_until IS NOT NULL;
CREATE INDEX token_failing_idx ON booking.token (failures) WHERE failures > 0;
CREATE INDEX webhook_source_failing_idx ON booking.webhook_source (failures)
	WHERE failures > 0;
CREATE INDEX inbox_open_idx ON booking.inbox (state, next_at)
	WHERE state IN ('waiting', 'read_wanted', 'failed');

CREATE FUNCTION @extschema@.booking_metrics()
RETURNS TABLE (name text, labels jsonb, value double precision)
AS 'MODULE_PATHNAME', 'booking_metrics'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_metrics() IS
	'figures for monitoring, without names of tenants, persons or calendars; takes milliseconds, however much there is';
REVOKE ALL ON FUNCTION @extschema@.booking_metrics() FROM PUBLIC;

/* ------------------------------------------------------------------------
 * Webhooks: bookings that are read at their source
 * ------------------------------------------------------------------------ */

CREATE SEQUENCE booking.webhook_reader_id_seq;
CREATE TABLE booking.webhook_reader (
	reader_id	bigint NOT NULL DEFAULT pg_catalog.nextval('booking.webhook_reader_id_seq'),
	found		bigint NOT NULL DEFAULT 0,
	tries		integer NOT NULL DEFAULT 0,
	pages		integer NOT NULL DEFAULT 0,
	parked		boolean NOT NULL DEFAULT false,
	next_at		timestamptz NOT NULL,
	changed_at	timestamptz NOT NULL,
	listed_at	timestamptz,
	since		timestamptz,
	source		text COLLATE "C" NOT NULL,
	base_url	text NOT NULL,
	"position"	text,
	problem		text,
	CONSTRAINT webhook_reader_pkey PRIMARY KEY (reader_id),
	CONSTRAINT webhook_reader_since_check CHECK
		("position" IS NULL OR since IS NOT NULL)
);
CREATE UNIQUE INDEX webhook_reader_source_idx ON booking.webhook_reader (source);
ALTER SEQUENCE booking.webhook_reader_id_seq OWNED BY booking.webhook_reader.reader_id;
COMMENT ON SEQUENCE booking.webhook_reader_id_seq IS 'numbers of readers';
COMMENT ON TABLE booking.webhook_reader IS 'sources whose bookings the worker reads; one row each';
COMMENT ON COLUMN booking.webhook_reader.reader_id IS 'order in which they were put';
COMMENT ON COLUMN booking.webhook_reader.found IS 'bookings that a listing told and no delivery had';
COMMENT ON COLUMN booking.webhook_reader.tries IS 'readings that failed since the last one that did not';
COMMENT ON COLUMN booking.webhook_reader.pages IS 'answers to the listing that is under way, or to the last one';
COMMENT ON COLUMN booking.webhook_reader.parked IS 'the credential was refused: nothing is read until there is another';
COMMENT ON COLUMN booking.webhook_reader.next_at IS 'nothing is read before';
COMMENT ON COLUMN booking.webhook_reader.changed_at IS 'when the row last changed';
COMMENT ON COLUMN booking.webhook_reader.listed_at IS 'when the listing that is under way, or the last one, began';
COMMENT ON COLUMN booking.webhook_reader.since IS 'bookings that changed from then on are listed';
COMMENT ON COLUMN booking.webhook_reader.source IS 'source whose bookings are read';
COMMENT ON COLUMN booking.webhook_reader.base_url IS 'where its API answers';
COMMENT ON COLUMN booking.webhook_reader."position" IS 'where the listing goes on; NULL: none is under way, or it has just begun';
COMMENT ON COLUMN booking.webhook_reader.problem IS 'why the last reading failed';

CREATE TABLE booking.webhook_credential (
	sealed		boolean NOT NULL,
	created_at	timestamptz NOT NULL,
	source		text COLLATE "C" NOT NULL,
	secret		bytea NOT NULL,
	CONSTRAINT webhook_credential_pkey PRIMARY KEY (source)
);
COMMENT ON TABLE booking.webhook_credential IS 'what sources are read with; write-only, and dumped only under booking.dump_secrets';
COMMENT ON COLUMN booking.webhook_credential.sealed IS 'encrypted with the key of booking.secret_key_file';
COMMENT ON COLUMN booking.webhook_credential.created_at IS 'when it was put';
COMMENT ON COLUMN booking.webhook_credential.source IS 'source that is read with it';
COMMENT ON COLUMN booking.webhook_credential.secret IS 'the credential, sealed or plain';

SELECT pg_catalog.pg_extension_config_dump('booking.webhook_reader', '');
SELECT pg_catalog.pg_extension_config_dump('booking.webhook_reader_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('booking.webhook_credential',
	'WHERE pg_catalog.current_setting(''booking.dump_secrets'', true) = ''on''');

ALTER TABLE booking.webhook_reader ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.webhook_reader FOR SELECT USING
	(source OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT p.source FROM booking.webhook_source p)));
ALTER TABLE booking.webhook_credential ENABLE ROW LEVEL SECURITY;

-- readings that wait, the oldest first, however many deliveries failed
CREATE INDEX inbox_reads_idx ON booking.inbox (source, delivery)
	WHERE state = 'read_wanted';

ALTER TABLE booking.inbox
	DROP CONSTRAINT inbox_verdict_check,
	ADD CONSTRAINT inbox_verdict_check CHECK
		(verdict IN ('accepted', 'duplicate', 'ignored', 'unusable', 'found'));
COMMENT ON COLUMN booking.inbox.verdict IS 'accepted, duplicate (the same version with another body), ignored (of a type not known), unusable, or found (by a listing: no delivery came)';

CREATE FUNCTION @extschema@.booking_webhook_credential_put(
	source text, credential jsonb, base_url text DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_webhook_credential_put'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_webhook_credential_put(text, jsonb, text) IS
	'let the worker read the bookings of a source, with a credential that is for the server at base_url alone';
REVOKE ALL ON FUNCTION @extschema@.booking_webhook_credential_put(text, jsonb, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.booking_webhook_credential_remove(source text)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_webhook_credential_remove'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_webhook_credential_remove(text) IS
	'read the bookings of a source no more';
REVOKE ALL ON FUNCTION @extschema@.booking_webhook_credential_remove(text) FROM PUBLIC;

-- alarms about sources are told with the changes of bookings
ALTER TABLE booking.change
	DROP CONSTRAINT change_kind_check,
	ADD CONSTRAINT change_kind_check CHECK
		(kind IN ('recorded', 'proposed', 'changed', 'moved', 'alarm'));
COMMENT ON COLUMN booking.change.intent_id IS 'intent that changed; 0: none, it is an alarm';
COMMENT ON COLUMN booking.change.intent IS 'identity of the intent, or a name of the alarm';
COMMENT ON COLUMN booking.change.kind IS 'recorded (first), proposed (another payload), changed, moved (by the calendar), or alarm: the principal is a source that fails, and revision says how often in a row';
COMMENT ON COLUMN @extschema@.booking_change.intent IS 'identity of the intent, or a name of the alarm';
COMMENT ON COLUMN @extschema@.booking_change.kind IS 'recorded (first), proposed (another payload), changed, moved (by the calendar), or alarm: the principal is a source that fails, and revision says how often in a row';

/* ------------------------------------------------------------------------
 * Retention
 *
 * Values go, and what decides a late retry stays: identity, state, and a keyed
 * digest of what the values were.
 * ------------------------------------------------------------------------ */

CREATE TABLE booking.retention (
	"position"	bigint NOT NULL DEFAULT 0,
	single		boolean NOT NULL DEFAULT true,
	digest_key	bytea NOT NULL,
	CONSTRAINT retention_pkey PRIMARY KEY (single),
	CONSTRAINT retention_single_check CHECK (single)
);
COMMENT ON TABLE booking.retention IS 'how far retention is, and what digests are made with; the first purge makes the row';
COMMENT ON COLUMN booking.retention."position" IS 'number of the intent behind which the next call goes on';
COMMENT ON COLUMN booking.retention.single IS 'there is one row at most';
COMMENT ON COLUMN booking.retention.digest_key IS 'key of the digests of purged values';

SELECT pg_catalog.pg_extension_config_dump('booking.retention', '');

-- not for reading
ALTER TABLE booking.retention ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION booking.payload_digest(
	key bytea, intent_id bigint, resources text[], slot text, during tstzrange,
	expected_versions bigint[], terms jsonb)
RETURNS bytea
AS 'MODULE_PATHNAME', 'booking_payload_digest' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION booking.payload_digest(bytea, bigint, text[], text, tstzrange, bigint[], jsonb) IS
	'what is kept of the values of a payload when they are purged';
REVOKE ALL ON FUNCTION booking.payload_digest(bytea, bigint, text[], text, tstzrange, bigint[], jsonb) FROM PUBLIC;

ALTER TABLE booking.intent
	ADD COLUMN digest bytea,
	ADD CONSTRAINT intent_purged_check CHECK
		(during IS NOT NULL OR digest IS NOT NULL OR version = 0
		 OR slot IS NOT NULL AND (state = 'conflict' OR state = 'canceled'));
COMMENT ON COLUMN booking.intent.digest IS 'keyed digest of the values that were purged; NULL: all values are there';

ALTER TABLE booking.proposal
	ADD COLUMN digest bytea,
	ALTER COLUMN during DROP NOT NULL,
	DROP CONSTRAINT proposal_during_check,
	ADD CONSTRAINT proposal_during_check CHECK
		(during IS NULL AND digest IS NOT NULL OR booking.interval_is_valid(during));
COMMENT ON COLUMN booking.proposal.digest IS 'keyed digest of the values that were purged; NULL: all values are there';

CREATE INDEX conflict_intent_idx ON booking.conflict (intent_id)
	WHERE intent_id IS NOT NULL;

-- no SET clause: a procedure with one cannot commit; the C code pins
-- search_path by itself
CREATE PROCEDURE @extschema@.booking_retain(
	policy jsonb, INOUT result jsonb DEFAULT NULL)
AS 'MODULE_PATHNAME', 'booking_retain'
LANGUAGE C;
COMMENT ON PROCEDURE @extschema@.booking_retain(jsonb, jsonb) IS
	'purge values and personal data that are older than a policy says, in small transactions; what decides a late retry stays';

CREATE PROCEDURE @extschema@.booking_forget(
	tenant text, principal text, INOUT result jsonb DEFAULT NULL)
AS 'MODULE_PATHNAME', 'booking_forget'
LANGUAGE C;
COMMENT ON PROCEDURE @extschema@.booking_forget(text, text, jsonb) IS
	'erase what is known of one person; refused while a booking of theirs is not over';

REVOKE ALL ON PROCEDURE @extschema@.booking_retain(jsonb, jsonb) FROM PUBLIC;
REVOKE ALL ON PROCEDURE @extschema@.booking_forget(text, text, jsonb) FROM PUBLIC;

/* ------------------------------------------------------------------------
 * Recovery
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.booking_requeue(
	tenant text, principal text, intent text, reason text)
RETURNS @extschema@.booking_result
AS 'MODULE_PATHNAME', 'booking_requeue'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_requeue(text, text, text, text) IS
	'have the worker look again at once at what waits or was parked; what may have been sent is looked for first';
REVOKE ALL ON FUNCTION @extschema@.booking_requeue(text, text, text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.booking_park(
	tenant text, principal text, intent text, reason text)
RETURNS @extschema@.booking_result
AS 'MODULE_PATHNAME', 'booking_park'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_park(text, text, text, text) IS
	'have the worker leave an operation that waits alone until a person says more';
REVOKE ALL ON FUNCTION @extschema@.booking_park(text, text, text, text) FROM PUBLIC;

-- the last column is new, and so are rows of conflicts, of deliveries, of
-- calendars that cannot be read and of accounts without operations
CREATE OR REPLACE VIEW booking.recovery WITH (security_invoker = true) AS
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
		   CASE WHEN u.sealed THEN u.problem
				ELSE COALESCE(o.problem, u.problem) END AS problem,
		   CASE WHEN u.sealed THEN u.message
				ELSE COALESCE(o.message, u.message) END COLLATE pg_catalog."default" AS message,
		   (SELECT pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
					 'epoch', a.epoch, 'phase', a.phase, 'mark', a.mark,
					 'status', a.status, 'problem', a.problem)
				   ORDER BY a.attempt_id)
			  FROM (SELECT * FROM booking.attempt t
					 WHERE t.operation_id OPERATOR(pg_catalog.=) o.operation_id
					 ORDER BY t.attempt_id DESC LIMIT 10) a) AS attempts,
		   CASE WHEN o.state OPERATOR(pg_catalog.=) 'parked'
				THEN '{exists,absent,adopt,abandon}'::text[]
				ELSE '{}'::text[] END AS verdicts,
		   CASE WHEN o.state OPERATOR(pg_catalog.=) 'parked'
				THEN ARRAY(SELECT pg_catalog.format(
							 'SELECT booking_resolve(%L, %L, %L, %L, %L)',
							 i.tenant, i.principal, i.intent, v.verdict,
							 pg_catalog.jsonb_build_object('seen', 'at the provider',
							   'operation', o.operation_id))
							 FROM pg_catalog.unnest('{exists,absent,adopt,abandon}'::text[])
							   AS v (verdict))
					 OPERATOR(pg_catalog.||) pg_catalog.format(
					   'SELECT booking_requeue(%L, %L, %L, %L)', i.tenant,
					   i.principal, i.intent, 'what stood in the way is repaired')
				WHEN o.state OPERATOR(pg_catalog.=) 'unknown'
				THEN ARRAY[pg_catalog.format(
					   'SELECT booking_requeue(%L, %L, %L, %L)', i.tenant,
					   i.principal, i.intent, 'the provider answers again'),
					 pg_catalog.format(
					   'SELECT booking_park(%L, %L, %L, %L)', i.tenant,
					   i.principal, i.intent, 'a person looks')]
				WHEN o.state OPERATOR(pg_catalog.=) 'waiting'
				THEN ARRAY[CASE WHEN u.problem IS NOT NULL
							 THEN pg_catalog.format(
							   'SELECT booking_credential_put(%L, %L, :''credential'')',
							   a.tenant, a.account)
							 ELSE pg_catalog.format('SELECT booking_sync(%L, %L)',
							   o.tenant, o.calendar) END,
						   pg_catalog.format('SELECT booking_cancel(%L, %L, %L)',
							 i.tenant, i.principal, i.intent)]
				ELSE '{}'::text[] END AS calls,
		   CASE WHEN o.state OPERATOR(pg_catalog.=) 'waiting'
				THEN CASE WHEN u.sealed THEN 'sealed_credential'
						  WHEN u.problem IS NOT NULL THEN 'parked_account'
						  ELSE 'unreadable_calendar' END
				WHEN o.state OPERATOR(pg_catalog.<>) 'parked' THEN 'unknown'
				WHEN o.kind OPERATOR(pg_catalog.=) 'cancel' THEN 'unsettled_cancel'
				WHEN o.problem OPERATOR(pg_catalog.=) ANY
					 ('{foreign_event,uid_conflict}'::text[]) THEN 'foreign_object'
				WHEN o.problem OPERATOR(pg_catalog.=) 'deleted_at_provider'
				THEN 'burnt_id'
				WHEN i.event OPERATOR(pg_catalog.=) 'present' THEN 'mismatch'
				ELSE 'unproven' END AS unresolved
	  FROM booking.operation o
	  JOIN booking.intent i
		ON i.intent_id OPERATOR(pg_catalog.=) o.intent_id
	  LEFT JOIN booking.account a
		ON a.tenant OPERATOR(pg_catalog.=) o.tenant
	   AND a.account OPERATOR(pg_catalog.=) o.account
	   AND o.state OPERATOR(pg_catalog.=) 'waiting'
  LEFT JOIN LATERAL (SELECT false AS sealed, 'account_parked'::text AS problem,
						  'account '::text OPERATOR(pg_catalog.||) a.account
						  OPERATOR(pg_catalog.||) COALESCE(': '::text
							OPERATOR(pg_catalog.||) a.problem, '') AS message
					 WHERE a.parked
					UNION ALL
				   SELECT true, 'credential_sealed',
						  'account '::text OPERATOR(pg_catalog.||) a.account
						  OPERATOR(pg_catalog.||) ': '::text
						  OPERATOR(pg_catalog.||) a.problem
						  OPERATOR(pg_catalog.||) ': name its file in booking.secret_key_file, or put the credential again'::text
					 WHERE NOT a.parked
					   AND a.problem OPERATOR(pg_catalog.=)
						   'the credential was sealed with another key'
					   AND a.blocked_until OPERATOR(pg_catalog.>)
						   pg_catalog.clock_timestamp()) u ON true
 WHERE o.state OPERATOR(pg_catalog.=) ANY
	   ('{waiting,unknown,reconciling,parked}'::text[])
   AND (o.state OPERATOR(pg_catalog.=) ANY
		('{unknown,reconciling,parked}'::text[])
		OR o.problem OPERATOR(pg_catalog.=) 'calendar_unread'
		OR u.problem IS NOT NULL)
UNION ALL
	SELECT a.tenant, NULL, NULL, NULL, NULL, NULL,
		   NULL, NULL, NULL, NULL, NULL,
		   NULL, NULL, NULL, 'account', NULL,
		   NULL, NULL, NULL, NULL, NULL, NULL, 'account_parked',
		   'account '::text OPERATOR(pg_catalog.||) a.account
			 OPERATOR(pg_catalog.||) COALESCE(': '::text
			   OPERATOR(pg_catalog.||) a.problem, ''),
		   NULL, '{}'::text[],
		   ARRAY[pg_catalog.format(
			 'SELECT booking_credential_put(%L, %L, :''credential'')',
			 a.tenant, a.account)],
		   'parked_account'
	  FROM booking.account a
	 WHERE a.parked
UNION ALL
	SELECT c.tenant, NULL, NULL, NULL, NULL, NULL,
		   NULL, ARRAY[c.resource]::text[], NULL, NULL, NULL,
		   NULL, NULL, c.calendar, 'calendar', NULL,
		   NULL, NULL, NULL, k.failures, NULL, k.next_at, k.problem,
		   CASE WHEN k.parked
				THEN 'the calendar is not read any more: repair what the problem names, and put it again'
				ELSE 'the calendar could not be read; tries says how often in a row' END,
		   NULL, '{}'::text[],
		   ARRAY[CASE WHEN k.parked
					  THEN pg_catalog.format(
						'SELECT booking_calendar_put(%L, %L, %L, %L, %L, %L, %L)',
						c.tenant, c.calendar, c.account, c.remote_id, c.resource,
						c.role, c.address)
					  ELSE pg_catalog.format('SELECT booking_sync(%L, %L)',
						c.tenant, c.calendar) END],
		   'unreadable_calendar'
	  FROM booking.cursor k
	  JOIN booking.calendar c
		ON c.calendar_id OPERATOR(pg_catalog.=) k.calendar_id
	 WHERE k.parked OR k.failures OPERATOR(pg_catalog.>) 0
UNION ALL
	SELECT k.tenant, i.principal, i.intent, i.state, i.disposition, i.remote,
		   'present', ARRAY[c.resource]::text[], k.during, i.units, i.terms,
		   NULL, NULL, c.calendar, 'orphan', NULL,
		   (SELECT e.marker FROM booking.event e
			 WHERE e.calendar_id OPERATOR(pg_catalog.=) k.calendar_id
			   AND e.object OPERATOR(pg_catalog.=) k.object
			   AND e.marker IS NOT NULL LIMIT 1),
		   k.object COLLATE pg_catalog."default", NULL, NULL, NULL, NULL, 'orphan',
		   CASE WHEN k.intent_id IS NULL
				THEN 'an event with an id of this database, whose booking it does not have: make the booking again, with the same names, or delete the event in the calendar'
				ELSE 'the event of a booking that has ended: delete it in the calendar' END,
		   NULL, '{}'::text[],
		   CASE WHEN k.intent_id IS NULL
				THEN ARRAY[pg_catalog.format(
					   'SELECT booking_claim(%L, :''principal'', :''intent'', %L, %L)',
					   k.tenant, c.resource, k.during)]
				ELSE '{}'::text[] END
			 OPERATOR(pg_catalog.||) pg_catalog.format('SELECT booking_sync(%L, %L)',
			   c.tenant, c.calendar),
		   'orphan'
	  FROM booking.conflict k
	  JOIN booking.calendar c
		ON c.calendar_id OPERATOR(pg_catalog.=) k.calendar_id
	  LEFT JOIN booking.intent i
		ON i.intent_id OPERATOR(pg_catalog.=) k.intent_id
	 WHERE k.kind OPERATOR(pg_catalog.=) 'orphan' AND k.resolved_at IS NULL
UNION ALL
	SELECT k.tenant, i.principal, i.intent, i.state, i.disposition, i.remote,
		   i.event, i.resources, k.during, i.units, i.terms,
		   NULL, NULL, c.calendar, 'conflict', NULL,
		   NULL, k.object COLLATE pg_catalog."default", NULL, NULL, NULL, NULL,
		   k.kind COLLATE pg_catalog."default",
		   CASE k.kind
				WHEN 'overlap' THEN 'somebody''s event lies over the booking: move one of the two'
				WHEN 'moved' THEN 'the event was moved to a time that is not free; the booking holds its old one'
				WHEN 'elsewhere' THEN 'a booking made elsewhere found no place here: move or cancel one of the two, where it was made'
				ELSE 'the event is not where it was, and that it was deleted is not proven' END,
		   NULL, '{}'::text[],
		   CASE WHEN c.calendar IS NOT NULL
				THEN ARRAY[pg_catalog.format('SELECT booking_sync(%L, %L)',
					   c.tenant, c.calendar)]
				ELSE '{}'::text[] END
			 OPERATOR(pg_catalog.||) pg_catalog.format('SELECT booking_cancel(%L, %L, %L)',
			   i.tenant, i.principal, i.intent),
		   'conflict'
	  FROM booking.conflict k
	  JOIN booking.intent i
		ON i.intent_id OPERATOR(pg_catalog.=) k.intent_id
	  LEFT JOIN booking.calendar c
		ON c.calendar_id OPERATOR(pg_catalog.=) k.calendar_id
	 WHERE k.kind OPERATOR(pg_catalog.<>) 'orphan' AND k.resolved_at IS NULL
UNION ALL
	SELECT s.tenant, s.source, NULL, NULL, NULL, NULL,
		   NULL, NULL, NULL, NULL, NULL,
		   NULL, NULL, NULL, 'webhook', NULL,
		   NULL,
		   NULL, NULL, s.failures, NULL, NULL, s.problem,
		   'deliveries of a source of webhooks fail; tries says how many have in a row',
		   NULL, '{}'::text[],
		   CASE WHEN s.problem OPERATOR(pg_catalog.=) ANY
					 ('{no_secret,bad_signature}'::text[])
				THEN ARRAY[pg_catalog.format(
					   'SELECT booking_webhook_secret_put(%L, :''secret'')', s.source)]
				WHEN s.problem OPERATOR(pg_catalog.=) 'unmapped'
				THEN ARRAY[pg_catalog.format(
					   'SELECT booking_webhook_map(%L, :''remote_key'', :''resource'')', s.source),
					 pg_catalog.format('SELECT * FROM booking_webhook_replay(%L)',
					   s.source)]
				ELSE ARRAY[pg_catalog.format(
					   'SELECT * FROM booking_webhook_replay(%L)', s.source)]
		   END,
		   'failing_source'
	  FROM booking.webhook_source s
	 WHERE s.failures OPERATOR(pg_catalog.>) 0 AND s.removed_at IS NULL
UNION ALL
	SELECT b.tenant, b.source, b.booking, NULL, NULL, NULL,
		   NULL, NULL, NULL, NULL, NULL,
		   NULL, NULL, NULL, 'delivery', b.state,
		   NULL, NULL, NULL, b.tries, NULL, b.next_at,
		   b.reason COLLATE pg_catalog."default",
		   'delivery '::text OPERATOR(pg_catalog.||) b.delivery::text
			 OPERATOR(pg_catalog.||) ' could not be applied; it is kept',
		   NULL, '{}'::text[],
		   CASE WHEN b.reason OPERATOR(pg_catalog.=) 'unmapped'
				THEN ARRAY[pg_catalog.format(
					   'SELECT booking_webhook_map(%L, :''remote_key'', :''resource'')', b.source)]
				ELSE '{}'::text[] END
			 OPERATOR(pg_catalog.||) pg_catalog.format(
			   'SELECT * FROM booking_webhook_replay_list(%L, ''{%s}'')', b.source,
			   b.delivery),
		   'dead_letter'
	  FROM booking.inbox b
	  JOIN booking.webhook_source s
		ON s.source OPERATOR(pg_catalog.=) b.source AND s.removed_at IS NULL
	 WHERE b.state OPERATOR(pg_catalog.=) 'failed'
UNION ALL
	SELECT s.tenant, s.source, NULL, NULL, NULL, NULL,
		   NULL, NULL, NULL, NULL, NULL,
		   NULL, NULL, NULL, 'reading', NULL,
		   NULL, NULL, NULL, r.tries, NULL, r.next_at, r.problem,
		   CASE WHEN r.parked
				THEN 'bookings of a source of webhooks are not read: put a credential that is accepted'
				ELSE 'bookings of a source of webhooks cannot be read; tries says how often in a row'
		   END,
		   NULL, '{}'::text[],
		   ARRAY[pg_catalog.format(
			 'SELECT booking_webhook_credential_put(%L, :''credential'')', s.source)],
		   'failing_reading'
	  FROM booking.webhook_reader r
	  JOIN booking.webhook_source s
		ON s.source OPERATOR(pg_catalog.=) r.source
	 WHERE r.parked OR r.tries OPERATOR(pg_catalog.>=) 5;
COMMENT ON VIEW booking.recovery IS 'what is not settled: what is known, what was tried, what booking_resolve may say, and which calls go on';
COMMENT ON COLUMN booking.recovery.calls IS 'statements that are allowed next, whole but for what only a person has, which is a variable of psql';
COMMENT ON COLUMN booking.recovery.unresolved IS 'what kind of thing is not settled; doc/operations.md says what to do about each';
