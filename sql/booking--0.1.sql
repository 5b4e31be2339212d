/* booking/sql/booking--0.1.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION booking" to load this file. \quit

-- Relations live in a schema of their own, so that their plain names never
-- meet those of an application.
DO $$
BEGIN
	IF EXISTS (SELECT FROM pg_catalog.pg_namespace
			   WHERE nspname OPERATOR(pg_catalog.=) 'booking') THEN
		RAISE EXCEPTION 'schema "booking" already exists'
			USING ERRCODE = 'duplicate_schema',
				  HINT = 'The extension keeps its relations in a schema of that name. Rename or drop the present one first.';
	END IF;
END
$$;

CREATE SCHEMA booking;
COMMENT ON SCHEMA booking IS 'relations of the booking extension; written by its functions only';

CREATE FUNCTION booking.interval_is_valid(during tstzrange)
RETURNS boolean
AS 'MODULE_PATHNAME', 'booking_interval_is_valid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION booking.interval_is_valid(tstzrange) IS 'a finite interval that is not empty, in [) form, in years 1970-9999';
REVOKE ALL ON FUNCTION booking.interval_is_valid(tstzrange) FROM PUBLIC;

CREATE FUNCTION booking.label_is_valid(label text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'booking_label_is_valid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION booking.label_is_valid(text) IS '1 to 200 bytes without control characters, and without blanks at the edges';
REVOKE ALL ON FUNCTION booking.label_is_valid(text) FROM PUBLIC;

/* ------------------------------------------------------------------------
 * Inventory and access
 * ------------------------------------------------------------------------ */

CREATE TABLE booking.tenant (
	tenant		text COLLATE "C" NOT NULL,
	four_eyes	boolean NOT NULL DEFAULT false,
	CONSTRAINT tenant_pkey PRIMARY KEY (tenant),
	CONSTRAINT tenant_label_check CHECK (booking.label_is_valid(tenant))
);
COMMENT ON TABLE booking.tenant IS 'rules of a tenant; a tenant needs no row to exist';
COMMENT ON COLUMN booking.tenant.tenant IS 'who owns resources and intents, 1-200 bytes, compared byte for byte';
COMMENT ON COLUMN booking.tenant.four_eyes IS 'a direct claim becomes a proposal, and whoever proposed may not approve';

CREATE SEQUENCE booking.resource_id_seq;
CREATE TABLE booking.resource (
	resource_id		bigint NOT NULL DEFAULT pg_catalog.nextval('booking.resource_id_seq'),
	tenant			text COLLATE "C" NOT NULL,
	resource		text COLLATE "C" NOT NULL,
	capacity		integer NOT NULL DEFAULT 1,
	time_zone		text NOT NULL DEFAULT 'UTC',
	buffer_before	interval NOT NULL DEFAULT '0',
	buffer_after	interval NOT NULL DEFAULT '0',
	version			bigint NOT NULL DEFAULT 1,
	overrides		boolean NOT NULL DEFAULT false,
	CONSTRAINT resource_pkey PRIMARY KEY (resource_id),
	CONSTRAINT resource_name_key UNIQUE (tenant, resource),
	CONSTRAINT resource_id_check CHECK (resource_id BETWEEN 1 AND 140737488355327),
	CONSTRAINT resource_label_check CHECK (booking.label_is_valid(tenant) AND booking.label_is_valid(resource)),
	CONSTRAINT resource_capacity_check CHECK (capacity BETWEEN 1 AND 32767),
	CONSTRAINT resource_buffer_before_check CHECK
		(buffer_before BETWEEN '0' AND '744 hours'
		 AND pg_catalog.date_part('day', buffer_before) = 0
		 AND pg_catalog.date_part('month', buffer_before) = 0),
	CONSTRAINT resource_buffer_after_check CHECK
		(buffer_after BETWEEN '0' AND '744 hours'
		 AND pg_catalog.date_part('day', buffer_after) = 0
		 AND pg_catalog.date_part('month', buffer_after) = 0),
	CONSTRAINT resource_version_check CHECK (version >= 1)
);
ALTER SEQUENCE booking.resource_id_seq OWNED BY booking.resource.resource_id;
COMMENT ON TABLE booking.resource IS 'what can be booked';
COMMENT ON COLUMN booking.resource.resource_id IS 'internal number, upper part of the lane key';
COMMENT ON COLUMN booking.resource.tenant IS 'owner of the resource';
COMMENT ON COLUMN booking.resource.resource IS 'name within the tenant, compared byte for byte';
COMMENT ON COLUMN booking.resource.capacity IS 'interchangeable units, 1-32767';
COMMENT ON COLUMN booking.resource.time_zone IS 'IANA zone name that wall times of this resource refer to';
COMMENT ON COLUMN booking.resource.buffer_before IS 'fixed-length time kept free before each booking';
COMMENT ON COLUMN booking.resource.buffer_after IS 'fixed-length time kept free after each booking';
COMMENT ON COLUMN booking.resource.version IS 'grows with every change of the row''s values; callers may demand it';
COMMENT ON COLUMN booking.resource.overrides IS 'an override was ever made here, so claims look for it';

