#include "config.h"

#include <stdio.h>
#include <string.h>

#include "sim/profiles/hardware.h"
#include "sim/profiles/profiles.h"
#include "tests/support.h"

static struct kv_hardware *load(const char *name)
{
	struct kv_error err = {0};
	struct kv_hardware *hw = kv_hardware_load(name, &err);

	ck_assert_msg(hw != NULL, "%s", err.text);
	return hw;
}

static bool assumes(const struct kv_hardware *hw, const char *text)
{
	for (size_t i = 0; i < hw->assumed_count; i++)
		if (strstr(hw->assumed[i], text))
			return true;
	return false;
}

/* Data sheets: MiB as nvidia-smi prints, GB/s, TFLOP/s bf16 and fp8 (dense), GB/s to another GPU; 0 = unknown. */
static const struct card {
	const char *name;
	double memory, bandwidth, bf16, fp8, link, ec;
} cards[] = {
	{"a100-40gb", 40960, 1555, 312, 0, 300, .70},
	{"a100-80gb", 81920, 2039, 312, 0, 300, .70},
	{"a100-pcie-80gb", 81920, 1935, 312, 0, 32, .60},
	{"h100-sxm", 81559, 3350, 989, 1979, 450, .62},
	{"h100-pcie", 81559, 2000, 756.5, 1513, 64, .60},
	{"h200", 143771, 4800, 989, 1979, 450, .62},
	{"b200", 183359, 7700, 2250, 4500, 900, .60},
	{"b300", 275040, 7750, 2250, 0, 900, .60},
	{"gb200", 189471, 8000, 0, 0, 0, .60},
	{"gb300", 284208, 0, 0, 0, 0, .60},
	{"l4", 23034, 300, 121, 242, 0, .60},
	{"l40s", 46068, 864, 362, 733, 32, .58},
	{"a10g", 23028, 600, 70, 0, 0, .60},
	{"a40", 46068, 696, 149.7, 0, 56, .68},
	{"rtx-4090", 24564, 1008, 165.2, 330.3, 32, .90},
	{"rtx-pro-6000", 97887, 1597, 467.8, 0, 64, .75},
	{"mi300x", 206141652992 / 1048576.0, 5300, 1307.4, 2614.9, 448, .60},
};

START_TEST(built_in_cards_have_the_rates_of_their_data_sheets)
{
	const struct card *c = &cards[_i];
	struct kv_hardware *hw = load(c->name);

	ck_assert_str_eq(hw->name, c->name);
	ck_assert_double_eq((double)hw->memory, c->memory * 1048576);
	ck_assert_double_eq_tol(hw->memory_bandwidth, c->bandwidth * 1e9, 1);
	ck_assert_double_eq_tol(hw->flops[KV_FLOPS_BF16], c->bf16 * 1e12, 1e3);
	ck_assert_double_eq_tol(hw->flops[KV_FLOPS_FP8], c->fp8 * 1e12, 1e3);
	ck_assert_double_eq_tol(hw->link_bandwidth, c->link * 1e9, 1);
	ck_assert_double_eq(hw->efficiency.ec, c->ec);
	kv_hardware_free(hw);
}
END_TEST

START_TEST(every_built_in_card_is_in_the_table_above)
{
	size_t count = 0;

	for (const struct kv_profile *p = kv_profile_next("hardware", NULL); p; p = kv_profile_next("hardware", p))
		count++;
	ck_assert_uint_eq(count, sizeof cards / sizeof *cards);
}
END_TEST

static const struct {
	const char *spelling, *name;
} spellings[] = {
	{"h100-80gb", "h100-sxm"}, {"h100_sxm", "h100-sxm"}, {"H100", "h100-sxm"}, {"h200_sxm", "h200"},
	{"b200_sxm", "b200"}, {"b300_sxm", "b300"}, {"rtx4090", "rtx-4090"}, {"RTXPRO6000", "rtx-pro-6000"},
	{"NVIDIA GeForce RTX 4090", "rtx-4090"}, {"a100", "a100-80gb"},
};

START_TEST(other_spellings_find_the_card)
{
	struct kv_hardware *hw = load(spellings[_i].spelling);

	ck_assert_str_eq(hw->name, spellings[_i].name);
	kv_hardware_free(hw);
}
END_TEST

START_TEST(frameworks_see_less_memory_than_the_driver)
{
	struct kv_hardware *rtx = load("rtx-4090"), *h100 = load("h100-sxm"), *mi300x = load("mi300x");

	ck_assert_uint_eq(kv_hardware_device_memory(rtx), UINT64_C(25250627584));
	ck_assert_uint_eq(kv_hardware_device_memory(h100), UINT64_C(81079) << 20);
	ck_assert_double_eq_tol((double)kv_hardware_device_memory(mi300x) / (1 << 30), 191.98, 0.005);
	kv_hardware_free(rtx);
	kv_hardware_free(h100);
	kv_hardware_free(mi300x);
}
END_TEST

