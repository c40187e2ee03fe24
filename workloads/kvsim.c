/* The native trace: CSV with a header, or JSON lines with the same keys.
 *
 * A prompt is a list of segments, "name:length" separated by blanks in CSV and [["name", length], ...] in JSON; the
 * length follows the last colon. "@id" names what request id generates: it stands earlier in the file and generates at
 * least that many tokens. Where ids are explicit, that and their uniqueness are checked; where rows are called r0, r1,
 * ... by default, a reference is only checked to point backwards. "#7" is block 7 of a trace of hash ids, which stands
 * for its tokens and everything before them; "*" is content that nothing else has. The column content is prompt without
 * "@": it says that nothing in the file refers to what requests generate, which then needs no identity.
 *
 * A row with `after` arrives think_s after the last of the requests named there has ended; in JSON lines, and where
 * prompts refer to them, requests need explicit ids to be named. What they depend on stands before them, so that there
 * are no cycles.
 */
#include "config.h"

#include "workloads/formats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "workloads/block_ids.h"
#include "workloads/csv.h"
#include "workloads/ids.h"
#include "workloads/jsonl.h"

enum { SECONDS = 9, NAME_SHOWN = 80 };

#define SEGMENT_ALLOWED "name:length segments separated by blanks, lengths from 1 to 1000000000"

/* What is remembered of a request that others may depend on. */
struct place {
	uint64_t index;
	struct kv_root root;
};

struct native {
	struct kv_trace *trace;
	bool explicit_ids;      /* a request_id has been seen, or its column, or one that refers to ids */
	bool dependencies;      /* rows may depend on others */
	bool nameable;          /* prompts may contain what requests generate */
	struct kv_ids ids;      /* name hash to output tokens */
	struct kv_ids numbers;  /* name hash to number in places; only with dependencies */
	struct place *places;
	size_t place_count, place_capacity;
};

/* The number k of a name of the form r<k>, as rows are called by default; UINT64_MAX for others. */
static uint64_t default_number(const char *name, size_t length)
{
	uint64_t number = 0;

	if (length < 2 || length > 19 || name[0] != 'r' || (name[1] == '0' && length > 2))
		return UINT64_MAX;
	for (size_t i = 1; i < length; i++) {
		if (name[i] < '0' || name[i] > '9')
			return UINT64_MAX;
		number = number * 10 + (uint64_t)(name[i] - '0');
	}
	return number;
}

static void check_reference(struct native *native, struct kv_row *row, const char *id, size_t length, uint32_t tokens)
{
	const uint32_t *output = kv_ids_find(&native->ids, kv_name_hash(id, (uint32_t)length));
	int shown = length < NAME_SHOWN ? (int)length : NAME_SHOWN;

	if (!native->nameable)
		kv_row_fault(row, KV_FAULT_REFERENCE,
		             "content: @%.*s: what requests generate can be named in prompt only; allowed: the column "
		             "prompt instead of content",
		             shown, id);
	else if (output == NULL && (native->explicit_ids || default_number(id, length) >= row->index))
		kv_row_fault(row, KV_FAULT_REFERENCE,
		             "prompt: @%.*s: no request of that id stands earlier in the file; allowed: the id of an "
		             "earlier row",
		             shown, id);
	else if (output != NULL && tokens > *output)
		kv_row_fault(row, KV_FAULT_REFERENCE,
		             "prompt: @%.*s:%" PRIu32 ": that request generates %" PRIu32 " tokens; "
		             "allowed: at most these",
		             shown, id, tokens, *output);
}

/* "#" and a number; the number to *id. */
static bool is_block(const char *name, size_t length, uint64_t *id)
{
	return name[0] == '#' && kv_block_id_parse(name + 1, length - 1, id);
}

static void add_segment(struct native *native, struct kv_row *row, const char *name, size_t length, uint32_t tokens)
{
	uint64_t id;

	row->named = true;
	if (name[0] == '@') {
		check_reference(native, row, name + 1, length - 1, tokens);
		kv_row_named_segment(row, KV_STREAM_OUTPUT, name + 1, length - 1, tokens);
	} else if (is_block(name, length, &id)) {
		kv_row_segment(row, KV_STREAM_BLOCK, id, tokens);
	} else if (length == 1 && name[0] == '*') {
		kv_row_segment(row, KV_STREAM_PRIVATE, 0, tokens);
	} else {
		kv_row_named_segment(row, KV_STREAM_NAMED, name, length, tokens);
	}
}

static void fault_segment(struct kv_row *row, const char *text, size_t length)
{
	kv_row_fault(row, KV_FAULT_PROMPT, "prompt: '%.*s' is no segment; allowed: " SEGMENT_ALLOWED,
	             length < NAME_SHOWN ? (int)length : NAME_SHOWN, text);
}

