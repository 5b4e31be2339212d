/*-------------------------------------------------------------------------
 *
 * http_request.c
 *	  judge a request, and make libcurl's handle for it
 *
 * What libcurl would otherwise take from its environment (proxies, .netrc,
 * cookies) or do by itself (redirects, sending a request again) is switched
 * off: what goes out is what the adapter asked for, once.
 *
 * IDENTIFICATION
 *	  booking/src/net/http_request.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "net/http_internal.h"

/* a write uses no connection that was idle for longer */
#define MAX_IDLE_SECONDS 3L

#define MAX_REDIRECTS 5

static const char *judge_url(BookingTransfer *transfer);
static bool is_insecure_host(const char *host, const char *insecure_hosts);
static bool is_token(const char *text);
static bool is_field_value(const char *text);
static bool set_target(BookingTransfer *transfer, const char *scheme);
static bool set_rules(BookingTransfer *transfer);
static bool set_trust(BookingTransfer *transfer);
static int	may_begin(void *arg, char *address, char *local, int port,
					  int local_port);
static bool set_limits(BookingTransfer *transfer, int64 now);
static bool set_body(BookingTransfer *transfer);
static bool set_headers(BookingTransfer *transfer);
static bool set_auth(BookingTransfer *transfer);
static bool has_header(const BookingHttpRequest *request, const char *name);
static bool add_header(BookingTransfer *transfer, const char *name,
					   const char *separator, const char *value);
static bool is_same_origin(CURLU *a, CURLU *b);
static bool is_same_part(CURLU *a, CURLU *b, CURLUPart part);

/*
 * Does a request keep our rules?  Returns what is wrong with it, or NULL with
 * transfer->url set.  Where transfer->url stays NULL, memory is short.
 */
const char *
booking_http_judge(BookingTransfer *transfer)
{
	const BookingHttpRequest *request = transfer->request;

	if (!is_token(request->method))
		return "bad_method";
	if (request->nheaders < 0 || request->nheaders > BOOKING_MAX_HEADERS)
		return "bad_header";
	for (int i = 0; i < request->nheaders; i++)
	{
		if (!is_token(request->headers[i].name) ||
			!is_field_value(request->headers[i].value))
			return "bad_header";
	}
	if (transfer->auth != NULL && transfer->auth->bearer != NULL &&
		!is_field_value(transfer->auth->bearer))
		return "bad_credential";
	return judge_url(transfer);
}

/*
 * Read the URL and judge it.  Names and passwords within it are refused: it
 * is shown where secrets must not be.
 */
static const char *
judge_url(BookingTransfer *transfer)
{
	CURLU	   *url = curl_url();
	CURLUcode	code;
	const char *problem = NULL;
	char	   *scheme = NULL;
	char	   *host = NULL;

	if (url == NULL)
		return NULL;
	code = curl_url_set(url, CURLUPART_URL, transfer->request->url,
						CURLU_DISALLOW_USER | CURLU_NON_SUPPORT_SCHEME);
	if (code == CURLUE_OK)
		code = curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0);
	if (code == CURLUE_OK)
		code = curl_url_get(url, CURLUPART_SCHEME, &scheme, 0);
	if (code == CURLUE_OK)
		code = curl_url_get(url, CURLUPART_HOST, &host, 0);

	if (code != CURLUE_OK)
		problem = "bad_url";
	else if (pg_strcasecmp(scheme, "http") == 0)
	{
		if (!is_insecure_host(host, transfer->limits->insecure_hosts))
			problem = "insecure_url";
	}
	else if (pg_strcasecmp(scheme, "https") != 0)
		problem = "bad_url";
	curl_free(scheme);
	curl_free(host);

	if (code == CURLUE_OUT_OF_MEMORY)
		curl_url_cleanup(url);
	else
		transfer->url = url;
	return problem;
}

/*
 * Is the host in the list of those that may be talked to in clear?  An IPv6
 * address may be listed with or without its brackets.
 */
