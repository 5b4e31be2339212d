/*-------------------------------------------------------------------------
 *
 * ical_windows.h
 *	  names that Windows gives to time zones
 *
 * IDENTIFICATION
 *	  booking/src/codec/ical_windows.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ICAL_WINDOWS_H
#define BOOKING_ICAL_WINDOWS_H

extern const char *booking_ical_windows_zone(const char *name);

#endif							/* BOOKING_ICAL_WINDOWS_H */
