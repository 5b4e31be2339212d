# test/t/140_sync.pl
#
# Calendars of real servers as rows of booking.event.  Whatever the worker knows
# of a calendar is compared with what an independent client finds in it.

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

my ($node, $session) = provider_node('main');

# An iCalendar object with one event.
sub event
{
	my ($uid, $start, $end, $more) = @_;
	my $text = join("\n",
		'BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//EN', 'BEGIN:VEVENT',
		"UID:$uid", 'DTSTAMP:20300101T000000Z', "DTSTART:$start", "DTEND:$end",
		$more // (), 'END:VEVENT', 'END:VCALENDAR', '');

	$text =~ s/\n/\r\n/g;
	return $text;
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

# Have a calendar read, and return what the wait says.
sub sync
{
	my ($calendar) = @_;
	return decode_json(
		$session->query("CALL booking_sync_wait('t', '$calendar')"));
}

# What is known of a calendar: name of the object, its version, its start.
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

foreach my $kind (qw(radicale xandikos))
{
	my $server = Booking::Caldav->new($kind);
	my $c = "$kind-a";

	attach($session, $server, $server->url, $kind, $c);
	put($server, "/user/$c/e$_.ics",
		event("e$_", "203005" . sprintf('%02d', $_) . "T100000Z", "203005" . sprintf('%02d', $_) . "T110000Z"))
	  for 1 .. 5;
	is_deeply(sync($c), { watermark => 1, events => 5, problem => undef },
		"$kind: the first round");
	is_deeply(known($c), truth($server, $c), "$kind: it knows all events");
}
$node->stop;
done_testing();
