/* probe_test.c: the notes of the probes, and what a tracer sees. This program traces itself as a tracer would: it reads
 * the notes of its own file, counts a semaphore up, puts a trap into the place of each NOP, and reads the arguments
 * from the registers that the note names.
 *
 * More than 400 lines: all its tests need the same traps. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* the names of registers */
#endif
#include <csynckernel/csynckernel.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <ucontext.h>

#include "base/hooks.h"
#include "test.h"

enum { PROBES = 8, ARGUMENTS = 6, HITS = 256, NAME = 32 };

typedef struct {
    const char *name, *arguments; /* what is expected: the signs of the arguments, - or + */
    uintptr_t place;
    uint16_t *semaphore;
    char noted[128];
    uint32_t notes, hits;
} probe_t;

static probe_t probes[PROBES] = {
    { .name = "wait_begin", .arguments = "++-+" }, { .name = "wait_end", .arguments = "++---+" },
    { .name = "timeout", .arguments = "++--+" },   { .name = "grant", .arguments = "++--+" },
    { .name = "hand_over", .arguments = "++--" },  { .name = "refusal", .arguments = "+++-" },
    { .name = "work_begin", .arguments = "+++" },  { .name = "work_end", .arguments = "+++-" },
};

static probe_t *probe_named(const char *name) {
    for (int i = 0; i < PROBES; i++)
        if (strcmp(probes[i].name, name) == 0) return &probes[i];
    return NULL;
}

/* ---- Notes ------------------------------------------------------------------------------------------------------- */

static int find_program(struct dl_phdr_info *info, size_t size, void *moved) {
    (void)size;
    *(uintptr_t *)moved = info->dlpi_addr;
    return 1; /* the program itself comes first */
}

static void take_note(const char *note, uintptr_t moved) {
    uint64_t words[3];
    memcpy(words, note, sizeof words);
    const char *provider = note + sizeof words, *name = provider + strlen(provider) + 1;
    if (strcmp(provider, "csynckernel") != 0) return;
    probe_t *probe = probe_named(name);
    CHECK(probe != NULL);
    CHECK(words[0] != 0 && words[2] != 0);
    probe->place = words[0] + moved;
    probe->semaphore = (uint16_t *)(words[2] + moved);
    snprintf(probe->noted, sizeof probe->noted, "%s", name + strlen(name) + 1);
    probe->notes++;
}

static void read_notes(void) {
    static bool read_before;
    if (read_before) return;
    read_before = true;
    uintptr_t moved = 0;
    dl_iterate_phdr(find_program, &moved);
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat status;
    CHECK(file >= 0 && fstat(file, &status) == 0);
    char *bytes = malloc((size_t)status.st_size);
    CHECK(bytes != NULL);
    for (off_t read_so_far = 0; read_so_far < status.st_size;) {
        ssize_t count = pread(file, bytes + read_so_far, (size_t)(status.st_size - read_so_far), read_so_far);
        CHECK(count > 0);
        read_so_far += count;
    }
    close(file);
    const ElfW(Ehdr) *header = (const void *)bytes;
    const ElfW(Shdr) *sections = (const void *)(bytes + header->e_shoff);
    const char *names = bytes + sections[header->e_shstrndx].sh_offset;
    for (int i = 0; i < header->e_shnum; i++) {
        if (strcmp(names + sections[i].sh_name, ".note.stapsdt") != 0) continue;
        const char *note = bytes + sections[i].sh_offset, *end = note + sections[i].sh_size;
        while (note < end) {
            ElfW(Nhdr) head;
            memcpy(&head, note, sizeof head);
            CHECK_EQ(head.n_type, 3);
            take_note(note + sizeof head + (head.n_namesz + 3) / 4 * 4, moved);
            note += sizeof head + (head.n_namesz + 3) / 4 * 4 + (head.n_descsz + 3) / 4 * 4;
        }
    }
    free(bytes);
}

