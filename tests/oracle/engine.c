#include "config.h"

#include "tests/oracle/engine.h"

#include "tests/oracle/tree.h"

/* What a lookup found: hit_blocks slots in every group, NULL where the group does not need the block. */
struct lookup {
	uint64_t hit_blocks;
	uint64_t hit_tokens;   /* more than these blocks only where a block may be found in part */
	uint64_t full_blocks;  /* what the full groups alone would have given */
	struct oracle_block **slots[KV_MAX_GROUPS];
	uint64_t evictable;    /* of a tree: pages of the hit that nobody keeps */
};

void oracle_engine_init(struct oracle_engine *engine, const struct kv_engine_config *config, struct kv_sink *sink)
{
	*engine = (struct oracle_engine){.config = config, .sink = sink, .reason = KV_WAIT_TOKEN_BUDGET};
	oracle_cache_init(&engine->cache, config);
	oracle_buddy_init(&engine->buddy, config->usable_blocks);
	if (oracle_has_tree(engine))
		oracle_tree_init(engine);
	oracle_engine_count(engine);
}

void oracle_engine_begin_run(struct oracle_engine *engine, struct kv_sink *sink)
{
	engine->sink = sink;
	engine->zero = engine->now;
	engine->state = (struct kv_state){0};
	engine->cache.evicted = engine->steps_begun = 0;
	engine->busy = 0;
	oracle_engine_count(engine);
}

void oracle_engine_fini(struct oracle_engine *engine)
{
	oracle_cache_fini(&engine->cache);
	oracle_buddy_fini(&engine->buddy);
	oracle_tree_fini(engine);
	oracle_list_fini(&engine->running);
	oracle_list_fini(&engine->waiting);
}

void oracle_emit(struct oracle_engine *engine, enum kv_event_kind kind, const struct oracle_request *request,
                 uint64_t tokens, uint64_t blocks, const char *detail)
{
	struct kv_event event = {
		.time = engine->now - engine->zero,
		.step = engine->in_step ? engine->steps_begun - 1 : engine->steps_begun,
		.kind = kind,
		.request = request->index,
		.request_id = request->id,
		.tokens = tokens,
		.blocks = blocks,
		.detail = detail,
	};

	if (engine->sink->event != NULL)
		engine->sink->event(engine->sink->self, &event);
}

static bool is_contiguous(const struct oracle_engine *engine)
{
	return engine->config->policy[KV_POLICY_ALLOCATION].policy->hooks.allocation.contiguous;
}

static bool caches(const struct oracle_engine *engine)
{
	return engine->config->policy[KV_POLICY_PREFIX].policy->hooks.prefix.form != KV_PREFIX_NONE && !is_contiguous(engine);
}

static uint64_t known_tokens(const struct oracle_request *request)
{
	return request->prompt_tokens + request->generated;
}

/* The newest token never gets KV. */
static uint64_t final_tokens(const struct oracle_request *request)
{
	return request->prompt_tokens + kv_max(request->outputs, 1) - 1;
}

static struct kv_request_view view_of(const struct oracle_request *request, const struct kv_policy *policy)
{
	return (struct kv_request_view){
		.index = request->index,
		.queued = request->record.queued,
		.prompt_tokens = request->prompt_tokens,
		.known_tokens = (uint32_t)known_tokens(request),
		.max_total_tokens = request->max_total_tokens,
		.oracle_total_tokens = policy->flags & KV_POLICY_ORACLE ? request->prompt_tokens + request->outputs : 0,
		.priority = request->priority,
		.tenant = request->tenant[0] != '\0' ? kv_name_hash(request->tenant, (uint32_t)strlen(request->tenant)) : 0,
		.deadline = request->deadline,
		.computed_tokens = (uint32_t)request->computed,
		.generated_since = request->generated - request->generated_before,
	};
}

static const struct kv_policy_use *admission_policy(const struct oracle_engine *engine)
{
	return &engine->config->policy[KV_POLICY_ADMISSION];
}

static void note(const struct oracle_engine *engine, const struct oracle_request *request, enum kv_moment moment)
{
	const struct kv_policy_use *admission = admission_policy(engine);
	const struct kv_policy_use *scheduling = &engine->config->policy[KV_POLICY_SCHEDULING];
	struct kv_request_view view = view_of(request, admission->policy);

	if (admission->policy->hooks.admission.note != NULL)
		admission->policy->hooks.admission.note(admission->state, moment, &view);
	view = view_of(request, scheduling->policy);
	if (scheduling->policy->hooks.scheduling.note != NULL)
		scheduling->policy->hooks.scheduling.note(scheduling->state, moment, &view);
}

/* --- groups and windows ------------------------------------------------------------------------------------------- */

static bool is_windowed(const struct oracle_engine *engine, uint32_t group)
{
	return engine->config->group[group].kind == KV_GROUP_SLIDING_WINDOW;
}

/* Whole blocks that no token after the first `computed` ones looks at. */
static uint64_t skipped_blocks(const struct oracle_engine *engine, uint32_t group, uint64_t computed)
{
	if (!is_windowed(engine, group))
		return 0;
	return kv_sub_floor(computed + 1, engine->config->group[group].window) / engine->config->block_size;
}

/* Blocks before a token that it looks at, besides its own. */
static uint64_t window_blocks(const struct oracle_engine *engine, uint32_t group)
{
	return kv_ceil_div(engine->config->group[group].window - 1, engine->config->block_size);
}

static bool share_a_type(const struct oracle_engine *engine, uint32_t a, uint32_t b)
{
	if (is_windowed(engine, a) != is_windowed(engine, b))
		return false;
	return !is_windowed(engine, a) || engine->config->group[a].window == engine->config->group[b].window;
}

/* --- lookup ------------------------------------------------------------------------------------------------------- */

/* Groups of one type hit only where all of them hold the block. */
static bool type_holds(const struct oracle_engine *engine, uint32_t type, const struct oracle_content *content)
{
	for (uint32_t g = 0; g < engine->config->groups; g++)
		if (share_a_type(engine, type, g) && oracle_content_block(content, g) == NULL)
			return false;
	return true;
}

static uint64_t longest_run_from_start(const struct oracle_engine *engine, uint32_t type,
                                       struct oracle_content **contents, uint64_t limit)
{
	uint64_t blocks = 0;

	while (blocks < limit && type_holds(engine, type, contents[blocks]))
		blocks++;
	return blocks;
}

static uint64_t longest_window_hit(const struct oracle_engine *engine, uint32_t type, struct oracle_content **contents,
                                   uint64_t limit)
{
	uint64_t run = 0;

	for (uint64_t i = limit; i-- > 0;) {
		run = type_holds(engine, type, contents[i]) ? run + 1 : 0;
		if (run > 0 && run >= window_blocks(engine, type))
			return i + run;
	}
	return run;
}

static uint64_t longest_hit(const struct oracle_engine *engine, uint32_t type, struct oracle_content **contents,
                            uint64_t limit)
{
	return is_windowed(engine, type) ? longest_window_hit(engine, type, contents, limit) :
	                                   longest_run_from_start(engine, type, contents, limit);
}

static uint64_t hit_of_full_groups(const struct oracle_engine *engine, struct oracle_content **contents, uint64_t limit)
{
	for (uint32_t g = 0; g < engine->config->groups; g++)
		if (!is_windowed(engine, g))
			return longest_run_from_start(engine, g, contents, limit);
	return 0;
}

