--
-- accounts.sql: accounts, calendars, and what the ledger wants of a provider
--
-- A claim of a resource with a write calendar records, in its own transaction,
-- that an event is wanted; everything after that is the worker's, which does
-- not run here.  What was never sent is dropped by a cancel or an exchange, and
-- what only a person can settle is said with booking_resolve.  States that only
-- a worker brings about are written by hand, along the arrows that the guard
-- allows.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM booking_permit_all('accounts', 'p');
SELECT FROM unnest('{room,hall,desk,local}'::text[]) r, booking_resource_put('accounts', r);

-- Accounts: made, changed, kept where NULL is given.
CREATE FUNCTION test.account(a text)
RETURNS text
LANGUAGE sql
AS $$
	SELECT concat_ws(' ', provider, base_url, settings, CASE WHEN parked THEN 'parked' END, problem, blocked_until IS NOT NULL)
	  FROM booking.account WHERE tenant = 'accounts' AND account = a;
$$;
SELECT FROM booking_account_put('accounts', 'acc', 'caldav', 'https://calendar.example.org/dav/', '{"x": 1}');
SELECT same('account', account('acc'), 'caldav https://calendar.example.org/dav/ {"x": 1} f');
SELECT same('an account arms', (SELECT count(*) FROM booking.site WHERE length(event_key) = 32 AND system_identifier = (SELECT system_identifier FROM pg_control_system())
			AND database_oid = (SELECT oid FROM pg_database WHERE datname = current_database())), 1);
SELECT event_key::text AS key FROM booking.site \gset
SELECT FROM booking_account_put('accounts', 'acc', 'caldav');
SELECT same('NULL keeps', account('acc'), 'caldav https://calendar.example.org/dav/ {"x": 1} f');
SELECT FROM booking_account_put('accounts', 'acc', 'caldav', 'https://other.example.org', '{}');
SELECT same('replaced', account('acc'), 'caldav https://other.example.org {} f');
SELECT FROM booking_account_put('accounts', 'second', 'caldav', 'http://[2001:db8::1]:5232/');
SELECT same('another one', account('second'), 'caldav http://[2001:db8::1]:5232/ {} f');
SELECT FROM booking_arm();
SELECT same('the key of event ids stays', (SELECT event_key::text FROM booking.site), :'key');

-- Credentials: write-only; a new one lets a parked account be used again.
UPDATE booking.account SET parked = true, problem = 'unauthorized', blocked_until = '2030-01-01 00:00+00' WHERE tenant = 'accounts' AND account = 'acc';
SELECT FROM booking_credential_put('accounts', 'acc', '{"type": "basic", "username": "u", "password": "one"}');
SET client_min_messages = error;
SELECT same('unparked', account('acc'), 'caldav https://other.example.org {} f');
SELECT same('without a key file it is not sealed', (SELECT sealed FROM booking.credential WHERE tenant = 'accounts' AND account = 'acc'), false);
SELECT secret::text AS secret FROM booking.credential WHERE tenant = 'accounts' \gset
SELECT FROM booking_credential_put('accounts', 'acc', '{"type": "bearer", "token": "two"}');
SELECT same('replaced, not added', (SELECT count(*) FROM booking.credential WHERE tenant = 'accounts' AND secret::text <> :'secret'), 1);
SELECT FROM booking_credential_remove('accounts', 'acc');
SELECT FROM booking_credential_remove('accounts', 'acc');
SELECT same('removed, twice', (SELECT count(*) FROM booking.credential WHERE tenant = 'accounts'), 0);
SELECT FROM booking_credential_put('accounts', 'acc', '{"type": "bearer", "token": "two"}');
SELECT FROM booking_credential_put('accounts', 'second', '{"type": "bearer", "token": "three"}');

