#include "config.h"

#include "workloads/draw.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include "sim/base/csv_table.h"
#include "sim/base/memory.h"
#include "sim/base/names.h"
#include "sim/base/quantity.h"

/* Members that the kinds share: not all use all. */
struct state {
	double value, mean, cv, min, max, exponent, largest;
	char file[KV_PARAM_TEXT_MAX], column[KV_PARAM_TEXT_MAX];
	double *sorted;      /* empirical: its values; zipf: cumulative weights */
	size_t count;
};

#define PARAM(member, minimum, maximum, fallback, help) \
	{#member, KV_PARAM_DOUBLE, offsetof(struct state, member), minimum, maximum, fallback, "", help}
#define TEXT(member, help) {#member, KV_PARAM_TEXT, offsetof(struct state, member), 0, 0, "", "", help}
#define BOUNDS \
	PARAM(min, 0, 1e18, "0", "smaller values become this"), PARAM(max, 0, 1e18, "1e18", "larger values become this")

static double bounded(const struct state *s, double value)
{
	return fmin(fmax(value, s->min), s->max);
}

static int check_bounds(const struct state *s, struct kv_error *err)
{
	return s->min > s->max ? kv_fail(err, KV_EXIT_USAGE, "min %g is above max %g", s->min, s->max) : 0;
}

static int prepare_bounds(void *state, const char *folder, struct kv_error *err)
{
	(void)folder;
	return check_bounds(state, err);
}

static double constant_quantile(const void *state, double p)
{
	(void)p;
	return ((const struct state *)state)->value;
}

static double uniform_quantile(const void *state, double p)
{
	const struct state *s = state;

	return s->min + p * (s->max - s->min);
}

static double exponential_quantile(const void *state, double p)
{
	const struct state *s = state;

	return bounded(s, gsl_cdf_exponential_Pinv(p, s->mean));
}

static double exponential_excess(const void *state, double limit)
{
	const struct state *s = state;

	return s->mean * exp(-limit / s->mean);
}

/* Of the given mean and coefficient of variation, before bounds. */
static double lognormal_quantile(const void *state, double p)
{
	const struct state *s = state;
	double variance = log1p(s->cv * s->cv);

	return bounded(s, gsl_cdf_lognormal_Pinv(p, log(s->mean) - variance / 2, sqrt(variance)));
}

/* The integral of the tail, E[X; X > limit] - limit P(X > limit). */
static double lognormal_excess(const void *state, double limit)
{
	const struct state *s = state;
	double variance = log1p(s->cv * s->cv), sigma = sqrt(variance), mu = log(s->mean) - variance / 2;

	if (limit <= 0)
		return s->mean;
	return s->mean * gsl_cdf_ugaussian_P((mu + variance - log(limit)) / sigma) -
	       limit * gsl_cdf_ugaussian_P((mu - log(limit)) / sigma);
}

static double gamma_quantile(const void *state, double p)
{
	const struct state *s = state;
	double shape = 1 / (s->cv * s->cv);

	return bounded(s, gsl_cdf_gamma_Pinv(p, shape, s->mean / shape));
}

static double gamma_excess(const void *state, double limit)
{
	const struct state *s = state;
	double shape = 1 / (s->cv * s->cv), scale = s->mean / shape;

	return s->mean * gsl_cdf_gamma_Q(limit, shape + 1, scale) - limit * gsl_cdf_gamma_Q(limit, shape, scale);
}

/* How often a thing is done that goes on with the same chance each time: 1, 2, ... */
static double geometric_quantile(const void *state, double p)
{
	const struct state *s = state;

	if (s->mean <= 1)
		return bounded(s, 1);
	return bounded(s, ceil(log1p(-p) / log1p(-1 / s->mean)));
}

/* Linear between whole numbers, at which it has no memory. */
static double geometric_excess(const void *state, double limit)
{
	const struct state *s = state;
	double below = floor(limit), stay = 1 - 1 / s->mean;

	return pow(stay, below) * (s->mean - (limit - below));
}

/* --- values whose cumulative weights are listed ------------------------------------------------------------------- */

static int prepare_zipf(void *state, const char *folder, struct kv_error *err)
{
	struct state *s = state;
	double sum = 0;

	(void)folder;
	s->count = (size_t)s->largest;
	s->sorted = kv_calloc(s->count, sizeof *s->sorted);
	for (size_t i = 0; i < s->count; i++)
		s->sorted[i] = sum += pow((double)(i + 1), -s->exponent);
	for (size_t i = 0; i < s->count; i++)
		s->sorted[i] /= sum;
	return check_bounds(s, err);
}

size_t kv_draw_place(const double *cumulative, size_t count, double p)
{
	size_t low = 0, high = count - 1;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (cumulative[middle] < p)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static double zipf_quantile(const void *state, double p)
{
	const struct state *s = state;

	return bounded(s, (double)(kv_draw_place(s->sorted, s->count, p) + 1));
}

static void release_sorted(void *state)
{
	free(((struct state *)state)->sorted);
}

/* --- values of a file --------------------------------------------------------------------------------------------- */

static int read_column(struct state *s, const struct kv_csv_table *table, size_t column, struct kv_error *err)
{
	for (size_t row = 0; row < table->rows; row++)
		if (kv_parse_double(kv_csv_table_cell(table, row, column), 0, 1e18, &s->sorted[row], err) != 0)
			return kv_csv_table_fail(table, row, column, err, "a number from 0 to 1e18");
	return 0;
}

static int prepare_empirical(void *state, const char *folder, struct kv_error *err)
{
	struct state *s = state;
	struct kv_csv_table *table;
	char path[2 * KV_PARAM_TEXT_MAX + 4096];
	size_t column = 0;
	int status = 0;

	if (*s->file == '\0')
		return kv_fail(err, KV_EXIT_USAGE, "needs file=FILE");
	snprintf(path, sizeof path, "%s%s", *s->file == '/' ? "" : folder, s->file);
	table = kv_csv_table_read(path, err);
	if (table == NULL)
		return -1;
	if (*s->column != '\0')
		column = kv_csv_table_column(table, s->column);
	if (column == KV_NO_COLUMN)
		status = kv_fail(err, KV_EXIT_DATA, "%s has no column '%s'", path, s->column);
	s->count = table->rows;
	s->sorted = kv_calloc(s->count, sizeof *s->sorted);
	if (status == 0)
		status = read_column(s, table, column, err);
	kv_csv_table_free(table);
	gsl_sort(s->sorted, 1, s->count);
	return status != 0 ? status : check_bounds(s, err);
}

static double empirical_quantile(const void *state, double p)
{
	const struct state *s = state;

	return bounded(s, gsl_stats_quantile_from_sorted_data(s->sorted, 1, s->count, p));
}

#define KIND(name_, summary_, ...) \
	.name = name_, .summary = summary_, .state_size = sizeof(struct state), \
	.params = (const struct kv_param[]){__VA_ARGS__, {0}}

const struct kv_distribution_kind kv_distribution_kinds[] = {
	{KIND("constant", "the same value always", PARAM(value, 0, 1e18, "1", "the value")),
	 .quantile = constant_quantile},
	{KIND("uniform", "all values between two equally likely", PARAM(min, 0, 1e18, "0", "smallest value"),
	      PARAM(max, 0, 1e18, "1", "largest value")), .prepare = prepare_bounds, .quantile = uniform_quantile},
	{KIND("exponential", "memoryless", PARAM(mean, 1e-9, 1e18, "1", "mean, before bounds"), BOUNDS),
	 .prepare = prepare_bounds, .quantile = exponential_quantile, .excess = exponential_excess},
	{KIND("lognormal", "long tail, as most lengths have", PARAM(mean, 1e-9, 1e18, "1", "mean, before bounds"),
	      PARAM(cv, 1e-3, 100, "1", "standard deviation over mean"), BOUNDS),
	 .prepare = prepare_bounds, .quantile = lognormal_quantile, .excess = lognormal_excess},
	{KIND("gamma", "tail between exponential and none", PARAM(mean, 1e-9, 1e18, "1", "mean, before bounds"),
	      PARAM(cv, 1e-2, 30, "1", "standard deviation over mean"), BOUNDS),
	 .prepare = prepare_bounds, .quantile = gamma_quantile, .excess = gamma_excess},
	{KIND("geometric", "1, 2, 3, ...: goes on with the same chance each time", PARAM(mean, 1, 1e9, "1",
	 "mean, before bounds"),
	      BOUNDS), .prepare = prepare_bounds, .quantile = geometric_quantile, .excess = geometric_excess},
	{KIND("zipf", "1, 2, 3, ..., n with weights 1/k^exponent", PARAM(exponent, 0, 20, "1", "0 is uniform"),
	      PARAM(largest, 1, 1e7, "100", "n"), BOUNDS),
	 .prepare = prepare_zipf, .quantile = zipf_quantile, .release = release_sorted},
	{KIND("empirical", "the values of a CSV file's column, interpolated", TEXT(file, "the file"),
	      TEXT(column, "name of the column (default: the first)"), BOUNDS),
	 .prepare = prepare_empirical, .quantile = empirical_quantile, .release = release_sorted},
	{0}
};

/* --- reading ------------------------------------------------------------------------------------------------------ */

enum { NAMES_MAX = 16 };

static const struct kv_distribution_kind *find_kind(const char *name, struct kv_error *err)
{
	const char *names[NAMES_MAX];
	size_t count = 0;

	for (const struct kv_distribution_kind *kind = kv_distribution_kinds; kind->name != NULL; kind++) {
		if (strcmp(kind->name, name) == 0)
			return kind;
		names[count++] = kind->name;
	}
	kv_fail_unknown(err, KV_EXIT_USAGE, "distribution", name, names, count);
	return NULL;
}

/* Adds a part of that share; text is changed. */
static int add_part(struct kv_draw *draw, double share, char *text, const char *folder, struct kv_error *err)
{
	const char *name = strsep(&text, ",");
	struct kv_draw_part part = {.kind = find_kind(name, err), .share = share};
	int status;

	if (part.kind == NULL)
		return -1;
	part.state = kv_calloc(1, part.kind->state_size);
	status = kv_params_set(part.kind->name, part.kind->params, text, part.state, err);
	draw->parts = kv_grow(draw->parts, &draw->capacity, draw->count + 1, sizeof *draw->parts);
	draw->parts[draw->count++] = part;
	if (status == 0 && part.kind->prepare != NULL && part.kind->prepare(part.state, folder, err) != 0)
		return kv_fail_in(err, "%s", part.kind->name);
	return status;
}

static int parse_part(struct kv_draw *draw, double share, const char *text, const char *folder, struct kv_error *err)
{
	char *copy = kv_calloc(strlen(text) + sizeof "constant,value=", 1);
	bool number = *text != '\0' && strchr("+-.0123456789", *text) != NULL;
	int status;

	sprintf(copy, "%s%s", number ? "constant,value=" : "", text);
	status = add_part(draw, share, copy, folder, err);
	free(copy);
	return status;
}

int kv_draw_parse(struct kv_draw *draw, const char *text, const char *folder, struct kv_error *err)
{
	*draw = (struct kv_draw){0};
	return parse_part(draw, 1, text, folder, err);
}

/* The folder of the node's file, with its slash; "" for the current one. To be freed. */
static char *folder_of(const struct kv_node *node)
{
	const char *slash = strrchr(node->file, '/');
	char *folder = kv_strdup(node->file);

	folder[slash != NULL ? slash - node->file + 1 : 0] = '\0';
	return folder;
}

static int read_share(struct kv_draw *draw, const struct kv_node *item, const char *folder, struct kv_error *err)
{
	static const char *const keys[] = {"share", "of"};
	const struct kv_node *share = kv_node_get(item, "share"), *of = kv_node_get(item, "of");
	double value;

	if (kv_node_expect_keys(item, keys, 2, KV_EXIT_USAGE, err) != 0)
		return -1;
	if (share == NULL || of == NULL)
		return kv_node_fail(item, KV_EXIT_USAGE, err, "a part of a mixture needs share and of");
	if (kv_node_expect(share, KV_NODE_SCALAR, KV_EXIT_USAGE, err) != 0 ||
	    kv_node_expect(of, KV_NODE_SCALAR, KV_EXIT_USAGE, err) != 0)
		return -1;
	if (kv_parse_fraction(share->text, 0, 1, &value, err) != 0)
		return kv_node_fail_in(share, err);
	return parse_part(draw, value, of->text, folder, err) != 0 ? kv_node_fail_in(of, err) : 0;
}

static int read_mixture(struct kv_draw *draw, const struct kv_node *node, const char *folder, struct kv_error *err)
{
	double sum = 0;

	for (size_t i = 0; i < node->children; i++)
		if (read_share(draw, &node->child[i], folder, err) != 0)
			return -1;
	for (size_t i = 0; i < draw->count; i++)
		sum += draw->parts[i].share;
	if (fabs(sum - 1) > 1e-6)
		return kv_node_fail(node, KV_EXIT_USAGE, err, "the shares sum to %g%%; allowed: 100%%", 100 * sum);
	return 0;
}

int kv_draw_read(struct kv_draw *draw, const struct kv_node *node, struct kv_error *err)
{
	char *folder = folder_of(node);
	int status = 0;

	*draw = (struct kv_draw){0};
	if (node->kind == KV_NODE_SEQUENCE)
		status = read_mixture(draw, node, folder, err);
	else if (kv_node_expect(node, KV_NODE_SCALAR, KV_EXIT_USAGE, err) != 0)
		status = -1;
	else if (parse_part(draw, 1, node->text, folder, err) != 0)
		status = kv_node_fail_in(node, err);
	free(folder);
	return status;
}

void kv_draw_fini(struct kv_draw *draw)
{
	for (size_t i = 0; i < draw->count; i++) {
		if (draw->parts[i].kind->release != NULL)
			draw->parts[i].kind->release(draw->parts[i].state);
		free(draw->parts[i].state);
	}
	free(draw->parts);
	*draw = (struct kv_draw){0};
}

/* --- drawing ------------------------------------------------------------------------------------------------------ */

/* Strictly between 0 and 1, where quantile functions are finite. */
static double inside(double p)
{
	return fmin(fmax(p, 1e-12), 1 - 1e-12);
}

double kv_draw_quantile(const struct kv_draw *draw, double p)
{
	size_t i = 0;

	while (i + 1 < draw->count && p >= draw->parts[i].share)
		p -= draw->parts[i++].share;
	if (draw->count > 1)
		p /= draw->parts[i].share;
	return draw->parts[i].kind->quantile(draw->parts[i].state, inside(p));
}

double kv_draw_next(const struct kv_draw *draw, gsl_rng *rng)
{
	return kv_draw_quantile(draw, gsl_rng_uniform_pos(rng));
}

void kv_draw_pair(const struct kv_draw *first, const struct kv_draw *second, double correlation, gsl_rng *first_rng,
                  gsl_rng *second_rng, double *first_value, double *second_value)
{
	double p = gsl_rng_uniform_pos(first_rng), q = gsl_rng_uniform_pos(second_rng);

	if (correlation != 0) {
		double x = gsl_cdf_ugaussian_Pinv(inside(p)), y = gsl_cdf_ugaussian_Pinv(inside(q));

		q = gsl_cdf_ugaussian_P(correlation * x + sqrt(1 - correlation * correlation) * y);
	}
	*first_value = kv_draw_quantile(first, p);
	*second_value = kv_draw_quantile(second, q);
}

bool kv_draw_means(const struct kv_draw *draw, size_t part, double floor, double *given, double *actual)
{
	const struct kv_distribution_kind *kind = draw->parts[part].kind;
	const struct state *s = draw->parts[part].state;
	double least = fmax(s->min, floor), most = fmax(s->max, floor);

	if (kind->excess == NULL)
		return false;
	*given = s->mean;
	*actual = least + kind->excess(s, least) - kind->excess(s, most);
	return true;
}

double kv_draw_largest(const struct kv_draw *draw)
{
	double largest = 0;

	for (size_t i = 0; i < draw->count; i++)
		if (draw->parts[i].share > 0)
			largest = fmax(largest, draw->parts[i].kind->quantile(draw->parts[i].state, inside(1)));
	return largest;
}

double kv_draw_typical(const struct kv_draw *draw)
{
	double largest = 0;

	for (size_t i = 0; i < draw->count; i++) {
		const struct kv_draw_part *part = &draw->parts[i];
		const struct state *s = part->state;

		if (part->share > 0)
			largest = fmax(largest, part->kind->excess != NULL ? bounded(s, s->mean) :
			                                                     part->kind->quantile(s, inside(1)));
	}
	return largest;
}

uint32_t kv_draw_whole(double value, uint32_t minimum, uint32_t maximum)
{
	if (!(value > minimum))
		return minimum;
	return value >= maximum ? maximum : (uint32_t)(value + 0.5);
}
