/* deadlock_print.c: deadlocks with the call stacks of their parties. */
#include "observe/deadlock.h"

#include <stdlib.h>

static void put_party(csk_output_t *output, const csk_deadlock_party_t *parties, uint32_t at, uint32_t count) {
    char text[512];
    csk_line_t line = { text, sizeof text, 0 };
    csk_line_add(&line, "    ");
    csk_deadlock_add_wait(&line, parties, at, count);
    csk_line_add(&line, parties[at].frame_count != 0 ? " at\n" : "\n");
    csk_output_put(output, &line);
    csk_output_put_frames(output, parties[at].frames, parties[at].frame_count);
}

static void put_deadlocks(csk_output_t *output, uint64_t number, uint64_t end, csk_deadlock_party_t *parties) {
    for (; number < end; number++) {
        uint32_t count = csk_deadlock_parties(number, parties, CSK_DEADLOCK_PARTIES);
        if (count == 0) continue; /* later ones have taken its place */
        csk_output_putf(output, "deadlock %llu of %u parties\n", (unsigned long long)number + 1, (unsigned)count);
        for (uint32_t i = 0; i < csk_deadlock_known(count); i++) put_party(output, parties, i, count);
    }
}

int csk_deadlock_print(csk_print_t print, void *context) {
    uint64_t end = csk_deadlock_count(), first = end > CSK_DEADLOCKS_KEPT ? end - CSK_DEADLOCKS_KEPT : 0;
    if (end == 0) return 0;
    csk_deadlock_party_t *parties = malloc(CSK_DEADLOCK_PARTIES * sizeof *parties);
    if (parties == NULL) return ENOMEM;
    csk_output_t output;
    int status = csk_output_open(&output, print, context);
    if (status == 0) {
        put_deadlocks(&output, first, end, parties);
        status = csk_output_close(&output);
    }
    free(parties);
    return status;
}
