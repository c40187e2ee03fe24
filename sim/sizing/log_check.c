#include "config.h"

#include "sim/sizing/log_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/sizing/log_checker.h"

#define GIB 0x1p30
#define MARGIN_GIB (150.0 / 1024)   /* what vLLM's suggestions keep back */
#define SWAP_GIB 4.0                /* vLLM's default until V1 */
#define CELL_PADDING 256            /* of llama.cpp */
#define WINDOW_PAGE 256             /* SGLang's largest usual page */
#define RANKS_APART 1.1             /* pools of ranks that start together */
#define HYBRID_MOST 12              /* the two meanings of "KV cache size" are up to ten times apart */

struct kv_span kv_span_of(const struct kv_log_value *value)
{
	return (struct kv_span){value->number - value->half, value->number + value->half};
}

struct kv_span kv_span_exactly(double number)
{
	return (struct kv_span){number, number};
}

struct kv_span kv_span_minus(struct kv_span a, struct kv_span b)
{
	return (struct kv_span){a.low - b.high, a.high - b.low};
}

struct kv_span kv_span_plus(struct kv_span a, struct kv_span b)
{
	return (struct kv_span){a.low + b.low, a.high + b.high};
}

struct kv_span kv_span_times(struct kv_span a, struct kv_span b)
{
	return (struct kv_span){a.low * b.low, a.high * b.high};
}

bool kv_span_meets(struct kv_span a, struct kv_span b)
{
	double slack = 1e-9 * (fabs(a.high) + fabs(b.high));

	return a.low <= b.high + slack && b.low <= a.high + slack;
}

static void write_number(char *out, size_t size, double number)
{
	snprintf(out, size, fabs(number) >= 1e6 || number == floor(number) ? "%.0f" : "%.4g", number);
}

void kv_checker_add(struct kv_checker *c, enum kv_fact fact, const struct kv_log_value *printed, double computed,
                    enum kv_check_verdict verdict, const char *format, ...)
{
	struct kv_check *check;
	va_list args;

	c->list->check = kv_realloc(c->list->check, c->list->count + 1, sizeof *check);
	check = &c->list->check[c->list->count++];
	*check = (struct kv_check){.what = kv_fact_name(fact), .line = printed->line, .verdict = verdict};
	write_number(check->printed, sizeof check->printed, printed->number);
	write_number(check->computed, sizeof check->computed, computed);
	va_start(args, format);
	vsnprintf(check->rule, sizeof check->rule, format, args);
	va_end(args);
	c->list->verdicts[verdict]++;
}

void kv_checker_compare(struct kv_checker *c, enum kv_fact fact, const struct kv_log_value *printed,
                        struct kv_span computed, const char *rule)
{
	bool agrees = kv_span_meets(kv_span_of(printed), computed);
	double nearest = fmin(fmax(printed->number, computed.low), computed.high);

	kv_checker_add(c, fact, printed, nearest, agrees ? KV_CHECK_AGREES : KV_CHECK_DIFFERS, "%s", rule);
}

/* The last value of the rank that is looked at, or of any if that one does not tell. */
static const struct kv_log_value *value_of(const struct kv_checker *c, enum kv_fact fact)
{
	for (size_t i = c->log->count[fact]; i > 0; i--)
		if (strcmp(c->log->value[fact][i - 1].rank, c->rank) == 0)
			return &c->log->value[fact][i - 1];
	return kv_log_get(c->log, fact);
}

static bool have(const struct kv_checker *c, enum kv_fact fact, struct kv_span *span)
{
	const struct kv_log_value *value = value_of(c, fact);

	if (value)
		*span = kv_span_of(value);
	return value != NULL;
}

/* --- the log against itself --------------------------------------------------------------------------------------- */

/* The same rank's value before the i-th, where it is another; NULL if none is. What an engine refuses with may be less
 * than what it had before graphs. */
static const struct kv_log_value *contradicted(const struct kv_log *log, enum kv_fact fact, size_t i)
{
	const struct kv_log_value *value = log->value[fact];

	for (size_t j = i; j > 0 && !kv_log_on_line(log, KV_FACT_NEEDED, value[i].line); j--)
		if (strcmp(value[j - 1].rank, value[i].rank) == 0)
			return kv_span_meets(kv_span_of(&value[j - 1]), kv_span_of(&value[i])) ? NULL : &value[j - 1];
	return NULL;
}

static size_t contradictions(const struct kv_log *log, enum kv_fact fact)
{
	size_t count = 0;

	for (size_t i = 1; i < log->count[fact]; i++)
		count += contradicted(log, fact, i) != NULL;
	return count;
}

