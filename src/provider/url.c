/*-------------------------------------------------------------------------
 *
 * url.c
 *	  URLs that never leave the origin of an account
 *
 * A password or token goes wherever a request goes, so whatever an
 * administrator configured or a server sent is joined to the account's own URL
 * here, and refused when that would lead to another scheme, host or port.
 * What is accepted is a narrow part of RFC 3986: http and https, no user, no
 * query, no fragment, no dot segments (they would make one resource have
 * several names, and "is in this collection" a guess).
 *
 * IDENTIFICATION
 *	  booking/src/provider/url.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/hex.h"
#include "provider/url.h"

/* an absolute URL taken apart; all but port point into it */
typedef struct UrlParts
{
	bool		encrypted;
	const char *host;
	size_t		host_len;
	int			port;
	const char *path;			/* begins with a slash, or is empty */
} UrlParts;

static bool split(const char *url, UrlParts *parts);
static bool split_authority(const char *data, size_t len, UrlParts *parts);
static bool read_port(const char *data, size_t len, int *port);
static bool host_is_plain(const char *host, size_t len);
static bool same_origin(const UrlParts *a, const UrlParts *b);
static char *scheme_relative(const UrlParts *base, const char *reference,
							 BookingArena *arena);
static bool path_is_plain(const char *path);
static bool is_dot_segment(const char *segment, size_t len);
static BookingUrlFault build(const char *origin, size_t origin_len,
							 const char *folder, const char *path,
							 BookingArena *arena, char **url);
static size_t encode(char *to, const char *from);
static bool must_encode(const char *p);
static bool is_unreserved(char c);
static int	next_decoded(const char **p);
static char lower(char c);

/*
 * Join a reference to the URL of an account.  The reference is an absolute URL
 * or a path; a path without a leading slash is below base, whether or not base
 * ends in a slash.  Bytes that do not belong in a URL are percent-encoded, an
 * encoding that is there is kept, since servers compare paths as they spelled
 * them (RFC 3986, 2.1 and 5.2).
 */
BookingUrlFault
booking_url_join(const char *base, const char *reference,
				 BookingArena *arena, char **url)
{
	UrlParts	from;
	UrlParts	to;
	const char *path = reference;
	const char *folder = "";

	if (!split(base, &from))
		return BOOKING_URL_MALFORMED;

	if (reference[0] == '/' && reference[1] == '/')
	{
		reference = scheme_relative(&from, reference, arena);
		if (reference == NULL)
			return BOOKING_URL_MEMORY;
	}
	/* a colon before the first slash ends a scheme */
	if (reference[strcspn(reference, ":/?#")] == ':')
	{
		if (!split(reference, &to))
			return BOOKING_URL_MALFORMED;
		if (!same_origin(&from, &to))
			return BOOKING_URL_ORIGIN;
		path = to.path[0] == '\0' ? "/" : to.path;
	}
	else if (reference[0] != '/')
		folder = from.path[0] == '\0' ? "/" : from.path;

	return build(base, from.path - base, folder, path, arena, url);
}

/*
 * Join a reference that a server sent, which is an absolute URL or an absolute
 * path (RFC 4918, 8.3).  Xandikos sends relative ones in errors, by mistake.
 */
BookingUrlFault
booking_url_resolve(const char *base, const char *href, BookingArena *arena,
					char **url)
{
	if (href[0] != '/' && strstr(href, "://") == NULL)
		return BOOKING_URL_MALFORMED;
	return booking_url_join(base, href, arena, url);
}

/*
 * URL of a member of a collection.  The name is one path segment and may be
 * anything; the suffix is appended as it is.
 */
BookingUrlFault
booking_url_member(const char *collection, const char *name,
				   const char *suffix, BookingArena *arena, char **url)
{
	size_t		len = strlen(collection);
	bool		slash = len == 0 || collection[len - 1] != '/';
	char	   *result;
	char	   *to;

	result = booking_arena_alloc(arena,
								 len + 1 + 3 * strlen(name) + strlen(suffix) + 1);
	if (result == NULL)
		return BOOKING_URL_MEMORY;
	memcpy(result, collection, len);
	to = result + len;
	if (slash)
		*to++ = '/';
	for (const char *p = name; *p != '\0'; p++)
	{
		if (is_unreserved(*p))
			*to++ = *p;
		else
		{
			snprintf(to, 4, "%%%02X", (unsigned char) *p);
			to += 3;
		}
	}
	strlcpy(to, suffix, strlen(suffix) + 1);
	*url = result;
	return BOOKING_URL_OK;
}

