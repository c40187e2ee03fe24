#include "config.h"

#include "sim/latency/latency_table.h"

#include <stdlib.h>

#include "sim/base/memory.h"

/* A node of an axis: its children are a run of nodes of the next axis; of the last axis it holds the time. */
struct node {
	double at;
	size_t first, count;  /* children, in nodes of the next axis */
	double seconds;
};

struct kv_latency_table {
	struct node *axis[KV_TABLE_AXES];
	size_t nodes[KV_TABLE_AXES];
	struct kv_latency_region region;
};

struct point {
	double at[KV_TABLE_AXES];
	double seconds;
};

static void locate(const struct kv_step_work *work, double at[KV_TABLE_AXES])
{
	double decodes = (double)work->decode_seqs;

	at[0] = (double)work->prefill_tokens;
	at[1] = (double)work->prefill_past;
	at[2] = decodes;
	at[3] = decodes > 0.0 ? (double)work->decode_context / decodes : 0.0;
}

static int by_axes(const void *a, const void *b)
{
	const struct point *x = a, *y = b;

	for (size_t k = 0; k < KV_TABLE_AXES; k++)
		if (x->at[k] != y->at[k])
			return x->at[k] < y->at[k] ? -1 : 1;
	return 0;
}

static struct node *add_node(struct kv_latency_table *table, size_t axis, double at)
{
	struct node *node = &table->axis[axis][table->nodes[axis]++];

	*node = (struct node){.at = at};
	if (axis + 1 < KV_TABLE_AXES)
		node->first = table->nodes[axis + 1];
	return node;
}

/* The run of points [begin, end) that agree on all axes before this one becomes nodes. */
static void build(struct kv_latency_table *table, const struct point *points, size_t begin, size_t end, size_t axis)
{
	while (begin < end) {
		size_t same = begin;
		double sum = 0;

		for (; same < end && points[same].at[axis] == points[begin].at[axis]; same++)
			sum += points[same].seconds;
		size_t index = table->nodes[axis];

		add_node(table, axis, points[begin].at[axis]);
		if (axis + 1 < KV_TABLE_AXES) {
			build(table, points, begin, same, axis + 1);
			table->axis[axis][index].count = table->nodes[axis + 1] - table->axis[axis][index].first;
		} else {
			table->axis[axis][index].seconds = sum / (double)(same - begin);
		}
		begin = same;
	}
}

struct kv_latency_table *kv_latency_table_create(const struct kv_timed_work *rows, size_t count)
{
	struct kv_latency_table *table = kv_calloc(1, sizeof *table);
	struct point *points = kv_calloc(count, sizeof *points);

	for (size_t i = 0; i < count; i++) {
		locate(&rows[i].work, points[i].at);
		points[i].seconds = rows[i].seconds;
		kv_latency_region_extend(&table->region, &rows[i].work);
	}
	qsort(points, count, sizeof *points, by_axes);
	for (size_t k = 0; k < KV_TABLE_AXES; k++)
		table->axis[k] = kv_calloc(count, sizeof **table->axis);
	build(table, points, 0, count, 0);
	free(points);
	return table;
}

void kv_latency_table_free(struct kv_latency_table *table)
{
	if (!table)
		return;
	for (size_t k = 0; k < KV_TABLE_AXES; k++)
		free(table->axis[k]);
	free(table);
}

void kv_latency_table_region(const struct kv_latency_table *table, struct kv_latency_region *region)
{
	*region = table->region;
}

/* The last of count > 1 nodes, short of the final one, that lies at or below the value. */
static size_t lower_neighbour(const struct node *nodes, size_t count, double at)
{
	size_t low = 0, high = count - 1;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (nodes[middle].at <= at)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static double evaluate(const struct kv_latency_table *table, size_t axis, size_t first, size_t count,
                       const double at[KV_TABLE_AXES])
{
	const struct node *nodes = &table->axis[axis][first];
	size_t low = count > 1 ? lower_neighbour(nodes, count, at[axis]) : 0;
	double value[2] = {0};

	for (size_t i = 0; i < 2 && low + i < count; i++) {
		const struct node *node = &nodes[low + i];

		value[i] = axis + 1 < KV_TABLE_AXES ? evaluate(table, axis + 1, node->first, node->count, at) :
		                                      node->seconds;
	}
	if (count == 1)
		return value[0];

	double share = (at[axis] - nodes[low].at) / (nodes[low + 1].at - nodes[low].at);

	if (share <= 0.0)
		return value[0];
	double seconds = value[0] + share * (value[1] - value[0]);

	return share > 1.0 && seconds < value[1] ? value[1] : seconds;
}

double kv_latency_table_seconds(const struct kv_latency_table *table, const struct kv_step_work *work)
{
	double at[KV_TABLE_AXES];

	locate(work, at);
	return evaluate(table, 0, 0, table->nodes[0], at);
}
