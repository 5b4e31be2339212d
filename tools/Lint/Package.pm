# tools/Lint/Package.pm
#
# Rules for what is shipped as a whole: versions, metadata, scripts.

package Lint::Package;

use strict;
use warnings;

use JSON::PP;

sub rules
{
	return (
		{
			name => 'versions',
			what => 'control file, scripts, META.json and CHANGELOG.md agree on the version',
			check => \&versions,
		},
		{
			name => 'scripts',
			what => 'shell scripts parse and stop at errors',
			check => \&scripts,
		},
	);
}

sub versions
{
	my ($tree) = @_;
	my @problems;
	my ($version) =
	  ($tree->text('booking.control') // '') =~ /^default_version = '([^']+)'$/m;

	return 'booking.control: names no default_version' unless $version;
	push @problems, "CHANGELOG.md: says nothing of $version"
	  unless ($tree->text('CHANGELOG.md') // '') =~ /^## \Q$version\E\b/m;

	# a base script of this version, or a path of updates to it
	push @problems, "sql/: no script leads to $version"
	  unless $tree->paths(qr{^sql/booking--(?:[\d.]+--)?\Q$version\E\.sql$});

	# PGXN wants three numbers
	my $semantic = $version =~ /^\d+\.\d+$/ ? "$version.0" : $version;
	my $meta = eval { JSON::PP->new->decode($tree->text('META.json') // '') };

	return @problems, "META.json: $@" =~ s/ at \S+ line.*//sr unless $meta;
	push @problems, "META.json: version must be $semantic"
	  unless ($meta->{version} // '') eq $semantic
	  && ($meta->{provides}{booking}{version} // '') eq $semantic;
	push @problems, map { "META.json: $_ is missing" }
	  grep { !defined $meta->{$_} }
	  qw(name abstract version maintainer license provides meta-spec);
	my $file = $meta->{provides}{booking}{file} // '';
	push @problems, "META.json: there is no file $file"
	  unless exists $tree->{files}{$file};
	return @problems;
}

sub scripts
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^(?:tools|test|\.ci)/}))
	{
		my $text = $tree->text($path);
		my ($shell) = $text =~ m{\A#!/bin/(bash|sh)$}m or next;

		# a launcher that only replaces itself has nothing to stop at
		push @problems, "$path: must set -e and -u"
		  unless $text =~ /^set -eu\b/m || $text =~ /^exec "\$\@"\n\z/m;
		open my $fh, '|-', "$shell -n 2>/dev/null" or die "could not run $shell: $!\n";
		{
			local $SIG{PIPE} = 'IGNORE';
			print $fh $text;
			close $fh or push @problems, "$path: $shell cannot parse it";
		}
	}
	return @problems;
}

1;
