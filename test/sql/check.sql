--
-- check.sql: booking_check() sees what keys and constraints do not
--
-- There are no foreign keys between the tables.  Every rule between them is
-- broken here on purpose, one at a time, with the guards switched off and
-- everything taken back, and the check must find it.  A check that finds
-- nothing proves nothing, so this is what the other tests lean on.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

-- One of everything.
SELECT FROM booking_permit_all('check', 'p');
SELECT FROM booking_permit_all('check', 'q');
SELECT FROM booking_resource_put('check', 'pair', 2, buffer_after => '10 min');
SELECT FROM booking_resource_put('check', 'room');
SELECT FROM booking_resource_put('check', 'desk');
SELECT FROM booking_resource_put('check 2', 'room');
SELECT FROM booking_permit('check', 'p', 'room');
SELECT FROM booking_slot_put('check', 'room', 'slot', h(30, 31));
SELECT FROM booking_claim('check', 'p', 'both', 'pair', h(9, 10), units => 2);
SELECT FROM booking_claim('check', 'p', 'single', 'room', h(9, 10), 1);
SELECT FROM booking_claim_all('check', 'p', 'several', '{room,desk}', h(11, 12), '{1,1}');
SELECT FROM booking_claim('check', 'p', 'lost', 'room', h(9, 10));
SELECT FROM booking_propose('check', 'p', 'held', 'room', h(13, 14), hold_for => '1 hour');
SELECT FROM booking_propose('check', 'p', 'open', 'room', h(15, 16));
SELECT FROM booking_propose('check', 'p', 'approved', 'room', h(17, 18));
SELECT FROM booking_propose('check', 'p', 'approved', 'room', h(18, 19));
SELECT FROM booking_approve('check', 'q', 'p', 'approved', 2);
SELECT FROM booking_propose('check', 'p', 'needs', 'room', h(9, 10));
SELECT FROM booking_approve('check', 'q', 'p', 'needs', 1);
SELECT FROM booking_claim('check', 'p', 'gone', 'desk', h(9, 10));
SELECT FROM booking_cancel('check', 'p', 'gone');
SELECT FROM booking_claim('check', 'p', 'old', 'desk', h(20, 21));
SELECT FROM booking_claim('check', 'p', 'new', 'desk', h(21, 22), supersedes => 'old');
SELECT FROM booking_override('check', 'p', 'over', 'desk', h(21, 22), 1, '{}', 'why');
SELECT FROM booking_cancel('check', 'p', 'tomb');
SELECT FROM booking_claim_slot('check', 'p', 'slot', 'room', 'slot', 1);
SELECT FROM booking_consumer_put('check', 'c1');
SELECT FROM booking_consumer_put('check', 'c2');
SELECT FROM booking_claim('check', 'p', 'fed', 'desk', h(30, 31));
SELECT FROM booking_claim('check', 'p', 'fed 2', 'desk', h(31, 32), supersedes => 'fed');
SELECT FROM booking_cancel('check', 'p', 'fed 2');
SELECT FROM booking_claim('check', 'p', 'fed 3', 'desk', h(30, 31));
SELECT FROM booking_changes('check', 'c1', 4);
SELECT FROM booking_consumer_ack('check', 'c1', 2);
SELECT FROM booking_task_put('check', 'p', 'single', 'remind', '1 hour');
SELECT FROM booking_task_put('check', 'p', 'open', 'remind', '1 hour');
SELECT same('all is well', (SELECT count(*) FROM booking_check()), 0);

SELECT count(*) AS constraints FROM pg_constraint WHERE connamespace = 'booking'::regnamespace \gset

-- Breaks something, asks the check, takes it back.
CREATE FUNCTION test.broken(statement text)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	n bigint;
	found text;
BEGIN
	EXECUTE statement;
	GET DIAGNOSTICS n = ROW_COUNT;
	IF n = 0 THEN
		RAISE EXCEPTION USING ERRCODE = 'TT001', MESSAGE = 'nothing was broken';
	END IF;
	SELECT string_agg(DISTINCT c.object || ': ' || c.problem, '; ') INTO found FROM booking_check() c
	 WHERE c.object NOT IN ('constraint', 'trigger');
	RAISE EXCEPTION USING ERRCODE = 'TT001', MESSAGE = coalesce(found, 'not found');
