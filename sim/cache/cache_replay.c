#include "config.h"

#include "sim/cache/cache_replay.h"

#include <stdlib.h>
#include <string.h>

#include "sim/base/heap.h"
#include "sim/base/memory.h"
#include "sim/cache/ghosts.h"

enum { NONE = UINT32_MAX };

/* Depths in a sequence number, which orders equal ranks: release call, then the deeper block. */
#define DEPTH_BITS 26
#define DEPTH_MAX ((UINT64_C(1) << DEPTH_BITS) - 1)

/* A stored block. */
struct block {
	uint32_t node;
	uint32_t tokens;
	uint32_t depth;
	uint32_t children;   /* stored blocks that follow it */
	uint32_t next, prev; /* in its list or chain; next of vacant ones: in theirs */
	uint32_t queue;
	bool in_use;         /* of the current prompt, in unit leaf: may not go, and is in no queue */
	bool ordered;        /* may go */
	uint32_t list;       /* of its queue, which it stands in; or HEAP or CHAIN */
	bool released;       /* since it was stored */
	struct kv_rank rank;
	uint64_t sequence;
	_Alignas(8) unsigned char state[KV_ENTRY_STATE_MAX];
};

/* Ranks come in few rising sequences, which lists take at their ends. The rest goes to a heap, in chains: a block that
 * goes after the one put in before it hangs behind it, and only the head of a chain stands in the heap. */
#define LISTS 4
enum { HEAP = LISTS, CHAIN };

struct list {
	uint32_t first, last;
};

struct queue {
	struct list list[LISTS];
	struct kv_heap heap;   /* entries that no longer say what their block does are stale */
	uint64_t blocks;       /* not in use */
};

struct replay {
	const struct kv_block_trace *trace;
	const struct kv_policy *policy;
	const struct kv_eviction_hooks *hooks;
	void *state;
	bool leaf, oracle;
	uint64_t capacity;
	struct block *block;
	uint32_t used, vacant, stored;
	uint32_t *place;       /* of each node, in block; NONE = not stored */
	struct queue queue[KV_EVICTION_QUEUES];
	unsigned queues;
	uint32_t latest;       /* block put into a queue; NONE = none yet */
	bool remembers;
	struct kv_ghosts ghosts;
	struct kv_release call;
	uint32_t *path;        /* nodes of the current prompt; of pieces found anywhere each once, hits first */
	uint32_t *depth;       /* where each stands in the prompt; NULL = in this order */
	uint32_t *met;         /* of each piece: the last prompt that had it, from 1; NULL likewise */
	uint32_t blocks;       /* of path */
	uint32_t *next_use;    /* of each block of each prompt, 0 = never: the prompt's number + 1 */
	uint32_t number;       /* of the current prompt, from 1 */
	size_t access;         /* index of the current prompt's first block there */
	struct kv_replay_sums *sums;
};

/* --- the order ---------------------------------------------------------------------------------------------------- */

static bool goes_before(const struct block *a, const struct block *b)
{
	if (kv_rank_less(a->rank, b->rank) || kv_rank_less(b->rank, a->rank))
		return kv_rank_less(a->rank, b->rank);
	return a->sequence < b->sequence;
}

static void list_append(struct replay *r, uint32_t b)
{
	struct list *list = &r->queue[r->block[b].queue].list[r->block[b].list];

	r->block[b].next = NONE;
	r->block[b].prev = list->last;
	*(list->last == NONE ? &list->first : &r->block[list->last].next) = b;
	list->last = b;
}

static void list_remove(struct replay *r, uint32_t b)
{
	const struct block *block = &r->block[b];
	struct list *list = &r->queue[block->queue].list[block->list];

	*(block->next == NONE ? &list->last : &r->block[block->next].prev) = block->prev;
	*(block->prev == NONE ? &list->first : &r->block[block->prev].next) = block->next;
}

static bool may_go(const struct replay *r, const struct block *block)
{
	return !r->leaf || (block->children == 0 && !block->in_use);
}

