/*
 * signin.c
 *
 * Getting access tokens.  What must hold: the request has what its grant needs
 * and nothing else, an assertion is valid although our clock is ahead, only an
 * error that the server names is final, and a token that cannot be sent is
 * none.
 */
#include "google.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include "codec/jwt.h"
#include "provider/signin.h"

#define ASSERTION_FORM \
	"grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
#define TOKEN_URL "https://oauth2.googleapis.com/token"

/*
 * Are method, headers and body of a request right?
 */
static bool
is_form(const BookingHttpRequest *request, const char *body)
{
	return strcmp(request->method, "POST") == 0 && !request->read && !request->follow &&
		strcmp(request->url, TOKEN_URL) == 0 && request->nheaders == 2 &&
		strcmp(request->headers[0].value, "application/x-www-form-urlencoded") == 0 &&
		request->body_len == strlen(body) && strcmp(request->body, body) == 0;
}

/*
 * A new RSA key in PEM, in the arena.
 */
static char *
make_key(int bits, EVP_PKEY **key, BookingArena *arena)
{
	BIO		   *bio = BIO_new(BIO_s_mem());
	char	   *data;
	char	   *pem;
	long		len;

	*key = EVP_RSA_gen((unsigned int) bits);
	PEM_write_bio_PrivateKey(bio, *key, NULL, NULL, 0, NULL, NULL);
	len = BIO_get_mem_data(bio, &data);
	pem = booking_arena_copy(arena, data, len);
	BIO_free(bio);
	return pem;
}

/*
 * Decode base64url in place; returns the length.
 */
static size_t
decode(const char *text, size_t len, unsigned char *out)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	unsigned int bits = 0;
	int			nbits = 0;
	size_t		n = 0;

	for (size_t i = 0; i < len; i++)
	{
		bits = (bits << 6) | (unsigned int) (strchr(letters, text[i]) - letters);
		nbits += 6;
		if (nbits >= 8)
		{
			nbits -= 8;
			out[n++] = (unsigned char) (bits >> nbits);
		}
	}
	out[n] = '\0';
	return n;
}

/*
 * Assertions of service accounts.
 */
static void
test_assertion(BookingArena *arena)
{
	EVP_PKEY   *key;
	EVP_PKEY   *weak;
	char	   *pem = make_key(2048, &key, arena);
	char	   *weak_pem = make_key(1024, &weak, arena);
	BookingSignin signin = {
		BOOKING_GRANT_ASSERTION, TOKEN_URL, .scope = "s1 s2",
		.client_email = "bot@project.example.org", .private_key = pem,
		.subject = "me@example.org", .now = 1900000000
	};
	BookingHttpRequest request;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	const char *jwt;
	const char *dot;
	const char *last;
	unsigned char bytes[2000];
	size_t		len;

	ok(booking_signin_request(&signin, arena, &request) &&
	   strncmp(request.body, ASSERTION_FORM, strlen(ASSERTION_FORM)) == 0,
		"sign-in: the form of an assertion");
	jwt = strstr(request.body, "assertion=") + strlen("assertion=");
	dot = strchr(jwt, '.');
	last = strrchr(jwt, '.');
	(void) decode(dot + 1, last - dot - 1, bytes);
	ok(strcmp((char *) bytes, "{\"iss\":\"bot@project.example.org\",\"scope\":\"s1 s2\","
		"\"aud\":\"" TOKEN_URL "\","
			  "\"iat\":1899999940,\"exp\":1900003540,\"sub\":\"me@example.org\"}") == 0,
	   "sign-in: claims of an hour that began a minute ago");
	len = decode(last + 1, strlen(last + 1), bytes);
	ok(EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
	   EVP_DigestVerify(context, bytes, len, (const unsigned char *) jwt, last - jwt) == 1,
	   "sign-in: the signature is valid");
	EVP_MD_CTX_free(context);
	ok(booking_jwt_key_is_valid(pem) && !booking_jwt_key_is_valid(weak_pem) &&
	   !booking_jwt_key_is_valid("") &&
	   !booking_jwt_key_is_valid("-----BEGIN PRIVATE KEY-----\nrubbish"),
	   "sign-in: keys that are none, or weak");
	signin.private_key = "rubbish";
	ok(!booking_signin_request(&signin, arena, &request), "sign-in: no key, no request");
	EVP_PKEY_free(key);
	EVP_PKEY_free(weak);
}

/*
 * What each answer means.
 */
