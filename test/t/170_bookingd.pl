# test/t/170_bookingd.pl
#
# What a sender is told is what the database said after it has committed, and
# nothing else: bookingd hands a delivery over byte by byte, waits for the
# commit, and passes the answer on.  A result that came before a commit that
# failed must not get out, nor may an error's text, which quotes the delivery.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Daemon;
use File::Basename;
use IPC::Run ();
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = booking_node('main', conf => "synchronous_commit = off");
my $session = session($node);
my @standin = Booking::Daemon::install_standin($session);
my $daemon = Booking::Daemon->start($node, args => [@standin]);

# Rows of the inbox, and the one that came last.
sub inbox_rows
{
	return $session->query('SELECT count(*) FROM standin.inbox');
}

sub last_row
{
	return decode_json($session->query(
		"SELECT row_to_json(i) FROM standin.inbox i ORDER BY delivery DESC LIMIT 1"));
}

# Assert that bookingd refuses a request itself, and keeps nothing of it.
sub refuses
{
	my ($name, $status, $bytes) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $before = inbox_rows();

	is($daemon->exchange($bytes)->{status}, $status, $name);
	is(inbox_rows(), $before, "$name: nothing is kept");
	return;
}

# Bytes of every kind, zeros included, reach the database as they are.
my $bytes = join('', map { chr } 0 .. 255) . "\r\n{ }\n";
my $answer = $daemon->post('/webhooks/source-1?a=b&c=%20', $bytes,
	'X-Twice: one', 'X-Quote: say "\\"', "X-Latin: caf\xe9", "X-Utf8: caf\xc3\xa9",
	'x-twice: two', 'X-Empty:');
is($answer->{status}, 200, 'a delivery is answered');
is($answer->{body}, '', 'without a body where there is none');
unlike($answer->{head}, qr/^Content-Type/mi, 'and then without a type');
my $row = last_row();
is($row->{source}, 'source-1', 'the source is the end of the path');
is($row->{query}, 'a=b&c=%20', 'the query comes as it was sent');
is($row->{body}, '\\x' . unpack('H*', $bytes), 'every byte of the body');
is_deeply(
	[ grep { $_->[0] =~ /^x-/i } @{ $row->{headers} } ],
	[
		[ 'X-Twice', 'one' ],
		[ 'X-Quote', 'say "\\"' ],
		[ 'X-Latin', "caf\x{e9}" ],
		[ 'X-Utf8', "caf\x{e9}" ],
		[ 'x-twice', 'two' ],
		[ 'X-Empty', '' ]
	],
	'headers are pairs in the order of the request');

# The same in pieces and without a length.
$answer = $daemon->exchange("POST /webhooks/a%20b%c3%a9 HTTP/1.1\r\nHost: h\r\n"
	  . "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n");
is($answer->{status}, 200, 'a chunked delivery');
is(last_row()->{body}, '\\x' . unpack('H*', 'hello world'), 'is put together');
is(last_row()->{source}, "a b\x{e9}", 'a source is decoded');

$answer = $daemon->post('/webhooks/s?validationToken=abc', '');
is("$answer->{status} $answer->{body}", '200 abc', 'a handshake by POST');
like($answer->{head}, qr/^Content-Type: text\/plain\r?$/m, 'has the type that the database gave');
$answer = $daemon->exchange("GET /webhooks/s?validationToken=xyz HTTP/1.1\r\nHost: h\r\n\r\n");
is("$answer->{status} $answer->{body}", '200 xyz', 'a handshake by GET');

for my $status (202, 401, 404, 410, 500)
{
	$answer = $daemon->post("/webhooks/s?status=$status", 'x');
	is("$answer->{status} $answer->{body}", "$status {\"said\": \"no\"}", "status $status is passed on");
}
$answer = $daemon->post('/webhooks/s?status=99', 'x');
is($answer->{status}, 500, 'what is no status is an error');
$answer = $daemon->post('/webhooks/s?header', 'x');
unlike($answer->{head}, qr/X-Injected/, 'a type cannot bring a header along');

# Two requests on one connection.
my $socket = $daemon->connect;
for my $n (1 .. 2)
{
	Booking::Daemon::send_bytes($socket, Booking::Daemon::request('POST', '/webhooks/s', "kept $n"));
	is(Booking::Daemon::read_answer($socket)->{status}, 200, "request $n on one connection");
}

