#include "config.h"

#include "sim/cli/list.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "results/output_file.h"
#include "sim/base/names.h"
#include "sim/base/quantity.h"
#include "sim/cli/command.h"
#include "sim/deploy/engine_profile.h"
#include "sim/deploy/scenario.h"
#include "sim/model/kv_layout.h"
#include "sim/model/model.h"
#include "sim/model/weights.h"
#include "sim/policy.h"
#include "sim/profiles/hardware.h"
#include "sim/profiles/profiles.h"
#include "workloads/format.h"

/* A topic is an array of objects with the same keys, all values text: the columns of the table and of the JSON. */
struct topic {
	const char *name;
	json_t *(*rows)(struct kv_error *err);
	json_t *(*named)(const char *name, struct kv_error *err);  /* all about one; NULL = its row is all */
};

/* What the layers keep: the kinds of KV groups, each once. */
static json_t *attention_text(const struct kv_layout *layout)
{
	char text[128] = "";

	for (uint32_t g = 0; g < layout->groups; g++) {
		const char *name = kv_group_kind_name(layout->group[g].kind);
		size_t used = strlen(text);

		if (strstr(text, name) == NULL)
			snprintf(text + used, sizeof text - used, "%s%s", used ? " + " : "", name);
	}
	return json_string(text);
}

/* As stored in the model's own types, on one GPU; compressed layers have a form in fp8 only. */
static json_t *model_row(const struct kv_model *model, struct kv_error *err)
{
	const struct kv_layout_options options = { .block_size = 16, .tensor_parallel = 1,
		.cache = kv_cache_format_find(model->layer[0].mixer == KV_MIXER_COMPRESSED ? "fp8" : "auto", err) };
	const struct kv_weight_options whole = { .tensor_parallel = 1, .expert_ranks = 1 };
	char weight_text[KV_QUANTITY_MAX];
	struct kv_layout layout;
	struct kv_weights weights;

	if (kv_layout_plan(model, &options, &layout, err))
		return NULL;
	kv_weights_count(model, &whole, &weights);
	return json_pack("{ss so ss so so so}", "name", model->name, "parameters",
	                 json_sprintf("%.2f B", (double)weights.parameters / 1e9), "weights",
	                 kv_format_bytes_short((int64_t)weights.bytes, weight_text), "context",
	                 model->max_position ? json_sprintf("%u", model->max_position) : json_string("unknown"),
	                 "KV bytes/token", json_sprintf("%llu", (unsigned long long)(layout.growing_bytes +
	                                                                           layout.windowed_bytes)),
	                 "layers", attention_text(&layout));
}

static json_t *model_rows(struct kv_error *err)
{
	json_t *rows = json_array();

	for (const struct kv_profile *p = kv_profile_next("models", NULL); p != NULL;
	     p = kv_profile_next("models", p)) {
		struct kv_model *model = kv_model_load(p->name, err);
		json_t *row = model ? model_row(model, err) : NULL;

		kv_model_free(model);
		if (row == NULL) {
			json_decref(rows);
			return NULL;
		}
		json_array_append_new(rows, row);
	}
	return rows;
}

/* Unknown rates and sizes are left empty. */
static json_t *scaled(double value, double unit, const char *name)
{
	char number[KV_QUANTITY_MAX];

	return value > 0 ? json_sprintf("%s %s", kv_format_double(value / unit, number), name) : json_string("");
}

static json_t *memory_text(const struct kv_hardware *hardware)
{
	char text[KV_QUANTITY_MAX];
	uint64_t memory = kv_hardware_device_memory(hardware);

	return json_string(memory ? kv_format_bytes_short((int64_t)memory, text) : "unknown");
}

static json_t *hardware_rows(struct kv_error *err)
{
	json_t *rows = json_array();

	for (const struct kv_profile *p = kv_profile_next("hardware", NULL); p != NULL;
	     p = kv_profile_next("hardware", p)) {
		struct kv_hardware *h = kv_hardware_load(p->name, err);

		if (h == NULL) {
			json_decref(rows);
			return NULL;
		}
		json_array_append_new(rows, json_pack("{ss so so so so}", "name", h->name, "memory", memory_text(h),
		                                      "bandwidth", scaled(h->memory_bandwidth, 1e12, "TB/s"), "bf16",
		                                      scaled(h->flops[KV_FLOPS_BF16], 1e12, "TFLOP/s"), "link",
		                                      scaled(h->link_bandwidth, 1e9, "GB/s")));
		kv_hardware_free(h);
	}
	return rows;
}

