/* Cache-only replay: golden numbers of a real trace, small cases by hand, and what must hold for any workload. */
#include "config.h"

#include <gsl/gsl_rng.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/cache/cache_replay.h"
#include "tests/support.h"
#include "workloads/trace.h"

/* --- workloads of block ids --------------------------------------------------------------------------------------- */

#define PROMPTS_MAX 64
#define BLOCKS_MAX 8

/* Prompts as lists of ids, 0 ends one; a block holds one token, and prompt i arrives at second i. */
struct ids {
	uint32_t id[PROMPTS_MAX][BLOCKS_MAX];
	size_t count;
};

static void read_prompts(struct kv_block_trace *trace, const struct ids *ids, bool anywhere)
{
	struct kv_segment segment[BLOCKS_MAX];
	struct kv_error err;

	*trace = (struct kv_block_trace){.anywhere = anywhere};
	for (size_t p = 0; p < ids->count; p++) {
		uint32_t blocks = 0;

		for (; blocks < BLOCKS_MAX && ids->id[p][blocks] != 0; blocks++)
			segment[blocks] = (struct kv_segment){ids->id[p][blocks], 1, KV_STREAM_BLOCK};
		ck_assert_int_eq(kv_block_trace_add(trace, &(struct kv_request){
			.index = p, .arrival = (kv_time)p * KV_SECOND, .prompt = segment, .prompt_segments = blocks,
			.prompt_tokens = blocks, .salt = "", .adapter = "", .tenant = ""
		}, &err), 0);
	}
}

static struct kv_replay_result play(const struct kv_block_trace *trace, const char *eviction, enum kv_replay_unit unit,
                                    uint64_t blocks)
{
	struct kv_replay_result result;
	struct kv_policy_use use;
	struct kv_error err;

	ck_assert_msg(kv_policy_parse(KV_POLICY_EVICTION, eviction, &use, &err) == 0, "%s", err.text);
	kv_cache_replay(trace, &use, unit, blocks, &result);
	kv_policy_use_fini(&use);
	return result;
}

static void read_ids(struct kv_block_trace *trace, const struct ids *ids)
{
	read_prompts(trace, ids, false);
}

/* "1 2 3, 4 5": prompts of ids. */
static void parse_ids(struct ids *ids, const char *text)
{
	uint32_t at = 0;

	*ids = (struct ids){.count = 1};
	while (*text != '\0') {
		if (*text == ',') {
			ids->count++;
			at = 0;
			text++;
		} else if (*text == ' ') {
			text++;
		} else {
			ids->id[ids->count - 1][at++] = (uint32_t)strtoul(text, (char **)&text, 10);
		}
	}
}

/* --- small cases by hand ------------------------------------------------------------------------------------------ */

