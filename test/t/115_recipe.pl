# test/t/115_recipe.pl
#
# The recipe for Debian's Radicale in doc/provider-caldav.md does what it
# promises: its blocks are run as they are written, but for the places of files,
# the port, the password, and what only a whole machine has (sudo, packages and
# services).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = PostgreSQL::Test::Utils::tempdir();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $password = 'correct horse';
my ($recipe) = slurp_file("$FindBin::RealBin/../../doc/provider-caldav.md") =~
  /^## Radicale on Debian\n(.*?)^## /ms;
my @blocks;

# Kind and text of each block, for this machine.
while ($recipe =~ /^```(\w+)\n(.*?)^```$/gms)
{
	my ($kind, $text) = ($1, $2);

	$text =~ s{/(?:etc|var/lib)/}{$folder/}g;
	$text =~ s/5232/$port/g;
	$text =~ s/"\.\.\."/"$password"/g;
	$text =~ s/sudo install -o \w+ -g \w+/install/g;
	$text =~ s/^sudo (?:apt-get|systemctl) .*\n//gm;
	$text =~ s/openssl passwd -apr1/openssl passwd -apr1 '$password'/g;
	$text =~ s/curl -u acme/curl -sfS -u 'acme:$password'/g;
	push @blocks, [ $kind, $text ];
}
is(join(' ', map { $_->[0] } @blocks),
	'sh ini sh sh conf sql sql sh', 'the recipe has its blocks, in their order');

# A block of commands, and what they print.
sub run_shell
{
	my ($text) = @_;
	my ($stdout, $stderr) = ('', '');

	ok(IPC::Run::run([ 'sh', '-ec', $text ], '<', \undef, '>', \$stdout, '2>', \$stderr),
		"commands: $text")
	  or diag($stderr);
	return $stdout;
}

mkdir("$folder/$_") or die "mkdir: $!" foreach qw(radicale postgresql);
run_shell($blocks[0][1]);
PostgreSQL::Test::Utils::append_to_file("$folder/radicale/config", $blocks[1][1]);
my $radicale = IPC::Run::start([ 'radicale', '-C', "$folder/radicale/config" ],
	'<', \undef, '>', "$folder/out", '2>', "$folder/log");
wait_until('Radicale answers',
	sub { HTTP::Tiny->new->get("http://127.0.0.1:$port/")->{status} < 500 });
run_shell($blocks[2][1]);
run_shell($blocks[3][1]);

my $node = booking_node('main', conf => $blocks[4][1]);
my $found = $node->safe_psql('postgres', $blocks[5][1]);
like($found, qr/"ok": true/, 'the check finds what works');
unlike($found, qr/"ok": false/, 'and nothing that does not');

# not stored as it is, as it would be without the key
is($node->safe_psql('postgres', 'SELECT sealed FROM booking.credential'),
	't', 'the password is encrypted');
like($node->safe_psql('postgres', $blocks[6][1]),
	qr/^committed\|approved$/m, 'a claim is answered at once');
$node->poll_query_until('postgres',
	"SELECT (state, event) = ('created', 'present') FROM booking_status('acme', 'desk', 'first')"
) or die 'no event came';
like(run_shell($blocks[7][1]),
	qr/DTSTART:20300506T080000Z.*SUMMARY:A first booking/s, 'and becomes an event');

# Nobody gets in without the password.
is(HTTP::Tiny->new->get("http://127.0.0.1:$port/acme/room1/")->{status},
	401, 'which strangers do not see');
$node->stop;
$radicale->kill_kill(grace => 5);

done_testing();
