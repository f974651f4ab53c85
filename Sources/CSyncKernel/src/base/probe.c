/* probe.c: the probes, each in one place. The caller has checked that a tracer has enabled one. */
#include "base/probe.h"

CSK_IN_PROBES csk_told_t csk_told;

#ifndef CSK_NO_PROBES

/* Keeps the section of the probes, and the semaphores: see CSK_PROBE. */
CSK_HAS_PROBE __attribute__((constructor)) static void keep_probes(void) { __asm__ __volatile__("" ::"r"(&csk_told)); }

/* How long it was since then; -1 where that is not known. */
static int64_t time_since(int64_t since_ns) { return since_ns != 0 ? csk_platform_now() - since_ns : -1; }

CSK_HAS_PROBE void csk_probe_wait_begin(const void *object, uint32_t object_kind, csk_rank_t rank, const char *name) {
    CSK_PROBE("wait_begin", CSK_TOLD_OF_WAIT_BEGIN, "8@%0 8@%1 -8@%2 8@%3", CSK_PROBE_ADDRESS(object),
              CSK_PROBE_NUMBER(object_kind), CSK_PROBE_NUMBER(rank), CSK_PROBE_ADDRESS(name));
}

CSK_HAS_PROBE void csk_probe_wait_end(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t waited_ns,
                                      int status, const char *name) {
    CSK_PROBE("wait_end", CSK_TOLD_OF_WAIT_END, "8@%0 8@%1 -8@%2 -8@%3 -8@%4 8@%5", CSK_PROBE_ADDRESS(object),
              CSK_PROBE_NUMBER(object_kind), CSK_PROBE_NUMBER(rank), CSK_PROBE_NUMBER(waited_ns),
              CSK_PROBE_NUMBER(status), CSK_PROBE_ADDRESS(name));
    if (status != ETIMEDOUT) return;
    CSK_PROBE("timeout", CSK_TOLD_OF_WAIT_END, "8@%0 8@%1 -8@%2 -8@%3 8@%4", CSK_PROBE_ADDRESS(object),
              CSK_PROBE_NUMBER(object_kind), CSK_PROBE_NUMBER(rank), CSK_PROBE_NUMBER(waited_ns),
              CSK_PROBE_ADDRESS(name));
}

CSK_HAS_PROBE void csk_probe_grant(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns,
                                   uint32_t how) {
    int64_t waited_ns = time_since(since_ns);
    CSK_PROBE("grant", CSK_TOLD_OF_GRANT, "8@%0 8@%1 -8@%2 -8@%3 8@%4", CSK_PROBE_ADDRESS(object),
              CSK_PROBE_NUMBER(object_kind), CSK_PROBE_NUMBER(rank), CSK_PROBE_NUMBER(waited_ns),
              CSK_PROBE_NUMBER(how));
}

CSK_HAS_PROBE void csk_probe_hand_over(const void *object, uint32_t object_kind, csk_rank_t rank, int64_t since_ns) {
    int64_t waited_ns = time_since(since_ns);
    CSK_PROBE("hand_over", CSK_TOLD_OF_GRANT, "8@%0 8@%1 -8@%2 -8@%3", CSK_PROBE_ADDRESS(object),
              CSK_PROBE_NUMBER(object_kind), CSK_PROBE_NUMBER(rank), CSK_PROBE_NUMBER(waited_ns));
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

#endif
