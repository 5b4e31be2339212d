# test/demo/calendar.sh
#
# The chapters with a calendar server.  Each one begins where the one before it
# ended.  Sourced by run.sh.

chapter_account()
{
	chapter "A calendar is attached"
	tell "The hotel's salon has a calendar on a server; here Radicale, running for this story
only. Between the database and the server is a line that we shall cut later; the
curl commands ask the server directly. The password is stored encrypted."

	shell "curl -s -u hotel:secret -X MKCALENDAR http://127.0.0.1:$server_port/hotel/salon/"
	ask owner "SELECT booking_resource_put('hotel', 'salon', time_zone => 'Europe/Berlin') AS salon;" "1"
	run owner "SELECT booking_account_put('hotel', 'dav', 'caldav', 'http://127.0.0.1:$line_port/');"
	run owner "SELECT booking_credential_put('hotel', 'dav',
         '{\"type\": \"basic\", \"username\": \"hotel\", \"password\": \"secret\"}');"
	run owner "SELECT booking_calendar_put('hotel', 'salon calendar', 'dav', '/hotel/salon/', 'salon');"
	collection
}

chapter_event()
{
	chapter "A claim becomes an event"
	tell "The claim is answered at once, by the database alone: the salon is taken, and an
event is wanted. After the commit a worker inside PostgreSQL makes the event. 14:00
in Berlin is 12:00 UTC."

	ask phone "SELECT disposition, state, remote
  FROM booking_claim('hotel', 'phone', 'call-30', 'salon',
                     '[2030-05-10 14:00+02, 2030-05-10 18:00+02)',
                     terms => '{\"event\": {\"summary\": \"Wedding\"}}');" \
		"committed|approved|not_attempted"
	settle call-30 created
	ask phone "SELECT state, remote, event FROM booking_status('hotel', 'phone', 'call-30');" \
		"created|confirmed|present"
	collection "DTSTART:20300510T120000Z SEQUENCE:0 SUMMARY:Wedding UID:event 0"
}

chapter_event_redial()
{
	chapter "The agent dials again, and the server hears nothing of it"
	ask phone "SELECT disposition, state, replayed
  FROM booking_claim('hotel', 'phone', 'call-30', 'salon',
                     '[2030-05-10 14:00+02, 2030-05-10 18:00+02)',
                     terms => '{\"event\": {\"summary\": \"Wedding\"}}');" \
		"historical_retry|created|t"
	ask owner "SELECT kind, state, epoch AS sends FROM booking.operation;" "create|confirmed|1"
}

chapter_lost_answer()
{
	chapter "The answer is lost after the server has stored the event"
	tell "The line goes dead at the worst moment: the next event reaches the server, its
answer does not come back, and from then on nothing gets through."

	touch "$server_dir/dead"
	ask phone "SELECT disposition, state
  FROM booking_claim('hotel', 'phone', 'call-31', 'salon',
                     '[2030-05-11 14:00+02, 2030-05-11 18:00+02)',
                     terms => '{\"event\": {\"summary\": \"Silver wedding\"}}');" \
		"committed|approved"
	settle call-31 unknown
	ask phone "SELECT state, remote, event FROM booking_status('hotel', 'phone', 'call-31');" \
		"unknown|pending_reconciliation|unknown"
	tell "The database does not know, and says so. The hours stay taken, and nothing is sent
again on a guess. We can look, the database cannot yet:"
	collection "DTSTART:20300510T120000Z SEQUENCE:0 SUMMARY:Wedding UID:event 0" \
		"DTSTART:20300511T120000Z SEQUENCE:0 SUMMARY:Silver wedding UID:event 1"
}

chapter_reconcile()
{
	chapter "The line is back: look first, then decide"
	rm "$server_dir/dead"
	tell "The worker looks the event up by the id it gave it before the first byte was sent,
finds what it wanted, and confirms. One send, one event."
	settle call-31 created
	ask phone "SELECT state, remote, event FROM booking_status('hotel', 'phone', 'call-31');" \
		"created|confirmed|present"
	ask owner "SELECT phase, mark
  FROM booking.attempt
  JOIN booking.operation USING (operation_id)
  JOIN booking.intent USING (intent_id)
 WHERE intent = 'call-31' AND (phase = 'send' OR mark = 'equal')
 ORDER BY attempt_id;" "send|begun" "send|unknown" "lookup|equal"
	collection "DTSTART:20300510T120000Z SEQUENCE:0 SUMMARY:Wedding UID:event 0" \
		"DTSTART:20300511T120000Z SEQUENCE:0 SUMMARY:Silver wedding UID:event 1"
}

chapter_move_event()
{
	chapter "Another day: the same event moves"
	ask phone "SELECT disposition, state
  FROM booking_claim('hotel', 'phone', 'call-32', 'salon',
                     '[2030-05-12 15:00+02, 2030-05-12 19:00+02)',
                     terms => '{\"event\": {\"summary\": \"Silver wedding\"}}',
                     supersedes => 'call-31');" \
		"committed|approved"
	settle call-32 created
	ask phone "SELECT intent, state FROM booking_list('hotel', 'phone', after => 'call-30', max => 2);" \
		"call-31|canceled" "call-32|created"
	tell "The event keeps its id and gets a higher sequence number, which is how calendars
tell a change from a second event."
	collection "DTSTART:20300510T120000Z SEQUENCE:0 SUMMARY:Wedding UID:event 0" \
		"DTSTART:20300512T130000Z SEQUENCE:1 SUMMARY:Silver wedding UID:event 1"
}

chapter_cancel_event()
{
	chapter "The caller cancels, and the event goes"
	ask phone "SELECT disposition, state FROM booking_cancel('hotel', 'phone', 'call-32');" \
		"canceled|canceling"
	settle call-32 canceled
	ask phone "SELECT state, event FROM booking_status('hotel', 'phone', 'call-32');" \
		"canceled|absent"
	collection "DTSTART:20300510T120000Z SEQUENCE:0 SUMMARY:Wedding UID:event 0"
	tell "Nothing is left over for a person to settle:"
	ask owner "SELECT intent, problem, verdicts FROM booking.recovery;"
}
