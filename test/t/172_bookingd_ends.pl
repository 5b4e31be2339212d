# test/t/172_bookingd_ends.pl
#
# Neither its own end nor that of the database may cost a delivery: what is in
# flight when bookingd is told to end is finished, what cannot be stored is
# refused at once with 503 so that the sender comes again, and when the database
# is back nobody has to do anything.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Daemon;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $node = booking_node('main');
my $session = session($node);
my @standin = Booking::Daemon::install_standin($session);

# Deliveries that wait in the database until the lock is given back.
sub hold
{
	$session->query('SELECT pg_advisory_lock(170)');
	return;
}

sub release
{
	$session->query('SELECT pg_advisory_unlock(170)');
	return;
}

sub start_waiting
{
	my ($daemon, $count, $name) = @_;
	my @sockets = map {
		my $socket = $daemon->connect;
		Booking::Daemon::send_bytes($socket,
			Booking::Daemon::request('POST', '/webhooks/s?wait', "$name $_"));
		$socket
	} 1 .. $count;

	wait_until(
		'deliveries wait in the database',
		sub {
			return $session->query(
				"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") == $count;
		});
	return @sockets;
}

sub kept
{
	my ($body) = @_;

	return $session->query("SELECT count(*) FROM standin.inbox WHERE body = '$body'");
}

# Assert that deliveries are refused at once, and nothing says otherwise.
sub is_away
{
	my ($daemon, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $begin = time();
	my $answer;

	for (1 .. 20)
	{
		$answer = $daemon->post('/webhooks/s', 'while away');
		last if $answer->{status} != 503;
	}
	is($answer->{status}, 503, "$name: 503");
	cmp_ok((time() - $begin) / 20, '<', 0.25, "$name: at once");
	like($answer->{head}, qr/^Retry-After: \d+\r?$/m, "$name: with Retry-After");
	is($daemon->admin('/readyz')->{status}, 503, "$name: not ready");
	is($daemon->admin('/healthz')->{status}, 200, "$name: but alive");
	is($daemon->metric('bookingd_up'), 0, "$name: and the metrics say so");
	return;
}

# Let all sessions of bookingd begin anew.
sub end_sessions
{
	my ($by) = @_;

	$by->query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
	return;
}

# Told to end, it finishes.
my $daemon = Booking::Daemon->start($node, args => [@standin]);
hold();
my @waiting = start_waiting($daemon, 3, 'drained');
my $half = $daemon->connect;
Booking::Daemon::send_bytes($half,
	"POST /webhooks/s HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n\r\nsecond");
my $idle = $daemon->connect;
Booking::Daemon::send_bytes($idle, Booking::Daemon::request('POST', '/webhooks/s', 'before'));
is(Booking::Daemon::read_answer($idle)->{status}, 200, 'a connection is kept open');
wait_until('all requests are begun', sub { return $daemon->metric('bookingd_requests_in_flight') == 4; });
kill 'TERM', $daemon->{pid};
is(Booking::Daemon::read_answer($idle)->{status}, 0, 'one that does nothing is closed');
is($daemon->admin('/readyz')->{body}, "draining\n", 'it is not ready any more');
ok(!IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $daemon->{port}),
	'and accepts no connection');
Booking::Daemon::send_bytes($half, ' half.');
my $answer = Booking::Daemon::read_answer($half);
is($answer->{status}, 200, 'a request that was half there is finished');
like($answer->{head}, qr/^Connection: close\r?$/mi, 'and its connection closed');
release();
is(Booking::Daemon::read_answer($_)->{status}, 200, 'a delivery in flight is answered') for @waiting;
is($daemon->wait_end, 0, 'then it ends with 0');
is(kept("drained $_"), 1, "delivery $_ is kept") for 1 .. 3;
is(kept('second half.'), 1, 'so is the other');

# Too much to wait for.
$daemon = Booking::Daemon->start($node, args => [ @standin, '--drain-timeout=1' ]);
hold();
@waiting = start_waiting($daemon, 2, 'late');
my $begin = time();
kill 'TERM', $daemon->{pid};
is(Booking::Daemon::read_answer($_)->{status}, 503, 'a delivery that takes too long is refused') for @waiting;
is($daemon->wait_end, 0, 'it ends with 0 nonetheless');
cmp_ok(time() - $begin, '<', 5, 'in time');
release();

$daemon = Booking::Daemon->start($node, args => [ @standin, '--drain-timeout=600', '--answer-timeout=600' ]);
hold();
@waiting = start_waiting($daemon, 1, 'hurried');
kill 'TERM', $daemon->{pid};
wait_until('it drains', sub { return $daemon->admin('/readyz')->{body} eq "draining\n"; });
kill 'INT', $daemon->{pid};
is(Booking::Daemon::read_answer($waiting[0])->{status}, 503, 'a second signal ends the wait');
is($daemon->wait_end, 0, 'with 0 as well');
release();

# The database does not answer.
$daemon = Booking::Daemon->start($node,
	args => [ @standin, '--answer-timeout=1', '--pool=2', '--queue=2' ]);
