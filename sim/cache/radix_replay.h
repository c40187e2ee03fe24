/* Cache-only replay through SGLang's radix tree: a trace's prompts one after the other through a pool of pages, without
 * time.
 *
 * The whole prompt is looked up, also its last token; then what is missing of its whole pages is stored, where it
 * does not fit the beginning of it. What the current prompt has hit stays. What a request generates is not stored,
 * unless a later prompt contains it. */
#ifndef KV_SIM_RADIX_REPLAY_H
#define KV_SIM_RADIX_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "sim/cache/cache_replay.h"
#include "sim/policy.h"
#include "sim/request.h"

struct kv_listed_prompt {
	uint64_t space;       /* hash of adapter and salt */
	size_t segment;       /* its first */
	uint32_t segments;
	uint32_t tokens;
	int64_t priority;
};

/* Prompts in memory. Begins as all zeroes. */
struct kv_prompt_list {
	struct kv_listed_prompt *prompt;
	size_t prompts, prompt_capacity;
	struct kv_segment *segment;
	size_t segments, segment_capacity;
};

void kv_prompt_list_add(struct kv_prompt_list *list, const struct kv_request *request);
void kv_prompt_list_fini(struct kv_prompt_list *list);

/* Blocks of the result are pages. The eviction policy must have a leaf hook. */
void kv_radix_replay(const struct kv_prompt_list *list, const struct kv_policy_use *eviction, uint32_t page,
                     uint64_t pages, struct kv_replay_result *result);

#endif
