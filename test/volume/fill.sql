-- test/volume/fill.sql
--
-- Fill a database with as many intents as a site has after years: most of them
-- settled long ago, and some that are open.  For measuring what must not depend on
-- how much is settled.
--
--	psql -v intents=10000000 -v open=1000 -f test/volume/fill.sql
--
-- Rows are written as they are and not by claims, which would take an hour; there
-- are no reservations, which nothing that is measured reads.  As superuser, into a
-- database with the extension and nothing else, while booking.worker is off.

\set ON_ERROR_STOP on
\pset format unaligned
\pset tuples_only on
SET synchronous_commit = off;
SET work_mem = '64MB';

SELECT count(booking_resource_put('t', 'room ' || g)) FROM generate_series(1, 1000) g;
SELECT booking_account_put('t', 'a', 'caldav', 'https://calendars.example.org/');
SELECT count(*) FROM (SELECT booking_calendar_put('t', 'calendar ' || g, 'a',
	'https://calendars.example.org/' || g || '/', 'room ' || g)
	FROM generate_series(1, 1000) g OFFSET 0) c;
UPDATE booking.cursor SET finished_at = now() - calendar_id * interval '1 second', full_at = now();

BEGIN;

-- of a hundred settled ones 55 are local, 25 have an event, 10 are canceled, 6 were
-- refused, 3 failed and one needs another proposal
INSERT INTO booking.intent (intent_id, created_at, changed_at, version, units, tenant,
	principal, intent, disposition, state, remote, event, receipt, resources, during,
	terms, created_role, changed_role)
SELECT g, at, at, 1, 1, 't', 'p' || g % 5000, 'i' || g,
	CASE s.state WHEN 'conflict' THEN 'resource_conflict' WHEN 'canceled' THEN 'canceled'
		WHEN 'failed' THEN 'failed' WHEN 'needs_proposal' THEN 'needs_proposal'
		ELSE 'committed' END,
	s.state,
	CASE WHEN s.state IN ('committed', 'conflict', 'needs_proposal') THEN 'not_required'
		WHEN s.state = 'created' THEN 'confirmed' WHEN s.state = 'canceled' THEN 'confirmed'
		WHEN s.state = 'failed' THEN 'rejected' WHEN s.state = 'approved' THEN 'not_attempted'
		ELSE 'pending_reconciliation' END,
	CASE s.state WHEN 'created' THEN 'present' WHEN 'canceled' THEN 'absent'
		WHEN 'failed' THEN 'absent' WHEN 'unknown' THEN 'unknown' ELSE 'none' END,
	CASE WHEN s.state NOT IN ('conflict') THEN 'local:' || md5(g::text) END,
	ARRAY['room ' || 1 + g % 1000],
	tstzrange(at + interval '30 days', at + interval '30 days 1 hour'),
	'{"event": {"summary": "A meeting"}}', 'app', 'app'
FROM generate_series(1, :intents::bigint) g
CROSS JOIN LATERAL (SELECT timestamptz '2020-01-01 00:00+00' + g * interval '15 seconds' AS at) t
CROSS JOIN LATERAL (SELECT CASE
	WHEN g > :intents - :open AND g % 2 = 0 THEN 'approved'
	WHEN g > :intents - :open THEN 'unknown'
	WHEN g % 100 < 55 THEN 'committed' WHEN g % 100 < 80 THEN 'created'
	WHEN g % 100 < 90 THEN 'canceled' WHEN g % 100 < 96 THEN 'conflict'
	WHEN g % 100 < 99 THEN 'failed' ELSE 'needs_proposal' END AS state) s;
SELECT setval('booking.intent_id_seq', :intents);

-- of what is open a half waits, and of the rest one in ten is parked
INSERT INTO booking.operation (operation_id, intent_id, created_at, changed_at, next_at,
	epoch, tries, uncertain, tenant, account, calendar, kind, state, event_id, href,
	problem)
SELECT i.intent_id, i.intent_id, i.created_at, i.changed_at,
	CASE WHEN i.state IN ('approved', 'unknown') THEN now() - interval '1 hour' ELSE i.changed_at END,
	1, 1, i.state = 'unknown', 't', 'a', 'calendar ' || 1 + i.intent_id % 1000,
	CASE i.state WHEN 'canceled' THEN 'cancel' ELSE 'create' END,
	CASE WHEN i.state IN ('created', 'canceled') THEN 'confirmed'
		WHEN i.state = 'failed' THEN 'rejected' WHEN i.state = 'approved' THEN 'waiting'
		WHEN i.intent_id % 20 = 1 THEN 'parked' ELSE 'unknown' END,
	'e' || i.intent_id, '/e' || i.intent_id,
	CASE WHEN i.state = 'approved' AND i.intent_id % 20 = 0 THEN 'calendar_unread' END
FROM booking.intent i
WHERE i.state IN ('created', 'canceled', 'failed', 'approved', 'unknown');
SELECT setval('booking.operation_id_seq', :intents);

-- what was tried for those that are open, and for some of the others
INSERT INTO booking.attempt (operation_id, at, epoch, phase, mark, status)
SELECT o.operation_id, o.changed_at, 1, 'send', m.mark, 503
FROM booking.operation o CROSS JOIN unnest('{begun,unknown}'::text[]) m (mark)
WHERE o.state IN ('unknown', 'parked') OR o.operation_id % 4 = 0;

-- proposals, deliveries and conflicts, settled but for some
INSERT INTO booking.proposal (intent_id, version, units, proposed_at, decided_at, state,
	resources, during, terms, snapshot, proposed_role)
SELECT i.intent_id, 1, 1, i.created_at, i.changed_at, 'lapsed', i.resources, i.during,
	i.terms, '{}', 'app'
FROM booking.intent i WHERE i.state = 'needs_proposal';
INSERT INTO booking.inbox (received_at, source, tenant, verdict, state, booking, dedupe, body)
SELECT now(), 's', 't', 'accepted', CASE WHEN g <= 20 THEN 'failed' ELSE 'applied' END,
	'b' || g, 'd' || g, 'body'
FROM generate_series(1, :intents / 10) g;
INSERT INTO booking.conflict (found_at, resolved_at, intent_id, calendar_id, kind, tenant, object)
SELECT now(), CASE WHEN g > 20 THEN now() END, g, 1 + g % 1000,
	CASE g % 4 WHEN 0 THEN 'orphan' WHEN 1 THEN 'missing' WHEN 2 THEN 'moved' ELSE 'overlap' END,
	't', 'o' || g
FROM generate_series(1, :intents / 10) g;
COMMIT;

VACUUM (ANALYZE) booking.intent, booking.operation, booking.attempt, booking.proposal,
	booking.inbox, booking.conflict, booking.cursor, booking.calendar, booking.resource;
