# test/upgrade/majors.pl
#
# pg_upgrade from the oldest supported version through each next one: the database
# in which everything is half done arrives as it was, is disarmed and says so at
# each stop, and goes on when it is armed at the last one, as if the server had
# merely been away.  Run by tools/test-matrix; BOOKING_UPGRADE names the servers.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/../t/lib";

use Booking;
use Booking::Contract;
use Booking::Estate;
use Booking::Stub;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @servers = split(' ', $ENV{BOOKING_UPGRADE});
my $stub = Booking::Stub->new;

# Make a node of a server; its worker is off.
sub server_node
{
	my ($path, %opt) = @_;
	my ($version) = $path =~ /(\d+)$/;
	my @extra = ('--encoding=UTF8', '--locale=C');

	# the default of 18, and what pg_upgrade wants to be the same in both
	push @extra, '--no-data-checksums' if $version >= 18;
	return booking_node("v$version", install_path => $path, init => { extra => \@extra },
		conf => worker_conf() . ($opt{conf} // ''), start => $opt{start});
}

# Turn the worker of a node on, or off.
sub worker
{
	my ($node, $onoff) = @_;

	$node->safe_psql('postgres', "ALTER SYSTEM SET booking.worker = $onoff");
	$node->reload;
	return;
}

cmp_ok(scalar(@servers), '>', 1, "from @servers");
my $node = server_node($servers[0], start => 1);
$node->safe_psql('postgres', 'CREATE ROLE app LOGIN');
$node->safe_psql('postgres', 'CREATE ROLE reader LOGIN');
$node->safe_psql('postgres', 'CREATE DATABASE source');
my $session = session($node, dbname => 'source');
$session->query('SET client_min_messages = error');
$session->query('CREATE EXTENSION booking CASCADE');
my $record = contract_run($session, 'acme');
estate_local($session);
$session = estate_remote($node, $session, $stub);
has_every_state($session);

foreach my $path (@servers[ 1 .. $#servers ])
{
	my ($version) = $path =~ /(\d+)$/;
	my @source = contents($session);
	my $next = server_node($path, start => 0, conf => "booking.worker = off\n");

	$session->quit;
	$node->stop;
	upgrade_cluster($node, $next, "pg_upgrade to $version passes");
	$node = $next;
	$node->start;
	$session = session($node, dbname => 'source');
	$session->query('SET client_min_messages = error');
	like($session->query('SHOW server_version'), qr/^$version\b/, "that is $version");
	same_contents(\@source, [ contents($session) ], $version);
	is_clean($session, $version);
	has_fresh_numbers($session, $version);
	contract_again($session, $record, $version);
	worker($node, 'on');
	is_disarmed($session, $stub, 'cluster', "upgraded to $version");
	worker($node, 'off');
}

worker($node, 'on');
is_settled_after_arming($session, $stub, 1, 'armed');
$session->quit;
$node->stop;
$stub->stop;

done_testing();
