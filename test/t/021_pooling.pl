# test/t/021_pooling.pl
#
# Behind a pooler in transaction mode every transaction may run in another
# backend, and a backend serves many clients in turn.  All of the interface must
# work so, and no call may leave anything in the backend's session that the next
# client could see or have to wait for.
#
# Proves R95: no session-level lock, no LISTEN, no identity from a setting, and
# the full interface through transaction pooling.  Needs pgbouncer (Debian
# package of that name).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Contract;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($pgbouncer) =
  grep { -x $_ } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
unless ($pgbouncer)
{
	fail('pgbouncer is installed (Debian package "pgbouncer")');
	done_testing();
	exit 1;
}

my $pool_size = 3;
my $clients = 8;
my $node = booking_node('main');
my $direct = session($node);

$direct->query('CREATE EXTENSION booking CASCADE');

# ----------------------------------------------------------------------------
# The pooler: its own folder and socket, no TCP
# ----------------------------------------------------------------------------

my $folder = PostgreSQL::Test::Utils::tempdir_short();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $user = $direct->query('SELECT current_user');

PostgreSQL::Test::Utils::append_to_file("$folder/users.txt", qq{"$user" ""\n});
PostgreSQL::Test::Utils::append_to_file("$folder/pgbouncer.ini", <<"EOC");
[databases]
postgres = host=@{[$node->host]} port=@{[$node->port]} dbname=postgres user=$user
[pgbouncer]
listen_addr =
listen_port = $port
unix_socket_dir = $folder
logfile = $folder/pgbouncer.log
pidfile = $folder/pgbouncer.pid
auth_type = trust
auth_file = $folder/users.txt
pool_mode = transaction
default_pool_size = $pool_size
server_reset_query =
ignore_startup_parameters = extra_float_digits,options
EOC

my $pooler = IPC::Run::start([ $pgbouncer, "$folder/pgbouncer.ini" ],
	'<', \undef, '>', \my $pooler_output, '2>&1');

# Whatever ends the test, the pooler ends with it.
END
{
	local $?;
	$pooler->kill_kill(grace => 5) if $pooler;
}

my $connstr = "host=$folder port=$port dbname=postgres";
wait_until('the pooler answers', sub { -S "$folder/.s.PGSQL.$port"; });

my @clients = map { session($node, connstr => $connstr) } 1 .. $clients;

is( $direct->query(
		"SELECT count(*) <= $pool_size FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
	),
	't',
	"$clients clients share at most $pool_size backends");

# ----------------------------------------------------------------------------
# The contract, with each call on the next client
# ----------------------------------------------------------------------------

# A session that hands every statement to the next client.
package RoundRobin
{
	sub new
	{
		my ($class, @sessions) = @_;
		return bless { sessions => \@sessions, next => 0 }, $class;
	}

	sub try
	{
		my ($self, $sql) = @_;
		return $self->{sessions}[ $self->{next}++ % @{ $self->{sessions} } ]
		  ->try($sql);
	}

	sub query
	{
		my ($self, $sql) = @_;
		return $self->{sessions}[ $self->{next}++ % @{ $self->{sessions} } ]
		  ->query($sql);
	}
}

my $anyone = RoundRobin->new(@clients);
my $record = contract_run($anyone, 'acme');
contract_again($anyone, $record, 'through the pooler');

# ----------------------------------------------------------------------------
# All clients at once: open transactions, waits, every function
# ----------------------------------------------------------------------------

$anyone->query(
	"SELECT booking_resource_put('blue', 'r' || i, CASE i WHEN 3 THEN 3 ELSE 1 END) FROM generate_series(0, 3) i");
$anyone->query("SELECT booking_slot_put('blue', 'r3', 'noon', "
	  . during('12:00', '13:00')
	  . ')');
$anyone->query(
	"SELECT booking_permit_all('blue', 'p' || i) FROM generate_series(0, $clients) i");

