# test/t/165_reads.pl
#
# Bookings that are read at their source.  An appointment that a delivery of
# Acuity names is fetched and applied.  What Cal.com and Calendly list is compared
# with what they delivered: a delivery that never came is found, page by page,
# and applied as it would have been, and one that comes late after all changes
# nothing.  An answer that was lost is asked for again, one that asks to wait is
# waited for, a credential that is refused parks the reading of its source and is
# shown in booking.recovery, and what is refused for good is a dead letter with a
# reason.  Nothing is asked for where our rules forbid it, and no secret is shown.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Scheduler;
use Digest::SHA qw(hmac_sha256_base64 hmac_sha256_hex);
use JSON::PP;
use POSIX 'strftime';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $json = JSON::PP->new->canonical;
my $mock = Booking::Scheduler->new;
my $node = booking_node('main',
	conf => "shared_preload_libraries = 'booking'\nbooking.insecure_hosts = '127.0.0.1'\n"
	  . "booking.allowed_networks = '127.0.0.0/8'\nrestart_after_crash = on\n");
my $session = session($node);
my $offset = 0;

$session->query('CREATE EXTENSION booking CASCADE');
$session->query("SELECT booking_resource_put('t', r, 32767) FROM unnest(ARRAY['room', 'desk', 'hall']) r");
$session->query("SELECT booking_consumer_put('t', 'watch')");

# Let time pass for the worker, and for whoever delivers.
sub later
{
	my ($seconds) = @_;

	$offset += $seconds;
	$session->query("ALTER SYSTEM SET booking.clock_offset = $offset");
	$session->query('SELECT pg_reload_conf()');
	wait_until('the clock is another one', sub { $session->query('SHOW booking.clock_offset') =~ /^$offset|^\d/ && $session->query("SELECT setting FROM pg_settings WHERE name = 'booking.clock_offset'") == $offset });
	return;
}

