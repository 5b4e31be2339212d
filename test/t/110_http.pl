# test/t/110_http.pl
#
# What the HTTP engine says about a request must be true: "not sent" only when
# the server cannot have executed it, "complete" only with a whole answer, and
# nothing is sent twice.  A web server misbehaves in every way that providers
# and what stands before them were seen to, and counts what arrived.
#
# Proves R31 (only what certainly was not executed may be repeated), R99
# (credentials follow no redirect), and that libcurl does not send a write again
# when a connection that was open before breaks.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Http;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# What the environment of the server says must not matter.
$ENV{$_} = 'http://127.0.0.1:9' for qw(http_proxy https_proxy all_proxy);

my $http = Booking::Http->new;
my $node = booking_node('main');
my $session = session($node);

$http->install($session);

# Assert the answer to one request, and how many requests arrived for it.
sub answers_with
{
	my ($name, $opt, $expected, $arrived) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($answer) = $http->run($session, method => 'PUT', body => 'event', %$opt);
	my %seen = map { $_ => $answer->{$_} } keys %$expected;

	is_deeply(\%seen, $expected, $name);
	is(scalar $http->requests($opt->{url}),
		$arrived, "$name: $arrived requests arrived")
	  if defined $arrived;
	return $answer;
}

# ----------------------------------------------------------------------------
# Whole answers
# ----------------------------------------------------------------------------

answers_with(
	'an answer with all headers',
	{ url => $http->url('ok') },
	{
		transport => 'complete',
		problem => undef,
		status => 200,
		etag => '"final"',
		location => '/elsewhere',
		content_type => 'text/plain; charset=utf-8',
		dav => '1, 3, calendar-access',
		schedule_tag => '"scheduled"',
		retry_after => -1,
		body => 'hello',
		body_len => 5,
	},
	1);

my %whole = (
	'status?code=204' => { status => 204, body => '', etag => undef },
	'status?code=304' => { status => 304, body => '' },
	'status?code=404' => { status => 404, body => 'status' },
	'status?code=412' => { status => 412 },
	'status?code=500' => { status => 500, body => 'status' },
	'status?code=503' => { status => 503 },
	'interim' => { status => 201, etag => '"right"', location => undef, dav => undef },
	'trailer' => { status => 200, etag => '"right"', dav => undef, body => 'hello' },
	'old' => { status => 200, etag => '"old"', body => 'hello' },
	'late?ms=300' => { status => 200, body => 'late' },
	'compressed' => { status => 200, body_len => 500 },
	'odd_headers' => {
		status => 200,
		etag => '"first"',
		content_type => undef,
		location => '',
		body => 'hello',
	},
	# an end without a length is an end
	'cut_close' => { status => 201, etag => '"cut"', body => 'hello' });

foreach my $behaviour (sort keys %whole)
{
	answers_with("whole answer: $behaviour",
		{ url => $http->url($behaviour) },
		{ transport => 'complete', problem => undef, %{ $whole{$behaviour} } }, 1);
}

foreach my $code (200, 201, 207, 400, 403, 409, 410, 429, 502, 504)
{
	answers_with(
		"status $code of an answer with a body",
		{ url => $http->url("status?code=$code") },
		{ transport => 'complete', status => $code, body => 'status' }, 1);
}

answers_with(
	'HEAD',
	{ url => $http->url('head_only'), method => 'HEAD', body => undef, read => 1 },
	{ transport => 'complete', status => 200, etag => '"head"', body => '' }, 1);

# ----------------------------------------------------------------------------
# Retry-After: seconds, or a date compared with the answer's own
# ----------------------------------------------------------------------------

my $date = 'Date=Tue,+01+Jan+2030+10:00:00+GMT';
my %retry_after = (
	'Retry-After=120' => 120,
	'Retry-After=0' => 0,
	'Retry-After=86400' => 86400,
	'Retry-After=86401' => 86400,
	'Retry-After=99999999999999999999999' => 86400,
	"$date&Retry-After=Tue,+01+Jan+2030+10:01:30+GMT" => 90,
	"$date&Retry-After=Tuesday,+01-Jan-30+10:01:30+GMT" => 90,
	"$date&Retry-After=Tue,+01+Jan+2030+09:00:00+GMT" => 0,
	"$date&Retry-After=Wed,+01+Jan+2031+10:00:00+GMT" => 86400,
	'Retry-After=Tue,+01+Jan+2030+10:01:30+GMT' => -1,
	"$date&Retry-After=soon" => -1,
	"$date&Retry-After=-5" => -1,
	"$date&Retry-After=1.5" => -1,
	"$date&Retry-After=" => -1,
	'Date=soon&Retry-After=Tue,+01+Jan+2030+10:01:30+GMT' => -1);

