# test/t/128_hostile_calendars.pl
#
# Whoever may write into a calendar that we read may write anything.  No server
# here takes all of it, so a server of our own sends it (test/bench/listing_stub.c):
# objects of every bad shape beside events that are good, listings that are none,
# and calendars of a hundred thousand events (fewer in the reduced run).  The
# worker stays one and the same, its memory, shared pages included, grows by less
# than 64 MB above what it has idle, also for four such calendars at once, whatever
# of them is large, what is bad is a row with a problem or as much of it as can be
# known, and everything else is right.  No transaction stores so many rows that
# others wait for it, however many a lot of objects has, or is as long as several
# objects that take long.
#
# Proves the line about hostile calendars of the acceptance list of
# synchronization.

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::CalendarStub;
use Booking::Stub;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes 'time';

my $large = size(10_000, 100_000);
my $bound_kb = 64 * 1024;
my $good = 40;
my $dense = size(6, 100);
my $slow = size(3, 20);
my $gone = size(30_000, 120_000);

my $folder = PostgreSQL::Test::Utils::tempdir();
my $stub = Booking::CalendarStub->new('listing_stub', $folder);
my ($node, $session) = worker_node('main', conf => <<'EOC');
max_wal_size = 4GB
fsync = off
shared_buffers = 1MB
log_min_messages = warning
booking.sync_future = '3650d'
EOC

# Text of an iCalendar object with these lines in its event, which begins at an
# instant in May 2030 unless they say when.
sub object
{
	my ($uid, @lines) = @_;

	push @lines, 'DTSTART:20300501T100000Z', 'DTEND:20300501T110000Z'
	  unless grep { /^DTSTART/ } @lines;
	return join("\r\n",
		'BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//test//EN', 'BEGIN:VEVENT',
		"UID:$uid", 'DTSTAMP:20300101T000000Z', @lines, 'END:VEVENT', 'END:VCALENDAR', '');
}

