# test/t/111_http_limits.pl
#
# Nothing from outside may take more time or memory than the settings allow,
# and nothing may be reached that they do not allow: each time-out is tried
# with a server that stalls at that very point, each cap with an answer that
# goes beyond it, and the rule for addresses with names that lead to forbidden
# ones.
#
# Proves R93 (every time-out applies), R98 (the cap counts decoded bytes), and
# R100 (addresses are judged after resolution).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Http;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $http = Booking::Http->new;
my $node = $http->start_node('main', conf => "max_files_per_process = 100");
my $session = session($node);

$http->install($session);

# Assert the answer to one request.
sub answers_with
{
	my ($name, $opt, $expected) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($answer) = $http->run($session, method => 'PUT', body => 'event', %$opt);
	my %seen = map { $_ => $answer->{$_} } keys %$expected;

	return is_deeply(\%seen, $expected, $name);
}

# Assert the answer, and that it came after so many milliseconds, not much later.
sub ends_after
{
	my ($name, $milliseconds, $opt, $expected) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $begin = time();

	answers_with($name, $opt, $expected);
	my $took = (time() - $begin) * 1000;

	cmp_ok($took, '>=', $milliseconds - 20, "$name: not before its time");
	cmp_ok($took, '<', $milliseconds + 3000, "$name: nor long after");
	return;
}

# A figure of the server process, in kilobytes.
sub memory
{
	my ($what) = @_;
	my ($value) = slurp_file("/proc/@{[$session->backend_pid]}/status") =~ /^$what:\s+(\d+) kB/m;
	return $value;
}

# ----------------------------------------------------------------------------
# Time-outs, each with a server that stalls there
# ----------------------------------------------------------------------------

my %not_sent = (transport => 'not_sent', problem => 'connect_timeout', status => 0);
my %insecure = (insecure_hosts => 'hang.test,127.0.0.1');

ends_after('a name that is not resolved', 400,
	{ url => $http->url('ok', host => 'hang.test'), connect_ms => 400, %insecure },
	\%not_sent);
ends_after('a connection that is not accepted', 400,
	{ url => $http->url('ok', listener => 'full'), connect_ms => 400 },
	\%not_sent);
ends_after('TLS that is not answered', 400,
	{ url => $http->url('ok', listener => 'mute', scheme => 'https'), connect_ms => 400 },
	\%not_sent);
ends_after(
	'TLS that is not answered, within the total time', 400,
	{
		url => $http->url('ok', listener => 'mute', scheme => 'https'),
		total_ms => 400,
	},
	{ transport => 'not_sent', problem => 'total_timeout' });
ends_after('a request that is not answered', 400,
	{ url => $http->url('silent'), first_byte_ms => 400 },
	{ transport => 'lost', problem => 'first_byte_timeout', status => 0 });
ends_after('a request that is answered by an interim answer only', 400,
	{ url => $http->url('interim_stall'), first_byte_ms => 400 },
	{ transport => 'lost', problem => 'first_byte_timeout', status => 0 });
ends_after('a request that is not answered within the total time', 400,
	{ url => $http->url('silent'), total_ms => 400 },
	{ transport => 'lost', problem => 'total_timeout', status => 0 });

my %watched = (trickle_bytes => 1000, trickle_seconds => 1);
ends_after('headers that stop', 1000,
	{ url => $http->url('stall_in_headers'), %watched },
	{ transport => 'lost', problem => 'trickle_timeout', status => 201, etag => undef });
ends_after('a body that stops', 1000,
	{ url => $http->url('stall_in_body'), %watched },
	{ transport => 'lost', problem => 'trickle_timeout', status => 201, etag => '"whole"' });
ends_after('a body that trickles', 1000,
	{ url => $http->url('trickle'), %watched },
	{ transport => 'lost', problem => 'trickle_timeout', status => 200 });
