#include "config.h"

#include "sim/cli/trace.h"

#include <argp.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "sim/base/memory.h"
#include "sim/base/quantity.h"
#include "sim/cache/cache_replay.h"
#include "sim/cache/radix_replay.h"
#include "sim/cli/command.h"
#include "sim/cli/trace_file.h"
#include "sim/deploy/policy_pairs.h"

struct arguments {
	struct kv_trace_file file;
	uint64_t *blocks;            /* pool sizes, in the order given */
	size_t sizes, size_capacity;
	const char **eviction;       /* as the user wrote them */
	size_t evictions, eviction_capacity;
	enum kv_replay_unit unit;
	bool has_unit;
	uint64_t block_size;         /* 0 = the trace's own */
	const char *prefix;          /* as the user wrote it */
	uint32_t page;               /* of a radix tree; 0 = blocks are found by their hash chain, or anywhere */
	bool anywhere;
};

/* The trace, in the form that is played. */
struct prompts {
	struct kv_block_trace blocks;
	struct kv_prompt_list list;
};

/* One row of the answer. */
struct row {
	const char *eviction;
	uint64_t blocks;
	struct kv_replay_result result;
};

static const char *const units[] = {[KV_REPLAY_BLOCK] = "block", [KV_REPLAY_LEAF] = "leaf"};

enum { OPTION_BLOCKS = 0x200, OPTION_EVICTION, OPTION_UNIT, OPTION_BLOCK_SIZE, OPTION_PREFIX, OPTIONS_END };

static const struct argp_option options[] = {
	{ .name = "blocks",
	  .key = OPTION_BLOCKS,
	  .arg = "N,...",
	  .doc = "Sizes of the pool, in blocks (with --prefix radix in pages, whose default is one token); may be "
	         "repeated" },
	{ .name = "eviction",
	  .key = OPTION_EVICTION,
	  .arg = "NAME[,param=value...]",
	  .doc = "Eviction policy; may be repeated (default: lru)" },
	{ .name = "unit",
	  .key = OPTION_UNIT,
	  .arg = "block|leaf",
	  .doc = "What may go: any block, or leaves of the prefix tree that the current prompt does not use "
	         "(default: block)" },
	{ .name = "block-size",
	  .key = OPTION_BLOCK_SIZE,
	  .arg = "N",
	  .doc = "Tokens of a block (default: the trace's block ids, or 16 where it has none)" },
	{ .name = "prefix",
	  .key = OPTION_PREFIX,
	  .arg = "NAME[,...]",
	  .doc = "How prompts are found: block-hash (default), by whole blocks; radix[,page=N], in a radix tree of pages "
	         "(default: --block-size, or 1 token) that goes by whole leaves; position-independent[,piece=N]: equal "
	         "pieces wherever they stand, an upper bound where the pool holds them all" },
	{ 0 }
};

/* --- arguments ---------------------------------------------------------------------------------------------------- */

static int add_sizes(struct arguments *a, const char *value, struct kv_error *err)
{
	char *copy = kv_strdup(value);
	char *rest = copy;
	int failed = 0;

	for (const char *item = strsep(&rest, ","); item != NULL && !failed; item = strsep(&rest, ",")) {
		a->blocks = kv_grow(a->blocks, &a->size_capacity, a->sizes + 1, sizeof *a->blocks);
		failed = kv_parse_count(item, 0, UINT32_MAX, &a->blocks[a->sizes++], err);
	}
	free(copy);
	return failed;
}

static void add_eviction(struct arguments *a, const char *value)
{
	a->eviction = kv_grow(a->eviction, &a->eviction_capacity, a->evictions + 1, sizeof *a->eviction);
	a->eviction[a->evictions++] = value;
}

static int check_eviction(struct arguments *a, const char *value, struct kv_error *err)
{
	struct kv_policy_use use;

	if (kv_policy_parse(KV_POLICY_EVICTION, value, &use, err))
		return -1;
	kv_policy_use_fini(&use);
	add_eviction(a, value);
	return 0;
}

static int set_unit(struct arguments *a, const char *value, struct kv_error *err)
{
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(units[i], value) == 0) {
			a->unit = (enum kv_replay_unit)i;
			a->has_unit = true;
			return 0;
		}
	return kv_fail(err, KV_EXIT_USAGE, "'%s' is neither block nor leaf", value);
}

