/* Cells that the text and the page share. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/comparison.h"

/* Counts are whole, but for the rounding of a mean times their number; means of counts (running requests) are not. */
static int decimals(double value, const char *unit)
{
	if (*unit == '\0' && fabs(value - round(value)) <= 1e-9 * fabs(value))
		return 0;
	return value != 0 && fabs(value) < 1 ? 4 : 2;
}

const char *kv_comparison_value(double value, const char *unit, char text[KV_CELL_MAX])
{
	if (!isfinite(value))
		return strcpy(text, "-");
	snprintf(text, KV_CELL_MAX, "%.*f", decimals(value, unit), value);
	return text;
}

const char *kv_comparison_change(const struct kv_difference *difference, const char *unit, char text[KV_CELL_MAX])
{
	double change = difference->difference;
	int used;

	if (!isfinite(change))
		return strcpy(text, "-");
	used = snprintf(text, KV_CELL_MAX, "%+.*f", decimals(change, unit), change);
	if (difference->baseline != 0 && strcmp(unit, "%") != 0)
		snprintf(text + used, KV_CELL_MAX - (size_t)used, " (%+.1f %%)",
		         100 * change / fabs(difference->baseline));
	return text;
}

const char *kv_comparison_interval(const struct kv_difference *difference, const char *unit, char text[KV_CELL_MAX])
{
	double low = difference->interval.low, high = difference->interval.high;
	int digits = decimals(fabs(low) > fabs(high) ? low : high, unit);

	if (difference->verdict == KV_DIFFERENCE_BARE || difference->verdict == KV_DIFFERENCE_NONE)
		return strcpy(text, "");
	snprintf(text, KV_CELL_MAX, "%+.*f to %+.*f", digits, low, digits, high);
	return text;
}

static const struct kv_comparison_row *overview_row(const struct kv_comparison *comparison, size_t run, size_t column)
{
	static const char *const keys[KV_OVERVIEW_COLUMNS] = {
		"mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "mean_e2el_ms", "hit_rate_percent", "preemptions",
		"output_throughput"
	};
	const struct kv_variant_comparison *rows = run == 0 ? &comparison->itself : &comparison->variant[run - 1];

	for (size_t r = 0; r < rows->rows; r++)
		if (strcmp(rows->row[r].key, keys[column]) == 0)
			return &rows->row[r];
	KV_ASSERT(false, "the comparison has no %s", keys[column]);
}

const char *kv_comparison_overview_label(const struct kv_comparison *comparison, size_t column)
{
	return overview_row(comparison, 0, column)->label;
}

static void describe_change(const struct kv_comparison_row *row, char text[KV_CELL_MAX])
{
	const struct kv_difference *found = &row->found;

	if (found->verdict == KV_DIFFERENCE_NONE || found->verdict == KV_DIFFERENCE_WITHIN)
		strcpy(text, found->verdict == KV_DIFFERENCE_NONE ? "=" : "~");
	else if (found->baseline != 0 && strcmp(row->unit, "%") != 0)
		snprintf(text, KV_CELL_MAX, "%+.1f %%", 100 * found->difference / fabs(found->baseline));
	else
		snprintf(text, KV_CELL_MAX, "%+.*f", decimals(found->difference, row->unit), found->difference);
}

const char *kv_comparison_overview_cell(const struct kv_comparison *comparison, size_t run, size_t column,
                                        char text[KV_CELL_MAX])
{
	const struct kv_comparison_row *row = overview_row(comparison, run, column);
	char change[KV_CELL_MAX];
	size_t used;

	kv_comparison_value(row->found.variant, row->unit, text);
	if (run == 0 || !isfinite(row->found.difference))
		return text;
	describe_change(row, change);
	used = strlen(text);
	snprintf(text + used, KV_CELL_MAX - used, " (%s)", change);
	return text;
}
