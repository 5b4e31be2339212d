/*-------------------------------------------------------------------------
 *
 * signin.c
 *	  getting an access token (RFC 6749, RFC 7523)
 *
 * The request is a form, sent on a connection of its own: a refresh token may
 * be good for one use, so it must not go out twice by itself.  The answer is
 * judged by the error it names (RFC 6749, 5.2), not by its number.
 *
 * Google's own library refreshes five minutes early, and so do we; its
 * assertions live for an hour (google-auth-library 10.5.0, gtoken 8.0.0).
 *
 * IDENTIFICATION
 *	  booking/src/provider/signin.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include "codec/json_read.h"
#include "codec/json_write.h"
#include "codec/jwt.h"
#include "provider/report.h"
#include "provider/rest.h"
#include "provider/signin.h"

#define ASSERTION_TYPE "urn:ietf:params:oauth:grant-type:jwt-bearer"

/* how far our clock may be ahead of theirs, and how long an assertion lives */
#define SKEW_SECS 60
#define ASSERTION_SECS 3600

/* longer tokens do not fit into a header */
#define MAX_TOKEN 8000

static void add_field(BookingBuffer *form, const char *name,
					  const char *value);
static char *make_assertion(const BookingSignin *signin, BookingArena *arena);
static bool is_token(const char *text);
static void granted(const BookingJson *json, BookingSigninResult *result);
static BookingSigninKind error_kind(const char *error);

/*
 * The grant of a type of credential.
 */
BookingGrant
booking_signin_grant(const char *type)
{
	if (strcmp(type, "refresh_token") == 0)
		return BOOKING_GRANT_REFRESH;
	if (strcmp(type, "client_credentials") == 0)
		return BOOKING_GRANT_CLIENT;
	if (strcmp(type, "service_account") == 0)
		return BOOKING_GRANT_ASSERTION;
	return BOOKING_GRANT_NONE;
}

/*
 * Build the request for a token; false if the credential lacks something, its
 * key is none, or memory is short.
 */
bool
booking_signin_request(const BookingSignin *signin, BookingArena *arena,
					   BookingHttpRequest *request)
{
	BookingBuffer form;
	char	   *assertion;

	memset(request, 0, sizeof(*request));
	booking_buffer_init(&form, arena);
	if (signin->token_url == NULL)
		return false;
	switch (signin->grant)
	{
		case BOOKING_GRANT_NONE:
			return false;
		case BOOKING_GRANT_REFRESH:
			if (signin->refresh_token == NULL)
				return false;
			add_field(&form, "grant_type", "refresh_token");
			add_field(&form, "refresh_token", signin->refresh_token);
			break;
		case BOOKING_GRANT_CLIENT:
			add_field(&form, "grant_type", "client_credentials");
			break;
		case BOOKING_GRANT_ASSERTION:
			assertion = make_assertion(signin, arena);
			if (assertion == NULL)
				return false;
			add_field(&form, "grant_type", ASSERTION_TYPE);
			add_field(&form, "assertion", assertion);
			break;
	}
	if (signin->grant != BOOKING_GRANT_ASSERTION)
	{
		if (signin->client_id == NULL)
			return false;
		add_field(&form, "client_id", signin->client_id);
		add_field(&form, "client_secret", signin->client_secret);
		add_field(&form, "scope", signin->scope);
	}
	if (booking_arena_failed(arena))
		return false;
	request->method = "POST";
	request->url = signin->token_url;
	booking_rest_header(request, "Content-Type",
						"application/x-www-form-urlencoded");
	booking_rest_header(request, "Accept", "application/json");
	request->body = form.data;
	request->body_len = form.len;
	return true;
}

/*
 * Add a field of a form; none for NULL.
 */
static void
add_field(BookingBuffer *form, const char *name, const char *value)
{
	char	   *encoded = value == NULL ? NULL :
		booking_rest_segment(form->arena, value);

	if (encoded == NULL)
		return;
	if (form->len > 0)
		(void) booking_buffer_add(form, "&", 1);
	(void) booking_buffer_add_text(form, name);
	(void) booking_buffer_add(form, "=", 1);
	(void) booking_buffer_add_text(form, encoded);
}

/*
 * The assertion of a service account: issued a little in the past, because a
 * clock that is ahead of theirs makes it void, and no longer than an hour.
 */
