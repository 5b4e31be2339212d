--
-- lists.sql: what there is, and what is free
--
-- booking_list pages through the intents of a principal in byte order of their
-- names; booking_free answers windows that a claim would get.  The second is
-- checked against the claims themselves, start by start.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM booking_permit_all('lists', 'p');
SELECT FROM booking_resource_put('lists', 'room');
SELECT FROM booking_resource_put('lists', 'desk');

-- List: everything of the principal, with what status answers.
SELECT FROM booking_claim('lists', 'p', 'b', 'room', h(9, 10));
SELECT FROM booking_claim('lists', 'p', 'a', 'room', h(10, 11));
SELECT FROM booking_claim('lists', 'p', 'B', 'room', h(11, 12));
SELECT FROM booking_claim('lists', 'p', U&'\00e4', 'desk', h(9, 10));
SELECT FROM booking_claim_all('lists', 'p', 'c', '{desk,room}', h(12, 13));
SELECT FROM booking_claim('lists', 'p', 'conflict', 'room', h(9, 10));
SELECT FROM booking_claim_slot('lists', 'p', 'no slot', 'room', 'x', 1);
SELECT FROM booking_propose('lists', 'p', 'prop', 'desk', h(20, 21));
SELECT FROM booking_cancel('lists', 'p', 'a');
SELECT FROM booking_cancel('lists', 'p', 'tomb');

SELECT FROM booking_permit('lists', 'quiet', 'room');
SELECT fingerprint() AS before \gset
CREATE FUNCTION test.names(within tstzrange DEFAULT NULL, state text DEFAULT NULL, after text DEFAULT NULL, max integer DEFAULT 100)
RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(l.intent, ' ' ORDER BY n)
	  FROM booking_list('lists', 'p', within, state, after, max) WITH ORDINALITY
	       AS l (intent, disposition, state, remote, event, receipt, replayed, detail, during, resources, n);
$$;
SELECT same('all, in byte order', names(), U&'B a b c conflict no slot prop tomb \00e4');
SELECT same('each as status has it', show((l.disposition, l.state, l.remote, l.event, l.receipt, l.replayed, l.detail)::booking_result),
			show(booking_status('lists', 'p', l.intent))) FROM booking_list('lists', 'p') l;
SELECT same('details as status has them', l.detail, (booking_status('lists', 'p', l.intent)).detail) FROM booking_list('lists', 'p') l;
SELECT same('intervals and resources', (SELECT string_agg(concat_ws(':', intent, hours(during), resources::text), ' ') FROM booking_list('lists', 'p')),
			U&'B:11-12:{room} a:10-11:{room} b:9-10:{room} c:12-13:{desk,room} conflict:9-10:{room} no slot:{room} prop:20-21:{desk} tomb \00e4:9-10:{desk}');
SELECT same('by state', names(state => 'committed'), U&'B b c \00e4');
SELECT same('by state: canceled', names(state => 'canceled'), 'a tomb');
SELECT same('by state: proposed', names(state => 'proposed'), 'prop');
SELECT same('by state: none', names(state => 'failed'), NULL::text);
SELECT same('by time', names(within => h(9, 10)), U&'b conflict \00e4');
SELECT same('by time: touching is not within', names(within => h(13, 20)), NULL::text);
SELECT same('by time: overlapping is', names(within => h(9.9, 12.1)), U&'B a b c conflict \00e4');
SELECT same('by time and state', names(within => h(9, 10), state => 'conflict'), 'conflict');
SELECT same('first page', names(max => 3), 'B a b');
SELECT same('second page', names(after => 'b', max => 3), 'c conflict no slot');
SELECT same('last page', names(after => 'no slot', max => 3), U&'prop tomb \00e4');
SELECT same('end', names(after => U&'\00e4', max => 3), NULL::text);
SELECT same('after a name that is not there', names(after => 'bb', max => 2), 'c conflict');
SELECT same('pages of filtered', names(after => 'B', state => 'committed', max => 2), 'b c');
SELECT fails('without any permission', $$SELECT booking_list('lists', 'q')$$, '42501');
SELECT fails('in another tenant', $$SELECT booking_list('lists 2', 'p')$$, '42501');
SELECT same('others see nothing of it', (SELECT count(*) FROM booking_list('lists', 'quiet')), 0);
SELECT same('writes nothing', fingerprint(), :'before');
-- What a principal may not touch any more is not listed, as status denies it.
SELECT FROM booking_permit('lists', 'p', 'desk', false);
SELECT same('without the desk', names(), 'B a b conflict no slot tomb');
SELECT same('full pages all the same', names(max => 5), 'B a b conflict no slot');
SELECT FROM booking_permit('lists', 'p', 'desk', true);
SELECT fails('unknown state', $$SELECT booking_list('lists', 'p', state => 'done')$$, '22023', 'state');
SELECT fails('no rows', $$SELECT booking_list('lists', 'p', max => 0)$$, '22023', 'max');
SELECT fails('fewer rows', $$SELECT booking_list('lists', 'p', max => -1)$$, '22023', 'max');

