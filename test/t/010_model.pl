# test/t/010_model.pl
#
# Whatever the order of calls, every answer is the one that the state table and
# a count of what is occupied give: random operations against an independent
# model (lib/Booking/Model.pm).  Dispositions, states, receipts, versions and
# the units held must be equal after every call, and booking_check() empty.
#
# Proves R2 and R3 (proposals, holds), R5 (every entry path meets the same
# limit), R7, R10 and R24 (capacity and buffers at every instant), R11
# (override), R25 (capacity lowered), R40 (equal and unequal payloads).

use strict;
use warnings FATAL => 'all';

use FindBin;
use lib "$FindBin::RealBin/lib";

use Booking;
use Booking::Model;
use Booking::ModelSql;
use List::Util qw(uniq);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $operations = size(2000, 20000);
my $seed = seed(20300107);

my $node = booking_node('main');

# Several sessions take turns, so that what one of them remembers of inventory
# and permissions is out of date now and then, and every isolation level gives
# the same answers.
my @sessions = map { open_session($_) } 0 .. 2;
my $session = $sessions[0];
$session->query('CREATE EXTENSION booking CASCADE');

my $model = Booking::Model->new;
my %seen;    # receipts, by the key of their intent
my %count;   # answers, by function and disposition
my @done;    # calls that may be repeated
my @pending; # statements that wait for the next batch
my $number = 0;
my $names = 0;
my $failed = 0; # batches that differed

# ----------------------------------------------------------------------------
# The world: 3 tenants, 5 principals, 8 resources
# ----------------------------------------------------------------------------

my @principals = qw(ada bob cyd dan eve);
my %inventory = (
	acme => {
		room => { capacity => 1 },
		desk => { capacity => 2, before => 10, after => 5 },
		class => { capacity => 3 },
		tour => { capacity => 4, slots => 1 },
	},
	blue => {
		room => { capacity => 1, after => 15 },
		hall => { capacity => 2, slots => 1 },
	},
	cobalt => {
		van => { capacity => 1 },
		boat => { capacity => 4, before => 30 },
	});

sub pick
{
	return $_[ int(rand(@_)) ];
}

sub chance
{
	my ($percent) = @_;
	return rand(100) < $percent;
}

# ----------------------------------------------------------------------------
# Running calls on both sides
# ----------------------------------------------------------------------------

sub yes
{
	my ($value) = @_;
	return $value ? 't' : 'f';
}

# The row that an answer of the model stands for; the receipt is a key yet.
sub expected_row
{
	my ($function, $answer) = @_;

	if ($function eq 'propose')
	{
		return [
			$answer->{disposition}, $answer->{version},
			$answer->{state},
			defined $answer->{expires} ? yes($answer->{expires}) : '*',
			yes($answer->{replayed})
		];
	}
	return [
		$answer->{disposition}, $answer->{state},
		defined $answer->{state} ? ('not_required', 'none') : (undef, undef),
		$answer->{receipt}, yes($answer->{replayed})
	];
}

