/*-------------------------------------------------------------------------
 *
 * options.c
 *	  the command line of bookingd
 *
 * IDENTIFICATION
 *	  booking/bookingd/options.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres_fe.h"

#include <limits.h>

#include "common/logging.h"
#include "getopt_long.h"
#include "libpq-fe.h"

#include "bookingd/options.h"
#include "bookingd/rate.h"

/* an option that is a whole number, perhaps with a unit of bytes */
typedef struct NumberOption
{
	const char *name;
	size_t		member;			/* where in Options */
	int			min;
	int			max;
	int			preset;
	bool		bytes;			/* kB and MB are understood */
} NumberOption;

#define NUMBER(name, member, min, max, preset, bytes) \
	{name, offsetof(Options, member), min, max, preset, bytes}

/* the numbers; --burst and --max-memory depend on others if not given */
static const NumberOption numbers[] = {
	NUMBER("pool", pool, 1, 100, 8, false),
	NUMBER("queue", queue, 1, 100000, 1000, false),
	NUMBER("rate", rate, 0, 1000000, 100, false),
	NUMBER("burst", burst, 1, 1000000, 0, false),
	NUMBER("max-body", max_body, 1, 256 * 1024 * 1024, 1024 * 1024, true),
	NUMBER("max-memory", max_memory, 1, INT_MAX, 64 * 1024 * 1024, true),
	NUMBER("max-headers", max_headers, 1, 1000, 100, false),
	NUMBER("max-header-size", max_header_size, 4096, 1024 * 1024, 32768, true),
	NUMBER("max-connections", max_connections, 1, 50000, 512, false),
	NUMBER("request-timeout", request_timeout, 1, 3600, 10, false),
	NUMBER("answer-timeout", answer_timeout, 1, 3600, 10, false),
	NUMBER("drain-timeout", drain_timeout, 1, 3600, 15, false),
	NUMBER("metrics-age", metrics_age, 0, 3600, 5, false),
	NUMBER("retry-after", retry_after, 1, 86400, 5, false),
};

#define FIRST_NUMBER 256

static void usage(void);
static void answer_questions(int argc, char **argv);
static void take_number(Options *options, const NumberOption *number,
						const char *value);
static void check_options(Options *options);

/*
 * Where a number is kept.
 */
static int *
number_of(Options *options, const NumberOption *number)
{
	return (int *) ((char *) options + number->member);
}

/*
 * Fill the settings from the command line.  Ends the program with a message
 * when they are wrong, or with the help that was asked for.
 */
void
options_parse(Options *options, int argc, char **argv)
{
	struct option known[lengthof(numbers) + 5] = {
		{"dbname", required_argument, NULL, 'd'},
		{"listen", required_argument, NULL, 'l'},
		{"metrics-listen", required_argument, NULL, 'm'},
		{"schema", required_argument, NULL, 's'},
	};
	int			option;

	memset(options, 0, sizeof(*options));
	options->listen = "127.0.0.1:8080";
	options->metrics_listen = "127.0.0.1:9464";
	for (size_t i = 0; i < lengthof(numbers); i++)
	{
		struct option *at = &known[4 + i];

		*number_of(options, &numbers[i]) = numbers[i].preset;
		at->name = numbers[i].name;
		at->has_arg = required_argument;
		at->val = FIRST_NUMBER + (int) i;
	}

	answer_questions(argc, argv);
	while ((option = getopt_long(argc, argv, "d:l:", known, NULL)) != -1)
	{
		if (option == 'd')
			options->dbname = optarg;
		else if (option == 'l')
			options->listen = optarg;
		else if (option == 'm')
			options->metrics_listen = strcmp(optarg, "off") == 0 ? NULL : optarg;
		else if (option == 's')
			options->schema = optarg;
		else if (option >= FIRST_NUMBER)
			take_number(options, &numbers[option - FIRST_NUMBER], optarg);
		else
		{
			pg_log_error_hint("Try \"bookingd --help\" for more information.");
			exit(1);
		}
	}
	if (optind < argc)
	{
		pg_log_error("too many command-line arguments (first is \"%s\")", argv[optind]);
		pg_log_error_hint("Try \"bookingd --help\" for more information.");
		exit(1);
	}
	check_options(options);
}

/*
 * Take the value of a number, which ends the program if it is none.
 */
