/* Traces for tests: bytes in a file of the working folder, read as a whole. */
#ifndef KV_TESTS_TRACE_FILE_H
#define KV_TESTS_TRACE_FILE_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support.h"
#include "workloads/trace.h"

#define KV_PATH_SIZE 64

/* Forked cases run one after the other; the process id keeps programs apart. */
static inline const char *kv_write_file(char path[KV_PATH_SIZE], const void *bytes, size_t length)
{
	FILE *file;

	snprintf(path, KV_PATH_SIZE, "trace-%ld.tmp", (long)getpid());
	file = fopen(path, "wb");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, length, file), length);
	ck_assert_int_eq(fclose(file), 0);
	return path;
}

/* Reads to the end, each request ending as it arrives: 0, or -1 with err filled. The trace stays open for its counts,
 * or is NULL if it never was. */
static inline int kv_read_all(const char *path, const struct kv_trace_options *options, struct kv_trace **trace,
                              struct kv_error *err)
{
	struct kv_request request;
	int status;

	*trace = kv_trace_open(path, options, err);
	if (*trace == NULL)
		return -1;
	while ((status = kv_trace_source(*trace)->next(kv_trace_source(*trace), &request, err)) == 1)
		kv_trace_source(*trace)->ended(kv_trace_source(*trace), request.index, KV_END_FINISHED, request.arrival,
		                               NULL, false);
	return status;
}

#endif
