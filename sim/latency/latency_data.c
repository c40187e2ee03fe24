#include "config.h"

#include "sim/latency/latency_data.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/latency/latency_linear.h"
#include "sim/latency/latency_table.h"
#include "sim/latency/measurement.h"

/* Names of models differ between files; the built-in name that they lead to does not. */
static bool is_model(const char *name, const struct kv_model *model)
{
	struct kv_error ignored;
	struct kv_model *other;
	bool same;

	if (!strcmp(name, model->name))
		return true;
	other = kv_model_load(name, &ignored);
	same = other && !strcmp(other->name, model->name);
	kv_model_free(other);
	return same;
}

static bool is_wanted(const struct kv_configuration *c, const struct kv_model *model,
                      const struct kv_hardware *hardware, uint32_t tensor_parallel)
{
	return c->tp == tensor_parallel && kv_hardware_is_called(hardware, c->gpu) && is_model(c->model, model);
}

/* The usable step rows of those configurations. */
static size_t select_rows(const struct kv_measurements *m, const bool *wanted, struct kv_timed_work *rows)
{
	size_t count = 0;

	for (size_t i = 0; i < m->rows; i++) {
		const struct kv_measurement *row = &m->row[i];

		if (row->problem || !kv_measurement_is_step(row) || !wanted[row->configuration])
			continue;
		rows[count++] = (struct kv_timed_work){.work = kv_measurement_work(row, 0), .seconds = row->seconds};
	}
	return count;
}

static struct kv_latency *line_through(const struct kv_timed_work *rows, size_t count, struct kv_error *err)
{
	struct kv_linear linear;

	return kv_linear_fit(rows, count, &linear, err) ? NULL : kv_latency_linear(&linear);
}

struct kv_latency *kv_latency_from_data(enum kv_data_backend backend, const char *path, const struct kv_model *model,
                                        const struct kv_hardware *hardware, uint32_t tensor_parallel,
                                        struct kv_error *err)
{
	struct kv_measurements *m = kv_measurements_read(path, NULL, err);
	struct kv_latency *latency = NULL;
	struct kv_timed_work *rows;
	bool *wanted;
	size_t count;

	if (!m)
		return NULL;
	wanted = kv_calloc(m->configurations, sizeof *wanted);
	rows = kv_calloc(m->rows, sizeof *rows);
	for (size_t c = 0; c < m->configurations; c++)
		wanted[c] = is_wanted(&m->configuration[c], model, hardware, tensor_parallel);
	count = select_rows(m, wanted, rows);
	if (count == 0)
		kv_fail(err, KV_EXIT_DATA, "%s: no usable row of %s on %u x %s", path, model->name, tensor_parallel,
		        hardware->name);
	else if (backend == KV_DATA_TABLE)
		latency = kv_latency_from_table(kv_latency_table_create(rows, count));
	else if ((latency = line_through(rows, count, err)) == NULL)
		kv_fail_in(err, "%s", path);
	free(rows);
	free(wanted);
	kv_measurements_free(m);
	return latency;
}
