/*-------------------------------------------------------------------------
 *
 * label.h
 *	  what a tenant, principal, intent, resource or slot may be called
 *
 * IDENTIFICATION
 *	  booking/src/codec/label.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_LABEL_H
#define BOOKING_LABEL_H

#define BOOKING_LABEL_MAX_BYTES 200

typedef enum BookingLabelFault
{
	BOOKING_LABEL_OK,
	BOOKING_LABEL_EMPTY,
	BOOKING_LABEL_TOO_LONG,
	BOOKING_LABEL_CONTROL,
	BOOKING_LABEL_EDGE_BLANK
} BookingLabelFault;

extern BookingLabelFault booking_label_check(const char *data, int len,
											 bool utf8);

#endif							/* BOOKING_LABEL_H */