static bool is_one_rank(const struct kv_checker *c)
{
	const struct kv_log_value *tp = kv_log_get(c->log, KV_FACT_TENSOR_PARALLEL);
	const struct kv_log_value *pp = kv_log_get(c->log, KV_FACT_PIPELINE_PARALLEL);
	double ranks = c->given->tensor_parallel ? c->given->tensor_parallel : tp ? tp->number : 0;

	return ranks == 1 && (!pp || pp->number <= 1);
}

/* Lines that do not name their rank and lie close together are those of several: vLLM until 0.10 has one a rank. */
static bool looks_like_ranks(const struct kv_checker *c, enum kv_fact fact)
{
	const struct kv_log_value *least = kv_log_smallest(c->log, fact), *most = kv_log_largest(c->log, fact);

	return !*least->rank && !*most->rank && most->number <= RANKS_APART * least->number && !is_one_rank(c);
}

/* One rank cannot print two values of these. SGLang has pools of several sizes, TensorRT-LLM profiles with a first
 * one. */
static void check_contradictions(struct kv_checker *c)
{
	static const enum kv_fact once[] = {KV_FACT_KV, KV_FACT_TOKENS, KV_FACT_BLOCKS, KV_FACT_CPU_BLOCKS,
	                                    KV_FACT_BLOCK_SIZE};

	if (c->log->engine != KV_LOG_VLLM)
		return;
	for (size_t f = 0; f < sizeof once / sizeof *once; f++) {
		const struct kv_log_value *least = kv_log_smallest(c->log, once[f]), *most = kv_log_largest(c->log, once[f]);
		const struct kv_log_value *other;

		if (!contradictions(c->log, once[f]))
			continue;
		if (looks_like_ranks(c, once[f])) {
			kv_checker_add(c, once[f], most, least->number, KV_CHECK_EXPLAINED,
			               "every rank has its own line (%zu of them), and the smallest counts: that of line %u",
			               c->log->count[once[f]], least->line);
			continue;
		}
		for (size_t i = 1; i < c->log->count[once[f]]; i++)
			if ((other = contradicted(c->log, once[f], i)) != NULL)
				kv_checker_add(c, once[f], &c->log->value[once[f]][i], other->number, KV_CHECK_DIFFERS,
				               "the log contradicts itself: line %u says otherwise (two start-ups in one file?)",
				               other->line);
	}
}

static void check_requested(struct kv_checker *c)
{
	const struct kv_log_value *printed = value_of(c, KV_FACT_REQUESTED);
	struct kv_span total, utilization;

	if (printed && have(c, KV_FACT_TOTAL, &total) && have(c, KV_FACT_UTILIZATION, &utilization))
		kv_checker_compare(c, KV_FACT_REQUESTED, printed, kv_span_times(total, utilization),
		                   "device memory x utilisation");
}

/* Requested memory, printed or computed; without either, none. */
static bool requested(const struct kv_checker *c, struct kv_span *out)
{
	struct kv_span total, utilization;

	if (have(c, KV_FACT_REQUESTED, out))
		return true;
	if (!have(c, KV_FACT_TOTAL, &total) || !have(c, KV_FACT_UTILIZATION, &utilization))
		return false;
	*out = kv_span_times(total, utilization);
	return true;
}

/* What is neither KV nor graphs, from whichever lines tell. */
static bool not_kv(const struct kv_checker *c, struct kv_span *out)
{
	struct kv_span a, b, w;

	if (have(c, KV_FACT_NON_KV, out))
		return true;
	if (have(c, KV_FACT_CONSUMED, &a) && have(c, KV_FACT_ACTIVATION, &b)) {
		*out = kv_span_plus(a, b);
		return true;
	}
	if (have(c, KV_FACT_TORCH_PEAK, &a) && have(c, KV_FACT_NON_TORCH, &b)) {
		*out = kv_span_plus(a, b);
		return true;
	}
	if (!have(c, KV_FACT_WEIGHTS, &w) || !have(c, KV_FACT_ACTIVATION, &a) || !have(c, KV_FACT_NON_TORCH, &b))
		return false;
	*out = kv_span_plus(w, kv_span_plus(a, b));
	return true;
}

static bool graphs(const struct kv_checker *c, struct kv_span *out)
{
	return have(c, KV_FACT_GRAPHS_ESTIMATED, out) || have(c, KV_FACT_GRAPHS, out);
}

static double middle(struct kv_span span)
{
	return (span.low + span.high) / 2;
}

