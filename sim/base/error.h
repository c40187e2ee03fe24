/* Errors that users cause, and the exit status each kind has.
 *
 * A function that can fail on input takes a struct kv_error and returns nonzero (or NULL) after filling it. Running out
 * of memory ends the program inside the allocator (sim/base/memory.h), so no caller has an untestable branch.
 */
#ifndef KV_SIM_ERROR_H
#define KV_SIM_ERROR_H

#include <stdarg.h>

enum kv_exit {
	KV_EXIT_OK = 0,
	KV_EXIT_CHECK = 1,   /* a check failed: check-log, score, replay_vectors */
	KV_EXIT_USAGE = 64,  /* wrong flags, scenario keys or values */
	KV_EXIT_DATA = 65,   /* input that cannot be used */
	KV_EXIT_MISSING = 66,/* no such file or folder */
	KV_EXIT_BUG = 70,    /* a broken invariant: our fault */
	KV_EXIT_IO = 74      /* reading or writing failed */
};

struct kv_error {
	enum kv_exit status;
	char text[1024];
};

/* Fills err and returns -1, so that callers can write "return kv_fail(...)". The text names file, line, field,
 * what was found and what is allowed, and ends without a full stop or newline. */
int kv_fail(struct kv_error *err, enum kv_exit status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
int kv_vfail(struct kv_error *err, enum kv_exit status, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

/* Puts "context: " in front of the text of an error that was returned by a callee which knew less; returns -1. */
int kv_fail_in(struct kv_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the program with KV_EXIT_BUG. Always compiled in; used for cheap invariants. */
_Noreturn void kv_bug(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

#define KV_ASSERT(cond, ...)                                            \
	do {                                                            \
		if (__builtin_expect(!(cond), 0))                       \
			kv_bug(__FILE__, __LINE__, __VA_ARGS__);        \
	} while (0)

#endif
