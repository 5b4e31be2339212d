# test/t/105_mock_wire.pl
#
# What goes over the wire to Google and to Microsoft, byte for byte: method, path,
# query, headers and body of every request that a booking causes from its creation to
# its end, and nothing besides.  An update that moves an event does not repeat its
# guests, nobody is mailed who should not be, and no header tells more than it must.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::Mocked;
use Encode ();
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($node, $session, $kind, $place, $mock);
my $seen = 0;

# Requests since the last call, as text: the line, headers by name, body.  Headers
# that every request has are checked here and left out.
sub requests
{
	my @all = @{ $mock->look->{requests} };
	my @texts;

	foreach my $request (@all[ $seen .. $#all ])
	{
		my %left = map { $_->[0] => $_->[1] } @{ $request->{headers} };
		my $length = length Encode::encode_utf8($request->{body});
		my %fixed = (
			'Accept' => '*/*',
			'Authorization' => 'Bearer static',
			'Host' => $mock->url =~ s{^http://|/$}{}gr,
			'User-Agent' => 'booking',
			$length ? ('Content-Length' => $length) : (),
			$length ? ('Content-Type' => 'application/json; charset=utf-8') : ());

		is(scalar @{ $request->{headers} }, scalar keys %left, "$kind: no header twice");
		is(delete $left{$_}, $fixed{$_}, "$kind: $request->{method}, $_") foreach sort keys %fixed;

		# whatever this libcurl can unpack
		like(delete $left{'Accept-Encoding'}, qr/^[a-z, ]+$/, "$kind: $request->{method}, Accept-Encoding");
		push @texts,
		  join("\n", "$request->{method} $request->{path}",
			(map { "$_: $left{$_}" } sort keys %left),
			$length ? $request->{body} : ());
	}
	$seen = @all;
	return @texts;
}

# Assert the requests since the last call.
sub sent
{
	my ($name, @expected) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return is_deeply([ requests() ], \@expected, "$kind: $name");
}

sub claim
{
	my ($intent, $day, $event, $more) = @_;

	$session->query("SELECT booking_claim('t', 'p', '$intent', 'room',"
		  . " '[2030-05-0$day 10:00+00, 2030-05-0$day 10:30+00)', terms => '"
		  . encode_json({ event => $event }) . "'"
		  . ($more // '')
		  . ')');
	settle($node, $session);
	return;
}

my %google = (
	create => sub {
		my ($id, $notify, $day, $title, $guests) = @_;

		return "POST /calendars/room%40x/events?sendUpdates=$notify\n"
		  . qq({"id":"$id","summary":"$title",)
		  . qq("start":{"dateTime":"2030-05-0${day}T10:00:00Z"},)
		  . qq("end":{"dateTime":"2030-05-0${day}T10:30:00Z"},"transparency":"opaque",)
		  . ($guests ? '"attendees":[{"email":"ann@example.org","displayName":"Ann"}],' : '')
		  . qq("extendedProperties":{"private":{"bookingId":"$id","bookingSequence":"0"}}});
	},
	update => sub {
		my ($id, undef, $etag, $sequence, $day, $title) = @_;

		return "PATCH /calendars/room%40x/events/$id?sendUpdates=all\nIf-Match: $etag\n{"
		  . (defined $title ? qq("summary":"$title",) :
			  qq("start":{"dateTime":"2030-05-0${day}T10:00:00Z"},)
			. qq("end":{"dateTime":"2030-05-0${day}T10:30:00Z"},))
		  . qq("extendedProperties":{"private":{"bookingId":"$id","bookingSequence":"$sequence"}}});
	},
	cancel => sub {
		my ($id, undef, $etag) = @_;
		return "DELETE /calendars/room%40x/events/$id?sendUpdates=all\nIf-Match: $etag";
	},
	look_up => sub {
		my ($id) = @_;
		return (
			"GET /calendars/room%40x/events/$id",
			'GET /calendars/room%40x/events?fields=nextPageToken,items(id,status,'
			  . "extendedProperties%2Fprivate)&maxResults=10&privateExtendedProperty=bookingId%3D$id");
	},
	list => sub {
		return 'GET /calendars/room%40x/events?fields=nextPageToken,nextSyncToken,items('
		  . 'id,etag,status,start,end,transparency,sequence,iCalUID,eventType,recurringEventId,'
		  . 'originalStartTime,recurrence,organizer%2Femail,'
		  . 'attendees(email,responseStatus,optional,self),extendedProperties%2Fprivate)'
		  . '&maxResults=250&singleEvents=false';
	});

my $prefer = 'Prefer: IdType="ImmutableId"';
my $space = 'String {d0cab8b5-48e5-43ca-8591-90d542674ed2} Name ';
my $coded = 'String%20%7Bd0cab8b5-48e5-43ca-8591-90d542674ed2%7D%20Name%20';
my $fields = '$select=id,transactionId,subject,location,start,end,isAllDay,showAs,isCancelled,'
  . 'type,seriesMasterId,originalStart,originalStartTimeZone,originalEndTimeZone,organizer,'
  . 'attendees,responseStatus,isOnlineMeeting,onlineMeeting,iCalUId'
  . '&$expand=singleValueExtendedProperties($filter=id%20eq%20%27'
  . "${coded}bookingId%27%20or%20id%20eq%20%27${coded}bookingSequence%27)";

sub graph_times
{
	my ($day) = @_;
	return qq("start":{"dateTime":"2030-05-0${day}T10:00:00","timeZone":"UTC"},)
	  . qq("end":{"dateTime":"2030-05-0${day}T10:30:00","timeZone":"UTC"},"isAllDay":false,);
}

sub graph_marks
{
	my ($id, $sequence) = @_;
	return qq("singleValueExtendedProperties":[{"id":"${space}bookingId","value":"$id"},)
	  . qq({"id":"${space}bookingSequence","value":"$sequence"}]);
}

my %graph = (
	create => sub {
		my ($id, undef, $day, $title, $guests) = @_;

		return "POST /v1.0/users/desk%40x/calendars/room/events\n$prefer\n"
		  . qq({"transactionId":"$id","subject":"$title",)
		  . graph_times($day)
		  . '"showAs":"busy",'
		  . ($guests ? '"attendees":[{"emailAddress":{"address":"ann@example.org","name":"Ann"},"type":"required"}],' : '')
		  . graph_marks($id, 0) . '}';
	},
	update => sub {
		my ($id, $href, $etag, $sequence, $day, $title) = @_;

		return "PATCH /v1.0/users/desk%40x/events/$href\nIf-Match: $etag\n$prefer\n{"
		  . (defined $title ? qq("subject":"$title",) : graph_times($day))
		  . graph_marks($id, $sequence) . '}';
	},
	cancel => sub {
		my ($id, $href, $etag) = @_;
		return "DELETE /v1.0/users/desk%40x/events/$href\nIf-Match: $etag\n$prefer";
	},
	look_up => sub {
		my ($id, $day) = @_;
		my $calendar = 'GET /v1.0/users/desk%40x/calendars/room';

		return (
			"$calendar/events?$fields&\$top=50&\$filter=singleValueExtendedProperties%2FAny("
			  . "ep%3A%20ep%2Fid%20eq%20%27${coded}bookingId%27%20and%20ep%2Fvalue%20eq%20%27$id%27)\n$prefer",
			"$calendar/calendarView?startDateTime=2030-05-0${day}T10%3A00%3A00Z"
			  . "&endDateTime=2030-05-0${day}T10%3A30%3A01Z&$fields&\$top=100\n$prefer");
	},
	list => sub {
		my ($from, $until) = map { s/:/%3A/gr } @_;
		return 'GET /v1.0/users/desk%40x/calendars/room/calendarView/delta'
		  . "?startDateTime=$from&endDateTime=$until\n"
		  . "$prefer, odata.maxpagesize=100, outlook.body-content-type=\"text\"";
	});

my %texts = (google => \%google, graph => \%graph);

foreach (kinds())
{
	$kind = $_;
	($node, $session) = provider_node($kind);
	$place = mocked($session, $kind, settings => { busy_blocks => 'none' });
	$mock = $place->mock;
	$seen = 0;
	my $text = $texts{$kind};
	my %event = (
		summary => "Talk",
		notify => 'all',
		attendees => [ { email => 'ann@example.org', name => 'Ann' } ]);
	my $etag = sub { return ($mock->known((values %{ $place->events })[0]))[1] };

	claim('a', 1, \%event);
	my ($id, $href) = $place->ids('a');
	$href =~ s/=/%3D/;
	sent('a create that invites somebody', $text->{create}->($id, 'all', 1, 'Talk', 1));

	# narrow: neither guests nor what stays as it is
	my $was = $etag->();
	claim('b', 2, \%event, ", supersedes => 'a'");
	sent('an update of the time only', $text->{update}->($id, $href, $was, 1, 2));
	$was = $etag->();
	claim('c', 2, { %event, summary => 'Another' }, ", supersedes => 'b'");
	sent('an update of the title only', $text->{update}->($id, $href, $was, 2, undef, 'Another'));
	$was = $etag->();
	$session->query("SELECT booking_cancel('t', 'p', 'c')");
	settle($node, $session);
	sent('a cancel', $text->{cancel}->($id, $href, $was));

	# nobody is mailed of what nobody was invited to; an answer that is lost
	$mock->fault($place->create, 'drop_after');
	claim('d', 3, { summary => 'Alone' });
	($id) = $place->ids('d');
	sent('a create whose answer is lost, and the look for it',
		$text->{create}->($id, 'none', 3, 'Alone', 0), $text->{look_up}->($id, 3));

	$session->query("CALL booking_sync_wait('t', 'room')");
	my ($from, $until) = $session->row(<<'EOQ');
SELECT to_char(lower(within) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
	to_char(upper(within) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
  FROM booking.cursor
EOQ
	sent('a reading', $text->{list}->($from, $until));
	is_deeply([ map { $_->[0] } @{ $mock->look->{mails} // [] } ],
		$kind eq 'graph' ? [qw(invite update update cancel)] : [],
		"$kind: who is mailed by the provider itself");
	is_deeply($mock->look->{complaints}, [], "$kind: the mock has no complaint");
	is_clean($session, $kind);
	$session->quit;
	$node->stop;
}

done_testing();
