#include "config.h"

#include "workloads/arrivals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_math.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_gamma.h>

#include "sim/base/memory.h"
#include "sim/base/names.h"

struct kv_arrival_kind {
	const char *name;
	const struct kv_param *params;
	/* A gap of mean 1; NULL: arrivals come from elsewhere. */
	double (*gap)(const struct kv_arrival_state *state, gsl_rng *rng);
};

/* A curve multiplies the rate by m(t); `real` inverts t -> integral of m from 0 to t. */
struct kv_curve_kind {
	const char *name;
	const struct kv_param *params;
	double (*real)(const struct kv_curve_state *state, double own);
};

/* --- gaps --------------------------------------------------------------------------------------------------------- */

static double poisson_gap(const struct kv_arrival_state *state, gsl_rng *rng)
{
	(void)state;
	return gsl_ran_exponential(rng, 1);
}

static double gamma_gap(const struct kv_arrival_state *state, gsl_rng *rng)
{
	return gsl_ran_gamma(rng, state->burstiness, 1 / state->burstiness);
}

static double weibull_gap(const struct kv_arrival_state *state, gsl_rng *rng)
{
	return gsl_ran_weibull(rng, 1 / gsl_sf_gamma(1 + 1 / state->shape), state->shape);
}

static double constant_gap(const struct kv_arrival_state *state, gsl_rng *rng)
{
	(void)state;
	(void)rng;
	return 1;
}

#define STATE(member) offsetof(struct kv_arrival_state, member)
#define RATE(minimum, fallback, help) {"rate", KV_PARAM_DOUBLE, STATE(rate), minimum, 1e9, fallback, "1/s", help}
#define RESCALE {"rescale", KV_PARAM_BOOL, STATE(rescale), 0, 0, "false", "", \
	"stretch the gaps so that the last arrival falls at requests / rate, as vLLM's benchmark does"}

static const struct kv_arrival_kind kinds[] = {
	{"poisson", (const struct kv_param[]){RATE(1e-9, "1", "mean rate"), RESCALE, {0}}, poisson_gap},
	{"gamma", (const struct kv_param[]){RATE(1e-9, "1", "mean rate"), RESCALE,
	  {"burstiness", KV_PARAM_DOUBLE, STATE(burstiness), 1e-3, 1e6, "1", "",
	   "shape of the gaps: below 1 bursty, above 1 even"},
	  {0}}, gamma_gap},
	{"weibull", (const struct kv_param[]){RATE(1e-9, "1", "mean rate"), RESCALE,
	  {"shape", KV_PARAM_DOUBLE, STATE(shape), 0.05, 1e3, "1", "",
	   "shape of the gaps: below 1 bursty, above 1 even"}, {0}},
	 weibull_gap},
	{"constant", (const struct kv_param[]){RATE(1e-9, "1", "rate"), {0}}, constant_gap},
	{"trace", (const struct kv_param[]){RATE(0, "0", "mean rate to replay it at; 0 is its own"),
	  {"file", KV_PARAM_TEXT, STATE(file), 0, 0, "", "", "trace whose arrivals are taken"}, {0}}, NULL},
	{"closed", (const struct kv_param[]){
	  {"clients", KV_PARAM_UINT, STATE(clients), 1, 1e6, "1", "", "clients, each with one session at a time"}, {0}},
	   NULL},
	{"vllm", (const struct kv_param[]){
	  {"request_rate", KV_PARAM_DOUBLE, STATE(rate), 1e-9, 1e9, "1", "1/s", "mean rate where there is no ramp"},
	  {"burstiness", KV_PARAM_DOUBLE, STATE(burstiness), 1e-3, 1e6, "1", "", "shape of the gamma distributed gaps"},
	  {"ramp_up_strategy", KV_PARAM_CHOICE, STATE(ramp), 0, 0, "none", "none|linear|exponential",
	   "how the rate goes from the first request to the last"},
	  {"ramp_up_start_rps", KV_PARAM_DOUBLE, STATE(ramp_start), 0, 1e9, "0", "1/s", "rate at the first request"},
	  {"ramp_up_end_rps", KV_PARAM_DOUBLE, STATE(ramp_end), 0, 1e9, "0", "1/s", "rate at the last request"}, {0}},
	 gamma_gap},
};

enum { KINDS = sizeof kinds / sizeof *kinds, TRACE = 4, CLOSED = 5, VLLM = 6 };

