# test/t/182_recovery.pl
#
# booking.recovery has a row for each kind of thing that is not settled, and every
# call that it names works as it stands; the runbook has a section for each kind.
# What an operator does is recorded, and never gets into what the worker does: who
# comes while it sends is told so, and whatever is parked, put back or looked at
# again, an event is sent once, under one id.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::FaultProxy;
use PostgreSQL::Test::Utils;
use Test::More;

my ($node, $session) = provider_node('main');
my $other = session($node);

# ----------------------------------------------------------------------------
# Every kind, and its calls
# ----------------------------------------------------------------------------

# The worker would move what is put in states by hand.
$session->query('ALTER SYSTEM SET booking.worker = off');
$session->query('SELECT pg_reload_conf()');
wait_until('the worker is paused', sub { $session->query("SELECT state = 'paused' FROM booking_worker_status()") eq 't' });

$session->query("SELECT booking_permit_all('t', 'p')");
$session->query("SELECT booking_account_put('t', '$_', 'caldav', 'https://$_.test/')") foreach qw(main locked odd);
$session->query("SELECT booking_credential_put('t', '$_', '{\"type\": \"basic\", \"username\": \"u\", \"password\": \"x\"}')")
  foreach qw(main locked odd);
foreach my $calendar (qw(main locked odd))
{
	$session->query("SELECT booking_resource_put('t', '$calendar', 1000)");
	$session->query("SELECT booking_calendar_put('t', '$calendar', '$calendar', '/$calendar/', '$calendar')");
}

# A booking in a calendar whose operation, and intent, are in some state.
sub put
{
	my ($intent, $calendar, $state, $problem, $event) = @_;

	$session->query("SELECT booking_claim('t', 'p', '$intent', '$calendar', '[2030-05-01 09:00+00, 2030-05-01 10:00+00)')");
	$session->query("UPDATE booking.operation o SET state = '$state', problem = nullif('$problem', '')"
		  . " FROM booking.intent i WHERE i.intent_id = o.intent_id AND i.intent = '$intent'");
	return if $state eq 'waiting';
	$session->query("UPDATE booking.intent SET state = 'creating' WHERE intent = '$intent'");
	$session->query("UPDATE booking.intent SET state = 'unknown', event = '$event',"
		  . " remote = CASE '$state' WHEN 'parked' THEN 'needs_operator' ELSE 'pending_reconciliation' END WHERE intent = '$intent'");
	return;
}

put('unknown', 'main', 'unknown', 'timeout', 'unknown');
put('mismatch', 'main', 'parked', 'event_moved', 'present');
put('foreign', 'main', 'parked', 'foreign_event', 'present');
put('burnt', 'main', 'parked', 'deleted_at_provider', 'unknown');
put('unproven', 'main', 'parked', 'too_many_tries', 'unknown');
put('unread', 'main', 'waiting', 'calendar_unread', 'none');
put('locked', 'locked', 'waiting', '', 'none');
put('odd', 'odd', 'waiting', '', 'none');
put('cancel', 'main', 'confirmed', '', 'present');
$session->query("UPDATE booking.intent SET state = 'created', remote = 'confirmed' WHERE intent = 'cancel'");
$session->query("SELECT booking_cancel('t', 'p', 'cancel')");
$session->query("UPDATE booking.operation SET state = 'parked', problem = 'forbidden' WHERE kind = 'cancel'");
$session->query("UPDATE booking.account SET parked = true, problem = 'auth_refused' WHERE account = 'locked'");
$session->query("UPDATE booking.account SET problem = 'the credential was sealed with another key',"
	  . " blocked_until = now() + interval '1 hour' WHERE account = 'odd'");
$session->query("UPDATE booking.cursor k SET parked = true, problem = 'calendar_gone', failures = 3"
	  . " FROM booking.calendar c WHERE c.calendar_id = k.calendar_id AND c.calendar = 'locked'");
