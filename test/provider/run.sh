#!/bin/bash
#
# test/provider/run.sh: the tests of the provider adapters
#
#	test/provider/run.sh
#
# Builds them with the codec and without a server, as they are shipped and with
# the sanitizers of clang, in a folder of their own, and lets prove run them.

set -eu
. "$(dirname "$0")/../unit/build.sh"

find_postgres
need gcc gcc
need clang clang
need pkg-config pkg-config
need prove perl

providerdir=$topdir/test/provider
builddir=$(mktemp -d "${TMPDIR:-/tmp}/booking-provider.XXXXXX")
trap 'rm -rf "$builddir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# build COMPILER FLAGS NAME
build()
{
	compile_codec "$1" "$2" "$builddir/$3.a"
	# shellcheck disable=SC2046
	compile "$1" "$2" -I"$providerdir" -o "$builddir/$3" \
		"$providerdir"/*.c "$topdir"/src/provider/*.c "$builddir/$3.a" \
		-L"$("$pg_config" --libdir)" -L"$("$pg_config" --pkglibdir)" \
		-lpgcommon -lpgport -lical $(pkg-config --libs libxml-2.0 json-c) -lcrypto -lm
}

build gcc -O2 provider
build clang "$sanitize" provider-sanitized

cd "$builddir"
export ASAN_OPTIONS=detect_leaks=1
prove -v --timer --exec '' ./provider ./provider-sanitized
