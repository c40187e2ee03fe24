#include "config.h"

#include <string.h>

#include "results/results.h"
#include "sim/base/quantity.h"

void kv_results_options_init(struct kv_results_options *options)
{
	static const double percentiles[] = {50, 90, 95, 99, 99.9};

	*options = (struct kv_results_options){
		.dir = "kvsim-out",
		.write = KV_WRITE_DEFAULT,
		.percentile_count = sizeof percentiles / sizeof percentiles[0],
		.goodput_ttft = KV_TIME_NONE,
		.goodput_tpot = KV_TIME_NONE,
		.goodput_e2el = KV_TIME_NONE
	};
	memcpy(options->percentiles, percentiles, sizeof percentiles);
}

/* Takes the next item off a list; items longer than the room are cut, which no valid item is. false at the end. */
static bool next_item(const char **list, const char *separators, char *item, size_t size)
{
	size_t length;

	if (*list == NULL)
		return false;
	length = strcspn(*list, separators);
	item[0] = '\0';
	strncat(item, *list, length < size - 1 ? length : size - 1);
	*list = (*list)[length] == '\0' ? NULL : *list + length + 1;
	return true;
}

static unsigned write_bit(const char *name)
{
	static const struct {
		const char *name;
		unsigned bit;
	} items[] = {
		{"summary", KV_WRITE_SUMMARY}, {"requests", KV_WRITE_REQUESTS}, {"timeline", KV_WRITE_TIMELINE},
		{"manifest", KV_WRITE_MANIFEST}, {"report", KV_WRITE_REPORT}
	};

	for (size_t i = 0; i < sizeof items / sizeof items[0]; i++)
		if (strcmp(items[i].name, name) == 0)
			return items[i].bit;
	return 0;
}

int kv_results_parse_write(const char *list, unsigned *write, struct kv_error *err)
{
	unsigned bits = 0;
	char item[64];

	while (next_item(&list, ",", item, sizeof item)) {
		unsigned bit = write_bit(item);

		if (bit == 0)
			return kv_fail(err, KV_EXIT_USAGE, "'%s' is not one of summary, requests, timeline, manifest, "
			               "report", item);
		bits |= bit;
	}
	*write = bits | (*write & (KV_WRITE_EVENTS | KV_WRITE_METRICS | KV_WRITE_CHROME_TRACE));
	return 0;
}

int kv_results_parse_percentiles(const char *list, struct kv_results_options *options, struct kv_error *err)
{
	char item[64];
	struct kv_error inner;
	size_t count = 0;

	while (next_item(&list, ",", item, sizeof item)) {
		if (count == KV_PERCENTILES_MAX)
			return kv_fail(err, KV_EXIT_USAGE, "at most %d are allowed", KV_PERCENTILES_MAX);
		if (kv_parse_double(item, 0, 100, &options->percentiles[count++], &inner))
			return kv_fail(err, KV_EXIT_USAGE, "%s", inner.text);
	}
	options->percentile_count = count;
	options->percentiles_given = true;
	return 0;
}

static kv_time *objective(struct kv_results_options *options, const char *name)
{
	if (strcmp(name, "ttft") == 0)
		return &options->goodput_ttft;
	if (strcmp(name, "tpot") == 0)
		return &options->goodput_tpot;
	if (strcmp(name, "e2el") == 0)
		return &options->goodput_e2el;
	return NULL;
}

int kv_results_parse_goodput(const char *list, struct kv_results_options *options, struct kv_error *err)
{
	const double day = 86400e3;
	char item[64];
	struct kv_error inner;

	while (next_item(&list, ", ", item, sizeof item)) {
		char *colon = strchr(item, ':');
		kv_time *target;
		double milliseconds;

		if (colon == NULL)
			return kv_fail(err, KV_EXIT_USAGE, "'%s' is not NAME:MILLISECONDS", item);
		*colon = '\0';
		target = objective(options, item);
		if (target == NULL)
			return kv_fail(err, KV_EXIT_USAGE, "'%s' is not one of ttft, tpot, e2el", item);
		if (kv_parse_double(colon + 1, 0, day, &milliseconds, &inner))
			return kv_fail(err, KV_EXIT_USAGE, "%s: %s (milliseconds)", item, inner.text);
		*target = (kv_time)(milliseconds * (double)KV_MILLISECOND + 0.5);
	}
	return 0;
}
