#include "config.h"

#include <math.h>
#include <string.h>

#include "tests/support.h"
#include "workloads/number.h"

enum { OK = KV_NUMBER_OK, BAD = KV_NUMBER_MALFORMED, MINUS = KV_NUMBER_NEGATIVE, BIG = KV_NUMBER_TOO_LARGE,
       PART = KV_NUMBER_FRACTION };

static const int64_t limit = 4000000000000000000;

static const struct {
	const char *text;
	unsigned digits;
	int status;
	int64_t value;
} texts[] = {
	{"0", 9, OK, 0},
	{"0.1", 9, OK, 100000000},
	{"12.5", 9, OK, 12500000000},
	{".5", 9, OK, 500000000},
	{"5.", 9, OK, 5000000000},
	{"+3", 9, OK, 3000000000},
	{"-0", 9, OK, 0},
	{"-0.0", 9, OK, 0},
	{"00012", 0, OK, 12},
	{"1777142838.338653123", 9, OK, 1777142838338653123},
	{"0.052000000000000005", 9, OK, 52000000},
	{"0.0000000004", 9, OK, 0},
	{"0.0000000005", 9, OK, 1},
	{"2.9999999996", 9, OK, 3000000000},
	{"1e-05", 9, OK, 10000},
	{"1.5E3", 9, OK, 1500000000000},
	{"1e3", 0, OK, 1000},
	{"1e-400", 9, OK, 0},
	{"7564.0", 0, OK, 7564},
	{"123", 6, OK, 123000000},
	{"4000000000", 9, OK, 4000000000000000000},
	{"4000000000.000000001", 9, BIG, 0},
	{"1e400", 9, BIG, 0},
	{"99999999999999999999999", 0, BIG, 0},
	{"1e99999999999999999999", 0, BIG, 0},
	{"7564.5", 0, PART, 0},
	{"1e-1", 0, PART, 0},
	{"0.00000000000000000000000001", 0, PART, 0},
	{"-1", 9, MINUS, 0},
	{"-0.000001", 9, MINUS, 0},
	{"", 9, BAD, 0},
	{"-", 9, BAD, 0},
	{".", 9, BAD, 0},
	{"e5", 9, BAD, 0},
	{"1e", 9, BAD, 0},
	{"1e+", 9, BAD, 0},
	{"nan", 9, BAD, 0},
	{"inf", 9, BAD, 0},
	{"0x10", 9, BAD, 0},
	{"1,5", 9, BAD, 0},
	{"12 ", 9, BAD, 0},
	{"1.2.3", 9, BAD, 0},
};

START_TEST(decimal_text_is_read_exactly)
{
	const char *text = texts[_i].text;
	int64_t value = 0;
	int status = (int)kv_number_parse(text, strlen(text), texts[_i].digits, limit, &value);

	ck_assert_msg(status == texts[_i].status, "'%s': status %d", text, status);
	ck_assert_msg(value == texts[_i].value, "'%s': value %lld", text, (long long)value);
}
END_TEST

START_TEST(doubles_give_the_decimal_they_were_read_from)
{
	static const struct {
		double number;
		int64_t value;
	} cases[] = {
		{0, 0}, {0.1, 100000000}, {61.114, 61114000000}, {123456.789012345, 123456789012345},
		{1777142838.338653, 1777142838338653000}, {1e-9, 1}, {999999.999999999, 999999999999999}
	};
	int64_t value = -1;

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		ck_assert_int_eq(kv_number_from_double(cases[i].number, 9, limit, &value), KV_NUMBER_OK);
		ck_assert_int_eq(value, cases[i].value);
	}
}
END_TEST

START_TEST(doubles_that_are_no_plain_number_are_refused)
{
	int64_t value;

	ck_assert_int_eq(kv_number_from_double(NAN, 9, limit, &value), KV_NUMBER_MALFORMED);
	ck_assert_int_eq(kv_number_from_double(INFINITY, 9, limit, &value), KV_NUMBER_MALFORMED);
	ck_assert_int_eq(kv_number_from_double(-0.5, 9, limit, &value), KV_NUMBER_NEGATIVE);
	ck_assert_int_eq(kv_number_from_double(1e300, 9, limit, &value), KV_NUMBER_TOO_LARGE);
	ck_assert_int_eq(kv_number_from_double(0.5, 0, limit, &value), KV_NUMBER_FRACTION);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("number");
	TCase *tc = tcase_create("parse");

	tcase_add_loop_test(tc, decimal_text_is_read_exactly, 0, (int)(sizeof texts / sizeof *texts));
	tcase_add_test(tc, doubles_give_the_decimal_they_were_read_from);
	tcase_add_test(tc, doubles_that_are_no_plain_number_are_refused);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
