#include "config.h"

#include "results/explain.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "results/duration.h"
#include "results/facts.h"
#include "sim/base/quantity.h"

/* --- findings ----------------------------------------------------------------------------------------------------- */

static json_t *new_finding(const char *topic)
{
	return json_pack("{ss s[] s[]}", "topic", topic, "evidence", "change");
}

__attribute__((format(printf, 3, 4))) static void say(json_t *finding, const char *list, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	json_array_append_new(json_object_get(finding, list), json_vsprintf(format, args));
	va_end(args);
}

__attribute__((format(printf, 2, 3))) static void give_verdict(json_t *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	json_object_set_new(finding, "verdict", json_vsprintf(format, args));
	va_end(args);
}

__attribute__((format(printf, 2, 3))) static void add_to_verdict(json_t *finding, const char *format, ...)
{
	va_list args;
	json_t *more;

	va_start(args, format);
	more = json_vsprintf(format, args);
	va_end(args);
	give_verdict(finding, "%s %s", kv_facts_text(finding, "verdict"), json_string_value(more));
	json_decref(more);
}

static double share(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

#define SETTING_ROOM 64

/* A resolved setting, to be put behind its name: " (here 2048)"; "" where the run does not say it. */
static const char *setting_text(char text[SETTING_ROOM], const json_t *facts, const char *name)
{
	char path[64], digits[KV_QUANTITY_MAX];

	snprintf(path, sizeof path, "kvsim/%s", name);
	if (json_is_number(kv_facts_at(facts, path)))
		snprintf(text, SETTING_ROOM, " (here %s)", kv_format_double(kv_facts_number(facts, path), digits));
	else
		text[0] = '\0';
	return text;
}

/* --- what was exhausted ------------------------------------------------------------------------------------------- */

enum resource { BLOCKS, SLOTS, BUDGET, RESOURCES };

static const struct {
	const char *key;   /* under kvsim/queue_waits_for */
	const char *what;
	const char *setting;  /* that limits it; NULL = several */
} resources[RESOURCES] = {
	{"blocks", "KV cache blocks", NULL},
	{"sequence_slots", "sequence slots", "max_num_seqs"},
	{"token_budget", "compute (the token budget of each step)", "max_num_batched_tokens"}
};

#define RESOURCE_ROOM 160

/* "sequence slots, max_num_seqs (here 256),". */
static const char *resource_text(char text[RESOURCE_ROOM], const json_t *facts, enum resource resource)
{
	const char *setting = resources[resource].setting;
	char value[SETTING_ROOM];

	if (setting == NULL)
		return resources[resource].what;
	snprintf(text, RESOURCE_ROOM, "%s, %s%s,", resources[resource].what, setting,
	         setting_text(value, facts, setting));
	return text;
}

static double bound_share(const json_t *facts, enum resource resource)
{
	char path[64];

	snprintf(path, sizeof path, "kvsim/queue_waits_for/%s", resources[resource].key);
	return 100 * kv_facts_number(facts, path);
}

/* The one the queue waited for most of the time; RESOURCES if the queue was all but always empty. */
static enum resource binding_resource(const json_t *facts)
{
	const double negligible = 1;
	enum resource most = BLOCKS;

	for (int i = 1; i < RESOURCES; i++)
		if (bound_share(facts, i) > bound_share(facts, most))
			most = i;
	return bound_share(facts, most) < negligible ? RESOURCES : most;
}

/* Another one that counts as well: waited for at least half as long. RESOURCES if there is none. */
static enum resource second_resource(const json_t *facts, enum resource first)
{
	enum resource most = RESOURCES;

	for (int i = 0; i < RESOURCES && first != RESOURCES; i++)
		if (i != (int)first && 2 * bound_share(facts, i) >= bound_share(facts, first) &&
		    (most == RESOURCES || bound_share(facts, i) > bound_share(facts, most)))
			most = i;
	return most;
}

static void add_occupancy(const json_t *facts, json_t *finding)
{
	double pool = kv_facts_number(facts, "kvsim/usable_blocks");
	double pinned = kv_facts_number(facts, "kvsim/mean_pinned_blocks");
	double reserved = kv_facts_number(facts, "kvsim/mean_reserved_blocks");
	double waste = kv_facts_number(facts, "kvsim/mean_waste_blocks");

	say(finding, "evidence",
	    "Live requests pinned %.1f %% of the pool of %.0f blocks on average and %.1f %% at the peak, "
	    "first reached at %.1f s.",
	    share(pinned, pool), pool, share(kv_facts_number(facts, "kvsim/peak_pinned_blocks"), pool),
	    kv_facts_number(facts, "kvsim/peak_pinned_s"));
	say(finding, "evidence",
	    "Of the pinned slots, %.1f %% were reserved and not yet filled, %.1f %% were allocation waste.",
	    share(reserved, pinned), share(waste, pinned));
	say(finding, "evidence",
	    "The rest of the pool: %.1f %% of it was cached for reuse and %.1f %% free, on average.",
	    share(kv_facts_number(facts, "kvsim/mean_cached_blocks"), pool),
	    share(kv_facts_number(facts, "kvsim/mean_free_blocks"), pool));
}

/* An open load that takes longer to serve than to arrive, and not for one long request at its end: somebody waited most
 * of the time. */
static bool is_overloaded(const json_t *facts)
{
	double arrived = kv_facts_number(facts, "kvsim/last_arrival_s");
	double waited = bound_share(facts, BLOCKS) + bound_share(facts, SLOTS) + bound_share(facts, BUDGET);

	return arrived > 0 && kv_facts_number(facts, "kvsim/simulated_s") > 1.2 * arrived && waited >= 50 &&
	       !json_is_true(kv_facts_at(facts, "kvsim/stalled")) && !json_is_true(kv_facts_at(facts, "kvsim/partial"));
}

static void add_overload(const json_t *facts, json_t *finding)
{
	double arrived = kv_facts_number(facts, "kvsim/last_arrival_s");
	double ended = kv_facts_number(facts, "kvsim/simulated_s");
	char arrivals[32], serving[32];

	if (is_overloaded(facts))
		add_to_verdict(finding,
		               "Overloaded: %s of arrivals took %s to serve, so the load is about %.1f times what this "
		               "deployment serves.",
		               kv_duration_text(arrivals, 1000 * arrived), kv_duration_text(serving, 1000 * ended),
		               ended / arrived);
}

static void add_queue(const json_t *facts, json_t *finding)
{
	say(finding, "evidence",
	    "The queue waited for KV cache blocks during %.1f %% of the time, for sequence slots %.1f %%, for "
	    "room in the token budget of a step %.1f %%. %.1f requests ran on average, %.0f at most; %.0f were in "
	    "flight at most.",
	    bound_share(facts, BLOCKS), bound_share(facts, SLOTS), bound_share(facts, BUDGET),
	    kv_facts_number(facts, "kvsim/mean_running"), kv_facts_number(facts, "kvsim/peak_running"),
	    kv_facts_number(facts, "max_concurrent_requests"));
}

/* What a class or tenant took of what was short. */
static double taken(const json_t *crowd, enum resource resource)
{
	if (resource == BUDGET)
		return kv_facts_number(crowd, "prompt_tokens") - kv_facts_number(crowd, "cached_tokens");
	return kv_facts_number(crowd, "block_seconds");
}

/* What was taken, in the words of the evidence. */
static const char *taken_text(enum resource resource)
{
	return resource == BUDGET ? "prompt tokens that had to be computed" : "block-seconds";
}

static double total_of(const json_t *crowds, enum resource resource)
{
	const json_t *crowd;
	double total = 0;
	size_t i;

	json_array_foreach(crowds, i, crowd)
		total += taken(crowd, resource);
	return total;
}

static double requests_of(const json_t *crowds)
{
	const json_t *crowd;
	double requests = 0;
	size_t i;

	json_array_foreach(crowds, i, crowd)
		requests += kv_facts_number(crowd, "requests");
	return requests;
}

/* The crowd that took most, in all or by request; NULL if nobody took anything. */
static const json_t *main_taker(const json_t *crowds, enum resource resource, bool by_request)
{
	const json_t *largest = NULL, *crowd;
	double most = 0;
	size_t i;

	json_array_foreach(crowds, i, crowd) {
		double held = taken(crowd, resource) / (by_request ? kv_facts_number(crowd, "requests") : 1);

		if (held > most) {
			most = held;
			largest = crowd;
		}
	}
	return largest;
}

/* The class of prompt lengths, or the tenant, that took most of what was short; of two things in one line if it is the
 * same for both. */
static void add_takers(const json_t *facts, json_t *finding, const enum resource short_of[2], const char *path,
                       const char *label)
{
	const json_t *crowds = kv_facts_at(facts, path);
	const json_t *first = main_taker(crowds, short_of[0], false);
	const json_t *second = short_of[1] != RESOURCES ? main_taker(crowds, short_of[1], false) : NULL;
	char also[96] = "";

	if (first == NULL || json_array_size(crowds) < 2)
		return;
	if (first == second)
		snprintf(also, sizeof also, " and %.0f %% of all %s",
		         share(taken(first, short_of[1]), total_of(crowds, short_of[1])), taken_text(short_of[1]));
	say(finding, "evidence", "Most went to %s %s: %.0f %% of all %s%s, with %.0f %% of the requests.", label,
	    kv_facts_text(first, "name"), share(taken(first, short_of[0]), total_of(crowds, short_of[0])),
	    taken_text(short_of[0]), also, share(kv_facts_number(first, "requests"), requests_of(crowds)));
	if (second != NULL && second != first)
		say(finding, "evidence", "Most %s went to %s %s: %.0f %%, with %.0f %% of the requests.",
		    taken_text(short_of[1]), label, kv_facts_text(second, "name"),
		    share(taken(second, short_of[1]), total_of(crowds, short_of[1])),
		    share(kv_facts_number(second, "requests"), requests_of(crowds)));
}

/* The class whose requests weigh most each: few may hold what many wait for. */
static void add_heaviest(const json_t *facts, json_t *finding)
{
	const json_t *classes = kv_facts_at(facts, "kvsim/length_classes");
	const json_t *heaviest = main_taker(classes, BLOCKS, true);
	double each, mean;

	if (heaviest == NULL || json_array_size(classes) < 2)
		return;
	each = taken(heaviest, BLOCKS) / kv_facts_number(heaviest, "requests");
	mean = total_of(classes, BLOCKS) / requests_of(classes);
	say(finding, "evidence",
	    "A request weighed most among prompts of %s: %.1f times the block-seconds of the mean request; %.0f %% "
	    "of the requests, %.0f %% of all block-seconds.",
	    kv_facts_text(heaviest, "name"), each / mean,
	    share(kv_facts_number(heaviest, "requests"), requests_of(classes)),
	    share(taken(heaviest, BLOCKS), total_of(classes, BLOCKS)));
}

static void add_all_takers(const json_t *facts, json_t *finding, enum resource first, enum resource second)
{
	const enum resource short_of[2] = {first, second};

	add_takers(facts, finding, short_of, "kvsim/length_classes", "prompts of");
	add_takers(facts, finding, short_of, "kvsim/tenants", "tenant");
	if (first == BLOCKS || second == BLOCKS)
		add_heaviest(facts, finding);
}

static void add_largest(const json_t *facts, json_t *finding)
{
	const json_t *largest = kv_facts_at(facts, "kvsim/largest_at_peak");
	double pool = kv_facts_number(facts, "kvsim/usable_blocks");
	char names[400] = "";
	const json_t *request;
	size_t used = 0, i;

	json_array_foreach(largest, i, request)
		if (i < 3 && used < sizeof names)
			used += (size_t)snprintf(names + used, sizeof names - used,
			                         "%s%s (%.0f blocks at its end, %.1f %% of the pool)",
			                         i > 0 ? ", " : "", kv_facts_text(request, "request_id"),
			                         kv_facts_number(request, "blocks"),
			                         share(kv_facts_number(request, "blocks"), pool));
	if (json_array_size(largest) > 0)
		say(finding, "evidence", "The largest requests at the peak, shared blocks included: %s.", names);
}

static void add_preemptions(const json_t *facts, json_t *finding)
{
	double preemptions = kv_facts_number(facts, "kvsim/preemptions");

	double swaps = kv_facts_number(facts, "kvsim/swap/preemptions_by_swap");

	if (swaps > 0)
		say(finding, "evidence",
		    "%.0f preemption%s went to host memory and back: copies took %.2f s of the steps.", swaps,
		    swaps == 1 ? "" : "s", kv_facts_number(facts, "kvsim/swap/copy_s"));
	preemptions -= swaps;
	if (preemptions > 0)
		say(finding, "evidence", "%.0f preemption%s threw away %.0f computed tokens.", preemptions,
		    preemptions == 1 ? "" : "s", kv_facts_number(facts, "kvsim/recomputed_tokens"));
}

/* A pool that is half empty at its peak while requests wait for blocks: admission holds room back for what may come. */
static void advise_allowance(const json_t *facts, json_t *finding)
{
	double peak = share(kv_facts_number(facts, "kvsim/peak_pinned_blocks"),
	                    kv_facts_number(facts, "kvsim/usable_blocks"));

	if (peak < 50)
		say(finding, "change",
		    "No more than %.1f %% of the pool was ever pinned: admission %s holds the rest back for what "
		    "requests may still ask for. A smaller --default-max-tokens, where the trace gives no max_tokens, or an "
		    "--admission that holds back less.",
		    peak, kv_facts_text(facts, "kvsim/policies/admission"));
}

static void advise_blocks(const json_t *facts, json_t *finding)
{
	double pinned = kv_facts_number(facts, "kvsim/mean_pinned_blocks");
	double unfilled = kv_facts_number(facts, "kvsim/mean_reserved_blocks") +
	                  kv_facts_number(facts, "kvsim/mean_waste_blocks");
	const json_t *classes = kv_facts_at(facts, "kvsim/length_classes");
	const json_t *heaviest = main_taker(classes, BLOCKS, true);
	char utilization[SETTING_ROOM];

	say(finding, "change", "More blocks: more or larger GPUs, a higher --gpu-memory-utilization%s, an fp8 KV cache "
	    "(--kv-cache-dtype), quantized weights.", setting_text(utilization, facts, "gpu_memory_utilization"));
	if (heaviest != NULL && json_array_size(classes) > 1)
		say(finding, "change",
		    "Fewer blocks a request: those of prompts of %s weigh most each (see the evidence); a smaller "
		    "--max-model-len, or a replica of their own, takes them out of the others' way.",
		    kv_facts_text(heaviest, "name"));
	if (share(unfilled, pinned) > 20)
		say(finding, "change",
		    "%.0f %% of the pinned slots are empty: --allocation paged, or a reservation nearer to the "
		    "true length (--default-max-tokens).",
		    share(unfilled, pinned));
	advise_allowance(facts, finding);
	say(finding, "change",
	    "Fewer requests at once: a lower arrival rate. A client-side cap (--max-concurrency) moves the "
	    "wait to the client, before sending, where TTFT does not count it; it does not end it.");
}

/* A queue for compute gets shorter with the cache only where hits save computing. */
static void advise_cache_for_compute(const json_t *facts, json_t *finding)
{
	double queried = kv_facts_number(facts, "kvsim/queried_tokens");
	double evicted = share(kv_facts_number(facts, "kvsim/miss_tokens/evicted"), queried);

	if (evicted >= 5)
		say(finding, "change",
		    "Waits for compute get shorter with more KV cache only through hits: %.1f %% of the prompt tokens "
		    "had been evicted and were computed again. Whether a larger pool keeps them, the next question says.",
		    evicted);
	else
		say(finding, "change", "Waits for compute do not get shorter with more KV cache.");
}

static void advise(const json_t *facts, json_t *finding, enum resource resource)
{
	char value[SETTING_ROOM];

	if (resource == BLOCKS) {
		advise_blocks(facts, finding);
	} else if (resource == SLOTS) {
		say(finding, "change",
		    "Raise --max-num-seqs%s: the pool still had %.1f %% free or reusable on average.",
		    setting_text(value, facts, "max_num_seqs"),
		    100 - share(kv_facts_number(facts, "kvsim/mean_pinned_blocks"),
		                kv_facts_number(facts, "kvsim/usable_blocks")));
		say(finding, "change", "Waits for slots do not get shorter with more KV cache.");
	} else if (resource == BUDGET) {
		say(finding, "change", "More compute: more or faster GPUs.");
		say(finding, "change",
		    "Larger steps: a larger --max-num-batched-tokens%s computes no faster, but spreads what each step "
		    "costs over more tokens; decoding requests wait longer for each step.",
		    setting_text(value, facts, "max_num_batched_tokens"));
		say(finding, "change", "Less to compute: more prefix hits (see the next question), shorter prompts.");
		advise_cache_for_compute(facts, finding);
	} else {
		say(finding, "change",
		    "Nothing has to change for this load; raise the rate (--time-scale, --request-rate) to find the "
		    "limit.");
	}
}

static void judge_stopped(const json_t *facts, json_t *finding)
{
	const char *id = kv_facts_text(facts, "kvsim/stalled_request");

	if (!json_is_true(kv_facts_at(facts, "kvsim/livelocked")) &&
	    kv_facts_number(facts, "kvsim/stalled_needs_blocks") <= kv_facts_number(facts, "kvsim/usable_blocks")) {
		give_verdict(
			finding,
			"The run stopped: request %s is never let in, though its blocks fit the pool. %.0f requests "
			"were left unfinished.",
			id != NULL ? id : "?", kv_facts_number(facts, "kvsim/unfinished"));
		say(finding, "change",
		    "Chunked prefill or a larger --max-num-batched-tokens, if its prompt is longer than that; else "
		    "another --admission policy.");
		return;
	}
	give_verdict(finding,
	             "The run stopped: request %s needs %.0f blocks and the pool has %.0f. %.0f requests were left "
	             "unfinished.",
	             id != NULL ? id : "?", kv_facts_number(facts, "kvsim/stalled_needs_blocks"),
	             kv_facts_number(facts, "kvsim/usable_blocks"), kv_facts_number(facts, "kvsim/unfinished"));
	say(finding, "change",
	    "A pool of at least that many blocks, a --max-model-len that keeps such requests out, or "
	    "engine.refuse_impossible, which refuses them at arrival.");
}

static json_t *find_exhausted(const json_t *facts)
{
	json_t *finding = new_finding("What was exhausted?");
	enum resource resource = binding_resource(facts);
	enum resource second = second_resource(facts, resource);
	char first_text[RESOURCE_ROOM], second_text[RESOURCE_ROOM];

	if (json_is_true(kv_facts_at(facts, "kvsim/stalled")))
		judge_stopped(facts, finding);
	else if (resource == RESOURCES)
		give_verdict(finding, "Nothing: the queue was empty for %.1f %% of the time.",
		             100 - bound_share(facts, BLOCKS) - bound_share(facts, SLOTS) - bound_share(facts, BUDGET));
	else if (second == RESOURCES)
		give_verdict(finding, "The queue waited for %s during %.1f %% of the time.",
		             resource_text(first_text, facts, resource), bound_share(facts, resource));
	else
		give_verdict(
			finding,
			"Two things: the queue waited for %s during %.1f %% of the time, and for %s during %.1f %%.",
			resource_text(first_text, facts, resource), bound_share(facts, resource),
			resource_text(second_text, facts, second), bound_share(facts, second));
	add_overload(facts, finding);
	add_queue(facts, finding);
	add_occupancy(facts, finding);
	add_all_takers(facts, finding, resource, second);
	add_largest(facts, finding);
	add_preemptions(facts, finding);
	advise(facts, finding, resource);
	if (second != RESOURCES)
		advise(facts, finding, second);
	return finding;
}

/* --- hits --------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *reason, *meaning, *change;
} misses[] = {
	{"never_seen", "nobody had sent them before", "No cache, however large, hits what nobody has sent before."},
	{"evicted", "they had been stored and evicted", NULL},  /* advise_evicted */
	{"expired", "their time to live had passed", "A longer time to live."},
	{"deleted", "they had been deleted", NULL},
	{"other_key", "they were stored under another salt or adapter",
	 "A wider scope of sharing (engine.cache_scope, fewer salts) where security allows it."},
	{"diverged", "the same segment stood behind a different beginning",
	 "Put what is stable first in the prompt (system text, documents) and what varies last."},
	{"partial_block", "they share a block with other tokens",
	 "A smaller --block-size, or segments padded to whole blocks."},
	{"recompute_rule", "the last block of a prompt is always computed", NULL},
	{"too_late", "another request was still computing them", "Send the first request of a group a little earlier."},
	{"window", "the sliding window before them was not kept", "engine.prefix_cache_retention_interval."},
	{"beyond_horizon", "not seen as far back as is remembered", NULL}
};

