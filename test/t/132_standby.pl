# test/t/132_standby.pl
#
# A standby sends nothing and says why; after promotion it works without a
# restart, and what was in flight at the failover is unknown, is looked up, and
# not sent a second time.  A copy that was restored beside its original, and
# promoted, does not send at all when booking.arm_key tells them apart.
#
# Proves R73 (attempts in flight at a failover) and R74 (promotion), and the
# clone safety of physical copies in DESIGN.md section 6.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Stub;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $stub = Booking::Stub->new;
my ($primary, $session) = worker_node(
	'primary',
	init => { allows_streaming => 1 },
	conf => "booking.arm_key = 'live'\nbooking.poll_interval = '1s'\n");

$stub->client($session, 'a', 'store');
claim($session, 'a', 'done');
is_settled($session, 'done', 'create confirmed', 'the primary works');

$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;
my $copy = PostgreSQL::Test::Cluster->new('copy');
$copy->init_from_backup($primary, 'base', has_streaming => 1);
$copy->append_conf('postgresql.conf', "booking.arm_key = 'rehearsal'");
$copy->start;

my $reader = session($standby);
is( $reader->query(
		"SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'booking%'"),
	'0', 'a standby has neither launcher nor worker');
is(worker_status($reader), 'absent: the server is a standby', 'and says why');
fails_with($reader, 'SELECT booking_worker_start()', '25006', 'none can be started there');

# In flight at the failover: created at the provider without an answer, never
# arrived there, and not yet begun.
$stub->client($session, 'b', 'hang');
$stub->behave('a', 'swallow');
claim($session, 'a', 'stored');
claim($session, 'b', 'lost');
$session->query("SELECT booking_cancel('t', 'p', 'done')");
wait_until('requests have arrived',
	sub { $stub->requests('a', 'PUT') == 2 && $stub->requests('a', 'DELETE') == 1 && $stub->requests('b', 'PUT') == 1 });
is(operations($session, 'stored'), 'create sending', 'a create is in flight');
is(operations($session, 'done'), 'create confirmed, cancel sending', 'a cancel too');
$primary->wait_for_catchup($_, 'replay', $primary->lsn('flush')) foreach $standby, $copy;
$session->quit;
$primary->stop('immediate');
is($reader->query('SELECT count(*) FROM booking.operation'), '4', 'the standby has all');

$stub->behave('a', 'store');
$stub->behave('b', 'store');
$standby->promote;
is_settled($reader, 'stored', 'create confirmed', 'a create that took effect is found');
is($stub->requests('a', 'PUT'), 2, 'and was not sent again');
is_settled($reader, 'lost', 'create confirmed', 'one that did not is sent again');
is($stub->requests('b', 'PUT'), 2, 'once');
is_settled($reader, 'done', 'create confirmed, cancel confirmed', 'a cancel ends');
is($reader->query("SELECT state, remote FROM booking.intent WHERE intent = 'done'"),
	"canceled\x1fconfirmed", 'and its intent');
is( $reader->query(
		"SELECT bool_or(a.mark = 'unknown' OR a.phase = 'lookup') FROM booking.attempt a JOIN booking.operation o USING (operation_id) JOIN booking.intent i USING (intent_id) WHERE i.intent = 'stored'"
	),
	't',
	'the attempt was unknown');
claim($reader, 'a', 'new');
is_settled($reader, 'new', 'create confirmed', 'the promoted server works on');
wait_until('nothing is left', sub { worker_status($reader) eq 'idle' });
pass('without a restart');

# The copy for a rehearsal is promoted as well, and touches nothing.
my $before = $stub->requests('a') + $stub->requests('b');
$copy->promote;
my $rehearsal = session($copy);
wait_until('the copy is paused',
	sub { worker_status($rehearsal) =~ /^paused: booking.arm_key is another one; .*booking_arm/ });
pass('a physical copy with another booking.arm_key is paused');
claim($rehearsal, 'a', 'rehearsed');
is(operations($rehearsal, 'rehearsed'), 'create waiting', 'what is claimed there waits');
is($stub->requests('a') + $stub->requests('b'), $before, 'and it sent nothing');
$rehearsal->quit;
$copy->stop;

# The old primary comes back alone: what it knows as sending it looks up.
$stub->behave('a', 'store');
my $puts = $stub->requests('a', 'PUT');
$primary->start;
$session = session($primary);
is_settled($session, 'stored', 'create confirmed', 'the old primary finds what is there');
is($stub->requests('a', 'PUT'), $puts, 'and doubles nothing');
$session->quit;
$primary->stop;
$reader->quit;
$standby->stop;
$stub->stop;

done_testing();
