--
-- tasks.sql: reminders
--
-- A task is due some time before its booking starts, moves with the booking,
-- ends with it, and is never due for an intent that is not booked.  Taken, it
-- is its taker's until the lease ends; done, it is never due again.  A lease
-- that was lost, because it ended, or because the task was moved, changed or
-- dropped meanwhile, reports nothing done.  Proves R34 (a lease is fenced) and
-- R38 (what a dead taker had comes back) for tasks.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM unnest(ARRAY['ann', 'bob']) p, booking_permit_all('tasks', p);
SELECT FROM unnest(ARRAY['room', 'desk']) r, booking_resource_put('tasks', r);

-- The clock of tasks, set to an hour of 2030-06-01.
CREATE FUNCTION test.clock(hour numeric)
RETURNS SETOF text
LANGUAGE plpgsql
AS $$
BEGIN
	PERFORM set_config('booking.clock_offset', ceil(extract(epoch FROM lower(h(hour, hour + 1)) - clock_timestamp()))::text, false);
END
$$;

-- An hour, printed.
CREATE FUNCTION test.hour(t timestamptz)
RETURNS numeric
LANGUAGE sql IMMUTABLE
AS $$
	SELECT trim_scale((extract(epoch FROM t) - 1906502400) / 3600);
$$;

-- What is taken, as text; leases are random and kept aside.
CREATE TABLE test.lease (principal text, intent text, task text, try integer, lease bigint);
CREATE FUNCTION test.take(max integer DEFAULT 100, lease interval DEFAULT '1 hour', t text DEFAULT 'tasks')
RETURNS text
LANGUAGE sql
AS $$
	WITH k AS (
		SELECT * FROM booking_task_take(t, max, lease) WITH ORDINALITY AS k
			   (tenant, principal, intent, task, lease, due_at, leased_until, start_at, tries, payload, n)),
	kept AS (INSERT INTO test.lease SELECT principal, intent, task, tries, k.lease FROM k)
	SELECT string_agg(concat_ws(' ', k.principal, k.intent, k.task, 'due', hour(k.due_at), 'start', hour(k.start_at), 'try', k.tries, k.payload), ', ' ORDER BY n) FROM k;
$$;
CREATE FUNCTION test.finish(i text, k text, n integer)
RETURNS boolean
LANGUAGE sql
AS $$
	SELECT booking_task_done('tasks', l.principal, i, k, l.lease) FROM test.lease l WHERE (l.intent, l.task, l.try) = (i, k, n);
$$;

-- Put: due before the start.
SELECT FROM booking_claim('tasks', 'ann', 'a', 'room', h(9, 10));
SELECT same('due', hour(booking_task_put('tasks', 'ann', 'a', 'mail', '1 hour', '{"to": 7}')), 8::numeric);
SELECT fingerprint('tasks') AS before \gset
SELECT same('the same again', hour(booking_task_put('tasks', 'ann', 'a', 'mail', '60 minutes', '{"to": 7.0}')), 8::numeric);
SELECT same('changes nothing', fingerprint('tasks'), :'before');
SELECT same('at the start', hour(booking_task_put('tasks', 'ann', 'a', 'open door', '0')), 9::numeric);
SELECT same('another time', hour(booking_task_put('tasks', 'ann', 'a', 'mail', '2 hours', '{"to": 7}')), 7::numeric);
SELECT same('366 days', hour(booking_task_put('tasks', 'ann', 'a', 'early', '8784 hours')), (9 - 8784)::numeric);
SELECT clock(-9000);
SELECT same('nothing is due', take(), NULL::text);
SELECT clock(-8000);
SELECT same('the early one', take(), 'ann a early due -8775 start 9 try 1 {}');
SELECT same('done', finish('a', 'early', 1), true);
SELECT same('told again', finish('a', 'early', 1), true);
SELECT clock(6.9);
SELECT same('not yet', take(), NULL::text);
SELECT clock(7);
SELECT same('due, with what was put', take(), 'ann a mail due 7 start 9 try 1 {"to": 7}');
SELECT same('taken', take(), NULL::text);

