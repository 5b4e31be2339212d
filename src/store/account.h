/*-------------------------------------------------------------------------
 *
 * account.h
 *	  accounts, credentials and calendars
 *
 * IDENTIFICATION
 *	  booking/src/store/account.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef BOOKING_ACCOUNT_H
#define BOOKING_ACCOUNT_H

#include "store/record.h"

/* problem of an account whose credential cannot be opened; booking.recovery knows it */
#define BOOKING_PROBLEM_SEALED "the credential was sealed with another key"

/* a row of booking.calendar with the provider of its account */
typedef struct BookingCalendar
{
	text	   *calendar;
	text	   *account;
	text	   *provider;
	text	   *remote_id;
	text	   *resource;		/* NULL: none */
	text	   *role;
	text	   *address;		/* NULL: none */
} BookingCalendar;

/* the row of booking.site */
typedef struct BookingSite
{
	bytea	   *event_key;
	int64		system_identifier;
	int64		database_oid;
	bytea	   *arm_digest;
} BookingSite;

/* an account check that waits, for one calendar or, without any, the account */
typedef struct BookingAccountCheck
{
	int64		check_id;
	text	   *tenant;
	text	   *account;
	text	   *provider;
	text	   *base_url;
	text	   *calendar;		/* NULL: the account has none */
	text	   *remote_id;		/* likewise */
	bool		sealed;
	bytea	   *secret;			/* NULL: no credential */
} BookingAccountCheck;

extern int64 booking_store_check_ask(text *tenant, text *account,
									 TimestampTz now);
extern BookingAccountCheck *booking_store_checks_waiting(const int64 *in_hand,
														 int nin_hand,
														 int *count);
extern void booking_store_check_answer(int64 check_id, Jsonb *findings,
									   TimestampTz now);
extern bool booking_store_check_read(int64 check_id, Jsonb **findings);
extern bool booking_store_site_read(BookingSite *site);
extern void booking_store_site_put(const BookingSite *site, TimestampTz now);
extern bool booking_store_account_read(text *tenant, text *account,
									   text **provider, text **base_url,
									   Jsonb **settings);
extern void booking_store_account_put(text *tenant, text *account,
									  text *provider, text *base_url,
									  Jsonb *settings, TimestampTz now);
extern void booking_store_account_unpark(text *tenant, text *account,
										 TimestampTz now);
extern void booking_store_account_park(text *tenant, text *account,
									   text *problem, TimestampTz now);
extern int64 booking_store_accounts_sealed(TimestampTz now);
extern void booking_store_account_block(text *tenant, text *account,
										TimestampTz until, text *problem,
										TimestampTz now);
extern bool booking_store_account_remove(text *tenant, text *account);
extern text *booking_store_account_calendars(text *tenant, text *account);
extern void booking_store_credential_put(text *tenant, text *account,
										 bool sealed, bytea *secret,
										 TimestampTz now);
extern bool booking_store_credential_remove(text *tenant, text *account);
extern bool booking_store_calendar_read(text *tenant, text *calendar,
										BookingCalendar *found);
extern void booking_store_calendar_put(text *tenant,
									   const BookingCalendar *calendar,
									   TimestampTz now);
extern void booking_store_calendar_remove(text *tenant, text *calendar);
extern text *booking_store_operations_sent(text *tenant, text *account,
										   text *calendar);
extern text *booking_store_calendar_open_operations(text *tenant,
													text *calendar);
extern text *booking_store_calendar_writer(text *tenant, text *resource);
extern void booking_store_resource_calendar(text *tenant, text *resource,
											text *calendar);

#endif							/* BOOKING_ACCOUNT_H */
