#include "config.h"

#include "sim/profiles/hardware.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/memory.h"
#include "sim/base/names.h"
#include "sim/base/quantity.h"
#include "sim/profiles/profiles.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* nvidia-smi counts what driver and firmware keep; CUDA does not: 483 MiB on an RTX 4090 (24,564 MiB against
 * 25,250,627,584 B). */
#define DRIVER_MEMORY (UINT64_C(480) << 20)

static const char *const flops_names[KV_FLOPS_TYPES] = {"bf16", "fp8", "int8", "fp4"};

const char *kv_flops_name(enum kv_flops type)
{
	return flops_names[type];
}

struct member;

static int member_fraction(const char *text, const struct member *m, double *out, struct kv_error *err);
static int member_time(const char *text, const struct member *m, double *out, struct kv_error *err);
static int member_bytes(const char *text, const struct member *m, double *out, struct kv_error *err);
static int member_switch(const char *text, const struct member *m, double *out, struct kv_error *err);

/* A member of a struct of doubles that a mapping can set. */
struct member {
	const char *name;
	size_t offset;
	int (*parse)(const char *text, const struct member *m, double *out, struct kv_error *err);
	double minimum, maximum;
	double fallback;
};

/* Bounds as in calibration; defaults from public kernel tables and one engine fit: results/studies/latency. */
static const struct member efficiency_members[] = {
	{"ec", offsetof(struct kv_efficiency, ec), member_fraction, .05, 1.1, .60},
	{"eb", offsetof(struct kv_efficiency, eb), member_fraction, .1, 1.0, .80},
	{"ea", offsetof(struct kv_efficiency, ea), member_fraction, .02, 1.0, .60},
	{"ea_half", offsetof(struct kv_efficiency, ea_half), member_fraction, 0, 1e6, 1500},
	{"ek", offsetof(struct kv_efficiency, ek), member_fraction, .05, 1.1, .75},
	{"km", offsetof(struct kv_efficiency, km), member_fraction, .1, 1.3, .60},
	{"en", offsetof(struct kv_efficiency, en), member_fraction, .02, 1.2, .60},
	{"ec_fp8", offsetof(struct kv_efficiency, ec_fp8), member_fraction, .05, 1.1, .50},
	{"eb_fp8", offsetof(struct kv_efficiency, eb_fp8), member_fraction, .1, 1.0, .75},
};

/* Times in seconds. */
static const struct member overhead_members[] = {
	{"c0", offsetof(struct kv_overheads, c0), member_time, 0, 1, 0},
	{"cl", offsetof(struct kv_overheads, cl), member_time, 0, 1, 0},
	{"cl_fp8", offsetof(struct kv_overheads, cl_fp8), member_time, 0, 1, 0},
	{"clp", offsetof(struct kv_overheads, clp), member_time, 0, 1, 0},
	{"c1", offsetof(struct kv_overheads, c1), member_time, 0, 1, 0},
	{"c1p", offsetof(struct kv_overheads, c1p), member_time, 0, 1, 0},
	{"cs", offsetof(struct kv_overheads, cs), member_time, 0, 1, 0},
	{"large_message", offsetof(struct kv_overheads, large_message), member_bytes, 1, 1e15, 0},
	{"el", offsetof(struct kv_overheads, el), member_fraction, .02, 1, 0},
	{"overlap", offsetof(struct kv_overheads, overlap), member_switch, 0, 1, 0},
};

static int member_fraction(const char *text, const struct member *m, double *out, struct kv_error *err)
{
	return kv_parse_fraction(text, m->minimum, m->maximum, out, err);
}

static int member_time(const char *text, const struct member *m, double *out, struct kv_error *err)
{
	kv_time time;

	if (kv_parse_time(text, 0, (kv_time)(m->maximum * 1e9), &time, err))
		return -1;
	*out = (double)time / 1e9;
	return 0;
}

static int member_bytes(const char *text, const struct member *m, double *out, struct kv_error *err)
{
	uint64_t bytes;

	if (kv_parse_bytes(text, false, (uint64_t)m->minimum, (uint64_t)m->maximum, &bytes, err))
		return -1;
	*out = (double)bytes;
	return 0;
}

