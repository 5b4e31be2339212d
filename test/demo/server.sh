# test/demo/server.sh
#
# A real calendar server and a line to it that can go dead, both only for this
# story.  Sourced by run.sh after lib.sh.

server_pids=()
server_dir=

# PostgreSQL does not run as root, and neither do these.
as_nobody_special()
{
	if [ "$(id -u)" -eq 0 ]; then
		exec setpriv --reuid=postgres --regid=postgres --init-groups \
			env HOME=/nonexistent PATH=/usr/bin:/bin "$@"
	else
		exec "$@"
	fi
}

# start_server: Radicale with one user and an empty calendar, in server_port;
# the line to it in line_port.  Everything it keeps is below server_dir.
start_server()
{
	command -v radicale >/dev/null ||
		die "radicale is missing; install the Debian package radicale"
	command -v curl >/dev/null || die "curl is missing; install the Debian package curl"

	server_dir=$(mktemp -d)
	server_port=$(free_port)
	cat >"$server_dir/config" <<-CONF
		[server]
		hosts = 127.0.0.1:$server_port
		[auth]
		type = htpasswd
		htpasswd_filename = $server_dir/users
		htpasswd_encryption = plain
		[storage]
		filesystem_folder = $server_dir/collections
		[logging]
		level = warning
	CONF
	echo 'hotel:secret' >"$server_dir/users"
	cp "$here/lossy_proxy.py" "$server_dir/"
	[ "$(id -u)" -ne 0 ] || chown -R postgres: "$server_dir"

	(as_nobody_special radicale --config "$server_dir/config") >"$server_dir/log" 2>&1 &
	server_pids+=($!)
	await "the calendar server did not start" answers "$server_port"
	(as_nobody_special python3 "$server_dir/lossy_proxy.py" "$server_port" \
		"$server_dir/port" "$server_dir/dead") >>"$server_dir/log" 2>&1 &
	server_pids+=($!)
	await "the line did not start" test -s "$server_dir/port"
	line_port=$(cat "$server_dir/port")
}

# seal_credentials: credentials are encrypted with a key in a file
seal_credentials()
{
	head -c 32 /dev/urandom | base64 >"$server_dir/key"
	chmod 600 "$server_dir/key"
	[ "$(id -u)" -ne 0 ] || chown postgres: "$server_dir/key"
	psql -X -q -d postgres -c "ALTER SYSTEM SET booking.secret_key_file = '$server_dir/key'" \
		-c 'SELECT pg_reload_conf()' >/dev/null
	await "the server did not take its new setting" sealing
}

sealing()
{
	[ -n "$(psql -X -q -At -d postgres -c 'SHOW booking.secret_key_file')" ]
}

stop_server()
{
	[ ${#server_pids[@]} -eq 0 ] ||
		kill ${interrupted:+-KILL} "${server_pids[@]}" 2>/dev/null || true
	[ ${#server_pids[@]} -eq 0 ] || wait "${server_pids[@]}" 2>/dev/null || true
	server_pids=()
	[ -z "$server_dir" ] || rm -rf "$server_dir"
}

free_port()
{
	local port

	while :; do
		port=$((10240 + RANDOM % 20000))
		answers $port || break
	done
	echo $port
}

answers()
{
	(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# await COMPLAINT COMMAND...: until the command succeeds
await()
{
	local deadline=$((SECONDS + patience)) complaint=$1
	shift

	until "$@"; do
		[ $SECONDS -lt $deadline ] || die "$complaint"
		sleep 0.1
	done
}

# settle INTENT STATE: until the worker has brought a phone intent there
settle()
{
	await "the intent $1 did not become $2" in_state "$1" "$2"
}

in_state()
{
	[ "$(psql -X -q -At -d "$database" -c "SELECT state FROM booking_status('hotel', 'phone', '$1')")" = "$2" ]
}

# shell COMMAND: a command line as if typed, and what it prints
shell()
{
	printf '  %s$%s %s\n' "$faint" "$plain" "$1"
	bash -c "$1"
	printf '\n'
}

# collection [LINE]...: what the server itself has, asked without the database;
# each event id, which nobody can guess, by the number of its first appearance
collection()
{
	local command text id got='' wanted
	command="curl -s -u hotel:secret http://127.0.0.1:$server_port/hotel/salon/ | tr -d '\\r' |
      grep -E '^(DTSTART|SEQUENCE|SUMMARY|UID):' | paste -d ' ' - - - -"

	printf '  %s$%s %s\n' "$faint" "$plain" "$command"
	# events in the order of their starts, whatever the server's order
	bash -c "$command" | sed 's/^\(UID:[^ ]*\) \(.*\)/\2 \1/' | sort >"$scratch/collection"
	if [ -s "$scratch/collection" ]; then
		sed 's/^/    /' "$scratch/collection"
	else
		printf '    (no event)\n'
	fi
	printf '\n'
	while IFS= read -r text; do
		id=${text##*UID:}
		[ -n "${events[$id]:-}" ] || events[$id]="event ${#events[@]}"
		text=${text%"$id"}${events[$id]}
		got+=$text$'\n'
	done <"$scratch/collection"
	got=${got%$'\n'}
	wanted=$(printf '%s\n' "$@")
	if [ "$got" != "$wanted" ]; then
		wrong=$((wrong + 1))
		printf '    %sthis is not what booking promises; it should be:%s\n' "$red" "$plain"
		printf '%s\n\n' "$wanted" | sed 's/^/    /'
	fi
}
