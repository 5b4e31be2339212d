# test/t/051_revoke.pl
#
# A revocation that has committed is never followed by the commit of a claim
# that it forbids.  Eight clients claim as fast as they can while permission is
# taken away and given back 25 times, by every way there is: the function, a
# forbidding row for one resource under an allowing one for all, and direct DML
# of the owner.
#
# Two measures: after the revocation's commit has returned, the set of recorded
# claims does not grow until permission is given back, although claims go on
# being made; and by commit timestamps no claim lies between the two.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $rounds = 25;
my $clients = 8;
my $node = booking_node('main', conf => 'track_commit_timestamp = on');
my $session = session($node);

$session->query(<<'EOSQL');
CREATE EXTENSION booking CASCADE;
CREATE SEQUENCE attempts;
CREATE TABLE revocation (round int, revoked_at timestamptz, permitted_at timestamptz);
SELECT booking_resource_put('acme', 'room', 1000);
SELECT booking_resource_put('acme', 'desk');
SELECT booking_permit_all('acme', 'ada');
EOSQL

# Each attempt is a new intent; half of them take the shared lock of a resource
# with one unit, half the exclusive one.  The sequence counts attempts whatever
# becomes of them.
my $script = PostgreSQL::Test::Utils::tempdir() . '/claim.sql';
PostgreSQL::Test::Utils::append_to_file($script, <<'EOC');
SELECT nextval('attempts') AS n \gset
SELECT booking_claim('acme', 'ada', 'c-' || :n, CASE WHEN :n % 2 = 0 THEN 'room' ELSE 'desk' END,
	tstzrange('2030-01-01 00:00+00'::timestamptz + :n * interval '1 minute',
			  '2030-01-01 00:01+00'::timestamptz + :n * interval '1 minute'))
EOC

my $log = '';
my $bench = IPC::Run::start(
	[
		$node->installed_command('pgbench'), '-n', '-c', $clients, '-j', 2,
		'-M', 'simple', '-T', 600, '-f', $script, '-d', $node->connstr('postgres')
	],
	'<', \undef, '>', \$log, '2>&1');

END
{
	local $?;
	$bench->kill_kill(grace => 5) if $bench;
}

# Wait until so many more attempts have been made.
sub attempts
{
	my ($more) = @_;
	my $sql = 'SELECT last_value FROM attempts';
	my $goal = $session->query($sql) + $more;

	wait_until("$more more attempts are made",
		sub { $bench->pump_nb; return $session->query($sql) >= $goal; });
	return;
}

sub recorded
{
	return $session->query('SELECT count(*) FROM booking.intent');
}

# Ways to revoke, their opposites, and what restores the rows as they were.
my @ways = (
	[
		'booking_permit_all',
		"SELECT booking_permit_all('acme', 'ada', false)",
		"SELECT booking_permit_all('acme', 'ada', true)"
	],
	[
		'false rows under an all-row',
		"SELECT booking_permit('acme', 'ada', r, false) FROM unnest(ARRAY['desk', 'room']) r",
		"SELECT booking_permit('acme', 'ada', r, true) FROM unnest(ARRAY['desk', 'room']) r",
		"DELETE FROM booking.permission WHERE resource IN ('desk', 'room')"
	],
	[
		'UPDATE by the owner',
		"UPDATE booking.permission SET allowed = false WHERE principal = 'ada'",
		"UPDATE booking.permission SET allowed = true WHERE principal = 'ada'"
	],
	[
		'DELETE by the owner',
		"DELETE FROM booking.permission WHERE principal = 'ada'",
		"SELECT booking_permit_all('acme', 'ada')"
	],
	[
		'INSERT by the owner',
		"INSERT INTO booking.permission SELECT 'acme', 'ada', r, false FROM unnest(ARRAY['room', 'desk']) r",
		"DELETE FROM booking.permission WHERE resource IN ('desk', 'room')"
	]);

attempts(5 * $clients);

my ($overtaken, $claimed, $slowest) = (0, 0, 0);
foreach my $round (1 .. $rounds)
{
	my ($name, $revoke, $permit, @tidy) = @{ $ways[ $round % @ways ] };
	my $before = recorded();
	my $start = time();
	$session->query("BEGIN; $revoke; INSERT INTO revocation VALUES ($round); COMMIT");
	my $took = time() - $start;
	$slowest = $took if $took > $slowest;

	my $revoked = recorded();
	attempts(5 * $clients);
	my $still = recorded();

	$session->query(
		"UPDATE revocation SET revoked_at = pg_xact_commit_timestamp(xmin) WHERE round = $round");
	$session->query(
		"BEGIN; $permit; UPDATE revocation SET permitted_at = clock_timestamp() WHERE round = $round; COMMIT"
	);
	$session->query($_) foreach @tidy;

	$overtaken++ if $still != $revoked;
	$claimed += $revoked - $before;
	is($still, $revoked, "round $round, $name: no claim commits after the revocation");

	# Permission given back, claims succeed again.
	my $again = recorded();
	wait_until('claims succeed again', sub { $bench->pump_nb; return recorded() > $again; });
	attempts(5 * $clients);
}

# By the order of commits: revoked_at is the commit of the revocation,
# permitted_at an instant within the transaction that gave permission back.
is( $session->query(q{
		SELECT count(*) FROM booking.intent i JOIN revocation r
			ON pg_xact_commit_timestamp(i.xmin) > r.revoked_at
		   AND pg_xact_commit_timestamp(i.xmin) < r.permitted_at}),
	'0',
	'no claim lies between a revocation and the next permission');

ok($bench->pumpable, 'the clients met no error');
$bench->kill_kill(grace => 5);
$bench = undef;
unlike($log, qr/ERROR|FATAL|aborted/, 'nor printed one');

wait_until('the clients are gone',
	sub { $session->query(
			"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'"
		) == 0; });
is_clean($session, 'after the revocations');
cmp_ok($claimed, '>', 0, 'claims did meet revocations');

figure('revocations', $rounds);
figure('revocations overtaken', $overtaken);
figure('slowest revocation, ms', sprintf('%.1f', 1000 * $slowest));
figure('claims recorded meanwhile', recorded());

$session->quit;
$node->stop;

done_testing();
