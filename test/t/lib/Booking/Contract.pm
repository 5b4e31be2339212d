# test/t/lib/Booking/Contract.pm
#
# The contract of the ledger, each promise as its own assertion, in two parts:
# contract_run() makes the calls for the first time in a tenant of its own and
# returns what has to be remembered, contract_again() repeats them and asserts
# that every answer is still the recorded one.  Tests call the second part after
# whatever must not change an answer: a restart, a crash, a restore, a pooler.

package Booking::Contract;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use Test::More;

our @EXPORT = qw(contract_run contract_again during);

my $columns = 'disposition, state, remote, event, receipt, replayed';

# An interval on the test's day, in UTC.
sub during
{
	my ($from, $to) = @_;
	return "tstzrange('2030-01-07 $from+00', '2030-01-07 $to+00')";
}

# Assert the result of one call.  The receipt is given as the value it must
# have, undef for none, or a reference that a new one is stored in.
sub is_result
{
	my ($session, $call, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($disposition, $state, $receipt, $replayed) = @$expected;
	my $result = $session->try("SELECT $columns FROM $call");

	if ($result->{error})
	{
		fail($name);
		diag("unexpected error: $result->{error}{text}");
		return;
	}

	my @got = @{ $result->{rows}[0] };
	if (ref $receipt)
	{
		like($got[4] // '', qr/^local:/, "$name: a receipt is issued");
		$$receipt = $got[4];
		$receipt = $got[4];
	}
	is_deeply(
		\@got,
		[
			$disposition, $state,
			defined $state ? ('not_required', 'none') : (undef, undef),
			$receipt, $replayed
		],
		$name);
	return;
}

# The number of reservation rows of an intent.
sub reserved
{
	my ($session, $tenant, $intent) = @_;
	return $session->query(
		"SELECT count(*) FROM booking.reservation r JOIN booking.intent i USING (intent_id)
		  WHERE i.tenant = '$tenant' AND i.principal = 'ada' AND i.intent = '$intent'");
}

sub contract_run
{
	my ($session, $tenant, %opt) = @_;
	my $prefix = $opt{prefix} // '';
	my %receipt;
	my $other = "$tenant-other";

	# Functions with their extension schema in front where it is not in the path.
	my $claim = sub {
		my ($intent, $resource, $from, $to, $version, %more) = @_;
		my $t = $more{tenant} // $tenant;
		my $p = $more{principal} // 'ada';
		return
			"${prefix}booking_claim('$t', '$p', '$intent', '$resource', "
		  . during($from, $to)
		  . ", $version)";
	};
	my $cancel = sub {
		my ($intent) = @_;
		return "${prefix}booking_cancel('$tenant', 'ada', '$intent')";
	};
	my $permit = sub {
		my ($session, $allowed) = @_;
		$session->query(
			"SELECT ${prefix}booking_permit('$tenant', 'ada', 'room', $allowed)");
	};

	is($session->query("SELECT ${prefix}booking_resource_put('$tenant', 'room')"),
		'1', 'a new resource has version 1');
	foreach my $name ('hall', 'attic')
	{
		$session->query(
			"SELECT ${prefix}booking_resource_put('$tenant', '$name')");
	}
	$session->query("SELECT ${prefix}booking_resource_put('$other', 'room')");
	foreach my $row ([ $tenant, 'ada', 'room' ], [ $tenant, 'ada', 'hall' ],
		[ $tenant, 'bob', 'room' ], [ $other, 'ada', 'room' ])
	{
		$session->query("SELECT ${prefix}booking_permit('"
			  . join("', '", @$row)
			  . "')");
	}

	# An intent is recorded once.
	is_result($session, $claim->('one', 'room', '09:00', '10:00', 1),
		[ 'committed', 'committed', \$receipt{one}, 'f' ],
		'a claim commits');
	is_result($session, $claim->('one', 'room', '09:00', '10:00', 1),
		[ 'historical_retry', 'committed', $receipt{one}, 't' ],
		'the same claim again is history, with the same receipt');
	is(reserved($session, $tenant, 'one'), '1', 'it holds one unit');

	# The loser's result is recorded too.
	is_result($session, $claim->('loser', 'room', '09:30', '10:30', 1),
		[ 'resource_conflict', 'conflict', undef, 'f' ],
		'another intent for the same unit is a conflict');

	# The version of the inventory is part of the payload.
	is_result($session, $claim->('stale', 'room', '11:00', '12:00', 7),
		[ 'inventory_conflict', 'conflict', undef, 'f' ],
		'a stale version is a conflict');
	is_result($session, $claim->('one', 'room', '09:00', '10:00', 2),
		[ 'intent_conflict', 'committed', undef, 'f' ],
		'the same identity with another version is refused');

	# A freed slot does not change what the loser was told.
	is_result($session, $claim->('leaver', 'hall', '09:00', '10:00', 1),
		[ 'committed', 'committed', \$receipt{leaver}, 'f' ],
		'a claim of another resource commits');
	is_result($session, $claim->('waiter', 'hall', '09:00', '10:00', 1),
		[ 'resource_conflict', 'conflict', undef, 'f' ],
		'the second one is a conflict');
	is_result($session, $cancel->('leaver'),
		[ 'canceled', 'canceled', $receipt{leaver}, 'f' ],
		'cancel answers with the historical receipt');
	is(reserved($session, $tenant, 'leaver'), '0', 'and frees the unit');

	# Cancel before create.
	is_result($session, $cancel->('early'),
		[ 'canceled', 'canceled', undef, 'f' ],
		'cancel before create leaves a tombstone');

	# A stored conflict can be canceled.
	is_result($session, $claim->('sore', 'room', '09:00', '10:00', 1),
		[ 'resource_conflict', 'conflict', undef, 'f' ],
		'a conflict is stored');
	is_result($session, $cancel->('sore'),
		[ 'canceled', 'canceled', undef, 'f' ],
		'and can be canceled');

	# Identities are scoped by tenant and by principal.
	is_result(
		$session,
		$claim->('one', 'room', '09:00', '10:00', 1, tenant => $other),
		[ 'committed', 'committed', \$receipt{other}, 'f' ],
		'the same identity in another tenant is another intent');
	is_result(
		$session,
		$claim->('one', 'room', '13:00', '14:00', 1, principal => 'bob'),
		[ 'committed', 'committed', \$receipt{bob}, 'f' ],
		'the same identity of another principal is another intent');

	return {
		tenant => $tenant,
		prefix => $prefix,
		claim => $claim,
		cancel => $cancel,
		permit => $permit,
		receipt => \%receipt,
	};
}

sub contract_again
{
	my ($session, $record, $when) = @_;
	my ($tenant, $claim, $cancel, $permit) =
	  @{$record}{qw(tenant claim cancel permit)};
	my %receipt = %{ $record->{receipt} };

	my $check = sub {
		my ($call, $expected, $name) = @_;
		local $Test::Builder::Level = $Test::Builder::Level + 1;
		is_result($session, $call, $expected, "$when: $name");
	};

	$check->(
		$claim->('one', 'room', '09:00', '10:00', 1),
		[ 'historical_retry', 'committed', $receipt{one}, 't' ],
		'a committed claim is history');
	$check->(
		$claim->('one', 'room', '09:00', '10:00', 1, tenant => "$tenant-other"),
		[ 'historical_retry', 'committed', $receipt{other}, 't' ],
		'in its own tenant');
	$check->(
		$claim->('one', 'room', '13:00', '14:00', 1, principal => 'bob'),
		[ 'historical_retry', 'committed', $receipt{bob}, 't' ],
		'of its own principal');
	$check->(
		$claim->('one', 'room', '09:00', '10:00', 2),
		[ 'intent_conflict', 'committed', undef, 'f' ],
		'another version is refused');
	$check->(
		$claim->('loser', 'room', '09:30', '10:30', 1),
		[ 'resource_conflict', 'conflict', undef, 't' ],
		'the loser is told the same');
	$check->(
		$claim->('waiter', 'hall', '09:00', '10:00', 1),
		[ 'resource_conflict', 'conflict', undef, 't' ],
		'the loser is told the same although the slot is free now');
	$check->(
		$claim->('waiter', 'hall', '10:00', '11:00', 1),
		[ 'intent_conflict', 'conflict', undef, 'f' ],
		'the loser cannot change its slot under the same identity');
	$check->(
		$claim->('stale', 'room', '11:00', '12:00', 7),
		[ 'inventory_conflict', 'conflict', undef, 't' ],
		'a stale version stays a conflict');
	$check->(
		$claim->('leaver', 'hall', '09:00', '10:00', 1),
		[ 'canceled', 'canceled', $receipt{leaver}, 't' ],
		'a late retry does not bring back what was canceled');
	is(reserved($session, $tenant, 'leaver'),
		'0', "$when: and holds no unit");
	$check->(
		$cancel->('leaver'),
		[ 'canceled', 'canceled', $receipt{leaver}, 't' ],
		'cancel again says the same');
	$check->(
		$claim->('early', 'room', '15:00', '16:00', 1),
		[ 'canceled', 'canceled', undef, 't' ],
		'a create after its cancel is canceled');
	is(reserved($session, $tenant, 'early'), '0', "$when: and holds no unit");
	$check->(
		$claim->('sore', 'room', '09:00', '10:00', 1),
		[ 'canceled', 'canceled', undef, 't' ],
		'a canceled conflict stays canceled');

	$permit->($session, 'false');
	$check->(
		$claim->('one', 'room', '09:00', '10:00', 1),
		[ 'denied', undef, undef, 'f' ],
		'without permission nothing is disclosed');
	$check->(
		$cancel->('one'),
		[ 'denied', undef, undef, 'f' ],
		'nor canceled');
	is( $session->query(
			"SELECT count(*) FROM $record->{prefix}booking_list('$tenant', 'ada') WHERE intent = 'one'"
		),
		'0',
		"$when: nor listed");
	$permit->($session, 'true');
	$check->(
		$claim->('one', 'room', '09:00', '10:00', 1),
		[ 'historical_retry', 'committed', $receipt{one}, 't' ],
		'permission restored makes it history again');
	is(reserved($session, $tenant, 'one'), '1', "$when: it holds one unit");
	return;
}

1;
