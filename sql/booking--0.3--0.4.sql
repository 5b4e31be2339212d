/* booking/sql/booking--0.3--0.4.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION booking UPDATE TO '0.4'" to load this file. \quit

/* ------------------------------------------------------------------------
 * Claims
 *
 * A claim of one free resource runs no statement, and a SET clause would cost
 * it more than its locks do.  Where it does run one, the library pins the same
 * settings by itself.  The library that is too old to do so refuses objects of
 * this version before it runs any.
 * ------------------------------------------------------------------------ */

ALTER FUNCTION @extschema@.booking_claim(text, text, text, text, tstzrange, bigint,
	integer, jsonb, text, jsonb) RESET ALL;
