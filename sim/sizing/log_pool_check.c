#include "config.h"

#include "sim/sizing/log_checker.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/sizing/log_readings.h"

#define GIB 0x1p30

static void say_meaning(const struct kv_reading_search *s, char *text, size_t size)
{
	const struct kv_reading *r = &s->found;
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

static enum kv_check_verdict verdict_of(const struct kv_reading *r)
{
	return r->why || r->fewest > 0 ? KV_CHECK_EXPLAINED : KV_CHECK_AGREES;
}

static void add_kv_row(struct kv_reading_search *s)
{
	const struct kv_log_value *printed = s->evidence.printed_kv;
	const struct kv_reading *r = &s->found;
	double gib = (double)(r->blocks * r->layout.page_bytes) / GIB;

	if (!printed || !s->evidence.has_kv)
		return;
	if (r->fewest > 0)
		kv_checker_add(s->checker, KV_FACT_KV, printed, gib, KV_CHECK_EXPLAINED,
		               "%" PRIu64 " blocks x %" PRIu64
		               " bytes: blocks are the minimum over ranks, and the GiB line is another rank's",
		               r->blocks, r->layout.page_bytes);
	else
		kv_checker_add(s->checker, KV_FACT_KV, printed, gib, verdict_of(r),
		               "%" PRIu64 " blocks x %" PRIu64 " bytes%s%s", r->blocks, r->layout.page_bytes,
		               r->why ? ": " : "", r->why ? r->why : "");
}

static void add_block_row(struct kv_reading_search *s)
{
	const struct kv_log_value *printed = kv_log_smallest(s->checker->log, KV_FACT_BLOCKS);
	const struct kv_reading *r = &s->found;

	if (printed && s->evidence.blocks)
		kv_checker_add(s->checker, KV_FACT_BLOCKS, printed, (double)r->blocks, verdict_of(r), "%s",
		               r->why ? r->why : s->evidence.has_kv ? "KV cache memory / page" : "as tokens or concurrency say");
}

static void add_token_row(struct kv_reading_search *s)
{
	const struct kv_log_value *printed = kv_log_smallest(s->checker->log, KV_FACT_TOKENS);
	const struct kv_reading *r = &s->found;
	char meaning[128];

	if (!printed || !s->evidence.tokens)
		return;
	say_meaning(s, meaning, sizeof meaning);
	kv_checker_add(s->checker, KV_FACT_TOKENS, printed, (double)s->evidence.tokens, verdict_of(r),
	               "%s (N = %" PRIu64 ")%s%s", meaning, r->blocks, r->why ? ": " : "", r->why ? r->why : "");
}

static void add_concurrency_row(struct kv_reading_search *s)
{
	const struct kv_evidence *e = &s->evidence;
	const struct kv_reading *r = &s->found;
	double request;

	if (!e->concurrency || !e->length)
		return;
	request = kv_reading_request_blocks(e, r, e->length);
	kv_checker_add(s->checker, KV_FACT_CONCURRENCY, e->concurrency, (double)r->blocks / request, verdict_of(r),
	               "%" PRIu64 " blocks / %.0f of one request", r->blocks, request);
}

static void add_block_size_row(struct kv_reading_search *s)
{
	const struct kv_log_value *printed = kv_log_get(s->checker->log, KV_FACT_BLOCK_SIZE);

	if (printed)
		kv_checker_compare(s->checker, KV_FACT_BLOCK_SIZE, printed,
		                   kv_span_exactly(s->found.layout.group[0].block_size),
		                   "the smallest attention block whose page covers one state");
}

static void add_padding_row(struct kv_reading_search *s)
{
	const struct kv_log_value *printed = kv_log_get(s->checker->log, KV_FACT_PADDING_LAYERS);

	if (printed)
		kv_checker_compare(s->checker, KV_FACT_PADDING_LAYERS, printed, kv_span_exactly(s->found.layout.padding_layers),
		                   "layer slots of groups of equal size that stay empty");
}

/* The longest request that so many blocks hold. */
static uint64_t longest(const struct kv_evidence *e, const struct kv_reading *r, uint64_t limit)
{
	uint64_t good = 0, bad = limit + 1;

	while (bad - good > 1) {
		uint64_t middle = good + (bad - good) / 2;

		if (kv_reading_request_blocks(e, r, middle) <= (double)r->blocks)
			good = middle;
		else
			bad = middle;
	}
	return good;
}

static void add_refusal_rows(struct kv_reading_search *s)
{
	const struct kv_log_value *needed = kv_log_get(s->checker->log, KV_FACT_NEEDED);
	const struct kv_log_value *printed = kv_log_get(s->checker->log, KV_FACT_STORABLE);
	struct kv_reading low = s->found, high = s->found;
	struct kv_block_range range;
	double request;
	char rule[128];

	if (needed && s->evidence.length) {
		request = kv_reading_request_blocks(&s->evidence, &s->found, s->evidence.length);
		kv_checker_compare(s->checker, KV_FACT_NEEDED, needed,
		                   kv_span_exactly(request * (double)s->found.layout.page_bytes / GIB),
		                   "blocks of one request x page");
	}
	if (!printed)
		return;
	range = kv_reading_candidates(&s->evidence, &s->found, s->found.by_concurrency);
	low.blocks = range.low;
	high.blocks = range.high;
	snprintf(rule, sizeof rule, "the longest request whose blocks fit: %" PRIu64 " of them are %.2f GiB",
	         s->found.blocks, (double)(s->found.blocks * s->found.layout.page_bytes) / GIB);
	kv_checker_compare(s->checker, KV_FACT_STORABLE, printed,
	                   (struct kv_span){(double)longest(&s->evidence, &low, UINT32_MAX),
	                                    (double)longest(&s->evidence, &high, UINT32_MAX)},
	                   rule);
}

/* From KV memory, or as printed, or from whole blocks of tokens. */
static double nearest_blocks(const struct kv_evidence *e, const struct kv_layout *layout)
{
	if (e->has_kv)
		return floor((e->kv.low + e->kv.high) / 2 / (double)layout->page_bytes);
	if (e->blocks)
		return (double)e->blocks;
	return floor((double)e->tokens / (double)kv_smallest_block(layout)) * layout->groups;
}

static void add_unsolved_rows(struct kv_reading_search *s)
{
	static const enum kv_fact facts[] = {KV_FACT_KV, KV_FACT_BLOCKS, KV_FACT_TOKENS};
	struct kv_layout layout;
	struct kv_error ignored;

	if (kv_layout_plan(s->model, &s->options, &layout, &ignored) != 0)
		return;
	if (s->evidence.needed && s->evidence.length)
		kv_checker_compare(
			s->checker, KV_FACT_NEEDED, s->evidence.needed,
			kv_span_exactly((double)kv_layout_request_blocks(&layout, s->evidence.length, s->evidence.batched_tokens)
		                    * (double)layout.page_bytes / GIB),
			"blocks of one request x page");
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		const struct kv_log_value *printed = kv_log_smallest(s->checker->log, facts[i]);
		double blocks = nearest_blocks(&s->evidence, &layout);
		double computed = facts[i] == KV_FACT_KV ? (double)s->evidence.blocks * (double)layout.page_bytes / GIB
		                  : facts[i] == KV_FACT_BLOCKS ? blocks : floor(blocks / layout.groups)
		                                                          * (double)kv_smallest_block(&layout);

		if (printed && (facts[i] != KV_FACT_KV || s->evidence.blocks))
			kv_checker_add(s->checker, facts[i], printed, computed, KV_CHECK_DIFFERS,
			               "pages of %" PRIu64 " bytes; no rule that is known brings this about", layout.page_bytes);
	}
}

