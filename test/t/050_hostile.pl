# test/t/050_hostile.pl
#
# The ledger runs as the owner of its relations, and no caller can make it run
# anything of their own: hostile objects present when the extension is created,
# operators that match better, temporary tables with the names of ours, games
# with search_path.  Access is an EXECUTE grant and a binding to the tenant, and
# everything else is closed.
#
# Proves R91 (search_path, temporary tables, hostile objects) and R92 (our types
# are not found by name), and the access rules from end to end with real roles.

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
my $owner = session($node);

# ----------------------------------------------------------------------------
# Hostile objects that are there before the extension
# ----------------------------------------------------------------------------

$owner->query(<<'EOSQL');
CREATE ROLE mallory LOGIN;
CREATE ROLE app_acme LOGIN;
CREATE ROLE app_blue LOGIN;
CREATE ROLE unbound LOGIN;
CREATE ROLE ungranted LOGIN;
CREATE ROLE member LOGIN IN ROLE app_acme;
CREATE ROLE outsider LOGIN NOINHERIT IN ROLE app_acme;
CREATE SCHEMA trap AUTHORIZATION mallory;
GRANT ALL ON SCHEMA public TO mallory;
GRANT TEMPORARY ON DATABASE postgres TO PUBLIC;
EOSQL

my $mallory = session($node, user => 'mallory');

# Functions with the names of built-in ones but arguments that match better, and
# operators on exactly the types that the statements of the ledger compare.
# Each of them notes by whom it was run.
my $traps = <<'EOSQL';
CREATE TABLE caught (by text);
GRANT INSERT ON caught TO PUBLIC;
CREATE FUNCTION spring() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	IF current_user <> 'mallory' THEN
		INSERT INTO SCHEMA.caught VALUES (current_user);
	END IF;
	RETURN true;
