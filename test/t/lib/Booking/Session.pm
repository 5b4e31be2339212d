# test/t/lib/Booking/Session.pm
#
# A psql session that stays open, for tests that make thousands of calls or
# need several sessions at once.
#
# Statements are written to psql's standard input, each followed by an \echo of
# a marker, and the output is read up to that marker; standard error goes to
# the same pipe, so errors keep their place.  psql flushes its output before it
# reads the next line, hence the marker ends the output of its statement.
#
# send() and receive() split a call in two, for statements that wait for
# another session; batch() sends many statements before it reads.

package Booking::Session;

use strict;
use warnings FATAL => 'all';

use Carp;
use IO::Handle;
use IPC::Open3;
use PostgreSQL::Test::Utils ();
use Symbol 'gensym';
use Time::HiRes 'time';

my $separator = "\x1f";
my $marker = "\x02";

# Start a session.  Options: dbname, user, connstr (replaces host, port and
# database of the node), options (a hash of settings for the session).
sub new
{
	my ($class, $node, %opt) = @_;
	my $connstr = $opt{connstr} // $node->connstr($opt{dbname} // 'postgres');

	$connstr .= " user=$opt{user}" if defined $opt{user};
	if (my $settings = $opt{options})
	{
		my $text = join(' ',
			map { "-c $_=" . ($settings->{$_} =~ s/([ \\])/\\$1/gr) }
			sort keys %$settings);
		$text =~ s/([\\'])/\\$1/g;
		$connstr .= " options='$text'";
	}

	my $self = bless {
		sent => 0,
		received => 0,
		output => '',
		input => '',
		results => [],
	}, $class;

	$self->{pid} = open3(
		$self->{stdin}, $self->{stdout}, undef,
		$node->installed_command('psql'), '-XAtq',
		'-F', $separator,
		'-P', 'null=\\N',
		'-v', 'VERBOSITY=verbose',
		'-v', 'SHOW_CONTEXT=never',
		'-d', $connstr,
		'-f', '-');
	$self->{stdin}->blocking(0);
	$self->{stdout}->blocking(0);
	$self->{backend_pid} = $self->query('SELECT pg_catalog.pg_backend_pid()');
	return $self;
}

sub backend_pid
{
	my ($self) = @_;
	return $self->{backend_pid};
}

# Queue a statement; its result is fetched by receive().
sub send
{
	my ($self, $sql) = @_;

	$sql =~ s/[;\s]*\z//;
	$self->{sent}++;
	$self->{input} .= "$sql;\n\\echo $marker$self->{sent}\n";
	$self->_pump(0);
	return;
}

# The result of the oldest statement not yet received: a hash of "rows" (each
# an array of fields), "lines" (the rows as text), "error" and "notices".
sub receive
{
	my ($self) = @_;
	my $deadline = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $want = ++$self->{received};
	my $end = "$marker$want\n";
	my $at;

	while (($at = index($self->{output}, $end)) < 0)
	{
		last if $self->{eof};
		croak "psql timed out, output so far: $self->{output}"
		  if time() > $deadline;
		$self->_pump(0.5);
	}

	my $text;
	if ($at >= 0)
	{
		$text = substr($self->{output}, 0, $at);
		substr($self->{output}, 0, $at + length($end)) = '';
	}
	else
	{
		# The server closed the connection; psql says so and leaves.
		$text = $self->{output};
		$self->{output} = '';
	}

	my $result = _parse($text);
	$result->{error} //= {
		sqlstate => '08006',
		message => 'connection lost',
		text => $text,
	  }
	  if $at < 0;
	return $result;
}

# Whether the result of the oldest statement has arrived.
sub is_ready
{
	my ($self) = @_;
	my $want = $self->{received} + 1;

	$self->_pump(0);
	return index($self->{output}, "$marker$want\n") >= 0;
}

# Run a statement and return its result, errors included.
sub try
{
	my ($self, $sql) = @_;
	$self->send($sql);
	return $self->receive;
}

# Run many statements and return their results in order.
sub batch
{
	my ($self, @sql) = @_;

	foreach my $sql (@sql)
	{
		$sql =~ s/[;\s]*\z//;
		$self->{sent}++;
		$self->{input} .= "$sql;\n\\echo $marker$self->{sent}\n";
	}
	return map { $self->receive } @sql;
}

# Run a statement that must not fail and return its rows as text.
sub query
{
	my ($self, $sql) = @_;
	my $result = $self->try($sql);

	croak "statement failed: $sql\n$result->{error}{text}"
	  if $result->{error};
	return join("\n", @{ $result->{lines} });
}

# Run a statement that must not fail and return the fields of its first row.
sub row
{
	my ($self, $sql) = @_;
	my $result = $self->try($sql);

	croak "statement failed: $sql\n$result->{error}{text}"
	  if $result->{error};
	return @{ $result->{rows}[0] // [] };
}

# Run a statement and return its SQLSTATE, 00000 for success.
sub sqlstate
{
	my ($self, $sql) = @_;
	my $result = $self->try($sql);
	return $result->{error} ? $result->{error}{sqlstate} : '00000';
}

# End the session.
sub quit
{
	my ($self) = @_;

	return unless $self->{pid};
	close($self->{stdin});
	close($self->{stdout});
	waitpid($self->{pid}, 0);
	$self->{pid} = undef;
	return;
}

sub DESTROY
{
	my ($self) = @_;
	local ($?, $!, $@);

	$self->quit;
	return;
}

# Write what is queued and read what has come, waiting at most so long.  Both
# ends are served at once, since each side blocks when the other's pipe is full.
sub _pump
{
	my ($self, $seconds) = @_;
	my ($readable, $writable) = ('', '');

	vec($readable, fileno($self->{stdout}), 1) = 1;
	vec($writable, fileno($self->{stdin}), 1) = 1 if $self->{input} ne '';
	select($readable, $writable, undef, $seconds);

	if ($self->{input} ne '' && vec($writable, fileno($self->{stdin}), 1))
	{
		my $written = syswrite($self->{stdin}, $self->{input});
		if (defined $written)
		{
			substr($self->{input}, 0, $written) = '';
		}
		else
		{
			$self->{input} = '' if $!{EPIPE};
		}
	}
	if (vec($readable, fileno($self->{stdout}), 1))
	{
		my $got = sysread($self->{stdout}, $self->{output}, 65536,
			length($self->{output}));
		$self->{eof} = 1 if defined $got && $got == 0;
	}
	return;
}

# Take rows, errors and notices apart.  With verbose messages each one ends in
# a LOCATION line.
sub _parse
{
	my ($text) = @_;
	my %result = (rows => [], lines => [], notices => []);
	my ($message, $field);

	foreach my $line (split(/\n/, $text))
	{
		if ($line =~
			/^(?:psql:<stdin>:\d+: )?(ERROR|FATAL|PANIC|WARNING|NOTICE|INFO|LOG|DEBUG):  (\w{5}): (.*)/
		  )
		{
			$message = {
				severity => $1,
				sqlstate => $2,
				message => $3,
				text => $line
			};
			$field = 'message';
			if ($1 =~ /^(?:ERROR|FATAL|PANIC)$/)
			{
				$result{error} //= $message;
			}
			else
			{
				push @{ $result{notices} }, $message;
			}
		}
		elsif ($message)
		{
			$message->{text} .= "\n$line";
			if ($line =~ /^(DETAIL|HINT|CONTEXT|LOCATION|QUERY):  (.*)/)
			{
				$field = lc $1;
				$message->{$field} = $2;
				$message = undef if $field eq 'location';
			}
			elsif ($line =~ /^LINE \d+: /)
			{
				$field = 'line';
				$message->{$field} = $line;
			}
			else
			{
				$message->{$field} .= "\n$line";
			}
		}
		else
		{
			push @{ $result{lines} }, $line;
			push @{ $result{rows} },
			  [ map { $_ eq '\\N' ? undef : $_ }
				  $line eq '' ? ('') : split(/$separator/, $line, -1) ];
		}
	}
	return \%result;
}

1;
