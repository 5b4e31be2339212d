# test/t/lib/Booking/ModelSql.pm
#
# Calls of the model as SQL.  Where one meaning has several texts, as terms have
# that are equal as jsonb, one is picked at random, so that retries are not
# equal byte for byte.

package Booking::ModelSql;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use POSIX qw(strftime);

use Booking;

our @EXPORT = qw(epoch range array to_sql term_count);

# Terms, by what they mean: the texts of one entry are equal as jsonb.
my @terms = (
	['{}'],
	[ '{"price": 1.0}', '{"price":1}', '{"price": 1.00}' ],
	[ '{"a": 1, "b": [1, 2]}', '{"b": [1, 2], "a": 1}' ],
	['{"a": 1, "b": [2, 1]}'],
	['{"note": "x"}'],
	['{"note": "X"}']);

sub term_count
{
	return scalar(@terms);
}

sub random_text
{
	my ($meaning) = @_;
	my @texts = @{ $terms[$meaning] };
	return $texts[ int(rand(@texts)) ];
}

my $epoch = 1893974400;    # 2030-01-07 00:00:00+00

sub epoch
{
	return $epoch;
}

sub instant
{
	my ($minute) = @_;
	return strftime('%Y-%m-%d %H:%M:00+00', gmtime($epoch + 60 * $minute));
}

sub range
{
	my ($start, $end) = @_;
	return sprintf("tstzrange('%s', '%s')", instant($start), instant($end));
}

sub array
{
	my ($type, @elements) = @_;
	return "ARRAY[" . join(', ', @elements) . "]::${type}[]";
}

# The arguments that name resources, time and versions, with the suffix of the
# function that takes them.
sub target
{
	my ($payload) = @_;
	my @resources = map { sql_literal($_) } @{ $payload->{resources} };
	my $versions = $payload->{versions};

	return ('_slot', $resources[0], sql_literal($payload->{slot}),
		$versions->[0])
	  if defined $payload->{slot};
	return (
		'_all',
		array('text', @resources),
		range(@{$payload}{qw(start end)}),
		$versions ? array('bigint', @$versions) : 'NULL'
	) if @resources > 1;
	return ('', $resources[0], range(@{$payload}{qw(start end)}),
		$versions ? $versions->[0] : 'NULL');
}

# The statement of a call, with a reference as evidence if one is given.
sub to_sql
{
	my ($call, $reference) = @_;
	my ($function, $payload) = @{$call}{qw(function payload)};
	my @identity = map { sql_literal($_) } @{ $call->{identity} // [] };
	my $columns = 'disposition, state, remote, event, receipt, replayed';
	my $evidence = defined $reference ? "'{\"call\": $reference}'" : 'NULL';
	my ($suffix, @values) = ('');

	if ($payload)
	{
		($suffix, @values) = target($payload);
		push @values, $payload->{units},
		  sql_literal(random_text($payload->{terms}));
	}

	if ($function eq 'claim')
	{
		push @values, sql_literal($payload->{supersedes}), $evidence;
	}
	elsif ($function eq 'cancel_exact' || $function eq 'cancel')
	{
		push @values, $evidence;
	}
	elsif ($function eq 'propose')
	{
		$columns = 'disposition, version, state, expires_at IS NOT NULL, replayed';
		push @values, sql_literal($payload->{supersedes}),
		  $call->{hold} ? "'$call->{hold} minutes'" : 'NULL',
		  $call->{after} // 'NULL', $evidence;
	}
	elsif ($function eq 'override')
	{
		splice(@values, 2, 1);    # it takes no version
		push @values, "'because'";
	}
	elsif ($function eq 'approve' || $function eq 'reject')
	{
		splice(@identity, 1, 0, sql_literal($call->{approver}));
		push @values, $call->{version};
		push @values, $function eq 'approve' ? $evidence : "'no'";
	}
	return sprintf('SELECT %s FROM booking_%s%s(%s)',
		$columns, $function, $suffix, join(', ', @identity, @values));
}

1;
