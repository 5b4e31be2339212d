# test/t/lib/Booking/Http.pm
#
# What the tests of the HTTP engine share: the module that calls the engine
# from SQL, built out of the sources in a folder of the test; the name server
# that is preloaded; and the web server that misbehaves on request.

package Booking::Http;

use strict;
use warnings FATAL => 'all';

use Carp;
use Cwd 'abs_path';
use File::Basename;
use IPC::Run ();
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

use Booking;

my $top = abs_path(dirname(__FILE__) . '/../../../..');
my @columns = qw(number transport problem status etag location content_type dav
  schedule_tag retry_after body_len body ended_as);

# What a request is made with unless a test says otherwise.
my %defaults = (
	follow => 0,
	connect_ms => 10_000,
	first_byte_ms => 10_000,
	trickle_bytes => 10,
	trickle_seconds => 10,
	total_ms => 20_000,
	max_body => 1_000_000,
	insecure_hosts => '127.0.0.1, localhost',
	parallel => 1,
	manner => 'wait',
	abandon_after => 0);

# Build module and name server, and start the web server.
sub new
{
	my ($class) = @_;
	my $folder = PostgreSQL::Test::Utils::tempdir();
	my $self = bless {
		folder => $folder,
		record => "$folder/requests",
		serial => 0,
	}, $class;

	system_or_bail('make', '-s', '-C', $folder, '-f', "$top/test/net/Makefile",
		"top=$top", 'PG_CONFIG=' . ($ENV{PG_CONFIG} // 'pg_config'));
	system_or_bail('cc', '-shared', '-fPIC', '-Wall', '-Werror', '-o',
		"$folder/resolver.so", "$top/test/net/resolver.c", '-ldl');
	system_log('openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes',
		'-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost',
		'-days', '2', '-keyout', "$folder/key.pem", '-out',
		"$folder/certificate.pem") == 0
	  or BAIL_OUT('openssl could not make a certificate');

	$self->{server} = IPC::Run::start(
		[
			'python3', "$top/test/net/fault_server.py", $self->{record},
			"$folder/certificate.pem", "$folder/key.pem"
		],
		'<', \$self->{stdin}, '>', \$self->{stdout},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	$self->{server}->pump until $self->{stdout} =~ /\n/;
	$self->{ports} = { $self->{stdout} =~ /(\w+)=(\d+)/g };
	return $self;
}

# End the web server.
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

# Start a node on which names that end in .test have our addresses.
sub start_node
{
	my ($self, $name, %opt) = @_;
	my $node = booking_node($name, %opt, start => 0);

	local $ENV{LD_PRELOAD} = "$self->{folder}/resolver.so";
	$node->start;
	return $node;
}

# Make the functions of the module in the database of a session.
sub install
{
	my ($self, $session) = @_;
	my $module = "$self->{folder}/booking_http_test";

	$session->query(<<"EOSQL");
CREATE FUNCTION booking_http_test(method text[], url text[], is_read bool[],
	follow bool, header text[], body text, username text, password text,
	bearer text, connect_ms int, first_byte_ms int, trickle_bytes int,
	trickle_seconds int, total_ms int, max_body int, ca_file text,
	insecure_hosts text, allowed_networks text[], parallel int, manner text,
	abandon_after int)
RETURNS TABLE (number int, transport text, problem text, status int, etag text,
	location text, content_type text, dav text, schedule_tag text,
	retry_after bigint, body_len bigint, body text, ended_as int)
AS '$module' LANGUAGE C;
EOSQL
	$session->query(
		"CREATE FUNCTION booking_address_test(text, text) RETURNS bool AS '$module' LANGUAGE C"
	);
	$session->query(
		"CREATE FUNCTION booking_networks_test(text) RETURNS bool AS '$module' LANGUAGE C"
	);
	return;
}

# The certificate of the server, for "localhost" only.
sub certificate
{
	my ($self) = @_;
	return "$self->{folder}/certificate.pem";
}

sub port
{
	my ($self, $listener) = @_;
	return $self->{ports}{$listener} // croak "no listener $listener";
}

# URL of a behaviour.  A number makes the path the test's own, so that its
# requests can be told from others.
sub url
{
	my ($self, $behaviour, %opt) = @_;
	my $listener = $opt{listener} // 'plain';
	my $scheme = $opt{scheme} // ($listener eq 'tls' ? 'https' : 'http');
	my $host = $opt{host} // ($listener eq 'tls' ? 'localhost' : '127.0.0.1');
	my ($path, $query) = split(/\?/, $behaviour, 2);

	return
		"$scheme://$host:"
	  . $self->port($listener)
	  . "/$path"
	  . ++$self->{serial}
	  . (defined $query ? "?$query" : '');
}

# SQL of a call.  "url", "method", "read" and "networks" are one or a list.
sub sql
{
	my ($self, %opt) = @_;
	my @urls = ref $opt{url} ? @{ $opt{url} } : ($opt{url});
	my @methods = ref $opt{method} ? @{ $opt{method} } : ($opt{method} // 'GET') x @urls;
	my @reads = ref $opt{read} ? @{ $opt{read} } : ($opt{read} // 0) x @urls;
	my @networks = ref $opt{networks} ? @{ $opt{networks} } : ($opt{networks} // '127.0.0.0/8');
	my %arguments = (%defaults, %opt);

	my @list = (
		'method => ' . text_array(@methods),
		'url => ' . text_array(@urls),
		"is_read => '{" . join(',', map { $_ ? 't' : 'f' } @reads) . "}'",
		'header => ' . text_array(@{ $opt{header} // [] }),
		'allowed_networks => ' . text_array(@networks));
	foreach my $name (qw(body username password bearer ca_file), sort keys %defaults)
	{
		my $value = $arguments{$name};
		push @list, "$name => " . sql_literal($value);
	}
	return 'SELECT * FROM booking_http_test(' . join(', ', @list) . ')';
}

# Run requests and return their answers as hashes.
sub run
{
	my ($self, $session, %opt) = @_;
	return answers($session->try($self->sql(%opt)));
}

# Answers of a result as hashes; fields that are NULL are undef.
sub answers
{
	my ($result) = @_;

	croak "statement failed: $result->{error}{text}" if $result->{error};
	return map {
		my %answer;
		@answer{@columns} = @$_;
		\%answer;
	} @{ $result->{rows} };
}

# The requests that arrived at a URL, oldest first.
sub requests
{
	my ($self, $url) = @_;
	my ($target) = $url =~ m{^\w+://[^/]+(.*)$};

	return grep { ($_->{target} // '') eq $target } $self->record;
}

# Has the client closed the connection of the request at a URL?
sub is_closed
{
	my ($self, $url) = @_;
	my ($request) = $self->requests($url);

	return $request
	  && grep { ($_->{closed} // 0) == $request->{connection} } $self->record;
}

# All that the server has recorded.
sub record
{
	my ($self) = @_;

	return () unless -e $self->{record};
	return map { decode_json($_) } split(/\n/, slurp_file($self->{record}));
}

sub text_array
{
	return 'ARRAY[' . join(', ', map { sql_literal($_) } @_) . ']::text[]';
}

1;
