# test/t/166_webhook_health.pl
#
# What is told of sources that fail.  The first, the fifth and the twentieth
# failure in a row is an alarm in the log and among the tenant's changes, whoever
# reads those; every one is counted, and booking.recovery shows it until one
# succeeds.  A delivery that cannot be applied is a dead letter with a reason.  A
# secret or a channel that was sealed with another key fails closed, for itself:
# it keeps no other secret from working, and the channel is opened anew.  No
# source takes the name of a channel.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Digest::SHA 'hmac_sha256_hex';
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $key_file = PostgreSQL::Test::Utils::tempdir() . '/key';
my $node = booking_node('main',
	conf => "shared_preload_libraries = 'booking'\nbooking.worker = off\nbooking.secret_key_file = '$key_file'\n");
my $session = session($node);
my $n = 0;

# Another key from now on.
sub change_key
{
	my ($key) = @_;

	unlink $key_file;
	append_to_file($key_file, $key x 32);
	chmod 0600, $key_file;
	return;
}

# A delivery of Cal.com, signed with a secret; the status and the verdict.
sub deliver
{
	my ($secret, $type) = @_;
	my $body = encode_json(
		{
			triggerEvent => 'BOOKING_CREATED', createdAt => '2029-01-01T00:00:00Z',
			payload => {
				uid => 'b' . ++$n, type => $type,
				startTime => sprintf('2030-01-01T%02d:00:00Z', $n % 24), endTime => sprintf('2030-01-01T%02d:30:00Z', $n % 24)
			}
		});
	return join(' ', $session->row(sprintf(
		"SELECT status, verdict FROM booking_webhook_receive('cal', '{\"x-cal-signature-256\": \"%s\"}', convert_to(%s, 'UTF8'))",
		hmac_sha256_hex($body, $secret), sql_literal($body))));
}

# Alarms that the tenant has read, as they came.
sub alarms
{
	return $session->query("SELECT coalesce(string_agg(concat_ws(':', principal, revision, detail ->> 'reason', state), ' ' ORDER BY \"position\"), '') FROM booking_changes('t', 'watch', 1000) WHERE kind = 'alarm'");
}

change_key('a');
$session->query('CREATE EXTENSION booking CASCADE');
$session->query("SELECT booking_resource_put('t', 'room', 100)");
$session->query("SELECT booking_consumer_put('t', 'watch')");
$session->query("SELECT booking_webhook_source_put('t', 'cal', 'calcom')");
$session->query("SELECT booking_webhook_secret_put('cal', 'the first')");
$session->query("SELECT booking_webhook_map('cal', 'talk', 'room')");

# ----------------------------------------------------------------------------
# Alarms
# ----------------------------------------------------------------------------

is(deliver('the first', 'talk'), '200 accepted', 'a delivery');
is(alarms(), '', 'raises no alarm');
my $log_offset = -s $node->logfile;
is(deliver('a wrong one', 'talk'), '401 bad_signature', "failure $_") for 1 .. 21;
my $log = slurp_file($node->logfile, $log_offset);
is(join(' ', $log =~ /source "cal": (\d+) in a row, the last one with bad_signature\./g), '1 5 20', 'three alarms in the log');
is(alarms(), join(' ', map { "cal:$_:bad_signature:failed" } 1, 5, 20), 'and among the changes');
is($session->query("SELECT count(DISTINCT intent) FROM booking_changes('t', 'watch', 1000) WHERE kind = 'alarm'"), 3, 'each with a name of its own');
is_row($session, "SELECT deliveries FROM booking.webhook_count WHERE source = 'cal' AND verdict = 'bad_signature'", [21], 'all of them are counted');
is_row($session, "SELECT principal, problem, tries, calls[1] FROM booking.recovery WHERE kind = 'webhook'",
	[ 'cal', 'bad_signature', 21, "SELECT booking_webhook_secret_put('cal', :'secret')" ], 'and shown, with what to do');
