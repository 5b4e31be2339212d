# test/t/lib/Booking/Estate.pm
#
# A database in which everything is: what the ledger alone makes, what only a
# provider brings about, calendars that were read, deliveries of web services, and
# what users add around it.  For tests of dumps, restores and pg_upgrade, which
# must leave all of it as it is; with what tells whether they did.

package Booking::Estate;

use strict;
use warnings FATAL => 'all';

use Digest::SHA 'hmac_sha256_hex';
use Exporter 'import';
use HTTP::Tiny;
use PostgreSQL::Test::Utils;
use Test::More;

use Booking;
use Booking::Caldav;
use Booking::Stub;

our @EXPORT = qw(
  estate_local
  estate_remote
  upgrade_cluster
  has_every_state
  contents
  same_contents
  is_disarmed
  is_settled_after_arming
  has_fresh_numbers
);

# What stands in this database's tenants and needs no provider.  The roles app and
# reader are there.
sub estate_local
{
	my ($session) = @_;

	$session->query(<<'EOSQL');
SELECT booking_resource_put('blue', 'class', 3, 'Europe/Berlin', '10 minutes', '5 minutes');
SELECT booking_resource_put('blue', 'room');
SELECT booking_resource_put('blue', U&'\00e9tage "o''clock"');
SELECT booking_slot_put('blue', 'class', 'noon', tstzrange('2030-03-01 12:00+00', '2030-03-01 13:00+00'));
SELECT booking_slot_put('blue', 'class', 'noon', tstzrange('2030-03-01 12:30+00', '2030-03-01 13:30+00'));
SELECT booking_permit_all('blue', p) FROM unnest(ARRAY['ada', 'bob']) p;
SELECT booking_permit('blue', 'bob', 'room', false);
SELECT booking_tenant_put('careful', true);
SELECT booking_resource_put('careful', 'van');
SELECT booking_permit_all('careful', p) FROM unnest(ARRAY['ada', 'bob']) p;
SELECT booking_bind_role('app', 'blue');

-- committed, with terms that a dump must quote and evidence
SELECT booking_claim('blue', 'ada', E'back\\slash and \u00e9', 'class', tstzrange('2030-03-01 08:00+00', '2030-03-01 09:00+00'), units => 3, terms => '{"note": "tab\t \\ \"quoted\"", "price": 1.00}', evidence => '{"call": "c-1"}');
SELECT booking_claim('blue', 'ada', 'slot', 'class', tstzrange('2030-03-01 10:00+00', '2030-03-01 11:00+00'));
SELECT booking_claim_slot('blue', 'ada', 'noon', 'class', 'noon', 2, 2);
SELECT booking_claim_all('blue', 'ada', 'both', '{room,class}', tstzrange('2030-03-02 08:00+00', '2030-03-02 09:00+00'), '{1,1}');
-- conflict, both kinds
SELECT booking_claim('blue', 'ada', 'full', 'class', tstzrange('2030-03-01 08:00+00', '2030-03-01 09:00+00'));
SELECT booking_claim('blue', 'ada', 'stale', 'class', tstzrange('2030-03-01 08:00+00', '2030-03-01 09:00+00'), 9);
SELECT booking_claim_slot('blue', 'ada', 'unknown slot', 'class', 'midnight', 1);
-- canceled: by identity, exact, after a commit, superseded
SELECT booking_cancel('blue', 'ada', 'tombstone');
SELECT booking_cancel_exact('blue', 'ada', 'bound tombstone', 'room', tstzrange('2030-03-01 08:00+00', '2030-03-01 09:00+00'), NULL, 1, '{}');
SELECT booking_claim('blue', 'ada', 'gone', 'room', tstzrange('2030-03-03 08:00+00', '2030-03-03 09:00+00'));
SELECT booking_cancel('blue', 'ada', 'gone');
SELECT booking_claim('blue', 'ada', 'first', 'room', tstzrange('2030-03-03 08:00+00', '2030-03-03 09:00+00'));
SELECT booking_claim('blue', 'ada', 'second', 'room', tstzrange('2030-03-03 08:30+00', '2030-03-03 09:30+00'), supersedes => 'first');
-- proposed: with a live hold, with an expired one, without; several versions
SELECT booking_propose('blue', 'ada', 'held', 'room', tstzrange('2030-03-04 08:00+00', '2030-03-04 09:00+00'), hold_for => '2 hours');
SET booking.clock_offset = '-3h';
SELECT booking_propose('blue', 'ada', 'expired', 'room', tstzrange('2030-03-04 10:00+00', '2030-03-04 11:00+00'), hold_for => '1 hour');
RESET booking.clock_offset;
SELECT booking_propose('blue', 'ada', 'open', 'room', tstzrange('2030-03-04 12:00+00', '2030-03-04 13:00+00'));
SELECT booking_propose('blue', 'ada', 'open', 'room', tstzrange('2030-03-04 12:00+00', '2030-03-04 14:00+00'));
SELECT booking_claim('careful', 'ada', 'four eyes', 'van', tstzrange('2030-03-04 12:00+00', '2030-03-04 13:00+00'));
-- approved to committed, rejected and lapsed to needs_proposal
SELECT booking_propose('blue', 'ada', 'approved', 'room', tstzrange('2030-03-05 08:00+00', '2030-03-05 09:00+00'), hold_for => '2 hours');
SELECT booking_approve('blue', 'ada', 'ada', 'approved', 1);
SELECT booking_propose('blue', 'ada', 'rejected', 'room', tstzrange('2030-03-05 10:00+00', '2030-03-05 11:00+00'));
SELECT booking_reject('blue', 'ada', 'ada', 'rejected', 1, 'too late');
SELECT booking_propose('blue', 'ada', 'beaten', 'room', tstzrange('2030-03-05 12:00+00', '2030-03-05 13:00+00'));
SELECT booking_claim('blue', 'ada', 'beater', 'room', tstzrange('2030-03-05 12:00+00', '2030-03-05 13:00+00'));
SELECT booking_approve('blue', 'ada', 'ada', 'beaten', 1);
-- beyond the capacity on purpose
SELECT booking_override('blue', 'ada', 'override', 'class', tstzrange('2030-03-01 08:00+00', '2030-03-01 09:00+00'), 2, '{}', 'the boss said so');
-- changes read, acknowledged and waiting; reminders done, taken, dropped and idle
SELECT booking_consumer_put('blue', c) FROM unnest(ARRAY['crm', 'mail']) c;
SELECT booking_claim('blue', 'ada', 'told ' || i, 'class', tstzrange('2020-03-06 08:00+00', '2020-03-06 09:00+00')) FROM generate_series(1, 3) i;
SELECT count(*) FROM booking_changes('blue', 'crm', 2);
SELECT booking_consumer_ack('blue', 'crm', 1);
SELECT booking_task_put('blue', 'ada', i, 'mail', '90 minutes', '{"note": "tab\t \\"}') FROM unnest(ARRAY['told 1', 'told 2', 'told 3', 'slot', 'open']) i;
SELECT booking_task_done('blue', 'ada', intent, task, lease) FROM booking_task_take('blue', 1, '1 hour');
SELECT count(*) FROM booking_task_take('blue', 1, '1 hour');
SELECT booking_cancel('blue', 'ada', 'told 3');

-- what users add around it
GRANT USAGE ON SCHEMA booking TO reader;
GRANT SELECT ON booking.intent, booking.audit TO reader;
GRANT EXECUTE ON FUNCTION booking_claim(text, text, text, text, tstzrange, bigint, int, jsonb, text, jsonb) TO app;
GRANT EXECUTE ON FUNCTION booking_status(text, text, text) TO app;
REVOKE EXECUTE ON FUNCTION booking_guard_monotonic() FROM PUBLIC;
CREATE TABLE public.appointment (id int PRIMARY KEY, status text, updated timestamptz);
CREATE TRIGGER guard BEFORE UPDATE ON public.appointment
	FOR EACH ROW EXECUTE FUNCTION booking_guard_terminal('status', 'canceled');
INSERT INTO public.appointment VALUES (1, 'canceled', '2030-01-01 00:00+00'), (2, 'open', '2030-01-01 00:00+00');
CREATE VIEW public.committed AS SELECT tenant, intent FROM booking.intent WHERE state = 'committed';
EOSQL
	return;
}

