/* Internal to the log reader: a line as it was pasted, made plain.
 *
 * Colours and cursor movements go (as bytes and as they are spelt in JSON and journals), and so do carriage returns and
 * NUL bytes (UTF-16 logs); thousands separators of any locale become commas.
 */
#ifndef KV_SIM_LOG_LINES_H
#define KV_SIM_LOG_LINES_H

#include <stddef.h>

#include "sim/sizing/log_facts.h"

enum { KV_LOG_LINE_LENGTH = 1 << 16 };

/* At most KV_LOG_LINE_LENGTH - 1 bytes of text. */
void kv_log_plain_line(const char *text, size_t length, char line[KV_LOG_LINE_LENGTH]);

/* "(Worker_DP0_TP1 pid=7)", "[2026-08-18 10:00:00 DP1 TP0]", "(VllmWorkerProcess pid=521)", "(VllmWorker rank=4
 * pid=7)": the rank or process that speaks, as "DP0 TP1", "pid 521", "rank 4"; "" where none is named. */
void kv_log_find_rank(const char *line, char rank[KV_LOG_RANK_LENGTH]);

#endif