$session->query("UPDATE booking.cursor k SET problem = 'unavailable', failures = 3"
	  . " FROM booking.calendar c WHERE c.calendar_id = k.calendar_id AND c.calendar = 'odd'");
$session->query("INSERT INTO booking.conflict (found_at, calendar_id, kind, tenant, object, during)"
	  . " SELECT now(), calendar_id, 'orphan', 't', '/main/x.ics', '[2030-05-02 09:00+00, 2030-05-02 10:00+00)'"
	  . " FROM booking.calendar WHERE calendar = 'main'");
$session->query("INSERT INTO booking.conflict (found_at, intent_id, calendar_id, kind, tenant, object, during)"
	  . " SELECT now(), intent_id, calendar_id, k, 't', '/main/y.ics', '[2030-05-02 09:00+00, 2030-05-02 10:00+00)'"
	  . " FROM booking.calendar, booking.intent, unnest(ARRAY['overlap', 'moved', 'missing', 'elsewhere']) k"
	  . " WHERE calendar = 'main' AND intent = 'unread'");
$session->query("SELECT booking_webhook_source_put('t', '$_', 'calcom')") foreach qw(signed mapped other);
$session->query("UPDATE booking.webhook_source SET failures = 5, problem = CASE source"
	  . " WHEN 'signed' THEN 'bad_signature' WHEN 'mapped' THEN 'unmapped' ELSE 'malformed' END");
$session->query("INSERT INTO booking.inbox (received_at, source, tenant, verdict, state, reason, type, booking, body)"
	  . " VALUES (now(), 'other', 't', 'accepted', 'failed', 'unmapped', 'BOOKING_CREATED', 'b', '{}')");
$session->query("INSERT INTO booking.webhook_reader (next_at, changed_at, source, base_url, parked, tries, problem)"
	  . " VALUES (now(), now(), 'signed', 'https://source.test/', true, 1, 'auth_refused')");

my $rows = $session->try("SELECT unresolved, coalesce(problem, ''), coalesce(message, ''), calls::text, cardinality(calls)"
	  . ' FROM booking.recovery ORDER BY 1, 2')->{rows};
my %seen;
my %values = (
	credential => q('{"type": "basic", "username": "u", "password": "y"}'),
	secret => q('a new secret'),
	remote_key => q('room type'),
	resource => q('main'),
	principal => q('p'),
	intent => q('lost'));