enum { MISSES = sizeof misses / sizeof misses[0] };

static double missed(const json_t *facts, int reason)
{
	char path[64];

	snprintf(path, sizeof path, "kvsim/miss_tokens/%s", misses[reason].reason);
	return kv_facts_number(facts, path);
}

static int main_miss(const json_t *facts)
{
	int most = 0;

	for (int i = 1; i < MISSES; i++)
		if (missed(facts, i) > missed(facts, most))
			most = i;
	return most;
}

static void add_example(const json_t *facts, json_t *finding, int reason)
{
	char path[64];
	const json_t *example;

	snprintf(path, sizeof path, "kvsim/miss_examples/%s", misses[reason].reason);
	example = kv_facts_at(facts, path);
	if (example == NULL)
		return;
	if (kv_facts_at(example, "new_segment") != NULL && strcmp(misses[reason].reason, "diverged") == 0)
		say(finding, "evidence",
		    "Most in request %s: %.0f tokens; its segment number %.0f, at token %.0f, is the first that "
		    "was not known there.",
		    kv_facts_text(example, "request_id"), kv_facts_number(example, "tokens"),
		    kv_facts_number(example, "new_segment") + 1, kv_facts_number(example, "new_token"));
	else
		say(finding, "evidence", "Most in request %s: %.0f of its %.0f prompt tokens.",
		    kv_facts_text(example, "request_id"), kv_facts_number(example, "tokens"),
		    kv_facts_number(example, "prompt_tokens"));
}