is(deliver('the first', 'talk'), '200 accepted', 'one that succeeds');
is($session->query("SELECT count(*) FROM booking.recovery WHERE kind = 'webhook'"), 0, 'ends that');
is(deliver('the first', 'unknown'), '200 accepted', 'one that cannot be applied');
like(alarms(), qr/ cal:1:unmapped:failed$/, 'raises the first alarm of another row');
is_row($session, "SELECT state, reason, tries, next_at FROM booking.inbox WHERE booking = 'b$n'", [ 'failed', 'unmapped', 1, undef ],
	'it is a dead letter with a reason');
is($session->query("SELECT string_agg(concat_ws(' ', principal, kind, problem), ', ' ORDER BY kind) FROM booking.recovery"),
	'cal delivery unmapped, cal webhook unmapped', 'which is shown, and its source');

# whoever has no consumer gets no rows
$session->query("SELECT booking_resource_put('u', 'room')");
$session->query("SELECT booking_webhook_source_put('u', 'other', 'calcom')");
$session->query("SELECT booking_webhook_receive('other', '{}', 'x')");
is($session->query("SELECT count(*) FROM booking.change WHERE tenant = 'u'"), 0, 'without a consumer nothing is written');

# a consumer goes on over alarms, in order
$session->query("SELECT booking_consumer_ack('t', 'watch', (SELECT max(\"position\") FROM booking.change))");
is($session->query("SELECT count(*) FROM booking_changes('t', 'watch', 1000)"), 0, 'alarms are acknowledged as changes are');

# ----------------------------------------------------------------------------
# Another key
# ----------------------------------------------------------------------------

$session->query("SELECT booking_account_put('t', 'a', 'graph', 'https://graph.example.org/v1.0')");
$session->query("SELECT booking_calendar_put('t', 'room', 'a', 'desk\@example.org/room', 'room', 'busy')");
change_key('b');
is(deliver('the first', 'talk'), '401 no_secret', 'a secret that was sealed with another key verifies nothing');
is($session->query("SELECT booking_webhook_secret_put('cal', 'the second')"), 2, 'another secret');
is(deliver('the second', 'talk'), '200 accepted', 'works beside it');
is(deliver('the first', 'talk'), '401 bad_signature', 'which it does not make right');
fails_with($session, "SELECT booking_webhook_secret_retire('cal', 'the first')", '42704', 'it cannot be retired by what it is');
is($session->query("SELECT booking_webhook_secret_retire_number('cal', 1)"), 1, 'but by its number');

my $channel = 'c' x 32;
$session->query("INSERT INTO booking.channel (calendar_id, next_at, renew_at, ends_at, changed_at, sealed, tenant, account, state, push_url, channel, remote, secret) SELECT calendar_id, 'infinity', 'infinity', 'infinity', now(), true, 't', 'a', 'open', 'x', '$channel', 'theirs', decode(repeat('00', 92), 'hex') FROM booking.calendar");
is_row($session, "SELECT status, verdict FROM booking_webhook_receive('$channel', '{}', convert_to('{\"value\": [{\"subscriptionId\": \"s\", \"clientState\": \"x\"}]}', 'UTF8'))",
	[ 401, 'no_secret' ], 'what comes to a channel that was sealed with another key is refused');
is_row($session, "SELECT state, remote, next_at < 'infinity', refused FROM booking.channel", [ 'opening', undef, 't', 1 ],
	'and the channel is opened anew');

# ----------------------------------------------------------------------------
# Names
# ----------------------------------------------------------------------------

my $error = fails_with($session, "SELECT booking_webhook_source_put('u', '$channel', 'calcom')", '42710', 'no source takes the name of a channel');
like($error->{text}, qr/is the name of a channel/, 'and is told so');
is($session->query("SELECT count(*) FROM booking.webhook_source WHERE source = '$channel'"), 0, 'so there is none');
is_clean($session, 'at the end');

done_testing();
