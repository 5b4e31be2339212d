/*-------------------------------------------------------------------------
 *
 * proof.h
 *	  asks the provider about events that a listing does not show
 *
 * IDENTIFICATION
 *	  booking/src/controller/proof.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_PROOF_H
#define BOOKING_PROOF_H

#include "net/http.h"
#include "provider/provider.h"
#include "sync/round.h"

/* the questions of one round, one after the other */
typedef struct BookingProof
{
	BookingHttpEngine *engine;
	const BookingProvider *provider;
	const char *base_url;
	const char *collection;
	const BookingHttpAuth *auth;
	BookingSuspects *suspects;
	void		(*done) (void *arg);
	void	   *arg;

	int			place;			/* of the suspect that is asked about */
	int			failures;		/* in a row */
	int64		retry_after;	/* seconds that the provider wants to be left
								 * alone, 0 if it does not say */
	BookingArena *arena;		/* of the question in hand */
	BookingArena *last;			/* of the one before; its answer may be in use */
	BookingJob	job;
	BookingTask task;
	BookingHttpRequest request;
} BookingProof;

extern void booking_proof_start(BookingProof *proof);
extern void booking_proof_end(BookingProof *proof);

#endif							/* BOOKING_PROOF_H */
