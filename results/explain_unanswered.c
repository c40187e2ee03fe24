#include "config.h"

#include "results/explain_questions.h"

#include <stdio.h>
#include <string.h>

#include "results/facts.h"

static const struct {
	const char *reason;  /* under kvsim/unanswered/reasons */
	const char *what, *change;
} losses[] = {
	{"too_long", "too long for max_model_len", "A larger --max-model-len, where the model allows it, or shorter prompts."},
	{"can_never_fit", "in need of more blocks than the pool has", "A larger pool, or a smaller --max-model-len."},
	{"queue_full", "refused by a full queue",
	 "A longer queue (--admission queue-limit) turns refusals into waits; what the queue waits for stands under what was "
	 "exhausted."},
	{"rate", "refused by the rate limit", "A higher limit (--admission rate-limit), or fewer requests."},
	{"deadline", "without a first token by the deadline",
	 "Later deadlines, or shorter waits: what the queue waits for stands under what was exhausted."},
	{"stalled", "left when the run stopped", NULL},
	{"after_refusal", "never sent, because the request before had failed",
	 "--go-on-after-refusal sends them all the same."}
};

enum { LOSSES = sizeof losses / sizeof losses[0] };

static double lost_for(const json_t *facts, int loss)
{
	char path[64];

	snprintf(path, sizeof path, "kvsim/unanswered/reasons/%s", losses[loss].reason);
	return kv_facts_number(facts, path);
}

static void add_limit(const json_t *facts, char *text, size_t size)
{
	snprintf(text, size, " (max_model_len is %.0f, the longest prompt has %.0f tokens)",
	         kv_facts_number(facts, "kvsim/max_model_len"),
	         kv_facts_number(facts, "kvsim/unanswered/longest_too_long_tokens"));
}

static void add_reasons(const json_t *facts, json_t *finding)
{
	for (int i = 0; i < LOSSES; i++) {
		double lost = lost_for(facts, i);
		char limit[96] = "";

		if (lost == 0)
			continue;
		if (strcmp(losses[i].reason, "too_long") == 0)
			add_limit(facts, limit, sizeof limit);
		kv_finding_extend_verdict(finding, "%.0f %s%s.", lost, losses[i].what, limit);
		if (losses[i].change != NULL)
			kv_finding_advice(finding, "%s: %s", losses[i].reason, losses[i].change);
	}
}

json_t *kv_explain_unanswered(const json_t *facts)
{
	double lost = kv_facts_number(facts, "kvsim/unanswered/requests");
	double all = kv_facts_number(facts, "kvsim/unanswered/of");
	double finished = kv_facts_number(facts, "completed");
	double cut = kv_facts_number(facts, "kvsim/reasons/cut");
	double sent_again = kv_facts_number(facts, "kvsim/sent_again");
	json_t *finding;

	if (lost == 0)
		return NULL;
	finding = kv_finding_new("Who got no answer?");
	kv_finding_verdict(finding, "%.0f of %.0f requests (%.1f %%).", lost, all, kv_percent_of(lost, all));
	add_reasons(facts, finding);
	if (finished > 0)
		kv_finding_extend_verdict(finding, "All latencies are of the %.0f that finished.", finished);
	else
		kv_finding_extend_verdict(finding, "No request finished, so there are no latencies.");
	if (sent_again > 0)
		kv_finding_evidence(finding,
		                    "%.0f sendings failed in all; after %.0f of them the client sent the request again.",
		                    kv_facts_number(facts, "failed") - cut, sent_again);
	if (cut > 0)
		kv_finding_evidence(finding,
		                    "%.0f more had no answer yet when the run ended: they are neither failed nor finished.",
		                    cut);
	return finding;
}