static const struct {
	const char *eviction;
	enum kv_replay_unit unit;
	uint64_t blocks;
	const char *prompts;
	uint64_t hits, evictions;
} cases[] = {
	/* The least recently used goes; the beginning of a prompt outlives its end. */
	{"lru", KV_REPLAY_BLOCK, 2, "1, 2, 1, 3, 1, 2", 2, 2},
	{"lru", KV_REPLAY_BLOCK, 3, "1 2 3, 4, 1 2 3", 2, 2},
	{"lru", KV_REPLAY_LEAF, 3, "1 2 3, 4, 1 2 3", 2, 2},
	/* First in, first out, leaf or not: 1 goes for 4, so 2 and 3 cannot be hit. */
	{"fifo", KV_REPLAY_BLOCK, 3, "1 2 3, 4, 1 2 3", 0, 4},
	{"fifo", KV_REPLAY_LEAF, 3, "1 2 3, 4, 1 2 3", 2, 2},
	{"fifo", KV_REPLAY_BLOCK, 2, "1, 2, 1, 3, 1, 2", 1, 3},
	{"mru", KV_REPLAY_BLOCK, 2, "1, 2, 3, 1, 2", 1, 2},
	{"filo", KV_REPLAY_BLOCK, 2, "1, 2, 1, 3, 1, 2", 2, 2},
	{"lfu", KV_REPLAY_BLOCK, 2, "1, 1, 2, 3, 1, 3", 3, 1},
	/* Used twice is protected; with uses=3 it is not. */
	{"slru", KV_REPLAY_BLOCK, 2, "1, 1, 2, 3, 4, 1", 2, 2},
	{"slru,uses=3", KV_REPLAY_BLOCK, 2, "1, 1, 2, 3, 4, 1", 1, 3},
	/* The hand spares 1, which was hit, and takes 2; then 1 again comes after 3. */
	{"sieve", KV_REPLAY_BLOCK, 2, "1, 2, 1, 3, 1, 2, 1, 3", 3, 3},
	/* 1 was hit twice and is in the main queue; 2 to 4 pass through the small one. */
	{"s3-fifo", KV_REPLAY_BLOCK, 2, "1, 1, 1, 2, 3, 4, 1", 3, 2},
	/* 2 comes back from the ghosts into the main queue and outlives 3 and 4. */
	{"s3-fifo", KV_REPLAY_BLOCK, 3, "1, 2, 3, 4, 5, 2, 6, 7, 2", 1, 5},
	/* Used again goes to T2, which the once-used scan cannot flush. */
	{"arc", KV_REPLAY_BLOCK, 2, "1, 1, 2, 3, 4, 1", 2, 2},
	/* Prompts come a second apart. */
	{"ttl,ttl=3s", KV_REPLAY_BLOCK, 9, "1, 2, 1, 3, 4, 2, 1", 1, 0},
	{"ttl,ttl=5s", KV_REPLAY_BLOCK, 9, "1, 2, 1, 3, 4, 2, 1", 3, 0},
	/* Two tokens may be computed in time: of 1 2 3 the first is kept, of one-block prompts nothing. */
	{"tail-optimised,threshold=2,turn=0", KV_REPLAY_BLOCK, 4, "1 2 3, 4, 5, 6, 7, 1", 1, 3},
	{"lru", KV_REPLAY_BLOCK, 4, "1 2 3, 4, 5, 6, 7, 1", 0, 4},
	/* The head outlives the rest, but for two seconds only. */
	{"priority,head_tokens=1,head=90", KV_REPLAY_BLOCK, 4, "1 2, 3 4, 5, 6, 1", 1, 2},
	{"priority,head_tokens=1,head=90,head_duration=2s", KV_REPLAY_BLOCK, 4, "1 2, 3 4, 5, 6, 1", 0, 3},
	/* A block of a long prompt is worth more than one of a short prompt. */
	{"cost-aware,double_at=1", KV_REPLAY_BLOCK, 5, "1 2 3 4, 5, 6, 1 2 3 4", 4, 1},
	/* 2 has the furthest next use; what is never used again is not stored. */
	{"belady", KV_REPLAY_BLOCK, 2, "1, 2, 3, 1, 3, 2", 2, 1},
	{"belady", KV_REPLAY_LEAF, 2, "1, 2, 3, 1, 3, 2", 2, 1},
	/* A prompt longer than the pool. */
	{"lru", KV_REPLAY_BLOCK, 2, "1 2 3, 1 2 3", 2, 0},
	{"lru", KV_REPLAY_LEAF, 2, "1 2 3, 1 2 3", 2, 0},
	{"lru", KV_REPLAY_LEAF, 0, "1, 1", 0, 0},
};

START_TEST(small_cases_by_hand)
{
	struct kv_block_trace trace;
	struct kv_replay_result result;
	struct ids ids;

	parse_ids(&ids, cases[_i].prompts);
	read_ids(&trace, &ids);
	result = play(&trace, cases[_i].eviction, cases[_i].unit, cases[_i].blocks);
	ck_assert_msg(result.whole.hit_blocks == cases[_i].hits && result.whole.evicted_blocks == cases[_i].evictions,
	              "%s of %s in %lu blocks: %lu hits, %lu evictions", cases[_i].eviction, cases[_i].prompts,
	              (unsigned long)cases[_i].blocks, (unsigned long)result.whole.hit_blocks,
	              (unsigned long)result.whole.evicted_blocks);
	kv_block_trace_fini(&trace);
}
END_TEST

/* --- any workload ------------------------------------------------------------------------------------------------- */