static void each_probe_has_a_note_with_a_semaphore(void) {
    read_notes();
    for (int i = 0; i < PROBES; i++) {
        CHECK_EQ(probes[i].notes, 1);
        const char *noted = probes[i].noted;
        for (const char *sign = probes[i].arguments; *sign != 0; sign++) {
            const char *size = *sign == '-' ? "-8@" : "8@";
            CHECK(strncmp(noted, size, strlen(size)) == 0);
            noted += strcspn(noted, " ");
            noted += *noted == ' ';
        }
        CHECK_EQ(*noted, 0);
        CHECK_EQ(*probes[i].semaphore, 0);
        uintptr_t semaphores = (uintptr_t)&csk_told;
        CHECK((uintptr_t)probes[i].semaphore > semaphores);
        CHECK((uintptr_t)probes[i].semaphore < semaphores + sizeof csk_told);
    }
    CHECK(probe_named("wait_begin")->semaphore == &csk_told.of_waits.each[TOLD_WAIT_BEGIN]);
    CHECK(probe_named("wait_end")->semaphore == &csk_told.of_waits.each[TOLD_WAIT_END]);
    CHECK(probe_named("timeout")->semaphore == &csk_told.of_waits.each[TOLD_WAIT_END]);
    CHECK(probe_named("grant")->semaphore == &csk_told.of_waits.each[TOLD_GRANT]);
    CHECK(probe_named("hand_over")->semaphore == &csk_told.of_waits.each[TOLD_GRANT]);
    CHECK(probe_named("work_begin")->semaphore == &csk_told.of_works.each[TOLD_WORK_BEGIN]);
    CHECK(probe_named("work_end")->semaphore == &csk_told.of_works.each[TOLD_WORK_END]);
    CHECK(probe_named("refusal")->semaphore == &csk_told.of_refusals);
}

/* ---- Observers and the profile stand in the same word ------------------------------------------------------------ */

static void on_event(const csk_observer_t *observer, const csk_event_t *event) { (void)observer, (void)event; }

static uint32_t ends;
static void count_end(const csk_observer_t *observer, const csk_event_t *event) {
    (void)observer;
    ends += event->kind == CSK_EVENT_WAIT_END;
}
static void leave(csk_waiter_t *waiter, void *gate, int status) {
    (void)waiter;
    CHECK_STATUS(status, 0);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
}
static void an_observer_hears_no_end_of_a_wait_of_which_a_tracer_alone_heard(void) {
    static const csk_observer_t observer = { count_end, NULL };
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    csk_waiter_t waiter = { .word = 0 };
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    ADD(&csk_told.of_waits.each[TOLD_WAIT_END], 1);
    CHECK_STATUS(csk_gate_lock_async(&gate, 0, &waiter, CSK_NEVER, leave, &gate), 0);
    csk_observe(&observer);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    csk_observe(NULL);
    ADD(&csk_told.of_waits.each[TOLD_WAIT_END], -1);
    CHECK_EQ(ends, 0);
}

static void what_the_program_attaches_is_counted(void) {
    static const csk_observer_t one = { on_event, NULL }, another = { on_event, NULL };
    CHECK(!csk_waits_are_told());
    CHECK(csk_observe(&one) == NULL);
    CHECK(csk_waits_are_told());
    CHECK(csk_observe(&another) == &one);
    CHECK_STATUS(csk_profile_start(1000), 0);
    CHECK_STATUS(csk_profile_start(2000), 0);
    CHECK_EQ(csk_told.of_waits.each[TOLD_BY_PROGRAM], 2);
    CHECK(csk_observe(NULL) == &another);
    CHECK(csk_observe(NULL) == NULL);
    CHECK(csk_waits_are_told());
    csk_profile_stop();
    csk_profile_stop();
    CHECK(!csk_waits_are_told());
}

/* ---- Tracing ----------------------------------------------------------------------------------------------------- */

#ifdef __x86_64__

typedef struct {
    const probe_t *probe;
    int64_t arguments[ARGUMENTS];
    char name[NAME]; /* of the argument that is one */
    uint32_t complete;
} hit_t;
static hit_t hits[HITS];
static uint32_t hit_count;

static int64_t register_named(const ucontext_t *context, const char *name, size_t length) {
    static const struct {
        const char *name;
        int number;
    } registers[] = { { "rax", REG_RAX }, { "rbx", REG_RBX }, { "rcx", REG_RCX }, { "rdx", REG_RDX },
                      { "rsi", REG_RSI }, { "rdi", REG_RDI }, { "rbp", REG_RBP }, { "r8", REG_R8 },
                      { "r9", REG_R9 },   { "r10", REG_R10 }, { "r11", REG_R11 }, { "r12", REG_R12 },
                      { "r13", REG_R13 }, { "r14", REG_R14 }, { "r15", REG_R15 } };
    for (size_t i = 0; i < sizeof registers / sizeof registers[0]; i++)
        if (strlen(registers[i].name) == length && memcmp(registers[i].name, name, length) == 0)
            return (int64_t)context->uc_mcontext.gregs[registers[i].number];
    abort();
}

