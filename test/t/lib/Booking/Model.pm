# test/t/lib/Booking/Model.pm
#
# The ledger once more, in Perl and as simple as it can be said: no locks, no
# lanes, no storage, and occupancy counted anew for every question.  It is
# written from the state table alone, so that the same mistake is unlikely to be
# made twice.
#
# Times are whole minutes after the start of the test's calendar, "now" is the
# shift of the clock that holds expire by, in minutes too.  A call returns what
# the function must answer: a hash of disposition, state, receipt (the key of
# the intent whose receipt it is) and replayed; a proposal has version and
# expires in place of the receipt.  An administrative call returns a hash of
# version, or of the SQLSTATE that refuses it.

package Booking::Model;

use strict;
use warnings FATAL => 'all';

use List::Util qw(all any);

use Booking::Inventory;

our @ISA = ('Booking::Inventory');

sub new
{
	my ($class) = @_;
	return bless {
		now => 0,
		resource => {},
		permission => {},
		four_eyes => {},
		intent => {}
	}, $class;
}

# ----------------------------------------------------------------------------
# Payloads
# ----------------------------------------------------------------------------

# The canonical text of the bound values: two payloads are equal if these are.
sub bound
{
	my ($payload, $without_supersedes) = @_;
	my @resources = @{ $payload->{resources} };
	my @versions = @{ $payload->{versions} // [] };
	my ($first, @rest) = map { "$resources[$_]@" . ($versions[$_] // '') } 0 .. $#resources;

	return join('|',
		$first,
		sort(@rest),
		$payload->{slot} // "$payload->{start}-$payload->{end}",
		$payload->{units},
		$payload->{terms},
		$without_supersedes ? () : $payload->{supersedes} // '');
}

# Fill in the interval of a slot; false if version or slot are not the present
# ones.
sub current
{
	my ($self, $tenant, $payload) = @_;

	if (defined $payload->{slot})
	{
		my $slot = $self->resource($tenant, $payload->{resources}[0])
		  ->{slot}{ $payload->{slot} };
		return 0 unless $slot;
		@{$payload}{qw(start end)} = @{$slot}{qw(start end)};
		return $slot->{version} == $payload->{versions}[0];
	}
	return 1 unless $payload->{versions};
	return all
	{
		$self->resource($tenant, $payload->{resources}[$_])->{version} ==
		  $payload->{versions}[$_]
	}
	0 .. $#{ $payload->{resources} };
}

# What a proposal was made from.
sub snapshot
{
	my ($self, $tenant, $payload) = @_;
	return join(',',
		map { $self->resource($tenant, $_)->{version} }
		  @{ $payload->{resources} });
}

# ----------------------------------------------------------------------------
# Answers
# ----------------------------------------------------------------------------

sub key
{
	return join('/', @_);
}

sub find
{
	my ($self, @identity) = @_;
	return $self->{intent}{ key(@identity) };
}

sub answer
{
	my ($disposition, $intent, $replayed) = @_;
	return {
		disposition => $disposition,
		state => $intent ? $intent->{state} : undef,
		receipt => $intent && $intent->{receipt} ? $intent->{key} : undef,
		version => $intent && $intent->{version} || undef,
		expires => $intent && $intent->{expires} ? 1 : 0,
		replayed => $replayed ? 1 : 0,
	};
}

# Answers that disclose no more than the state.
sub refusal
{
	my ($disposition, $intent) = @_;
	return { %{ answer($disposition, $intent, 0) }, receipt => undef };
}

# A refused proposal: of no version can it be asked when its hold ends.
sub unmade
{
	my ($disposition, $intent) = @_;
	return { %{ refusal($disposition, $intent) }, expires => undef };
}

# Versions of one intent share its receipt.
sub stale
{
	my ($intent) = @_;
	return answer('stale_proposal', $intent, 0);
}

sub held
{
	my ($self, $intent) = @_;
	return any { $self->lives($_) } @{ $intent->{rows} };
}

# What the same claim returns.
sub replay
{
	my ($self, $intent) = @_;
	my $state = $intent->{state};

	return answer(
		  $state eq 'committed' ? 'historical_retry'
		: $state eq 'conflict' ? $intent->{conflict}
		: $state eq 'proposed' ? ($self->held($intent) ? 'held' : 'proposed')
		: $state,
		$intent, 1);
}

# A claim of a known intent.
sub compare
{
	my ($self, $intent, $payload, $without_supersedes) = @_;

	return $self->replay($intent) if $intent->{version} == 0;

	my $bound = bound($payload, $without_supersedes || $intent->{unbound});
	return $self->replay($intent)
	  if $bound eq
	  bound($intent->{payload}, $without_supersedes || $intent->{unbound});
	return stale($intent)
	  if any { $bound eq bound($_, $without_supersedes) }
	@{ $intent->{older} };
	return refusal('intent_conflict', $intent);
}

# Permission for a call that names resources and an intent that may be known.
sub permitted
{
	my ($self, $tenant, $principal, $intent, @names) = @_;
	push @names, @{ $intent->{payload}{resources} }
	  if $intent && $intent->{payload};
	return @names
	  ? $self->allowed($tenant, $principal, @names)
	  : $self->allowed_something($tenant, $principal);
}

sub store
{
	my ($self, $identity, %values) = @_;
	my $intent = {
		key => key(@$identity),
		tenant => $identity->[0],
		principal => $identity->[1],
		name => $identity->[2],
		version => 1,
		older => [],
		rows => [],
		%values,
	};

	my $rows = $intent->{rows};
	$intent->{rows} = [];
	$self->hold($intent, @$rows);
	return $self->{intent}{ $intent->{key} } = $intent;
}

sub end
{
	my ($self, $intent, $successor) = @_;
	$intent->{state} = 'canceled';
	$self->hold($intent);
	$intent->{successor} = $successor if defined $successor;
	return;
}

# ----------------------------------------------------------------------------
# Calls
# ----------------------------------------------------------------------------

# The predecessor that a payload names: the intent, or the answer that refuses,
# which tells where the asking intent is, if it is known.
sub predecessor
{
	my ($self, $tenant, $principals, $payload, $intent) = @_;

	return (undef, undef) unless defined $payload->{supersedes};
	my $old = $self->find($tenant, $principals->[0], $payload->{supersedes});
	return (undef, refusal('unknown_intent', $intent)) unless $old;
	return (undef, refusal('denied'))
	  unless all { $self->permitted($tenant, $_, $old) } @$principals;
	return (undef, refusal('predecessor_unresolved', $intent))
	  if $old->{state} eq 'canceled';
	return ($old, undef);
}

sub claim
{
	my ($self, $identity, $payload) = @_;
	my ($tenant, $principal, $name) = @$identity;
	my $intent = $self->find(@$identity);

	return refusal('denied')
	  unless $self->permitted($tenant, $principal, $intent,
		@{ $payload->{resources} });
	return $self->compare($intent, $payload) if $intent;

	my ($old, $refusal) = $self->predecessor($tenant, [$principal], $payload);
	return $refusal if $refusal;

	my $four_eyes = $self->{four_eyes}{$tenant};
	my $conflict =
		!$self->current($tenant, $payload) ? 'inventory_conflict'
	  : !( $four_eyes
		? $self->may_ever_fit($tenant, $payload)
		: $self->fits($tenant, $payload, $old ? $old : ()))
	  ? 'resource_conflict'
	  : undef;
	if ($conflict)
	{
		$intent = $self->store(
			$identity,
			state => 'conflict',
			conflict => $conflict,
			payload => $payload);
		return answer($conflict, $intent, 0);
	}

	if ($four_eyes)
	{
		$intent = $self->store(
			$identity,
			state => 'proposed',
			payload => $payload,
			snapshot => $self->snapshot($tenant, $payload));
		return answer('proposed', $intent, 0);
	}

	$self->end($old, $name) if $old;
	$intent = $self->store(
		$identity,
		state => 'committed',
		receipt => 1,
		payload => $payload,
		rows => [ $self->wanted($tenant, $payload) ]);
	return answer('committed', $intent, 0);
}

# An override asks for no version and no room.
sub override
{
	my ($self, $identity, $payload) = @_;
	my ($tenant, $principal) = @$identity;
	my $intent = $self->find(@$identity);

	return refusal('denied')
	  unless $self->permitted($tenant, $principal, $intent,
		@{ $payload->{resources} });
	return $self->compare($intent, $payload) if $intent;

	$intent = $self->store(
		$identity,
		state => 'committed',
		receipt => 1,
		payload => $payload,
		rows => [ $self->wanted($tenant, $payload, override => 1) ]);
	return answer('committed', $intent, 0);
}

sub cancel
{
	my ($self, $identity) = @_;
	my ($tenant, $principal) = @$identity;
	my $intent = $self->find(@$identity);

	return refusal('denied')
	  unless $self->permitted($tenant, $principal, $intent);
	if (!$intent)
	{
		$intent =
		  $self->store($identity, state => 'canceled', version => 0);
		return answer('canceled', $intent, 0);
	}
	return $self->replay($intent) if $intent->{state} eq 'canceled';
	$self->end($intent);
	return answer('canceled', $intent, 0);
}

sub cancel_exact
{
	my ($self, $identity, $payload) = @_;
	my ($tenant, $principal) = @$identity;
	my $intent = $self->find(@$identity);

	return refusal('denied')
	  unless $self->permitted($tenant, $principal, $intent,
		@{ $payload->{resources} });
	if (!$intent)
	{
		$intent = $self->store(
			$identity,
			state => 'canceled',
			payload => { %$payload, supersedes => undef },
			unbound => 1);
		return answer('canceled', $intent, 0);
	}

	my $compared = $self->compare($intent, $payload, 1);
	return $compared
	  if $intent->{state} eq 'canceled'
	  || $compared->{disposition} =~ /^(?:stale_proposal|intent_conflict)$/;
	$self->end($intent);
	return answer('canceled', $intent, 0);
}

# Propose: hold is the length of the hold in minutes, after_version the version
# that the caller has seen.
sub propose
{
	my ($self, $identity, $payload, $hold, $after_version) = @_;
	my ($tenant, $principal) = @$identity;
	my $intent = $self->find(@$identity);

	return refusal('denied')
	  unless $self->permitted($tenant, $principal, $intent,
		@{ $payload->{resources} });

	if ($intent)
	{
		my $state = $intent->{state};
		my $known = $self->compare($intent, $payload);
		my $equal = $known->{replayed};

		return $self->replay($intent)
		  if $state eq 'conflict' || $state eq 'canceled';
		return $known if $state eq 'committed';

		# A version that follows the newest is new, one that follows the last
		# but one with equal values is a retry, and so are equal values alone.
		my $follows = ($after_version // -1) - $intent->{version};
		return $known
		  if $equal && (!defined $after_version || $follows == -1);
		return stale($intent) if defined $after_version && $follows != 0;
	}

	my ($old, $refusal) =
	  $self->predecessor($tenant, [$principal], $payload, $intent);
	return unmade('unknown_intent')
	  if !$intent
	  && $after_version
	  && !($refusal && $refusal->{disposition} eq 'denied');
	return { %$refusal, expires => undef } if $refusal;
	return unmade('inventory_conflict', $intent)
	  unless $self->current($tenant, $payload);
	return unmade('resource_conflict', $intent)
	  unless $self->may_ever_fit($tenant, $payload);
	return unmade('resource_conflict', $intent)
	  if $hold && !$self->fits($tenant, $payload, $intent ? $intent : ());

	$intent //= $self->store($identity, state => 'proposed', version => 0);
	push @{ $intent->{older} }, $intent->{payload} if $intent->{payload};
	$intent->{state} = 'proposed';
	$intent->{version}++;
	$intent->{payload} = $payload;
	$intent->{expires} = $hold ? 1 : 0;
	$intent->{snapshot} = $self->snapshot($tenant, $payload);
	$self->hold($intent,
		$hold
		? $self->wanted($tenant, $payload, until => $self->{now} + $hold)
		: ());
	return answer($hold ? 'held' : 'proposed', $intent, 0);
}

# What approve and reject answer for an intent that waits for no decision, or
# for another version.
sub undecidable
{
	my ($self, $intent, $version) = @_;
	my $state = $intent->{state};

	return $self->replay($intent)
	  if $state eq 'conflict' || $state eq 'canceled';
	return stale($intent) if $version != $intent->{version};
	return $self->replay($intent) if $state ne 'proposed';
	return undef;
}

sub approve
{
	my ($self, $approver, $identity, $version) = @_;
	my ($tenant, $principal, $name) = @$identity;
	my $intent = $self->find(@$identity);

	return refusal('denied')
	  unless all { $self->permitted($tenant, $_, $intent) } $principal,
	  $approver;
	return refusal('unknown_intent') unless $intent;
	my $refusal = $self->undecidable($intent, $version);
	return $refusal if $refusal;

	return refusal('denied')
	  if $self->{four_eyes}{$tenant} && $approver eq $principal;

	my $payload = $intent->{payload};
	my ($old, $unresolved) = $self->predecessor($tenant,
		[ $principal, $approver ], $payload, $intent);
	return $unresolved if $unresolved;

	if (!$self->current($tenant, $payload)
		|| $self->snapshot($tenant, $payload) ne $intent->{snapshot}
		|| !$self->fits($tenant, $payload, $intent, $old ? $old : ()))
	{
		$intent->{state} = 'needs_proposal';
		$self->hold($intent);
		return answer('needs_proposal', $intent, 0);
	}

	$self->end($old, $name) if $old;
	$intent->{state} = 'committed';
	$intent->{receipt} = 1;
	$self->hold($intent, $self->wanted($tenant, $payload));
	return answer('committed', $intent, 0);
}

# Rejecting needs no permission of the principal, whose hold may have to end.
sub reject
{
	my ($self, $approver, $identity, $version) = @_;
	my $intent = $self->find(@$identity);

	return refusal('denied')
	  unless $self->permitted($identity->[0], $approver, $intent);
	return refusal('unknown_intent') unless $intent;
	my $refusal = $self->undecidable($intent, $version);
	return $refusal if $refusal;

	$intent->{state} = 'needs_proposal';
	$self->hold($intent);
	return answer('needs_proposal', $intent, 0);
}

sub status
{
	my ($self, $identity) = @_;
	my ($tenant, $principal) = @$identity;
	my $intent = $self->find(@$identity);

	return refusal('denied')
	  unless $self->permitted($tenant, $principal, $intent);
	return $intent ? $self->replay($intent) : refusal('unknown_intent');
}

# A page of the intents that the principal may see, in the order of their
# names; undef if there is no permission at all.
sub list
{
	my ($self, $tenant, $principal, %filter) = @_;

	return undef unless $self->allowed_something($tenant, $principal);
	my @page = grep {
			 $self->permitted($tenant, $principal, $_)
		  && (!defined $filter{state} || $_->{state} eq $filter{state})
		  && (!defined $filter{after} || $_->{name} gt $filter{after})
		  && (!$filter{within} || meets($_->{payload}, @{ $filter{within} }))
	  }
	  sort { $a->{name} cmp $b->{name} }
	  grep { $_->{tenant} eq $tenant && $_->{principal} eq $principal }
	  values %{ $self->{intent} };
	splice(@page, $filter{max}) if @page > $filter{max};
	return map { { %{ $self->replay($_) }, name => $_->{name} } } @page;
}

sub meets
{
	my ($payload, $start, $end) = @_;
	return $payload
	  && defined $payload->{start}
	  && $payload->{start} < $end
	  && $start < $payload->{end};
}

1;
