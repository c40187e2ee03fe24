/* Rows of a file of measurements that are not used, told on standard error: a line a reason, or a line a row. */
#ifndef KV_SIM_CLI_REFUSED_ROWS_H
#define KV_SIM_CLI_REFUSED_ROWS_H

#include <stdbool.h>
#include <stddef.h>

struct kv_refusal {
	char *reason;
	size_t line;    /* of the first row */
	size_t rows;
};

/* Zeroed at first but for path and each. */
struct kv_refused_rows {
	const char *path;
	bool each;      /* a line a row */
	struct kv_refusal *refusal;
	size_t count, capacity;
};

void kv_refused_rows_add(struct kv_refused_rows *refused, size_t line, const char *reason);
/* Prints what has been added, in the order of first rows, and forgets it. */
void kv_refused_rows_tell(struct kv_refused_rows *refused);

#endif
