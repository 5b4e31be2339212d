-- test/bench/sync.sql
--
-- An account on the server at :port, whose calendars are read, and the table of
-- the rival, which has the same columns and indexes.

\set ON_ERROR_STOP on
SET client_min_messages = error;

SELECT booking_account_put('bench', 'listed', 'caldav',
	'http://127.0.0.1:' || :port || '/');
SELECT booking_credential_put('bench', 'listed',
	'{"type": "basic", "username": "u", "password": "p"}');
SELECT booking_resource_put('bench', 'room');

CREATE TABLE rival.event (LIKE booking.event INCLUDING ALL);
