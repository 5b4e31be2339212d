# test/t/lib/Booking/Stub.pm
#
# What the tests of the worker's life share: a calendar server that does as it
# is told (see hanging_server.py), nodes whose worker may speak to it, and the
# questions that all of them ask.

package Booking::Stub;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Basename;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

use Booking;

our @EXPORT = qw(
  worker_conf
  worker_node
  worker_pid
  worker_status
  claim
  operations
  is_settled
  is_quick
);

# Settings of a node whose worker speaks to servers of this machine.  Calendars
# are read only when a test asks for it, so that it knows all requests.
sub worker_conf
{
	return <<'EOC';
shared_preload_libraries = 'booking'
booking.insecure_hosts = '127.0.0.1, hang.test'
booking.allowed_networks = '127.0.0.0/8'
booking.sync_interval = 0
max_prepared_transactions = 10
EOC
}

# Make and start a node with a worker and the extension; returns it and a
# session that stays open.
sub worker_node
{
	my ($name, %opt) = @_;
	my $node =
	  booking_node($name, %opt, conf => worker_conf() . ($opt{conf} // ''));
	my $session = session($node);

	$session->query('SET client_min_messages = error');
	$session->query('CREATE EXTENSION booking CASCADE');
	return ($node, $session);
}

# Start the server.
sub new
{
	my ($class) = @_;
	my $self = bless { folder => PostgreSQL::Test::Utils::tempdir() }, $class;

	$self->{server} = IPC::Run::start(
		[
			'python3', dirname(__FILE__) . '/../../hanging_server.py',
			$self->{folder}
		],
		'<', \undef, '>', \$self->{stdout},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$self->{server}->pump until $self->{stdout} =~ /(\d+)\n/;
	($self->{port}) = $self->{stdout} =~ /(\d+)\n/;
	return $self;
}

sub stop
{
	my ($self) = @_;

	my $server = delete $self->{server} or return;

	# Its threads wait for ever, so there is nothing to ask it for.
	$server->signal('KILL');
	eval { $server->finish };
	return;
}

sub DESTROY
{
	my ($self) = @_;
	local ($?, $!, $@);

	$self->stop;
	return;
}

# How a client is served from now on.  Replaced in one step, since the server
# may read it at any time.
sub behave
{
	my ($self, $client, $behaviour) = @_;
	my $file = "$self->{folder}/$client";

	PostgreSQL::Test::Utils::append_to_file("$file.new", "$behaviour\n");
	rename("$file.new", $file) or die "rename: $!";
	return;
}

# Requests of a client so far.
sub requests
{
	my ($self, $client, $method) = @_;

	return 0 unless -e "$self->{folder}/requests";
	$method //= '\w+';
	return scalar grep { m{^$method /$client/} }
	  split(/\n/, slurp_file("$self->{folder}/requests"));
}

# Make the account, credential, calendar and resource of a client, all named
# like it.  The calendar is not read before something is written, since these
# tests are about the writes, and what hangs would hang there.
sub client
{
	my ($self, $session, $client, $behaviour, %opt) = @_;
	my $host = $opt{host} // '127.0.0.1';

	$self->behave($client, $behaviour);
	foreach my $sql (
		"booking_account_put('t', '$client', 'caldav', 'http://$host:$self->{port}/', '{\"busy_blocks\": \"none\"}')",
		"booking_credential_put('t', '$client', '{\"type\": \"basic\", \"username\": \"u\", \"password\": \"p\"}')",
		"booking_permit_all('t', 'p')",
		"booking_resource_put('t', '$client', 1000)",
		"booking_calendar_put('t', '$client', '$client', '/$client/', '$client')")
	{
		$session->query("SELECT $sql");
	}
	return;
}

# Claim the resource of a client.
sub claim
{
	my ($session, $client, $intent) = @_;

	return $session->query(
		"SELECT disposition FROM booking_claim('t', 'p', '$intent', '$client', "
		  . "'[2030-01-07 10:00+00,2030-01-07 11:00+00)')");
}

# States of the operations of an intent, the oldest first.
sub operations
{
	my ($session, $intent) = @_;

	return $session->query(<<"EOQ");
SELECT string_agg(o.kind || ' ' || o.state, ', ' ORDER BY o.operation_id)
  FROM booking.operation o JOIN booking.intent i USING (intent_id)
 WHERE i.intent = '$intent'
EOQ
}

# Assert that the operations of an intent get to these states.
sub is_settled
{
	my ($session, $intent, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	# what it got to instead is told by is()
	eval { wait_until($name, sub { operations($session, $intent) eq $expected }) };
	return is(operations($session, $intent), $expected, $name);
}

# Process number of the worker of a database, '' if there is none.
sub worker_pid
{
	my ($session, $database) = @_;

	$database //= 'postgres';
	return $session->query(
		"SELECT pid FROM pg_stat_activity WHERE backend_type = 'booking worker' AND datname = "
		  . sql_literal($database));
}

# State and reason of the worker.
sub worker_status
{
	my ($session) = @_;

	return $session->query(
		"SELECT concat_ws(': ', state, reason) FROM booking_worker_status()");
}

# Assert that something takes less than so many seconds.
sub is_quick
{
	my ($name, $seconds, $code) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $begin = time();

	$code->();
	return cmp_ok(time() - $begin, '<', $seconds, $name);
}

1;
