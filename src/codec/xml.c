/*-------------------------------------------------------------------------
 *
 * xml.c
 *	  XML from outside, as a stream of the elements that matter
 *
 * libxml2 reads from memory, in one go or as the pieces come, and calls back; no
 * tree is built.  In one go it fetches what it reads a little at a time, since it
 * would copy a text that it is given whole.  A document type is refused where it
 * begins, so there are no entities but the five of XML itself, nothing is fetched
 * from elsewhere, and nothing grows.  libxml2's own limits on names, attributes and
 * texts stay in force.
 *
 * No callback throws, and none keeps a pointer of libxml2.  Its error messages
 * go nowhere: they quote what came from outside.
 *
 * IDENTIFICATION
 *	  booking/src/codec/xml.c
 *
 *-------------------------------------------------------------------------
 */
#ifdef FRONTEND
#include "postgres_fe.h"
#else
#include "postgres.h"
#endif

#include <limits.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>

#include "codec/utf8.h"
#include "codec/xml.h"

#define MAX_DEPTH 32

/* libxml2 made the argument constant with 2.12 */
#if LIBXML_VERSION >= 21200
typedef const xmlError *ErrorArgument;
#else
typedef xmlErrorPtr ErrorArgument;
#endif

/* it hides its members from 2.15 on */
#if LIBXML_VERSION >= 21500
#define DECLARED_ENCODING(context) xmlCtxtGetDeclaredEncoding(context)
#elif LIBXML_VERSION >= 21200
#define DECLARED_ENCODING(context) ((context)->encoding)
#else
#define DECLARED_ENCODING(context) \
	((context)->input != NULL && (context)->input->encoding != NULL ? \
	 (context)->input->encoding : (context)->encoding)
#endif

/* any text of a document, each byte become two */
#define TEXTS_SIZE(len) ((size_t) (len) * 2 + 1)

/* bytes given to libxml2 at one time */
#define MAX_PIECE (1024 * 1024)

/*
 * What a document may say that it is written in.  Others are left to a library
 * of conversions, which does not say the same of a text that comes in pieces.  Nor
 * does libxml2 of a NUL, which has no place but in UTF-16, which is read in one
 * piece only.
 */
static const char *const encodings[] = {
	"UTF-8", "UTF8", "US-ASCII", "ASCII", "ISO-8859-1", "UTF-16"
};

/* a document being read */
typedef struct BookingXmlStream Document;

struct BookingXmlStream
{
	const BookingXmlReader *reader;
	BookingArena *arena;
	xmlParserCtxtPtr context;
	BookingXmlFault fault;
	const BookingXmlRule *open[MAX_DEPTH];	/* NULL: passed over */
	int			depth;
	BookingBuffer text;			/* of the innermost element */
};

/* what of a whole document libxml2 has not fetched yet */
typedef struct Source
{
	const char *data;
	size_t		len;
} Source;

static xmlParserCtxtPtr open_document(const char *data, size_t len,
									  Source *source, xmlSAXHandler *handler,
									  Document *document);
static int	fetch(void *arg, char *buffer, int size);
static void set_handler(xmlSAXHandler *handler);
static BookingXmlFault conclude(Document *document);
static void on_begin(void *data, const xmlChar *name, const xmlChar *prefix,
					 const xmlChar *uri, int nnamespaces,
					 const xmlChar **namespaces, int nattributes,
					 int ndefaulted, const xmlChar **attributes);
static void on_end(void *data, const xmlChar *name, const xmlChar *prefix,
				   const xmlChar *uri);
static void on_text(void *data, const xmlChar *text, int len);
static void on_doctype(void *data, const xmlChar *name, const xmlChar *public_id,
					   const xmlChar *system_id);
static void on_error(void *data, ErrorArgument error);
static void on_message(void *context, const char *format,...);
static void stop(Document *document, BookingXmlFault fault);
static bool is_readable(xmlParserCtxtPtr context);
static bool is_wide(const char *data);
static const BookingXmlRule *find_rule(const Document *document,
									   const char *uri, const char *name);
static char *name_attribute(Document *document, int nattributes,
							const xmlChar **attributes);

/*
 * Read a document and call back for each element that a rule names.  The
 * strings in callbacks live as long as the call; those that last are the
 * callback's to copy.  Elements more than 32 deep are MALFORMED.
 */
