# test/t/lib/Booking/Caldav.pm
#
# Real CalDAV servers for the tests of the worker, looked at without our code:
# what a collection holds is asked for with plain HTTP requests, so that no
# error of ours can hide another one.
#
# The servers are Debian's radicale and xandikos.  Each runs on a port and in a
# folder of its own, as whoever runs the tests.

package Booking::Caldav;

use strict;
use warnings FATAL => 'all';

use Booking;
use Carp;
use Exporter 'import';
use HTTP::Tiny;
use IPC::Run ();
use JSON::PP 'encode_json';
use MIME::Base64 'encode_base64';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Scalar::Util 'weaken';
use Test::More;

our @EXPORT = qw(
  provider_node
  attach
  add_calendar
  sign_in
  settle
  wait_state
);

# Settings of a node whose worker speaks to servers of this machine.  Calendars
# are read only when a test asks for it, so that it knows all requests.
my $conf = <<'EOC';
shared_preload_libraries = 'booking'
booking.insecure_hosts = '127.0.0.1, hang.test, slow.ip-127-0-0-1.test'
booking.allowed_networks = '127.0.0.0/8'
booking.poll_interval = 1
booking.sync_interval = 0
EOC

my %servers;

# Start a server: "radicale", which demands a password, or "xandikos", which
# takes any.
sub new
{
	my ($class, $kind) = @_;
	my $self = bless {
		kind => $kind,
		port => PostgreSQL::Test::Cluster::get_free_port(),
		folder => PostgreSQL::Test::Utils::tempdir(),
		user => 'user',
		password => 'correct horse',
		log => '',
		http => HTTP::Tiny->new(timeout => 30),
	}, $class;

	weaken($servers{ $self->{port} } = $self);
	$self->start;
	return $self;
}

# What the end of the program destroys, it destroys in any order.
END
{
	local $?;

	$_->stop foreach grep { defined } values %servers;
}

# Start the server on what its folder holds.
sub start
{
	my ($self) = @_;
	my @command =
	  $self->{kind} eq 'radicale'
	  ? ('radicale', '-C', $self->_radicale_conf)
	  : (
		'xandikos', '-d', "$self->{folder}/data", '--autocreate', '-l',
		'127.0.0.1', '-p', $self->{port}, '--current-user-principal',
		'/user/');

	mkdir "$self->{folder}/data";
	$self->{server} =
	  IPC::Run::start(\@command, '<', \undef, '>', "$self->{folder}/log",
		'2>', "$self->{folder}/errors");
	wait_until("$self->{kind} answers",
		sub { $self->request('OPTIONS', '/')->{status} < 500 });
	return;
}

sub _radicale_conf
{
	my ($self) = @_;
	my $folder = $self->{folder};

	PostgreSQL::Test::Utils::append_to_file("$folder/users",
		"$self->{user}:$self->{password}\n")
	  unless -e "$folder/users";
	PostgreSQL::Test::Utils::append_to_file("$folder/conf", <<"EOC")
[server]
hosts = 127.0.0.1:$self->{port}
max_connections = 50
[auth]
type = htpasswd
htpasswd_filename = $folder/users
htpasswd_encryption = plain
delay = 0
[storage]
filesystem_folder = $folder/data
EOC
	  unless -e "$folder/conf";
	return "$folder/conf";
}

# End the server.
sub stop
{
	my ($self) = @_;

	$self->{server}->kill_kill(grace => 5) if $self->{server};
	delete $self->{server};
	return;
}

sub DESTROY
{
	my ($self) = @_;
	local ($?, $!, $@);

	$self->stop;
	return;
}

sub url
{
	my ($self) = @_;
	return "http://127.0.0.1:$self->{port}/";
}

# What it is as a provider: its name here, how many writes of a calendar the
# worker sends at a time, an account's base URL where it is reached by a URL, the
# path that begins all requests about a calendar, and what signs in.
sub provider
{
	return 'caldav';
}

sub at_once
{
	return 16;
}

sub base
{
	my ($self, $url) = @_;
	return $url;
}

