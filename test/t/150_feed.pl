# test/t/150_feed.pl
#
# Eight writers claim, propose, approve, cancel, reschedule, roll back and
# prepare at once, while a reader polls and acknowledges, is killed at any
# moment and goes on, and the server crashes and comes back.
#
# What must hold, for what the reader has seen and against the intents at the
# end: the positions are 1, 2, 3 and so on without a gap; a position is one
# change's for ever, whoever reads it and however often, also after a crash with
# synchronous_commit off, a promotion and a restore; every revision of every
# intent is one change, in order; and nothing else is in the feed.  Writers never
# wait for readers, and a prepared transaction holds up only the beginning of a
# consumer.  Proves R19 (order by version, not by now()) and R86 (it is all in
# the dump) for the feed.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $writers = 8;
my $transactions = size(100, 3000);
my $seed = seed(150);

# Commits are lost in a crash unless somebody insists: the worst case for
# positions.
my $node = booking_node('main',
	init => { allows_streaming => 1 },
	conf => "max_prepared_transactions = 20\nmax_connections = 50\n"
	  . "synchronous_commit = off\nwal_writer_delay = 10s\n");
my $session = session($node);

$session->query('CREATE EXTENSION booking CASCADE');
$session->query(
	q{
CREATE FUNCTION span(n int) RETURNS tstzrange LANGUAGE sql STABLE AS
'SELECT tstzrange(t, t + interval ''1 hour'')
   FROM (SELECT timestamptz ''2030-01-01 00:00+00'' + n * interval ''1 hour'') s(t)'});
$session->query("SELECT booking_resource_put('t', 'room ' || i) FROM generate_series(0, 7) i");
$session->query("SELECT booking_resource_put('t', 'class', 3)");
$session->query("SELECT booking_permit_all('t', p) FROM unnest(ARRAY['ann', 'eve']) p");

# ----------------------------------------------------------------------------
# The reader
# ----------------------------------------------------------------------------

# What was seen at each position, by any consumer and at any time.
my %seen;
my %differ;
my $read = 0;

# Read a page and return the position of its last change, 0 if there is none.
sub take_page
{
	my ($session, $consumer, $max) = @_;
	my $result = $session->try(
		"SELECT position, principal, intent, revision, state, kind FROM booking_changes('t', '$consumer', $max)"
	);
	my $last = 0;

	return if $result->{error};
	foreach my $row (@{ $result->{rows} })
	{
		my ($position, @change) = @$row;
		my $change = join(' ', @change);

		$differ{$position} = "$seen{$position} and $change"
		  if exists $seen{$position} && $seen{$position} ne $change;
		$differ{$position} = "not behind $last" if $position <= $last;
		$seen{$position} = $change;
		$last = $position;
		$read++;
	}
	return $last;
}

# Read and acknowledge until there is nothing more.
sub drain
{
	my ($session, $consumer) = @_;

	while (my $last = take_page($session, $consumer, 1000))
	{
		$session->query("SELECT booking_consumer_ack('t', '$consumer', $last)");
	}
	return;
}

# End a client without a word.
sub kill_client
{
	my ($session) = @_;

	kill 'KILL', $session->{pid};
	$session->quit;
	return;
}

# Assert that what was seen is what the intents say.
sub is_complete
{
	my ($session, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my @positions = sort { $a <=> $b } keys %seen;
	my @problems = map { "position $_: $differ{$_}" } sort keys %differ;
	my %revision;

	push @problems, "position $_ is missing"
	  foreach grep { !exists $seen{$_} } 1 .. ($positions[-1] // 0);
	foreach my $position (@positions)
	{
		my ($principal, $intent, $revision) = split(/ /, $seen{$position});
		my $before = $revision{"$principal $intent"} // 0;

		push @problems, "position $position: revision $revision after $before of $intent"
		  if $revision != $before + 1;
		$revision{"$principal $intent"} = $revision;
	}

	my $result = $session->try("SELECT principal, intent, revision FROM booking.intent WHERE tenant = 't'");
	foreach my $row (@{ $result->{rows} })
	{
		my ($principal, $intent, $revision) = @$row;
		my $got = delete $revision{"$principal $intent"} // 0;

		push @problems, "$intent: revision $got and not $revision"
		  if $got != $revision;
	}
	push @problems, "$_ does not exist" foreach sort keys %revision;
	ok(!@problems, "$name: " . @positions . ' changes, ' . @{ $result->{rows} } . ' intents')
	  or diag(join("\n", splice(@problems, 0, 20)));
	is_clean($session, $name);
	return;
}

# ----------------------------------------------------------------------------
# The writers
# ----------------------------------------------------------------------------

my $claim = sub {
	my ($intent, $more) = @_;
	return "SELECT disposition FROM booking_claim('t', 'ann', 'RUN-:client_id-$intent', 'room :client_id', span(:n)" . ($more // '') . ");\n";
};
my $cancel = sub { "SELECT disposition FROM booking_cancel('t', 'ann', 'RUN-:client_id-$_[0]');\n" };
my $next = "\\set p :n\n\\set n :n + 1\n";
my %scripts = (
	$claim->(':n') . $next => 6,
	"SELECT disposition FROM booking_claim('t', 'ann', 'RUN-:client_id-:n', 'class', span(:n / 3));\n$next" => 4,
	$cancel->(':p') => 3,
	$claim->(':n', ", supersedes => 'RUN-:client_id-:p'") . $next => 4,
	"BEGIN;\n" . $claim->(':n') . $cancel->(':p') . "ROLLBACK;\n" => 3,
	"BEGIN;\n" . $claim->(':n') . "SAVEPOINT s;\n" . $cancel->(':n') . $claim->(':n-s') . "ROLLBACK TO s;\nCOMMIT;\n$next" => 2,
	"BEGIN;\n" . $claim->(':n') . $cancel->(':n') . "COMMIT;\n$next" => 2,
	"BEGIN;\n" . $claim->(':n') . "PREPARE TRANSACTION 'RUN-:client_id-:n';\nSELECT count(*) FROM booking.intent;\nCOMMIT PREPARED 'RUN-:client_id-:n';\n$next" => 2,
	"BEGIN;\n" . $claim->(':n') . "PREPARE TRANSACTION 'RUN-:client_id-:n';\nROLLBACK PREPARED 'RUN-:client_id-:n';\n" => 1,
	"SELECT disposition FROM booking_propose('t', 'ann', 'RUN-:client_id-:n', 'room :client_id', span(:n));\n"
	  . "SELECT disposition FROM booking_approve('t', 'eve', 'ann', 'RUN-:client_id-:n', 1);\n$next" => 2,
	"SELECT disposition FROM booking_propose('t', 'ann', 'RUN-:client_id-:n', 'room :client_id', span(:n));\n"
	  . "SELECT disposition FROM booking_reject('t', 'eve', 'ann', 'RUN-:client_id-:n', 1, 'no');\n"
	  . "SELECT disposition FROM booking_propose('t', 'ann', 'RUN-:client_id-:n', 'room :client_id', span(:n + 1), after_version => 1);\n$next" => 1);

# Start the writers of a run; their intents and times are its own.
sub start_writers
{
	my ($run) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir();
	my $writer = { output => '' };
	my @files;

	foreach my $text (sort keys %scripts)
	{
		my $file = "$dir/" . @files . '.sql';
		append_to_file($file, $text =~ s/RUN/run$run/gr);
		push @files, '-f', "$file\@$scripts{$text}";
	}
	$writer->{harness} = IPC::Run::start(
		[
			$node->installed_command('pgbench'), '-n', '-M', 'simple',
			"--random-seed=$seed", '-c', $writers, '-j', 2, '-t', $transactions,
			'-h', $node->host, '-p', $node->port,
			'-D', 'n=' . ($run * 100_000), '-D', 'p=0',
			@files, 'postgres'
		],
		'<', \undef, '>', \$writer->{output}, '2>&1');
	return $writer;
}

# Have they ended?
sub have_ended
{
	my ($writer) = @_;

	$writer->{harness}->pump_nb if $writer->{harness}->pumpable;
	return !$writer->{harness}->pumpable;
}

$session->query("SELECT booking_consumer_put('t', '$_')") foreach 'crm', 'mail';
is(take_page($session, $_, 10), 0, "$_ begins") foreach 'crm', 'mail';

# ----------------------------------------------------------------------------
# A reader that dies
# ----------------------------------------------------------------------------

{
	my $writer = start_writers(1);
	my $reader = session($node);
	my $second = session($node);
	my $deaths = 0;

	until (have_ended($writer) && $deaths > 3)
	{
		my $last = take_page($reader, 'crm', 1 + int(rand(60)));

		if (rand() < 0.1)
		{
			# before, in the middle of or after an acknowledgement or a reading
			$reader->send("SELECT booking_consumer_ack('t', 'crm', $last)") if $last && rand() < 0.5;
			$reader->send("SELECT count(*) FROM booking_changes('t', 'crm')") if rand() < 0.5;
			kill_client($reader);
			$reader = session($node);
			$deaths++;
		}
		elsif ($last)
		{
			$reader->query("SELECT booking_consumer_ack('t', 'crm', $last)");
		}
		take_page($second, 'mail', 500) if rand() < 0.2;
	}
	$writer->{harness}->finish;
	unlike($writer->{output}, qr/abort|error/i, 'no writer stopped');
	like($writer->{output}, qr{processed: (\d+)/\1\b}, 'every transaction came through');
	cmp_ok($deaths, '>', 3, 'the reader died several times');
	drain($reader, 'crm');
	is_complete($reader, 'after a storm');
	drain($second, 'mail');
	is_complete($second, 'for the second consumer');
	is($session->query('SELECT count(*) FROM booking.change'), '0', 'all that was acknowledged is gone');
	figure('feed_changes_read', $read);
	$reader->quit;
	$second->quit;
}

# ----------------------------------------------------------------------------
# A server that dies
# ----------------------------------------------------------------------------

foreach my $run (2 .. size(3, 6))
{
	my $writer = start_writers($run);
	my $reader = session($node);
	my $pages = 0;
	my $unacked;

	# Part of what was read is acknowledged; all of it stays what it was.
	while ($pages < 40 && !have_ended($writer))
	{
		my $last = take_page($reader, 'crm', 20) or next;

		$pages++;
		$unacked = $last;
		$reader->query("SELECT booking_consumer_ack('t', 'crm', $last)") if $pages % 3;
	}
	$session->quit;
	$node->stop('immediate');
	eval { $writer->{harness}->finish };
	$reader->quit;
	$node->start;
	$session = session($node);
	cmp_ok($pages, '>=', 40, "run $run: the server died in the middle");
	$session->query("ROLLBACK PREPARED '$_->[0]'")
	  foreach @{ $session->try('SELECT gid FROM pg_prepared_xacts')->{rows} };
	cmp_ok($session->query("SELECT last_position FROM booking.feed WHERE tenant = 't'"),
		'>=', $unacked, "run $run: positions that were seen are there");
	drain($session, 'crm');
	drain($session, 'mail');
	is_complete($session, "run $run");
}

# Nobody else forces a commit to disk here, and the claim that was read must be
# there all the same.
foreach my $round (1 .. 3)
{
	$session->query("SELECT booking_claim('t', 'ann', 'quiet-$round', 'room 3', span(800000 + $round))");
	my $at = take_page($session, 'crm', 10);
	is($seen{$at}, "ann quiet-$round 1 committed recorded", "round $round: a claim is read");
	$session->quit;
	$node->stop('immediate');
	$node->start;
	$session = session($node);
	$session->query("SELECT booking_claim('t', 'ann', 'after-$round', 'room 3', span(810000 + $round))");
	drain($session, 'crm');
	drain($session, 'mail');
	is_complete($session, "round $round: and is what it was after a crash");
}

# ----------------------------------------------------------------------------
# Prepared transactions
# ----------------------------------------------------------------------------

{
	my $writer = session($node);
	my $reader = session($node);

	# one that writes for the feed holds nobody up, and comes when it is committed
	$writer->batch("BEGIN", "SELECT booking_claim('t', 'ann', 'late', 'room 0', span(900000))",
		"PREPARE TRANSACTION 'late'");
	$session->query("SELECT booking_claim('t', 'ann', 'early', 'room 1', span(900000))");
	drain($reader, 'crm');
	is($seen{ (sort { $b <=> $a } keys %seen)[0] }, 'ann early 1 committed recorded', 'what committed is read');

	# it survives a restart, and with it a crash of the server
	$_->quit foreach $writer, $reader, $session;
	$node->stop('immediate');
	$node->start;
	($session, $reader, $writer) = map { session($node) } 1 .. 3;
	$session->query("COMMIT PREPARED 'late'");
	drain($reader, 'crm');
	is($seen{ (sort { $b <=> $a } keys %seen)[0] }, 'ann late 1 committed recorded', 'what commits late comes late');
	drain($reader, 'mail');
	is_complete($reader, 'after COMMIT PREPARED');

	# a consumer begins when those that do not know it have ended
	$session->query("SELECT booking_permit_all('u', 'ann')");
	$session->query("SELECT booking_resource_put('u', 'room')");
	$writer->batch("BEGIN", "SELECT booking_claim('u', 'ann', 'old', 'room', span(1))", "PREPARE TRANSACTION 'old'");
	$session->query("SELECT booking_consumer_put('u', 'c')");
	fails_with($reader, $_, '00000', 'to be patient') foreach "SET lock_timeout = '10ms'";
	fails_with($reader, "SELECT * FROM booking_changes('u', 'c')", '55P03', 'a consumer does not begin beside a prepared transaction that does not know it');
	is($session->query("SELECT started FROM booking.consumer WHERE tenant = 'u'"), 'f', 'and has not begun');
	$reader->query('RESET lock_timeout');
	$reader->send("SELECT intent FROM booking_changes('u', 'c')");
	wait_blocked($session, $reader);
	is($session->query("SELECT disposition FROM booking_claim('u', 'ann', 'new', 'room', span(2))"),
		'committed', 'writers do not wait for it');
	$session->query("COMMIT PREPARED 'old'");
	is(join(' ', @{ $reader->receive->{lines} }), 'new', 'then it begins, with what came since');
	is($session->query("SELECT string_agg(intent, ' ' ORDER BY intent) FROM booking.intent WHERE tenant = 'u'"),
		'new old', 'and whoever looks now knows the rest');
	$_->quit foreach $reader, $writer;
}

# ----------------------------------------------------------------------------
# A standby takes over, a dump is restored
# ----------------------------------------------------------------------------

{
	my $folder = PostgreSQL::Test::Utils::tempdir();
	my $standby = PostgreSQL::Test::Cluster->new('standby');

	$node->backup('base');
	$standby->init_from_backup($node, 'base', has_streaming => 1);
	$standby->start;
	$session->query("SELECT booking_claim('t', 'ann', 'over-' || i, 'room 2', span(910000 + i)) FROM generate_series(1, 30) i");
	is(take_page($session, 'crm', 10), 10 + (sort { $b <=> $a } grep { $seen{$_} !~ / over-/ } keys %seen)[0],
		'ten of thirty are read');
	my $at = take_page($session, 'crm', 5);
	$session->query("SELECT booking_consumer_ack('t', 'crm', $at)");
	$node->wait_for_catchup($standby, 'replay', $node->lsn('flush'));
	fails_with(my $reader = session($standby), "SELECT * FROM booking_changes('t', 'crm')",
		'25006', 'a standby gives no positions');
	command_ok([ 'pg_dump', '-Fc', '-f', "$folder/dump", '-d', $node->connstr('postgres') ], 'pg_dump');
	$session->quit;
	$node->stop('immediate');
	$standby->promote;
	$reader->query("SELECT booking_claim('t', 'ann', 'promoted', 'room 2', span(920000))");
	drain($reader, 'crm');
	drain($reader, 'mail');
	is_complete($reader, 'after a promotion');

	# what was read after the dump is not in it; the rest goes on as it was
	my $before = (sort { $a <=> $b } grep { $seen{$_} =~ / over-/; } keys %seen)[9];
	delete @seen{ grep { $_ > $before } keys %seen };
	$reader->query('CREATE DATABASE restored');
	command_ok([ 'pg_restore', '--exit-on-error', '-d', $standby->connstr('restored'), "$folder/dump" ], 'pg_restore');
	my $restored = session($standby, dbname => 'restored');
	$restored->query("SELECT booking_claim('t', 'ann', 'restored', 'room 2', span(930000))");
	drain($restored, 'crm');
	drain($restored, 'mail');
	is_complete($restored, 'after a restore');
	$_->quit foreach $restored, $reader;
	$standby->stop;
}

done_testing();
