#include "config.h"

#include "sim/latency/latency_roofline.h"

#include <math.h>

#define BYTES_PER_ACTIVATION 2.0
/* vLLM captures CUDA graphs for steps of up to this many tokens (cudagraph_capture_sizes); larger ones launch kernel by
 * kernel, and an all-reduce then costs 20 to 48 us instead of 4 to 8. */
#define GRAPH_TOKENS 512.0

/* A ring all-reduce moves 2 (n - 1) / n of the data over every link; there are two a layer. A hand-over between
 * pipeline stages moves the activations once. */
static double ring_bytes_per_token(const struct kv_latency_setup *setup)
{
	double tp = setup->tensor_parallel;
	double activations = setup->model.hidden * BYTES_PER_ACTIVATION;

	return activations * (2.0 * setup->model.layers * 2.0 * (tp - 1.0) / tp + setup->pipeline_parallel - 1.0);
}

static double communications(const struct kv_latency_setup *setup)
{
	double allreduces = setup->tensor_parallel > 1.0 ? 2.0 * setup->model.layers : 0.0;

	return allreduces + setup->pipeline_parallel - 1.0;
}

static void init_attention(struct kv_roofline *r, const struct kv_latency_setup *setup)
{
	const struct kv_latency_model *m = &setup->model;
	double per_flop = 1.0 / (setup->rates.attention_flops * setup->tensor_parallel);

	/* flops (m + ea_half) / m with m = pairs2 / tokens is pairs2 + ea_half * tokens: no division in a call. */
	r->full_pair2 = 0.5 * m->full_pair_flops * per_flop;
	r->window_pair2 = 0.5 * m->window_pair_flops * per_flop;
	r->pair_token = setup->constants.ea_half * (r->full_pair2 + r->window_pair2);
	r->decode_pair = m->decode_pair_flops * per_flop;
	r->full_kv = m->full_kv_bytes / setup->rates.memory_bandwidth;
	r->window_kv = m->window_kv_bytes / setup->rates.memory_bandwidth;
}

void kv_roofline_init(struct kv_roofline *r, const struct kv_latency_setup *setup)
{
	const struct kv_latency_model *m = &setup->model;
	double tp = setup->tensor_parallel;
	double per_flop = 2.0 / (setup->rates.compute_flops * tp);
	double per_byte = 1.0 / (setup->rates.memory_bandwidth * tp);
	double linked = communications(setup);

	r->layers = m->layers;
	r->allreduces = linked;
	r->compute_token = (m->linear_params + m->experts_used * m->expert_params) * per_flop;
	r->compute_sequence = m->head_params * per_flop;
	r->weights_head = m->head_bytes * per_byte;
	r->weights_fixed = m->linear_bytes * per_byte + r->weights_head;
	r->experts_weight = m->experts * m->expert_bytes * per_byte;
	r->log_untouched = m->experts > m->experts_used ? log1p(-m->experts_used / m->experts) : -HUGE_VAL;
	r->ring_token = linked > 0.0 ? ring_bytes_per_token(setup) / setup->rates.link_bandwidth : 0.0;
	r->large_tokens = setup->constants.large_message > 0.0
	                          ? setup->constants.large_message / (m->hidden * BYTES_PER_ACTIVATION) : HUGE_VAL;
	init_attention(r, setup);
}

/* Tokens choose experts independently and evenly, so each expert stays untouched with probability (1 - k/E)^tokens. */
static double expert_weights(double all, double log_untouched, double tokens)
{
	return all > 0.0 ? -expm1(tokens * log_untouched) * all : 0.0;
}

void kv_roofline_terms(const struct kv_roofline *r, const struct kv_step_work *work, struct kv_roofline_terms *terms)
{
	double prefill = (double)work->prefill_tokens;
	double tokens = prefill + (double)work->decode_seqs;
	double sequences = (double)(work->prefill_seqs + work->decode_seqs);

	if (sequences == 0.0) {
		*terms = (struct kv_roofline_terms){.steps = 1.0};
		return;
	}
	terms->steps = 1.0;
	terms->layers = r->layers;
	terms->allreduces = r->allreduces;
	terms->sequences = sequences;
	terms->compute = r->compute_token * tokens + r->compute_sequence * sequences;
	terms->weights = r->weights_fixed + expert_weights(r->experts_weight, r->log_untouched, tokens);
	terms->attention = r->full_pair2 * (double)work->prefill_pairs2 +
	                   r->window_pair2 * (double)work->window_prefill_pairs2 + r->pair_token * prefill;
	terms->decode_attention = r->decode_pair * (double)work->decode_context;
	terms->decode_kv = r->full_kv * (double)work->decode_context +
	                   r->window_kv * (double)work->window_decode_context;
	terms->past_kv = r->full_kv * (double)work->prefill_past + r->window_kv * (double)work->window_prefill_past;
	terms->ring = tokens < r->large_tokens ? r->ring_token * tokens : 0.0;
	terms->large_ring = tokens < r->large_tokens ? 0.0 : r->ring_token * tokens;
	terms->prefilling = work->prefill_seqs > 0 ? 1.0 : 0.0;
	terms->eager = tokens > GRAPH_TOKENS ? terms->prefilling : 0.0;
}

