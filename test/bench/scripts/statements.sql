-- The claim of claim.sql as statements of a client, as few as the guarantees
-- allow: all locks, everything to be read, and the two rows.  What is read
-- decides, so the client waits for each answer.
\set u :base + :n * :clients + :client_id
\set n :n + 1
\set s (:u * 7368787) % 10000000
\set q :s / 10000
\set r :s % 10000
\set p :u % 100
BEGIN;
SELECT pg_advisory_xact_lock_shared(19265, hashtext('bench') & 1023),
	pg_advisory_xact_lock_shared(19266, hashtext('bench' || E'\n' || 'p' || :p::text) & 1023),
	pg_advisory_xact_lock(19267, hashtext('bench' || E'\n' || 'p' || :p::text || E'\n' || 'i' || :u::text) & 4095),
	pg_advisory_xact_lock_shared(19268, hashtext('bench' || E'\n' || 'r' || :r::text));
SELECT r.resource_id, r.version,
	CASE WHEN coalesce(
		(SELECT p.allowed FROM rival.permission p
		  WHERE p.tenant = 'bench' AND p.principal = 'p' || :p::text
			AND p.resource = 'r' || :r::text),
		(SELECT p.allowed FROM rival.permission p
		  WHERE p.tenant = 'bench' AND p.principal = 'p' || :p::text
			AND p.resource = ''))
		AND EXISTS (SELECT FROM rival.role_binding b
					 WHERE b.tenant = 'bench' AND b.role = current_user)
		AND NOT EXISTS (SELECT FROM rival.intent i
						 WHERE i.tenant = 'bench' AND i.principal = 'p' || :p::text
						   AND i.intent = 'i' || :u::text)
	THEN 1 ELSE 0 END AS new
  FROM rival.resource r
 WHERE r.tenant = 'bench' AND r.resource = 'r' || :r::text
\gset
\if :new
INSERT INTO rival.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
VALUES (nextval('rival.intent_id_seq'), :resource_id, 0, 0,
	tstzrange('2030-01-01 00:00:00+00'::timestamptz + :q::int * interval '15 minutes',
		'2030-01-01 00:15:00+00'::timestamptz + :q::int * interval '15 minutes'),
	'bench')
ON CONFLICT ON CONSTRAINT reservation_lane_excl DO NOTHING
RETURNING intent_id
\gset
INSERT INTO rival.intent (intent_id, created_at, changed_at, version, units,
	tenant, principal, intent, disposition, state, receipt, resources, during,
	terms, created_role, changed_role)
VALUES (:intent_id, now(), now(), 1, 1, 'bench', 'p' || :p::text,
	'i' || :u::text, 'committed', 'committed',
	'local:' || replace(gen_random_uuid()::text, '-', ''),
	ARRAY['r' || :r::text],
	tstzrange('2030-01-01 00:00:00+00'::timestamptz + :q::int * interval '15 minutes',
		'2030-01-01 00:15:00+00'::timestamptz + :q::int * interval '15 minutes'),
	'{"purpose": "bench"}', current_user, current_user);
\endif
COMMIT;
