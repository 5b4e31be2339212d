--
-- sync.sql: cursors, and asking for a round
--
-- Each calendar has a cursor from its first booking_calendar_put to its removal.
-- A request is a row, which exists when the transaction commits and waits for
-- nobody; as long as no round has taken one up, another one adds nothing.  What
-- rounds do is the worker's, which does not run here: what it leaves behind is
-- written by hand.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM booking_resource_put('sync', 'room');
SELECT FROM booking_account_put('sync', 'acc', 'caldav', 'https://calendar.example.org/dav/');

CREATE FUNCTION test.cursor(c text)
RETURNS text
LANGUAGE sql
AS $$
	SELECT concat_ws(' ', 'round ' || round, 'watermark ' || watermark, 'failures ' || failures, CASE WHEN parked THEN 'parked' END,
					 CASE WHEN full_pass THEN 'full' END, token, page, full_reason, problem, CASE WHEN started_at IS NOT NULL THEN 'started' END,
					 CASE WHEN next_at <= clock_timestamp() THEN 'due' END)
	  FROM booking.cursor JOIN booking.calendar USING (calendar_id) WHERE tenant = 'sync' AND calendar = c;
$$;
CREATE FUNCTION test.requests(c text)
RETURNS bigint
LANGUAGE sql
AS $$SELECT count(*) FROM booking.sync_request JOIN booking.calendar USING (calendar_id) WHERE tenant = 'sync' AND calendar = c$$;

-- A cursor comes with the calendar, of either role, and stays as it is when the
-- calendar stays where it is.
SELECT FROM booking_calendar_put('sync', 'write', 'acc', '/u/write/', 'room');
SELECT FROM booking_calendar_put('sync', 'busy', 'acc', '/u/busy/', 'room', 'busy');
SELECT same('a cursor', cursor('write'), 'round 0 watermark 0 failures 0 full due');
SELECT same('of a busy calendar too', cursor('busy'), 'round 0 watermark 0 failures 0 full due');
UPDATE booking.cursor SET round = 3, watermark = 3, full_pass = false, token = 'sync:a', page = 'sync:b', full_reason = 'first', next_at = 'infinity',
	started_at = '2030-01-01 00:00+00', failures = 2, problem = 'lost';
SELECT FROM booking_calendar_put('sync', 'write', 'acc', '/u/write/');
SELECT same('the same place', cursor('write'), 'round 3 watermark 3 failures 2 sync:a sync:b first lost started');

-- Elsewhere, or parked, it begins anew; whoever reads it sees another round.
SELECT FROM booking_calendar_put('sync', 'write', 'acc', '/u/other/', 'room');
SELECT same('another place', cursor('write'), 'round 4 watermark 3 failures 0 full calendar_put due');
UPDATE booking.cursor SET parked = true, problem = 'token_expired', next_at = 'infinity', full_pass = false, full_reason = NULL;
SELECT FROM booking_calendar_put('sync', 'write', 'acc', '/u/other/', 'room');
SELECT same('parked, put again', cursor('write'), 'round 5 watermark 3 failures 0 full calendar_put due');
SELECT same('others stay parked', cursor('busy'), 'round 3 watermark 3 failures 2 parked sync:a sync:b token_expired started');
SELECT FROM booking_account_put('sync', 'acc', 'caldav', 'https://calendar.example.org/dav/');
SELECT same('the account where it was', cursor('busy'), 'round 3 watermark 3 failures 2 parked sync:a sync:b token_expired started');
SELECT FROM booking_account_put('sync', 'acc', 'caldav', 'https://other.example.org/');
SELECT same('the account elsewhere', cursor('busy'), 'round 4 watermark 3 failures 0 full account_put due');

-- A new credential makes what failed be tried at once, and nothing else.
UPDATE booking.cursor SET failures = 1, next_at = 'infinity' WHERE calendar_id = (SELECT calendar_id FROM booking.calendar WHERE tenant = 'sync' AND calendar = 'busy');
UPDATE booking.cursor SET next_at = 'infinity' WHERE calendar_id = (SELECT calendar_id FROM booking.calendar WHERE tenant = 'sync' AND calendar = 'write');
SET client_min_messages = error;
SELECT FROM booking_credential_put('sync', 'acc', '{"type": "bearer", "token": "t"}');
SET client_min_messages = warning;
SELECT same('failed: now', cursor('busy'), 'round 4 watermark 3 failures 1 full account_put due');
SELECT same('not failed: when it is due', cursor('write'), 'round 6 watermark 3 failures 0 full account_put');

-- Requests.
SELECT fails('no such calendar', $$SELECT booking_sync('sync', 'nowhere')$$, '42704', 'calendar');
SELECT fails('another tenant''s', $$SELECT booking_sync('sync 2', 'write')$$, '42704', 'calendar');
BEGIN;
SELECT FROM booking_sync('sync', 'write');
ROLLBACK;
SELECT same('rolled back', requests('write'), 0);
SELECT FROM booking_sync('sync', 'write'), generate_series(1, 10);
SELECT FROM booking_sync('sync', 'write');
SELECT FROM booking_sync('sync', 'busy');
SELECT same('asked for often, wanted once', requests('write'), 1);
SELECT same('each calendar by itself', requests('busy'), 1);
UPDATE booking.sync_request SET round = 6;
SELECT FROM booking_sync('sync', 'write'), generate_series(1, 10);
SELECT same('a round took it up: one more', requests('write'), 2);
SELECT same('the cursor is nobody''s but the worker''s', cursor('write'), 'round 6 watermark 3 failures 0 full account_put');

-- Waiting: not within a transaction, and not for nothing.
SELECT fails('in a function', $$DO $d$DECLARE r jsonb; BEGIN CALL booking_sync_wait('sync', 'write', r); END$d$ $$, '2D000');
\set VERBOSITY sqlstate
CALL booking_sync_wait('sync', 'nowhere');
UPDATE booking.cursor SET parked = true, problem = 'token_expired' WHERE calendar_id = (SELECT calendar_id FROM booking.calendar WHERE tenant = 'sync' AND calendar = 'busy');
CALL booking_sync_wait('sync', 'busy');
UPDATE booking.account SET parked = true, problem = 'auth_refused' WHERE tenant = 'sync';
CALL booking_sync_wait('sync', 'write');
SET statement_timeout = '100ms';
UPDATE booking.account SET parked = false WHERE tenant = 'sync';
CALL booking_sync_wait('sync', 'write');
RESET statement_timeout;

-- What is known of a calendar goes with it.
INSERT INTO booking.event (calendar_id, seen_round, object, during, busy, status, transparency)
SELECT calendar_id, 1, '/u/' || calendar, h(9, 10), true, 'confirmed', 'opaque' FROM booking.calendar WHERE tenant = 'sync';
SELECT FROM booking_calendar_remove('sync', 'busy');
SELECT same('events', (SELECT string_agg(object, ' ') FROM booking.event WHERE object LIKE '/u/%'), '/u/write');
SELECT same('cursor and requests', (SELECT count(*) FROM booking.cursor k FULL JOIN booking.sync_request r USING (calendar_id)
			WHERE NOT EXISTS (SELECT FROM booking.calendar c WHERE c.calendar_id IN (k.calendar_id, r.calendar_id))), 0);
SELECT FROM booking_calendar_remove('sync', 'write');
SELECT FROM booking_account_remove('sync', 'acc');

SELECT done();