/* vLLM: requested - weights - non-torch - activation peak, and since 0.21 the graph estimate. */
static void check_kv_memory(struct kv_checker *c)
{
	const struct kv_log_value *printed = value_of(c, KV_FACT_KV);
	struct kv_span base, rest, graph = kv_span_exactly(0), without, with;
	bool subtracted = c->log->graphs_subtracted;

	if (!printed || !requested(c, &base) || !not_kv(c, &rest))
		return;
	without = kv_span_minus(base, rest);
	with = graphs(c, &graph) ? kv_span_minus(without, graph) : without;
	if (kv_span_meets(kv_span_of(printed), subtracted ? with : without))
		kv_checker_add(c, KV_FACT_KV, printed, middle(subtracted ? with : without), KV_CHECK_AGREES,
		               "requested - weights - non-torch - activation peak%s", subtracted ? " - graph estimate" : "");
	else if (kv_span_meets(kv_span_of(printed), subtracted ? without : with))
		kv_checker_add(c, KV_FACT_KV, printed, middle(subtracted ? without : with), KV_CHECK_EXPLAINED,
		               "graph memory is %s here", subtracted ? "not subtracted" : "subtracted as well");
	else
		kv_checker_add(c, KV_FACT_KV, printed, middle(subtracted ? with : without), KV_CHECK_DIFFERS,
		               "requested - weights - non-torch - activation peak%s", subtracted ? " - graph estimate" : "");
}

static void check_suggestion(struct kv_checker *c, enum kv_fact fact, bool all)
{
	const struct kv_log_value *printed = value_of(c, fact);
	struct kv_span base, rest, graph = kv_span_exactly(0), computed;
	struct kv_log_value gib;

	if (!printed || !not_kv(c, &rest) || !(all ? have(c, KV_FACT_FREE, &base) : requested(c, &base)))
		return;
	if (!have(c, KV_FACT_GRAPHS, &graph))
		graphs(c, &graph);
	computed = kv_span_minus(kv_span_minus(kv_span_minus(base, rest), graph), kv_span_exactly(MARGIN_GIB));
	gib = *printed;
	gib.number /= GIB;
	kv_checker_compare(c, fact, &gib, computed, all ? "free - weights - peaks - graphs - 150 MiB, in GiB"
	                                                : "requested - weights - peaks - graphs - 150 MiB, in GiB");
}

/* Since 0.21 the estimate of graph memory lowers the effective utilisation by its share of the device. */
static void check_equivalent(struct kv_checker *c)
{
	const struct kv_log_value *equivalent = value_of(c, KV_FACT_EQUIVALENT);
	const struct kv_log_value *keep = value_of(c, KV_FACT_TO_KEEP);
	struct kv_span utilization, graph, total, share;

	if (!have(c, KV_FACT_UTILIZATION, &utilization) || !have(c, KV_FACT_GRAPHS_ESTIMATED, &graph))
		return;
	if (have(c, KV_FACT_TOTAL, &total)) {
		share = (struct kv_span){graph.low / total.high, graph.high / total.low};
		if (equivalent)
			kv_checker_compare(c, KV_FACT_EQUIVALENT, equivalent, kv_span_minus(utilization, share),
			                   "utilisation - graph estimate / device memory");
	} else if (equivalent) {
		share = kv_span_minus(utilization, kv_span_of(equivalent));
	} else {
		return;
	}
	if (keep)
		kv_checker_compare(c, KV_FACT_TO_KEEP, keep, kv_span_plus(utilization, share),
		                   "utilisation + the share that graphs take");
}

/* Swap that so many blocks of a page are: 4 GiB unless told otherwise, and told in whole or half GiB; 0 if it is
 * neither. */
static double swap_of(double blocks, struct kv_span page)
{
	double least = blocks * page.low / GIB, most = (blocks + 1) * page.high / GIB;

	if (least <= SWAP_GIB && SWAP_GIB < most)
		return SWAP_GIB;
	return ceil(2 * least) / 2 < most ? ceil(2 * least) / 2 : 0;
}

void kv_checker_swap(struct kv_checker *c, struct kv_span page)
{
	const struct kv_log_value *cpu = kv_log_get(c->log, KV_FACT_CPU_BLOCKS);
	double swap;

	if (!cpu || cpu->number < 1)
		return;
	swap = swap_of(cpu->number, page);
	if (swap > 0)
		kv_checker_add(c, KV_FACT_CPU_BLOCKS, cpu,
		               fmin(fmax(cpu->number, floor(swap * GIB / page.high)), floor(swap * GIB / page.low)),
		               swap == SWAP_GIB ? KV_CHECK_AGREES : KV_CHECK_EXPLAINED,
		               "%.10g GiB of swap / bytes of a GPU block", swap);
	else
		kv_checker_add(c, KV_FACT_CPU_BLOCKS, cpu, floor(SWAP_GIB * GIB / page.high), KV_CHECK_DIFFERS,
		               "4 GiB of swap / bytes of a GPU block");
}

