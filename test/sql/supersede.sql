--
-- supersede.sql: one booking exchanged for another
--
-- The earlier intent of the same principal gives way in the same transaction,
-- or everything stays as it was: never none of them and never both.  What each
-- state of the predecessor answers is in states.sql.  Proves R39 for the part
-- without a provider.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM booking_permit_all('supersede', 'p');
SELECT FROM booking_permit_all('supersede', 'q');
SELECT FROM unnest(ARRAY['r', 's', 't']) r, booking_resource_put('supersede', r);
SELECT FROM booking_resource_put('supersede', 'class', 3);

CREATE FUNCTION test.linked(i text)
RETURNS text
LANGUAGE sql
AS $$
	SELECT concat_ws(' ', state, 'supersedes=' || supersedes, 'successor=' || successor)
	  FROM booking.intent WHERE tenant = 'supersede' AND principal = 'p' AND intent = i;
$$;

-- Half an hour later: the new time overlaps the old one, which no one else holds.
SELECT * FROM booking_claim('supersede', 'p', 'a1', 'r', h(9, 10)) \gset a1_
SELECT * FROM booking_claim('supersede', 'p', 'a2', 'r', h(9.5, 10.5), supersedes => 'a1') \gset a2_
SELECT same('moved', :'a2_disposition' || ' ' || :'a2_state' || ' ' || :'a2_replayed', 'committed committed f');
SELECT yes('with a receipt of its own', :'a2_receipt' <> :'a1_receipt');
SELECT same('the old one', linked('a1'), 'canceled successor=a2');
SELECT same('the new one', linked('a2'), 'committed supersedes=a1');
SELECT same('old units', held('supersede', 'p', 'a1'), 0);
SELECT same('new units', held('supersede', 'p', 'a2'), 1);
SELECT same('the old half is free', (booking_claim('supersede', 'q', 'a', 'r', h(9, 9.5))).disposition, 'committed');
SELECT same('the old one keeps its receipt', (booking_status('supersede', 'p', 'a1')).receipt, :'a1_receipt');
SELECT same('the old call', show(booking_claim('supersede', 'p', 'a1', 'r', h(9, 10))), 'canceled canceled receipt replayed');
SELECT same('the new call again', show(booking_claim('supersede', 'p', 'a2', 'r', h(9.5, 10.5), supersedes => 'a1')),
			'historical_retry committed receipt replayed');
-- The same time, and other terms only.
SELECT same('same time', show(booking_claim('supersede', 'p', 'a3', 'r', h(9.5, 10.5), terms => '{"x": 1}', supersedes => 'a2')),
			'committed committed receipt');
SELECT same('chain', linked('a2'), 'canceled supersedes=a1 successor=a3');

-- Whatever refuses the new booking leaves the old one untouched.
SELECT same('in the way', (booking_claim('supersede', 'q', 'b', 'r', h(12, 13))).disposition, 'committed');
SELECT same('old', show(booking_claim('supersede', 'p', 'b1', 'r', h(11, 12))), 'committed committed receipt');
SELECT linked('b1') || (SELECT i::text FROM booking.intent i WHERE tenant = 'supersede' AND intent = 'b1') AS before \gset
SELECT same('taken', show(booking_claim('supersede', 'p', 'b2', 'r', h(11.5, 12.5), supersedes => 'b1')), 'resource_conflict conflict');
SELECT same('stale version', show(booking_claim('supersede', 'p', 'b3', 'r', h(11.5, 12), 9, supersedes => 'b1')), 'inventory_conflict conflict');
SELECT same('unknown slot', show(booking_claim_slot('supersede', 'p', 'b4', 'r', 'none', 1, supersedes => 'b1')), 'inventory_conflict conflict');
SELECT same('not permitted', show(booking_claim('supersede', 'p', 'b5', 'nowhere', h(11.5, 12), supersedes => 'b1')), 'denied -');
SELECT same('the old one stands', linked('b1') || (SELECT i::text FROM booking.intent i WHERE tenant = 'supersede' AND intent = 'b1'), :'before');
SELECT same('with its unit', held('supersede', 'p', 'b1'), 1);
SELECT same('the conflict replays', show(booking_claim('supersede', 'p', 'b2', 'r', h(11.5, 12.5), supersedes => 'b1')),
			'resource_conflict conflict replayed');
SELECT same('and can be exchanged itself', show(booking_claim('supersede', 'p', 'b6', 's', h(11, 12), supersedes => 'b2')), 'committed committed receipt');
SELECT same('the old one stands still', linked('b1'), 'committed');
SELECT same('the conflict is gone', linked('b2'), 'canceled supersedes=b1 successor=b6');

