# test/t/133_secrets.pl
#
# A credential that an application gives as a parameter is used, and seen
# nowhere: not in the log at its most talkative, not in a view of the server,
# not in a table other than its own, not in a dump, not in an error.  With
# booking.secret_key_file it is not in the data directory either, and only its
# own account can use it.
#
# Proves R97 for what we store and log; the engine's part is in 112.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav ();
use Booking::Stub;
use MIME::Base64 'encode_base64';
use POSIX 'mkfifo';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# What must not be found: as it is, in hexadecimal as bytea is shown, and as the
# header that carries it.
my %canary = (password => 'canary-s3cret-Zq8', token => 'canary-t0ken-Wx5');
my @spellings;
foreach my $secret (values %canary)
{
	push @spellings, $secret, unpack('H*', $secret);
}
push @spellings, encode_base64("user:$canary{password}", '');
my $pattern = join('|', map { quotemeta } @spellings);

my $stub = Booking::Stub->new;
my $folder = PostgreSQL::Test::Utils::tempdir();
my $key = "$folder/key";
put_key($key, join('', map { chr(33 + $_ * 7 % 90) } 1 .. 40));

# Whose key it is counts too; see test/net/owner.c.
$ENV{LD_PRELOAD} = standin('owner', $folder);
my ($node, $session) = worker_node(
	'main',
	conf => <<"EOC");
shared_preload_libraries = 'pg_stat_statements, booking'
pg_stat_statements.track = all
log_min_messages = debug5
log_error_verbosity = verbose
track_activity_query_size = 16384
booking.poll_interval = '1s'
booking.secret_key_file = '$key'
EOC
delete $ENV{LD_PRELOAD};
$session->query('CREATE EXTENSION pg_stat_statements');

# Write a file that only the server's user can read.
sub put_key
{
	my ($file, $content) = @_;

	PostgreSQL::Test::Utils::append_to_file($file, $content);
	chmod(0600, $file) or die "chmod: $!";
	return;
}

# Call with a parameter of the extended protocol; returns exit status and what
# the client was told.
my $calls = 0;

sub call
{
	my ($sql, $parameter) = @_;
	my $script = "$folder/call" . ++$calls;

	PostgreSQL::Test::Utils::append_to_file($script, "$sql;\n");
	my ($stdout, $stderr);
	my $ok = IPC::Run::run(
		[
			'pgbench', '-n', '-t', '1', '-M', 'extended', '-f', $script, '-D',
			"parameter=$parameter", '-h', $node->host, '-p', $node->port, 'postgres'
		],
		'>', \$stdout, '2>', \$stderr);
	return ($ok, $stdout . $stderr);
}

sub put
{
	my ($account, $credential) = @_;
	return call("SELECT booking_credential_put('t', '$account', :parameter::jsonb)", $credential);
}

my $basic = qq({"type": "basic", "username": "user", "password": "$canary{password}"});
my $bearer = qq({"type": "bearer", "token": "$canary{token}"});

#
# Put and used
#
my %told;

foreach my $account (qw(a b))
{
	$stub->client($session, $account, 'store');
}
foreach my $case ([ 'a', $basic ], [ 'b', $bearer ])
{
	my ($account, $credential) = @$case;
	my ($ok, $text) = put($account, $credential);

	ok($ok, "a credential of $account is taken") or diag($text);
	unlike($text, qr/unencrypted/, 'and sealed');
	claim($session, $account, $account);
	is_settled($session, $account, 'create confirmed', 'it is used');
	$told{"answer for $account"} = $text;
}
is($session->query('SELECT bool_and(sealed) FROM booking.credential'), 't', 'all are sealed');

