# tools/Lint/Source.pm
#
# Just enough of C to find functions, calls and string literals.

package Lint::Source;

use strict;
use warnings;

use Lint::Tree;

# Parts of a source that keep every offset and newline: "code" has comments and
# the contents of literals blanked out, "plain" only the comments.
sub parts
{
	my ($text) = @_;
	my $code = '';
	my $plain = '';

	while (
		$text =~ m{
			\G(?: (?<comment>/\*.*?\*/|//[^\n]*)
			| (?<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
			| (?<other>[^/"']+|.) )
		}gxs)
	{
		my $piece = $&;

		if (defined $+{comment})
		{
			$code .= blank($piece);
			$plain .= blank($piece);
		}
		elsif (defined $+{string})
		{
			my $quote = substr($piece, 0, 1);
			$code .= $quote . blank(substr($piece, 1, -1)) . $quote;
			$plain .= $piece;
		}
		else
		{
			$code .= $piece;
			$plain .= $piece;
		}
	}
	return ($code, $plain);
}

sub blank
{
	my ($piece) = @_;

	$piece =~ s/[^\n]/ /g;
	return $piece;
}

# Functions defined in a source: name, whether static, offset and line of the
# first word, and number of lines from the name to the closing brace.
# The style puts the name at the start of a line, below its type.
sub functions
{
	my ($text) = @_;
	my ($code) = parts($text);
	my @functions;

	while ($code =~ /^((?:[a-zA-Z_][\w \t*]*\n)+)(\w+)\(([^;{}]*?)\)\s*\n\{/mg)
	{
		my ($type, $name, $start, $name_at, $open) =
		  ($1, $2, $-[0], $-[2], $+[0] - 1);
		my $close = index($code, "\n}", $open - 1);

		next if $type =~ /^\s*typedef/ || $close < 0;
		push @functions,
		  {
			name => $name,
			static => $type =~ /\bstatic\b/ ? 1 : 0,
			offset => $start,
			line => Lint::Tree::line_at($code, $name_at),
			lines => Lint::Tree::line_at($code, $close + 1) -
			  Lint::Tree::line_at($code, $name_at) + 1,
		  };
	}
	return @functions;
}

# Calls of a function or macro: line, and the text between its parentheses
# with comments blanked out but literals kept.
sub calls
{
	my ($text, $pattern) = @_;
	my ($code, $plain) = parts($text);
	my @calls;

	while ($code =~ /\b($pattern)\s*\(/g)
	{
		my ($name, $start, $open) = ($1, $-[1], $+[0]);
		my $depth = 1;
		my $at = $open;

		while ($depth > 0 && $at < length $code)
		{
			my $char = substr($code, $at++, 1);
			$depth++ if $char eq '(';
			$depth-- if $char eq ')';
		}
		push @calls,
		  {
			name => $name,
			line => Lint::Tree::line_at($code, $start),
			arguments => substr($plain, $open, $at - $open - 1),
		  };
	}
	return @calls;
}

# String literals, adjacent ones joined as the compiler does: line, contents.
sub strings
{
	my ($text) = @_;
	my (undef, $plain) = parts($text);
	my @strings;

	# a character literal may hold a quotation mark
	$plain =~ s/'(?:[^'\\]|\\.)*'/blank($&)/ge;
	while ($plain =~ /("(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*)/g)
	{
		my ($literals, $start) = ($1, $-[1]);

		push @strings,
		  {
			line => Lint::Tree::line_at($plain, $start),
			value => join('', $literals =~ /"((?:[^"\\]|\\.)*)"/g),
		  };
	}
	return @strings;
}

1;
