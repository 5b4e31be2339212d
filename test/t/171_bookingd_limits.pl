# test/t/171_bookingd_limits.pl
#
# Whoever sends to bookingd, and whatever, it must go on serving the others, in
# bounded memory and time: large bodies, many headers, many deliveries, requests
# that never end and bytes that are no request.  The same is sent to a build
# with sanitizers, with garbled requests of all kinds.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Daemon;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $node = booking_node('main');
my $session = session($node);
my @standin = Booking::Daemon::install_standin($session);
my @limits = (
	@standin,
	qw(--max-body=64kB --max-memory=1MB --max-headers=50 --max-header-size=16kB),
	qw(--rate=0 --request-timeout=2 --pool=2 --max-connections=600));

# Bytes of a request with so many headers.
sub with_headers
{
	my ($count, $length) = @_;

	return "POST /webhooks/s HTTP/1.1\r\nHost: h\r\n"
	  . join('', map { "X-$_: " . 'v' x $length . "\r\n" } 1 .. $count)
	  . "Content-Length: 1\r\n\r\nx";
}

# What may not be, each with the status that it must get; 0 is a connection that
# was just closed.
my @refused = (
	[ 'a body that announces a byte too much', 413, Booking::Daemon::request('POST', '/webhooks/s', 'x' x 65537) ],
	[ 'a gigabyte that is only announced', 413, "POST /webhooks/s HTTP/1.1\r\nHost: h\r\nContent-Length: 1073741824\r\n\r\n" ],
	[ 'more than any number', 413, "POST /webhooks/s HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999999\r\n\r\n" ],
	[ 'a chunked body that grows too large', 413,
		"POST /webhooks/s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
		  . join('', map { "2000\r\n" . 'x' x 0x2000 . "\r\n" } 1 .. 9) . "0\r\n\r\n" ],
	[ 'one header too many', 431, with_headers(49, 1) ],
	[ '10,000 headers', 431, with_headers(10_000, 1) ],
	[ 'a header of 100 kB', 431, with_headers(1, 100_000) ],
	[ 'an address of 100 kB', 414, Booking::Daemon::request('POST', '/webhooks/' . 'a' x 100_000, 'x') ],
	[ 'a negative length', 400, "POST /webhooks/s HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n" ],
	[ 'a length in words', 400, "POST /webhooks/s HTTP/1.1\r\nHost: h\r\nContent-Length: many\r\n\r\n" ],
	[ 'no host', 400, "POST /webhooks/s HTTP/1.1\r\nContent-Length: 1\r\n\r\nx" ],
	[ 'an unknown encoding', 400, "POST /webhooks/s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\nx" ]);

# Assert that a daemon refuses all of them and then still works.
sub refuses_all
{
	my ($daemon, $name) = @_;

	for (@refused)
	{
		my ($what, $status, $bytes) = @$_;
		is($daemon->exchange($bytes)->{status}, $status, "$name: $what");
	}
	still_works($daemon, $name);
	return;
}

