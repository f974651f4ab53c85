/* strategy.c: random schedules (PCT and random walks), exhaustive ones with a bound on preemptions, and making failures
 * short. */
#include "strategy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- Deviations: a schedule as the places where it does not go on as before -------------------------------------- */

typedef struct {
    int step;
    uint8_t actor;
} deviation_t;
static deviation_t taken[MAX_STEPS + 2], wanted[MAX_STEPS + 2];
static int taken_count, wanted_count, wanted_next;
static schedule_t last_schedule;
memory_t search_memory = MEMORY_BUFFERS;
int search_preemptions = -1, search_stale = 2;

static int take(const choice_t *choices, int chosen, int step) {
    if (chosen > 0) taken[taken_count++] = (deviation_t){ step, choices[chosen].actor };
    return chosen;
}

static void run(const explore_client_t *client, chooser_t choose, schedule_t schedule, result_t *result) {
    taken_count = 0;
    wanted_next = 0;
    last_schedule = (schedule_t){ .memory = schedule.memory, .seed = schedule.seed };
    core_run(client, choose, &schedule, result);
}

static int choose_wanted(const choice_t *choices, int count, int step, uint64_t state) {
    (void)state;
    while (wanted_next < wanted_count && wanted[wanted_next].step < step) wanted_next++;
    if (wanted_next < wanted_count && wanted[wanted_next].step == step)
        for (int i = 0; i < count; i++)
            if (choices[i].actor == wanted[wanted_next].actor) return take(choices, i, step);
    return 0;
}

/* Two failures are the same when they say the same up to the first digit. */
static bool same_failure(const char *a, const char *b) {
    for (; *a != 0 && *a == *b; a++, b++) {}
    return (*a == 0 && *b == 0) || (*a >= '0' && *a <= '9') || (*b >= '0' && *b <= '9');
}

int shorten(const explore_client_t *client, result_t *result) {
    static deviation_t best[MAX_STEPS + 2];
    result_t first = *result, again;
    int count = taken_count, replays = 0;
    memcpy(best, taken, sizeof *best * (size_t)count);
    for (bool better = true; better && replays < 3000;) {
        better = false;
        for (int drop = count - 1; drop >= 0 && replays < 3000; drop--) {
            wanted_count = 0;
            for (int i = 0; i < count; i++)
                if (i != drop) wanted[wanted_count++] = best[i];
            run(client, choose_wanted, last_schedule, &again);
            replays++;
            if (again.outcome != OUTCOME_FAILED || !same_failure(again.message, first.message) || taken_count >= count)
                continue;
            count = taken_count;
            memcpy(best, taken, sizeof *best * (size_t)count);
            if (drop > count) drop = count;
            better = true;
        }
    }
    wanted_count = count;
    memcpy(wanted, best, sizeof *best * (size_t)count);
    run(client, choose_wanted, last_schedule, result);
    return taken_count;
}

void print_deviations(void) {
    printf("%c%llu", last_schedule.memory, (unsigned long long)last_schedule.seed);
    for (int i = 0; i < taken_count; i++) printf(",%d:%d", taken[i].step, taken[i].actor);
    printf("\n");
}

bool run_deviations(const explore_client_t *client, const char *text, result_t *result) {
    schedule_t schedule = { .memory = (memory_t)*text };
    if (*text != MEMORY_BUFFERS && *text != MEMORY_WEAK_BUFFERS && *text != MEMORY_RC11) return false;
    char *rest;
    schedule.seed = strtoull(text + 1, &rest, 10);
    wanted_count = 0;
    while (*rest == ',') {
        int step = (int)strtol(rest + 1, &rest, 10);
        if (*rest != ':' || wanted_count == MAX_STEPS) return false;
        wanted[wanted_count++] = (deviation_t){ step, (uint8_t)strtol(rest + 1, &rest, 10) };
    }
    if (*rest != 0) return false;
    run(client, choose_wanted, schedule, result);
    return true;
}

/* ---- Random schedules -------------------------------------------------------------------------------------------- */

enum { CHANGES = 6, STALE_MOST = 8 };

static uint64_t dice;
static struct {
    bool walk;
    unsigned stay;             /* of 64 */
    uint64_t priority[ACTORS]; /* PCT */
    int change[CHANGES], changes;
    int stale;           /* so many messages that are not the newest may be read */
    unsigned stale_odds; /* of 64 */
} plan;
static int expected_steps = 200;

