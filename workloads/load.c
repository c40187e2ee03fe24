#include "config.h"

#include "workloads/load.h"

#include <endian.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>
#include <xxhash.h>

#include "sim/base/memory.h"
#include "workloads/load_values.h"

/* What reading one stream needs. */
struct reader {
	struct kv_trace *trace;
	const struct kv_node *root;     /* the description */
	const struct kv_node *node;     /* the stream's own mapping */
	struct kv_load_stream *stream;
	struct kv_error *err;
};

/* A key of the stream, or what the description says for all streams. */
static const struct kv_node *find(const struct reader *r, const char *key)
{
	const struct kv_node *node = kv_node_get(r->node, key);

	return node != NULL ? node : kv_node_get(r->root, key);
}

#define EXPECT_KEYS(node, err, ...) \
	kv_node_expect_keys(node, (const char *const[]){__VA_ARGS__}, \
	                    sizeof(const char *const[]){__VA_ARGS__} / sizeof(const char *), KV_EXIT_USAGE, err)

/* --- sources ------------------------------------------------------------------------------------------------------ */

static gsl_rng *make_source(const struct reader *r, const char *purpose)
{
	char name[300];

	snprintf(name, sizeof name, "%.200s %s", r->stream->name, purpose);
	return kv_trace_random(r->trace, name);
}

static void make_sources(const struct reader *r)
{
	struct kv_load_stream *stream = r->stream;
	struct kv_load_sources *source = &stream->source;
	gsl_rng *sessions = make_source(r, "sessions");

	stream->key = (uint64_t)gsl_rng_get(sessions) << 32 | gsl_rng_get(sessions);
	gsl_rng_free(sessions);
	for (int i = 0; i < KV_LOAD_PURPOSES; i++) {
		stream->session[i] = gsl_rng_alloc(gsl_rng_taus2);
		stream->agent[i] = gsl_rng_alloc(gsl_rng_taus2);
	}
	source->document = make_source(r, "document");
	source->shot = make_source(r, "shot");
	source->tenant = make_source(r, "tenant");
	source->adapter = make_source(r, "adapter");
}

void kv_load_restart(uint64_t key, gsl_rng *const *sources, uint64_t session, uint64_t agent)
{
	for (uint64_t purpose = 0; purpose < KV_LOAD_PURPOSES; purpose++) {
		const uint64_t place[] = {htole64(purpose), htole64(session), htole64(agent)};

		gsl_rng_set(sources[purpose], (uint32_t)XXH3_64bits_withSeed(place, sizeof place, key));
	}
}

/* Lengths of a pool have a source of their own, so that more choices leave them alone. */
static void fill_pool(const struct reader *r, struct kv_pool *pool, uint64_t count, double popularity,
                      const struct kv_draw *tokens, const char *purpose)
{
	gsl_rng *lengths = make_source(r, purpose);

	kv_pool_init(pool, (size_t)count, popularity, tokens, lengths);
	gsl_rng_free(lengths);
}

/* --- what descriptions get wrong ---------------------------------------------------------------------------------- */

#define TOLD_DIFFERENCE 0.01

/* Tells where bounds change a mean that was asked for; values below `floor` become that. */
static void note_means(const struct reader *r, const char *mapping, const char *key, const struct kv_draw *draw,
                       double floor)
{
	double given, actual;

	for (size_t i = 0; i < draw->count; i++)
		if (kv_draw_means(draw, i, floor, &given, &actual) && fabs(actual - given) > TOLD_DIFFERENCE * given)
			kv_trace_note(r->trace, "stream %s: %s%s has a mean of %.4g, not %.4g, as its bounds cut it",
			              r->stream->name, mapping, key, actual, given);
}

