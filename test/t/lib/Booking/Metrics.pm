# test/t/lib/Booking/Metrics.pm
#
# What tests of the metrics share: those of the documentation, those that a
# database tells, and a database that is filled with settled intents.

package Booking::Metrics;

use strict;
use warnings FATAL => 'all';

use Carp;
use Exporter 'import';
use File::Basename;
use PostgreSQL::Test::Utils;

use Booking;

our @EXPORT = qw(
  documented
  metrics
  metric
  fill
  median_ms
);

my $top = dirname(__FILE__) . '/../../../..';

# The table of doc/metrics.md: name => [type, labels in order].
sub documented
{
	my %metrics;

	foreach my $line (split /\n/, slurp_file("$top/doc/metrics.md"))
	{
		my ($name, $type, $labels) = $line =~ /^\| `(booking_\w+)` \| (\w+) \| ([^|]*?) *\|/ or next;
		$metrics{$name} = [ $type, join ' ', sort $labels =~ /`(\w+)`/g ];
	}
	return \%metrics;
}

# What booking_metrics() tells: name with labels => value.
sub metrics
{
	my ($session) = @_;
	my %metrics;

	my $result = $session->try(
		q{SELECT name || coalesce((SELECT '{' || string_agg(format('%s="%s"', key, value), ',' ORDER BY key) || '}'
			FROM jsonb_each_text(labels)), ''), value FROM booking_metrics()});

	croak $result->{error}{text} if $result->{error};
	foreach my $row (@{ $result->{rows} })
	{
		croak "told twice: $row->[0]" if exists $metrics{ $row->[0] };
		$metrics{ $row->[0] } = $row->[1];
	}
	return \%metrics;
}

# One of them.
sub metric
{
	my ($session, $name) = @_;
	return metrics($session)->{$name};
}

# Fill a database of a node; see test/volume/fill.sql.
sub fill
{
	my ($node, $intents, $open) = @_;

	system_or_bail('psql', '-X', '-q', '-o', '/dev/null', '-d', $node->connstr('postgres'),
		'-v', "intents=$intents", '-v', "open=$open", '-f', "$top/test/volume/fill.sql");
	return;
}

# Milliseconds that a statement takes to be planned and executed, the middle one of
# nine, without what its client does.
sub median_ms
{
	my ($session, $sql) = @_;
	my @times;

	for (1 .. 9)
	{
		my $plan = $session->query("EXPLAIN (ANALYZE, TIMING OFF) $sql");
		my ($planning) = $plan =~ /^Planning Time: ([\d.]+) ms$/m;
		my ($execution) = $plan =~ /^Execution Time: ([\d.]+) ms$/m;

		push @times, $planning + $execution;
	}
	return (sort { $a <=> $b } @times)[4];
}

1;