/*
 * Path of an absolute URL, which is what is kept of it: it stays right when
 * the account moves to another host.
 */
const char *
booking_url_path(const char *url)
{
	UrlParts	parts;

	if (!split(url, &parts) || parts.path[0] == '\0')
		return "/";
	return parts.path;
}

/*
 * Does an absolute URL ask for TLS?
 */
bool
booking_url_encrypted(const char *url)
{
	UrlParts	parts;

	return split(url, &parts) && parts.encrypted;
}

/*
 * Are two absolute URLs of one scheme, host and port?  What cannot be taken
 * apart is of no origin.
 */
bool
booking_url_same_origin(const char *a, const char *b)
{
	UrlParts	first;
	UrlParts	second;

	return split(a, &first) && split(b, &second) && same_origin(&first, &second);
}

/*
 * Is a URL that of the collection or of something in it?  Both are absolute
 * and of one origin.  Characters and their percent-encodings are the same:
 * servers answer %40 where we said @.
 */
bool
booking_url_within(const char *collection, const char *url)
{
	const char *outer = booking_url_path(collection);
	const char *inner = booking_url_path(url);

	while (*outer != '\0')
	{
		/* the collection itself may be spelled without its slash */
		if (*inner == '\0')
			return strcmp(outer, "/") == 0;
		if (next_decoded(&outer) != next_decoded(&inner))
			return false;
	}
	return true;
}

/*
 * Take an absolute URL apart; false if it is none, or none of ours.
 */
static bool
split(const char *url, UrlParts *parts)
{
	const char *authority;
	size_t		len;

	if (pg_strncasecmp(url, "https://", 8) == 0)
	{
		parts->encrypted = true;
		authority = url + 8;
	}
	else if (pg_strncasecmp(url, "http://", 7) == 0)
	{
		parts->encrypted = false;
		authority = url + 7;
	}
	else
		return false;

	len = strcspn(authority, "/?#");
	parts->path = authority + len;
	return split_authority(authority, len, parts) &&
		path_is_plain(parts->path);
}

/*
 * Host and port of an authority.  A user is refused: credentials are kept
 * elsewhere, and "https://host@other/" is an old trick.
 */
static bool
split_authority(const char *data, size_t len, UrlParts *parts)
{
	const char *end = data + len;
	const char *p = data;

	parts->host = data;
	parts->port = parts->encrypted ? 443 : 80;
	if (len > 0 && *p == '[')
	{
		while (p < end && *p != ']')
			p++;
		if (p == end)
			return false;
		p++;
	}
	else
	{
		while (p < end && *p != ':')
			p++;
	}
	parts->host_len = p - data;
	if (!host_is_plain(parts->host, parts->host_len))
		return false;
	if (p == end)
		return true;
	return *p == ':' && read_port(p + 1, end - p - 1, &parts->port);
}

/*
 * A port; an empty one is the default (RFC 3986, 3.2.3).
 */
static bool
read_port(const char *data, size_t len, int *port)
{
	int			value = 0;

	if (len == 0)
		return true;
	if (len > 5)
		return false;
	for (size_t i = 0; i < len; i++)
	{
		if (data[i] < '0' || data[i] > '9')
			return false;
		value = value * 10 + (data[i] - '0');
	}
	*port = value;
	return value >= 1 && value <= 65535;
}

/*
 * Is it a name or an address literal?  International names must come in their
 * ASCII form.
 */
static bool
host_is_plain(const char *host, size_t len)
{
	bool		literal = len > 0 && host[0] == '[';

	if (literal)
	{
		host++;
		len -= 2;
	}
	if (len == 0)
		return false;
	for (size_t i = 0; i < len; i++)
	{
		char		c = lower(host[i]);

		if (c >= '0' && c <= '9')
			continue;
		if (c >= 'a' && c <= (literal ? 'f' : 'z'))
			continue;
		if (c == '\0' || strchr(literal ? ":." : "-._", c) == NULL)
			return false;
	}
	return true;
}

/*
 * Are scheme, host and port the same (RFC 6454, 5)?
 */
