#include "config.h"

#include "sim/sizing/sizing.h"

#include <inttypes.h>
#include <math.h>

#include "sim/base/units.h"

enum { CELL_PADDING = 256, STATE_BYTES = 4 };

uint64_t kv_size_in_flight(const struct kv_size_question *q)
{
	return q->budget.max_num_batched_tokens * q->concurrent_batches;
}

static uint64_t padded(uint64_t cells)
{
	return kv_ceil_div(cells, CELL_PADDING) * CELL_PADDING;
}

uint64_t kv_llama_state_bytes(const struct kv_model *m)
{
	struct kv_state_elements state = kv_model_state(m, 1);

	return STATE_BYTES * (state.convolution + state.state);
}

uint64_t kv_llama_cache_bytes(const struct kv_budget_question *q, uint64_t tokens, uint64_t slots)
{
	const struct kv_model *m = q->model;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < m->layers; i++) {
		const struct kv_layer *l = &m->layer[i];
		uint64_t cells = padded(tokens * slots);

		if (l->shares_kv_with >= 0 || l->mixer == KV_MIXER_NONE)
			continue;
		if (l->window && l->mixer == KV_MIXER_SLIDING)
			cells = padded(kv_min(tokens * slots, l->window * slots + q->max_num_batched_tokens));
		if (l->mixer == KV_MIXER_MLA)
			bytes += cells * kv_cache_row_bytes(q->layout.cache, m, m->kv_lora_rank + m->qk_rope_dim);
		else if (l->kv_heads)
			bytes += cells * (kv_cache_row_bytes(q->layout.cache, m, (uint64_t)l->kv_heads * l->head_dim)
			                  + kv_cache_row_bytes(q->layout.cache, m, (uint64_t)l->kv_heads * l->v_head_dim));
	}
	return bytes + slots * kv_llama_state_bytes(m);
}

/* Largest n in 0..limit for which fits(n) holds; it holds for all smaller ones. */
static uint64_t largest(bool (*fits)(const struct kv_size_question *, const struct kv_size_answer *, uint64_t),
                        const struct kv_size_question *q, const struct kv_size_answer *a, uint64_t limit)
{
	uint64_t good = 0, bad = limit + 1;

	while (bad - good > 1) {
		uint64_t middle = good + (bad - good) / 2;

		if (fits(q, a, middle))
			good = middle;
		else
			bad = middle;
	}
	return good;
}

static bool llama_length_fits(const struct kv_size_question *q, const struct kv_size_answer *a, uint64_t tokens)
{
	return a->budget.kv_bytes > 0
	       && kv_llama_cache_bytes(&q->budget, tokens, kv_max(1, q->budget.max_num_seqs)) <= (uint64_t)a->budget.kv_bytes;
}

static bool llama_slots_fit(const struct kv_size_question *q, const struct kv_size_answer *a, uint64_t slots)
{
	return a->budget.kv_bytes > 0
	       && kv_llama_cache_bytes(&q->budget, q->max_model_len, slots) <= (uint64_t)a->budget.kv_bytes;
}

static void answer_llama(const struct kv_size_question *q, uint64_t limit, struct kv_size_answer *a)
{
	uint64_t slots = kv_max(1, q->budget.max_num_seqs);
	uint64_t asked = kv_llama_cache_bytes(&q->budget, q->max_model_len, slots);

	a->kv_cache_tokens = a->kv_cache_tokens_reported = padded(q->max_model_len * slots);
	a->blocks_per_request = q->max_model_len;
	a->bytes_per_request = kv_llama_cache_bytes(&q->budget, q->max_model_len, 1);
	a->starts = llama_length_fits(q, a, q->max_model_len);
	a->largest_max_model_len = largest(llama_length_fits, q, a, limit);
	a->max_concurrency = (double)largest(llama_slots_fit, q, a, 1 << 20);
	a->shortfall_bytes = a->starts ? 0 : (int64_t)asked - a->budget.kv_bytes;
}

static uint64_t smallest_block(const struct kv_layout *layout)
{
	uint64_t smallest = layout->group[0].block_size;

	for (uint32_t i = 1; i < layout->groups; i++)
		smallest = kv_min(smallest, layout->group[i].block_size);
	return smallest;
}

