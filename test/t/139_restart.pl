# test/t/139_restart.pl
#
# When the worker comes back: at once after it was terminated, however often,
# and after a crash if it had done something before; later and later if it dies
# again and again without having done anything, and that although each such
# death restarts the server and clears its memory.  What it dies of is put away
# after booking.max_attempts.
#
# Proves R72 (the worker comes back), R71 (a failing start backs off), R78 (it may
# be ended at any stage), R35 (a poison row is parked) and the crash loop of
# DESIGN.md section 7.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Stub;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $stub = Booking::Stub->new;
my ($node, $session) = worker_node(
	'main',
	init => { allows_streaming => 1 },
	conf => "restart_after_crash = on\nbooking.poll_interval = '1h'\n");
my $file = $node->data_dir . '/pg_stat_tmp/booking.starts';

# Wait for a worker other than the one given; returns it and how long it took.
sub next_worker
{
	my ($old) = @_;
	my $begin = time();
	my $pid;

	wait_until(
		'there is a worker',
		sub {
			$session //= eval { session($node) };
			$pid = eval { worker_pid($session) };
			$session = undef unless defined $pid;
			return defined $pid && $pid ne '' && $pid ne $old;
		});
	return ($pid, time() - $begin);
}

# Kill the worker, and with it the server's memory.
sub crash
{
	my ($pid) = @_;

	kill('KILL', $pid) or die "kill: $!";
	wait_until('the server notices',
		sub { !eval { $session->sqlstate('SELECT 1') eq '00000' } });
	$session = undef;
	return;
}

# Lines of the file: one a database whose worker has not proved itself.
sub counted
{
	my @lines = -e $file ? split(/\n/, slurp_file($file)) : ();

	return scalar grep { /^\d+ \d+ -?\d+$/ } @lines;
}

#
# Terminated: at once, each time
#
$stub->client($session, 'a', 'store');
my ($pid, $took) = next_worker('');
foreach my $n (1 .. 6)
{
	$session->query("SELECT pg_terminate_backend($pid)");
	($pid, $took) = next_worker($pid);
	cmp_ok($took, '<', 4, "back after termination $n");
}

#
# Crashed after it did something: at once
#
foreach my $n (1 .. 3)
{
	claim($session, 'a', "work$n");
	is_settled($session, "work$n", 'create confirmed', "work $n is done");
	wait_until('that proves the worker', sub { counted() == 0 });
	crash($pid);
	($pid, $took) = next_worker($pid);
	cmp_ok($took, '<', 8, "back after a crash that followed work $n");
}

#
# Crashed, and crashed, and crashed: later and later
#
wait_until('it has lived for a while', sub { counted() == 0 });
pass('a worker that lives for a while has proved itself');
my $from = -s $node->logfile;
my @waits;
foreach my $n (1 .. 5)
{
	crash($pid);
	($pid, $took) = next_worker($pid);
	push @waits, $took;
}
note('seconds: ' . join(' ', map { sprintf('%.1f', $_) } @waits));
cmp_ok($waits[-1], '>', 7, 'the fifth start in a row waits');
cmp_ok($waits[-1], '>', $waits[2], 'longer than the third');
like(slurp_file($node->logfile, $from),
	qr/booking: 4 starts of a worker of database \d+ came to nothing/,
	'the log says why there is none');

# Work that is committed does not drive it into the next crash.
crash($pid);
wait_until('the server is back', sub { $session = eval { session($node) } });
my $begin = time();
claim($session, 'a', 'waits');
($pid, $took) = next_worker($pid);
cmp_ok(time() - $begin, '>', 10, 'a commit does not cut the wait');
is_settled($session, 'waits', 'create confirmed', 'and is served after it');
wait_until('that proves the worker', sub { counted() == 0 });
$session->query("SELECT pg_terminate_backend($pid)");
($pid, $took) = next_worker($pid);
cmp_ok($took, '<', 4, 'once it has worked, all is forgotten');

