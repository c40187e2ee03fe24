/* Quantities of generated workloads: a distribution, or a mixture of some, as users write them.
 *
 * Every draw goes through the quantile function, one uniform number each, so that a knob of one quantity leaves all
 * others alone, and so that two quantities can be correlated (their normal scores are).
 */
#ifndef KV_WORKLOADS_DRAW_H
#define KV_WORKLOADS_DRAW_H

#include <stdbool.h>
#include <stdint.h>

#include <gsl/gsl_rng.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/yaml_tree.h"

struct kv_distribution_kind {
	const char *name;
	const char *summary;
	size_t state_size;
	const struct kv_param *params;  /* ends with a NULL name */
	/* Checks what ranges cannot and prepares; may be NULL. */
	int (*prepare)(void *state, const char *folder, struct kv_error *err);
	double (*quantile)(const void *state, double p);  /* 0 < p < 1 */
	/* Mean of what values exceed the limit by, before bounds: 0 <= limit. NULL where no mean is given. */
	double (*excess)(const void *state, double limit);
	void (*release)(void *state);   /* may be NULL */
};

/* The one list, ended by a NULL name. */
extern const struct kv_distribution_kind kv_distribution_kinds[];

struct kv_draw_part {
	const struct kv_distribution_kind *kind;
	void *state;
	double share;        /* of all draws; parts sum to 1 */
};

struct kv_draw {
	struct kv_draw_part *parts;
	size_t count, capacity;
};

/* A scalar "12", "lognormal,mean=500,cv=1.2" or a sequence of {share: 95%, of: ...}. Files are looked for in the folder
 * of the node's file. Errors name file, line and key. */
int kv_draw_read(struct kv_draw *draw, const struct kv_node *node, struct kv_error *err);
int kv_draw_parse(struct kv_draw *draw, const char *text, const char *folder, struct kv_error *err);
void kv_draw_fini(struct kv_draw *draw);

double kv_draw_quantile(const struct kv_draw *draw, double p);
double kv_draw_next(const struct kv_draw *draw, gsl_rng *rng);
/* Two at once whose normal scores have this correlation; with 0, each depends on its own source alone. */
void kv_draw_pair(const struct kv_draw *first, const struct kv_draw *second, double correlation, gsl_rng *first_rng,
                  gsl_rng *second_rng, double *first_value, double *second_value);

/* The mean that this part of the draw was given, and the one that it has when values outside its bounds become these
 * and values below `floor` become that. False where it was given none. */
bool kv_draw_means(const struct kv_draw *draw, size_t part, double floor, double *given, double *actual);
/* No value is above this. */
double kv_draw_largest(const struct kv_draw *draw);

/* What its values are like at most: of each part the mean that it was given, within its bounds, else its largest value;
 * of these the largest. */
double kv_draw_typical(const struct kv_draw *draw);

/* Rounded to the nearest whole number within the range. */
uint32_t kv_draw_whole(double value, uint32_t minimum, uint32_t maximum);
/* The first place whose cumulative weight (ascending) is not below p; the last one if there is none. count > 0. */
size_t kv_draw_place(const double *cumulative, size_t count, double p);

#endif
