#include "config.h"

#include "sim/cli/size.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/quantity.h"
#include "sim/base/units.h"

#define GIB 0x1p30

static bool is_llama(const struct kv_size_report *r)
{
	return r->question.budget.rule.engine == KV_SIZING_LLAMA_CPP;
}

static bool is_sglang(const struct kv_size_report *r)
{
	return r->question.budget.rule.engine == KV_SIZING_SGLANG;
}

static void print_heading(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_budget_question *b = &r->question.budget;
	char memory[KV_QUANTITY_MAX];

	kv_output_printf(out, "Model            %s (%s)\n", r->deployment.model->name, r->deployment.model->source);
	kv_output_printf(out, "GPU              %s%s%s\n",
	                 r->deployment.hardware ? r->deployment.hardware->name : "not named",
	                 b->device_bytes ? ", " : "",
	                 b->device_bytes ? kv_format_bytes_short((int64_t)b->device_bytes, memory) : "");
	kv_output_printf(out, "Ranks            tensor parallel %u, pipeline parallel %u, data parallel %" PRIu64 "\n",
	                 b->layout.tensor_parallel, b->pipeline_parallel, r->arguments.data_parallel);
	if (r->draft != NULL)
		kv_output_printf(out, "Drafter          %s, method %s, %" PRIu64 " tokens a step\n", r->draft->name,
		                 kv_draft_method_name(r->drafter), r->arguments.speculative_tokens);
	kv_output_printf(out, "Engine profile   %s: %s\n\n", r->deployment.profile->name,
	                 r->deployment.profile->summary);
}

static void print_line(struct kv_output *out, const char *item, int64_t bytes, double whole, const char *source,
                       const char *note)
{
	kv_output_printf(out, "%-34s %16" PRId64 " %9.2f %6.1f %%  %s%s%s\n", item, bytes, (double)bytes / GIB,
	                 whole > 0 ? 100 * (double)bytes / whole : 0, source, *note ? ": " : "", note);
}

static void print_budget(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_budget *budget = &r->answer.budget;
	double whole = budget->lines ? (double)budget->line[0].bytes : 0;

	kv_output_printf(out, "%-34s %16s %9s %8s  %s\n", "Memory of one rank", "bytes", "GiB", "share", "source");
	for (uint32_t i = 0; i < budget->lines; i++)
		print_line(out, budget->line[i].item, budget->line[i].bytes, whole,
		           kv_provenance_name(budget->line[i].source), budget->line[i].note);
	print_line(out, "KV cache", budget->kv_bytes, whole, kv_provenance_name(KV_FROM_RULE), "");
	if (r->question.budget.pipeline_parallel > 1)
		kv_output_printf(out, "These are the lines of pipeline stage %u, which has the fewest blocks.\n",
		                 budget->stage);
	kv_output_text(out, "\n");
}

static void print_bytes_per_token(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_layout *l = &r->answer.budget.layout;

	if (r->answer.pools.count)
		kv_output_printf(out, "KV bytes a token and rank          %" PRIu64 " in all pools", l->growing_bytes);
	else
		kv_output_printf(out, "KV bytes a token and rank          %" PRIu64 " kept until the request ends", l->growing_bytes);
	if (l->windowed_bytes)
		kv_output_printf(out, ", %" PRIu64 " more inside the window", l->windowed_bytes);
	kv_output_text(out, "\n");
	if (l->state_bytes)
		kv_output_printf(out, "Recurrent state a sequence         %" PRIu64 " bytes\n", kv_size_report_state(r));
	if (l->draft_bytes)
		kv_output_printf(out, "  of them the drafter's layers       %" PRIu64 "\n", l->draft_bytes);
	if (l->metadata_bytes)
		kv_output_printf(out, "  of them scales and metadata      %" PRIu64 "\n", l->metadata_bytes);
	if (r->question.budget.layout.cache->lossy)
		kv_output_printf(out, "  %s rounds what is cached: measure task accuracy again\n",
		                 r->question.budget.layout.cache->name);
}

