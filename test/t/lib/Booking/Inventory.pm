# test/t/lib/Booking/Inventory.pm
#
# The lower half of the model: resources, slots, permissions, and what holds
# units when.  Occupancy is counted anew for every question, row by row and
# instant by instant, because that is the promise and nothing cleverer is needed
# here.  See Booking::Model for the upper half and the conventions.

package Booking::Inventory;

use strict;
use warnings FATAL => 'all';

use List::Util qw(all any sum0);

# ----------------------------------------------------------------------------
# Inventory and access
# ----------------------------------------------------------------------------

sub resource
{
	my ($self, $tenant, $name) = @_;
	return $self->{resource}{$tenant}{$name};
}

# Create or change a resource.  Lowering the capacity below what is in use at
# some instant is refused; overrides exceed it on purpose and are no obstacle.
sub resource_put
{
	my ($self, $tenant, $name, %new) = @_;
	my $resource = $self->{resource}{$tenant}{$name};

	if (!$resource)
	{
		$self->{resource}{$tenant}{$name} = {
			tenant => $tenant,
			name => $name,
			capacity => $new{capacity} // 1,
			before => $new{before} // 0,
			after => $new{after} // 0,
			version => 1,
			slot => {},
		};
		return { version => 1 };
	}

	my $capacity = $new{capacity} // $resource->{capacity};
	if ($capacity < $resource->{capacity})
	{
		my @rows = grep { !$_->{override} } $self->rows($tenant, $name);
		return { sqlstate => '55000' }
		  if any { $self->usage_at($_->{start}, @rows) > $capacity } @rows;
	}

	my $changed = 0;
	foreach my $field (qw(capacity before after))
	{
		next if !defined $new{$field} || $new{$field} == $resource->{$field};
		$resource->{$field} = $new{$field};
		$changed = 1;
	}
	$resource->{version}++ if $changed;
	return { version => $resource->{version} };
}

sub slot_put
{
	my ($self, $tenant, $name, $label, $start, $end, $version) = @_;
	my $slots = $self->{resource}{$tenant}{$name}{slot};
	my $slot = $slots->{$label};

	if ($slot)
	{
		my $equal = $slot->{start} == $start && $slot->{end} == $end;

		return { version => $slot->{version} }
		  if $equal && (!defined $version || $version == $slot->{version});
		return { sqlstate => '55000' }
		  if defined $version && $version <= $slot->{version};
	}
	$slots->{$label} = {
		start => $start,
		end => $end,
		version => $version // ($slot ? $slot->{version} + 1 : 1),
	};
	return { version => $slots->{$label}{version} };
}

# A permission for one resource, or for all with an undefined name.
sub permit
{
	my ($self, $tenant, $principal, $name, $allowed) = @_;
	$self->{permission}{$tenant}{$principal}{ $name // '*' } = $allowed;
	return {};
}

# The row for one resource wins over the one for all.
sub allowed
{
	my ($self, $tenant, $principal, @names) = @_;
	my $rows = $self->{permission}{$tenant}{$principal} // {};

	return all
	{
		$self->{resource}{$tenant}{$_} && ($rows->{$_} // $rows->{'*'} // 0)
	}
	@names;
}

sub allowed_something
{
	my ($self, $tenant, $principal) = @_;
	return any { $_ } values %{ $self->{permission}{$tenant}{$principal} // {} };
}

# ----------------------------------------------------------------------------
# Capacity: a statement about every instant
# ----------------------------------------------------------------------------

# Give an intent its rows, in place of those it has.
sub hold
{
	my ($self, $intent, @rows) = @_;

	delete $self->{holder}{ $intent->{tenant} }{ $_->{resource} }{ $intent->{key} }
	  foreach @{ $intent->{rows} };
	$intent->{rows} = \@rows;
	$self->{holder}{ $intent->{tenant} }{ $_->{resource} }{ $intent->{key} } = $intent
	  foreach @rows;
	return;
}

# What holds units of a resource now: bookings and live holds.
sub rows
{
	my ($self, $tenant, $name, @except) = @_;
	my %except = map { $_->{key} => 1 } @except;

	return grep { $_->{resource} eq $name && $self->lives($_) }
	  map { @{ $_->{rows} } }
	  grep { !$except{ $_->{key} } }
	  values %{ $self->{holder}{$tenant}{$name} // {} };
}

sub lives
{
	my ($self, $row) = @_;
	return !defined $row->{until} || $row->{until} > $self->{now};
}

sub usage_at
{
	my ($self, $instant, @rows) = @_;
	return sum0 map { $_->{units} }
	  grep { $_->{start} <= $instant && $instant < $_->{end} } @rows;
}

# What a payload would occupy, buffers included.
sub wanted
{
	my ($self, $tenant, $payload, %more) = @_;
	return map {
		{
			%more,
			  resource => $_->{name},
			  start => $payload->{start} - $_->{before},
			  end => $payload->{end} + $_->{after},
			  units => $payload->{units},
		}
	} map { $self->resource($tenant, $_) } @{ $payload->{resources} };
}

# Whether all of it fits.  Usage only grows where something starts.
sub fits
{
	my ($self, $tenant, $payload, @except) = @_;

	return all
	{
		my $want = $_;
		my $capacity = $self->resource($tenant, $want->{resource})->{capacity};
		my @rows =
		  grep { $_->{start} < $want->{end} && $want->{start} < $_->{end} }
		  $self->rows($tenant, $want->{resource}, @except);

		all { $self->usage_at($_, @rows) + $want->{units} <= $capacity }
		$want->{start},
		  grep { $want->{start} < $_ } map { $_->{start} } @rows;
	}
	$self->wanted($tenant, $payload);
}

# Whether no resource is asked for more units than it has.
sub may_ever_fit
{
	my ($self, $tenant, $payload) = @_;

	return all
	{
		$payload->{units} <= $self->resource($tenant, $_)->{capacity}
	}
	@{ $payload->{resources} };
}

# The windows in which a claim of any length would be granted: minutes that
# are free together with their buffers, joined.  Undef without permission.
sub free
{
	my ($self, $tenant, $principal, $names, $start, $end, $units) = @_;
	my @free = (1) x ($end - $start);

	return undef unless $self->allowed($tenant, $principal, @$names);
	foreach my $resource (map { $self->resource($tenant, $_) } @$names)
	{
		my @rows = $self->rows($tenant, $resource->{name});
		my ($before, $after) = @{$resource}{qw(before after)};

		# A full minute is in the way of a booking that ends within the
		# buffer before it or starts within the one after it.
		foreach my $minute ($start - $before .. $end + $after - 1)
		{
			next
			  if $self->usage_at($minute, @rows) + $units <=
			  $resource->{capacity};
			foreach my $taken ($minute - $after .. $minute + $before)
			{
				$free[ $taken - $start ] = 0
				  if $start <= $taken && $taken < $end;
			}
		}
	}

	my @windows;
	foreach my $minute (grep { $free[ $_ - $start ] } $start .. $end - 1)
	{
		if (@windows && $windows[-1][1] == $minute)
		{
			$windows[-1][1]++;
		}
		else
		{
			push @windows, [ $minute, $minute + 1 ];
		}
	}
	return \@windows;
}

1;
