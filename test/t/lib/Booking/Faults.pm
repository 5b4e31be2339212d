# test/t/lib/Booking/Faults.pm
#
# What breaks on the way to a calendar server and back, the same for every
# provider: a proxy loses, cuts, delays or falsifies the answer to the create, the
# update and the cancel of a booking, before or after the server did it.  In the
# end each booking must have one event, at its time and in the version the ledger
# knows; one that was canceled none; and no person may have been needed.

package Booking::Faults;

use strict;
use warnings FATAL => 'all';

use Booking;
use Booking::Caldav;
use Booking::FaultProxy;
use Exporter 'import';
use List::Util qw(max min);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

our @EXPORT = qw(
  fault_node
  fault_server
  fault_cases
  break_writes
  redirect_writes
  cancel_on_the_way
  be_away
);

# What breaks: the fault of the write, then those of the reads that follow.
my %cases = map { $_ => [$_] } qw(unavailable bad_gateway gateway_timeout
  rate_limited reset close stall unavailable_after bad_gateway_after
  gateway_timeout_after reset_after close_after stall_after cut_length
  cut_chunked cut_close cut_silently interim bomb_after);
$cases{again} = [qw(reset)];
$cases{lookups} = [
	qw(reset_after unavailable reset close cut_length cut_chunked
	  cut_close cut_silently bomb_after bad_gateway)
];
$cases{absence} = [qw(close unavailable reset_after cut_silently)];

my ($node, $session, $server, $proxy, $kind);

# Make the node of such a test, which names calendars by the name of a server.  It
# waits so many seconds for an answer.
sub fault_node
{
	my ($name, $patience) = @_;

	($node, $session) = provider_node($name, resolver => 1, conf => <<"EOC");
booking.http_timeout = ${\max(3, $patience + 1)}s
booking.http_connect_timeout = 2s
booking.http_first_byte_timeout = ${patience}s
EOC
	return;
}

# Put a server under its proxy.
sub fault_server
{
	($kind, $server) = @_;
	$proxy = Booking::FaultProxy->new($server);
	return;
}

# What can break.
sub fault_cases
{
	return sort keys %cases;
}

my %start = (
	create => '20300501T100000Z',
	update => '20300501T140000Z');

sub during
{
	my ($hour) = @_;
	return "'[2030-05-01 $hour:00+00, 2030-05-01 $hour:30+00)'";
}

# Ids, states and versions of the newest operations of a server's bookings.
sub ledger
{
	my $result = $session->try(<<"EOQ");
SELECT DISTINCT ON (i.intent_id) i.intent, i.state, i.remote, o.kind, o.state,
	o.event_id, o.etag, o.calendar
  FROM booking.intent i JOIN booking.operation o USING (intent_id)
 WHERE o.calendar LIKE '$kind-%' ORDER BY i.intent_id, o.operation_id DESC
EOQ
	my %ledger;

	$ledger{ $_->[0] } = $_ foreach @{ $result->{rows} };
	return \%ledger;
}

# Put an account elsewhere, as soon as nothing is on its way to where it was.  Its
# credential does not go there by itself.
sub move_account
{
	my ($account, $url) = @_;

	wait_until(
		"the account $account has moved",
		sub {
			my $error = $session->try(
				"SELECT booking_account_put('t', '$account', '"
				  . $server->provider . "', '"
				  . $server->base($url)
				  . "')")->{error};

			die $error->{text} if $error && $error->{sqlstate} ne '55006';
			return !$error;
		});
	sign_in($session, $server, $account);
	return;
}

