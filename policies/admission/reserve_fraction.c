/* Between none and all: a fraction of the growth that is expected of running requests is held back. Expected is the
 * mean output of those that have finished so far, at most what the client allowed; until `learn` have finished, what
 * the client allowed. A request that has outgrown the mean is expected to end any moment. Nothing is known of the
 * future. */
#include "config.h"

#include <stddef.h>

#include "policies/policies.h"

struct reserve_fraction {
	double fraction;
	uint64_t learn;
	uint64_t finished, outputs;
};

static double expected_growth(const struct reserve_fraction *r, const struct kv_request_view *request)
{
	double allowed = (double)kv_sub_floor(request->max_total_tokens, request->known_tokens);
	double mean, left;

	if (r->finished < r->learn)
		return allowed;
	mean = (double)r->outputs / (double)r->finished;
	left = mean - (double)(request->known_tokens - request->prompt_tokens);
	if (left < 0)
		return 0;
	return left < allowed ? left : allowed;
}

static double reserve(const void *state, const struct kv_request_view *running, uint32_t block_tokens)
{
	const struct reserve_fraction *r = state;
	uint32_t uncomputed = running->known_tokens - running->computed_tokens;

	(void)block_tokens;
	return r->fraction * expected_growth(r, running) + (uncomputed > 1 && !running->fresh ? uncomputed : 0);
}

/* What is alone need only fit now: holding back for nobody would keep it waiting for ever. */
static enum kv_verdict admit(const void *state, const struct kv_admission_view *view)
{
	const struct reserve_fraction *r = state;
	double blocks_a_token = (double)view->groups / view->block_tokens;
	double growth = view->reserved + r->fraction * expected_growth(r, &view->request);
	double need = (double)(view->need_whole + view->watermark);

	if (view->running > 0)
		need += growth * blocks_a_token;
	return need <= (double)view->free_blocks ? KV_ADMIT : KV_WAIT;
}

static void note(void *state, enum kv_moment moment, const struct kv_request_view *request)
{
	struct reserve_fraction *r = state;

	if (moment != KV_COMPLETED)
		return;
	r->finished++;
	r->outputs += request->known_tokens - request->prompt_tokens;
}

static const struct kv_param params[] = {
	{ "fraction", KV_PARAM_DOUBLE, offsetof(struct reserve_fraction, fraction), 0, 10, "0.5", "",
	  "of the expected growth; 0 holds nothing back, above 1 leaves slack" },
	{ "learn", KV_PARAM_UINT, offsetof(struct reserve_fraction, learn), 1, 1e9, "16", "requests",
	  "that must have finished before their mean output counts" },
	{ 0 }
};

const struct kv_policy kv_admission_reserve_fraction = {
	.kind = KV_POLICY_ADMISSION,
	.name = "reserve-fraction",
	.summary = "starts when it fits beside a fraction of the growth that finished requests let expect",
	.source = "between prompt-only and full reservation, the range that engines choose from by hand",
	.state_size = sizeof(struct reserve_fraction),
	.params = params,
	.hooks.admission = {.admit = admit, .reserve = reserve, .note = note},
};
