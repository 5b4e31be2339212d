# test/t/135_memory.pl
#
# A worker lives for as long as its server, so whatever it leaves behind of an
# operation adds up.  100,000 operations (fewer in the reduced run) pass through
# one worker: creates, updates, cancels, and among them requests whose answer is
# lost and that are looked up.  Its own memory may grow by 16 MB in all, less
# than 170 bytes an operation; shared memory, which fills as tables are read,
# does not count.  Afterwards every event is there once.
#
# The calls that want these operations look rows up by their keys, so that the
# server never finds one of their statements so dear that it compiles it.
#
# Proves the memory line of the worker's acceptance list.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::CalendarStub;
use Booking::Stub;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $operations = size(4_000, 100_000);
# the reduced run is short beside one large round, which keeps 1 MB for the next
my $bound_kb = size(2_048, 16_384);
my $warm = 1_000;
my $batch = 250;

my $stub = Booking::CalendarStub->new;
my ($node, $session) = worker_node(
	'main', conf => "max_wal_size = 4GB\nfsync = off\nlog_min_messages = warning\n");

$stub->attach($session);
$session->query(<<'EOQ');
CREATE FUNCTION created(name text) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT EXISTS (SELECT FROM booking.intent
		WHERE tenant = 't' AND principal = 'p' AND intent = name AND state = 'created')
$$
EOQ
$stub->ask('lose/101');

# asks what the calls' own session must not
my $observer = session($node);
wait_until('the worker waits', sub { worker_status($session) eq 'idle' });
my $pid = worker_pid($session);

# The nth quarter of an hour in a span of time of its own.
sub during
{
	my ($n, $from) = @_;
	return "tstzrange('$from'::timestamptz + $n / 64 * interval '15 minutes', "
	  . "'$from'::timestamptz + ($n / 64 + 1) * interval '15 minutes')";
}

# Want new events, move half of those of two batches ago, cancel the others, and
# cancel what was moved four batches ago.  What is still to be looked up by then
# stays as it is.
sub want
{
	my ($first) = @_;
	my $created = during('n', '2030-01-01 00:00+00');
	my $moved = during('n', '2050-01-01 00:00+00');
	my @calls = (
		[
			$first, 'true',
			"booking_claim('t', 'p', 'e' || n, 'cal' || n % 64, $created, "
			  . "terms => '{\"event\": {\"summary\": \"memory\"}}')"
		],
		[
			$first - 2 * $batch, "n % 2 = 0 AND created('e' || n)",
			"booking_claim('t', 'p', 'm' || n, 'cal' || n % 64, $moved, "
			  . "terms => '{\"event\": {\"summary\": \"moved\"}}', supersedes => 'e' || n)"
		],
		[
			$first - 2 * $batch, "n % 2 = 1 AND created('e' || n)",
			"booking_cancel('t', 'p', 'e' || n)"
		],
		[ $first - 4 * $batch, "created('m' || n)", "booking_cancel('t', 'p', 'm' || n)" ]);

	foreach my $call (@calls)
	{
		my ($from, $condition, $what) = @$call;
		my $answers = $session->query(<<"EOQ");
SELECT string_agg(DISTINCT disposition, ' ') FROM (
	SELECT ($what).disposition FROM generate_series($from, $from + $batch - 1) n
	 WHERE $condition) d
EOQ

		die "unexpected answers: $answers" if $answers !~ /^(?:committed|canceled|\\N)$/;
	}
	return;
}

sub confirmed
{
	return $observer->query(
		"SELECT count(*) FROM booking.operation WHERE state = 'confirmed'");
}

# Operations under way; lost answers are looked up a second later, and need not
# be waited for.
sub open_operations
{
	return $observer->query(
		"SELECT count(*) FROM booking.operation WHERE state NOT IN ('confirmed', 'dropped', 'rejected')"
	);
}

# Memory of the worker's own, in kB.
sub memory
{
	my ($rss) = slurp_file("/proc/$pid/status") =~ /^RssAnon:\s+(\d+) kB$/m;
	return $rss;
}

my $begin = time();
my $wanted = 0;

# Let operations pass until so many are confirmed.
sub pass_through
{
	my ($target) = @_;

	while (confirmed() < $target)
	{
		want($wanted);
		$wanted += $batch;
		wait_until('most are done', sub { open_operations() < $batch / 10 });
	}
	return;
}

pass_through($warm);
my $before = memory();
my $confirmed_before = confirmed();
pass_through($operations);
wait_until('all are done', sub { open_operations() == 0 });
my $after = memory();
my $passed = confirmed();

is($observer->query(
		"SELECT string_agg(DISTINCT state, ' ') FROM booking.operation"),
	'confirmed', 'all operations are confirmed');
is($observer->query(<<'EOQ'), "cancel\ncreate\nupdate", 'of all kinds, lookups among them');
SELECT o.kind FROM booking.operation o JOIN booking.attempt a USING (operation_id)
 WHERE a.phase = 'lookup' AND a.mark IN ('done', 'equal', 'absent')
 GROUP BY o.kind ORDER BY o.kind
EOQ
is(worker_pid($observer), $pid, 'they went through one worker');
cmp_ok($after - $before, '<', $bound_kb,
	"memory grew by less than $bound_kb kB from operation $confirmed_before to $passed");
figure('operations through one worker', $passed);
figure('growth of its memory, kB', $after - $before);
figure('operations a second', sprintf('%.0f', $passed / (time() - $begin)));

unlike(slurp_file('/proc/' . $session->backend_pid . '/maps'),
	qr/llvmjit/, 'no statement of the calls was compiled');

my %figures = $stub->figures;
is($figures{stored},
	$observer->query("SELECT count(*) FROM booking.intent WHERE state = 'created'"),
	'every event is there');
is($figures{twice}, 0, 'and none was sent again while it was there');
is_clean($observer, 'at the end');

$session->quit;
$observer->quit;
$node->stop('fast');
$stub->stop;

done_testing();
