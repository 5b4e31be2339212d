# test/t/130_worker.pl
#
# The worker is there when it is needed, and comes back by itself: after it was
# terminated, after a crash of any backend, after a reload; it is woken by a
# commit, by COMMIT PREPARED and by CREATE EXTENSION, stops when it is told to,
# ends with the server, one row that cannot be done holds up no other, and an
# account is asked no more at a time than its provider allows.
# It works with more files open than 1,024.
#
# Proves R35 and R75 (a poison row is parked, others go on), R38 (work resumes
# by itself within seconds of a crash), R72 (the worker comes back), R79 (DROP
# EXTENSION during a request ends quietly, a schema of our name is harmless),
# R80 (its writes are counted), R90 (library newer and older than the SQL
# objects), R78 (nothing is select()ed), and
# that without preloading booking_worker_start() does what it says.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Stub;
use HTTP::Tiny;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $stub = Booking::Stub->new;

# Polls are made so rare that whatever happens was announced.
my ($node, $session) = worker_node(
	'main', conf => "booking.poll_interval = '1h'\nrestart_after_crash = on\n");

# Wait for a worker other than the one given, and return its number.
sub next_worker
{
	my ($in, $old, $database) = @_;
	my $pid;

	wait_until(
		'there is a worker',
		sub {
			$pid = worker_pid($in, $database);
			return $pid ne '' && $pid ne $old;
		});
	return $pid;
}

sub log_has
{
	my ($from, $pattern) = @_;
	return slurp_file($node->logfile, $from) =~ $pattern;
}

sub log_end
{
	return -s $node->logfile;
}

#
# There, and saying so
#
my $pid = next_worker($session, '');

wait_until(
	'the worker waits',
	sub {
		return $session->query(
			"SELECT application_name, state, query FROM pg_stat_activity WHERE pid = $pid"
		) eq "booking worker\x1fidle\x1fno account was ever put";
	});
pass('the worker shows in pg_stat_activity what it does');
is($session->query(
		"SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'booking launcher'"),
	'1', 'so does the launcher');
wait_until('the worker is paused',
	sub { worker_status($session) eq 'paused: no account was ever put' });
pass('without an account it is paused, and says so');

#
# Woken
#
$stub->client($session, 'a', 'store');
claim($session, 'a', 'first');
is_settled($session, 'first', 'create confirmed', 'woken by a commit');
wait_until('it is idle again', sub { worker_status($session) eq 'idle' });

$session->query('BEGIN');
claim($session, 'a', 'prepared');
$session->query("PREPARE TRANSACTION 'p'");
$session->query("COMMIT PREPARED 'p'");
is_settled($session, 'prepared', 'create confirmed', 'woken by COMMIT PREPARED');

# Statistics arrive with the transaction that made them.
wait_until(
	'the writes are counted',
	sub {
		return $session->query(
			"SELECT n_tup_upd >= 4 AND n_dead_tup > 0 FROM pg_stat_all_tables WHERE relid = 'booking.operation'::regclass"
		) eq 't';
	});
pass('writes of the worker show in pg_stat_all_tables');

#
# Back again
#
my $launcher = $session->query(
	"SELECT pid FROM pg_stat_activity WHERE backend_type = 'booking launcher'");

foreach my $way (
	[ 'pg_terminate_backend', sub { $session->query("SELECT pg_terminate_backend($pid)") } ],
	[ 'SIGTERM', sub { kill('TERM', $pid) or die "kill: $!" } ])
{
	my ($what, $code) = @$way;

	is_quick("back after $what", 5, sub { $code->(); $pid = next_worker($session, $pid); });
}
$session->query('SELECT pg_reload_conf()');
claim($session, 'a', 'reloaded');
is_settled($session, 'reloaded', 'create confirmed', 'works after a reload');
is(worker_pid($session), $pid, 'and is the same after it');

# A request in flight when the worker ends is unknown, and found again.
$stub->behave('a', 'swallow');
claim($session, 'a', 'swallowed');
wait_until('the request has arrived', sub { $stub->requests('a', 'PUT') == 4 });
wait_until(
	'it is busy',
	sub {
		return $session->query(
			'SELECT state, in_flight, due FROM booking_worker_status()') eq "busy\x1f1\x1f0";
	});
pass('the status tells what it does');
wait_until(
	'activity shows it',
	sub {
		return $session->query("SELECT query FROM pg_stat_activity WHERE pid = $pid") =~
		  /^1 operation.*in flight/;
	});
pass('so does pg_stat_activity');
$stub->behave('a', 'store');
$session->query("SELECT pg_terminate_backend($pid)");
is_settled($session, 'swallowed', 'create confirmed', 'terminated during a request');
is($stub->requests('a', 'PUT'), 4, 'which was not sent again');

