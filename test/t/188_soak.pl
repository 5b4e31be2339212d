# test/t/188_soak.pl
#
# Unwatched for as long as there is patience: clients claim and cancel, a web
# service delivers bookings in any order and more than once, people move and
# delete events and make their own, the calendar's server breaks off, refuses and
# restarts, and the worker, backends, the calendar's server and PostgreSQL are
# killed.  Deaths end before the end, so that the last worker has long enough a
# life to show that its memory stays flat.
#
# After that nothing is open: every booking has its one event, no canceled one
# has any, no delivery was lost, booking_check() is empty, nobody holds a lock,
# and autovacuum has kept up with every table.
#
# Three minutes in the reduced run, an hour in the full one.  Proves R38 and R80
# over time, and that nothing of this needs a person.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::FaultProxy;
use Digest::SHA 'hmac_sha256_hex';
use IPC::Run ();
use JSON::PP;
use List::Util 'max';
use POSIX 'strftime';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $seconds = size(170, 3600);

# The part of it in which things die.
my $deadly = 0.6;

# What the last worker may gain in its life: what it read first, and nothing
# for each thing it did.
my $bound_kb = 8192;
my $secret = 'a secret of the soak';
my @calendars = map { "room-$_" } 1 .. 3;
my $json = JSON::PP->new->canonical;
my (%happened, %over, @memory, @locks);

# The clock is the real one, so bookings are for days that follow today.
my $today = int(time() / 86400);

sub day
{
	my ($n, $format) = @_;
	return strftime($format, gmtime(($today + $n) * 86400));
}

seed(188);
my ($node, $session) = provider_node('main', conf => <<'EOC');
restart_after_crash = on
booking.sync_interval = 3
booking.http_timeout = 5s
autovacuum_naptime = 1s
autovacuum_vacuum_cost_delay = 0
max_connections = 50
log_min_messages = warning
EOC
my $server = Booking::Caldav->new('radicale');
my $proxy = Booking::FaultProxy->new($server);

attach($session, $server, $proxy->url, 'account', @calendars);
$session->query("SELECT booking_resource_put('t', 'hall', 3)");
$session->query("SELECT booking_webhook_source_put('t', 'cal', 'calcom', '{}')");
$session->query("SELECT booking_webhook_secret_put('cal', " . sql_literal($secret) . ')');
$session->query("SELECT booking_webhook_map('cal', 'web', '$calendars[0]')");
$session->query("SELECT booking_consumer_put('t', 'reader')");

# ----------------------------------------------------------------------------
# Clients
# ----------------------------------------------------------------------------

# What an identity wants follows from its name, so that a second claim of it is
# a redial.  Names are those of a minute: what is claimed in one is canceled in
# the next ones, but for a tenth.
my $wanted = <<'EOQ';
\set n random(1, 200)
\set behind random(0, 2)
EOQ
my $minute = '(extract(epoch FROM now())::bigint / 60 - :behind)';
my %clients = (
	hall => [ 2, 40, <<"EOQ" ],
$wanted
SELECT booking_claim('t', 'p', concat_ws('-', 'hall', $minute, :n), 'hall',
	tstzrange(s, s + interval '45 min')) FROM (SELECT timestamptz '${\day(400, '%F')} 00:00+00'
	+ ($minute % 10000) * interval '1 day' + :n % 90 * interval '15 min') w (s);
EOQ
	'hall cancel' => [ 1, 30, <<"EOQ" ],
$wanted
SELECT booking_cancel('t', 'p', concat_ws('-', 'hall', $minute, :n));
EOQ
	room => [ 2, 2, <<"EOQ" ],
$wanted
\\set room random(1, 3)
SELECT booking_claim('t', 'p', concat_ws('-', 'room', :room, $minute, :n), 'room-' || :room,
	tstzrange(s, s + interval '15 min')) FROM (SELECT timestamptz '${\day(30, '%F')} 00:00+00'
	+ ($minute % 40) * interval '4 hours' + :n % 16 * interval '15 min') w (s);
EOQ
	'room cancel' => [ 1, 4, <<"EOQ" ],
$wanted
\\set room random(1, 3)
SELECT booking_cancel('t', 'p', concat_ws('-', 'room', :room, $minute, :n)) WHERE :n % 10 > 0;
EOQ
	feed => [ 1, 5, <<'EOQ' ]);
SELECT booking_consumer_ack('t', 'reader', max(position)) FROM booking_changes('t', 'reader', 1000)
 HAVING max(position) IS NOT NULL;
EOQ

