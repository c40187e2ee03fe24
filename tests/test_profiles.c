#include "config.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/profiles/profiles.h"
#include "tests/support.h"

static char *read_source(const char *kind, const char *name, const char *extension)
{
	char path[4096];
	const char *srcdir = getenv("srcdir");

	snprintf(path, sizeof path, "%s/%s/%s/%s.%s", srcdir ? srcdir : ".",
	         strcmp(kind, "presets") == 0 ? "workloads" : "sim/profiles", kind, name, extension);
	FILE *f = fopen(path, "r");

	if (!f)
		return NULL;
	char *text = kv_calloc(1 << 20, 1);
	size_t n = fread(text, 1, (1 << 20) - 1, f);

	text[n] = '\0';
	fclose(f);
	return text;
}

START_TEST(every_profile_is_its_file_byte_for_byte)
{
	static const char *const extensions[] = {"json", "yaml"};
	int seen = 0;

	for (const struct kv_profile *p = kv_profiles; p->kind; p++, seen++) {
		char *text = NULL;

		for (int i = 0; i < 2 && !text; i++)
			text = read_source(p->kind, p->name, extensions[i]);
		ck_assert_msg(text, "no file for %s/%s", p->kind, p->name);
		ck_assert_str_eq(p->text, text);
		free(text);
	}
	ck_assert_int_gt(seen, 0);
}
END_TEST

START_TEST(iterating_a_kind_stays_inside_it)
{
	int seen = 0;

	for (const struct kv_profile *p = kv_profile_next("models", NULL); p; p = kv_profile_next("models", p), seen++)
		ck_assert_str_eq(p->kind, "models");
	ck_assert_int_gt(seen, 0);
	ck_assert_ptr_null(kv_profile_next("mode", NULL));
}
END_TEST

START_TEST(names_are_exact)
{
	ck_assert_ptr_nonnull(kv_profile_text("models", "llama-3.1-8b"));
	ck_assert_ptr_null(kv_profile_text("models", "llama-3.1-8"));
	ck_assert_ptr_null(kv_profile_text("hardware", "llama-3.1-8b"));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("profiles");
	TCase *tc = tcase_create("profiles");

	tcase_add_test(tc, every_profile_is_its_file_byte_for_byte);
	tcase_add_test(tc, iterating_a_kind_stays_inside_it);
	tcase_add_test(tc, names_are_exact);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
