--
-- payload.sql: which values are the same payload, and which are not
--
-- The rule is published as a table of equal and unequal pairs; this is it.
-- Each pair makes two calls of one intent: the second is history when the
-- payloads are equal, else intent_conflict with the names of the fields that
-- differ, and never with a value of the stored payload.  Proves R40.
--

\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set setup :srcdir '/sql/setup.inc'
\i :setup

SELECT FROM booking_permit_all('payload', 'p');
SELECT FROM unnest(ARRAY['a', 'b', 'c', 'A', U&'\00e9', U&'e\0301']) r,
	   booking_resource_put('payload', r, 1000);
-- c has version 3, so that versions which follow their resource show.
SELECT FROM booking_resource_put('payload', 'c', 1001);
SELECT FROM booking_resource_put('payload', 'c', 1000);
SELECT FROM booking_resource_put('payload', 'b', 1001);
SELECT FROM booking_slot_put('payload', 'a', 's', h(9, 10), 5);
SELECT FROM booking_slot_put('payload', 'a', 'S', h(9, 10), 5);

-- Makes both calls under a new intent; "$" in them is "tenant, principal,
-- intent".  Answers the fields that differ, sorted, or "equal".
CREATE FUNCTION test.compare(name text, first text, second text)
RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
	who text := format('%L, %L, %L', 'payload', 'p', name);
	one booking_result;
	two booking_result;
BEGIN
	EXECUTE 'SELECT * FROM ' || replace(first, '$', who) INTO one;
	EXECUTE 'SELECT * FROM ' || replace(second, '$', who) INTO two;
	IF one.disposition <> 'committed' THEN
		RETURN 'first call: ' || one.disposition;
	ELSIF two.disposition = 'historical_retry' AND two.receipt = one.receipt
		AND two.replayed THEN
		RETURN 'equal';
	ELSIF two.disposition <> 'intent_conflict' OR two.replayed
		OR two.state <> 'committed' THEN
		RETURN 'second call: ' || test.show(two);
	END IF;
	RETURN test.fields(two.detail);
END
$$;

-- The names in detail of an intent_conflict.
CREATE FUNCTION test.fields(detail jsonb)
RETURNS text
LANGUAGE sql
AS $$
	SELECT string_agg(f, ' ' ORDER BY f)
	  FROM jsonb_array_elements_text(detail->'fields') f;
$$;

CREATE TABLE test.pair (
	n		integer GENERATED ALWAYS AS IDENTITY,
	label	text,
	want	text,
	first	text,
	second	text
);

INSERT INTO test.pair (label, want, first, second) VALUES
-- Instants
('same call', 'equal',
 $$booking_claim($, 'a', h(9, 10))$$,
 $$booking_claim($, 'a', h(9, 10))$$),
('instants in different offsets', 'equal',
 $$booking_claim($, 'a', '[2030-06-01 09:00+00,2030-06-01 10:00+00)')$$,
 $$booking_claim($, 'a', '[2030-06-01 14:45+05:45,2030-06-01 11:00+01)')$$),
('a microsecond later', 'during',
 $$booking_claim($, 'a', '[2030-06-01 09:00+00,2030-06-01 10:00+00)')$$,
 $$booking_claim($, 'a', '[2030-06-01 09:00+00,2030-06-01 10:00:00.000001+00)')$$),
('another start', 'during',
 $$booking_claim($, 'a', h(9, 10))$$,
 $$booking_claim($, 'a', h(9.5, 10))$$),
-- Defaults
('defaults written out', 'equal',
 $$booking_claim($, 'a', h(9, 10))$$,
 $$booking_claim($, 'a', h(9, 10), NULL, 1, '{}', NULL, NULL)$$),
-- Units and versions
('units', 'units',
 $$booking_claim($, 'a', h(9, 10))$$,
 $$booking_claim($, 'a', h(9, 10), units => 2)$$),
('no version against a version', 'expected_versions',
 $$booking_claim($, 'a', h(9, 10))$$,
 $$booking_claim($, 'a', h(9, 10), 1)$$),
