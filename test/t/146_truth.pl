# test/t/146_truth.pl
#
# Rounds against truth: somebody edits a calendar at random (calendar_editor.py)
# while it is read, bookings are made in it, their events moved and deleted, its
# token expires, time passes, and the worker, the server and the calendar's server
# are killed.  Then what is known of it is what its files say to a program that
# shares no code with us (calendar_truth.py), event by event and occurrence by
# occurrence, and bookings hold the time of their events.
#
# Proves R36, R41, R43, R46 and R50 in the large, R51 to R53 for what a server keeps,
# and that nothing of this depends on when somebody dies.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use IPC::Open2;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my %edits = (radicale => size(300, 5000), xandikos => size(100, 1000));

# Edits between two comparisons: whatever lists everything mends what was lost
# before, so they must be few.
my $checked = 25;
my $objects = size(150, 500);
my $seed = seed(146);
my $zone = 'Europe/Berlin';

# The worker believes that it is this day, so that a seed means the same
# calendar on every day.
my $day = '20300301';
my $offset = 1898553600 - int(time());

my ($node, $session) = provider_node('main',
	conf => "restart_after_crash = on\nbooking.clock_offset = '${offset}s'\n");
my ($server, $kind, $editor);
my $restarts = 0;

# ----------------------------------------------------------------------------
# What is known, and what is there
# ----------------------------------------------------------------------------

