# test/t/030_dump.pl
#
# A dump holds everything and a restore brings everything back: the rows of
# every table, the positions of the sequences, the privileges that users gave,
# the answers.  Plain, custom with one and with four jobs, and directory format.
#
# Proves R81 (no seed row breaks a COPY), R82 (the first new id is fresh), R83
# (--exit-on-error passes), R84 (the schema of the relations is fixed), R85
# (grants survive), R86 (every table is in the dump), R87 (nothing is made at run
# time that a dump would stumble on), R88 (no event triggers, settings survive),
# and that a schema in our way is named as such.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Contract;
use Booking::Estate;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = booking_node('main');
my $folder = PostgreSQL::Test::Utils::tempdir();

$node->safe_psql('postgres', <<'EOSQL');
CREATE ROLE app LOGIN;
CREATE ROLE reader LOGIN;
CREATE DATABASE source;
ALTER DATABASE source SET booking.max_hold = '3h';
EOSQL

my $source = session($node, dbname => 'source');
my $policies = 'SELECT count(*), md5(string_agg(polrelid::regclass || polname || pg_get_expr(polqual, polrelid), $$ $$ ORDER BY polrelid::regclass::text)) FROM pg_policy';

# ----------------------------------------------------------------------------
# A filled database
# ----------------------------------------------------------------------------

$source->query(<<'EOSQL');
CREATE SCHEMA extensions;
CREATE EXTENSION btree_gist SCHEMA extensions;
CREATE EXTENSION booking;
EOSQL
my $record = contract_run($source, 'acme');

estate_local($source);
is_clean($source, 'source');

is( $source->query("SELECT string_agg(DISTINCT state, ' ' ORDER BY state) FROM booking.intent"),
	'canceled committed conflict needs_proposal proposed',
	'the source has an intent in every state that needs no provider');
is( $source->query("SELECT string_agg(DISTINCT state, ' ' ORDER BY state) FROM booking.proposal"),
	'approved displaced lapsed open rejected',
	'and its proposals are decided in every way but one');

# ----------------------------------------------------------------------------
# What must be equal
# ----------------------------------------------------------------------------

my @source = contents($source);
cmp_ok(scalar(@source), '>', 100, 'there is something to compare');

# R86, R87, R88: all that holds data is in the dump, and nothing surprises it.
is( $source->query(
		q{SELECT string_agg(c.oid::regclass::text, ' ' ORDER BY 1)
			FROM pg_class c
		   WHERE c.relnamespace = 'booking'::regnamespace AND c.relkind IN ('r', 'S')
			 AND NOT EXISTS (SELECT FROM pg_extension e
							  WHERE e.extname = 'booking' AND c.oid = ANY (e.extconfig))}),
	'\N',
	'every table and sequence is a configuration relation');
