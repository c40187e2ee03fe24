#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "sim/base/names.h"
#include "sim/base/quantity.h"
#include "tests/support.h"

#define LENGTH(table) ((int)(sizeof table / sizeof table[0]))

static const struct {
	const char *text;
	uint64_t value;
} counts[] = {
	{ "0", 0 }, { "1", 1 }, { "007", 7 }, { "18446744073709551615", UINT64_MAX }, { "1e6", 1000000 },
	{ "2.5e1", 25 }, { "32k", 32000 }, { "32K", 32768 }, { "1M", 1048576 }, { "25.6k", 25600 }, { "3.0", 3 },
	{ "0e999", 0 },
};

START_TEST(counts_are_read)
{
	struct kv_error err;
	uint64_t value;

	ck_assert_msg(!kv_parse_count(counts[_i].text, 0, UINT64_MAX, &value, &err), "%s", err.text);
	ck_assert_uint_eq(value, counts[_i].value);
}
END_TEST

static const char *const not_counts[] = {
	"", " 1", "1 ", "+1", "-1", "0x10", "1.5", "1e", "1e-1", "nan", "inf", "NaN", "1,000", "1_000", "ten", "1KB",
	"1k k", "18446744073709551616", "1e400", "1e99999999999", "1.", ".5", "--1", "1e1000", "1\n",
	"123456789012345678901234567890123",
};

START_TEST(what_is_no_count_is_refused)
{
	struct kv_error err = { 0 };
	uint64_t value = 77;

	ck_assert_int_eq(kv_parse_count(not_counts[_i], 0, UINT64_MAX, &value, &err), -1);
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	ck_assert_uint_eq(value, 77);
}
END_TEST

static const struct {
	const char *text;
	bool plain;
	uint64_t value;
} sizes[] = {
	{ "80GiB", false, UINT64_C(85899345920) }, { "80GB", false, UINT64_C(80000000000) },
	{ "512MiB", false, 536870912 }, { "1.15GiB", false, 1234803098 },
	{ "23.58 GiB", false, UINT64_C(25318832210) },
	{ "12B", false, 12 }, { "1kB", false, 1000 }, { "1KiB", false, 1024 },
	{ "2TB", false, UINT64_C(2000000000000) },
	{ "0", false, 0 }, { "0.5B", false, 1 }, { "0.4B", false, 0 }, { "1e-30GiB", false, 0 },
	{ "5427429376", true, UINT64_C(5427429376) }, { "10G", true, UINT64_C(10737418240) },
	{ "1.5000000000000000000000GiB", false, 1610612736 },
	{ "0.00000000099999999999999999999999GiB", false, 1 },
	{ "10g", true, UINT64_C(10000000000) },
};

START_TEST(sizes_are_exact)
{
	struct kv_error err;
	uint64_t value;

	ck_assert_msg(!kv_parse_bytes(sizes[_i].text, sizes[_i].plain, 0, UINT64_MAX, &value, &err), "%s", err.text);
	ck_assert_uint_eq(value, sizes[_i].value);
}
END_TEST

static const char *const not_sizes[] = {
	"80", "80G", "80 GiBs", "80gb", "80GIB", "-1GiB", "GiB", "1e40GiB", "80  GiB"
};

START_TEST(what_is_no_size_is_refused)
{
	struct kv_error err = { 0 };
	uint64_t value;

	ck_assert_int_eq(kv_parse_bytes(not_sizes[_i], false, 0, UINT64_MAX, &value, &err), -1);
}
END_TEST

static const struct {
	const char *text;
	kv_time value;
} times[] = {
	{ "250ms", 250000000 }, { "1.5s", 1500000000 }, { "20us", 20000 }, { "7ns", 7 }, { "1h", 3600 * KV_SECOND },
	{ "2min", 120 * KV_SECOND }, { "1d", 86400 * KV_SECOND }, { "0", 0 }, { "0.1s", 100000000 },
	{ "0.000000001s", 1 }, { "-3ms", -3000000 }, { "1e-3s", 1000000 },
};

START_TEST(durations_are_exact)
{
	struct kv_error err;
	kv_time value;

	ck_assert_msg(!kv_parse_time(times[_i].text, -KV_TIME_MAX, KV_TIME_MAX, &value, &err), "%s", err.text);
	ck_assert_int_eq(value, times[_i].value);
}
END_TEST

static const char *const not_times[] = { "", "5", "5m", "5 sec", "1e30s", "300000d", "s", "nan s", "1s1s" };

START_TEST(what_is_no_duration_is_refused)
{
	struct kv_error err = { 0 };
	kv_time value;

	ck_assert_int_eq(kv_parse_time(not_times[_i], -KV_TIME_MAX, KV_TIME_MAX, &value, &err), -1);
}
END_TEST

