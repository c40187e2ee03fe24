#include "config.h"

#include "workloads/input.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>
#include <zlib.h>
#include <zstd.h>

#include "sim/base/memory.h"
#include "sim/profiles/profiles.h"

enum { RAW_SIZE = 1 << 16, CONTENT_SIZE = 1 << 17 };

/* Formats are told apart by a first line up to this long: a line of block ids or tokens may have some megabytes. */
enum { FIRST_LINE_MAX = 64 << 20 };

enum encoding { PLAIN, GZIP, ZSTD };

struct kv_input {
	char *name;
	int fd;
	bool raw_end;
	const char *preset;   /* text that is compiled in, instead of a file; NULL = none left */
	XXH3_state_t *hash;
	enum encoding encoding;
	unsigned char raw[RAW_SIZE];
	size_t raw_length, raw_used;
	uint64_t raw_total;   /* bytes read so far */
	z_stream gzip;
	ZSTD_DStream *zstd;
	bool in_frame;        /* a gzip member or zstd frame has begun and not ended */
	char *first;          /* the first chunk, which holds the first line */
	size_t first_length, first_capacity;
	bool first_pending;   /* it has not been asked for yet */
	bool whole;           /* there is nothing after it */
	char content[CONTENT_SIZE];
};

static int fail_open(struct kv_error *err, const char *path)
{
	return kv_fail(err, errno == ENOENT || errno == ENOTDIR ? KV_EXIT_MISSING : KV_EXIT_IO, "%s: %s", path,
	               strerror(errno));
}

static int open_path(const char *path, struct kv_error *err)
{
	struct stat status;
	int fd;

	if (strcmp(path, "-") == 0)
		return STDIN_FILENO;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail_open(err, path);
	if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
		close(fd);
		errno = EISDIR;
		return fail_open(err, path);
	}
	return fd;
}

static ssize_t read_preset(struct kv_input *input)
{
	size_t length = strlen(input->preset);

	if (length > RAW_SIZE - input->raw_length)
		length = RAW_SIZE - input->raw_length;
	memcpy(input->raw + input->raw_length, input->preset, length);
	input->preset += length;
	return (ssize_t)length;
}

/* Fills raw from where it ends; sets raw_end at the end of the file. */
static int read_raw(struct kv_input *input, struct kv_error *err)
{
	ssize_t got;

	if (input->raw_used == input->raw_length)
		input->raw_used = input->raw_length = 0;
	do
		got = input->preset != NULL
		              ? read_preset(input)
		              : read(input->fd, input->raw + input->raw_length, RAW_SIZE - input->raw_length);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return kv_fail(err, KV_EXIT_IO, "%s: reading failed: %s", input->name, strerror(errno));
	if (got == 0)
		input->raw_end = true;
	XXH3_128bits_update(input->hash, input->raw + input->raw_length, (size_t)got);
	input->raw_length += (size_t)got;
	input->raw_total += (uint64_t)got;
	return 0;
}

double kv_input_fraction(const struct kv_input *input)
{
	struct stat status;

	if (fstat(input->fd, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0)
		return 0;
	return (double)input->raw_total / (double)status.st_size;
}

/* Four bytes of magic decide; a file shorter than that is plain. */
static int detect_encoding(struct kv_input *input, struct kv_error *err)
{
	static const unsigned char zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};

	while (input->raw_length < sizeof zstd_magic && !input->raw_end)
		if (read_raw(input, err) != 0)
			return -1;
	if (input->raw_length >= 2 && input->raw[0] == 0x1f && input->raw[1] == 0x8b) {
		input->encoding = GZIP;
		if (inflateInit2(&input->gzip, 16 + MAX_WBITS) != Z_OK)
			return kv_fail(err, KV_EXIT_IO, "%s: zlib cannot start", input->name);
	} else if (input->raw_length >= sizeof zstd_magic && memcmp(input->raw, zstd_magic, sizeof zstd_magic) == 0) {
		input->encoding = ZSTD;
		input->zstd = ZSTD_createDStream();
	}
	return 0;
}

void kv_input_close(struct kv_input *input)
{
	if (input == NULL)
		return;
	if (input->fd != STDIN_FILENO)
		close(input->fd);
	if (input->encoding == GZIP)
		inflateEnd(&input->gzip);
	ZSTD_freeDStream(input->zstd);
	free(input->first);
	XXH3_freeState(input->hash);
	free(input->name);
	free(input);
}

const char *kv_input_name(const struct kv_input *input)
{
	return input->name;
}

static int inflate_some(struct kv_input *input, char *to, size_t room, size_t *got, struct kv_error *err)
{
	int status;

	if (!input->in_frame) {
		inflateReset(&input->gzip);
		input->in_frame = true;
	}
	input->gzip.next_in = input->raw + input->raw_used;
	input->gzip.avail_in = (uInt)(input->raw_length - input->raw_used);
	input->gzip.next_out = (Bytef *)to;
	input->gzip.avail_out = (uInt)room;
	status = inflate(&input->gzip, Z_NO_FLUSH);
	input->raw_used = input->raw_length - input->gzip.avail_in;
	*got = room - input->gzip.avail_out;
	if (status == Z_STREAM_END)
		input->in_frame = false;
	else if (status != Z_OK && status != Z_BUF_ERROR)
		return kv_fail(err, KV_EXIT_DATA, "%s: damaged gzip data (%s): compress or download the file again",
		               input->name, input->gzip.msg ? input->gzip.msg : "unknown error");
	return 0;
}