/* A key that nothing would read for want of what it needs. */
static int refuse_without(const struct reader *r, const struct kv_node *mapping, const char *key, bool present,
                          const char *needed)
{
	const struct kv_node *node = kv_node_get(mapping, key);

	if (node == NULL || present)
		return 0;
	return kv_node_fail(node, KV_EXIT_USAGE, r->err, "changes nothing without %s: give that too, or leave it out",
	                    needed);
}

/* What is rounded to at least 1 must be able to reach it. */
static int refuse_nothing(const struct reader *r, const struct kv_node *mapping, const char *key,
                          const struct kv_draw *draw)
{
	if (kv_draw_largest(draw) >= 0.5)
		return 0;
	return kv_node_fail(kv_node_get(mapping, key), KV_EXIT_USAGE, r->err, "is 0; allowed: at least 1");
}

/* --- parts of a stream -------------------------------------------------------------------------------------------- */

/* prefix: what the mapping is called in notes. */
static int read_turns(const struct reader *r, const struct kv_node *mapping, const char *prefix,
                      struct kv_load_turns *turns)
{
	if (kv_read_draw(mapping, "turns", "1", KV_LOAD_MOST_TURNS, &turns->turns, r->err) != 0 ||
	    kv_read_draw(mapping, "message", "lognormal,mean=300,cv=1.5,min=5,max=100000", KV_TOKENS_MAX,
	                 &turns->message, r->err) != 0 ||
	    kv_read_draw(mapping, "output", "lognormal,mean=250,cv=1,min=1,max=8000", KV_TOKENS_MAX, &turns->output,
	                 r->err) != 0 ||
	    kv_read_draw(mapping, "think", "lognormal,mean=20,cv=1", KV_LOAD_MOST_SECONDS, &turns->think, r->err) !=
	            0 ||
	    refuse_nothing(r, mapping, "turns", &turns->turns) != 0 ||
	    refuse_nothing(r, mapping, "message", &turns->message) != 0)
		return -1;
	note_means(r, prefix, "turns", &turns->turns, 1);
	note_means(r, prefix, "message", &turns->message, 1);
	note_means(r, prefix, "output", &turns->output, 0);
	note_means(r, prefix, "think", &turns->think, 0);
	return kv_read_double(mapping, "correlation", -1, 1, &turns->correlation, r->err);
}

static bool has_later_turns(const struct kv_load_turns *turns)
{
	return kv_draw_largest(&turns->turns) >= 1.5;
}

static int read_system(const struct reader *r)
{
	static const char *const per[] = {"stream", "tenant", NULL};
	const struct kv_node *node = kv_node_get(r->node, "system");
	uint64_t tokens = 0;
	unsigned choice = 0;

	if (node == NULL)
		return 0;
	if (EXPECT_KEYS(node, r->err, "tokens", "per") != 0)
		return -1;
	if (kv_node_get(node, "tokens") == NULL)
		return kv_node_fail(node, KV_EXIT_USAGE, r->err, "needs tokens");
	if (kv_read_count(node, "tokens", 1, KV_TOKENS_MAX, &tokens, r->err) != 0 ||
	    kv_read_choice(node, "per", per, &choice, r->err) != 0)
		return -1;
	r->stream->system_tokens = (uint32_t)tokens;
	r->stream->system_per_tenant = choice == 1;
	return 0;
}

/* count, tokens and popularity of a pool; other keys are the caller's. */
static int read_pool(const struct reader *r, const struct kv_node *node, struct kv_pool *pool, bool has_tokens,
                     const char *purpose)
{
	struct kv_draw tokens = {0};
	uint64_t count = 0;
	double popularity = 0;
	int status = 0;

	if (kv_node_get(node, "count") == NULL || (has_tokens && kv_node_get(node, "tokens") == NULL))
		return kv_node_fail(node, KV_EXIT_USAGE, r->err, "needs count%s", has_tokens ? " and tokens" : "");
	if (kv_read_count(node, "count", 1, 10000000, &count, r->err) != 0 ||
	    kv_read_double(node, "popularity", 0, 20, &popularity, r->err) != 0)
		return -1;
	if (has_tokens) {
		status = kv_read_draw(node, "tokens", "1", KV_TOKENS_MAX, &tokens, r->err);
		if (status == 0)
			status = refuse_nothing(r, node, "tokens", &tokens);
		if (status == 0)
			note_means(r, "", purpose, &tokens, 1);
	}
	if (status == 0)
		fill_pool(r, pool, count, popularity, has_tokens ? &tokens : NULL, purpose);
	kv_draw_fini(&tokens);
	return status;
}

