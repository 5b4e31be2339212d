# test/t/185_privileges.pl
#
# Who may do what.  The roles are those of doc/roles.md, made by the statements
# of that page as they stand there.  Every function, relation, sequence, type and
# schema of the extension has an entry below that says who has it; an object
# without one fails the test, so that nothing new is open, or closed, by oversight.
# The catalog must say exactly that, and so must the functions and relations when
# each of the roles tries them: what is granted works for the own tenant and for no
# other one, and rows of another tenant are never seen.
#
# Proves the access rules of DESIGN 4 and the row security of readers.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# ----------------------------------------------------------------------------
# What is documented
# ----------------------------------------------------------------------------

# Functions: who may execute them, and a call for tenant TENANT, in which R is an
# hour and the source SOURCE is that tenant's.  "-" instead of a call: it is not
# for callers.  A "*" before the call: it asks for no tenant, and answers whoever
# has EXECUTE.  A "!" before it: it answers nobody but the owner.
my $functions = <<'EOT';
booking_tenant_put operator | booking_tenant_put('TENANT')
booking_resource_put operator | booking_resource_put('TENANT', 'room')
booking_slot_put operator | booking_slot_put('TENANT', 'room', 's', R)
booking_permit operator | booking_permit('TENANT', 'ada', 'room')
booking_permit_all operator | booking_permit_all('TENANT', 'ada')
booking_bind_role owner | booking_bind_role('stranger', 'TENANT')
booking_unbind_role owner | booking_unbind_role('stranger', 'TENANT')
booking_claim application | booking_claim('TENANT', 'ada', 'try 1', 'room', R)
booking_claim_slot application | booking_claim_slot('TENANT', 'ada', 'try 2', 'room', 's', 1)
booking_claim_all application | booking_claim_all('TENANT', 'ada', 'try 3', '{room}', R)
booking_override operator | booking_override('TENANT', 'ada', 'try 4', 'room', R, 1, '{}', 'why')
booking_cancel application | booking_cancel('TENANT', 'ada', 'try 5')
booking_cancel_exact application | booking_cancel_exact('TENANT', 'ada', 'try 6', 'room', R, NULL, 1, '{}')
booking_cancel_exact_slot application | booking_cancel_exact_slot('TENANT', 'ada', 'try 7', 'room', 's', 1, 1, '{}')
booking_cancel_exact_all application | booking_cancel_exact_all('TENANT', 'ada', 'try 8', '{room}', R, NULL, 1, '{}')
booking_propose application | booking_propose('TENANT', 'ada', 'try 9', 'room', R)
booking_propose_slot application | booking_propose_slot('TENANT', 'ada', 'try 10', 'room', 's', 1)
booking_propose_all application | booking_propose_all('TENANT', 'ada', 'try 11', '{room}', R)
booking_approve application | booking_approve('TENANT', 'ada', 'ada', 'proposed', 1)
booking_reject application | booking_reject('TENANT', 'ada', 'ada', 'proposed', 1, 'no')
booking_status application worker operator | booking_status('TENANT', 'ada', 'booked')
booking_list application operator | booking_list('TENANT', 'ada')
booking_free application operator | booking_free('TENANT', 'ada', '{room}', R, '1 hour')
booking_at application operator | * booking_at('2030-01-01 12:00', 'UTC')
booking_check owner | ! booking_check()
booking_guard_terminal public application worker receiver operator monitoring reader | -
booking_guard_monotonic public application worker receiver operator monitoring reader | -
booking_account_put operator | booking_account_put('TENANT', 'dav', 'caldav')
booking_account_remove operator | booking_account_remove('TENANT', 'spare')
booking_credential_put operator | booking_credential_put('TENANT', 'dav', '{"type": "basic", "username": "u", "password": "p"}')
booking_credential_remove operator | booking_credential_remove('TENANT', 'spare')
booking_calendar_put operator | booking_calendar_put('TENANT', 'cal', 'dav', '/cal/', 'room')
booking_calendar_remove operator | booking_calendar_remove('TENANT', 'spare')
booking_account_check operator | CALL booking_account_check('TENANT', 'dav')
booking_arm owner | ! booking_arm()
booking_worker_start owner | -
booking_worker_status owner | ! booking_worker_status()
booking_resolve operator | booking_resolve('TENANT', 'ada', 'booked', 'absent', '{}')
booking_release operator | booking_release('TENANT', 'ada', 'booked', 'why')
booking_requeue operator | booking_requeue('TENANT', 'ada', 'booked', 'why')
booking_park operator | booking_park('TENANT', 'ada', 'booked', 'why')
booking_retain owner | -
booking_forget operator | CALL booking_forget('TENANT', 'nobody')
booking_sync operator | booking_sync('TENANT', 'cal')
booking_sync_wait operator | CALL booking_sync_wait('TENANT', 'cal')
booking_consumer_put operator | booking_consumer_put('TENANT', 'crm')
booking_consumer_remove operator | booking_consumer_remove('TENANT', 'spare')
booking_changes worker | booking_changes('TENANT', 'crm')
booking_consumer_ack worker | booking_consumer_ack('TENANT', 'crm', 1)
booking_task_put application | booking_task_put('TENANT', 'ada', 'booked', 'mail', '1 hour')
booking_task_take worker | booking_task_take('TENANT', 10, '1 minute')
booking_task_done worker | booking_task_done('TENANT', 'ada', 'booked', 'mail', 1)
booking_metrics receiver monitoring | * booking_metrics()
booking_provider_capabilities operator monitoring | * booking_provider_capabilities()
booking_webhook_source_put operator | booking_webhook_source_put('TENANT', 'SOURCE', 'standard')
booking_webhook_source_remove operator | booking_webhook_source_remove('spare SOURCE')
booking_webhook_secret_put operator | booking_webhook_secret_put('SOURCE', 'whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=')
booking_webhook_secret_add operator | booking_webhook_secret_add('SOURCE', 'whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTM=')
booking_webhook_secret_retire operator | booking_webhook_secret_retire('SOURCE', 'whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTM=')
booking_webhook_secret_retire_number operator | booking_webhook_secret_retire_number('SOURCE', 1)
booking_webhook_credential_put operator | booking_webhook_credential_put('SOURCE read', '{"type": "bearer", "token": "x"}')
booking_webhook_credential_remove operator | booking_webhook_credential_remove('spare SOURCE read')
booking_webhook_map operator | booking_webhook_map('SOURCE', 'key', 'room')
booking_webhook_receive receiver | * booking_webhook_receive('SOURCE', '[]', '')
booking_webhook_replay operator | booking_webhook_replay('SOURCE')
booking_webhook_replay_list operator | booking_webhook_replay_list('SOURCE', '{1}')
booking_subscription_put operator | booking_subscription_put('TENANT', 'sub')
booking_subscription_secret_put operator | booking_subscription_secret_put('TENANT', 'sub', 'whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTM=')
booking_subscription_secret_retire operator | booking_subscription_secret_retire('TENANT', 'sub', 1)
booking_subscription_disable operator | booking_subscription_disable('TENANT', 'sub')
booking_subscription_remove operator | booking_subscription_remove('TENANT', 'spare')
booking_subscription_replay operator | booking_subscription_replay('TENANT', 'sub', 0)
booking_subscriptions operator | booking_subscriptions('TENANT')
booking_webhook_reads worker | booking_webhook_reads('SOURCE')
booking_webhook_read_done worker | booking_webhook_read_done('SOURCE', 1, NULL)
booking.interval_is_valid owner | -
booking.label_is_valid owner | -
booking.intent_is_valid owner | -
booking.reservation_is_valid owner | -
booking.payload_digest owner | -
booking.guard_intent owner | -
booking.guard_proposal owner | -
booking.guard_append_only owner | -
booking.guard_permission owner | -
booking.guard_role_binding owner | -
booking.guard_cached owner | -
booking.guard_resource owner | -
booking.guard_change owner | -
booking.guard_feed owner | -
booking.guard_inbox owner | -
booking.guard_webhook_booking owner | -
EOT