END $$;
CREATE FUNCTION eq(a text, b varchar) RETURNS boolean LANGUAGE sql AS 'SELECT SCHEMA.spring()';
CREATE FUNCTION eq(a varchar, b text) RETURNS boolean LANGUAGE sql AS 'SELECT SCHEMA.spring()';
CREATE FUNCTION eq(a text, b text) RETURNS boolean LANGUAGE sql AS 'SELECT SCHEMA.spring()';
CREATE FUNCTION eq(a bigint, b bigint) RETURNS boolean LANGUAGE sql AS 'SELECT SCHEMA.spring()';
CREATE FUNCTION eq(a bigint, b int) RETURNS boolean LANGUAGE sql AS 'SELECT SCHEMA.spring()';
CREATE FUNCTION eq(a int, b int) RETURNS boolean LANGUAGE sql AS 'SELECT SCHEMA.spring()';
CREATE FUNCTION eq(a tstzrange, b tstzrange) RETURNS boolean LANGUAGE sql AS 'SELECT SCHEMA.spring()';
CREATE FUNCTION times(a bigint, b int) RETURNS bigint LANGUAGE sql AS 'SELECT SCHEMA.spring()::int::bigint';
CREATE OPERATOR = (LEFTARG = text, RIGHTARG = varchar, FUNCTION = eq);
CREATE OPERATOR = (LEFTARG = varchar, RIGHTARG = text, FUNCTION = eq);
CREATE OPERATOR = (LEFTARG = text, RIGHTARG = text, FUNCTION = eq);
CREATE OPERATOR = (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = eq);
CREATE OPERATOR = (LEFTARG = bigint, RIGHTARG = int, FUNCTION = eq);
CREATE OPERATOR = (LEFTARG = int, RIGHTARG = int, FUNCTION = eq);
CREATE OPERATOR && (LEFTARG = tstzrange, RIGHTARG = tstzrange, FUNCTION = eq);
CREATE OPERATOR = (LEFTARG = tstzrange, RIGHTARG = tstzrange, FUNCTION = eq);
CREATE OPERATOR * (LEFTARG = bigint, RIGHTARG = int, FUNCTION = times);
CREATE FUNCTION lower(a tstzrange) RETURNS timestamptz LANGUAGE sql AS 'SELECT SCHEMA.spring()::text::timestamptz';
CREATE FUNCTION upper(a tstzrange) RETURNS timestamptz LANGUAGE sql AS 'SELECT SCHEMA.spring()::text::timestamptz';
CREATE FUNCTION isempty(a tstzrange) RETURNS boolean LANGUAGE sql AS 'SELECT SCHEMA.spring()';
CREATE FUNCTION octet_length(a text) RETURNS int LANGUAGE sql AS 'SELECT SCHEMA.spring()::int';
CREATE FUNCTION date_part(a text, b interval) RETURNS float8 LANGUAGE sql AS 'SELECT SCHEMA.spring()::int::float8';
CREATE FUNCTION nextval(a text) RETURNS bigint LANGUAGE sql AS 'SELECT SCHEMA.spring()::int::bigint';
CREATE FUNCTION pg_extension_config_dump(a text, b text) RETURNS void LANGUAGE sql AS 'SELECT SCHEMA.spring()';
CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT SCHEMA.spring()::text::timestamptz';
CREATE FUNCTION coalesce_terms(a jsonb) RETURNS jsonb LANGUAGE sql AS 'SELECT NULL::jsonb';
CREATE FUNCTION jsonb_build_object(a text, b int) RETURNS jsonb LANGUAGE sql AS 'SELECT to_jsonb(SCHEMA.spring())';
CREATE FUNCTION unnest(a text[]) RETURNS SETOF text LANGUAGE sql AS 'SELECT SCHEMA.spring()::text';
CREATE FUNCTION unnest(a bigint[]) RETURNS SETOF bigint LANGUAGE sql AS 'SELECT SCHEMA.spring()::int::bigint';
CREATE TABLE intent (tenant text, state text);
CREATE TABLE reservation (intent_id bigint, unit int);
CREATE TABLE permission (tenant text, principal text, resource text, allowed boolean);
CREATE TABLE resource (tenant text, resource text, capacity int);
CREATE TABLE role_binding (tenant text, role text);
CREATE TABLE booking_result_shadow (a int);
INSERT INTO permission VALUES ('acme', 'mallory', NULL, true);
INSERT INTO role_binding VALUES ('acme', 'mallory');
EOSQL

foreach my $schema ('public', 'trap')
{
	$mallory->query("SET search_path = $schema, pg_catalog");
	my $result = $mallory->try($traps =~ s/SCHEMA\./$schema./gr);
	is($result->{error} && $result->{error}{text}, undef, "traps are laid in $schema");
	$mallory->query('RESET search_path');
}

# Objects with the very names of ours make the script fail, never be taken over.
$mallory->query(
	"CREATE FUNCTION public.booking_status(tenant text, principal text, intent text) RETURNS text LANGUAGE sql AS 'SELECT ''mine'''");
$mallory->query('CREATE TYPE public.booking_proposal AS (a int)');
is($owner->sqlstate('CREATE EXTENSION booking CASCADE'),
	'42710', 'a type in the way is an error');
$mallory->query('DROP TYPE public.booking_proposal');
is($owner->sqlstate('CREATE EXTENSION booking CASCADE'),
	'42723', 'a function in the way is an error');
is( $owner->query("SELECT count(*) FROM pg_namespace WHERE nspname = 'booking'"),
	'0', 'nothing is left of the attempts');
$mallory->query('DROP FUNCTION public.booking_status');

$owner->query('SET search_path = trap, public, pg_catalog');
$owner->query('CREATE EXTENSION booking SCHEMA public CASCADE');
$owner->query('RESET search_path');

sub nothing_caught
{
	my ($when) = @_;
	is( $owner->query(
			"SELECT pg_catalog.string_agg(by, ' ') FROM (TABLE public.caught UNION ALL TABLE trap.caught) c"
		),
		'\N',
		"$when: no trap was sprung");
	return;
}
nothing_caught('creating the extension');

