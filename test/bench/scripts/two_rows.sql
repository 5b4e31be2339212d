-- The two rows of the claim of claim.sql, unchecked, in one statement.
\set u :base + :n * :clients + :client_id
\set n :n + 1
\set s (:u * 7368787) % 10000000
\set q :s / 10000
\set r :s % 10000
\set p :u % 100
WITH i AS (
	INSERT INTO rival.intent (created_at, changed_at, version, units, tenant,
		principal, intent, disposition, state, receipt, resources, during, terms,
		created_role, changed_role)
	VALUES (now(), now(), 1, 1, 'bench', 'p' || :p::text, 'i' || :u::text,
		'committed', 'committed',
		'local:' || replace(gen_random_uuid()::text, '-', ''),
		ARRAY['r' || :r::text],
		tstzrange('2030-01-01 00:00:00+00'::timestamptz + :q::int * interval '15 minutes',
		'2030-01-01 00:15:00+00'::timestamptz + :q::int * interval '15 minutes'),
		'{"purpose": "bench"}', 'bench_app', 'bench_app')
	RETURNING intent_id, during)
INSERT INTO rival.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
SELECT intent_id, :r::bigint + 1, 0, 0, during, 'bench' FROM i;
