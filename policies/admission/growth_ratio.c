/* SGLang's admission on expected growth: of what running requests may still generate (clipped) a ratio is held back.
 * The ratio falls linearly from step to step and is set anew from what survives when requests lose their blocks
 * (retraction).
 *
 * In tokens, with a page = a block:
 *     need      = known - hit + max_new + page         max_new = what it may still generate, clipped
 *     remaining = free - evictable hits - reserved
 *     reserved  = sum over running of ratio x max_new, those admitted in this step: max_new + page in full
 *     admit iff need < remaining
 * What may be generated is cut further so that every request could be admitted alone. A running prompt that is not
 * computed yet is held back whole (SGLang keeps its one chunked request apart). */
#include "config.h"

#include <stdbool.h>
#include <stddef.h>

#include "policies/policies.h"

struct growth_ratio {
	double conservativeness, initial, floor;
	uint64_t steps, clip, retraction_steps;
	double lowered;  /* from the start; the ratio is computed from it */
	double reset;    /* 0 = never retracted: the start; else the ratio after the last retraction */
};

static double start_of(const struct growth_ratio *g)
{
	double start = g->initial * g->conservativeness;

	return start < 1 ? start : 1;
}

static double ratio_of(const struct growth_ratio *g)
{
	double start = start_of(g);
	double ratio = (g->reset > 0 ? g->reset : start) - g->lowered;

	return ratio > g->floor * start ? ratio : g->floor * start;
}

static uint64_t may_generate(const struct growth_ratio *g, const struct kv_request_view *request)
{
	return kv_min(kv_sub_floor(request->max_total_tokens, request->known_tokens), g->clip);
}

static double reserve(const void *state, const struct kv_request_view *running, uint32_t page)
{
	const struct growth_ratio *g = state;
	double growth = (double)may_generate(g, running);
	uint32_t uncomputed = running->known_tokens - running->computed_tokens;

	if (running->fresh)
		return growth + page;
	return ratio_of(g) * growth + (uncomputed > 1 ? uncomputed : 0);
}

static enum kv_verdict admit(const void *state, const struct kv_admission_view *view)
{
	const struct growth_ratio *g = state;
	const struct kv_request_view *request = &view->request;
	uint64_t page = view->block_tokens;
	double tokens_a_block = (double)page / view->groups;
	uint64_t alone = (uint64_t)((double)view->pool_blocks * tokens_a_block);
	uint64_t room = kv_sub_floor(alone, kv_ceil_div(request->known_tokens, page) * page + page + 1);
	uint64_t uncached = request->known_tokens - view->hit_tokens;
	double need = (double)(uncached + kv_min(may_generate(g, request), room) + page);
	double remaining = (double)(view->free_blocks - view->hit_evictable) * tokens_a_block - view->reserved;

	return need < remaining ? KV_ADMIT : KV_WAIT;
}

static void step(void *state, const struct kv_running_view *view)
{
	struct growth_ratio *g = state;
	double ratio;

	if (!view->preempted) {
		g->lowered += start_of(g) * (1 - g->floor) / (double)g->steps;
		return;
	}
	ratio = ((double)view->generated + (double)(g->retraction_steps * view->running)) / ((double)view->allowed + 1);
	g->reset = ratio < 1 ? ratio : 1;
	g->lowered = 0;
}

static const struct kv_param params[] = {
	{ "conservativeness", KV_PARAM_DOUBLE, offsetof(struct growth_ratio, conservativeness), 0, 100, "1", "",
	  "multiplies the initial ratio (SGLang: --schedule-conservativeness)" },
	{ "initial", KV_PARAM_DOUBLE, offsetof(struct growth_ratio, initial), 0, 1, "0.7", "",
	  "ratio at the start, at most 1" },
	{ "floor", KV_PARAM_DOUBLE, offsetof(struct growth_ratio, floor), 0, 1, "0.14", "",
	  "lowest ratio, as a part of that at the start" },
	{ "steps", KV_PARAM_UINT, offsetof(struct growth_ratio, steps), 1, 1e9, "600", "steps",
	  "from the start to the floor" },
	{ "clip", KV_PARAM_UINT, offsetof(struct growth_ratio, clip), 0, 1e9, "4096", "tokens",
	  "most that any request is expected to generate from now on" },
	{ "retraction_steps", KV_PARAM_UINT, offsetof(struct growth_ratio, retraction_steps), 0, 1e6, "20", "tokens",
	  "added for each survivor when the ratio is set anew" },
	{ 0 }
};

const struct kv_policy kv_admission_growth_ratio = {
	.kind = KV_POLICY_ADMISSION,
	.name = "growth-ratio",
	.summary = "starts when it fits beside a falling ratio of what running requests may still generate",
	.source = "SGLang of 2026-07, PrefillAdder and new_token_ratio",
	.state_size = sizeof(struct growth_ratio),
	.params = params,
	.hooks.admission = {.admit = admit, .reserve = reserve, .step = step},
};
