# test/t/106_mock_canaries.pl
#
# Nothing that a provider answers, neither body nor header, and no token, is seen
# anywhere but where it is needed: not in the log at its most talkative, not in a
# table or view, not in what callers are told.  The mocks put a canary into the
# message of every error, into headers, into titles of other people's events, and
# into tokens; secrets of ours come from files, so that no statement has them.  Of a
# refusal its reason is kept, as a code of limited length.
#
# Proves R97 for Google and Microsoft.

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

# What must not be found, as it is and as bytea is shown.
my @canaries = qw(SECRET- consent-);
my $pattern = join('|', map { (quotemeta($_), unpack('H*', $_)) } @canaries);

# Tables that hold secrets, each for its own purpose; nobody but the owner reads them.
my @sealed = qw(booking.credential booking.token booking.channel);

my $folder = PostgreSQL::Test::Utils::tempdir();
my ($node, $session, $kind, $place, $mock, %told);

sub put_file
{
	my ($name, $credential) = @_;
	my %content = %$credential;

	delete $content{type};
	unlink "$folder/$name";
	PostgreSQL::Test::Utils::append_to_file("$folder/$name", encode_json(\%content));
	chmod(0600, "$folder/$name") or die "chmod: $!";
	$place->credential({ type => $credential->{type}, file => $name });
	return;
}

