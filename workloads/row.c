/* Fields of a row: conversion with checks, and the messages that users see. */
#include "config.h"

#include "workloads/format.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/base/names.h"
#include "workloads/number.h"

const char *kv_fault_name(enum kv_fault fault)
{
	static const char *const names[KV_FAULTS] = {
		"syntax", "columns", "missing_field", "unknown_key", "not_built", "not_a_number", "negative",
		"out_of_range", "bad_text", "bad_prompt", "zero_prompt", "prompt_sum", "hash_ids", "duplicate_id",
		"bad_reference", "out_of_order", "bad_dependency", "after_refusal", "empty_session",
		"failed_request", "filtered"
	};

	return names[fault];
}

static bool is_later(struct kv_root a, struct kv_root b)
{
	return a.arrival != b.arrival ? a.arrival > b.arrival : a.index > b.index;
}

void kv_row_depend(struct kv_row *row, uint64_t index, struct kv_root root)
{
	if (row->after_count == 0 || is_later(root, row->root))
		row->root = root;
	row->after = kv_grow(row->after, &row->after_capacity, row->after_count + 1, sizeof *row->after);
	row->after[row->after_count++] = index;
}

struct kv_root kv_row_root(const struct kv_row *row)
{
	return row->after_count > 0 ? row->root : (struct kv_root){row->arrival, row->index};
}

void kv_row_segment(struct kv_row *row, enum kv_stream_kind kind, uint64_t stream, uint32_t length)
{
	row->segments = kv_grow(row->segments, &row->segment_capacity, row->segment_count + 1, sizeof *row->segments);
	row->segments[row->segment_count++] = (struct kv_segment){.stream = stream, .length = length, .kind = kind};
	if (!row->keeps_names)
		return;
	row->names = kv_grow(row->names, &row->name_capacity, row->segment_count, sizeof *row->names);
	row->names[row->segment_count - 1] = (struct kv_text){0};
}

void kv_row_named_segment(struct kv_row *row, enum kv_stream_kind kind, const char *name, size_t name_length,
                          uint32_t length)
{
	kv_row_segment(row, kind, kv_name_hash(name, (uint32_t)name_length), length);
	if (row->keeps_names)
		row->names[row->segment_count - 1] = kv_row_text(row, name, name_length);
}

struct kv_text kv_row_text(struct kv_row *row, const char *text, size_t length)
{
	struct kv_text out = {(uint32_t)row->text_length, (uint32_t)length};

	row->text = kv_grow(row->text, &row->text_capacity, row->text_length + length + 1, 1);
	memcpy(row->text + row->text_length, text, length);
	row->text[row->text_length + length] = '\0';
	row->text_length += length + 1;
	return out;
}

void kv_row_fault(struct kv_row *row, enum kv_fault fault, const char *format, ...)
{
	va_list args;

	if (row->faulty)
		return;
	row->faulty = true;
	row->fault = fault;
	va_start(args, format);
	vsnprintf(row->fault_text, sizeof row->fault_text, format, args);
	va_end(args);
}

void kv_row_leave_out(struct kv_row *row, enum kv_fault fault)
{
	if (row->faulty)
		return;
	row->faulty = row->expected = true;
	row->fault = fault;
}

void kv_row_excuse(struct kv_row *row, enum kv_fault fault)
{
	row->faulty = false;
	kv_row_leave_out(row, fault);
}

enum { SHOWN = 60 };

/* Printable and short, for messages. */
static const char *shown(const char *text, size_t length, char out[SHOWN + 4])
{
	size_t n = length < SHOWN ? length : SHOWN;

	for (size_t i = 0; i < n; i++)
		out[i] = isprint((unsigned char)text[i]) ? text[i] : '?';
	strcpy(out + n, length > SHOWN ? "..." : "");
	return out;
}

static bool number_fault(struct kv_row *row, const char *field, enum kv_number status, const char *text, size_t length,
                         const char *allowed)
{
	static const enum kv_fault faults[] = {
		[KV_NUMBER_MALFORMED] = KV_FAULT_NUMBER, [KV_NUMBER_NEGATIVE] = KV_FAULT_NEGATIVE,
		[KV_NUMBER_TOO_LARGE] = KV_FAULT_RANGE, [KV_NUMBER_FRACTION] = KV_FAULT_NUMBER
	};
	static const char *const why[] = {
		[KV_NUMBER_MALFORMED] = "is not a number", [KV_NUMBER_NEGATIVE] = "is negative",
		[KV_NUMBER_TOO_LARGE] = "is too large", [KV_NUMBER_FRACTION] = "is not a whole number"
	};
	char found[SHOWN + 4];

	if (memchr(text, '\0', length) != NULL)
		kv_row_fault(row, KV_FAULT_TEXT, "%s: contains a NUL byte; allowed: %s", field, allowed);
	else
		kv_row_fault(row, faults[status], "%s: '%s' %s; allowed: %s", field, shown(text, length, found),
		             why[status], allowed);
	return false;
}