# What a worker brings about, and what comes from outside, in the tenant t.  The
# node is one of worker_node(), without the database's other sessions.  At the end
# the server has crashed with requests out, and its worker stays down: whatever is
# half done stays so.  Returns a new session.
sub estate_remote
{
	my ($node, $session, $stub) = @_;
	my $dbname = $session->query('SELECT current_database()');

	$session->query("SELECT booking_consumer_put('t', 'watch')");
	foreach my $client (qw(good moving leaving edited))
	{
		$stub->client($session, $client, 'store');
	}
	claim($session, @$_)
	  foreach [ 'good', 'made' ], [ 'good', 'ended' ], [ 'moving', 'before' ], [ 'leaving', 'leaving' ];
	is_settled($session, $_, 'create confirmed', "an event of $_")
	  foreach qw(made ended before leaving);
	$session->query("SELECT booking_cancel('t', 'p', 'ended')");
	is_settled($session, 'ended', 'create confirmed, cancel confirmed', 'one is canceled');
	_calendar($session);
	_deliveries($session);
	_parked($session, $stub);

	# Refused, answered with 503, and out while the server dies: a create that took
	# effect, one that never arrives, a cancel and an update that took effect.
	$stub->client($session, 'refused', 'deny');
	$stub->client($session, 'busy', 'busy');
	$stub->client($session, 'stored', 'swallow');
	$stub->client($session, 'lost', 'hang');
	$stub->behave($_, 'swallow') foreach qw(moving leaving);
	claim($session, $_, $_) foreach qw(refused busy stored lost);
	$session->query("SELECT booking_cancel('t', 'p', 'leaving')");
	$session->query(
		"SELECT booking_claim('t', 'p', 'after', 'moving', '[2030-01-07 12:00+00,2030-01-07 13:00+00)', supersedes => 'before')"
	);
	wait_until('all of them are out',
		sub {
			return $stub->requests('stored', 'PUT') == 1 && $stub->requests('lost', 'PUT') == 1
			  && $stub->requests('leaving', 'DELETE') == 1 && $stub->requests('moving', 'PUT') == 2;
		});
	is_settled($session, 'refused', 'create waiting', 'what was refused waits');
	is_settled($session, 'busy', 'create unknown', 'what was answered with 503 is unknown');
	$session->quit;
	$node->stop('immediate');
	$node->append_conf('postgresql.conf', 'booking.worker = off');
	$node->start;
	$stub->behave($_, 'store') foreach qw(moving leaving stored lost);

	$session = session($node, dbname => $dbname);
	$session->query('SET client_min_messages = error');
	claim($session, 'good', 'later');
	is(operations($session, 'later'), 'create waiting', 'one more waits to be sent');
	$session->query("SELECT booking_sync('t', 'hall')");
	is(operations($session, 'stored'), 'create sending', 'and requests are out');
	return $session;
}