-- A provider may have a URL of its own; a token goes with the credential it was
-- got for.
SELECT FROM booking_account_put('accounts', 'google', 'google');
SELECT same('its own URL', (SELECT base_url FROM booking.account WHERE account = 'google'), 'https://www.googleapis.com/calendar/v3');
SELECT FROM booking_credential_put('accounts', 'google', '{"type": "refresh_token", "client_id": "c", "refresh_token": "r"}');
INSERT INTO booking.token (tenant, account, sealed, renew_at) VALUES ('accounts', 'google', false, 'infinity');
SELECT FROM booking_credential_put('accounts', 'google', '{"type": "client_credentials", "client_id": "c", "client_secret": "s"}');
SELECT same('another credential, no token', (SELECT count(*) FROM booking.token), 0);
INSERT INTO booking.token (tenant, account, sealed, renew_at) VALUES ('accounts', 'google', false, 'infinity');
SELECT FROM booking_account_remove('accounts', 'google');
SELECT same('no account, no token', (SELECT count(*) FROM booking.token), 0);
SET client_min_messages = warning;
SELECT same('no secret in the audit', (SELECT count(*) FROM booking.audit x WHERE x::text ~ '"(one|two|three)"'), 0);

-- An error must say what stands in the way.
CREATE FUNCTION test.says(label text, statement text, code text, words text)
RETURNS SETOF text
LANGUAGE plpgsql
AS $$
DECLARE
	d text := '';
BEGIN
	BEGIN
		EXECUTE statement;
	EXCEPTION WHEN OTHERS THEN
		GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
	END;
	RETURN QUERY SELECT fails(label, statement, code);
	RETURN QUERY SELECT same(label || ' in words', d, words);
END
$$;

-- Calendars.
CREATE FUNCTION test.writer(r text)
RETURNS text
LANGUAGE sql
AS $$SELECT calendar FROM booking.resource WHERE tenant = 'accounts' AND resource = r$$;
SELECT FROM booking_calendar_put('accounts', 'busy', 'acc', '/u/busy/', 'room', 'busy', 'ann@example.org');
SELECT same('a busy calendar takes no events', writer('room'), NULL);
SELECT FROM booking_calendar_put('accounts', 'cal', 'acc', '/u/cal/', 'room');
SELECT same('a write calendar does', writer('room'), 'cal');
SELECT FROM booking_calendar_put('accounts', 'cal', 'acc', '/u/cal/', 'room');
SELECT same('the same again', writer('room'), 'cal');
SELECT says('a second write calendar', $$SELECT booking_calendar_put('accounts', 'cal 2', 'acc', '/u/cal2/', 'room')$$, '55006', 'Calendar: cal.');
SELECT says('a busy one that wants to write', $$SELECT booking_calendar_put('accounts', 'busy', 'acc', '/u/busy/', 'room')$$, '55006', 'Calendar: cal.');
SELECT same('is still busy', (SELECT role || ' ' || address FROM booking.calendar WHERE tenant = 'accounts' AND calendar = 'busy'), 'busy ann@example.org');
SELECT FROM booking_calendar_put('accounts', 'cal', 'acc', '/u/cal/', 'hall');
SELECT same('moved to another resource', concat_ws(' ', writer('room'), writer('hall')), 'cal');
SELECT FROM booking_calendar_put('accounts', 'cal', 'acc', '/u/cal/', 'hall', 'busy');
SELECT same('no longer written', writer('hall'), NULL);
SELECT FROM booking_calendar_put('accounts', 'cal', 'acc', '/u/cal/', 'room');
SELECT FROM booking_calendar_put('accounts', 'cal hall', 'second', '/u/cal/', 'hall');
SELECT FROM booking_calendar_put('accounts', 'cal desk', 'acc', '/u/cal/', 'desk');
SELECT same('two resources may share a collection', concat_ws(', ', writer('room'), writer('hall'), writer('desk')), 'cal, cal hall, cal desk');
SELECT FROM booking_calendar_put('accounts', 'nobody''s', 'acc', '/u/none/');
SELECT same('no version grew', (SELECT max(version) FROM booking.resource WHERE tenant = 'accounts'), 1);
SELECT says('an account in use', $$SELECT booking_account_remove('accounts', 'acc')$$, '55006', 'Calendars: busy, cal, cal desk, nobody''s.');
SELECT FROM booking_calendar_remove('accounts', 'nobody''s');
SELECT fails('calendar is gone', $$SELECT booking_calendar_remove('accounts', 'nobody''s')$$, '42704', 'calendar');

-- A claim says what it wants; a retry wants nothing more.
CREATE FUNCTION test.wanted(i text)
RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(concat_ws(' ', kind, o.state, o.calendar, account, 'seq ' || sequence), ', ' ORDER BY operation_id)
	  FROM booking.operation o JOIN booking.intent USING (intent_id) WHERE intent.tenant = 'accounts' AND intent = i;