-- The lease: lost with its end, kept while nobody else has it.
SELECT clock(7.9);
SELECT same('within the lease', take(), NULL::text);
SELECT clock(8.1);
SELECT same('the taker is gone: again', take(), 'ann a mail due 7 start 9 try 2 {"to": 7}');
SELECT same('the old lease', finish('a', 'mail', 1), false);
SELECT lease FROM test.lease WHERE task = 'mail' AND try = 2 \gset
SELECT same('a lease nobody has', booking_task_done('tasks', 'ann', 'a', 'mail', :lease % 1000 + 1), false);
SELECT same('another task', booking_task_done('tasks', 'ann', 'a', 'mails', :lease), false);
SELECT same('another intent', booking_task_done('tasks', 'bob', 'a', 'mail', :lease), false);
SELECT same('another tenant', booking_task_done('task', 'ann', 'a', 'mail', :lease), false);
SELECT clock(9.2);
SELECT same('late, and still its own', finish('a', 'mail', 2), true);
SELECT same('never again', take(), 'ann a open door due 9 start 9 try 1 {}');
SELECT same('done stays: the same put', hour(booking_task_put('tasks', 'ann', 'a', 'mail', '2 hours', '{"to": 7}')), 7::numeric);
SELECT fails('another put', $$SELECT booking_task_put('tasks', 'ann', 'a', 'mail', '3 hours', '{"to": 7}')$$, '55000', 'task');
SELECT fails('another payload', $$SELECT booking_task_put('tasks', 'ann', 'a', 'mail', '2 hours')$$, '55000', 'task');
SELECT same('done when', (SELECT string_agg(task || ' ' || state || ' ' || (done_at IS NOT NULL), ', ' ORDER BY task) FROM booking.task WHERE tenant = 'tasks'),
			'early done true, mail done true, open door waiting false');
-- Changed while taken: the taker has lost it.
SELECT same('changed', hour(booking_task_put('tasks', 'ann', 'a', 'open door', '30 minutes')), 8.5);
SELECT same('lost', finish('a', 'open door', 1), false);
SELECT same('due as changed', take(), 'ann a open door due 8.5 start 9 try 2 {}');
SELECT FROM finish('a', 'open door', 2);

-- In the order of their instants, as many as wanted.
SELECT FROM generate_series(1, 12) n, booking_claim('tasks', 'bob', 'n' || n, 'desk', h(100 + n, 101 + n));
SELECT FROM generate_series(1, 12) n, booking_task_put('tasks', 'bob', 'n' || n, 't', n * interval '61 minutes');
SELECT clock(200);
SELECT same('five', (SELECT string_agg(intent, ' ' ORDER BY o) FROM booking_task_take('tasks', 5, '1 hour') WITH ORDINALITY k (a, b, intent, c, d, e, f, g, h, i, o)),
			'n12 n11 n10 n9 n8');
SELECT same('five more', (SELECT string_agg(intent, ' ' ORDER BY o) FROM booking_task_take('tasks', 5, '1 hour') WITH ORDINALITY k (a, b, intent, c, d, e, f, g, h, i, o)),
			'n7 n6 n5 n4 n3');
SELECT same('the rest', (SELECT count(*) FROM booking_task_take('tasks', 5, '1 hour')), 2);
SELECT same('none', (SELECT count(*) FROM booking_task_take('tasks', 5, '1 hour')), 0);
BEGIN;
SELECT clock(202);
SELECT max(lease) FILTER (WHERE intent = 'n1') AS lease, count(*) AS taken FROM booking_task_take('tasks', 100, '1 hour') \gset
ROLLBACK;
SELECT same('all come back', :taken, 12);
SELECT clock(202);
SELECT yes('a taking that was rolled back took nothing', take() ~ '^bob n12 t due .*bob n1 t due [0-9.]+ start 101 try 2 {}$');
SELECT same('and its leases are not given again', booking_task_done('tasks', 'bob', 'n1', 't', :lease), false);
SELECT FROM generate_series(1, 12) n, booking_cancel('tasks', 'bob', 'n' || n);
SELECT clock(300);
SELECT same('canceled while taken: none comes back', take(), NULL::text);
SELECT same('dropped', (SELECT count(*) FROM booking.task t JOIN booking.intent i USING (intent_id) WHERE i.intent LIKE 'n%' AND t.state = 'dropped'), 12);
SELECT same('nor is it done', finish('n1', 't', 2), false);
SELECT same('a canceled intent takes no task', booking_task_put('tasks', 'bob', 'n1', 't', '1 hour'), NULL::timestamptz);
SELECT same('neither a new one', booking_task_put('tasks', 'bob', 'n1', 'u', '1 hour'), NULL::timestamptz);

