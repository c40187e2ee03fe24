/* Trace formats: one file and one line of registry.c each.
 *
 * A format says how it is recognised and opens a reader. A reader fills the trace's row, once a row of the file, and
 * hands it over with kv_trace_accept(); order, ranges, counting and what happens to bad rows are the trace's business
 * (workloads/trace.h).
 */
#ifndef KV_WORKLOADS_FORMAT_H
#define KV_WORKLOADS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gsl/gsl_rng.h>
#include <jansson.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/request.h"
#include "workloads/input.h"

/* Why a row cannot be used. */
enum kv_fault {
	KV_FAULT_SYNTAX,        /* not a row of this format at all */
	KV_FAULT_COLUMNS,       /* more or fewer fields than the header */
	KV_FAULT_MISSING,       /* a required field is absent or empty */
	KV_FAULT_UNKNOWN_KEY,
	KV_FAULT_NOT_BUILT,     /* a field that kvsim cannot honour yet */
	KV_FAULT_NUMBER,        /* text, NaN or a fraction where a number belongs */
	KV_FAULT_NEGATIVE,
	KV_FAULT_RANGE,         /* larger than anything plausible */
	KV_FAULT_TEXT,          /* a NUL byte or text that is not UTF-8 */
	KV_FAULT_PROMPT,        /* a segment list that cannot be read */
	KV_FAULT_ZERO_PROMPT,
	KV_FAULT_PROMPT_SUM,    /* prompt and prompt_tokens disagree */
	KV_FAULT_HASH_IDS,      /* number of block ids and prompt length disagree */
	KV_FAULT_DUPLICATE_ID,
	KV_FAULT_REFERENCE,     /* "@id" of no earlier request, or beyond its output */
	KV_FAULT_OUT_OF_ORDER,  /* earlier than the reordering window reaches back */
	KV_FAULT_DEPENDENCY,    /* what it depends on lies too far back, or outside the rows that were asked for */
	KV_FAULT_ABANDONED,     /* what it depends on was refused or dropped: counted while the trace is replayed */
	KV_FAULT_EMPTY_SESSION, /* a session without requests */
	KV_FAULT_FAILED,        /* the trace recorded a failed request: always left out */
	KV_FAULT_FILTERED,      /* a parameter of the format asks for other rows: always left out */
	KV_FAULTS
};

const char *kv_fault_name(enum kv_fault fault);

/* Latest arrival that any reader accepts, 126 years of seconds: both trace-relative times and dates fit. */
#define KV_ARRIVAL_MAX (4000000000 * KV_SECOND)

/* Text inside a row's buffer; offset 0 is the empty text. */
struct kv_text {
	uint32_t offset;
	uint32_t length;
};

/* A row that depends on nothing: where it stands among them. */
struct kv_root {
	kv_time arrival;
	uint64_t index;
};

/* What a reader has found in one row of the file. kv_row_begin() sets the defaults. */
struct kv_row {
	uint64_t line;
	uint64_t index;              /* of the data row in the file, from 0: set by kv_trace_begin */
	kv_time arrival;             /* on the trace's own clock; KV_TIME_NONE where the file does not say */
	kv_time moved;               /* what the reader added to the recorded one: its order in the file goes without */
	kv_time think;               /* between the end of the last row that it depends on and its own arrival */
	uint64_t *after;             /* indexes of rows before it that must end before it can arrive */
	size_t after_count, after_capacity;
	struct kv_root root;         /* of the rows that those depend on in the end, the last to arrive */
	kv_time retrieval;
	kv_time deadline;
	int64_t priority;
	uint32_t prompt_tokens;      /* KV_TOKENS_UNSET where the file does not say; likewise the next two */
	uint32_t output_tokens;
	uint32_t max_tokens;
	bool named;                  /* segments say what the prompt shares; else it is one private segment */
	struct kv_text id, tenant, salt, adapter;
	struct kv_segment *segments;
	size_t segment_count, segment_capacity;
	bool keeps_names;            /* somebody wants names, not only hashes: then there is one for each segment */
	struct kv_text *names;       /* empty where the segment has none */
	size_t name_capacity;
	char *text;
	size_t text_length, text_capacity;
	bool faulty;
	bool expected;               /* the format's rules leave such rows out: never an error */
	enum kv_fault fault;
	char fault_text[700];        /* "field: what was found; what is allowed" */
};