/* The list whose end is nearest before the block, an empty one if there is none, LISTS if there is no such either. */
static uint32_t fitting_list(const struct replay *r, const struct queue *queue, const struct block *block)
{
	uint32_t found = LISTS;

	for (uint32_t i = 0; i < LISTS; i++) {
		uint32_t last = queue->list[i].last;

		if (last == NONE ? found == LISTS :
		                   goes_before(&r->block[last], block)
		                   && (found == LISTS || queue->list[found].last == NONE
		                       || goes_before(&r->block[queue->list[found].last], &r->block[last])))
			found = i;
	}
	return found;
}

static struct kv_heap_entry entry_of(const struct replay *r, uint32_t b)
{
	const struct block *block = &r->block[b];

	return (struct kv_heap_entry){block->rank.primary, block->rank.secondary, block->sequence, b};
}

static bool is_stale(const struct replay *r, unsigned queue, const struct kv_heap_entry *entry)
{
	const struct block *block = &r->block[entry->payload];

	return !block->ordered || block->list != HEAP || block->queue != queue || block->sequence != entry->sequence
	       || block->rank.primary != entry->primary || block->rank.secondary != entry->secondary;
}

/* May the block hang behind the latest one? */
static bool is_next_of_chain(const struct replay *r, const struct block *block)
{
	const struct block *latest;

	if (r->latest == NONE)
		return false;
	latest = &r->block[r->latest];
	return latest != block && latest->ordered && latest->list >= HEAP && latest->next == NONE
	       && latest->queue == block->queue && goes_before(latest, block);
}

static void heap_insert(struct replay *r, uint32_t b)
{
	struct block *block = &r->block[b];

	block->next = block->prev = NONE;
	if (is_next_of_chain(r, block)) {
		block->list = CHAIN;
		block->prev = r->latest;
		r->block[r->latest].next = b;
	} else {
		kv_heap_push(&r->queue[block->queue].heap, entry_of(r, b));
	}
}

/* Entries of the heap stay, stale, but for the first, whose place the next of its chain takes. */
static void heap_remove(struct replay *r, uint32_t b)
{
	const struct block *block = &r->block[b];
	struct kv_heap *heap = &r->queue[block->queue].heap;
	uint32_t next = block->next;

	if (next != NONE)
		r->block[next].prev = block->prev;
	if (block->list == CHAIN) {
		r->block[block->prev].next = next;
		return;
	}
	if (next == NONE)
		return;
	r->block[next].list = HEAP;
	if (kv_heap_peek(heap)->payload == b && !is_stale(r, block->queue, kv_heap_peek(heap)))
		kv_heap_replace(heap, entry_of(r, next));
	else
		kv_heap_push(heap, entry_of(r, next));
}

/* Puts a block into its queue if it may go. */
static void put_in(struct replay *r, uint32_t b)
{
	struct block *block = &r->block[b];

	block->ordered = may_go(r, block);
	if (!block->ordered)
		return;
	block->list = fitting_list(r, &r->queue[block->queue], block);
	if (block->list < LISTS)
		list_append(r, b);
	else
		heap_insert(r, b);
	r->latest = b;
}

static void take_out(struct replay *r, uint32_t b)
{
	if (r->block[b].ordered && r->block[b].list < LISTS)
		list_remove(r, b);
	else if (r->block[b].ordered)
		heap_remove(r, b);
	r->block[b].ordered = false;
}

/* The one of two blocks that goes first; either may be NONE. */
static uint32_t earlier(const struct replay *r, uint32_t a, uint32_t b)
{
	if (a == NONE || b == NONE)
		return a == NONE ? b : a;
	return goes_before(&r->block[b], &r->block[a]) ? b : a;
}

static uint32_t front_of(struct replay *r, unsigned q)
{
	struct queue *queue = &r->queue[q];
	uint32_t first = NONE;

	while (queue->heap.count > 0 && is_stale(r, q, kv_heap_peek(&queue->heap)))
		kv_heap_pop(&queue->heap);
	if (queue->heap.count > 0)
		first = kv_heap_peek(&queue->heap)->payload;
	for (uint32_t i = 0; i < LISTS; i++)
		first = earlier(r, first, queue->list[i].first);
	return first;
}

