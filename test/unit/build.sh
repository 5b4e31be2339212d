# test/unit/build.sh
#
# How programs are built from the codec without a server.  Sourced by run.sh
# here and in test/fuzz; defines, and does nothing else.

# shellcheck shell=bash

unitdir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$unitdir/../../tools/lib.sh"

sanitize="-O1 -fno-omit-frame-pointer -fsanitize=address,undefined
	-fno-sanitize-recover=all"

# What the Makefile silences for the extension is silenced here too.
unit_warnings="-Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare
	-Wno-missing-field-initializers"

# compile_codec COMPILER FLAGS ARCHIVE: the codec, and zones from the C library.
compile_codec()
{
	local compiler=$1 flags=$2 archive=$3 objects

	objects=$(mktemp -d "${archive%/*}/objects.XXXXXX")
	(
		cd "$objects"
		# shellcheck disable=SC2046
		compile "$compiler" "$flags" -c "$topdir"/src/codec/*.c \
			"$unitdir/zoneinfo_libc.c" "$unitdir/tap.c"
		ar -rcs "$archive" ./*.o
	)
	rm -rf "$objects"
}

# compile_unit COMPILER FLAGS ARCHIVE OUTPUT SOURCE: a program on top of it.
compile_unit()
{
	# shellcheck disable=SC2046
	compile "$1" "$2" -o "$4" "$5" "$3" \
		-L"$("$pg_config" --libdir)" -L"$("$pg_config" --pkglibdir)" \
		-lpgcommon -lpgport -lical $(pkg-config --libs libxml-2.0 json-c) -lcrypto -lm
}

compile()
{
	local compiler=$1 flags=$2 quirks=

	shift 2
	# the server's headers were made for gcc
	case $compiler in
		*clang*) quirks="-Wno-unknown-warning-option -Wno-ignored-attributes" ;;
	esac
	# shellcheck disable=SC2046,SC2086
	"$compiler" -std=gnu99 -g -DFRONTEND -D_GNU_SOURCE $unit_warnings $quirks $flags \
		-I"$topdir/src" -I"$unitdir" -isystem "$("$pg_config" --includedir-server)" \
		$(pkg-config --cflags libical libxml-2.0 json-c) "$@"
}