/* Without a model the page is KV memory / blocks, of the rank with the fewest blocks: whose memory may not be
 * printed. */
static void check_cpu_blocks(struct kv_checker *c)
{
	const struct kv_log_value *blocks = kv_log_get(c->log, KV_FACT_BLOCKS);
	const struct kv_log_value *cpu = kv_log_get(c->log, KV_FACT_CPU_BLOCKS);
	struct kv_span kv, page;
	double implied;

	if (c->given->model || !blocks || blocks->number < 1 || !have(c, KV_FACT_KV, &kv) || kv.low <= 0)
		return;
	page = (struct kv_span){kv.low / (blocks->number + 1) * GIB, kv.high / blocks->number * GIB};
	implied = cpu && cpu->number >= 1 ? SWAP_GIB / cpu->number * blocks->number : 0;
	if (implied > 0 && implied < kv.low && swap_of(cpu->number, page) <= 0 && *c->rank)
		kv_checker_add(c, KV_FACT_CPU_BLOCKS, cpu, floor(SWAP_GIB * GIB / page.high), KV_CHECK_EXPLAINED,
		               "4 GiB of swap / bytes of a GPU block, if the rank with the fewest blocks has %.2f GiB for KV: "
		               "its line is missing",
		               implied);
	else
		kv_checker_swap(c, page);
}

static double logged_or(const struct kv_checker *c, enum kv_fact fact, double given, double fallback)
{
	const struct kv_log_value *value = kv_log_get(c->log, fact);

	return given > 0 ? given : value ? value->number : fallback;
}

/* Of the pool: of several the smallest; but TensorRT-LLM has a first one to profile with, and the last is the pool. */
static const struct kv_log_value *pool_value(const struct kv_checker *c, enum kv_fact fact)
{
	return (c->log->engine == KV_LOG_TENSORRT_LLM ? kv_log_get : kv_log_smallest)(c->log, fact);
}

/* TensorRT-LLM: windows of several lengths have blocks of their own, in lines that follow each other. */
static bool has_blocks_by_window(const struct kv_log *log)
{
	size_t n = log->count[KV_FACT_BLOCKS];

	return log->engine == KV_LOG_TENSORRT_LLM && n > 1
	       && log->value[KV_FACT_BLOCKS][n - 2].line + 1 == log->value[KV_FACT_BLOCKS][n - 1].line
	       && strcmp(log->value[KV_FACT_BLOCKS][n - 2].rank, log->value[KV_FACT_BLOCKS][n - 1].rank) == 0;
}

/* Tokens are whole blocks of them; with a model, vLLM's are read together with its groups. */
static void check_tokens_and_blocks(struct kv_checker *c)
{
	const struct kv_log_value *tokens = pool_value(c, KV_FACT_TOKENS), *blocks = pool_value(c, KV_FACT_BLOCKS);
	double size = logged_or(c, KV_FACT_BLOCK_SIZE, c->given->block_size, c->log->engine == KV_LOG_VLLM ? 16 : 0);

	if (!tokens || !blocks || size <= 0 || blocks->number < 1 || has_blocks_by_window(c->log))
		return;
	if (tokens->number == blocks->number * size)
		kv_checker_add(c, KV_FACT_TOKENS, tokens, blocks->number * size, KV_CHECK_AGREES, "blocks x %.0f", size);
	else if (tokens->number == (blocks->number - 1) * size)
		kv_checker_add(c, KV_FACT_TOKENS, tokens, (blocks->number - 1) * size, KV_CHECK_EXPLAINED,
		               "usable blocks x %.0f: one block is kept as null block", size);
	else if (fmod(tokens->number, blocks->number) == 0)
		kv_checker_add(c, KV_FACT_TOKENS, tokens, blocks->number * size, KV_CHECK_EXPLAINED,
		               "blocks of %.0f tokens, not %.0f", tokens->number / blocks->number, size);
	else
		kv_checker_add(c, KV_FACT_TOKENS, tokens, blocks->number * size, KV_CHECK_DIFFERS,
		               "blocks x %.0f%s", size,
		               c->given->model ? "" : "; a hybrid model counts otherwise: name it with --model");
}

const struct kv_log_value *kv_checker_concurrency(const struct kv_checker *c)
{
	const struct kv_log_value *tokens = kv_log_smallest(c->log, KV_FACT_TOKENS);
	const struct kv_log_value *next = tokens ? kv_log_after(c->log, KV_FACT_CONCURRENCY, tokens) : NULL;

	return next ? next : kv_log_get(c->log, KV_FACT_CONCURRENCY);
}

