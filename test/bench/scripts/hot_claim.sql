-- One hot resource: claim a random hour or less of two days, and cancel the
-- claim if it was committed.
\set u :base + :n * :clients + :client_id
\set n :n + 1
\set q random(0, 199)
\set len random(1, 4)
\set p :u % 100
SELECT ((booking_claim('bench', 'p' || :p::text, 'i' || :u::text, 'hot',
	tstzrange('2030-01-01 00:00:00+00'::timestamptz + :q::int * interval '15 minutes',
		'2030-01-01 00:00:00+00'::timestamptz + (:q::int + :len::int) * interval '15 minutes'),
	terms => '{"purpose": "bench"}')).disposition = 'committed')::int AS won
\gset
\if :won
SELECT (booking_cancel('bench', 'p' || :p::text, 'i' || :u::text)).disposition;
\endif
