/* main.c: the command line of the explorer. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "entered.h"
#include "litmus.h"
#include "strategy.h"
#include "weaken.h"

static explore_client_t *clients;

void explore_register(explore_client_t *client) {
    explore_client_t **place = &clients;
    while (*place != NULL && strcmp((*place)->name, client->name) < 0) place = &(*place)->next;
    client->next = *place;
    *place = client;
}

static const char usage[] =
    "explore [options] [PATTERN ...]     explores the clients whose names match, all without a pattern\n"
    "explore litmus [PATTERN ...]        tests the model of RC11 by programs of which it is known what they may do\n"
    "  --model rc11           by RC11 with stale loads instead of store buffers\n"
    "  --preemptions N        of an exhaustive schedule at most, whatever the client says\n"
    "  --stale N              messages that are not the newest in an exhaustive schedule of RC11 (default 2)\n"
    "  --list                 the names\n"
    "  --random N             random schedules per client (default 2500)\n"
    "  --seconds N            random schedules per client for N seconds at most, however many are asked for\n"
    "  --first SEED           the first seed (default 1)\n"
    "  --limit N              exhaustive schedules per client at most (default 400000, and a client that has more\n"
    "                         fails; 20000 for those of partly.c)\n"
    "  --partly               only the clients of partly.c\n"
    "  --no-exhaustive        random schedules only\n"
    "  --part K --of N        of the clients each Nth, from the Kth on: for N processes at once\n"
    "  --quiet                one line at the first failure, nothing else: CLIENT SCHEDULES MESSAGE\n"
    "  --weaken STEP          one memory order weaker, as order_sites.py names the step\n"
    "  --sites                prints each client with the accesses that it comes to\n"
    "  --functions            the same with the addresses of functions, in a build that build.py --functions made\n"
    "  --replay SEED          the random schedule of that seed, step by step; needs a pattern for one client\n"
    "  --schedule TEXT        the schedule that a failure printed, step by step\n"
    "  --trace                also print the last schedule that passed\n";

static uint64_t random_count = 2500, first_seed = 1, limit, most_seconds = UINT64_MAX, part = 1, parts = 1;
static bool exhaustive = true, only_partly, quiet, print_trace, lists_functions;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void report(const explore_client_t *client, const char *how, search_t *search) {
    if (quiet) {
        printf("%s %s %llu %s\n", client->name, how, (unsigned long long)search->schedules, search->failure.message);
        return;
    }
    printf("FAILED\n%s: %s\n", client->name, search->failure.message);
    if (strcmp(how, "random") == 0)
        printf("seed %llu: explore --replay %llu %s\n", (unsigned long long)search->seed,
               (unsigned long long)search->seed, client->name);
    int deviations = shorten(client, &search->failure);
    printf("the shortest schedule found, %d steps, leaves the way %d times:\n", search->failure.steps, deviations);
    core_print_trace();
    printf("%s\n%s --schedule ", search->failure.message, client->name);
    print_deviations();
}

/* In portions, between which it looks at the clock. */
static void search_for_a_while(const explore_client_t *client, search_t *search) {
    enum { PORTION = 1000 };
    double began = seconds();
    uint64_t done = 0;
    do {
        uint64_t rest = random_count - done;
        search_randomly(client, first_seed + done, rest < PORTION ? rest : PORTION, search);
        done = search->schedules += done;
    } while (search->failure.outcome != OUTCOME_FAILED && done < random_count &&
             seconds() - began < (double)most_seconds);
}

/* Whether the search has found what the client is to be found to do. */
static bool fails_as_told(const explore_client_t *client, const search_t *search) {
    return client->fails != NULL && search->failure.outcome == OUTCOME_FAILED &&
           strncmp(search->failure.message, client->fails, strlen(client->fails)) == 0;
}

/* By all schedules, and by random ones. */
static bool explore_failure(const explore_client_t *client) {
    search_t search = { 0 };
    search_exhaustively(client, 50000, &search);
    if (!quiet) printf("%-44s %8llu schedules, ", client->name, (unsigned long long)search.schedules);
    bool as_told = fails_as_told(client, &search);
    if (as_told) {
        search_for_a_while(client, &search);
        as_told = fails_as_told(client, &search);
        if (as_told && !quiet)
            printf("and %llu random, until it fails: %s\n", (unsigned long long)search.schedules,
                   search.failure.message);
    }
    if (!as_told)
        printf("%s FAILED: not found to fail like this: %s; found: %s\n", client->name, client->fails,
               search.failure.outcome == OUTCOME_FAILED ? search.failure.message : "no failure");
    return as_told;
}