foreach my $headers (sort keys %retry_after)
{
	answers_with("retry after: $headers",
		{ url => $http->url("status?code=503&$headers") },
		{ status => 503, retry_after => $retry_after{$headers} }, 1);
}

# ----------------------------------------------------------------------------
# Answers that are not whole: the write may have been executed
# ----------------------------------------------------------------------------

my %lost = (
	'drop' => [ 0, 'connection_lost' ],
	'reset_after' => [ 0, 'connection_lost' ],
	'cut_headers' => [ 201, 'answer_cut_short' ],
	'cut_length' => [ 201, 'answer_cut_short' ],
	'cut_chunked' => [ 201, 'answer_cut_short' ],
	'cut_reset' => [ 201, 'connection_lost' ],
	'interim_only' => [ 0, 'connection_lost' ],
	'compressed_badly' => [ 200, 'answer_malformed' ],
	'no_colon' => [ 200, 'answer_malformed' ],
	'ancient' => [ 0, 'answer_malformed' ],
	'garbage' => [ 0, 'answer_malformed' ]);

foreach my $behaviour (sort keys %lost)
{
	my ($status, $problem) = @{ $lost{$behaviour} };

	answers_with("lost answer: $behaviour",
		{ url => $http->url($behaviour) },
		{ transport => 'lost', status => $status, problem => $problem, body => undef },
		1);
}

answers_with(
	'headers of a cut answer that were whole are kept',
	{ url => $http->url('cut_length') },
	{ transport => 'lost', status => 201, etag => '"cut"' }, 1);
answers_with(
	'headers that were cut themselves are not',
	{ url => $http->url('cut_headers') },
	{ transport => 'lost', status => 201, etag => undef }, 1);
answers_with(
	'a connection that is reset before the server has read',
	{ url => $http->url('ok', listener => 'reset') },
	{ transport => 'lost', problem => 'connection_lost', status => 0 }, 0);

# ----------------------------------------------------------------------------
# Certainly not executed
# ----------------------------------------------------------------------------

my $closed = PostgreSQL::Test::Cluster::get_free_port();

answers_with(
	'connection refused',
	{ url => "http://127.0.0.1:$closed/ok" },
	{ transport => 'not_sent', problem => 'connection_failed', status => 0 });
answers_with(
	'TLS to a server without',
	{ url => $http->url('ok', scheme => 'https') },
	{ transport => 'not_sent', problem => 'tls_failed', status => 0 }, 0);
answers_with(
	'a certificate that nobody vouches for',
	{ url => $http->url('ok', listener => 'tls') },
	{ transport => 'not_sent', problem => 'certificate_not_trusted' }, 0);
answers_with(
	'a certificate for another host',
	{
		url => $http->url('ok', listener => 'tls', host => '127.0.0.1'),
		ca_file => $http->certificate,
	},
	{ transport => 'not_sent', problem => 'certificate_not_trusted' }, 0);
answers_with(
	'a file of certificates that is none',
	{
		url => $http->url('ok', listener => 'tls'),
		ca_file => '/nonexistent/ca.pem',
	},
	{ transport => 'not_sent', problem => 'ca_file_not_usable' }, 0);
answers_with(
	'a certificate that is vouched for',
	{
		url => $http->url('ok', listener => 'tls'),
		ca_file => $http->certificate,
	},
	{ transport => 'complete', status => 200, body => 'hello' }, 1);

# ----------------------------------------------------------------------------
# Connections: reads share them, writes do not, nothing is written twice
# ----------------------------------------------------------------------------

# Connections on which the requests of a list of URLs arrived.
sub connections
{
	return map { my $url = $_; map { $_->{connection} } $http->requests($url) } @_;
}

my @urls = map { $http->url('ok') } 1 .. 4;
$http->run($session, url => \@urls, read => 1);
my @used = connections(@urls);
is(scalar(@used), 4, 'four reads arrived once');
is(scalar(keys %{ { map { $_ => 1 } @used } }), 1, 'and shared a connection');

@urls = map { $http->url('ok') } 1 .. 4;
$http->run($session, url => \@urls, method => 'PUT', body => 'event');
@used = connections(@urls);
is(scalar(@used), 4, 'four writes arrived once');
is(scalar(keys %{ { map { $_ => 1 } @used } }), 4, 'each on its connection');

@urls = map { $http->url('ok') } 1 .. 4;
$http->run(
	$session,
	url => \@urls,
	method => [qw(GET PUT GET GET)],
	read => [ 1, 0, 1, 1 ]);
@used = connections(@urls);
is($used[2], $used[0], 'reads go on with their connection after a write');
is($used[3], $used[0], 'and so on');
isnt($used[1], $used[0], 'which the write did not use');

