-- The traffic of hot_claim.sql under a lock of the resource's row.
\set u :base + :n * :clients + :client_id
\set n :n + 1
\set q random(0, 199)
\set len random(1, 4)
SELECT rival.row_lock_insert(:u::bigint, 'hot',
	tstzrange('2030-01-01 00:00:00+00'::timestamptz + :q::int * interval '15 minutes',
		'2030-01-01 00:00:00+00'::timestamptz + (:q::int + :len::int) * interval '15 minutes'))::int AS won
\gset
\if :won
DELETE FROM rival.reservation WHERE intent_id = :u::bigint;
\endif