static int member_switch(const char *text, const struct member *m, double *out, struct kv_error *err)
{
	bool on;

	(void)m;
	if (kv_parse_bool(text, &on, err))
		return -1;
	*out = on;
	return 0;
}

static double *member_of(void *base, const struct member *m)
{
	return (double *)((char *)base + m->offset);
}

static void unset(void *base, const struct member *members, size_t count)
{
	for (size_t i = 0; i < count; i++)
		*member_of(base, &members[i]) = NAN;
}

void kv_efficiency_unset(struct kv_efficiency *efficiency)
{
	unset(efficiency, efficiency_members, COUNT(efficiency_members));
}

static int read_members(const struct kv_node *node, const struct member *members, size_t count, void *out,
                        struct kv_error *err)
{
	const char *names[COUNT(overhead_members)];

	for (size_t i = 0; i < count; i++)
		names[i] = members[i].name;
	if (kv_node_expect_keys(node, names, count, KV_EXIT_DATA, err))
		return -1;
	for (size_t i = 0; i < count; i++) {
		const struct kv_node *value = kv_node_get(node, members[i].name);

		if (!value)
			continue;
		if (kv_node_expect(value, KV_NODE_SCALAR, KV_EXIT_DATA, err))
			return -1;
		if (members[i].parse(value->text, &members[i], member_of(out, &members[i]), err))
			return kv_node_fail_in(value, err);
	}
	return 0;
}

int kv_efficiency_read(const struct kv_node *node, struct kv_efficiency *out, struct kv_error *err)
{
	_Static_assert(COUNT(efficiency_members) <= COUNT(overhead_members),
	               "read_members has room for the longer list");
	return read_members(node, efficiency_members, COUNT(efficiency_members), out, err);
}

void kv_overheads_unset(struct kv_overheads *overheads)
{
	unset(overheads, overhead_members, COUNT(overhead_members));
}

int kv_overheads_read(const struct kv_node *node, struct kv_overheads *out, struct kv_error *err)
{
	return read_members(node, overhead_members, COUNT(overhead_members), out, err);
}

