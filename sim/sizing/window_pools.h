/* Pools by window of engines that have them.
 *
 * TensorRT-LLM's: one for each length of attention window, all of them shares of the KV memory in proportion to layers x
 * window; layers that keep every token count with the longest sequence. A request holds its length, or the window if that
 * is shorter, in each.
 *
 * Source: the C++ KV manager (engine-semantics of 2026-08): shares 0.0345, 0.4138 and 0.5517 of 16,384 blocks are 565, 6,780
 * and 9,039. The PyTorch runtime of 2026 gives every window an equal share unless it is told others.
 *
 * SGLang's: one for whole contexts and one for windows, for the classes that it knows to have both; the latter has
 * swa_full_tokens_ratio (0.8) times the tokens of the former, so that full = KV / (F + 0.8 W) where a token takes F bytes in
 * full and W in windowed layers. Source: model_config.py, server_args.py and the pool configurator of 2026-04 to 07.
 */
#ifndef KV_SIM_WINDOW_POOLS_H
#define KV_SIM_WINDOW_POOLS_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/model/kv_layout.h"

struct kv_window_pool {
	uint32_t window;        /* tokens; 0 = whole contexts */
	uint32_t layers;
	uint64_t token_bytes;   /* of all its layers, on one rank */
	double share;
	uint64_t blocks;
};

struct kv_window_pools {
	uint32_t count;         /* 0 = one window only, so that there is one pool */
	uint32_t block_size;
	struct kv_window_pool pool[KV_MAX_GROUPS];
};

/* Fills shares; longest is the longest sequence. */
void kv_window_pools_share(struct kv_window_pools *pools, uint64_t longest);

/* A share of so many blocks, to the nearest. */
uint64_t kv_window_pool_part(const struct kv_window_pool *pool, uint64_t blocks);

/* Pools of a model for kv_bytes of one rank. Fails as kv_layout_plan does. */
int kv_window_pools_plan(const struct kv_model *model, const struct kv_layout_options *options, uint64_t longest,
                         int64_t kv_bytes, struct kv_window_pools *pools, struct kv_error *err);

/* SGLang's, in pages of options->block_size tokens; count is 0 for models that it keeps whole contexts for. */
int kv_window_pools_by_ratio(const struct kv_model *model, const struct kv_layout_options *options, int64_t kv_bytes,
                             struct kv_window_pools *pools, struct kv_error *err);

/* Blocks that a request of so many tokens holds in one pool, or in all. */
uint64_t kv_window_pool_request_blocks(const struct kv_window_pools *pools, uint32_t pool, uint64_t tokens);
uint64_t kv_window_pools_request_blocks(const struct kv_window_pools *pools, uint64_t tokens);
uint64_t kv_window_pools_request_bytes(const struct kv_window_pools *pools, uint64_t tokens);

uint64_t kv_window_pools_blocks(const struct kv_window_pools *pools);

/* How many such requests fit at once: the pool that holds the fewest decides. */
double kv_window_pools_requests(const struct kv_window_pools *pools, uint64_t tokens);

#endif