static int read_documents(const struct reader *r)
{
	const struct kv_node *node = kv_node_get(r->node, "documents");

	if (node == NULL)
		return 0;
	if (EXPECT_KEYS(node, r->err, "count", "tokens", "popularity") != 0)
		return -1;
	return read_pool(r, node, &r->stream->documents, true, "document lengths");
}

/* A pool of which some different items are taken at a time. */
static int read_some(const struct reader *r, const struct kv_node *node, struct kv_pool *pool, size_t *some,
                     const char *purpose)
{
	uint64_t pick = 1;

	if (read_pool(r, node, pool, true, purpose) != 0 ||
	    kv_read_count(node, "pick", 1, kv_min(pool->count, 1000), &pick, r->err) != 0)
		return -1;
	*some = pick;
	return 0;
}

static int read_shots(const struct reader *r)
{
	const struct kv_node *node = kv_node_get(r->node, "few_shot");

	if (node == NULL)
		return 0;
	if (EXPECT_KEYS(node, r->err, "count", "tokens", "popularity", "pick") != 0)
		return -1;
	return read_some(r, node, &r->stream->shots, &r->stream->shot_count, "shot lengths");
}

static int read_chunks(const struct reader *r)
{
	const struct kv_node *node = kv_node_get(r->node, "chunks");

	if (node == NULL)
		return 0;
	if (EXPECT_KEYS(node, r->err, "count", "tokens", "popularity", "pick", "sorted") != 0 ||
	    kv_read_bool(node, "sorted", &r->stream->chunks_sorted, r->err) != 0)
		return -1;
	return read_some(r, node, &r->stream->chunks, &r->stream->chunk_count, "chunk lengths");
}

static int read_tenants(const struct reader *r)
{
	static const char *const salts[] = {"none", "tenant", "session", NULL};
	const struct kv_node *tenants = kv_node_get(r->node, "tenants"), *adapters = kv_node_get(r->node, "adapters");
	unsigned salt = KV_SALT_NONE;

	if (kv_read_text(r->node, "tenant", &r->stream->tenant, r->err) != 0 ||
	    kv_read_choice(r->node, "salt", salts, &salt, r->err) != 0)
		return -1;
	r->stream->salt = (enum kv_load_salt)salt;
	if (tenants != NULL && (EXPECT_KEYS(tenants, r->err, "count", "popularity") != 0 ||
	                        read_pool(r, tenants, &r->stream->tenants, false, "tenants") != 0))
		return -1;
	if (adapters != NULL && (EXPECT_KEYS(adapters, r->err, "count", "popularity") != 0 ||
	                         read_pool(r, adapters, &r->stream->adapters, false, "adapters") != 0))
		return -1;
	return 0;
}

static int read_subagents(const struct reader *r)
{
	const struct kv_node *node = kv_node_get(r->node, "subagents");
	uint64_t system = 0;

	if (node == NULL)
		return 0;
	if (EXPECT_KEYS(node, r->err, "share", "turns", "message", "output", "think", "correlation", "system_tokens")
	            != 0 ||
	    kv_read_fraction(node, "share", &r->stream->subagent_share, r->err) != 0 ||
	    kv_read_count(node, "system_tokens", 0, KV_TOKENS_MAX, &system, r->err) != 0)
		return -1;
	if (kv_node_get(node, "share") == NULL)
		return kv_node_fail(node, KV_EXIT_USAGE, r->err, "needs share");
	r->stream->subagent_system = (uint32_t)system;
	return read_turns(r, node, "subagents.", &r->stream->subagent);
}