#
# A crash of some backend takes all down, the worker comes back with the rest
#
sub crash
{
	my ($intent) = @_;
	my $victim = session($node);
	my $puts = $stub->requests('a', 'PUT');

	$stub->behave('a', 'swallow');
	claim($session, 'a', $intent);
	wait_until('the request has arrived', sub { $stub->requests('a', 'PUT') > $puts });
	$stub->behave('a', 'store');
	kill('KILL', $victim->backend_pid) or die "kill: $!";
	$victim->quit;
	$session->quit;
	$node->poll_query_until('postgres', 'SELECT true');
	$session = session($node);
	is_settled($session, $intent, 'create confirmed', "$intent is done after it");
	is($stub->requests('a', 'PUT'), $puts + 1, "$intent was sent once");
	return;
}

is_quick('back after a crash of another backend', 15, sub { crash('crashed') });
next_worker($session, $pid);

#
# On and off
#
sub set_worker
{
	my ($value, $status) = @_;

	$session->query("ALTER SYSTEM SET booking.worker = $value");
	$session->query('SELECT pg_reload_conf()');
	wait_until("booking.worker = $value", sub { worker_status($session) =~ $status });
	return;
}

set_worker('off', qr/^paused: booking.worker is off$/);
claim($session, 'a', 'switched');
is(operations($session, 'switched'), 'create waiting', 'booking.worker = off');
set_worker('on', qr/^(idle|busy)$/);
is_settled($session, 'switched', 'create confirmed', 'booking.worker = on');

#
# What cannot be done is put away, and the rest goes on
#
$session->query('ALTER SYSTEM SET booking.max_attempts = 3');
$session->query("ALTER SYSTEM SET booking.poll_interval = '1s'");
$session->query("ALTER SYSTEM SET booking.worker = off");
$session->query('SELECT pg_reload_conf()');
foreach my $client (qw(mute spoilt odd denied))
{
	$stub->client($session, $client, 'store');
}
$session->query("SELECT booking_credential_remove('t', 'mute')");
$session->query("UPDATE booking.credential SET sealed = true WHERE account = 'spoilt'");
$stub->behave('denied', 'deny');
$session->query(<<'EOQ');
SELECT booking_claim('t', 'p', 'odd', 'odd', '[2030-01-07 10:00+00,2030-01-07 11:00+00)',
	terms => '{"event": {"attendees": [{"email": "a@example.com\r\nX: y"}]}}')
EOQ
foreach my $client (qw(mute spoilt denied))
{
	claim($session, $client, $client);
}
claim($session, 'a', 'sound');
set_worker('on', qr/^(idle|busy)/);
is_settled($session, 'sound', 'create confirmed', 'others go on');
is_settled($session, 'denied', 'create waiting', 'refused credentials');
is( $session->query("SELECT parked FROM booking.account WHERE account = 'denied'"),
	't', 'park the account');
is($stub->requests('denied'), 1, 'after one request');

foreach my $intent (qw(mute spoilt))
{
	wait_until(
		"$intent is parked",
		sub {
			# instead of waiting for the back-off
			$session->query(
				"UPDATE booking.operation SET next_at = '-infinity' WHERE state = 'waiting' AND account = '$intent'");
			return operations($session, $intent) eq 'create parked';
		});
	pass("$intent is parked after booking.max_attempts");
}
is_settled($session, 'odd', 'create confirmed', 'an odd address is no poison');
my $odd = HTTP::Tiny->new->get("http://127.0.0.1:$stub->{port}/odd/"
	  . $session->query("SELECT event_id FROM booking.operation WHERE account = 'odd'")
	  . '.ics');
like($odd->{content} =~ s/\r\n //gr,
	qr/^ATTENDEE.*:mailto:a\@example\.comX:%20y\r$/m,
	'its end of line is left out');
unlike($odd->{content}, qr/^X:/m, 'and adds no line to the event');
is($stub->requests($_), 0, "nothing of $_ was sent") foreach qw(mute spoilt);

# Asking what is wrong with them holds up nobody either.
foreach my $account (qw(mute spoilt))
{
	like($session->query("CALL booking_account_check('t', '$account')"),
		qr/"ok": false/, "the check of $account says that it fails");
}
claim($session, 'a', 'after');
is_settled($session, 'after', 'create confirmed', 'and still others go on');

#
# The extension comes and goes
#
$session->query('CREATE DATABASE other');
my $other = session($node, dbname => 'other');