START_TEST(rates_and_fractions_are_read)
{
	struct kv_error err;
	double value;

	ck_assert_int_eq(kv_parse_byte_rate("3.35TB/s", &value, &err), 0);
	ck_assert_double_eq_tol(value, 3.35e12, 1);
	ck_assert_int_eq(kv_parse_byte_rate("400Gbit/s", &value, &err), 0);
	ck_assert_double_eq(value, 50e9);
	ck_assert_int_eq(kv_parse_flop_rate("989TFLOP/s", &value, &err), 0);
	ck_assert_double_eq(value, 989e12);
	ck_assert_int_eq(kv_parse_fraction("0.92", 0, 1, &value, &err), 0);
	ck_assert_double_eq(value, 0.92);
	ck_assert_int_eq(kv_parse_fraction("92%", 0, 1, &value, &err), 0);
	ck_assert_double_eq(value, 0.92);
	ck_assert_int_eq(kv_parse_double("-2.5e-1", -1, 1, &value, &err), 0);
	ck_assert_double_eq(value, -0.25);
}
END_TEST

START_TEST(rates_and_fractions_are_strict)
{
	struct kv_error err;
	double value;

	ck_assert_int_eq(kv_parse_byte_rate("3.35TB", &value, &err), -1);
	ck_assert_int_eq(kv_parse_byte_rate("0GB/s", &value, &err), -1);
	ck_assert_int_eq(kv_parse_byte_rate("-1GB/s", &value, &err), -1);
	ck_assert_int_eq(kv_parse_flop_rate("989", &value, &err), -1);
	ck_assert_int_eq(kv_parse_fraction("1.01", 0, 1, &value, &err), -1);
	ck_assert_str_eq(err.text, "1.01 is out of range: 0 to 1 is allowed");
	ck_assert_int_eq(kv_parse_double("nan", 0, 1, &value, &err), -1);
	ck_assert_int_eq(kv_parse_double("1e999", 0, 1, &value, &err), -1);
	ck_assert_int_eq(kv_parse_double("1x", 0, 1, &value, &err), -1);
}
END_TEST

START_TEST(errors_say_what_is_allowed)
{
	struct kv_error err;
	uint64_t value;
	kv_time time;

	kv_parse_count("70000", 1, 65535, &value, &err);
	ck_assert_str_eq(err.text, "70000 is out of range: 1 to 65535 is allowed");
	kv_parse_count("18446744073709551616", 0, UINT64_MAX, &value, &err);
	ck_assert_str_eq(err.text, "18446744073709551616 is out of range: 0 to 18446744073709551615 is allowed");
	kv_parse_bytes("80", false, 0, 1, &value, &err);
	ck_assert_str_eq(err.text, "'80' is not a size: write a number with a unit, such as 80GiB, 80GB or 512MiB");
	kv_parse_time("2h", 0, KV_SECOND, &time, &err);
	ck_assert_str_eq(err.text, "2h is out of range: 0s to 1s is allowed");
}
END_TEST

START_TEST(truth_has_six_spellings)
{
	struct kv_error err;
	bool value;

	ck_assert_int_eq(kv_parse_bool("true", &value, &err), 0);
	ck_assert(value);
	ck_assert_int_eq(kv_parse_bool("off", &value, &err), 0);
	ck_assert(!value);
	ck_assert_int_eq(kv_parse_bool("1", &value, &err), -1);
	ck_assert_int_eq(kv_parse_bool("True", &value, &err), -1);
}
END_TEST

/* Seconds since 1970 from date -u -d ... +%s. */
static const struct {
	const char *text;
	kv_time value;
	const char *written;
} dates[] = {
	{ "1970-01-01", 0, "1970-01-01T00:00:00Z" },
	{ "2026-08-17", 1786924800 * KV_SECOND, "2026-08-17T00:00:00Z" },
	{ "2024-02-29T12:00:00Z", 1709208000 * KV_SECOND, "2024-02-29T12:00:00Z" },
	{ "2026-08-17T09:30:00+02:00", 1786951800 * KV_SECOND, "2026-08-17T07:30:00Z" },
	{ "2026-08-17 07:30:00.25", 1786951800 * KV_SECOND + 250000000, "2026-08-17T07:30:00.25Z" },
};

START_TEST(dates_are_read_and_written)
{
	char text[KV_QUANTITY_MAX];
	struct kv_error err;
	kv_time value;

	ck_assert_msg(!kv_parse_date(dates[_i].text, &value, &err), "%s", err.text);
	ck_assert_int_eq(value, dates[_i].value);
	ck_assert_str_eq(kv_format_date(value, text), dates[_i].written);
}
END_TEST