/* The trap is as long as the NOP was, so the thread goes on behind it. */
static void on_trap(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    uintptr_t place = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] - 1;
    for (int i = 0; i < PROBES; i++) {
        if (probes[i].place != place) continue;
        ADD(&probes[i].hits, 1);
        uint32_t number = ADD(&hit_count, 1) - 1;
        if (number >= HITS) abort();
        hit_t *hit = &hits[number];
        hit->probe = &probes[i];
        int argument = 0;
        for (const char *noted = probes[i].noted; (noted = strstr(noted, "8@%")) != NULL; argument++) {
            noted += 3;
            hit->arguments[argument] = register_named(context, noted, strcspn(noted, " "));
        }
        bool of_work = i >= 5;
        const char *name = (const char *)hit->arguments[of_work ? 1 : argument - 1];
        hit->name[0] = 0;
        if (name != NULL && (of_work || i < 3)) memcpy(hit->name, name, strnlen(name, NAME - 1));
        STORE(&hit->complete, 1);
        return;
    }
    abort();
}

static bool set_trap(const probe_t *probe) {
    const uint8_t nop = 0x90, trap = 0xCC;
    CHECK_EQ(*(const volatile uint8_t *)probe->place, nop);
    int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    bool set = memory >= 0 && pwrite(memory, &trap, 1, (off_t)probe->place) == 1;
    if (memory >= 0) close(memory);
    return set;
}

static void end_tracing(void) {
    for (int i = 0; i < PROBES; i++) STORE(probes[i].semaphore, 0);
}

/* Returns false, and says so, where a program may not write to its own code. */
static bool begin_tracing(void) {
    static int possible = -1;
    if (possible < 0) {
        read_notes();
        struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_RESTART };
        CHECK_EQ(sigaction(SIGTRAP, &action, NULL), 0);
        possible = 1;
        for (int i = 0; i < PROBES && possible; i++) possible = set_trap(&probes[i]);
    }
    if (!possible) printf("(skipped: /proc/self/mem can't be written here) ");
    for (int i = 0; i < PROBES; i++) STORE(&probes[i].hits, 0);
    memset(hits, 0, sizeof hits);
    STORE(&hit_count, 0);
    return possible;
}

static void enable(const char *name) { ADD(probe_named(name)->semaphore, 1); }

static uint32_t hits_of(const char *name) { return LOAD(&probe_named(name)->hits); }

/* The hit of that probe at that object, counted from 0. Waits for it. */
static const hit_t *hit_at(const char *name, const void *object, int number) {
    const probe_t *probe = probe_named(name);
    for (;;) {
        int found = 0;
        for (uint32_t i = 0; i < LOAD(&hit_count); i++) {
            if (!LOAD(&hits[i].complete) || hits[i].probe != probe) continue;
            if (hits[i].arguments[0] == (int64_t)(intptr_t)object && found++ == number) return &hits[i];
        }
        sched_yield();
    }
}

static void *lock_once(void *gate) {
    CHECK_STATUS(csk_gate_lock(gate, 7), 0);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    return NULL;
}

static void contend(csk_gate_t *gate) {
    CHECK_STATUS(csk_gate_lock(gate, 0), 0);
    pthread_t thread = start_thread(lock_once, gate);
    wait_until(csk_gate_waiting(gate) == 1);
    CHECK_STATUS(csk_gate_unlock(gate), 0);
    join_thread(thread);
}

