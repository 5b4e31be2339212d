-- A new claim on one of 1,000 resources of capacity 20, where ten bookings
-- overlap it.
\set u :base + :n * :clients + :client_id
\set n :n + 1
\set s (:u * 7368787) % 10000000
\set q :s / 10000
\set r :s % 10000
\set p :u % 100
\set r :r % 1000
\set q :u / 1000
SELECT (booking_claim('bench', 'p' || :p::text, 'i' || :u::text, 'seats' || :r::text,
	tstzrange('2030-01-01 00:00:00+00'::timestamptz + :q::int * interval '15 minutes',
		'2030-01-01 00:15:00+00'::timestamptz + :q::int * interval '15 minutes'),
	terms => '{"purpose": "bench"}')).disposition;
