#include "config.h"

#include "sim/sizing/log_checker.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/sizing/memory_budget.h"

#define GIB 0x1p30
#define CLOSE 0.05  /* memory of ranks that start together lies within it; of those before V1 within the other */
#define APART 0.3

enum { SPECULATIVE_MAX = 8, CANDIDATES_MAX = 20000, RANKS_MAX = 1024 };

/* What the log says about the pool. */
struct evidence {
	bool has_kv;
	const struct kv_log_value *printed_kv;
	struct kv_span kv;           /* bytes */
	uint64_t blocks, tokens;     /* 0 = not said */
	uint64_t storable;           /* longest request, 0 = not said; likewise */
	const struct kv_log_value *concurrency, *needed;
	uint64_t length;             /* 0 = not said */
	uint32_t context_ranks;      /* ranks that share the tokens of a sequence */
	uint64_t batched_tokens;     /* 0 = not said; likewise */
	uint64_t state_block;        /* the attention block beside recurrent state */
	double most_below;           /* another rank may have this share less memory */
};

/* One way to read it. */
struct reading {
	struct kv_layout layout;
	uint64_t in_flight, block;   /* block: the smallest of the groups */
	const char *why;             /* NULL = as logged */
	double fewest;               /* above 0: the blocks are another rank's than the GiB, by at most this share fewer */
	uint64_t blocks;             /* the solution */
	bool by_concurrency;         /* tokens mean concurrency x length */
};

struct search {
	struct kv_checker *checker;
	const struct kv_model *model;  /* the given one, or the same with other types of recurrent state */
	struct evidence evidence;
	struct kv_layout_options options;
	struct reading found;
	bool solved;
};

/* What is too large for any pool is as good as infinite. */
static uint64_t whole(double number)
{
	return number <= 0 ? 0 : number >= 1e15 ? (uint64_t)1e15 : (uint64_t)number;
}

static uint64_t smallest_block(const struct kv_layout *layout)
{
	uint64_t block = layout->group[0].block_size;

	for (uint32_t i = 1; i < layout->groups; i++)
		block = kv_min(block, layout->group[i].block_size);
	return block;
}

static double request_blocks(const struct evidence *e, const struct reading *r, uint64_t length)
{
	return (double)kv_layout_request_blocks(&r->layout, kv_ceil_div(length, e->context_ranks), r->in_flight);
}