/* Seconds in which the pool evicts as many blocks as it has; 0 = it evicted nothing. */
static double turnover_s(const json_t *facts)
{
	double evicted = kv_facts_number(facts, "kvsim/evicted_blocks");

	return evicted > 0 ? kv_facts_number(facts, "kvsim/usable_blocks") *
	                             kv_facts_number(facts, "kvsim/simulated_s") / evicted :
	                     0;
}

/* How many times the pool would have to be to keep content until it was asked for again, for the share of requests that
 * the percentile of the time since eviction stands for: eviction comes a turnover after the last use, and later in
 * proportion to the pool. 0 = unknown. */
static double pool_factor(const json_t *facts, const char *percentile)
{
	double turnover = turnover_s(facts);

	if (turnover == 0 || kv_facts_number(facts, "kvsim/evicted_before_s/requests") == 0)
		return 0;
	return 1 + kv_facts_number(kv_facts_at(facts, "kvsim/evicted_before_s"), percentile) / turnover;
}

static void add_evicted(const json_t *facts, json_t *finding)
{
	char tenth[32], half[32], turnover[32];

	if (pool_factor(facts, "p50") == 0)
		return;
	say(finding, "evidence",
	    "A tenth of the requests that missed evicted content asked for it within %s of its eviction, half "
	    "within %s; the pool turns over once in %s (its blocks / blocks evicted a second).",
	    kv_duration_text(tenth, 1000 * kv_facts_number(facts, "kvsim/evicted_before_s/p10")),
	    kv_duration_text(half, 1000 * kv_facts_number(facts, "kvsim/evicted_before_s/p50")),
	    kv_duration_text(turnover, 1000 * turnover_s(facts)));
}

