#include "config.h"

#include "tests/oracle/internal.h"

const struct kv_policy_use *oracle_admission_policy(const struct oracle_engine *engine)
{
	return &engine->config->policy[KV_POLICY_ADMISSION];
}

static uint64_t capped_blocks(const struct oracle_engine *engine, uint32_t group, uint64_t tokens)
{
	return kv_min(kv_ceil_div(tokens, engine->config->block_size), engine->config->admission_cap[group]);
}

static uint64_t gate_need(const struct oracle_engine *engine, const struct oracle_request *request,
                          const struct oracle_lookup *lookup, uint64_t tokens)
{
	uint64_t need = 0;

	if (oracle_is_contiguous(engine))
		return oracle_reserved_chunk(engine, request);
	for (uint32_t g = 0; g < engine->config->groups; g++)
		need += oracle_admission_need(engine, lookup, g, capped_blocks(engine, g, tokens));
	return need;
}

/* Free blocks that it takes until it has all that it is allowed, however far it is. A block of a window that another
 * request holds, too, is not free when this one has passed it, so that it saves nothing. */
static uint64_t most_needed(const struct oracle_engine *engine, const struct oracle_request *request,
                            const struct oracle_lookup *lookup)
{
	uint64_t need = gate_need(engine, request, lookup, request->max_total_tokens);

	for (uint32_t g = 0; g < engine->config->groups && !oracle_is_contiguous(engine); g++) {
		uint64_t most = capped_blocks(engine, g, request->max_total_tokens);

		if (oracle_is_windowed(engine, g))
			need += most - oracle_admission_need(engine, lookup, g, most);
	}
	return need;
}

uint64_t oracle_blocks_whole(const struct oracle_engine *engine, const struct oracle_request *request)
{
	return gate_need(engine, request, &(struct oracle_lookup){0}, oracle_final_tokens(request));
}

/* Those that it has held longest of all that hold them. */
static uint64_t own_blocks(const struct oracle_request *request, uint32_t group)
{
	const struct oracle_list *slots = &request->table[group].slots;
	uint64_t count = 0;

	for (size_t i = 0; i < slots->count; i++) {
		const struct oracle_block *block = slots->items[i];

		count += block != NULL && block->holders.items[0] == request;
	}
	return count;
}

uint64_t oracle_growth_of_running(const struct oracle_engine *engine)
{
	uint64_t growth = 0;

	if (oracle_is_contiguous(engine))
		return 0;
	for (size_t i = 0; i < engine->running.count; i++) {
		const struct oracle_request *request = engine->running.items[i];

		for (uint32_t g = 0; g < engine->config->groups; g++) {
			uint64_t has = oracle_is_windowed(engine, g) ? own_blocks(request, g) :
			                                               oracle_live_blocks(&request->table[g]);

			growth += kv_sub_floor(capped_blocks(engine, g, request->max_total_tokens),
			                       has + request->pages);
		}
	}
	return growth;
}

/* What the policy holds back for those that run, in tokens. */
static double reserved_tokens(const struct oracle_engine *engine)
{
	const struct kv_policy_use *use = oracle_admission_policy(engine);
	double tokens = 0;

	if (use->policy->hooks.admission.reserve == NULL)
		return 0;
	for (size_t i = 0; i < engine->running.count; i++) {
		const struct oracle_request *request = engine->running.items[i];
		struct kv_request_view view = oracle_view_of(request, use->policy);

		view.fresh = request->fresh || (oracle_prompts_go_first(engine) && request->scheduled > 0);
		tokens += use->policy->hooks.admission.reserve(use->state, &view, engine->config->block_size);
	}
	return tokens;
}

static uint32_t count_fresh(const struct oracle_engine *engine)
{
	uint32_t count = 0;

	for (size_t i = 0; i < engine->running.count; i++)
		count += ((const struct oracle_request *)engine->running.items[i])->fresh;
	return count;
}

