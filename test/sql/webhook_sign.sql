--
-- webhook_sign.sql: only what is from its source is believed
--
-- Signatures are over the raw bytes, whatever they look like; every secret of a
-- source may have made one, and any of several may be the right one.  What is
-- missing, repeated, garbled or of the wrong length is refused, and so is all
-- of a source without a secret.  A signature that is right and old has a
-- verdict of its own.  What comes to a channel of a calendar is believed by the
-- channel's secret, whoever its provider is.  Proves R60, R61, R64, R65 and the
-- vectors of "it must show"; the shapes of headers are in test/unit/webhook.c.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup
\set helpers :srcdir '/sql/webhook.inc'
SET client_min_messages = error;
\i :helpers

-- HMAC as RFC 4231 has it (test case 2), for the tests' own.
SELECT same('hmac', encode(hmac(b('Jefe'), b('what do ya want for nothing?')), 'hex'), '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843');

SELECT FROM booking_resource_put('hook_sign', 'room');
SELECT FROM source('gcy', 'calendly', tenant => 'hook_sign');
SELECT FROM source('gcc', 'calcom', tenant => 'hook_sign');
SELECT FROM source('gac', 'acuity', tenant => 'hook_sign');
SELECT FROM source('gsw', 'standard', tenant => 'hook_sign');

CREATE FUNCTION test.verdict(source text, headers jsonb, body bytea)
RETURNS text
LANGUAGE sql
AS $$
	SELECT r.status || ' ' || r.verdict FROM booking_webhook_receive(verdict.source, verdict.headers, verdict.body) r;
$$;

-- Bodies as senders write them: verified as bytes, not as what they mean.
SELECT same('bytes: ' || what, verdict('gcc', calcom('key', body), body), '200 ignored')
  FROM (VALUES ('odd spacing', b(E'{ "triggerEvent"\t:"X" ,  "a" :1}')), ('key order', b('{"z":1,"triggerEvent":"X","a":2}')),
		('escapes', b('{"triggerEvent":"X","n":"\u00e9"}')), ('no escapes', b('{"triggerEvent":"X","n":"é"}')),
		('CRLF', b(E'{"triggerEvent":"X",\r\n"a":1}\r\n')), ('a trailing newline', b(E'{"triggerEvent":"X"}\n'))) AS x (what, body);
SELECT same('one byte more', verdict('gcc', calcom('key', b('{"triggerEvent":"X"}')), b(E'{"triggerEvent":"X"}\n')), '401 bad_signature');
SELECT same('escapes are bytes', verdict('gcc', calcom('key', b('{"triggerEvent":"é"}')), b('{"triggerEvent":"\u00e9"}')), '401 bad_signature');

-- Cal.com.
SELECT same('cal.com: ' || what, verdict('gcc', headers, b('{"triggerEvent":"X"}')), want)
  FROM encode(hmac(b('key'), b('{"triggerEvent":"X"}')), 'hex') AS h,
  LATERAL (VALUES ('upper case', jsonb_build_object('X-CAL-SIGNATURE-256', upper(h)), '200 ignored'),
		('blanks around', jsonb_build_object('x-cal-signature-256', ' ' || h || ' '), '200 ignored'),
		('missing', '{}'::jsonb, '401 missing_signature'), ('another header', jsonb_build_object('x-cal-signature', h), '401 missing_signature'),
		('empty', jsonb_build_object('x-cal-signature-256', ''), '401 malformed_signature'),
		('no secret', jsonb_build_object('x-cal-signature-256', 'no-secret-provided'), '401 unsigned'),
		('repeated', jsonb_build_array(jsonb_build_array('x-cal-signature-256', h), jsonb_build_array('X-Cal-Signature-256', h)), '401 malformed_signature'),
		('short', jsonb_build_object('x-cal-signature-256', left(h, 62)), '401 malformed_signature'),
		('long', jsonb_build_object('x-cal-signature-256', h || '00'), '401 malformed_signature'),
		('two in one', jsonb_build_object('x-cal-signature-256', h || ',' || h), '401 malformed_signature'),
		('a prefix', jsonb_build_object('x-cal-signature-256', 'sha256=' || h), '401 malformed_signature'),
		('garbled', jsonb_build_object('x-cal-signature-256', overlay(h PLACING 'g' FROM 1)), '401 malformed_signature'),
		('first digit', jsonb_build_object('x-cal-signature-256', overlay(h PLACING CASE left(h, 1) WHEN '0' THEN '1' ELSE '0' END FROM 1)), '401 bad_signature'),
		('last digit', jsonb_build_object('x-cal-signature-256', left(h, 63) || CASE right(h, 1) WHEN '0' THEN '1' ELSE '0' END), '401 bad_signature')) AS x (what, headers, want);
