/* booking/sql/booking--0.3--0.4.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION booking UPDATE TO '0.4'" to load this file. \quit

/* ------------------------------------------------------------------------
 * Claims
 *
 * A claim of one free resource runs no statement, and a SET clause would cost
 * it more than its locks do.  Where it does run one, the library pins the same
 * settings by itself.  The library that is too old to do so refuses objects of
 * this version before it runs any.
 * ------------------------------------------------------------------------ */

ALTER FUNCTION @extschema@.booking_claim(text, text, text, text, tstzrange, bigint,
	integer, jsonb, text, jsonb) RESET ALL;

/* ------------------------------------------------------------------------
 * Webhooks: bookings that are made elsewhere
 *
 * What comes is verified, stored and answered; it is applied through the
 * ledger in the same transaction where that succeeds, and again by a replay.
 * ------------------------------------------------------------------------ */

CREATE TABLE booking.webhook_source (
	failures	integer NOT NULL DEFAULT 0,
	secrets		integer NOT NULL DEFAULT 0,
	created_at	timestamptz NOT NULL,
	removed_at	timestamptz,
	failed_at	timestamptz,
	source		text COLLATE "C" NOT NULL,
	tenant		text COLLATE "C" NOT NULL,
	kind		text COLLATE "C" NOT NULL,
	problem		text,
	settings	jsonb NOT NULL,
	CONSTRAINT webhook_source_pkey PRIMARY KEY (source),
	CONSTRAINT webhook_source_kind_check CHECK
		(kind IN ('calendly', 'calcom', 'acuity', 'standard')),
	CONSTRAINT webhook_source_settings_check CHECK
		(pg_catalog.jsonb_typeof(settings) = 'object'),
	CONSTRAINT webhook_source_failures_check CHECK (failures >= 0)
);
COMMENT ON TABLE booking.webhook_source IS 'who may send deliveries; one row a source, kept when it is removed';
COMMENT ON COLUMN booking.webhook_source.failures IS 'deliveries that failed since the last one that did not';
COMMENT ON COLUMN booking.webhook_source.secrets IS 'number of the secret put last';
COMMENT ON COLUMN booking.webhook_source.created_at IS 'when it was first put';
COMMENT ON COLUMN booking.webhook_source.removed_at IS 'when it was removed; NULL: it is in use';
COMMENT ON COLUMN booking.webhook_source.failed_at IS 'when a delivery failed last';
COMMENT ON COLUMN booking.webhook_source.source IS 'opaque name, the end of the URL and the principal of its bookings';
COMMENT ON COLUMN booking.webhook_source.tenant IS 'owner of the source';
COMMENT ON COLUMN booking.webhook_source.kind IS 'how it signs and what it sends';
COMMENT ON COLUMN booking.webhook_source.problem IS 'why a delivery failed last';
COMMENT ON COLUMN booking.webhook_source.settings IS 'tolerance and pair_wait in seconds, max_bytes, by_calendar, terms';

CREATE TABLE booking.webhook_secret (
	number		integer NOT NULL,
	sealed		boolean NOT NULL,
	created_at	timestamptz NOT NULL,
	source		text COLLATE "C" NOT NULL,
	secret		bytea NOT NULL,
	CONSTRAINT webhook_secret_pkey PRIMARY KEY (source, number)
);
COMMENT ON TABLE booking.webhook_secret IS 'secrets that deliveries are verified by; write-only, and dumped only under booking.dump_secrets';
COMMENT ON COLUMN booking.webhook_secret.number IS 'number within the source';
COMMENT ON COLUMN booking.webhook_secret.sealed IS 'encrypted with the key of booking.secret_key_file';
COMMENT ON COLUMN booking.webhook_secret.created_at IS 'when it was put';
COMMENT ON COLUMN booking.webhook_secret.source IS 'whose deliveries it verifies';
COMMENT ON COLUMN booking.webhook_secret.secret IS 'the secret, sealed or plain';

CREATE TABLE booking.webhook_map (
	source		text COLLATE "C" NOT NULL,
	remote_key	text COLLATE "C" NOT NULL,
	resource	text COLLATE "C" NOT NULL,
	CONSTRAINT webhook_map_pkey PRIMARY KEY (source, remote_key)
);
COMMENT ON TABLE booking.webhook_map IS 'which resource a source means';
COMMENT ON COLUMN booking.webhook_map.source IS 'source';
COMMENT ON COLUMN booking.webhook_map.remote_key IS 'event type, host or calendar as the source names it; * is every other';
COMMENT ON COLUMN booking.webhook_map.resource IS 'resource of the source''s tenant';

