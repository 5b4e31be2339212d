# test/t/119_push.pl
#
# Channels by which providers tell that a calendar has changed: opened where
# booking.push_url says where to, renewed before they end so that there always is
# one, closed when they are not wished any more, and opened anew when the provider
# drops them.  What is told is verified, and a reason to read; nothing depends on
# it, and one setting turns all off.
#
# Proves R49 (a renewal keeps the old channel until the new one is confirmed).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::Mocked;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($node, $session, $kind, $place, $mock);

# Channels that the mock has open, oldest first.
sub channels
{
	my $channels = $mock->look->{channels};
	return map { $channels->{$_} } sort { ($channels->{$a}{expiration} // $channels->{$a}{expirationDateTime})
		  cmp($channels->{$b}{expiration} // $channels->{$b}{expirationDateTime}) }
	  grep { $channels->{$_}{open} } keys %$channels;
}

# Name and secret of a channel, as the provider delivers them.
sub delivered
{
	my ($channel) = @_;
	my ($name) = ($channel->{address} // $channel->{notificationUrl}) =~ m{/([0-9a-f]+)$};
	return ($name, $channel->{token} // $channel->{clientState});
}

sub push_url
{
	my ($url) = @_;

	$session->query("ALTER SYSTEM SET booking.push_url = '$url'");
	$session->query('SELECT pg_reload_conf()');
	return;
}

# What the provider delivers, by a direct call; the status that is answered.
sub deliver
{
	my ($name, $secret, $event) = @_;
	my ($headers, $body) =
	  $kind eq 'google'
	  ? ({ 'X-Goog-Channel-Token' => $secret, 'X-Goog-Resource-State' => 'exists' }, '')
	  : ( {},
		encode_json(
			{
				value => [
					{
						subscriptionId => 's',
						clientState => $secret,
						defined $event ? (lifecycleEvent => $event) : ()
					}
				]
			}));

	return $session->query(sprintf('SELECT status FROM booking_webhook_receive(%s, %s, convert_to(%s, \'UTF8\'))',
			map { sql_literal($_) } $name, encode_json($headers), $body));
}

sub watermark
{
	return $session->query("SELECT coalesce(max(watermark), 0) FROM booking.cursor");
}

sub stands
{
	my ($expected) = @_;
	wait_until(
		"the channels are $expected",
		sub {
			return $session->query(
				"SELECT coalesce(string_agg(state, ' ' ORDER BY channel_id), 'none') FROM booking.channel"
			) eq $expected;
		});
	return;
}

foreach (kinds())
{
	$kind = $_;
	($node, $session) = provider_node($kind);
	$place = mocked($session, $kind);
	$mock = $place->mock;
	my $google = $kind eq 'google';

	# none unless it is wished
	$session->query("CALL booking_account_check('t', 'm')");
	is($session->query('SELECT count(*) FROM booking.channel'), 0, "$kind: none without booking.push_url");

	# opened: the whole request, and a reading follows
	push_url('https://push.example.org/hook');
	stands('open');
	wait_until('a reading follows', sub { watermark() > 0 });
	my ($channel) = channels();
	my ($name, $secret) = delivered($channel);
	my $taken = $google ? 200 : 202;
	my ($request) = grep { $_->{path} =~ /watch|subscriptions/ } @{ $mock->look->{requests} };
	is("$request->{method} $request->{path}",
		$google ? 'POST /calendars/room%40x/events/watch' : 'POST /v1.0/subscriptions',
		"$kind: opened");
	my $body = decode_json($request->{body});
	my $ends = delete $body->{ $google ? 'expiration' : 'expirationDateTime' };
	like($ends, $google ? qr/^\d{13}$/ : qr/^\d{4}-\d\d-\d\dT[\d:.]+Z$/, "$kind: with an end");
	is_deeply(
		$body,
		$google ? {
			id => $name,
			type => 'web_hook',
			address => "https://push.example.org/hook/$name",
			token => $secret
		  } : {
			changeType => 'created,updated,deleted',
			notificationUrl => "https://push.example.org/hook/$name",
			lifecycleNotificationUrl => "https://push.example.org/hook/$name",
			resource => '/users/desk%40x/events',
			clientState => $secret
		  },
		"$kind: and nothing else");
	like($secret, qr/^[0-9a-f]{64}$/, "$kind: the secret is long");

	# what is told is verified, and a reason to read
	my $mark = watermark();
	is(deliver($name, $secret), $taken, "$kind: a delivery");
	wait_until('the calendar is read', sub { watermark() > $mark });
	$mark = watermark();
	is(deliver($name, 'x' . substr($secret, 1)), 401, "$kind: with another secret");
	is(deliver($name, substr($secret, 1)), 401, "$kind: with a part of it");
	is(deliver(reverse($name) . '0', $secret), 404, "$kind: of nobody");
	my $someone = session($node);
	$session->query('CREATE ROLE someone');
	$someone->query('SET ROLE someone');
	is($someone->sqlstate('SELECT secret FROM booking.channel'), '42501', "$kind: no role reads it");
	is($someone->sqlstate("SELECT booking_webhook_receive('a', '{}', '')"), '42501', "$kind: nor delivers");
	$someone->quit;

	# renewed when half of its time is over: there is one all the while
	$mock->fault('(POST|PATCH) .*(watch|subscriptions)', 'drop_before', 2);
	$session->query("UPDATE booking.channel SET renew_at = '-infinity'"
		  . ($google ? '' : ", next_at = '-infinity'"));
	Booking::Caldav::later($node, $session) for 1;
	wait_until(
		'the renewal fails',
		sub { $session->query('SELECT max(tries) FROM booking.channel') > 0 });
	is(scalar channels(), 1, "$kind: a renewal that fails keeps the channel");
	wait_until(
		'it is renewed',
		sub {
			Booking::Caldav::later($node, $session);
			my @open = channels();
			return @open == 1 && ($open[0]{expiration} // $open[0]{expirationDateTime}) ne $ends;
		});
	stands('open');
	my ($renewed, $its_secret) = delivered((channels())[0]);
	if ($google)
	{
		isnt($renewed, $name, "$kind: by another one");
		is(deliver($name, $secret), 404, "$kind: and the old one is closed");
		my @order = map { $_->{path} =~ /watch$/ ? 'watch' : 'stop' }
		  grep { $_->{path} =~ /watch$|stop$/ } @{ $mock->look->{requests} };
		is($order[-1], 'stop', "$kind: after the new one was open");
	}
	else
	{
		is($renewed, $name, "$kind: in place");
		ok( scalar(grep { $_->{method} eq 'PATCH' && $_->{path} =~ m{^/v1.0/subscriptions/sub-} }
				@{ $mock->look->{requests} }),
			"$kind: of the subscription");
	}

	# dropped by the provider, which says so, or ended without a word
	if ($google)
	{
		$session->query("UPDATE booking.channel SET ends_at = '-infinity'");
	}
	else
	{
		is(deliver($renewed, $its_secret, 'subscriptionRemoved'), 202, "$kind: it is told that it is lost");
	}
	wait_until(
		'there is another one',
		sub { (grep { (delivered($_))[0] ne $renewed } channels()) > 0 });
	stands('open');
	my ($again) = grep { (delivered($_))[0] ne $renewed } channels();
	isnt((delivered($again))[0], $renewed, "$kind: and opened anew");
	if (!$google)
	{
		my $patches = $mock->count('PATCH');

		deliver(delivered($again), 'reauthorizationRequired');
		wait_until('it is renewed', sub { $mock->count('PATCH') > $patches });
		pass("$kind: it wants to be renewed, and is");
		deliver(delivered($again), 'missed');
		$mock->fault('PATCH .*subscriptions', [ 404, 'ResourceNotFound' ]);
		$session->query("UPDATE booking.channel SET next_at = '-infinity'");
		wait_until(
			'there is another one',
			sub { (delivered((channels())[-1]))[0] ne (delivered($again))[0] || channels() > 2 });
		stands('open');
		pass("$kind: one that is gone at its renewal is opened anew");
	}

	# refused for good: not asked again and again; the setting of an account
	$session->query("SELECT booking_account_put('t', 'm', '$kind', settings => '{\"push\": \"off\"}')");
	stands('none');
	pass("$kind: off for an account: closed");
	$mock->fault('POST .*(watch|subscriptions)',
		$google ? [ 400, 'push.webhookUrlNotHttps' ] : [ 400, 'InvalidRequest' ], 1000);
	$session->query("SELECT booking_account_put('t', 'm', '$kind', settings => '{}')");
	wait_until(
		'it is refused',
		sub { $session->query('SELECT count(problem) FROM booking.channel') == 1 });
	is( $session->query(
			"SELECT state, next_at > now() + current_setting('booking.clock_offset')::interval + '20 h' FROM booking.channel"),
		"opening\x1ft", "$kind: what is refused is not asked for again soon");
	$mock->set(faults => []);
	push_url('https://push.example.org/other');
	wait_until(
		'there is one at the other URL',
		sub {
			grep { ($_->{address} // $_->{notificationUrl}) =~ m{/other/} } channels();
		});
	stands('open');
	pass("$kind: another URL, another channel");

	# bookings go on, and removal closes
	$session->query(
		"SELECT FROM booking_claim('t', 'p', 'a', 'room', '[2030-05-01 10:00+00, 2030-05-01 11:00+00)')");
	is(wait_state($session, 'a', 'created confirmed create confirmed'),
		'created confirmed create confirmed', "$kind: bookings go on");
	my ($last) = grep { ($_->{address} // $_->{notificationUrl}) =~ m{/other/} } channels();
	$session->query("SELECT booking_calendar_remove('t', 'room')");
	is(deliver(delivered($last)), 404, "$kind: a calendar that is removed is not read");
	stands('none');
	is(scalar(grep { ($_->{address} // $_->{notificationUrl}) =~ m{/other/} } channels()),
		0, "$kind: and its channel is closed");
	push_url('');

	is_deeply($mock->look->{complaints}, [], "$kind: the mock has no complaint");
	unlike(slurp_file($node->logfile), qr/\Q$secret\E|SECRET/, "$kind: no secret is in the log");
	is_clean($session, $kind);
	$node->stop;
}

done_testing();
