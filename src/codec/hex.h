/*-------------------------------------------------------------------------
 *
 * hex.h
 *	  hexadecimal digits
 *
 * IDENTIFICATION
 *	  booking/src/codec/hex.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_HEX_H
#define BOOKING_HEX_H

/* value of a digit of either case, -1 if it is none */
extern int	booking_hex_digit(char c);

#endif							/* BOOKING_HEX_H */
