# test/t/131_databases.pl
#
# The worker is in nobody's way: commands on whole databases, its own included,
# succeed at once, while a provider hangs and while a name is resolved; it does
# not sit in databases without the extension or in templates, takes one worker
# slot at a time to find that out, and says so when there is no slot at all.
#
# Proves R67 (DROP DATABASE of another database), R68 (DROP and RENAME of its
# own), R69 (CREATE DATABASE TEMPLATE), R70 (restore of a whole cluster), R71 (no
# storm on databases without the extension), R76 (a restored database is served,
# or says why not), R77 (no free slot is visible, and loses no work), and the
# clone safety of DESIGN.md section 6.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Stub;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $stub = Booking::Stub->new;

my $node = booking_node(
	'main',
	start => 0,
	conf => worker_conf()
	  . "booking.poll_interval = '1h'\nbooking.http_first_byte_timeout = '60s'\n"
	  . "booking.http_timeout = '60s'\nbooking.http_connect_timeout = '60s'\n");
start_with_resolver($node);
my $session = session($node);

sub log_from
{
	my ($offset) = @_;
	return slurp_file($node->logfile, $offset);
}

# A session in a database with the extension and a client.
sub serve
{
	my ($database, $client, $behaviour, %opt) = @_;
	my $in = session($node, dbname => $database);

	$in->query('SET client_min_messages = error');
	$in->query('CREATE EXTENSION IF NOT EXISTS booking CASCADE');
	$stub->client($in, $client, $behaviour, %opt);
	return $in;
}

# Have the worker of a database wait for an answer that will not come.
sub hang
{
	my ($database, $client) = @_;
	my $in = serve($database, $client, 'hang');

	claim($in, $client, 'hanging');
	wait_until('the request has arrived', sub { $stub->requests($client) > 0 });
	return $in;
}

#
# Other databases
#
$session->query('CREATE DATABASE site');
my $site = hang('site', 'hang');

$session->query('CREATE DATABASE victim');
is_quick('DROP DATABASE while a provider hangs', 2,
	sub { $session->query('DROP DATABASE victim') });

$stub->client($site, 'name', 'store', host => 'hang.test');
claim($site, 'name', 'resolving');
my $pid = worker_pid($session, 'site');
wait_until('a thread resolves the name',
	sub { scalar(@{ [ glob("/proc/$pid/task/*") ] }) > 1 });
$session->query('CREATE DATABASE victim');
is_quick('DROP DATABASE while a name is resolved', 2,
	sub { $session->query('DROP DATABASE victim') });
is(worker_pid($session, 'site'), $pid, 'the worker took no notice');

#
# Its own database
#
my $begin = -s $node->logfile;

$site->quit;
foreach my $command (
	'ALTER DATABASE site RENAME TO moved',
	'CREATE DATABASE copy TEMPLATE moved',
	'ALTER DATABASE moved SET TABLESPACE other',
	'ALTER DATABASE moved SET TABLESPACE pg_default',
	'ALTER DATABASE moved RENAME TO site')
{
	my ($database) = $command =~ /(site|moved)/;

	if ($command =~ /TABLESPACE other/)
	{
		my $folder = PostgreSQL::Test::Utils::tempdir();

		$session->query("CREATE TABLESPACE other LOCATION '$folder'");
	}
	wait_until('there is a worker', sub { worker_pid($session, $database) ne '' });
	is_quick($command, 2, sub { $session->query($command) });
}
wait_until('the worker is back', sub { worker_pid($session, 'site') ne '' });
pass('after all of these the worker is back');

# A copy is not the one that was armed.
my $copy = session($node, dbname => 'copy');
wait_until('the copy is paused',
	sub { worker_status($copy) =~ /^paused: another database was armed; .*booking_arm/ });
pass('the copy of a database is paused, and says why');
my $sent = $stub->requests('hang');
$copy->query('SELECT booking_arm()');
wait_until('the copy works', sub { $stub->requests('hang') > $sent });
pass('booking_arm() lets it work');
$copy->quit;

