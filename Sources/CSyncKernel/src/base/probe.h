/* probe.h: static probes for tracers (USDT), and the word that says whether waits are reported.
 *
 * A probe is a NOP in the code, and a note in the file (.note.stapsdt) that says where the NOP stands, what the probe
 * is called, where its arguments are, and where its semaphore is. A tracer that enables the probe puts a trap in the
 * place of the NOP and counts the semaphore up. It finds both in the file, so nothing is registered at run time, and a
 * process that runs already can be traced. The format is that of SystemTap's <sys/sdt.h>, which is not needed here.
 *
 * Which observers hear of waits. The semaphores of the probes of waits stand in one word with a count of what the
 * program itself has attached (an observer, the contention profile, the metrics). A path that waits tests the whole
 * word, once: so it pays the same as it would pay for the observer alone. What is behind the test is out of line, and
 * asks each of them.
 *
 *   bits  0-15  BY_PROGRAM  how many of observer, profile and metrics are on. csk_tell_program changes it.
 *   bits 16-31  WAIT_BEGIN  }
 *   bits 32-47  WAIT_END    } Semaphores. Tracers change them from outside, 16 bits each.
 *   bits 48-63  GRANT       }
 *
 * The word of works is made likewise, with a count of the users that need to know since when works run. Semaphores are
 * hints: a reader of an old value misses an event, or executes a NOP. So nothing is ordered by them. */
#ifndef CSK_INTERNAL_PROBE_H
#define CSK_INTERNAL_PROBE_H

#include "base/platform.h"

enum { TOLD_BY_PROGRAM = 0, TOLD_WAIT_BEGIN, TOLD_WAIT_END, TOLD_GRANT };
enum { TOLD_WORK_BY_PROGRAM = 0, TOLD_WORK_BEGIN, TOLD_WORK_END };

typedef struct csk_told {
    union {
        uint64_t any;
        uint16_t each[4];
    } of_waits;
    union {
        uint64_t any;
        uint16_t each[4];
    } of_works;
    uint16_t of_refusals;
} csk_told_t;

/* The names of the fields in a note: it is written in assembler, which knows offsets only. */
#define CSK_TOLD_OF_WAIT_BEGIN "csk_told+2"
#define CSK_TOLD_OF_WAIT_END "csk_told+4"
#define CSK_TOLD_OF_GRANT "csk_told+6"
#define CSK_TOLD_OF_WORK_BEGIN "csk_told+10"
#define CSK_TOLD_OF_WORK_END "csk_told+12"
#define CSK_TOLD_OF_REFUSAL "csk_told+16"
_Static_assert(offsetof(csk_told_t, of_works) == 8 && offsetof(csk_told_t, of_refusals) == 16, "as the notes say");

extern csk_told_t csk_told __attribute__((visibility("hidden")));

/* Whether an observer, the profile or a tracer hears of waits. */
static inline bool csk_waits_are_told(void) { return CSK_UNLIKELY(csk_load(&csk_told.of_waits.any, CSK_RELAXED) != 0); }
/* Whether a tracer observes works, or views need to know since when they run. */
static inline bool csk_works_are_told(void) { return CSK_UNLIKELY(csk_load(&csk_told.of_works.any, CSK_RELAXED) != 0); }

/* Something of the program's was attached, detached, or replaced, of which `count` counts. The changes of all callers
 * add up, in any order, to what is attached in the end. They order nothing, since all reads of them are relaxed: what
 * is attached is published by its own pointer. */
static inline void csk_tell(uint16_t *count, bool before, bool now) {
    if (before != now) csk_fetch_add(count, (uint16_t)(now - before), CSK_RELAXED);
}
static inline void csk_tell_program(bool before, bool now) {
    csk_tell(&csk_told.of_waits.each[TOLD_BY_PROGRAM], before, now);
}
static inline void csk_tell_of_works(bool before, bool now) {
    csk_tell(&csk_told.of_works.each[TOLD_WORK_BY_PROGRAM], before, now);
}

/* ---- The note ---------------------------------------------------------------------------------------------------- */

/* Without probes for a compiler or a machine whose notes were not looked at. */
#if !defined(CSK_NO_PROBES) && !(defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__)))
#define CSK_NO_PROBES
#endif

#ifdef CSK_NO_PROBES
#define CSK_PROBE(name, semaphore, arguments, ...) ((void)0)
#define CSK_IN_PROBES
#else
/* Where tracers look for semaphores: a section that is in the file and writable. */
#define CSK_IN_PROBES __attribute__((section(".probes"), used))

/* Linkers keep a note whatever it names, and where it names code that --gc-sections drops, gold fails and others write
 * a note without a place. So all functions with probes stand in one section, which a constructor keeps (probe.c).
 *
 * By the base a tracer finds how far a prelinked file was moved. */