$other->query('SET client_min_messages = error');
$other->query('CREATE SCHEMA booking CREATE TABLE intent (i int) CREATE TABLE operation (i int)');
$other->query('CREATE EXTENSION btree_gist');
my $from = log_end();
$session->query("ALTER SYSTEM RESET booking.max_attempts");
$session->query('SELECT pg_reload_conf()');
$other->query('DROP SCHEMA booking CASCADE');
$other->query('CREATE EXTENSION booking');
my $others = next_worker($other, '', 'other');
pass('CREATE EXTENSION brings a worker without a restart');
ok(!log_has($from, qr/ERROR|FATAL/), 'a schema of our name does no harm');

$stub->client($other, 'o', 'hang');
claim($other, 'o', 'hangs');
wait_until('the request has arrived', sub { $stub->requests('o') == 1 });
$from = log_end();
is_quick('DROP EXTENSION does not wait for the provider', 5,
	sub { $other->query('DROP EXTENSION booking CASCADE') });
wait_until('the worker has left', sub { worker_pid($other, 'other') eq '' });
ok(!log_has($from, qr/(ERROR|FATAL|WARNING|LOG: +booking)/), 'and its worker ends quietly');
$other->query('CREATE EXTENSION booking');
next_worker($other, $others, 'other');
pass('created again, it is served again');

# Dropped and created again by a transaction that fails: nothing changes.
$other->query('BEGIN');
$other->query('DROP EXTENSION booking CASCADE');
$other->query('ROLLBACK');
isnt(worker_pid($other, 'other'), '', 'a DROP that is rolled back');

# While somebody changes it the worker waits, and says for what.
$other->query('BEGIN');
$other->query('DROP EXTENSION booking CASCADE');
wait_until(
	'the worker says so',
	sub {
		return $session->query(
			"SELECT state, query FROM pg_stat_activity WHERE backend_type = 'booking worker' AND datname = 'other'"
		) eq "idle\x1fanother transaction is changing the extension";
	});
pass('a worker that waits for DROP EXTENSION says so');
$other->query('ROLLBACK');
wait_until('it goes on', sub { worker_status($other) !~ /another transaction/ });
pass('and no longer when that is over');

#
# Library newer than the objects
#
$other->query('DROP EXTENSION booking CASCADE');
$other->query("CREATE EXTENSION booking VERSION '0.1'");
my $error = fails_with($other, "SELECT booking_permit_all('t', 'p')", '55000',
	'a call on older objects is refused');
like($error->{text}, qr/ALTER EXTENSION booking UPDATE/, 'and says what to do');
wait_until(
	'its worker pauses',
	sub {
		return $other->query(
			"SELECT query FROM pg_stat_activity WHERE backend_type = 'booking worker' AND datname = 'other'"
		) =~ /ALTER EXTENSION booking UPDATE/;
	});
pass('the worker pauses, and says so');
$other->query('ALTER EXTENSION booking UPDATE');
$other->query("SELECT booking_permit_all('t', 'p')");
$stub->client($other, 'o', 'store');
claim($other, 'o', 'updated');
is_settled($other, 'updated', 'create confirmed', 'both work after the update');

#
# Library older than the objects: only their version is made to say so
#
my ($version) = $other->row("SELECT extversion FROM pg_extension WHERE extname = 'booking'");
foreach my $newer ('9.9', "$version.1", '10')
{
	my $requests = $stub->requests('o');

	# an update changes functions, which is what open sessions notice
	$other->query("UPDATE pg_extension SET extversion = '$newer' WHERE extname = 'booking'");
	$other->query('CREATE OR REPLACE FUNCTION noticed() RETURNS int LANGUAGE sql RETURN 1');
	$error = fails_with($other,
		"SELECT * FROM booking_status('t', 'p', 'updated')",
		'55000', "a call on objects of version $newer is refused");
	like($error->{text}, qr/Install the library of version \Q$newer\E/, 'and says what to do');
	wait_until(
		'its worker pauses',
		sub {
			return $other->query(
				"SELECT query FROM pg_stat_activity WHERE backend_type = 'booking worker' AND datname = 'other'"
			) =~ /^the objects are of version \Q$newer\E.*install the newer library and restart/;
		});
	pass('the worker pauses, and says so');
	is($stub->requests('o'), $requests, 'and sends nothing');
}
$other->query("UPDATE pg_extension SET extversion = '$version' WHERE extname = 'booking'");
claim($other, 'o', 'again');
is_settled($other, 'again', 'create confirmed', 'both work with the right library');

