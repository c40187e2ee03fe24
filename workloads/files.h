/* The files of a trace: one, or those of a folder in order of their names (bytes compared, names that begin with a dot
 * left out). */
#ifndef KV_WORKLOADS_FILES_H
#define KV_WORKLOADS_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/base/error.h"
#include "workloads/input.h"

struct kv_files {
	char **paths;
	size_t count, capacity;
	size_t at;                 /* of the file that input reads */
	bool folder;
	struct kv_input *input;
	char *digests;             /* fingerprints of the files before it, of a folder */
	size_t digests_length, digests_capacity;
};

/* Opens the first file. Returns 0 or -1; kv_files_close is to be called in any case. */
int kv_files_open(struct kv_files *files, const char *path, struct kv_error *err);
void kv_files_close(struct kv_files *files);

/* 1 = the next file is open, 0 = there is none, -1 = failed. */
int kv_files_next(struct kv_files *files, struct kv_error *err);

/* The file's own fingerprint; that of a folder is the XXH128 of its files' fingerprints, one after the other. Reads
 * what is left of them. */
int kv_files_fingerprint(struct kv_files *files, char text[KV_FINGERPRINT_SIZE], struct kv_error *err);

#endif
