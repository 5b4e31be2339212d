/*
 * urls.c
 *
 * URLs and the origin they must not leave.  What must hold: whatever a server
 * or an administrator writes, a request with a credential goes to the scheme,
 * host and port of the account, or nowhere.
 */
#include "harness.h"

#include "provider/url.h"

static const struct
{
	const char *base;
	const char *reference;
	const char *url;			/* NULL: malformed, "": another origin */
}			joins[] = {
	{"https://h.example/dav/", "/joe/", "https://h.example/joe/"},
	{"https://h.example/dav/", "joe/", "https://h.example/dav/joe/"},
	{"https://h.example/dav", "joe/", "https://h.example/dav/joe/"},
	{"https://h.example", "joe/", "https://h.example/joe/"},
	{"https://h.example", "/joe/", "https://h.example/joe/"},
	{"https://h.example/dav/", "", "https://h.example/dav/"},
	{"https://h.example/dav/", "https://h.example/joe/", "https://h.example/joe/"},
	{"https://h.example/dav/", "https://h.example", "https://h.example/"},
	{"https://h.example/dav/", "https://H.EXAMPLE/joe/", "https://h.example/joe/"},
	{"https://h.example/dav/", "HTTPS://h.example:443/joe/", "https://h.example/joe/"},
	{"http://h.example:80/", "http://h.example/joe/", "http://h.example:80/joe/"},
	{"http://h.example:8080/", "http://h.example:8080/joe/", "http://h.example:8080/joe/"},
	{"http://[::1]:5232/", "http://[::1]:5232/joe/", "http://[::1]:5232/joe/"},
	{"https://h.example/", "//h.example/joe/", "https://h.example/joe/"},
	{"https://h.example/", "/joe%40x/a%2Fb/", "https://h.example/joe%40x/a%2Fb/"},
	{"https://h.example/", "/my work/\xc3\xa9/", "https://h.example/my%20work/%C3%A9/"},
	{"https://h.example/", "/100%/", "https://h.example/100%25/"},
	{"https://h.example/", "/100%4/", "https://h.example/100%254/"},
	{"https://h.example/", "/100%g0/", "https://h.example/100%25g0/"},
	{"https://h.example/", "/100%aF/", "https://h.example/100%aF/"},
	{"https://h.example:/", "https://h.example:443/joe/", "https://h.example:/joe/"},
	{"https://h.example/", "/a\\b/", "https://h.example/a%5Cb/"},
	{"https://h.example/", "/a:b/", "https://h.example/a:b/"},

	{"https://h.example/", "https://evil.example/", ""},
	{"https://h.example/", "https://h.example.evil/", ""},
	{"https://h.example/", "http://h.example/", ""},
	{"https://h.example/", "https://h.example:8443/", ""},
	{"https://h.example:8443/", "https://h.example/", ""},
	{"https://h.example/", "//evil.example/", ""},
	{"https://h.example/", "http://h.example:443/", ""},
	{"http://[::1]/", "http://[::2]/", ""},

	{"h.example", "/", NULL},
	{"ftp://h.example/", "/", NULL},
	{"https://", "/", NULL},
	{"https:///joe/", "/", NULL},
	{"https://h.example:0/", "/", NULL},
	{"https://h.example:99999/", "/", NULL},
	{"https://h.example:4x/", "/", NULL},
	{"https://[::1/", "/", NULL},
	{"https://[]/", "/", NULL},
	{"https://[::1]x/", "/", NULL},
	{"https://joe@h.example/", "/", NULL},
	{"https://joe:secret@h.example/", "/", NULL},
	{"https://h.example/?a=b", "/", NULL},
	{"https://h.example/#a", "/", NULL},
	{"https://b\xc3\xbc" "cher.example/", "/", NULL},
	{"https://h.example/", "https://h.example@evil.example/", NULL},
	{"https://h.example/", "https://evil.example\\@h.example/", NULL},
	{"https://h.example/", "ftp://h.example/", NULL},
	{"https://h.example/", "mailto:joe@h.example", NULL},
	{"https://h.example/", "javascript:x", NULL},
	{"https://h.example/", "/joe/?token=x", NULL},
	{"https://h.example/", "/joe/#x", NULL},
	{"https://h.example/", "/joe/../ann/", NULL},
	{"https://h.example/", "/joe/%2e%2E/ann/", NULL},
	{"https://h.example/", "/joe/./", NULL},
	{"https://h.example/", "..", NULL},
	{"https://h.example/", "/joe\r\nHost: evil.example/", NULL},
	{"https://h.example/", "/joe\t/", NULL},
	{"https://h.example/", "/joe\x7f/", NULL},
};

