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

$source->query(<<'EOSQL');
SELECT booking_resource_put('blue', 'class', 3, 'Europe/Berlin', '10 minutes', '5 minutes');
SELECT booking_resource_put('blue', 'room');
SELECT booking_resource_put('blue', U&'\00e9tage "o''clock"');
SELECT booking_slot_put('blue', 'class', 'noon', tstzrange('2030-03-01 12:00+00', '2030-03-01 13:00+00'));
SELECT booking_slot_put('blue', 'class', 'noon', tstzrange('2030-03-01 12:30+00', '2030-03-01 13:30+00'));
SELECT booking_permit_all('blue', p) FROM unnest(ARRAY['ada', 'bob']) p;
SELECT booking_permit('blue', 'bob', 'room', false);
SELECT booking_tenant_put('careful', true);
SELECT booking_resource_put('careful', 'van');
SELECT booking_permit_all('careful', p) FROM unnest(ARRAY['ada', 'bob']) p;
SELECT booking_bind_role('app', 'blue');

-- committed, with terms that a dump must quote and evidence
SELECT booking_claim('blue', 'ada', E'back\\slash and \u00e9', 'class', tstzrange('2030-03-01 08:00+00', '2030-03-01 09:00+00'), units => 3, terms => '{"note": "tab\t \\ \"quoted\"", "price": 1.00}', evidence => '{"call": "c-1"}');
SELECT booking_claim('blue', 'ada', 'slot', 'class', tstzrange('2030-03-01 10:00+00', '2030-03-01 11:00+00'));
SELECT booking_claim_slot('blue', 'ada', 'noon', 'class', 'noon', 2, 2);
SELECT booking_claim_all('blue', 'ada', 'both', '{room,class}', tstzrange('2030-03-02 08:00+00', '2030-03-02 09:00+00'), '{1,1}');
-- conflict, both kinds
SELECT booking_claim('blue', 'ada', 'full', 'class', tstzrange('2030-03-01 08:00+00', '2030-03-01 09:00+00'));
SELECT booking_claim('blue', 'ada', 'stale', 'class', tstzrange('2030-03-01 08:00+00', '2030-03-01 09:00+00'), 9);
SELECT booking_claim_slot('blue', 'ada', 'unknown slot', 'class', 'midnight', 1);
-- canceled: by identity, exact, after a commit, superseded
SELECT booking_cancel('blue', 'ada', 'tombstone');
SELECT booking_cancel_exact('blue', 'ada', 'bound tombstone', 'room', tstzrange('2030-03-01 08:00+00', '2030-03-01 09:00+00'), NULL, 1, '{}');
SELECT booking_claim('blue', 'ada', 'gone', 'room', tstzrange('2030-03-03 08:00+00', '2030-03-03 09:00+00'));
SELECT booking_cancel('blue', 'ada', 'gone');
SELECT booking_claim('blue', 'ada', 'first', 'room', tstzrange('2030-03-03 08:00+00', '2030-03-03 09:00+00'));
SELECT booking_claim('blue', 'ada', 'second', 'room', tstzrange('2030-03-03 08:30+00', '2030-03-03 09:30+00'), supersedes => 'first');
-- proposed: with a live hold, with an expired one, without; several versions
SELECT booking_propose('blue', 'ada', 'held', 'room', tstzrange('2030-03-04 08:00+00', '2030-03-04 09:00+00'), hold_for => '2 hours');
SET booking.clock_offset = '-3h';
SELECT booking_propose('blue', 'ada', 'expired', 'room', tstzrange('2030-03-04 10:00+00', '2030-03-04 11:00+00'), hold_for => '1 hour');
RESET booking.clock_offset;
SELECT booking_propose('blue', 'ada', 'open', 'room', tstzrange('2030-03-04 12:00+00', '2030-03-04 13:00+00'));
SELECT booking_propose('blue', 'ada', 'open', 'room', tstzrange('2030-03-04 12:00+00', '2030-03-04 14:00+00'));
SELECT booking_claim('careful', 'ada', 'four eyes', 'van', tstzrange('2030-03-04 12:00+00', '2030-03-04 13:00+00'));
-- approved to committed, rejected and lapsed to needs_proposal
SELECT booking_propose('blue', 'ada', 'approved', 'room', tstzrange('2030-03-05 08:00+00', '2030-03-05 09:00+00'), hold_for => '2 hours');
SELECT booking_approve('blue', 'ada', 'ada', 'approved', 1);
SELECT booking_propose('blue', 'ada', 'rejected', 'room', tstzrange('2030-03-05 10:00+00', '2030-03-05 11:00+00'));
SELECT booking_reject('blue', 'ada', 'ada', 'rejected', 1, 'too late');
SELECT booking_propose('blue', 'ada', 'beaten', 'room', tstzrange('2030-03-05 12:00+00', '2030-03-05 13:00+00'));
SELECT booking_claim('blue', 'ada', 'beater', 'room', tstzrange('2030-03-05 12:00+00', '2030-03-05 13:00+00'));
SELECT booking_approve('blue', 'ada', 'ada', 'beaten', 1);
-- beyond the capacity on purpose
SELECT booking_override('blue', 'ada', 'override', 'class', tstzrange('2030-03-01 08:00+00', '2030-03-01 09:00+00'), 2, '{}', 'the boss said so');
-- changes read, acknowledged and waiting; reminders done, taken, dropped and idle
SELECT booking_consumer_put('blue', c) FROM unnest(ARRAY['crm', 'mail']) c;
SELECT booking_claim('blue', 'ada', 'told ' || i, 'class', tstzrange('2020-03-06 08:00+00', '2020-03-06 09:00+00')) FROM generate_series(1, 3) i;
SELECT count(*) FROM booking_changes('blue', 'crm', 2);
SELECT booking_consumer_ack('blue', 'crm', 1);
SELECT booking_task_put('blue', 'ada', i, 'mail', '90 minutes', '{"note": "tab\t \\"}') FROM unnest(ARRAY['told 1', 'told 2', 'told 3', 'slot', 'open']) i;
SELECT booking_task_done('blue', 'ada', intent, task, lease) FROM booking_task_take('blue', 1, '1 hour');
SELECT count(*) FROM booking_task_take('blue', 1, '1 hour');
SELECT booking_cancel('blue', 'ada', 'told 3');