static uint32_t smallest_front(struct replay *r)
{
	uint32_t best = NONE;

	for (unsigned q = 0; q < r->queues; q++)
		best = earlier(r, best, front_of(r, q));
	return best;
}

/* The block that would go next; NONE = none may. A queue that the policy picked may have no leaf: then any. */
static uint32_t choose(struct replay *r)
{
	uint64_t blocks[KV_EVICTION_QUEUES], most;
	uint32_t front;

	if (r->queues == 1)
		return front_of(r, 0);
	if (r->hooks->pick == NULL)
		return smallest_front(r);
	for (unsigned q = 0; q < r->queues; q++)
		blocks[q] = r->queue[q].blocks;
	front = front_of(r, r->hooks->pick(r->state, blocks, r->capacity, &most));
	return front != NONE ? front : smallest_front(r);
}

static void set_queue(struct replay *r, struct block *block)
{
	block->queue = r->hooks->queue == NULL ? 0 : r->hooks->queue(block->state);
}

/* --- storing and evicting ----------------------------------------------------------------------------------------- */

static void change_children(struct replay *r, uint32_t node, bool more)
{
	uint32_t parent = r->trace->parent[node];
	uint32_t b = parent == KV_NO_BLOCK ? NONE : r->place[parent];

	if (b == NONE)
		return;
	if (more) {
		r->block[b].children++;
		if (r->leaf)
			take_out(r, b);
	} else if (--r->block[b].children == 0 && r->leaf && !r->block[b].in_use) {
		put_in(r, b);
	}
}

static void drop(struct replay *r, uint32_t b)
{
	struct block *block = &r->block[b];

	take_out(r, b);
	r->queue[block->queue].blocks--;
	r->place[block->node] = NONE;
	r->stored--;
	block->next = r->vacant;
	r->vacant = b;
	if (r->leaf)
		change_children(r, block->node, false);
}

/* Moves a block that the policy ranked anew. */
static void move(struct replay *r, uint32_t b, struct kv_rank rank)
{
	struct block *block = &r->block[b];

	take_out(r, b);
	r->queue[block->queue].blocks--;
	block->rank = rank;
	set_queue(r, block);
	r->queue[block->queue].blocks++;
	put_in(r, b);
}

/* The block to evict, after the policy let it go. */
static uint32_t reach(struct replay *r)
{
	for (;;) {
		uint32_t b = choose(r);
		struct kv_rank rank;

		if (b == NONE || r->hooks->reach == NULL)
			return b;
		rank = r->block[b].rank;
		if (r->hooks->reach(r->state, r->block[b].state, r->call.call, &rank))
			return b;
		move(r, b, rank);
	}
}

static bool evict(struct replay *r)
{
	uint32_t b = reach(r);
	const struct block *block = &r->block[b];

	if (b == NONE)
		return false;
	r->sums->evicted_blocks++;
	r->sums->evicted_tokens += block->tokens;
	if (r->remembers && (r->hooks->ghost_queues >> block->queue & 1))
		kv_ghosts_put(&r->ghosts, block->node, 0, 1, block->queue);
	drop(r, b);
	return true;
}

static void begin_call(struct replay *r, const struct kv_block_prompt *prompt)
{
	r->call.call++;
	r->call.now = prompt->arrival;
	r->call.block_size = prompt->block_tokens;
	r->call.prompt_tokens = prompt->tokens;
	r->call.blocks = prompt->blocks;
	if (r->remembers)
		memcpy(r->call.ghosts, r->ghosts.blocks, sizeof r->call.ghosts);
}

static struct kv_rank rank_of(struct replay *r, struct block *block)
{
	r->call.depth = block->depth;
	r->call.weight = 1;
	r->call.next_use = r->oracle ? r->next_use[r->access + block->depth] : 0;
	return r->hooks->release(r->state, block->state, &r->call);
}