CREATE TABLE booking.slot (
	tenant		text COLLATE "C" NOT NULL,
	resource	text COLLATE "C" NOT NULL,
	slot		text COLLATE "C" NOT NULL,
	during		tstzrange NOT NULL,
	version		bigint NOT NULL DEFAULT 1,
	CONSTRAINT slot_pkey PRIMARY KEY (tenant, resource, slot),
	CONSTRAINT slot_label_check CHECK
		(booking.label_is_valid(tenant) AND booking.label_is_valid(resource)
		 AND booking.label_is_valid(slot)),
	CONSTRAINT slot_version_check CHECK (version >= 1),
	CONSTRAINT slot_during_check CHECK (booking.interval_is_valid(during))
);
COMMENT ON TABLE booking.slot IS 'labels of a resource with an interval and a version of their own';
COMMENT ON COLUMN booking.slot.tenant IS 'owner of the resource';
COMMENT ON COLUMN booking.slot.resource IS 'resource the slot belongs to';
COMMENT ON COLUMN booking.slot.slot IS 'label, unique within the resource';
COMMENT ON COLUMN booking.slot.during IS 'interval that a claim of the slot books, [) form';
COMMENT ON COLUMN booking.slot.version IS 'inventory version that a claim must name';

CREATE TABLE booking.permission (
	tenant		text COLLATE "C" NOT NULL,
	principal	text COLLATE "C" NOT NULL,
	resource	text COLLATE "C" NOT NULL,
	allowed		boolean NOT NULL,
	CONSTRAINT permission_pkey PRIMARY KEY (tenant, principal, resource),
	CONSTRAINT permission_label_check CHECK
		(booking.label_is_valid(tenant) AND booking.label_is_valid(principal)
		 AND (resource = '' OR booking.label_is_valid(resource)))
);
COMMENT ON TABLE booking.permission IS 'who may book what';
COMMENT ON COLUMN booking.permission.tenant IS 'owner of the resource';
COMMENT ON COLUMN booking.permission.principal IS 'who asks, as named by the trusted caller';
COMMENT ON COLUMN booking.permission.resource IS 'one resource, or the empty name for every resource of the tenant; the row for one resource wins';
COMMENT ON COLUMN booking.permission.allowed IS 'false forbids, even under an allowing row for all';

CREATE TABLE booking.role_binding (
	tenant		text COLLATE "C" NOT NULL,
	role		text COLLATE "C" NOT NULL,
	role_oid	oid,
	cluster		bigint,
	CONSTRAINT role_binding_pkey PRIMARY KEY (tenant, role),
	CONSTRAINT role_binding_label_check CHECK (booking.label_is_valid(tenant))
);
COMMENT ON TABLE booking.role_binding IS 'which database roles may act for which tenant, beside owner and superusers';
COMMENT ON COLUMN booking.role_binding.tenant IS 'tenant the role may act for';
COMMENT ON COLUMN booking.role_binding.role IS 'role name; members that inherit its privileges are bound too';
COMMENT ON COLUMN booking.role_binding.role_oid IS 'the role itself, so that another that takes its name later is not bound';
COMMENT ON COLUMN booking.role_binding.cluster IS 'system identifier of the cluster where role_oid holds; in another one the name alone counts';

/* ------------------------------------------------------------------------
 * Ledger
 *
 * The CHECKs of the two tables that every claim writes are C functions: the
 * server reads the text of each CHECK anew for each statement, which for the
 * same rules as expressions costs twice what inserting the rows does.
 * ------------------------------------------------------------------------ */

CREATE FUNCTION booking.intent_is_valid(
	tenant text, principal text, intent text, disposition text, state text, remote text, event text, receipt text,
	version integer, resources text[], units integer, terms jsonb,
	during tstzrange, slot text)
RETURNS boolean
AS 'MODULE_PATHNAME', 'booking_intent_is_valid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION booking.intent_is_valid(text, text, text, text, text, text, text, text, integer, text[], integer, jsonb, tstzrange, text) IS
	'labels; known words; a receipt where something was booked; a whole payload or none; a finite [) interval in years 1970-9999';
REVOKE ALL ON FUNCTION booking.intent_is_valid(text, text, text, text, text, text, text, text, integer, text[], integer, jsonb, tstzrange, text) FROM PUBLIC;

CREATE FUNCTION booking.reservation_is_valid(
	resource_id bigint, unit integer, occupied tstzrange)
RETURNS boolean
AS 'MODULE_PATHNAME', 'booking_reservation_is_valid' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION booking.reservation_is_valid(bigint, integer, tstzrange) IS 'a lane that fits the key; a finite [) interval in years 1970-9999';
REVOKE ALL ON FUNCTION booking.reservation_is_valid(bigint, integer, tstzrange) FROM PUBLIC;