BookingXmlFault
booking_xml_read(const char *data, size_t len, BookingArena *arena,
				 const BookingXmlReader *reader)
{
	Document	document;
	Source		source = {data, len};
	xmlSAXHandler handler;
	xmlParserCtxtPtr context;
	BookingArena *texts;
	BookingXmlFault fault;

	if (len == 0 || (!is_wide(data) && memchr(data, '\0', len) != NULL))
		return BOOKING_XML_MALFORMED;
	if (len > INT_MAX)
		return BOOKING_XML_TOO_LARGE;

	memset(&document, 0, sizeof(document));
	document.reader = reader;
	document.arena = arena;

	/* room for all that may come, so that a long text leaves nothing behind */
	texts = booking_arena_create(TEXTS_SIZE(len));
	booking_buffer_init(&document.text, texts);
	document.text.data = booking_arena_reserve(texts, TEXTS_SIZE(len));
	document.text.size = TEXTS_SIZE(len);

	set_handler(&handler);

	context = document.text.data == NULL ? NULL :
		open_document(data, len, &source, &handler, &document);
	if (context == NULL)
	{
		booking_arena_free(texts);
		return BOOKING_XML_TOO_LARGE;
	}
	document.context = context;
	(void) xmlCtxtUseOptions(context, XML_PARSE_NONET);
	(void) xmlParseDocument(context);
	fault = conclude(&document);
	booking_arena_free(texts);
	return fault;
}

/*
 * Have libxml2 read a whole document: UTF-16, of which it does not say the same
 * when it comes in pieces, from a copy.  NULL when memory is short.
 */
static xmlParserCtxtPtr
open_document(const char *data, size_t len, Source *source,
			  xmlSAXHandler *handler, Document *document)
{
	xmlParserCtxtPtr context;

	if (!is_wide(data))
		return xmlCreateIOParserCtxt(handler, document, fetch, NULL, source,
									 XML_CHAR_ENCODING_NONE);
	context = xmlCreateMemoryParserCtxt(data, (int) len);
	if (context != NULL)
	{
		*context->sax = *handler;
		context->userData = document;
	}
	return context;
}

/*
 * xmlInputReadCallback: the next bytes of a document, none at its end.
 */
static int
fetch(void *arg, char *buffer, int size)
{
	Source	   *source = arg;
	int			count = (int) Min((size_t) size, source->len);

	memcpy(buffer, source->data, count);
	source->data += count;
	source->len -= count;
	return count;
}

/*
 * Begin to read a document that comes in pieces.  The arena holds little more
 * than the longest text.  NULL when memory is short; the reader must live until
 * the end.
 */
BookingXmlStream *
booking_xml_stream_begin(BookingArena *arena, const BookingXmlReader *reader)
{
	BookingXmlStream *stream = booking_arena_alloc(arena, sizeof(*stream));
	xmlSAXHandler handler;

	if (stream == NULL)
		return NULL;
	stream->reader = reader;
	stream->arena = arena;
	booking_buffer_init(&stream->text, arena);
	set_handler(&handler);
	stream->context = xmlCreatePushParserCtxt(&handler, stream, NULL, 0, NULL);
	if (stream->context == NULL)
		return NULL;
	(void) xmlCtxtUseOptions(stream->context, XML_PARSE_NONET);
	return stream;
}

/*
 * Read a piece.  Returns false when it is no use to send more; the end says
 * why.
 */
bool
booking_xml_stream_feed(BookingXmlStream *stream, const char *data, size_t len)
{
	while (len > 0 && stream->fault == BOOKING_XML_OK)
	{
		int			piece = (int) Min(len, MAX_PIECE);

		if (memchr(data, '\0', piece) != NULL)
			stop(stream, BOOKING_XML_MALFORMED);
		else if (xmlParseChunk(stream->context, data, piece, 0) != XML_ERR_OK)
			return false;
		data += piece;
		len -= piece;
	}
	return stream->fault == BOOKING_XML_OK;
}

/*
 * End the reading, also before all has come, and free what is not in the
 * arena.
 */
BookingXmlFault
booking_xml_stream_end(BookingXmlStream *stream)
{
	if (stream->fault == BOOKING_XML_OK)
		(void) xmlParseChunk(stream->context, NULL, 0, 1);
	return conclude(stream);
}

