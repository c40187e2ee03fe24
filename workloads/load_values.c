#include "config.h"

#include "workloads/load_values.h"

#include <string.h>

#include "sim/base/quantity.h"
#include "workloads/format.h"

/* 1 = *node is the scalar of that key, 0 = the key is absent, -1 = it has another kind of value. */
static int find_scalar(const struct kv_node *mapping, const char *key, const struct kv_node **node,
                       struct kv_error *err)
{
	*node = kv_node_get(mapping, key);
	if (*node == NULL)
		return 0;
	return kv_node_expect(*node, KV_NODE_SCALAR, KV_EXIT_USAGE, err) == 0 ? 1 : -1;
}

int kv_read_count(const struct kv_node *mapping, const char *key, uint64_t minimum, uint64_t maximum, uint64_t *out,
                  struct kv_error *err)
{
	const struct kv_node *node;
	int found = find_scalar(mapping, key, &node, err);

	if (found <= 0)
		return found;
	return kv_parse_count(node->text, minimum, maximum, out, err) != 0 ? kv_node_fail_in(node, err) : 0;
}

int kv_read_double(const struct kv_node *mapping, const char *key, double minimum, double maximum, double *out,
                   struct kv_error *err)
{
	const struct kv_node *node;
	int found = find_scalar(mapping, key, &node, err);

	if (found <= 0)
		return found;
	return kv_parse_double(node->text, minimum, maximum, out, err) != 0 ? kv_node_fail_in(node, err) : 0;
}

int kv_read_fraction(const struct kv_node *mapping, const char *key, double *out, struct kv_error *err)
{
	const struct kv_node *node;
	int found = find_scalar(mapping, key, &node, err);

	if (found <= 0)
		return found;
	return kv_parse_fraction(node->text, 0, 1, out, err) != 0 ? kv_node_fail_in(node, err) : 0;
}

int kv_read_time(const struct kv_node *node, kv_time *out, struct kv_error *err)
{
	if (node == NULL)
		return 0;
	if (kv_node_expect(node, KV_NODE_SCALAR, KV_EXIT_USAGE, err) != 0)
		return -1;
	return kv_parse_time(node->text, 0, KV_ARRIVAL_MAX, out, err) != 0 ? kv_node_fail_in(node, err) : 0;
}

int kv_read_bool(const struct kv_node *mapping, const char *key, bool *out, struct kv_error *err)
{
	const struct kv_node *node;
	int found = find_scalar(mapping, key, &node, err);

	if (found <= 0)
		return found;
	return kv_parse_bool(node->text, out, err) != 0 ? kv_node_fail_in(node, err) : 0;
}

int kv_read_choice(const struct kv_node *mapping, const char *key, const char *const *names, unsigned *out,
                   struct kv_error *err)
{
	const struct kv_node *node;
	int found = find_scalar(mapping, key, &node, err);

	if (found <= 0)
		return found;
	for (unsigned i = 0; names[i] != NULL; i++)
		if (strcmp(names[i], node->text) == 0) {
			*out = i;
			return 0;
		}
	return kv_node_fail(node, KV_EXIT_USAGE, err, "'%s' is not allowed: write %s or %s", node->text, names[0],
	                    names[1]);
}

int kv_read_text(const struct kv_node *mapping, const char *key, const char **out, struct kv_error *err)
{
	const struct kv_node *node;
	int found = find_scalar(mapping, key, &node, err);

	if (found <= 0)
		return found;
	if (*node->text == '\0' || strpbrk(node->text, " :@") != NULL)
		return kv_node_fail(node, KV_EXIT_USAGE, err, "'%s' is no name: no blanks, ':' or '@'", node->text);
	*out = node->text;
	return 0;
}

int kv_read_draw(const struct kv_node *mapping, const char *key, const char *fallback, double most,
                 struct kv_draw *out, struct kv_error *err)
{
	const struct kv_node *node = kv_node_get(mapping, key);

	if (node == NULL)
		return kv_draw_parse(out, fallback, "", err);
	if (kv_draw_read(out, node, err) != 0)
		return -1;
	if (kv_draw_typical(out) > most)
		return kv_node_fail(node, KV_EXIT_USAGE, err, "draws %g; allowed: up to %.10g", kv_draw_typical(out),
		                    most);
	return 0;
}