-- A predecessor that has its end: never a plain claim, which would make two.
SELECT same('a second successor', show(booking_claim('supersede', 'p', 'c1', 't', h(9, 10), supersedes => 'a1')), 'predecessor_unresolved -');
SELECT yes('the answer knows state and successor', (booking_claim('supersede', 'p', 'c1', 't', h(9, 10), supersedes => 'a1')).detail::text
		   ~ 'canceled.*a2|a2.*canceled');
SELECT same('is not stored', show(booking_status('supersede', 'p', 'c1')), 'unknown_intent -');
SELECT same('so the identity is free for a plain claim', show(booking_claim('supersede', 'p', 'c1', 't', h(9, 10))), 'committed committed receipt');
SELECT same('a tombstone', show(booking_cancel('supersede', 'p', 'c2')), 'canceled canceled');
SELECT same('as predecessor', show(booking_claim('supersede', 'p', 'c3', 't', h(10, 11), supersedes => 'c2')), 'predecessor_unresolved -');
SELECT same('never heard of', show(booking_claim('supersede', 'p', 'c4', 't', h(10, 11), supersedes => 'nothing')), 'unknown_intent -');
SELECT same('of someone else', show(booking_claim('supersede', 'q', 'c5', 't', h(10, 11), supersedes => 'c1')), 'unknown_intent -');
SELECT same('nothing is held there', (booking_claim('supersede', 'q', 'c6', 't', h(10, 11))).disposition, 'committed');
SELECT same('c1 was left alone', linked('c1'), 'committed');
SELECT fingerprint() AS before \gset
SELECT fails('itself', $$SELECT booking_claim('supersede', 'p', 'c7', 't', h(12, 13), supersedes => 'c7')$$, '22023', 'supersedes');
SELECT same('stored nothing', fingerprint(), :'before');

-- Chains: each link knows its neighbours, the last one holds the units, and
-- its cancel revives nobody.
SELECT same('link 0', (booking_claim('supersede', 'p', 'link 0', 'class', h(9, 10))).disposition, 'committed');
SELECT same('link ' || n, show(booking_claim('supersede', 'p', 'link ' || n, 'class', h(9 + n * 0.25, 10 + n * 0.25), supersedes => 'link ' || n - 1)),
			'committed committed receipt') FROM generate_series(1, 5) n;
SELECT same('links', (SELECT string_agg(linked('link ' || n), ', ' ORDER BY n) FROM generate_series(0, 5) n),
			'canceled successor=link 1, canceled supersedes=link 0 successor=link 2, canceled supersedes=link 1 successor=link 3, '
			'canceled supersedes=link 2 successor=link 4, canceled supersedes=link 3 successor=link 5, committed supersedes=link 4');
SELECT same('one unit is held', (SELECT count(*) FROM booking.reservation JOIN booking.intent USING (intent_id)
			WHERE intent.tenant = 'supersede' AND intent LIKE 'link %'), 1);
SELECT same('cancel of the last', show(booking_cancel('supersede', 'p', 'link 5')), 'canceled canceled receipt');
SELECT same('none is left', (SELECT count(*) FROM booking.intent WHERE tenant = 'supersede' AND intent LIKE 'link %' AND state = 'committed'), 0);
SELECT same('not even as predecessor', show(booking_claim('supersede', 'p', 'link 6', 'class', h(9, 10), supersedes => 'link 5')),
			'predecessor_unresolved -');

-- Other resources and units: from one to several and back.
SELECT same('one', (booking_claim('supersede', 'p', 'd1', 's', h(20, 21))).disposition, 'committed');
SELECT same('several', show(booking_claim_all('supersede', 'p', 'd2', '{s,t}', h(20.5, 21.5), supersedes => 'd1')), 'committed committed receipt');
SELECT same('two rows', held('supersede', 'p', 'd2'), 2);
SELECT same('a class full', (booking_claim('supersede', 'p', 'd3', 'class', h(20, 21), units => 3)).disposition, 'committed');
SELECT same('two of three, overlapping', show(booking_claim('supersede', 'p', 'd4', 'class', h(20.5, 21.5), units => 2, supersedes => 'd3')),
			'committed committed receipt');
SELECT same('all three cannot grow to four', show(booking_claim('supersede', 'p', 'd5', 'class', h(20.5, 21.5), units => 4, supersedes => 'd4')),
			'resource_conflict conflict');
