#include "fuzz.h"

#include <stdarg.h>

static const uint8_t *input, *input_end;

enum { NOTES = 400, NOTE_SIZE = 120 };
static char notes[NOTES][NOTE_SIZE];
static unsigned note_count;

void fuzz_begin(const uint8_t *data, size_t size) {
    input = data;
    input_end = data + size;
    note_count = 0;
}

bool fuzz_at_end(void) { return input == input_end; }
uint8_t fuzz_byte(void) { return input < input_end ? *input++ : 0; }

int32_t fuzz_priority(void) {
    static const int32_t priorities[] = { 0, 1, -1, 2, INT32_MAX, INT32_MIN, 0, 100 };
    return priorities[fuzz_byte() & 7];
}

void fuzz_note(const char *format, ...) {
    fuzz_rewind();
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(notes[note_count++ % NOTES], NOTE_SIZE, format, arguments);
    va_end(arguments);
}

void fuzz_fail(const char *format, ...) {
    fprintf(stderr, "the calls, each with the tick and the thread it was made on:\n");
    for (unsigned index = note_count > NOTES ? note_count - NOTES : 0; index < note_count; index++)
        fprintf(stderr, "  %s\n", notes[index % NOTES]);
    fprintf(stderr, "DIFFERENCE at tick %" PRId64 " on thread %d: ", fuzz_tick(), fuzz_actor());
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    abort();
}

void fuzz_expect_status(const char *call, int actual, int expected) {
    if (actual != expected)
        fuzz_fail("%s: %d (%s) instead of %d (%s)", call, actual, csk_status_text(actual), expected,
                  csk_status_text(expected));
}

void fuzz_expect(const char *what, int64_t actual, int64_t expected) {
    if (actual != expected) fuzz_fail("%s: %" PRId64 " instead of %" PRId64, what, actual, expected);
}
