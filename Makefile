# booking/Makefile
#
# An ordinary PGXS makefile: make, make install, make installcheck.
# The targets below the include run without PGXS too, so that "make test" and
# "make demo" can install the server's development files where they are missing.

EXTENSION = booking
MODULE_big = booking
PGFILEDESC = "booking - double bookings made impossible"
DATA = $(wildcard sql/booking--*.sql)

booking_sources := $(sort $(wildcard src/*.c src/*/*.c))
booking_headers := $(sort $(wildcard src/*.h src/*/*.h))
OBJS = $(booking_sources:.c=.o)
PG_CPPFLAGS = -I$(srcdir)/src $(shell pkg-config --cflags libical libxml-2.0 json-c 2>/dev/null)

# DEVELOPER=1 makes every warning an error.  The three that are silenced are
# raised by PostgreSQL's own headers and by the signatures it prescribes:
# PG_FUNCTION_ARGS is often unused, its list macros compare signed with
# unsigned, and tables of structs are filled from the front.
ifdef DEVELOPER
PG_CFLAGS += -Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare \
	-Wno-missing-field-initializers
# A server built by gcc hands clang options and attributes it does not know.
ifneq (,$(findstring clang,$(CC)))
PG_CFLAGS += -Wno-unknown-warning-option -Wno-ignored-attributes \
	-Wno-ignored-optimization-argument
endif
endif

# Only what PostgreSQL looks up by name leaves the library.  PostgreSQL loads
# modules with RTLD_GLOBAL, so any other extern name could meet another
# module's.  A list for the linker does this on every supported version;
# -fvisibility=hidden does not, since before 16 PG_FUNCTION_INFO_V1 gives the
# function itself no visibility.
export_list = booking.map
SHLIB_LINK += -Wl,--version-script=$(export_list)
EXTRA_CLEAN = $(export_list) bookingd/bookingd $(wildcard bookingd/*.o)

# The HTTP engine.
SHLIB_LINK += -lcurl

# The parsers of the codec; of libical only the calendar itself.
SHLIB_LINK += -lical $(shell pkg-config --libs libxml-2.0 json-c 2>/dev/null)

# Tests do not depend on each other, so any order will do.
REGRESS = $(patsubst test/sql/%.sql,%,$(sort $(wildcard test/sql/*.sql)))
REGRESS_OPTS = --inputdir=test

ISOLATION = $(patsubst test/isolation/specs/%.spec,%,$(sort $(wildcard test/isolation/specs/*.spec)))
ISOLATION_OPTS = --inputdir=test/isolation

ifneq (,$(wildcard test/t/*.pl))
TAP_TESTS = 1
PROVE_TESTS = test/t/*.pl
endif

# Bitcode would let the JIT inline our functions, which gains nothing for calls
# that execute statements, and it needs clang and llvm at build time.
override with_llvm = no

PG_CONFIG ?= pg_config
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))

ifneq (,$(PGXS))
include $(PGXS)
else
.DEFAULT_GOAL := all
all install installcheck clean:
	@echo "$(PG_CONFIG) finds no PostgreSQL server development files;" \
		"install them (Debian: postgresql-server-dev-15) or set PG_CONFIG." >&2
	@exit 1
endif

$(OBJS): $(booking_headers) Makefile

$(export_list): $(booking_sources) Makefile
	{ echo '{ global: Pg_magic_func; _PG_init;'; \
	  sed -n -e 's/^PG_FUNCTION_INFO_V1(\(.*\));.*/\1; pg_finfo_\1;/p' \
		-e 's/^PGDLLEXPORT void \(booking_.*_main\)(.*/\1;/p' $(booking_sources); \
	  echo 'local: *; };'; } >$@

$(shlib): $(export_list)

# bookingd, the program that receives webhooks, is built where libmicrohttpd is;
# MICROHTTPD=yes insists, MICROHTTPD=no leaves it out.
MICROHTTPD ?= $(shell pkg-config --exists libmicrohttpd 2>/dev/null && echo yes)
bookingd_sources := $(sort $(wildcard bookingd/*.c))
bookingd_objects := $(bookingd_sources:.c=.o)
booking_version = $(shell sed -n "s/^default_version = '\(.*\)'/\1/p" booking.control)

ifneq (,$(and $(PGXS),$(bookingd_sources),$(filter yes,$(MICROHTTPD))))
$(bookingd_objects): override CPPFLAGS := -I$(srcdir) -I$(libpq_srcdir) $(CPPFLAGS) \
	-DBOOKING_VERSION='"$(booking_version)"' $(shell pkg-config --cflags libmicrohttpd)
$(bookingd_objects): $(wildcard bookingd/*.h) Makefile booking.control

bookingd/bookingd: $(bookingd_objects)
	$(CC) $(CFLAGS) $^ $(LDFLAGS) $(LDFLAGS_EX) -L$(pkglibdir) -lpgcommon -lpgport $(libpq) \
		$(shell pkg-config --libs libmicrohttpd) -o $@

all: bookingd/bookingd

install: install-bookingd
uninstall: uninstall-bookingd
.PHONY: install-bookingd uninstall-bookingd

install-bookingd: bookingd/bookingd
	$(MKDIR_P) '$(DESTDIR)$(bindir)' '$(DESTDIR)$(mandir)/man1'
	$(INSTALL_PROGRAM) bookingd/bookingd '$(DESTDIR)$(bindir)/bookingd'
	$(INSTALL_DATA) $(srcdir)/bookingd/bookingd.1 '$(DESTDIR)$(mandir)/man1/bookingd.1'

uninstall-bookingd:
	rm -f '$(DESTDIR)$(bindir)/bookingd' '$(DESTDIR)$(mandir)/man1/bookingd.1'
endif

# Everything below works in a temporary copy and leaves the checkout clean.

.PHONY: demo test test-long test-matrix bench lint dist docs

demo:
	@tools/run demo

bench:
	@tools/run bench

test:
	@tools/run-tests

test-long:
	@tools/run-tests --long

test-matrix:
	@tools/test-matrix

lint:
	@tools/lint

dist:
	@tools/dist

# The documentation with its reference, in build/doc.
docs:
	@tools/docs
