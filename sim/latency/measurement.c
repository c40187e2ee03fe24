#include "config.h"

#include "sim/latency/measurement.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/base/quantity.h"

static const char *const phase_names[KV_PHASES] = {"prefill", "decode", "mixed", "e2e_static", "layer_linear"};

const char *kv_phase_name(enum kv_phase phase)
{
	return phase_names[phase];
}

/* Where the columns stand; KV_NO_COLUMN = not in the file. */
struct columns {
	size_t gpu, tp, model, time_ms;
	size_t p_tok, p_seq, p_ctx, d_seq, d_ctx;
	size_t phase, batch, tokens, context;
	size_t kv_overflow;
};

struct reading {
	const struct kv_csv_table *table;
	struct columns at;
	struct kv_measurements *out;
};

void kv_measurement_refuse(struct kv_measurement *row, const char *format, ...)
{
	char text[256];
	va_list args;

	if (row->problem)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	row->problem = kv_strdup(text);
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

static int find_columns(const struct kv_csv_table *table, struct columns *at, struct kv_error *err)
{
	const struct { const char *name; size_t *at; bool required; } wanted[] = {
		{"gpu", &at->gpu, true}, {"tp", &at->tp, true}, {"model", &at->model, true},
		{"time_ms", &at->time_ms, true},
		{"p_tok", &at->p_tok, false}, {"p_seq", &at->p_seq, false}, {"p_ctx", &at->p_ctx, false},
		{"d_seq", &at->d_seq, false}, {"d_ctx", &at->d_ctx, false}, {"phase", &at->phase, false},
		{"batch", &at->batch, false}, {"tokens", &at->tokens, false}, {"context", &at->context, false},
		{"kv_overflow", &at->kv_overflow, false},
	};

	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		*wanted[i].at = kv_csv_table_column(table, wanted[i].name);
		if (wanted[i].required && *wanted[i].at == KV_NO_COLUMN)
			return kv_fail(err, KV_EXIT_DATA,
			               "%s:1: column %s is missing; needed: gpu, tp, model, p_tok, p_seq, p_ctx, "
			               "d_seq, d_ctx, time_ms",
			               table->path, wanted[i].name);
	}
	return 0;
}

static bool has_parts(const struct columns *at)
{
	return at->p_tok != KV_NO_COLUMN && at->p_seq != KV_NO_COLUMN && at->p_ctx != KV_NO_COLUMN &&
	       at->d_seq != KV_NO_COLUMN && at->d_ctx != KV_NO_COLUMN;
}

static bool has_totals(const struct columns *at)
{
	return at->phase != KV_NO_COLUMN && at->batch != KV_NO_COLUMN && at->tokens != KV_NO_COLUMN &&
	       at->context != KV_NO_COLUMN;
}

/* --- cells -------------------------------------------------------------------------------------------------------- */

static uint64_t read_count(const struct reading *r, size_t row, size_t column, struct kv_measurement *m)
{
	const char *text = kv_csv_table_cell(r->table, row, column);
	struct kv_error err;
	uint64_t value = 0;

	if (kv_parse_count(text, 0, UINT64_C(1) << 40, &value, &err))
		kv_measurement_refuse(m, "%s: %s", r->table->names[column], err.text);
	return value;
}

static void read_time(const struct reading *r, size_t row, struct kv_measurement *m)
{
	const char *text = kv_csv_table_cell(r->table, row, r->at.time_ms);
	struct kv_error err;
	double ms;

	if (kv_parse_double(text, -HUGE_VAL, HUGE_VAL, &ms, &err))
		kv_measurement_refuse(m, "time_ms: '%s' is not a number", text);
	else if (!(ms > 0.0))
		kv_measurement_refuse(m, "time_ms: %s; a time is above zero", text);
	else
		m->seconds = ms / 1e3;
}

static void check_total(const struct reading *r, size_t row, size_t column, uint64_t sum, struct kv_measurement *m)
{
	if (column == KV_NO_COLUMN || m->problem)
		return;
	if (read_count(r, row, column, m) != sum && !m->problem)
		kv_measurement_refuse(m, "%s is %s, but the parts sum to %llu", r->table->names[column],
		                      kv_csv_table_cell(r->table, row, column), (unsigned long long)sum);
}

