/* Memory for JSON values that all go at once: jansson allocates every number on its own, and giving them back costs a
 * third of reading a trace. Between begin and end jansson takes its memory here, and nothing that it made in between
 * may be used or released after the end. Not nested, one thread.
 */
#ifndef KV_WORKLOADS_JSON_ARENA_H
#define KV_WORKLOADS_JSON_ARENA_H

void kv_json_arena_begin(void);
void kv_json_arena_end(void);
/* Gives the memory back that is kept for the next begin. */
void kv_json_arena_release(void);

#endif
