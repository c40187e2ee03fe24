#include "config.h"

#include "sim/engine/miss.h"

#include "sim/cache/extent.h"
#include "sim/cache/prefix_lookup.h"

/* The path of one request while its missed tokens are told apart. */
struct walk {
	struct kv_misses *misses;
	struct kv_cache *cache;
	const struct kv_path *path;
	const struct kv_hit *hit;
	struct kv_miss *miss;
	uint32_t block_size;
	uint32_t prompt_blocks;  /* whole ones */
	uint32_t group;          /* a full-attention group, if there is one */
	uint64_t key;            /* hash of the key node */
};

/* What is known of a piece's content at its place. */
struct known {
	uint32_t stored;   /* blocks from the start of the prompt */
	kv_time evicted;
	bool expired;      /* not evicted then */
	uint32_t admitted; /* tokens from the start of the prompt */
};

void kv_misses_fini(struct kv_misses *misses)
{
	kv_seen_fini(&misses->keyless);
	kv_seen_fini(&misses->streams);
}

static const struct kv_node *node_of(const struct walk *w, uint32_t piece)
{
	return &w->cache->content.node[w->path->piece[piece].node];
}

static uint32_t piece_begin(const struct walk *w, uint32_t piece)
{
	return piece == 0 ? 0 : w->path->piece[piece - 1].end;
}

static uint32_t piece_end(const struct walk *w, uint32_t piece)
{
	return (uint32_t)kv_min(w->path->piece[piece].end, w->miss->prompt_tokens);
}

static uint32_t first_block(const struct walk *w, uint32_t piece)
{
	return piece == 0 ? 0 : w->path->piece[piece - 1].end_block;
}

/* The content tree forgets what no block ends in when its request ends; `streams` has its path instead. */
static bool ends_no_block(const struct walk *w, uint32_t piece)
{
	return w->path->piece[piece].end_block == first_block(w, piece);
}

static struct known look_up(const struct walk *w, uint32_t piece)
{
	const struct kv_node *node = node_of(w, piece);
	struct known known = {
		.stored = node->stored, .evicted = node->evicted, .expired = node->expired, .admitted = node->admitted
	};
	const struct kv_seen_entry *place;

	if (known.admitted == 0 && node->kind != KV_STREAM_PRIVATE && ends_no_block(w, piece)) {
		place = kv_seen_get(&w->misses->streams, node->hash);
		known.admitted = place ? piece_begin(w, piece) + place->extent : 0;
	}
	return known;
}

static void blame(struct walk *w, enum kv_miss_reason reason, uint32_t from, uint32_t to)
{
	if (to > from)
		w->miss->tokens[reason] += to - from;
}

static void blame_eviction(struct walk *w, const struct known *known, uint32_t from, uint32_t to)
{
	if (to <= from)
		return;
	blame(w, known->expired ? KV_MISS_EXPIRED : KV_MISS_EVICTED, from, to);
	if (w->miss->evicted_ago == KV_TIME_NONE && known->evicted != KV_TIME_NONE)
		w->miss->evicted_ago = w->cache->now - known->evicted;
}

/* --- content that is not known at its place ----------------------------------------------------------------------- */

/* The hash of the path up to and with a piece as it would be under the root. */
static uint64_t keyless_hash(const struct walk *w, uint32_t piece)
{
	uint64_t hash = w->cache->content.node[KV_CONTENT_ROOT].hash;

	for (uint32_t p = 0; p <= piece; p++)
		hash = kv_content_hash(hash, piece_begin(w, p), node_of(w, p)->stream, node_of(w, p)->kind);
	return hash;
}

static bool has_key(const struct walk *w)
{
	return w->key != w->cache->content.node[KV_CONTENT_ROOT].hash;
}

/* Under another key, or without one. Less than a block could not have been reused anyway. */
static bool is_under_other_key(const struct walk *w, uint32_t piece)
{
	uint64_t hash;

	if (ends_no_block(w, piece))
		return false;
	if (!has_key(w))
		return w->misses->keyless.young.used > 0 &&
		       kv_seen_get(&w->misses->keyless, node_of(w, piece)->hash) != NULL;
	hash = keyless_hash(w, piece);
	return kv_seen_get(&w->misses->keyless, hash) != NULL ||
	       kv_content_has(&w->cache->content, hash);
}

static uint64_t stream_key(const struct walk *w, uint32_t piece)
{
	return kv_content_hash(w->key, 0, node_of(w, piece)->stream, node_of(w, piece)->kind);
}

