#include "config.h"

#include "tests/workload.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "test workload: %s\n", what);
	exit(KV_EXIT_DATA);
}

void test_workload_set_policy(struct test_workload *workload, enum kv_policy_kind kind, const char *text)
{
	free(workload->policy[kind]);
	workload->policy[kind] = kv_strdup(text);
}

void test_workload_init(struct test_workload *workload)
{
	static const char *const defaults[KV_POLICY_KINDS] = {
		[KV_POLICY_ALLOCATION] = "paged",
		[KV_POLICY_ADMISSION] = "prompt-fits",
		[KV_POLICY_SCHEDULING] = "fcfs",
		[KV_POLICY_PREEMPTION] = "latest",
		[KV_POLICY_PREFIX] = "block-hash",
		[KV_POLICY_EVICTION] = "lru",
	};

	*workload = (struct test_workload){.fixed_step = KV_SECOND, .options.duration = KV_TIME_NONE};
	for (int kind = 0; kind < KV_POLICY_KINDS; kind++)
		if (defaults[kind] != NULL)
			test_workload_set_policy(workload, (enum kv_policy_kind)kind, defaults[kind]);
	workload->config = (struct kv_engine_config){
		.block_size = 16,
		.groups = 1,
		.group = {{.kind = KV_GROUP_FULL, .layers = 1, .block_size = 16}},
		.max_num_seqs = 16,
		.max_num_batched_tokens = 512,
		.max_model_len = 1000000,
		.enable_chunked_prefill = true,
		.blank_blocks_first = true,
		.retention_interval = 0,
		.default_max_tokens = KV_TOKENS_UNSET,
	};
}

void test_request_fini(struct kv_request *request)
{
	free((void *)request->prompt);
	free((void *)request->id);
	free((void *)request->tenant);
	free((void *)request->salt);
	free((void *)request->adapter);
}

void test_workload_fini(struct test_workload *workload)
{
	for (size_t i = 0; i < workload->count; i++)
		test_request_fini(&workload->requests[i]);
	free(workload->dependencies);
	free(workload->requests);
	for (int kind = 0; kind < KV_POLICY_KINDS; kind++)
		free(workload->policy[kind]);
	*workload = (struct test_workload){0};
}

static const char *copy_or_empty(const char *text)
{
	return kv_strdup(text != NULL ? text : "");
}

struct kv_request *test_workload_add(struct test_workload *workload, const struct kv_request *request)
{
	struct kv_request *copy;

	workload->requests = kv_grow(workload->requests, &workload->capacity, workload->count + 1, sizeof *copy);
	copy = &workload->requests[workload->count];
	*copy = *request;
	copy->index = workload->count++;
	copy->id = request->id != NULL ? kv_strdup(request->id) : NULL;
	copy->tenant = copy_or_empty(request->tenant);
	copy->salt = copy_or_empty(request->salt);
	copy->adapter = copy_or_empty(request->adapter);
	copy->prompt = kv_calloc(request->prompt_segments, sizeof *request->prompt);
	if (request->prompt_segments > 0)
		memcpy((void *)copy->prompt, request->prompt, request->prompt_segments * sizeof *request->prompt);
	return copy;
}

void test_request_append_segment(struct kv_request *request, struct kv_segment segment)
{
	struct kv_segment *prompt = kv_realloc((void *)request->prompt, request->prompt_segments + 1, sizeof *prompt);

	prompt[request->prompt_segments++] = segment;
	request->prompt = prompt;
	request->prompt_tokens += segment.length;
}

void test_workload_depend(struct test_workload *workload, struct test_dependency dependency)
{
	workload->dependencies = kv_grow(workload->dependencies, &workload->dependency_capacity,
	                                 workload->dependency_count + 1, sizeof *workload->dependencies);
	workload->dependencies[workload->dependency_count++] = dependency;
}

