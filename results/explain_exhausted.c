#include "config.h"

#include "results/explain_questions.h"

#include <stdio.h>

#include "results/duration.h"
#include "results/facts.h"

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
	char value[KV_SETTING_ROOM];

	if (setting == NULL)
		return resources[resource].what;
	snprintf(text, RESOURCE_ROOM, "%s, %s%s,", resources[resource].what, setting,
	         kv_setting_text(value, facts, setting));
	return text;
}

static double bound_share(const json_t *facts, enum resource resource)
{
	char path[64];

	snprintf(path, sizeof path, "kvsim/queue_waits_for/%s", resources[resource].key);
	return 100 * kv_facts_number(facts, path);
}

/* In percent of the time. */
static const double negligible_wait = 1;

/* The one the queue waited for most of the time; RESOURCES if the queue was all but always empty. */
static enum resource binding_resource(const json_t *facts)
{
	enum resource most = BLOCKS;

	for (int i = 1; i < RESOURCES; i++)
		if (bound_share(facts, i) > bound_share(facts, most))
			most = i;
	return bound_share(facts, most) < negligible_wait ? RESOURCES : most;
}

/* Another one that counts as well: waited for at least half as long, or for a good part of the time. RESOURCES if there
 * is none. */
static enum resource second_resource(const json_t *facts, enum resource first)
{
	const double good_part = 10;
	enum resource most = RESOURCES;