-- a backend takes some numbers at a time; they only tell intents apart
CREATE SEQUENCE booking.intent_id_seq CACHE 20;
CREATE TABLE booking.intent (
	intent_id			bigint NOT NULL DEFAULT pg_catalog.nextval('booking.intent_id_seq'),
	created_at			timestamptz NOT NULL,
	changed_at			timestamptz NOT NULL,
	revision			integer NOT NULL DEFAULT 1,
	version				integer NOT NULL,
	units				integer,
	tenant				text COLLATE "C" NOT NULL,
	principal			text COLLATE "C" NOT NULL,
	intent				text COLLATE "C" NOT NULL,
	disposition			text COLLATE "C" NOT NULL,
	state				text COLLATE "C" NOT NULL,
	remote				text COLLATE "C" NOT NULL DEFAULT 'not_required',
	event				text COLLATE "C" NOT NULL DEFAULT 'none',
	receipt				text COLLATE "C",
	resources			text[] COLLATE "C",
	slot				text COLLATE "C",
	during				tstzrange,
	expected_versions	bigint[],
	terms				jsonb,
	supersedes			text COLLATE "C",
	successor			text COLLATE "C",
	override_reason		text,
	detail				jsonb,
	evidence			jsonb,
	created_role		text COLLATE "C" NOT NULL,
	changed_role		text COLLATE "C" NOT NULL,
	CONSTRAINT intent_pkey PRIMARY KEY (intent_id),
	CONSTRAINT intent_identity_key UNIQUE (tenant, principal, intent),
	CONSTRAINT intent_check CHECK
		(booking.intent_is_valid(tenant, principal, intent, disposition, state,
								 remote, event, receipt, version, resources,
								 units, terms, during, slot))
);
ALTER SEQUENCE booking.intent_id_seq OWNED BY booking.intent.intent_id;
COMMENT ON TABLE booking.intent IS 'one row a business intent: its one recorded result';
COMMENT ON COLUMN booking.intent.intent_id IS 'internal number';
COMMENT ON COLUMN booking.intent.created_at IS 'when the first call was recorded';
COMMENT ON COLUMN booking.intent.changed_at IS 'when the state last changed; order by revision, not by this';
COMMENT ON COLUMN booking.intent.revision IS 'grows with every change of the row, taken under the intent''s lock';
COMMENT ON COLUMN booking.intent.version IS 'number of the newest payload; 0 for a tombstone known by identity alone';
COMMENT ON COLUMN booking.intent.units IS 'units booked of each resource';
COMMENT ON COLUMN booking.intent.tenant IS 'owner of the resources';
COMMENT ON COLUMN booking.intent.principal IS 'who asks, as named by the trusted caller';
COMMENT ON COLUMN booking.intent.intent IS 'identity issued by the caller, unique per tenant and principal';
COMMENT ON COLUMN booking.intent.disposition IS 'what was decided';
COMMENT ON COLUMN booking.intent.state IS 'where the intent is';
COMMENT ON COLUMN booking.intent.remote IS 'what is known of the newest provider operation';
COMMENT ON COLUMN booking.intent.event IS 'what is known of the provider''s event';
COMMENT ON COLUMN booking.intent.receipt IS 'opaque proof of the first commit, kept for ever';
COMMENT ON COLUMN booking.intent.resources IS 'names of the booked resources; the first is bound as such, the rest as a set';
COMMENT ON COLUMN booking.intent.slot IS 'slot label, when a slot was claimed';
COMMENT ON COLUMN booking.intent.during IS 'booked interval in [) form, without buffers';
COMMENT ON COLUMN booking.intent.expected_versions IS 'versions the caller demanded, in the order of resources';
COMMENT ON COLUMN booking.intent.terms IS 'further approved values; terms.event is what a provider gets to see';
COMMENT ON COLUMN booking.intent.supersedes IS 'earlier intent of the same principal exchanged for this one';
COMMENT ON COLUMN booking.intent.successor IS 'later intent of the same principal that took this one''s place';
COMMENT ON COLUMN booking.intent.override_reason IS 'why capacity was exceeded on purpose';
COMMENT ON COLUMN booking.intent.detail IS 'explanation stored with the result';
COMMENT ON COLUMN booking.intent.evidence IS 'references stored beside the first call, never compared';
COMMENT ON COLUMN booking.intent.created_role IS 'effective database role of the first call';
COMMENT ON COLUMN booking.intent.changed_role IS 'effective database role of the last change';

CREATE TABLE booking.proposal (
	intent_id			bigint NOT NULL,
	version				integer NOT NULL,
	units				integer NOT NULL,
	proposed_at			timestamptz NOT NULL,
	expires_at			timestamptz,
	decided_at			timestamptz,
	state				text COLLATE "C" NOT NULL DEFAULT 'open',
	resources			text[] COLLATE "C" NOT NULL,
	slot				text COLLATE "C",
	during				tstzrange NOT NULL,
	expected_versions	bigint[],
	terms				jsonb NOT NULL,
	supersedes			text COLLATE "C",
	snapshot			jsonb NOT NULL,
	evidence			jsonb,
	proposed_role		text COLLATE "C" NOT NULL,
	decided_by			text COLLATE "C",
	decided_role		text COLLATE "C",
	reason				text,
	CONSTRAINT proposal_pkey PRIMARY KEY (intent_id, version),
	CONSTRAINT proposal_version_check CHECK (version >= 1),
	CONSTRAINT proposal_units_check CHECK (units >= 1),
	CONSTRAINT proposal_state_check CHECK (state IN
		('open', 'approved', 'rejected', 'displaced', 'lapsed', 'canceled')),
	CONSTRAINT proposal_during_check CHECK (booking.interval_is_valid(during))
);
CREATE UNIQUE INDEX proposal_approved_idx ON booking.proposal (intent_id)
	WHERE state = 'approved';
COMMENT ON TABLE booking.proposal IS 'numbered, immutable payloads of an intent; at most one is approved';
COMMENT ON COLUMN booking.proposal.intent_id IS 'intent the payload belongs to';
COMMENT ON COLUMN booking.proposal.version IS 'number that an approval must name';
COMMENT ON COLUMN booking.proposal.units IS 'units wanted of each resource';
COMMENT ON COLUMN booking.proposal.proposed_at IS 'when it was proposed';
COMMENT ON COLUMN booking.proposal.expires_at IS 'when its hold ends; NULL without a hold';
COMMENT ON COLUMN booking.proposal.decided_at IS 'when it left the state open';
COMMENT ON COLUMN booking.proposal.state IS 'open, approved, rejected, displaced (by a newer version), lapsed (no longer valid at approval) or canceled';
COMMENT ON COLUMN booking.proposal.resources IS 'names of the resources; the first is bound as such, the rest as a set';
COMMENT ON COLUMN booking.proposal.slot IS 'slot label, when a slot is proposed';
COMMENT ON COLUMN booking.proposal.during IS 'proposed interval in [) form, without buffers';
COMMENT ON COLUMN booking.proposal.expected_versions IS 'versions the caller demanded, in the order of resources';
COMMENT ON COLUMN booking.proposal.terms IS 'further values';
COMMENT ON COLUMN booking.proposal.supersedes IS 'earlier intent that approval exchanges for this one';
COMMENT ON COLUMN booking.proposal.snapshot IS 'resource versions the proposal was made from';
COMMENT ON COLUMN booking.proposal.evidence IS 'references stored beside the call, never compared';
COMMENT ON COLUMN booking.proposal.proposed_role IS 'effective database role of the proposer';
COMMENT ON COLUMN booking.proposal.decided_by IS 'principal that approved or rejected';
COMMENT ON COLUMN booking.proposal.decided_role IS 'effective database role of the decision';
COMMENT ON COLUMN booking.proposal.reason IS 'why it was rejected or lapsed';

