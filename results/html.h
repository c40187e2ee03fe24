/* Text, tables and numbers of the HTML pages. Texts are escaped; titles, captions and headers are our own and are
 * not. */
#ifndef KV_RESULTS_HTML_H
#define KV_RESULTS_HTML_H

#include <jansson.h>

#include "results/output_file.h"

void kv_html_text(struct kv_output *out, const char *text);
/* Prose with options in it, which stay in one piece, as numbers and their percent signs do. */
void kv_html_prose(struct kv_output *out, const char *text);
/* A text that is NULL is shown as a dash, here and in rows and cells. */
void kv_html_element(struct kv_output *out, const char *tag, const char *text);

void kv_html_begin_section(struct kv_output *out, const char *id, const char *title);
void kv_html_end_section(struct kv_output *out);

/* headers is "a|b|c"; the first column is text. */
void kv_html_begin_table(struct kv_output *out, const char *caption, const char *headers);
void kv_html_end_table(struct kv_output *out);
void kv_html_begin_row(struct kv_output *out, const char *header);
void kv_html_end_row(struct kv_output *out);

void kv_html_text_cell(struct kv_output *out, const char *text);
void kv_html_cell(struct kv_output *out, double value, int decimals);
void kv_html_duration_cell(struct kv_output *out, double ms);

/* Instead of a number of decimals: the fact is in ms and is shown in the unit that suits it. */
enum { KV_HTML_AS_DURATION = -1 };

/* A cell with the number of summary.json at `path`, which scripts and tests find by its name; a dash if there is
 * none. */
void kv_html_fact(struct kv_output *out, const json_t *facts, const char *path, int decimals);

/* Rows of a label and one cell. */
void kv_html_fact_row(struct kv_output *out, const json_t *facts, const char *label, const char *path, int decimals);
void kv_html_text_row(struct kv_output *out, const char *label, const char *text);

#endif