SELECT same('it stands', held('supersede', 'p', 'd4'), 2);
SELECT same('a slot instead', booking_slot_put('supersede', 'class', 'late', h(21, 22)), 1);
SELECT same('its claim', show(booking_claim_slot('supersede', 'p', 'd6', 'class', 'late', 1, units => 3, supersedes => 'd4')),
			'committed committed receipt');

-- A predecessor on a resource that the principal may no longer touch.
SELECT same('booked', (booking_claim('supersede', 'p', 'e1', 's', h(30, 31))).disposition, 'committed');
SELECT FROM booking_permit('supersede', 'p', 's', false);
SELECT fingerprint() AS before \gset
SELECT same('denied', show(booking_claim('supersede', 'p', 'e2', 't', h(30, 31), supersedes => 'e1')), 'denied -');
SELECT same('nothing written', fingerprint(), :'before');
SELECT FROM booking_permit('supersede', 'p', 's', true);
SELECT same('permitted', show(booking_claim('supersede', 'p', 'e2', 't', h(30, 31), supersedes => 'e1')), 'committed committed receipt');

-- A proposal as predecessor: its hold gives way to the claim that overlaps it.
SELECT same('hold', (booking_propose('supersede', 'p', 'f1', 's', h(40, 41), hold_for => '1 hour')).disposition, 'held');
SELECT same('over the own hold', show(booking_claim('supersede', 'p', 'f2', 's', h(40.5, 41.5), supersedes => 'f1')), 'committed committed receipt');
SELECT same('hold is gone', held('supersede', 'p', 'f1'), 0);
SELECT same('proposal is closed', (SELECT p.state FROM booking.proposal p JOIN booking.intent USING (intent_id) WHERE tenant = 'supersede' AND intent = 'f1'), 'canceled');
SELECT same('nobody approves it', show(booking_approve('supersede', 'q', 'p', 'f1', 1)), 'canceled canceled replayed');

-- A proposal that supersedes: exchanged at approval, not before.
SELECT same('propose', show(booking_propose('supersede', 'p', 'g1', 's', h(41, 42), supersedes => 'f2')), 'proposed v1 proposed');
SELECT same('not yet', linked('f2'), 'committed supersedes=f1');
SELECT same('approve, over the own time', show(booking_approve('supersede', 'q', 'p', 'g1', 1)), 'committed committed receipt');
SELECT same('exchanged', linked('f2'), 'canceled supersedes=f1 successor=g1');
SELECT same('new one', linked('g1'), 'committed supersedes=f2');
SELECT same('a hold needs units of its own', show(booking_propose('supersede', 'p', 'g2', 's', h(41.5, 42.5), supersedes => 'g1', hold_for => '1 hour')),
			'resource_conflict -');
SELECT same('and has them elsewhere', show(booking_propose('supersede', 'p', 'g2', 's', h(43, 44), supersedes => 'g1', hold_for => '1 hour')),
			'held v1 proposed expires');
SELECT same('both are held meanwhile', held('supersede', 'p', 'g1') + held('supersede', 'p', 'g2'), 2);
SELECT same('approve', show(booking_approve('supersede', 'q', 'p', 'g2', 1)), 'committed committed receipt');
SELECT same('one is left', held('supersede', 'p', 'g1') || ' ' || held('supersede', 'p', 'g2'), '0 1');
-- The predecessor ended between proposal and approval: no booking comes of it.
SELECT same('propose', show(booking_propose('supersede', 'p', 'g3', 's', h(45, 46), supersedes => 'g2')), 'proposed v1 proposed');
SELECT same('predecessor goes', (booking_cancel('supersede', 'p', 'g2')).disposition, 'canceled');
SELECT yes('no second meeting', (booking_approve('supersede', 'q', 'p', 'g3', 1)).disposition IN ('needs_proposal', 'predecessor_unresolved'));
SELECT same('nothing is held', held('supersede', 'p', 'g3'), 0);
SELECT same('an unknown predecessor is not proposed', (booking_propose('supersede', 'p', 'g4', 's', h(47, 48), supersedes => 'nothing')).disposition, 'unknown_intent');
SELECT same('an ended one neither', (booking_propose('supersede', 'p', 'g4', 's', h(47, 48), supersedes => 'g2')).disposition, 'predecessor_unresolved');

-- Overrides are exchanged like others.
SELECT same('override', (booking_override('supersede', 'p', 'h1', 's', h(50, 51), 2, '{}', 'why')).disposition, 'committed');
SELECT same('into a plain one', show(booking_claim('supersede', 'p', 'h2', 's', h(50, 51), supersedes => 'h1')), 'committed committed receipt');

SELECT done();