/* A trace's block hash covers all that stands before it, so it is never seen behind something else. */
static bool has_stream(const struct walk *w, uint32_t piece)
{
	return node_of(w, piece)->kind == KV_STREAM_NAMED || node_of(w, piece)->kind == KV_STREAM_OUTPUT;
}

static void note_new(struct walk *w, uint32_t piece, uint32_t from)
{
	if (w->miss->new_segment != UINT32_MAX)
		return;
	w->miss->new_segment = piece;
	w->miss->new_token = from;
}

/* Tokens [from, to) of a piece that nobody has had at their place. */
static void blame_unknown(struct walk *w, uint32_t piece, uint32_t from, uint32_t to)
{
	const struct kv_seen_entry *stream;
	bool forgot = w->cache->content.forgot || w->misses->streams.forgot;
	uint32_t shared = from;

	if (to <= from)
		return;
	note_new(w, piece, from);
	if (node_of(w, piece)->kind == KV_STREAM_PRIVATE) {
		blame(w, KV_MISS_NEVER_SEEN, from, to);
		return;
	}
	if (is_under_other_key(w, piece)) {
		blame(w, KV_MISS_OTHER_KEY, from, to);
		return;
	}
	stream = has_stream(w, piece) ? kv_seen_get(&w->misses->streams, stream_key(w, piece)) : NULL;
	if (stream != NULL)
		shared = (uint32_t)kv_min(to, kv_max(from, piece_begin(w, piece) + (uint64_t)stream->extent));
	blame(w, KV_MISS_DIVERGED, from, shared);
	blame(w, forgot ? KV_MISS_BEYOND_HORIZON : KV_MISS_NEVER_SEEN, shared, to);
}