/* The length that every type accepts: shortened until nobody objects. */
static uint64_t hit_of_all_groups(const struct oracle_engine *engine, struct oracle_content **contents, uint64_t limit)
{
	uint64_t blocks, before;

	blocks = limit;
	do {
		before = blocks;
		for (uint32_t g = 0; g < engine->config->groups; g++)
			blocks = longest_hit(engine, g, contents, blocks);
	} while (blocks < before);
	return blocks;
}

static void look_up(const struct oracle_engine *engine, const struct oracle_request *request, struct lookup *lookup)
{
	/* The last known token is always computed; a request that is swapped out asks only for what it has. */
	uint64_t tokens = request->swapped_tokens > 0 ? request->swapped_tokens : known_tokens(request) - 1;
	uint64_t limit = tokens / engine->config->block_size;
	struct oracle_content **contents;

	*lookup = (struct lookup){0};
	if (oracle_has_tree(engine)) {
		struct oracle_tree_hit hit = oracle_tree_peek(engine, request);

		lookup->hit_tokens = hit.tokens;
		lookup->hit_blocks = hit.pages;
		lookup->evictable = hit.evictable;
		return;
	}
	contents = kv_calloc(limit, sizeof(struct oracle_content *));
	if (caches(engine)) {
		oracle_cache_find(&engine->cache, &request->key, request->tokens, contents, limit);
		lookup->full_blocks = hit_of_full_groups(engine, contents, limit);
		lookup->hit_blocks = hit_of_all_groups(engine, contents, limit);
	}
	lookup->hit_tokens = lookup->hit_blocks * engine->config->block_size;
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		uint64_t skipped = skipped_blocks(engine, g, lookup->hit_blocks * engine->config->block_size);

		lookup->slots[g] = kv_calloc(lookup->hit_blocks, sizeof(struct oracle_block *));
		for (uint64_t i = skipped; i < lookup->hit_blocks; i++)
			lookup->slots[g][i] = oracle_content_block(contents[i], g);
	}
	free(contents);
}

static void lookup_fini(struct lookup *lookup)
{
	for (int g = 0; g < KV_MAX_GROUPS; g++)
		free(lookup->slots[g]);
}

/* --- what a request holds and needs ------------------------------------------------------------------------------- */

static uint64_t live_blocks(const struct oracle_table *table)
{
	uint64_t count = 0;

	for (size_t i = 0; i < table->slots.count; i++)
		count += table->slots.items[i] != NULL;
	return count;
}

static uint64_t held_blocks(const struct oracle_engine *engine, const struct oracle_request *request)
{
	uint64_t count = request->chunk_blocks + request->pages;

	for (uint32_t g = 0; g < engine->config->groups; g++)
		count += live_blocks(&request->table[g]);
	return count;
}

static uint64_t free_blocks(const struct oracle_engine *engine)
{
	uint64_t free = 0;

	if (oracle_has_tree(engine))
		return oracle_tree_free(engine);
	if (!is_contiguous(engine))
		return oracle_cache_free(&engine->cache);
	for (uint64_t i = 0; i < engine->buddy.blocks; i++)
		free += engine->buddy.free_size[i];
	return free;
}

static uint64_t capped_blocks(const struct oracle_engine *engine, uint32_t group, uint64_t tokens)
{
	return kv_min(kv_ceil_div(tokens, engine->config->block_size), engine->config->admission_cap[group]);
}

/* Contiguous allocation only. */
static uint64_t reserved_chunk(const struct oracle_engine *engine, const struct oracle_request *request)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_ALLOCATION];
	struct kv_request_view view = view_of(request, use->policy);
	uint64_t tokens = use->policy->hooks.allocation.reserve_tokens(use->state, &view, engine->config->max_model_len);

	return oracle_buddy_chunk(kv_ceil_div(tokens, engine->config->block_size));
}

static uint64_t evictable_hits(const struct lookup *lookup, uint32_t group)
{
	uint64_t count = lookup->evictable;

	for (uint64_t i = 0; i < lookup->hit_blocks && lookup->slots[group] != NULL; i++)
		count += lookup->slots[group][i] != NULL && lookup->slots[group][i]->holders.count == 0;
	return count;
}

/* Free blocks that a request without a table takes to have `required` blocks of a group. */
static uint64_t admission_need(const struct oracle_engine *engine, const struct lookup *lookup, uint32_t group,
                               uint64_t required)
{
	uint64_t skipped = skipped_blocks(engine, group, lookup->hit_blocks * engine->config->block_size);

	return kv_sub_floor(required, kv_max(skipped, lookup->hit_blocks)) + evictable_hits(lookup, group);
}

static uint64_t gate_need(const struct oracle_engine *engine, const struct oracle_request *request,
                          const struct lookup *lookup, uint64_t tokens)
{
	uint64_t need = 0;

	if (is_contiguous(engine))
		return reserved_chunk(engine, request);
	for (uint32_t g = 0; g < engine->config->groups; g++)
		need += admission_need(engine, lookup, g, capped_blocks(engine, g, tokens));
	return need;
}

/* Free blocks that it takes until it has all that it is allowed, however far it is. A block of a window that another
 * request holds, too, is not free when this one has passed it, so that it saves nothing. */
static uint64_t most_needed(const struct oracle_engine *engine, const struct oracle_request *request,
                            const struct lookup *lookup)
{
	uint64_t need = gate_need(engine, request, lookup, request->max_total_tokens);

	for (uint32_t g = 0; g < engine->config->groups && !is_contiguous(engine); g++) {
		uint64_t most = capped_blocks(engine, g, request->max_total_tokens);

		if (is_windowed(engine, g))
			need += most - admission_need(engine, lookup, g, most);
	}
	return need;
}