static bool has_content(const struct kv_load_stream *stream, const char *name)
{
	unsigned long long document;
	char canonical[40];

	if (strcmp(name, "system") == 0)
		return stream->system_tokens > 0;
	if (sscanf(name, "document-%llu", &document) != 1 || document >= stream->documents.count)
		return false;
	snprintf(canonical, sizeof canonical, "document-%llu", document);
	return strcmp(canonical, name) == 0;
}

static int read_revision(const struct reader *r, const struct kv_node *node, struct kv_load_revision *revision)
{
	static const char *const keys[] = {"at", "of", "edit_at"};

	if (kv_node_expect_keys(node, keys, 3, KV_EXIT_USAGE, r->err) != 0)
		return -1;
	if (kv_node_get(node, "at") == NULL || kv_node_get(node, "of") == NULL)
		return kv_node_fail(node, KV_EXIT_USAGE, r->err,
		                    "a revision needs at (a time) and of (system, or document-N)");
	if (kv_read_time(kv_node_get(node, "at"), &revision->at, r->err) != 0 ||
	    kv_read_text(node, "of", &revision->of, r->err) != 0 ||
	    kv_read_fraction(node, "edit_at", &revision->edit, r->err) != 0)
		return -1;
	if (!has_content(r->stream, revision->of))
		return kv_node_fail(node, KV_EXIT_USAGE, r->err,
		                    "of: '%s' cannot be revised; allowed: system and document-0, document-1, ... where "
		                    "the stream has them (system: %u tokens, documents: %zu)",
		                    revision->of, r->stream->system_tokens, r->stream->documents.count);
	return 0;
}

static int read_revisions(const struct reader *r)
{
	const struct kv_node *node = kv_node_get(r->node, "revisions");
	struct kv_load_stream *stream = r->stream;

	if (node == NULL)
		return 0;
	if (kv_node_expect(node, KV_NODE_SEQUENCE, KV_EXIT_USAGE, r->err) != 0)
		return -1;
	stream->revisions = kv_calloc(node->children, sizeof *stream->revisions);
	for (; stream->revision_count < node->children; stream->revision_count++) {
		size_t i = stream->revision_count;

		if (read_revision(r, &node->child[i], &stream->revisions[i]) != 0)
			return -1;
		if (i > 0 && stream->revisions[i].at < stream->revisions[i - 1].at)
			return kv_node_fail(&node->child[i], KV_EXIT_USAGE, r->err, "revisions stand in order of time");
	}
	return 0;
}

/* SGLang's generated-shared-prefix: groups of prompts behind a system prompt each, in random order. */
static int read_shared_prefix(const struct reader *r)
{
	static const char *const names[] = {"gsp_num_groups", "gsp_prompts_per_group", "gsp_system_prompt_len",
	                                    "gsp_question_len", "gsp_output_len"};
	static const char *const replaced[] = {"documents", "message", "output"};
	uint64_t values[] = {64, 16, 2048, 128, 256};
	struct kv_load_stream *stream = r->stream;
	struct kv_draw tokens;
	char text[40];
	bool any = false;

	for (int i = 0; i < 5; i++) {
		any |= kv_node_get(r->node, names[i]) != NULL;
		if (kv_read_count(r->node, names[i], 1, i < 2 ? 1000000 : KV_TOKENS_MAX, &values[i], r->err) != 0)
			return -1;
	}
	if (!any)
		return 0;
	for (int i = 0; i < 3; i++)
		if (kv_node_get(r->node, replaced[i]) != NULL)
			return kv_node_fail(kv_node_get(r->node, replaced[i]), KV_EXIT_USAGE, r->err,
			                    "gsp_... and %s exclude each other", replaced[i]);
	snprintf(text, sizeof text, "%" PRIu64, values[2]);
	kv_draw_parse(&tokens, text, "", r->err);
	fill_pool(r, &stream->documents, values[0], 0, &tokens, "document lengths");
	kv_draw_fini(&tokens);
	kv_draw_fini(&stream->turns.message);
	kv_draw_fini(&stream->turns.output);
	snprintf(text, sizeof text, "%" PRIu64, values[3]);
	kv_draw_parse(&stream->turns.message, text, "", r->err);
	snprintf(text, sizeof text, "%" PRIu64, values[4]);
	kv_draw_parse(&stream->turns.output, text, "", r->err);
	stream->deck_size = values[0] * values[1];
	stream->deck = kv_calloc(stream->deck_size, sizeof *stream->deck);
	for (size_t i = 0; i < stream->deck_size; i++)
		stream->deck[i] = i / values[1];
	gsl_ran_shuffle(stream->source.document, stream->deck, stream->deck_size, sizeof *stream->deck);
	return 0;
}

