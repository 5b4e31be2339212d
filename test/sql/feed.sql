--
-- feed.sql: every change of an intent, once, in order
--
-- A change is written with what it says, in the transaction that makes it, and
-- numbered from 1 without a gap by whoever reads.  A reader gets the same again
-- until it acknowledges; what all have acknowledged is gone.  A tenant without
-- a reader writes nothing.  Nothing personal but identities is told.  What
-- happens at once and in crashes is in the isolation specs and in 150_feed.pl.
-- Proves R104 for the feed: what is read goes in small batches.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM unnest(ARRAY['feed', 'feed 2']) t, unnest(ARRAY['ann', 'bob']) p, booking_permit_all(t, p);
SELECT FROM unnest(ARRAY['feed', 'feed 2']) t, unnest(ARRAY['room', 'desk']) r, booking_resource_put(t, r);

-- What a consumer reads, as text.
CREATE FUNCTION test.read(name text, max integer DEFAULT 100, t text DEFAULT 'feed')
RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(concat_ws(' ', c.position || ':', c.intent, c.kind, c.state, 'r' || c.revision, 'v' || c.version), ', ' ORDER BY n)
	  FROM booking_changes(t, name, max) WITH ORDINALITY AS c
		   (position, at, tenant, principal, intent, kind, disposition, state, remote, event, version, revision, resources, during, units, detail, n);
$$;

-- Nobody reads: nothing is written.
SELECT FROM booking_claim('feed', 'ann', 'before', 'room', h(1, 2));
SELECT FROM booking_cancel('feed', 'ann', 'before');
SELECT same('nothing without a consumer', (SELECT count(*) FROM booking.change WHERE tenant = 'feed'), 0);

-- A consumer, twice the same.
SELECT FROM booking_consumer_put('feed', 'crm');
SELECT fingerprint('feed') AS before \gset
SELECT FROM booking_consumer_put('feed', 'crm');
SELECT same('put twice', fingerprint('feed'), :'before');
SELECT same('audited', (SELECT string_agg(action || ' ' || detail::text, ', ') FROM booking.audit WHERE tenant = 'feed' AND action LIKE 'consumer%'),
			'consumer_put {"name": "crm"}');
SELECT same('nothing yet', read('crm'), NULL::text);

-- One change for each, by every way an intent changes.
SELECT FROM booking_claim('feed', 'ann', 'a', 'room', h(9, 10));
SELECT same('a claim', read('crm'), '1: a recorded committed r1 v1');
SELECT FROM booking_claim('feed', 'ann', 'a', 'room', h(9, 10));
SELECT FROM booking_claim('feed', 'ann', 'a', 'room', h(10, 11));
SELECT FROM booking_claim('feed', 'eve', 'x', 'room', h(10, 11));
SELECT FROM booking_status('feed', 'ann', 'a');
SELECT same('replays, conflicts of intents and denials change nothing', read('crm'), '1: a recorded committed r1 v1');
SELECT FROM booking_claim('feed', 'bob', 'b', 'room', h(9, 10));
SELECT FROM booking_cancel('feed', 'bob', 'tomb');
SELECT FROM booking_claim('feed', 'ann', 'a2', 'room', h(11, 12), supersedes => 'a');
SELECT FROM booking_cancel('feed', 'ann', 'a2');
SELECT FROM booking_cancel('feed', 'ann', 'a2');
SELECT same('conflict, tombstone, exchange, cancel', read('crm'), '1: a recorded committed r1 v1, 2: b recorded conflict r1 v1, '
			'3: tomb recorded canceled r1 v0, 4: a2 recorded committed r1 v1, 5: a changed canceled r2 v1, 6: a2 changed canceled r2 v1');
SELECT FROM booking_consumer_ack('feed', 'crm', 6);
SELECT FROM booking_propose('feed', 'ann', 'p', 'room', h(14, 15), hold_for => '1 hour');
SELECT FROM booking_propose('feed', 'ann', 'p', 'room', h(15, 16));
SELECT FROM booking_reject('feed', 'bob', 'ann', 'p', 2, 'call alice@example.org first');
SELECT FROM booking_propose('feed', 'ann', 'p', 'room', h(16, 17));
SELECT FROM booking_approve('feed', 'bob', 'ann', 'p', 3);
SELECT same('proposals', read('crm'), '7: p recorded proposed r1 v1, 8: p proposed proposed r2 v2, 9: p changed needs_proposal r3 v2, '
			'10: p proposed proposed r4 v3, 11: p changed committed r5 v3');
