# test/t/187_docs.pl
#
# The documentation says what is there.  The reference is made from the catalog, so
# every function, argument, relation, column, type and setting must have its words
# there, and README.md must name each function, setting and SQLSTATE that the
# sources raise.  What the how-to pages give to paste works, in order, in a fresh
# database.  Every relative link leads to a file, and to a heading where it names
# one.  tools/readme-example runs the README's examples and the tutorial and compares
# what they print.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::RealBin/../..";
my $node = booking_node('main', conf => 'booking.worker = off');

# ----------------------------------------------------------------------------
# The reference
# ----------------------------------------------------------------------------

my $folder = PostgreSQL::Test::Utils::tempdir();
{
	local %ENV = (
		%ENV,
		PGHOST => $node->host,
		PGPORT => $node->port,
		PGDATABASE => 'postgres');

	# a member without words is told of
	$node->safe_psql('template1', 'CREATE EXTENSION booking CASCADE; COMMENT ON COLUMN booking.intent.state IS NULL; COMMENT ON FUNCTION booking_claim IS NULL');
	like(`$top/tools/reference $folder 2>&1`, qr/function booking_claim\(.*has no comment\n.*column state of table intent has no comment/s, 'what lacks a comment is told');
	isnt($?, 0, 'and is an error');
	$node->safe_psql('template1', 'DROP EXTENSION booking CASCADE; DROP EXTENSION btree_gist');

	is(`$top/tools/reference $folder 2>&1`, '', 'nothing lacks a comment, a name or its place in README.md');
	is($?, 0, 'and the reference is made');
}

my %page = map { $_ => PostgreSQL::Test::Utils::slurp_file("$folder/$_.md") } qw(functions relations settings errors);
my $session = session($node);

$session->query('SET client_min_messages = error; CREATE EXTENSION booking CASCADE');
is_deeply(
	[ $page{functions} =~ /^## (\w+)$/mg ],
	[ split /\n/, $session->query(q{SELECT proname FROM pg_proc JOIN pg_depend d ON d.objid = pg_proc.oid AND d.deptype = 'e'
		AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'booking') WHERE pronamespace = 'public'::regnamespace ORDER BY proname COLLATE "C"}) ],
	'every function is in the reference');
is_deeply(
	[ grep { !/^booking_/ } $page{relations} =~ /^## (\w+)$/mg ],
	[ split /\n/, $session->query(q{SELECT relname FROM pg_class WHERE relnamespace = 'booking'::regnamespace AND relkind IN ('r', 'v') ORDER BY relname COLLATE "C"}) ],
	'every relation is');
cmp_ok(scalar(() = $page{settings} =~ /^\| `booking\./mg), '>', 20, 'settings are');
like($page{settings}, qr/^\| `booking\.arm_key` \|/m, 'also the one that nobody is shown');
like($page{errors}, qr/^## 42501 insufficient_privilege\n/m, 'SQLSTATEs are');
like($page{functions}, qr/^## booking_claim\n.*?^For: application\.\n\nSQLSTATEs: (?=.*`22004`).*`42501`/ms,
	'with who a function is for, and what it raises');

# ----------------------------------------------------------------------------
# What is to be pasted
# ----------------------------------------------------------------------------

# what the pages suppose to be there
$node->safe_psql('postgres', 'CREATE DATABASE prepared');
$node->safe_psql('prepared', <<'EOSQL');
CREATE EXTENSION booking CASCADE;
SELECT booking_resource_put('acme', 'room 1'), booking_permit_all('acme', 'ann'), booking_permit_all('acme', 'bob');
EOSQL

foreach my $path (sort glob("$top/doc/howto-*.md"))
{
	my ($name) = $path =~ m{/(howto-[\w-]+)\.md$};
	my $text = PostgreSQL::Test::Utils::slurp_file($path);
	my @blocks = $text =~ /^```sql\n(.*?)^```$/msg;
	my $database = $name =~ tr/-/_/r;
	my @problems;

	$node->safe_psql('postgres', "CREATE DATABASE $database TEMPLATE prepared");
	my $reader = session($node, dbname => $database);

	$reader->query('SET client_min_messages = error');
	foreach my $block (@blocks)
	{
		my $result = $reader->try($block);

		push @problems, "$block$result->{error}{text}" if $result->{error};
		$reader->try('ROLLBACK') if $result->{error};
	}
	cmp_ok(scalar @blocks, '>', 0, "$name: has statements");
	is("@problems", '', "$name: they can be pasted");
	is_clean($reader, $name);
	$reader->quit;
}

# ----------------------------------------------------------------------------
# Links
# ----------------------------------------------------------------------------

# Headings of a page as GitHub names them.
sub anchors
{
	my ($text) = @_;
	my (%seen, %anchors);

	$text =~ s/^```.*?^```$//msg;
	while ($text =~ /^#+ (.*)$/mg)
	{
		my $anchor = lc $1;

		$anchor =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
		$anchor =~ s/[^\w\- ]//g;
		$anchor =~ tr/ /-/;
		$anchors{ $seen{$anchor}++ ? "$anchor-" . ($seen{$anchor} - 1) : $anchor } = 1;
	}
	return \%anchors;
}

my (%text, %anchors, @broken);
my $links = 0;

$text{ $_ =~ s{^\Q$top\E/}{}r } = PostgreSQL::Test::Utils::slurp_file($_)
  foreach (glob("$top/*.md"), glob("$top/doc/*.md"));
$text{"doc/reference/$_.md"} = $page{$_} foreach keys %page;

foreach my $from (sort keys %text)
{
	my $plain = $text{$from} =~ s/^```.*?^```$//msgr =~ s/`[^`\n]*`//gr;
	my ($base) = $from =~ m{^(.*/)?[^/]+$};

	while ($plain =~ /\]\(([^)\s]+)\)/g)
	{
		my $link = $1;
		next if $link =~ /^\w+:/;

		my ($file, $anchor) = split /#/, $link, 2;
		my $to = $file eq '' ? $from : ($base // '') . $file;

		1 while $to =~ s{(?:^|(?<=/))(?!\.\./)[^/]+/\.\./}{};
		$links++;
		if (!exists $text{$to} && !-e "$top/$to")
		{
			push @broken, "$from: $link";
		}
		elsif (defined $anchor)
		{
			$anchors{$to} //= anchors($text{$to} // '');
			push @broken, "$from: $link" unless $anchors{$to}{$anchor};
		}
	}
}
is(join("\n", @broken), '', 'every relative link leads somewhere');
cmp_ok($links, '>', 100, "$links links were followed");

# From the index every page is within reach.
my %reached = ('doc/index.md' => 1);
my @left = ('doc/index.md');
while (defined(my $from = shift @left))
{
	my ($base) = $from =~ m{^(.*/)?[^/]+$};

	while ($text{$from} =~ /\]\(([^)\s#]+\.md)(?:#[^)]*)?\)/g)
	{
		my $to = ($base // '') . $1;

		1 while $to =~ s{(?:^|(?<=/))(?!\.\./)[^/]+/\.\./}{};
		push @left, $to if $text{$to} && !$reached{$to}++;
	}
}
is(join(' ', grep { m{^doc/[^/]+$} && !$reached{$_} } sort keys %text), '', 'every page is within reach of doc/index.md');

$session->quit;
$node->stop;

done_testing();
