#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/yaml_tree.h"
#include "tests/support.h"

static struct kv_node *parse(const char *text, struct kv_error *err)
{
	return kv_yaml_parse(text, strlen(text), "in.yaml", err);
}

START_TEST(a_scenario_becomes_a_tree)
{
	struct kv_error err;
	struct kv_node *root = parse("model: llama-3.1-70b  # comment\n"
	                             "engine: {tensor_parallel_size: 4}\n"
	                             "output:\n"
	                             "  write: [summary, \"null\"]\n"
	                             "  dir: ~\n", &err);
	const struct kv_node *output;

	ck_assert_ptr_nonnull(root);
	ck_assert_int_eq(root->kind, KV_NODE_MAPPING);
	ck_assert_str_eq(kv_node_get(root, "model")->text, "llama-3.1-70b");
	ck_assert_str_eq(kv_node_get(kv_node_get(root, "engine"), "tensor_parallel_size")->text, "4");
	output = kv_node_get(root, "output");
	ck_assert_uint_eq(kv_node_get(output, "write")->children, 2);
	ck_assert_uint_eq(kv_node_get(output, "write")->line, 4);
	ck_assert(!kv_node_is_null(&kv_node_get(output, "write")->child[1]));
	ck_assert(kv_node_is_null(kv_node_get(output, "dir")));
	ck_assert_ptr_null(kv_node_get(root, "hardware"));
	kv_yaml_free(root);
}
END_TEST

START_TEST(json_is_yaml)
{
	struct kv_error err;
	struct kv_node *root = parse("{\n\t\"architectures\": [\"LlamaForCausalLM\"],\n\t\"head_dim\":128,"
	                             "\"rope\":{\"factor\":8.0,\"path\":\"a\\/b\"},\"x\":null}\n", &err);

	ck_assert_msg(root != NULL, "%s", err.text);
	ck_assert_str_eq(kv_node_get(root, "head_dim")->text, "128");
	ck_assert_str_eq(kv_node_get(kv_node_get(root, "rope"), "path")->text, "a/b");
	ck_assert(kv_node_is_null(kv_node_get(root, "x")));
	kv_yaml_free(root);
}
END_TEST

static const struct {
	const char *text;
	const char *error;
} refused[] = {
	{ "a: 1\nb: 2\na: 3\n", "in.yaml:3: key 'a' stands here twice (first in line 1)" },
	{ "", "in.yaml:1: the file is empty" },
	{ "# only a comment\n", "in.yaml:2: the file is empty" },
	{ "a: &x 1\nb: *x\n", "in.yaml:2: aliases (*name) are not supported: write the value out" },
	{ "a: !!int 1\n", "in.yaml:1: tags (!) are not supported" },
	{ "a: 1\n---\nb: 2\n", "in.yaml:2: a second document begins; only one is allowed" },
	{ "? [1, 2]\n: 3\n", "in.yaml:1: a key must be plain text" },
	{ "a: \"x\\0y\"\n", "in.yaml:1: a NUL character is not allowed" },
	{ "a: [1, 2\n", "in.yaml:2: not YAML: did not find expected ',' or ']' while parsing a flow sequence" },
	{ "a:\n\t- 1\n",
	  "in.yaml:2: not YAML: found character that cannot start any token while scanning for the next token" },
	{ "a: \x01\n", "in.yaml:1: not YAML: control characters are not allowed" },
};

START_TEST(what_is_refused_names_the_line)
{
	struct kv_error err = { 0 };

	ck_assert_ptr_null(parse(refused[_i].text, &err));
	ck_assert_int_eq(err.status, KV_EXIT_DATA);
	ck_assert_str_eq(err.text, refused[_i].error);
}
END_TEST

START_TEST(depth_is_limited)
{
	char text[201];
	struct kv_error err;

	memset(text, '[', 100);
	memset(text + 100, ']', 100);
	text[200] = '\0';
	ck_assert_ptr_null(parse(text, &err));
	ck_assert_str_eq(err.text, "in.yaml:1: more than 64 levels deep");
}
END_TEST

START_TEST(errors_of_fields_name_file_line_and_key)
{
	static const char *const names[] = { "memory", "memory_bandwidth" };
	struct kv_error err;
	struct kv_node *root = parse("memory: [1]\nmemory_bandwith: 3\n", &err);

	ck_assert_int_eq(kv_node_expect_keys(root, names, 2, KV_EXIT_DATA, &err), -1);
	ck_assert_str_eq(err.text, "in.yaml:2: unknown key 'memory_bandwith': did you mean 'memory_bandwidth'?");
	ck_assert_int_eq(kv_node_expect(kv_node_get(root, "memory"), KV_NODE_SCALAR, KV_EXIT_USAGE, &err), -1);
	ck_assert_str_eq(err.text, "in.yaml:1: memory: a single value is expected here, not a list");
	ck_assert_int_eq(err.status, KV_EXIT_USAGE);
	kv_yaml_free(root);
}
END_TEST