$$;
SELECT same('claim', show(booking_claim('accounts', 'p', 'one', 'room', h(9, 10))), 'committed approved receipt remote=not_attempted');
SELECT same('wants', wanted('one'), 'create waiting cal acc seq 0');
SELECT same('claimed again', show(booking_claim('accounts', 'p', 'one', 'room', h(9, 10))), 'historical_retry approved receipt replayed remote=not_attempted');
SELECT same('status', show(booking_status('accounts', 'p', 'one')), 'historical_retry approved receipt replayed remote=not_attempted');
SELECT same('still wants one', wanted('one'), 'create waiting cal acc seq 0');
SELECT same('units are held', held('accounts', 'p', 'one'), 1);
SELECT same('conflict', show(booking_claim('accounts', 'p', 'late', 'room', h(9.5, 10.5))), 'resource_conflict conflict');
SELECT same('wants nothing', wanted('late'), NULL);
SELECT same('local', show(booking_claim('accounts', 'p', 'local', 'local', h(9, 10))), 'committed committed receipt');
SELECT same('wants nothing', wanted('local'), NULL);
SELECT same('rolled back', sqlstate_of($$SELECT 1 / (SELECT count(*) FILTER (WHERE x.disposition IS NULL) FROM booking_claim('accounts', 'p', 'never', 'room', h(20, 21)) x)$$), '22012');
SELECT same('is not wanted', (SELECT count(*) FROM booking.operation WHERE tenant = 'accounts'), 1);
SELECT same('several resources', show(booking_claim_all('accounts', 'p', 'all', '{desk,room,local}', h(11, 12))), 'committed approved receipt remote=not_attempted');
SELECT same('one event, on the first one''s calendar', wanted('all'), 'create waiting cal desk acc seq 0');
SELECT same('proposal', show(booking_propose('accounts', 'p', 'thought', 'hall', h(9, 10), hold_for => '1 hour')), 'held v1 proposed expires');
SELECT same('wants nothing yet', wanted('thought'), NULL);
SELECT same('approved', show(booking_approve('accounts', 'p', 'p', 'thought', 1)), 'committed approved receipt remote=not_attempted');
SELECT same('wants', wanted('thought'), 'create waiting cal hall second seq 0');
SELECT same('event ids differ, are lower case and say nothing', (SELECT string_agg(DISTINCT CASE WHEN event_id ~ '^[0-9a-v]{52}$' THEN 'id' ELSE event_id END, ' ')
			|| count(DISTINCT event_id) FROM booking.operation WHERE tenant = 'accounts'), 'id3');

-- While something is wanted, the calendar stays.
SELECT says('calendar in use', $$SELECT booking_calendar_remove('accounts', 'cal')$$, '55006', 'Intents: one.');
SELECT same('and is still written', writer('room'), 'cal');
SELECT same('claim', (booking_claim('accounts', 'p', 'also', 'room', h(15, 16))).disposition, 'committed');
SELECT says('two are named', $$SELECT booking_calendar_remove('accounts', 'cal')$$, '55006', 'Intents: also, one.');

-- Canceled before it was sent: never sent.
SELECT same('cancel', show(booking_cancel('accounts', 'p', 'also')), 'canceled canceled receipt remote=not_attempted');
SELECT same('dropped', wanted('also'), 'create dropped cal acc seq 0');
SELECT same('freed', held('accounts', 'p', 'also'), 0);
SELECT same('a late retry wants nothing', show(booking_claim('accounts', 'p', 'also', 'room', h(15, 16))), 'canceled canceled receipt replayed remote=not_attempted');
SELECT same('as before', wanted('also'), 'create dropped cal acc seq 0');

-- Exchanged before it was sent: the new one is another event.
SELECT same('exchange', show(booking_claim('accounts', 'p', 'two', 'room', h(9.5, 10.5), supersedes => 'one')), 'committed approved receipt remote=not_attempted');
SELECT same('the old one was never sent', wanted('one') || ', ' || wanted('two'), 'create dropped cal acc seq 0, create waiting cal acc seq 0');
SELECT same('is canceled', show(booking_status('accounts', 'p', 'one')), 'canceled canceled receipt replayed remote=not_attempted');
SELECT same('ids are used once', (SELECT count(*) - count(DISTINCT event_id) FROM booking.operation WHERE tenant = 'accounts'), 0);