/*
 * The callbacks that are ours; all others stay away.  What libxml2 says of bytes
 * that it cannot convert goes to no document's callback.
 */
static void
set_handler(xmlSAXHandler *handler)
{
	xmlSetGenericErrorFunc(NULL, on_message);

	memset(handler, 0, sizeof(*handler));
	handler->initialized = XML_SAX2_MAGIC;
	handler->startElementNs = on_begin;
	handler->endElementNs = on_end;
	handler->characters = on_text;
	handler->ignorableWhitespace = on_text;
	handler->cdataBlock = on_text;
	handler->internalSubset = on_doctype;
	handler->serror = on_error;
}

/*
 * Free libxml2's part of a document, and say how its reading went.
 */
static BookingXmlFault
conclude(Document *document)
{
	xmlParserCtxtPtr context = document->context;
	int			code;

	code = context->wellFormed ? XML_ERR_OK :
		context->errNo == XML_ERR_OK ? XML_ERR_INTERNAL_ERROR : context->errNo;
	xmlFreeDoc(context->myDoc);
	context->myDoc = NULL;
	xmlFreeParserCtxt(context);
	document->context = NULL;

	if (document->fault != BOOKING_XML_OK)
		return document->fault;
	if (booking_arena_failed(document->arena) || code == XML_ERR_NO_MEMORY)
		return BOOKING_XML_TOO_LARGE;
	return code == XML_ERR_OK ? BOOKING_XML_OK : BOOKING_XML_MALFORMED;
}

/*
 * An element begins.
 */
static void
on_begin(void *data, const xmlChar *name, const xmlChar *prefix,
		 const xmlChar *uri, int nnamespaces, const xmlChar **namespaces,
		 int nattributes, int ndefaulted, const xmlChar **attributes)
{
	Document   *document = data;
	const BookingXmlRule *rule;
	BookingXmlTag tag;

	if (document->fault != BOOKING_XML_OK)
		return;
	if (document->depth == MAX_DEPTH ||
		(document->depth == 0 && !is_readable(document->context)))
	{
		stop(document, BOOKING_XML_MALFORMED);
		return;
	}
	tag.name = (const char *) name;
	tag.uri = uri == NULL ? "" : (const char *) uri;
	rule = find_rule(document, tag.uri, tag.name);
	document->open[document->depth++] = rule;
	document->text.len = 0;
	if (rule == NULL)
		return;

	tag.attribute = name_attribute(document, nattributes, attributes);
	if (!document->reader->begin(document->reader->arg, rule->element, &tag))
		stop(document, BOOKING_XML_ENDED);
}

/*
 * Is a document in an encoding that we read?  Before 2.12 libxml2 keeps the name
 * of most of them with the input.  Saying nothing is UTF-8.
 */
static bool
is_readable(xmlParserCtxtPtr context)
{
	const char *encoding = (const char *) DECLARED_ENCODING(context);

	if (encoding == NULL)
		return true;
	for (int i = 0; i < lengthof(encodings); i++)
	{
		if (pg_strcasecmp(encoding, encodings[i]) == 0)
			return true;
	}
	return false;
}

/*
 * Does a document begin with the mark of UTF-16 (XML 1.0 section 4.3.3)?  No other
 * encoding that we read has the first byte of either form.
 */
static bool
is_wide(const char *data)
{
	return (unsigned char) data[0] >= 0xfe;
}

/*
 * The rule for an element that begins in the one that is open.
 */
static const BookingXmlRule *
find_rule(const Document *document, const char *uri, const char *name)
{
	int			parent = BOOKING_XML_TOP;

	if (document->depth > 0)
	{
		const BookingXmlRule *outer = document->open[document->depth - 1];

		if (outer == NULL)
			return NULL;
		parent = outer->element;
	}
	for (int i = 0; i < document->reader->nrules; i++)
	{
		const BookingXmlRule *rule = &document->reader->rules[i];

		if (rule->parent == parent &&
			(rule->uri == NULL || strcmp(rule->uri, uri) == 0) &&
			(rule->name == NULL || strcmp(rule->name, name) == 0))
			return rule;
	}
	return NULL;
}

