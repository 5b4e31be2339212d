# test/t/143_vanish.pl
#
# That a listing does not show an event is no proof that somebody deleted it.
# The listing may be empty because a proxy or a server erred, a cursor may say of
# everything that it is gone, the collection may be gone or not be ours to read:
# no booking is lost for any of it, people are told which ones are in doubt and
# why, and the provider is not asked more often than that takes.  What was
# deleted indeed ends its booking in the same round.

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

# bookings of the calendar: enough to be many
my $bookings = 14;

my ($node, $session) =
  provider_node('main', conf => "booking.sync_future = '3650d'\n");
my $server = Booking::Caldav->new('radicale');
my $proxy = Booking::FaultProxy->new($server);
my $cal = 'room';

# Have the calendar read; the problem of the round, if there was one.
sub sync
{
	return decode_json($session->query("CALL booking_sync_wait('t', '$cal')"))->{problem};
}

# Make the next round list everything.
sub forget_token
{
	$session->query('UPDATE booking.cursor SET full_at = full_at - interval \'25 hours\'');
	return;
}

sub hour
{
	my ($n) = @_;
	return sprintf("'[2030-05-%02d 09:00+00, 2030-05-%02d 10:00+00)'", $n, $n);
}

# Bookings by state, and the reasons of open conflicts, with their numbers.
sub states
{
	return $session->query(<<'EOQ');
SELECT coalesce(string_agg(x.state || ' ' || x.n, ', ' ORDER BY x.state), '')
  FROM (SELECT i.state || coalesce(' ' || (i.detail ->> 'reason'), '') AS state, count(*) AS n
	FROM booking.intent i WHERE i.intent LIKE 'b-%' GROUP BY 1) x
EOQ
}

sub doubts
{
	return $session->query(<<'EOQ');
SELECT coalesce(string_agg(x.reason || ' ' || x.n, ', ' ORDER BY x.reason), '')
  FROM (SELECT k.kind || ' ' || (k.detail ->> 'reason') AS reason, count(*) AS n
	FROM booking.conflict k WHERE k.resolved_at IS NULL GROUP BY 1) x
EOQ
}

sub foreign_events
{
	return $session->query('SELECT count(*) FROM booking.event WHERE intent_id IS NULL AND busy');
}

# Requests since the last call, by kind.
my $seen = 0;

