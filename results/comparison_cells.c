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

static const struct kv_comparison_row *find_row(const struct kv_comparison *comparison, size_t run, const char *key)
{
	const struct kv_variant_comparison *rows = run == 0 ? &comparison->itself : &comparison->variant[run - 1];

	for (size_t r = 0; r < rows->rows; r++)
		if (strcmp(rows->row[r].key, key) == 0)
			return &rows->row[r];
	return NULL;
}

/* The keys of the columns; those that this comparison has no rows of are left out. */
static size_t overview_keys(const struct kv_comparison *comparison, const char *keys[KV_OVERVIEW_COLUMNS_MAX])
{
	static const char *const all[] = {
		"mean_ttft_from_arrival_ms", "p99_ttft_from_arrival_ms", "mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms",
		"mean_e2el_ms", "hit_rate_percent", "preemptions", "output_throughput"
	};
	size_t count = 0;

	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (find_row(comparison, 0, all[i]) != NULL)
			keys[count++] = all[i];
	return count;
}

size_t kv_comparison_overview_columns(const struct kv_comparison *comparison)
{
	const char *keys[KV_OVERVIEW_COLUMNS_MAX];

	return overview_keys(comparison, keys) + 1;
}

const char *kv_comparison_overview_label(const struct kv_comparison *comparison, size_t column)
{
	const char *keys[KV_OVERVIEW_COLUMNS_MAX];

	if (column == overview_keys(comparison, keys))
		return "No answer: refused / dropped / unfinished / never sent";
	return find_row(comparison, 0, keys[column])->label;
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

/* Both finish not quite the same requests: then the change is not against what the baseline's own row says. */
static void add_pair(const struct kv_comparison_row *row, const struct kv_comparison_row *own, char text[KV_CELL_MAX])
{
	char paired[KV_CELL_MAX], alone[KV_CELL_MAX];
	int used = (int)strlen(text);

	kv_comparison_value(row->found.baseline, row->unit, paired);
	kv_comparison_value(own->found.variant, row->unit, alone);
	if (strcmp(paired, alone) != 0)
		snprintf(text + used, (size_t)(KV_CELL_MAX - used), " of %.*s", KV_CELL_MAX - used - 5, paired);
}

static const char *count_lost(const struct kv_compared_run *run, char text[KV_CELL_MAX])
{
	size_t with[KV_UNFINISHED + 1];

	kv_compared_run_count(run, with);
	snprintf(text, KV_CELL_MAX, "%zu / %zu / %zu / %.0f", with[KV_REFUSED], with[KV_DROPPED], with[KV_UNFINISHED],
	         run->never_sent);
	return text;
}

const char *kv_comparison_overview_cell(const struct kv_comparison *comparison, size_t run, size_t column,
                                        char text[KV_CELL_MAX])
{
	const char *keys[KV_OVERVIEW_COLUMNS_MAX];
	const struct kv_comparison_row *row;
	char change[KV_CELL_MAX];
	size_t used;

	if (column == overview_keys(comparison, keys))
		return count_lost(&comparison->run[run], text);
	row = find_row(comparison, run, keys[column]);
	kv_comparison_value(row->found.variant, row->unit, text);
	if (run == 0 || !isfinite(row->found.difference))
		return text;
	describe_change(row, change);
	add_pair(row, find_row(comparison, 0, keys[column]), change);
	used = strlen(text);
	snprintf(text + used, KV_CELL_MAX - used, " (%s)", change);
	return text;
}