static void a_tracer_sees_a_wait_with_its_arguments(void) {
    if (!begin_tracing()) return;
    static csk_gate_t gate;
    CHECK_STATUS(csk_name(&gate, "the gate"), 0);
    enable("wait_begin"), enable("wait_end"), enable("grant");
    contend(&gate);
    const hit_t *began = hit_at("wait_begin", &gate, 0), *ended = hit_at("wait_end", &gate, 0);
    CHECK_EQ(began->arguments[1], CSK_OBJECT_GATE);
    CHECK_EQ(began->arguments[2], csk_rank(7, CSK_PLACE_BACK));
    CHECK(strcmp(began->name, "the gate") == 0);
    CHECK_EQ(ended->arguments[1], CSK_OBJECT_GATE);
    CHECK_EQ(ended->arguments[2], csk_rank(7, CSK_PLACE_BACK));
    CHECK_GE(ended->arguments[3], 1);
    CHECK_EQ(ended->arguments[4], 0);
    CHECK(strcmp(ended->name, "the gate") == 0);
    const hit_t *granted = hit_at("grant", &gate, 0);
    CHECK_EQ(granted->arguments[1], CSK_OBJECT_GATE);
    CHECK_EQ(granted->arguments[2], csk_rank(7, CSK_PLACE_BACK));
    CHECK_GE(granted->arguments[3], 1);
    CHECK_EQ(granted->arguments[4], GRANTED_TRY);
    CHECK_EQ(hits_of("timeout"), 0);
    end_tracing();
    csk_unname(&gate);
}

static void nothing_is_executed_while_no_tracer_has_asked(void) {
    if (!begin_tracing()) return;
    static csk_gate_t gate;
    contend(&gate);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    enable("work_begin"); /* another word */
    pthread_t thread = start_thread(lock_once, &gate);
    wait_until(csk_gate_waiting(&gate) == 1);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    join_thread(thread);
    end_tracing();
    CHECK_EQ(LOAD(&hit_count), 0);
}

static void each_semaphore_enables_its_own_probes(void) {
    if (!begin_tracing()) return;
    static csk_gate_t gate;
    enable("wait_begin");
    contend(&gate);
    end_tracing();
    CHECK_EQ(hits_of("wait_begin"), 1);
    CHECK_EQ(LOAD(&hit_count), 1);
    enable("grant");
    contend(&gate);
    end_tracing();
    CHECK_EQ(hits_of("wait_begin"), 1);
    CHECK_EQ(hits_of("wait_end"), 0);
    CHECK_EQ(hits_of("grant"), 1);
}

static void a_tracer_sees_a_timeout(void) {
    if (!begin_tracing()) return;
    enable("timeout");
    static csk_sem_t sem = CSK_SEM_INITIALIZER;
    /* A thread that gets no processor meanwhile finds its deadline passed and does not wait. */
    for (int64_t timeout_ns = 1000000; hits_of("timeout") == 0; timeout_ns *= 2)
        CHECK_STATUS(csk_sem_timedwait(&sem, 3, 1, csk_deadline_after(timeout_ns)), ETIMEDOUT);
    const hit_t *passed = hit_at("timeout", &sem, 0), *ended = hit_at("wait_end", &sem, 0);
    CHECK_EQ(passed->arguments[1], CSK_OBJECT_SEM);
    CHECK_EQ(passed->arguments[2], csk_rank(3, CSK_PLACE_BACK));
    CHECK_EQ(passed->arguments[3], ended->arguments[3]);
    CHECK_EQ(ended->arguments[4], ETIMEDOUT);
    end_tracing();
}

static void *take_permit(void *sem) {
    CHECK_STATUS(csk_sem_wait(sem, 2, 1), 0);
    return NULL;
}

static void on_permit(csk_waiter_t *waiter, void *context, int status) {
    (void)waiter;
    CHECK_STATUS(status, 0);
    STORE((int *)context, 1);
}

