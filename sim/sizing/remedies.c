#include "config.h"

#include "sim/sizing/remedies.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "sim/base/units.h"
#include "sim/sizing/cache_offers.h"

enum { RANKS_MAX = 16, REPLICAS_MAX = 16, BATCHED_TOKENS_MIN = 512, SEQS_MIN = 16 };

#define UTILIZATION_MAX 98  /* hundredths */
#define MEASURE "measure task accuracy again"

struct search {
	const struct kv_size_question *question;
	const struct kv_size_goal *goal;
	struct kv_size_remedies *found;
};

bool kv_size_reaches(const struct kv_size_question *q, const struct kv_size_answer *a, const struct kv_size_goal *goal)
{
	return a->starts && (goal->sequences == 0 ||
	                     kv_size_requests_at_once(q, a, goal->length, goal->replicas) >= goal->sequences);
}

static void note_attempt(struct search *s, const char *what)
{
	s->found->attempt[s->found->tried++] = what;
}

static bool try_change(struct search *s, const struct kv_size_question *changed, uint64_t replicas, const char *remark,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Keeps the change if it reaches the goal. */
static bool try_change(struct search *s, const struct kv_size_question *changed, uint64_t replicas, const char *remark,
                       const char *format, ...)
{
	struct kv_size_change *change = &s->found->change[s->found->count];
	const struct kv_budget_question *b = &changed->budget;
	struct kv_size_goal goal = *s->goal;
	struct kv_error ignored;
	va_list args;

	goal.replicas = replicas;
	if (kv_model_check_tp(b->model, b->layout.tensor_parallel, &ignored) ||
	    kv_size(changed, &change->answer, &ignored) || !kv_size_reaches(changed, &change->answer, &goal))
		return false;
	va_start(args, format);
	vsnprintf(change->flags, sizeof change->flags, format, args);
	va_end(args);
	change->remark = remark;
	change->replicas = replicas;
	change->gpus = (uint64_t)b->layout.tensor_parallel * b->pipeline_parallel * replicas;
	change->at_once = kv_size_requests_at_once(changed, &change->answer,
	                                           goal.length ? goal.length : changed->max_model_len, replicas);
	s->found->count++;
	return true;
}

static void try_length(struct search *s, const struct kv_size_answer *now)
{
	struct kv_size_question q = *s->question;

	q.max_model_len = now->largest_max_model_len;
	note_attempt(s, "--max-model-len");
	if (!now->starts && q.max_model_len > 0 && q.max_model_len >= s->goal->length)
		try_change(s, &q, s->goal->replicas, "", "--max-model-len %" PRIu64, q.max_model_len);
}

static void try_cache_dtype(struct search *s)
{
	struct kv_size_question q = *s->question;
	const char *name = kv_cache_offers(&q.budget.rule)[0];
	struct kv_error ignored;

	if ((q.budget.layout.cache->bits != 0 && q.budget.layout.cache->bits <= 8) || q.budget.num_blocks_override)
		return;
	q.budget.layout.cache = kv_cache_format_find(name, &ignored);
	note_attempt(s, "--kv-cache-dtype of 8 bits");
	try_change(s, &q, s->goal->replicas, MEASURE, "--kv-cache-dtype %s", name);
}

static void try_narrow_weights(struct search *s)
{
	struct kv_size_question q = *s->question;

	if (s->goal->narrow == NULL || q.budget.weights_bytes != KV_BYTES_UNSET || q.budget.kv_cache_memory_bytes)
		return;
	q.budget.model = s->goal->narrow;
	note_attempt(s, "--quantization fp8");
	try_change(s, &q, s->goal->replicas, "changes the model: " MEASURE, "--quantization fp8");
}

static void try_utilization(struct search *s)
{
	struct kv_size_question q = *s->question;

	if (q.budget.utilization <= 0 || q.budget.kv_cache_memory_bytes)
		return;
	note_attempt(s, "--gpu-memory-utilization to 0.98");
	for (int hundredths = (int)(q.budget.utilization * 100) + 1; hundredths <= UTILIZATION_MAX; hundredths++) {
		q.budget.utilization = hundredths / 100.0;
		if (try_change(s, &q, s->goal->replicas, "", "--gpu-memory-utilization %.2f", q.budget.utilization))
			return;
	}
}

static void try_batched_tokens(struct search *s)
{
	struct kv_size_question q = *s->question;

	if (q.budget.kv_cache_memory_bytes)
		return;
	note_attempt(s, "--max-num-batched-tokens down to 512");
	for (q.budget.max_num_batched_tokens /= 2; q.budget.max_num_batched_tokens >= BATCHED_TOKENS_MIN;
	     q.budget.max_num_batched_tokens /= 2)
		if (try_change(s, &q, s->goal->replicas, "", "--max-num-batched-tokens %" PRIu64,
		               q.budget.max_num_batched_tokens))
			return;
}

/* Fewer sequences leave more memory; more of them run at once where it is they that are wanting. */
static void try_seqs(struct search *s)
{
	struct kv_size_question q = *s->question;
	uint64_t wanted = kv_ceil_div(s->goal->sequences, s->goal->replicas);

	note_attempt(s, "--max-num-seqs");
	if (wanted > q.budget.max_num_seqs) {
		q.budget.max_num_seqs = wanted;
		try_change(s, &q, s->goal->replicas, "", "--max-num-seqs %" PRIu64, wanted);
		return;
	}
	for (q.budget.max_num_seqs /= 2; q.budget.max_num_seqs >= SEQS_MIN; q.budget.max_num_seqs /= 2)
		if (try_change(s, &q, s->goal->replicas, "", "--max-num-seqs %" PRIu64, q.budget.max_num_seqs))
			return;
}

/* Twice the ranks: are routed experts spread over them? */
static bool double_expert_ranks(struct kv_budget_question *b)
{
	bool spread = b->expert_ranks > 1;

	b->expert_ranks *= spread ? 2 : 1;
	b->expert_slices *= 2;
	return b->model->experts > 0 && (spread || b->expert_slices > 0);
}

static void try_tensor_parallel(struct search *s)
{
	struct kv_size_question q = *s->question;
	uint32_t *tp = &q.budget.layout.tensor_parallel;

	note_attempt(s, "--tensor-parallel-size to 16");
	while ((*tp *= 2) <= RANKS_MAX) {
		double_expert_ranks(&q.budget);
		if (try_change(s, &q, s->goal->replicas, "", "--tensor-parallel-size %u", *tp))
			return;
	}
}

static void try_pipeline_parallel(struct search *s)
{
	struct kv_size_question q = *s->question;

	if (q.budget.layout.draft != NULL)
		return;
	note_attempt(s, "--pipeline-parallel-size to 16");
	while ((q.budget.pipeline_parallel *= 2) <= RANKS_MAX)
		if (try_change(s, &q, s->goal->replicas, "", "--pipeline-parallel-size %u", q.budget.pipeline_parallel))
			return;
}

static void try_data_parallel(struct search *s, const struct kv_size_answer *now)
{
	struct kv_size_question q = *s->question;
	uint64_t replicas = s->goal->replicas;

	if (s->goal->sequences == 0)
		return;
	note_attempt(s, "--data-parallel-size to 16");
	while ((replicas *= 2) <= REPLICAS_MAX) {
		if (!double_expert_ranks(&q.budget) && !now->starts)
			return;
		if (try_change(s, &q, replicas, "", "--data-parallel-size %" PRIu64, replicas))
			return;
	}
}

void kv_size_find_remedies(const struct kv_size_question *q, const struct kv_size_goal *goal,
                           struct kv_size_remedies *remedies)
{
	struct search s = { .question = q, .goal = goal, .found = remedies };
	struct kv_size_answer now;
	struct kv_error ignored;

	remedies->count = remedies->tried = 0;
	if (kv_size(q, &now, &ignored) != 0 || kv_size_reaches(q, &now, goal))
		return;
	try_length(&s, &now);
	try_cache_dtype(&s);
	try_seqs(&s);
	try_data_parallel(&s, &now);
	if (q->budget.num_blocks_override)
		return;
	try_narrow_weights(&s);
	try_utilization(&s);
	try_batched_tokens(&s);
	try_tensor_parallel(&s);
	try_pipeline_parallel(&s);
}
