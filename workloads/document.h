/* Traces in one JSON document, or several one after the other, each of which gives many rows. The whole input is held
 * in memory while it is read. */
#ifndef KV_WORKLOADS_DOCUMENT_H
#define KV_WORKLOADS_DOCUMENT_H

#include "workloads/format.h"

struct kv_document_table {
	/* Hands over the rows of one document, which begins on this line. Returns 0, or -1 if a row or the document
	 * could not be taken (the trace or err says why). */
	int (*expand)(void *owner, json_t *document, uint64_t line, struct kv_error *err);
	void (*close)(void *owner);
};

struct kv_reader *kv_document_open(struct kv_trace *trace, const struct kv_document_table *table, void *owner);

#endif