# Clients come back when the server has died below them.
sub start_clients
{
	my ($until) = @_;
	my @running;

	foreach my $name (sort keys %clients)
	{
		my ($count, $rate, $sql) = @{ $clients{$name} };
		my $file = $node->basedir . '/' . ($name =~ s/ /-/r);

		append_to_file("$file.sql", $sql);
		my $handle = IPC::Run::start(
			[
				'bash', '-c',
				'while left=$(($1 - $(date +%s))) && [ $left -gt 0 ]; do'
				  . ' "${@:2}" -T $left || sleep 0.2; done', 'client',
				int($until),
				$node->installed_command('pgbench'),
				'-n', '-c', $count, '-R', $rate, '-f', "$file.sql",
				'--failures-detailed',
				'-h', $node->host, '-p', $node->port, '-U', $session->query('SELECT current_user'), 'postgres'
			],
			'<', \undef, '>', "$file.out", '2>', "$file.err");
		push @running, [ $name, $handle, "$file.err" ];
	}
	return @running;
}

# ----------------------------------------------------------------------------
# The web service
# ----------------------------------------------------------------------------

# Deliver a body, again and again until it is answered, as senders do.
sub deliver
{
	my ($event, $uid, $version, $start) = @_;
	my $body = $json->encode(
		{
			triggerEvent => "BOOKING_$event",
			createdAt => sprintf('2029-01-01T00:%02d:00.000Z', $version),
			payload => {
				uid => $uid,
				type => 'web',
				startTime => "${start}00:00Z",
				endTime => "${start}30:00Z",
			}
		});
	my $call = sprintf(
		"SELECT status FROM booking_webhook_receive('cal', '{\"x-cal-signature-256\": \"%s\"}', convert_to(%s, 'UTF8'))",
		hmac_sha256_hex($body, $secret), sql_literal($body));

	on_a_session(sub { $session->query($call) eq '200' or die "a delivery is refused: $body\n" });
	return;
}

my $web = 0;

# A booking, its cancellation, or both in either order, each perhaps twice.
sub web_booking
{
	my $uid = 'web-' . ++$web;
	my $start = day(100 + int($web / 24) % 200, '%FT') . sprintf('%02d:', $web % 24);
	my @bodies = rand() < 0.5 ? (1) : rand() < 0.5 ? (1, 2) : (2, 1);

	foreach my $version (map { ($_) x (1 + int(rand(2))) } @bodies)
	{
		deliver($version == 1 ? 'CREATED' : 'CANCELLED', $uid, $version, $start);
		$over{$uid} = 1 if $version == 2;
	}
	return;
}

# ----------------------------------------------------------------------------
# Other people
# ----------------------------------------------------------------------------

# An event of ours that is there, by its path and intent.
sub event_of_ours
{
	return $session->row(<<'EOQ');
SELECT e.object FROM booking.event e JOIN booking.intent i USING (intent_id)
 WHERE i.state = 'created' AND i.remote = 'confirmed' ORDER BY random() LIMIT 1
EOQ
}

# A server that died between two requests of ours answers nothing.
sub move_ours
{
	my ($object) = event_of_ours();
	my $day = day(310 + rand(50), '%Y%m%d');

	return unless defined $object;
	eval {
		$server->edit(
			$object,
			sub {
				s/^(DTSTART[^:]*:)\d{8}T\d{4}/$1${day}T1200/m;
				s/^(DTEND[^:]*:)\d{8}T\d{4}/$1${day}T1230/m;
			});
	};
	return;
}

sub delete_ours
{
	my ($object) = event_of_ours();

	$server->request('DELETE', $object) if defined $object;
	return;
}

my $foreign = 0;

sub make_theirs
{
	my $hour = day(30 + rand(8), '%Y%m%dT') . sprintf('%02d', rand(24));
	my $room = $calendars[ rand(@calendars) ];
	my $name = 'theirs-' . ++$foreign % 50;

	$server->request(
		'PUT',
		"/user/$room/$name.ics",
		headers => { 'Content-Type' => 'text/calendar; charset=utf-8' },
		body => join("\r\n",
			'BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//EN', 'BEGIN:VEVENT',
			"UID:$room-$name", 'DTSTAMP:20290101T000000Z', "DTSTART:${hour}0000Z",
			"DTEND:${hour}1000Z", 'SUMMARY:theirs', 'END:VEVENT', 'END:VCALENDAR', ''));
	return;
}

my @faults = qw(unavailable unavailable_after bad_gateway bad_gateway_after reset reset_after
  close close_after gateway_timeout_after rate_limited cut_length cut_chunked interim stall_after);

sub break_something
{
	my @kinds = ('create', 'update', 'DELETE', 'GET', 'REPORT,PROPFIND', 'query');

	$proxy->break($kinds[ rand(@kinds) ], '/user/', $faults[ rand(@faults) ], 1 + int(rand(3)));
	return;
}

# ----------------------------------------------------------------------------
# Deaths
# ----------------------------------------------------------------------------

