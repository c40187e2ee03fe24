#include "config.h"

#include "results/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/number_text.h"
#include "sim/memory.h"

static void new_line(struct kv_json *json)
{
	kv_output_text(json->out, "\n");
	for (unsigned i = 0; i < json->depth; i++)
		kv_output_text(json->out, "  ");
}

static bool on_one_line(const struct kv_json *json)
{
	return json->inlined != 0 && json->depth >= json->inlined;
}

static void begin_member(struct kv_json *json, const char *key)
{
	if (!json->empty)
		kv_output_text(json->out, on_one_line(json) ? ", " : ",");
	json->empty = false;
	if (!on_one_line(json))
		new_line(json);
	if (key != NULL) {
		kv_output_text(json->out, "\"");
		kv_output_text(json->out, key);
		kv_output_text(json->out, "\": ");
	}
}

static void begin_container(struct kv_json *json, const char *bracket)
{
	kv_output_text(json->out, bracket);
	json->depth++;
	json->empty = true;
}

static void end_container(struct kv_json *json, const char *bracket)
{
	bool one_line = on_one_line(json);

	json->depth--;
	if (!json->empty && !one_line)
		new_line(json);
	kv_output_text(json->out, bracket);
	json->empty = false;
	if (json->depth < json->inlined)
		json->inlined = 0;
}

void kv_json_start(struct kv_json *json, struct kv_output *out)
{
	*json = (struct kv_json){.out = out};
	begin_container(json, "{");
}

void kv_json_finish(struct kv_json *json)
{
	end_container(json, "}");
	kv_output_text(json->out, "\n");
}

void kv_json_begin_object(struct kv_json *json, const char *key)
{
	begin_member(json, key);
	begin_container(json, "{");
}

void kv_json_begin_array(struct kv_json *json, const char *key)
{
	begin_member(json, key);
	begin_container(json, "[");
	if (json->inlined == 0)
		json->inlined = json->depth;
}

void kv_json_end_object(struct kv_json *json)
{
	end_container(json, "}");
}

void kv_json_end_array(struct kv_json *json)
{
	end_container(json, "]");
}

void kv_json_u64(struct kv_json *json, const char *key, uint64_t value)
{
	begin_member(json, key);
	kv_output_advance(json->out, kv_text_u64(kv_output_room(json->out, KV_NUMBER_TEXT_MAX), value));
}

void kv_json_i64(struct kv_json *json, const char *key, int64_t value)
{
	begin_member(json, key);
	kv_output_advance(json->out, kv_text_i64(kv_output_room(json->out, KV_NUMBER_TEXT_MAX), value));
}

void kv_json_double(struct kv_json *json, const char *key, double value)
{
	if (!isfinite(value)) {
		kv_json_null(json, key);
		return;
	}
	begin_member(json, key);
	kv_output_advance(json->out, kv_text_double(kv_output_room(json->out, KV_NUMBER_TEXT_MAX), value));
}

void kv_json_seconds(struct kv_json *json, const char *key, kv_time time)
{
	char *start, *end;

	begin_member(json, key);
	start = kv_output_room(json->out, KV_NUMBER_TEXT_MAX);
	end = kv_text_seconds(start, time);
	if (time % KV_SECOND == 0) {
		memcpy(end, ".0", 2);
		end += 2;
	}
	kv_output_advance(json->out, end);
}

void kv_json_bool(struct kv_json *json, const char *key, bool value)
{
	begin_member(json, key);
	kv_output_text(json->out, value ? "true" : "false");
}

void kv_json_null(struct kv_json *json, const char *key)
{
	begin_member(json, key);
	kv_output_text(json->out, "null");
}

static int put_chunk(const char *text, size_t size, void *out)
{
	kv_output_bytes(out, text, size);
	return 0;
}

static json_t *string_value(const char *text)
{
	json_t *value = json_string(text);

	if (value == NULL) {
		char *copy = kv_strdup(text);

		for (char *p = copy; *p != '\0'; p++)
			if ((unsigned char)*p >= 0x80)
				*p = '?';
		value = json_string(copy);
		free(copy);
	}
	return value;
}

void kv_json_string(struct kv_json *json, const char *key, const char *text)
{
	json_t *value;

	if (text == NULL) {
		kv_json_null(json, key);
		return;
	}
	value = string_value(text);
	kv_json_value(json, key, value);
	json_decref(value);
}

void kv_json_value(struct kv_json *json, const char *key, const json_t *value)
{
	begin_member(json, key);
	json_dump_callback(value, put_chunk, json->out, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
}
