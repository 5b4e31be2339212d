# test/t/112_http_process.pl
#
# A process that waits for a server, or for the name of one, must remain part
# of the database system: it ends when it is told to, closes what it had open,
# takes part in barriers, and tells no secret to the log.
#
# Proves R37 (to give up a request closes its connection), R67 (DROP DATABASE of
# another database does not wait for a provider or a name server), R78 (threads
# of libcurl do not run the server's signal handlers), and R97 for the engine.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Http;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $http = Booking::Http->new;
my $node = $http->start_node('main', conf => "log_min_messages = debug5");
my $observer = session($node);

$http->install($observer);

my %slow = (
	connect_ms => 100_000,
	first_byte_ms => 100_000,
	total_ms => 100_000,
	insecure_hosts => 'hang.test, 127.0.0.1');

# A session that waits for the answer to a request.
sub waiting
{
	my (%opt) = @_;
	my $session = session($node);
	my $pid = $session->backend_pid;

	$session->send($http->sql(%slow, %opt));
	if ($opt{url} =~ /hang\.test/)
	{
		wait_until('a thread resolves the name', sub { threads($pid) > 0; });
	}
	elsif ($opt{url} =~ /silent/)
	{
		wait_until('the request has arrived', sub { $http->requests($opt{url}); });
	}
	wait_until(
		'the process waits',
		sub {
			return $observer->query(
				"SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $pid"
			) eq 't';
		});
	return $session;
}

# Threads of a process beside its first.
sub threads
{
	my ($pid) = @_;
	return grep { $_ != $pid } map { m{/(\d+)$} } glob("/proc/$pid/task/*");
}

# Signals that a thread has blocked.
sub blocked
{
	my ($pid, $thread) = @_;
	return slurp_file("/proc/$pid/task/$thread/status") =~ /^SigBlk:\s+(\w+)$/m ? $1 : ();
}

# Assert that something takes less than so many seconds.
sub is_quick
{
	my ($name, $seconds, $code) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $begin = time();

	$code->();
	my $took = time() - $begin;
	figure("$name, s", sprintf('%.2f', $took));
	return cmp_ok($took, '<', $seconds, "$name within $seconds s");
}

# What a process may hang on: a server, a name server.
my %hanging = (
	'a server' => sub { return $http->url('silent'); },
	'TLS' => sub { return $http->url('ok', listener => 'mute', scheme => 'https'); },
	'a name' => sub { return $http->url('ok', host => 'hang.test'); });

foreach my $what (sort keys %hanging)
{
	# ------------------------------------------------------------------------
	# Barriers
	# ------------------------------------------------------------------------
	my $url = $hanging{$what}->();
	my $session = waiting(url => $url);
	my $pid = $session->backend_pid;

	$observer->query('CREATE DATABASE victim');
	is_quick("DROP DATABASE while another process waits for $what",
		2, sub { $observer->query('DROP DATABASE victim'); });

	# ------------------------------------------------------------------------
	# Cancellation: by the statement, and by the session
	# ------------------------------------------------------------------------
	my $result;
	is_quick(
		"cancel a wait for $what",
		1,
		sub {
			$observer->query("SELECT pg_cancel_backend($pid)");
			$result = $session->receive;
		});
	is($result->{error}{sqlstate}, '57014', 'the statement was canceled');
	if ($what eq 'a server')
	{
		wait_until('the connection is closed', sub { $http->is_closed($url); });
		pass('the connection is closed');
	}
	my ($answer) = $http->run($session, url => $http->url('ok'));
	is($answer->{transport}, 'complete', 'the session can make requests again');

	my $second = waiting(url => $hanging{$what}->());
	is_quick(
		"terminate a wait for $what",
		1,
		sub {
			$observer->query("SELECT pg_terminate_backend(@{[$second->backend_pid]})");
			$result = $second->receive;
		});
	is($result->{error}{sqlstate}, '57P01', 'the session was terminated');
	$second->quit;
	wait_until('the process is gone', sub { !-e "/proc/@{[$second->backend_pid]}"; });
	$session->quit;
}

# ----------------------------------------------------------------------------
# Threads take no signals
# ----------------------------------------------------------------------------

my $resolving = waiting(url => $hanging{'a name'}->());
my $pid = $resolving->backend_pid;

# All but KILL and STOP, and the two that the C library keeps for itself.
my $all = hex('fffffffe') << 32 | hex('7ffbfeff');
my @masks = map { blocked($pid, $_) } threads($pid);
cmp_ok(scalar(@masks), '>', 0, 'a name is resolved in a thread');
foreach my $mask (@masks)
{
	my $blocked = hex(substr($mask, 0, 8)) << 32 | hex(substr($mask, 8));

	is($blocked & $all, $all, 'which has blocked all signals that can be blocked');
}