static void add_misses(const json_t *facts, json_t *finding, double queried)
{
	for (int i = 0; i < MISSES; i++) {
		double tokens = missed(facts, i);

		if (tokens == 0)
			continue;
		say(finding, "evidence", "%s: %.0f tokens, %.1f %% of all that were looked up: %s.", misses[i].reason,
		    tokens, share(tokens, queried), misses[i].meaning);
		if (strcmp(misses[i].reason, "evicted") == 0)
			add_evicted(facts, finding);
	}
	add_example(facts, finding, main_miss(facts));
}

/* A pool of a few times the size is something to ask for; one of dozens is not. */
static void advise_evicted(const json_t *facts, json_t *finding)
{
	const double in_reach = 4;
	double tenth = pool_factor(facts, "p10"), half = pool_factor(facts, "p50");

	if (half == 0)
		say(finding, "change", "evicted: A larger pool, or another --eviction policy, keeps them longer.");
	else if (half <= in_reach)
		say(finding, "change",
		    "evicted: A larger pool keeps them longer, about %.1f times this one long enough for half of these "
		    "requests; another --eviction policy may choose better.",
		    half);
	else if (tenth <= in_reach)
		say(finding, "change",
		    "evicted: A larger pool helps few: about %.1f times this one keeps content long enough for a tenth of "
		    "these requests, %.0f times for half. Another --eviction policy may choose better.",
		    tenth, half);
	else
		say(finding, "change",
		    "evicted: No pool in reach helps: about %.0f times this one would keep content long enough for a tenth "
		    "of these requests, %.0f times for half.",
		    tenth, half);
	if (half > in_reach && is_overloaded(facts))
		say(finding, "change",
		    "evicted: The queue itself delays repeats; served in time, the same content is asked for sooner.");
}

