/*-------------------------------------------------------------------------
 *
 * http_answer.c
 *	  take in an answer, and say what it proves
 *
 * The callbacks run within libcurl: they must neither throw nor jump, so they
 * allocate without errors, note what went wrong and return short, which makes
 * libcurl end the transfer.  Everything that arrives is capped before it is
 * kept; the body is counted after decoding, since a kilobyte on the wire may
 * be a gigabyte.
 *
 * What a transfer's end proves follows from one question: was anything of the
 * request written?  Only when nothing was, the request is known not to have
 * been executed.
 *
 * IDENTIFICATION
 *	  booking/src/net/http_answer.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "net/http_internal.h"

/* far above what servers send; libcurl alone allows 100 kB a line, any number */
#define MAX_HEADER_LINES 200
#define MAX_HEADER_BYTES 65536

#define MAX_RETRY_AFTER (24 * 60 * 60)

#define FIRST_BODY_SIZE 4096

/* indexed by BookingKept */
static const char *const kept_names[] = {
	"etag",
	"location",
	"content-type",
	"dav",
	"schedule-tag",
	"retry-after",
	"date"
};

StaticAssertDecl(lengthof(kept_names) == BOOKING_KEPT_HEADERS,
				 "every header that is kept has its name");

static void take_status(BookingTransfer *transfer, const char *line,
						size_t length);
static void take_field(BookingTransfer *transfer, const char *line,
					   size_t length);
static void keep_value(BookingTransfer *transfer, BookingKept which,
					   const char *value, size_t length);
static bool is_printable(const char *value, size_t length);
static bool make_room(BookingTransfer *transfer, size_t needed);
static int64 read_retry_after(const char *value, const char *date);
static bool is_before_sending(CURLcode code);
static const char *describe(BookingTransfer *transfer, CURLcode code,
							bool written, int64 now);
static const char *describe_timeout(BookingTransfer *transfer, bool written,
									int64 now);

/*
 * CURLOPT_HEADERFUNCTION: called with each line of each header, those of
 * interim answers (100, 103) and trailers included.  Only the final answer's
 * own header counts.
 */
size_t
booking_http_take_header(char *line, size_t size, size_t count, void *arg)
{
	BookingTransfer *transfer = arg;
	BookingAnswer *answer = &transfer->answer;
	size_t		taken = size * count;
	size_t		length = taken;

	answer->header_lines++;
	answer->header_bytes += taken;
	if (answer->header_lines > MAX_HEADER_LINES ||
		answer->header_bytes > MAX_HEADER_BYTES)
	{
		answer->too_large = true;
		return 0;
	}
	if (answer->headers_complete)
		return taken;			/* a trailer */

	while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r'))
		length--;
	if (length >= 5 && strncmp(line, "HTTP/", 5) == 0)
		take_status(transfer, line, length);
	else if (answer->status == 0)
		return taken;			/* of an interim answer */
	else if (length == 0)
		answer->headers_complete = true;
	else
		take_field(transfer, line, length);
	return answer->out_of_memory ? 0 : taken;
}

/*
 * Read a status line.  With the first one of a final answer the server has
 * answered; from now on a trickle is watched for.  libcurl would otherwise
 * count the time that the server needs to think as a trickle, too.
 */
static void
take_status(BookingTransfer *transfer, const char *line, size_t length)
{
	const char *digits = memchr(line, ' ', length);
	int			status = 0;

	if (digits == NULL || line + length - digits < 4)
		return;
	for (int i = 1; i <= 3; i++)
	{
		if (digits[i] < '0' || digits[i] > '9')
			return;
		status = status * 10 + (digits[i] - '0');
	}
	if (status < 200)
		return;
	transfer->answer.status = status;
	curl_easy_setopt(transfer->easy, CURLOPT_LOW_SPEED_LIMIT,
					 (long) transfer->limits->trickle_bytes);
	curl_easy_setopt(transfer->easy, CURLOPT_LOW_SPEED_TIME,
					 (long) transfer->limits->trickle_seconds);
}

