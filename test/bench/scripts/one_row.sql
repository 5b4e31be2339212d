-- A bare insert of one row: the interval and the resource, under a primary key.
\set u :base + :n * :clients + :client_id
\set n :n + 1
\set s (:u * 7368787) % 10000000
\set q :s / 10000
\set r :s % 10000
\set p :u % 100
INSERT INTO rival.one_row (resource_id, during)
VALUES (:r::bigint,
	tstzrange('2030-01-01 00:00:00+00'::timestamptz + :q::int * interval '15 minutes',
		'2030-01-01 00:15:00+00'::timestamptz + :q::int * interval '15 minutes'));
