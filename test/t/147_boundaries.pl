# test/t/147_boundaries.pl
#
# The seven boundaries at which a calendar and a ledger may part, each on a real
# Radicale and a real Xandikos, and with something dying in the middle: the worker
# by SIGKILL, the server at once, the server in peace.
#
#	1. duplicate workers
#	2. accepted, but timed out
#	3. a slot that is stale after its approval
#	4. an edited event
#	5. a deleted event
#	6. an expired cursor, with all intents and mappings kept
#	7. stopped between two pages, and resumed without moving the cursor
#
# Each in short; 121 to 142 have them in all their forms.

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

my $created = 'created confirmed create confirmed';

# more than a worker fetches at a time
my $pages = 203;

my ($node, $session) = provider_node('main', conf => <<'EOC');
restart_after_crash = on
booking.sync_future = 3650d
EOC
my ($kind, $server, $proxy, $path);
my %restarted;

# ----------------------------------------------------------------------------
# Dying
# ----------------------------------------------------------------------------

sub workers
{
	return $session->query(
		"SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE backend_type = 'booking worker'");
}

sub reconnect
{
	$session = undef;
	wait_until(
		'the server is back',
		sub {
			$session = eval { session($node) };
			return $session
			  && $session->sqlstate('SET client_min_messages = error') eq '00000';
		});
	return;
}

my @ways = (
	[
		'the worker is killed',
		sub {
			kill('KILL', workers()) or die 'no worker';
			wait_until('the server notices', sub { $session->sqlstate('SELECT 1') ne '00000' });
		}
	],
	[ 'the server is stopped at once', sub { $session->quit; $node->stop('immediate'); $node->start } ],
	[ 'the server is restarted', sub { $session->quit; $node->stop('fast'); $node->start } ]);

# Have something die, each time in another way.
sub restart
{
	my $way = shift @ways;

	push @ways, $way;
	$way->[1]->();
	reconnect();
	$restarted{ $way->[0] }++;
	note("$kind: $way->[0]");
	wait_until('there is a worker',
		sub { $session->query('SELECT state FROM booking_worker_status()') =~ /idle|busy/ });
	return;
}

# ----------------------------------------------------------------------------
# The calendar
# ----------------------------------------------------------------------------

