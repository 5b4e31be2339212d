# test/t/183_retain.pl
#
# What is kept for long is purged, and nothing that was decided changes by it: the
# same call gets the same answer, another one is told from it, and what comes late
# brings nothing back.  A purge can be ended and repeated, waits for nobody, and
# lets nothing pass that is not a purge.  Whoever is forgotten is in no relation
# any more, but for the name and what was decided.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Digest::SHA 'hmac_sha256_hex';
use PostgreSQL::Test::Utils;
use Test::More;

my $node = booking_node('main', conf => "deadlock_timeout = 100ms\n");
my $session = session($node);
my $other = session($node);

sub during
{
	my ($day, $hour) = @_;
	return sprintf("tstzrange('%s %02d:00+00', '%s %02d:00+00')", $day, $hour, $day, $hour + 1);
}

# The answer to a call, as a line.
sub answer
{
	my ($call) = @_;
	return $session->query(
		"SELECT concat_ws('|', disposition, state, remote, event, coalesce(receipt, '-')) FROM booking_$call");
}

# Relations in which a text is found, as text or as bytes.
sub found
{
	my ($what) = @_;
	my @tables = split /\n/, $session->query("SELECT relname FROM pg_class WHERE relkind = 'r'"
		  . " AND relnamespace = 'booking'::regnamespace ORDER BY 1");
	my $bytes = unpack 'H*', $what;

	die 'there are no relations' unless @tables > 20;
	return join ' ',
	  grep { $session->query("SELECT count(*) FROM booking.$_ x WHERE x::text ~ '$what|$bytes'") > 0 } @tables;
}

$session->query('CREATE EXTENSION booking CASCADE');
$session->query("SELECT booking_permit_all('t', p) FROM unnest(ARRAY['ann', 'bob', 'cal']) p");
$session->query("SELECT booking_resource_put('t', r) FROM unnest(ARRAY['room', 'desk', 'far']) r");
$session->query("SELECT booking_resource_put('t', 'hall', 3)");
$session->query("SELECT booking_slot_put('t', 'desk', 'early', " . during('2021-03-01', 7) . ')');
$session->query("SELECT booking_consumer_put('t', 'reader')");

# ----------------------------------------------------------------------------
# Policies
# ----------------------------------------------------------------------------

foreach my $case (
	[ '[]', 'an array' ],
	[ '{"intent": "1 day"}', 'an unknown key' ],
	[ '{"intents": 5}', 'a number for an age' ],
	[ '{"intents": "-1 day"}', 'an age below zero' ],
	[ '{"intents": "200 years"}', 'an age beyond reason' ],
	[ '{"batch": 0}', 'no rows at all' ],
	[ '{"batch": 1.5}', 'half a row' ],
	[ '{"lock_timeout": "1s"}', 'a text for a number' ])
{
	my $error = fails_with($session, "CALL booking_retain('$case->[0]')", '22023', "$case->[1] is refused");

	like($error->{text}, qr/HINT/, "$case->[1]: with a hint");
}
fails_with($session, q(CALL booking_retain('{"intents": "soon"}')), '22007', 'no interval is refused');
fails_with($session, 'CALL booking_retain(NULL)', '22004', 'no policy is refused');
$session->query('BEGIN');
fails_with($session, q(CALL booking_retain('{}')), '2D000', 'a transaction block is refused');
$session->query('ROLLBACK');

# ----------------------------------------------------------------------------
# What there is
# ----------------------------------------------------------------------------

my $terms = q('{"note": "canary 1.50", "n": 1.50, "event": {"summary": "canary", "attendees": [{"email": "canary@x.test"}]}}');
my $same = q('{"n": 1.5, "event": {"attendees": [{"email": "canary@x.test"}], "summary": "canary"}, "note": "canary 1.50"}');
my $evidence = q('{"call": "canary"}');
my $day = '2021-03-02';
my %claims = (
	plain => [ "claim('t', 'ann', 'plain', 'room', " . during($day, 9) . ', NULL, 1, %s', ", NULL, $evidence)" ],
	slot => [ "claim_slot('t', 'ann', 'slot', 'desk', 'early', 1, 1, %s", ", NULL, $evidence)" ],
	all => [ "claim_all('t', 'ann', 'all', '{hall,desk,room}', " . during($day, 11) . ", '{1,1,1}', 1, %s", ", NULL, $evidence)" ],
	taken => [ "claim('t', 'ann', 'taken', 'room', " . during($day, 9) . ', NULL, 1, %s', ", NULL, $evidence)" ],
	outdated => [ "claim('t', 'ann', 'outdated', 'room', " . during($day, 13) . ', 7, 1, %s', ", NULL, $evidence)" ],
	ended => [ "claim('t', 'ann', 'ended', 'room', " . during($day, 14) . ', NULL, 1, %s', ", NULL, $evidence)" ],
	first => [ "claim('t', 'ann', 'first', 'room', " . during($day, 15) . ', NULL, 1, %s', ", NULL, $evidence)" ],
	second => [ "claim('t', 'ann', 'second', 'room', " . during($day, 16) . ', NULL, 1, %s', ", 'first', $evidence)" ],
	never => [ "cancel_exact('t', 'ann', 'never', 'room', " . during($day, 17) . ', NULL, 1, %s', ", $evidence)" ],
	proposed => [ "claim('t', 'ann', 'proposed', 'room', " . during($day, 18) . ', NULL, 1, %s', ", NULL, NULL)" ],
	old_version => [ "claim('t', 'ann', 'proposed', 'room', " . during($day, 19) . ', NULL, 1, %s', ", NULL, NULL)" ]);
