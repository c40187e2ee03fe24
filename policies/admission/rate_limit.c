/* A token bucket a tenant: it fills at `rate` a second up to `burst`, a request takes one (or its prompt's tokens) out
 * of it, and is refused at the door if there is not enough. Tenants are told apart by the hash of their name in a table
 * of fixed size: two of n share a bucket with probability about n / 4096. */
#include "config.h"

#include <stdbool.h>
#include <stddef.h>

#include "policies/admission/gate.h"

enum { BUCKETS = 4096, COUNT_REQUESTS = 0, COUNT_TOKENS = 1, PER_TENANT = 0 };

struct bucket {
	double taken;  /* below full */
	kv_time at;
};

struct rate_limit {
	double rate, burst;
	uint32_t count, per, gate;
	struct bucket bucket[BUCKETS];
};

static enum kv_verdict arrive(void *state, const struct kv_arrival_view *view)
{
	struct rate_limit *limit = state;
	struct bucket *bucket = &limit->bucket[limit->per == PER_TENANT ? view->request.tenant % BUCKETS : 0];
	double cost = limit->count == COUNT_TOKENS ? view->request.prompt_tokens : 1;
	double refilled = limit->rate * (double)(view->now - bucket->at) / (double)KV_SECOND;

	bucket->taken = bucket->taken > refilled ? bucket->taken - refilled : 0;
	bucket->at = view->now;
	if (bucket->taken + cost > limit->burst)
		return KV_REFUSE;
	bucket->taken += cost;
	return KV_ADMIT;
}

static enum kv_verdict admit(const void *state, const struct kv_admission_view *view)
{
	return kv_gate_admits(((const struct rate_limit *)state)->gate, view);
}

static const struct kv_param params[] = {
	{ "rate", KV_PARAM_DOUBLE, offsetof(struct rate_limit, rate), 1e-9, 1e12, "1", "1/s",
	  "requests or tokens that a bucket gains in a second" },
	{ "burst", KV_PARAM_DOUBLE, offsetof(struct rate_limit, burst), 1, 1e12, "10", "",
	  "requests or tokens that a full bucket holds; at the start all are full" },
	{ "count", KV_PARAM_CHOICE, offsetof(struct rate_limit, count), 0, 1, "requests", "requests|tokens",
	  "what is counted: requests, or tokens of prompts" },
	{ "per", KV_PARAM_CHOICE, offsetof(struct rate_limit, per), 0, 1, "tenant", "tenant|all",
	  "a bucket for each tenant, or one for all" },
	KV_GATE_PARAM(struct rate_limit),
	{ 0 }
};

const struct kv_policy kv_admission_rate_limit = {
	.kind = KV_POLICY_ADMISSION,
	.name = "rate-limit",
	.summary = "refuses at the door what exceeds a tenant's token bucket",
	.source = "token bucket; rate limits of API gateways by tenant",
	.state_size = sizeof(struct rate_limit),
	.params = params,
	.hooks.admission = {.admit = admit, .arrive = arrive, .refusal = KV_REASON_RATE},
};