# An instant as web services write it, in seconds from now by that clock.
sub iso
{
	my ($seconds, $fraction) = @_;
	return strftime('%Y-%m-%dT%H:%M:%S', gmtime(time() + $offset + $seconds)) . ($fraction // '.000') . 'Z';
}

# An hour of 2030.
sub hour
{
	my ($n) = @_;
	return sprintf('2030-%02d-%02dT%02d:00:00', 1 + int($n / 672), 1 + int($n / 24) % 28, $n % 24);
}

sub source
{
	my ($name, $kind, $settings) = @_;

	$session->query("SELECT booking_webhook_source_put('t', '$name', '$kind', " . sql_literal(encode_json($settings // {})) . ')');
	$session->query("SELECT booking_webhook_secret_put('$name', 'secret of $name')");
	$session->query("SELECT booking_webhook_map('$name', '*', 'room')");
	return;
}

sub credential
{
	my ($name, $credential, $base) = @_;
	return sprintf("SELECT booking_webhook_credential_put('%s', %s, %s)", $name, sql_literal(encode_json($credential)), sql_literal($base));
}

# A booking of a source: state, hours, room.
sub booked
{
	my ($source, $booking) = @_;
	return $session->query(
		"SELECT concat_ws(' ', b.state, i.state, to_char(lower(i.during) AT TIME ZONE 'UTC', 'MM-DD HH24'), i.resources[1])"
		  . " FROM booking.webhook_booking b LEFT JOIN booking.intent i ON i.principal = b.source AND i.intent = b.intent AND i.state <> 'canceled'"
		  . " WHERE b.source = '$source' AND b.booking = " . sql_literal($booking));
}

sub until_booked
{
	my ($source, $booking, $want) = @_;
	wait_until("$booking is $want", sub { booked($source, $booking) eq $want });
	return;
}

# Kilobytes that the worker has taken for itself.
sub worker_memory
{
	my $pid = $session->query("SELECT pid FROM pg_stat_activity WHERE application_name = 'booking worker'");
	my ($kilobytes) = slurp_file("/proc/$pid/status") =~ /^RssAnon:\s+(\d+)/m;
	return $kilobytes;
}

sub reader
{
	my ($source, $columns) = @_;
	return $session->query("SELECT concat_ws(' ', $columns) FROM booking.webhook_reader WHERE source = '$source'");
}

# ----------------------------------------------------------------------------
# Acuity: a delivery names an appointment
# ----------------------------------------------------------------------------

my %appointments;

sub appointment
{
	my ($id, $hour, %more) = @_;

	# Acuity writes offsets without a colon, and lengths as strings
	$appointments{$id} = {
		id => $id + 0, firstName => 'Ann', datetime => hour($hour + 2) . '+0200', duration => '60', canceled => JSON::PP::false,
		appointmentTypeID => 4, calendarID => 9, endTime => '10:00am', %more
	};
	$mock->set(appointments => \%appointments);
	return;
}

my $acuity_n = 0;

sub told_by_acuity
{
	my ($id, $action, $source) = @_;
	my $body = "action=$action&id=$id&calendarID=9&appointmentTypeID=4&n=" . ++$acuity_n;
	my $mac = hmac_sha256_base64($body, 'secret of ' . ($source // 'acu'));
	return $session->query(sprintf(
		"SELECT verdict FROM booking_webhook_receive('%s', '{\"x-acuity-signature\": \"%s=\"}', convert_to(%s, 'UTF8'))",
		$source // 'acu', $mac, sql_literal($body)));
}

source('acu', 'acuity');
$session->query("SELECT booking_webhook_map('acu', '4', 'desk')");
appointment(101, 9);
is(told_by_acuity(101, 'scheduled'), 'accepted', 'a delivery of Acuity');
is_row($session, "SELECT state FROM booking.inbox WHERE source = 'acu'", ['read_wanted'], 'waits without a credential');
is($mock->asked('/acuity'), 0, 'and nothing is asked');

my $acuity = { type => 'basic', username => 'user', password => 'key' };
my $put = $session->try(credential('acu', $acuity, $mock->base('acuity')));
is($put->{error}, undef, 'a credential is put');
like($put->{notices}[0]{message} // "@{ $put->{notices} }", qr/stored unencrypted/, 'with a WARNING where there is no key');
until_booked('acu', '101', 'live committed 01-01 09 desk');
pass('the appointment is fetched and booked');
is_deeply([ map { $_->{path} } @{ $mock->look->{requests} } ], ['/acuity/appointments/101'], 'by one request');

appointment(101, 12);
told_by_acuity(101, 'rescheduled');
until_booked('acu', '101', 'live committed 01-01 12 desk');
pass('it is moved');
appointment(101, 12, canceled => JSON::PP::true);
told_by_acuity(101, 'canceled');
until_booked('acu', '101', 'ended');
pass('and canceled');

appointment(102, 9);
told_by_acuity(102, 'scheduled');
until_booked('acu', '102', 'live committed 01-01 09 desk');
$mock->fault('GET /acuity/appointments/102', 'proxy404');
told_by_acuity(102, 'changed');
wait_until('the answer is recorded', sub { reader('acu', 'tries, problem') eq '1 status_404' });
is(booked('acu', '102'), 'live committed 01-01 09 desk', 'that a proxy knows no such page ends no booking');
delete $appointments{102};
$mock->set(appointments => \%appointments);
later(10);
until_booked('acu', '102', 'ended');
pass('that Acuity knows no such appointment does');
is(reader('acu', 'tries, problem'), '0', 'the row of failures has ended');

# who reads from outside takes the same queue, and what is told twice is one
appointment(103, 9);
$mock->set(held => JSON::PP::true);
$mock->fault('GET /acuity/appointments/103', 'held');
told_by_acuity(103, 'scheduled');
wait_until('it is asked for', sub { $mock->asked('/acuity/appointments/103') == 1 });
is_row($session, "SELECT booking_webhook_read_done('acu', delivery, jsonb_build_object('resource', '4', 'start', '2030-01-01T15:00:00Z', 'end', '2030-01-01T16:00:00Z')) FROM booking_webhook_reads('acu')",
	['applied'], 'somebody else reads it meanwhile');
$mock->set(held => JSON::PP::false);
wait_until('the answer came', sub { reader('acu', "next_at < now() + interval '$offset s'") eq 't' });
is(booked('acu', '103'), 'live committed 01-01 15 desk', 'then the answer changes nothing');

# ----------------------------------------------------------------------------
# Answers that are none
# ----------------------------------------------------------------------------

my $id = 200;

foreach my $case (
	[ 503, 'status_503', 3, 7 ],
	[ [ 429, 30 ], 'status_429', 25, 31 ],
	[ 'lost', undef, 3, 7, 2 ],		# libcurl itself asks again on a new connection
	[ 'garbage', 'answer_unreadable', 3, 7 ],
	[ 'empty', 'answer_unreadable', 3, 7 ],
	[ 'huge', undef, 3, 7 ])
{
	my ($action, $problem, $least, $most, $times) = @$case;
	my $name = ref $action ? $action->[0] : $action;

	appointment(++$id, 9);
	$mock->fault("GET /acuity/appointments/$id", $action, $times // 1);
	told_by_acuity($id, 'scheduled');
	wait_until('the failure is recorded', sub { reader('acu', 'tries') eq '1' });
	my ($wait, $told) = $session->row("SELECT extract(epoch FROM next_at - clock_timestamp())::integer - $offset, problem FROM booking.webhook_reader WHERE source = 'acu'");
	cmp_ok($wait, '>=', $least - 2, "$name: it waits long enough");
	cmp_ok($wait, '<=', $most, "$name: and no longer than that");
	is($told, $problem, "$name: the problem is shown") if defined $problem;
	later($most + 1);
	until_booked('acu', $id, 'live committed 01-01 09 desk');
	is($mock->asked("/acuity/appointments/$id"), ($times // 1) + 1, "$name: it is asked for again, once");
}

appointment(++$id, 9);
$mock->fault("GET /acuity/appointments/$id", 400);
told_by_acuity($id, 'scheduled');
wait_until('it is a dead letter', sub { $session->query("SELECT concat_ws(' ', state, reason) FROM booking.inbox WHERE booking = '$id'") eq 'failed read_refused' });
appointment(++$id, 9, duration => 'long');
told_by_acuity($id, 'scheduled');
wait_until('it is a dead letter', sub { $session->query("SELECT concat_ws(' ', state, reason) FROM booking.inbox WHERE booking = '$id'") eq 'failed no_time' });
pass('what is refused, or of no use, is a dead letter with a reason');
appointment($id, 9);
is_row($session, "SELECT deliveries FROM booking_webhook_replay_list('acu', ARRAY(SELECT delivery FROM booking.inbox WHERE booking = '$id'))",
	[1], 'a replay');
until_booked('acu', $id, 'live committed 01-01 09 desk');
pass('asks for it again');

# a credential that is refused
$mock->set(basic => [ 'user', 'another key' ]);
appointment(++$id, 9);
told_by_acuity($id, 'scheduled');
wait_until('it is parked', sub { reader('acu', 'parked') eq 't' });
my $asked = $mock->asked('/acuity');
is_row($session, "SELECT tenant, principal, kind, problem, calls[1] FROM booking.recovery WHERE kind = 'reading'",
	[ 't', 'acu', 'reading', 'status_401', "SELECT booking_webhook_credential_put('acu', :'credential')" ],
	'which booking.recovery shows, and what to do');
is(told_by_acuity($id + 1, 'scheduled'), 'accepted', 'deliveries are taken still');
later(7200);
is($mock->asked('/acuity'), $asked, 'and nothing is asked');
is_row($session, "SELECT count(*) FROM booking.inbox WHERE source = 'acu' AND state = 'read_wanted'", [2], 'they wait');
appointment($id + 1, 10);
$session->query(credential('acu', { %$acuity, password => 'another key' }, $mock->base('acuity')));
until_booked('acu', $id, 'live committed 01-01 09 desk');
until_booked('acu', ++$id, 'live committed 01-01 10 desk');
is($session->query("SELECT count(*) FROM booking.recovery WHERE kind = 'reading'"), 0, 'another credential ends that');

# our own rules
$session->query(credential('acu', $acuity, $mock->base('acuity') =~ s/127\.0\.0\.1/127.0.0.2/r));
$asked = $mock->asked('/acuity');
told_by_acuity($id, 'changed');
wait_until('it is refused', sub { reader('acu', 'tries') >= 1 });
is($mock->asked('/acuity'), $asked, 'plain HTTP to a host that is not allowed it: nothing is sent');
$session->query("SELECT booking_webhook_credential_remove('acu')");
fails_with($session, "SELECT booking_webhook_credential_remove('acu')", '42704', 'a credential is removed once');

# alarms
my $log = slurp_file($node->logfile);
like($log, qr/a webhook source cannot be read\n.*Tenant "t", source "acu": 1 in a row, the last one with status_503\./, 'the log has the alarm');
cmp_ok($session->query("SELECT count(*) FROM booking_changes('t', 'watch', 1000) WHERE kind = 'alarm' AND principal = 'acu' AND intent ~ '^alarm [0-9]+\$' AND revision = 1 AND detail ->> 'reason' = 'status_401'"),
	'==', 1, 'and so do the changes');

# ----------------------------------------------------------------------------
# Cal.com: bookings that were never delivered
# ----------------------------------------------------------------------------

my $day = size(60, 10_000);
my %calcom = map { $_ => calcom("n$_", 'accepted', $_ % 500, iso(-86_400 + int($_ / 20), '.123')) } 1 .. $day;

# A booking as Cal.com lists it.
sub calcom
{
	my ($uid, $status, $hour, $updated, %more) = @_;
	return {
		id => 7, uid => $uid, title => 'a talk', status => $status, start => hour($hour) . '.000Z', end => hour($hour + 1) . '.000Z',
		duration => 60, eventTypeId => 42, eventType => { id => 42, slug => 'talk' }, hosts => [ { id => 1, email => 'eve@example.org' } ],
		attendees => [ { email => 'ann@example.org' } ], createdAt => $updated, updatedAt => $updated, %more
	};
}

# The same as it delivers it.
sub delivered
{
	my ($event, $uid, $created, $hour, %more) = @_;
	my $body = $json->encode(
		{
			triggerEvent => "BOOKING_$event", createdAt => $created,
			payload => { uid => $uid, eventTypeId => 42, type => 'talk', startTime => hour($hour) . 'Z', endTime => hour($hour + 1) . 'Z', %more }
		});
	return $session->query(sprintf(
		"SELECT verdict FROM booking_webhook_receive('cal', '{\"x-cal-signature-256\": \"%s\"}', convert_to(%s, 'UTF8'))",
		hmac_sha256_hex($body, 'secret of cal'), sql_literal($body)));
}

# Wait for a whole listing behind the one before, and say what it found.
sub listed
{
	my ($source, $before) = @_;
	wait_until('all is listed', sub { reader($source, "listed_at > '$before' AND \"position\" IS NULL AND tries = 0 AND next_at < clock_timestamp() + interval '$offset s' + interval '1 s' AND pages > 0") eq 't' });
	return $session->query("SELECT found FROM booking.webhook_reader WHERE source = '$source'");
}

source('cal', 'calcom');
my %known = map { $_ => $calcom{$_} } grep { $_ % 3 == 0 } keys %calcom;
delivered('CREATED', $_->{uid}, $_->{updatedAt}, ($_->{uid} =~ s/n//r) % 500) foreach values %known;
my $missed = $day - keys %known;
my @bookings = (
	values %calcom,
	calcom('old', 'accepted', 1, iso(-4 * 86_400)),
	calcom('asked', 'pending', 2, iso(-50)),
	calcom('gone', 'cancelled', 3, iso(-49)),
	calcom('first', 'cancelled', 4, iso(-47), rescheduledToUid => 'second'),
	calcom('second', 'accepted', 5, iso(-48), rescheduledFromUid => 'first'));
delivered('CREATED', 'first', iso(-100), 4);
my $page = size(7, 40);
my $memory = worker_memory();
$mock->set(bookings => \@bookings, page_size => $page);
$mock->fault('GET /calcom/bookings', 503);
$session->query(credential('cal', { type => 'bearer', token => 'token' }, $mock->base('calcom')));
wait_until('the first page failed', sub { reader('cal', 'tries, problem') eq '1 status_503' });
later(10);
is(listed('cal', '-infinity'), $missed + 2, 'what never came is found, and what came is not');
is_row($session, "SELECT count(*), count(DISTINCT booking) FROM booking.inbox WHERE source = 'cal' AND verdict = 'found'",
	[ $missed + 2, $missed + 2 ], 'each once');
is_row($session, "SELECT count(*) FROM booking.webhook_booking WHERE source = 'cal' AND state = 'live' AND booking LIKE 'n%'", [$day], 'all are booked');
is(booked('cal', 'n1'), 'live committed 01-01 01 room', 'one that was found');
is(booked('cal', 'first'), 'ended', 'a reschedule that was missed: the first');
is(booked('cal', 'second'), 'live committed 01-01 05 room', 'and the second');
is(booked('cal', 'gone'), 'ended', 'a cancel of what nobody heard of');
is($session->query("SELECT count(*) FROM booking.webhook_booking WHERE booking IN ('old', 'asked')"), 0, 'what is old, or asked for, is not booked');
is((grep { length($_->{path}) > 300 } @{ $mock->look->{requests} }), 0, 'requests are short');
cmp_ok($mock->asked('/calcom/bookings'), '>=', ($day + 4) / $page, 'it came in pages');
cmp_ok(worker_memory() - $memory, '<', 16 * 1024, 'of which the worker holds one at a time');

# the next one finds nothing
my $rows = $session->query('SELECT count(*) FROM booking.inbox');
my $last = reader('cal', 'listed_at');
later(3700);
is(listed('cal', $last), $missed + 2, 'an hour later nothing is found');
is($session->query('SELECT count(*) FROM booking.inbox'), $rows, 'and nothing is kept of that');

# a delivery that comes late after all, in any order
my $before = $session->query("SELECT md5(string_agg(i::text, '' ORDER BY intent_id)) FROM booking.intent i");
is(delivered('CREATED', 'n1', $calcom{1}{updatedAt}, 1), 'duplicate', 'a late delivery is a copy');
is(delivered('CREATED', 'n2', iso(-90_000), 2), 'accepted', 'an older one');
is(delivered('CREATED', 'n4', iso(0), 4), 'accepted', 'and one that says the same by a later clock');
is(delivered('CREATED', 'gone', iso(0), 3), 'accepted', 'and a creation after the cancel');
is(delivered('CANCELLED', 'first', iso(0), 4), 'accepted', 'and the other half');
is($session->query("SELECT md5(string_agg(i::text, '' ORDER BY intent_id)) FROM booking.intent i"), $before, 'change nothing');
is(delivered('CANCELLED', 'n5', iso(0), 5), 'accepted', 'a cancel');
is(booked('cal', 'n5'), 'ended', 'does');

# a cancel and a move that were missed; what was told since stands
$calcom{7} = calcom('n7', 'cancelled', 7, iso(-5));
$calcom{8} = calcom('n8', 'accepted', 77, iso(-4));
$calcom{10} = calcom('n10', 'accepted', 10, iso(-3));
delivered('CREATED', 'n10', iso(10), 78);
$mock->set(bookings => [ values %calcom ], page_size => undef);
$last = reader('cal', 'listed_at');
later(3700);
listed('cal', $last);
is(booked('cal', 'n7'), 'ended', 'a cancel that was missed');
like(booked('cal', 'n8'), qr/^live committed 01-04 05 room/, 'a move that was missed');
like(booked('cal', 'n10'), qr/^live committed 01-04 06 room/, 'what was told later stands');
is(booked('cal', 'n5'), 'ended', 'what has ended does not come back');

# a listing goes on where it was, whoever goes on
$calcom{$_} = calcom("n$_", 'accepted', $_ % 500, iso(-2)) foreach $day + 1 .. $day + 20;
my @bookings_left = values %calcom;
$mock->set(bookings => \@bookings_left, page_size => 10, held => JSON::PP::true);
$mock->fault('GET /calcom/bookings', undef, 2);
$mock->fault('GET /calcom/bookings', 'held');
$asked = $mock->asked('/calcom');
$last = reader('cal', 'listed_at');
later(3700);
wait_until('the third page is asked for', sub { reader('cal', 'listed_at > ' . sql_literal($last) . ' AND pages = 2') eq 't' });
my $pid = $session->query("SELECT pid FROM pg_stat_activity WHERE application_name = 'booking worker'");
kill 'KILL', $pid;
$mock->set(held => JSON::PP::false);
wait_until('the server is up', sub { return eval { $session = session($node); $session->query('SELECT true') eq 't' } });
later(70);
listed('cal', $last);
is($mock->asked('/calcom') - $asked, reader('cal', 'pages') + 1, 'after a crash it goes on where it was');
is($session->query("SELECT count(*) FROM booking.webhook_booking WHERE source = 'cal' AND state = 'live' AND booking LIKE 'n%'"),
	$day + 20 - 2, 'and the rest is found');

# ----------------------------------------------------------------------------
# Calendly: invitees of events
# ----------------------------------------------------------------------------

my $api = 'https://api.calendly.com';
my %events;

# An event with its invitees, each [id, status, changed, more].
sub event
{
	my ($id, $hour, $changed, $status, @invitees) = @_;
	return {
		uri => "$api/scheduled_events/$id", name => 'a talk', status => $status, start_time => hour($hour) . '.000000Z',
		end_time => hour($hour + 1) . '.000000Z', event_type => "$api/event_types/TALK", updated_at => $changed,
		event_memberships => [ { user => "$api/users/EVE", user_email => 'eve@example.org' } ],
		invitees => [
			map {
				my ($invitee, $state, $at, %more) = @$_;
				{
					uri => "$api/scheduled_events/$id/invitees/$invitee", status => $state, email => 'ann@example.org', rescheduled => JSON::PP::false,
					created_at => $at, updated_at => $at, old_invitee => undef, new_invitee => undef, event => "$api/scheduled_events/$id", %more
				}
			} @invitees
		]
	};
}

sub invitee
{
	my ($event, $id) = @_;
	return "$api/scheduled_events/$event/invitees/$id";
}

source('caly', 'calendly', { tolerance => 604_800 });
$session->query("SELECT booking_webhook_map('caly', '$api/users/EVE', 'hall')");
$mock->set(page_size => 2,
	events => [
		event('E1', 1, iso(-100), 'active', [ 'i1', 'active', iso(-100) ]),
		event('E2', 2, iso(-5 * 86_400), 'active', [ 'i2', 'active', iso(-5 * 86_400) ]),
		event('E3', 3, iso(-90), 'active', map { [ "g$_", $_ == 2 ? 'canceled' : 'active', iso(-90) ] } 1 .. 5),
		event('E4', 4, iso(-80), 'canceled', [ 'i4', 'active', iso(-80) ]),
		event('E5', 5, iso(-70), 'canceled', [ 'i5', 'canceled', iso(-70), rescheduled => JSON::PP::true, new_invitee => invitee('E6', 'i6') ]),
		event('E6', 6, iso(-70), 'active', [ 'i6', 'active', iso(-70), old_invitee => invitee('E5', 'i5') ])
	],
	others => [ event('O1', 7, iso(-60), 'active', [ 'o1', 'active', iso(-60) ]) ]);
$session->query(credential('caly', { type => 'bearer', token => 'token' }, $mock->base('calendly')));
is(listed('caly', '-infinity'), 9, 'Calendly: what never came is found');
is(booked('caly', invitee('E1', 'i1')), 'live committed 01-01 01 hall', 'an invitee');
is(booked('caly', invitee("E3", "g$_")), $_ == 2 ? 'ended' : 'live committed 01-01 03 hall', "one of a group, $_") foreach 1 .. 5;
is(booked('caly', invitee('E4', 'i4')), 'ended', 'of an event that was canceled');
is(booked('caly', invitee('E5', 'i5')), 'ended', 'a reschedule: the first');
is(booked('caly', invitee('E6', 'i6')), 'live committed 01-01 06 hall', 'and the second');
is($mock->asked('/calendly/scheduled_events/E2/'), 0, 'events that did not change are not asked about');
is($session->query("SELECT count(*) FROM booking.webhook_booking WHERE booking LIKE '%O1%'"), 0, 'those of others are not');

my $body = $json->encode(
	{
		event => 'invitee.created', created_at => iso(-100), payload => {
			uri => invitee('E1', 'i1'), status => 'active', updated_at => $session->query("SELECT convert_from(body, 'UTF8')::jsonb #>> '{payload,updated_at}' FROM booking.inbox WHERE booking = '" . invitee('E1', 'i1') . "'"),
			scheduled_event => { event_type => "$api/event_types/TALK", start_time => hour(1) . 'Z', end_time => hour(2) . 'Z', event_memberships => [ { user => "$api/users/EVE" } ] }
		}
	});
my $t = time() + $offset;
is($session->query(sprintf(
		"SELECT verdict FROM booking_webhook_receive('caly', '{\"calendly-webhook-signature\": \"t=%s,v1=%s\"}', convert_to(%s, 'UTF8'))",
		$t, hmac_sha256_hex("$t.$body", 'secret of caly'), sql_literal($body))),
	'duplicate', 'a delivery that comes late is a copy');
is($session->query("SELECT count(*) FROM booking.inbox WHERE source = 'caly'"), 9, 'and leaves nothing');

# of the whole organization, for its administrators
$session->query("SELECT booking_webhook_source_put('t', 'caly', settings => '{\"tolerance\": 604800, \"organization\": true}')");
later(3700);
wait_until('it is refused', sub { reader('caly', 'parked, problem') eq 't status_403' });
$mock->set(admin => JSON::PP::true);
$session->query(credential('caly', { type => 'bearer', token => 'token' }, $mock->base('calendly')));
listed('caly', '-infinity');
is(booked('caly', invitee('O1', 'o1')), 'live committed 01-01 07 hall', 'an organization is listed as a whole');

# a page token that is not taken any more
$mock->fault('GET /calendly/scheduled_events?', 400);
$last = reader('caly', 'listed_at');
later(3700);
wait_until('it is refused', sub { reader('caly', 'problem') eq 'status_400' });
is(reader('caly', "coalesce(\"position\", 'none')"), 'none', 'a listing that is refused begins anew');
later(10);
wait_until('it is listed', sub { reader('caly', 'tries, "position"') eq '0' });
pass('and comes to its end');

# whoever writes to the calendar is read there; and nobody is where none is wished
$session->query("SELECT booking_webhook_source_put('t', 'caly', settings => '{\"by_calendar\": true}')");
$mock->set(page_size => undef);
$asked = $mock->asked('/calendly');
$last = reader('cal', 'listed_at');
later(3700);
listed('cal', $last);
is($mock->asked('/calendly'), $asked, 'what the calendar tells is not listed');
$session->query('ALTER SYSTEM SET booking.webhook_list_interval = 0');
$asked = $mock->asked('/calcom');
later(7300);
$session->query(credential('acu', { %$acuity, password => 'another key' }, $mock->base('acuity')));
appointment(++$id, 9);
told_by_acuity($id, 'scheduled');
until_booked('acu', $id, 'live committed 01-01 09 desk');
is($mock->asked('/calcom'), $asked, 'without an interval nothing is');
$log = slurp_file($node->logfile);
unlike($log, qr/another key|Bearer|SECRET-MESSAGE|ann\@example|"password"/, 'the log has no secret, and nothing of what came');

# ----------------------------------------------------------------------------
# Who may, and what is shown
# ----------------------------------------------------------------------------

$session->query("SELECT booking_webhook_source_put('t', 'std', 'standard')");
fails_with($session, credential('std', $acuity, undef), '0A000', 'not every sender can be asked');
fails_with($session, credential('nobody', $acuity, undef), '42704', 'a source must be there');
fails_with($session, credential('cal', $acuity, undef), '22023', 'a credential must be of its type');
fails_with($session, credential('cal', { type => 'bearer' }, undef), '22023', 'and whole');
fails_with($session, credential('cal', { type => 'bearer', token => "a\nb" }, undef), '22023', 'without control characters');
fails_with($session, credential('cal', { type => 'bearer', token => 'x' }, $_), '22023', "no URL: $_")
  foreach 'ftp://x/', 'https://user@x/', 'https://x/?q', '';
my $told = fails_with($session, credential('acu', { type => 'basic', username => 'user', password => '' , token => 'SECRET-TOKEN' }, undef), '22023', 'an error');
unlike($told->{text}, qr/SECRET-TOKEN/, 'does not repeat it');
$session->query('CREATE ROLE stranger LOGIN');
$session->query('GRANT EXECUTE ON FUNCTION booking_webhook_credential_put(text, jsonb, text), booking_webhook_credential_remove(text) TO stranger');
my $stranger = session($node, user => 'stranger');
fails_with($stranger, credential('cal', { type => 'bearer', token => 'x' }, undef), '42501', 'a stranger may not put one');
fails_with($stranger, "SELECT booking_webhook_credential_remove('cal')", '42501', 'nor remove it');
fails_with($stranger, 'SELECT secret FROM booking.webhook_credential', '42501', 'nor read it');
$session->query("SELECT booking_webhook_source_remove('cal')");
is($session->query("SELECT (SELECT count(*) FROM booking.webhook_reader WHERE source = 'cal') + (SELECT count(*) FROM booking.webhook_credential WHERE source = 'cal')"),
	0, 'a source that is removed is read no more');

is_deeply($mock->look->{complaints}, [], 'the mock has no complaint');
my $dump = qx{@{[ $node->config_data('--bindir') ]}/pg_dump -h @{[ $node->host ]} -p @{[ $node->port ]} postgres};
like($dump, qr/^COPY booking\.webhook_reader /m, 'what is read is dumped');
unlike($dump, qr/^COPY booking\.webhook_credential .*\n[^\\]/m, 'what it is read with is not');
is_clean($session, 'at the end');
$stranger->quit;

done_testing();
