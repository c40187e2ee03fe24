#include "config.h"

#include "results/insight.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/timeline.h"
#include "sim/base/memory.h"

enum {
	TTFT_BINS = (KV_BINS >> KV_TTFT_BANDS_BITS) + 1,
	WORST_LISTED = 10,
	LARGEST_KEPT = 256  /* of which those that were there at the peak are shown */
};

const char *kv_part_name(enum kv_part part)
{
	static const char *const names[KV_PARTS] = {
		"client_wait", "retrieval", "frontend", "queue_blocks", "queue_sequence_slots", "queue_token_budget",
		"prefill_own", "prefill_others", "preempted"
	};

	return names[part];
}

void kv_parts_of(const struct kv_request_record *record, uint64_t parts[KV_PARTS])
{
	uint64_t prefill = (uint64_t)(record->first_token - record->admitted);

	parts[KV_PART_CLIENT_WAIT] = (uint64_t)(record->sent - record->arrival);
	parts[KV_PART_RETRIEVAL] = (uint64_t)record->retrieval;
	parts[KV_PART_FRONTEND] = (uint64_t)record->frontend;
	parts[KV_PART_QUEUE_BLOCKS] = (uint64_t)record->queue_for[KV_WAIT_BLOCKS];
	parts[KV_PART_QUEUE_SLOTS] = (uint64_t)record->queue_for[KV_WAIT_SEQUENCE_SLOTS];
	parts[KV_PART_QUEUE_BUDGET] = (uint64_t)record->queue_for[KV_WAIT_TOKEN_BUDGET];
	parts[KV_PART_PREFILL_OWN] = (uint64_t)record->prefill_own;
	parts[KV_PART_PREEMPTED] = (uint64_t)record->preempted_before_first;
	parts[KV_PART_PREFILL_OTHERS] =
		kv_sub_floor(prefill, parts[KV_PART_PREFILL_OWN] + parts[KV_PART_PREEMPTED]);
}

