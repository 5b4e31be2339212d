--
-- propose.sql: proposals, holds, approval, rejection, four eyes
--
-- A proposal is a numbered, immutable payload; only the newest can be approved,
-- by naming its number.  A hold keeps the units until it ends, and its end
-- needs no job: the clock is moved by booking.clock_offset.  Approval checks
-- again what the proposal was made from.  Proves R2 (two proposals for one
-- slot, with and without hold) and R3 (a hold cannot be booked over, is
-- consumed by its own approval, and ends by itself).
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM booking_permit_all('propose', 'ann');
SELECT FROM booking_permit_all('propose', 'bob');
SELECT FROM unnest(ARRAY['r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'r7', 'r8', 'r9']) r, booking_resource_put('propose', r);

-- Seconds from now to the end of the hold.
CREATE FUNCTION test.left_of(p booking_proposal)
RETURNS double precision
LANGUAGE sql
AS $$
	SELECT extract(epoch FROM p.expires_at - clock_timestamp());
$$;
CREATE FUNCTION test.proposals(i text)
RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(p.version || ' ' || p.state, ', ' ORDER BY p.version)
	  FROM booking.proposal p JOIN booking.intent USING (intent_id)
	 WHERE tenant = 'propose' AND intent = i;
$$;

-- Without a hold: numbered, with the versions it was made from.
SELECT * FROM booking_propose('propose', 'ann', 'plain', 'r1', h(9, 10)) \gset one_
SELECT same('proposed', :'one_disposition', 'proposed');
SELECT same('version 1', :'one_version', '1');
SELECT same('state', :'one_state', 'proposed');
SELECT same('is no replay', :'one_replayed', 'f');
SELECT yes('no end', (booking_propose('propose', 'ann', 'plain', 'r1', h(9, 10))).expires_at IS NULL);
SELECT yes('the snapshot knows the resource', :'one_snapshot'::jsonb::text ~ '"r1": 1\M');
SELECT same('holds nothing', held('propose', 'ann', 'plain'), 0);
SELECT same('status', show(booking_status('propose', 'ann', 'plain')), 'proposed proposed replayed');
SELECT same('does not keep others out', (booking_claim('propose', 'bob', 'plain 2', 'r1', h(9, 10))).disposition, 'committed');
SELECT same('approval looks again', show(booking_approve('propose', 'bob', 'ann', 'plain', 1)),
			'needs_proposal needs_proposal');
SELECT same('lapsed', proposals('plain'), '1 lapsed');
SELECT same('replays', show(booking_approve('propose', 'bob', 'ann', 'plain', 1)), 'needs_proposal needs_proposal replayed');
-- Nothing picks another time by itself: the next version does, under the same
-- identity.
SELECT same('next version', show(booking_propose('propose', 'ann', 'plain', 'r1', h(10, 11))), 'proposed v2 proposed');
SELECT same('the old number', show(booking_approve('propose', 'bob', 'ann', 'plain', 1)), 'stale_proposal proposed');
SELECT same('the new number', show(booking_approve('propose', 'bob', 'ann', 'plain', 2)), 'committed committed receipt');
SELECT same('one meeting', held('propose', 'ann', 'plain'), 1);
SELECT same('the approved time', (SELECT hours(during) FROM booking.intent WHERE tenant = 'propose' AND intent = 'plain'), '10-11');
SELECT same('approved', proposals('plain'), '1 lapsed, 2 approved');
SELECT same('who approved', (SELECT decided_by || ' ' || decided_role FROM booking.proposal JOIN booking.intent USING (intent_id)
			WHERE tenant = 'propose' AND intent = 'plain' AND booking.proposal.state = 'approved'), 'bob ' || current_user);
SELECT same('approval is audited', (SELECT count(*) FROM booking.audit WHERE tenant = 'propose' AND action = 'approve'
			AND intent = 'plain' AND principal = 'ann' AND role = current_user), 1);

-- R2, policy without hold: the first approval wins, the second sees it.
SELECT same('two proposals: ' || p, (booking_propose('propose', p, 'race', 'r2', h(9, 10))).disposition, 'proposed')
  FROM unnest(ARRAY['ann', 'bob']) p;
SELECT same('first', show(booking_approve('propose', 'ann', 'bob', 'race', 1)), 'committed committed receipt');
SELECT same('second', show(booking_approve('propose', 'bob', 'ann', 'race', 1)), 'needs_proposal needs_proposal');
SELECT same('one holds it', (SELECT count(*) FROM booking.reservation JOIN booking.resource USING (resource_id)
			WHERE resource.tenant = 'propose' AND resource = 'r2'), 1);

-- R3: a hold keeps others out ...
SELECT same('hold', show(booking_propose('propose', 'ann', 'held', 'r3', h(9, 10), hold_for => '1 hour')), 'held v1 proposed expires');
SELECT same('is held', held('propose', 'ann', 'held'), 1);
SELECT yes('for an hour', left_of(booking_propose('propose', 'ann', 'held', 'r3', h(9, 10), hold_for => '1 hour'))
		   BETWEEN 3500 AND 3600);
SELECT same('status', show(booking_status('propose', 'ann', 'held')), 'held proposed replayed');
SELECT same('keeps others out', show(booking_claim('propose', 'bob', 'held 2', 'r3', h(9.5, 11))), 'resource_conflict conflict');
SELECT fingerprint() AS before \gset
SELECT same('also their holds', show(booking_propose('propose', 'bob', 'held 3', 'r3', h(9.5, 11), hold_for => '1 hour')),
			'resource_conflict -');
SELECT same('which are not stored', fingerprint(), :'before');
SELECT same('so they stay unknown', show(booking_status('propose', 'bob', 'held 3')), 'unknown_intent -');
SELECT same('a proposal without hold may wait', show(booking_propose('propose', 'bob', 'held 4', 'r3', h(9.5, 11))), 'proposed v1 proposed');
SELECT same('but is not approved over it', show(booking_approve('propose', 'bob', 'bob', 'held 4', 1)), 'needs_proposal needs_proposal');
-- ... and is consumed by its own approval.
SELECT same('approval', show(booking_approve('propose', 'bob', 'ann', 'held', 1)), 'committed committed receipt');
SELECT same('one row, no longer a hold', (SELECT string_agg(coalesce(hold_until::text, 'booked'), ' ') FROM booking.reservation
			JOIN booking.intent USING (intent_id) WHERE intent.tenant = 'propose' AND intent = 'held'), 'booked');
SET booking.clock_offset = '2h';
SELECT same('and does not end', show(booking_claim('propose', 'bob', 'held 5', 'r3', h(9, 10))), 'resource_conflict conflict');
RESET booking.clock_offset;

-- A hold that has ended keeps nobody out, without any job having run.
SELECT same('hold', show(booking_propose('propose', 'ann', 'ended', 'r4', h(9, 10), hold_for => '1 hour')), 'held v1 proposed expires');
SET booking.clock_offset = '3599s';
SELECT same('just before its end', show(booking_status('propose', 'ann', 'ended')), 'held proposed replayed');
SET booking.clock_offset = '3600s';
SELECT same('after its end', show(booking_status('propose', 'ann', 'ended')), 'proposed proposed replayed');
SELECT same('propose again replays', (booking_propose('propose', 'ann', 'ended', 'r4', h(9, 10), hold_for => '1 hour')).disposition, 'proposed');
SELECT same('the row is still there', held('propose', 'ann', 'ended'), 1);
SELECT same('others are let in', show(booking_claim('propose', 'bob', 'ended 2', 'r4', h(9.5, 11))), 'committed committed receipt');
SELECT same('who take the row away', held('propose', 'ann', 'ended'), 0);
SELECT same('approval is too late', show(booking_approve('propose', 'bob', 'ann', 'ended', 1)), 'needs_proposal needs_proposal');
RESET booking.clock_offset;

-- An expired hold can be approved while the time is free.
SELECT same('hold', show(booking_propose('propose', 'ann', 'late', 'r4', h(20, 21), hold_for => '1 hour')), 'held v1 proposed expires');
SET booking.clock_offset = '2h';
SELECT same('late but free', show(booking_approve('propose', 'bob', 'ann', 'late', 1)), 'committed committed receipt');
SELECT same('one row', held('propose', 'ann', 'late'), 1);
RESET booking.clock_offset;

-- A live hold beside an expired one, several units, several resources.
SELECT FROM booking_resource_put('propose', 'class', 3);
SELECT same('hold 2 of 3', show(booking_propose('propose', 'ann', 'seats', 'class', h(9, 10), units => 2, hold_for => '1 hour')), 'held v1 proposed expires');
SELECT same('2 more do not fit', (booking_claim('propose', 'bob', 'seats 2', 'class', h(9, 10), units => 2)).disposition, 'resource_conflict');
SELECT same('1 more does', (booking_propose('propose', 'bob', 'seats 3', 'class', h(9, 10), hold_for => '3 hours')).disposition, 'held');
SET booking.clock_offset = '2h';
SELECT same('3 do not fit beside the live one', (booking_claim('propose', 'bob', 'seats 4', 'class', h(9, 10), units => 3)).disposition, 'resource_conflict');
SELECT same('2 do', (booking_claim('propose', 'bob', 'seats 5', 'class', h(9, 10), units => 2)).disposition, 'committed');
SELECT same('the expired rows are gone', held('propose', 'ann', 'seats'), 0);
SELECT same('the live one is not', held('propose', 'bob', 'seats 3'), 1);
RESET booking.clock_offset;
SELECT same('hold all', show(booking_propose_all('propose', 'ann', 'two', '{r5,r6}', h(9, 10), hold_for => '1 hour')), 'held v1 proposed expires');
SELECT same('r6 is held', (booking_claim('propose', 'bob', 'two 2', 'r6', h(9, 10))).disposition, 'resource_conflict');
SELECT same('approval', show(booking_approve('propose', 'ann', 'ann', 'two', 1)), 'committed committed receipt');
SELECT same('both are booked', held('propose', 'ann', 'two'), 2);
SELECT same('one of them is taken', show(booking_propose_all('propose', 'ann', 'two 3', '{r7,r6}', h(9.5, 10), hold_for => '1 hour')), 'resource_conflict -');
SELECT same('so none is held', (booking_claim('propose', 'bob', 'two 4', 'r7', h(9, 10))).disposition, 'committed');

-- The next version ends the old hold, also where both overlap; if the new hold
-- is impossible, the old one stays.
SELECT same('v1', show(booking_propose('propose', 'ann', 'move', 'r5', h(12, 13), hold_for => '1 hour')), 'held v1 proposed expires');
SELECT same('v2 overlaps v1', show(booking_propose('propose', 'ann', 'move', 'r5', h(12.5, 13.5), hold_for => '1 hour')), 'held v2 proposed expires');
SELECT same('one hold', held('propose', 'ann', 'move'), 1);
SELECT same('old time is free', (booking_claim('propose', 'bob', 'move 2', 'r5', h(12, 12.5))).disposition, 'committed');
SELECT fingerprint() AS before \gset
SELECT same('v3 is impossible', show(booking_propose('propose', 'ann', 'move', 'r5', h(12, 13), hold_for => '1 hour')), 'resource_conflict v2 proposed');
SELECT same('v2 stays', fingerprint(), :'before');
SELECT same('displaced', proposals('move'), '1 displaced, 2 open');
SELECT same('v3 without a hold', show(booking_propose('propose', 'ann', 'move', 'r5', h(14, 15))), 'proposed v3 proposed');
SELECT same('holds nothing', held('propose', 'ann', 'move'), 0);
SELECT same('a payload as before is a version too', show(booking_propose('propose', 'ann', 'move', 'r5', h(12.5, 13.5))), 'proposed v4 proposed');
SELECT same('displaced all', proposals('move'), '1 displaced, 2 displaced, 3 displaced, 4 open');

-- Compare and swap: a late retry of an older proposal displaces nothing.
SELECT same('v1', show(booking_propose('propose', 'ann', 'cas', 'r8', h(9, 10))), 'proposed v1 proposed');
SELECT same('v2 after 1', show(booking_propose('propose', 'ann', 'cas', 'r8', h(10, 11), after_version => 1)), 'proposed v2 proposed');
SELECT same('retry of v2 after 1', show(booking_propose('propose', 'ann', 'cas', 'r8', h(10, 11), after_version => 1)), 'proposed v2 proposed replayed');
SELECT same('v3 after 2', show(booking_propose('propose', 'ann', 'cas', 'r8', h(11, 12), after_version => 2)), 'proposed v3 proposed');
SELECT fingerprint() AS before \gset
SELECT same('late retry of v2', (booking_propose('propose', 'ann', 'cas', 'r8', h(10, 11), after_version => 1)).disposition, 'stale_proposal');
SELECT same('another after 1', (booking_propose('propose', 'ann', 'cas', 'r8', h(15, 16), after_version => 1)).disposition, 'stale_proposal');
SELECT same('after a version to come', (booking_propose('propose', 'ann', 'cas', 'r8', h(15, 16), after_version => 4)).disposition, 'stale_proposal');
SELECT same('nothing was displaced', fingerprint(), :'before');

SELECT same('after none', show(booking_propose('propose', 'ann', 'cas 0', 'r8', h(9, 10), after_version => 0)), 'proposed v1 proposed');
SELECT same('after none, again', show(booking_propose('propose', 'ann', 'cas 0', 'r8', h(9, 10), after_version => 0)), 'proposed v1 proposed replayed');
SELECT same('after 1', show(booking_propose('propose', 'ann', 'cas 0', 'r8', h(10, 11), after_version => 1)), 'proposed v2 proposed');
SELECT same('late retry of v1', (booking_propose('propose', 'ann', 'cas 0', 'r8', h(9, 10), after_version => 0)).disposition, 'stale_proposal');
SELECT same('v2 stands', proposals('cas 0'), '1 displaced, 2 open');
SELECT same('after a version of nothing', show(booking_propose('propose', 'ann', 'cas 1', 'r8', h(9, 10), after_version => 1)), 'unknown_intent -');

-- The hold is capped.
SET booking.max_hold = '10min';
SELECT * FROM booking_propose('propose', 'ann', 'cap', 'r8', h(20, 21), hold_for => '5 hours') \gset cap_
SELECT yes('capped', extract(epoch FROM :'cap_expires_at'::timestamptz - clock_timestamp()) BETWEEN 500 AND 600);
RESET booking.max_hold;
SELECT yes('capped by default', (booking_propose('propose', 'ann', 'cap 2', 'r8', h(21, 22), hold_for => '200 hours')).expires_at
		   <= clock_timestamp() + interval '24 hours');

-- Versions: not as demanded, nothing is stored; changed since, approval sees it.
SELECT fingerprint() AS before \gset
SELECT same('stale version', show(booking_propose('propose', 'ann', 'ver', 'r9', h(9, 10), 2)), 'inventory_conflict -');
SELECT same('unknown slot', show(booking_propose_slot('propose', 'ann', 'ver', 'r9', 'nowhere', 1)), 'inventory_conflict -');
SELECT same('more units than there are', show(booking_propose('propose', 'ann', 'ver', 'r9', h(9, 10), units => 2)), 'resource_conflict -');
SELECT same('nothing stored', fingerprint(), :'before');
SELECT same('as demanded', show(booking_propose('propose', 'ann', 'ver', 'r9', h(9, 10), 1, hold_for => '1 hour')), 'held v1 proposed expires');
SELECT same('the resource changes', booking_resource_put('propose', 'r9', time_zone => 'Asia/Kathmandu'), 2);
SELECT same('approval looks again', show(booking_approve('propose', 'bob', 'ann', 'ver', 1)), 'needs_proposal needs_proposal');
SELECT same('and frees the hold', held('propose', 'ann', 'ver'), 0);
-- A version that was not demanded was still seen.
SELECT same('no version demanded', show(booking_propose('propose', 'ann', 'drift', 'r9', h(16, 17))), 'proposed v1 proposed');
SELECT same('the resource changes', booking_resource_put('propose', 'r9', buffer_after => '5 min'), 3);
SELECT same('approval sees it', show(booking_approve('propose', 'bob', 'ann', 'drift', 1)), 'needs_proposal needs_proposal');
SELECT same('proposed anew', show(booking_propose('propose', 'ann', 'drift', 'r9', h(16, 17), after_version => 1)), 'proposed v2 proposed');
SELECT same('as it is', show(booking_approve('propose', 'bob', 'ann', 'drift', 2)), 'committed committed receipt');
SELECT FROM booking_slot_put('propose', 'r9', 'slot', h(12, 13), 3);
SELECT same('a slot', show(booking_propose_slot('propose', 'ann', 'slot', 'r9', 'slot', 3, hold_for => '1 hour')), 'held v1 proposed expires');
SELECT same('it moves', booking_slot_put('propose', 'r9', 'slot', h(13, 14)), 4);
SELECT same('approval sees it', show(booking_approve('propose', 'bob', 'ann', 'slot', 1)), 'needs_proposal needs_proposal');
SELECT same('a slot again', show(booking_propose_slot('propose', 'ann', 'slot', 'r9', 'slot', 4)), 'proposed v2 proposed');
SELECT same('as it is', show(booking_approve('propose', 'bob', 'ann', 'slot', 2)), 'committed committed receipt');
SELECT same('its time', (SELECT hours(during) FROM booking.intent WHERE tenant = 'propose' AND intent = 'slot'), '13-14');

-- Permission at approval: the approver's own, and still the principal's.
SELECT FROM booking_permit('propose', 'cid', 'r9');
SELECT same('propose', show(booking_propose_all('propose', 'ann', 'perm', '{r9,r8}', h(40, 41))), 'proposed v1 proposed');
SELECT fingerprint() AS before \gset
SELECT same('approver has one of two', show(booking_approve('propose', 'cid', 'ann', 'perm', 1)), 'denied -');
SELECT same('approver has none', show(booking_approve('propose', 'eve', 'ann', 'perm', 1)), 'denied -');
SELECT same('rejecting needs it as well', show(booking_reject('propose', 'eve', 'ann', 'perm', 1, 'no')), 'denied -');
SELECT same('unknown intent, no permission', show(booking_approve('propose', 'eve', 'ann', 'nothing', 1)), 'denied -');
SELECT same('unknown intent', show(booking_approve('propose', 'bob', 'ann', 'nothing', 1)), 'unknown_intent -');
SELECT same('nothing was written', fingerprint(), :'before');
SELECT FROM booking_permit('propose', 'ann', 'r8', false);
SELECT same('principal lost it', show(booking_approve('propose', 'bob', 'ann', 'perm', 1)), 'denied -');
SELECT same('so it is still proposed', proposals('perm'), '1 open');
SELECT FROM booking_permit('propose', 'ann', 'r8', true);
SELECT same('restored', show(booking_approve('propose', 'bob', 'ann', 'perm', 1)), 'committed committed receipt');

-- Rejecting ends the proposal and its hold; the intent can be proposed again.
SELECT same('propose', show(booking_propose('propose', 'ann', 'rej', 'r8', h(50, 51), hold_for => '1 hour')), 'held v1 proposed expires');
SELECT same('reject', show(booking_reject('propose', 'bob', 'ann', 'rej', 1, 'too late in the day')), 'needs_proposal needs_proposal');
SELECT same('frees', held('propose', 'ann', 'rej'), 0);
SELECT same('why and who', (SELECT p.state || '/' || reason || '/' || decided_by FROM booking.proposal p JOIN booking.intent USING (intent_id)
			WHERE tenant = 'propose' AND intent = 'rej'), 'rejected/too late in the day/bob');
SELECT same('approval is too late', show(booking_approve('propose', 'bob', 'ann', 'rej', 1)), 'needs_proposal needs_proposal replayed');
SELECT same('the same values replay the rejection', (booking_propose('propose', 'ann', 'rej', 'r8', h(50, 51))).disposition, 'needs_proposal');
SELECT same('unless they name it', show(booking_propose('propose', 'ann', 'rej', 'r8', h(50, 51), after_version => 1)), 'proposed v2 proposed');
SELECT same('and can be approved', show(booking_approve('propose', 'bob', 'ann', 'rej', 2)), 'committed committed receipt');
SELECT same('both are on record', proposals('rej'), '1 rejected, 2 approved');
SELECT same('rejection is audited', (SELECT count(*) FROM booking.audit WHERE tenant = 'propose' AND action = 'reject' AND intent = 'rej'), 1);

-- Canceling a proposal ends its hold, and nothing approves it then.
SELECT same('propose', show(booking_propose('propose', 'ann', 'gone', 'r8', h(60, 61), hold_for => '1 hour')), 'held v1 proposed expires');
SELECT same('cancel', show(booking_cancel('propose', 'ann', 'gone')), 'canceled canceled');
SELECT same('frees', held('propose', 'ann', 'gone'), 0);
SELECT same('canceled', proposals('gone'), '1 canceled');
SELECT same('no approval', show(booking_approve('propose', 'bob', 'ann', 'gone', 1)), 'canceled canceled replayed');

-- Evidence lies beside: it is recorded and never compared.
SELECT same('evidence', show(booking_propose('propose', 'ann', 'evid', 'r8', h(70, 71), evidence => '{"call": "c-1"}')), 'proposed v1 proposed');
SELECT same('of an approval', show(booking_approve('propose', 'bob', 'ann', 'evid', 1, evidence => '{"call": "c-2"}')), 'committed committed receipt');
SELECT yes('both are kept', (SELECT count(*) = 2 FROM booking.audit WHERE tenant = 'propose' AND intent = 'evid'
		   AND evidence IN ('{"call": "c-1"}', '{"call": "c-2"}')));

-- Four eyes: a claim becomes a proposal, and whoever proposed may not approve.
SELECT FROM booking_tenant_put('propose', four_eyes => true);
SELECT same('a claim is a proposal', show(booking_claim('propose', 'ann', 'eyes', 'r8', h(80, 81))), 'proposed proposed');
SELECT same('replays', show(booking_claim('propose', 'ann', 'eyes', 'r8', h(80, 81))), 'proposed proposed replayed');
SELECT same('version 1', proposals('eyes'), '1 open');
SELECT same('holds nothing', held('propose', 'ann', 'eyes'), 0);
SELECT fingerprint() AS before \gset
SELECT same('not by oneself', show(booking_approve('propose', 'ann', 'ann', 'eyes', 1)), 'denied -');
SELECT same('nothing written', fingerprint(), :'before');
SELECT same('by another', show(booking_approve('propose', 'bob', 'ann', 'eyes', 1)), 'committed committed receipt');
SELECT same('the claim replays it', show(booking_claim('propose', 'ann', 'eyes', 'r8', h(80, 81))), 'historical_retry committed receipt replayed');
SELECT same('a slot claim too', show(booking_claim_slot('propose', 'ann', 'eyes slot', 'r9', 'slot', 4)), 'proposed proposed');
SELECT same('and one of several', show(booking_claim_all('propose', 'ann', 'eyes all', '{r8,r9}', h(82, 83))), 'proposed proposed');
SELECT same('not by oneself: explicit proposal', show(booking_propose('propose', 'ann', 'eyes 2', 'r8', h(84, 85))), 'proposed v1 proposed');
SELECT same('denied', show(booking_approve('propose', 'ann', 'ann', 'eyes 2', 1)), 'denied -');
SELECT same('one may reject one''s own', show(booking_reject('propose', 'ann', 'ann', 'eyes 2', 1, 'mistake')), 'needs_proposal needs_proposal');
SELECT FROM booking_tenant_put('propose');
SELECT same('NULL keeps four eyes', (SELECT four_eyes FROM booking.tenant WHERE tenant = 'propose'), true);
SELECT FROM booking_tenant_put('propose', false);
SELECT same('off again', show(booking_claim('propose', 'ann', 'eyes 3', 'r8', h(86, 87))), 'committed committed receipt');
SELECT same('open ones can be approved by oneself', show(booking_approve('propose', 'ann', 'ann', 'eyes all', 1)), 'committed committed receipt');

SELECT done();
