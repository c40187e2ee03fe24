#include "config.h"

#include "results/explain.h"

#include "results/explain_questions.h"
#include "results/facts.h"

void kv_explain_add(json_t *facts)
{
	json_t *kvsim = json_object_get(facts, "kvsim");

	if (json_object_get(kvsim, "ttft_bands") == NULL)
		return;
	json_object_set_new(kvsim, "what_to_look_at",
	                    json_pack("[o*ooo]", kv_explain_unanswered(facts), kv_explain_exhausted(facts),
	                              kv_explain_misses(facts), kv_explain_first_tokens(facts)));
}

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
