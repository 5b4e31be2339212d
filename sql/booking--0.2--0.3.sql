/* booking/sql/booking--0.2--0.3.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION booking UPDATE TO '0.3'" to load this file. \quit

/* ------------------------------------------------------------------------
 * Operations: what follows on one, asked by every reschedule and cancel
 * ------------------------------------------------------------------------ */

CREATE INDEX operation_previous_idx ON booking.operation (previous_id)
	WHERE previous_id IS NOT NULL;

/* ------------------------------------------------------------------------
 * Synchronization: what providers say
 * ------------------------------------------------------------------------ */

CREATE SEQUENCE booking.calendar_id_seq;
ALTER TABLE booking.calendar ADD COLUMN calendar_id bigint NOT NULL
	DEFAULT pg_catalog.nextval('booking.calendar_id_seq');
ALTER TABLE booking.calendar ADD CONSTRAINT calendar_id_key UNIQUE (calendar_id);
ALTER SEQUENCE booking.calendar_id_seq OWNED BY booking.calendar.calendar_id;
COMMENT ON COLUMN booking.calendar.calendar_id IS 'internal number';

/* ------------------------------------------------------------------------
 * Busy time
 * ------------------------------------------------------------------------ */

-- the calendars of a resource, and those of an attendee
CREATE INDEX calendar_resource_idx ON booking.calendar (tenant, resource)
	WHERE resource IS NOT NULL;
CREATE INDEX calendar_address_idx ON booking.calendar
	(tenant, pg_catalog.lower(address)) WHERE address IS NOT NULL;

-- what a calendar says of an attendee's time when a booking is decided
ALTER TABLE booking.operation ADD COLUMN known_events bigint[];
COMMENT ON COLUMN booking.operation.known_events IS 'digests of attendees'' events that overlapped when it was wanted: they are no news';

-- backends remember which calendars a resource has, and how they count
CREATE TRIGGER guard
	BEFORE INSERT OR UPDATE OR DELETE ON booking.calendar
	FOR EACH ROW EXECUTE FUNCTION booking.guard_cached();
ALTER TABLE booking.calendar ENABLE ALWAYS TRIGGER guard;

CREATE TRIGGER guard_truncate
	BEFORE TRUNCATE ON booking.calendar
	FOR EACH STATEMENT EXECUTE FUNCTION booking.guard_cached();
ALTER TABLE booking.calendar ENABLE ALWAYS TRIGGER guard_truncate;

CREATE TRIGGER guard
	BEFORE UPDATE OF settings ON booking.account
	FOR EACH ROW EXECUTE FUNCTION booking.guard_cached();
ALTER TABLE booking.account ENABLE ALWAYS TRIGGER guard;

/* ------------------------------------------------------------------------
 * Synchronization: tables
 * ------------------------------------------------------------------------ */

CREATE TABLE booking.cursor (
	calendar_id		bigint NOT NULL,
	watermark		bigint NOT NULL DEFAULT 0,
	round			bigint NOT NULL DEFAULT 0,
	failures		integer NOT NULL DEFAULT 0,
	parked			boolean NOT NULL DEFAULT false,
	full_pass		boolean NOT NULL DEFAULT true,
	token			text,
	page			text,
	full_reason		text,
	problem			text,
	started_at		timestamptz,
	finished_at		timestamptz,
	full_at			timestamptz,
	failed_at		timestamptz,
	next_at			timestamptz NOT NULL,
	within			tstzrange,
	CONSTRAINT cursor_pkey PRIMARY KEY (calendar_id)
);
CREATE INDEX cursor_due_idx ON booking.cursor (next_at) WHERE NOT parked;
COMMENT ON TABLE booking.cursor IS 'one row a calendar that is synchronized: how far, since when, and what went wrong';
COMMENT ON COLUMN booking.cursor.calendar_id IS 'calendar';
COMMENT ON COLUMN booking.cursor.watermark IS 'number of rounds finished; a proposal''s snapshot names it';
COMMENT ON COLUMN booking.cursor.round IS 'number of the round in progress, or of the last one';
COMMENT ON COLUMN booking.cursor.failures IS 'rounds that failed since the last one that did not';
COMMENT ON COLUMN booking.cursor.parked IS 'waits for a person, see problem';
COMMENT ON COLUMN booking.cursor.full_pass IS 'the round in progress, or the next one, lists everything';
COMMENT ON COLUMN booking.cursor.token IS 'the provider''s token of the last finished round';
COMMENT ON COLUMN booking.cursor.page IS 'where the round in progress goes on';
COMMENT ON COLUMN booking.cursor.full_reason IS 'why the last full pass was made';
COMMENT ON COLUMN booking.cursor.problem IS 'what went wrong last';
COMMENT ON COLUMN booking.cursor.started_at IS 'start of the round in progress; NULL: none is';
COMMENT ON COLUMN booking.cursor.finished_at IS 'end of the last finished round';
COMMENT ON COLUMN booking.cursor.full_at IS 'end of the last full pass';
COMMENT ON COLUMN booking.cursor.failed_at IS 'when a round failed last';
COMMENT ON COLUMN booking.cursor.next_at IS 'when the next round is due';
COMMENT ON COLUMN booking.cursor.within IS 'window inside which recurrences are expanded and busy time is known';