static void
test_answers(BookingArena *arena)
{
	static const char *const signins[] = {
		[BOOKING_SIGNIN_GRANTED] = "GRANTED",
		[BOOKING_SIGNIN_DENIED] = "DENIED",
		[BOOKING_SIGNIN_REFUSED] = "REFUSED",
		[BOOKING_SIGNIN_LATER] = "LATER"
	};
	static const struct
	{
		const char *answer;
		const char *expected;
	}			answers[] = {
		{JSON("200", "{\"access_token\":\"t\",\"expires_in\":3599,\"token_type\":\"Bearer\"}"),
			"GRANTED t - 3599"},
		{JSON("200", "{\"access_token\":\"t\",\"refresh_token\":\"r\","
			"\"token_type\":\"bearer\"}"), "GRANTED t r 3600"},
		{JSON("200", "{\"access_token\":\"t\",\"expires_in\":-5}"), "GRANTED t - 0"},
		{JSON("200", "{\"access_token\":\"t\",\"expires_in\":9e18}"), "GRANTED t - 86400"},
		{JSON("200", "{\"access_token\":\"t\\r\\nX: 1\"}"), "LATER - - 0 answer_unreadable"},
		{JSON("200", "{\"access_token\":\"\"}"), "LATER - - 0 answer_unreadable"},
		{JSON("200", "{\"access_token\":\"t\",\"token_type\":\"mac\"}"),
			"LATER - - 0 answer_unreadable"},
		{JSON("200", "{\"error\":\"invalid_grant\"}"), "LATER - - 0 answer_unreadable"},
		{"200\n\n", "LATER - - 0 answer_unreadable"},
		{"200\n\n{\"access_token\":\"t", "LATER - - 0 answer_unreadable"},
		{JSON("400", "{\"error\":\"invalid_grant\",\"error_description\":\"secret\"}"),
			"DENIED - - 0 invalid_grant"},
		{JSON("401", "{\"error\":\"invalid_client\"}"), "REFUSED - - 0 invalid_client"},
		{JSON("400", "{\"error\":\"invalid_scope\"}"), "REFUSED - - 0 invalid_scope"},
		{JSON("400", "{\"error\":\"interaction_required\"}"), "DENIED - - 0 interaction_required"},
		{JSON("400", "{\"error\":\"something new\"}"), "LATER - - 0 something_new"},
		{"400\n\n<html>", "LATER - - 0 bad_request"},
		{JSON("429", "{\"error\":\"invalid_grant\"}"), "LATER - - 0 rate_limited"},
		{JSON("503", "{\"error\":\"invalid_grant\"}"), "LATER - - 0 unavailable"},
		{"302\nLocation: https://evil.example.net/\n\n", "LATER - - 0 redirected"},
		{"lost reset", "LATER - - 0 reset"},
		{"not sent could not connect", "LATER - - 0 could_not_connect"},
		{"refused insecure_url", "REFUSED - - 0 insecure_url"},
	};

	for (int i = 0; i < (int) lengthof(answers); i++)
	{
		BookingHttpResponse response;
		BookingSigninResult result;
		char		text[300];

		parse_answer(answers[i].answer, arena, &response);
		booking_signin_judge(&response, arena, &result);
		snprintf(text, sizeof(text), "%s %s %s %lld%s%s", signins[result.kind],
				 result.access_token ? result.access_token : "-",
				 result.refresh_token ? result.refresh_token : "-",
				 (long long) result.lifetime, result.problem ? " " : "",
				 result.problem ? result.problem : "");
		if (strcmp(text, answers[i].expected) != 0)
			note("result", text);
		ok(strcmp(text, answers[i].expected) == 0, "sign-in: answer %d: %s", i,
		   answers[i].expected);
	}
}

/*
 * Test all of provider/signin.h.
 */
void
test_signin(void)
{
	BookingArena *arena = booking_arena_create(ARENA_LIMIT);
	BookingSignin refresh = {
		BOOKING_GRANT_REFRESH, TOKEN_URL, "id&1", "s e/c", "r+1"
	};
	BookingSignin client = {
		BOOKING_GRANT_CLIENT, TOKEN_URL, "id", "secret", .scope = "a b"
	};
	BookingHttpRequest request;

	ok(booking_signin_request(&refresh, arena, &request) &&
	   is_form(&request,
		"grant_type=refresh_token&refresh_token=r%2B1&client_id=id%261&client_secret=s%20e%2Fc"),
	   "sign-in: refresh_token");
	ok(booking_signin_request(&client, arena, &request) &&
	   is_form(&request,
		"grant_type=client_credentials&client_id=id&client_secret=secret&scope=a%20b"),
	   "sign-in: client_credentials");
	refresh.refresh_token = NULL;
	client.client_id = NULL;
	ok(!booking_signin_request(&refresh, arena, &request) &&
	   !booking_signin_request(&client, arena, &request),
		"sign-in: what is incomplete is not sent");
	ok(booking_signin_grant("refresh_token") == BOOKING_GRANT_REFRESH &&
	   booking_signin_grant("service_account") == BOOKING_GRANT_ASSERTION &&
	   booking_signin_grant("client_credentials") == BOOKING_GRANT_CLIENT &&
	   booking_signin_grant("basic") == BOOKING_GRANT_NONE, "sign-in: types");
	test_assertion(arena);
	test_answers(arena);
	booking_arena_free(arena);
}