static void advise_misses(const json_t *facts, json_t *finding, double queried, double hit)
{
	double diverged = kv_facts_number(facts, "kvsim/miss_tokens/diverged");

	for (int i = 0; i < MISSES; i++)
		if (misses[i].change != NULL && share(missed(facts, i), queried) >= 1)
			say(finding, "change", "%s: %s", misses[i].reason, misses[i].change);
	if (share(kv_facts_number(facts, "kvsim/miss_tokens/evicted"), queried) >= 1)
		advise_evicted(facts, finding);
	if (diverged > 0)
		say(finding, "change", "With stable segments first the hit rate could have been up to %.1f %%.",
		    share(hit + diverged, queried));
}

static json_t *find_misses(const json_t *facts)
{
	json_t *finding = new_finding("Why were prompts not hit?");
	double queried = kv_facts_number(facts, "kvsim/queried_tokens");
	double hit = kv_facts_number(facts, "kvsim/hit_tokens");

	if (queried == 0) {
		give_verdict(finding, "Prefix caching was off, or nothing was admitted: no token was looked up.");
		return finding;
	}
	give_verdict(finding, "%.1f %% of prompt tokens were hit. %.1f %% of the missed ones: %s (%s).",
	             share(hit, queried), share(missed(facts, main_miss(facts)), queried - hit),
	             misses[main_miss(facts)].meaning, misses[main_miss(facts)].reason);
	if (json_is_false(kv_facts_at(facts, "kvsim/trace_has_prefixes")))
		say(finding, "evidence",
		    "The trace does not say what prompts share: every prompt counts as unique, and no hits are to "
		    "be expected.");
	add_misses(facts, finding, queried);
	advise_misses(facts, finding, queried, hit);
	return finding;
}