# Only a commit counts.
my $before = inbox_rows();
$answer = $daemon->post('/webhooks/s?refuse-at-commit', 'secret-of-the-body');
is($answer->{status}, 500, 'a commit that fails is not a success');
is(inbox_rows(), $before, 'and keeps nothing');
for ([ '22012', 500 ], [ '40001', 503 ], [ '53300', 503 ], [ '57014', 503 ])
{
	my ($sqlstate, $status) = @$_;
	$answer = $daemon->post("/webhooks/s?error=$sqlstate", 'secret-of-the-body');
	is($answer->{status}, $status, "SQLSTATE $sqlstate is status $status");
	is($answer->{head} =~ /^Retry-After: 5\r?$/m ? 503 : 500, $status, 'with Retry-After if it passes');
	unlike($answer->{body}, qr/secret/, 'and tells nothing');
}
like($daemon->log, qr/failed with SQLSTATE 22012/, 'the log has the SQLSTATE');
unlike($daemon->log, qr/secret|source-1|refused at commit/, 'and nothing of the delivery or the error');
is( $session->query(
		"SELECT DISTINCT setting FROM pg_settings WHERE name = 'synchronous_commit'"),
	'off', 'the server would not wait for its log');

# What is not for the database.
refuses('another path', 404, Booking::Daemon::request('POST', '/other', 'x'));
refuses('no source', 404, Booking::Daemon::request('POST', '/webhooks/', 'x'));
refuses('two segments', 404, Booking::Daemon::request('POST', '/webhooks/a/b', 'x'));
refuses('an encoded slash', 404, Booking::Daemon::request('POST', '/webhooks/a%2fb', 'x'));
refuses('an encoded zero byte', 404, Booking::Daemon::request('POST', '/webhooks/a%00b', 'x'));
refuses('half an encoding', 404, Booking::Daemon::request('POST', '/webhooks/a%4', 'x'));
refuses('no UTF-8', 404, Booking::Daemon::request('POST', '/webhooks/a%ff', 'x'));
refuses('a query that is no UTF-8', 400, Booking::Daemon::request('POST', "/webhooks/s?a=\xff", 'x'));
refuses('a long source', 404, Booking::Daemon::request('POST', '/webhooks/' . 'a' x 201, 'x'));
refuses('GET without a query', 405, "GET /webhooks/s HTTP/1.1\r\nHost: h\r\n\r\n");
refuses('PUT', 405, Booking::Daemon::request('PUT', '/webhooks/s', 'x'));
refuses('two lengths', 400,
	"POST /webhooks/s HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
	  . "1\r\nx\r\n0\r\n\r\n");

# Health and metrics.
is($daemon->admin('/healthz')->{status}, 200, 'it lives');
is($daemon->admin('/readyz')->{status}, 200, 'it is ready');
is($daemon->admin('/nothing')->{status}, 404, 'nothing else is there');
is($daemon->exchange("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n")->{status},
	404, 'metrics are not where the webhooks are');
is($daemon->metric('bookingd_requests_total{status="202",verdict="refused \"so\""}'),
	1, 'requests are counted by status and verdict');
is($daemon->metric('bookingd_requests_total{status="404",verdict="refused_path"}'),
	9, 'refusals too');
is( $daemon->metric('bookingd_answer_seconds_count'),
	$daemon->metric('bookingd_answer_seconds_bucket{le="+Inf"}'),
	'the histogram is complete');
wait_until('the whole pool is idle',
	sub { return $daemon->metric('bookingd_pool_connections{state="idle"}') == 8; });
is($daemon->metric('bookingd_database_metrics'), 0, 'the database tells none');