# A provider that refuses it, a provider that fails, a check, a cancel.
foreach my $behaviour (qw(deny busy))
{
	$stub->behave('a', $behaviour);
	claim($session, 'a', $behaviour);
	wait_until("the provider answered ($behaviour)",
		sub { operations($session, $behaviour) =~ /waiting|unknown/
			&& $session->query("SELECT max(tries) > 0 FROM booking.operation o JOIN booking.intent i USING (intent_id) WHERE i.intent = '$behaviour'") eq 't' });
	(undef, $told{"credential after $behaviour"}) = put('a', $basic);
	$told{"check while $behaviour"} = $session->query("CALL booking_account_check('t', 'a')");
}
$stub->behave('a', 'store');
put('a', $basic);
is_settled($session, 'deny', 'create confirmed', 'put again, it is used again');

#
# Errors
#
foreach my $case (
	[ 'a', $basic =~ s/basic/magic/r ],
	[ 'a', $basic =~ s/"username": "user", //r ],
	[ 'a', $basic =~ s/\}$//r ],
	[ 'a', qq(["$canary{password}"]) ],
	[ 'nobody', $basic ])
{
	my ($ok, $text) = put(@$case);
	my $what = $case->[1] =~ s/$canary{password}/.../r;

	ok(!$ok && $text =~ /ERROR/, "refused: $case->[0] $what");

	# the server's own words on text that is no JSON repeat it to the client
	# who sent it; that is before our function is called
	$told{"error for $what"} = $text if $case->[1] =~ /[}\]]$/;
}
{
	my ($ok, $text) = call("SELECT booking_account_put('t', 'a', 'caldav', NULL, :parameter::jsonb)",
		qq({"password": "$canary{password}"}));

	like($text, qr/must not hold a secret/, 'settings hold no secret');
	$told{'settings'} = $text;
}

#
# Looked for
#
foreach my $relation (
	split(/\n/, $session->query(<<'EOQ')))
SELECT c.oid::regclass FROM pg_class c
 WHERE c.relkind IN ('r', 'v', 'm') AND (c.relnamespace = 'booking'::regnamespace
	OR c.relname ~ '^pg_stat' AND c.relname NOT IN ('pg_statistic', 'pg_statistic_ext_data')
	OR c.relname IN ('pg_prepared_statements', 'pg_cursors', 'pg_locks', 'pg_settings'))
EOQ
{
	$told{$relation} = $session->query("SELECT x::text FROM $relation x");
}
cmp_ok(scalar(grep { /^booking\./ } keys %told), '>', 15, 'all relations were looked at');
cmp_ok(scalar(grep { /^pg_stat/ } keys %told), '>', 30, 'and all views of statistics');
like($told{pg_stat_statements}, qr/booking_credential_put/, 'the statements were recorded');

local $ENV{PGOPTIONS} = '';
sub dump_of
{
	my ($name) = @_;
	my $file = "$folder/$name";

	$node->command_ok(
		[ 'pg_dump', '-f', $file, '-h', $node->host, '-p', $node->port, 'postgres' ], $name);
	return slurp_file($file);
}
$told{dump} = dump_of('dump');
unlike($told{dump}, qr/^COPY booking\.credential.*\n[^\\]/m, 'a dump has no credentials');
like($told{dump}, qr/^COPY booking\.account .*\n[^\\]/m, 'but it has the accounts');

unlike($told{$_}, qr/$pattern/, "not in $_") foreach sort keys %told;

$ENV{PGOPTIONS} = '-c booking.dump_secrets=on';
my $with = dump_of('dump with booking.dump_secrets');
like($with, qr/^COPY booking\.credential.*\n[^\\]/m, 'it has them when it is told to');
unlike($with, qr/$pattern/, 'sealed');
$ENV{PGOPTIONS} = '';

# Whoever may act for the tenant may not read it.
$session->query('CREATE ROLE app LOGIN');
$session->query("SELECT booking_bind_role('app', 't')");
$session->query('GRANT USAGE ON SCHEMA booking TO app');
my $app = session($node, user => 'app');
fails_with($app, 'SELECT secret FROM booking.credential', '42501', 'roles cannot read credentials');
fails_with($app, 'SET booking.dump_secrets = on', '42501', 'nor ask for them in a dump');
$app->quit;