/* --- streams ------------------------------------------------------------------------------------------------------ */

static int read_limits(const struct reader *r)
{
	struct kv_load_stream *stream = r->stream;
	const struct kv_node *requests = find(r, "requests");

	stream->requests = UINT64_MAX;
	stream->duration = KV_TIME_MAX;
	if (kv_read_time(kv_node_get(r->node, "start"), &stream->start, r->err) != 0 ||
	    kv_read_time(find(r, "duration"), &stream->duration, r->err) != 0)
		return -1;
	if (requests == NULL)
		return 0;
	return kv_read_count(kv_node_get(r->node, "requests") != NULL ? r->node : r->root, "requests", 1,
	                     UINT64_MAX / 2, &stream->requests, r->err);
}

static int read_arrivals(const struct reader *r)
{
	struct kv_load_stream *stream = r->stream;
	const struct kv_node *arrivals = kv_node_get(r->node, "arrivals");
	bool single = kv_node_get(r->node, "turns") == NULL && stream->subagent_share == 0;
	uint64_t total = stream->deck != NULL ? kv_min(stream->deck_size, stream->requests) : stream->requests;

	if (arrivals == NULL)
		return kv_node_fail(r->node, KV_EXIT_USAGE, r->err, "stream %s needs arrivals", stream->name);
	if (stream->requests == UINT64_MAX && stream->duration == KV_TIME_MAX && stream->deck == NULL &&
	    strncmp(arrivals->text != NULL ? arrivals->text : "", "trace,", 6) != 0)
		return kv_node_fail(r->node, KV_EXIT_USAGE, r->err, "stream %s never ends: give requests or duration",
		                    stream->name);
	if (kv_arrivals_init(&stream->arrivals, arrivals, kv_node_get(r->node, "curve"),
	                     single && total != UINT64_MAX ? total : 0, make_source(r, "arrivals"), r->err) != 0)
		return -1;
	if (kv_arrivals_clients(&stream->arrivals) == 0)
		return 0;
	if (stream->requests == UINT64_MAX && stream->deck == NULL)
		return kv_node_fail(arrivals, KV_EXIT_USAGE, r->err, "a closed loop needs requests; duration does not end it, since "
		                    "when its sessions begin is known only as it runs (--duration of kvsim run cuts the run)");
	if (kv_node_get(r->node, "duration") != NULL)
		return kv_node_fail(kv_node_get(r->node, "duration"), KV_EXIT_USAGE, r->err, "does not end a closed loop: when its "
		                    "sessions begin is known only as it runs. Leave it out (--duration of kvsim run cuts the run)");
	return 0;
}

