#include "config.h"

#include "sim/base/names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_COMPARED 96

static unsigned smallest(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

static int folded(char c)
{
	return c == '_' ? '-' : tolower((unsigned char)c);
}

/* Optimal string alignment distance, three rows at a time. */
static unsigned distance(const char *a, const char *b)
{
	unsigned rows[3][NAME_MAX_COMPARED + 1];
	size_t n = strlen(a), m = strlen(b);

	if (n > NAME_MAX_COMPARED || m > NAME_MAX_COMPARED)
		return NAME_MAX_COMPARED;
	for (size_t j = 0; j <= m; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		unsigned *now = rows[i % 3];
		const unsigned *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			unsigned change = folded(a[i - 1]) != folded(b[j - 1]);

			now[j] = smallest(before[j] + 1, now[j - 1] + 1, before[j - 1] + change);
			if (i > 1 && j > 1 && folded(a[i - 1]) == folded(b[j - 2]) &&
			    folded(a[i - 2]) == folded(b[j - 1]) && earlier[j - 2] + 1 < now[j])
				now[j] = earlier[j - 2] + 1;
		}
	}
	return rows[n % 3][m];
}

const char *kv_nearest_name(const char *name, const char *const *names, size_t count)
{
	size_t length = strlen(name);
	unsigned best = (unsigned)(length < 6 ? 1 : length < 12 ? 2 : length / 4);
	const char *nearest = NULL;

	for (size_t i = 0; i < count; i++) {
		unsigned d = distance(name, names[i]);

		if (d < strlen(names[i]) && (d < best || (d == best && nearest == NULL))) {
			best = d;
			nearest = names[i];
		}
	}
	return nearest;
}

int kv_fail_unknown(struct kv_error *err, enum kv_exit status, const char *what, const char *name,
                    const char *const *names, size_t count)
{
	const char *nearest = kv_nearest_name(name, names, count);
	char list[sizeof err->text / 2];
	size_t used = 0;

	if (nearest != NULL)
		return kv_fail(err, status, "unknown %s '%s': did you mean '%s'?", what, name, nearest);
	list[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		int n = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);

		if (n < 0 || (size_t)n >= sizeof list - used) {
			snprintf(list + used, sizeof list - used, ", ...");
			break;
		}
		used += (size_t)n;
	}
	return kv_fail(err, status, "unknown %s '%s': valid are %s", what, name, list);
}