/* How prompts are found, and the size of what is found. */
static int read_prefix(struct arguments *a, struct kv_policy_use *prefix, struct kv_error *err)
{
	enum kv_prefix_form form;
	uint32_t size;

	if (kv_policy_parse(KV_POLICY_PREFIX, a->prefix, prefix, err))
		return -1;
	form = prefix->policy->hooks.prefix.form;
	if (form == KV_PREFIX_CHAIN)
		return 0;
	if (form != KV_PREFIX_RADIX && form != KV_PREFIX_ANYWHERE)
		return kv_fail(err, KV_EXIT_USAGE, "--prefix: a replay finds prompts by block-hash, radix or "
		               "position-independent, not by %s", prefix->policy->name);
	size = prefix->policy->hooks.prefix.block_tokens(prefix->state);
	if (size != 0 && a->block_size != 0 && size != a->block_size)
		return kv_fail(err, KV_EXIT_USAGE,
		               "--prefix %s: that is the size of a block, and --block-size is %" PRIu64
		               ": give one of them",
		               a->prefix, a->block_size);
	if (a->has_unit)
		return kv_fail(err, KV_EXIT_USAGE, "--unit does not go with --prefix %s: %s", prefix->policy->name,
		               form == KV_PREFIX_RADIX ? "leaves of its tree go as a whole" :
		                                         "its pieces have no leaves");
	a->anywhere = form == KV_PREFIX_ANYWHERE;
	if (a->anywhere)
		a->block_size = kv_max(size, a->block_size);
	else
		a->page = (uint32_t)kv_max(1, kv_max(size, a->block_size));
	return 0;
}

/* All that depends on several options. */
static int settle(struct arguments *a, struct kv_error *err)
{
	struct kv_policy_use policy[KV_POLICY_KINDS] = {0};
	int failed = read_prefix(a, &policy[KV_POLICY_PREFIX], err);

	for (size_t i = 0; !failed && i < a->evictions; i++) {
		struct kv_policy_use *eviction = &policy[KV_POLICY_EVICTION];

		failed = kv_policy_parse(KV_POLICY_EVICTION, a->eviction[i], eviction, err) ||
		         kv_policies_check_leaves(policy, err);
		kv_policy_use_fini(eviction);
	}
	kv_policy_use_fini(&policy[KV_POLICY_PREFIX]);
	return failed;
}

static int take_option(struct arguments *a, int key, const char *value, struct kv_error *err)
{
	switch (key) {
	case OPTION_BLOCKS: return add_sizes(a, value, err);
	case OPTION_EVICTION: return check_eviction(a, value, err);
	case OPTION_UNIT: return set_unit(a, value, err);
	case OPTION_PREFIX: a->prefix = value; return 0;
	default: return kv_parse_count(value, 1, KV_TOKENS_MAX, &a->block_size, err);
	}
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct arguments *a = state->input;
	struct kv_error err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->file;
		return 0;
	case ARGP_KEY_END:
		if (a->sizes == 0)
			argp_error(state, "--blocks is missing: the pool sizes to try, such as --blocks 1000,5000");
		return 0;
	default:
		if (key < OPTION_BLOCKS || key >= OPTIONS_END)
			return ARGP_ERR_UNKNOWN;
		if (take_option(a, key, value, &err) != 0)
			argp_error(state, "--%s: %s", options[key - OPTION_BLOCKS].name, err.text);
		return 0;
	}
}

/* --- answers ------------------------------------------------------------------------------------------------------ */

static double share(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : (double)part / (double)whole;
}

/* What a pool is counted in. */
static const char *unit_of(const struct arguments *a)
{
	return a->page > 0 ? "Pages" : a->anywhere ? "Pieces" : "Blocks";
}

static void print_rows(struct kv_output *out, const struct arguments *a, const struct row *rows, size_t count)
{
	const char *unit = unit_of(a);
	char evicted[32];

	snprintf(evicted, sizeof evicted, "evicted %c%s", tolower(unit[0]), unit + 1);
	kv_output_printf(out, "\n%-24s%10s  %15s%8s%15s%15s  %15s%8s%15s\n", "", "", "whole trace:", "", "", "",
	                 "second half:", "", "");
	kv_output_printf(out, "%-24s%10s  %15s%8s%15s%15s  %15s%8s%15s\n", "Eviction", unit, "hit tokens", "%",
	                 "evicted tokens", strchr(evicted, ' ') + 1, "hit tokens", "%", evicted);
	for (size_t i = 0; i < count; i++) {
		const struct kv_replay_sums *whole = &rows[i].result.whole;
		const struct kv_replay_sums *half = &rows[i].result.second_half;

		kv_output_printf(out,
		                 "%-24s%10" PRIu64 "  %15" PRIu64 "%8.2f%15" PRIu64 "%15" PRIu64 "  %15" PRIu64
		                 "%8.2f%15" PRIu64 "\n",
		                 rows[i].eviction, rows[i].blocks, whole->hit_tokens,
		                 100 * share(whole->hit_tokens, whole->tokens), whole->evicted_tokens,
		                 whole->evicted_blocks, half->hit_tokens, 100 * share(half->hit_tokens, half->tokens),
		                 half->evicted_blocks);
	}
}

