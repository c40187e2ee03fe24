/* Recomputes what a start-up log prints from what else it prints, and from the model where that is known.
 *
 * A number agrees if it lies within the rounding of those that it is computed from. Where it does not, the rules that
 * are known to move it are tried: minimum over ranks, graph memory, another block size or cache type, the older or
 * newer meaning of "KV cache tokens", MLA treated as multi-head attention, windowed layers that hold whole contexts.
 * What none of them brings about differs.
 */
#ifndef KV_SIM_LOG_CHECK_H
#define KV_SIM_LOG_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "sim/model/kv_layout.h"
#include "sim/model/model.h"
#include "sim/sizing/log_facts.h"

enum kv_check_verdict { KV_CHECK_AGREES, KV_CHECK_EXPLAINED, KV_CHECK_DIFFERS };

struct kv_check {
	const char *what;
	unsigned line;                /* of the log; 0 = none */
	char printed[48], computed[48];
	enum kv_check_verdict verdict;
	char rule[256];               /* how it was computed, or what explains the difference */
};

struct kv_check_list {
	struct kv_check *check;
	size_t count;
	size_t verdicts[3];           /* how many of each */
	struct kv_remarks notes;      /* what follows from the log without being a verdict */
};

/* What the user knows beside the log. */
struct kv_check_given {
	const struct kv_model *model;            /* NULL = unknown */
	uint32_t tensor_parallel;                /* 0 = as logged, else 1; likewise block_size (16) */
	uint32_t block_size;
	uint64_t max_model_len;                  /* 0 = as logged */
	const struct kv_cache_format *cache;     /* NULL = as logged */
};

void kv_log_check(const struct kv_log *log, const struct kv_check_given *given, struct kv_check_list *list);
void kv_check_list_fini(struct kv_check_list *list);

#endif
