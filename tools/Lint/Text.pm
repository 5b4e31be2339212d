# tools/Lint/Text.pm
#
# Rules for every file that people read or write.

package Lint::Text;

use strict;
use warnings;

# The samples break rules on purpose.
my $samples = 'tools/Lint/SelfTest.pm';

# Spelled so that this file keeps the rule.
my $markers = join '|', map { join '', @$_ } [qw(TO DO)], [qw(FIX ME)],
  [qw(XX X)];

# Folders that exist on one machine only, and hosts that serve packages.
my $machine = qr{(?<![\w.\$/>\}])(?:/work|/root|/home/\w+)/ | \b\w+\.debian\.org\b}x;

sub rules
{
	return (
		{
			name => 'blanks',
			what => 'no blanks at the end of lines, files end in one newline',
			check => \&blanks,
		},
		{
			name => 'markers',
			what => 'no notes to come back to',
			check => \&markers,
		},
		{
			name => 'machine',
			what => 'no paths or hosts of some machine',
			check => \&machine,
		},
		{
			name => 'file-length',
			what => 'no file has more than 800 lines',
			check => \&file_length,
		},
		{
			name => 'indent',
			what => 'tabs indent C, SQL scripts and Perl; C lines fit 100 columns',
			check => \&indent,
		},
		{
			name => 'banner',
			what => 'each file of src and bookingd says what it is and where it is',
			check => \&banner,
		},
	);
}

# What the server printed is kept as it came, and what a decoder must survive is
# not for people.
sub readable
{
	my ($tree) = @_;

	return grep { !m{^expected/|^test/isolation/expected/|^test/fuzz/corpus/} } $tree->paths(qr/./);
}

sub blanks
{
	my ($tree) = @_;
	my @problems;

	for my $path (readable($tree))
	{
		my $text = $tree->text($path);

		push @problems,
		  $tree->each_line($path, $text,
			sub { /[ \t\r]$/ ? 'blank at the end of the line' : undef });
		push @problems, "$path: must end in one newline"
		  if length($text) && $text !~ /[^\n]\n\z/;
	}
	return @problems;
}

sub markers
{
	my ($tree) = @_;

	return map {
		$tree->each_line($_, $tree->text($_),
			sub { /\b($markers)\b/ ? "$1 left behind" : undef })
	} grep { $_ ne $samples } readable($tree);
}

sub machine
{
	my ($tree) = @_;

	return map {
		$tree->each_line($_, $tree->text($_),
			sub { /($machine)/ ? "$1 is of some machine" : undef })
	} grep { $_ ne $samples && $_ ne 'tools/Lint/Text.pm' } $tree->paths(qr/./);
}

sub file_length
{
	my ($tree) = @_;

	return map {
		my $lines = ($tree->text($_) =~ tr/\n//);
		$lines > 800 && !$tree->excepted('file-length', $_)
		  ? "$_: has $lines lines"
		  : ()
	} readable($tree);
}

sub indent
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^(?:src|bookingd)/.*\.[ch]$|^sql/|^tools/lint$|\.p[lm]$|^test/.*\.c$}))
	{
		my $is_c = $path =~ /\.[ch]$/;
		my $is_perl = $path =~ /\.p[lm]$|lint$/;

		push @problems, $tree->each_line(
			$path,
			$tree->text($path),
			sub {
				(my $wide = $_) =~ s/\t/    /g;

				# perltidy puts four before an operand
				return 'indented by spaces'
				  if $is_perl ? /^\t* {5,}\S/ : /^\t* {4,}\S/;

				# a message is kept whole, so that it can be searched for
				return 'is ' . length($wide) . ' columns wide'
				  if $is_c && length($wide) > 100 && !/^\s*(?:\(?err\w+\()?"[^"]*"/;
				return;
			});
	}
	return @problems;
}

sub banner
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^(?:src|bookingd)/.*\.[ch]$}))
	{
		my ($name) = $path =~ m{([^/]+)$};

		$tree->text($path) =~ m{
			\A/\*-{50,}\n
			\s\*\n
			\s\*\s\Q$name\E\n
			\s\*\t\s\s\S.*\n
			(?:\s\*.*\n)*?
			\s\*\sIDENTIFICATION\n
			\s\*\t\s\sbooking/\Q$path\E\n
			\s\*\n
			\s\*-{50,}\n
			\s\*/\n
		}x
		  or push @problems,
		  "$path:1: must begin with name, purpose and IDENTIFICATION booking/$path";
	}
	return @problems;
}

1;
