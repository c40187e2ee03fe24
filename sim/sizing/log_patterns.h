/* Internal to the log reader: the wordings of all engines. */
#ifndef KV_SIM_LOG_PATTERNS_H
#define KV_SIM_LOG_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/sizing/log_facts.h"

enum { KV_LOG_PATTERNS_MAX = 160 };

/* What the patterns made of a line. */
struct kv_log_line {
	const char *text;
	unsigned number;                       /* of the file */
	const char *rank;
	unsigned char found[KV_LOG_PATTERNS_MAX];  /* a value was taken */
	bool open;                             /* a wording stands there without its value: the line may be wrapped */
};

/* Takes all facts of a line; sets found and open. */
void kv_log_match_line(struct kv_log *log, struct kv_log_line *line);

/* A text of lines that a terminal or an editor may have wrapped: takes what begins before `border` and ends behind it,
 * if the line where it begins did not tell. Lines begin at start[]; the last begins at border. */
void kv_log_match_joined(struct kv_log *log, const char *text, struct kv_log_line *const line[], const size_t start[],
                         size_t lines);

/* Does a wording run from one text into the other? */
bool kv_log_wording_is_broken(const char *before, const char *after);

/* The wording whose value breaks off at the end of the line ("GPU KV cache size: 2,0"), or of the text behind the value
 * (of the last line: "Maximum concurrency for 8,192 tok"); NULL if none does. */
const char *kv_log_broken_off(const struct kv_log_line *line, bool last);

#endif
