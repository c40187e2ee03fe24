#include "config.h"

#include "sim/cli/size.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/sizing/cache_offers.h"

#define GIB 0x1p30

struct variants {
	const struct kv_size_report *report;
	struct kv_size_variant *list;
	uint32_t count;
};

static void add(struct variants *v, const struct kv_size_question *q, uint32_t replicas, bool as_asked,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

static void add(struct variants *v, const struct kv_size_question *q, uint32_t replicas, bool as_asked,
                const char *format, ...)
{
	struct kv_size_variant *variant = &v->list[v->count];
	struct kv_error ignored;
	va_list args;

	if (v->count == KV_SIZE_VARIANTS)
		return;
	va_start(args, format);
	vsnprintf(variant->what, sizeof variant->what, format, args);
	va_end(args);
	variant->ok = kv_size(q, &variant->answer, &ignored) == 0;
	variant->replicas = replicas;
	variant->as_asked = as_asked;
	variant->refused = NULL;
	v->count++;
}

static uint32_t replicas_asked(const struct variants *v)
{
	return (uint32_t)v->report->arguments.data_parallel;
}

static void vary_blocks(struct variants *v)
{
	static const uint32_t sizes[] = { 16, 32, 64, 128, 256 };

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct kv_size_question q = v->report->question;
		bool same = q.budget.layout.block_size == sizes[i];

		if (sizes[i] % q.budget.rule.block_multiple)
			continue;
		q.budget.layout.block_size = sizes[i];
		add(v, &q, replicas_asked(v), same, "--block-size %u", sizes[i]);
	}
}

static void vary_cache_to(struct variants *v, const char *name)
{
	const struct kv_hardware *card = v->report->deployment.hardware;
	struct kv_size_question q = v->report->question;
	const struct kv_cache_format *now = q.budget.layout.cache;
	struct kv_error ignored;

	q.budget.layout.cache = kv_cache_format_find(name, &ignored);
	add(v, &q, replicas_asked(v), now == q.budget.layout.cache, "--kv-cache-dtype %s", name);
	v->list[v->count - 1].refused = kv_cache_refused(name, &q.budget.rule, q.budget.model,
	                                                 card ? card->compute_capability : 0);
}

static void vary_cache(struct variants *v)
{
	bool followed = kv_deployment_checkpoint_cache(&v->report->deployment) != NULL;

	vary_cache_to(v, followed ? kv_dtype_name(v->report->deployment.model->dtype) : "auto");
	for (const char *const *name = kv_cache_offers(&v->report->question.budget.rule); *name; name++)
		vary_cache_to(v, *name);
}

static void vary_batched_tokens(struct variants *v)
{
	for (uint64_t tokens = 2048; tokens <= 32768; tokens *= 2) {
		struct kv_size_question q = v->report->question;
		bool same = q.budget.max_num_batched_tokens == tokens;

		q.budget.max_num_batched_tokens = tokens;
		add(v, &q, replicas_asked(v), same, "--max-num-batched-tokens %" PRIu64, tokens);
	}
}

static void vary_seqs(struct variants *v)
{
	for (uint64_t seqs = 64; seqs <= 1024; seqs *= 2) {
		struct kv_size_question q = v->report->question;
		bool same = q.budget.max_num_seqs == seqs;

		q.budget.max_num_seqs = seqs;
		add(v, &q, replicas_asked(v), same, "--max-num-seqs %" PRIu64, seqs);
	}
}

static void vary_length(struct variants *v)
{
	uint64_t asked = v->report->question.max_model_len;

	for (uint64_t length = asked / 4; length <= asked * 2; length *= 2) {
		struct kv_size_question q = v->report->question;

		if (length == 0)
			return;
		q.max_model_len = length;
		add(v, &q, replicas_asked(v), length == asked, "--max-model-len %" PRIu64, length);
	}
}

static void vary_utilization(struct variants *v)
{
	static const double shares[] = { 0.80, 0.85, 0.90, 0.92, 0.95 };

	for (size_t i = 0; v->report->question.budget.utilization > 0 && i < sizeof shares / sizeof shares[0]; i++) {
		struct kv_size_question q = v->report->question;
		bool same = q.budget.utilization == shares[i];

		q.budget.utilization = shares[i];
		add(v, &q, replicas_asked(v), same, "--gpu-memory-utilization %.2f", shares[i]);
	}
}

/* Every way to divide the same GPUs; the others would change the price. */
static void vary_shape(struct variants *v)
{
	const struct kv_budget_question *b = &v->report->question.budget;
	uint32_t gpus = b->layout.tensor_parallel * b->pipeline_parallel * replicas_asked(v);

	for (uint32_t tp = 1; tp <= gpus; tp++)
		for (uint32_t pp = 1; gpus % tp == 0 && pp <= gpus / tp; pp++) {
			struct kv_size_question q = v->report->question;
			uint32_t dp = gpus / tp / pp;

			if (tp * pp * dp != gpus)
				continue;
			q.budget.layout.tensor_parallel = tp;
			q.budget.pipeline_parallel = pp;
			kv_size_spread_experts(&v->report->arguments, &q.budget, dp);
			add(v, &q, dp, tp == b->layout.tensor_parallel && pp == b->pipeline_parallel,
			    "-tp %u -pp %u -dp %u", tp, pp, dp);
		}
}

uint32_t kv_size_report_variants(const struct kv_size_report *report, struct kv_size_variant variants[KV_SIZE_VARIANTS])
{
	struct variants v = { .report = report, .list = variants };

	vary_shape(&v);
	vary_blocks(&v);
	vary_cache(&v);
	vary_batched_tokens(&v);
	vary_seqs(&v);
	vary_length(&v);
	vary_utilization(&v);
	return v.count;
}

void kv_size_report_sensitivity(struct kv_output *out, const struct kv_size_report *report)
{
	struct kv_size_variant variants[KV_SIZE_VARIANTS];
	uint32_t count = kv_size_report_variants(report, variants);

	kv_output_printf(out, "\n%-38s %10s %14s %12s  %s\n", "One setting changed at a time", "KV GiB", "logged tokens",
	                 "concurrency", "starts");
	for (uint32_t i = 0; i < count; i++) {
		const struct kv_size_variant *v = &variants[i];

		if (v->refused)
			kv_output_printf(out, " %-37s %10s %14s %12s  %s\n", v->what, "-", "-", "-", v->refused);
		else if (v->ok)
			kv_output_printf(out, "%s%-37s %10.2f %14" PRIu64 " %11.2fx  %s\n", v->as_asked ? "*" : " ",
			                 v->what, (double)v->answer.budget.kv_bytes / GIB,
			                 v->answer.kv_cache_tokens_reported * v->replicas,
			                 v->answer.max_concurrency * v->replicas, v->answer.starts ? "yes" : "no");
	}
	kv_output_text(out,
	               "* as asked. KV GiB is of one rank; tokens, as the engine logs its KV cache size, and concurrency "
	               "at max_model_len are of all replicas together, of which each logs its own.\n");
}
