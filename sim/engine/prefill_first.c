/* SGLang's order of steps without mixed chunks (engine-semantics 2.4 and 2.5; the loop itself is not among our
 * sources).
 *
 * As long as a prompt is under way or the head of the queue may start, the step holds prompts alone and decodes wait.
 * Once the head lacked blocks or a slot the queue is not tried again before a running request has left, so that steps
 * of decodes alone cost what they do in any order. */
#include "config.h"

#include "sim/engine/prefill_first.h"

#include "sim/engine/running_pass.h"
#include "sim/engine/waiting_pass.h"

static bool anybody_scheduled(const struct kv_engine *engine)
{
	for (uint32_t i = 0; i < engine->scheduled_count; i++)
		if (engine->live[engine->scheduled[i]].scheduled > 0)
			return true;
	return false;
}

static void schedule_prompts(struct kv_engine *engine)
{
	const struct kv_engine_config *config = engine->config;

	engine->decoding = false;
	engine->budget = config->enable_chunked_prefill ? config->max_num_batched_tokens : UINT64_MAX;
	engine->token_limit = engine->budget;
	engine->prefill_left = config->max_prefill_tokens;
	kv_engine_run_prefills(engine);
	if (engine->preempted_in_step)
		kv_engine_set_waiting(engine, KV_WAIT_BLOCKS);
	else
		kv_engine_try_waiting(engine);
}

static void schedule_decodes(struct kv_engine *engine)
{
	engine->decoding = true;
	kv_engine_retract(engine);
	engine->budget = engine->token_limit = engine->running_count;
	if (engine->ended_count == 0)
		kv_engine_run_running(engine);
	kv_engine_tell_running(engine);
	if (engine->preempted_in_step)
		kv_engine_set_waiting(engine, KV_WAIT_BLOCKS);
}

void kv_engine_schedule_prefill_first(struct kv_engine *engine)
{
	schedule_prompts(engine);
	if (!anybody_scheduled(engine))
		schedule_decodes(engine);
}