-- a row of its own, so that who asks never waits for the worker or another
CREATE SEQUENCE booking.sync_request_id_seq;
CREATE TABLE booking.sync_request (
	request_id	bigint NOT NULL DEFAULT pg_catalog.nextval('booking.sync_request_id_seq'),
	calendar_id	bigint NOT NULL,
	round		bigint,
	asked_at	timestamptz NOT NULL,
	CONSTRAINT sync_request_pkey PRIMARY KEY (request_id)
);
CREATE INDEX sync_request_calendar_idx ON booking.sync_request (calendar_id);
ALTER SEQUENCE booking.sync_request_id_seq OWNED BY booking.sync_request.request_id;
COMMENT ON TABLE booking.sync_request IS 'rounds that were asked for; gone when a round that began later has finished';
COMMENT ON COLUMN booking.sync_request.request_id IS 'number of the request';
COMMENT ON COLUMN booking.sync_request.calendar_id IS 'calendar';
COMMENT ON COLUMN booking.sync_request.round IS 'round that covers it; NULL: none has begun since';
COMMENT ON COLUMN booking.sync_request.asked_at IS 'when it was asked for';

-- whose event is it?
CREATE INDEX operation_event_idx ON booking.operation (event_id);

ALTER TABLE booking.operation ADD COLUMN round bigint NOT NULL DEFAULT 0;
ALTER TABLE booking.operation ADD COLUMN moved_to tstzrange;
COMMENT ON COLUMN booking.operation.round IS 'number of the calendar''s round when the outcome was recorded: a later one knows of it';
COMMENT ON COLUMN booking.operation.moved_to IS 'time to which others moved the event since, and the reservation followed';

CREATE SEQUENCE booking.event_row_id_seq;
CREATE TABLE booking.event (
	row_id			bigint NOT NULL DEFAULT pg_catalog.nextval('booking.event_row_id_seq'),
	calendar_id		bigint NOT NULL,
	seen_round		bigint NOT NULL,
	intent_id		bigint,
	object			text COLLATE "C" NOT NULL,
	occurrence		timestamptz NOT NULL DEFAULT '-infinity',
	during			tstzrange,
	busy			boolean NOT NULL,
	all_day			boolean NOT NULL DEFAULT false,
	recurring		boolean NOT NULL DEFAULT false,
	status			text COLLATE "C" NOT NULL,
	transparency	text COLLATE "C" NOT NULL,
	sequence		integer NOT NULL DEFAULT 0,
	uid				text COLLATE "C",
	marker			text COLLATE "C",
	etag			text,
	zone			text,
	organizer		text,
	attendees		jsonb,
	problem			text,
	CONSTRAINT event_pkey PRIMARY KEY (row_id),
	CONSTRAINT event_identity_key UNIQUE (calendar_id, object, occurrence),
	CONSTRAINT event_status_check CHECK
		(status IN ('confirmed', 'tentative', 'canceled', 'unknown')),
	CONSTRAINT event_transparency_check CHECK (transparency IN ('opaque', 'transparent'))
);
-- an expression, so that no plan mistakes another index for this one
CREATE INDEX event_busy_idx ON booking.event
	USING gist ((calendar_id OPERATOR(pg_catalog.+) 0), during)
	WHERE busy;