static const char *last_colon(const char *text, size_t length)
{
	const char *at = text + length;

	while (at > text && at[-1] != ':')
		at--;
	return at > text ? at - 1 : NULL;
}

static void read_segment(struct native *native, struct kv_row *row, const char *text, size_t length)
{
	const char *colon = last_colon(text, length);
	uint32_t tokens;

	if (colon == NULL || colon == text || (colon == text + 1 && text[0] == '@')) {
		fault_segment(row, text, length);
		return;
	}
	if (!kv_row_tokens(row, "prompt", colon + 1, (size_t)(text + length - colon - 1), &tokens))
		return;
	if (tokens == 0)
		fault_segment(row, text, length);
	else
		add_segment(native, row, text, (size_t)(colon - text), tokens);
}

/* Takes what stands between blanks, until the row is marked. */
static void each_word(struct native *native, struct kv_row *row, const char *text, size_t length,
                      void (*take)(struct native *native, struct kv_row *row, const char *word, size_t length))
{
	const char *end = text + length;
	const char *blank;

	for (; text < end && !row->faulty; text = blank + (blank < end)) {
		blank = memchr(text, ' ', (size_t)(end - text));
		if (blank == NULL)
			blank = end;
		if (blank > text)
			take(native, row, text, (size_t)(blank - text));
	}
}

static void read_prompt_text(void *owner, struct kv_row *row, const char *text, size_t length)
{
	if (kv_row_check_text(row, "prompt", text, length))
		each_word(owner, row, text, length, read_segment);
}

static void read_prompt_json(void *owner, struct kv_row *row, const json_t *list)
{
	if (!json_is_array(list))
		kv_row_fault(row, KV_FAULT_PROMPT, "prompt: not a list; allowed: [[\"name\", length], ...]");
	for (size_t i = 0; i < json_array_size(list) && !row->faulty; i++) {
		const json_t *pair = json_array_get(list, i);
		const json_t *name = json_array_get(pair, 0);
		uint32_t tokens;

		if (json_array_size(pair) != 2 || !json_is_string(name) || json_string_length(name) == 0 ||
		    strcmp(json_string_value(name), "@") == 0)
			kv_row_fault(row, KV_FAULT_PROMPT,
			             "prompt: entry %zu is no segment; allowed: [\"name\", length]", i);
		else if (kv_row_json_tokens(row, "prompt", json_array_get(pair, 1), &tokens) && tokens == 0)
			fault_segment(row, json_string_value(name), json_string_length(name));
		else if (!row->faulty)
			add_segment(owner, row, json_string_value(name), json_string_length(name), tokens);
	}
}

static void add_dependency(struct native *native, struct kv_row *row, const char *id, size_t length)
{
	const uint32_t *number = kv_ids_find(&native->numbers, kv_name_hash(id, (uint32_t)length));

	if (number != NULL)
		kv_row_depend(row, native->places[*number].index, native->places[*number].root);
	else
		kv_row_fault(row, KV_FAULT_REFERENCE,
		             "after: '%.*s': no request of that id stands earlier in the file; allowed: the request_id "
		             "of an earlier row",
		             length < NAME_SHOWN ? (int)length : NAME_SHOWN, id);
}

static void read_after_text(void *owner, struct kv_row *row, const char *text, size_t length)
{
	if (kv_row_check_text(row, "after", text, length))
		each_word(owner, row, text, length, add_dependency);
}

static void read_after_json(void *owner, struct kv_row *row, const json_t *value)
{
	if (json_is_string(value))
		add_dependency(owner, row, json_string_value(value), json_string_length(value));
	else if (!json_is_array(value))
		kv_row_fault(row, KV_FAULT_TEXT,
		             "after: neither a string nor a list; allowed: a request_id, or a list of them");
	for (size_t i = 0; i < json_array_size(value) && !row->faulty; i++) {
		const json_t *id = json_array_get(value, i);

		if (json_is_string(id))
			add_dependency(owner, row, json_string_value(id), json_string_length(id));
		else
			kv_row_fault(row, KV_FAULT_TEXT, "after: entry %zu is not a string; allowed: request_ids", i);
	}
}

/* Reads a row's sum of segments, which may exceed 32 bits. */
static uint64_t sum_segments(const struct kv_row *row)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < row->segment_count; i++)
		sum += row->segments[i].length;
	return sum;
}

