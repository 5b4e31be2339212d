# test/t/142_effects.pl
#
# What people do to our events in a calendar becomes of the bookings what it
# should: an edit is a fact, a move is followed if the time is free and disputed
# if not, a deletion cancels, and an answer of an attendee is no change.  Only
# what is proven counts: not an answer that was cut, not a listing that is older
# than the event, and not a calendar that was pointed elsewhere.
#
# Proves R34, R36, R41 (intents survive what is forgotten of calendars, and
# reconnect), R51 for our own events, and of the seven boundaries the edited
# event, the deleted event and the expired cursor.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::FaultProxy;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# the day of the test lies in the window
my ($node, $session) =
  provider_node('main', conf => "booking.sync_future = '3650d'\n");
my ($server, $proxy, $kind, $cal);

# Have a calendar read; the problem of the round, if there was one.
sub sync
{
	my $result = decode_json(
		$session->query("CALL booking_sync_wait('t', '${\($_[0] // $cal)}')"));
	return $result->{problem};
}

# An hour of the day of the test.
sub during
{
	my ($hour) = @_;
	return sprintf("'[2030-05-01 %02d:00+00, 2030-05-01 %02d:00+00)'", $hour, $hour + 1);
}

# Book an hour, and return where its event is.
sub book
{
	my ($intent, $hour, $more) = @_;

	is( $session->query(
			"SELECT disposition FROM booking_claim('t', 'p', '$intent', '$cal', ${\during($hour)}, terms =>"
			  . " '{\"event\": {\"summary\": \"before\"${\($more // '')}}}')"),
		'committed',
		"$kind: $intent is booked");
	is( wait_state($session, $intent, 'created confirmed create confirmed'),
		'created confirmed create confirmed',
		"$kind: $intent is written");
	return href($intent);
}

sub href
{
	my ($intent) = @_;
	return $session->query(
		"SELECT href FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = '$intent' ORDER BY operation_id DESC LIMIT 1"
	);
}

# State, what is known of the event, hours that are held, and why it ended.
sub booking
{
	my ($intent) = @_;
	return $session->query(<<"EOQ");
SELECT concat_ws(' ', i.state, i.event,
	(SELECT string_agg(to_char(lower(v.occupied) AT TIME ZONE 'UTC', 'HH24'), ',' ORDER BY v.occupied)
	   FROM booking.reservation v WHERE v.intent_id = i.intent_id),
	i.detail ->> 'reason')
  FROM booking.intent i WHERE i.intent = '$intent'
EOQ
}

# Conflicts of an intent: kind, hour that the calendar says, reason, and whether
# it is open.
sub conflicts
{
	my ($intent) = @_;
	return $session->query(<<"EOQ");
SELECT coalesce(string_agg(concat_ws(' ', k.kind, to_char(lower(k.during) AT TIME ZONE 'UTC', 'HH24'),
	k.detail ->> 'reason', CASE WHEN k.resolved_at IS NULL THEN 'open' ELSE 'over' END), '; '
	ORDER BY k.conflict_id), '')
  FROM booking.conflict k JOIN booking.intent i USING (intent_id) WHERE i.intent = '$intent'
EOQ
}

# Reminders of an intent: name, state and the hour at which they are due.
sub reminders
{
	my ($intent) = @_;
	return $session->query(<<"EOQ");
SELECT string_agg(concat_ws(' ', t.task, t.state, to_char(t.due_at AT TIME ZONE 'UTC', 'HH24')), ', ' ORDER BY t.task_id)
  FROM booking.task t JOIN booking.intent i USING (intent_id) WHERE i.intent = '$intent'
EOQ
}

# Open orphans of the calendar.
sub orphans
{
	return $session->query(<<"EOQ");
SELECT coalesce(string_agg(regexp_replace(k.object, '.*/', ''), ' ' ORDER BY k.object), '')
  FROM booking.conflict k JOIN booking.calendar c USING (calendar_id)
 WHERE c.calendar = '$cal' AND k.kind = 'orphan' AND k.resolved_at IS NULL
EOQ
}

# Move an event in the calendar to another hour of its day.
sub move_event
{
	my ($href, $hour) = @_;

	return $server->edit(
		$href,
		sub {
			s/^(DTSTART[^:]*:\d+T)\d\d/sprintf("$1%02d", $hour)/me;
			s/^(DTEND[^:]*:\d+T)\d\d/sprintf("$1%02d", $hour + 1)/me;
		});
}

