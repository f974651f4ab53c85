/* order.h: what the checker of lock order knows: see docs/design/order.md. */
#ifndef CSK_INTERNAL_ORDER_H
#define CSK_INTERNAL_ORDER_H

#include "observe/slots.h"
#include "csynckernel/order.h"

#include <string.h>

/* The explorer has smaller tables. */
#ifndef CSK_ORDER_SIZES
enum {
    ORDER_OBJECTS = 1 << 16,
    ORDER_CLASSES = 1 << 12,
    ORDER_STEPS = 1 << 14,
    ORDER_CHAINS = 1 << 17,
    ORDER_CIRCLES = 256,
    ORDER_FRAMES = 20,
    ORDER_UNCOVERED = 64,
    ORDER_TEXT = 96
};
#endif
enum { ORDER_CIRCLE_STEPS = 8 };

/* An object, by its address. */
typedef struct {
    uint64_t address;
    /* Bits 0..31 its class, 0: not known yet; then WHAT_... A class comes behind its text (release, acquire); all else
     * is relaxed. */
    uint64_t what;
} order_object_t;

/* `text` is written by every thread that comes with the class's hash before it is ready (release), with the same words
 * each. So a thread that has a class's number, from the table or from another thread, finds the whole text: no thread
 * waits for one that writes it, and in a child of fork nothing is left half written. It is stored and loaded by words,
 * relaxed. */
typedef struct {
    csk_slot_t slot;
    uint64_t text[ORDER_TEXT / sizeof(uint64_t)];
    /* Under the lock of the graph: */
    uint32_t has_steps; /* to it or from it; read without the lock too */
    uint32_t first_step;
    uint32_t round; /* the search that came by last, */
    uint32_t via;   /* and by which step */
} order_class_t;

/* `to` was entered while `from` was held. All but the slot is under the lock of the graph. */
typedef struct {
    csk_slot_t slot;
    uint32_t from, to;
    uint32_t next;   /* of those from one class */
    uint16_t closes; /* it was reported, and no search goes by it */
    uint16_t depth;
    uintptr_t frames[ORDER_FRAMES];
} order_step_t;

typedef struct {
    uint32_t count;
    uint32_t steps[ORDER_CIRCLE_STEPS]; /* the one that closed it first; the last ones of a longer circle are missing */
} order_circle_t;

typedef struct {
    char text[ORDER_TEXT];
    uint32_t ready; /* the text is there: release, and those that print acquire */
} order_uncovered_t;

typedef struct {
    order_object_t objects[ORDER_OBJECTS];
    order_class_t classes[ORDER_CLASSES];
    order_step_t steps[ORDER_STEPS];
    uint64_t chains[ORDER_CHAINS];
    /* Under the lock of the graph: */
    uint32_t line[ORDER_CLASSES]; /* of a search */
    uint32_t round;
    csk_order_counts_t counts; /* `lost` and `uncovered` without the lock; `circles` follows what it counts (release) */
    order_circle_t circles[ORDER_CIRCLES];
    order_uncovered_t uncovered[ORDER_UNCOVERED];
} order_tables_t;

/* NULL until the checker was started once. */
extern order_tables_t *csk_order_tables __attribute__((visibility("hidden")));

static inline order_class_t *csk_order_class(uint32_t number) { return &csk_order_tables->classes[number - 1]; }
static inline order_step_t *csk_order_step(uint32_t number) { return &csk_order_tables->steps[number - 1]; }

/* Copies the class's text, which is ended by a zero. */
static inline void csk_order_copy_text(uint32_t number, char text[ORDER_TEXT]) {
    const order_class_t *class = csk_order_class(number);
    for (size_t i = 0; i < sizeof class->text / sizeof class->text[0]; i++) {
        uint64_t word = csk_load(&class->text[i], CSK_RELAXED);
        memcpy(text + i * sizeof word, &word, sizeof word);
    }
}

/* In order_graph.c. Keeps that `to` was entered while `from` was held. Returns true if that closes a circle that was
 * not reported yet, whose text it writes. */
bool csk_order_add_step(uint32_t from, uint32_t to, char *text, size_t size);

#endif
