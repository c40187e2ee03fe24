#include "config.h"

#include "results/explain_questions.h"

#include <stdio.h>
#include <string.h>

#include "results/duration.h"
#include "results/facts.h"

static const struct {
	const char *reason, *meaning, *change;
} misses[] = {
	{"never_seen", "nobody had sent them before", NULL},  /* advise_never_seen */
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

/* Without prefix identity each prompt counts as unique: "never seen" is an assumption then, and no finding. */
static bool says_what_is_shared(const json_t *facts)
{
	return !json_is_false(kv_facts_at(facts, "kvsim/trace_has_prefixes"));
}

static const char *meaning_of(const json_t *facts, int reason)
{
	if (strcmp(misses[reason].reason, "never_seen") == 0 && !says_what_is_shared(facts))
		return "counted as unique, as the trace does not say what prompts share";
	return misses[reason].meaning;
}

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
		kv_finding_evidence(finding,
		                    "Most in request %s: %.0f tokens; its segment number %.0f, at token %.0f, is the "
		                    "first that was not known there.",
		                    kv_facts_text(example, "request_id"), kv_facts_number(example, "tokens"),
		                    kv_facts_number(example, "new_segment") + 1, kv_facts_number(example, "new_token"));
	else
		kv_finding_evidence(finding, "Most in request %s: %.0f of its %.0f prompt tokens.",
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
	kv_finding_evidence(finding,
	                    "A tenth of the requests that missed evicted content asked for it within %s of its "
	                    "eviction, half within %s; the pool turns over once in %s (its blocks / blocks evicted a "
	                    "second).",
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
		kv_finding_evidence(finding, "%s: %.0f tokens, %.1f %% of all that were looked up: %s.",
		                    misses[i].reason, tokens, kv_percent_of(tokens, queried), meaning_of(facts, i));
		if (strcmp(misses[i].reason, "evicted") == 0)
			add_evicted(facts, finding);
	}
	add_example(facts, finding, main_miss(facts));
}

static void advise_never_seen(const json_t *facts, json_t *finding)
{
	if (says_what_is_shared(facts))
		kv_finding_advice(finding, "never_seen: No cache, however large, hits what nobody has sent before.");
	else
		kv_finding_advice(finding, "never_seen: Whether these would be hit cannot be told from this trace; one whose "
		                           "format carries what prompts share (kvsim list formats) tells.");
}

/* A pool of a few times the size is something to ask for; one of dozens is not. */
static void advise_evicted(const json_t *facts, json_t *finding)
{
	const double in_reach = 4;
	double tenth = pool_factor(facts, "p10"), half = pool_factor(facts, "p50");

	if (half == 0)
		kv_finding_advice(finding, "evicted: A larger pool, or another --eviction policy, keeps them longer.");
	else if (half <= in_reach)
		kv_finding_advice(finding,
		                  "evicted: A larger pool keeps them longer, about %.1f times this one long enough for "
		                  "half of these requests; another --eviction policy may choose better.",
		                  half);
	else if (tenth <= in_reach)
		kv_finding_advice(finding,
		                  "evicted: A larger pool helps few: about %.1f times this one keeps content long "
		                  "enough for a tenth of these requests, %.0f times for half. Another --eviction "
		                  "policy may choose better.",
		                  tenth, half);
	else
		kv_finding_advice(finding,
		                  "evicted: No pool in reach helps: about %.0f times this one would keep content long "
		                  "enough for a tenth of these requests, %.0f times for half.",
		                  tenth, half);
	if (half > in_reach && kv_explain_is_overloaded(facts))
		kv_finding_advice(finding, "evicted: The queue itself delays repeats; served in time, the same content "
		                           "is asked for sooner.");
}

static void advise_misses(const json_t *facts, json_t *finding, double queried, double hit)
{
	double diverged = kv_facts_number(facts, "kvsim/miss_tokens/diverged");

	for (int i = 0; i < MISSES; i++)
		if (misses[i].change != NULL && kv_percent_of(missed(facts, i), queried) >= 1)
			kv_finding_advice(finding, "%s: %s", misses[i].reason, misses[i].change);
	if (kv_percent_of(kv_facts_number(facts, "kvsim/miss_tokens/never_seen"), queried) >= 1)
		advise_never_seen(facts, finding);
	if (kv_percent_of(kv_facts_number(facts, "kvsim/miss_tokens/evicted"), queried) >= 1)
		advise_evicted(facts, finding);
	if (diverged > 0)
		kv_finding_advice(finding, "With stable segments first the hit rate could have been up to %.1f %%.",
		                  kv_percent_of(hit + diverged, queried));
}

json_t *kv_explain_misses(const json_t *facts)
{
	json_t *finding = kv_finding_new("Why were prompts not hit?");
	double queried = kv_facts_number(facts, "kvsim/queried_tokens");
	double hit = kv_facts_number(facts, "kvsim/hit_tokens");

	if (queried == 0) {
		kv_finding_verdict(finding, "Prefix caching was off, or nothing was admitted: no token was looked up.");
		return finding;
	}
	kv_finding_verdict(finding, "%.1f %% of prompt tokens were hit. %.1f %% of the missed ones: %s (%s).",
	                   kv_percent_of(hit, queried), kv_percent_of(missed(facts, main_miss(facts)), queried - hit),
	                   meaning_of(facts, main_miss(facts)), misses[main_miss(facts)].reason);
	if (!says_what_is_shared(facts))
		kv_finding_extend_verdict(finding, "What a cache would hit of them cannot be told from this trace.");
	add_misses(facts, finding, queried);
	advise_misses(facts, finding, queried, hit);
	return finding;
}