# Rows of the calendar, each a line as calendar_truth.py prints it.
sub known
{
	my $result = $session->try(<<"EOQ");
SELECT e.object, CASE WHEN isfinite(e.occurrence) THEN extract(epoch FROM e.occurrence)::bigint::text ELSE '-infinity' END,
	extract(epoch FROM lower(e.during))::bigint, extract(epoch FROM upper(e.during))::bigint,
	e.busy, e.all_day, e.recurring, e.status, e.transparency, e.sequence, e.uid, e.zone, e.organizer,
	(SELECT string_agg(concat_ws('=', a ->> 'email', a ->> 'status', a ->> 'optional'), ' ') FROM jsonb_array_elements(e.attendees) a),
	e.etag, e.problem
  FROM booking.event e JOIN booking.calendar c USING (calendar_id) WHERE c.calendar = '$kind'
EOQ
	my @lines;

	foreach my $row (@{ $result->{rows} })
	{
		my $problem = pop @$row;

		$row->[0] =~ s/%([0-9A-Fa-f]{2})/chr(hex($1))/ge;
		push @lines, join("\t", map { $_ // '' } @$row) . (defined $problem ? "\t$problem" : '');
	}
	return sort @lines;
}

# The same, from the files.
sub truth
{
	my @window = $session->row(
		"SELECT extract(epoch FROM lower(k.within)), extract(epoch FROM upper(k.within))"
		  . " FROM booking.cursor k JOIN booking.calendar c USING (calendar_id) WHERE c.calendar = '$kind'");
	my $folder = "$server->{folder}/data/" . ($kind eq 'radicale' ? 'collection-root/' : '') . "user/$kind";
	my ($out, $err) = ('', '');

	IPC::Run::run([ 'python3', "$FindBin::RealBin/calendar_truth.py", $kind, $folder, "/user/$kind/", $zone, @window ],
		'>', \$out, '2>', \$err)
	  or die "calendar_truth.py: $err";
	return sort split(/\n/, $out);
}

# Have the calendar read, in spite of what was broken before, and of workers that
# died so fast that the next one is a while in coming.
sub read_calendar
{
	wait_until(
		'the calendar is read',
		sub {
			my $result = $session->try("CALL booking_sync_wait('t', '$kind')");

			die $result->{error}{text}
			  if $result->{error} && $result->{error}{message} ne 'no worker runs in this database';
			return !$result->{error} && !defined decode_json($result->{lines}[0])->{problem};
		});
	return;
}

sub is_true
{
	my ($name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my (@known, @truth, %count);

	# a worker that has recorded something may die without the next one waiting
	book();
	settled();
	read_calendar();
	is(astray(), '', "$name: bookings are where their events are");
	@known = known();
	@truth = truth();
	$count{$_}++ foreach @truth;
	$count{$_}-- foreach @known;
	my @wrong = sort { substr($a, 2) cmp substr($b, 2) }
	  map { ($count{$_} > 0 ? '+ ' : '- ') . $_ } grep { $count{$_} } keys %count;
	ok(!@wrong && @truth > 10, "$name: " . @truth . ' occurrences')
	  or diag("missing (+) and wrong (-):\n" . join("\n", splice(@wrong, 0, 40)));
	return;
}

# ----------------------------------------------------------------------------
# What happens besides
# ----------------------------------------------------------------------------

my %happened;
my $booked = 0;
my @deleted;	# intents whose event somebody deleted

# Wait until no operation is open; what waits for its time gets it.
sub settled
{
	wait_until(
		'all operations are settled',
		sub {
			my ($open, $later) = $session->row(<<'EOQ');
SELECT count(*), coalesce(bool_and(o.state IN ('waiting', 'unknown')), false) FROM booking.operation o
 WHERE o.state NOT IN ('confirmed', 'rejected', 'dropped', 'parked')
EOQ
			pass_time(600) if $open && $later eq 't';
			return $open == 0;
		});
	return;
}

sub pass_time
{
	my ($seconds) = @_;

	$offset += $seconds;
	$session->query("ALTER SYSTEM SET booking.clock_offset = '${offset}s'");
	$session->query('SELECT pg_reload_conf()');
	wait_until(
		'the session has the new clock',
		sub {
			$session->query("SELECT current_setting('booking.clock_offset')::interval = '${offset}s'") eq 't';
		});
	return;
}

# Is a round in progress?
sub reading
{
	return $session->query(
		"SELECT count(*) FROM booking.cursor k JOIN booking.calendar c USING (calendar_id)"
		  . " WHERE c.calendar = '$kind' AND k.started_at IS NOT NULL");
}

sub worker
{
	my ($pid) = $session->row("SELECT pid FROM pg_stat_activity WHERE backend_type = 'booking worker'");
	return $pid;
}

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

# Let something die in the middle of a round, if one begins soon.
sub in_a_round
{
	my ($name, $code) = @_;

	$session->query("SELECT booking_sync('t', '$kind')");
	for (1 .. 100)
	{
		last if reading();
	}
	$session->query('SELECT 1') for 1 .. rand(200);
	$happened{'rounds that were cut'}++ if reading();
	$happened{$name}++;
	$code->();
	return;
}

sub kill_worker
{
	my $pid = worker() // return;

	kill('KILL', $pid) or return;
	wait_until('the server notices', sub { $session->sqlstate('SELECT 1') ne '00000' });
	reconnect();
	return;
}

sub restart_node
{
	$session->quit;
	$node->stop($restarts++ % 2 ? 'fast' : 'immediate');
	$node->start;
	reconnect();
	return;
}

sub restart_server
{
	# Xandikos leaves the lock of its repository behind and writes no more
	$server->{server}->signal('KILL') if $kind eq 'radicale';
	$server->stop;
	$server->start;
	return;
}

# The calendar's server does not know what it told before.
sub forget_token
{
	if ($kind eq 'radicale')
	{
		system_or_bail('rm', '-rf',
			"$server->{folder}/data/collection-root/user/$kind/.Radicale.cache/sync-token");
	}
	else
	{
		$session->query(
			"UPDATE booking.cursor SET token = 'sync:0123456789012345678901234567890123456789' WHERE token LIKE 'sync:%'"
			  . " AND calendar_id = (SELECT calendar_id FROM booking.calendar WHERE calendar = '$kind')");
	}
	return;
}

sub book
{
	my $minutes = int(rand(20000)) * 5;

	$session->query(
		"SELECT booking_claim('t', 'p', '$kind-@{[ ++$booked ]}', '$kind', tstzrange(t, t + interval '30 min'))"
		  . " FROM (SELECT timestamptz '2030-03-10 00:00+00' + $minutes * interval '1 min') s (t)");
	return;
}

sub cancel
{
	$session->query("SELECT booking_cancel('t', 'p', '$kind-@{[ 1 + int(rand($booked)) ]}')") if $booked;
	return;
}

# The intents whose event somebody deleted, as SQL.
sub deleted
{
	return 'ARRAY[' . join(', ', map { "'$_'" } @deleted) . ']::text[]';
}

# An event of ours that nothing is being done to, and its intent.
sub event_of_ours
{
	return $session->row(<<"EOQ");
SELECT e.object, i.intent
  FROM booking.event e JOIN booking.intent i USING (intent_id) JOIN booking.calendar c USING (calendar_id)
 WHERE c.calendar = '$kind' AND i.state = 'created' AND i.remote = 'confirmed'
   AND i.intent <> ALL (${\deleted()})
 ORDER BY md5(concat_ws(' ', i.intent, ${\int(rand(1000000))})) LIMIT 1
EOQ
}

# Somebody moves an event of ours to another time, where others may be, or, behind
# the window, nobody is.
sub move_ours
{
	my ($object) = event_of_ours();
	my $start = sprintf('%d%02d%02dT%02d', rand() < 0.5 ? 2030 : 2035, 3 + rand(2), 1 + rand(28), rand(24));

	return unless defined $object;
	$happened{'moves of ours'}++;
	$server->edit(
		$object,
		sub {
			s/^(DTSTART[^:]*:)\d{8}T\d{4}/$1${start}10/m;
			s/^(DTEND[^:]*:)\d{8}T\d{4}/$1${start}40/m;
		});
	return;
}

# Somebody deletes one.
sub delete_ours
{
	my ($object, $intent) = event_of_ours();

	return unless defined $object;
	$happened{'deletions of ours'}++;
	push @deleted, $intent;
	$server->demand('DELETE', $object);
	return;
}

# Bookings that are not where their events are, without a dispute about that, or
# whose events are gone.
sub astray
{
	return $session->query(<<"EOQ");
SELECT coalesce(string_agg(i.intent, ' ' ORDER BY i.intent), '') FROM booking.intent i
 WHERE i.intent LIKE '$kind-%' AND i.state = 'created' AND NOT EXISTS
  (SELECT FROM booking.reservation v JOIN booking.event e USING (intent_id) JOIN booking.calendar c USING (calendar_id)
    WHERE v.intent_id = i.intent_id AND c.calendar = '$kind' AND v.occupied = e.during)
  AND NOT EXISTS (SELECT FROM booking.conflict k JOIN booking.event e USING (intent_id, calendar_id, object)
    WHERE k.intent_id = i.intent_id AND k.kind = 'moved' AND k.resolved_at IS NULL AND k.during = e.during)
EOQ
}

# What may happen behind an edit, and how often in a thousand.
my @besides = (
	[ 250, 'rounds asked for', sub { $session->query("SELECT booking_sync('t', '$kind')") } ],
	[ 40, 'bookings', \&book ],
	[ 15, 'cancellations', \&cancel ],
	[ 40, 'moves of ours', \&move_ours ],
	[ 20, 'deletions of ours', \&delete_ours ],
	[ size(8, 4), 'lost tokens', \&forget_token ],
	[ size(8, 3), 'days', sub { pass_time(26 * 3600) } ],
	[ size(30, 12), 'workers killed', sub { in_a_round('workers killed', \&kill_worker) } ],
	[ size(20, 12), 'workers ended', sub { in_a_round('workers ended', sub { $session->query('SELECT pg_terminate_backend(' . (worker() // 0) . ')') }) } ],
	[ size(15, 6), 'restarts of PostgreSQL', sub { in_a_round('restarts of PostgreSQL', \&restart_node) } ],
	[ size(15, 6), 'restarts of the calendar server', sub { in_a_round('restarts of the calendar server', \&restart_server) } ]);

sub besides
{
	my $pick = rand(1000);

	foreach my $besides (@besides)
	{
		my ($weight, $name, $code) = @$besides;

		if (($pick -= $weight) < 0)
		{
			$happened{$name}++ if $name !~ /killed|ended|restarts|ours/;
			$code->();
			return;
		}
	}
	return;
}

# ----------------------------------------------------------------------------

foreach my $name (qw(radicale xandikos))
{
	my $begin = time();
	my $pid;
	my %done;

	$kind = $name;
	%happened = ();
	@deleted = ();
	$booked = 0;
	$server = Booking::Caldav->new($kind);
	attach($session, $server, $server->url, $kind, $kind);
	$session->query("SELECT booking_resource_put('t', '$kind', 1000, '$zone')");
	$pid = open2(my $answers, my $orders, 'python3', "$FindBin::RealBin/calendar_editor.py",
		$kind, $seed, $server->{port}, $server->{user}, $server->{password}, "/user/$kind/", $day, $objects);

	# what is there before the first round
	my $first = int($objects / 2);
	print $orders "$first\n";
	$orders->flush;
	readline($answers) // die 'the editor ended' for 1 .. $first;
	is_true("$kind: at the beginning");

	foreach my $i (1 .. $edits{$kind})
	{
		print $orders "1\n";
		$orders->flush;
		my $line = readline($answers) // die "the editor ended at edit $i";
		$done{ $line =~ s/ \S*\d.*//sr }++;
		besides();
		is_true("$kind: after $i edits") if $i % $checked == 0;
	}
	close($orders);
	close($answers);
	waitpid($pid, 0);

	# everything was forgotten, and is read anew
	$session->query('DELETE FROM booking.event USING booking.calendar c'
		  . " WHERE event.calendar_id = c.calendar_id AND c.calendar = '$kind' AND event.intent_id IS NULL");
	$session->query('UPDATE booking.cursor SET token = NULL');
	is_true("$kind: read anew");
	is_clean($session, "$kind: at the end");
	is($session->query("SELECT count(*) FROM booking.intent WHERE state <> 'canceled' AND intent = ANY (${\deleted()})"),
		0, "$kind: whose event was deleted is canceled");
	cmp_ok($session->query("SELECT count(*) FROM booking.operation WHERE moved_to IS NOT NULL AND calendar = '$kind'"),
		'>', 0, "$kind: bookings followed their events");

	note("$kind: edits: " . join(', ', map { "$done{$_} $_" } sort keys %done));
	figure("$kind: edits", $edits{$kind});
	figure("$kind: $_", $happened{$_} // 0) foreach 'rounds that were cut', map { $_->[1] } @besides;
	figure("$kind: rounds", $session->query(
		"SELECT k.round FROM booking.cursor k JOIN booking.calendar c USING (calendar_id) WHERE c.calendar = '$kind'"));
	figure("$kind: seconds", sprintf('%.0f', time() - $begin));
	cmp_ok($happened{$_} // 0, '>', 0, "$kind: $_")
	  foreach 'rounds that were cut', 'workers killed', 'moves of ours', 'deletions of ours';
	$server->stop;
}

$node->stop;
done_testing();
