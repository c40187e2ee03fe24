#include "config.h"

#include "sim/cli/progress.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_NS 200000000
#define REQUESTS_A_LOOK 1024  /* reading the clock costs as much as a small request */

static int64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void show(struct kv_progress *progress, kv_time arrival)
{
	int64_t now = wall_ns();

	if (now < progress->next_ns)
		return;
	progress->next_ns = now + INTERVAL_NS;
	progress->shown = true;
	fprintf(stderr, "\rkvsim: %" PRIu64 " requests, %.1f s of the trace", progress->requests,
	        (double)arrival / (double)KV_SECOND);
}

static int next(struct kv_source *source, struct kv_request *out, struct kv_error *err)
{
	struct kv_progress *progress = (struct kv_progress *)((char *)source - offsetof(struct kv_progress, source));
	int status = progress->inner->next(progress->inner, out, err);

	if (status == 1 && ++progress->requests % REQUESTS_A_LOOK == 0)
		show(progress, out->arrival);
	return status;
}

static bool ended(struct kv_source *source, uint64_t index, bool finished, kv_time time, struct kv_request *pending,
                  bool has_pending)
{
	struct kv_progress *progress = (struct kv_progress *)((char *)source - offsetof(struct kv_progress, source));

	return progress->inner->ended(progress->inner, index, finished, time, pending, has_pending);
}

static void close_inner(struct kv_source *source)
{
	struct kv_progress *progress = (struct kv_progress *)((char *)source - offsetof(struct kv_progress, source));

	progress->inner->close(progress->inner);
}

struct kv_source *kv_progress_start(struct kv_progress *progress, struct kv_source *inner, bool quiet)
{
	*progress = (struct kv_progress){
		.source = { .next = next, .ended = inner->ended != NULL ? ended : NULL, .close = close_inner }, .inner = inner
	};
	return quiet || !isatty(STDERR_FILENO) ? inner : &progress->source;
}

void kv_progress_end(struct kv_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
}
