#include "config.h"

#include "sim/cli/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/memory.h"
#include "sim/base/units.h"

#define GIB 0x1p30

enum { CARD_NAME = 64, CHANGE_TEXT = 160, RANKS_MAX = 16 };

/* The answer for one card. */
struct card {
	char name[CARD_NAME];
	uint64_t gpus, memory, users;
	int64_t kv_bytes;
	bool starts, suffices;
	char change[CHANGE_TEXT];  /* what would make it suffice; "" = it does, or nothing that was tried */
};

static uint64_t users_at(const struct kv_size_report *r, const struct kv_size_question *q,
                         const struct kv_size_answer *a)
{
	return a->starts ? kv_size_requests_at_once(q, a, kv_size_report_length(r), r->arguments.data_parallel) : 0;
}

static uint64_t users_wanted(const struct kv_size_report *r)
{
	return r->arguments.sequences ? r->arguments.sequences : 1;
}

static bool suffices(const struct kv_size_report *r, const struct kv_size_question *q, uint64_t *users)
{
	struct kv_size_answer answer;
	struct kv_error ignored;

	if (kv_size(q, &answer, &ignored) != 0)
		return false;
	*users = users_at(r, q, &answer);
	return *users >= users_wanted(r);
}

static void add_change(struct card *card, const char *what, uint64_t users)
{
	size_t used = strlen(card->change);

	snprintf(card->change + used, sizeof card->change - used, "%s%s (%" PRIu64 ")", used ? ", or " : "", what,
	         users);
}

static void try_narrow_cache(const struct kv_size_report *r, struct card *card)
{
	struct kv_size_question q = r->question;
	struct kv_error ignored;
	uint64_t users;

	if (q.budget.layout.cache->bits)
		return;
	q.budget.layout.cache = kv_cache_format_find("fp8", &ignored);
	if (suffices(r, &q, &users))
		add_change(card, "--kv-cache-dtype fp8, accuracy to be measured", users);
}

static void try_more_ranks(const struct kv_size_report *r, struct card *card)
{
	struct kv_size_question q = r->question;
	uint32_t *tp = &q.budget.layout.tensor_parallel;
	char what[32];
	uint64_t users;

	while ((*tp *= 2) <= RANKS_MAX) {
		snprintf(what, sizeof what, "-tp %u", *tp);
		if (suffices(r, &q, &users)) {
			add_change(card, what, users);
			return;
		}
	}
}

static void judge(const struct kv_size_report *r, struct card *card)
{
	const struct kv_budget_question *b = &r->question.budget;

	card->gpus = (uint64_t)b->layout.tensor_parallel * b->pipeline_parallel * r->arguments.data_parallel;
	card->memory = b->device_bytes;
	card->kv_bytes = r->answer.budget.kv_bytes;
	card->starts = r->answer.starts;
	card->users = users_at(r, &r->question, &r->answer);
	card->suffices = card->users >= users_wanted(r);
	if (card->suffices)
		return;
	try_more_ranks(r, card);
	try_narrow_cache(r, card);
}

static int answer_card(struct card *card, int argc, char **argv, struct kv_remarks *notes, struct kv_error *err)
{
	struct kv_size_report report = { 0 };
	int failed;

	kv_scenario_init(&report.scenario);
	failed = kv_size_read_arguments(&report, argc, argv, err) ||
	         kv_scenario_set(&report.scenario, "hardware", card->name, KV_BY_FLAG, "--hardware", err) ||
	         kv_size_report_answer(&report, err);
	if (!failed) {
		judge(&report, card);
		kv_remarks_merge(notes, &report.deployment.warnings);
	}
	kv_size_report_fini(&report);
	return failed ? -1 : 0;
}

static int check(const struct kv_size_report *asked, struct kv_error *err)
{
	const struct kv_size_arguments *a = &asked->arguments;

	if (a->gpu_memory)
		return kv_fail(err, KV_EXIT_USAGE, "--gpu-memory does not go with several cards: each has its own");
	if (a->sensitivity || a->explain || kv_scenario_workload(&asked->scenario) != NULL)
		return kv_fail(err, KV_EXIT_USAGE, "--sensitivity, --explain and --trace take one card at a time");
	return 0;
}

