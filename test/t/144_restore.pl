# test/t/144_restore.pl
#
# A database that was restored to an earlier time does not know its last
# bookings; their events are in the calendar.  They are orphans: listed with what
# may be done, left alone, and in nobody's way but for the unit that each takes.
# Booking the same again makes the same id, so each new booking takes its own
# event over, and there is never a second one.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($node, $session) =
  provider_node('main', conf => "booking.sync_future = '3650d'\n");
my $server = Booking::Caldav->new('radicale');
my $created = 'created confirmed create confirmed';

# A day of the test, hours from and until.
sub during
{
	my ($from, $until) = @_;
	return sprintf("'[2030-05-01 %02d:00+00, 2030-05-01 %02d:00+00)'", $from, $until // $from + 1);
}

sub claim
{
	my ($intent, $resource, $hour, $more) = @_;
	return $session->query(
		"SELECT disposition FROM booking_claim('t', 'p', '$intent', '$resource', ${\during($hour)}, terms => '{\"event\": {\"summary\": \"$intent\"}}'${\($more // '')})"
	);
}

# Have a calendar read; the problem of the round, if there was one.
sub sync
{
	my ($calendar) = @_;
	return decode_json($session->query("CALL booking_sync_wait('t', '$calendar')"))->{problem};
}

# Orphans in booking.recovery: hour and calls.
sub orphans
{
	return $session->query(<<'EOQ');
SELECT coalesce(string_agg(concat_ws(' ', calendar, to_char(lower(during) AT TIME ZONE 'UTC', 'HH24'), intent,
	nullif(array_to_string(array_remove(calls, format('SELECT booking_sync(%L, %L)', tenant, calendar)), ' '), '')), '; ' ORDER BY calendar, lower(during)), '')
  FROM booking.recovery WHERE kind = 'orphan'
EOQ
}

# One room that holds five, one that holds one; what was booked before the copy
# was taken, and after it.
attach($session, $server, $server->url, 'main', 'hall', 'room');
$session->query("SELECT booking_resource_put('t', 'hall', 5)");
$session->query("SELECT booking_resource_put('t', 'room', 1)");
is(claim('early', 'hall', 9), 'committed', 'booked before the copy');
is(wait_state($session, 'early', $created), $created, 'and written');

my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
{
	local $ENV{PGOPTIONS} = '-c booking.dump_secrets=on';

	$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, $node->connstr('postgres') ], 'the copy is taken');
}
my @late = map { [ "late-$_", 'hall', 9 ] } 1 .. 3;

push @late, [ 'moved', 'hall', 12 ], [ 'single', 'room', 9 ], [ 'next', 'room', 10 ], [ 'first', 'room', 15 ];
foreach (@late)
{
	is(claim(@$_), 'committed', "$_->[0] is booked after it");
	is(wait_state($session, $_->[0], $created), $created, "$_->[0]: and written");
}
is(claim('second', 'room', 17, ", supersedes => 'first'"), 'committed', 'one is moved by a call');
is(wait_state($session, 'second', 'created confirmed update confirmed'), 'created confirmed update confirmed', 'and so is its event');
my %before = (%{ $server->list('/user/hall/') }, %{ $server->list('/user/room/') });
is(scalar(keys %before), 8, 'eight events');
my ($moved) = grep { $_->{summary} eq 'moved' } values %before;
$server->edit($moved->{href}, sub { s/T120000Z/T140000Z/; s/T130000Z/T150000Z/ });

# The database is lost, and restored.
$session->query('DROP EXTENSION booking CASCADE');
$session->query('CREATE DATABASE restored TEMPLATE template0');
$node->command_ok([ 'pg_restore', '-d', $node->connstr('restored'), $dump ], 'the copy is restored');
$session = session($node, dbname => 'restored');
$session->query('SET client_min_messages = error');
$session->query('SELECT booking_arm()');
is($session->query("SELECT string_agg(intent, ' ' ORDER BY intent) FROM booking.intent"), 'early', 'it knows what was booked before');

#
# They are orphans
#
is(sync($_), undef, "$_ is read") foreach qw(hall room);
is( orphans(),
	join('; ',
		(map { "hall $_ SELECT booking_claim('t', :'principal', :'intent', 'hall', '[\"2030-05-01 $_:00:00+00\",\"2030-05-01 ${\($_ + 1)}:00:00+00\")')" =~ s/ 9:/ 09:/r =~ s/hall 9/hall 09/r } 9, 9, 9, 14),
		(map { my $h = sprintf('%02d', $_); my $u = $_ + 1; "room $h SELECT booking_claim('t', :'principal', :'intent', 'room', '[\"2030-05-01 $h:00:00+00\",\"2030-05-01 $u:00:00+00\")')" } 9, 10, 17)),
	'each is an orphan, with the call that takes it over');