static void print_groups(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_layout *l = &r->answer.budget.layout;
	uint64_t tokens = kv_size_report_length(r);

	kv_output_printf(out, "\n%-16s %6s %8s %7s %14s %28s\n", "KV group", "layers", "window", "block", "page bytes",
	                 "blocks of one request");
	for (uint32_t i = 0; i < l->groups; i++) {
		const struct kv_group *g = &l->group[i];
		uint64_t held = kv_group_request_blocks(l, g, tokens, kv_size_in_flight(&r->question));
		char bytes[KV_QUANTITY_MAX];

		kv_output_printf(out, "%-16s %6u %8u %7u %14" PRIu64 " %14" PRIu64 " %13s\n",
		                 kv_group_kind_name(g->kind), g->layers, g->window, g->block_size, g->page_bytes, held,
		                 kv_format_bytes_short((int64_t)(held * g->page_bytes), bytes));
	}
	if (l->padding_layers)
		kv_output_printf(out, "%u of %u layer slots are padding\n", l->padding_layers,
		                 l->groups * l->layer_slots);
	kv_output_text(out, "\n");
}

static void print_window_pools(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_window_pools *pools = &r->answer.pools;

	kv_output_printf(out, "\n%-16s %6s %8s %8s %12s %28s\n", "Pool", "layers", "window", "share", "blocks",
	                 "blocks of one request");
	for (uint32_t i = 0; i < pools->count; i++) {
		const struct kv_window_pool *pool = &pools->pool[i];

		kv_output_printf(out, "%-16s %6u %8u %8.4f %12" PRIu64 " %28" PRIu64 "\n", pool->window ? "sliding_window" : "full",
		                 pool->layers, pool->window, pool->share, pool->blocks,
		                 kv_window_pool_request_blocks(pools, i, kv_size_report_length(r)));
	}
	kv_output_text(out, is_sglang(r) ? "The windowed pool has 0.8 times the tokens of the full one (swa_full_tokens_ratio).\n\n"
	               : "Shares are layers x window, as the C++ KV manager divides; the PyTorch runtime of 2026 gives "
	                 "each window an equal one unless told otherwise.\n\n");
}

/* Windowed layers that hold whole contexts where the engine may keep less of them, or does not. */
static bool is_lower_bound(const struct kv_size_report *r)
{
	const struct kv_model *m = r->deployment.model;
	bool windowed = false;

	for (uint32_t i = 0; i < m->layers; i++)
		windowed |= m->layer[i].window != 0;
	return windowed && !r->answer.pools.count && kv_sizing_has_whole_contexts(&r->question.budget.rule);
}

static void print_state_slots(struct kv_output *out, const struct kv_size_report *r)
{
	uint64_t slots = r->answer.budget.state_slots, each = r->question.budget.states_per_request;

	if (is_sglang(r) && r->answer.budget.layout.state_bytes)
		kv_output_printf(out, "Slots of recurrent state           %" PRIu64 ", %" PRIu64 " a request: at most %" PRIu64 " requests at once\n",
		                 slots, each, slots / each);
}