sub path
{
	my ($self, $name) = @_;
	return "/user/$name/";
}

sub remote
{
	my ($self, $name) = @_;
	return $self->path($name);
}

sub credential
{
	my ($self) = @_;
	return {
		type => 'basic',
		username => $self->{user},
		password => $self->{password}
	};
}

# One request of our own.
sub request
{
	my ($self, $method, $path, %opt) = @_;

	return $self->{http}->request(
		$method,
		"http://127.0.0.1:$self->{port}$path",
		{
			headers => {
				Authorization => 'Basic '
				  . encode_base64("$self->{user}:$self->{password}", ''),
				%{ $opt{headers} // {} },
			},
			defined $opt{body} ? (content => $opt{body}) : (),
		});
}

# Like request(), but it must succeed.
sub demand
{
	my ($self, $method, $path, %opt) = @_;
	my $answer = $self->request($method, $path, %opt);

	croak "$method $path: $answer->{status} $answer->{content}"
	  unless $answer->{success};
	return $answer;
}

# Make a calendar and return its path.
sub make_calendar
{
	my ($self, $name) = @_;

	$self->demand('MKCALENDAR', $self->path($name));
	return $self->path($name);
}

# What a calendar holds, by UID; events that share one end the test, since
# that is what everything here is against.
sub list
{
	my ($self, $calendar) = @_;
	my $answer = $self->demand(
		'REPORT',
		$calendar,
		headers => { Depth => 1, 'Content-Type' => 'application/xml' },
		body => <<'EOX');
<?xml version="1.0" encoding="utf-8"?>
<c:calendar-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">
<d:prop><d:getetag/><c:calendar-data/></d:prop>
<c:filter><c:comp-filter name="VCALENDAR"><c:comp-filter name="VEVENT"/></c:comp-filter></c:filter>
</c:calendar-query>
EOX
	my %events;

	foreach my $part (split(m{<[^>]*\bresponse>}, $answer->{content}))
	{
		next unless $part =~ m{<(?:\w+:)?href>([^<]+)</.*BEGIN:VEVENT}s;
		my %event = (href => $1);

		$part =~ s/&#13;//g;
		$part =~ s/&quot;/"/g;
		$part =~ s/&lt;/</g;
		$part =~ s/&gt;/>/g;
		$part =~ s/&amp;/&/g;
		$part =~ s/\r//g;
		$part =~ s/\n[ \t]//g;
		($event{etag}) = $part =~ /getetag>([^<]+)</;
		($event{uid}) = $part =~ /^UID:(.*)$/m;
		($event{start}) = $part =~ /^DTSTART[^:]*:(.*)$/m;
		($event{summary}) = $part =~ /^SUMMARY[^:]*:(.*)$/m;
		($event{sequence}) = $part =~ /^SEQUENCE:(.*)$/m;
		$event{sequence} //= 0;
		croak "two events with the UID $event{uid}" if $events{ $event{uid} };
		$events{ $event{uid} } = \%event;
	}
	return \%events;
}

# Does the server break down over a token that it does not know?  Xandikos did, until
# it learned to say that the token is not valid.
sub breaks_down
{
	my ($self, $calendar) = @_;
	my $answer = $self->request(
		'REPORT',
		$calendar,
		headers => { Depth => 1, 'Content-Type' => 'application/xml' },
		body => <<'EOX');
<?xml version="1.0" encoding="utf-8"?>
<d:sync-collection xmlns:d="DAV:">
<d:sync-token>sync:0123456789012345678901234567890123456789</d:sync-token><d:sync-level>1</d:sync-level>
<d:prop><d:getetag/></d:prop>
</d:sync-collection>
EOX

	return $answer->{status} >= 500;
}

# An event as a person edits it: read it, change its text, write it back.
sub edit
{
	my ($self, $href, $code) = @_;
	my $body = $self->demand('GET', $href)->{content};

	local $_ = $body;
	$code->();
	croak "nothing was edited in $body" if $_ eq $body;
	return $self->demand(
		'PUT', $href,
		headers => { 'Content-Type' => 'text/calendar; charset=utf-8' },
		body => $_);
}

# Make a node with a running worker, the extension and a session; with
# "resolver", names under "test" mean what test/net/resolver.c says.
sub provider_node
{
	my ($name, %opt) = @_;
	my $node = booking_node(
		$name,
		init => $opt{init},
		start => 0,
		conf => $conf . ($opt{conf} // ''));

	$opt{resolver} ? start_with_resolver($node) : $node->start;
	my $session = session($node);

	$session->query('SET client_min_messages = error');
	$session->query('CREATE EXTENSION booking CASCADE');
	return ($node, $session);
}

# Make an account at a URL, and for each name a resource with a calendar of
# that name there; the principal p may book them all.
sub attach
{
	my ($session, $server, $url, $account, @names) = @_;

	$session->query("SELECT booking_account_put('t', '$account', '"
		  . $server->provider . "', '"
		  . $server->base($url)
		  . "')");
	sign_in($session, $server, $account);
	$session->query("SELECT booking_permit_all('t', 'p')");
	add_calendar($session, $server, $account, $_) foreach @names;
	return;
}

# Make a calendar that has the name of its resource.
sub add_calendar
{
	my ($session, $server, $account, $name) = @_;
	my $remote = $server->remote($name);

	$server->make_calendar($name);
	$session->query("SELECT booking_resource_put('t', '$name', 1000)");
	$session->query(
		"SELECT booking_calendar_put('t', '$name', '$account', '$remote', '$name')");
	return;
}

# Give an account what signs in to a server.
sub sign_in
{
	my ($session, $server, $account) = @_;

	$session->query("SELECT booking_credential_put('t', '$account', '"
		  . encode_json($server->credential)
		  . "')");
	return;
}

# Wait until nothing is left for the worker to do.  Instead of waiting for the
# back-off, the worker's clock is moved on.
my %offset;

sub settle
{
	my ($node, $session) = @_;

	wait_until(
		'all operations are settled',
		sub {
			my ($open, $later) = $session->row(<<"EOQ");
SELECT count(*),
	coalesce(bool_and(o.state IN ('waiting', 'unknown') AND
		greatest(o.next_at, a.blocked_until) >
		clock_timestamp() + current_setting('booking.clock_offset')::interval), false)
  FROM booking.operation o JOIN booking.account a USING (tenant, account)
 WHERE o.state NOT IN ('confirmed', 'rejected', 'dropped', 'parked') AND NOT a.parked
EOQ
			return 1 if $open == 0;
			later($node, $session) if $later eq 't';
			return 0;
		});
	return;
}

# Move the clock of the worker, and of the session that asks it.
sub later
{
	my ($node, $session) = @_;
	my $seconds = $offset{ $node->name } += 4000;

	$session->query("ALTER SYSTEM SET booking.clock_offset = '${seconds}s'");
	$session->query('SELECT pg_reload_conf()');
	wait_until('the session has the new clock',
		sub {
			$session->query(
				"SELECT current_setting('booking.clock_offset')::interval = '${seconds}s'"
			) eq 't';
		});
	return;
}

# Wait until an intent, and its newest operation, are in these states.
sub wait_state
{
	my ($session, $intent, $expected) = @_;
	my $found = '';

	eval {
		wait_until(
			"$intent is $expected",
			sub {
				$found = state($session, $intent);
				return $found eq $expected;
			});
		1;
	} or diag("$intent is $found, not $expected");
	return $found;
}

# State of an intent in one line: intent, remote, newest operation, problem.
sub state
{
	my ($session, $intent) = @_;
	return $session->query(<<"EOQ");
SELECT concat_ws(' ', i.state, i.remote, o.kind, o.state, o.problem)
  FROM booking.intent i LEFT JOIN LATERAL (SELECT * FROM booking.operation o
	WHERE o.intent_id = i.intent_id ORDER BY operation_id DESC LIMIT 1) o ON true
 WHERE i.intent = '$intent'
EOQ
}

1;
