/* profile_files_test.c: the profile's files are read back, and have what it has counted: folded stacks, and the format
 * of pprof. */
#include "profile_fixture.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct {
    unsigned char *bytes;
    size_t size;
    int status; /* what the printing is to end with, once there are `most` bytes */
    size_t most;
} output_t;

static int keep(void *context, const void *bytes, size_t size) {
    output_t *output = context;
    if (output->status != 0 && output->size + size > output->most) return output->status;
    output->bytes = realloc(output->bytes, output->size + size + 1);
    memcpy(output->bytes + output->size, bytes, size);
    output->size += size;
    output->bytes[output->size] = 0;
    return 0;
}

typedef struct {
    csk_profile_entry_t entries[256];
    size_t count;
} entries_t;
static void collect(const csk_profile_entry_t *entry, void *context) {
    entries_t *entries = context;
    if (entries->count < 256) entries->entries[entries->count++] = *entry;
}

static void folded_stacks_name_functions(const entries_t *entries) {
    output_t output = { 0 };
    CHECK_STATUS(csk_profile_print_folded(entries->entries, entries->count, CSK_PROFILE_WAITED, keep, &output), 0);
    const char *names[] = { ";place_0", ";place_1", ";place_2", ";place_3", ";place_4" };
    for (int place = 0; place < PLACES; place++) CHECK(strstr((char *)output.bytes, names[place]) != NULL);
    free(output.bytes);
    output = (output_t){ .status = ENOSPC, .most = 3 };
    CHECK_STATUS(csk_profile_print_folded(entries->entries, entries->count, CSK_PROFILE_WAITED, keep, &output), ENOSPC);
    free(output.bytes);
}

/* A number of Protocol Buffers, and where it ends. */
static uint64_t number_at(const unsigned char **at) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
        uint64_t byte = *(*at)++;
        value |= (byte & 127) << shift;
        if (byte < 128) return value;
    }
}

/* Takes the blocks of gzip apart, checks their lengths, and returns the profile. */
static size_t unpack(const output_t *output, unsigned char *bytes) {
    const unsigned char head[] = { 0x1F, 0x8B, 8 };
    CHECK(output->size > 23 && memcmp(output->bytes, head, 3) == 0);
    size_t size = 0, at = 10;
    for (bool last = false; !last;) {
        const unsigned char *block = output->bytes + at;
        size_t length = block[1] | (size_t)block[2] << 8;
        last = block[0] == 1;
        CHECK_EQ(length ^ 0xFFFF, block[3] | (size_t)block[4] << 8);
        memcpy(bytes + size, block + 5, length);
        size += length;
        at += 5 + length;
    }
    CHECK_EQ(at + 8, output->size);
    const unsigned char *tail = output->bytes + at + 4;
    CHECK_EQ(size, tail[0] | (size_t)tail[1] << 8 | (size_t)tail[2] << 16 | (size_t)tail[3] << 24);
    return size;
}

/* Whether a sample has this label, whose key and text are numbers of strings. */
static bool has_label(const unsigned char *at, size_t size, uint64_t key, uint64_t text) {
    for (const unsigned char *end = at + size; at < end;) {
        uint64_t field = number_at(&at), length = number_at(&at);
        const unsigned char *next = at + length;
        if (field >> 3 == 3 && number_at(&at) == 8 && number_at(&at) == key && number_at(&at) == 16 &&
            number_at(&at) == text)
            return true;
        at = next;
    }
    return false;
}

