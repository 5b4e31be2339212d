# test/t/186_scripts.pl
#
# Install and upgrade scripts run as a superuser, in a schema where others may
# have made objects before.  So they must take over nothing that is there, name
# everything by its schema, and leave nothing behind that looks a name up later:
# what pgspot checks, and some more.  Two measures: the text of every script is
# held against a list of the statements that may be in it, which each sample of a
# bad one must fail; and the extension is created, version by version, among
# operators and functions for every pair of types that the catalog has none for
# exactly, of which no constraint, view, policy or default may make use.
#
# Proves R91 for the scripts; tools/lint has the rules that need no parser.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $name = qr/(?:booking|\@extschema\@)\.(?:\w+|"\w+")/;
my $own = qr/booking\.\w+/;
my $arguments = qr/\([^()]*\)/;

# What a script may consist of.
my @allowed = (
	qr/^CREATE SCHEMA booking$/,
	qr/^CREATE TABLE $own \(/,
	qr/^CREATE SEQUENCE $own(?: CACHE \d+)?$/,
	qr/^CREATE VIEW $own(?: WITH \(security_(?:barrier|invoker) = true\))? AS\b/,
	qr/^CREATE TYPE $name AS \(/,
	qr/^CREATE (?:FUNCTION|PROCEDURE) $name ?\(.*?\) (?:RETURNS .*? )?AS 'MODULE_PATHNAME', '\w+' LANGUAGE C\b[\w ]*?(?: SET search_path = pg_catalog, pg_temp(?: SET enable_seqscan = off)?)?$/,
	qr/^CREATE (?:UNIQUE )?INDEX \w+ ON $own (?:USING gist )?\(/,
	qr/^CREATE TRIGGER \w+ (?:BEFORE|AFTER) [\w ,]+ ON $own FOR EACH (?:ROW|STATEMENT) EXECUTE FUNCTION $own\(\)$/,
	qr/^CREATE POLICY \w+ ON $own FOR SELECT USING \(/,
	qr/^ALTER TABLE $own (?:ADD COLUMN|ADD CONSTRAINT|DROP CONSTRAINT|ALTER COLUMN|ENABLE ALWAYS TRIGGER|ENABLE ROW LEVEL SECURITY)\b/,
	qr/^ALTER SEQUENCE $own OWNED BY $own\.\w+$/,
	qr/^ALTER VIEW $own SET \(security_invoker = true\)$/,
	qr/^ALTER FUNCTION $name$arguments (?:RESET ALL|SET search_path = pg_catalog, pg_temp(?: SET enable_seqscan = off)?)$/,
	qr/^DROP (?:TRIGGER \w+ ON $own|INDEX $own|VIEW $own|FUNCTION $name$arguments)$/,
	qr/^COMMENT ON (?:SCHEMA booking|(?:TABLE|COLUMN|VIEW|SEQUENCE|TYPE) $name(?:\.(?:\w+|"\w+"))?|(?:FUNCTION|PROCEDURE) $name$arguments) IS '/,
	qr/^REVOKE ALL ON (?:FUNCTION|PROCEDURE) $name$arguments FROM PUBLIC$/,
	qr/^GRANT SELECT \(tenant\) ON booking\.bound_tenant TO PUBLIC$/,
	qr/^SELECT pg_catalog\.pg_extension_config_dump\('$own', '[^']*(?:''[^']*)*'\)$/,
	qr/^DO \$\$/);

# Statements of a script, without comments, with blanks folded outside of
# literals, and without psql's guard.
sub statements
{
	my ($text) = @_;
	my @statements = ('');

	$text =~ s/^\\echo .*\n//mg;
	while ($text =~ m{\G(?:(/\*.*?\*/|--[^\n]*)|('(?:[^']|'')*'|\$\$.*?\$\$)|(;)|(\s+)|(.))}gs)
	{
		my ($comment, $literal, $end, $blank, $other) = ($1, $2, $3, $4, $5);

		if (defined $end) { push @statements, ''; }
		elsif (defined $comment || defined $blank) { $statements[-1] .= ' '; }
		else { $statements[-1] .= $literal // $other; }
	}
	s/ +/ /g, s/^ | $//g foreach @statements;
	return grep { length } @statements;
}

# What is wrong with a statement; $made has the views that our scripts made.
sub faults
{
	my ($statement, $made) = @_;
	my @faults;
	(my $bare = $statement) =~ s/'(?:[^']|'')*'/''/g;
	my $judged = $statement;

	# a view of ours may get columns: the server refuses to replace others'
	$judged =~ s/^CREATE OR REPLACE VIEW ($own)/CREATE VIEW $1/ if $statement =~ /^CREATE OR REPLACE VIEW ($own)/ && $made->{$1};
	push @faults, 'is not among what may be in a script' unless grep { $judged =~ $_ } @allowed;
	push @faults, "takes over what is there: $1" if $judged =~ /\b(OR REPLACE|IF NOT EXISTS)\b/i;
	push @faults, 'runs as its owner' if $bare =~ /\bSECURITY DEFINER\b/i;
	push @faults, "path $1" if $bare =~ /\bsearch_path\b((?! = pg_catalog, pg_temp\b).{0,30})/;

	if ($bare =~ /^CREATE (?:OR REPLACE )?(?:VIEW|POLICY)\b|^DO\b/)
	{
		(my $body = $bare) =~ s/^.*? (?=AS\b|USING\b|\$\$)//;

		push @faults, "relation $1 without schema"
		  while $body =~ /\b(?:FROM|JOIN|INTO) (?!LATERAL\b|SELECT\b)([a-z_]\w*)(?![\w.])/g;
		$body =~ s/\bOPERATOR\(pg_catalog\.[^)]+\)|::|:=|\bSELECT \*|\b\w+\.\*|\(\*\)|=>| ?USING ERRCODE = ''| HINT = ''//g;
		push @faults, "operator $1 without schema" while $body =~ m{([-+*/<>=~!\@#%^&|]+)}g;
		push @faults, "function $1 without schema"
		  while $body =~ /(?<![\w.])((?!COALESCE\b|FILTER\b|ARRAY\b|EXISTS\b|ANY\b|IN\b|AS\b|AND\b|OR\b|NOT\b|ON\b|n\b|v\b|USING\b|WHERE\b|LATERAL\b|WITH\b|SELECT\b|FROM\b|JOIN\b|ORDER\b|BY\b)[A-Za-z_]\w*) ?\(/g;
	}
	return @faults;
}

# ----------------------------------------------------------------------------
# The text
# ----------------------------------------------------------------------------

my %made = ('booking.v' => 1);

foreach my $bad (
	'CREATE OR REPLACE FUNCTION booking.f() RETURNS void AS \'MODULE_PATHNAME\', \'f\' LANGUAGE C',
	'CREATE OR REPLACE VIEW booking.other AS SELECT 1 AS one',
	'CREATE TABLE IF NOT EXISTS booking.t (a integer)',
	'CREATE SCHEMA other',
	'CREATE TABLE t (a integer)',
	'CREATE TABLE public.t (a integer)',
	'CREATE FUNCTION f() RETURNS void AS \'MODULE_PATHNAME\', \'f\' LANGUAGE C',
	'CREATE FUNCTION booking.f() RETURNS void LANGUAGE sql AS \'SELECT 1\'',
	'CREATE FUNCTION booking.f() RETURNS void AS \'MODULE_PATHNAME\', \'f\' LANGUAGE C SECURITY DEFINER',
	'CREATE FUNCTION booking.f() RETURNS void AS \'MODULE_PATHNAME\', \'f\' LANGUAGE C SET search_path = pg_catalog',
	'CREATE FUNCTION booking.f() RETURNS void AS \'MODULE_PATHNAME\', \'f\' LANGUAGE C SET search_path = pg_temp, pg_catalog',
	'SET search_path = public',
	'CREATE VIEW booking.v AS SELECT FROM intent',
	'CREATE VIEW booking.v AS SELECT FROM booking.intent i WHERE i.state = \'x\'',
	'CREATE VIEW booking.v AS SELECT lower(i.state) FROM booking.intent i',
	'CREATE POLICY p ON booking.t FOR ALL USING (true)',
	'CREATE POLICY p ON booking.t FOR SELECT USING (a IN (SELECT b FROM c))',
	'CREATE TRIGGER t BEFORE UPDATE ON booking.t FOR EACH ROW EXECUTE FUNCTION f()',
	'CREATE INDEX i ON t (a)',
	'CREATE CAST (text AS integer) WITH INOUT',
	'CREATE OPERATOR booking.= (LEFTARG = text, RIGHTARG = text, FUNCTION = f)',
	'CREATE ROLE r',
	'GRANT SELECT ON booking.intent TO PUBLIC',
	'ALTER EXTENSION booking DROP TABLE booking.t',
	'INSERT INTO booking.t VALUES (1)',
	'SELECT pg_extension_config_dump(\'booking.t\', \'\')',
	'COMMENT ON TABLE t IS \'x\'',
	'DO $$ BEGIN PERFORM f(); END $$',
	'DO $$ BEGIN IF EXISTS (SELECT FROM pg_class) THEN NULL; END IF; END $$')
{
	ok(scalar faults((statements($bad))[0], \%made), "refused: $bad");
}
is_deeply([ map { faults($_, \%made) } statements("-- x\nCREATE OR REPLACE VIEW booking.v AS\n\tSELECT 1 AS one;\nCREATE TABLE booking.t (\n\ta text DEFAULT ';');\n") ],
	[], 'good ones pass');

my @scripts = sort glob("$FindBin::RealBin/../../sql/*.sql");
my $total = 0;

%made = ();
cmp_ok(scalar @scripts, '>', 1, 'there are scripts');
foreach my $script (@scripts)
{
	my $text = PostgreSQL::Test::Utils::slurp_file($script);
	my ($file) = $script =~ m{([^/]+)$};

	$made{$1} = 1 while $text =~ /^CREATE VIEW ($own)/mg;
}
foreach my $script (@scripts)
{
	my $text = PostgreSQL::Test::Utils::slurp_file($script);
	my ($file) = $script =~ m{([^/]+)$};
	my @problems;

	like($text, qr/^\\echo Use "(?:CREATE|ALTER) EXTENSION booking.*\\quit$/m, "$file: is refused by psql");
	foreach my $statement (statements($text))
	{
		$total++;
		push @problems, map { "$_: " . substr($statement, 0, 100) } faults($statement, \%made);
	}
	is(join("\n", @problems), '', "$file: nothing in it but what may be");
}
figure('statements of scripts', $total);

# ----------------------------------------------------------------------------
# Among traps
# ----------------------------------------------------------------------------

my $node = booking_node('main');
my $owner = session($node);

$owner->query('CREATE ROLE mallory LOGIN; GRANT ALL ON SCHEMA public TO mallory');
my $mallory = session($node, user => 'mallory');

# An operator for each name and pair of types that the catalog has none for
# exactly: any of them is a better match than what the catalog would convert to.
$mallory->query(<<'EOSQL');
DO $$
DECLARE
	l regtype;
	r regtype;
	op text;
	types regtype[] := '{int2,int4,int8,float8,numeric,text,varchar,name,bool,bytea,jsonb,interval,timestamptz,tstzrange,text[],int8[],oid}';
BEGIN
	FOREACH l IN ARRAY types LOOP
		FOREACH r IN ARRAY types LOOP
			EXECUTE format('CREATE FUNCTION public.trap(%s, %s) RETURNS boolean LANGUAGE plpgsql AS %L', l, r,
						   'BEGIN RAISE EXCEPTION ''sprung as %'', current_user; END');
			FOREACH op IN ARRAY '{=,<>,<,<=,>,>=,+,-,*,/,||,&&,@>,<@,~,->,->>}'::text[] LOOP
				CONTINUE WHEN EXISTS (SELECT FROM pg_catalog.pg_operator o
									   WHERE o.oprname = op AND o.oprleft = l AND o.oprright = r
										 AND o.oprnamespace = 'pg_catalog'::regnamespace);
				EXECUTE format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.trap)', op, l, r);
			END LOOP;
		END LOOP;
	END LOOP;
END
$$;
EOSQL
cmp_ok($owner->query(q{SELECT count(*) FROM pg_operator WHERE oprnamespace = 'public'::regnamespace}),
	'>', 2000, 'traps are laid');

# the queries below must not step into them
$owner->query('SET search_path = pg_catalog, pg_temp');

# in the session that creates it there are types of these names, too
$owner->query("CREATE TYPE pg_temp.$_ AS (a integer)")
  foreach qw(text jsonb tstzrange timestamptz bytea oid booking_result);
$owner->query("SET client_min_messages = error; CREATE EXTENSION booking SCHEMA public VERSION '0.1' CASCADE");

my ($latest) = PostgreSQL::Test::Utils::slurp_file("$FindBin::RealBin/../../booking.control") =~
  /^default_version = '(.*)'/m;
my @path = split /--/, $owner->query(
	"SELECT path FROM pg_extension_update_paths('booking') WHERE source = '0.1' AND target = '$latest'");

check_dependencies('0.1');
foreach my $version (@path[ 1 .. $#path ])
{
	$owner->query("ALTER EXTENSION booking UPDATE TO '$version'");
	check_dependencies($version);
}
$owner->query("DROP EXTENSION booking; CREATE EXTENSION booking SCHEMA public CASCADE");
check_dependencies("$latest, made at once");

# What depends on an object that belongs to no extension and not to the server.
sub check_dependencies
{
	my ($version) = @_;

	# 0.1 to 0.4 compare numbers of two types in three constraints, which 0.5 mends
	my $known = $version =~ /^0\.[1-4]$/ ? qr/resource_buffer_(?:before|after)_check|task_before_check/ : qr/^$/;
	my @found = split /\n/, $owner->query(<<'EOSQL');
SELECT DISTINCT pg_describe_object(d.classid, d.objid, 0) || ' uses ' || pg_describe_object(d.refclassid, d.refobjid, 0)
  FROM pg_depend d, pg_identify_object(d.refclassid, d.refobjid, 0) i
 WHERE d.refclassid IN ('pg_operator'::regclass, 'pg_proc'::regclass, 'pg_type'::regclass, 'pg_collation'::regclass, 'pg_opclass'::regclass)
   AND i.schema NOT IN ('pg_catalog', 'information_schema', 'booking') AND d.deptype <> 'i'
   AND NOT EXISTS (SELECT FROM pg_depend m WHERE m.classid = d.refclassid AND m.objid = d.refobjid AND m.deptype IN ('e', 'i'))
   AND d.classid NOT IN ('pg_operator'::regclass)
   AND NOT EXISTS (SELECT FROM pg_proc p WHERE p.proname = 'trap' AND p.oid = d.objid)
   AND (SELECT schema FROM pg_identify_object(d.classid, d.objid, 0)) IS DISTINCT FROM 'pg_temp'
EOSQL

	is(join("\n", grep { !/$known/ } @found), '', "version $version uses no object of others");
	ok(scalar(grep { /$known/ } @found), "but for three constraints of $version: the traps are good ones")
	  if $version =~ /^0\.[1-4]$/;
	is( $owner->query(
			q{SELECT string_agg(a.attrelid::regclass || '.' || a.attname, ' ') FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
			   WHERE c.relnamespace = 'booking'::regnamespace AND c.relkind <> 'i' AND a.attnum > 0 AND NOT a.attisdropped AND t.typnamespace <> 'pg_catalog'::regnamespace}),
		'\N',
		"version $version: columns have types of the server");
	return;
}

# ----------------------------------------------------------------------------
# What is left behind
# ----------------------------------------------------------------------------

my $members = q{FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'booking'};
is($owner->query("SELECT count(*) $members WHERE p.prosecdef"), '0', 'no function is SECURITY DEFINER');
is($owner->query("SELECT count(*) $members WHERE p.prolang <> (SELECT oid FROM pg_language WHERE lanname = 'c')"),
	'0', 'none is in another language, whose text would be read at each call');
is( $owner->query("SELECT string_agg(p.proname, ' ') $members, unnest(p.proconfig) s WHERE s ~ '^search_path=' AND s <> 'search_path=pg_catalog, pg_temp'"),
	'\N',
	'every path that is set ends with pg_temp');

# It works among the traps, for the owner and with them in his path.
$owner->query('SET search_path = public, pg_catalog');
foreach my $call (
	"booking_resource_put('acme', 'room', 3, 'Europe/Berlin', '10 minutes', '5 minutes')",
	"booking_permit_all('acme', 'ada')",
	"booking_claim('acme', 'ada', 'a', 'room', '[2030-01-07 08:00+00, 2030-01-07 09:00+00)')",
	"booking_task_put('acme', 'ada', 'a', 'mail', '90 minutes')",
	"booking_check()")
{
	is($owner->sqlstate("SELECT * FROM public.$call"), '00000', "no trap is sprung: $call");
}
is($owner->sqlstate("SELECT pg_catalog.count(*) FROM booking.$_"), '00000', "nor by reading $_")
  foreach qw(recovery audit bound_tenant);

$_->quit foreach ($mallory, $owner);
$node->stop;

done_testing();
