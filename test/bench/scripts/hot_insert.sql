-- The traffic of hot_claim.sql with bare rows: insert ... on conflict, delete.
\set u :base + :n * :clients + :client_id
\set n :n + 1
\set q random(0, 199)
\set len random(1, 4)
WITH i AS (
	INSERT INTO rival.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
	VALUES (:u::bigint, :hot::bigint, 0, 0,
		tstzrange('2030-01-01 00:00:00+00'::timestamptz + :q::int * interval '15 minutes',
		'2030-01-01 00:00:00+00'::timestamptz + (:q::int + :len::int) * interval '15 minutes'),
		'bench')
	ON CONFLICT ON CONSTRAINT reservation_lane_excl DO NOTHING
	RETURNING intent_id)
SELECT count(*) AS won FROM i
\gset
\if :won
DELETE FROM rival.reservation WHERE intent_id = :u::bigint;
\endif