/* --- one number that does not go with the others ------------------------------------------------------------------ */

/* Numbers of blocks that are told independently of each other. */
static unsigned witnesses(const struct kv_evidence *e)
{
	return e->has_kv + (e->blocks > 0) + (e->tokens > 0) + (e->concurrency && e->length);
}

static void drop(struct kv_evidence *e, enum kv_fact fact)
{
	switch (fact) {
	case KV_FACT_CONCURRENCY: e->concurrency = NULL; break;
	case KV_FACT_TOKENS: e->tokens = 0; break;
	case KV_FACT_BLOCKS: e->blocks = 0; break;
	default: e->has_kv = false;
	}
}

/* The one without which the others, two at least, agree; none = KV_FACTS. */
static enum kv_fact find_outlier(struct kv_reading_search *s)
{
	static const enum kv_fact facts[] = {KV_FACT_CONCURRENCY, KV_FACT_TOKENS, KV_FACT_KV, KV_FACT_BLOCKS};
	struct kv_evidence all = s->evidence;

	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		s->evidence = all;
		drop(&s->evidence, facts[i]);
		if (witnesses(&s->evidence) < 2 || witnesses(&s->evidence) == witnesses(&all))
			continue;
		kv_reading_solve_plainly(s);
		if (s->solved)
			return facts[i];
	}
	s->evidence = all;
	return KV_FACTS;
}

