/* GPUs as data: rates and memory of one device, and the share of each rate that engines reach on it.
 *
 * A profile is a YAML mapping; sim/profiles/hardware/ holds the built-in ones, and a file of the same form describes
 * any other card:
 *
 *     name: my-card
 *     aliases: [my_card]                  # optional
 *     compute_capability: 12.0            # CUDA; which formats of the KV cache engines have goes by it
 *     memory: 96GiB                       # as the driver shows it
 *     framework_memory: 95GiB             # as the framework sees it; without it, 480 MiB less than memory
 *     memory_bandwidth: 1.8TB/s
 *     flops: {bf16: 500TFLOP/s, fp8: 1PFLOP/s, int8: 1PFLOP/s, fp4: 2PFLOP/s}   # dense; operations of int8
 *     link_bandwidth: 450GB/s             # to another GPU, one direction
 *     host_link_bandwidth: 64GB/s
 *     efficiency: {ec: 0.6, eb: 0.8, ea: 0.6, ea_half: 1500, ek: 0.75, km: 0.6, en: 0.6, ec_fp8: 0.5, eb_fp8: 0.75}
 *     overheads: {c0: 1ms, cl: 20us, c1: 8us, cs: 6us}   # of the engine it was measured with: takes its place;
 *                                         # some have {large_message: 64MiB, el: 0.5, overlap: true} as well
 *     validated: {...}                    # see below
 *     source: data sheet of 2026-08
 *
 * Everything but the name may be missing. Rates and memory are then unknown, and what needs them says so; efficiencies
 * have defaults, each listed among the assumptions. Why these constants: sim/latency/latency.h.
 */
#ifndef KV_SIM_HARDWARE_H
#define KV_SIM_HARDWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/yaml_tree.h"
#include "sim/profiles/served_figures.h"

enum kv_flops { KV_FLOPS_BF16, KV_FLOPS_FP8, KV_FLOPS_INT8, KV_FLOPS_FP4, KV_FLOPS_TYPES };

const char *kv_flops_name(enum kv_flops type);

/* Shares of the data-sheet rates; ea_half in tokens. Quantised matrix products reach another share of another rate. */
struct kv_efficiency {
	double ec, eb, ea, ea_half, ek, km, en;
	double ec_fp8, eb_fp8;
};

/* The engine's part of a step's time, NAN = not given: overheads in seconds; how it reduces large messages (from so
 * many bytes on, with the factor el on en); whether its overheads overlap with the device's work (1) or not (0). */
struct kv_overheads {
	double c0, cl, cl_fp8, clp, c1, c1p, cs;
	double large_message, el;
	double overlap;
};

/* The region in which a profile has been compared with measurements; 0 = nowhere. What was found there is said by
 * `error` (models: those that were measured; without it, of whatever runs) and, for served loads, model by model. */
struct kv_validated {
	uint64_t sequences;         /* most in a step */
	uint64_t step_tokens;       /* most computed in a step */
	uint64_t sequence_context;  /* longest mean context of a sequence, tokens */
	uint32_t tensor_parallel;   /* most ranks */
	char *weights;              /* "wide" (16 bits), "narrow" or "both"; NULL = neither */
	char *error;                /* what was found there, one sentence; NULL = nothing beside served loads */
	char **models;              /* NULL-terminated; NULL = error does not depend on them */
	struct kv_served_figures served;
};

struct kv_hardware {
	char *name;
	char *source;               /* "" = the profile does not say */
	char **aliases;             /* NULL-terminated; may be NULL */
	double compute_capability;  /* of CUDA; 0 = unknown, or no CUDA device */
	uint64_t memory;            /* bytes as the driver shows them; 0 = unknown, as in all that follow */
	uint64_t framework_memory;  /* bytes as the framework sees them, from the profile alone */
	double memory_bandwidth;    /* bytes/s */
	double flops[KV_FLOPS_TYPES];
	double link_bandwidth;      /* bytes/s to another GPU, one direction */
	double host_link_bandwidth;
	struct kv_efficiency efficiency;
	bool has_overheads;         /* calibrated: efficiency and overheads go before the engine profile's */
	struct kv_overheads overheads;
	struct kv_validated validated;
	char **assumed;             /* one sentence each: what the profile does not say */
	size_t assumed_count;
};

/* A built-in name or alias (case and "_" against "-" do not matter), or the path of a file (it contains "/" or a dot).
 * NULL with err filled: unknown names list the valid ones. */
struct kv_hardware *kv_hardware_load(const char *name_or_path, struct kv_error *err);
/* The same from text; label stands for the file in errors. */
struct kv_hardware *kv_hardware_parse(const char *text, const char *label, struct kv_error *err);
void kv_hardware_free(struct kv_hardware *hardware);

/* Is that its name or one of its aliases? Case, "_" and blanks against "-" do not matter. */
bool kv_hardware_is_called(const struct kv_hardware *hardware, const char *name);

/* What a framework sees of the device's memory, bytes; 0 = unknown. */
uint64_t kv_hardware_device_memory(const struct kv_hardware *hardware);

/* Reads a mapping of overheads, or of efficiencies, into *out; what it does not name stays as it is. Engine profiles
 * have the same two mappings. Unset = all NAN. */
void kv_overheads_unset(struct kv_overheads *overheads);
int kv_overheads_read(const struct kv_node *node, struct kv_overheads *out, struct kv_error *err);
void kv_efficiency_unset(struct kv_efficiency *efficiency);
int kv_efficiency_read(const struct kv_node *node, struct kv_efficiency *out, struct kv_error *err);

#endif
