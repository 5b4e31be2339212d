/*
 * caldav_servers.c
 *
 * The adapter with the answers of real servers: Radicale 3.1.8 and Xandikos
 * 0.2.8, which differ wherever they can.  What must hold: both lead to the
 * same outcomes, with events that come back reordered and refolded, namespaces
 * under any prefix, failed preconditions as 409 and within a 207, calendars
 * that are gone as 404, 409, 412 and within a 207.
 */
#include "harness.h"
#include "servers.h"

#define R_HOST "https://radicale.example.org/"
#define R_CALENDAR_URL R_HOST "joe/cal/"
#define R_EVENT R_CALENDAR_URL ID ".ics"
#define R_RENAMED R_CALENDAR_URL "renamed.ics"
#define R_GONE_URL R_HOST "joe/gone/"
#define R_HREF "href=/joe/cal/" ID ".ics"
#define R_FOUND "200\nETag: " R_TAG "\nContent-Type: text/calendar\n\n" R_STORED
#define R(row, what) \
	.name = "Radicale: " row, .kind = BOOKING_JOB_ ## what, .base_url = R_HOST, \
	.collection = R_CALENDAR_URL
#define R_NOWHERE(row, what) \
	.name = "Radicale: " row, .kind = BOOKING_JOB_ ## what, .base_url = R_HOST, \
	.collection = R_GONE_URL

#define X_HOST "https://xandikos.example.org/"
#define X_CALENDAR_URL X_HOST "joe/calendars/calendar/"
#define X_EVENT X_CALENDAR_URL ID ".ics"
#define X_RENAMED X_CALENDAR_URL "renamed.ics"
#define X_GONE_URL X_HOST "joe/calendars/gone/"
#define X_HREF "href=/joe/calendars/calendar/" ID ".ics"
#define X_FOUND "200\nETag: " X_TAG "\nContent-Type: text/calendar\n\n" X_STORED
#define X(row, what) \
	.name = "Xandikos: " row, .kind = BOOKING_JOB_ ## what, .base_url = X_HOST, \
	.collection = X_CALENDAR_URL
#define X_NOWHERE(row, what) \
	.name = "Xandikos: " row, .kind = BOOKING_JOB_ ## what, .base_url = X_HOST, \
	.collection = X_GONE_URL

