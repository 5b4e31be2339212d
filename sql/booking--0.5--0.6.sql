/* booking/sql/booking--0.5--0.6.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION booking UPDATE TO '0.6'" to load this file. \quit

/* ------------------------------------------------------------------------
 * Subscriptions: the change feed, delivered
 *
 * A subscription reads the feed as a consumer with a name that no caller can
 * give.  What it wants of a change is copied to the outbox, with the bytes that
 * are sent, in the transaction that acknowledges the change.
 * ------------------------------------------------------------------------ */

COMMENT ON COLUMN booking.change.kind IS 'recorded (first), proposed (another payload), changed, moved (by the calendar), or alarm: the principal is a source or a subscription that fails, and revision says how often in a row';
COMMENT ON COLUMN @extschema@.booking_change.kind IS 'recorded (first), proposed (another payload), changed, moved (by the calendar), or alarm: the principal is a source or a subscription that fails, and revision says how often in a row';

CREATE SEQUENCE booking.subscription_id_seq;
CREATE TABLE booking.subscription (
	subscription_id	bigint NOT NULL DEFAULT pg_catalog.nextval('booking.subscription_id_seq'),
	delivered		bigint NOT NULL DEFAULT 0,
	failed			bigint NOT NULL DEFAULT 0,
	dead			bigint NOT NULL DEFAULT 0,
	created_at		timestamptz NOT NULL,
	delivered_at	timestamptz,
	failed_at		timestamptz,
	blocked_until	timestamptz,
	failures		integer NOT NULL DEFAULT 0,
	secrets			integer NOT NULL DEFAULT 0,
	circuit_open	boolean NOT NULL DEFAULT false,
	tenant			text COLLATE "C" NOT NULL,
	name			text COLLATE "C" NOT NULL,
	state			text COLLATE "C" NOT NULL,
	key				text COLLATE "C" NOT NULL,
	url				text NOT NULL,
	problem			text,
	filter			jsonb NOT NULL,
	CONSTRAINT subscription_pkey PRIMARY KEY (subscription_id),
	CONSTRAINT subscription_name_key UNIQUE (tenant, name),
	CONSTRAINT subscription_state_check CHECK (state IN ('enabled', 'disabled')),
	CONSTRAINT subscription_failures_check CHECK (failures >= 0),
	CONSTRAINT subscription_filter_check CHECK
		(pg_catalog.jsonb_typeof(filter) = 'object')
);
ALTER SEQUENCE booking.subscription_id_seq OWNED BY booking.subscription.subscription_id;
COMMENT ON TABLE booking.subscription IS 'who is sent the changes of a tenant';
COMMENT ON COLUMN booking.subscription.subscription_id IS 'internal number';
COMMENT ON COLUMN booking.subscription.delivered IS 'deliveries that were accepted';
COMMENT ON COLUMN booking.subscription.failed IS 'requests that failed';
COMMENT ON COLUMN booking.subscription.dead IS 'deliveries that were given up';
COMMENT ON COLUMN booking.subscription.created_at IS 'when it was first put';
COMMENT ON COLUMN booking.subscription.delivered_at IS 'when a delivery was accepted last';
COMMENT ON COLUMN booking.subscription.failed_at IS 'when a request failed last';
COMMENT ON COLUMN booking.subscription.blocked_until IS 'nothing is sent before; NULL: at once';
COMMENT ON COLUMN booking.subscription.failures IS 'requests that failed since the last one that did not';
COMMENT ON COLUMN booking.subscription.secrets IS 'number of the secret put last';
COMMENT ON COLUMN booking.subscription.circuit_open IS 'so many failed in a row that one request at a time is tried, after blocked_until';
COMMENT ON COLUMN booking.subscription.tenant IS 'whose changes are sent';
COMMENT ON COLUMN booking.subscription.name IS 'name within the tenant';
COMMENT ON COLUMN booking.subscription.state IS 'enabled or disabled';
COMMENT ON COLUMN booking.subscription.key IS 'what ids of messages begin with; random';
COMMENT ON COLUMN booking.subscription.url IS 'where changes are sent to';
COMMENT ON COLUMN booking.subscription.problem IS 'why the last request failed, or why it is disabled';
COMMENT ON COLUMN booking.subscription.filter IS 'types, resources, principals, intents: lists of what is sent; what is not named is not restricted';