-- The same page when nothing but byte order puts names in a row.
SELECT FROM unnest(ARRAY['zz 1', 'zz A', 'zz-1', 'zz_1', 'zz.1', 'zz']) WITH ORDINALITY u (name, n),
	   booking_claim('lists', 'p', name, 'desk', h(100 + n, 101 + n));
SELECT same('byte order', names(after => 'tomb', max => 6), 'zz zz 1 zz A zz-1 zz.1 zz_1');

-- Free: the maximal windows.
SELECT FROM booking_resource_put('lists', 'free');
SELECT FROM booking_claim('lists', 'p', 'f1', 'free', h(9, 10));
SELECT FROM booking_claim('lists', 'p', 'f2', 'free', h(12, 13));
SELECT FROM booking_claim('lists', 'p', 'f3', 'free', h(13, 14));
CREATE FUNCTION test.windows(r text[], within tstzrange, duration interval, step interval DEFAULT NULL, units integer DEFAULT 1)
RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(hours(w), ' ' ORDER BY n)
	  FROM booking_free('lists', 'p', r, within, duration, step, units) WITH ORDINALITY f (w, n);
$$;
SELECT same('around bookings', windows('{free}', h(8, 18), '1 hour'), '8-9 10-12 14-18');
SELECT same('long enough', windows('{free}', h(8, 18), '2 hours'), '10-12 14-18');
SELECT same('too long', windows('{free}', h(8, 18), '4 hours 1 second'), NULL::text);
SELECT same('exactly', windows('{free}', h(8, 18), '4 hours'), '14-18');
SELECT same('cut at the edges', windows('{free}', h(9.5, 15), '30 min'), '10-12 14-15');
SELECT same('within a booking', windows('{free}', h(12.25, 13.75), '1 min'), NULL::text);
SELECT same('touching bookings', windows('{free}', h(10, 12), '2 hours'), '10-12');
SELECT same('nothing booked', windows('{desk}', h(50, 60), '1 hour'), '50-60');
SELECT same('[) form', (SELECT bool_and(lower_inc(w) AND NOT upper_inc(w)) FROM booking_free('lists', 'p', '{free}', h(8, 18), '1 hour') w), true);
-- With a step: each start on the grid from the start of the search.
SELECT same('on the half hour', windows('{free}', h(8, 16), '1 hour', '30 min'), '8-9 10-11 10.5-11.5 11-12 14-15 14.5-15.5 15-16');
SELECT same('the grid begins where the search does', windows('{free}', h(8.25, 16), '1 hour', '1 hour'), '10.25-11.25 14.25-15.25');
SELECT same('a step longer than the duration', windows('{free}', h(8, 16), '30 min', '2 hours'), '8-8.5 10-10.5 14-14.5');
-- Several resources at once.
SELECT FROM booking_resource_put('lists', 'free 2');
SELECT FROM booking_claim('lists', 'p', 'f4', 'free 2', h(8.5, 9.5));
SELECT FROM booking_claim('lists', 'p', 'f5', 'free 2', h(11, 12));
SELECT same('free at once', windows('{free,free 2}', h(8, 18), '30 min'), '8-8.5 10-11 14-18');
SELECT same('in another order', windows('{free 2,free}', h(8, 18), '30 min'), '8-8.5 10-11 14-18');
SELECT same('free at once, longer', windows('{free,free 2}', h(8, 18), '1 hour', '1 hour'), '10-11 14-15 15-16 16-17 17-18');
-- Conflicts, canceled and superseded ones take no time; proposals without hold
-- neither, a hold does while it lives.
SELECT FROM booking_claim('lists', 'p', 'f6', 'free', h(9, 9.5));
SELECT FROM booking_claim('lists', 'p', 'f7', 'free', h(15, 16));
SELECT FROM booking_cancel('lists', 'p', 'f7');
SELECT FROM booking_propose('lists', 'p', 'f8', 'free', h(15, 16));
SELECT FROM booking_propose('lists', 'p', 'f9', 'free', h(16, 17), hold_for => '1 hour');
SELECT same('a live hold', windows('{free}', h(14, 18), '1 hour'), '14-16 17-18');
SET booking.clock_offset = '2h';
SELECT same('an expired one', windows('{free}', h(14, 18), '1 hour'), '14-18');
RESET booking.clock_offset;
-- Who may look.
SELECT fails('not permitted', $$SELECT booking_free('lists', 'q', '{free}', h(8, 18), '1 hour')$$, '42501', NULL);
SELECT fails('unknown resource', $$SELECT booking_free('lists', 'p', '{free,nowhere}', h(8, 18), '1 hour')$$, '42501', NULL);

