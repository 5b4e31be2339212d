# test/t/148_dirty.pl
#
# What is told while a calendar is read: a change that is notified during a round
# is brought by another round, a thousand notices at once make no more than that,
# whoever sends them, and the server counts the requests.  And what two calendars
# of one account share, its credential, its access token and its place among
# those that wait, never holds them up for each other.
#
# Proves R48, and R101 (one refresh for all who need one) for rounds.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::FaultProxy;
use Booking::Google;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $callers = 10;
my $notices = 1000;
my $rounds = size(6, 60);

my ($node, $session) = provider_node('main');
my @callers = map { session($node) } 1 .. $callers;
my ($server, $proxy);

# Somebody puts an event into a calendar.
sub somebody
{
	my ($calendar, $name) = @_;
	my $body = join("\r\n",
		'BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//EN', 'BEGIN:VEVENT', "UID:$name",
		'DTSTAMP:20300101T000000Z', 'DTSTART:20300501T100000Z', 'DTEND:20300501T110000Z',
		'END:VEVENT', 'END:VCALENDAR', '');

	$server->demand('PUT', "/user/$calendar/$name.ics", body => $body,
		headers => { 'Content-Type' => 'text/calendar; charset=utf-8' });
	return;
}

sub knows
{
	my ($calendar, $name) = @_;
	return $session->query("SELECT count(*) FROM booking.event WHERE object = '/user/$calendar/$name.ics'");
}

# Requests for a listing of a calendar, and objects asked for.
sub requests
{
	my ($calendar) = @_;
	my @log = $proxy->log(sub { $_[0]{path} eq "/user/$calendar/" && $_[0]{kind} =~ /REPORT|PROPFIND/ });
	my $objects = 0;

	$objects += $_->{hrefs} foreach @log;
	return { listings => scalar(grep { !$_->{hrefs} } @log), objects => $objects };
}

# What came since.
sub since
{
	my ($calendar, $before) = @_;
	my $now = requests($calendar);

	return join(' ', map { $now->{$_} - $before->{$_} } qw(listings objects));
}

sub watermark
{
	my ($calendar) = @_;
	return $session->query(
		"SELECT k.watermark FROM booking.cursor k JOIN booking.calendar c USING (calendar_id) WHERE c.calendar = '$calendar'");
}

sub sync
{
	my ($calendar) = @_;
	return decode_json($session->query("CALL booking_sync_wait('t', '$calendar')"))->{problem};
}