# One unit, as many intents as clients, twice each: one winner and one history.
# Half of the clients use a transaction block, which keeps its backend.
{
	my %answers;

	foreach my $try (1, 2)
	{
		foreach my $i (0 .. $#clients)
		{
			my $call =
			  "SELECT disposition FROM booking_claim('blue', 'p$i', 'race', 'r0', "
			  . during('09:00', '10:00') . ')';
			$clients[$i]
			  ->send($i % 2 ? "BEGIN;\nSELECT 1;\n$call;\nCOMMIT" : $call);
		}
		foreach my $client (@clients)
		{
			my $result = $client->receive;
			$answers{ $result->{error} ? $result->{error}{text} : $result->{lines}[-1] }++;
		}
	}
	is_deeply(
		\%answers,
		{
			committed => 1,
			historical_retry => 1,
			resource_conflict => 2 * ($clients - 1)
		},
		'a race of all clients, repeated: one winner');
}

# A transaction that stays open on one client: the others wait behind it, more
# of them than there are backends, and all get their answer.
{
	$clients[0]->query('BEGIN');
	is_row(
		$clients[0],
		"SELECT disposition FROM booking_claim('blue', 'p0', 'open', 'r1', "
		  . during('09:00', '10:00') . ')',
		['committed'],
		'an open transaction claims');
	foreach my $i (1 .. $#clients)
	{
		$clients[$i]->send(
			"SELECT disposition FROM booking_claim('blue', 'p$i', 'open', 'r1', "
			  . during('09:30', '10:30')
			  . ')');
	}
	wait_until(
		'the other backends wait',
		sub {
			return $direct->query(
				"SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
			  == $pool_size - 1;
		});
	$clients[0]->query('COMMIT');
	is( join(' ', map { $_->receive->{lines}[0] } @clients[ 1 .. $#clients ]),
		join(' ', ('resource_conflict') x $#clients),
		'all who waited behind it get a conflict');
}

# Every function, each on another client, for a principal who was in no race.
foreach my $step (
	[ "booking_claim_all('blue', 'p8', 'all', '{r2,r3}', " . during('10:00', '11:00') . ')', 'committed' ],
	[ "booking_claim_slot('blue', 'p8', 'slot', 'r3', 'noon', 1, 2)", 'committed' ],
	[ "booking_propose('blue', 'p8', 'prop', 'r2', " . during('14:00', '15:00') . ", hold_for => '1 hour')", 'held' ],
	[ "booking_claim('blue', 'p2', 'late', 'r2', " . during('14:00', '15:00') . ')', 'resource_conflict' ],
	[ "booking_approve('blue', 'p2', 'p8', 'prop', 1)", 'committed' ],
	[ "booking_propose('blue', 'p8', 'prop-2', 'r2', " . during('16:00', '17:00') . ')', 'proposed' ],
	[ "booking_reject('blue', 'p2', 'p8', 'prop-2', 1, 'no')", 'needs_proposal' ],
	[ "booking_claim('blue', 'p8', 'moved', 'r2', " . during('14:30', '15:30') . ", supersedes => 'prop')", 'committed' ],
	[ "booking_status('blue', 'p8', 'prop')", 'canceled' ],
	[ "booking_override('blue', 'p8', 'over', 'r2', " . during('14:00', '15:00') . ", 1, '{}', 'why')", 'committed' ],
	[ "booking_cancel_exact('blue', 'p8', 'exact', 'r2', " . during('18:00', '19:00') . ", NULL, 1, '{}')", 'canceled' ],
	[ "booking_cancel('blue', 'p8', 'moved')", 'canceled' ])
{
	my ($call, $disposition) = @$step;
	my ($function) = $call =~ /^(\w+)/;

	is($anyone->query("SELECT disposition FROM $call"),
		$disposition, "$function through the pooler");
}
is( $anyone->query("SELECT string_agg(intent, ' ') FROM booking_list('blue', 'p8', state => 'committed')"),
	'all over slot', 'list through the pooler');
is( $anyone->query("SELECT count(*) FROM booking_free('blue', 'p8', '{r2,r3}', " . during('09:00', '12:00') . ", '1 hour')"),
	'2', 'free through the pooler');

# ----------------------------------------------------------------------------
# What the calls left in the backends
# ----------------------------------------------------------------------------

# Occupy all backends at once, so that each is looked at.
{
	my %pids;

	$_->query('BEGIN') foreach @clients[ 0 .. $pool_size - 1 ];
	foreach my $client (@clients[ 0 .. $pool_size - 1 ])
	{
		my ($pid, @state) = $client->row(q{
			SELECT pg_backend_pid(),
				   (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'),
				   (SELECT count(*) FROM pg_listening_channels()),
				   (SELECT count(*) FROM pg_prepared_statements),
				   (SELECT count(*) FROM pg_cursors),
				   (SELECT count(*) FROM pg_class WHERE relpersistence = 't'),
				   (SELECT count(*) FROM pg_settings WHERE source = 'session' AND name <> 'application_name'),
				   current_setting('search_path'), current_setting('role'), session_user = current_user
		});

		$pids{$pid} = 1;
		is_deeply(
			\@state,
			[ 0, 0, 0, 0, 0, 0, '"$user", public', 'none', 't' ],
			"backend $pid: no lock, listener, statement, cursor, temporary table or setting is left");
	}
	$_->query('COMMIT') foreach @clients[ 0 .. $pool_size - 1 ];
	is(scalar(keys %pids), $pool_size, 'all backends were looked at');
}
is( $direct->query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"),
	'0',
	'no lock of ours is left anywhere');

# A client that leaves in the middle of a transaction takes its locks along.
$clients[0]->query('BEGIN');
$clients[0]->query(
	"SELECT booking_claim('blue', 'p0', 'gone', 'r1', "
	  . during('20:00', '21:00')
	  . ')');
(shift @clients)->quit;
is_row(
	$clients[0],
	"SELECT disposition FROM booking_claim('blue', 'p1', 'heir', 'r1', "
	  . during('20:00', '21:00') . ')',
	['committed'],
	'what an interrupted client claimed is free again');
is_clean($direct, 'after pooling');

figure('pooling clients', $clients);
figure('pooling backends', $pool_size);

$_->quit foreach @clients;
$pooler->kill_kill(grace => 5);
$pooler = undef;
$direct->quit;
$node->stop;

done_testing();
