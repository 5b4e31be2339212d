# tools/tap.sh
#
# Lines of TAP for the tests that are shell scripts.  Sourced by bash with "set -eu"
# in force; what a check prints is shown when it fails.

# shellcheck shell=bash

checks=0
failures=0

# check NAME COMMAND...: one test, which passes if the command does.
check()
{
	# seen by the command, so not named like anything of its script's
	local check_name=$1 check_said

	shift
	checks=$((checks + 1))
	if check_said=$("$@" 2>&1); then
		printf 'ok %d - %s\n' "$checks" "$check_name"
	else
		failures=$((failures + 1))
		printf 'not ok %d - %s\n' "$checks" "$check_name"
		printf '%s\n' "$check_said" | tail -n 40 | sed 's/^/# /'
	fi
}

# same EXPECTED COMMAND...: does it print just that?
same()
{
	local expected=$1 got

	shift
	got=$("$@" 2>&1) || true
	[ "$got" = "$expected" ] && return 0
	printf 'got: %s\nexpected: %s\n' "$got" "$expected"
	return 1
}

# The plan, and whether all has passed.
done_checking()
{
	printf '1..%d\n' "$checks"
	[ "$failures" -eq 0 ]
}
