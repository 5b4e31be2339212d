-- A claim that is already recorded, with the same payload.  Divides by zero,
-- which ends the run, if the answer is anything but history.
\set u random(0, 9999)
\set s (:u * 7368787) % 10000000
\set q :s / 10000
\set r :s % 10000
\set p :u % 100
SELECT 1 / (disposition = 'historical_retry')::int
  FROM booking_claim('bench', 'p' || :p::text, 'i' || :u::text, 'r' || :r::text,
	tstzrange('2030-01-01 00:00:00+00'::timestamptz + :q::int * interval '15 minutes',
		'2030-01-01 00:15:00+00'::timestamptz + :q::int * interval '15 minutes'),
	terms => '{"purpose": "bench"}');