/*
 * Read a header field of the final answer and keep it, if it is one of ours.
 */
static void
take_field(BookingTransfer *transfer, const char *line, size_t length)
{
	const char *colon = memchr(line, ':', length);
	const char *value;
	size_t		name_len;
	size_t		value_len;

	/* a line that begins with a blank has no name: obsolete folding */
	if (colon == NULL || colon == line)
		return;
	name_len = colon - line;
	value = colon + 1;
	value_len = length - name_len - 1;
	while (value_len > 0 && (*value == ' ' || *value == '\t'))
	{
		value++;
		value_len--;
	}
	while (value_len > 0 &&
		   (value[value_len - 1] == ' ' || value[value_len - 1] == '\t'))
		value_len--;

	for (int i = 0; i < BOOKING_KEPT_HEADERS; i++)
	{
		if (strlen(kept_names[i]) == name_len &&
			pg_strncasecmp(kept_names[i], line, name_len) == 0)
		{
			if (is_printable(value, value_len))
				keep_value(transfer, i, value, value_len);
			return;
		}
	}
}

/*
 * Keep a value in the arena.  DAV is a list that may stand on several lines;
 * of any other header the first line counts.
 */
static void
keep_value(BookingTransfer *transfer, BookingKept which, const char *value,
		   size_t length)
{
	const char **kept = &transfer->answer.kept[which];

	if (*kept == NULL)
		*kept = booking_arena_copy(transfer->arena, value, length);
	else if (which == BOOKING_KEPT_DAV)
	{
		size_t		before = strlen(*kept);
		char	   *joined = booking_arena_alloc(transfer->arena,
												 before + length + 3);

		if (joined != NULL)
		{
			memcpy(joined, *kept, before);
			memcpy(joined + before, ", ", 2);
			memcpy(joined + before + 2, value, length);
			joined[before + 2 + length] = '\0';
		}
		*kept = joined;
	}
	if (*kept == NULL)
		transfer->answer.out_of_memory = true;
}

/*
 * Is a value free of control characters?
 */