sub requests
{
	my @log = $proxy->log;
	my %count;

	$count{ $_->{kind} }++ foreach @log[ $seen .. $#log ];
	$seen = @log;
	return \%count;
}

# The listing is as it should be again: all doubt is over.
sub recover
{
	my ($name, $standing) = @_;

	$proxy->clear;
	Booking::Caldav::later($node, $session);
	is(sync(), undef, "$name: the next listing is believed");
	is(states(), "created $standing", "$name: all bookings stand");
	is(doubts(), '', "$name: the doubts are over");
	is(foreign_events(), '1', "$name: and other people's events are there");
	is($session->query('SELECT count(*) FROM booking.event WHERE seen_round < 0'), '0', "$name: nothing waits");
	requests();
	return;
}

attach($session, $server, $proxy->url, 'main', $cal);
$session->query("SELECT booking_claim('t', 'p', 'b-' || n, '$cal', d) FROM (VALUES "
	  . join(', ', map { "($_, ${\hour($_)}::tstzrange)" } 1 .. $bookings) . ') AS x (n, d)');
wait_until('all are written',
	sub { states() eq "created $bookings" });
$server->demand(
	'PUT', "/user/$cal/theirs.ics",
	headers => { 'Content-Type' => 'text/calendar; charset=utf-8' },
	body => join("\r\n",
		'BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//x//y//EN', 'BEGIN:VEVENT', 'UID:theirs',
		'DTSTAMP:20300101T000000Z', 'DTSTART:20300530T090000Z', 'DTEND:20300530T100000Z',
		'SUMMARY:theirs', 'END:VEVENT', 'END:VCALENDAR', ''));
is(sync(), undef, 'the calendar is read');
is(foreign_events(), '1', 'with an event of somebody else');
requests();

#
# A listing that names nothing, while everything is there
#
forget_token();
$proxy->break('REPORT', "/user/$cal/", 'empty');
is(sync(), 'listing_doubtful', 'an empty listing is not believed');
is(states(), "created $bookings", 'an empty listing ends no booking');
is(doubts(), "missing not_listed $bookings", 'each is in doubt, and people are told');
is(foreign_events(), '1', 'nor are other people\'s events forgotten');
my $requests = requests();
is($requests->{GET}, $bookings, 'each was looked up once');
ok(!$requests->{PUT} && !$requests->{DELETE}, 'nothing was written');
is( $session->query("SELECT disposition FROM booking_claim('t', 'p', 'waits', '$cal', ${\hour(25)})"),
	'committed', 'who books meanwhile');
recover('empty', $bookings);
is(wait_state($session, 'waits', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'is booked when the calendar is read');
sync();
requests();

#
# A cursor that says of everything that it is gone
#
$proxy->break('REPORT', "/user/$cal/", 'all_removed');
is(sync(), 'listing_doubtful', 'nor is a cursor believed that says that all is gone');
is(states(), "created $bookings", 'it ends no booking');
is(doubts(), 'missing not_listed ' . ($bookings + 1), 'each is in doubt');
recover('all removed', $bookings);

#
# Answers that prove nothing.  The provider is left alone soon.
#
foreach (
	[ 'forbidden', 'GET', 'forbidden', 3 ],
	[ 'unauthorized', 'GET', 'auth_refused', 1 ],
	[ 'unavailable', 'GET', 'unavailable', 3 ],
	[ 'reset', 'GET', undef, 3 ],
	[ 'missing', 'GET,query,PROPFIND', 'calendar_gone', 0 ],
	[ 'unauthorized', 'PROPFIND', 'auth_refused', 0 ],
	[ 'unavailable', 'PROPFIND', undef, 0 ])
{
	my ($fault, $kinds, $reason, $gets) = @$_;
	my $name = "$kinds $fault";

	forget_token();
	$proxy->break('REPORT', "/user/$cal/", 'empty');
	$proxy->break($kinds, "/user/$cal/", $fault, 1000);
	is(sync(), 'listing_doubtful', "$name: the listing is not believed");
	is(states(), "created $bookings", "$name: no booking ends");
	like(doubts(), qr/^missing \w+ ${\($bookings + 1)}$/, "$name: each is in doubt");
	like(doubts(), qr/^missing $reason /, "$name: for that reason") if $reason;
	# on connections that were open and are reset the library sends a read five times more
	cmp_ok(requests()->{GET} // 0, '<=', $fault eq 'reset' ? $gets * 6 : $gets, "$name: the provider is left alone soon");
	is($session->query('SELECT count(*) FROM booking.account WHERE parked'), '0', "$name: the account is not parked");
	recover($name, $bookings);
}

#
# The listing itself is refused, or the collection is gone
#
foreach my $fault (qw(missing forbidden unavailable))
{
	forget_token();
	$proxy->break('REPORT,PROPFIND', "/user/$cal/", $fault, 1000);
	ok(sync(), "$fault: the calendar is not read");
	is(states(), "created $bookings", "$fault: no booking ends");
	is(doubts(), '', "$fault: and nothing is known to be missing");
	recover($fault, $bookings);
}

#
# One event that is left out, and is there
#
foreach my $round (1, 2)
{
	forget_token();
	$proxy->break('REPORT', "/user/$cal/", 'less_one');
	is(sync(), undef, "left out, round $round: the rest of the listing counts");
	is(states(), "created $bookings", "left out, round $round: its booking stands");
	is(doubts(), 'missing not_listed 1', "left out, round $round: it is in doubt");
	is(requests()->{GET}, 1, "left out, round $round: it was looked up once");
}

# and one that cannot be asked about: it is asked about with each round
forget_token();
$proxy->break('REPORT', "/user/$cal/", 'less_one');
$proxy->break('GET', "/user/$cal/", 'forbidden');
is(sync(), undef, 'not told: the rest of the listing counts');
is(doubts(), 'missing forbidden 1', 'not told: the reason is told');
is(sync(), undef, 'not told: a round that lists changes only');
is(doubts(), 'missing not_listed 1', 'not told: asks again');
forget_token();
recover('left out', $bookings);

#
# Deleted indeed: one, while the listing is right
#
my $href = $session->query(
	"SELECT href FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = 'b-1'");
$server->demand('DELETE', $href);
is(sync(), undef, 'deleted: the calendar is read');
is(states(), 'canceled deleted_at_provider 1, created ' . ($bookings - 1), 'deleted: in one round');
is(doubts(), '', 'deleted: without any doubt');

# while the server does not tell, and then does
$href = $session->query(
	"SELECT href FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = 'b-2'");
$server->demand('DELETE', $href);
$proxy->break('query', "/user/$cal/", 'unavailable');
is(sync(), undef, 'deleted, not told: the calendar is read');
is(states(), 'canceled deleted_at_provider 1, created ' . ($bookings - 1), 'deleted, not told: the booking stands');
is(doubts(), 'missing unavailable 1', 'deleted, not told: in doubt');
is(sync(), undef, 'deleted, told: the next round');
is(states(), 'canceled deleted_at_provider 2, created ' . ($bookings - 2), 'deleted, told: ends it');
is(doubts(), '', 'deleted, told: the doubt is over');

# a cancel that waits for a person has nothing left to do, if that is proven
$href = $session->query(
	"SELECT href FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = 'b-3'");
$server->edit($href, sub { s/^(DTSTART[^:]*:\d+T)09/${1}11/m; s/^(DTEND[^:]*:\d+T)10/${1}12/m });
$session->query("SELECT booking_cancel('t', 'p', 'b-3')");
is(wait_state($session, 'b-3', 'canceling needs_operator cancel parked event_moved'),
	'canceling needs_operator cancel parked event_moved', 'a cancel waits for a person');
sync();
forget_token();
$proxy->break('REPORT', "/user/$cal/", 'empty');
$proxy->break('GET', "/user/$cal/", 'forbidden', 1000);
is(sync(), 'listing_doubtful', 'parked: an empty listing');
is($session->query("SELECT state FROM booking.intent WHERE intent = 'b-3'"), 'canceling', 'parked: proves nothing of it');
$proxy->clear;
sync();
$server->demand('DELETE', $href);
is(sync(), undef, 'parked: deleted');
is($session->query("SELECT state FROM booking.intent WHERE intent = 'b-3'"), 'canceled', 'parked: is canceled when that is proven');

# all of them: the calendar vouches for itself
requests();
$server->demand('DELETE', $_->{href})
  foreach grep { $_->{uid} ne 'theirs' } values %{ $server->list("/user/$cal/") };
is(sync(), undef, 'all deleted: the calendar is read');
is($session->query("SELECT count(*) FROM booking.intent WHERE state = 'created'"), '0', 'all deleted: all are canceled, in one round');
is(foreign_events(), '1', 'all deleted: but for what is not ours');
is($session->query('SELECT count(*) FROM booking.reservation'), '0', 'all deleted: nothing is held');
is_clean($session, 'at the end');

done_testing();
