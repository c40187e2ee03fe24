#include "config.h"

#include "sim/cli/options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/names.h"
#include "sim/cli/size.h"

/* argp keys: above all characters; two a scenario key, the second for its --no- form. */
enum { OPTION_SCENARIO = 0x200, OPTION_SET, OPTION_KEYS = 0x1000 };
enum { OPTIONS_MAX = 300, NAME_MAX_LENGTH = 64, HELP_MAX_LENGTH = 256 };

static const struct {
	const char *prefix;  /* of the path */
	const char *title;
} sections[] = {
	{ "", "Run:" },
	{ "engine.", "Engine:" },
	{ "policies.", "Policies (kvsim list policies):" },
	{ "workload.", "Workload:" },
	{ "latency.", "Step time:" },
	{ "output.", "Results:" },
};

static int section_of(const char *path)
{
	for (int i = 1; i < (int)(sizeof sections / sizeof sections[0]); i++)
		if (strncmp(path, sections[i].prefix, strlen(sections[i].prefix)) == 0)
			return i;
	return 0;
}

static int fail_at(struct kv_scenario_options *options, const char *flag)
{
	options->failed = kv_fail_in(&options->err, "%s", flag);
	return EINVAL;
}

static error_t set_flag(struct kv_scenario_options *options, int key, const char *value)
{
	size_t count, index = (size_t)(key - OPTION_KEYS) / 2;
	const struct kv_key *k = kv_scenario_keys(&count) + index;
	bool negated = (key - OPTION_KEYS) % 2 == 1;
	char flag[NAME_MAX_LENGTH];

	snprintf(flag, sizeof flag, "--%s%s", negated ? "no-" : "", k->flag);
	if (k->type == KV_KEY_BOOL)
		value = negated ? "false" : "true";
	if (kv_scenario_set(options->scenario, k->path, value, KV_BY_FLAG, flag, &options->err))
		return fail_at(options, flag);
	return 0;
}

/* What does nothing is refused; unknown keys are left to the scenario. */
static int check_pair(struct kv_scenario_options *options, const char *pair)
{
	char path[NAME_MAX_LENGTH];
	const struct kv_key *key;

	snprintf(path, sizeof path, "%.*s", (int)strcspn(pair, "="), pair);
	key = kv_scenario_key(path);
	if (!options->sizes || key == NULL || key->sizes)
		return 0;
	return kv_fail(&options->err, KV_EXIT_USAGE, "--set: %s does not act on sizing: nothing is simulated here",
	               path);
}

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct kv_scenario_options *options = state->input;

	if (key == OPTION_SCENARIO)
		options->failed = kv_scenario_read(options->scenario, value, &options->err);
	else if (key == OPTION_SET)
		options->failed = check_pair(options, value) ||
		                  kv_scenario_set_pair(options->scenario, value, &options->err) ? -1 : 0;
	else if (key >= OPTION_KEYS && key < OPTION_KEYS + OPTIONS_MAX)
		return set_flag(options, key, value);
	else
		return ARGP_ERR_UNKNOWN;
	return options->failed ? EINVAL : 0;
}

/* The options of all keys, or of those that act on sizing. */
struct option_set {
	struct argp_option option[OPTIONS_MAX];
	struct argp argp;
};

static char negated_names[OPTIONS_MAX][NAME_MAX_LENGTH];
static char help_texts[OPTIONS_MAX][HELP_MAX_LENGTH];
static char negated_helps[OPTIONS_MAX][HELP_MAX_LENGTH];

static struct argp_option *add_key(struct argp_option *next, const struct kv_key *key, size_t index)
{
	int group = section_of(key->path) + 1;
	char *negated = negated_names[index], *help = help_texts[index];

	if (key->flag == NULL)
		return next;
	snprintf(help, HELP_MAX_LENGTH, key->fallback && key->type != KV_KEY_BOOL ? "%s (default: %s)" : "%s",
	         key->help, key->fallback);
	*next++ = (struct argp_option){ .name = key->flag, .key = OPTION_KEYS + 2 * (int)index, .arg = key->argument,
		.doc = help, .group = group };
	if (key->alias != NULL)
		*next++ = (struct argp_option){ .name = key->alias, .flags = OPTION_ALIAS };
	if (key->type != KV_KEY_BOOL)
		return next;
	snprintf(negated, NAME_MAX_LENGTH, "no-%s", key->flag);
	snprintf(negated_helps[index], HELP_MAX_LENGTH, "The opposite of --%s", key->flag);
	*next++ = (struct argp_option){ .name = negated, .key = OPTION_KEYS + 2 * (int)index + 1,
		.flags = key->fallback ? OPTION_HIDDEN : 0, .doc = negated_helps[index], .group = group };
	return next;
}

