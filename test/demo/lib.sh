# test/demo/lib.sh
#
# Telling the story: sessions that stay open, so that two can really meet, and
# answers that are both shown and compared.  Sourced by run.sh.

declare -A session_in=() session_out=() session_pid=() backend=() receipts=() events=()
wrong=0
answer=
patience=30

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
	bold=$'\033[1m' faint=$'\033[2m' red=$'\033[31m' plain=$'\033[0m'
else
	bold='' faint='' red='' plain=''
fi

die()
{
	printf 'demo: %s\n' "$*" >&2
	exit 1
}

chapter()
{
	printf '\n%s%s%s\n\n' "$bold" "$1" "$plain"
}

tell()
{
	printf '%s\n\n' "$1"
}

# open_session NAME: a psql of its own that reads what show, start and ask send
open_session()
{
	local in=$scratch/$1.in out=$scratch/$1.out fd

	mkfifo "$in" "$out"
	psql -X -q -d "$database" -v ON_ERROR_STOP=0 <"$in" >"$out" 2>&1 &
	session_pid[$1]=$!
	# both ends for both, so that neither opening nor closing blocks
	exec {fd}<>"$in"
	session_in[$1]=$fd
	exec {fd}<>"$out"
	session_out[$1]=$fd
	printf '%s\n' '\pset footer off' '\set VERBOSITY terse' >&"${session_in[$1]}"
	send "$1" '\pset tuples_only on
		SELECT pg_backend_pid();
		\pset tuples_only off'
	receive "$1"
	backend[$1]=${answer//[$' \n']/}
	[ -n "${backend[$1]}" ] || die "session $1 did not start"
}

close_sessions()
{
	local name

	for name in "${!session_pid[@]}"; do
		printf '\\q\n' >&"${session_in[$name]}" || true
		wait "${session_pid[$name]}" || true
	done
	session_pid=()
}

send()
{
	printf '%s\n\\echo end of answer\n' "$2" >&"${session_in[$1]}"
}

# receive NAME: what a session says, in the variable answer.  In this shell, not
# in a substitution, for which a signal would have to wait.
receive()
{
	local text

	answer=
	while IFS= read -r -t $patience -u "${session_out[$1]}" text; do
		[ "$text" != 'end of answer' ] || return 0
		answer+=$text$'\n'
	done
	die "session $1 did not answer within $patience seconds"
}

# show_sql NAME SQL: the statement as if typed, behind the session's name
show_sql()
{
	local first=1 text

	while IFS= read -r text; do
		if [ -n "$first" ]; then
			printf '  %s%s>%s %s\n' "$faint" "$1" "$plain" "$text"
			first=
		else
			printf '  %*s  %s\n' ${#1} '' "$text"
		fi
	done <<<"$2"
}

# The rows of psql's table: cells separated by |, and each receipt, which is
# random, by the number of its first appearance.
rows()
{
	local text receipt

	while IFS= read -r text; do
		while [[ $text =~ local:[[:alnum:]_=/+-]+ ]]; do
			receipt=${BASH_REMATCH[0]}
			[ -n "${receipts[$receipt]:-}" ] ||
				receipts[$receipt]="receipt ${#receipts[@]}"
			text=${text//$receipt/${receipts[$receipt]}}
		done
		printf '%s\n' "$text"
	done < <(
		# an error has no table around it
		grep -E '^(ERROR|FATAL|psql):' <<<"$1" || true
		sed -e '1,/^[-+]*$/d' -e '/^$/d' -e 's/ *| */|/g' -e 's/^ *//' -e 's/ *$//' <<<"$1"
	)
}

# judge NAME [ROW]...: print what the session answered, and compare its rows
judge()
{
	local name=$1 got wanted
	shift

	receive "$name"
	printf '%s' "$answer" | sed -e '/^$/d' -e 's/^/    /' -e 's/ *$//'
	printf '\n'
	# in this shell, not in a substitution, which would forget the receipts
	rows "$answer" >"$scratch/rows"
	got=$(cat "$scratch/rows")
	wanted=$(printf '%s\n' "$@")
	if [ "$got" != "$wanted" ]; then
		wrong=$((wrong + 1))
		printf '    %sthis is not what booking promises; it should be:%s\n' "$red" "$plain"
		printf '%s\n\n' "$wanted" | sed 's/^/    /'
	fi
}

# ask NAME SQL [ROW]...: run a statement and expect these rows
ask()
{
	show_sql "$1" "$2"
	send "$1" "$2"
	judge "$1" "${@:3}"
}

# start NAME SQL: send a statement and leave it running; judge gets the answer
start()
{
	show_sql "$1" "$2"
	send "$1" "$2"
}

# run NAME SQL: a statement without a result worth showing
run()
{
	show_sql "$1" "$2"
	send "$1" "${2%;} \\g /dev/null"
	receive "$1"
	printf '\n'
	if [ -n "$answer" ]; then
		wrong=$((wrong + 1))
		printf '%s\n' "$answer" | sed 's/^/    /'
	fi
}

# await_blocked NAME: until the session waits for a lock of another one
await_blocked()
{
	local deadline=$((SECONDS + patience))

	until [ "$(psql -X -q -At -d "$database" -c "SELECT cardinality(pg_blocking_pids(${backend[$1]}))")" != 0 ]; do
		[ $SECONDS -lt $deadline ] || die "session $1 did not wait for the other one"
	done
}