/* As cut, or as the trace's ids have them: the largest, should they differ. */
static uint32_t block_tokens(const struct prompts *prompts)
{
	uint32_t tokens = 0;

	for (size_t i = 0; i < prompts->blocks.prompts; i++)
		tokens = (uint32_t)kv_max(tokens, prompts->blocks.prompt[i].block_tokens);
	return tokens;
}

static void print_form(struct kv_output *out, const struct arguments *a, uint64_t blocks, const struct prompts *prompts)
{
	uint32_t different = prompts->blocks.nodes;

	if (a->page > 0) {
		kv_trace_file_print_text(out, unit_of(a), "%" PRIu64 " of %" PRIu32 " token%s", blocks, a->page,
		                         a->page == 1 ? "" : "s");
		kv_trace_file_print_text(out, "Unit of eviction", "leaf of a radix tree, as a whole");
		return;
	}
	kv_trace_file_print_text(out, unit_of(a), "%" PRIu64 " of %s%" PRIu32 " tokens, %" PRIu32 " different", blocks,
	                         a->anywhere ? "at most " : "", block_tokens(prompts), different);
	if (a->anywhere) {
		kv_trace_file_print_text(out, "Equal pieces",
		                         "count as hit wherever they stand, which no engine reaches");
		kv_trace_file_print_text(out, "Upper bound",
		                         "in pools of %" PRIu32 " pieces or more, which hold all; in smaller ones "
		                         "what this eviction keeps, and no bound",
		                         different);
		return;
	}
	kv_trace_file_print_text(out, "Unit of eviction", "%s", units[a->unit]);
}

static json_t *form_json(const struct arguments *a, const struct prompts *prompts)
{
	json_int_t different = prompts->blocks.nodes, tokens = block_tokens(prompts);

	if (a->page > 0)
		return json_pack("{ss sI}", "prefix", "radix", "page", (json_int_t)a->page);
	if (a->anywhere)
		return json_pack("{ss sI sI}", "prefix", "position-independent", "block_size", tokens, "unique_blocks",
		                 different);
	return json_pack("{ss sI sI}", "unit", units[a->unit], "block_size", tokens, "unique_blocks", different);
}

static void print_text(struct kv_output *out, const struct arguments *a, struct kv_trace *file,
                       const struct prompts *prompts, const struct row *rows, size_t count)
{
	const struct kv_replay_sums *whole = &rows[0].result.whole;

	kv_trace_file_print_text(out, "File", "%s", a->file.path);
	kv_trace_file_print_text(out, "Format", "%s (%s)", kv_trace_format(file)->name, kv_trace_format(file)->summary);
	kv_trace_file_print_count(out, "Prompts", whole->prompts);
	kv_trace_file_print_text(out, "Prompt tokens", "%" PRIu64 " (%" PRIu64 " in the second half)", whole->tokens,
	                         rows[0].result.second_half.tokens);
	print_form(out, a, whole->blocks, prompts);
	if (!kv_trace_has_prefix_identity(file))
		kv_output_text(out, "The trace does not say what prompts share: nothing can be hit.\n");
	print_rows(out, a, rows, count);
}

static json_t *sums_json(const struct kv_replay_sums *sums)
{
	return json_pack("{sI sI sI sI sI sf sI sI sI}", "prompts", (json_int_t)sums->prompts, "queried_blocks",
	                 (json_int_t)sums->blocks, "queried_tokens", (json_int_t)sums->tokens, "hit_blocks",
	                 (json_int_t)sums->hit_blocks, "hit_tokens", (json_int_t)sums->hit_tokens, "hit_ratio",
	                 share(sums->hit_tokens, sums->tokens), "evicted_blocks", (json_int_t)sums->evicted_blocks,
	                 "evicted_tokens", (json_int_t)sums->evicted_tokens, "expired_blocks",
	                 (json_int_t)sums->expired_blocks);
}

