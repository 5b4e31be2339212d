#!/bin/bash
#
# test/unit/run.sh: the unit tests of the codec
#
#	test/unit/run.sh
#
# Builds each of them twice, as it is shipped and with the sanitizers of clang,
# in a folder of its own, and lets prove run them.

set -eu
. "$(dirname "$0")/build.sh"

find_postgres
need gcc gcc
need clang clang
need pkg-config pkg-config
need prove perl

builddir=$(mktemp -d "${TMPDIR:-/tmp}/booking-unit.XXXXXX")
trap 'rm -rf "$builddir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

compile_codec gcc -O2 "$builddir/codec.a"
compile_codec clang "$sanitize" "$builddir/sanitized.a"
programs=
for source in "$unitdir"/*.c; do
	name=$(basename "$source" .c)
	case $name in
		tap | zoneinfo_libc) continue ;;
	esac
	compile_unit gcc -O2 "$builddir/codec.a" "$builddir/$name" "$source"
	compile_unit clang "$sanitize" "$builddir/sanitized.a" "$builddir/$name-sanitized" "$source"
	programs="$programs ./$name ./$name-sanitized"
done

cd "$builddir"
export ASAN_OPTIONS=detect_leaks=1
# shellcheck disable=SC2086
prove -v --timer --exec '' $programs
