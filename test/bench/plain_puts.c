/*
 * test/bench/plain_puts.c
 *
 * The rival of the controller: the same PUTs through libcurl's multi interface,
 * as many at a time, and no database that remembers any of it.
 *
 *	plain_puts URL CONCURRENCY keep|fresh <BODIES
 *
 * BODIES is what the controller sent: for each event a line "path length", the
 * body of that length, and a line feed.  "keep" leaves connections open, as a
 * program would that may send a request twice; "fresh" makes one for each
 * request, as the controller does for writes.  Prints requests a second, from
 * the first to the last.  An answer other than 201 ends it.
 */
#include <curl/curl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct Put
{
	char	   *url;
	char	   *body;
	size_t		body_len;
} Put;

static Put *puts_to_send;
static size_t put_count;
static size_t next_put;

/*
 * End with a message.
 */
static void
die(const char *what)
{
	fprintf(stderr, "plain_puts: %s\n", what);
	exit(1);
}

/*
 * Read what is to be sent.
 */
static void
read_puts(const char *base)
{
	char		path[1024];
	size_t		len;
	size_t		room = 0;

	size_t		url_len;

	while (scanf("%1023s %zu", path, &len) == 2)
	{
		Put		   *put;

		if (put_count == room)
		{
			room = room * 2 + 1024;
			puts_to_send = realloc(puts_to_send, room * sizeof(Put));
			if (!puts_to_send)
				die("out of memory");
		}
		put = &puts_to_send[put_count++];
		url_len = strlen(base) + strlen(path);
		put->url = malloc(url_len + 1);
		put->body = malloc(len + 1);
		if (!put->url || !put->body)
			die("out of memory");
		snprintf(put->url, url_len + 1, "%s%s", base, path);
		put->body_len = len;
		if (getchar() != '\n' || fread(put->body, 1, len, stdin) != len)
			die("the input is cut short");
	}
	if (put_count == 0)
		die("nothing to send");
}

/*
 * Nobody reads the answers' bodies.
 */
static size_t
ignore(char *data, size_t size, size_t count, void *arg)
{
	(void) data;
	(void) arg;
	return size * count;
}

/*
 * Give a handle the next request.
 */
static void
start_next(CURLM *multi, CURL *easy)
{
	Put		   *put = &puts_to_send[next_put++];

	curl_easy_setopt(easy, CURLOPT_URL, put->url);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, put->body);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t) put->body_len);
	if (curl_multi_add_handle(multi, easy) != CURLM_OK)
		die("a request could not be started");
}

/*
 * Make a handle.
 */
static CURL *
make_handle(struct curl_slist *headers, long fresh)
{
	CURL	   *easy = curl_easy_init();

	if (!easy)
		die("out of memory");
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "PUT");
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, ignore);
	curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
	curl_easy_setopt(easy, CURLOPT_USERNAME, "u");
	curl_easy_setopt(easy, CURLOPT_PASSWORD, "p");
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, fresh);
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, fresh);
	return easy;
}

/*
 * Take the requests that have ended, and start as many.  Returns how many.
 */
static size_t
turn_over(CURLM *multi)
{
	CURLMsg    *message;
	int			left;
	size_t		ended = 0;

	while ((message = curl_multi_info_read(multi, &left)) != NULL)
	{
		CURL	   *easy = message->easy_handle;
		long		status = 0;

		curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
		if (message->data.result != CURLE_OK || status != 201)
			die("an event was not created");
		curl_multi_remove_handle(multi, easy);
		ended++;
		if (next_put < put_count)
			start_next(multi, easy);
	}
	return ended;
}

/*
 * Seconds of a clock that nobody sets.
 */
static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/*
 * Send all.
 */
int
main(int argc, char **argv)
{
	struct curl_slist *headers = NULL;
	CURLM	   *multi;
	size_t		ended = 0;
	double		began;
	int			concurrency;
	bool		fresh;
	char	   *rest;

	if (argc != 4)
		die("usage: plain_puts URL CONCURRENCY keep|fresh");
	concurrency = (int) strtol(argv[2], &rest, 10);
	if (rest == argv[2] || *rest != '\0' || concurrency < 1 || concurrency > 1000)
		die("CONCURRENCY must be a number from 1 to 1000");
	fresh = strcmp(argv[3], "fresh") == 0;
	read_puts(argv[1]);
	curl_global_init(CURL_GLOBAL_DEFAULT);
	multi = curl_multi_init();
	headers = curl_slist_append(headers, "Content-Type: text/calendar; charset=utf-8");
	headers = curl_slist_append(headers, "If-None-Match: *");
	headers = curl_slist_append(headers, "Expect:");
	curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long) concurrency);

	began = seconds();
	for (int i = 0; i < concurrency && next_put < put_count; i++)
		start_next(multi, make_handle(headers, fresh));
	while (ended < put_count)
	{
		int			running;

		if (curl_multi_perform(multi, &running) != CURLM_OK)
			die("libcurl failed");
		ended += turn_over(multi);
		if (ended < put_count &&
			curl_multi_poll(multi, NULL, 0, 1000, NULL) != CURLM_OK)
			die("libcurl failed");
	}
	printf("%.1f\n", put_count / (seconds() - began));
	return 0;
}
