# tools/Lint/Layers.pm
#
# Rules for what a folder of src may touch: its place in the tree says so.

package Lint::Layers;

use strict;
use warnings;

use Lint::Source;

# Folder => folders of ours whose headers it may include, beside its own.
# Headers that lie in src itself are open to all but the codec.
my %may_include = (
	codec => [],
	provider => [qw(codec)],
	net => [qw(codec)],
	store => [qw(codec)],
	ledger => [qw(codec store)],
	sync => [qw(codec provider store ledger)],
	webhook => [qw(codec store ledger)],
	controller => [qw(codec provider net store ledger sync webhook)],
);

# Header of a library => where it may be included.
my @libraries = (
	[ qr{^curl/}, qr{^src/net/}, 'libcurl belongs to src/net' ],
	[
		qr{^(?:json-c|json_object|libical|libxml2?)\b},
		qr{^src/codec/},
		'parsers belong to src/codec'
	],
);

# A literal that begins like a statement; one with an ellipsis is a hint.
my $statement =
  qr/^\s*(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|MERGE|LOCK|TRUNCATE|CREATE|ALTER|DROP|COPY|CALL)\s/;

sub rules
{
	return (
		{
			name => 'layers',
			what => 'a folder of src includes only what its layer may touch',
			check => \&layers,
		},
		{
			name => 'libraries',
			what => 'each foreign library has one folder',
			check => \&libraries,
		},
		{
			name => 'sql-text',
			what => 'SQL text and its execution stay in src/store',
			check => \&sql_text,
		},
		{
			name => 'pure-codec',
			what => 'the codec knows no error stack, SPI, settings, clock or I/O',
			check => \&pure_codec,
		},
	);
}

sub includes
{
	my ($tree, $path) = @_;
	my (undef, $plain) = Lint::Source::parts($tree->text($path));
	my $number = 0;

	return map { $number++; /^#\s*include\s+[<"]([^>"]+)[>"]/ ? [ $number, $1 ] : () }
	  split /\n/, $plain;
}

sub layers
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^src/[^/]+/.*\.[ch]$}))
	{
		my ($folder) = $path =~ m{^src/([^/]+)/};

		unless ($may_include{$folder})
		{
			push @problems, "$path: src/$folder has no place among the layers";
			next;
		}
		for (includes($tree, $path))
		{
			my ($line, $header) = @$_;

			if ($header =~ m{^(\w+)/} && exists $may_include{$1})
			{
				push @problems, "$path:$line: src/$folder may not include $header"
				  unless grep { $_ eq $1 } $folder, @{ $may_include{$folder} };
			}
			elsif ($folder eq 'codec' && exists $tree->{files}{"src/$header"})
			{
				push @problems, "$path:$line: src/codec may not include $header";
			}
			elsif (exists $tree->{files}{"src/$folder/$header"})
			{
				# so that moving a file shows up here
				push @problems, "$path:$line: write $folder/$header";
			}
		}
	}
	return @problems;
}

sub libraries
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^src/.*\.[ch]$}))
	{
		for (includes($tree, $path))
		{
			my ($line, $header) = @$_;

			push @problems, map { "$path:$line: $header: $_->[2]" }
			  grep { $header =~ $_->[0] && $path !~ $_->[1] } @libraries;
		}
	}
	return @problems;
}

sub sql_text
{
	my ($tree) = @_;
	my @problems;

	for my $path (grep { !m{^src/store/} } $tree->paths(qr{^src/.*\.[ch]$}))
	{
		my $text = $tree->text($path);
		my ($code) = Lint::Source::parts($text);

		push @problems,
		  map { "$path:$_->{line}: a statement outside src/store" }
		  grep { $_->{value} =~ $statement && $_->{value} !~ /\.\.\./ }
		  Lint::Source::strings($text);
		push @problems, $tree->each_line($path, $code,
			sub { /\b(SPI_(?:exec|prepare|cursor|query)\w*)/ ? "$1 outside src/store" : undef });
	}
	return @problems;
}

sub pure_codec
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^src/codec/}))
	{
		my ($code) = Lint::Source::parts($tree->text($path));

		push @problems, $tree->each_line(
			$path, $code,
			sub {
				/\b(ereport|elog|SPI_\w+|Define\w*Variable|GetConfigOption|GetCurrentTimestamp|clock_gettime|gettimeofday|time|fopen|open|read|write|printf)\s*\(/
				  ? "$1 does not belong in the codec"
				  : undef;
			});
		push @problems, map { "$path:$_->[0]: $_->[1] does not belong in the codec" }
		  grep { $_->[1] =~ m{^(?:executor/spi|utils/guc|utils/elog|miscadmin|libpq/|storage/|access/|catalog/)} }
		  includes($tree, $path);
	}
	return @problems;
}

1;
