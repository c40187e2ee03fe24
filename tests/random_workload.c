#include "config.h"

#include "tests/random_workload.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

#define REQUESTS_MAX 40
#define CROWD_MAX 200

struct plan {
	gsl_rng *rng;
	struct test_workload *workload;
	uint32_t typical;     /* tokens of a prompt */
	bool blocks_by_hash;  /* prompts as lists of block ids */
	bool explicit_ids;
	bool wants_salts;
	bool deadlines;       /* some clients give up */
	bool crowd;           /* many requests at once, with long outputs */
	bool starved;         /* prompts about as large as the pool, and no gate: the land of stalls and livelocks */
	kv_time now;
};

/* first <= value <= last. */
static uint32_t between(struct plan *plan, uint32_t first, uint32_t last)
{
	return first + (uint32_t)gsl_rng_uniform_int(plan->rng, last - first + 1);
}

static bool chance(struct plan *plan, unsigned percent)
{
	return gsl_rng_uniform_int(plan->rng, 100) < percent;
}

static uint32_t pick(struct plan *plan, const uint32_t *values, size_t count)
{
	return values[gsl_rng_uniform_int(plan->rng, count)];
}

#define PICK(plan, ...) \
	pick(plan, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* --- the deployment ----------------------------------------------------------------------------------------------- */

static bool is_for_runs(const struct kv_policy *policy, enum kv_policy_kind kind)
{
	return policy->kind == kind && !(kind == KV_POLICY_EVICTION && policy->hooks.eviction.refuses);
}

static void set_random_policy(struct plan *plan, enum kv_policy_kind kind)
{
	uint32_t count = 0, chosen;

	for (const struct kv_policy *const *p = kv_policy_registry; *p != NULL; p++)
		count += is_for_runs(*p, kind);
	chosen = between(plan, 0, count - 1);
	for (const struct kv_policy *const *p = kv_policy_registry; *p != NULL; p++)
		if (is_for_runs(*p, kind) && chosen-- == 0)
			test_workload_set_policy(plan->workload, kind, (*p)->name);
}

/* Parameters that make small workloads meet what the policies do. */
static void set_eviction_parameters(struct plan *plan)
{
	static const char *const tuned[] = {
		"slru,uses=3", "s3-fifo,small=0.3,promote=1", "s3-fifo,small=0.02,ghosts=0.2",
		"s3-fifo,small=0.5,ghosts=4,promote=3",
		"ttl,ttl=20us", "ttl,ttl=1ms", "ttl,ttl=3s", "ttl,ttl=40s",
		"priority,head_tokens=13,head=90,decode=10",
		"priority,head_tokens=40,head=10,prompt=80,decode=50,prompt_duration=5s",
		"priority,prompt=20,prompt_duration=2ms,decode=70,decode_duration=30us",
		"priority,head_tokens=64,head=100,head_duration=20s,prompt=35,decode=35,decode_duration=7s",
		"cost-aware,double_at=10", "cost-aware,double_at=100", "tail-optimised,threshold=30,turn=8",
		"tail-optimised,threshold=90,turn=20", "tail-optimised,threshold=10,turn=0",
	};
	const char *text = tuned[between(plan, 0, sizeof tuned / sizeof *tuned - 1)];

	test_workload_set_policy(plan->workload, KV_POLICY_EVICTION, text);
}

static void starve(struct plan *plan)
{
	struct kv_engine_config *config = &plan->workload->config;
	uint64_t request_blocks = kv_ceil_div(plan->typical, config->block_size) * config->groups;

	config->usable_blocks = request_blocks * between(plan, 5, 12) / 10 + 1;
	config->refuse_impossible = false;
	config->max_num_seqs = between(plan, 1, 4);
	config->max_num_batched_tokens = between(plan, 2, plan->typical + 2);
	config->long_prefill_token_threshold = chance(plan, 50) ? between(plan, 1, plan->typical) : 0;
	test_workload_set_policy(plan->workload, KV_POLICY_ADMISSION, "greedy");
	if (chance(plan, 60))
		test_workload_set_policy(plan->workload, KV_POLICY_PREFIX, "none");
}

/* Policies of the door and of growth with parameters that bite in workloads this small. */
static void choose_admission(struct plan *plan)
{
	static const char *const texts[] = {
		"queue-limit,requests=2", "queue-limit,requests=5,tokens=200,gate=greedy", "rate-limit,rate=100,burst=3",
		"rate-limit,rate=2000,burst=90,count=tokens,per=all,gate=no-evict", "deadline,margin=0.5",
		"deadline,margin=3",
		"static-batch,size=3", "growth-ratio,steps=20", "growth-ratio,initial=0.3,clip=8,retraction_steps=2",
		"reserve-fraction,learn=1", "reserve-fraction,learn=3,fraction=1.5",
		"growth-ratio,conservativeness=2,steps=7"
	};

	if (chance(plan, 60))
		test_workload_set_policy(plan->workload, KV_POLICY_ADMISSION,
		                         texts[between(plan, 0, sizeof texts / sizeof texts[0] - 1)]);
	else
		set_random_policy(plan, KV_POLICY_ADMISSION);
}

static void choose_scheduling(struct plan *plan)
{
	static const char *const texts[] = {
		"longest-prefix-match,limit=3", "fair-share,input=0", "fair-share,output=0.3", "longest-prefix-match",
		"longest-prefix-match,put_back=3", "longest-prefix-match,put_back=10", "longest-prefix-match,put_back=0"
	};

	if (chance(plan, 40))
		test_workload_set_policy(plan->workload, KV_POLICY_SCHEDULING,
		                         texts[between(plan, 0, sizeof texts / sizeof texts[0] - 1)]);
	else
		set_random_policy(plan, KV_POLICY_SCHEDULING);
}

/* A tree whose leaves go as a whole takes blocks on demand and an order among leaves. */
static void choose_radix(struct plan *plan)
{
	static const char *const orders[] = {
		"lru", "lru", "lfu", "fifo", "mru", "filo", "slru", "slru,uses=3", "priority"
	};

	test_workload_set_policy(plan->workload, KV_POLICY_ALLOCATION, "paged");
	test_workload_set_policy(plan->workload, KV_POLICY_PREFIX, "radix");
	test_workload_set_policy(plan->workload, KV_POLICY_EVICTION,
	                         orders[between(plan, 0, sizeof orders / sizeof *orders - 1)]);
}

/* Blocks that may be found in part go from the leaves of their tree by age. */
static void choose_partial_block(struct plan *plan)
{
	static const char *const texts[] = {
		"partial-block", "partial-block", "partial-block,copy=false", "partial-block,context=5,decode=90",
		"partial-block,context=90,decode=5", "partial-block,context=30,decode=30,copy=false"
	};

	test_workload_set_policy(plan->workload, KV_POLICY_ALLOCATION, "paged");
	test_workload_set_policy(plan->workload, KV_POLICY_PREFIX,
	                         texts[between(plan, 0, sizeof texts / sizeof *texts - 1)]);
	test_workload_set_policy(plan->workload, KV_POLICY_EVICTION, "lru");
}

static void choose_policies(struct plan *plan)
{
	if (chance(plan, 60))
		choose_admission(plan);
	if (chance(plan, 60))
		choose_scheduling(plan);
	if (chance(plan, 60))
		set_random_policy(plan, KV_POLICY_PREEMPTION);
	if (chance(plan, 50))
		set_random_policy(plan, KV_POLICY_EVICTION);
	else if (chance(plan, 60))
		set_eviction_parameters(plan);
	if (chance(plan, 20))
		test_workload_set_policy(plan->workload, KV_POLICY_PREFIX, "none");
	if (chance(plan, 20))
		set_random_policy(plan, KV_POLICY_ALLOCATION);
	if (chance(plan, 25))
		choose_radix(plan);
	else if (chance(plan, 25))
		choose_partial_block(plan);
}

static bool is_contiguous(const struct test_workload *workload)
{
	const struct kv_policy *policy = kv_policy_find(KV_POLICY_ALLOCATION, workload->policy[KV_POLICY_ALLOCATION]);

	return policy->hooks.allocation.contiguous;
}

/* Blocks on demand, and all of them for good: what preemption can swap. */
static bool is_plain(const struct test_workload *workload)
{
	bool plain = !is_contiguous(workload);

	for (uint32_t g = 0; g < workload->config.groups; g++)
		plain &= workload->config.group[g].kind != KV_GROUP_SLIDING_WINDOW;
	return plain;
}

static bool has_tree(const struct test_workload *workload)
{
	const char *prefix = workload->policy[KV_POLICY_PREFIX];

	return strcmp(prefix, "radix") == 0 || strncmp(prefix, "partial-block", strlen("partial-block")) == 0;
}

static void set_group(struct plan *plan, uint32_t group, enum kv_group_kind kind, uint32_t window)
{
	plan->workload->config.group[group] = (struct kv_group){
		.kind = kind,
		.layers = 1,
		.window = window,
		.block_size = plan->workload->config.block_size,
	};
}

static void choose_groups(struct plan *plan)
{
	struct kv_engine_config *config = &plan->workload->config;
	uint32_t shape = between(plan, 0, 99);
	uint32_t window = between(plan, 2, 6 * config->block_size + 2);
	uint32_t other = chance(plan, 70) ? window : between(plan, 2, 6 * config->block_size + 2);
	uint32_t windowed = between(plan, 1, 3);

	config->groups = 0;
	if (shape < 85)
		set_group(plan, config->groups++, chance(plan, 90) ? KV_GROUP_FULL : KV_GROUP_MLA, 0);
	if (shape >= 45 && shape < 50)
		set_group(plan, config->groups++, KV_GROUP_FULL, 0);
	for (uint32_t i = 0; shape >= 50 && i < windowed; i++)
		set_group(plan, config->groups++, KV_GROUP_SLIDING_WINDOW, i == 0 ? window : other);
	config->retention_interval = chance(plan, 50) ? 0 : KV_RETAIN_ALL;
}

/* Policies that set the allowed length aside can start nothing where that is out of all proportion. */
static void choose_model_length(struct plan *plan)
{
	struct test_workload *workload = plan->workload;
	bool reserves = strcmp(workload->policy[KV_POLICY_ADMISSION], "no-evict") == 0 ||
	                strcmp(workload->policy[KV_POLICY_ALLOCATION], "contiguous-max") == 0;

	if (chance(plan, reserves ? 10 : 70))
		workload->config.max_model_len = 100000;
	else
		workload->config.max_model_len = plan->typical * between(plan, 10, 60) / 10 + 2;
}

static void choose_step_order(struct plan *plan)
{
	struct kv_engine_config *config = &plan->workload->config;

	if (!chance(plan, 35))
		return;
	config->step_order = KV_STEPS_PREFILL_FIRST;
	config->max_prefill_tokens = PICK(plan, plan->typical, 2 * plan->typical, 16384);
	if (chance(plan, 50)) {
		test_workload_set_policy(plan->workload, KV_POLICY_ADMISSION, "growth-ratio");
		test_workload_set_policy(plan->workload, KV_POLICY_PREEMPTION, "fewest-outputs");
	}
}

static void choose_limits(struct plan *plan)
{
	struct kv_engine_config *config = &plan->workload->config;
	uint32_t request_blocks = (uint32_t)kv_ceil_div(plan->typical, config->block_size) * config->groups;

	/* In tenths of a typical request. */
	config->usable_blocks = 1 + request_blocks * (uint64_t)between(plan, 3, PICK(plan, 25, 40, 60, 100)) / 10;
	config->watermark_blocks = chance(plan, 25) ? between(plan, 1, 1 + (uint32_t)config->usable_blocks / 4) : 0;
	if (plan->crowd)
		config->usable_blocks *= between(plan, 10, 50);
	config->max_num_seqs = PICK(plan, 1, 2, 3, 4, 8, 64);
	if (plan->crowd)
		config->max_num_seqs = between(plan, 50, 150);
	config->max_num_batched_tokens = PICK(plan, 2, 3, 5, 8, 16, 32, 64, 100, 256, 2000);
	config->long_prefill_token_threshold = chance(plan, 25) ? between(plan, 1, plan->typical) : 0;
	config->enable_chunked_prefill = chance(plan, 85);
	if (!config->enable_chunked_prefill && chance(plan, 80))
		config->max_num_batched_tokens = plan->typical * between(plan, 2, 6);
	choose_step_order(plan);
	choose_model_length(plan);
	config->blank_blocks_first = chance(plan, 70);
	config->refuse_impossible = chance(plan, 80);
	config->default_max_tokens = chance(plan, 80) ? KV_TOKENS_UNSET : between(plan, 0, 2 * plan->typical);
	config->default_max_tokens_is_output = chance(plan, 20);
	config->max_concurrency = chance(plan, 25) ? between(plan, 1, 5) : 0;
	config->cache_scope = (enum kv_cache_scope)PICK(plan, KV_SCOPE_GLOBAL, KV_SCOPE_GLOBAL, KV_SCOPE_GLOBAL,
	                                               KV_SCOPE_TENANT, KV_SCOPE_REQUEST);
}

/* Victims go to host memory: of a few blocks, of about one request, or of any number. */
static void choose_swap(struct plan *plan)
{
	struct kv_engine_config *config = &plan->workload->config;
	uint32_t request_blocks = (uint32_t)kv_ceil_div(plan->typical, config->block_size) * config->groups;
	char text[64];

	snprintf(text, sizeof text, "%s,mode=swap", plan->workload->policy[KV_POLICY_PREEMPTION]);
	test_workload_set_policy(plan->workload, KV_POLICY_PREEMPTION, text);
	config->swap.blocks = PICK(plan, between(plan, 1, 4), between(plan, 1, 3 * request_blocks), 1000000);
	config->swap.block_bytes = between(plan, 1, 10000);
	config->swap.bandwidth = chance(plan, 20) ? UINT64_MAX : between(plan, 1000000, 1000000000);
}

/* Every aggregate of a step's work weighs enough to be seen in its duration. */
static const struct kv_latency_setup small_model = {
	.model = {.layers = 4, .hidden = 256, .linear_params = 1e6, .linear_bytes = 2e6, .head_params = 1e5,
	          .head_bytes = 2e5, .full_pair_flops = 1e5, .window_pair_flops = 7e4, .decode_pair_flops = 3e4,
	          .full_kv_bytes = 4096, .window_kv_bytes = 3072},
	.rates = {.compute_flops = 1e12, .attention_flops = 1e12, .memory_bandwidth = 1e11},
	.constants = {.ec = 0.5, .eb = 0.8, .ea = 0.6, .ea_half = 100, .ek = 0.7, .km = 0.6, .en = 0.6, .c0 = 1e-4,
	              .cl = 1e-6, .c1 = 1e-6, .cs = 1e-6},
	.tensor_parallel = 1,
	.pipeline_parallel = 1,
};

static void choose_times(struct plan *plan)
{
	struct test_workload *workload = plan->workload;

	workload->fixed_step = chance(plan, 50) ? KV_MILLISECOND : between(plan, 1, 3000);
	if (chance(plan, 40))
		workload->roofline = &small_model;
	if (chance(plan, 20))
		workload->config.frontend = workload->fixed_step * between(plan, 1, 4) / 2;
	if (chance(plan, 15))
		workload->options.duration = workload->fixed_step * between(plan, 1, 200);
}

static void choose_deployment(struct plan *plan)
{
	struct kv_engine_config *config = &plan->workload->config;

	config->block_size = PICK(plan, 1, 2, 3, 4, 4, 8, 8, 16);
	plan->typical = config->block_size * between(plan, 1, 12) + between(plan, 0, 3);
	choose_policies(plan);
	choose_groups(plan);
	/* Contiguous allocation goes with prefix none; it and trees with one group of full attention. */
	if (is_contiguous(plan->workload))
		test_workload_set_policy(plan->workload, KV_POLICY_PREFIX, "none");
	if (is_contiguous(plan->workload) || has_tree(plan->workload)) {
		config->groups = 1;
		set_group(plan, 0, KV_GROUP_FULL, 0);
	}
	choose_limits(plan);
	if (plan->starved)
		starve(plan);
	if (config->step_order == KV_STEPS_PREFILL_FIRST)
		config->max_num_batched_tokens = kv_ceil_div(config->max_num_batched_tokens, config->block_size) *
		                                 config->block_size;
	else if (is_plain(plan->workload) && chance(plan, 50))
		choose_swap(plan);
	choose_times(plan);
	test_workload_set_caps(plan->workload);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void append_named(struct plan *plan, struct kv_request *request, const char *kind, uint32_t names, uint32_t most)
{
	char name[32];

	snprintf(name, sizeof name, "%s%u", kind, between(plan, 0, names - 1));
	test_request_append(request, name, between(plan, 1, most));
}

static void append_private(struct plan *plan, struct kv_request *request, uint32_t most)
{
	test_request_append_segment(request, (struct kv_segment){.length = between(plan, 1, most),
	                                                         .kind = KV_STREAM_PRIVATE,
	                                                         .stream = between(plan, 0, 1)});
}

/* The prompt of an earlier request, what it generates, and something new. */
static void append_next_turn(struct plan *plan, struct kv_request *request)
{
	const struct test_workload *workload = plan->workload;
	struct kv_request *before = &workload->requests[between(plan, 0, (uint32_t)workload->count - 2)];
	char name[32];

	for (uint32_t i = 0; i < before->prompt_segments; i++)
		if (before->prompt[i].kind != KV_STREAM_PRIVATE)
			test_request_append_segment(request, before->prompt[i]);
	if (before->output_tokens > 0) {
		snprintf(name, sizeof name, "@r%u", (unsigned)before->index);
		if (before->id != NULL)
			snprintf(name, sizeof name, "@%s", before->id);
		test_request_append(request, name, between(plan, 1, before->output_tokens));
		before->output_nameable = true;
	}
	append_named(plan, request, "u", 1000, plan->typical / 2 + 1);
}

static void append_hash_blocks(struct plan *plan, struct kv_request *request)
{
	uint32_t blocks = between(plan, 1, plan->typical / plan->workload->config.block_size + 2);
	uint32_t id = 0;

	for (uint32_t i = 0; i < blocks; i++) {
		uint32_t size = plan->workload->config.block_size;

		/* Few branches near the root, many later. */
		id = id * 7 + between(plan, 0, 1 + i / 2) + 1;
		if (i + 1 == blocks)
			size = between(plan, 1, size);
		test_request_append_segment(request, (struct kv_segment){.stream = id, .length = size,
		                                                         .kind = KV_STREAM_BLOCK});
	}
}

static void fill_prompt(struct plan *plan, struct kv_request *request)
{
	if (plan->blocks_by_hash) {
		append_hash_blocks(plan, request);
		return;
	}
	if (request->index > 0 && chance(plan, 30)) {
		append_next_turn(plan, request);
		return;
	}
	if (chance(plan, 60))
		append_named(plan, request, "S", 2, plan->typical);
	if (chance(plan, 40))
		append_named(plan, request, "D", 4, plan->typical);
	if (chance(plan, 50) || request->prompt_tokens == 0) {
		if (chance(plan, 50))
			append_private(plan, request, plan->typical);
		else
			append_named(plan, request, "u", 1000, plan->typical);
	}
}

static const char *maybe(struct plan *plan, unsigned percent, const char *const *names, size_t count)
{
	return chance(plan, percent) ? names[gsl_rng_uniform_int(plan->rng, count)] : "";
}

static kv_time step_time(const struct plan *plan)
{
	return plan->workload->roofline != NULL ? 150000 : plan->workload->fixed_step;
}

/* Bursts, neighbours and long pauses. */
static void move_clock(struct plan *plan)
{
	kv_time step = step_time(plan);

	if (chance(plan, plan->crowd ? 95 : 40))
		return;
	if (chance(plan, 60))
		plan->now += step * between(plan, 1, 6);
	else if (chance(plan, 60))
		plan->now += between(plan, 1, (uint32_t)(4 * step));
	else
		plan->now += step * between(plan, 20, 100);
}

static void add_request(struct plan *plan)
{
	static const char *const tenants[] = {"red", "green", "blue"};
	static const char *const salts[] = {"red", "pepper"};
	static const char *const adapters[] = {"lora", "red"};
	char id[32];
	struct kv_request plain = {
		.id = plan->explicit_ids ? id : NULL,
		.arrival = plan->now,
		.retrieval = chance(plan, 15) ? plan->workload->fixed_step * between(plan, 1, 20) / 3 : 0,
		.deadline = chance(plan, plan->deadlines ? 60 : 0) ? step_time(plan) * between(plan, 0, 60) / 2 : KV_TIME_NONE,
		.output_tokens = chance(plan, 8) ? 0 : between(plan, 1, PICK(plan, 2, plan->typical, plan->typical,
		                                                             2 * plan->typical)),
		.max_tokens = chance(plan, 60) ? KV_TOKENS_UNSET : between(plan, 0, 3 * plan->typical),
		.priority = between(plan, 0, 3),
		.tenant = maybe(plan, 60, tenants, 3),
		.salt = maybe(plan, plan->wants_salts ? 40 : 0, salts, 2),
		.adapter = maybe(plan, plan->wants_salts ? 20 : 0, adapters, 2),
		.output_nameable = chance(plan, 30),
	};

	snprintf(id, sizeof id, "id-%u", (unsigned)plan->workload->count);
	fill_prompt(plan, test_workload_add(plan->workload, &plain));
	move_clock(plan);
}

static int by_arrival(const void *a, const void *b)
{
	const struct kv_request *x = a, *y = b;

	if (x->arrival != y->arrival)
		return x->arrival < y->arrival ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Rows of a file may be out of order in time: the source sorts them, and ties go by their place in the file. */
static void disorder(struct plan *plan)
{
	struct test_workload *workload = plan->workload;

	for (size_t i = 1; i < workload->count; i++)
		if (chance(plan, 30)) {
			kv_time time = workload->requests[i].arrival;

			workload->requests[i].arrival = workload->requests[i - 1].arrival;
			workload->requests[i - 1].arrival = time;
		}
	qsort(workload->requests, workload->count, sizeof *workload->requests, by_arrival);
}

/* Conversations: some requests follow the end of an earlier one, at once or after a while. */
static void make_dependent(struct plan *plan)
{
	struct test_workload *workload = plan->workload;
	uint32_t share = PICK(plan, 20, 50, 90);

	for (size_t i = 1; i < workload->count; i++)
		if (chance(plan, share))
			test_workload_depend(workload, (struct test_dependency){
				.index = i, .after = chance(plan, 50) ? i - 1 : between(plan, 0, (uint32_t)i - 1),
				.think = chance(plan, 40) ? 0 : workload->fixed_step * between(plan, 1, 20) / 3
			});
}

void test_workload_random(struct test_workload *workload, uint64_t seed)
{
	struct plan plan = {.rng = gsl_rng_alloc(gsl_rng_mt19937), .workload = workload};
	uint32_t count;

	gsl_rng_set(plan.rng, (unsigned long)seed);
	test_workload_init(workload);
	plan.crowd = chance(&plan, 3);
	plan.starved = !plan.crowd && chance(&plan, 5);
	choose_deployment(&plan);
	plan.blocks_by_hash = chance(&plan, 15);
	plan.explicit_ids = chance(&plan, 50);
	plan.wants_salts = chance(&plan, 30);
	plan.deadlines = chance(&plan, 30);
	count = plan.crowd ? between(&plan, REQUESTS_MAX, CROWD_MAX) : between(&plan, 1, REQUESTS_MAX);
	while (workload->count < count)
		add_request(&plan);
	if (chance(&plan, 15))
		disorder(&plan);
	if (chance(&plan, 20))
		make_dependent(&plan);
	if (chance(&plan, 25))
		workload->warm_before = between(&plan, 0, count);
	gsl_rng_free(plan.rng);
}

static bool is_listed(const uint64_t *indices, size_t count, uint64_t index)
{
	for (size_t i = 0; i < count; i++)
		if (indices[i] == index)
			return true;
	return false;
}

void test_workload_keep(struct test_workload *workload, const uint64_t *indices, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < workload->count; i++) {
		if (is_listed(indices, count, workload->requests[i].index))
			workload->requests[kept++] = workload->requests[i];
		else
			test_request_fini(&workload->requests[i]);
	}
	workload->count = kept;
}