# A base backup does not take the count along; a spoilt file is no trouble.
wait_until('it has lived for a while', sub { counted() == 0 });
$session->quit;
$node->stop;
foreach my $content ("nonsense\n", "booking starts 1\n5 -3 9223372036854775807\n1 2",
	"booking starts 1\n" . '1 ' x 1000)
{
	unlink $file;
	PostgreSQL::Test::Utils::append_to_file($file, $content);
	$node->start;
	$session = session($node);
	($pid, $took) = next_worker('');
	cmp_ok($took, '<', 8, 'a spoilt file is no trouble');
	$session->quit;
	$node->stop;
}
$node->start;
$session = session($node);
$node->backup('base');
ok(!-e $node->backup_dir . '/base/pg_stat_tmp/booking.starts',
	'a base backup leaves the file out');

#
# It may be ended at any stage of its start: while it enters the database, while
# it looks for the extension, and in its first round.
#
my $log = -s $node->logfile;
foreach my $relation ('pg_db_role_setting', 'pg_extension', 'booking.operation')
{
	my $holder = session($node);

	($pid) = next_worker('');
	$holder->query('BEGIN');
	$holder->query("LOCK TABLE $relation IN ACCESS EXCLUSIVE MODE");
	$session->query("SELECT pg_terminate_backend($pid)");
	my $starting = 0;
	wait_until(
		"a worker waits for $relation",
		sub {
			$starting = $session->query(
				$relation =~ /^pg_/ ?
				  "SELECT coalesce(max(pid), 0) FROM pg_locks WHERE relation = '$relation'::regclass AND NOT granted" :
				  "SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE query ~ '^an error ended the last round'"
			);
			return $starting != 0 && $starting != $pid;
		});

	# unless lock_timeout has ended it
	kill('TERM', $starting);
	wait_until('it has ended', sub { !kill('ZERO', $starting) });
	$holder->query('ROLLBACK');
	$holder->quit;
	($pid) = next_worker($starting);
	claim($session, 'a', "after $relation");
	is_settled($session, "after $relation", 'create confirmed',
		"ended while it waited for $relation, it comes back");
}
unlike(slurp_file($node->logfile, $log), qr/terminating any other active server processes/,
	'and takes the server down at none of them');

#
# What the worker dies of is put away, and the rest is done
#
$session->query("ALTER SYSTEM SET booking.max_attempts = 4");
$session->query('SELECT pg_reload_conf()');
$stub->client($session, 'b', 'store');
$stub->client($session, 'poison', 'swallow');
claim($session, 'poison', 'poison');
foreach my $n (1 .. 4)
{
	wait_until(
		'it is under way',
		sub {
			$session->query(
				"UPDATE booking.operation SET next_at = '-infinity' WHERE state = 'unknown'");
			return operations($session, 'poison') =~ /sending|reconciling/;
		});
	$session->query('SELECT pg_terminate_backend(pid) FROM booking_worker_status()');
	wait_until(
		'the next worker has looked',
		sub {
			$session->query(
				"SELECT tries >= $n FROM booking.operation WHERE account = 'poison'") eq 't';
		});
	is( $session->query(
			"SELECT tries, uncertain, problem FROM booking.operation WHERE account = 'poison'"),
		"$n\x1ft\x1fworker_ended",
		"death $n is counted");
}
$session->query(
	"UPDATE booking.operation SET next_at = '-infinity' WHERE state = 'unknown'");
claim($session, 'b', 'sound');
is_settled($session, 'sound', 'create confirmed', 'others are served');
is_settled($session, 'poison', 'create parked', 'what four workers died over is parked');
is( $session->query(
		"SELECT state, remote, detail ->> 'reason' FROM booking.intent WHERE intent = 'poison'"),
	"unknown\x1fneeds_operator\x1fworker_ended",
	'and says why');
is_clean($session, 'at the end');
$session->quit;
$node->stop;
$stub->stop;

done_testing();