void kv_roofline_layer_terms(const struct kv_roofline *r, uint64_t tokens, struct kv_roofline_terms *terms)
{
	double experts = expert_weights(r->experts_weight, r->log_untouched, (double)tokens);

	*terms = (struct kv_roofline_terms){
		.layers = 1.0,
		.compute = r->compute_token * (double)tokens / r->layers,
		.weights = (r->weights_fixed - r->weights_head + experts) / r->layers,
	};
}

static double root_of_squares(double a, double b)
{
	return sqrt(a * a + b * b);
}

static double join(bool overlap, double host, double device)
{
	return overlap ? root_of_squares(host, device) : host + device;
}

double kv_roofline_host_seconds(const struct kv_roofline_terms *t, const struct kv_latency_constants *c)
{
	return c->c0 * t->steps + (c->cl + c->clp * t->prefilling) * t->layers +
	       (c->c1 + c->c1p * t->eager) * t->allreduces + c->cs * t->sequences;
}

double kv_roofline_device_seconds(const struct kv_roofline_terms *t, const struct kv_latency_constants *c)
{
	double kv_share = t->prefilling > 0.0 ? c->ek * c->km : c->ek;
	double decode = t->decode_kv / kv_share;
	double ring = t->ring / c->en;

	if (t->decode_attention > 0.0)
		decode = root_of_squares(decode, t->decode_attention / c->ea);
	if (t->large_ring > 0.0)
		ring += t->large_ring / (c->en * c->el);
	return root_of_squares(t->compute / c->ec, t->weights / c->eb) + t->attention / c->ea + decode +
	       t->past_kv / (c->ek * c->km) + ring;
}

double kv_roofline_seconds(const struct kv_roofline_terms *t, const struct kv_latency_constants *c)
{
	return join(c->overlap, kv_roofline_host_seconds(t, c), kv_roofline_device_seconds(t, c));
}

void kv_roofline_fold(const struct kv_roofline *r, const struct kv_latency_constants *c, struct kv_roofline_folded *f)
{
	*f = (struct kv_roofline_folded){
		.fixed = c->c0,
		.work_fixed = c->c0 + c->cl * r->layers + c->c1 * r->allreduces,
		.prefill_fixed = c->clp * r->layers,
		.eager_fixed = c->c1p * r->allreduces,
		.sequence = c->cs,
		.compute_token = r->compute_token / c->ec,
		.compute_sequence = r->compute_sequence / c->ec,
		.weights_fixed = r->weights_fixed / c->eb,
		.experts_weight = r->experts_weight / c->eb,
		.log_untouched = r->log_untouched,
		.full_pair2 = r->full_pair2 / c->ea,
		.window_pair2 = r->window_pair2 / c->ea,
		.pair_token = r->pair_token / c->ea,
		.decode_pair = r->decode_pair / c->ea,
		.full_kv = r->full_kv / c->ek,
		.window_kv = r->window_kv / c->ek,
		.mixed_kv = 1.0 / c->km,
		.token = r->ring_token / c->en,
		.large_token = r->large_tokens < HUGE_VAL ? r->ring_token / (c->en * c->el) : 0.0,
		.large_tokens = r->large_tokens,
		.overlap = c->overlap,
	};
}

/* Tokens stay below 2^63, and converting signed numbers costs half. */
static double real(uint64_t value)
{
	return (double)(int64_t)value;
}

/* Without the fixed parts. */
static double prefill_seconds(const struct kv_roofline_folded *f, const struct kv_step_work *w)
{
	double past = (f->full_kv * real(w->prefill_past) + f->window_kv * real(w->window_prefill_past)) * f->mixed_kv;
	double attention = f->full_pair2 * real(w->prefill_pairs2) + f->window_pair2 * real(w->window_prefill_pairs2) +
	                   f->pair_token * real(w->prefill_tokens);

	return past + attention;
}

double kv_roofline_step(const struct kv_roofline_folded *f, const struct kv_step_work *w)
{
	double tokens = real(w->prefill_tokens + w->decode_seqs);
	double sequences = real(w->prefill_seqs + w->decode_seqs);
	double compute = f->compute_token * tokens + f->compute_sequence * sequences;
	double weights = f->weights_fixed + expert_weights(f->experts_weight, f->log_untouched, tokens);
	double decode = f->full_kv * real(w->decode_context) + f->window_kv * real(w->window_decode_context);
	double host = f->work_fixed + f->sequence * sequences, prefill = 0.0;

	if (sequences == 0.0)
		return f->fixed;
	if (w->prefill_seqs > 0) {
		host += f->prefill_fixed + (tokens > GRAPH_TOKENS ? f->eager_fixed : 0.0);
		prefill = prefill_seconds(f, w);
		decode *= f->mixed_kv;
	}
	if (f->decode_pair > 0.0)
		decode = root_of_squares(decode, f->decode_pair * real(w->decode_context));
	return join(f->overlap, host, root_of_squares(compute, weights) + prefill + decode +
	                                      (tokens < f->large_tokens ? f->token : f->large_token) * tokens);
}
