/* Settings that the checks need: as given, as logged, or as the ranks that speak have them. */
#include "config.h"

#include "sim/sizing/log_checker.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/units.h"
#include "sim/sizing/log_readings.h"

uint64_t kv_checker_number(const struct kv_log *log, enum kv_fact fact, uint64_t given, uint64_t fallback)
{
	const struct kv_log_value *value = kv_log_get(log, fact);

	return given ? given : value && value->number >= 1 ? kv_whole(value->number) : fallback;
}

/* Ranks of a dimension ("PP") that speak, counted from zero; 0 = none says so. */
static uint64_t ranks_named(const struct kv_log *log, const char *dimension)
{
	uint64_t ranks = 0;

	for (int fact = 0; fact < KV_FACTS; fact++)
		for (size_t i = 0; i < log->count[fact]; i++) {
			const char *at = strstr(log->value[fact][i].rank, dimension);

			if (at)
				ranks = kv_max(ranks, strtoul(at + strlen(dimension), NULL, 10) + 1);
		}
	return ranks;
}

/* As given or logged; where neither says, as many as speak, if that is more than the first. */
static uint64_t ranks_of(const struct kv_log *log, enum kv_fact fact, uint64_t given, const char *dimension)
{
	uint64_t named = ranks_named(log, dimension);

	return kv_min(kv_checker_number(log, fact, given, kv_max(1, named)), KV_LOG_RANKS_MAX);
}

uint32_t kv_checker_tensor_parallel(const struct kv_checker *c)
{
	return (uint32_t)ranks_of(c->log, KV_FACT_TENSOR_PARALLEL, c->given->tensor_parallel, "TP");
}

uint32_t kv_checker_pipeline_parallel(const struct kv_checker *c)
{
	uint64_t stages = ranks_of(c->log, KV_FACT_PIPELINE_PARALLEL, 0, "PP");

	return (uint32_t)kv_min(stages, c->given->model->layers);
}

const struct kv_cache_format *kv_checker_cache(const struct kv_checker *c)
{
	const char *name = c->log->kv_dtype;
	struct kv_error ignored;
	const struct kv_cache_format *format;

	if (c->given->cache)
		return c->given->cache;
	if (!strncmp(name, "torch.", strlen("torch.")))
		name += strlen("torch.");
	if (!strncmp(name, "float8", strlen("float8")))
		name = "fp8";
	format = *name ? kv_cache_format_find(name, &ignored) : NULL;
	if (*name && !format)
		kv_remark(&c->list->notes, "the log names a KV cache type that is not known: '%s'", name);
	return format ? format : kv_cache_format_find("auto", &ignored);
}