# Relations: who may read them, and which rows are those of TENANT; "none": no
# policy, so nobody but the owner sees one.
my $by_tenant = "tenant = 'TENANT'";
my $by_intent = "intent_id IN (SELECT intent_id FROM booking.intent WHERE $by_tenant)";
my $by_operation =
  "operation_id IN (SELECT operation_id FROM booking.operation WHERE $by_tenant)";
my $by_calendar = "calendar_id IN (SELECT calendar_id FROM booking.calendar WHERE $by_tenant)";
my $by_source = "source IN (SELECT source FROM booking.webhook_source WHERE $by_tenant)";
my %rows = (
	tenant => $by_tenant,
	intent => $by_intent,
	operation => $by_operation,
	calendar => $by_calendar,
	source => $by_source,
	subscription => "subscription_id IN (SELECT subscription_id FROM booking.subscription WHERE $by_tenant)",
	none => 'false');
my $relations = <<'EOT';
account operator | tenant
account_check operator | tenant
attempt operator | operation
audit operator | tenant
audit_entry operator | tenant
bound_tenant operator reader | tenant
calendar operator reader | tenant
change operator | tenant
channel owner | none
conference operator | operation
conflict operator reader | tenant
consumer operator | tenant
counter owner | none
credential owner | none
cursor operator | calendar
event operator reader | calendar
feed operator | tenant
inbox operator | tenant
intent operator reader | tenant
operation operator | tenant
outbox operator | subscription
permission operator | tenant
proposal operator reader | intent
recovery operator | tenant
reservation operator reader | tenant
resource operator reader | tenant
retention owner | none
role_binding operator | tenant
site owner | none
slot operator reader | tenant
subscription operator | tenant
subscription_secret owner | none
subscription_trouble operator | tenant
sync_request operator | calendar
task operator | tenant
tenant operator | tenant
token owner | none
webhook_booking operator | tenant
webhook_count operator | source
webhook_map operator | source
webhook_reader operator | source
webhook_credential owner | none
webhook_secret owner | none
webhook_source operator | tenant
EOT

