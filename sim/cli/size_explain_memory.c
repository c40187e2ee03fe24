#include "config.h"

#include "sim/cli/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/quantity.h"
#include "sim/base/units.h"

enum { TERM = 160 };

/* kv_group_request_blocks as arithmetic. */
static void write_group_term(char term[TERM], const struct kv_layout *l, const struct kv_group *g, uint64_t tokens,
                             uint64_t in_flight)
{
	switch (g->kind) {
	case KV_GROUP_SLIDING_WINDOW:
		snprintf(term, TERM, "ceil(min(%u - 1 + %" PRIu64 " in flight, %" PRIu64 ") / %u) + 1", g->window,
		         in_flight, tokens, g->block_size);
		return;
	case KV_GROUP_CHUNKED_LOCAL:
		snprintf(term, TERM, "ceil(min(%u + %" PRIu64 " in flight, %" PRIu64 ") / %u)", g->window,
		         in_flight, tokens, g->block_size);
		return;
	case KV_GROUP_STATE:
		if (l->state_caching != KV_STATE_ALL) {
			snprintf(term, TERM, "%d + %u drafts", l->state_caching == KV_STATE_ALIGN ? 2 : 1,
			         l->speculative_tokens);
			return;
		}
		break;
	default:
		break;
	}
	snprintf(term, TERM, "ceil(%" PRIu64 " / %u)", tokens, g->block_size);
}

static bool same_group(const struct kv_group *a, const struct kv_group *b)
{
	return a->kind == b->kind && a->window == b->window && a->block_size == b->block_size;
}

void kv_size_explain_blocks(struct kv_output *out, const struct kv_size_report *r, uint64_t sequences)
{
	const struct kv_layout *l = &r->answer.budget.layout;
	uint64_t tokens = kv_size_report_length(r), in_flight = kv_size_in_flight(&r->question);
	uint64_t blocks = kv_layout_request_blocks(l, tokens, in_flight);
	char term[TERM], bytes[KV_QUANTITY_MAX];
	uint32_t alike;

	if (r->answer.pools.count || r->question.budget.rule.engine == KV_SIZING_LLAMA_CPP)
		return;
	kv_output_text(out, "In blocks, most that a request holds\n");
	for (uint32_t i = 0; i < l->groups; i += alike) {
		const struct kv_group *g = &l->group[i];

		for (alike = 1; i + alike < l->groups && same_group(g, &l->group[i + alike]);)
			alike++;
		write_group_term(term, l, g, tokens, in_flight);
		kv_output_printf(out, "  %s%-16s %u x (%s) = %" PRIu64 " blocks\n", i ? "+ " : "  ",
		                 kv_group_kind_name(g->kind), alike, term, alike * kv_group_request_blocks(l, g, tokens, in_flight));
	}
	kv_output_printf(out,
	                 "    = %" PRIu64 " blocks x %" PRIu64 " bytes x %" PRIu64 " sequences = %" PRIu64
	                 " bytes (%s) on a rank\n",
	                 blocks, l->page_bytes, sequences, blocks * l->page_bytes * sequences,
	                 kv_format_bytes_short((int64_t)(blocks * l->page_bytes * sequences), bytes));
}

static void print_line(struct kv_output *out, const struct kv_size_report *r, const struct kv_budget_line *line)
{
	const struct kv_budget_question *q = &r->question.budget;
	bool share = q->rule.engine == KV_SIZING_VLLM && strcmp(line->item, "beyond gpu_memory_utilization") == 0;

	kv_output_printf(out, "  %c %16" PRId64 "  %s", line->bytes < 0 ? '-' : '+',
	                 line->bytes < 0 ? -line->bytes : line->bytes, line->item);
	if (share)
		kv_output_printf(out, ": %" PRIu64 " - %g x %" PRIu64 " rounded up", q->device_bytes, q->utilization,
		                 q->device_bytes);
	kv_output_text(out, "\n");
}

void kv_size_explain_budget(struct kv_output *out, const struct kv_size_report *r)
{
	const struct kv_budget *b = &r->answer.budget;
	bool up = r->question.budget.rule.engine == KV_SIZING_TENSORRT_LLM;
	char bytes[KV_QUANTITY_MAX];

	kv_output_text(out, "The memory budget of a rank, in bytes\n");
	for (uint32_t i = 0; i < b->lines; i++)
		print_line(out, r, &b->line[i]);
	kv_output_printf(out, "  = %16" PRId64 "  for the KV cache (%s)\n", b->kv_bytes,
	                 kv_format_bytes_short(b->kv_bytes, bytes));
	if (b->kv_bytes <= 0 || r->answer.pools.count || r->question.budget.num_blocks_override ||
	    r->question.budget.rule.engine == KV_SIZING_LLAMA_CPP)
		return;
	kv_output_printf(out, "  / %" PRIu64 " bytes a block, rounded %s, = %" PRIu64 " blocks", b->layout.page_bytes,
	                 up ? "up" : "down", b->num_blocks);
	if (b->usable_blocks < b->num_blocks)
		kv_output_printf(out, ", %" PRIu64 " without the null block", b->usable_blocks);
	kv_output_printf(out, "\n  / %" PRIu64 " blocks a request of max_model_len = %.2f at once\n",
	                 r->answer.blocks_per_request, r->answer.max_concurrency);
}
