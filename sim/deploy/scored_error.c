#include "config.h"

#include "sim/deploy/scored_error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

/* Above this mean error, in percent, times of a run are no forecast. */
#define FAR_OFF 25.0

static bool is_of_engine(const struct kv_served_figure *figure, const struct kv_engine_profile *engine)
{
	size_t length = strlen(figure->engine);

	return strncmp(engine->name, figure->engine, length) == 0 && engine->name[length] == '-';
}

static uint32_t weight_bits(const struct kv_model *model)
{
	return kv_dtype_bits(model->quantization.format.dtype);
}

/* The figure of this model, engine and width of weights; NULL if these were not measured together. */
static const struct kv_served_figure *own_figure(const struct kv_hardware *hw, const struct kv_model *model,
                                                 const struct kv_engine_profile *engine)
{
	const struct kv_served_figures *served = &hw->validated.served;

	for (size_t i = 0; i < served->count; i++) {
		const struct kv_served_figure *f = &served->figure[i];

		if (!strcmp(f->model, model->name) && is_of_engine(f, engine) && f->weight_bits == weight_bits(model))
			return f;
	}
	return NULL;
}

static bool is_scored_model(const struct kv_validated *v, const struct kv_model *model)
{
	for (size_t i = 0; v->models && v->models[i]; i++)
		if (!strcmp(v->models[i], model->name))
			return true;
	return !v->models;
}

/* --- words ------------------------------------------------------------------------------------------------------- */

/* Rounded, and never "-0". */
static double rounded(double percent)
{
	return round(percent) + 0.0;
}

static void write_figure(FILE *out, const struct kv_served_figure *f)
{
	fprintf(out, "%s with %llu-bit weights, %s, %llu loads: TTFT %.0f %% (bias %+.0f), TPOT %.0f %% (bias %+.0f)",
	        f->model, (unsigned long long)f->weight_bits, f->engine, (unsigned long long)f->rows, rounded(f->ttft),
	        rounded(f->ttft_bias), rounded(f->tpot), rounded(f->tpot_bias));
}

/* The figures of a model (NULL: of any), under an engine (NULL: any); how many there were. */
static size_t write_figures(FILE *out, const struct kv_served_figures *served, const char *model,
                            const struct kv_engine_profile *engine)
{
	size_t written = 0;

	for (size_t i = 0; i < served->count; i++) {
		const struct kv_served_figure *f = &served->figure[i];

		if ((model && strcmp(f->model, model)) || (engine && !is_of_engine(f, engine)))
			continue;
		fputs(written++ > 0 ? "; " : "", out);
		write_figure(out, f);
	}
	return written;
}

static void write_loads(FILE *out, const struct kv_served_figures *served)
{
	fprintf(out, " (mean absolute error of served loads, %s; bias below 0: modelled times are too short)", served->loads);
}

static bool has_figures(const struct kv_served_figures *served, const char *model)
{
	for (size_t i = 0; i < served->count; i++)
		if (!strcmp(served->figure[i].model, model))
			return true;
	return false;
}

/* What was found for this model otherwise, or for others, where it has no figure of its own. */
static void write_others(FILE *out, const struct kv_validated *v, const struct kv_model *model,
                         const struct kv_engine_profile *engine)
{
	if (has_figures(&v->served, model->name)) {
		fprintf(out, "not compared with %u-bit weights under %s; otherwise it was: ", weight_bits(model), engine->name);
		write_figures(out, &v->served, model->name, NULL);
		write_loads(out, &v->served);
		return;
	}
	fprintf(out, "not compared for this model; for others it was: %s", v->error ? v->error : "");
	if (v->served.count == 0)
		return;
	fputs(v->error ? "; " : "", out);
	if (write_figures(out, &v->served, NULL, engine) == 0)
		write_figures(out, &v->served, NULL, NULL);
	write_loads(out, &v->served);
}

static void write_error(FILE *out, const struct kv_hardware *hw, const struct kv_model *model,
                        const struct kv_engine_profile *engine)
{
	const struct kv_validated *v = &hw->validated;
	const struct kv_served_figure *own = own_figure(hw, model, engine);
	bool scored = v->error && is_scored_model(v, model);

	if (!v->error && v->served.count == 0) {
		fputs("not compared with measurements", out);
		return;
	}
	if (scored)
		fputs(v->error, out);
	if (own) {
		fputs(scored ? "; " : "", out);
		write_figure(out, own);
		write_loads(out, &v->served);
	} else if (!scored) {
		write_others(out, v, model, engine);
	}
}

char *kv_latency_scored_error(const struct kv_hardware *hw, const struct kv_model *model,
                              const struct kv_engine_profile *engine)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	KV_ASSERT(out, "no memory for a sentence");
	write_error(out, hw, model, engine);
	fclose(out);
	return text;
}

/* --- warnings ------------------------------------------------------------------------------------------------------ */

/* What served loads of a kind were found at, on h100-sxm, h200 and b200: the range of the profiles' own figures. */
static const struct {
	const char *what, *ttft, *tpot;
} kinds[] = {
	{"models with a mixture of experts", "38 to 88", "12 to 49"},
	{"models with latent attention (MLA)", "61 to 88", "13 to 46"},
	{"SGLang", "36 to 88", "6 to 36"},
};

enum { EXPERTS, LATENT, SGLANG, KINDS };

void kv_latency_warn_far_off(const struct kv_hardware *hw, const struct kv_model *model,
                             const struct kv_engine_profile *engine, struct kv_remarks *warnings)
{
	const struct kv_served_figure *own = own_figure(hw, model, engine);
	const bool is[KINDS] = {
		[EXPERTS] = model->experts > 0 && model->kv_lora_rank == 0, [LATENT] = model->kv_lora_rank > 0,
		[SGLANG] = strncmp(engine->name, "sglang-", 7) == 0,
	};

	if (own) {
		if (own->ttft > FAR_OFF || own->tpot > FAR_OFF)
			kv_remark(warnings, "times of this run are no forecast: served loads of %s under %s on %s came out far "
			          "from the measured ones (TTFT %.0f %%, bias %+.0f; TPOT %.0f %%, bias %+.0f)", own->model,
			          own->engine, hw->name, rounded(own->ttft), rounded(own->ttft_bias), rounded(own->tpot),
			          rounded(own->tpot_bias));
		return;
	}
	for (int i = 0; i < KINDS && !hw->has_overheads; i++)
		if (is[i])
			kv_remark(warnings, "times of this run are no forecast: served loads of %s were compared on h100-sxm, "
			          "h200 and b200 and came out %s %% off in TTFT, nearly all too short, and %s %% in TPOT",
			          kinds[i].what, kinds[i].ttft, kinds[i].tpot);
}
