/*-------------------------------------------------------------------------
 *
 * view.c
 *	  what a call reads to decide, first without and then with locks
 *
 * A call reads, settles what needs no lock (denials, replays), locks what the
 * reading says it needs, and reads again, until the locks it holds cover what
 * it read:
 *
 *		do
 *		{
 *			booking_view_read(...);
 *			if (settled) return;
 *		} while (booking_view_lock(...));
 *
 * IDENTIFICATION
 *	  booking/src/ledger/view.c
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "ledger/access.h"
#include "ledger/lock.h"
#include "ledger/state.h"
#include "ledger/view.h"
#include "store/cache.h"
#include "store/plan.h"
#include "store/store.h"

static int	add_names(text **names, int count, const BookingPayload *payload);
static void read_predecessor(const BookingRequest *request,
							 BookingView *view);
static bool read_resources(const BookingRequest *request, text **names,
						   int count, BookingView *view);
static bool is_open(const BookingIntent *intent);
static bool covers(const BookingView *view, LOCKMODE mode);
static void release(const BookingRequest *request, BookingView *view);
static int	compare_int64(const void *a, const void *b);

/*
 * Read everything a decision depends on, with the latest snapshot.
 *
 * Denied means: the role is not bound to the tenant, or principal or approver
 * may not use one of the resources that are asked for or stored, or one of
 * them does not exist.  Where no resource is in question, one allowed
 * permission in the tenant is demanded.  The resources of a predecessor matter
 * only when it is exchanged: see booking_decide_predecessor().
 */
void
booking_view_read(const BookingCall *call, const BookingRequest *request,
				  BookingView *view)
{
	const BookingIdentity *identity = &request->identity;
	text	  **names;
	int			nnames = 0;
	int			nasked;

	/* in this order: a writer that is counted may not have sent its messages */
	view->completed = booking_plan_completed();
	view->cache = booking_cache_accept();
	view->intent = NULL;
	view->predecessor_name = NULL;
	view->predecessor = NULL;
	view->nresources = 0;
	view->denied = !booking_access_bound(call, identity->tenant);
	if (view->denied)
		return;

	view->intent_read = !request->intent_absent;
	if (view->intent_read)
		view->intent = booking_store_intent_read(identity);
	read_predecessor(request, view);

	names = palloc_array(text *,
						 (request->payload != NULL ? request->payload->nresources : 0) +
						 (view->intent != NULL ? view->intent->payload.nresources : 0) +
						 (view->predecessor != NULL ? view->predecessor->payload.nresources : 0));
	if (request->payload != NULL)
		nnames = add_names(names, nnames, request->payload);
	if (view->intent != NULL)
		nnames = add_names(names, nnames, &view->intent->payload);
	nasked = nnames;
	if (view->predecessor != NULL)
		nnames = add_names(names, nnames, &view->predecessor->payload);

	view->resources = palloc_array(BookingResource, nnames + 1);
	if (nasked > 0)
		view->denied = !read_resources(request, names, nasked, view);
	else
		view->denied =
			(!request->approver_decides &&
			 !booking_store_permission_any(identity->tenant, identity->principal)) ||
			(request->approver != NULL &&
			 !booking_store_permission_any(identity->tenant, request->approver));
	view->predecessor_denied = !read_resources(request, names + nasked,
											   nnames - nasked, view);
}

/*
 * Read a payload's resources only, in their order by name or not; returns
 * whether the principal may use all of them.
 */
bool
booking_view_read_resources(const BookingCall *call,
							const BookingIdentity *identity,
							const BookingPayload *payload, BookingView *view)
{
	BookingRequest request = {0};

	(void) booking_cache_accept();
	if (!booking_access_bound(call, identity->tenant))
		return false;

	request.identity = *identity;
	view->resources = palloc_array(BookingResource, payload->nresources + 1);
	view->nresources = 0;
	return read_resources(&request, payload->resources, payload->nresources,
						  view);
}

/*
 * Make the locks cover what was read: binding, permissions and intents, and
 * the resources in a mode, NoLock for none.  Returns whether everything must be
 * read again: locks had to be taken, and since the reading began some
 * transaction that may have written has completed.  If none has, reading again
 * would see what was seen.
 *
 * When locks held do not suffice, those of intents and resources are given
 * back first: nothing was decided under them, and taking them anew in order
 * is what keeps callers from deadlocks.
 */
bool
booking_view_lock(const BookingCall *call, const BookingRequest *request,
				  BookingView *view, LOCKMODE mode)
{
	const BookingIdentity *identity = &request->identity;

	if (covers(view, mode))
		return false;

	if (view->locked)
		release(request, view);
	else
	{
		if (!call->privileged)
			booking_lock_binding(identity->tenant, ShareLock);
		booking_lock_permissions(identity->tenant, identity->principal,
								 request->approver, ShareLock);
	}

	booking_lock_intents(identity, view->predecessor_name);
	view->locked = true;
	view->locked_predecessor = view->predecessor_name;
	view->locked_mode = mode;
	view->nlocked = 0;
	if (mode != NoLock)
	{
		view->locked_resources = palloc_array(int64, view->nresources + 1);
		for (int i = 0; i < view->nresources; i++)
			view->locked_resources[i] = view->resources[i].resource_id;
		view->nlocked = view->nresources;
		qsort(view->locked_resources, view->nlocked, sizeof(int64),
			  compare_int64);
		for (int i = 0; i < view->nlocked; i++)
			booking_lock_resource(view->locked_resources[i], mode);
	}

	/*
	 * A lock that was waited for was held by a transaction that completed.  It
	 * may have been counted as complete before the reading began, but has sent
	 * its messages before it gave the lock back.
	 */
	return booking_cache_accept() != view->cache ||
		booking_plan_completed() != view->completed;
}