static int choose_by_priority(const choice_t *choices, int count, int step) {
    for (;;) {
        int best = 0;
        for (int i = 1; i < count; i++)
            if (plan.priority[choices[i].actor] > plan.priority[choices[best].actor]) best = i;
        bool changed = false;
        for (int i = 0; i < plan.changes; i++) {
            if (plan.change[i] != step) continue;
            plan.change[i] = -1;
            plan.priority[choices[best].actor] = (uint64_t)i; /* below all that were drawn */
            changed = true;
        }
        if (!changed) return best;
    }
}

static int choose_by_walk(const choice_t *choices, int count) {
    if (random_next(&dice) % 64 < plan.stay) return 0;
    int chosen = (int)(random_next(&dice) % (uint64_t)count);
    /* Time and wakes without reason are one step in a hundred, not one choice in five. */
    if (choices[chosen].actor >= ACTOR_TIME && random_next(&dice) % 16 != 0)
        return (int)(random_next(&dice) % (uint64_t)count);
    return chosen;
}

static int choose_message(int count) {
    if (plan.stale == 0 || random_next(&dice) % 64 >= plan.stale_odds) return 0;
    plan.stale--;
    return 1 + (int)(random_next(&dice) % (uint64_t)(count - 1));
}

static int choose_randomly(const choice_t *choices, int count, int step, uint64_t state) {
    (void)state;
    if (choices[0].actor >= ACTOR_MESSAGE) return take(choices, choose_message(count), step);
    return take(choices, plan.walk ? choose_by_walk(choices, count) : choose_by_priority(choices, count, step), step);
}

static void draw_plan(uint64_t seed) {
    dice = seed * UINT64_C(0x2545F4914F6CDD1D) + 1;
    plan.walk = random_next(&dice) % 2 == 0;
    plan.stay = (unsigned)(random_next(&dice) % 60);
    for (int i = 0; i < ACTOR_INTERRUPT; i++) plan.priority[i] = CHANGES + random_next(&dice) % (UINT64_C(1) << 40);
    /* Half of the time, time passes only when nothing else can happen; wakes without a reason likewise. */
    if (random_next(&dice) % 2 == 0) plan.priority[ACTOR_TIME] = CHANGES;
    if (random_next(&dice) % 2 == 0)
        for (int i = ACTOR_SPURIOUS; i < ACTOR_INTERRUPT; i++) plan.priority[i] = CHANGES;
    plan.changes = (int)(random_next(&dice) % (CHANGES + 1));
    for (int i = 0; i < plan.changes; i++) plan.change[i] = (int)(random_next(&dice) % (uint64_t)expected_steps);
    if (search_memory != MEMORY_RC11) return;
    for (int i = ACTOR_INTERRUPT; i < ACTOR_MESSAGE; i++)
        plan.priority[i] = CHANGES + random_next(&dice) % (UINT64_C(1) << 40);
    plan.stale = (int)(random_next(&dice) % (STALE_MOST + 1));
    plan.stale_odds = 1 + (unsigned)(random_next(&dice) % 63);
}

void search_randomly(const explore_client_t *client, uint64_t first, uint64_t count, search_t *search) {
    *search = (search_t){ 0 };
    for (uint64_t seed = first; seed < first + count; seed++) {
        draw_plan(seed);
        schedule_t schedule = { .memory = search_memory, .seed = seed };
        if (search_memory != MEMORY_RC11 && random_next(&dice) % 2 == 0) schedule.memory = MEMORY_WEAK_BUFFERS;
        run(client, choose_randomly, schedule, &search->failure);
        search->schedules++;
        search->seed = seed;
        if (search->failure.outcome == OUTCOME_FAILED) return;
    }
}

/* ---- Exhaustive schedules ---------------------------------------------------------------------------------------- */

/* Depth first over the choices. A state, which is a happens-before graph and who ran last, that was left with as many
 * preemptions to spare before is not gone on from again. */
typedef struct {
    choice_t choices[MAX_CHOICES];
    uint8_t count, chosen;
    uint16_t spent; /* preemptions and stale messages, as in choice_t */
} frame_t;
static frame_t *frames;
static int depth_known;
static uint16_t bound;
static uint64_t pruned;

