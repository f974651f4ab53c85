/* environment_test.c: what the environment of a process begins: the checker of lock order and the deadlock watch. Each
 * test runs this program again, with other variables. */
#include <csynckernel/csynckernel.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "child.h"

static char program[4096];

static bool is_asked_for(const char *variable) {
    const char *value = getenv(variable);
    return value != NULL && strcmp(value, "1") == 0;
}

static void what_the_environment_asks_for_has_begun(void) {
    csk_gate_t gate = CSK_GATE_INITIALIZER;
    CHECK_STATUS(csk_order_level(&gate, 1), is_asked_for("CSK_LOCK_ORDER") ? 0 : EAGAIN);
    CHECK_EQ(csk_deadlock_is_watching(), is_asked_for("CSK_DEADLOCK"));
}

static void set(const char *variable, const char *value) {
    CHECK_EQ(value != NULL ? setenv(variable, value, 1) : unsetenv(variable), 0);
}

typedef struct {
    const char *order, *deadlock;
} values_t;

static void start_with(void *context) {
    const values_t *values = context;
    set("CSK_LOCK_ORDER", values->order);
    set("CSK_DEADLOCK", values->deadlock);
    int output = open("/dev/null", O_WRONLY); /* the other run's lines would stand between this one's */
    if (output >= 0) dup2(output, STDOUT_FILENO);
    run_program(program, program, "what_the_environment_asks_for_has_begun");
    _exit(3);
}

static void variables_begin_what_they_name(void) {
    static values_t cases[] = { { NULL, NULL }, { "1", NULL }, { NULL, "1" }, { "1", "1" }, { "0", "" } };
    CHECK(readlink("/proc/self/exe", program, sizeof program - 1) > 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) in_a_child(start_with, &cases[i]);
}

TEST_MAIN(TEST(variables_begin_what_they_name), TEST(what_the_environment_asks_for_has_begun))
