#include "config.h"

#include "sim/sizing/log_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/sizing/log_lines.h"
#include "sim/sizing/log_patterns.h"

/* How many lines a wrapped one may take, and how far into a log the name of a value may itself be broken (its value may
 * anywhere): starts are logged within that. */
enum { WINDOW = 3, BROKEN_WORDING_LINES = 20000, JOINED_LENGTH = WINDOW * (KV_LOG_LINE_LENGTH + 1) };

#define VERSION_SIGNS "abcdefghijklmnopqrstuvwxyz0123456789.+-_"

/* The last lines, the newest last. */
struct reader {
	struct kv_log *log;
	size_t held;
	struct kv_log_line *line[WINDOW];
	char text[WINDOW][KV_LOG_LINE_LENGTH], rank[WINDOW][KV_LOG_RANK_LENGTH];
	struct kv_log_line lines[WINDOW];
	bool cache_begun;                      /* the line before the newest begins a llama.cpp cache, without its sizes */
	char joined[JOINED_LENGTH];
};

/* What stands between `before` and the next quote, comma, blank or bracket. */
static void take_text(const char *line, const char *before, char *out, size_t size)
{
	const char *at = strstr(line, before);
	size_t length;

	if (!at)
		return;
	at += strlen(before);
	at += *at == '\'' || *at == '"';
	length = strcspn(at, "'\", )");
	snprintf(out, size, "%.*s", (int)length, at);
}

static void take_version(struct kv_log *log, const char *line)
{
	const char *at = strstr(line, "LLM engine (v");

	if (at)
		at += strlen("LLM engine (v");
	else if ((at = strstr(line, "API server version ")) != NULL)
		at += strlen("API server version ");
	else if ((at = strstr(line, "█  version ")) != NULL)
		at += strlen("█  version ");
	if (at)
		snprintf(log->version, sizeof log->version, "%.*s", (int)strspn(at, VERSION_SIGNS), at);
}

static void take_texts(struct kv_log *log, const char *line)
{
	take_version(log, line);
	take_text(line, "'kv_cache_dtype': ", log->kv_dtype, sizeof log->kv_dtype);
	take_text(line, "'quantization': ", log->quantization, sizeof log->quantization);
	if (strstr(line, "non-default args"))
		take_text(line, "'model': ", log->model, sizeof log->model);
	if (strstr(line, "with config: ")) {
		take_text(line, "model=", log->model, sizeof log->model);
		take_text(line, " dtype=", log->dtype, sizeof log->dtype);
		take_text(line, "kv_cache_dtype=", log->kv_dtype, sizeof log->kv_dtype);
		take_text(line, " quantization=", log->quantization, sizeof log->quantization);
	}
	if (strstr(line, "server_args")) {
		take_text(line, "model_path=", log->model, sizeof log->model);
		take_text(line, "kv_cache_dtype=", log->kv_dtype, sizeof log->kv_dtype);
	}
	if (strstr(line, "KV Cache is allocated"))
		take_text(line, "dtype: ", log->kv_dtype, sizeof log->kv_dtype);
	if (strstr(line, "Using KV cache dtype: "))
		take_text(line, "Using KV cache dtype: ", log->kv_dtype, sizeof log->kv_dtype);
}

static void add_llama_cache(struct kv_log *log, const struct kv_log_cache *cache, unsigned number)
{
	struct kv_log_cache *added = &log->cache[log->caches];

	log->engine = KV_LOG_LLAMA_CPP;
	if (log->caches == KV_LOG_CACHES) {
		if (!log->caches_left_out++)
			kv_remark(&log->notes, "more than %d caches: those from line %u on are left out", KV_LOG_CACHES, number);
		return;
	}
	*added = *cache;
	added->size.half = added->first.half = added->second.half = 0.005;
	added->size.line = added->first.line = added->second.line = number;
	log->caches++;
}

static const char *find_llama_cache(const char *line)
{
	const char *at = strstr(line, "llama_kv_cache");

	return at ? at : strstr(line, "llama_memory_recurrent");
}

