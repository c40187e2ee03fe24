#include "config.h"

#include "sim/deploy/policy_pairs.h"

#include <stdio.h>
#include <string.h>

static bool is_contiguous(const struct kv_policy_use policy[])
{
	return policy[KV_POLICY_ALLOCATION].policy->hooks.allocation.contiguous;
}

static bool shares_contiguous(const struct kv_policy_use policy[], const struct kv_layout *layout)
{
	(void)layout;
	return is_contiguous(policy) && policy[KV_POLICY_PREFIX].policy->hooks.prefix.form != KV_PREFIX_NONE;
}

static bool splits_contiguous(const struct kv_policy_use policy[], const struct kv_layout *layout)
{
	return is_contiguous(policy) && (layout->groups > 1 || layout->group[0].window > 0);
}

static bool swaps_contiguous(const struct kv_policy_use policy[], const struct kv_layout *layout)
{
	(void)layout;
	return is_contiguous(policy) && kv_policy_swaps(&policy[KV_POLICY_PREEMPTION]);
}

static bool swaps_windows(const struct kv_policy_use policy[], const struct kv_layout *layout)
{
	bool windowed = false;

	for (uint32_t g = 0; g < layout->groups; g++)
		windowed |= layout->group[g].window > 0;
	return windowed && kv_policy_swaps(&policy[KV_POLICY_PREEMPTION]);
}

static enum kv_prefix_form form_of(const struct kv_policy_use policy[])
{
	return policy[KV_POLICY_PREFIX].policy->hooks.prefix.form;
}

static bool has_tree_of_many(const struct kv_policy_use policy[], const struct kv_layout *layout)
{
	return (form_of(policy) == KV_PREFIX_RADIX || form_of(policy) == KV_PREFIX_PARTIAL) &&
	       (layout->groups > 1 || layout->group[0].window > 0);
}

static bool evicts_by_age_alone(const struct kv_policy_use policy[], const struct kv_layout *layout)
{
	(void)layout;
	return form_of(policy) == KV_PREFIX_PARTIAL && !policy[KV_POLICY_EVICTION].policy->hooks.eviction.release_order;
}

/* What does not go together: the two kinds that clash (the second may be the model: KV_POLICY_KINDS), and why. */
static const struct {
	bool (*clashes)(const struct kv_policy_use policy[], const struct kv_layout *layout);
	enum kv_policy_kind one, other;
	const char *why;
} clashes[] = {
	{ shares_contiguous, KV_POLICY_ALLOCATION, KV_POLICY_PREFIX,
	  "a contiguous piece belongs to one request and cannot share blocks with another: add "
	  "--no-enable-prefix-caching" },
	{ splits_contiguous, KV_POLICY_ALLOCATION, KV_POLICY_KINDS,
	  "a contiguous piece holds a whole context, and this model's windowed layers do not keep theirs: "
	  "choose one that takes blocks on demand" },
	{ swaps_contiguous, KV_POLICY_PREEMPTION, KV_POLICY_ALLOCATION,
	  "mode=swap copies blocks that are taken on demand, and gives them back one by one: leave mode=swap out" },
	{ swaps_windows, KV_POLICY_PREEMPTION, KV_POLICY_KINDS,
	  "mode=swap brings back whole contexts, and its windowed layers do not keep theirs: leave mode=swap out" },
	{ has_tree_of_many, KV_POLICY_PREFIX, KV_POLICY_KINDS,
	  "its tree holds whole contexts of one kind of layers: choose block-hash" },
	{ evicts_by_age_alone, KV_POLICY_EVICTION, KV_POLICY_PREFIX,
	  "leaves of its tree go by the priorities that it gives them, then the oldest: choose lru" },
};

/* Names of the policies that can order leaves. */
static const char *leaf_orders(char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (const struct kv_policy *const *p = kv_policy_registry; *p != NULL; p++)
		if ((*p)->kind == KV_POLICY_EVICTION && (*p)->hooks.eviction.leaf != NULL && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", (*p)->name);
	return text;
}

static bool has_parameters(const struct kv_policy_use *eviction)
{
	struct kv_policy_use plain;
	struct kv_error err;
	bool given;

	if (kv_policy_parse(KV_POLICY_EVICTION, eviction->policy->name, &plain, &err))
		return false;
	given = memcmp(plain.state, eviction->state, plain.policy->state_size) != 0;
	kv_policy_use_fini(&plain);
	return given;
}

int kv_policies_check_leaves(const struct kv_policy_use policy[KV_POLICY_KINDS], struct kv_error *err)
{
	const struct kv_policy_use *eviction = &policy[KV_POLICY_EVICTION];
	const char *name = eviction->policy->name;
	char names[256];

	if (form_of(policy) != KV_PREFIX_RADIX)
		return 0;
	if (eviction->policy->hooks.eviction.leaf == NULL)
		return kv_fail(err, KV_EXIT_USAGE,
		               "eviction %s does not go with prefix %s, which evicts whole leaves of its tree: choose "
		               "one that orders leaves (%s)",
		               name, policy[KV_POLICY_PREFIX].policy->name, leaf_orders(names, sizeof names));
	if (eviction->policy->hooks.eviction.leaf_takes_none && has_parameters(eviction))
		return kv_fail(err, KV_EXIT_USAGE,
		               "eviction %s does not go with prefix %s: its parameters order blocks, and leaves of a "
		               "tree go by the priority of their requests: leave them out",
		               name, policy[KV_POLICY_PREFIX].policy->name);
	return 0;
}

int kv_policies_check(const struct kv_policy_use policy[KV_POLICY_KINDS], const struct kv_layout *layout,
                      struct kv_error *err)
{
	const struct kv_policy *eviction = policy[KV_POLICY_EVICTION].policy;

	if (eviction->hooks.eviction.refuses)
		return kv_fail(err, KV_EXIT_USAGE,
		               "eviction %s knows the future, which a run does not: when a block is used next depends "
		               "on whom the run admits when, and so on what it evicts. kvsim trace cache gives the "
		               "bound, at equal pool sizes and without time", eviction->name);
	if (form_of(policy) == KV_PREFIX_ANYWHERE)
		return kv_fail(err, KV_EXIT_USAGE,
		               "prefix %s is no engine's: what is computed of a piece depends on all that stands "
		               "before it, so no engine reuses it elsewhere without computing part of it again. kvsim "
		               "trace cache says what could be reused at most", policy[KV_POLICY_PREFIX].policy->name);
	if (kv_policies_check_leaves(policy, err))
		return -1;
	for (size_t i = 0; i < sizeof clashes / sizeof clashes[0]; i++) {
		enum kv_policy_kind one = clashes[i].one, other = clashes[i].other;

		if (!clashes[i].clashes(policy, layout))
			continue;
		if (other == KV_POLICY_KINDS)
			return kv_fail(err, KV_EXIT_USAGE, "%s %s does not go with this model: %s",
			               kv_policy_kind_name(one), policy[one].policy->name, clashes[i].why);
		return kv_fail(err, KV_EXIT_USAGE, "%s %s does not go with %s %s: %s", kv_policy_kind_name(one),
		               policy[one].policy->name, kv_policy_kind_name(other), policy[other].policy->name,
		               clashes[i].why);
	}
	return 0;
}