# Compare what the ledger says of one case with what the server holds.
sub compare
{
	my ($ledger, $x, $name) = @_;
	my $events = $server->list($server->path($x));
	my %expected;
	my %got = map { $_ => "$events->{$_}{start} $events->{$_}{sequence} $events->{$_}{etag}" }
	  keys %$events;

	foreach my $part ([ "$x-create", 'create', 0 ], [ "$x-update", 'update', 1 ])
	{
		my ($intent, $kind, $sequence) = @$part;
		my (undef, undef, undef, undef, undef, $uid, $etag) = @{ $ledger->{$intent} };

		$expected{$uid} = join(' ', $start{$kind}, $sequence, $etag // 'NULL');
	}
	is_deeply(\%got, \%expected,
		"$name: one event a booking, in the version that is known, none for the canceled");
	is_deeply(
		[ map { join(' ', @{ $ledger->{"$x-$_"} }[ 1 .. 4 ]) } qw(create update cancel) ],
		[
			'created confirmed create confirmed',
			'created confirmed update confirmed',
			'canceled confirmed cancel confirmed'
		],
		"$name: states");
	return;
}

# Break each write of some cases, and look at what is there.
sub break_writes
{
	my (@cases) = @_;
	my @names = map { "$kind-$_" } @cases;

	attach($session, $server, $proxy->url, $kind, @names);

	# What is updated and canceled below.
	foreach my $x (@names)
	{
		$session->query(
			"SELECT booking_claim('t', 'p', '$x-$_->[0]', '$x', ${\during($_->[1])})")
		  foreach [ 'old', 12 ], [ 'cancel', 16 ];
	}
	settle($node, $session);

	# Break each write once, and the reads after it.
	foreach my $case (@cases)
	{
		my ($write, @reads) = @{ $cases{$case} };
		my $path = $server->path("$kind-$case");

		$proxy->break($_, $path, $write, $case eq 'again' ? 3 : 1)
		  foreach qw(create update DELETE);
		$proxy->break('GET,query', $path, $_) foreach @reads;
	}
	foreach my $x (@names)
	{
		$session->query(
			"SELECT booking_claim('t', 'p', '$x-create', '$x', ${\during(10)})");
		$session->query(
			"SELECT booking_claim('t', 'p', '$x-update', '$x', ${\during(14)}, supersedes => '$x-old')"
		);
		$session->query("SELECT booking_cancel('t', 'p', '$x-cancel')");
	}
	settle($node, $session);

	my $ledger = ledger();

	compare($ledger, "$kind-$_", "$kind, $_") foreach @cases;
	is( $session->query(
			"SELECT intent, problem FROM booking.operation JOIN booking.intent USING (intent_id) WHERE operation.state = 'parked'"
		),
		'',
		"$kind: no operator is needed");

	my @broken = $proxy->log(sub { $_[0]{fault} });
	my %broken = map { $_->{kind} . ' ' . $_->{fault} => 1 } @broken;
	my @unused = grep { !$broken{$_} } map { ("create $_", "update $_", "DELETE $_") }
	  map { $_->[0] } @cases{@cases};
	is_deeply(\@unused, [], "$kind: each fault has happened");
	is( $session->query(
			"SELECT problem FROM booking.account WHERE account = '$kind' AND blocked_until IS NOT NULL"
		),
		'the provider asked to wait',
		"$kind: Retry-After holds the account back");
	is_clean($session, $kind);
	return;
}

# A redirect to another host: the write is refused, for whatever reason the
# server has; nothing goes there, least of all a password.
sub redirect_writes
{
	my $x = "$kind-redirect";
	my $path = $server->path($x);

	add_calendar($session, $server, $kind, $x);
	$session->query(
		"SELECT booking_claim('t', 'p', '$x-$_->[0]', '$x', ${\during($_->[1])})")
	  foreach [ 'old', 12 ], [ 'cancel', 16 ];
	settle($node, $session);
	$proxy->break($_, $path, 'redirect') foreach qw(create update DELETE);
	$session->query(
		"SELECT booking_claim('t', 'p', '$x-create', '$x', ${\during(10)})");
	$session->query(
		"SELECT booking_claim('t', 'p', '$x-update', '$x', ${\during(14)}, supersedes => '$x-old')"
	);
	$session->query("SELECT booking_cancel('t', 'p', '$x-cancel')");
	is_deeply(
		[ map { wait_state($session, "$x-$_->[0]", $_->[1]) }
			  [ 'create', 'failed rejected create rejected redirected' ],
			[ 'update', 'failed rejected update rejected redirected' ],
			[ 'cancel', 'canceling needs_operator cancel parked redirected' ] ],
		[
			'failed rejected create rejected redirected',
			'failed rejected update rejected redirected',
			'canceling needs_operator cancel parked redirected'
		],
		"$kind, redirect: create and update fail, a cancel waits for a person");
	is(Booking::Caldav::state($session, "$x-old"),
		'created confirmed create confirmed',
		"$kind, redirect: what was not updated stands");
	is_deeply([ $proxy->log(sub { $_[0]{listener} eq 'other' }) ],
		[], "$kind, redirect: nothing arrives at the other host");
	$session->query(
		"SELECT booking_resolve('t', 'p', '$x-cancel', 'exists', '{\"seen\": \"by hand\"}')"
	);
	settle($node, $session);
	is(wait_state($session, "$x-cancel", 'canceled confirmed cancel confirmed'),
		'canceled confirmed cancel confirmed',
		"$kind, redirect: told that the event exists, the worker deletes it");
	is_deeply(
		[ map { $_->{start} } values %{ $server->list($path) } ],
		['20300501T120000Z'],
		"$kind, redirect: the event that was not updated is all there is");
	is_clean($session, "$kind, redirect");
	return;
}

# Canceled while the create is on its way, or its fate is not known: what was
# made is deleted, what was not made stays so.
sub cancel_on_the_way
{
	my $x = "$kind-late";
	my $path = $server->path($x);

	add_calendar($session, $server, $kind, $x);
	foreach my $case ([ 'hold', 1 ], [ 'hold_after', 1 ], [ 'reset_after', 1 ],
		[ 'held_reset', 0 ], [ 'held_rate_limited', 0 ])
	{
		my ($fault, $made) = @$case;
		my $puts = sub {
			return
			  scalar $proxy->log(
				sub { $_[0]{path} =~ /^\Q$path\E/ && $_[0]{kind} eq 'create' && $_[0]{status} });
		};
		my $before = $puts->();

		$proxy->break('create', $path, $fault);
		$session->query(
			"SELECT booking_claim('t', 'p', '$x-$fault', '$x', ${\during(10)})");
		wait_until(
			'the create has met its fault',
			sub {
				$proxy->log(
					sub { $_[0]{path} =~ /^\Q$path\E/ && ($_[0]{fault} // '') eq $fault });
			});
		$session->query("SELECT booking_cancel('t', 'p', '$x-$fault')");
		$proxy->clear;
		settle($node, $session);
		is( $session->query(
				"SELECT concat_ws(' ', state, event) FROM booking.intent WHERE intent = '$x-$fault'"
			),
			'canceled absent',
			"$kind, canceled on the way, $fault: canceled");
		is($puts->() - $before, $made, "$kind, canceled on the way, $fault: made or not");
		is_deeply($server->list($path), {},
			"$kind, canceled on the way, $fault: no event");
	}
	return;
}

# No connection at all, one without TLS, and a name that is never resolved:
# certainly not executed.  The calendar is not looked at before, or nothing
# would be sent at all.
sub be_away
{
	my $x = "$kind-away";

	attach($session, $server, $proxy->url, $x, $x);
	$session->query(
		"SELECT booking_account_put('t', '$x', '${\$server->provider}', settings => '{\"busy_blocks\": \"none\"}')"
	);
	$session->query(
		"SELECT booking_claim('t', 'p', '$x-$_->[0]', '$x', ${\during($_->[1])})")
	  foreach [ 'old', 12 ], [ 'cancel', 16 ];
	settle($node, $session);
	my $closed = PostgreSQL::Test::Cluster::get_free_port();
	my $url = "http://127.0.0.1:$closed/";

	move_account($x, $url);
	$session->query(
		"SELECT booking_claim('t', 'p', '$x-create', '$x', ${\during(10)})");
	$session->query(
		"SELECT booking_claim('t', 'p', '$x-update', '$x', ${\during(14)}, supersedes => '$x-old')"
	);
	$session->query("SELECT booking_cancel('t', 'p', '$x-cancel')");
	foreach my $case (
		[ $url, 'connection_failed' ],
		[ $proxy->url('https'), 'tls_failed' ],
		[ $proxy->url('http', 'hang.test'), 'connect_timeout' ])
	{
		my ($url, $problem) = @$case;

		# what the worker has just taken up still goes to where the account was
		move_account($x, $url);
		my $seen = $session->query('SELECT max(attempt_id) FROM booking.attempt');
		wait_until(
			'all three were tried, or as many as may be at one time',
			sub {
				Booking::Caldav::later($node, $session);
				$session->query(<<"EOQ") >= min(3, $server->at_once);
SELECT count(DISTINCT operation_id) FROM booking.attempt JOIN booking.operation USING (operation_id)
 WHERE calendar = '$x' AND attempt.problem = '$problem' AND attempt_id > $seen
EOQ
			});
	}
	is( $session->query(
			"SELECT DISTINCT mark FROM booking.attempt JOIN booking.operation USING (operation_id)"
			  . " WHERE calendar = '$x' AND mark NOT IN ('begun', 'done')"),
		'not_executed',
		"$kind: without a connection nothing is uncertain");
	is( $session->query(
			"SELECT string_agg(DISTINCT a.problem, ' ') FROM booking.attempt a JOIN booking.operation USING (operation_id)"
			  . " WHERE calendar = '$x' AND a.mark = 'not_executed'"),
		'connect_timeout connection_failed tls_failed',
		"$kind: nor without a name");

	# The thread that resolves is still at it.
	$session->query('CREATE DATABASE victim');
	my $begin = time();
	$session->query('DROP DATABASE victim');
	cmp_ok(time() - $begin, '<', 2, "$kind: nobody waits for the name server");

	# A name that takes its time.
	move_account($x, $proxy->url('http', 'slow.ip-127-0-0-1.test'));
	settle($node, $session);
	compare(ledger(), $x, "$kind, connection refused, no TLS, slow resolver");
	is_clean($session, "$kind, away");
	return;
}

1;
