/* Published start-up figures, row by row (facts and links in tests/data/sizing-cases.csv): each number follows from the
 * others, or the program finds the rule that explains it. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/csv_table.h"
#include "sim/base/memory.h"
#include "sim/sizing/log_check.h"
#include "tests/support.h"

static const struct {
	const char *name;
	enum kv_fact fact;
} keys[] = {
	{"activation", KV_FACT_ACTIVATION}, {"block_size", KV_FACT_BLOCK_SIZE}, {"blocks", KV_FACT_BLOCKS},
	{"concurrency", KV_FACT_CONCURRENCY}, {"cpu_blocks", KV_FACT_CPU_BLOCKS}, {"equivalent", KV_FACT_EQUIVALENT},
	{"graphs", KV_FACT_GRAPHS}, {"graphs_estimated", KV_FACT_GRAPHS_ESTIMATED}, {"k_size", KV_FACT_K_SIZE}, {"kv", KV_FACT_KV},
	{"kv_bytes", KV_FACT_KV_BYTES}, {"v_size", KV_FACT_V_SIZE},
	{"max_len", KV_FACT_MAX_LEN}, {"needed", KV_FACT_NEEDED}, {"non_torch", KV_FACT_NON_TORCH},
	{"requested", KV_FACT_REQUESTED}, {"storable", KV_FACT_STORABLE}, {"suggested", KV_FACT_SUGGESTED},
	{"to_keep", KV_FACT_TO_KEEP}, {"tokens", KV_FACT_TOKENS}, {"total", KV_FACT_TOTAL},
	{"utilization", KV_FACT_UTILIZATION}, {"weights", KV_FACT_WEIGHTS},
};

static struct kv_csv_table *table;

static const char *cell(size_t row, const char *column)
{
	return kv_csv_table_cell(table, row, kv_csv_table_column(table, column));
}

static void add_fact(struct kv_log *log, const char *name, const char *number)
{
	const char *point = strchr(number, '.');

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!strcmp(keys[i].name, name)) {
			kv_log_add(log, keys[i].fact, strtod(number, NULL), point ? (int)strlen(point + 1) : -1, 0, "");
			return;
		}
	ck_abort_msg("no fact '%s'", name);
}

static struct kv_log *log_of(size_t row)
{
	static const char *const engines[] = {"", "vllm", "sglang", "tensorrt-llm", "llama.cpp"};
	struct kv_log *log = kv_calloc(1, sizeof *log);
	char *text = kv_strdup(cell(row, "facts")), *rest = text, *pair;

	for (int i = 1; i < 5; i++)
		if (!strcmp(engines[i], cell(row, "engine")))
			log->engine = (enum kv_log_engine)i;
	while ((pair = strsep(&rest, " ")) != NULL) {
		char *number = strchr(pair, '=');

		*number = '\0';
		add_fact(log, pair, number + 1);
	}
	free(text);
	return log;
}

static bool mentions(const struct kv_check_list *list, const char *rule)
{
	for (size_t i = 0; i < list->count; i++)
		if (strstr(list->check[i].rule, rule))
			return true;
	return false;
}

static void print(const struct kv_check_list *list, const char *id)
{
	for (size_t i = 0; i < list->count; i++)
		printf("# case %s: %s %s %s %d %s\n", id, list->check[i].what, list->check[i].printed, list->check[i].computed,
		       list->check[i].verdict, list->check[i].rule);
}

static void check_row(size_t row)
{
	struct kv_error err;
	struct kv_check_given given = {
		.tensor_parallel = (uint32_t)strtoul(cell(row, "tp"), NULL, 10),
		.block_size = (uint32_t)strtoul(cell(row, "block_size"), NULL, 10),
		.cache = kv_cache_format_find(cell(row, "kv_cache_dtype"), &err),
	};
	struct kv_model *model = *cell(row, "model") ? kv_model_load(cell(row, "model"), &err) : NULL;
	struct kv_log *log = log_of(row);
	bool explained = !strcmp(cell(row, "verdict"), "explained");
	struct kv_check_list list;

	given.model = model;
	ck_assert_msg(model || !*cell(row, "model"), "%s", err.text);
	kv_log_check(log, &given, &list);
	if (list.verdicts[KV_CHECK_DIFFERS] || (list.verdicts[KV_CHECK_EXPLAINED] > 0) != explained
	    || !mentions(&list, cell(row, "rule")))
		print(&list, cell(row, "id"));
	ck_assert_msg(list.count > 0, "case %s: nothing checked", cell(row, "id"));
	ck_assert_msg(!list.verdicts[KV_CHECK_DIFFERS], "case %s differs", cell(row, "id"));
	ck_assert_msg((list.verdicts[KV_CHECK_EXPLAINED] > 0) == explained, "case %s: verdict", cell(row, "id"));
	ck_assert_msg(mentions(&list, cell(row, "rule")), "case %s: no rule '%s'", cell(row, "id"), cell(row, "rule"));
	kv_check_list_fini(&list);
	kv_log_free(log);
	kv_model_free(model);
}

START_TEST(every_published_case_is_brought_about)
{
	struct kv_error err;
	char path[4096];
	const char *srcdir = getenv("srcdir");

	snprintf(path, sizeof path, "%s/tests/data/sizing-cases.csv", srcdir ? srcdir : ".");
	table = kv_csv_table_read(path, &err);
	ck_assert_msg(table != NULL, "%s", err.text);
	ck_assert_uint_ge(table->rows, 38);
	for (size_t row = 0; row < table->rows; row++)
		check_row(row);
	kv_csv_table_free(table);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sizing_cases");
	TCase *tc = tcase_create("sizing_cases");

	tcase_add_test(tc, every_published_case_is_brought_about);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