static double computed_of(const struct kv_reading_search *s, enum kv_fact fact)
{
	const struct kv_reading *r = &s->found;

	switch (fact) {
	case KV_FACT_CONCURRENCY:
		return (double)r->blocks / kv_reading_request_blocks(&s->evidence, r, s->evidence.length);
	case KV_FACT_TOKENS:
		return (double)(r->blocks / r->layout.groups * r->block * s->evidence.context_ranks);
	case KV_FACT_BLOCKS:
		return (double)r->blocks;
	default:
		return (double)(r->blocks * r->layout.page_bytes) / GIB;
	}
}

static void add_outlier_row(struct kv_reading_search *s, enum kv_fact fact)
{
	const struct kv_log_value *printed = fact == KV_FACT_CONCURRENCY ? kv_checker_concurrency(s->checker)
	                                                                 : kv_log_smallest(s->checker->log, fact);

	kv_checker_add(s->checker, fact, printed, computed_of(s, fact), KV_CHECK_DIFFERS,
	               "the other numbers are those of %" PRIu64 " blocks of %" PRIu64 " bytes", s->found.blocks,
	               s->found.layout.page_bytes);
}

/* --- what the evidence is ----------------------------------------------------------------------------------------- */

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
static double most_below(const struct kv_reading_search *s)
{
	const struct kv_log *log = s->checker->log;
	size_t ranks = (size_t)s->options.tensor_parallel * kv_checker_pipeline_parallel(s->checker);
	size_t speak = ranks_with_memory(log);
	bool before_v1 = kv_log_get(log, KV_FACT_CPU_BLOCKS)
	                 || (kv_log_get(log, KV_FACT_STORABLE) && !kv_log_get(log, KV_FACT_NEEDED));

	if (speak == ranks || (speak < 2 && ranks < 2))
		return 0;
	return before_v1 ? KV_RANKS_APART : KV_RANKS_CLOSE;
}