static void check_concurrency(struct kv_checker *c)
{
	const struct kv_log_value *printed = kv_checker_concurrency(c);
	const struct kv_log_value *tokens = kv_log_smallest(c->log, KV_FACT_TOKENS);
	const struct kv_log_value *blocks = kv_log_smallest(c->log, KV_FACT_BLOCKS);
	const struct kv_log_value *beside = printed ? kv_log_on_line(c->log, KV_FACT_MAX_LEN, printed->line) : NULL;
	double length = beside ? beside->number : logged_or(c, KV_FACT_MAX_LEN, (double)c->given->max_model_len, 0);
	double size = logged_or(c, KV_FACT_BLOCK_SIZE, c->given->block_size, 16), count;

	if (!printed || length <= 0 || (!tokens && !blocks))
		return;
	count = tokens ? tokens->number : blocks->number * size;
	if (kv_span_meets(kv_span_of(printed), (struct kv_span){count / length, (count + 1) / length}))
		kv_checker_add(c, KV_FACT_CONCURRENCY, printed, count / length, KV_CHECK_AGREES, "tokens / maximum length");
	else if (printed->number > count / length && printed->number < HYBRID_MOST * count / length)
		kv_checker_add(c, KV_FACT_CONCURRENCY, printed, count / length, KV_CHECK_EXPLAINED,
		               "tokens / maximum length would be less: a hybrid model before 0.21, whose token line counts "
		               "blocks // groups; name it with --model");
	else
		kv_checker_add(c, KV_FACT_CONCURRENCY, printed, count / length, KV_CHECK_DIFFERS, "tokens / maximum length");
}

/* Bytes that requests of hybrid models take whatever their length: with them, (kv - them) / (needed - them) is the
 * share of the length that fits. */
static double fixed_share(double kv, double needed, double share)
{
	return share < 1 ? (kv - share * needed) / (1 - share) : -1;
}

/* The longest request, against KV memory and what one of `length` needs. */
static void check_longest(struct kv_checker *c, const struct kv_log_value *longest, const struct kv_log_value *needed,
                          double length)
{
	double size = logged_or(c, KV_FACT_BLOCK_SIZE, c->given->block_size, 16), fixed;
	struct kv_span kv, per = kv_span_of(needed), computed;

	if (!have(c, KV_FACT_KV, &kv))
		return;
	computed = (struct kv_span){floor(kv.low / per.high * length) - size, kv.high / per.low * length};
	fixed = fixed_share(middle(kv), needed->number, longest->number / length);
	if (longest->number < computed.low && fixed > 0 && fixed < middle(kv))
		kv_checker_add(c, KV_FACT_STORABLE, longest, computed.low, KV_CHECK_EXPLAINED,
		               "less than in proportion: about %.2g GiB of a request do not grow with it, as in hybrid models; "
		               "name it with --model",
		               fixed);
	else
		kv_checker_compare(c, KV_FACT_STORABLE, longest, computed,
		                   "KV cache memory / memory of one request x its length, in whole blocks");
}

/* Older versions, and pastes that break off, do not go on to say what would fit. */
static void check_needed(struct kv_checker *c, const struct kv_log_value *needed)
{
	const struct kv_log_value *kv = kv_log_on_line(c->log, KV_FACT_KV, needed->line);

	if (!kv)
		return;
	if (kv_span_of(needed).high > kv_span_of(kv).low)
		kv_checker_add(c, KV_FACT_NEEDED, needed, needed->number, KV_CHECK_AGREES,
		               "more than the %.10g GiB there are: the engine refuses to start", kv->number);
	else
		kv_checker_add(c, KV_FACT_NEEDED, needed, kv->number, KV_CHECK_DIFFERS,
		               "not more than the %.10g GiB there are: no reason to refuse", kv->number);
}

/* What one request needs and the longest that fits, against KV memory. */
static void check_refusal(struct kv_checker *c)
{
	const struct kv_log_value *needed = kv_log_get(c->log, KV_FACT_NEEDED);
	const struct kv_log_value *longest = kv_log_get(c->log, KV_FACT_STORABLE);
	const struct kv_log_value *blocks = kv_log_smallest(c->log, KV_FACT_BLOCKS);
	double length = logged_or(c, KV_FACT_MAX_LEN, (double)c->given->max_model_len, 0);
	double size = logged_or(c, KV_FACT_BLOCK_SIZE, c->given->block_size, 16);

	if (longest && blocks)
		kv_checker_compare(c, KV_FACT_STORABLE, longest, kv_span_exactly(blocks->number * size), "blocks x block size");
	else if (longest && needed && length > 0)
		check_longest(c, longest, needed, length);
	else if (longest && fmod(longest->number, size) == 0)
		kv_checker_add(c, KV_FACT_STORABLE, longest, longest->number, KV_CHECK_AGREES,
		               "whole blocks of %.0f (N = %.0f)", size, longest->number / size);
	else if (needed && !longest)
		check_needed(c, needed);
}

