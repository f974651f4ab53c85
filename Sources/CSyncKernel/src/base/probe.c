/* probe.c: static probes for tracers (USDT), each in one place. The caller has checked that a tracer has enabled one.
 *
 * A probe is a NOP in the code, and a note in the file (.note.stapsdt) that says where the NOP stands, what the probe
 * is called, where its arguments are, and where its semaphore is. A tracer that enables the probe puts a trap in the
 * place of the NOP and counts the semaphore up. It finds both in the file, so nothing is registered at run time, and a
 * process that runs already can be traced. The format is that of SystemTap's <sys/sdt.h>, which is not needed here. */
#include "base/hooks.h"

const csk_hooks_t *csk_hooks;

#ifdef CSK_NO_PROBES
csk_told_t csk_told;
#define CSK_HAS_PROBE
#define CSK_PROBE(name, semaphore, arguments, ...) __VA_ARGS__
#define CSK_PROBE_NUMBER(value) (void)(value)
#define CSK_PROBE_ADDRESS(value) (void)(value)
#else
/* The names of the fields in a note: it is written in assembler, which knows offsets only. */
#define CSK_TOLD_OF_WAIT_BEGIN "csk_told+2"
#define CSK_TOLD_OF_WAIT_END "csk_told+4"
#define CSK_TOLD_OF_GRANT "csk_told+6"
#define CSK_TOLD_OF_WORK_BEGIN "csk_told+10"
#define CSK_TOLD_OF_WORK_END "csk_told+12"
#define CSK_TOLD_OF_REFUSAL "csk_told+16"
_Static_assert(offsetof(csk_told_t, of_works) == 8 && offsetof(csk_told_t, of_refusals) == 16, "as the notes say");

/* Where tracers look for semaphores: a section that is in the file and writable. */
__attribute__((section(".probes"), used)) csk_told_t csk_told;

/* Linkers keep a note whatever it names, and where it names code that --gc-sections drops, gold fails and others write
 * a note without a place. So all functions with probes stand in one section, which a constructor keeps.
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

/* An argument in a register, as a signed or unsigned number of 8 bytes: "-8@%0" in `arguments` names the first of them,
 * by %rax or x0. */
#define CSK_PROBE_NUMBER(value) "r"((int64_t)(value))
#define CSK_PROBE_ADDRESS(value) "r"((uint64_t)(uintptr_t)(value))

/* Keeps the section of the probes, and the semaphores: see CSK_PROBE. */
CSK_HAS_PROBE __attribute__((constructor)) static void keep_probes(void) { __asm__ __volatile__("" ::"r"(&csk_told)); }

#endif

#define CSK_PROBE_WAITER(object, object_kind, rank) \
    CSK_PROBE_ADDRESS(object), CSK_PROBE_NUMBER(object_kind), CSK_PROBE_NUMBER(rank)

/* How long it was since then; -1 where that is not known. */
static int64_t time_since(int64_t since_ns) { return since_ns != 0 ? csk_platform_now() - since_ns : -1; }

CSK_HAS_PROBE void csk_probe_wait_begin(const void *object, uint32_t object_kind, csk_rank_t rank, const char *name) {
    CSK_PROBE("wait_begin", CSK_TOLD_OF_WAIT_BEGIN, "8@%0 8@%1 -8@%2 8@%3", CSK_PROBE_WAITER(object, object_kind, rank),
              CSK_PROBE_ADDRESS(name));
}

CSK_HAS_PROBE void csk_probe_wait_end(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t waited_ns,
                                      int status, const char *name) {
    CSK_PROBE("wait_end", CSK_TOLD_OF_WAIT_END, "8@%0 8@%1 -8@%2 -8@%3 -8@%4 8@%5",
              CSK_PROBE_WAITER(object, object_kind, rank), CSK_PROBE_NUMBER(waited_ns), CSK_PROBE_NUMBER(status),
              CSK_PROBE_ADDRESS(name));
    if (status != ETIMEDOUT) return;
    CSK_PROBE("timeout", CSK_TOLD_OF_WAIT_END, "8@%0 8@%1 -8@%2 -8@%3 8@%4",
              CSK_PROBE_WAITER(object, object_kind, rank), CSK_PROBE_NUMBER(waited_ns), CSK_PROBE_ADDRESS(name));
}

CSK_HAS_PROBE void csk_probe_grant(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns,
                                   uint32_t how) {
    int64_t waited_ns = time_since(since_ns);
    CSK_PROBE("grant", CSK_TOLD_OF_GRANT, "8@%0 8@%1 -8@%2 -8@%3 8@%4", CSK_PROBE_WAITER(object, object_kind, rank),
              CSK_PROBE_NUMBER(waited_ns), CSK_PROBE_NUMBER(how));
}

CSK_HAS_PROBE void csk_probe_hand_over(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns) {
    int64_t waited_ns = time_since(since_ns);
    CSK_PROBE("hand_over", CSK_TOLD_OF_GRANT, "8@%0 8@%1 -8@%2 -8@%3", CSK_PROBE_WAITER(object, object_kind, rank),
              CSK_PROBE_NUMBER(waited_ns));
}

CSK_HAS_PROBE void csk_probe_refusal(const void *queue, const char *name, const void *work, int status) {
    CSK_PROBE("refusal", CSK_TOLD_OF_REFUSAL, "8@%0 8@%1 8@%2 -8@%3", CSK_PROBE_ADDRESS(queue), CSK_PROBE_ADDRESS(name),
              CSK_PROBE_ADDRESS(work), CSK_PROBE_NUMBER(status));
}

CSK_HAS_PROBE int64_t csk_probe_work_begin(const void *queue, const char *name, const void *work) {
    CSK_PROBE("work_begin", CSK_TOLD_OF_WORK_BEGIN, "8@%0 8@%1 8@%2", CSK_PROBE_ADDRESS(queue), CSK_PROBE_ADDRESS(name),
              CSK_PROBE_ADDRESS(work));
    return csk_platform_now();
}

CSK_HAS_PROBE void csk_probe_work_end(const void *queue, const char *name, const void *work, int64_t begun_ns) {
    int64_t took_ns = csk_platform_now() - begun_ns;
    CSK_PROBE("work_end", CSK_TOLD_OF_WORK_END, "8@%0 8@%1 8@%2 -8@%3", CSK_PROBE_ADDRESS(queue),
              CSK_PROBE_ADDRESS(name), CSK_PROBE_ADDRESS(work), CSK_PROBE_NUMBER(took_ns));
}
