/* booking/sql/booking--0.3--0.4.sql */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION booking UPDATE TO '0.4'" to load this file. \quit