EXCEPTION WHEN sqlstate 'TT001' THEN
	RETURN SQLERRM;
END
$$;

CREATE FUNCTION test.id(i text)
RETURNS bigint
LANGUAGE sql STABLE
AS $$
	SELECT intent_id FROM booking.intent WHERE tenant = 'check' AND intent = i;
$$;

CREATE TABLE test.plant (n integer GENERATED ALWAYS AS IDENTITY, object text, what text, statement text);
INSERT INTO test.plant (object, what, statement) VALUES
-- reservations and their intents
('reservation', 'a row of no intent', $$INSERT INTO booking.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
	SELECT 900000000, resource_id, 0, 0, h(50, 51), tenant FROM booking.resource WHERE tenant = 'check' AND resource = 'room'$$),
('reservation', 'a row on no resource', 'UPDATE booking.reservation SET resource_id = 900000000 WHERE intent_id = id(''single'')'),
('reservation', 'a row of another tenant', 'UPDATE booking.reservation SET tenant = ''check 2'' WHERE intent_id = id(''single'')'),
('intent', 'a unit is missing', 'DELETE FROM booking.reservation WHERE intent_id = id(''both'') AND piece = 0'),
('intent', 'all units are missing', 'DELETE FROM booking.reservation WHERE intent_id = id(''single'')'),
('intent', 'one of several resources is missing', $$DELETE FROM booking.reservation WHERE intent_id = id('several')
	AND resource_id = (SELECT resource_id FROM booking.resource WHERE tenant = 'check' AND resource = 'desk')$$),
('intent', 'a unit too many', $$INSERT INTO booking.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
	SELECT id('single'), resource_id, 9, 0, h(50, 51), tenant FROM booking.resource WHERE tenant = 'check' AND resource = 'desk'$$),
('intent', 'units on another resource', $$UPDATE booking.reservation SET resource_id = (SELECT resource_id FROM booking.resource
	WHERE tenant = 'check' AND resource = 'desk') WHERE intent_id = id('single')$$),
('intent', 'units at another time', 'UPDATE booking.reservation SET occupied = h(50, 51) WHERE intent_id = id(''single'')'),
('intent', 'units for too short a time', 'UPDATE booking.reservation SET occupied = h(9, 9.5) WHERE intent_id = id(''single'')'),
('intent', 'a booking held as a hold', 'UPDATE booking.reservation SET hold_until = ''2040-01-01 00:00+00'' WHERE intent_id = id(''single'')'),
('intent', 'units of a canceled intent', $$INSERT INTO booking.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
	SELECT id('gone'), resource_id, 0, 0, h(50, 51), tenant FROM booking.resource WHERE tenant = 'check' AND resource = 'desk'$$),
('intent', 'units of a conflict', $$INSERT INTO booking.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
	SELECT id('lost'), resource_id, 0, 0, h(50, 51), tenant FROM booking.resource WHERE tenant = 'check' AND resource = 'room'$$),
('intent', 'units of a lapsed proposal', $$INSERT INTO booking.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
	SELECT id('needs'), resource_id, 0, 0, h(50, 51), tenant FROM booking.resource WHERE tenant = 'check' AND resource = 'room'$$),
('intent', 'a hold without an end', 'UPDATE booking.reservation SET hold_until = NULL WHERE intent_id = id(''held'')'),
('', 'a hold with another end than its proposal', 'UPDATE booking.reservation SET hold_until = hold_until + interval ''1 hour'' WHERE intent_id = id(''held'')'),
('', 'a hold of another time than its proposal', 'UPDATE booking.reservation SET occupied = h(50, 51) WHERE intent_id = id(''held'')'),
('', 'a hold of a proposal without one', $$INSERT INTO booking.reservation (intent_id, resource_id, piece, unit, occupied, tenant, hold_until)
	SELECT id('open'), resource_id, 0, 0, h(15, 16), tenant, '2040-01-01 00:00+00' FROM booking.resource WHERE tenant = 'check' AND resource = 'room'$$),
