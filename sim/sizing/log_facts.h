/* What an engine's start-up log says: numbers found by their wording, whole logs or pasted fragments alike.
 *
 * Wordings of vLLM from V0 to 2026-08 (and forks), SGLang, TensorRT-LLM and llama.cpp. Prefixes, colours, time stamps
 * and ranks may stand in front; thousands separators are read over; lines may be wrapped. vLLM writes GB where it means
 * GiB. Where an engine starts several times, the last start counts.
 */
#ifndef KV_SIM_LOG_FACTS_H
#define KV_SIM_LOG_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/remarks.h"

enum kv_log_engine { KV_LOG_UNKNOWN, KV_LOG_VLLM, KV_LOG_SGLANG, KV_LOG_TENSORRT_LLM, KV_LOG_LLAMA_CPP };

const char *kv_log_engine_name(enum kv_log_engine engine);

enum kv_fact {
	KV_FACT_TOTAL,            /* device memory, GiB; likewise all memory below unless said otherwise */
	KV_FACT_FREE,             /* of it free at start, or (TensorRT-LLM) once the model is loaded */
	KV_FACT_UTILIZATION,
	KV_FACT_REQUESTED,        /* total x utilisation */
	KV_FACT_WEIGHTS,
	KV_FACT_ACTIVATION,
	KV_FACT_TORCH_PEAK,       /* weights and activation peak together (V0) */
	KV_FACT_NON_TORCH,
	KV_FACT_CONSUMED,         /* weights and non-torch together */
	KV_FACT_NON_KV,           /* all that is not KV */
	KV_FACT_GRAPHS,           /* captured */
	KV_FACT_GRAPHS_ESTIMATED,
	KV_FACT_KV,               /* available for the KV cache, or allocated */
	KV_FACT_KV_BYTES,         /* the same in bytes (TensorRT-LLM until 0.9) */
	KV_FACT_K_SIZE, KV_FACT_V_SIZE,
	KV_FACT_KV_BUFFER,        /* llama.cpp: of one device, MiB */
	KV_FACT_BLOCKS,
	KV_FACT_CPU_BLOCKS,
	KV_FACT_TOKENS,
	KV_FACT_TOKENS_AGAIN,     /* the same number in another line */
	KV_FACT_FULL_TOKENS, KV_FACT_WINDOW_TOKENS,  /* SGLang: of its two pools */
	KV_FACT_BLOCK_SIZE,
	KV_FACT_MAX_LEN,
	KV_FACT_CONCURRENCY,
	KV_FACT_BATCHED_TOKENS,
	KV_FACT_TENSOR_PARALLEL,
	KV_FACT_PIPELINE_PARALLEL,
	KV_FACT_SPECULATIVE,
	KV_FACT_PADDING_LAYERS,
	KV_FACT_PADDING_PERCENT,
	KV_FACT_SUGGESTED,        /* bytes, to fit the requested memory */
	KV_FACT_SUGGESTED_FULL,   /* bytes, to use all that is free */
	KV_FACT_EQUIVALENT,       /* utilisation without graph memory */
	KV_FACT_TO_KEEP,          /* utilisation that keeps the KV cache as it was without */
	KV_FACT_NEEDED,           /* for one request of max_len */
	KV_FACT_STORABLE,         /* longest request that fits, tokens */
	KV_FACT_WINDOW,           /* llama.cpp: n_swa */
	KV_FACT_MICRO_BATCH,      /* llama.cpp: n_ubatch */
	KV_FACT_CONTEXT,          /* llama.cpp: n_ctx of all slots */
	KV_FACT_SLOTS,            /* llama.cpp: n_seq_max */
	KV_FACT_K_WIDTH,          /* llama.cpp: n_embd_k_gqa */
	KV_FACT_BLOCKS_GIVEN,     /* num_gpu_blocks_override */
	KV_FACT_DATA_PARALLEL,
	KV_FACT_CONTEXT_PARALLEL, /* ranks that share the tokens of a sequence (decode context parallelism) */
	KV_FACT_STATE_SLOTS,      /* SGLang: recurrent states, one more is allocated */
	KV_FACT_CONV_SIZE, KV_FACT_STATE_SIZE,
	KV_FACT_PEAK,             /* TensorRT-LLM: all memory in use while a run is profiled */
	KV_FACT_TEMPORARY,        /* of it KV cache */
	KV_FACT_KV_ALLOWED, KV_FACT_KV_ESTIMATED,
	KV_FACT_FRACTION,         /* of free memory that KV may take */
	KV_FACT_TOKEN_BYTES,
	KV_FACTS
};

