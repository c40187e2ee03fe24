/* Generated loads as a trace: the "file" is a description (workloads/load.h), a scenario with workload.generate or that
 * mapping alone. Sessions are made one at a time, in order of their first arrival; what follows a first request depends
 * on the answers.
 */
#include "config.h"

#include "workloads/formats.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/base/quantity.h"
#include "workloads/load.h"

enum { NAME_MAX_BYTES = 400, ITEMS_MAX = 1000 };

/* A piece of a prompt, its name in the arena of its list. */
struct item {
	enum kv_stream_kind kind;
	size_t name, length;
	uint32_t tokens;
};

struct content {
	struct item *items;
	size_t count, capacity;
	char *names;
	size_t names_length, names_capacity;
};

/* The last request of something that others follow. */
struct last {
	bool exists;
	uint64_t index;
	struct kv_root root;
};

/* A stream while it runs. */
struct run {
	struct kv_load_stream *stream;
	bool done, has_next;
	kv_time next;              /* arrival of the next session */
	uint64_t sessions, rows;
	struct last *clients;      /* of a closed loop */
};

struct session {
	struct run *run;
	kv_time arrival;
	char name[NAME_MAX_BYTES];
	char tenant[NAME_MAX_BYTES], adapter[40], salt[NAME_MAX_BYTES];
	struct last last;
};

struct generator {
	struct kv_reader reader;
	struct kv_trace *trace;
	struct kv_load load;
	struct run *runs;
	struct content base, history, chunks;   /* of the session at hand */
	struct content agent;                   /* of a sub-agent's session */
};

/* --- content ------------------------------------------------------------------------------------------------------ */

static void clear(struct content *content)
{
	content->count = content->names_length = 0;
}

static void content_fini(struct content *content)
{
	free(content->items);
	free(content->names);
}

