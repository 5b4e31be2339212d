# tools/Lint/Tests.pm
#
# Rules for tests: they tell a story, always run, and never wait for luck.

package Lint::Tests;

use strict;
use warnings;

use Lint::Source;

my $test_files =
  qr{^test/(?:sql/.*\.sql|isolation/specs/.*\.spec|t/.*\.p[lm]|unit/.*\.c)$};

sub rules
{
	return (
		{
			name => 'test-header',
			what => 'each test says at its top what must hold and why',
			check => \&header,
		},
		{
			name => 'test-sleep',
			what => 'no test sleeps',
			check => \&no_sleep,
		},
		{
			name => 'test-skip',
			what => 'no test is skipped or allowed to fail',
			check => \&no_skip,
		},
		{
			name => 'test-offset',
			what => 'instants in tests carry an offset and do not depend on today',
			check => \&offset,
		},
		{
			name => 'test-expected',
			what => 'each regress and isolation test has its expected output, and no name is taken twice',
			check => \&expected,
		},
	);
}

sub header
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths($test_files))
	{
		my $text = $tree->text($path);

		# at least two lines of words, below the file's name if that comes first
		$text =~ s/\A#!.*\n//;
		my ($comment) = $text =~ m{\A((?:(?:--|\#).*\n)+|/\*.*?\*/)}s;
		my $words = () = ($comment // '') =~ /\b[a-z]{2,}\b/gi;
		push @problems, "$path:1: no header that tells what it guards"
		  if $words < 12;
	}
	return @problems;
}

sub no_sleep
{
	my ($tree) = @_;

	return map {
		my $path = $_;
		$tree->each_line(
			$path,
			$tree->text($path),
			sub {
				return if /^\s*(?:#|--|\*)/;
				return unless /\b(pg_sleep\w*|u?sleep|nanosleep)\s*\(|\bsleep\s+[\d\$]|\bselect\s*\(\s*undef\s*,\s*undef/;
				return 'sleeps' unless $tree->excepted('test-sleep', $path);
				return;
			})
	} $tree->paths($test_files);
}

sub no_skip
{
	my ($tree) = @_;

	return map {
		my $path = $_;
		my $todo = 'TO' . 'DO';
		$tree->each_line(
			$path,
			$tree->text($path),
			sub {
				return if /^\s*#/;
				/\b(skip_all|todo_skip|skip\s*\(|skip\s+['"]|$todo\b)/ ? 'does not always run' : undef;
			})
	} $tree->paths(qr{^test/t/});
}

# Wall times are legitimate where a zone stands beside them, as a name or in AT
# TIME ZONE, and as arguments of booking_at or of type timestamp.
sub offset
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^test/(?:sql|isolation/specs|t|demo)/.*\.(?:sql|spec|pl|pm)$}))
	{
		push @problems, $tree->each_line(
			$path,
			$tree->text($path),
			sub {
				return if /^\s*(?:#|--)/;
				return if /booking_at\b|AT TIME ZONE|\btimestamp\s+'|::timestamp\b|\blocal =>|'[A-Z][a-z]+\/\w+'/i;
				return 'an instant without an offset'
				  if /\b\d{4,}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?![\d:.]|\s?[-+]\d|\s?Z\b|\s?UTC\b|\s?\$|\s?%s)/
				  && !$tree->excepted('test-offset', $path);
				return 'depends on today'
				  if /'(?:today|tomorrow|yesterday|now)'/i;
				return;
			});
	}
	return @problems;
}

sub expected
{
	my ($tree) = @_;
	my @problems;
	my %regress = map { m{^test/sql/(.*)\.sql$} ? ($1 => 1) : () } $tree->paths(qr/./);
	my %isolation =
	  map { m{^test/isolation/specs/(.*)\.spec$} ? ($1 => 1) : () } $tree->paths(qr/./);

	push @problems, map { "test/sql/$_.sql: expected/$_.out is missing" }
	  grep { !exists $tree->{files}{"expected/$_.out"} } sort keys %regress;
	push @problems,
	  map { "test/isolation/specs/$_.spec: test/isolation/expected/$_.out is missing" }
	  grep { !exists $tree->{files}{"test/isolation/expected/$_.out"} } sort keys %isolation;

	# variants of an expected output are NAME_1.out
	for my $path ($tree->paths(qr{^(?:expected|test/isolation/expected)/.*\.out$}))
	{
		my ($folder, $name) = $path =~ m{^(.*)/(.*?)(?:_\d)?\.out$};
		my $tests = $folder eq 'expected' ? \%regress : \%isolation;
		(my $full = $path) =~ s{.*/(.*)\.out$}{$1};

		push @problems, "$path: no test prints it"
		  unless $tests->{$name} || $tests->{$full};
	}

	# pg_regress looks into sql/ and expected/ of the top folder first
	push @problems, map { "test/sql/$_.sql: sql/$_.sql would be run instead" }
	  grep { exists $tree->{files}{"sql/$_.sql"} } sort keys %regress;
	return @problems;
}

1;