#
# The key
#
sub check
{
	my ($account) = @_;
	return $session->query("CALL booking_account_check('t', '$account')");
}

like(check('b'), qr/"ok": true/, 'with the key an account works');
$session->query(
	"UPDATE booking.credential SET secret = (SELECT secret FROM booking.credential WHERE account = 'a') WHERE account = 'b'");
like(check('b'), qr/could not open a sealed credential/, 'a credential cannot be moved to another account');
put('b', $bearer);
put_key($key, 'x');
like(check('b'), qr/could not open a sealed credential/, 'nor opened with another key');

# A setting of the server, as the worker and our session have it.
sub set
{
	my ($name, $value) = @_;

	$session->query("ALTER SYSTEM SET $name = '$value'");
	$session->query('SELECT pg_reload_conf()');
	wait_until('the setting arrives', sub { $session->query("SHOW $name") eq $value });
	return;
}

put_key("$folder/short", 'x');
put_key("$folder/stranger", 'y' x 40);
mkdir("$folder/inner") or die "mkdir: $!";
mkfifo("$folder/pipe", 0600) or die "mkfifo: $!";
foreach my $mode (0640, 0604, 0610, 0666)
{
	my $file = sprintf('%s/mode%04o', $folder, $mode);

	put_key($file, 'y' x 40);
	chmod($mode, $file) or die "chmod: $!";
}
foreach my $case (
	[ 'short', qr/too short/ ],
	[ 'missing', qr/could not open/ ],
	[ 'inner', qr/is not a regular file/ ],
	[ 'pipe', qr/is not a regular file/ ],
	[ 'stranger', qr/must be owned by the user of the server or root/ ],
	map { [ $_, qr/has group or world access.*HINT: .*mode 0600 or less/s ] }
	qw(mode0640 mode0604 mode0610 mode0666))
{
	my ($file, $expected) = @$case;

	set('booking.secret_key_file', "$folder/$file");
	my ($ok, $text) = put('b', $bearer);
	ok(!$ok, "without a usable key nothing is stored ($file)");
	like($text, $expected, 'and the reason is told');
	unlike($text, qr/$pattern/, 'without the secret');
}

# While a file that a setting names is of no use nothing is taken up, so that no
# operation uses up its tries; the status and the activity of the worker say why.
set('booking.secret_key_file', $key);
put('a', $basic);
put('b', $bearer);

sub hinders
{
	my ($reason, $break, $mend) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $intent = "hindered by $reason";

	$break->();
	claim($session, 'b', $intent);
	wait_until("the worker waits: $reason",
		sub { worker_status($session) eq "paused: $reason" });
	wait_until(
		'its activity says so too',
		sub {
			$session->query(
				"SELECT state, query FROM pg_stat_activity WHERE backend_type = 'booking worker'")
			  eq "idle\x1f$reason";
		});
	pass("the worker waits, and says why: $reason");
	is(operations($session, $intent), 'create waiting', 'work waits');
	$mend->();
	is_settled($session, $intent, 'create confirmed', 'and is done afterwards by itself');
	is($session->query(
			"SELECT tries, epoch FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = '$intent'"
		),
		"0\x1f1",
		'at the first try');
	return;
}

my $file = 'the file of booking.secret_key_file';
hinders("$file can be accessed by others", sub { chmod(0644, $key) }, sub { chmod(0600, $key) });
hinders("$file cannot be read",
	sub { rename($key, "$key.away") },
	sub { rename("$key.away", $key) });
hinders("$file is too short",
	sub { set('booking.secret_key_file', "$folder/short") },
	sub { set('booking.secret_key_file', $key) });
hinders('booking.secret_key_file does not name a file',
	sub { set('booking.secret_key_file', "$folder/inner") },
	sub { set('booking.secret_key_file', $key) });
