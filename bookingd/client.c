/*-------------------------------------------------------------------------
 *
 * client.c
 *	  connections of senders, and their time
 *
 * libmicrohttpd gives up on a connection where nothing comes, but a byte now and
 * then keeps one open for ever.  Here a request has to arrive as a whole within a
 * time from the beginning of the connection or the end of the previous request.
 * All have the same time, so the list of those who wait is in the order of their
 * deadlines.
 *
 * libmicrohttpd has no call to end a connection; we shut its socket down, and it
 * finds it ended.
 *
 * IDENTIFICATION
 *	  booking/bookingd/client.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres_fe.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "bookingd/client.h"
#include "bookingd/clock.h"
#include "bookingd/log.h"

/*
 * Split HOST:PORT; an address of IPv6 is in brackets.  False if it is neither.
 */
static bool
split_address(const char *address, char *host, size_t room, const char **port)
{
	const char *colon = strrchr(address, ':');
	size_t		len;

	if (!colon || colon[1] == '\0')
		return false;
	*port = colon + 1;
	len = colon - address;
	if (len >= 2 && address[0] == '[' && colon[-1] == ']')
	{
		address++;
		len -= 2;
	}
	if (len == 0 || len >= room)
		return false;
	memcpy(host, address, len);
	host[len] = '\0';
	return true;
}

/*
 * Bind and listen to one address.  -1 with errno when that fails.
 */
static int
listen_to(const struct addrinfo *address)
{
	int			on = 1;
	int			fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;

	/* a successor must not wait for connections of the one that was killed */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
		bind(fd, address->ai_addr, address->ai_addrlen) != 0 ||
		listen(fd, 1024) != 0)
	{
		int			save_errno = errno;

		closesocket(fd);
		errno = save_errno;
		return -1;
	}
	return fd;
}

/*
 * Listen to an address, and log where that is, for port 0 is any.  -1 with the
 * reason logged when that cannot be.
 */
int
client_listen(const char *address, const char *name)
{
	struct addrinfo hints = {0};
	struct addrinfo *found;
	struct sockaddr_storage bound;
	socklen_t	bound_len = sizeof(bound);
	char		host[NI_MAXHOST];
	char		port_text[NI_MAXSERV] = "?";
	const char *port;
	int			failure;
	int			fd;

	if (!split_address(address, host, sizeof(host), &port))
	{
		log_error("\"%s\" is no address of the form HOST:PORT", address);
		return -1;
	}
	hints.ai_socktype = SOCK_STREAM;
	hints.ai_flags = AI_PASSIVE;
	failure = getaddrinfo(host, port, &hints, &found);
	if (failure != 0)
	{
		log_error("could not translate \"%s\" to an address: %s", address, gai_strerror(failure));
		return -1;
	}
	fd = listen_to(found);
	if (fd < 0)
		log_error("could not listen on \"%s\": %m", address);
	else if (getsockname(fd, (struct sockaddr *) &bound, &bound_len) == 0)
	{
		(void) getnameinfo((struct sockaddr *) &bound, bound_len, NULL, 0, port_text,
						   sizeof(port_text), NI_NUMERICSERV);
		log_info("listening for %s on %s, port %s", name, host, port_text);
	}
	freeaddrinfo(found);
	return fd;
}

/*
 * The client of a connection.
 */
Client *
client_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

/*
 * Called by libmicrohttpd when a connection begins and when it has ended.
 */
void
client_notify(void *arg, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	Front	   *front = arg;
	Client	   *client = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED)
	{
		client = pg_malloc0(sizeof(Client));
		client->fd = MHD_get_connection_info(connection,
											 MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
		*context = client;
		front->nclients++;
		client_wait(front, client);
	}
	else
	{
		client_hold(client);
		front->nclients--;
		*context = NULL;
		pg_free(client);
	}
}

/*
 * A request has to arrive from now on.  While draining there is none to come.
 */
void
client_wait(Front *front, Client *client)
{
	client_hold(client);
	client->deadline = clock_now() + front->config.timeout * CLOCK_SECOND;
	client->waits = true;
	dlist_push_tail(&front->clients, &client->node);
}

/*
 * A request has arrived, or the client has gone: nothing is waited for.
 */
void
client_hold(Client *client)
{
	if (client->waits)
		dlist_delete(&client->node);
	client->waits = false;
}

/*
 * Answer in the middle of a request, which libmicrohttpd cannot, and end the
 * connection.  If the few bytes do not fit the socket, they are lost.
 */
void
client_refuse(Client *client, int status)
{
	char		answer[256];
	const char *reason = "Service Unavailable";

	if (status == 408)
		reason = "Request Timeout";
	else if (status == 413)
		reason = "Content Too Large";
	snprintf(answer, sizeof(answer),
			 "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
			 status, reason);
	(void) send(client->fd, answer, strlen(answer), MSG_NOSIGNAL | MSG_DONTWAIT);
	(void) shutdown(client->fd, SHUT_RDWR);
}

/*
 * End connections whose time is over.  Who has begun a request is told.
 */
void
client_expire(Front *front, int64 now)
{
	while (!dlist_is_empty(&front->clients))
	{
		Client	   *client = dlist_head_element(Client, node, &front->clients);
		Request    *request = client->request;

		if (client->deadline > now)
			break;
		client_hold(client);
		if (request && request->phase != REQUEST_ANSWERED)
		{
			client_refuse(client, 408);
			request->received_at = now;
			if (front->config.handler->answered)
				front->config.handler->answered(request, 408, "refused_time");
		}
		else
			(void) shutdown(client->fd, SHUT_RDWR);
	}
}

/*
 * End connections on which no request has begun.
 */
void
client_end_idle(Front *front)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &front->clients)
	{
		Client	   *client = dlist_container(Client, node, iter.cur);

		if (!client->request)
		{
			client_hold(client);
			(void) shutdown(client->fd, SHUT_RDWR);
		}
	}
}

/*
 * When the next connection's time is over.
 */
int64
client_next_deadline(const Front *front)
{
	if (dlist_is_empty((dlist_head *) &front->clients))
		return CLOCK_NEVER;
	return dlist_head_element(Client, node, (dlist_head *) &front->clients)->deadline;
}