is( $owner->query(
		q{SELECT string_agg(DISTINCT d.refobjid::regoperator::text, ' ')
			FROM pg_depend d JOIN pg_operator o ON o.oid = d.refobjid
		   WHERE d.refclassid = 'pg_operator'::regclass
			 AND o.oprnamespace <> 'pg_catalog'::regnamespace
			 AND d.classid = 'pg_constraint'::regclass}),
	'\N',
	'no constraint uses a foreign operator');
is( $owner->query(
		q{SELECT string_agg(pg_get_constraintdef(oid), ' ') FROM pg_constraint
		   WHERE connamespace = 'booking'::regnamespace
			 AND pg_get_constraintdef(oid) ~ '(public|trap)[.]'}),
	'\N',
	'nor does any definition name a foreign schema');

# ----------------------------------------------------------------------------
# The catalogue: nothing for PUBLIC, no path of the caller's
# ----------------------------------------------------------------------------

is( $owner->query(
		q{SELECT string_agg(p.oid::regprocedure::text, ' ' ORDER BY p.oid::regprocedure::text COLLATE "C")
			FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
			JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'booking' AND d.deptype = 'e'
		   WHERE has_function_privilege('ungranted', p.oid, 'EXECUTE')}),
	'booking_guard_monotonic() booking_guard_terminal()',
	'PUBLIC may execute the two guards for own tables and nothing else');
is( $owner->query(
		q{SELECT string_agg(p.oid::regprocedure::text, ' ' ORDER BY p.oid::regprocedure::text COLLATE "C")
			FROM pg_proc p JOIN pg_depend d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
			JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'booking' AND d.deptype = 'e'
		   WHERE NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false)}),
	'booking.intent_is_valid(text,text,text,text,text,text,text,text,integer,text[],integer,jsonb,tstzrange,text) booking.interval_is_valid(tstzrange) booking.label_is_valid(text) booking.payload_digest(bytea,bigint,text[],text,tstzrange,bigint[],jsonb) booking.reservation_is_valid(bigint,integer,tstzrange) '
	  . 'booking_account_check(text,text,jsonb) booking_at(timestamp without time zone,text,text) '
	  . 'booking_claim(text,text,text,text,tstzrange,bigint,integer,jsonb,text,jsonb) '
	  . 'booking_forget(text,text,jsonb) booking_guard_monotonic() booking_guard_terminal() booking_retain(jsonb,jsonb) '
	  . 'booking_sync_wait(text,text,jsonb) booking_worker_start()',
	'all but those that read no relation, or pin it in C, pin a path that ends with pg_temp');
