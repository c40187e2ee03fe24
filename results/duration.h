/* Durations for people: in the unit that suits their size. */
#ifndef KV_RESULTS_DURATION_H
#define KV_RESULTS_DURATION_H

#include <stddef.h>

struct kv_duration_unit {
	const char *name;
	double ms;
};

/* ms below a second, s below two minutes, min below two hours, else h; as the charts of the report do. */
struct kv_duration_unit kv_duration_unit_of(double ms);

/* "250 ms", "12.5 s", "49 min", "3.2 h". */
const char *kv_duration_text(char text[32], double ms);

#endif
