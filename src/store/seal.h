/*-------------------------------------------------------------------------
 *
 * seal.h
 *	  credentials at rest
 *
 * IDENTIFICATION
 *	  booking/src/store/seal.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_SEAL_H
#define BOOKING_SEAL_H

#include "postgres.h"

#include <sys/stat.h>

extern bytea *booking_seal(const char *plain, size_t len, const char *context,
						   bool *sealed);
extern char *booking_seal_context(const text *tenant, const text *account);
extern char *booking_unseal(const bytea *secret, bool sealed,
							const char *context);
extern char *booking_unseal_try(const bytea *secret, bool sealed,
								const char *context);
extern const char *booking_seal_hindrance(void);
extern bool booking_seal_file_is_private(const struct stat *info);

#endif							/* BOOKING_SEAL_H */
