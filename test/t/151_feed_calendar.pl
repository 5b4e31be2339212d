# test/t/151_feed_calendar.pl
#
# What the worker does to a booking comes downstream as what callers do: each of
# its transitions is one change in the feed, also those of a worker that died in
# the middle of a request, and reminders follow what is true at the provider.  A
# reschedule moves a reminder when the provider has confirmed it and not before;
# a refused or abandoned booking has none that is due; a canceling one neither.
# An application that holds a reminder in an open transaction does not hold up
# the worker.  Proves R38 for the feed (what a dead worker left is told).

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
my ($node, $session) =
  worker_node('main', conf => "booking.poll_interval = '1h'\n");

$stub->client($session, 'a', 'store');
$session->query("SELECT booking_consumer_put('t', 'c')");
$session->query("SELECT * FROM booking_changes('t', 'c')");

# What has happened to an intent, as the feed has it: state, remote and event.
sub history
{
	my ($intent) = @_;

	$session->query("SELECT count(*) FROM booking_changes('t', 'c', 1000)");
	return $session->query(<<"EOQ");
SELECT string_agg(concat_ws(' ', revision, state, remote, event, detail ->> 'reason'), ', ' ORDER BY "position")
  FROM booking.change WHERE intent = '$intent'
EOQ
}

# The reminder of a tenant's intents, where it is and when it is due.
sub reminder
{
	return $session->query(<<'EOQ');
SELECT string_agg(concat_ws(' ', i.intent, t.task, t.state, to_char(t.due_at AT TIME ZONE 'UTC', 'HH24:MI')), ', ' ORDER BY t.task_id)
  FROM booking.task t JOIN booking.intent i USING (intent_id)
EOQ
}

sub put
{
	my ($intent, $task) = @_;

	$session->query("SELECT booking_task_put('t', 'p', '$intent', '$task', '1 hour')");
	return;
}

sub move
{
	my ($from, $to, $hour) = @_;

	return $session->query(
		"SELECT disposition FROM booking_claim('t', 'p', '$to', 'a', '[2030-01-07 $hour:00+00,2030-01-07 $hour:30+00)', supersedes => '$from')"
	);
}

# ----------------------------------------------------------------------------
# Created, moved, canceled
# ----------------------------------------------------------------------------

claim($session, 'a', 'one');
put('one', 'mail');
is_settled($session, 'one', 'create confirmed', 'created');
is(history('one'),
	'1 approved not_attempted none, 2 creating in_flight none, 3 created confirmed present',
	'each step of a creation is a change');

# The provider has the move and does not say so: the old time stands.
$stub->behave('a', 'swallow');
my $puts = $stub->requests('a', 'PUT');
is(move('one', 'two', 14), 'committed', 'moved');
wait_until('the request has arrived', sub { $stub->requests('a', 'PUT') > $puts });
is(reminder(), 'one mail waiting 09:00', 'a reminder stays until a move is confirmed');
put('two', 'own');

# The worker dies, and the next one finds what was done.  Meanwhile somebody has
# a reminder in an open transaction: of the intent that the outcome ends.
my $taker = session($node);
$taker->query('BEGIN');
$taker->query("SET booking.clock_offset = '@{[ $session->query(q{SELECT ceil(extract(epoch FROM timestamptz '2030-01-07 09:30+00' - now()))}) ]}'");
is($taker->query("SELECT intent FROM booking_task_take('t', 10, '1 hour')"), 'one', 'which is taken');
$stub->behave('a', 'store');
$session->query('SELECT pg_terminate_backend(' . worker_pid($session) . ')');
wait_until('the dead worker is noticed', sub { history('two') =~ /unknown/ });
claim($session, 'a', 'beside');
is_settled($session, 'beside', 'create confirmed', 'the worker goes on beside the open transaction');
is(operations($session, 'two'), 'update unknown', 'and passes over what it holds');
$taker->query('COMMIT');
$taker->quit;
is_settled($session, 'two', 'update confirmed', 'until it is over');
is(history('two'),
	'1 approved not_attempted none, 2 creating in_flight none, '
	  . '3 unknown pending_reconciliation unknown, 4 created confirmed present',
	'what a dead worker left is told');
is(history('one'),
	'1 approved not_attempted none, 2 creating in_flight none, 3 created confirmed present, '
	  . '4 canceled confirmed present superseded',
	'and the end of what was moved');
is(reminder(), 'two mail waiting 13:00, two own waiting 13:00', 'now the reminder is the successor\'s');

$session->query("SELECT booking_cancel('t', 'p', 'two')");
like(reminder(), qr/^two mail dropped .*, two own dropped/, 'canceling: dropped at once');
is_settled($session, 'two', 'update confirmed, cancel confirmed', 'canceled');
like(history('two'), qr/, 5 canceling not_attempted present, .*, \d+ canceled confirmed absent$/, 'each step of a cancel is a change');

# ----------------------------------------------------------------------------
# Given up, and proposed anew
# ----------------------------------------------------------------------------

$stub->client($session, 'b', 'deny');
claim($session, 'b', 'three');
put('three', 'late');
wait_until('credentials are refused',
	sub { $session->query("SELECT parked FROM booking.account WHERE account = 'b'") eq 't' });
like(history('three'), qr/^1 approved .*creating .*approved/, 'a try that came to nothing is told');
$session->query("SELECT booking_cancel('t', 'p', 'three')");
like(history('three'), qr/canceled \w+ none$/, 'and the end of it');
like(reminder(), qr/three late dropped/, 'with its reminder');

# ----------------------------------------------------------------------------
# All of it
# ----------------------------------------------------------------------------

is($session->query(<<'EOQ'), '0', 'every revision of every intent is one change');
SELECT count(*) FROM (
	(SELECT intent, r FROM booking.intent, generate_series(1, revision) r
	 EXCEPT ALL SELECT intent, revision FROM booking.change)
	UNION ALL
	(SELECT intent, revision FROM booking.change
	 EXCEPT ALL SELECT intent, r FROM booking.intent, generate_series(1, revision) r)) d
EOQ
is_clean($session, 'in the end');
$session->quit;
$node->stop;
$stub->stop;

done_testing();
