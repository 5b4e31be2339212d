# test/t/138_owner.pl
#
# The worker acts as the owner of the extension's relations.  It goes on when
# that role is renamed, loses its superuser attribute, or hands all over to
# another role and is dropped, and when a role that made bookings is gone.  When
# privileges are taken from the owner itself, the worker of that database says
# so and waits, the others go on, and once they are back so is the work.  Its
# writes are counted, so that autovacuum comes by itself.
#
# Proves R75 (renamed and dropped roles, revoked grants) and R80 (the queue is
# vacuumed).

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
	conf => worker_conf() . <<'EOC');
booking.poll_interval = '1h'
autovacuum_naptime = 1
autovacuum_vacuum_threshold = 50
autovacuum_vacuum_scale_factor = 0.1
EOC
my $session = session($node);

$session->query('SET client_min_messages = error');
$session->query("CREATE ROLE $_ LOGIN SUPERUSER") foreach qw(keeper heir);
$session->query("CREATE DATABASE $_") foreach qw(kept other);

# A database whose extension belongs to a role.
sub install
{
	my ($database, $owner) = @_;
	my $in = session($node, dbname => $database);

	$in->query('SET client_min_messages = error');
	$in->query("SET ROLE $owner");
	$in->query('CREATE EXTENSION booking CASCADE');
	$in->query('RESET ROLE');
	$stub->client($in, $database, 'store');
	return $in;
}

my $kept = install('kept', 'keeper');
my $other = install('other', 'postgres');
my $n = 0;

# A new booking gets its event.
sub works
{
	my ($in, $client, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $intent = 'works' . $n++;

	claim($in, $client, $intent);
	return is_settled($in, $intent, 'create confirmed', $name);
}

works($kept, 'kept', 'an owner of its own');
is( $kept->query(
		"SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class WHERE relnamespace = 'booking'::regnamespace"
	),
	'keeper',
	'owns the relations');
my $pid = worker_pid($session, 'kept');

#
# The role of the worker
#
$session->query('ALTER ROLE keeper RENAME TO renamed');
works($kept, 'kept', 'renamed');
$session->query('ALTER ROLE renamed NOSUPERUSER');
works($kept, 'kept', 'no superuser any more');
$session->query('ALTER ROLE renamed NOLOGIN');
works($kept, 'kept', 'not allowed to log in');
fails_with($session, 'DROP ROLE renamed', '2BP01', 'it cannot be dropped while it owns');
$kept->query('REASSIGN OWNED BY renamed TO heir');
$kept->query('DROP OWNED BY renamed');
$session->query('DROP ROLE renamed');
works($kept, 'kept', 'handed over and dropped');
is(worker_pid($session, 'kept'), $pid, 'all that with one worker');

# A role that made bookings is gone before their turn.
$session->query('CREATE ROLE app LOGIN');
$kept->query("SELECT booking_bind_role('app', 't')");
$kept->query('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA public TO app');
$stub->behave('kept', 'busy');
my $app = session($node, dbname => 'kept', user => 'app');
claim($app, 'kept', 'orphaned');
$app->quit;
$kept->query("SELECT booking_unbind_role('app', 't')");
$kept->query('DROP OWNED BY app');
$session->query('DROP ROLE app');
$stub->behave('kept', 'store');
is_settled($kept, 'orphaned', 'create confirmed', 'a booking of a role that was dropped');

#
# Privileges of the owner
#
$session->query('ALTER ROLE heir NOSUPERUSER');
my $from = -s $node->logfile;
$kept->query('REVOKE ALL ON booking.operation FROM heir');
$session->query("SELECT pg_terminate_backend($pid)");
wait_until(
	'the worker says so',
	sub {
		return $session->query(
			"SELECT query FROM pg_stat_activity WHERE backend_type = 'booking worker' AND datname = 'kept'"
		) =~ /an error ended the last round/;
	});
pass('a worker without privileges says that it cannot work');
like(slurp_file($node->logfile, $from), qr/permission denied for table operation/, 'the log says why');
unlike(slurp_file($node->logfile, $from), qr/WARNING/, 'and of nothing else');
$pid = worker_pid($session, 'kept');
works($other, 'other', 'others go on');
is(worker_pid($session, 'kept'), $pid, 'it stays');
$kept->query('GRANT ALL ON booking.operation TO heir');
works($kept, 'kept', 'with its privileges back it goes on');
is(worker_pid($session, 'kept'), $pid, 'the same worker');

#
# Its writes are counted
#
my $claims = size(200, 17000);

foreach my $first (map { $_ * 100 } 0 .. $claims / 100 - 1)
{
	$other->query(
		"SELECT booking_claim('t', 'p', 'many' || i, 'other', tstzrange(timestamptz '2030-01-07 10:00+00' + i * interval '1 hour', timestamptz '2030-01-07 11:00+00' + i * interval '1 hour'))"
		  . " FROM generate_series($first, $first + 99) i");
	wait_until(
		'the worker keeps up',
		sub {
			$other->query(
				"SELECT count(*) FROM booking.operation WHERE state <> 'confirmed'") < 1000;
		});
}
wait_until('all are confirmed',
	sub {
		$other->query("SELECT count(*) FROM booking.operation WHERE state <> 'confirmed'") == 0;
	});
foreach my $relation (qw(operation intent))
{
	wait_until(
		"booking.$relation is vacuumed",
		sub {
			return $other->query(
				"SELECT autovacuum_count > 0 AND n_tup_upd >= 2 * $claims FROM pg_stat_all_tables WHERE relid = 'booking.$relation'::regclass"
			) eq 't';
		});
	pass("the worker's writes to booking.$relation are counted, and autovacuum has run");
}
figure('writes of the worker', $other->query(<<'EOQ'));
SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_all_tables WHERE schemaname = 'booking'
EOQ
is_quick('after that a booking takes no time', 5,
	sub { works($other, 'other', 'and works') });

$_->quit foreach $kept, $other, $session;
$node->stop;
$stub->stop;

done_testing();
