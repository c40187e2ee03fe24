#include "config.h"

#include "sim/sizing/log_readings.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/sizing/memory_budget.h"

#define GIB 0x1p30

enum { SPECULATIVE_MAX = 8, CANDIDATES_MAX = 20000 };

uint64_t kv_whole(double number)
{
	return number <= 0 ? 0 : number >= 1e15 ? (uint64_t)1e15 : (uint64_t)number;
}

uint64_t kv_smallest_block(const struct kv_layout *layout)
{
	uint64_t block = layout->group[0].block_size;

	for (uint32_t i = 1; i < layout->groups; i++)
		block = kv_min(block, layout->group[i].block_size);
	return block;
}

double kv_reading_request_blocks(const struct kv_evidence *e, const struct kv_reading *r, uint64_t length)
{
	return (double)kv_layout_request_blocks(&r->layout, kv_ceil_div(length, e->context_ranks), r->in_flight);
}

/* Do tokens and concurrency follow from so many blocks? */
static bool follows(const struct kv_evidence *e, struct kv_reading *r, uint64_t blocks)
{
	double concurrency = e->length ? (double)blocks / kv_reading_request_blocks(e, r, e->length) : 0;
	uint64_t by_blocks = blocks / r->layout.groups * r->block * e->context_ranks;
	uint64_t by_concurrency = kv_whole(concurrency * (double)e->length);
	double needed = e->length ? kv_reading_request_blocks(e, r, e->length) * (double)r->layout.page_bytes / GIB : 0;

	if (e->blocks && e->blocks != blocks)
		return false;
	if (e->needed && e->length && !kv_span_meets(kv_span_of(e->needed), kv_span_exactly(needed)))
		return false;
	if (e->storable && kv_reading_request_blocks(e, r, e->storable) > (double)blocks)
		return false;
	if (e->storable && kv_reading_request_blocks(e, r, e->storable + 1) <= (double)blocks)
		return false;
	if (e->tokens && e->tokens != by_blocks && e->tokens != by_concurrency
	    && !(e->blocks && e->tokens == (blocks - 1) * r->block))
		return false;
	if (e->concurrency && e->length
	    && !kv_span_meets(kv_span_of(e->concurrency), (struct kv_span){concurrency - 0.0005, concurrency + 0.0005}))
		return false;
	r->by_concurrency = e->tokens && e->tokens != by_blocks && e->tokens == by_concurrency;
	return true;
}

/* Of the memory; several ranks' pools may be smaller than this one. */
static struct kv_block_range range_of_memory(const struct kv_evidence *e, const struct kv_reading *r)
{
	double page = (double)r->layout.page_bytes;

	if (r->fewest <= 0)
		return (struct kv_block_range){kv_whole(e->kv.low / page), kv_whole(e->kv.high / page)};
	return (struct kv_block_range){kv_whole((1 - r->fewest) * e->kv.low / page), kv_whole(e->kv.low / page)};
}

/* Of the tokens, as blocks (one may be kept as null block) or as concurrency x length. */
static struct kv_block_range range_of_tokens(const struct kv_evidence *e, const struct kv_reading *r,
                                             bool by_concurrency)
{
	double per_token = e->length ? kv_reading_request_blocks(e, r, e->length) / (double)e->length : 0;
	uint64_t low = e->tokens / e->context_ranks / r->block * r->layout.groups;

	if (!by_concurrency)
		return (struct kv_block_range){low, low + r->layout.groups};
	if (per_token <= 0)
		return (struct kv_block_range){1, 0};
	return (struct kv_block_range){kv_whole((double)e->tokens * per_token),
	                               kv_whole((double)(e->tokens + 1) * per_token) + 1};
}

static struct kv_block_range both(struct kv_block_range a, struct kv_block_range b)
{
	return (struct kv_block_range){kv_max(a.low, b.low), kv_min(a.high, b.high)};
}

