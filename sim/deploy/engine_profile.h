/* Engine profiles: named, dated bundles of defaults, switches and overheads, as data (sim/profiles/engines/).
 *
 * A profile file has: summary, source; `engine` and `policies`, defaults of the scenario keys of these names;
 * `devices`, more of them by GPU (the first row whose `when` holds counts); `implies`, what one setting says about
 * another that was not given; `switches`, what no key can change; `sizing`, how it draws up its memory budget;
 * `overheads`, the engine's part of a step's time (neither these nor policies where sizing says sizes_only);
 * `approximate`, where it is known to differ from the engine (a warning of every run);
 * `efficiency`, where its kernels reach other shares of the data sheet than those that the hardware profile names.
 */
#ifndef KV_SIM_ENGINE_PROFILE_H
#define KV_SIM_ENGINE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/yaml_tree.h"
#include "sim/profiles/hardware.h"
#include "sim/sizing/memory_budget.h"

/* What --kv-cache-dtype auto is: vLLM PRs 29980 and 30141 of 2025-12; SGLang's configure_kv_cache_dtype. */
enum kv_auto_cache {
	KV_AUTO_MODEL,      /* the model's type */
	KV_AUTO_MODELOPT,   /* what a ModelOpt checkpoint says, else the model's type */
	KV_AUTO_CHECKPOINT  /* what any checkpoint says, else the model's type */
};

struct kv_engine_profile {
	char *name;
	const char *summary, *source;
	const char *approximate;   /* where it is known to differ from the engine; NULL = it is not */
	bool null_block;           /* one block of the pool is never given out */
	bool blank_blocks_first;   /* unhashed freed blocks go to the head of the free queue */
	bool override_is_checked;  /* one request of max_model_len must fit a block override too */
	enum kv_auto_cache auto_cache;
	bool sizes_only;           /* its memory is known, its scheduler is not built: run refuses it */
	struct kv_sizing_rule sizing;
	bool has_overheads;        /* some of the profiles that only size have step times, some do not */
	struct kv_overheads overheads;  /* c0, cl, cl_fp8, c1 and cs given, if any */
	struct kv_efficiency efficiency;  /* NAN = the hardware profile's */
	const struct kv_node *engine, *policies, *implies;  /* mappings of defaults; rows of {if, then, unless_given} */
	const struct kv_node *devices;
	struct kv_node *tree;
};

/* A built-in name or the path of a file (anything with a "/" or ending in .yaml). NULL with err filled. */
struct kv_engine_profile *kv_engine_profile_load(const char *name_or_path, struct kv_error *err);
struct kv_engine_profile *kv_engine_profile_parse(const char *text, const char *name, struct kv_error *err);
void kv_engine_profile_free(struct kv_engine_profile *profile);

/* The defaults of a GPU's row: a mapping of engine keys. memory in bytes, as the framework sees it; 0 = unknown: only
 * a row without condition holds, and *unsure tells whether another might have. NULL if no row holds. */
const struct kv_node *kv_engine_profile_device(const struct kv_engine_profile *profile, const char *device,
                                               uint64_t memory, bool *unsure);

#endif