foreach my $command ('DROP DATABASE copy', 'DROP DATABASE site WITH (FORCE)')
{
	my ($database) = $command =~ /(copy|site)/;

	wait_until('there is a worker', sub { worker_pid($session, $database) ne '' });
	is_quick($command, 2, sub { $session->query($command) });
}
unlike(log_from($begin), qr/being accessed by other users|does not exist|ERROR/,
	'nobody met the worker, and it did not try to come back');

# The command is canceled, or its session ends: the worker may return.
$session->query('CREATE DATABASE kept');
my $kept = serve('kept', 'kept', 'store');
is($session->try('DROP DATABASE kept')->{error}{sqlstate},
	'55006', 'DROP DATABASE with a session in it fails');
claim($kept, 'kept', 'kept');
is_settled($kept, 'kept', 'create confirmed', 'after it the worker is back');

my $dropping = session($node);
$dropping->send('DROP DATABASE kept');
wait_until('the worker has left', sub { worker_pid($session, 'kept') eq '' });
$session->query('SELECT pg_terminate_backend(' . $dropping->backend_pid . ')');
$dropping->receive;
claim($kept, 'kept', 'again');
is_settled($kept, 'again', 'create confirmed', 'also if the session of DROP is terminated');

# Who may not do that to a database does not drive its worker out.
$session->query('CREATE ROLE stranger LOGIN CREATEDB');
$pid = worker_pid($session, 'kept');
my $stranger = session($node, user => 'stranger');
foreach my $command (
	'DROP DATABASE kept',
	'ALTER DATABASE kept RENAME TO mine',
	'ALTER DATABASE kept SET TABLESPACE pg_default',
	'CREATE DATABASE mine TEMPLATE kept')
{
	fails_with($stranger, $command, '42501', "a stranger's $command");
}
$stranger->quit;
is(worker_pid($session, 'kept'), $pid, 'leaves the worker where it is');

# No worker stays in a template or behind a closed door.
foreach my $option ('IS_TEMPLATE true', 'ALLOW_CONNECTIONS false')
{
	my ($off) = $option =~ /true/ ? 'false' : 'true';

	wait_until('there is a worker', sub { worker_pid($session, 'kept') ne '' });
	$session->query("ALTER DATABASE kept WITH " . $option);
	wait_until('it has left', sub { worker_pid($session, 'kept') eq '' });
	pass("the worker leaves after $option");
	$session->query("ALTER DATABASE kept WITH " . ($option =~ s/\w+$/$off/r));
}
$kept->quit;

