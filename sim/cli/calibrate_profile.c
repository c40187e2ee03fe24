#include "config.h"

#include "sim/cli/calibrate_profile.h"

#include <stdio.h>

#include "results/output_file.h"
#include "sim/base/quantity.h"

void kv_calibrated_region(const struct kv_measured_set *set, struct kv_validated *region)
{
	*region = (struct kv_validated){0};
	for (size_t i = 0; i < set->count; i++) {
		const struct kv_measurement *row = &set->measurements->row[set->row[i]];
		uint64_t sequences = row->p_seq + row->d_seq;
		uint64_t prefilled = row->p_seq ? (row->p_ctx + row->p_tok) / row->p_seq : 0;
		uint64_t decoded = row->d_seq ? row->d_ctx / row->d_seq : 0;
		uint32_t tp = set->measurements->configuration[row->configuration].tp;

		region->sequences = kv_max(region->sequences, sequences);
		region->step_tokens = kv_max(region->step_tokens, row->p_tok + row->d_seq);
		region->sequence_context = kv_max(region->sequence_context, kv_max(prefilled, decoded));
		region->tensor_parallel = tp > region->tensor_parallel ? tp : region->tensor_parallel;
	}
}

/* Double quotes make any text a YAML scalar. */
static void write_quoted(struct kv_output *out, const char *key, const char *text)
{
	kv_output_printf(out, "%s: \"", key);
	for (const char *c = text; *c; c++) {
		if (*c == '"' || *c == '\\')
			kv_output_text(out, "\\");
		kv_output_bytes(out, c, 1);
	}
	kv_output_text(out, "\"\n");
}

static void write_rate(struct kv_output *out, const char *key, double value, double unit, const char *unit_name)
{
	char number[KV_QUANTITY_MAX];

	if (value > 0)
		kv_output_printf(out, "%s: %s%s\n", key, kv_format_double(value / unit, number), unit_name);
}

static void write_memory(struct kv_output *out, const struct kv_hardware *card)
{
	char text[KV_QUANTITY_MAX];

	if (card->memory)
		kv_output_printf(out, "memory: %s\n", kv_format_bytes(card->memory, text));
	if (card->framework_memory)
		kv_output_printf(out, "framework_memory: %s\n", kv_format_bytes(card->framework_memory, text));
}

static void write_flops(struct kv_output *out, const struct kv_hardware *card)
{
	const char *separator = "flops: {";

	for (enum kv_flops type = 0; type < KV_FLOPS_TYPES; type++) {
		char number[KV_QUANTITY_MAX];

		if (card->flops[type] == 0)
			continue;
		kv_output_printf(out, "%s%s: %sTFLOP/s", separator, kv_flops_name(type),
		                 kv_format_double(card->flops[type] / 1e12, number));
		separator = ", ";
	}
	if (separator[0] == ',')
		kv_output_text(out, "}\n");
}

static void write_aliases(struct kv_output *out, const struct kv_hardware *card)
{
	const char *separator = "aliases: [";

	for (char **alias = card->aliases; alias && *alias; alias++) {
		kv_output_printf(out, "%s%s", separator, *alias);
		separator = ", ";
	}
	if (separator[0] == ',')
		kv_output_text(out, "]\n");
}

/* Written where the engine has such a habit. */
static void write_habits(struct kv_output *out, const struct kv_latency_constants *c)
{
	char bytes[KV_QUANTITY_MAX];

	if (c->large_message > 0)
		kv_output_printf(out, ", large_message: %s, el: %.4f",
		                 kv_format_bytes((uint64_t)c->large_message, bytes), c->el);
	if (c->overlap)
		kv_output_text(out, ", overlap: true");
}

static void write_constants(struct kv_output *out, const struct kv_calibrated_profile *p)
{
	const struct kv_efficiency *e = &p->card->efficiency;
	const struct kv_latency_constants *c = &p->constants;
	const struct kv_overheads *engine = &p->engine->overheads;
	double cl = p->narrow_products ? engine->cl : c->cl, cl_fp8 = p->narrow_products ? c->cl : engine->cl_fp8;

	kv_output_printf(out, "efficiency: {ec: %.4f, eb: %.4f, ea: %.4f, ea_half: %g, ek: %.4f, km: %.4f, en: %.4f, ",
	                 p->narrow_products ? e->ec : c->ec, p->narrow_products ? e->eb : c->eb, c->ea, c->ea_half,
	                 c->ek, c->km, c->en);
	kv_output_printf(out, "ec_fp8: %.4f, eb_fp8: %.4f}\n", p->narrow_products ? c->ec : e->ec_fp8,
	                 p->narrow_products ? c->eb : e->eb_fp8);
	kv_output_printf(out,
	                 "overheads: {c0: %.4fms, cl: %.3fus, cl_fp8: %.3fus, clp: %.3fus, c1: %.3fus, c1p: %.3fus, "
	                 "cs: %.3fus",
	                 c->c0 * 1e3, cl * 1e6, cl_fp8 * 1e6, c->clp * 1e6, c->c1 * 1e6, c->c1p * 1e6, c->cs * 1e6);
	write_habits(out, c);
	kv_output_text(out, "}\n");
}

static void write_region(struct kv_output *out, const struct kv_calibrated_profile *p)
{
	const struct kv_validated *v = &p->region;

	kv_output_printf(out, "validated:\n  sequences: %llu\n  step_tokens: %llu\n  sequence_context: %llu\n"
	                 "  tensor_parallel: %u\n",
	                 (unsigned long long)v->sequences, (unsigned long long)v->step_tokens,
	                 (unsigned long long)v->sequence_context, v->tensor_parallel);
	write_quoted(out, "  weights", p->narrow_products ? "narrow" : "wide");
	write_quoted(out, "  error", p->error);
}

static void write_all(struct kv_output *out, const struct kv_calibrated_profile *p)
{
	char source[1024];

	kv_output_text(out, "# Fitted by kvsim calibrate. The overheads are those of the engine that was measured: "
	                    "they take the place of\n# an engine profile's.\n");
	write_quoted(out, "name", p->card->name);
	write_aliases(out, p->card);
	write_memory(out, p->card);
	write_rate(out, "memory_bandwidth", p->card->memory_bandwidth, 1e9, "GB/s");
	write_flops(out, p->card);
	write_rate(out, "link_bandwidth", p->card->link_bandwidth, 1e9, "GB/s");
	write_rate(out, "host_link_bandwidth", p->card->host_link_bandwidth, 1e9, "GB/s");
	write_constants(out, p);
	write_region(out, p);
	snprintf(source, sizeof source, "constants fitted to %s, engine %s; rates: %s", p->data, p->engine->name,
	         p->card->source);
	write_quoted(out, "source", source);
}

int kv_calibrated_profile_write(const struct kv_calibrated_profile *profile, const char *path, struct kv_error *err)
{
	struct kv_output *out = kv_output_create(path, err);
	int status;

	if (!out)
		return -1;
	write_all(out, profile);
	status = kv_output_close(out, err) || kv_output_commit(out, err) ? -1 : 0;
	kv_output_free(out);
	return status;
}
