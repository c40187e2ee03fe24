#include "config.h"

#include <stdint.h>
#include <string.h>

#include "results/number_text.h"
#include "tests/support.h"

static char text[KV_NUMBER_TEXT_MAX + 1];

static const char *ended(char *end)
{
	ck_assert(end <= text + KV_NUMBER_TEXT_MAX);
	*end = '\0';
	return text;
}

START_TEST(integers_are_written_whole)
{
	ck_assert_str_eq(ended(kv_text_u64(text, 0)), "0");
	ck_assert_str_eq(ended(kv_text_u64(text, 9)), "9");
	ck_assert_str_eq(ended(kv_text_u64(text, 10)), "10");
	ck_assert_str_eq(ended(kv_text_u64(text, 1234567)), "1234567");
	ck_assert_str_eq(ended(kv_text_u64(text, UINT64_MAX)), "18446744073709551615");
	ck_assert_str_eq(ended(kv_text_i64(text, INT64_MIN)), "-9223372036854775808");
}
END_TEST

START_TEST(seconds_are_exact_and_without_trailing_zeros)
{
	ck_assert_str_eq(ended(kv_text_seconds(text, 0)), "0");
	ck_assert_str_eq(ended(kv_text_seconds(text, 1)), "0.000000001");
	ck_assert_str_eq(ended(kv_text_seconds(text, 2385000000)), "2.385");
	ck_assert_str_eq(ended(kv_text_seconds(text, 3600 * KV_SECOND)), "3600");
	ck_assert_str_eq(ended(kv_text_seconds(text, -1500000000)), "-1.5");
	ck_assert_str_eq(ended(kv_text_seconds(text, INT64_MAX)), "9223372036.854775807");
}
END_TEST

START_TEST(picoseconds_keep_all_twelve_digits)
{
	ck_assert_str_eq(ended(kv_text_fixed(text, 3333333333, 12)), "0.003333333333");
	ck_assert_str_eq(ended(kv_text_fixed(text, 1000000000000, 12)), "1");
}
END_TEST

START_TEST(integrals_beyond_64_bits_are_exact)
{
	kv_integral two_to_100 = (kv_integral)1 << 100;

	/* 2^100 = 1267650600228229401496703205376 */
	ck_assert_str_eq(ended(kv_text_integral(text, two_to_100)), "1267650600228229401496.703205376");
	ck_assert_str_eq(ended(kv_text_integral(text, 42 * (kv_integral)KV_SECOND)), "42");
	/* 2^128 - 1 = 340282366920938463463374607431768211455 */
	ck_assert_str_eq(ended(kv_text_integral(text, ~(kv_integral)0)), "340282366920938463463374607431.768211455");
}
END_TEST

START_TEST(ratios_round_half_up)
{
	ck_assert_str_eq(ended(kv_text_ratio(text, 1, 3, 6)), "0.333333");
	ck_assert_str_eq(ended(kv_text_ratio(text, 2, 3, 6)), "0.666667");
	ck_assert_str_eq(ended(kv_text_ratio(text, 1, 8, 2)), "0.13");
	ck_assert_str_eq(ended(kv_text_ratio(text, 999999, 1000000, 3)), "1");
	ck_assert_str_eq(ended(kv_text_ratio(text, 0, 7, 3)), "0");
	ck_assert_str_eq(ended(kv_text_ratio(text, (kv_integral)5 << 120, (kv_integral)1 << 121, 3)), "2.5");
}
END_TEST

START_TEST(doubles_read_back_and_stay_short)
{
	ck_assert_str_eq(ended(kv_text_double(text, 0.1)), "0.1");
	ck_assert_str_eq(ended(kv_text_double(text, 2)), "2.0");
	ck_assert_str_eq(ended(kv_text_double(text, 1500)), "1500.0");
	ck_assert_str_eq(ended(kv_text_double(text, 1.0 / 3)), "0.3333333333333333");
	ck_assert_str_eq(ended(kv_text_double(text, 1e22)), "1e+22");
	ck_assert_str_eq(ended(kv_text_double(text, -0.25)), "-0.25");
	ck_assert_double_eq(strtod(ended(kv_text_double(text, 0.1 + 0.2)), NULL), 0.1 + 0.2);
}
END_TEST

START_TEST(small_numbers_get_the_decimals_of_three_digits)
{
	static const struct {
		double value;
		int least, decimals;
	} cases[] = {
		{12.5, 2, 2}, {0, 3, 3}, {0.973, 3, 3}, {0.0973, 3, 4}, {-0.0973, 3, 4}, {0.00011112, 3, 6}, {1e-12, 3, 9}
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		ck_assert_int_eq(kv_decimals(cases[i].value, cases[i].least), cases[i].decimals);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("number_text");
	TCase *tc = tcase_create("text");

	tcase_add_test(tc, integers_are_written_whole);
	tcase_add_test(tc, seconds_are_exact_and_without_trailing_zeros);
	tcase_add_test(tc, picoseconds_keep_all_twelve_digits);
	tcase_add_test(tc, integrals_beyond_64_bits_are_exact);
	tcase_add_test(tc, ratios_round_half_up);
	tcase_add_test(tc, doubles_read_back_and_stay_short);
	tcase_add_test(tc, small_numbers_get_the_decimals_of_three_digits);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
