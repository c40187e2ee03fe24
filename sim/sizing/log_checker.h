/* Internal to the log checker: what its files share. */
#ifndef KV_SIM_LOG_CHECKER_H
#define KV_SIM_LOG_CHECKER_H

#include <stdbool.h>

#include "sim/sizing/log_check.h"

enum { KV_LOG_RANKS_MAX = 1024 };

/* A number known within bounds. */
struct kv_span {
	double low, high;
};

struct kv_checker {
	const struct kv_log *log;
	const struct kv_check_given *given;
	struct kv_check_list *list;
	const char *rank;    /* whose memory is looked at: the one with the least for KV */
};

struct kv_span kv_span_of(const struct kv_log_value *value);
struct kv_span kv_span_exactly(double number);
struct kv_span kv_span_minus(struct kv_span a, struct kv_span b);
struct kv_span kv_span_plus(struct kv_span a, struct kv_span b);
struct kv_span kv_span_times(struct kv_span a, struct kv_span b);  /* of positive numbers */
bool kv_span_meets(struct kv_span a, struct kv_span b);

/* Adds a row of the table. */
void kv_checker_add(struct kv_checker *c, enum kv_fact fact, const struct kv_log_value *printed, double computed,
                    enum kv_check_verdict verdict, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Adds one that agrees if computed meets what is printed. */
void kv_checker_compare(struct kv_checker *c, enum kv_fact fact, const struct kv_log_value *printed,
                        struct kv_span computed, const char *rule);

/* What is said beside the smallest number of tokens. */
const struct kv_log_value *kv_checker_concurrency(const struct kv_checker *c);

/* Of all devices that print it; line 0 if none does. */
struct kv_log_value kv_checker_sum(const struct kv_checker *c, enum kv_fact fact);

/* Of an element of a llama.cpp cache type, scales included; 0 if it is not known. */
double kv_checker_type_bytes(const char *type);

/* CPU blocks against the bytes of a block. */
void kv_checker_swap(struct kv_checker *c, struct kv_span page);

/* What needs the model: pages, blocks, tokens, concurrency, weights. */
void kv_checker_pool(struct kv_checker *c);

/* Its parts: weights; and the pools of engines that print the memory of so many tokens or cells: false for others. */
void kv_checker_weights(struct kv_checker *c);
bool kv_checker_engine_pools(struct kv_checker *c, const struct kv_layout_options *options);

/* Settings as given, logged, or as the ranks that speak have them. */
uint32_t kv_checker_tensor_parallel(const struct kv_checker *c);
uint32_t kv_checker_pipeline_parallel(const struct kv_checker *c);
const struct kv_cache_format *kv_checker_cache(const struct kv_checker *c);
uint64_t kv_checker_number(const struct kv_log *log, enum kv_fact fact, uint64_t given, uint64_t fallback);

#endif
