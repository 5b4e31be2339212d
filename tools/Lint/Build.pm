# tools/Lint/Build.pm
#
# Rules that the compilers and the linker judge.

package Lint::Build;

use strict;
use warnings;

use File::Basename;
use File::Path;
use File::Temp;

# What PostgreSQL's own headers and prescribed signatures raise is silenced;
# see the Makefile.
my @warnings = qw(-Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare
  -Wno-missing-field-initializers -Wdeclaration-after-statement
  -Wmissing-prototypes -Wvla);

sub rules
{
	return (
		{
			name => 'gcc',
			what => 'gcc has nothing to say with -Wall -Wextra',
			check => sub { return compile($_[0], 'gcc') },
		},
		{
			name => 'clang',
			what => 'clang has nothing to say with -Wall -Wextra',
			check => sub { return compile($_[0], 'clang') },
		},
		{
			name => 'exports',
			what => 'the library exports booking_*, pg_finfo_*, Pg_magic_func and _PG_init only',
			check => \&exports,
		},
	);
}

sub pg_config
{
	my $own = $ENV{PG_CONFIG} // '/usr/lib/postgresql/15/bin/pg_config';

	return -x $own || $own !~ m{/} ? $own : 'pg_config';
}

# Folder with the files of the tree, written out for a sample.
sub folder
{
	my ($tree) = @_;

	return $tree->{root} if $tree->{root};
	$tree->{written} //= do
	{
		my $dir = File::Temp->newdir('booking-lint-XXXXXX', TMPDIR => 1);

		for my $path (keys %{ $tree->{files} })
		{
			mkpath(dirname("$dir/$path"));
			open my $fh, '>', "$dir/$path" or die "could not write $path: $!\n";
			print $fh $tree->{files}{$path};
			close $fh;
		}
		$dir;
	};
	return "$tree->{written}";
}

# Output of a command as problems, when it fails.
sub run
{
	my ($dir, @command) = @_;
	my $quoted = join ' ', map { "'" . s/'/'\\''/gr . "'" } @command;
	my $output = `cd '$dir' && $quoted 2>&1`;

	return () if $? == 0;
	my @lines = grep { length } split /\n/, $output;
	splice @lines, 20, @lines - 20, '...' if @lines > 20;
	return @lines ? @lines : "$command[0] failed";
}

# gcc compiles with optimization, for some warnings need its data flow.
sub compile
{
	my ($tree, $compiler) = @_;
	my $config = pg_config();
	chomp(my $include = `$config --includedir-server`);
	chomp(my $client = `$config --includedir`);
	my @libraries = split ' ', `pkg-config --cflags libical libxml-2.0`;

	return "$config finds no server headers; install postgresql-server-dev-15."
	  unless length $include;
	return map {
		run(
			folder($tree), $compiler, @warnings,
			$compiler eq 'gcc' ? qw(-O2 -fPIC -c -o /dev/null) : '-fsyntax-only',
			'-D_GNU_SOURCE', '-DBOOKING_VERSION="0"', '-Isrc', '-I.', '-isystem', $include,
			'-isystem', "$client/internal", '-isystem', $client, @libraries, $_)
	} $tree->paths(qr{^(?:src|bookingd)/.*\.c$});
}

sub exports
{
	my ($tree) = @_;
	my $dir = $tree->{built};

	unless ($dir)
	{
		my $copy = File::Temp->newdir('booking-lint-XXXXXX', TMPDIR => 1);

		$tree->{copy} = $copy;
		$dir = "$copy";
		my @trouble = run($dir, 'cp', '-R', (map { folder($tree) . "/$_" } qw(src sql Makefile booking.control)), '.');
		@trouble = run($dir, qw(make -s -j2), 'PG_CONFIG=' . pg_config()) unless @trouble;
		return @trouble if @trouble;
	}
	my @symbols = map { (split)[-1] } grep { /\S/ } `nm -D --defined-only '$dir/booking.so'`;

	return "$dir/booking.so exports nothing" unless @symbols;
	return map { "booking.so exports $_" }
	  grep { !/^(?:booking_\w+|pg_finfo_booking_\w+|Pg_magic_func|_PG_init)$/ } @symbols;
}

1;
