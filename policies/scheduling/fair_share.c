/* Fair share by tenant: the tenant that has been served least goes first (virtual token counter). Service is what the
 * engine computes: `input` for each token computed at an admission, `output` for each token generated. A tenant that
 * comes back after having had nothing to do is lifted to the least served of the active ones, so that idling saves up
 * nothing. Within a tenant first come, first served; preempted requests by the same rule.
 *
 * Tenants are told apart by the hash of their name in a table of fixed size: two of n share a counter with probability
 * about n / 4096. */
#include "config.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "policies/policies.h"

enum { COUNTERS = 4096 };

struct fair_share {
	double input, output;
	double served[COUNTERS];   /* what has been counted for good */
	double going_on[COUNTERS]; /* outputs of running requests since their admission, as of the last ranking */
	uint32_t active[COUNTERS]; /* requests waiting or running */
	double last;               /* counter of whoever became idle last */
};

static struct kv_rank rank(const void *state, const struct kv_request_view *request)
{
	const struct fair_share *share = state;
	size_t t = request->tenant % COUNTERS;

	return (struct kv_rank){(int64_t)(share->served[t] + share->going_on[t]), request->queued};
}

static bool begin(void *state, uint64_t waiting)
{
	struct fair_share *share = state;

	(void)waiting;
	memset(share->going_on, 0, sizeof share->going_on);
	return false;
}

static void running(void *state, const struct kv_request_view *request)
{
	struct fair_share *share = state;

	share->going_on[request->tenant % COUNTERS] += share->output * request->generated_since;
}

static double least_served(const struct fair_share *share)
{
	double least = -1;

	for (size_t t = 0; t < COUNTERS; t++)
		if (share->active[t] > 0 && (least < 0 || share->served[t] < least))
			least = share->served[t];
	return least < 0 ? share->last : least;
}

static void lift(struct fair_share *share, size_t t)
{
	double least;

	if (share->active[t]++ > 0)
		return;
	share->active[t] = 0;
	least = least_served(share);
	share->active[t] = 1;
	if (share->served[t] < least)
		share->served[t] = least;
}

static void note(void *state, enum kv_moment moment, const struct kv_request_view *request)
{
	struct fair_share *share = state;
	size_t t = request->tenant % COUNTERS;

	switch (moment) {
	case KV_QUEUED:
		lift(share, t);
		break;
	case KV_ADMITTED:
		share->served[t] += share->input * (request->known_tokens - request->computed_tokens);
		break;
	case KV_PREEMPTED:
		share->served[t] += share->output * request->generated_since;
		break;
	case KV_COMPLETED:
	case KV_GIVEN_UP:
		share->served[t] += share->output * request->generated_since;
		if (--share->active[t] == 0)
			share->last = share->served[t];
		break;
	}
}

static const struct kv_param params[] = {
	{ "input", KV_PARAM_DOUBLE, offsetof(struct fair_share, input), 0, 1000, "1", "",
	  "weight of a token computed at admission" },
	{ "output", KV_PARAM_DOUBLE, offsetof(struct fair_share, output), 0, 1000, "2", "",
	  "weight of a generated token" },
	{ 0 }
};

const struct kv_policy kv_scheduling_fair_share = {
	.kind = KV_POLICY_SCHEDULING,
	.name = "fair-share",
	.summary = "the tenant that has been served least first, then arrival",
	.source = "virtual token counter: Sheng et al., Fairness in Serving Large Language Models, OSDI 2024",
	.flags = KV_POLICY_BY_TENANT,
	.state_size = sizeof(struct fair_share),
	.params = params,
	.hooks.scheduling = {
		.rank = rank, .reorder = KV_REORDER_ADMISSION, .begin = begin, .running = running, .note = note
	},
};