struct kv_block_range kv_reading_candidates(const struct kv_evidence *e, const struct kv_reading *r,
                                            bool by_concurrency)
{
	struct kv_block_range range = {1, UINT64_MAX};

	if (e->has_kv)
		range = range_of_memory(e, r);
	else if (e->blocks)
		range = (struct kv_block_range){e->blocks, e->blocks};
	else if (!e->tokens && !e->storable)
		range.high = e->needed ? 1 : 0;
	if (e->tokens)
		return both(range, range_of_tokens(e, r, by_concurrency));
	if (e->storable)
		return both(range, (struct kv_block_range){kv_whole(kv_reading_request_blocks(e, r, e->storable)),
		                                        kv_whole(kv_reading_request_blocks(e, r, e->storable + 1)) - 1});
	return range;
}

static bool solve_among(const struct kv_evidence *e, struct kv_reading *r, struct kv_block_range range)
{
	uint64_t last = kv_min(range.high, range.low + CANDIDATES_MAX);

	for (uint64_t blocks = kv_max(range.low, 1); blocks <= last; blocks++)
		if (follows(e, r, blocks)) {
			r->blocks = blocks;
			return true;
		}
	return false;
}

static bool solve(const struct kv_evidence *e, struct kv_reading *r)
{
	return solve_among(e, r, kv_reading_candidates(e, r, false))
	       || (e->tokens && solve_among(e, r, kv_reading_candidates(e, r, true)));
}

static bool try_in_flight(struct kv_reading_search *s, struct kv_reading *r, uint64_t in_flight)
{
	if (s->solved)
		return true;
	r->in_flight = in_flight;
	s->solved = solve(&s->evidence, r);
	if (s->solved)
		s->found = *r;
	return s->solved;
}

static bool has_windows(const struct kv_layout *layout)
{
	for (uint32_t i = 0; i < layout->groups; i++)
		if (layout->group[i].window)
			return true;
	return false;
}

/* Tokens in flight matter to windowed groups only; one or two steps of the logged budget, or of the usual ones. */
static void try_layout(struct kv_reading_search *s, const struct kv_layout_options *options, const char *why,
                       double fewest)
{
	static const uint64_t usual[] = {512, 1024, 2048, 4096, 8192, 16384, 32768};
	struct kv_reading r = {.why = why, .fewest = fewest};
	uint64_t logged = s->evidence.batched_tokens;
	struct kv_error ignored;

	if (s->solved || kv_layout_plan(s->model, options, &r.layout, &ignored) != 0)
		return;
	if (s->evidence.state_block && s->evidence.state_block != r.layout.group[0].block_size)
		return;
	r.block = kv_smallest_block(&r.layout);
	if (!has_windows(&r.layout) || logged) {
		try_in_flight(s, &r, logged ? logged : 1);
		try_in_flight(s, &r, 2 * logged);
		return;
	}
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		try_in_flight(s, &r, usual[i]);
}

/* Logs do not say how states are kept nor how many tokens are drafted: both are searched. */
static void try_state_modes(struct kv_reading_search *s, const struct kv_layout_options *options, const char *why,
                            double fewest)
{
	static const enum kv_state_caching modes[] = {KV_STATE_SINGLE, KV_STATE_ALIGN};

	if (!s->checker->given->model->recurrent.conv_kernel) {
		try_layout(s, options, why, fewest);
		return;
	}
	for (uint32_t drafts = 0; drafts <= SPECULATIVE_MAX; drafts++)
		for (int mode = 0; mode < 2; mode++)
			for (int mtp = 0; mtp < 2; mtp++) {
				struct kv_layout_options o = *options;

				o.speculative_tokens = drafts;
				o.state_caching = modes[mode];
				o.mtp = mtp != 0;
				if (!mtp || drafts > 0)
					try_layout(s, &o, why, fewest);
			}
}

/* Where the config does not give the types of recurrent state, the engine's settings do. */
static void try_states(struct kv_reading_search *s, const struct kv_layout_options *options, const char *why,
                       double fewest)
{
	const struct kv_model *given = s->checker->given->model;
	struct kv_model variant = *given;

	try_state_modes(s, options, why, fewest);
	if (s->solved || !given->recurrent.conv_kernel || given->recurrent.state_dtype_given)
		return;
	s->model = &variant;
	variant.recurrent.state_dtype = KV_DTYPE_F32;
	try_state_modes(s, options, why ? why : "recurrent state is float32, beside convolutions of the model's type",
	                fewest);
	variant.recurrent.conv_dtype = KV_DTYPE_F32;
	try_state_modes(s, options, why ? why : "recurrent state and convolutions are float32", fewest);
	s->model = given;
}

