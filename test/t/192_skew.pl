# test/t/192_skew.pl
#
# A package replaces the library at once, while the objects of each database stay
# until ALTER EXTENSION.  Between the two no call of any function crashes, goes half
# of its way, or fails in words that help nobody: whatever would touch a relation is
# refused with what to do.  With an older library the objects do not go to a version
# that it knows nothing of, and stay as they are.
#
# Proves R90 for every function of every version; 130_worker.pl for the worker.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The installed files, in a folder where more can be added.
my $folder = PostgreSQL::Test::Utils::tempdir();
my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
my ($shared, $libraries) = map { s/\n//r } `$pg_config --sharedir`, `$pg_config --pkglibdir`;
my $installed = $ENV{BOOKING_DESTDIR} // '';
my $extensions = "$folder$shared/extension";

system_or_bail('mkdir', '-p', $extensions, "$folder$libraries");
system_or_bail('cp', glob("$installed$shared/extension/booking*"), $extensions);
system_or_bail('cp', "$installed$libraries/booking.so", "$folder$libraries");
$ENV{BOOKING_DESTDIR} = $folder;

my $node = booking_node('main', conf => "shared_preload_libraries = 'booking'\n");
my $session = session($node);
$session->query('SET client_min_messages = error');
$session->query('CREATE EXTENSION btree_gist');
my ($newest) = slurp_file("$extensions/booking.control") =~ /^default_version = '(.*)'/m;
my @versions = split(/\n/,
	$session->query("SELECT DISTINCT source FROM pg_extension_update_paths('booking') WHERE source <> '$newest' ORDER BY 1"));

is($versions[0], '0.1', "older versions than $newest are known");

# ----------------------------------------------------------------------------
# Library newer than the objects
# ----------------------------------------------------------------------------

# What a call needs to get past the checks of its arguments.
my %by_name = (
	provider => "'caldav'",
	base_url => "'https://calendar.example.org/'",
	credential => q('{"type": "bearer", "token": "x"}'),
	supersedes => "'y'",
	fold => "'first'",
	state => "'committed'",
	kind => "'calcom'",
	verdict => "'exists'",
	zone => "'UTC'",
	time_zone => "'UTC'",
	role => "'postgres'",
	'booking_calendar_put role' => "'write'",
	'booking_subscription_put url' => "'https://crm.example.net/hook'",
	'booking_subscription_put secret' => "'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='",
	'booking_subscription_secret_put secret' => "'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='",
	evidence => q('{"seen by": "ann"}'));
my %by_type = (
	text => "'x'",
	'text[]' => "'{x}'",
	'integer[]' => "'{1}'",
	'bigint[]' => "'{1}'",
	integer => '1',
	smallint => '1',
	bigint => '1',
	boolean => 'true',
	jsonb => "'{}'",
	bytea => "'x'",
	interval => "'1 hour'",
	name => "'postgres'",
	regrole => "'postgres'",
	'timestamp with time zone' => "'2030-01-07 10:00+00'",
	'timestamp without time zone' => "timestamp '2030-01-07 10:00'",
	tstzrange => "'[2030-01-07 10:00+00,2030-01-07 11:00+00)'",
	date => "'2030-01-07'");

# These touch no relation, or say themselves what is out of step.
my %harmless = map { $_ => 1 } qw(booking_at booking_provider_capabilities booking_worker_start booking_worker_status);

# Calls of all functions that users may call: name and statement.
sub calls
{
	my @calls;

	foreach my $row (split(/\n/, $session->query(<<'EOQ')))
SELECT p.proname, p.prokind, p.proretset, coalesce((SELECT string_agg(coalesce(p.proargnames[n], '') || '=' || format_type(t, NULL), '|' ORDER BY n)
		  FROM unnest(p.proargtypes) WITH ORDINALITY AS a (t, n)), '')
  FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
  JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND e.extname = 'booking'
 WHERE p.pronamespace = 'public'::regnamespace AND p.prorettype <> 'trigger'::regtype
 ORDER BY 1, 4
EOQ
	{
		my ($name, $kind, $set, $arguments) = split(/\x1f/, $row);
		my @values;

		foreach my $argument (split(/\|/, $arguments // ''))
		{
			my ($word, $type) = split(/=/, $argument);

			push @values,
			  ($by_name{"$name $word"} // $by_name{$word} // $by_type{$type} // die "$name: no value of type $type") . "::$type";
		}
		my $call = "$name(" . join(', ', @values) . ')';
		push @calls, [ $name, $kind eq 'p' ? "CALL $call" : "SELECT * FROM $call" ];
	}
	return @calls;
}

foreach my $version (@versions)
{
	my %refused;

	$session->query("CREATE EXTENSION booking VERSION '$version'");
	foreach my $call (calls())
	{
		my ($name, $sql) = @$call;
		my $error = $session->try($sql)->{error};

		if (!$error)
		{
			ok($harmless{$name}, "$version: $name works, which touches nothing");
			next;
		}
		is($error->{sqlstate}, '55000', "$version: $name is refused")
		  or diag("$sql: $error->{text}");
		like($error->{text}, qr/Run ALTER EXTENSION booking UPDATE/, "$version: $name says what to do");
		$refused{$name} = 1;
	}
	cmp_ok(scalar(keys %refused), '>', 20, "$version: those are many");
	$session->query('ALTER EXTENSION booking UPDATE');
	is_clean($session, "$version, updated");
	is($session->query("SELECT booking_resource_put('t', 'room')"), '1', "$version: works once updated");
	$session->query('DROP EXTENSION booking');
}

# ----------------------------------------------------------------------------
# Library older than the objects
# ----------------------------------------------------------------------------

append_to_file("$extensions/booking--$newest--9.9.sql", <<'EOSQL');
CREATE TABLE booking.later (x integer);
CREATE FUNCTION @extschema@.booking_later() RETURNS integer
AS 'MODULE_PATHNAME', 'booking_later' LANGUAGE C;
EOSQL
$session->query('CREATE EXTENSION booking');
$session->query("SELECT booking_resource_put('t', 'room')");
my $error = fails_with($session, "ALTER EXTENSION booking UPDATE TO '9.9'", '42883',
	'the library of before cannot take the objects to a later version');
like($error->{text}, qr/could not find function "booking_later" in file ".*booking/, 'which names what it lacks');
is($session->query("SELECT extversion, to_regclass('booking.later') FROM pg_extension WHERE extname = 'booking'"),
	"$newest\x1f\\N", 'the objects are as they were');
is($session->query("SELECT booking_resource_put('t', 'annex')"), '1', 'and work');
is_clean($session, 'after an update that failed');

# the same without anything new in C, where only the version tells; an update changes
# functions, which is what open sessions notice
append_to_file("$extensions/booking--$newest--9.8.sql",
	"CREATE TABLE booking.later (x integer);\n"
	  . "CREATE FUNCTION booking.later() RETURNS integer LANGUAGE sql AS 'SELECT 1';\n");
$session->query("ALTER EXTENSION booking UPDATE TO '9.8'");
my %silent;
foreach my $call (calls())
{
	my ($name, $sql) = @$call;
	my $refusal = $session->try($sql)->{error};

	if (!$refusal)
	{
		$silent{$name} = 1;
		next;
	}
	is($refusal->{sqlstate}, '55000', "newer objects: $name is refused") or diag($refusal->{text});
	like($refusal->{text}, qr/Install the library of version 9\.8, then restart the server/,
		"newer objects: $name says what to do");
}
is_deeply([ grep { !$harmless{$_} } sort keys %silent ], [], 'newer objects: the others touch nothing');
is($session->query('SELECT count(*) FROM booking.resource'), '2', 'newer objects: nothing was written');
$session->quit;
$node->stop;

done_testing();
