#include "config.h"

#include "sim/latency.h"

#include <math.h>
#include <stdlib.h>

#include "sim/error.h"
#include "sim/latency_roofline.h"
#include "sim/memory.h"

enum backend { BACKEND_FIXED, BACKEND_ROOFLINE };

struct kv_latency {
	enum backend backend;
	kv_time duration;
	struct kv_roofline roofline;
	struct kv_latency_constants constants;
};

/* 31 years: no step of a device that exists lasts this long, and times stay far from overflow. */
#define LONGEST_STEP_SECONDS 1e9

static kv_time from_seconds(double seconds)
{
	KV_ASSERT(seconds >= 0.0 && seconds < LONGEST_STEP_SECONDS, "a step of %g s", seconds);
	double ns = seconds * 1e9 + 0.5;

	return ns < 1.0 ? 1 : (kv_time)ns;
}

kv_time kv_latency_step(const struct kv_latency *latency, const struct kv_step_work *work)
{
	if (latency->backend == BACKEND_FIXED)
		return latency->duration;

	struct kv_roofline_terms terms;

	kv_roofline_terms(&latency->roofline, work, &terms);
	return from_seconds(kv_roofline_seconds(&terms, &latency->constants));
}

void kv_latency_free(struct kv_latency *latency)
{
	free(latency);
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
	KV_ASSERT(setup->tensor_parallel >= 1.0 && setup->pipeline_parallel >= 1.0, "less than one rank");
	KV_ASSERT(c->ea_half >= 0.0 && c->c0 >= 0.0 && c->cl >= 0.0 && c->clp >= 0.0 && c->c1 >= 0.0 &&
	                  c->c1p >= 0.0 && c->cs >= 0.0, "a negative overhead");
}

struct kv_latency *kv_latency_roofline(const struct kv_latency_setup *setup)
{
	struct kv_latency *latency = kv_calloc(1, sizeof *latency);

	check_setup(setup);
	latency->backend = BACKEND_ROOFLINE;
	kv_roofline_init(&latency->roofline, setup);
	latency->constants = setup->constants;
	return latency;
}