# Requests that are held, either before the server sees them or behind it.
sub held
{
	my ($fault, $count) = @_;

	wait_until(
		"a request is held ($fault)",
		sub {
			$proxy->log(
				sub { ($_[0]{fault} // '') eq $fault && !$_[0]{answered} && ($fault eq 'hold') == !$_[0]{passed} }
			) >= ($count // 1);
		});
	return;
}

# Objects that were asked for since the last time.
my %logged;

sub asked_for
{
	my @log = $proxy->log;
	my @new = @log[ ($logged{$kind} // 0) .. $#log ];
	my $count = 0;

	$logged{$kind} = @log;
	$count += $_->{hrefs} foreach @new;
	return $count;
}

# Somebody puts an event of an hour of the day into the calendar.
sub somebody
{
	my ($calendar, $name, $hour, $minute) = @_;
	my $time = sprintf('20300501T%02d%02d', $hour, $minute // 0);
	my $body = join("\r\n",
		'BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//EN', 'BEGIN:VEVENT', "UID:$name",
		'DTSTAMP:20300101T000000Z', "DTSTART:${time}00Z", "DTEND:${time}30Z", 'END:VEVENT',
		'END:VCALENDAR', '');

	$server->demand('PUT', "/user/$calendar/$name.ics", body => $body,
		headers => { 'Content-Type' => 'text/calendar; charset=utf-8' });
	return;
}

# Have a calendar read; the problem, if there was one.
sub sync
{
	my ($calendar) = @_;
	return decode_json(
		$session->query("CALL booking_sync_wait('t', '${\($calendar // $kind)}')"))->{problem};
}

sub during
{
	my ($hour) = @_;
	return sprintf("'[2030-05-01 %02d:00+00, 2030-05-01 %02d:00+00)'", $hour, $hour + 1);
}

sub claim
{
	my ($intent, $hour) = @_;
	return $session->query(
		"SELECT disposition FROM booking_claim('t', 'p', '$kind-$intent', '$kind', ${\during($hour)})");
}

# State, what is known of the event, hours that are held, why it ended, and how
# many conflicts are open.
sub booking
{
	my ($intent) = @_;
	return $session->query(<<"EOQ");
SELECT concat_ws(' ', i.state, i.event,
	(SELECT string_agg(to_char(lower(v.occupied) AT TIME ZONE 'UTC', 'HH24'), ',' ORDER BY v.occupied)
	   FROM booking.reservation v WHERE v.intent_id = i.intent_id), i.detail ->> 'reason',
	(SELECT count(*) FROM booking.conflict k WHERE k.intent_id = i.intent_id AND resolved_at IS NULL) || ' open')
  FROM booking.intent i WHERE i.intent = '$kind-$intent'
EOQ
}

# Where the event of a booking is, and when; undef unless there is just one with
# its id.
sub event
{
	my ($intent) = @_;
	my ($id) = $session->row(
		"SELECT o.event_id FROM booking.operation o JOIN booking.intent i USING (intent_id) WHERE i.intent = '$kind-$intent'");
	my @found = grep { $_->{uid} eq $id } values %{ $server->list($path) };

	return @found == 1 ? $found[0] : undef;
}

# Book an hour and return its event.
sub book
{
	my ($intent, $hour) = @_;

	is(claim($intent, $hour), 'committed', "$kind: $intent is booked");
	is(wait_state($session, "$kind-$intent", $created), $created, "$kind: $intent is written");
	sync();
	return event($intent);
}

sub cursor
{
	my ($calendar, $columns) = @_;
	return $session->query("SELECT concat_ws(' ', $columns) FROM booking.cursor k"
		  . " JOIN booking.calendar c USING (calendar_id) WHERE c.calendar = '$calendar'");
}

# All that says whose events are whose.
sub mappings
{
	return $session->query(<<"EOQ");
SELECT string_agg(concat_ws(' ', i.intent, i.state, i.event, i.revision, o.operation_id, o.event_id, o.href, o.etag,
	e.object, e.etag, e.during), E'\\n' ORDER BY i.intent_id, o.operation_id)
  FROM booking.intent i JOIN booking.operation o USING (intent_id)
  LEFT JOIN booking.event e ON e.intent_id = i.intent_id WHERE i.intent LIKE '$kind-%'
EOQ
}

# ----------------------------------------------------------------------------
# The boundaries
# ----------------------------------------------------------------------------

# 1. While the create of one worker is on its way, that worker dies and another
# does the work; then the first one's request arrives as well.
sub duplicate_workers
{
	$proxy->break('create', $path, 'hold');
	claim('twice', 8);
	held('hold');
	restart();
	is($session->query('SELECT booking_worker_start()'), 'f', "$kind: 1: no second worker is started") for 1 .. 3;
	settle($node, $session);
	is(Booking::Caldav::state($session, "$kind-twice"), $created, "$kind: 1: the next worker has created it");
	my $first = event('twice');
	$proxy->clear;
	wait_until('the late request was answered',
		sub { !$proxy->log(sub { $_[0]{kind} eq 'create' && !$_[0]{passed} }) });
	is_deeply(
		[ map { $_->{status} } $proxy->log(sub { $_[0]{kind} eq 'create' }) ],
		[ 412, 201 ],
		"$kind: 1: both have asked, and one was refused");
	is_deeply(event('twice'), $first, "$kind: 1: there is one event, as it was");
	restart();
	sync();
	is(booking('twice'), 'created present 08 0 open', "$kind: 1: and one booking");
	unlike(workers(), qr/ /, "$kind: 1: of one worker");
	return;
}

# 2. The server has the event, and its answer does not come in time.
sub timed_out
{
	my $unknown = 'unknown pending_reconciliation create unknown first_byte_timeout';

	patience('2s');
	$proxy->break('create', $path, 'hold_after');
	claim('late', 10);
	is(wait_state($session, "$kind-late", $unknown), $unknown, "$kind: 2: nobody knows");
	patience('20s');
	ok(event('late'), "$kind: 2: it was accepted");
	restart();
	$proxy->clear;
	settle($node, $session);
	is(Booking::Caldav::state($session, "$kind-late"), $created, "$kind: 2: it was looked up");
	is(scalar $proxy->log(sub { $_[0]{kind} eq 'create' && $_[0]{path} eq event('late')->{href} }),
		1, "$kind: 2: and not sent again");
	sync();
	is(booking('late'), 'created present 10 0 open', "$kind: 2: one booking");
	return;
}

# How long the worker waits for an answer.
sub patience
{
	my ($time) = @_;

	$session->query("ALTER SYSTEM SET booking.http_first_byte_timeout = '$time'");
	$session->query('SELECT pg_reload_conf()');
	return;
}

# 3. Somebody takes the slot between the approval and the write.
sub stale_slot
{
	my $puts = $proxy->log(sub { $_[0]{kind} eq 'create' });
	my $approve = sub {
		$session->query("SELECT disposition FROM booking_approve('t', 'boss', 'p', '$kind-stale', $_[0])");
	};

	is( $session->query(
			"SELECT disposition FROM booking_propose('t', 'p', '$kind-stale', '$kind', ${\during(12)}, hold_for => '1 hour')"),
		'held', "$kind: 3: proposed");
	restart();
	$proxy->break('REPORT', $path, 'hold');
	is($approve->(1), 'committed', "$kind: 3: approved");
	held('hold');
	somebody($kind, 'intruder', 12);
	restart();
	$proxy->clear;
	my $stale = 'needs_proposal not_attempted create dropped calendar_changed';
	is(wait_state($session, "$kind-stale", $stale), $stale, "$kind: 3: the slot is stale");
	is(booking('stale'), 'needs_proposal none calendar_changed 0 open', "$kind: 3: and nothing is held");
	is(scalar $proxy->log(sub { $_[0]{kind} eq 'create' }), $puts, "$kind: 3: nothing was sent");
	restart();
	is($approve->(1), 'needs_proposal', "$kind: 3: the approval is void for ever");
	$session->query(
		"SELECT booking_propose('t', 'p', '$kind-stale', '$kind', ${\during(13)}, after_version => 1)");
	is($approve->(2), 'committed', "$kind: 3: another time is approved");
	is(wait_state($session, "$kind-stale", $created), $created, "$kind: 3: and written");
	is(event('stale')->{start}, '20300501T130000Z', "$kind: 3: there");
	return;
}

# 4. Somebody edits our event: first a text, then its time.
sub edited_event
{
	my $event = book('edited', 14);

	$server->edit($event->{href}, sub { s/(DTSTART)/DESCRIPTION:by hand\r\n$1/ });
	$proxy->break('REPORT', $path, 'hold_after');
	$session->query("SELECT booking_sync('t', '$kind')");
	held('hold_after');
	restart();
	$proxy->clear;
	is(sync(), undef, "$kind: 4: read after the restart");
	is(booking('edited'), 'created present 14 0 open', "$kind: 4: a text is no news");
	$server->edit($event->{href}, sub { s/^(DTSTART|DTEND)(.*T)1/"${1}${2}" . '1'/gme; s/T15/T16/g; s/T14/T15/g });
	$proxy->break('REPORT', $path, 'interim');
	$proxy->break('REPORT', $path, 'hold');
	$session->query("SELECT booking_sync('t', '$kind')");
	held('hold');
	is(booking('edited'), 'created present 14 0 open', "$kind: 4: what was not read has not happened");
	restart();
	$proxy->clear;
	is(sync(), undef, "$kind: 4: read after the restart");
	is(booking('edited'), 'created present 15 0 open', "$kind: 4: a move is followed");
	is(event('edited')->{start}, '20300501T150000Z', "$kind: 4: the event is what it was edited to");
	return;
}

# 5. Somebody deletes our event.
sub deleted_event
{
	my $event = book('deleted', 17);

	$server->demand('DELETE', $event->{href});
	$proxy->break('REPORT', $path, 'hold_after');
	$session->query("SELECT booking_sync('t', '$kind')");
	held('hold_after');
	is(booking('deleted'), 'created present 17 0 open', "$kind: 5: what was not read has not happened");
	restart();
	$proxy->clear;
	is(sync(), undef, "$kind: 5: read after the restart");
	is(booking('deleted'), 'canceled absent deleted_at_provider 0 open', "$kind: 5: it is canceled");
	restart();
	is(sync(), undef, "$kind: 5: read once more");
	is(claim('deleted', 17), 'canceled', "$kind: 5: for good");
	ok(!event('deleted'), "$kind: 5: and not made again");
	is(claim('instead', 17), 'committed', "$kind: 5: the hour is free");
	is(wait_state($session, "$kind-instead", $created), $created, "$kind: 5: and booked");
	return;
}

# 6. The server forgets what it told.
sub expired_cursor
{
	is(sync(), undef, "$kind: 6: all is known");
	my $before = mappings();
	my $events = $session->query(
		"SELECT count(*) FROM booking.event e JOIN booking.calendar c USING (calendar_id) WHERE c.calendar = '$kind'");

	# a token that fits what there is needs no memory
	somebody($kind, 'one-more', 20);
	if ($kind eq 'radicale')
	{
		system_or_bail('rm', '-r',
			"$server->{folder}/data/collection-root$path/.Radicale.cache/sync-token");
	}
	else
	{
		$session->query(
			"UPDATE booking.cursor k SET token = 'sync:0123456789012345678901234567890123456789'"
			  . " FROM booking.calendar c WHERE k.calendar_id = c.calendar_id AND c.calendar = '$kind'");
		is(sync(), 'server_error', "$kind: 6: a breakdown, which must be seen twice")
		  if $server->breaks_down($path);
	}
	my $watermark = cursor($kind, 'k.watermark');
	asked_for();
	$proxy->break('REPORT', $path, 'interim');
	$proxy->break('REPORT', $path, 'hold_after');
	$session->query("SELECT booking_sync('t', '$kind')");
	held('hold_after');
	is(cursor($kind, 'k.full_pass, k.full_reason, k.token IS NULL, k.watermark'),
		"t token_expired t $watermark", "$kind: 6: the token is gone, with the reason");
	restart();
	is(mappings(), $before, "$kind: 6: intents and mappings are kept");
	$proxy->clear;
	is(sync(), undef, "$kind: 6: everything was listed");
	is(cursor($kind, 'k.full_reason, k.token IS NULL, k.full_pass, k.parked'),
		'token_expired f f f', "$kind: 6: there is a new token");
	is(mappings(), $before, "$kind: 6: intents and mappings are kept to the end");
	is( $session->query(
			"SELECT count(*) FROM booking.event e JOIN booking.calendar c USING (calendar_id) WHERE c.calendar = '$kind'"),
		$events + 1, "$kind: 6: and so is all else that is known");
	is(asked_for(), 1, "$kind: 6: nothing was fetched again");
	return;
}

# What is known of the calendar with pages: minutes by object.
sub pages_known
{
	my ($minute) = @_;
	return $session->query(
		"SELECT count(*) FROM booking.event WHERE object LIKE '/user/$kind-pages/%'"
		  . " AND extract(minute FROM lower(during) AT TIME ZONE 'UTC') = $minute");
}

# Stop in front of the second page of a round, and go on.
sub stop_between
{
	my ($name, $minute) = @_;
	my $columns = 'k.token, k.watermark';
	my $before = cursor("$kind-pages", $columns);
	my $round = 1 + cursor("$kind-pages", 'k.round');

	$proxy->break('REPORT', "/user/$kind-pages/", 'interim', 2);
	$proxy->break('REPORT', "/user/$kind-pages/", 'hold', 2);
	$session->query("SELECT booking_sync('t', '$kind-pages')");
	held('hold');
	is(pages_known($minute), 200, "$kind: 7: $name: the first page is stored, and the second on its way");
	is(cursor("$kind-pages", $columns), $before, "$kind: 7: $name: between pages the cursor stays");
	asked_for();
	restart();
	held('hold', 2);
	is(cursor("$kind-pages", $columns), $before, "$kind: 7: $name: nor when the next worker goes on");
	is(cursor("$kind-pages", 'k.started_at IS NOT NULL, k.round'), "t $round", "$kind: 7: $name: the round is in progress");
	is(pages_known($minute), 200, "$kind: 7: $name: the page that was stored is there");
	$proxy->clear;
	wait_until('the round is complete',
		sub { cursor("$kind-pages", 'k.started_at IS NULL') eq 't' });
	is(cursor("$kind-pages", 'k.round, k.watermark'), "$round $round", "$kind: 7: $name: the same round is complete");
	isnt(cursor("$kind-pages", 'k.token'), $before =~ s/ .*//r, "$kind: 7: $name: and now the cursor moves");
	is(pages_known($minute), $pages, "$kind: 7: $name: all is known");
	is(asked_for(), $pages - 200, "$kind: 7: $name: and what was stored was not fetched again");
	return;
}

# 7. Between two pages, of everything and of what changed.
sub between_pages
{
	somebody("$kind-pages", "e$_", $_ % 24, 1) foreach 1 .. $pages;
	stop_between('everything', 1);
	somebody("$kind-pages", "e$_", $_ % 24, 2) foreach 1 .. $pages;
	stop_between('changes', 2);
	return;
}

foreach my $name (qw(radicale xandikos))
{
	$kind = $name;
	$path = "/user/$kind/";
	$server = Booking::Caldav->new($kind);
	$proxy = Booking::FaultProxy->new($server);
	attach($session, $server, $proxy->url, $kind, $kind, "$kind-pages");
	$session->query("SELECT booking_permit_all('t', 'boss')");
	$session->query("SELECT booking_resource_put('t', '$kind', 1)");
	sync();
	duplicate_workers();
	timed_out();
	stale_slot();
	edited_event();
	deleted_event();
	expired_cursor();
	between_pages();
	is_clean($session, $kind);
	is($session->query("SELECT count(*) FROM booking.operation WHERE state = 'parked'"),
		0, "$kind: nobody was needed");
	$_->stop foreach $proxy, $server;
}
cmp_ok($restarted{ $_->[0] } // 0, '>', 3, $_->[0]) foreach @ways;
$node->stop;
done_testing();