SELECT same('no key', verdict('gcc', calcom('', b('{"triggerEvent":"X"}')), b('{"triggerEvent":"X"}')), '401 bad_signature');

-- Calendly: times, and several signatures.
CREATE FUNCTION test.v1(at text, key text DEFAULT 'key')
RETURNS text
LANGUAGE sql
AS $$
	SELECT 'v1=' || encode(hmac(b(key), b(at || '.{"event":"X"}')), 'hex');
$$;
SELECT same('calendly: ' || what, verdict('gcy', jsonb_build_object('Calendly-Webhook-Signature', header), b('{"event":"X"}')), want)
  FROM t() AS t, t(-290) AS older, t(-310) AS old, t(290) AS younger, t(310) AS young,
  LATERAL (VALUES ('good', 't=' || t || ',' || v1(t), '200 ignored'), ('the other way round', v1(t) || ',t=' || t, '200 ignored'),
		('blanks', 't=' || t || ', ' || v1(t), '200 ignored'), ('another version', 't=' || t || ',v0=abc,' || v1(t), '200 ignored'),
		('two, the second right', 't=' || t || ',' || v1(t, 'other') || ',' || v1(t), '200 ignored'),
		('two, none right', 't=' || t || ',' || v1(t, 'other') || ',' || v1(t, 'more'), '401 bad_signature'),
		('a little old', 't=' || older || ',' || v1(older), '200 ignored'), ('old', 't=' || old || ',' || v1(old), '401 stale'),
		('a little young', 't=' || younger || ',' || v1(younger), '200 ignored'), ('young', 't=' || young || ',' || v1(young), '401 future'),
		('old and wrong', 't=' || old || ',' || v1(t), '401 bad_signature'), ('another time', 't=' || older || ',' || v1(t), '401 bad_signature'),
		('no time', v1(t), '401 malformed_signature'), ('two times', 't=' || t || ',t=' || t || ',' || v1(t), '401 malformed_signature'),
		('a sign', 't=+' || t || ',' || v1('+' || t), '401 malformed_signature'), ('a zero before', 't=0' || t || ',' || v1('0' || t), '200 ignored'),
		('a long time', 't=' || repeat('9', 30) || ',' || v1(t), '401 malformed_signature'), ('no signature', 't=' || t, '401 malformed_signature'),
		('short', 't=' || t || ',' || left(v1(t), 60), '401 malformed_signature'), ('one of them short', 't=' || t || ',' || v1(t) || ',v1=00', '401 malformed_signature'),
		('empty', '', '401 malformed_signature'), ('commas', ',,,', '401 malformed_signature'), ('no equals', 't', '401 malformed_signature'),
		('nine', 't=' || t || repeat(',' || v1(t), 9), '401 malformed_signature')) AS x (what, header, want);
SELECT FROM booking_webhook_source_put('hook_sign', 'gcy', settings => '{"tolerance": 3600}');
SELECT same('a wider tolerance', verdict('gcy', calendly('key', b('{"event":"X"}'), t(-310)), b('{"event":"X"}')), '200 ignored');
SELECT same('that ends too', verdict('gcy', calendly('key', b('{"event":"X"}'), t(-3700)), b('{"event":"X"}')), '401 stale');

-- Acuity: base64 over the form as it came.
SELECT same('acuity', verdict('gac', acuity('key', b('action=changed&id=1')), b('action=changed&id=1')), '200 accepted');
SELECT same('acuity, another order', verdict('gac', acuity('key', b('action=changed&id=1')), b('id=1&action=changed')), '401 bad_signature');
SELECT same('acuity in hex', verdict('gac', jsonb_build_object('x-acuity-signature', encode(hmac(b('key'), b('a=1')), 'hex')), b('a=1')), '401 malformed_signature');