-- Against the claims: every start on a grid of 15 minutes is tried by a claim
-- that is taken back.  The cases have what is easily forgotten: buffers,
-- bookings outside of the window searched that reach into it by their buffers, units, lanes that must give
-- way, overrides, several resources with different buffers.
SELECT FROM booking_resource_put('lists', 'buffered', 1, buffer_before => '10 min', buffer_after => '35 min');
SELECT FROM unnest(ARRAY[h(7, 7.33), h(10, 10.5), h(12, 12.25), h(14.25, 15), h(16.25, 17)]) WITH ORDINALITY u (d, n),
	   booking_claim('lists', 'p', 'g' || n, 'buffered', d);
SELECT FROM booking_resource_put('lists', 'triple', 3, buffer_after => '5 min');
SELECT FROM unnest(ARRAY[h(8, 10), h(9, 11), h(10.5, 12), h(11, 13), h(13, 13.25), h(8, 8.5)]) WITH ORDINALITY u (d, n),
	   booking_claim('lists', 'p', 'k' || n, 'triple', d, units => 1 + n::integer % 2);
SELECT FROM booking_override('lists', 'p', 'k over', 'triple', h(13.5, 14), 2, '{}', 'x');

CREATE FUNCTION test.would_commit(r text[], during tstzrange, units integer)
RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
	d text;
BEGIN
	SELECT disposition INTO d FROM booking_claim_all('lists', 'p', 'try', r, during, units => would_commit.units);
	RAISE EXCEPTION USING ERRCODE = CASE d WHEN 'committed' THEN 'TT001' ELSE 'TT000' END;
EXCEPTION WHEN sqlstate 'TT001' THEN
	RETURN true;
WHEN sqlstate 'TT000' THEN
	RETURN false;
END
$$;
CREATE FUNCTION test.by_claims(r text[], first numeric, last numeric, duration numeric, units integer)
RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(concat(trim_scale(s), '-', trim_scale(s + duration)), ' ' ORDER BY s)
	  FROM generate_series(first, last - duration, 0.25) s
	 WHERE test.would_commit(r, test.h(s, s + duration), units);
$$;
SELECT same(format('%s, %s h, %s units', r, d, u),
			windows(r::text[], h(8, 16), make_interval(secs => d::float8 * 3600), '15 min', u), by_claims(r::text[], 8, 16, d, u))
  FROM unnest(ARRAY['{free}', '{buffered}', '{triple}', '{triple,buffered}', '{free 2,triple,desk}']) r,
	   unnest(ARRAY[0.25, 0.75, 1.5]) d, unnest(ARRAY[1, 2, 3]) u
 WHERE u = 1 OR r = '{triple}';
-- Maximal windows: what a claim books in them commits, at either end; a second
-- more on either side does not.
SELECT same(format('%s: window %s', r, hours(w)),
			ARRAY[would_commit(r::text[], w, 1),
				  would_commit(r::text[], tstzrange(lower(w) - interval '1 second', upper(w)), 1) AND lower(w) > lower(h(8, 16)),
				  would_commit(r::text[], tstzrange(lower(w), upper(w) + interval '1 second'), 1) AND upper(w) < upper(h(8, 16))],
			ARRAY[true, false, false])
  FROM unnest(ARRAY['{free}', '{buffered}', '{triple}', '{triple,buffered}']) r, booking_free('lists', 'p', r::text[], h(8, 16), '5 min') w;

SELECT done();
