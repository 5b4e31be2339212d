# test/t/181_monitoring.pl
#
# What the folder monitoring has works with what there is: alerts and dashboard ask
# for metrics that are told, with labels that they have, and every alert leads to a
# place in the documentation.  The exporter's query loses no metric and no label.
# bookingd asks the database once for a storm of scrapes, and a database that hangs
# makes no scrape wait long and no delivery at all.
#
# With BOOKING_TEST_LONG Prometheus and its exporter themselves, as Debian has them,
# scrape, judge the alerts and answer every query of the dashboard.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Daemon;
use Booking::Metrics;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $folder = "$FindBin::RealBin/../../monitoring";
my $node = booking_node('main',
	conf => "shared_preload_libraries = 'booking'\ntrack_functions = all\n");
my $session = session($node);

$session->query('CREATE EXTENSION booking CASCADE');
$session->query('CREATE ROLE monitor LOGIN');
$session->query('GRANT EXECUTE ON FUNCTION booking_metrics() TO monitor');
$session->query("SELECT booking_account_put('t', 'a', 'caldav', 'https://calendars.example.org/')");
$session->query("SELECT booking_webhook_source_put('t', 'hook', 'standard')");
$session->query("SELECT booking_cancel('t', 'p', 'x')");
$session->query("INSERT INTO booking.webhook_count VALUES (2, now(), 'hook', v) FROM unnest('{late_create,bad_signature}'::text[]) v"
	  =~ s/VALUES \((.*?)\) FROM/SELECT $1 FROM/r);

# ----------------------------------------------------------------------------
# The files
# ----------------------------------------------------------------------------

