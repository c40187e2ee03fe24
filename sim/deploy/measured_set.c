#include "config.h"

#include "sim/deploy/measured_set.h"

#include <math.h>
#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/latency/latency_setup.h"
#include "sim/model/model.h"
#include "sim/model/weights.h"

/* A boost clock may beat the data sheet by this much. */
#define BOUND_SLACK 0.9
/* No model is a hundred times off; a unit is. */
#define WRONG_UNIT 100.0

/* --- joining ------------------------------------------------------------------------------------------------------ */

static uint64_t window_of(const struct kv_model *model)
{
	for (uint32_t i = 0; i < model->layers; i++)
		if (model->layer[i].window > 0)
			return model->layer[i].window;
	return 0;
}

static struct kv_model *load_model(const char *name, const struct kv_measured_options *options, struct kv_error *err)
{
	struct kv_model *model = kv_model_load(name, err);

	if (model && options->quantization && kv_model_quantize(model, options->quantization, err)) {
		kv_model_free(model);
		return NULL;
	}
	return model;
}

/* The data sheet of a row's rates: the given card's for rows of its name, and for names that nobody knows. */
static const struct kv_hardware *card_of(const char *gpu, const struct kv_hardware *given, struct kv_hardware **loaded,
                                         struct kv_error *err)
{
	if (given && kv_hardware_is_called(given, gpu))
		return given;
	*loaded = kv_hardware_load(gpu, err);
	return *loaded ? *loaded : given;
}

static int fill_setup(const struct kv_configuration *c, const struct kv_measured_options *options,
                      const struct kv_model *model, struct kv_latency_setup *setup, struct kv_error *err)
{
	struct kv_latency_layout layout = {.tensor_parallel = c->tp, .pipeline_parallel = 1,
	                                   .kv_dtype = options->kv_dtype};
	const struct kv_engine_profile *engine = options->engine;
	struct kv_hardware *loaded = NULL;
	const struct kv_hardware *card;
	int status;

	if (kv_model_check_tp(model, c->tp, err))
		return -1;
	card = card_of(c->gpu, options->hardware, &loaded, err);
	if (!card)
		return -1;
	status = kv_latency_setup_fill(model, card, &engine->overheads, &engine->efficiency, &layout, setup, err);
	if (status == 0 && options->hardware)
		kv_latency_setup_constants(model, options->hardware, &engine->overheads, &engine->efficiency, setup);
	kv_hardware_free(loaded);
	return status;
}

static int join(struct kv_measured_set *set, size_t configuration, const struct kv_measured_options *options,
                uint64_t *window, struct kv_roofline *roofline, struct kv_error *err)
{
	const struct kv_configuration *c = &set->measurements->configuration[configuration];
	struct kv_model *model = load_model(c->model, options, err);
	int status;

	if (!model)
		return -1;
	*window = window_of(model);
	status = fill_setup(c, options, model, &set->setup[configuration], err);
	kv_model_free(model);
	if (status)
		return kv_fail_in(err, "%s on %u x %s", c->model, c->tp, c->gpu);
	kv_roofline_init(roofline, &set->setup[configuration]);
	return 0;
}

static void list_usable(struct kv_measured_set *set)
{
	set->count = 0;
	for (size_t i = 0; i < set->measurements->rows; i++) {
		if (set->measurements->row[i].problem)
			continue;
		set->usable[set->count] = &set->observation[i];
		set->row[set->count++] = i;
	}
}

static void observe(struct kv_measured_set *set, size_t configuration, const struct kv_roofline *roofline,
                    uint64_t window)
{
	for (size_t i = 0; i < set->measurements->rows; i++) {
		const struct kv_measurement *row = &set->measurements->row[i];

		if (!row->problem && row->configuration == configuration)
			kv_measurement_observe(row, roofline, window, &set->observation[i]);
	}
}

static void without_communication(struct kv_roofline *roofline)
{
	roofline->allreduces = 0.0;
	roofline->ring_token = 0.0;
}

/* The first usable row of a configuration; NULL if it has none. */
static const struct kv_measurement *first_row(const struct kv_measurements *m, size_t configuration)
{
	for (size_t i = 0; i < m->rows; i++)
		if (!m->row[i].problem && m->row[i].configuration == configuration)
			return &m->row[i];
	return NULL;
}

