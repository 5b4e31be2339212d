# test/t/190_restore.pl
#
# A database in which everything is half done goes through every form of dump and
# restore, and through pg_upgrade: one intent in every state, requests out when the
# server died, cursors, deliveries with bytes that no text may have, grants.  All of
# it arrives as it was, and new numbers are fresh.  The copy sends nothing and says
# why; when it is armed, what was half done is unknown and is looked up first.  Two
# copies that are armed one after the other make no second event.
#
# Proves R26 for copies, R73, R81, R82, R83, R85 and R86, and the clone safety of
# DESIGN.md section 6.  From one major version to the next: test/upgrade.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Estate;
use Booking::Stub;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $stub = Booking::Stub->new;
my $node = booking_node('old', conf => worker_conf());

$node->safe_psql('postgres', 'CREATE ROLE app LOGIN; CREATE ROLE reader LOGIN; CREATE DATABASE source');
my $session = session($node, dbname => 'source');
$session->query('SET client_min_messages = error');
$session->query('CREATE EXTENSION booking CASCADE');
estate_local($session);
$session = estate_remote($node, $session, $stub);
has_every_state($session);
is_clean($session, 'the source');
my @source = contents($session);

# ----------------------------------------------------------------------------
# Every form of dump
# ----------------------------------------------------------------------------

my $folder = PostgreSQL::Test::Utils::tempdir();
my @psql = ('psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-f');
my @restore = ('pg_restore', '--exit-on-error');
my %forms = (
	plain => [ [ '-Fp' ], \@psql ],
	inserts => [ [ '-Fp', '--rows-per-insert=10' ], \@psql ],
	custom => [ ['-Fc'], \@restore ],
	custom_jobs => [ ['-Fc'], [ @restore, '-j', '4' ] ],
	tar => [ ['-Ft'], \@restore ],
	directory_jobs => [ [ '-Fd', '-j', '4' ], [ @restore, '-j', '4' ] ]);

# two forms that 030_dump.pl and others cover
delete @forms{qw(inserts tar)} unless size(0, 1);

foreach my $form (sort keys %forms)
{
	my ($dump, $restore) = @{ $forms{$form} };

	# what nobody may read is in a dump that asks for it
	local $ENV{PGOPTIONS} = '-c booking.dump_secrets=on';
	$node->command_ok([ 'pg_dump', @$dump, '-f', "$folder/$form", 'source' ], "$form: dumped");
	$node->safe_psql('postgres', "CREATE DATABASE $form");
	$node->command_ok(
		[ $restore->[0], '-d', $node->connstr($form), @$restore[ 1 .. $#$restore ], "$folder/$form" ],
		"$form: restored without an error");

	my $copy = session($node, dbname => $form);
	same_contents(\@source, [ contents($copy) ], $form);
	is_clean($copy, $form);
	has_fresh_numbers($copy, $form);
	$copy->quit;
}
$session->quit;
$node->safe_psql('postgres', "DROP DATABASE $_") foreach grep { $_ ne 'custom_jobs' } keys %forms;

# ----------------------------------------------------------------------------
# pg_upgrade
# ----------------------------------------------------------------------------

$node->stop;
my $new = booking_node('new', conf => worker_conf(), start => 0);
upgrade_cluster($node, $new, 'pg_upgrade passes');
$new->append_conf('postgresql.conf', 'booking.worker = off');
$new->start;
my $upgraded = session($new, dbname => 'source');
same_contents(\@source, [ contents($upgraded) ], 'pg_upgrade');
is_clean($upgraded, 'pg_upgrade');
has_fresh_numbers($upgraded, 'pg_upgrade');
$upgraded->quit;
$new->stop;

# ----------------------------------------------------------------------------
# A restored copy takes the place of the original
# ----------------------------------------------------------------------------

$node->start;
$node->safe_psql('postgres', 'DROP DATABASE source');
$node->safe_psql('postgres', 'ALTER SYSTEM SET booking.worker = on');
$node->reload;
my $copy = session($node, dbname => 'custom_jobs');
$copy->query('SET client_min_messages = error');
is_disarmed($copy, $stub, 'database', 'restored');
is_settled_after_arming($copy, $stub, 1, 'restored');
$copy->quit;
$node->stop;

# ----------------------------------------------------------------------------
# So does an upgraded one, which knows nothing of what the other has done
# ----------------------------------------------------------------------------

$new->start;
$new->safe_psql('postgres', 'ALTER SYSTEM SET booking.worker = on');
$new->reload;
$upgraded = session($new, dbname => 'source');
$upgraded->query('SET client_min_messages = error');
is_disarmed($upgraded, $stub, 'cluster', 'upgraded');
is_settled_after_arming($upgraded, $stub, 0, 'upgraded');
$upgraded->quit;
$new->stop;
$stub->stop;

figure('restore compared lines', scalar(@source));

done_testing();
