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
# How much of a processor's time an input may take is in check.h; what takes half an
# hour by the clock never ends.
#
# With FUZZ_KEEP=yes what a run reaches and the corpus does not is added to it,
# one file for each new edge of the code.

set -eu
. "$(dirname "$0")/../unit/build.sh"

seconds=${1:-0}
[ $# -eq 0 ] || shift
fuzzdir=$topdir/test/fuzz
targets=${*:-ical_read ical_expand ical_write dav_multistatus dav_stream dav_error json_read json_google json_graph webhook_sign webhook_event webhook_reading}
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

# start TARGET ARGUMENT...: run a target, with its output and exit status kept
start()
{
	local target=$1 status=0

	shift
	"$builddir/$target" -max_len=16384 -timeout=1800 -rss_limit_mb=1024 \
		-artifact_prefix="$builddir/artifact-$target-" "$@" \
		>"$builddir/log-$target" 2>&1 </dev/null || status=$?
	say "$status" >"$builddir/status-$target"
}

# report TARGET ACT: one line of TAP, and what the target said if it failed
report()
{
	local target=$1 artifact

	tests=$((tests + 1))
	if [ "$(cat "$builddir/status-$target")" -eq 0 ]; then
		say "ok $tests - $target: $2"
		sed -n '/^Done /s/^/# /p; /^#.*DONE/s/^/# /p' "$builddir/log-$target"
		return
	fi
	failed=$((failed + 1))
	say "not ok $tests - $target: $2"
	tail -n 40 "$builddir/log-$target" | sed 's/^/#   /'
	for artifact in "$builddir/artifact-$target"-*; do
		[ -f "$artifact" ] || continue
		say "# $(basename "$artifact"):"
		base64 "$artifact" | sed 's/^/#   /'
		rm "$artifact"
	done
}

for target in $targets; do
	compile_unit clang "$sanitize -fsanitize=fuzzer -I$fuzzdir" "$builddir/codec.a" \
		"$builddir/$target" "$fuzzdir/$target.c"
	start "$target" -runs=0 "$fuzzdir/corpus/$target"
	report "$target" "the corpus"
done

# as many at a time as there are processors
running=0
[ "$seconds" -gt 0 ] || targets=
for target in $targets; do
	mkdir "$builddir/found-$target"
	start "$target" -max_total_time="$seconds" -print_final_stats=1 \
		-dict="$fuzzdir/${target%%_*}.dict" \
		"$builddir/found-$target" "$fuzzdir/corpus/$target" &
	running=$((running + 1))
	if [ "$running" -ge "$(nproc)" ]; then
		wait -n || true
		running=$((running - 1))
	fi
done
wait
for target in $targets; do
	report "$target" "$seconds seconds of fuzzing"
	[ -z "${FUZZ_KEEP:-}" ] ||
		"$builddir/$target" -merge=1 -use_counters=0 "$fuzzdir/corpus/$target" \
			"$builddir/found-$target" >/dev/null 2>&1
done
say "1..$tests"
[ "$failed" -eq 0 ]