/*
 * Number of the intent that is superseded, 0 if none is.
 */
int64
booking_view_predecessor_id(const BookingView *view)
{
	return view->predecessor != NULL ? view->predecessor->intent_id : 0;
}

/*
 * The resource of a name, which the view is known to contain.
 */
const BookingResource *
booking_view_resource(const BookingView *view, const text *name)
{
	for (int i = 0; i < view->nresources; i++)
	{
		if (booking_text_compare(view->resources[i].name, name) == 0)
			return &view->resources[i];
	}
	elog(ERROR, "resource was not read");
	return NULL;				/* keep compiler quiet */
}

/*
 * The resources of a payload in its order.
 */
const BookingResource **
booking_view_payload_resources(const BookingView *view,
							   const BookingPayload *payload)
{
	const BookingResource **resources =
		palloc_array(const BookingResource *, payload->nresources);

	for (int i = 0; i < payload->nresources; i++)
		resources[i] = booking_view_resource(view, payload->resources[i]);
	return resources;
}

/*
 * Add a payload's resources to names, each once, and return the new count.
 */
static int
add_names(text **names, int count, const BookingPayload *payload)
{
	for (int i = 0; i < payload->nresources; i++)
	{
		bool		known = false;

		for (int j = 0; j < count && !known; j++)
			known = booking_text_compare(names[j], payload->resources[i]) == 0;
		if (!known)
			names[count++] = payload->resources[i];
	}
	return count;
}

/*
 * Read the intent that is superseded, if one is.  Of an intent that is decided,
 * what it superseded no longer matters.
 */
static void
read_predecessor(const BookingRequest *request, BookingView *view)
{
	BookingIdentity predecessor = request->identity;

	if (view->intent != NULL && !is_open(view->intent))
		return;
	if (request->payload != NULL)
		view->predecessor_name = request->payload->supersedes;
	else if (request->stored_predecessor && view->intent != NULL)
		view->predecessor_name = view->intent->payload.supersedes;
	if (view->predecessor_name == NULL)
		return;
	predecessor.intent = view->predecessor_name;
	view->predecessor = booking_store_intent_read(&predecessor);
}

/*
 * Add the named resources to the view; returns whether all exist and may be
 * used by those who must be allowed to.
 */
static bool
read_resources(const BookingRequest *request, text **names, int count,
			   BookingView *view)
{
	text	   *tenant = request->identity.tenant;
	int			found;
	BookingResource *resources = booking_store_resources_read(tenant, names,
															  count, &found);
	bool		allowed = found == count;

	for (int i = 0; i < found; i++)
	{
		view->resources[view->nresources++] = resources[i];
		if (!request->approver_decides)
			allowed = allowed &&
				booking_store_permitted(tenant, request->identity.principal,
										resources[i].name);
		if (request->approver != NULL)
			allowed = allowed &&
				booking_store_permitted(tenant, request->approver,
										resources[i].name);
	}
	return allowed;
}

/*
 * Can an intent still take a payload, and with it a predecessor?
 */
static bool
is_open(const BookingIntent *intent)
{
	BookingState state = booking_state_of(intent->state);

	return state == BOOKING_STATE_PROPOSED || state == BOOKING_STATE_FAILED ||
		state == BOOKING_STATE_NEEDS_PROPOSAL;
}

/*
 * Do the locks held cover what was read, in a mode?
 */
static bool
covers(const BookingView *view, LOCKMODE mode)
{
	if (!view->locked)
		return false;
	if ((view->predecessor_name == NULL) != (view->locked_predecessor == NULL))
		return false;
	if (view->predecessor_name != NULL &&
		booking_text_compare(view->predecessor_name,
							 view->locked_predecessor) != 0)
		return false;
	if (mode == NoLock)
		return true;
	if (mode != view->locked_mode)
		return false;
	for (int i = 0; i < view->nresources; i++)
	{
		if (bsearch(&view->resources[i].resource_id, view->locked_resources,
					view->nlocked, sizeof(int64), compare_int64) == NULL)
			return false;
	}
	return true;
}

/*
 * Give back the locks of intents and resources.
 */
static void
release(const BookingRequest *request, BookingView *view)
{
	for (int i = 0; i < view->nlocked; i++)
		booking_unlock_resource(view->locked_resources[i], view->locked_mode);
	booking_unlock_intents(&request->identity, view->locked_predecessor);
}

/*
 * Order numbers.
 */
static int
compare_int64(const void *a, const void *b)
{
	int64		left = *(const int64 *) a;
	int64		right = *(const int64 *) b;

	return left < right ? -1 : left > right ? 1 : 0;
}