static bool
is_insecure_host(const char *host, const char *insecure_hosts)
{
	size_t		host_len = strlen(host);
	const char *at = insecure_hosts;

	if (at == NULL)
		return false;
	for (;;)
	{
		size_t		length;

		at += strspn(at, ", \t");
		length = strcspn(at, ", \t");
		if (length == 0)
			return false;
		if (length == host_len && pg_strncasecmp(at, host, length) == 0)
			return true;
		if (host[0] == '[' && length == host_len - 2 &&
			pg_strncasecmp(at, host + 1, length) == 0)
			return true;
		at += length;
	}
}

/*
 * Is a text a token of RFC 9110, 5.6.2?
 */
static bool
is_token(const char *text)
{
	if (text == NULL || *text == '\0')
		return false;
	return strspn(text, "!#$%&'*+-.^_`|~0123456789"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz") == strlen(text);
}

/*
 * May a text be a header's value?  A line break in it would be another header.
 */
static bool
is_field_value(const char *text)
{
	if (text == NULL)
		return false;
	for (; *text != '\0'; text++)
	{
		unsigned char c = (unsigned char) *text;

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

/*
 * Make the easy handle of a request that was judged.  False when memory is
 * short, or when libcurl does not know an option that we rely on.
 */
bool
booking_http_prepare(BookingTransfer *transfer, int64 now)
{
	char	   *scheme = NULL;
	bool		ok;

	if (curl_url_get(transfer->url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK)
		return false;
	transfer->easy = curl_easy_init();
	ok = transfer->easy != NULL &&
		set_target(transfer, scheme) &&
		set_rules(transfer) &&
		set_trust(transfer) &&
		set_limits(transfer, now) &&
		set_body(transfer) &&
		set_headers(transfer) &&
		set_auth(transfer);
	curl_free(scheme);
	return ok;
}

/*
 * Set where the request goes and who takes the answer.
 */
static bool
set_target(BookingTransfer *transfer, const char *scheme)
{
	CURL	   *easy = transfer->easy;

	return curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_CURLU, transfer->url) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, scheme) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION,
						 booking_http_take_header) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION,
						 booking_http_take_body) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION,
						 booking_http_open_socket) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, transfer) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION,
						 booking_http_close_socket) == CURLE_OK;
}

/*
 * Set what is the same for every request.
 *
 * HTTP/1.1: on a connection that carries several requests at once, one that
 * is given up could not be ended by closing it.  QUICK_EXIT: a request that is
 * given up does not wait for its resolver's thread, which nothing can stop.
 */
static bool
set_rules(BookingTransfer *transfer)
{
	CURL	   *easy = transfer->easy;

	return curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
						 (long) CURL_HTTP_VERSION_1_1) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_NETRC,
						 (long) CURL_NETRC_IGNORED) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "") == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_USERAGENT, "booking") == CURLE_OK;
}

/*
 * Set whom to trust: the certificates of a file, and nobody else's, or those
 * that libcurl was built to trust.
 *
 * Of those, its folder is left out where there is a file too, which has the
 * same: what comes from a file alone is kept in memory, while with a folder
 * every connection would read all again, for 20 ms of processor time.  A file
 * that was replaced counts after some minutes.
 */
static bool
set_trust(BookingTransfer *transfer)
{
	CURL	   *easy = transfer->easy;
	const char *ca_file = transfer->limits->ca_file;

	if (ca_file != NULL &&
		curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file) != CURLE_OK)
		return false;
	if ((ca_file != NULL || curl_version_info(CURLVERSION_NOW)->cainfo != NULL) &&
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) != CURLE_OK)
		return false;
	return curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_CA_CACHE_TIMEOUT, 300L) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_SSLVERSION,
						 (long) CURL_SSLVERSION_TLSv1_2) == CURLE_OK;
}

/*
 * May a request use a connection that was open before, and leave it open?
 *
 * On such a connection libcurl sends a request again by itself when the server
 * closes it without an answer, although the server may have executed the
 * request.  A read may be sent again.  A write that says which version it
 * changes may not, since who is asked what happened must know what was sent,
 * but may_begin() sees to that; any other write gets a connection of its own.
 */
