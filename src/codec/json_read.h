/*-------------------------------------------------------------------------
 *
 * json_read.h
 *	  JSON from outside (RFC 8259) as a tree in an arena
 *
 * Everything that comes out hangs off the caller's arena; texts are valid
 * UTF-8 without NUL, and terminated.
 *
 * IDENTIFICATION
 *	  booking/src/codec/json_read.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_JSON_READ_H
#define BOOKING_JSON_READ_H

#include "codec/arena.h"

/* objects and arrays within each other; providers send six at most */
#define BOOKING_JSON_DEPTH 32

/* bytes of a document */
#define BOOKING_JSON_BYTES (16 * 1024 * 1024)

/* what the parser may take while it works, by a careful guess made before */
#define BOOKING_JSON_MEMORY (96 * 1024 * 1024)

typedef enum BookingJsonFault
{
	BOOKING_JSON_OK,
	BOOKING_JSON_MALFORMED,		/* no whole object or array of RFC 8259 */
	BOOKING_JSON_TOO_LARGE		/* over a limit, or over that of the arena */
} BookingJsonFault;

typedef enum BookingJsonKind
{
	BOOKING_JSON_NULL,
	BOOKING_JSON_BOOLEAN,
	BOOKING_JSON_NUMBER,
	BOOKING_JSON_STRING,
	BOOKING_JSON_ARRAY,
	BOOKING_JSON_OBJECT
} BookingJsonKind;

typedef struct BookingJson
{
	BookingJsonKind kind;
	bool		boolean;
	int64		integer;		/* of a number, its whole part, saturated */
	const char *text;			/* of a string or number; never NULL then */
	const char *name;			/* of a member of an object, else NULL */
	struct BookingJson *first;	/* of an array or object, NULL if empty */
	struct BookingJson *next;	/* within its array or object */
	int			count;			/* of an array or object */
} BookingJson;

/*
 * Read a document that is an object or an array, and nothing besides.  data
 * need not be terminated and may be anything.  Of members that share a name
 * the last one counts.
 */
extern BookingJsonFault booking_json_read(const char *data, size_t len,
										  BookingArena *arena,
										  const BookingJson **value);

/*
 * A member of an object; NULL if there is none, if it is null, or if value is
 * NULL or no object.  So members of members are asked for without looking.
 */
extern const BookingJson *booking_json_member(const BookingJson *value,
											  const char *name);

/* a member that is a string, else NULL */
extern const char *booking_json_text(const BookingJson *value,
									 const char *name);

/* a member that is a number, else what is given */
extern int64 booking_json_integer(const BookingJson *value, const char *name,
								  int64 otherwise);

/* is a member there, and true? */
extern bool booking_json_true(const BookingJson *value, const char *name);

/* first element of a member that is an array, else NULL */
extern const BookingJson *booking_json_elements(const BookingJson *value,
												const char *name);

#endif							/* BOOKING_JSON_READ_H */