static void try_other_blocks(struct kv_reading_search *s)
{
	static const struct {
		uint32_t size;
		const char *why;
	} sizes[] = {
		{32, "blocks of 32 tokens"},
		{64, "blocks of 64 tokens: another backend's block size"},
		{128, "blocks of 128 tokens: another backend's block size"},
		{256, "blocks of 256 tokens, as TPU backends have"},
	};

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct kv_layout_options o = s->options;

		o.block_size = sizes[i].size;
		try_states(s, &o, sizes[i].why, 0);
	}
}

static void try_other_cache(struct kv_reading_search *s)
{
	static const struct {
		const char *name, *why;
	} formats[] = {
		{"fp8", "one byte an element: the KV cache is fp8"},
		{"auto", "the KV cache has the model's own type, not the one that was named"},
	};
	struct kv_error ignored;

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		struct kv_layout_options o = s->options;

		o.cache = kv_cache_format_find(formats[i].name, &ignored);
		try_states(s, &o, formats[i].why, 0);
	}
}

/* Whoever copies a log may have converted it. */
static void try_decimal_memory(struct kv_reading_search *s)
{
	struct kv_span kv = s->evidence.kv;

	if (s->solved || !s->evidence.has_kv)
		return;
	s->evidence.kv = kv_span_times(kv, kv_span_exactly(1e9 / GIB));
	try_states(s, &s->options, "KV cache memory is in GB of 10^9 bytes here", 0);
	if (!s->solved)
		s->evidence.kv = kv;
}

static void try_whole_contexts(struct kv_reading_search *s)
{
	struct kv_layout_options o = s->options;

	o.whole_context = true;
	try_states(s, &o, "windowed layers hold whole contexts: the hybrid manager is off", 0);
}

/* Compressed layers (DeepSeek-V4) were packed otherwise in earlier releases. */
static void try_earlier_packings(struct kv_reading_search *s)
{
	static const struct {
		enum kv_packing packing;
		const char *why;
	} packings[] = {
		{KV_PACKING_BY_SIZE, "pages packed by size, as until 2026-07"},
		{KV_PACKING_TUPLES, "pages packed in tuples, as until 2026-06"},
	};

	for (size_t i = 0; i < sizeof packings / sizeof *packings; i++) {
		struct kv_layout_options o = s->options;

		o.packing = packings[i].packing;
		try_layout(s, &o, packings[i].why, 0);
	}
}

/* An engine that does not know the model's MLA stores keys and values of every head. */
static void try_unrecognised_mla(struct kv_reading_search *s)
{
	const struct kv_model *m = s->checker->given->model;
	struct kv_reading r = {.why = "MLA is not recognised: keys and values of every head are stored", .in_flight = 1,
	                    .block = s->options.block_size};
	uint64_t heads = kv_max(1, m->q_heads / s->options.tensor_parallel);
	uint64_t bits = s->options.cache->bits ? s->options.cache->bits : kv_dtype_bits(m->dtype);

	if (!m->kv_lora_rank || s->solved)
		return;
	r.layout.groups = 1;
	r.layout.layer_slots = m->layers;
	r.layout.page_bytes = s->options.block_size * m->layers * heads * (2 * (uint64_t)m->head_dim) * bits / 8;
	r.layout.group[0] = (struct kv_group){.kind = KV_GROUP_FULL,
	                                      .layers = m->layers,
	                                      .block_size = s->options.block_size,
	                                      .page_bytes = r.layout.page_bytes};
	s->solved = solve(&s->evidence, &r);
	s->found = r;
}

/* A drafter's layer of the same shape joins the only group. */
static void try_drafter_layer(struct kv_reading_search *s, const char *cache, const char *why)
{
	struct kv_reading r = {.why = why, .in_flight = 1};
	struct kv_layout_options o = s->options;
	struct kv_error ignored;

	if (cache)
		o.cache = kv_cache_format_find(cache, &ignored);
	if (s->solved || kv_layout_plan(s->model, &o, &r.layout, &ignored) != 0 || r.layout.groups != 1)
		return;
	r.block = r.layout.group[0].block_size;
	r.layout.page_bytes += r.layout.page_bytes / r.layout.layer_slots++;
	r.layout.group[0].page_bytes = r.layout.page_bytes;
	s->solved = solve(&s->evidence, &r);
	s->found = r;
}