static void see_whom_a_signal_lets_in(uint32_t policy) {
    if (!begin_tracing()) return;
    static csk_sem_t sem;
    static csk_waiter_t waiter;
    int called = 0;
    CHECK_STATUS(csk_sem_init_attr(&sem, 0, &(csk_sem_attr_t){ .policy = policy }), 0);
    enable("grant"), enable("wait_end");
    pthread_t thread = start_thread(take_permit, &sem);
    wait_until(csk_sem_waiting(&sem) == 1);
    CHECK_STATUS(csk_sem_wait_async(&sem, csk_rank(1, CSK_PLACE_BACK), &waiter, 1, CSK_NEVER, on_permit, &called), 0);
    CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    const hit_t *first = hit_at("grant", &sem, 0);
    CHECK_EQ(first->arguments[1], CSK_OBJECT_SEM);
    CHECK_EQ(first->arguments[2], csk_rank(2, CSK_PLACE_BACK));
    CHECK_GE(first->arguments[3], 1);
    CHECK_EQ(first->arguments[4], policy == CSK_SEM_STRICT ? GRANTED_THREAD : GRANTED_TRY);
    join_thread(thread);
    CHECK_STATUS(csk_sem_post(&sem, 1), 0);
    CHECK_EQ(LOAD(&called), 1);
    const hit_t *second = hit_at("grant", &sem, 1);
    CHECK_EQ(second->arguments[1], CSK_OBJECT_SEM);
    CHECK_EQ(second->arguments[2], csk_rank(1, CSK_PLACE_BACK));
    CHECK_GE(second->arguments[3], 1);
    CHECK_EQ(second->arguments[4], GRANTED_FUNCTION);
    CHECK_EQ(hit_at("wait_end", &sem, 1)->arguments[1], CSK_OBJECT_SEM);
    end_tracing();
}
static void a_tracer_sees_whom_a_signal_lets_in(void) { see_whom_a_signal_lets_in(CSK_SEM_STRICT); }
static void a_tracer_sees_whom_a_signal_tells(void) { see_whom_a_signal_lets_in(CSK_SEM_FAST); }

static void *read_once(void *lock) {
    CHECK_STATUS(csk_rwlock_rdlock(lock), 0);
    CHECK_STATUS(csk_rwlock_unlock(lock), 0);
    return NULL;
}

static void a_tracer_sees_whom_a_writer_lets_in(void) {
    if (!begin_tracing()) return;
    static csk_rwlock_t lock;
    enable("grant"), enable("wait_begin");
    CHECK_STATUS(csk_rwlock_wrlock(&lock), 0);
    pthread_t readers[2] = { start_thread(read_once, &lock), start_thread(read_once, &lock) };
    hit_at("wait_begin", &lock, 1);
    CHECK_STATUS(csk_rwlock_unlock(&lock), 0);
    for (int i = 0; i < 2; i++) join_thread(readers[i]);
    for (uint32_t i = 0; i < hits_of("grant"); i++) {
        const hit_t *hit = hit_at("grant", &lock, (int)i);
        CHECK_EQ(hit->arguments[1], CSK_OBJECT_RWLOCK);
        CHECK_EQ(hit->arguments[4], GRANTED_THREAD);
    }
    end_tracing();
}

static void a_tracer_sees_a_hand_over(void) {
    if (!begin_tracing()) return;
    static csk_gate_t gate;
    CHECK_STATUS(csk_gate_init(&gate, &(csk_gate_attr_t){ .policy = CSK_GATE_STRICT }), 0);
    enable("hand_over");
    contend(&gate);
    const hit_t *handed = hit_at("hand_over", &gate, 0), *granted = hit_at("grant", &gate, 0);
    CHECK_EQ(handed->arguments[1], CSK_OBJECT_GATE);
    CHECK_EQ(handed->arguments[2], csk_rank(7, CSK_PLACE_BACK));
    CHECK_GE(handed->arguments[3], granted->arguments[3]);
    CHECK_EQ(granted->arguments[4], GRANTED_THREAD);
    end_tracing();
}

static void do_nothing(csk_work_t *work, int status) { (void)work, (void)status; }

static void nothing(void *unused) { (void)unused; }