uint64_t oracle_blocks_whole(const struct oracle_engine *engine, const struct oracle_request *request)
{
	return gate_need(engine, request, &(struct lookup){0}, final_tokens(request));
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

static uint64_t growth_of_running(const struct oracle_engine *engine)
{
	uint64_t growth = 0;

	if (is_contiguous(engine))
		return 0;
	for (size_t i = 0; i < engine->running.count; i++) {
		const struct oracle_request *request = engine->running.items[i];

		for (uint32_t g = 0; g < engine->config->groups; g++)
			growth += kv_sub_floor(capped_blocks(engine, g, request->max_total_tokens),
			                       (is_windowed(engine, g) ? own_blocks(request, g) :
			                                                 live_blocks(&request->table[g])) + request->pages);
	}
	return growth;
}

static bool prompts_go_first(const struct oracle_engine *engine)
{
	return engine->config->step_order == KV_STEPS_PREFILL_FIRST;
}

/* What the policy holds back for those that run, in tokens. */
static double reserved_tokens(const struct oracle_engine *engine)
{
	const struct kv_policy_use *use = admission_policy(engine);
	double tokens = 0;

	if (use->policy->hooks.admission.reserve == NULL)
		return 0;
	for (size_t i = 0; i < engine->running.count; i++) {
		const struct oracle_request *request = engine->running.items[i];
		struct kv_request_view view = view_of(request, use->policy);

		view.fresh = request->fresh || (prompts_go_first(engine) && request->scheduled > 0);
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

static uint64_t all_evictable_hits(const struct oracle_engine *engine, const struct lookup *lookup)
{
	uint64_t count = 0;

	for (uint32_t g = 0; g < engine->config->groups; g++)
		count += evictable_hits(lookup, g);
	return count;
}

static enum kv_verdict ask_admission(const struct oracle_engine *engine, const struct oracle_request *request,
                                     const struct lookup *lookup, uint64_t free, uint64_t watermark,
                                     uint64_t growth, uint32_t running)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_ADMISSION];
	struct kv_admission_view view = {
		.request = view_of(request, use->policy),
		.need_whole = gate_need(engine, request, lookup, known_tokens(request)),
		.need_full = most_needed(engine, request, lookup),
		.free_blocks = free,
		.watermark = watermark,
		.running_growth = growth,
		.running = running,
		.fresh = running > 0 ? count_fresh(engine) : 0,
		.pool_blocks = engine->config->usable_blocks,
		.block_tokens = engine->config->block_size,
		.groups = is_contiguous(engine) ? 1 : engine->config->groups,
		.hit_tokens = (uint32_t)lookup->hit_tokens,
		.hit_evictable = is_contiguous(engine) ? 0 : all_evictable_hits(engine, lookup),
		.reserved = running > 0 ? reserved_tokens(engine) : 0,
	};

	return use->policy->hooks.admission.admit(use->state, &view);
}

static uint64_t below_threshold(const struct oracle_engine *engine, uint64_t tokens)
{
	uint32_t threshold = engine->config->long_prefill_token_threshold;

	return threshold > 0 ? kv_min(tokens, threshold) : tokens;
}

bool oracle_is_impossible(const struct oracle_engine *engine, const struct oracle_request *request)
{
	const struct kv_engine_config *config = engine->config;
	struct oracle_buddy empty;
	bool fits;

	if (config->step_order == KV_STEPS_MIXED && !config->enable_chunked_prefill &&
	    below_threshold(engine, request->prompt_tokens) > config->max_num_batched_tokens)
		return true;
	if (ask_admission(engine, request, &(struct lookup){0}, config->usable_blocks, 0, 0, 0) == KV_WAIT)
		return true;
	if (!is_contiguous(engine))
		return oracle_blocks_whole(engine, request) > config->usable_blocks;
	oracle_buddy_init(&empty, config->usable_blocks);
	fits = oracle_buddy_has(&empty, reserved_chunk(engine, request));
	oracle_buddy_fini(&empty);
	return !fits;
}

/* --- allocation --------------------------------------------------------------------------------------------------- */

/* Gives up the blocks [first, end) of a request's table. */
static void release_slots(struct oracle_engine *engine, struct oracle_request *request, uint32_t g, uint64_t first,
                          uint64_t end)
{
	struct oracle_list *slots = &request->table[g].slots;
	struct kv_release call = {
		.now = engine->now,
		.prompt_tokens = request->prompt_tokens,
		.blocks = (uint32_t)slots->count,
	};

	oracle_cache_release(&engine->cache, request, (struct oracle_block **)&slots->items[first], end - first, &call);
}

/* Drops what fell out of the windows, group by group. */
static void trim(struct oracle_engine *engine, struct oracle_request *request)
{
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct oracle_list *slots = &request->table[g].slots;
		uint64_t end = kv_min(skipped_blocks(engine, g, request->computed), slots->count);
		uint64_t first = end;

		while (first > 0 && slots->items[first - 1] != NULL)
			first--;
		if (first == end)
			continue;
		release_slots(engine, request, g, first, end);
		memset(&slots->items[first], 0, (end - first) * sizeof *slots->items);
	}
}

/* Sparse retention: windowed groups keep only the runs that end at a boundary. */
static bool stays_findable(const struct oracle_engine *engine, const struct oracle_table *table, uint32_t group,
                           uint64_t block)
{
	if (!is_windowed(engine, group) || engine->config->retention_interval == KV_RETAIN_ALL)
		return true;
	for (int i = 0; i < 2; i++)
		if (block < table->boundary[i] && block + window_blocks(engine, group) >= table->boundary[i])
			return true;
	return false;
}

static void register_full_blocks(struct oracle_engine *engine, struct oracle_request *request, uint64_t tokens)
{
	uint64_t full = tokens / engine->config->block_size;

	if (!caches(engine) || oracle_has_tree(engine))
		return;
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct oracle_table *table = &request->table[g];

		for (; table->considered < full; table->considered++) {
			struct oracle_block *block = table->slots.items[table->considered];

			if (block != NULL && stays_findable(engine, table, g, table->considered))
				oracle_cache_register(&engine->cache, &request->key, request->tokens, block);
		}
	}
}

static void take_hits(struct oracle_engine *engine, struct oracle_request *request, const struct lookup *lookup)
{
	if (oracle_has_tree(engine)) {
		oracle_tree_keep(engine, request, lookup->hit_blocks);
		return;
	}
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct oracle_table *table = &request->table[g];

		table->considered = lookup->hit_blocks;
		table->boundary[0] = (request->prompt_tokens - 1) / engine->config->block_size;
		table->boundary[1] = lookup->full_blocks > lookup->hit_blocks ? lookup->full_blocks : 0;
		for (uint64_t i = 0; i < lookup->hit_blocks; i++) {
			struct oracle_block *block = lookup->slots[g][i];

			oracle_list_append(&table->slots, block);
			if (block == NULL)
				continue;
			oracle_cache_touch(block, request);
			oracle_cache_hit(&engine->cache, block);
		}
	}
}

static void append_blocks(struct oracle_engine *engine, struct oracle_request *request, uint64_t tokens)
{
	uint64_t required = kv_ceil_div(tokens, engine->config->block_size);
	uint64_t evicted = engine->cache.evicted;

	if (oracle_has_tree(engine))
		engine->cache.evicted += oracle_tree_take(engine, request, required);
	for (uint32_t g = 0; g < engine->config->groups && !oracle_has_tree(engine); g++) {
		struct oracle_list *slots = &request->table[g].slots;

		while (slots->count < required)
			oracle_list_append(slots, oracle_cache_take(&engine->cache, request, g, (uint32_t)slots->count));
	}
	evicted = engine->cache.evicted - evicted;
	if (evicted > 0)
		oracle_emit(engine, KV_EVENT_EVICT, request, 0, evicted, "");
}

/* Blocks that it takes beside those that it has, for all tokens up to `total`. */
static uint64_t missing_blocks(const struct oracle_engine *engine, const struct oracle_request *request, uint64_t total)
{
	uint64_t missing = 0;

	for (uint32_t g = 0; g < engine->config->groups; g++)
		missing += kv_sub_floor(kv_ceil_div(total, engine->config->block_size),
		                        request->table[g].slots.count + request->pages);
	return missing;
}

/* Room for `tokens` more of a running request, or nothing but the trim is changed. */
static bool grow(struct oracle_engine *engine, struct oracle_request *request, uint64_t tokens)
{
	uint64_t total = request->computed + tokens;
	uint64_t need;

	if (is_contiguous(engine))
		return true;
	trim(engine, request);
	need = missing_blocks(engine, request, total);
	if (need > 0 && need > free_blocks(engine))
		return false;
	append_blocks(engine, request, total);
	register_full_blocks(engine, request, kv_min(total, known_tokens(request)));
	return true;
}

