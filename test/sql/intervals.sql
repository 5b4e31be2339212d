--
-- intervals.sql: what an interval is, and when two of them collide
--
-- Of the 13 relations between two intervals, "before" and "meets" and their
-- inverses do not collide and 9 do, in whichever order they come and on
-- whichever path.  Every other form of interval is refused on every path.
-- Proves R5 (direct DML and COPY by the owner), R12, R13, R14, R17, R24, R103.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM booking_permit_all('intervals', 'p');

-- A is [10, 12); B stands in each relation to it.
CREATE TABLE test.allen (n integer GENERATED ALWAYS AS IDENTITY, relation text, first numeric, last numeric, collides boolean);
INSERT INTO test.allen (relation, first, last, collides) VALUES
('before', 8, 9, false),
('meets', 8, 10, false),
('overlaps', 9, 11, true),
('starts', 10, 11, true),
('during', 10.5, 11.5, true),
('finishes', 11, 12, true),
('equals', 10, 12, true),
('finished by', 9, 12, true),
('contains', 9, 13, true),
('started by', 10, 13, true),
('overlapped by', 11, 13, true),
('met by', 12, 14, false),
('after', 13, 14, false);

-- By function, both orders, each on a resource of its own.
SELECT FROM test.allen a, unnest(ARRAY['AB', 'BA', 'dml', 'copy']) o,
	   booking_resource_put('intervals', a.relation || ' ' || o);
CREATE FUNCTION test.meet(resource text, one tstzrange, two tstzrange)
RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
	RETURN (booking_claim('intervals', 'p', resource || ' one', resource, one)).disposition || ' '
		|| (booking_claim('intervals', 'p', resource || ' two', resource, two)).disposition;
END
$$;
SELECT same('A then B: B ' || relation || ' A', meet(relation || ' AB', h(10, 12), h(first, last)),
			CASE WHEN collides THEN 'committed resource_conflict' ELSE 'committed committed' END)
  FROM test.allen ORDER BY n;
SELECT same('B then A: B ' || relation || ' A', meet(relation || ' BA', h(first, last), h(10, 12)),
			CASE WHEN collides THEN 'committed resource_conflict' ELSE 'committed committed' END)
  FROM test.allen ORDER BY n;

-- By direct DML of the owner, into the lane that a function filled.
CREATE FUNCTION test.add(resource text, during text)
RETURNS text
LANGUAGE sql
AS $$
	SELECT test.sqlstate_of(format(
		'INSERT INTO booking.reservation (intent_id, resource_id, piece, unit, occupied, tenant) '
		'SELECT 900000000 + resource_id, resource_id, 0, 0, %s, tenant FROM booking.resource '
		'WHERE tenant = ''intervals'' AND resource = %L', during, add.resource));
$$;
SELECT same('DML: A', (booking_claim('intervals', 'p', relation || ' dml', relation || ' dml', h(10, 12))).disposition,
			'committed')
  FROM test.allen ORDER BY n;
BEGIN;
SELECT same('DML: B ' || relation || ' A', add(relation || ' dml', format('test.h(%s, %s)', first, last)),
			CASE WHEN collides THEN '23P01' ELSE '00000' END)
  FROM test.allen ORDER BY n;
ROLLBACK;

