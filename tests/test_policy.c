/* Finding and parsing policies, on a registry of two made for this; the shipped ones have tests of their own. */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "sim/policy.h"
#include "tests/support.h"

struct state {
	uint64_t limit;
	double share;
	bool strict;
	kv_time patience;
};

static const struct kv_param params[] = {
	{ "limit", KV_PARAM_UINT, offsetof(struct state, limit), 1, 100, "10", "requests", "most requests" },
	{ "share", KV_PARAM_DOUBLE, offsetof(struct state, share), 0, 1, "0.5", "", "part of the pool" },
	{ "strict", KV_PARAM_BOOL, offsetof(struct state, strict), 0, 1, "false", "", "no exceptions" },
	{ "patience", KV_PARAM_TIME, offsetof(struct state, patience), 0, 3600e9, "2s", "", "longest wait" },
	{ NULL, KV_PARAM_UINT, 0, 0, 0, NULL, NULL, NULL },
};

static const struct kv_policy plain = { .kind = KV_POLICY_ADMISSION, .name = "plain" };
static const struct kv_policy tuned = {
	.kind = KV_POLICY_ADMISSION,
	.name = "tuned",
	.state_size = sizeof(struct state),
	.params = params,
};
static const struct kv_policy elsewhere = { .kind = KV_POLICY_EVICTION, .name = "elsewhere" };

const struct kv_policy *const kv_policy_registry[] = { &plain, &elsewhere, &tuned, NULL };

START_TEST(names_are_looked_up_within_their_kind)
{
	ck_assert_ptr_eq(kv_policy_find(KV_POLICY_ADMISSION, "plain"), &plain);
	ck_assert_ptr_null(kv_policy_find(KV_POLICY_EVICTION, "plain"));
	ck_assert_str_eq(kv_policy_kind_name(KV_POLICY_PREFIX), "prefix");
}
END_TEST

START_TEST(defaults_fill_what_is_not_given)
{
	struct kv_policy_use use;
	struct kv_error err;
	const struct state *state;

	ck_assert_int_eq(kv_policy_parse(KV_POLICY_ADMISSION, "tuned,share=0.25,patience=250ms", &use, &err), 0);
	state = use.state;
	ck_assert_ptr_eq(use.policy, &tuned);
	ck_assert_uint_eq(state->limit, 10);
	ck_assert_double_eq(state->share, 0.25);
	ck_assert(!state->strict);
	ck_assert_int_eq(state->patience, 250 * KV_MILLISECOND);
	kv_policy_use_fini(&use);
}
END_TEST

static const struct {
	const char *text, *error;
} refused[] = {
	{ "clock", "unknown admission policy 'clock': valid are plain, tuned" },
	{ "tunde", "unknown admission policy 'tunde': did you mean 'tuned'?" },
	{ "", "unknown admission policy '': valid are plain, tuned" },
	{ "plain,limit=3", "plain takes no parameters, found 'limit'" },
	{ "tuned,limits=3", "tuned: unknown parameter 'limits': did you mean 'limit'?" },
	{ "tuned,limit=101", "tuned,limit: 101 is out of range: 1 to 100 is allowed" },
	{ "tuned,share=nan", "tuned,share: 'nan' is not a number" },
	{ "tuned,strict=1", "tuned,strict: '1' is neither true nor false" },
	{ "tuned,patience=3", "tuned,patience: '3' is not a duration: write a number with a unit, such as 250ms, 1.5s, "
	  "10min or 1h" },
	{ "tuned,limit", "tuned: write parameters as name=value, found 'limit'" },
	{ "tuned,", "tuned: write parameters as name=value, found ''" },
};

START_TEST(errors_say_what_is_allowed)
{
	struct kv_policy_use use;
	struct kv_error err;

	ck_assert_int_eq(kv_policy_parse(KV_POLICY_ADMISSION, refused[_i].text, &use, &err), -1);
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_str_eq(err.text, refused[_i].error);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("policy");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, names_are_looked_up_within_their_kind);
	tcase_add_test(tc, defaults_fill_what_is_not_given);
	tcase_add_loop_test(tc, errors_say_what_is_allowed, 0, sizeof refused / sizeof refused[0]);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