SELECT FROM booking_override('feed', 'bob', 'o', 'room', h(16, 17), 1, '{}', 'alice insists');
SELECT FROM booking_claim_all('feed', 'ann', 'all', '{room,desk}', h(20, 21), terms => '{"event": {"summary": "alice@example.org"}}', evidence => '{"who": "alice"}');
SELECT FROM booking_slot_put('feed', 'desk', 's1', h(30, 31));
SELECT FROM booking_claim_slot('feed', 'ann', 'slot', 'desk', 's1', 1);
SELECT FROM booking_cancel('feed', 'ann', 'all', '{"who": "alice"}');
SELECT same('the rest', read('crm'), '7: p recorded proposed r1 v1, 8: p proposed proposed r2 v2, 9: p changed needs_proposal r3 v2, '
			'10: p proposed proposed r4 v3, 11: p changed committed r5 v3, 12: o recorded committed r1 v1, 13: all recorded committed r1 v1, '
			'14: slot recorded committed r1 v1, 15: all changed canceled r2 v1');

-- What a change says, and what it does not.
SELECT same('of a claim', (SELECT concat_ws(' ', tenant, principal, disposition, remote, event, resources, hours(during), units, detail)
			FROM booking_changes('feed', 'crm') WHERE position = 13), 'feed ann committed not_required none {room,desk} 20-21 1 {}');
SELECT same('of a rejection', (SELECT detail FROM booking_changes('feed', 'crm') WHERE position = 9), '{"reason": "rejected"}');
SELECT same('of a slot', (SELECT detail FROM booking_changes('feed', 'crm') WHERE position = 14), '{"slot": "s1"}');
SELECT same('nothing anybody wrote', (SELECT count(*) FROM booking.change c WHERE c::text ~ 'alice'), 0);
SELECT same('its time is that of the intent', (SELECT c.at FROM booking_changes('feed', 'crm') c WHERE position = 15),
			(SELECT changed_at FROM booking.intent WHERE tenant = 'feed' AND intent = 'all'));

-- Pages, acknowledgements, retention.
SELECT same('a page', read('crm', 2), '7: p recorded proposed r1 v1, 8: p proposed proposed r2 v2');
SELECT same('the same page', read('crm', 2), '7: p recorded proposed r1 v1, 8: p proposed proposed r2 v2');
SELECT FROM booking_consumer_ack('feed', 'crm', 8);
SELECT same('the next page', read('crm', 1), '9: p changed needs_proposal r3 v2');
SELECT FROM booking_consumer_ack('feed', 'crm', 5);
SELECT same('an older acknowledgement takes nothing back', read('crm', 1), '9: p changed needs_proposal r3 v2');
SELECT same('what is acknowledged is gone', (SELECT min(position) FROM booking.change WHERE tenant = 'feed'), 9);
SELECT FROM booking_consumer_put('feed', 'mail');
SELECT same('a new consumer begins behind it', read('mail'), NULL::text);
SELECT FROM booking_claim('feed', 'ann', 'c', 'room', h(40, 41));
SELECT same('both get what comes', read('mail'), '16: c recorded committed r1 v1');
SELECT same('also the slower one', read('crm') LIKE '9: %, 16: c recorded committed r1 v1', true);
SELECT FROM booking_consumer_ack('feed', 'mail', 16);
SELECT same('the slower one keeps them', (SELECT min(position) FROM booking.change WHERE tenant = 'feed'), 9);
SELECT FROM booking_consumer_ack('feed', 'crm', 16);
SELECT same('until it acknowledges', (SELECT count(*) FROM booking.change WHERE tenant = 'feed'), 0);
SELECT FROM booking_claim('feed', 'ann', 'd', 'room', h(41, 42));
SELECT same('positions go on', read('crm'), '17: d recorded committed r1 v1');