is( $source->query(
		q{SELECT count(*) FROM pg_class c
		   WHERE c.relnamespace = 'booking'::regnamespace AND c.relkind IN ('r', 'S', 'v')
			 AND NOT EXISTS (SELECT FROM pg_depend d
							  WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
								AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e')}),
	'0',
	'every relation in the schema belongs to the extension');
is($source->query('SELECT count(*) FROM pg_event_trigger'),
	'0', 'there are no event triggers');

# ----------------------------------------------------------------------------
# Dump and restore
# ----------------------------------------------------------------------------

my @dump = ('pg_dump', '-d', $node->connstr('source'));

command_ok([ @dump, '-Fp', '-f', "$folder/plain.sql" ], 'pg_dump, plain');
command_ok([ @dump, '-Fc', '-f', "$folder/custom" ], 'pg_dump, custom');
command_ok([ @dump, '-Fd', '-j', '2', '-f', "$folder/directory" ],
	'pg_dump, directory with two jobs');
command_ok([ @dump, '-Fp', '--inserts', '-f', "$folder/inserts.sql" ],
	'pg_dump, as INSERTs');
command_ok(
	[ @dump, '-Fp', '--create', '-f', "$folder/create.sql" ],
	'pg_dump, with the database');
like(
	PostgreSQL::Test::Utils::slurp_file("$folder/create.sql"),
	qr/ALTER DATABASE source SET "?booking\.max_hold"? TO '3h'/,
	'settings of the database are in the dump');

my @restore = ('pg_restore', '--exit-on-error');
my %restores = (
	plain => [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$folder/plain.sql" ],
	inserts => [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f', "$folder/inserts.sql" ],
	custom => [ @restore, "$folder/custom" ],
	custom_jobs => [ @restore, '-j', '4', "$folder/custom" ],
	directory_jobs => [ @restore, '-j', '4', "$folder/directory" ]);

foreach my $name (sort keys %restores)
{
	my ($program, @arguments) = @{ $restores{$name} };

	$node->safe_psql('postgres', "CREATE DATABASE $name");
	command_ok([ $program, '-d', $node->connstr($name), @arguments ],
		"$name: restored without an error");

	my $restored = session($node, dbname => $name);
	same_contents(\@source, [ contents($restored) ], $name);
	is_clean($restored, $name);

	# Ids go on.
	my $last = $restored->query('SELECT max(intent_id) FROM booking.intent');
	is_row(
		$restored,
		"SELECT disposition FROM booking_claim('blue', 'ada', 'fresh', 'room', tstzrange('2030-04-01 08:00+00', '2030-04-01 09:00+00'))",
		['committed'],
		"$name: a new claim commits");
	cmp_ok(
		$restored->query("SELECT intent_id FROM booking.intent WHERE intent = 'fresh'"),
		'>', $last, "$name: with a fresh id");
	is( $restored->query("SELECT booking_resource_put('blue', 'annex')"),
		'1', "$name: a new resource has a fresh id too");

	contract_again($restored, $record, $name);

	# Holds and proposals are what they were.
	is_row(
		$restored,
		"SELECT disposition FROM booking_claim('blue', 'ada', 'over hold', 'room', tstzrange('2030-03-04 08:00+00', '2030-03-04 09:00+00'))",
		['resource_conflict'],
		"$name: a live hold still holds");
	is_row(
		$restored,
		"SELECT disposition FROM booking_approve('blue', 'bob', 'ada', 'held', 1)",
		['denied'],
		"$name: a denied approver is still denied");
	is_row(
		$restored,
		"SELECT disposition FROM booking_approve('blue', 'ada', 'ada', 'held', 1)",
		['committed'],
		"$name: a held proposal can be approved");
	is_row(
		$restored,
		"SELECT disposition FROM booking_approve('careful', 'bob', 'ada', 'four eyes', 1)",
		['committed'],
		"$name: so can one under four eyes");
	$restored->query("UPDATE public.appointment SET status = 'open'");
	is( $restored->query('SELECT status FROM public.appointment WHERE id = 1'),
		'canceled', "$name: the guard of a user's table still guards");
	is_clean($restored, "$name, after further calls");

	# The grants work, not only look right.
	my $app = session($node, dbname => $name, user => 'app');
	is_row(
		$app,
		"SELECT disposition FROM booking_claim('blue', 'ada', 'by app', 'room', tstzrange('2030-04-02 08:00+00', '2030-04-02 09:00+00'))",
		['committed'],
		"$name: the bound role with its grant can claim");
	is($app->sqlstate("SELECT booking_cancel('blue', 'ada', 'by app')"),
		'42501', "$name: and cannot call what it was not granted");
	my $reader = session($node, dbname => $name, user => 'reader');
	is($reader->sqlstate('SELECT count(*) FROM booking.intent'),
		'00000', "$name: a reader can read what it was granted");
	is($reader->sqlstate('SELECT count(*) FROM booking.proposal'),
		'42501', "$name: and nothing else");

	# Policies come from the script, so row security is as it was, and by the bindings.
	is($reader->query('SELECT count(*) FROM booking.intent'), '0', "$name: nor rows without a binding");
	$restored->query("SELECT booking_bind_role('reader', 'blue')");
	is($reader->query('SELECT string_agg(DISTINCT tenant, $$ $$) FROM booking.intent'),
		'blue', "$name: with one, those of the tenant");
	is($restored->query($policies), $source->query($policies), "$name: the policies are the same");
	$_->quit foreach ($app, $reader, $restored);
}

# ----------------------------------------------------------------------------
# Another schema for the functions, drop, create again, a schema in the way
# ----------------------------------------------------------------------------

$node->safe_psql('postgres', 'CREATE DATABASE elsewhere');
$node->safe_psql('postgres', 'CREATE DATABASE elsewhere_restored');
{
	my $session = session($node, dbname => 'elsewhere');
	my $odd = '"App Functions"';

	$session->query("CREATE SCHEMA $odd");
	$session->query("CREATE EXTENSION booking SCHEMA $odd CASCADE");
	my $moved = contract_run($session, 'acme', prefix => "$odd.");
	contract_again($session, $moved, 'functions in another schema');
	is_clean($session, 'functions in another schema', $odd);
	is($session->sqlstate("SELECT booking_status('acme', 'ada', 'one')"),
		'42883', 'they are there only');
	is($session->sqlstate("ALTER EXTENSION booking SET SCHEMA public"),
		'0A000', 'and stay there');

	command_ok([ 'pg_dump', '-Fc', '-f', "$folder/elsewhere", '-d', $node->connstr('elsewhere') ],
		'functions in another schema: dumped');
	command_ok([ @restore, '-j', '4', '-d', $node->connstr('elsewhere_restored'), "$folder/elsewhere" ],
		'functions in another schema: restored');
	my $restored = session($node, dbname => 'elsewhere_restored');
	contract_again($restored, $moved, 'functions in another schema, restored');
	$restored->quit;

	# Only the extension owns its schema.
	is($session->sqlstate('DROP SCHEMA booking CASCADE'),
		'2BP01', 'the schema cannot be dropped without the extension');
	is($session->sqlstate('DROP TABLE booking.intent CASCADE'),
		'2BP01', 'nor a table');

	$session->query('DROP EXTENSION booking');
	is( $session->query(
			"SELECT (SELECT count(*) FROM pg_namespace WHERE nspname = 'booking'),
					(SELECT count(*) FROM pg_proc WHERE proname LIKE 'booking%'),
					(SELECT count(*) FROM pg_type WHERE typname LIKE '%booking\\_%')"
		),
		"0\x1f0\x1f0",
		'dropping the extension leaves nothing');

	# The session has plans of the old relations; they must not be used.
	$session->query('CREATE EXTENSION booking');
	my $new = contract_run($session, 'acme');
	contract_again($session, $new, 'created again in the same session');
	is($session->query('SELECT min(intent_id) FROM booking.intent'),
		'1', 'created again: ids start anew');
	is_clean($session, 'created again');

	# A schema of that name which is not the extension's.
	$session->query('DROP EXTENSION booking');
	$session->query('CREATE SCHEMA booking');
	my $error = fails_with($session, 'CREATE EXTENSION booking', '42P06',
		'a schema of that name made by others is an error');
	like($error->{message} // '', qr/"booking"/, 'it names the schema');
	like($error->{hint} // '', qr/\w/, 'and has a hint');
	is( $session->query(
			"SELECT count(*) FROM pg_proc WHERE proname LIKE 'booking%'"),
		'0',
		'nothing is left of the attempt');
	$session->query('DROP SCHEMA booking');
	$session->query('CREATE EXTENSION booking');
	is_clean($session, 'after the schema made room');
	$session->quit;
}

figure('dump compared lines', scalar(@source));

$source->quit;
$node->stop;

done_testing();
