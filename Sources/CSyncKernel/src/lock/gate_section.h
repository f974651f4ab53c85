/* gate_section.h: whether sections of tasks are brief. Starting a task takes some microseconds. A section of one
 * microsecond is over before that, and a section of ten is not. So a task looks for the end of a section, or takes the
 * gate from another one of its rank, only where sections are shorter than a thread spins.
 *
 * section (32 bits)   of tasks; written under the queue lock by the task that begins, and read without it. A hint
 *   bit 0       BRIEF   the section before was brief
 *   bits 1..31  BEGAN   when the last one began: the clock's lowest bits. Zero with BRIEF: none has begun
 *
 * Sections of threads are not noted. One that came between seems to be a part of the task's section before it, which
 * then was not brief. */
#ifndef CSK_INTERNAL_GATE_SECTION_H
#define CSK_INTERNAL_GATE_SECTION_H

#include "lock/gate_words.h"
#include "wait/spin_park.h"

#define SECTION_BRIEF UINT32_C(1)

/* Whether the last section was brief, if it had ended by then. */
static inline bool csk_gate_was_brief(const csk_gate_t *gate, int64_t until_ns) {
    uint32_t section = csk_load(&gate->section, CSK_RELAXED);
    return section > SECTION_BRIEF && (uint32_t)until_ns - (section & ~SECTION_BRIEF) < CSK_SPIN_NS;
}
/* Called under the queue lock. A task begins a section; the one before had ended by then. */
static inline void csk_gate_begin_section(csk_gate_t *gate, int64_t ended_ns, int64_t now_ns) {
    uint32_t brief = csk_gate_was_brief(gate, ended_ns) ? SECTION_BRIEF : 0;
    csk_store(&gate->section, ((uint32_t)now_ns & ~SECTION_BRIEF) | brief, CSK_RELAXED);
}

static inline bool csk_gate_has_thread(const csk_gate_t *gate) {
    uint64_t holder = csk_gate_holder(gate);
    return holder != 0 && holder != CSK_GATE_NOBODY;
}
/* Whether the thread that holds the gate is likely to leave it within CSK_SPIN_NS. */
static inline bool csk_gate_ends_soon(const csk_gate_t *gate, int64_t now_ns) {
    return (csk_load(&gate->section, CSK_RELAXED) & SECTION_BRIEF) != 0 && csk_gate_was_brief(gate, now_ns) &&
           csk_gate_has_thread(gate);
}

#endif