void test_request_append(struct kv_request *request, const char *name, uint32_t length)
{
	bool output = name[0] == '@';

	if (output)
		name++;
	test_request_append_segment(request, (struct kv_segment){.stream = kv_name_hash(name, (uint32_t)strlen(name)),
	                                            .length = length,
	                                            .kind = output ? KV_STREAM_OUTPUT : KV_STREAM_NAMED});
}

void test_workload_set_caps(struct test_workload *workload)
{
	struct kv_engine_config *config = &workload->config;

	for (uint32_t g = 0; g < config->groups; g++) {
		bool whole = config->step_order == KV_STEPS_PREFILL_FIRST && !config->enable_chunked_prefill;
		uint64_t reach = whole ? config->max_model_len :
		                         config->group[g].window - 1 + config->max_num_batched_tokens;

		config->admission_cap[g] = UINT64_MAX;
		if (config->group[g].kind == KV_GROUP_SLIDING_WINDOW)
			config->admission_cap[g] =
				kv_ceil_div(kv_min(reach, config->max_model_len), config->block_size) + 1;
	}
}

/* --- one run ------------------------------------------------------------------------------------------------------ */

enum progress { WAITS, DUE, GIVEN };

struct workload_source {
	struct kv_source source;
	const struct test_workload *workload;
	enum progress *progress;   /* of each request */
	kv_time *arrival;
	size_t given;              /* the last one that was handed out */
};

static bool is_warm(const struct test_workload *workload, size_t at)
{
	return workload->requests[at].index < workload->warm_before;
}

static const struct test_dependency *find_dependency(const struct test_workload *workload, size_t at)
{
	for (size_t i = 0; i < workload->dependency_count; i++)
		for (size_t j = 0; j < workload->count; j++)
			if (workload->dependencies[i].index == workload->requests[at].index &&
			    is_warm(workload, at) == is_warm(workload, j) &&
			    workload->dependencies[i].after == workload->requests[j].index)
				return &workload->dependencies[i];
	return NULL;
}

/* The first that is due, or the workload's count. */
static size_t first_due(const struct workload_source *self)
{
	size_t first = self->workload->count;

	for (size_t i = 0; i < self->workload->count; i++)
		if (self->progress[i] == DUE &&
		    (first == self->workload->count || self->arrival[i] < self->arrival[first] ||
		     (self->arrival[i] == self->arrival[first] &&
		      self->workload->requests[i].index < self->workload->requests[first].index)))
			first = i;
	return first;
}

static int next_request(struct kv_source *source, struct kv_request *out, struct kv_error *err)
{
	struct workload_source *self = (struct workload_source *)source;
	size_t first = first_due(self);

	(void)err;
	if (first == self->workload->count)
		return 0;
	*out = self->workload->requests[first];
	out->arrival = self->arrival[first];
	self->progress[first] = GIVEN;
	self->given = first;
	return 1;
}

static bool request_ended(struct kv_source *source, uint64_t index, enum kv_request_end end, kv_time time,
                          struct kv_request *pending, bool has_pending)
{
	struct workload_source *self = (struct workload_source *)source;
	struct kv_error err;
	size_t before = self->given;

	(void)end;
	for (size_t i = 0; i < self->workload->count; i++) {
		const struct test_dependency *dependency =
			self->progress[i] == WAITS ? find_dependency(self->workload, i) : NULL;

		if (dependency == NULL || dependency->after != index)
			continue;
		self->progress[i] = DUE;
		self->arrival[i] = time + dependency->think;
	}
	if (pending == NULL)
		return false;
	if (has_pending)
		self->progress[before] = DUE;
	return next_request(source, pending, &err) == 1 && (!has_pending || self->given != before);
}

static kv_time first_arrival(const struct test_workload *workload, bool warm)
{
	kv_time first = KV_TIME_MAX;

	for (size_t i = 0; i < workload->count; i++)
		if (is_warm(workload, i) == warm && workload->requests[i].arrival < first)
			first = workload->requests[i].arrival;
	return first;
}

