/*-------------------------------------------------------------------------
 *
 * guc.h
 *	  settings of the extension
 *
 * IDENTIFICATION
 *	  booking/src/guc.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_GUC_H
#define BOOKING_GUC_H

extern int	booking_max_terms;	/* kilobytes of terms or evidence */
extern int	booking_max_hold;	/* seconds a proposal may hold units */
extern int	booking_clock_offset;	/* seconds added to the clock of holds */

extern void booking_guc_init(void);

#endif							/* BOOKING_GUC_H */
