/*-------------------------------------------------------------------------
 *
 * booking_http_test.c
 *	  call the HTTP engine from SQL, for its tests
 *
 * A list of requests is run by an engine of the call's own, so many at a time,
 * each started as the done of an earlier one.  The backend stands in for the
 * worker: it has a latch, and it must react to interrupts.
 *
 * IDENTIFICATION
 *	  booking/test/net/booking_http_test.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <arpa/inet.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "net/address.h"
#include "net/http.h"

PG_MODULE_MAGIC;

typedef struct TestRequest
{
	struct TestRun *run;
	BookingHttpRequest request;
	BookingHttpLimits limits;
	BookingArena *arena;
	const BookingHttpResponse *response;
	int			ended_as;		/* 1 for the first one that ended */
} TestRequest;

typedef struct TestRun
{
	BookingHttpEngine *engine;
	BookingHttpAuth auth;
	int			nrequests;
	int			nstarted;
	int			nended;
	TestRequest *requests;
	MemoryContextCallback callback;
} TestRun;

#define RESULT_COLUMNS 13

PG_FUNCTION_INFO_V1(booking_http_test);
PG_FUNCTION_INFO_V1(booking_address_test);
PG_FUNCTION_INFO_V1(booking_networks_test);

static void read_requests(FunctionCallInfo fcinfo, TestRun *run);
static void read_headers(ArrayType *array, BookingHttpRequest *request);
static void read_limits(FunctionCallInfo fcinfo, TestRun *run);
static void free_arenas(void *arg);
static void start_next(TestRun *run);
static void take(void *arg, const BookingHttpResponse *response);
static void drive(TestRun *run, const char *manner, int abandon_after);
static void put_result(ReturnSetInfo *rsinfo, int number, TestRequest *test);
static char *optional_text(FunctionCallInfo fcinfo, int n);

/*
 * booking_http_test(method text[], url text[], is_read bool[], follow bool,
 * header text[], body text, username text, password text, bearer text,
 * connect_ms, first_byte_ms, trickle_bytes, trickle_seconds, total_ms,
 * max_body int, ca_file text, insecure_hosts text, allowed_networks text[],
 * parallel int, manner text, abandon_after int): a row for each request.
 *
 * allowed_networks are used in turn.  manner is "wait"; "busy" sets the latch
 * before each wait, "poll" never waits.
 */
Datum
booking_http_test(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	TestRun    *run = palloc0(sizeof(TestRun));
	char	   *manner = optional_text(fcinfo, 19);

	InitMaterializedSRF(fcinfo, 0);
	read_requests(fcinfo, run);
	read_limits(fcinfo, run);
	run->engine = booking_http_create();
	for (int i = 0; i < PG_GETARG_INT32(18); i++)
		start_next(run);
	drive(run, manner, PG_GETARG_INT32(20));
	for (int i = 0; i < run->nrequests; i++)
		put_result(rsinfo, i + 1, &run->requests[i]);
	booking_http_destroy(run->engine);
	for (int i = 0; i < run->nrequests; i++)
	{
		booking_arena_free(run->requests[i].arena);
		run->requests[i].arena = NULL;
	}
	return (Datum) 0;
}

/*
 * Make the requests.
 */
static void
read_requests(FunctionCallInfo fcinfo, TestRun *run)
{
	Datum	   *methods;
	Datum	   *urls;
	Datum	   *reads;
	char	   *body = optional_text(fcinfo, 5);
	int			nurls;
	int			nreads;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(0), TEXTOID, -1, false, TYPALIGN_INT,
					  &methods, NULL, &run->nrequests);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT,
					  &urls, NULL, &nurls);
	deconstruct_array(PG_GETARG_ARRAYTYPE_P(2), BOOLOID, 1, true, TYPALIGN_CHAR,
					  &reads, NULL, &nreads);
	if (nurls != run->nrequests || nreads != run->nrequests)
		elog(ERROR, "arrays differ in length");

	run->requests = palloc0(sizeof(TestRequest) * run->nrequests);
	run->callback.func = free_arenas;
	run->callback.arg = run;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &run->callback);
	for (int i = 0; i < run->nrequests; i++)
	{
		TestRequest *test = &run->requests[i];

		test->run = run;
		test->request.method = TextDatumGetCString(methods[i]);
		test->request.url = TextDatumGetCString(urls[i]);
		test->request.read = DatumGetBool(reads[i]);
		test->request.follow = PG_GETARG_BOOL(3);
		read_headers(PG_GETARG_ARRAYTYPE_P(4), &test->request);
		test->request.body = body;
		test->request.body_len = body == NULL ? 0 : strlen(body);
	}
}

/*
 * Free the arenas that an error left.
 */
static void
free_arenas(void *arg)
{
	TestRun    *run = arg;

	for (int i = 0; i < run->nrequests; i++)
		booking_arena_free(run->requests[i].arena);
}

/*
 * Take "Name=value" apart; a value may be anything.
 */
static void
read_headers(ArrayType *array, BookingHttpRequest *request)
{
	Datum	   *headers;
	int			nheaders;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &headers, NULL,
					  &nheaders);
	request->nheaders = nheaders;
	for (int i = 0; i < Min(nheaders, BOOKING_MAX_HEADERS); i++)
	{
		char	   *name = TextDatumGetCString(headers[i]);
		char	   *value = strchr(name, '=');

		*value++ = '\0';
		request->headers[i].name = name;
		request->headers[i].value = value;
	}
}