CREATE TABLE booking.webhook_count (
	deliveries	bigint NOT NULL,
	last_at		timestamptz NOT NULL,
	source		text COLLATE "C" NOT NULL,
	verdict		text COLLATE "C" NOT NULL,
	CONSTRAINT webhook_count_pkey PRIMARY KEY (source, verdict)
);
COMMENT ON TABLE booking.webhook_count IS 'deliveries that were refused, and creations that came after the cancel: counted, not kept';
COMMENT ON COLUMN booking.webhook_count.deliveries IS 'how many';
COMMENT ON COLUMN booking.webhook_count.last_at IS 'when the last one came';
COMMENT ON COLUMN booking.webhook_count.source IS 'whose they were said to be';
COMMENT ON COLUMN booking.webhook_count.verdict IS 'why they were refused, or late_create';

CREATE SEQUENCE booking.inbox_delivery_seq;
CREATE TABLE booking.inbox (
	delivery	bigint NOT NULL DEFAULT pg_catalog.nextval('booking.inbox_delivery_seq'),
	version		bigint,
	copies		integer NOT NULL DEFAULT 1,
	tries		integer NOT NULL DEFAULT 0,
	received_at	timestamptz NOT NULL,
	applied_at	timestamptz,
	next_at		timestamptz,
	source		text COLLATE "C" NOT NULL,
	tenant		text COLLATE "C" NOT NULL,
	verdict		text COLLATE "C" NOT NULL,
	state		text COLLATE "C" NOT NULL,
	reason		text COLLATE "C",
	type		text COLLATE "C",
	booking		text COLLATE "C",
	dedupe		text COLLATE "C",
	body		bytea NOT NULL,
	CONSTRAINT inbox_pkey PRIMARY KEY (delivery),
	CONSTRAINT inbox_verdict_check CHECK
		(verdict IN ('accepted', 'duplicate', 'ignored', 'unusable')),
	CONSTRAINT inbox_state_check CHECK
		(state IN ('applied', 'waiting', 'read_wanted', 'ignored', 'failed')),
	CONSTRAINT inbox_copies_check CHECK (copies >= 1)
);
CREATE UNIQUE INDEX inbox_dedupe_idx ON booking.inbox (source, dedupe)
	WHERE dedupe IS NOT NULL;
CREATE INDEX inbox_received_idx ON booking.inbox (source, received_at);
CREATE INDEX inbox_booking_idx ON booking.inbox (source, booking)
	WHERE state IN ('waiting', 'read_wanted', 'failed');
CREATE INDEX inbox_due_idx ON booking.inbox (next_at) WHERE next_at IS NOT NULL;
ALTER SEQUENCE booking.inbox_delivery_seq OWNED BY booking.inbox.delivery;
COMMENT ON TABLE booking.inbox IS 'verified deliveries as they came, and what became of them';
COMMENT ON COLUMN booking.inbox.delivery IS 'number of the delivery, in the order of arrival';
COMMENT ON COLUMN booking.inbox.version IS 'the source''s version of the booking, where it gives one';
COMMENT ON COLUMN booking.inbox.copies IS 'times the same came';
COMMENT ON COLUMN booking.inbox.tries IS 'times applying it failed';
COMMENT ON COLUMN booking.inbox.received_at IS 'when it first came';
COMMENT ON COLUMN booking.inbox.applied_at IS 'when its state was decided last';
COMMENT ON COLUMN booking.inbox.next_at IS 'when it is applied again by itself; NULL: it is not';
COMMENT ON COLUMN booking.inbox.source IS 'who sent it';
COMMENT ON COLUMN booking.inbox.tenant IS 'owner of the source';
COMMENT ON COLUMN booking.inbox.verdict IS 'accepted, duplicate (the same version with another body), ignored (of a type not known) or unusable';
COMMENT ON COLUMN booking.inbox.state IS 'applied; waiting: for the other half of a reschedule; read_wanted; ignored; failed';
COMMENT ON COLUMN booking.inbox.reason IS 'why it is not, or not only, applied';
COMMENT ON COLUMN booking.inbox.type IS 'what the source calls what happened';
COMMENT ON COLUMN booking.inbox.booking IS 'the source''s id of the booking';
COMMENT ON COLUMN booking.inbox.dedupe IS 'what makes it the same as another; NULL: it never is';
COMMENT ON COLUMN booking.inbox.body IS 'the raw bytes';