# A response with an object that is not escaped by the server.
sub response
{
	my ($name, $data, $more) = @_;

	return "<D:response><D:href>/shapes/$name.xml</D:href><D:propstat><D:prop>"
	  . '<D:getetag>"1"</D:getetag>' . ($more // '')
	  . "<C:calendar-data>$data</C:calendar-data></D:prop>"
	  . '<D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>';
}

# A listing with some text of its own.
sub listing
{
	my ($head, $members, $token) = @_;

	return ($head // '<?xml version="1.0"?>')
	  . '<D:multistatus xmlns:D="DAV:">'
	  . $members
	  . '<D:sync-token>' . ($token // 't') . '</D:sync-token></D:multistatus>';
}

sub member
{
	my ($href, $etag) = @_;

	return "<D:response><D:href>$href</D:href><D:propstat><D:prop><D:getetag>"
	  . ($etag // '"1"')
	  . '</D:getetag></D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>';
}

# What is said of a member that is there no more.
sub gone
{
	my ($href) = @_;

	return "<D:response><D:href>$href</D:href><D:status>HTTP/1.1 404 Not Found</D:status></D:response>";
}

# Make a file of a calendar.
sub put
{
	my ($calendar, $name, $data) = @_;

	mkdir "$folder/$calendar";
	open(my $file, '>:raw', "$folder/$calendar/$name") or die "$name: $!";
	print $file $data;
	close($file) or die "$name: $!";
	return;
}

# Fold a line as RFC 5545 wants it.
sub folded
{
	my ($line) = @_;
	return join("\r\n ", $line =~ /(.{1,74})/gs);
}

# The most memory that the worker has had so far, in kB.
my $pid;

sub memory
{
	my ($peak) = slurp_file("/proc/$pid/status") =~ /^VmHWM:\s+(\d+) kB$/m;
	return $peak;
}

# Make a calendar and ask for its reading.
sub attach
{
	my ($calendar) = @_;

	$session->query("SELECT booking_calendar_put('t', '$calendar', 'a', '/$calendar/', 'room', 'busy')")
	  if cursor($calendar, 'watermark') eq '';
	$session->query("SELECT booking_sync('t', '$calendar')");
	return;
}

# Read a calendar, and return what the wait says.
sub sync
{
	my ($calendar) = @_;

	attach($calendar);
	return decode_json($session->query("CALL booking_sync_wait('t', '$calendar')"));
}

# A column of a calendar's cursor, '' if there is no such calendar.
sub cursor
{
	my ($calendar, $column) = @_;

	return $session->query(
		"SELECT k.$column FROM booking.cursor k JOIN booking.calendar c USING (calendar_id)"
		  . " WHERE c.calendar = '$calendar'");
}

# What is known of an object: rows, those that have a time, and problems.
sub known
{
	my ($object) = @_;

	return $session->query(<<"EOQ");
SELECT concat_ws(' ', count(*), count(during), coalesce(string_agg(DISTINCT problem, ', '), 'fine'))
  FROM booking.event WHERE object = '$object'
EOQ
}

my $entities = '<!DOCTYPE x [<!ENTITY a0 "haha">'
  . join('', map { my $n = $_ - 1; "<!ENTITY a$_ \"" . "&a$n;" x 10 . '">' } 1 .. 12)
  . ']>';
my $fetched = '<!DOCTYPE x [<!ENTITY a12 SYSTEM "file:///etc/hostname">]>';
my $no_object = 'the object is not a whole iCalendar object';
my $people = join("\r\n", map { "ATTENDEE;PARTSTAT=ACCEPTED:mailto:person$_\@test.example" } 1 .. 10_000);
my $mega = 1024 * 1024;

# An event of its own out of an object.
sub component
{
	my ($object) = @_;
	return ($object =~ /(BEGIN:VEVENT.*END:VEVENT)/s)[0];
}

# An object with many events.
sub objects
{
	return join("\r\n", 'BEGIN:VCALENDAR', 'VERSION:2.0', (map { component($_) } @_), 'END:VCALENDAR', '');
}

# The nth second of a stretch of May 2030, in UTC.
sub second
{
	my ($n) = @_;
	return sprintf('203005%02dT%02d%02d%02dZ',
		1 + $n / 86400, $n / 3600 % 24, $n / 60 % 60, $n % 60);
}

# Objects, and what is to be known of each: rows, those with a time, problems.
my %shapes = (

	# what has no end, or very much of something
	secondly => [
		object('secondly', 'RRULE:FREQ=SECONDLY'),
		'10000 10000 the object has too many occurrences'
	],
	secondly_people => [
		object('secondly-people', 'RRULE:FREQ=SECONDLY', $people),
		'10000 10000 the object has too many occurrences'
	],
	never => [
		object('never', 'RRULE:FREQ=SECONDLY;BYMONTH=2;BYMONTHDAY=30'),
		'1 1 fine'
	],
	people => [ object('people', $people), '1 1 fine' ],
	dates => [
		object('dates', map { 'RDATE:' . second($_ * 20 + 7) } 1 .. 100_000),
		'10000 10000 the object has too many occurrences'
	],
	events => [
		objects(map { object("many-$_") } 1 .. 10_000),
		'10000 10000 the object holds another event as well'
	],
	changes => [
		objects(map { object('changes', 'RECURRENCE-ID:' . second($_)) } 1 .. 10_000),
		'10000 10000 fine'
	],
	nested => [
		object('nested', ('BEGIN:X') x 10_000, ('END:X') x 10_000),
		"1 0 $no_object"
	],
	zone => [
		object('zone', 'DTSTART;TZID=bad:20300501T100000') =~
		  s/(?=BEGIN:VEVENT)/join("\r\n", 'BEGIN:VTIMEZONE', 'TZID:bad', 'BEGIN:STANDARD',
			'DTSTART:00010101T000000', 'TZOFFSETFROM:+0000', 'TZOFFSETTO:+0100',
			'RRULE:FREQ=SECONDLY', 'END:STANDARD', 'END:VTIMEZONE', '')/er,
		'1 1 the zone of a time is unknown'
	],

	# long lines
	long_text => [ object('long-text', 'DESCRIPTION:' . 'x' x $mega), '1 1 fine' ],
	long_folded =>
	  [ object('long-folded', folded('DESCRIPTION:' . 'x' x $mega)), '1 1 fine' ],
	long_uid => [ object('u' x $mega), '1 1 fine' ],
	long_person =>
	  [ object('long-person', 'ATTENDEE:mailto:' . 'x' x $mega), '1 1 fine' ],
	long_parameter => [
		object('long-parameter', 'DTSTART;X=' . 'x' x $mega . ':20300501T100000Z',
			'DTEND:20300501T110000Z'),
		'1 1 fine'
	],
	long_rule => [
		object('long-rule', 'RRULE:FREQ=DAILY;BYSECOND=' . join(',', (1) x ($mega / 2))),
		'1 1 the rule of the series is not understood'
	],
	long_start => [
		object('long-start', 'DTSTART:' . '2' x $mega),
		'1 0 when the event begins is not understood'
	],
	large => [ object('large', 'DESCRIPTION:' . 'x' x (7 * $mega)), '1 1 fine' ],
	large_lines =>
	  [ object('large-lines', ('X-PADDING:' . 'x' x 60) x (7 * $mega / 74)), '1 1 fine' ],
	large_escaped =>
	  [ object('large-escaped', 'DESCRIPTION:' . '&' x ($mega * 1.5)), '1 1 fine' ],
	larger => [ object('larger', 'DESCRIPTION:' . 'x' x (9 * $mega)), '1 0 object_too_large' ],

	# bytes that are none of this encoding
	latin => [ object("latin-\xe9"), '1 0 answer_unreadable' ],
	split => [ object("split-\xc3\r\n \xa9"), '1 0 answer_unreadable' ],
	nul => [ object("nul-\0"), '1 0 answer_unreadable' ],
	latin_said =>
	  [ object("said-\xe9"), '1 1 fine', '<?xml version="1.0" encoding="ISO-8859-1"?>' ],
	sixteen =>
	  [ object('sixteen'), '1 0 answer_unreadable', '<?xml version="1.0" encoding="UTF-16"?>' ],

	# XML that was meant to do harm
	bomb => [
		object('bomb', 'SUMMARY:&a12;'),
		'1 0 answer_unreadable', "<?xml version=\"1.0\"?>$entities"
	],
	outside => [
		object('outside', 'SUMMARY:&a12;'),
		'1 0 answer_unreadable', "<?xml version=\"1.0\"?>$fetched"
	],

	# what is no object, or at no time
	empty => [ '', "1 0 $no_object" ],
	cut => [ substr(object('cut', 'RRULE:FREQ=DAILY'), 0, -20), "1 0 $no_object" ],
	junk => [ join('', map { chr(33 + $_ * 7919 % 90) } 1 .. 100_000), "1 0 $no_object" ],
	far => [ object('far', 'DTSTART:99991231T235959Z', 'DURATION:P9999999W'), '1 1 fine' ],
	negative => [
		object('negative', 'DTSTART:20300501T100000Z', 'DTEND:19000501T100000Z'),
		'1 1 the event ends before it begins'
	]);

# The same of responses whose server escapes nothing, and adds something.
my %responses = (
	deep => [ object('deep'), '1 0 answer_unreadable', '<x>' x 100_000 . '</x>' x 100_000 ],
	attributes =>
	  [ object('attributes'), '1 1 fine', '<x ' . join(' ', map { "a$_=\"1\"" } 1 .. 100_000) . '/>' ],
	long_name => [ object('long-name'), '1 0 answer_unreadable', '<' . 'x' x $mega . '/>' ],
	elements => [ object('elements'), '1 1 fine', '<x/>' x 100_000 ],
	nul_said => [ object('nul&#0;'), '1 0 answer_unreadable' ],
	surrogate => [ object('surrogate&#xD800;'), '1 0 answer_unreadable' ],
	unknown_entity => [ object('unknown&a12;'), '1 0 answer_unreadable' ]);

# Listings, and the problem that the calendar has then, '' for none.
my %listings = (
	list_bomb => [ listing("<?xml version=\"1.0\"?>$entities", member('/list_bomb/&a12;')), 'answer_unreadable' ],
	list_deep => [ listing(undef, '<x>' x 100_000), 'answer_unreadable' ],
	list_nul => [ listing(undef, member("/list_nul/\0.ics")), 'answer_unreadable' ],
	list_latin => [ listing(undef, member("/list_latin/\xe9.ics")), 'answer_unreadable' ],
	list_cut => [ substr(listing(undef, member('/list_cut/a.ics') x 1000), 0, -100), 'answer_unreadable' ],
	list_name => [ listing(undef, member('/list_name/' . 'x' x (9 * $mega) . '.ics')), '' ],
	list_names => [ listing(undef, member('/list_names/' . 'x' x 2000) x 20_000), '' ],
	list_same => [ listing(undef, member('/list_same/gone.ics') x 50_000), '' ],
	list_etag => [ listing(undef, member('/list_etag/a.ics', 'x' x (9 * $mega))), '' ],
	list_hrefs => [
		listing(undef, '<D:response>' . '<D:href>/list_hrefs/a.ics</D:href>' x 100_000
			  . '<D:status>HTTP/1.1 200 OK</D:status></D:response>'),
		'listing_too_large'
	],
	list_token => [ listing(undef, '', 't' x (9 * $mega)), 'answer_too_large' ],
	list_attribute => [ listing(undef, '<x a="' . 'x' x (9 * $mega) . '"/>'), '' ],
	list_comment => [ listing(undef, '<!--' . 'x' x (9 * $mega) . '-->'), '' ],
	list_huge => [ listing(undef, '<x/>' x (20 * $mega)), '' ],
	list_junk => [ join('', map { chr(33 + $_ * 7919 % 90) } 1 .. 100_000), 'answer_unreadable' ],
	list_none => [ '', 'answer_unreadable' ]);

foreach my $name (keys %shapes)
{
	my ($data, undef, $head) = @{ $shapes{$name} };

	put('shapes', "$name.ics", $data);
	put('shapes', "$name.head", $head) if defined $head;
}
put('shapes', "$_.xml", response($_, @{ $responses{$_} }[ 0, 2 ])) foreach keys %responses;
put('shapes', "good$_.ics", object("good-$_")) foreach 1 .. $good;
put($_, '_listing', $listings{$_}[0]) foreach keys %listings;
put("large$_", 'a.ics', $shapes{ $_ % 2 ? 'large' : 'large_lines' }[0]) foreach 1 .. 3;
put("gone$_", '_listing', listing(undef, join('', map { gone("/gone$_/" . 'x' x 150 . $_) } 1 .. $gone)))
  foreach 1 .. 4;

$session->query($_) foreach (
	"SELECT booking_account_put('t', 'a', 'caldav', 'http://127.0.0.1:" . $stub->port . "/')",
	"SELECT booking_credential_put('t', 'a', '{\"type\": \"basic\", \"username\": \"u\", \"password\": \"p\"}')",
	"SELECT booking_resource_put('t', 'room')");
wait_until('the worker waits', sub { worker_status($session) eq 'idle' });
$pid = worker_pid($session);
my $idle = memory();


# Assert that all is well with the worker.
sub survives
{
	my ($what) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my $grown = memory() - $idle;

	is(worker_pid($session), $pid, "$what: one worker");
	cmp_ok($grown, '<', $bound_kb, "$what: its memory");
	figure("memory above idle, $what, kB", $grown);
	return;
}

#
# Objects
#
my $begin = time();

is(sync('shapes')->{problem}, undef, 'a calendar of bad objects is read');
figure('seconds for it', sprintf('%.1f', time() - $begin));
is(known("/shapes/$_.ics"), $shapes{$_}[1], $_) foreach sort keys %shapes;
is(known("/shapes/$_.xml"), $responses{$_}[1], $_) foreach sort keys %responses;
is($session->query(<<'EOQ'), $good, 'what is good among them is right');
SELECT count(*) FROM booking.event
 WHERE object = '/shapes/' || replace(uid, '-', '') || '.ics' AND uid LIKE 'good-%'
   AND during = '[2030-05-01 10:00+00, 2030-05-01 11:00+00)' AND busy AND problem IS NULL
EOQ
is($session->query(<<'EOQ'), 500, 'a fixed number of attendees is kept');
SELECT jsonb_array_length(attendees) FROM booking.event WHERE object = '/shapes/people.ics'
EOQ
is($session->query(<<'EOQ'), 20, 'and fewer of each of very many occurrences');
SELECT DISTINCT jsonb_array_length(attendees) FROM booking.event
 WHERE object = '/shapes/secondly_people.ics' AND attendees IS NOT NULL
EOQ
is($session->query(<<'EOQ'), "said-\xc3\xa9", 'an encoding that is said is understood');
SELECT uid FROM booking.event WHERE object = '/shapes/latin_said.ics'
EOQ
survives('bad objects');

#
# Objects of a few bytes with very many occurrences
#
put('dense', "$_.ics", object("dense-$_", 'RRULE:FREQ=SECONDLY')) foreach 1 .. $dense;
$begin = time();
is(sync('dense')->{problem}, undef, 'a calendar of very many occurrences is read');
figure("seconds for $dense of 10,000", sprintf('%.1f', time() - $begin));
is(known("/dense/$_.ics"), $shapes{secondly}[1], "series $_") foreach 1 .. 3, $dense;
is($session->query(<<'EOQ'), $dense * 10_000, 'nothing of it lacks');
SELECT count(*) FROM booking.event WHERE object LIKE '/dense/%'
EOQ
cmp_ok($session->query(<<'EOQ'), '<=', 30_000, 'a transaction stores some of it only');
SELECT max(n) FROM (SELECT count(*) AS n FROM booking.event
 WHERE object LIKE '/dense/%' GROUP BY xmin::text) t
EOQ
survives('very many occurrences');

#
# Objects of a few bytes that take long: a series of every day, moved by two thousand
# years from its second day on, so that what is in the window was one long behind it
#
put('slow', "$_.ics", objects(
	object("slow-$_", 'DTSTART;TZID=Europe/Berlin:20240330T090000', 'RRULE:FREQ=DAILY'),
	object("slow-$_", 'RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20240331T090000',
		'DTSTART;TZID=Europe/Berlin:00240331T090000'))) foreach 1 .. $slow;
$begin = time();
is(sync('slow')->{problem}, undef, 'a calendar of objects that take long is read');
figure("seconds for $slow that take long", sprintf('%.1f', time() - $begin));
cmp_ok($session->query(<<'EOQ'), '>', 1, 'a transaction does some of it only');
SELECT count(DISTINCT xmin::text) FROM booking.event WHERE object LIKE '/slow/%'
EOQ
is($session->query(<<'EOQ'), $slow, 'nothing of it lacks');
SELECT count(DISTINCT object) FROM booking.event WHERE object LIKE '/slow/%'
EOQ
survives('objects that take long');

#
# Listings
#
foreach my $name (sort keys %listings)
{
	is(sync($name)->{problem} // '', $listings{$name}[1], $name);
}
sync('shapes');
is(cursor('shapes', 'failures'), 0, 'another calendar of the account is read meanwhile');
survives('bad listings');

#
# Large calendars
#
sub is_whole
{
	my ($count) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;

	return is($session->query(<<"EOQ"), $count, "$count events are right");
WITH e AS (
	SELECT *, substr(object, length('/$count/e') + 1, length(object) - length('/$count/e.ics'))::integer AS n
	  FROM booking.event WHERE object LIKE '/$count/%'),
t AS (
	SELECT *, CASE WHEN n % 4 = 0 AND n / 4 % 24 <> 2 THEN 'Europe/Berlin' ELSE 'UTC' END AS written,
		('2030-05-09 00:00+00'::timestamptz + n * interval '15 minutes') AT TIME ZONE 'UTC' AS local
	  FROM e)
SELECT count(DISTINCT n) FROM t
 WHERE lower(during) = local AT TIME ZONE written
   AND upper(during) - lower(during) = interval '15 minutes'
   AND uid = 'e' || n || '\@stub.example' AND etag = format('"e%s-%s"', n, sequence)
   AND busy AND problem IS NULL AND jsonb_array_length(attendees) = 2
EOQ
}

$begin = time();
sync($large);
figure("seconds for $large events", sprintf('%.1f', time() - $begin));
is_whole($large);
survives("$large events");
$stub->ask("change/$large/10");
sync($large);
is_whole($large);
is($session->query("SELECT count(*) FROM booking.event WHERE object LIKE '/$large/%' AND sequence = 1"),
	10, 'those that changed are known anew');
survives("$large events, ten changed");

is(sync(1_000_000)->{problem}, 'listing_too_large', 'a million are refused');
survives('a million events');

#
# Listings at once, each as large as one may be: one at a time is
#
my @million = map { 1_000_000 + $_ } 1 .. 4;

attach($_) foreach @million;
wait_until(
	'they are refused',
	sub {
		$session->query("SELECT count(*) FROM booking.cursor WHERE failures > 0 AND calendar_id IN"
			  . " (SELECT calendar_id FROM booking.calendar WHERE calendar IN ('" . join("', '", @million) . "'))") == 4;
	});
survives('four of a million events at once');
$session->query("SELECT booking_calendar_remove('t', '$_')") foreach 1_000_000, @million;
attach("gone$_") foreach 1 .. 4;
wait_until(
	'they are read',
	sub { $session->query("SELECT count(*) FROM booking.cursor WHERE watermark > 0 AND calendar_id IN"
			  . " (SELECT calendar_id FROM booking.calendar WHERE calendar LIKE 'gone%')") == 4; });
is($session->query("SELECT count(*) FROM booking.cursor k JOIN booking.calendar c USING (calendar_id)"
		  . " WHERE c.calendar LIKE 'gone%' AND k.failures = 0 AND k.problem IS NULL"), 4,
	'large listings wait for each other, and that is no failure');
survives("four listings of $gone at once");

#
# All at once: they are in hand together, but for large answers
#
attach($_) foreach 'large1', 'large2', 'large3', $large + 1;
wait_until(
	'they are read',
	sub {
		$session->query("SELECT count(*) FROM booking.cursor WHERE watermark > 0 AND calendar_id IN"
			  . " (SELECT calendar_id FROM booking.calendar WHERE calendar IN ('large1', 'large2', 'large3', '"
			  . ($large + 1) . "'))") == 4;
	});
is_whole($large + 1);
is(known("/large$_/a.ics"), '1 1 fine', "large object $_") foreach 1 .. 3;
survives('four at once');
is_clean($session, 'at the end');

$session->quit;
$node->stop('fast');
$stub->stop;

done_testing();
