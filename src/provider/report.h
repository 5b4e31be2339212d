/*-------------------------------------------------------------------------
 *
 * report.h
 *	  how adapters end a task, and what they say of it
 *
 * IDENTIFICATION
 *	  booking/src/provider/report.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_REPORT_H
#define BOOKING_REPORT_H

#include "provider/provider.h"

/* bytes of a message or finding, so that nothing long ends up in tables */
#define BOOKING_MAX_MESSAGE 200

/* bytes of a problem code */
#define BOOKING_MAX_PROBLEM 40

extern char *booking_report_text(BookingArena *arena, const char *format,...)
			__attribute__((format(printf, 2, 3)));
extern const char *booking_report_code(BookingArena *arena, const char *words,
									   const char *otherwise);
extern const char *booking_report_problem(BookingArena *arena,
										  const BookingHttpResponse *response);
extern const char *booking_report_explain(BookingArena *arena,
										  const BookingHttpResponse *response,
										  const char *method,
										  const char *problem);
extern void booking_report_end(BookingTask *task, BookingOutcomeKind kind,
							   const char *problem,
							   const BookingHttpResponse *response,
							   const char *message);
extern void booking_report_find(BookingTask *task, const char *subject,
								bool ok, const char *text);

/* channel_start and channel_judge of adapters that have no channels */
extern void booking_report_channel_start(BookingChannelTask *task,
										 BookingHttpRequest *request);
extern void booking_report_channel_judge(BookingChannelTask *task,
										 const BookingHttpResponse *response);
extern void booking_report_channel_end(BookingChannelTask *task,
									   BookingChannelKind kind,
									   const char *problem,
									   const BookingHttpResponse *response);

/* busy_start and busy_next of adapters that have no such question */
extern void booking_report_busy_start(BookingBusy *busy,
									  BookingHttpRequest *request);
extern bool booking_report_busy_next(BookingBusy *busy,
									 const BookingHttpResponse *response,
									 BookingHttpRequest *request);

#endif							/* BOOKING_REPORT_H */