/* Several ranks print their own KV memory: the pool's is the smallest. */
static void gather(struct kv_reading_search *s)
{
	const struct kv_log *log = s->checker->log;
	const struct kv_log_value *kv = kv_log_smallest(log, KV_FACT_KV);
	const struct kv_log_value *tokens = kv_log_smallest(log, KV_FACT_TOKENS);
	struct kv_evidence *e = &s->evidence;

	e->has_kv = kv != NULL;
	if (kv)
		kv_evidence_set_memory(e, kv);
	e->blocks = kv_checker_number(log, KV_FACT_BLOCKS, 0, 0);
	if (kv_log_smallest(log, KV_FACT_BLOCKS))
		e->blocks = kv_whole(kv_log_smallest(log, KV_FACT_BLOCKS)->number);
	e->tokens = tokens ? kv_whole(tokens->number) : 0;
	if (kv_log_get(log, KV_FACT_BLOCKS_GIVEN)) {
		e->has_kv = false;
		e->blocks = kv_whole(kv_log_get(log, KV_FACT_BLOCKS_GIVEN)->number);
	}
	e->storable = kv_checker_number(log, KV_FACT_STORABLE, 0, 0);
	e->context_ranks = (uint32_t)kv_min(kv_checker_number(log, KV_FACT_CONTEXT_PARALLEL, 0, 1), KV_LOG_RANKS_MAX);
	e->concurrency = kv_checker_concurrency(s->checker);
	e->needed = kv_log_get(log, KV_FACT_NEEDED);
	e->length = kv_checker_number(log, KV_FACT_MAX_LEN, s->checker->given->max_model_len, 0);
	e->batched_tokens = kv_checker_number(log, KV_FACT_BATCHED_TOKENS, 0, 0);
	if (s->checker->given->model->recurrent.conv_kernel)
		e->state_block = kv_checker_number(log, KV_FACT_BLOCK_SIZE, 0, 0);
	e->most_below = most_below(s);
}

/* A negative budget has no pool. */
static bool tells_of_pool(const struct kv_evidence *e)
{
	return (e->has_kv && e->kv.high >= 0) || (!e->has_kv && (e->blocks || e->tokens || e->needed || e->storable));
}

/* One number alone can be brought about by some number of blocks, whatever it is. */
static bool tells_one_number(const struct kv_evidence *e)
{
	return witnesses(e) == 1 && !e->needed && !e->storable;
}

static void note_number(struct kv_reading_search *s)
{
	struct kv_block_range range = kv_reading_candidates(&s->evidence, &s->found, false);
	uint64_t page = s->found.layout.page_bytes;

	if (s->evidence.has_kv)
		kv_remark(&s->checker->list->notes, "%.10g GiB are %" PRIu64 " to %" PRIu64 " blocks of %" PRIu64 " bytes",
		          s->evidence.printed_kv->number, range.low, range.high, page);
	else
		kv_remark(&s->checker->list->notes, "%" PRIu64 " blocks of %" PRIu64 " bytes are %.2f GiB on each rank",
		          s->found.blocks, page, (double)(s->found.blocks * page) / GIB);
}

static void note_ranks(struct kv_checker *c)
{
	uint32_t tp = kv_checker_tensor_parallel(c);

	if (tp > 1 && !c->given->tensor_parallel && !kv_log_get(c->log, KV_FACT_TENSOR_PARALLEL))
		kv_remark(&c->list->notes, "tensor parallel size %u, because so many ranks speak: -tp if there are more", tp);
}

static void add_solved_rows(struct kv_reading_search *s)
{
	bool one = tells_one_number(&s->evidence);

	if (one) {
		note_number(s);
	} else {
		add_kv_row(s);
		add_block_row(s);
	}
	kv_checker_swap(s->checker, kv_span_exactly((double)s->found.layout.page_bytes));
	if (one)
		return;
	add_token_row(s);
	add_concurrency_row(s);
	if (s->checker->given->model->recurrent.conv_kernel)
		add_block_size_row(s);
	add_padding_row(s);
	add_refusal_rows(s);
}

void kv_checker_pool(struct kv_checker *c)
{
	struct kv_reading_search s = {.checker = c, .model = c->given->model};
	enum kv_fact outlier = KV_FACTS;

	s.options.tensor_parallel = kv_checker_tensor_parallel(c);
	s.options.block_size = c->given->block_size ? c->given->block_size : 16;
	s.options.cache = kv_checker_cache(c);
	gather(&s);
	note_ranks(c);
	kv_checker_weights(c);
	if (kv_checker_engine_pools(c, &s.options) || !tells_of_pool(&s.evidence))
		return;
	kv_reading_solve(&s);
	if (!s.solved)
		outlier = find_outlier(&s);
	if (!s.solved)
		add_unsolved_rows(&s);
	else
		add_solved_rows(&s);
	if (outlier != KV_FACTS)
		add_outlier_row(&s, outlier);
}