-- By COPY of the owner.
CREATE FUNCTION test.utc(t timestamptz)
RETURNS text
LANGUAGE sql
AS $$
	SELECT to_char(t AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS+00');
$$;
CREATE FUNCTION test.copy(resource text, during text)
RETURNS text
LANGUAGE sql
AS $$
	SELECT test.sqlstate_of(format(
		'COPY booking.reservation (intent_id, resource_id, piece, unit, occupied, tenant) '
		'FROM PROGRAM %L (DELIMITER '';'', NULL ''null'')',
		format('echo "%s;%s;0;0;%s;intervals"', 900000000 + resource_id, resource_id, during)))
	  FROM booking.resource r
	 WHERE r.tenant = 'intervals' AND r.resource = copy.resource;
$$;
SELECT same('COPY: A', (booking_claim('intervals', 'p', relation || ' copy', relation || ' copy', h(10, 12))).disposition,
			'committed')
  FROM test.allen ORDER BY n;
BEGIN;
SELECT same('COPY: B ' || relation || ' A',
			copy(relation || ' copy', format('[%s,%s)', utc(lower(h(first, last))), utc(upper(h(first, last))))),
			CASE WHEN collides THEN '23P01' ELSE '00000' END)
  FROM test.allen ORDER BY n;
ROLLBACK;

-- Forms that are no interval of ours.  A function names the argument and says
-- the rule; the table's CHECKs and NOT NULL hold for the owner's DML and COPY.
-- What PostgreSQL itself refuses as a range (22000) never comes so far.
CREATE TABLE test.form (n integer GENERATED ALWAYS AS IDENTITY, form text, during text, code text, dml text);
INSERT INTO test.form (form, during, code, dml) VALUES
('(]', '(2030-06-01 09:00+00,2030-06-01 10:00+00]', '22023', '23514'),
('[]', '[2030-06-01 09:00+00,2030-06-01 10:00+00]', '22023', '23514'),
('()', '(2030-06-01 09:00+00,2030-06-01 10:00+00)', '22023', '23514'),
('one instant', '[2030-06-01 09:00+00,2030-06-01 09:00+00]', '22023', '23514'),
('zero length', '[2030-06-01 09:00+00,2030-06-01 09:00+00)', '22023', '23514'),
('empty', 'empty', '22023', '23514'),
('NULL', NULL, '22004', '23502'),
('no start', '(,2030-06-01 10:00+00)', '22023', '23514'),
('no end', '[2030-06-01 09:00+00,)', '22023', '23514'),
('neither', '(,)', '22023', '23514'),
('infinite start', '[-infinity,2030-06-01 10:00+00)', '22023', '23514'),
('infinite end', '[2030-06-01 09:00+00,infinity)', '22023', '23514'),
('reversed', '[2030-06-01 10:00+00,2030-06-01 09:00+00)', '22000', '22000'),
('ends in 1969', '[1969-12-31 22:00+00,1969-12-31 23:00+00)', '22023', '23514'),
('starts in 1969', '[1969-12-31 23:59:59.999999+00,1970-01-01 01:00+00)', '22023', '23514'),
('starts in 1969 in its own zone, in 1970 here', '[1969-12-31 23:00-01:00,1970-01-01 01:00+00)', '00000', '00000'),
('starts in year 10000', '[10000-01-01 00:00+00,10000-01-01 01:00+00)', '22023', '23514'),
('ends in year 10000', '[9999-12-31 23:00+00,10000-01-01 00:00:00.000001+00)', '22023', '23514'),
('before Christ', '[0044-03-15 12:00+00 BC,2030-06-01 10:00+00)', '22023', '23514'),
('first instant', '[1970-01-01 00:00+00,1970-01-01 00:00:00.000001+00)', '00000', '00000'),
('last instant', '[9999-12-31 23:59:59.999998+00,9999-12-31 23:59:59.999999+00)', '00000', '00000'),
('all of it', '[1970-01-01 00:00+00,9999-12-31 23:59:59.999999+00)', '00000', '00000');

SELECT FROM booking_resource_put('intervals', 'form');
SELECT FROM booking_resource_put('intervals', 'form dml');
BEGIN;
SELECT FROM test.form, booking_resource_put('intervals', 'form ' || form) WHERE code = '00000';
SELECT same('claim: ' || form, (booking_claim('intervals', 'p', form, 'form ' || form, during::tstzrange)).disposition,
			'committed')
  FROM test.form WHERE code = '00000' ORDER BY n;
SELECT fails('claim: ' || form, format('SELECT booking_claim(''intervals'', ''p'', ''form'', ''form'', %L)', during),
			 code, CASE WHEN code <> '22000' THEN 'during' END, code <> '22000')
  FROM test.form WHERE code <> '00000' ORDER BY n;
ROLLBACK;
BEGIN;
SELECT same('DML: ' || form, add('form dml', quote_nullable(during)), dml)
  FROM test.form WHERE dml <> '00000' ORDER BY n;
SELECT same('COPY: ' || form, copy('form dml', coalesce(during, 'null')), dml)
  FROM test.form WHERE dml <> '00000' ORDER BY n;
ROLLBACK;
BEGIN;
SELECT same('DML: ' || form, add('form dml', quote_literal(during)), '00000')
  FROM test.form WHERE form = 'all of it';
ROLLBACK;
BEGIN;
SELECT same('COPY: ' || form, copy('form dml', during), '00000')
  FROM test.form WHERE form = 'all of it';
ROLLBACK;

-- The same rule for the intervals of intents, proposals and slots in the
-- owner's DML, and of every function that takes one.
SELECT same('intent: ' || form, sqlstate_of(format(
			'INSERT INTO booking.intent (created_at, changed_at, version, units, tenant, principal, intent, disposition, '
			'state, receipt, resources, during, terms, created_role, changed_role) VALUES (''2030-01-01 00:00+00'', '
			'''2030-01-01 00:00+00'', 1, 1, ''intervals'', ''p'', ''direct'', ''committed'', ''committed'', ''local:x'', '
			'''{form}'', %L, ''{}'', ''x'', ''x'')', during)),
			CASE form WHEN 'NULL' THEN '23514' ELSE dml END)
  FROM test.form WHERE dml <> '00000' ORDER BY n;
SELECT same('proposal: ' || form, sqlstate_of(format(
			'INSERT INTO booking.proposal (intent_id, version, units, proposed_at, resources, during, terms, snapshot, proposed_role) '
			'VALUES (900000000, 1, 1, ''2030-01-01 00:00+00'', ''{form}'', %L, ''{}'', ''{}'', ''x'')', during)),
			CASE form WHEN 'NULL' THEN '23514' ELSE dml END)
  FROM test.form WHERE dml <> '00000' ORDER BY n;
SELECT same('slot: ' || form, sqlstate_of(format(
			'INSERT INTO booking.slot (tenant, resource, slot, during) VALUES (''intervals'', ''form'', ''x'', %L)', during)), dml)
  FROM test.form WHERE dml <> '00000' ORDER BY n;
SELECT fails(f.name || ': ' || form, format('SELECT ' || f.call, during), code,
			 CASE WHEN code <> '22000' THEN f.argument END, code <> '22000')
  FROM test.form, (VALUES
	('booking_claim_all', 'during', 'booking_claim_all(''intervals'', ''p'', ''x'', ''{form}'', %L)'),
	('booking_propose', 'during', 'booking_propose(''intervals'', ''p'', ''x'', ''form'', %L)'),
	('booking_propose_all', 'during', 'booking_propose_all(''intervals'', ''p'', ''x'', ''{form}'', %L)'),
	('booking_cancel_exact', 'during', 'booking_cancel_exact(''intervals'', ''p'', ''x'', ''form'', %L, NULL, 1, ''{}'')'),
	('booking_cancel_exact_all', 'during', 'booking_cancel_exact_all(''intervals'', ''p'', ''x'', ''{form}'', %L, NULL, 1, ''{}'')'),
	('booking_override', 'during', 'booking_override(''intervals'', ''p'', ''x'', ''form'', %L, 1, ''{}'', ''why'')'),
	('booking_slot_put', 'during', 'booking_slot_put(''intervals'', ''form'', ''x'', %L)'),
	('booking_free', 'within', 'booking_free(''intervals'', ''p'', ''{form}'', %L, ''1 hour'')')) f (name, argument, call)
 WHERE code <> '00000' ORDER BY f.name, n;
SELECT same('nothing of it was stored', (SELECT count(*) FROM booking.intent WHERE tenant = 'intervals' AND intent IN ('x', 'form')), 0);

-- Edges touch without colliding, in both orders, to the microsecond.
SELECT FROM booking_resource_put('intervals', 'edge');
SELECT same('middle', (booking_claim('intervals', 'p', 'e1', 'edge', h(10, 11))).disposition, 'committed');
SELECT same('ends where it starts', (booking_claim('intervals', 'p', 'e2', 'edge', h(9, 10))).disposition, 'committed');
SELECT same('starts where it ends', (booking_claim('intervals', 'p', 'e3', 'edge', h(11, 12))).disposition, 'committed');
SELECT same('a microsecond too early', (booking_claim('intervals', 'p', 'e4', 'edge',
			'[2030-06-01 11:59:59.999999+00,2030-06-01 13:00+00)')).disposition, 'resource_conflict');
SELECT same('a microsecond too late', (booking_claim('intervals', 'p', 'e5', 'edge',
			'[2030-06-01 08:00+00,2030-06-01 09:00:00.000001+00)')).disposition, 'resource_conflict');
SELECT same('one microsecond is long enough', (booking_claim('intervals', 'p', 'e6', 'edge',
			'[2030-06-01 12:00+00,2030-06-01 12:00:00.000001+00)')).disposition, 'committed');

-- Buffers are part of what is held and add up between neighbours: 10 minutes
-- before and 15 after keep 25 minutes between two bookings.
SELECT FROM booking_resource_put('intervals', 'buffered', buffer_before => '10 min', buffer_after => '15 min');
SELECT same('booked', (booking_claim('intervals', 'p', 'b1', 'buffered', h(10, 11))).disposition, 'committed');
SELECT same('held', (SELECT hours(occupied) FROM booking.reservation r JOIN booking.intent USING (intent_id)
			WHERE r.tenant = 'intervals' AND intent = 'b1'),
			hours('[2030-06-01 09:50+00,2030-06-01 11:15+00)'));
SELECT same('the booked interval is kept without', (SELECT hours(during) FROM booking.intent
			WHERE tenant = 'intervals' AND intent = 'b1'), '10-11');
SELECT same('24:59 after', (booking_claim('intervals', 'p', 'b2', 'buffered',
			'[2030-06-01 11:24:59+00,2030-06-01 12:00+00)')).disposition, 'resource_conflict');
SELECT same('25 minutes after', (booking_claim('intervals', 'p', 'b3', 'buffered',
			'[2030-06-01 11:25+00,2030-06-01 12:00+00)')).disposition, 'committed');
SELECT same('24:59 before', (booking_claim('intervals', 'p', 'b4', 'buffered',
			'[2030-06-01 09:00+00,2030-06-01 09:35:01+00)')).disposition, 'resource_conflict');
SELECT same('25 minutes before', (booking_claim('intervals', 'p', 'b5', 'buffered',
			'[2030-06-01 09:00+00,2030-06-01 09:35+00)')).disposition, 'committed');
-- New buffers count for what comes then, not for what is there (R25), and a
-- replay does not see them.
\echo a notice says how many stay as they are
SET client_min_messages = notice;
SELECT FROM booking_resource_put('intervals', 'buffered', buffer_before => '0', buffer_after => '1 hour');
SET client_min_messages = warning;
SELECT same('rows stay', (SELECT hours(occupied) FROM booking.reservation r JOIN booking.intent USING (intent_id)
			WHERE r.tenant = 'intervals' AND intent = 'b1'),
			hours('[2030-06-01 09:50+00,2030-06-01 11:15+00)'));
SELECT same('the new one counts, and the neighbour''s old one', (booking_claim('intervals', 'p', 'b6', 'buffered',
			'[2030-06-01 07:00+00,2030-06-01 07:50:01+00)')).disposition, 'resource_conflict');
SELECT same('to the second', (booking_claim('intervals', 'p', 'b7', 'buffered',
			'[2030-06-01 07:00+00,2030-06-01 07:50+00)')).disposition, 'committed');
SELECT same('what b7 holds', (SELECT hours(occupied) FROM booking.reservation r JOIN booking.intent USING (intent_id)
			WHERE r.tenant = 'intervals' AND intent = 'b7'), hours('[2030-06-01 07:00+00,2030-06-01 08:50+00)'));
SELECT same('replay', (booking_claim('intervals', 'p', 'b1', 'buffered', h(10, 11))).disposition, 'historical_retry');
-- Buffers that reach over the ends of time are no internal error.
SELECT FROM booking_resource_put('intervals', 'ends', buffer_before => '1 hour', buffer_after => '1 hour');
SELECT fails('buffer before 1970', $$SELECT booking_claim('intervals', 'p', 'x', 'ends', '[1970-01-01 00:59+00,1970-01-01 02:00+00)')$$,
			 '22023', 'during');
SELECT fails('buffer after 9999', $$SELECT booking_claim('intervals', 'p', 'x', 'ends', '[9999-12-31 22:00+00,9999-12-31 23:01+00)')$$,
			 '22023', 'during');

-- R24: the seats of one class share its buffers.
SELECT FROM booking_resource_put('intervals', 'class', 3, buffer_before => '30 min', buffer_after => '30 min');
SELECT same('seat ' || n, (booking_claim('intervals', 'p', 'seat ' || n, 'class', h(10, 11))).disposition,
			CASE WHEN n <= 3 THEN 'committed' ELSE 'resource_conflict' END)
  FROM generate_series(1, 4) n;
SELECT same('the next class keeps the distance', (booking_claim('intervals', 'p', 'seat 5', 'class', h(11.75, 12))).disposition,
			'resource_conflict');
SELECT same('and has it', (booking_claim('intervals', 'p', 'seat 6', 'class', h(12, 13))).disposition, 'committed');

SELECT done();
