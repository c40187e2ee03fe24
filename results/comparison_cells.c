/* Cells that the text and the page share. */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "results/comparison.h"

/* Counts are whole; means of counts (running requests) are not. */
static int decimals(double value, const char *unit)
{
	if (*unit == '\0' && value == floor(value))
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
		snprintf(text + used, KV_CELL_MAX - (size_t)used, " (%+.1f %%)", 100 * change / fabs(difference->baseline));
	return text;
}

const char *kv_comparison_interval(const struct kv_difference *difference, const char *unit, char text[KV_CELL_MAX])
{
	int low = decimals(difference->interval.low, unit), high = decimals(difference->interval.high, unit);
	int digits = low > high ? low : high;

	if (difference->verdict == KV_DIFFERENCE_BARE || difference->verdict == KV_DIFFERENCE_NONE)
		return strcpy(text, "");
	snprintf(text, KV_CELL_MAX, "%+.*f to %+.*f", digits, difference->interval.low, digits, difference->interval.high);
	return text;
}
