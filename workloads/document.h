/* Traces in one JSON document, or several one after the other, each of which gives many rows. The whole input is held
 * in memory while it is read. What is no JSON is one unusable row, and so is what follows it in its file.
 */
#ifndef KV_WORKLOADS_DOCUMENT_H
#define KV_WORKLOADS_DOCUMENT_H

#include "workloads/format.h"

struct kv_document_table {
	/* Hands over the rows of one document, which begins on this line, or leaves it out whole. Returns 0 or -1 as
	 * kv_trace_accept does. */
	int (*expand)(void *owner, json_t *document, uint64_t line);
	void (*close)(void *owner);
};

struct kv_reader *kv_document_open(struct kv_trace *trace, const struct kv_document_table *table, void *owner);

#endif
