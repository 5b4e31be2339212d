/*-------------------------------------------------------------------------
 *
 * client.h
 *	  connections of senders, and their time
 *
 * IDENTIFICATION
 *	  booking/bookingd/client.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKINGD_CLIENT_H
#define BOOKINGD_CLIENT_H

#include "bookingd/front.h"

struct Client
{
	dlist_node	node;
	bool		waits;			/* in the front's list */
	int			fd;
	int64		deadline;
	Request    *request;		/* NULL between two */
};

extern int	client_listen(const char *address, const char *name);
extern Client *client_of(struct MHD_Connection *connection);
extern void client_notify(void *arg, struct MHD_Connection *connection,
						  void **context, enum MHD_ConnectionNotificationCode code);
extern void client_wait(Front *front, Client *client);
extern void client_hold(Client *client);
extern void client_refuse(Client *client, int status);
extern void client_expire(Front *front, int64 now);
extern void client_end_idle(Front *front);
extern int64 client_next_deadline(const Front *front);

#endif							/* BOOKINGD_CLIENT_H */
