-- test/bench/plain_sync.sql
--
-- Copies what plain_sync prints, and upserts it.

\set ON_ERROR_STOP on

CREATE TEMP TABLE staging (object text, occurrence timestamptz, during tstzrange,
	busy boolean, all_day boolean, recurring boolean, status text, transparency text,
	sequence integer, uid text, etag text, zone text, organizer text, attendees jsonb);
\copy staging FROM pstdin
INSERT INTO rival.event AS e (calendar_id, seen_round, object, occurrence, during,
	busy, all_day, recurring, status, transparency, sequence, uid, etag, zone,
	organizer, attendees)
SELECT 1, 1, s.* FROM staging s
ON CONFLICT (calendar_id, object, occurrence) DO UPDATE SET
	seen_round = EXCLUDED.seen_round, during = EXCLUDED.during, busy = EXCLUDED.busy,
	all_day = EXCLUDED.all_day, recurring = EXCLUDED.recurring,
	status = EXCLUDED.status, transparency = EXCLUDED.transparency,
	sequence = EXCLUDED.sequence, uid = EXCLUDED.uid, etag = EXCLUDED.etag,
	zone = EXCLUDED.zone, organizer = EXCLUDED.organizer,
	attendees = EXCLUDED.attendees;