	for (int i = 0; i < RESOURCES && first != RESOURCES; i++)
		if (i != (int)first &&
		    (2 * bound_share(facts, i) >= bound_share(facts, first) || bound_share(facts, i) >= good_part) &&
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

	kv_finding_evidence(finding,
	                    "Live requests pinned %.1f %% of the pool of %.0f blocks on average and %.1f %% at the "
	                    "peak, first reached at %.1f s.",
	                    kv_percent_of(pinned, pool), pool,
	                    kv_percent_of(kv_facts_number(facts, "kvsim/peak_pinned_blocks"), pool),
	                    kv_facts_number(facts, "kvsim/peak_pinned_s"));
	kv_finding_evidence(finding,
	                    "Of the pinned slots, %.1f %% were reserved and not yet filled, %.1f %% were allocation "
	                    "waste.",
	                    kv_percent_of(reserved, pinned), kv_percent_of(waste, pinned));
	kv_finding_evidence(finding,
	                    "The rest of the pool: %.1f %% of it was cached for reuse and %.1f %% free, on average.",
	                    kv_percent_of(kv_facts_number(facts, "kvsim/mean_cached_blocks"), pool),
	                    kv_percent_of(kv_facts_number(facts, "kvsim/mean_free_blocks"), pool));
}

/* In percent of the time. */
static double queue_share(const json_t *facts)
{
	return bound_share(facts, BLOCKS) + bound_share(facts, SLOTS) + bound_share(facts, BUDGET);
}

static double client_wait_ms(const json_t *facts)
{
	return kv_facts_number(facts, "kvsim/ttft_parts/client_wait/mean_ms");
}

/* Requests waited for the client's own cap for a share of their time that counts. */
static bool is_held_back(const json_t *facts)
{
	const double negligible = 1;
	double wait = client_wait_ms(facts);

	return kv_percent_of(wait, wait + kv_facts_number(facts, "mean_e2el_ms")) >= negligible;
}

/* From the end of the warm-up on. */
static double measured_s(const json_t *facts, const char *until)
{
	return kv_facts_number(facts, until) - kv_facts_number(facts, "kvsim/warmup_s");
}

/* Requests that a shorter wait would have served; those that fit nowhere are no load. */
static double lost_to_load(const json_t *facts)
{
	return kv_facts_number(facts, "kvsim/unanswered/reasons/queue_full") +
	       kv_facts_number(facts, "kvsim/unanswered/reasons/rate") +
	       kv_facts_number(facts, "kvsim/unanswered/reasons/deadline");
}

/* Requests, each once however often it was sent, by the time that they came in and by the time that serving took; where
 * all got an answer the quotient of the two is that of the times. */
static double offered_rate(const json_t *facts)
{
	return (kv_facts_number(facts, "completed") + lost_to_load(facts)) / measured_s(facts, "kvsim/last_arrival_s");
}

static double served_rate(const json_t *facts)
{
	return kv_facts_number(facts, "completed") / measured_s(facts, "kvsim/simulated_s");
}

/* Offered work / what was served in the same time; 0 = unknown. */
static double load_factor(const json_t *facts)
{
	if (measured_s(facts, "kvsim/last_arrival_s") <= 0)
		return 0;
	if (lost_to_load(facts) == 0)
		return measured_s(facts, "kvsim/simulated_s") / measured_s(facts, "kvsim/last_arrival_s");
	return kv_facts_number(facts, "completed") > 0 ? offered_rate(facts) / served_rate(facts) : 0;
}

bool kv_explain_is_overloaded(const json_t *facts)
{
	bool waited = queue_share(facts) >= 50 || kv_facts_number(facts, "kvsim/mean_waiting/client") >= 1;

	return load_factor(facts) > 1.2 && waited && !json_is_true(kv_facts_at(facts, "kvsim/stalled")) &&
	       !json_is_true(kv_facts_at(facts, "kvsim/partial"));
}

static void add_overload(const json_t *facts, json_t *finding)
{
	const char *under = is_held_back(facts) ? " under this cap" : "";
	char arrivals[32], serving[32];

	if (!kv_explain_is_overloaded(facts))
		return;
	if (lost_to_load(facts) > 0)
		kv_finding_extend_verdict(finding,
		                          "Overloaded: %.3g requests a second came in and %.3g were served, so the load "
		                          "is about %.1f times what this deployment serves%s.",
		                          offered_rate(facts), served_rate(facts), load_factor(facts), under);
	else
		kv_finding_extend_verdict(finding,
		                          "Overloaded: %s of arrivals took %s to serve, so the load is about %.1f "
		                          "times what this deployment serves%s.",
		                          kv_duration_text(arrivals, 1000 * measured_s(facts, "kvsim/last_arrival_s")),
		                          kv_duration_text(serving, 1000 * measured_s(facts, "kvsim/simulated_s")),
		                          load_factor(facts), under);
}

static void add_queue(const json_t *facts, json_t *finding)
{
	kv_finding_evidence(finding,
	                    "The queue waited for KV cache blocks during %.1f %% of the time, for sequence slots %.1f "
	                    "%%, for room in the token budget of a step %.1f %%. %.1f requests ran on average, %.0f at "
	                    "most; %.0f were in flight at most.",
	                    bound_share(facts, BLOCKS), bound_share(facts, SLOTS), bound_share(facts, BUDGET),
	                    kv_facts_number(facts, "kvsim/mean_running"), kv_facts_number(facts, "kvsim/peak_running"),
	                    kv_facts_number(facts, "max_concurrent_requests"));
}

/* What a class or tenant took of what was short. */
static double taken(const json_t *crowd, enum resource resource)
{
	if (resource == BUDGET)
		return kv_facts_number(crowd, "computed_tokens");
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
		         kv_percent_of(taken(first, short_of[1]), total_of(crowds, short_of[1])),
		         taken_text(short_of[1]));
	kv_finding_evidence(finding, "Most went to %s %s: %.0f %% of all %s%s, with %.0f %% of the requests.", label,
	                    kv_facts_text(first, "name"),
	                    kv_percent_of(taken(first, short_of[0]), total_of(crowds, short_of[0])),
	                    taken_text(short_of[0]), also,
	                    kv_percent_of(kv_facts_number(first, "requests"), requests_of(crowds)));
	if (second != NULL && second != first)
		kv_finding_evidence(finding, "Most %s went to %s %s: %.0f %%, with %.0f %% of the requests.",
		                    taken_text(short_of[1]), label, kv_facts_text(second, "name"),
		                    kv_percent_of(taken(second, short_of[1]), total_of(crowds, short_of[1])),
		                    kv_percent_of(kv_facts_number(second, "requests"), requests_of(crowds)));
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
	kv_finding_evidence(finding,
	                    "A request weighed most among prompts of %s: %.1f times the block-seconds of the mean "
	                    "request; %.0f %% of the requests, %.0f %% of all block-seconds.",
	                    kv_facts_text(heaviest, "name"), each / mean,
	                    kv_percent_of(kv_facts_number(heaviest, "requests"), requests_of(classes)),
	                    kv_percent_of(taken(heaviest, BLOCKS), total_of(classes, BLOCKS)));
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
			                         kv_percent_of(kv_facts_number(request, "blocks"), pool));
	if (json_array_size(largest) > 0)
		kv_finding_evidence(finding, "The largest requests at the peak, shared blocks included: %s.", names);
}

