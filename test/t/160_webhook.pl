# test/t/160_webhook.pl
#
# Deliveries that come at once, and in numbers.  A booking made elsewhere that
# meets a claim of the same slot has one owner with it, and the other is a
# visible conflict, whichever comes first.  The same delivery twice at once is
# one.  A delivery that cannot be applied now, for somebody holds a lock, is
# stored and answered, and applied by the worker later; so is half of a
# reschedule whose other half never came.  Many sessions that deliver the same
# bookings in orders of their own come to the same end, without a deadlock.  A
# replay of a day changes only what a fixed mapping changes.  No secret is in
# the log, or in a dump that does not ask for it.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Digest::SHA 'hmac_sha256_hex';
use JSON::PP;
use List::Util 'shuffle';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $secret = 'a secret of cal.com';
my $json = JSON::PP->new->canonical;
my $node = booking_node('main',
	conf => "shared_preload_libraries = 'booking'\nmax_connections = 50\n"
	  . "max_prepared_transactions = 10\ndeadlock_timeout = 100ms\n");
my $session = session($node);

$session->query('CREATE EXTENSION booking CASCADE');
$session->query("SELECT booking_permit_all('t', 'ann')");
$session->query("SELECT booking_resource_put('t', r) FROM unnest(ARRAY['room', 'desk', 'hall']) r");
$session->query("SELECT booking_resource_put('t', 'class', 1000)");
$session->query("SELECT booking_webhook_source_put('t', 'cal', 'calcom', '{\"pair_wait\": 2}')");
$session->query('SELECT booking_webhook_secret_put(\'cal\', ' . sql_literal($secret) . ')');
$session->query("SELECT booking_webhook_map('cal', r, r) FROM unnest(ARRAY['room', 'desk', 'hall', 'class']) r");

# An hour of 2030, as web services write it.
sub hour
{
	my ($n) = @_;
	return sprintf('2030-%02d-%02dT%02d:00:00Z', 1 + int($n / 672), 1 + int($n / 24) % 28, $n % 24);
}

# A body of Cal.com.
sub body
{
	my ($event, $uid, $version, $room, $hour, %more) = @_;
	return $json->encode(
		{
			triggerEvent => "BOOKING_$event",
			createdAt => sprintf('2029-01-01T00:%02d:00.000Z', $version),
			payload => {
				uid => $uid,
				type => $room,
				startTime => hour($hour),
				endTime => hour($hour + 1),
				%more
			}
		});
}

# The call that delivers a body.
sub delivery
{
	my ($body) = @_;
	return sprintf(
		"SELECT status, verdict FROM booking_webhook_receive('cal', '{\"x-cal-signature-256\": \"%s\"}', convert_to(%s, 'UTF8'))",
		hmac_sha256_hex($body, $secret), sql_literal($body));
}

sub claim
{
	my ($intent, $room, $hour) = @_;
	return sprintf("SELECT disposition FROM booking_claim('t', 'ann', '%s', '%s', tstzrange('%s', '%s'))",
		$intent, $room, hour($hour), hour($hour + 1));
}

my $other = session($node);

# ----------------------------------------------------------------------------
# A delivery and a claim of the same slot
# ----------------------------------------------------------------------------

$session->query('BEGIN');
is($session->query(claim('first', 'room', 1)), 'committed', 'a claim comes first');
$other->send(delivery(body('CREATED', 'second', 1, 'room', 1)));
wait_blocked(session($node), $other);
$session->query('COMMIT');
is_deeply($other->receive->{rows}, [ [ 200, 'accepted' ] ], 'the delivery is taken');
is_row($session,
	"SELECT disposition, state FROM booking.intent WHERE principal = 'cal' AND intent = 'second'",
	[ 'resource_conflict', 'conflict' ], 'and a visible conflict');
is_row($session, "SELECT count(*) FROM booking.conflict WHERE object = 'second' AND resolved_at IS NULL",
	[1], 'also as such');

$session->query('BEGIN');
is_row($session, delivery(body('CREATED', 'third', 1, 'room', 2)), [ 200, 'accepted' ], 'a delivery comes first');
$other->send(claim('fourth', 'room', 2));
wait_blocked(session($node), $other);
$session->query('COMMIT');
is_deeply($other->receive->{rows}, [ ['resource_conflict'] ], 'the claim finds the slot taken');
is_row($session, "SELECT state FROM booking.intent WHERE principal = 'cal' AND intent = 'third'",
	['committed'], 'by the delivery');

# ----------------------------------------------------------------------------
# The same at once
# ----------------------------------------------------------------------------

my $body = body('CREATED', 'same', 1, 'room', 3);
$session->query('BEGIN');
is_row($session, delivery($body), [ 200, 'accepted' ], 'a delivery');
$other->send(delivery($body));
wait_blocked(session($node), $other);
$session->query('COMMIT');
is_deeply($other->receive->{rows}, [ [ 200, 'duplicate' ] ], 'and its copy');

