-- test/bench/foreign.sql
--
-- 16 resources each whose calendar has 10,000 events of other people, or none:
-- "full" and "free".  An event takes the first quarter of every hour.  They are
-- put where a reading would have put them, and nothing is read.

\set ON_ERROR_STOP on
SET client_min_messages = error;

SELECT booking_account_put('bench', 'elsewhere', 'caldav', 'http://127.0.0.1:1/');
SELECT count(booking_resource_put('bench', kind || i))
  FROM generate_series(0, 15) i, unnest('{full, free}'::text[]) kind;
SELECT count(booking_calendar_put('bench', kind || i, 'elsewhere',
		'/' || kind || i || '/', kind || i, 'busy')::text)
  FROM generate_series(0, 15) i, unnest('{full, free}'::text[]) kind;
UPDATE booking.cursor SET next_at = 'infinity';

INSERT INTO booking.event (calendar_id, seen_round, object, during, busy, status,
	transparency, uid, etag)
SELECT calendar_id, 1, '/' || calendar || '/' || n || '.ics',
	tstzrange('2030-01-01 00:00:00+00'::timestamptz + n * interval '1 hour',
		'2030-01-01 00:15:00+00'::timestamptz + n * interval '1 hour'),
	true, 'confirmed', 'opaque', 'e' || n, '1'
  FROM booking.calendar, generate_series(0, 9999) n
 WHERE calendar LIKE 'full%';
VACUUM ANALYZE booking.event;
