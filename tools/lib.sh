# tools/lib.sh
#
# What the shell tools share: where things are, which user may run a server,
# temporary folders, and taking down exactly what was started.  Sourced by bash
# with "set -eu" in force; defines, and clears the environment, nothing else.

# shellcheck shell=bash disable=SC2034

topdir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tooldir=$topdir/tools
# the version that tests run on; another one only where its packages are
pgmajor=${BOOKING_PGMAJOR:-15}

# A caller's settings must reach neither a build nor a session of ours.
unset MAKEFLAGS MFLAGS MAKELEVEL GNUMAKEFLAGS
for name in "${!PG@}"; do
	case $name in
		PG_*) ;;
		*) unset "$name" ;;
	esac
done
unset name
export LC_ALL=C.UTF-8 LANG=C.UTF-8 PSQLRC=/dev/null
# Debian keeps pgbouncer where ordinary users do not look.
export PATH=$PATH:/usr/sbin:/sbin

say()
{
	printf '%s\n' "$@"
}

die()
{
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

have()
{
	command -v "$1" >/dev/null 2>&1
}

# need COMMAND PACKAGE: stop with one sentence when a command is missing.
need()
{
	have "$1" || die "$1 is missing; install the Debian package $2."
}

# Set pg_config, bindir and pgxsdir from $PG_CONFIG or Debian's place.
find_postgres()
{
	pg_config=${PG_CONFIG:-/usr/lib/postgresql/$pgmajor/bin/pg_config}
	if ! have "$pg_config"; then
		if [ -n "${PG_CONFIG:-}" ] || ! have pg_config; then
			die "$pg_config is missing; install the Debian package postgresql-server-dev-$pgmajor."
		fi
		pg_config=pg_config
	fi
	bindir=$("$pg_config" --bindir)
	pgxsdir=$(dirname "$("$pg_config" --pgxs)")/../..
	[ -d "$pgxsdir" ] ||
		die "$pgxsdir is missing; install the Debian package postgresql-server-dev-$pgmajor."
	pgxsdir=$(cd "$pgxsdir" && pwd)
	[ -x "$bindir/postgres" ] ||
		die "$bindir/postgres is missing; install the Debian package postgresql-$pgmajor."
}

# staged_conf DESTDIR: what a server needs in its configuration to find the
# extension that "make install DESTDIR=..." put there.  Debian's own servers have
# extension_destdir up to 17; from 18 on there is extension_control_path.
# Preloading knows neither.
staged_conf()
{
	local extensions

	extensions=$1$("$pg_config" --sharedir)
	if [ "$("$pg_config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')" -ge 18 ]; then
		say "extension_control_path = '$extensions:\$system'"
	else
		say "extension_destdir = '$1'"
	fi
	say "dynamic_library_path = '$1$("$pg_config" --pkglibdir):\$libdir'"
}

# PostgreSQL refuses root, so root runs servers, builds and tests as postgres.
as_runner()
{
	if [ "$(id -u)" -ne 0 ]; then
		"$@"
	else
		id postgres >/dev/null 2>&1 ||
			die "there is no user postgres; install the Debian package postgresql-$pgmajor."
		setpriv --reuid=postgres --regid=postgres --init-groups \
			env HOME=/nonexistent USER=postgres LOGNAME=postgres "$@"
	fi
}

# make_workdir NAME: a private folder of the runner, its name in workdir.
# Private because sessions in it need no password.
make_workdir()
{
	local parent=${TMPDIR:-/tmp}

	# a socket's path is limited to 107 bytes, and the runner must get there
	if [ ${#parent} -gt 40 ] || ! as_runner test -x "$parent"; then
		parent=/tmp
	fi
	workdir=$(mktemp -d "$parent/booking-$1.XXXXXX")
	if [ "$(id -u)" -eq 0 ]; then
		chown postgres: "$workdir"
	fi
}

# copy_tree DIR: the sources without history and build products.
copy_tree()
{
	mkdir -p "$1"
	tar -C "$topdir" -cf - --exclude=./.git --exclude='*.o' --exclude='*.so' \
		--exclude='*.bc' --exclude=./booking.map --exclude=./bookingd/bookingd \
		--exclude=./results \
		--exclude=./output_iso --exclude=./tmp_check . | tar -C "$1" -xf -
	if [ "$(id -u)" -eq 0 ]; then
		chown -R postgres: "$1"
	fi
}

# works_below DIR PROCESS...: does one of them work there?  The number may long
# belong to someone else, or to a dead process whose parent has yet to notice.
works_below()
{
	local dir=$1 pid
	shift

	for pid in "$@"; do
		case $(readlink "/proc/$pid/cwd" 2>/dev/null || true) in
			"$dir"/*) return 0 ;;
		esac
	done
	return 1
}

# Take down the servers whose data lies below DIR, and no other one.  At once,
# since the data goes with them: nothing is written for a next start.
stop_servers_below()
{
	local file pid signal

	for signal in QUIT KILL; do
		local left=
		while IFS= read -r file; do
			pid=$(head -n 1 "$file" 2>/dev/null || true)
			case $pid in
				'' | *[!0-9]*) continue ;;
			esac
			works_below "$1" "$pid" || continue
			kill -s "$signal" "$pid" 2>/dev/null || continue
			left="$left $pid"
		done < <(find "$1" -name postmaster.pid 2>/dev/null)
		[ -n "$left" ] || return 0
		for _ in $(seq 100); do
			# shellcheck disable=SC2086
			works_below "$1" $left || return 0
			sleep 0.05
		done
	done
}

remove_workdir()
{
	[ -n "${workdir:-}" ] && [ -d "$workdir" ] || return 0
	stop_servers_below "$workdir"
	rm -rf "$workdir"
}