-- What was read and rolled back was not delivered.
SELECT FROM booking_claim('feed', 'ann', 'e', 'room', h(42, 43));
BEGIN;
SELECT same('read', read('crm'), '17: d recorded committed r1 v1, 18: e recorded committed r1 v1');
ROLLBACK;
SELECT fails('not delivered', $$SELECT booking_consumer_ack('feed', 'crm', 18)$$, '55000', 'position');
SELECT same('read again', read('crm'), '17: d recorded committed r1 v1, 18: e recorded committed r1 v1');
SELECT FROM booking_consumer_ack('feed', 'crm', 18);
SELECT fails('beyond the end', $$SELECT booking_consumer_ack('feed', 'crm', 19)$$, '55000', 'position');

-- Rolled back, also in part: no change and no gap.
BEGIN;
SELECT FROM booking_claim('feed', 'ann', 'f', 'room', h(50, 51));
SAVEPOINT s;
SELECT FROM booking_claim('feed', 'ann', 'g', 'room', h(51, 52));
SELECT same('own changes are numbered with the transaction', read('crm'), '19: f recorded committed r1 v1, 20: g recorded committed r1 v1');
ROLLBACK TO s;
SELECT FROM booking_claim('feed', 'ann', 'g2', 'room', h(51, 52));
COMMIT;
BEGIN;
SELECT FROM booking_claim('feed', 'ann', 'h', 'room', h(52, 53));
ROLLBACK;
SELECT FROM booking_claim('feed', 'ann', 'i', 'room', h(52, 53));
SELECT same('what came of it', read('crm'), '19: f recorded committed r1 v1, 20: g2 recorded committed r1 v1, 21: i recorded committed r1 v1');

-- One tenant sees nothing of another, and its writers write nothing for it.
SELECT FROM booking_claim('feed 2', 'ann', 'other', 'room', h(9, 10));
SELECT same('no change of another tenant', (SELECT count(*) FROM booking.change WHERE tenant = 'feed 2'), 0);
SELECT FROM booking_consumer_put('feed 2', 'crm');
SELECT FROM booking_claim('feed 2', 'ann', 'other 2', 'room', h(10, 11));
SELECT same('positions of its own', read('crm', t => 'feed 2'), '1: other 2 recorded committed r1 v1');

-- Removing: with the last consumer nothing more is written, and what is left goes.
SELECT FROM booking_consumer_remove('feed 2', 'crm');
SELECT FROM booking_consumer_remove('feed 2', 'crm');
SELECT same('gone with the last consumer', (SELECT count(*) FROM booking.change WHERE tenant = 'feed 2'), 0);
SELECT FROM booking_claim('feed 2', 'ann', 'other 3', 'room', h(11, 12));
SELECT same('nothing more', (SELECT count(*) FROM booking.change WHERE tenant = 'feed 2'), 0);
SELECT FROM booking_consumer_put('feed 2', 'crm');
SELECT FROM booking_claim('feed 2', 'ann', 'other 4', 'room', h(12, 13));
SELECT same('positions are not given twice', read('crm', t => 'feed 2'), '2: other 4 recorded committed r1 v1');
SELECT FROM booking_consumer_remove('feed', 'mail');
SELECT FROM booking_consumer_ack('feed', 'crm', 21);
SELECT same('a removed consumer keeps nothing', (SELECT count(*) FROM booking.change WHERE tenant = 'feed'), 0);

-- A consumer of the own transaction has not begun: others do not know it yet.
BEGIN;
SELECT FROM booking_consumer_put('feed', 'new');
SELECT FROM booking_claim('feed', 'ann', 'j', 'room', h(60, 61));
SELECT same('its own changes come', read('new'), '22: j recorded committed r1 v1');
COMMIT;
SELECT FROM booking_consumer_put('feed 3', 'crm');
BEGIN;
SELECT FROM booking_consumer_put('feed 3', 'too');
SELECT same('not begun', (SELECT string_agg(concat_ws(' ', name, started), ', ' ORDER BY name) FROM booking.consumer WHERE tenant = 'feed 3'), 'crm f, too f');
SELECT FROM booking_changes('feed 3', 'too');
SELECT same('still not', (SELECT started FROM booking.consumer WHERE tenant = 'feed 3' AND name = 'too'), false);
COMMIT;
SELECT FROM booking_changes('feed 3', 'too');
SELECT same('begun', (SELECT string_agg(concat_ws(' ', name, started), ', ' ORDER BY name) FROM booking.consumer WHERE tenant = 'feed 3'), 'crm f, too t');
SELECT FROM booking_consumer_put('feed 3', 'third');
SELECT same('whoever comes beside one that has begun, has', (SELECT started FROM booking.consumer WHERE tenant = 'feed 3' AND name = 'third'), true);

