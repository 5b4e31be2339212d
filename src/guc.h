/*-------------------------------------------------------------------------
 *
 * guc.h
 *	  settings of the extension
 *
 * IDENTIFICATION
 *	  booking/src/guc.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_GUC_H
#define BOOKING_GUC_H

extern int	booking_max_terms;	/* kilobytes of terms or evidence */
extern int	booking_max_hold;	/* seconds a proposal may hold units */
extern int	booking_clock_offset;	/* seconds added to the clock of holds */

extern bool booking_worker;		/* may the worker send? */
extern int	booking_max_in_flight;	/* requests at one time */
extern int	booking_max_attempts;	/* tries of an operation before it is parked */
extern int	booking_http_timeout;	/* milliseconds for one request */
extern int	booking_http_connect_timeout;
extern int	booking_http_first_byte_timeout;
extern int	booking_outbox_keep;	/* seconds that settled deliveries are kept */
extern char *booking_push_url;	/* where providers tell of changes; "": nowhere */
extern int	booking_poll_interval;	/* seconds between looks without a wake-up */
extern int	booking_sync_interval;	/* seconds between rounds of a calendar, 0 none */
extern int	booking_full_sync_interval; /* seconds between full passes */
extern int	booking_sync_past;	/* seconds of the window behind now */
extern int	booking_sync_future;	/* and before it */
extern int	booking_webhook_list_interval;	/* seconds between listings, 0 none */
extern int	booking_webhook_list_past;	/* seconds that they go back */
extern int	booking_idle_exit;	/* seconds until an idle worker leaves */
extern char *booking_insecure_hosts;
extern char *booking_allowed_networks;
extern char *booking_ca_file;
extern char *booking_secret_key_file;
extern char *booking_credential_directory;
extern char *booking_arm_key;

extern void booking_guc_init(void);

#endif							/* BOOKING_GUC_H */