#
# An account that does not answer: calendars that are read and operations share
# the 16 requests that may be out for it
#
$stub->client($other, 'full', 'hang');
$other->query("SELECT booking_calendar_put('t', 'full$_', 'full', '/full/$_/')") foreach 2 .. 4;
$other->query("SELECT booking_sync('t', calendar) FROM booking.calendar WHERE account = 'full'");
wait_until('four calendars are asked for', sub { $stub->requests('full') == 4 });
$other->query('BEGIN');
claim($other, 'full', "full$_") foreach 1 .. 20;
$other->query('COMMIT');
wait_until('as many requests are out as may be', sub { $stub->requests('full') >= 16 });
claim($other, 'o', 'beside');
is_settled($other, 'beside', 'create confirmed', 'another account is not held up');
is($stub->requests('full', 'PUT'), 12, 'operations have what reading leaves');
is($stub->requests('full'), 16, 'and there are no more requests in all');
$other->query('DROP EXTENSION booking CASCADE');
$other->quit;

#
# Shutdown with requests in flight
#
$stub->behave('a', 'swallow');
my $puts = $stub->requests('a', 'PUT');
claim($session, 'a', "leaving$_") foreach 1 .. 3;
wait_until('requests have arrived', sub { $stub->requests('a', 'PUT') >= $puts + 1 });
$session->quit;
is_quick('fast shutdown does not wait for the provider', 2, sub { $node->stop('fast') });
$stub->behave('a', 'store');

#
# Without preloading
#
$node->append_conf('postgresql.conf',
	"shared_preload_libraries = ''\nbooking.idle_exit = '1s'\nbooking.poll_interval = '1h'");
$node->start;
$session = session($node);
is(worker_pid($session), '', 'without preloading there is no worker');
like(worker_status($session), qr/^absent: .*booking_worker_start/, 'and the status says why');
is($session->query('SELECT booking_worker_start()'), 't', 'booking_worker_start() starts it');
is_settled($session, "leaving$_", 'create confirmed', "what the shutdown left ($_)") foreach 1 .. 3;
is($stub->requests('a', 'PUT'), $puts + 3, 'was sent once each');
claim($session, 'a', 'unwoken');
$session->query('SELECT booking_worker_start()');
is_settled($session, 'unwoken', 'create confirmed', 'it finds work that comes later');

# It stays while there is work, and is started once.
$stub->behave('a', 'swallow');
claim($session, 'a', 'lasting');
$session->query('SELECT booking_worker_start()');
wait_until('the request has arrived', sub { $stub->requests('a', 'PUT') == $puts + 5 });
is($session->query('SELECT booking_worker_start()'), 'f', 'it is not started twice');
is($session->query('SELECT pid, state FROM booking_worker_status()'),
	worker_pid($session) . "\x1frunning", 'the status finds it');
$stub->behave('a', 'store');
$session->query('SELECT pg_terminate_backend(pid) FROM booking_worker_status()');
wait_until('it is gone', sub { worker_pid($session) eq '' });
$session->query('SELECT booking_worker_start()');
is_settled($session, 'lasting', 'create confirmed', 'after it was terminated');
$session->query("DELETE FROM booking.operation WHERE state = 'waiting'");
wait_until('it leaves', sub { worker_pid($session) eq '' });
pass('it leaves when idle');

$session->quit;
$node->stop;

#
# With more files open than select() can tell apart: those of whoever started the
# server, which all its processes inherit
#
my $many = booking_node('many', start => 0,
	conf => Booking::Stub::worker_conf() . "max_files_per_process = 2500\n");
{
	local $^F = 10000;
	my @files;

	system_or_bail('prlimit', '--pid', $$, '--nofile=4096:');
	foreach (1 .. 1100)
	{
		open(my $file, '<', '/dev/null') or die "open: $!";
		push @files, $file;
	}
	$many->start;
}
$session = session($many);
$session->query('SET client_min_messages = error');
$session->query('CREATE EXTENSION booking CASCADE');
$stub->client($session, 'many', 'hang');
$stub->client($session, 'more', 'store');
# more than the numbers below that the starting of a server leaves free
claim($session, 'many', "many$_") foreach 1 .. 16;
wait_until('the requests have arrived', sub { $stub->requests('many') >= 16 });
my $worker = worker_pid($session);
my ($highest) = sort { $b <=> $a } map { m{/(\d+)$} }
  grep { (readlink($_) // '') =~ /^socket:/ } glob("/proc/$worker/fd/*");
cmp_ok($highest, '>', 1024, 'its sockets have numbers above 1,024');
claim($session, 'more', 'more');
is_settled($session, 'more', 'create confirmed', 'and it works');
$session->query("SELECT booking_cancel('t', 'p', 'more')");
is_settled($session, 'more', 'create confirmed, cancel confirmed', 'with connections that it keeps');
$session->quit;
is_quick('and ends when it is told to', 2, sub { $many->stop('fast') });
$stub->stop;

done_testing();