static void check_prompt(struct kv_row *row)
{
	uint64_t sum = sum_segments(row);

	if (!row->named) {
		if (row->prompt_tokens == KV_TOKENS_UNSET)
			kv_row_fault(row, KV_FAULT_MISSING,
			             "prompt: neither prompt nor prompt_tokens is given; one is needed");
	} else if (sum > KV_TOKENS_MAX)
		kv_row_fault(row, KV_FAULT_RANGE, "prompt: %" PRIu64 " tokens in all; allowed: at most %u", sum,
		             KV_TOKENS_MAX);
	else if (row->prompt_tokens == KV_TOKENS_UNSET)
		row->prompt_tokens = (uint32_t)sum;
	else if (row->prompt_tokens != sum)
		kv_row_fault(row, KV_FAULT_PROMPT_SUM,
		             "prompt_tokens: %" PRIu32 ", but the segments of prompt sum to %" PRIu64
		             "; allowed: the same, or prompt alone",
		             row->prompt_tokens, sum);
}

/* vLLM's API refuses max_tokens below 1, whatever the request would have generated. */
static void check_allowed(struct kv_row *row)
{
	if (row->max_tokens == 0)
		kv_row_fault(row, KV_FAULT_RANGE, "max_tokens: 0 is refused by servers; allowed: at least 1, or empty");
}

/* The row's name, which is written to fallback where it is the default one. */
static const char *name_of(const struct kv_row *row, char fallback[24], size_t *length)
{
	if (row->id.length > 0) {
		*length = row->id.length;
		return kv_row_string(row, row->id);
	}
	*length = (size_t)snprintf(fallback, 24, "r%" PRIu64, row->index);
	return fallback;
}

/* Once ids are explicit, default names are ids like others. */
static void check_id(struct native *native, struct kv_row *row)
{
	char fallback[24];
	size_t length;
	const char *id;

	native->explicit_ids |= row->id.length > 0;
	if (!native->explicit_ids)
		return;
	id = name_of(row, fallback, &length);
	if (kv_ids_find(&native->ids, kv_name_hash(id, (uint32_t)length)) != NULL)
		kv_row_fault(row, KV_FAULT_DUPLICATE_ID,
		             "request_id: '%.*s' is that of an earlier row too; allowed: unique ids",
		             length < NAME_SHOWN ? (int)length : NAME_SHOWN, id);
}

static void check_times(struct kv_row *row)
{
	if (row->after_count == 0 && row->arrival == KV_TIME_NONE)
		kv_row_fault(row, KV_FAULT_MISSING,
		             "arrival_s: is missing, and every row that does not depend on another needs it");
	if (row->after_count == 0 && row->think > 0)
		kv_row_fault(row, KV_FAULT_REFERENCE, "think_s: is given without after; allowed: both or neither");
}

static void finish(void *owner, struct kv_row *row)
{
	check_prompt(row);
	check_allowed(row);
	check_times(row);
	if (!row->faulty)
		check_id(owner, row);
}

static void remember(void *owner, const struct kv_row *row)
{
	struct native *native = owner;
	char fallback[24];
	const char *name;
	size_t length;
	uint64_t key;

	if (!native->explicit_ids)
		return;
	name = name_of(row, fallback, &length);
	key = kv_name_hash(name, (uint32_t)length);
	kv_ids_add(&native->ids, key, row->output_tokens);
	if (!native->dependencies)
		return;
	kv_ids_add(&native->numbers, key, (uint32_t)native->place_count);
	native->places =
		kv_grow(native->places, &native->place_capacity, native->place_count + 1, sizeof *native->places);
	native->places[native->place_count++] = (struct place){row->index, kv_row_root(row)};
}

#define AT(member) .offset = offsetof(struct kv_row, member)

static const struct kv_field fields[] = {
	{.name = "arrival_s", .type = KV_FIELD_TIME, .digits = SECONDS, AT(arrival)},
	{.name = "prompt", .read_text = read_prompt_text, .read_json = read_prompt_json},
	{.name = "content", .read_text = read_prompt_text, .read_json = read_prompt_json},
	{.name = "prompt_tokens", .type = KV_FIELD_TOKENS, AT(prompt_tokens)},
	{.name = "output_tokens", .type = KV_FIELD_TOKENS, AT(output_tokens), .required = true},
	{.name = "max_tokens", .type = KV_FIELD_TOKENS, AT(max_tokens)},
	{.name = "request_id", .type = KV_FIELD_NAME, AT(id)},
	{.name = "tenant", .type = KV_FIELD_NAME, AT(tenant)},
	{.name = "salt", .type = KV_FIELD_NAME, AT(salt)},
	{.name = "adapter", .type = KV_FIELD_NAME, AT(adapter)},
	{.name = "priority", .type = KV_FIELD_INTEGER, AT(priority)},
	{.name = "retrieval_s", .type = KV_FIELD_TIME, .digits = SECONDS, AT(retrieval)},
	{.name = "after", .read_text = read_after_text, .read_json = read_after_json},
	{.name = "think_s", .type = KV_FIELD_TIME, .digits = SECONDS, AT(think)},
	{.name = "deadline_s", .type = KV_FIELD_TIME, .digits = SECONDS, AT(deadline)},
	{.name = "ttl_s",
	 .refusal = "is not built: leave it out; --eviction ttl,ttl=300s gives all content one time to live"},
	{.name = "no_store",
	 .refusal = "is not built: leave it out; a salt of its own keeps a request's content from all others, though stored"},
	{0}
};