# End the worker; the next one goes on.
sub restart_worker
{
	$session->query(
		"SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE backend_type = 'booking worker'"
	);
	return;
}

# Make the next round list everything.
sub full_pass
{
	$session->query(
		"UPDATE booking.cursor SET full_at = full_at - interval '25 hours'"
		  . " WHERE calendar_id = (SELECT calendar_id FROM booking.calendar WHERE calendar = '$cal')"
	);
	sync();
	is( $session->query(
			"SELECT full_reason FROM booking.cursor JOIN booking.calendar USING (calendar_id) WHERE calendar = '$cal'"
		),
		'periodic',
		"$kind: everything was listed");
	return;
}

# Which events of the account's calendars count; of "none" the worker does not
# look before it writes.
sub look_before
{
	my ($which) = @_;
	$session->query(
		"SELECT booking_account_put('t', '$kind', 'caldav', settings => '{\"busy_blocks\": \"$which\"}')");
	return;
}

sub put
{
	my ($href, $body) = @_;
	return $server->demand('PUT', $href, body => $body,
		headers => { 'Content-Type' => 'text/calendar; charset=utf-8' });
}

foreach my $server_kind (qw(radicale xandikos))
{
	$kind = $server_kind;
	$cal = "$kind-room";
	$server = Booking::Caldav->new($kind);
	$proxy = Booking::FaultProxy->new($server);
	attach($session, $server, $proxy->url, $kind, $cal, "$kind-other");
	$session->query("SELECT booking_resource_put('t', '$cal', 1)");
	sync();

	#
	# Edited: facts, and nothing is overwritten
	#
	my $href = book("$kind-edit", 8, ', "attendees": [{"email": "ann@example.org"}]');
	sync();
	$server->edit($href, sub { s/SUMMARY:before/SUMMARY:by hand/ });
	restart_worker();
	sync();
	is(booking("$kind-edit"), 'created present 08', "$kind: an edited text changes nothing");
	is(conflicts("$kind-edit"), '', "$kind: and is no conflict");

	$server->edit($href, sub { s/(ATTENDEE[^:]*?)(;PARTSTAT=[A-Z-]+)?:/$1;PARTSTAT=ACCEPTED:/i });
	my $revision = $session->query("SELECT revision FROM booking.intent WHERE intent = '$kind-edit'");
	sync();
	is_row(
		$session,
		"SELECT e.attendees -> 0 ->> 'status', i.revision, i.state FROM booking.event e JOIN booking.intent i USING (intent_id) WHERE intent = '$kind-edit'",
		[ 'accepted', $revision, 'created' ],
		"$kind: an answer is known, and changes no state");

	# another name
	my $body = $server->demand('GET', $href)->{content};
	$server->demand('DELETE', $href);
	put("/user/$cal/renamed.ics", $body);
	sync();
	is(booking("$kind-edit"), 'created present 08', "$kind: renamed is not deleted");
	is(href("$kind-edit"), "/user/$cal/renamed.ics", "$kind: and where it is now is known");

	# the marker was lost on the way, and the object cannot be read for a while
	$server->edit("/user/$cal/renamed.ics", sub { s/^X-BOOKING[^\r\n]*\r?\n(?:[ \t][^\r\n]*\r?\n)*//mi });
	sync();
	is_row(
		$session,
		"SELECT e.marker, i.intent FROM booking.event e JOIN booking.intent i USING (intent_id) WHERE object = '/user/$cal/renamed.ics'",
		[ undef, "$kind-edit" ],
		"$kind: without its marker it is known by its UID");
	is(booking("$kind-edit"), 'created present 08', "$kind: and stands");
	put("/user/$cal/renamed.ics", $body);
	sync();

	#
	# Moved
	#
	$href = book("$kind-move", 10);
	sync();
	$session->query("SELECT booking_consumer_put('t', 'c')");
	$session->query("SELECT count(*) FROM booking_changes('t', 'c')");
	$session->query("SELECT booking_task_put('t', 'p', '$kind-move', 'remind', '1 hour')");
	move_event($href, 12);
	restart_worker();
	sync();
	is(booking("$kind-move"), 'created present 12', "$kind: what is held follows a move");
	is( $session->query(
			"SELECT disposition FROM booking_claim('t', 'p', '$kind-free', '$cal', ${\during(10)})"
		),
		'committed',
		"$kind: and the old time is free");
	is(conflicts("$kind-move"), '', "$kind: that is no conflict");
	is_row(
		$session,
		"SELECT kind, state, to_char(lower(during) AT TIME ZONE 'UTC', 'HH24') FROM booking_changes('t', 'c', 1000) WHERE intent = '$kind-move' ORDER BY revision DESC LIMIT 1",
		[ 'moved', 'created', '12' ],
		"$kind: the feed tells the time");
	$session->query("SELECT booking_task_put('t', 'p', '$kind-move', 'later', '2 hours')");
	is(reminders("$kind-move"), 'remind waiting 11, later waiting 10', "$kind: reminders follow it");
	wait_state($session, "$kind-free", 'created confirmed create confirmed');

	# onto another booking, and away again
	move_event($href, 10);
	sync();
	is(booking("$kind-move"), 'created present 12', "$kind: onto another booking it is not followed");
	is(conflicts("$kind-move"), 'moved 10 occupied open', "$kind: but disputed")
	  or diag($session->query("SELECT detail FROM booking.conflict WHERE kind = 'moved'"));
	restart_worker();
	sync();
	is(conflicts("$kind-move"), 'moved 10 occupied open', "$kind: once");
	$session->query("SELECT booking_cancel('t', 'p', '$kind-free')");
	wait_state($session, "$kind-free", 'canceled confirmed cancel confirmed');
	sync();
	is(booking("$kind-move"), 'created present 10', "$kind: when the time is free it follows");
	is(conflicts("$kind-move"), 'moved 10 occupied over', "$kind: and the conflict is over");
	move_event($href, 8);
	sync();
	move_event($href, 10);
	sync();
	is(booking("$kind-move"), 'created present 10', "$kind: away and back");
	is(conflicts("$kind-move") =~ s/.*; //r, 'moved 08 occupied over',
		"$kind: equal again, the conflict is over");

	# the whole day is not followed
	$server->edit(
		$href,
		sub {
			s/^DTSTART[^:]*:.*$/DTSTART;VALUE=DATE:20300501/m;
			s/^DTEND[^:]*:.*$/DTEND;VALUE=DATE:20300502/m;
		});
	sync();
	is(booking("$kind-move"), 'created present 10', "$kind: a whole day is not followed");
	is(conflicts("$kind-move") =~ s/.*; //r, 'moved 00 all_day open', "$kind: but disputed");
	$server->edit(
		$href,
		sub {
			s/^DTSTART[^:]*:.*$/DTSTART:20300501T140000Z/m;
			s/^DTEND[^:]*:.*$/DTEND:20300501T150000Z/m;
		});
	sync();
	is(booking("$kind-move"), 'created present 14', "$kind: moved once more");

	# A move that was followed is what the event is now: the booking may be
	# moved and canceled as any other.
	$session->query(
		"SELECT booking_claim('t', 'p', '$kind-moved', '$cal', ${\during(16)}, supersedes => '$kind-move')"
	);
	is( wait_state($session, "$kind-moved", 'created confirmed update confirmed'),
		'created confirmed update confirmed',
		"$kind: a booking that was moved in the calendar can be moved");
	is(booking("$kind-move"), 'canceled present superseded', "$kind: the old one is over");
	sync();
	is(booking("$kind-moved"), 'created present 16', "$kind: it is where it was wanted");
	move_event($href, 18);
	sync();
	is(booking("$kind-moved"), 'created present 18', "$kind: moved in the calendar again");
	$session->query("SELECT booking_cancel('t', 'p', '$kind-moved')");
	is( wait_state($session, "$kind-moved", 'canceled confirmed cancel confirmed'),
		'canceled confirmed cancel confirmed',
		"$kind: and can be canceled");
	ok(!grep({ $_->{href} eq $href } values %{ $server->list("/user/$cal/") }),
		"$kind: its event is gone");

	#
	# Deleted
	#
	$href = book("$kind-gone", 10);
	sync();
	$session->query("SELECT booking_task_put('t', 'p', '$kind-gone', 'remind', '1 hour')");
	$server->demand('DELETE', $href);

	# a page that says nothing of it proves nothing
	$proxy->break('REPORT,PROPFIND', "/user/$cal", 'unavailable');
	isnt(sync(), undef, "$kind: a round that fails");
	is(booking("$kind-gone"), 'created present 10', "$kind: proves nothing");
	settle($node, $session);
	restart_worker();
	sync();
	is(booking("$kind-gone"), 'canceled absent deleted_at_provider',
		"$kind: deleted by others, canceled with the reason");
	is(reminders("$kind-gone"), 'remind dropped 09', "$kind: and its reminder is void");
	is( $session->query(
			"SELECT disposition FROM booking_claim('t', 'p', '$kind-gone', '$cal', ${\during(10)}, terms => '{\"event\": {\"summary\": \"before\"}}')"
		),
		'canceled',
		"$kind: and stays so");

	# between two rounds, of which none has ever seen it, nor needs to tell of it
	$href = book("$kind-brief", 10);
	$server->demand('DELETE', $href);
	sync();
	sync();
	is(booking("$kind-brief"), 'canceled absent deleted_at_provider',
		"$kind: deleted before any round saw it: the second one asks");
	$href = book("$kind-brief2", 10);
	$server->demand('DELETE', $href);
	full_pass();
	is(booking("$kind-brief2"), 'canceled absent deleted_at_provider',
		"$kind: deleted before any round saw it: everything shows it");

	# seen in one round, confirmed and then deleted by others while the next one is
	# in progress, which is told of the deletion
	look_before('none');
	$proxy->break('create', "/user/$cal", 'reset_after');
	$proxy->break('GET', "/user/$cal", 'unavailable', 1000);
	$session->query("SELECT booking_claim('t', 'p', '$kind-during', '$cal', ${\during(10)})");
	wait_until('its answer is lost',
		sub { Booking::Caldav::state($session, "$kind-during") =~ /^unknown/ });
	sync();
	$proxy->break('REPORT,PROPFIND', "/user/$cal", 'hold');
	$session->query("SELECT booking_sync('t', '$cal')");
	wait_until('a listing is held',
		sub { $proxy->log(sub { ($_[0]{fault} // '') eq 'hold' && !$_[0]{status} }) });
	$proxy->forget;
	wait_until(
		'it is found',
		sub {
			my $state = Booking::Caldav::state($session, "$kind-during");

			Booking::Caldav::later($node, $session) if $state =~ /^unknown/;
			return $state eq 'created confirmed create confirmed';
		});
	($href) = map { $_->{href} } grep { $_->{start} eq '20300501T100000Z' } values %{ $server->list("/user/$cal/") };
	$server->demand('DELETE', $href);
	$proxy->clear;
	wait_until('the round is over', sub { $session->query('SELECT count(*) FROM booking.sync_request') == 0 });
	is(booking("$kind-during"), 'created present 10', "$kind: what a round was told meanwhile may be older");
	sync();
	is(booking("$kind-during"), 'canceled absent deleted_at_provider', "$kind: the next one asks");
	look_before('all');

	# put back by whoever deleted it: the booking is over, the event is listed
	$href = book("$kind-back", 10);
	sync();
	my $copy = $server->demand('GET', $href)->{content};
	$server->demand('DELETE', $href);
	sync();
	put($href, $copy);
	sync();
	is(booking("$kind-back"), 'canceled absent deleted_at_provider', "$kind: canceled is the end");
	is(orphans(), $href =~ s{.*/}{}r, "$kind: the event that was put back is an orphan");
	$server->demand('DELETE', $href);
	sync();
	is(orphans(), '', "$kind: until it is gone");

	# while a person decides what became of a cancel, the event goes
	$href = book("$kind-parked", 10);
	sync();
	move_event($href, 11);
	$session->query("SELECT booking_cancel('t', 'p', '$kind-parked')");
	is( wait_state($session, "$kind-parked", 'canceling needs_operator cancel parked event_moved'),
		'canceling needs_operator cancel parked event_moved',
		"$kind: a cancel that waits for a person");
	sync();
	is(booking("$kind-parked"), 'canceling present 10 event_moved', "$kind: waits for as long as the event is there");
	$server->demand('DELETE', $href);
	sync();
	is(booking("$kind-parked"), 'canceled absent event_moved',
		"$kind: the event is deleted: that is all that was wanted");
	is( Booking::Caldav::state($session, "$kind-parked"),
		'canceled confirmed cancel confirmed',
		"$kind: and nobody has to decide");

	# a person lets the event be: it is in the calendar still, and known to be
	$href = book("$kind-let", 10);
	sync();
	move_event($href, 11);
	$session->query("SELECT booking_cancel('t', 'p', '$kind-let')");
	wait_state($session, "$kind-let", 'canceling needs_operator cancel parked event_moved');
	sync();
	$session->query("SELECT booking_resolve('t', 'p', '$kind-let', 'absent', '{\"seen\": 1}')");
	wait_state($session, "$kind-let", 'canceled confirmed cancel confirmed');
	is($session->query("SELECT count(*) FROM booking.event WHERE object = '$href'"),
		'1', "$kind: what a person lets be is not forgotten");
	full_pass();
	is(orphans(), $href =~ s{.*/}{}r, "$kind: an event that was let be is an orphan");
	$server->demand('DELETE', $href);
	sync();

	#
	# Called off, and made to repeat
	#
	$href = book("$kind-off", 10);
	sync();
	$server->edit($href, sub { s/STATUS:CONFIRMED\r?\n//; s/(SUMMARY)/STATUS:CANCELLED\r\n$1/ });
	sync();
	is(booking("$kind-off"), 'canceled absent canceled_at_provider', "$kind: called off in the calendar");
	is(orphans(), '', "$kind: what is called off is no orphan");

	$href = book("$kind-series", 10);
	sync();
	$server->edit($href, sub { s/(DTSTART)/RRULE:FREQ=DAILY;COUNT=3\r\n$1/ });
	sync();
	is(booking("$kind-series"), 'created present 10', "$kind: made to repeat: our occurrence stands");
	is(conflicts("$kind-series"), '', "$kind: in peace");
	$server->edit($href, sub { s/(DTSTART)/EXDATE:20300501T100000Z\r\n$1/ });
	sync();
	is(booking("$kind-series"), 'created present 10', "$kind: without ours: nothing is freed");
	is(conflicts("$kind-series"), 'moved 10 no_such_occurrence open', "$kind: and people are asked");
	$server->edit($href, sub { s/COUNT=3/COUNT=1/ });
	sync();
	is(booking("$kind-series"), 'canceled absent canceled_at_provider',
		"$kind: without any occurrence it is called off");
	is(conflicts("$kind-series"), 'moved 10 no_such_occurrence over', "$kind: and the conflict over");

	#
	# What is older than the event says nothing about it.  Without a look at the
	# calendar before it is written, which would wait for the round in progress.
	#
	look_before('none');
	$session->query("UPDATE booking.cursor SET full_at = full_at - interval '25 hours'");
	$proxy->break('REPORT,PROPFIND', "/user/$cal", 'hold_after');
	$session->query("SELECT booking_sync('t', '$cal')");
	wait_until('the listing is held',
		sub { grep { ($_->{fault} // '') eq 'hold_after' && $_->{status} } $proxy->log });
	$href = book("$kind-late", 20);
	$proxy->clear;
	sync();
	is( $session->query(
			"SELECT o.round > 0 FROM booking.operation o JOIN booking.intent i USING (intent_id) WHERE i.intent = '$kind-late'"
		),
		't',
		"$kind: the round in progress is kept with the operation");
	is(booking("$kind-late"), 'created present 20',
		"$kind: a listing that is older than the event does not make it deleted");
	is( $session->query("SELECT count(*) FROM booking.event WHERE object = '$href' AND etag IS NOT NULL"),
		'1', "$kind: and the next round has it");

	# an event that is fetched, moved by us, and only then stored as it was
	$href = book("$kind-old", 4);
	sync();
	$server->edit($href, sub { s/SUMMARY:before/SUMMARY:by hand/ });
	$proxy->break('REPORT', "/user/$cal", 'interim');
	$proxy->break('REPORT', "/user/$cal", 'hold_after');
	my $held = scalar $proxy->log(sub { ($_[0]{fault} // '') eq 'hold_after' });
	$session->query("SELECT booking_sync('t', '$cal')");
	wait_until('its content is held',
		sub { $proxy->log(sub { ($_[0]{fault} // '') eq 'hold_after' && $_[0]{status} }) > $held });
	$session->query(
		"SELECT booking_claim('t', 'p', '$kind-new', '$cal', ${\during(5)}, supersedes => '$kind-old')"
	);
	is( wait_state($session, "$kind-new", 'created confirmed update confirmed'),
		'created confirmed update confirmed',
		"$kind: moved while the old content is on its way");
	$proxy->clear;
	wait_until(
		'the round is over',
		sub {
			$session->query('SELECT count(*) FROM booking.sync_request') == 0;
		});
	is(booking("$kind-new"), 'created present 05', "$kind: content that is older is no move");
	sync();
	is(booking("$kind-new"), 'created present 05', "$kind: nor is the new one");
	is($session->query("SELECT count(*) FROM booking.change WHERE kind = 'moved' AND intent = '$kind-new'"),
		'0', "$kind: nothing was followed in between");

	look_before('all');

	# unknown: reconcile first
	$proxy->break('create', "/user/$cal", 'reset_after');
	$proxy->break('GET', "/user/$cal", 'hold');
	$session->query("SELECT booking_claim('t', 'p', '$kind-unknown', '$cal', ${\during(22)})");
	wait_until('the answer is lost',
		sub { Booking::Caldav::state($session, "$kind-unknown") =~ /^unknown/ });
	sync();
	is(booking("$kind-unknown"), 'unknown unknown 22', "$kind: unknown stays, though a round saw the event");
	my ($event) = grep { $_->{start} eq '20300501T220000Z' } values %{ $server->list("/user/$cal/") };
	$server->demand('DELETE', $event->{href});
	sync();
	is(booking("$kind-unknown"), 'unknown unknown 22', "$kind: and though a round saw it go");
	$proxy->clear;
	settle($node, $session);
	is( wait_state($session, "$kind-unknown", 'created confirmed create confirmed'),
		'created confirmed create confirmed',
		"$kind: the lookup decides");
	sync();
	is(booking("$kind-unknown"), 'created present 22', "$kind: and the round agrees");

	#
	# Forgotten: the projection, the token, both
	#
	my $before = $session->query(
		"SELECT array_agg((intent_id, state, revision)::text ORDER BY intent_id) FROM booking.intent");
	my $here = "WHERE calendar_id = (SELECT calendar_id FROM booking.calendar WHERE calendar = '$cal')";
	my $mapped = "SELECT count(*) FROM booking.event e JOIN booking.intent i USING (intent_id)"
	  . " JOIN booking.operation o ON o.event_id = e.uid WHERE i.state = 'created' AND o.intent_id = i.intent_id AND e.object = o.href";
	my $count = $session->query($mapped);
	cmp_ok($count, '>', 2, "$kind: some events are ours");
	$session->query("DELETE FROM booking.event $here");
	$session->query(
		"UPDATE booking.cursor SET token = NULL, full_pass = true, full_reason = 'token_expired' $here");
	restart_worker();
	sync();
	is($session->query($mapped), $count, "$kind: all are found again");
	is( $session->query("SELECT array_agg((intent_id, state, revision)::text ORDER BY intent_id) FROM booking.intent"),
		$before, "$kind: and no intent has changed");

	#
	# Elsewhere
	#
	$session->query("SELECT booking_calendar_put('t', '$cal', '$kind', '/user/$kind-other/', '$cal')");
	sync();
	is(booking("$kind-late"), 'created present 20', "$kind: a calendar that is pointed elsewhere cancels nothing");
	is(conflicts("$kind-late"), 'missing 20 calendar_put open', "$kind: but the event is missing");
	$session->query("SELECT booking_calendar_put('t', '$cal', '$kind', '/user/$cal/', '$cal')");
	sync();
	is(conflicts("$kind-late"), 'missing 20 calendar_put over', "$kind: and found again");
	is(booking("$kind-late"), 'created present 20', "$kind: the booking has not changed");
	$session->query("SELECT booking_calendar_remove('t', '$cal')");
	is(conflicts("$kind-late") =~ s/.*; //r, 'missing 20 calendar_removed open', "$kind: removed");
	$session->query("SELECT booking_calendar_put('t', '$cal', '$kind', '/user/$cal/', '$cal')");
	sync();
	is(conflicts("$kind-late") =~ s/.*; //r, 'missing 20 calendar_removed over', "$kind: and put again");
	$server->demand('DELETE', href("$kind-late"));
	sync();
	is(booking("$kind-late"), 'canceled absent deleted_at_provider', "$kind: there it can be deleted");

	#
	# Orphans
	#
	my $terms = "terms => '{\"event\": {\"summary\": \"orphan\"}}'";
	$href = book("$kind-orphan", 6);
	$body = $server->demand('GET', $href)->{content};
	$session->query("SELECT booking_cancel('t', 'p', '$kind-orphan')");
	wait_state($session, "$kind-orphan", 'canceled confirmed cancel confirmed');
	put("/user/$cal/orphan.ics", $body =~ s/\b[0-9a-v]{52}\b/'0' x 52/ger);
	sync();
	is(orphans(), 'orphan.ics', "$kind: an event with an id of ours that no booking has is an orphan");
	ok(grep({ $_->{href} eq "/user/$cal/orphan.ics" } values %{ $server->list("/user/$cal/") }),
		"$kind: and is left alone");
	$server->demand('DELETE', "/user/$cal/orphan.ics");
	sync();
	is(orphans(), '', "$kind: until it is gone");
	is_clean($session, $kind);
	$_->stop foreach $proxy, $server;
}

#
# A database that lost its last bookings, because it was restored: the events
# are orphans, and claiming the same again adopts them.
#
$kind = 'radicale';
$server = Booking::Caldav->new($kind);
$proxy = Booking::FaultProxy->new($server);
$cal = 'lost';
attach($session, $server, $proxy->url, $cal, $cal);
my $href = book('lost-1', 9);
$session->query("ALTER TABLE booking.$_ DISABLE TRIGGER ALL") foreach qw(intent attempt);
$session->query(<<'EOQ');
DO $$
DECLARE id bigint := (SELECT intent_id FROM booking.intent WHERE intent = 'lost-1');
BEGIN
	DELETE FROM booking.attempt a USING booking.operation o
	 WHERE o.operation_id = a.operation_id AND o.intent_id = id;
	DELETE FROM booking.operation WHERE intent_id = id;
	DELETE FROM booking.reservation WHERE intent_id = id;
	DELETE FROM booking.change WHERE intent_id = id;
	DELETE FROM booking.event WHERE intent_id = id;
	DELETE FROM booking.intent WHERE intent_id = id;
END
$$
EOQ
$session->query("ALTER TABLE booking.$_ ENABLE ALWAYS TRIGGER guard") foreach qw(intent attempt);
$session->query("ALTER TABLE booking.$_ ENABLE ALWAYS TRIGGER guard_truncate") foreach qw(intent attempt);
sync();
is(orphans(), $href =~ s{.*/}{}r, 'an event whose booking was lost is an orphan');
is(book('lost-1', 9), $href, 'claiming the same again adopts it');
sync();
is(orphans(), '', 'so it is none any more');
is(scalar(keys %{ $server->list('/user/lost/') }), 1, 'there is one event');
sync();
is(booking('lost-1'), 'created present 09', 'and one booking');
$server->demand('DELETE', $href);
sync();
is(booking('lost-1'), 'canceled absent deleted_at_provider', 'which is connected to it');

#
# Somebody holds the lock of an intent: the round goes on, and the next one
# looks again.
#
my $other = session($node);

book('locked', 9);
$href = href('locked');
my $href2 = book('locked-2', 11);

sync();
$other->query('BEGIN');
$other->query("SELECT booking_cancel('t', 'p', 'locked')");
move_event($href, 13);
$server->demand('DELETE', $href2);
sync();
is(booking('locked'), 'created present 09', 'a locked intent is not waited for');
is(booking('locked-2'), 'created present 11', 'nor is a resource that somebody has locked');
restart_worker();
$other->query('ROLLBACK');
sync();
is(booking('locked-2'), 'canceled absent deleted_at_provider', 'what waited is judged');
is(booking('locked'), 'created present 13', 'the next round looks again');

# Many at once: more than one transaction takes.
$session->query("SELECT booking_resource_put('t', 'lost', 1000)");
$session->query(
	"SELECT booking_claim('t', 'p', 'many-' || n, 'lost', ${\during(15)}) FROM generate_series(1, 130) n");
wait_until(
	'all are created',
	sub {
		$session->query("SELECT count(*) FROM booking.intent WHERE intent LIKE 'many-%' AND state = 'created'") == 130;
	});
sync();
$server->demand('DELETE', $_->{href})
  foreach grep { $_->{start} eq '20300501T150000Z' } values %{ $server->list('/user/lost/') };
sync();
is( $session->query(
		"SELECT count(*) FROM booking.intent WHERE intent LIKE 'many-%' AND state = 'canceled' AND detail ->> 'reason' = 'deleted_at_provider'"
	),
	'130',
	'many at once are all canceled');
is($session->query("SELECT count(*) FROM booking.event WHERE seen_round < 0"), '0', 'nothing waits');
is_clean($session, 'at the end');

done_testing();
