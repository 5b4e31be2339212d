/*-------------------------------------------------------------------------
 *
 * address.c
 *	  which network addresses the worker may connect to
 *
 * The URL of an account comes from a user, and its name from a name server
 * that may be the user's own.  So the address itself is judged, at the moment
 * of connecting: what is not a public unicast address is refused unless the
 * administrator listed its network.  Otherwise an account would reach the
 * services of the database's host, its neighbours, or a cloud's metadata.
 *
 * Addresses are compared as 16 bytes, IPv4 in its mapped form.  Nothing here
 * throws or allocates, since libcurl calls it.
 *
 * IDENTIFICATION
 *	  booking/src/net/address.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "net/address.h"

/* an address, or a network of so many leading bits */
typedef struct Network
{
	unsigned char bytes[16];
	int			bits;
	bool		is_v4;
} Network;

/* refused unless listed: the special-purpose registries of IANA */
static const char special_networks[] =
	"0.0.0.0/8,"				/* this host */
	"10.0.0.0/8,"				/* private */
	"100.64.0.0/10,"			/* shared by a carrier's customers */
	"127.0.0.0/8,"				/* loopback */
	"169.254.0.0/16,"			/* link-local, metadata of clouds */
	"172.16.0.0/12,"			/* private */
	"192.0.0.0/24,"				/* protocol assignments */
	"192.0.2.0/24,"				/* documentation */
	"192.168.0.0/16,"			/* private */
	"198.18.0.0/15,"			/* benchmarks */
	"198.51.100.0/24,"			/* documentation */
	"203.0.113.0/24,"			/* documentation */
	"224.0.0.0/4,"				/* multicast */
	"240.0.0.0/4,"				/* reserved, broadcast */
	"::/96,"					/* unspecified, loopback, IPv4-compatible */
	"64:ff9b:1::/48,"			/* local translation */
	"100::/64,"					/* discard */
	"2001::/23,"				/* protocol assignments, Teredo */
	"2001:db8::/32,"			/* documentation */
	"fc00::/7,"					/* unique local */
	"fe80::/10,"				/* link-local */
	"fec0::/10,"				/* site-local */
	"ff00::/8";					/* multicast */