# Types of the extension's schema, and what PUBLIC has on columns.
my @types = qw(booking_change booking_proposal booking_result booking_task);
my @public_columns = ('bound_tenant.tenant');

my @kinds = qw(public application worker receiver operator monitoring reader);
my %function = parse($functions);
my %relation = parse($relations);

# NAME WHO... | WHAT, as a hash of [WHO, WHAT].
sub parse
{
	my ($text) = @_;
	my %entries;

	foreach my $line (split /\n/, $text)
	{
		my ($left, $what) = split / \| /, $line, 2;
		my ($name, @who) = split ' ', $left;

		die "$name has two entries" if $entries{$name};
		$entries{$name} = [ { map { $_ => 1 } @who }, $what ];
	}
	return %entries;
}

# ----------------------------------------------------------------------------
# Two tenants with a row of everything, and the roles of doc/roles.md
# ----------------------------------------------------------------------------

my $node = booking_node('main', conf => "booking.worker = off\nmax_connections = 60\n");
my $owner = session($node);

$owner->query('CREATE EXTENSION booking CASCADE');
$owner->query('SET client_min_messages = error');

my $page = PostgreSQL::Test::Utils::slurp_file("$FindBin::RealBin/../../doc/roles.md");
my @blocks = $page =~ /^```sql\n(.*?)^```/msg;

cmp_ok(scalar @blocks, '>=', 2, 'doc/roles.md has statements to paste');
foreach my $block (@blocks)
{
	my $result = $owner->try($block);

	is($result->{error} && $result->{error}{text},
		undef, 'they can be pasted: ' . (split /\n/, $block)[0]);
}
$owner->query('CREATE ROLE stranger LOGIN');

# All of another tenant: every function, every relation, bound to blue alone.
$owner->query(<<'EOSQL');
CREATE ROLE blue_all LOGIN;
GRANT EXECUTE ON ALL ROUTINES IN SCHEMA public TO blue_all;
REVOKE EXECUTE ON FUNCTION booking_worker_start FROM blue_all;
GRANT USAGE ON SCHEMA booking TO blue_all;
GRANT ALL ON ALL TABLES IN SCHEMA booking TO blue_all;
SELECT booking_bind_role('blue_all', 'blue');
EOSQL

