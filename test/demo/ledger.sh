# test/demo/ledger.sh
#
# The chapters that need nothing but the ledger.  Each one begins where the
# one before it ended.  Sourced by run.sh.

chapter_inventory()
{
	chapter "What can be booked, and by whom"
	tell "A hotel has one meeting room and a yoga class with three places. Two agents may
book there: one answers the phone, one is a chat on the web."

	run owner "CREATE EXTENSION booking CASCADE;"
	ask owner "SELECT booking_resource_put('hotel', 'room', time_zone => 'Europe/Berlin') AS room,
       booking_resource_put('hotel', 'class', capacity => 3) AS class;" "1|1"
	run owner "SELECT booking_permit_all('hotel', 'phone'), booking_permit_all('hotel', 'chat');"
}

chapter_race()
{
	chapter "Two callers want the room at the same moment"
	tell "The phone agent claims the room, and before its transaction ends, the chat agent
claims an hour that overlaps. Neither knows of the other."

	run phone "BEGIN;"
	ask phone "SELECT disposition, state, receipt, replayed
  FROM booking_claim('hotel', 'phone', 'call-17', 'room',
                     '[2030-05-06 10:00+02, 2030-05-06 11:00+02)');" \
		"committed|committed|receipt 0|f"
	start chat "SELECT disposition, state, detail ->> 'reason' AS reason, detail ->> 'until' AS until
  FROM booking_claim('hotel', 'chat', 'chat-4', 'room',
                     '[2030-05-06 10:30+02, 2030-05-06 11:30+02)');"
	await_blocked chat
	tell "
    ... the chat agent's call waits: nobody can know yet whether the room is taken."
	run phone "COMMIT;"
	tell "Now it is known, and the waiting call answers:"
	judge chat "resource_conflict|conflict|occupied|2030-05-06T09:00:00+00:00"
	tell "One of them has the room. The other one has a clear answer and not an error, and
knows until when the room is taken."
}

chapter_redial()
{
	chapter "The line drops, and the agent dials again"
	tell "The phone agent never heard the answer. It repeats the call with the same
identity, 'call-17', and gets the booking it already has: same receipt, marked as
history. There is no second booking."

	ask phone "SELECT disposition, state, receipt, replayed
  FROM booking_claim('hotel', 'phone', 'call-17', 'room',
                     '[2030-05-06 10:00+02, 2030-05-06 11:00+02)');" \
		"historical_retry|committed|receipt 0|t"
	ask owner "SELECT (SELECT count(*) FROM booking.intent WHERE intent = 'call-17') AS intents,
       (SELECT count(*) FROM booking.reservation) AS reservations;" "1|1"
}

chapter_changed_payload()
{
	chapter "The same identity with other values"
	tell "Suppose the agent's second try names another hour. An identity is bound to its
exact values, so this is refused, and the booking stays as it is."

	ask phone "SELECT disposition, state, detail
  FROM booking_claim('hotel', 'phone', 'call-17', 'room',
                     '[2030-05-06 15:00+02, 2030-05-06 16:00+02)');" \
		'intent_conflict|committed|{"fields": ["during"]}'
}

chapter_cancel()
{
	chapter "The caller cancels"
	ask phone "SELECT disposition, state, receipt
  FROM booking_cancel('hotel', 'phone', 'call-17');" "canceled|canceled|receipt 0"
	ask owner "SELECT * FROM booking_free('hotel', 'phone', ARRAY['room'],
           '[2030-05-06 09:00+02, 2030-05-06 12:00+02)', '1 hour');" \
		'["2030-05-06 09:00:00+02","2030-05-06 12:00:00+02")'
	tell "The room is free again, the whole morning."
}

chapter_late_retry()
{
	chapter "A late retry arrives after the cancel"
	tell "Somewhere a queue still holds the first request and delivers it now. A canceled
intent stays canceled: nothing is booked behind the caller's back."

	ask phone "SELECT disposition, state, receipt, replayed
  FROM booking_claim('hotel', 'phone', 'call-17', 'room',
                     '[2030-05-06 10:00+02, 2030-05-06 11:00+02)');" \
		"canceled|canceled|receipt 0|t"
	tell "The chat agent's refusal is on record in the same way: its retry gets the same
answer although the room is free by now. A new wish is a new identity."
	ask chat "SELECT disposition, replayed
  FROM booking_claim('hotel', 'chat', 'chat-4', 'room',
                     '[2030-05-06 10:30+02, 2030-05-06 11:30+02)');" \
		"resource_conflict|t"
	ask chat "SELECT disposition, replayed
  FROM booking_claim('hotel', 'chat', 'chat-5', 'room',
                     '[2030-05-06 10:30+02, 2030-05-06 11:30+02)');" \
		"committed|f"
}

chapter_class()
{
	chapter "Four people, three places"
	ask phone "SELECT n AS person, (booking_claim('hotel', 'phone', 'yoga-' || n, 'class',
                       '[2030-05-06 18:00+02, 2030-05-06 19:30+02)')).disposition
  FROM generate_series(1, 4) n;" \
		"1|committed" "2|committed" "3|committed" "4|resource_conflict"
	ask phone "SELECT disposition
  FROM booking_claim('hotel', 'phone', 'yoga-late', 'class',
                     '[2030-05-06 19:30+02, 2030-05-06 20:30+02)', units => 3);" \
		"committed"
	tell "Three places are taken until 19:30, and all three are free from then on."
}

chapter_move()
{
	chapter "Another hour, without losing the first one"
	tell "The chat agent moves its booking by half an hour. Old and new change places in one
step, although they overlap; if the new hour were taken, the old one would stand."

	ask chat "SELECT disposition
  FROM booking_claim('hotel', 'chat', 'chat-6', 'room',
                     '[2030-05-06 11:00+02, 2030-05-06 12:00+02)', supersedes => 'chat-5');" \
		"committed"
	ask chat "SELECT intent, state, during
  FROM booking_list('hotel', 'chat', '[2030-05-06 00:00+02, 2030-05-07 00:00+02)');" \
		'chat-4|conflict|["2030-05-06 10:30:00+02","2030-05-06 11:30:00+02")' \
		'chat-5|canceled|["2030-05-06 10:30:00+02","2030-05-06 11:30:00+02")' \
		'chat-6|committed|["2030-05-06 11:00:00+02","2030-05-06 12:00:00+02")'
}

chapter_proposal()
{
	chapter "A person decides"
	tell "The chat agent only proposes; the hour is held for ten minutes while somebody
thinks it over. Meanwhile nobody else gets it."

	ask chat "SELECT disposition, version, state
  FROM booking_propose('hotel', 'chat', 'chat-7', 'room',
                       '[2030-05-07 10:00+02, 2030-05-07 11:00+02)', hold_for => '10 minutes');" \
		"held|1|proposed"
	ask phone "SELECT disposition
  FROM booking_claim('hotel', 'phone', 'call-18', 'room',
                     '[2030-05-07 10:00+02, 2030-05-07 11:00+02)');" \
		"resource_conflict"
	run owner "SELECT booking_permit_all('hotel', 'desk');"
	ask desk "SELECT disposition, state
  FROM booking_approve('hotel', 'desk', 'chat', 'chat-7', version => 1);" \
		"committed|committed"
}

chapter_check()
{
	chapter "Every rule still holds"
	tell "booking_check() verifies what must be true between the tables. No row is good
news."
	ask owner "SELECT * FROM booking_check();"
}