-- Rescheduled: the tasks go to the successor and are due by its time.
SELECT FROM booking_claim('tasks', 'ann', 'm1', 'room', h(400, 401));
SELECT FROM booking_task_put('tasks', 'ann', 'm1', 'mail', '1 hour', '1');
SELECT FROM booking_task_put('tasks', 'ann', 'm1', 'call', '2 hours', '2');
SELECT FROM booking_task_put('tasks', 'ann', 'm1', 'past', '3 hours', '3');
SELECT clock(397);
SELECT same('the first is done before', take(), 'ann m1 past due 397 start 400 try 1 3');
SELECT FROM finish('m1', 'past', 1);
SELECT clock(398);
SELECT same('the second is taken before', take(), 'ann m1 call due 398 start 400 try 1 2');
SELECT FROM booking_claim('tasks', 'ann', 'm2', 'room', h(410, 411), supersedes => 'm1');
SELECT same('its taker has lost it', finish('m1', 'call', 1), false);
SELECT clock(407.9);
SELECT same('not at the old time', take(), NULL::text);
SELECT clock(409);
SELECT same('at the new one, and what was done is done', take(), 'ann m2 call due 408 start 410 try 2 2, ann m2 mail due 409 start 410 try 1 1');
SELECT same('done', finish('m2', 'call', 2), true);
SELECT same('the other too', finish('m2', 'mail', 1), true);
-- A successor that has a task of that name keeps its own.
SELECT FROM booking_claim('tasks', 'ann', 's1', 'room', h(420, 421));
SELECT FROM booking_task_put('tasks', 'ann', 's1', 'mail', '1 hour', '"old"');
SELECT FROM booking_propose('tasks', 'ann', 's2', 'room', h(430, 431), supersedes => 's1');
SELECT same('of a proposal', hour(booking_task_put('tasks', 'ann', 's2', 'mail', '2 hours', '"new"')), 428::numeric);
SELECT clock(419);
SELECT same('the old booking stands meanwhile', take(), 'ann s1 mail due 419 start 420 try 1 "old"');
SELECT clock(429);
SELECT same('a proposal is not booked', take(1), 'ann s1 mail due 419 start 420 try 2 "old"');
SELECT same('and only that', take(), NULL::text);
SELECT FROM booking_approve('tasks', 'bob', 'ann', 's2', 1);
SELECT same('approved', take(), 'ann s2 mail due 428 start 430 try 1 "new"');
SELECT same('the other was dropped', (SELECT string_agg(concat_ws(' ', i.intent, t.task, t.state), ', ' ORDER BY i.intent) FROM booking.task t JOIN booking.intent i USING (intent_id)
			WHERE i.intent IN ('s1', 's2')), 's1 mail dropped, s2 mail waiting');

-- A proposal's task follows it from version to version, and waits for approval.
SELECT FROM booking_propose('tasks', 'ann', 'p', 'desk', h(500, 501));
SELECT same('of version 1', hour(booking_task_put('tasks', 'ann', 'p', 'mail', '1 hour')), 499::numeric);
SELECT FROM booking_propose('tasks', 'ann', 'p', 'desk', h(510, 511));
SELECT same('of version 2', hour(booking_task_put('tasks', 'ann', 'p', 'mail', '1 hour')), 509::numeric);
SELECT FROM booking_reject('tasks', 'bob', 'ann', 'p', 2, 'no');
SELECT FROM booking_propose('tasks', 'ann', 'p', 'desk', h(520, 521));
SELECT same('it waits', (SELECT t.state || ' ' || hour(due_at) FROM booking.task t JOIN booking.intent i USING (intent_id) WHERE i.intent = 'p'), 'idle 519');
SELECT FROM booking_approve('tasks', 'bob', 'ann', 'p', 3);
SELECT same('booked', (SELECT t.state || ' ' || hour(due_at) FROM booking.task t JOIN booking.intent i USING (intent_id) WHERE i.intent = 'p'), 'waiting 519');
-- A conflict is never booked.
SELECT FROM booking_claim('tasks', 'ann', 'lost', 'desk', h(520, 521));
SELECT same('of a conflict', booking_task_put('tasks', 'ann', 'lost', 'mail', '1 hour'), NULL::timestamptz);