static const char *const not_dates[] = {
	"", "2026", "2026-13-01", "2026-02-29", "2026-04-31", "1969-12-31", "2026-01-01T24:00:00",
	"2026-01-01T00:60:00", "2026-01-01T10:00", "2026-01-01Z", "2026-1-1", "2026-01-01T00:00:00+25:00",
	"2026-01-01T00:00:00.1234567890",
	"2262-01-01",
};

START_TEST(what_is_no_date_is_refused)
{
	struct kv_error err = { 0 };
	kv_time value;

	ck_assert_int_eq(kv_parse_date(not_dates[_i], &value, &err), -1);
}
END_TEST

START_TEST(written_forms_are_exact)
{
	char text[KV_QUANTITY_MAX];

	ck_assert_str_eq(kv_format_bytes(UINT64_C(85899345920), text), "80GiB");
	ck_assert_str_eq(kv_format_bytes(1536, text), "1536B");
	ck_assert_str_eq(kv_format_bytes(0, text), "0B");
	ck_assert_str_eq(kv_format_bytes(UINT64_MAX, text), "18446744073709551615B");
	ck_assert_str_eq(kv_format_time(1500000000, text), "1.5s");
	ck_assert_str_eq(kv_format_time(250000, text), "250us");
	ck_assert_str_eq(kv_format_time(-7, text), "-7ns");
	ck_assert_str_eq(kv_format_time(0, text), "0s");
	ck_assert_str_eq(kv_format_time(KV_TIME_MAX, text), "9223372036.854775807s");
	ck_assert_str_eq(kv_format_double(0.92, text), "0.92");
	ck_assert_str_eq(kv_format_double(1.0 / 3, text), "0.3333333333333333");
	ck_assert_str_eq(kv_format_bytes_short(5427429376, text), "5.05 GiB");
	ck_assert_str_eq(kv_format_bytes_short(-1073741824, text), "-1.00 GiB");
	ck_assert_str_eq(kv_format_bytes_short(12, text), "12 B");
}
END_TEST

static const char *const some_names[] = { "block_size", "max_num_seqs", "max_model_len", "lru", "lfu" };

static const struct {
	const char *typed, *meant;
} slips[] = {
	{ "blocksize", "block_size" }, { "block-size", "block_size" }, { "max_nums_seqs", "max_num_seqs" },
	{ "rlu", "lru" }, { "LRU", "lru" }, { "eviction", NULL }, { "xyz", NULL }, { "", NULL },
};

START_TEST(slips_are_recognised)
{
	const char *found = kv_nearest_name(slips[_i].typed, some_names, 5);

	if (slips[_i].meant == NULL)
		ck_assert_ptr_null(found);
	else
		ck_assert_pstr_eq(found, slips[_i].meant);
}
END_TEST

START_TEST(unknown_names_list_the_valid_ones)
{
	struct kv_error err;

	kv_fail_unknown(&err, KV_EXIT_USAGE, "eviction policy", "clock", some_names + 3, 2);
	ck_assert_str_eq(err.text, "unknown eviction policy 'clock': valid are lru, lfu");
	kv_fail_unknown(&err, KV_EXIT_USAGE, "eviction policy", "lur", some_names + 3, 2);
	ck_assert_str_eq(err.text, "unknown eviction policy 'lur': did you mean 'lru'?");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("quantity");
	TCase *tc = tcase_create("all");

	tcase_add_loop_test(tc, counts_are_read, 0, LENGTH(counts));
	tcase_add_loop_test(tc, what_is_no_count_is_refused, 0, LENGTH(not_counts));
	tcase_add_loop_test(tc, sizes_are_exact, 0, LENGTH(sizes));
	tcase_add_loop_test(tc, what_is_no_size_is_refused, 0, LENGTH(not_sizes));
	tcase_add_loop_test(tc, durations_are_exact, 0, LENGTH(times));
	tcase_add_loop_test(tc, what_is_no_duration_is_refused, 0, LENGTH(not_times));
	tcase_add_test(tc, rates_and_fractions_are_read);
	tcase_add_test(tc, rates_and_fractions_are_strict);
	tcase_add_test(tc, errors_say_what_is_allowed);
	tcase_add_test(tc, truth_has_six_spellings);
	tcase_add_loop_test(tc, dates_are_read_and_written, 0, LENGTH(dates));
	tcase_add_loop_test(tc, what_is_no_date_is_refused, 0, LENGTH(not_dates));
	tcase_add_test(tc, written_forms_are_exact);
	tcase_add_loop_test(tc, slips_are_recognised, 0, LENGTH(slips));
	tcase_add_test(tc, unknown_names_list_the_valid_ones);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
