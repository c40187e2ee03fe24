/* Durations for people are in the unit that suits their size. */
#include "config.h"

#include "results/duration.h"
#include "tests/support.h"

START_TEST(the_unit_grows_with_the_duration)
{
	static const struct {
		double ms;
		const char *text;
	} cases[] = {
		{0, "0 ms"}, {0.25, "0.25 ms"}, {999, "999 ms"}, {1000, "1 s"}, {12500, "12.5 s"}, {119000, "119 s"},
		{120000, "2 min"}, {2940e3, "49 min"}, {7199e3, "120 min"}, {7200e3, "2.0 h"}, {15891556.68, "4.4 h"}
	};
	char text[32];

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		ck_assert_str_eq(kv_duration_text(text, cases[i].ms), cases[i].text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("duration");
	TCase *tc = tcase_create("text");

	tcase_add_test(tc, the_unit_grows_with_the_duration);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
