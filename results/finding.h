/* What a question about a run was answered with: a verdict, its evidence and what would change it. */
#ifndef KV_RESULTS_FINDING_H
#define KV_RESULTS_FINDING_H

#include <jansson.h>

/* {topic, evidence: [], change: []}, to be owned by the caller. */
json_t *kv_finding_new(const char *topic);

/* One more line of evidence, or of what would change it. */
void kv_finding_evidence(json_t *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
void kv_finding_advice(json_t *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
void kv_finding_verdict(json_t *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* One more sentence behind the verdict, or the first one. */
void kv_finding_extend_verdict(json_t *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* In percent; 0 of nothing. */
double kv_percent_of(double part, double whole);

#define KV_SETTING_ROOM 64

/* A resolved setting, to be put behind its name: " (here 2048)"; "" where the run does not say it. */
const char *kv_setting_text(char text[KV_SETTING_ROOM], const json_t *facts, const char *name);

#endif