static char *
make_assertion(const BookingSignin *signin, BookingArena *arena)
{
	BookingJsonWriter claims;
	int64		issued = signin->now - SKEW_SECS;
	char	   *text;
	size_t		len;

	if (signin->client_email == NULL || signin->private_key == NULL)
		return NULL;
	booking_json_begin(&claims, arena);
	booking_json_open(&claims, NULL, '{');
	booking_json_put_text(&claims, "iss", signin->client_email);
	if (signin->scope != NULL)
		booking_json_put_text(&claims, "scope", signin->scope);
	booking_json_put_text(&claims, "aud", signin->token_url);
	booking_json_put_integer(&claims, "iat", issued);
	booking_json_put_integer(&claims, "exp", issued + ASSERTION_SECS);
	if (signin->subject != NULL)
		booking_json_put_text(&claims, "sub", signin->subject);
	booking_json_close(&claims, '}');
	text = booking_json_end(&claims, &len);
	return text == NULL ? NULL :
		booking_jwt_sign(text, len, signin->private_key, arena);
}

/*
 * Judge the answer.  Whatever is not understood is no refusal: only an error
 * that the server names says that trying again is of no use.
 */
void
booking_signin_judge(const BookingHttpResponse *response, BookingArena *arena,
					 BookingSigninResult *result)
{
	const BookingJson *json = NULL;
	const char *error;

	memset(result, 0, sizeof(*result));
	result->kind = BOOKING_SIGNIN_LATER;
	result->retry_after = response->retry_after;
	result->problem = booking_report_problem(arena, response);
	if (response->transport == BOOKING_TRANSPORT_REFUSED)
		result->kind = BOOKING_SIGNIN_REFUSED;
	if (response->transport != BOOKING_TRANSPORT_COMPLETE)
		return;
	(void) booking_json_read(response->body, response->body_len, arena, &json);
	if (response->status == 200)
		granted(json, result);
	else if (response->status >= 400 && response->status < 500 &&
			 response->status != 429 &&
			 (error = booking_json_text(json, "error")) != NULL)
	{
		result->kind = error_kind(error);
		result->problem = booking_report_code(arena, error, "refused_by_server");
	}
}

/*
 * A token, if the answer has one (RFC 6749, 5.1).
 */
static void
granted(const BookingJson *json, BookingSigninResult *result)
{
	const char *type = booking_json_text(json, "token_type");
	const char *refresh = booking_json_text(json, "refresh_token");

	result->access_token = booking_json_text(json, "access_token");
	result->problem = "answer_unreadable";
	if (!is_token(result->access_token) ||
		(type != NULL && pg_strcasecmp(type, "bearer") != 0))
	{
		result->access_token = NULL;
		return;
	}
	result->kind = BOOKING_SIGNIN_GRANTED;
	result->problem = NULL;
	result->refresh_token = is_token(refresh) ? refresh : NULL;
	result->lifetime = Min(Max(booking_json_integer(json, "expires_in",
													BOOKING_SIGNIN_USUAL), 0),
						   BOOKING_SIGNIN_LONGEST);
}

/*
 * Is a text a token that can be sent?
 */
static bool
is_token(const char *text)
{
	if (text == NULL || text[0] == '\0' || strlen(text) > MAX_TOKEN)
		return false;
	for (const char *p = text; *p != '\0'; p++)
	{
		if (*p <= 0x20 || *p >= 0x7f)
			return false;
	}
	return true;
}

/*
 * What an error means (RFC 6749, 5.2; the last three of OpenID Connect and of
 * Microsoft).  Codes that nobody knows may pass.
 */
static BookingSigninKind
error_kind(const char *error)
{
	static const struct
	{
		const char *error;
		BookingSigninKind kind;
	}			errors[] = {
		{"invalid_grant", BOOKING_SIGNIN_DENIED},
		{"invalid_client", BOOKING_SIGNIN_REFUSED},
		{"invalid_request", BOOKING_SIGNIN_REFUSED},
		{"invalid_scope", BOOKING_SIGNIN_REFUSED},
		{"unauthorized_client", BOOKING_SIGNIN_REFUSED},
		{"unsupported_grant_type", BOOKING_SIGNIN_REFUSED},
		{"access_denied", BOOKING_SIGNIN_DENIED},
		{"interaction_required", BOOKING_SIGNIN_DENIED},
		{"consent_required", BOOKING_SIGNIN_DENIED},
	};

	for (int i = 0; i < (int) lengthof(errors); i++)
	{
		if (strcmp(error, errors[i].error) == 0)
			return errors[i].kind;
	}
	return BOOKING_SIGNIN_LATER;
}
