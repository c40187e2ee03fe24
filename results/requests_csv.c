#include "config.h"

#include "results/requests_csv.h"

#include <string.h>

#include "results/csv_text.h"
#include "results/summary.h"

void kv_requests_csv_header(struct kv_output *out)
{
	kv_output_text(out,
	               "request_id,tenant,status,reason,arrival_s,sent_s,queued_s,admitted_s,first_token_s,finish_s,"
	               "prompt_tokens,output_tokens,cached_tokens,external_tokens,computed_tokens,recomputed_tokens,"
	               "preemptions,swaps,preempted_s,swapped_s,retry_wait_s,client_wait_s,retrieval_s,frontend_s,"
	               "queue_s,prefill_s,ttft_s,tpot_s,e2e_s,block_seconds,miss_reason\n");
}

static char *put_word(char *p, const char *word)
{
	size_t length = strlen(word);

	memcpy(p, word, length);
	p[length] = ',';
	return p + length + 1;
}

static kv_time between(kv_time from, kv_time to)
{
	return from == KV_TIME_NONE || to == KV_TIME_NONE ? KV_TIME_NONE : to - from;
}

static char *put_times(char *p, const struct kv_request_record *r)
{
	p = kv_csv_seconds(p, r->arrival);
	p = kv_csv_seconds(p, r->sent);
	p = kv_csv_seconds(p, r->queued);
	p = kv_csv_seconds(p, r->admitted);
	p = kv_csv_seconds(p, r->first_token);
	return kv_csv_seconds(p, r->finish);
}

static char *put_tokens(char *p, const struct kv_request_record *r)
{
	p = kv_csv_u64(p, r->prompt_tokens);
	p = kv_csv_u64(p, r->output_tokens);
	p = kv_csv_u64(p, r->cached_tokens);
	p = kv_csv_u64(p, r->external_tokens);
	p = kv_csv_u64(p, r->computed_tokens);
	p = kv_csv_u64(p, r->recomputed_tokens);
	p = kv_csv_u64(p, r->preemptions);
	return kv_csv_u64(p, r->swaps);
}

static char *put_parts(char *p, const struct kv_request_record *r, kv_time retry_wait)
{
	p = kv_csv_seconds(p, r->preempted);
	p = kv_csv_seconds(p, r->swapped);
	p = kv_csv_seconds(p, retry_wait);
	p = kv_csv_seconds(p, between(r->arrival, r->sent));
	p = kv_csv_seconds(p, r->queued == KV_TIME_NONE ? KV_TIME_NONE : r->retrieval);
	p = kv_csv_seconds(p, r->queued == KV_TIME_NONE ? KV_TIME_NONE : r->frontend);
	p = kv_csv_seconds(p, between(r->queued, r->admitted));
	p = kv_csv_seconds(p, between(r->admitted, r->first_token));
	return kv_csv_seconds(p, between(r->sent, r->first_token));
}

/* Only a finished request has these two. */
static char *put_rates(char *p, const struct kv_request_record *r)
{
	bool finished = r->status == KV_FINISHED;

	if (finished && r->output_tokens > 1)
		p = kv_text_fixed(p, kv_time_per_output_token(r), 12);
	*p++ = ',';
	return kv_csv_seconds(p, finished ? between(r->sent, r->finish) : KV_TIME_NONE);
}

void kv_requests_csv_row(struct kv_output *out, const struct kv_request_record *record, kv_time retry_wait)
{
	char *p;

	kv_csv_request_id(out, record->id, record->index);
	kv_output_bytes(out, ",", 1);
	kv_csv_text(out, record->tenant);
	p = kv_output_room(out, 32 * KV_NUMBER_TEXT_MAX);
	*p++ = ',';
	p = put_word(p, kv_status_name(record->status));
	p = put_word(p, kv_reason_name(record->reason));
	p = put_times(p, record);
	p = put_tokens(p, record);
	p = put_parts(p, record, retry_wait);
	p = put_rates(p, record);
	p = kv_csv_integral(p, record->block_ns);
	p = put_word(p, kv_miss_reason_name(record->miss_reason));
	kv_output_advance(out, kv_csv_end_row(p));
}