static void add_preemptions(const json_t *facts, json_t *finding)
{
	double preemptions = kv_facts_number(facts, "kvsim/preemptions");
	double swaps = kv_facts_number(facts, "kvsim/swap/preemptions_by_swap");

	if (swaps > 0)
		kv_finding_evidence(finding,
		                    "%.0f preemption%s went to host memory and back: copies took %.2f s of the steps.",
		                    swaps, swaps == 1 ? "" : "s", kv_facts_number(facts, "kvsim/swap/copy_s"));
	preemptions -= swaps;
	if (preemptions > 0)
		kv_finding_evidence(finding, "%.0f preemption%s threw away %.0f computed tokens.", preemptions,
		                    preemptions == 1 ? "" : "s", kv_facts_number(facts, "kvsim/recomputed_tokens"));
}

/* A pool that is half empty at its peak while requests wait for blocks: admission holds room back for what may come. */
static void advise_allowance(const json_t *facts, json_t *finding)
{
	double peak = kv_percent_of(kv_facts_number(facts, "kvsim/peak_pinned_blocks"),
	                            kv_facts_number(facts, "kvsim/usable_blocks"));

	if (peak < 50)
		kv_finding_advice(finding,
		                  "No more than %.1f %% of the pool was ever pinned: admission %s holds the rest back "
		                  "for what requests may still ask for. A smaller --default-max-tokens, where the "
		                  "trace gives no max_tokens, or an --admission that holds back less.",
		                  peak, kv_facts_text(facts, "kvsim/policies/admission"));
}

static void advise_blocks(const json_t *facts, json_t *finding)
{
	double pinned = kv_facts_number(facts, "kvsim/mean_pinned_blocks");
	double unfilled = kv_facts_number(facts, "kvsim/mean_reserved_blocks") +
	                  kv_facts_number(facts, "kvsim/mean_waste_blocks");
	const json_t *classes = kv_facts_at(facts, "kvsim/length_classes");
	const json_t *heaviest = main_taker(classes, BLOCKS, true);
	char utilization[KV_SETTING_ROOM];

	kv_finding_advice(finding,
	                  "More blocks: more or larger GPUs, a higher --gpu-memory-utilization%s, an fp8 KV cache "
	                  "(--kv-cache-dtype), quantized weights.",
	                  kv_setting_text(utilization, facts, "gpu_memory_utilization"));
	if (heaviest != NULL && json_array_size(classes) > 1)
		kv_finding_advice(finding,
		                  "Fewer blocks a request: those of prompts of %s weigh most each (see the evidence); "
		                  "a smaller --max-model-len, or a replica of their own, takes them out of the others' "
		                  "way.",
		                  kv_facts_text(heaviest, "name"));
	if (kv_percent_of(unfilled, pinned) > 20)
		kv_finding_advice(finding,
		                  "%.0f %% of the pinned slots are empty: --allocation paged, or a reservation nearer "
		                  "to the true length (--default-max-tokens).",
		                  kv_percent_of(unfilled, pinned));
	advise_allowance(facts, finding);
	kv_finding_advice(finding, "Fewer requests at once: a lower arrival rate. A client-side cap "
	                           "(--max-concurrency) moves the wait to the client, before sending, where TTFT does "
	                           "not count it; it does not end it.");
}