static const unsigned char mapped_prefix[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/* IPv6 networks whose addresses carry the IPv4 address that is really meant */
static const unsigned char translated_prefix[12] = {0x00, 0x64, 0xff, 0x9b};
static const unsigned char six_to_four_prefix[2] = {0x20, 0x02};

static bool read_sockaddr(const struct sockaddr *address, size_t length,
						  Network *result);
static bool read_network(const char *text, size_t length, Network *result);
static bool read_bits(const char *text, int max, int *bits);
static void read_v4(const void *bytes, Network *result);
static bool is_in_list(const Network *address, const char *networks);
static bool is_in_network(const Network *address, const Network *network);
static bool next_item(const char **rest, const char **item, size_t *length);

/*
 * Is this a comma-separated list of addresses and CIDR networks?  NULL and
 * the empty list are.
 */
bool
booking_networks_are_valid(const char *networks)
{
	const char *item;
	size_t		length;
	Network		network;

	while (next_item(&networks, &item, &length))
	{
		if (!read_network(item, length, &network))
			return false;
	}
	return true;
}

/*
 * May this address be connected to?  allowed_networks, which may be NULL, is
 * a list as above; an item that cannot be read allows nothing.
 */
bool
booking_address_is_allowed(const struct sockaddr *address, size_t length,
						   const char *allowed_networks)
{
	Network		outer;
	Network		inner;

	if (!read_sockaddr(address, length, &outer))
		return false;
	if (is_in_list(&outer, allowed_networks))
		return true;
	if (is_in_list(&outer, special_networks))
		return false;
	if (outer.is_v4)
		return true;

	/* a gateway would send it on to the embedded address */
	if (memcmp(outer.bytes, translated_prefix, 12) == 0)
		read_v4(outer.bytes + 12, &inner);
	else if (memcmp(outer.bytes, six_to_four_prefix, 2) == 0)
		read_v4(outer.bytes + 2, &inner);
	else
		return true;
	return is_in_list(&inner, allowed_networks) ||
		!is_in_list(&inner, special_networks);
}

/*
 * Take the address out of a socket address.  False for anything but IPv4 and
 * IPv6.
 */
static bool
read_sockaddr(const struct sockaddr *address, size_t length, Network *result)
{
	if (address->sa_family == AF_INET && length >= sizeof(struct sockaddr_in))
	{
		struct sockaddr_in v4;

		memcpy(&v4, address, sizeof(v4));
		read_v4(&v4.sin_addr, result);
		return true;
	}
	if (address->sa_family == AF_INET6 && length >= sizeof(struct sockaddr_in6))
	{
		struct sockaddr_in6 v6;

		memcpy(&v6, address, sizeof(v6));
		memcpy(result->bytes, &v6.sin6_addr, 16);
		result->bits = 128;
		result->is_v4 = memcmp(result->bytes, mapped_prefix, 12) == 0;
		return true;
	}
	return false;
}

/*
 * Read "address" or "address/bits".  False if it is neither.
 */
static bool
read_network(const char *text, size_t length, Network *result)
{
	char		buffer[INET6_ADDRSTRLEN + 4];
	char	   *slash;
	struct in_addr v4;
	int			bits;

	if (length >= sizeof(buffer))
		return false;
	memcpy(buffer, text, length);
	buffer[length] = '\0';
	slash = strchr(buffer, '/');
	if (slash != NULL)
		*slash++ = '\0';

	if (inet_pton(AF_INET, buffer, &v4) == 1)
	{
		read_v4(&v4, result);
		if (!read_bits(slash, 32, &bits))
			return false;
		result->bits = 96 + bits;
		return true;
	}
	if (inet_pton(AF_INET6, buffer, result->bytes) == 1)
	{
		if (!read_bits(slash, 128, &bits))
			return false;
		result->bits = bits;
		/* "::/0" speaks of IPv6, not of all there is */
		result->is_v4 = bits >= 96 &&
			memcmp(result->bytes, mapped_prefix, 12) == 0;
		return true;
	}
	return false;
}

/*
 * Read the number behind the slash; a missing one means a single address.
 */
static bool
read_bits(const char *text, int max, int *bits)
{
	*bits = 0;
	if (text == NULL)
	{
		*bits = max;
		return true;
	}
	if (*text == '\0' || strlen(text) > 3)
		return false;
	for (; *text != '\0'; text++)
	{
		if (*text < '0' || *text > '9')
			return false;
		*bits = *bits * 10 + (*text - '0');
	}
	return *bits <= max;
}

/*
 * Map four bytes of IPv4.
 */
static void
read_v4(const void *bytes, Network *result)
{
	memcpy(result->bytes, mapped_prefix, 12);
	memcpy(result->bytes + 12, bytes, 4);
	result->bits = 128;
	result->is_v4 = true;
}

/*
 * Is the address in one of the networks of a list?
 */
static bool
is_in_list(const Network *address, const char *networks)
{
	const char *item;
	size_t		length;
	Network		network;

	while (next_item(&networks, &item, &length))
	{
		if (read_network(item, length, &network) &&
			is_in_network(address, &network))
			return true;
	}
	return false;
}

/*
 * Is the address in the network?
 */
static bool
is_in_network(const Network *address, const Network *network)
{
	int			whole = network->bits / 8;
	int			rest = network->bits % 8;

	if (address->is_v4 != network->is_v4 ||
		memcmp(address->bytes, network->bytes, whole) != 0)
		return false;
	return rest == 0 ||
		((address->bytes[whole] ^ network->bytes[whole]) >> (8 - rest)) == 0;
}

/*
 * Step through a comma-separated list, skipping blanks.  *rest, NULL for an
 * empty list, moves behind the item; false at the end.
 */
static bool
next_item(const char **rest, const char **item, size_t *length)
{
	const char *at = *rest;

	if (at == NULL)
		return false;
	at += strspn(at, " \t");
	if (*at == '\0')
		return false;
	*item = at;
	*length = strcspn(at, ",");
	at += *length;
	*rest = *at == ',' ? at + 1 : at;
	while (*length > 0 && ((*item)[*length - 1] == ' ' || (*item)[*length - 1] == '\t'))
		(*length)--;
	return true;
}