('a version against none', 'expected_versions',
 $$booking_claim($, 'a', h(9, 10), 1)$$,
 $$booking_claim($, 'a', h(9, 10))$$),
('another version', 'expected_versions',
 $$booking_claim($, 'a', h(9, 10), 1)$$,
 $$booking_claim($, 'a', h(9, 10), 2)$$),
-- Resources
('another resource', 'resources',
 $$booking_claim($, 'a', h(9, 10))$$,
 $$booking_claim($, 'b', h(9, 10))$$),
('resource in another case', 'resources',
 $$booking_claim($, 'a', h(9, 10))$$,
 $$booking_claim($, 'A', h(9, 10))$$),
('resource composed and decomposed', 'resources',
 $$booking_claim($, U&'\00e9', h(9, 10))$$,
 $$booking_claim($, U&'e\0301', h(9, 10))$$),
('one resource and an array of it', 'equal',
 $$booking_claim($, 'a', h(9, 10), 1)$$,
 $$booking_claim_all($, ARRAY['a'], h(9, 10), ARRAY[1])$$),
('the rest is a set', 'equal',
 $$booking_claim_all($, ARRAY['a', 'b', 'c'], h(9, 10))$$,
 $$booking_claim_all($, ARRAY['a', 'c', 'b'], h(9, 10))$$),
('the rest is a set, its versions follow', 'equal',
 $$booking_claim_all($, ARRAY['a', 'b', 'c'], h(9, 10), ARRAY[1, 2, 3])$$,
 $$booking_claim_all($, ARRAY['a', 'c', 'b'], h(9, 10), ARRAY[1, 3, 2])$$),
('the rest is a set, its versions do not follow', 'expected_versions',
 $$booking_claim_all($, ARRAY['a', 'b', 'c'], h(9, 10), ARRAY[1, 2, 3])$$,
 $$booking_claim_all($, ARRAY['a', 'c', 'b'], h(9, 10), ARRAY[1, 2, 3])$$),
('the first is bound as such', 'resources',
 $$booking_claim_all($, ARRAY['a', 'b', 'c'], h(9, 10))$$,
 $$booking_claim_all($, ARRAY['b', 'a', 'c'], h(9, 10))$$),
('one more', 'resources',
 $$booking_claim_all($, ARRAY['a', 'b'], h(9, 10))$$,
 $$booking_claim_all($, ARRAY['a', 'b', 'c'], h(9, 10))$$),
('one less', 'resources',
 $$booking_claim_all($, ARRAY['a', 'b', 'c'], h(9, 10))$$,
 $$booking_claim_all($, ARRAY['a', 'b'], h(9, 10))$$),
('another one', 'resources',
 $$booking_claim_all($, ARRAY['a', 'b'], h(9, 10))$$,
 $$booking_claim_all($, ARRAY['a', 'c'], h(9, 10))$$),
('another version of one', 'expected_versions',
 $$booking_claim_all($, ARRAY['a', 'b', 'c'], h(9, 10), ARRAY[1, 2, 3])$$,
 $$booking_claim_all($, ARRAY['a', 'b', 'c'], h(9, 10), ARRAY[1, 2, 4])$$),
('versions of all against none', 'expected_versions',
 $$booking_claim_all($, ARRAY['a', 'b'], h(9, 10), ARRAY[1, 2])$$,
 $$booking_claim_all($, ARRAY['a', 'b'], h(9, 10))$$),
-- Terms
('order of keys and blanks', 'equal',
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": 1, "y": {"p": 2, "q": 3}}')$$,
 $$booking_claim($, 'a', h(9, 10), terms => '{"y":{"q":3,"p":2},"x":1}')$$),
