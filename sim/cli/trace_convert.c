/* kvsim trace convert: any format into the native one, row by row in the order of the file.
 *
 * Blocks keep their ids (#id) and requests theirs; content that has no name, or one with blanks, becomes n<hash>, and
 * what nobody else has is *. Replaying either file gives the same results.
 */
#include "config.h"

#include "sim/cli/trace.h"

#include <argp.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/memory.h"
#include "sim/cli/command.h"
#include "sim/cli/trace_file.h"
#include "sim/cli/trace_writer.h"
#include "workloads/ids.h"

struct buffer {
	char *text;
	size_t length, capacity;
};

struct converter {
	struct kv_trace_tap tap;
	struct kv_output *out;
	const struct kv_trace_options *options;
	struct kv_trace_layout layout;
	bool keeps_ids;      /* prompts or rows refer to them */
	struct buffer ids; /* of all rows so far, each with its end; only where prompts or rows refer to them */
	struct kv_ids by_hash;      /* name hash of an id to its number */
	size_t *starts;             /* of each id, by number */
	size_t count, capacity;
	struct kv_ids by_index;     /* row index + 1 to the number of its id */
	struct buffer prompt, after;
};

static void append(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(struct buffer *buffer, const char *format, ...)
{
	va_list args, again;
	int length;

	va_start(args, format);
	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, args);
	buffer->text = kv_grow(buffer->text, &buffer->capacity, buffer->length + (size_t)length + 1, 1);
	vsnprintf(buffer->text + buffer->length, (size_t)length + 1, format, again);
	buffer->length += (size_t)length;
	va_end(again);
	va_end(args);
}

static void clear(struct buffer *buffer)
{
	buffer->length = 0;
	append(buffer, "%s", "");
}

/* --- ids that others refer to ------------------------------------------------------------------------------------- */


static void remember_id(struct converter *self, const struct kv_row *row)
{
	size_t start = self->ids.length;

	if (row->id.length > 0)
		append(&self->ids, "%s", kv_row_string(row, row->id));
	else
		append(&self->ids, "r%" PRIu64, row->index);
	kv_ids_add(&self->by_hash, kv_name_hash(self->ids.text + start, (uint32_t)(self->ids.length - start)),
	           (uint32_t)self->count);
	kv_ids_add(&self->by_index, row->index + 1, (uint32_t)self->count);
	self->starts = kv_grow(self->starts, &self->capacity, self->count + 1, sizeof *self->starts);
	self->starts[self->count++] = start;
	self->ids.length++;
}