-- At the other isolation levels.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT FROM booking_claim('feed', 'ann', 'k', 'room', h(61, 62));
SELECT same('repeatable read', read('crm'), '22: j recorded committed r1 v1, 23: k recorded committed r1 v1');
SELECT FROM booking_consumer_ack('feed', 'crm', 23);
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT FROM booking_cancel('feed', 'ann', 'k');
SELECT same('serializable', read('crm'), '24: k changed canceled r2 v1');
SELECT FROM booking_consumer_ack('feed', 'crm', 24);
COMMIT;
BEGIN READ ONLY;
SELECT sqlstate_of($$SELECT booking_changes('feed', 'crm')$$) AS got \gset
ROLLBACK;
SELECT same('reading gives positions', :'got', '25006');

-- More than one acknowledgement removes.
SELECT FROM generate_series(1, 250) n, booking_claim('feed', 'bob', 'many ' || n, 'desk', h(1000 + n, 1001 + n));
SELECT same('a full page', (SELECT concat_ws(' ', count(*), min(position), max(position)) FROM booking_changes('feed', 'crm', 200)), '200 25 224');
SELECT same('no more are numbered than were read', (SELECT last_position FROM booking.feed WHERE tenant = 'feed'), 224);
SELECT FROM booking_consumer_ack('feed', 'crm', 224);
SELECT same('the rest', (SELECT concat_ws(' ', count(*), min(position), max(position)) FROM booking_changes('feed', 'crm', 1000)), '50 225 274');
SELECT same('in the order of writing', (SELECT bool_and(c.intent = 'many ' || c.position - 24) FROM booking_changes('feed', 'crm', 1000) c), true);

-- Guards hold the owner to it.
SELECT fails('what a change says', $$UPDATE booking.change SET state = 'canceled' WHERE position = 225$$, '55000', 'change');
SELECT fails('a position twice', $$UPDATE booking.change SET position = 999 WHERE position = 225$$, '55000', 'change');
SELECT fails('all changes at once', 'TRUNCATE booking.change', '55000', 'change');
SELECT fails('positions given again', $$UPDATE booking.feed SET last_position = 1 WHERE tenant = 'feed'$$, '55000', 'feed');
SELECT fails('a feed removed', $$DELETE FROM booking.feed WHERE tenant = 'feed'$$, '55000', 'feed');
SELECT fails('a feed of another tenant', $$UPDATE booking.feed SET tenant = 'feed 9' WHERE tenant = 'feed'$$, '55000', 'feed');
SELECT fails('all feeds', 'TRUNCATE booking.feed', '55000', 'feed');
SELECT fails('acknowledged beyond delivery', $$UPDATE booking.consumer SET acked = 999 WHERE tenant = 'feed' AND name = 'crm'$$, '23514', hinted => false);
SELECT fails('a position taken', $$INSERT INTO booking.change (position, at, intent_id, revision, version, tenant, principal, intent, kind, disposition, state, remote, event, detail)
	SELECT position, at, intent_id, revision, version, tenant, principal, intent, kind, disposition, state, remote, event, detail FROM booking.change WHERE position = 225$$,
			 '23505', hinted => false);

-- Direct DML on consumers is noticed by writers all the same.
DELETE FROM booking.consumer WHERE tenant = 'feed 2';
SELECT FROM booking_claim('feed 2', 'ann', 'other 5', 'room', h(13, 14));
SELECT same('nothing without a consumer', (SELECT count(*) FROM booking.change WHERE tenant = 'feed 2' AND intent = 'other 5'), 0);

SELECT FROM booking.consumer, booking_consumer_remove(tenant, name) WHERE tenant LIKE 'feed%';
SELECT same('all gone', (SELECT count(*) FROM booking.change WHERE tenant LIKE 'feed%' AND tenant <> 'feed 2'), 0);
SELECT done();