static const char *id_text(const char *id, uint64_t index, char room[32])
{
	if (id != NULL)
		return id;
	snprintf(room, 32, "r%" PRIu64, index);
	return room;
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

static void add_to_sums(struct kv_part_sums *sums, uint64_t ttft, const uint64_t parts[KV_PARTS])
{
	if (sums->count++ == 0 || ttft < sums->shortest)
		sums->shortest = ttft;
	if (ttft > sums->longest)
		sums->longest = ttft;
	for (int i = 0; i < KV_PARTS; i++)
		sums->part[i] += parts[i];
}

static void merge_sums(struct kv_part_sums *sums, const struct kv_part_sums *more)
{
	if (more->count == 0)
		return;
	if (sums->count == 0 || more->shortest < sums->shortest)
		sums->shortest = more->shortest;
	sums->longest = kv_max(sums->longest, more->longest);
	sums->count += more->count;
	for (int i = 0; i < KV_PARTS; i++)
		sums->part[i] += more->part[i];
}

static void lengthen_arrivals(struct kv_insight *insight, kv_time interval)
{
	uint64_t factor = (uint64_t)(interval / insight->arrival_interval);

	for (uint64_t i = 1; i < KV_ARRIVAL_BINS; i++) {
		if (i / factor == i)
			continue;
		merge_sums(&insight->by_arrival[i / factor], &insight->by_arrival[i]);
		insight->by_arrival[i] = (struct kv_part_sums){0};
	}
	insight->arrival_interval = interval;
}

static struct kv_part_sums *arrival_bin(struct kv_insight *insight, kv_time arrival)
{
	while (arrival / insight->arrival_interval >= KV_ARRIVAL_BINS)
		lengthen_arrivals(insight, kv_longer_interval(insight->arrival_interval));
	return &insight->by_arrival[arrival / insight->arrival_interval];
}

/* --- prompt length against TTFT ----------------------------------------------------------------------------------- */

/* Steps of a quarter octave above 1, by value. */
static uint32_t grid_step(uint64_t value, uint32_t limit)
{
	uint32_t octave, step;

	if (value == 0)
		return 0;
	octave = 63 - (uint32_t)__builtin_clzll(value);
	step = octave >= 2 ? (uint32_t)(value >> (octave - 2)) & 3 : (uint32_t)(value << (2 - octave)) & 3;
	step += KV_GRID_STEPS * octave;
	return step < limit ? step : limit - 1;
}

static void add_to_grid(struct kv_insight *insight, uint64_t prompt, uint64_t ttft)
{
	uint32_t column = grid_step(prompt, KV_GRID_LENGTHS);
	uint32_t row = grid_step(ttft / 1000, KV_GRID_TIMES);

	insight->grid[column * KV_GRID_TIMES + row]++;
}

/* --- crowds ------------------------------------------------------------------------------------------------------- */

static void init_crowd(struct kv_crowd *crowd, const char *name)
{
	*crowd = (struct kv_crowd){.name = kv_strdup(name)};
	kv_distribution_init(&crowd->ttft, true);
}

static void fini_crowd(struct kv_crowd *crowd)
{
	free(crowd->name);
	kv_distribution_fini(&crowd->ttft);
}

static void add_to_crowd(struct kv_crowd *crowd, const struct kv_request_record *record)
{
	crowd->requests++;
	crowd->prompt_tokens += record->prompt_tokens;
	crowd->admitted_tokens += record->admitted != KV_TIME_NONE ? record->prompt_tokens : 0;
	crowd->cached_tokens += record->cached_tokens;
	crowd->computed_tokens += record->computed_tokens;
	crowd->output_tokens += record->output_tokens;
	crowd->preemptions += record->preemptions;
	crowd->block_ns += record->block_ns;
	if (record->status != KV_FINISHED)
		return;
	crowd->finished++;
	crowd->queue_ns += (kv_integral)(record->admitted - record->queued);
	if (record->first_token != KV_TIME_NONE)
		kv_distribution_add(&crowd->ttft, (uint64_t)(record->first_token - record->sent));
}

static void name_length_class(char *name, size_t size, int class)
{
	if (class == 0)
		snprintf(name, size, "below 1k");
	else if (class == KV_LENGTH_CLASSES - 1)
		snprintf(name, size, "%dk and more", 1 << (class - 1));
	else
		snprintf(name, size, "%dk to %dk", 1 << (class - 1), 1 << class);
}

static struct kv_crowd *length_class_of(struct kv_insight *insight, uint32_t prompt_tokens)
{
	uint32_t class = prompt_tokens < 1024 ? 0 : 22 - (uint32_t)__builtin_clz(prompt_tokens);

	return &insight->length_class[class < KV_LENGTH_CLASSES ? class : KV_LENGTH_CLASSES - 1];
}

/* Few tenants, and runs of equal ones: a walk is enough. */
static struct kv_crowd *tenant_of(struct kv_insight *insight, const char *name)
{
	for (size_t i = 0; i < insight->tenants; i++)
		if (strcmp(insight->tenant[i].name, name) == 0)
			return &insight->tenant[i];
	if (insight->tenants == KV_TENANTS_MAX)
		return &insight->tenant[KV_TENANTS_MAX];
	init_crowd(&insight->tenant[insight->tenants], name);
	return &insight->tenant[insight->tenants++];
}

/* --- lists of the largest ----------------------------------------------------------------------------------------- */

static void init_list(struct kv_top_list *list, size_t limit)
{
	*list = (struct kv_top_list){.limit = limit, .entry = kv_calloc(limit, sizeof *list->entry)};
}

static void fini_list(struct kv_top_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->entry[i].id);
		free(list->entry[i].tenant);
	}
	free(list->entry);
}

static void find_smallest(struct kv_top_list *list)
{
	list->smallest = 0;
	for (size_t i = 1; i < list->count; i++)
		if (list->entry[i].weight < list->entry[list->smallest].weight)
			list->smallest = i;
}

static void offer(struct kv_top_list *list, const struct kv_request_record *record, uint64_t weight)
{
	struct kv_named_request *entry;
	char room[32];

	if (list->count == list->limit && weight <= list->entry[list->smallest].weight)
		return;
	entry = list->count < list->limit ? &list->entry[list->count++] : &list->entry[list->smallest];
	free(entry->id);
	free(entry->tenant);
	*entry = (struct kv_named_request){.record = *record, .weight = weight};
	entry->id = kv_strdup(id_text(record->id, record->index, room));
	entry->tenant = kv_strdup(record->tenant);
	if (list->count == list->limit)
		find_smallest(list);
}

static int compare_entries(const void *a, const void *b)
{
	const struct kv_named_request *x = a;
	const struct kv_named_request *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->record.index > y->record.index) - (x->record.index < y->record.index);
}

void kv_top_list_sort(struct kv_top_list *list)
{
	qsort(list->entry, list->count, sizeof *list->entry, compare_entries);
}

