/* rc11.h: between the three parts of RC11: the views (model_rc11.c), the order of sequentially consistent steps
 * (rc11_psc.c), and data races (rc11_races.c). */
#ifndef EXPLORER_RC11_H
#define EXPLORER_RC11_H

#include "machine.h"

/* ---- Sequentially consistent order ------------------------------------------------------------------------------- */

enum { EVENT_READS = 1, EVENT_WRITES = 2, EVENT_FENCE = 4, EVENT_SC = 8 };

/* One step of a thread. Its clock says of each thread how many of that thread's events happen before it, itself
 * included. */
typedef struct {
    uint8_t thread, kind;
    int16_t location;                         /* -1: none */
    uint32_t number;                          /* of its thread's events, from 1 */
    uint32_t read, written;                   /* places in the location's modification order */
    int before_in_thread, before_at_location; /* indices, -1: none */
    uint32_t clock[MAX_FIBERS];
} event_t;

void psc_begin(void);
/* Appends; returns the event's index. */
int psc_add(int thread, int kind, int location, uint32_t read, uint32_t written, const uint32_t *clock);
/* Whether the execution stays consistent with this event behind the others. Where the event reads or writes what is
 * newest it does. */
bool psc_allows(int thread, int kind, int location, uint32_t read, uint32_t written, const uint32_t *clock);
/* One fence's place in the order is before another's: a membarrier's. */
void psc_order(int before, int after);

/* ---- Data races -------------------------------------------------------------------------------------------------- */

typedef struct message message_t;

/* What is known of an address. */
typedef struct {
    const void *address;
    uint64_t epoch;
    int16_t location;    /* -1: nobody has accessed it atomically */
    int8_t plain_writer; /* -1: nobody */
    uint32_t plain_write;
    const void *plain_site;
    uint32_t plain_reads[MAX_FIBERS], atomic_reads[MAX_FIBERS], atomic_writes[MAX_FIBERS]; /* the clocks of the last */
    const struct view *edge; /* of a mutex: what locking it brings */
} cell_t;

void races_begin(void);
cell_t *races_cell(const void *address);
/* The atomic access has the thread's present clock. */
void races_atomic(cell_t *cell, bool reads, bool writes, const char *site);
void races_freed(void *memory, size_t size);

/* The clock of the running thread, and a plain write of its own to a location with messages. */
const uint32_t *rc11_clock(void);
void rc11_plain_write(int location);

#endif