$body = body('CREATED', 'rolled back', 1, 'room', 4);
$session->query('BEGIN');
$session->query(delivery($body));
$other->send(delivery($body));
wait_blocked(session($node), $other);
$session->query('ROLLBACK');
is_deeply($other->receive->{rows}, [ [ 200, 'accepted' ] ], 'a copy of what never was is none');
is_row($session, "SELECT count(*) FROM booking.reservation v JOIN booking.intent i USING (intent_id) WHERE i.intent IN ('same', 'rolled back')",
	[2], 'each is booked once');

# ----------------------------------------------------------------------------
# What cannot be applied now
# ----------------------------------------------------------------------------

$session->query('BEGIN');
$session->query(claim('holds', 'desk', 1));
$other->query("SET lock_timeout = '50ms'");
is_row($other, delivery(body('CREATED', 'locked out', 1, 'desk', 1)), [ 200, 'accepted' ],
	'a delivery that has to wait too long is taken');
is_row($other, "SELECT state, reason, tries, next_at IS NOT NULL FROM booking.inbox WHERE booking = 'locked out'",
	[ 'failed', 'sqlstate_55P03', 1, 't' ], 'stored, and tried again');
$other->query('RESET lock_timeout');
$session->query('ROLLBACK');
wait_until('the worker has applied it',
	sub { $session->query("SELECT state FROM booking.inbox WHERE booking = 'locked out'") eq 'applied' });
is_row($session, "SELECT state FROM booking.intent WHERE principal = 'cal' AND intent = 'locked out'",
	['committed'], 'the worker applies it');

# ----------------------------------------------------------------------------
# Half of a reschedule
# ----------------------------------------------------------------------------

$session->query("SELECT booking_webhook_source_put('t', 'std', 'standard', '{\"pair_wait\": 2}')");
$session->query("SELECT booking_webhook_map('std', '*', 'hall')");
$session->query('SELECT booking_webhook_secret_put(\'std\', \'whsec_' . ('A' x 32) . '\')');

sub standard
{
	my ($body) = @_;
	my $time = time();
	my $mac = Digest::SHA::hmac_sha256_base64("m.$time.$body", "\0" x 24);
	return sprintf(
		"SELECT status, verdict FROM booking_webhook_receive('std', '{\"webhook-id\": \"m\", \"webhook-timestamp\": \"%s\", \"webhook-signature\": \"v1,%s=\"}', convert_to(%s, 'UTF8'))",
		$time, $mac, sql_literal($body));
}

sub event
{
	my ($type, $id, $version, $hour, %more) = @_;
	return $json->encode(
		{
			type => "booking.$type",
			timestamp => '2029-01-01T00:00:00Z',
			data => { id => $id, version => $version, start => hour($hour), end => hour($hour + 1), %more }
		});
}

is_row($session, standard(event('created', 'half', 1, 1)), [ 200, 'accepted' ], 'a booking');
is_row($session, standard(event('canceled', 'half', 2, 1, replaced_by => 'never')), [ 200, 'accepted' ],
	'half of its reschedule');
is_row($session, "SELECT count(*) FROM booking.reservation v JOIN booking.intent i USING (intent_id) WHERE i.intent = 'half'",
	[1], 'keeps its units');
wait_until('the worker has released it',
	sub { $session->query("SELECT state FROM booking.webhook_booking WHERE booking = 'half'") eq 'ended' });
is_row($session, "SELECT i.state, (SELECT count(*) FROM booking.reservation v WHERE v.intent_id = i.intent_id), b.state FROM booking.intent i, booking.inbox b WHERE i.intent = 'half' AND b.booking = 'half' AND b.version = 2",
	[ 'canceled', 0, 'applied' ], 'until the time is over');

# ----------------------------------------------------------------------------
# Many sessions
# ----------------------------------------------------------------------------

my $bookings = size(40, 400);
my @sessions = map { session($node) } 1 .. 4;
my %sql;
my $wrong = 0;