CREATE INDEX event_marker_idx ON booking.event (marker) WHERE marker IS NOT NULL;
CREATE INDEX event_intent_idx ON booking.event (intent_id) WHERE intent_id IS NOT NULL;
-- what may be ours, by the round that saw it
CREATE INDEX event_own_idx ON booking.event (calendar_id, seen_round)
	WHERE intent_id IS NOT NULL OR marker IS NOT NULL;
ALTER SEQUENCE booking.event_row_id_seq OWNED BY booking.event.row_id;
COMMENT ON TABLE booking.event IS 'projection of the providers'' calendars: one row an occurrence inside the cursor''s window';
COMMENT ON COLUMN booking.event.row_id IS 'internal number';
COMMENT ON COLUMN booking.event.calendar_id IS 'calendar';
COMMENT ON COLUMN booking.event.seen_round IS 'round that last saw the object; below 0, for events of ours: it is said to be gone (-1), or is to be looked at again (-2)';
COMMENT ON COLUMN booking.event.intent_id IS 'intent whose event this is; NULL: somebody else''s';
COMMENT ON COLUMN booking.event.object IS 'the provider''s identity of the object: CalDAV href, event id';
COMMENT ON COLUMN booking.event.occurrence IS 'original start of an occurrence of a series; -infinity for a single event';
COMMENT ON COLUMN booking.event.during IS 'time in [) form; NULL if it could not be read (see problem), or none of a series lies in the window';
COMMENT ON COLUMN booking.event.busy IS 'blocks the calendar''s resource: neither canceled nor transparent';
COMMENT ON COLUMN booking.event.all_day IS 'local midnight to midnight of the calendar''s zone';
COMMENT ON COLUMN booking.event.recurring IS 'of a series, which is expanded anew when the window moves';
COMMENT ON COLUMN booking.event.status IS 'the provider''s status';
COMMENT ON COLUMN booking.event.transparency IS 'opaque blocks time';
COMMENT ON COLUMN booking.event.sequence IS 'the organizer''s revision number';
COMMENT ON COLUMN booking.event.uid IS 'iCalendar UID';
COMMENT ON COLUMN booking.event.marker IS 'our opaque event id, if the event carries one';
COMMENT ON COLUMN booking.event.etag IS 'version tag of the object; NULL: to be fetched again';
COMMENT ON COLUMN booking.event.zone IS 'time zone the start was written in';
COMMENT ON COLUMN booking.event.organizer IS 'organizer''s address';
COMMENT ON COLUMN booking.event.attendees IS 'array of attendees: email, status, optional';
COMMENT ON COLUMN booking.event.problem IS 'why the object could not be read in full';

CREATE SEQUENCE booking.conflict_id_seq;
CREATE TABLE booking.conflict (
	conflict_id	bigint NOT NULL DEFAULT pg_catalog.nextval('booking.conflict_id_seq'),
	found_at	timestamptz NOT NULL,
	resolved_at	timestamptz,
	intent_id	bigint,
	calendar_id	bigint,
	kind		text COLLATE "C" NOT NULL,
	tenant		text COLLATE "C" NOT NULL,
	object		text COLLATE "C",
	during		tstzrange,
	detail		jsonb,
	CONSTRAINT conflict_pkey PRIMARY KEY (conflict_id)
);
CREATE UNIQUE INDEX conflict_open_idx ON booking.conflict
	(kind, intent_id, calendar_id, object) NULLS NOT DISTINCT
	WHERE resolved_at IS NULL;
CREATE INDEX conflict_calendar_idx ON booking.conflict (calendar_id)
	WHERE resolved_at IS NULL;
ALTER SEQUENCE booking.conflict_id_seq OWNED BY booking.conflict.conflict_id;
COMMENT ON TABLE booking.conflict IS 'what a calendar and the ledger do not agree on; open until resolved_at is set';
COMMENT ON COLUMN booking.conflict.conflict_id IS 'internal number';
COMMENT ON COLUMN booking.conflict.found_at IS 'when it was found';
COMMENT ON COLUMN booking.conflict.resolved_at IS 'when it was seen to be over';
COMMENT ON COLUMN booking.conflict.intent_id IS 'intent concerned';
COMMENT ON COLUMN booking.conflict.calendar_id IS 'calendar concerned';
COMMENT ON COLUMN booking.conflict.kind IS 'overlap, moved, orphan or missing';
COMMENT ON COLUMN booking.conflict.tenant IS 'owner of the calendar';
COMMENT ON COLUMN booking.conflict.object IS 'the provider''s identity of the object';
COMMENT ON COLUMN booking.conflict.during IS 'time the calendar says';
COMMENT ON COLUMN booking.conflict.detail IS 'explanation, without titles';

