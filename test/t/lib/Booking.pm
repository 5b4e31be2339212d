# test/t/lib/Booking.pm
#
# What the TAP tests of booking share: nodes that find the extension under
# test, sizes, figures and the assertions that every file needs.
#
# BOOKING_DESTDIR names the folder of a staged installation ("make install
# DESTDIR=..."); without it the extension must be installed in the server's own
# folders.  BOOKING_TEST_LONG asks for the full sizes of the acceptance list
# instead of the reduced ones, and BOOKING_SEED repeats a random run.

package Booking;

use strict;
use warnings FATAL => 'all';

use Carp;
use Exporter 'import';
use File::Basename;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use Booking::Session;

our @EXPORT = qw(
  booking_node
  start_with_resolver
  standin
  session
  size
  seed
  figure
  is_clean
  is_row
  fails_with
  sql_literal
  wait_blocked
  wait_until
);

# Make and start a node on which CREATE EXTENSION finds the extension.
#
# "init" is passed to the node's init, "conf" is text for postgresql.conf,
# "start" => 0 leaves the node stopped, and "install_path" names another server.
sub booking_node
{
	my ($name, %opt) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name,
		defined $opt{install_path} ? (install_path => $opt{install_path}) : ());

	# Labels and terms are UTF-8, whatever the locale of whoever runs the tests.
	$node->init(
		extra => [ '--encoding=UTF8', '--locale=C' ],
		%{ $opt{init} // {} });

	# Tens of thousands of calls would fill the log with their text.
	$node->append_conf('postgresql.conf', "log_statement = none");
	$node->append_conf('postgresql.conf', staged_conf($node, $ENV{BOOKING_DESTDIR}))
	  if ($ENV{BOOKING_DESTDIR} // '') ne '';
	$node->append_conf('postgresql.conf', $opt{conf}) if defined $opt{conf};
	$node->start if $opt{start} // 1;
	return $node;
}

# What a node needs in its configuration to find the extension in the folder of a
# staged installation.  Debian's servers have extension_destdir up to 17; from 18
# on there is extension_control_path.  Preloading knows neither.
sub staged_conf
{
	my ($node, $folder) = @_;
	my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
	my ($shared, $libraries) = map { s/\n//r } `$pg_config --sharedir`, `$pg_config --pkglibdir`;

	return ($node->pg_version >= 18 ? "extension_control_path = '$folder$shared:\$system'\n" :
		  "extension_destdir = '$folder'\n")
	  . "dynamic_library_path = '$folder$libraries:\$libdir'\n";
}

# Start a node on which names under "test" are answered by test/net/resolver.c
# and not by the network: some never, some late.  It stands in for the C
# library's getaddrinfo(), which blocks in just that way while a name server
# does not answer, in the thread that libcurl makes for it.
sub start_with_resolver
{
	my ($node) = @_;

	local $ENV{LD_PRELOAD} = standin('resolver', $node->basedir);
	$node->start;
	return;
}

# Build a library of test/net that stands in for functions of the C library, for
# servers that are started with it in LD_PRELOAD; returns its path.
sub standin
{
	my ($name, $folder) = @_;
	my $library = "$folder/$name.so";

	system_or_bail('cc', '-shared', '-fPIC', '-o', $library,
		dirname(__FILE__) . "/../../net/$name.c", '-ldl')
	  unless -e $library;
	return $library;
}

# Open a psql session that stays open; see Booking::Session for the options.
sub session
{
	my ($node, %opt) = @_;
	return Booking::Session->new($node, %opt);
}

# The reduced size, or the full one of the acceptance list.
sub size
{
	my ($reduced, $full) = @_;
	return $ENV{BOOKING_TEST_LONG} ? $full : $reduced;
}

# Seed the random generator and print the seed, so that a failing run can be
# repeated.  The default is fixed: a test must not fail on one day only.
sub seed
{
	my ($default) = @_;
	my $seed = $ENV{BOOKING_SEED} // $default;

	srand($seed);
	note "seed: BOOKING_SEED=$seed";
	return $seed;
}

# Print a figure in the form that the result tables are made from.
sub figure
{
	my ($name, $value) = @_;
	note "figure: $name = $value";
	return;
}

# Assert that booking_check() finds no violation.
sub is_clean
{
	my ($session, $name, $schema) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $function = defined $schema ? "$schema.booking_check" : 'booking_check';

	return is($session->query("SELECT * FROM $function()"),
		'', "booking_check() is empty: $name");
}

# Assert the fields of the one row that a query returns.
sub is_row
{
	my ($session, $sql, $expected, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $result = $session->try($sql);

	if ($result->{error})
	{
		fail($name);
		diag("unexpected error: $result->{error}{text}");
		return 0;
	}
	return is_deeply($result->{rows}, [$expected], $name);
}

# Assert that a statement fails with a SQLSTATE; returns the error.
sub fails_with
{
	my ($session, $sql, $sqlstate, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $result = $session->try($sql);

	is($result->{error} ? $result->{error}{sqlstate} : '00000',
		$sqlstate, $name)
	  or diag($result->{error} ? $result->{error}{text} : 'no error');
	return $result->{error} // {};
}

# A string as SQL literal, undef as NULL.
sub sql_literal
{
	my ($value) = @_;
	return 'NULL' unless defined $value;
	$value =~ s/'/''/g;
	return $value =~ /\\/ ? "E'" . ($value =~ s/\\/\\\\/gr) . "'" : "'$value'";
}

# Poll until the code returns true; dies at the deadline.
sub wait_until
{
	my ($what, $code) = @_;
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;

	while (!$code->())
	{
		croak "timed out waiting until $what" if time() > $deadline;
		select(undef, undef, undef, 0.01);
	}
	return;
}

# Wait until the backend of a session waits for a lock.
sub wait_blocked
{
	my ($observer, $session) = @_;
	my $pid = $session->backend_pid;

	wait_until(
		"backend $pid waits for a lock",
		sub {
			return $observer->query(
				"SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid"
			) eq 't';
		});
	return;
}

1;