int kv_measured_set_build(struct kv_measured_set *set, const struct kv_measurements *measurements,
                          const struct kv_measured_options *options, struct kv_error *err)
{
	*set = (struct kv_measured_set){
		.measurements = measurements,
		.setup = kv_calloc(measurements->configurations, sizeof *set->setup),
		.observation = kv_calloc(measurements->rows, sizeof *set->observation),
		.usable = kv_calloc(measurements->rows, sizeof *set->usable),
		.row = kv_calloc(measurements->rows, sizeof *set->row),
	};
	for (size_t c = 0; c < measurements->configurations; c++) {
		const struct kv_measurement *first = first_row(measurements, c);
		struct kv_roofline roofline;
		uint64_t window;

		if (!first)
			continue;
		if (join(set, c, options, &window, &roofline, err)) {
			kv_measured_set_free(set);
			return kv_fail_in(err, "%s:%zu", measurements->path, first->line);
		}
		if (options->kernel_times)
			without_communication(&roofline);
		observe(set, c, &roofline, window);
	}
	list_usable(set);
	return 0;
}

void kv_measured_set_free(struct kv_measured_set *set)
{
	free(set->setup);
	free(set->observation);
	free(set->usable);
	free(set->row);
	*set = (struct kv_measured_set){0};
}

double kv_measured_set_predict(const struct kv_measured_set *set, size_t usable)
{
	size_t configuration = set->measurements->row[set->row[usable]].configuration;

	return kv_observation_predict(set->usable[usable], &set->setup[configuration].constants);
}

/* --- screening ---------------------------------------------------------------------------------------------------- */

/* What a perfect device would need: everything overlaps, nothing is wasted, prefill attention is free. */
static double data_sheet_bound(const struct kv_observation *o)
{
	double seconds = 0;

	for (size_t i = 0; i < KV_OBSERVATION_PARTS; i++) {
		const struct kv_roofline_terms *t = &o->terms[i];

		seconds += o->count[i] * fmax(t->compute, t->weights + t->decode_kv + t->past_kv);
	}
	return seconds;
}

static void screen_row(struct kv_measurement *row, const struct kv_observation *o, double predicted)
{
	double bound = data_sheet_bound(o), ratio = o->seconds / predicted;

	if (ratio > WRONG_UNIT)
		kv_measurement_refuse(row, "time_ms: %g, %.0f times the %.4g ms that the model expects; microseconds?",
		                      o->seconds * 1e3, ratio, predicted * 1e3);
	else if (ratio * WRONG_UNIT < 1)
		kv_measurement_refuse(row, "time_ms: %g, 1/%.0f of the %.4g ms that the model expects; seconds?",
		                      o->seconds * 1e3, 1 / ratio, predicted * 1e3);
	else if (o->seconds < BOUND_SLACK * bound)
		kv_measurement_refuse(row, "time_ms: %g, but the data sheet allows no less than %.4g ms",
		                      o->seconds * 1e3, bound * 1e3);
}

void kv_measured_set_balance(struct kv_measured_set *set, const bool *left_out)
{
	size_t rows[KV_PHASES] = {0}, count = 0;
	double phases = 0;

	for (size_t i = 0; i < set->count; i++) {
		if (left_out && left_out[i])
			continue;
		rows[set->measurements->row[set->row[i]].phase]++;
		count++;
	}
	for (size_t p = 0; p < KV_PHASES; p++)
		phases += rows[p] > 0;
	for (size_t i = 0; i < set->count; i++) {
		size_t in_phase = rows[set->measurements->row[set->row[i]].phase];

		if (in_phase > 0)
			set->observation[set->row[i]].weight = (double)count / (phases * (double)in_phase);
	}
}

void kv_measured_set_screen(struct kv_measured_set *set, struct kv_measurements *measurements)
{
	for (size_t i = 0; i < set->count; i++)
		screen_row(&measurements->row[set->row[i]], set->usable[i], kv_measured_set_predict(set, i));
	list_usable(set);
	kv_measured_set_balance(set, NULL);
}
