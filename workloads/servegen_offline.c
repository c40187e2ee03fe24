/* ServeGen's offline traces (Apache-2.0, alibaba/ServeGen): batches without times. a to c have hash ids of 16 tokens
 * and no output lengths; d to f have output lengths and no ids. */
#include "config.h"

#include "workloads/formats.h"

#include "workloads/block_ids.h"

static const struct kv_param params[] = KV_BLOCK_ID_PARAMS("16", "s", "ceil", "", "0");

static const char *const ignored[] = {"request_id", "type", "img_ids", "duration", NULL};

static const char *const keys[] = {"request_id", "type", "input_length", NULL};

static bool detect(const struct kv_sniff *sniff)
{
	return json_object_get(sniff->json, "request_id") != NULL && json_object_get(sniff->json, "type") != NULL &&
	       json_object_get(sniff->json, "input_length") != NULL &&
	       json_object_get(sniff->json, "timestamp") == NULL;
}

static struct kv_reader *open_offline(struct kv_trace *trace, const struct kv_sniff *sniff, const void *values,
                                      struct kv_error *err)
{
	(void)sniff;
	(void)err;
	return kv_block_ids_open(trace, values,
	                         &(struct kv_block_id_shape){.ignored = ignored, .output_optional = true});
}

const struct kv_format kv_format_servegen_offline = {
	.name = "servegen-offline",
	.summary = "ServeGen offline batches: no times, hash ids of 16-token blocks or output lengths",
	.rules = "There are no times: all requests are there at 0 (give --request-rate to spread them). Ids are "
	         "global, one for every 16 tokens and one for the rest. Rows without output_length generate `output` "
	         "tokens, 0 by default: they finish with their prefill. Images are not counted.",
	.keys = keys,
	.detect = detect,
	.open = open_offline,
	.params_size = sizeof(struct kv_block_id_params),
	.params = params
};
