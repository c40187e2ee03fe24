#include "config.h"

#include "sim/cli/trace.h"

#include <unistd.h>

#include <jansson.h>

#include "sim/cli/command.h"
#include "sim/cli/trace_file.h"

static int report(const struct kv_trace_file *file, struct kv_trace *trace, struct kv_error *err)
{
	struct kv_output *out = kv_output_to_descriptor(STDOUT_FILENO, "standard output");
	char fingerprint[KV_FINGERPRINT_SIZE];
	int status = kv_trace_fingerprint(trace, fingerprint, err);
	json_t *object;

	if (status == 0 && file->json) {
		object = kv_trace_file_json(file, trace);
		json_object_set_new(object, "xxh128", json_string(fingerprint));
		kv_trace_file_print_json(out, object);
	} else if (status == 0) {
		kv_trace_file_print(out, file, trace);
		kv_trace_file_print_text(out, "XXH128", "%s", fingerprint);
	}
	if (status == 0)
		status = kv_output_close(out, err);
	kv_output_free(out);
	return status;
}

int kv_cli_trace_validate(int argc, char **argv)
{
	struct argp argp = kv_trace_file_argp;
	struct kv_trace_file file = {0};
	struct kv_request request;
	struct kv_trace *trace;
	struct kv_error err;
	int status = -1;

	argp.args_doc = "FILE";
	argp.doc = "Reads the whole trace, checks every row and prints what was counted.";
	argp_parse(&argp, argc, argv, 0, NULL, &file);
	trace = kv_trace_open(file.path, &file.options, &err);
	while (trace != NULL && (status = kv_trace_file_next(trace, &request, &err)) == 1)
		;
	if (status == 0)
		status = report(&file, trace, &err);
	kv_trace_close(trace);
	return status == 0 ? KV_EXIT_OK : kv_cli_fail(&err);
}