enum ramp { RAMP_NONE, RAMP_LINEAR, RAMP_EXPONENTIAL };

/* --- curves ------------------------------------------------------------------------------------------------------- */

static double seconds(kv_time time)
{
	return (double)time / (double)KV_SECOND;
}

/* 1 at first, `to` from `over` on. */
static double ramp_linear(const struct kv_curve_state *state, double own)
{
	double over = seconds(state->over), slope = (state->to - 1) / over, all = over * (1 + state->to) / 2;

	if (own >= all)
		return over + (own - all) / state->to;
	return fabs(slope) < 1e-12 ? own : (sqrt(1 + 2 * slope * own) - 1) / slope;
}

static double ramp_exponential(const struct kv_curve_state *state, double own)
{
	double over = seconds(state->over), growth = log(state->to) / over;
	double all = fabs(growth) < 1e-12 ? over : (state->to - 1) / growth;

	if (own >= all)
		return over + (own - all) / state->to;
	return fabs(growth) < 1e-12 ? own : log1p(own * growth) / growth;
}

static double on_off(const struct kv_curve_state *state, double own)
{
	double on = seconds(state->on), rounds = floor(own / on);

	return rounds * (on + seconds(state->off)) + (own - rounds * on);
}

static double daily_integral(const struct kv_curve_state *state, double time)
{
	double turn = 2 * M_PI / seconds(state->period), peak = seconds(state->peak);

	return time + state->amplitude / turn * (sin(turn * (time - peak)) + sin(turn * peak));
}

/* Bisection to the last bit: the integral rises, and strays from time by less than a period. */
static double daily(const struct kv_curve_state *state, double own)
{
	double low = own - seconds(state->period), high = own + seconds(state->period);

	for (int i = 0; i < 80; i++) {
		double middle = (low + high) / 2;

		if (daily_integral(state, middle) < own)
			low = middle;
		else
			high = middle;
	}
	return fmax(high, 0);
}

#define CURVE(member) offsetof(struct kv_curve_state, member)
#define RAMP(name, help_to) {name, (const struct kv_param[]){ \
	{"to", KV_PARAM_DOUBLE, CURVE(to), 1e-6, 1e6, "2", "", help_to}, \
	{"over", KV_PARAM_TIME, CURVE(over), 1e6, 1e18, "10min", "", "length of the ramp"}, {0}}

static const struct kv_curve_kind curves[] = {
	RAMP("ramp-linear", "what the rate is multiplied by in the end"), ramp_linear},
	RAMP("ramp-exponential", "what the rate is multiplied by in the end"), ramp_exponential},
	{"on-off", (const struct kv_param[]){
	  {"on", KV_PARAM_TIME, CURVE(on), 1e6, 1e18, "1min", "", "time with arrivals, at first"},
	  {"off", KV_PARAM_TIME, CURVE(off), 0, 1e18, "1min", "", "time without"}, {0}}, on_off},
	{"daily", (const struct kv_param[]){
	  {"amplitude", KV_PARAM_DOUBLE, CURVE(amplitude), 0, 0.99, "0.5", "",
	   "how far the rate strays from its mean, as a part of it"},
	  {"period", KV_PARAM_TIME, CURVE(period), 1e9, 1e18, "24h", "", "length of a day"},
	  {"peak", KV_PARAM_TIME, CURVE(peak), 0, 1e18, "14h", "", "time of the highest rate"}, {0}}, daily},
};

enum { CURVES = sizeof curves / sizeof *curves };

/* --- reading ------------------------------------------------------------------------------------------------------ */

static int fail_unknown(const char *what, const char *name, const void *first, size_t stride, size_t count,
                        struct kv_error *err)
{
	const char *names[KINDS + CURVES];

	for (size_t i = 0; i < count; i++)
		names[i] = *(const char *const *)((const char *)first + i * stride);
	return kv_fail_unknown(err, KV_EXIT_USAGE, what, name, names, count);
}

static int read_kind(struct kv_arrivals *arrivals, char *text, struct kv_error *err)
{
	const char *name = strsep(&text, ",");

	for (int i = 0; i < KINDS; i++)
		if (strcmp(kinds[i].name, name) == 0)
			arrivals->kind = &kinds[i];
	if (arrivals->kind == NULL)
		return fail_unknown("arrival process", name, kinds, sizeof *kinds, KINDS, err);
	return kv_params_set(name, arrivals->kind->params, text, &arrivals->state, err);
}

