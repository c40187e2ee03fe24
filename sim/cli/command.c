#include "config.h"

#include "sim/cli/command.h"

#include <stdio.h>

int kv_cli_fail(const struct kv_error *err)
{
	fprintf(stderr, "kvsim: %s\n", err->text);
	return (int)err->status;
}