/* Values at both ends of the known errors of what is assumed. */
static void print_ends(struct kv_output *out, const struct kv_size_report *r, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void print_ends(struct kv_output *out, const struct kv_size_report *r, const char *format, ...)
{
	char ends[96];
	va_list args;

	if (!kv_size_report_is_vague(r))
		return;
	va_start(args, format);
	vsnprintf(ends, sizeof ends, format, args);
	va_end(args);
	kv_output_printf(out, "  within the errors known          %s\n", ends);
}

/* What the range beside the blocks leaves out. */
static void print_unknown_errors(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_budget *budget = &r->answer.budget;
	const char *before = "  without the errors of            ";
	int64_t bytes = 0;

	for (uint32_t i = 0; kv_size_report_is_vague(r) && i < budget->lines; i++) {
		if (!budget->line[i].error_unknown)
			continue;
		kv_output_printf(out, "%s%s", before, budget->line[i].item);
		bytes -= budget->line[i].bytes;
		before = " and ";
	}
	if (bytes)
		kv_output_printf(out, " (%.2f GiB), which are not known\n", (double)bytes / GIB);
}

static void print_pool(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_size_answer *a = &r->answer;
	bool by_concurrency = r->question.budget.rule.tokens_by_concurrency;

	kv_output_printf(out, "Blocks                             %" PRIu64 ", usable %" PRIu64 "\n", a->budget.num_blocks,
	                 a->budget.usable_blocks);
	print_ends(out, r, "%" PRIu64 " to %" PRIu64, r->least.budget.num_blocks, r->most.budget.num_blocks);
	print_unknown_errors(out, r);
	kv_output_printf(out, "KV cache tokens                    %" PRIu64 "%s\n",
	                 a->kv_cache_tokens, a->pools.count ? " in whole contexts" : " = blocks // groups x block size");
	kv_output_printf(out, "KV cache size as %-17s %" PRIu64 " tokens%s\n", "the engine logs", a->kv_cache_tokens_reported,
	                 by_concurrency ? " = concurrency x max_model_len" : "");
	print_state_slots(out, r);
}

static void print_llama(struct kv_output *out, const struct kv_size_report *r)
{
	uint64_t slots = kv_max(1, r->question.budget.max_num_seqs);
	uint64_t asked = kv_llama_cache_bytes(&r->question.budget, r->question.max_model_len, slots);
	char bytes[KV_QUANTITY_MAX];

	kv_output_printf(out, "Cells                              %" PRIu64 " for %" PRIu64 " slots, %s\n",
	                 r->answer.kv_cache_tokens, slots, kv_format_bytes_short((int64_t)asked, bytes));
}

static void print_capacity(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_size_answer *a = &r->answer;
	char bytes[KV_QUANTITY_MAX];

	kv_output_printf(out, "One request of max_model_len       %" PRIu64 " tokens: %" PRIu64 " %s, %s\n",
	                 r->question.max_model_len, a->blocks_per_request, is_llama(r) ? "cells" : "blocks",
	                 kv_format_bytes_short((int64_t)a->bytes_per_request, bytes));
	kv_output_printf(
		out,
		"Concurrency at max_model_len       %.2fx (%s)\n", a->max_concurrency,
		is_llama(r) ? "slots whose cells would fit" : "a bound, not a limit: blocks are taken as tokens arrive");
	print_ends(out, r, "%.2fx to %.2fx", r->least.max_concurrency, r->most.max_concurrency);
	if (r->arguments.data_parallel > 1)
		kv_output_printf(out, "  on all %" PRIu64 " replicas             %.2fx\n", r->arguments.data_parallel,
		                 a->max_concurrency * (double)r->arguments.data_parallel);
	kv_output_printf(out, "Largest max_model_len that starts  %" PRIu64 "\n", a->largest_max_model_len);
	if (is_lower_bound(r))
		kv_output_text(out, is_sglang(r) ? "Windowed layers hold whole contexts: SGLang of this profile has pools for windows of Llama 4, "
		               "gpt-oss, Gemma 4, MiMo-V2 and Step-3.5 only.\n"
		               : "All of this is a lower bound: windowed layers are sized as if they held whole contexts.\n");
}

/* What else bounds them where memory would hold more. */
static void print_slots(struct kv_output *out, const struct kv_size_report *r)
{
	kv_output_printf(out, "max_num_seqs %" PRIu64, r->question.budget.max_num_seqs);
	if (r->arguments.data_parallel > 1)
		kv_output_printf(out, " on %" PRIu64 " replicas", r->arguments.data_parallel);
	kv_output_printf(out, " lets %" PRIu64 " run at once", kv_size_report_slots(r));
}

static void print_wanted(struct kv_output *out, const struct kv_size_report *r, uint64_t each, uint64_t usable)
{
	uint64_t wanted = r->arguments.sequences, replicas = r->arguments.data_parallel;
	bool fit = wanted <= usable, run = wanted <= kv_size_report_slots(r);
	char bytes[KV_QUANTITY_MAX];

	kv_output_printf(out, "%" PRIu64 " such requests                 %s: they take %s on a rank%s", wanted,
	                 fit && run ? "fit" : fit ? "fit in memory but do not run at once" : "do not fit",
	                 kv_format_bytes_short((int64_t)(wanted * each / replicas), bytes),
	                 replicas > 1 ? " of each replica" : "");
	if (!run) {
		kv_output_text(out, "; ");
		print_slots(out, r);
		kv_output_text(out, ", the others wait");
	}
	kv_output_text(out, "\n");
}

static void print_lengths(struct kv_output *out, const struct kv_size_report *r)
{
	uint64_t length = kv_size_report_length(r), replicas = r->arguments.data_parallel;
	uint64_t each = is_llama(r) ? 0 : kv_size_request_bytes(&r->question, &r->answer, length);
	uint64_t usable = kv_size_requests_held(&r->question, &r->answer, length, true) * replicas;
	char bytes[KV_QUANTITY_MAX];

	if (is_llama(r) || (!r->arguments.length && !r->arguments.sequences))
		return;
	kv_output_printf(out, "Requests of %" PRIu64 " tokens   %" PRIu64 " %s", length,
	                 kv_size_requests_held(&r->question, &r->answer, length, false) * replicas,
	                 usable > kv_size_report_slots(r) ? "in memory" : "fit at once");
	if (r->question.budget.rule.null_block)
		kv_output_printf(out, " (%" PRIu64 " with the null block set aside)", usable);
	kv_output_printf(out, "; each %" PRIu64 " blocks, %s\n", kv_size_report_blocks(r, length),
	                 kv_format_bytes_short((int64_t)each, bytes));
	print_ends(out, r, "%" PRIu64 " to %" PRIu64,
	           kv_size_requests_held(&r->question, &r->least, length, true) * replicas,
	           kv_size_requests_held(&r->question, &r->most, length, true) * replicas);
	if (usable > kv_size_report_slots(r)) {
		kv_output_text(out, "  but ");
		print_slots(out, r);
		kv_output_text(out, "\n");
	}
	if (r->arguments.sequences)
		print_wanted(out, r, each, usable);
}

static void print_mix(struct kv_output *out, const struct kv_size_report *r, double of_a_replica)
{
	double held = of_a_replica * (double)r->arguments.data_parallel;
	double slots = (double)kv_size_report_slots(r);

	kv_output_printf(out, "%7.1f", fmin(held, slots));
	if (held > slots) {
		kv_output_printf(out, " (memory would hold %.1f; ", held);
		print_slots(out, r);
		kv_output_text(out, ")");
	}
	kv_output_text(out, "\n");
}

static void print_trace(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_size_trace *t = &r->trace;

	if (t->requests == 0)
		return;
	if (t->too_long)
		kv_output_printf(out, "\n%" PRIu64 " of the trace's %" PRIu64 " requests are longer than max_model_len %" PRIu64
		                 ": refused by the engine, and not counted as fitting.", t->too_long,
		                 t->requests, r->question.max_model_len);
	kv_output_printf(out,
	                 "\nOf the trace's %" PRIu64
	                 " requests (mean %.0f tokens) at most this many run at once; allocation, "
	                 "sharing and growth move it:\n",
	                 t->requests, t->mean_tokens);
	kv_output_text(out, t->too_long ? "  at the mix of the others       " : "  at its own mix                 ");
	print_mix(out, r, t->held);
	for (int i = 0; i < 3; i++) {
		kv_output_printf(out, "  if all were of p%.0f, %8.0f tokens ", t->percentile[i], t->tokens[i]);
		if (t->tokens[i] > (double)r->question.max_model_len)
			kv_output_text(out, "   none: longer than max_model_len\n");
		else
			print_mix(out, r, t->held_if_all[i]);
	}
}

static void print_change_list(struct kv_output *out, const struct kv_size_report *r)
{
	const char *what = r->answer.starts       ? "runs them at once" :
	                   r->arguments.sequences ? "starts and runs them at once" :
	                                            "makes it start";
	struct kv_size_remedies remedies;

	kv_size_report_remedies(r, r->arguments.sequences, &remedies);
	if (remedies.tried == 0)
		return;
	if (remedies.count)
		kv_output_printf(out, "Any one of these %s:\n", what);
	else
		kv_output_printf(out, "No single change that was tried %s.\n", what);
	kv_size_print_remedies(out, r, "", 0, &remedies);
	kv_size_print_attempts(out, &remedies);
}

static void print_verdict(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_size_answer *a = &r->answer;

	if (a->starts)
		kv_output_printf(out, "\nIt starts%s.\n",
		                 r->least.starts ? "" : ", but at the far end of the errors known it would not");
	else
		kv_output_printf(out,
		                 "\nIt does not start: one request of %" PRIu64
		                 " tokens lacks %.2f GiB on each rank, or %" PRIu64 " tokens.\n",
		                 r->question.max_model_len, (double)a->shortfall_bytes / GIB, a->shortfall_tokens);
	print_change_list(out, r);
}

void kv_size_print_notes(struct kv_output *out, const struct kv_remarks *notes)
{
	for (size_t i = 0; i < notes->count; i++)
		kv_output_printf(out, "%sNote: %s.\n", i ? "" : "\n", notes->text[i]);
}

void kv_size_report_text(struct kv_output *out, const struct kv_size_report *r)
{
	print_heading(out, r);
	print_budget(out, r);
	print_bytes_per_token(out, r);
	if (is_llama(r)) {
		print_llama(out, r);
	} else {
		if (r->answer.pools.count)
			print_window_pools(out, r);
		else
			print_groups(out, r);
		print_pool(out, r);
	}
	print_capacity(out, r);
	print_lengths(out, r);
	print_trace(out, r);
	print_verdict(out, r);
	kv_size_print_notes(out, &r->deployment.warnings);
}
