/* small_file.c: see small_file.h.
 *
 * The limit on descriptors holds for each table of descriptors, and a thread may have a table of its own. So where the
 * process has no descriptor left, a thread reads whose table is empty. It has nothing of the process's open: what the
 * others close is closed, and their record locks are not its own.
 *
 *   word of the reader
 *     FREE       no caller asks
 *     TAKEN      a caller writes the question
 *     ASKED      the reader may read
 *     ANSWERED   the answer stands there
 *     LEFT       the caller does not wait for the answer any more
 *     GONE       the reader could not have a table of its own
 *
 *   from       to         by            order
 *   FREE       TAKEN      the caller    acquire: the last answer has been read
 *   TAKEN      ASKED      the caller    release: the question
 *   ASKED      ANSWERED   the reader    release: the answer
 *   ANSWERED   FREE       the caller    release: the answer has been read
 *   ASKED      LEFT       the caller    relaxed: it touches nothing any more
 *   LEFT       FREE       the reader    release: it has done with the question
 *   any        GONE       the reader    relaxed: it publishes nothing
 *
 * `process` is the process's number once that has a reader, and less than 0 while one thread starts it. A child of fork
 * has none, whatever the parent had, and starts its own. */
#include "base/small_file.h"

#include "base/platform.h"

#include <string.h>
#include <unistd.h>

enum { FREE, TAKEN, ASKED, ANSWERED, LEFT, GONE };

static const int64_t patience_ns = 10000000;

static struct {
    uint32_t word;
    int32_t process;
    char path[CSK_SMALL_PATH], text[CSK_SMALL_FILE];
    long length;
} reader;

static void serve(void *context) {
    (void)context;
    if (!csk_platform_have_own_descriptors()) {
        csk_store(&reader.word, GONE, CSK_RELAXED);
        csk_platform_wake(&reader.word, 1);
        return;
    }
    for (;;) {
        uint32_t seen = csk_load(&reader.word, CSK_ACQUIRE);
        if (seen == ASKED) {
            reader.length = csk_platform_read_file(reader.path, reader.text, sizeof reader.text);
            if (csk_cas(&reader.word, &seen, ANSWERED, CSK_RELEASE)) csk_platform_wake(&reader.word, 1);
        } else if (seen == LEFT) {
            csk_store(&reader.word, FREE, CSK_RELEASE);
        } else {
            csk_platform_park(&reader.word, seen, CSK_NEVER);
        }
    }
}

static bool has_reader(void) {
    int32_t self = (int32_t)getpid(), seen = csk_load(&reader.process, CSK_ACQUIRE);
    if (seen == self) return true;
    if (seen == -self || !csk_cas(&reader.process, &seen, -self, CSK_RELAXED)) return false;
    csk_store(&reader.word, FREE, CSK_RELAXED);
    bool started = csk_platform_start_thread(serve, NULL, "csk-reader") == 0;
    csk_store(&reader.process, started ? self : 0, CSK_RELEASE);
    return started;
}

/* Whether the answer came in time. */
static bool await_answer(void) {
    int64_t deadline_ns = csk_platform_now() + patience_ns;
    uint32_t asked = ASKED;
    while (csk_load(&reader.word, CSK_RELAXED) == ASKED)
        if (csk_platform_park(&reader.word, ASKED, deadline_ns) == ETIMEDOUT) break;
    return !csk_cas(&reader.word, &asked, LEFT, CSK_RELAXED) && csk_load(&reader.word, CSK_ACQUIRE) == ANSWERED;
}

/* Byte by byte, which the explorer sees. */
static void copy(char *to, const char *from, size_t size) {
    for (size_t i = 0; i < size; i++) to[i] = from[i];
}

static long ask_reader(const char *path, char *text, size_t size) {
    uint32_t free = FREE, taken = TAKEN;
    size_t path_size = strlen(path) + 1;
    if (path_size > CSK_SMALL_PATH || !has_reader() || !csk_cas(&reader.word, &free, TAKEN, CSK_ACQUIRE)) return -1;
    copy(reader.path, path, path_size);
    if (!csk_cas(&reader.word, &taken, ASKED, CSK_RELEASE)) return -1;
    csk_platform_wake(&reader.word, 1);
    if (!await_answer()) return -1;
    long length = reader.length < (long)size ? reader.length : (long)size;
    copy(text, reader.text, length > 0 ? (size_t)length : 0);
    csk_store(&reader.word, FREE, CSK_RELEASE);
    return length;
}

long csk_small_file_read(const char *path, char *text, size_t size) {
    long length = csk_platform_read_file(path, text, size);
    return length == -EMFILE ? ask_reader(path, text, size) : length;
}
