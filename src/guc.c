/*-------------------------------------------------------------------------
 *
 * guc.c
 *	  settings of the extension
 *
 * The library need not be preloaded for the ledger: a setting given before the
 * first call is a placeholder that takes effect when the library loads.
 *
 * IDENTIFICATION
 *	  booking/src/guc.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "guc.h"

int			booking_max_terms = 64;
int			booking_max_hold = 86400;
int			booking_clock_offset = 0;
bool		booking_worker = true;
int			booking_max_in_flight = 64;
int			booking_max_attempts = 20;
int			booking_http_timeout = 30000;
int			booking_http_connect_timeout = 10000;
int			booking_http_first_byte_timeout = 20000;
int			booking_poll_interval = 60;
int			booking_sync_interval = 300;
int			booking_full_sync_interval = 86400;
int			booking_sync_past = 30 * 86400;
int			booking_sync_future = 400 * 86400;
int			booking_webhook_list_interval = 3600;
int			booking_webhook_list_past = 3 * 86400;
int			booking_idle_exit = 30;
char	   *booking_insecure_hosts = NULL;
char	   *booking_allowed_networks = NULL;
char	   *booking_ca_file = NULL;
char	   *booking_secret_key_file = NULL;
char	   *booking_credential_directory = NULL;
char	   *booking_arm_key = NULL;
char	   *booking_push_url = NULL;
int			booking_outbox_keep = 7 * 86400;

static bool dump_secrets = false;

static void define_worker_settings(void);
static void define_sync_settings(void);
static void define_http_settings(void);
static void define_secret_settings(void);
static void define_integer(const char *name, const char *what, int *value,
						   int initial, int least, int most, int unit);
static void define_string(const char *name, const char *what, char **value,
						  int flags);

/*
 * Define the settings and reserve their prefix, so that a misspelt one is an
 * error and not a silent placeholder.  Called once, from _PG_init.
 */
void
booking_guc_init(void)
{
	DefineCustomIntVariable("booking.max_terms",
							"Largest size of the terms or evidence of a call.",
							"Measured on the stored form of the jsonb value.",
							&booking_max_terms,
							64,
							1,
							1024 * 1024,
							PGC_SUSET,
							GUC_UNIT_KB,
							NULL,
							NULL,
							NULL);

	DefineCustomIntVariable("booking.max_hold",
							"Longest time for which a proposal may hold units.",
							"A longer wish is cut to this.",
							&booking_max_hold,
							86400,
							1,
							INT_MAX,
							PGC_SUSET,
							GUC_UNIT_S,
							NULL,
							NULL,
							NULL);

	/*
	 * The clock seam: tests let holds expire without waiting.  Superusers
	 * only, because it decides whose hold still counts.
	 */
	DefineCustomIntVariable("booking.clock_offset",
							"Shifts the clock that decides whether a hold has expired.",
							"For tests.",
							&booking_clock_offset,
							0,
							INT_MIN,
							INT_MAX,
							PGC_SUSET,
							GUC_UNIT_S | GUC_NOT_IN_SAMPLE,
							NULL,
							NULL,
							NULL);

	define_worker_settings();
	define_sync_settings();
	define_http_settings();
	define_secret_settings();
	MarkGUCPrefixReserved("booking");
}

/*
 * Settings of the worker.  They belong to the server, not to a session, so
 * they change by reload.
 */
static void
define_worker_settings(void)
{
	DefineCustomBoolVariable("booking.worker",
							 "Lets the worker write to calendar providers.",
							 NULL,
							 &booking_worker,
							 true,
							 PGC_SIGHUP,
							 0,
							 NULL,
							 NULL,
							 NULL);
	define_integer("booking.max_in_flight",
				   "Most requests to providers at one time.",
				   &booking_max_in_flight, 64, 1, 1000, 0);
	define_integer("booking.max_attempts",
				   "Tries of an operation before it is left to an operator.",
				   &booking_max_attempts, 20, 1, 1000, 0);
	define_integer("booking.poll_interval",
				   "Time between looks for work that nobody announced.",
				   &booking_poll_interval, 60, 1, 3600, GUC_UNIT_S);
	define_integer("booking.idle_exit",
				   "Time after which an idle worker that was not preloaded leaves.",
				   &booking_idle_exit, 30, 1, 86400, GUC_UNIT_S);
}

/*
 * Settings of synchronization.
 */
