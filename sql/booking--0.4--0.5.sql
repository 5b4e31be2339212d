/* booking/sql/booking--0.4--0.5.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION booking UPDATE TO '0.5'" to load this file. \quit

/* ------------------------------------------------------------------------
 * Events of ours that no round has seen
 * ------------------------------------------------------------------------ */

CREATE INDEX event_unlisted_idx ON booking.event (calendar_id)
	WHERE etag IS NULL AND intent_id IS NOT NULL;