-- lanes and capacity
('reservation', 'two rows in one lane', 'ALTER TABLE booking.reservation DROP CONSTRAINT reservation_lane_excl;
	UPDATE booking.reservation SET unit = 0 WHERE intent_id = id(''both'')'),
('reservation', 'a lane above the capacity', 'UPDATE booking.reservation SET unit = 1 WHERE intent_id = id(''single'')'),
('reservation', 'a temporary lane', 'UPDATE booking.reservation SET unit = 40000 WHERE intent_id = id(''single'')'),
('resource', 'more units than the capacity', 'UPDATE booking.resource SET capacity = 1 WHERE tenant = ''check'' AND resource = ''pair'''),
('reservation', 'an override that its resource does not know of', 'UPDATE booking.resource SET overrides = false WHERE tenant = ''check'' AND resource = ''desk'''),
('', 'an override without a reason', 'UPDATE booking.intent SET override_reason = NULL WHERE intent_id = id(''over'')'),
('', 'a reason without an override', 'UPDATE booking.intent SET override_reason = ''why'' WHERE intent_id = id(''single'')'),
('', 'a plain booking marked as override', 'UPDATE booking.reservation SET override = true, unit = 5 WHERE intent_id = id(''new'')'),
-- states
('intent', 'a disposition that is not the state''s', 'UPDATE booking.intent SET disposition = ''failed'' WHERE intent_id = id(''single'')'),
('intent', 'a state that is not the disposition''s', 'UPDATE booking.intent SET state = ''conflict'' WHERE intent_id = id(''gone'')'),
('intent', 'a resource that does not exist', 'UPDATE booking.intent SET resources = ''{nowhere}'' WHERE intent_id = id(''lost'')'),
('intent', 'a resource removed', 'DELETE FROM booking.resource WHERE tenant = ''check'' AND resource = ''desk'''),
('intent', 'fewer versions than resources', 'UPDATE booking.intent SET expected_versions = ''{1}'' WHERE intent_id = id(''several'')'),
-- exchanges
('intent', 'a predecessor that lives', 'UPDATE booking.intent SET state = ''conflict'', disposition = ''resource_conflict'' WHERE intent_id = id(''old'')'),
('intent', 'a predecessor that does not know', 'UPDATE booking.intent SET successor = NULL WHERE intent_id = id(''old'')'),
('intent', 'a predecessor that knows another', 'UPDATE booking.intent SET successor = ''single'' WHERE intent_id = id(''old'')'),
('intent', 'a predecessor that does not exist', 'UPDATE booking.intent SET supersedes = ''nothing'' WHERE intent_id = id(''new'')'),
('intent', 'a successor that does not exist', 'UPDATE booking.intent SET successor = ''nothing'' WHERE intent_id = id(''gone'')'),
-- proposals
('proposal', 'a proposal of no intent', 'UPDATE booking.proposal SET intent_id = 900000000 WHERE intent_id = id(''open'')'),
('intent', 'a proposed intent without a proposal', 'DELETE FROM booking.proposal WHERE intent_id = id(''open'')'),
('intent', 'a proposal with other units', 'UPDATE booking.proposal SET units = 2 WHERE intent_id = id(''open'')'),
('intent', 'a proposal of another time', 'UPDATE booking.proposal SET during = h(50, 51) WHERE intent_id = id(''open'')'),
('intent', 'a proposal with other terms', 'UPDATE booking.proposal SET terms = ''{"x": 1}'' WHERE intent_id = id(''open'')'),
('intent', 'a proposal of other resources', 'UPDATE booking.proposal SET resources = ''{desk}'' WHERE intent_id = id(''open'')'),
('intent', 'a proposal with another predecessor', 'UPDATE booking.proposal SET supersedes = ''single'' WHERE intent_id = id(''open'')'),
('intent', 'an approved proposal that differs from what is booked', 'UPDATE booking.proposal SET units = 2 WHERE intent_id = id(''approved'') AND version = 2'),
('proposal', 'a version beyond the newest', 'UPDATE booking.proposal SET version = 9 WHERE intent_id = id(''approved'') AND version = 1'),
('proposal', 'an open proposal of a booking', 'UPDATE booking.proposal SET state = ''open'' WHERE intent_id = id(''approved'') AND version = 2'),
('proposal', 'a closed proposal of a proposed intent', 'UPDATE booking.proposal SET state = ''rejected'' WHERE intent_id = id(''open'')'),
('proposal', 'an older proposal approved', $$UPDATE booking.proposal SET state = CASE version WHEN 1 THEN 'approved' ELSE 'displaced' END
	WHERE intent_id = id('approved')$$),
('', 'none of the proposals of a booking approved', 'UPDATE booking.proposal SET state = ''displaced'' WHERE intent_id = id(''approved'')'),
-- calendars
('operation', 'an operation of an intent that needs a proposal', $$WITH x AS (UPDATE booking.intent SET state = 'needs_proposal',
	disposition = 'needs_proposal' WHERE intent_id = id('single') RETURNING intent_id)
	INSERT INTO booking.operation (intent_id, created_at, changed_at, next_at, tenant, account, calendar, kind, event_id)
	SELECT intent_id, now(), now(), now(), 'check', 'a', 'c', 'create', 'e' FROM x$$),
('intent', 'an intent waiting for its event that holds nothing', $$WITH x AS (UPDATE booking.intent SET state = 'approved' WHERE intent_id = id('single') RETURNING intent_id),
	d AS (DELETE FROM booking.reservation v USING x WHERE v.intent_id = x.intent_id)
	INSERT INTO booking.operation (intent_id, created_at, changed_at, next_at, tenant, account, calendar, kind, event_id)
	SELECT intent_id, now(), now(), now(), 'check', 'a', 'c', 'create', 'e' FROM x$$),
('intent', 'an event being made at another time than what is held', $$WITH x AS (UPDATE booking.intent SET state = 'creating' WHERE intent_id = id('single') RETURNING intent_id),
	d AS (UPDATE booking.reservation v SET occupied = h(50, 51) FROM x WHERE v.intent_id = x.intent_id)
	INSERT INTO booking.operation (intent_id, created_at, changed_at, next_at, tenant, account, calendar, kind, state, event_id)
	SELECT intent_id, now(), now(), now(), 'check', 'a', 'c', 'create', 'sending', 'e' FROM x$$),
('intent', 'an event of unknown outcome without one of its units', $$WITH x AS (UPDATE booking.intent SET state = 'unknown' WHERE intent_id = id('both') RETURNING intent_id),
	d AS (DELETE FROM booking.reservation v USING x WHERE v.intent_id = x.intent_id AND v.piece = 0)
	INSERT INTO booking.operation (intent_id, created_at, changed_at, next_at, tenant, account, calendar, kind, state, event_id)
	SELECT intent_id, now(), now(), now(), 'check', 'a', 'c', 'create', 'unknown', 'e' FROM x$$),
('intent', 'a lost reservation of one whose predecessor has ended', $$WITH x AS (UPDATE booking.intent SET state = 'approved' WHERE intent_id = id('new') RETURNING intent_id),
	d AS (DELETE FROM booking.reservation v USING x WHERE v.intent_id = x.intent_id)
	INSERT INTO booking.operation (intent_id, created_at, changed_at, next_at, tenant, account, calendar, kind, event_id)
	SELECT intent_id, now(), now(), now(), 'check', 'a', 'c', 'create', 'e' FROM x$$),
('intent', 'an approved intent that no event is made of', 'UPDATE booking.intent SET state = ''approved'' WHERE intent_id = id(''single'')'),
('intent', 'an event being made by no operation', 'UPDATE booking.intent SET state = ''creating'' WHERE intent_id = id(''single'')'),
('operation', 'an operation of no intent', $$INSERT INTO booking.operation (intent_id, created_at, changed_at, next_at, tenant, account, calendar, kind, event_id)
	VALUES (900000000, now(), now(), now(), 'check', 'a', 'c', 'create', 'e')$$),
('operation', 'an operation of another tenant''s intent', $$INSERT INTO booking.operation (intent_id, created_at, changed_at, next_at, tenant, account, calendar, kind, event_id)
	VALUES (id('single'), now(), now(), now(), 'check 2', 'a', 'c', 'create', 'e')$$),
('calendar', 'a calendar of no account', $$INSERT INTO booking.calendar (tenant, calendar, account, remote_id, role, changed_at)
	VALUES ('check', 'x', 'x', 'x', 'busy', now())$$),
('calendar', 'a calendar of another tenant''s account', $$WITH a AS (INSERT INTO booking.account (tenant, account, provider, base_url, changed_at)
	 VALUES ('check 2', 'x', 'caldav', 'https://x', now()) RETURNING account)
	INSERT INTO booking.calendar (tenant, calendar, account, remote_id, role, changed_at)
	SELECT 'check', 'x', account, 'x', 'busy', now() FROM a$$),
('calendar', 'a calendar on no resource', $$WITH a AS (INSERT INTO booking.account (tenant, account, provider, base_url, changed_at)
	 VALUES ('check', 'x', 'caldav', 'https://x', now()) RETURNING account)
	INSERT INTO booking.calendar (tenant, calendar, account, remote_id, resource, role, changed_at)
	SELECT 'check', 'x', account, 'x', 'nowhere', 'busy', now() FROM a$$),
('conflict', 'a conflict of another tenant''s intent', $$INSERT INTO booking.conflict (found_at, intent_id, kind, tenant)
	VALUES (now(), id('single'), 'overlap', 'other')$$),
('conflict', 'a conflict in no calendar', $$INSERT INTO booking.conflict (found_at, calendar_id, kind, tenant)
	VALUES (now(), 900000000, 'overlap', 'check')$$),
-- inventory
('slot', 'a slot of no resource', 'UPDATE booking.slot SET resource = ''nowhere'' WHERE tenant = ''check'''),
('permission', 'a permission for no resource', 'UPDATE booking.permission SET resource = ''nowhere'' WHERE tenant = ''check'' AND resource = ''room'''),
-- the feed
('consumer', 'a consumer that was given what there is not', 'UPDATE booking.consumer SET delivered = 99 WHERE tenant = ''check'' AND name = ''c1'''),
('consumer', 'a consumer without a feed', 'DELETE FROM booking.feed WHERE tenant = ''check'''),
('feed', 'a change that nobody has read is gone', 'DELETE FROM booking.change WHERE tenant = ''check'' AND "position" = 3'),
('feed', 'a change that one has not read is gone', 'DELETE FROM booking.change WHERE tenant = ''check'' AND "position" = 1'),
('feed', 'positions skipped', 'UPDATE booking.feed SET last_position = 5 WHERE tenant = ''check'''),
('change', 'a position that was not given', 'UPDATE booking.change SET "position" = 99 WHERE tenant = ''check'' AND "position" IS NULL'),
('change', 'a change of no intent', 'UPDATE booking.change SET intent_id = 900000000 WHERE tenant = ''check'' AND "position" = 1'),
('change', 'a change of another intent', 'UPDATE booking.change SET intent = ''single'' WHERE tenant = ''check'' AND "position" = 1'),
('change', 'a change that never was', 'UPDATE booking.change SET revision = 9 WHERE tenant = ''check'' AND "position" = 1'),
('change', 'a change twice', 'UPDATE booking.change SET revision = 1 WHERE tenant = ''check'' AND revision = 2'),
('change', 'a change numbered before an earlier one', 'UPDATE booking.change SET "position" = NULL WHERE tenant = ''check'' AND "position" = 1'),
-- events of ours
('intent', 'a created booking that holds another time than its event''s', $$WITH o AS
	(INSERT INTO booking.operation (intent_id, created_at, changed_at, next_at, tenant, account, calendar, kind, state, event_id, moved_to)
	 VALUES (id('single'), now(), now(), now(), 'check', 'x', 'x', 'create', 'confirmed', 'x', h(10, 11)) RETURNING intent_id)
	UPDATE booking.intent i SET state = 'created' FROM o WHERE i.intent_id = o.intent_id$$),
('event', 'an event of no intent', $$WITH c AS
	(INSERT INTO booking.calendar (tenant, calendar, account, remote_id, role, changed_at)
	 VALUES ('check', 'x', 'x', 'x', 'busy', now()) RETURNING calendar_id)
	INSERT INTO booking.event (calendar_id, seen_round, intent_id, object, busy, status, transparency)
	SELECT calendar_id, 0, 900000000, 'x', true, 'confirmed', 'opaque' FROM c$$),
-- tasks
('task', 'a task of no intent', 'UPDATE booking.task SET intent_id = 900000000 WHERE intent_id = id(''single'')'),
('task', 'a task of another tenant', 'UPDATE booking.task SET tenant = ''check 2'' WHERE intent_id = id(''single'')'),
('task', 'a task of a canceled booking', 'UPDATE booking.task SET intent_id = id(''gone'') WHERE intent_id = id(''single'')'),
('task', 'a task that waits for what is not booked', 'UPDATE booking.task SET state = ''waiting'' WHERE intent_id = id(''open'')'),
('task', 'a booking''s task that does not wait', 'UPDATE booking.task SET state = ''idle'' WHERE intent_id = id(''single'')'),
('task', 'a task dropped with its booking standing', 'UPDATE booking.task SET state = ''dropped'' WHERE intent_id = id(''single'')'),
('task', 'a task due at another time', 'UPDATE booking.task SET due_at = due_at + interval ''1 hour'' WHERE intent_id = id(''single'')'),
('task', 'a task of another start', 'UPDATE booking.task SET start_at = start_at + interval ''1 hour'', due_at = due_at + interval ''1 hour'' WHERE intent_id = id(''single'')');

-- All that would keep such rows out is away while they are tried.
BEGIN;
ALTER TABLE booking.intent DISABLE TRIGGER guard;
ALTER TABLE booking.proposal DISABLE TRIGGER guard;
ALTER TABLE booking.resource DISABLE TRIGGER guard;
ALTER TABLE booking.feed DISABLE TRIGGER guard;
ALTER TABLE booking.change DISABLE TRIGGER guard;
ALTER TABLE booking.slot DISABLE TRIGGER ALL;
DROP INDEX booking.proposal_approved_idx;
DO $$
DECLARE
	drop text;
BEGIN
	FOR drop IN SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) FROM pg_constraint
				 WHERE connamespace = 'booking'::regnamespace AND contype = 'c' LOOP
		EXECUTE drop;
	END LOOP;