my @dropped = map { $http->url('drop_reused') } 1 .. 2;
my @answers = $http->run($session, url => \@dropped, read => 1);
is($answers[1]{transport}, 'complete',
	'a read on a connection that the server closes is sent again');
is(scalar $http->requests($dropped[1]), 2, 'since it arrived twice');

foreach my $method (qw(POST PUT DELETE PATCH))
{
	@dropped = map { $http->url('drop_reused') } 1 .. 2;
	@answers = $http->run(
		$session,
		url => \@dropped,
		method => [ 'GET', $method ],
		read => [ 1, 0 ],
		body => 'event');
	is($answers[1]{transport}, 'complete', "$method after a read has an answer");
	is(scalar $http->requests($dropped[1]), 1, 'and arrived once');
}

foreach my $header ('If-Match="1"', 'If-None-Match=*')
{
	@urls = map { $http->url('ok') } 1 .. 4;
	$http->run(
		$session,
		url => \@urls,
		method => [qw(PUT GET DELETE PATCH)],
		read => [ 0, 1, 0, 0 ],
		header => [$header]);
	@used = connections(@urls);
	is(scalar(@used), 4, "four requests with $header arrived once");
	is(scalar(keys %{ { map { $_ => 1 } @used } }), 1, 'and shared a connection');

	foreach my $method (qw(POST PUT DELETE PATCH))
	{
		@dropped = map { $http->url('drop_reused') } 1 .. 2;
		@answers = $http->run(
			$session,
			url => \@dropped,
			method => [ 'GET', $method ],
			read => [ 1, 0 ],
			header => [$header],
			body => 'event');
		is("$answers[1]{transport} $answers[1]{problem}", 'lost connection_lost',
			"$method on a connection that the server closes has no answer");
		is(scalar $http->requests($dropped[1]), 1, 'and is not sent again');
	}
}

# ----------------------------------------------------------------------------
# Redirects
# ----------------------------------------------------------------------------

my $target = $http->url('ok');
my ($path) = $target =~ m{(/ok\d+)$};
my $elsewhere = $http->url('ok', listener => 'other');
my $secure = $http->url('ok', listener => 'tls');
my %read = (method => 'PROPFIND', read => 1, follow => 1);

foreach my $code (301, 302, 307, 308)
{
	my $before = $http->requests($target);

	answers_with("redirect $code of a read is followed",
		{ %read, url => $http->url("redirect?code=$code&to=$path") },
		{ transport => 'complete', status => 200, body => 'hello' }, 1);
	my @requests = $http->requests($target);
	is(scalar(@requests), $before + 1, "redirect $code arrived at its end");
	is($requests[-1]{method}, 'PROPFIND', 'with its method');
	is($requests[-1]{body}, 'event', 'and its body');
}

my %not_followed = (
	'another port' => $elsewhere,
	'another host' => "http://localhost:@{[$http->port('plain')]}/ok",
	'another scheme' => $secure,
	'a name and password' => "http://a:b\@127.0.0.1:@{[$http->port('plain')]}/ok",
	'no URL' => 'http://[',
	'nothing' => '');

foreach my $what (sort keys %not_followed)
{
	my $to = $not_followed{$what};

	answers_with("redirect to $what is an answer",
		{ %read, url => $http->url('redirect?to=' . $to), username => 'ada', password => 'x' },
		{ transport => 'complete', status => 302, location => $to, body => 'go away' }, 1);
}
answers_with('redirect that was not asked for is an answer',
	{ %read, follow => 0, url => $http->url("redirect?to=$path") },
	{ status => 302, location => $path }, 1);
answers_with('redirect of a write is an answer',
	{ url => $http->url("redirect?to=$path"), follow => 1 },
	{ status => 302, location => $path }, 1);
answers_with('redirect 303 of another method than GET is an answer',
	{ %read, url => $http->url("redirect?code=303&to=$path") },
	{ status => 303 }, 1);
answers_with('redirect 303 of GET is followed',
	{ %read, method => 'GET', body => undef, url => $http->url("redirect?code=303&to=$path") },
	{ status => 200 }, 1);
is(scalar $http->requests($elsewhere), 0, 'nothing arrived at the other port');
is(scalar $http->requests($secure), 0, 'nor at the other scheme');

my $circle = $http->url('circle');
answers_with('a circle of redirects ends', { %read, url => $circle },
	{ transport => 'complete', status => 302, location => '/circle?6' }, 1);
