/*
 * main.c
 *
 * Tests of the provider adapters, which need no server and no network: they
 * are step machines, so requests are compared with what they must be, and
 * answers are made up or recorded.
 */
#include "harness.h"

int
main(void)
{
	ok(booking_provider_find("caldav") == &booking_provider_caldav &&
	   booking_provider_find("Caldav") == NULL &&
	   booking_provider_find("") == NULL, "providers are found by their name");
	test_urls();
	test_matches();
	test_reports();
	test_pulls();
	play_all("create", caldav_create);
	play_all("update", caldav_update);
	play_all("cancel", caldav_cancel);
	play_all("lookup", caldav_lookup);
	play_all("check", caldav_check);
	play_all("recorded", caldav_servers);
	play_bodies();
	play_incomplete();
	play_statuses();
	play_random();
	play_without_memory("create", caldav_create);
	play_without_memory("update", caldav_update);
	play_without_memory("cancel", caldav_cancel);
	play_without_memory("lookup", caldav_lookup);
	play_without_memory("check", caldav_check);
	play_without_memory("recorded", caldav_servers);
	return tap_done();
}
