/* What the files of the scenario take from one another: scenario_keys.c has the table, scenario_value.c reads the value
 * of a key, scenario_yaml.c files and variants, scenario_resolve.c puts in what an engine profile says and implies, and
 * scenario.c keeps the settings. */
#ifndef KV_SIM_SCENARIO_PARTS_H
#define KV_SIM_SCENARIO_PARTS_H

#include "sim/base/yaml_tree.h"
#include "sim/deploy/scenario.h"

int kv_scenario_fail_unknown_key(const char *path, struct kv_error *err);

/* The value in the text into a field of the key's type. Texts are kept by reference: field then points into text. */
int kv_key_parse(const struct kv_key *key, const char *text, void *field, struct kv_error *err);

/* The key is one of the table. */
struct kv_setting *kv_scenario_setting_of(const struct kv_scenario *scenario, const struct kv_key *key);
/* Frees what the setting owns and leaves it unset. */
void kv_setting_clear(struct kv_setting *setting);
/* Checks the text, and keeps a copy unless what is set has a higher origin. */
int kv_scenario_set_key(struct kv_scenario *scenario, const struct kv_key *key, const char *text,
                        enum kv_origin origin, const char *source, struct kv_error *err);

struct kv_scenario_reader {
	struct kv_scenario *scenario;
	enum kv_origin origin;
	const char *source;  /* NULL: file and line of each node */
	struct kv_error *err;
};

/* Sets the keys of a mapping, whose paths begin with the prefix: "" or "engine". */
int kv_scenario_read_mapping(struct kv_scenario_reader *r, const struct kv_node *mapping, const char *prefix);

#endif
