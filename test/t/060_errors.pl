# test/t/060_errors.pl
#
# A call that is refused says which argument was wrong and what would be right:
# every case must have the documented SQLSTATE, name the argument in its
# message, carry a hint, and leave nothing behind.  Nothing is locked before the
# arguments are valid.
#
# Proves R14 (zero length refused), R17 (empty and NULL), R66 (NUL in JSON), R103
# (infinity and years beyond 9999), and the acceptance list's bad input.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = booking_node('main');
my $session = session($node);

$session->query(<<'EOSQL');
CREATE EXTENSION booking CASCADE;
SELECT booking_resource_put('acme', 'room');
SELECT booking_resource_put('acme', 'class', 3);
SELECT booking_slot_put('acme', 'class', 'noon', tstzrange('2030-01-07 12:00+00', '2030-01-07 13:00+00'), 5);
SELECT booking_permit_all('acme', p) FROM unnest(ARRAY['ada', 'bob']) p;
SELECT booking_claim('acme', 'ada', 'used', 'class', tstzrange('2030-01-07 08:00+00', '2030-01-07 09:00+00'), units => 3);
SELECT booking_propose('acme', 'ada', 'open', 'room', tstzrange('2030-01-07 08:00+00', '2030-01-07 09:00+00'));
EOSQL

# ----------------------------------------------------------------------------
# Good arguments of every function, and bad values for each kind
# ----------------------------------------------------------------------------

my $good_range = "tstzrange('2030-01-08 08:00+00', '2030-01-08 09:00+00')";
my %good = (
	tenant => "'acme'",
	principal => "'ada'",
	approver => "'bob'",
	intent => "'new'",
	resource => "'room'",
	resources => "'{room,class}'::text[]",
	slot => "'noon'",
	during => $good_range,
	within => $good_range,
	expected_version => '1',
	expected_versions => 'NULL::bigint[]',
	units => '1',
	terms => "'{}'",
	supersedes => 'NULL',
	evidence => 'NULL',
	hold_for => "'1 hour'",
	after_version => 'NULL',
	version => '1',
	reason => "'because'",
	role => 'current_user::text',
	duration => "'1 hour'",
	step => "'30 minutes'",
	max => '10',
	after => "'a'",
	state => "'committed'",
	capacity => '2',
	time_zone => "'UTC'",
	buffer_before => "'5 minutes'",
	buffer_after => "'5 minutes'",
	local => "'2030-01-08 08:00'",
	zone => "'UTC'",
	fold => "'first'",
	allowed => 'true',
	name => "'reader'",
	position => '0',
	task => "'remind'",
	before => "'1 hour'",
	payload => "'{}'",
	lease => "'5 minutes'",
	'task_done.lease' => '1',
	four_eyes => 'false');

my %arguments = (
	tenant_put => 'tenant four_eyes',
	resource_put => 'tenant resource capacity time_zone buffer_before buffer_after',
	slot_put => 'tenant resource slot during version',
	permit => 'tenant principal resource allowed',
	permit_all => 'tenant principal allowed',
	claim => 'tenant principal intent resource during expected_version units terms supersedes evidence',
	claim_slot => 'tenant principal intent resource slot expected_version units terms supersedes evidence',
	claim_all => 'tenant principal intent resources during expected_versions units terms supersedes evidence',
	override => 'tenant principal intent resource during units terms reason',
	cancel => 'tenant principal intent evidence',
	cancel_exact => 'tenant principal intent resource during expected_version units terms evidence',
	cancel_exact_slot => 'tenant principal intent resource slot expected_version units terms evidence',
	cancel_exact_all => 'tenant principal intent resources during expected_versions units terms evidence',
	propose => 'tenant principal intent resource during expected_version units terms supersedes hold_for after_version evidence',
	propose_slot => 'tenant principal intent resource slot expected_version units terms supersedes hold_for after_version evidence',
	propose_all => 'tenant principal intent resources during expected_versions units terms supersedes hold_for after_version evidence',
	approve => 'tenant approver principal intent version evidence',
	reject => 'tenant approver principal intent version reason',
	status => 'tenant principal intent',
	list => 'tenant principal within state after max',
	free => 'tenant principal resources within duration step units',
	at => 'local zone fold',
	bind_role => 'role tenant',
	unbind_role => 'role tenant',
	consumer_put => 'tenant name',
	consumer_remove => 'tenant name',
	consumer_ack => 'tenant name position',
	changes => 'tenant name max',
	task_put => 'tenant principal intent task before payload',
	task_take => 'tenant max lease',
	task_done => 'tenant principal intent task lease');

