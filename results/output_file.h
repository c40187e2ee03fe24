/* Buffered output that does not lose an error: the first failed or short write is remembered and told when the file is
 * closed (KV_EXIT_IO), whatever was written after it.
 *
 * A file is written under a temporary name beside the final one and gets its final name only by
 * kv_output_commit, so that a killed run leaves nothing that looks complete.
 */
#ifndef KV_RESULTS_OUTPUT_FILE_H
#define KV_RESULTS_OUTPUT_FILE_H

#include <stddef.h>

#include "sim/base/error.h"

#define KV_OUTPUT_TEMPORARY_SUFFIX ".tmp"

struct kv_output;

/* Creates or empties PATH.tmp; what is a device or a pipe (/dev/null) is written as it is and stays. NULL with err
 * filled if that fails. */
struct kv_output *kv_output_create(const char *path, struct kv_error *err);

/* Writes to an open descriptor (stdout), which stays open; `name` is what errors call it. */
struct kv_output *kv_output_to_descriptor(int descriptor, const char *name);

/* Room for at least `size` bytes (at most KV_OUTPUT_ROOM_MAX) in the buffer; what was written there is taken over by
 * kv_output_advance(out, end of what was written). */
#define KV_OUTPUT_ROOM_MAX 4096
char *kv_output_room(struct kv_output *out, size_t size);
void kv_output_advance(struct kv_output *out, const char *end);

void kv_output_bytes(struct kv_output *out, const void *bytes, size_t size);
void kv_output_text(struct kv_output *out, const char *text);
void kv_output_printf(struct kv_output *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes what is buffered and closes. 0, or -1 with err filled if any write failed. The file keeps its temporary
 * name. */
int kv_output_close(struct kv_output *out, struct kv_error *err);

/* After a successful close: gives the file its final name (nothing to do for a descriptor). */
int kv_output_commit(struct kv_output *out, struct kv_error *err);

/* Frees; a file that was not committed is removed. NULL is allowed. */
void kv_output_free(struct kv_output *out);

#endif
