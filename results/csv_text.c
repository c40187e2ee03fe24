#include "config.h"

#include "results/csv_text.h"

#include <stdlib.h>
#include <string.h>

#include <csv.h>

#include "sim/base/memory.h"

static void write_quoted(struct kv_output *out, const char *text)
{
	size_t length = strlen(text);
	size_t room = 2 * length + 2;
	char *quoted = kv_calloc(room, 1);

	kv_output_bytes(out, quoted, csv_write(quoted, room, text, length));
	free(quoted);
}

static int is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Readers strip blanks around fields that are not quoted. */
void kv_csv_text(struct kv_output *out, const char *text)
{
	size_t plain = strcspn(text, ",\"\r\n");

	if (text[plain] == '\0' && (plain == 0 || (!is_blank(text[0]) && !is_blank(text[plain - 1]))))
		kv_output_bytes(out, text, plain);
	else
		write_quoted(out, text);
}

void kv_csv_request_id(struct kv_output *out, const char *id, uint64_t index)
{
	char *p;

	if (id != NULL) {
		kv_csv_text(out, id);
		return;
	}
	p = kv_output_room(out, 1 + KV_NUMBER_TEXT_MAX);
	*p = 'r';
	kv_output_advance(out, kv_text_u64(p + 1, index));
}
