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
