# test/t/137_credential_file.pl
#
# A credential in a file: only a file inside the configured folder that nobody
# else can read, named by the owner of the extension only; read at each use, so
# that it can be rotated; and nothing of its content in any message, whatever is
# wrong with it.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX 'mkfifo';
use Test::More;

my $canary = 'c4n4ry-in-a-file';
my $top = PostgreSQL::Test::Utils::tempdir();
my $folder = "$top/secrets";
my ($node, $session) = provider_node('main',
	conf => "log_min_messages = debug5\nlog_statement = all\nbooking.max_attempts = 2\n");
my $server = Booking::Caldav->new('radicale');

mkdir $folder or die "mkdir: $!";
mkdir "$folder/inner" or die "mkdir: $!";
attach($session, $server, $server->url, 'account', 'room');

# the calendar is not looked at before something is sent: that fails first, and
# differently
$session->query(
	"SELECT booking_account_put('t', 'account', 'caldav', settings => '{\"busy_blocks\": \"none\"}')"
);

# Write a file that is private unless told otherwise.
sub put_file
{
	my ($name, $content, $mode) = @_;

	unlink "$folder/$name";
	PostgreSQL::Test::Utils::append_to_file("$folder/$name", $content);
	chmod($mode // 0600, "$folder/$name") or die "chmod: $!";
	return;
}

sub put
{
	my ($type, $file) = @_;
	return "SELECT booking_credential_put('t', 'account', '{\"type\": \"$type\", \"file\": \"$file\"}')";
}

sub set_folder
{
	my ($value) = @_;

	$session->query("ALTER SYSTEM SET booking.credential_directory = '$value'");
	$session->query('SELECT pg_reload_conf()');
	wait_until('the folder is set',
		sub { $session->query('SHOW booking.credential_directory') eq $value });
	return;
}

# Assert the error of a file.
sub refuses
{
	my ($type, $file, $sqlstate, $pattern, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $error = fails_with($session, put($type, $file), $sqlstate, $name);

	like($error->{text} // '', $pattern, "$name: says why");
	unlike($error->{text} // '', qr/\Q$canary\E/, "$name: and not what is in it");
	return;
}

sub claim
{
	my ($intent) = @_;
	return $session->query(
		"SELECT booking_claim('t', 'p', '$intent', 'room', '[2030-05-01 10:00+00,2030-05-01 11:00+00)')"
	);
}

#
# What is refused
#
put_file('good', "{\"username\": \"user\", \"password\": \"$canary\"}\n");
refuses('basic', 'good', '55000', qr/booking.credential_directory/, 'no folder is set');
set_folder('relative');
refuses('basic', 'good', 'F0000', qr/no folder that can be used/, 'a relative folder');
set_folder("$top/missing");
refuses('basic', 'good', 'F0000', qr/no folder that can be used/, 'a folder that is not there');
set_folder($folder);

PostgreSQL::Test::Utils::append_to_file("$top/outside",
	"{\"username\": \"user\", \"password\": \"$canary\"}");
chmod 0600, "$top/outside";
mkdir "$top/secrets-not" or die "mkdir: $!";
PostgreSQL::Test::Utils::append_to_file("$top/secrets-not/x", "{}");
chmod 0600, "$top/secrets-not/x";
symlink('../outside', "$folder/escape") or die "symlink: $!";
symlink($top, "$folder/up") or die "symlink: $!";
symlink('loop', "$folder/loop") or die "symlink: $!";
mkfifo("$folder/pipe", 0600) or die "mkfifo: $!";
refuses('basic', $_->[0], '42501', qr/is outside booking.credential_directory/, $_->[1])
  foreach [ '../outside', 'a path that leads out' ],
  [ 'inner/../../outside', 'one that goes in first' ],
  [ "$top/outside", 'an absolute path outside' ],
  [ "$top/secrets-not/x", 'a folder whose name begins the same' ],
  [ '../secrets-not/x', 'the same by a relative path' ],
  [ 'escape', 'a symbolic link that leads out' ],
  [ 'up/outside', 'a folder that is such a link' ],
  [ '.', 'the folder itself' ];
refuses('basic', 'missing', '58P01', qr/could not find credential file/, 'a missing file');
refuses('basic', $_, '58P01', qr/could not find credential file/, "$_, which is not there")
  foreach '../nowhere', '/nowhere/x';
refuses('basic', 'loop', '58P01', qr/could not find credential file/, 'a loop of links');
refuses('basic', 'inner', '42809', qr/not a regular file/, 'a folder');
refuses('basic', 'pipe', '42809', qr/not a regular file/, 'a pipe, without waiting');
refuses('basic', 'x' x 5000, '42501', qr/is outside/, 'a name that is too long');

foreach my $mode (0640, 0604, 0610, 0777)
{
	put_file('open', "{\"username\": \"user\", \"password\": \"$canary\"}", $mode);
	refuses('basic', 'open', 'F0000', qr/can be accessed by others/,
		sprintf('mode %04o', $mode));
}
foreach my $case (
	[ 'no JSON', "{\"username\": \"user\", \"password\": \"$canary\"", qr/must hold a JSON object/ ],
	[ 'no object', "[\"$canary\"]", qr/must hold a JSON object/ ],
	[ 'a bare password', $canary, qr/must hold a JSON object/ ],
	[ 'nothing', '', qr/must hold a JSON object/ ],
	[ 'a member less', "{\"password\": \"$canary\"}", qr/lacks a valid "username"/ ],
	[ 'a number', "{\"username\": \"user\", \"password\": 17, \"x\": \"$canary\"}", qr/lacks a valid "password"/ ],
	[ 'an end of line', "{\"username\": \"user\", \"password\": \"$canary\\r\\nX: y\"}", qr/lacks a valid "password"/ ],
	[ 'another type', "{\"type\": \"bearer\", \"token\": \"$canary\"}", qr/of another type/ ],
	[ 'an unknown type', "{\"type\": \"$canary\", \"username\": \"u\", \"password\": \"p\"}", qr/of another type/ ],
	[ 'too much', "{\"username\": \"user\", \"password\": \"" . $canary x 2000 . '"}', qr/16 kB/ ],
	[ 'a zero byte', "{\"username\": \"user\", \"password\": \"$canary\0\"}", qr/text in the encoding/ ],
	[ 'bytes that are no text', "{\"username\": \"user\", \"password\": \"$canary\xff\"}", qr/text in the encoding/ ])
{
	my ($name, $content, $pattern) = @$case;

	put_file('bad', $content);
	refuses('basic', 'bad', '22023', $pattern, $name);
}
put_file('token', "$canary token\nnext line");
refuses('bearer', 'token', '22023', qr/lacks a valid "token"/, 'two lines as a token');
foreach my $case (
	[ 'client_credentials', $canary, qr/must hold a JSON object/ ],
	[ 'client_credentials', "{\"client_id\": \"c\", \"secret\": \"$canary\"}", qr/lacks a valid "client_secret"/ ],
	[ 'client_credentials', "{\"client_id\": \"c\", \"client_secret\": \"$canary\", \"token_url\": \"ftp://x/\"}", qr/lacks a valid "token_url"/ ],
	[ 'refresh_token', "{\"client_id\": \"c\", \"client_secret\": \"$canary\"}", qr/lacks a valid "refresh_token"/ ],
	[ 'refresh_token', "{\"client_id\": \"c\", \"refresh_token\": \"$canary\", \"scope\": 1}", qr/lacks a valid "scope"/ ],
	[ 'service_account', "{\"client_email\": \"a\@b\", \"private_key\": \"$canary\"}", qr/lacks a valid "private_key"/ ])
{
	my ($type, $content, $pattern) = @$case;

	put_file('bad', $content);
	refuses($type, 'bad', '22023', $pattern, "$type: $pattern");
}
fails_with($session,
	"SELECT booking_credential_put('t', 'account', '{\"type\": \"basic\", \"file\": \"good\", \"password\": \"x\"}')",
	'22023', 'a file and values beside it');
fails_with($session,
	"SELECT booking_credential_put('t', 'account', '{\"type\": \"basic\", \"file\": \"\"}')",
	'22023', 'an empty name');

# Who may put credentials may not therefore read those of others.
$session->query('CREATE ROLE app LOGIN');
$session->query("SELECT booking_bind_role('app', 't')");
$session->query('GRANT EXECUTE ON FUNCTION booking_credential_put TO app');
my $app = session($node, user => 'app');
fails_with($app, put('basic', 'good'), '42501', 'a role of the tenant');
$app->quit;

#
# What works
#
put_file('dav', "{\"type\": \"basic\", \"username\": \"$server->{user}\", \"password\": \"$server->{password}\"}\n");
my $warned = $session->try(put('basic', 'dav'));
is($warned->{error}, undef, 'a file in the folder');
claim('first');
is(wait_state($session, 'first', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'signs in');
unlike($session->query("SELECT encode(secret, 'escape') FROM booking.credential"),
	qr/correct horse/, 'the database has the name of the file only');
symlink('../dav', "$folder/inner/link") or die "symlink: $!";
$session->query(put('basic', $_)) foreach "$folder/dav", 'inner/link', 'inner/../dav';
pass('an absolute path inside, a link inside, and a detour');
like($session->query("CALL booking_account_check('t', 'account')"),
	qr/"ok": true/, 'the check of the account signs in by it');

# Rotated: the next request has the new one, and nothing was put.
$server->{password} = "new $canary";
unlink "$server->{folder}/users";
PostgreSQL::Test::Utils::append_to_file("$server->{folder}/users", "user:new $canary\n");
put_file('dav', "{\"username\": \"user\", \"password\": \"new $canary\"}");
claim('rotated');
is(wait_state($session, 'rotated', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'what is changed in the file counts at once');

# Gone: nothing is sent, the operation is parked and says why; back: resolved.
unlink "$folder/dav";
my $from = -s $node->logfile;
claim('gone');
settle($node, $session);
is(wait_state($session, 'gone', 'unknown needs_operator create parked cannot_begin'),
	'unknown needs_operator create parked cannot_begin', 'without the file nothing begins');
like(slurp_file($node->logfile, $from),
	qr/could not begin: could not find credential file "inner\/..\/dav"/, 'the log says why');
put_file('dav', "{\"username\": \"user\", \"password\": \"new $canary\"}");
$session->query("SELECT booking_resolve('t', 'p', 'gone', 'absent', '{\"seen\": \"by hand\"}')");
is(wait_state($session, 'gone', 'created confirmed create confirmed'),
	'created confirmed create confirmed', 'with it again, it is done');

# A token in a file of its own.
put_file('token', "$canary-token\n");
$session->query(put('bearer', 'token'));
put_file('token', "{\"token\": \"$canary-token\"}");
$session->query(put('bearer', 'token'));
pass('a token, alone or in an object');

$session->quit;
$node->stop;
unlike(slurp_file($node->logfile), qr/\Q$canary\E/, 'nothing of any file is in the log at DEBUG5');

done_testing();
