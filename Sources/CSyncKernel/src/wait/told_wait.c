/* told_wait.c: see told_wait.h. */
#include "wait/told_wait.h"

#include "wait/waits.h"

static void observe(const csk_told_wait_t *told, uint32_t kind, int status) {
    if (told->observed)
        csk_observe_named(kind, told->object_kind, told->object, told->has_name ? told->name : NULL, told->rank,
                          told->since_ns, status);
}

void csk_told_wait_begin(csk_told_wait_t *told) {
    if (told->since_ns == 0) told->since_ns = csk_platform_now();
    told->counting = csk_load(&csk_counting, CSK_RELAXED) & ~told->not_for;
    told->observed = csk_is_observed();
    told->waits = NULL;
    told->name_number = 0;
    told->has_name = (told->observed || (told->counting & (CSK_COUNTS_PROFILE | CSK_COUNTS_METRICS))) &&
                     csk_observe_find_name(told->object, told->object_kind, told->name, sizeof told->name);
    if (told->has_name && (told->counting & CSK_COUNTS_METRICS))
        told->waits = csk_metrics_find_named(told->object_kind, told->waits_for, told->name);
    if (told->has_name && (told->counting & CSK_COUNTS_PROFILE))
        told->name_number = csk_profile_number_of_name(told->name);
    if (told->counting & (CSK_COUNTS_PROFILE | CSK_COUNTS_STACKS)) csk_stack_take(&told->stack);
    if (told->counting & CSK_COUNTS_PROFILE) told->stack_number = csk_profile_stack_number(&told->stack);
    observe(told, CSK_EVENT_WAIT_BEGIN, 0);
    if (told->counting & CSK_COUNTS_STACKS) told->outer = csk_waits_show_stack(&told->stack);
}

void csk_told_wait_end(csk_told_wait_t *told, int status) {
    if (told->counting & CSK_COUNTS_STACKS) csk_waits_show_stack(told->outer);
    observe(told, CSK_EVENT_WAIT_END, status);
    int64_t waited_ns = csk_platform_now() - told->since_ns;
    csk_metrics_count(told->waits, waited_ns, status);
    if (told->counting & CSK_COUNTS_PROFILE)
        csk_profile_count(&(csk_profile_key_t){ .side = CSK_PROFILE_WAITED,
                                                .waiter = CSK_PROFILE_THREAD,
                                                .rank = told->rank,
                                                .stack = told->stack_number,
                                                .name = told->name_number },
                          waited_ns);
}