-- A chain of reschedules hands the task on.
SELECT FROM booking_claim('tasks', 'ann', 'r0', 'desk', h(600, 601));
SELECT FROM booking_task_put('tasks', 'ann', 'r0', 'mail', '1 hour');
SELECT FROM generate_series(1, 5) n, booking_claim('tasks', 'ann', 'r' || n, 'desk', h(600 + n, 601 + n), supersedes => 'r' || n - 1);
SELECT same('handed on', (SELECT string_agg(concat_ws(' ', i.intent, t.state, hour(t.due_at)), ', ') FROM booking.task t JOIN booking.intent i USING (intent_id)
			WHERE i.intent LIKE 'r_'), 'r5 waiting 604');
SELECT FROM booking_cancel('tasks', 'ann', 'r5');
SELECT same('and dropped', (SELECT string_agg(concat_ws(' ', i.intent, t.state), ', ') FROM booking.task t JOIN booking.intent i USING (intent_id)
			WHERE i.intent LIKE 'r_'), 'r5 dropped');

-- A reschedule that comes to nothing moves nothing.
SELECT FROM booking_claim('tasks', 'ann', 'u1', 'desk', h(700, 701));
SELECT FROM booking_claim('tasks', 'bob', 'wall', 'desk', h(710, 711));
SELECT FROM booking_task_put('tasks', 'ann', 'u1', 'mail', '1 hour');
SELECT same('the new time is taken', (booking_claim('tasks', 'ann', 'u2', 'desk', h(710, 711), supersedes => 'u1')).disposition, 'resource_conflict');
BEGIN;
SELECT FROM booking_claim('tasks', 'ann', 'u3', 'desk', h(720, 721), supersedes => 'u1');
ROLLBACK;
SELECT same('stays', (SELECT string_agg(concat_ws(' ', i.intent, t.state, hour(t.due_at)), ', ') FROM booking.task t JOIN booking.intent i USING (intent_id)
			WHERE i.intent LIKE 'u_'), 'u1 waiting 699');

-- Whose tasks they are.
SELECT fails('of somebody without permission', $$SELECT booking_task_put('tasks', 'eve', 'a', 'mail', '1 hour')$$, '42501');
SELECT FROM booking_permit('tasks', 'ann', 'desk', false);
SELECT fails('permission withdrawn', $$SELECT booking_task_put('tasks', 'ann', 'u1', 'mail', '1 hour')$$, '42501');
SELECT FROM booking_permit('tasks', 'ann', 'desk', true);
SELECT same('another tenant has none', take(t => 'tasks 2'), NULL::text);
BEGIN READ ONLY;
SELECT sqlstate_of($$SELECT booking_task_take('tasks', 1, '1 hour')$$) AS got \gset
ROLLBACK;
SELECT same('taking writes', :'got', '25006');

-- At the other isolation levels.
SELECT clock(900);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT FROM booking_claim('tasks', 'ann', 'rr', 'desk', h(800, 801));
SELECT FROM booking_task_put('tasks', 'ann', 'rr', 'mail', '1 hour');
SELECT yes('repeatable read', take() ~ 'ann rr mail due 799');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT same('serializable', finish('rr', 'mail', 1), true);
SELECT FROM booking_cancel('tasks', 'ann', 'rr');
COMMIT;
SELECT same('done stays done', (SELECT t.state FROM booking.task t JOIN booking.intent i USING (intent_id) WHERE i.intent = 'rr'), 'done');

-- CHECKs hold for direct DML too.
SELECT fails('a day before', $$UPDATE booking.task SET before = '1 day'$$, '23514', hinted => false);
SELECT fails('a state nobody knows', $$UPDATE booking.task SET state = 'lost'$$, '23514', hinted => false);
SELECT fails('done without a time', $$UPDATE booking.task SET state = 'done' WHERE state = 'waiting'$$, '23514', hinted => false);
RESET booking.clock_offset;

SELECT done();
