/* The example of policies/README.md, as it stands there: its policy is built into this program (guide_policy.c) and its
 * test rows are run (guide_cases.h); both are taken out of the guide by make. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "sim/cache/cache_replay.h"
#include "tests/support.h"

extern const struct kv_policy kv_eviction_unproven, kv_eviction_lru;
const struct kv_policy *const kv_policy_registry[] = { &kv_eviction_unproven, &kv_eviction_lru, NULL };

static const struct {
	const char *eviction;
	enum kv_replay_unit unit;
	uint64_t blocks;
	const char *prompts;
	uint64_t hits, evictions;
} cases[] = {
#include "guide_cases.h"
};

/* "1, 1, 2": prompts of one block each. */
static void read_prompts(struct kv_block_trace *trace, const char *text)
{
	struct kv_error err;

	for (uint64_t p = 0; *text != '\0'; p++, text += strspn(text, ", ")) {
		struct kv_segment segment = { strtoul(text, (char **)&text, 10), 1, KV_STREAM_BLOCK };
		struct kv_request request = {
			.index = p, .arrival = (kv_time)p * KV_SECOND, .prompt = &segment, .prompt_segments = 1,
			.prompt_tokens = 1, .salt = "", .adapter = "", .tenant = ""
		};

		ck_assert_int_eq(kv_block_trace_add(trace, &request, &err), 0);
	}
}

START_TEST(the_example_does_what_the_guide_says)
{
	struct kv_block_trace trace = { 0 };
	struct kv_replay_result result;
	struct kv_policy_use use;
	struct kv_error err;

	read_prompts(&trace, cases[_i].prompts);
	ck_assert_msg(kv_policy_parse(KV_POLICY_EVICTION, cases[_i].eviction, &use, &err) == 0, "%s", err.text);
	kv_cache_replay(&trace, &use, cases[_i].unit, cases[_i].blocks, &result);
	ck_assert_uint_eq(result.whole.hit_blocks, cases[_i].hits);
	ck_assert_uint_eq(result.whole.evicted_blocks, cases[_i].evictions);
	kv_policy_use_fini(&use);
	kv_block_trace_fini(&trace);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("guide");
	TCase *tc = tcase_create("all");

	tcase_add_loop_test(tc, the_example_does_what_the_guide_says, 0, sizeof cases / sizeof cases[0]);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
