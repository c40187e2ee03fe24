/* Retention priorities by range of tokens (TensorRT-LLM's KvCacheRetentionConfig): the lowest priority goes first,
 * then the least recently released. A block takes the priority of the range that its first token lies in: the head of
 * the prompt, the rest of the prompt, or what was generated. With a duration, a block falls back to the default
 * priority when that much time has passed since its release; the clock is looked at when the engine schedules.
 *
 * Ranges are parameters: no trace format says what a client asked to be retained (a request's own priority orders
 * the queue). Where we differ: TensorRT-LLM evicts leaves of its tree; here a block of low priority may go before what
 * follows it, which can then not be hit. */
#include "config.h"

#include "policies/policies.h"

enum { HEAD, PROMPT, DECODE, DEFAULT, QUEUES };

#define DEFAULT_PRIORITY 35

struct state {
	uint64_t head_tokens;
	uint64_t priority[DEFAULT];
	kv_time duration[DEFAULT];
};

struct entry {
	uint8_t range;
};

static uint32_t first_block_from(uint64_t tokens, const struct kv_release *call)
{
	uint64_t block = (tokens + call->block_size - 1) / call->block_size;

	return block < UINT32_MAX ? (uint32_t)block : UINT32_MAX;
}

static uint32_t first_decode_block(const struct kv_release *call)
{
	return first_block_from(call->prompt_tokens, call);
}

static uint32_t first_block_behind_head(const struct state *state, const struct kv_release *call)
{
	uint64_t head = state->head_tokens < call->prompt_tokens ? state->head_tokens : call->prompt_tokens;

	return first_block_from(head, call);
}

static unsigned cut(const void *state, const struct kv_release *call, uint32_t at[KV_EVICTION_CUTS])
{
	at[0] = first_block_behind_head(state, call);
	at[1] = first_decode_block(call);
	return 2;
}

static struct kv_rank release(void *state_, void *entry_state, const struct kv_release *call)
{
	const struct state *state = state_;
	struct entry *entry = entry_state;

	entry->range = PROMPT;
	if (call->depth < first_block_behind_head(state, call))
		entry->range = HEAD;
	else if (call->depth >= first_decode_block(call))
		entry->range = DECODE;
	return (struct kv_rank){(int64_t)state->priority[entry->range], call->now};
}

static unsigned queue_of(const void *entry_state)
{
	const struct entry *entry = entry_state;

	return entry->range;
}

static enum kv_due due(void *state_, void *entry_state, kv_time now, struct kv_rank *rank)
{
	const struct state *state = state_;
	struct entry *entry = entry_state;

	if (entry->range == DEFAULT || now - rank->secondary < state->duration[entry->range])
		return KV_DUE_NOT;
	entry->range = DEFAULT;
	rank->primary = DEFAULT_PRIORITY;
	return KV_DUE_MOVE;
}

static struct kv_rank leaf(const void *state, const struct kv_leaf_view *view)
{
	(void)state;
	return (struct kv_rank){view->priority, (int64_t)view->accessed};
}

#define PRIORITY(name, range, help) \
	{name, KV_PARAM_UINT, offsetof(struct state, priority) + (range) * sizeof(uint64_t), 0, 100, "35", "", help}
#define DURATION(name, range, help) \
	{name, KV_PARAM_TIME, offsetof(struct state, duration) + (range) * sizeof(kv_time), 1, (double)KV_TIME_MAX, \
	 "1000000h", "", help}

static const struct kv_param params[] = {
	{"head_tokens", KV_PARAM_UINT, offsetof(struct state, head_tokens), 0, 1e9, "0", "tokens",
	 "length of the prompt's head"},
	PRIORITY("head", HEAD, "priority of the prompt's head, 100 = keep longest"),
	PRIORITY("prompt", PROMPT, "priority of the rest of the prompt"),
	PRIORITY("decode", DECODE, "priority of what was generated"),
	DURATION("head_duration", HEAD, "time until the head falls back to 35"),
	DURATION("prompt_duration", PROMPT, "time until the rest of the prompt falls back to 35"),
	DURATION("decode_duration", DECODE, "time until what was generated falls back to 35"),
	{0}
};

const struct kv_policy kv_eviction_priority = {
	.kind = KV_POLICY_EVICTION,
	.name = "priority",
	.summary = "lowest retention priority first, by range of tokens and with durations",
	.source = "TensorRT-LLM KvCacheRetentionConfig, by blocks",
	.state_size = sizeof(struct state),
	.entry_size = sizeof(struct entry),
	.params = params,
	.hooks.eviction = {.release = release, .cut = cut, .queues = QUEUES, .queue = queue_of, .due = due,
	                   .leaf = leaf,
	                   .leaf_takes_none = true},
};