sub reconnect
{
	$session = undef;
	wait_until(
		'the server is back',
		sub {
			$session = eval { session($node) };
			return $session
			  && $session->sqlstate('SET client_min_messages = error') eq '00000';
		});
	return;
}

# Do something, again if the session was killed.
sub on_a_session
{
	my ($code) = @_;
	my $tries = 0;

	until (eval { $code->(); 1 })
	{
		die $@ if ++$tries > 5 || $@ !~ /57P0|connection|psql/;
		reconnect();
	}
	return;
}

sub worker
{
	my ($pid) = $session->row("SELECT pid FROM pg_stat_activity WHERE backend_type = 'booking worker'");
	return $pid;
}

sub kill_worker
{
	my $pid = worker() // return;

	kill('KILL', $pid) or return;
	wait_until('the server notices', sub { $session->sqlstate('SELECT 1') ne '00000' });
	reconnect();
	return;
}

sub kill_backend
{
	my ($pid) = $session->row("SELECT pid FROM pg_stat_activity"
		  . " WHERE application_name = 'pgbench' ORDER BY random() LIMIT 1");

	return unless defined $pid && kill('KILL', $pid);
	wait_until('the server notices', sub { $session->sqlstate('SELECT 1') ne '00000' });
	reconnect();
	return;
}

sub restart_node
{
	my ($how) = @_;

	$session->quit;
	$node->stop($how);
	$node->start;
	reconnect();
	return;
}