static void assume(struct kv_hardware *hw, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void assume(struct kv_hardware *hw, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	hw->assumed = kv_realloc(hw->assumed, hw->assumed_count + 1, sizeof *hw->assumed);
	hw->assumed[hw->assumed_count++] = kv_strdup(text);
}

/* --- the members of a profile, one reader each -------------------------------------------------------------------- */

static int read_name(struct kv_hardware *hw, const struct kv_node *node, struct kv_error *err)
{
	if (kv_node_expect(node, KV_NODE_SCALAR, KV_EXIT_DATA, err))
		return -1;
	hw->name = kv_strdup(node->text);
	return 0;
}

static int read_source(struct kv_hardware *hw, const struct kv_node *node, struct kv_error *err)
{
	if (kv_node_expect(node, KV_NODE_SCALAR, KV_EXIT_DATA, err))
		return -1;
	hw->source = kv_strdup(node->text);
	return 0;
}

/* A list that ends with NULL; no node: NULL. */
static int read_names(const struct kv_node *node, char ***out, struct kv_error *err)
{
	if (!node)
		return 0;
	if (kv_node_expect(node, KV_NODE_SEQUENCE, KV_EXIT_DATA, err))
		return -1;
	*out = kv_calloc(node->children + 1, sizeof **out);
	for (size_t i = 0; i < node->children; i++) {
		if (kv_node_expect(&node->child[i], KV_NODE_SCALAR, KV_EXIT_DATA, err))
			return -1;
		(*out)[i] = kv_strdup(node->child[i].text);
	}
	return 0;
}

static int read_aliases(struct kv_hardware *hw, const struct kv_node *node, struct kv_error *err)
{
	return read_names(node, &hw->aliases, err);
}

static int read_compute_capability(struct kv_hardware *hw, const struct kv_node *node, struct kv_error *err)
{
	if (kv_node_expect(node, KV_NODE_SCALAR, KV_EXIT_DATA, err))
		return -1;
	if (kv_parse_double(node->text, 1, 100, &hw->compute_capability, err))
		return kv_node_fail_in(node, err);
	return 0;
}

static int read_bytes(const struct kv_node *node, uint64_t *out, struct kv_error *err)
{
	if (kv_node_expect(node, KV_NODE_SCALAR, KV_EXIT_DATA, err))
		return -1;
	/* A megabyte to a pebibyte: a number outside has the wrong unit. */
	if (kv_parse_bytes(node->text, false, UINT64_C(1) << 20, UINT64_C(1) << 50, out, err))
		return kv_node_fail_in(node, err);
	return 0;
}

static int read_memory(struct kv_hardware *hw, const struct kv_node *node, struct kv_error *err)
{
	return read_bytes(node, &hw->memory, err);
}

static int read_framework_memory(struct kv_hardware *hw, const struct kv_node *node, struct kv_error *err)
{
	return read_bytes(node, &hw->framework_memory, err);
}

/* Rates outside of these bounds have the wrong unit: no device lies within a factor of hundred of them. */
#define SLOWEST_BYTES 1e6
#define FASTEST_BYTES 1e16
#define SLOWEST_FLOPS 1e9
#define FASTEST_FLOPS 1e19

static int check_rate(const struct kv_node *node, double value, double minimum, double maximum, struct kv_error *err)
{
	if (value < minimum || value > maximum)
		return kv_node_fail(node, KV_EXIT_DATA, err, "%s is no plausible rate (%g to %g a second)", node->text,
		                    minimum, maximum);
	return 0;
}

static int read_byte_rate(const struct kv_node *node, double *out, struct kv_error *err)
{
	if (kv_node_expect(node, KV_NODE_SCALAR, KV_EXIT_DATA, err))
		return -1;
	if (kv_parse_byte_rate(node->text, out, err))
		return kv_node_fail_in(node, err);
	return check_rate(node, *out, SLOWEST_BYTES, FASTEST_BYTES, err);
}

static int read_memory_bandwidth(struct kv_hardware *hw, const struct kv_node *node, struct kv_error *err)
{
	return read_byte_rate(node, &hw->memory_bandwidth, err);
}

static int read_link_bandwidth(struct kv_hardware *hw, const struct kv_node *node, struct kv_error *err)
{
	return read_byte_rate(node, &hw->link_bandwidth, err);
}

static int read_host_link_bandwidth(struct kv_hardware *hw, const struct kv_node *node, struct kv_error *err)
{
	return read_byte_rate(node, &hw->host_link_bandwidth, err);
}

static int read_flops(struct kv_hardware *hw, const struct kv_node *node, struct kv_error *err)
{
	if (kv_node_expect_keys(node, flops_names, KV_FLOPS_TYPES, KV_EXIT_DATA, err))
		return -1;
	for (size_t i = 0; i < KV_FLOPS_TYPES; i++) {
		const struct kv_node *value = kv_node_get(node, flops_names[i]);

		if (!value)
			continue;
		if (kv_node_expect(value, KV_NODE_SCALAR, KV_EXIT_DATA, err))
			return -1;
		if (kv_parse_flop_rate(value->text, &hw->flops[i], err))
			return kv_node_fail_in(value, err);
		if (check_rate(value, hw->flops[i], SLOWEST_FLOPS, FASTEST_FLOPS, err))
			return -1;
	}
	return 0;
}

static int read_efficiency(struct kv_hardware *hw, const struct kv_node *node, struct kv_error *err)
{
	return kv_efficiency_read(node, &hw->efficiency, err);
}

static int read_overheads(struct kv_hardware *hw, const struct kv_node *node, struct kv_error *err)
{
	hw->has_overheads = true;
	return kv_overheads_read(node, &hw->overheads, err);
}

static int read_count(const struct kv_node *node, uint64_t *out, struct kv_error *err)
{
	if (!node)
		return 0;
	if (kv_node_expect(node, KV_NODE_SCALAR, KV_EXIT_DATA, err))
		return -1;
	if (kv_parse_count(node->text, 0, UINT64_C(1) << 40, out, err))
		return kv_node_fail_in(node, err);
	return 0;
}

static int read_text(const struct kv_node *node, char **out, struct kv_error *err)
{
	if (!node)
		return 0;
	if (kv_node_expect(node, KV_NODE_SCALAR, KV_EXIT_DATA, err))
		return -1;
	*out = kv_strdup(node->text);
	return 0;
}

static int read_validated(struct kv_hardware *hw, const struct kv_node *node, struct kv_error *err)
{
	static const char *const keys[] = {"sequences", "step_tokens", "sequence_context", "tensor_parallel", "weights",
	                                   "error", "models", "served"};
	const struct kv_node *served = kv_node_get(node, "served");
	struct kv_validated *v = &hw->validated;
	uint64_t tp = 0;

	if (kv_node_expect_keys(node, keys, COUNT(keys), KV_EXIT_DATA, err) ||
	    read_count(kv_node_get(node, "sequences"), &v->sequences, err) ||
	    read_count(kv_node_get(node, "step_tokens"), &v->step_tokens, err) ||
	    read_count(kv_node_get(node, "sequence_context"), &v->sequence_context, err) ||
	    read_count(kv_node_get(node, "tensor_parallel"), &tp, err) ||
	    read_text(kv_node_get(node, "weights"), &v->weights, err) ||
	    read_text(kv_node_get(node, "error"), &v->error, err) ||
	    read_names(kv_node_get(node, "models"), &v->models, err) ||
	    (served && kv_served_figures_read(served, &v->served, err)))
		return -1;
	v->tensor_parallel = (uint32_t)kv_min(tp, UINT32_MAX);
	return 0;
}

static const struct {
	const char *key;
	int (*read)(struct kv_hardware *hw, const struct kv_node *node, struct kv_error *err);
} readers[] = {
	{"name", read_name},
	{"aliases", read_aliases},
	{"compute_capability", read_compute_capability},
	{"memory", read_memory},
	{"framework_memory", read_framework_memory},
	{"memory_bandwidth", read_memory_bandwidth},
	{"flops", read_flops},
	{"link_bandwidth", read_link_bandwidth},
	{"host_link_bandwidth", read_host_link_bandwidth},
	{"efficiency", read_efficiency},
	{"overheads", read_overheads},
	{"validated", read_validated},
	{"source", read_source},
};

/* --- defaults and assumptions ------------------------------------------------------------------------------------- */

static void assume_efficiencies(struct kv_hardware *hw)
{
	for (size_t i = 0; i < COUNT(efficiency_members); i++) {
		const struct member *m = &efficiency_members[i];
		double *value = member_of(&hw->efficiency, m);

		if (!isnan(*value))
			continue;
		*value = m->fallback;
		assume(hw, "%s = %g (default)", m->name, m->fallback);
	}
}

static void assume_rates(struct kv_hardware *hw)
{
	if (hw->memory == 0 && hw->framework_memory == 0)
		assume(hw, "memory is unknown");
	if (hw->memory != 0 && hw->framework_memory == 0)
		assume(hw, "the framework sees 480 MiB less than the driver");
	if (hw->memory_bandwidth == 0)
		assume(hw, "memory_bandwidth is unknown");
	if (hw->flops[KV_FLOPS_BF16] == 0)
		assume(hw, "flops.bf16 is unknown");
	if (hw->flops[KV_FLOPS_FP8] == 0)
		assume(hw, "flops.fp8 is unknown: fp8 weights run at the bf16 rate");
	if (hw->link_bandwidth == 0)
		assume(hw, "link_bandwidth is unknown");
	if (hw->host_link_bandwidth == 0)
		assume(hw, "host_link_bandwidth is unknown");
}

static int read_profile(struct kv_hardware *hw, const struct kv_node *root, struct kv_error *err)
{
	const char *keys[COUNT(readers)];

	for (size_t i = 0; i < COUNT(readers); i++)
		keys[i] = readers[i].key;
	if (kv_node_expect_keys(root, keys, COUNT(keys), KV_EXIT_DATA, err))
		return -1;
	for (size_t i = 0; i < COUNT(readers); i++) {
		const struct kv_node *node = kv_node_get(root, readers[i].key);

		if (node && readers[i].read(hw, node, err))
			return -1;
	}
	if (!hw->name)
		return kv_node_fail(root, KV_EXIT_DATA, err, "a hardware profile needs a name");
	return 0;
}

static struct kv_hardware *from_tree(struct kv_node *root, struct kv_error *err)
{
	struct kv_hardware *hw = kv_calloc(1, sizeof *hw);
	int failed;

	kv_efficiency_unset(&hw->efficiency);
	kv_overheads_unset(&hw->overheads);
	failed = read_profile(hw, root, err);
	kv_yaml_free(root);
	if (failed) {
		kv_hardware_free(hw);
		return NULL;
	}
	if (!hw->source)
		hw->source = kv_strdup("");
	assume_rates(hw);
	assume_efficiencies(hw);
	return hw;
}

struct kv_hardware *kv_hardware_parse(const char *text, const char *label, struct kv_error *err)
{
	struct kv_node *root = kv_yaml_parse(text, strlen(text), label, err);

	return root ? from_tree(root, err) : NULL;
}

/* --- built-in profiles -------------------------------------------------------------------------------------------- */

static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		char x = *a == '_' || *a == ' ' ? '-' : (char)tolower((unsigned char)*a);
		char y = *b == '_' || *b == ' ' ? '-' : (char)tolower((unsigned char)*b);

		if (x != y)
			return false;
	}
	return *a == *b;
}

