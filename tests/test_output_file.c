#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "results/output_file.h"
#include "tests/support.h"

static char folder[] = "/tmp/kvsim-test-XXXXXX";
static char path[64], temporary[80];
static struct kv_error err;

static void make_folder(void)
{
	strcpy(strrchr(folder, '-'), "-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/a.csv", folder);
	snprintf(temporary, sizeof temporary, "%s.tmp", path);
}

static void remove_folder(void)
{
	unlink(path);
	unlink(temporary);
	rmdir(folder);
}

START_TEST(a_file_has_its_final_name_only_after_commit)
{
	struct kv_output *out = kv_output_create(path, &err);

	ck_assert_ptr_nonnull(out);
	kv_output_text(out, "a,b\n");
	kv_output_printf(out, "%d,%s\n", 7, "x");
	ck_assert_int_eq(kv_output_close(out, &err), 0);
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_int_eq(kv_output_commit(out, &err), 0);
	kv_output_free(out);
	ck_assert_int_eq(access(path, F_OK), 0);
	ck_assert_int_ne(access(temporary, F_OK), 0);
}
END_TEST

START_TEST(a_file_that_is_not_committed_leaves_nothing)
{
	struct kv_output *out = kv_output_create(path, &err);

	kv_output_text(out, "half");
	kv_output_free(out);
	ck_assert_int_ne(access(path, F_OK), 0);
	ck_assert_int_ne(access(temporary, F_OK), 0);
}
END_TEST

START_TEST(more_than_a_buffer_arrives_whole_and_in_order)
{
	enum { LINES = 200000 };
	struct kv_output *out = kv_output_create(path, &err);
	char line[32];
	FILE *in;

	for (int i = 0; i < LINES; i++) {
		char *p = kv_output_room(out, 32);

		kv_output_advance(out, p + sprintf(p, "%d\n", i));
	}
	ck_assert_int_eq(kv_output_close(out, &err), 0);
	ck_assert_int_eq(kv_output_commit(out, &err), 0);
	kv_output_free(out);
	in = fopen(path, "r");
	for (int i = 0; i < LINES; i++) {
		ck_assert_ptr_nonnull(fgets(line, sizeof line, in));
		ck_assert_int_eq(atoi(line), i);
	}
	ck_assert_ptr_null(fgets(line, sizeof line, in));
	fclose(in);
}
END_TEST

START_TEST(a_pipe_is_written_in_place_and_stays)
{
	struct kv_output *out;
	struct stat status;
	char text[8] = "";
	int in;

	ck_assert_int_eq(mkfifo(path, 0600), 0);
	in = open(path, O_RDONLY | O_NONBLOCK);
	out = kv_output_create(path, &err);
	ck_assert_ptr_nonnull(out);
	kv_output_text(out, "a,b\n");
	ck_assert_int_eq(kv_output_close(out, &err), 0);
	ck_assert_int_eq(kv_output_commit(out, &err), 0);
	kv_output_free(out);
	ck_assert_int_eq(read(in, text, sizeof text), 4);
	ck_assert_str_eq(text, "a,b\n");
	close(in);
	ck_assert_int_eq(stat(path, &status), 0);
	ck_assert(S_ISFIFO(status.st_mode));
	ck_assert_int_ne(access(temporary, F_OK), 0);
}
END_TEST

START_TEST(a_full_disk_is_an_io_error_at_close)
{
	int full = open("/dev/full", O_WRONLY);
	struct kv_output *out;

	if (full < 0) {
		printf("# skipped: no /dev/full\n");
		return;
	}
	out = kv_output_to_descriptor(full, "standard output");
	kv_output_text(out, "x");
	ck_assert_int_ne(kv_output_close(out, &err), 0);
	ck_assert_int_eq(err.status, KV_EXIT_IO);
	ck_assert_str_eq(err.text, "standard output: write failed: No space left on device");
	kv_output_free(out);
	close(full);
}
END_TEST

START_TEST(the_first_failure_is_kept_over_later_writes)
{
	static char big[1 << 20];
	int full = open("/dev/full", O_WRONLY);
	struct kv_output *out;

	if (full < 0) {
		printf("# skipped: no /dev/full\n");
		return;
	}
	out = kv_output_to_descriptor(full, "x");
	for (int i = 0; i < 3; i++)
		kv_output_bytes(out, big, sizeof big);
	ck_assert_int_ne(kv_output_close(out, &err), 0);
	kv_output_free(out);
	close(full);
}
END_TEST

START_TEST(a_folder_that_does_not_exist_is_an_io_error)
{
	ck_assert_ptr_null(kv_output_create("/nonexistent/folder/a.csv", &err));
	ck_assert_int_eq(err.status, KV_EXIT_IO);
	ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/folder/a.csv.tmp"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("output_file");
	TCase *tc = tcase_create("output");

	tcase_add_checked_fixture(tc, make_folder, remove_folder);
	tcase_add_test(tc, a_file_has_its_final_name_only_after_commit);
	tcase_add_test(tc, a_file_that_is_not_committed_leaves_nothing);
	tcase_add_test(tc, more_than_a_buffer_arrives_whole_and_in_order);
	tcase_add_test(tc, a_pipe_is_written_in_place_and_stays);
	tcase_add_test(tc, a_full_disk_is_an_io_error_at_close);
	tcase_add_test(tc, the_first_failure_is_kept_over_later_writes);
	tcase_add_test(tc, a_folder_that_does_not_exist_is_an_io_error);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