hinders("$file belongs to somebody else",
	sub { set('booking.secret_key_file', "$folder/stranger") },
	sub { set('booking.secret_key_file', $key) });
hinders('the file of booking.ca_file cannot be read',
	sub { set('booking.ca_file', "$folder/missing") },
	sub { set('booking.ca_file', '') });

# A check of an account is answered meanwhile.
chmod(0644, $key) or die "chmod: $!";
wait_until('the worker waits', sub { worker_status($session) =~ /^paused: / });
like(check('b'), qr/has group or world access/, 'a check says what is in the way');
chmod(0600, $key) or die "chmod: $!";

# A key that can be read and is another one: the accounts that need the right one
# wait without a try, the status and booking.recovery say what to do, and others
# are served.
my $tried = "SELECT tries, epoch FROM booking.operation JOIN booking.intent USING (intent_id) WHERE intent = 'sealed'";
my $sealed = 'account b: the credential was sealed with another key:'
  . ' name its file in booking.secret_key_file, or put the credential again';

put_key("$folder/other", 'z' x 40);
set('booking.secret_key_file', "$folder/other");
claim($session, 'b', 'sealed');
wait_until(
	'the status says so',
	sub {
		worker_status($session) eq 'idle: credentials of 1 accounts were sealed with another key:'
		  . ' name its file in booking.secret_key_file, or put the credentials again';
	});
is($session->query("SELECT problem, message, calls[1] FROM booking.recovery WHERE intent = 'sealed'"),
	join("\x1f", 'credential_sealed', $sealed, "SELECT booking_credential_put('t', 'b', :'credential')"),
	'so does booking.recovery, with what to do');
$stub->client($session, 'c', 'store');
claim($session, 'c', 'unsealed');
is_settled($session, 'unsealed', 'create confirmed', 'an account with the key that is there is served');
is(operations($session, 'sealed'), 'create waiting', 'the other one waits');
is($session->query($tried), "0\x1f0", 'and uses up no try');
set('booking.secret_key_file', $key);
Booking::Caldav::later($node, $session);
is_settled($session, 'sealed', 'create confirmed', 'with the right key it is done by itself');
is($session->query($tried), "0\x1f1", 'at the first try');
is($session->query("SELECT count(*) FROM booking.recovery WHERE intent = 'sealed'"), 0,
	'and nothing is left to do');

#
# On disk, and in the log
#
$session->query('CHECKPOINT');
$session->quit;
$node->stop;
my $log = slurp_file($node->logfile);
like($log, qr/DEBUG/, 'the log is talkative');

# Except where the server itself, asked to read text that is no JSON, shows it.
my @lines = grep { /$pattern/ && !/CONTEXT:  JSON data, line 1: / } split(/\n/, $log);
is(join("\n", @lines), '', 'the log does not have it');

# Files of the data directory that have a secret.
sub on_disk
{
	my @options = map { ('-e', $_) } @spellings;
	my ($stdout, $stderr);

	IPC::Run::run([ 'grep', '-rlF', @options, $node->data_dir ], '>', \$stdout, '2>', \$stderr);
	return $stdout;
}
is(on_disk(), '', 'nor any file of the data directory');

#
# Without a key: stored as it is, and said so
#
$node->append_conf('postgresql.conf', "booking.secret_key_file = ''");
unlink($node->data_dir . '/postgresql.auto.conf');
$node->start;
$session = session($node);
my ($ok, $text) = put('b', $bearer);
ok($ok, 'without a key a credential is taken');
like($text, qr/stored unencrypted/, 'with a warning');
unlike($text, qr/$pattern/, 'that does not repeat it');
is($session->query("SELECT sealed FROM booking.credential WHERE account = 'b'"), 'f', 'unsealed');
$session->query('CHECKPOINT');
isnt(on_disk(), '', 'and on disk as it is');
unlike(dump_of('dump without key'), qr/$pattern/, 'a dump does not have it');
$session->quit;
$node->stop;
$stub->stop;

done_testing();