static json_t *row_json(const struct arguments *a, const struct row *row, uint32_t different)
{
	json_t *run = json_pack("{ss sI sI so so}", "eviction", row->eviction, "blocks", (json_int_t)row->blocks,
	                        "resident_blocks", (json_int_t)row->result.resident_blocks, "whole",
	                        sums_json(&row->result.whole), "second_half", sums_json(&row->result.second_half));

	if (a->anywhere)
		json_object_set_new(run, "upper_bound", json_boolean(row->blocks >= different));
	return run;
}

static void print_json(struct kv_output *out, const struct arguments *a, struct kv_trace *file,
                       const struct prompts *prompts, const struct row *rows, size_t count)
{
	json_t *runs = json_array(), *answer, *form;

	for (size_t i = 0; i < count; i++)
		json_array_append_new(runs, row_json(a, &rows[i], prompts->blocks.nodes));
	answer = json_pack("{ss ss}", "file", a->file.path, "format", kv_trace_format(file)->name);
	form = form_json(a, prompts);
	json_object_update(answer, form);
	json_decref(form);
	json_object_set_new(answer, "prefix_identity", json_boolean(kv_trace_has_prefix_identity(file)));
	json_object_set_new(answer, "runs", runs);
	kv_trace_file_print_json(out, answer);
}

static void play(const struct arguments *a, const struct prompts *prompts, struct row *rows)
{
	for (size_t e = 0; e < a->evictions; e++)
		for (size_t s = 0; s < a->sizes; s++) {
			struct row *row = &rows[e * a->sizes + s];
			struct kv_policy_use use;
			struct kv_error err;
			int failed = kv_policy_parse(KV_POLICY_EVICTION, a->eviction[e], &use, &err);

			KV_ASSERT(!failed, "eviction %s could be read once", a->eviction[e]);
			*row = (struct row){.eviction = a->eviction[e], .blocks = a->blocks[s]};
			if (a->page > 0)
				kv_radix_replay(&prompts->list, &use, a->page, a->blocks[s], &row->result);
			else
				kv_cache_replay(&prompts->blocks, &use, a->unit, a->blocks[s], &row->result);
			kv_policy_use_fini(&use);
		}
}

static int report(const struct arguments *a, struct kv_trace *file, const struct prompts *prompts,
                  struct kv_error *err)
{
	struct kv_output *out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	size_t count = a->evictions * a->sizes;
	struct row *rows = kv_calloc(count, sizeof *rows);
	int failed;

	play(a, prompts, rows);
	(a->file.json ? print_json : print_text)(out, a, file, prompts, rows, count);
	failed = kv_output_close(out, err);
	kv_output_free(out);
	free(rows);
	return failed;
}

static int read_prompts(const struct arguments *a, struct prompts *prompts, struct kv_trace *file, struct kv_error *err)
{
	struct kv_request request;
	int status;

	while ((status = kv_trace_file_next(file, &request, err)) == 1)
		if (a->page > 0)
			kv_prompt_list_add(&prompts->list, &request);
		else if (kv_block_trace_add(&prompts->blocks, &request, err))
			return -1;
	return status;
}

static int run(struct arguments *a, struct kv_error *err)
{
	struct prompts prompts = {0};
	struct kv_trace *file;
	int failed;

	if (settle(a, err))
		return -1;
	prompts.blocks.block_size = (uint32_t)a->block_size;
	prompts.blocks.anywhere = a->anywhere;
	file = kv_trace_open(a->file.path, &a->file.options, err);
	failed = file == NULL ? -1 : read_prompts(a, &prompts, file, err);
	if (!failed)
		failed = report(a, file, &prompts, err);
	kv_block_trace_fini(&prompts.blocks);
	kv_prompt_list_fini(&prompts.list);
	kv_trace_close(file);
	return failed;
}

int kv_cli_trace_cache(int argc, char **argv)
{
	struct argp_child children[] = {{.argp = &kv_trace_file_argp}, {0}};
	const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "FILE",
		.children = children,
		.doc = "Plays the prompts of a trace one after the other through a pool of blocks, without time, and "
		       "counts what was hit and evicted: a curve over pool sizes and eviction policies from one "
		       "reading of the trace.\n\n"
		       "  kvsim trace cache trace.jsonl --blocks 1000,5000,20000 --eviction lru --eviction belady\v"
		       "What requests generate is not stored, unless a later prompt contains it. belady is the "
		       "offline bound."
	};
	struct arguments a = {.unit = KV_REPLAY_BLOCK, .prefix = "block-hash"};
	struct kv_error err;
	int failed;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	if (a.evictions == 0)
		add_eviction(&a, "lru");
	failed = run(&a, &err);
	free(a.blocks);
	free(a.eviction);
	return failed ? kv_cli_fail(&err) : KV_EXIT_OK;
}