/* Room for all tokens up to `total`. */
static bool has_room(const struct oracle_engine *engine, const struct oracle_request *request,
                     const struct lookup *lookup, uint64_t total, uint64_t watermark)
{
	uint64_t need = 0;

	if (is_contiguous(engine)) {
		need = reserved_chunk(engine, request);
		return need + watermark <= free_blocks(engine) && oracle_buddy_has(&engine->buddy, need);
	}
	for (uint32_t g = 0; g < engine->config->groups; g++)
		need += admission_need(engine, lookup, g, kv_ceil_div(total, engine->config->block_size));
	return need + watermark <= free_blocks(engine);
}

static void take_room(struct oracle_engine *engine, struct oracle_request *request, const struct lookup *lookup,
                      uint64_t total)
{
	if (is_contiguous(engine)) {
		request->chunk_blocks = reserved_chunk(engine, request);
		oracle_buddy_take(&engine->buddy, request->chunk_blocks, &request->chunk_address);
		return;
	}
	take_hits(engine, request, lookup);
	append_blocks(engine, request, total);
	register_full_blocks(engine, request, kv_min(total, known_tokens(request)));
}

/* `ended`: for good. */
static void free_request(struct oracle_engine *engine, struct oracle_request *request, bool ended)
{
	oracle_tree_release(engine, request, ended);
	if (request->chunk_blocks > 0)
		oracle_buddy_give(&engine->buddy, request->chunk_address, request->chunk_blocks);
	request->chunk_blocks = 0;
	for (uint32_t g = 0; g < engine->config->groups; g++) {
		struct oracle_list *slots = &request->table[g].slots;
		size_t first = slots->count;

		/* Slots that fell out of the window are the leading ones. */
		while (first > 0 && slots->items[first - 1] != NULL)
			first--;
		if (first < slots->count)
			release_slots(engine, request, g, first, slots->count);
		oracle_list_fini(slots);
	}
}

/* --- preemption --------------------------------------------------------------------------------------------------- */

static struct oracle_request *choose_victim(const struct oracle_engine *engine)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_PREEMPTION];
	struct oracle_request *victim = engine->running.items[engine->running.count - 1];
	struct kv_rank worst = {0, 0};

	if (use->policy->hooks.preemption.victim_rank == NULL)
		return victim;
	victim = NULL;
	for (size_t i = 0; i < engine->running.count; i++) {
		struct oracle_request *request = engine->running.items[i];
		struct kv_request_view view = view_of(request, use->policy);
		struct kv_rank rank = use->policy->hooks.preemption.victim_rank(use->state, &view);
		bool equal = victim != NULL && !kv_rank_less(rank, worst) && !kv_rank_less(worst, rank);

		if (victim == NULL || kv_rank_less(worst, rank) || (equal && request->index > victim->index)) {
			victim = request;
			worst = rank;
		}
	}
	return victim;
}

/* Behind those that preemption put at the front. */
static void insert_by_rank(struct oracle_engine *engine, struct oracle_request *request, uint32_t cached_tokens,
                           uint32_t shared_tokens)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_SCHEDULING];
	struct kv_request_view view = view_of(request, use->policy);
	size_t at = engine->returned;

	view.cached_tokens = cached_tokens;
	view.shared_tokens = shared_tokens;
	request->rank = use->policy->hooks.scheduling.rank(use->state, &view);
	for (; at < engine->waiting.count; at++) {
		const struct oracle_request *other = engine->waiting.items[at];

		if (kv_rank_less(request->rank, other->rank))
			break;
		if (!kv_rank_less(other->rank, request->rank) && request->index < other->index)
			break;
	}
	oracle_list_insert(&engine->waiting, at, request);
}

void oracle_engine_enqueue(struct oracle_engine *engine, struct oracle_request *request)
{
	request->record.queued = engine->now;
	/* With nobody before it, it waits for the step in flight, whose tokens are given out. */
	if (engine->waiting.count == 0)
		engine->reason = KV_WAIT_TOKEN_BUDGET;
	insert_by_rank(engine, request, 0, 0);
	note(engine, request, KV_QUEUED);
}

bool oracle_engine_may_enter(const struct oracle_engine *engine, struct oracle_request *request)
{
	const struct kv_policy_use *use = admission_policy(engine);
	struct kv_arrival_view view = {
		.request = view_of(request, use->policy),
		.now = engine->now,
		.waiting = engine->waiting.count,
		.running = (uint32_t)engine->running.count,
		.prefill_tokens = engine->state.prefill_tokens,
		.busy = engine->busy,
	};

	for (size_t i = 0; i < engine->waiting.count; i++)
		view.waiting_tokens += known_tokens(engine->waiting.items[i]);
	view.request.queued = engine->now;
	return use->policy->hooks.admission.arrive == NULL ||
	       use->policy->hooks.admission.arrive(use->state, &view) != KV_REFUSE;
}

/* --- host memory -------------------------------------------------------------------------------------------------- */

/* What a request's tokens take there. */
static uint64_t host_blocks(const struct oracle_engine *engine, uint64_t tokens)
{
	return engine->config->groups * kv_ceil_div(tokens, engine->config->block_size);
}

static bool host_has_room(const struct oracle_engine *engine, const struct oracle_request *request)
{
	return engine->state.swap.blocks + host_blocks(engine, request->computed) <= engine->config->swap.blocks;
}

static void swap_out(struct oracle_engine *engine, struct oracle_request *request)
{
	uint64_t blocks = host_blocks(engine, request->computed);

	oracle_emit(engine, KV_EVENT_SWAP_OUT, request, request->computed, blocks, "");
	engine->state.swap.outs++;
	engine->state.swap.requests++;
	engine->state.swap.blocks += blocks;
	engine->state.swap.blocks_out += blocks;
	engine->copied_blocks += blocks;
	request->record.swaps++;
	request->swapped_tokens = request->computed;
}

static void leave_host(struct oracle_engine *engine, struct oracle_request *request)
{
	engine->state.swap.requests--;
	engine->state.swap.blocks -= host_blocks(engine, request->swapped_tokens);
	request->swapped_tokens = 0;
}

/* found: blocks that the request has on the device already. */
static void swap_in(struct oracle_engine *engine, struct oracle_request *request, uint64_t found)
{
	uint64_t copied = host_blocks(engine, request->swapped_tokens) - found;

	oracle_emit(engine, KV_EVENT_SWAP_IN, request, request->swapped_tokens, copied, "");
	engine->state.swap.ins++;
	engine->state.swap.blocks_found += found;
	engine->state.swap.blocks_in += copied;
	engine->copied_blocks += copied;
	leave_host(engine, request);
}

/* By arrival, before all others. */
static void insert_swapped(struct oracle_engine *engine, struct oracle_request *request)
{
	size_t at = 0;

	for (; at < engine->waiting.count; at++) {
		const struct oracle_request *other = engine->waiting.items[at];

		if (other->swapped_tokens == 0 || other->record.queued > request->record.queued ||
		    (other->record.queued == request->record.queued && other->index > request->index))
			break;
	}
	oracle_list_insert(&engine->waiting, at, request);
	engine->returned++;
}

/* --- losing blocks ------------------------------------------------------------------------------------------------ */

static void requeue(struct oracle_engine *engine, struct oracle_request *victim)
{
	if (victim->swapped_tokens > 0) {
		insert_swapped(engine, victim);
	} else if (engine->config->policy[KV_POLICY_SCHEDULING].policy->hooks.scheduling.requeue_front) {
		oracle_list_insert(&engine->waiting, engine->state.swap.requests, victim);
		engine->returned++;
	} else {
		insert_by_rank(engine, victim, 0, 0);
	}
}

