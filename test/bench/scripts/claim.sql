-- A new claim of a quarter of an hour that is free, on one of 10,000 resources
-- of capacity 1.  Also with a million bookings present.
\set u :base + :n * :clients + :client_id
\set n :n + 1
\set s (:u * 7368787) % 10000000
\set q :s / 10000
\set r :s % 10000
\set p :u % 100
SELECT (booking_claim('bench', 'p' || :p::text, 'i' || :u::text, 'r' || :r::text,
	tstzrange('2030-01-01 00:00:00+00'::timestamptz + :q::int * interval '15 minutes',
		'2030-01-01 00:15:00+00'::timestamptz + :q::int * interval '15 minutes'),
	terms => '{"purpose": "bench"}')).disposition;
