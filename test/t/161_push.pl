# test/t/161_push.pl
#
# Pushes of providers as they come: to bookingd, at the address that the provider
# was told, under booking.push_url.  A channel is verified by its own secret and
# asks for a round, for which polling would have been too late; Microsoft's
# question is answered, and what happens to its subscription is heeded.  What is
# not from the provider is refused, counted and told nothing, and the role of
# bookingd may do nothing else.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::Daemon;
use Booking::Mocked;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my ($node, $session, $mock, $daemon);

# A channel that the mock has open, but for one: the path of its address, and its
# secret.
sub channel
{
	my ($but) = @_;

	foreach my $channel (values %{ $mock->look->{channels} })
	{
		my ($path) = ($channel->{address} // $channel->{notificationUrl}) =~ m{^https://hooks\.example\.org(/.*)$};

		return ($path, $channel->{token} // $channel->{clientState})
		  if $channel->{open} && $path ne ($but // '');
	}
	return;
}

sub watermark
{
	return $session->query('SELECT coalesce(max(watermark), 0) FROM booking.cursor');
}

# Wait until nothing is asked for or open, so that what comes next is seen.
sub quiet
{
	wait_until(
		'nothing is to be read',
		sub {
			return $session->query(
				"SELECT (SELECT count(*) FROM booking.sync_request) + (SELECT count(*) FROM booking.cursor WHERE started_at IS NOT NULL) + (SELECT count(*) FROM booking.channel WHERE state <> 'open')"
			) eq '0';
		});
	return watermark();
}

# A notification of Microsoft.
sub notification
{
	my ($secret, $event) = @_;
	return encode_json(
		{
			value => [
				{
					subscriptionId => 'sub',
					clientState => $secret,
					defined $event ? (lifecycleEvent => $event) : (changeType => 'updated')
				}
			]
		});
}

# What the provider sends; the status that is answered.
sub deliver
{
	my ($kind, $path, $secret, $what) = @_;
	my $answer =
	  $kind eq 'google'
	  ? $daemon->post($path, '', "X-Goog-Channel-Token: $secret", 'X-Goog-Channel-ID: ' . substr($path, 10),
		'X-Goog-Resource-State: ' . ($what // 'exists'), 'X-Goog-Message-Number: 7')
	  : $daemon->post($path, notification($secret, $what), 'Content-Type: application/json');

	return $answer->{status};
}

foreach my $kind (kinds())
{
	my $google = $kind eq 'google';
	my $taken = $google ? 200 : 202;

	# no round begins by itself
	($node, $session) = provider_node($kind, conf => "booking.push_url = 'https://hooks.example.org/webhooks/'\n");
	$session->query('CREATE ROLE hooks LOGIN');
	$session->query('GRANT EXECUTE ON FUNCTION booking_webhook_receive(text, jsonb, bytea, text) TO hooks');
	$daemon = Booking::Daemon->start($node, dbname => $node->connstr('postgres') . ' user=hooks');
	$mock = mocked($session, $kind)->mock;

	wait_until('a channel is open', sub { my @open = channel(); return @open > 0 });
	my ($path, $secret) = channel();
	like($path, qr{^/webhooks/[0-9a-f]{32}$}, "$kind: the provider is told where to");
	my $mark = quiet();

	# the question before a subscription, and the first word of a channel
	if ($google)
	{
		is(deliver($kind, $path, $secret, 'sync'), 200, "$kind: the first message of a channel");
	}
	else
	{
		my $answer = $daemon->post("$path?validationToken=Validation%3A+are+you+there%3F%20%3C%26", '');
		is("$answer->{status} $answer->{body}", '200 Validation: are you there? <&', "$kind: the question is answered");
		like($answer->{head}, qr{^Content-Type: text/plain\b}mi, "$kind: in plain text");
	}
	is($session->query('SELECT count(*) FROM booking.sync_request'), 0, "$kind: which asks for nothing");

	# a push: a round begins
	is(watermark(), $mark, "$kind: no round by itself");
	is(deliver($kind, $path, $secret), $taken, "$kind: a push");
	wait_until('a round began', sub { watermark() > $mark });
	pass("$kind: a round begins");
	$mark = quiet();

	# a wrong secret, and a name that is nobody's
	is(deliver($kind, $path, 'x' . substr($secret, 1)), 401, "$kind: a wrong secret");
	is($daemon->post($path, '')->{status}, 401, "$kind: and none");
	is($session->query('SELECT refused FROM booking.channel'), 2, "$kind: are counted");
	my @answers = map { $daemon->post("/webhooks/$_", notification($secret), "X-Goog-Channel-Token: $secret") } '0' x 32, 'nobody';
	is($_->{status} . $_->{body}, "404not found\n", "$kind: of nobody nothing is told") for @answers;
	is($session->query('SELECT count(*) FROM booking.sync_request'), 0, "$kind: nothing is read for strangers");
	is($session->query('SELECT count(*) FROM booking.inbox') + $session->query('SELECT count(*) FROM booking.webhook_count'),
		0, "$kind: and nothing kept");
	is(watermark(), $mark, "$kind: no round began");

	# what happens to a subscription
	if (!$google)
	{
		is(deliver($kind, $path, $secret, 'missed'), 202, "$kind: something was missed");
		wait_until('a round began', sub { watermark() > $mark });
		pass("$kind: so it is read");
		quiet();
		my $patches = $mock->count('PATCH');
		is(deliver($kind, $path, $secret, 'reauthorizationRequired'), 202, "$kind: it wants to be renewed");
		wait_until('it is renewed', sub { $mock->count('PATCH') > $patches });
		pass("$kind: and is");
		$mark = quiet();
		is(deliver($kind, $path, $secret, 'subscriptionRemoved'), 202, "$kind: it is lost");
		wait_until('there is another one', sub { my @open = channel($path); return @open > 0 });
		quiet();
		is(deliver($kind, $path, $secret), 404, "$kind: and another one in its place");
		my ($other, $its) = channel($path);
		is(deliver($kind, $other, $its), 202, "$kind: which is heard");
	}

	# the role of bookingd
	my $hooks = session($node, user => 'hooks');
	is($hooks->sqlstate($_), '42501', "$kind: bookingd may not: $_")
	  for 'SELECT secret FROM booking.channel', 'UPDATE booking.channel SET refused = 0', "SELECT booking_sync('t', 'room')";
	$hooks->quit;

	my $name = substr($path, 10);
	unlike($daemon->log, qr/\Q$secret\E|\Q$name\E|validationToken|are you there/, "$kind: bookingd's log is silent");
	is($daemon->stop, 0, "$kind: bookingd ends");
	unlike(slurp_file($node->logfile), qr/\Q$secret\E|are you there/, "$kind: no secret is in the server's log");
	like(slurp_file($node->logfile), qr/deliveries to a channel are refused/, "$kind: strangers are");
	is_deeply($mock->look->{complaints}, [], "$kind: the mock has no complaint");
	is_clean($session, $kind);
	$node->stop;
}

done_testing();
