# tools/Lint/C.pm
#
# Rules for the shape of C sources.

package Lint::C;

use strict;
use warnings;

use Lint::Source;
use Lint::Tree;

# No bound on what they write, hidden state, errors that cannot be told from
# results, or the zone of the machine instead of PostgreSQL's rules.
my $unbounded = 'strcpy|strcat|sprintf|vsprintf|strtok|gets|atoi|atol|atof';
my $banned = $unbounded . '|gmtime|localtime|mktime|malloc|calloc|realloc|strdup|sleep|usleep|pg_usleep';

sub rules
{
	return (
		{
			name => 'function-comment',
			what => 'a block comment stands above every function',
			check => \&function_comment,
		},
		{
			name => 'function-length',
			what => 'functions have at most 60 lines, or a listed reason',
			check => \&function_length,
		},
		{
			name => 'names',
			what => 'what other files see is called booking_...',
			check => \&names,
		},
		{
			name => 'banned-calls',
			what => 'no call that C libraries offer but that goes wrong here',
			check => \&banned_calls,
		},
		{
			name => 'version-number',
			what => 'only src/compat.h tests PG_VERSION_NUM',
			check => \&version_number,
		},
		{
			name => 'postgres-first',
			what => 'every C file includes postgres.h before anything else',
			check => \&postgres_first,
		},
		{
			name => 'try-block',
			what => 'no return or goto leaves a PG_TRY block',
			check => \&try_block,
		},
	);
}

sub function_comment
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^(?:src|bookingd)/.*\.[ch]$}))
	{
		my $text = $tree->text($path);

		for my $function (Lint::Source::functions($text))
		{
			my $above = substr($text, 0, $function->{offset});

			# the declaration for fmgr may stand between
			$above =~ s/PG_FUNCTION_INFO_V1\(\w+\);\n\z//;
			push @problems,
			  "$path:$function->{line}: $function->{name} has no comment above it"
			  unless $above =~ m{\*/\n\z};
		}
	}
	return @problems;
}

sub function_length
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^(?:src|bookingd)/.*\.[ch]$}))
	{
		for my $function (Lint::Source::functions($tree->text($path)))
		{
			next if $function->{lines} <= 60;
			push @problems,
			  "$path:$function->{line}: $function->{name} has $function->{lines} lines"
			  unless $tree->excepted('function-length', "$path:$function->{name}");
		}
	}
	return @problems;
}

sub names
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^src/.*\.c$}))
	{
		my $text = $tree->text($path);
		my ($code) = Lint::Source::parts($text);

		for my $function (Lint::Source::functions($text))
		{
			next if $function->{static};
			push @problems,
			  "$path:$function->{line}: $function->{name} is neither static nor booking_..."
			  unless $function->{name} =~ /^(?:booking_\w+|_PG_init)$/;
		}

		# variables: a type, a name, and an end or an initializer
		push @problems, $tree->each_line(
			$path, $code,
			sub {
				return if /^(?:static|extern|typedef|return|PG_|struct \w+;)/;
				return
				  unless /^(?:const )?[a-zA-Z]\w*(?: \w+)*[ \t]+\**(\w+)(?:\[[^\]]*\])?(?: = .*|;)$/;
				return $1 =~ /^booking_/
				  ? undef
				  : "$1 is neither static nor booking_...";
			});
	}
	return @problems;
}

sub banned_calls
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^(?:src|bookingd|test)/.*\.[ch]$}))
	{
		my ($code) = Lint::Source::parts($tree->text($path));

		# programs of the tests have no memory contexts, and no latch
		my $calls = $path =~ m{^test/} ? $unbounded : $banned;

		push @problems, $tree->each_line(
			$path, $code,
			sub {
				return unless /\b($calls)\s*\(/;
				my $name = $1;
				return $tree->excepted('banned-calls', "$path:$name")
				  ? undef
				  : "$name is banned";
			});
	}
	return @problems;
}

sub version_number
{
	my ($tree) = @_;

	return map {
		my ($code) = Lint::Source::parts($tree->text($_));
		$tree->each_line($_, $code,
			sub { /PG_VERSION_NUM/ ? 'belongs in src/compat.h' : undef })
	} grep { $_ ne 'src/compat.h' } $tree->paths(qr{^src/.*\.[ch]$});
}

# Sources of the codec are also built outside the server, and say so by a test
# of FRONTEND around the include.
sub postgres_first
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^(?:src|bookingd)/.*\.c$}))
	{
		my (undef, $plain) = Lint::Source::parts($tree->text($path));
		my ($first) = $plain =~ /^#include\s+(\S+)/m;

		push @problems, "$path: the first include must be postgres.h"
		  unless ($first // '') =~ /^"postgres(?:_fe)?\.h"$/;
	}
	return @problems;
}

# A jump out of the block leaves the error stack pointing into a dead frame.
sub try_block
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^src/.*\.[ch]$}))
	{
		my ($code) = Lint::Source::parts($tree->text($path));
		my $inside = 0;

		push @problems, $tree->each_line(
			$path, $code,
			sub {
				$inside = 1 if /\bPG_TRY\(\)/;
				$inside = 0 if /\bPG_(?:CATCH|FINALLY|END_TRY)\(\)/;
				return $inside && /\b(return|goto)\b/
				  ? "$1 within PG_TRY"
				  : undef;
			});
	}
	return @problems;
}

1;
