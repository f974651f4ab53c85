/* machine.h: between the core, which has the threads, time and the system's calls (run.h says where), and the memory
 * models, which have what a load returns: model_sb.c and model_rc11.c. */
#ifndef EXPLORER_MACHINE_H
#define EXPLORER_MACHINE_H

#include "core.h"

enum { TLS_MAX = 768 };

enum op {
    OP_LOAD,
    OP_STALE_LOAD,
    OP_STORE,
    OP_EARLIER_STORE,
    OP_RMW,
    OP_CAS,
    OP_FENCE,
    OP_FLUSH,
    OP_PARK,
    OP_PARKED,
    OP_WAKE,
    OP_CLOCK,
    OP_YIELD,
    OP_MEMBARRIER,
    OP_MEMBARRIER_END,
    OP_INTERRUPT,
    OP_LOCK,
    OP_UNTIL,
    OP_UNTIL_ASLEEP,
    OP_POINT,
    OP_TIME,
    OP_SPURIOUS,
    OP_START,
    OP_END,
    OP_FORK
};

typedef struct {
    bool exists, done, daemon, woken, timed_out, yielded;
    enum op op;
    void *address;
    int64_t deadline;
    uint32_t awaited;
    const char *site;
    void *sp;
    void (*body)(void *), (*at_end)(void *);
    void *context;
    uint64_t chain; /* a hash of what the thread has done and seen */
    unsigned long park_order;
    int reads;         /* since it has changed something, and */
    bool blocked;      /* it goes round a loop with them: spin.h */
    char tls[TLS_MAX]; /* its thread-local variables while another's stand in the section */
} fiber_t;

typedef struct {
    uint8_t actor;
    uint8_t op;
    const char *site;
    const void *address;
    uint64_t value;
} trace_t;

typedef struct {
    /* A schedule begins: nothing is known of any address. */
    void (*begin)(const schedule_t *schedule);
    /* After a thread was made by the running one, or by nobody. */
    void (*thread_begins)(int thread);

    /* The accesses of the running thread, each with its own scheduling point. */
    uint64_t (*load)(const void *address, unsigned size, int order, const char *site);
    void (*store)(void *address, unsigned size, uint64_t value, int order, const char *site);
    uint64_t (*rmw)(void *address, unsigned size, int operation, uint64_t operand, int order, const char *site);
    bool (*cas)(void *address, unsigned size, void *expected, uint64_t desired, int success, int failure,
                const char *site);
    void (*fence)(int order, const char *site);
    void (*membarrier)(const char *site);

    /* The running thread has entered the system. */
    void (*system_call)(void);
    /* The system, or the explorer, reads the word as it is now. `synchronizes`: as an acquiring load does. */
    void (*look)(const void *address, bool synchronizes);
    /* The running thread has got a pthread mutex, or will let it go: an edge from each unlocking to later locking. */
    void (*locked)(const void *mutex);
    void (*unlocking)(const void *mutex);
    /* The running thread is alone from here on. */
    void (*forked)(void);
    void (*freed)(void *memory, size_t size);

    /* What the model itself may do next: `must` before anything that is a choice of the threads, at no cost. */
    int (*must)(choice_t *choices);
    int (*may)(choice_t *choices);
    void (*perform)(int actor);
    /* A membarrier of this thread may end. */
    bool (*is_enabled)(int thread);

    /* For spin.c: a mark of what a load of this thread would read that takes the newest. The thread may read no more
     * what it has read there last, if something newer is there: nothing stays unseen for ever. And a hash of what the
     * model itself may still do. */
    uint64_t (*newest)(int thread, const void *address);
    void (*hurry)(int thread, const void *address);
    uint64_t (*pending)(void);
} model_t;

extern const model_t model_sb, model_rc11;

extern fiber_t fibers[MAX_FIBERS];
extern fiber_t *current; /* NULL in setup, check and invariant, which are no thread */
extern int fiber_count;
extern uint64_t state_hash;

static inline int index_of(const fiber_t *fiber) { return (int)(fiber - fibers); }

static inline uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t state = a * UINT64_C(0xD1B54A32D192ED03) ^ b;
    return random_next(&state);
}
/* The running thread waits for its turn. */
void point(enum op op, const void *address, const char *site);
/* A choice that is not whose turn it is; the first is the ordinary one. */
int choose_among(const choice_t *choices, int count, uint64_t state);
void note(int actor, enum op op, const char *site, const void *address, uint64_t value);
/* The hash of the happens-before graph: an access to what others see (which marks who has changed it last), and a step
 * that touches nothing which they see, but leads to another state all the same. */
uint64_t happened(uint64_t *chain, const void *address, bool writes);
void stepped(fiber_t *fiber, uint64_t what);
void check_alive(const void *address, const char *site);
uint64_t read_memory(const void *address, unsigned size);
uint64_t changed_value(uint64_t before, int operation, uint64_t operand);
/* The model of this schedule, and for spin.c what the core has. */
const model_t *core_model(void);
const char *core_op_name(enum op op);
const trace_t *core_trace(int *count);
const void *core_stack_end(const fiber_t *fiber);
/* The fiber's thread-local variables, in whole words. */
const void *core_tls(const fiber_t *fiber, const void **end);
void core_arena(const void **begin, const void **end);
/* Marks who has changed the address last, as far as `happened` was told. */
uint64_t core_written(const void *address);
/* A hash of the values of all atomics, whether they are in the schedule's memory or static. */
uint64_t core_state_of_cells(void);
/* Whether plain accesses are to be checked in this schedule. */
bool core_checks_races(void);
/* Variables of each thread, which no other sees. */
bool is_thread_local(const void *address);

#endif