static void read_parts(const struct reading *r, size_t row, struct kv_measurement *m)
{
	m->p_tok = read_count(r, row, r->at.p_tok, m);
	m->p_seq = read_count(r, row, r->at.p_seq, m);
	m->p_ctx = read_count(r, row, r->at.p_ctx, m);
	m->d_seq = read_count(r, row, r->at.d_seq, m);
	m->d_ctx = read_count(r, row, r->at.d_ctx, m);
	check_total(r, row, r->at.batch, m->p_seq + m->d_seq, m);
	check_total(r, row, r->at.tokens, m->p_tok + m->d_seq, m);
	check_total(r, row, r->at.context, m->p_ctx + m->d_ctx, m);
	m->phase = m->p_seq == 0 ? KV_PHASE_DECODE : m->d_seq == 0 ? KV_PHASE_PREFILL : KV_PHASE_MIXED;
}

static void read_layer(const struct reading *r, size_t row, struct kv_measurement *m)
{
	m->phase = KV_PHASE_LAYER;
	m->p_tok = read_count(r, row, r->at.tokens, m);
	if (m->p_tok == 0)
		kv_measurement_refuse(m, "tokens: 0; a layer computes at least one");
}

static void read_totals(const struct reading *r, size_t row, const char *phase, struct kv_measurement *m)
{
	uint64_t batch = read_count(r, row, r->at.batch, m), tokens = read_count(r, row, r->at.tokens, m);
	uint64_t context = read_count(r, row, r->at.context, m);

	if (!strcmp(phase, phase_names[KV_PHASE_DECODE])) {
		m->phase = KV_PHASE_DECODE;
		m->d_seq = batch;
		m->d_ctx = context;
		return;
	}
	m->p_seq = batch;
	if (!strcmp(phase, phase_names[KV_PHASE_PREFILL])) {
		m->phase = KV_PHASE_PREFILL;
		m->p_tok = tokens;
		m->p_ctx = context;
	} else if (!strcmp(phase, phase_names[KV_PHASE_STATIC])) {
		m->phase = KV_PHASE_STATIC;
		m->p_tok = batch * tokens;
	} else {
		kv_measurement_refuse(m, "phase: '%s'; allowed without p_tok to d_ctx: prefill, decode, e2e_static, "
		                      "layer_linear", phase);
	}
}

/* Rows with parts need no phase; the others say what their totals are of. */
static void read_work(const struct reading *r, size_t row, struct kv_measurement *m)
{
	const char *phase = has_parts(&r->at) ? "" : kv_csv_table_cell(r->table, row, r->at.phase);

	if (has_parts(&r->at))
		read_parts(r, row, m);
	else if (!strcmp(phase, phase_names[KV_PHASE_LAYER]))
		read_layer(r, row, m);
	else
		read_totals(r, row, phase, m);
}