/* --- first tokens ------------------------------------------------------------------------------------------------- */

static const struct {
	const char *key, *what;
} parts[] = {
	{"retrieval", "retrieval of documents"},
	{"frontend", "the front end"},
	{"queue_blocks", "the queue, for KV cache blocks"},
	{"queue_sequence_slots", "the queue, for sequence slots"},
	{"queue_token_budget", "the queue, for compute (the token budget)"},
	{"prefill_own", "computing its own prompt"},
	{"prefill_others", "others' work in the same steps"},
	{"preempted", "being preempted"}
};

enum { PARTS = sizeof parts / sizeof parts[0] };

static double part_ms(const json_t *parts_ms, int part)
{
	return kv_facts_number(parts_ms, parts[part].key);
}

static int main_part(const json_t *parts_ms)
{
	int most = 0;

	for (int i = 1; i < PARTS; i++)
		if (part_ms(parts_ms, i) > part_ms(parts_ms, most))
			most = i;
	return most;
}

static int second_part(const json_t *parts_ms, int most)
{
	int second = most == 0;

	for (int i = 0; i < PARTS; i++)
		if (i != most && part_ms(parts_ms, i) > part_ms(parts_ms, second))
			second = i;
	return second;
}

static void add_band(json_t *finding, const json_t *band)
{
	const json_t *ms = kv_facts_at(band, "mean_ms");
	char line[512], text[32];
	double total = 0;
	size_t used;

	for (int i = 0; i < PARTS; i++)
		total += part_ms(ms, i);
	used = (size_t)snprintf(line, sizeof line, "%s (%.0f requests): %s on average:", kv_facts_text(band, "band"),
	                        kv_facts_number(band, "requests"), kv_duration_text(text, total));
	for (int i = 0; i < PARTS; i++)
		if (share(part_ms(ms, i), total) >= 1 && used < sizeof line)
			used += (size_t)snprintf(line + used, sizeof line - used, " %s %s (%.0f %%);", parts[i].key,
			                         kv_duration_text(text, part_ms(ms, i)), share(part_ms(ms, i), total));
	line[strlen(line) - 1] = '.';
	say(finding, "evidence", "%s", line);
}

