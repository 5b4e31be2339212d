# test/t/011_capacity.pl
#
# Capacity is a promise about every instant: a claim is accepted exactly when no
# instant of it would exceed the capacity, whatever came and went before.
# Lanes are a matter of storage, so a claim must not be refused because no lane
# is free throughout, nor accepted because one happens to be.
#
# Random sets of intervals, with and without buffers, against a count of units
# for every minute; after random cancels and further claims as well.  Proves R10
# (at most the capacity at every instant, and refused only if some instant would
# exceed it), R4 (several units), R13 (enclosing and sharing edges), R24
# (buffers).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $sets = size(500, 5000);
my $claims_a_set = 24;
my $minutes = 120;
my $seed = seed(20300111);

my $node = booking_node('main');
my $session = session($node);
my %count = (accepted => 0, refused => 0, canceled => 0);

$session->query('CREATE EXTENSION booking CASCADE');
$session->query(
	"SELECT booking_permit_all(t, 'ada') FROM unnest(ARRAY['acme', 'blue']) t");

# An interval of the test's calendar, in minutes.
sub range
{
	my ($start, $end) = @_;
	return
		"tstzrange('2030-01-07 12:00+00'::timestamptz + interval '$start minutes', "
	  . "'2030-01-07 12:00+00'::timestamptz + interval '$end minutes')";
}

# One set: claims, cancels and further claims on a resource of its own.
# Returns statements with the disposition that each must have.
sub random_set
{
	my ($set) = @_;
	my $tenant = ('acme', 'blue')[ $set % 2 ];
	my $name = "resource-$set";
	my $capacity = 1 + int(rand(6));
	my ($before, $after) = rand() < 0.25 ? (int(rand(8)), int(rand(8))) : (0, 0);
	my $longest = (15, 60, $minutes)[ int(rand(3)) ];
	my @used = (0) x ($minutes + 16);    # units, for each minute from -8 on
	my (%active, @calls);
	my $number = 0;

	push @calls,
	  [
		"SELECT booking_resource_put('$tenant', '$name', $capacity, 'UTC', '$before minutes', '$after minutes')",
		'1'
	  ];

	my $claim = sub {
		my $start = int(rand($minutes - 1));
		my $end = $start + 1 + int(rand($longest));
		my $units = 1 + int(rand(3));
		my $intent = sprintf('%s-%d', $name, ++$number);

		$end = $minutes if $end > $minutes;
		my @covered = ($start - $before + 8 .. $end + $after - 1 + 8);
		my $fits = !grep { $_ + $units > $capacity } @used[@covered];

		if ($fits)
		{
			$_ += $units foreach @used[@covered];
			$active{$intent} = [ $units, @covered ];
		}
		$count{ $fits ? 'accepted' : 'refused' }++;
		push @calls,
		  [
			"SELECT disposition FROM booking_claim('$tenant', 'ada', '$intent', '$name', "
			  . range($start, $end)
			  . ", NULL, $units)",
			$fits ? 'committed' : 'resource_conflict'
		  ];
	};
	my $cancel = sub {
		my @intents = sort keys %active;
		return unless @intents;
		my $intent = $intents[ int(rand(@intents)) ];
		my ($units, @covered) = @{ delete $active{$intent} };

		$_ -= $units foreach @used[@covered];
		$count{canceled}++;
		push @calls,
		  [
			"SELECT disposition FROM booking_cancel('$tenant', 'ada', '$intent')",
			'canceled'
		  ];
	};

	$claim->() foreach 1 .. $claims_a_set;
	foreach (1 .. $claims_a_set / 2)
	{
		rand() < 0.5 ? $cancel->() : $claim->();
	}
	return @calls;
}

my @pending;
my $good = 1;

# Send the sets that are pending and compare their answers.
sub flush
{
	my ($first, $last) = @_;
	my @calls = splice(@pending);
	my @results = $session->batch(map { $_->[0] } @calls);
	my @differ;

	foreach my $call (@calls)
	{
		my $result = shift @results;
		my $got = $result->{error} ? $result->{error}{text} : $result->{lines}[0];
		push @differ, "$call->[0]\n  got $got, expected $call->[1]"
		  if $got ne $call->[1];
	}
	ok(!@differ, "sets $first to $last: accepted exactly when every instant allows")
	  or diag(join("\n", "BOOKING_SEED=$seed", @differ[ 0 .. ($#differ > 4 ? 4 : $#differ) ]));
	$good &&= !@differ;
	return;
}

my $first = 1;
for my $set (1 .. $sets)
{
	push @pending, random_set($set);
	if ($set % 50 == 0 || $set == $sets)
	{
		flush($first, $set);
		$first = $set + 1;
		last unless $good;
	}
}

# No instant of any resource is over its capacity, counted by the database
# itself from what is stored: starts add a unit, ends take one, ends first.
is( $session->query(
		q{SELECT count(*)
			FROM (SELECT resource_id, sum(unit) OVER (PARTITION BY resource_id ORDER BY at, unit) AS used
					FROM (SELECT resource_id, lower(occupied) AS at, 1 AS unit FROM booking.reservation
						  UNION ALL
						  SELECT resource_id, upper(occupied), -1 FROM booking.reservation) e) u
			JOIN booking.resource USING (resource_id)
		   WHERE used > capacity}),
	'0',
	'no instant on record exceeds its capacity');

# The smallest case in which no lane is free throughout, although no instant is
# full: one booking in each of two lanes, and a third that meets both.  Which
# lane a booking got is no promise, so the lanes are set by hand.
sub claim_pair
{
	my ($intent, $start, $end) = @_;
	return $session->query(
		"SELECT disposition FROM booking_claim('acme', 'ada', 'pair-$intent', 'pair', "
		  . range($start, $end)
		  . ')');
}

$session->query("SELECT booking_resource_put('acme', 'pair', 2)");
is(claim_pair('early', 0, 10), 'committed', 'a first booking');
is(claim_pair('late', 20, 30), 'committed', 'a later one');
$session->query(
	q{UPDATE booking.reservation r SET unit = CASE intent WHEN 'pair-early' THEN 0 ELSE 1 END
		FROM booking.intent i WHERE i.intent_id = r.intent_id AND intent LIKE 'pair-%'});
is(claim_pair('both', 5, 25),
	'committed', 'a booking that meets both finds room, whatever their lanes');
is(claim_pair('full', 5, 6), 'resource_conflict', 'an instant with both is full');
is(claim_pair('gap', 10, 20), 'committed', 'the gap has one unit left');
is( $session->query(
		q{SELECT string_agg(intent, ' ' ORDER BY intent), count(DISTINCT intent_id)
			FROM booking.reservation JOIN booking.intent USING (intent_id)
		   WHERE intent LIKE 'pair-%'}),
	"pair-both pair-early pair-gap pair-late\x1f4",
	'and every booking still has its row');

is_clean($session, 'at the end');

figure('capacity sets', $sets);
figure('capacity seed', $seed);
figure("capacity claims $_", $count{$_}) foreach qw(accepted refused);
figure('capacity cancels', $count{canceled});

$session->quit;
$node->stop;

done_testing();