static void
define_sync_settings(void)
{
	define_string("booking.push_url",
				  "URL, of a receiver of ours, where providers tell of changes in calendars; none where they are not to.",
				  &booking_push_url, GUC_SUPERUSER_ONLY);
	define_integer("booking.outbox_keep",
				   "Time for which deliveries to subscribers are kept when they are settled, and tried when they are not.",
				   &booking_outbox_keep, 7 * 86400, 60, 90 * 86400, GUC_UNIT_S);
	define_integer("booking.sync_interval",
				   "Time between two readings of a calendar; 0 reads only when asked.",
				   &booking_sync_interval, 300, 0, 7 * 86400, GUC_UNIT_S);
	define_integer("booking.full_sync_interval",
				   "Time after which a calendar is compared as a whole, in case a change was not told.",
				   &booking_full_sync_interval, 86400, 60, 90 * 86400, GUC_UNIT_S);
	define_integer("booking.sync_past",
				   "How far behind now occurrences of series are known.",
				   &booking_sync_past, 30 * 86400, 0, 10 * 366 * 86400, GUC_UNIT_S);
	define_integer("booking.sync_future",
				   "How far ahead of now occurrences of series are known.",
				   &booking_sync_future, 400 * 86400, 86400, 10 * 366 * 86400, GUC_UNIT_S);
	define_integer("booking.webhook_list_interval",
				   "Time between two listings of the bookings of a source of webhooks; 0 lists none.",
				   &booking_webhook_list_interval, 3600, 0, 7 * 86400, GUC_UNIT_S);
	define_integer("booking.webhook_list_past",
				   "How far behind now a booking may have changed that is listed.",
				   &booking_webhook_list_past, 3 * 86400, 3600, 90 * 86400, GUC_UNIT_S);
}

/*
 * Settings of requests to providers.
 */
static void
define_http_settings(void)
{
	define_integer("booking.http_timeout",
				   "Longest time for one request and its answer.",
				   &booking_http_timeout, 30000, 10, 600000, GUC_UNIT_MS);
	define_integer("booking.http_connect_timeout",
				   "Longest time for name, connection and TLS together.",
				   &booking_http_connect_timeout, 10000, 10, 600000, GUC_UNIT_MS);
	define_integer("booking.http_first_byte_timeout",
				   "Longest time from the request to the first byte of its answer.",
				   &booking_http_first_byte_timeout, 20000, 10, 600000, GUC_UNIT_MS);
	define_string("booking.insecure_hosts",
				  "Hosts that may be spoken to without TLS, comma-separated.",
				  &booking_insecure_hosts, GUC_SUPERUSER_ONLY);
	define_string("booking.allowed_networks",
				  "Private, loopback and link-local networks that providers may be in, comma-separated.",
				  &booking_allowed_networks, GUC_SUPERUSER_ONLY);
	define_string("booking.ca_file",
				  "File of certificates to trust instead of the system's.",
				  &booking_ca_file, GUC_SUPERUSER_ONLY);
}

/*
 * Settings that are, or lead to, secrets.
 */
static void
define_secret_settings(void)
{
	define_string("booking.secret_key_file",
				  "File whose content credentials are encrypted with.",
				  &booking_secret_key_file, GUC_SUPERUSER_ONLY);
	define_string("booking.credential_directory",
				  "Folder of the files that credentials may name.",
				  &booking_credential_directory, GUC_SUPERUSER_ONLY);
	define_string("booking.arm_key",
				  "Word that tells this server from its physical copies.",
				  &booking_arm_key, GUC_SUPERUSER_ONLY | GUC_NO_SHOW_ALL);

	/* read by the filter of pg_dump's configuration tables */
	DefineCustomBoolVariable("booking.dump_secrets",
							 "Lets pg_dump include credentials.",
							 NULL,
							 &dump_secrets,
							 false,
							 PGC_SUSET,
							 0,
							 NULL,
							 NULL,
							 NULL);
}

/*
 * An integer that belongs to the server.
 */
static void
define_integer(const char *name, const char *what, int *value, int initial,
			   int least, int most, int unit)
{
	DefineCustomIntVariable(name, what, NULL, value, initial, least, most,
							PGC_SIGHUP, unit, NULL, NULL, NULL);
}

/*
 * A string that belongs to the server.
 */
static void
define_string(const char *name, const char *what, char **value, int flags)
{
	DefineCustomStringVariable(name, what, NULL, value, "", PGC_SIGHUP, flags,
							   NULL, NULL, NULL);
}
