/*-------------------------------------------------------------------------
 *
 * address.h
 *	  which network addresses the worker may connect to
 *
 * IDENTIFICATION
 *	  booking/src/net/address.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ADDRESS_H
#define BOOKING_ADDRESS_H

#include "postgres.h"

#include <sys/socket.h>

extern bool booking_networks_are_valid(const char *networks);
extern bool booking_address_is_allowed(const struct sockaddr *address,
									   size_t length,
									   const char *allowed_networks);

#endif							/* BOOKING_ADDRESS_H */
