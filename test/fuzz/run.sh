#!/bin/bash
#
# test/fuzz/run.sh: the decoders of the codec against bytes that nobody meant
#
#	test/fuzz/run.sh [SECONDS [TARGET...]]
#
# Replays the kept corpora and, with SECONDS, lets libFuzzer look for new ways
# that long at each target.  Prints one line of TAP a target and act.  What
# breaks a property is shown in base64, to be kept in the corpus once the fault
# is mended.
#
# With FUZZ_KEEP=yes what a run reaches and the corpus does not is added to it,
# one file for each new edge of the code.

set -eu
. "$(dirname "$0")/../unit/build.sh"

seconds=${1:-0}
[ $# -eq 0 ] || shift
fuzzdir=$topdir/test/fuzz
targets=${*:-ical_read ical_expand ical_write dav_multistatus dav_error json_read json_google json_graph}
find_postgres
need clang clang
need pkg-config pkg-config

builddir=$(mktemp -d "${TMPDIR:-/tmp}/booking-fuzz.XXXXXX")
trap 'rm -rf "$builddir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

compile_codec clang "$sanitize -fsanitize=fuzzer-no-link" "$builddir/codec.a"
export ASAN_OPTIONS=detect_leaks=1
tests=0
failed=0

# act NAME COMMAND...: one line of TAP, and what the command said if it failed
act()
{
	local name=$1 status=0 artifact

	shift
	"$@" >"$builddir/log" 2>&1 </dev/null || status=$?
	tests=$((tests + 1))
	if [ "$status" -eq 0 ]; then
		say "ok $tests - $name"
		sed -n '/^Done /s/^/# /p; /^#.*DONE/s/^/# /p' "$builddir/log"
		return
	fi
	failed=$((failed + 1))
	say "not ok $tests - $name"
	tail -n 40 "$builddir/log" | sed 's/^/#   /'
	for artifact in "$builddir"/artifact-*; do
		[ -f "$artifact" ] || continue
		say "# $(basename "$artifact"):"
		base64 "$artifact" | sed 's/^/#   /'
		rm "$artifact"
	done
}

for target in $targets; do
	compile_unit clang "$sanitize -fsanitize=fuzzer -I$fuzzdir" "$builddir/codec.a" \
		"$builddir/$target" "$fuzzdir/$target.c"
	options="-max_len=16384 -timeout=10 -rss_limit_mb=1024 -artifact_prefix=$builddir/artifact-"
	# shellcheck disable=SC2086
	act "$target: the corpus" \
		"$builddir/$target" $options -runs=0 "$fuzzdir/corpus/$target"
	[ "$seconds" -gt 0 ] || continue
	mkdir "$builddir/found-$target"
	# shellcheck disable=SC2086
	act "$target: $seconds seconds of fuzzing" \
		"$builddir/$target" $options -max_total_time="$seconds" -print_final_stats=1 \
		-dict="$fuzzdir/${target%%_*}.dict" \
		"$builddir/found-$target" "$fuzzdir/corpus/$target"
	[ -z "${FUZZ_KEEP:-}" ] ||
		"$builddir/$target" -merge=1 -use_counters=0 "$fuzzdir/corpus/$target" \
			"$builddir/found-$target" >/dev/null 2>&1
done
say "1..$tests"
[ "$failed" -eq 0 ]
