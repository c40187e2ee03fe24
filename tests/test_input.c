#include "config.h"

#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include "sim/base/memory.h"
#include "tests/support.h"
#include "tests/trace_file.h"
#include "workloads/input.h"

enum { LENGTH = 1 << 20 };

static char *make_text(void)
{
	char *text = kv_calloc(LENGTH, 1);

	for (size_t i = 0; i < LENGTH; i++)
		text[i] = (char)('a' + (i * i / 7 + i / 1000) % 26);
	return text;
}

static size_t gzip(const char *from, size_t length, char *to, size_t room)
{
	z_stream stream = {.next_in = (Bytef *)from, .avail_in = (uInt)length, .next_out = (Bytef *)to,
	                   .avail_out = (uInt)room};

	ck_assert_int_eq(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	ck_assert_int_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
	deflateEnd(&stream);
	return room - stream.avail_out;
}

/* Everything the input yields, or NULL with err filled. */
static char *read_whole(const char *path, size_t *length, struct kv_error *err)
{
	struct kv_input *input = kv_input_open(path, err);
	size_t capacity = 0;
	char *all = NULL;
	const char *data;
	size_t got;
	int status = -1;

	*length = 0;
	while (input != NULL && (status = kv_input_chunk(input, &data, &got, err)) == 1) {
		all = kv_grow(all, &capacity, *length + got, 1);
		memcpy(all + *length, data, got);
		*length += got;
	}
	kv_input_close(input);
	if (status == 0)
		return all;
	free(all);
	return NULL;
}

static void expect_content(const void *bytes, size_t size, const char *text, size_t length)
{
	char path[KV_PATH_SIZE];
	struct kv_error err = {0};
	size_t got;
	char *all = read_whole(kv_write_file(path, bytes, size), &got, &err);

	unlink(path);
	ck_assert_msg(err.text[0] == '\0', "%s", err.text);
	ck_assert_uint_eq(got, length);
	ck_assert(length == 0 || memcmp(all, text, length) == 0);
	free(all);
}

static void expect_failure(const void *bytes, size_t size, const char *message)
{
	char path[KV_PATH_SIZE];
	struct kv_error err = {0};
	size_t got;
	char *all = read_whole(kv_write_file(path, bytes, size), &got, &err);

	unlink(path);
	ck_assert_ptr_null(all);
	ck_assert_int_eq(err.status, KV_EXIT_DATA);
	ck_assert_msg(strstr(err.text, message) != NULL, "%s", err.text);
}

START_TEST(plain_files_come_as_they_are)
{
	char *text = make_text();

	expect_content(text, LENGTH, text, LENGTH);
	expect_content("a", 1, "a", 1);
	expect_content("", 0, "", 0);
	free(text);
}
END_TEST

START_TEST(gzip_files_are_unpacked_member_by_member)
{
	char *text = make_text();
	char *packed = kv_calloc(2, LENGTH);
	size_t size = gzip(text, 1000, packed, LENGTH);

	size += gzip(text + 1000, LENGTH - 1000, packed + size, LENGTH);
	expect_content(packed, size, text, LENGTH);
	free(packed);
	free(text);
}
END_TEST

START_TEST(zstd_files_are_unpacked)
{
	char *text = make_text();
	char *packed = kv_calloc(2, LENGTH);
	size_t size = ZSTD_compress(packed, 2 * LENGTH, text, LENGTH, 3);

	expect_content(packed, size, text, LENGTH);
	free(packed);
	free(text);
}
END_TEST

START_TEST(truncated_compressed_files_are_errors)
{
	char *text = make_text();
	char *packed = kv_calloc(2, LENGTH);
	size_t size = gzip(text, LENGTH, packed, 2 * LENGTH);

	expect_failure(packed, size / 2, "gzip data is truncated");
	expect_failure(packed, size - 1, "gzip data is truncated");
	expect_failure(packed, 3, "gzip data is truncated");
	size = ZSTD_compress(packed, 2 * LENGTH, text, LENGTH, 3);
	expect_failure(packed, size / 2, "zstd data is truncated");
	free(packed);
	free(text);
}
END_TEST

START_TEST(damaged_compressed_files_are_errors)
{
	char *text = make_text();
	char *packed = kv_calloc(2, LENGTH);
	size_t size = gzip(text, LENGTH, packed, 2 * LENGTH);

	packed[size / 2] ^= 0x55;
	expect_failure(packed, size, "damaged gzip data");
	size = ZSTD_compress(packed, 2 * LENGTH, text, LENGTH, 3);
	memset(packed + size / 2, 0xff, 100);
	expect_failure(packed, size, "zstd data");
	free(packed);
	free(text);
}
END_TEST

START_TEST(a_byte_order_mark_is_dropped)
{
	expect_content("\xef\xbb\xbf" "abc", 6, "abc", 3);
	expect_content("\xef\xbb\xbf", 3, "", 0);
	expect_content("abc\xef\xbb\xbf", 6, "abc\xef\xbb\xbf", 6);
}
END_TEST

START_TEST(a_missing_file_and_a_folder_are_told_apart)
{
	struct kv_error err;

	ck_assert_ptr_null(kv_input_open("no-such-file", &err));
	ck_assert_int_eq(err.status, KV_EXIT_MISSING);
	ck_assert_str_eq(err.text, "no-such-file: No such file or directory");
	ck_assert_ptr_null(kv_input_open(".", &err));
	ck_assert_int_eq(err.status, KV_EXIT_IO);
}
END_TEST

START_TEST(the_fingerprint_is_that_of_the_bytes_on_disk)
{
	char path[KV_PATH_SIZE], fingerprint[KV_FINGERPRINT_SIZE], expected[KV_FINGERPRINT_SIZE];
	char *text = make_text();
	char *packed = kv_calloc(2, LENGTH);
	size_t size = gzip(text, LENGTH, packed, 2 * LENGTH);
	XXH128_hash_t hash = XXH3_128bits(packed, size);
	struct kv_error err;
	struct kv_input *input = kv_input_open(kv_write_file(path, packed, size), &err);

	ck_assert_ptr_nonnull(input);
	ck_assert_int_eq(kv_input_fingerprint(input, fingerprint, &err), 0);
	snprintf(expected, sizeof expected, "%016llx%016llx", (unsigned long long)hash.high64,
	         (unsigned long long)hash.low64);
	ck_assert_str_eq(fingerprint, expected);
	kv_input_close(input);
	unlink(path);
	free(packed);
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("input");
	TCase *tc = tcase_create("bytes");

	tcase_add_test(tc, plain_files_come_as_they_are);
	tcase_add_test(tc, gzip_files_are_unpacked_member_by_member);
	tcase_add_test(tc, zstd_files_are_unpacked);
	tcase_add_test(tc, truncated_compressed_files_are_errors);
	tcase_add_test(tc, damaged_compressed_files_are_errors);
	tcase_add_test(tc, a_byte_order_mark_is_dropped);
	tcase_add_test(tc, a_missing_file_and_a_folder_are_told_apart);
	tcase_add_test(tc, the_fingerprint_is_that_of_the_bytes_on_disk);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
