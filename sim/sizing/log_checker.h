/* Internal to the log checker: what its files share. */
#ifndef KV_SIM_LOG_CHECKER_H
#define KV_SIM_LOG_CHECKER_H

#include <stdbool.h>

#include "sim/sizing/log_check.h"

/* A number known within bounds. */
struct kv_span {
	double low, high;
};

struct kv_checker {
	const struct kv_log *log;
	const struct kv_check_given *given;
	struct kv_check_list *list;
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

/* CPU blocks against the bytes of a block. */
void kv_checker_swap(struct kv_checker *c, struct kv_span page);

/* What needs the model: pages, blocks, tokens, concurrency, weights. */
void kv_checker_pool(struct kv_checker *c);

#endif