static void a_tracer_sees_callers_of_a_queue(void) {
    if (!begin_tracing()) return;
    static csk_workqueue_t queue = CSK_WORKQUEUE_INITIALIZER(.name = "its own");
    CHECK_STATUS(csk_name(&queue, "of csk_name"), 0);
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    enable("wait_begin"), enable("wait_end");
    csk_rank_t rank = csk_rank(5, CSK_PLACE_BACK);
    CHECK_STATUS(csk_workqueue_sync(&queue, rank, 0, csk_deadline_after(1000000), nothing, NULL), ETIMEDOUT);
    const hit_t *began = hit_at("wait_begin", &queue, 0), *ended = hit_at("wait_end", &queue, 0);
    const hit_t *passed = hit_at("timeout", &queue, 0);
    CHECK_EQ(began->arguments[1], CSK_OBJECT_WORKQUEUE);
    CHECK_EQ(began->arguments[2], rank);
    CHECK_EQ(ended->arguments[2], rank);
    CHECK_GE(ended->arguments[3], 1);
    CHECK_STATUS((int)ended->arguments[4], ETIMEDOUT);
    CHECK_EQ(passed->arguments[3], ended->arguments[3]);
    CHECK(strcmp(began->name, "of csk_name") == 0 && strcmp(ended->name, "of csk_name") == 0);
    end_tracing();
    CHECK_STATUS(csk_workqueue_resume(&queue), 0);
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

static void a_tracer_sees_works_and_refusals(void) {
    if (!begin_tracing()) return;
    static csk_workqueue_t queue;
    static csk_work_t works[3];
    CHECK_STATUS(csk_workqueue_init(&queue, &(csk_workqueue_attr_t){ .capacity = 1,
                                                                     .when_full = CSK_WORKQUEUE_REFUSE,
                                                                     .name = "requests" }),
                 0);
    enable("work_begin"), enable("work_end"), enable("refusal");
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[0], do_nothing), 0);
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    const hit_t *began = hit_at("work_begin", &queue, 0), *ended = hit_at("work_end", &queue, 0);
    CHECK_EQ(began->arguments[2], (intptr_t)&works[0]);
    CHECK_EQ(ended->arguments[2], (intptr_t)&works[0]);
    CHECK_GE(ended->arguments[3], 1);
    CHECK(strcmp(began->name, "requests") == 0 && strcmp(ended->name, "requests") == 0);
    CHECK_STATUS(csk_workqueue_suspend(&queue), 0);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[1], do_nothing), 0);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[2], do_nothing), EBUSY);
    csk_workqueue_shutdown(&queue, true);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[2], do_nothing), ESHUTDOWN);
    CHECK_STATUS(csk_name(&queue, "by csk_name"), 0);
    CHECK_STATUS(csk_workqueue_enqueue(&queue, &works[2], do_nothing), ESHUTDOWN);
    CHECK(strcmp(hit_at("refusal", &queue, 3)->name, "by csk_name") == 0);
    CHECK_STATUS(csk_workqueue_submit(&queue, csk_rank(0, CSK_PLACE_BACK), &works[2], CSK_WORK_OWN_TURN, CSK_NEVER,
                                      do_nothing),
                 0);
    CHECK_STATUS(csk_workqueue_drain(&queue, CSK_NEVER), 0);
    CHECK(strcmp(hit_at("work_begin", &queue, 1)->name, "by csk_name") == 0);
    CHECK(strcmp(hit_at("work_end", &queue, 1)->name, "by csk_name") == 0);
    static const struct { int work, status; } refused[] = { { 2, EBUSY }, { 1, ECANCELED }, { 2, ESHUTDOWN } };
    for (int i = 0; i < 3; i++) {
        const hit_t *hit = hit_at("refusal", &queue, i);
        CHECK_EQ(hit->arguments[2], (intptr_t)&works[refused[i].work]);
        CHECK_STATUS((int)hit->arguments[3], refused[i].status);
        CHECK(strcmp(hit->name, "requests") == 0);
    }
    end_tracing();
    CHECK_STATUS(csk_workqueue_destroy(&queue), 0);
}

TEST_MAIN(TEST(each_probe_has_a_note_with_a_semaphore), TEST(what_the_program_attaches_is_counted),
          TEST(an_observer_hears_no_end_of_a_wait_of_which_a_tracer_alone_heard),
          TEST(a_tracer_sees_a_wait_with_its_arguments), TEST(nothing_is_executed_while_no_tracer_has_asked),
          TEST(each_semaphore_enables_its_own_probes), TEST(a_tracer_sees_a_timeout),
          TEST(a_tracer_sees_whom_a_signal_lets_in), TEST(a_tracer_sees_whom_a_signal_tells),
          TEST(a_tracer_sees_whom_a_writer_lets_in), TEST(a_tracer_sees_a_hand_over),
          TEST(a_tracer_sees_callers_of_a_queue), TEST(a_tracer_sees_works_and_refusals))

#else

static void a_tracer_sees_nothing_here(void) { printf("(skipped: traps are set on x86-64 only) "); }

TEST_MAIN(TEST(each_probe_has_a_note_with_a_semaphore), TEST(what_the_program_attaches_is_counted),
          TEST(an_observer_hears_no_end_of_a_wait_of_which_a_tracer_alone_heard), TEST(a_tracer_sees_nothing_here))

#endif
