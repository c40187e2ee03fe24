#include "config.h"

#include "sim/latency/latency.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/memory.h"
#include "sim/latency/latency_linear.h"
#include "sim/latency/latency_roofline.h"
#include "sim/latency/latency_table.h"

enum backend { BACKEND_FIXED, BACKEND_ROOFLINE, BACKEND_LINEAR, BACKEND_TABLE };

/* Apart from the model, which is const while a simulation runs. */
struct watch {
	bool has_region;
	struct kv_latency_region region;
	struct kv_latency_outside outside;
	void (*hear)(void *self, const struct kv_step_work *work);
	void *self;
};

struct kv_latency {
	enum backend backend;
	kv_time duration;
	struct kv_roofline_folded roofline;
	double coefficient[KV_LINEAR_FEATURES];
	struct kv_latency_table *table;
	struct watch *watch;  /* NULL = nobody asks */
};

/* 31 years: no step of a device that exists lasts this long, and times stay far from overflow. */
#define LONGEST_STEP_SECONDS 1e9

static kv_time from_seconds(double seconds)
{
	KV_ASSERT(seconds >= 0.0 && seconds < LONGEST_STEP_SECONDS, "a step of %g s", seconds);
	double ns = seconds * 1e9 + 0.5;

	return ns < 1.0 ? 1 : (kv_time)ns;
}

static double line_seconds(const double coefficient[KV_LINEAR_FEATURES], const struct kv_step_work *work)
{
	double features[KV_LINEAR_FEATURES], seconds = 0;

	kv_linear_features(work, features);
	for (size_t k = 0; k < KV_LINEAR_FEATURES; k++)
		seconds += coefficient[k] * features[k];
	return seconds;
}

/* Contexts are compared as sums: a division less. */
static bool context_leaves(uint64_t limit, const struct kv_step_work *w)
{
	return w->decode_context > limit * w->decode_seqs ||
	       w->prefill_past + w->prefill_tokens > limit * w->prefill_seqs;
}

static void look(struct watch *watch, const struct kv_step_work *w)
{
	if (watch->hear)
		watch->hear(watch->self, w);
	watch->outside.steps++;
	watch->outside.sequences += w->prefill_seqs + w->decode_seqs > watch->region.sequences;
	watch->outside.step_tokens += w->prefill_tokens + w->decode_seqs > watch->region.step_tokens;
	watch->outside.sequence_context += context_leaves(watch->region.sequence_context, w);
}

kv_time kv_latency_step(const struct kv_latency *latency, const struct kv_step_work *work)
{
	if (latency->watch)
		look(latency->watch, work);
	switch (latency->backend) {
	case BACKEND_FIXED:
		return latency->duration;
	case BACKEND_LINEAR:
		return from_seconds(line_seconds(latency->coefficient, work));
	case BACKEND_TABLE:
		return from_seconds(kv_latency_table_seconds(latency->table, work));
	default:
		return from_seconds(kv_roofline_step(&latency->roofline, work));
	}
}

void kv_latency_free(struct kv_latency *latency)
{
	if (!latency)
		return;
	kv_latency_table_free(latency->table);
	free(latency->watch);
	free(latency);
}

static uint64_t mean_up(uint64_t total, uint64_t count)
{
	return count ? kv_ceil_div(total, count) : 0;
}

void kv_latency_region_extend(struct kv_latency_region *region, const struct kv_step_work *w)
{
	uint64_t prefill = mean_up(w->prefill_past + w->prefill_tokens, w->prefill_seqs);

	region->sequences = kv_max(region->sequences, w->prefill_seqs + w->decode_seqs);
	region->step_tokens = kv_max(region->step_tokens, w->prefill_tokens + w->decode_seqs);
	region->sequence_context = kv_max(region->sequence_context, prefill);
	region->sequence_context = kv_max(region->sequence_context, mean_up(w->decode_context, w->decode_seqs));
}

static struct watch *watch_of(struct kv_latency *latency)
{
	if (!latency->watch)
		latency->watch = kv_calloc(1, sizeof *latency->watch);
	return latency->watch;
}

void kv_latency_watch(struct kv_latency *latency, const struct kv_latency_region *region)
{
	struct watch *watch = watch_of(latency);

	watch->has_region = true;
	watch->region = *region;
}

void kv_latency_listen(struct kv_latency *latency, void (*hear)(void *self, const struct kv_step_work *work),
                       void *self)
{
	struct watch *watch = watch_of(latency);

	watch->hear = hear;
	watch->self = self;
}

const struct kv_latency_outside *kv_latency_outside(const struct kv_latency *latency)
{
	return latency->watch && latency->watch->has_region ? &latency->watch->outside : NULL;
}

struct kv_latency *kv_latency_linear(const struct kv_linear *linear)
{
	struct kv_latency *latency = kv_calloc(1, sizeof *latency);

	latency->backend = BACKEND_LINEAR;
	memcpy(latency->coefficient, linear->coefficient, sizeof latency->coefficient);
	kv_latency_watch(latency, &linear->region);
	return latency;
}

struct kv_latency *kv_latency_from_table(struct kv_latency_table *table)
{
	struct kv_latency *latency = kv_calloc(1, sizeof *latency);
	struct kv_latency_region region;

	latency->backend = BACKEND_TABLE;
	latency->table = table;
	kv_latency_table_region(table, &region);
	kv_latency_watch(latency, &region);
	return latency;
}

struct kv_latency *kv_latency_fixed(kv_time duration)
{
	struct kv_latency *latency = kv_calloc(1, sizeof *latency);

	KV_ASSERT(duration > 0, "a step of %lld ns", (long long)duration);
	latency->backend = BACKEND_FIXED;
	latency->duration = duration;
	return latency;
}

static void check_positive(double value, const char *what)
{
	KV_ASSERT(isfinite(value) && value > 0.0, "roofline needs %s > 0, not %g", what, value);
}

static void check_setup(const struct kv_latency_setup *setup)
{
	const struct kv_latency_constants *c = &setup->constants;

	check_positive(setup->model.layers, "layers");
	check_positive(setup->rates.compute_flops, "flops");
	check_positive(setup->rates.attention_flops, "attention flops");
	check_positive(setup->rates.memory_bandwidth, "memory bandwidth");
	if (setup->tensor_parallel > 1.0 || setup->pipeline_parallel > 1.0)
		check_positive(setup->rates.link_bandwidth, "link bandwidth");
	check_positive(c->ec, "ec");
	check_positive(c->eb, "eb");
	check_positive(c->ea, "ea");
	check_positive(c->ek, "ek");
	check_positive(c->km, "km");
	check_positive(c->en, "en");
	if (c->large_message > 0.0)
		check_positive(c->el, "el");
	KV_ASSERT(setup->tensor_parallel >= 1.0 && setup->pipeline_parallel >= 1.0, "less than one rank");
	KV_ASSERT(c->ea_half >= 0.0 && c->c0 >= 0.0 && c->cl >= 0.0 && c->clp >= 0.0 && c->c1 >= 0.0 &&
	                  c->c1p >= 0.0 && c->cs >= 0.0 && c->large_message >= 0.0, "a negative overhead");
}

struct kv_latency *kv_latency_roofline(const struct kv_latency_setup *setup)
{
	struct kv_latency *latency = kv_calloc(1, sizeof *latency);
	struct kv_roofline roofline;

	check_setup(setup);
	latency->backend = BACKEND_ROOFLINE;
	kv_roofline_init(&roofline, setup);
	kv_roofline_fold(&roofline, &setup->constants, &latency->roofline);
	return latency;
}
