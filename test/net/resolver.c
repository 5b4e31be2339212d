/*-------------------------------------------------------------------------
 *
 * resolver.c
 *	  a name server for tests, preloaded into the server
 *
 * getaddrinfo() for names that end in ".test", without any network:
 *
 *	ip-10-0-0-1.test				the address 10.0.0.1
 *	ip-10-0-0-1.ip-127-0-0-1.test	two addresses, in this order
 *	hang.test						no answer within any test
 *	slow.ip-127-0-0-1.test			the address, after a second
 *	missing.test					no such name
 *
 * Other names go to the C library.
 *
 * IDENTIFICATION
 *	  booking/test/net/resolver.c
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

typedef int (*Getaddrinfo) (const char *, const char *,
							const struct addrinfo *, struct addrinfo **);

static struct addrinfo *make_info(const char *label, const char *service);

/*
 * In place of the C library's function.
 */
int
getaddrinfo(const char *name, const char *service,
			const struct addrinfo *hints, struct addrinfo **result)
{
	size_t		length = name == NULL ? 0 : strlen(name);
	struct addrinfo **next = result;

	if (length < 5 || strcasecmp(name + length - 5, ".test") != 0)
	{
		Getaddrinfo original = (Getaddrinfo) dlsym(RTLD_NEXT, "getaddrinfo");

		return original(name, service, hints, result);
	}
	if (strcmp(name, "hang.test") == 0)
	{
		sleep(120);
		return EAI_AGAIN;
	}
	if (strncmp(name, "slow.", 5) == 0)
		sleep(1);
	*result = NULL;
	for (const char *label = name; *label != '\0';)
	{
		if ((*next = make_info(label, service)) != NULL)
			next = &(*next)->ai_next;
		label += strcspn(label, ".");
		label += strspn(label, ".");
	}
	return *result == NULL ? EAI_NONAME : 0;
}

/*
 * The address that a label spells out, in one piece of memory as the C
 * library's, or NULL.
 */
static struct addrinfo *
make_info(const char *label, const char *service)
{
	unsigned int a,
				b,
				c,
				d;
	struct addrinfo *info;
	struct sockaddr_in *address;

	if (sscanf(label, "ip-%u-%u-%u-%u", &a, &b, &c, &d) != 4)
		return NULL;
	info = calloc(1, sizeof(struct addrinfo) + sizeof(struct sockaddr_in));
	if (info == NULL)
		return NULL;
	address = (struct sockaddr_in *) (info + 1);
	address->sin_family = AF_INET;
	address->sin_port = htons(service == NULL ? 0 : (uint16_t) strtoul(service, NULL, 10));
	address->sin_addr.s_addr = htonl(a << 24 | b << 16 | c << 8 | d);
	info->ai_family = AF_INET;
	info->ai_socktype = SOCK_STREAM;
	info->ai_addrlen = sizeof(struct sockaddr_in);
	info->ai_addr = (struct sockaddr *) address;
	return info;
}
