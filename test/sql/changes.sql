--
-- changes.sql: inventory and access as they are now, by whichever path
--
-- Calls may remember resources, permissions, bindings and the rules of a
-- tenant, but what they decide on is never older or younger than what is
-- there: a change counts at once, by function or by the owner's DML, within
-- its own transaction and under the replica role; a change taken back counts
-- no more, by rollback or to a savepoint.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM booking_resource_put('changes', 'room');
SELECT FROM booking_permit('changes', 'p', 'room');
CREATE SEQUENCE test.hour;

-- A claim of the next free hour under a new name; all of them together are
-- what a busy session sees.
CREATE FUNCTION test.try(resource text DEFAULT 'room', units integer DEFAULT 1)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	n bigint := nextval('test.hour');
BEGIN
	RETURN (booking_claim('changes', 'p', 'try ' || n, resource, test.h(n, n + 1), units => try.units)).disposition;
END
$$;
SELECT same('at first', try(), 'committed');

-- Permissions by function, and taken back.
BEGIN;
SELECT FROM booking_permit('changes', 'p', 'room', false);
SELECT same('revoked in this transaction', try(), 'denied');
ROLLBACK;
SELECT same('the revocation taken back', try(), 'committed');
BEGIN;
SELECT same('before', try(), 'committed');
SAVEPOINT s;
SELECT FROM booking_permit('changes', 'p', 'room', false);
SELECT same('revoked', try(), 'denied');
ROLLBACK TO s;
SELECT same('taken back to a savepoint', try(), 'committed');
SELECT FROM booking_permit('changes', 'p', 'room', false);
SELECT same('revoked again', try(), 'denied');
SAVEPOINT s;
SELECT FROM booking_permit('changes', 'p', 'room', true);
SELECT same('restored', try(), 'committed');
RELEASE s;
SELECT same('released', try(), 'committed');
COMMIT;
SELECT same('committed', try(), 'committed');
DO $$
BEGIN
	BEGIN
		PERFORM booking_permit('changes', 'p', 'room', false);
		IF test.try() <> 'denied' THEN
			RAISE WARNING 'not revoked within the block';
		END IF;
		RAISE EXCEPTION 'taken back';
	EXCEPTION WHEN raise_exception THEN
		NULL;
	END;
	IF test.try() <> 'committed' THEN
		RAISE WARNING 'revoked after the block';
	END IF;
END
$$;
SELECT same('after the block', try(), 'committed');
BEGIN;
SELECT FROM booking_permit_all('changes', 'late');
SELECT same('permitted in this transaction', (booking_claim('changes', 'late', 'x', 'room', h(-10, -9))).disposition, 'committed');
ROLLBACK;
SELECT same('not any more', (booking_claim('changes', 'late', 'x', 'room', h(-10, -9))).disposition, 'denied');

