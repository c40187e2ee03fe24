/* What the report explains beyond the summary: where first tokens waited, by how late they were, when and for whom; who
 * held the pool; why prompts were not hit. Bounded in size whatever the number of requests.
 *
 * Over requests that arrived at or after the warm-up time; waiting is told for those that finished with a first token.
 */
#ifndef KV_RESULTS_INSIGHT_H
#define KV_RESULTS_INSIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "results/distribution.h"
#include "sim/base/units.h"
#include "sim/record.h"

/* Time before the first token; all but the first sum to TTFT. */
enum kv_part {
	KV_PART_CLIENT_WAIT,
	KV_PART_RETRIEVAL,
	KV_PART_FRONTEND,
	KV_PART_QUEUE_BLOCKS,   /* in the queue while its head lacked blocks */
	KV_PART_QUEUE_SLOTS,
	KV_PART_QUEUE_BUDGET,
	KV_PART_PREFILL_OWN,    /* its share, by tokens, of the steps that computed its prompt */
	KV_PART_PREFILL_OTHERS, /* the rest of its prefill */
	KV_PART_PREEMPTED,
	KV_PARTS
};

const char *kv_part_name(enum kv_part part);
/* ns; the record has a first token. */
void kv_parts_of(const struct kv_request_record *record, uint64_t parts[KV_PARTS]);

struct kv_part_sums {
	uint64_t count, shortest, longest;  /* of TTFT, ns; shortest is UINT64_MAX if count is 0 */
	kv_integral part[KV_PARTS];
};

/* Requests of a prompt length class or a tenant. */
struct kv_crowd {
	char *name;
	uint64_t requests, finished, prompt_tokens, output_tokens, preemptions;
	uint64_t admitted_tokens, cached_tokens, computed_tokens;  /* of the prompts that were admitted, in all; hit; computed */
	kv_integral block_ns, queue_ns;
	struct kv_distribution ttft;
};

/* One request by name, copied from its record. */
struct kv_named_request {
	char *id;
	char *tenant;
	struct kv_request_record record;  /* its strings are not valid */
	uint64_t weight;                  /* what the list is ordered by */
};

/* The largest by weight, unordered until sorted. */
struct kv_top_list {
	struct kv_named_request *entry;
	size_t limit, count, smallest;
};

#define KV_LENGTH_CLASSES 12   /* below 1,024 tokens, then an octave each, the last without end */
#define KV_TENANTS_MAX 50      /* tenants told apart; later ones are counted together */
#define KV_TTFT_BANDS_BITS 3   /* histogram bins that are told together: 64 an octave */
#define KV_ARRIVAL_BINS 720
#define KV_GRID_STEPS 4        /* cells an octave */
#define KV_GRID_LENGTHS (KV_GRID_STEPS * 31)
#define KV_GRID_TIMES (KV_GRID_STEPS * 44)  /* from 1 us */

struct kv_insight {
	uint32_t block_size;
	kv_time warmup;

	struct kv_part_sums *by_ttft;       /* KV_BINS >> KV_TTFT_BANDS_BITS */
	struct kv_part_sums *by_arrival;    /* KV_ARRIVAL_BINS */
	kv_time arrival_interval;
	uint32_t *grid;                     /* prompt length by TTFT */
	uint64_t requests;
	struct kv_crowd length_class[KV_LENGTH_CLASSES];
	struct kv_crowd *tenant;            /* the last one is all others */
	size_t tenants;
	struct kv_top_list worst_ttft, largest;

	struct kv_distribution evicted_ago; /* ns, one a request that missed evicted content */
	struct kv_miss_example {
		char *id;
		struct kv_miss miss;        /* its id is not valid */
	} miss_example[KV_MISS_REASONS];    /* the request that missed the most tokens for this reason */
};

void kv_insight_init(struct kv_insight *insight, uint32_t block_size, kv_time warmup);
void kv_insight_fini(struct kv_insight *insight);
void kv_insight_request(struct kv_insight *insight, const struct kv_request_record *record);
void kv_insight_miss(struct kv_insight *insight, const struct kv_miss *miss);

/* Largest weight first. */
void kv_top_list_sort(struct kv_top_list *list);

#endif