static bool
same_origin(const UrlParts *a, const UrlParts *b)
{
	if (a->encrypted != b->encrypted || a->port != b->port ||
		a->host_len != b->host_len)
		return false;
	for (size_t i = 0; i < a->host_len; i++)
	{
		if (lower(a->host[i]) != lower(b->host[i]))
			return false;
	}
	return true;
}

/*
 * A reference that begins with two slashes names another host under the same
 * scheme; written out, it is judged like any absolute URL.
 */
static char *
scheme_relative(const UrlParts *base, const char *reference,
				BookingArena *arena)
{
	const char *scheme = base->encrypted ? "https:" : "http:";
	size_t		size = strlen(scheme) + strlen(reference) + 1;
	char	   *url = booking_arena_alloc(arena, size);

	if (url != NULL)
	{
		strlcpy(url, scheme, size);
		strlcat(url, reference, size);
	}
	return url;
}

/*
 * Has a path neither query nor fragment, control characters nor dot segments?
 */
static bool
path_is_plain(const char *path)
{
	const char *segment = path;

	for (const char *p = path;; p++)
	{
		unsigned char c = (unsigned char) *p;

		if (c == '/' || c == '\0')
		{
			if (is_dot_segment(segment, p - segment))
				return false;
			segment = p + 1;
		}
		if (c == '\0')
			return true;
		if (c < 0x20 || c == 0x7f || c == '?' || c == '#')
			return false;
	}
}

/*
 * Is a segment "." or "..", however spelled?
 */
static bool
is_dot_segment(const char *segment, size_t len)
{
	const char *p = segment;
	int			ndots = 0;

	while (p < segment + len)
	{
		if (next_decoded(&p) != '.')
			return false;
		ndots++;
	}
	return ndots == 1 || ndots == 2;
}

/*
 * Put a URL together from the first origin_len bytes of a URL, a folder that
 * may be empty, and a path.
 */
static BookingUrlFault
build(const char *origin, size_t origin_len, const char *folder,
	  const char *path, BookingArena *arena, char **url)
{
	size_t		folder_len = strlen(folder);
	char	   *result;
	char	   *to;

	if (!path_is_plain(path))
		return BOOKING_URL_MALFORMED;
	result = booking_arena_alloc(arena, origin_len + 3 * folder_len + 1 +
								 3 * strlen(path) + 1);
	if (result == NULL)
		return BOOKING_URL_MEMORY;

	memcpy(result, origin, origin_len);
	to = result + origin_len;
	to += encode(to, folder);
	if (folder_len > 0 && folder[folder_len - 1] != '/')
		*to++ = '/';
	to += encode(to, path);
	*to = '\0';
	*url = result;
	return BOOKING_URL_OK;
}

/*
 * Write a path, percent-encoding what does not belong in one; returns the
 * number of bytes written, at most three for each read.
 */
static size_t
encode(char *to, const char *from)
{
	char	   *start = to;

	for (; *from != '\0'; from++)
	{
		if (must_encode(from))
		{
			snprintf(to, 4, "%%%02X", (unsigned char) *from);
			to += 3;
		}
		else
			*to++ = *from;
	}
	return to - start;
}

/*
 * Does the byte at p have to be encoded?  A percent sign only where no
 * encoding begins.
 */
static bool
must_encode(const char *p)
{
	if (*p == '%')
		return booking_hex_digit(p[1]) < 0 || booking_hex_digit(p[2]) < 0;
	return *p == ' ' || IS_HIGHBIT_SET(*p) || strchr("\"<>\\^`{|}", *p) != NULL;
}

/*
 * Can the byte stand for itself anywhere in a URL (RFC 3986, 2.3)?
 */
static bool
is_unreserved(char c)
{
	char		folded = lower(c);

	return (folded >= 'a' && folded <= 'z') || (c >= '0' && c <= '9') ||
		c == '-' || c == '_' || c == '.' || c == '~';
}

/*
 * The next byte of a path with encodings undone, past which *p is moved.  An
 * encoded slash is no slash: it does not part segments.
 */
static int
next_decoded(const char **p)
{
	const char *at = *p;
	int			high;
	int			low;

	if (at[0] == '%' && (high = booking_hex_digit(at[1])) >= 0 &&
		(low = booking_hex_digit(at[2])) >= 0)
	{
		int			value = high * 16 + low;

		*p += 3;
		return value == '/' ? 256 : value;
	}
	*p += 1;
	return (unsigned char) at[0];
}

/*
 * Lower case of ASCII, whatever the locale.
 */
static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}
