/* Sentences for the user, collected while something is built or run. */
#ifndef KV_SIM_REMARKS_H
#define KV_SIM_REMARKS_H

#include <stdarg.h>
#include <stddef.h>

struct kv_remarks {
	char **text;
	size_t count;
};

void kv_remark(struct kv_remarks *remarks, const char *format, ...) __attribute__((format(printf, 2, 3)));
void kv_vremark(struct kv_remarks *remarks, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
/* Adds those of more that are not yet there. */
void kv_remarks_merge(struct kv_remarks *remarks, const struct kv_remarks *more);
void kv_remarks_fini(struct kv_remarks *remarks);

#endif