/* Without a model: what the memory of so many tokens comes to. */
static void note_token_bytes(struct kv_checker *c, const struct kv_log_value *memory, const struct kv_log_value *tokens)
{
	struct kv_span gib;

	if (!memory || !tokens || memory->number <= 0 || tokens->number < 1)
		return;
	gib = kv_span_of(memory);
	kv_remark(&c->list->notes, "%.10g GiB for %.0f tokens are %.0f to %.0f bytes a token", memory->number,
	          tokens->number, gib.low * GIB / tokens->number, gib.high * GIB / tokens->number);
}

/* --- other engines ------------------------------------------------------------------------------------------------ */

/* Windowed layers have a pool of their own, by default of 0.8 times as many tokens. */
static void check_window_pool(struct kv_checker *c)
{
	const struct kv_log_value *full = kv_log_get(c->log, KV_FACT_FULL_TOKENS);
	const struct kv_log_value *window = kv_log_get(c->log, KV_FACT_WINDOW_TOKENS);
	double computed;

	if (!full || !window)
		return;
	computed = floor(0.8 * full->number);
	if (fabs(window->number - computed) <= WINDOW_PAGE)
		kv_checker_add(c, KV_FACT_WINDOW_TOKENS, window, computed, KV_CHECK_AGREES,
		               "0.8 x the tokens of full layers, in pages");
	else
		kv_checker_add(c, KV_FACT_WINDOW_TOKENS, window, computed, KV_CHECK_EXPLAINED,
		               "%.2f x the tokens of full layers: swa_full_tokens_ratio was set",
		               window->number / full->number);
}

/* The model's own pool is the largest; a drafter's is printed likewise. */
static void check_sglang(struct kv_checker *c)
{
	const struct kv_log_value *tokens = kv_log_get(c->log, KV_FACT_TOKENS);
	const struct kv_log_value *again = kv_log_get(c->log, KV_FACT_TOKENS_AGAIN);
	const struct kv_log_value *k = kv_log_largest(c->log, KV_FACT_K_SIZE);
	const struct kv_log_value *v = k ? kv_log_on_line(c->log, KV_FACT_V_SIZE, k->line) : NULL;

	check_window_pool(c);
	if (tokens && again)
		kv_checker_compare(c, KV_FACT_TOKENS_AGAIN, again, kv_span_exactly(tokens->number),
		                   "tokens of the allocated pool");
	if (k && v && (c->given->model || kv_span_meets(kv_span_of(k), kv_span_of(v))))
		kv_checker_compare(c, KV_FACT_V_SIZE, v, kv_span_of(k), "as large as K where both heads have one width");
	else if (k && v)
		kv_checker_add(c, KV_FACT_V_SIZE, v, k->number, KV_CHECK_EXPLAINED,
		               "%.2f x K: the heads of values are narrower or wider than those of keys", v->number / k->number);
}

/* Bytes and tokens of one pool: a whole number of bytes a token. */
static void check_whole_bytes(struct kv_checker *c)
{
	const struct kv_log_value *bytes = kv_log_get(c->log, KV_FACT_KV_BYTES);
	const struct kv_log_value *tokens = kv_log_get(c->log, KV_FACT_TOKENS);
	double each;

	if (!bytes || !tokens || tokens->number < 1)
		return;
	each = round(bytes->number / tokens->number);
	kv_checker_compare(c, KV_FACT_KV_BYTES, bytes, kv_span_exactly(tokens->number * each),
	                   "tokens x whole bytes a token");
}

/* Memory for KV against what is free: 0.9 of it unless a fraction, a number of tokens or a number of bytes was set. */
static void check_fraction(struct kv_checker *c)
{
	const struct kv_log_value *kv = kv_log_get(c->log, KV_FACT_KV), *set = kv_log_get(c->log, KV_FACT_FRACTION);
	struct kv_span free_memory, usual;

	if (!kv || !have(c, KV_FACT_FREE, &free_memory))
		return;
	usual = kv_span_times(free_memory, set ? kv_span_of(set) : kv_span_exactly(0.9));
	if (!set && !kv_span_meets(kv_span_of(kv), usual) && kv->number <= free_memory.high)
		kv_checker_add(c, KV_FACT_KV, kv, middle(usual), KV_CHECK_EXPLAINED,
		               "%.2f x what is free once the model is loaded: kv_cache_free_gpu_mem_fraction or a number of "
		               "tokens was set",
		               kv->number / middle(free_memory));
	else
		kv_checker_compare(c, KV_FACT_KV, kv, usual, "0.9 x what is free once the model is loaded");
}