/* "llama_kv_cache: size = 4096.00 MiB (131072 cells, 8 layers, 1/1 seqs), K (f16): 2048.00 MiB, V (f16): ..." */
static void take_llama_cache(struct kv_log *log, const char *line, unsigned number)
{
	const char *at = find_llama_cache(line), *size = strstr(line, "size = "), *sizes, *more;
	struct kv_log_cache cache = {.streams = 1};

	if (!at || !size)
		return;
	cache.recurrent = strncmp(at, "llama_memory_recurrent", strlen("llama_memory_recurrent")) == 0;
	sizes = strstr(size, "), ");
	if (!sizes)
		return;
	if (sscanf(size, "size = %lf MiB ( %lf cells, %lf layers, %lf/%lf", &cache.size.number, &cache.cells,
	           &cache.layers, &cache.seqs, &cache.streams) < 4)
		return;
	if (sscanf(sizes, "), %*c (%15[a-z0-9_]): %lf MiB, %*c (%15[a-z0-9_]): %lf", cache.first_type,
	           &cache.first.number, cache.second_type, &cache.second.number) != 4)
		return;
	more = strstr(size, "seqs ");
	if (more && more < sizes)
		cache.snapshots = strtod(more + strlen("seqs "), NULL);
	more = strstr(sizes, "P (");
	if (more && sscanf(more, "P (%*[a-z0-9_]): %lf", &cache.third.number) == 1)
		cache.third.half = 0.005;
	add_llama_cache(log, &cache, number);
}

/* ik_llama.cpp's "KV self size  = 1166.62 MiB, c^KV (q8_0): 1166.62 MiB, kv^T: not used": latents, transposed. */
static bool read_latents(const char *size, struct kv_log_cache *cache)
{
	const char *also = strstr(size, "kv^T (");

	if (sscanf(size, "KV self size = %lf MiB, c^KV (%15[a-z0-9_]): %lf", &cache->size.number, cache->first_type,
	           &cache->first.number) != 3)
		return false;
	if (also)
		cache->transposed = sscanf(also, "kv^T (%15[a-z0-9_]): %lf", cache->second_type, &cache->second.number) == 2;
	return true;
}

/* Until 2025: "llama_kv_cache_init: kv_size = 32768, ..., n_layer = 64, ...", then "KV self size  = 4352.00 MiB, K
 * (q8_0): 2176.00 MiB, V (q8_0): 2176.00 MiB". Where the first is missing the context has as many cells. */
static void take_old_llama_cache(struct kv_log *log, const char *line, unsigned number)
{
	const char *cells = strstr(line, "kv_size = "), *layers = strstr(line, "n_layer = ");
	const char *size = strstr(line, "KV self size");
	const struct kv_log_value *context = kv_log_get(log, KV_FACT_CONTEXT);
	struct kv_log_cache cache = {.cells = log->llama_cells, .layers = log->llama_layers, .seqs = 1, .streams = 1};

	if (cache.cells <= 0 && context)
		cache.cells = context->number;
	if (cells && layers) {
		log->llama_cells = strtod(cells + strlen("kv_size = "), NULL);
		log->llama_layers = strtod(layers + strlen("n_layer = "), NULL);
	}
	if (!size)
		return;
	if (sscanf(size, "KV self size = %lf MiB, K (%15[a-z0-9_]): %lf MiB, V (%15[a-z0-9_]): %lf", &cache.size.number,
	           cache.first_type, &cache.first.number, cache.second_type, &cache.second.number) == 5
	    || read_latents(size, &cache))
		add_llama_cache(log, &cache, number);
}

static bool has_pool(const struct kv_log *log, const char *rank)
{
	static const enum kv_fact pool[] = {KV_FACT_TOKENS, KV_FACT_BLOCKS, KV_FACT_STORABLE, KV_FACT_NEEDED,
	                                    KV_FACT_TOKENS_AGAIN};

	for (size_t f = 0; f < sizeof pool / sizeof *pool; f++)
		for (size_t i = 0; i < log->count[pool[f]]; i++)
			if (strncmp(log->value[pool[f]][i].rank, rank, strlen(rank)) == 0)
				return true;
	return log->caches > 0;
}

/* The first words of an engine, once it has told of its pool. Engines of several data parallel ranks speak in turn. */
static void notice_restart(struct kv_log *log, const struct kv_log_line *line)
{
	static const char *const first_words[] = {"Initializing a V1 LLM engine", "Initializing a V0 LLM engine",
	                                          "Initializing an LLM engine", "API server version",
	                                          "server_args=ServerArgs", "system_info: n_threads"};
	bool starts = false;

	for (size_t i = 0; i < sizeof first_words / sizeof *first_words; i++)
		starts |= strstr(line->text, first_words[i]) != NULL;
	if (starts && has_pool(log, line->rank))
		kv_log_start_anew(log, line->number);
}

/* --- wrapped lines ------------------------------------------------------------------------------------------------ */

