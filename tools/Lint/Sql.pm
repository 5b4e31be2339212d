# tools/Lint/Sql.pm
#
# Rules for install and upgrade scripts.

package Lint::Sql;

use strict;
use warnings;

use Lint::Tree;

# Offered to PUBLIC, for triggers on users' own tables.
my %for_public = map { $_ => 1 } qw(booking_guard_terminal booking_guard_monotonic);

sub rules
{
	return (
		{
			name => 'sql-plain-create',
			what => 'scripts never take over an object that is already there',
			check => \&plain_create,
		},
		{
			name => 'sql-qualified',
			what => 'every object is created in a schema that is named',
			check => \&qualified,
		},
		{
			name => 'sql-calls',
			what => 'scripts call functions and operators by their schema',
			check => \&calls,
		},
		{
			name => 'sql-comments',
			what => 'every schema, table, column, view, type and function has a comment',
			check => \&comments,
		},
		{
			name => 'sql-search-path',
			what => 'functions pin search_path, ending in pg_temp, or have a listed reason',
			check => \&search_path,
		},
		{
			name => 'sql-privileges',
			what => 'PUBLIC may execute nothing but the guards for own tables',
			check => \&privileges,
		},
		{
			name => 'sql-config-dump',
			what => 'every table and sequence is dumped with its rows, and none has seed rows',
			check => \&config_dump,
		},
		{
			name => 'sql-symbols',
			what => 'scripts and sources name the same C functions',
			check => \&symbols,
		},
	);
}

# Scripts without comments; offsets are kept.
sub scripts
{
	my ($tree) = @_;

	return map {
		my $text = $tree->text($_);
		my $plain = '';

		# literals are kept, for a comment may not begin in one
		while ($text =~ m{\G(?:(/\*.*?\*/|--[^\n]*)|('(?:[^']|'')*'|[^-/']+|.))}gs)
		{
			my ($comment, $other) = ($1, $2);
			$comment =~ s/[^\n]/ /g if defined $comment;
			$plain .= $comment // $other;
		}
		[ $_, $plain ]
	} $tree->paths(qr{^sql/.*\.sql$});
}

# A view of an earlier script may get further columns: whom it was granted to may
# read them too, which making it anew would undo.
sub plain_create
{
	my ($tree) = @_;
	my %made = map { $_ => 1 } map { $_->[1] =~ /^CREATE VIEW (\S+)/mg } scripts($tree);

	return map {
		$tree->each_line(
			@$_,
			sub {
				return if /^CREATE OR REPLACE VIEW (\S+)/ && $made{$1};
				return /\b(IF NOT EXISTS|OR REPLACE)\b/i ? "$1 is not allowed" : undef;
			})
	} scripts($tree);
}

sub qualified
{
	my ($tree) = @_;

	return map {
		$tree->each_line(
			@$_,
			sub {
				/^\s*CREATE (?:UNLOGGED )?(?:TABLE|SEQUENCE|VIEW|TYPE|FUNCTION|PROCEDURE|AGGREGATE|DOMAIN)\s+(\S+)/i
				  && $1 !~ /^(?:booking|\@extschema\@)\./
				  ? "$1 names no schema"
				  : undef;
			})
	} scripts($tree);
}

# An object of the target schema whose types match better than those of the
# catalog's polymorphic function or operator would win, and stay in CHECKs,
# defaults and constraints that run as a superuser.
sub calls
{
	my ($tree) = @_;
	my @problems;

	for (scripts($tree))
	{
		my ($path, $text) = @$_;

		$text =~ s/'(?:[^']|'')*'/"'" . $& =~ s{[^\n]}{}gr . "'"/ge;
		push @problems, $tree->each_line(
			$path, $text,
			sub {
				return "call of $1 without its schema"
				  if /(?<![\w.\@"])([a-z_]\w*)\(/;
				return "operator $1 without its schema"
				  if /(?<!pg_catalog\.)(&&|\@>|<\@|-\|-)/;
				return;
			});
	}
	return @problems;
}

# Functions as [line, schema.name, types of the arguments, whole statement].
sub functions
{
	my ($text) = @_;
	my @functions;

	while ($text =~ /^CREATE (?:FUNCTION|PROCEDURE)\s+([\w\@.]+)\s*\((.*?)\)\s*(?:RETURNS|AS|LANGUAGE)\b(.*?);\n/msg)
	{
		my ($name, $arguments, $rest, $start) = ($1, $2, $3, $-[0]);
		my @types;

		# parentheses and commas within an argument are not used here
		for my $argument (split /,/, $arguments)
		{
			$argument =~ s/\s+DEFAULT\b.*//s;
			$argument =~ s/\s+/ /g;
			$argument =~ s/^ | $//g;
			next if $argument =~ /^OUT /;
			$argument =~ s/^(?:IN |INOUT |VARIADIC )//;
			push @types, $argument =~ /^(?:\w+|"\w+") (.+)$/ ? $1 : $argument;
		}
		push @functions,
		  [
			Lint::Tree::line_at($text, $start), $name,
			join(', ', grep { length } @types), $rest
		  ];
	}
	return @functions;
}