static void source_init(struct workload_source *self, const struct test_workload *workload, bool warm)
{
	kv_time zero = workload->warm_before > 0 ? first_arrival(workload, warm) : 0;

	*self = (struct workload_source){.source = {.next = next_request}, .workload = workload};
	self->progress = kv_calloc(workload->count, sizeof *self->progress);
	self->arrival = kv_calloc(workload->count, sizeof *self->arrival);
	for (size_t i = 0; i < workload->count; i++) {
		self->progress[i] = find_dependency(workload, i) != NULL ? WAITS : DUE;
		self->arrival[i] = workload->requests[i].arrival - zero;
		if (is_warm(workload, i) != warm)
			self->progress[i] = GIVEN;
	}
	if (workload->dependency_count > 0)
		self->source.ended = request_ended;
}

static void source_fini(struct workload_source *self)
{
	free(self->progress);
	free(self->arrival);
}

static void parse_policies(const struct test_workload *workload, struct kv_engine_config *config)
{
	struct kv_error err;

	for (int kind = 0; kind < KV_POLICY_KINDS; kind++)
		if (workload->policy[kind] != NULL && kv_policy_parse((enum kv_policy_kind)kind, workload->policy[kind],
		                                                      &config->policy[kind], &err) != 0)
			give_up(err.text);
}

static struct kv_latency *make_latency(const struct test_workload *workload)
{
	if (workload->linear != NULL)
		return kv_latency_linear(workload->linear);
	return workload->roofline != NULL ? kv_latency_roofline(workload->roofline) :
	                                    kv_latency_fixed(workload->fixed_step);
}

void test_workload_run(const struct test_workload *workload, test_engine engine, struct kv_sink *sink,
                       struct kv_run_outcome *outcome)
{
	struct workload_source source, warm;
	struct kv_engine_config config = workload->config;
	struct kv_run_options options = workload->options;
	struct kv_latency *latency;
	struct kv_error err;

