#include "config.h"

#include "sim/record.h"

const char *kv_event_name(enum kv_event_kind kind)
{
	static const char *const names[KV_EVENT_KINDS] = {
		"arrive", "refuse", "drop", "admit", "schedule", "preempt", "swap_out", "swap_in",
		"first_token", "finish", "evict", "expire", "delete", "stall", "livelock"
	};

	return names[kind];
}

const char *kv_waiting_reason_name(enum kv_waiting_reason reason)
{
	static const char *const names[KV_WAIT_REASONS] = {
		"blocks", "sequence_slots", "token_budget", "head_of_line", "client"
	};

	return names[reason];
}

const char *kv_status_name(enum kv_status status)
{
	static const char *const names[] = {"finished", "refused", "dropped", "unfinished"};

	return names[status];
}

const char *kv_reason_name(enum kv_reason reason)
{
	static const char *const names[KV_REASONS] = {
		"stop", "length", "too_long", "can_never_fit", "queue_full", "rate", "deadline", "stalled", "cut"
	};

	return names[reason];
}

const char *kv_miss_reason_name(enum kv_miss_reason reason)
{
	static const char *const names[KV_MISS_REASONS + 1] = {
		"never_seen",
		"evicted", "expired", "deleted", "other_key", "diverged", "partial_block",
		"recompute_rule",
		"too_late", "window", "beyond_horizon", ""
	};

	return names[reason];
}