my $documented = documented();
my $dashboard = decode_json(slurp_file("$folder/grafana.json"));
my @queries = map { $_->{expr} } map { @{ $_->{targets} } } @{ $dashboard->{panels} };
my $alerts = slurp_file("$folder/alerts.yml");
my %places = map { $_ => 1 } map { lc s/[^\w -]//gr =~ tr/ /-/r }
  slurp_file("$folder/../doc/operations.md") =~ /^#+ (.*)$/mg;

# Metrics that an expression names, and labels that it asks of them.
sub judge
{
	my ($expression, $where) = @_;

	foreach my $name ($expression =~ /\b(booking_\w+)/g)
	{
		ok($documented->{$name}, "$where: $name is told") or next;
		my %known = map { $_ => 1 } split / /, $documented->{$name}[1];
		my ($matchers) = $expression =~ /\b$name\{([^}]*)\}/;
		my ($by) = $expression =~ /\bby \(([^)]*)\)/;
		my @asked = (($matchers // '') =~ /(\w+)=/g, ($by // '') =~ /(\w+)/g);

		is_deeply([ grep { !$known{$_} && !/^(?:instance|job)$/ } @asked ], [], "$where: its labels too");
	}
	return;
}

cmp_ok(scalar @queries, '>', 30, 'the dashboard asks');
judge($_, 'dashboard') foreach @queries;
my @rules = $alerts =~ /- alert: (\w+)\n\s+expr: (.*)\n/g;
my @runbooks = $alerts =~ /runbook_url: doc\/operations\.md#(\S+)/g;
is(scalar @runbooks, @rules / 2, 'every alert has a link');
ok($places{$_}, "which leads somewhere: $_") foreach @runbooks;
while (my ($alert, $expression) = splice @rules, 0, 2)
{
	judge($expression, $alert);
	like(slurp_file("$folder/../doc/operations.md"), qr/`$alert`/, "$alert is where its link leads to");
}
my $asked = join ' ', @queries, $alerts;
is_deeply([ grep { $asked !~ /\b$_\b/ } sort keys %$documented ], [], 'the dashboard or an alert uses every metric');

# The exporter's query, by the role that is to run it.
my ($query) = slurp_file("$folder/queries.yaml") =~ /^  query: >-\n(.*?)^  cache_seconds/ms;
my $monitor = session($node, user => 'monitor');
my $rows = $monitor->try("SELECT to_jsonb(q) - 'value' FROM ($query) q")->{rows};
my $told = metrics($monitor);
my @as_text = map
{
	my $labels = decode_json($_->[0]);
	my $name = delete $labels->{name};
	my @labels = map { "$_=\"$labels->{$_}\"" } grep { $labels->{$_} ne '' } sort keys %$labels;

	$name . (@labels ? '{' . join(',', @labels) . '}' : '');
} @$rows;
is_deeply([ sort @as_text ], [ sort keys %$told ], 'the exporter loses nothing');

# ----------------------------------------------------------------------------
# bookingd
# ----------------------------------------------------------------------------

$session->query('CREATE ROLE receiver LOGIN');
$session->query('GRANT EXECUTE ON FUNCTION booking_metrics(), booking_webhook_receive(text, jsonb, bytea, text) TO receiver');
my $daemon = Booking::Daemon->start($node,
	dbname => $node->connstr('postgres') . ' user=receiver',
	args => [ '--pool=2', '--metrics-age=1' ]);

# How often the database was asked.
sub asked
{
	return $session->query(
		"SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = 'booking_metrics'");
}

is($daemon->metric('bookingd_database_metrics'), 1, 'bookingd tells the metrics of its database');
my $body = $daemon->admin('/metrics')->{body};
is_deeply([ grep { $body !~ /^\Q$_\E \S+$/m } keys %$told ], [], 'all of them');
is_deeply(
	[ sort { $a cmp $b } map { /^# TYPE (booking_\w+) (\w+)$/ ? "$1 $2" : () } split /\n/, $body ],
	[ sort { $a cmp $b } map { "$_ $documented->{$_}[0]" } keys %$documented ],
	'each with its type, once');

# A storm: connections of their own, all at once, for a second.
my $before = asked();
my $begin = time();
my $scrapes = 0;
while (time() < $begin + 1)
{
	my @sockets = map { $daemon->connect($daemon->{admin}) } 1 .. 10;

	Booking::Daemon::send_bytes($_, "GET /metrics HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n") foreach @sockets;
	$scrapes += grep { Booking::Daemon::read_answer($_)->{body} =~ /^booking_intents_estimated /m } @sockets;
}
my $duration = time() - $begin;
cmp_ok($scrapes, '>=', 20, "$scrapes scrapes were answered");
wait_until('the calls are counted', sub { return asked() > $before });
cmp_ok(asked() - $before, '<=', $duration + 2, 'the database was asked once a second');

# A database that hangs.
my $blocker = session($node);
$blocker->query('BEGIN');
$blocker->query('LOCK booking.operation IN ACCESS EXCLUSIVE MODE');
wait_until('what is known is too old',
	sub {
		$begin = time();
		return $daemon->admin('/metrics')->{body} =~ /^bookingd_database_metrics 0$/m;
	});
cmp_ok(time() - $begin, '<', 5, 'a scrape does not wait for it');
$begin = time();
like($daemon->admin('/metrics')->{body}, qr/^bookingd_up 1$/m, 'it has what bookingd knows by itself');
cmp_ok(time() - $begin, '<', 5, 'nor does the next one');
$begin = time();
is($daemon->post('/webhooks/nobody', 'x')->{status}, 404, 'a delivery is answered');
cmp_ok(time() - $begin, '<', 2, 'at once');
$blocker->query('COMMIT');
wait_until('the metrics come back', sub { return $daemon->metric('bookingd_database_metrics') == 1 });

# A database that is away.
$node->stop('fast');
wait_until('the database is away', sub { return $daemon->admin('/readyz')->{status} == 503 });
$begin = time();
wait_until('what was known is too old', sub { return $daemon->metric('bookingd_database_metrics') == 0 });
cmp_ok(time() - $begin, '<', 5, 'without a database there are none');
$node->start;
wait_until('they come back', sub { return $daemon->metric('bookingd_database_metrics') == 1 });

require_long() if $ENV{BOOKING_TEST_LONG};

is($daemon->stop, 0, 'bookingd ends');
done_testing();

# ----------------------------------------------------------------------------
# Prometheus, its exporter, and promtool
# ----------------------------------------------------------------------------

# Start a program; its output is in a file of its name.
sub run_program
{
	my ($name, @command) = @_;
	my $log = PostgreSQL::Test::Utils::tempdir() . "/$name.log";
	my $pid = fork() // die "could not fork: $!";

	if ($pid == 0)
	{
		open STDOUT, '>', $log or POSIX::_exit(126);
		open STDERR, '>&', \*STDOUT or POSIX::_exit(126);
		exec(@command) or POSIX::_exit(127);
	}
	return ($pid, $log);
}

# A request to a local port, answered as text.
sub ask
{
	my ($port, $path) = @_;
	my ($out, $err) = run_command([ 'curl', '-sS', '--max-time', '10', "http://127.0.0.1:$port$path" ]);

	return $out;
}

sub require_long
{
	my $directory = PostgreSQL::Test::Utils::tempdir();
	my ($exporter_port, $port) = map { PostgreSQL::Test::Cluster::get_free_port() } 1 .. 2;
	my %programs;

	command_ok([ 'promtool', 'check', 'rules', "$folder/alerts.yml" ], 'the rules are rules');
	command_ok([ 'promtool', 'check', 'config', "$folder/prometheus.yml" ], 'the configuration is one');
	command_ok([ 'promtool', 'test', 'rules', "$folder/alerts_test.yml" ], 'each alert is raised when it is to be, and not before');

	local $ENV{DATA_SOURCE_NAME} =
	  'postgresql:///postgres?host=' . $node->host . '&port=' . $node->port . '&user=monitor&sslmode=disable';
	my ($exporter, $exporter_log) = run_program('exporter', 'prometheus-postgres-exporter',
		"--web.listen-address=127.0.0.1:$exporter_port", '--disable-default-metrics',
		'--disable-settings-metrics', '--no-collector.database', '--no-collector.bgwriter',
		"--extend.query-path=$folder/queries.yaml");
	wait_until('the exporter tells', sub { return ask($exporter_port, '/metrics') =~ /^booking_metric_value/m });

	my $config = slurp_file("$folder/prometheus.yml");
	$config =~ s/127\.0\.0\.1:9464/127.0.0.1:$daemon->{admin}/;
	$config =~ s/127\.0\.0\.1:9187/127.0.0.1:$exporter_port/;
	$config =~ s/_interval: 15s/_interval: 1s/g;
	append_to_file("$directory/prometheus.yml", $config);
	append_to_file("$directory/alerts.yml", $alerts);
	my ($prometheus, $log) = run_program('prometheus', 'prometheus',
		"--config.file=$directory/prometheus.yml", "--storage.tsdb.path=$directory/tsdb",
		"--web.listen-address=127.0.0.1:$port");
	my $up = sub { return scalar grep { $_->{value}[1] eq '1' } @{ answer($port, 'up') } };
	wait_until('both are scraped', sub { return eval { $up->() == 2 } });
	$session->quit;
	$session = session($node);
	wait_until('rates can be told', sub { return @{ answer($port, 'rate(booking_answers_total[1m])') } > 0 });

	# both tell the same, under the same names and labels
	foreach my $name (sort keys %$documented)
	{
		next if $name =~ /_seconds$/;
		my %series;

		foreach my $sample (@{ answer($port, $name) })
		{
			my %labels = %{ $sample->{metric} };
			my $job = delete $labels{job};

			delete @labels{qw(instance server)};
			push @{ $series{$job} }, JSON::PP->new->canonical->encode(\%labels);
		}
		ok($series{bookingd}, "Prometheus has $name");
		is_deeply([ sort @{ $series{'booking-exporter'} // [] } ], [ sort @{ $series{bookingd} // [] } ], 'the same of both');
	}
	foreach my $expression (@queries)
	{
		my $asked = $expression =~ s/\$__rate_interval/1m/gr;
		my $answer = decode_json(ask($port, '/api/v1/query?query=' . escaped($asked)));

		is($answer->{status}, 'success', "the dashboard's query is answered: $asked")
		  or diag($answer->{error});
		cmp_ok(scalar @{ $answer->{data}{result} // [] }, '>', 0, 'and not with nothing');
	}
	my $groups = decode_json(ask($port, '/api/v1/rules'))->{data}{groups};
	is_deeply([ grep { $_->{health} eq 'err' } map { @{ $_->{rules} } } @$groups ], [], 'no rule fails');
	$session->query('UPDATE booking.site SET database_oid = 1');
	wait_until('the alert for a disarmed database is pending',
		sub {
			return ask($port, '/api/v1/alerts') =~ /"alertname":"BookingDisarmed"/;
		});
	pass('a database that is disarmed is noticed');

	kill 'TERM', $prometheus, $exporter;
	waitpid $_, 0 foreach $prometheus, $exporter;
	return;
}

# The samples of an instant query.
sub answer
{
	my ($port, $expression) = @_;
	return decode_json(ask($port, '/api/v1/query?query=' . escaped($expression)))->{data}{result};
}

# A text as part of a URL.
sub escaped
{
	my ($text) = @_;
	return $text =~ s/([^\w.~-])/sprintf '%%%02X', ord $1/ger;
}