static void
take_number(Options *options, const NumberOption *number, const char *value)
{
	char	   *end;
	long long	given;

	errno = 0;
	given = strtoll(value, &end, 10);
	if (end != value && number->bytes && given <= INT_MAX && given >= 0)
	{
		if (strcmp(end, "kB") == 0)
			given *= 1024;
		else if (strcmp(end, "MB") == 0)
			given *= 1024 * 1024;
		if (strcmp(end, "kB") == 0 || strcmp(end, "MB") == 0)
			end += 2;
	}
	if (end == value || *end != '\0')
	{
		pg_log_error("invalid value \"%s\" for option --%s", value, number->name);
		if (number->bytes)
			pg_log_error_hint("Give bytes, or a number with kB or MB.");
		exit(1);
	}
	if (errno != 0 || given < number->min || given > number->max)
	{
		pg_log_error("--%s must be in range %d..%d", number->name, number->min, number->max);
		exit(1);
	}
	*number_of(options, number) = (int) given;
}

/*
 * Check what only several options together tell.
 *
 * A connection string that cannot be parsed is not quoted, nor what libpq says
 * of it: it may hold a password.
 */
static void
check_options(Options *options)
{
	if (options->burst == 0)
		options->burst = options->rate > 0 ? options->rate * 2 : 1;
	if (options->max_memory < options->max_body)
	{
		pg_log_error("--max-memory must be at least --max-body");
		exit(1);
	}
	if (options->dbname && (strchr(options->dbname, '=') || strstr(options->dbname, "://")))
	{
		char	   *message = NULL;
		PQconninfoOption *parsed = PQconninfoParse(options->dbname, &message);

		if (!parsed)
		{
			pg_log_error("the connection string is invalid");
			pg_log_error_hint("Try it with psql, which says where.");
			exit(1);
		}
		PQconninfoFree(parsed);
	}
}

/*
 * Help and version come first and alone, as with all of PostgreSQL's programs.
 */
static void
answer_questions(int argc, char **argv)
{
	if (argc < 2)
		return;
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0)
		usage();
	else if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		printf("bookingd (booking) %s\n", BOOKING_VERSION);
	else
		return;
	exit(0);
}

/*
 * Print the help.
 */
static void
usage(void)
{
	printf("bookingd receives webhooks and hands them to the database.\n\n");
	printf("Usage:\n  bookingd [OPTION]...\n\nOptions:\n");
	printf("  -d, --dbname=CONNSTR        database, or connection string\n");
	printf("  -l, --listen=HOST:PORT      where webhooks come in (default 127.0.0.1:8080)\n");
	printf("      --metrics-listen=HOST:PORT\n"
		   "                              where /healthz, /readyz and /metrics are, or \"off\"\n"
		   "                              (default 127.0.0.1:9464)\n");
	printf("      --schema=NAME           schema of booking_webhook_receive()\n"
		   "                              (default: where the extension has it)\n");
	printf("      --pool=N                connections to the database (default 8)\n");
	printf("      --queue=N               deliveries that may wait for one (default 1000)\n");
	printf("      --rate=N                deliveries a second of one source (default 100,\n"
		   "                              0 for no limit)\n");
	printf("      --burst=N               deliveries at once of one source (default twice\n"
		   "                              the rate)\n");
	printf("      --max-body=SIZE         largest body (default 1MB)\n");
	printf("      --max-memory=SIZE       all bodies together (default 64MB)\n");
	printf("      --max-headers=N         headers of a request (default 100)\n");
	printf("      --max-header-size=SIZE  request without its body (default 32kB)\n");
	printf("      --max-connections=N     connections of senders (default 512)\n");
	printf("      --request-timeout=SECS  for a request to arrive (default 10)\n");
	printf("      --answer-timeout=SECS   for the database to answer (default 10)\n");
	printf("      --drain-timeout=SECS    for what is in flight at the end (default 15)\n");
	printf("      --metrics-age=SECS      how old the database's metrics may be (default 5)\n");
	printf("      --retry-after=SECS      what senders are told with 503 (default 5)\n");
	printf("  -V, --version               output version information, then exit\n");
	printf("  -?, --help                  show this help, then exit\n");
	printf("\nThe environment variables of libpq are used for what the connection string\n"
		   "leaves open.\n");
}