/* PyTorch backend: (device - peak of a profiling run + its own KV cache) x fraction. */
static void check_profiling_run(struct kv_checker *c)
{
	const struct kv_log_value *allowed = kv_log_get(c->log, KV_FACT_KV_ALLOWED);
	const struct kv_log_value *estimated = kv_log_get(c->log, KV_FACT_KV_ESTIMATED);
	struct kv_span total, peak, fraction, temporary = kv_span_exactly(0);

	have(c, KV_FACT_TEMPORARY, &temporary);
	if (allowed && have(c, KV_FACT_TOTAL, &total) && have(c, KV_FACT_PEAK, &peak)
	    && have(c, KV_FACT_FRACTION, &fraction))
		kv_checker_compare(c, KV_FACT_KV_ALLOWED, allowed,
		                   kv_span_times(kv_span_plus(kv_span_minus(total, peak), temporary), fraction),
		                   "(device memory - peak + KV cache of the profiling run) x fraction");
	if (allowed && estimated && estimated->number < allowed->number)
		kv_checker_add(c, KV_FACT_KV_ESTIMATED, estimated, allowed->number, KV_CHECK_EXPLAINED,
		               "less than what is allowed: max_tokens or max_gpu_total_bytes was set");
	else if (allowed && estimated)
		kv_checker_compare(c, KV_FACT_KV_ESTIMATED, estimated, kv_span_of(allowed), "what is allowed");
}

/* Tokens against bytes of a token as logged; pools hold whole blocks. */
static void check_logged_token_bytes(struct kv_checker *c)
{
	const struct kv_log_value *kv = kv_log_get(c->log, KV_FACT_KV), *tokens = kv_log_get(c->log, KV_FACT_TOKENS);
	const struct kv_log_value *size = kv_log_get(c->log, KV_FACT_BLOCK_SIZE);
	const struct kv_log_value *each = kv_log_get(c->log, KV_FACT_TOKEN_BYTES);

	if (kv && tokens && each)
		kv_checker_compare(c, KV_FACT_KV, kv, kv_span_exactly(tokens->number * each->number / GIB),
		                   "tokens x bytes of a token as logged");
	if (tokens && size && size->number >= 1 && !kv_log_get(c->log, KV_FACT_BLOCKS))
		kv_checker_compare(c, KV_FACT_TOKENS, tokens,
		                   kv_span_exactly(size->number * ceil(tokens->number / size->number)), "whole blocks");
}

static void check_tensorrt_llm(struct kv_checker *c)
{
	check_fraction(c);
	check_profiling_run(c);
	check_logged_token_bytes(c);
	if (!c->given->model)
		check_whole_bytes(c);
}

double kv_checker_type_bytes(const char *type)
{
	struct kv_error ignored;
	const struct kv_cache_format *f = kv_cache_format_find(type, &ignored);

	if (!f || !f->bits)
		return 0;
	return f->bits / 8.0 + (f->scale_group ? f->scale_bits / 8.0 / f->scale_group : 0);
}

/* Windowed cells: pad(min(context, window x slots + micro-batch), 256); slots with cells of their own have one window
 * each. */
static void check_window_cells(struct kv_checker *c, const struct kv_log_cache *cache)
{
	const struct kv_log_value *window = kv_log_get(c->log, KV_FACT_WINDOW);
	const struct kv_log_value *batch = kv_log_get(c->log, KV_FACT_MICRO_BATCH);
	const struct kv_log_value *context = kv_log_get(c->log, KV_FACT_CONTEXT);
	double all = cache->cells * cache->streams, cells;

	if (!window || window->number < 1 || !batch || !context
	    || (all >= context->number && all < context->number + CELL_PADDING * cache->streams))
		return;
	cells = CELL_PADDING
	        * ceil(fmin(context->number, window->number * cache->seqs / cache->streams + batch->number) / CELL_PADDING);
	kv_checker_compare(c, KV_FACT_WINDOW, &(struct kv_log_value){.number = cache->cells, .line = cache->size.line},
	                   kv_span_exactly(cells), "windowed cells: pad(min(context, window x slots + micro-batch), 256)");
}

/* MiB that devices may hold beyond a quantized cache: rows are padded to 512 elements in each layer's tensors. */
static double padding_of(const struct kv_log_cache *cache)
{
	double bytes = kv_checker_type_bytes(cache->first_type);

	return bytes > 0 && bytes < 2 ? 2 * fmax(cache->layers, 64) * 1024 / 0x1p20 : 0;
}

struct kv_log_value kv_checker_sum(const struct kv_checker *c, enum kv_fact fact)
{
	struct kv_span all = kv_span_exactly(0);
	struct kv_log_value sum = {.number = 0};

