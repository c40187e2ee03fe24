#include "config.h"

#include "tests/oracle/internal.h"

bool oracle_is_contiguous(const struct oracle_engine *engine)
{
	return engine->config->policy[KV_POLICY_ALLOCATION].policy->hooks.allocation.contiguous;
}

bool oracle_caches(const struct oracle_engine *engine)
{
	return engine->config->policy[KV_POLICY_PREFIX].policy->hooks.prefix.form != KV_PREFIX_NONE &&
	       !oracle_is_contiguous(engine);
}

bool oracle_prompts_go_first(const struct oracle_engine *engine)
{
	return engine->config->step_order == KV_STEPS_PREFILL_FIRST;
}

uint64_t oracle_below_threshold(const struct oracle_engine *engine, uint64_t tokens)
{
	uint32_t threshold = engine->config->long_prefill_token_threshold;

	return threshold > 0 ? kv_min(tokens, threshold) : tokens;
}

bool oracle_is_windowed(const struct oracle_engine *engine, uint32_t group)
{
	return engine->config->group[group].kind == KV_GROUP_SLIDING_WINDOW;
}

uint64_t oracle_skipped_blocks(const struct oracle_engine *engine, uint32_t group, uint64_t computed)
{
	if (!oracle_is_windowed(engine, group))
		return 0;
	return kv_sub_floor(computed + 1, engine->config->group[group].window) / engine->config->block_size;
}

uint64_t oracle_window_blocks(const struct oracle_engine *engine, uint32_t group)
{
	return kv_ceil_div(engine->config->group[group].window - 1, engine->config->block_size);
}

uint64_t oracle_known_tokens(const struct oracle_request *request)
{
	return request->prompt_tokens + request->generated;
}

uint64_t oracle_final_tokens(const struct oracle_request *request)
{
	/* The newest token never gets KV. */
	return request->prompt_tokens + kv_max(request->outputs, 1) - 1;
}

uint64_t oracle_scheduled_end(const struct oracle_request *request)
{
	return request->computed + request->scheduled;
}

bool oracle_is_decode(const struct oracle_request *request)
{
	return request->generated > 0 && !request->recomputing && request->scheduled == 1 &&
	       oracle_known_tokens(request) - request->computed == 1;
}

bool oracle_emits_token(const struct oracle_request *request)
{
	return request->scheduled > 0 && oracle_scheduled_end(request) == oracle_known_tokens(request) &&
	       request->outputs > 0;
}

bool oracle_anybody_scheduled(const struct oracle_engine *engine)
{
	for (size_t i = 0; i < engine->running.count; i++)
		if (((const struct oracle_request *)engine->running.items[i])->scheduled > 0)
			return true;
	return false;
}

/* 0 = it has none. */
static uint64_t tenant_of(const struct oracle_request *request)
{
	uint32_t length = (uint32_t)strlen(request->tenant);

	return length > 0 ? kv_name_hash(request->tenant, length) : 0;
}

struct kv_request_view oracle_view_of(const struct oracle_request *request, const struct kv_policy *policy)
{
	return (struct kv_request_view){
		.index = request->index,
		.queued = request->record.queued,
		.prompt_tokens = request->prompt_tokens,
		.known_tokens = (uint32_t)oracle_known_tokens(request),
		.max_total_tokens = request->max_total_tokens,
		.oracle_total_tokens = policy->flags & KV_POLICY_ORACLE ? request->prompt_tokens + request->outputs : 0,
		.priority = request->priority,
		.tenant = tenant_of(request),
		.deadline = request->deadline,
		.computed_tokens = (uint32_t)request->computed,
		.generated_since = request->generated - request->generated_before,
	};
}

void oracle_note(const struct oracle_engine *engine, const struct oracle_request *request, enum kv_moment moment)
{
	const struct kv_policy_use *admission = oracle_admission_policy(engine);
	const struct kv_policy_use *scheduling = &engine->config->policy[KV_POLICY_SCHEDULING];
	struct kv_request_view view = oracle_view_of(request, admission->policy);

	if (admission->policy->hooks.admission.note != NULL)
		admission->policy->hooks.admission.note(admission->state, moment, &view);
	view = oracle_view_of(request, scheduling->policy);
	if (scheduling->policy->hooks.scheduling.note != NULL)
		scheduling->policy->hooks.scheduling.note(scheduling->state, moment, &view);
}
