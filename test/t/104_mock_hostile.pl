# test/t/104_mock_hostile.pl
#
# Whoever may write into a calendar of Google or Microsoft that we read, or stands
# between us and them, may send anything: events of every bad shape beside forty
# that are good, answers that are none, pages that lead in a circle, lists without an
# end, links to somebody else, and calendars of a hundred thousand events (fewer in
# the reduced run).  The worker stays one and the same, its memory grows by less than
# 64 MB above what it has idle, what is bad is a problem of its own, and everything
# else is right.  128 tells the same of CalDAV.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Stub;
use HTTP::Tiny;
use IPC::Run ();
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $large = size(4_000, 100_000);
my $bound_kb = 64 * 1024;
my $good = 40;
my $port = PostgreSQL::Test::Cluster::get_free_port();
my ($told, $errors) = ('', '');
my $server = IPC::Run::start([ 'python3', "$FindBin::RealBin/hostile_web.py", $port ],
	'<', \undef, '>', \$told, '2>', \$errors,
	IPC::Run::timer($PostgreSQL::Test::Utils::timeout_default * 10));

$server->pump until $told =~ /\n/;
my ($shapes, $listings) = @{ decode_json($told) }{qw(shapes listings)};

# What a listing as a whole comes to: '' if it is read.
my %problem = (
	(map { $_ => 'answer_unreadable' } @$listings),
	list_array => { google => 'answer_unreadable', graph => 'answer_incomplete' },
	list_large => 'answer_too_large',
	list_numbers => 'answer_too_large',
	list_string => { google => 'answer_unreadable', graph => 'answer_incomplete' },
	list_same => '',
	list_many => '',
	list_both => 'answer_incomplete',
	list_token => 'answer_incomplete',
	list_same_page => 'no_progress',
	list_circle => 'listing_endless',
	list_endless => 'listing_endless',
	list_growing => 'listing_endless',
	list_elsewhere => { google => 'no_progress', graph => 'origin_mismatch' });

# Those that take many pages to be known for what they are: a thousand that are
# empty, or a million events.
my @long = grep { /endless|growing/ } @$listings;
my @listings = grep { !/endless|growing/ } @$listings;

my ($node, $session, $kind, $pid, $idle);

sub memory
{
	my ($peak) = slurp_file("/proc/$pid/status") =~ /^VmHWM:\s+(\d+) kB$/m;
	return $peak;
}

sub cursor
{
	my ($calendar, $column) = @_;

	return $session->query(
		"SELECT k.$column FROM booking.cursor k JOIN booking.calendar c USING (calendar_id)"
		  . " WHERE c.calendar = '$calendar'");
}

# Have calendars read, and wait until they are or have failed.
sub read_all
{
	my (@calendars) = @_;

	foreach my $calendar (@calendars)
	{
		my $remote = $kind eq 'google' ? $calendar : "$calendar/room";

		$session->query("SELECT booking_calendar_put('t', '$calendar', 'a', '$remote', 'room', 'busy')");
		$session->query("SELECT booking_sync('t', '$calendar')");
	}
	wait_until(
		'they are read',
		sub {
			$session->query("SELECT count(*) FROM booking.cursor JOIN booking.calendar USING (calendar_id)"
				  . " WHERE calendar = ANY ('{" . join(',', @calendars) . "}') AND (watermark > 0 OR failures > 0)")
			  == @calendars;
		});
	return;
}

# Assert what listings come to.
sub are_problems
{
	my (@calendars) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	foreach my $calendar (@calendars)
	{
		my $expected = $problem{$calendar};

		$expected = $expected->{$kind} if ref $expected;
		is(cursor($calendar, 'problem'), $expected eq '' ? '\N' : $expected, "$kind, $calendar");
	}
	return;
}

# What has failed would be read again and again.
sub remove
{
	my (@calendars) = @_;

	$session->query("SELECT booking_calendar_remove('t', '$_')") foreach @calendars;
	return;
}

# Good events of a calendar that are known as they are.
sub right
{
	my ($calendar, $name) = @_;

	return $session->query(<<"EOQ");
SELECT count(DISTINCT object) FROM booking.event e JOIN booking.calendar c USING (calendar_id)
 WHERE c.calendar = '$calendar' AND object LIKE '$name%' AND busy AND problem IS NULL
   AND during = '[2030-05-01 10:00+00, 2030-05-01 11:00+00)'
EOQ
}

sub survives
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $grown = memory() - $idle;

	is(worker_pid($session), $pid, "$kind, $what: one worker");
	cmp_ok($grown, '<', $bound_kb, "$kind, $what: its memory");
	figure("memory above idle, $kind, $what, kB", $grown);
	return;
}

foreach (qw(google graph))
{
	$kind = $_;
	($node, $session) = worker_node($kind, conf => <<'EOC');
max_wal_size = 4GB
fsync = off
shared_buffers = 1MB
log_min_messages = warning
booking.sync_future = '3650d'
booking.poll_interval = 1
EOC
	$session->query($_) foreach (
		"SELECT booking_account_put('t', 'a', '$kind', 'http://127.0.0.1:$port/"
		  . ($kind eq 'google' ? '' : 'v1.0') . "')",
		"SELECT booking_credential_put('t', 'a', '{\"type\": \"bearer\", \"token\": \"x\"}')",
		"SELECT booking_resource_put('t', 'room')");
	wait_until('the worker waits', sub { worker_status($session) eq 'idle' });
	$pid = worker_pid($session);
	$idle = memory();

	read_all(@$shapes);
	foreach my $shape (@$shapes)
	{
		is(cursor($shape, 'failures') . ' ' . right($shape, 'good'),
			"0 $good", "$kind, $shape: what is good beside it is right");
	}
	is($session->query('SELECT max(jsonb_array_length(attendees)) FROM booking.event'),
		500, "$kind: a fixed number of attendees is kept");
	cmp_ok($session->query('SELECT max(pg_column_size(e.*)) FROM booking.event e'),
		'<', 100_000, "$kind: and of nothing very much");
	survives('bad events');

	read_all(@listings);
	are_problems(@listings);
	is(right('list_same', 'same'), 1, "$kind: what is told five thousand times is there once");
	is(right('list_many', 'e'), 5_000, "$kind: a page may be larger than it was wished");
	remove(@listings);
	foreach my $listing (@long)
	{
		next if !$ENV{BOOKING_TEST_LONG} && "$kind $listing" ne 'google list_endless';
		read_all($listing);
		are_problems($listing);
		remove($listing);
	}
	survives('bad listings');

	my $begin = time();

	read_all($large);
	figure("seconds for $large events, $kind", sprintf('%.1f', time() - $begin));
	is(right($large, 'e'), $large, "$kind: $large events are right");
	survives("$large events");
	is(HTTP::Tiny->new->get("http://127.0.0.1:$port/_log")->{content},
		'[]', "$kind: nothing went to where a link led");
	is_clean($session, $kind);
	$session->quit;
	$node->stop('fast');
}
$server->kill_kill(grace => 5);

done_testing();