static const struct
{
	const char *collection;
	const char *url;
	bool		within;
}			places[] = {
	{"https://h.example/joe/", "https://h.example/joe/a.ics", true},
	{"https://h.example/joe/", "https://h.example/joe/", true},
	{"https://h.example/joe/", "https://h.example/joe", true},
	{"https://h.example/joe@x/", "https://h.example/joe%40x/a.ics", true},
	{"https://h.example/joe%40x/", "https://h.example/joe@x/a.ics", true},
	{"https://h.example/a%2fb/", "https://h.example/a%2Fb/c.ics", true},
	{"https://h.example/a/b/", "https://h.example/a%2Fb/c.ics", false},
	{"https://h.example/joe/", "https://h.example/joanna/a.ics", false},
	{"https://h.example/joe/", "https://h.example/a.ics", false},
	{"https://h.example/joe/", "https://h.example/", false},
};

/*
 * Test all of provider/url.h.
 */
void
test_urls(void)
{
	for (int i = 0; i < (int) lengthof(joins); i++)
	{
		BookingArena *arena = booking_arena_create(10000);
		BookingUrlFault fault;
		char	   *url = NULL;
		bool		good;

		fault = booking_url_join(joins[i].base, joins[i].reference, arena, &url);
		if (joins[i].url == NULL)
			good = fault == BOOKING_URL_MALFORMED;
		else if (joins[i].url[0] == '\0')
			good = fault == BOOKING_URL_ORIGIN;
		else
			good = fault == BOOKING_URL_OK && strcmp(url, joins[i].url) == 0;
		if (!good)
			note("joined", fault == BOOKING_URL_OK ? url : "(refused)");
		ok(good, "url: row %d of joins", i);
		booking_arena_free(arena);
	}
	for (int i = 0; i < (int) lengthof(places); i++)
		ok(booking_url_within(places[i].collection, places[i].url) ==
		   places[i].within, "url: row %d of places", i);

	{
		BookingArena *arena = booking_arena_create(10000);
		char	   *url;

		ok(booking_url_member("https://h.example/joe", "a/../b c?\xff", ".ics",
							  arena, &url) == BOOKING_URL_OK &&
		   strcmp(url, "https://h.example/joe/a%2F..%2Fb%20c%3F%FF.ics") == 0,
		   "url: a name is one segment, whatever it is");
		ok(booking_url_resolve("https://h.example/", "http%3A//h.example/x",
							   arena, &url) == BOOKING_URL_MALFORMED,
		   "url: a server's reference is absolute");
		tap_is_text(booking_url_path("https://h.example"), "/",
					"url: the path of a host");
		ok(booking_url_member("https://h.example/joe/", "-_.~", "", arena,
							  &url) == BOOKING_URL_OK &&
		   strcmp(url, "https://h.example/joe/-_.~") == 0,
		   "url: what stands for itself in a name");
		ok(booking_url_encrypted("https://h.example/") &&
		   !booking_url_encrypted("http://h.example/"),
		   "url: what is encrypted");
		booking_arena_free(arena);
		arena = booking_arena_create(0);
		ok(booking_url_join("https://h.example/", "/joe/", arena, &url) ==
		   BOOKING_URL_MEMORY, "url: no memory is said");
		booking_arena_free(arena);
	}
}