-- what users add around it
GRANT USAGE ON SCHEMA booking TO reader;
GRANT SELECT ON booking.intent, booking.audit TO reader;
GRANT EXECUTE ON FUNCTION booking_claim(text, text, text, text, tstzrange, bigint, int, jsonb, text, jsonb) TO app;
GRANT EXECUTE ON FUNCTION booking_status(text, text, text) TO app;
REVOKE EXECUTE ON FUNCTION booking_guard_monotonic() FROM PUBLIC;
CREATE TABLE public.appointment (id int PRIMARY KEY, status text, updated timestamptz);
CREATE TRIGGER guard BEFORE UPDATE ON public.appointment
	FOR EACH ROW EXECUTE FUNCTION booking_guard_terminal('status', 'canceled');
INSERT INTO public.appointment VALUES (1, 'canceled', '2030-01-01 00:00+00'), (2, 'open', '2030-01-01 00:00+00');
CREATE VIEW public.committed AS SELECT tenant, intent FROM booking.intent WHERE state = 'committed';
EOSQL
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

# Every table with all of its rows, every sequence with its position, every
# privilege, constraint and trigger, as lines of text.
sub contents
{
	my ($session) = @_;
	my @lines;

	foreach my $table (split(/\n/,
		$session->query("SELECT relname FROM pg_class WHERE relnamespace = 'booking'::regnamespace AND relkind = 'r' ORDER BY 1")))
	{
		push @lines, "table $table";
		push @lines, @{ $session->try("SELECT t::text FROM booking.$table t ORDER BY 1")->{lines} };
	}
	foreach my $sequence (split(/\n/,
		$session->query("SELECT relname FROM pg_class WHERE relnamespace = 'booking'::regnamespace AND relkind = 'S' ORDER BY 1")))
	{
		push @lines, "sequence $sequence "
		  . $session->query("SELECT last_value, is_called FROM booking.$sequence");
	}
	push @lines, split(/\n/, $session->query($_)) foreach (
		q{SELECT oid::regclass || ' ' || coalesce(relacl::text, '-')
			FROM pg_class WHERE relnamespace = 'booking'::regnamespace AND relkind IN ('r', 'S', 'v') ORDER BY 1},
		q{SELECT oid::regprocedure::text || ' ' || coalesce(
				 (SELECT string_agg(a::text, ',' ORDER BY a::text) FROM unnest(proacl) a), '-')
			FROM pg_proc WHERE proname LIKE 'booking%' ORDER BY 1},
		q{SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
			FROM pg_constraint WHERE connamespace = 'booking'::regnamespace ORDER BY 1},
		q{SELECT tgrelid::regclass || ' ' || tgname || ' ' || tgenabled::text || ' ' || pg_get_triggerdef(oid)
			FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1},
		q{SELECT 'appointment ' || t FROM public.appointment t ORDER BY 1},
		q{SELECT 'committed ' || t FROM public.committed t ORDER BY 1});
	return @lines;
}

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
	my @restored = contents($restored);
	my %source = map { $_ => 1 } @source;
	my %restored = map { $_ => 1 } @restored;

	ok("@source" eq "@restored", "$name: rows, sequences, privileges and rules are the same")
	  or diag(join("\n", 'missing:', (grep { !$restored{$_} } @source),
			'additional:', (grep { !$source{$_} } @restored)));
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