# Tables and composite types as [line, kind, name, columns...].
sub relations
{
	my ($text) = @_;
	my @relations;

	while ($text =~ /^CREATE (?:UNLOGGED )?(TABLE|TYPE)\s+([\w\@.]+)\s*(?:AS\s*)?\(\n(.*?)\n\)/msg)
	{
		my ($kind, $name, $body, $start) = ($1, $2, $3, $-[0]);
		my @columns = $body =~ /^\t([a-z_]\w*)\s/mg;

		push @relations,
		  [ Lint::Tree::line_at($text, $start), $kind, $name, @columns ];
	}
	return @relations;
}

sub comments
{
	my ($tree) = @_;
	my @problems;

	for (scripts($tree))
	{
		my ($path, $text) = @$_;
		my %has;

		while ($text =~ /^COMMENT ON (\w+) ([\w\@.]+(?:\([^)]*\))?)\s+IS\s+'/mg)
		{
			my ($kind, $object) = ($1, $2);

			# a procedure is declared and judged like a function
			$kind = 'FUNCTION' if $kind eq 'PROCEDURE';
			$has{ "$kind " . $object =~ s/\s+/ /gr } = 1;
		}
		my $missing = sub {
			my ($line, $object) = @_;
			push @problems, "$path:$line: $object has no comment"
			  unless $has{$object};
		};

		while ($text =~ /^CREATE (SCHEMA|VIEW)\s+([\w\@.]+)/mg)
		{
			$missing->(Lint::Tree::line_at($text, $-[0]), "$1 $2");
		}
		for (relations($text))
		{
			my ($line, $kind, $name, @columns) = @$_;
			$missing->($line, "$kind $name");
			$missing->($line, "COLUMN $name.$_") for @columns;
		}
		$missing->($_->[0], "FUNCTION $_->[1]($_->[2])") for functions($text);
	}
	return @problems;
}

sub search_path
{
	my ($tree) = @_;
	my @problems;

	for (scripts($tree))
	{
		my ($path, $text) = @$_;

		for (functions($text))
		{
			my ($line, $name, undef, $rest) = @$_;
			(my $short = $name) =~ s/.*\.//;

			next if $rest =~ /\bSET search_path = pg_catalog, pg_temp\b/;
			push @problems, "$path:$line: $name does not pin search_path"
			  unless $rest !~ /SECURITY DEFINER/
			  && $tree->excepted('sql-search-path', $short);
		}

		# a later version may take the setting back
		while ($text =~ /^ALTER (?:FUNCTION|PROCEDURE)\s+([\w\@.]+)\s*(?:\([^;]*?\))?\s*RESET\b/mg)
		{
			my ($name, $start) = ($1, $-[0]);
			(my $short = $name) =~ s/.*\.//;

			push @problems,
			  "$path:" . Lint::Tree::line_at($text, $start) . ": $name pins search_path no more"
			  unless $tree->excepted('sql-search-path', $short);
		}
	}
	return @problems;
}

sub privileges
{
	my ($tree) = @_;
	my @problems;

	for (scripts($tree))
	{
		my ($path, $text) = @$_;
		my %revoked;

		$revoked{ $1 =~ s/\s+/ /gr } = 1
		  while $text =~ /^REVOKE ALL ON (?:FUNCTION|PROCEDURE) ([\w\@.]+\([^)]*\)) FROM PUBLIC;/mg;
		for (functions($text))
		{
			my ($line, $name, $types) = @$_;
			(my $short = $name) =~ s/.*\.//;

			push @problems, "$path:$line: PUBLIC may execute $name"
			  unless $revoked{"$name($types)"} || $for_public{$short};
		}
		# what a role is bound to is its own; policies look it up as the reader
		push @problems, $tree->each_line($path, $text,
			sub {
				/^\s*GRANT\b/ && !/^GRANT SELECT \(tenant\) ON booking\.bound_tenant TO PUBLIC;/
				  ? 'scripts grant nothing'
				  : undef;
			});
	}
	return @problems;
}

sub config_dump
{
	my ($tree) = @_;
	my @problems;

	for (scripts($tree))
	{
		my ($path, $text) = @$_;

		while ($text =~ /^CREATE (?:UNLOGGED )?(?:TABLE|SEQUENCE)\s+([\w.]+)/mg)
		{
			my ($name, $line) = ($1, Lint::Tree::line_at($text, $-[0]));

			push @problems, "$path:$line: $name is not config-dumped"
			  unless $text =~ /pg_extension_config_dump\('\Q$name\E'/;
		}
		push @problems, $tree->each_line($path, $text,
			sub { /^\s*(?:INSERT INTO|COPY)\b/ ? 'a seed row makes restores fail' : undef });
	}
	return @problems;
}

sub symbols
{
	my ($tree) = @_;
	my (@problems, %declared, %used);

	for my $path ($tree->paths(qr{^src/.*\.c$}))
	{
		my $text = $tree->text($path);

		$declared{$1} = "$path:" . Lint::Tree::line_at($text, $-[0])
		  while $text =~ /^PG_FUNCTION_INFO_V1\((\w+)\)/mg;
	}
	for (scripts($tree))
	{
		my ($path, $text) = @$_;

		$used{$1} = "$path:" . Lint::Tree::line_at($text, $-[0])
		  while $text =~ /^AS 'MODULE_PATHNAME', '(\w+)'/mg;
	}
	push @problems, map { "$used{$_}: no source declares $_" }
	  grep { !$declared{$_} } sort keys %used;
	push @problems, map { "$declared{$_}: no script uses $_" }
	  grep { !$used{$_} } sort keys %declared;
	return @problems;
}

1;