$observer->query("SELECT pg_cancel_backend($pid)");
is($resolving->receive->{error}{sqlstate}, '57014', 'canceled while its thread goes on');
is(blocked($pid, $pid), blocked($observer->backend_pid, $observer->backend_pid),
	'the process itself blocks what any other does');
my ($again) = $http->run($resolving, %slow, url => $http->url('ok', host => 'hang.test'), connect_ms => 200);
is($again->{problem}, 'connect_timeout', 'a second name is tried beside that thread');
$resolving->quit;

# ----------------------------------------------------------------------------
# A name that is resolved when nobody wants it any more
# ----------------------------------------------------------------------------

my %late_name = (%slow, insecure_hosts => 'slow.ip-127-0-0-1.test, 127.0.0.1');
my $late_name = $http->url('ok', host => 'slow.ip-127-0-0-1.test');
my @late = $http->run(
	$observer, %late_name,
	url => [ $late_name, $http->url('late?ms=1500') ],
	connect_ms => 200);
is($late[0]{problem}, 'connect_timeout', 'a name that is resolved too late');
is($late[1]{transport}, 'complete', 'does no harm when it comes');
my ($in_time) = $http->run($observer, %late_name, url => $late_name);
is($in_time->{transport}, 'complete', 'a name that is resolved in time');
is(scalar $http->requests($late_name), 1, 'is used once');

# ----------------------------------------------------------------------------
# Many at once, whatever the latch does
# ----------------------------------------------------------------------------

my $session = session($node);
foreach my $manner (qw(wait busy poll))
{
	my @urls = map { $http->url('late?ms=400') } 1 .. 20;
	my @answers;

	is_quick(
		"20 answers that take 0.4 s each ($manner)",
		4,
		sub {
			@answers = $http->run($session, url => \@urls, parallel => 20, manner => $manner);
		});
	is(scalar(grep { $_->{transport} eq 'complete' && $_->{body} eq 'late' } @answers),
		20, 'all are whole');
}

# ----------------------------------------------------------------------------
# Giving up
# ----------------------------------------------------------------------------

my $silent = $http->url('silent');
my @answers = $http->run(
	$session, %slow,
	url => [ $http->url('ok'), $silent, $http->url('ok', host => 'hang.test'), $http->url('ok') ],
	parallel => 4,
	abandon_after => 500);
is_deeply(
	[ map { "$_->{transport} " . ($_->{problem} // '') } @answers ],
	[ 'complete ', 'lost abandoned', 'lost abandoned', 'complete ' ],
	'what was given up is lost, the rest is not');
wait_until('the connection is closed', sub { $http->is_closed($silent); });
pass('its connection is closed');

# ----------------------------------------------------------------------------
# Secrets: no end of a request tells them to the log
# ----------------------------------------------------------------------------

my $canary = 'canary-71c9b2e4';
$session->query('SET log_min_messages = fatal');
$session->query("CREATE TABLE secret AS SELECT '$canary'::text AS value");
$session->query('RESET log_min_messages');

my $closed = PostgreSQL::Test::Cluster::get_free_port();
foreach my $url (
	(map { $http->url($_) } qw(ok drop cut_length garbage challenge interim_forever silent)),
	"http://127.0.0.1:$closed/", 'http://127.0.0.2/', 'https://ip-10-0-0-1.test/', 'nothing',
	$http->url('ok', listener => 'tls'))
{
	foreach my $how ('username', 'bearer')
	{
		my $sql = $http->sql(
			url => $url,
			first_byte_ms => 100,
			username => $how eq 'username' ? 'SECRET' : undef,
			password => $how eq 'username' ? 'SECRET' : undef,
			bearer => $how eq 'bearer' ? 'SECRET' : undef);
		$sql =~ s/'SECRET'/(SELECT value FROM secret)/g;
		$session->query($sql);
	}
}
my @arrived = grep { ($_->{headers}{authorization} // '') =~ /\Q$canary\E/ } $http->record;
cmp_ok(scalar(@arrived), '>=', 6, 'the secret was sent');
my $log = slurp_file($node->logfile);
like($log, qr/DEBUG/, 'the log has all there is');
unlike($log, qr/\Q$canary\E/, 'but not the secret');

# ----------------------------------------------------------------------------
# Shutdown
# ----------------------------------------------------------------------------

my @waiting = map { waiting(url => $hanging{$_}->()) } sort keys %hanging;
is_quick('fast shutdown with requests in flight', 2, sub { $node->stop('fast'); });
$_->quit for @waiting;

$http->stop;
done_testing();
