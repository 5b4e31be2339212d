# test/t/191_objects.pl
#
# Whichever way a database came to the newest version, it has the same objects as
# one in which that version was created: by one update or by each in turn, from any
# version there ever was, with bookings in it or without.  Compared are all members
# of the extension and what belongs to them: definitions, columns, constraints,
# indexes, triggers, privileges, comments, what is dumped, and every dependency.
#
# What differs would be found by the next update, or by the next restore, which
# creates the extension anew.  Proves R21 and R82 for updates.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = booking_node('main');

# Members of the extension, as pg_depend names them, and relations that belong to
# them, like indexes and tables of long values.
my $members = <<'EOQ';
WITH RECURSIVE member(classid, objid) AS (
	SELECT classid, objid
	  FROM pg_depend
	 WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND
		   refobjid = (SELECT oid FROM pg_extension WHERE extname = 'booking')
	 UNION
	SELECT d.classid, d.objid
	  FROM pg_depend d JOIN member m ON d.refclassid = m.classid AND d.refobjid = m.objid
	 WHERE d.deptype IN ('a', 'i', 'P', 'S')
), relation AS (
	SELECT c.* FROM pg_class c JOIN member m ON m.classid = 'pg_class'::regclass AND m.objid = c.oid
	 WHERE c.relkind IN ('r', 'v', 'S', 'i', 'c', 't')
), function AS (
	SELECT p.* FROM pg_proc p JOIN member m ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid
)
EOQ

# What is compared, each as lines of text.  Numbers in names of tables of long
# values are oids, and pg_attver is a number of the server's own.
my %questions = (
	members => q{SELECT (pg_identify_object(classid, objid, 0)).type, (pg_identify_object(classid, objid, 0)).identity FROM member},
	comments => q{SELECT pg_describe_object(d.classoid, d.objoid, d.objsubid), d.description
		FROM pg_description d JOIN member m ON m.classid = d.classoid AND m.objid = d.objoid},
	functions => q{SELECT pg_get_functiondef(oid), proacl, proowner::regrole FROM function},
	arguments => q{SELECT oid::regprocedure, proargnames, proargmodes, proargdefaults IS NOT NULL, pg_get_function_arguments(oid), pg_get_function_result(oid),
			  prosrc, probin, proconfig, provolatile, proparallel, prosecdef, proisstrict, procost, prorows, prosupport FROM function},
	relations => q{SELECT oid::regclass, relkind, relacl, relowner::regrole, reloptions, relpersistence, relreplident,
			  relrowsecurity, relforcerowsecurity, relispartition, reltoastrelid <> 0, relam FROM relation},
	columns => q{SELECT a.attrelid::regclass, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
			  pg_get_expr(d.adbin, d.adrelid), a.attcollation::regcollation, a.attacl, a.attstorage, a.attcompression,
			  coalesce(a.attstattarget, -1), a.attidentity, a.attgenerated, a.attisdropped, a.atthasmissing,
			  (SELECT array_agg(o ORDER BY o) FROM unnest(a.attoptions) o WHERE o NOT LIKE 'pg\_attver=%')
		FROM pg_attribute a JOIN relation r ON r.oid = a.attrelid
		LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	   WHERE a.attnum > 0},
	constraints => q{SELECT c.conrelid::regclass, c.conname, c.contype, pg_get_constraintdef(c.oid), c.convalidated, c.condeferrable, c.conislocal, c.coninhcount
		FROM pg_constraint c JOIN relation r ON r.oid = c.conrelid},
	indexes => q{SELECT pg_get_indexdef(i.indexrelid), i.indisvalid, i.indisready, i.indisunique, i.indisclustered, i.indisreplident
		FROM pg_index i JOIN relation r ON r.oid = i.indexrelid},
	triggers => q{SELECT pg_get_triggerdef(t.oid), t.tgenabled, t.tgisinternal FROM pg_trigger t JOIN relation r ON r.oid = t.tgrelid},
	views => q{SELECT oid::regclass, pg_get_viewdef(oid) FROM relation WHERE relkind = 'v'},
	rules => q{SELECT pg_get_ruledef(w.oid), w.ev_enabled FROM pg_rewrite w JOIN relation r ON r.oid = w.ev_class},
	policies => q{SELECT p.polrelid::regclass, p.polname, p.polcmd, p.polpermissive, p.polroles::regrole[], pg_get_expr(p.polqual, p.polrelid),
			  pg_get_expr(p.polwithcheck, p.polrelid) FROM pg_policy p JOIN relation r ON r.oid = p.polrelid},
	sequences => q{SELECT s.seqrelid::regclass, s.seqtypid::regtype, s.seqstart, s.seqincrement, s.seqmax, s.seqmin, s.seqcache, s.seqcycle
		FROM pg_sequence s JOIN relation r ON r.oid = s.seqrelid},
	types => q{SELECT t.oid::regtype, t.typtype, t.typacl, t.typowner::regrole, t.typcollation::regcollation, t.typnotnull, t.typdefault
		FROM pg_type t JOIN member m ON m.classid = 'pg_type'::regclass AND m.objid = t.oid},
	schemas => q{SELECT n.nspname, n.nspacl, n.nspowner::regrole
		FROM pg_namespace n JOIN member m ON m.classid = 'pg_namespace'::regclass AND m.objid = n.oid},
	privileges => q{SELECT pg_describe_object(i.classoid, i.objoid, i.objsubid), i.privtype, i.initprivs
		FROM pg_init_privs i JOIN member m ON m.classid = i.classoid AND m.objid = i.objoid},
	dependencies => q{SELECT pg_describe_object(d.classid, d.objid, d.objsubid), pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid), d.deptype
		FROM pg_depend d JOIN member m ON m.classid = d.classid AND m.objid = d.objid},
	extension => q{SELECT extversion, extrelocatable, extnamespace::regnamespace, extowner::regrole FROM pg_extension WHERE extname = 'booking'},
	dumped => q{SELECT c.relation::regclass, c.condition FROM pg_extension e, unnest(e.extconfig, e.extcondition) AS c (relation, condition)
		WHERE e.extname = 'booking'});