-- By the owner's DML, under each replication role.
CREATE FUNCTION test.dml(role text)
RETURNS SETOF text
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM set_config('session_replication_role', role, true);
	UPDATE booking.permission SET allowed = false WHERE tenant = 'changes' AND principal = 'p' AND resource = 'room';
	RETURN QUERY SELECT test.same(role || ': update', test.try(), 'denied');
	UPDATE booking.permission SET allowed = true WHERE tenant = 'changes' AND principal = 'p' AND resource = 'room';
	RETURN QUERY SELECT test.same(role || ': and back', test.try(), 'committed');
	DELETE FROM booking.permission WHERE tenant = 'changes' AND principal = 'p' AND resource = 'room';
	RETURN QUERY SELECT test.same(role || ': delete', test.try(), 'denied');
	INSERT INTO booking.permission VALUES ('changes', 'p', 'room', true);
	RETURN QUERY SELECT test.same(role || ': insert', test.try(), 'committed');
	UPDATE booking.permission SET principal = 'q' WHERE tenant = 'changes' AND principal = 'p' AND resource = 'room';
	RETURN QUERY SELECT test.same(role || ': given to another', test.try(), 'denied');
	UPDATE booking.permission SET principal = 'p' WHERE tenant = 'changes' AND principal = 'q' AND resource = 'room';
	RETURN QUERY SELECT test.same(role || ': given back', test.try(), 'committed');
	UPDATE booking.resource SET capacity = 3 WHERE tenant = 'changes' AND resource = 'room';
	RETURN QUERY SELECT test.same(role || ': raised', test.try(units => 3), 'committed');
	RETURN QUERY SELECT test.same(role || ': raised to 3', test.try(units => 4), 'resource_conflict');
	DELETE FROM booking.reservation WHERE unit > 0 AND resource_id = (SELECT resource_id FROM booking.resource WHERE tenant = 'changes' AND resource = 'room');
	UPDATE booking.resource SET capacity = 1 WHERE tenant = 'changes' AND resource = 'room';
	RETURN QUERY SELECT test.same(role || ': lowered', test.try(units => 2), 'resource_conflict');
	UPDATE booking.resource SET version = version + 1 WHERE tenant = 'changes' AND resource = 'room';
	RETURN QUERY SELECT test.same(role || ': version', (booking_claim('changes', 'p', 'version ' || role, 'room', test.h(-20, -19),
		(SELECT version FROM booking.resource WHERE tenant = 'changes' AND resource = 'room'))).disposition, 'committed');
	INSERT INTO booking.tenant VALUES ('changes', true);
	RETURN QUERY SELECT test.same(role || ': four eyes', test.try(), 'proposed');
	UPDATE booking.tenant SET four_eyes = false WHERE tenant = 'changes';
	RETURN QUERY SELECT test.same(role || ': two eyes', test.try(), 'committed');
	UPDATE booking.tenant SET four_eyes = true WHERE tenant = 'changes';
	RETURN QUERY SELECT test.same(role || ': four eyes again', test.try(), 'proposed');
	DELETE FROM booking.tenant WHERE tenant = 'changes';
	RETURN QUERY SELECT test.same(role || ': no rule', test.try(), 'committed');
END
$$;
BEGIN;
SELECT dml('origin');
ROLLBACK;
SELECT same('DML taken back', try(), 'committed');
BEGIN;
SELECT dml('replica');
ROLLBACK;
SELECT same('DML as replica taken back', try(), 'committed');
BEGIN;
TRUNCATE booking.permission;
SELECT same('truncated', try(), 'denied');
ROLLBACK;
SELECT same('truncation taken back', try(), 'committed');
COPY booking.permission FROM STDIN;
changes	p	copied	true
\.
SELECT FROM booking_resource_put('changes', 'copied');
SELECT same('COPY', try('copied'), 'committed');

-- Inventory by function, and taken back.
BEGIN;
SELECT same('raised', booking_resource_put('changes', 'room', 2), 2);
SELECT same('2 of 2', try(units => 2), 'committed');
ROLLBACK;
SELECT same('2 of 1', try(units => 2), 'resource_conflict');
BEGIN;
SELECT same('a new version', booking_resource_put('changes', 'room', time_zone => 'Europe/Berlin'), 2);
SELECT same('is the one', (booking_claim('changes', 'p', 'v 2', 'room', h(-30, -29), 2)).disposition, 'committed');
ROLLBACK;
SELECT same('is not any more', (booking_claim('changes', 'p', 'v 2', 'room', h(-30, -29), 2)).disposition, 'inventory_conflict');
SELECT same('the old one is', (booking_claim('changes', 'p', 'v 1', 'room', h(-30, -29), 1)).disposition, 'committed');
BEGIN;
SELECT same('new resource', booking_resource_put('changes', 'new'), 1);
SELECT FROM booking_permit('changes', 'p', 'new');
SELECT same('can be booked', try('new'), 'committed');
ROLLBACK;
SELECT same('never was', try('new'), 'denied');
SELECT same('made after all, with another number', booking_resource_put('changes', 'new'), 1);
SELECT same('not permitted yet', try('new'), 'denied');
SELECT FROM booking_permit('changes', 'p', 'new');
SELECT same('permitted', try('new'), 'committed');
BEGIN;
SELECT same('buffer', booking_resource_put('changes', 'room', buffer_after => '30 min'), 2);
SELECT same('with a buffer', (booking_claim('changes', 'p', 'b', 'room', h(-40, -39))).disposition, 'committed');
SELECT same('held with it', (SELECT hours(occupied) FROM booking.reservation JOIN booking.intent USING (intent_id)
			WHERE intent.tenant = 'changes' AND intent = 'b'), '-40--38.5');