static uint64_t reported_tokens(const struct kv_size_question *q, const struct kv_size_answer *a)
{
	const struct kv_layout *layout = &a->budget.layout;
	uint64_t token_bytes = layout->page_bytes / layout->group[0].block_size;

	if (q->budget.rule.engine == KV_SIZING_TENSORRT_LLM && a->budget.kv_bytes > 0 && !q->budget.num_blocks_override)
		return (uint64_t)a->budget.kv_bytes / token_bytes;
	if (q->budget.rule.tokens_by_concurrency)
		return (uint64_t)(a->max_concurrency * (double)q->max_model_len);
	return a->kv_cache_tokens;
}

/* SGLang runs no more requests than it has states for; INFINITY where it keeps none. */
static double state_bound(const struct kv_size_question *q, const struct kv_size_answer *a)
{
	bool keeps = q->budget.rule.engine == KV_SIZING_SGLANG && a->budget.layout.state_bytes;

	return keeps ? (double)(a->budget.state_slots / kv_max(1, q->budget.states_per_request)) : INFINITY;
}

static void answer_pool(const struct kv_size_question *q, uint64_t limit, struct kv_size_answer *a)
{
	const struct kv_budget *b = &a->budget;
	uint64_t in_flight = kv_size_in_flight(q);

	a->blocks_per_request = kv_layout_request_blocks(&b->layout, q->max_model_len, in_flight);
	a->bytes_per_request = a->blocks_per_request * b->layout.page_bytes;
	a->kv_cache_tokens = b->num_blocks / b->layout.groups * smallest_block(&b->layout);
	a->max_concurrency = fmin((double)b->num_blocks / (double)a->blocks_per_request, state_bound(q, a));
	a->kv_cache_tokens_reported = reported_tokens(q, a);
	a->starts = kv_budget_starts(b, q->max_model_len, in_flight) && state_bound(q, a) >= 1;
	a->largest_max_model_len = kv_budget_largest_length(b, limit, in_flight);
	if (!a->starts && q->budget.num_blocks_override)
		a->shortfall_bytes = (int64_t)((a->blocks_per_request - b->num_blocks) * b->layout.page_bytes);
	else if (!a->starts)
		a->shortfall_bytes = (int64_t)a->bytes_per_request - b->kv_bytes;
}

static int plan_pools(const struct kv_size_question *q, uint64_t longest, struct kv_size_answer *a, struct kv_error *err)
{
	if (q->budget.rule.engine == KV_SIZING_SGLANG)
		return kv_window_pools_by_ratio(q->budget.model, &q->budget.layout, a->budget.kv_bytes, &a->pools, err);
	return kv_window_pools_plan(q->budget.model, &q->budget.layout, longest, a->budget.kv_bytes, &a->pools, err);
}

/* Shares move with the longest sequence, so that each length is planned anew. */
static bool pooled_length_fits(const struct kv_size_question *q, const struct kv_size_answer *a, uint64_t tokens)
{
	struct kv_size_answer planned = *a;
	struct kv_error ignored;

	return plan_pools(q, tokens, &planned, &ignored) == 0 && kv_window_pools_requests(&planned.pools, tokens) >= 1;
}

static void answer_pools(const struct kv_size_question *q, uint64_t limit, struct kv_size_answer *a)
{
	uint32_t longest = 0;

	for (uint32_t i = 1; i < a->pools.count; i++)
		if (a->pools.pool[i].window == 0)
			longest = i;
	a->budget.num_blocks = a->budget.usable_blocks = kv_window_pools_blocks(&a->pools);
	a->blocks_per_request = kv_window_pools_request_blocks(&a->pools, q->max_model_len);
	a->bytes_per_request = kv_window_pools_request_bytes(&a->pools, q->max_model_len);
	a->kv_cache_tokens = a->kv_cache_tokens_reported = a->pools.pool[longest].blocks * a->pools.block_size;
	a->max_concurrency = kv_window_pools_requests(&a->pools, q->max_model_len);
	a->starts = a->max_concurrency >= 1;
	a->largest_max_model_len = largest(pooled_length_fits, q, a, limit);
	a->shortfall_bytes = a->starts ? 0 : (int64_t)a->bytes_per_request - a->budget.kv_bytes;
}