/*
 * Read limits and credentials.
 */
static void
read_limits(FunctionCallInfo fcinfo, TestRun *run)
{
	Datum	   *networks;
	int			nnetworks;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(17), TEXTOID, -1, false,
					  TYPALIGN_INT, &networks, NULL, &nnetworks);
	run->auth.username = optional_text(fcinfo, 6);
	run->auth.password = optional_text(fcinfo, 7);
	run->auth.bearer = optional_text(fcinfo, 8);
	for (int i = 0; i < run->nrequests; i++)
	{
		BookingHttpLimits *limits = &run->requests[i].limits;

		limits->resolve_connect_timeout = PG_GETARG_INT32(9);
		limits->first_byte_timeout = PG_GETARG_INT32(10);
		limits->trickle_bytes = PG_GETARG_INT32(11);
		limits->trickle_seconds = PG_GETARG_INT32(12);
		limits->total_timeout = PG_GETARG_INT32(13);
		limits->max_body = PG_GETARG_INT32(14);
		limits->ca_file = optional_text(fcinfo, 15);
		limits->insecure_hosts = optional_text(fcinfo, 16);
		limits->allowed_networks = TextDatumGetCString(networks[i % nnetworks]);
	}
}

/*
 * Start the next request, if there is one.
 */
static void
start_next(TestRun *run)
{
	TestRequest *test;

	if (run->nstarted >= run->nrequests)
		return;
	test = &run->requests[run->nstarted++];
	test->arena = booking_arena_create((size_t) 64 * 1024 * 1024);
	booking_http_start(run->engine, &test->request, &run->auth,
					   &test->limits, test->arena, take, test);
	if (test->response != NULL)
		elog(ERROR, "an answer was delivered from within the start");
}

/*
 * Note an answer, and start the next request.
 */
static void
take(void *arg, const BookingHttpResponse *response)
{
	TestRequest *test = arg;

	if (test->response != NULL)
		elog(ERROR, "an answer was delivered twice");
	test->response = response;
	test->ended_as = ++test->run->nended;
	start_next(test->run);
}

/*
 * Wait for all answers, as the worker does.
 */
static void
drive(TestRun *run, const char *manner, int abandon_after)
{
	TimestampTz begin = GetCurrentTimestamp();
	long		timeout = -1;

	if (strcmp(manner, "poll") == 0)
		timeout = 0;
	else if (abandon_after > 0)
		timeout = abandon_after;

	while (booking_http_in_flight(run->engine) > 0)
	{
		if (strcmp(manner, "busy") == 0)
			SetLatch(MyLatch);
		booking_http_wait(run->engine, timeout, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		if (abandon_after > 0 &&
			TimestampDifferenceExceeds(begin, GetCurrentTimestamp(), abandon_after))
			booking_http_abandon(run->engine);
	}
}

/*
 * Put the row of a request.
 */
static void
put_result(ReturnSetInfo *rsinfo, int number, TestRequest *test)
{
	static const char *const transports[] = {"complete", "not_sent", "refused",
	"lost", "too_large"};
	const BookingHttpResponse *response = test->response;
	const char *texts[RESULT_COLUMNS] = {0};
	Datum		values[RESULT_COLUMNS] = {0};
	bool		nulls[RESULT_COLUMNS] = {0};

	texts[1] = transports[response->transport];
	texts[2] = response->problem;
	texts[4] = response->etag;
	texts[5] = response->location;
	texts[6] = response->content_type;
	texts[7] = response->dav;
	texts[8] = response->schedule_tag;
	texts[11] = response->body;
	for (int i = 0; i < RESULT_COLUMNS; i++)
	{
		nulls[i] = texts[i] == NULL;
		if (texts[i] != NULL)
			values[i] = CStringGetTextDatum(texts[i]);
	}
	values[0] = Int32GetDatum(number);
	values[3] = Int32GetDatum(response->status);
	values[9] = Int64GetDatum(response->retry_after);
	values[10] = Int64GetDatum((int64) response->body_len);
	values[12] = Int32GetDatum(test->ended_as);
	nulls[0] = nulls[3] = nulls[9] = nulls[10] = nulls[12] = false;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * booking_address_test(address text, allowed_networks text): may it be
 * connected to?
 */
Datum
booking_address_test(PG_FUNCTION_ARGS)
{
	char	   *address = text_to_cstring(PG_GETARG_TEXT_PP(0));
	char	   *networks = optional_text(fcinfo, 1);
	struct sockaddr_in v4 = {0};
	struct sockaddr_in6 v6 = {0};

	v4.sin_family = AF_INET;
	v6.sin6_family = AF_INET6;
	if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
		PG_RETURN_BOOL(booking_address_is_allowed((struct sockaddr *) &v4,
												  sizeof(v4), networks));
	if (inet_pton(AF_INET6, address, &v6.sin6_addr) == 1)
		PG_RETURN_BOOL(booking_address_is_allowed((struct sockaddr *) &v6,
												  sizeof(v6), networks));
	elog(ERROR, "not an address: %s", address);
}

/*
 * booking_networks_test(networks text): is it a list of networks?
 */
Datum
booking_networks_test(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(booking_networks_are_valid(optional_text(fcinfo, 0)));
}

/*
 * An argument as string, NULL as NULL.
 */
static char *
optional_text(FunctionCallInfo fcinfo, int n)
{
	return PG_ARGISNULL(n) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(n));
}