/* Do tokens and concurrency follow from so many blocks? */
static bool follows(const struct evidence *e, struct reading *r, uint64_t blocks)
{
	double concurrency = e->length ? (double)blocks / request_blocks(e, r, e->length) : 0;
	uint64_t by_blocks = blocks / r->layout.groups * r->block * e->context_ranks;
	uint64_t by_concurrency = whole(concurrency * (double)e->length);
	double needed = e->length ? request_blocks(e, r, e->length) * (double)r->layout.page_bytes / GIB : 0;

	if (e->blocks && e->blocks != blocks)
		return false;
	if (e->needed && e->length && !kv_span_meets(kv_span_of(e->needed), kv_span_exactly(needed)))
		return false;
	if (e->storable && (request_blocks(e, r, e->storable) > (double)blocks || request_blocks(e, r, e->storable + 1) <= (double)blocks))
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

struct block_range {
	uint64_t low, high;
};

/* Of the memory; several ranks' pools may be smaller than this one. */
static struct block_range range_of_memory(const struct evidence *e, const struct reading *r)
{
	double page = (double)r->layout.page_bytes;

	if (r->fewest <= 0)
		return (struct block_range){whole(e->kv.low / page), whole(e->kv.high / page)};
	return (struct block_range){whole((1 - r->fewest) * e->kv.low / page), whole(e->kv.low / page)};
}

/* Of the tokens, as blocks (one may be kept as null block) or as concurrency x length. */
static struct block_range range_of_tokens(const struct evidence *e, const struct reading *r, bool by_concurrency)
{
	double per_token = e->length ? request_blocks(e, r, e->length) / (double)e->length : 0;
	uint64_t low = e->tokens / e->context_ranks / r->block * r->layout.groups;

	if (!by_concurrency)
		return (struct block_range){low, low + r->layout.groups};
	if (per_token <= 0)
		return (struct block_range){1, 0};
	return (struct block_range){whole((double)e->tokens * per_token), whole((double)(e->tokens + 1) * per_token) + 1};
}

static struct block_range both(struct block_range a, struct block_range b)
{
	return (struct block_range){kv_max(a.low, b.low), kv_min(a.high, b.high)};
}

/* Numbers of blocks that the evidence leaves open. Memory for one request alone says nothing about the pool. */
static struct block_range candidates(const struct evidence *e, const struct reading *r, bool by_concurrency)
{
	struct block_range range = {1, UINT64_MAX};

	if (e->has_kv)
		range = range_of_memory(e, r);
	else if (e->blocks)
		range = (struct block_range){e->blocks, e->blocks};
	else if (!e->tokens && !e->storable)
		range.high = e->needed ? 1 : 0;
	if (e->tokens)
		return both(range, range_of_tokens(e, r, by_concurrency));
	if (e->storable)
		return both(range, (struct block_range){whole(request_blocks(e, r, e->storable)),
		                                        whole(request_blocks(e, r, e->storable + 1)) - 1});
	return range;
}

static bool solve_among(const struct evidence *e, struct reading *r, struct block_range range)
{
	uint64_t last = kv_min(range.high, range.low + CANDIDATES_MAX);

	for (uint64_t blocks = kv_max(range.low, 1); blocks <= last; blocks++)
		if (follows(e, r, blocks)) {
			r->blocks = blocks;
			return true;
		}
	return false;
}

static bool solve(const struct evidence *e, struct reading *r)
{
	return solve_among(e, r, candidates(e, r, false)) || (e->tokens && solve_among(e, r, candidates(e, r, true)));
}

static bool try_in_flight(struct search *s, struct reading *r, uint64_t in_flight)
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
static void try_layout(struct search *s, const struct kv_layout_options *options, const char *why, double fewest)
{
	static const uint64_t usual[] = {512, 1024, 2048, 4096, 8192, 16384, 32768};
	struct reading r = {.why = why, .fewest = fewest};
	uint64_t logged = s->evidence.batched_tokens;
	struct kv_error ignored;

	if (s->solved || kv_layout_plan(s->model, options, &r.layout, &ignored) != 0)
		return;
	if (s->evidence.state_block && s->evidence.state_block != r.layout.group[0].block_size)
		return;
	r.block = smallest_block(&r.layout);
	if (!has_windows(&r.layout) || logged) {
		try_in_flight(s, &r, logged ? logged : 1);
		try_in_flight(s, &r, 2 * logged);
		return;
	}
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		try_in_flight(s, &r, usual[i]);
}

/* Logs do not say how states are kept nor how many tokens are drafted: both are searched. */
static void try_state_modes(struct search *s, const struct kv_layout_options *options, const char *why, double fewest)
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
static void try_states(struct search *s, const struct kv_layout_options *options, const char *why, double fewest)
{
	const struct kv_model *given = s->checker->given->model;
	struct kv_model variant = *given;

	try_state_modes(s, options, why, fewest);
	if (s->solved || !given->recurrent.conv_kernel || given->recurrent.state_dtype_given)
		return;
	s->model = &variant;
	variant.recurrent.state_dtype = KV_DTYPE_F32;
	try_state_modes(s, options, why ? why : "recurrent state is float32, beside convolutions of the model's type", fewest);
	variant.recurrent.conv_dtype = KV_DTYPE_F32;
	try_state_modes(s, options, why ? why : "recurrent state and convolutions are float32", fewest);
	s->model = given;
}

static void try_other_blocks(struct search *s)
{
	static const struct {
		uint32_t size;
		const char *why;
	} sizes[] = {
		{32, "blocks of 32 tokens"},
		{64, "blocks of 64 tokens: another backend's block size"}, {128, "blocks of 128 tokens: another backend's block size"},
		{256, "blocks of 256 tokens, as TPU backends have"},
	};

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct kv_layout_options o = s->options;

		o.block_size = sizes[i].size;
		try_states(s, &o, sizes[i].why, 0);
	}
}

