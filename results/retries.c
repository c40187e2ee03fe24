#include "config.h"

#include "results/retries.h"

#include <search.h>
#include <stdlib.h>

#include "sim/base/memory.h"

struct sent {
	uint64_t index;
	kv_time first;      /* arrival of the first sending */
	kv_time last;       /* of the last one so far, and why it was turned away */
	enum kv_reason reason;
	uint64_t times;
};

static int by_index(const void *a, const void *b)
{
	const struct sent *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

void kv_retries_fini(struct kv_retries *retries)
{
	tdestroy(retries->tree, free);
}

static bool is_turned_away(const struct kv_request_record *record)
{
	return record->status == KV_REFUSED && record->reason != KV_REASON_TOO_LONG &&
	       record->reason != KV_REASON_CAN_NEVER_FIT;
}

static void remember(struct kv_retries *retries, const struct kv_request_record *record)
{
	struct sent *sent = kv_calloc(1, sizeof *sent);

	*sent = (struct sent){.index = record->index, .first = record->arrival, .last = record->arrival,
	                      .reason = record->reason, .times = 1};
	tsearch(sent, &retries->tree, by_index);
}

static void forget(struct kv_retries *retries, struct sent *sent)
{
	tdelete(sent, &retries->tree, by_index);
	free(sent);
}

struct kv_sending kv_retries_note(struct kv_retries *retries, const struct kv_request_record *record)
{
	struct sent wanted = {.index = record->index}, **found, *sent;
	struct kv_sending sending = {0};

	found = tfind(&wanted, &retries->tree, by_index);
	if (found == NULL) {
		if (is_turned_away(record))
			remember(retries, record);
		return sending;
	}
	sent = *found;
	sending = (struct kv_sending){record->arrival - sent->first, sent->last >= retries->warmup, sent->reason};
	sent->last = record->arrival;
	sent->reason = record->reason;
	if (!is_turned_away(record) || ++sent->times > retries->limit)
		forget(retries, sent);
	return sending;
}