static void preempt(struct oracle_engine *engine, struct oracle_request *victim)
{
	bool swaps = kv_policy_swaps(&engine->config->policy[KV_POLICY_PREEMPTION]);
	bool swapped = swaps && host_has_room(engine, victim);
	bool host_full = swaps && !swapped;

	oracle_emit(engine, KV_EVENT_PREEMPT, victim, victim->computed, held_blocks(engine, victim),
	            host_full ? "host_full" : "");
	note(engine, victim, KV_PREEMPTED);
	if (swapped)
		swap_out(engine, victim);
	engine->state.swap.host_full += host_full;
	oracle_list_remove(&engine->running, victim);
	engine->full = false;
	free_request(engine, victim, false);
	victim->computed = 0;
	victim->scheduled = 0;
	victim->generated_before = victim->generated;
	victim->was_preempted = true;
	victim->preempted_at = engine->now;
	victim->record.preemptions++;
	engine->state.preemptions++;
	requeue(engine, victim);
}

/* True if this is the second time that the request gives way to nobody without anybody having got a token. */
static bool is_livelock(struct oracle_engine *engine, struct oracle_request *victim)
{
	if (engine->running.count != 1)
		return false;
	return ++victim->lone_preemptions == 2;
}

/* --- scheduling --------------------------------------------------------------------------------------------------- */

static uint64_t charge(const struct oracle_engine *engine, uint64_t tokens)
{
	return kv_ceil_div(tokens, engine->unit) * engine->unit;
}

static void schedule(struct oracle_engine *engine, struct oracle_request *request, uint64_t tokens, uint64_t *budget)
{
	request->scheduled = tokens;
	*budget -= charge(engine, tokens);
	engine->prefill_left = kv_sub_floor(engine->prefill_left, charge(engine, tokens));
}

/* Makes room by preempting until the request has its blocks; false if it had to go itself. */
static bool grow_or_preempt(struct oracle_engine *engine, struct oracle_request *request, uint64_t tokens,
                            uint64_t *budget)
{
	while (!grow(engine, request, tokens)) {
		struct oracle_request *victim = choose_victim(engine);

		if (victim == request && is_livelock(engine, victim))
			engine->livelocked = victim;
		*budget += charge(engine, victim->scheduled);
		preempt(engine, victim);
		if (victim == request)
			return false;
	}
	return true;
}

static size_t position(const struct oracle_list *list, const void *item)
{
	size_t i = 0;

	while (i < list->count && list->items[i] != item)
		i++;
	return i;
}

static void schedule_running(struct oracle_engine *engine, uint64_t *budget)
{
	for (size_t i = 0; i < engine->running.count && *budget > 0;) {
		struct oracle_request *request = engine->running.items[i];
		uint64_t tokens = known_tokens(request) - request->computed;

		tokens = kv_min(below_threshold(engine, tokens), *budget);
		if (!grow_or_preempt(engine, request, tokens, budget))
			return;
		schedule(engine, request, tokens, budget);
		i = position(&engine->running, request) + 1;
	}
}

static void note_time_away(struct oracle_engine *engine, struct oracle_request *request)
{
	kv_time away = engine->now - request->preempted_at;

	request->record.preempted += away;
	if (request->generated == 0)
		request->record.preempted_before_first += away;
	if (request->swapped_tokens > 0)
		request->record.swapped += away;
}

/* It goes on where it was. */
static void note_return(struct oracle_engine *engine, struct oracle_request *request, uint64_t hit_blocks)
{
	request->computed = request->swapped_tokens;
	oracle_emit(engine, KV_EVENT_ADMIT, request, request->computed, held_blocks(engine, request), "swap_in");
	note_time_away(engine, request);
	swap_in(engine, request, hit_blocks * engine->config->groups);
	request->was_preempted = false;
}

static void note_admission(struct oracle_engine *engine, struct oracle_request *request, uint64_t hit)
{
	bool resumed = request->was_preempted;

	request->computed = hit;
	request->recomputing = resumed;
	oracle_emit(engine, KV_EVENT_ADMIT, request, hit, held_blocks(engine, request), resumed ? "resume" : "first");
	if (resumed) {
		note_time_away(engine, request);
		engine->state.readmission_queried_tokens += caches(engine) ? known_tokens(request) : 0;
		engine->state.readmission_hit_tokens += hit;
	} else {
		request->record.admitted = engine->now;
		request->record.cached_tokens = (uint32_t)hit;
		engine->state.queried_tokens += caches(engine) ? known_tokens(request) : 0;
		engine->state.hit_tokens += hit;
	}
	request->was_preempted = false;
}

/* Beside others in a step of prompts: by its whole length, however little of it is computed now. */
static bool is_too_long_to_join(const struct oracle_engine *engine, uint64_t uncomputed)
{
	bool alone = true;

	for (size_t i = 0; i < engine->running.count; i++)
		alone &= ((const struct oracle_request *)engine->running.items[i])->scheduled == 0;
	return prompts_go_first(engine) && !alone && uncomputed >= engine->prefill_left;
}

/* What the request has without computing it: a hit, or what comes back from host memory. */
static uint64_t computed_at_start(const struct oracle_request *request, const struct lookup *lookup)
{
	return request->swapped_tokens > 0 ? request->swapped_tokens : lookup->hit_tokens;
}

/* How many tokens the head of the queue may start with, 0 if it may not: then engine->reason says why. The policy is
 * asked unless the request only comes back. */
static uint64_t first_step_of_head(struct oracle_engine *engine, const struct lookup *lookup, uint64_t budget)
{
	const struct oracle_request *head = engine->waiting.items[0];
	uint64_t watermark = engine->running.count > 0 ? engine->config->watermark_blocks : 0;
	uint64_t computed = computed_at_start(head, lookup);
	uint64_t uncomputed = known_tokens(head) - computed;
	uint64_t tokens = below_threshold(engine, uncomputed);

	engine->reason = KV_WAIT_TOKEN_BUDGET;
	if (!engine->config->enable_chunked_prefill && tokens > budget)
		return 0;
	tokens = kv_min(tokens, budget);
	if ((head->swapped_tokens == 0 &&
	     ask_admission(engine, head, lookup, free_blocks(engine), watermark, growth_of_running(engine),
	                   (uint32_t)engine->running.count) == KV_WAIT) ||
	    !has_room(engine, head, lookup, computed + tokens, watermark)) {
		engine->reason = KV_WAIT_BLOCKS;
		return 0;
	}
	return is_too_long_to_join(engine, uncomputed) ? 0 : tokens;
}

/* True if the head of the queue has started. */
static bool admit_head(struct oracle_engine *engine, uint64_t *budget)
{
	struct oracle_request *head = engine->waiting.items[0];
	struct lookup lookup;
	uint64_t hit, tokens;

	if (oracle_has_tree(engine))
		oracle_tree_consider(engine, head);
	look_up(engine, head, &lookup);
	hit = lookup.hit_tokens;
	tokens = first_step_of_head(engine, &lookup, *budget);
	if (tokens > 0)
		take_room(engine, head, &lookup, computed_at_start(head, &lookup) + tokens);
	lookup_fini(&lookup);
	if (tokens == 0)
		return false;
	oracle_list_remove_at(&engine->waiting, 0);
	if (engine->returned > 0)
		engine->returned--;
	oracle_list_append(&engine->running, head);
	if (head->swapped_tokens > 0)
		note_return(engine, head, lookup.hit_blocks);
	else
		note_admission(engine, head, hit);
	head->fresh = true;
	schedule(engine, head, tokens, budget);
	note(engine, head, KV_ADMITTED);
	return true;
}