static int read_curve(struct kv_arrivals *arrivals, char *text, struct kv_error *err)
{
	const char *name = strsep(&text, ",");

	for (int i = 0; i < CURVES; i++)
		if (strcmp(curves[i].name, name) == 0)
			arrivals->curve = &curves[i];
	if (arrivals->curve == NULL)
		return fail_unknown("curve", name, curves, sizeof *curves, CURVES, err);
	return kv_params_set(name, arrivals->curve->params, text, &arrivals->curve_state, err);
}

static int read_node(struct kv_arrivals *arrivals, const struct kv_node *node,
                     int (*read)(struct kv_arrivals *, char *, struct kv_error *), struct kv_error *err)
{
	char *copy;
	int status;

	if (kv_node_expect(node, KV_NODE_SCALAR, KV_EXIT_USAGE, err) != 0)
		return -1;
	copy = kv_strdup(node->text);
	status = read(arrivals, copy, err);
	free(copy);
	return status != 0 ? kv_node_fail_in(node, err) : 0;
}

/* The gaps that there will be are drawn once for their sum, from a copy of the source. */
static void rescale(struct kv_arrivals *arrivals, uint64_t total)
{
	gsl_rng *again = gsl_rng_clone(arrivals->rng);
	double sum = 0;

	for (uint64_t i = 0; i < total; i++)
		sum += arrivals->kind->gap(&arrivals->state, again);
	gsl_rng_free(again);
	if (sum > 0)
		arrivals->stretch = (double)total / sum;
}

/* --- arrivals of a trace ------------------------------------------------------------------------------------------ */

static int open_trace(struct kv_arrivals *arrivals, const struct kv_node *node, struct kv_error *err)
{
	struct kv_trace_options options;

	kv_trace_options_init(&options);
	options.open_loop = options.only_timed = true;
	arrivals->trace = kv_trace_open(arrivals->path, &options, err);
	return arrivals->trace != NULL ? 0 : kv_node_fail_in(node, err);
}

static int next_of_trace(struct kv_arrivals *arrivals, double *time, struct kv_error *err)
{
	struct kv_request request;
	int status = kv_trace_source(arrivals->trace)->next(kv_trace_source(arrivals->trace), &request, err);

	if (status == 1)
		*time = seconds(request.arrival) * arrivals->stretch;
	return status;
}

/* Reads the trace once to know its own rate. */
static int measure_trace(struct kv_arrivals *arrivals, const struct kv_node *node, struct kv_error *err)
{
	const struct kv_trace_counts *counts;
	double time;
	int status;

	while ((status = next_of_trace(arrivals, &time, err)) == 1)
		;
	if (status != 0)
		return kv_node_fail_in(node, err);
	counts = kv_trace_counts(arrivals->trace);
	if (counts->last <= counts->first)
		return kv_node_fail(node, KV_EXIT_USAGE, err,
		                    "%s: all arrive at the same time, at no rate that could be changed; allowed: "
		                    "trace without rate, or another process",
		                    arrivals->path);
	arrivals->stretch =
		(double)(counts->emitted - 1) / seconds(counts->last - counts->first) / arrivals->state.rate;
	kv_trace_close(arrivals->trace);
	return open_trace(arrivals, node, err);
}

static int prepare_trace(struct kv_arrivals *arrivals, const struct kv_node *node, struct kv_error *err)
{
	const char *slash = strrchr(node->file, '/');
	int folder = arrivals->state.file[0] != '/' && slash != NULL ? (int)(slash - node->file + 1) : 0;
	size_t size = (size_t)folder + strlen(arrivals->state.file) + 1;

	if (arrivals->state.file[0] == '\0')
		return kv_node_fail(node, KV_EXIT_USAGE, err, "trace needs file=FILE");
	arrivals->path = kv_calloc(size, 1);
	snprintf(arrivals->path, size, "%.*s%s", folder, node->file, arrivals->state.file);
	if (open_trace(arrivals, node, err) != 0)
		return -1;
	return arrivals->state.rate > 0 ? measure_trace(arrivals, node, err) : 0;
}

/* --- vLLM's schedule ---------------------------------------------------------------------------------------------- */

/* vllm/benchmarks/serve.py, _get_current_request_rate: by the index of the request. */
static double rate_now(const struct kv_arrivals *arrivals)
{
	const struct kv_arrival_state *state = &arrivals->state;
	double progress = (double)arrivals->count / (double)(arrivals->total > 1 ? arrivals->total - 1 : 1);

	if (state->ramp == RAMP_LINEAR)
		return state->ramp_start + (state->ramp_end - state->ramp_start) * progress;
	if (state->ramp == RAMP_EXPONENTIAL)
		return state->ramp_start * pow(state->ramp_end / state->ramp_start, progress);
	return state->rate;
}