/* Released again with the same rank: its tie with others is decided by the call that gave it. */
static bool keeps_place(const struct replay *r, const struct block *block, struct kv_rank rank)
{
	return block->ordered && block->released && !kv_rank_less(rank, block->rank) && !kv_rank_less(block->rank, rank)
	       && (r->hooks->queue == NULL || r->hooks->queue(block->state) == block->queue);
}

static void release(struct replay *r, uint32_t b)
{
	struct block *block = &r->block[b];
	uint64_t sequence = r->call.call << DEPTH_BITS | (DEPTH_MAX - kv_min(block->depth, DEPTH_MAX));
	struct kv_rank rank;

	r->call.ghost = 0;
	if (!block->released && r->remembers) {
		uint32_t from;

		r->call.ghost = kv_ghosts_find(&r->ghosts, block->node, 0, 1, &from);
		kv_ghosts_take(&r->ghosts, block->node, 0, 1);
	}
	rank = rank_of(r, block);
	if (keeps_place(r, block, rank))
		return;
	if (!r->leaf && block->released)
		r->queue[block->queue].blocks--;
	take_out(r, b);
	block->released = true;
	block->in_use = false;
	block->rank = rank;
	block->sequence = sequence;
	set_queue(r, block);
	r->queue[block->queue].blocks++;
	put_in(r, b);
}

static void begin_use(struct replay *r, uint32_t b)
{
	struct block *block = &r->block[b];

	if (r->hooks->hit != NULL)
		r->hooks->hit(r->state, block->state);
	if (!r->leaf)
		return;
	take_out(r, b);
	r->queue[block->queue].blocks--;
	block->in_use = true;
}

/* A full pool keeps what it has rather than a block that a policy of the future would let go first. */
static bool is_refused(struct replay *r, uint32_t depth)
{
	struct block fresh = {.depth = depth};
	uint32_t front;

	if (!r->hooks->refuses || r->stored < r->capacity)
		return false;
	front = choose(r);
	return front == NONE || !kv_rank_less(r->block[front].rank, rank_of(r, &fresh));
}

/* False if there is no room. */
static bool store(struct replay *r, uint32_t node, uint32_t depth, uint32_t tokens)
{
	uint32_t b;

	if (r->stored >= r->capacity && !evict(r))
		return false;
	b = r->vacant;
	if (b != NONE)
		r->vacant = r->block[b].next;
	else
		b = r->used++;
	r->block[b] = (struct block){.node = node, .tokens = tokens, .depth = depth, .in_use = r->leaf};
	if (r->hooks->insert != NULL)
		r->hooks->insert(r->state, r->block[b].state);
	r->place[node] = b;
	r->stored++;
	if (r->leaf)
		change_children(r, node, true);
	return true;
}

/* --- prompts ------------------------------------------------------------------------------------------------------ */

static uint32_t depth_of(const struct replay *r, uint32_t at)
{
	return r->depth == NULL ? at : r->depth[at];
}

static uint32_t tokens_at(const struct replay *r, const struct kv_block_prompt *prompt, uint32_t at)
{
	return r->depth == NULL ? kv_block_tokens(prompt, at) : r->trace->piece_tokens[r->path[at]];
}

static void lay_out_path(struct replay *r, const struct kv_block_prompt *prompt)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < prompt->runs; i++) {
		const struct kv_block_run *run = &r->trace->run[prompt->run + i];

		for (uint32_t n = 0; n < run->count; n++)
			r->path[at++] = run->first + n;
	}
	r->blocks = at;
}

static void exchange(uint32_t *a, uint32_t *b)
{
	uint32_t kept = *a;

	*a = *b;
	*b = kept;
}