-- What a person may say, and when.  "sent" brings an intent and its operation
-- to where a lost answer leaves them, "parked" to where looking it up ended.
CREATE PROCEDURE test.sent(i text, operation_state text)
LANGUAGE plpgsql
AS $$
DECLARE
	n bigint := (SELECT intent_id FROM booking.intent WHERE tenant = 'accounts' AND intent = i);
BEGIN
	UPDATE booking.intent SET state = 'creating', remote = 'in_flight', event = 'unknown', revision = revision + 1 WHERE intent_id = n;
	UPDATE booking.intent SET state = 'unknown', remote = CASE operation_state WHEN 'parked' THEN 'needs_operator' ELSE 'pending_reconciliation' END,
		   revision = revision + 1 WHERE intent_id = n;
	UPDATE booking.operation SET state = operation_state, epoch = 1, uncertain = true WHERE intent_id = n;
END
$$;
SELECT FROM unnest('{exists,adopt,absent,abandon,canceling,gone}'::text[]) WITH ORDINALITY u (i, n), booking_claim('accounts', 'p', i, 'room', h(100 + n, 101 + n));
SELECT same('unknown intent', show(booking_resolve('accounts', 'p', 'no such', 'exists', '{}')), 'unknown_intent -');
SELECT same('not permitted', show(booking_resolve('accounts', 'q', 'exists', 'exists', '{}')), 'denied -');
SELECT fails('nothing to settle', $$SELECT booking_resolve('accounts', 'p', 'exists', 'exists', '{}')$$, '55000');
SELECT fails('nor of a local one', $$SELECT booking_resolve('accounts', 'p', 'local', 'exists', '{}')$$, '55000');
SELECT same('nothing to release of an unknown one', show(booking_release('accounts', 'p', 'no such', 'why')), 'unknown_intent -');
SELECT fails('nor of one that stands', $$SELECT booking_release('accounts', 'p', 'exists', 'why')$$, '55000');
SELECT fails('nor of a canceled one', $$SELECT booking_release('accounts', 'p', 'also', 'why')$$, '55000');
CALL sent('canceling', 'unknown');
SELECT fails('the worker still looks', $$SELECT booking_resolve('accounts', 'p', 'canceling', 'absent', '{}')$$, '55000');
CALL sent('exists', 'parked');
CALL sent('adopt', 'parked');
CALL sent('absent', 'parked');
CALL sent('abandon', 'parked');
CALL sent('gone', 'parked');
SELECT says('another path while something is uncertain', $$SELECT booking_calendar_put('accounts', 'cal', 'acc', '/u/other/', 'room')$$, '55006',
			'Intents: abandon, absent, adopt, canceling, exists, gone.');
SELECT says('another server', $$SELECT booking_account_put('accounts', 'acc', 'caldav', 'https://third.example.org')$$, '55006',
			'Intents: abandon, absent, adopt, canceling, exists, gone.');
SELECT FROM booking_account_put('accounts', 'acc', 'caldav', 'https://other.example.org', '{"x": 2}');
SELECT FROM booking_account_put('accounts', 'second', 'caldav', 'https://third.example.org');
SELECT same('another server does not get the credential', account('second') || (SELECT count(*) FROM booking.credential WHERE tenant = 'accounts' AND account = 'second'),
			'caldav https://third.example.org {} parked the credential was for another server f0');
SELECT FROM booking_account_put('accounts', 'second', 'caldav');
SELECT same('and without one it is not used', account('second'), 'caldav https://third.example.org {} parked the credential was for another server f');
SET client_min_messages = error;
SELECT FROM booking_credential_put('accounts', 'second', '{"type": "bearer", "token": "four"}');
SELECT same('with a new one it is', account('second'), 'caldav https://third.example.org {} f');
SELECT FROM booking_account_put('accounts', 'second', 'caldav', 'https://THIRD.example.org:443/dav/');
SELECT same('another path is the same server', account('second') || (SELECT count(*) FROM booking.credential WHERE tenant = 'accounts' AND account = 'second'),
			'caldav https://THIRD.example.org:443/dav/ {} f1');
-- credentials left when the account moves from where it has one
CREATE FUNCTION test.moved(url text, provider text DEFAULT 'caldav')
RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM booking_account_put('accounts', 'second', 'caldav', 'https://third.example.org');
	PERFORM booking_credential_put('accounts', 'second', '{"type": "bearer", "token": "four"}');
	PERFORM booking_account_put('accounts', 'second', provider, url);
	RETURN (SELECT count(*) FROM booking.credential WHERE tenant = 'accounts' AND account = 'second');