foreach my $tenant ('acme', 'blue')
{
	my $fill = <<'EOSQL';
SELECT booking_tenant_put('TENANT', false);
SELECT booking_resource_put('TENANT', 'room', 9);
SELECT booking_resource_put('TENANT', 'hall');
SELECT booking_slot_put('TENANT', 'room', 's', R);
SELECT booking_permit_all('TENANT', 'ada');
SELECT booking_consumer_put('TENANT', c) FROM unnest('{crm,spare}'::text[]) c;
SELECT booking_claim('TENANT', 'ada', 'booked', 'room', R);
SELECT booking_propose('TENANT', 'ada', 'proposed', 'room', R);
SELECT booking_task_put('TENANT', 'ada', 'booked', 'mail', '1 hour');
SELECT count(*) FROM booking_changes('TENANT', 'crm');
SELECT booking_account_put('TENANT', a, 'caldav', 'https://calendar.example.org/') FROM unnest('{dav,spare}'::text[]) a;
SELECT booking_credential_put('TENANT', 'dav', '{"type": "bearer", "token": "t"}');
SELECT booking_calendar_put('TENANT', 'cal', 'dav', '/cal/', 'hall');
SELECT booking_calendar_put('TENANT', 'spare', 'dav', '/spare/');
SELECT booking_sync('TENANT', 'cal');
SELECT booking_claim('TENANT', 'ada', 'sent', 'hall', R);
SELECT booking_webhook_source_put('TENANT', s, 'standard') FROM unnest('{SOURCE,spare SOURCE}'::text[]) s;
SELECT booking_webhook_source_put('TENANT', s, 'calcom') FROM unnest('{SOURCE read,spare SOURCE read}'::text[]) s;
SELECT booking_webhook_credential_put(s, '{"type": "bearer", "token": "secret of TENANT"}') FROM unnest('{SOURCE read,spare SOURCE read}'::text[]) s;
SELECT booking_webhook_secret_put('SOURCE', 'whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTE=');
SELECT booking_webhook_map('SOURCE', 'key', 'room');
SELECT booking_webhook_receive('SOURCE', '[]', '');
SELECT booking_subscription_put('TENANT', s, 'https://example.org/', 'whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=') FROM unnest('{sub,spare,failing}'::text[]) s;
SELECT booking_subscription_secret_put('TENANT', 'sub', 'whsec_MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTQ=');
UPDATE booking.subscription SET failures = 1, problem = 'refused' WHERE tenant = 'TENANT' AND name = 'failing';
INSERT INTO booking.outbox (subscription_id, position, intent_id, queued_at, next_at, state, message, body) SELECT subscription_id, 1, 1, now(), now(), 'waiting', 'm', 'secret of TENANT' FROM booking.subscription WHERE tenant = 'TENANT';
UPDATE booking.operation SET state = 'parked', problem = 'foreign_event' WHERE tenant = 'TENANT';
UPDATE booking.webhook_source SET failures = 1, problem = 'unmapped' WHERE source = 'SOURCE';
INSERT INTO booking.attempt (operation_id, at, epoch, phase, mark) SELECT operation_id, now(), 1, 'send', 'begun' FROM booking.operation WHERE tenant = 'TENANT';
INSERT INTO booking.conference (operation_id, next_at, changed_at, tries, state) SELECT operation_id, now(), now(), 0, 'pending' FROM booking.operation WHERE tenant = 'TENANT';
INSERT INTO booking.account_check (tenant, account, asked_at) VALUES ('TENANT', 'dav', now());
INSERT INTO booking.cursor (calendar_id, next_at) SELECT calendar_id, now() FROM booking.calendar WHERE tenant = 'TENANT' ON CONFLICT DO NOTHING;
INSERT INTO booking.event (calendar_id, seen_round, object, busy, status, transparency) SELECT calendar_id, 1, 'secret of TENANT', true, 'confirmed', 'opaque' FROM booking.calendar WHERE tenant = 'TENANT';
INSERT INTO booking.conflict (found_at, calendar_id, kind, tenant, object) SELECT now(), calendar_id, 'orphan', tenant, 'o' FROM booking.calendar WHERE tenant = 'TENANT';
INSERT INTO booking.inbox (received_at, source, tenant, verdict, state, body) VALUES (now(), 'SOURCE', 'TENANT', 'accepted', 'failed', 'secret of TENANT');
INSERT INTO booking.webhook_booking (version, changed_at, source, booking, tenant, state, intent) VALUES (1, now(), 'SOURCE', 'b', 'TENANT', 'ended', 'b');
INSERT INTO booking.webhook_count (deliveries, last_at, source, verdict) VALUES (1, now(), 'SOURCE', 'unsigned') ON CONFLICT DO NOTHING;
INSERT INTO booking.counter (value, counter) VALUES (1, 'a counter of TENANT');
INSERT INTO booking.token (renew_at, sealed, tenant, account, secret) VALUES (now(), false, 'TENANT', 'dav', 'secret of TENANT');
INSERT INTO booking.channel (calendar_id, next_at, changed_at, tenant, account, state, push_url) SELECT calendar_id, now(), now(), tenant, account, 'open', 'u' FROM booking.calendar WHERE tenant = 'TENANT';
EOSQL

	foreach my $statement (split /;\n/, $fill)
	{
		my $result = $owner->try(filled($statement, $tenant));

		BAIL_OUT("$statement: $result->{error}{text}") if $result->{error};
	}
}

# A statement for one tenant.
sub filled
{
	my ($statement, $tenant) = @_;

	return $statement =~ s/\bTENANT\b/$tenant/gr =~ s/SOURCE/hook-$tenant/gr
	  =~ s/\bR\b/"tstzrange('2030-01-07 08:00+00', '2030-01-07 09:00+00')"/ger;
}

# ----------------------------------------------------------------------------
# The catalog: each object has an entry, and exactly the privileges it says
# ----------------------------------------------------------------------------

my $member = q{FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
	WHERE d.refclassid = 'pg_extension'::regclass AND e.extname = 'booking' AND d.deptype = 'e'};
my %role = (public => 'stranger', map { $_ => "booking_$_" } grep { $_ ne 'public' } @kinds);

# Names of the objects of one catalog that belong to the extension.
sub members
{
	my ($catalog, $name, $more) = @_;

	return split /\n/,
	  $owner->query(
		"SELECT $name AS name FROM $catalog c WHERE c.oid IN (SELECT d.objid $member AND d.classid = '$catalog'::regclass) $more ORDER BY 1"
	  );
}

my @functions = members('pg_proc',
	q{CASE WHEN c.pronamespace = 'booking'::regnamespace THEN 'booking.' ELSE '' END || c.proname},
	'');