static bool explore(const explore_client_t *client) {
    if (client->fails != NULL) return explore_failure(client);
    enum { WHOLE = 400000, PART = 20000 };
    search_t search = { 0 };
    double began = seconds();
    bool partly = is_partly_explored(client->name);
    if (!quiet) printf("%-44s ", client->name), fflush(stdout);
    if (exhaustive && client->preemptions > 0) {
        bool bounded = partly || search_memory == MEMORY_RC11;
        search_exhaustively(client, limit != 0 ? limit : bounded ? PART : WHOLE, &search);
        if (search.failure.outcome == OUTCOME_FAILED) return report(client, "exhaustive", &search), false;
        if (!quiet) {
            printf("%8llu schedules, %s %d preemptions; ", (unsigned long long)search.schedules,
                   search.complete ? "all with" : "NOT all with",
                   search_preemptions >= 0 ? search_preemptions : client->preemptions);
            fflush(stdout);
        }
        if (!search.complete && !partly && limit == 0 && search_memory != MEMORY_RC11) {
            printf("FAILED: more than %d schedules, and partly.c does not name the client\n", WHOLE);
            return false;
        }
    }
    search_for_a_while(client, &search);
    if (search.failure.outcome == OUTCOME_FAILED) return report(client, "random", &search), false;
    if (!quiet) printf("%llu random; %.1f s\n", (unsigned long long)search.schedules, seconds() - began);
    if (print_trace) core_print_trace();
    return true;
}

static bool matches(const explore_client_t *client, int count, char **patterns) {
    if (client->without_rc11 && search_memory == MEMORY_RC11) return false;
    if (only_partly && !is_partly_explored(client->name)) return false;
    for (int i = 0; i < count; i++)
        if (fnmatch(patterns[i], client->name, 0) == 0) return true;
    return count == 0;
}

static uint64_t number_after(int argc, char **argv, int *at) {
    char *end;
    if (*at + 1 >= argc) goto bad;
    uint64_t value = strtoull(argv[++*at], &end, 10);
    if (*end == 0 && argv[*at][0] != 0) return value;
bad:
    fprintf(stderr, "explore: %s needs a number\n", argv[*at]);
    exit(2);
}

/* One schedule, step by step: that of a text, or the random one of the first seed without a text. */
static int repeat(const explore_client_t *client, const char *schedule) {
    search_t search = { 0 };
    if (schedule == NULL) search_randomly(client, first_seed, 1, &search);
    else if (!run_deviations(client, schedule, &search.failure)) {
        fputs("explore: this is no schedule\n", stderr);
        return 2;
    }
    core_print_trace();
    bool failed = search.failure.outcome == OUTCOME_FAILED;
    printf("%s: %s\n", client->name, failed ? search.failure.message : "passes");
    return failed;
}

int main(int argc, char **argv) {
    const char *schedule = NULL;
    bool replay = false, list = false;
    int at = 1;
    if (argc > 1 && strcmp(argv[1], "litmus") == 0) return litmus_main(argc - 2, argv + 2);
    for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
        const char *option = argv[at];
        if (strcmp(option, "--list") == 0) list = true;
        else if (strcmp(option, "--random") == 0) random_count = number_after(argc, argv, &at);
        else if (strcmp(option, "--seconds") == 0) most_seconds = number_after(argc, argv, &at);
        else if (strcmp(option, "--first") == 0) first_seed = number_after(argc, argv, &at);
        else if (strcmp(option, "--limit") == 0) limit = number_after(argc, argv, &at);
        else if (strcmp(option, "--preemptions") == 0) search_preemptions = (int)number_after(argc, argv, &at);
        else if (strcmp(option, "--stale") == 0) search_stale = (int)number_after(argc, argv, &at);
        else if (strcmp(option, "--model") == 0 && at + 1 < argc && strcmp(argv[at + 1], "rc11") == 0)
            search_memory = MEMORY_RC11, at++;
        else if (strcmp(option, "--partly") == 0) only_partly = true;
        else if (strcmp(option, "--no-exhaustive") == 0) exhaustive = false;
        else if (strcmp(option, "--part") == 0) part = number_after(argc, argv, &at);
        else if (strcmp(option, "--of") == 0) parts = number_after(argc, argv, &at);
        else if (strcmp(option, "--quiet") == 0) quiet = true;
        else if (strcmp(option, "--trace") == 0) print_trace = true;
        else if (strcmp(option, "--replay") == 0) replay = true, first_seed = number_after(argc, argv, &at);
        else if (strcmp(option, "--sites") == 0) weaken_lists_sites = true;
        else if (strcmp(option, "--functions") == 0) lists_functions = true;
        else if (strcmp(option, "--weaken") == 0 && at + 1 < argc && weaken(argv[at + 1])) at++;
        else if (strcmp(option, "--schedule") == 0 && at + 1 < argc) schedule = argv[++at];
        else {
            fputs(usage, stderr);
            return 2;
        }
    }
    if (part < 1 || part > parts) {
        fputs("explore: --part is a number from 1 to that of --of\n", stderr);
        return 2;
    }
    int count = argc - at, found = 0, failures = 0;
    uint64_t matching = 0;
    for (const explore_client_t *client = clients; client != NULL; client = client->next) {
        if (!matches(client, count, argv + at) || matching++ % parts != part - 1) continue;
        found++;
        core_client_name = client->name;
        if (weaken_lists_sites) weaken_list_from(client->name);
        if (lists_functions) entered_list_from(client->name);
        if (list) {
            printf("%s\n", client->name);
        } else if (schedule != NULL || replay) {
            return repeat(client, schedule);
        } else if (!explore(client)) {
            failures++;
            if (quiet) return 1;
        }
    }
    if (matching == 0) {
        fputs("explore: no client has such a name\n", stderr);
        return 2;
    }
    if (!list && !quiet) printf("%d of %d clients passed\n", found - failures, found);
    return failures != 0;
}