/* Gives the tokens of [from, to) that lie before `until` a reason. Returns where the others begin. */
static uint32_t blame_until(struct walk *w, enum kv_miss_reason reason, uint32_t from, uint32_t to, uint32_t until)
{
	uint32_t end = (uint32_t)kv_min(to, until);

	blame(w, reason, from, end);
	return (uint32_t)kv_max(from, end);
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

static bool is_resident(const struct walk *w, uint32_t piece, uint32_t block)
{
	return kv_extent_covered_until(w->cache, w->path->piece[piece].node, w->group, block, block + 1) > block;
}

/* vLLM looks up one token less than the prompt has (engine-semantics 1.4): a last block that ends with the prompt. */
static bool is_recomputed_by_rule(const struct walk *w, uint32_t piece, uint32_t block)
{
	return (block + 1) * w->block_size == w->miss->prompt_tokens && w->hit->blocks == block &&
	       (w->hit->recomputes || is_resident(w, piece, block));
}

/* Whole blocks that end in the piece; `from` is behind the hit. */
static void blame_blocks(struct walk *w, uint32_t piece, const struct known *known, uint32_t from, uint32_t to)
{
	uint32_t last = to / w->block_size - 1;
	uint32_t stored = (uint32_t)kv_min(to, (uint64_t)known->stored * w->block_size);

	if (is_recomputed_by_rule(w, piece, last)) {
		blame(w, KV_MISS_RECOMPUTE_RULE, from, to);
		return;
	}
	blame_eviction(w, known, from, stored);
	from = (uint32_t)kv_max(from, stored);
	from = blame_until(w, KV_MISS_TOO_LATE, from, to, known->admitted / w->block_size * w->block_size);
	from = blame_until(w, KV_MISS_PARTIAL_BLOCK, from, to, known->admitted);
	blame_unknown(w, piece, from, to);
}

/* The piece with the last token of a block; path->pieces if the prompt ends before. */
static uint32_t owner_of(const struct walk *w, uint32_t piece, uint32_t block)
{
	if (block >= w->prompt_blocks)
		return w->path->pieces;
	while (w->path->piece[piece].end_block <= block)
		piece++;
	return piece;
}

/* Where the tokens end that somebody has had. Of content that is gone, only whole blocks are remembered. */
static uint32_t had_until(const struct walk *w, const struct known *known)
{
	if ((uint64_t)known->stored * w->block_size > known->admitted)
		return (known->stored + 1) * w->block_size;
	return known->admitted;
}

/* Tokens at the end of a piece whose block ends in a later piece, or not at all. */
static void blame_rest(struct walk *w, uint32_t piece, const struct known *known, uint32_t from, uint32_t to)
{
	uint32_t block = from / w->block_size;
	uint32_t owner = owner_of(w, piece, block);
	struct known whole;

	if (to <= from)
		return;
	if (owner < w->path->pieces) {
		whole = look_up(w, owner);
		if (is_recomputed_by_rule(w, owner, block)) {
			blame(w, KV_MISS_RECOMPUTE_RULE, from, to);
			return;
		}
		if (whole.stored > block) {
			blame_eviction(w, &whole, from, to);
			return;
		}
	}
	from = blame_until(w, KV_MISS_PARTIAL_BLOCK, from, to, had_until(w, known));
	blame_unknown(w, piece, from, to);
}

static void blame_piece(struct walk *w, uint32_t piece, uint32_t missed_from)
{
	struct known known = look_up(w, piece);
	uint32_t from = (uint32_t)kv_max(piece_begin(w, piece), missed_from);
	uint32_t end = piece_end(w, piece);
	uint32_t whole = (uint32_t)kv_min(w->path->piece[piece].end_block, w->prompt_blocks) * w->block_size;

	if (whole > from)
		blame_blocks(w, piece, &known, from, whole);
	blame_rest(w, piece, &known, (uint32_t)kv_max(from, whole), end);
}

/* From now on this content counts as seen; what the request will generate does too. */
static void remember_piece(struct walk *w, uint32_t piece)
{
	struct kv_node *node = &w->cache->content.node[w->path->piece[piece].node];
	uint32_t end = w->path->piece[piece].end;
	uint32_t length = end - piece_begin(w, piece);

	if (node->kind == KV_STREAM_PRIVATE || end <= node->admitted)
		return;
	if (has_stream(w, piece))
		kv_seen_put(&w->misses->streams, stream_key(w, piece), length);
	if (ends_no_block(w, piece))
		kv_seen_put(&w->misses->streams, node->hash, length);
	if (has_key(w))
		kv_seen_put(&w->misses->keyless, keyless_hash(w, piece), length);
	node->admitted = end;
}

static uint64_t key_hash_of(const struct walk *w)
{
	uint32_t parent = w->path->pieces > 0 ? node_of(w, 0)->parent : KV_CONTENT_ROOT;

	return w->cache->content.node[parent].hash;
}

static uint32_t full_group(const struct kv_engine_config *config)
{
	for (uint32_t g = 0; g < config->groups; g++)
		if (config->group[g].kind != KV_GROUP_SLIDING_WINDOW)
			return g;
	return KV_NONE;
}

void kv_misses_explain(struct kv_misses *misses, struct kv_cache *cache, const struct kv_engine_config *config,
                       const struct kv_path *path, const struct kv_hit *hit, struct kv_miss *miss)
{
	uint32_t group = full_group(config);
	struct walk w = {
		.misses = misses, .cache = cache, .path = path, .hit = hit, .miss = miss,
		.block_size = cache->block_size,
		.prompt_blocks = miss->prompt_tokens / cache->block_size, .group = group == KV_NONE ? 0 : group
	};
	uint32_t whole = (group == KV_NONE ? hit->blocks : hit->full_blocks) * cache->block_size;
	uint32_t missed_from = (uint32_t)kv_max(whole, miss->hit_tokens);

	miss->evicted_ago = KV_TIME_NONE;
	miss->new_segment = miss->new_token = UINT32_MAX;
	if (path->pieces == 1 && node_of(&w, 0)->kind == KV_STREAM_PRIVATE) {
		/* The common case of traces that name no content. */
		miss->new_segment = miss->new_token = 0;
		blame(&w, KV_MISS_NEVER_SEEN, 0, miss->prompt_tokens);
		return;
	}
	w.key = key_hash_of(&w);
	blame(&w, KV_MISS_WINDOW, miss->hit_tokens, missed_from);
	for (uint32_t p = 0; p < path->pieces && piece_begin(&w, p) < miss->prompt_tokens; p++)
		if (piece_end(&w, p) > missed_from)
			blame_piece(&w, p, missed_from);
	for (uint32_t p = 0; p < path->pieces; p++)
		remember_piece(&w, p);
}

enum kv_miss_reason kv_miss_main_reason(const struct kv_miss *miss)
{
	enum kv_miss_reason best = KV_MISS_REASONS;

	for (int i = 0; i < KV_MISS_REASONS; i++)
		if (miss->tokens[i] > 0 && (best == KV_MISS_REASONS || miss->tokens[i] > miss->tokens[best]))
			best = i;
	return best;
}
