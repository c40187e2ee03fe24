#include "config.h"

#include "sim/cli/size.h"

#include <math.h>

static json_t *budget_json(const struct kv_budget *budget)
{
	json_t *lines = json_array();

	for (uint32_t i = 0; i < budget->lines; i++) {
		const struct kv_budget_line *line = &budget->line[i];

		json_array_append_new(lines,
		                      json_pack("{ss sI ss ss sb}", "item", line->item, "bytes", (json_int_t)line->bytes,
		                                "source", kv_provenance_name(line->source), "note", line->note,
		                                "error_unknown", line->error_unknown));
	}
	return lines;
}

static json_t *groups_json(const struct kv_layout *layout)
{
	json_t *groups = json_array();

	for (uint32_t i = 0; i < layout->groups; i++) {
		const struct kv_group *group = &layout->group[i];

		json_array_append_new(groups,
		                      json_pack("{ss sI sI sI sI}", "kind", kv_group_kind_name(group->kind), "layers",
		                                (json_int_t)group->layers, "block_size", (json_int_t)group->block_size,
		                                "page_bytes", (json_int_t)group->page_bytes, "window",
		                                (json_int_t)group->window));
	}
	return groups;
}

static json_t *weights_json(const struct kv_weights *weights, const struct kv_model *model)
{
	json_t *parts;

	if (model->quantization.unsized)
		return json_pack("{sI sI}", "parameters", (json_int_t)weights->parameters, "active_parameters",
		                 (json_int_t)weights->active_parameters);
	parts = json_object();
	for (int part = 0; part < KV_WEIGHT_PARTS; part++)
		if (weights->part_bytes[part])
			json_object_set_new(parts, kv_weight_part_name((enum kv_weight_part)part),
			                    json_integer((json_int_t)weights->part_bytes[part]));
	return json_pack("{sI sI sI sI so}", "parameters", (json_int_t)weights->parameters, "active_parameters",
	                 (json_int_t)weights->active_parameters, "bytes", (json_int_t)weights->bytes, "scale_bytes",
	                 (json_int_t)weights->scale_bytes, "parts", parts);
}

static json_t *held_json(const struct kv_size_report *report, uint64_t tokens)
{
	const struct kv_layout *layout = &report->answer.budget.layout;
	json_t *groups = json_array();

	for (uint32_t i = 0; i < layout->groups && !report->answer.pools.count; i++) {
		uint64_t held = kv_group_request_blocks(layout, &layout->group[i], tokens, kv_size_in_flight(&report->question));

		json_array_append_new(groups, json_pack("{ss sI sI}", "kind", kv_group_kind_name(layout->group[i].kind),
		                                        "blocks", (json_int_t)held, "bytes",
		                                        (json_int_t)(held * layout->group[i].page_bytes)));
	}
	return groups;
}

static json_t *request_json(const struct kv_size_report *report)
{
	uint64_t tokens = kv_size_report_length(report), blocks = kv_size_report_blocks(report, tokens);

	if (report->question.budget.rule.engine == KV_SIZING_LLAMA_CPP)
		return json_pack("{sI sI}", "tokens", (json_int_t)tokens, "bytes",
		                 (json_int_t)kv_llama_cache_bytes(&report->question.budget, tokens, 1));
	return json_pack("{sI sI sI sI sI sI sI so}",
	                 "sequences", (json_int_t)report->arguments.sequences,
	                 "tokens", (json_int_t)tokens,
	                 "blocks", (json_int_t)blocks,
	                 "bytes", (json_int_t)kv_size_request_bytes(&report->question, &report->answer, tokens),
	                 "fit", (json_int_t)kv_size_requests_held(&report->question, &report->answer, tokens, false),
	                 "fit_usable", (json_int_t)kv_size_requests_held(&report->question, &report->answer, tokens, true),
	                 "at_once", (json_int_t)kv_size_requests_at_once(&report->question, &report->answer, tokens,
	                                                                 report->arguments.data_parallel),
	                 "groups", held_json(report, tokens));
}

static json_t *pools_json(const struct kv_window_pools *pools)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < pools->count; i++)
		json_array_append_new(list, json_pack("{sI sI sf sI}", "window", (json_int_t)pools->pool[i].window, "layers",
		                                      (json_int_t)pools->pool[i].layers, "share", pools->pool[i].share, "blocks",
		                                      (json_int_t)pools->pool[i].blocks));
	return list;
}

static json_t *trace_json(const struct kv_size_report *report)
{
	const struct kv_size_trace *t = &report->trace;
	double slots = (double)kv_size_report_slots(report), replicas = (double)report->arguments.data_parallel;
	json_t *percentiles = json_array();

	for (int i = 0; i < 3; i++) {
		double held = t->held_if_all[i];

		json_array_append_new(percentiles, json_pack("{sf sf sf sf}", "percentile", t->percentile[i], "tokens",
		                                             t->tokens[i], "fit", held, "at_once", fmin(held * replicas, slots)));
	}
	return json_pack("{sI sI sf sf sf so sb}", "requests", (json_int_t)t->requests, "longer_than_max_model_len",
	                 (json_int_t)t->too_long, "mean_tokens", t->mean_tokens, "fit_at_its_mix", t->held, "at_once_at_its_mix",
	                 fmin(t->held * replicas, slots), "percentiles", percentiles, "is_bound", 1);
}

static void add_remedies(json_t *object, const struct kv_size_report *report)
{
	struct kv_size_remedies remedies;

	kv_size_report_remedies(report, report->arguments.sequences, &remedies);
	if (remedies.tried == 0)
		return;
	json_object_set_new(object, report->answer.starts ? "would_do" : "would_start_with",
	                    kv_size_remedies_json(&remedies));
	json_object_set_new(object, "tried", kv_size_attempts_json(&remedies));
}

