/* kvsim size: the memory behind each conversation, and whether the engine starts. */
#ifndef KV_SIM_CLI_SIZE_H
#define KV_SIM_CLI_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "results/output_file.h"
#include "sim/cli/options.h"
#include "sim/deploy/deployment.h"
#include "sim/sizing/remedies.h"
#include "sim/sizing/sizing.h"

int kv_cli_size(int argc, char **argv);

/* --- between size.c and what prints its answer -------------------------------------------------------------------- */

struct kv_size_arguments {
	struct kv_scenario_options options;
	uint64_t gpu_memory;
	int64_t weights, activation, reserve, headroom;  /* KV_BYTES_UNSET = not given */
	uint64_t sequences, length;                      /* 0 = not given */
	uint64_t data_parallel, speculative_tokens;
	const char *speculative_config;                  /* NULL = not given */
	bool expert_parallel, async_scheduling, whole_context;
	bool json, sensitivity, explain, fail_unless_fits;
};

/* Lengths of a trace's requests, and how many such requests the pool holds. Bounds: allocation, sharing and growth move
 * them. */
struct kv_size_trace {
	uint64_t requests, too_long;     /* too_long: of them longer than max_model_len, and refused */
	double mean_tokens;              /* of all requests; likewise the percentiles */
	double held;                     /* by the usable memory of a replica, at the mix of those not refused */
	double percentile[3], tokens[3]; /* 50, 90, 99 */
	double held_if_all[3];           /* if all had that length */
};

struct kv_size_report {
	struct kv_size_arguments arguments;
	struct kv_scenario scenario;
	struct kv_deployment deployment;
	struct kv_model *draft;          /* NULL: no drafter of another model */
	enum kv_draft_method drafter;
	struct kv_size_question question;
	struct kv_size_answer answer;
	struct kv_size_answer least, most;  /* at the ends of the known errors of what is assumed */
	struct kv_size_trace trace;      /* requests = 0: none was given */
};

/* The scenario must have been initialised. argv is left so that it can be read again. */
int kv_size_read_arguments(struct kv_size_report *report, int argc, char **argv, struct kv_error *err);

/* Everything but the trace. */
int kv_size_report_answer(struct kv_size_report *report, struct kv_error *err);

/* Lengths of the scenario's workload, if it has one: of all its requests, those that follow others too. */
int kv_size_read_trace(struct kv_size_report *report, struct kv_error *err);
void kv_size_report_fini(struct kv_size_report *report);

/* Those of kvsim size alone, ended by {0}. */
const struct argp_option *kv_size_options(void);

/* --hardware A,B,C: one row a card; asked is what the arguments came to, unanswered. fits: does one of them do? */
int kv_size_compare_cards(const struct kv_size_report *asked, int argc, char **argv, bool *fits, struct kv_error *err);

/* What would make it start and hold so many requests of --length (0 = only start). */
void kv_size_report_remedies(const struct kv_size_report *report, uint64_t sequences,
                             struct kv_size_remedies *remedies);

/* A line a change, to be copied: what stands before the flags in so many columns, the flags, a comment of the shell. */
void kv_size_print_remedies(struct kv_output *out, const struct kv_size_report *report, const char *before, int width,
                            const struct kv_size_remedies *remedies);
void kv_size_print_attempts(struct kv_output *out, const struct kv_size_remedies *remedies);
json_t *kv_size_remedies_json(const struct kv_size_remedies *remedies);
json_t *kv_size_attempts_json(const struct kv_size_remedies *remedies);

/* Can the memory be known: from the card, or from options in its place? */
bool kv_size_knows_memory(const struct kv_size_report *report, const struct kv_hardware *hardware);

void kv_size_print_notes(struct kv_output *out, const struct kv_remarks *notes);
json_t *kv_size_notes_json(const struct kv_remarks *notes);

/* Takes the object. */
void kv_size_print_json(struct kv_output *out, json_t *object);

/* Loads the drafter of --speculative-config, if there is one; the deployment must have been planned. */
int kv_size_read_drafter(struct kv_size_report *report, struct kv_error *err);

/* Do known errors of what is assumed move the number of blocks? */
bool kv_size_report_is_vague(const struct kv_size_report *report);

/* Ranks that routed experts are spread over with so many replicas. */
void kv_size_spread_experts(const struct kv_size_arguments *arguments, struct kv_budget_question *b, uint32_t replicas);

/* --length, or max_model_len without it. */
uint64_t kv_size_report_length(const struct kv_size_report *report);

/* Requests of that length that run at once on all replicas: none where it does not start. */
uint64_t kv_size_report_users(const struct kv_size_report *report, const struct kv_size_answer *answer);

/* Blocks that one request of so many tokens takes at most. */
uint64_t kv_size_report_blocks(const struct kv_size_report *report, uint64_t tokens);

/* Requests that max_num_seqs lets run at once on all replicas; no bound for llama.cpp, whose slots are asked for. */
uint64_t kv_size_report_slots(const struct kv_size_report *report);

/* Recurrent state of one sequence on a rank, by the engine's rule. */
uint64_t kv_size_report_state(const struct kv_size_report *report);

json_t *kv_size_report_json(const struct kv_size_report *report);
void kv_size_report_text(struct kv_output *out, const struct kv_size_report *report);
void kv_size_report_explain(struct kv_output *out, const struct kv_size_report *report);
/* Parts of the explanation: from positions to blocks, from the device's memory to blocks. */
void kv_size_explain_blocks(struct kv_output *out, const struct kv_size_report *report, uint64_t sequences);
void kv_size_explain_budget(struct kv_output *out, const struct kv_size_report *report);
void kv_size_report_sensitivity(struct kv_output *out, const struct kv_size_report *report);

/* One row of the sensitivity table: what was changed to what, and the answer; ok is false where it cannot be. */
struct kv_size_variant {
	char what[64];
	bool ok, as_asked;
	const char *refused;             /* why the engine does not take it here; NULL = it does */
	uint32_t replicas;               /* data-parallel replicas that share the load */
	struct kv_size_answer answer;
};

enum { KV_SIZE_VARIANTS = 48 };

uint32_t kv_size_report_variants(const struct kv_size_report *report,
                                 struct kv_size_variant variants[KV_SIZE_VARIANTS]);

#endif