CREATE TABLE booking.reservation (
	intent_id	bigint NOT NULL,
	resource_id	bigint NOT NULL,
	piece		integer NOT NULL,
	unit		integer NOT NULL,
	occupied	tstzrange NOT NULL,
	hold_until	timestamptz,
	override	boolean NOT NULL DEFAULT false,
	tenant		text COLLATE "C" NOT NULL,
	CONSTRAINT reservation_pkey PRIMARY KEY (intent_id, piece),
	CONSTRAINT reservation_check CHECK (booking.reservation_is_valid(resource_id, unit, occupied)),
	CONSTRAINT reservation_lane_excl EXCLUDE USING gist
		((resource_id OPERATOR(pg_catalog.*) 65536 OPERATOR(pg_catalog.+) unit)
		 WITH OPERATOR(pg_catalog.=), occupied WITH OPERATOR(pg_catalog.&&))
);
COMMENT ON TABLE booking.reservation IS 'one row a unit held; no two rows hold one lane at one instant';
COMMENT ON COLUMN booking.reservation.intent_id IS 'intent that holds the unit';
COMMENT ON COLUMN booking.reservation.resource_id IS 'resource whose unit is held';
COMMENT ON COLUMN booking.reservation.piece IS 'number of the row within its intent';
COMMENT ON COLUMN booking.reservation.unit IS 'lane, interchangeable and no seat number; lanes from the capacity up carry overrides, those from 32768 up are used only within a statement';
COMMENT ON COLUMN booking.reservation.occupied IS 'held interval in [) form, buffers included';
COMMENT ON COLUMN booking.reservation.hold_until IS 'end of a proposal''s hold; the row holds nothing from then on';
COMMENT ON COLUMN booking.reservation.override IS 'overlaps on purpose (booking_override)';
COMMENT ON COLUMN booking.reservation.tenant IS 'owner of the resource';

CREATE SEQUENCE booking.audit_id_seq;
CREATE TABLE booking.audit_entry (
	audit_id	bigint NOT NULL DEFAULT pg_catalog.nextval('booking.audit_id_seq'),
	at			timestamptz NOT NULL,
	action		text NOT NULL,
	role		text NOT NULL,
	tenant		text COLLATE "C",
	principal	text COLLATE "C",
	intent		text COLLATE "C",
	detail		jsonb,
	evidence	jsonb,
	CONSTRAINT audit_entry_pkey PRIMARY KEY (audit_id)
);
ALTER SEQUENCE booking.audit_id_seq OWNED BY booking.audit_entry.audit_id;
COMMENT ON TABLE booking.audit_entry IS 'append-only record of administration, approval, override and evidence';
COMMENT ON COLUMN booking.audit_entry.audit_id IS 'order of recording';
COMMENT ON COLUMN booking.audit_entry.at IS 'when it was recorded';
COMMENT ON COLUMN booking.audit_entry.action IS 'function that acted, without its prefix';
COMMENT ON COLUMN booking.audit_entry.role IS 'effective database role';
COMMENT ON COLUMN booking.audit_entry.tenant IS 'tenant acted for';
COMMENT ON COLUMN booking.audit_entry.principal IS 'principal acted for';
COMMENT ON COLUMN booking.audit_entry.intent IS 'intent acted on';
COMMENT ON COLUMN booking.audit_entry.detail IS 'values of the action';
COMMENT ON COLUMN booking.audit_entry.evidence IS 'references the caller gave';

CREATE VIEW booking.audit AS
	SELECT at, action, role, tenant, principal, intent, detail, evidence
	  FROM booking.audit_entry
	UNION ALL
	SELECT created_at, 'intent_recorded', created_role, tenant, principal, intent,
		   pg_catalog.jsonb_build_object('version', version), evidence
	  FROM booking.intent
	UNION ALL
	SELECT changed_at, 'intent_changed', changed_role, tenant, principal, intent,
		   pg_catalog.jsonb_build_object('revision', revision, 'state', state), NULL
	  FROM booking.intent
	 WHERE revision OPERATOR(pg_catalog.>) 1;
COMMENT ON VIEW booking.audit IS 'who did what: recorded actions, and the first and last change of each intent';

