#include "config.h"

#include "results/duration.h"

#include <math.h>
#include <stdio.h>

struct kv_duration_unit kv_duration_unit_of(double ms)
{
	static const struct {
		double below;
		struct kv_duration_unit unit;
	} units[] = {{1e3, {"ms", 1}}, {120e3, {"s", 1e3}}, {7200e3, {"min", 60e3}}, {INFINITY, {"h", 3600e3}}};
	size_t i = 0;

	while (i < sizeof units / sizeof units[0] - 1 && ms >= units[i].below)
		i++;
	return units[i].unit;
}

const char *kv_duration_text(char text[32], double ms)
{
	struct kv_duration_unit unit = kv_duration_unit_of(ms);

	if (unit.ms < 60e3)
		snprintf(text, 32, "%.3g %s", ms / unit.ms, unit.name);
	else
		snprintf(text, 32, "%.*f %s", unit.ms > 60e3, ms / unit.ms, unit.name);
	return text;
}