SELECT pg_catalog.pg_extension_config_dump('booking.calendar_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('booking.cursor', '');
SELECT pg_catalog.pg_extension_config_dump('booking.sync_request', '');
SELECT pg_catalog.pg_extension_config_dump('booking.sync_request_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('booking.event', '');
SELECT pg_catalog.pg_extension_config_dump('booking.event_row_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('booking.conflict', '');
SELECT pg_catalog.pg_extension_config_dump('booking.conflict_id_seq', '');

/* ------------------------------------------------------------------------
 * Synchronization: functions
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.booking_sync(tenant text, calendar text)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_sync'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_sync(text, text) IS
	'ask the worker to read a calendar anew; it begins after the commit';

-- no SET clause: a procedure with one cannot commit, and this one must before
-- the worker can see the request; the C code pins search_path by itself
CREATE PROCEDURE @extschema@.booking_sync_wait(
	tenant text, calendar text, INOUT result jsonb DEFAULT NULL)
AS 'MODULE_PATHNAME', 'booking_sync_wait'
LANGUAGE C;
COMMENT ON PROCEDURE @extschema@.booking_sync_wait(text, text, jsonb) IS
	'ask the worker to read a calendar anew, and wait until it has';

REVOKE ALL ON FUNCTION @extschema@.booking_sync(text, text) FROM PUBLIC;
REVOKE ALL ON PROCEDURE @extschema@.booking_sync_wait(text, text, jsonb) FROM PUBLIC;

/* ------------------------------------------------------------------------
 * Downstream: the change feed
 *
 * A change is written in the transaction that makes it, without a position.
 * Positions are given by whoever reads, under a lock, to what has committed.
 * ------------------------------------------------------------------------ */

CREATE TABLE booking.feed (
	tenant			text COLLATE "C" NOT NULL,
	last_position	bigint NOT NULL DEFAULT 0,
	CONSTRAINT feed_pkey PRIMARY KEY (tenant),
	CONSTRAINT feed_position_check CHECK (last_position >= 0)
);
COMMENT ON TABLE booking.feed IS 'one row a tenant that ever had a consumer: how far its changes are numbered';
COMMENT ON COLUMN booking.feed.tenant IS 'whose changes they are';
COMMENT ON COLUMN booking.feed.last_position IS 'position given last; it never falls';

CREATE TABLE booking.consumer (
	tenant		text COLLATE "C" NOT NULL,
	name		text COLLATE "C" NOT NULL,
	created_at	timestamptz NOT NULL,
	started		boolean NOT NULL DEFAULT false,
	delivered	bigint NOT NULL,
	acked		bigint NOT NULL,
	CONSTRAINT consumer_pkey PRIMARY KEY (tenant, name),
	CONSTRAINT consumer_position_check CHECK (acked >= 0 AND delivered >= acked)
);
COMMENT ON TABLE booking.consumer IS 'who reads the changes of a tenant, and how far; without one no change is written';
COMMENT ON COLUMN booking.consumer.tenant IS 'whose changes are read';
COMMENT ON COLUMN booking.consumer.name IS 'name within the tenant';
COMMENT ON COLUMN booking.consumer.created_at IS 'when it was put';
COMMENT ON COLUMN booking.consumer.started IS 'it has read since it was put: every change that commits from then on is in the feed';
COMMENT ON COLUMN booking.consumer.delivered IS 'last position it was given';
COMMENT ON COLUMN booking.consumer.acked IS 'last position it is done with; reading goes on behind it';

CREATE SEQUENCE booking.change_id_seq;
CREATE TABLE booking.change (
	change_id	bigint NOT NULL DEFAULT pg_catalog.nextval('booking.change_id_seq'),
	"position"	bigint,
	at			timestamptz NOT NULL,
	intent_id	bigint NOT NULL,
	revision	integer NOT NULL,
	version		integer NOT NULL,
	units		integer,
	tenant		text COLLATE "C" NOT NULL,
	principal	text COLLATE "C" NOT NULL,
	intent		text COLLATE "C" NOT NULL,
	kind		text COLLATE "C" NOT NULL,
	disposition	text COLLATE "C" NOT NULL,
	state		text COLLATE "C" NOT NULL,
	remote		text COLLATE "C" NOT NULL,
	event		text COLLATE "C" NOT NULL,
	resources	text[] COLLATE "C",
	during		tstzrange,
	detail		jsonb NOT NULL,
	CONSTRAINT change_pkey PRIMARY KEY (change_id),
	CONSTRAINT change_kind_check CHECK
		(kind IN ('recorded', 'proposed', 'changed', 'moved')),
	CONSTRAINT change_position_check CHECK ("position" >= 1)
);
-- two halves: what waits for a position is found in the order of writing
CREATE UNIQUE INDEX change_position_idx ON booking.change (tenant, "position")
	WHERE "position" IS NOT NULL;
CREATE INDEX change_pending_idx ON booking.change (tenant, change_id)
	WHERE "position" IS NULL;
ALTER SEQUENCE booking.change_id_seq OWNED BY booking.change.change_id;
COMMENT ON TABLE booking.change IS 'feed of what happened to intents, for tenants with a consumer; kept until all of them have acknowledged it';
COMMENT ON COLUMN booking.change.change_id IS 'order of writing; within an intent that of its revisions';
COMMENT ON COLUMN booking.change."position" IS 'place in the tenant''s feed, from 1 without gaps; NULL until a reader after the commit gives it';
COMMENT ON COLUMN booking.change.at IS 'when it was made; order by position, not by this';
COMMENT ON COLUMN booking.change.intent_id IS 'intent that changed';
COMMENT ON COLUMN booking.change.revision IS 'revision of the intent that this change made';
COMMENT ON COLUMN booking.change.version IS 'number of the payload then; 0 for a tombstone known by identity alone';
COMMENT ON COLUMN booking.change.units IS 'units of each resource';
COMMENT ON COLUMN booking.change.tenant IS 'owner of the resources';
COMMENT ON COLUMN booking.change.principal IS 'whose intent it is';
COMMENT ON COLUMN booking.change.intent IS 'identity of the intent';
COMMENT ON COLUMN booking.change.kind IS 'recorded (first), proposed (another payload), changed, or moved (by the calendar)';
COMMENT ON COLUMN booking.change.disposition IS 'what was decided';
COMMENT ON COLUMN booking.change.state IS 'where the intent was after it';
COMMENT ON COLUMN booking.change.remote IS 'what was known of the newest provider operation';
COMMENT ON COLUMN booking.change.event IS 'what was known of the provider''s event';
COMMENT ON COLUMN booking.change.resources IS 'names of the resources';
COMMENT ON COLUMN booking.change.during IS 'interval in [) form, without buffers; where the calendar moved the booking, that one';
COMMENT ON COLUMN booking.change.detail IS 'reason, slot, supersedes, successor where there is one; no terms, no evidence, no free text';

/* ------------------------------------------------------------------------
 * Downstream: reminders
 * ------------------------------------------------------------------------ */

CREATE SEQUENCE booking.task_id_seq;
CREATE TABLE booking.task (
	task_id			bigint NOT NULL DEFAULT pg_catalog.nextval('booking.task_id_seq'),
	intent_id		bigint NOT NULL,
	lease			bigint NOT NULL DEFAULT 0,
	created_at		timestamptz NOT NULL,
	start_at		timestamptz NOT NULL,
	due_at			timestamptz NOT NULL,
	leased_until	timestamptz,
	done_at			timestamptz,
	tries			integer NOT NULL DEFAULT 0,
	before			interval NOT NULL,
	tenant			text COLLATE "C" NOT NULL,
	task			text COLLATE "C" NOT NULL,
	state			text COLLATE "C" NOT NULL,
	payload			jsonb NOT NULL,
	CONSTRAINT task_pkey PRIMARY KEY (task_id),
	CONSTRAINT task_name_key UNIQUE (intent_id, task),
	CONSTRAINT task_state_check CHECK (state IN ('waiting', 'idle', 'done', 'dropped')),
	CONSTRAINT task_before_check CHECK
		(before BETWEEN '0' AND '8784 hours'
		 AND pg_catalog.date_part('day', before) = 0
		 AND pg_catalog.date_part('month', before) = 0),
	CONSTRAINT task_done_check CHECK ((done_at IS NOT NULL) = (state = 'done'))
);
CREATE INDEX task_due_idx ON booking.task (tenant, due_at, task_id)
	WHERE state = 'waiting';
CREATE INDEX task_tenant_idx ON booking.task (tenant);
ALTER SEQUENCE booking.task_id_seq OWNED BY booking.task.task_id;
COMMENT ON TABLE booking.task IS 'reminders: what is due some time before a booking starts';
COMMENT ON COLUMN booking.task.task_id IS 'internal number';
COMMENT ON COLUMN booking.task.intent_id IS 'booking it belongs to; a reschedule hands it to the successor';
COMMENT ON COLUMN booking.task.lease IS 'random number of the newest lease, 0 without one; what is done under another does not count';
COMMENT ON COLUMN booking.task.created_at IS 'when it was first put';
COMMENT ON COLUMN booking.task.start_at IS 'start of the booking, as last known';
COMMENT ON COLUMN booking.task.due_at IS 'start_at less before';
COMMENT ON COLUMN booking.task.leased_until IS 'whoever took it has it until then; NULL: nobody has';
COMMENT ON COLUMN booking.task.done_at IS 'when it was reported done';
COMMENT ON COLUMN booking.task.tries IS 'times it was taken';
COMMENT ON COLUMN booking.task.before IS 'how long before the start it is due, of fixed length';
COMMENT ON COLUMN booking.task.tenant IS 'owner of the booking';
COMMENT ON COLUMN booking.task.task IS 'name within the intent';
COMMENT ON COLUMN booking.task.state IS 'waiting: is or will be due; idle: the intent is not booked now; done; dropped: the booking is canceled';
COMMENT ON COLUMN booking.task.payload IS 'what the caller wants to get back with it';

SELECT pg_catalog.pg_extension_config_dump('booking.feed', '');
SELECT pg_catalog.pg_extension_config_dump('booking.consumer', '');
SELECT pg_catalog.pg_extension_config_dump('booking.change', '');
SELECT pg_catalog.pg_extension_config_dump('booking.change_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('booking.task', '');
SELECT pg_catalog.pg_extension_config_dump('booking.task_id_seq', '');

/* ------------------------------------------------------------------------
 * Downstream: functions and guards
 * ------------------------------------------------------------------------ */

CREATE TYPE @extschema@.booking_change AS (
	"position"	bigint,
	at			timestamptz,
	tenant		text,
	principal	text,
	intent		text,
	kind		text,
	disposition	text,
	state		text,
	remote		text,
	event		text,
	version		integer,
	revision	integer,
	resources	text[],
	during		tstzrange,
	units		integer,
	detail		jsonb
);
COMMENT ON TYPE @extschema@.booking_change IS 'one change of an intent, as consumers read it';
COMMENT ON COLUMN @extschema@.booking_change."position" IS 'place in the tenant''s feed, from 1 without gaps';
COMMENT ON COLUMN @extschema@.booking_change.at IS 'when it was made; order by position, not by this';
COMMENT ON COLUMN @extschema@.booking_change.tenant IS 'owner of the resources';
COMMENT ON COLUMN @extschema@.booking_change.principal IS 'whose intent it is';
COMMENT ON COLUMN @extschema@.booking_change.intent IS 'identity of the intent';
COMMENT ON COLUMN @extschema@.booking_change.kind IS 'recorded (first), proposed (another payload), changed, or moved (by the calendar)';
COMMENT ON COLUMN @extschema@.booking_change.disposition IS 'what was decided';
COMMENT ON COLUMN @extschema@.booking_change.state IS 'where the intent was after it';
COMMENT ON COLUMN @extschema@.booking_change.remote IS 'what was known of the newest provider operation';
COMMENT ON COLUMN @extschema@.booking_change.event IS 'what was known of the provider''s event';
COMMENT ON COLUMN @extschema@.booking_change.version IS 'number of the payload then; 0 for a tombstone known by identity alone';
COMMENT ON COLUMN @extschema@.booking_change.revision IS 'revision of the intent that this change made; with tenant, principal and intent it names the change for ever';
COMMENT ON COLUMN @extschema@.booking_change.resources IS 'names of the resources';
COMMENT ON COLUMN @extschema@.booking_change.during IS 'interval in [) form, without buffers; where the calendar moved the booking, that one';
COMMENT ON COLUMN @extschema@.booking_change.units IS 'units of each resource';
COMMENT ON COLUMN @extschema@.booking_change.detail IS 'reason, slot, supersedes, successor where there is one';

CREATE TYPE @extschema@.booking_task AS (
	tenant			text,
	principal		text,
	intent			text,
	task			text,
	lease			bigint,
	due_at			timestamptz,
	leased_until	timestamptz,
	start_at		timestamptz,
	tries			integer,
	payload			jsonb
);
COMMENT ON TYPE @extschema@.booking_task IS 'a reminder that was taken';
COMMENT ON COLUMN @extschema@.booking_task.tenant IS 'owner of the booking';
COMMENT ON COLUMN @extschema@.booking_task.principal IS 'whose booking it is';
COMMENT ON COLUMN @extschema@.booking_task.intent IS 'identity of the booking';
COMMENT ON COLUMN @extschema@.booking_task.task IS 'name within the intent';
COMMENT ON COLUMN @extschema@.booking_task.lease IS 'number of the lease, to give to booking_task_done';
COMMENT ON COLUMN @extschema@.booking_task.due_at IS 'when it was due';
COMMENT ON COLUMN @extschema@.booking_task.leased_until IS 'when others may take it';
COMMENT ON COLUMN @extschema@.booking_task.start_at IS 'start of the booking';
COMMENT ON COLUMN @extschema@.booking_task.tries IS 'times it was taken, this one included';
COMMENT ON COLUMN @extschema@.booking_task.payload IS 'as put';

CREATE FUNCTION @extschema@.booking_consumer_put(tenant text, name text)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_consumer_put'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_consumer_put(text, text) IS
	'create a reader of a tenant''s changes; changes are written from then on';

CREATE FUNCTION @extschema@.booking_consumer_remove(tenant text, name text)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_consumer_remove'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_consumer_remove(text, text) IS
	'remove a reader of a tenant''s changes; with the last one the changes go too';

CREATE FUNCTION @extschema@.booking_changes(
	tenant text, name text, max integer DEFAULT 100)
RETURNS SETOF @extschema@.booking_change
AS 'MODULE_PATHNAME', 'booking_changes'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_changes(text, text, integer) IS
	'the changes behind the last acknowledged one, in order';

CREATE FUNCTION @extschema@.booking_consumer_ack(
	tenant text, name text, "position" bigint)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_consumer_ack'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_consumer_ack(text, text, bigint) IS
	'be done with the changes up to a position that was delivered';

CREATE FUNCTION @extschema@.booking_task_put(
	tenant text, principal text, intent text, task text, before interval,
	payload jsonb DEFAULT '{}')
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'booking_task_put'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_task_put(text, text, text, text, interval, jsonb) IS
	'create or change a reminder of an intent, and return when it is due; NULL: never, the intent has ended';

CREATE FUNCTION @extschema@.booking_task_take(
	tenant text, max integer, lease interval)
RETURNS SETOF @extschema@.booking_task
AS 'MODULE_PATHNAME', 'booking_task_take'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_task_take(text, integer, interval) IS
	'take reminders that are due, for as long as the lease';

CREATE FUNCTION @extschema@.booking_task_done(
	tenant text, principal text, intent text, task text, lease bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'booking_task_done'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_task_done(text, text, text, text, bigint) IS
	'report a reminder done under a lease; false if the lease was lost, and with it the right to say so';

REVOKE ALL ON FUNCTION @extschema@.booking_consumer_put(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_consumer_remove(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_changes(text, text, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_consumer_ack(text, text, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_task_put(text, text, text, text, interval, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_task_take(text, integer, interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_task_done(text, text, text, text, bigint) FROM PUBLIC;

CREATE FUNCTION booking.guard_change()
RETURNS trigger
AS 'MODULE_PATHNAME', 'booking_guard_change_row' LANGUAGE C
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION booking.guard_change() IS 'keeps what a change says, and its position once it has one';
REVOKE ALL ON FUNCTION booking.guard_change() FROM PUBLIC;

CREATE FUNCTION booking.guard_feed()
RETURNS trigger
AS 'MODULE_PATHNAME', 'booking_guard_feed_row' LANGUAGE C
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION booking.guard_feed() IS 'keeps positions from being given twice';
REVOKE ALL ON FUNCTION booking.guard_feed() FROM PUBLIC;

CREATE TRIGGER guard
	BEFORE UPDATE ON booking.change
	FOR EACH ROW EXECUTE FUNCTION booking.guard_change();
ALTER TABLE booking.change ENABLE ALWAYS TRIGGER guard;

CREATE TRIGGER guard_truncate
	BEFORE TRUNCATE ON booking.change
	FOR EACH STATEMENT EXECUTE FUNCTION booking.guard_append_only();
ALTER TABLE booking.change ENABLE ALWAYS TRIGGER guard_truncate;

CREATE TRIGGER guard
	BEFORE UPDATE OR DELETE ON booking.feed
	FOR EACH ROW EXECUTE FUNCTION booking.guard_feed();
ALTER TABLE booking.feed ENABLE ALWAYS TRIGGER guard;

CREATE TRIGGER guard_truncate
	BEFORE TRUNCATE ON booking.feed
	FOR EACH STATEMENT EXECUTE FUNCTION booking.guard_append_only();
ALTER TABLE booking.feed ENABLE ALWAYS TRIGGER guard_truncate;

-- not on an update of positions, which changes nothing that is remembered
CREATE TRIGGER guard
	BEFORE INSERT OR DELETE OR UPDATE OF tenant, name ON booking.consumer
	FOR EACH ROW EXECUTE FUNCTION booking.guard_cached();
ALTER TABLE booking.consumer ENABLE ALWAYS TRIGGER guard;

CREATE TRIGGER guard_truncate
	BEFORE TRUNCATE ON booking.consumer
	FOR EACH STATEMENT EXECUTE FUNCTION booking.guard_cached();
ALTER TABLE booking.consumer ENABLE ALWAYS TRIGGER guard_truncate;

/* ------------------------------------------------------------------------
 * Sign-in: access tokens
 * ------------------------------------------------------------------------ */

CREATE TABLE booking.token (
	serial		bigint NOT NULL DEFAULT 1,
	renew_at	timestamptz NOT NULL,
	granted_at	timestamptz,
	failed_at	timestamptz,
	failures	integer NOT NULL DEFAULT 0,
	sealed		boolean NOT NULL,
	renewed		boolean NOT NULL DEFAULT false,
	tenant		text COLLATE "C" NOT NULL,
	account		text COLLATE "C" NOT NULL,
	secret		bytea,
	problem		text,
	CONSTRAINT token_pkey PRIMARY KEY (tenant, account)
);
COMMENT ON TABLE booking.token IS 'access tokens of accounts that sign in for one; write-only, and dumped only under booking.dump_secrets';
COMMENT ON COLUMN booking.token.serial IS 'grows with every token of the account';
COMMENT ON COLUMN booking.token.renew_at IS 'when the next one is got, somewhat before it ends';
COMMENT ON COLUMN booking.token.granted_at IS 'when it was granted';
COMMENT ON COLUMN booking.token.failed_at IS 'when getting one failed last; NULL: it did not since';
COMMENT ON COLUMN booking.token.failures IS 'failures since one was granted';
COMMENT ON COLUMN booking.token.sealed IS 'encrypted with the key of booking.secret_key_file';
COMMENT ON COLUMN booking.token.renewed IS 'got because the one before was refused, and not accepted yet';
COMMENT ON COLUMN booking.token.tenant IS 'tenant of the account';
COMMENT ON COLUMN booking.token.account IS 'account it signs in to';
COMMENT ON COLUMN booking.token.secret IS 'the token, with the refresh token that came with it, sealed or plain; NULL: none was granted';
COMMENT ON COLUMN booking.token.problem IS 'why getting one failed last';

SELECT pg_catalog.pg_extension_config_dump('booking.token',
	'WHERE pg_catalog.current_setting(''booking.dump_secrets'', true) = ''on''');

/* ------------------------------------------------------------------------
 * Providers
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.booking_provider_capabilities()
RETURNS TABLE (provider text, capability text, value text, consequence text)
AS 'MODULE_PATHNAME', 'booking_provider_capabilities'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.booking_provider_capabilities() IS
	'what each provider can promise and what follows from it';
REVOKE ALL ON FUNCTION @extschema@.booking_provider_capabilities() FROM PUBLIC;