foreach my $row (@$rows)
{
	my ($kind, $problem, $message, undef, $count) = @$row;

	$seen{$kind}++;
	cmp_ok($count, '>', 0, "$kind, $problem: there is a call");
}
foreach my $row (@{ $session->try("SELECT unresolved, call FROM booking.recovery, unnest(calls) call ORDER BY 1, 2")->{rows} })
{
	my ($kind, $call) = @$row;
	# a key of a service is of another type than an account's credential
	local $values{credential} = q('{"type": "bearer", "token": "key"}') if $kind eq 'failing_reading';
	my $whole = $call =~ s/:'(\w+)'/$values{$1} \/\/ die "no value for $1"/ger;

	$session->query('BEGIN');
	my $result = $session->try($whole);
	$session->query('ROLLBACK');
	is($result->{error} ? $result->{error}{text} : '', '', "$kind: $call");
	unlike(join('|', map { $_ // '' } @{ ($result->{rows} // [])->[0] // [] }), qr/denied|unknown_intent/, "$kind: and is allowed");
}

# the kinds that the view can give, by its definition
my $definition = $session->query("SELECT pg_get_viewdef('booking.recovery'::regclass)");
my %possible;

foreach my $last ($definition =~ /AS calls,\s+(.*?)\s+AS unresolved/gs)
{
	$possible{$1} = 1 while $last =~ /(?:THEN|ELSE|^)\s*'(\w+)'/g;
}
is(join(' ', sort keys %seen), join(' ', sort keys %possible), 'each kind that the view can give was there');
my %runbook = map { $_ => 1 } slurp_file("$FindBin::RealBin/../../doc/operations.md") =~ /^### `(\w+)`$/mg;
is(join(' ', sort keys %runbook), join(' ', sort keys %possible), 'and has a section in the runbook');

# ----------------------------------------------------------------------------
# Who may, what is recorded, and what is not possible
# ----------------------------------------------------------------------------

foreach my $function (qw(requeue park))
{
	fails_with($session, "SELECT booking_$function('t', 'p', 'mismatch', '')", '22023', "$function: a reason is needed");
	fails_with($session, "SELECT booking_$function('t', 'p', 'mismatch', NULL)", '22004', "$function: not NULL");
	is_row($session, "SELECT disposition FROM booking_$function('t', 'p', 'nobody', 'x')", ['unknown_intent'], "$function: of no intent");
	is_row($session, "SELECT disposition FROM booking_$function('t', 'q', 'mismatch', 'x')", ['denied'], "$function: not permitted");
	foreach my $state (qw(checking sending reconciling))
	{
		my $where = "FROM booking.intent i WHERE i.intent_id = o.intent_id AND i.intent = 'unknown'";

		$session->query("UPDATE booking.operation o SET state = '$state' $where");
		my $before = $session->query("SELECT md5(string_agg(o::text, '')) FROM booking.operation o");
		my $error = fails_with($session, "SELECT booking_$function('t', 'p', 'unknown', 'x')", '55000', "$function: while it is $state");

		like($error->{text}, qr/in its hands: it is $state/, "$function: which it says");
		is($session->query("SELECT md5(string_agg(o::text, '')) FROM booking.operation o"), $before, "$function: nothing is changed");
		$session->query("UPDATE booking.operation o SET state = 'unknown' $where");
	}
	$session->query("UPDATE booking.operation o SET state = 'confirmed' FROM booking.intent i WHERE i.intent_id = o.intent_id AND i.intent = 'locked'");
	fails_with($session, "SELECT booking_$function('t', 'p', 'locked', 'x')", '55000', "$function: of what is settled");
}
my $ids = $session->query("SELECT string_agg(event_id || epoch || generation, ' ' ORDER BY operation_id) FROM booking.operation");
is_row($session, "SELECT disposition, state, remote, replayed FROM booking_requeue('t', 'p', 'mismatch', 'moved back')",
	[ 'historical_retry', 'unknown', 'pending_reconciliation', 'f' ], 'requeue: what was parked is looked for');
is_row($session, "SELECT o.state, o.tries FROM booking.operation o JOIN booking.intent i USING (intent_id) WHERE i.intent = 'mismatch'",
	[ 'unknown', '0' ], 'requeue: and not sent');
is_row($session, "SELECT remote FROM booking_park('t', 'p', 'mismatch', 'no')", ['needs_operator'], 'park: what is looked for is left alone');
is_row($session, "SELECT remote FROM booking_park('t', 'p', 'mismatch', 'no')", ['needs_operator'], 'park: which can be repeated');
is_row($session, "SELECT unresolved, problem FROM booking.recovery WHERE intent = 'mismatch'", [ 'unproven', 'parked_by_operator' ], 'park: and it shows');
is($session->query("SELECT string_agg(event_id || epoch || generation, ' ' ORDER BY operation_id) FROM booking.operation"), $ids, 'no id is changed by it');
is($session->query("SELECT string_agg(action || ' ' || role || ' ' || (detail ->> 'reason') || ' ' || (detail ->> 'was'), ', ' ORDER BY audit_id)"
	  . " FROM booking.audit_entry WHERE intent = 'mismatch'"),
	join(', ', map { "$_->[0] ${\$session->query('SELECT current_user')} $_->[1]" } [ 'requeue', 'moved back parked' ],
		[ 'park', 'no unknown' ], [ 'park', 'no parked' ]),
	'each is recorded, with role and reason');

# two operators
$other->query('BEGIN');
$other->query("SELECT FROM booking_requeue('t', 'p', 'foreign', 'mine')");
$session->send("SELECT remote FROM booking_resolve('t', 'p', 'foreign', 'adopt', '{\"seen\": 1}')");
wait_blocked($other, $session);
$other->query('COMMIT');
is($session->receive->{error}{sqlstate}, '55000', 'the second of two operators is told that it is not parked any more');
is_clean($session, 'states by hand');

# ----------------------------------------------------------------------------
# Beside the worker
# ----------------------------------------------------------------------------

my $server = Booking::Caldav->new('radicale');
my $proxy = Booking::FaultProxy->new($server);

$session->query("UPDATE booking.operation SET state = 'dropped' WHERE state NOT IN ('confirmed', 'rejected')");
attach($session, $server, $proxy->url, 'real', 'cal');
sub book
{
	my ($intent, $hour) = @_;
	return $session->query("SELECT state FROM booking_claim('t', 'p', '$intent', 'cal', '[2030-06-01 $hour:00+00, 2030-06-01 $hour:30+00)')");
}

# Requests that would make an event.
sub puts
{
	return scalar $proxy->log(sub { $_[0]{kind} eq 'create' });
}

sub worker
{
	my ($value) = @_;

	$session->query("ALTER SYSTEM SET booking.worker = $value");
	$session->query('SELECT pg_reload_conf()');
	wait_until("the worker is $value",
		sub { $session->query("SELECT state = 'paused' FROM booking_worker_status()") eq ($value eq 'off' ? 't' : 'f') });
	return;
}

is(book('early', '09'), 'approved', 'a booking waits');
is_row($session, "SELECT state, remote FROM booking_park('t', 'p', 'early', 'not yet')", [ 'unknown', 'needs_operator' ], 'it is parked');
is(book('beside', '10'), 'approved', 'and another one waits');
worker('on');
is(wait_state($session, 'beside', 'created confirmed create confirmed'), 'created confirmed create confirmed', 'the worker makes that one');
is(puts(), 1, 'and not what is parked');
$session->query("SELECT booking_requeue('t', 'p', 'early', 'go on')");
is(wait_state($session, 'early', 'created confirmed create confirmed'), 'created confirmed create confirmed', 'until it is put back');
is(puts(), 2, 'it is sent once');

# an answer is lost, and so is every look for it
$proxy->break('create', '/user/cal', 'reset_after');
$proxy->break('GET', '/user/cal', 'unavailable', 1000);
book('lost', 11);
wait_until('its answer is lost', sub { Booking::Caldav::state($session, 'lost') =~ /^unknown \S+ create unknown/ });
wait_until(
	'it is parked between two looks',
	sub { !$session->try("SELECT booking_park('t', 'p', 'lost', 'enough')")->{error} });
is(Booking::Caldav::state($session, 'lost'), 'unknown needs_operator create parked parked_by_operator', 'what is unknown is parked');
$proxy->clear;
$session->query("SELECT booking_requeue('t', 'p', 'lost', 'the provider is back')");
is(wait_state($session, 'lost', 'created confirmed create confirmed'), 'created confirmed create confirmed', 'and found, once it is put back');
is(puts(), 3, 'without being sent again');

# while it is being sent
$proxy->break('create', '/user/cal', 'hold');
book('held', 12);
wait_until('it is being sent', sub { Booking::Caldav::state($session, 'held') =~ /create sending$/ && puts() == 4 });
foreach my $function (qw(park requeue))
{
	my $error = fails_with($session, "SELECT booking_$function('t', 'p', 'held', 'x')", '55000', "$function: while it is being sent");

	like($error->{text}, qr/in its hands/, "$function: which it says");
}
$proxy->clear;
is(wait_state($session, 'held', 'created confirmed create confirmed'), 'created confirmed create confirmed', 'it goes on');
is(puts(), 4, 'and is sent once');
is(scalar(keys %{ $server->list('/user/cal/') }), 4, 'there are as many events as bookings');
is_clean($session, 'beside the worker');

done_testing();
