#include "config.h"

#include <string.h>

#include "sim/base/memory.h"
#include "tests/support.h"

START_TEST(growing_keeps_old_elements_and_zeroes_new_ones)
{
	size_t capacity = 0;
	int *a = kv_grow(NULL, &capacity, 3, sizeof *a);

	a[0] = 7;
	a[capacity - 1] = 9;
	size_t old = capacity;
	a = kv_grow(a, &capacity, old + 1, sizeof *a);
	ck_assert_int_eq(a[0], 7);
	ck_assert_int_eq(a[old - 1], 9);
	ck_assert_int_eq(a[old], 0);
	ck_assert_uint_ge(capacity, old + 1);
	free(a);
}
END_TEST

START_TEST(growing_within_capacity_allocates_nothing)
{
	size_t capacity = 0;
	char *a = kv_grow(NULL, &capacity, 10, 1);
	unsigned long before = kv_allocation_count();

	a = kv_grow(a, &capacity, capacity, 1);
	ck_assert_uint_eq(kv_allocation_count(), before);
	free(a);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory");
	TCase *tc = tcase_create("grow");

	tcase_add_test(tc, growing_keeps_old_elements_and_zeroes_new_ones);
	tcase_add_test(tc, growing_within_capacity_allocates_nothing);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