bool
booking_http_may_share(const BookingHttpRequest *request)
{
	return request->read || has_header(request, "If-Match") ||
		has_header(request, "If-None-Match");
}

/*
 * CURLOPT_PREREQFUNCTION: there is a connection, the request is about to be
 * sent.  No write is sent twice.
 */
static int
may_begin(void *arg, char *address, char *local, int port, int local_port)
{
	BookingTransfer *transfer = arg;
	bool		again = transfer->begun;

	transfer->begun = true;
	return again && !transfer->request->read ? CURL_PREREQFUNC_ABORT :
		CURL_PREREQFUNC_OK;
}

/*
 * Set the time-outs, and whether the connection may be shared.  A write takes
 * one that was used a moment ago only, which its server will hardly close.
 */
static bool
set_limits(BookingTransfer *transfer, int64 now)
{
	CURL	   *easy = transfer->easy;
	const BookingHttpLimits *limits = transfer->limits;
	long		fresh = transfer->fresh ? 1L : 0L;
	int64		left = 0;

	if (limits->total_timeout > 0)
		left = Max(1, limits->total_timeout - (now - transfer->began));
	return curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
							(long) limits->resolve_connect_timeout) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long) left) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, may_begin) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer) == CURLE_OK &&
		(transfer->request->read ||
		 curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN,
						  MAX_IDLE_SECONDS) == CURLE_OK) &&
		curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, fresh) == CURLE_OK &&
		curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, fresh) == CURLE_OK;
}

/*
 * Set method and body.  The body is not copied.
 */
static bool
set_body(BookingTransfer *transfer)
{
	CURL	   *easy = transfer->easy;
	const BookingHttpRequest *request = transfer->request;
	bool		ok;

	if (strcmp(request->method, "HEAD") == 0)
		return curl_easy_setopt(easy, CURLOPT_NOBODY, 1L) == CURLE_OK;

	/* these are understood to have one, so say that it is empty */
	if (request->body != NULL || strcmp(request->method, "POST") == 0 ||
		strcmp(request->method, "PUT") == 0 ||
		strcmp(request->method, "PATCH") == 0)
	{
		const char *body = request->body != NULL ? request->body : "";
		curl_off_t	length = request->body != NULL ? request->body_len : 0;

		ok = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
							  length) == CURLE_OK &&
			curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body) == CURLE_OK;
	}
	else
		ok = curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L) == CURLE_OK;
	return ok && curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST,
								  request->method) == CURLE_OK;
}

/*
 * Set the headers: the request's own, and without those that libcurl would
 * add to a body.  To wait for "100 Continue" only costs time, and to be
 * refused it costs a request.
 */
static bool
set_headers(BookingTransfer *transfer)
{
	const BookingHttpRequest *request = transfer->request;

	for (int i = 0; i < request->nheaders; i++)
	{
		const BookingHeader *header = &request->headers[i];
		bool		empty = header->value[0] == '\0';

		/* libcurl's way to write an empty header */
		if (!add_header(transfer, header->name, empty ? ";" : ": ",
						header->value))
			return false;
	}
	if (!has_header(request, "Content-Type") &&
		!add_header(transfer, "Content-Type", ":", ""))
		return false;
	if (!has_header(request, "Expect") &&
		!add_header(transfer, "Expect", ":", ""))
		return false;
	if (transfer->auth != NULL && transfer->auth->bearer != NULL &&
		!add_header(transfer, "Authorization", ": Bearer ",
					transfer->auth->bearer))
		return false;
	return curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER,
							transfer->headers) == CURLE_OK;
}

/*
 * Set name and password.  With Basic alone libcurl sends them at once and has
 * nothing to try again.
 */
static bool
set_auth(BookingTransfer *transfer)
{
	const BookingHttpAuth *auth = transfer->auth;
	const char *password;

	if (auth == NULL || auth->username == NULL)
		return true;
	password = auth->password == NULL ? "" : auth->password;
	return curl_easy_setopt(transfer->easy, CURLOPT_HTTPAUTH,
							CURLAUTH_BASIC) == CURLE_OK &&
		curl_easy_setopt(transfer->easy, CURLOPT_USERNAME,
						 auth->username) == CURLE_OK &&
		curl_easy_setopt(transfer->easy, CURLOPT_PASSWORD,
						 password) == CURLE_OK;
}

