# tools/Lint/Meta.pm
#
# Rules for what packagers read: META.json by the specification of PGXN, the files
# below debian/, and manual pages.

package Lint::Meta;

use strict;
use warnings;

use File::Temp;
use JSON::PP;

sub rules
{
	return (
		{
			name => 'pgxn-meta',
			what => 'META.json keeps version 1.0.0 of the PGXN Meta Spec, and the files it names are there',
			check => \&pgxn_meta,
		},
		{
			name => 'debian',
			what => 'debian/ is of the version of the control file, and for the oldest release that is tested',
			check => \&debian,
		},
		{
			name => 'manual',
			what => 'mandoc finds no fault with the manual pages, and they tell of every option',
			check => \&manual,
		},
	);
}

my $semantic = qr/^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-?[A-Za-z][0-9A-Za-z-]*)?$/;
my %licenses = map { $_ => 1 } qw(agpl_3 apache_1_1 apache_2_0 artistic_1 artistic_2 bsd freebsd gfdl_1_2
  gfdl_1_3 gpl_1 gpl_2 gpl_3 lgpl_2_1 lgpl_3_0 mit mozilla_1_0 mozilla_1_1 openssl perl_5 postgresql
  qpl_1_0 ssleay sun zlib open_source restricted unrestricted unknown);

# What each member must be; the first letter of a name in capitals: it must be there.
my %members = (
	Name => \&term,
	Abstract => \&text,
	Version => \&version,
	Maintainer => sub { ref $_[0] eq 'ARRAY' ? all(\&text, @{ $_[0] }) : text($_[0]) },
	License => \&license,
	Provides => \&provides,
	'Meta-spec' => sub {
		ref $_[0] eq 'HASH' && ($_[0]{version} // '') =~ /^1\.0\.\d+$/
		  && ($_[0]{url} // 'https://pgxn.org/meta/spec.txt') =~ m{^https?://pgxn\.org/meta/spec\.txt$};
	},
	description => \&text,
	generated_by => \&text,
	release_status => sub { $_[0] =~ /^(?:stable|testing|unstable)$/ },
	tags => sub { ref $_[0] eq 'ARRAY' && all(\&term, @{ $_[0] }) },
	prereqs => \&prereqs,
	no_index => sub { ref $_[0] eq 'HASH' },
	resources => sub { ref $_[0] eq 'HASH' });

sub all
{
	my ($check, @values) = @_;
	return @values && !grep { !$check->($_) } @values;
}

sub text
{
	my ($value) = @_;
	return defined $value && !ref $value && $value =~ /\S/;
}

sub term
{
	my ($value) = @_;
	return text($value) && $value =~ m{^[^/\\[:cntrl:]]{2,255}$};
}

sub version
{
	my ($value) = @_;
	return text($value) && $value =~ $semantic;
}

sub license
{
	my ($value) = @_;
	return all(sub { text($_[0]) && $_[0] =~ m{^https?://} }, values %$value) if ref $value eq 'HASH';
	return all(sub { $licenses{ $_[0] } }, ref $value ? @$value : $value);
}

sub provides
{
	my ($value) = @_;
	return ref $value eq 'HASH' && all(
		sub {
			my ($extension) = @_;
			ref $extension eq 'HASH' && text($extension->{file}) && version($extension->{version})
			  && !grep { !/^(?:file|version|abstract|docfile|x_.*)$/ } keys %$extension;
		},
		values %$value);
}

sub prereqs
{
	my ($value) = @_;

	return 0 unless ref $value eq 'HASH';
	for my $phase (keys %$value)
	{
		return 0 unless $phase =~ /^(?:configure|build|test|runtime|develop|x_.*)$/i;
		for my $relation (keys %{ $value->{$phase} })
		{
			return 0 unless $relation =~ /^(?:requires|recommends|suggests|conflicts|x_.*)$/i;
			my $needed = $value->{$phase}{$relation};
			return 0 if grep { $_ ne '0' && $_ !~ $semantic } values %$needed;
		}
	}
	return 1;
}

sub pgxn_meta
{
	my ($tree) = @_;
	my $meta = eval { JSON::PP->new->decode($tree->text('META.json') // '') };
	my @problems;

	return 'META.json: is no JSON object' unless ref $meta eq 'HASH';
	my %known = map { lc $_ => [ $members{$_}, $_ ne lc $_ ] } keys %members;
	for my $name (sort keys %known)
	{
		my ($check, $demanded) = @{ $known{$name} };

		push @problems, "META.json: $name is missing" if $demanded && !defined $meta->{$name};
		push @problems, "META.json: $name is not what the specification says"
		  if defined $meta->{$name} && !$check->($meta->{$name});
	}
	push @problems, map { "META.json: $_ is no member" }
	  grep { !$known{$_} && !/^x_/i } sort keys %$meta;
	return @problems if @problems;

	for my $extension (sort keys %{ $meta->{provides} })
	{
		my $about = $meta->{provides}{$extension};

		push @problems, map { "META.json: there is no file $_" }
		  grep { defined $_ && !exists $tree->{files}{$_} } @$about{qw(file docfile)};
		push @problems, "META.json: there is no $extension.control"
		  unless exists $tree->{files}{"$extension.control"};
	}
	return @problems;
}

sub debian
{
	my ($tree) = @_;
	my ($version) = ($tree->text('booking.control') // '') =~ /^default_version = '([^']+)'$/m;
	my ($oldest) = ($tree->text('tools/lib.sh') // '') =~ /^pgmajor=\$\{BOOKING_PGMAJOR:-(\d+)\}$/m;
	my $template = $tree->text('debian/control.in');
	my @problems;

	return 'debian/control.in: is missing' unless defined $template && defined $oldest;
	push @problems, "debian/changelog: does not begin with version $version"
	  unless ($tree->text('debian/changelog') // '') =~ /\A\Qbooking ($version-\E\d+\)/;
	push @problems, "debian/pgversions: is not $oldest and later"
	  unless ($tree->text('debian/pgversions') // '') eq "$oldest+\n";
	push @problems, "debian/control: is not debian/control.in for $oldest"
	  unless ($tree->text('debian/control') // '') eq $template =~ s/PGVERSION/$oldest/gr;
	return @problems;
}

sub manual
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{\.[1-8]$}))
	{
		my $file = File::Temp->new(SUFFIX => '.1');
		my ($folder) = $path =~ m{^(.*)/};

		print $file $tree->text($path);
		close $file or die "could not write $file: $!\n";
		push @problems, map { "$path: $_" } grep { s/^mandoc: [^ ]*?:(?=\d|:? )// }
		  split /\n/, `mandoc -T lint -W warning '$file' 2>&1` // 'mandoc: : is missing';

		# the long options as the program knows them
		my $manual = $tree->text($path) =~ s/\\-/-/gr;
		my %options = map { $_ => 1 } grep { defined }
		  map { $tree->text($_) =~ /^\s*(?:\{"([a-z][a-z-]+)", (?:no|required)_argument|NUMBER\("([a-z-]+)",)/mg }
		  $tree->paths(qr{^\Q$folder\E/.*\.c$});
		push @problems, map { "$path: says nothing of --$_" }
		  grep { $manual !~ /--\Q$_\E\b/ } sort keys %options;
	}
	return @problems;
}

1;
