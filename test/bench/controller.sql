-- test/bench/controller.sql
--
-- 64 calendars of 8 accounts on the server at :port, each the calendar of one
-- resource.  An account takes 16 requests at a time, so what limits them is
-- booking.max_in_flight.

\set ON_ERROR_STOP on
SET client_min_messages = error;

SELECT count(booking_account_put('bench', 'a' || i, 'caldav',
		'http://127.0.0.1:' || :port || '/', '{"busy_blocks": "none"}')::text),
	count(booking_credential_put('bench', 'a' || i,
		'{"type": "basic", "username": "u", "password": "p"}')::text)
  FROM generate_series(0, 7) i;
SELECT count(booking_resource_put('bench', 'cal' || i))
  FROM generate_series(0, 63) i;
SELECT count(booking_calendar_put('bench', 'cal' || i, 'a' || i % 8,
		'/cal' || i || '/', 'cal' || i)::text)
  FROM generate_series(0, 63) i;