/* Decode context parallelism spreads the tokens of a sequence over ranks that would hold the same heads. */
static void try_shared_contexts(struct kv_reading_search *s)
{
	uint32_t logged = s->evidence.context_ranks;
	uint32_t heads = s->model->kv_lora_rank ? 1 : (uint32_t)kv_max(1, s->model->kv_heads);

	for (uint32_t ranks = 2; logged == 1 && !s->solved && ranks <= s->options.tensor_parallel / heads; ranks *= 2) {
		s->evidence.context_ranks = ranks;
		try_states(s, &s->options, "tokens are spread over ranks: decode context parallelism", 0);
	}
	if (!s->solved)
		s->evidence.context_ranks = logged;
}

void kv_evidence_set_memory(struct kv_evidence *e, const struct kv_log_value *printed)
{
	e->printed_kv = printed;
	e->kv = kv_span_times(kv_span_of(printed), kv_span_exactly(GIB));
}

/* The least memory of a pipeline stage's ranks; NULL where they do not name it. */
static const struct kv_log_value *stage_memory(const struct kv_log *log, uint32_t stage)
{
	const struct kv_log_value *least = NULL;
	char name[16];

	snprintf(name, sizeof name, "PP%u", stage);
	for (size_t i = 0; i < log->count[KV_FACT_KV]; i++) {
		const struct kv_log_value *value = &log->value[KV_FACT_KV][i];
		const char *at = strstr(value->rank, name);
		bool of_stage = at && (at[strlen(name)] == '\0' || at[strlen(name)] == ' ');

		if (of_stage && (!least || value->number < least->number))
			least = value;
	}
	return least;
}

/* Each stage has a share of the layers; the one with the fewest blocks decides. */
static void try_stages(struct kv_reading_search *s, double fewest)
{
	uint32_t stages = kv_checker_pipeline_parallel(s->checker);
	struct kv_evidence all = s->evidence;

	for (uint32_t stage = 0; stages > 1 && stage < stages && !s->solved; stage++) {
		const struct kv_log_value *least = stage_memory(s->checker->log, stage);
		struct kv_layout_options o = s->options;

		kv_pipeline_stage(s->model->layers, stages, stage, &o.first_layer, &o.layer_count);
		if (all.has_kv && least)
			kv_evidence_set_memory(&s->evidence, least);
		try_states(s, &o, NULL, fewest);
	}
	if (!s->solved)
		s->evidence = all;
}

void kv_reading_solve_plainly(struct kv_reading_search *s)
{
	try_stages(s, 0);
	try_states(s, &s->options, NULL, 0);
}

static void search_readings(struct kv_reading_search *s)
{
	double below = s->evidence.has_kv ? s->evidence.most_below : 0;

	kv_reading_solve_plainly(s);
	if (below > 0) {
		try_stages(s, KV_RANKS_CLOSE);
		try_states(s, &s->options, NULL, KV_RANKS_CLOSE);
	}
	if (s->checker->given->model->layer[0].mixer == KV_MIXER_COMPRESSED)
		try_earlier_packings(s);
	try_other_blocks(s);
	try_other_cache(s);
	try_whole_contexts(s);
	try_unrecognised_mla(s);
	try_shared_contexts(s);
	try_decimal_memory(s);
	try_drafter_layer(s, NULL, "a drafter's layer (EAGLE, MTP) shares the pool");
	try_drafter_layer(s, "fp8", "the KV cache is fp8, and a drafter's layer (EAGLE, MTP) shares it");
	if (below > KV_RANKS_CLOSE) {
		try_stages(s, below);
		try_states(s, &s->options, NULL, below);
	}
}

/* The longest request was first reckoned in other ways (for all stages together, by bytes in place of blocks): where no
 * reading brings it about, the rest decides. */
void kv_reading_solve(struct kv_reading_search *s)
{
	search_readings(s);
	if (s->solved || !s->evidence.storable)
		return;
	s->evidence.storable = 0;
	search_readings(s);
}
