/*-------------------------------------------------------------------------
 *
 * log.h
 *	  log lines of bookingd
 *
 * IDENTIFICATION
 *	  booking/bookingd/log.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKINGD_LOG_H
#define BOOKINGD_LOG_H

extern void log_info(const char *fmt,...) __attribute__((format(printf, 1, 2)));
extern void log_warning(const char *fmt,...) __attribute__((format(printf, 1, 2)));
extern void log_error(const char *fmt,...) __attribute__((format(printf, 1, 2)));

#endif							/* BOOKINGD_LOG_H */