static json_t *engine_rows(struct kv_error *err)
{
	json_t *rows = json_array();

	for (const struct kv_profile *p = kv_profile_next("engines", NULL); p != NULL;
	     p = kv_profile_next("engines", p)) {
		struct kv_engine_profile *profile = kv_engine_profile_load(p->name, err);

		if (profile == NULL) {
			json_decref(rows);
			return NULL;
		}
		json_array_append_new(rows, json_pack("{ss ss}", "name", profile->name, "summary", profile->summary));
		kv_engine_profile_free(profile);
	}
	return rows;
}

static json_t *policy_rows(struct kv_error *err)
{
	json_t *rows = json_array();

	(void)err;
	for (size_t i = 0; kv_policy_registry[i] != NULL; i++) {
		const struct kv_policy *p = kv_policy_registry[i];

		json_array_append_new(rows, json_pack("{ss ss ss}", "kind", kv_policy_kind_name(p->kind), "name",
		                                      p->name, "summary", p->summary));
	}
	return rows;
}

static json_t *format_rows(struct kv_error *err)
{
	json_t *rows = json_array();

	(void)err;
	for (size_t i = 0; kv_format_registry[i] != NULL; i++)
		json_array_append_new(rows, json_pack("{ss ss}", "name", kv_format_registry[i]->name, "summary",
		                                      kv_format_registry[i]->summary));
	return rows;
}

static json_t *key_row(const struct kv_key *key)
{
	json_t *flag = key->flag ? json_sprintf("--%s", key->flag) : json_string("");

	return json_pack("{ss so ss ss}", "key", key->path, "flag", flag, "default", key->fallback ? key->fallback : "",
	                 "help", key->help);
}

/* The summary of a preset is its first line, a comment. */
static json_t *preset_rows(struct kv_error *err)
{
	json_t *rows = json_array();

	(void)err;
	for (const struct kv_profile *p = kv_profile_next("presets", NULL); p != NULL;
	     p = kv_profile_next("presets", p)) {
		const char *summary = p->text + strspn(p->text, "# ");

		json_array_append_new(rows, json_pack("{ss so}", "name", p->name, "summary",
		                                      json_stringn(summary, strcspn(summary, "\n"))));
	}
	return rows;
}

static json_t *key_rows(struct kv_error *err)
{
	json_t *rows = json_array();
	size_t count;
	const struct kv_key *keys = kv_scenario_keys(&count);

	(void)err;
	for (size_t i = 0; i < count; i++)
		json_array_append_new(rows, key_row(&keys[i]));
	return rows;
}

enum { COLUMNS_MAX = 8 };

static void column_widths(const json_t *rows, size_t widths[COLUMNS_MAX])
{
	size_t i;
	const char *key;
	json_t *row, *value;

	memset(widths, 0, COLUMNS_MAX * sizeof widths[0]);
	json_array_foreach(rows, i, row) {
		size_t column = 0;

		json_object_foreach(row, key, value) {
			size_t width = json_string_length(value) > strlen(key) ? json_string_length(value)
			                                                       : strlen(key);

			if (width > widths[column])
				widths[column] = width;
			column++;
		}
	}
}

/* A line of column names, then a line a row; the last column is not padded. */
static void print_table(struct kv_output *out, const json_t *rows)
{
	size_t widths[COLUMNS_MAX], i, column = 0, columns = json_object_size(json_array_get(rows, 0));
	const char *key;
	json_t *row, *value;

	column_widths(rows, widths);
	json_object_foreach(json_array_get(rows, 0), key, value) {
		bool last = ++column == columns;

		kv_output_printf(out, "%-*s%s", last ? 0 : (int)widths[column - 1], key, last ? "\n" : "  ");
	}
	json_array_foreach(rows, i, row) {
		column = 0;
		json_object_foreach(row, key, value) {
			bool last = ++column == columns;

			kv_output_printf(out, "%-*s%s", last ? 0 : (int)widths[column - 1], json_string_value(value),
			                 last ? "\n" : "  ");
		}
	}
}

