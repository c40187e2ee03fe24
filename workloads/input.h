/* A streamed byte source: a file, standard input ("-") or a preset ("preset:NAME"), plain, gzip or zstd, told apart by
 * their first bytes.
 *
 * Bytes come in chunks of whatever size is at hand; memory is a few buffers and the first line, whatever the length of
 * the file. A UTF-8 byte order mark at the very start is dropped.
 */
#ifndef KV_WORKLOADS_INPUT_H
#define KV_WORKLOADS_INPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/error.h"

struct kv_input;

/* Reads the first bytes too. Errors: KV_EXIT_MISSING where there is no such file, KV_EXIT_IO where it cannot be read,
 * KV_EXIT_DATA where compressed data are damaged. */
struct kv_input *kv_input_open(const char *path, struct kv_error *err);
void kv_input_close(struct kv_input *input);

/* The name to use in messages: the path, or "standard input". */
const char *kv_input_name(const struct kv_input *input);

/* The first bytes of the content, with the first line if that has no more than 64 MiB, without consuming them; *whole
 * says that there are no more than these. To be called before the first kv_input_chunk. */
void kv_input_peek(const struct kv_input *input, const char **data, size_t *length, bool *whole);

/* How much of the file has been read, 0 to 1; 0 where its length is not known, as on a pipe. */
double kv_input_fraction(const struct kv_input *input);

/* The next bytes, valid until the next call: 1 = *length > 0 bytes at *data, 0 = end, -1 = err filled (a truncated or
 * damaged gzip or zstd file is KV_EXIT_DATA). */
int kv_input_chunk(struct kv_input *input, const char **data, size_t *length, struct kv_error *err);

#define KV_FINGERPRINT_SIZE 33
/* XXH128 of the file as it lies on disk, in hexadecimal as xxh128sum prints it. Reads what is left of the file, so that
 * no more chunks can be had afterwards. Returns 0 or -1. */
int kv_input_fingerprint(struct kv_input *input, char text[KV_FINGERPRINT_SIZE], struct kv_error *err);

/* The same of bytes in memory. */
void kv_fingerprint(const void *bytes, size_t length, char text[KV_FINGERPRINT_SIZE]);

#endif
