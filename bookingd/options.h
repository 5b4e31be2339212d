/*-------------------------------------------------------------------------
 *
 * options.h
 *	  settings of bookingd
 *
 * IDENTIFICATION
 *	  booking/bookingd/options.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKINGD_OPTIONS_H
#define BOOKINGD_OPTIONS_H

typedef struct Options
{
	const char *dbname;			/* a name or a connection string; may be NULL */
	const char *schema;			/* of the function; NULL: the extension's */
	const char *listen;			/* HOST:PORT */
	const char *metrics_listen; /* HOST:PORT, or NULL for none */
	int			pool;
	int			queue;			/* deliveries that may wait for a connection */
	int			rate;			/* a source and second; 0: no limit */
	int			burst;
	int			max_body;		/* bytes */
	int			max_memory;		/* bytes of all bodies at once */
	int			max_headers;
	int			max_header_size;	/* bytes of a request without its body */
	int			max_connections;
	int			request_timeout;	/* seconds */
	int			answer_timeout;
	int			drain_timeout;
	int			metrics_age;
	int			retry_after;
} Options;

extern void options_parse(Options *options, int argc, char **argv);

#endif							/* BOOKINGD_OPTIONS_H */