const Scenario caldav_servers[] = {
	{R("check", CHECK),
		.turns = {{DISCOVER(R_CALENDAR_URL), R_CALENDAR},
			{DISCOVER(R_HOST "joe/"), R_PRINCIPAL},
		{OPTIONS(R_CALENDAR_URL), R_OPTIONS}},
		.outcome = "DONE href=/joe/cal/",
	.finding = "account: Signed in as /joe/."},
	{R("lookup of a create, absent", LOOKUP),
		.turns = {{GET_AT(R_EVENT), R_NOT_THERE}, {QUERY_AT(R_CALENDAR_URL), R_NO_MATCH},
		{COLLECTION_AT(R_CALENDAR_URL), R_CALENDAR}},
	.outcome = "ABSENT"},
	{R("lookup of a create, there", LOOKUP),
		.turns = {{GET_AT(R_EVENT), R_FOUND}},
	.outcome = "EQUAL " R_HREF " etag=" R_TAG " status=200"},
	{R("create", CREATE),
		.turns = {{PUT_NEW_AT(R_EVENT), "201\nETag: " R_TAG "\n\n"}},
	.outcome = "DONE " R_HREF " etag=" R_TAG " status=201"},
	{R("create again", CREATE),
		.turns = {{PUT_NEW_AT(R_EVENT), R_AGAIN}, {GET_AT(R_EVENT), R_FOUND}},
	.outcome = "DONE " R_HREF " etag=" R_TAG " status=200"},
	{R("create again, after it was renamed", CREATE),
		.turns = {{PUT_NEW_AT(R_EVENT), R_UID_TAKEN}, {GET_AT(R_EVENT), R_NOT_THERE},
		{QUERY_AT(R_CALENDAR_URL), R_MATCH}},
	.outcome = "DONE href=/joe/cal/renamed.ics etag=" R_TAG " status=207"},
	{R("create of what it does not understand", CREATE),
		.turns = {{PUT_NEW_AT(R_EVENT), R_INVALID}},
	.outcome = "REJECTED bad_request status=400"},
	{R("update", UPDATE), .etag = "\"old\"",
		.turns = {{PUT_OVER_AT(R_EVENT, "\"old\""), "201\nETag: " R_TAG "\n\n"}},
	.outcome = "DONE " R_HREF " etag=" R_TAG " status=201"},
	{R("update again", UPDATE), .etag = "\"old\"",
		.turns = {{PUT_OVER_AT(R_EVENT, "\"old\""), R_AGAIN}, {GET_AT(R_EVENT), R_FOUND}},
	.outcome = "DONE " R_HREF " etag=" R_TAG " status=200"},
	{R("cancel", CANCEL), .etag = R_TAG,
		.turns = {{DELETE_OVER_AT(R_EVENT, R_TAG), R_DELETED}},
	.outcome = "DONE status=200"},
	{R("cancel after a change", CANCEL), .etag = "\"old\"",
		.turns = {{DELETE_OVER_AT(R_EVENT, "\"old\""), R_AGAIN}, {GET_AT(R_EVENT), R_FOUND},
		{DELETE_OVER_AT(R_EVENT, R_TAG), R_DELETED}},
	.outcome = "DONE status=200"},
	{R("cancel again", CANCEL), .etag = R_TAG,
		.turns = {{DELETE_OVER_AT(R_EVENT, R_TAG), R_NOT_THERE},
			{QUERY_AT(R_CALENDAR_URL), R_NO_MATCH},
		{COLLECTION_AT(R_CALENDAR_URL), R_CALENDAR}},
	.outcome = "DONE"},
	{R("cancel after it was renamed", CANCEL), .etag = R_TAG,
		.turns = {{DELETE_OVER_AT(R_EVENT, R_TAG), R_NOT_THERE},
			{QUERY_AT(R_CALENDAR_URL), R_MATCH},
		{DELETE_OVER_AT(R_RENAMED, R_TAG), R_DELETED}},
	.outcome = "DONE status=200"},
	{R_NOWHERE("create, the calendar is gone", CREATE),
		.turns = {{PUT_NEW_AT(R_GONE_URL ID ".ics"), R_NO_PLACE},
		{COLLECTION_AT(R_GONE_URL), R_GONE}},
	.outcome = "CALENDAR_GONE calendar_gone status=404"},
	{R_NOWHERE("cancel, the calendar is gone", CANCEL), .etag = R_TAG,
		.turns = {{DELETE_OVER_AT(R_GONE_URL ID ".ics", R_TAG), R_NOT_THERE},
			{QUERY_AT(R_GONE_URL), R_NOT_THERE},
		{COLLECTION_AT(R_GONE_URL), R_GONE}},
	.outcome = "CALENDAR_GONE calendar_gone status=404"},
	{R("create in somebody else's calendar", CREATE),
		.turns = {{PUT_NEW_AT(R_EVENT), R_FORBIDDEN}, {COLLECTION_AT(R_CALENDAR_URL), R_FORBIDDEN}},
	.outcome = "REJECTED forbidden status=403"},
	{R_NOWHERE("update, the calendar is gone", UPDATE), .etag = R_TAG,
		.turns = {{PUT_OVER_AT(R_GONE_URL ID ".ics", R_TAG), R_NO_PLACE},
		{COLLECTION_AT(R_GONE_URL), R_GONE}},
	.outcome = "CALENDAR_GONE calendar_gone status=404"},

	{X("check", CHECK),
		.turns = {{DISCOVER(X_CALENDAR_URL), X_CALENDAR},
			{DISCOVER(X_HOST "joe/"), X_PRINCIPAL},
		{OPTIONS(X_CALENDAR_URL), X_OPTIONS}},
		.outcome = "DONE href=/joe/calendars/calendar/",
	.finding = "account: Signed in as /joe/."},
	{X("lookup of a create, absent", LOOKUP),
		.turns = {{GET_AT(X_EVENT), X_NOT_THERE}, {QUERY_AT(X_CALENDAR_URL), X_NO_MATCH},
		{COLLECTION_AT(X_CALENDAR_URL), X_CALENDAR}},
	.outcome = "ABSENT"},
	{X("lookup of a create, there", LOOKUP),
		.turns = {{GET_AT(X_EVENT), X_FOUND}},
	.outcome = "EQUAL " X_HREF " etag=" X_TAG " status=200"},
	{X("create", CREATE),
		.turns = {{PUT_NEW_AT(X_EVENT), "201\nETag: " X_TAG "\n\n"}},
	.outcome = "DONE " X_HREF " etag=" X_TAG " status=201"},
	{X("create again", CREATE),
		.turns = {{PUT_NEW_AT(X_EVENT), X_AGAIN}, {GET_AT(X_EVENT), X_FOUND}},
	.outcome = "DONE " X_HREF " etag=" X_TAG " status=200"},
	{X("create again, after it was renamed", CREATE),
		.turns = {{PUT_NEW_AT(X_EVENT), X_UID_TAKEN}, {GET_AT(X_EVENT), X_NOT_THERE},
		{QUERY_AT(X_CALENDAR_URL), X_MATCH}},
	.outcome = "DONE href=/joe/calendars/calendar/renamed.ics etag=" X_TAG " status=207"},
	{X("create of what it does not understand", CREATE),
		.turns = {{PUT_NEW_AT(X_EVENT), X_INVALID}},
	.outcome = "REJECTED precondition status=412"},
	{X("update", UPDATE), .etag = "\"old\"",
		.turns = {{PUT_OVER_AT(X_EVENT, "\"old\""), "204\nETag: " X_TAG "\n\n"}},
	.outcome = "DONE " X_HREF " etag=" X_TAG " status=204"},
	{X("update again", UPDATE), .etag = "\"old\"",
		.turns = {{PUT_OVER_AT(X_EVENT, "\"old\""), X_AGAIN}, {GET_AT(X_EVENT), X_FOUND}},
	.outcome = "DONE " X_HREF " etag=" X_TAG " status=200"},
	{X("cancel", CANCEL), .etag = X_TAG,
		.turns = {{DELETE_OVER_AT(X_EVENT, X_TAG), X_DELETED}},
	.outcome = "DONE status=204"},
	{X("cancel after a change", CANCEL), .etag = "\"old\"",
		.turns = {{DELETE_OVER_AT(X_EVENT, "\"old\""), X_AGAIN}, {GET_AT(X_EVENT), X_FOUND},
		{DELETE_OVER_AT(X_EVENT, X_TAG), X_DELETED}},
	.outcome = "DONE status=204"},
	{X("cancel again", CANCEL), .etag = X_TAG,
		.turns = {{DELETE_OVER_AT(X_EVENT, X_TAG), X_NOT_THERE},
			{QUERY_AT(X_CALENDAR_URL), X_NO_MATCH},
		{COLLECTION_AT(X_CALENDAR_URL), X_CALENDAR}},
	.outcome = "DONE"},
	{X("cancel after it was renamed", CANCEL), .etag = X_TAG,
		.turns = {{DELETE_OVER_AT(X_EVENT, X_TAG), X_NOT_THERE},
			{QUERY_AT(X_CALENDAR_URL), X_MATCH},
		{DELETE_OVER_AT(X_RENAMED, X_TAG), X_DELETED}},
	.outcome = "DONE status=204"},
	{X_NOWHERE("create, the calendar is gone", CREATE),
		.turns = {{PUT_NEW_AT(X_GONE_URL ID ".ics"), X_NO_PLACE},
		{COLLECTION_AT(X_GONE_URL), X_GONE}},
	.outcome = "CALENDAR_GONE calendar_gone status=207"},
	{X_NOWHERE("cancel, the calendar is gone", CANCEL), .etag = X_TAG,
		.turns = {{DELETE_OVER_AT(X_GONE_URL ID ".ics", X_TAG), X_NOT_THERE},
			{QUERY_AT(X_GONE_URL), X_NOT_THERE},
		{COLLECTION_AT(X_GONE_URL), X_GONE}},
	.outcome = "CALENDAR_GONE calendar_gone status=207"},
	{X_NOWHERE("update, the calendar is gone", UPDATE), .etag = X_TAG,
		.turns = {{PUT_OVER_AT(X_GONE_URL ID ".ics", X_TAG), X_AGAIN},
			{GET_AT(X_GONE_URL ID ".ics"), X_NOT_THERE}, {QUERY_AT(X_GONE_URL), X_NOT_THERE},
		{COLLECTION_AT(X_GONE_URL), X_GONE}},
	.outcome = "CALENDAR_GONE calendar_gone status=207"},
	LAST
};
