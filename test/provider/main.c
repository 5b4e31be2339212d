/*
 * main.c
 *
 * Tests of the provider adapters, which need no server and no network: they
 * are step machines, so requests are compared with what they must be, and
 * answers are made up or recorded.
 */
#include "harness.h"

static const Scenario *const caldav[] = {
	caldav_create, caldav_update, caldav_cancel, caldav_lookup, caldav_check
};
static const Scenario *const google[] = {
	google_create, google_update, google_cancel, google_lookup, google_check
};
static const Scenario *const graph[] = {
	graph_create, graph_update, graph_cancel, graph_lookup, graph_check
};

int
main(void)
{
	ok(booking_provider_find("caldav") == &booking_provider_caldav &&
	   booking_provider_find("google") == &booking_provider_google &&
	   booking_provider_find("graph") == &booking_provider_graph &&
	   booking_provider_find("Caldav") == NULL &&
	   booking_provider_find("") == NULL, "providers are found by their name");
	test_urls();
	test_matches();
	test_reports();
	test_pulls();
	test_signin();
	play_all("create", caldav_create);
	play_all("update", caldav_update);
	play_all("cancel", caldav_cancel);
	play_all("lookup", caldav_lookup);
	play_all("check", caldav_check);
	play_all("recorded", caldav_servers);
	play_bodies();
	play_incomplete();
	play_statuses();
	play_random(caldav, lengthof(caldav));
	play_without_memory("create", caldav_create);
	play_without_memory("update", caldav_update);
	play_without_memory("cancel", caldav_cancel);
	play_without_memory("lookup", caldav_lookup);
	play_without_memory("check", caldav_check);
	play_without_memory("recorded", caldav_servers);

	fixture = &google_fixture;
	test_google();
	play_all("google, create", google_create);
	play_all("google, update", google_update);
	play_all("google, cancel", google_cancel);
	play_all("google, lookup", google_lookup);
	play_all("google, check", google_check);
	test_google_pull();
	play_incomplete();
	play_statuses();
	play_random(google, lengthof(google));
	for (int i = 0; i < (int) lengthof(google); i++)
		play_without_memory(google[i][0].name, google[i]);

	fixture = &graph_fixture;
	test_graph();
	play_all("graph, create", graph_create);
	play_all("graph, update", graph_update);
	play_all("graph, cancel", graph_cancel);
	play_all("graph, lookup", graph_lookup);
	play_all("graph, check", graph_check);
	test_graph_pull();
	play_incomplete();
	play_statuses();
	play_random(graph, lengthof(graph));
	for (int i = 0; i < (int) lengthof(graph); i++)
		play_without_memory(graph[i][0].name, graph[i]);

	test_conformance();
	test_channels();
	test_tables();
	return tap_done();
}