#define TOKENS_ALLOWED "a whole number of tokens from 0 to 1000000000"
#define TIME_ALLOWED "a decimal number from 0 to 4000000000 seconds"
#define INTEGER_ALLOWED "a whole number of at most 18 digits"

/* Nine digits and nothing else, as nearly all counts are: these need no range check. */
static bool parse_digits(const char *text, size_t length, uint32_t *out)
{
	uint32_t value = 0;

	if (length == 0 || length > 9)
		return false;
	for (size_t i = 0; i < length; i++) {
		unsigned digit = (unsigned char)text[i] - (unsigned)'0';

		if (digit > 9)
			return false;
		value = value * 10 + digit;
	}
	*out = value;
	return true;
}

bool kv_row_tokens(struct kv_row *row, const char *field, const char *text, size_t length, uint32_t *out)
{
	enum kv_number status;
	int64_t value;

	if (parse_digits(text, length, out))
		return true;
	status = kv_number_parse(text, length, 0, KV_TOKENS_MAX, &value);
	if (status != KV_NUMBER_OK)
		return number_fault(row, field, status, text, length, TOKENS_ALLOWED);
	*out = (uint32_t)value;
	return true;
}

static void read_time(struct kv_row *row, const struct kv_field *field, const char *text, size_t length, kv_time *out)
{
	enum kv_number status = kv_number_parse(text, length, field->digits, KV_ARRIVAL_MAX, out);

	if (status != KV_NUMBER_OK)
		number_fault(row, field->name, status, text, length, TIME_ALLOWED);
}

static void read_integer(struct kv_row *row, const char *field, const char *text, size_t length, int64_t *out)
{
	size_t sign = length > 0 && text[0] == '-';
	int64_t value;
	enum kv_number status = kv_number_parse(text + sign, length - sign, 0, INT64_MAX, &value);

	if (status == KV_NUMBER_NEGATIVE)
		status = KV_NUMBER_MALFORMED;
	if (status != KV_NUMBER_OK)
		number_fault(row, field, status, text, length, INTEGER_ALLOWED);
	else
		*out = sign ? -value : value;
}

static bool is_ascii(const char *text, size_t length)
{
	unsigned char any = 0;

	for (size_t i = 0; i < length; i++)
		any |= (unsigned char)text[i];
	return any < 0x80;
}

/* jansson makes no string of what is not UTF-8. */
static bool is_utf8(const char *text, size_t length)
{
	json_t *string;

	if (is_ascii(text, length))
		return true;
	string = json_stringn(text, length);
	json_decref(string);
	return string != NULL;
}

void kv_row_json_fault(struct kv_row *row, const json_error_t *error, const char *allowed)
{
	if (json_error_code(error) == json_error_numeric_overflow)
		kv_row_fault(row, KV_FAULT_RANGE,
		             "column %d: %s; allowed: up to %" PRId64 ", and block ids above that as text in quotes",
		             error->column, error->text, INT64_MAX);
	else
		kv_row_fault(row, KV_FAULT_SYNTAX, "column %d: %s; allowed: %s", error->column, error->text, allowed);
}

bool kv_row_check_text(struct kv_row *row, const char *field, const char *text, size_t length)
{
	if (memchr(text, '\0', length) != NULL)
		kv_row_fault(row, KV_FAULT_TEXT, "%s: contains a NUL byte; allowed: UTF-8 text", field);
	else if (!is_utf8(text, length))
		kv_row_fault(row, KV_FAULT_TEXT, "%s: contains bytes that are not UTF-8; allowed: UTF-8 text", field);
	return !row->faulty;
}

void kv_field_read_text(const struct kv_field *field, void *owner, struct kv_row *row, const char *text, size_t length)
{
	void *out = (char *)row + field->offset;

	switch (field->type) {
	case KV_FIELD_CUSTOM:
		field->read_text(owner, row, text, length);
		break;
	case KV_FIELD_TOKENS:
		kv_row_tokens(row, field->name, text, length, out);
		break;
	case KV_FIELD_TIME:
		read_time(row, field, text, length, out);
		break;
	case KV_FIELD_INTEGER:
		read_integer(row, field->name, text, length, out);
		break;
	case KV_FIELD_NAME:
		if (kv_row_check_text(row, field->name, text, length))
			*(struct kv_text *)out = kv_row_text(row, text, length);
		break;
	case KV_FIELD_IGNORED:
		break;
	}
}