/*
 * The value of an element's attribute "name" that has no namespace: the only
 * one that CalDAV puts anything into.  libxml2 gives five pointers for each:
 * name, prefix, namespace, and begin and end of the value.
 */
static char *
name_attribute(Document *document, int nattributes, const xmlChar **attributes)
{
	for (int i = 0; i < nattributes; i++)
	{
		const char **parts = (const char **) attributes + i * 5;

		if (strcmp(parts[0], "name") == 0 && parts[2] == NULL)
			return booking_arena_copy(document->arena, parts[3],
									  parts[4] - parts[3]);
	}
	return NULL;
}

/*
 * An element ends.
 */
static void
on_end(void *data, const xmlChar *name, const xmlChar *prefix,
	   const xmlChar *uri)
{
	Document   *document = data;
	const BookingXmlRule *rule;
	const char *text = NULL;
	size_t		len = 0;

	if (document->fault != BOOKING_XML_OK || document->depth == 0)
		return;
	rule = document->open[--document->depth];
	if (rule == NULL)
		return;

	if (rule->has_text)
	{
		text = document->text.len == 0 ? "" : document->text.data;
		len = document->text.len;
		while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
			len--;
		while (len > 0 && strchr(" \t\r\n", *text) != NULL)
		{
			text++;
			len--;
		}
	}
	document->text.len = 0;
	if (!document->reader->end(document->reader->arg, rule->element, text, len))
		stop(document, BOOKING_XML_ENDED);
}

/*
 * Text, also of a CDATA section.  An element whose text is wanted has no
 * elements in it; if it does, only what follows the last one is kept.  Of one
 * that is longer than the reader wants, the end is cut off.
 */
static void
on_text(void *data, const xmlChar *text, int len)
{
	Document   *document = data;
	size_t		max_text = document->reader->max_text;
	const BookingXmlRule *rule;

	if (document->fault != BOOKING_XML_OK || document->depth == 0)
		return;
	rule = document->open[document->depth - 1];
	if (rule == NULL || !rule->has_text)
		return;
	if (max_text > 0 && max_text - document->text.len < len)
	{
		len = (int) (max_text - document->text.len);
		while (len > 0 && (text[len] & 0xc0) == 0x80)
			len--;
	}
	if (!booking_buffer_add(&document->text, (const char *) text, len))
		stop(document, BOOKING_XML_TOO_LARGE);
}

/*
 * A document type begins.
 */
static void
on_doctype(void *data, const xmlChar *name, const xmlChar *public_id,
		   const xmlChar *system_id)
{
	stop(data, BOOKING_XML_MALFORMED);
}

/*
 * Keep libxml2 from writing its messages to stderr.
 */
static void
on_error(void *data, ErrorArgument error)
{
}

/*
 * The same for what belongs to no document.
 */
static void
on_message(void *context, const char *format,...)
{
}

/*
 * Read no further.
 */
static void
stop(Document *document, BookingXmlFault fault)
{
	if (document->fault == BOOKING_XML_OK)
		document->fault = booking_arena_failed(document->arena) ?
			BOOKING_XML_TOO_LARGE : fault;
	xmlStopParser(document->context);
}

/*
 * Add text that stands between tags or in quotation marks.  Returns false when
 * it has characters that XML cannot hold (XML 1.0 section 2.2), is no UTF-8, or
 * the arena has failed.
 */
bool
booking_xml_escape(BookingBuffer *buffer, const char *text)
{
	while (*text != '\0')
	{
		int			len = booking_utf8_length(text, strnlen(text, 4));
		const char *escape = NULL;

		if (len == 0 ||
			((unsigned char) *text < 0x20 && strchr("\t\r\n", *text) == NULL) ||
			strncmp(text, "\xef\xbf\xbe", 3) == 0 ||
			strncmp(text, "\xef\xbf\xbf", 3) == 0)
			return false;
		if (*text == '&')
			escape = "&amp;";
		else if (*text == '<')
			escape = "&lt;";
		else if (*text == '>')
			escape = "&gt;";
		else if (*text == '"')
			escape = "&quot;";
		else if (*text == '\r')
			escape = "&#13;";	/* would become a line feed */
		if (!(escape != NULL ? booking_buffer_add_text(buffer, escape) :
			  booking_buffer_add(buffer, text, len)))
			return false;
		text += len;
	}
	return true;
}