CREATE TABLE booking.webhook_booking (
	version		bigint NOT NULL,
	generation	integer NOT NULL DEFAULT 0,
	units_until	timestamptz,
	changed_at	timestamptz NOT NULL,
	source		text COLLATE "C" NOT NULL,
	booking		text COLLATE "C" NOT NULL,
	tenant		text COLLATE "C" NOT NULL,
	state		text COLLATE "C" NOT NULL,
	intent		text COLLATE "C" NOT NULL,
	resource	text COLLATE "C",
	successor	text COLLATE "C",
	during		tstzrange,
	CONSTRAINT webhook_booking_pkey PRIMARY KEY (source, booking),
	CONSTRAINT webhook_booking_state_check CHECK (state IN ('live', 'moving', 'ended')),
	CONSTRAINT webhook_booking_moving_check CHECK
		((units_until IS NOT NULL) = (state = 'moving')),
	CONSTRAINT webhook_booking_live_check CHECK
		(state = 'ended' OR resource IS NOT NULL AND during IS NOT NULL)
);
CREATE INDEX webhook_booking_moving_idx ON booking.webhook_booking (units_until)
	WHERE units_until IS NOT NULL;
COMMENT ON TABLE booking.webhook_booking IS 'bookings as their sources have them: the newest version, and the intent that stands for it';
COMMENT ON COLUMN booking.webhook_booking.version IS 'version applied last';
COMMENT ON COLUMN booking.webhook_booking.generation IS 'times its values were altered under the same id: each is an intent of its own';
COMMENT ON COLUMN booking.webhook_booking.units_until IS 'how long half a reschedule keeps its units';
COMMENT ON COLUMN booking.webhook_booking.changed_at IS 'when this row changed';
COMMENT ON COLUMN booking.webhook_booking.source IS 'source, the principal of the intent';
COMMENT ON COLUMN booking.webhook_booking.booking IS 'the source''s id';
COMMENT ON COLUMN booking.webhook_booking.tenant IS 'owner of the source';
COMMENT ON COLUMN booking.webhook_booking.state IS 'live; moving: canceled by a reschedule whose other half is awaited; ended, for ever';
COMMENT ON COLUMN booking.webhook_booking.intent IS 'intent that stands for it: the id, with # and the generation when altered';
COMMENT ON COLUMN booking.webhook_booking.resource IS 'resource it was mapped to';
COMMENT ON COLUMN booking.webhook_booking.successor IS 'booking that it was rescheduled to';
COMMENT ON COLUMN booking.webhook_booking.during IS 'interval in [) form';

SELECT pg_catalog.pg_extension_config_dump('booking.webhook_source', '');
SELECT pg_catalog.pg_extension_config_dump('booking.webhook_secret',
	'WHERE pg_catalog.current_setting(''booking.dump_secrets'', true) = ''on''');
SELECT pg_catalog.pg_extension_config_dump('booking.webhook_map', '');
SELECT pg_catalog.pg_extension_config_dump('booking.webhook_count', '');
SELECT pg_catalog.pg_extension_config_dump('booking.inbox', '');
SELECT pg_catalog.pg_extension_config_dump('booking.inbox_delivery_seq', '');
SELECT pg_catalog.pg_extension_config_dump('booking.webhook_booking', '');

CREATE FUNCTION booking.guard_inbox()
RETURNS trigger
AS 'MODULE_PATHNAME', 'booking_guard_inbox_row' LANGUAGE C
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION booking.guard_inbox() IS 'keeps what a delivery said';
REVOKE ALL ON FUNCTION booking.guard_inbox() FROM PUBLIC;

CREATE FUNCTION booking.guard_webhook_booking()
RETURNS trigger
AS 'MODULE_PATHNAME', 'booking_guard_webhook_booking_row' LANGUAGE C
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION booking.guard_webhook_booking() IS 'keeps a booking that has ended at its source from coming back';
REVOKE ALL ON FUNCTION booking.guard_webhook_booking() FROM PUBLIC;

CREATE TRIGGER guard
	BEFORE UPDATE ON booking.inbox
	FOR EACH ROW EXECUTE FUNCTION booking.guard_inbox();
ALTER TABLE booking.inbox ENABLE ALWAYS TRIGGER guard;

