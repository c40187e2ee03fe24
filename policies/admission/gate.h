/* What policies of the door apply to the head of the queue: one of the plain gates, as a parameter. */
#ifndef KV_POLICIES_ADMISSION_GATE_H
#define KV_POLICIES_ADMISSION_GATE_H

#include <stdint.h>

#include "policies/policies.h"

#define KV_GATE_PARAM(type)                                                                                       \
	{ "gate", KV_PARAM_CHOICE, offsetof(type, gate), 0, 2, "prompt-fits", "prompt-fits|greedy|no-evict",       \
	  "when the head of the queue may start, as the policies of these names have it" }

enum { KV_GATE_PROMPT_FITS, KV_GATE_GREEDY, KV_GATE_NO_EVICT };

static inline enum kv_verdict kv_gate_admits(uint32_t gate, const struct kv_admission_view *view)
{
	uint64_t need = 0;

	if (gate == KV_GATE_PROMPT_FITS)
		need = view->need_whole + view->watermark;
	if (gate == KV_GATE_NO_EVICT)
		need = view->need_full + view->running_growth + view->watermark;
	return need <= view->free_blocks ? KV_ADMIT : KV_WAIT;
}

#endif