/* --- records ------------------------------------------------------------------------------------------------------ */

void kv_insight_init(struct kv_insight *insight, uint32_t block_size, kv_time warmup)
{
	char name[32];

	*insight = (struct kv_insight){
		.block_size = block_size, .warmup = warmup, .arrival_interval = KV_TIMELINE_SHORTEST
	};
	insight->by_ttft = kv_calloc(TTFT_BINS, sizeof *insight->by_ttft);
	insight->by_arrival = kv_calloc(KV_ARRIVAL_BINS, sizeof *insight->by_arrival);
	insight->grid = kv_calloc((size_t)KV_GRID_LENGTHS * KV_GRID_TIMES, sizeof *insight->grid);
	for (int i = 0; i < KV_LENGTH_CLASSES; i++) {
		name_length_class(name, sizeof name, i);
		init_crowd(&insight->length_class[i], name);
	}
	insight->tenant = kv_calloc(KV_TENANTS_MAX + 1, sizeof *insight->tenant);
	init_crowd(&insight->tenant[KV_TENANTS_MAX], "all others");
	init_list(&insight->worst_ttft, WORST_LISTED);
	init_list(&insight->largest, LARGEST_KEPT);
	kv_distribution_init(&insight->evicted_ago, false);
}

void kv_insight_fini(struct kv_insight *insight)
{
	if (insight->by_ttft == NULL)
		return;
	free(insight->by_ttft);
	free(insight->by_arrival);
	free(insight->grid);
	for (int i = 0; i < KV_LENGTH_CLASSES; i++)
		fini_crowd(&insight->length_class[i]);
	for (size_t i = 0; i < insight->tenants; i++)
		fini_crowd(&insight->tenant[i]);
	fini_crowd(&insight->tenant[KV_TENANTS_MAX]);
	free(insight->tenant);
	fini_list(&insight->worst_ttft);
	fini_list(&insight->largest);
	kv_distribution_fini(&insight->evicted_ago);
	for (int i = 0; i < KV_MISS_REASONS; i++)
		free(insight->miss_example[i].id);
}

static void add_first_token(struct kv_insight *insight, const struct kv_request_record *record)
{
	uint64_t ttft = (uint64_t)(record->first_token - record->sent);
	uint64_t parts[KV_PARTS];

	kv_parts_of(record, parts);
	add_to_sums(&insight->by_ttft[kv_bin_of(ttft) >> KV_TTFT_BANDS_BITS], ttft, parts);
	add_to_sums(arrival_bin(insight, record->arrival), ttft, parts);
	add_to_grid(insight, record->prompt_tokens, ttft);
	offer(&insight->worst_ttft, record, ttft);
}

/* Percentiles of crowds are exact as long as those of the whole run are. */
static void forget_values(struct kv_insight *insight)
{
	for (size_t i = 0; i < KV_LENGTH_CLASSES; i++)
		kv_distribution_forget(&insight->length_class[i].ttft);
	for (size_t i = 0; i <= KV_TENANTS_MAX; i++)
		if (insight->tenant[i].name != NULL)
			kv_distribution_forget(&insight->tenant[i].ttft);
}

void kv_insight_request(struct kv_insight *insight, const struct kv_request_record *record)
{
	if (record->arrival < insight->warmup)
		return;
	if (++insight->requests == KV_DISTRIBUTION_EXACT + 1)
		forget_values(insight);
	add_to_crowd(length_class_of(insight, record->prompt_tokens), record);
	add_to_crowd(tenant_of(insight, record->tenant), record);
	if (record->admitted != KV_TIME_NONE)
		offer(&insight->largest, record, (uint64_t)record->prompt_tokens + record->output_tokens);
	if (record->status == KV_FINISHED && record->first_token != KV_TIME_NONE)
		add_first_token(insight, record);
}

void kv_insight_miss(struct kv_insight *insight, const struct kv_miss *miss)
{
	if (miss->evicted_ago != KV_TIME_NONE)
		kv_distribution_add(&insight->evicted_ago, (uint64_t)miss->evicted_ago);
	for (int i = 0; i < KV_MISS_REASONS; i++) {
		struct kv_miss_example *example = &insight->miss_example[i];
		char room[32];

		if (miss->tokens[i] <= example->miss.tokens[i])
			continue;
		free(example->id);
		example->id = kv_strdup(id_text(miss->request_id, miss->request, room));
		example->miss = *miss;
	}
}