/* Whether neither of the two budgets is larger. */
static bool is_within(uint16_t spent, uint16_t limits) {
    return (spent & 0xFF) <= (limits & 0xFF) && spent >> 8 <= limits >> 8;
}

/* What a choice adds; a budget without a bound is not counted. */
static uint16_t spend(uint16_t spent, uint16_t cost) {
    if ((bound & 0xFF) == COST_MOST) cost &= 0xFF00;
    if (bound >> 8 == COST_MOST) cost &= 0xFF;
    return (uint16_t)(spent + cost);
}

enum { CACHE_SIZE = 1 << 22 };
typedef struct {
    uint64_t state;
    uint32_t search; /* of which search; a place of another's is free */
    uint16_t spent;
} visited_t;
static visited_t *visited;
static uint32_t visited_count, this_search;

static bool was_visited(uint64_t state, uint16_t spent) {
    size_t slot = (size_t)(state % CACHE_SIZE);
    for (;; slot = (slot + 1) % CACHE_SIZE) {
        bool taken_up = visited[slot].search == this_search;
        if (taken_up && visited[slot].state == state) {
            if (is_within(visited[slot].spent, spent)) return true;
            if (is_within(spent, visited[slot].spent)) visited[slot].spent = spent;
            return false;
        }
        if (taken_up) continue;
        /* A full cache costs time, not schedules. */
        if (visited_count < CACHE_SIZE / 4 * 3) {
            visited[slot] = (visited_t){ state, this_search, spent };
            visited_count++;
        }
        return false;
    }
}

static int choose_exhaustively(const choice_t *choices, int count, int step, uint64_t state) {
    frame_t *frame = &frames[step];
    if (step >= depth_known) {
        uint16_t spent = step == 0
                             ? 0
                             : spend(frames[step - 1].spent, frames[step - 1].choices[frames[step - 1].chosen].cost);
        if (count > 1 && was_visited(state, spent)) {
            pruned++;
            return -1;
        }
        memcpy(frame->choices, choices, sizeof *choices * (size_t)count);
        frame->count = (uint8_t)count;
        frame->chosen = 0;
        frame->spent = spent;
        depth_known = step + 1;
    }
    return take(choices, frame->chosen, step);
}

static int known_actor(int choice) {
    const frame_t *frame = &frames[choice];
    return frame->choices[take(frame->choices, frame->chosen, choice)].actor;
}

static bool next_schedule(void) {
    while (depth_known > 0) {
        frame_t *frame = &frames[depth_known - 1];
        while (++frame->chosen < frame->count)
            if (is_within(spend(frame->spent, frame->choices[frame->chosen].cost), bound)) return true;
        depth_known--;
    }
    return false;
}

/* Returns false where the limit stopped it, or a failure. */
static bool search_within_bound(const explore_client_t *client, uint64_t limit, search_t *search) {
    this_search++;
    visited_count = 0;
    depth_known = 0;
    do {
        if (search->schedules == limit) return false;
        run(client, choose_exhaustively,
            (schedule_t){ .memory = search_memory, .known = depth_known, .known_actor = known_actor },
            &search->failure);
        search->schedules++;
        if (search->each != NULL) search->each(&search->failure);
        if (search->failure.outcome == OUTCOME_FAILED) return false;
    } while (next_schedule());
    return true;
}

void search_exhaustively(const explore_client_t *client, uint64_t limit, search_t *search) {
    *search = (search_t){ .each = search->each };
    if (frames == NULL) {
        frames = malloc(sizeof *frames * (MAX_STEPS + 2));
        visited = mmap(NULL, sizeof *visited * CACHE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (visited == MAP_FAILED) abort();
        madvise(visited, sizeof *visited * CACHE_SIZE, MADV_HUGEPAGE); /* each look is a miss, in one table or two */
    }
    pruned = 0;
    int preemptions = search_preemptions >= 0 ? search_preemptions : client->preemptions;
    int stale = search_memory == MEMORY_RC11 ? search_stale : 0;
    /* Few deviations first, so that the first failure is a short one; where nothing is bounded all at once. */
    int most = preemptions > stale ? preemptions : stale;
    for (int few = most == COST_MOST ? most : 0; few <= most; few++) {
        bound = (uint16_t)((few < preemptions ? few : preemptions) + COST_STALE * (few < stale ? few : stale));
        search->complete = search_within_bound(client, limit, search);
        search->skipped = pruned;
        if (!search->complete) return;
    }
}