static void add(struct content *content, enum kv_stream_kind kind, uint32_t tokens, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static void add(struct content *content, enum kv_stream_kind kind, uint32_t tokens, const char *format, ...)
{
	char name[NAME_MAX_BYTES];
	struct item *item;
	va_list args;

	if (tokens == 0)
		return;
	content->items = kv_grow(content->items, &content->capacity, content->count + 1, sizeof *content->items);
	item = &content->items[content->count++];
	va_start(args, format);
	vsnprintf(name, sizeof name, format, args);
	va_end(args);
	*item = (struct item){.kind = kind, .name = content->names_length, .length = strlen(name), .tokens = tokens};
	content->names = kv_grow(content->names, &content->names_capacity, content->names_length + item->length + 1, 1);
	memcpy(content->names + content->names_length, name, item->length + 1);
	content->names_length += item->length + 1;
}

static void put(struct kv_row *row, const struct content *content, uint64_t *sum)
{
	for (size_t i = 0; i < content->count; i++) {
		const struct item *item = &content->items[i];

		kv_row_named_segment(row, item->kind, content->names + item->name, item->length, item->tokens);
		*sum += item->tokens;
	}
}

/* Content that is revised: what is left of each version, from the first on. A revision keeps what precedes its edit. */
static void add_revised(struct content *content, const struct session *session, const char *of, uint32_t tokens,
                        const char *name)
{
	const struct kv_load_stream *stream = session->run->stream;
	struct content pieces = {0};
	unsigned version = 0;

	add(&pieces, KV_STREAM_NAMED, tokens, "%s", name);
	for (size_t i = 0; i < stream->revision_count && stream->revisions[i].at <= session->arrival; i++) {
		uint32_t keep = (uint32_t)(stream->revisions[i].edit * tokens), kept = 0;
		size_t count = 0;

		if (strcmp(stream->revisions[i].of, of) != 0)
			continue;
		while (count < pieces.count && kept < keep) {
			struct item *piece = &pieces.items[count++];

			piece->tokens = (uint32_t)kv_min(piece->tokens, keep - kept);
			kept += piece->tokens;
		}
		pieces.count = count;
		add(&pieces, KV_STREAM_NAMED, tokens - kept, "%s@v%u", name, ++version + 1);
	}
	for (size_t i = 0; i < pieces.count; i++)
		add(content, KV_STREAM_NAMED, pieces.items[i].tokens, "%s", pieces.names + pieces.items[i].name);
	content_fini(&pieces);
}

static void add_system(struct generator *self, const struct session *session)
{
	const struct kv_load_stream *stream = session->run->stream;
	char name[2 * NAME_MAX_BYTES];

	snprintf(name, sizeof name, "%s.system%s%s", stream->name, stream->system_per_tenant ? "." : "",
	         stream->system_per_tenant ? session->tenant : "");
	add_revised(&self->base, session, "system", stream->system_tokens, name);
}

static void add_document(struct generator *self, const struct session *session)
{
	const struct kv_load_stream *stream = session->run->stream;
	char name[NAME_MAX_BYTES], of[40];
	size_t document;

	if (stream->documents.count == 0)
		return;
	if (stream->deck != NULL)
		document = stream->deck[session->run->sessions % stream->deck_size];
	else
		document = kv_pool_choose(&stream->documents, stream->source.document);
	snprintf(of, sizeof of, "document-%zu", document);
	snprintf(name, sizeof name, "%s.%s", stream->name, of);
	add_revised(&self->base, session, of, stream->documents.tokens[document], name);
}

static void add_shots(struct generator *self, const struct session *session)
{
	const struct kv_load_stream *stream = session->run->stream;
	size_t items[ITEMS_MAX], count;

	if (stream->shots.count == 0)
		return;
	count = kv_pool_choose_some(&stream->shots, stream->source.shot, items, stream->shot_count);
	for (size_t i = 0; i < count; i++)
		add(&self->base, KV_STREAM_NAMED, stream->shots.tokens[items[i]], "%s.shot-%zu", stream->name,
		    items[i]);
}

static int compare_items(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

static void choose_chunks(struct generator *self, const struct session *session, struct content *content)
{
	const struct kv_load_stream *stream = session->run->stream;
	size_t items[ITEMS_MAX], count;

	(void)self;
	if (stream->chunks.count == 0)
		return;
	count = kv_pool_choose_some(&stream->chunks, stream->session[KV_LOAD_CHUNK], items, stream->chunk_count);
	if (stream->chunks_sorted)
		qsort(items, count, sizeof *items, compare_items);
	for (size_t i = 0; i < count; i++)
		add(content, KV_STREAM_NAMED, stream->chunks.tokens[items[i]], "%s.chunk-%zu", stream->name, items[i]);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static kv_time to_time(double seconds)
{
	return (kv_time)llrint(fmin(fmax(seconds, 0), KV_LOAD_MOST_SECONDS) * (double)KV_SECOND);
}

static uint64_t draw_turns(const struct kv_load_turns *turns, gsl_rng *rng)
{
	return kv_draw_whole(kv_draw_next(&turns->turns, rng), 1, KV_LOAD_MOST_TURNS);
}

struct lengths {
	uint32_t message, output;
};

static struct lengths draw_lengths(const struct kv_load_turns *turns, gsl_rng *const *sources)
{
	double message, output;

	kv_draw_pair(&turns->message, &turns->output, turns->correlation, sources[KV_LOAD_MESSAGE],
	             sources[KV_LOAD_OUTPUT], &message, &output);
	return (struct lengths){kv_draw_whole(message, 1, KV_TOKENS_MAX), kv_draw_whole(output, 0, KV_TOKENS_MAX)};
}

static struct kv_text text_of(struct kv_row *row, const char *text)
{
	return *text != '\0' ? kv_row_text(row, text, strlen(text)) : (struct kv_text){0};
}

/* Everything of a row but its content and what it depends on. */
static struct kv_row *begin_row(struct generator *self, const struct session *session, const char *id, uint32_t output,
                                gsl_rng *const *sources)
{
	const struct kv_load_stream *stream = session->run->stream;
	struct kv_row *row = kv_trace_begin(self->trace, 1);

	row->id = text_of(row, id);
	row->tenant = text_of(row, session->tenant);
	row->adapter = text_of(row, session->adapter);
	row->salt = text_of(row, session->salt);
	row->output_tokens = output;
	row->max_tokens = stream->max_tokens;
	row->priority = stream->priority;
	row->retrieval = to_time(kv_draw_next(&stream->retrieval, sources[KV_LOAD_RETRIEVAL]));
	if (stream->deadline.count > 0)
		row->deadline = to_time(kv_draw_next(&stream->deadline, sources[KV_LOAD_DEADLINE]));
	row->named = true;
	return row;
}

static int end_row(struct generator *self, struct run *run, struct kv_row *row, uint64_t sum, struct last *last)
{
	if (sum > KV_TOKENS_MAX)
		kv_row_fault(row, KV_FAULT_RANGE, "%s: a prompt of %" PRIu64 " tokens; allowed: at most %u",
		             kv_row_string(row, row->id), sum, KV_TOKENS_MAX);
	row->prompt_tokens = (uint32_t)kv_min(sum, KV_TOKENS_MAX);
	if (kv_trace_accept(self->trace) != 0)
		return -1;
	run->rows++;
	if (!row->faulty)
		*last = (struct last){true, row->index, kv_row_root(row)};
	return 0;
}

static void follow(struct kv_row *row, const struct last *last)
{
	if (last->exists)
		kv_row_depend(row, last->index, last->root);
}

static bool is_full(const struct run *run)
{
	return run->rows >= run->stream->requests;
}

/* A sub-agent's requests, each behind the one before, the first behind the session's last. */
static int make_subagent(struct generator *self, struct session *session, uint64_t turn, struct last *last)
{
	struct kv_load_stream *stream = session->run->stream;
	uint64_t turns;
	int status = 0;

	kv_load_restart(stream->key, stream->agent, session->run->sessions, turn + 1);
	turns = draw_turns(&stream->subagent, stream->agent[KV_LOAD_TURNS]);
	clear(&self->agent);
	add(&self->agent, KV_STREAM_NAMED, stream->subagent_system, "%s.subagent", stream->name);
	*last = session->last;
	for (uint64_t t = 0; t < turns && status == 0 && !is_full(session->run); t++) {
		struct lengths lengths = draw_lengths(&stream->subagent, stream->agent);
		char id[NAME_MAX_BYTES + 60];
		struct kv_row *row;
		uint64_t sum = 0;

		snprintf(id, sizeof id, "%s.%" PRIu64 ".a%" PRIu64, session->name, turn, t);
		add(&self->agent, KV_STREAM_NAMED, lengths.message, "%s.message", id);
		row = begin_row(self, session, id, lengths.output, stream->agent);
		put(row, &self->agent, &sum);
		follow(row, last);
		row->think = to_time(kv_draw_next(&stream->subagent.think, stream->agent[KV_LOAD_THINK]));
		status = end_row(self, session->run, row, sum, last);
		add(&self->agent, KV_STREAM_OUTPUT, lengths.output, "%s", id);
	}
	return status;
}

static void put_prompt(const struct generator *self, const struct kv_load_stream *stream, struct kv_row *row,
                       uint64_t *sum)
{
	if (stream->variable_first)
		put(row, &self->chunks, sum);
	put(row, &self->base, sum);
	put(row, &self->history, sum);
}

static int make_turn(struct generator *self, struct session *session, uint64_t turn, const struct last *joined)
{
	struct kv_load_stream *stream = session->run->stream;
	struct lengths lengths = draw_lengths(&stream->turns, stream->session);
	char id[NAME_MAX_BYTES + 30];
	struct kv_row *row;
	uint64_t sum = 0;
	int status;

	snprintf(id, sizeof id, "%s.%" PRIu64, session->name, turn);
	clear(&self->chunks);
	choose_chunks(self, session, stream->variable_first ? &self->chunks : &self->history);
	add(&self->history, KV_STREAM_NAMED, lengths.message, "%s.message", id);
	row = begin_row(self, session, id, lengths.output, stream->session);
	put_prompt(self, stream, row, &sum);
	if (turn == 0)
		row->arrival = session->arrival;
	if (turn > 0)
		row->think = to_time(kv_draw_next(&stream->turns.think, stream->session[KV_LOAD_THINK]));
	else if (session->last.exists)
		row->think = to_time(kv_draw_next(&stream->pause, stream->session[KV_LOAD_PAUSE]));
	follow(row, &session->last);
	follow(row, joined);
	status = end_row(self, session->run, row, sum, &session->last);
	add(&self->history, KV_STREAM_OUTPUT, lengths.output, "%s", id);
	return status;
}

/* --- sessions ----------------------------------------------------------------------------------------------------- */

static void choose_names(struct session *session)
{
	struct kv_load_stream *stream = session->run->stream;

	snprintf(session->name, sizeof session->name, "%s-%" PRIu64, stream->name, session->run->sessions);
	if (stream->tenants.count > 0)
		snprintf(session->tenant, sizeof session->tenant, "%s%zu", stream->tenant ? stream->tenant : "tenant-",
		         kv_pool_choose(&stream->tenants, stream->source.tenant));
	else if (stream->tenant != NULL)
		snprintf(session->tenant, sizeof session->tenant, "%s", stream->tenant);
	if (stream->adapters.count > 0)
		snprintf(session->adapter, sizeof session->adapter, "adapter-%zu",
		         kv_pool_choose(&stream->adapters, stream->source.adapter));
	if (stream->salt == KV_SALT_TENANT)
		snprintf(session->salt, sizeof session->salt, "%s", session->tenant);
	else if (stream->salt == KV_SALT_SESSION)
		snprintf(session->salt, sizeof session->salt, "%s", session->name);
}

static int make_turns(struct generator *self, struct session *session)
{
	struct kv_load_stream *stream = session->run->stream;
	uint64_t turns = draw_turns(&stream->turns, stream->session[KV_LOAD_TURNS]);
	struct last joined = {0};
	int status = 0;

	for (uint64_t turn = 0; turn < turns && status == 0 && !is_full(session->run); turn++) {
		status = make_turn(self, session, turn, &joined);
		joined.exists = false;
		if (status == 0 && stream->subagent_share > 0 && turn + 1 < turns &&
		    gsl_rng_uniform(stream->session[KV_LOAD_SUBAGENT]) < stream->subagent_share)
			status = make_subagent(self, session, turn, &joined);
	}
	return status;
}

static int make_session(struct generator *self, struct run *run)
{
	uint64_t clients = kv_arrivals_clients(&run->stream->arrivals);
	struct session session = {.run = run, .arrival = run->next};
	int status;

	kv_load_restart(run->stream->key, run->stream->session, run->sessions, 0);
	choose_names(&session);
	clear(&self->base);
	clear(&self->history);
	add_system(self, &session);
	add_shots(self, &session);
	add_document(self, &session);
	if (clients > 0)
		session.last = run->clients[run->sessions % clients];
	status = make_turns(self, &session);
	if (clients > 0)
		run->clients[run->sessions % clients] = session.last;
	run->sessions++;
	run->has_next = false;
	return status;
}

/* No more sessions begin. */
static void end_run(struct generator *self, struct run *run)
{
	uint64_t untimed;
	const char *path = kv_arrivals_untimed(&run->stream->arrivals, &untimed);

	run->done = true;
	if (untimed > 0)
		kv_trace_note(self->trace,
		              "stream %s: %" PRIu64 " rows of %s follow others and have no time of their own: they "
		              "are not taken as arrivals",
		              run->stream->name, untimed, path);
}

static int find_next(struct generator *self, struct run *run, struct kv_error *err)
{
	struct kv_load_stream *stream = run->stream;
	kv_time time;
	int status = 0;

	if (run->done || run->has_next)
		return 0;
	if (!is_full(run) && (stream->deck == NULL || run->sessions < stream->deck_size))
		status = kv_arrivals_next(&stream->arrivals, &time, err);
	if (status < 0)
		return -1;
	run->has_next = status == 1 && stream->start + time < stream->duration;
	if (run->has_next)
		run->next = stream->start + time;
	else
		end_run(self, run);
	return 0;
}

static int fill(struct kv_reader *reader, struct kv_error *err)
{
	struct generator *self = (struct generator *)reader;
	struct run *first = NULL;

	for (size_t i = 0; i < self->load.count; i++) {
		struct run *run = &self->runs[i];

		if (find_next(self, run, err) != 0)
			return -1;
		if (run->has_next && (first == NULL || run->next < first->next))
			first = run;
	}
	if (first == NULL)
		return 0;
	return make_session(self, first) == 0 ? 1 : -1;
}

/* --- the format --------------------------------------------------------------------------------------------------- */

static void close_generator(struct kv_reader *reader)
{
	struct generator *self = (struct generator *)reader;

	for (size_t i = 0; i < self->load.count && self->runs != NULL; i++)
		free(self->runs[i].clients);
	free(self->runs);
	kv_load_fini(&self->load);
	content_fini(&self->base);
	content_fini(&self->history);
	content_fini(&self->chunks);
	content_fini(&self->agent);
	free(self);
}

/* The whole input as a tree. */
static struct kv_node *read_tree(struct kv_input *input, struct kv_error *err)
{
	char *text = NULL;
	size_t length = 0, capacity = 0, got;
	struct kv_node *tree = NULL;
	const char *data;
	int status;

	while ((status = kv_input_chunk(input, &data, &got, err)) == 1) {
		text = kv_grow(text, &capacity, length + got, 1);
		memcpy(text + length, data, got);
		length += got;
	}
	if (status == 0)
		tree = kv_yaml_parse(text, length, kv_input_name(input), err);
	free(text);
	return tree;
}

/* The seed of a scenario, as kvsim run takes it. */
static int read_seed(struct kv_trace *trace, const struct kv_node *tree, struct kv_error *err)
{
	const struct kv_node *node = kv_node_get(tree, "seed");
	uint64_t seed;

	if (node == NULL)
		return 0;
	if (kv_node_expect(node, KV_NODE_SCALAR, KV_EXIT_USAGE, err) != 0)
		return -1;
	if (kv_parse_count(node->text, 0, UINT64_MAX, &seed, err) != 0)
		return kv_node_fail_in(node, err);
	kv_trace_name_seed(trace, seed);
	return 0;
}

static void start_runs(struct generator *self)
{
	self->runs = kv_calloc(self->load.count, sizeof *self->runs);
	for (size_t i = 0; i < self->load.count; i++) {
		uint64_t clients = kv_arrivals_clients(&self->load.streams[i].arrivals);

		self->runs[i].stream = &self->load.streams[i];
		if (clients > 0)
			self->runs[i].clients = kv_calloc(clients, sizeof *self->runs[i].clients);
	}
}

/* What --set changes in it. */
static int change(struct kv_trace *trace, struct kv_node *tree, struct kv_error *err)
{
	const struct kv_yaml_settings *settings = kv_trace_load_settings(trace);
	struct kv_node *description = kv_load_description(tree);

	for (size_t i = 0; settings != NULL && i < settings->count; i++) {
		char source[128];

		snprintf(source, sizeof source, "--set workload.generate.%s", settings->setting[i].path);
		if (kv_yaml_set(description, &settings->setting[i], source, err) != 0)
			return -1;
	}
	return 0;
}

static struct kv_reader *open_generator(struct kv_trace *trace, const struct kv_sniff *sniff, const void *params,
                                        struct kv_error *err)
{
	struct generator *self = kv_calloc(1, sizeof *self);
	struct kv_node *tree;

	(void)sniff;
	(void)params;
	self->reader = (struct kv_reader){.fill = fill, .close = close_generator};
	self->trace = trace;
	tree = read_tree(kv_trace_input(trace), err);
	if (tree != NULL && (read_seed(trace, tree, err) != 0 || change(trace, tree, err) != 0)) {
		kv_yaml_free(tree);
		tree = NULL;
	}
	if (tree == NULL || kv_load_read(&self->load, tree, trace, err) != 0) {
		close_generator(&self->reader);
		return NULL;
	}
	start_runs(self);
	kv_trace_declare(trace, KV_TRACE_PREFIX_IDENTITY | KV_TRACE_NAMEABLE_OUTPUTS | KV_TRACE_DEPENDENT |
	                 KV_TRACE_ANY_COLUMN | KV_TRACE_DRAWN);
	return &self->reader;
}

static bool detect(const struct kv_sniff *sniff)
{
	return sniff->json == NULL && (kv_sniff_contains(sniff, "generate:") || kv_sniff_contains(sniff, "arrivals:"));
}

const struct kv_format kv_format_generator = {
	.name = "generator",
	.summary = "a description of a load in YAML: requests are drawn from it",
	.rules = "The file is a scenario with workload.generate, or that mapping alone. Everything random is drawn "
	         "with the run's seed, each quantity from a source of its own: the same seed gives the same bytes, and "
	         "changing one knob leaves the others alone. Later turns arrive a think time after the answer before "
	         "them.",
	.detect = detect,
	.open = open_generator
};