static void check_work(struct kv_measurement *m)
{
	if (m->phase == KV_PHASE_LAYER)
		return;
	if (m->p_seq + m->d_seq == 0)
		kv_measurement_refuse(m, "a step without sequences");
	else if ((m->p_tok == 0) != (m->p_seq == 0) || m->p_tok < m->p_seq)
		kv_measurement_refuse(m, "p_tok is %llu for %llu sequences", (unsigned long long)m->p_tok,
		                      (unsigned long long)m->p_seq);
	else if (m->d_ctx < m->d_seq)
		kv_measurement_refuse(m, "d_ctx is %llu for %llu sequences; each reads at least its own token",
		                      (unsigned long long)m->d_ctx, (unsigned long long)m->d_seq);
	else if (m->p_seq == 0 && m->p_ctx > 0)
		kv_measurement_refuse(m, "p_ctx without p_seq");
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static size_t find_configuration(struct kv_measurements *m, const struct kv_configuration *wanted)
{
	for (size_t i = 0; i < m->configurations; i++) {
		const struct kv_configuration *c = &m->configuration[i];

		if (c->tp == wanted->tp && !strcmp(c->gpu, wanted->gpu) && !strcmp(c->model, wanted->model))
			return i;
	}
	m->configuration = kv_grow(m->configuration, &m->configuration_capacity, m->configurations + 1,
	                           sizeof *m->configuration);
	m->configuration[m->configurations] = (struct kv_configuration){
		.gpu = kv_strdup(wanted->gpu), .model = kv_strdup(wanted->model), .tp = wanted->tp};
	return m->configurations++;
}

static bool same_shape(const struct kv_measurement *a, const struct kv_measurement *b)
{
	return a->phase == b->phase && a->p_tok == b->p_tok && a->p_seq == b->p_seq && a->p_ctx == b->p_ctx &&
	       a->d_seq == b->d_seq && a->d_ctx == b->d_ctx;
}

/* Files of measurements have thousands of rows, not millions: comparing with all earlier ones is quick enough. */
static void find_shape(struct kv_measurements *m, struct kv_measurement *row)
{
	row->shape = SIZE_MAX;
	for (size_t i = 0; i < m->rows; i++) {
		const struct kv_measurement *other = &m->row[i];

		if (!same_shape(row, other))
			continue;
		row->shape = other->shape;
		if (other->configuration == row->configuration && other->seconds == row->seconds && !other->problem)
			kv_measurement_refuse(row, "the same as line %zu", other->line);
	}
	if (row->shape == SIZE_MAX)
		row->shape = m->shapes++;
}

struct kv_measurements *kv_measurements_create(const char *path)
{
	struct kv_measurements *m = kv_calloc(1, sizeof *m);

	m->path = kv_strdup(path);
	return m;
}

void kv_measurements_add(struct kv_measurements *m, const struct kv_configuration *configuration,
                         const struct kv_measurement *row)
{
	struct kv_measurement added = *row;

	if (configuration->tp == 0 || configuration->tp > 4096)
		kv_measurement_refuse(&added, "tp is %u; allowed: 1 to 4096", configuration->tp);
	added.configuration = find_configuration(m, configuration);
	check_work(&added);
	find_shape(m, &added);
	m->row = kv_grow(m->row, &m->row_capacity, m->rows + 1, sizeof added);
	m->row[m->rows++] = added;
}

static void read_row(struct reading *r, size_t row)
{
	struct kv_measurement m = {.line = r->table->lines[row]};
	struct kv_configuration at = {
		.gpu = r->table->cells[row * r->table->columns + r->at.gpu],
		.model = r->table->cells[row * r->table->columns + r->at.model],
	};

	at.tp = (uint32_t)kv_min(read_count(r, row, r->at.tp, &m), UINT32_MAX);
	read_work(r, row, &m);
	read_time(r, row, &m);
	if (r->at.kv_overflow != KV_NO_COLUMN && read_count(r, row, r->at.kv_overflow, &m) != 0)
		kv_measurement_refuse(&m, "kv_overflow: the batch did not fit the cache");
	kv_measurements_add(r->out, &at, &m);
}

static int read_table(struct reading *r, const struct kv_row_filter *filter, struct kv_error *err)
{
	if (find_columns(r->table, &r->at, err))
		return -1;
	if (!has_parts(&r->at) && !has_totals(&r->at))
		return kv_fail(err, KV_EXIT_DATA,
		               "%s:1: columns p_tok, p_seq, p_ctx, d_seq, d_ctx (or phase, batch, tokens, context) "
		               "are needed",
		               r->table->path);
	for (size_t row = 0; row < r->table->rows; row++) {
		int wanted = kv_csv_table_passes(r->table, row, filter, err);

		if (wanted < 0)
			return -1;
		if (wanted > 0)
			read_row(r, row);
	}
	if (r->out->rows == 0)
		return kv_fail(err, KV_EXIT_USAGE, "%s: no row passes --where", r->table->path);
	return 0;
}

struct kv_measurements *kv_measurements_of_table(const struct kv_csv_table *table, const struct kv_row_filter *filter,
                                                 struct kv_error *err)
{
	struct reading r = {.table = table, .out = kv_measurements_create(table->path)};

	if (read_table(&r, filter, err) == 0)
		return r.out;
	kv_measurements_free(r.out);
	return NULL;
}

struct kv_measurements *kv_measurements_read(const char *path, const struct kv_row_filter *filter,
                                             struct kv_error *err)
{
	struct kv_csv_table *table = kv_csv_table_read(path, err);
	struct kv_measurements *out = table ? kv_measurements_of_table(table, filter, err) : NULL;

	kv_csv_table_free(table);
	return out;
}

void kv_measurements_free(struct kv_measurements *measurements)
{
	if (!measurements)
		return;
	for (size_t i = 0; i < measurements->rows; i++)
		free(measurements->row[i].problem);
	for (size_t i = 0; i < measurements->configurations; i++) {
		free(measurements->configuration[i].gpu);
		free(measurements->configuration[i].model);
	}
	free(measurements->row);
	free(measurements->configuration);
	free(measurements->path);
	free(measurements);
}

/* --- what a row asks of the hardware ------------------------------------------------------------------------------ */

static uint64_t inside(uint64_t total, uint64_t sequences, uint64_t window)
{
	return window == 0 ? total : kv_min(total, sequences * window);
}

static struct kv_step_work work_of(uint64_t p_tok, uint64_t p_seq, uint64_t p_ctx, uint64_t d_seq, uint64_t d_ctx,
                                   uint64_t window)
{
	uint64_t sequences = kv_max(p_seq, 1);
	/* Equal sequences of p_tok / p_seq tokens; the quotient need not be whole, the sum of pairs is. */
	uint64_t pairs2 = (uint64_t)((long double)p_tok * (2.0L * p_ctx + p_tok) / sequences + 0.5L);

	return (struct kv_step_work){
		.prefill_seqs = p_seq,
		.prefill_tokens = p_tok,
		.prefill_past = p_ctx,
		.prefill_pairs2 = pairs2,
		.decode_seqs = d_seq,
		.decode_context = d_ctx,
		.window_prefill_past = inside(p_ctx, p_seq, window),
		.window_prefill_pairs2 =
			window == 0 ? pairs2 : p_seq * kv_window_pairs2(p_ctx / sequences, p_tok / sequences, window),
		.window_decode_context = inside(d_ctx, d_seq, window),
	};
}

/* A static batch is one prefill of all prompts, then a decode step for every token but the first; the context grows
 * from input to input + output length, 1.5 times the length on average. */
static void observe_static(const struct kv_measurement *row, const struct kv_roofline *roofline, uint64_t window,
                           struct kv_observation *out)
{
	uint64_t length = row->p_tok / row->p_seq;
	struct kv_step_work prefill = work_of(row->p_tok, row->p_seq, 0, 0, 0, window);
	struct kv_step_work decode = work_of(0, 0, 0, row->p_seq, row->p_seq * length * 3 / 2, window);

	kv_roofline_terms(roofline, &prefill, &out->terms[0]);
	kv_roofline_terms(roofline, &decode, &out->terms[1]);
	out->count[1] = (double)length - 1.0;
}

bool kv_measurement_is_step(const struct kv_measurement *row)
{
	return row->phase != KV_PHASE_STATIC && row->phase != KV_PHASE_LAYER;
}

struct kv_step_work kv_measurement_work(const struct kv_measurement *row, uint64_t window)
{
	return work_of(row->p_tok, row->p_seq, row->p_ctx, row->d_seq, row->d_ctx, window);
}

void kv_measurement_observe(const struct kv_measurement *row, const struct kv_roofline *roofline, uint64_t window,
                            struct kv_observation *out)
{
	*out = (struct kv_observation){.count = {1}, .seconds = row->seconds, .weight = 1, .shape = row->shape};
	if (row->phase == KV_PHASE_STATIC) {
		observe_static(row, roofline, window, out);
		return;
	}
	if (row->phase == KV_PHASE_LAYER) {
		kv_roofline_layer_terms(roofline, row->p_tok, &out->terms[0]);
		return;
	}

	struct kv_step_work work = kv_measurement_work(row, window);

	kv_roofline_terms(roofline, &work, &out->terms[0]);
}