sub still_works
{
	my ($daemon, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return is($daemon->post('/webhooks/s', 'x')->{status}, 200, "$name: a delivery works");
}

# Send a body that never ends, as fast as it is taken; returns what was taken.
sub flood
{
	my ($daemon, $head, $piece) = @_;
	my $socket = $daemon->connect;
	my $sent = 0;

	Booking::Daemon::send_bytes($socket, $head);
	while ($sent < 1_073_741_824 && Booking::Daemon::send_bytes($socket, $piece))
	{
		$sent += length $piece;
	}
	return $sent;
}

# Open many requests that come a byte at a time, and assert that all are ended
# in time, while another sender is served.
sub outlasts_slow_ones
{
	my ($daemon, $name, $count) = @_;
	my $begin = time();
	my @open = map {
		my $socket = $daemon->connect;
		Booking::Daemon::send_bytes($socket,
			$_ % 2
			? "POST /webhooks/s HTTP/1.1\r\nHost: h\r\nX-Slow: "
			: "POST /webhooks/s HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n");
		$socket
	} 1 .. $count;
	my $served = 0;
	my $slowest = 0;
	my @told;

	# each turn of the loop is a byte on every connection
	while (@open && time() - $begin < 30)
	{
		my $asked = time();

		$served++ if $daemon->post('/webhooks/s', 'x')->{status} == 200;
		$slowest = time() - $asked if time() - $asked > $slowest;
		@open = grep {
			my $socket = $_;
			my $answer = Booking::Daemon::read_answer($socket, 0.0001);
			push @told, $answer->{status} if defined $answer->{status};
			!defined $answer->{status} && Booking::Daemon::send_bytes($socket, 'a')
		} @open;
	}
	my $took = time() - $begin;

	is(scalar @open, 0, "$name: all $count slow requests were ended");
	cmp_ok($took, '<', 15, "$name: in time");
	cmp_ok(scalar(grep { $_ == 408 } @told), '>', $count / 2, "$name: most were told 408");
	cmp_ok($served, '>', 0, "$name: others were served meanwhile");
	cmp_ok($slowest, '<', 2, "$name: without waiting for them");
	cmp_ok($daemon->metric('bookingd_requests_total{status="408",verdict="refused_time"}'),
		'>=', $count / 2, "$name: and they are counted");
	return;
}

# Garble a valid request in one of many ways.
sub garble
{
	my $bytes = Booking::Daemon::request('POST', '/webhooks/s?q=%41', 'body' x int rand 40,
		'X-One: 1', 'Expect: 100-continue');
	my @ways = (
		sub { substr($bytes, int rand length $bytes, 1) = chr int rand 256; },
		sub { $bytes = substr $bytes, 0, int rand length $bytes; },
		sub { substr($bytes, int rand length $bytes, 0) = chr(int rand 256) x int rand 3000; },
		sub { $bytes =~ s/\r\n/\n/g; },
		sub { $bytes =~ s/\r\n/\r/; },
		sub { $bytes =~ s/Content-Length: \d+/'Content-Length: ' . int rand 1e12/e; },
		sub { $bytes =~ s/Content-Length: \d+/Transfer-Encoding: chunked/; },
		sub { $bytes =~ s/HTTP\/1\.1/'HTTP\/' . rand 3/e; },
		sub { $bytes =~ s/%41/'%' . chr(int rand 256) . chr(int rand 256)/e; },
		sub { $bytes =~ s/Host: localhost/"Host: a\r\n b\r\n\tc"/e; },
		sub { $bytes .= $bytes x int rand 4; },
		sub { $bytes = join '', map { chr int rand 256 } 1 .. rand 600; },
		sub { $bytes =~ s/^POST/join '', map { chr 33 + int rand 90 } 1 .. rand 40/e; },
		sub { $bytes =~ s/X-One/\0X-\0One/; },
		sub { $bytes =~ s/\r\n\r\n.*/"\r\n\r\n" . sprintf("%x;ext\r\n", rand 1e18)/se; });

	$ways[ int rand @ways ]->() for 0 .. int rand 3;
	return $bytes;
}

# Send many of them, some on connections that are closed at once.
sub survives_garbage
{
	my ($daemon, $name, $count) = @_;
	my %seen;

	for my $n (1 .. $count)
	{
		my $socket = $daemon->connect;

		Booking::Daemon::send_bytes($socket, garble());
		shutdown $socket, 1 unless $n % 3 == 0;
		next if $n % 7 == 0;
		my $status = Booking::Daemon::read_answer($socket, $n % 3 == 0 ? 0.002 : 10)->{status};
		$seen{ $status // 'open' }++;
	}
	note "$name: answers to garbage: ", join ' ', map { "$_:$seen{$_}" } sort keys %seen;
	cmp_ok(($seen{400} // 0) + ($seen{0} // 0), '>', $count / 20, "$name: garbage is refused");
	cmp_ok($seen{200} // 0, '>', 0, "$name: what is still a request is served");
	still_works($daemon, "$name, after garbage");
	return;
}

# As it is shipped.
my $daemon = Booking::Daemon->start($node, args => \@limits);
still_works($daemon, 'at first');
my $idle_files = $daemon->descriptors;
refuses_all($daemon, 'shipped');
is($daemon->post('/webhooks/s', 'x' x 65536)->{status}, 200, 'the largest body passes');
is($daemon->exchange(with_headers(48, 1))->{status}, 200, 'the greatest number of headers passes');

cmp_ok(flood($daemon, "POST /webhooks/s HTTP/1.1\r\nHost: h\r\nContent-Length: 1073741824\r\n\r\n", 'x' x 65536),
	'<', 50_000_000, 'a gigabyte of body is not taken');
cmp_ok(flood($daemon, "POST /webhooks/s HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", "10000\r\n" . 'x' x 65536 . "\r\n"),
	'<', 50_000_000, 'nor one in chunks');
cmp_ok(flood($daemon, "POST /webhooks/s HTTP/1.1\r\n", "X-Header: value\r\n" x 100),
	'<', 50_000_000, 'nor headers without end');
still_works($daemon, 'after floods');

outlasts_slow_ones($daemon, 'shipped', 200);

# Memory for bodies is one budget: 16 bodies that are not yet complete fill it,
# and the next one is refused, until they are gone.
my @holders = map {
	my $socket = $daemon->connect;
	Booking::Daemon::send_bytes($socket,
		"POST /webhooks/s HTTP/1.1\r\nHost: h\r\nContent-Length: 65536\r\n\r\n" . 'x' x 65535);
	$socket
} 1 .. 16;
wait_until('their bodies are in memory', sub { return $daemon->metric('bookingd_body_bytes') >= 16 * 65535; });
is($daemon->post('/webhooks/s', 'x' x 65536)->{status}, 503, 'there is no memory for one more body');
for (@holders)
{
	Booking::Daemon::send_bytes($_, 'x');
	is(Booking::Daemon::read_answer($_)->{status}, 200, 'a body that was held is taken');
}
is($daemon->metric('bookingd_body_bytes'), 0, 'all memory for bodies is given back');
is($daemon->post('/webhooks/s', 'x' x 65536)->{status}, 200, 'then there is room');

seed(171);
survives_garbage($daemon, 'shipped', size(600, 20_000));

wait_until('all connections are closed', sub { return $daemon->metric('bookingd_connections') == 0; });
cmp_ok($daemon->descriptors, '<=', $idle_files + 1, 'no descriptor is lost');
my $peak = $daemon->peak_kb;
figure('memory of bookingd at most, after all of it (kB)', $peak);
cmp_ok($peak, '<', 65536, 'memory is bounded');
is($daemon->stop, 0, 'it ends with 0');

# When all connections are taken, a sender waits until one is given back.
$daemon = Booking::Daemon->start($node,
	args => [ @standin, qw(--max-connections=4 --request-timeout=1) ]);
my @takers = map { $daemon->connect } 1 .. 4;
wait_until('all connections are taken', sub { return $daemon->metric('bookingd_connections') == 4; });
still_works($daemon, 'after others gave up their connections');
is(scalar(grep { Booking::Daemon::read_answer($_)->{status} == 0 } @takers), 4, 'those who did nothing are gone');
is($daemon->stop, 0, 'it ends with 0');

# Rates are for each source.
$daemon = Booking::Daemon->start($node, args => [ @standin, qw(--rate=1 --burst=3) ]);
my @statuses = map { $daemon->post('/webhooks/busy', 'x') } 1 .. 8;
is((grep { $_->{status} == 200 } @statuses[ 0 .. 2 ]), 3, 'the burst passes');
is((grep { $_->{status} == 429 } @statuses), (grep { $_->{status} != 200 } @statuses), 'then 429');
cmp_ok(scalar(grep { $_->{status} == 429 } @statuses), '>=', 3, 'for most');
like($statuses[7]{head}, qr/^Retry-After: \d+\r?$/m, 'with Retry-After');
is($daemon->post('/webhooks/other', 'x')->{status}, 200, 'another source is not touched');
wait_until('time brings the source back',
	sub { return $daemon->post('/webhooks/busy', 'x')->{status} == 200; });

# Made-up names take the rate of each other, not of one that is known.
$daemon->post("/webhooks/madeup-$_", 'x') for 1 .. 5;
is($daemon->post('/webhooks/third', 'x')->{status}, 200, 'nor by many names');
is($daemon->stop, 0, 'it ends with 0');

# The same with sanitizers, whose memory is not ours to judge.
$daemon = Booking::Daemon->start($node,
	program => Booking::Daemon::sanitized_program(), args => \@limits);
refuses_all($daemon, 'sanitized');
outlasts_slow_ones($daemon, 'sanitized', 40);
survives_garbage($daemon, 'sanitized', size(600, 20_000));
$daemon->post("/webhooks/s?$_", 'x')
  for qw(validationToken=x status=500 error=22012 error=42883 refuse-at-commit);
$node->stop('immediate');
wait_until('it notices', sub { return $daemon->post('/webhooks/s', 'x')->{status} == 503; });
$node->start;
$daemon->wait_ready;
still_works($daemon, 'sanitized, with the database back');
is($daemon->stop, 0, 'it ends with 0 and without a leak');
unlike($daemon->log, qr/Sanitizer|runtime error/, 'the sanitizers have nothing to say');

done_testing();
