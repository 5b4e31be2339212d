# test/t/lib/Booking/Steps.pm
#
# Every way to die at every step of a request, the same for every provider: when
# the claim is committed and nothing begun, while the name of the server is
# resolved, when the request is sent, when the answer is on its way, and when it
# was read but not recorded.  DROP EXTENSION is the one way that forgets.

package Booking::Steps;

use strict;
use warnings FATAL => 'all';

use Booking;
use Booking::Caldav;
use Booking::FaultProxy;
use Exporter 'import';
use List::Util 'min';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  step_node
  step_server
  step_names
  death_names
  die_at
  steps_end
);

my ($node, $session, $server, $proxy, $observer, $from, $bookings);
my $round = 0;

# Make the node of such a test.
sub step_node
{
	my ($name) = @_;

	($node, $session) = provider_node(
		$name,
		resolver => 1,
		conf => "restart_after_crash = on\nbooking.max_in_flight = 100\n");
	$from = -s $node->logfile;
	return;
}

# Put a server under its proxy; each death is met by so many bookings.
sub step_server
{
	($server, $bookings) = @_;
	$proxy = Booking::FaultProxy->new($server);
	know($proxy->url);
	return;
}

sub worker
{
	return $session->query(
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'booking worker'");
}

# Open the session again after a crash.
sub reconnect
{
	$session = undef;
	wait_until('the server is back', sub { $session = eval { session($node) } });
	$session->query('SET client_min_messages = error');
	return;
}

sub set_worker
{
	my ($value) = @_;

	$session->query("ALTER SYSTEM SET booking.worker = $value");
	$session->query('SELECT pg_reload_conf()');
	wait_until("booking.worker is $value",
		sub { $session->query('SHOW booking.worker') eq $value });
	wait_until('the worker obeys',
		sub { $session->query('SELECT state FROM booking_worker_status()') eq 'paused' })
	  if $value eq 'off';
	return;
}

# The provider as this database knows it; the calendars are there.
sub know
{
	my ($url, @names) = @_;

	# orphans of an earlier extension are in the way of nothing here
	$session->query(
		"SELECT booking_account_put('t', '${\$server->provider}', '${\$server->provider}', '${\$server->base($url)}', '{\"busy_blocks\": \"none\"}')"
	);
	sign_in($session, $server, $server->provider);
	$session->query("SELECT booking_permit_all('t', 'p')");
	foreach my $name (@names)
	{
		$session->query("SELECT booking_resource_put('t', '$name', 1000)");
		$session->query(
			"SELECT booking_calendar_put('t', '$name', '${\$server->provider}', '${\$server->remote($name)}', '$name')");
	}
	return;
}

# Ways to die.
my %ways = (
	'kill -9' => sub {
		kill('KILL', worker()) or die 'no worker';
		wait_until('the server notices',
			sub { !eval { $session->sqlstate('SELECT 1') eq '00000' } });
		reconnect();
	},
	'terminate' => sub { $session->query("SELECT pg_terminate_backend(${\worker()})") },
	'immediate shutdown' => sub {
		$session->quit;
		$node->stop('immediate');
		start_with_resolver($node);
		reconnect();
	},
	'DROP EXTENSION' => sub {
		my $dropping = session($node);

		$dropping->query('SET client_min_messages = error');
		$dropping->send('DROP EXTENSION booking CASCADE');
		if ($observer)
		{
			wait_blocked($session, $dropping);
			$observer->query('ROLLBACK');
		}
		is($dropping->receive->{error}, undef, 'the extension is dropped');
		$dropping->quit;
	});

# Requests of a calendar that were made, by a condition.
sub requests
{
	my ($path, $code) = @_;
	return scalar $proxy->log(sub { $_[0]{path} =~ /^\Q$path\E/ && $code->($_[0]) });
}

# So many writes of a calendar, or as many as there are, or may be at one time.
sub at_once
{
	my ($wanted) = @_;
	return min($wanted, $bookings, $server->at_once);
}

# How many operations of a calendar are being sent.
sub sending
{
	my ($name) = @_;
	return $session->query(
		"SELECT count(*) FROM booking.operation WHERE calendar = '$name' AND state = 'sending'");
}

# Steps of a request: what is done before the calls, and after them until the
# worker is there.  A request is a PUT or a DELETE.
my $write = sub { $_[0]{kind} =~ /create|update|DELETE/ };
my %steps = (
	'claim committed' => [ sub { set_worker('off') }, sub { } ],
	'before connect' => [
		sub {
			my $old = worker();

			# a new worker has not resolved the name yet
			my $slow = $server->base($proxy->url('http', 'slow.ip-127-0-0-1.test'));

			$session->query("SELECT booking_account_put('t', '${\$server->provider}', '${\$server->provider}', '$slow')");
			sign_in($session, $server, $server->provider);
			$session->query("SELECT pg_terminate_backend($old)");
			wait_until('there is another worker', sub { worker() !~ /^(|$old)$/ });
			set_worker('off');
		},
		sub {
			my ($name) = @_;

			set_worker('on');
			wait_until('a name is resolved',
				sub { sending($name) > 0 && glob_count('/proc/' . worker() . '/task/*') > 1 });
		}
	],
	'request sent' => [
		sub { $proxy->break('create,update,DELETE', $server->path($_[0]), 'hold', at_once(3)) },
		sub {
			my ($name) = @_;
			wait_until('it has arrived',
				sub { requests($server->path($name), sub { $write->(@_) && $_[0]{fault} }) >= at_once(3) });
		}
	],
	'answer on its way' => [
		sub { $proxy->break('create,update,DELETE', $server->path($_[0]), 'hold_after', at_once(3)) },
		sub {
			my ($name) = @_;
			wait_until('it is done',
				sub {
					requests($server->path($name),
						sub { $write->(@_) && $_[0]{fault} && $_[0]{status} }) >= at_once(3);
				});
		}
	],
	'answer read' => [
		sub { $proxy->break('create,update,DELETE', $server->path($_[0]), 'hold_after', 1000) },
		\&read_answer
	]);

# Somebody holds the lock of each intent, so that answers are read and cannot be
# recorded: the worker looks again and again.
sub read_answer
{
	my ($name, $kind, @intents) = @_;
	my $path = $server->path($name);
	my $held = sub { $write->(@_) && $_[0]{fault} && $_[0]{status} };
	my $pid = worker();
	my %looks;

	wait_until('all are done that may be at one time',
		sub { requests($path, $held) >= at_once(scalar @intents) });
	$observer = session($node);
	$observer->query('BEGIN');
	$observer->query($kind eq 'cancel' ? "SELECT booking_release('t', 'p', '$_', 'lock')" :
		  "SELECT booking_cancel('t', 'p', '$_" . ($kind eq 'update' ? '-moved' : '') . "')")
	  foreach @intents;
	$proxy->clear;
	wait_until('the answers are passed',
		sub { requests($path, sub { $held->(@_) && !$_[0]{answered} }) == 0 });
	wait_until(
		'the worker has looked',
		sub {
			$looks{ $session->query(
					"SELECT state_change FROM pg_stat_activity WHERE pid = $pid")
			} = 1;
			return keys %looks > 8;
		});
	return;
}

sub glob_count
{
	my ($pattern) = @_;
	my @found = glob($pattern);
	return scalar @found;
}

# What is done to a booking, by kind of operation: the call, and where its event
# is in the end.
my %kinds = (
	create => [
		sub {
			"SELECT booking_claim('t', 'p', '$_[0]', '$_[1]', '[2030-05-01 10:00+00,2030-05-01 11:00+00)')";
		},
		'20300501T100000Z'
	],
	update => [
		sub {
			"SELECT booking_claim('t', 'p', '$_[0]-moved', '$_[1]', '[2030-05-01 14:00+00,2030-05-01 15:00+00)', supersedes => '$_[0]')";
		},
		'20300501T140000Z'
	],
	cancel => [ sub { "SELECT booking_cancel('t', 'p', '$_[0]')" }, undef ]);

# Events of a calendar: id => start.
sub events
{
	my ($name) = @_;
	my $events = $server->list($server->path($name));

	return { map { $_ => $events->{$_}{start} } keys %$events };
}

# Ids that the ledger knows in a calendar, each with the start given.
sub known
{
	my ($name, $start) = @_;
	my $ids = $session->query(
		"SELECT string_agg(DISTINCT event_id, ' ') FROM booking.operation WHERE calendar = '$name'"
	);
	return { map { $_ => $start } split(/ /, $ids) };
}

sub after_death
{
	my ($name, $title, $kind, $ids) = @_;
	my $start = $kinds{$kind}[1];

	$proxy->clear;
	settle($node, $session);
	is_deeply(events($name), defined $start ? known($name, $start) : {},
		"$title: each booking has its event");
	is_deeply(known($name, 1), $ids, "$title: under the ids it had before");
	is($session->query("SELECT count(*) FROM booking.operation WHERE state = 'parked'"),
		0, "$title: no operator is needed");
	is_clean($session, $title);
	return;
}

sub after_drop
{
	my ($name, $title, $kind, $ids, $intents) = @_;
	my $path = $server->path($name);
	my $quiet = requests($path, sub { 1 });

	$session->query('ALTER SYSTEM RESET booking.worker');
	$session->query('SELECT pg_reload_conf()');
	$proxy->clear;
	wait_until('its worker has left', sub { worker() eq '' });
	wait_until('nothing is on its way to the server',
		sub { requests($path, sub { !$_[0]{passed} && $_[0]{fault} }) == 0 });
	my $orphans = events($name);
	is_deeply([ grep { !$ids->{$_} } keys %$orphans ], [],
		"$title: what is there are events of bookings, each once");

	$session->query('CREATE EXTENSION booking CASCADE');
	know($proxy->url, $name);
	is(requests($path, sub { 1 }), $quiet, "$title: nothing is sent after it");
	$session->query($kinds{create}[0]->($_, $name)) foreach @$intents;
	settle($node, $session);
	is_deeply(
		events($name),
		{ %$orphans, %{ known($name, $kinds{create}[1]) } },
		"$title: the new bookings have events of their own, the orphans stay");
	is(scalar keys %{ events($name) }, @$intents + keys %$orphans,
		"$title: which are others");
	is_clean($session, $title);
	return;
}

# The steps, in their order.
sub step_names
{
	return ('claim committed', 'before connect', 'request sent', 'answer on its way',
		'answer read');
}

# Ways to die but for DROP EXTENSION.
sub death_names
{
	my @deaths = sort grep { !/DROP/ } keys %ways;
	return @deaths;
}

# Die in a way at a step of an operation of a kind.
sub die_at
{
	my ($step, $way, $kind) = @_;
	my $name = 'round-' . ++$round;
	my $title = $server->provider . ", $kind, $step, $way";
	my @intents = map { "$name-$_" } 1 .. $bookings;

	$server->make_calendar($name);
	know($proxy->url, $name);
	wait_until('there is a worker', sub { worker() ne '' });
	if ($kind ne 'create')
	{
		$session->query($kinds{create}[0]->($_, $name)) foreach @intents;
		settle($node, $session);
	}
	$steps{$step}[0]->($name);
	$session->query($kinds{$kind}[0]->($_, $name)) foreach @intents;
	my $ids = known($name, 1);

	$steps{$step}[1]->($name, $kind, @intents);
	$ways{$way}->();
	$observer = undef;
	if ($way eq 'DROP EXTENSION')
	{
		after_drop($name, $title, $kind, $ids, \@intents);
		return;
	}
	set_worker('on');
	after_death($name, $title, $kind, $ids);
	return;
}

# After all deaths.
sub steps_end
{
	unlike(slurp_file($node->logfile, $from), qr/ERROR|PANIC|booking: /,
		'nothing of it is an error');
	figure('deaths', $round);
	$session->quit;
	$node->stop;
	return;
}

1;