# Begin a round whose listing is held after the server has made it.
sub hold_round
{
	my ($calendar) = @_;
	my $held = sub {
		scalar $proxy->log(
			sub { ($_[0]{fault} // '') eq 'hold_after' && $_[0]{passed} && $_[0]{path} eq "/user/$calendar/" });
	};
	my $before = $held->();

	$proxy->break('REPORT,PROPFIND', "/user/$calendar/", 'hold_after');
	$session->query("SELECT booking_sync('t', '$calendar')");
	wait_until('the listing is held', sub { $held->() > $before });
	return;
}

sub all_done
{
	wait_until('all requests are covered',
		sub { $session->query('SELECT count(*) FROM booking.sync_request') == 0 });
	return;
}

sub deadlocks
{
	$session->query('SELECT pg_stat_force_next_flush()');
	return $session->query("SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'");
}

# Every caller says the same, as often as is said, all at once; what went wrong.
sub all_callers
{
	my ($times, $sql) = @_;

	foreach my $caller (@callers)
	{
		$caller->send($sql) for 1 .. $times;
	}
	return errors($times);
}

# What went wrong in the last statements of the callers.
sub errors
{
	my ($times) = @_;
	my @errors;

	foreach my $caller (@callers)
	{
		push @errors, grep { defined } map { $caller->receive->{error}{text} } 1 .. $times;
	}
	return @errors;
}

foreach my $kind (qw(radicale xandikos))
{
	my ($a, $b) = ("$kind-a", "$kind-b");

	$server = Booking::Caldav->new($kind);
	$proxy = Booking::FaultProxy->new($server);
	attach($session, $server, $proxy->url, $kind, $a, $b);
	somebody($a, "first-$_") foreach 1 .. 3;
	is(sync($_), undef, "$kind: $_ is read") foreach $a, $b;

	#
	# A change during a round
	#
	my ($before, $mark) = (requests($a), watermark($a));

	hold_round($a);
	somebody($a, 'during');
	$session->query("SELECT booking_sync('t', '$a')");
	is(watermark($a), $mark, "$kind: the round is in progress");
	$proxy->clear;
	all_done();
	is(watermark($a), $mark + 2, "$kind: a notice during a round makes another");
	is(since($a, $before), '2 1', "$kind: two listings, and the one object that was new");
	is(knows($a, 'during'), 1, "$kind: which is known");

	# without a notice there is no other round
	($before, $mark) = (requests($a), watermark($a));
	hold_round($a);
	somebody($a, 'silent');
	$proxy->clear;
	all_done();
	is(watermark($a), $mark + 1, "$kind: without a notice there is no other round");
	is(since($a, $before), '1 0', "$kind: and one listing, which was older");
	is(knows($a, 'silent'), 0, "$kind: so the change waits for the next");

	#
	# A thousand notices
	#
	($before, $mark) = (requests($a), watermark($a));
	hold_round($a);
	somebody($a, 'thousand');
	is_deeply([ all_callers($notices / $callers, "SELECT booking_sync('t', '$a')") ],
		[], "$kind: $notices notices of $callers callers");
	$proxy->clear;
	all_done();
	is(watermark($a), $mark + 2, "$kind: $notices notices during a round make one more");
	is(since($a, $before), '2 2', "$kind: two listings, and what they brought");
	is(knows($a, 'thousand'), 1, "$kind: all of it");

	# at once, with nothing in progress
	($before, $mark) = (requests($a), watermark($a));
	somebody($a, 'at-once');
	$session->query("SELECT count(booking_sync('t', '$a')) FROM generate_series(1, $notices)");
	all_done();
	my $made = watermark($a) - $mark;
	ok($made == 1 || $made == 2, "$kind: $notices notices at once make two rounds at most") or diag($made);
	is(since($a, $before), "$made 1", "$kind: as many listings, and one object");

	#
	# Two calendars of an account
	#
	my $deadlocks = deadlocks();
	my @order = ([ $a, $b ], [ $b, $a ]);

	$before = watermark($b);
	foreach my $round (1 .. $rounds)
	{
		# Each asks for both in the other order, in one transaction, while the
		# account is put again and its server says that it is too much.
		$proxy->break('REPORT', '/user/', 'rate_limited', 2) if $round % 3 == 0;
		foreach my $i (0 .. $#callers)
		{
			my ($first, $second) = @{ $order[ $i % 2 ] };

			$callers[$i]->send($_)
			  foreach 'BEGIN', "SELECT booking_sync('t', '$first')",
			  $i > 1 ? 'SELECT 1' : "SELECT booking_account_put('t', '$kind', 'caldav', '${\$proxy->url}')",
			  "SELECT booking_sync('t', '$second')",
			  $i > 1 ? 'SELECT 1' : "SELECT booking_calendar_put('t', '$second', '$kind', '/user/$second/', '$second')",
			  'COMMIT';
		}
		is_deeply([ errors(6) ], [], "$kind: round $round: nobody is refused");
		Booking::Caldav::later($node, $session) if $round % 3 == 0;
		all_done();
	}
	is(deadlocks(), $deadlocks, "$kind: no deadlock");
	cmp_ok(watermark($b), '>=', $before + $rounds, "$kind: each time both were read");
	is($session->query("SELECT parked FROM booking.account WHERE account = '$kind'"), 'f', "$kind: and nothing is parked");
	somebody($_, 'last') foreach $a, $b;
	sync($_) foreach $a, $b;
	is(knows($_, 'last'), 1, "$kind: $_ is read still") foreach $a, $b;
	is_clean($session, $kind);
	$_->stop foreach $proxy, $server;
}

#
# Two calendars, and one access token that both need
#
my $google = Booking::Google->new('a@x', 'b@x');
my $url = $google->url;

$google->set(rotate => JSON::PP::true, refresh => ['refresh-0'], token_delay => 0.2);
$session->query("SELECT booking_account_put('t', 'g', 'google', '$url')");
foreach my $name (qw(a b))
{
	$session->query("SELECT booking_resource_put('t', 'g-$name', 1000)");
	$session->query("SELECT booking_calendar_put('t', 'g-$name', 'g', '$name\@x', 'g-$name')");
}
my $deadlocks = deadlocks();
foreach my $round (1 .. $rounds)
{
	my $credential = encode_json({
		type => 'refresh_token',
		client_id => 'client',
		client_secret => 'SECRET-CLIENT',
		refresh_token => $google->look->{refresh}[0],
		token_url => "${url}token" });
	my @marks = map { watermark("g-$_") } qw(a b);
	my $calls = @{ $google->look->{token_calls} };

	# the new credential makes the token void, and both calendars wait for one
	$session->query("SELECT booking_credential_put('t', 'g', '$credential')");
	foreach my $i (0 .. $#callers)
	{
		$callers[$i]->send($_)
		  foreach 'BEGIN',
		  map({ "SELECT booking_sync('t', 'g-$_')" } $i % 2 ? qw(a b) : qw(b a)),
		  "SELECT booking_claim('t', 'p', 'g-$round-$i', 'g-${\($i % 2 ? 'a' : 'b')}', '[2030-05-01 10:00+00, 2030-05-01 11:00+00)')",
		  'COMMIT';
	}
	is_deeply([ errors(5) ], [], "token $round: nobody is refused");
	all_done();
	settle($node, $session);
	is(scalar @{ $google->look->{token_calls} }, $calls + 1, "token $round: both have it from one refresh");
	cmp_ok(watermark('g-a'), '>', $marks[0], "token $round: one is read");
	cmp_ok(watermark('g-b'), '>', $marks[1], "token $round: and the other");
}
is(deadlocks(), $deadlocks, 'no deadlock on the token');
is($session->query("SELECT count(*) FROM booking.intent WHERE intent LIKE 'g-%' AND state = 'created'"),
	$rounds * $callers, 'and all that was booked besides is there');
is_clean($session, 'at the end');
$google->stop;
$_->quit foreach @callers;
$node->stop;
done_testing();