my %order = map { $_ => 1 } qw(plain slot all outdated ended first never);

sub call
{
	my ($name, $values) = @_;
	return sprintf($claims{$name}[0], $values) . $claims{$name}[1];
}

answer(call($_, $terms)) foreach sort keys %order;
answer(call($_, $terms)) foreach qw(taken second);
answer("cancel('t', 'ann', 'ended', $evidence)");
answer("cancel('t', 'ann', 'nobody', $evidence)");
$session->query("SELECT booking_propose('t', 'ann', 'proposed', 'room', "
	  . during($day, 19) . ", NULL, 1, $terms, NULL, NULL, NULL, $evidence)");
$session->query("SELECT booking_propose('t', 'ann', 'proposed', 'room', "
	  . during($day, 18) . ", NULL, 1, $terms, NULL, NULL, 1, $evidence)");
answer("approve('t', 'bob', 'ann', 'proposed', 2, $evidence)");
answer("override('t', 'ann', 'beyond', 'room', " . during($day, 9) . ", 1, $terms, 'canary')");
$session->query("SELECT booking_task_put('t', 'ann', 'plain', 'remind', '1 hour', '{\"to\": \"canary\"}')");
is($session->query("SELECT count(*) FROM booking_changes('t', 'reader')"), 16, 'a reader is given the changes');

# what a worker leaves of a booking at a provider
$session->query("SELECT booking_account_put('t', 'a', 'caldav', 'https://calendar.test/')");
$session->query("SELECT booking_calendar_put('t', 'c', 'a', '/c/', 'far')");
answer("claim('t', 'ann', 'far', 'far', " . during($day, 9) . ", NULL, 1, $terms, NULL, $evidence)");
$session->query("UPDATE booking.intent SET state = 'creating' WHERE intent = 'far'");
$session->query("UPDATE booking.intent SET state = 'created', remote = 'confirmed', event = 'present',"
	  . " detail = '{\"reason\": \"moved\", \"message\": \"canary\"}' WHERE intent = 'far'");
$session->query("UPDATE booking.operation SET state = 'confirmed', body = 'SUMMARY:canary', message = 'canary',"
	  . " href = '/c/1.ics', moved_to = " . during($day, 10));
$session->query("UPDATE booking.reservation SET occupied = " . during($day, 10)
	  . " WHERE intent_id = (SELECT intent_id FROM booking.intent WHERE intent = 'far')");
$session->query("INSERT INTO booking.attempt (operation_id, at, epoch, phase, mark, message)"
	  . " SELECT operation_id, now(), 1, 'send', 'done', 'canary' FROM booking.operation");
$session->query("INSERT INTO booking.event (calendar_id, seen_round, intent_id, object, during, busy, status,"
	  . " transparency, organizer, attendees) SELECT calendar_id, 1, intent_id, '/c/1.ics', "
	  . during($day, 10) . ", true, 'confirmed', 'opaque', 'canary', '[{\"email\": \"canary\"}]'"
	  . " FROM booking.calendar, booking.intent WHERE intent = 'far'");
$session->query("INSERT INTO booking.conflict (found_at, resolved_at, intent_id, kind, tenant, detail)"
	  . " SELECT now(), now(), intent_id, 'moved', 't', '{\"x\": \"canary\"}' FROM booking.intent WHERE intent = 'far'");
is_clean($session, 'what there is');

my %before = map { $_ => answer(call($_, $terms)) } keys %claims;
$before{far} = answer("status('t', 'ann', 'far')");
$before{nobody} = answer("status('t', 'ann', 'nobody')");