/* The row depends on one that was accepted before, with that one's root. */
void kv_row_depend(struct kv_row *row, uint64_t index, struct kv_root root);
/* The row's own root, once all that it depends on is known. */
struct kv_root kv_row_root(const struct kv_row *row);
void kv_row_segment(struct kv_row *row, enum kv_stream_kind kind, uint64_t stream, uint32_t length);
/* A segment whose stream is the hash of a name. A stream is to be named in all rows, or in none. */
void kv_row_named_segment(struct kv_row *row, enum kv_stream_kind kind, const char *name, size_t name_length,
                          uint32_t length);
struct kv_text kv_row_text(struct kv_row *row, const char *text, size_t length);
static inline const char *kv_row_string(const struct kv_row *row, struct kv_text text)
{
	return row->text + text.offset;
}

/* Marks the row as unusable; the first fault of a row counts. */
void kv_row_fault(struct kv_row *row, enum kv_fault fault, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Leaves a row out by the format's own rules: counted, never an error. */
void kv_row_leave_out(struct kv_row *row, enum kv_fault fault);
/* The same of a row that may be marked already: what a failed request says of itself need not make sense. */
void kv_row_excuse(struct kv_row *row, enum kv_fault fault);

enum kv_field_type {
	KV_FIELD_CUSTOM,   /* read by the field's own functions */
	KV_FIELD_TOKENS,   /* uint32_t: whole, at most KV_TOKENS_MAX */
	KV_FIELD_TIME,     /* kv_time: a decimal, at most KV_ARRIVAL_MAX; digits 9 = seconds, 6 = ms, 3 = us, 0 = ns */
	KV_FIELD_INTEGER,  /* int64_t: whole, of either sign */
	KV_FIELD_NAME,     /* struct kv_text: UTF-8 */
	KV_FIELD_IGNORED   /* known to the format, and of no use here */
};

/* A column of a CSV file or a key of JSON lines. */
struct kv_field {
	const char *name;
	enum kv_field_type type;
	size_t offset;         /* into struct kv_row */
	unsigned digits;       /* of KV_FIELD_TIME */
	bool required;         /* in the header and in every row */
	bool decides;          /* CSV: read of rows that are marked already, too, since it may excuse them */
	const char *refusal;   /* why it cannot be honoured; NULL = it can */
	/* KV_FIELD_CUSTOM, for files in CSV (text ends with a NUL that does not count) and in JSON lines. */
	void (*read_text)(void *owner, struct kv_row *row, const char *text, size_t length);
	void (*read_json)(void *owner, struct kv_row *row, const json_t *value);
};

/* How the rows of a format are read; the same for CSV and JSON lines. */
struct kv_table {
	const struct kv_field *fields;  /* ends with a NULL name */
	bool strict;           /* an unknown name is an error; else it is counted and ignored */
	bool positional;       /* CSV: columns go by position whatever they are called, and a header is optional: it is
	                          one if its first cell is no number */
	/* CSV: called once with the file's columns in their order there (NULL = unknown). Returns 0 or -1. Or NULL. */
	int (*header)(void *owner, const struct kv_field *const *columns, size_t count, struct kv_error *err);
	/* A row begins: forgets what custom fields kept of the one before, which may have been left out. Or NULL. */
	void (*begin)(void *owner);
	/* Completes and checks a row before it is accepted; not called for one that is faulty already. May be NULL. */
	void (*finish)(void *owner, struct kv_row *row);
	/* CSV: instead of finishing and accepting the row, hands over as many as it stands for. Returns 0, or -1 as
	 * kv_trace_accept does. May be NULL. */
	int (*expand)(void *owner, struct kv_row *row);
	/* JSON lines: instead of all that, hands over as many rows as the object stands for; likewise. May be NULL. */
	int (*expand_json)(void *owner, const json_t *object, uint64_t line);
	/* The row has been accepted and not left out. May be NULL. */
	void (*taken)(void *owner, const struct kv_row *row);
	void (*close)(void *owner);  /* may be NULL */
};

const struct kv_field *kv_field_find(const struct kv_table *table, const char *name);
/* "unknown WHAT 'name'" with the names that there are. */
int kv_field_fail_unknown(const struct kv_table *table, const char *what, const char *name, struct kv_error *err);

/* Each marks the row where the value cannot be used, with the field's name, what was found and what is allowed. */
void kv_field_read_text(const struct kv_field *field, void *owner, struct kv_row *row, const char *text, size_t length);
void kv_field_read_json(const struct kv_field *field, void *owner, struct kv_row *row, const json_t *value);
/* The member of that name of an object that stands for the row, which has to be there. */
void kv_field_read_member(const struct kv_field *field, struct kv_row *row, const json_t *object);

/* A token count in text, for custom fields; false if the row has been marked. */
bool kv_row_tokens(struct kv_row *row, const char *field, const char *text, size_t length, uint32_t *out);
bool kv_row_json_tokens(struct kv_row *row, const char *field, const json_t *value, uint32_t *out);
/* The row stands in text that jansson could not read. */
void kv_row_json_fault(struct kv_row *row, const json_error_t *error, const char *allowed);
/* Marks the row if the text holds a NUL byte or is not UTF-8. */
bool kv_row_check_text(struct kv_row *row, const char *field, const char *text, size_t length);

/* Reads rows. fill hands over at least one row if there is one: 1 = there may be more, 0 = end, -1 = err filled. */
struct kv_reader {
	int (*fill)(struct kv_reader *reader, struct kv_error *err);
	void (*close)(struct kv_reader *reader);
};

/* The beginning of a file, for detection. */
struct kv_sniff {
	const char *text;
	size_t length;
	bool whole;           /* there is nothing after it */
	json_t *json;         /* the first line that is not blank as JSON; NULL if it is none or is longer than this */
	char **fields;        /* the same line as CSV */
	size_t field_count;
};

bool kv_sniff_has_field(const struct kv_sniff *sniff, const char *name);
/* All of them, ended by NULL. */
bool kv_sniff_has_fields(const struct kv_sniff *sniff, const char *const *names);
/* Anywhere in the beginning of the file: for JSON that does not end within its first line. */
bool kv_sniff_contains(const struct kv_sniff *sniff, const char *text);

struct kv_trace;

struct kv_format {
	const char *name;
	const char *summary;   /* one line, no full stop */
	bool folders;          /* a folder of such files, in order of their names, is one trace */
	const char *rules;     /* unit of time, last block, scope of ids, turns, zeros: sentences for the manual */
	/* Columns or keys of its first line, ended by NULL, by which users are told what a file that is not detected
	 * comes near to; NULL where other things tell the format. */
	const char *const *keys;
	bool (*detect)(const struct kv_sniff *sniff);
	/* params: of params_size bytes, filled through the table; it lives as long as the trace. */
	struct kv_reader *(*open)(struct kv_trace *trace, const struct kv_sniff *sniff, const void *params,
	                          struct kv_error *err);
	size_t params_size;
	const struct kv_param *params;  /* ends with a NULL name; may be NULL */
};

/* The one list, ended by NULL; detection takes the first that matches. */
extern const struct kv_format *const kv_format_registry[];

/* NULL with err filled where there is none of that name. */
const struct kv_format *kv_format_find(const char *name, struct kv_error *err);
const struct kv_format *kv_format_detect(const struct kv_sniff *sniff);
/* name: of the file. */
int kv_format_fail_detection(const char *name, const struct kv_sniff *sniff, struct kv_error *err);
/* There is no such file: says what would be a trace, and what is called nearly so. */
int kv_format_fail_missing(const char *path, struct kv_error *err);
/* A folder whose first file is `what`, as a clause, and therefore no folder of sessions. */
int kv_format_fail_folder(const char *what, char *const *paths, size_t count, struct kv_error *err);

void kv_sniff_init(struct kv_sniff *sniff, const struct kv_input *input);
void kv_sniff_fini(struct kv_sniff *sniff);

/* --- what readers use of the trace -------------------------------------------------------------------------------- */

struct kv_input *kv_trace_input(struct kv_trace *trace);

/* The trace is a folder: goes on to its next file. 1 = kv_trace_input is that one now, 0 = no more, -1 = error. */
int kv_trace_next_file(struct kv_trace *trace, struct kv_error *err);

/* The trace's row, set to its defaults for the data row that begins at this line. */
struct kv_row *kv_trace_begin(struct kv_trace *trace, uint64_t line);
/* Takes the row. Returns 0, or -1 if the reader is to stop: the trace keeps the error. */
int kv_trace_accept(struct kv_trace *trace);
/* What begins on this line gives no row: text says what is wrong with it, or is NULL where the format's rules leave it
 * out. Returns 0 or -1 as kv_trace_accept does. */
int kv_trace_leave_out(struct kv_trace *trace, uint64_t line, enum kv_fault fault, const char *text);
/* What is read names the seed that it is to be drawn with, which is taken if the options say so. */
void kv_trace_name_seed(struct kv_trace *trace, uint64_t seed);
/* What is to be changed in a description of a load; NULL = nothing. That a reader does not ask is an error if there is
 * something. */
const struct kv_yaml_settings *kv_trace_load_settings(struct kv_trace *trace);
/* A random source of the reader's own, seeded for this run; to be freed with gsl_rng_free(). */
gsl_rng *kv_trace_random(struct kv_trace *trace, const char *name);
/* Counts a key that the format does not know; it is not an error. */
void kv_trace_unknown_key(struct kv_trace *trace);
/* The same for the members of an object that are not among these names, ended by NULL. */
void kv_trace_unknown_members(struct kv_trace *trace, const json_t *object, const char *const *known);
/* A sentence that users are told with what is printed of the trace and of its runs. */
void kv_trace_note(struct kv_trace *trace, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Counts block ids that the reader has found to stand for two lengths, where rows do not name them as blocks. */
void kv_trace_uneven_blocks(struct kv_trace *trace, uint64_t count);
/* No row that is still to come can matter (a range of rows was asked for and has been read). */
bool kv_trace_is_satisfied(const struct kv_trace *trace);
enum {
	KV_TRACE_PREFIX_IDENTITY = 1, /* the file says what prompts share */
	KV_TRACE_NAMEABLE_OUTPUTS = 2, /* a later prompt may name what an earlier request generated */
	KV_TRACE_DEPENDENT = 8, /* rows may depend on others */
	KV_TRACE_ANY_COLUMN = 16, /* rows may have tenants, salts, priorities and what else the native trace knows */
	KV_TRACE_DRAWN = 64, /* its rows are drawn: the file has none of them */
	KV_TRACE_SURE_UNIT = 32, /* nobody can mistake the unit of its times */
	KV_TRACE_CLOCK_FROM_FIRST = 4 /* times count from the first row (dates), not from the file's own zero */
};

/* What holds for the whole file: any of the above. */
void kv_trace_declare(struct kv_trace *trace, unsigned flags);
/* A native file has this column, behind those declared before; the name is kept as it is. */
void kv_trace_declare_column(struct kv_trace *trace, const char *name);
/* Fails with the file's name and a line in front: for what is wrong with the file as a whole. */
int kv_trace_fail(struct kv_trace *trace, struct kv_error *err, uint64_t line, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
