/* The small structures under the engine: heap, timing wheel, buddy allocator. */
#include "config.h"

#include <string.h>

#include "sim/base/heap.h"
#include "sim/cache/buddy.h"
#include "sim/cache/content.h"
#include "sim/engine/step_wheel.h"
#include "tests/support.h"

START_TEST(a_heap_yields_entries_by_primary_secondary_sequence)
{
	static const struct kv_heap_entry in[] = {
		{5, 0, 1, 0}, {-1, 9, 0, 1}, {5, 0, 0, 2}, {5, -3, 7, 3}, {INT64_MIN, 0, 0, 4}, {INT64_MAX, 0, 0, 5}
	};
	static const uint32_t order[] = {4, 1, 3, 2, 0, 5};
	struct kv_heap heap = {0};

	for (size_t i = 0; i < 6; i++)
		kv_heap_push(&heap, in[i]);
	for (size_t i = 0; i < 6; i++) {
		ck_assert_uint_eq(kv_heap_peek(&heap)->payload, order[i]);
		kv_heap_pop(&heap);
	}
	ck_assert_uint_eq(heap.count, 0);
	kv_heap_fini(&heap);
}
END_TEST

START_TEST(what_replaces_the_smallest_takes_its_own_place)
{
	static const int64_t order[] = { 2, 5, 6, 7, 8, 9 };
	struct kv_heap heap = { 0 };

	for (int64_t key = 4; key < 10; key++)
		kv_heap_push(&heap, (struct kv_heap_entry){ key, 0, 0, 0 });
	kv_heap_replace(&heap, (struct kv_heap_entry){ 2, 0, 0, 0 });
	for (size_t i = 0; i < sizeof order / sizeof order[0]; i++, kv_heap_pop(&heap))
		ck_assert_int_eq(kv_heap_peek(&heap)->primary, order[i]);
	kv_heap_push(&heap, (struct kv_heap_entry){ 1, 0, 0, 0 });
	kv_heap_push(&heap, (struct kv_heap_entry){ 3, 0, 0, 0 });
	kv_heap_replace(&heap, (struct kv_heap_entry){ 4, 0, 0, 0 });
	ck_assert_int_eq(kv_heap_peek(&heap)->primary, 3);
	kv_heap_fini(&heap);
}
END_TEST

START_TEST(a_heap_of_a_thousand_comes_out_sorted)
{
	struct kv_heap heap = {0};
	uint64_t x = 1;

	for (uint32_t i = 0; i < 1000; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		kv_heap_push(&heap, (struct kv_heap_entry){(int64_t)(x >> 40) % 50, 0, i, i});
	}
	for (struct kv_heap_entry last = {-1, 0, 0, 0}; heap.count > 0; kv_heap_pop(&heap)) {
		const struct kv_heap_entry *top = kv_heap_peek(&heap);

		ck_assert(top->primary > last.primary ||
		          (top->primary == last.primary && top->sequence > last.sequence));
		last = *top;
	}
	kv_heap_fini(&heap);
}
END_TEST

START_TEST(a_wheel_keeps_later_rounds_of_a_bucket)
{
	struct kv_wheel wheel;

	kv_wheel_init(&wheel);
	kv_wheel_cover(&wheel, 4);
	kv_wheel_add(&wheel, 0, 7);
	kv_wheel_add(&wheel, 1, 7 + 4096);
	kv_wheel_add(&wheel, 2, 7);
	kv_wheel_remove(&wheel, 2);
	ck_assert_uint_eq(kv_wheel_take(&wheel, 7), 0);
	ck_assert_uint_eq(kv_wheel_take(&wheel, 7), KV_NONE);
	ck_assert_uint_eq(kv_wheel_take(&wheel, 7 + 4096), 1);
	kv_wheel_fini(&wheel);
}
END_TEST

/* A01: 15,728 slots are 983 blocks of 16; pieces of 2,048 slots are 128 blocks, and seven of them fit. */
START_TEST(seven_orca_max_requests_fit_983_blocks)
{
	/* 983 = 512 + 256 + 128 + ...: the smallest fitting chunk at the lowest address goes first. */
	static const uint64_t address[] = {768, 512, 640, 0, 128, 256, 384};
	struct kv_buddy *buddy = kv_buddy_create(983);

	for (int i = 0; i < 7; i++)
		ck_assert_uint_eq(kv_buddy_take(buddy, 128), address[i]);
	ck_assert(!kv_buddy_fits(buddy, 128));
	ck_assert(kv_buddy_fits(buddy, 64));
	kv_buddy_free(buddy);
}
END_TEST

START_TEST(buddies_merge_when_both_are_free)
{
	struct kv_buddy *buddy = kv_buddy_create(8);
	uint64_t a = kv_buddy_take(buddy, 3);
	uint64_t b = kv_buddy_take(buddy, 4);

	ck_assert_uint_eq(a, 0);
	ck_assert_uint_eq(b, 4);
	ck_assert(!kv_buddy_fits(buddy, 1));
	kv_buddy_give(buddy, a, 3);
	ck_assert(!kv_buddy_fits(buddy, 5));
	kv_buddy_give(buddy, b, 4);
	ck_assert(kv_buddy_fits(buddy, 8));
	kv_buddy_free(buddy);
}
END_TEST

START_TEST(a_chunk_is_the_next_power_of_two)
{
	static const uint64_t table[][2] = {{1, 1}, {2, 2}, {3, 4}, {65, 128}, {128, 128}, {129, 256}};

	ck_assert_uint_eq(kv_buddy_chunk(table[_i][0]), table[_i][1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("structures");
	TCase *tc = tcase_create("structures");

	tcase_add_test(tc, a_heap_yields_entries_by_primary_secondary_sequence);
	tcase_add_test(tc, what_replaces_the_smallest_takes_its_own_place);
	tcase_add_test(tc, a_heap_of_a_thousand_comes_out_sorted);
	tcase_add_test(tc, a_wheel_keeps_later_rounds_of_a_bucket);
	tcase_add_test(tc, seven_orca_max_requests_fit_983_blocks);
	tcase_add_test(tc, buddies_merge_when_both_are_free);
	tcase_add_loop_test(tc, a_chunk_is_the_next_power_of_two, 0, 6);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