/* Prompts that branch off each other: id = 1 + path in base 3, so that an id has one parent. */
static void random_ids(struct ids *ids, gsl_rng *rng, size_t prompts, uint32_t depth)
{
	*ids = (struct ids){.count = prompts};
	for (size_t p = 0; p < prompts; p++) {
		uint32_t blocks = 1 + (uint32_t)gsl_rng_uniform_int(rng, depth);
		uint32_t id = 0;

		for (uint32_t b = 0; b < blocks; b++) {
			id = 3 * id + 1 + (uint32_t)gsl_rng_uniform_int(rng, b == 0 ? 3 : 2);
			ids->id[p][b] = id;
		}
	}
}

static void check_bookkeeping(const struct kv_block_trace *trace, const struct kv_replay_result *result,
                              uint64_t blocks, const char *policy)
{
	const struct kv_replay_sums *sums = &result->whole;
	uint64_t gone = sums->evicted_blocks + sums->expired_blocks;

	ck_assert_uint_eq(sums->prompts, trace->prompts);
	ck_assert_msg(result->resident_blocks <= blocks, "%s holds too much", policy);
	ck_assert_msg(sums->hit_blocks + gone + result->resident_blocks <= sums->blocks, "%s: more gone than came",
	              policy);
	if (blocks >= trace->nodes && sums->expired_blocks == 0)
		ck_assert_msg(sums->hit_blocks + trace->nodes == sums->blocks && gone == 0, "%s in an unbounded pool",
		              policy);
}

START_TEST(no_policy_has_more_hits_than_belady)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	for (unsigned long seed = 1; seed <= 60; seed++) {
		struct kv_block_trace trace;
		struct ids ids;

		gsl_rng_set(rng, seed);
		random_ids(&ids, rng, PROMPTS_MAX, 1 + seed % 7);
		read_ids(&trace, &ids);
		for (uint64_t blocks = 1; blocks <= trace.nodes + 1; blocks += 1 + blocks / 3) {
			uint64_t best = play(&trace, "belady", KV_REPLAY_LEAF, blocks).whole.hit_blocks;

			ck_assert_uint_eq(play(&trace, "belady", KV_REPLAY_BLOCK, blocks).whole.hit_blocks, best);
			for (const struct kv_policy *const *p = kv_policy_registry; *p != NULL; p++)
				for (int unit = 0; (*p)->kind == KV_POLICY_EVICTION && unit < 2; unit++) {
					struct kv_replay_result result = play(&trace, (*p)->name,
					                                      (enum kv_replay_unit)unit, blocks);

					check_bookkeeping(&trace, &result, blocks, (*p)->name);
					ck_assert_msg(result.whole.hit_blocks <= best, "%s, seed %lu, %lu blocks",
					              (*p)->name, seed, (unsigned long)blocks);
				}
		}
		kv_block_trace_fini(&trace);
	}
	gsl_rng_free(rng);
}
END_TEST

/* The most hits that any choice can have from prompt `at` on with this set of ids stored: which blocks of the prompt
 * and of the pool stay is tried out. */
static uint64_t brute_force(const struct ids *ids, size_t at, uint64_t stored, unsigned capacity)
{
	uint64_t candidates = stored;
	uint64_t hits = 0, best = 0;

	if (at == ids->count)
		return 0;
	for (unsigned b = 0; b < BLOCKS_MAX && ids->id[at][b] != 0; b++) {
		if ((stored >> ids->id[at][b] & 1) && hits == b)
			hits++;
		candidates |= UINT64_C(1) << ids->id[at][b];
	}
	for (uint64_t keep = candidates;; keep = (keep - 1) & candidates) {
		unsigned kept = (unsigned)__builtin_popcountll(keep);

		if (kept == capacity || (keep == candidates && kept < capacity)) {
			uint64_t rest = brute_force(ids, at + 1, keep, capacity);

			best = rest > best ? rest : best;
		}
		if (keep == 0)
			break;
	}
	return hits + best;
}

