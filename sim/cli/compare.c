#include "config.h"

#include "sim/cli/compare.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "results/comparison.h"
#include "results/json_text.h"
#include "results/result_folder.h"
#include "sim/base/memory.h"
#include "sim/base/quantity.h"
#include "sim/cli/command.h"
#include "sim/cli/options.h"
#include "sim/cli/replay.h"
#include "sim/cli/variant.h"
#include "sim/deploy/deployment.h"

#define JOBS_MAX 1024
#define REPLICATES_MAX 100000

struct arguments {
	struct kv_replay_arguments shared;
	char **variant;         /* texts of --variant, and "@FILE" for --variants FILE, in the order given */
	size_t variants;
	uint64_t jobs, replicates;
};

struct comparison {
	struct arguments arguments;
	struct kv_scenario scenario;
	struct kv_variants variants;
	struct kv_compared_run *run;
	FILE **kept;            /* what each process leaves for this one */
	struct kv_error *fate;  /* shared by the processes; status 0 = done */
	pid_t *process;         /* 0 = not started, -1 = ended */
};

static volatile sig_atomic_t interrupted, terminated;

static void on_signal(int signal_number)
{
	interrupted = 1;
	terminated |= signal_number == SIGTERM;
}

/* --- arguments ---------------------------------------------------------------------------------------------------- */

enum { OPTION_VARIANT = 0x400, OPTION_VARIANTS, OPTION_JOBS, OPTION_BOOTSTRAP };

static void add_variant(struct arguments *arguments, const char *prefix, const char *text)
{
	char *copy = kv_calloc(strlen(prefix) + strlen(text) + 1, 1);

	strcat(strcpy(copy, prefix), text);
	arguments->variant = kv_realloc(arguments->variant, arguments->variants + 1, sizeof *arguments->variant);
	arguments->variant[arguments->variants++] = copy;
}