#
# Many databases with odd names, most of them without the extension
#
my @names = map { qq{db $_ "x" 'y'} } 1 .. size(8, 20);
$begin = -s $node->logfile;
$session->query('CREATE DATABASE "' . ($_ =~ s/"/""/gr) . '"') foreach @names;

# The launcher learns of them now, and not by its slow poll.
$session->query('SELECT pg_reload_conf()');
my $most = 0;
my $named = session($node, connstr => $node->connstr($names[5]));
$named->query('SET client_min_messages = error');
$named->query('CREATE EXTENSION booking CASCADE');
$stub->client($named, 'named', 'store');
claim($named, 'named', 'named');
wait_until(
	'the one with the extension is served',
	sub {
		my $now = $session->query(
			"SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'booking worker'");

		$most = $now if $now > $most;
		return (operations($named, 'named') // '') eq 'create confirmed';
	});
pass('a database with an odd name is served');
cmp_ok($most, '<=', 3, 'the others do not take all worker slots');
unlike(log_from($begin), qr/too many background workers|no slot is free/, 'nobody ran out of them');

# Two workers stay: that one and the one of "kept".
wait_until(
	'the others leave',
	sub {
		return $session->query(
			"SELECT string_agg(datname, ', ' ORDER BY datname) FROM pg_stat_activity WHERE backend_type = 'booking worker'"
		) eq "$names[5], kept";
	});
pass('and the others leave');
$named->quit;

#
# Restore of a whole cluster into one with the library preloaded
#
my $dump = $node->basedir . '/all.sql';
$node->command_ok([ 'pg_dumpall', '-f', $dump, '-p', $node->port, '-h', $node->host ],
	'dump of the cluster');

my $restored = booking_node('restored', conf => worker_conf());
is_quick('restore of the cluster', 60,
	sub {
		$restored->command_ok(
			[
				'psql', '-Xqf', $dump, '-d', 'postgres', '-p', $restored->port, '-h',
				$restored->host, '-v', 'VERBOSITY=verbose'
			],
			'finishes');
	});
$kept = session($restored, dbname => 'kept');
is($kept->query('SELECT count(*) FROM booking.operation'), '2', 'all is there');
wait_until('the restored one is paused',
	sub { worker_status($kept) =~ /^paused: another cluster was armed; .*booking_arm/ });
pass('a restored cluster is paused, and says why');
$kept->query("SELECT booking_credential_put('t', 'kept', '{\"type\": \"basic\", \"username\": \"u\", \"password\": \"p\"}')");
claim($kept, 'kept', 'third');
is(operations($kept, 'third'), 'create waiting', 'what is claimed meanwhile waits');
$kept->query('SELECT booking_arm()');
is_settled($kept, 'third', 'create confirmed', 'until booking_arm()');

# A physical copy keeps the identifier of the cluster; the key tells it apart.
$kept->query("ALTER SYSTEM SET booking.arm_key = 'other'");
$kept->query('SELECT pg_reload_conf()');
wait_until('another key pauses it',
	sub { worker_status($kept) =~ /^paused: booking.arm_key is another one; .*booking_arm/ });
pass('another booking.arm_key pauses the worker');
$kept->query('ALTER SYSTEM RESET booking.arm_key');
$kept->query('SELECT pg_reload_conf()');
wait_until('the old key lets it work', sub { worker_status($kept) eq 'idle' });
pass('the old key lets it work');
$kept->quit;
$restored->stop;
$session->quit;
$node->stop;

#
# No slot for a worker
#
my ($small, $narrow) = worker_node('small',
	conf => "max_worker_processes = 2\nbooking.poll_interval = '1s'\n");
$stub->client($narrow, 's', 'store');
claim($narrow, 's', 'starved');
is(operations($narrow, 'starved'), 'create waiting', 'without a slot work waits');
wait_until('the status says so',
	sub { worker_status($narrow) =~ /^absent: no slot is free.*max_worker_processes/ });
pass('and the status says why');
$small->stop;
is( scalar(() = slurp_file($small->logfile) =~ /no slot is free for a worker/g),
	1, 'the log says it once');
$small->append_conf('postgresql.conf', 'max_worker_processes = 3');
$small->start;
$narrow = session($small);
is_settled($narrow, 'starved', 'create confirmed', 'nothing is lost');
$narrow->quit;
$small->stop;

#
# Many databases with odd names, each with the extension
#
my $many = booking_node('many',
	conf => worker_conf() . "max_worker_processes = 80\nbooking.poll_interval = '1h'\n");
my $crowd = session($many);
my @served;
foreach my $n (1 .. size(20, 64))
{
	my $name = qq{served $n "x" 'y'};

	$crowd->query('CREATE DATABASE "' . ($name =~ s/"/""/gr) . '"');
	my $in = session($many, connstr => $many->connstr($name));
	$in->query('SET client_min_messages = error');
	$in->query('CREATE EXTENSION booking CASCADE');
	$stub->client($in, "many$n", 'store');
	claim($in, "many$n", "many$n");
	push @served, $in;
}
foreach my $n (1 .. @served)
{
	is_settled($served[ $n - 1 ], "many$n", 'create confirmed', "database $n is served");
	is($stub->requests("many$n", 'PUT'), 1, 'by one worker');
}
is( $crowd->query(
		"SELECT count(*), count(DISTINCT datname) FROM pg_stat_activity WHERE backend_type = 'booking worker'"
	),
	@served . "\x1f" . @served,
	'each by its own');
if (@served == 64)
{
	# these are all that there can be
	$crowd->query('CREATE DATABASE one_more');
	my $in = session($many, dbname => 'one_more');
	$in->query('SET client_min_messages = error');
	$in->query('CREATE EXTENSION booking CASCADE');
	$stub->client($in, 'more', 'store');
	wait_until('the next one is told so',
		sub { worker_status($in) =~ /^absent: as many databases have a worker as can have one/ });
	pass('the next one is told that there are no more');
	push @served, $in;
}
$_->quit foreach @served, $crowd;
is_quick('fast shutdown with all of them', 2, sub { $many->stop('fast') });
$stub->stop;

done_testing();