sub claim
{
	my ($intent, $day, $more) = @_;

	$told{"claim of $intent"} = $session->query("SELECT booking_claim('t', 'p', '$intent', 'room',"
		  . " '[2030-05-$day 10:00+00, 2030-05-$day 10:30+00)'" . ($more // '') . ')');
	return;
}

# The status of intents, when their operations are settled.
sub settled
{
	my (@intents) = @_;

	settle($node, $session);
	$told{"status of $_"} .= $session->query("SELECT booking_status('t', 'p', '$_')") foreach @intents;
	return;
}

# Answers of all kinds to the writes of bookings.
sub write_all
{
	my @answers = (
		qw(drop_after broken_after other_id empty cut gateway),
		[ 400, 'invalid' ], [ 403, 'forbidden' ], [ 404, 'notFound' ], [ 409, 'duplicate' ],
		[ 410, 'deleted' ], [ 412, 'conditionNotMet' ], [ 429, 'tooMany', 2 ], [ 500, 'oops' ],
		[ 418, 'r' x 5000 ]);

	my @all = 0 .. $#answers;

	$mock->fault($place->create, $_) foreach @answers;
	claim("c-$_", sprintf('%02d', 1 + $_)) foreach @all;
	settled(map { "c-$_" } @all);
	$mock->set(faults => []);
	$mock->fault('PATCH', $_) foreach @answers;
	claim("u-$_", sprintf('%02d', 1 + $_), ", supersedes => 'c-$_'") foreach @all;
	settled(map { "u-$_" } @all);
	$mock->set(faults => []);
	$mock->fault('DELETE', $_) foreach @answers;
	$session->query("SELECT booking_cancel('t', 'p', '$_')") foreach map { ("u-$_", "c-$_") } @all;
	settled(map { "u-$_" } @all);
	$mock->set(faults => []);
	return;
}

# Readings, checks, questions and channels.
sub read_all
{
	$mock->edit($place->{room}, "theirs$_",
		$place->times(map { "2030-06-15T$_:00" } 10, 11),
		($kind eq 'google' ? 'summary' : 'subject') => 'SECRET-TITLE')
	  foreach 1 .. 3;
	foreach my $answer (undef, 'cut', 'empty', 'gateway', [ 403, 'forbidden' ], [ 500, 'oops' ])
	{
		$mock->fault('GET', $answer, 3) if defined $answer;
		$told{'a reading'} .= $session->query("CALL booking_sync_wait('t', 'room')");
		$told{'a check'} .= $session->query("CALL booking_account_check('t', 'm')");
		$mock->set(faults => []);
		Booking::Caldav::later($node, $session);
	}
	$mock->set(people => { 'ann@example.org' => 'notFound' });
	$session->query(
		"SELECT booking_account_put('t', 'm', '$kind', settings => '{\"free_busy\": \"attendees\"}')");
	claim('asks', 29,
		q(, terms => '{"event": {"notify": "all", "attendees": [{"email": "ann@example.org"}]}}'));
	settled('asks');
	$session->query("ALTER SYSTEM SET booking.push_url = 'https://push.example.org/hook'");
	$session->query('SELECT pg_reload_conf()');
	wait_until('a channel is open',
		sub { $session->query("SELECT count(*) FROM booking.channel WHERE state = 'open'") == 1 });
	return;
}

# Signing in, which fails in every way.
sub sign_in_all
{
	my $signing_in = $place->signing_in;

	if ($kind eq 'google')
	{
		foreach my $error ([ 400, 'invalid_grant' ], [ 401, 'invalid_client' ], [ 503, 'oops' ])
		{
			$mock->set(token_error => $error, expire_access => JSON::PP::true);
			put_file('app.json', $signing_in);
			$told{"sign-in, $error->[1]"} = $session->query("CALL booking_account_check('t', 'm')");
		}
		$mock->set(token_error => undef, refresh => ['consent-1'], rotate => JSON::PP::true);
		$signing_in = { %$signing_in, type => 'refresh_token', refresh_token => 'consent-1' };
	}
	put_file('app.json', { %$signing_in, client_secret => 'SECRET-WRONG' });
	$told{'sign-in, wrong'} = $session->query("CALL booking_account_check('t', 'm')");
	put_file('app.json', $signing_in);
	Booking::Caldav::later($node, $session);
	claim('signed-in', 28);
	settled('signed-in');
	is(wait_state($session, 'signed-in', 'created confirmed create confirmed'),
		'created confirmed create confirmed', "$kind: signed in");
	return;
}

foreach (kinds())
{
	$kind = $_;
	%told = ();
	($node, $session) = provider_node($kind, conf => <<"EOC");
log_min_messages = debug5
log_error_verbosity = verbose
track_activity_query_size = 16384
booking.credential_directory = '$folder'
booking.sync_future = '3650d'
EOC
	$place = mocked($session, $kind);
	$mock = $place->mock;
	sign_in_all();
	write_all();
	read_all();

	my $relations = $session->try(<<'EOQ');
SELECT c.oid::regclass FROM pg_class c
 WHERE c.relkind IN ('r', 'v', 'm') AND (c.relnamespace = 'booking'::regnamespace
	OR c.relname ~ '^pg_stat' AND c.relname NOT IN ('pg_statistic', 'pg_statistic_ext_data')
	OR c.relname IN ('pg_prepared_statements', 'pg_cursors', 'pg_locks', 'pg_settings'))
EOQ
	my @relations = map { $_->[0] } @{ $relations->{rows} };
	foreach my $relation (@relations)
	{
		next if grep { $_ eq $relation } @sealed;
		$told{$relation} = $session->query("SELECT string_agg(x::text, ' ') FROM $relation x");
	}
	cmp_ok(scalar(grep { /^booking\./ } keys %told), '>', 30, "$kind: all relations were looked at");
	is_deeply([ grep { $told{$_} =~ /$pattern/ } sort keys %told ], [], "$kind: no canary is told");
	is( $session->query(
			"SELECT max(length(problem)) <= 64 AND max(length(message)) <= 200 FROM booking.attempt"),
		't', "$kind: reasons are capped");
	$session->quit;
	$node->stop;
	my $log = slurp_file($node->logfile);
	like($log, qr/DEBUG/, "$kind: the log is talkative");
	is(join("\n", grep { /$pattern/ } split(/\n/, $log)), '', "$kind: the log has no canary");
	like(encode_json($mock->look), qr/SECRET-/, "$kind: but the mock has");
}

done_testing();