static uint32_t would_hit(struct oracle_engine *engine, const struct oracle_request *request)
{
	struct lookup lookup;

	look_up(engine, request, &lookup);
	lookup_fini(&lookup);
	return (uint32_t)lookup.hit_tokens;
}

static void insert_by_arrival(struct oracle_list *list, struct oracle_request *request)
{
	size_t at = 0;

	for (; at < list->count; at++) {
		const struct oracle_request *other = list->items[at];

		if (other->record.queued > request->record.queued ||
		    (other->record.queued == request->record.queued && other->index > request->index))
			break;
	}
	oracle_list_insert(list, at, request);
}

static uint64_t equal_tokens(const struct oracle_request *a, const struct oracle_request *b)
{
	uint64_t most = kv_min(known_tokens(a), known_tokens(b));
	uint64_t equal = 0;

	while (oracle_equal_keys(&a->key, &b->key) && equal < most &&
	       memcmp(&a->tokens[equal], &b->tokens[equal], sizeof *a->tokens) == 0)
		equal++;
	return equal;
}

static uint32_t shared_with_any(const struct oracle_list *others, const struct oracle_request *request)
{
	uint64_t shared = 0;

	for (size_t i = 0; i < others->count; i++)
		shared = kv_max(shared, equal_tokens(others->items[i], request));
	return (uint32_t)shared;
}

/* Ranks all waiting requests anew, but for those that preemption put at the front. */
static void reorder(struct oracle_engine *engine)
{
	const struct kv_policy_use *use = &engine->config->policy[KV_POLICY_SCHEDULING];
	const struct kv_scheduling_hooks *hooks = &use->policy->hooks.scheduling;
	bool by_hits = hooks->begin != NULL && hooks->begin(use->state, engine->waiting.count) && caches(engine);
	struct oracle_list unranked = {0}, claimants = {0};

	for (size_t i = 0; i < engine->running.count && hooks->running != NULL; i++) {
		struct kv_request_view view = view_of(engine->running.items[i], use->policy);

		hooks->running(use->state, &view);
	}
	while (engine->waiting.count > engine->returned) {
		insert_by_arrival(&unranked, engine->waiting.items[engine->returned]);
		oracle_list_remove_at(&engine->waiting, engine->returned);
	}
	for (size_t i = 0; i < unranked.count; i++) {
		struct oracle_request *request = unranked.items[i];
		struct kv_request_view view = view_of(request, use->policy);

		if (by_hits)
			view.cached_tokens = would_hit(engine, request);
		if (by_hits && hooks->claims != NULL) {
			view.shared_tokens = shared_with_any(&claimants, request);
			if (hooks->claims(use->state, &view))
				oracle_list_append(&claimants, request);
		}
		insert_by_rank(engine, request, view.cached_tokens, view.shared_tokens);
	}
	oracle_list_fini(&unranked);
	oracle_list_fini(&claimants);
}

static void schedule_waiting(struct oracle_engine *engine, uint64_t *budget)
{
	enum kv_reorder order = engine->config->policy[KV_POLICY_SCHEDULING].policy->hooks.scheduling.reorder;
	bool first = true;

	if (engine->full) {
		engine->reason = engine->full_reason;
		return;
	}

	while (engine->waiting.count > 0 && *budget > 0 && engine->running.count < engine->config->max_num_seqs) {
		if (order == KV_REORDER_ADMISSION || (order == KV_REORDER_STEP && first))
			reorder(engine);
		first = false;
		if (!admit_head(engine, budget))
			return;
	}
	engine->reason = engine->running.count >= engine->config->max_num_seqs ? KV_WAIT_SEQUENCE_SLOTS :
	                                                                         KV_WAIT_TOKEN_BUDGET;
}

/* --- one step ----------------------------------------------------------------------------------------------------- */

static bool is_decode(const struct oracle_request *request)
{
	return request->generated > 0 && !request->recomputing && request->scheduled == 1 &&
	       known_tokens(request) - request->computed == 1;
}

/* The window that the model's attention is limited to, or no limit. */
static uint64_t attention_window(const struct oracle_engine *engine)
{
	for (uint32_t g = 0; g < engine->config->groups; g++)
		if (is_windowed(engine, g))
			return engine->config->group[g].window;
	return UINT64_MAX;
}

/* Twice the sum over new tokens of the keys that each sees, half of its own left out: 2 * integral of min(x, W). */
static uint64_t pairs2(uint64_t past, uint64_t tokens, uint64_t window)
{
	uint64_t end = past + tokens;

	if (end <= window)
		return tokens * (2 * past + tokens);
	if (past >= window)
		return 2 * tokens * window;
	return (window - past) * (window + past) + 2 * (end - window) * window;
}

static void add_work(struct kv_step_work *work, const struct oracle_request *request, uint64_t window)
{
	uint64_t past = request->computed, tokens = request->scheduled;

	if (is_decode(request)) {
		work->decode_seqs++;
		work->decode_context += past + 1;
		work->window_decode_context += kv_min(past + 1, window);
		return;
	}
	work->prefill_seqs++;
	work->prefill_tokens += tokens;
	work->prefill_past += past;
	work->prefill_pairs2 += tokens * (2 * past + tokens);
	work->window_prefill_past += kv_min(past, window);
	work->window_prefill_pairs2 += pairs2(past, tokens, window);
}

static void settle_computed(struct oracle_engine *engine, struct oracle_request *request)
{
	uint64_t end = request->computed + request->scheduled;

	if (request->generated == 0 && request->scheduled > 0) {
		kv_integral share = (kv_integral)(engine->step.end - engine->step.start) * request->scheduled;

		request->record.computed_tokens += request->scheduled;
		request->record.prefill_own += (kv_time)(share / engine->step.scheduled_tokens);
	}
	if (request->computed < request->highest)
		request->record.recomputed_tokens += kv_min(end, request->highest) - request->computed;
	if (is_decode(request))
		engine->state.decode_tokens += request->scheduled;
	else
		engine->state.prefill_tokens += request->scheduled;
	request->computed = end;
	request->scheduled = 0;
	request->highest = kv_max(request->highest, end);
}

static bool emits_token(const struct oracle_request *request)
{
	return request->scheduled > 0 && request->computed + request->scheduled == known_tokens(request) &&
	       request->outputs > 0;
}

static void describe_step(struct oracle_engine *engine, const struct kv_step_work *work)
{
	struct kv_step *step = &engine->step;

	*step = (struct kv_step){
		.number = engine->steps_begun - 1,
		.start = engine->now,
		.end = engine->step_end,
		.scheduled_tokens = work->prefill_tokens + work->decode_seqs,
		.prefill_tokens = work->prefill_tokens,
		.pinned_blocks = engine->state.pinned_blocks,
		.cached_blocks = engine->state.cached_blocks,
		.evicted_blocks = engine->state.evicted_blocks,
		.running = engine->running.count,
	};
	for (size_t i = 0; i < engine->running.count; i++)
		step->output_tokens += emits_token(engine->running.items[i]);
}

