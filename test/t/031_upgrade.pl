# test/t/031_upgrade.pl
#
# A database that was filled under the first version goes through every update
# as it is: no row is lost or written anew, no constraint or index is built
# again, and what was answered then is the answer now.
#
# Each update takes seconds however many bookings there are, since it adds
# columns that need no value and relations that are empty; the storage of what
# is filled stays the same file.  Proves R21, R81 and R82 for updates.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $bookings = size(20_000, 1_000_000);
my $bound = 10; # seconds for one update, however many bookings there are
my $node = booking_node('main', conf => 'max_wal_size = 4GB');
my $session = session($node);

# The calls are those of the newest version and refuse older objects, so the
# owner's own DML fills the tables.
$session->query("CREATE EXTENSION booking VERSION '0.1' CASCADE");
$session->query(<<"EOSQL");
INSERT INTO booking.resource (tenant, resource) SELECT 'acme', 'r' || n FROM generate_series(0, 99) n;
INSERT INTO booking.permission VALUES ('acme', 'ada', '', true);
INSERT INTO booking.intent (created_at, changed_at, version, units, tenant, principal, intent,
							disposition, state, receipt, resources, during, terms, created_role, changed_role)
SELECT '2029-01-01 00:00+00', '2029-01-01 00:00+00', 1, 1, 'acme', 'ada', 'i' || n,
	   'committed', 'committed', 'local:' || n, ARRAY['r' || n % 100],
	   tstzrange('2030-01-01 00:00+00'::timestamptz + n / 100 * interval '1 hour',
				 '2030-01-01 01:00+00'::timestamptz + n / 100 * interval '1 hour'), '{"seats": [1, 2]}', 'old', 'old'
  FROM generate_series(0, $bookings - 1) n;
INSERT INTO booking.reservation (intent_id, resource_id, piece, unit, occupied, tenant)
SELECT i.intent_id, r.resource_id, 0, 0, i.during, 'acme'
  FROM booking.intent i JOIN booking.resource r ON r.resource = i.resources[1];
INSERT INTO booking.intent (created_at, changed_at, version, tenant, principal, intent,
							disposition, state, created_role, changed_role)
VALUES ('2029-01-01 00:00+00', '2029-01-01 00:00+00', 0, 'acme', 'ada', 'tomb', 'canceled', 'canceled', 'old', 'old');
EOSQL

# What the tables of the first version hold, in its columns, and in which files.
my $columns = $session->query(<<'EOSQL');
SELECT string_agg(format('SELECT %L, count(*), sum(hashtextextended(x::text, 0)) FROM (SELECT %s FROM %s) x',
						 c.relname, names, c.oid::regclass), ' UNION ALL ' ORDER BY c.relname)
  FROM pg_class c, LATERAL (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS names
							  FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0) a
 WHERE relnamespace = 'booking'::regnamespace AND relkind = 'r'
EOSQL
my $files = <<'EOSQL';
SELECT string_agg(c.oid::regclass || '=' || pg_relation_filenode(c.oid), ' ' ORDER BY c.relname)
  FROM pg_class c
 WHERE c.oid IN ('booking.intent'::regclass, 'booking.intent_pkey'::regclass,
				 'booking.intent_identity_key'::regclass, 'booking.reservation'::regclass,
				 'booking.reservation_pkey'::regclass, 'booking.reservation_lane_excl'::regclass,
				 'booking.resource'::regclass, 'booking.proposal'::regclass)
EOSQL
my $rows = $session->query($columns);
like($rows, qr/^intent\x1f@{[ $bookings + 1 ]}\x1f/m, 'the rows are known');
my $stored = $session->query($files);
like($stored, qr/reservation_lane_excl=\d/, 'the files are known');
my $last = $session->query('SELECT max(intent_id) FROM booking.intent');

foreach my $version ('0.2', '0.3', '0.4', '0.5', '0.6')
{
	my $start = time();

	fails_with($session, "SELECT booking_status('acme', 'ada', 'i1')",
		'55000', "before $version: older objects are refused");
	$session->query("ALTER EXTENSION booking UPDATE TO '$version'");
	cmp_ok(time() - $start, '<', $bound, "$version: an update takes seconds");
	figure("update to $version of $bookings bookings, seconds", sprintf('%.1f', time() - $start));
	is($session->query($columns), $rows, "$version: every row is what it was");
	is($session->query($files), $stored, "$version: nothing is written or built anew");
}
my ($newest) = slurp_file("$FindBin::RealBin/../../booking.control") =~ /^default_version = '(.*)'/m;
is($session->query("SELECT extversion FROM pg_extension WHERE extname = 'booking'"),
	$newest, 'that is the newest version');
is_clean($session, 'after the updates');

my $during = "tstzrange('2030-01-01 00:00+00', '2030-01-01 01:00+00')";
is_row(
	$session,
	"SELECT disposition, receipt, replayed FROM booking_claim('acme', 'ada', 'i7', 'r7', $during, terms => '{\"seats\": [1, 2]}')",
	[ 'historical_retry', 'local:7', 't' ],
	'a booking of the first version is history');
is_row($session, "SELECT disposition FROM booking_claim('acme', 'ada', 'i7', 'r8', $during)",
	['intent_conflict'], 'and bound to its values');
is_row($session, "SELECT disposition FROM booking_claim('acme', 'ada', 'tomb', 'r7', $during)",
	['canceled'], 'so is a tombstone');
is_row($session, "SELECT disposition FROM booking_claim('acme', 'ada', 'other', 'r7', $during)",
	['resource_conflict'], 'its time is taken');
is_row(
	$session,
	"SELECT disposition, receipt FROM booking_cancel('acme', 'ada', 'i7')",
	[ 'canceled', 'local:7' ],
	'it can be canceled');
is_row($session, "SELECT disposition FROM booking_claim('acme', 'ada', 'next', 'r7', $during)",
	['committed'], 'which frees its time');
cmp_ok($session->query("SELECT intent_id FROM booking.intent WHERE intent = 'next'"),
	'>', $last, 'new numbers go on behind the old ones');
is_clean($session, 'at the end');

$session->quit;
$node->stop;

done_testing();