bool kv_hardware_is_called(const struct kv_hardware *hw, const char *name)
{
	if (same_name(hw->name, name))
		return true;
	for (char **alias = hw->aliases; alias && *alias; alias++)
		if (same_name(*alias, name))
			return true;
	return false;
}

static int fail_unknown(const char *name, struct kv_error *err)
{
	const char *names[64];
	size_t count = 0;

	for (const struct kv_profile *p = kv_profile_next("hardware", NULL); p && count < COUNT(names);
	     p = kv_profile_next("hardware", p))
		names[count++] = p->name;
	return kv_fail_unknown(err, KV_EXIT_USAGE, "hardware", name, names, count);
}

static struct kv_hardware *load_built_in(const char *name, struct kv_error *err)
{
	for (const struct kv_profile *p = kv_profile_next("hardware", NULL); p; p = kv_profile_next("hardware", p)) {
		struct kv_hardware *hw = kv_hardware_parse(p->text, p->name, err);

		if (!hw || kv_hardware_is_called(hw, name))
			return hw;
		kv_hardware_free(hw);
	}
	fail_unknown(name, err);
	return NULL;
}

struct kv_hardware *kv_hardware_load(const char *name_or_path, struct kv_error *err)
{
	struct kv_node *root;

	if (!strpbrk(name_or_path, "/."))
		return load_built_in(name_or_path, err);
	root = kv_yaml_read(name_or_path, err);
	return root ? from_tree(root, err) : NULL;
}

static void free_strings(char **strings, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(strings[i]);
	free(strings);
}

static void free_names(char **names)
{
	size_t count = 0;

	while (names && names[count])
		count++;
	free_strings(names, count);
}

void kv_hardware_free(struct kv_hardware *hw)
{
	if (!hw)
		return;
	free_names(hw->aliases);
	free_strings(hw->assumed, hw->assumed_count);
	free(hw->validated.weights);
	free(hw->validated.error);
	free_names(hw->validated.models);
	kv_served_figures_fini(&hw->validated.served);
	free(hw->source);
	free(hw->name);
	free(hw);
}

uint64_t kv_hardware_device_memory(const struct kv_hardware *hw)
{
	return hw->framework_memory ? hw->framework_memory : kv_sub_floor(hw->memory, DRIVER_MEMORY);
}
