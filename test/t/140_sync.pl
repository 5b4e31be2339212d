# test/t/140_sync.pl
#
# Calendars of real servers as rows of booking.event.  Whatever the worker knows
# of a calendar is compared with what an independent client finds in it, and the
# requests that it made with what they should have been.
#
# Proves R41 and R42 (a token that expired leads to a full pass, with the reason,
# and everything that is ours is kept), R43 (a second refusal parks), R46 and R47
# (parts applied again do no harm, and a cut round goes on), R48 (a change during
# a round is not lost, and a thousand notices cause two rounds at most) and R50
# (one odd event stops no other).

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

my ($node, $session) =
  provider_node('main', conf => "restart_after_crash = on\n");

# An iCalendar object with one event.
sub event
{
	my ($uid, $start, $end, $more) = @_;
	my $text = join("\n",
		'BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//EN', 'BEGIN:VEVENT',
		"UID:$uid", 'DTSTAMP:20300101T000000Z', "DTSTART$start", "DTEND$end",
		$more // (), 'END:VEVENT', 'END:VCALENDAR', '');

	$text =~ s/\n/\r\n/g;
	return $text;
}

# An hour of a day of May 2030, as an object.
sub hour_event
{
	my ($uid, $day, $hour) = @_;

	return event($uid, sprintf(':203005%02dT%02d0000Z', $day, $hour),
		sprintf(':203005%02dT%02d3000Z', $day, $hour));
}

# Put an object into a calendar.
sub put
{
	my ($server, $path, $body) = @_;

	$server->demand('PUT', $path,
		headers => { 'Content-Type' => 'text/calendar; charset=utf-8' },
		body => $body);
	return;
}

# Put many events into a calendar.
sub fill
{
	my ($server, $calendar, $count) = @_;

	put($server, "/user/$calendar/e$_.ics",
		hour_event("$calendar-$_", 1 + $_ % 28, $_ % 24))
	  for 1 .. $count;
	return;
}

# Have a calendar read, and return what the wait says.
sub sync
{
	my ($calendar) = @_;
	return decode_json(
		$session->query("CALL booking_sync_wait('t', '$calendar')"));
}

# What is known of a calendar: the object's version and start.
sub known
{
	my ($calendar) = @_;
	my $result = $session->try(<<"EOQ");
SELECT e.object, e.etag, to_char(lower(e.during) AT TIME ZONE 'UTC', 'YYYYMMDD"T"HH24MISS"Z"')
  FROM booking.event e JOIN booking.calendar c USING (calendar_id)
 WHERE c.calendar = '$calendar'
EOQ
	return { map { $_->[0] => [ @$_[ 1, 2 ] ] } @{ $result->{rows} } };
}

# The same, as the server says it.
sub truth
{
	my ($server, $calendar) = @_;
	my $events = $server->list("/user/$calendar/");

	return { map { $_->{href} => [ $_->{etag}, $_->{start} ] } values %$events };
}

# Columns of a calendar's cursor.
sub cursor
{
	my ($calendar, $columns) = @_;
	return $session->query(
		"SELECT concat_ws(' ', $columns) FROM booking.cursor k"
		  . " JOIN booking.calendar c USING (calendar_id) WHERE c.calendar = '$calendar'"
	);
}

# Give the worker another end of the window: whoever starts anew has read it.
sub set_future
{
	my ($value) = @_;
	my $worker =
	  "SELECT pid FROM pg_stat_activity WHERE backend_type = 'booking worker'";
	my $pid = $session->query($worker);

	$session->query("ALTER SYSTEM SET booking.sync_future = '$value'");
	$session->query('SELECT pg_reload_conf()');
	wait_until(
		'the setting is there',
		sub {
			$session->query('SHOW booking.sync_future') eq $value;
		});
	$session->query("SELECT pg_terminate_backend($pid)");
	wait_until('there is another worker',
		sub { my $new = $session->query($worker); $new ne '' && $new ne $pid });
	return;
}

# Objects that were asked for through a proxy since the last time.
my %logged;

sub asked_for
{
	my ($proxy) = @_;
	my @log = $proxy->log;
	my @new = @log[ ($logged{$proxy} // 0) .. $#log ];
	my $count = 0;

	$logged{$proxy} = @log;
	$count += $_->{hrefs} foreach @new;
	return $count;
}

foreach my $kind (qw(radicale xandikos))
{
	my $server = Booking::Caldav->new($kind);
	my $proxy = Booking::FaultProxy->new($server);
	my $c = "$kind-a";
	my $path = "/user/$c";

	#
	# Everything, and then what changed
	#
	attach($session, $server, $proxy->url, $kind, $c, "$kind-b", "$kind-c");
	fill($server, $c, 5);
	is_deeply(sync($c), { watermark => 1, events => 5, problem => undef },
		"$kind: the first round");
	is_deeply(known($c), truth($server, $c), "$kind: it knows all events");
	is(asked_for($proxy), 5, "$kind: each was asked for");
	is(cursor($c, 'k.full_reason'), 'first', "$kind: and why is kept");

	$server->demand('DELETE', "$path/e1.ics");
	$server->edit("$path/e2.ics", sub { s/DTSTART:\d+/DTSTART:20300430/ });
	put($server, "$path/new.ics", hour_event('new', 9, 9));
	is_deeply(sync($c), { watermark => 2, events => 5, problem => undef },
		"$kind: one gone, one new, one edited");
	is_deeply(known($c), truth($server, $c), "$kind: as in the collection");
	is(asked_for($proxy), 2, "$kind: what did not change was not asked for");

	sync($c);
	is(asked_for($proxy), 0, "$kind: nothing changed, nothing is asked for");
	is(cursor($c, 'k.watermark'), 3, "$kind: but that is known now");

	#
	# What is ours
	#
	$session->query(
		"SELECT booking_claim('t', 'p', '$c-1', '$c', '[2030-06-01 10:00+00, 2030-06-01 11:00+00)')");
	wait_state($session, "$c-1", 'created confirmed create confirmed');
	sync($c);
	is_row(
		$session,
		"SELECT e.marker = o.event_id, e.etag = o.etag, e.object = o.href, e.busy"
		  . " FROM booking.event e JOIN booking.intent i USING (intent_id)"
		  . " JOIN booking.operation o USING (intent_id) WHERE i.intent = '$c-1'",
		[ ('t') x 4 ],
		"$kind: our event has its intent");
	my $own = $session->query(
		"SELECT o.href FROM booking.operation o JOIN booking.intent i USING (intent_id) WHERE i.intent = '$c-1'");
	my $copy = $server->demand('GET', $own)->{content};
	$copy =~ s/UID:\w+/UID:copy/;
	put($server, "$path/copy.ics", $copy);
	sync($c);
	is_row(
		$session,
		"SELECT marker IS NOT NULL, intent_id FROM booking.event WHERE object = '$path/copy.ics'",
		[ 't', undef ],
		"$kind: a copy of it has none");

	#
	# A token that expired
	#
	my $before = $session->query(
		"SELECT array_agg((intent_id, object)::text ORDER BY object COLLATE \"C\") FROM booking.event");

	if ($kind eq 'radicale')
	{
		PostgreSQL::Test::Utils::system_or_bail('rm', '-r',
			"$server->{folder}/data/collection-root$path/.Radicale.cache/sync-token");
	}
	else
	{
		$session->query(
			"UPDATE booking.cursor SET token = 'sync:0123456789012345678901234567890123456789'"
			  . " WHERE calendar_id = (SELECT calendar_id FROM booking.calendar WHERE calendar = '$c')"
		);

		# where it breaks down over such a token, that must be seen twice
		is(sync($c)->{problem}, 'server_error', "$kind: a breakdown") if $server->breaks_down($path);
	}
	asked_for($proxy);
	$server->demand('DELETE', "$path/e5.ics");
	my $round = cursor($c, 'k.watermark');
	my $result = sync($c);
	is_deeply(
		[ @$result{qw(watermark problem)}, cursor($c, 'k.full_reason, k.failures') ],
		[ $round + 1, undef, 'token_expired 0' ],
		"$kind: the token expired, and everything was listed");
	is_deeply(known($c), truth($server, $c), "$kind: what went meanwhile is gone");
	is(asked_for($proxy), 0, "$kind: what is known was not asked for");
	is( $session->query(
			"SELECT array_agg((intent_id, object)::text ORDER BY object COLLATE \"C\") FROM booking.event"
		),
		$before =~ s/,?"?\\?"?\(,[^)]*e5\.ics\)\\?"?"?//r,
		"$kind: all else keeps its row and intent");

	# even everything is refused
	$proxy->break('REPORT', $path, 'bad_token', 2);
	fails_with($session, "CALL booking_sync_wait('t', '$c')",
		'55000', "$kind: whoever waits for a parked calendar is told");
	is(cursor($c, 'k.parked, k.problem, k.watermark'),
		't token_expired ' . ($round + 1), "$kind: a second refusal parks");
	is_deeply(known($c), truth($server, $c), "$kind: and nothing is lost");
	$session->query("SELECT booking_calendar_put('t', '$c', '$kind', '$path/', '$c')");
	is(sync($c)->{problem}, undef, "$kind: put again, it is read again");
	is(cursor($c, 'k.parked, k.full_reason'), 'f calendar_put', "$kind: from the start");

	#
	# Deleted by others
	#
	$server->demand('DELETE', $own);
	sync($c);
	is_row(
		$session,
		"SELECT i.event, i.state, count(e.*) FROM booking.intent i LEFT JOIN booking.event e USING (intent_id)"
		  . " WHERE i.intent = '$c-1' GROUP BY 1, 2",
		[ 'absent', 'canceled', 0 ],
		"$kind: our event is gone, and so is the booking");

	#
	# What the server forgets to tell
	#
	$session->query(
		"DELETE FROM booking.event WHERE object = '$path/e3.ics'");
	$session->query(
		"INSERT INTO booking.event (calendar_id, seen_round, object, during, busy, status, transparency, etag)"
		  . " SELECT calendar_id, 1, '$path/ghost.ics', '[2030-05-01 10:00+00, 2030-05-01 11:00+00)', true,"
		  . " 'confirmed', 'opaque', 'x' FROM booking.calendar WHERE calendar = '$c'");
	sync($c);
	is(scalar(grep { /ghost|e3/ } keys %{ known($c) }),
		1, "$kind: changes alone do not show a loss");
	$session->query(
		"UPDATE booking.cursor SET full_at = full_at - interval '25 hours'");
	sync($c);
	is_deeply(known($c), truth($server, $c), "$kind: the periodic comparison does");
	is(cursor($c, 'k.full_reason'), 'periodic', "$kind: and says so");

	#
	# A server without sync-collection
	#
	my $b = "$kind-b";

	fill($server, $b, 3);
	$proxy->break('REPORT', "/user/$b", 'not_implemented');
	sync($b);
	is_deeply(known($b), truth($server, $b), "$kind: by its tag: all");
	like(cursor($b, 'k.token'), qr/^ctag:./, "$kind: by its tag: it is kept");
	asked_for($proxy);
	sync($b);
	is(asked_for($proxy), 0, "$kind: by its tag: nothing changed");
	$server->demand('DELETE', "/user/$b/e1.ics");
	put($server, "/user/$b/new.ics", hour_event('new', 9, 9));
	sync($b);
	is_deeply(known($b), truth($server, $b), "$kind: by its tag: one gone, one new");
	is(asked_for($proxy), 1, "$kind: by its tag: only that was asked for");

	#
	# Series, and what is odd
	#
	my $d = "$kind-c";

	put($server, "/user/$d/good.ics", hour_event('good', 1, 10));
	put($server, "/user/$d/weekly.ics",
		event('weekly', ':20300501T100000Z', ':20300501T110000Z', 'RRULE:FREQ=WEEKLY;COUNT=10'));
	put($server, "/user/$d/zone.ics",
		event('zone', ';TZID=Nowhere:20300501T100000', ';TZID=Nowhere:20300501T110000'));
	put($server, "/user/$d/todo.ics",
		event('todo', ':20300501T100000Z', ':20300501T110000Z') =~ s/VEVENT/VTODO/gr =~ s/DTEND/DUE/r);
	set_future('3650d');
	sync($d);
	is_row(
		$session,
		"SELECT string_agg(n, ' ') FROM (SELECT object || '=' || count(*) || count(during) || count(problem) AS n"
		  . " FROM booking.event WHERE object LIKE '/user/$d/%' GROUP BY object ORDER BY object) x",
		[ "/user/$d/good.ics=110 /user/$d/todo.ics=100 /user/$d/weekly.ics=10100 /user/$d/zone.ics=111" ],
		"$kind: a series, a task, and a zone that nobody knows");

	# the window moves: series are read anew, all else is not
	asked_for($proxy);
	set_future('400d');
	sync($d);
	is(cursor($d, 'k.full_reason'), 'first',
		"$kind: a window that is too wide stays as it is");
	set_future('3655d');
	sync($d);
	is(cursor($d, 'k.full_reason'), 'window', "$kind: the window moves");
	is(asked_for($proxy), 1, "$kind: and only the series is asked for");

	#
	# Unreachable
	#
	my $watermark = cursor($d, 'k.watermark');

	$server->stop;
	like(sync($d)->{problem}, qr/./, "$kind: nobody answers");
	is( cursor($d, "k.failures, k.watermark, k.next_at > k.failed_at + interval '3 seconds',"
			  . " k.problem IS NOT NULL"),
		"1 $watermark t t",
		"$kind: a failure is kept, and the next try waits");
	$server->start;
	is(sync($d)->{problem}, undef, "$kind: it is back");
	is(cursor($d, 'k.failures, k.watermark'), '0 ' . ($watermark + 1),
		"$kind: and the failure forgotten");

	#
	# Two calendars at once, and a thousand notices
	#
	$_ = cursor($_, 'k.watermark') foreach my ($w1, $w2) = ($b, $d);
	put($server, "/user/$b/x$_.ics", hour_event("x$_", 3, $_)) foreach 1 .. 20;
	put($server, "/user/$d/x$_.ics", hour_event("x$_", 3, $_)) foreach 1 .. 20;
	$proxy->break('REPORT,PROPFIND', "/user/$d", 'hold_after');
	$session->query("SELECT booking_sync('t', '$d')");
	wait_until('a round is under way',
		sub { cursor($d, 'k.started_at IS NOT NULL') eq 't' });
	wait_until('its answer is held',
		sub { grep { $_->{fault} && $_->{fault} eq 'hold_after' && $_->{status} } $proxy->log });
	put($server, "/user/$d/late.ics", hour_event('late', 4, 4));
	$session->query("DO \$\$BEGIN FOR i IN 1 .. 500 LOOP PERFORM booking_sync('t', '$d'), booking_sync('t', '$b'); END LOOP; END\$\$");
	$session->query("SELECT booking_sync('t', '$d')") for 1 .. 500;
	sync($b);
	is_deeply(known($b), truth($server, $b),
		"$kind: another calendar of the account does not wait");
	$proxy->clear;
	wait_until(
		'all requests are covered',
		sub { $session->query('SELECT count(*) FROM booking.sync_request') == 0 });
	ok(known($d)->{"/user/$d/late.ics"}, "$kind: what changed during a round is not lost");
	is(cursor($d, 'k.watermark'), $w2 + 2, "$kind: a thousand notices are one more round");
	$_->stop foreach $proxy, $server;
}

#
# Killed between two parts
#
my $server = Booking::Caldav->new('radicale');
my $proxy = Booking::FaultProxy->new($server);

attach($session, $server, $proxy->url, 'kill', 'kill-a');
fill($server, 'kill-a', 260);
$proxy->break('REPORT', '/user/kill-a', 'interim', 2);
$proxy->break('REPORT', '/user/kill-a', 'hold');
$session->query("SELECT booking_sync('t', 'kill-a')");
wait_until(
	'the first part is stored, and the second held',
	sub {
		return $session->query("SELECT count(*) FROM booking.event WHERE object LIKE '/user/kill-a/%'") == 200
		  && grep { ($_->{fault} // '') eq 'hold' } $proxy->log;
	});
is(cursor('kill-a', 'k.watermark, k.token IS NULL, k.started_at IS NOT NULL, k.round'),
	'0 t t 1', 'between two parts nothing has moved');
asked_for($proxy);
kill('KILL', $session->query("SELECT pid FROM pg_stat_activity WHERE backend_type = 'booking worker'"))
  or die "kill: $!";
wait_until(
	'the server is back',
	sub {
		$session = eval { my $s = session($node); $s->query('SELECT 1'); $s };
		return defined $session;
	});
$proxy->clear;
$session->query('SET client_min_messages = error');
wait_until('the round is finished',
	sub { cursor('kill-a', 'k.watermark') eq '1' });
is_deeply(known('kill-a'), truth($server, 'kill-a'), 'everything is known');
is(cursor('kill-a', 'k.round, k.token IS NULL, k.started_at IS NULL'),
	'1 f t', 'it was the same round');
is(asked_for($proxy), 60, 'and what was stored was not asked for again');
is($session->query('SELECT count(*) FROM booking.sync_request'),
	0, 'the request is done');

#
# Removed
#
$session->query("SELECT booking_calendar_remove('t', 'kill-a')");
is( $session->query(
		"SELECT count(*) FROM booking.event WHERE object LIKE '/user/kill-a/%'"),
	0, 'with a calendar goes what is known of it');
is_clean($session, 'at the end');

#
# Nobody there
#
$session->query('ALTER SYSTEM SET booking.worker = off');
$session->query('SELECT pg_reload_conf()');
attach($session, $server, $proxy->url, 'kill', 'kill-b');
fails_with($session, "CALL booking_sync_wait('t', 'kill-b')",
	'55000', 'a worker that is off is not waited for');

$node->stop;
done_testing();