/* What more KV cache would do for a queue that waited for something else most of the time: whatever part of it was for
 * blocks gets shorter. */
static void advise_cache_for_others(const json_t *facts, json_t *finding, const char *wait)
{
	if (bound_share(facts, BLOCKS) >= negligible_wait)
		kv_finding_advice(finding,
		                  "More KV cache shortens the waits for blocks, during %.1f %% of the time, not those for "
		                  "%s.",
		                  bound_share(facts, BLOCKS), wait);
	else
		kv_finding_advice(finding, "Waits for %s do not get shorter with more KV cache.", wait);
}

/* A queue for compute gets shorter with the cache only where hits save computing. */
static void advise_cache_for_compute(const json_t *facts, json_t *finding)
{
	double queried = kv_facts_number(facts, "kvsim/queried_tokens");
	double evicted = kv_percent_of(kv_facts_number(facts, "kvsim/miss_tokens/evicted"), queried);

	if (evicted >= 5)
		kv_finding_advice(finding,
		                  "Waits for compute get shorter with more KV cache only through hits: %.1f %% of the "
		                  "prompt tokens had been evicted and were computed again. Whether a larger pool keeps "
		                  "them, the next question says.",
		                  evicted);
	else
		advise_cache_for_others(facts, finding, "compute");
}

/* Nobody waited in the queue. */
static void advise_idle(const json_t *facts, json_t *finding)
{
	if (kv_facts_number(facts, "kvsim/unanswered/requests") > 0)
		kv_finding_advice(finding, "The engine had room: what kept requests from it stands under who got no "
		                           "answer.");
	else
		kv_finding_advice(finding, "Nothing has to change for this load; raise the rate (--time-scale, "
		                           "--request-rate) to find the limit.");
}

static void advise_cap(const json_t *facts, json_t *finding)
{
	kv_finding_advice(finding,
	                  "A higher --max-concurrency (here %.0f), as far as the engine has room: its queue was empty for "
	                  "%.1f %% of the time, and live requests pinned %.1f %% of the pool on average. What it has no "
	                  "room for waits in its queue then, where TTFT counts it.",
	                  kv_facts_number(facts, "max_concurrency"), 100 - queue_share(facts),
	                  kv_percent_of(kv_facts_number(facts, "kvsim/mean_pinned_blocks"),
	                                kv_facts_number(facts, "kvsim/usable_blocks")));
	kv_finding_advice(finding, "A lower arrival rate, or shorter requests: each holds a place under the cap until its "
	                           "last token.");
}

static void advise(const json_t *facts, json_t *finding, enum resource resource)
{
	char value[KV_SETTING_ROOM];

	if (resource == BLOCKS) {
		advise_blocks(facts, finding);
	} else if (resource == SLOTS) {
		kv_finding_advice(finding,
		                  "Raise --max-num-seqs%s: the pool still had %.1f %% free or reusable on average.",
		                  kv_setting_text(value, facts, "max_num_seqs"),
		                  100 - kv_percent_of(kv_facts_number(facts, "kvsim/mean_pinned_blocks"),
		                                      kv_facts_number(facts, "kvsim/usable_blocks")));
		advise_cache_for_others(facts, finding, "slots");
	} else if (resource == BUDGET) {
		kv_finding_advice(finding, "More compute: more or faster GPUs.");
		kv_finding_advice(finding,
		                  "Larger steps: a larger --max-num-batched-tokens%s computes no faster, but spreads "
		                  "what each step costs over more tokens; decoding requests wait longer for each step.",
		                  kv_setting_text(value, facts, "max_num_batched_tokens"));
		kv_finding_advice(finding, "Less to compute: more prefix hits (see the next question), shorter "
		                           "prompts.");
		advise_cache_for_compute(facts, finding);
	} else {
		advise_idle(facts, finding);
	}
}

static void advise_both(const json_t *facts, json_t *finding, enum resource first, enum resource second)
{
	advise(facts, finding, first);
	if (second != RESOURCES)
		advise(facts, finding, second);
}