ROLLBACK;
SELECT same('without a buffer', (booking_claim('changes', 'p', 'b', 'room', h(-40, -39))).disposition, 'committed');
SELECT same('held without', (SELECT hours(occupied) FROM booking.reservation JOIN booking.intent USING (intent_id)
			WHERE intent.tenant = 'changes' AND intent = 'b'), '-40--39');
BEGIN;
SELECT FROM booking_tenant_put('changes', true);
SELECT same('four eyes', try(), 'proposed');
ROLLBACK;
SELECT same('two eyes', try(), 'committed');
BEGIN;
SELECT same('slot', booking_slot_put('changes', 'room', 's', h(-50, -49)), 1);
ROLLBACK;
SELECT same('no slot', (booking_claim_slot('changes', 'p', 'slot', 'room', 's', 1)).disposition, 'inventory_conflict');

-- Bindings.
CREATE ROLE regress_booking_changes;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO regress_booking_changes;
CREATE FUNCTION test.as_role()
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	d text;
BEGIN
	SET LOCAL ROLE regress_booking_changes;
	d := test.try();
	RESET ROLE;
	RETURN d;
END
$$;
GRANT USAGE ON SEQUENCE test.hour TO regress_booking_changes;
SELECT same('not bound', as_role(), 'denied');
BEGIN;
SELECT FROM booking_bind_role('regress_booking_changes', 'changes');
SELECT same('bound in this transaction', as_role(), 'committed');
ROLLBACK;
SELECT same('binding taken back', as_role(), 'denied');
SELECT FROM booking_bind_role('regress_booking_changes', 'changes');
SELECT same('bound', as_role(), 'committed');
BEGIN;
DELETE FROM booking.role_binding WHERE tenant = 'changes';
SELECT same('unbound by DML', as_role(), 'denied');
ROLLBACK;
SELECT same('bound still', as_role(), 'committed');
SELECT FROM booking_unbind_role('regress_booking_changes', 'changes');
SELECT same('unbound', as_role(), 'denied');
-- Membership changes the answer too.
CREATE ROLE regress_booking_group;
SELECT FROM booking_bind_role('regress_booking_group', 'changes');
SELECT same('not a member', as_role(), 'denied');
GRANT regress_booking_group TO regress_booking_changes;
SELECT same('a member', as_role(), 'committed');
REVOKE regress_booking_group FROM regress_booking_changes;
SELECT same('not a member any more', as_role(), 'denied');
-- A role dropped and made anew under its name is another role.
SELECT FROM booking_bind_role('regress_booking_changes', 'changes');
DROP OWNED BY regress_booking_changes;
DROP ROLE regress_booking_changes;
CREATE ROLE regress_booking_changes;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO regress_booking_changes;
GRANT USAGE ON SEQUENCE test.hour TO regress_booking_changes;
SELECT same('another role of that name', as_role(), 'denied');
SELECT FROM booking_bind_role('regress_booking_changes', 'changes');
SELECT same('bound anew', as_role(), 'committed');
-- Where the database was restored into another cluster, names are all there is.
UPDATE booking.role_binding SET role_oid = 1, cluster = 1 WHERE role = 'regress_booking_changes';
SELECT same('restored elsewhere', as_role(), 'committed');
ALTER ROLE regress_booking_changes RENAME TO regress_booking_renamed;
SELECT same('another name', (SELECT count(*) FROM pg_roles WHERE rolname = 'regress_booking_changes'), 0::bigint);
ALTER ROLE regress_booking_renamed RENAME TO regress_booking_changes;
DROP OWNED BY regress_booking_changes;
DROP ROLE regress_booking_changes, regress_booking_group;

SELECT done();