/* Leaves each piece of the path once, those that are in the pool first. Returns how many are; adds what is hit. */
static uint32_t find_pieces(struct replay *r)
{
	uint32_t pieces = 0, hits = 0;

	for (uint32_t i = 0; i < r->blocks; i++) {
		uint32_t node = r->path[i];
		bool again = r->met[node] == r->number;
		bool stored = r->place[node] != NONE;

		if (again || stored) {
			r->sums->hit_blocks++;
			r->sums->hit_tokens += r->trace->piece_tokens[node];
		}
		if (again)
			continue;
		r->met[node] = r->number;
		r->path[pieces] = node;
		r->depth[pieces] = i;
		if (stored) {
			exchange(&r->path[hits], &r->path[pieces]);
			exchange(&r->depth[hits], &r->depth[pieces]);
			hits++;
		}
		pieces++;
	}
	r->blocks = pieces;
	return hits;
}

static uint32_t leading_hits(const struct replay *r, uint32_t blocks)
{
	uint32_t hits = 0;

	while (hits < blocks && r->place[r->path[hits]] != NONE)
		hits++;
	return hits;
}

static void play_leaf(struct replay *r, const struct kv_block_prompt *prompt, uint32_t hits)
{
	uint32_t end = hits;

	for (uint32_t i = 0; i < hits; i++)
		begin_use(r, r->place[r->path[i]]);
	while (end < prompt->blocks && !is_refused(r, end)
	       && store(r, r->path[end], end, kv_block_tokens(prompt, end)))
		end++;
	begin_call(r, prompt);
	for (uint32_t i = end; i-- > 0;)
		release(r, r->place[r->path[i]]);
}

static void release_stored(struct replay *r, const struct kv_block_prompt *prompt, uint32_t blocks)
{
	begin_call(r, prompt);
	for (uint32_t i = blocks; i-- > 0;)
		if (r->place[r->path[i]] != NONE)
			release(r, r->place[r->path[i]]);
}

static void play_block(struct replay *r, const struct kv_block_prompt *prompt, uint32_t hits)
{
	uint32_t blocks = (uint32_t)kv_min(r->blocks, r->capacity);

	/* Of prefixes the beginning is always used first; of pieces who knows the future looks at all. */
	if (r->trace->anywhere && r->oracle)
		blocks = r->blocks;
	for (uint32_t i = 0; i < hits; i++) {
		r->block[r->place[r->path[i]]].depth = depth_of(r, i);
		begin_use(r, r->place[r->path[i]]);
	}
	release_stored(r, prompt, hits);
	if (hits == blocks)
		return;
	for (uint32_t i = hits; i < blocks; i++) {
		begin_call(r, prompt);
		if (r->place[r->path[i]] == NONE && !is_refused(r, depth_of(r, i))
		    && store(r, r->path[i], depth_of(r, i), tokens_at(r, prompt, i)))
			release(r, r->place[r->path[i]]);
	}
	release_stored(r, prompt, blocks);
}

/* Lets the policy drop and move what is due. */
static void expire(struct replay *r, kv_time now)
{
	for (unsigned q = 0; r->hooks->due != NULL && q < r->queues; q++)
		for (uint32_t b = front_of(r, q); b != NONE; b = front_of(r, q)) {
			struct kv_rank rank = r->block[b].rank;
			enum kv_due due = r->hooks->due(r->state, r->block[b].state, now, &rank);

			if (due == KV_DUE_NOT)
				break;
			r->sums->expired_blocks += due == KV_DUE_DROP;
			if (due == KV_DUE_DROP)
				drop(r, b);
			else
				move(r, b, rank);
		}
}

/* Returns how many of the path's first blocks are in the pool. */
static uint32_t find_hits(struct replay *r, const struct kv_block_prompt *prompt)
{
	uint32_t hits;

	if (r->trace->anywhere)
		return find_pieces(r);
	hits = leading_hits(r, prompt->blocks);
	r->sums->hit_blocks += hits;
	r->sums->hit_tokens += kv_blocks_tokens(prompt, hits);
	return hits;
}