CREATE TRIGGER guard
	BEFORE UPDATE ON booking.webhook_booking
	FOR EACH ROW EXECUTE FUNCTION booking.guard_webhook_booking();
ALTER TABLE booking.webhook_booking ENABLE ALWAYS TRIGGER guard;

CREATE FUNCTION @extschema@.booking_webhook_source_put(
	tenant text, source text, kind text DEFAULT NULL, settings jsonb DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_webhook_source_put'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_webhook_source_put(text, text, text, jsonb) IS
	'create or change who may send deliveries';

CREATE FUNCTION @extschema@.booking_webhook_source_remove(source text)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_webhook_source_remove'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_webhook_source_remove(text) IS
	'refuse what a source sends from now on; its secrets and mappings go, its deliveries stay';

CREATE FUNCTION @extschema@.booking_webhook_secret_put(source text, secret text)
RETURNS integer
AS 'MODULE_PATHNAME', 'booking_webhook_secret_put'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_webhook_secret_put(text, text) IS
	'add a secret that deliveries may be signed with, and return its number';

CREATE FUNCTION @extschema@.booking_webhook_secret_add(source text, secret text)
RETURNS integer
AS 'MODULE_PATHNAME', 'booking_webhook_secret_put'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_webhook_secret_add(text, text) IS
	'another name of booking_webhook_secret_put';

CREATE FUNCTION @extschema@.booking_webhook_secret_retire(source text, secret text)
RETURNS integer
AS 'MODULE_PATHNAME', 'booking_webhook_secret_retire'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_webhook_secret_retire(text, text) IS
	'let a secret verify nothing any more, and return how many are left';

CREATE FUNCTION @extschema@.booking_webhook_secret_retire_number(
	source text, number integer)
RETURNS integer
AS 'MODULE_PATHNAME', 'booking_webhook_secret_retire_number'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_webhook_secret_retire_number(text, integer) IS
	'the same, by the number of the secret';

CREATE FUNCTION @extschema@.booking_webhook_map(
	source text, remote_key text, resource text)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_webhook_map'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_webhook_map(text, text, text) IS
	'say which resource a source means, and permit it that one; NULL: none any more';

CREATE FUNCTION @extschema@.booking_webhook_receive(
	source text, headers jsonb, body bytea, query text DEFAULT NULL,
	OUT status integer, OUT content_type text, OUT body text, OUT verdict text)
AS 'MODULE_PATHNAME', 'booking_webhook_receive'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;

CREATE FUNCTION @extschema@.booking_webhook_replay(
	source text, within tstzrange DEFAULT NULL,
	OUT deliveries bigint, OUT changed bigint, OUT failed bigint)
AS 'MODULE_PATHNAME', 'booking_webhook_replay'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;

CREATE FUNCTION @extschema@.booking_webhook_replay_list(
	source text, list bigint[],
	OUT deliveries bigint, OUT changed bigint, OUT failed bigint)
AS 'MODULE_PATHNAME', 'booking_webhook_replay_list'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_webhook_receive(text, jsonb, bytea, text) IS
	'verify, store and apply a delivery, and say what to answer';
COMMENT ON FUNCTION @extschema@.booking_webhook_replay(text, tstzrange) IS
	'apply what a source sent in a time again; changes only what comes out differently';
COMMENT ON FUNCTION @extschema@.booking_webhook_replay_list(text, bigint[]) IS
	'the same for deliveries named by their numbers';

REVOKE ALL ON FUNCTION @extschema@.booking_webhook_source_put(text, text, text, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_webhook_source_remove(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_webhook_secret_put(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_webhook_secret_add(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_webhook_secret_retire(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_webhook_secret_retire_number(text, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_webhook_map(text, text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_webhook_receive(text, jsonb, bytea, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_webhook_replay(text, tstzrange) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_webhook_replay_list(text, bigint[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.booking_webhook_reads(
	source text, max integer DEFAULT 100)
RETURNS TABLE (delivery bigint, booking text)
AS 'MODULE_PATHNAME', 'booking_webhook_reads'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_webhook_reads(text, integer) IS
	'bookings that are to be read at their source, the oldest first; what is told of them from now on is another reading';
REVOKE ALL ON FUNCTION @extschema@.booking_webhook_reads(text, integer) FROM PUBLIC;

CREATE FUNCTION @extschema@.booking_webhook_read_done(
	source text, delivery bigint, found jsonb)
RETURNS text
AS 'MODULE_PATHNAME', 'booking_webhook_read_done'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_webhook_read_done(text, bigint, jsonb) IS
	'apply what was read at the source, and return what became of it';
REVOKE ALL ON FUNCTION @extschema@.booking_webhook_read_done(text, bigint, jsonb) FROM PUBLIC;

/* ------------------------------------------------------------------------
 * Synchronization, unwatched: what waits for somebody to look
 * ------------------------------------------------------------------------ */

-- further columns, and rows of what waits for a calendar and of orphans
CREATE OR REPLACE VIEW booking.recovery AS
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
							 'SELECT booking_resolve(%L, %L, %L, %L, evidence)',
							 i.tenant, i.principal, i.intent, v.verdict)
							 FROM pg_catalog.unnest('{exists,absent,adopt,abandon}'::text[])
							   AS v (verdict))
				WHEN o.state OPERATOR(pg_catalog.=) 'waiting'
				THEN ARRAY[CASE WHEN u.problem IS NOT NULL
							 THEN pg_catalog.format(
							   'SELECT booking_credential_put(%L, %L, credential)',
							   a.tenant, a.account)
							 ELSE pg_catalog.format('SELECT booking_sync(%L, %L)',
							   o.tenant, o.calendar) END,
						   pg_catalog.format('SELECT booking_cancel(%L, %L, %L)',
							 i.tenant, i.principal, i.intent)]
				ELSE '{}'::text[] END AS calls
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
	   ('{unknown,reconciling,parked}'::text[])
	OR (o.state OPERATOR(pg_catalog.=) 'waiting'
		AND (o.problem OPERATOR(pg_catalog.=) 'calendar_unread'
			 OR u.problem IS NOT NULL))
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
					   'SELECT booking_claim(%L, principal, intent, %L, %L)',
					   k.tenant, c.resource, k.during)]
				ELSE '{}'::text[] END
	  FROM booking.conflict k
	  JOIN booking.calendar c
		ON c.calendar_id OPERATOR(pg_catalog.=) k.calendar_id
	  LEFT JOIN booking.intent i
		ON i.intent_id OPERATOR(pg_catalog.=) k.intent_id
	 WHERE k.kind OPERATOR(pg_catalog.=) 'orphan' AND k.resolved_at IS NULL
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
					   'SELECT booking_webhook_secret_put(%L, secret)', s.source)]
				WHEN s.problem OPERATOR(pg_catalog.=) 'unmapped'
				THEN ARRAY[pg_catalog.format(
					   'SELECT booking_webhook_map(%L, remote_key, resource)', s.source),
					 pg_catalog.format('SELECT * FROM booking_webhook_replay(%L)',
					   s.source)]
				ELSE ARRAY[pg_catalog.format(
					   'SELECT * FROM booking_webhook_replay(%L)', s.source)]
		   END
	  FROM booking.webhook_source s
	 WHERE s.failures OPERATOR(pg_catalog.>) 0 AND s.removed_at IS NULL;
COMMENT ON VIEW booking.recovery IS 'what is not settled at a provider, and sources of deliveries that fail: what is known, what was tried, what booking_resolve may say, and which calls go on';
COMMENT ON COLUMN booking.recovery.calls IS 'statements that are allowed next; what they leave open is for a person to fill in';

/* ------------------------------------------------------------------------
 * Sign-in: reads and writes are refused each by themselves
 * ------------------------------------------------------------------------ */

ALTER TABLE booking.token ADD COLUMN write_renewed boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN booking.token.renewed IS
	'got because a read with the one before was refused, and no read was accepted yet';
COMMENT ON COLUMN booking.token.write_renewed IS
	'got because a write with the one before was refused, and no write was accepted yet';

/* ------------------------------------------------------------------------
 * Attendees whose calendars are not synchronized
 * ------------------------------------------------------------------------ */

ALTER TABLE booking.operation ADD COLUMN told_busy bigint[];
COMMENT ON COLUMN booking.operation.told_busy IS
	'digests of the busy times of attendees that it was given up for: no news to a later version';

/* ------------------------------------------------------------------------
 * Conferences
 * ------------------------------------------------------------------------ */

CREATE TABLE booking.conference (
	operation_id	bigint NOT NULL,
	next_at			timestamptz NOT NULL,
	changed_at		timestamptz NOT NULL,
	tries			integer NOT NULL,
	state			text COLLATE "C" NOT NULL,
	link			text,
	problem			text,
	CONSTRAINT conference_pkey PRIMARY KEY (operation_id),
	CONSTRAINT conference_state_check CHECK (state IN ('pending', 'made', 'failed')),
	CONSTRAINT conference_link_check CHECK ((state = 'made') = (link IS NOT NULL))
);
CREATE INDEX conference_due_idx ON booking.conference (next_at) WHERE state = 'pending';
COMMENT ON TABLE booking.conference IS 'one row an event that was to have a conference';
COMMENT ON COLUMN booking.conference.operation_id IS 'operation that asked for it';
COMMENT ON COLUMN booking.conference.next_at IS 'when the provider is asked again, while it is pending';
COMMENT ON COLUMN booking.conference.changed_at IS 'when the row last changed';
COMMENT ON COLUMN booking.conference.tries IS 'questions so far';
COMMENT ON COLUMN booking.conference.state IS 'pending, made or failed; the booking stands whatever it is';
COMMENT ON COLUMN booking.conference.link IS 'where to take part';
COMMENT ON COLUMN booking.conference.problem IS 'why it is not made';

SELECT pg_catalog.pg_extension_config_dump('booking.conference', '');

/* ------------------------------------------------------------------------
 * Channels by which providers tell that a calendar has changed
 * ------------------------------------------------------------------------ */

CREATE SEQUENCE booking.channel_id_seq;
CREATE TABLE booking.channel (
	channel_id	bigint NOT NULL DEFAULT pg_catalog.nextval('booking.channel_id_seq'),
	calendar_id	bigint NOT NULL,
	refused		bigint NOT NULL DEFAULT 0,
	next_at		timestamptz NOT NULL,
	renew_at	timestamptz,
	ends_at		timestamptz,
	changed_at	timestamptz NOT NULL,
	tries		integer NOT NULL DEFAULT 0,
	sealed		boolean NOT NULL DEFAULT false,
	tenant		text COLLATE "C" NOT NULL,
	account		text COLLATE "C" NOT NULL,
	state		text COLLATE "C" NOT NULL,
	push_url	text NOT NULL,
	channel		text COLLATE "C",
	remote		text,
	secret		bytea,
	problem		text,
	CONSTRAINT channel_pkey PRIMARY KEY (channel_id),
	CONSTRAINT channel_state_check CHECK (state IN ('opening', 'open', 'closing'))
);
ALTER SEQUENCE booking.channel_id_seq OWNED BY booking.channel.channel_id;
CREATE UNIQUE INDEX channel_channel_idx ON booking.channel (channel);
CREATE INDEX channel_calendar_idx ON booking.channel (calendar_id);
COMMENT ON TABLE booking.channel IS 'channels of calendars; write-only, and never dumped: another database has its own';
COMMENT ON COLUMN booking.channel.channel_id IS 'order in which they were wished';
COMMENT ON COLUMN booking.channel.calendar_id IS 'calendar whose changes are told';
COMMENT ON COLUMN booking.channel.refused IS 'deliveries to it that were not from the provider';
COMMENT ON COLUMN booking.channel.next_at IS 'when something is to be done about it';
COMMENT ON COLUMN booking.channel.renew_at IS 'when it is renewed, or the next one opened';
COMMENT ON COLUMN booking.channel.ends_at IS 'when it ends, by the provider';
COMMENT ON COLUMN booking.channel.changed_at IS 'when the row last changed';
COMMENT ON COLUMN booking.channel.tries IS 'tries that failed since the last one that did not';
COMMENT ON COLUMN booking.channel.sealed IS 'the secret is encrypted with the key of booking.secret_key_file';
COMMENT ON COLUMN booking.channel.tenant IS 'tenant of the account';
COMMENT ON COLUMN booking.channel.account IS 'account that it was opened through';
COMMENT ON COLUMN booking.channel.state IS 'opening, open or closing';
COMMENT ON COLUMN booking.channel.push_url IS 'booking.push_url when it was wished';
COMMENT ON COLUMN booking.channel.channel IS 'our name for it, the last part of the URL that is told to the provider';
COMMENT ON COLUMN booking.channel.remote IS 'the provider''s name for it';
COMMENT ON COLUMN booking.channel.secret IS 'what comes with every delivery, sealed or plain';
COMMENT ON COLUMN booking.channel.problem IS 'why the last try failed';

SELECT pg_catalog.pg_extension_config_dump('booking.channel', 'WHERE false');
SELECT pg_catalog.pg_extension_config_dump('booking.channel_id_seq', '');