srand(seed(160));
for my $n (0 .. $bookings - 1)
{
	push @{ $sql{$_} }, shuffle(
		body('CREATED', "a$n", 1, 'class', $n % 5),
		body('RESCHEDULED', "b$n", 2, 'class', $n % 5 + 1, rescheduleUid => "a$n"),
		body('RESCHEDULED', "c$n", 3, 'class', $n % 5 + 2, rescheduleUid => "b$n"),
		$n % 2 ? body('CANCELLED', "c$n", 4, 'class', 0) : ())
	  for 0 .. $#sessions;
}
for my $at (0 .. $#{ $sql{0} })
{
	$sessions[$_]->send(delivery($sql{$_}[$at])) for 0 .. $#sessions;
}
for my $at (0 .. $#{ $sql{0} })
{
	for my $n (0 .. $#sessions)
	{
		my $result = $sessions[$n]->receive;
		$wrong++ if $result->{error} || $result->{rows}[0][0] != 200;
	}
}
is($wrong, 0, 'every delivery of four sessions is taken');
is_row($session, "SELECT count(*) FROM booking.inbox WHERE state = 'failed'", [0], 'and applied');
is_row($session,
	q{SELECT count(*) FILTER (WHERE i.state = 'committed' AND i.intent LIKE 'c%'),
	  count(*) FILTER (WHERE i.state <> 'canceled' AND i.intent NOT LIKE 'c%')
	  FROM booking.intent i WHERE i.principal = 'cal' AND i.intent ~ '^[abc]\d+$'},
	[ $bookings / 2, 0 ], 'with the same end in all orders');

# ----------------------------------------------------------------------------
# A day, replayed
# ----------------------------------------------------------------------------

my $day = size(1000, 10_000);

$session->query("SELECT booking_resource_put('t', 'new', 32767)");
$session->query("SELECT booking_resource_put('t', 'class', 32767)");
$session->query(delivery(body('CREATED', "day$_", 1, $_ % 10 ? 'class' : 'unknown', $_ % 600))) for 1 .. $day;
my $before = $session->query("SELECT md5(string_agg(i::text, '' ORDER BY intent_id)) FROM booking.intent i WHERE intent NOT LIKE 'day%0'");
my $start = Time::HiRes::time();
is_row($session, "SELECT deliveries = (SELECT count(*) FROM booking.inbox WHERE source = 'cal'), changed, failed FROM booking_webhook_replay('cal')",
	[ 't', 0, $day / 10 ], 'a replay changes nothing where nothing was mended');
figure('webhook_replay', sprintf('%.0f', $day / (Time::HiRes::time() - $start)), 'deliveries/s');
$session->query("SELECT booking_webhook_map('cal', 'unknown', 'new')");
is_row($session, "SELECT changed, failed FROM booking_webhook_replay('cal')",
	[ $day / 10, 0 ], 'and what was mended where something was');
is_row($session, "SELECT count(*) FROM booking.intent WHERE principal = 'cal' AND resources = ARRAY['new'] AND state = 'committed'",
	[ $day / 10 ], 'which is booked now');
is($session->query("SELECT md5(string_agg(i::text, '' ORDER BY intent_id)) FROM booking.intent i WHERE intent NOT LIKE 'day%0'"),
	$before, 'and nothing else');
is_row($session, "SELECT changed, failed FROM booking_webhook_replay('cal')", [ 0, 0 ], 'once');

# ----------------------------------------------------------------------------
# Prepared transactions, alarms and secrets
# ----------------------------------------------------------------------------

$session->query('BEGIN');
$session->query(delivery(body('CREATED', 'prepared', 1, 'room', 20)));
$session->query("PREPARE TRANSACTION 'p'");
$session->query("COMMIT PREPARED 'p'");
is_row($session, "SELECT state FROM booking.intent WHERE intent = 'prepared'", ['committed'],
	'a delivery in a prepared transaction');

$session->query(delivery(body('CANCELLED', 'late', 2, 'room', 21)));
my $late = $session->try(delivery(body('CREATED', 'late', 1, 'room', 21)));
is_deeply($late->{rows}, [ [ 200, 'accepted' ] ], 'a creation after the cancel is taken');
like(join("\n", map { ref $_ ? $_->{message} : $_ } @{ $late->{notices} }), qr/a booking that was canceled is not made again/,
	'with a WARNING');
is_row($session, "SELECT deliveries FROM booking.webhook_count WHERE source = 'cal' AND verdict = 'late_create'",
	[ $session->query("SELECT count(*) FROM booking.inbox WHERE source = 'cal' AND state = 'ignored' AND reason = 'canceled' AND type <> 'BOOKING_CANCELLED'") ],
	'and counted');

my $offset = -s $node->logfile;
$session->query("SELECT booking_webhook_receive('cal', '{}', 'x')") for 1 .. 21;
my $log = slurp_file($node->logfile, $offset);
is(() = $log =~ /deliveries of a webhook source fail/g, 3, 'an alarm for the first, the fifth and the twentieth in a row');
like($log, qr/Tenant "t", source "cal": 20 in a row, the last one with missing_signature\./, 'which says of whom');
unlike(slurp_file($node->logfile), qr{\Q$secret\E}, 'no secret is in the log');

my $dump = $node->safe_psql('postgres', 'SELECT 1') && qx{@{[ $node->config_data('--bindir') ]}/pg_dump -h @{[ $node->host ]} -p @{[ $node->port ]} postgres};
like($dump, qr/^COPY booking\.inbox /m, 'deliveries are dumped');
unlike($dump, qr/^COPY booking\.webhook_secret .*\n[^\\]/m, 'secrets are not');
is_clean($session, 'at the end');

done_testing();