END
$$;
SELECT same('another scheme, port or host is not', (SELECT string_agg(moved(url), ' ') FROM unnest('{http://third.example.org/,https://third.example.org:444/,https://third.example.org.example.net/}'::text[]) url), '0 0 0');
SELECT same('nor is another provider', moved('https://third.example.org', 'google'), '0');
SELECT FROM booking_account_put('accounts', 'second', 'caldav', 'https://third.example.org');
SELECT FROM booking_credential_put('accounts', 'second', '{"type": "bearer", "token": "four"}');
SET client_min_messages = warning;
SELECT FROM booking_calendar_put('accounts', 'cal hall', 'second', '/u/third/', 'hall');
SELECT same('what was never sent stands in no way', account('second') || ' ' || writer('hall'), 'caldav https://third.example.org {} f cal hall');
SELECT same('recovery', (SELECT string_agg(concat_ws(' ', intent, operation_state, array_length(verdicts, 1), authorized), ', ' ORDER BY intent) FROM booking.recovery WHERE tenant = 'accounts'),
			'abandon parked 4 t, absent parked 4 t, adopt parked 4 t, canceling unknown t, exists parked 4 t, gone parked 4 t');
SELECT same('an unsettled one stands', show(booking_claim('accounts', 'p', 'exists', 'room', h(101, 102))), 'historical_retry unknown receipt replayed remote=needs_operator event=unknown');
SELECT same('and is not exchanged', show(booking_claim('accounts', 'p', 'x', 'room', h(101, 103), supersedes => 'exists')), 'predecessor_unresolved -');
SELECT same('exists', show(booking_resolve('accounts', 'p', 'exists', 'exists', '{"seen by": "ann"}')), 'historical_retry created receipt remote=confirmed event=present');
SELECT same('adopt', show(booking_resolve('accounts', 'p', 'adopt', 'adopt', '{}')), 'historical_retry created receipt remote=confirmed event=present');
SELECT same('absent', show(booking_resolve('accounts', 'p', 'absent', 'absent', '{}')), 'historical_retry approved receipt remote=not_attempted event=absent');
SELECT same('abandon', show(booking_resolve('accounts', 'p', 'abandon', 'abandon', '{}')), 'failed failed receipt remote=rejected event=absent');
SELECT same('operations', concat_ws(', ', wanted('exists'), wanted('adopt'), wanted('absent'), wanted('abandon')),
			'create confirmed cal acc seq 0, create confirmed cal acc seq 0, create waiting cal acc seq 0, create rejected cal acc seq 0');
SELECT same('units', concat_ws(' ', held('accounts', 'p', 'exists'), held('accounts', 'p', 'adopt'), held('accounts', 'p', 'absent'), held('accounts', 'p', 'abandon')), '1 1 1 0');
SELECT fails('once', $$SELECT booking_resolve('accounts', 'p', 'exists', 'exists', '{}')$$, '55000');
SELECT same('each is on record', (SELECT string_agg(concat_ws(' ', intent, phase, mark), ', ' ORDER BY attempt_id) FROM booking.attempt JOIN booking.operation USING (operation_id)
			JOIN booking.intent USING (intent_id) WHERE intent.tenant = 'accounts'), 'exists resolve exists, adopt resolve adopt, absent resolve absent, abandon resolve abandon');
SELECT same('with the evidence', (SELECT evidence::text FROM booking.audit WHERE tenant = 'accounts' AND action = 'resolve' AND intent = 'exists'), '{"seen by": "ann"}');