/* Keys that are read and then looked at by nobody. */
static int refuse_dead_keys(const struct reader *r)
{
	const struct kv_load_stream *stream = r->stream;
	const struct kv_node *system = kv_node_get(r->node, "system"), *node = r->node;
	bool turns = has_later_turns(&stream->turns), tenants = stream->tenants.count > 0;
	bool closed = kv_arrivals_clients(&stream->arrivals) > 0;

	if (refuse_without(r, node, "think", turns, "turns above 1") != 0 ||
	    refuse_without(r, node, "subagents", turns, "turns above 1") != 0 ||
	    refuse_without(r, node, "order", stream->chunks.count > 0, "chunks") != 0 ||
	    refuse_without(r, node, "pause", closed, "arrivals: closed") != 0)
		return -1;
	if (system != NULL && stream->system_per_tenant && refuse_without(r, system, "per", tenants, "tenants") != 0)
		return -1;
	if (stream->salt == KV_SALT_TENANT)
		return refuse_without(r, node, "salt", tenants || stream->tenant != NULL, "a tenant or tenants");
	return 0;
}

static int read_stream(const struct reader *r)
{
	static const char *const orders[] = {"stable-first", "variable-first", NULL};
	struct kv_load_stream *stream = r->stream;
	uint64_t max_tokens = KV_TOKENS_UNSET, priority = 0;
	unsigned order = 0;

	make_sources(r);
	if (read_limits(r) != 0 || read_turns(r, r->node, "", &stream->turns) != 0 ||
	    kv_read_draw(r->node, "pause", "0", KV_LOAD_MOST_SECONDS, &stream->pause, r->err) != 0 ||
	    kv_read_draw(r->node, "retrieval", "0", KV_LOAD_MOST_SECONDS, &stream->retrieval, r->err) != 0 ||
	    kv_read_count(r->node, "max_tokens", 1, KV_TOKENS_MAX, &max_tokens, r->err) != 0 ||
	    kv_read_count(r->node, "priority", 0, 1000000, &priority, r->err) != 0 ||
	    kv_read_choice(r->node, "order", orders, &order, r->err) != 0)
		return -1;
	stream->max_tokens = (uint32_t)max_tokens;
	stream->priority = (int64_t)priority;
	stream->variable_first = order == 1;
	note_means(r, "", "pause", &stream->pause, 0);
	note_means(r, "", "retrieval", &stream->retrieval, 0);
	if (kv_node_get(r->node, "deadline") != NULL &&
	    kv_read_draw(r->node, "deadline", "0", KV_LOAD_MOST_SECONDS, &stream->deadline, r->err) != 0)
		return -1;
	if (read_system(r) != 0 || read_documents(r) != 0 || read_shots(r) != 0 || read_chunks(r) != 0 ||
	    read_tenants(r) != 0 || read_subagents(r) != 0 || read_shared_prefix(r) != 0 || read_revisions(r) != 0)
		return -1;
	return read_arrivals(r) != 0 ? -1 : refuse_dead_keys(r);
}

static int expect_stream_keys(const struct kv_node *node, bool is_root, struct kv_error *err)
{
	static const char *const keys[] = {
		"streams", "requests", "duration", "name", "start", "arrivals", "curve", "turns", "think", "pause",
		"message",
		"output", "correlation", "max_tokens", "priority", "retrieval", "deadline", "tenant", "tenants",
		"adapters", "salt", "system",
		"few_shot", "documents", "chunks", "order", "subagents", "revisions", "gsp_num_groups",
		"gsp_prompts_per_group",
		"gsp_system_prompt_len", "gsp_question_len", "gsp_output_len"
	};
	size_t skipped = is_root ? 0 : 1;

	return kv_node_expect_keys(node, keys + skipped, sizeof keys / sizeof *keys - skipped, KV_EXIT_USAGE, err);
}

/* With streams, the description itself says only what holds for all of them. */
static int expect_common_keys(const struct kv_node *node, struct kv_error *err)
{
	static const char *const keys[] = {"streams", "requests", "duration"};

	return kv_node_expect_keys(node, keys, sizeof keys / sizeof *keys, KV_EXIT_USAGE, err);
}

