-- A new claim of a quarter of an hour that is free, on one of 64 resources with
-- a calendar.  One client only; :base is the first number.
\set u :base + :n
\set n :n + 1
\set q :u / 64
\set r :u % 64
SELECT (booking_claim('bench', 'p0', 'event' || :u::text, 'cal' || :r::text,
	tstzrange('2030-01-01 00:00:00+00'::timestamptz + :q::int * interval '15 minutes',
		'2030-01-01 00:15:00+00'::timestamptz + :q::int * interval '15 minutes'),
	terms => '{"event": {"summary": "bench", "description": "An hour with the team, in the room on the second floor"}}')).disposition;