# How often in a thousand steps, what, and whether it is deadly.
my @besides = (
	[ 250, 'web bookings', \&web_booking ],
	[ 60, 'events moved', \&move_ours ],
	[ 60, 'events deleted', \&delete_ours ],
	[ 120, 'events of others', \&make_theirs ],
	[ 200, 'faults', \&break_something ],
	[ 100, 'rounds asked for', sub { $session->query("SELECT booking_sync('t', '$calendars[rand(@calendars)]')") } ],
	[ 20, 'workers ended', sub { $session->query('SELECT pg_terminate_backend(' . (worker() // 0) . ')') }, 1 ],
	[ size(12, 4), 'workers killed', \&kill_worker, 1 ],
	[ size(8, 2), 'backends killed', \&kill_backend, 1 ],
	[ size(6, 2), 'fast restarts', sub { restart_node('fast') }, 1 ],
	[ size(6, 2), 'immediate restarts', sub { restart_node('immediate') }, 1 ],
	[ size(8, 4), 'restarts of the calendar server', sub { $server->{server}->signal('KILL'); $server->stop; $server->start }, 1 ]);

sub step
{
	my ($die) = @_;
	my $pick = rand(1000);

	foreach my $besides (@besides)
	{
		my ($weight, $name, $code, $deadly) = @$besides;

		next if ($pick -= $weight) >= 0;
		return if $deadly && !$die;
		$happened{$name}++;
		on_a_session($code);
		return;
	}
	return;
}

# ----------------------------------------------------------------------------
# What is watched
# ----------------------------------------------------------------------------

# Memory of the worker's own, in kB, and locks that somebody holds on our tables.
sub sample
{
	my $pid = worker() // return;
	my $status = eval { slurp_file("/proc/$pid/status") } // return;

	push @memory, [ $pid, $1, time() ] if $status =~ /^RssAnon:\s+(\d+) kB$/m;
	push @locks, $session->query('SELECT count(*) FROM pg_locks');
	return;
}

sub is_flat
{
	my $pid = $memory[-1][0];
	my @life = grep { $_->[0] == $pid } @memory;
	my $begin = int(@life / 4);
	my $grown = $life[-1][1] - max(map { $_->[1] } @life[ 0 .. $begin ]);

	cmp_ok(scalar @life, '>', 20, 'the last worker lives long enough to be watched');
	cmp_ok($grown, '<', $bound_kb, 'its memory is flat');
	cmp_ok(max(@locks), '<', 1000, 'locks are few at any time');
	figure('the last worker: seconds of its life', sprintf('%.0f', $life[-1][2] - $life[0][2]));
	figure('the last worker: growth of its memory behind the first quarter, kB', $grown);
	figure('locks at most', max(@locks));
	return;
}

# A table whose dead rows are many after the last deed is one that was left to
# itself.
sub is_vacuumed
{
	my $left = '';

	wait_until(
		'autovacuum has been everywhere',
		sub {
			$left = $session->query(<<'EOQ');
SELECT coalesce(string_agg(concat_ws(' ', relname, n_live_tup, n_dead_tup), ', '), '') FROM pg_stat_user_tables
 WHERE schemaname = 'booking' AND n_dead_tup > 500 + 0.3 * n_live_tup
EOQ
			return $left eq '';
		});
	is($left, '', 'no table is full of dead rows');
	cmp_ok($session->query("SELECT count(*) FROM pg_stat_user_tables WHERE schemaname = 'booking' AND autovacuum_count > 0"),
		'>', 2, 'which is autovacuum\'s work');
	return;
}

# What is known of events that are not as they should be.
sub explain_events
{
	foreach my $uid (@_)
	{
		diag($session->query(<<"EOQ"));
SELECT to_jsonb(o) - 'body' FROM booking.operation o WHERE event_id = '$uid'
UNION ALL
SELECT to_jsonb(a) FROM booking.attempt a JOIN booking.operation o USING (operation_id) WHERE o.event_id = '$uid'
UNION ALL
SELECT to_jsonb(e) FROM booking.event e JOIN booking.operation o USING (intent_id) WHERE o.event_id = '$uid'
UNION ALL
SELECT to_jsonb(c) FROM booking.conflict c JOIN booking.operation o USING (intent_id) WHERE o.event_id = '$uid'
EOQ
	}
	return;
}

# ----------------------------------------------------------------------------

my $begin = time();
my @running = start_clients($begin + $seconds);
my $sampled = 0;

while ((my $passed = time() - $begin) < $seconds)
{
	step($passed < $deadly * $seconds);
	if (time() - $sampled > $seconds / 300)
	{
		on_a_session(\&sample);
		$sampled = time();
	}
	select(undef, undef, undef, 0.1);
}
foreach my $running (@running)
{
	my ($name, $handle, $errors) = @$running;

	$handle->finish;
	my @odd = grep { /ERROR|FATAL|PANIC/ && !/57P0|terminating|starting up|shutting down|recovery mode|shutdown|not yet accepting/ }
	  split(/\n/, slurp_file($errors));
	is_deeply(\@odd, [], "clients of $name see no error but deaths");
}
$proxy->clear;
is_flat();

# Whatever is on its way arrives, and what others did is known.
settle($node, $session);
foreach my $name (@calendars)
{
	$session->query("CALL booking_sync_wait('t', '$name')");
	settle($node, $session);
}
is_clean($session, 'at the end');
my @parked = map { $_->[0] } @{ $session->try(
	"SELECT event_id FROM booking.operation WHERE state = 'parked' AND problem <> 'event_moved'")->{rows} };

# what somebody moved, and the booking's owner cancels, is for people to settle
is_deeply(\@parked, [], 'no operation is parked but for what people disagree about') or explain_events(@parked);

my %there = map { %{ $server->list("/user/$_/") } } @calendars;
my %ours = map { $_->[0] => $_->[1] } @{ $session->try(<<'EOQ')->{rows} };
SELECT DISTINCT ON (i.intent_id) o.event_id, i.intent || ' ' || i.state
  FROM booking.intent i JOIN booking.operation o USING (intent_id)
 WHERE o.event_id IS NOT NULL ORDER BY i.intent_id, o.operation_id DESC
EOQ
my @missing = grep { $ours{$_} =~ / created\z/ && !$there{$_} } sort keys %ours;
my @undead = grep { $ours{$_} =~ / canceled\z/ && $there{$_} } sort keys %ours;

is_deeply([ map { $ours{$_} } @missing ], [], 'every booking has its event') or explain_events(@missing);
is_deeply([ map { $ours{$_} } @undead ], [], 'no canceled one has any') or explain_events(@undead);
is_deeply([ grep { !$ours{$_} && !/theirs/ } sort keys %there ], [], 'and nobody made another');

my %state = map { $_->[0] => $_->[1] }
  @{ $session->try("SELECT intent, state FROM booking.intent WHERE principal = 'cal'")->{rows} };
is_deeply([ grep { !defined $state{$_} } map { "web-$_" } 1 .. $web ], [], 'no delivery is lost');
is_deeply([ grep { $state{$_} ne 'canceled' } sort keys %over ], [], 'what was called off is canceled');
is($session->query("SELECT count(*) FROM booking.inbox WHERE state IN ('waiting', 'failed')"), 0, 'and none waits');
is($session->query("SELECT count(*) FROM pg_locks l WHERE NOT granted"), 0, 'nobody waits for a lock');
is($session->query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid <> ALL"
		  . " (SELECT pid FROM pg_stat_activity WHERE backend_type LIKE 'booking%')"), 0, 'nor is one left');
is_vacuumed();
cmp_ok($happened{$_} // 0, '>', 0, $_) foreach map { $_->[1] } grep { $_->[0] >= size(12, 12) } @besides;

figure('seconds', $seconds);
figure($_->[1], $happened{ $_->[1] } // 0) foreach @besides;
figure('bookings', $session->query('SELECT count(*) FROM booking.intent'));
figure('operations', $session->query('SELECT count(*) FROM booking.operation'));
figure('rounds', $session->query('SELECT sum(round) FROM booking.cursor'));
$node->stop;
done_testing();
