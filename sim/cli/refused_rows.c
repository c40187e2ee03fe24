#include "config.h"

#include "sim/cli/refused_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"

static struct kv_refusal *find(const struct kv_refused_rows *refused, const char *reason)
{
	for (size_t i = 0; i < refused->count && !refused->each; i++)
		if (strcmp(refused->refusal[i].reason, reason) == 0)
			return &refused->refusal[i];
	return NULL;
}

void kv_refused_rows_add(struct kv_refused_rows *refused, size_t line, const char *reason)
{
	struct kv_refusal *known = find(refused, reason);

	if (known != NULL) {
		known->rows++;
		return;
	}
	refused->refusal = kv_grow(refused->refusal, &refused->capacity, refused->count + 1, sizeof *refused->refusal);
	refused->refusal[refused->count++] = (struct kv_refusal){.reason = kv_strdup(reason), .line = line, .rows = 1};
}

void kv_refused_rows_tell(struct kv_refused_rows *refused)
{
	for (size_t i = 0; i < refused->count; i++) {
		const struct kv_refusal *r = &refused->refusal[i];

		fprintf(stderr, "kvsim: %s:%zu: not used: %s", refused->path, r->line, r->reason);
		if (r->rows > 1)
			fprintf(stderr, " (and %zu more rows: --list-refused names them)", r->rows - 1);
		fputc('\n', stderr);
		free(r->reason);
	}
	free(refused->refusal);
	refused->refusal = NULL;
	refused->count = refused->capacity = 0;
}
