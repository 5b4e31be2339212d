# test/t/040_settings.pl
#
# No answer depends on the session's TimeZone, DateStyle or IntervalStyle: the
# same calls, made under three combinations in three databases whose extension
# was also created under them, give the same rows, the same errors, the same
# stored values and the same constraints.
#
# Proves R53 (zone rules of the date and not of the session) and R103 (bounds are
# finite years), and that CHECK constraints mean instants.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = booking_node('main');

my %settings = (
	utc => {
		TimeZone => 'UTC',
		DateStyle => 'ISO, MDY',
		IntervalStyle => 'postgres'
	},
	berlin => {
		TimeZone => 'Europe/Berlin',
		DateStyle => 'SQL, DMY',
		IntervalStyle => 'sql_standard'
	},
	kathmandu => {
		TimeZone => 'Asia/Kathmandu',
		DateStyle => 'German, YMD',
		IntervalStyle => 'iso_8601'
	});

# Instants as text that no setting changes.
my $utc = "'YYYY-MM-DD HH24:MI:SS'";

sub utc_range
{
	my ($range) = @_;
	return
	    "to_char(lower($range) AT TIME ZONE 'UTC', $utc) || ' to ' || "
	  . "to_char(upper($range) AT TIME ZONE 'UTC', $utc)";
}

# The calls.  A result is taken whole, its detail included, with what is random
# (the receipt) or depends on the clock (the end of a hold) replaced.
my $result = "disposition, state, remote, event, receipt LIKE 'local:%', replayed, detail";
my $proposal = 'disposition, version, state, snapshot, expires_at IS NOT NULL, replayed, detail';

sub range
{
	my ($from, $to) = @_;
	return "tstzrange('$from', '$to')";
}

my $summer = range('2030-07-01 12:00+02', '2030-07-01 13:00+02');
my $fold = range('2030-10-27 00:30+00', '2030-10-27 01:30+00');
my $gap = range('2030-03-31 00:30+00', '2030-03-31 01:30+00');
my $early = range('1970-01-01 00:00+00', '1970-01-01 01:00+00');
my $last = range('9999-12-31 22:00+00', '9999-12-31 23:59:59.999999+00');

my @calls = (
	"SELECT booking_resource_put('acme', 'room', 1, 'Europe/Berlin', '10 minutes', '5 minutes')",
	"SELECT booking_resource_put('acme', 'class', 3)",
	"SELECT booking_slot_put('acme', 'class', 'noon', $summer)",
	"SELECT booking_permit_all('acme', 'ada')",
	(
		map { "SELECT $result FROM $_" }
		  "booking_claim('acme', 'ada', 'summer', 'room', $summer, terms => '{\"a\": 1.50}')",
		"booking_claim('acme', 'ada', 'summer', 'room', $summer, terms => '{\"a\": 1.5}')",
		"booking_claim('acme', 'ada', 'summer', 'room', "
		  . range('2030-07-01 06:00-04', '2030-07-01 16:45+05:45')
		  . ", terms => '{\"a\": 1.5}')",
		"booking_claim('acme', 'ada', 'summer', 'room', $fold)",
		"booking_claim('acme', 'ada', 'buffer', 'room', "
		  . range('2030-07-01 11:10+00', '2030-07-01 12:00+00') . ')',
		"booking_claim('acme', 'ada', 'fold', 'room', $fold)",
		"booking_claim('acme', 'ada', 'gap', 'room', $gap)",
		"booking_claim('acme', 'ada', 'first', 'class', $early)",
		"booking_claim('acme', 'ada', 'last', 'class', $last)",
		"booking_claim_slot('acme', 'ada', 'slot', 'class', 'noon', 1, 2)",
		"booking_claim_all('acme', 'ada', 'both', '{room,class}', $summer)",
		"booking_cancel('acme', 'ada', 'fold')",
		"booking_cancel_exact('acme', 'ada', 'gap', 'room', $fold, NULL, 1, '{}')",
		"booking_cancel_exact('acme', 'ada', 'gap', 'room', $gap, NULL, 1, '{}')",
		"booking_status('acme', 'ada', 'buffer')",
		"booking_override('acme', 'ada', 'over', 'room', $summer, 1, '{}', 'why')"
	),
	"SELECT $proposal FROM booking_propose('acme', 'ada', 'prop', 'class', $fold, hold_for => '01:30:00')",
	"SELECT $proposal FROM booking_propose('acme', 'ada', 'prop-2', 'class', $fold, units => 3, hold_for => 'PT90M')",
	"SELECT $result FROM booking_approve('acme', 'ada', 'ada', 'prop', 1)",
	"SELECT intent, $result, " . utc_range('during') . ", resources FROM booking_list('acme', 'ada')",
	"SELECT intent, " . utc_range('during') . " FROM booking_list('acme', 'ada', $summer)",
	"SELECT " . utc_range('w') . " FROM booking_free('acme', 'ada', '{room,class}', " . range('2030-07-01 00:00+00', '2030-07-02 00:00+00') . ", '90 minutes') w",
	"SELECT " . utc_range('w') . " FROM booking_free('acme', 'ada', '{room}', " . range('2030-07-01 08:00+00', '2030-07-01 14:00+00') . ", 'PT1H', '0 01:00:00') w",
	(
		map { "SELECT to_char(booking_at($_) AT TIME ZONE 'UTC', $utc)" }
		  "'2030-07-01 12:00', 'Europe/Berlin'",
		"'2030-10-27 02:30', 'Europe/Berlin', 'first'",
		"'2030-10-27 02:30', 'Europe/Berlin', 'second'",
		"'2030-10-27 02:30', 'Europe/Berlin'",
		"'2030-03-31 02:30', 'Europe/Berlin'",
		"'2030-03-31 02:30', 'Asia/Kathmandu'",
		"'2030-01-01 00:00', 'America/New_York'"
	),
	# refused, with the instants that are in use
	"SELECT booking_resource_put('acme', 'class', 1)",
	"SELECT booking_claim('acme', 'ada', 'bad', 'room', " . range('1969-12-31 23:59+00', '1970-01-01 01:00+00') . ')',
	"SELECT booking_claim('acme', 'ada', 'bad', 'room', " . range('9999-12-31 23:00+00', '10000-01-01 00:00+00') . ')',
	"SELECT booking_resource_put('acme', 'odd', 1, 'UTC', '1 day')");