START_TEST(a_data_sheet_makes_a_card_and_the_rest_is_assumed)
{
	static const char text[] =
		"name: card-of-2027\n"
		"memory: 96GiB\n"
		"memory_bandwidth: 1.8TB/s\n"
		"flops: {bf16: 500TFLOP/s, fp8: 1PFLOP/s}\n"
		"efficiency: {ec: 0.55, ea_half: 0}\n"
		"source: data sheet\n";
	struct kv_error err = {0};
	struct kv_hardware *hw = kv_hardware_parse(text, "card.yaml", &err);

	ck_assert_msg(hw != NULL, "%s", err.text);
	ck_assert_uint_eq(hw->memory, UINT64_C(96) << 30);
	ck_assert_double_eq(hw->memory_bandwidth, 1.8e12);
	ck_assert_double_eq(hw->flops[KV_FLOPS_FP8], 1e15);
	ck_assert_double_eq(hw->efficiency.ec, .55);
	ck_assert_double_eq(hw->efficiency.ea_half, 0);
	ck_assert_double_eq(hw->efficiency.eb, .80);
	ck_assert_double_eq(hw->efficiency.ek, .75);
	ck_assert(!hw->has_overheads);
	ck_assert(!assumes(hw, "ec = "));
	ck_assert(assumes(hw, "eb = 0.8"));
	ck_assert(assumes(hw, "link_bandwidth is unknown"));
	kv_hardware_free(hw);
}
END_TEST

START_TEST(a_calibrated_card_keeps_the_habits_of_its_engine)
{
	static const char text[] = "name: x\noverheads: {c0: 2ms, overlap: true, large_message: 64MiB, el: 0.5}\n";
	struct kv_error err = {0};
	struct kv_hardware *hw = kv_hardware_parse(text, "card.yaml", &err);

	ck_assert_msg(hw != NULL, "%s", err.text);
	ck_assert(hw->has_overheads);
	ck_assert_double_eq(hw->overheads.c0, .002);
	ck_assert_double_eq(hw->overheads.overlap, 1);
	ck_assert_double_eq(hw->overheads.large_message, 64 << 20);
	ck_assert_double_eq(hw->overheads.el, .5);
	ck_assert_double_nan(hw->overheads.cl);
	kv_hardware_free(hw);
}
END_TEST

static const struct {
	const char *text, *error;
} refused[] = {
	{"memory: 80GiB\n", "card.yaml:1: a hardware profile needs a name"},
	{"name: x\nmemory: 80\n", "card.yaml:2: memory: "},
	{"name: x\nmemory_bandwith: 1TB/s\n", "memory_bandwidth"},
	{"name: x\nmemory_bandwidth: 3.35TFLOP/s\n", "card.yaml:2: memory_bandwidth: "},
	{"name: x\nflops:\n  bf16: 989\n", "card.yaml:3: bf16: "},
	{"name: x\nflops:\n  bf16: 0.5GFLOP/s\n", "no plausible rate"},
	{"name: x\nflops: {bf17: 1TFLOP/s}\n", "bf17"},
	{"name: x\nefficiency: {ec: 62}\n", "card.yaml:2: ec: "},
	{"name: x\noverheads: {c0: 1}\n", "card.yaml:2: c0: "},
	{"name: x\noverheads: {large_message: 64}\n", "card.yaml:2: large_message: "},
	{"name: x\noverheads: {el: 1.5}\n", "card.yaml:2: el: "},
	{"name: x\noverheads: {overlap: perhaps}\n", "card.yaml:2: overlap: "},
};

START_TEST(bad_profiles_name_the_line_and_the_key)
{
	struct kv_error err = {0};

	ck_assert_ptr_null(kv_hardware_parse(refused[_i].text, "card.yaml", &err));
	ck_assert_msg(strstr(err.text, refused[_i].error) != NULL, "%s", err.text);
}
END_TEST

START_TEST(an_unknown_card_lists_what_there_is)
{
	struct kv_error err = {0};

	ck_assert_ptr_null(kv_hardware_load("graphcore", &err));
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_msg(strstr(err.text, "h200") != NULL, "%s", err.text);
	ck_assert_ptr_null(kv_hardware_load("./no-such-card.yaml", &err));
	ck_assert_int_eq(err.status, KV_EXIT_MISSING);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("hardware");
	TCase *tc = tcase_create("profiles");

	tcase_add_loop_test(tc, built_in_cards_have_the_rates_of_their_data_sheets, 0, sizeof cards / sizeof *cards);
	tcase_add_test(tc, every_built_in_card_is_in_the_table_above);
	tcase_add_loop_test(tc, other_spellings_find_the_card, 0, sizeof spellings / sizeof *spellings);
	tcase_add_test(tc, frameworks_see_less_memory_than_the_driver);
	tcase_add_test(tc, a_data_sheet_makes_a_card_and_the_rest_is_assumed);
	tcase_add_test(tc, a_calibrated_card_keeps_the_habits_of_its_engine);
	tcase_add_loop_test(tc, bad_profiles_name_the_line_and_the_key, 0, sizeof refused / sizeof *refused);
	tcase_add_test(tc, an_unknown_card_lists_what_there_is);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
