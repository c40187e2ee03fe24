#include "config.h"

#include "workloads/doubts.h"

/* Public traces of bare numbers have between 0.01 and 2,000 requests a second. */
static const char *doubt_times(const struct kv_trace_counts *counts)
{
	double span = (double)(counts->last - counts->first) / (double)KV_SECOND;
	double rate = (double)counts->emitted / span;

	if (counts->emitted < 50 || span <= 0 || counts->dependent_rows > 0)
		return NULL;
	if (rate < 0.005)
		return "the trace has less than one request in 200 s: are milliseconds taken for seconds?";
	if (rate > 2000)
		return "the trace has more than 2,000 requests a second: are seconds taken for milliseconds?";
	return NULL;
}

static const char *doubt_lengths(const struct kv_trace_counts *counts)
{
	if (counts->uneven_blocks == 0)
		return NULL;
	return "the trace has block ids that stand for two lengths, taken to agree as far as both go: is the block "
	       "size right?";
}

static const char *doubt_places(const struct kv_trace_counts *counts)
{
	if (counts->misplaced_blocks == 0)
		return NULL;
	return "the trace has block ids behind two different ones, shared only as far as prompts agree from the "
	       "beginning: are they hashes of all that precedes them?";
}

const char *kv_doubt(const struct kv_trace_counts *counts, bool bare_times, size_t number)
{
	static const char *(*const doubts[])(const struct kv_trace_counts *) = {
		doubt_times, doubt_lengths, doubt_places
	};

	for (size_t i = bare_times ? 0 : 1; i < sizeof doubts / sizeof *doubts; i++) {
		const char *doubt = doubts[i](counts);

		if (doubt != NULL && number-- == 0)
			return doubt;
	}
	return NULL;
}
