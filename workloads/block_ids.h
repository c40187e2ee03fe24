/* JSON lines whose prompts are lists of block ids: Mooncake's shape, with block size, unit of time, rule for the last
 * block and names of the keys as parameters. */
#ifndef KV_WORKLOADS_BLOCK_IDS_H
#define KV_WORKLOADS_BLOCK_IDS_H

#include "workloads/format.h"

/* Block ids are 64-bit numbers below this: a whole number in JSON (which ends at 2^63 - 1), or decimal digits in text.
 * Each returns false for anything else. */
#define KV_BLOCK_ID_END UINT64_MAX
bool kv_block_id_parse(const char *text, size_t length, uint64_t *id);
bool kv_block_id_json(const json_t *value, uint64_t *id);
#define KV_BLOCK_ID_ALLOWED "a whole number from 0 on, or its digits in quotes, below 18446744073709551615"

enum kv_last_block {
	KV_LAST_CEIL,    /* ceil(length / block) ids: the last one may cover fewer tokens */
	KV_LAST_FLOOR    /* floor(length / block) ids: the rest of the prompt is unique */
};

struct kv_block_id_params {
	uint64_t block;
	uint32_t unit;             /* of KV_TIME_UNITS */
	uint32_t last;             /* enum kv_last_block */
	uint64_t output;           /* tokens of rows that do not say; 0 = they have to, or none where they never do */
	kv_time spread;            /* recorded times are this coarse: requests are spread over as much after them */
	char time_key[KV_PARAM_TEXT_MAX];
	char input_key[KV_PARAM_TEXT_MAX];
	char output_key[KV_PARAM_TEXT_MAX];
	char ids_key[KV_PARAM_TEXT_MAX];
};

#define KV_TIME_UNITS "s|ms|us|ns"
/* Decimal digits that a unit of that list lies before the nanosecond. */
unsigned kv_time_unit_digits(uint32_t unit);

#define KV_BLOCK_ID_PARAM(member, kind, minimum, maximum, fallback, unit, help) \
	{#member, kind, offsetof(struct kv_block_id_params, member), minimum, maximum, fallback, unit, help}

/* The parameter table of a format, given its defaults. */
#define KV_BLOCK_ID_PARAMS(block_, unit_, last_, time_, output_) { \
	KV_BLOCK_ID_PARAM(block, KV_PARAM_UINT, 1, KV_TOKENS_MAX, block_, "tokens", "tokens that an id stands for"), \
	KV_BLOCK_ID_PARAM(unit, KV_PARAM_CHOICE, 0, 0, unit_, KV_TIME_UNITS, "unit of the times"), \
	KV_BLOCK_ID_PARAM(last, KV_PARAM_CHOICE, 0, 0, last_, "ceil|floor", "whether a partial last block has an id"), \
	KV_BLOCK_ID_PARAM(output, KV_PARAM_UINT, 0, KV_TOKENS_MAX, output_, "tokens", "output of rows without one"), \
	KV_BLOCK_ID_PARAM(spread, KV_PARAM_TIME, 0, 1e18, "0s", "", \
	                  "spread requests at random over this time after the recorded one, where clocks are coarse"), \
	KV_BLOCK_ID_PARAM(time_key, KV_PARAM_TEXT, 0, 0, time_, "", "key of the times; where it is empty, all arrive at 0"), \
	KV_BLOCK_ID_PARAM(input_key, KV_PARAM_TEXT, 0, 0, "input_length", "", "key of the prompt's tokens"), \
	KV_BLOCK_ID_PARAM(output_key, KV_PARAM_TEXT, 0, 0, "output_length", "", "key of the output's tokens"), \
	KV_BLOCK_ID_PARAM(ids_key, KV_PARAM_TEXT, 0, 0, "hash_ids", "", "key of the block ids"), \
	{0} \
}

/* What formats of this shape differ in beyond parameters. */
struct kv_block_id_shape {
	const char *const *ignored;   /* names of keys that are known and of no use, ended by NULL; may be NULL */
	bool output_optional;         /* rows without outputs are whole */
};

struct kv_reader *kv_block_ids_open(struct kv_trace *trace, const struct kv_block_id_params *params,
                                    const struct kv_block_id_shape *shape);

/* Appends the ids of the prompt's last `tokens` tokens, which keys of params describe, to the row; marks it where their
 * number is not what the length says. */
void kv_block_ids_add(const struct kv_block_id_params *params, struct kv_row *row, const json_t *ids, uint32_t tokens);

/* Whether the file's first line is an object with all these keys, ended by NULL, the last of them a list. */
bool kv_block_ids_detect(const struct kv_sniff *sniff, const char *const *keys);

#endif