static bool
is_printable(const char *value, size_t length)
{
	for (size_t i = 0; i < length; i++)
	{
		unsigned char c = (unsigned char) value[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

/*
 * CURLOPT_WRITEFUNCTION: called with decoded bytes of the body.
 */
size_t
booking_http_take_body(char *data, size_t size, size_t count, void *arg)
{
	BookingTransfer *transfer = arg;
	BookingAnswer *answer = &transfer->answer;
	size_t		length = size * count;

	if (length == 0)
		return 0;
	if (transfer->request->sink != NULL && answer->status / 100 == 2)
		return transfer->request->sink(transfer->request->sink_arg, data,
									   length) ? length : 0;
	if (length > transfer->limits->max_body - answer->body_len)
	{
		answer->too_large = true;
		return 0;
	}
	if (!make_room(transfer, answer->body_len + length))
	{
		answer->out_of_memory = true;
		return 0;
	}
	memcpy(answer->body + answer->body_len, data, length);
	answer->body_len += length;
	return length;
}

/*
 * Make the buffer of the body large enough.  It grows in the engine's
 * context, since an arena gives nothing back.
 */
static bool
make_room(BookingTransfer *transfer, size_t needed)
{
	BookingAnswer *answer = &transfer->answer;
	size_t		size = Max(answer->body_size, FIRST_BODY_SIZE);
	char	   *body;

	if (needed <= answer->body_size)
		return true;
	if (needed > MaxAllocSize / 2)
		return false;
	while (size < needed)
		size *= 2;
	body = MemoryContextAllocExtended(transfer->context, size,
									  MCXT_ALLOC_NO_OOM);
	if (body == NULL)
		return false;
	if (answer->body != NULL)
	{
		memcpy(body, answer->body, answer->body_len);
		pfree(answer->body);
	}
	answer->body = body;
	answer->body_size = size;
	return true;
}

/*
 * Forget what has arrived, before the next request of a redirect and at the
 * end.
 */
void
booking_http_forget_answer(BookingTransfer *transfer)
{
	if (transfer->answer.body != NULL)
		pfree(transfer->answer.body);
	memset(&transfer->answer, 0, sizeof(transfer->answer));
}

/*
 * Fill in the response from the way libcurl ended the transfer.
 *
 * CURLINFO_REQUEST_SIZE counts what the socket or TLS took, so at 0 not even
 * the request line is complete at the server.  CURLINFO_PRETRANSFER_TIME_T is
 * no such proof: libcurl sets it after its first attempt to send.
 */
void
booking_http_conclude(BookingTransfer *transfer, CURLcode code, int64 now)
{
	BookingAnswer *answer = &transfer->answer;
	long		request_size = 0;
	bool		written;

	written = curl_easy_getinfo(transfer->easy, CURLINFO_REQUEST_SIZE,
								&request_size) != CURLE_OK || request_size > 0;

	if (code == CURLE_OK && answer->headers_complete)
		booking_http_respond(transfer, BOOKING_TRANSPORT_COMPLETE, NULL);
	else if (answer->too_large)
		booking_http_respond(transfer, BOOKING_TRANSPORT_TOO_LARGE,
							 "answer_too_large");
	else if (answer->out_of_memory)
		booking_http_respond(transfer, BOOKING_TRANSPORT_TOO_LARGE,
							 "out_of_memory");
	else if (!written && code == CURLE_COULDNT_CONNECT &&
			 transfer->address_refused && !transfer->socket_opened)
		booking_http_respond(transfer, BOOKING_TRANSPORT_REFUSED,
							 "address_not_allowed");
	else if (!written &&
			 (code == CURLE_OPERATION_TIMEDOUT || is_before_sending(code)))
		booking_http_respond(transfer, BOOKING_TRANSPORT_NOT_SENT,
							 describe(transfer, code, written, now));
	else
		booking_http_respond(transfer, BOOKING_TRANSPORT_LOST,
							 describe(transfer, code, written, now));
}

/*
 * Is this a failure of getting as far as sending?  CURLE_SEND_ERROR is not
 * among them: how much TLS had passed on by then is not known.
 */
static bool
is_before_sending(CURLcode code)
{
	switch (code)
	{
		case CURLE_COULDNT_RESOLVE_HOST:
		case CURLE_COULDNT_CONNECT:
		case CURLE_SSL_CONNECT_ERROR:
		case CURLE_PEER_FAILED_VERIFICATION:
		case CURLE_SSL_CACERT_BADFILE:
		case CURLE_SSL_CERTPROBLEM:
		case CURLE_SSL_CIPHER:
		case CURLE_SSL_ISSUER_ERROR:
		case CURLE_SSL_ENGINE_INITFAILED:
		case CURLE_URL_MALFORMAT:
		case CURLE_OUT_OF_MEMORY:
		case CURLE_FAILED_INIT:
			return true;
		default:
			return false;
	}
}

/*
 * Name a failure.  Texts of libcurl are not used: they quote URLs, and what
 * the server wrote.
 */
static const char *
describe(BookingTransfer *transfer, CURLcode code, bool written, int64 now)
{
	switch (code)
	{
		case CURLE_COULDNT_RESOLVE_HOST:
			return "name_not_resolved";
		case CURLE_COULDNT_CONNECT:
			return transfer->sockets_exhausted ? "too_many_connections" :
				"connection_failed";
		case CURLE_PEER_FAILED_VERIFICATION:
		case CURLE_SSL_ISSUER_ERROR:
			return "certificate_not_trusted";
		case CURLE_SSL_CACERT_BADFILE:
			return "ca_file_not_usable";
		case CURLE_SSL_CONNECT_ERROR:
		case CURLE_SSL_CERTPROBLEM:
		case CURLE_SSL_CIPHER:
		case CURLE_SSL_ENGINE_INITFAILED:
			return "tls_failed";
		case CURLE_OPERATION_TIMEDOUT:
			return describe_timeout(transfer, written, now);
		case CURLE_OUT_OF_MEMORY:
		case CURLE_FAILED_INIT:
			return "out_of_memory";
		case CURLE_SEND_ERROR:
		case CURLE_RECV_ERROR:
		case CURLE_GOT_NOTHING:
		case CURLE_ABORTED_BY_CALLBACK: /* it was to be sent again */
			return "connection_lost";
		case CURLE_OK:
		case CURLE_PARTIAL_FILE:
			return "answer_cut_short";
		default:
			return "answer_malformed";
	}
}

/*
 * Name the limit that a transfer ran into.
 */
static const char *
describe_timeout(BookingTransfer *transfer, bool written, int64 now)
{
	int			total = transfer->limits->total_timeout;

	/* libcurl's milliseconds and ours may end at different moments */
	if (total > 0 && now - transfer->began + 1 >= total)
		return "total_timeout";
	if (transfer->answer.status != 0)
		return "trickle_timeout";
	if (written)
		return "first_byte_timeout";
	return "connect_timeout";
}

/*
 * Fill in the response.  The headers of an answer that broke off within them
 * are left out, because the decisive one may be missing.
 */
void
booking_http_respond(BookingTransfer *transfer, BookingTransport transport,
					 const char *problem)
{
	BookingAnswer *answer = &transfer->answer;
	BookingHttpResponse *response = &transfer->response;

	memset(response, 0, sizeof(*response));
	response->transport = transport;
	response->problem = problem;
	response->status = answer->status;
	response->retry_after = -1;
	if (answer->headers_complete)
	{
		response->etag = answer->kept[BOOKING_KEPT_ETAG];
		response->location = answer->kept[BOOKING_KEPT_LOCATION];
		response->content_type = answer->kept[BOOKING_KEPT_CONTENT_TYPE];
		response->dav = answer->kept[BOOKING_KEPT_DAV];
		response->schedule_tag = answer->kept[BOOKING_KEPT_SCHEDULE_TAG];
		response->retry_after =
			read_retry_after(answer->kept[BOOKING_KEPT_RETRY_AFTER],
							 answer->kept[BOOKING_KEPT_DATE]);
	}
	if (transport != BOOKING_TRANSPORT_COMPLETE)
		return;

	response->body = booking_arena_copy(transfer->arena,
										answer->body == NULL ? "" : answer->body,
										answer->body_len);
	response->body_len = answer->body_len;

	/* whoever reads it needs memory, too */
	if (answer->body != NULL)
		pfree(answer->body);
	answer->body = NULL;
	answer->body_len = answer->body_size = 0;
	if (response->body == NULL)
	{
		response->transport = BOOKING_TRANSPORT_TOO_LARGE;
		response->problem = "out_of_memory";
		response->body_len = 0;
	}
}

/*
 * Seconds to wait, from a Retry-After header.  Its date is compared with the
 * date of the same answer (RFC 9110, 10.2.3 and 6.6.1), so that a clock that
 * is wrong on either side does no harm; without one it says nothing.
 */
static int64
read_retry_after(const char *value, const char *date)
{
	time_t		until;
	time_t		from;

	if (value == NULL || *value == '\0')
		return -1;
	if (strspn(value, "0123456789") == strlen(value))
	{
		int64		seconds = 0;

		for (; *value != '\0' && seconds <= MAX_RETRY_AFTER; value++)
			seconds = seconds * 10 + (*value - '0');
		return Min(seconds, MAX_RETRY_AFTER);
	}
	if (date == NULL)
		return -1;
	until = curl_getdate(value, NULL);
	from = curl_getdate(date, NULL);
	if (until == (time_t) -1 || from == (time_t) -1)
		return -1;
	return Max(0, Min((int64) until - (int64) from, MAX_RETRY_AFTER));
}