# Answers after a purge to the calls that were made before it.
sub is_history
{
	my ($name) = @_;

	is(answer(call($_, $same)), $before{$_}, "$name: $_: the same call gets the same answer") foreach sort keys %claims;
	is(answer("status('t', 'ann', '$_')"), $before{$_}, "$name: $_: its state") foreach qw(far nobody);
	return;
}

# ----------------------------------------------------------------------------
# Retention
# ----------------------------------------------------------------------------

# a booking to come, and one that somebody holds
answer("claim('t', 'ann', 'coming', 'room', tstzrange('2098-01-01', '2098-01-02'), NULL, 1, '{\"note\": \"coming\"}')");
$session->query("CALL booking_retain('{\"intents\": \"36500 days\", \"inbox\": null}')");
is_history('nothing is that old');
isnt(found('canary'), '', 'and nothing was purged');

$other->query('BEGIN');
$other->query("SELECT FROM booking.reservation WHERE intent_id = (SELECT intent_id FROM booking.intent WHERE intent = 'plain') FOR UPDATE");
my $all = '{"intents": "0", "events": "0", "conflicts": "0", "checks": "0", "batch": 2, "max_rows": 4}';
like($session->query("CALL booking_retain('$all')"), qr/"more": true/, 'a limit leaves something for the next call');
is($session->query('SELECT count(*) FROM booking.intent WHERE digest IS NOT NULL'), 4, 'a limit is kept');
is_history('half of it is purged');
is_clean($session, 'half of it is purged');
$all =~ s/, "max_rows": 4//;
like($session->query("CALL booking_retain('$all')"), qr/"intents": \d/, 'a call goes on');
is($session->query("SELECT string_agg(intent, ' ' ORDER BY intent) FROM booking.intent WHERE digest IS NULL"),
	'coming plain', 'it leaves what is to come, and what others hold');
$other->query('ROLLBACK');
like($session->query("CALL booking_retain('$all')"), qr/"intents": 1\b/, 'the next call finds that');
is($session->query("SELECT count(*) FROM booking.audit_entry WHERE action = 'retain' AND role = current_user"), 4, 'each is recorded');
like($session->query("CALL booking_retain('$all')"), qr/"intents": 0\b/, 'and then there is nothing to do');

is_history('all of it is purged');
is_clean($session, 'all of it is purged');
is(found('canary'), 'audit_entry', 'values are gone but where they are kept for others');
is($session->query("SELECT count(*) FROM booking.reservation WHERE intent_id <> (SELECT intent_id FROM booking.intent WHERE intent = 'coming')"),
	0, 'no time that is over is kept');

foreach my $case (
	[ 'plain', "'{}'", '["purged"]' ],
	[ 'slot', "'{}'", '["purged"]' ],
	[ 'all', "'{}'", '["purged"]' ],
	[ 'taken', "'{}'", '["purged"]' ])
{
	my ($name, $values, $fields) = @$case;

	is_row($session, 'SELECT disposition, detail -> \'fields\', receipt FROM booking_' . call($name, $values),
		[ 'intent_conflict', $fields, undef ], "$name: other values are another call");
}
is_row($session, "SELECT disposition, detail -> 'fields' FROM booking_claim('t', 'ann', 'plain', 'hall', "
	  . during($day, 9) . ", NULL, 2, $terms)",
	[ 'intent_conflict', '["resources", "units"]' ], 'what is kept is named');
is_row($session, "SELECT disposition, detail -> 'fields' FROM booking_claim('t', 'ann', 'plain', 'room', "
	  . during($day, 10) . ", NULL, 1, $terms)",
	[ 'intent_conflict', '["purged"]' ], 'another time is another call');
is_row($session, "SELECT disposition, detail FROM booking_status('t', 'ann', 'plain')",
	[ 'historical_retry', '{"purged": true}' ], 'a receipt says that there is no more');
is_row($session, "SELECT detail FROM booking_status('t', 'ann', 'far')",
	['{"purged": true, "reason": "moved"}'], 'a reason stays, and nothing else');
is($session->query("SELECT count(*) FROM booking_list('t', 'ann') WHERE intent = 'plain' AND during IS NULL"), 1,
	'a list has it, without a time');
is($session->query("SELECT count(*) FROM booking.intent_is_valid('t', 'a', 'i', 'committed', 'committed',"
	  . " 'not_required', 'none', 'r', 1, '{x}', 1, '{}', NULL, NULL) v WHERE v"), 1, 'a purged row is valid');

