/* ServeGen client pools (Apache-2.0, alibaba/ServeGen) as generators: windows of 600 s with a rate and a distribution
 * of gaps, and beside them distributions of lengths for every six hours.
 *
 * A window has rate * 600 requests. Their gaps are drawn from the window's distribution and stretched so that they,
 * with one more gap after the last request, fill the window: the recorded scale alone would miss the recorded rate,
 * sometimes by a factor of ten. Unlike in the upstream generator, the last request does not fall on the window's edge,
 * and lengths are drawn independently of each other.
 */
#include "config.h"

#include "workloads/formats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include "sim/base/memory.h"
#include "workloads/csv.h"
#include "workloads/number.h"

struct lengths {
	gsl_ran_discrete_t *choice;   /* NULL = no data */
	uint32_t *values;
};

/* input_tokens, or text and media whose tokens and counts are drawn apart. */
enum { INPUT, TEXT, IMAGE, AUDIO, VIDEO, IMAGES, AUDIOS, VIDEOS, OUTPUT, FIELDS };

static const char *const field_names[FIELDS] = {
	"input_tokens", "text_tokens", "image_tokens", "audio_tokens", "video_tokens", "image_count", "audio_count",
	"video_count", "output_tokens"
};

struct period {
	double start;   /* s */
	struct lengths fields[FIELDS];
};

struct servegen_params {
	char lengths[KV_PARAM_TEXT_MAX];
};

struct servegen {
	struct kv_trace *trace;
	struct period *periods;
	size_t count, capacity;
	gsl_rng *gaps, *prompts, *outputs;
	/* of the window at hand */
	double rate, shape;
	bool has_pattern, weibull;
	double *gap;
	size_t gap_capacity;
};

enum { WINDOW_S = 600, RATE_MAX = 100000 };

/* Far outside what the files have; gaps of a smaller shape would all be 0 in a double. */
#define SHAPE_MIN 0.005
#define SHAPE_MAX 1e6

/* --- the file of lengths ------------------------------------------------------------------------------------------ */

/* "{139: 0.25, 140: 0.75}", a literal of Python; false if it is none. An empty one is no data. */
static bool parse_lengths(const char *text, struct lengths *out)
{
	double *weights = NULL;
	size_t count = 0, capacity = 0, value_capacity = 0;
	const char *at = text;
	char *end;

	if (*at++ != '{')
		return false;
	while (*at != '}' && *at != '\0') {
		double value = strtod(at, &end);

		if (end == at || *end != ':' || !(value >= 0) || value > KV_TOKENS_MAX)
			break;
		weights = kv_grow(weights, &capacity, count + 1, sizeof *weights);
		out->values = kv_grow(out->values, &value_capacity, count + 1, sizeof *out->values);
		out->values[count] = (uint32_t)value;
		at = end + 1;
		weights[count] = strtod(at, &end);
		if (end == at || !(weights[count] >= 0))
			break;
		count++;
		at = end + strspn(end, ", ");
	}
	if (*at == '}' && count > 0)
		out->choice = gsl_ran_discrete_preproc(count, weights);
	free(weights);
	return *at == '}';
}

static int add_period(struct servegen *self, const char *path, const char *start, const json_t *fields,
                      struct kv_error *err)
{
	struct period *period;

	self->periods = kv_grow(self->periods, &self->capacity, self->count + 1, sizeof *self->periods);
	period = &self->periods[self->count++];
	period->start = strtod(start, NULL);
	for (int i = 0; i < FIELDS; i++) {
		const char *text = json_string_value(json_object_get(fields, field_names[i]));

		if (text != NULL && !parse_lengths(text, &period->fields[i]))
			return kv_fail(err, KV_EXIT_DATA,
			               "%s: %s of window %s: not a list of lengths and shares; allowed: text like "
			               "{139: 0.25, 140: 0.75}",
			               path, field_names[i], start);
	}
	return 0;
}