static void judge_stopped(const json_t *facts, json_t *finding)
{
	const char *id = kv_facts_text(facts, "kvsim/stalled_request");

	if (!json_is_true(kv_facts_at(facts, "kvsim/livelocked")) &&
	    kv_facts_number(facts, "kvsim/stalled_needs_blocks") <= kv_facts_number(facts, "kvsim/usable_blocks")) {
		kv_finding_verdict(finding,
		                   "The run stopped: request %s is never let in, though its blocks fit the pool. %.0f "
		                   "requests were left unfinished.",
		                   id != NULL ? id : "?", kv_facts_number(facts, "kvsim/unfinished"));
		kv_finding_advice(finding, "Chunked prefill or a larger --max-num-batched-tokens, if its prompt is "
		                           "longer than that; else another --admission policy.");
		return;
	}
	kv_finding_verdict(finding,
	                   "The run stopped: request %s needs %.0f blocks and the pool has %.0f. %.0f requests were "
	                   "left unfinished.",
	                   id != NULL ? id : "?", kv_facts_number(facts, "kvsim/stalled_needs_blocks"),
	                   kv_facts_number(facts, "kvsim/usable_blocks"), kv_facts_number(facts, "kvsim/unfinished"));
	kv_finding_advice(finding, "A pool of at least that many blocks, a --max-model-len that keeps such requests "
	                           "out, or engine.refuse_impossible, which refuses them at arrival.");
}

static void judge_cap(const json_t *facts, json_t *finding)
{
	char wait[32];

	kv_finding_verdict(finding,
	                   "The client's own cap, --max-concurrency (here %.0f): requests waited for it %s on average "
	                   "before they were sent, where TTFT does not count it.",
	                   kv_facts_number(facts, "max_concurrency"), kv_duration_text(wait, client_wait_ms(facts)));
}

static const char *idle_text(const json_t *facts)
{
	if (is_held_back(facts))
		return "The";
	return kv_facts_number(facts, "kvsim/unanswered/requests") > 0 ? "Nothing that requests wait for: the" : "Nothing: the";
}

static void judge_queue(const json_t *facts, json_t *finding, enum resource first, enum resource second)
{
	char first_text[RESOURCE_ROOM], second_text[RESOURCE_ROOM];

	if (first == RESOURCES)
		kv_finding_extend_verdict(finding, "%s queue was empty for %.1f %% of the time.", idle_text(facts),
		                          100 - queue_share(facts));
	else if (second == RESOURCES)
		kv_finding_extend_verdict(finding, "The queue waited for %s during %.1f %% of the time.",
		                          resource_text(first_text, facts, first), bound_share(facts, first));
	else
		kv_finding_extend_verdict(finding,
		                          "Two things: the queue waited for %s during %.1f %% of the time, and for %s "
		                          "during %.1f %%.",
		                          resource_text(first_text, facts, first), bound_share(facts, first),
		                          resource_text(second_text, facts, second), bound_share(facts, second));
}

static void judge(const json_t *facts, json_t *finding, enum resource first, enum resource second)
{
	if (is_held_back(facts))
		judge_cap(facts, finding);
	judge_queue(facts, finding, first, second);
}

json_t *kv_explain_exhausted(const json_t *facts)
{
	const double busy = 10;
	json_t *finding = kv_finding_new("What was exhausted?");
	enum resource resource = binding_resource(facts);
	enum resource second = second_resource(facts, resource);
	bool held_back = is_held_back(facts);

	if (json_is_true(kv_facts_at(facts, "kvsim/stalled")))
		judge_stopped(facts, finding);
	else
		judge(facts, finding, resource, second);
	add_overload(facts, finding);
	add_queue(facts, finding);
	add_occupancy(facts, finding);
	add_all_takers(facts, finding, resource, second);
	add_largest(facts, finding);
	add_preemptions(facts, finding);
	if (held_back)
		advise_cap(facts, finding);
	if (!held_back || queue_share(facts) >= busy)
		advise_both(facts, finding, resource, second);
	return finding;
}
