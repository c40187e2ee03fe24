#include "config.h"

#include "results/explain_questions.h"

#include <stdio.h>
#include <string.h>

#include "results/duration.h"
#include "results/facts.h"

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
		if (kv_percent_of(part_ms(ms, i), total) >= 1 && used < sizeof line)
			used += (size_t)snprintf(line + used, sizeof line - used, " %s %s (%.0f %%);", parts[i].key,
			                         kv_duration_text(text, part_ms(ms, i)),
			                         kv_percent_of(part_ms(ms, i), total));
	line[strlen(line) - 1] = '.';
	kv_finding_evidence(finding, "%s", line);
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
		kv_finding_evidence(finding, "Time in the queue is charged to what the head of the queue lacked at "
		                             "each moment, for all behind it as well: it says what held the queue up, "
		                             "not what each request needed.");
}

static void add_worst(const json_t *facts, json_t *finding)
{
	const json_t *request;
	size_t i;

	json_array_foreach(kv_facts_at(facts, "kvsim/worst_ttft"), i, request) {
		const json_t *ms = kv_facts_at(request, "ms");
		int most = main_part(ms);
		char text[32];

		kv_finding_evidence(finding, "%zu. %s: %s, %.0f prompt tokens, %.0f %% of it in %s.", i + 1,
		                    kv_facts_text(request, "request_id"),
		                    kv_duration_text(text, kv_facts_number(request, "ttft_ms")),
		                    kv_facts_number(request, "prompt_tokens"),
		                    kv_percent_of(part_ms(ms, most), kv_facts_number(request, "ttft_ms")),
		                    parts[most].what);
	}
}

static bool is_queue_for_memory_or_compute(const char *part)
{
	return strcmp(part, "queue_blocks") == 0 || strcmp(part, "queue_token_budget") == 0;
}

static void advise_part(json_t *finding, const char *part)
{
	if (is_queue_for_memory_or_compute(part))
		kv_finding_advice(finding, "Waiting for %s: what helps stands under what was exhausted.",
		                  strcmp(part, "queue_blocks") == 0 ? "blocks" : "compute");
	else if (strcmp(part, "queue_sequence_slots") == 0)
		kv_finding_advice(finding, "Waiting for sequence slots: raise --max-num-seqs. More KV cache would not "
		                           "shorten it.");
	else if (strcmp(part, "prefill_own") == 0)
		kv_finding_advice(finding, "Computing the prompt itself dominates: more or faster GPUs, more prefix "
		                           "hits, shorter prompts.");
	else if (strcmp(part, "prefill_others") == 0)
		kv_finding_advice(finding, "Prefills share their steps with others: --long-prefill-token-threshold, a "
		                           "smaller --max-num-batched-tokens, or replicas of their own for long "
		                           "prompts.");
	else if (strcmp(part, "preempted") == 0)
		kv_finding_advice(finding, "Preemptions dominate: admit less (--watermark, --admission no-evict) or "
		                           "add blocks.");
	else
		kv_finding_advice(finding, "The time lies before the engine: %s.", part);
}

static void advise_parts(json_t *finding, const char *first, const char *second)
{
	if (second != NULL && is_queue_for_memory_or_compute(first) && is_queue_for_memory_or_compute(second)) {
		kv_finding_advice(finding, "Waiting for blocks and for compute: what helps stands under what was "
		                           "exhausted.");
		return;
	}
	advise_part(finding, first);
	if (second != NULL)
		advise_part(finding, second);
}

/* In the verdict where it is the longer part of what users wait for. */
static void add_client_wait(json_t *finding, double wait_ms, double ttft_ms)
{
	static const char format[] =
		"Before sending, clients waited %s on average for their own concurrency cap; that is not part of TTFT.";
	char text[32];

	if (wait_ms > ttft_ms)
		kv_finding_extend_verdict(finding, format, kv_duration_text(text, wait_ms));
	else if (wait_ms > 0)
		kv_finding_evidence(finding, format, kv_duration_text(text, wait_ms));
}

json_t *kv_explain_first_tokens(const json_t *facts)
{
	json_t *finding = kv_finding_new("Why did first tokens come late?");
	const json_t *all = json_array_get(kv_facts_at(facts, "kvsim/ttft_bands"), 0);
	const json_t *ms = kv_facts_at(all, "mean_ms");
	double mean = kv_facts_number(facts, "mean_ttft_ms");
	double wait = kv_facts_number(facts, "kvsim/ttft_parts/client_wait/mean_ms");
	char average[32], tail[32], rest[128] = "";
	int most, second;

	if (kv_facts_number(all, "requests") == 0) {
		kv_finding_verdict(finding, "No request got a first token.");
		return finding;
	}
	most = main_part(ms);
	second = second_part(ms, most);
	if (kv_percent_of(part_ms(ms, second), mean) >= 20)
		snprintf(rest, sizeof rest, ", %.0f %% %s", kv_percent_of(part_ms(ms, second), mean),
		         parts[second].what);
	kv_finding_verdict(finding, "First tokens took %s on average and %s at P99; %.0f %% of the mean is %s%s.",
	                   kv_duration_text(average, mean),
	                   kv_duration_text(tail, kv_facts_number(facts, "kvsim/p99_ttft_ms")),
	                   kv_percent_of(part_ms(ms, most), mean), parts[most].what, rest);
	add_client_wait(finding, wait, mean);
	add_queue_rule(finding, ms);
	add_bands(facts, finding);
	add_worst(facts, finding);
	advise_parts(finding, parts[most].key, rest[0] != '\0' ? parts[second].key : NULL);
	return finding;
}