#define CSK_HAS_PROBE __attribute__((noinline, section(".text.csk_probes")))
#define CSK_PROBE(name, semaphore, arguments, ...)                                               \
    __asm__ __volatile__("990: nop\n"                                                            \
                         ".pushsection .note.stapsdt,\"\",\"note\"\n"                            \
                         ".balign 4\n"                                                           \
                         ".4byte 992f-991f, 994f-993f, 3\n"                                      \
                         "991: .asciz \"stapsdt\"\n"                                             \
                         "992: .balign 4\n"                                                      \
                         "993: .8byte 990b\n"                                                    \
                         ".8byte _.stapsdt.base\n"                                               \
                         ".8byte " semaphore "\n"                                                \
                         ".asciz \"csynckernel\"\n"                                              \
                         ".asciz \"" name "\"\n"                                                 \
                         ".asciz \"" arguments "\"\n"                                            \
                         "994: .balign 4\n"                                                      \
                         ".popsection\n"                                                         \
                         ".ifndef _.stapsdt.base\n"                                              \
                         ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
                         ".weak _.stapsdt.base\n"                                                \
                         ".hidden _.stapsdt.base\n"                                              \
                         "_.stapsdt.base: .space 1\n"                                            \
                         ".size _.stapsdt.base, 1\n"                                             \
                         ".popsection\n"                                                         \
                         ".endif\n" ::__VA_ARGS__)
#endif

/* An argument in a register, as a signed or unsigned number of 8 bytes: "-8@%0" in `arguments` names the first of them,
 * by %rax or x0. */
#define CSK_PROBE_NUMBER(value) "r"((int64_t)(value))
#define CSK_PROBE_ADDRESS(value) "r"((uint64_t)(uintptr_t)(value))

/* ---- The probes: see csk_probes(7). Each stands in one place, in probe.c ----------------------------------------- */

/* How a waiter was let in. */
enum { GRANTED_THREAD = 0, GRANTED_FUNCTION = 1, GRANTED_TRY = 2 };

#ifdef CSK_NO_PROBES
static inline void csk_probe_grant(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns,
                                   uint32_t how) {
    (void)object, (void)object_kind, (void)rank, (void)since_ns, (void)how;
}
static inline void csk_probe_hand_over(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns) {
    (void)object, (void)object_kind, (void)rank, (void)since_ns;
}
static inline void csk_probe_refusal(const void *queue, const char *name, const void *work, int status) {
    (void)queue, (void)name, (void)work, (void)status;
}
static inline int64_t csk_probe_work_begin(const void *queue, const char *name, const void *work) {
    (void)queue, (void)name, (void)work;
    return csk_platform_now();
}
static inline void csk_probe_work_end(const void *queue, const char *name, const void *work, int64_t begun_ns) {
    (void)queue, (void)name, (void)work, (void)begun_ns;
}
#else
/* For observe.c: wait_begin, wait_end and timeout. `name` may be NULL. */
void csk_probe_wait_begin(const void *object, uint32_t object_kind, csk_rank_t rank, const char *name);
void csk_probe_wait_end(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t waited_ns, int status,
                        const char *name);
/* The waiter that was let in has waited since then; 0 where that is not known. Objects and works may be gone: only
 * their addresses are used. */
void csk_probe_grant(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns, uint32_t how);
void csk_probe_hand_over(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns);
void csk_probe_refusal(const void *queue, const char *name, const void *work, int status);
/* Returns the time, for the end. */
int64_t csk_probe_work_begin(const void *queue, const char *name, const void *work);
void csk_probe_work_end(const void *queue, const char *name, const void *work, int64_t begun_ns);
#endif

static inline bool csk_wait_begins_are_traced(void) {
    return csk_load(&csk_told.of_waits.each[TOLD_WAIT_BEGIN], CSK_RELAXED) != 0;
}
static inline bool csk_wait_ends_are_traced(void) {
    return csk_load(&csk_told.of_waits.each[TOLD_WAIT_END], CSK_RELAXED) != 0;
}
static inline bool csk_refusals_are_traced(void) { return csk_load(&csk_told.of_refusals, CSK_RELAXED) != 0; }
/* Whether a tracer observes works. */
static inline bool csk_works_are_traced(void) {
#ifdef CSK_NO_PROBES
    return false;
#else
    return csk_load(&csk_told.of_works.each[TOLD_WORK_BEGIN], CSK_RELAXED) != 0 ||
           csk_load(&csk_told.of_works.each[TOLD_WORK_END], CSK_RELAXED) != 0;
#endif
}
static inline bool csk_grants_are_traced(void) {
    return csk_load(&csk_told.of_waits.each[TOLD_GRANT], CSK_RELAXED) != 0;
}

#endif