# The objects of a session's database.
sub objects
{
	my ($session) = @_;
	my %objects;

	foreach my $question (sort keys %questions)
	{
		my $result = $session->try(
			"$members SELECT regexp_replace(x::text, 'pg_toast_\\d+', 'pg_toast', 'g') FROM ($questions{$question}) x ORDER BY 1");

		die "$question: $result->{error}{text}" if $result->{error};
		$objects{$question} = $result->{lines};
	}
	return \%objects;
}

# Make a database, with the extension of a version, and a session in it.
sub created
{
	my ($name, $version) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $name");
	my $session = session($node, dbname => $name);
	$session->query('SET client_min_messages = error');
	$session->query('CREATE EXTENSION booking ' . ($version ? "VERSION '$version' " : '') . 'CASCADE');
	return $session;
}

my $fresh = created('fresh');
my $expected = objects($fresh);
my ($newest) = $fresh->query("SELECT extversion FROM pg_extension WHERE extname = 'booking'");
my @versions = split(/\n/,
	$fresh->query("SELECT source FROM pg_extension_update_paths('booking') WHERE target = '$newest' AND path IS NOT NULL ORDER BY source"));

is($fresh->query("SELECT string_agg(DISTINCT source, ' ' ORDER BY source) FROM pg_extension_update_paths('booking') WHERE source <> '$newest'"),
	"@versions", 'there is a path from every version to the newest');
is($versions[0], '0.1', 'the first one among them');
cmp_ok(scalar(@{ $expected->{$_} }), '>', 0, "there are $_ to compare")
  foreach grep { !/^(?:policies)$/ } sort keys %questions;
is( $fresh->query(
		"SELECT count(*) FROM pg_extension_update_paths('booking') WHERE path IS NOT NULL AND source > target"),
	'0',
	'and none goes back');

# Assert that a session's database has the objects that are expected.
sub same_objects
{
	my ($session, $name) = @_;
	my $found = objects($session);

	foreach my $question (sort keys %questions)
	{
		my %expected = map { $_ => 1 } @{ $expected->{$question} };
		my %found = map { $_ => 1 } @{ $found->{$question} };

		is_deeply($found->{$question}, $expected->{$question}, "$name: $question are the same")
		  or diag(join("\n", 'missing:', (grep { !$found{$_} } sort keys %expected),
				'additional:', (grep { !$expected{$_} } sort keys %found)));
	}
	return;
}

# From each version at once, and from the first one through all of them, with
# bookings in it that each update finds.
foreach my $version (@versions)
{
	my $session = created('from_' . $version =~ s/\./_/r, $version);

	$session->query('ALTER EXTENSION booking UPDATE');
	same_objects($session, "from $version");
	$session->quit;
}
my $session = created('in_turn', $versions[0]);
$session->query("INSERT INTO booking.resource (tenant, resource) VALUES ('acme', 'room')");
$session->query("INSERT INTO booking.permission VALUES ('acme', 'ada', '', true)");
$session->query(
	"INSERT INTO booking.intent (created_at, changed_at, version, tenant, principal, intent, disposition, state, created_role, changed_role)
	 VALUES ('2029-01-01 00:00+00', '2029-01-01 00:00+00', 0, 'acme', 'ada', 'tomb', 'canceled', 'canceled', 'old', 'old')");
my $dump = PostgreSQL::Test::Utils::tempdir() . '/dump';
$node->command_ok([ 'pg_dump', '-Fc', '-f', $dump, 'in_turn' ], "a dump of $versions[0]");
$session->query("ALTER EXTENSION booking UPDATE TO '$_'") foreach @versions[ 1 .. $#versions ], $newest;
same_objects($session, 'in turn, with rows');
is_row($session, "SELECT disposition FROM booking_status('acme', 'ada', 'tomb')", ['canceled'], 'which are there');
is_clean($session, 'in turn, with rows');

# A dump of the first version names none, so it is restored into the newest.
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-j', '2', '-d', $node->connstr('restored'), $dump ],
	'is restored without an error');
my $restored = session($node, dbname => 'restored');
same_objects($restored, 'restored');
is_row($restored, "SELECT disposition FROM booking_status('acme', 'ada', 'tomb')", ['canceled'], 'with its rows');
is_row($restored, "SELECT count(*) FROM booking.resource", [1], 'all of them');
is_clean($restored, 'restored');
$restored->quit;

# The comparison sees what it is to see.
foreach my $change (
	[ 'columns', 'ALTER TABLE booking.intent ALTER COLUMN receipt SET STORAGE PLAIN' ],
	[ 'comments', "COMMENT ON COLUMN booking.intent.receipt IS 'another'" ],
	[ 'relations', 'GRANT SELECT ON booking.intent TO PUBLIC' ],
	[ 'functions', 'ALTER FUNCTION booking_arm() COST 7' ],
	[ 'indexes', 'CREATE INDEX ON booking.intent (receipt)' ],
	[ 'dependencies', 'ALTER EXTENSION booking DROP VIEW booking.audit' ])
{
	my ($question, $sql) = @$change;

	$session->query('BEGIN');
	$session->query($sql);
	isnt(join("\n", @{ objects($session)->{$question} }), join("\n", @{ $expected->{$question} }),
		"a difference of $question is found");
	$session->query('ROLLBACK');
}
$_->quit foreach $session, $fresh;
$node->stop;

done_testing();
