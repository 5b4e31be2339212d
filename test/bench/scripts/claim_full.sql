-- A new claim of a quarter of an hour that is free, of one of 16 resources whose
-- calendar has 10,000 events of other people.
\set u :base + :n * :clients + :client_id
\set n :n + 1
\set r :u % 16
\set h :u / 16
\set p :u % 100
SELECT (booking_claim('bench', 'p' || :p::text, 'i' || :u::text, 'full' || :r::text,
	tstzrange('2030-01-01 00:30:00+00'::timestamptz + :h::int * interval '1 hour',
		'2030-01-01 00:45:00+00'::timestamptz + :h::int * interval '1 hour'),
	terms => '{"purpose": "bench"}')).disposition;