-- A cancel of what may be there keeps the units until that is known, or until
-- they are released.
SELECT same('cancel', show(booking_cancel('accounts', 'p', 'canceling')), 'canceled canceling receipt remote=pending_reconciliation event=unknown');
SELECT same('kept', held('accounts', 'p', 'canceling'), 1);
SELECT same('release', show(booking_release('accounts', 'p', 'canceling', 'the room is needed')), 'canceled canceling receipt replayed remote=pending_reconciliation event=unknown');
SELECT same('freed', held('accounts', 'p', 'canceling'), 0);
SELECT same('still to be settled', wanted('canceling'), 'create unknown cal acc seq 0');
SELECT same('why is on record', (SELECT detail ->> 'reason' FROM booking.audit WHERE tenant = 'accounts' AND action = 'release'), 'the room is needed');
SELECT same('cancel of a parked one', show(booking_cancel('accounts', 'p', 'gone')), 'canceled canceling receipt remote=needs_operator event=unknown');
SELECT same('nothing is there', show(booking_resolve('accounts', 'p', 'gone', 'absent', '{}')), 'canceled canceled receipt remote=confirmed event=absent');
SELECT same('freed', held('accounts', 'p', 'gone'), 0);
SELECT same('cancel of one that is there', (SELECT concat_ws(' ', disposition, state, event) FROM booking_cancel('accounts', 'p', 'exists')), 'canceled canceling present');
SELECT same('wants it away', wanted('exists'), 'create confirmed cal acc seq 0, cancel waiting cal acc seq 1');
SELECT same('kept meanwhile', held('accounts', 'p', 'exists'), 1);
SELECT same('cancel again', (SELECT concat_ws(' ', disposition, state, event, replayed) FROM booking_cancel('accounts', 'p', 'exists')), 'canceled canceling present t');
SELECT same('wants it once', wanted('exists'), 'create confirmed cal acc seq 0, cancel waiting cal acc seq 1');

-- Exchanging what is there: the same event is to move, and the old booking
-- stands until it has.
SELECT same('exchange', show(booking_claim('accounts', 'p', 'moved', 'room', h(102.5, 103), supersedes => 'adopt')), 'committed approved receipt remote=not_attempted');
SELECT same('wants', wanted('moved'), 'update waiting cal acc seq 1');
SELECT same('the same event', (SELECT count(DISTINCT event_id) FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent.tenant = 'accounts' AND intent IN ('adopt', 'moved')), 1);
SELECT same('the old one stands', show(booking_status('accounts', 'p', 'adopt')), 'historical_retry created receipt replayed remote=confirmed event=present');
SELECT same('and is exchanged once', show(booking_claim('accounts', 'p', 'x', 'room', h(110, 111), supersedes => 'adopt')), 'predecessor_unresolved -');
SELECT same('nor canceled meanwhile', show(booking_cancel('accounts', 'p', 'adopt')), 'predecessor_unresolved created receipt remote=confirmed event=present');

-- Evidence is only added.
SELECT fails(s, s, '55000', hinted => false)
  FROM unnest(ARRAY['UPDATE booking.attempt SET mark = ''x''', 'DELETE FROM booking.attempt', 'TRUNCATE booking.attempt']) s;

-- No worker runs, and the status says why; what it would do is counted.
SELECT same('worker', (SELECT concat_ws(' ', pid, state, in_flight, due) FROM booking_worker_status()),
			'absent 0 ' || (SELECT count(*) FROM booking.operation WHERE state NOT IN ('confirmed', 'rejected', 'dropped')));
SELECT yes('reason', (SELECT reason FROM booking_worker_status()) ~ 'shared_preload_libraries.*booking_worker_start');
UPDATE booking.site SET database_oid = 1;
SELECT yes('a copy is not armed', (SELECT reason FROM booking_worker_status()) ~ 'booking_arm');
SELECT same('accounts do not arm it', sqlstate_of($$SELECT booking_account_put('accounts', 'acc', 'caldav')$$), '00000');
SELECT same('it stays the other''s', (SELECT database_oid FROM booking.site), 1);
SELECT FROM booking_arm();
SELECT same('until it is armed', (SELECT event_key::text FROM booking.site WHERE database_oid = (SELECT oid FROM pg_database WHERE datname = current_database())), :'key');

-- Everything settled, all can go.
SELECT FROM unnest('{two,all,thought,absent}'::text[]) i, booking_cancel('accounts', 'p', i);
SELECT FROM booking_calendar_remove('accounts', 'cal hall');
SELECT FROM booking_calendar_remove('accounts', 'cal desk');
SELECT FROM booking_account_remove('accounts', 'second');
SELECT same('local from now on', show(booking_claim('accounts', 'p', 'after', 'hall', h(9, 10))), 'committed committed receipt');
SELECT same('the account took its credential along', (SELECT string_agg(account, ' ') FROM booking.credential WHERE tenant = 'accounts'), 'acc');

SELECT done();