/* Joins what is held, continuations without their indentation; start[] are the places where lines begin. */
static void join(struct reader *r, const char *separator, size_t start[WINDOW])
{
	size_t n = 0;

	for (size_t i = 0; i < r->held; i++) {
		const char *text = r->line[i]->text;

		if (i > 0)
			text += strspn(text, " \t#>|");
		n += (size_t)snprintf(r->joined + n, sizeof r->joined - n, "%s", i > 0 ? separator : "");
		start[i] = n;
		n += (size_t)snprintf(r->joined + n, sizeof r->joined - n, "%s", text);
	}
}

static bool may_be_wrapped(const struct reader *r)
{
	const struct kv_log_line *last = r->line[r->held - 1], *before = r->line[r->held - 2];
	const char *text = last->text + strspn(last->text, " \t#>|");
	bool open = last->open;

	for (size_t i = 0; i + 1 < r->held; i++)
		open |= r->line[i]->open;
	return open || r->cache_begun
	       || (last->number < BROKEN_WORDING_LINES && kv_log_wording_is_broken(before->text, text));
}

static void take_joined(struct reader *r)
{
	static const char *const separators[] = {" ", ""};
	size_t start[WINDOW], caches = r->log->caches;

	for (size_t i = 0; i < sizeof separators / sizeof *separators; i++) {
		join(r, separators[i], start);
		kv_log_match_joined(r->log, r->joined, r->line, start, r->held);
		if (r->cache_begun && r->log->caches == caches)
			take_llama_cache(r->log, r->joined + start[r->held - 2], r->line[r->held - 2]->number);
	}
}

static void let_go(struct reader *r, const struct kv_log_line *line, bool last)
{
	const char *wording = kv_log_broken_off(line, last);

	if (wording)
		kv_remark(&r->log->notes, "line %u breaks off after '%s'", line->number, wording);
}

/* Room for one more line, the oldest makes way. */
static struct kv_log_line *next_line(struct reader *r)
{
	struct kv_log_line *oldest = r->line[0];

	if (r->held < WINDOW) {
		r->lines[r->held] = (struct kv_log_line){.text = r->text[r->held], .rank = r->rank[r->held]};
		r->line[r->held] = &r->lines[r->held];
		return r->line[r->held++];
	}
	let_go(r, oldest, false);
	memmove(r->line, r->line + 1, (WINDOW - 1) * sizeof *r->line);
	return r->line[WINDOW - 1] = oldest;
}

static void take_line(struct reader *r, const char *text, size_t length)
{
	struct kv_log_line *line = next_line(r);
	size_t slot = (size_t)(line - r->lines), caches = r->log->caches;

	line->number = r->log->lines;
	kv_log_plain_line(text, length, r->text[slot]);
	kv_log_find_rank(line->text, r->rank[slot]);
	notice_restart(r->log, line);
	kv_log_match_line(r->log, line);
	take_texts(r->log, line->text);
	take_llama_cache(r->log, line->text, line->number);
	take_old_llama_cache(r->log, line->text, line->number);
	if (r->held > 1 && may_be_wrapped(r))
		take_joined(r);
	r->cache_begun = r->log->caches == caches && find_llama_cache(line->text) && strstr(line->text, "size = ");
}

/* What is longer than the longest line is taken in pieces, as if it were wrapped. */
static void take_whole_line(struct reader *r, const char *text, size_t length)
{
	r->log->lines++;
	do {
		size_t piece = length < KV_LOG_LINE_LENGTH - 1 ? length : KV_LOG_LINE_LENGTH - 1;

		take_line(r, text, piece);
		text += piece;
		length -= piece;
	} while (length > 0);
}

struct kv_log *kv_log_parse(const char *text, size_t length, const char *name, struct kv_error *err)
{
	struct reader *r = kv_calloc(1, sizeof *r);
	struct kv_log *log = kv_calloc(1, sizeof *log);
	const char *end = text + length;

	r->log = log;
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((stop ? stop : end) - text);

		take_whole_line(r, text, n);
		text += n + 1;
	}
	for (size_t i = 0; i < r->held; i++)
		let_go(r, r->line[i], i + 1 == r->held && length > 0 && end[-1] != '\n');
	free(r);
	if (log->engine != KV_LOG_UNKNOWN)
		return log;
	kv_fail(err, KV_EXIT_DATA,
	        "%s: %s%u lines, none of which vLLM, SGLang, TensorRT-LLM or llama.cpp prints about its memory at "
	        "start-up%s%s", name, length ? "" : "empty: ", log->lines, log->notes.count ? ": " : "",
	        log->notes.count ? log->notes.text[0] : "");
	kv_log_free(log);
	return NULL;
}
