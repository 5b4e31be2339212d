/*-------------------------------------------------------------------------
 *
 * text.h
 *	  what requests say, as the database wants it
 *
 * IDENTIFICATION
 *	  booking/bookingd/text.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKINGD_TEXT_H
#define BOOKINGD_TEXT_H

#include "pqexpbuffer.h"

extern char *text_source_of(const char *uri, const char *prefix);
extern const char *text_query_of(const char *uri);
extern bool text_is_valid(const char *value);
extern void text_append_json(PQExpBuffer buffer, const char *value, size_t len);
extern void text_append_label(PQExpBuffer buffer, const char *value);

#endif							/* BOOKINGD_TEXT_H */