is_deeply([ sort @functions ], [ sort keys %function ],
	'every function has an entry here, and no name is overloaded');
is_deeply([ members('pg_class', 'c.relname', "AND c.relkind IN ('r', 'p', 'v', 'm', 'f')") ],
	[ sort keys %relation ], 'every relation has an entry here');
is_deeply([ members('pg_type', 'c.typname', "AND c.typnamespace <> 'booking'::regnamespace AND c.typcategory <> 'A'") ],
	\@types, 'every type has an entry here');
is( $owner->query("SELECT bool_and(has_type_privilege('stranger', t, 'USAGE')) FROM unnest('{"
		  . join(',', @types)
		  . "}'::regtype[]) t"),
	't',
	'which everybody may use, as types of results');
is_deeply([ members('pg_type', 'c.typname', "AND c.typtype <> 'c' AND c.typcategory <> 'A'") ],
	[], 'and all are types of rows');
is_deeply([ members('pg_namespace', 'c.nspname', '') ], ['booking'], 'there is one schema');

foreach my $kind (@kinds)
{
	my $has = $owner->query(
		"SELECT string_agg(CASE WHEN c.pronamespace = 'booking'::regnamespace THEN 'booking.' ELSE '' END || c.proname, ' ' ORDER BY 1)
		   FROM pg_proc c WHERE c.oid IN (SELECT d.objid $member AND d.classid = 'pg_proc'::regclass)
			AND has_function_privilege('$role{$kind}', c.oid, 'EXECUTE')");
	is(join(' ', sort split / /, $has =~ s/^\\N$//r),
		join(' ', sort grep { $function{$_}[0]{$kind} } keys %function),
		"$kind: may execute what it should");

	$has = $owner->query(
		"SELECT string_agg(c.relname, ' ' ORDER BY 1) FROM pg_class c
		  WHERE c.relnamespace = 'booking'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
			AND has_table_privilege('$role{$kind}', c.oid, 'SELECT')");
	is(join(' ', sort split / /, $has =~ s/^\\N$//r),
		join(' ', sort grep { $relation{$_}[0]{$kind} } keys %relation),
		"$kind: may read what it should");
	is( $owner->query(
			"SELECT string_agg(c.relname, ' ') FROM pg_class c
			  WHERE c.relnamespace = 'booking'::regnamespace
				AND CASE WHEN c.relkind = 'S' THEN has_sequence_privilege('$role{$kind}', c.oid, 'USAGE, SELECT, UPDATE')
						 WHEN c.relkind IN ('r', 'p', 'v', 'm', 'f')
						 THEN has_table_privilege('$role{$kind}', c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
						   OR has_any_column_privilege('$role{$kind}', c.oid, 'INSERT, UPDATE, REFERENCES') END"),
		'\N',
		"$kind: may write no relation and use no sequence");
	is( $owner->query(
			"SELECT string_agg(c.relname || '.' || a.attname, ' ') FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
			  WHERE c.relnamespace = 'booking'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
				AND NOT has_table_privilege('$role{$kind}', c.oid, 'SELECT')
				AND has_column_privilege('$role{$kind}', c.oid, a.attnum, 'SELECT')"),
		$relation{bound_tenant}[0]{$kind} ? '\N' : "@public_columns",
		"$kind: nor read another column");
	is( $owner->query(
			"SELECT has_schema_privilege('$role{$kind}', 'booking', 'USAGE'), has_schema_privilege('$role{$kind}', 'booking', 'CREATE')"
		),
		($kind =~ /^(?:operator|reader)$/ ? 't' : 'f') . "\x1ff",
		"$kind: schema");
}

is( $owner->query(
		"SELECT string_agg(c.relname, ' ' ORDER BY c.relname) FROM pg_class c
		  WHERE c.relnamespace = 'booking'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relrowsecurity"),
	'\N',
	'every table has row security');
is( $owner->query(
		"SELECT string_agg(c.relname, ' ' ORDER BY c.relname) FROM pg_class c
		  WHERE c.relnamespace = 'booking'::regnamespace AND c.relkind IN ('r', 'p')
			AND NOT EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid)"),
	join(' ', sort grep { $relation{$_}[1] eq 'none' } keys %relation),
	'and those that nobody reads have no policy');
is( $owner->query("SELECT string_agg(DISTINCT polcmd::text || polpermissive::text, ' ') FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE c.relnamespace = 'booking'::regnamespace"),
	'rtrue', 'policies are for reading only');
is( $owner->query(
		"SELECT string_agg(c.relname, ' ' ORDER BY c.relname) FROM pg_class c
		  WHERE c.relnamespace = 'booking'::regnamespace AND c.relkind = 'v'
			AND NOT 'security_invoker=true' = ANY (coalesce(c.reloptions, '{}'))"),
	'bound_tenant',
	'every view reads as its reader, but for the one that policies rest on');

# ----------------------------------------------------------------------------
# Functions, tried by each role
# ----------------------------------------------------------------------------

my %session = (
	application => session($node, user => 'acme_app'),
	worker => session($node, user => 'acme_worker'),
	operator => session($node, user => 'acme_operator'),
	reader => session($node, user => 'acme_reports'),
	receiver => session($node, user => 'hooks'),
	monitoring => session($node, user => 'probe'),
	public => session($node, user => 'stranger'));
my $blue = session($node, user => 'blue_all');

$_->query('SET client_min_messages = error') foreach (values %session, $blue);

# What a call ends in: "no grant", "denied", or "answers".
sub outcome
{
	my ($caller, $call) = @_;

	$call =~ s/^[*!] //;
	my $is_procedure = $call =~ /^CALL /;

	# it waits for a worker, and there is none
	$caller->query(q{SET statement_timeout = '300ms'}) if $is_procedure;
	my $result = $caller->try($is_procedure ? $call : "SELECT to_jsonb(x) FROM $call x");
	my $error = $result->{error};

	$caller->query('RESET statement_timeout') if $is_procedure;
	if (!$error)
	{
		return ($result->{rows}[0][0] // '') =~ /"disposition": "denied"/ ? 'denied' : 'answers';
	}
	return 'answers' if $error->{sqlstate} ne '42501';
	return $error->{message} =~ /permission denied for (?:function|procedure)/ ? 'no grant' : 'denied';
}

my $print = q{SELECT md5(string_agg(t::text, ' ')) FROM (SELECT i FROM booking.intent i WHERE tenant = 'acme' ORDER BY intent_id) t};

foreach my $name (sort keys %function)
{
	my ($who, $call) = @{ $function{$name} };
	next if $call eq '-';

	my @wrong;
	my $before = $owner->query($print);

	# those who may not, then those of another tenant, then those who may
	foreach my $kind (grep { !$who->{$_} } @kinds)
	{
		my $got = outcome($session{$kind}, filled($call, 'acme'));
		push @wrong, "$kind: $got" if $got ne 'no grant';
	}
	my $other = outcome($blue, filled($call, 'acme'));
	my $wanted = $call =~ /^\*/ ? 'answers' : 'denied';
	push @wrong, "another tenant: $other" if $other ne $wanted;
	push @wrong, 'something was written' if $owner->query($print) ne $before;
	foreach my $kind (grep { $who->{$_} } @kinds)
	{
		my $got = outcome($session{$kind}, filled($call, 'acme'));
		push @wrong, "$kind: $got" if $got ne 'answers';
		next if $call =~ /^[*]/;
		$got = outcome($session{$kind}, filled($call, 'blue'));
		push @wrong, "$kind for another tenant: $got" if $got ne 'denied';
	}
	my $owners = outcome($owner, filled($call, 'acme'));
	push @wrong, "owner: $owners" if $owners ne 'answers';
	is("@wrong", '', "$name, by each role");
}

# ----------------------------------------------------------------------------
# Relations, tried by each role
# ----------------------------------------------------------------------------

# How many rows the owner sees of a tenant, and how many there are.
sub counted
{
	my ($name, $condition) = @_;

	return $owner->query("SELECT count(*) FROM booking.$name WHERE $condition");
}

foreach my $name (sort keys %relation)
{
	my ($who, $rows) = @{ $relation{$name} };
	my @wrong;
	my $condition = $rows{$rows} // die "$name: no such condition as $rows";
	my ($acme, $others) = map { counted($name, filled($condition, $_)) } qw(acme blue);

	# the view that says who is bound, of itself
	($acme, $others) = (1, 1) if $name eq 'bound_tenant';
	push @wrong, 'a tenant has no row to be hidden or seen'
	  if $rows ne 'none' && !($acme && $others);
	push @wrong, 'there is nothing to be hidden' if $rows eq 'none' && counted($name, 'true') == 0;

	foreach my $kind (@kinds)
	{
		my $result = $session{$kind}->try("SELECT count(*) FROM booking.$name");
		my $got = $result->{error} ? $result->{error}{sqlstate} : $result->{rows}[0][0];
		my $wanted = $who->{$kind} ? $acme : '42501';

		push @wrong, "$kind: $got instead of $wanted" if $got ne $wanted;
	}

	# granted everything: rows of its own tenant, and no way to write
	my $seen = $blue->query("SELECT count(*) FROM booking.$name");
	push @wrong, "another tenant sees $seen instead of " . ($rows eq 'none' ? 0 : $others)
	  if $seen != ($rows eq 'none' ? 0 : $others);
	foreach my $write ("DELETE FROM booking.$name", "INSERT INTO booking.$name DEFAULT VALUES")
	{
		next if $name =~ /^(?:audit|bound_tenant|recovery|subscription_trouble)$/;
		my $result = $blue->try("WITH w AS ($write RETURNING 1) SELECT count(*) FROM w");
		my $got = $result->{error} ? $result->{error}{sqlstate} : $result->{rows}[0][0];

		push @wrong, "$write: $got" if $got !~ /^(?:0|42501|23502|23514)$/;
	}
	push @wrong, 'rows are gone' if $name ne 'bound_tenant' && counted($name, filled($condition, 'acme')) != $acme;
	is("@wrong", '', "$name, by each role");
}

# A row of another tenant does not show by its effects either: a function in the
# reader's condition is never called with it.
$owner->query(<<'EOSQL');
CREATE TABLE told (what text);
GRANT ALL ON told TO PUBLIC;
CREATE FUNCTION tell(what text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS
$$BEGIN INSERT INTO told VALUES (what); RETURN true; END$$;
EOSQL
$session{operator}->query("SELECT count(*) FROM booking.$_ t WHERE tell(t::text)")
  foreach (sort grep { $relation{$_}[0]{operator} } keys %relation);
is($owner->query("SELECT count(*) > 0, count(*) FILTER (WHERE what ~ 'blue') FROM told"),
	"t\x1f0", 'conditions of a reader are told of rows of its tenant only');

# ----------------------------------------------------------------------------
# Bindings come, go and are inherited; roles that share a name with one are not it
# ----------------------------------------------------------------------------

my $tenants = q{SELECT string_agg(DISTINCT tenant, ' ' ORDER BY tenant) FROM booking.intent};
$owner->query("SELECT booking_bind_role('acme_reports', 'blue')");
is($session{reader}->query($tenants), 'acme blue', 'bound to two tenants, a reader sees both');
$owner->query("SELECT booking_unbind_role('acme_reports', 'blue')");
is($session{reader}->query($tenants), 'acme', 'and no more of one that it is unbound from');

$session{reader}->query('PREPARE p AS ' . $tenants);
is($session{reader}->query('EXECUTE p'), 'acme', 'a prepared statement sees them');
$owner->query("SELECT booking_unbind_role('acme_reports', 'acme')");
is($session{reader}->query('EXECUTE p'), '\N', 'until the binding is gone');
$owner->query("SELECT booking_bind_role('acme_reports', 'acme')");

$owner->query('CREATE ROLE heir LOGIN IN ROLE acme_reports; CREATE ROLE apart LOGIN NOINHERIT IN ROLE acme_reports');
my $heir = session($node, user => 'heir');
my $apart = session($node, user => 'apart');
is($heir->query($tenants), 'acme', 'who inherits a bound role sees its rows');
is($apart->sqlstate($tenants), '42501', 'who does not inherit may not read');
$owner->query('GRANT USAGE ON SCHEMA booking TO apart; GRANT SELECT ON booking.intent TO apart');
is($apart->query($tenants), '\N', 'and sees nothing where he may');
is($apart->query("SET ROLE acme_reports; $tenants"), 'acme', 'before it takes the role');

# the system's number of another cluster: after a restore the name alone counts
$owner->query("UPDATE booking.role_binding SET cluster = 1, role_oid = 1 WHERE role = 'acme_reports'");
is($session{reader}->query($tenants), 'acme', 'in another cluster the name alone counts');
$owner->query("SELECT booking_bind_role('acme_reports', 'acme')");
$owner->query("UPDATE booking.role_binding SET role_oid = 1 WHERE role = 'acme_reports'");
is($session{reader}->query($tenants), '\N', 'a role made anew under the name is not bound');
is($session{operator}->query($tenants), 'acme', 'others are');
$owner->query("SELECT booking_bind_role('acme_reports', 'acme')");

# ----------------------------------------------------------------------------
# Who did what
# ----------------------------------------------------------------------------

$owner->query(<<'EOSQL');
CREATE ROLE pool LOGIN NOINHERIT IN ROLE acme_app, acme_operator;
CREATE ROLE other_app LOGIN IN ROLE booking_application;
SELECT booking_bind_role('other_app', 'acme');
GRANT other_app TO pool;
EOSQL
my $pool = session($node, user => 'pool');
my $claim = sub {
	my ($intent, $hour) = @_;
	return "SELECT disposition FROM booking_claim('acme', 'ada', '$intent', 'room', tstzrange('2030-02-01 $hour:00+00', '2030-02-01 $hour:30+00'))";
};

is($pool->sqlstate($claim->('pool', '08')), '42501', 'the role of the pool may do nothing');
foreach my $case ([ 'acme_app', '09' ], [ 'other_app', '10' ])
{
	my ($role, $hour) = @$case;

	is( $pool->query("BEGIN; SET LOCAL ROLE $role; " . $claim->("by $role", $hour) . '; COMMIT'),
		'committed', "$role for one transaction");
	is($pool->query('SELECT current_user'), 'pool', 'and for no longer');
	$pool->query('DISCARD ALL');
	is($pool->sqlstate($claim->("pool $hour", '08')), '42501', 'nor after DISCARD ALL');
}
$pool->query("BEGIN; SET LOCAL ROLE acme_operator; SELECT booking_permit('acme', 'bob', 'room'); COMMIT");
$pool->query("SET ROLE acme_app; SET search_path = pg_temp; RESET ALL");
is($pool->query($claim->('after reset', '11')), 'committed', 'RESET ALL leaves the role that was set');
$pool->query('RESET ROLE');
is( $owner->query("SELECT string_agg(intent || '=' || created_role, ', ' ORDER BY intent) FROM booking.intent WHERE intent ~ '^(by|after|pool)'"),
	'after reset=acme_app, by acme_app=acme_app, by other_app=other_app',
	'each intent knows the role that booked it');
is( $owner->query("SELECT role FROM booking.audit WHERE action = 'permit' AND principal = 'bob'"),
	'acme_operator',
	'so does the audit of administration');
is( $pool->query("BEGIN; SET LOCAL ROLE acme_operator; SELECT count(*) > 0 FROM booking.audit WHERE role = 'other_app'; COMMIT"),
	't', 'which an operator reads');
# ----------------------------------------------------------------------------
# The same through a pooler: clients of two roles share one backend, which forgets
# everything between two transactions
# ----------------------------------------------------------------------------

my ($pgbouncer) =
  grep { -x $_ } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
my $folder = PostgreSQL::Test::Utils::tempdir_short();
my $port = PostgreSQL::Test::Cluster::get_free_port();

BAIL_OUT('pgbouncer is missing (Debian package "pgbouncer")') unless $pgbouncer;
PostgreSQL::Test::Utils::append_to_file("$folder/users.txt", qq{"pool" ""\n});
PostgreSQL::Test::Utils::append_to_file("$folder/pgbouncer.ini", <<"EOC");
[databases]
postgres = host=@{[$node->host]} port=@{[$node->port]} dbname=postgres user=pool
[pgbouncer]
listen_addr =
listen_port = $port
unix_socket_dir = $folder
logfile = $folder/pgbouncer.log
pidfile = $folder/pgbouncer.pid
auth_type = trust
auth_file = $folder/users.txt
pool_mode = transaction
default_pool_size = 1
server_reset_query = DISCARD ALL
server_reset_query_always = 1
ignore_startup_parameters = extra_float_digits,options
EOC
my $pooler = IPC::Run::start([ $pgbouncer, "$folder/pgbouncer.ini" ],
	'<', \undef, '>', \my $pooler_output, '2>&1');

END
{
	local $?;
	$pooler->kill_kill(grace => 5) if $pooler;
}
wait_until('the pooler answers', sub { -S "$folder/.s.PGSQL.$port"; });
$owner->query('GRANT acme_reports, blue_all TO pool');

my @pooled = map { session($node, connstr => "host=$folder port=$port dbname=postgres user=pool") } 1 .. 2;
foreach my $round (1 .. 3)
{
	foreach my $i (0, 1)
	{
		my ($role, $tenant) = $i ? ('blue_all', 'blue') : ('acme_app', 'acme');

		is( $pooled[$i]->query("BEGIN; SET LOCAL ROLE $role; SELECT disposition FROM booking_claim('$tenant', 'ada', 'pooled $round', 'room', tstzrange('2030-03-0$round 08:00+00', '2030-03-0$round 09:00+00')); COMMIT"),
			'committed',
			"round $round: $role books for $tenant");
	}
	is( $pooled[0]->query("BEGIN; SET LOCAL ROLE acme_reports; $tenants; COMMIT"),
		'acme', "round $round: one role sees one tenant");
	is( $pooled[1]->query("BEGIN; SET LOCAL ROLE blue_all; $tenants; COMMIT"),
		'blue', "round $round: and the next one the other, in the same backend");
}
is( $owner->query("SELECT string_agg(DISTINCT tenant || ' ' || created_role, ', ') FROM booking.intent WHERE intent ~ '^pooled'"),
	'acme acme_app, blue blue_all',
	'and each of the roles is on record');
is( $owner->query("SELECT count(*) FROM pg_stat_activity WHERE usename = 'pool' AND pid <> "
		  . $pool->backend_pid),
	'1',
	'there was one backend for both');

$_->quit foreach (@pooled, values %session, $blue, $heir, $apart, $pool, $owner);
$node->stop;

done_testing();