CREATE TABLE booking.subscription_secret (
	subscription_id	bigint NOT NULL,
	number			integer NOT NULL,
	sealed			boolean NOT NULL,
	created_at		timestamptz NOT NULL,
	secret			bytea NOT NULL,
	CONSTRAINT subscription_secret_pkey PRIMARY KEY (subscription_id, number)
);
COMMENT ON TABLE booking.subscription_secret IS 'secrets that deliveries are signed with; write-only, and dumped only under booking.dump_secrets';
COMMENT ON COLUMN booking.subscription_secret.subscription_id IS 'whose deliveries it signs';
COMMENT ON COLUMN booking.subscription_secret.number IS 'number within the subscription';
COMMENT ON COLUMN booking.subscription_secret.sealed IS 'encrypted with the key of booking.secret_key_file';
COMMENT ON COLUMN booking.subscription_secret.created_at IS 'when it was put';
COMMENT ON COLUMN booking.subscription_secret.secret IS 'the secret, sealed or plain';

CREATE SEQUENCE booking.outbox_id_seq;
CREATE TABLE booking.outbox (
	outbox_id		bigint NOT NULL DEFAULT pg_catalog.nextval('booking.outbox_id_seq'),
	subscription_id	bigint NOT NULL,
	"position"		bigint NOT NULL,
	intent_id		bigint NOT NULL,
	queued_at		timestamptz NOT NULL,
	next_at			timestamptz NOT NULL,
	settled_at		timestamptz,
	tries			integer NOT NULL DEFAULT 0,
	status			integer,
	state			text COLLATE "C" NOT NULL,
	message			text COLLATE "C" NOT NULL,
	reason			text,
	body			text NOT NULL,
	CONSTRAINT outbox_pkey PRIMARY KEY (outbox_id),
	CONSTRAINT outbox_position_key UNIQUE (subscription_id, "position"),
	CONSTRAINT outbox_state_check CHECK (state IN ('waiting', 'delivered', 'dead')),
	CONSTRAINT outbox_settled_check CHECK
		((settled_at IS NULL) = (state = 'waiting'))
);
ALTER SEQUENCE booking.outbox_id_seq OWNED BY booking.outbox.outbox_id;
CREATE INDEX outbox_due_idx ON booking.outbox (subscription_id, next_at, "position")
	WHERE state = 'waiting';
CREATE INDEX outbox_order_idx ON booking.outbox (subscription_id, intent_id, "position")
	WHERE state = 'waiting';
CREATE INDEX outbox_waiting_idx ON booking.outbox (queued_at) WHERE state = 'waiting';
CREATE INDEX outbox_settled_idx ON booking.outbox (settled_at) WHERE state <> 'waiting';
COMMENT ON TABLE booking.outbox IS 'deliveries to subscribers: one row a change and subscription, kept for booking.outbox_keep after it is settled';
COMMENT ON COLUMN booking.outbox.outbox_id IS 'internal number';
COMMENT ON COLUMN booking.outbox.subscription_id IS 'who is sent it';
COMMENT ON COLUMN booking.outbox."position" IS 'place of the change in the tenant''s feed';
COMMENT ON COLUMN booking.outbox.intent_id IS 'intent that changed; its changes are sent one after the other';
COMMENT ON COLUMN booking.outbox.queued_at IS 'when it was copied from the feed, or replayed';
COMMENT ON COLUMN booking.outbox.next_at IS 'when it is sent next, while it is waiting';
COMMENT ON COLUMN booking.outbox.settled_at IS 'when it was delivered or given up';
COMMENT ON COLUMN booking.outbox.tries IS 'requests that failed since it was queued';
COMMENT ON COLUMN booking.outbox.status IS 'status of the last answer; NULL: there was none';
COMMENT ON COLUMN booking.outbox.state IS 'waiting, delivered, or dead';
COMMENT ON COLUMN booking.outbox.message IS 'webhook-id, the same for every try and replay';
COMMENT ON COLUMN booking.outbox.reason IS 'why the last request failed, or why it is dead';
COMMENT ON COLUMN booking.outbox.body IS 'what is sent, byte for byte';