static void play_step(struct oracle_engine *engine)
{
	struct kv_step_work work = {0};

	for (size_t i = 0; i < engine->running.count; i++) {
		struct oracle_request *request = engine->running.items[i];

		if (request->scheduled == 0)
			continue;
		add_work(&work, request, attention_window(engine));
		oracle_emit(engine, KV_EVENT_SCHEDULE, request, request->scheduled, held_blocks(engine, request), "");
	}
	engine->steps_begun++;
	engine->in_step = true;
	engine->step_end = engine->now + kv_latency_step(engine->config->latency, &work) +
	                   kv_swap_time(&engine->config->swap, engine->copied_blocks);
	oracle_engine_count(engine);
	describe_step(engine, &work);
}

static void expire(struct oracle_engine *engine)
{
	struct kv_event event = {
		.time = engine->now - engine->zero,
		.step = engine->steps_begun,
		.kind = KV_EVENT_EXPIRE,
		.request = KV_NO_REQUEST,
		.request_id = "",
		.blocks = oracle_cache_expire(&engine->cache, engine->now),
		.detail = "",
	};

	if (event.blocks > 0 && engine->sink->event != NULL)
		engine->sink->event(engine->sink->self, &event);
}

static void tell_running(const struct oracle_engine *engine, bool preempted)
{
	const struct kv_policy_use *use = admission_policy(engine);
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

static void schedule_mixed(struct oracle_engine *engine)
{
	uint64_t budget = engine->config->max_num_batched_tokens;
	uint64_t preemptions = engine->state.preemptions;

	engine->unit = 1;
	schedule_running(engine, &budget);
	tell_running(engine, engine->state.preemptions > preemptions);
	if (engine->state.preemptions == preemptions)
		schedule_waiting(engine, &budget);
	else
		engine->reason = KV_WAIT_BLOCKS;
}

/* --- prompts first ------------------------------------------------------------------------------------------------ */

static bool is_prefill(const struct oracle_request *request)
{
	return request->generated == 0 || request->recomputing || known_tokens(request) - request->computed > 1;
}

static struct oracle_request *next_prefill(const struct oracle_engine *engine)
{
	for (size_t i = 0; i < engine->running.count; i++) {
		struct oracle_request *request = engine->running.items[i];

		if (is_prefill(request) && request->scheduled == 0)
			return request;
	}
	return NULL;
}

static void schedule_prefills(struct oracle_engine *engine, uint64_t *budget)
{
	struct oracle_request *request;

	while (*budget > 0 && (request = next_prefill(engine)) != NULL) {
		uint64_t tokens = kv_min(below_threshold(engine, known_tokens(request) - request->computed), *budget);

		if (grow_or_preempt(engine, request, tokens, budget))
			schedule(engine, request, tokens, budget);
	}
}

static bool anybody_scheduled(const struct oracle_engine *engine)
{
	for (size_t i = 0; i < engine->running.count; i++)
		if (((const struct oracle_request *)engine->running.items[i])->scheduled > 0)
			return true;
	return false;
}

/* True if there is room for one more token of every running request. */
static bool decodes_fit(const struct oracle_engine *engine)
{
	uint64_t need = 0;

	for (size_t i = 0; i < engine->running.count && !is_contiguous(engine); i++) {
		const struct oracle_request *request = engine->running.items[i];

		need += missing_blocks(engine, request, request->computed + 1);
	}
	return need <= free_blocks(engine);
}

/* Takes the blocks of whole requests until the others can decode; the last one is given up. */
static void retract(struct oracle_engine *engine)
{
	for (size_t i = 0; i < engine->running.count && !is_contiguous(engine); i++)
		trim(engine, engine->running.items[i]);
	while (!decodes_fit(engine)) {
		struct oracle_request *last = engine->running.items[0];

		if (engine->running.count > 1) {
			preempt(engine, choose_victim(engine));
			continue;
		}
		last->given_up = true;
		last->give_up_reason = KV_REASON_CAN_NEVER_FIT;
		return;
	}
}

/* preemptions: when the step began. */
static void schedule_decodes(struct oracle_engine *engine, uint64_t preemptions)
{
	uint64_t budget;

	engine->unit = 1;
	retract(engine);
	budget = engine->running.count;
	if (budget > 0 && !((struct oracle_request *)engine->running.items[0])->given_up)
		schedule_running(engine, &budget);
	tell_running(engine, engine->state.preemptions > preemptions);
	if (engine->state.preemptions > preemptions)
		engine->reason = KV_WAIT_BLOCKS;
}

static void schedule_prefill_first(struct oracle_engine *engine)
{
	const struct kv_engine_config *config = engine->config;
	uint64_t budget = config->enable_chunked_prefill ? config->max_num_batched_tokens : UINT64_MAX;
	uint64_t preemptions = engine->state.preemptions;

	engine->unit = config->block_size;
	engine->prefill_left = config->max_prefill_tokens;
	schedule_prefills(engine, &budget);
	if (engine->state.preemptions > preemptions) {
		engine->reason = KV_WAIT_BLOCKS;
	} else {
		schedule_waiting(engine, &budget);
		engine->full |= engine->waiting.count > 0 && engine->running.count > 0 &&
		                engine->reason != KV_WAIT_TOKEN_BUDGET;
		engine->full_reason = engine->reason;
	}
	if (!anybody_scheduled(engine))
		schedule_decodes(engine, preemptions);
}

static bool anybody_given_up(const struct oracle_engine *engine)
{
	for (size_t i = 0; i < engine->running.count; i++)
		if (((const struct oracle_request *)engine->running.items[i])->given_up)
			return true;
	return false;
}

bool oracle_engine_begin_step(struct oracle_engine *engine)
{
	uint64_t preemptions = engine->state.preemptions;
	bool any;

	engine->copied_blocks = 0;
	if (engine->running.count + engine->waiting.count > 0)
		expire(engine);
	if (engine->config->step_order == KV_STEPS_PREFILL_FIRST)
		schedule_prefill_first(engine);
	else
		schedule_mixed(engine);
	any = anybody_scheduled(engine) || anybody_given_up(engine) || engine->state.preemptions > preemptions;
	if (any && engine->livelocked == NULL)
		play_step(engine);
	else
		oracle_engine_count(engine);
	return any;
}

static void finish(struct oracle_engine *engine, struct oracle_request *request, struct oracle_list *finished)
{
	bool at_limit = request->outputs == request->output_limit;

	oracle_emit(engine, KV_EVENT_FINISH, request, request->generated, held_blocks(engine, request),
	            at_limit ? "length" : "stop");
	request->record.status = KV_FINISHED;
	request->record.reason = at_limit ? KV_REASON_LENGTH : KV_REASON_STOP;
	request->record.finish = engine->now;
	note(engine, request, KV_COMPLETED);
	free_request(engine, request, true);
	engine->state.finishes++;
	engine->state.in_flight--;
	oracle_list_append(finished, request);
}

static void drop(struct oracle_engine *engine, struct oracle_request *request, struct oracle_list *finished)
{
	oracle_emit(engine, KV_EVENT_DROP, request, request->prompt_tokens, 0, kv_reason_name(request->give_up_reason));
	note(engine, request, KV_GIVEN_UP);
	free_request(engine, request, true);
	engine->state.drops++;
	engine->state.in_flight--;
	request->record.status = KV_DROPPED;
	request->record.reason = request->give_up_reason;
	oracle_list_append(finished, request);
}

void oracle_engine_forget(struct oracle_engine *engine, struct oracle_request *request)
{
	size_t at = position(&engine->waiting, request);

	if (request->record.queued == KV_TIME_NONE)
		return;
	note(engine, request, KV_GIVEN_UP);
	if (at == engine->waiting.count) {
		free_request(engine, request, true);
		oracle_list_remove(&engine->running, request);
		engine->full = false;
		return;
	}
	oracle_list_remove_at(&engine->waiting, at);
	if (at < engine->returned)
		engine->returned--;
	if (request->swapped_tokens == 0)
		return;
	engine->state.swap.blocks_lost += host_blocks(engine, request->swapped_tokens);
	leave_host(engine, request);
}

static void forget_lone_preemptions(struct oracle_engine *engine)
{
	for (size_t i = 0; i < engine->running.count; i++)
		((struct oracle_request *)engine->running.items[i])->lone_preemptions = 0;
	for (size_t i = 0; i < engine->waiting.count; i++)
		((struct oracle_request *)engine->waiting.items[i])->lone_preemptions = 0;
}

static void deliver_token(struct oracle_engine *engine, struct oracle_request *request)
{
	struct kv_sink *sink = engine->sink;

	request->generated++;
	request->recomputing = false;
	forget_lone_preemptions(engine);
	if (request->generated == 1) {
		oracle_emit(engine, KV_EVENT_FIRST_TOKEN, request, 0, 0, "");
		request->record.first_token = engine->now;
	} else if (sink->token_gap != NULL) {
		sink->token_gap(sink->self, engine->now - request->last_token, 1);
	}
	request->last_token = engine->now;
}

void oracle_engine_end_step(struct oracle_engine *engine, struct oracle_list *finished)
{
	size_t before = finished->count;

	for (size_t i = 0; i < engine->running.count; i++) {
		const struct oracle_request *request = engine->running.items[i];

		engine->step.output_tokens -= request->given_up && emits_token(request);
	}
	engine->step.start -= engine->zero;
	engine->step.end -= engine->zero;
	if (engine->sink->step != NULL)
		engine->sink->step(engine->sink->self, &engine->step);
	if (engine->step.scheduled_tokens > 0)
		engine->state.steps++;
	engine->busy += engine->step.end - engine->step.start;
	engine->state.swap.ns += (uint64_t)kv_swap_time(&engine->config->swap, engine->copied_blocks);
	for (size_t i = 0; i < engine->running.count; i++) {
		struct oracle_request *request = engine->running.items[i];
		bool caught_up = request->scheduled > 0 && request->computed + request->scheduled == known_tokens(request);
		bool token = emits_token(request);
		bool prefill = request->scheduled > 0 && !is_decode(request);

		request->fresh = false;
		settle_computed(engine, request);
		if (request->given_up) {
			drop(engine, request, finished);
			continue;
		}
		if (token)
			deliver_token(engine, request);
		if (caught_up && request->generated == request->outputs)
			finish(engine, request, finished);
		else if (prefill && oracle_has_tree(engine))
			oracle_tree_delivered(engine, request, caught_up);
	}
	for (size_t i = before; i < finished->count; i++)
		oracle_list_remove(&engine->running, finished->items[i]);
	if (finished->count > before)
		engine->full = false;
	engine->in_step = false;
}

/* --- levels ------------------------------------------------------------------------------------------------------- */

static uint64_t scheduled_end(const struct oracle_request *request)
{
	return request->computed + request->scheduled;
}

/* A registered block is full, or will be when the step that fills it ends; any other has one holder. */
static uint64_t filled_slots_of_block(const struct oracle_engine *engine, const struct oracle_block *block)
{
	uint64_t size = engine->config->block_size;

	if (block->content != NULL)
		return size;
	return kv_min(size, kv_sub_floor(scheduled_end(block->holders.items[0]), block->depth * size));
}

/* Slots of the last block that the request will never fill, once it holds that block. */
static uint64_t waste_slots(const struct oracle_engine *engine, const struct oracle_request *request)
{
	uint64_t size = engine->config->block_size;
	uint64_t final = final_tokens(request);
	uint64_t waste = 0;

	if (oracle_has_tree(engine))
		return request->pages == kv_ceil_div(final, size) ? request->pages * size - final : 0;
	if (is_contiguous(engine))
		return request->chunk_blocks * size - final;
	for (uint32_t g = 0; g < engine->config->groups; g++)
		if (request->table[g].slots.count == kv_ceil_div(final, size))
			waste += request->table[g].slots.count * size - final;
	return waste;
}

static void count_waiting(struct oracle_engine *engine)
{
	uint64_t client = engine->state.waiting[KV_WAIT_CLIENT];
	uint64_t count = engine->waiting.count;

	memset(engine->state.waiting, 0, sizeof engine->state.waiting);
	engine->state.waiting[KV_WAIT_CLIENT] = client;
	if (engine->reason == KV_WAIT_BLOCKS && count > 0) {
		engine->state.waiting[KV_WAIT_BLOCKS] = 1;
		engine->state.waiting[KV_WAIT_HEAD_OF_LINE] = count - 1;
	} else {
		engine->state.waiting[engine->reason] = count;
	}
}

void oracle_engine_count(struct oracle_engine *engine)
{
	struct kv_state *state = &engine->state;
	uint64_t usable = engine->config->usable_blocks;

	state->cached_blocks = oracle_has_tree(engine) ? oracle_tree_cached(engine) : oracle_cache_cached(&engine->cache);
	state->pinned_blocks = usable - free_blocks(engine);
	state->free_blocks = usable - state->pinned_blocks - state->cached_blocks;
	state->evicted_blocks = engine->cache.evicted;
	state->running = engine->running.count;
	state->filled_slots = oracle_has_tree(engine) ? oracle_tree_filled(engine) : 0;
	state->waste_slots = 0;
	for (uint64_t i = 0; i < usable; i++)
		if (engine->cache.blocks[i].holders.count > 0)
			state->filled_slots += filled_slots_of_block(engine, &engine->cache.blocks[i]);
	for (size_t i = 0; i < engine->running.count; i++) {
		const struct oracle_request *request = engine->running.items[i];

		state->waste_slots += waste_slots(engine, request);
		if (is_contiguous(engine))
			state->filled_slots += scheduled_end(request);
	}
	count_waiting(engine);
}

static void charge_blocks(struct oracle_engine *engine, kv_time duration)
{
	oracle_tree_charge(engine, duration);
	for (uint64_t i = 0; i < engine->config->usable_blocks; i++) {
		const struct oracle_block *block = &engine->cache.blocks[i];

		if (block->holders.count > 0)
			((struct oracle_request *)block->holders.items[0])->record.block_ns += (kv_integral)duration;
	}
	for (size_t i = 0; i < engine->running.count; i++) {
		struct oracle_request *request = engine->running.items[i];

		request->record.block_ns += (kv_integral)duration * request->chunk_blocks;
	}
}

/* All of the queue waits for what stopped its head. */
static void charge_queue(struct oracle_engine *engine, kv_time duration)
{
	for (size_t i = 0; i < engine->waiting.count; i++) {
		struct oracle_request *request = engine->waiting.items[i];

		if (request->record.admitted == KV_TIME_NONE)
			request->record.queue_for[engine->reason] += duration;
	}
}

void oracle_engine_advance(struct oracle_engine *engine, kv_time time)
{
	oracle_engine_count(engine);
	charge_blocks(engine, time - engine->now);
	charge_queue(engine, time - engine->now);
	if (engine->sink->advance != NULL)
		engine->sink->advance(engine->sink->self, &engine->state, time - engine->zero);
	engine->now = time;
}
