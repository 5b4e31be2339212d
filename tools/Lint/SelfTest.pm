# tools/Lint/SelfTest.pm
#
# For each rule a sample that keeps it and samples that break it, each a hash
# of paths and contents.  A rule without them, that finds fault with the good
# one, or that lets a bad one pass, is itself a problem.

package Lint::SelfTest;

use strict;
use warnings;

use Lint::Tree;

my $makefile = <<'MAKE';
MODULE_big = booking
OBJS = src/a.o
PGXS := $(shell $(PG_CONFIG) --pgxs)
override with_llvm = no
include $(PGXS)
MAKE

my $module = <<'C';
#include "postgres.h"
#include "fmgr.h"
PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(booking_a);
Datum
booking_a(PG_FUNCTION_ARGS)
{
	PG_RETURN_NULL();
}
C

my %package = (
	'booking.control' => "default_version = '0.1'\n",
	'CHANGELOG.md' => "## 0.1 (unreleased)\n",
	'sql/booking--0.1.sql' => '',
	'META.json' => <<'JSON',
{ "name": "booking", "abstract": "x", "version": "0.1.0", "maintainer": "x",
"license": "postgresql", "meta-spec": { "version": "1.0.0" },
"provides": { "booking": { "file": "sql/booking--0.1.sql", "version": "0.1.0" } } }
JSON
);

my %debian = (
	'booking.control' => "default_version = '0.1'\n",
	'debian/changelog' => "booking (0.1-1) unstable; urgency=low\n",
	'debian/control' => "Package: postgresql-15-booking\n",
	'debian/control.in' => "Package: postgresql-PGVERSION-booking\n",
	'debian/pgversions' => "15+\n",
	'tools/lib.sh' => "pgmajor=\${BOOKING_PGMAJOR:-15}\n",
);

my %manual = (
	'x/x.1' => ".TH X 1 2026-12-01 \"x\" \"x\"\n.SH NAME\nx \\- a sample\n.SH OPTIONS\n\\-\\-quiet\n",
	'x/x.c' => "static struct option options[] = {\n\t{\"quiet\", no_argument, NULL, 'q'},\n};\n",
);