static const char *id_of(const struct converter *self, const struct kv_ids *by, uint64_t key)
{
	const uint32_t *number = kv_ids_find(by, key);

	return number != NULL ? self->ids.text + self->starts[*number] : NULL;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */


/* Writes the segment's name; false if it has none that can be written. */
static bool append_name(struct converter *self, const struct kv_row *row, size_t at)
{
	struct kv_text name = row->names[at];

	if (name.length == 0 || memchr(kv_row_string(row, name), ' ', name.length) != NULL)
		return false;
	append(&self->prompt, "%s", kv_row_string(row, name));
	return true;
}

static int append_output(struct converter *self, const struct kv_row *row, size_t at, struct kv_error *err)
{
	const char *id = id_of(self, &self->by_hash, row->segments[at].stream);

	if (id == NULL || strchr(id, ' ') != NULL)
		return kv_fail(err, KV_EXIT_DATA,
		               "line %" PRIu64 ": its prompt contains what a request generates whose id %s", row->line,
		               id == NULL ? "is not in the rows before" : "has a blank, which cannot be written");
	append(&self->prompt, "@%s", id);
	return 0;
}

static int append_segment(struct converter *self, const struct kv_row *row, size_t at, struct kv_error *err)
{
	const struct kv_segment *segment = &row->segments[at];

	if (at > 0)
		append(&self->prompt, " ");
	if (segment->kind == KV_STREAM_OUTPUT) {
		if (append_output(self, row, at, err) != 0)
			return -1;
	} else if (!append_name(self, row, at)) {
		if (segment->kind == KV_STREAM_NAMED)
			append(&self->prompt, "n%016" PRIx64, segment->stream);
		if (segment->kind == KV_STREAM_BLOCK)
			append(&self->prompt, "#%" PRIu64, segment->stream);
		if (segment->kind == KV_STREAM_PRIVATE)
			append(&self->prompt, "*");
	}
	append(&self->prompt, ":%" PRIu32, segment->length);
	return 0;
}

static int append_after(struct converter *self, const struct kv_row *row, struct kv_error *err)
{
	clear(&self->after);
	for (size_t i = 0; i < row->after_count; i++) {
		const char *id = id_of(self, &self->by_index, row->after[i] + 1);

		if (id == NULL || strchr(id, ' ') != NULL)
			return kv_fail(err, KV_EXIT_DATA,
			               "line %" PRIu64 ": it depends on a request whose id %s", row->line,
			               id == NULL ? "is not in the rows before"
			                          : "has a blank, which cannot be written");
		append(&self->after, "%s%s", i > 0 ? " " : "", id);
	}
	return 0;
}

static int write_row(struct kv_trace_tap *tap, const struct kv_row *row, struct kv_error *err)
{
	struct converter *self = (struct converter *)tap;

	clear(&self->prompt);
	for (size_t i = 0; i < row->segment_count; i++)
		if (append_segment(self, row, i, err) != 0)
			return -1;
	if (append_after(self, row, err) != 0)
		return -1;
	if (self->keeps_ids)
		remember_id(self, row);
	kv_trace_write_line(self->out, &self->layout, &(struct kv_trace_line){
		.arrival = row->arrival, .id = row->id.length > 0 ? kv_row_string(row, row->id) : NULL,
		.index = row->index,
		.prompt = self->prompt.text, .prompt_tokens = row->prompt_tokens, .output_tokens = row->output_tokens,
		.max_tokens = row->max_tokens, .tenant = kv_row_string(row, row->tenant),
		.salt = kv_row_string(row, row->salt), .adapter = kv_row_string(row, row->adapter),
		.priority = row->priority, .retrieval = row->retrieval,
		.deadline = row->deadline,
		.after = self->after.text, .think = row->think
	});
	return 0;
}

static void add_columns(struct kv_trace_layout *layout, enum kv_trace_column first, enum kv_trace_column last)
{
	for (int column = (int)first; column <= (int)last; column++)
		kv_trace_layout_add(layout, (enum kv_trace_column)column);
}

/* What a reader of that format may have said of rows. */
static void lay_out(struct kv_trace_layout *layout, unsigned flags)
{
	add_columns(layout, KV_COLUMN_ARRIVAL, KV_COLUMN_OUTPUT_TOKENS);
	if (flags & KV_TRACE_PREFIX_IDENTITY)
		kv_trace_layout_add(layout, flags & KV_TRACE_NAMEABLE_OUTPUTS ? KV_COLUMN_PROMPT : KV_COLUMN_CONTENT);
	if (flags & KV_TRACE_ANY_COLUMN)
		add_columns(layout, KV_COLUMN_MAX_TOKENS, KV_COLUMN_DEADLINE);
	if (flags & KV_TRACE_DEPENDENT)
		add_columns(layout, KV_COLUMN_AFTER, KV_COLUMN_THINK);
}

/* The columns of a native file stay as they are. Rows that may be left out would change the default names of those
 * after them, so that names are written then. */
static void keep_columns(const struct converter *self, struct kv_trace_layout *layout, const struct kv_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		kv_trace_layout_add(layout, kv_trace_column_find(names->name[i]));
	if (!kv_trace_layout_has(layout, KV_COLUMN_ID) &&
	    (self->options->skip_bad_rows || self->options->first_row > 0))
		kv_trace_layout_add(layout, KV_COLUMN_ID);
}

static int begin(struct kv_trace_tap *tap, struct kv_trace *trace, struct kv_error *err)
{
	struct converter *self = (struct converter *)tap;
	const struct kv_names *names = kv_trace_columns(trace);

	(void)err;
	if (names->count > 0)
		keep_columns(self, &self->layout, names);
	else
		lay_out(&self->layout, kv_trace_flags(trace));
	self->keeps_ids = kv_trace_layout_has(&self->layout, KV_COLUMN_PROMPT) ||
	                  kv_trace_layout_has(&self->layout, KV_COLUMN_AFTER);
	kv_trace_write_header(self->out, &self->layout);
	return 0;
}

static void print_left_out(struct kv_trace *trace)
{
	const struct kv_trace_counts *counts = kv_trace_counts(trace);
	uint64_t total = kv_trace_file_left_out(counts);

	if (total == 0)
		return;
	fprintf(stderr, "kvsim: %" PRIu64 " of %" PRIu64 " rows left out:", total, counts->rows);
	for (int i = 0; i < KV_FAULTS; i++)
		if (counts->left_out[i] > 0)
			fprintf(stderr, " %s %" PRIu64, kv_fault_name((enum kv_fault)i), counts->left_out[i]);
	fprintf(stderr, "\n");
}

static void print_remarks(struct kv_trace_tap *tap, struct kv_trace *trace)
{
	const char *remark;

	(void)tap;
	print_left_out(trace);
	for (size_t i = 0; (remark = kv_trace_remark(trace, i)) != NULL; i++)
		fprintf(stderr, "kvsim: warning: %s\n", remark);
}

static void converter_fini(struct converter *self)
{
	free(self->ids.text);
	free(self->prompt.text);
	free(self->after.text);
	free(self->starts);
	kv_ids_fini(&self->by_hash);
	kv_ids_fini(&self->by_index);
}

static struct kv_output *open_output(const char *path, struct kv_error *err)
{
	return strcmp(path, "-") == 0 ? kv_output_to_descriptor(STDOUT_FILENO, "standard output") :
	                                kv_output_create(path, err);
}

int kv_trace_file_convert(const char *path, const struct kv_trace_options *options, const char *out,
                          struct kv_error *err)
{
	struct converter self = {
		.tap = {.begin = begin, .row = write_row, .end = print_remarks}, .options = options
	};
	int status = -1;

	self.out = open_output(out, err);
	if (self.out != NULL)
		status = kv_trace_read_rows(path, options, &self.tap, err);
	if (status == 0)
		status = kv_output_close(self.out, err);
	if (status == 0)
		status = kv_output_commit(self.out, err);
	kv_output_free(self.out);
	converter_fini(&self);
	return status;
}

/* --- the command -------------------------------------------------------------------------------------------------- */


struct arguments {
	struct kv_trace_file file;
	const char *out;
};

static error_t parse(int key, char *value, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &arguments->file;
		return 0;
	case 'o':
		arguments->out = value;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int kv_cli_trace_convert(int argc, char **argv)
{
	static const struct argp_option options[] = {
		{.name = "output", .key = 'o', .arg = "FILE", .doc = "Where to write (default: standard output)"}, {0}
	};
	static const struct argp_child children[] = {{&kv_trace_rows_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.options = options, .parser = parse, .args_doc = "FILE", .children = children,
		.doc = "Translates a trace into the native CSV, without loss for the simulation: replaying either "
		       "gives the same results."
	};
	struct arguments arguments = {.out = "-"};
	struct kv_error err;

	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	if (kv_trace_file_convert(arguments.file.path, &arguments.file.options, arguments.out, &err) != 0)
		return kv_cli_fail(&err);
	return KV_EXIT_OK;
}