static error_t parse_count(struct arguments *arguments, const char *flag, const char *text, uint64_t minimum,
                           uint64_t maximum, uint64_t *out)
{
	struct kv_scenario_options *options = &arguments->shared.scenario;

	if (kv_parse_count(text, minimum, maximum, out, &options->err) == 0)
		return 0;
	options->failed = kv_fail_in(&options->err, "%s", flag);
	return EINVAL;
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->shared;
		return 0;
	case OPTION_VARIANT:
		add_variant(arguments, "", value);
		return 0;
	case OPTION_VARIANTS:
		add_variant(arguments, "@", value);
		return 0;
	case OPTION_JOBS:
		return parse_count(arguments, "--jobs", value, 1, JOBS_MAX, &arguments->jobs);
	case OPTION_BOOTSTRAP:
		return parse_count(arguments, "--bootstrap", value, 100, REPLICATES_MAX, &arguments->replicates);
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s' (a variant is given with --variant)", value);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int read_arguments(struct arguments *arguments, int argc, char **argv, struct kv_error *err)
{
	static const struct argp_option own[] = {
		{ .name = "variant", .key = OPTION_VARIANT, .arg = "NAME[:KEY=VALUE,...]", .group = 10,
		  .doc = "A variant by what differs, such as greedy:admission=greedy or big:engine.block_size=32; the "
		         "first is the baseline. Repeatable" },
		{ .name = "variants", .key = OPTION_VARIANTS, .arg = "FILE", .group = 10,
		  .doc = "YAML: names of variants, each with the scenario keys that differ" },
		{ .name = "jobs", .key = OPTION_JOBS, .arg = "N", .group = 10,
		  .doc = "Variants that run at once (default: the number of processors)" },
		{ .name = "bootstrap", .key = OPTION_BOOTSTRAP, .arg = "N", .group = 10,
		  .doc = "Replicates behind each interval (default: 1000)" },
		{ 0 }
	};
	struct argp_child children[] = { { .argp = kv_cli_replay_argp() }, { 0 } };
	const struct argp argp = {
		.options = own,
		.parser = parse_option,
		.children = children,
		.doc = "Replays one workload on several variants of a deployment and prints what differs, request by "
		       "request.\n\n  kvsim compare --scenario base.yaml --variant lru --variant lfu:eviction=lfu\v"
		       "Every variant leaves the result folder that kvsim run would, named after it, in the folder of "
		       "--out, beside comparison.json and comparison.html. All variants get the same requests at the "
		       "same times."
	};

	return kv_cli_parse(argc, argv, &argp, arguments, &arguments->shared.scenario, err);
}

/* --- before anything runs ----------------------------------------------------------------------------------------- */

static int make_variants(struct comparison *c, struct kv_error *err)
{
	for (size_t i = 0; i < c->arguments.variants; i++) {
		const char *text = c->arguments.variant[i];

		if (*text == '@' ? kv_variants_read(&c->variants, &c->scenario, text + 1, err)
		                 : kv_variants_add(&c->variants, &c->scenario, text, err))
			return -1;
	}
	if (c->variants.count < 2)
		return kv_fail(err, KV_EXIT_USAGE, "%zu variant%s: give --variant NAME:key=value at least twice, or "
		               "--variants FILE", c->variants.count, c->variants.count == 1 ? "" : "s");
	if (kv_scenario_workload(&c->scenario) == NULL)
		return kv_fail(err, KV_EXIT_USAGE, "no trace: give --trace FILE");
	if (strcmp(kv_scenario_workload(&c->scenario), "-") == 0)
		return kv_fail(err, KV_EXIT_USAGE, "--trace -: every variant reads the trace for itself: name a file");
	return 0;
}

/* Builds every deployment once, so that what cannot run is told before anything does. */
static int check_variants(struct comparison *c, struct kv_error *err)
{
	for (size_t i = 0; i < c->variants.count; i++) {
		const struct kv_variant *variant = &c->variants.item[i];
		struct kv_scenario scenario;
		struct kv_deployment deployment;
		int failed;

		kv_scenario_copy(&scenario, &variant->scenario);
		failed = kv_deployment_init(&deployment, &scenario, err);
		for (size_t w = 0; !failed && !c->arguments.shared.replay.quiet && w < deployment.warnings.count; w++)
			fprintf(stderr, "kvsim: warning: variant %s: %s\n", variant->name, deployment.warnings.text[w]);
		if (!failed)
			kv_deployment_fini(&deployment);
		kv_scenario_fini(&scenario);
		if (failed)
			return strstr(err->text, "variant ") == err->text ?
			               -1 :
			               kv_fail_in(err, "variant %s", variant->name);
	}
	return 0;
}

static int prepare_runs(struct comparison *c, struct kv_error *err)
{
	size_t count = c->variants.count;

	c->run = kv_calloc(count, sizeof *c->run);
	c->kept = kv_calloc(count, sizeof *c->kept);
	c->process = kv_calloc(count, sizeof *c->process);
	c->fate = mmap(NULL, count * sizeof *c->fate, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (c->fate == MAP_FAILED) {
		c->fate = NULL;
		return kv_fail(err, KV_EXIT_IO, "no memory to share: %s", strerror(errno));
	}
	for (size_t i = 0; i < count; i++) {
		c->run[i].name = c->variants.item[i].name;
		c->run[i].settings = kv_variant_settings(&c->variants.item[i]);
		c->run[i].warmup = c->scenario.warmup;
		c->kept[i] = tmpfile();
		if (c->kept[i] == NULL)
			return kv_fail(err, KV_EXIT_IO, "no temporary file: %s", strerror(errno));
	}
	return 0;
}

/* --- processes ---------------------------------------------------------------------------------------------------- */

static void watch(void *context, const struct kv_request_record *record, kv_time retry_wait)
{
	kv_compared_run_add(context, record, retry_wait);
}

static int replay(struct comparison *c, size_t i, struct kv_error *err)
{
	struct kv_scenario *scenario = &c->variants.item[i].scenario;
	struct kv_replay_options options = c->arguments.shared.replay;
	char *dir = kv_result_folder_path(c->scenario.output.dir, c->variants.item[i].name);
	int failed;

	options.json = false;
	options.summary = true;
	options.quiet = true;
	options.watch = watch;
	options.watch_context = &c->run[i];
	failed = kv_scenario_set(scenario, "output.dir", dir, KV_BY_VARIANT, "kvsim compare", err) ||
	         kv_cli_replay(scenario, &options, err) || kv_compared_run_save(&c->run[i], c->kept[i], err);
	free(dir);
	return failed;
}

static int start(struct comparison *c, size_t i, struct kv_error *err)
{
	c->fate[i].status = KV_EXIT_BUG;  /* until it says how it went */
	fflush(NULL);
	c->process[i] = fork();
	if (c->process[i] < 0)
		return kv_fail(err, KV_EXIT_IO, "no process for variant %s: %s", c->run[i].name, strerror(errno));
	if (c->process[i] == 0) {
		struct kv_error failure;

		if (replay(c, i, &failure) == 0)
			failure.status = KV_EXIT_OK;
		c->fate[i] = failure;
		_exit(failure.status);
	}
	return 0;
}

/* Waits for one process. An interrupt from the terminal reaches all of them by itself; a SIGTERM is handed on. */
static void wait_for_one(struct comparison *c)
{
	int status;
	pid_t ended = wait(&status);

	for (size_t i = 0; i < c->variants.count; i++) {
		if (ended > 0 && c->process[i] == ended)
			c->process[i] = -1;
		else if (ended < 0 && terminated && c->process[i] > 0)
			kill(c->process[i], SIGTERM);
	}
	if (ended < 0)
		terminated = 0;
}

static size_t count_running(const struct comparison *c)
{
	size_t running = 0;

	for (size_t i = 0; i < c->variants.count; i++)
		running += c->process[i] > 0;
	return running;
}

static int run_all(struct comparison *c, struct kv_error *err)
{
	struct sigaction action = { .sa_handler = on_signal };
	size_t next = 0;
	int failed = 0;

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	while (next < c->variants.count && !interrupted && !failed) {
		if (count_running(c) < c->arguments.jobs)
			failed = start(c, next++, err);
		else
			wait_for_one(c);
	}
	while (count_running(c) > 0)
		wait_for_one(c);
	if (!failed && next < c->variants.count)
		failed = kv_fail(err, KV_EXIT_IO, "interrupted before variant %s ran: nothing is compared",
		                 c->run[next].name);
	return failed;
}

static int check_fates(const struct comparison *c, struct kv_error *err)
{
	for (size_t i = 0; i < c->variants.count; i++) {
		const struct kv_error *fate = &c->fate[i];

		if (fate->status == KV_EXIT_OK)
			continue;
		return kv_fail(err, fate->status, "variant %s: %.900s", c->run[i].name,
		               *fate->text != '\0' ? fate->text : "its process ended without a word");
	}
	return 0;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

/* A profile named after a policy is more than it: orca-max has the step overheads of an eager engine, say. */
static void tell_profiles(struct comparison *c)
{
	const char *base = c->run[0].engine_profile;

	for (size_t i = 1; i < c->variants.count; i++)
		if (strcmp(c->run[i].engine_profile, base) != 0)
			kv_remark(&c->run[i].warnings,
			          "profiles %s and %s differ in more than policies (memory budget, defaults, step "
			          "overheads): to compare policies alone, set them on one profile",
			          c->run[i].engine_profile, base);
}

static int load_runs(struct comparison *c, struct kv_error *err)
{
	for (size_t i = 0; i < c->variants.count; i++) {
		char *dir = kv_result_folder_path(c->scenario.output.dir, c->run[i].name);
		char *summary = kv_result_folder_path(dir, kv_result_file_name(KV_FILE_SUMMARY));
		char *manifest = kv_result_folder_path(dir, kv_result_file_name(KV_FILE_MANIFEST));
		int failed = kv_compared_run_load(&c->run[i], c->kept[i], err) ||
		             kv_compared_run_read_summary(&c->run[i], summary, err) ||
		             kv_compared_run_read_manifest(&c->run[i], manifest, err);

		free(manifest);
		free(summary);
		free(dir);
		if (failed)
			return -1;
		kv_compared_run_sort(&c->run[i]);
	}
	tell_profiles(c);
	return 0;
}

/* What makes the folder recognisable as ours. */
static void write_manifest(const struct comparison *c, struct kv_output *out)
{
	struct kv_json json;

	kv_json_start(&json, out);
	kv_json_string(&json, "generator", "kvsim");
	kv_json_string(&json, "version", PACKAGE_VERSION);
	kv_json_string(&json, "trace", kv_scenario_workload(&c->scenario));
	kv_json_u64(&json, "seed", c->scenario.seed);
	kv_json_begin_object(&json, "variants");
	for (size_t i = 0; i < c->variants.count; i++)
		kv_json_string(&json, c->run[i].name, c->run[i].settings);
	kv_json_end_object(&json);
	kv_json_finish(&json);
}

static int write_file(const struct comparison *c, const struct kv_comparison *comparison, enum kv_result_file file,
                      struct kv_error *err)
{
	char *path = kv_result_folder_path(c->scenario.output.dir, kv_result_file_name(file));
	struct kv_output *out = kv_output_create(path, err);
	int failed = out == NULL;

	free(path);
	if (failed)
		return -1;
	if (file == KV_FILE_MANIFEST)
		write_manifest(c, out);
	else if (file == KV_FILE_COMPARISON)
		kv_comparison_write_json(comparison, out);
	else
		kv_comparison_write_html(comparison, out);
	failed = kv_output_close(out, err) || kv_output_commit(out, err);
	kv_output_free(out);
	return failed ? -1 : 0;
}

static int print(const struct comparison *c, const struct kv_comparison *comparison, struct kv_error *err)
{
	struct kv_output *out;
	int failed;

	if (c->arguments.shared.replay.quiet)
		return 0;
	out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	if (c->arguments.shared.replay.json)
		kv_comparison_write_json(comparison, out);
	else
		kv_comparison_write_text(comparison, out);
	failed = kv_output_close(out, err);
	kv_output_free(out);
	return failed;
}

static int compare_runs(const struct comparison *c, struct kv_error *err)
{
	struct kv_comparison comparison = {
		.run = c->run, .runs = c->variants.count, .workload = kv_scenario_workload(&c->scenario),
		.seed = c->scenario.seed, .replicates = c->arguments.replicates
	};
	int failed;

	kv_comparison_make(&comparison);
	failed = write_file(c, &comparison, KV_FILE_MANIFEST, err) ||
	         write_file(c, &comparison, KV_FILE_COMPARISON, err) ||
	         write_file(c, &comparison, KV_FILE_COMPARISON_PAGE, err);
	for (int file = 0; file < KV_FILE_COMPARISON && !failed; file++)
		if (file != KV_FILE_MANIFEST)
			kv_result_folder_drop(c->scenario.output.dir, file);
	failed = failed || print(c, &comparison, err);
	kv_comparison_fini(&comparison);
	return failed ? -1 : 0;
}

static int execute(struct comparison *c, int argc, char **argv, struct kv_error *err)
{
	bool created;

	if (read_arguments(&c->arguments, argc, argv, err) || make_variants(c, err) || check_variants(c, err) ||
	    kv_result_folder_open(c->scenario.output.dir, c->arguments.shared.replay.force, &created, err) ||
	    prepare_runs(c, err) || run_all(c, err) || check_fates(c, err) || load_runs(c, err))
		return -1;
	return compare_runs(c, err);
}

static void comparison_fini(struct comparison *c)
{
	size_t count = c->variants.count;

	for (size_t i = 0; i < count && c->run != NULL; i++) {
		kv_compared_run_fini(&c->run[i]);
		if (c->kept[i] != NULL)
			fclose(c->kept[i]);
	}
	if (c->fate != NULL)
		munmap(c->fate, count * sizeof *c->fate);
	free(c->run);
	free(c->kept);
	free(c->process);
	kv_variants_fini(&c->variants);
	kv_scenario_fini(&c->scenario);
	for (size_t i = 0; i < c->arguments.variants; i++)
		free(c->arguments.variant[i]);
	free(c->arguments.variant);
}

/* The command for manifests, without --jobs: results do not depend on it. */
static char *command_text(int argc, char **argv)
{
	char **kept = kv_calloc((size_t)argc, sizeof *kept), *text;
	int count = 0;

	for (int i = 0; i < argc; i++) {
		if (strcmp(argv[i], "--jobs") == 0)
			i++;
		else if (strncmp(argv[i], "--jobs=", 7) != 0)
			kept[count++] = argv[i];
	}
	text = kv_cli_join(count, kept);
	free(kept);
	return text;
}

int kv_cli_compare(int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct comparison c = {
		.arguments = { .jobs = processors > 0 ? (uint64_t)processors : 1, .replicates = 1000 }
	};
	struct kv_error err;
	char *command = command_text(argc, argv);
	int failed;

	kv_scenario_init(&c.scenario);
	c.arguments.shared.scenario.scenario = &c.scenario;
	c.arguments.shared.replay.command = command;
	failed = execute(&c, argc, argv, &err);
	comparison_fini(&c);
	free(command);
	return failed ? kv_cli_fail(&err) : KV_EXIT_OK;
}
