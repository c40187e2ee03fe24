/* The folder that a run writes: created with its parents, refused if somebody else's.
 *
 * It is ours if it is empty, holds a manifest.json that names kvsim, or holds nothing but temporary files that a killed
 * run left. Only files of our own names are ever replaced or removed. */
#ifndef KV_RESULTS_RESULT_FOLDER_H
#define KV_RESULTS_RESULT_FOLDER_H

#include <stdbool.h>

#include "sim/base/error.h"

enum kv_result_file {
	KV_FILE_MANIFEST,  /* first: what marks the folder as ours gets its name first */
	KV_FILE_SUMMARY,
	KV_FILE_REQUESTS,
	KV_FILE_TIMELINE,
	KV_FILE_EVENTS,
	KV_FILE_REPORT,
	KV_FILE_CHARTS,    /* what the report draws, to render it again */
	KV_FILE_METRICS,
	KV_FILE_TRACE,
	KV_FILE_COMPARISON,  /* these two stand alone beside the manifest */
	KV_FILE_COMPARISON_PAGE,
	KV_FILES
};

const char *kv_result_file_name(enum kv_result_file file);

/* *created tells whether it was made now. KV_EXIT_USAGE if it is not ours and !force, KV_EXIT_IO. */
int kv_result_folder_open(const char *dir, bool force, bool *created, struct kv_error *err);

/* Removes a file that an earlier command left in the folder and that would belong to nothing now. */
void kv_result_folder_drop(const char *dir, enum kv_result_file file);

/* DIR/NAME; free() it. */
char *kv_result_folder_path(const char *dir, const char *name);

#endif