my $long = 'x' x 201;
my @bad_label = (
	[ "''", '22023', 'empty' ],
	[ "' a'", '22023', 'leading blank' ],
	[ "'a '", '22023', 'trailing blank' ],
	[ "E'a\\nb'", '22023', 'line break' ],
	[ "E'\\u0001'", '22023', 'control character' ],
	[ "E'a\\u007f'", '22023', 'delete character' ],
	[ "E'\\u0085x'", '22023', 'C1 control character' ],
	[ "'$long'", '22023', '201 bytes' ],
	[ "repeat(E'\\u00e9', 101)", '22023', '202 bytes of 101 characters' ]);
my @null = ([ 'NULL', '22004', 'NULL' ]);

my @bad_range = (
	@null,
	[ "'empty'::tstzrange", '22023', 'empty' ],
	[ "tstzrange('2030-01-08 08:00+00', '2030-01-08 08:00+00')", '22023', 'zero length' ],
	[ "tstzrange('2030-01-08 08:00+00', '2030-01-08 08:00+00', '[]')", '22023', 'a point' ],
	[ "tstzrange('2030-01-08 08:00+00', '2030-01-08 09:00+00', '[]')", '22023', 'upper bound included' ],
	[ "tstzrange('2030-01-08 08:00+00', '2030-01-08 09:00+00', '()')", '22023', 'lower bound excluded' ],
	[ "tstzrange(NULL, '2030-01-08 09:00+00')", '22023', 'no lower bound' ],
	[ "tstzrange('2030-01-08 09:00+00', NULL)", '22023', 'no upper bound' ],
	[ "tstzrange('-infinity', '2030-01-08 09:00+00')", '22023', 'from -infinity' ],
	[ "tstzrange('2030-01-08 09:00+00', 'infinity')", '22023', 'to infinity' ],
	[ "tstzrange('1969-12-31 23:00+00', '1970-01-01 01:00+00')", '22023', 'year 1969' ],
	[ "tstzrange('9999-12-31 23:00+00', '10000-01-01 00:00+00')", '22023', 'year 10000' ]);
my @bad_version = (
	[ '0', '22023', 'zero' ],
	[ '-1', '22023', 'negative' ],
	[ "'9223372036854775808'", '22003', '2^63' ],
	[ "'1.5'", '22P02', 'a fraction as text' ],
	[ '1.5', '42883', 'a fraction' ],
	[ '9223372036854775808', '42883', '2^63 as number' ],
	[ 'true', '42883', 'a boolean' ]);
my @bad_units = (@null, [ '0', '22023', 'zero' ], [ '-1', '22023', 'negative' ],
	[ "'1e3'", '22P02', 'not an integer' ]);
my @big_json = ([
		"jsonb_build_object('note', repeat('x', 10 * 1024 * 1024))",
		'54000', '10 MB'
]);
my @bad_json = (
	[ "'{\"a\": \"\\u0000\"}'", '22P05', 'NUL' ],
	[ "'{\"a\": }'", '22P02', 'no JSON' ],
	@big_json);
my @bad_buffer = (
	[ "'-1 minute'", '22023', 'negative' ],
	[ "'1 day'", '22023', 'not of fixed length' ],
	[ "'1 month'", '22023', 'a month' ],
	[ "'745 hours'", '22023', 'too long' ]);
my @bad_duration = (
	[ "'0'", '22023', 'zero' ],
	[ "'-1 hour'", '22023', 'negative' ],
	[ "'1 month'", '22023', 'not of fixed length' ]);