	for (size_t i = 0; i < c->log->count[fact]; i++) {
		sum.line = c->log->value[fact][i].line;
		all = kv_span_plus(all, kv_span_of(&c->log->value[fact][i]));
	}
	sum.number = middle(all);
	sum.half = all.high - sum.number;
	return sum;
}

/* What the devices hold is what the caches come to; a fragment may lack some of the lines. */
static void check_llama_buffers(struct kv_checker *c)
{
	struct kv_log_value sum = kv_checker_sum(c, KV_FACT_KV_BUFFER);
	struct kv_span caches = kv_span_exactly(0);

	for (size_t i = 0; i < c->log->caches; i++)
		if (!c->log->cache[i].recurrent) {
			caches = kv_span_plus(caches, kv_span_of(&c->log->cache[i].size));
			caches.high += padding_of(&c->log->cache[i]);
		}
	if (!sum.line || caches.high <= 0)
		return;
	if (sum.number + sum.half < caches.low)
		kv_checker_add(c, KV_FACT_KV_BUFFER, &sum, middle(caches), KV_CHECK_EXPLAINED,
		               "less than the caches: lines of other devices are missing");
	else
		kv_checker_compare(c, KV_FACT_KV_BUFFER, &sum, caches, "the caches, spread over devices, in MiB");
}

static void check_llama_cache(struct kv_checker *c, const struct kv_log_cache *cache)
{
	const struct kv_log_value *width = kv_log_get(c->log, KV_FACT_K_WIDTH);
	double bytes = kv_checker_type_bytes(cache->first_type);
	struct kv_span pair = kv_span_plus(kv_span_of(&cache->first), kv_span_of(&cache->second));
	struct kv_span sum = kv_span_plus(pair, kv_span_of(&cache->third));

	kv_checker_compare(c, KV_FACT_KV, &cache->size, sum, cache->recurrent ? "R + S, in MiB" : "K + V, in MiB");
	if (cache->recurrent)
		return;
	if (width && bytes > 0 && cache->cells > 0 && cache->layers > 0)
		kv_checker_compare(
			c, KV_FACT_K_SIZE, &cache->first,
			kv_span_exactly(cache->layers * cache->cells * cache->streams * width->number * bytes / 0x1p20),
			"layers x cells x width x bytes of its type, in MiB");
	check_window_cells(c, cache);
}

/* What is below zero, the engine refuses. */
static void check_negative(struct kv_checker *c)
{
	const struct kv_log_value *kv = kv_log_smallest(c->log, KV_FACT_KV);

	if (kv && kv->number <= 0 && c->log->refused)
		kv_checker_add(c, KV_FACT_KV, kv, kv->number, KV_CHECK_AGREES,
		               "nothing is left for the KV cache: the engine refuses to start");
}

static void check_vllm(struct kv_checker *c)
{
	check_negative(c);
	check_requested(c);
	check_kv_memory(c);
	check_suggestion(c, KV_FACT_SUGGESTED, false);
	check_suggestion(c, KV_FACT_SUGGESTED_FULL, true);
	check_equivalent(c);
	check_cpu_blocks(c);
}

void kv_log_check(const struct kv_log *log, const struct kv_check_given *given, struct kv_check_list *list)
{
	const struct kv_log_value *kv = kv_log_smallest(log, KV_FACT_KV);
	struct kv_checker c = {log, given, list, kv ? kv->rank : ""};

	*list = (struct kv_check_list){0};
	check_contradictions(&c);
	if (log->engine == KV_LOG_VLLM)
		check_vllm(&c);
	if (log->engine == KV_LOG_SGLANG)
		check_sglang(&c);
	if (log->engine == KV_LOG_TENSORRT_LLM)
		check_tensorrt_llm(&c);
	for (size_t i = 0; i < log->caches; i++)
		check_llama_cache(&c, &log->cache[i]);
	if (log->engine == KV_LOG_LLAMA_CPP)
		check_llama_buffers(&c);
	if (!given->model || log->engine == KV_LOG_TENSORRT_LLM)
		check_tokens_and_blocks(&c);
	if (given->model) {
		kv_checker_pool(&c);
		return;
	}
	check_concurrency(&c);
	check_refusal(&c);
	if (log->engine == KV_LOG_VLLM || log->engine == KV_LOG_TENSORRT_LLM)
		note_token_bytes(&c, pool_value(&c, KV_FACT_KV), pool_value(&c, KV_FACT_TOKENS));
	note_token_bytes(&c, kv_log_get(log, KV_FACT_NEEDED), kv_log_get(log, KV_FACT_MAX_LEN));
}

void kv_check_list_fini(struct kv_check_list *list)
{
	free(list->check);
	kv_remarks_fini(&list->notes);
	*list = (struct kv_check_list){0};
}