/* "\\e" is the escape character in a quoted scalar (YAML 1.1, 5.7). */
START_TEST(what_steers_a_terminal_is_shown_as_question_marks)
{
	struct kv_error err;
	struct kv_node *root = parse("\"\\e[31mkey\": \"\\e[2Jvalue\"\n", &err);

	kv_node_fail(&root->child[0], KV_EXIT_USAGE, &err, "'%s' is not allowed", root->child[0].text);
	ck_assert_str_eq(err.text, "in.yaml:1: ?[31mkey: '?[2Jvalue' is not allowed");
	kv_yaml_free(root);
}
END_TEST

static const struct {
	const char *path, *text, *error;
} settings[] = {
	{"a", "9", NULL},
	{"list.1.x", "{y: 7}", NULL},
	{"new.deep", "z", NULL},
	{"list.2", "1", "option: '2' is no place in a list of 2: counted from 0"},
	{"a.b", "1", "option: a is the single value '1', which has no key 'b': set it as a whole"},
	{"a", "", "option: a value is missing"},
	{"a", "[1", "option:2: not YAML"},
};

START_TEST(values_can_be_put_in)
{
	const struct kv_yaml_setting setting = {(char *)settings[_i].path, (char *)settings[_i].text};
	struct kv_error err;
	struct kv_node *root = parse("a: 1\nlist: [5, {x: 2, k: 3}]\n", &err);
	int status = kv_yaml_set(root, &setting, "option", &err);

	if (settings[_i].error != NULL) {
		ck_assert_int_eq(status, -1);
		ck_assert_msg(strncmp(err.text, settings[_i].error, strlen(settings[_i].error)) == 0, "%s", err.text);
	} else {
		ck_assert_int_eq(status, 0);
	}
	kv_yaml_free(root);
}
END_TEST

START_TEST(what_was_put_in_is_found)
{
	const struct kv_yaml_setting setting = {(char *)"list.1.x", (char *)"{y: 7}"};
	struct kv_error err;
	struct kv_node *root = parse("a: 1\nlist: [5, {x: 2, k: 3}]\n", &err);
	const struct kv_node *item = &kv_node_get(root, "list")->child[1], *y;

	ck_assert_int_eq(kv_yaml_set(root, &setting, "option", &err), 0);
	y = kv_node_get(kv_node_get(item, "x"), "y");
	ck_assert_str_eq(y->text, "7");
	ck_assert_str_eq(kv_node_get(item, "k")->text, "3");
	kv_node_fail(y, KV_EXIT_USAGE, &err, "is odd");
	ck_assert_str_eq(err.text, "option: y: is odd");
	kv_yaml_free(root);
}
END_TEST

START_TEST(files_are_read_and_missing_ones_named)
{
	char path[] = "test_yaml_tree.XXXXXX";
	struct kv_error err;
	struct kv_node *root;
	FILE *out = fdopen(mkstemp(path), "w");

	fputs("\xef\xbb\xbfseed: 1\r\nmodel: x", out);
	fclose(out);
	root = kv_yaml_read(path, &err);
	ck_assert_msg(root != NULL, "%s", err.text);
	ck_assert_str_eq(kv_node_get(root, "seed")->text, "1");
	ck_assert_str_eq(kv_node_get(root, "model")->text, "x");
	kv_yaml_free(root);
	remove(path);
	ck_assert_ptr_null(kv_yaml_read("no/such/file.yaml", &err));
	ck_assert_int_eq(err.status, KV_EXIT_MISSING);
	ck_assert_str_eq(err.text, "no/such/file.yaml: No such file or directory");
	ck_assert_ptr_null(kv_yaml_read(".", &err));
	ck_assert_int_eq(err.status, KV_EXIT_IO);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("yaml_tree");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, a_scenario_becomes_a_tree);
	tcase_add_test(tc, json_is_yaml);
	tcase_add_loop_test(tc, what_is_refused_names_the_line, 0, sizeof refused / sizeof refused[0]);
	tcase_add_test(tc, depth_is_limited);
	tcase_add_test(tc, errors_of_fields_name_file_line_and_key);
	tcase_add_test(tc, what_steers_a_terminal_is_shown_as_question_marks);
	tcase_add_loop_test(tc, values_can_be_put_in, 0, sizeof settings / sizeof *settings);
	tcase_add_test(tc, what_was_put_in_is_found);
	tcase_add_test(tc, files_are_read_and_missing_ones_named);
	suite_add_tcase(suite, tc);
	return kv_run_suite(suite);
}
