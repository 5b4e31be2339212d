# tools/Lint/Messages.pm
#
# Rules for what users are told when a call fails.

package Lint::Messages;

use strict;
use warnings;

use Lint::Source;

sub rules
{
	return (
		{
			name => 'errcode',
			what => 'every ereport that raises has an errcode',
			check => \&errcode,
		},
		{
			name => 'primary-message',
			what => 'messages are lower case without a period',
			check => \&primary_message,
		},
		{
			name => 'detail-message',
			what => 'details and hints are sentences',
			check => \&detail_message,
		},
	);
}

sub errcode
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^src/.*\.[ch]$}))
	{
		for my $call (Lint::Source::calls($tree->text($path), 'ereport'))
		{
			my ($level) = $call->{arguments} =~ /^\s*(\w+)/;

			# a level that is a variable may be an error
			next if $level =~ /^(?:DEBUG\d?|LOG|COMMERROR|INFO|NOTICE|WARNING)$/;
			push @problems, "$path:$call->{line}: ereport($level) without an errcode"
			  unless $call->{arguments} =~ /\berrcode\w*\s*\(/;
		}
	}
	return @problems;
}

# Formats given to a message function, adjacent literals joined.
sub texts
{
	my ($tree, $path, $pattern) = @_;
	my @texts;

	for my $call (Lint::Source::calls($tree->text($path), $pattern))
	{
		my @strings = Lint::Source::strings($call->{arguments});

		# what follows the format are values
		splice @strings, $call->{name} =~ /_plural$/ ? 2 : 1
		  if $call->{arguments} =~ /^\s*"/;
		push @texts, map { { line => $call->{line}, value => $_->{value} } } @strings;
	}
	return @texts;
}

sub primary_message
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^src/.*\.[ch]$}))
	{
		for my $text (texts($tree, $path, 'errmsg|errmsg_plural|errmsg_internal'))
		{
			push @problems, "$path:$text->{line}: \"$text->{value}\" begins in upper case"
			  if $text->{value} =~ /^[A-Z][a-z]/;
			push @problems, "$path:$text->{line}: \"$text->{value}\" ends in punctuation"
			  if $text->{value} =~ /[.!]$/;
		}
	}
	return @problems;
}

sub detail_message
{
	my ($tree) = @_;
	my @problems;

	for my $path ($tree->paths(qr{^src/.*\.[ch]$}))
	{
		for my $text (texts($tree, $path, 'errdetail|errhint|errdetail_plural|errhint_plural'))
		{
			next if $text->{value} eq '%s';
			push @problems, "$path:$text->{line}: \"$text->{value}\" is no sentence"
			  unless $text->{value} =~ /^(?:[A-Z%]|\\"|[a-z]+[._]|lib[a-z])/
			  && $text->{value} =~ /\.(?:\\")?$/;
		}
	}
	return @problems;
}

1;