my @bad_resources = (
	@null,
	[ "'{}'::text[]", '22023', 'none' ],
	[ "'{room,room}'::text[]", '22023', 'twice the same' ],
	[ "'{room,NULL}'::text[]", '22004', 'NULL among them' ],
	[ "ARRAY['room', '']", '22023', 'an empty one' ],
	[ "'{{room,class}}'::text[]", '22023', 'two dimensions' ],
	[ "(SELECT array_agg('r' || i) FROM generate_series(1, 101) i)", '54000', '101 of them' ]);

my %bad = (
	(map { $_ => [ @null, @bad_label ] } qw(tenant principal approver intent resource slot name task)),
	supersedes => [ @bad_label, [ "'new'", '22023', 'the intent itself' ] ],
	role => [ @null, [ "'nobody such'", '42704', 'unknown' ] ],
	during => \@bad_range,
	within => \@bad_range,
	expected_version => \@bad_version,
	expected_versions => [
		[ "'{1}'::bigint[]", '22023', 'too few' ],
		[ "'{1,1,1}'::bigint[]", '22023', 'too many' ],
		[ "'{1,0}'::bigint[]", '22023', 'zero' ],
		[ "'{}'::bigint[]", '22023', 'none' ],
	],
	units => \@bad_units,
	terms => [ @null, @bad_json ],
	evidence => \@bad_json,
	hold_for => \@bad_duration,
	after_version => [ [ '-1', '22023', 'negative' ] ],
	reason => [ @null, [ "''", '22023', 'empty' ] ],
	duration => [ @null, @bad_duration ],
	step => \@bad_duration,
	max => [ [ '0', '22023', 'zero' ], [ '-1', '22023', 'negative' ] ],
	after => \@bad_label,
	state => [ [ "'lost'", '22023', 'unknown' ] ],
	capacity => [
		[ '0', '22023', 'zero' ],
		[ '-1', '22023', 'negative' ],
		[ '32768', '22023', 'too large' ]
	],
	time_zone => [ [ "'Mars/Olympus'", '22023', 'unknown' ], [ "''", '22023', 'empty' ] ],
	zone => [ @null, [ "'Mars/Olympus'", '22023', 'unknown' ] ],
	local => [ @null, [ "'infinity'", '22023', 'infinity' ] ],
	fold => [ [ "'third'", '22023', 'unknown' ] ],
	buffer_before => \@bad_buffer,
	buffer_after => \@bad_buffer,
	resources => \@bad_resources,
	position => [ @null, [ '-1', '22023', 'negative' ] ],
	before => [ @null, @bad_buffer[ 0 .. 2 ], [ "'8785 hours'", '22023', 'too long' ] ],
	lease => [ @null, @bad_duration, [ "'745 hours'", '22023', 'too long' ] ],
	payload => [ @null, @bad_json ]);

