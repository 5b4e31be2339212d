/*-------------------------------------------------------------------------
 *
 * xml.h
 *	  XML from outside, as a stream of the elements that matter
 *
 * A caller names the elements it knows by where they may stand.  All others
 * are passed over, with what is in them.
 *
 * IDENTIFICATION
 *	  booking/src/codec/xml.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_XML_H
#define BOOKING_XML_H

#include "codec/buffer.h"

/* the place that a root element has, and what is passed over */
#define BOOKING_XML_TOP 0
#define BOOKING_XML_OTHER (-1)

/* an element known at one place */
typedef struct BookingXmlRule
{
	int			parent;			/* element it stands in, or BOOKING_XML_TOP */
	const char *uri;			/* of its namespace; NULL any */
	const char *name;			/* without prefix; NULL any */
	int			element;		/* what it is to the caller, from 1 on */
	bool		has_text;		/* its text is wanted */
} BookingXmlRule;

/* what an element's begin is told */
typedef struct BookingXmlTag
{
	const char *uri;			/* "" if it has no namespace */
	const char *name;
	const char *attribute;		/* value of its attribute "name", or NULL */
} BookingXmlTag;

typedef struct BookingXmlReader
{
	const BookingXmlRule *rules;
	int			nrules;

	/* false ends the reading; the caller knows why */
	bool		(*begin) (void *arg, int element, const BookingXmlTag *tag);

	/* text is trimmed, and NULL unless it was wanted */
	bool		(*end) (void *arg, int element, const char *text, size_t len);
	void	   *arg;
	size_t		max_text;		/* bytes of a text that are kept; 0: all */
} BookingXmlReader;

typedef enum BookingXmlFault
{
	BOOKING_XML_OK,
	BOOKING_XML_MALFORMED,		/* not well-formed, too deep, or a DTD */
	BOOKING_XML_TOO_LARGE,		/* over the limit of the arena */
	BOOKING_XML_ENDED			/* by begin or end */
} BookingXmlFault;

extern BookingXmlFault booking_xml_read(const char *data, size_t len,
										BookingArena *arena,
										const BookingXmlReader *reader);

/* a document that comes in pieces */
typedef struct BookingXmlStream BookingXmlStream;

extern BookingXmlStream *booking_xml_stream_begin(BookingArena *arena,
												  const BookingXmlReader *reader);
extern bool booking_xml_stream_feed(BookingXmlStream *stream, const char *data,
									size_t len);
extern BookingXmlFault booking_xml_stream_end(BookingXmlStream *stream);

extern bool booking_xml_escape(BookingBuffer *buffer, const char *text);

#endif							/* BOOKING_XML_H */
