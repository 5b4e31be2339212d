# test/t/022_standby.pl
#
# On a hot standby every call that decides is refused with a clear error, while
# what only reads works; after promotion the standby answers as the primary
# did.  Proves R38 in the ledger's part (a failover leaves nothing half done)
# and R82 (ids go on).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Contract;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = booking_node('primary', init => { allows_streaming => 1 });
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my $session = session($primary);
$session->query('CREATE EXTENSION booking CASCADE');
my $record = contract_run($session, 'acme');
$session->query(
	"SELECT booking_propose('acme', 'ada', 'held', 'hall', "
	  . during('18:00', '19:00')
	  . ", hold_for => '1 hour')");
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));

my $reader = session($standby);
my $range = during('22:00', '23:00');
my $known = "'acme', 'ada', 'one'";
my @refused = (
	"booking_tenant_put('acme', true)",
	"booking_resource_put('acme', 'room', 2)",
	"booking_slot_put('acme', 'room', 'noon', $range)",
	"booking_permit('acme', 'ada', 'room')",
	"booking_permit_all('acme', 'ada')",
	"booking_bind_role('postgres', 'acme')",
	"booking_unbind_role('postgres', 'acme')",
	"booking_claim($known, 'room', $range)",
	"booking_claim('acme', 'ada', 'new', 'room', $range)",
	"booking_claim_slot('acme', 'ada', 'new', 'room', 'noon', 1)",
	"booking_claim_all('acme', 'ada', 'new', '{room,hall}', $range)",
	"booking_override('acme', 'ada', 'new', 'room', $range, 1, '{}', 'why')",
	"booking_cancel($known)",
	"booking_cancel_exact($known, 'room', $range, 1, 1, '{}')",
	"booking_cancel_exact_slot($known, 'room', 'noon', 1, 1, '{}')",
	"booking_cancel_exact_all($known, '{room,hall}', $range, NULL, 1, '{}')",
	"booking_propose('acme', 'ada', 'new', 'room', $range)",
	"booking_propose_slot('acme', 'ada', 'new', 'room', 'noon', 1)",
	"booking_propose_all('acme', 'ada', 'new', '{room,hall}', $range)",
	"booking_approve('acme', 'bob', 'ada', 'held', 1)",
	"booking_reject('acme', 'bob', 'ada', 'held', 1, 'no')");

foreach my $call (@refused)
{
	my ($function) = $call =~ /^(\w+)/;
	my $error =
	  fails_with($reader, "SELECT $call", '25006', "$function is refused");

	like($error->{message} // '',
		qr/read-only|recovery/, "$function says why");
}

is_row(
	$reader,
	"SELECT disposition, receipt, replayed FROM booking_status($known)",
	[ 'historical_retry', $record->{receipt}{one}, 't' ],
	'status works');
is_row(
	$reader,
	"SELECT disposition, state FROM booking_status('acme', 'ada', 'held')",
	[ 'held', 'proposed' ],
	'status of a hold works');
is( $reader->query(
		"SELECT count(*) > 5, bool_or(intent = 'one') FROM booking_list('acme', 'ada')"
	),
	"t\x1ft",
	'list works');
is( $reader->query(
		"SELECT lower(w) = '2030-01-07 10:00+00' FROM booking_free('acme', 'ada', '{room}', "
		  . during('09:00', '12:00')
		  . ", '1 hour') w"),
	't',
	'free works');
is( $reader->query(
		"SELECT booking_at('2030-07-01 12:00', 'Europe/Berlin') = '2030-07-01 10:00+00'"
	),
	't',
	'at works');
is_clean($reader, 'on the standby');

# Promotion: the same answers, and new intents.
$session->quit;
$primary->stop('immediate');
$standby->promote;
contract_again($reader, $record, 'after promotion');
is_row(
	$reader,
	"SELECT disposition, replayed FROM booking_claim('acme', 'ada', 'new', 'room', $range)",
	[ 'committed', 'f' ],
	'after promotion: a new claim commits');
is_row(
	$reader,
	"SELECT disposition FROM booking_approve('acme', 'ada', 'ada', 'held', 1)",
	['committed'],
	'after promotion: a proposal can be approved');
is_clean($reader, 'after promotion');

$reader->quit;
$standby->stop;

done_testing();