static json_t *sensitivity_json(const struct kv_size_report *report)
{
	struct kv_size_variant variants[KV_SIZE_VARIANTS];
	uint32_t count = kv_size_report_variants(report, variants);
	json_t *list = json_array();

	for (uint32_t i = 0; i < count; i++) {
		const struct kv_size_variant *v = &variants[i];

		if (v->refused)
			json_array_append_new(list, json_pack("{ss ss}", "change", v->what, "refused", v->refused));
		else if (v->ok)
			json_array_append_new(list,
			                      json_pack("{ss sb sI sI sI sI sf sI}", "change", v->what, "starts",
			                                v->answer.starts, "kv_cache_bytes",
			                                (json_int_t)v->answer.budget.kv_bytes, "num_gpu_blocks",
			                                (json_int_t)v->answer.budget.num_blocks, "kv_cache_tokens",
			                                (json_int_t)v->answer.kv_cache_tokens,
			                                "kv_cache_tokens_reported",
			                                (json_int_t)v->answer.kv_cache_tokens_reported, "max_concurrency",
			                                v->answer.max_concurrency * v->replicas, "replicas",
			                                (json_int_t)v->replicas));
	}
	return list;
}

json_t *kv_size_notes_json(const struct kv_remarks *notes)
{
	json_t *list = json_array();

	for (size_t i = 0; i < notes->count; i++)
		json_array_append_new(list, json_string(notes->text[i]));
	return list;
}

static void add_answer(json_t *object, const struct kv_size_report *report)
{
	const struct kv_size_answer *a = &report->answer;
	const struct kv_layout *layout = &a->budget.layout;
	json_t *numbers = json_pack(
		"{sb sI sI so sI sI sI sI sI sI so sI sI sI sI sI sI sf sI}", "starts", a->starts, "shortfall_bytes",
		(json_int_t)a->shortfall_bytes, "shortfall_tokens", (json_int_t)a->shortfall_tokens, "budget",
		budget_json(&a->budget), "kv_cache_bytes", (json_int_t)a->budget.kv_bytes, "kv_bytes_per_token",
		(json_int_t)layout->growing_bytes, "windowed_bytes_per_token", (json_int_t)layout->windowed_bytes,
		"state_bytes_per_sequence", (json_int_t)kv_size_report_state(report), "draft_kv_bytes_per_token",
		(json_int_t)layout->draft_bytes, "kv_metadata_bytes_per_token",
		(json_int_t)layout->metadata_bytes, "kv_groups", groups_json(layout), "num_gpu_blocks",
		(json_int_t)a->budget.num_blocks, "usable_blocks", (json_int_t)a->budget.usable_blocks, "kv_cache_tokens",
		(json_int_t)a->kv_cache_tokens, "kv_cache_tokens_reported", (json_int_t)a->kv_cache_tokens_reported,
		"blocks_per_request", (json_int_t)a->blocks_per_request, "bytes_per_request", (json_int_t)a->bytes_per_request,
		"max_concurrency", a->max_concurrency, "largest_max_model_len", (json_int_t)a->largest_max_model_len);

	json_object_update(object, numbers);
	json_decref(numbers);
}

static json_t *ends_json(const struct kv_size_report *r)
{
	uint64_t tokens = kv_size_report_length(r), replicas = r->arguments.data_parallel;
	const struct kv_size_answer *least = &r->least, *most = &r->most;

	return json_pack("{s[bb] s[II] s[II] s[ff] s[II]}", "starts", least->starts, most->starts, "kv_cache_bytes",
	                 (json_int_t)least->budget.kv_bytes, (json_int_t)most->budget.kv_bytes, "num_gpu_blocks",
	                 (json_int_t)least->budget.num_blocks, (json_int_t)most->budget.num_blocks, "max_concurrency",
	                 least->max_concurrency, most->max_concurrency, "at_once",
	                 (json_int_t)kv_size_requests_at_once(&r->question, least, tokens, replicas),
	                 (json_int_t)kv_size_requests_at_once(&r->question, most, tokens, replicas));
}

json_t *kv_size_report_json(const struct kv_size_report *report)
{
	const struct kv_deployment *d = &report->deployment;
	json_t *object = json_pack(
		"{ss ss ss* sI sI sI sI sI}", "engine_profile", d->profile->name, "model", d->model->name, "hardware",
		d->hardware ? d->hardware->name : NULL, "tensor_parallel_size",
		(json_int_t)report->question.budget.layout.tensor_parallel, "pipeline_parallel_size",
		(json_int_t)report->question.budget.pipeline_parallel, "data_parallel_size",
		(json_int_t)report->arguments.data_parallel, "max_model_len", (json_int_t)report->question.max_model_len,
		"stage", (json_int_t)report->answer.budget.stage);

	add_answer(object, report);
	json_object_set_new(object, "weights", weights_json(&report->answer.budget.weights, d->model));
	json_object_set_new(object, "request", request_json(report));
	if (report->answer.budget.state_slots)
		json_object_update_new(object, json_pack("{sI sI}", "state_slots", (json_int_t)report->answer.budget.state_slots,
		                                         "state_slots_per_request",
		                                         (json_int_t)report->question.budget.states_per_request));
	if (kv_size_report_is_vague(report))
		json_object_set_new(object, "within_known_errors", ends_json(report));
	if (report->answer.pools.count)
		json_object_set_new(object, "window_pools", pools_json(&report->answer.pools));
	json_object_set_new(object, "notes", kv_size_notes_json(&d->warnings));
	add_remedies(object, report);
	if (report->trace.requests)
		json_object_set_new(object, "trace", trace_json(report));
	if (report->arguments.sensitivity)
		json_object_set_new(object, "sensitivity", sensitivity_json(report));
	return object;
}
