#include "config.h"

#include "tests/replay_radix.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/cache/radix.h"
#include "tests/oracle/radix.h"

#define SEGMENTS_MAX 64
#define LOCKS_MAX 256

/* One tree, and the locks that are held on it. */
struct tree {
	const char *name;
	bool is_oracle;
	struct kv_policy_use eviction;
	struct kv_radix radix;
	struct oracle_radix oracle;
	uint32_t locked[LOCKS_MAX];
	struct oracle_radix_node *oracle_locked[LOCKS_MAX];
};

static void open_tree(struct tree *tree, json_t *record)
{
	uint32_t page_size = (uint32_t)json_integer_value(json_object_get(record, "page_size"));
	const char *strategy = json_string_value(json_object_get(record, "eviction"));
	struct kv_error err;
	int failed = kv_policy_parse(KV_POLICY_EVICTION, strategy, &tree->eviction, &err);

	KV_ASSERT(!failed && tree->eviction.policy->hooks.eviction.leaf != NULL, "unknown eviction %s", strategy);
	kv_radix_init(&tree->radix, page_size, &tree->eviction);
	oracle_radix_init(&tree->oracle, page_size, &tree->eviction);
}

static void close_tree(struct tree *tree)
{
	kv_radix_fini(&tree->radix);
	oracle_radix_fini(&tree->oracle);
	kv_policy_use_fini(&tree->eviction);
}

static uint32_t read_key(json_t *op, struct kv_segment *key)
{
	json_t *list = json_object_get(op, "key");
	uint32_t segments = (uint32_t)json_array_size(list);

	KV_ASSERT(segments <= SEGMENTS_MAX, "a key of %u segments", segments);
	for (uint32_t i = 0; i < segments; i++) {
		const char *name = json_string_value(json_array_get(json_array_get(list, i), 0));

		key[i] = (struct kv_segment){
			.stream = kv_name_hash(name, (uint32_t)strlen(name)),
			.length = (uint32_t)json_integer_value(json_array_get(json_array_get(list, i), 1)),
		};
	}
	return segments;
}

static uint64_t match(struct tree *tree, const struct kv_token_key *key, size_t lock)
{
	struct oracle_radix_text text = {0};
	struct oracle_token *tokens = oracle_radix_spell_out(key->segment, key->segments, &text.count);
	uint64_t found;

	KV_ASSERT(lock < LOCKS_MAX, "lock %zu", lock);
	text.tokens = tokens;
	found = tree->is_oracle ? oracle_radix_match(&tree->oracle, &text, &tree->oracle_locked[lock]) :
	                          kv_radix_match(&tree->radix, key, &tree->locked[lock]);
	free(tokens);
	return found;
}

static uint64_t insert(struct tree *tree, const struct kv_token_key *key, int64_t priority)
{
	struct oracle_radix_text text = {0};
	struct oracle_token *tokens = oracle_radix_spell_out(key->segment, key->segments, &text.count);
	struct oracle_radix_node *oracle_end;
	uint32_t end;
	uint64_t found;

	text.tokens = tokens;
	found = tree->is_oracle ? oracle_radix_insert(&tree->oracle, &text, priority, true, &oracle_end) :
	                          kv_radix_insert(&tree->radix, key, priority, true, &end);
	free(tokens);
	return found;
}

static void lock(struct tree *tree, size_t handle)
{
	if (tree->is_oracle)
		oracle_radix_lock(tree->oracle_locked[handle]);
	else
		kv_radix_lock(&tree->radix, tree->locked[handle], KV_RADIX_ROOT);
}

static void unlock(struct tree *tree, size_t handle)
{
	if (tree->is_oracle)
		oracle_radix_unlock(tree->oracle_locked[handle]);
	else
		kv_radix_unlock(&tree->radix, tree->locked[handle]);
}

/* The name of what the operation returned, NULL = nothing. */
static const char *play(struct tree *tree, json_t *op, uint64_t *result)
{
	struct kv_segment segment[SEGMENTS_MAX];
	struct kv_token_key key = {.segment = segment, .segments = read_key(op, segment)};
	const char *kind = json_string_value(json_object_get(op, "op"));
	size_t handle = (size_t)json_integer_value(json_object_get(op, "lock"));
	uint64_t tokens = (uint64_t)json_integer_value(json_object_get(op, "tokens"));
	int64_t priority = json_integer_value(json_object_get(op, "priority"));

	if (strcmp(kind, "match") == 0) {
		*result = match(tree, &key, LOCKS_MAX - 1);
		return "matched";
	}
	if (strcmp(kind, "lock") == 0) {
		*result = match(tree, &key, handle);
		lock(tree, handle);
		return "matched";
	}
	if (strcmp(kind, "insert") == 0) {
		*result = insert(tree, &key, priority);
		return "existing";
	}
	if (strcmp(kind, "evict") == 0) {
		*result = tree->is_oracle ? oracle_radix_evict(&tree->oracle, tokens) :
		                            kv_radix_evict(&tree->radix, tokens);
		return "evicted";
	}
	KV_ASSERT(strcmp(kind, "unlock") == 0, "unknown operation %s", kind);
	unlock(tree, handle);
	return NULL;
}

static bool is_equal(const struct tree *tree, json_t *record, size_t at, json_t *op, const char *what, uint64_t found)
{
	uint64_t expected = (uint64_t)json_integer_value(json_object_get(op, what));

	if (expected != found)
		printf("%s on %s: operation %zu (%s): %s: expected %llu, found %llu\n",
		       json_string_value(json_object_get(record, "id")), tree->name, at,
		       json_string_value(json_object_get(op, "op")), what, (unsigned long long)expected,
		       (unsigned long long)found);
	return expected == found;
}

static bool replay(struct tree *tree, json_t *record)
{
	json_t *op;
	size_t at;
	bool equal = true;

	open_tree(tree, record);
	json_array_foreach(json_object_get(record, "ops"), at, op) {
		uint64_t result = 0;
		const char *what = play(tree, op, &result);
		uint64_t evictable = tree->is_oracle ? oracle_radix_count(&tree->oracle, false) : tree->radix.evictable;
		uint64_t protected = tree->is_oracle ? oracle_radix_count(&tree->oracle, true) : tree->radix.protected;

		equal = (what == NULL || is_equal(tree, record, at, op, what, result))
		        && is_equal(tree, record, at, op, "evictable", evictable)
		        && is_equal(tree, record, at, op, "protected", protected)
		        && is_equal(tree, record, at, op, "total", evictable + protected);
		if (!equal)
			break;
	}
	close_tree(tree);
	return equal;
}

bool replay_radix_production(json_t *record)
{
	static struct tree tree;

	tree = (struct tree){.name = "production"};
	return replay(&tree, record);
}

bool replay_radix_oracle(json_t *record)
{
	static struct tree tree;

	tree = (struct tree){.name = "oracle", .is_oracle = true};
	return replay(&tree, record);
}
