#include "config.h"

#include "sim/latency/iteration_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_TO_TRY = 1000 };

struct iteration {
	unsigned long context_requests, context_tokens, generation_requests, generation_tokens;
	double milliseconds;
	double usage;  /* percent; negative = not logged */
	bool dummy;    /* an empty step that keeps data-parallel ranks together */
};

static bool parse_line(const char *line, struct iteration *out)
{
	const char *text = strstr(line, "Iteration("), *end, *usage;
	unsigned long number;
	int used = 0;

	if (!text ||
	    sscanf(text,
	           "Iteration(%lu): %lu context requests, %lu context tokens, %lu generation requests, %lu generation "
	           "tokens, iteration elapsed time: %lf ms%n",
	           &number, &out->context_requests, &out->context_tokens, &out->generation_requests,
	           &out->generation_tokens, &out->milliseconds, &used) < 6 ||
	    used == 0)
		return false;
	end = text + used;
	usage = strstr(end, "KV cache usage: ");
	out->usage = usage ? strtod(usage + strlen("KV cache usage: "), NULL) : -1.0;
	out->dummy = strstr(end, "(dummy)") != NULL;
	return true;
}

bool kv_is_iteration_log(const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "r") : NULL;
	char *line = NULL;
	size_t capacity = 0;
	struct iteration iteration;
	bool found = false;

	if (!file)
		return false;
	for (int i = 0; i < LINES_TO_TRY && !found && getline(&line, &capacity, file) > 0; i++)
		found = parse_line(line, &iteration);
	free(line);
	fclose(file);
	return found;
}

/* All blocks in use, less what this step's prefill adds, belong to contexts that decode reads. */
static void set_context(const struct iteration *i, const struct kv_log_setting *setting, struct kv_measurement *row)
{
	if (row->d_seq == 0)
		return;
	if (i->usage >= 0.0 && setting->pool_tokens > 0) {
		uint64_t held = (uint64_t)(i->usage / 100.0 * (double)setting->pool_tokens);

		row->d_ctx = kv_max(kv_sub_floor(held, row->p_tok), row->d_seq);
	} else if (setting->mean_context > 0) {
		row->d_ctx = row->d_seq * setting->mean_context;
	} else {
		row->d_ctx = row->d_seq;
		kv_measurement_refuse(row, "nobody says how long its contexts are: give --mean-context N, or the pool "
		                           "of a log with KV cache usage (--num-gpu-blocks-override N)");
	}
}

static void take(const struct iteration *i, size_t line, const struct kv_log_setting *setting,
                 struct kv_measurements *out)
{
	struct kv_measurement row = {.line = line, .p_tok = i->context_tokens, .p_seq = i->context_requests,
	                             .d_seq = i->generation_requests, .seconds = i->milliseconds / 1e3};

	row.phase = row.p_seq == 0 ? KV_PHASE_DECODE : row.d_seq == 0 ? KV_PHASE_PREFILL : KV_PHASE_MIXED;
	if (i->dummy)
		kv_measurement_refuse(&row, "a dummy step");
	if (i->generation_tokens != i->generation_requests)
		kv_measurement_refuse(&row, "%lu tokens of %lu decodes: speculative decoding is not modelled",
		                      i->generation_tokens, i->generation_requests);
	if (!(row.seconds > 0.0))
		kv_measurement_refuse(&row, "time: %g ms; a time is above zero", i->milliseconds);
	set_context(i, setting, &row);
	kv_measurements_add(out, &setting->configuration, &row);
}

struct kv_measurements *kv_iteration_log_read(const char *path, const struct kv_log_setting *setting,
                                              struct kv_error *err)
{
	FILE *file = fopen(path, "r");
	struct kv_measurements *out;
	struct iteration iteration;
	char *text = NULL;
	size_t capacity = 0;

	if (!file) {
		kv_fail(err, errno == ENOENT ? KV_EXIT_MISSING : KV_EXIT_IO, "%s: %s", path, strerror(errno));
		return NULL;
	}
	out = kv_measurements_create(path);
	for (size_t line = 1; getline(&text, &capacity, file) > 0; line++)
		if (parse_line(text, &iteration))
			take(&iteration, line, setting, out);
	free(text);
	fclose(file);
	if (out->rows > 0)
		return out;
	kv_fail(err, KV_EXIT_DATA, "%s: no iterations", path);
	kv_measurements_free(out);
	return NULL;
}
