#include "config.h"

#include "sim/sizing/log_lines.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PREFIX_LENGTH = 120 };  /* ranks are named within it */

static const char *const escapes[] = {"\033[", "\\u001b[", "\\u001B[", "\\x1b[", "\\033[", "#033[", "^[["};

/* Behind an escape sequence that starts here: its introducer, parameters and final letter. NULL if none does. */
static const char *behind_escape(const char *at)
{
	for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
		size_t length = strlen(escapes[i]);

		if (strncmp(at, escapes[i], length) != 0)
			continue;
		at += length;
		at += strspn(at, "0123456789;?");
		return at + (*at != '\0');
	}
	return NULL;
}

static void strip_escapes(char *line)
{
	char *to = line;

	for (const char *from = line; *from;) {
		const char *behind = strchr("\033\\#^", *from) ? behind_escape(from) : NULL;

		if (behind)
			from = behind;
		else
			*to++ = *from++;
	}
	*to = '\0';
}

static bool is_digit(char c)
{
	return isdigit((unsigned char)c);
}

/* Bytes of a thousands separator other than a comma; 0 = none here. */
static size_t separator(const char *at)
{
	static const char *const marks[] = {"\u00a0", "\u202f", "\u2009", "_", "'", "\u2019"};

	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (strncmp(at, marks[i], strlen(marks[i])) == 0)
			return strlen(marks[i]);
	return 0;
}

static bool three_digits(const char *at)
{
	return is_digit(at[0]) && is_digit(at[1]) && is_digit(at[2]) && !is_digit(at[3]);
}

/* Does a number and nothing else stand between `line`'s last blank, bracket or sign and `end`? */
static bool ends_number(const char *line, const char *end)
{
	const char *at = end;

	while (at > line && (is_digit(at[-1]) || at[-1] == ','))
		at--;
	return at < end && (at == line || strchr(" \t(=:", at[-1]));
}

/* "42_656", "42'656" and the same with unbreakable spaces, but not "v1_100b". */
static void mend_separators(char *line)
{
	char *to = line;

	for (const char *from = line; *from;) {
		size_t length = ends_number(line, to) ? separator(from) : 0;

		if (length && three_digits(from + length) && !isalpha((unsigned char)from[length + 3])) {
			*to++ = ',';
			from += length;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/* Groups of three before " tokens" that plain spaces or points separate: tokens are whole. */
static void mend_tokens(char *line)
{
	for (char *at = strstr(line, " tokens"); at; at = strstr(at + 1, " tokens"))
		for (char *group = at - 4;
		     group > line && (*group == ' ' || *group == '.') && is_digit(group[-1]) && three_digits(group + 1);
		     group -= 4)
			*group = ',';
}

void kv_log_plain_line(const char *text, size_t length, char line[KV_LOG_LINE_LENGTH])
{
	size_t n = 0;

	for (size_t i = 0; i < length && n < KV_LOG_LINE_LENGTH - 1; i++)
		if (text[i] != '\0' && text[i] != '\r')
			line[n++] = text[i];
	line[n] = '\0';
	strip_escapes(line);
	mend_separators(line);
	mend_tokens(line);
}

/* "TP3" of a prefix, where no longer word ends in it; NULL if none is there. */
static const char *find_dimension(const char *prefix, const char *dimension)
{
	for (const char *at = strstr(prefix, dimension); at; at = strstr(at + 1, dimension))
		if (is_digit(at[2]) && (at == prefix || !isalnum((unsigned char)at[-1])))
			return at;
	return NULL;
}

/* The number that one of these words names. */
static bool find_process(const char *prefix, char rank[KV_LOG_RANK_LENGTH])
{
	static const struct {
		const char *word, *name;
	} words[] = {{"Worker rank=", "rank"},
	             {"Process pid=", "pid"},
	             {"WorkerWrapper pid=", "pid"},
	             {"Actor pid=", "pid"},
	             {"[RANK ", "rank"}};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const char *at = strstr(prefix, words[i].word);

		if (at) {
			snprintf(rank, KV_LOG_RANK_LENGTH, "%s %ld", words[i].name, strtol(at + strlen(words[i].word), NULL, 10));
			return true;
		}
	}
	return false;
}

void kv_log_find_rank(const char *line, char rank[KV_LOG_RANK_LENGTH])
{
	static const char *const dimensions[] = {"DP", "PP", "TP"};
	char prefix[PREFIX_LENGTH];
	size_t n = 0;

	rank[0] = '\0';
	snprintf(prefix, sizeof prefix, "%s", line);
	if (find_process(prefix, rank))
		return;
	for (size_t i = 0; i < sizeof dimensions / sizeof *dimensions; i++) {
		const char *at = find_dimension(prefix, dimensions[i]);

		if (at && n < KV_LOG_RANK_LENGTH)
			n += (size_t)snprintf(rank + n, KV_LOG_RANK_LENGTH - n, "%s%.2s%d", n ? " " : "", at, atoi(at + 2) % 10000);
	}
}