static void add_bands(const json_t *facts, json_t *finding)
{
	const json_t *band;
	size_t i;

	json_array_foreach(kv_facts_at(facts, "kvsim/ttft_bands"), i, band)
		if (kv_facts_number(band, "requests") > 0)
			add_band(finding, band);
}

/* Said once, for all shares below it. */
static void add_queue_rule(json_t *finding, const json_t *ms)
{
	if (kv_facts_number(ms, "queue_blocks") + kv_facts_number(ms, "queue_sequence_slots") +
	    kv_facts_number(ms, "queue_token_budget") > 0)
		say(finding, "evidence",
		    "Time in the queue is charged to what the head of the queue lacked at each moment, for all behind "
		    "it as well: it says what held the queue up, not what each request needed.");
}

static void add_worst(const json_t *facts, json_t *finding)
{
	const json_t *request;
	size_t i;

	json_array_foreach(kv_facts_at(facts, "kvsim/worst_ttft"), i, request) {
		const json_t *ms = kv_facts_at(request, "ms");
		int most = main_part(ms);
		char text[32];

		say(finding, "evidence", "%zu. %s: %s, %.0f prompt tokens, %.0f %% of it in %s.", i + 1,
		    kv_facts_text(request, "request_id"), kv_duration_text(text, kv_facts_number(request, "ttft_ms")),
		    kv_facts_number(request, "prompt_tokens"),
		    share(part_ms(ms, most), kv_facts_number(request, "ttft_ms")), parts[most].what);
	}
}

static bool is_queue_for_memory_or_compute(const char *part)
{
	return strcmp(part, "queue_blocks") == 0 || strcmp(part, "queue_token_budget") == 0;
}

