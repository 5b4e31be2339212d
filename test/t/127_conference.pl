# test/t/127_conference.pl
#
# A booking may wish for a conference, which the provider makes after the event.
# The link is told in the detail of the booking as soon as it is known: with the
# event, or by questions of its own, which are few and come to an end.  Whatever
# becomes of the conference, the booking stands.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Caldav;
use Booking::Mocked;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($node, $session, $kind, $place, $mock);
my $done = 'created confirmed create confirmed';

sub claim
{
	my ($intent, $more) = @_;

	$session->query(
		"SELECT FROM booking_claim('t', 'p', '$intent', 'room',"
		  . " '[2030-05-01 10:00+00, 2030-05-01 11:00+00)',"
		  . " terms => '{\"event\": {\"conference\": true}}'"
		  . ($more // '') . ')');
	return;
}

# What the booking says of its conference.
sub told
{
	my ($intent) = @_;
	return $session->query(
		"SELECT coalesce(detail ->> 'conference', 'nothing') FROM booking_status('t', 'p', '$intent')"
	);
}

# How the conference of a booking stands.
sub stands
{
	my ($intent) = @_;
	return $session->query(<<"EOQ");
SELECT concat_ws(' ', f.state, f.problem) FROM booking.conference f
  JOIN booking.operation o USING (operation_id) JOIN booking.intent i USING (intent_id)
 WHERE i.intent = '$intent' ORDER BY operation_id DESC LIMIT 1
EOQ
}

# Let the worker ask until a conference stands in some way.
sub ask_until
{
	my ($intent, $pattern) = @_;

	wait_until(
		"the conference of $intent is $pattern",
		sub {
			return 1 if stands($intent) =~ $pattern;
			my ($waits) = $session->query(<<'EOQ');
SELECT coalesce(min(next_at) > clock_timestamp() + current_setting('booking.clock_offset')::interval, false)
  FROM booking.conference WHERE state = 'pending'
EOQ
			Booking::Caldav::later($node, $session) if $waits eq 't';
			return 0;
		});
	return;
}

sub link_of
{
	my ($intent) = @_;
	my ($id, $theirs) = $place->ids($intent);
	return $kind eq 'google' ? "https://meet.example.org/$id" :
	  "https://teams.example.org/$theirs";
}

# Readings of the event of a booking so far.
sub readings
{
	my ($intent) = @_;
	my $id = ($place->ids($intent))[1];
	return scalar grep { $_->{method} eq 'GET' && $_->{path} =~ m{/events/\Q$id\E(\?|$)} }
	  @{ $mock->look->{requests} };
}

foreach (kinds())
{
	$kind = $_;
	my $key = PostgreSQL::Test::Utils::tempdir() . '/key';

	PostgreSQL::Test::Utils::append_to_file($key, 'k' x 40);
	chmod(0600, $key) or die "chmod: $!";
	($node, $session) = provider_node($kind, conf => "booking.secret_key_file = '$key'\n");
	$place = mocked($session, $kind);
	$mock = $place->mock;

	claim('soon');
	is(wait_state($session, 'soon', $done), $done, "$kind: an event with a conference");
	ask_until('soon', qr/^made/);
	is(told('soon'), link_of('soon'), "$kind: the link is told");
	claim('moved', ", supersedes => 'soon'");
	is(wait_state($session, 'moved', 'created confirmed update confirmed'),
		'created confirmed update confirmed', "$kind: moved");
	is(told('moved'), link_of('moved'), "$kind: the link goes along");

	# not there yet: the booking is done, and few questions follow
	$mock->set(meet => 4);
	claim('late');
	is(wait_state($session, 'late', $done), $done, "$kind: a conference that takes time");
	is(stands('late'), 'pending conference_pending', "$kind: is not waited for");
	is(told('late'), 'nothing', "$kind: and nothing is told");
	my $before = readings('late');
	$mock->fault('GET .*/events/', 'gateway');
	ask_until('late', qr/^made/);
	is(told('late'), link_of('late'), "$kind: until it is there");
	ok(readings('late') - $before <= 5, "$kind: after a few questions");
	my $asked = readings('late');
	Booking::Caldav::later($node, $session);
	$session->query("CALL booking_account_check('t', 'm')");
	is(readings('late'), $asked, "$kind: and no more after that");

	# never: the questions come to an end, and the booking stands
	$mock->set(meet => 1000);
	claim('never');
	wait_state($session, 'never', $done);
	ask_until('never', qr/^failed/);
	is(stands('never'), 'failed conference_pending', "$kind: one that never comes is given up");
	is(Booking::Caldav::state($session, 'never'), $done, "$kind: and the booking stands");
	ok(readings('never') <= 15, "$kind: the questions are bounded");

	# failed at once
	$mock->set(meet => 'failure');
	claim('failure');
	wait_until('it is done', sub { Booking::Caldav::state($session, 'failure') =~ /^created/ });
	ask_until('failure', qr/^failed/);
	is(stands('failure'), 'failed conference_failed', "$kind: one that fails is on record");
	is(told('failure'), 'nothing', "$kind: and nothing is told");

	# canceled while it is asked for
	$mock->set(meet => 1000);
	claim('gone');
	wait_until('it is done', sub { Booking::Caldav::state($session, 'gone') =~ /^created/ });
	$session->query("SELECT booking_cancel('t', 'p', 'gone')");
	wait_state($session, 'gone', 'canceled confirmed cancel confirmed');
	ask_until('gone', qr/^failed/);
	pass("$kind: one whose booking is canceled is not asked for for ever");

	# an answer that is lost, and a worker that dies
	$mock->set(meet => 1);
	$mock->fault($place->create, 'drop_after');
	claim('lost');
	settle($node, $session);
	ask_until('lost', qr/^made/);
	is(told('lost'), link_of('lost'), "$kind: a create whose answer was lost");
	$mock->set(meet => 3);
	claim('death');
	wait_until('it is done', sub { Booking::Caldav::state($session, 'death') =~ /^created/ });
	$session->query('SELECT pg_terminate_backend(pid) FROM booking_worker_status()');
	ask_until('death', qr/^made/);
	is(told('death'), link_of('death'), "$kind: a worker that dies meanwhile");

	# a credential that does not open: the question waits, and the worker goes on
	$mock->set(meet => 3);
	claim('sealed');
	wait_until('it is done', sub { Booking::Caldav::state($session, 'sealed') =~ /^created/ });
	my $spoil = 'UPDATE booking.credential SET secret = set_byte(secret, 20, 255 - get_byte(secret, 20))';
	my $log = -s $node->logfile;
	$session->query($spoil);
	Booking::Caldav::later($node, $session);
	wait_until(
		'the account waits',
		sub {
			$session->query("SELECT concat_ws(': ', state, reason) FROM booking_worker_status()") =~
			  /^idle: credentials of 1 accounts were sealed with another key/;
		});
	unlike(slurp_file($node->logfile, $log), qr/LOG:  could not open a sealed credential/,
		"$kind: a credential that does not open ends no round");
	is(stands('sealed'), 'pending conference_pending', "$kind: the question is put off");
	$session->query($spoil);
	Booking::Caldav::later($node, $session);
	ask_until('sealed', qr/^made/);
	is(told('sealed'), link_of('sealed'), "$kind: and asked when it opens");

	is_deeply($mock->look->{complaints}, [], "$kind: the mock has no complaint");
	is_clean($session, $kind);
	$node->stop;
}

done_testing();
