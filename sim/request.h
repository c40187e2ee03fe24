/* What the simulator is fed: requests, their content as segments, and the source that yields them one at a time.
 *
 * Content is never a token array. A prompt is a list of segments (stream, length): the first `length` tokens of a
 * stream. Two tokens are equal exactly when stream and position are equal, so two prompts share a prefix as far as
 * their segment lists agree token by token. What a request generates is a stream too.
 */
#ifndef KV_SIM_REQUEST_H
#define KV_SIM_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/units.h"

enum kv_stream_kind {
	KV_STREAM_NAMED,   /* id = kv_name_hash(name): plain segment names */
	KV_STREAM_BLOCK,   /* id = a trace's own block hash id, kept whole */
	KV_STREAM_OUTPUT,  /* id = kv_name_hash(request id): what that request generates */
	KV_STREAM_PRIVATE  /* content that nothing else can name; id is ignored, every one is distinct */
};

struct kv_segment {
	uint64_t stream;
	uint32_t length;   /* tokens, at least 1 */
	uint32_t kind;     /* enum kv_stream_kind */
};

/* Names are compared by a 64-bit XXH3 hash: two of n sibling names collide with probability about n^2 / 2^65. */
uint64_t kv_name_hash(const char *name, uint32_t length);

#define KV_TOKENS_UNSET UINT32_MAX
/* Longest prompt or output that any reader accepts. */
#define KV_TOKENS_MAX 1000000000u

struct kv_request {
	uint64_t index;              /* 0, 1, ... in file order: breaks every tie */
	kv_time arrival;             /* when the client wants to send it */
	kv_time retrieval;           /* document retrieval between sending and queueing, >= 0 */
	kv_time deadline;            /* from arrival; KV_TIME_NONE = none */
	const struct kv_segment *prompt;
	uint32_t prompt_segments;    /* lengths sum to prompt_tokens; 0 segments only if prompt_tokens is 0 */
	uint32_t prompt_tokens;
	uint32_t output_tokens;      /* true output: only the engine's own progress and oracle policies may look */
	uint32_t max_tokens;         /* what the client allowed; KV_TOKENS_UNSET = max_model_len - prompt */
	int64_t priority;            /* smaller is more important */
	const char *id;              /* NULL = "r" followed by index */
	const char *tenant;          /* "" = none; likewise salt and adapter */
	const char *salt;
	const char *adapter;
	bool output_nameable;        /* a later prompt may contain "@id" */
};

/* How a request ended, for those that depend on it. */
enum kv_request_end {
	KV_END_FINISHED,
	KV_END_TURNED_AWAY,  /* refused, but it may be taken at another time: the queue was full, the rate too high, the wait too long */
	KV_END_REFUSED,      /* refused for good */
	KV_END_DROPPED       /* its client gave up */
};

/* Yields requests in order of (arrival, index). The strings and segments of a request belong to the source and stay
 * valid until the next call. */
struct kv_source {
	/* 1 = *out filled, 0 = no more, -1 = err filled. */
	int (*next)(struct kv_source *source, struct kv_request *out, struct kv_error *err);
	/* NULL where no request depends on another. Otherwise told when a request ends during the run: it finished, or
	 * was refused or dropped. What that makes due may come before *pending, the request that next() yielded last
	 * and that has not arrived yet: then the source takes that one back, puts the earlier one in its place and
	 * returns true. has_pending is false if next() said that there were no more; pending is NULL while a request
	 * arrives, before next() is called again. */
	bool (*ended)(struct kv_source *source, uint64_t index, enum kv_request_end end, kv_time time,
	              struct kv_request *pending, bool has_pending);
	void (*close)(struct kv_source *source);
};

#endif
