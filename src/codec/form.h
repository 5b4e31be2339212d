/*-------------------------------------------------------------------------
 *
 * form.h
 *	  fields of a form or a query (application/x-www-form-urlencoded)
 *
 * IDENTIFICATION
 *	  booking/src/codec/form.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_FORM_H
#define BOOKING_FORM_H

#include "codec/arena.h"

#define BOOKING_FORM_FIELDS 100

typedef struct BookingFormField
{
	const char *name;
	const char *value;
} BookingFormField;

typedef struct BookingForm
{
	int			count;
	BookingFormField fields[BOOKING_FORM_FIELDS];
} BookingForm;

/*
 * Read a form; data need not be terminated and may be anything.  False unless
 * all of it is fields of valid UTF-8 without NUL, at most BOOKING_FORM_FIELDS,
 * and the arena had room.
 */
extern bool booking_form_read(const char *data, size_t len,
							  BookingArena *arena, BookingForm *form);

/* value of the one field of a name; NULL if there is none, or several */
extern const char *booking_form_value(const BookingForm *form,
									  const char *name);

#endif							/* BOOKING_FORM_H */