-- Standard Webhooks: the vector of its own documentation, which is old; and ours.
SELECT FROM booking_webhook_secret_put('gsw', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
SELECT same('standard, its example', verdict('gsw', '{"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330", "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}', b('{"test": 2432232314}')), '401 stale');
SELECT same('standard, not its example', verdict('gsw', '{"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265331", "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}', b('{"test": 2432232314}')), '401 bad_signature');
SELECT same('standard', verdict('gsw', standard('k', '{"type":"X"}'), '{"type":"X"}'), '200 ignored');
SELECT same('standard, another id', verdict('gsw', jsonb_set(standard('k', '{"type":"X"}'), '{0,1}', '"msg_2"'), '{"type":"X"}'), '401 bad_signature');
SELECT same('standard, a dot in the id', verdict('gsw', standard('k', '{"type":"X"}', id => 'a.b'), '{"type":"X"}'), '401 malformed_signature');
SELECT same('standard, no id', verdict('gsw', standard('k', '{"type":"X"}') - 0, '{"type":"X"}'), '401 missing_signature');
SELECT same('standard, no time', verdict('gsw', standard('k', '{"type":"X"}') - 1, '{"type":"X"}'), '401 missing_signature');
SELECT same('standard, two', verdict('gsw', jsonb_set(standard('k', '{"type":"X"}'), '{2,1}', to_jsonb('v1a,abc v1,' || repeat('A', 43) || '= ' || (standard('k', '{"type":"X"}') -> 2 ->> 1))), '{"type":"X"}'), '200 ignored');
SELECT same('standard, only another version', verdict('gsw', jsonb_set(standard('k', '{"type":"X"}'), '{2,1}', '"v1a,abc"'), '{"type":"X"}'), '401 malformed_signature');
SELECT same('standard, from the future', verdict('gsw', standard('k', '{"type":"X"}', t(310)), '{"type":"X"}'), '401 future');

-- Secrets: several, retired, none.
SELECT same('a second secret', booking_webhook_secret_add('gcc', 'second'), 2);
SELECT same('by either', (SELECT string_agg(verdict('gcc', calcom(k, b('{"triggerEvent":"X"}')), b('{"triggerEvent":"X"}')), ' ') FROM unnest(ARRAY['key', 'second']) k), '200 ignored 200 ignored');
SELECT same('the first is retired', booking_webhook_secret_retire('gcc', 'key'), 1);
SELECT same('only by the second', (SELECT string_agg(verdict('gcc', calcom(k, b('{"triggerEvent":"X"}')), b('{"triggerEvent":"X"}')), ' ' ORDER BY k) FROM unnest(ARRAY['key', 'second']) k), '401 bad_signature 200 ignored');
SELECT fails('no such secret', $$SELECT booking_webhook_secret_retire('gcc', 'key')$$, '42704');
SELECT same('by its number', booking_webhook_secret_retire_number('gcc', 2), 0);
SELECT same('without a secret nothing is believed', verdict('gcc', calcom('second', b('x')), b('x')), '401 no_secret');
SELECT same('also not without a signature', verdict('gcc', '{"x-cal-signature-256": "no-secret-provided"}', b('x')), '401 no_secret');
SELECT same('numbers are not used again', booking_webhook_secret_put('gcc', 'third'), 3);
SELECT FROM generate_series(1, 9) n, booking_webhook_secret_put('gcc', 'more' || n);
SELECT fails('too many secrets', $$SELECT booking_webhook_secret_put('gcc', 'x')$$, '54000');

-- A secret of one source opens no other, and none is in what a caller may read.
SELECT same('in no row of the audit', (SELECT count(*) FROM booking.audit_entry a WHERE a.tenant = 'hook_sign' AND a::text LIKE '%second%'), 0::bigint);

-- Channels, which the worker opens and which are written by hand here: what comes to the name of one is from its provider only.
BEGIN;
SELECT FROM unnest(ARRAY['google', 'graph']) k, booking_account_put('hook_sign', k, k);
SELECT FROM unnest(ARRAY['google', 'graph']) k, booking_calendar_put('hook_sign', k, k, 'desk@example.org/' || k, 'room', 'busy');
DELETE FROM booking.sync_request;
INSERT INTO booking.channel (calendar_id, next_at, changed_at, tenant, account, state, push_url, channel, remote, secret)
	SELECT c.calendar_id, 'infinity', now(), c.tenant, c.account, 'open', 'https://hooks.example.org/webhooks/', 'chan-' || c.calendar, 'theirs', b('the word')
	  FROM booking.calendar c WHERE c.tenant = 'hook_sign';
CREATE FUNCTION test.asked(calendar text)
RETURNS bigint
LANGUAGE sql
AS $$
	SELECT count(*) FROM booking.sync_request r JOIN booking.calendar c USING (calendar_id) WHERE c.tenant = 'hook_sign' AND c.calendar = asked.calendar;
$$;

-- Google: the token in a header.
SELECT same('google, first message', verdict('chan-google', '{"X-Goog-Channel-ID": "chan-google", "X-Goog-Channel-Token": "the word", "X-Goog-Resource-State": "sync"}', ''), '200 handshake');
SELECT same('which tells of nothing', asked('google'), 0::bigint);
SELECT same('google: ' || state, verdict('chan-google', jsonb_build_object('X-Goog-Channel-Token', 'the word', 'X-Goog-Resource-State', state), ''), '200 accepted')
  FROM unnest(ARRAY['exists', 'not_exists']) state;
SELECT same('one reading', asked('google'), 1::bigint);
SELECT same('nothing else is kept', (SELECT count(*) FROM booking.inbox WHERE source LIKE 'chan-%'), 0::bigint);
SELECT same('google: ' || what, verdict('chan-google', headers, b(body)), want)
  FROM (VALUES ('another token', '{"X-Goog-Channel-Token": "the words"}'::jsonb, '', '401 bad_signature'), ('a part of it', '{"X-Goog-Channel-Token": "the wor"}', '', '401 bad_signature'),
		('an empty one', '{"X-Goog-Channel-Token": ""}', '', '401 bad_signature'), ('a long one', jsonb_build_object('X-Goog-Channel-Token', repeat('the word', 10000)), '', '401 bad_signature'),
		('in upper case', '{"X-Goog-Channel-Token": "THE WORD"}', '', '401 bad_signature'), ('with a blank', '{"X-Goog-Channel-Token": "the word "}', '', '401 bad_signature'),
		('none', '{"X-Goog-Channel-ID": "chan-google"}', '', '401 missing_signature'), ('two', '[["X-Goog-Channel-Token", "the word"], ["x-goog-channel-token", "the word"]]', '', '401 malformed_signature'),
		('as Microsoft would', '{}', '{"value": [{"subscriptionId": "s", "clientState": "the word"}]}', '401 missing_signature')) AS x (what, headers, body, want);
SELECT same('no handshake of Microsoft''s', (SELECT verdict FROM booking_webhook_receive('chan-google', '{}', '', 'validationToken=x')), 'missing_signature');
SELECT same('counted', (SELECT refused FROM booking.channel WHERE channel = 'chan-google'), 10::bigint);

-- Microsoft Graph: the handshake, and the word in every notification.
SELECT same('graph, handshake', (SELECT concat_ws('|', status, content_type, body, verdict) FROM booking_webhook_receive('chan-graph', '{}', '', 'validationToken=Validation%3a+Testing+%c3%a9%3c')), '200|text/plain; charset=utf-8|Validation: Testing é<|handshake');
SELECT same('no handshake for sources', (SELECT verdict FROM booking_webhook_receive('gcy', '{}', '', 'validationToken=x')), 'missing_signature');
SELECT same('no handshake: ' || query, (SELECT status || ' ' || verdict FROM booking_webhook_receive('chan-graph', '{}', '', query)), '401 malformed_signature')
  FROM unnest(ARRAY['validationToken=%zz', 'validationToken=%00', 'validationToken=%ff', 'validationToken=a&validationToken=b', 'validationtoken=a']) query;
SELECT same('none that is too long', (SELECT status FROM booking_webhook_receive('chan-graph', '{}', '', 'validationToken=' || repeat('x', 2001))), 401);
SELECT same('graph: ' || what, verdict('chan-graph', '{}', b(body)), want)
  FROM (VALUES ('one of them wrong', '{"value": [{"subscriptionId": "s1", "clientState": "the word"}, {"subscriptionId": "s1", "clientState": "the wore"}]}', '401 bad_signature'),
		('one of them none', '{"value": [{"subscriptionId": "s1", "clientState": "the word"}, {"subscriptionId": "s1"}]}', '401 bad_signature'),
		('no text', '{"value": [{"subscriptionId": "s1", "clientState": ["the word"]}]}', '401 bad_signature'),
		('the last of a name counts', '{"value": [{"subscriptionId": "s1", "clientState": "the word", "clientState": "x"}]}', '401 bad_signature'),
		('removed, says somebody', '{"value": [{"subscriptionId": "s1", "clientState": "x", "lifecycleEvent": "subscriptionRemoved"}]}', '401 bad_signature'),
		('none', '{"value": []}', '401 malformed_signature'), ('no array', '{"value": {}}', '401 malformed_signature'), ('no JSON', 'x', '401 malformed_signature'),
		('too many', format('{"value": [%s]}', rtrim(repeat('{"subscriptionId": "s1", "clientState": "the word"},', 1001), ',')), '401 malformed_signature'),
		('a bomb', repeat('[', 100000), '401 malformed_signature'), ('many objects', format('{"value": [%s{}]}', repeat('{},', 300000)), '401 malformed_signature'),
		('large', repeat(' ', 1048577), '413 too_large')) AS x (what, body, want);
SELECT same('graph, as Google would', verdict('chan-graph', '{"X-Goog-Channel-Token": "the word"}', ''), '401 malformed_signature');
SELECT same('of all that nothing is read', asked('graph'), 0::bigint);
SELECT same('all of it counted', (SELECT refused FROM booking.channel WHERE channel = 'chan-graph'), 19::bigint);
SELECT same('the channel is as it was', (SELECT state || ' ' || remote || ' ' || next_at FROM booking.channel WHERE channel = 'chan-graph'), 'open theirs infinity');
SELECT same('graph', verdict('chan-graph', '{}', b('{"value": [{"subscriptionId": "s1", "clientState": "the word"}, {"subscriptionId": "s1", "clientState": "the word"}]}')), '202 accepted');
SELECT same('graph, one reading', asked('graph'), 1::bigint);

-- What happens to a subscription.
CREATE FUNCTION test.lives(event text)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	said text := verdict('chan-graph', '{}', b(jsonb_build_object('value', jsonb_build_array(
		jsonb_build_object('subscriptionId', 's1', 'clientState', 'the word', 'lifecycleEvent', event))) ::text));
BEGIN
	RETURN said || (SELECT concat_ws(' ', ':', state, remote, CASE WHEN next_at < 'infinity' THEN 'due' END) FROM booking.channel WHERE channel = 'chan-graph')
		|| ', ' || asked('graph');
END
$$;
DELETE FROM booking.sync_request;
SELECT same('missed', lives('missed'), '202 accepted: open theirs, 1');
SELECT same('not known yet', lives('somethingNew'), '202 accepted: open theirs, 1');
SELECT same('to be renewed', lives('reauthorizationRequired'), '202 accepted: open theirs due, 1');
DELETE FROM booking.sync_request;
SELECT same('removed', lives('subscriptionRemoved'), '202 accepted: opening due, 1');
SELECT same('removed, again', lives('subscriptionRemoved'), '202 accepted: opening due, 1');

-- One that is closed or unknown, and what its name is called, are the same to strangers.
SELECT same('unknown', (SELECT r::text FROM booking_webhook_receive('chan-other', '{"X-Goog-Channel-Token": "the word"}', '', 'validationToken=x') r), '(404,"text/plain; charset=utf-8","not found' || E'\n' || '",unknown_source)');
UPDATE booking.channel SET secret = NULL WHERE channel = 'chan-google';
SELECT same('without a secret nothing is believed', verdict('chan-google', '{"X-Goog-Channel-Token": ""}', ''), '401 no_secret');
UPDATE booking.channel SET state = 'closing';
SELECT same('closed', (SELECT string_agg(DISTINCT r::text, ' ') FROM unnest(ARRAY['chan-google', 'chan-graph', 'chan-other']) c, booking_webhook_receive(c, '{"X-Goog-Channel-Token": "the word"}', '', 'validationToken=x') r), '(404,"text/plain; charset=utf-8","not found' || E'\n' || '",unknown_source)');
ROLLBACK;

-- Size.
SELECT FROM booking_webhook_source_put('hook_sign', 'gac', settings => '{"max_bytes": 10}');
SELECT same('too large', verdict('gac', acuity('key', b('action=changed')), b('action=changed')), '413 too_large');

SELECT done();
