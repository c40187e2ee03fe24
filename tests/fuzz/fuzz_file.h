/* Fuzz input as a file that readers can open by name. */
#ifndef KV_TESTS_FUZZ_FILE_H
#define KV_TESTS_FUZZ_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An open descriptor whose name in the file system is written to path. */
static inline int kv_fuzz_file(const uint8_t *data, size_t size, char path[32])
{
	int fd = memfd_create("fuzz", 0);

	if (fd < 0 || (size > 0 && write(fd, data, size) != (ssize_t)size)) {
		perror("fuzz file");
		exit(1);
	}
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

#endif