static int compare_periods(const void *a, const void *b)
{
	const struct period *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static int read_lengths(struct servegen *self, const char *path, struct kv_error *err)
{
	json_error_t error;
	json_t *document = json_load_file(path, 0, &error);
	const char *start;
	json_t *fields;
	int status = 0;

	if (document == NULL)
		return kv_fail(err, error.line < 0 ? KV_EXIT_MISSING : KV_EXIT_DATA,
		               "%s: %s (the lengths of this client; name the file with --format servegen,lengths=FILE)",
		               path, error.text);
	json_object_foreach(document, start, fields)
		if (status == 0)
			status = add_period(self, path, start, fields, err);
	json_decref(document);
	qsort(self->periods, self->count, sizeof *self->periods, compare_periods);
	return status;
}

/* "chunk-17-trace.csv" has its lengths in "chunk-17-dataset.json". */
static int read_lengths_near(struct servegen *self, const char *trace, const char *given, struct kv_error *err)
{
	const char *slash = strrchr(trace, '/');
	const char *mark = strstr(slash != NULL ? slash : trace, "-trace");
	size_t size;
	char *path;
	int status;

	if (*given != '\0')
		return read_lengths(self, given, err);
	if (mark == NULL)
		return kv_fail(err, KV_EXIT_MISSING,
		               "%s: its name does not say where the lengths are; name the file with --format "
		               "servegen,lengths=FILE",
		               trace);
	size = (size_t)(mark - trace) + sizeof "-dataset.json";
	path = kv_calloc(size, 1);
	snprintf(path, size, "%.*s-dataset.json", (int)(mark - trace), trace);
	status = read_lengths(self, path, err);
	free(path);
	return status;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static bool has_data(const struct period *period)
{
	return (period->fields[INPUT].choice != NULL || period->fields[TEXT].choice != NULL) &&
	       period->fields[OUTPUT].choice != NULL;
}

/* The last period with data that has begun, or the first with data; NULL if there is none. */
static const struct period *period_at(const struct servegen *self, double time)
{
	const struct period *found = NULL;

	for (size_t i = 0; i < self->count; i++)
		if (has_data(&self->periods[i]) && (found == NULL || self->periods[i].start <= time))
			found = &self->periods[i];
	return found;
}

static uint32_t draw(gsl_rng *rng, const struct lengths *lengths)
{
	return lengths->choice != NULL ? lengths->values[gsl_ran_discrete(rng, lengths->choice)] : 0;
}

static uint64_t draw_prompt(const struct servegen *self, const struct period *period)
{
	uint64_t sum = draw(self->prompts, &period->fields[INPUT]);

	sum += draw(self->prompts, &period->fields[TEXT]);
	for (int kind = IMAGE; kind <= VIDEO; kind++)
		for (uint32_t n = draw(self->prompts, &period->fields[kind - IMAGE + IMAGES]); n > 0; n--)
			sum += draw(self->prompts, &period->fields[kind]);
	return sum;
}

static int add_request(struct servegen *self, const struct period *period, kv_time arrival, uint64_t line)
{
	struct kv_row *row = kv_trace_begin(self->trace, line);
	uint64_t prompt = draw_prompt(self, period);

	row->arrival = arrival;
	row->prompt_tokens = (uint32_t)kv_min(prompt, KV_TOKENS_MAX);
	row->output_tokens = draw(self->outputs, &period->fields[OUTPUT]);
	if (prompt == 0)
		kv_row_leave_out(row, KV_FAULT_ZERO_PROMPT);
	return kv_trace_accept(self->trace);
}

/* Of any scale: they are stretched to fill the window. */
static double draw_gaps(struct servegen *self, uint64_t count)
{
	double sum = 0;

	self->gap = kv_grow(self->gap, &self->gap_capacity, count, sizeof *self->gap);
	for (uint64_t i = 0; i < count; i++) {
		self->gap[i] = self->weibull ? gsl_ran_weibull(self->gaps, 1, self->shape)
		                             : gsl_ran_gamma(self->gaps, self->shape, 1);
		sum += self->gap[i];
	}
	return sum;
}

/* The requests of one window. */
static int expand(void *owner, struct kv_row *row)
{
	struct servegen *self = owner;
	kv_time start = row->arrival;
	uint64_t line = row->line, count = (uint64_t)llrint(self->rate * WINDOW_S);
	const struct period *period = period_at(self, (double)start / (double)KV_SECOND);
	double sum, at = 0;
	int status = 0;

	if (row->faulty)
		return kv_trace_accept(self->trace);
	if (count == 0 || period == NULL)
		return 0;
	sum = draw_gaps(self, count + 1);
	for (uint64_t i = 0; i < count && status == 0; i++) {
		at += self->gap[i];
		status = add_request(self, period,
		                     start + (sum > 0 ? (kv_time)llrint(at / sum * WINDOW_S * (double)KV_SECOND) : 0),
		                     line);
	}
	return status;
}

/* strtod alone would take hexadecimal, nan and inf. */
static double read_number(struct kv_row *row, const char *field, const char *text, size_t length)
{
	int64_t ignored;

	if (kv_number_parse(text, length, 9, INT64_MAX, &ignored) != KV_NUMBER_OK)
		kv_row_fault(row, KV_FAULT_NUMBER, "%s: '%.40s' is no number from 0 on", field, text);
	return strtod(text, NULL);
}

static void read_rate(void *owner, struct kv_row *row, const char *text, size_t length)
{
	((struct servegen *)owner)->rate = read_number(row, "rate", text, length);
}

static void read_pattern(void *owner, struct kv_row *row, const char *text, size_t length)
{
	struct servegen *self = owner;

	self->has_pattern = true;
	self->weibull = strcmp(text, "Weibull") == 0;
	if (kv_row_check_text(row, "pattern", text, length) && !self->weibull && strcmp(text, "Gamma") != 0)
		kv_row_fault(row, KV_FAULT_SYNTAX, "pattern: '%.40s'; allowed: Gamma, Weibull or nothing", text);
}

static void read_shape(void *owner, struct kv_row *row, const char *text, size_t length)
{
	struct servegen *self = owner;

	self->shape = read_number(row, "shape", text, length);
	if (self->rate > RATE_MAX)
		kv_row_fault(row, KV_FAULT_RANGE, "rate: %g; allowed: at most %d requests a second", self->rate,
		             RATE_MAX);
	else if (self->rate > 0 && !self->has_pattern)
		kv_row_fault(row, KV_FAULT_MISSING, "pattern: is empty where the rate is %g; allowed: Gamma, Weibull",
		             self->rate);
	else if (self->rate > 0 && (self->shape < SHAPE_MIN || self->shape > SHAPE_MAX))
		kv_row_fault(row, KV_FAULT_RANGE, "shape: %g; allowed: %g to %g", self->shape, SHAPE_MIN, SHAPE_MAX);
}

static void begin(void *owner)
{
	((struct servegen *)owner)->has_pattern = false;
}

static void close_servegen(void *owner)
{
	struct servegen *self = owner;

	for (size_t i = 0; i < self->count; i++)
		for (int field = 0; field < FIELDS; field++) {
			gsl_ran_discrete_free(self->periods[i].fields[field].choice);
			free(self->periods[i].fields[field].values);
		}
	free(self->periods);
	free(self->gap);
	gsl_rng_free(self->gaps);
	gsl_rng_free(self->prompts);
	gsl_rng_free(self->outputs);
	free(self);
}

static const struct kv_field fields[] = {
	{.name = "window start", .type = KV_FIELD_TIME, .digits = 9, .offset = offsetof(struct kv_row, arrival),
	 .required = true},
	{.name = "rate", .read_text = read_rate, .required = true},
	{.name = "cv", .type = KV_FIELD_IGNORED},
	{.name = "pattern", .read_text = read_pattern},
	{.name = "shape", .read_text = read_shape, .required = true},
	{.name = "scale", .type = KV_FIELD_IGNORED},
	{0}
};

static const struct kv_table table = {
	.fields = fields, .positional = true, .begin = begin, .expand = expand, .close = close_servegen
};

static const struct kv_param params[] = {
	{"lengths", KV_PARAM_TEXT, offsetof(struct servegen_params, lengths), 0, 0, "", "",
	 "file of the length distributions (default: ...-dataset.json beside ...-trace.csv)"},
	{0}
};

static bool is_window(const struct kv_sniff *sniff)
{
	int64_t ignored;

	for (size_t i = 0; i < 6; i++)
		if (i != 3 &&
		    kv_number_parse(sniff->fields[i], strlen(sniff->fields[i]), 9, INT64_MAX, &ignored) != KV_NUMBER_OK)
			return false;
	return sniff->fields[3][0] == '\0' || strcmp(sniff->fields[3], "Gamma") == 0 ||
	       strcmp(sniff->fields[3], "Weibull") == 0;
}

static bool detect(const struct kv_sniff *sniff)
{
	return sniff->field_count == 6 && is_window(sniff);
}

static struct kv_reader *open_servegen(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                       struct kv_error *err)
{
	const struct servegen_params *given = values;
	struct servegen *self = kv_calloc(1, sizeof *self);

	(void)sniff;
	self->trace = trace;
	self->gaps = kv_trace_random(trace, "servegen gaps");
	self->prompts = kv_trace_random(trace, "servegen prompts");
	self->outputs = kv_trace_random(trace, "servegen outputs");
	if (read_lengths_near(self, kv_input_name(kv_trace_input(trace)), given->lengths, err) != 0) {
		close_servegen(self);
		return NULL;
	}
	kv_trace_declare(trace, KV_TRACE_DRAWN);
	return kv_csv_open(trace, &table, self);
}

const struct kv_format kv_format_servegen = {
	.name = "servegen",
	.summary = "a ServeGen client: requests are drawn from its rates, gaps and lengths, no prefix identity",
	.rules = "Rows are windows of 600 s: start, rate, CV, Gamma or Weibull, shape, scale. A window has rate times "
	         "600 requests, none where the rate is 0, and then needs no pattern; their gaps are drawn with the "
	         "run's seed from the distribution of that shape and stretched to fill the window. Lengths come from "
	         "...-dataset.json beside ...-trace.csv: those of the last period (six hours) with data that has "
	         "begun. Prompt and output are drawn independently; images, audio and video add their tokens to the "
	         "prompt. Prompts of 0 tokens are left out and counted as zero_prompt.",
	.detect = detect,
	.open = open_servegen,
	.params_size = sizeof(struct servegen_params),
	.params = params
};
