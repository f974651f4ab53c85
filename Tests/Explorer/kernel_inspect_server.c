/* kernel_inspect_server.c: the kernel's inspect_server.c without a socket: its event is a number, and its view counts
 * how often it was asked for. */
#include "explorer.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

#include "csynckernel/inspect.h"
#include "internal.h"
#include "thread/fork.h"

enum { EVENT = 3 };

static uint32_t event; /* how often it was written, and not read */
uint32_t kernel_views_printed;

static int take_signal_over(int signal, const struct sigaction *action, struct sigaction *before) {
    (void)signal, (void)action;
    if (before != NULL) *before = (struct sigaction){ .sa_handler = SIG_DFL };
    return 0;
}
EXPLORE_UNSEEN static int print_nothing(csk_inspection_t *view, uint32_t format, csk_print_t print, void *context) {
    (void)view, (void)format, (void)print, (void)context;
    kernel_views_printed++;
    return 0;
}

EXPLORE_UNSEEN static long await_event(struct pollfd *files) {
    explore_wait(&event, 1);
    files[0].revents = POLLIN;
    return 1;
}
EXPLORE_UNSEEN static long call_system(long number, ...) {
    va_list arguments;
    va_start(arguments, number);
    long status = 0;
    if (number == SYS_eventfd2) explore_set(&event, 0), status = EVENT;
    else if (number == SYS_ppoll) status = await_event(va_arg(arguments, struct pollfd *));
    else if (number == SYS_write) explore_set(&event, event + 1);
    else if (number == SYS_read) status = event != 0 ? (long)sizeof(uint64_t) : -1;
    if (number == SYS_read) explore_set(&event, 0);
    va_end(arguments);
    return status;
}

/* Its fork is shown by C tests. */
#define csk_fork_enroll(place, functions) ((void)(functions), (void)after_fork_in_child)
#define csk_inspect_print print_nothing
#define sigaction(signal, action, before) take_signal_over(signal, action, before)
#define syscall call_system
#include "observe/inspect_server.c"

void kernel_reset_inspect_server(void) {
    server = (__typeof__(server)){ .event = -1, .listener = -1, .folder = -1 };
    for (int i = 0; i < SERVED; i++) server.clients[i].file = -1;
    event = kernel_views_printed = 0;
}