START_TEST(belady_is_the_optimum_by_brute_force)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	for (unsigned long seed = 1; seed <= 100; seed++) {
		struct kv_block_trace trace;
		struct ids ids;

		gsl_rng_set(rng, seed);
		random_ids(&ids, rng, 6, 3);
		read_ids(&trace, &ids);
		for (unsigned blocks = 1; blocks <= 4; blocks++)
			ck_assert_uint_eq(play(&trace, "belady", KV_REPLAY_LEAF, blocks).whole.hit_blocks,
			                  brute_force(&ids, 0, 0, blocks));
		kv_block_trace_fini(&trace);
	}
	gsl_rng_free(rng);
}
END_TEST

START_TEST(a_larger_pool_never_hurts_lru)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	for (unsigned long seed = 1; seed <= 100; seed++) {
		struct kv_block_trace trace;
		struct ids ids;

		gsl_rng_set(rng, seed);
		random_ids(&ids, rng, PROMPTS_MAX, 1 + seed % 7);
		read_ids(&trace, &ids);
		for (int unit = 0; unit < 2; unit++) {
			uint64_t before = 0;

			for (uint64_t blocks = 1; blocks <= trace.nodes; blocks++) {
				uint64_t hits = play(&trace, "lru", (enum kv_replay_unit)unit, blocks).whole.hit_blocks;

				ck_assert_msg(hits >= before, "seed %lu, %lu blocks", seed, (unsigned long)blocks);
				before = hits;
			}
		}
		kv_block_trace_fini(&trace);
	}
	gsl_rng_free(rng);
}
END_TEST

/* --- pieces that are found anywhere ------------------------------------------------------------------------------- */

static const struct {
	const char *eviction;
	uint64_t blocks;
	const char *prompts;
	uint64_t hits, evictions;
} anywhere_cases[] = {
	/* Neither what stands before a piece counts nor that the first one is missing. */
	{"lru", 9, "1 2 3, 3 1, 4 2", 3, 0},
	/* A piece that stands in a prompt twice is found the second time. */
	{"lru", 9, "1 1 1, 1 1", 4, 0},
	/* The least recently used goes; within a prompt the end before the beginning. */
	{"lru", 2, "1 2, 3, 1, 2", 1, 2},
	{"belady", 2, "1 2, 3 2, 1 2", 3, 0},
	{"lru", 0, "1, 1", 0, 0},
};

START_TEST(pieces_are_found_wherever_they_stand)
{
	struct kv_block_trace trace;
	struct kv_replay_result result;
	struct ids ids;

	parse_ids(&ids, anywhere_cases[_i].prompts);
	read_prompts(&trace, &ids, true);
	result = play(&trace, anywhere_cases[_i].eviction, KV_REPLAY_BLOCK, anywhere_cases[_i].blocks);
	ck_assert_uint_eq(result.whole.hit_blocks, anywhere_cases[_i].hits);
	ck_assert_uint_eq(result.whole.hit_tokens, anywhere_cases[_i].hits);
	ck_assert_uint_eq(result.whole.evicted_blocks, anywhere_cases[_i].evictions);
	kv_block_trace_fini(&trace);
}
END_TEST

static void random_pieces(struct ids *ids, gsl_rng *rng)
{
	*ids = (struct ids){.count = PROMPTS_MAX};
	for (size_t p = 0; p < ids->count; p++) {
		uint32_t pieces = 1 + (uint32_t)gsl_rng_uniform_int(rng, BLOCKS_MAX);

		for (uint32_t b = 0; b < pieces; b++)
			ids->id[p][b] = 1 + (uint32_t)gsl_rng_uniform_int(rng, 20);
	}
}

START_TEST(found_anywhere_no_policy_has_more_hits_than_belady_nor_fewer_than_as_prefixes)
{
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	for (unsigned long seed = 1; seed <= 40; seed++) {
		struct kv_block_trace pieces, prefixes;
		struct ids ids;

		gsl_rng_set(rng, seed);
		random_pieces(&ids, rng);
		read_prompts(&pieces, &ids, true);
		read_prompts(&prefixes, &ids, false);
		for (uint64_t blocks = 1; blocks <= 32; blocks *= 2) {
			uint64_t best = play(&pieces, "belady", KV_REPLAY_BLOCK, blocks).whole.hit_blocks;

			ck_assert_uint_ge(best, play(&prefixes, "belady", KV_REPLAY_BLOCK, blocks).whole.hit_blocks);
			for (const struct kv_policy *const *p = kv_policy_registry; *p != NULL; p++)
				if ((*p)->kind == KV_POLICY_EVICTION)
					ck_assert_msg(
						play(&pieces, (*p)->name, KV_REPLAY_BLOCK, blocks).whole.hit_blocks <=
							best,
						"%s, seed %lu, %lu blocks", (*p)->name, seed, (unsigned long)blocks);
		}
		kv_block_trace_fini(&pieces);
		kv_block_trace_fini(&prefixes);
	}
	gsl_rng_free(rng);
}
END_TEST