static uint64_t all_evictable_hits(const struct oracle_engine *engine, const struct oracle_lookup *lookup)
{
	uint64_t count = 0;

	for (uint32_t g = 0; g < engine->config->groups; g++)
		count += oracle_evictable_hits(lookup, g);
	return count;
}

enum kv_verdict oracle_ask_admission(const struct oracle_engine *engine, const struct oracle_request *request,
                                     const struct oracle_lookup *lookup, uint64_t free, uint64_t watermark,
                                     uint64_t growth, uint32_t running)
{
	const struct kv_policy_use *use = oracle_admission_policy(engine);
	struct kv_admission_view view = {
		.request = oracle_view_of(request, use->policy),
		.need_whole = gate_need(engine, request, lookup, oracle_known_tokens(request)),
		.need_full = most_needed(engine, request, lookup),
		.free_blocks = free,
		.watermark = watermark,
		.running_growth = growth,
		.running = running,
		.fresh = running > 0 ? count_fresh(engine) : 0,
		.pool_blocks = engine->config->usable_blocks,
		.block_tokens = engine->config->block_size,
		.groups = oracle_is_contiguous(engine) ? 1 : engine->config->groups,
		.hit_tokens = (uint32_t)lookup->hit_tokens,
		.hit_evictable = oracle_is_contiguous(engine) ? 0 : all_evictable_hits(engine, lookup),
		.reserved = running > 0 ? reserved_tokens(engine) : 0,
	};

	return use->policy->hooks.admission.admit(use->state, &view);
}

bool oracle_is_impossible(const struct oracle_engine *engine, const struct oracle_request *request)
{
	const struct kv_engine_config *config = engine->config;
	const struct oracle_lookup nothing = {0};
	struct oracle_buddy empty;
	bool fits;

	if (config->step_order == KV_STEPS_MIXED && !config->enable_chunked_prefill &&
	    oracle_below_threshold(engine, request->prompt_tokens) > config->max_num_batched_tokens)
		return true;
	if (oracle_ask_admission(engine, request, &nothing, config->usable_blocks, 0, 0, 0) == KV_WAIT)
		return true;
	if (!oracle_is_contiguous(engine))
		return oracle_blocks_whole(engine, request) > config->usable_blocks;
	oracle_buddy_init(&empty, config->usable_blocks);
	fits = oracle_buddy_has(&empty, oracle_reserved_chunk(engine, request));
	oracle_buddy_fini(&empty);
	return !fits;
}

bool oracle_engine_may_enter(const struct oracle_engine *engine, struct oracle_request *request)
{
	const struct kv_policy_use *use = oracle_admission_policy(engine);
	struct kv_arrival_view view = {
		.request = oracle_view_of(request, use->policy),
		.now = engine->now,
		.waiting = engine->waiting.count,
		.running = (uint32_t)engine->running.count,
		.prefill_tokens = engine->state.prefill_tokens,
		.busy = engine->busy,
	};

	for (size_t i = 0; i < engine->waiting.count; i++)
		view.waiting_tokens += oracle_known_tokens(engine->waiting.items[i]);
	view.request.queued = engine->now;
	return use->policy->hooks.admission.arrive == NULL ||
	       use->policy->hooks.admission.arrive(use->state, &view) != KV_REFUSE;
}

void oracle_tell_running(const struct oracle_engine *engine, bool preempted)
{
	const struct kv_policy_use *use = oracle_admission_policy(engine);
	struct kv_running_view view = {.running = (uint32_t)engine->running.count, .preempted = preempted};

	if (use->policy->hooks.admission.step == NULL || view.running == 0)
		return;
	for (size_t i = 0; i < engine->running.count && preempted; i++) {
		const struct oracle_request *request = engine->running.items[i];

		view.generated += request->generated;
		view.allowed += request->output_limit;
	}
	use->policy->hooks.admission.step(use->state, &view);
}