is(scalar(grep { ($_->{target} // '') =~ m{^/circle\?} } $http->record),
	5, 'after five hops');

# ----------------------------------------------------------------------------
# What is sent
# ----------------------------------------------------------------------------

# The only request that arrived for an answer of 200.
sub sent
{
	my (%opt) = @_;
	my $url = $http->url('ok');

	$http->run($session, url => $url, %opt);
	my @requests = $http->requests($url);
	die "not one request" unless @requests == 1;
	return $requests[0];
}

my $request = sent(
	method => 'PUT',
	body => "BEGIN:VCALENDAR\r\n",
	header => [ 'Content-Type=text/calendar; charset=utf-8', 'If-None-Match=*', 'X-Empty=' ]);
is($request->{method}, 'PUT', 'method');
is($request->{body}, "BEGIN:VCALENDAR\r\n", 'body');
delete $request->{headers}{host};
is_deeply(
	$request->{headers},
	{
		'accept' => '*/*',
		'accept-encoding' => $request->{headers}{'accept-encoding'},
		'content-length' => '17',
		'content-type' => 'text/calendar; charset=utf-8',
		'if-none-match' => '*',
		'user-agent' => 'booking',
		'x-empty' => '',
	},
	'headers are those asked for, and no others of weight');
like($request->{headers}{'accept-encoding'}, qr/gzip/, 'compression is understood');

$request = sent(method => 'PUT', body => 'x' x 2_000_000);
is($request->{length}, 2_000_000, 'a large body arrives whole');
ok(!exists $request->{headers}{expect}, 'without asking first');
ok(!exists $request->{headers}{'content-type'}, 'and without an invented type');

$request = sent(method => 'DELETE', header => ['If-Match="x"']);
is($request->{method}, 'DELETE', 'DELETE');
ok(!exists $request->{headers}{'content-length'}, 'has no body');
is(sent(method => 'POST')->{headers}{'content-length'}, '0', 'POST without a body says so');

$request = sent(read => 1, username => 'ada', password => 'p:ss');
is($request->{headers}{authorization}, 'Basic YWRhOnA6c3M=', 'name and password');
$request = sent(read => 1, bearer => 'token');
is($request->{headers}{authorization}, 'Bearer token', 'token');
ok(!exists sent(read => 1)->{headers}{authorization}, 'and none without');

answers_with(
	'a challenge is an answer, not a reason to try again',
	{ url => $http->url('challenge'), username => 'ada', password => 'wrong' },
	{ transport => 'complete', status => 401 }, 1);

@urls = map { $http->url('cookie') } 1 .. 2;
$http->run($session, url => \@urls, read => 1);
ok(!exists $_->{headers}{cookie}, 'cookies are not kept')
  for map { $http->requests($_) } @urls;

# ----------------------------------------------------------------------------
# Refused before anything is sent
# ----------------------------------------------------------------------------

my %bad_urls = (
	'ftp://127.0.0.1/x' => 'bad_url',
	'file:///etc/passwd' => 'bad_url',
	'//127.0.0.1/x' => 'bad_url',
	'127.0.0.1' => 'bad_url',
	'' => 'bad_url',
	'http://' => 'bad_url',
	'http://127.0.0.1:99999/' => 'bad_url',
	"http://127.0.0.1/a b" => 'bad_url',
	"http://127.0.0.1/\x01" => 'bad_url',
	"http://ada:secret\@127.0.0.1/" => 'bad_url',
	'http://127.0.0.2/x' => 'insecure_url',
	'http://example.com/x' => 'insecure_url');

foreach my $url (sort keys %bad_urls)
{
	answers_with("refused: $url", { url => $url },
		{ transport => 'refused', problem => $bad_urls{$url}, status => 0 });
}
answers_with('refused: http:// when no host may',
	{ url => $http->url('ok'), insecure_hosts => undef },
	{ transport => 'refused', problem => 'insecure_url' }, 0);
answers_with('refused: a line break in a header',
	{ url => $http->url('ok'), header => ["X-A=b\r\nX-C: d"] },
	{ transport => 'refused', problem => 'bad_header' }, 0);
answers_with('refused: a header without a name',
	{ url => $http->url('ok'), header => ["=b"] },
	{ transport => 'refused', problem => 'bad_header' }, 0);
answers_with('refused: more headers than there is room for',
	{ url => $http->url('ok'), header => [ map { "X-$_=b" } 1 .. 13 ] },
	{ transport => 'refused', problem => 'bad_header' }, 0);
answers_with('refused: a line break in a token',
	{ url => $http->url('ok'), bearer => "a\r\nX-C: d" },
	{ transport => 'refused', problem => 'bad_credential' }, 0);
answers_with('refused: a method that is none',
	{ url => $http->url('ok'), method => "GET /x HTTP/1.1\r\n" },
	{ transport => 'refused', problem => 'bad_method' }, 0);

$http->stop;
$node->stop;
done_testing();