# A calendar of a real server that was read: with an event of somebody else, one of
# a booking, and an orphan.
sub _calendar
{
	my ($session) = @_;
	my $server = Booking::Caldav->new('radicale');
	my $at = '20300107T0900';

	attach($session, $server, $server->url, 'main', 'hall');
	claim($session, 'hall', 'read');
	is(wait_state($session, 'read', 'created confirmed create confirmed'),
		'created confirmed create confirmed', 'an event in a calendar that is read');
	$server->demand('PUT', '/user/hall/theirs.ics',
		headers => { 'Content-Type' => 'text/calendar; charset=utf-8' },
		body => join("\r\n",
			'BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//EN', 'BEGIN:VEVENT', 'UID:theirs',
			"DTSTAMP:${at}00Z", "DTSTART:${at}00Z", 'DURATION:PT2H', 'SUMMARY:theirs',
			'END:VEVENT', 'END:VCALENDAR', ''));
	like($session->query("CALL booking_sync_wait('t', 'hall')"),
		qr/"problem": null/, 'it was read');
	is($session->query("SELECT count(*) FROM booking.cursor WHERE token IS NOT NULL"),
		'1', 'and has a cursor');
	return;
}

# Deliveries of a web service: booked, in conflict, not mapped, and rejected, with
# bytes that no text may have.
sub _deliveries
{
	my ($session) = @_;
	my $secret = 'a secret of cal.com';

	$session->query("SELECT booking_webhook_source_put('t', 'cal', 'calcom')");
	$session->query("SELECT booking_webhook_secret_put('cal', '$secret')");
	$session->query("SELECT booking_resource_put('t', 'desk')");
	$session->query("SELECT booking_webhook_map('cal', 'desk', 'desk')");

	# in one transaction, so that nothing is queued for it
	$session->query("SELECT booking_subscription_put('t', 'crm', 'https://crm.example.net/hook', 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='),"
		  . " booking_subscription_disable('t', 'crm')");
	$session->query("CALL booking_retain('{}', NULL)");
	foreach my $delivery (
		[ '200 accepted', _booked('one', 'desk') ],
		[ '200 accepted', _booked('two', 'desk') ],
		[ '200 accepted', _booked('three', 'nowhere') ],
		[ '200 unusable', "{\0\377'\\" ],
		[ '200 unusable', "{\"triggerEvent\": \"BOOKING_CREATED\0\"}" ],
		[ '401 bad_signature', "{\0}", 'another secret' ])
	{
		my ($answer, $body, $key) = @$delivery;
		my $signature = hmac_sha256_hex($body, $key // $secret);
		my $bytes = unpack('H*', $body);

		is( $session->query(
				"SELECT status || ' ' || verdict FROM booking_webhook_receive('cal', '{\"x-cal-signature-256\": \"$signature\"}', '\\x$bytes')"
			),
			$answer,
			"a delivery: $answer");
	}
	is($session->query("SELECT count(*) FROM booking.inbox WHERE position('\\x00'::bytea IN body) > 0"),
		'2', 'bytes that no text may have are kept');
	return;
}

sub _booked
{
	my ($uid, $type) = @_;

	return '{"triggerEvent": "BOOKING_CREATED", "createdAt": "2029-01-01T00:00:00.000Z", "payload": {'
	  . "\"uid\": \"$uid\", \"type\": \"$type\", "
	  . '"startTime": "2030-01-07T10:00:00Z", "endTime": "2030-01-07T11:00:00Z"}}';
}

# What a person has to decide, and what one has decided: somebody changed the event
# before its answer was there.
sub _parked
{
	my ($session, $stub) = @_;
	my @intents = ('odd', 'given up');

	$stub->behave('edited', 'hang');
	claim($session, 'edited', $_) foreach @intents;
	wait_until('both are out', sub { $stub->requests('edited', 'PUT') == @intents });
	$stub->behave('edited', 'store');
	foreach (@intents)
	{
		my ($path, $body) = $session->row(
			"SELECT '/edited/' || o.event_id || '.ics', encode(o.body, 'hex') FROM booking.operation o JOIN booking.intent i USING (intent_id) WHERE i.intent = '$_'"
		);
		my $answer = HTTP::Tiny->new->put("http://127.0.0.1:$stub->{port}$path",
			{ content => pack('H*', $body) =~ s/T100000Z/T103000Z/r });

		is($answer->{status}, '201', "$_: somebody else put another event");
	}
	$session->query('SELECT pg_terminate_backend(' . worker_pid($session, $session->query('SELECT current_database()')) . ')');
	is_settled($session, $_, 'create parked', "$_: a person decides") foreach @intents;
	is( $session->query("SELECT state FROM booking_resolve('t', 'p', 'given up', 'abandon', '{\"seen by\": \"ann\"}')"),
		'failed', 'and has, about one');
	return;
}

# Assert that there is an intent in every state, and of everything else what must
# come along.
sub has_every_state
{
	my ($session) = @_;

	is( $session->query("SELECT string_agg(DISTINCT state, ' ' ORDER BY state) FROM booking.intent"),
		'approved canceled canceling committed conflict created creating failed needs_proposal proposed unknown',
		'there is an intent in every state');
	is( $session->query("SELECT string_agg(DISTINCT kind || ' ' || state, ', ' ORDER BY kind || ' ' || state) FROM booking.operation"),
		'cancel confirmed, cancel sending, create confirmed, create parked, create rejected, create sending, create unknown, create waiting, update sending',
		'operations in every state that lasts, and four that were out');
	is( $session->query(
			q{SELECT string_agg(relname, ' ' ORDER BY relname)
				FROM pg_class c
			   WHERE relnamespace = 'booking'::regnamespace AND relkind = 'r' AND
					 (xpath('/row/n/text()', query_to_xml('SELECT count(*) AS n FROM ' || oid::regclass, false, true, '')))[1]::text = '0'}
		),
		'account_check channel conference outbox token webhook_credential webhook_reader',
		'and rows in every table but those of Google and Microsoft, of what is read from others, and of what is under way to them');
	return;
}

# Every table but the counters, which are never dumped, with all of its rows, every sequence with its position, every
# privilege, constraint and trigger, as lines of text.  What another server or a
# second parse has otherwise is left out: constraints for NOT NULL, a privilege that
# owners have, and parentheses.
sub contents
{
	my ($session) = @_;
	my @lines;

	foreach my $table (split(/\n/,
		$session->query("SELECT relname FROM pg_class WHERE relnamespace = 'booking'::regnamespace AND relkind = 'r' AND relname <> 'counter' ORDER BY 1")))
	{
		push @lines, "table $table";
		push @lines, @{ $session->try("SELECT t::text FROM booking.$table t ORDER BY 1")->{lines} };
	}
	foreach my $sequence (split(/\n/,
		$session->query("SELECT relname FROM pg_class WHERE relnamespace = 'booking'::regnamespace AND relkind = 'S' ORDER BY 1")))
	{
		push @lines, "sequence $sequence "
		  . $session->query("SELECT last_value, is_called FROM booking.$sequence");
	}
	push @lines, split(/\n/, $session->query($_)) foreach (
		q{SELECT oid::regclass || ' ' || coalesce(regexp_replace(relacl::text, 'Dxtm/', 'Dxt/', 'g'), '-')
			FROM pg_class WHERE relnamespace = 'booking'::regnamespace AND relkind IN ('r', 'S', 'v') ORDER BY 1},
		q{SELECT oid::regprocedure::text || ' ' || coalesce(
				 (SELECT string_agg(a::text, ',' ORDER BY a::text) FROM unnest(proacl) a), '-')
			FROM pg_proc WHERE proname LIKE 'booking%' ORDER BY 1},
		q{SELECT conrelid::regclass || ' ' || conname || ' ' || translate(pg_get_constraintdef(oid), '()', '')
			FROM pg_constraint WHERE connamespace = 'booking'::regnamespace AND contype <> 'n' ORDER BY 1},
		q{SELECT tgrelid::regclass || ' ' || tgname || ' ' || tgenabled::text || ' ' || pg_get_triggerdef(oid)
			FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1},
		q{SELECT 'appointment ' || t FROM public.appointment t ORDER BY 1},
		q{SELECT 'committed ' || t FROM public.committed t ORDER BY 1});
	return @lines;
}

# Assert that two results of contents() are the same.
sub same_contents
{
	my ($source, $copy, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my %source = map { $_ => 1 } @$source;
	my %copy = map { $_ => 1 } @$copy;

	return ok("@$source" eq "@$copy", "$name: rows, sequences, privileges and rules are the same")
	  || diag(join("\n", 'missing:', (grep { !$copy{$_} } @$source),
			'additional:', (grep { !$source{$_} } @$copy)));
}

# Assert that the copy in a session's database, whose worker is on, sends nothing
# and says why, while its ledger answers.
sub is_disarmed
{
	my ($session, $stub, $original, $name) = @_;
	my $requests = _requests($stub);

	wait_until("$name: the worker is paused", sub { worker_status($session) =~ /^paused: / });
	is( worker_status($session),
		"paused: another $original was armed; if this one takes its place, call booking_arm()",
		"$name: it is disarmed, and says so");
	is(claim($session, 'good', $name), 'committed', "$name: a claim is answered");
	is(operations($session, $name), 'create waiting', "$name: what it wants waits");
	$session->query("SELECT booking_cancel('t', 'p', '$name')");
	is(operations($session, $name), 'create dropped', "$name: and is not wanted any more");
	is(operations($session, 'stored'), 'create sending', "$name: what was out is as it was");
	is(_requests($stub), $requests, "$name: nothing was sent");
	return;
}

# Arm a copy, and assert that what was half done is looked up first, and that each
# booking has its one event in the end, which may be there already.  "lost" is the
# number of requests that it takes to make the event that never arrived.
sub is_settled_after_arming
{
	my ($session, $stub, $lost, $name) = @_;
	my %puts = map { $_ => $stub->requests($_, 'PUT') } qw(stored lost moving);

	$stub->behave('busy', 'store');
	$session->query('SELECT booking_arm()');
	is_settled($session, $_->[0], $_->[1], "$name: $_->[0]")
	  foreach [ 'stored', 'create confirmed' ], [ 'lost', 'create confirmed' ],
	  [ 'leaving', 'create confirmed, cancel confirmed' ], [ 'after', 'update confirmed' ],
	  [ 'later', 'create confirmed' ], [ 'busy', 'create confirmed' ];
	is($stub->requests('stored', 'PUT'), $puts{stored}, "$name: what had arrived is not sent again");
	is($stub->requests('moving', 'PUT'), $puts{moving}, "$name: nor is the update");
	is($stub->requests('lost', 'PUT'), $puts{lost} + $lost, "$name: what had not is sent once");
	is( $session->query(<<'EOQ'),
SELECT string_agg(DISTINCT i.intent, ' ' ORDER BY i.intent)
  FROM booking.operation o JOIN booking.intent i USING (intent_id)
 WHERE o.uncertain AND o.operation_id IN (SELECT operation_id FROM booking.attempt WHERE phase = 'lookup')
EOQ
		'after busy given up leaving lost odd stored',
		"$name: all that was half done was unknown, and looked up first");
	is( $session->query(
			"SELECT string_agg(DISTINCT i.intent, ' ' ORDER BY i.intent) FROM booking.change c JOIN booking.intent i USING (tenant, principal, intent) WHERE c.state = 'unknown'"),
		'after busy given up lost odd stored',
		"$name: and said to be");
	is($session->query("SELECT string_agg(state, ' ' ORDER BY intent) FROM booking.intent WHERE intent IN ('stored', 'lost', 'leaving', 'before', 'after', 'later', 'busy') AND tenant = 't'"),
		'created canceled created created canceled created created', "$name: and so are their intents");
	is(operations($session, 'odd'), 'create parked', "$name: what a person decides still waits for one");
	is_clean($session, "$name, after arming");
	return;
}

# Assert that each sequence is behind the numbers that are there.
sub has_fresh_numbers
{
	my ($session, $name) = @_;
	my $stale = $session->query(<<'EOQ');
SELECT string_agg(format('SELECT %L WHERE nextval(%L) <= (SELECT max(%I) FROM %s)',
		d.objid::regclass, d.objid::regclass, a.attname, d.refobjid::regclass), ' UNION ALL ' ORDER BY d.objid)
  FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
  JOIN pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
 WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'a'
	   AND s.relnamespace = 'booking'::regnamespace
EOQ

	like($stale, qr/intent_id_seq.*operation_id_seq/s, "$name: the sequences are known");
	return is($session->query($stale), '', "$name: the next numbers are fresh");
}

# Run pg_upgrade from one node to another one; both are stopped.
sub upgrade_cluster
{
	my ($old, $new, $name) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($from, $to) = map { $_->config_data('--bindir') } $old, $new;
	my $folder = PostgreSQL::Test::Utils::tempdir();
	my @command = (
		"$to/pg_upgrade", '--no-sync', '-b', $from, '-B', $to, '-d', $old->data_dir, '-D',
		$new->data_dir, '-s', $new->host, '-p', $old->port, '-P', $new->port);

	# it writes into the folder in which it runs
	return command_ok([ 'sh', '-c', 'cd "$0" && exec "$@"', $folder, @command ], $name);
}

# Requests of all clients so far.
sub _requests
{
	my ($stub) = @_;

	return scalar(split(/\n/, slurp_file("$stub->{folder}/requests")));
}

1;
