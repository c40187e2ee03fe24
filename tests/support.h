/* The frame of every Check program here: one suite a module, TAP on stdout, one line a case. */
#ifndef KV_TESTS_SUPPORT_H
#define KV_TESTS_SUPPORT_H

#include <check.h>
#include <stdlib.h>

static inline int kv_run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_set_tap(runner, "-");
	srunner_run_all(runner, CK_SILENT);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
