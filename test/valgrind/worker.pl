# test/valgrind/worker.pl
#
# The server, its worker and its sessions run under valgrind while bookings
# become events on a real calendar server, with answers lost, cut and falsified
# on the way: no process may read or write memory that is not its own, branch on
# memory that was never set, or lose the last pointer to memory, with a function
# of ours on the stack.  What is known of PostgreSQL and the libraries is in
# valgrind.supp.
#
# Not below test/t, because it takes minutes: tools/run-tests --long runs it.

use strict;
use warnings FATAL => 'all';

BEGIN
{
	# everything takes twenty times as long
	$ENV{PG_TEST_TIMEOUT_DEFAULT} //= 900;
	$ENV{PGCTLTIMEOUT} //= 900;
}

use FindBin;
use lib "$FindBin::RealBin/../t/lib";

use Booking;
use Booking::Caldav;
use Booking::FaultProxy;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Errors in the text of valgrind: blocks of lines that begin with the process
# number, an empty one between them.
sub blocks
{
	my ($text) = @_;
	my @blocks = ('');

	foreach my $line (split(/\n/, $text))
	{
		if ($line =~ /^==\d+== (\s*\S.*)$/)
		{
			$blocks[-1] .= "$1\n";
		}
		elsif ($blocks[-1] ne '')
		{
			push @blocks, '';
		}
	}
	return grep { /^\s+(?:at|by) 0x/m } @blocks;
}

# Is a function of ours on the stack of an error?
sub is_ours
{
	my ($block) = @_;
	return $block =~
	  m{^\s+(?:at|by) 0x[0-9A-F]+: \w+ \(\S*/src/(?:codec|controller|ledger|net|provider|store|sync|webhook)/\w+\.c:\d+\)$}m;
}

my ($ours, $others) = blocks(<<'EOT');
==7== Invalid read of size 8
==7==    at 0x4C2E2B: memcpy (in /usr/lib/libc.so)
==7==    by 0x11223344: apply_item (/x/src/controller/dispatch.c:512)
==7==  Address 0x5 is not stack'd, malloc'd or (recently) free'd
==7==
==7== Conditional jump or move depends on uninitialised value(s)
==7==    at 0x4C2E2B: XLogWrite (in /usr/lib/postgresql/15/bin/postgres)
==7==
EOT
ok(is_ours($ours) && !is_ours($others), 'errors are told apart');

my $logs = PostgreSQL::Test::Utils::tempdir();
my $node = booking_node('main', start => 0, conf => <<'EOC');
shared_preload_libraries = 'booking'
booking.insecure_hosts = '127.0.0.1'
booking.allowed_networks = '127.0.0.0/8'
booking.poll_interval = 1
booking.http_timeout = 20s
booking.http_first_byte_timeout = 10s
autovacuum = off
jit = off
EOC
my $server = IPC::Run::start(
	[
		'valgrind', '--quiet', '--trace-children=yes', '--num-callers=50',
		'--fullpath-after=', '--track-origins=yes', '--leak-check=full', '--show-leak-kinds=definite',
		"--suppressions=$FindBin::RealBin/valgrind.supp",
		"--log-file=$logs/%p",
		$node->installed_command('postgres'), '-D', $node->data_dir
	],
	'<', \undef, '>', $node->logfile, '2>&1');

wait_until('the server is there',
	sub { system_log_quiet('pg_isready', '-q', '-d', $node->connstr('postgres')) });
$node->_update_pid(1);
my $session = session($node);

# Is a command successful?
sub system_log_quiet
{
	my (@command) = @_;
	my $output;
	return IPC::Run::run(\@command, '>&', \$output);
}

$session->query('SET client_min_messages = error');
$session->query('CREATE EXTENSION booking CASCADE');

my $radicale = Booking::Caldav->new('radicale');
my $proxy = Booking::FaultProxy->new($radicale);
my @names = map { "v$_" } 0 .. 7;

attach($session, $radicale, $proxy->url, 'v', @names);

# The events and their life: terms of every kind, so that all of them are
# written and read back.
my $terms = q('{"price": 12, "event": {"summary": "Lunch; \\\\ \"quoted\", über", "description": "line\nline", )
  . q("location": "Table 4", "attendees": [{"email": "a@example.com", "name": "A, B", "optional": true}], )
  . q("organizer": {"email": "o@example.com", "name": "O"}, "transparency": "transparent"}}');