static bool divides_by_window(const struct kv_size_question *q)
{
	return kv_sizing_has_whole_contexts(&q->budget.rule) && !q->budget.num_blocks_override && q->budget.pipeline_parallel == 1;
}

int kv_size(const struct kv_size_question *q, struct kv_size_answer *a, struct kv_error *err)
{
	uint64_t limit = q->budget.model->max_position;

	*a = (struct kv_size_answer){0};
	if (kv_budget_draw(&q->budget, &a->budget, err) != 0)
		return -1;
	limit = limit ? kv_max(limit, q->max_model_len) : (uint64_t)1 << 40;
	if (divides_by_window(q) && plan_pools(q, q->max_model_len, a, err) != 0)
		return -1;
	if (q->budget.rule.engine == KV_SIZING_LLAMA_CPP)
		answer_llama(q, limit, a);
	else if (a->pools.count)
		answer_pools(q, limit, a);
	else
		answer_pool(q, limit, a);
	a->shortfall_tokens = a->starts ? 0 : q->max_model_len - a->largest_max_model_len;
	return 0;
}

uint64_t kv_size_request_blocks(const struct kv_size_question *q, const struct kv_size_answer *a, uint64_t tokens)
{
	if (q->budget.rule.engine == KV_SIZING_LLAMA_CPP)
		return tokens;
	if (a->pools.count)
		return kv_window_pools_request_blocks(&a->pools, tokens);
	return kv_layout_request_blocks(&a->budget.layout, tokens, kv_size_in_flight(q));
}

uint64_t kv_size_request_bytes(const struct kv_size_question *q, const struct kv_size_answer *a, uint64_t tokens)
{
	if (a->pools.count)
		return kv_window_pools_request_bytes(&a->pools, tokens);
	return kv_size_request_blocks(q, a, tokens) * a->budget.layout.page_bytes;
}

uint64_t kv_size_requests_held(const struct kv_size_question *q, const struct kv_size_answer *a, uint64_t tokens, bool usable)
{
	if (q->budget.rule.engine == KV_SIZING_LLAMA_CPP)
		return (uint64_t)a->max_concurrency;
	if (a->pools.count)
		return (uint64_t)kv_window_pools_requests(&a->pools, tokens);
	return (uint64_t)fmin((double)((usable ? a->budget.usable_blocks : a->budget.num_blocks) / kv_size_request_blocks(q, a, tokens)),
	                      state_bound(q, a));
}

static double llama_mix(const struct kv_size_question *q, const struct kv_size_answer *a, const double *tokens, size_t count)
{
	double bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += (double)kv_llama_cache_bytes(&q->budget, (uint64_t)tokens[i], 1) / (double)count;
	return a->budget.kv_bytes > 0 ? (double)a->budget.kv_bytes / bytes : 0;
}

static double pools_mix(const struct kv_size_answer *a, const double *tokens, size_t count)
{
	double fewest = INFINITY;

	for (uint32_t p = 0; p < a->pools.count; p++) {
		double blocks = 0;

		for (size_t i = 0; i < count; i++)
			blocks += (double)kv_window_pool_request_blocks(&a->pools, p, (uint64_t)tokens[i]) / (double)count;
		fewest = fmin(fewest, (double)a->pools.pool[p].blocks / blocks);
	}
	return fewest;
}

double kv_size_mix_held(const struct kv_size_question *q, const struct kv_size_answer *a, const double *tokens, size_t count)
{
	double blocks = 0;

	if (q->budget.rule.engine == KV_SIZING_LLAMA_CPP)
		return llama_mix(q, a, tokens, count);
	if (a->pools.count)
		return pools_mix(a, tokens, count);
	for (size_t i = 0; i < count; i++)
		blocks += (double)kv_size_request_blocks(q, a, (uint64_t)tokens[i]) / (double)count;
	return fmin((double)a->budget.usable_blocks / blocks, state_bound(q, a));
}

uint64_t kv_size_requests_at_once(const struct kv_size_question *q, const struct kv_size_answer *a, uint64_t tokens,
                                  uint64_t replicas)
{
	uint64_t held = kv_size_requests_held(q, a, tokens, true), slots = q->budget.max_num_seqs;
	bool bounded = slots > 0 && q->budget.rule.engine != KV_SIZING_LLAMA_CPP;

	return (bounded ? kv_min(held, slots) : held) * replicas;
}
