/* Why a first admission did not hit: every missed prompt token gets one of the reasons of enum kv_miss_reason.
 *
 * Costs one look at each piece of the path behind the hit: the content tree keeps what is gone for a while, and a
 * bounded memory (sim/engine/seen.h) has what prompts had elsewhere.
 */
#ifndef KV_SIM_MISS_H
#define KV_SIM_MISS_H

#include "sim/cache/cache.h"
#include "sim/cache/prefix_lookup.h"
#include "sim/engine/seen.h"
#include "sim/engine_config.h"
#include "sim/record.h"
#include "sim/request.h"

struct kv_misses {
	struct kv_seen keyless;  /* path hash without the key -> tokens, of prompts under a key */
	struct kv_seen streams;  /* key and stream -> tokens; also path hash -> tokens, of segments that end no block */
};

void kv_misses_fini(struct kv_misses *misses);

/* Classifies the prompt tokens behind the hit and fills tokens, evicted_ago, new_segment and new_token. To be called
 * before the request's own content is registered; the request counts as admitted from then on. */
void kv_misses_explain(struct kv_misses *misses, struct kv_cache *cache, const struct kv_engine_config *config,
                       const struct kv_path *path, const struct kv_hit *hit, struct kv_miss *miss);

/* Of most of the tokens, the earlier reason of equals; KV_MISS_REASONS if there are none. */
enum kv_miss_reason kv_miss_main_reason(const struct kv_miss *miss);

#endif
