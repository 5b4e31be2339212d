# test/t/173_bookingd_kill.pl
#
# Every delivery that was answered with 2xx is in the inbox, also when bookingd
# or PostgreSQL are killed in the middle of it, and a sender that repeats what
# was not answered so gets all of it stored.  The sender keeps its own time: a
# stall is charged to everything that was due meanwhile.
#
# Where the extension has booking_webhook_receive(), it is what receives here;
# else the stand-in of test/bookingd.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Daemon;
use IPC::Run ();
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my $rate = size(200, 1000);
my $seconds = size(5, 60);
my $connections = 256;

# A killed server must find its log on disk; "off" is what bookingd overrules.
my $node = booking_node('main',
	conf => "fsync = on\nsynchronous_commit = off\nrestart_after_crash = on\nmax_connections = 60");
my $session = session($node);
my $receiver = Booking::Daemon::install_receiver($session);
my @args = (@{ $receiver->{options} }, '--rate=0', '--queue=5000', '--max-connections=1000');
my $daemon = Booking::Daemon->start($node, args => \@args);
my $port = $daemon->{port};
my $program = Booking::Daemon::sender();

note "deliveries go to $receiver->{inbox}";

# Start sending requests; returns what send_ends() wants.
sub send_starts
{
	my ($requests, $per_second, $links) = @_;
	my $file = Booking::Daemon::write_requests(@$requests);
	my $run = { out => '', count => scalar @$requests };

	$run->{process} = IPC::Run::start([ $program, $port, $per_second, $links ],
		'<', $file, '>', \$run->{out});
	wait_until('the sender begins', sub { $run->{process}->pump_nb; return $run->{out} =~ /\n/; });
	($run->{began}) = $run->{out} =~ /^(\S+)/;
	return $run;
}

# Wait for the end of the sender: a list of status, due and latency.
sub send_ends
{
	my ($run) = @_;

	$run->{process}->finish or die 'the sender failed';
	my (undef, @lines) = split /\n/, $run->{out};
	is(scalar @lines, $run->{count}, 'the sender tells of every delivery');
	return [ map { [split] } @lines ];
}

