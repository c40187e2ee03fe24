/* Replays files through a fuzz target where the compiler has no libFuzzer: FILE... each is one input. */
#include "config.h"

#include "tests/fuzz/fuzz_file.h"

static int replay(const char *path)
{
	static uint8_t data[1 << 24];
	FILE *file = fopen(path, "rb");
	size_t size;

	if (file == NULL) {
		perror(path);
		return 1;
	}
	size = fread(data, 1, sizeof data, file);
	fclose(file);
	return LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv)
{
	int status = 0;

	for (int i = 1; i < argc; i++)
		status |= replay(argv[i]);
	printf("%d inputs replayed\n", argc - 1);
	return status;
}