my %samples = (
	'blanks' => {
		good => { 'README.md' => "one\ntwo\n" },
		bad => [
			{ 'README.md' => "one \n" },
			{ 'README.md' => "one\t\n" },
			{ 'README.md' => "one\r\n" },
			{ 'README.md' => "one" },
			{ 'README.md' => "one\n\n" },
		],
	},
	'markers' => {
		good => { 'src/a.c' => "/* NEEDSWORK: decide; mktemp x.XXXXXX */\n" },
		bad => [
			{ 'src/a.c' => "/* TODO: later */\n" },
			{ 'tools/a' => "# FIXME\n" },
			{ 'doc/a.md' => "XXX\n" },
		],
	},
	'machine' => {
		good => { 'README.md' => "in /tmp or \$dir/work/x, see a/root/b\n" },
		bad => [
			{ 'README.md' => "see /work/x\n" },
			{ 'tools/a' => "cd /home/someone/src\n" },
			{ 'expected/a.out' => "/root/x\n" },
			{ 'tools/deps' => "deb.debian.org\n" },
		],
	},
	'file-length' => {
		good => { 'src/a.c' => "x\n" x 800 },
		bad => [ { 'src/a.c' => "x\n" x 801 } ],
	},
	'indent' => {
		good => {
			'src/a.c' => "void\n\tf(int a,\n\t  int b);\n/*\n * words\n */\n" },
		bad => [
			{ 'src/a.c' => "    int x;\n" },
			{ 'src/a.c' => "\t    int x;\n" },
			{ 'src/a.c' => "\t\t" . 'x' x 93 . "\n" },
			{ 'sql/a.sql' => "    x text\n" },
		],
	},
	'banner' => {
		good => {
			'src/b/a.c' => '/*' . '-' x 73 . "\n *\n * a.c\n *\t  does a thing\n"
			  . " *\n * More words.\n *\n * IDENTIFICATION\n *\t  booking/src/b/a.c\n *\n *"
			  . '-' x 73 . "\n */\n"
		},
		bad => [
			{ 'src/a.c' => "#include \"postgres.h\"\n" },
			{
				'src/a.c' => '/*' . '-' x 73 . "\n *\n * a.c\n *\t  does a thing\n"
				  . " *\n * IDENTIFICATION\n *\t  booking/src/b/a.c\n *\n *"
				  . '-' x 73 . "\n */\n"
			},
		],
	},
	'function-comment' => {
		good => {
			'src/a.c' => "/*\n * Says why.\n */\nstatic int\nf(void)\n{\n}\n\n"
			  . "/*\n * Too.\n */\nPG_FUNCTION_INFO_V1(booking_g);\nDatum\nbooking_g(PG_FUNCTION_ARGS)\n{\n}\n"
		},
		bad => [
			{ 'src/a.c' => "static int\nf(void)\n{\n}\n" },
			{ 'bookingd/a.c' => "static int\nf(void)\n{\n}\n" },
			{ 'src/a.c' => "/* far */\n\nstatic int\nf(int a,\n  int b)\n{\n}\n" },
		],
	},
	'function-length' => {
		good => {
			'tools/lint-exceptions' => "function-length src/a.c:g a switch over states\n",
			'src/a.c' => "int\nf(void)\n{\n" . "\tx;\n" x 57 . "}\n\nint\ng(void)\n{\n"
			  . "\tx;\n" x 58 . "}\n",
		},
		bad => [ { 'src/a.c' => "int\nf(void)\n{\n" . "\tx;\n" x 58 . "}\n" } ],
	},
	'names' => {
		good => {
			'src/a.c' => "int\t\t\tbooking_x = 1;\nstatic int y;\ntypedef int foo;\n"
			  . "static void\nf(void)\n{\n\tint\t\t\tz;\n}\nvoid\nbooking_g(void)\n{\n}\n"
			  . "void\n_PG_init(void)\n{\n}\n"
		},
		bad => [
			{ 'src/a.c' => "void\nhelper(void)\n{\n}\n" },
			{ 'src/a.c' => "int\t\t\tcounter = 0;\n" },
			{ 'src/a.c' => "const char *names[2];\n" },
		],
	},
	'banned-calls' => {
		good => {
			'tools/lint-exceptions' => "banned-calls src/b.c:malloc owns it\n",
			'src/b.c' => "\tx = malloc(1);\n",
			'test/unit/c.c' => "\tx = malloc(1);\n",
			'src/a.c' => "x = snprintf(b, n, \"sprintf(\"); /* atoi(x) */\n"
		},
		bad => [
			{ 'test/unit/a.c' => "\tstrcat(a, b);\n" },
			map { { 'src/a.c' => "\t$_(a, b);\n" } }
			  qw(strcpy strcat sprintf strtok atoi gmtime localtime pg_usleep)
		],
	},
	'version-number' => {
		good => { 'src/compat.h' => "#if PG_VERSION_NUM >= 160000\n" },
		bad => [ { 'src/a.c' => "#if PG_VERSION_NUM >= 160000\n" } ],
	},
	'postgres-first' => {
		good => { 'src/a.c' => "/* #include \"a.h\" */\n#include \"postgres.h\"\n" },
		bad => [
			{ 'src/a.c' => "#include <stdio.h>\n#include \"postgres.h\"\n" },
			{ 'src/a.c' => "int x;\n" },
		],
	},
	'try-block' => {
		good => { 'src/a.c' => "PG_TRY();\n{\n\tf();\n}\nPG_END_TRY();\nreturn x;\n" },
		bad => [
			{ 'src/a.c' => "PG_TRY();\n{\n\treturn x;\n}\nPG_END_TRY();\n" },
			{ 'src/a.c' => "PG_TRY();\n{\n\tgoto out;\n}\nPG_FINALLY();\n" },
		],
	},
	'layers' => {
		good => {
			'src/guc.h' => '',
			'src/codec/a.h' => "#include \"codec/b.h\"\n",
			'src/store/a.c' => "#include \"store/b.h\"\n#include \"codec/b.h\"\n#include \"guc.h\"\n",
			'src/ledger/a.c' => "#include \"store/b.h\"\n#include \"utils/guc.h\"\n",
		},
		bad => [
			{ 'src/codec/a.c' => "#include \"store/b.h\"\n" },
			{ 'src/guc.h' => '', 'src/codec/a.c' => "#include \"guc.h\"\n" },
			{ 'src/store/a.c' => "#include \"ledger/b.h\"\n" },
			{ 'src/provider/a.c' => "#include \"net/b.h\"\n" },
			{ 'src/store/b.h' => '', 'src/store/a.c' => "#include \"b.h\"\n" },
			{ 'src/misc/a.c' => "int x;\n" },
		],
	},
	'libraries' => {
		good => {
			'src/net/a.c' => "#include <curl/curl.h>\n",
			'src/codec/a.c' => "#include <json-c/json.h>\n#include <libical/ical.h>\n"
		},
		bad => [
			{ 'src/codec/a.c' => "#include <curl/curl.h>\n" },
			{ 'src/ledger/a.c' => "#include <json-c/json.h>\n" },
			{ 'src/net/a.c' => "#include <libical/ical.h>\n" },
			{ 'src/sync/a.c' => "#include <libxml/parser.h>\n" },
		],
	},
	'sql-text' => {
		good => {
			'src/store/a.c' => "x = \"SELECT 1\";\ny = SPI_prepare(x);\n",
			'src/ledger/a.c' => "/* \"SELECT 1\" */\nerrmsg(\"could not UPDATE x\");\nh = \"CREATE TRIGGER ... BEFORE\";\nSPI_connect();\n"
		},
		bad => [
			{ 'src/ledger/a.c' => "x = \"SELECT 1\";\n" },
			{ 'src/ledger/a.c' => "x = \" \"\n\t\"DELETE FROM booking.intent\";\n" },
			{ 'src/ledger/a.c' => "x = SPI_execute(y, true, 0);\n" },
		],
	},
	'pure-codec' => {
		good => { 'src/codec/a.c' => "/* ereport( */\nx = fault;\n" },
		bad => [
			{ 'src/codec/a.c' => "ereport(ERROR, (errmsg(\"x\")));\n" },
			{ 'src/codec/a.c' => "now = GetCurrentTimestamp();\n" },
			{ 'src/codec/a.c' => "#include \"executor/spi.h\"\n" },
		],
	},
	'errcode' => {
		good => {
			'src/a.c' => "ereport(ERROR,\n\t(errcode(ERRCODE_X),\n\terrmsg(\"a) b\")));\n"
			  . "ereport(WARNING, (errmsg(\"w\")));\nelog(ERROR, \"never\");\n"
		},
		bad => [
			{ 'src/a.c' => "ereport(ERROR,\n\t(errmsg(\"errcode(x)\")));\n"
			=~ s/errcode\(x\)/code/r },
			{ 'src/a.c' => "ereport(level, errmsg(\"x\"));\n" },
			{ 'src/a.c' => "ereport(FATAL, (errmsg(\"x\") /* errcode(y) */));\n" },
		],
	},
	'primary-message' => {
		good => { 'src/a.c' => "errmsg(\"could not \\\"%s\\\"\", x);\nerrmsg(\"TimeZone\" + 4 ? \"no\" : \"\");\n" =~ s/TimeZone/time/r },
		bad => [
			{ 'src/a.c' => "errmsg(\"Could not\");\n" },
			{ 'src/a.c' => "errmsg(\"could \"\n\t\"not.\");\n" },
		],
	},
	'detail-message' => {
		good => { 'src/a.c' => "errdetail(\"It is \"\n\t\"so.\");\nerrhint(\"\\\"%s\\\" is.\", x);\n" },
		bad => [
			{ 'src/a.c' => "errdetail(\"it is so.\");\n" },
			{ 'src/a.c' => "errhint(\"Try it\");\n" },
		],
	},
	'sql-plain-create' => {
		good => {
			'sql/a.sql' => "-- OR REPLACE\nCREATE TABLE booking.a (\nCREATE VIEW booking.v AS\n",
			'sql/b.sql' => "CREATE OR REPLACE VIEW booking.v AS\n",
		},
		bad => [
			{ 'sql/a.sql' => "CREATE OR REPLACE VIEW booking.v AS\n" },
			{ 'sql/a.sql' => "CREATE OR REPLACE FUNCTION booking.a()\n" },
			{ 'sql/a.sql' => "CREATE TABLE IF NOT EXISTS booking.a (\n" },
		],
	},
	'sql-qualified' => {
		good => { 'sql/a.sql' => "CREATE TABLE booking.a (\nCREATE TYPE \@extschema\@.b AS (\n" },
		bad => [ { 'sql/a.sql' => "CREATE TABLE a (\n" }, { 'sql/a.sql' => "CREATE FUNCTION b(\n" } ],
	},
	'sql-calls' => {
		good => {
			'sql/a.sql' => "CHECK (pg_catalog.isempty(d) AND x IN\n('lower(y)')),\n"
			  . "EXCLUDE USING gist (d WITH OPERATOR(pg_catalog.&&))\n"
			  . "COMMENT ON FUNCTION \@extschema\@.f(text) IS 'x';\n"
		},
		bad => [
			{ 'sql/a.sql' => "CHECK (NOT isempty(during))\n" },
			{ 'sql/a.sql' => "EXCLUDE USING gist (d WITH &&)\n" },
		],
	},
	'sql-comments' => {
		good => {
			'sql/a.sql' => "CREATE TABLE booking.a (\n\tb\t\ttext,\n\tCONSTRAINT x CHECK (b > '')\n);\n"
			  . "COMMENT ON TABLE booking.a IS 'x';\nCOMMENT ON COLUMN booking.a.b IS 'y';\n"
			  . "CREATE FUNCTION \@extschema\@.f(\n\tone text, \"two\" integer\n\tDEFAULT 1)\nRETURNS void\nLANGUAGE C;\n"
			  . "COMMENT ON FUNCTION \@extschema\@.f(text, integer) IS\n\t'z';\n"
		},
		bad => [
			{ 'sql/a.sql' => "CREATE SCHEMA booking;\n" },
			{ 'sql/a.sql' => "CREATE VIEW booking.v AS\n" },
			{ 'sql/a.sql' => "CREATE TABLE booking.a (\n\tb text\n);\nCOMMENT ON TABLE booking.a IS 'x';\n" },
			{ 'sql/a.sql' => "CREATE TYPE booking.a AS (\n\tb text\n);\nCOMMENT ON COLUMN booking.a.b IS 'x';\n" },
			{
				'sql/a.sql' => "CREATE FUNCTION \@extschema\@.f(one text)\nRETURNS void\nLANGUAGE C;\n"
				  . "COMMENT ON FUNCTION \@extschema\@.f(integer) IS 'z';\n"
			},
		],
	},
	'sql-search-path' => {
		good => {
			'tools/lint-exceptions' => "sql-search-path g reads nothing\n",
			'sql/a.sql' => "CREATE FUNCTION booking.f()\nRETURNS void\nLANGUAGE C\nSET search_path = pg_catalog, pg_temp;\n"
			  . "CREATE FUNCTION booking.g()\nRETURNS void\nLANGUAGE C;\n"
		},
		bad => [
			{ 'sql/a.sql' => "CREATE FUNCTION booking.f()\nRETURNS void\nLANGUAGE C;\n" },
			{ 'sql/a.sql' => "CREATE FUNCTION booking.f()\nRETURNS void\nLANGUAGE C\nSET search_path = pg_catalog;\n" },
			{
				'tools/lint-exceptions' => "sql-search-path g reads nothing\n",
				'sql/a.sql' => "CREATE FUNCTION booking.g()\nRETURNS void\nLANGUAGE C SECURITY DEFINER;\n"
			},
			{ 'sql/a.sql' => "ALTER FUNCTION booking.f(text,\n\tinteger) RESET ALL;\n" },
			{ 'sql/a.sql' => "ALTER PROCEDURE booking.f RESET search_path;\n" },
		],
	},
	'sql-privileges' => {
		good => {
			'sql/a.sql' => "CREATE FUNCTION booking.f(a text)\nRETURNS void\nLANGUAGE C;\n"
			  . "REVOKE ALL ON FUNCTION booking.f(text) FROM PUBLIC;\n"
			  . "CREATE FUNCTION booking.booking_guard_terminal()\nRETURNS trigger\nLANGUAGE C;\n"
			  . "GRANT SELECT (tenant) ON booking.bound_tenant TO PUBLIC;\n"
		},
		bad => [
			{ 'sql/a.sql' => "GRANT SELECT ON booking.bound_tenant TO PUBLIC;\n" },
			{ 'sql/a.sql' => "CREATE FUNCTION booking.f(a text)\nRETURNS void\nLANGUAGE C;\n" },
			{
				'sql/a.sql' => "CREATE FUNCTION booking.f(a text)\nRETURNS void\nLANGUAGE C;\n"
				  . "REVOKE ALL ON FUNCTION booking.f(integer) FROM PUBLIC;\n"
			},
			{ 'sql/a.sql' => "GRANT SELECT ON booking.a TO PUBLIC;\n" },
		],
	},
	'sql-config-dump' => {
		good => { 'sql/a.sql' => "CREATE SEQUENCE booking.s;\nSELECT pg_catalog.pg_extension_config_dump('booking.s', '');\n" },
		bad => [
			{ 'sql/a.sql' => "CREATE TABLE booking.a (\n" },
			{ 'sql/a.sql' => "CREATE SEQUENCE booking.s;\n" },
			{ 'sql/a.sql' => "INSERT INTO booking.a VALUES (1);\n" },
		],
	},
	'sql-symbols' => {
		good => {
			'src/a.c' => "PG_FUNCTION_INFO_V1(booking_a);\n",
			'sql/a.sql' => "AS 'MODULE_PATHNAME', 'booking_a'\n"
		},
		bad => [
			{ 'src/a.c' => "PG_FUNCTION_INFO_V1(booking_a);\n" },
			{ 'sql/a.sql' => "AS 'MODULE_PATHNAME', 'booking_a'\n" },
		],
	},
	'test-header' => {
		good => {
			'test/sql/a.sql' => "-- A canceled intent stays canceled, whatever comes later (R12),\n"
			  . "-- because a late retry must not bring a meeting back.\nSELECT 1;\n"
		},
		bad => [
			{ 'test/sql/a.sql' => "SELECT 1;\n" },
			{ 'test/t/a.pl' => "#!/usr/bin/perl\n# a test\nuse strict;\n" },
			{ 'test/isolation/specs/a.spec' => "setup { }\n" },
		],
	},
	'test-sleep' => {
		good => { 'test/sql/a.sql' => "-- never pg_sleep(1)\nSELECT 1;\n" },
		bad => [
			{ 'test/sql/a.sql' => "SELECT pg_sleep(1);\n" },
			{ 'test/t/a.pl' => "\tsleep 1;\n" },
			{ 'test/t/a.pl' => "\tusleep(1000);\n" },
		],
	},
	'test-skip' => {
		good => { 'test/t/a.pl' => "ok(1, 'a skipped line is none');\n" },
		bad => [
			{ 'test/t/a.pl' => "plan skip_all => 'x';\n" },
			{ 'test/t/a.pl' => "\tskip 'x', 1;\n" },
			{ 'test/t/a.pl' => "\tskip(1);\n" },
		],
	},
	'test-offset' => {
		good => {
			'test/sql/a.sql' => "SELECT '[2030-01-01 10:00+00,2030-01-01 11:00:00+01)'::tstzrange;\n"
			  . "SELECT booking_at('2030-01-01 10:00', 'UTC');\nSELECT timestamp '2030-01-01 10:00';\n"
		},
		bad => [
			{ 'test/sql/a.sql' => "SELECT '2030-01-01 10:00'::timestamptz;\n" },
			{ 'test/sql/a.sql' => "SELECT '[2030-01-01 10:00,2030-01-01 11:00)';\n" },
			{ 'test/sql/a.sql' => "SELECT 'tomorrow';\n" },
		],
	},
	'test-expected' => {
		good => {
			'test/sql/a.sql' => '', 'expected/a.out' => '', 'expected/a_1.out' => '',
			'test/isolation/specs/b.spec' => '', 'test/isolation/expected/b.out' => '',
			'sql/c.sql' => '',
		},
		bad => [
			{ 'test/sql/a.sql' => '' },
			{ 'expected/a.out' => '' },
			{ 'test/isolation/specs/b.spec' => '', 'expected/b.out' => '' },
			{ 'test/sql/a.sql' => '', 'expected/a.out' => '', 'sql/a.sql' => '' },
		],
	},
	'versions' => {
		good => { %package },
		bad => [
			{ %package, 'booking.control' => "default_version = '0.2'\n" },
			{ %package, 'CHANGELOG.md' => "## 0.0\n" },
			{ %package, 'META.json' => $package{'META.json'} =~ s/0\.1\.0/0.2.0/r },
			{ %package, 'META.json' => '{ "name": ' },
			{ %package, 'META.json' => $package{'META.json'} =~ s/"license"/"licence"/r },
		],
	},
	'pgxn-meta' => {
		good => { %package },
		bad => [
			{ %package, 'META.json' => '[]' },
			{ %package, 'META.json' => $package{'META.json'} =~ s/"license"/"licence"/r },
			{ %package, 'META.json' => $package{'META.json'} =~ s/"postgresql"/"beerware"/r },
			{ %package, 'META.json' => $package{'META.json'} =~ s/"0\.1\.0", "maint/"0.1", "maint/r },
			{ %package, 'META.json' => $package{'META.json'} =~ s/"version": "0\.1\.0" \}/"version": "1" }/r },
			{ %package, 'META.json' => $package{'META.json'} =~ s/"1\.0\.0"/"2.0.0"/r },
			{ %package, 'META.json' => $package{'META.json'} =~ s/\{/{ "release_status": "fine",/r },
			{ %package, 'META.json' => $package{'META.json'} =~ s/\{/{ "tags": ["a\/b"],/r },
			{ %package, 'META.json' => $package{'META.json'} =~ s/\{/{ "prereqs": { "runtime": { "requires": { "x": "15" } } },/r },
			{ %package, 'META.json' => $package{'META.json'} =~ s/sql", "v/sql", "docfile": "x.md", "v/r },
			{ %package, 'META.json' => $package{'META.json'} =~ s/--0\.1\.sql/--0.2.sql/r },
		],
	},
	'debian' => {
		good => { %debian },
		bad => [
			{ %debian, 'booking.control' => "default_version = '0.2'\n" },
			{ %debian, 'debian/changelog' => "booking (0.10-1) unstable; urgency=low\n" },
			{ %debian, 'debian/pgversions' => "16+\n" },
			{ %debian, 'debian/control' => "Package: postgresql-16-booking\n" },
			{ %debian, 'tools/lib.sh' => "pgmajor=\${BOOKING_PGMAJOR:-16}\n" },
		],
	},
	'manual' => {
		good => { %manual },
		bad => [
			{ %manual, 'x/x.1' => $manual{'x/x.1'} =~ s/2026-12-01/""/r },
			{ %manual, 'x/x.1' => "$manual{'x/x.1'}.XY\nwords\n" },
			{ %manual, 'x/x.1' => $manual{'x/x.1'} =~ s/quiet/loud/r },
		],
	},
	'scripts' => {
		good => {
			'tools/a' => "#!/bin/bash\nset -eu\necho x\n",
			'tools/b' => "#!/bin/sh\nexec \"\$\@\"\n",
		},
		bad => [
			{ 'tools/a' => "#!/bin/bash\necho x\n" },
			{ 'tools/a' => "#!/bin/bash\nset -eu\nif true; then\n" },
		],
	},
	'gcc' => {
		good => { 'src/a.c' => $module },
		bad => [
			{ 'src/a.c' => "$module\nstatic int unused;\n" },
			{ 'bookingd/a.c' => "#include \"postgres_fe.h\"\nstatic int unused;\n" },
			{
				'src/a.c' => $module
				  =~ s/PG_RETURN_NULL/int x; if (PG_NARGS() > 0) x = 1; if (x) PG_RETURN_NULL/r
			},
		],
	},
	'clang' => {
		good => { 'src/a.c' => $module },
		bad => [ { 'src/a.c' => "$module\nstatic int unused;\n" } ],
	},
	'exports' => {
		good => { 'src/a.c' => $module, 'sql/a.sql' => '', 'Makefile' => $makefile, 'booking.control' => '' },
		bad => [
			{
				'src/a.c' => "$module\nextern int stray(void);\nint stray(void) { return 1; }\n",
				'sql/a.sql' => '', 'Makefile' => $makefile, 'booking.control' => ''
			},
		],
	},
);

sub problems
{
	my (@rules) = @_;
	my @problems;
	my %known = map { $_->{name} => 1 } @rules;

	push @problems, map { "samples for a rule $_ that does not exist" }
	  grep { !$known{$_} } sort keys %samples;
	for my $rule (@rules)
	{
		my $sample = $samples{ $rule->{name} };

		unless ($sample && @{ $sample->{bad} })
		{
			push @problems, "$rule->{name}: has no samples";
			next;
		}
		push @problems, map { "$rule->{name}: refuses the good sample: $_" }
		  $rule->{check}->(Lint::Tree->from_sample($sample->{good}));
		my $number = 0;
		for my $bad (@{ $sample->{bad} })
		{
			$number++;
			push @problems, "$rule->{name}: passes bad sample $number"
			  unless $rule->{check}->(Lint::Tree->from_sample($bad));
		}
	}
	return @problems;
}

1;