# Milliseconds that a share of latencies stays below.
sub percentile
{
	my ($share, @latencies) = @_;
	my @sorted = sort { $a <=> $b } @latencies;

	return sprintf '%.1f', $sorted[ int($share * $#sorted) ] / 1000;
}

# Ids of the deliveries that are in the inbox.
sub inbox
{
	my $by = session($node);
	my %found = map { $_ => 1 } split /\n/, $by->query(
		"SELECT DISTINCT convert_from(body, 'UTF8')::jsonb ->> 'id' FROM $receiver->{inbox}");

	$by->quit;
	return \%found;
}

# Wait until the sender is so far, in seconds.
sub reach
{
	my ($run, $second) = @_;

	wait_until("the sender has sent for $second s",
		sub { return clock_gettime(CLOCK_MONOTONIC) - $run->{began} >= $second; });
	return;
}

# A window in which the receiver was down, widened by what catching up takes.
my @windows;

sub window
{
	my ($run, $code) = @_;
	my $begin = clock_gettime(CLOCK_MONOTONIC) - $run->{began};

	$code->();
	my $end = clock_gettime(CLOCK_MONOTONIC) - $run->{began};
	push @windows, [ $begin * 1e6, ($end + 1) * 1e6 ];
	return sprintf '%.0f', ($end - $begin) * 1000;
}

my @ids = map { "delivery-$_" } 1 .. $rate * $seconds;
my $run = send_starts([ map { Booking::Daemon::signed_delivery($_) } @ids ], $rate, $connections);

reach($run, $seconds * 0.25);
figure('bookingd was away after kill -9 (ms)', window($run, sub {
	is($daemon->stop('KILL'), -9, 'bookingd is killed');
	$daemon = Booking::Daemon->start($node, port => $port, args => \@args);
}));

reach($run, $seconds * 0.5);
figure('PostgreSQL was away after kill -9 of a session (ms)', window($run, sub {
	my ($pid) = split /\n/, $session->query("SELECT pid FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
	kill 'KILL', $pid;
	wait_until('the server has noticed', sub { return $daemon->log =~ /the database is away/; });
	$daemon->wait_ready;
}));

reach($run, $seconds * 0.75);
figure('PostgreSQL was away after kill -9 of all of it (ms)', window($run, sub {
	my @processes = split /\n/, session($node)->query('SELECT pid FROM pg_stat_activity');

	# another one may only start when they have noticed
	$node->kill9;
	wait_until('its processes are gone', sub { return !grep { -e "/proc/$_" } @processes; });
	$node->start;
	$daemon->wait_ready;
}));

my $results = send_ends($run);
my %said = map { $ids[$_] => $results->[$_][0] } 0 .. $#ids;
my @stored = grep { $said{$_} =~ /^2/ } @ids;
my @others = grep { $said{$_} !~ /^2/ } @ids;
my $found = inbox();

is_deeply([ grep { !$found->{$_} } @stored ], [], 'every 2xx is in the inbox');
is_deeply([ grep { $said{$_} !~ /^(?:2\d\d|503|0)$/ } @ids ], [], 'all else was 503 or no answer');
cmp_ok(scalar @others, '>', 0, 'the kills met deliveries');
cmp_ok(scalar @stored, '>', @ids / 5, 'what came before the kills was stored at once');

# A real sender comes again.
for my $try (1 .. 5)
{
	last unless @others;
	my $again = send_ends(send_starts([ map { Booking::Daemon::signed_delivery($_) } @others ], $rate, $connections));
	@others = map { $others[$_] } grep { $again->[$_][0] !~ /^2/ } 0 .. $#others;
}
is_deeply(\@others, [], 'what was repeated is stored');
$found = inbox();
is_deeply([ grep { !$found->{$_} } @ids ], [], 'nothing is lost');
is(scalar keys %$found, scalar @ids, 'and nothing was made up');

my @calm = map { $_->[2] } grep {
	my $due = $_->[1];
	!grep { $due >= $_->[0] && $due <= $_->[1] } @windows
} @$results;
cmp_ok(scalar @calm, '>', @ids / 10, 'there was time without kills');
figure('deliveries a second', $rate);
figure('deliveries sent', scalar @ids);
figure('latency outside the kill windows, p50 (ms)', percentile(0.5, @calm));
figure('latency outside the kill windows, p99 (ms)', percentile(0.99, @calm));
figure('latency outside the kill windows, most (ms)', percentile(1, @calm));

# Without kills, and as fast as it goes, beside bare inserts of the same rows by
# as many connections.
$run = send_starts([ map { Booking::Daemon::signed_delivery("calm-$_") } 1 .. $rate * $seconds ],
	$rate, $connections);
$results = send_ends($run);
is(scalar(grep { $_->[0] =~ /^2/ } @$results), scalar @$results, 'without kills all are stored');
my @latencies = map { $_->[2] } @$results;
figure('latency without kills, p50 (ms)', percentile(0.5, @latencies));
figure('latency without kills, p99 (ms)', percentile(0.99, @latencies));

my $many = size(3000, 30_000);
$results = send_ends(send_starts([ map { Booking::Daemon::signed_delivery("fast-$_") } 1 .. $many ], 1e6, 64));
is(scalar(grep { $_->[0] =~ /^2/ } @$results), $many, 'as fast as it goes all are stored');
my ($last) = sort { $b <=> $a } map { $_->[1] + $_->[2] } @$results;
my $fastest = $many / ($last / 1e6);

$session = session($node);
$session->query('CREATE TABLE bare (delivery bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	source text, headers jsonb, body bytea, query text)');
my $script = PostgreSQL::Test::Utils::tempdir() . '/insert.sql';
my $body = sprintf '{"type":"test.delivery","id":"%s","padding":"%s"}', 'fast-1', 'x' x 400;
append_to_file($script, qq(INSERT INTO bare (source, headers, body) VALUES ('hook',
	'[["Host", "localhost"], ["Content-Type", "application/json"], ["webhook-id", "fast-1"],
	["webhook-timestamp", "1234567890"], ["Content-Length", "450"],
	["webhook-signature", "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]]', '$body');\n));
my ($out, $err) = run_command([
	$node->installed_command('pgbench'), '-n', '-M', 'prepared', '-c', 8, '-t', int($many / 8), '-f', $script,
	$node->connstr('postgres') . ' options=-csynchronous_commit=on' ]);
my ($bare) = $out =~ /^tps = ([\d.]+)/m;
ok($bare, 'bare inserts are measured') or diag($err);
figure('deliveries a second at most', sprintf '%.0f', $fastest);
figure('bare inserts a second', sprintf '%.0f', $bare);
figure('ratio of both', sprintf '%.2f', $fastest / $bare);
figure('memory of bookingd at most (kB)', $daemon->peak_kb);
is($daemon->stop, 0, 'it ends with 0');

done_testing();
