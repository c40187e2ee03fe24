/* A description of a load: streams of sessions, each with its arrivals, lengths and content. Read from the mapping
 * workload.generate of a scenario; strict, errors name file, line and key. */
#ifndef KV_WORKLOADS_LOAD_H
#define KV_WORKLOADS_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/base/yaml_tree.h"
#include "workloads/arrivals.h"
#include "workloads/draw.h"
#include "workloads/format.h"
#include "workloads/pool.h"

enum kv_load_salt { KV_SALT_NONE, KV_SALT_TENANT, KV_SALT_SESSION };

/* From `at` on, content of that name differs from its token edit * length on. Sessions keep what they began with. */
struct kv_load_revision {
	kv_time at;
	const char *of;      /* "system" or "document-3"; belongs to the tree */
	double edit;
};

/* What is drawn for every turn. */
struct kv_load_turns {
	struct kv_draw turns, message, output, think;
	double correlation;  /* of message and output */
};

/* One random source a purpose: of what takes the same number of draws in every session. */
struct kv_load_sources {
	gsl_rng *document, *shot, *tenant, *adapter;
};

/* Purposes whose draws differ in number from session to session. Each session and each sub-agent begins their sources
 * anew (kv_load_restart), so that a longer one leaves those after it alone. */
enum kv_load_purpose {
	KV_LOAD_TURNS,
	KV_LOAD_MESSAGE,
	KV_LOAD_OUTPUT,
	KV_LOAD_THINK,
	KV_LOAD_PAUSE,
	KV_LOAD_RETRIEVAL,
	KV_LOAD_DEADLINE,
	KV_LOAD_CHUNK,
	KV_LOAD_SUBAGENT,
	KV_LOAD_PURPOSES
};

/* The most that is drawn: of seconds, and of turns of a session. */
#define KV_LOAD_MOST_SECONDS 1e9
enum { KV_LOAD_MOST_TURNS = 1000000 };

struct kv_load_stream {
	const char *name;    /* belongs to the tree, like all texts here */
	kv_time start, duration;
	uint64_t requests;   /* most rows; UINT64_MAX = no limit */
	struct kv_arrivals arrivals;
	struct kv_load_turns turns;
	struct kv_draw pause, retrieval, deadline;  /* deadline: no parts = none */
	uint32_t max_tokens;
	int64_t priority;
	const char *tenant;
	struct kv_pool tenants, adapters, shots, documents, chunks;
	enum kv_load_salt salt;
	uint32_t system_tokens;
	bool system_per_tenant;
	size_t shot_count, chunk_count;
	bool chunks_sorted, variable_first;
	double subagent_share;
	struct kv_load_turns subagent;
	uint32_t subagent_system;
	struct kv_load_revision *revisions;
	size_t revision_count;
	size_t *deck;        /* documents in the order of sessions, instead of a choice; NULL = none */
	size_t deck_size;
	struct kv_load_sources source;
	uint64_t key;        /* of the sources below */
	gsl_rng *session[KV_LOAD_PURPOSES], *agent[KV_LOAD_PURPOSES];
};

struct kv_load {
	struct kv_node *tree;
	struct kv_load_stream *streams;
	size_t count;
};

/* workload.generate of a scenario, generate, or the tree itself. */
struct kv_node *kv_load_description(struct kv_node *tree);

/* The tree, whose root is a scenario or the description itself, is taken over. kv_load_fini is to be called in any
 * case. */
int kv_load_read(struct kv_load *load, struct kv_node *tree, struct kv_trace *trace, struct kv_error *err);
void kv_load_fini(struct kv_load *load);

/* Begins the sources of a session (agent 0) or of one of its sub-agents (from 1) of a stream with this key. */
void kv_load_restart(uint64_t key, gsl_rng *const *sources, uint64_t session, uint64_t agent);

#endif