/*
 * Does the request have a header of this name?
 */
static bool
has_header(const BookingHttpRequest *request, const char *name)
{
	for (int i = 0; i < request->nheaders; i++)
	{
		if (pg_strcasecmp(request->headers[i].name, name) == 0)
			return true;
	}
	return false;
}

/*
 * Append a line to the headers, wiping the copy that is made on the way.
 */
static bool
add_header(BookingTransfer *transfer, const char *name, const char *separator,
		   const char *value)
{
	Size		size = strlen(name) + strlen(separator) + strlen(value) + 1;
	struct curl_slist *headers;
	char	   *line;

	if (!AllocSizeIsValid(size))
		return false;
	line = MemoryContextAllocExtended(transfer->context, size,
									  MCXT_ALLOC_NO_OOM);
	if (line == NULL)
		return false;
	snprintf(line, size, "%s%s%s", name, separator, value);
	headers = curl_slist_append(transfer->headers, line);
	explicit_bzero(line, size);
	pfree(line);
	if (headers == NULL)
		return false;
	transfer->headers = headers;
	return true;
}

/*
 * Free the handle and what was made for it; the URL stays, for a redirect.
 * The headers hold a credential and are wiped.
 */
void
booking_http_clear(BookingTransfer *transfer)
{
	if (transfer->easy != NULL)
		curl_easy_cleanup(transfer->easy);
	transfer->easy = NULL;
	for (struct curl_slist *item = transfer->headers; item != NULL;
		 item = item->next)
		explicit_bzero(item->data, strlen(item->data));
	curl_slist_free_all(transfer->headers);
	transfer->headers = NULL;
}

/*
 * Is the answer a redirect that may be followed?  Then transfer->url is the
 * new place.  Only a read that asked for it follows, only to the same scheme,
 * host and port, where its credential belongs; any other redirect is an
 * answer as it is.
 */
bool
booking_http_redirect(BookingTransfer *transfer)
{
	const BookingHttpRequest *request = transfer->request;
	int			status = transfer->answer.status;
	const char *location = transfer->answer.kept[BOOKING_KEPT_LOCATION];
	CURLU	   *url;

	if (!request->read || !request->follow ||
		location == NULL || *location == '\0' ||
		transfer->redirects >= MAX_REDIRECTS)
		return false;
	switch (status)
	{
		case 301:
		case 302:
		case 307:
		case 308:
			break;
		case 303:				/* says: GET something else */
			if (strcmp(request->method, "GET") == 0 ||
				strcmp(request->method, "HEAD") == 0)
				break;
			return false;
		default:
			return false;
	}

	url = curl_url_dup(transfer->url);
	if (url == NULL)
		return false;
	if (curl_url_set(url, CURLUPART_URL, location,
					 CURLU_DISALLOW_USER | CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK ||
		curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0) != CURLUE_OK ||
		!is_same_origin(transfer->url, url))
	{
		curl_url_cleanup(url);
		return false;
	}
	curl_url_cleanup(transfer->url);
	transfer->url = url;
	transfer->redirects++;
	return true;
}

/*
 * Do two URLs have the same scheme, host and port?
 */
static bool
is_same_origin(CURLU *a, CURLU *b)
{
	return is_same_part(a, b, CURLUPART_SCHEME) &&
		is_same_part(a, b, CURLUPART_HOST) &&
		is_same_part(a, b, CURLUPART_PORT);
}

/*
 * Do two URLs have the same part, a port being the scheme's unless given?
 */
static bool
is_same_part(CURLU *a, CURLU *b, CURLUPart part)
{
	char	   *of_a = NULL;
	char	   *of_b = NULL;
	bool		same;

	same = curl_url_get(a, part, &of_a, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		curl_url_get(b, part, &of_b, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		pg_strcasecmp(of_a, of_b) == 0;
	curl_free(of_a);
	curl_free(of_b);
	return same;
}
