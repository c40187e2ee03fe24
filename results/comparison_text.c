/* Markdown that also reads well as plain text: columns are padded. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/comparison.h"
#include "sim/base/memory.h"

struct table {
	char **cell;      /* rows * columns */
	size_t rows, columns;
	unsigned left;    /* bits of the columns that are text */
};

static bool is_left(const struct table *table, size_t column)
{
	return column < 8 * sizeof table->left && (table->left >> column & 1) != 0;
}

static void add_cells(struct table *table, const char *const *cells)
{
	table->cell = kv_realloc(table->cell, (table->rows + 1) * table->columns, sizeof *table->cell);
	for (size_t c = 0; c < table->columns; c++)
		table->cell[table->rows * table->columns + c] = kv_strdup(cells[c]);
	table->rows++;
}

static void write_row(const struct table *table, size_t row, const int *width, struct kv_output *out)
{
	for (size_t c = 0; c < table->columns; c++)
		kv_output_printf(out, is_left(table, c) ? "| %-*s " : "| %*s ", width[c],
		                 table->cell[row * table->columns + c]);
	kv_output_text(out, "|\n");
}

static void write_rule(const struct table *table, const int *width, struct kv_output *out)
{
	for (size_t c = 0; c < table->columns; c++) {
		kv_output_text(out, "| ");
		for (int i = 0; i < width[c] - 1; i++)
			kv_output_text(out, "-");
		kv_output_text(out, is_left(table, c) ? "- " : ": ");
	}
	kv_output_text(out, "|\n");
}

/* The first row is the header. Frees the cells. */
static void write_table(struct table *table, struct kv_output *out)
{
	int *width = kv_calloc(table->columns, sizeof *width);

	for (size_t i = 0; i < table->rows * table->columns; i++) {
		int length = (int)strlen(table->cell[i]);

		if (length > width[i % table->columns])
			width[i % table->columns] = length;
	}
	for (size_t r = 0; r < table->rows; r++) {
		write_row(table, r, width, out);
		if (r == 0)
			write_rule(table, width, out);
	}
	for (size_t i = 0; i < table->rows * table->columns; i++)
		free(table->cell[i]);
	free(table->cell);
	free(width);
}

static void write_metrics(const struct kv_comparison *comparison, size_t i, struct kv_output *out)
{
	const struct kv_variant_comparison *variant = &comparison->variant[i];
	struct table table = { .columns = 6, .left = 1 << 0 | 1 << 5 };

	add_cells(&table, (const char *const[]){ "", comparison->run[0].name, comparison->run[i + 1].name, "difference",
	                                         "95 % interval", "verdict" });
	for (size_t r = 0; r < variant->rows; r++) {
		const struct kv_comparison_row *row = &variant->row[r];
		char cell[4][KV_CELL_MAX];

		add_cells(&table, (const char *const[]){
			row->label, kv_comparison_value(row->found.baseline, row->unit, cell[0]),
			kv_comparison_value(row->found.variant, row->unit, cell[1]),
			kv_comparison_change(&row->found, row->unit, cell[2]),
			kv_comparison_interval(&row->found, row->unit, cell[3]),
			kv_comparison_verdict(&row->found, row->wanted) });
	}
	write_table(&table, out);
}

static void write_classes(const struct kv_variant_comparison *variant, struct kv_output *out)
{
	struct table table = { .columns = 8, .left = 1 << 0 | 1 << 4 | 1 << 7 };

	add_cells(&table,
	          (const char *const[]){ "who", "requests", "TTFT mean, change (ms)", "95 % interval", "verdict",
	                                 "E2EL mean, change (ms)", "faster / equal / slower", "verdict" });
	for (size_t c = 0; c < variant->classes; c++) {
		const struct kv_comparison_class *class = &variant->class[c];
		char name[KV_CELL_MAX + 32], count[32], split[64], cell[3][KV_CELL_MAX];

		snprintf(name, sizeof name, "%s %.60s", class->kind, class->label);
		snprintf(count, sizeof count, "%zu", class->requests);
		snprintf(split, sizeof split, "%zu / %zu / %zu", class->faster, class->equal, class->slower);
		add_cells(&table, (const char *const[]){ name, count, kv_comparison_change(&class->ttft, "ms", cell[0]),
		                                         kv_comparison_interval(&class->ttft, "ms", cell[1]),
		                                         kv_comparison_verdict(&class->ttft, -1),
		                                         kv_comparison_change(&class->e2el, "ms", cell[2]), split,
		                                         kv_comparison_verdict(&class->e2el, -1) });
	}
	write_table(&table, out);
}