wait_until('the pool is there', sub { return $daemon->metric('bookingd_pool_connections{state="idle"}') == 2; });
hold();
@waiting = start_waiting($daemon, 2, 'stuck');
my @queued = map {
	my $socket = $daemon->connect;
	Booking::Daemon::send_bytes($socket, Booking::Daemon::request('POST', '/webhooks/s', "queued $_"));
	$socket
} 1 .. 2;
wait_until('the queue is full', sub { return $daemon->metric('bookingd_pool_waiting') == 2; });
is($daemon->post('/webhooks/s', 'too many')->{status}, 503, 'a full queue takes no more');
is(Booking::Daemon::read_answer($_)->{status}, 503, 'what is stuck is refused') for @waiting;

# those behind them may find a connection at the last moment
for my $n (1 .. 2)
{
	my $status = Booking::Daemon::read_answer($queued[ $n - 1 ])->{status};
	like($status, qr/^(?:200|503)$/, 'what waits behind is answered');
	is(kept("queued $n"), 1, 'and kept if it was told so') if $status == 200;
}
release();
$daemon->wait_ready;
is($daemon->post('/webhooks/s', 'after')->{status}, 200, 'and it goes on');
is(kept('too many'), 0, 'what was refused is not kept');

my @frozen = split /\n/, $session->query("SELECT pid FROM pg_stat_activity
	WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
kill 'STOP', @frozen;
$begin = time();
is($daemon->post('/webhooks/s', 'frozen')->{status}, 503, 'a session that hangs is given up');
cmp_ok(time() - $begin, '<', 4, 'in time');
wait_until('new sessions serve', sub { return $daemon->post('/webhooks/s', 'thawed')->{status} == 200; });
kill 'CONT', @frozen;
is($daemon->stop, 0, 'it ends with 0');

# An answer may take longer than a request may: connections that do nothing come
# and are ended meanwhile, one after the other.
$daemon = Booking::Daemon->start($node, args => [ @standin, '--request-timeout=1' ]);
hold();
@waiting = start_waiting($daemon, 1, 'patient');
is(Booking::Daemon::read_answer($daemon->connect)->{status}, 0, 'a connection that does nothing is ended')
  for 1 .. 4;
release();
is(Booking::Daemon::read_answer($waiting[0])->{status}, 200, 'a delivery waits longer than that');
is($daemon->stop, 0, 'it ends with 0');

# The database goes and comes.
$daemon = Booking::Daemon->start($node, args => [@standin]);
hold();
@waiting = start_waiting($daemon, 1, 'cut off');
$node->stop('immediate');
is(Booking::Daemon::read_answer($waiting[0])->{status}, 503, 'a lost connection is no success');
is_away($daemon, 'server down');
my $socket = $daemon->connect;
Booking::Daemon::send_bytes($socket,
	"POST /webhooks/s HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
is(Booking::Daemon::read_answer($socket)->{status}, 503, 'before the body was sent');
$node->start;
$session = session($node);
$daemon->wait_ready;
is($daemon->post('/webhooks/s', 'back')->{status}, 200, 'it is back by itself');
is(kept('back'), 1, 'and keeps what it is sent');
is(kept('while away'), 0, 'what was refused is not there');
cmp_ok($daemon->metric('bookingd_pool_reconnects_total'), '>=', 1, 'reconnects are counted');
cmp_ok($daemon->metric('bookingd_pool_connect_failures_total'), '>=', 1, 'and failures');

# The function goes and comes.
my $definition = $session->query(
	"SELECT pg_get_functiondef('standin.booking_webhook_receive'::regproc)");
$session->query('DROP FUNCTION standin.booking_webhook_receive');
wait_until('it notices', sub { return $daemon->post('/webhooks/s', 'x')->{status} == 503
	&& $daemon->admin('/readyz')->{status} == 503; });
is_away($daemon, 'no function');
like($daemon->log, qr/the database has no booking_webhook_receive\(\)/, 'the log says why');
$session->query($definition);
$daemon->wait_ready;
is($daemon->post('/webhooks/s', 'x')->{status}, 200, 'with the function it serves');

# A role that may not call it, a database that may not be written.
$session->query('REVOKE EXECUTE ON FUNCTION standin.booking_webhook_receive FROM PUBLIC;
	CREATE ROLE stranger LOGIN; GRANT USAGE ON SCHEMA standin TO stranger');
my $stranger = Booking::Daemon->start($node, args => [@standin], wait => 0,
	dbname => $node->connstr('postgres') . ' user=stranger');
wait_until('it has tried', sub { return $stranger->log =~ /that this role may call/; });
is_away($stranger, 'no permission');
is($stranger->stop, 0, 'it ends with 0 without a connection');
$session->query('ALTER DATABASE postgres SET default_transaction_read_only = on');
end_sessions($session);
wait_until('it has tried', sub { return $daemon->log =~ /the database is read-only/; });
is_away($daemon, 'read-only');
$session->query('ALTER DATABASE postgres RESET default_transaction_read_only');
$daemon->wait_ready;
is($daemon->post('/webhooks/s', 'x')->{status}, 200, 'when it may be written it serves');
is($daemon->stop, 0, 'it ends with 0');

# It need not come after the database.
$node->stop;
$daemon = Booking::Daemon->start($node, args => [@standin], wait => 0);
is_away($daemon, 'started before the server');
$node->start;
$daemon->wait_ready;
is($daemon->post('/webhooks/s', 'x')->{status}, 200, 'the server comes, and it serves');
is($daemon->stop, 0, 'it ends with 0');

done_testing();
