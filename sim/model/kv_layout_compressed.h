/* The KV cache of DeepSeek-V4: layers that keep a window of tokens, rows that stand for 4 or 128 tokens each, and the
 * partial sums of rows that are not complete yet.
 *
 * Rows have 584 bytes (448 fp8, 64 bf16, 8 of scales) and indexer rows 132 (128 fp8 and a scale), on every rank in full. A
 * block of 256 tokens holds 64 rows of a ratio-4 layer, as many of its indexer and 2 of a ratio-128 layer; windows have blocks
 * of 64 tokens, partial sums of 4 (over 8 tokens) and of 8 (over 128), in float32. Pages are padded to 576 bytes. A group packs
 * the pages of its layers, groups overlay each other, so that the largest one's bytes are the price of a block id.
 *
 * Source: vLLM of 2026-08 (deepseek_v4/attention.py and compressor.py, sparse_swa.py, kv_cache_utils.py). Logs bear it out:
 * vllm-project/vllm#53961, #48993, #44454 and #44376 (tests/test_kv_layout.c). Indexer rows in mxfp4 (an option of vLLM, off
 * unless asked for) are not sized.
 */
#ifndef KV_SIM_KV_LAYOUT_COMPRESSED_H
#define KV_SIM_KV_LAYOUT_COMPRESSED_H

#include "sim/base/error.h"
#include "sim/model/kv_layout.h"

/* The part of kv_layout_plan for models of compressed layers. KV_EXIT_USAGE for formats other than fp8, for block sizes
 * other than 256 (16, the usual default, counts as not given) and for engines that keep no KV groups. */
int kv_layout_plan_compressed(const struct kv_model *model, const struct kv_layout_options *options,
                              struct kv_layout *layout, struct kv_error *err);

#endif
