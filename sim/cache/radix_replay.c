#include "config.h"

#include "sim/cache/radix_replay.h"

#include <stdlib.h>

#include "sim/base/memory.h"
#include "sim/cache/content.h"
#include "sim/cache/radix.h"

void kv_prompt_list_fini(struct kv_prompt_list *list)
{
	free(list->prompt);
	free(list->segment);
}

void kv_prompt_list_add(struct kv_prompt_list *list, const struct kv_request *request)
{
	list->prompt = kv_grow(list->prompt, &list->prompt_capacity, list->prompts + 1, sizeof *list->prompt);
	list->prompt[list->prompts++] = (struct kv_listed_prompt){
		.space = kv_request_key_hash(request), .segment = list->segments,
		.segments = request->prompt_segments, .tokens = request->prompt_tokens, .priority = request->priority
	};
	list->segment = kv_grow(list->segment, &list->segment_capacity, list->segments + request->prompt_segments,
	                        sizeof *list->segment);
	for (uint32_t i = 0; i < request->prompt_segments; i++) {
		struct kv_segment *segment = &list->segment[list->segments];

		*segment = request->prompt[i];
		/* Every one is a stream of its own. */
		if (segment->kind == KV_STREAM_PRIVATE)
			segment->stream = list->segments;
		list->segments++;
	}
}

struct replay {
	struct kv_radix radix;
	struct kv_segment *key;
	size_t key_capacity;
	uint64_t pages, free;
	struct kv_replay_sums *sums;
};

/* The first `tokens` tokens of a prompt. */
static struct kv_token_key cut(struct replay *r, const struct kv_token_key *whole, uint64_t tokens)
{
	struct kv_token_key key = {.space = whole->space};

	r->key = kv_grow(r->key, &r->key_capacity, whole->segments, sizeof *r->key);
	for (; tokens > 0; key.segments++) {
		struct kv_segment *segment = &r->key[key.segments];

		*segment = whole->segment[key.segments];
		segment->length = (uint32_t)kv_min(segment->length, tokens);
		tokens -= segment->length;
	}
	key.segment = r->key;
	return key;
}

/* Frees pages by evicting leaves. */
static void evict(struct replay *r, uint64_t pages)
{
	uint64_t tokens = kv_radix_evict(&r->radix, pages * r->radix.page_size);

	r->free += tokens / r->radix.page_size;
	r->sums->evicted_tokens += tokens;
	r->sums->evicted_blocks += tokens / r->radix.page_size;
}

/* Stores a prompt, `hit` tokens of which are there; they end at `node`. */
static void store(struct replay *r, const struct kv_token_key *whole, const struct kv_listed_prompt *prompt,
                  uint64_t hit, uint32_t node)
{
	uint32_t page = r->radix.page_size;
	uint64_t missing = prompt->tokens / page - hit / page;
	struct kv_token_key key;

	kv_radix_lock(&r->radix, node, KV_RADIX_ROOT);
	missing = kv_min(missing, r->free + r->radix.evictable / page);
	if (missing > r->free)
		evict(r, missing - r->free);
	r->free -= missing;
	kv_radix_unlock(&r->radix, node);
	key = cut(r, whole, hit + missing * page);
	kv_radix_insert(&r->radix, &key, -prompt->priority, true, &node);
}

static void play(struct replay *r, const struct kv_prompt_list *list, const struct kv_listed_prompt *prompt)
{
	uint32_t page = r->radix.page_size;
	struct kv_token_key key = {prompt->space, &list->segment[prompt->segment], prompt->segments};
	uint32_t node;
	uint64_t hit = kv_radix_match(&r->radix, &key, &node);

	r->sums->prompts++;
	r->sums->tokens += prompt->tokens;
	r->sums->blocks += prompt->tokens / page;
	r->sums->hit_tokens += hit;
	r->sums->hit_blocks += hit / page;
	store(r, &key, prompt, hit, node);
}

void kv_radix_replay(const struct kv_prompt_list *list, const struct kv_policy_use *eviction, uint32_t page,
                     uint64_t pages, struct kv_replay_result *result)
{
	struct replay r = {.pages = pages, .free = pages};

	*result = (struct kv_replay_result){0};
	kv_radix_init(&r.radix, page, eviction);
	for (size_t i = 0; i < list->prompts; i++) {
		r.sums = i < list->prompts / 2 ? &result->whole : &result->second_half;
		play(&r, list, &list->prompt[i]);
	}
	kv_replay_add(&result->whole, &result->second_half);
	result->resident_blocks = r.pages - r.free;
	kv_radix_fini(&r.radix);
	free(r.key);
}