static bool json_number_fault(struct kv_row *row, const char *field, enum kv_number status, const json_t *value,
                              const char *allowed)
{
	char text[2 * SHOWN];
	size_t length;

	memset(text, '.', sizeof text);
	length = value != NULL ? json_dumpb(value, text, sizeof text, JSON_ENCODE_ANY | JSON_COMPACT) : 0;
	return number_fault(row, field, status, text, length < sizeof text ? length : sizeof text, allowed);
}

static enum kv_number json_number(const json_t *value, unsigned digits, int64_t maximum, int64_t *out)
{
	int64_t unit = 1;
	json_int_t whole;

	if (json_is_real(value))
		return kv_number_from_double(json_real_value(value), digits, maximum, out);
	if (!json_is_integer(value))
		return KV_NUMBER_MALFORMED;
	for (unsigned i = 0; i < digits; i++)
		unit *= 10;
	whole = json_integer_value(value);
	if (whole < 0)
		return KV_NUMBER_NEGATIVE;
	if (whole > maximum / unit)
		return KV_NUMBER_TOO_LARGE;
	*out = whole * unit;
	return KV_NUMBER_OK;
}

bool kv_row_json_tokens(struct kv_row *row, const char *field, const json_t *value, uint32_t *out)
{
	int64_t number;
	enum kv_number status = json_number(value, 0, KV_TOKENS_MAX, &number);

	if (status != KV_NUMBER_OK)
		return json_number_fault(row, field, status, value, TOKENS_ALLOWED);
	*out = (uint32_t)number;
	return true;
}

static void read_json_time(struct kv_row *row, const struct kv_field *field, const json_t *value, kv_time *out)
{
	enum kv_number status = json_number(value, field->digits, KV_ARRIVAL_MAX, out);

	if (status != KV_NUMBER_OK)
		json_number_fault(row, field->name, status, value, TIME_ALLOWED);
}

void kv_field_read_json(const struct kv_field *field, void *owner, struct kv_row *row, const json_t *value)
{
	void *out = (char *)row + field->offset;

	switch (field->type) {
	case KV_FIELD_CUSTOM:
		field->read_json(owner, row, value);
		break;
	case KV_FIELD_TOKENS:
		kv_row_json_tokens(row, field->name, value, out);
		break;
	case KV_FIELD_TIME:
		read_json_time(row, field, value, out);
		break;
	case KV_FIELD_INTEGER:
		if (json_is_integer(value))
			*(int64_t *)out = json_integer_value(value);
		else
			json_number_fault(row, field->name, KV_NUMBER_MALFORMED, value, INTEGER_ALLOWED);
		break;
	case KV_FIELD_NAME:
		if (json_is_string(value))
			*(struct kv_text *)out = kv_row_text(row, json_string_value(value), json_string_length(value));
		else
			kv_row_fault(row, KV_FAULT_TEXT, "%s: not a string; allowed: text in quotes", field->name);
		break;
	case KV_FIELD_IGNORED:
		break;
	}
}

void kv_field_read_member(const struct kv_field *field, struct kv_row *row, const json_t *object)
{
	const json_t *value = json_object_get(object, field->name);

	if (value != NULL && !json_is_null(value))
		kv_field_read_json(field, NULL, row, value);
	else
		kv_row_fault(row, KV_FAULT_MISSING, "%s: is missing, and every request needs it", field->name);
}

const struct kv_field *kv_field_find(const struct kv_table *table, const char *name)
{
	for (const struct kv_field *field = table->fields; field->name != NULL; field++)
		if (strcmp(field->name, name) == 0)
			return field;
	return NULL;
}

int kv_field_fail_unknown(const struct kv_table *table, const char *what, const char *name, struct kv_error *err)
{
	const char **names = NULL;
	size_t capacity = 0, count = 0;

	for (const struct kv_field *field = table->fields; field->name != NULL; field++) {
		if (field->refusal != NULL)
			continue;
		names = kv_grow(names, &capacity, count + 1, sizeof *names);
		names[count++] = field->name;
	}
	kv_fail_unknown(err, KV_EXIT_DATA, what, name, names, count);
	free(names);
	return -1;
}
