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

CREATE TABLE booking.cursor (
	calendar_id		bigint NOT NULL,
	wanted			bigint NOT NULL DEFAULT 0,
	served			bigint NOT NULL DEFAULT 0,
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
	next_at			timestamptz NOT NULL,
	within			tstzrange,
	CONSTRAINT cursor_pkey PRIMARY KEY (calendar_id)
);
CREATE INDEX cursor_due_idx ON booking.cursor (next_at) WHERE NOT parked;
COMMENT ON TABLE booking.cursor IS 'one row a calendar that is synchronized: how far, since when, and what went wrong';
COMMENT ON COLUMN booking.cursor.calendar_id IS 'calendar';
COMMENT ON COLUMN booking.cursor.wanted IS 'number of the newest request for a round';
COMMENT ON COLUMN booking.cursor.served IS 'newest request that a finished round has covered; a request made during a round causes another';
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
COMMENT ON COLUMN booking.cursor.next_at IS 'when the next round is due';
COMMENT ON COLUMN booking.cursor.within IS 'window inside which recurrences are expanded and busy time is known';

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
CREATE INDEX event_busy_idx ON booking.event USING gist (calendar_id, during)
	WHERE busy;
CREATE INDEX event_marker_idx ON booking.event (marker) WHERE marker IS NOT NULL;
CREATE INDEX event_intent_idx ON booking.event (intent_id) WHERE intent_id IS NOT NULL;
ALTER SEQUENCE booking.event_row_id_seq OWNED BY booking.event.row_id;
COMMENT ON TABLE booking.event IS 'projection of the providers'' calendars: one row an occurrence inside the cursor''s window';
COMMENT ON COLUMN booking.event.row_id IS 'internal number';
COMMENT ON COLUMN booking.event.calendar_id IS 'calendar';
COMMENT ON COLUMN booking.event.seen_round IS 'round that last saw the object';
COMMENT ON COLUMN booking.event.intent_id IS 'intent whose event this is; NULL: somebody else''s';
COMMENT ON COLUMN booking.event.object IS 'the provider''s identity of the object: CalDAV href, event id';
COMMENT ON COLUMN booking.event.occurrence IS 'original start of an occurrence of a series; -infinity for a single event';
COMMENT ON COLUMN booking.event.during IS 'time in [) form; NULL if it could not be read (see problem)';
COMMENT ON COLUMN booking.event.busy IS 'blocks the calendar''s resource: neither canceled nor transparent';
COMMENT ON COLUMN booking.event.all_day IS 'local midnight to midnight of the calendar''s zone';
COMMENT ON COLUMN booking.event.status IS 'the provider''s status';
COMMENT ON COLUMN booking.event.transparency IS 'opaque blocks time';
COMMENT ON COLUMN booking.event.sequence IS 'the organizer''s revision number';
COMMENT ON COLUMN booking.event.uid IS 'iCalendar UID';
COMMENT ON COLUMN booking.event.marker IS 'our opaque event id, if the event carries one';
COMMENT ON COLUMN booking.event.etag IS 'version tag of the object';
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
SELECT pg_catalog.pg_extension_config_dump('booking.event', '');
SELECT pg_catalog.pg_extension_config_dump('booking.event_row_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('booking.conflict', '');
SELECT pg_catalog.pg_extension_config_dump('booking.conflict_id_seq', '');
