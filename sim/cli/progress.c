#include "config.h"

#include "sim/cli/progress.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_NS 200000000
#define CALLS_A_LOOK 4096  /* reading the clock costs as much as a step */

static int64_t wall_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void kv_progress_line(char *line, size_t size, const struct kv_state *state, kv_time time, int64_t elapsed_ns,
                      double fraction)
{
	uint64_t pool = state->pinned_blocks + state->cached_blocks + state->free_blocks;
	double done = (double)(state->finishes + state->refusals + state->drops);
	double elapsed = (double)elapsed_ns / 1e9;
	size_t used;

	used = (size_t)
		snprintf(line, size,
	                 "kvsim: %.1f s simulated, %.0f requests done, %.0f a second, %.0f %% of the pool pinned",
	                 (double)time / (double)KV_SECOND, done, elapsed > 0 ? done / elapsed : 0,
	                 pool > 0 ? 100 * (double)state->pinned_blocks / (double)pool : 0);
	/* Of as many requests as the trace has if the rest is like what has been read. */
	if (fraction > 0 && done > 0 && used < size)
		snprintf(line + used, size - used, ", about %.0f s left",
		         elapsed * ((double)state->arrivals / fraction - done) / done);
}

static void show(struct kv_progress *progress, const struct kv_state *state, kv_time time)
{
	int64_t now = wall_ns();
	char line[200];

	if (now < progress->next_ns)
		return;
	progress->next_ns = now + INTERVAL_NS;
	progress->shown = true;
	kv_progress_line(line, sizeof line, state, time, now - progress->start_ns, kv_trace_fraction(progress->trace));
	fprintf(stderr, "\r%s\033[K", line);
}

static void advance(void *self, const struct kv_state *state, kv_time time)
{
	struct kv_progress *progress = self;

	progress->inner->advance(progress->inner->self, state, time);
	if (++progress->calls % CALLS_A_LOOK == 0)
		show(progress, state, time);
}

static void event(void *self, const struct kv_event *decided)
{
	struct kv_progress *progress = self;

	progress->inner->event(progress->inner->self, decided);
}

static void step(void *self, const struct kv_step *taken)
{
	struct kv_progress *progress = self;

	progress->inner->step(progress->inner->self, taken);
}

static void token_gap(void *self, kv_time gap, uint64_t count)
{
	struct kv_progress *progress = self;

	progress->inner->token_gap(progress->inner->self, gap, count);
}

static void request(void *self, const struct kv_request_record *record)
{
	struct kv_progress *progress = self;

	progress->inner->request(progress->inner->self, record);
}

static void miss(void *self, const struct kv_miss *missed)
{
	struct kv_progress *progress = self;

	progress->inner->miss(progress->inner->self, missed);
}

struct kv_sink *kv_progress_start(struct kv_progress *progress, struct kv_sink *inner, const struct kv_trace *trace,
                                  bool quiet)
{
	*progress = (struct kv_progress){
		.inner = inner, .trace = trace, .start_ns = wall_ns(),
		.sink = {
			.self = progress, .advance = advance, .event = inner->event != NULL ? event : NULL,
			.step = step,
			.token_gap = token_gap, .request = request, .miss = inner->miss != NULL ? miss : NULL
		}
	};
	progress->next_ns = progress->start_ns + INTERVAL_NS;
	return quiet || !isatty(STDERR_FILENO) ? inner : &progress->sink;
}

void kv_progress_end(struct kv_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
}