is( $owner->query(
		q{SELECT count(*) FROM pg_class c
		   WHERE relnamespace = 'booking'::regnamespace AND relkind IN ('r', 'v', 'S')
			 AND (CASE relkind WHEN 'S' THEN has_sequence_privilege('ungranted', c.oid, 'USAGE, SELECT, UPDATE')
							   ELSE has_table_privilege('ungranted', c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') END)}),
	'0',
	'PUBLIC has no privilege on any relation');
is($owner->query("SELECT has_schema_privilege('ungranted', 'booking', 'USAGE, CREATE')"),
	'f', 'nor on the schema');

# ----------------------------------------------------------------------------
# One role a tenant
# ----------------------------------------------------------------------------

$owner->query(<<'EOSQL');
SELECT public.booking_resource_put(t, 'room') FROM pg_catalog.unnest(ARRAY['acme', 'blue']) t;
SELECT public.booking_permit_all(t, p) FROM pg_catalog.unnest(ARRAY['acme', 'blue']) t, pg_catalog.unnest(ARRAY['ada', 'mallory']) p;
SELECT public.booking_bind_role('app_acme', 'acme');
SELECT public.booking_bind_role('app_blue', 'blue');
DO $$
DECLARE
	f regprocedure;
BEGIN
	FOR f IN SELECT p.oid FROM pg_catalog.pg_proc p
			  WHERE p.pronamespace = 'public'::pg_catalog.regnamespace
				AND p.proname ~ '^booking_(claim|cancel|propose|approve|reject|status|list|free|at)'
	LOOP
		EXECUTE pg_catalog.format('GRANT EXECUTE ON FUNCTION %s TO app_acme, app_blue, unbound, mallory', f);
	END LOOP;
END $$;
EOSQL

my %app = map { $_ => session($node, user => $_) }
  qw(app_acme app_blue unbound ungranted member outsider);

sub claim
{
	my ($tenant, $intent, $from, $to) = @_;
	return
	  "SELECT disposition, receipt IS NOT NULL FROM booking_claim('$tenant', 'ada', '$intent', 'room', "
	  . during($from, $to) . ')';
}

# Every call of a bound role for its own tenant, and what others get.
is_row($app{app_acme}, claim('acme', 'a', '08:00', '09:00'),
	[ 'committed', 't' ], 'a bound role claims for its tenant');
is_row($app{app_blue}, claim('blue', 'b', '08:00', '09:00'),
	[ 'committed', 't' ], 'so does the other one');
is_row($app{member}, claim('acme', 'c', '09:00', '10:00'),
	[ 'committed', 't' ], 'a member that inherits it too');

my $range = during('08:00', '09:00');
foreach my $case (
	[ 'app_blue', 'a role of another tenant' ],
	[ 'unbound', 'a role without binding' ])
{
	my ($role, $name) = @$case;
	foreach my $call (
		"booking_claim('acme', 'ada', 'a', 'room', $range)",
		"booking_claim('acme', 'ada', 'new', 'room', $range)",
		"booking_claim_slot('acme', 'ada', 'new', 'room', 'noon', 1)",
		"booking_claim_all('acme', 'ada', 'new', '{room}', $range)",
		"booking_cancel('acme', 'ada', 'a')",
		"booking_cancel('acme', 'ada', 'new')",
		"booking_cancel_exact('acme', 'ada', 'a', 'room', $range, NULL, 1, '{}')",
		"booking_approve('acme', 'ada', 'ada', 'a', 1)",
		"booking_reject('acme', 'ada', 'ada', 'a', 1, 'no')",
		"booking_status('acme', 'ada', 'a')",
		"booking_status('acme', 'ada', 'new')")
	{
		my ($function) = $call =~ /^(\w+)/;
		is_row(
			$app{$role},
			"SELECT disposition, state, receipt FROM $call",
			[ 'denied', undef, undef ],
			"$name: $function");
	}
	is_row(
		$app{$role},
		"SELECT disposition, version, state FROM booking_propose('acme', 'ada', 'new', 'room', $range)",
		[ 'denied', undef, undef ],
		"$name: booking_propose");
	my $error = fails_with($app{$role}, "SELECT * FROM booking_list('acme', 'ada')",
		'42501', "$name: booking_list");
	like($error->{hint} // '', qr/booking_bind_role/, "$name: the hint says what is missing");
	fails_with($app{$role}, "SELECT * FROM booking_free('acme', 'ada', '{room}', $range, '1 hour')",
		'42501', "$name: booking_free");
}
is( $owner->query("SELECT count(*) FROM booking.intent WHERE intent = 'new'"),
	'0', 'none of this left a trace');

fails_with($app{ungranted}, claim('acme', 'a', '08:00', '09:00'),
	'42501', 'a role without grant cannot call');
fails_with($app{outsider}, claim('acme', 'a', '08:00', '09:00'),
	'42501', 'a member that does not inherit cannot call');
is( $app{outsider}->query('SET ROLE app_acme;' . claim('acme', 'a', '08:00', '09:00')),
	"historical_retry\x1ft",
	'until it takes the role');
fails_with($app{app_acme}, "SELECT booking_$_", '42501', "administration is not granted: $_")
  foreach ("permit('acme', 'ada', 'room')", "resource_put('acme', 'room', 9)",
	"bind_role('app_acme', 'blue')", "check()",
	"override('acme', 'ada', 'o', 'room', $range, 1, '{}', 'why')");
fails_with($app{app_acme}, $_, '42501', "no way around the functions: $_")
  foreach ('SELECT count(*) FROM booking.intent',
	'DELETE FROM booking.reservation',
	"INSERT INTO booking.role_binding VALUES ('blue', 'app_acme')",
	"UPDATE booking.permission SET allowed = true",
	"SELECT pg_catalog.nextval('booking.intent_id_seq')",
	'CREATE TABLE booking.mine (a int)',
	'SELECT booking.guard_intent()');

# A binding that is gone is gone at once, in the session that has cached plans.
$owner->query("SELECT booking_unbind_role('app_acme', 'acme')");
is_row($app{app_acme}, claim('acme', 'a', '08:00', '09:00'),
	[ 'denied', 'f' ], 'a removed binding denies at once');
is_row($app{member}, claim('acme', 'c', '09:00', '10:00'),
	[ 'denied', 'f' ], 'to members too');
$owner->query("SELECT booking_bind_role('app_acme', 'acme')");
is_row($app{app_acme}, claim('acme', 'a', '08:00', '09:00'),
	[ 'historical_retry', 't' ], 'a restored one answers again');

# The effective role is on record.
is( $owner->query("SELECT intent, created_role FROM booking.intent ORDER BY tenant, intent"),
	"a\x1fapp_acme\nc\x1fmember\nb\x1fapp_blue",
	'intents know the effective role');
is( $owner->query(
		"SELECT count(*) FROM booking.audit WHERE role = 'member' AND intent = 'c' AND action = 'intent_recorded'"
	),
	'1',
	'so does the audit');

# A SECURITY DEFINER function of a bound role acts as that role, for whoever may
# call it.
$owner->query(<<'EOSQL');
CREATE FUNCTION public.front_desk(intent text) RETURNS text
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
	SELECT (booking_claim('acme', 'ada', intent, 'room',
						  tstzrange('2030-01-07 20:00+00', '2030-01-07 21:00+00'))).disposition
$$;
ALTER FUNCTION public.front_desk(text) OWNER TO app_acme;
EOSQL
is($app{ungranted}->query("SELECT front_desk('desk')"),
	'committed', 'a function of the bound role may be offered to others');
is( $owner->query("SELECT created_role FROM booking.intent WHERE intent = 'desk'"),
	'app_acme', 'and acts as its owner');

# ----------------------------------------------------------------------------
# Temporary tables and search_path in the caller's session
# ----------------------------------------------------------------------------

my $caller = session($node, user => 'app_acme');
foreach my $path ('trap, public, pg_catalog', 'pg_temp, trap, pg_catalog, public',
	'', 'trap', 'pg_temp, public')
{
	my $name = $path eq '' ? 'empty path' : "path $path";

	$caller = session($node, user => 'app_acme');
	my $result = $caller->try(<<'EOSQL');
CREATE TEMP TABLE intent (tenant text, state text);
CREATE TEMP TABLE reservation (intent_id bigint, resource_id bigint, piece int, unit int);
CREATE TEMP TABLE permission (tenant text, principal text, resource text, allowed boolean);
CREATE TEMP TABLE role_binding (tenant text, role text);
CREATE TEMP TABLE resource (tenant text, resource text, capacity int);
CREATE TEMP TABLE booking_result (a int);
CREATE TEMP TABLE booking_proposal (a int);
INSERT INTO pg_temp.role_binding VALUES ('blue', 'app_acme');
INSERT INTO pg_temp.permission VALUES ('blue', 'ada', NULL, true), ('acme', 'zoe', NULL, true);
CREATE FUNCTION pg_temp.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT now()';
EOSQL
	is($result->{error} && $result->{error}{text}, undef, "$name: hostile session is set up");
	$caller->query("SET search_path = " . ($path eq '' ? "''" : $path));

	my $range = "pg_catalog.tstzrange('2030-01-07 08:00+00', '2030-01-07 09:00+00')";
	my $read = sub {
		my ($call) = @_;
		return join(' ', map { $_ // '-' }
			  $caller->row("SELECT disposition, state FROM public.$call"));
	};
	is($read->("booking_claim('acme', 'ada', 'a', 'room', $range)"),
		'historical_retry committed', "$name: history is found");
	is($read->("booking_claim('blue', 'ada', 'b', 'room', $range)"),
		'denied -', "$name: a forged binding is not");
	is($read->("booking_claim('acme', 'zoe', 'z', 'room', $range)"),
		'denied -', "$name: nor a forged permission");
	is($read->("booking_cancel('acme', 'ada', 'cancel $name')"),
		'canceled canceled', "$name: cancel works");
	is($read->("booking_status('acme', 'ada', 'a')"),
		'historical_retry committed', "$name: status works");
	is($caller->query("SELECT pg_catalog.count(*) FROM public.booking_list('acme', 'ada', NULL, 'committed')"),
		'3', "$name: list works");
	is($caller->query("SELECT pg_catalog.count(*) FROM public.booking_free('acme', 'ada', '{room}', $range, '1 hour')"),
		'0', "$name: free works");
	is( $caller->query(
			'SELECT (SELECT pg_catalog.count(*) FROM pg_temp.intent), (SELECT pg_catalog.count(*) FROM pg_temp.reservation)'
		),
		"0\x1f0",
		"$name: nothing went into the caller's tables");
	$caller->quit;
}
nothing_caught('calls in hostile sessions');

# The owner too may have a hostile path, and a role of its own choice.
$owner->query('SET search_path = trap, public, pg_catalog');
foreach my $call (
	"public.booking_resource_put('acme', 'hall', 2)",
	"public.booking_permit('acme', 'ada', 'hall')",
	"public.booking_slot_put('acme', 'hall', 'noon', $range)",
	"public.booking_claim_slot('acme', 'ada', 'noon', 'hall', 'noon', 1)",
	"public.booking_propose('acme', 'ada', 'prop', 'hall', $range)",
	"public.booking_approve('acme', 'ada', 'ada', 'prop', 1)",
	"public.booking_override('acme', 'ada', 'over', 'hall', $range, 1, '{}', 'why')",
	"public.booking_cancel('acme', 'ada', 'over')",
	"public.booking_bind_role('unbound', 'cobalt')",
	"public.booking_unbind_role('unbound', 'cobalt')",
	"public.booking_check()")
{
	my ($function) = $call =~ /(booking_\w+)/;
	is($owner->sqlstate("SELECT * FROM $call"),
		'00000', "hostile path of the owner: $function works");
}
is( $owner->query(
		"SELECT pg_catalog.string_agg(intent || ' ' || state, ', ' ORDER BY intent) FROM booking.intent WHERE intent OPERATOR(pg_catalog.~) '^(noon|prop|over)\$'"
	),
	'noon committed, over canceled, prop committed',
	'hostile path of the owner: and does what it should');
$owner->query('RESET search_path');
nothing_caught('calls of the owner');
is_clean($owner, 'at the end');

# A call must leave the caller who he was, after an error too.
foreach my $call ("booking_claim('acme', 'ada', 'x', 'room', NULL)",
	"booking_list('acme', 'ada', max => -1)")
{
	$app{app_acme}->try("SELECT * FROM $call");
	is( $app{app_acme}->query("SELECT current_user, current_setting('search_path'), current_setting('role')"),
		"app_acme\x1f\"\$user\", public\x1fnone",
		'after an error the caller is still the caller');
}

$_->quit foreach (values %app, $mallory, $owner);
$node->stop;

done_testing();