static int unzstd_some(struct kv_input *input, char *to, size_t room, size_t *got, struct kv_error *err)
{
	ZSTD_inBuffer in = {input->raw, input->raw_length, input->raw_used};
	ZSTD_outBuffer out = {to, room, 0};
	size_t status = ZSTD_decompressStream(input->zstd, &out, &in);

	if (ZSTD_isError(status))
		return kv_fail(err, KV_EXIT_DATA, "%s: damaged zstd data (%s): compress or download the file again",
		               input->name, ZSTD_getErrorName(status));
	input->in_frame = status != 0;
	input->raw_used = in.pos;
	*got = out.pos;
	return 0;
}

static void copy_some(struct kv_input *input, char *to, size_t room, size_t *got)
{
	*got = input->raw_length - input->raw_used;
	if (*got > room)
		*got = room;
	memcpy(to, input->raw + input->raw_used, *got);
	input->raw_used += *got;
}

/* Decoded bytes to `to`: 1 = *got > 0, 0 = end, -1 = failed. */
static int decode(struct kv_input *input, char *to, size_t room, size_t *got, struct kv_error *err)
{
	int status;

	for (*got = 0; *got == 0;) {
		if (input->raw_used == input->raw_length && !input->raw_end && read_raw(input, err) != 0)
			return -1;
		if (input->raw_used == input->raw_length && input->raw_end && !input->in_frame)
			return 0;
		status = 0;
		if (input->encoding == PLAIN)
			copy_some(input, to, room, got);
		else if (input->encoding == GZIP)
			status = inflate_some(input, to, room, got, err);
		else
			status = unzstd_some(input, to, room, got, err);
		if (status != 0)
			return -1;
		if (*got == 0 && input->in_frame && input->raw_end && input->raw_used == input->raw_length)
			return kv_fail(err, KV_EXIT_DATA,
			               "%s: the %s data is truncated: compress or download the file again", input->name,
			               input->encoding == GZIP ? "gzip" : "zstd");
	}
	return 1;
}

static void drop_byte_order_mark(struct kv_input *input)
{
	if (input->first_length >= 3 && memcmp(input->first, "\xef\xbb\xbf", 3) == 0) {
		input->first_length -= 3;
		memmove(input->first, input->first + 3, input->first_length);
	}
}

/* Decodes into the first chunk until it has this length or there is no more. Returns as decode() does. */
static int fill_first(struct kv_input *input, size_t length, struct kv_error *err)
{
	int status = 1;
	size_t got;

	input->first = kv_grow(input->first, &input->first_capacity, length, 1);
	while (status == 1 && input->first_length < length) {
		status = decode(input, input->first + input->first_length, length - input->first_length, &got, err);
		input->first_length += got;
	}
	return status;
}

/* Behind what is blank. */
static bool has_line(const char *text, size_t length)
{
	size_t blank = 0;

	while (blank < length && isspace((unsigned char)text[blank]))
		blank++;
	return memchr(text + blank, '\n', length - blank) != NULL;
}

/* Reads the first line at least, so that formats can be told apart by it. */
static int read_first(struct kv_input *input, struct kv_error *err)
{
	int status = fill_first(input, CONTENT_SIZE, err);

	while (status == 1 && input->first_length < FIRST_LINE_MAX && !has_line(input->first, input->first_length))
		status = fill_first(input, 2 * input->first_length, err);
	input->whole = status == 0;
	drop_byte_order_mark(input);
	input->first_pending = input->first_length > 0;
	return status < 0 ? -1 : 0;
}

struct kv_input *kv_input_open(const char *path, struct kv_error *err)
{
	const char *preset = NULL;
	int found = kv_preset_find(path, &preset, err), fd = STDIN_FILENO;
	struct kv_input *input;

	if (found == 0)
		fd = open_path(path, err);
	if (found < 0 || fd < 0)
		return NULL;
	input = kv_calloc(1, sizeof *input);
	input->fd = fd;
	input->preset = preset;
	input->name = kv_strdup(strcmp(path, "-") == 0 ? "standard input" : path);
	input->hash = XXH3_createState();
	XXH3_128bits_reset(input->hash);
	if (detect_encoding(input, err) != 0 || read_first(input, err) != 0) {
		kv_input_close(input);
		return NULL;
	}
	return input;
}

void kv_input_peek(const struct kv_input *input, const char **data, size_t *length, bool *whole)
{
	*data = input->first;
	*length = input->first_length;
	*whole = input->whole;
}

int kv_input_chunk(struct kv_input *input, const char **data, size_t *length, struct kv_error *err)
{
	*data = input->content;
	if (input->first_pending) {
		input->first_pending = false;
		*data = input->first;
		*length = input->first_length;
		return 1;
	}
	return decode(input, input->content, CONTENT_SIZE, length, err);
}

static void print_hash(XXH128_hash_t hash, char text[KV_FINGERPRINT_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	XXH128_canonical_t canonical;

	XXH128_canonicalFromHash(&canonical, hash);
	for (size_t i = 0; i < sizeof canonical.digest; i++) {
		text[2 * i] = digits[canonical.digest[i] >> 4];
		text[2 * i + 1] = digits[canonical.digest[i] & 15];
	}
	text[KV_FINGERPRINT_SIZE - 1] = '\0';
}

int kv_input_fingerprint(struct kv_input *input, char text[KV_FINGERPRINT_SIZE], struct kv_error *err)
{
	while (!input->raw_end) {
		input->raw_used = input->raw_length;
		if (read_raw(input, err) != 0)
			return -1;
	}
	print_hash(XXH3_128bits_digest(input->hash), text);
	return 0;
}

void kv_fingerprint(const void *bytes, size_t length, char text[KV_FINGERPRINT_SIZE])
{
	print_hash(XXH3_128bits(bytes, length), text);
}