static void try_other_cache(struct search *s)
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
static void try_decimal_memory(struct search *s)
{
	struct kv_span kv = s->evidence.kv;

	if (s->solved || !s->evidence.has_kv)
		return;
	s->evidence.kv = kv_span_times(kv, kv_span_exactly(1e9 / GIB));
	try_states(s, &s->options, "KV cache memory is in GB of 10^9 bytes here", 0);
	if (!s->solved)
		s->evidence.kv = kv;
}

static void try_whole_contexts(struct search *s)
{
	struct kv_layout_options o = s->options;

	o.whole_context = true;
	try_states(s, &o, "windowed layers hold whole contexts: the hybrid manager is off", 0);
}

/* Compressed layers (DeepSeek-V4) were packed otherwise in earlier releases. */
static void try_earlier_packings(struct search *s)
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
static void try_unrecognised_mla(struct search *s)
{
	const struct kv_model *m = s->checker->given->model;
	struct reading r = {.why = "MLA is not recognised: keys and values of every head are stored", .in_flight = 1,
	                    .block = s->options.block_size};
	uint64_t heads = kv_max(1, m->q_heads / s->options.tensor_parallel);
	uint64_t bits = s->options.cache->bits ? s->options.cache->bits : kv_dtype_bits(m->dtype);

	if (!m->kv_lora_rank || s->solved)
		return;
	r.layout.groups = 1;
	r.layout.layer_slots = m->layers;
	r.layout.page_bytes = s->options.block_size * m->layers * heads * (2 * (uint64_t)m->head_dim) * bits / 8;
	r.layout.group[0] = (struct kv_group){.kind = KV_GROUP_FULL, .layers = m->layers, .block_size = s->options.block_size,
	                                      .page_bytes = r.layout.page_bytes};
	s->solved = solve(&s->evidence, &r);
	s->found = r;
}

