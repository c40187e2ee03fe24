#include "config.h"

#include "sim/profiles/served_figures.h"

#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/base/quantity.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { LARGEST_ERROR = 100000 };   /* percent */

/* The value of a key that must be there, as text. */
static const struct kv_node *scalar(const struct kv_node *mapping, const char *key, struct kv_error *err)
{
	const struct kv_node *node = kv_node_get(mapping, key);

	if (!node) {
		kv_node_fail(mapping, KV_EXIT_DATA, err, "%s is missing", key);
		return NULL;
	}
	return kv_node_expect(node, KV_NODE_SCALAR, KV_EXIT_DATA, err) ? NULL : node;
}

static int read_text(const struct kv_node *mapping, const char *key, char **out, struct kv_error *err)
{
	const struct kv_node *node = scalar(mapping, key, err);

	if (!node)
		return -1;
	*out = kv_strdup(node->text);
	return 0;
}

static int read_count(const struct kv_node *mapping, const char *key, uint64_t *out, struct kv_error *err)
{
	const struct kv_node *node = scalar(mapping, key, err);

	if (!node)
		return -1;
	return kv_parse_count(node->text, 1, UINT32_MAX, out, err) ? kv_node_fail_in(node, err) : 0;
}

static int read_percent(const struct kv_node *mapping, const char *key, double least, double *out, struct kv_error *err)
{
	const struct kv_node *node = scalar(mapping, key, err);

	if (!node)
		return -1;
	return kv_parse_double(node->text, least, LARGEST_ERROR, out, err) ? kv_node_fail_in(node, err) : 0;
}

static int read_figure(const struct kv_node *node, struct kv_served_figure *out, struct kv_error *err)
{
	static const char *const keys[] = {"engine", "model", "weight_bits", "rows", "ttft", "ttft_bias", "tpot", "tpot_bias"};

	return kv_node_expect_keys(node, keys, COUNT(keys), KV_EXIT_DATA, err) ||
	               read_text(node, "engine", &out->engine, err) || read_text(node, "model", &out->model, err) ||
	               read_count(node, "weight_bits", &out->weight_bits, err) ||
	               read_count(node, "rows", &out->rows, err) || read_percent(node, "ttft", 0, &out->ttft, err) ||
	               read_percent(node, "ttft_bias", -LARGEST_ERROR, &out->ttft_bias, err) ||
	               read_percent(node, "tpot", 0, &out->tpot, err) ||
	               read_percent(node, "tpot_bias", -LARGEST_ERROR, &out->tpot_bias, err)
	               ? -1 : 0;
}

int kv_served_figures_read(const struct kv_node *node, struct kv_served_figures *out, struct kv_error *err)
{
	static const char *const keys[] = {"loads", "figures"};
	const struct kv_node *list, *loads;

	if (kv_node_expect_keys(node, keys, COUNT(keys), KV_EXIT_DATA, err) || (loads = scalar(node, "loads", err)) == NULL)
		return -1;
	out->loads = kv_strdup(loads->text);
	list = kv_node_get(node, "figures");
	if (!list)
		return kv_node_fail(node, KV_EXIT_DATA, err, "figures is missing");
	if (kv_node_expect(list, KV_NODE_SEQUENCE, KV_EXIT_DATA, err))
		return -1;
	out->figure = kv_calloc(list->children, sizeof *out->figure);
	for (size_t i = 0; i < list->children; i++)
		if (read_figure(&list->child[i], &out->figure[out->count++], err))
			return -1;
	return 0;
}

void kv_served_figures_fini(struct kv_served_figures *figures)
{
	for (size_t i = 0; i < figures->count; i++) {
		free(figures->figure[i].engine);
		free(figures->figure[i].model);
	}
	free(figures->figure);
	free(figures->loads);
}