static void play(struct replay *r, const struct kv_block_prompt *prompt)
{
	uint32_t hits;

	expire(r, prompt->arrival);
	lay_out_path(r, prompt);
	r->number++;
	hits = find_hits(r, prompt);
	r->sums->prompts++;
	r->sums->blocks += prompt->blocks;
	r->sums->tokens += prompt->tokens;
	if (r->capacity > 0)
		(r->leaf ? play_leaf : play_block)(r, prompt, hits);
	r->access += prompt->blocks;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* The next prompt that has each block, found from the end. */
static void find_next_uses(struct replay *r)
{
	uint32_t *next = kv_calloc(r->trace->nodes, sizeof *next);
	size_t at = 0;

	for (size_t p = 0; p < r->trace->prompts; p++)
		at += r->trace->prompt[p].blocks;
	r->next_use = kv_calloc(at, sizeof *r->next_use);
	for (size_t p = r->trace->prompts; p-- > 0;) {
		const struct kv_block_prompt *prompt = &r->trace->prompt[p];

		lay_out_path(r, prompt);
		at -= prompt->blocks;
		for (uint32_t i = 0; i < prompt->blocks; i++) {
			r->next_use[at + i] = next[r->path[i]];
			next[r->path[i]] = (uint32_t)p + 1;
		}
	}
	free(next);
}

static void open_replay(struct replay *r, const struct kv_block_trace *trace, const struct kv_policy_use *policy,
                        enum kv_replay_unit unit, uint64_t blocks)
{
	const struct kv_eviction_hooks *hooks = &policy->policy->hooks.eviction;

	*r = (struct replay){
		.trace = trace, .policy = policy->policy, .hooks = hooks, .state = policy->state,
		.leaf = unit == KV_REPLAY_LEAF,
		.oracle = policy->policy->flags & KV_POLICY_ORACLE,
		.capacity = blocks, .vacant = NONE, .latest = NONE, .queues = hooks->queues > 0 ? hooks->queues : 1,
		.remembers = hooks->ghost_queues != 0
	};
	r->block = kv_calloc((size_t)kv_min(blocks, trace->nodes), sizeof *r->block);
	r->place = kv_calloc(trace->nodes, sizeof *r->place);
	memset(r->place, 0xff, trace->nodes * sizeof *r->place);
	r->path = kv_calloc(trace->longest, sizeof *r->path);
	if (trace->anywhere) {
		r->depth = kv_calloc(trace->longest, sizeof *r->depth);
		r->met = kv_calloc(trace->nodes, sizeof *r->met);
	}
	for (unsigned q = 0; q < r->queues; q++)
		for (uint32_t i = 0; i < LISTS; i++)
			r->queue[q].list[i] = (struct list){NONE, NONE};
	if (r->remembers)
		kv_ghosts_init(&r->ghosts, hooks->ghost_blocks(policy->state, blocks));
	r->call.pool = blocks;
	if (r->oracle)
		find_next_uses(r);
}

static void close_replay(struct replay *r)
{
	for (unsigned q = 0; q < r->queues; q++)
		kv_heap_fini(&r->queue[q].heap);
	if (r->remembers)
		kv_ghosts_fini(&r->ghosts);
	free(r->block);
	free(r->place);
	free(r->path);
	free(r->depth);
	free(r->met);
	free(r->next_use);
}

void kv_replay_add(struct kv_replay_sums *to, const struct kv_replay_sums *from)
{
	to->prompts += from->prompts;
	to->blocks += from->blocks;
	to->tokens += from->tokens;
	to->hit_blocks += from->hit_blocks;
	to->hit_tokens += from->hit_tokens;
	to->evicted_blocks += from->evicted_blocks;
	to->evicted_tokens += from->evicted_tokens;
	to->expired_blocks += from->expired_blocks;
}

void kv_cache_replay(const struct kv_block_trace *trace, const struct kv_policy_use *policy, enum kv_replay_unit unit,
                     uint64_t blocks, struct kv_replay_result *result)
{
	struct replay r;

	*result = (struct kv_replay_result){0};
	open_replay(&r, trace, policy, unit, blocks);
	for (size_t p = 0; p < trace->prompts; p++) {
		r.sums = p < trace->prompts / 2 ? &result->whole : &result->second_half;
		play(&r, &trace->prompt[p]);
	}
	kv_replay_add(&result->whole, &result->second_half);
	result->resident_blocks = r.stored;
	close_replay(&r);
}
