#include "config.h"

#include "results/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "results/number_text.h"
#include "sim/base/memory.h"

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
	if (json->depth < json->rows)
		json->rows = 0;
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
	if (json->rows != 0 && json->depth == json->rows)
		json->inlined = json->depth + 1;
	begin_container(json, "{");
}

void kv_json_begin_rows(struct kv_json *json, const char *key)
{
	begin_member(json, key);
	begin_container(json, "[");
	json->rows = json->depth;
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
	char *end;

	begin_member(json, key);
	end = kv_text_seconds(kv_output_room(json->out, KV_NUMBER_TEXT_MAX), time);
	if (time % KV_SECOND == 0) {
		memcpy(end, ".0", 2);
		end += 2;
	}
	kv_output_advance(json->out, end);
}

void kv_json_ratio(struct kv_json *json, const char *key, kv_integral numerator, kv_integral denominator)
{
	begin_member(json, key);
	kv_output_advance(json->out,
	                  kv_text_ratio(kv_output_room(json->out, KV_NUMBER_TEXT_MAX), numerator, denominator, 3));
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

json_t *kv_json_text(const char *text)
{
	json_t *value;

	if (text == NULL)
		return json_null();
	value = json_string(text);
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
	json_t *value = kv_json_text(text);

	kv_json_value(json, key, value);
	json_decref(value);
}

/* {"value": 16, "source": "profile"} */
static bool is_short(const json_t *object)
{
	const char *member;
	json_t *value;

	json_object_foreach((json_t *)object, member, value)
		if (json_is_object(value) || json_is_array(value))
			return false;
	return json_object_size(object) <= 2;
}

static void put_object(struct kv_json *json, const char *key, const json_t *object)
{
	const char *member;
	json_t *value;

	if (is_short(object) && json->inlined == 0) {
		begin_member(json, key);
		json->inlined = json->depth + 1;
		begin_container(json, "{");
	} else {
		kv_json_begin_object(json, key);
	}
	json_object_foreach((json_t *)object, member, value)
		kv_json_value(json, member, value);
	kv_json_end_object(json);
}

static void put_array(struct kv_json *json, const char *key, const json_t *array)
{
	size_t i;
	json_t *value;

	if (json_is_object(json_array_get(array, 0)) && json->inlined == 0)
		kv_json_begin_rows(json, key);
	else
		kv_json_begin_array(json, key);
	json_array_foreach(array, i, value)
		kv_json_value(json, NULL, value);
	kv_json_end_array(json);
}

void kv_json_value(struct kv_json *json, const char *key, const json_t *value)
{
	if (json_is_object(value)) {
		put_object(json, key, value);
	} else if (json_is_array(value)) {
		put_array(json, key, value);
	} else {
		begin_member(json, key);
		json_dump_callback(value, put_chunk, json->out, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
	}
}