ends_after('a body that trickles for longer than the total time', 600,
	{ url => $http->url('trickle'), trickle_bytes => 1, total_ms => 600 },
	{ transport => 'lost', problem => 'total_timeout', status => 200 });
ends_after('time to think is no trickle', 1500,
	{ url => $http->url('late?ms=1500'), %watched },
	{ transport => 'complete', status => 200, body => 'late' });
ends_after(
	'redirects do not begin the total time anew', 600,
	{
		url => $http->url('redirect?to=' . ($http->url('late?ms=5000') =~ s{^\w+://[^/]+}{}r)),
		method => 'GET',
		read => 1,
		follow => 1,
		body => undef,
		total_ms => 600,
	},
	{ transport => 'lost', problem => 'total_timeout' });

# ----------------------------------------------------------------------------
# Caps
# ----------------------------------------------------------------------------

my %too_large = (transport => 'too_large', problem => 'answer_too_large', body => undef);
my $before = memory('VmHWM');

answers_with('a body of a gigabyte in a megabyte',
	{ url => $http->url('bomb?mb=1000') }, { %too_large, status => 200 });
answers_with('a body of ten megabytes with its length',
	{ url => $http->url('big?bytes=10000000') }, { %too_large, status => 200, etag => '"big"' });
cmp_ok(memory('VmHWM') - $before, '<', 8192, 'memory is flat under a bomb');

answers_with('a body as large as the cap',
	{ url => $http->url('big?bytes=100000'), max_body => 100_000 },
	{ transport => 'complete', body_len => 100_000 });
answers_with('a body one byte larger',
	{ url => $http->url('big?bytes=100001'), max_body => 100_000 }, \%too_large);
answers_with('no body where none is allowed',
	{ url => $http->url('status?code=204'), max_body => 0 }, { transport => 'complete' });
answers_with('a compressed body, counted as it unpacks',
	{ url => $http->url('compressed'), max_body => 499 }, \%too_large);
answers_with('a thousand headers', { url => $http->url('many_headers') }, \%too_large);
answers_with('headers of a hundred kilobytes', { url => $http->url('long_headers') }, \%too_large);
answers_with('interim answers without end',
	{ url => $http->url('interim_forever') }, { %too_large, status => 0 });

# ----------------------------------------------------------------------------
# Memory does not grow with the number of requests
# ----------------------------------------------------------------------------

# So many requests of all kinds, some at a time.
sub many
{
	my ($count) = @_;
	my @behaviours = qw(ok drop cut_length compressed reset_after big?bytes=50000);

	return $session->query(
		'SELECT count(*) FROM ('
		  . $http->sql(
			url => [ map { $http->url($behaviours[ $_ % @behaviours ]) } 1 .. $count ],
			read => [ map { $_ % 3 == 0 } 1 .. $count ],
			method => [ map { $_ % 3 == 0 ? 'GET' : 'PUT' } 1 .. $count ],
			parallel => 8)
		  . ') answers');
}

# What malloc keeps varies by megabytes, so the lowest of five looks counts.
sub floor_of_memory
{
	my $lowest;

	foreach (1 .. 5)
	{
		many(200);
		my $memory = memory('RssAnon');
		$lowest = $memory unless defined $lowest && $lowest < $memory;
	}
	return $lowest;
}

$before = floor_of_memory();
my $rounds = size(0, 490);
many(200) for 1 .. $rounds;
my $growth = floor_of_memory() - $before;
figure('requests', ($rounds + 5) * 200);
figure('growth of memory in kB', $growth);
cmp_ok($growth, '<', 4096, 'memory does not grow with the number of requests');

# ----------------------------------------------------------------------------
# Descriptors: given back, and not taken from the server
# ----------------------------------------------------------------------------

my $closed = PostgreSQL::Test::Cluster::get_free_port();
my @answers = $http->run($session, url => [ ("http://127.0.0.1:$closed/") x 300, $http->url('ok') ]);
is($answers[299]{problem}, 'connection_failed', 'after 300 connections that failed');
is($answers[300]{transport}, 'complete', 'there is room for one that does not');

@answers = $http->run(
	$session,
	url => [ map { $http->url('late?ms=300') } 1 .. 60 ],
	parallel => 60);
my %count;
$count{"$_->{transport} " . ($_->{problem} // '')}++ for @answers;
is_deeply(
	[ sort keys %count ],
	[ 'complete ', 'not_sent too_many_connections' ],
	'more connections than the server has room for are not opened');
cmp_ok($count{'complete '}, '>', 5, 'the others are');
answers_with('and the next one is', { url => $http->url('ok') }, { transport => 'complete' });

# ----------------------------------------------------------------------------
# Addresses
# ----------------------------------------------------------------------------

my @special = qw(
  0.0.0.0 0.1.2.3 10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1
  127.255.255.255 169.254.0.1 169.254.169.254 172.16.0.0 172.31.255.255
  192.0.0.192 192.0.2.1 192.168.0.0 192.168.255.255 198.18.0.1 198.19.255.255
  198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255
  :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254
  ::ffff:192.168.1.1 ::ffff:0.0.0.0 ::ffff:224.0.0.1 64:ff9b::10.0.0.1
  64:ff9b::169.254.169.254 64:ff9b:1::1 100::1 2001::1 2001:db8::1
  2002:7f00:1:: 2002:a9fe:a9fe::1 2002:a00:1:: fc00::1 fd00:ec2::254
  fdff:ffff::1 fe80::1 febf::1 fec0::1 ff02::1 ff0e::1);
my @public = qw(
  1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0
  126.255.255.255 128.0.0.0 169.253.255.255 169.255.0.0 172.15.255.255
  172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0
  223.255.255.255 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808:: 2606:4700::1111
  2a00:1450::1);

is( $session->query(
		'SELECT string_agg(a, \' \') FROM unnest('
		  . Booking::Http::text_array(@special)
		  . ') a WHERE booking_address_test(a, \'\')'),
	'\N',
	'special addresses are refused');
is( $session->query(
		'SELECT string_agg(a, \' \') FROM unnest('
		  . Booking::Http::text_array(@public)
		  . ') a WHERE NOT booking_address_test(a, \'\')'),
	'\N',
	'public addresses are allowed');

# address, list, allowed
my @lists = (
	[ '10.1.2.3', '10.0.0.0/8', 't' ],
	[ '10.1.2.3', '10.1.2.3', 't' ],
	[ '10.1.2.3', '10.1.2.3/32', 't' ],
	[ '10.1.2.3', '10.1.2.2/31', 't' ],
	[ '10.1.2.3', '10.1.2.4/31', 'f' ],
	[ '10.1.2.3', '10.1.2.4', 'f' ],
	[ '10.1.2.3', '0.0.0.0/0', 't' ],
	[ '10.1.2.3', ' 192.168.0.0/16 ,	10.1.0.0/16 ', 't' ],
	[ '10.1.2.3', '192.168.0.0/16', 'f' ],
	[ '10.1.2.3', '::/0', 'f' ],
	[ '10.1.2.3', '::ffff:10.0.0.0/104', 't' ],
	[ '::ffff:10.1.2.3', '10.0.0.0/8', 't' ],
	[ '64:ff9b::10.1.2.3', '10.0.0.0/8', 't' ],
	[ '64:ff9b::10.1.2.3', '11.0.0.0/8', 'f' ],
	[ '2002:a01:203::1', '10.1.2.3', 't' ],
	[ '::1', '127.0.0.0/8', 'f' ],
	[ '::1', '::1', 't' ],
	[ 'fd00::1', 'fc00::/7', 't' ],
	[ 'fd00::1', 'fd00::/127', 't' ],
	[ 'fd00::1', 'fd00::/128', 'f' ],
	[ 'fd00::1', '0.0.0.0/0', 'f' ],
	[ '10.1.2.3', '10.0.0.0/33', 'f' ],
	[ '10.1.2.3', '10.0.0.0/', 'f' ],
	[ '10.1.2.3', '10.0.0.0/x,10.0.0.0/8', 't' ],
	[ '10.1.2.3', 'localhost', 'f' ]);
foreach my $case (@lists)
{
	my ($address, $list, $allowed) = @$case;

	is( $session->query(
			"SELECT booking_address_test('$address', " . sql_literal($list) . ')'),
		$allowed,
		"$address in '$list'");
}

my %valid = (
	'' => 't',
	' ' => 't',
	'10.0.0.0/8' => 't',
	'10.0.0.0/8,' => 't',
	'10.0.0.0/8, fc00::/7' => 't',
	',' => 'f',
	'10.0.0.0/8,,::1' => 'f',
	'10.0.0.0/33' => 'f',
	'10.0.0.0/-1' => 'f',
	'10.0.0.0/ 8' => 'f',
	'10.0.0/8' => 'f',
	'fc00::/129' => 'f',
	'localhost' => 'f',
	'10.0.0.1 10.0.0.2' => 'f',
	'1' x 200 => 'f');
is($session->query('SELECT booking_networks_test(' . sql_literal($_) . ')'),
	$valid{$_}, "valid list: '$_'")
  for sort keys %valid;

# ----------------------------------------------------------------------------
# Names that lead to them
# ----------------------------------------------------------------------------

my %refused = (transport => 'refused', problem => 'address_not_allowed', status => 0);

answers_with('a name of a private address',
	{ url => 'https://ip-10-0-0-1.test/' }, \%refused);
answers_with('a name of the metadata address',
	{ url => 'https://ip-169-254-169-254.test/' }, \%refused);
answers_with('a name of two of them',
	{ url => 'https://ip-10-0-0-1.ip-192-168-0-1.test/' }, \%refused);
answers_with('an address', { url => 'https://[::1]/' }, \%refused);
answers_with('an address in disguise', { url => 'https://[::ffff:10.0.0.1]/' }, \%refused);
answers_with('a number', { url => 'https://2130706433/', networks => '' }, \%refused);
answers_with(
	'loopback without permission',
	{ url => $http->url('ok'), networks => '10.0.0.0/8' }, \%refused);
answers_with(
	'an allowed address behind a refused one',
	{
		url => $http->url('ok', host => 'ip-10-0-0-1.ip-127-0-0-1.test'),
		insecure_hosts => 'ip-10-0-0-1.ip-127-0-0-1.test',
	},
	{ transport => 'complete', status => 200 });
answers_with(
	'an allowed address behind a refused one that cannot be reached',
	{ url => "https://ip-10-0-0-1.ip-127-0-0-1.test:$closed/" },
	{ transport => 'not_sent', problem => 'connection_failed' });
answers_with(
	'no such name',
	{ url => 'https://missing.test/' },
	{ transport => 'not_sent', problem => 'name_not_resolved' });

my @urls = map { $http->url('ok') } 1 .. 4;
@answers = $http->run(
	$session,
	url => \@urls,
	read => 1,
	networks => [ '127.0.0.0/8', '', '127.0.0.0/8', '' ]);
is_deeply(
	[ map { $_->{transport} } @answers ],
	[qw(complete refused complete refused)],
	'an open connection outlives no change of the rule');
@answers = $http->run(
	$session,
	url => [ map { $http->url($_) } qw(ok late?ms=500 ok) ],
	read => 1,
	parallel => 2,
	networks => [ '127.0.0.0/8', '127.0.0.0/8', '' ]);
is_deeply(
	[ map { $_->{transport} } @answers ],
	[qw(complete complete refused)],
	'nor while another request runs');

$http->stop;
$node->stop;
done_testing();
