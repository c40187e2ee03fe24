#include "config.h"

#include "results/events_csv.h"

#include <string.h>

#include "results/csv_text.h"

void kv_events_csv_header(struct kv_output *out)
{
	kv_output_text(out, "time_s,step,event,request_id,tokens,blocks,detail\n");
}

void kv_events_csv_row(struct kv_output *out, const struct kv_event *event)
{
	const char *name = kv_event_name(event->kind);
	size_t length = strlen(name);
	char *p = kv_output_room(out, 3 * KV_NUMBER_TEXT_MAX);

	p = kv_csv_seconds(p, event->time);
	p = kv_csv_u64(p, event->step);
	memcpy(p, name, length);
	p += length;
	*p++ = ',';
	kv_output_advance(out, p);
	kv_csv_request_id(out, event->request_id, event->request);
	p = kv_output_room(out, 3 * KV_NUMBER_TEXT_MAX);
	*p++ = ',';
	p = kv_csv_u64(p, event->tokens);
	p = kv_csv_u64(p, event->blocks);
	kv_output_advance(out, p);
	kv_csv_text(out, event->detail);
	kv_output_bytes(out, "\n", 1);
}