/* --- content ------------------------------------------------------------------------------------------------------ */

static void read_file(struct kv_block_trace *trace, struct kv_trace *file, uint32_t block_size, bool anywhere)
{
	struct kv_source *source = kv_trace_source(file);
	struct kv_request request;
	struct kv_error err;
	int status;

	*trace = (struct kv_block_trace){.block_size = block_size, .anywhere = anywhere};
	while ((status = source->next(source, &request, &err)) == 1)
		ck_assert_int_eq(kv_block_trace_add(trace, &request, &err), 0);
	ck_assert_int_eq(status, 0);
	kv_trace_close(file);
}

static void read_text(struct kv_block_trace *trace, const char *rows, uint32_t block_size)
{
	struct kv_trace_options options;
	char path[] = "/tmp/kvsim-replay-XXXXXX";
	struct kv_error err;
	struct kv_trace *file;
	FILE *stream = fdopen(mkstemp(path), "w");

	fputs("arrival_s,prompt,output_tokens,salt\n", stream);
	fputs(rows, stream);
	fclose(stream);
	kv_trace_options_init(&options);
	file = kv_trace_open(path, &options, &err);
	ck_assert_msg(file != NULL, "%s", err.text);
	read_file(trace, file, block_size, false);
	remove(path);
}

static const struct {
	const char *rows;
	uint32_t block_size;
	uint64_t hit_tokens;
	uint32_t nodes;
} contents[] = {
	/* Whole blocks of equal tokens; what does not fill one is never stored. */
	{"0,doc:40,1,\n1,doc:40,1,\n", 0, 32, 2},
	{"0,doc:40,1,\n1,doc:40,1,\n", 8, 40, 5},
	{"0,doc:40,1,\n1,doc:24,1,\n", 8, 24, 5},
	/* Segments may end inside a block; equality is by token from the beginning. */
	{"0,a:10 b:22,1,\n1,a:10 b:22,1,\n2,a:10 c:22,1,\n", 8, 40, 7},
	{"0,a:10 b:22,1,\n1,b:22 a:10,1,\n", 8, 0, 8},
	/* Another salt is another tree. */
	{"0,doc:32,1,x\n1,doc:32,1,y\n2,doc:32,1,x\n", 16, 32, 4},
};

START_TEST(content_is_compared_from_the_beginning)
{
	struct kv_block_trace trace;
	struct kv_replay_result result;

	read_text(&trace, contents[_i].rows, contents[_i].block_size);
	result = play(&trace, "lru", KV_REPLAY_BLOCK, 100);
	ck_assert_uint_eq(result.whole.hit_tokens, contents[_i].hit_tokens);
	ck_assert_uint_eq(trace.nodes, contents[_i].nodes);
	kv_block_trace_fini(&trace);
}
END_TEST

/* --- a real trace: hit tokens of the second half (traces.md 6) ---------------------------------------------------- */

static const struct {
	uint64_t blocks, fifo, lru, optimum;
} golden[] = {
	{500, 2958408, 3085579, 9512173},
	{1000, 3105848, 3173822, 13381287},
	{2000, 3637096, 3814129, 18054257},
	{5000, 7328030, 7676186, 24669143},
	{10000, 12434391, 14910149, 27038068},
	{20000, 18136580, 20586572, 27038068},
	{40000, 22414376, 25293816, 27038068},
	{80000, 25094481, 26342260, 27038068},
};