# Make a call: the model answers at once, the database with its batch.
sub run
{
	my ($call) = @_;
	my %payload = %{ $call->{payload} // {} };
	my ($function, $identity) = @{$call}{qw(function identity)};
	my $answer =
		$function eq 'claim' ? $model->claim($identity, \%payload)
	  : $function eq 'override' ? $model->override($identity, \%payload)
	  : $function eq 'cancel' ? $model->cancel($identity)
	  : $function eq 'cancel_exact' ? $model->cancel_exact($identity, \%payload)
	  : $function eq 'status' ? $model->status($identity)
	  : $function eq 'approve'
	  ? $model->approve($call->{approver}, $identity, $call->{version})
	  : $function eq 'reject'
	  ? $model->reject($call->{approver}, $identity, $call->{version})
	  : $model->propose($identity, \%payload, @{$call}{qw(hold after)});

	push @done, $call;
	$count{$function}{ $answer->{disposition} }++;
	push @pending,
	  {
		number => $number,
		sql => to_sql($call, chance(20) ? $number : undef),
		rows => [ expected_row($function, $answer) ]
	  };
	return;
}

# An administrative call, whose one value or SQLSTATE the model gives.
sub administer
{
	my ($function, $answer, @arguments) = @_;

	$count{$function}{ $answer->{sqlstate} // 'done' }++;
	push @pending,
	  {
		number => $number,
		sql => "SELECT booking_$function(" . join(', ', @arguments) . ')',
		rows => [ [ $answer->{version} // '' ] ],
		sqlstate => $answer->{sqlstate}
	  };
	return;
}

# A page of the principal's intents.
sub list
{
	my ($tenant, $principal) = @_;
	my %filter = (
		within => chance(50) ? [ interval() ] : undef,
		state => chance(40)
		? pick(qw(committed canceled conflict proposed needs_proposal))
		: undef,
		after => chance(40) ? 'intent-' . int(rand($names + 1)) : undef,
		max => chance(50) ? 1 + int(rand(8)) : 1000);
	my @page = $model->list($tenant, $principal, %filter);
	my $denied = @page && !defined $page[0];

	$count{list}{ $denied ? '42501' : 'done' }++;
	push @pending,
	  {
		number => $number,
		sql => 'SELECT disposition, state, remote, event, receipt, replayed, intent FROM booking_list('
		  . join(', ',
			sql_literal($tenant), sql_literal($principal),
			$filter{within} ? range(@{ $filter{within} }) : 'NULL',
			sql_literal($filter{state}), sql_literal($filter{after}), $filter{max})
		  . ')',
		rows => [ map { [ @{ expected_row('list', $_) }, $_->{name} ] } grep { defined } @page ],
		sqlstate => $denied ? '42501' : undef
	  };
	return;
}

# Free windows of one or more resources.
sub free
{
	my ($tenant, $principal) = @_;
	my @all = sort keys %{ $inventory{$tenant} };
	my @chosen = chance(60) ? pick(@all) : uniq(map { pick(@all) } 1 .. 3);
	my ($start) = interval();
	my $end = $start + 60 * (1 + int(rand(24)));
	my $units = pick(1, 1, 2, 3, 5);
	my $duration = pick(1, 15, 60, 90);
	my $step = chance(30) ? pick(15, 40) : undef;
	my $windows =
	  $model->free($tenant, $principal, \@chosen, $start, $end, $units);
	my @expected = grep { $_->[1] - $_->[0] >= $duration } @{ $windows // [] };

	# Each start on the grid that begins where the window asked for does.
	@expected = map {
		my ($from, $to) = @$_;
		map { [ $_, $_ + $duration ] }
		  grep { ($_ - $start) % $step == 0 } $from .. $to - $duration
	  } @expected
	  if $step;

	$count{free}{ $windows ? 'done' : '42501' }++;
	push @pending,
	  {
		number => $number,
		sql => "SELECT (extract(epoch FROM lower(w)) - @{[epoch()]})::int / 60, (extract(epoch FROM upper(w)) - @{[epoch()]})::int / 60 FROM booking_free("
		  . join(', ',
			sql_literal($tenant), sql_literal($principal),
			array('text', map { sql_literal($_) } @chosen),
			range($start, $end), "'$duration minutes'",
			$step ? "'$step minutes'" : 'NULL', $units)
		  . ') w ORDER BY 1',
		rows => \@expected,
		sqlstate => $windows ? undef : '42501'
	  };
	return;
}

sub to_text
{
	return join("\n            ",
		map { join(' | ', map { $_ // 'NULL' } @$_) } @_);
}

sub open_session
{
	my ($i) = @_;
	my $level = ('read committed', 'repeatable read', 'serializable')[$i];

	return session($node, options => { default_transaction_isolation => $level });
}

# The clock is a setting of each session.
sub set_clocks
{
	$_->query('SET booking.clock_offset = ' . 60 * $model->{now}) foreach @sessions;
	return;
}

# Send what is pending to one of the sessions and compare; false if anything
# differs.
sub flush
{
	my @calls = splice(@pending);
	return 1 unless @calls;
	my $session = pick(@sessions);
	my @results = $session->batch(map { $_->{sql} } @calls);
	my @differ;

	foreach my $call (@calls)
	{
		my $result = shift @results;
		next if $call->{ignored};
		my @got = @{ $result->{rows} };
		my @rows = map { [@$_] } @{ $call->{rows} };

		# What the model leaves open is as it comes.
		foreach my $i (0 .. $#rows)
		{
			$rows[$i][$_] = $got[$i][$_]
			  foreach grep { ($rows[$i][$_] // '') eq '*' } 0 .. $#{ $rows[$i] };
		}

		# A receipt is random: the first one is remembered, later ones must be
		# the same.
		foreach my $i (0 .. $#rows)
		{
			next if @{ $rows[$i] } < 6 || !defined $rows[$i][4];
			my $key = $rows[$i][4];
			my $receipt = $got[$i][4] // '';

			$seen{$key} //= $receipt if $receipt =~ /^local:/;
			$rows[$i][4] = $seen{$key} // 'a receipt';
		}

		my $is = $result->{error} ? $result->{error}{sqlstate} : to_text(@got);
		my $should = $call->{sqlstate} // to_text(@rows);
		next if $is eq $should;
		push @differ,
		  "operation $call->{number}: $call->{sql}\n  got:      $is\n  expected: $should"
		  . ($result->{error} ? "\n  $result->{error}{text}" : '');
	}
	ok(!@differ,
		"operations $calls[0]{number} to $calls[-1]{number} answer as the model"
	) or diag("BOOKING_SEED=$seed\n" . join("\n", @differ[ 0 .. ($#differ > 4 ? 4 : $#differ) ]));
	return !@differ;
}

# ----------------------------------------------------------------------------
# Comparing what is stored
# ----------------------------------------------------------------------------

sub stored_rows
{
	my $sql = qq{
		SELECT i.tenant || '/' || i.principal || '/' || i.intent, i.state,
			   i.version, i.receipt, i.supersedes, i.successor,
			   coalesce((SELECT string_agg(x, ' ' ORDER BY x)
				  FROM (SELECT format('%s@%s-%s%sx%s', s.resource,
							   (extract(epoch FROM lower(r.occupied)) - @{[epoch()]})::int / 60,
							   (extract(epoch FROM upper(r.occupied)) - @{[epoch()]})::int / 60,
							   CASE WHEN r.override THEN '!' ELSE '' END, count(*)) AS x
						  FROM booking.reservation r
						  JOIN booking.resource s USING (resource_id)
						 WHERE r.intent_id = i.intent_id
						   AND (r.hold_until IS NULL
								OR r.hold_until > clock_timestamp() + interval '$model->{now} minutes')
						 GROUP BY s.resource, r.occupied, r.override) q), '')
		  FROM booking.intent i};

	return map { join(' | ', map { $_ // '-' } @$_) }
	  @{ $session->try($sql)->{rows} };
}

sub model_rows
{
	return map {
		my $intent = $_;
		join(' | ',
			$intent->{key},
			$intent->{state},
			$intent->{version},
			$intent->{receipt} ? $seen{ $intent->{key} } // 'a receipt' : '-',
			($intent->{payload} // {})->{supersedes} // '-',
			$intent->{successor} // '-',
			join(' ',
				sort map {
					sprintf('%s@%d-%d%sx%d',
						@{$_}{qw(resource start end)},
						$_->{override} ? '!' : '',
						$_->{units})
				} grep { $model->lives($_) } @{ $intent->{rows} }))
	} values %{ $model->{intent} };
}

# Everything on record, and the rules between the relations.
sub compare_all
{
	my ($when) = @_;
	my @stored = sort(stored_rows());
	my @modelled = sort(model_rows());
	my %stored = map { $_ => 1 } @stored;
	my %modelled = map { $_ => 1 } @modelled;

	ok("@stored" eq "@modelled", "$when: the same intents and units are on record")
	  or diag(join("\n",
			"BOOKING_SEED=$seed, stored and not in the model:",
			(grep { !$modelled{$_} } @stored),
			'in the model and not stored:',
			(grep { !$stored{$_} } @modelled)));
	is_clean($session, $when);
	return;
}

# ----------------------------------------------------------------------------
# Choosing operations
# ----------------------------------------------------------------------------

# The calendar moves on, so that there is always room somewhere.
sub interval
{
	my $start = 360 * int($number / 100) + 15 * int(rand(96));
	$start += 1 + int(rand(14)) if chance(10);
	return ($start, $start + 15 * (1 + int(rand(12))));
}

sub random_identity
{
	my $tenant = pick(sort keys %inventory);
	my $principal = pick(@principals);

	if (@done && chance(15))
	{
		my $identity = pick(@done)->{identity};
		return [@$identity] if chance(70);
		return [ $tenant, $principal, $identity->[2] ];
	}
	$names++;
	return [ $tenant, $principal, "intent-$names" ];
}

# A version that is demanded: the present one, or now and then another.
sub random_version
{
	my ($version) = @_;
	return chance(12) ? pick($version + 1, $version + 7) : $version;
}

sub random_payload
{
	my ($identity) = @_;
	my $tenant = $identity->[0];
	my @all = sort keys %{ $inventory{$tenant} };
	my ($start, $end) = interval();
	my $payload = {
		start => $start,
		end => $end,
		units => pick(1, 1, 1, 1, 2, 2, 3, chance(20) ? 6 : 1),
		terms => int(rand(term_count())),
	};
	my @slotted = grep { $inventory{$tenant}{$_}{slots} } @all;

	if (@slotted && chance(15))
	{
		my $name = pick(@slotted);
		my $slots = $model->resource($tenant, $name)->{slot};
		my $label = chance(5) ? 'missing' : pick(sort keys %$slots);

		delete @{$payload}{qw(start end)};
		$payload->{resources} = [$name];
		$payload->{slot} = $label;
		$payload->{versions} =
		  [ random_version($slots->{$label} ? $slots->{$label}{version} : 1) ];
		return $payload;
	}

	$payload->{resources} =
	  chance(15) ? [ uniq(map { pick(@all) } 1 .. 3) ] : [ pick(@all) ];
	$payload->{versions} = [
		map { random_version($model->resource($tenant, $_)->{version}) }
		  @{ $payload->{resources} }
	] if chance(40);

	# Now and then a resource that nobody has.
	$payload->{resources}[0] = 'nowhere' if chance(1);
	return $payload;
}

# The name of another intent of the same principal, or one that is not there.
sub random_predecessor
{
	my ($identity) = @_;
	my @mine = grep {
			 $_->{identity}[0] eq $identity->[0]
		  && $_->{identity}[1] eq $identity->[1]
		  && $_->{identity}[2] ne $identity->[2]
	} @done[ -(@done > 400 ? 400 : @done) .. -1 ];

	return 'nobody' if !@mine || chance(4);
	return pick(@mine)->{identity}[2];
}

# An earlier identity, of recent calls mostly.
sub earlier
{
	my @calls = @_;
	return chance(70) ? pick(@calls[ -(@calls > 150 ? 150 : @calls) .. -1 ]) : pick(@calls);
}

sub random_call
{
	my ($function) = @_;
	my $identity = random_identity();
	my $payload = random_payload($identity);

	if ($function eq 'override')
	{
		# It takes one resource, an interval and neither version nor predecessor.
		$payload = random_payload($identity)
		  while defined $payload->{slot} || @{ $payload->{resources} } > 1;
		delete $payload->{versions};
	}
	elsif ($function ne 'cancel_exact')
	{
		$payload->{supersedes} = random_predecessor($identity)
		  if chance($function eq 'claim' ? 12 : 5);
	}
	return {
		function => $function,
		identity => $identity,
		payload => $payload,
		hold => $function eq 'propose' && chance(60) ? pick(60, 180, 300) : undef,
		after => $function eq 'propose' && chance(8) ? pick(0, 1, 2) : undef,
	};
}

# The same intent with one value changed.
sub changed
{
	my ($call) = @_;
	my %payload = %{ $call->{payload} };
	my $field = pick(qw(units terms time supersedes versions));

	if ($field eq 'units') { $payload{units}++; }
	elsif ($field eq 'terms')
	{
		$payload{terms} = ($payload{terms} + 1) % term_count();
	}
	elsif ($field eq 'time' && !defined $payload{slot})
	{
		$payload{end} += 15;
	}
	elsif ($field eq 'supersedes')
	{
		$payload{supersedes} = random_predecessor($call->{identity});
	}
	elsif (my $versions = $payload{versions})
	{
		$payload{versions} = [ map { $_ + 1 } @$versions ];
	}
	return { %$call, payload => \%payload };
}

sub is_proposed
{
	my ($call) = @_;
	my $intent = $model->find(@{ $call->{identity} });
	return $intent && $intent->{state} eq 'proposed';
}

sub random_intent_call
{
	my ($function) = @_;
	my @calls = @done[ -(@done > 400 ? 400 : @done) .. -1 ];

	# Decisions are mostly about what waits for one.
	@calls = grep { is_proposed($_) } @calls
	  if $function =~ /^(?:approve|reject)$/ && chance(75);
	my $call = earlier(@calls ? @calls : @done);
	my $intent = $model->find(@{ $call->{identity} });
	my $version = $intent ? $intent->{version} : 1;

	$version = pick(1, $version, $version + 1) if chance(15);
	return {
		function => $function,
		identity => $call->{identity},
		approver => pick(@principals),
		version => $version || 1,
	};
}

my @with_payload = ([ claim => 26 ], [ propose => 11 ], [ cancel_exact => 2 ],
	[ override => 2 ]);
my @with_intent = ([ cancel => 12 ], [ approve => 9 ], [ reject => 2 ],
	[ status => 6 ]);

sub weighted
{
	my ($dice, @choices) = @_;

	foreach my $choice (@choices)
	{
		return $choice->[0] if ($$dice -= $choice->[1]) < 0;
	}
	return undef;
}

sub operate
{
	my $dice = rand(100);
	my $function;

	return run(random_call($function))
	  if $function = weighted(\$dice, @with_payload);
	return run(random_intent_call($function))
	  if @done && ($function = weighted(\$dice, @with_intent));
	return run(earlier(@done)) if @done && ($dice -= 10) < 0;
	if (($dice -= 4) < 0)
	{
		my @calls = grep { $_->{payload} && $_->{function} ne 'override' } @done;
		return run(changed(earlier(@calls))) if @calls;
	}

	my $tenant = pick(sort keys %inventory);
	my $name = pick(sort keys %{ $inventory{$tenant} });
	my $principal = pick(@principals);

	if (($dice -= 5) < 0)
	{
		my $allowed = chance(80) ? 1 : 0;
		$name = undef if chance(30);
		return administer(
			defined $name ? 'permit' : 'permit_all',
			$model->permit($tenant, $principal, $name, $allowed),
			map({ sql_literal($_) } $tenant, $principal, $name // ()),
			$allowed ? 'true' : 'false');
	}
	if (($dice -= 3) < 0)
	{
		my %new = (
			capacity => chance(70) ? 1 + int(rand(4)) : undef,
			before => chance(20) ? pick(0, 10, 30) : undef,
			after => chance(20) ? pick(0, 5, 15) : undef);
		return administer(
			'resource_put',
			$model->resource_put($tenant, $name, %new),
			sql_literal($tenant),
			sql_literal($name),
			$new{capacity} // 'NULL',
			'NULL',
			map { defined $new{$_} ? "'$new{$_} minutes'" : 'NULL' }
			  qw(before after));
	}
	if (($dice -= 2.5) < 0)
	{
		($tenant, $name) = @{ pick([ 'acme', 'tour' ], [ 'blue', 'hall' ]) };
		return slot($tenant, $name, pick(qw(morning noon evening)));
	}
	return list($tenant, $principal) if ($dice -= 2) < 0;
	return free($tenant, $principal) if ($dice -= 2) < 0;
	if (($dice -= 0.5) < 0)
	{
		my $on = $model->{four_eyes}{cobalt} ? 0 : 1;
		$model->{four_eyes}{cobalt} = $on;
		return administer('tenant_put', {}, "'cobalt'", $on ? 'true' : 'false');
	}
	if (($dice -= 0.6) < 0)
	{
		# Two hours later; holds last an odd number of hours.
		$failed += !flush();
		$model->{now} += 120;
		set_clocks();
		$count{clock}{moved}++;
		return;
	}
	return roll_back($tenant, $name, $principal) if @done && ($dice -= 1) < 0;

	# Another session goes on where one stopped.
	$failed += !flush();
	my $i = int(rand(@sessions));
	$sessions[$i]->quit;
	$sessions[$i] = open_session($i);
	$session = $sessions[0];
	set_clocks();
	$count{reconnect}{done}++;
	return;
}

# Changes and a call that are rolled back: nothing of them may be remembered.
sub roll_back
{
	my ($tenant, $name, $principal) = @_;
	my ($tenant_text, $name_text, $principal_text) =
	  map { sql_literal($_) } $tenant, $name, $principal;
	my $allowed = pick('true', 'false');
	my @changes = (
		"booking_resource_put($tenant_text, $name_text, 4, NULL, '@{[ pick(1, 40) ]} minutes')",
		"booking_permit($tenant_text, $principal_text, $name_text, $allowed)",
		"booking_permit_all($tenant_text, $principal_text, $allowed)",
		"booking_slot_put('acme', 'tour', 'noon', @{[ range(interval()) ]})",
		"booking_tenant_put($tenant_text, $allowed)");

	push @pending,
	  {
		number => $number,
		ignored => 1,
		sql => join(
			";\n",
			'BEGIN',
			(map { "SELECT " . pick(@changes) } 1 .. 2),
			(map { to_sql(earlier(@done)) } 1 .. 2),
			'ROLLBACK')
	  };
	$count{'roll back'}{done}++;
	return;
}

sub slot
{
	my ($tenant, $name, $label) = @_;
	my @interval = interval();
	my $present = $model->resource($tenant, $name)->{slot}{$label};
	my $version;

	@interval = @{$present}{qw(start end)} if $present && chance(20);
	$version = ($present ? $present->{version} : 1) + int(rand(4)) - 1
	  if chance(40);
	$version = undef if defined $version && $version < 1;
	return administer(
		'slot_put',
		$model->slot_put($tenant, $name, $label, @interval, $version),
		map({ sql_literal($_) } $tenant, $name, $label),
		range(@interval),
		$version // 'NULL');
}

# ----------------------------------------------------------------------------
# The run
# ----------------------------------------------------------------------------

foreach my $tenant (sort keys %inventory)
{
	foreach my $name (sort keys %{ $inventory{$tenant} })
	{
		my $values = $inventory{$tenant}{$name};

		administer(
			'resource_put',
			$model->resource_put($tenant, $name, %$values),
			sql_literal($tenant),
			sql_literal($name),
			$values->{capacity},
			"'UTC'",
			map { "'" . ($values->{$_} // 0) . " minutes'" } qw(before after));
		next unless $values->{slots};
		slot($tenant, $name, $_) foreach qw(morning noon evening);
	}
	foreach my $principal (@principals)
	{
		administer('permit_all', $model->permit($tenant, $principal, undef, 1),
			sql_literal($tenant), sql_literal($principal));
	}
}

# A difference is followed by others, so a few say enough.
my $batch = 20;
while ($failed < 3 && $number < $operations)
{
	$number++;
	operate();
	if (@pending >= $batch || $number % 500 == 0)
	{
		$failed += !flush();
		$batch = 1 + int(rand(40));
	}
	compare_all("after $number operations") if $number % 500 == 0;
}
$failed += !flush();
is($number, $operations, 'all operations were made');
compare_all('at the end');

my @receipts = values %seen;
is(scalar(uniq(@receipts)), scalar(@receipts), 'no receipt was given twice');

figure('model operations', $number);
figure('model seed', $seed);
figure('model intents', scalar keys %{ $model->{intent} });
foreach my $function (sort keys %count)
{
	figure("model $function",
		join(', ',
			map { "$_ $count{$function}{$_}" } sort keys %{ $count{$function} }));
}

$_->quit foreach @sessions;
$node->stop;

done_testing();
