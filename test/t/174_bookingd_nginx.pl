# test/t/174_bookingd_nginx.pl
#
# bookingd speaks no TLS: nginx does, with the configuration that the
# documentation gives.  What a sender signs must come through it byte by byte,
# what it must not send is stopped there, and when bookingd is away the sender
# is not told of success.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Daemon;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = booking_node('main');
my $session = session($node);
my $daemon = Booking::Daemon->start($node, args => [ Booking::Daemon::install_standin($session) ]);

# nginx in a folder of its own, with the file as it is shipped but for ports.
my $folder = PostgreSQL::Test::Utils::tempdir();
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $conf = slurp_file("$FindBin::RealBin/../../bookingd/nginx.conf");
$conf =~ s/127\.0\.0\.1:8080/127.0.0.1:$daemon->{port}/ or die 'the upstream is not there';
$conf =~ s/listen 8443/listen 127.0.0.1:$port/ or die 'the listener is not there';
append_to_file("$folder/nginx.conf", $conf);
system_or_bail(qw(openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=hooks.example.com),
	'-addext', 'subjectAltName=DNS:hooks.example.com',
	'-keyout', "$folder/key.pem", '-out', "$folder/certificate.pem");
my @nginx = ('nginx', '-p', $folder, '-c', "$folder/nginx.conf", '-e', "$folder/error.log");
command_ok([ @nginx, '-t' ], 'nginx accepts the configuration');
system_or_bail(@nginx);

END
{
	my $status = $?;
	system(@nginx, '-s', 'stop') if @nginx && -e "$folder/nginx.pid";
	$? = $status;
}

# POST a file's bytes with curl, which verifies the certificate.
sub post
{
	my ($path, $bytes, @options) = @_;
	my $file = "$folder/sent";

	unlink $file;
	append_to_file($file, $bytes);
	my ($out, $err) = run_command([
		'curl', '-sS', '--cacert', "$folder/certificate.pem",
		'--resolve', "hooks.example.com:$port:127.0.0.1",
		'-w', ' %{http_code}', '--data-binary', "\@$file", @options,
		"https://hooks.example.com:$port$path" ]);
	diag($err) if $err;
	return $out;
}

my $bytes = join('', map { chr } 0 .. 255) x 40;
is(post('/webhooks/s?a=%20b', $bytes, '-H', 'X-Signature: v1,abc='), ' 200', 'a delivery over TLS');
is($session->query('SELECT body FROM standin.inbox'), '\\x' . unpack('H*', $bytes), 'byte by byte');
is($session->query('SELECT query FROM standin.inbox'), 'a=%20b', 'with its query');
is( $session->query(
		"SELECT count(*) FROM standin.inbox, jsonb_array_elements(headers) h WHERE h = '[\"X-Signature\", \"v1,abc=\"]'"),
	1, 'and its signature');
is(post('/webhooks/s?validationToken=abc', ''), 'abc 200', 'a handshake');
like(post('/metrics', ''), qr/ 404$/, 'metrics do not get out');
like(post('/webhooks/s', 'x' x 2_000_000), qr/ 413$/, 'a large body is stopped by nginx');
$node->stop('immediate');
wait_until('the sender is told to come again', sub { return post('/webhooks/s', 'x') eq ' 503'; });
$node->start;
$daemon->wait_ready;
is(post('/webhooks/s', 'x'), ' 200', 'and then it is served');
$daemon->stop;
like(post('/webhooks/s', 'x'), qr/ 502$/, 'without bookingd there is no success');
unlike(slurp_file("$folder/access.log"), qr/webhooks/, 'the log of nginx has no addresses of sources');

done_testing();