('1.0 and 1.00', 'equal',
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": 1.0}')$$,
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": 1.00}')$$),
('1 and 1.0', 'equal',
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": 1}')$$,
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": 1.0}')$$),
('100 and 1e2', 'equal',
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": [100]}')$$,
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": [1e2]}')$$),
('a key given twice: the last counts', 'equal',
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": 1, "x": 2}')$$,
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": 2}')$$),
('an escape and its character', 'equal',
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": "\u00e9"}')$$,
 $$booking_claim($, 'a', h(9, 10), terms => U&'{"x": "\00e9"}')$$),
('terms composed and decomposed', 'terms',
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": "\u00e9"}')$$,
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": "e\u0301"}')$$),
('terms in another case', 'terms',
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": "a"}')$$,
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": "A"}')$$),
('a number and a string', 'terms',
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": 1}')$$,
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": "1"}')$$),
('a null and nothing', 'terms',
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": null}')$$,
 $$booking_claim($, 'a', h(9, 10))$$),
('order of an array', 'terms',
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": [1, 2]}')$$,
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": [2, 1]}')$$),
('blanks in a text', 'terms',
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": "a b"}')$$,
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": "a  b"}')$$),
('what the 15th digit tells', 'terms',
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": 9007199254740993}')$$,
 $$booking_claim($, 'a', h(9, 10), terms => '{"x": 9007199254740992}')$$),
-- What is not bound
('evidence', 'equal',
 $$booking_claim($, 'a', h(9, 10), evidence => '{"call": 1}')$$,
 $$booking_claim($, 'a', h(9, 10), evidence => '{"call": 2}')$$),
-- Slots bind the label and not its interval
('slot', 'equal',
 $$booking_claim_slot($, 'a', 's', 5)$$,
 $$booking_claim_slot($, 'a', 's', 5)$$),
('slot in another case', 'slot',
 $$booking_claim_slot($, 'a', 's', 5)$$,
 $$booking_claim_slot($, 'a', 'S', 5)$$),
('slot version', 'expected_versions',
 $$booking_claim_slot($, 'a', 's', 5)$$,
 $$booking_claim_slot($, 'a', 's', 6)$$),
('slot and its interval', 'slot',
 $$booking_claim_slot($, 'a', 's', 5)$$,
 $$booking_claim($, 'a', h(9, 10), 5)$$),
('interval and a slot of it', 'expected_versions slot',
 $$booking_claim($, 'a', h(9, 10))$$,
 $$booking_claim_slot($, 'a', 's', 5)$$),
-- Several at once
('all that can differ', 'during expected_versions resources terms units',
 $$booking_claim($, 'a', h(9, 10), 1, 1, '{"x": 1}')$$,
 $$booking_claim($, 'b', h(9, 11), 2, 2, '{"x": 2}')$$);

SELECT same(label, compare('pair ' || n, first, second), want)
  FROM test.pair ORDER BY n;

-- supersedes is bound: who is exchanged belongs to what was approved.
SELECT FROM booking_claim('payload', 'p', 'old 1', 'a', h(9, 10));
SELECT FROM booking_claim('payload', 'p', 'old 2', 'a', h(9, 10));
SELECT same('supersedes equal', compare('sup 1',
 $$booking_claim($, 'a', h(9, 10), supersedes => 'old 1')$$,
 $$booking_claim($, 'a', h(9, 10), supersedes => 'old 1')$$), 'equal');
SELECT same('supersedes against none', compare('sup 2',
 $$booking_claim($, 'a', h(9, 10), supersedes => 'old 2')$$,
 $$booking_claim($, 'a', h(9, 10))$$), 'supersedes');
SELECT same('none against supersedes', compare('sup 3',
 $$booking_claim($, 'a', h(9, 10))$$,
 $$booking_claim($, 'a', h(9, 10), supersedes => 'sup 1')$$), 'supersedes');
SELECT same('the other''s predecessor was left alone', held('payload', 'p', 'sup 1'), 1);

-- A slot keeps its label when it moves, so the retry is the same payload; the
-- version the caller demanded then is part of it.
SELECT FROM booking_slot_put('payload', 'a', 'moving', h(9, 10), 1);
SELECT same('before the move', (booking_claim_slot('payload', 'p', 'slot', 'a', 'moving', 1)).disposition, 'committed');
SELECT FROM booking_slot_put('payload', 'a', 'moving', h(19, 20), 2);
SELECT same('after the move', show(booking_claim_slot('payload', 'p', 'slot', 'a', 'moving', 1)),
			'historical_retry committed receipt replayed');
SELECT same('the booked time stays', (SELECT hours(during) FROM booking.intent
			WHERE tenant = 'payload' AND intent = 'slot'), '9-10');

-- The same rule for proposals, where other values are the next version ...
SELECT same('propose', show(booking_propose('payload', 'p', 'prop', 'a', h(9, 10), terms => '{"x": 1}')),
			'proposed v1 proposed');
SELECT same('propose again', show(booking_propose('payload', 'p', 'prop', 'a', h(9, 10), terms => '{"x": 1.0}', evidence => '{"e": 1}')),
			'proposed v1 proposed replayed');
SELECT same('propose other terms', show(booking_propose('payload', 'p', 'prop', 'a', h(9, 10), terms => '{"x": "1"}')),
			'proposed v2 proposed');
-- ... and for exact cancels, where they are a conflict and end nothing.
SELECT FROM booking_claim_all('payload', 'p', 'exact', ARRAY['a', 'b', 'c'], h(9, 10), ARRAY[1, 2, 3], 2, '{"x": 1}');
SELECT same('exact cancel, other units', fields((booking_cancel_exact_all('payload', 'p', 'exact',
			ARRAY['a', 'c', 'b'], h(9, 10), ARRAY[1, 3, 2], 1, '{"x": 1}')).detail), 'units');
SELECT same('exact cancel, versions in another order', fields((booking_cancel_exact_all('payload', 'p', 'exact',
			ARRAY['a', 'c', 'b'], h(9, 10), ARRAY[1, 2, 3], 2, '{"x": 1}')).detail), 'expected_versions');
SELECT same('nothing was ended', held('payload', 'p', 'exact'), 6);
SELECT same('exact cancel, equal', show(booking_cancel_exact_all('payload', 'p', 'exact',
			ARRAY['a', 'c', 'b'], h(9, 10), ARRAY[1, 3, 2], 2, '{"x": 1.0}')), 'canceled canceled receipt');
SELECT FROM booking_claim_slot('payload', 'p', 'exact slot', 'a', 's', 5);
SELECT same('exact cancel of another slot', fields((booking_cancel_exact_slot('payload', 'p', 'exact slot',
			'a', 'S', 5, 1, '{}')).detail), 'slot');
SELECT same('exact cancel of this slot', show(booking_cancel_exact_slot('payload', 'p', 'exact slot',
			'a', 's', 5, 1, '{}')), 'canceled canceled receipt');
SELECT same('a bound tombstone', show(booking_cancel_exact_slot('payload', 'p', 'exact tomb',
			'a', 's', 5, 1, '{}')), 'canceled canceled');
SELECT same('late create with other values', fields((booking_claim_slot('payload', 'p', 'exact tomb',
			'a', 'S', 5)).detail), 'slot');
SELECT same('a tombstone binds no supersedes', show(booking_claim_slot('payload', 'p', 'exact tomb',
			'a', 's', 5, supersedes => 'sup 1')), 'canceled canceled replayed');

-- No value of the stored payload leaves in any column of the answer.
SELECT FROM booking_claim('payload', 'p', 'secret', 'a', '[2031-03-07 03:07:01+00,2031-03-08 04:09:02+00)',
						  1, 7, '{"hidden key": "hidden value", "n": 424242}', evidence => '{"call": "hidden call"}');
SELECT same('names only', fields((booking_claim('payload', 'p', 'secret', 'b', h(9, 10), 2)).detail),
			'during expected_versions resources terms units');
SELECT yes('no value of the stored payload',
		   (booking_claim('payload', 'p', 'secret', 'b', h(9, 10), 2)).detail::text
		   !~ '(hidden|424242|2031|03:07|\m7\M)');

SELECT done();