/* A section without options has no title. */
static struct argp_option *add_section(struct argp_option *next, int section, bool sizes)
{
	size_t count;
	const struct kv_key *keys = kv_scenario_keys(&count);
	struct argp_option *title = next;

	*next++ = (struct argp_option){ .doc = sections[section].title, .group = section + 1 };
	for (size_t i = 0; i < count; i++)
		if (section_of(keys[i].path) == section && (keys[i].sizes || !sizes))
			next = add_key(next, &keys[i], i);
	if (next > title + 1 || section == 0)
		return next;
	*title = (struct argp_option){ 0 };
	return title;
}

static const struct argp *build(struct option_set *set, bool sizes)
{
	struct argp_option *next = set->option;

	if (next->name != NULL)
		return &set->argp;
	*next++ = (struct argp_option){ .name = "scenario", .key = OPTION_SCENARIO, .arg = "FILE", .group = 1,
		.doc = "YAML with any of the keys that kvsim list keys shows; options override it" };
	*next++ = (struct argp_option){ .name = "set", .key = OPTION_SET, .arg = "KEY=VALUE", .group = 1,
		.doc = sizes ? "Set any key that one of these options stands for, such as engine.block_size=32"
		             : "Set any key, such as engine.cache_scope=tenant" };
	for (int i = 0; i < (int)(sizeof sections / sizeof sections[0]); i++)
		next = add_section(next, i, sizes);
	set->argp = (struct argp){ .options = set->option, .parser = parse_option };
	return &set->argp;
}

const struct argp *kv_cli_scenario_argp(void)
{
	static struct option_set set;

	return build(&set, false);
}

const struct argp *kv_cli_sizing_argp(void)
{
	static struct option_set set;

	return build(&set, true);
}

/* Collects the options of argp and its children. */
static size_t collect(const struct argp *argp, const struct argp_option **found, size_t count)
{
	for (const struct argp_option *o = argp->options; o != NULL && (o->name || o->doc || o->key); o++)
		if (o->name != NULL && count < OPTIONS_MAX)
			found[count++] = o;
	for (const struct argp_child *c = argp->children; c != NULL && c->argp != NULL; c++)
		count = collect(c->argp, found, count);
	return count;
}

static bool is_built_in(const char *name, size_t length)
{
	static const char *const names[] = { "help", "usage", "version" };

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strncmp(names[i], name, length) == 0)
			return true;
	return false;
}

/* The option that a name, or the beginning of one, means; NULL if none: argp tells what is ambiguous. */
static const struct argp_option *find(const struct argp_option **options, size_t count, const char *name, size_t length)
{
	const struct argp_option *prefixed = NULL;

	for (size_t i = 0; i < count; i++) {
		if (strncmp(options[i]->name, name, length) != 0)
			continue;
		if (options[i]->name[length] == '\0')
			return options[i];
		prefixed = options[i];
	}
	return prefixed;
}

static char *long_form(char *argument)
{
	if (strcmp(argument, "-tp") == 0)
		return (char *)"--tensor-parallel-size";
	if (strcmp(argument, "-pp") == 0)
		return (char *)"--pipeline-parallel-size";
	if (strcmp(argument, "-dp") == 0)
		return (char *)"--data-parallel-size";
	return argument;
}

/* Options of engines and their benchmarks. What they are here: an option of exactly that meaning, or how it is said
 * otherwise; NULL = kvsim does not model it. */