# Every line is one that a parser of the format accepts.
sub is_exposition
{
	my ($name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @strange = grep {
		!/^# (?:HELP \w+ \S.*|TYPE \w+ (?:counter|gauge|histogram))$/
		  && !/^\w+(?:\{\w+="(?:[^"\\]|\\["\\n])*"(?:,\w+="(?:[^"\\]|\\["\\n])*")*\})? (?:[-+\d.e]+|NaN)$/
	} split /\n/, $daemon->admin('/metrics')->{body};

	return is_deeply(\@strange, [], $name);
}
is_exposition('metrics are in the text format of Prometheus');

# Those of the database are shown from the next connection on.
$session->query(
	"CREATE FUNCTION standin.booking_metrics(OUT name text, OUT labels jsonb, OUT value double precision)
		RETURNS SETOF record LANGUAGE sql AS \$\$
			VALUES ('booking_intents', '{\"state\": \"committed\", \"a\": \"q\\\"\"}'::jsonb, 3::float8),
				('booking_replays_total', NULL, 1.5),
				('booking_odd', jsonb_build_object('l', E'a\\tb\\nc\\\\d', 'not a label', 1), 7),
				('not a name', NULL, 8) \$\$");
$session->query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
wait_until('the metrics of the database are there',
	sub { return $daemon->metric('bookingd_database_metrics') == 1; });
is($daemon->metric('booking_intents{a="q\"",state="committed"}'), 3, 'a metric with labels');
is($daemon->metric('booking_replays_total'), 1.5, 'and one without');
is($daemon->metric("booking_odd{l=\"a\tb\\nc\\\\d\"}"), 7, 'what a label has is escaped as Prometheus wants it, and no more');
is_exposition('together they still are in that format');

# Ends.
is($daemon->stop, 0, 'it ends with 0');
like($daemon->log, qr/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC \[\d+\] LOG:  ended$/m,
	'every line of the log has one form');
is_deeply(
	[ grep { !/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC \[\d+\] (?:LOG|WARNING|ERROR):  \S/ }
		  split /\n/, $daemon->log ],
	[], 'none has another');

# Without metrics, and where somebody listens already.
$daemon = Booking::Daemon->start($node, args => [ @standin, '--metrics-listen=off' ]);
wait_until('it serves without metrics',
	sub { return $daemon->post('/webhooks/s', 'x')->{status} == 200; });
for my $option ('--listen', '--metrics-listen')
{
	command_exit_is_with(1, qr/could not listen on "127\.0\.0\.1:$daemon->{port}"/,
		"$option where somebody listens",
		'--listen=127.0.0.1:0', '--metrics-listen=off', "$option=127.0.0.1:$daemon->{port}");
}
is($daemon->stop, 0, 'it ends with 0');

# Assert how the program ends and what it says.
sub command_exit_is_with
{
	my ($status, $says, $name, @options) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($out, $err) = ('', '');

	IPC::Run::run([ Booking::Daemon::program(), @options ], '<', \undef, '>', \$out, '2>', \$err);
	is($?, $status << 8, "$name: exit status $status");
	like($err, $says, "$name: says why");
	return;
}

# The command line.
program_help_ok(Booking::Daemon::program());
program_version_ok(Booking::Daemon::program());
program_options_handling_ok(Booking::Daemon::program());
command_fails_like([ Booking::Daemon::program(), '--pool=0' ], qr/--pool must be in range 1\.\.100/,
	'a number out of range');
command_fails_like([ Booking::Daemon::program(), '--max-body=1GB' ], qr/invalid value "1GB"/,
	'a unit that is none');
command_fails_like([ Booking::Daemon::program(), '--max-body=65MB' ], qr/--max-memory must be at least/,
	'limits that contradict each other');
command_fails_like([ Booking::Daemon::program(), '--listen=nowhere' ], qr/HOST:PORT/,
	'an address without a port');
my ($help) = run_command([ Booking::Daemon::program(), '--help' ]);
my @options = $help =~ /^ .*?(--[a-z-]+)/mg;
cmp_ok(scalar @options, '>=', 19, 'the help names options');
for my $page ("$FindBin::RealBin/../../doc/bookingd.md", "$FindBin::RealBin/../../bookingd/bookingd.1")
{
	my $text = slurp_file($page) =~ s/\\-/-/gr;
	is_deeply([ grep { $text !~ /\Q$_\E\b/ } @options, ],
		[ grep { $page =~ /md$/ && /--(?:help|version)/ } @options ],
		(basename($page)) . ' describes all of them');
}
my ($out, $err) = run_command([ Booking::Daemon::program(), '--dbname=password=geheim dbname' ]);
like($err, qr/connection string is invalid/, 'a broken connection string');
unlike($err, qr/geheim/, 'is not quoted');

done_testing();
