#include "config.h"

#include "sim/cli/size.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/memory.h"

#define GIB 0x1p30

enum { CARD_NAME = 64 };

/* The answer for one card. */
struct card {
	char name[CARD_NAME];
	bool known;                /* its memory: all that follows is of cards whose memory is known */
	bool starts, suffices;
	uint64_t gpus, memory, users;
	uint64_t least_users, most_users;  /* at the ends of known errors */
	int64_t kv_bytes;
	struct kv_size_remedies remedies;  /* none where it suffices */
	struct kv_size_report report;
};

static uint64_t users_wanted(const struct kv_size_report *r)
{
	return r->arguments.sequences ? r->arguments.sequences : 1;
}

static void judge(struct card *card)
{
	const struct kv_size_report *r = &card->report;
	const struct kv_budget_question *b = &r->question.budget;
	uint64_t replicas = r->arguments.data_parallel;

	card->gpus = (uint64_t)b->layout.tensor_parallel * b->pipeline_parallel * replicas;
	card->memory = b->device_bytes;
	card->kv_bytes = r->answer.budget.kv_bytes;
	card->starts = r->answer.starts;
	card->users = kv_size_report_users(r, &r->answer);
	card->least_users = kv_size_report_users(r, &r->least);
	card->most_users = kv_size_report_users(r, &r->most);
	card->suffices = card->users >= users_wanted(r);
	kv_size_report_remedies(r, users_wanted(r), &card->remedies);
}

/* A card without a known memory has a row that says so. */
static int look_up(struct card *card, struct kv_error *err)
{
	struct kv_hardware *hardware = kv_hardware_load(card->name, err);

	if (hardware == NULL)
		return kv_fail_in(err, "--hardware");
	card->known = kv_size_knows_memory(&card->report, hardware);
	kv_hardware_free(hardware);
	return 0;
}

static int answer_card(struct card *card, int argc, char **argv, struct kv_remarks *notes, struct kv_error *err)
{
	struct kv_size_report *report = &card->report;

	if (kv_size_read_arguments(report, argc, argv, err) ||
	    kv_scenario_set(&report->scenario, "hardware", card->name, KV_BY_FLAG, "--hardware", err) ||
	    look_up(card, err))
		return -1;
	if (!card->known)
		return 0;
	if (kv_size_report_answer(report, err))
		return -1;
	judge(card);
	kv_remarks_merge(notes, &report->deployment.warnings);
	return 0;
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

static void print_row(struct kv_output *out, const struct card *c)
{
	if (!c->known) {
		kv_output_printf(out, "%-20s memory not known: ask for it alone, with --gpu-memory\n", c->name);
		return;
	}
	kv_output_printf(out, "%-20s %4" PRIu64 " %8.2f %9.2f %7s %16" PRIu64 "  %s", c->name, c->gpus,
	                 (double)c->memory / GIB, (double)c->kv_bytes / GIB, c->starts ? "yes" : "no", c->users, c->suffices ? "yes" : "no");
	if (c->least_users < c->most_users)
		kv_output_printf(out, " (%" PRIu64 " to %" PRIu64 " within the errors known)", c->least_users,
		                 c->most_users);
	kv_output_text(out, "\n");
}

static int widest_option(const struct card *cards, size_t count)
{
	size_t widest = 0;

	for (size_t i = 0; i < count; i++)
		widest = strlen(cards[i].name) > widest ? strlen(cards[i].name) : widest;
	return (int)(strlen("--hardware  ") + widest);
}

static void print_card_changes(struct kv_output *out, const struct card *c, int width)
{
	char option[CARD_NAME + 16];

	snprintf(option, sizeof option, "--hardware %s", c->name);
	kv_size_print_remedies(out, &c->report, option, width, &c->remedies);
	if (c->remedies.count == 0)
		kv_output_printf(out, "  %-*s# nothing that was tried\n", width, option);
}

/* The same is tried on every card that does not suffice. */
static void print_changes(struct kv_output *out, const struct card *cards, size_t count)
{
	const struct card *tried_on = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!cards[i].known || cards[i].suffices)
			continue;
		if (tried_on == NULL)
			kv_output_text(out, "\nAny one of these would do:\n");
		tried_on = &cards[i];
		print_card_changes(out, &cards[i], widest_option(cards, count));
	}
	if (tried_on != NULL)
		kv_size_print_attempts(out, &tried_on->remedies);
}

static void print_table(struct kv_output *out, const struct kv_size_report *asked, const struct card *cards,
                        size_t count)
{
	char heading[32] = "users";

	if (asked->arguments.length)
		snprintf(heading, sizeof heading, "users at %" PRIu64, asked->arguments.length);
	kv_output_printf(out, "%-20s %4s %8s %9s %7s %16s  %s\n", "card", "GPUs", "GiB", "KV GiB", "starts", heading,
	                 "enough");
	for (size_t i = 0; i < count; i++)
		print_row(out, &cards[i]);
	print_changes(out, cards, count);
	kv_output_printf(
		out,
		"\nGiB and KV GiB are of one GPU. Users%s that run at once: their blocks are held to their full length, "
		"the null block left out, and max_num_seqs lets them run; %" PRIu64 " wanted.\n",
		asked->arguments.length ? "" : " of max_model_len", users_wanted(asked));
}

static json_t *card_json(const struct card *c)
{
	if (!c->known)
		return json_pack("{ss sb}", "hardware", c->name, "memory_known", 0);
	return json_pack("{ss sb sI sI sI sb sI s[II] sb so so}", "hardware", c->name, "memory_known", 1, "gpus",
	                 (json_int_t)c->gpus, "memory_bytes", (json_int_t)c->memory, "kv_cache_bytes",
	                 (json_int_t)c->kv_bytes, "starts", c->starts, "users", (json_int_t)c->users,
	                 "users_within_known_errors", (json_int_t)c->least_users, (json_int_t)c->most_users, "enough",
	                 c->suffices, "would_do", kv_size_remedies_json(&c->remedies), "tried",
	                 kv_size_attempts_json(&c->remedies));
}

static json_t *table_json(const struct kv_size_report *asked, const struct card *cards, size_t count,
                          const struct kv_remarks *notes)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(rows, card_json(&cards[i]));
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

static size_t count_names(const char *list)
{
	size_t count = 1;

	for (; *list != '\0'; list++)
		count += *list == ',';
	return count;
}

int kv_size_compare_cards(const struct kv_size_report *asked, int argc, char **argv, bool *fits, struct kv_error *err)
{
	const char *list = asked->scenario.hardware;
	size_t count = count_names(list), answered = 0;
	struct card *cards = kv_calloc(count, sizeof *cards);
	struct kv_remarks notes = { 0 };
	int failed = check(asked, err);

	while (!failed && answered < count) {
		struct card *card = &cards[answered++];

		kv_scenario_init(&card->report.scenario);
		failed = next_name(&list, asked->scenario.hardware, card, err) ||
		         answer_card(card, argc, argv, &notes, err) ? -1 : 0;
		list += *list == ',';
	}
	for (size_t i = 0; i < answered; i++)
		*fits |= cards[i].suffices;
	if (!failed)
		failed = print(asked, cards, count, &notes, err);
	for (size_t i = 0; i < answered; i++)
		kv_size_report_fini(&cards[i].report);
	kv_remarks_fini(&notes);
	free(cards);
	return failed;
}