# What is different in single functions.
my %special = (
	'list.within' => [ @bad_range[ 1 .. $#bad_range ] ],
	'slot_put.version' => [ [ '0', '22023', 'zero' ], [ '-1', '22023', 'negative' ] ],
	'approve.version' => [ @null, [ '0', '22023', 'zero' ] ],
	'reject.version' => [ @null, [ '0', '22023', 'zero' ] ],
	'unbind_role.role' => \@null,    # a binding outlives its role
	'permit.allowed' => \@null,
	'permit_all.allowed' => \@null,
	(map { $_ => [ [ 'NULL', '22004', 'NULL' ], @bad_version ] }
		  qw(claim_slot.expected_version propose_slot.expected_version
		  cancel_exact_slot.expected_version)),
	'task_done.lease' => [ @null, [ '0', '22023', 'zero' ], [ '-1', '22023', 'negative' ] ],
	'free.resources' => [ @bad_resources[ 0 .. $#bad_resources ] ]);

# Errors that come from PostgreSQL's own input functions, before the call.
my %foreign = map { $_ => 1 } qw(22P02 22P05 22003 42883);

my $cases = 0;
foreach my $function (sort keys %arguments)
{
	my @names = split(/ /, $arguments{$function});
	my @differ;
	my $checked = 0;

	foreach my $name (@names)
	{
		foreach my $bad (@{ $special{"$function.$name"} // $bad{$name} // [] })
		{
			my ($value, $sqlstate, $what) = @$bad;
			my $call = "SELECT * FROM booking_$function("
			  . join(', ', map { "\"$_\" => " . ($_ eq $name ? $value : $good{"$function.$_"} // $good{$_}) } @names)
			  . ')';
			my $result = $session->try($call);
			my $error = $result->{error} // { sqlstate => '00000', message => '' };
			my $where = "$name, $what";

			$checked++;
			if ($error->{sqlstate} ne $sqlstate)
			{
				push @differ, "$where: SQLSTATE $error->{sqlstate} and not $sqlstate: $error->{message}";
			}
			elsif (!$foreign{$sqlstate})
			{
				push @differ, "$where: the message does not name the argument: $error->{message}"
				  if $error->{message} !~ /\b\Q$name\E\b/;
				push @differ, "$where: no hint with: $error->{message}"
				  if ($error->{hint} // '') !~ /\w/;
				push @differ, "$where: the message repeats the value"
				  if length($error->{text}) > 1000;
			}
		}
	}
	ok(!@differ, "booking_$function: $checked bad arguments")
	  or diag(join("\n", @differ));
	$cases += $checked;
}

is( $session->query("SELECT count(*) FROM booking.intent WHERE intent = 'new'"),
	'0', 'nothing was recorded by any of them');

# ----------------------------------------------------------------------------
# Calls whose arguments are valid and which cannot be done
# ----------------------------------------------------------------------------

# [call, SQLSTATE, what the message must name]; values are not repeated, since
# messages go to logs
foreach my $case (
	[ "booking_permit('acme', 'ada', 'nowhere')", '42704', 'resource' ],
	[ "booking_slot_put('acme', 'nowhere', 'noon', $good_range)", '42704', 'resource' ],
	[ "booking_slot_put('acme', 'class', 'noon', $good_range, 5)", '55000', 'version' ],
	[ "booking_slot_put('acme', 'class', 'noon', $good_range, 4)", '55000', 'version' ],
	[ "booking_resource_put('acme', 'class', 2)", '55000', 'capacity' ],
	[ "booking_bind_role('nobody such', 'acme')", '42704', 'role' ],
	[ "booking_at('2030-03-31 02:30', 'Europe/Berlin')", '22008', 'local' ],
	[ "booking_at('2030-10-27 02:30', 'Europe/Berlin')", '22008', 'local' ],
	[ "booking_at('2030-03-31 02:30', 'Europe/Berlin', 'first')", '22008', 'local' ],
	[ "booking_changes('acme', 'nobody')", '42704', 'consumer' ],
	[ "booking_consumer_ack('acme', 'nobody', 0)", '42704', 'consumer' ],
	[ "booking_task_put('acme', 'ada', 'nothing', 'remind', '1 hour')", '42704', 'intent' ],
	[ "booking_task_put('acme', 'zoe', 'used', 'remind', '1 hour')", '42501', 'permission' ],
	[ "booking_list('acme', 'zoe')", '42501', 'permission' ],
	[ "booking_free('acme', 'ada', '{nowhere}', $good_range, '1 hour')", '42501', 'permission' ])
{
	my ($call, $sqlstate, $named) = @$case;
	my $error = fails_with($session, "SELECT * FROM $call", $sqlstate, "$call: SQLSTATE");

	like($error->{message} // '', qr/\Q$named\E/, "$call: names what is wrong");
	like($error->{hint} // '', qr/\w/, "$call: has a hint");
}

# ----------------------------------------------------------------------------
# Limits that are just met
# ----------------------------------------------------------------------------

my $longest = 'y' x 200;
foreach my $case (
	[ "booking_claim('acme', 'ada', '$longest', 'room', $good_range)", 'committed', '200 bytes' ],
	[ "booking_claim('acme', 'ada', 'Mixed Case \x{c3}\x{a9}', 'class', $good_range)", 'committed', 'blanks inside and UTF-8' ],
	[ "booking_claim('acme', 'ada', 'mixed case \x{c3}\x{a9}', 'class', $good_range)", 'committed', 'another case is another intent' ],
	[ "booking_claim('acme', 'ada', E'mixed case e\\u0301', 'class', $good_range)", 'committed', 'another normal form too' ],
	[ "booking_claim('acme', 'ada', 'greedy', 'class', $good_range, units => 4)", 'resource_conflict', 'units above the capacity' ],
	[ "booking_claim('acme', 'ada', 'full terms', 'room', tstzrange('2030-01-09 08:00+00', '2030-01-09 09:00+00'), terms => jsonb_build_object('note', repeat('x', 60000)))", 'committed', 'terms below the limit' ],
	[ "booking_claim_slot('acme', 'ada', 'unknown slot', 'class', 'midnight', 1)", 'inventory_conflict', 'an unknown slot' ],
	[ "booking_claim('acme', 'ada', 'edge 1', 'room', tstzrange('1970-01-01 00:00+00', '1970-01-01 01:00+00'))", 'committed', 'the first year' ],
	[ "booking_claim('acme', 'ada', 'edge 2', 'room', tstzrange('9999-12-31 23:00+00', '9999-12-31 23:59:59.999999+00'))", 'committed', 'the last year' ],
	[ "booking_claim('acme', 'ada', 'edge 3', 'room', tstzrange('2030-01-09 10:00+00', '2030-01-09 11:00+00'), 9223372036854775807)", 'inventory_conflict', 'the largest version' ])
{
	my ($call, $disposition, $name) = @$case;
	is_row($session, "SELECT disposition FROM $call", [$disposition], "allowed: $name");
}

{
	$session->query("SELECT booking_resource_put('big', 'r' || i) FROM generate_series(1, 101) i");
	$session->query("SELECT booking_permit_all('big', 'ada')");
	is_row(
		$session,
		"SELECT disposition FROM booking_claim_all('big', 'ada', 'hundred', (SELECT array_agg('r' || i) FROM generate_series(1, 100) i), $good_range)",
		['committed'],
		'allowed: 100 resources in one claim');
	is( $session->query("SELECT count(*) FROM booking.reservation WHERE tenant = 'big'"),
		'100', 'each of them is held');

	# Deep JSON: whatever the parser accepts is stored or refused, never a crash.
	my $deep = ('[' x 5000) . (']' x 5000);
	my $state = $session->sqlstate(
		"SELECT booking_claim('big', 'ada', 'deep', 'r101', $good_range, terms => '{\"a\": $deep}')");
	like($state, qr/^(?:00000|54000|54001)$/, 'deep JSON is stored or refused cleanly');
	my $deeper = ('[' x 100000) . (']' x 100000);
	is( $session->sqlstate(
			"SELECT booking_claim('big', 'ada', 'deeper', 'r101', $good_range, terms => '{\"a\": $deeper}')"),
		'54001',
		'deeper JSON is refused');

	# The limit is a setting.
	$session->query("SET booking.max_terms = '1kB'");
	fails_with($session,
		"SELECT booking_claim('big', 'ada', 'small limit', 'r101', $good_range, terms => jsonb_build_object('note', repeat('x', 2000)))",
		'54000', 'the limit of terms can be lowered');
	$session->query("RESET booking.max_terms");
}

# Nothing is locked before the arguments are valid: a bad call does not wait for
# a transaction that holds all locks of the resource and the permission.
{
	my $other = session($node);

	$other->query('BEGIN');
	$other->query("SELECT booking_permit_all('acme', 'ada', false)");
	$other->query("SELECT booking_resource_put('acme', 'room', 5)");
	$session->query("SET lock_timeout = '10ms'");
	fails_with($session, "SELECT booking_claim('acme', 'ada', '', 'room', $good_range)",
		'22023', 'a bad call does not wait');
	fails_with($session, "SELECT booking_claim('acme', 'ada', 'good', 'room', $good_range)",
		'55P03', 'a good one would');
	$other->query('ROLLBACK');
	$session->query('RESET lock_timeout');
	$other->quit;
}
is_clean($session, 'at the end');

figure('bad arguments', $cases);

$session->quit;
$node->stop;

done_testing();