const char *kv_fact_name(enum kv_fact fact);

enum { KV_LOG_RANK_LENGTH = 24, KV_LOG_TEXT_LENGTH = 256, KV_LOG_CACHES = 16 };

struct kv_log_value {
	double number;
	double half;                    /* half of the last printed digit: the number is known to +- this */
	unsigned line;
	char rank[KV_LOG_RANK_LENGTH];  /* "TP1"; "" = not said */
};

/* A cache of llama.cpp: of attention layers, or of recurrent ones (R and S in place of K and V). */
struct kv_log_cache {
	bool recurrent;
	bool transposed;                          /* the second holds the latents of the first once more */
	struct kv_log_value size, first, second;  /* MiB */
	struct kv_log_value third;                /* MiB, of recurrent caches that have one (P) */
	double cells, layers, seqs;
	double snapshots;                         /* recurrent states kept beside each sequence's, for drafted tokens */
	double streams;                           /* sequences that have cells of their own; 1 = all share them */
	char first_type[16], second_type[16];
};

struct kv_log {
	enum kv_log_engine engine;
	unsigned lines, starts_left_out;
	struct kv_log_value *value[KV_FACTS];
	size_t count[KV_FACTS];
	char version[32], model[KV_LOG_TEXT_LENGTH], kv_dtype[32], dtype[32], quantization[32];
	bool graphs_subtracted;         /* the log says so */
	bool refused;                   /* the engine found no memory for a single block */
	struct kv_log_cache cache[KV_LOG_CACHES];
	size_t caches, caches_left_out;
	double llama_cells, llama_layers;  /* of a line that goes before its cache's size (llama.cpp until 2025) */
	struct kv_remarks notes;        /* what a reader of the verdicts has to know about the text */
};

/* "-" is standard input. NULL with err filled: KV_EXIT_MISSING, KV_EXIT_IO, and KV_EXIT_DATA for what holds no line
 * that any of the engines prints at start-up. */
struct kv_log *kv_log_read(const char *path, struct kv_error *err);
struct kv_log *kv_log_parse(const char *text, size_t length, const char *name, struct kv_error *err);
void kv_log_free(struct kv_log *log);

/* The last value of a fact, or NULL. */
const struct kv_log_value *kv_log_get(const struct kv_log *log, enum kv_fact fact);
/* The largest; of equal ones the first. */
const struct kv_log_value *kv_log_largest(const struct kv_log *log, enum kv_fact fact);
/* What the same line says; NULL if nothing. */
const struct kv_log_value *kv_log_on_line(const struct kv_log *log, enum kv_fact fact, unsigned line);
/* The smallest, over ranks. */
const struct kv_log_value *kv_log_smallest(const struct kv_log *log, enum kv_fact fact);

/* The first of the same rank from value's line on, or NULL. */
const struct kv_log_value *kv_log_after(const struct kv_log *log, enum kv_fact fact, const struct kv_log_value *value);

/* Forgets all facts and notes: the engine starts anew in a line. */
void kv_log_start_anew(struct kv_log *log, unsigned line);

/* Adds one (tests and tables of cases); decimals are those that were printed. */
void kv_log_add(struct kv_log *log, enum kv_fact fact, double number, int decimals, unsigned line, const char *rank);

#endif