static void pprof_has_samples_places_and_names(const entries_t *entries) {
    output_t output = { 0 };
    CHECK_STATUS(csk_profile_print_pprof(entries->entries, entries->count, CSK_PROFILE_WAITED, 1000000, keep, &output),
                 0);
    unsigned char *bytes = malloc(output.size);
    const unsigned char *at = bytes, *end = bytes + unpack(&output, bytes);
    size_t counts[16] = { 0 }, waiting = 0, labelled = 0, to_label = 0;
    uint64_t label = 0, label_text = 0; /* the numbers of the strings "name" and strict_name */
    bool named = false;
    while (at < end) {
        uint64_t key = number_at(&at);
        CHECK(key >> 3 < 16);
        counts[key >> 3]++;
        if ((key & 7) == 0) {
            number_at(&at);
            continue;
        }
        CHECK_EQ(key & 7, 2);
        uint64_t size = number_at(&at);
        if (key >> 3 == 6) {
            if (size == 7 && memcmp(at, "place_3", 7) == 0) named = true;
            if (size == 4 && memcmp(at, "name", 4) == 0) label = counts[6] - 1;
            if (size == strlen(strict_name) && memcmp(at, strict_name, size) == 0) label_text = counts[6] - 1;
        }
        if (key >> 3 == 2 && label_text != 0) labelled += has_label(at, size, label, label_text);
        at += size;
    }
    CHECK(at == end && named);
    for (size_t i = 0; i < entries->count; i++) {
        const csk_profile_entry_t *entry = &entries->entries[i];
        waiting += entry->side == CSK_PROFILE_WAITED;
        to_label += entry->name != NULL && strcmp(entry->name, strict_name) == 0;
    }
    CHECK(to_label > 0 && labelled == to_label);
    CHECK_EQ(counts[1], 2);       /* types of samples */
    CHECK_EQ(counts[2], waiting); /* samples */
    CHECK(counts[3] > 0 && counts[4] > 0 && counts[5] > 0 && counts[4] >= counts[5]);
    free(bytes);
    free(output.bytes);
}

/* The program itself reads the file, where it is installed: it shows the place, and counts by the label. */
static void go_reads_the_file(const entries_t *entries) {
    if (system("command -v go >/dev/null 2>&1 && go tool -n pprof >/dev/null 2>&1") != 0) return;
    char path[] = "/tmp/csk-profile-XXXXXX", command[128], line[256];
    output_t output = { 0 };
    CHECK_STATUS(csk_profile_print_pprof(entries->entries, entries->count, CSK_PROFILE_WAITED, 0, keep, &output), 0);
    int file = mkstemp(path);
    CHECK(file >= 0 && write(file, output.bytes, output.size) == (ssize_t)output.size);
    close(file);
    free(output.bytes);
    snprintf(command, sizeof command, "go tool pprof -top -tagfocus='name=%s' %s 2>&1", strict_name, path);
    FILE *pipe = popen(command, "r");
    bool shows_type = false, shows_place = false, shows_other = false;
    while (fgets(line, sizeof line, pipe) != NULL) {
        shows_type = shows_type || strcmp(line, "Type: delay\n") == 0;
        shows_place = shows_place || strstr(line, " place_1\n") != NULL;
        shows_other = shows_other || strstr(line, " place_2\n") != NULL;
    }
    CHECK_EQ(pclose(pipe), 0);
    unlink(path);
    CHECK(shows_type && shows_place && !shows_other);
}

static void refusals_and_nothing(void) {
    static entries_t entries;
    output_t output = { 0 };
    CHECK_STATUS(csk_profile_start(0), EINVAL);
    CHECK_STATUS(csk_profile_start(-1), EINVAL);
    CHECK(!csk_profile_is_running());
    CHECK_EQ(csk_profile_lost(), 0);
    csk_profile_stop();
    csk_profile_read(collect, &entries);
    CHECK_EQ(entries.count, 0);
    CHECK_STATUS(csk_profile_print_pprof(NULL, 0, CSK_PROFILE_WAITED, 0, keep, &output), 0);
    CHECK(output.size > 0);
    free(output.bytes);
}

static void entries_are_written(void) {
    static entries_t entries;
    make_objects();
    CHECK_STATUS(csk_profile_start(1000), 0);
    for (int place = 0; place < PLACES; place++) meet_at(place);
    csk_profile_stop();
    csk_profile_read(collect, &entries);
    folded_stacks_name_functions(&entries);
    pprof_has_samples_places_and_names(&entries);
    go_reads_the_file(&entries);
}

TEST_MAIN(TEST(refusals_and_nothing), TEST(entries_are_written))
