/* Parameters of what is chosen by name (policies, trace formats): a table each, "name,param=value,..." on the command
 * line, and one parser, error text and listing for all. */
#ifndef KV_SIM_PARAM_H
#define KV_SIM_PARAM_H

#include <stddef.h>

#include "sim/base/error.h"

enum kv_param_type {
	KV_PARAM_UINT,    /* uint64_t */
	KV_PARAM_DOUBLE,
	KV_PARAM_BOOL,
	KV_PARAM_TIME,    /* kv_time */
	KV_PARAM_CHOICE,  /* uint32_t: which of the names that `unit` lists, "a|b|c" */
	KV_PARAM_TEXT     /* char[KV_PARAM_TEXT_MAX] */
};

#define KV_PARAM_TEXT_MAX 256

struct kv_param {
	const char *name;
	enum kv_param_type type;
	size_t offset;         /* into the owner's state */
	double minimum, maximum;
	const char *fallback;  /* default, as a user would write it */
	const char *unit;      /* "" = none */
	const char *help;
};

/* Sets every parameter of "param=value,..." (is changed; NULL = none) over the defaults of the table (ends with a NULL
 * name; may be NULL). Unknown names and values out of range are KV_EXIT_USAGE errors that begin with the owner's name
 * and list what is allowed. */
int kv_params_set(const char *owner, const struct kv_param *params, char *list, void *state, struct kv_error *err);

#endif