static void advise_part(json_t *finding, const char *part)
{
	if (is_queue_for_memory_or_compute(part))
		say(finding, "change", "Waiting for %s: what helps stands under what was exhausted.",
		    strcmp(part, "queue_blocks") == 0 ? "blocks" : "compute");
	else if (strcmp(part, "queue_sequence_slots") == 0)
		say(finding, "change",
		    "Waiting for sequence slots: raise --max-num-seqs. More KV cache would not shorten it.");
	else if (strcmp(part, "prefill_own") == 0)
		say(finding, "change",
		    "Computing the prompt itself dominates: more or faster GPUs, more prefix hits, shorter prompts.");
	else if (strcmp(part, "prefill_others") == 0)
		say(finding, "change",
		    "Prefills share their steps with others: --long-prefill-token-threshold, a smaller "
		    "--max-num-batched-tokens, or replicas of their own for long prompts.");
	else if (strcmp(part, "preempted") == 0)
		say(finding, "change",
		    "Preemptions dominate: admit less (--watermark, --admission no-evict) or add blocks.");
	else
		say(finding, "change", "The time lies before the engine: %s.", part);
}

static void advise_parts(json_t *finding, const char *first, const char *second)
{
	if (second != NULL && is_queue_for_memory_or_compute(first) && is_queue_for_memory_or_compute(second)) {
		say(finding, "change",
		    "Waiting for blocks and for compute: what helps stands under what was exhausted.");
		return;
	}
	advise_part(finding, first);
	if (second != NULL)
		advise_part(finding, second);
}

static json_t *find_late_tokens(const json_t *facts)
{
	json_t *finding = new_finding("Why did first tokens come late?");
	const json_t *all = json_array_get(kv_facts_at(facts, "kvsim/ttft_bands"), 0);
	const json_t *ms = kv_facts_at(all, "mean_ms");
	double mean = kv_facts_number(facts, "mean_ttft_ms");
	double wait = kv_facts_number(facts, "kvsim/ttft_parts/client_wait/mean_ms");
	char average[32], tail[32], rest[128] = "";
	int most, second;

	if (kv_facts_number(all, "requests") == 0) {
		give_verdict(finding, "No request got a first token.");
		return finding;
	}
	most = main_part(ms);
	second = second_part(ms, most);
	if (share(part_ms(ms, second), mean) >= 20)
		snprintf(rest, sizeof rest, ", %.0f %% %s", share(part_ms(ms, second), mean), parts[second].what);
	give_verdict(finding, "First tokens took %s on average and %s at P99; %.0f %% of the mean is %s%s.",
	             kv_duration_text(average, mean),
	             kv_duration_text(tail, kv_facts_number(facts, "kvsim/p99_ttft_ms")),
	             share(part_ms(ms, most), mean), parts[most].what, rest);
	if (wait > 0)
		say(finding, "evidence",
		    "Before sending, clients waited %s on average for their own concurrency cap; that is not part "
		    "of TTFT.",
		    kv_duration_text(average, wait));
	add_queue_rule(finding, ms);
	add_bands(facts, finding);
	add_worst(facts, finding);
	advise_parts(finding, parts[most].key, rest[0] != '\0' ? parts[second].key : NULL);
	return finding;
}

void kv_explain_add(json_t *facts)
{
	json_t *kvsim = json_object_get(facts, "kvsim");

	if (json_object_get(kvsim, "ttft_bands") == NULL)
		return;
	json_object_set_new(kvsim, "what_to_look_at",
	                    json_pack("[ooo]", find_exhausted(facts), find_misses(facts), find_late_tokens(facts)));
}

/* --- text --------------------------------------------------------------------------------------------------------- */

void kv_explain_write_hints(const json_t *facts, struct kv_output *out)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(kv_facts_at(facts, "kvsim/what_to_look_at"), i, finding)
		kv_output_printf(out, "%s %s\n", kv_facts_text(finding, "topic"), kv_facts_text(finding, "verdict"));
}

static void write_list(const json_t *list, const char *title, struct kv_output *out)
{
	const json_t *line;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	kv_output_printf(out, "\n%s\n", title);
	json_array_foreach(list, i, line)
		kv_output_printf(out, "  - %s\n", json_string_value(line));
}

void kv_explain_write(const json_t *facts, struct kv_output *out)
{
	const json_t *finding;
	size_t i;

	json_array_foreach(kv_facts_at(facts, "kvsim/what_to_look_at"), i, finding) {
		kv_output_printf(out, "%s%s\n%s\n", i > 0 ? "\n" : "", kv_facts_text(finding, "topic"),
		                 kv_facts_text(finding, "verdict"));
		write_list(kv_facts_at(finding, "evidence"), "Evidence", out);
		write_list(kv_facts_at(finding, "change"), "What would change it", out);
	}
}