static json_t *time_range(const struct kv_param *p)
{
	char low[KV_QUANTITY_MAX], high[KV_QUANTITY_MAX];

	kv_format_time((kv_time)p->minimum, low);
	if (p->maximum >= (double)KV_TIME_MAX)
		return json_sprintf("%s or more", low);
	return json_sprintf("%s to %s", low, kv_format_time((kv_time)p->maximum, high));
}

static json_t *param_range(const struct kv_param *p)
{
	char low[KV_QUANTITY_MAX], high[KV_QUANTITY_MAX];

	switch (p->type) {
	case KV_PARAM_BOOL:
		return json_string("true or false");
	case KV_PARAM_CHOICE:
		return json_string(p->unit);
	case KV_PARAM_TEXT:
		return json_string("text");
	case KV_PARAM_TIME:
		return time_range(p);
	default:
		return json_sprintf("%s to %s", kv_format_double(p->minimum, low), kv_format_double(p->maximum, high));
	}
}

static json_t *param_rows(const struct kv_param *params)
{
	json_t *rows = json_array();

	for (const struct kv_param *p = params; p != NULL && p->name != NULL; p++)
		json_array_append_new(rows, json_pack("{ss so ss ss ss}", "name", p->name, "range", param_range(p),
		                                      "unit", p->type == KV_PARAM_CHOICE ? "" : p->unit, "default",
		                                      p->fallback, "help", p->help));
	return rows;
}

static json_t *policy_details(const struct kv_policy *p)
{
	return json_pack("{ss ss ss ss ss so}", "kind", kv_policy_kind_name(p->kind), "name", p->name, "summary",
	                 p->summary, "source", p->source, "oracle",
	                 (p->flags & KV_POLICY_ORACLE) != 0 ? "yes: it sees the true output length" : "no",
	                 "parameters", param_rows(p->params));
}

static json_t *format_details(const struct kv_format *f)
{
	return json_pack("{ss ss ss so}", "name", f->name, "summary", f->summary, "rules", f->rules, "parameters",
	                 param_rows(f->params));
}

/* Texts broken into lines of a terminal's width, indented. */
static void print_wrapped(struct kv_output *out, const char *text, int indent)
{
	enum { WIDTH = 100 };

	while (strlen(text) > WIDTH) {
		size_t length = WIDTH;

		while (length > 0 && text[length] != ' ')
			length--;
		kv_output_printf(out, "%.*s\n%*s", (int)length, text, indent, "");
		text += length + 1;
	}
	kv_output_printf(out, "%s\n", text);
}

static void print_details(struct kv_output *out, json_t *details)
{
	const json_t *params = json_object_get(details, "parameters");
	const char *key;
	json_t *value;

	json_object_foreach(details, key, value) {
		if (!json_is_string(value))
			continue;
		kv_output_printf(out, "%-12s", key);
		print_wrapped(out, json_string_value(value), 12);
	}
	kv_output_printf(out, "%-12s%s\n", "parameters", json_array_size(params) ? "" : "none");
	print_table(out, params);
}

static json_t *format_named(const char *name, struct kv_error *err)
{
	const struct kv_format *format = kv_format_find(name, err);

	return format != NULL ? json_pack("[o]", format_details(format)) : NULL;
}

/* All policies of that name, of whatever kind. */
static json_t *policies_named(const char *name, struct kv_error *err)
{
	json_t *found = json_array();
	const char *names[64];
	size_t count = 0;

	for (size_t i = 0; kv_policy_registry[i] != NULL && count < 64; i++) {
		names[count++] = kv_policy_registry[i]->name;
		if (strcmp(kv_policy_registry[i]->name, name) == 0)
			json_array_append_new(found, policy_details(kv_policy_registry[i]));
	}
	if (json_array_size(found) > 0)
		return found;
	json_decref(found);
	kv_fail_unknown(err, KV_EXIT_USAGE, "policy", name, names, count);
	return NULL;
}

/* A profile as its file has it, with the reasons that stand there. */
static json_t *profile_text(const char *kind, const char *name, struct kv_error *err)
{
	const char *text = kv_profile_text(kind, name);

	if (text != NULL)
		return json_pack("[{ss ss}]", "name", name, "text", text);
	kv_fail(err, KV_EXIT_USAGE, "%s is a file of yours: list shows what is built in", name);
	return NULL;
}

