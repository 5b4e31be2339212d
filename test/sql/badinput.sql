--
-- badinput.sql: every argument of every function, with values it must refuse
--
-- A scalar is validated before anything is read or locked: the error names the
-- argument, its hint shows the rule, and nothing is stored.  The intervals are
-- in intervals.sql, the arguments of booking_at in at.sql.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM booking_resource_put('badinput', 'r');
SELECT FROM booking_slot_put('badinput', 'r', 's', h(9, 10), 5);
SELECT FROM booking_permit_all('badinput', 'p');
SELECT FROM booking_propose('badinput', 'p', 'prop', 'r', h(20, 21));
SELECT FROM booking_account_put('badinput', 'acc', 'caldav', 'https://calendar.example.org/dav/');
SELECT FROM booking_account_put('badinput', 'spare', 'caldav', 'https://calendar.example.org/dav/');
SELECT FROM booking_resource_put('badinput', 'shown');
SELECT FROM booking_calendar_put('badinput', 'cal', 'acc', '/user/cal/', 'shown');
SELECT FROM booking_consumer_put('badinput', 'con');
SET client_min_messages = error;
SELECT FROM booking_subscription_put('badinput', 'sub', 'https://example.org/', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
SELECT FROM booking_subscription_secret_put('badinput', 'sub', 'whsec_NfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
SET client_min_messages = warning;
SELECT FROM booking_webhook_source_put('badinput', 'bad_source', 'calcom');
SET client_min_messages = error;
SELECT FROM booking_webhook_secret_put('bad_source', 'why');
SELECT FROM booking_webhook_credential_put('bad_source', '{"type":"bearer","token":"t"}');
SELECT FROM booking_webhook_source_put('badinput', 'bad_reads', 'acuity');
INSERT INTO booking.inbox (delivery, source, tenant, received_at, verdict, state, booking, body)
	VALUES (1000000, 'bad_reads', 'badinput', '2030-01-01 00:00+00', 'accepted', 'read_wanted', 'x', '');
SET client_min_messages = warning;
CREATE ROLE regress_booking_badinput;

-- Arguments by kind, with a value that is right.  The call is made with all
-- arguments by name, so that their names are tested too.
CREATE TABLE test.argument (n integer GENERATED ALWAYS AS IDENTITY, function text, argument text, kind text, value text);
INSERT INTO test.argument (function, argument, kind, value)
SELECT f.function, a.word[1], a.word[2], a.word[3]
  FROM (VALUES
	('booking_tenant_put', $$tenant label 'badinput', four_eyes boolean false$$),
	('booking_resource_put', $$tenant label 'badinput', resource label 'r', capacity capacity 1, time_zone zone 'UTC', buffer_before buffer '0', buffer_after buffer '0'$$),
	('booking_slot_put', $$tenant label 'badinput', resource label 'r', slot label 's', during range h(9,10), version version? 5$$),
	('booking_permit', $$tenant label 'badinput', principal label 'p', resource label 'r', allowed boolean! true$$),
	('booking_permit_all', $$tenant label 'badinput', principal label 'p', allowed boolean! true$$),
	('booking_bind_role', $$role role 'regress_booking_badinput', tenant label 'badinput'$$),
	('booking_unbind_role', $$role unrole 'regress_booking_badinput', tenant label 'badinput'$$),
	('booking_claim', $$tenant label 'badinput', principal label 'p', intent label 'x', resource label 'r', during range h(9,10), expected_version version? 1, units units 1, terms terms '{}', supersedes label? NULL, evidence evidence NULL$$),
	('booking_claim_slot', $$tenant label 'badinput', principal label 'p', intent label 'x', resource label 'r', slot label 's', expected_version version 5, units units 1, terms terms '{}', supersedes label? NULL, evidence evidence NULL$$),
	('booking_claim_all', $$tenant label 'badinput', principal label 'p', intent label 'x', resources labels ARRAY['r'], during range h(9,10), expected_versions versions? ARRAY[1], units units 1, terms terms '{}', supersedes label? NULL, evidence evidence NULL$$),
	('booking_override', $$tenant label 'badinput', principal label 'p', intent label 'x', resource label 'r', during range h(9,10), units units 1, terms terms '{}', reason reason 'why'$$),
	('booking_cancel', $$tenant label 'badinput', principal label 'p', intent label 'x', evidence evidence NULL$$),
	('booking_cancel_exact', $$tenant label 'badinput', principal label 'p', intent label 'x', resource label 'r', during range h(9,10), expected_version version? 1, units units 1, terms terms '{}', evidence evidence NULL$$),
	('booking_cancel_exact_slot', $$tenant label 'badinput', principal label 'p', intent label 'x', resource label 'r', slot label 's', expected_version version 5, units units 1, terms terms '{}', evidence evidence NULL$$),
	('booking_cancel_exact_all', $$tenant label 'badinput', principal label 'p', intent label 'x', resources labels ARRAY['r'], during range h(9,10), expected_versions versions? ARRAY[1], units units 1, terms terms '{}', evidence evidence NULL$$),
	('booking_propose', $$tenant label 'badinput', principal label 'p', intent label 'x', resource label 'r', during range h(9,10), expected_version version? 1, units units 1, terms terms '{}', supersedes label? NULL, hold_for hold '1h', after_version number NULL, evidence evidence NULL$$),
	('booking_propose_slot', $$tenant label 'badinput', principal label 'p', intent label 'x', resource label 'r', slot label 's', expected_version version 5, units units 1, terms terms '{}', supersedes label? NULL, hold_for hold '1h', after_version number NULL, evidence evidence NULL$$),
	('booking_propose_all', $$tenant label 'badinput', principal label 'p', intent label 'x', resources labels ARRAY['r'], during range h(9,10), expected_versions versions? ARRAY[1], units units 1, terms terms '{}', supersedes label? NULL, hold_for hold '1h', after_version number NULL, evidence evidence NULL$$),
	('booking_approve', $$tenant label 'badinput', approver label 'p', principal label 'p', intent label 'prop', version number! 1, evidence evidence NULL$$),
	('booking_reject', $$tenant label 'badinput', approver label 'p', principal label 'p', intent label 'prop', version number! 1, reason reason 'why'$$),
	('booking_status', $$tenant label 'badinput', principal label 'p', intent label 'x'$$),
	('booking_list', $$tenant label 'badinput', principal label 'p', within range? NULL, state state NULL, after label? NULL, max max 10$$),
	('booking_account_put', $$tenant label 'badinput', account label 'acc', provider provider 'caldav', base_url url NULL, settings settings '{}'$$),
	('booking_account_remove', $$tenant label 'badinput', account label 'spare'$$),
	('booking_account_check', $$tenant label 'badinput', account label 'acc', findings any NULL$$),
	('booking_credential_put', $$tenant label 'badinput', account label 'acc', credential credential '{"type":"bearer","token":"t"}'$$),
	('booking_credential_remove', $$tenant label 'badinput', account label 'acc'$$),
	('booking_calendar_put', $$tenant label 'badinput', calendar label 'other', account label 'acc', remote_id remote '/user/other/', resource label? 'r', role use 'busy', address label? NULL$$),
	('booking_calendar_remove', $$tenant label 'badinput', calendar label 'cal'$$),
	('booking_sync', $$tenant label 'badinput', calendar label 'cal'$$),
	('booking_sync_wait', $$tenant label 'badinput', calendar label 'cal', result any NULL$$),
	('booking_resolve', $$tenant label 'badinput', principal label 'p', intent label 'x', verdict verdict 'exists', evidence evidence! '{}'$$),
	('booking_release', $$tenant label 'badinput', principal label 'p', intent label 'x', reason reason 'why'$$),
	('booking_requeue', $$tenant label 'badinput', principal label 'p', intent label 'x', reason reason 'why'$$),
	('booking_park', $$tenant label 'badinput', principal label 'p', intent label 'x', reason reason 'why'$$),
	('booking_retain', $$policy policy '{}', result any NULL$$),
	('booking_forget', $$tenant label 'badinput', principal label 'p', result any NULL$$),
	('booking_free', $$tenant label 'badinput', principal label 'p', resources labels ARRAY['r'], within range h(9,18), duration duration '1h', step step NULL, units units 1$$),
	('booking_consumer_put', $$tenant label 'badinput', name label 'con'$$),
	('booking_consumer_remove', $$tenant label 'badinput', name label 'con'$$),
	('booking_consumer_ack', $$tenant label 'badinput', name label 'con', position position 0$$),
	('booking_changes', $$tenant label 'badinput', name label 'con', max max 10$$),
	('booking_task_put', $$tenant label 'badinput', principal label 'p', intent label 'prop', task label 'remind', before before '1h', payload payload '{}'$$),
	('booking_task_take', $$tenant label 'badinput', max max 10, lease lease '1h'$$),
	('booking_task_done', $$tenant label 'badinput', principal label 'p', intent label 'prop', task label 'remind', lease version 1$$),
	('booking_webhook_source_put', $$tenant label 'badinput', source label 'bad_source', kind any 'calcom', settings settings '{}'$$),
	('booking_webhook_source_remove', $$source label 'bad_source'$$),
	('booking_webhook_secret_put', $$source label 'bad_source', secret reason 'why'$$),
	('booking_webhook_secret_add', $$source label 'bad_source', secret reason 'why'$$),
	('booking_webhook_secret_retire', $$source label 'bad_source', secret reason 'why'$$),
	('booking_webhook_secret_retire_number', $$source label 'bad_source', number number! 1$$),
	('booking_webhook_credential_put', $$source label 'bad_source', credential credential '{"type":"bearer","token":"t"}', base_url url NULL$$),
	('booking_webhook_credential_remove', $$source label 'bad_source'$$),
	('booking_webhook_map', $$source label 'bad_source', remote_key label 'key', resource label? 'r'$$),
	('booking_webhook_receive', $$source any 'bad_source', headers any '{}', body any '', query any NULL$$),
	('booking_webhook_read_done', $$source label 'bad_reads', delivery version 1000000, found any NULL$$),
	('booking_webhook_reads', $$source label 'bad_source', max max 10$$),
	('booking_webhook_replay', $$source label 'bad_source', within any NULL$$),
	('booking_webhook_replay_list', $$source label 'bad_source', list any '{1}'$$),
	('booking_subscription_put', $$tenant label 'badinput', name label 'sub', url any NULL, secret any NULL, filter any NULL$$),
	('booking_subscription_secret_put', $$tenant label 'badinput', name label 'sub', secret any 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'$$),
	('booking_subscription_secret_retire', $$tenant label 'badinput', name label 'sub', number number! 1$$),
	('booking_subscription_disable', $$tenant label 'badinput', name label 'sub'$$),
	('booking_subscription_remove', $$tenant label 'badinput', name label 'sub'$$),
	('booking_subscription_replay', $$tenant label 'badinput', name label 'sub', position position 0$$),
	('booking_subscriptions', $$tenant label 'badinput'$$)
	) f (function, arguments)
 CROSS JOIN LATERAL regexp_split_to_table(f.arguments, ', ') WITH ORDINALITY s (part, k)
 CROSS JOIN LATERAL regexp_match(s.part, '^(\S+) (\S+) (.+)$') a (word)
 ORDER BY f.function COLLATE "C", s.k;

-- All functions that take arguments are here, with all of them.
SELECT same('arguments of ' || p.proname,
			(SELECT string_agg(argument, ' ' ORDER BY n) FROM test.argument a WHERE a.function = p.proname),
			(SELECT string_agg(x, ' ' ORDER BY k) FROM unnest(p.proargnames) WITH ORDINALITY u (x, k) WHERE k <= p.pronargs))
  FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
 WHERE d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'booking')
   AND p.pronargs > 0 AND p.proname LIKE 'booking\_%' AND p.proname <> 'booking_at' ORDER BY p.proname COLLATE "C";

-- Values to refuse, by kind.  What follows a kind says NULL is refused (!) or
-- means something (?); plain kinds refuse it.
CREATE TABLE test.bad (n integer GENERATED ALWAYS AS IDENTITY, kinds text, what text, value text, code text);
INSERT INTO test.bad (kinds, what, value, code) VALUES
('label label? labels role unrole', 'empty', $$''$$, '22023'),
('label label? labels role unrole', 'blank', $$' '$$, '22023'),
('label label? labels', 'leading blank', $$' x'$$, '22023'),
('label label? labels', 'trailing blank', $$'x '$$, '22023'),
('label label? labels', 'leading no-break space', $$U&'\00a0x'$$, '22023'),
('label label? labels', 'trailing ideographic space', $$U&'x\3000'$$, '22023'),
('label label? labels', 'trailing zero width space', $$U&'x\200b'$$, '22023'),
('label label? labels', 'tab', $$E'a\tb'$$, '22023'),
('label label? labels', 'line break', $$E'a\nb'$$, '22023'),
('label label? labels', 'carriage return', $$E'a\r'$$, '22023'),
('label label? labels', 'unit separator', $$E'a\x1fb'$$, '22023'),
('label label? labels', 'delete', $$E'a\x7fb'$$, '22023'),
('label label? labels', 'next line, C1', $$U&'a\0085b'$$, '22023'),
('label label? labels', 'line separator', $$U&'a\2028b'$$, '22023'),
('label label? labels', '201 bytes', $$repeat('x', 201)$$, '22023'),
('label label? labels', '201 bytes, 101 characters', $$repeat(U&'\00e9', 100) || 'x'$$, '22023'),
('label label? labels', '1 MB', $$repeat('x', 1048576)$$, '22023'),
('label labels role unrole range units version boolean! terms reason duration number! max provider credential remote use verdict evidence! position before lease payload policy', 'NULL', 'NULL', '22004'),
('units', '0', '0', '22023'),
('units', '-1', '-1', '22023'),
('units', 'least integer', '-2147483648', '22023'),
('version version?', '0', '0', '22023'),
('version version?', '-1', '-1', '22023'),
('version version?', '-2^63', '-9223372036854775808', '22023'),
('number!', '0', '0', '22023'),
('number number!', '-1', '-1', '22023'),
('capacity', '0', '0', '22023'),
('capacity', '-1', '-1', '22023'),
('capacity', '32768', '32768', '22023'),
('zone', 'unknown zone', $$'Mars/Olympus'$$, '22023'),
('zone', 'POSIX rule', $$'FOO+3'$$, '22023'),
('zone', 'offset', $$'+03'$$, '22023'),
('zone', 'empty', $$''$$, '22023'),
('buffer', 'negative', $$'-1 second'$$, '22023'),
('buffer', 'a day', $$'1 day'$$, '22023'),
('buffer', 'a month', $$'1 month'$$, '22023'),
('buffer', 'no fixed length', $$'1 month -30 days'$$, '22023'),
('buffer', 'more than 31 days', $$'744 hours 1 microsecond'$$, '22023'),
('hold duration step', 'zero', $$'0'$$, '22023'),
('hold duration step', 'negative', $$'-1 second'$$, '22023'),
('hold duration step', 'a month', $$'1 month'$$, '22023'),
('position', '-1', '-1', '22023'),
('position', '-2^63', '-9223372036854775808', '22023'),
('before lease', 'negative', $$'-1 second'$$, '22023'),
('before lease', 'a day', $$'1 day'$$, '22023'),
('before lease', 'a month', $$'1 month'$$, '22023'),
('before lease', 'no fixed length', $$'1 month -30 days'$$, '22023'),
('before', 'more than 366 days', $$'8784 hours 1 microsecond'$$, '22023'),
('lease', 'zero', $$'0'$$, '22023'),
('lease', 'more than 31 days', $$'744 hours 1 microsecond'$$, '22023'),
('max', '1001', '1001', '22023'),
('terms evidence evidence! settings credential payload policy', 'over the limit', $$jsonb_build_object('x', repeat('y', 65536))$$, '54000'),
('terms evidence evidence! settings credential payload policy', '10 MB', $$jsonb_build_object('x', repeat('y', 10485760))$$, '54000'),
('terms evidence evidence! payload', 'many small values', $$(SELECT jsonb_agg(n) FROM generate_series(1, 20000) n)$$, '54000'),
('reason', 'empty', $$''$$, '22023'),
('reason', 'too long', $$repeat('x', 1001)$$, '22023'),
('role', 'unknown role', $$'regress booking nobody'$$, '42704'),
('state', 'unknown state', $$'done'$$, '22023'),
('state', 'empty', $$''$$, '22023'),
('max', '0', '0', '22023'),
('max', '-1', '-1', '22023'),
('labels', 'no element', $$'{}'$$, '22023'),
('labels', 'two dimensions', $$'{{r},{s}}'$$, '22023'),
('labels', 'a NULL in it', $$'{r,NULL}'$$, '22004'),
('labels', 'one twice', $$'{r,s,r}'$$, '22023'),
('labels', '101', $$(SELECT array_agg('r' || n) FROM generate_series(1, 101) n)$$, '54000'),
('versions?', 'too few', $$'{}'$$, '22023'),
('versions?', 'too many', $$'{1,2}'$$, '22023'),
('versions?', 'two dimensions', $$'{{1}}'$$, '22023'),
('versions?', '0 in it', $$'{0}'$$, '22023'),
('versions?', 'a NULL in it', $$'{NULL}'$$, '22004'),
('range', 'empty', $$'empty'$$, '22023'),
('range range?', 'no end', $$'[2030-06-01 09:00+00,)'$$, '22023'),
('provider', 'empty', $$''$$, '22023'),
('provider', 'unknown provider', $$'exchange'$$, '22023'),
('provider', 'other case', $$'CalDAV'$$, '22023'),
('provider', 'longer', $$'caldavx'$$, '22023'),
('url', 'empty', $$''$$, '22023'),
('url', 'no scheme', $$'calendar.example.org'$$, '22023'),
('url', 'another scheme', $$'ftp://calendar.example.org/'$$, '22023'),
('url', 'a file', $$'file:///etc/passwd'$$, '22023'),
('url', 'no host', $$'https://'$$, '22023'),
('url', 'no host, a path', $$'https:///dav/'$$, '22023'),
('url', 'user and password', $$'https://ann:hunter2@calendar.example.org/'$$, '22023'),
('url', 'query', $$'https://calendar.example.org/?token=hunter2'$$, '22023'),
('url', 'fragment', $$'https://calendar.example.org/#x'$$, '22023'),
('url', 'blank in it', $$'https://calendar.example.org/a b'$$, '22023'),
('url', 'line break', $$E'https://calendar.example.org/\r\nX: y'$$, '22023'),
('url', 'not ASCII', $$U&'https://calend\00e4r.example.org/'$$, '22023'),
('url', 'backslash', $$'https://calendar.example.org\@example.net/'$$, '22023'),
('url', 'too long', $$'https://calendar.example.org/' || repeat('x', 2000)$$, '22023'),
('settings', 'a string', $$'"x"'$$, '22023'),
('settings', 'an array', $$'[{}]'$$, '22023'),
('settings', 'null', $$'null'$$, '22023'),
('settings', 'a password', $$'{"password": "hunter2"}'$$, '22023'),
('settings', 'a token', $$'{"x": 1, "token": "hunter2"}'$$, '22023'),
('settings', 'a key', $$'{"private_key": "hunter2"}'$$, '22023'),
('settings', 'in capitals', $$'{"Password": "hunter2"}'$$, '22023'),
('settings', 'deep inside', $$'{"x": [{"y": {"client_secret": "hunter2"}}]}'$$, '22023'),
('credential', 'a string', $$'"hunter2"'$$, '22023'),
('credential', 'an array', $$'["hunter2"]'$$, '22023'),
('credential', 'no type', $$'{"username": "u", "password": "hunter2"}'$$, '22023'),
('credential', 'type is a number', $$'{"type": 1, "token": "hunter2"}'$$, '22023'),
('credential', 'unknown type', $$'{"type": "digest", "username": "u", "password": "hunter2"}'$$, '0A000'),
('credential', 'no password', $$'{"type": "basic", "username": "u"}'$$, '22023'),
('credential', 'no user', $$'{"type": "basic", "password": "hunter2"}'$$, '22023'),
('credential', 'empty password', $$'{"type": "basic", "username": "u", "password": ""}'$$, '22023'),
('credential', 'password is a number', $$'{"type": "basic", "username": "u", "password": 1}'$$, '22023'),
('credential', 'line break in the password', $$'{"type": "basic", "username": "u", "password": "a\nb"}'$$, '22023'),
('credential', 'no token', $$'{"type": "bearer"}'$$, '22023'),
('credential', 'refresh_token without a client', $$'{"type": "refresh_token", "refresh_token": "hunter2"}'$$, '22023'),
('credential', 'refresh_token without itself', $$'{"type": "refresh_token", "client_id": "hunter2"}'$$, '22023'),
('credential', 'line break in the refresh token', $$'{"type": "refresh_token", "client_id": "c", "refresh_token": "hunter2\n"}'$$, '22023'),
('credential', 'token_url is no URL', $$'{"type": "refresh_token", "client_id": "c", "refresh_token": "hunter2", "token_url": "ftp://x"}'$$, '22023'),
('credential', 'token_url with a query', $$'{"type": "refresh_token", "client_id": "c", "refresh_token": "hunter2", "token_url": "https://x/y?z"}'$$, '22023'),
('credential', 'scope is a list', $$'{"type": "refresh_token", "client_id": "c", "refresh_token": "hunter2", "scope": ["a"]}'$$, '22023'),
('credential', 'client_credentials without a secret', $$'{"type": "client_credentials", "client_id": "hunter2"}'$$, '22023'),
('credential', 'service_account without an address', $$'{"type": "service_account", "private_key": "hunter2"}'$$, '22023'),
('credential', 'service_account without a key', $$'{"type": "service_account", "client_email": "hunter2"}'$$, '22023'),
('credential', 'private_key is none', $$'{"type": "service_account", "client_email": "a@b", "private_key": "hunter2"}'$$, '22023'),
('credential', 'line break in the token', $$'{"type": "bearer", "token": "a\r\nX: y"}'$$, '22023'),
('remote', 'empty', $$''$$, '22023'),
('remote', 'too long', $$repeat('x', 2001)$$, '22023'),
('remote', 'line break', $$E'/user/\r\nX: y/'$$, '22023'),
('remote', 'delete', $$E'/user/\x7f/'$$, '22023'),
('use', 'empty', $$''$$, '22023'),
('use', 'unknown', $$'read'$$, '22023'),
('use', 'other case', $$'Write'$$, '22023'),
('verdict', 'empty', $$''$$, '22023'),
('verdict', 'unknown', $$'retry'$$, '22023'),
('verdict', 'other case', $$'Exists'$$, '22023'),
('range range?', '(]', $$'(2030-06-01 09:00+00,2030-06-01 10:00+00]'$$, '22023');

-- One call with one argument replaced.
CREATE FUNCTION test.call_with(f text, a text, v text)
RETURNS text
LANGUAGE sql
AS $$
	SELECT format('%s %I(%s)', CASE WHEN f IN ('booking_account_check', 'booking_sync_wait', 'booking_retain', 'booking_forget') THEN 'CALL' ELSE 'SELECT' END, f, string_agg(format('%I => %s', argument, CASE WHEN argument = a THEN v ELSE value END), ', ' ORDER BY n))
	  FROM test.argument WHERE function = f;
$$;

-- A credential without a key to seal it with is stored with a WARNING.
SET client_min_messages = error;

-- What is right is not refused, so that what is refused below is not refused
-- for another reason.
SELECT same('right values: ' || f, sqlstate_of(format('DO $d$ BEGIN PERFORM (%s); RAISE SQLSTATE ''TT001''; END $d$',
			CASE f WHEN 'booking_list' THEN 'SELECT count(*) FROM (' || call_with(f, '', '') || ') x'
				   WHEN 'booking_changes' THEN 'SELECT count(*) FROM (' || call_with(f, '', '') || ') x'
				   WHEN 'booking_task_take' THEN 'SELECT count(*) FROM (' || call_with(f, '', '') || ') x'
				   WHEN 'booking_webhook_reads' THEN 'SELECT count(*) FROM (' || call_with(f, '', '') || ') x'
				   WHEN 'booking_free' THEN 'SELECT count(*) FROM (' || call_with(f, '', '') || ') x'
				   ELSE call_with(f, '', '') END)), 'TT001')
  FROM (SELECT DISTINCT function AS f FROM test.argument WHERE function NOT IN ('booking_account_check', 'booking_sync_wait', 'booking_retain', 'booking_forget')) x ORDER BY f COLLATE "C";
SELECT fails('right values, but a procedure that commits', call_with(f, '', ''), '2D000') FROM unnest('{booking_account_check,booking_sync_wait,booking_retain,booking_forget}'::text[]) f;

SELECT fingerprint() AS before \gset
SELECT count(*) || ' values refused'
  FROM test.argument a JOIN test.bad b ON a.kind = ANY (string_to_array(b.kinds, ' '));
SELECT fails(format('%s(%s): %s', a.function, a.argument, b.what),
			 call_with(a.function, a.argument, CASE WHEN a.kind = 'labels' AND b.kinds LIKE '%label %' AND b.value <> 'NULL'
													THEN format('ARRAY[''r'', %s]', b.value) ELSE b.value END),
			 b.code, a.argument)
  FROM test.argument a JOIN test.bad b ON a.kind = ANY (string_to_array(b.kinds, ' '))
 ORDER BY a.n, b.n;
SELECT same('nothing was stored', fingerprint(), :'before');

-- A message never repeats the value: it may be personal.
CREATE FUNCTION test.message_of(statement text)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	d text;
	h text;
BEGIN
	EXECUTE statement;
	RETURN NULL;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL, h = PG_EXCEPTION_HINT;
	RETURN concat_ws('/', SQLERRM, d, h);
END
$$;
SELECT yes('no value in the message: ' || argument, message_of(call_with('booking_claim', argument, $$' alice@example.org'$$)) !~ 'alice')
  FROM test.argument WHERE function = 'booking_claim' AND kind LIKE 'label%' ORDER BY n;

SELECT yes('no secret in the message: ' || argument || ', ' || what, message_of(call_with(function, argument, b.value)) !~ 'hunter2')
  FROM test.argument a JOIN test.bad b ON a.kind = ANY (string_to_array(b.kinds, ' '))
 WHERE b.value ~ 'hunter2' ORDER BY a.n, b.n;

-- terms.event is checked where it is bound.
CREATE TABLE test.event (n integer GENERATED ALWAYS AS IDENTITY, event text, path text);
INSERT INTO test.event (event, path) VALUES
('1', 'event'), ('"x"', 'event'), ('[]', 'event'), ('null', 'event'), ('true', 'event'),
('{"summary": 1}', 'summary'), ('{"summary": null}', 'summary'), ('{"summary": ["x"]}', 'summary'), ('{"summary": {"x": 1}}', 'summary'),
('{"description": false}', 'description'), ('{"description": {}}', 'description'),
('{"location": 7}', 'location'), ('{"location": []}', 'location'),
('{"attendees": "a@example.org"}', 'attendees'), ('{"attendees": {}}', 'attendees'), ('{"attendees": null}', 'attendees'),
('{"attendees": ["a@example.org"]}', 'attendees'), ('{"attendees": [[]]}', 'attendees'), ('{"attendees": [null]}', 'attendees'),
('{"attendees": [{}]}', 'email'), ('{"attendees": [{"name": "A"}]}', 'email'), ('{"attendees": [{"email": 1}]}', 'email'),
('{"attendees": [{"email": null}]}', 'email'), ('{"attendees": [{"email": "a@example.org"}, {"email": ["b"]}]}', 'email'),
('{"attendees": [{"email": "a@example.org", "name": 1}]}', 'name'), ('{"attendees": [{"email": "a@example.org", "optional": "yes"}]}', 'optional'),
('{"attendees": [{"email": "a@example.org", "optional": 1}]}', 'optional'),
('{"organizer": "a@example.org"}', 'organizer'), ('{"organizer": [{"email": "a@example.org"}]}', 'organizer'), ('{"organizer": {}}', 'email'),
('{"organizer": {"email": true}}', 'email'), ('{"organizer": {"email": "a@example.org", "name": {}}}', 'name'),
('{"conference": "yes"}', 'conference'), ('{"conference": 1}', 'conference'), ('{"conference": null}', 'conference'), ('{"conference": {}}', 'conference'),
('{"notify": "some"}', 'notify'), ('{"notify": true}', 'notify'), ('{"notify": "All"}', 'notify'), ('{"notify": ""}', 'notify'), ('{"notify": null}', 'notify'),
('{"notify": ["all"]}', 'notify'), ('{"notify": "allx"}', 'notify'), ('{"notify": "al"}', 'notify'),
('{"transparency": "free"}', 'transparency'), ('{"transparency": false}', 'transparency'), ('{"transparency": "OPAQUE"}', 'transparency');
SELECT fails('event ' || event, format('SELECT booking_claim(''badinput'', ''p'', ''x'', ''r'', h(9, 10), terms => %L)', format('{"event": %s}', event)),
			 '22023', path)
  FROM test.event ORDER BY n;
SELECT fails(f || ' checks it as well', call_with(f, 'terms', $$'{"event": {"summary": 1}}'$$), '22023', 'summary')
  FROM (SELECT DISTINCT function FROM test.argument WHERE kind = 'terms') x (f) ORDER BY f COLLATE "C";
SELECT same('nothing of it was stored', fingerprint(), :'before');
SET client_min_messages = warning;

-- What is right, at the edges.
SELECT same('a full event', (booking_claim('badinput', 'p', 'event', 'r', h(30, 31), terms => '{"event": {"summary": "", "description": "d", "location": "l",
			"attendees": [{"email": "a@example.org", "name": "A", "optional": true}, {"email": "b@example.org"}], "organizer": {"email": "o@example.org", "name": "O"},
			"conference": false, "notify": "external", "transparency": "transparent"}, "other": [1, {"summary": 1}]}')).disposition, 'committed');
SELECT same('event ' || e, (booking_claim('badinput', 'p', 'event ' || n, 'r', h(30 + n, 31 + n), terms => e::jsonb)).disposition, 'committed')
  FROM unnest(ARRAY['{"event": {}}', '{"event": {"attendees": []}}', '{"event": {"notify": "none"}}', '{"event": {"notify": "all", "transparency": "opaque"}}',
					'{"event": {"conference": true, "organizer": {"email": "o@example.org"}}}']) WITH ORDINALITY u (e, n);
SELECT same('200 bytes', show(booking_claim('badinput', 'p', repeat('x', 200), 'r', h(40, 41))), 'committed committed receipt');
SELECT same('200 bytes of two each', show(booking_claim('badinput', 'p', repeat(U&'\00e9', 100), 'r', h(41, 42))), 'committed committed receipt');
SELECT same('200 bytes of four each', show(booking_claim('badinput', 'p', repeat(U&'\+01F600', 50), 'r', h(42, 43))), 'committed committed receipt');
SELECT same('blanks inside, quotes, slashes', show(booking_claim('badinput', 'p', U&'a  b''"\\/%_;--\00a0z', 'r', h(43, 44))), 'committed committed receipt');
SELECT same('labels of 200 bytes everywhere', booking_resource_put(repeat('t', 200), repeat('r', 200)), 1);
SELECT same('slot of 200 bytes', booking_slot_put(repeat('t', 200), repeat('r', 200), repeat('s', 200), h(9, 10)), 1);
SELECT FROM booking_permit(repeat('t', 200), repeat('p', 200), repeat('r', 200));
SELECT same('claimed', show(booking_claim_slot(repeat('t', 200), repeat('p', 200), repeat('i', 200), repeat('r', 200), repeat('s', 200), 1)),
			'committed committed receipt');
SELECT same('capacity 32767', booking_resource_put('badinput', 'big', 32767), 1);
SELECT same('31 days of buffer', booking_resource_put('badinput', 'buffer', buffer_before => '744 hours', buffer_after => '744:00:00'), 1);
SELECT same('huge units', show(booking_claim('badinput', 'p', 'huge', 'r', h(50, 51), units => 2147483647)), 'resource_conflict conflict');
SELECT yes('are explained', (booking_status('badinput', 'p', 'huge')).detail::text ~ '2147483647');
SELECT same('terms just below the limit', show(booking_claim('badinput', 'p', 'large', 'r', h(51, 52), terms => jsonb_build_object('x', repeat('y', 65000)))),
			'committed committed receipt');
SELECT same('replayed', show(booking_claim('badinput', 'p', 'large', 'r', h(51, 52), terms => jsonb_build_object('x', repeat('y', 65000)))),
			'historical_retry committed receipt replayed');
SELECT same('told apart by the last character', (booking_claim('badinput', 'p', 'large', 'r', h(51, 52),
			terms => jsonb_build_object('x', repeat('y', 64999) || 'z'))).disposition, 'intent_conflict');
SELECT same('3000 levels deep', show(booking_claim('badinput', 'p', 'deep', 'r', h(52, 53), terms => (repeat('{"a":', 3000) || '1' || repeat('}', 3000))::jsonb)),
			'committed committed receipt');
SELECT same('replayed', show(booking_claim('badinput', 'p', 'deep', 'r', h(52, 53), terms => (repeat('{"a":', 3000) || '1' || repeat('}', 3000))::jsonb)),
			'historical_retry committed receipt replayed');
SELECT same('other at the bottom', (booking_claim('badinput', 'p', 'deep', 'r', h(52, 53), terms => (repeat('{"a":', 3000) || '2' || repeat('}', 3000))::jsonb)).disposition,
			'intent_conflict');
SELECT same('evidence of any kind', (booking_claim('badinput', 'p', 'evidence', 'r', h(53, 54), evidence => '[1, null]')).disposition, 'committed');
SET booking.max_terms = 1;
SELECT fails('the limit can be lowered', $$SELECT booking_claim('badinput', 'p', 'x', 'r', h(54, 55), terms => jsonb_build_object('x', repeat('y', 1024)))$$, '54000', 'terms');
SET booking.max_terms = '128kB';
SELECT same('and raised', (booking_claim('badinput', 'p', 'larger', 'r', h(54, 55), terms => jsonb_build_object('x', repeat('y', 100000)))).disposition, 'committed');
RESET booking.max_terms;
-- No text of PostgreSQL holds a NUL byte; what could carry one is refused before us.
SELECT fails('NUL in a label', $$SELECT booking_claim('badinput', 'p', E'a\x00b', 'r', h(55, 56))$$, '22021', hinted => false);
SELECT fails('NUL in terms', $$SELECT booking_claim('badinput', 'p', 'x', 'r', h(55, 56), terms => '{"x": "\u0000"}')$$, '22P05', hinted => false);
SELECT fails('half a surrogate in terms', $$SELECT booking_claim('badinput', 'p', 'x', 'r', h(55, 56), terms => '{"x": "\ud83d"}')$$, '22P02', hinted => false);

-- 100 resources in one claim.
SELECT FROM generate_series(1, 100) n, booking_resource_put('badinput', 'many ' || n);
SELECT same('100 resources', show(booking_claim_all('badinput', 'p', 'many', (SELECT array_agg('many ' || n) FROM generate_series(1, 100) n), h(9, 10),
			(SELECT array_agg(1::bigint) FROM generate_series(1, 100)))), 'committed committed receipt');
SELECT same('100 rows', held('badinput', 'p', 'many'), 100);
SELECT same('replayed in another order of the rest', show(booking_claim_all('badinput', 'p', 'many',
			(SELECT array_agg('many ' || n ORDER BY n > 1, -n) FROM generate_series(1, 100) n), h(9, 10),
			(SELECT array_agg(1::bigint) FROM generate_series(1, 100)))), 'historical_retry committed receipt replayed');
SELECT same('canceled', show(booking_cancel('badinput', 'p', 'many')), 'canceled canceled receipt');

-- What does not exist: permissions and slots of it are errors, since a
-- revocation with a typo must not look like one.
SELECT fails('permit', $$SELECT booking_permit('badinput', 'p', 'rr')$$, '42704', 'resource');
SELECT fails('revoke', $$SELECT booking_permit('badinput', 'p', 'rr', false)$$, '42704', 'resource');
SELECT fails('account of another tenant', $$SELECT booking_account_remove('badinputs', 'acc')$$, '42704', 'account');
SELECT fails('new account without URL', $$SELECT booking_account_put('badinput', 'new', 'caldav')$$, '22004', 'base_url');
SELECT fails('credential of nothing', $$SELECT booking_credential_put('badinput', 'new', '{"type": "bearer", "token": "t"}')$$, '42704', 'account');
SELECT fails('removed of nothing', $$SELECT booking_credential_remove('badinput', 'new')$$, '42704', 'account');
SELECT fails('calendar of nothing', $$SELECT booking_calendar_put('badinput', 'c', 'new', '/c/')$$, '42704', 'account');
SELECT fails('calendar for nothing', $$SELECT booking_calendar_put('badinput', 'c', 'acc', '/c/', 'rr')$$, '42704', 'resource');
SELECT fails('no such calendar', $$SELECT booking_calendar_remove('badinput', 'c')$$, '42704', 'calendar');
SELECT fails('no such consumer', $$SELECT booking_changes('badinput', 'con 2')$$, '42704', 'consumer');
SELECT fails('consumer of another tenant', $$SELECT booking_changes('badinputs', 'con')$$, '42704', 'consumer');
SELECT fails('acknowledged by no consumer', $$SELECT booking_consumer_ack('badinput', 'con 2', 0)$$, '42704', 'consumer');
SELECT fails('acknowledged before it is read', $$SELECT booking_consumer_ack('badinput', 'con', 9223372036854775807)$$, '55000', 'position');
SELECT fails('task of no intent', $$SELECT booking_task_put('badinput', 'p', 'nothing', 'remind', '1h')$$, '42704', 'intent');
SELECT fails('in an unknown tenant', $$SELECT booking_permit('badinputs', 'p', 'r', false)$$, '42704', 'resource');

-- A misspelt setting is an error, and the settings are for superusers.
SELECT fails('misspelt setting', 'SET booking.max_holds = 1', '42602', hinted => false);
SET ROLE regress_booking_badinput;
SELECT fails(s, format('SET %s = 1', s), '42501', hinted => false)
  FROM unnest(ARRAY['booking.clock_offset', 'booking.max_hold', 'booking.max_terms', 'booking.dump_secrets']) s;
RESET ROLE;
SELECT fails(s || ' belongs to the server', format('SET %s = 1', s), '55P02', hinted => false)
  FROM unnest(ARRAY['booking.worker', 'booking.max_in_flight', 'booking.max_attempts', 'booking.poll_interval', 'booking.idle_exit', 'booking.http_timeout',
					'booking.http_connect_timeout', 'booking.http_first_byte_timeout', 'booking.insecure_hosts', 'booking.allowed_networks', 'booking.ca_file',
					'booking.secret_key_file', 'booking.credential_directory', 'booking.arm_key']) s;
DROP ROLE regress_booking_badinput;

SELECT done();
