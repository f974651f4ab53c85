/* litmus.c: runs litmus tests under RC11: each exhaustively, without any bound, and by random schedules, and compares
 * what they ended with to what is expected of them. */
#include "litmus.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks.h"
#include "internal.h"
#include "strategy.h"

enum { REGISTERS = 8, PLACES = 8, STATEMENTS = 16, THREADS = 6, ENDS_MAX = 4096, FIRST_PLACE = 's' };

enum kind { STORE, LOAD, SWAP, ADD, CAS, FENCE, BARRIER };

typedef struct {
    bool is_register;
    uint32_t number;
} operand_t;

typedef struct {
    enum kind kind;
    int target, place; /* a register, a location */
    operand_t value, wanted;
    int order, failure;
} statement_t;

static struct {
    statement_t statements[THREADS][STATEMENTS];
    int counts[THREADS], threads;
} program;

/* ---- Reading a program ------------------------------------------------------------------------------------------- */

static const char *text;

__attribute__((noreturn)) static void bad(const char *what) {
    fprintf(stderr, "litmus: %s at: %s\n", what, text);
    exit(2);
}
static bool skip(const char *word) {
    while (*text == ' ') text++;
    if (strncmp(text, word, strlen(word)) != 0) return false;
    text += strlen(word);
    return true;
}
static void need(const char *word) {
    if (!skip(word)) bad(word);
}
static bool is_place(char name) { return name >= FIRST_PLACE && name < FIRST_PLACE + PLACES; }
static bool is_register(char name) { return name >= 'a' && name < 'a' + REGISTERS; }
static int read_place(void) {
    skip("");
    if (!is_place(*text)) bad("no location");
    return *text++ - FIRST_PLACE;
}
static operand_t read_operand(void) {
    skip("");
    if (is_register(*text)) return (operand_t){ true, (uint32_t)(*text++ - 'a') };
    char *end;
    operand_t operand = { false, (uint32_t)strtoul(text, &end, 10) };
    if (end == text) bad("no value");
    text = end;
    return operand;
}
static int read_order(int otherwise) {
    static const struct {
        const char *name;
        int order;
    } orders[] = {
        { ".rlx", __ATOMIC_RELAXED }, { ".acq", __ATOMIC_ACQUIRE }, { ".rel", __ATOMIC_RELEASE },
        { ".ar", __ATOMIC_ACQ_REL },  { ".sc", __ATOMIC_SEQ_CST },
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (skip(orders[i].name)) return orders[i].order;
    return otherwise;
}

static statement_t read_change(statement_t statement, enum kind kind) {
    statement.kind = kind;
    need("(");
    statement.place = read_place();
    need(",");
    if (kind == CAS) {
        statement.wanted = read_operand();
        need(",");
    }
    statement.value = read_operand();
    need(")");
    return statement;
}

static statement_t read_statement(void) {
    statement_t statement = { 0 };
    if (skip("F")) statement.kind = FENCE;
    else if (skip("M")) statement.kind = BARRIER;
    else if (skip(""), is_place(*text)) {
        statement.place = read_place();
        need("=");
        statement.value = read_operand();
    } else {
        if (!is_register(*text)) bad("no statement");
        statement.target = *text++ - 'a';
        need("=");
        if (skip("swap")) statement = read_change(statement, SWAP);
        else if (skip("add")) statement = read_change(statement, ADD);
        else if (skip("cas")) statement = read_change(statement, CAS);
        else {
            statement.kind = LOAD;
            statement.place = read_place();
        }
    }
    statement.order = read_order(__ATOMIC_RELAXED);
    statement.failure = read_order(__ATOMIC_RELAXED);
    return statement;
}

static void read_program(const char *source) {
    memset(&program, 0, sizeof program);
    text = source;
    do {
        if (program.threads == THREADS) bad("too many threads");
        int thread = program.threads++;
        do {
            if (program.counts[thread] == STATEMENTS) bad("too many statements");
            program.statements[thread][program.counts[thread]++] = read_statement();
        } while (skip(";"));
    } while (skip("||"));
    skip("");
    if (*text != 0) bad("something else");
}

/* ---- Running it -------------------------------------------------------------------------------------------------- */

static struct places { uint32_t at[PLACES][16]; } * places; /* a cache line each */
static uint32_t registers[REGISTERS];

static uint32_t value_of(operand_t operand) { return operand.is_register ? registers[operand.number] : operand.number; }

static void perform(const statement_t *s) {
    uint32_t *at = places->at[s->place], value = value_of(s->value), expected = value_of(s->wanted);
    switch (s->kind) {
    case STORE: explore_store(at, 4, value, s->order, "store"); break;
    case LOAD: registers[s->target] = (uint32_t)explore_load(at, 4, s->order, "load"); break;
    case SWAP: registers[s->target] = (uint32_t)explore_rmw(at, 4, EXPLORE_EXCHANGE, value, s->order, "swap"); break;
    case ADD: registers[s->target] = (uint32_t)explore_rmw(at, 4, EXPLORE_ADD, value, s->order, "add"); break;
    case CAS:
        explore_cas(at, 4, &expected, value, s->order, s->failure, "cas");
        registers[s->target] = expected;
        break;
    case FENCE: explore_fence(s->order, "F"); break;
    case BARRIER: core_membarrier("M"); break;
    }
}
static void run_thread(void) {
    int self = explore_thread();
    for (int i = 0; i < program.counts[self]; i++) perform(&program.statements[self][i]);
}
static void make_places(void) {
    places = explore_allocate(sizeof *places);
    memset(registers, 0, sizeof registers);
}

/* ---- What it ended with ------------------------------------------------------------------------------------------ */

typedef struct {
    uint32_t registers[REGISTERS], places[PLACES];
} end_t;
typedef struct {
    end_t ends[ENDS_MAX];
    uint64_t times[ENDS_MAX];
    int count;
} ends_t;
static ends_t all, drawn, *noted;

static int find(const ends_t *ends, const end_t *end) {
    for (int i = 0; i < ends->count; i++)
        if (memcmp(&ends->ends[i], end, sizeof *end) == 0) return i;
    return -1;
}
static void note_end(void) {
    end_t end;
    memcpy(end.registers, registers, sizeof registers);
    for (int i = 0; i < PLACES; i++) end.places[i] = places->at[i][0];
    int found = find(noted, &end);
    if (found < 0) {
        if (noted->count == ENDS_MAX) bad("too many ends");
        noted->ends[found = noted->count++] = end;
    }
    noted->times[found]++;
}

/* Moves behind the condition. */
static bool holds(const end_t *end, const char **condition) {
    bool all_hold = true;
    for (const char *at = *condition;; at++) {
        if (is_register(*at) || is_place(*at)) {
            uint32_t found = is_place(*at) ? end->places[*at - FIRST_PLACE] : end->registers[*at - 'a'];
            char *rest;
            if (at[1] != '=' || found != strtoul(at + 2, &rest, 10)) all_hold = false;
        } else if (*at == ';' || *at == 0) {
            *condition = at;
            return all_hold;
        }
    }
}

static uint64_t times(const ends_t *ends, const char *condition, const char **rest) {
    uint64_t sum = 0;
    for (int i = 0; i < ends->count; i++) {
        *rest = condition;
        if (holds(&ends->ends[i], rest)) sum += ends->times[i];
    }
    return sum;
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

enum { RANDOM = 20000 };

static explore_client_t make_client(const litmus_t *test) {
    read_program(test->program);
    explore_client_t client = { .name = test->name, .setup = make_places, .check = note_end, .without_time = true };
    for (int i = 0; i < program.threads; i++) client.threads[i] = run_thread;
    return client;
}

/* Returns whether nothing failed. */
static bool search(const litmus_t *test, search_t *exhaustive, bool randomly) {
    explore_client_t client = make_client(test);
    core_client_name = test->name;
    all.count = drawn.count = 0;
    memset(all.times, 0, sizeof all.times);
    memset(drawn.times, 0, sizeof drawn.times);
    search_memory = MEMORY_RC11;
    search_preemptions = search_stale = COST_MOST;
    search_t random;
    noted = &all;
    search_exhaustively(&client, UINT64_MAX, exhaustive);
    if (exhaustive->failure.outcome == OUTCOME_FAILED) {
        printf("%s: %s\n", test->name, exhaustive->failure.message);
        return false;
    }
    if (!randomly) return true;
    noted = &drawn;
    search_randomly(&client, 1, RANDOM, &random);
    return random.failure.outcome != OUTCOME_FAILED;
}

static int check(const litmus_t *test) {
    search_t exhaustive = { 0 };
    if (!search(test, &exhaustive, true)) return 1;
    int wrong = 0;
    for (int i = 0; i < drawn.count; i++) {
        if (find(&all, &drawn.ends[i]) >= 0) continue;
        printf("%s: a random schedule ended with what no schedule ends with\n", test->name);
        wrong = 1;
    }
    for (const char *at = test->expected; *at != 0;) {
        while (*at == ' ' || *at == ';') at++;
        bool allowed = *at == '+';
        if (!allowed && *at != '-') text = at, bad("neither + nor -");
        const char *condition = at + 1;
        uint64_t seen = times(&all, condition, &at), random = times(&drawn, condition, &at);
        bool right = allowed ? seen > 0 : seen == 0 && random == 0;
        if (!right) wrong = 1;
        printf("%-30s %-22s %-19.*s %-9s %5llu %6llu  %s\n", test->name, test->source, (int)(at - condition), condition,
               allowed ? "allowed" : "forbidden", (unsigned long long)seen, (unsigned long long)random,
               right ? "ok" : "WRONG");
    }
    return wrong;
}

static void print_ends(const litmus_t *test) {
    search_t exhaustive = { 0 };
    if (!search(test, &exhaustive, false)) exit(1);
    printf("%s|%s|%llu\n", test->name, test->program, (unsigned long long)exhaustive.schedules);
    for (int i = 0; i < all.count; i++) {
        for (int j = 0; j < REGISTERS; j++) printf("%u ", all.ends[i].registers[j]);
        for (int j = 0; j < PLACES; j++) printf("%u%c", all.ends[i].places[j], j == PLACES - 1 ? '\n' : ' ');
    }
    printf("\n");
}

static void read_and_print_ends(const char *path) {
    char line[1024];
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    while (fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = 0;
        print_ends(&(litmus_t){ .name = "program", .program = line });
    }
}

int litmus_main(int argc, char **argv) {
    bool ends = argc > 0 && strcmp(argv[0], "--ends") == 0;
    if (argc > 1 && strcmp(argv[0], "--programs") == 0) {
        read_and_print_ends(argv[1]);
        return 0;
    }
    if (ends) argc--, argv++;
    else printf("%-30s %-22s %-19s %-9s %5s %6s  %s\n", "test", "source", "outcome", "", "seen", "random", "verdict");
    int count = 0, wrong = 0;
    for (const litmus_t *test = litmus_tests; test->name != NULL; test++) {
        bool wanted = argc == 0;
        for (int i = 0; i < argc; i++) wanted = wanted || fnmatch(argv[i], test->name, 0) == 0;
        if (!wanted) continue;
        count++;
        if (ends) print_ends(test);
        else wrong += check(test);
    }
    if (ends) return 0;
    printf("%d litmus tests, %d wrong\n", count, wrong);
    return wrong != 0 || count == 0;
}