static json_t *profile_named(const char *kind, const char *what, const char *name, struct kv_error *err)
{
	const char *names[64];
	size_t count = 0;

	if (kv_profile_text(kind, name) != NULL)
		return profile_text(kind, name, err);
	for (const struct kv_profile *p = kv_profile_next(kind, NULL); p != NULL && count < 64;
	     p = kv_profile_next(kind, p))
		names[count++] = p->name;
	kv_fail_unknown(err, KV_EXIT_USAGE, what, name, names, count);
	return NULL;
}

static json_t *engine_named(const char *name, struct kv_error *err)
{
	return profile_named("engines", "engine profile", name, err);
}

static json_t *preset_named(const char *name, struct kv_error *err)
{
	return profile_named("presets", "preset", name, err);
}

static json_t *model_named(const char *name, struct kv_error *err)
{
	struct kv_model *model = kv_model_load(name, err);
	json_t *found = model != NULL ? profile_text("models", model->name, err) : NULL;

	kv_model_free(model);
	return found;
}

static json_t *card_named(const char *name, struct kv_error *err)
{
	struct kv_hardware *card = kv_hardware_load(name, err);
	json_t *found = card != NULL ? profile_text("hardware", card->name, err) : NULL;

	kv_hardware_free(card);
	return found;
}

static const struct topic topics[] = {
	{ "models", model_rows, model_named },
	{ "hardware", hardware_rows, card_named },
	{ "engines", engine_rows, engine_named },
	{ "policies", policy_rows, policies_named },
	{ "formats", format_rows, format_named },
	{ "presets", preset_rows, preset_named },
	{ "keys", key_rows, NULL },
};

enum { TOPICS = sizeof topics / sizeof topics[0] };

static const struct topic *find_topic(const char *name)
{
	for (int i = 0; i < TOPICS; i++)
		if (strcmp(topics[i].name, name) == 0)
			return &topics[i];
	return NULL;
}

struct arguments {
	const char *topic, *name;
	bool json;
};

static error_t parse_option(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'j':
		arguments->json = true;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 0)
			arguments->topic = value;
		else if (state->arg_num == 1 && find_topic(arguments->topic) != NULL &&
		         find_topic(arguments->topic)->named != NULL)
			arguments->name = value;
		else
			argp_error(state, "unexpected argument '%s'", value);
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "say what to list: models, hardware, engines, policies, formats, presets or keys");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int print(json_t *rows, const struct arguments *arguments, struct kv_error *err)
{
	struct kv_output *out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	int failed;

	if (arguments->json) {
		char *text = json_dumps(rows, JSON_INDENT(2));

		kv_output_printf(out, "%s\n", text);
		free(text);
	} else if (arguments->name != NULL) {
		size_t i;
		json_t *details;

		json_array_foreach(rows, i, details) {
			const char *file = json_string_value(json_object_get(details, "text"));

			kv_output_text(out, i ? "\n" : "");
			if (file != NULL)
				kv_output_text(out, file);
			else
				print_details(out, details);
		}
	} else {
		print_table(out, rows);
	}
	failed = kv_output_close(out, err);
	kv_output_free(out);
	return failed;
}

static json_t *find_rows(const struct arguments *arguments, struct kv_error *err)
{
	const struct topic *topic = find_topic(arguments->topic);
	const char *names[TOPICS];

	if (topic != NULL)
		return arguments->name != NULL ? topic->named(arguments->name, err) : topic->rows(err);
	for (int i = 0; i < TOPICS; i++)
		names[i] = topics[i].name;
	kv_fail_unknown(err, KV_EXIT_USAGE, "topic", arguments->topic, names, TOPICS);
	return NULL;
}

int kv_cli_list(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{ .name = "json", .key = 'j', .doc = "Print JSON" }, { 0 }
	};
	static const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.args_doc = "models [NAME]\nhardware [NAME]\nengines [NAME]\npolicies [NAME]\nformats [NAME]\npresets [NAME]\nkeys",
		.doc = "Lists the names that a scenario may use; with NAME, all about one: a profile as its file has it, a "
		       "policy or format with its parameters."
	};
	struct arguments arguments = { 0 };
	struct kv_error err;
	json_t *rows;
	int failed;

	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	rows = find_rows(&arguments, &err);
	if (rows == NULL)
		return kv_cli_fail(&err);
	failed = print(rows, &arguments, &err);
	json_decref(rows);
	return failed ? kv_cli_fail(&err) : KV_EXIT_OK;
}