sub claim
{
	my ($intent, $resource, $hour, $supersedes) = @_;

	return $session->query(
		"SELECT disposition FROM booking_claim('t', 'p', '$intent', '$resource', "
		  . "'[2030-05-01 $hour:00+00, 2030-05-01 $hour:30+00)', terms => $terms, supersedes => "
		  . (defined $supersedes ? "'$supersedes'" : 'NULL') . ')');
}

# Break the write, and the read that follows, of each calendar in its own way.
my %faults = (
	v1 => ['reset_after'],
	v2 => [ 'unavailable', 'cut_length' ],
	v3 => [ 'cut_chunked', 'bad_gateway' ],
	v4 => [ 'bomb_after', 'reset' ],
	v5 => ['rate_limited'],
	v6 => [ 'gateway_timeout_after', 'cut_close' ],
	v7 => ['interim']);

sub break_all
{
	my ($method) = @_;

	foreach my $name (sort keys %faults)
	{
		my ($write, $read) = @{ $faults{$name} };

		$proxy->break($method, "/user/$name/", $write);
		$proxy->break('GET,REPORT,PROPFIND', "/user/$name/", $read) if $read;
	}
	return;
}

break_all('create');
is(claim("$_-create", $_, '10'), 'committed', "$_: claim") foreach @names;
settle($node, $session);
break_all('update');
is(claim("$_-update", $_, '14', "$_-create"), 'committed', "$_: reschedule") foreach @names;
settle($node, $session);
break_all('DELETE');
$session->query("SELECT booking_cancel('t', 'p', '$_-update')") foreach @names[ 0 .. 3 ];
settle($node, $session);
$proxy->clear;

my @operations = split(/\n/, $session->query(
	'SELECT DISTINCT kind, state FROM booking.operation ORDER BY kind'));
is_deeply(
	\@operations,
	[ map { "$_\x1fconfirmed" } qw(cancel create update) ],
	'all operations are confirmed');
is(scalar(map { %{ $radicale->list("/user/$_/") } ? $_ : () } @names),
	4, 'each booking that stands has its event, those canceled have none');

# What goes wrong before, or instead of, an answer: a wrong password, an account
# without credential, a port where nobody listens, and no TLS where it is wanted.
$session->query("SELECT booking_account_put('t', 'wrong', 'caldav', '" . $radicale->url . "')");
$session->query(
	q(SELECT booking_credential_put('t', 'wrong', '{"type": "basic", "username": "user", "password": "no"}')));
$session->query("SELECT booking_account_put('t', 'none', 'caldav', '" . $radicale->url . "')");
$session->query("SELECT booking_account_put('t', 'refused', 'caldav', 'http://127.0.0.1:1/')");
$session->query("SELECT booking_account_put('t', 'tls', 'caldav', 'https://127.0.0.1:$radicale->{port}/')");
foreach my $account (qw(refused tls))
{
	$session->query(
		qq(SELECT booking_credential_put('t', '$account', '{"type": "basic", "username": "u", "password": "p"}'))
	);
}
foreach my $account (qw(wrong none refused tls))
{
	$session->query("SELECT booking_resource_put('t', '$account')");
	$session->query(
		"SELECT booking_calendar_put('t', '$account', '$account', '/user/v0/', '$account')");
	is(claim($account, $account, '10'), 'committed', "$account: claim");
	$session->query("CALL booking_account_check('t', '$account', NULL)");
}
wait_until(
	'each was tried',
	sub {
		return $session->query(<<'EOQ') eq '4';
SELECT count(DISTINCT intent_id) FROM booking.operation JOIN booking.intent USING (intent_id)
 WHERE intent IN ('wrong', 'none', 'refused', 'tls') AND problem IS NOT NULL
EOQ
	});
$session->query("CALL booking_account_check('t', 'v', NULL)");
$session->query('SELECT count(*) FROM booking.recovery');
is_clean($session, 'at the end');

# Both kinds of process must have been watched, or there is nothing to see.
my $worker = $session->query(
	"SELECT pid FROM pg_stat_activity WHERE backend_type = 'booking worker'");
my @watched = ($worker, $session->backend_pid);

$session->quit;
$node->stop('fast');
$server->finish;
ok(-e "$logs/$_", "process $_ ran under valgrind") foreach @watched;

my (@found, $foreign);
foreach my $file (glob("$logs/*"))
{
	foreach my $block (blocks(slurp_file($file)))
	{
		if (is_ours($block))
		{
			push @found, $block;
		}
		else
		{
			$foreign++;
		}
	}
}
is(scalar(@found), 0, 'valgrind has nothing to say of our functions');
diag($_) foreach @found;
note(($foreign // 0) . ' errors without a function of ours');

$proxy->stop;
$radicale->stop;

done_testing();