# What is stored, with what is random or the clock's left out.
my @stored = (
	"SELECT resource, capacity, time_zone, extract(epoch FROM buffer_before), extract(epoch FROM buffer_after), version FROM booking.resource ORDER BY 1",
	"SELECT resource, slot, " . utc_range('during') . ", version FROM booking.slot ORDER BY 1, 2",
	"SELECT intent, version, units, disposition, state, resources, slot, " . utc_range('during') . ", expected_versions, terms, supersedes, detail FROM booking.intent ORDER BY 1",
	"SELECT intent, r.unit, " . utc_range('occupied') . ", r.override FROM booking.reservation r JOIN booking.intent USING (intent_id) ORDER BY 1, 2",
	"SELECT intent, p.version, p.state, " . utc_range('p.during') . ", snapshot FROM booking.proposal p JOIN booking.intent USING (intent_id) ORDER BY 1, 2",
	"SELECT action, tenant, principal, intent, detail FROM booking.audit_entry ORDER BY audit_id");

# Every call's answer as text: rows, or SQLSTATE with message, detail and hint.
sub answer
{
	my ($session, $sql) = @_;
	my $got = $session->try($sql);
	my $error = $got->{error};

	return $error
	  ? join(' / ', map { $_ // '' } @{$error}{qw(sqlstate message detail hint)})
	  : join("\n", @{ $got->{lines} });
}

my %answers;
my @names = sort keys %settings;

foreach my $name (@names)
{
	$node->safe_psql('postgres', "CREATE DATABASE $name");

	my $session = session($node, dbname => $name, options => $settings{$name});
	is( $session->query(
			"SELECT current_setting('TimeZone'), current_setting('DateStyle'), current_setting('IntervalStyle')"
		),
		join("\x1f", @{ $settings{$name} }{qw(TimeZone DateStyle IntervalStyle)}),
		"$name: the settings are in force");

	$session->query('CREATE EXTENSION booking CASCADE');
	$answers{$name} = [ map { answer($session, $_) } @calls ];
	push @{ $answers{$name} }, answer($session, $_) foreach @stored;
	is_clean($session, $name);
	$session->quit;

	# The constraints, read under the same settings everywhere.
	$session = session($node, dbname => $name, options => $settings{utc});
	push @{ $answers{$name} },
	  $session->query(
		q{SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
			FROM pg_constraint WHERE connamespace = 'booking'::regnamespace ORDER BY 1}
	  );

	# Wall times that no session zone touches, stored under all of them.
	is( $session->query(
			"SELECT occupied = tstzrange('2030-07-01 09:50+00', '2030-07-01 11:05+00') FROM booking.reservation JOIN booking.intent USING (intent_id) WHERE intent = 'summer'"
		),
		't',
		"$name: the instants are those that were meant");
	$session->quit;
}

# The first database is the measure.
my @what = (@calls, @stored, 'the constraints');
my $reference = $answers{utc};
foreach my $name (grep { $_ ne 'utc' } @names)
{
	is($answers{$name}[$_], $reference->[$_], "$name: $what[$_]")
	  foreach 0 .. $#what;
}

# That the answers are right, and not only equal, is seen in a few.
my %expected = (
	"SELECT to_char(booking_at('2030-07-01 12:00', 'Europe/Berlin') AT TIME ZONE 'UTC', $utc)" => '2030-07-01 10:00:00',
	"SELECT to_char(booking_at('2030-10-27 02:30', 'Europe/Berlin', 'first') AT TIME ZONE 'UTC', $utc)" => '2030-10-27 00:30:00',
	"SELECT to_char(booking_at('2030-10-27 02:30', 'Europe/Berlin', 'second') AT TIME ZONE 'UTC', $utc)" => '2030-10-27 01:30:00',
	"SELECT to_char(booking_at('2030-03-31 02:30', 'Asia/Kathmandu') AT TIME ZONE 'UTC', $utc)" => '2030-03-30 20:45:00',
);
foreach my $i (0 .. $#calls)
{
	is($reference->[$i], $expected{ $calls[$i] }, "the instant of $calls[$i]")
	  if defined $expected{ $calls[$i] };
	like($reference->[$i], qr/^22/, "refused: $calls[$i]")
	  if $calls[$i] =~ /booking_at\('2030-(?:10-27|03-31) 02:30', 'Europe\/Berlin'\)/
	  || $calls[$i] =~ /'bad'|'odd'/;
	like($reference->[$i], qr/^(?:committed|historical_retry)/, "the answer of $calls[$i]")
	  if $calls[$i] =~ /'(?:summer|fold|gap|first|last)', '(?:room|class)', tstz/
	  && $calls[$i] =~ /booking_claim\(/
	  && $calls[$i] !~ /'summer', 'room', \Q$fold\E/;
}

figure('settings compared answers', scalar(@what));

$node->stop;

done_testing();