SELECT pg_catalog.pg_extension_config_dump('booking.subscription', '');
SELECT pg_catalog.pg_extension_config_dump('booking.subscription_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('booking.subscription_secret',
	'WHERE pg_catalog.current_setting(''booking.dump_secrets'', true) = ''on''');
SELECT pg_catalog.pg_extension_config_dump('booking.outbox', '');
SELECT pg_catalog.pg_extension_config_dump('booking.outbox_id_seq', '');

CREATE VIEW booking.subscription_trouble AS
	SELECT s.tenant, s.name, s.state, s.circuit_open, s.failures, s.failed_at,
		   s.blocked_until, s.problem, q.waiting, q.oldest_at, q.dead,
		   CASE WHEN s.state OPERATOR(pg_catalog.=) 'disabled'
				THEN 'nothing is sent until it is put again'
				WHEN s.failures OPERATOR(pg_catalog.>) 0
				THEN 'deliveries of a subscription fail; failures says how many requests have in a row'
				ELSE 'deliveries of a subscription were given up: see booking.outbox where state is dead'
				END AS message,
		   ARRAY[CASE WHEN s.state OPERATOR(pg_catalog.=) 'disabled'
					  THEN pg_catalog.format('SELECT booking_subscription_put(%L, %L)',
											 s.tenant, s.name) END,
				 CASE WHEN q.dead OPERATOR(pg_catalog.>) 0
					  THEN pg_catalog.format('SELECT booking_subscription_replay(%L, %L, %s)',
											 s.tenant, s.name, q.first_dead) END,
				 CASE WHEN s.failures OPERATOR(pg_catalog.>) 0
					   AND s.state OPERATOR(pg_catalog.=) 'enabled'
					  THEN pg_catalog.format('SELECT booking_subscription_put(%L, %L, url)',
											 s.tenant, s.name) END,
				 pg_catalog.format('SELECT booking_subscription_remove(%L, %L)',
								   s.tenant, s.name)] AS calls
	  FROM booking.subscription s
 CROSS JOIN LATERAL
	   (SELECT pg_catalog.count(*) FILTER (WHERE o.state OPERATOR(pg_catalog.=) 'waiting') AS waiting,
			   pg_catalog.min(o.queued_at) FILTER (WHERE o.state OPERATOR(pg_catalog.=) 'waiting') AS oldest_at,
			   pg_catalog.count(*) FILTER (WHERE o.state OPERATOR(pg_catalog.=) 'dead') AS dead,
			   pg_catalog.min(o."position") FILTER (WHERE o.state OPERATOR(pg_catalog.=) 'dead') AS first_dead
		  FROM booking.outbox o
		 WHERE o.subscription_id OPERATOR(pg_catalog.=) s.subscription_id) q
	 WHERE s.state OPERATOR(pg_catalog.=) 'disabled'
		OR s.failures OPERATOR(pg_catalog.>) 0
		OR q.dead OPERATOR(pg_catalog.>) 0;
COMMENT ON VIEW booking.subscription_trouble IS 'subscriptions that are disabled, fail, or have deliveries that were given up, and which calls go on; NULL among calls is none';

ALTER VIEW booking.subscription_trouble SET (security_invoker = true);
COMMENT ON COLUMN booking.subscription_trouble.tenant IS 'whose changes are sent';
COMMENT ON COLUMN booking.subscription_trouble.name IS 'name of the subscription';
COMMENT ON COLUMN booking.subscription_trouble.state IS 'enabled or disabled';
COMMENT ON COLUMN booking.subscription_trouble.circuit_open IS 'one request at a time is tried, after blocked_until';
COMMENT ON COLUMN booking.subscription_trouble.failures IS 'requests that failed in a row';
COMMENT ON COLUMN booking.subscription_trouble.failed_at IS 'when one failed last';
COMMENT ON COLUMN booking.subscription_trouble.blocked_until IS 'nothing is sent before';
COMMENT ON COLUMN booking.subscription_trouble.problem IS 'why the last one failed, or why it is disabled';
COMMENT ON COLUMN booking.subscription_trouble.waiting IS 'deliveries that wait';
COMMENT ON COLUMN booking.subscription_trouble.oldest_at IS 'since when the oldest of them does';
COMMENT ON COLUMN booking.subscription_trouble.dead IS 'deliveries that were given up and are kept';
COMMENT ON COLUMN booking.subscription_trouble.message IS 'a few words on it';
COMMENT ON COLUMN booking.subscription_trouble.calls IS 'statements that are allowed next; what they leave open is for a person to fill in';
COMMENT ON SEQUENCE booking.subscription_id_seq IS 'numbers of subscriptions';
COMMENT ON SEQUENCE booking.outbox_id_seq IS 'numbers of deliveries to subscribers';