static const struct {
	const char *name, *here;
} foreign[] = {
	{ "tp", "--tensor-parallel-size" },
	{ "tp-size", "--tensor-parallel-size" },
	{ "pp", "--pipeline-parallel-size" },
	{ "pp-size", "--pipeline-parallel-size" },
	{ "model-path", "--model" },
	{ "context-length", "--max-model-len" },
	{ "max-seq-len", "--max-model-len" },
	{ "page-size", "--block-size" },
	{ "tokens-per-block", "--block-size" },
	{ "max-running-requests", "--max-num-seqs" },
	{ "max-batch-size", "--max-num-seqs" },
	{ "max-num-tokens", "--max-num-batched-tokens" },
	{ "schedule-policy", "--scheduling-policy" },
	{ "disable-radix-cache", "--no-enable-prefix-caching" },
	{ "mem-fraction-static", "--gpu-memory-utilization, with an SGLang profile as --engine" },
	{ "free-gpu-memory-fraction", "--gpu-memory-utilization, with a TensorRT-LLM profile as --engine" },
	{ "kv-cache-free-gpu-mem-fraction", "--gpu-memory-utilization, with a TensorRT-LLM profile as --engine" },
	{ "num-prompts", "--rows 0:N of a trace, --set workload.generate.requests=N of a described load" },
	{ "cpu-offload-gb", NULL },
	{ "decode-context-parallel-size", NULL },
	{ "enforce-eager", NULL },
	{ "kv-offloading-backend", NULL },
	{ "kv-offloading-size", NULL },
	{ "max-long-partial-prefills", NULL },
	{ "max-num-partial-prefills", NULL },
};

/* What is known by another name, or of kvsim size alone; 0 = neither. */
static int fail_known_elsewhere(const char *name, struct kv_error *err)
{
	for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
		if (strcmp(foreign[i].name, name) != 0)
			continue;
		return foreign[i].here != NULL
		               ? kv_fail(err, KV_EXIT_USAGE, "unknown option '--%s': here: %s", name, foreign[i].here)
		               : kv_fail(err, KV_EXIT_USAGE, "unknown option '--%s': not modelled", name);
	}
	for (const struct argp_option *o = kv_size_options(); o->name || o->doc; o++)
		if (o->name != NULL && strcmp(o->name, name) == 0)
			return kv_fail(err, KV_EXIT_USAGE,
			               "unknown option '--%s': kvsim size has it; it is not modelled here", name);
	return 0;
}

static int fail_unknown_option(const char *name, size_t length, const struct argp_option **options, size_t count,
                               struct kv_error *err)
{
	const char *names[OPTIONS_MAX], *nearest;
	char given[NAME_MAX_LENGTH];

	for (size_t i = 0; i < count; i++)
		names[i] = options[i]->name;
	snprintf(given, sizeof given, "%.*s", (int)length, name);
	if (fail_known_elsewhere(given, err))
		return -1;
	nearest = kv_nearest_name(given, names, count);
	if (nearest != NULL)
		return kv_fail(err, KV_EXIT_USAGE, "unknown option '--%s': did you mean '--%s'?", given, nearest);
	return kv_fail(err, KV_EXIT_USAGE, "unknown option '--%s': --help lists the valid ones", given);
}

/* Options of kvsim size that other commands would take for the beginning of another one. */
static int check_abbreviation(const char *name, size_t length, const struct argp_option *option, struct kv_error *err)
{
	static const char memory[] = "gpu-memory";

	if (length != sizeof memory - 1 || strncmp(name, memory, length) != 0 || option->name[length] == '\0')
		return 0;
	return kv_fail(err, KV_EXIT_USAGE,
	               "--gpu-memory is an option of kvsim size: here the memory is that of the card, --hardware NAME or FILE "
	               "(kvsim-size(1), HARDWARE FILES); --kv-cache-memory-bytes or --num-gpu-blocks-override take the place of "
	               "what it leaves for the KV cache; --gpu-memory-utilization is the share of it that is used");
}

int kv_cli_prepare(int argc, char **argv, const struct argp *argp, struct kv_error *err)
{
	const struct argp_option *options[OPTIONS_MAX];
	size_t count = collect(argp, options, 0);

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		const struct argp_option *option;
		char *name;
		size_t length;

		argv[i] = long_form(argv[i]);
		if (strncmp(argv[i], "--", 2) != 0)
			continue;
		name = argv[i] + 2;
		length = strcspn(name, "=");
		for (size_t j = 0; j < length; j++)
			if (name[j] == '_')
				name[j] = '-';
		option = find(options, count, name, length);
		if (option == NULL && !is_built_in(name, length))
			return fail_unknown_option(name, length, options, count, err);
		if (option != NULL && check_abbreviation(name, length, option, err))
			return -1;
		if (option != NULL && option->arg != NULL && name[length] == '\0')
			i++;
	}
	return 0;
}

int kv_cli_parse(int argc, char **argv, const struct argp *argp, void *input, const struct kv_scenario_options *options,
                 struct kv_error *err)
{
	if (kv_cli_prepare(argc, argv, argp, err))
		return -1;
	argp_parse(argp, argc, argv, 0, NULL, input);
	if (options->failed) {
		*err = options->err;
		return -1;
	}
	return 0;
}