# what goes on with it
is($session->query("SELECT booking_task_put('t', 'ann', 'plain', 'late', '1 hour') IS NULL"), 't', 'no task is due any more');
is_row($session, "SELECT disposition FROM booking_claim('t', 'ann', 'third', 'room', " . during($day, 20)
	  . ", NULL, 1, '{}', 'far')", ['predecessor_unresolved'], 'an event whose time is gone is not moved');
is_row($session, "SELECT disposition, state FROM booking_cancel('t', 'ann', 'plain')", [ 'canceled', 'canceled' ], 'it can be canceled');
is_row($session, 'SELECT disposition, state FROM booking_' . call('plain', $terms), [ 'canceled', 'canceled' ], 'and stays so');
is_row($session, "SELECT disposition, state FROM booking_cancel('t', 'ann', 'far')", [ 'canceled', 'canceling' ], 'one at a provider is deleted there');
is_clean($session, 'after calls on what was purged');

# ----------------------------------------------------------------------------
# Only a purge is one
# ----------------------------------------------------------------------------

foreach my $change (
	"UPDATE booking.intent SET terms = '{}', during = NULL, digest = '\\x00' WHERE intent = 'coming'",
	"UPDATE booking.intent SET evidence = '{}' WHERE intent = 'slot'",
	"UPDATE booking.intent SET digest = NULL WHERE intent = 'slot'",
	"UPDATE booking.proposal SET terms = '{\"a\": 1}'",
	'DELETE FROM booking.attempt',
	'DELETE FROM booking.audit_entry',
	"UPDATE booking.audit_entry SET detail = NULL")
{
	next if $change =~ /attempt/ && $session->query('SELECT count(*) FROM booking.attempt') == 0;
	fails_with($session, $change, '55000', "refused: $change");
}
fails_with($session, "INSERT INTO booking.intent (created_at, changed_at, version, units, tenant, principal, intent,"
	  . " disposition, state, receipt, resources, terms, created_role, changed_role)"
	  . " VALUES (now(), now(), 1, 1, 't', 'ann', 'new', 'committed', 'committed', 'r', '{room}', '{}', 'x', 'x')",
	'23514', 'an intent without a time is refused, unless it was purged');

# ----------------------------------------------------------------------------
# Deliveries that come late
# ----------------------------------------------------------------------------

sub deliver
{
	my ($what, $uid, $version) = @_;
	my $body =
		qq({"triggerEvent": "BOOKING_$what", "createdAt": "2021-01-01T00:00:0${version}Z", "payload": )
	  . qq({"uid": "$uid", "type": "room", "title": "canary", "startTime": "2021-01-04T09:00:00Z", "endTime": "2021-01-04T10:00:00Z"}});

	return $session->query(sprintf(
		"SELECT concat_ws(' ', status, verdict) FROM booking_webhook_receive('cal', '{\"x-cal-signature-256\": \"%s\"}', convert_to('%s', 'UTF8'))",
		hmac_sha256_hex($body, 'key of cal'), $body));
}

$session->query("SELECT booking_webhook_source_put('t', 'cal', 'calcom')");
$session->query("SELECT booking_webhook_secret_put('cal', 'key of cal')");
$session->query("SELECT booking_webhook_map('cal', 'room', 'room')");
is(deliver('CREATED', 'gone', 1), '200 accepted', 'a delivery books');
is(deliver('CANCELLED', 'gone', 2), '200 accepted', 'another one cancels');
is(deliver('CREATED', 'live', 1), '200 accepted', 'a third one books');
my $state = "SELECT string_agg(intent || ' ' || state, ', ' ORDER BY intent) FROM booking.intent WHERE principal = 'cal'";
is($session->query($state), 'gone canceled, live committed', 'so it is');
like($session->query(q(CALL booking_retain('{"intents": "0", "inbox": "0"}'))), qr/"inbox": 3\b/, 'deliveries are purged');
is($session->query("SELECT count(*) FROM booking.inbox WHERE body <> ''"), 0, 'their bytes are gone');
like(deliver('CREATED', 'gone', 1), qr/^200/, 'one that comes again is answered');
like(deliver('CREATED', 'gone', 3), qr/^200/, 'and one that comes late');
like(deliver('CREATED', 'live', 1), qr/^200/, 'and one of a booking that stands');
is($session->query($state), 'gone canceled, live committed', 'none brings anything back');
is($session->query("SELECT concat_ws(' ', deliveries > 0, changed) FROM booking_webhook_replay('cal')"), 't 0', 'a replay changes nothing');
is($session->query($state), 'gone canceled, live committed', 'nor does it bring anything back');
is_clean($session, 'after late deliveries');