ALTER TABLE booking.subscription ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.subscription FOR SELECT USING
	(tenant OPERATOR(pg_catalog.=) ANY (ARRAY(SELECT b.tenant FROM booking.bound_tenant b)));
ALTER TABLE booking.outbox ENABLE ROW LEVEL SECURITY;
CREATE POLICY reader ON booking.outbox FOR SELECT USING
	(subscription_id OPERATOR(pg_catalog.=) ANY
	 (ARRAY(SELECT p.subscription_id FROM booking.subscription p)));
ALTER TABLE booking.subscription_secret ENABLE ROW LEVEL SECURITY;

CREATE FUNCTION @extschema@.booking_subscription_put(
	tenant text, name text, url text DEFAULT NULL, secret text DEFAULT NULL,
	filter jsonb DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_subscription_put'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_subscription_put(text, text, text, text, jsonb) IS
	'create, change or enable who is sent the changes of a tenant; what is NULL stays as it is';

CREATE FUNCTION @extschema@.booking_subscription_secret_put(
	tenant text, name text, secret text)
RETURNS integer
AS 'MODULE_PATHNAME', 'booking_subscription_secret_put'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_subscription_secret_put(text, text, text) IS
	'sign with one more secret, and return its number';

CREATE FUNCTION @extschema@.booking_subscription_secret_retire(
	tenant text, name text, number integer)
RETURNS integer
AS 'MODULE_PATHNAME', 'booking_subscription_secret_retire'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_subscription_secret_retire(text, text, integer) IS
	'sign with a secret no more, and return how many are left; the last one stays';

CREATE FUNCTION @extschema@.booking_subscription_disable(tenant text, name text)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_subscription_disable'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_subscription_disable(text, text) IS
	'send nothing until it is put again; what waits is given up, and may be replayed';

CREATE FUNCTION @extschema@.booking_subscription_remove(tenant text, name text)
RETURNS void
AS 'MODULE_PATHNAME', 'booking_subscription_remove'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_subscription_remove(text, text) IS
	'remove a subscription with its secrets and deliveries';

CREATE FUNCTION @extschema@.booking_subscription_replay(
	tenant text, name text, "position" bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'booking_subscription_replay'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_subscription_replay(text, text, bigint) IS
	'send what is kept from a position on again, under the same ids, and return how many deliveries that are';

CREATE FUNCTION @extschema@.booking_subscriptions(
	tenant text,
	OUT name text, OUT state text, OUT url text, OUT filter jsonb,
	OUT circuit_open boolean, OUT failures integer, OUT problem text,
	OUT failed_at timestamptz, OUT blocked_until timestamptz,
	OUT delivered_at timestamptz, OUT delivered bigint, OUT failed bigint,
	OUT dead bigint, OUT waiting bigint, OUT secret_numbers integer[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'booking_subscriptions'
LANGUAGE C VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp SET enable_seqscan = off;
COMMENT ON FUNCTION @extschema@.booking_subscriptions(text) IS
	'the subscriptions of a tenant, and how they fare';

REVOKE ALL ON FUNCTION @extschema@.booking_subscription_put(text, text, text, text, jsonb) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_subscription_secret_put(text, text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_subscription_secret_retire(text, text, integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_subscription_disable(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_subscription_remove(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_subscription_replay(text, text, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.booking_subscriptions(text) FROM PUBLIC;