static int next_name(const char **list, const char *whole, struct card *card, struct kv_error *err)
{
	size_t length = strcspn(*list, ","), start = strspn(*list, " \t"), end = length;

	while (end > start && strchr(" \t", (*list)[end - 1]))
		end--;
	if (start >= end || end - start >= sizeof card->name)
		return kv_fail(err, KV_EXIT_USAGE, "--hardware: '%s' has %s name: one card or several with a comma between two of them "
		               "(kvsim list hardware)", whole, start >= end ? "an empty" : "too long a");
	snprintf(card->name, sizeof card->name, "%.*s", (int)(end - start), *list + start);
	*list += length;
	return 0;
}

static void print_table(struct kv_output *out, const struct kv_size_report *asked, const struct card *cards,
                        size_t count)
{
	char heading[32] = "users";

	if (asked->arguments.length)
		snprintf(heading, sizeof heading, "users at %" PRIu64, asked->arguments.length);
	kv_output_printf(out, "%-20s %4s %8s %9s %7s %16s  %s\n", "card", "GPUs", "GiB", "KV GiB", "starts", heading,
	                 "what would do (users then)");
	for (size_t i = 0; i < count; i++) {
		const struct card *c = &cards[i];
		const char *change = c->suffices ? "enough" : c->change[0] ? c->change : "nothing that was tried";

		kv_output_printf(out, "%-20s %4" PRIu64 " %8.2f %9.2f %7s %16" PRIu64 "  %s\n", c->name, c->gpus,
		                 (double)c->memory / GIB, (double)c->kv_bytes / GIB, c->starts ? "yes" : "no", c->users,
		                 change);
	}
	kv_output_printf(
		out,
		"\nGiB and KV GiB are of one GPU. Users%s whose blocks the pool holds to their full length, the null block left out; "
		"%" PRIu64 " wanted.\n",
		asked->arguments.length ? "" : " of max_model_len", users_wanted(asked));
}

static json_t *table_json(const struct kv_size_report *asked, const struct card *cards, size_t count,
                          const struct kv_remarks *notes)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(rows,
		                      json_pack("{ss sI sI sI sb sI sb ss}", "hardware", cards[i].name, "gpus",
		                                (json_int_t)cards[i].gpus, "memory_bytes", (json_int_t)cards[i].memory,
		                                "kv_cache_bytes", (json_int_t)cards[i].kv_bytes, "starts",
		                                cards[i].starts, "users", (json_int_t)cards[i].users, "enough",
		                                cards[i].suffices, "change", cards[i].change));
	return json_pack("{sI so so}", "users_wanted", (json_int_t)users_wanted(asked), "cards", rows, "notes",
	                 kv_size_notes_json(notes));
}

static int print(const struct kv_size_report *asked, const struct card *cards, size_t count,
                 const struct kv_remarks *notes, struct kv_error *err)
{
	struct kv_output *out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	int failed;

	if (asked->arguments.json) {
		kv_size_print_json(out, table_json(asked, cards, count, notes));
	} else {
		print_table(out, asked, cards, count);
		kv_size_print_notes(out, notes);
	}
	failed = kv_output_close(out, err);
	kv_output_free(out);
	return failed;
}

int kv_size_compare_cards(const struct kv_size_report *asked, int argc, char **argv, struct kv_error *err)
{
	const char *list = asked->scenario.hardware;
	struct card *cards = NULL;
	struct kv_remarks notes = { 0 };
	size_t count = 0, capacity = 0;
	int failed = check(asked, err);

	while (!failed) {
		cards = kv_grow(cards, &capacity, count + 1, sizeof *cards);
		failed = next_name(&list, asked->scenario.hardware, &cards[count], err) ||
		         answer_card(&cards[count], argc, argv, &notes, err) ? -1 : 0;
		count++;
		if (*list++ == '\0')
			break;
	}
	if (!failed)
		failed = print(asked, cards, count, &notes, err);
	kv_remarks_fini(&notes);
	free(cards);
	return failed;
}