	source_init(&source, workload, false);
	source_init(&warm, workload, true);
	if (workload->warm_before > 0)
		options.warm = &warm.source;
	parse_policies(workload, &config);
	latency = make_latency(workload);
	config.latency = latency;
	if (engine(&config, &source.source, sink, &options, outcome, &err) != 0) {
		if (workload->warm_before == 0)
			give_up(err.text);
		*outcome = (struct kv_run_outcome){.stalled = true};
	}
	kv_latency_free(latency);
	source_fini(&source);
	source_fini(&warm);
	for (int kind = 0; kind < KV_POLICY_KINDS; kind++)
		kv_policy_use_fini(&config.policy[kind]);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Keys are taken one by one, so that one that nobody reads shows. */
static uint64_t take_count(json_t *object, const char *key, uint64_t fallback)
{
	json_t *value = json_object_get(object, key);
	uint64_t count = fallback;

	if (value != NULL && !json_is_integer(value) && !json_is_null(value))
		give_up(key);
	if (json_is_integer(value))
		count = (uint64_t)json_integer_value(value);
	json_object_del(object, key);
	return count;
}

static bool take_bool(json_t *object, const char *key, bool fallback)
{
	json_t *value = json_object_get(object, key);
	bool answer = value != NULL ? json_is_true(value) : fallback;

	json_object_del(object, key);
	return answer;
}

static double take_number(json_t *object, const char *key, double fallback)
{
	json_t *value = json_object_get(object, key);
	double number = value != NULL ? json_number_value(value) : fallback;

	json_object_del(object, key);
	return number;
}

static void expect_no_more(json_t *object)
{
	const char *key;
	json_t *value;

	json_object_foreach(object, key, value)
		give_up(key);
}

static void read_groups(struct kv_engine_config *config, json_t *groups)
{
	config->groups = (uint32_t)json_array_size(groups);
	for (uint32_t g = 0; g < config->groups; g++) {
		json_t *group = json_array_get(groups, g);
		bool full = strcmp(json_string_value(json_object_get(group, "kind")), "full") == 0;

		config->group[g] = (struct kv_group){
			.kind = full ? KV_GROUP_FULL : KV_GROUP_SLIDING_WINDOW,
			.layers = 1,
			.window = full ? 0 : (uint32_t)json_integer_value(json_object_get(group, "window")),
		};
	}
}

static void read_policies(struct test_workload *workload, json_t *config)
{
	json_t *scheduling = json_object_get(config, "scheduling_policy");
	const char *key;
	json_t *value;

	if (!take_bool(config, "enable_prefix_caching", true))
		test_workload_set_policy(workload, KV_POLICY_PREFIX, "none");
	if (!take_bool(config, "scheduler_reserve_full_isl", true))
		test_workload_set_policy(workload, KV_POLICY_ADMISSION, "greedy");
	if (scheduling != NULL && strcmp(json_string_value(scheduling), "priority") == 0) {
		test_workload_set_policy(workload, KV_POLICY_SCHEDULING, "priority");
		test_workload_set_policy(workload, KV_POLICY_PREEMPTION, "priority");
	}
	json_object_del(config, "scheduling_policy");
	json_object_foreach(json_object_get(config, "policies"), key, value)
		for (int kind = 0; kind < KV_POLICY_KINDS; kind++)
			if (strcmp(key, kv_policy_kind_name((enum kv_policy_kind)kind)) == 0)
				test_workload_set_policy(workload, (enum kv_policy_kind)kind, json_string_value(value));
	json_object_del(config, "policies");
}

static void read_scope(struct kv_engine_config *config, json_t *object)
{
	const char *scope = json_string_value(json_object_get(object, "cache_scope"));

	if (scope != NULL && strcmp(scope, "tenant") == 0)
		config->cache_scope = KV_SCOPE_TENANT;
	else if (scope != NULL && strcmp(scope, "request") == 0)
		config->cache_scope = KV_SCOPE_REQUEST;
	json_object_del(object, "cache_scope");
}

static void read_config(struct test_workload *workload, json_t *object)
{
	struct kv_engine_config *config = &workload->config;
	uint64_t blocks = take_count(object, "num_blocks", 0);

	if (blocks == 0 || take_bool(object, "async_scheduling", false))
		give_up("num_blocks or async_scheduling");
	config->usable_blocks = blocks - 1;
	config->watermark_blocks = (uint64_t)(take_number(object, "watermark", 0) * (double)blocks);
	config->block_size = (uint32_t)take_count(object, "block_size", config->block_size);
	config->max_num_seqs = (uint32_t)take_count(object, "max_num_seqs", config->max_num_seqs);
	config->max_num_batched_tokens = take_count(object, "max_num_batched_tokens", config->max_num_batched_tokens);
	config->max_model_len = (uint32_t)take_count(object, "max_model_len", config->max_model_len);
	config->long_prefill_token_threshold = (uint32_t)take_count(object, "long_prefill_token_threshold", 0);
	config->enable_chunked_prefill = take_bool(object, "enable_chunked_prefill", true);
	config->step_order = take_bool(object, "prefill_first", false) ? KV_STEPS_PREFILL_FIRST : KV_STEPS_MIXED;
	config->max_prefill_tokens = take_count(object, "max_prefill_tokens", UINT64_MAX);
	config->blank_blocks_first = take_bool(object, "blank_blocks_first", true);
	config->retention_interval = take_count(object, "prefix_cache_retention_interval", KV_RETAIN_ALL);
	config->refuse_impossible = take_bool(object, "refuse_impossible", false);
	config->max_concurrency = (uint32_t)take_count(object, "max_concurrency", 0);
	config->frontend = (kv_time)take_count(object, "frontend", 0) * workload->fixed_step;
	config->default_max_tokens = (uint32_t)take_count(object, "default_max_tokens", KV_TOKENS_UNSET);
	config->default_max_tokens_is_output = take_bool(object, "default_max_tokens_is_output", false);
	workload->options.duration = (kv_time)take_count(object, "duration", 0) * workload->fixed_step;
	if (workload->options.duration == 0)
		workload->options.duration = KV_TIME_NONE;
	read_scope(config, object);
	read_policies(workload, object);
	if (json_object_get(object, "kv_groups") != NULL)
		read_groups(config, json_object_get(object, "kv_groups"));
	json_object_del(object, "kv_groups");
	for (uint32_t g = 0; g < config->groups; g++)
		config->group[g].block_size = config->block_size;
	test_workload_set_caps(workload);
	expect_no_more(object);
}

static const char *text_of(json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* [["name", length], ...], "name:length ..." or a number of tokens that nobody shares. */
static void read_prompt(struct kv_request *request, json_t *prompt)
{
	json_t *segment;
	size_t i;

	if (json_is_integer(prompt))
		test_request_append_segment(request, (struct kv_segment){.length = (uint32_t)json_integer_value(prompt),
		                                            .kind = KV_STREAM_PRIVATE});
	if (json_is_string(prompt)) {
		char *text = kv_strdup(json_string_value(prompt)), *rest = text, *item;

		while ((item = strsep(&rest, " ")) != NULL) {
			char *name = strsep(&item, ":");

			test_request_append(request, name, (uint32_t)strtoul(item, NULL, 10));
		}
		free(text);
	}
	json_array_foreach(prompt, i, segment)
		test_request_append(request, json_string_value(json_array_get(segment, 0)),
		                    (uint32_t)json_integer_value(json_array_get(segment, 1)));
}

static void read_request(struct test_workload *workload, json_t *object)
{
	struct kv_request plain = {
		.id = text_of(object, "id"),
		.tenant = text_of(object, "tenant"),
		.salt = text_of(object, "salt"),
		.adapter = text_of(object, "adapter"),
		.arrival = json_integer_value(json_object_get(object, "arrive")) * workload->fixed_step,
		.retrieval = json_integer_value(json_object_get(object, "retrieval")) * workload->fixed_step,
		.deadline = KV_TIME_NONE,
		.output_tokens = (uint32_t)json_integer_value(json_object_get(object, "out")),
		.max_tokens = KV_TOKENS_UNSET,
		.priority = json_integer_value(json_object_get(object, "priority")),
		.output_nameable = true,
	};
	struct kv_request *request = test_workload_add(workload, &plain);

	if (json_object_get(object, "deadline") != NULL)
		request->deadline = json_integer_value(json_object_get(object, "deadline")) * workload->fixed_step;
	if (json_object_get(object, "max_tokens") != NULL)
		request->max_tokens = (uint32_t)json_integer_value(json_object_get(object, "max_tokens"));
	read_prompt(request, json_object_get(object, "prompt"));
}

void test_workload_read(struct test_workload *workload, json_t *config, json_t *requests)
{
	json_t *copy = json_deep_copy(config);
	json_t *request;
	size_t i;

	read_config(workload, copy);
	json_decref(copy);
	json_array_foreach(requests, i, request)
		read_request(workload, request);
}

FILE *test_open(const char *path)
{
	FILE *file = fopen(path, "r");

	if (file == NULL) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(KV_EXIT_MISSING);
	}
	return file;
}

json_t *test_next_object(FILE *file, const char *path)
{
	json_error_t error;
	json_t *object;
	int c;

	do {
		c = getc(file);
	} while (isspace(c));
	if (c == EOF)
		return NULL;
	ungetc(c, file);
	object = json_loadf(file, JSON_DISABLE_EOF_CHECK, &error);
	if (object == NULL) {
		fprintf(stderr, "%s: %s\n", path, error.text);
		exit(KV_EXIT_DATA);
	}
	return object;
}