static bool has_column(const struct kv_field *const *columns, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (columns[i] != NULL && strcmp(columns[i]->name, name) == 0)
			return true;
	return false;
}

static int check_header(void *owner, const struct kv_field *const *columns, size_t count, struct kv_error *err)
{
	struct native *native = owner;
	bool prompt = has_column(columns, count, "prompt"), content = has_column(columns, count, "content");

	if (prompt && content)
		return kv_trace_fail(native->trace, err, 1,
		                     "the header has both prompt and content; allowed: one of them");
	if (!prompt && !content && !has_column(columns, count, "prompt_tokens"))
		return kv_trace_fail(native->trace, err, 1,
		                     "the header has neither prompt nor prompt_tokens; one is needed");
	native->nameable = prompt;
	if (!has_column(columns, count, "arrival_s") && !has_column(columns, count, "after"))
		return kv_trace_fail(native->trace, err, 1,
		                     "column arrival_s: is missing, and this format requires it");
	native->dependencies = has_column(columns, count, "after");
	kv_trace_declare(native->trace, KV_TRACE_ANY_COLUMN | (native->dependencies ? KV_TRACE_DEPENDENT : 0) |
	                 (prompt ? KV_TRACE_NAMEABLE_OUTPUTS : 0) | (prompt || content ? KV_TRACE_PREFIX_IDENTITY : 0));
	native->explicit_ids = native->dependencies || has_column(columns, count, "request_id");
	for (size_t i = 0; i < count; i++)
		kv_trace_declare_column(native->trace, columns[i]->name);
	return 0;
}

static void close_native(void *owner)
{
	struct native *native = owner;

	kv_ids_fini(&native->ids);
	kv_ids_fini(&native->numbers);
	free(native->places);
	free(native);
}

static const struct kv_table table = {
	.fields = fields, .strict = true, .header = check_header, .finish = finish, .taken = remember,
	.close = close_native
};

static bool knows(const struct kv_sniff *sniff, const char *name)
{
	return json_object_get(sniff->json, name) != NULL || kv_sniff_has_field(sniff, name);
}

static const char *const keys[] = {"arrival_s", "prompt_tokens", "output_tokens", NULL};

static bool detect(const struct kv_sniff *sniff)
{
	return knows(sniff, "arrival_s") ||
	       (knows(sniff, "output_tokens") && (knows(sniff, "prompt") || knows(sniff, "prompt_tokens")));
}

static bool is_json(const struct kv_sniff *sniff)
{
	size_t at = 0;

	while (at < sniff->length && strchr(" \t\r\n", sniff->text[at]) != NULL && sniff->text[at] != '\0')
		at++;
	return at < sniff->length && sniff->text[at] == '{';
}

static struct kv_reader *open_native(struct kv_trace *trace, const struct kv_sniff *sniff, const void *params,
                                     struct kv_error *err)
{
	struct native *native = kv_calloc(1, sizeof *native);

	(void)params;
	(void)err;
	native->trace = trace;
	if (!is_json(sniff))
		return kv_csv_open(trace, &table, native);
	native->dependencies = native->nameable = true;
	kv_trace_declare(trace, KV_TRACE_ANY_COLUMN | KV_TRACE_DEPENDENT | KV_TRACE_PREFIX_IDENTITY |
	                                KV_TRACE_NAMEABLE_OUTPUTS);
	return kv_jsonl_open(trace, &table, native);
}

const struct kv_format kv_format_kvsim = {
	.name = "kvsim",
	.summary = "the native trace: CSV with a header, or JSON lines",
	.rules = "Times are seconds from the start. A prompt is a list of segments, name:length; equal names hold "
	         "equal tokens from position 0 on, @id:n is the first n tokens that request id generates, #7:n a block "
	         "of a trace of hash ids, *:n content that nothing else has. Unknown columns are errors. Outputs of 0 "
	         "tokens are legal: such requests finish with their prefill.",
	.keys = keys,
	.detect = detect,
	.open = open_native
};
