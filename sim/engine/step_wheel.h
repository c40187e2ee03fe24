/* What is due at which tick of the decode clock: a timing wheel with one entry a live request.
 *
 * Adding and removing cost O(1); a tick looks at the entries of its bucket, which holds those of later rounds too.
 */
#ifndef KV_SIM_STEP_WHEEL_H
#define KV_SIM_STEP_WHEEL_H

#include <stddef.h>
#include <stdint.h>

struct kv_wheel_link {
	uint64_t tick;
	uint32_t next, prev;
};

struct kv_wheel {
	uint32_t *bucket;
	struct kv_wheel_link *link;  /* by request */
	size_t capacity;
};

void kv_wheel_init(struct kv_wheel *wheel);
void kv_wheel_fini(struct kv_wheel *wheel);
void kv_wheel_cover(struct kv_wheel *wheel, uint32_t requests);

void kv_wheel_add(struct kv_wheel *wheel, uint32_t request, uint64_t tick);
void kv_wheel_remove(struct kv_wheel *wheel, uint32_t request);
/* Takes one request that is due at this tick out, KV_NONE if there is none (left). */
uint32_t kv_wheel_take(struct kv_wheel *wheel, uint64_t tick);

#endif