/* Without a ramp the whole schedule is stretched to end at requests / rate; with one it is left as drawn. */
static int prepare_vllm(struct kv_arrivals *arrivals, const struct kv_node *node, struct kv_error *err)
{
	struct kv_arrival_state *state = &arrivals->state;

	if (arrivals->total == 0)
		return kv_node_fail(node, KV_EXIT_USAGE, err,
		                    "vllm needs the number of requests, and sessions of one turn");
	if (state->ramp == RAMP_NONE && (state->ramp_start > 0 || state->ramp_end > 0))
		return kv_node_fail(node, KV_EXIT_USAGE, err,
		                    "ramp_up_start_rps and ramp_up_end_rps need ramp_up_strategy");
	if (state->ramp != RAMP_NONE && !(state->ramp_start > 0 && state->ramp_end > 0))
		return kv_node_fail(node, KV_EXIT_USAGE, err,
		                    "a ramp needs ramp_up_start_rps and ramp_up_end_rps above 0");
	state->rescale = state->ramp == RAMP_NONE;
	return 0;
}

/* --- the process -------------------------------------------------------------------------------------------------- */

int kv_arrivals_init(struct kv_arrivals *arrivals, const struct kv_node *node, const struct kv_node *curve,
                     uint64_t total, gsl_rng *rng, struct kv_error *err)
{
	*arrivals = (struct kv_arrivals){.rng = rng, .stretch = 1, .total = total};
	if (read_node(arrivals, node, read_kind, err) != 0)
		return -1;
	if (curve != NULL && read_node(arrivals, curve, read_curve, err) != 0)
		return -1;
	if (curve != NULL && arrivals->kind == &kinds[CLOSED])
		return kv_node_fail(curve, KV_EXIT_USAGE, err, "a closed loop has no rate that a curve could change");
	if (curve != NULL && arrivals->kind == &kinds[VLLM])
		return kv_node_fail(curve, KV_EXIT_USAGE, err, "vllm has ramps of its own: ramp_up_strategy");
	if (arrivals->kind == &kinds[TRACE])
		return prepare_trace(arrivals, node, err);
	if (arrivals->kind == &kinds[VLLM] && prepare_vllm(arrivals, node, err) != 0)
		return -1;
	if (arrivals->state.rescale && total == 0)
		return kv_node_fail(node, KV_EXIT_USAGE, err,
		                    "rescale needs the number of requests, and sessions of one turn");
	if (arrivals->state.rescale)
		rescale(arrivals, total);
	return 0;
}

void kv_arrivals_fini(struct kv_arrivals *arrivals)
{
	if (arrivals->rng != NULL)
		gsl_rng_free(arrivals->rng);
	kv_trace_close(arrivals->trace);
	free(arrivals->path);
}

int kv_arrivals_next(struct kv_arrivals *arrivals, kv_time *time, struct kv_error *err)
{
	double real;
	int status = 1;

	if (arrivals->kind == &kinds[CLOSED])
		arrivals->clock = 0;
	else if (arrivals->kind == &kinds[TRACE])
		status = next_of_trace(arrivals, &arrivals->clock, err);
	else
		arrivals->clock +=
			arrivals->kind->gap(&arrivals->state, arrivals->rng) * arrivals->stretch / rate_now(arrivals);
	if (status != 1)
		return status;
	arrivals->count++;
	real = arrivals->curve != NULL ? arrivals->curve->real(&arrivals->curve_state, arrivals->clock)
	                               : arrivals->clock;
	*time = real < seconds(KV_ARRIVAL_MAX) ? (kv_time)llrint(real * (double)KV_SECOND) : KV_ARRIVAL_MAX;
	return 1;
}

const char *kv_arrivals_untimed(const struct kv_arrivals *arrivals, uint64_t *rows)
{
	*rows = arrivals->trace != NULL ? kv_trace_counts(arrivals->trace)->left_out[KV_FAULT_FILTERED] : 0;
	return arrivals->path;
}

uint64_t kv_arrivals_clients(const struct kv_arrivals *arrivals)
{
	return arrivals->kind == &kinds[CLOSED] ? arrivals->state.clients : 0;
}