END
$$;
SELECT yes(format('%s: %s', what, found), found LIKE object || '%' AND found NOT IN ('nothing was broken', 'not found'))
  FROM (SELECT n, what, CASE object WHEN '' THEN '' ELSE '%' || object || ': ' END AS object, broken(statement) AS found FROM test.plant) p
 ORDER BY n;
ROLLBACK;

-- What keeps the rows right.
BEGIN;
ALTER TABLE booking.reservation DROP CONSTRAINT reservation_lane_excl;
ALTER TABLE booking.intent DROP CONSTRAINT intent_check, DROP CONSTRAINT intent_identity_key;
ALTER TABLE booking.proposal DISABLE TRIGGER guard;
ALTER TABLE booking.audit_entry ENABLE TRIGGER guard;
SELECT same('what is missing', (SELECT string_agg(c.object || ' ' || c.key, ', ' ORDER BY c.object, c.key) FROM booking_check() c),
			'constraint intent_check, constraint intent_identity_key, constraint reservation_lane_excl, trigger audit_entry/guard, trigger proposal/guard');
ROLLBACK;

-- Everything was taken back; the guards and the constraint are there.
SELECT same('all is well again', (SELECT count(*) FROM booking_check()), 0);
SELECT same('guards', (SELECT count(*) FROM pg_trigger WHERE tgrelid::regclass::text LIKE 'booking.%' AND tgenabled <> 'A'), 0);
SELECT same('constraints', (SELECT count(*) FROM pg_constraint WHERE connamespace = 'booking'::regnamespace), :constraints);

-- It names what it found so that one can look there.
BEGIN;
DELETE FROM booking.reservation WHERE intent_id = id('single');
SELECT same('object and key', (SELECT string_agg(object || ' ' || key, ', ') FROM booking_check()), 'intent check/p/single');
ROLLBACK;

-- An expired hold that nobody cleared away is no violation.
SET booking.clock_offset = '2h';
SELECT same('expired hold', (SELECT count(*) FROM booking_check()), 0);
RESET booking.clock_offset;

SELECT done();