static const struct {
	uint64_t blocks, hit_tokens, evictions, resident;
} golden_whole[] = {
	{1000, 6575459, 274653, 1000},
	{5000, 16505817, 251240, 5000},
	{20000, 42493406, 185465, 20000},
	{80000, 53379051, 104195, 80000},
	{4000000000, 54098411, 0, 182790},
};

START_TEST(mooncake_conversation)
{
	const char *shared = getenv("KVSIM_SHARED");
	struct kv_trace_options options;
	struct kv_block_trace trace;
	struct kv_trace *file;
	struct kv_error err;
	char path[4096];

	snprintf(path, sizeof path, "%s/traces/mooncake/conversation_trace.jsonl", shared != NULL ? shared : "");
	kv_trace_options_init(&options);
	file = kv_trace_open(path, &options, &err);
	if (file == NULL) {
		printf("# skipped: %s\n", err.text);
		return;
	}
	read_file(&trace, file, 0, false);
	ck_assert_uint_eq(trace.nodes, 182790);
	for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
		struct kv_replay_result lru = play(&trace, "lru", KV_REPLAY_LEAF, golden[i].blocks);

		ck_assert_uint_eq(lru.second_half.tokens, 67915607);
		ck_assert_uint_eq(lru.second_half.hit_tokens, golden[i].lru);
		ck_assert_uint_eq(play(&trace, "fifo", KV_REPLAY_BLOCK, golden[i].blocks).second_half.hit_tokens,
		                  golden[i].fifo);
		ck_assert_uint_eq(play(&trace, "belady", KV_REPLAY_LEAF, golden[i].blocks).second_half.hit_tokens,
		                  golden[i].optimum);
	}
	ck_assert_uint_eq(play(&trace, "fifo", KV_REPLAY_LEAF, 1000).second_half.hit_tokens, 3171579);
	for (size_t i = 0; i < sizeof golden_whole / sizeof *golden_whole; i++) {
		struct kv_replay_result lru = play(&trace, "lru", KV_REPLAY_LEAF, golden_whole[i].blocks);

		ck_assert_uint_eq(lru.whole.hit_tokens, golden_whole[i].hit_tokens);
		ck_assert_uint_eq(lru.whole.evicted_blocks, golden_whole[i].evictions);
		ck_assert_uint_eq(lru.resident_blocks, golden_whole[i].resident);
	}
	kv_block_trace_fini(&trace);
}
END_TEST

/* Tokens in chunks that an earlier request had, summed up over the file's ids and its tables of lengths. */
START_TEST(ragpulse_chunks_seen_before)
{
	const char *shared = getenv("KVSIM_SHARED");
	static const uint32_t sizes[] = {0, 1, 64, 100000};
	char path[4096];

	snprintf(path, sizeof path, "%s/traces/ragpulse/ragpulse_trace.first600.jsonl", shared != NULL ? shared : "");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		struct kv_trace_options options;
		struct kv_block_trace trace;
		struct kv_trace *file;
		struct kv_error err;

		kv_trace_options_init(&options);
		file = kv_trace_open(path, &options, &err);
		if (file == NULL) {
			printf("# skipped: %s\n", err.text);
			return;
		}
		read_file(&trace, file, sizes[i], true);
		ck_assert_uint_eq(play(&trace, "lru", KV_REPLAY_BLOCK, UINT32_MAX).whole.hit_tokens, 1125115);
		kv_block_trace_fini(&trace);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cache_replay");
	TCase *tc = tcase_create("all");

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, small_cases_by_hand, 0, sizeof cases / sizeof *cases);
	tcase_add_test(tc, no_policy_has_more_hits_than_belady);
	tcase_add_test(tc, belady_is_the_optimum_by_brute_force);
	tcase_add_test(tc, a_larger_pool_never_hurts_lru);
	tcase_add_loop_test(tc, content_is_compared_from_the_beginning, 0, sizeof contents / sizeof *contents);
	tcase_add_loop_test(tc, pieces_are_found_wherever_they_stand, 0,
	                    sizeof anywhere_cases / sizeof *anywhere_cases);
	tcase_add_test(tc, found_anywhere_no_policy_has_more_hits_than_belady_nor_fewer_than_as_prefixes);
	tcase_add_test(tc, ragpulse_chunks_seen_before);
	tcase_add_test(tc, mooncake_conversation);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