# ----------------------------------------------------------------------------
# Forgetting a person
# ----------------------------------------------------------------------------

answer("claim('t', 'bob', 'past', 'room', " . during($day, 3) . ", NULL, 1, '{\"note\": \"bobcanary\"}', NULL, '{\"x\": \"bobcanary\"}')");
answer("claim('t', 'bob', 'future', 'room', tstzrange('2098-02-01', '2098-02-02'), NULL, 1, '{\"note\": \"bobcanary\"}')");
$session->query("SELECT booking_propose('t', 'bob', 'maybe', 'room', tstzrange('2098-03-01', '2098-03-02'), NULL, 1, '{\"note\": \"bobcanary\"}')");
my $error = fails_with($session, "CALL booking_forget('t', 'bob')", '55000', 'who has a booking to come is not forgotten');
like($error->{text}, qr/There are 2, among them: future \(committed\), maybe \(proposed\)/, 'and it says which');
isnt(found('bobcanary'), '', 'nothing is erased then');
my $past = answer("status('t', 'bob', 'past')");
answer("cancel('t', 'bob', '$_', '{\"why\": \"bobcanary\"}')") foreach qw(future maybe);
my $coming = $session->query("SELECT terms::text FROM booking.intent WHERE intent = 'coming'");

$session->query('CREATE ROLE teller');
$session->query('GRANT EXECUTE ON PROCEDURE booking_forget(text, text, jsonb) TO teller');
$session->query('GRANT EXECUTE ON PROCEDURE booking_retain(jsonb, jsonb) TO teller');
$session->query('SET ROLE teller');
fails_with($session, "CALL booking_forget('t', 'bob')", '42501', 'a role that is not bound erases nothing');
fails_with($session, q(CALL booking_retain('{}')), '42501', 'and retention is the owner\'s');
$session->query('RESET ROLE');
$session->query("SELECT booking_bind_role('teller', 't')");
$session->query('SET ROLE teller');
fails_with($session, q(CALL booking_retain('{}')), '42501', 'even of one that is bound');
like($session->query("CALL booking_forget('t', 'bob')"), qr/"intents": 3\b/, 'one that is bound forgets a person');
$session->query('RESET ROLE');
is(found('bobcanary'), '', 'nothing of the person is left');
is($session->query("SELECT concat_ws(' ', action, role, principal) FROM booking.audit_entry WHERE action = 'forget'"),
	'forget teller bob', 'it is recorded');
is(answer("status('t', 'bob', 'past')"), $past, 'what was decided is left');
is_row($session, "SELECT disposition FROM booking_claim('t', 'bob', 'future', 'room', tstzrange('2098-02-01', '2098-02-02'), NULL, 1, '{\"note\": \"bobcanary\"}')",
	['canceled'], 'and brings nothing back');
is($session->query("SELECT terms::text FROM booking.intent WHERE intent = 'coming'"), $coming, 'others keep what they have');
like($session->query("CALL booking_forget('t', 'bob')"), qr/"rows": 0, "intents": 0/, 'it can be repeated');
$session->query("SELECT booking_cancel('t', 'ann', 'coming')");
$session->query("UPDATE booking.operation SET state = 'confirmed' WHERE kind = 'cancel'");
$session->query("UPDATE booking.intent SET state = 'canceled' WHERE intent = 'far'");
$session->query("CALL booking_forget('t', '$_')") foreach qw(ann cal);
is(found('canary'), '', 'nor is anything of others');
is_clean($session, 'after forgetting');

# ----------------------------------------------------------------------------
# A copy
# ----------------------------------------------------------------------------

$node->command_ok([ 'pg_dump', '-Fc', '-f', $node->basedir . '/purged.dump', 'postgres' ], 'what was purged is dumped');
$node->safe_psql('postgres', 'CREATE DATABASE copy');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'copy', $node->basedir . '/purged.dump' ], 'and restored');
my $copy = session($node, dbname => 'copy');
foreach my $table (qw(intent proposal inbox retention))
{
	my $rows = "SELECT md5(string_agg(x::text, ',' ORDER BY x::text)) FROM booking.$table x";

	is($copy->query($rows), $session->query($rows), "$table: a copy has the same rows");
}
is_row($copy, 'SELECT disposition FROM booking_' . call('taken', $terms), ['resource_conflict'], 'and knows the same call');
is_row($copy, 'SELECT disposition FROM booking_' . call('taken', "'{}'"), ['intent_conflict'], 'from another one');
is_clean($copy, 'the copy');

done_testing();
