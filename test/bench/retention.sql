-- test/bench/retention.sql
--
-- :past bookings that were over long ago, as claims leave them, for booking_retain
-- to purge.  Written without claims, which would take longer than all the rest.

\set ON_ERROR_STOP on
SET client_min_messages = warning;

INSERT INTO booking.intent (intent_id, created_at, changed_at, version, units, tenant, principal, intent,
	disposition, state, receipt, resources, during, terms, evidence, created_role, changed_role)
SELECT nextval('booking.intent_id_seq'), '2020-01-01 00:00:00+00', '2020-01-01 00:00:00+00', 1, 1, 'bench',
	'p' || n % 100, 'old' || n, 'committed', 'committed', 'local:' || md5(n::text), ARRAY['r' || n % 10000],
	tstzrange('2020-01-01 00:00:00+00'::timestamptz + n / 10000 * interval '15 minutes',
		'2020-01-01 00:15:00+00'::timestamptz + n / 10000 * interval '15 minutes'),
	jsonb_build_object('event', jsonb_build_object('summary', 'Check-up of somebody, number ' || n,
		'attendees', jsonb_build_array(jsonb_build_object('email', 'somebody' || n || '@example.org')))),
	jsonb_build_object('call', md5(n::text)), 'bench_app', 'bench_app'
  FROM generate_series(0, :past - 1) n;

INSERT INTO booking.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
SELECT i.intent_id, r.resource_id, 1, 0, i.during, i.tenant
  FROM booking.intent i JOIN booking.resource r ON r.tenant = i.tenant AND r.resource = i.resources[1];

ANALYZE booking.intent, booking.reservation;
