/* order_graph.c: the steps from class to class, and the search for circles. One lock protects them. It is taken for
 * steps that are new to a thread's list, and nothing is allocated or called under it. In a child of fork a step that
 * was being added in the parent may be missing, and a circle that was being kept there is written anew. */
#include "observe/stack.h"
#include "observe/order.h"
#include "wait/queue_lock.h"

#include <stdio.h>

order_tables_t *csk_order_tables;
static uint32_t lock;

/* Searches in breadth for `target` from `start` on. Returns whether it came there; `via` of each class that it passed
 * says by which step. */
static bool reaches(uint32_t start, uint32_t target) {
    order_tables_t *tables = csk_order_tables;
    uint32_t round = ++tables->round, first = 0, end = 0;
    tables->line[end++] = start;
    csk_order_class(start)->round = round;
    csk_order_class(start)->via = 0;
    while (first < end) {
        uint32_t class = tables->line[first++];
        if (class == target) return true;
        for (uint32_t number = csk_order_class(class)->first_step; number != 0; number = csk_order_step(number)->next) {
            const order_step_t *step = csk_order_step(number);
            order_class_t *next = csk_order_class(step->to);
            if (step->closes || next->round == round) continue;
            next->round = round;
            next->via = number;
            tables->line[end++] = step->to;
        }
    }
    return false;
}

static size_t append(char *text, size_t size, size_t length, uint32_t class) {
    if (length + 1 >= size) return length;
    char name[ORDER_TEXT];
    csk_order_copy_text(class, name);
    int more = snprintf(text + length, size - length, "%s%s", length != 0 ? " -> " : "", name);
    return length + (more > 0 ? (size_t)more : 0);
}

/* The closing step is from `from` to `to`, and the search has come from `to` to `from`. */
static void keep_circle(uint32_t closing, uint32_t from, uint32_t to, char *text, size_t size) {
    uint32_t way[ORDER_CLASSES > 64 ? 64 : ORDER_CLASSES], length = 0;
    for (uint32_t class = from; class != to && length < 64;) {
        way[length++] = csk_order_class(class)->via;
        class = csk_order_step(way[length - 1])->from;
    }
    order_tables_t *tables = csk_order_tables;
    uint64_t circles = tables->counts.circles;
    order_circle_t *circle = circles < ORDER_CIRCLES ? &tables->circles[circles] : NULL;
    uint32_t count = 0;
    if (circle != NULL) circle->steps[count++] = closing;
    size_t written = append(text, size, append(text, size, 0, from), to);
    while (length-- > 0) {
        written = append(text, size, written, csk_order_step(way[length])->to);
        if (circle != NULL && count < ORDER_CIRCLE_STEPS) circle->steps[count++] = way[length];
    }
    if (circle != NULL) circle->count = count;
    /* A printing thread reads as many circles, and their steps, without the lock. */
    csk_store(&tables->counts.circles, circles + 1, CSK_RELEASE);
}

static bool add(uint32_t from, uint32_t to, const csk_stack_t *stack, char *text, size_t size) {
    order_tables_t *tables = csk_order_tables;
    bool is_new;
    /* Relaxed: an object is begun anew after all uses of it. */
    csk_store(&csk_order_class(from)->has_steps, 1u, CSK_RELAXED);
    csk_store(&csk_order_class(to)->has_steps, 1u, CSK_RELAXED);
    uint64_t hash = csk_slot_mix((uint64_t)from << 32 | to);
    uint32_t number = csk_slot_claim(tables->steps, sizeof *tables->steps, ORDER_STEPS, hash, &is_new);
    if (number == 0) csk_fetch_add(&tables->counts.lost, UINT64_C(1), CSK_RELAXED);
    if (number == 0 || !is_new) return false;
    bool closes = from == to || reaches(to, from);
    order_step_t *step = csk_order_step(number);
    step->from = from;
    step->to = to;
    step->closes = closes;
    step->depth = (uint16_t)(stack->depth < ORDER_FRAMES ? stack->depth : ORDER_FRAMES);
    for (uint32_t i = 0; i < step->depth; i++) step->frames[i] = stack->frames[i];
    if (closes) keep_circle(number, from, to, text, size);
    step->next = csk_order_class(from)->first_step;
    csk_order_class(from)->first_step = number;
    csk_store(&tables->counts.steps, tables->counts.steps + 1, CSK_RELAXED);
    csk_slot_become_ready(&step->slot);
    return closes;
}

bool csk_order_add_step(uint32_t from, uint32_t to, char *text, size_t size) {
    csk_stack_t stack;
    csk_stack_take(&stack);
    csk_queue_lock(&lock);
    bool closes = add(from, to, &stack, text, size);
    csk_queue_unlock(&lock);
    return closes;
}