is($session->query("SELECT state FROM booking.intent WHERE intent = 'early'"), 'created', 'what was known stands');
is_deeply([ sort keys %{ { %{ $server->list('/user/hall/') }, %{ $server->list('/user/room/') } } } ],
	[ sort keys %before ], 'they are left alone');

#
# In the way of others, by the unit that each takes
#
is(claim('other', 'room', 9), 'resource_conflict', 'the room is taken where an orphan lies');
is($session->query("SELECT string_agg(lower(f)::text, ',' ORDER BY f) FROM booking_free('t', 'p', '{room}', ${\during(9, 12)}, '1h') f")
	  =~ s/ /T/gr,
	$session->query("SELECT '2030-05-01 11:00+00'::timestamptz::text") =~ s/ /T/r, 'and not free');
is(claim('fits', 'hall', 9), 'committed', 'a hall that holds five has room beside three of them and one');
is(wait_state($session, 'fits', $created), $created, 'which is written');
is(claim('too many', 'hall', 9), 'resource_conflict', 'but for one more');

#
# Booked again: each takes over its own
#
foreach (grep { $_->[0] =~ /late|single|next/ } @late)
{
	is(claim(@$_), 'committed', "$_->[0] is booked again, though its event is there");
	is(wait_state($session, $_->[0], $created), $created, "$_->[0]: has its event");
}
is(claim('first', 'room', 15), 'committed', 'the one that was moved by a call, as it was at first');
is(wait_state($session, 'first', 'unknown needs_operator create parked event_changed'),
	'unknown needs_operator create parked event_changed', 'its event is elsewhere: a person decides');
is( $session->query("SELECT state FROM booking_resolve('t', 'p', 'first', 'adopt', '{\"seen by\": \"ann\"}')"),
	'created', 'adopted');
is(claim('moved', 'hall', 12), 'committed', 'likewise the one that somebody moved');
is(wait_state($session, 'moved', 'unknown needs_operator create parked event_changed'),
	'unknown needs_operator create parked event_changed', 'a person decides');
like(
	$session->query("SELECT calls[3] FROM booking.recovery WHERE intent = 'moved'"),
	qr/^SELECT booking_resolve\('t', 'p', 'moved', 'adopt', '\{.*\}'\)$/, 'with the call that is at hand');
$session->query("SELECT booking_resolve('t', 'p', 'moved', 'adopt', '{\"seen by\": \"ann\"}')");
is(sync($_), undef, "$_ is read again") foreach qw(hall room);
is_row(
	$session,
	"SELECT state, during = ${\during(14)} FROM booking_list('t', 'p') WHERE intent = 'moved'",
	[ 'created', 't' ],
	'what was adopted is where its event is');
is_row(
	$session,
	"SELECT state, during = ${\during(17)} FROM booking_list('t', 'p') WHERE intent = 'first'",
	[ 'created', 't' ],
	'so is the other one');
is(orphans(), '', 'no orphan is left');
my %after = (%{ $server->list('/user/hall/') }, %{ $server->list('/user/room/') });
delete $after{$_} foreach keys %before;
is(join(' ', map { $_->{summary} } values %after), 'fits', 'and no event was made that was there');
is($session->query('SELECT count(*) FROM booking.conflict WHERE resolved_at IS NULL'), '0', 'no conflict is open');

# what is put back after its booking has ended is an orphan that nobody adopts
my $body = $server->demand('GET', $after{ (keys %after)[0] }{href})->{content};
$session->query("SELECT booking_cancel('t', 'p', 'fits')");
is(wait_state($session, 'fits', 'canceled confirmed cancel confirmed'), 'canceled confirmed cancel confirmed', 'one is canceled');
$server->demand(
	'PUT', (values %after)[0]{href},
	headers => { 'Content-Type' => 'text/calendar; charset=utf-8' },
	body => $body);
sync('hall');
is(orphans(), 'hall 09 fits', 'put back it is an orphan, to be deleted by hand');
is_clean($session, 'at the end');

done_testing();