static int read_named_stream(struct kv_load *load, struct reader *r, size_t i)
{
	r->stream = &load->streams[i];
	r->stream->name = "load";
	if (expect_stream_keys(r->node, r->node == r->root, r->err) != 0 ||
	    kv_read_text(r->node, "name", &r->stream->name, r->err) != 0)
		return -1;
	for (size_t other = 0; other < i; other++)
		if (strcmp(load->streams[other].name, r->stream->name) == 0)
			return kv_node_fail(r->node, KV_EXIT_USAGE, r->err,
			                    "two streams are called %s: give each its own name", r->stream->name);
	load->count = i + 1;
	return read_stream(r);
}

struct kv_node *kv_load_description(struct kv_node *tree)
{
	const struct kv_node *workload = kv_node_get(tree, "workload");
	const struct kv_node *generate = kv_node_get(workload != NULL ? workload : tree, "generate");

	return generate != NULL ? (struct kv_node *)generate : tree;
}

int kv_load_read(struct kv_load *load, struct kv_node *tree, struct kv_trace *trace, struct kv_error *err)
{
	struct reader r = {.trace = trace, .err = err};
	const struct kv_node *streams;

	*load = (struct kv_load){.tree = tree};
	r.root = r.node = kv_load_description(tree);
	if (kv_node_expect(r.root, KV_NODE_MAPPING, KV_EXIT_USAGE, err) != 0)
		return -1;
	if (kv_node_get(r.root, "workload") != NULL)
		return kv_node_fail(kv_node_get(r.root, "workload"), KV_EXIT_USAGE, err,
		                    "has no generate: this scenario replays a trace");
	streams = kv_node_get(r.root, "streams");
	if (streams == NULL) {
		load->streams = kv_calloc(1, sizeof *load->streams);
		return read_named_stream(load, &r, 0);
	}
	if (expect_common_keys(r.root, err) != 0 || kv_node_expect(streams, KV_NODE_SEQUENCE, KV_EXIT_USAGE, err) != 0)
		return -1;
	if (streams->children == 0)
		return kv_node_fail(streams, KV_EXIT_USAGE, err, "has no streams; allowed: at least one");
	load->streams = kv_calloc(streams->children, sizeof *load->streams);
	for (size_t i = 0; i < streams->children; i++) {
		r.node = &streams->child[i];
		if (read_named_stream(load, &r, i) != 0)
			return -1;
	}
	return 0;
}

static void turns_fini(struct kv_load_turns *turns)
{
	kv_draw_fini(&turns->turns);
	kv_draw_fini(&turns->message);
	kv_draw_fini(&turns->output);
	kv_draw_fini(&turns->think);
}

static void sources_fini(gsl_rng *const *sources, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (sources[i] != NULL)
			gsl_rng_free(sources[i]);
}

static void stream_fini(struct kv_load_stream *stream)
{
	const struct kv_load_sources *source = &stream->source;

	kv_arrivals_fini(&stream->arrivals);
	turns_fini(&stream->turns);
	turns_fini(&stream->subagent);
	kv_draw_fini(&stream->pause);
	kv_draw_fini(&stream->retrieval);
	kv_draw_fini(&stream->deadline);
	kv_pool_fini(&stream->tenants);
	kv_pool_fini(&stream->adapters);
	kv_pool_fini(&stream->shots);
	kv_pool_fini(&stream->documents);
	kv_pool_fini(&stream->chunks);
	free(stream->revisions);
	free(stream->deck);
	sources_fini((gsl_rng *const[]){source->document, source->shot, source->tenant, source->adapter}, 4);
	sources_fini(stream->session, KV_LOAD_PURPOSES);
	sources_fini(stream->agent, KV_LOAD_PURPOSES);
}

void kv_load_fini(struct kv_load *load)
{
	for (size_t i = 0; i < load->count; i++)
		stream_fini(&load->streams[i]);
	free(load->streams);
	kv_yaml_free(load->tree);
}