/* A drafter's layer of the same shape joins the only group. */
static void try_drafter_layer(struct search *s, const char *cache, const char *why)
{
	struct reading r = {.why = why, .in_flight = 1};
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
static void try_shared_contexts(struct search *s)
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

static void set_memory(struct evidence *e, const struct kv_log_value *printed)
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
static void try_stages(struct search *s, double fewest)
{
	uint32_t stages = kv_checker_pipeline_parallel(s->checker);
	struct evidence all = s->evidence;

	for (uint32_t stage = 0; stages > 1 && stage < stages && !s->solved; stage++) {
		const struct kv_log_value *least = stage_memory(s->checker->log, stage);
		struct kv_layout_options o = s->options;

		kv_pipeline_stage(s->model->layers, stages, stage, &o.first_layer, &o.layer_count);
		if (all.has_kv && least)
			set_memory(&s->evidence, least);
		try_states(s, &o, NULL, fewest);
	}
	if (!s->solved)
		s->evidence = all;
}

static void search_readings(struct search *s)
{
	double below = s->evidence.has_kv ? s->evidence.most_below : 0;

	try_stages(s, 0);
	try_states(s, &s->options, NULL, 0);
	if (below > 0) {
		try_stages(s, CLOSE);
		try_states(s, &s->options, NULL, CLOSE);
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
	if (below > CLOSE) {
		try_stages(s, below);
		try_states(s, &s->options, NULL, below);
	}
}

/* The longest request was first reckoned in other ways (for all stages together, by bytes in place of blocks): where no reading
 * brings it about, the rest decides. */
static void search_all(struct search *s)
{
	search_readings(s);
	if (s->solved || !s->evidence.storable)
		return;
	s->evidence.storable = 0;
	search_readings(s);
}

/* --- rows of the table -------------------------------------------------------------------------------------------------- */

static void say_meaning(const struct search *s, char *text, size_t size)
{
	const struct reading *r = &s->found;
	uint64_t by_blocks = r->blocks / r->layout.groups * r->block;
	uint64_t ranks = s->evidence.context_ranks;

	if (r->by_concurrency)
		snprintf(text, size, "concurrency x maximum length, as logged since 0.21");
	else if (s->evidence.tokens == (r->blocks - 1) * r->block && s->evidence.tokens != by_blocks)
		snprintf(text, size, "usable blocks x %" PRIu64 ": one block is kept as null block", r->block);
	else if (ranks > 1)
		snprintf(text, size, "blocks x %" PRIu64 " x %" PRIu64 " ranks that share a context", r->block, ranks);
	else if (r->layout.groups > 1)
		snprintf(text, size, "blocks // %u groups x %" PRIu64 ", as logged before 0.21", r->layout.groups, r->block);
	else
		snprintf(text, size, "blocks x %" PRIu64, r->block);
}

static enum kv_check_verdict verdict_of(const struct reading *r)
{
	return r->why || r->fewest > 0 ? KV_CHECK_EXPLAINED : KV_CHECK_AGREES;
}

static void add_kv_row(struct search *s)
{
	const struct kv_log_value *printed = s->evidence.printed_kv;
	const struct reading *r = &s->found;
	double gib = (double)(r->blocks * r->layout.page_bytes) / GIB;

	if (!printed || !s->evidence.has_kv)
		return;
	if (r->fewest > 0)
		kv_checker_add(s->checker, KV_FACT_KV, printed, gib, KV_CHECK_EXPLAINED, "%" PRIu64 " blocks x %" PRIu64 " bytes: blocks "
		               "are the minimum over ranks, and the GiB line is another rank's", r->blocks, r->layout.page_bytes);
	else
		kv_checker_add(s->checker, KV_FACT_KV, printed, gib, verdict_of(r), "%" PRIu64 " blocks x %" PRIu64 " bytes%s%s",
		               r->blocks, r->layout.page_bytes, r->why ? ": " : "", r->why ? r->why : "");
}

static void add_block_row(struct search *s)
{
	const struct kv_log_value *printed = kv_log_smallest(s->checker->log, KV_FACT_BLOCKS);
	const struct reading *r = &s->found;

	if (printed)
		kv_checker_add(s->checker, KV_FACT_BLOCKS, printed, (double)r->blocks, verdict_of(r), "%s",
		               r->why ? r->why : "KV cache memory / page");
}

static void add_token_row(struct search *s)
{
	const struct kv_log_value *printed = kv_log_smallest(s->checker->log, KV_FACT_TOKENS);
	const struct reading *r = &s->found;
	char meaning[128];

	if (!printed)
		return;
	say_meaning(s, meaning, sizeof meaning);
	kv_checker_add(s->checker, KV_FACT_TOKENS, printed, (double)s->evidence.tokens, verdict_of(r), "%s (N = %" PRIu64 ")%s%s",
	               meaning, r->blocks, r->why ? ": " : "", r->why ? r->why : "");
}

static void add_concurrency_row(struct search *s)
{
	const struct evidence *e = &s->evidence;
	const struct reading *r = &s->found;

	if (e->concurrency && e->length)
		kv_checker_add(s->checker, KV_FACT_CONCURRENCY, e->concurrency, (double)r->blocks / request_blocks(e, r, e->length),
		               verdict_of(r), "%" PRIu64 " blocks / %.0f of one request", r->blocks, request_blocks(e, r, e->length));
}

static void add_block_size_row(struct search *s)
{
	const struct kv_log_value *printed = kv_log_get(s->checker->log, KV_FACT_BLOCK_SIZE);

	if (printed)
		kv_checker_compare(s->checker, KV_FACT_BLOCK_SIZE, printed, kv_span_exactly(s->found.layout.group[0].block_size),
		                   "the smallest attention block whose page covers one state");
}

static void add_padding_row(struct search *s)
{
	const struct kv_log_value *printed = kv_log_get(s->checker->log, KV_FACT_PADDING_LAYERS);

	if (printed)
		kv_checker_compare(s->checker, KV_FACT_PADDING_LAYERS, printed, kv_span_exactly(s->found.layout.padding_layers),
		                   "layer slots of groups of equal size that stay empty");
}

/* The longest request that so many blocks hold. */
static uint64_t longest(const struct evidence *e, const struct reading *r, uint64_t limit)
{
	uint64_t good = 0, bad = limit + 1;

	while (bad - good > 1) {
		uint64_t middle = good + (bad - good) / 2;

		if (request_blocks(e, r, middle) <= (double)r->blocks)
			good = middle;
		else
			bad = middle;
	}
	return good;
}

static void add_refusal_rows(struct search *s)
{
	const struct kv_log_value *needed = kv_log_get(s->checker->log, KV_FACT_NEEDED);
	const struct kv_log_value *printed = kv_log_get(s->checker->log, KV_FACT_STORABLE);
	struct reading low = s->found, high = s->found;
	struct block_range range;
	char rule[128];

	if (needed && s->evidence.length)
		kv_checker_compare(s->checker, KV_FACT_NEEDED, needed, kv_span_exactly(request_blocks(&s->evidence, &s->found, s->evidence.length)
		                   * (double)s->found.layout.page_bytes / GIB), "blocks of one request x page");
	if (!printed)
		return;
	range = candidates(&s->evidence, &s->found, s->found.by_concurrency);
	low.blocks = range.low;
	high.blocks = range.high;
	snprintf(rule, sizeof rule, "the longest request whose blocks fit: %" PRIu64 " of them are %.2f GiB", s->found.blocks,
	         (double)(s->found.blocks * s->found.layout.page_bytes) / GIB);
	kv_checker_compare(s->checker, KV_FACT_STORABLE, printed, (struct kv_span){(double)longest(&s->evidence, &low, UINT32_MAX),
	                   (double)longest(&s->evidence, &high, UINT32_MAX)}, rule);
}

/* From KV memory, or as printed, or from whole blocks of tokens. */
static double nearest_blocks(const struct evidence *e, const struct kv_layout *layout)
{
	if (e->has_kv)
		return floor((e->kv.low + e->kv.high) / 2 / (double)layout->page_bytes);
	if (e->blocks)
		return (double)e->blocks;
	return floor((double)e->tokens / (double)smallest_block(layout)) * layout->groups;
}

static void add_unsolved_rows(struct search *s)
{
	static const enum kv_fact facts[] = {KV_FACT_KV, KV_FACT_BLOCKS, KV_FACT_TOKENS};
	struct kv_layout layout;
	struct kv_error ignored;

	if (kv_layout_plan(s->model, &s->options, &layout, &ignored) != 0)
		return;
	if (s->evidence.needed && s->evidence.length)
		kv_checker_compare(s->checker, KV_FACT_NEEDED, s->evidence.needed, kv_span_exactly((double)kv_layout_request_blocks(
		                   &layout, s->evidence.length, s->evidence.batched_tokens) * (double)layout.page_bytes / GIB),
		                   "blocks of one request x page");
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		const struct kv_log_value *printed = kv_log_smallest(s->checker->log, facts[i]);
		double blocks = nearest_blocks(&s->evidence, &layout);
		double computed = facts[i] == KV_FACT_KV ? (double)s->evidence.blocks * (double)layout.page_bytes / GIB
		                  : facts[i] == KV_FACT_BLOCKS ? blocks : floor(blocks / layout.groups)
		                                                          * (double)smallest_block(&layout);

		if (printed && (facts[i] != KV_FACT_KV || s->evidence.blocks))
			kv_checker_add(s->checker, facts[i], printed, computed, KV_CHECK_DIFFERS, "pages of %" PRIu64 " bytes; no rule that "
			               "is known brings this about", layout.page_bytes);
	}
}

/* --- what the evidence is --------------------------------------------------------------------------------------------- */

uint64_t kv_checker_number(const struct kv_log *log, enum kv_fact fact, uint64_t given, uint64_t fallback)
{
	const struct kv_log_value *value = kv_log_get(log, fact);

	return given ? given : value && value->number >= 1 ? whole(value->number) : fallback;
}

/* Ranks of a dimension ("PP") that speak, counted from zero; 0 = none says so. */
static uint64_t ranks_named(const struct kv_log *log, const char *dimension)
{
	uint64_t ranks = 0;

	for (int fact = 0; fact < KV_FACTS; fact++)
		for (size_t i = 0; i < log->count[fact]; i++) {
			const char *at = strstr(log->value[fact][i].rank, dimension);

			if (at)
				ranks = kv_max(ranks, strtoul(at + strlen(dimension), NULL, 10) + 1);
		}
	return ranks;
}

/* As given or logged; where neither says, as many as speak, if that is more than the first. */
static uint64_t ranks_of(const struct kv_log *log, enum kv_fact fact, uint64_t given, const char *dimension)
{
	uint64_t named = ranks_named(log, dimension);

	return kv_min(kv_checker_number(log, fact, given, kv_max(1, named)), RANKS_MAX);
}

uint32_t kv_checker_tensor_parallel(const struct kv_checker *c)
{
	return (uint32_t)ranks_of(c->log, KV_FACT_TENSOR_PARALLEL, c->given->tensor_parallel, "TP");
}

uint32_t kv_checker_pipeline_parallel(const struct kv_checker *c)
{
	uint64_t stages = ranks_of(c->log, KV_FACT_PIPELINE_PARALLEL, 0, "PP");

	return (uint32_t)kv_min(stages, c->given->model->layers);
}

static bool rank_spoke_before(const struct kv_log *log, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (!strcmp(log->value[KV_FACT_KV][j].rank, log->value[KV_FACT_KV][i].rank))
			return true;
	return false;
}

/* Ranks that print their KV memory. */
static size_t ranks_with_memory(const struct kv_log *log)
{
	size_t ranks = 0;

	for (size_t i = 0; i < log->count[KV_FACT_KV]; i++)
		ranks += !rank_spoke_before(log, i);
	return ranks;
}

/* Where all of them do, no other can have less. Until V1 the first rank's memory may be far from the others'. */
static double most_below(const struct search *s)
{
	const struct kv_log *log = s->checker->log;
	size_t ranks = (size_t)s->options.tensor_parallel * kv_checker_pipeline_parallel(s->checker), speak = ranks_with_memory(log);
	bool before_v1 = kv_log_get(log, KV_FACT_CPU_BLOCKS) || (kv_log_get(log, KV_FACT_STORABLE) && !kv_log_get(log, KV_FACT_NEEDED));

	if (speak == ranks || (speak < 2 && ranks < 2))
		return 0;
	return before_v1 ? APART : CLOSE;
}

/* Several ranks print their own KV memory: the pool's is the smallest. */
static void gather(struct search *s)
{
	const struct kv_log *log = s->checker->log;
	const struct kv_log_value *kv = kv_log_smallest(log, KV_FACT_KV);
	const struct kv_log_value *tokens = kv_log_smallest(log, KV_FACT_TOKENS);
	struct evidence *e = &s->evidence;

	e->has_kv = kv != NULL;
	if (kv)
		set_memory(e, kv);
	e->blocks = kv_checker_number(log, KV_FACT_BLOCKS, 0, 0);
	if (kv_log_smallest(log, KV_FACT_BLOCKS))
		e->blocks = whole(kv_log_smallest(log, KV_FACT_BLOCKS)->number);
	e->tokens = tokens ? whole(tokens->number) : 0;
	if (kv_log_get(log, KV_FACT_BLOCKS_GIVEN)) {
		e->has_kv = false;
		e->blocks = whole(kv_log_get(log, KV_FACT_BLOCKS_GIVEN)->number);
	}
	e->storable = kv_checker_number(log, KV_FACT_STORABLE, 0, 0);
	e->context_ranks = (uint32_t)kv_min(kv_checker_number(log, KV_FACT_CONTEXT_PARALLEL, 0, 1), RANKS_MAX);
	e->concurrency = kv_checker_concurrency(s->checker);
	e->needed = kv_log_get(log, KV_FACT_NEEDED);
	e->length = kv_checker_number(log, KV_FACT_MAX_LEN, s->checker->given->max_model_len, 0);
	e->batched_tokens = kv_checker_number(log, KV_FACT_BATCHED_TOKENS, 0, 0);
	if (s->checker->given->model->recurrent.conv_kernel)
		e->state_block = kv_checker_number(log, KV_FACT_BLOCK_SIZE, 0, 0);
	e->most_below = most_below(s);
}

const struct kv_cache_format *kv_checker_cache(const struct kv_checker *c)
{
	const char *name = c->log->kv_dtype;
	struct kv_error ignored;
	const struct kv_cache_format *format;

	if (c->given->cache)
		return c->given->cache;
	if (!strncmp(name, "torch.", strlen("torch.")))
		name += strlen("torch.");
	if (!strncmp(name, "float8", strlen("float8")))
		name = "fp8";
	format = *name ? kv_cache_format_find(name, &ignored) : NULL;
	if (*name && !format)
		kv_remark(&c->list->notes, "the log names a KV cache type that is not known: '%s'", name);
	return format ? format : kv_cache_format_find("auto", &ignored);
}

/* A negative budget has no pool. */
static bool tells_of_pool(const struct evidence *e)
{
	return (e->has_kv && e->kv.high >= 0) || (!e->has_kv && (e->blocks || e->tokens || e->needed || e->storable));
}

static bool tells_memory_alone(const struct evidence *e)
{
	return e->has_kv && !e->blocks && !e->tokens && !e->needed && !e->storable && !(e->concurrency && e->length);
}

static void note_blocks_of_memory(struct search *s)
{
	struct block_range range = candidates(&s->evidence, &s->found, false);

	kv_remark(&s->checker->list->notes, "%.10g GiB are %" PRIu64 " to %" PRIu64 " blocks of %" PRIu64 " bytes",
	          s->evidence.printed_kv->number, range.low, range.high, s->found.layout.page_bytes);
}

static void note_ranks(struct kv_checker *c)
{
	uint32_t tp = kv_checker_tensor_parallel(c);

	if (tp > 1 && !c->given->tensor_parallel && !kv_log_get(c->log, KV_FACT_TENSOR_PARALLEL))
		kv_remark(&c->list->notes, "tensor parallel size %u, because so many ranks speak: -tp if there are more", tp);
}

void kv_checker_pool(struct kv_checker *c)
{
	struct search s = {.checker = c, .model = c->given->model};

	s.options.tensor_parallel = kv_checker_tensor_parallel(c);
	s.options.block_size = c->given->block_size ? c->given->block_size : 16;
	s.options.cache = kv_checker_cache(c);
	gather(&s);
	note_ranks(c);
	kv_checker_weights(c);
	if (kv_checker_engine_pools(c, &s.options) || !tells_of_pool(&s.evidence))
		return;
	search_all(&s);
	if (!s.solved) {
		add_unsolved_rows(&s);
		return;
	}
	if (tells_memory_alone(&s.evidence)) {
		note_blocks_of_memory(&s);
		return;
	}
	add_kv_row(&s);
	add_block_row(&s);
	kv_checker_swap(c, kv_span_exactly((double)s.found.layout.page_bytes));
	add_token_row(&s);
	add_concurrency_row(&s);
	if (s.checker->given->model->recurrent.conv_kernel)
		add_block_size_row(&s);
	add_padding_row(&s);
	add_refusal_rows(&s);
}
