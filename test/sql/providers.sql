--
-- providers.sql: what providers can promise, and what they cannot be wished
--
-- A wish that the provider of a resource's calendar cannot grant is refused when
-- it is bound, not when it is sent: Microsoft Graph mails every attendee, so a
-- claim with attendees must wish that.  The same wish is fine for a provider
-- that can grant it, and for a resource without a calendar.
--
\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SET client_min_messages = error;
SELECT same('one row for each capability', (SELECT string_agg(provider || ' ' || n, ', ' ORDER BY provider) FROM (
	SELECT provider, count(*) AS n FROM booking_provider_capabilities() GROUP BY provider) x), 'caldav 9, google 9, graph 9');
SELECT same('of Graph', (SELECT string_agg(capability || ' ' || value, ', ' ORDER BY capability) FROM booking_provider_capabilities() WHERE provider = 'graph'),
	'absence_is_proof true, idempotent_create true, own_event_id false, parallel_writes true, push true, requests_in_flight 4, silent_invitation false, tells_busy true, whole_listing false');
SELECT same('of Google', (SELECT string_agg(capability || ' ' || value, ', ' ORDER BY capability) FROM booking_provider_capabilities() WHERE provider = 'google'),
	'absence_is_proof true, idempotent_create false, own_event_id true, parallel_writes false, push true, requests_in_flight 4, silent_invitation true, tells_busy true, whole_listing true');
SELECT yes('each has a consequence', (SELECT bool_and(length(consequence) > 20) FROM booking_provider_capabilities()));

SELECT FROM booking_account_put('providers', 'm', 'graph');
SELECT same('its own URL', (SELECT base_url FROM booking.account WHERE tenant = 'providers' AND account = 'm'), 'https://graph.microsoft.com/v1.0');
SELECT FROM booking_account_put('providers', 'g', 'google');
SELECT fails('the token URL of Graph is the tenant''s own', $$SELECT booking_credential_put('providers', 'm', '{"type": "client_credentials", "client_id": "c", "client_secret": "s"}')$$, '22023', 'credential');
SELECT FROM booking_credential_put('providers', 'm', '{"type": "client_credentials", "client_id": "c", "client_secret": "s", "token_url": "https://login.microsoftonline.com/contoso/oauth2/v2.0/token"}');
SELECT FROM booking_credential_put('providers', 'g', '{"type": "client_credentials", "client_id": "c", "client_secret": "s"}');
SELECT FROM unnest('{graph,google,local}'::text[]) r, booking_resource_put('providers', r, 100);
SELECT FROM booking_calendar_put('providers', 'graph', 'm', 'desk@example.org/AQMk=', 'graph');
SELECT FROM booking_calendar_put('providers', 'google', 'g', 'primary', 'google');
SELECT FROM booking_permit_all('providers', 'p');

CREATE FUNCTION test.claim(i text, r text, event text)
RETURNS text
LANGUAGE sql
AS $$SELECT (booking_claim('providers', 'p', i, r, h(9, 10), terms => format('{"event": %s}', event)::jsonb)).disposition$$;
SELECT fails('in silence: ' || e, format('SELECT claim(%L, ''graph'', %L)', 'silent', e), '22023', 'notify')
  FROM unnest(ARRAY['{"attendees": [{"email": "ann@example.org"}]}', '{"attendees": [{"email": "ann@example.org"}], "notify": "none"}',
	'{"attendees": [{"email": "ann@example.org"}], "notify": "external"}']) e;
SELECT same('nothing is recorded', (SELECT count(*) FROM booking.intent WHERE tenant = 'providers'), 0);
SELECT fails('nor proposed', $$SELECT booking_propose('providers', 'p', 'silent', 'graph', h(9, 10), terms => '{"event": {"attendees": [{"email": "ann@example.org"}]}}')$$, '22023', 'notify');
SELECT fails('nor for the first of several', $$SELECT booking_claim_all('providers', 'p', 'silent', '{graph,local}', h(9, 10), terms => '{"event": {"attendees": [{"email": "ann@example.org"}]}}')$$, '22023', 'notify');
SELECT same('all are told', claim('all', 'graph', '{"attendees": [{"email": "ann@example.org"}], "notify": "all"}'), 'committed');
SELECT same('nobody is invited', claim('none', 'graph', '{"attendees": [], "notify": "none"}'), 'committed');
SELECT same('no attendees', claim('plain', 'graph', '{"summary": "x", "notify": "external"}'), 'committed');
SELECT same('a redial', claim('all', 'graph', '{"attendees": [{"email": "ann@example.org"}], "notify": "all"}'), 'historical_retry');
SELECT same('Google can be silent', claim('google', 'google', '{"attendees": [{"email": "ann@example.org"}]}'), 'committed');
SELECT same('so can nobody', claim('local', 'local', '{"attendees": [{"email": "ann@example.org"}]}'), 'committed');
SELECT same('the event of several is made on the first one''s calendar', (booking_claim_all('providers', 'p', 'both', '{local,graph}', h(9, 10),
	terms => '{"event": {"attendees": [{"email": "ann@example.org"}]}}')).disposition, 'committed');

-- A proposal that was stored before the resource had a calendar is refused when
-- it is approved.
SELECT FROM booking_resource_put('providers', 'later', 1);
SELECT same('proposed', (booking_propose('providers', 'p', 'later', 'later', h(9, 10), terms => '{"event": {"attendees": [{"email": "ann@example.org"}]}}')).disposition, 'proposed');
SELECT FROM booking_calendar_put('providers', 'later', 'm', 'desk@example.org/primary', 'later');
SELECT fails('not approved', $$SELECT booking_approve('providers', 'p', 'p', 'later', 1)$$, '22023', 'notify');

SELECT done();