static void write_overview(const struct kv_comparison *comparison, struct kv_output *out)
{
	size_t columns = kv_comparison_overview_columns(comparison);
	struct table table = { .columns = 1 + columns, .left = 1 };
	const char *row[1 + KV_OVERVIEW_COLUMNS_MAX] = { "" };
	char cell[KV_OVERVIEW_COLUMNS_MAX][KV_CELL_MAX];

	for (size_t c = 0; c < columns; c++)
		row[c + 1] = kv_comparison_overview_label(comparison, c);
	add_cells(&table, row);
	for (size_t i = 0; i < comparison->runs; i++) {
		row[0] = comparison->run[i].name;
		for (size_t c = 0; c < columns; c++)
			row[c + 1] = kv_comparison_overview_cell(comparison, i, c, cell[c]);
		add_cells(&table, row);
	}
	kv_output_text(out, "\n");
	write_table(&table, out);
	kv_output_text(out, "\nOf each variant " KV_OVERVIEW_LEGEND ".\n");
}

/* A column a run. */
static void write_tenants(const struct kv_comparison *comparison, struct kv_output *out)
{
	struct table table = { .columns = 2 + comparison->runs, .left = 1 };
	const char **row = kv_calloc(table.columns, sizeof *row);
	char (*cell)[KV_CELL_MAX] = kv_calloc(table.columns, sizeof *cell);

	row[0] = "TTFT P99 (ms) of tenant";
	row[1] = "requests";
	for (size_t i = 0; i < comparison->runs; i++)
		row[i + 2] = comparison->run[i].name;
	add_cells(&table, row);
	for (size_t t = 0; t < comparison->tenants; t++) {
		const struct kv_compared_tenant *tenant = &comparison->tenant[t];

		row[0] = tenant->name;
		row[1] = kv_comparison_value((double)tenant->requests, "", cell[1]);
		for (size_t i = 0; i < comparison->runs; i++)
			row[i + 2] = kv_comparison_value(tenant->p99_ttft[i], "ms", cell[i + 2]);
		add_cells(&table, row);
	}
	kv_output_text(out, "\n");
	write_table(&table, out);
	kv_output_text(out, "\nOf each run over what it finished.\n");
	free(cell);
	free(row);
}

static void write_notices(const struct kv_compared_run *run, struct kv_output *out)
{
	if (run->stalled)
		kv_output_printf(out, "%s STALLED: some of its requests never started or ended.\n", run->name);
	if (run->partial)
		kv_output_printf(out, "%s is PARTIAL: it was interrupted.\n", run->name);
	if (run->oracle)
		kv_output_printf(out, "%s is an oracle: it uses output lengths that a real engine cannot know.\n",
		                 run->name);
}

static void write_warnings(const struct kv_comparison *comparison, struct kv_output *out)
{
	const char *before = "\nWarnings:\n";

	for (size_t i = 0; i < comparison->runs; i++)
		for (size_t w = 0; w < comparison->run[i].warnings.count; w++) {
			kv_output_printf(out, "%s- %s: %s\n", before, comparison->run[i].name,
			                 comparison->run[i].warnings.text[w]);
			before = "";
		}
}

void kv_comparison_write_text(const struct kv_comparison *comparison, struct kv_output *out)
{
	const struct kv_compared_run *base = &comparison->run[0];

	kv_output_printf(out, "Workload: %s, %zu requests. Baseline: %s%s%s.\n", comparison->workload, base->requests,
	                 base->name, *base->settings ? ": " : "", base->settings);
	for (size_t i = 0; i < comparison->runs; i++)
		write_notices(&comparison->run[i], out);
	if (comparison->runs > 2)
		write_overview(comparison, out);
	if (comparison->tenants > 0)
		write_tenants(comparison, out);
	for (size_t i = 0; i + 1 < comparison->runs; i++) {
		const struct kv_compared_run *run = &comparison->run[i + 1];
		const struct kv_variant_comparison *variant = &comparison->variant[i];

		kv_output_printf(
			out, "\n## %s against %s\n\n%s: %s. Latencies are of the %zu requests that both finished.%s\n\n",
			run->name, base->name, run->name, *run->settings ? run->settings : "nothing differs",
			variant->finished_in_both, comparison->waited ? KV_WAITED_LEGEND : "");
		write_metrics(comparison, i, out);
		kv_output_text(out, "\n");
		write_classes(variant, out);
	}
	kv_output_printf(
		out,
		"\nIntervals: paired bootstrap over requests, %zu replicates, seed %" PRIu64 ". They tell how "
		"far a difference hangs on single requests of this workload; requests\nthat queue together are not "
		"independent, and figures of a whole run have no interval.\n",
		comparison->replicates, comparison->seed);
	write_warnings(comparison, out);
}
