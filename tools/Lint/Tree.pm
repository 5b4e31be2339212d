# tools/Lint/Tree.pm
#
# The files that the rules look at: those on disk, or a sample in memory.

package Lint::Tree;

use strict;
use warnings;

use File::Find;

# What builds and tests leave behind is not ours to judge.
my $not_ours = qr{
	^(?:\.git|results|output_iso|tmp_check|log)(?:/|$)
	| \.(?:o|so|bc|zip|gz|log)$
	| ^booking\.map$ | ^bookingd/bookingd$
	| ^regression\.(?:diffs|out)$
}x;

sub from_disk
{
	my ($class, $root) = @_;
	my %files;

	find(
		{
			no_chdir => 1,
			wanted => sub {
				return if $File::Find::name eq $root;
				my $path = substr($File::Find::name, length($root) + 1);
				if ($path =~ $not_ours)
				{
					$File::Find::prune = 1;
					return;
				}
				return unless -f $File::Find::name;
				open my $fh, '<:raw', $File::Find::name
				  or die "could not read $path: $!\n";
				local $/;
				$files{$path} = <$fh>;
			}
		},
		$root);
	return bless { root => $root, files => \%files, used => {} }, $class;
}

sub from_sample
{
	my ($class, $files) = @_;

	return bless { files => $files, used => {} }, $class;
}

# Paths that match, sorted.
sub paths
{
	my ($self, $pattern) = @_;

	my @paths = sort grep { $_ =~ $pattern } keys %{ $self->{files} };

	return @paths;
}

sub text
{
	my ($self, $path) = @_;

	return $self->{files}{$path};
}

# Problems, one for each line of a file for which the callback, given the line
# in $_, returns a complaint.
sub each_line
{
	my ($self, $path, $text, $callback) = @_;
	my @problems;
	my $number = 0;

	for (split /\n/, $text, -1)
	{
		$number++;
		my $complaint = $callback->();
		push @problems, "$path:$number: $complaint" if $complaint;
	}
	return @problems;
}

# Number of the line at an offset.
sub line_at
{
	my ($text, $offset) = @_;

	return 1 + (substr($text, 0, $offset) =~ tr/\n//);
}

# Is the subject excepted from the rule?  Lines of tools/lint-exceptions are a
# rule, a subject and the reason.
sub excepted
{
	my ($self, $rule, $subject) = @_;

	$self->{used}{"$rule $subject"} = 1;
	return exists $self->exceptions->{"$rule $subject"};
}

sub exceptions
{
	my ($self) = @_;

	return $self->{exceptions} //= {
		map { /^(\S+)\s+(\S+)\s+(\S.*)/ ? ("$1 $2" => $3) : () }
		  grep { !/^#/ }
		  split /\n/, $self->{files}{'tools/lint-exceptions'} // ''
	};
}

# Exceptions that no rule asked for, and lines that are none.
sub unused_exceptions
{
	my ($self) = @_;
	my $path = 'tools/lint-exceptions';

	return $self->each_line(
		$path,
		$self->{files}{$path} // '',
		sub {
			return if /^(?:#|$)/;
			return "must be a rule, a subject and a reason"
			  unless /^(\S+)\s+(\S+)\s+\S/;
			return "nothing needs this exception any more"
			  unless $self->{used}{"$1 $2"};
			return;
		});
}

1;