SELECT pg_catalog.pg_extension_config_dump('booking.tenant', '');
SELECT pg_catalog.pg_extension_config_dump('booking.resource', '');
SELECT pg_catalog.pg_extension_config_dump('booking.resource_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('booking.slot', '');
SELECT pg_catalog.pg_extension_config_dump('booking.permission', '');
SELECT pg_catalog.pg_extension_config_dump('booking.role_binding', '');
SELECT pg_catalog.pg_extension_config_dump('booking.intent', '');
SELECT pg_catalog.pg_extension_config_dump('booking.intent_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('booking.proposal', '');
SELECT pg_catalog.pg_extension_config_dump('booking.reservation', '');
SELECT pg_catalog.pg_extension_config_dump('booking.audit_entry', '');
SELECT pg_catalog.pg_extension_config_dump('booking.audit_id_seq', '');

/* ------------------------------------------------------------------------
 * Result types
 * ------------------------------------------------------------------------ */

CREATE TYPE @extschema@.booking_result AS (
	disposition	text,
	state		text,
	remote		text,
	event		text,
	receipt		text,
	replayed	boolean,
	detail		jsonb
);
COMMENT ON TYPE @extschema@.booking_result IS 'what a call decided, where the intent is, and what is known outside';
COMMENT ON COLUMN @extschema@.booking_result.disposition IS 'what this call decided';
COMMENT ON COLUMN @extschema@.booking_result.state IS 'where the intent is';
COMMENT ON COLUMN @extschema@.booking_result.remote IS 'what is known of the newest provider operation';
COMMENT ON COLUMN @extschema@.booking_result.event IS 'what is known of the provider''s event';
COMMENT ON COLUMN @extschema@.booking_result.receipt IS 'opaque proof of the first commit';
COMMENT ON COLUMN @extschema@.booking_result.replayed IS 'true when this repeats what was recorded before';
COMMENT ON COLUMN @extschema@.booking_result.detail IS 'explanation, an object';

CREATE TYPE @extschema@.booking_proposal AS (
	disposition	text,
	version		integer,
	state		text,
	snapshot	jsonb,
	expires_at	timestamptz,
	replayed	boolean,
	detail		jsonb
);
COMMENT ON TYPE @extschema@.booking_proposal IS 'a numbered proposal and what it was made from';
COMMENT ON COLUMN @extschema@.booking_proposal.disposition IS 'what this call decided';
COMMENT ON COLUMN @extschema@.booking_proposal.version IS 'number that an approval must name';
COMMENT ON COLUMN @extschema@.booking_proposal.state IS 'where the intent is';
COMMENT ON COLUMN @extschema@.booking_proposal.snapshot IS 'resource versions the proposal was made from';
COMMENT ON COLUMN @extschema@.booking_proposal.expires_at IS 'end of the hold; NULL without a hold';
COMMENT ON COLUMN @extschema@.booking_proposal.replayed IS 'true when this repeats what was recorded before';
COMMENT ON COLUMN @extschema@.booking_proposal.detail IS 'explanation, an object';

/* ------------------------------------------------------------------------
 * Functions
 *
 * Every function that reads relations pins search_path: names resolve only in
 * the catalog, and saved plans are never analysed anew for a caller's path.
 * enable_seqscan is off because plans are kept: one made while a table was
 * empty would scan it for ever after, until something invalidates the plan.
 * None is SECURITY DEFINER; the C code switches to the owner by itself so that
 * it still knows the caller.
 * ------------------------------------------------------------------------ */

CREATE FUNCTION @extschema@.booking_tenant_put(
	tenant text, four_eyes boolean DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_tenant_put' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_tenant_put(text, boolean) IS 'set the rules of a tenant; NULL keeps the present value';

CREATE FUNCTION @extschema@.booking_resource_put(
	tenant text, resource text, capacity integer DEFAULT NULL, time_zone text
	DEFAULT NULL, buffer_before interval DEFAULT NULL, buffer_after interval
	DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'booking_resource_put' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_resource_put(text, text, integer, text, interval, interval) IS 'create or change a resource and return its version; NULL keeps the present value';

CREATE FUNCTION @extschema@.booking_slot_put(
	tenant text, resource text, slot text, during tstzrange, version bigint
	DEFAULT NULL)
RETURNS bigint
AS 'MODULE_PATHNAME', 'booking_slot_put' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_slot_put(text, text, text, tstzrange, bigint) IS 'create or change a slot and return its version; NULL takes the next one';

CREATE FUNCTION @extschema@.booking_permit(
	tenant text, principal text, resource text, allowed boolean DEFAULT true)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_permit' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_permit(text, text, text, boolean) IS 'allow or forbid a principal one resource';

CREATE FUNCTION @extschema@.booking_permit_all(
	tenant text, principal text, allowed boolean DEFAULT true)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_permit_all' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_permit_all(text, text, boolean) IS 'allow or forbid a principal every resource of the tenant that has no row of its own';

CREATE FUNCTION @extschema@.booking_bind_role(
	role text, tenant text)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_bind_role' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_bind_role(text, text) IS
	'let a database role act for a tenant';

CREATE FUNCTION @extschema@.booking_unbind_role(
	role text, tenant text)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_unbind_role' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_unbind_role(text, text) IS
	'stop a database role from acting for a tenant';

CREATE FUNCTION @extschema@.booking_claim(
	tenant text, principal text, intent text, resource text, during tstzrange,
	expected_version bigint DEFAULT NULL, units integer DEFAULT 1, terms jsonb
	DEFAULT '{}', supersedes text DEFAULT NULL, evidence jsonb DEFAULT NULL)
RETURNS @extschema@.booking_result
AS 'MODULE_PATHNAME', 'booking_claim' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_claim(text, text, text, text, tstzrange, bigint, integer, jsonb, text, jsonb) IS
	'book units of a resource for an interval, once per intent';

CREATE FUNCTION @extschema@.booking_claim_slot(
	tenant text, principal text, intent text, resource text, slot text,
	expected_version bigint, units integer DEFAULT 1, terms jsonb DEFAULT '{}',
	supersedes text DEFAULT NULL, evidence jsonb DEFAULT NULL)
RETURNS @extschema@.booking_result
AS 'MODULE_PATHNAME', 'booking_claim_slot' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_claim_slot(text, text, text, text, text, bigint, integer, jsonb, text, jsonb) IS
	'book units of a slot, once per intent';

CREATE FUNCTION @extschema@.booking_claim_all(
	tenant text, principal text, intent text, resources text[], during
	tstzrange, expected_versions bigint[] DEFAULT NULL, units integer DEFAULT
	1, terms jsonb DEFAULT '{}', supersedes text DEFAULT NULL, evidence jsonb
	DEFAULT NULL)
RETURNS @extschema@.booking_result
AS 'MODULE_PATHNAME', 'booking_claim_all' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_claim_all(text, text, text, text[], tstzrange, bigint[], integer, jsonb, text, jsonb) IS
	'book units of several resources for one interval, all or none, once per intent';

CREATE FUNCTION @extschema@.booking_override(
	tenant text, principal text, intent text, resource text, during tstzrange,
	units integer, terms jsonb, reason text)
RETURNS @extschema@.booking_result
AS 'MODULE_PATHNAME', 'booking_override' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_override(text, text, text, text, tstzrange, integer, jsonb, text) IS
	'book beyond the capacity on purpose; audited, and counted by later claims';

CREATE FUNCTION @extschema@.booking_cancel(
	tenant text, principal text, intent text, evidence jsonb DEFAULT NULL)
RETURNS @extschema@.booking_result
AS 'MODULE_PATHNAME', 'booking_cancel' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_cancel(text, text, text, jsonb) IS
	'end an intent for ever, by its identity alone';

CREATE FUNCTION @extschema@.booking_cancel_exact(
	tenant text, principal text, intent text, resource text, during tstzrange,
	expected_version bigint, units integer, terms jsonb, evidence jsonb DEFAULT
	NULL)
RETURNS @extschema@.booking_result
AS 'MODULE_PATHNAME', 'booking_cancel_exact' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_cancel_exact(text, text, text, text, tstzrange, bigint, integer, jsonb, jsonb) IS
	'end an intent for ever if its values are these';

CREATE FUNCTION @extschema@.booking_cancel_exact_slot(
	tenant text, principal text, intent text, resource text, slot text,
	expected_version bigint, units integer, terms jsonb, evidence jsonb DEFAULT
	NULL)
RETURNS @extschema@.booking_result
AS 'MODULE_PATHNAME', 'booking_cancel_exact_slot' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_cancel_exact_slot(text, text, text, text, text, bigint, integer, jsonb, jsonb) IS
	'end an intent on a slot for ever if its values are these';

CREATE FUNCTION @extschema@.booking_cancel_exact_all(
	tenant text, principal text, intent text, resources text[], during
	tstzrange, expected_versions bigint[], units integer, terms jsonb, evidence
	jsonb DEFAULT NULL)
RETURNS @extschema@.booking_result
AS 'MODULE_PATHNAME', 'booking_cancel_exact_all' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_cancel_exact_all(text, text, text, text[], tstzrange, bigint[], integer, jsonb, jsonb) IS
	'end an intent on several resources for ever if its values are these';

CREATE FUNCTION @extschema@.booking_propose(
	tenant text, principal text, intent text, resource text, during tstzrange,
	expected_version bigint DEFAULT NULL, units integer DEFAULT 1, terms jsonb
	DEFAULT '{}', supersedes text DEFAULT NULL, hold_for interval DEFAULT NULL,
	after_version integer DEFAULT NULL, evidence jsonb DEFAULT NULL)
RETURNS @extschema@.booking_proposal
AS 'MODULE_PATHNAME', 'booking_propose' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_propose(text, text, text, text, tstzrange, bigint, integer, jsonb, text, interval, integer, jsonb) IS
	'record a payload for approval, with a hold on the units if wanted';

CREATE FUNCTION @extschema@.booking_propose_slot(
	tenant text, principal text, intent text, resource text, slot text,
	expected_version bigint, units integer DEFAULT 1, terms jsonb DEFAULT '{}',
	supersedes text DEFAULT NULL, hold_for interval DEFAULT NULL, after_version
	integer DEFAULT NULL, evidence jsonb DEFAULT NULL)
RETURNS @extschema@.booking_proposal
AS 'MODULE_PATHNAME', 'booking_propose_slot' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_propose_slot(text, text, text, text, text, bigint, integer, jsonb, text, interval, integer, jsonb) IS
	'record a slot for approval, with a hold on the units if wanted';

CREATE FUNCTION @extschema@.booking_propose_all(
	tenant text, principal text, intent text, resources text[], during
	tstzrange, expected_versions bigint[] DEFAULT NULL, units integer DEFAULT
	1, terms jsonb DEFAULT '{}', supersedes text DEFAULT NULL, hold_for
	interval DEFAULT NULL, after_version integer DEFAULT NULL, evidence jsonb
	DEFAULT NULL)
RETURNS @extschema@.booking_proposal
AS 'MODULE_PATHNAME', 'booking_propose_all' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_propose_all(text, text, text, text[], tstzrange, bigint[], integer, jsonb, text, interval, integer, jsonb) IS
	'record several resources for approval, with a hold on the units if wanted';

CREATE FUNCTION @extschema@.booking_approve(
	tenant text, approver text, principal text, intent text, version integer,
	evidence jsonb DEFAULT NULL)
RETURNS @extschema@.booking_result
AS 'MODULE_PATHNAME', 'booking_approve' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_approve(text, text, text, text, integer, jsonb) IS
	'approve the newest proposal of an intent and book it';

CREATE FUNCTION @extschema@.booking_reject(
	tenant text, approver text, principal text, intent text, version integer,
	reason text)
RETURNS @extschema@.booking_result
AS 'MODULE_PATHNAME', 'booking_reject' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_reject(text, text, text, text, integer, text) IS
	'end the newest proposal of an intent and its hold';

CREATE FUNCTION @extschema@.booking_status(
	tenant text, principal text, intent text)
RETURNS @extschema@.booking_result
AS 'MODULE_PATHNAME', 'booking_status' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_status(text, text, text) IS
	'what the same claim would return; writes and locks nothing';

CREATE FUNCTION @extschema@.booking_list(
	tenant text, principal text, within tstzrange DEFAULT NULL, state text
	DEFAULT NULL, after text DEFAULT NULL, max integer DEFAULT 100)
RETURNS TABLE (intent text, disposition text, state text, remote text, event text, receipt text, replayed boolean, detail jsonb, during tstzrange, resources text[])
AS 'MODULE_PATHNAME', 'booking_list' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_list(text, text, tstzrange, text, text, integer) IS
	'intents of a principal in byte order of their names, a page at a time';

CREATE FUNCTION @extschema@.booking_free(
	tenant text, principal text, resources text[], within tstzrange, duration
	interval, step interval DEFAULT NULL, units integer DEFAULT 1)
RETURNS SETOF tstzrange
AS 'MODULE_PATHNAME', 'booking_free' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_free(text, text, text[], tstzrange, interval, interval, integer) IS
	'windows in which all the resources are free at once; with a step, each start on its grid';

CREATE FUNCTION @extschema@.booking_at(
	local timestamp, zone text, fold text DEFAULT 'error')
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'booking_at' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION @extschema@.booking_at(timestamp, text, text) IS
	'instant of a wall time in a zone; a time in a gap is refused, one in a fold is chosen by fold';

CREATE FUNCTION @extschema@.booking_check()
RETURNS TABLE (object text, key text, problem text)
AS 'MODULE_PATHNAME', 'booking_check' LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION @extschema@.booking_check() IS
	'verify every rule between the relations; one row a violation';

CREATE FUNCTION @extschema@.booking_guard_terminal()
RETURNS trigger
AS 'MODULE_PATHNAME', 'booking_guard_terminal' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.booking_guard_terminal() IS
	'BEFORE trigger for own tables: a row whose column has one of the values keeps it';

CREATE FUNCTION @extschema@.booking_guard_monotonic()
RETURNS trigger
AS 'MODULE_PATHNAME', 'booking_guard_monotonic' LANGUAGE C VOLATILE;
COMMENT ON FUNCTION @extschema@.booking_guard_monotonic() IS
	'BEFORE trigger for own tables: an older source timestamp is ignored';

/* ------------------------------------------------------------------------
 * Guards of our own tables
 *
 * They fire always, replica role included: they only judge, and what is
 * written along the state graph passes them on a subscriber too.
 * ------------------------------------------------------------------------ */

CREATE FUNCTION booking.guard_intent()
RETURNS trigger
AS 'MODULE_PATHNAME', 'booking_guard_intent_row' LANGUAGE C
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION booking.guard_intent() IS 'keeps payload and receipt, the state graph and canceled as its end';
REVOKE ALL ON FUNCTION booking.guard_intent() FROM PUBLIC;

CREATE FUNCTION booking.guard_proposal()
RETURNS trigger
AS 'MODULE_PATHNAME', 'booking_guard_proposal_row' LANGUAGE C
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION booking.guard_proposal() IS 'keeps payloads and decided proposals';
REVOKE ALL ON FUNCTION booking.guard_proposal() FROM PUBLIC;

CREATE FUNCTION booking.guard_append_only()
RETURNS trigger
AS 'MODULE_PATHNAME', 'booking_guard_append_only_row' LANGUAGE C
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION booking.guard_append_only() IS 'refuses to change or remove recorded rows';
REVOKE ALL ON FUNCTION booking.guard_append_only() FROM PUBLIC;

CREATE FUNCTION booking.guard_permission()
RETURNS trigger
AS 'MODULE_PATHNAME', 'booking_guard_permission_row' LANGUAGE C
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION booking.guard_permission() IS 'waits for claims that rely on a permission';
REVOKE ALL ON FUNCTION booking.guard_permission() FROM PUBLIC;

CREATE FUNCTION booking.guard_role_binding()
RETURNS trigger
AS 'MODULE_PATHNAME', 'booking_guard_role_binding_row' LANGUAGE C
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION booking.guard_role_binding() IS 'waits for calls that rely on a binding';
REVOKE ALL ON FUNCTION booking.guard_role_binding() FROM PUBLIC;

CREATE FUNCTION booking.guard_cached()
RETURNS trigger
AS 'MODULE_PATHNAME', 'booking_guard_cached_row' LANGUAGE C
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION booking.guard_cached() IS 'tells all backends that what they remember of the relation may be old';
REVOKE ALL ON FUNCTION booking.guard_cached() FROM PUBLIC;

CREATE FUNCTION booking.guard_resource()
RETURNS trigger
AS 'MODULE_PATHNAME', 'booking_guard_resource_row' LANGUAGE C
SET search_path = pg_catalog, pg_temp;
COMMENT ON FUNCTION booking.guard_resource() IS 'keeps what identifies a resource, and waits for calls that rely on it';
REVOKE ALL ON FUNCTION booking.guard_resource() FROM PUBLIC;

CREATE TRIGGER guard
	BEFORE UPDATE OR DELETE ON booking.intent
	FOR EACH ROW EXECUTE FUNCTION booking.guard_intent();
ALTER TABLE booking.intent ENABLE ALWAYS TRIGGER guard;

CREATE TRIGGER guard_truncate
	BEFORE TRUNCATE ON booking.intent
	FOR EACH STATEMENT EXECUTE FUNCTION booking.guard_append_only();
ALTER TABLE booking.intent ENABLE ALWAYS TRIGGER guard_truncate;

CREATE TRIGGER guard_truncate
	BEFORE TRUNCATE ON booking.reservation
	FOR EACH STATEMENT EXECUTE FUNCTION booking.guard_append_only();
ALTER TABLE booking.reservation ENABLE ALWAYS TRIGGER guard_truncate;

CREATE TRIGGER guard
	BEFORE UPDATE OR DELETE ON booking.proposal
	FOR EACH ROW EXECUTE FUNCTION booking.guard_proposal();
ALTER TABLE booking.proposal ENABLE ALWAYS TRIGGER guard;

CREATE TRIGGER guard_truncate
	BEFORE TRUNCATE ON booking.proposal
	FOR EACH STATEMENT EXECUTE FUNCTION booking.guard_append_only();
ALTER TABLE booking.proposal ENABLE ALWAYS TRIGGER guard_truncate;

CREATE TRIGGER guard
	BEFORE UPDATE OR DELETE ON booking.audit_entry
	FOR EACH ROW EXECUTE FUNCTION booking.guard_append_only();
ALTER TABLE booking.audit_entry ENABLE ALWAYS TRIGGER guard;

CREATE TRIGGER guard_truncate
	BEFORE TRUNCATE ON booking.audit_entry
	FOR EACH STATEMENT EXECUTE FUNCTION booking.guard_append_only();
ALTER TABLE booking.audit_entry ENABLE ALWAYS TRIGGER guard_truncate;

CREATE TRIGGER guard
	BEFORE INSERT OR UPDATE OR DELETE ON booking.permission
	FOR EACH ROW EXECUTE FUNCTION booking.guard_permission();
ALTER TABLE booking.permission ENABLE ALWAYS TRIGGER guard;

CREATE TRIGGER guard
	BEFORE INSERT OR UPDATE OR DELETE ON booking.role_binding
	FOR EACH ROW EXECUTE FUNCTION booking.guard_role_binding();
ALTER TABLE booking.role_binding ENABLE ALWAYS TRIGGER guard;

CREATE TRIGGER guard
	BEFORE INSERT OR UPDATE OR DELETE ON booking.resource
	FOR EACH ROW EXECUTE FUNCTION booking.guard_resource();
ALTER TABLE booking.resource ENABLE ALWAYS TRIGGER guard;

CREATE TRIGGER guard_truncate
	BEFORE TRUNCATE ON booking.permission
	FOR EACH STATEMENT EXECUTE FUNCTION booking.guard_cached();
ALTER TABLE booking.permission ENABLE ALWAYS TRIGGER guard_truncate;

CREATE TRIGGER guard_truncate
	BEFORE TRUNCATE ON booking.role_binding
	FOR EACH STATEMENT EXECUTE FUNCTION booking.guard_cached();
ALTER TABLE booking.role_binding ENABLE ALWAYS TRIGGER guard_truncate;

CREATE TRIGGER guard_truncate
	BEFORE TRUNCATE ON booking.tenant
	FOR EACH STATEMENT EXECUTE FUNCTION booking.guard_cached();
ALTER TABLE booking.tenant ENABLE ALWAYS TRIGGER guard_truncate;

CREATE TRIGGER guard_truncate
	BEFORE TRUNCATE ON booking.resource
	FOR EACH STATEMENT EXECUTE FUNCTION booking.guard_append_only();
ALTER TABLE booking.resource ENABLE ALWAYS TRIGGER guard_truncate;

CREATE TRIGGER guard
	BEFORE INSERT OR UPDATE OR DELETE ON booking.tenant
	FOR EACH ROW EXECUTE FUNCTION booking.guard_cached();
ALTER TABLE booking.tenant ENABLE ALWAYS TRIGGER guard;

/* ------------------------------------------------------------------------
 * Privileges: nothing for PUBLIC but the two guards offered for own tables
 * ------------------------------------------------------------------------ */

REVOKE ALL ON FUNCTION @extschema@.booking_tenant_put(text, boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_resource_put(text, text, integer, text, interval, interval) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_slot_put(text, text, text, tstzrange, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_permit(text, text, text, boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_permit_all(text, text, boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_bind_role(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_unbind_role(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_claim(text, text, text, text, tstzrange, bigint, integer, jsonb, text, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_claim_slot(text, text, text, text, text, bigint, integer, jsonb, text, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_claim_all(text, text, text, text[], tstzrange, bigint[], integer, jsonb, text, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_override(text, text, text, text, tstzrange, integer, jsonb, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_cancel(text, text, text, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_cancel_exact(text, text, text, text, tstzrange, bigint, integer, jsonb, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_cancel_exact_slot(text, text, text, text, text, bigint, integer, jsonb, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_cancel_exact_all(text, text, text, text[], tstzrange, bigint[], integer, jsonb, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_propose(text, text, text, text, tstzrange, bigint, integer, jsonb, text, interval, integer, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_propose_slot(text, text, text, text, text, bigint, integer, jsonb, text, interval, integer, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_propose_all(text, text, text, text[], tstzrange, bigint[], integer, jsonb, text, interval, integer, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_approve(text, text, text, text, integer, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_reject(text, text, text, text, integer, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_status(text, text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_list(text, text, tstzrange, text, text, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_free(text, text, text[], tstzrange, interval, interval, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_at(timestamp, text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_check() FROM PUBLIC;
