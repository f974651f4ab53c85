/* inspect_server_test.c: views are served on a socket that only the same user reaches, whatever clients do. */
#include "child.h"
#include "inspect_client.h"

#include <csynckernel/csynckernel.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static mode_t mode_of(const char *of) {
    struct stat file;
    return stat(of, &file) == 0 ? file.st_mode & 07777 : 0;
}

/* ---- Requests ---------------------------------------------------------------------------------------------------- */

static void text_and_json_are_answered(void) {
    make_folder();
    mode_t before = umask(0);
    CHECK_STATUS(csk_inspect_serve(path, 0), 0);
    CHECK_EQ(mode_of(path), 0600);
    CHECK_STATUS(csk_inspect_serve(path, 0), EBUSY);
    CHECK(strncmp(ask("text\n"), "process ", 8) == 0);
    CHECK(strncmp(ask("json\r\n"), "{\"process\":", 11) == 0);
    CHECK(strstr(answer, "\"lists_callbacks\":true") != NULL);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
    CHECK_STATUS(csk_inspect_end_serving(), EPERM);
    CHECK_EQ(mode_of(path), 0);
    CHECK_EQ(connect_to(path), -1);
    umask(0777);
    CHECK_STATUS(csk_inspect_serve(path, 0), 0);
    CHECK_EQ(mode_of(path), 0600);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
    umask(before);
}

static void other_lines_are_refused(void) {
    make_folder();
    CHECK_STATUS(csk_inspect_serve(path, 0), 0);
    CHECK(strncmp(ask("html\n"), "error: ", 7) == 0);
    CHECK(strncmp(ask("\n"), "error: ", 7) == 0);
    CHECK(strncmp(ask("textjson\n"), "error: ", 7) == 0);
    char garbage[4096];
    memset(garbage, 'x', sizeof garbage);
    garbage[sizeof garbage - 1] = 0;
    CHECK(strncmp(ask(garbage), "error: ", 7) == 0);
    /* A line may end with the client's half of the connection, and may come in pieces. */
    int file = connect_to(path);
    CHECK_EQ(write(file, "te", 2), 2);
    CHECK_EQ(write(file, "xt", 2), 2);
    CHECK_EQ(shutdown(file, SHUT_WR), 0);
    CHECK(read_all(file, answer, sizeof answer, 30000) > 0);
    CHECK(strncmp(answer, "process ", 8) == 0);
    close(file);
    close(connect_to(path));
    CHECK(strncmp(ask("text\n"), "process ", 8) == 0);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
}

static void silent_clients_hold_nobody_up_and_are_dropped(void) {
    make_folder();
    CHECK_STATUS(csk_inspect_serve(path, 0), 0);
    int silent[7];
    for (int i = 0; i < 7; i++) silent[i] = connect_to(path);
    int64_t before_ns = csk_now();
    CHECK(strncmp(ask("text\n"), "process ", 8) == 0);
    CHECK_LE(csk_now() - before_ns, INT64_C(1500000000));
    /* More than are served at once: those that came last wait until the silent ones were dropped. */
    int more = connect_to(path);
    CHECK(more >= 0);
    CHECK(strncmp(ask("text\n"), "process ", 8) == 0);
    for (int i = 0; i < 7; i++) {
        CHECK_EQ(read_all(silent[i], answer, sizeof answer, 30000), 0);
        close(silent[i]);
    }
    CHECK_LE(csk_now() - before_ns, INT64_C(20000000000));
    close(more);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
}

/* ---- A program that is stuck ------------------------------------------------------------------------------------- */

static csk_gate_t gate = CSK_GATE_INITIALIZER;
static void *lock_gate(void *unused) {
    (void)unused;
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    return NULL;
}
static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text++) count++;
    return count;
}
static void threads_that_are_stuck_are_answered_for(void) {
    make_folder();
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    CHECK_STATUS(csk_inspect_serve(path, 0), 0);
    CHECK_STATUS(csk_gate_lock(&gate, 0), 0);
    for (int i = 0; i < THREADS; i++) threads[i] = start_thread(lock_gate, NULL);
    wait_until(count_of(ask("json\n"), "\"wait\":") == THREADS);
    int64_t before_ns = csk_now();
    ask("json\n");
    int64_t took_ns = csk_now() - before_ns;
    printf("(%lld us) ", (long long)(took_ns / 1000));
    CHECK_LE(took_ns, INT64_C(100000000) * TEST_SLOWDOWN);
    CHECK_STATUS(csk_gate_unlock(&gate), 0);
    for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
}

/* ---- What is refused --------------------------------------------------------------------------------------------- */

static void what_can_not_be_served_is_refused(void) {
    make_folder();
    char long_path[300];
    memset(long_path, 'p', sizeof long_path);
    long_path[sizeof long_path - 1] = 0;
    CHECK_STATUS(csk_inspect_serve(NULL, 0), EINVAL);
    CHECK_STATUS(csk_inspect_serve("", 0), EINVAL);
    CHECK_STATUS(csk_inspect_serve(NULL, SIGKILL), EINVAL);
    CHECK_STATUS(csk_inspect_serve(NULL, -1), EINVAL);
    CHECK_STATUS(csk_inspect_serve(NULL, 10000), EINVAL);
    CHECK_STATUS(csk_inspect_serve(long_path, 0), ENAMETOOLONG);
    CHECK_STATUS(csk_inspect_serve("/tmp/csk-there-is-no-such-folder/waits", 0), ENOENT);
    int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(file >= 0);
    close(file);
    CHECK_STATUS(csk_inspect_serve(path, 0), EADDRINUSE);
    CHECK_EQ(unlink(path), 0);
}

static int listen_at(const char *at) {
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = address_of(at);
    CHECK_EQ(bind(file, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_EQ(listen(file, 1), 0);
    return file;
}
static void a_socket_that_is_left_behind_is_replaced_and_a_live_one_is_not(void) {
    make_folder();
    int other = listen_at(path);
    CHECK_STATUS(csk_inspect_serve(path, 0), EADDRINUSE);
    close(other); /* the file stays */
    CHECK(mode_of(path) != 0);
    CHECK_STATUS(csk_inspect_serve(path, 0), 0);
    CHECK(strncmp(ask("text\n"), "process ", 8) == 0);
    /* One that another process has put there meanwhile is not removed. */
    CHECK_EQ(unlink(path), 0);
    other = listen_at(path);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
    CHECK(mode_of(path) != 0);
    close(other);
    CHECK_EQ(unlink(path), 0);
}

/* ---- Other users, and fork --------------------------------------------------------------------------------------- */

static void ask_as_nobody(void *unused) {
    (void)unused;
    enum { NOBODY = 65534 };
    CHECK_EQ(setgid(NOBODY), 0);
    CHECK_EQ(setuid(NOBODY), 0);
    int file = connect_to(path);
    if (file < 0) return; /* the mode keeps it out */
    (void)send(file, "text\n", 5, MSG_NOSIGNAL);
    CHECK_LE(read_all(file, answer, sizeof answer, 30000), 0);
}
static void another_user_is_not_answered(void) {
    make_folder();
    if (geteuid() != 0) {
        printf("(not root) ");
        return;
    }
    CHECK_EQ(chmod(folder, 0755), 0);
    CHECK_STATUS(csk_inspect_serve(path, 0), 0);
    in_a_child(ask_as_nobody, NULL);
    CHECK_EQ(chmod(path, 0666), 0);
    in_a_child(ask_as_nobody, NULL);
    CHECK(strncmp(ask("text\n"), "process ", 8) == 0);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
}

static void serve_in_child(void *unused) {
    (void)unused;
    struct sigaction now;
    CHECK_EQ(sigaction(SIGUSR2, NULL, &now), 0);
    CHECK(now.sa_handler == SIG_DFL);
    CHECK_STATUS(csk_inspect_end_serving(), EPERM);
    char text[32];
    snprintf(text, sizeof text, "process %d:", (int)getppid());
    CHECK(strncmp(ask("text\n"), text, strlen(text)) == 0);
    CHECK_STATUS(csk_inspect_serve(path, 0), EADDRINUSE);
    char own[80];
    snprintf(own, sizeof own, "%s.child", path);
#ifndef __SANITIZE_THREAD__
    CHECK_STATUS(csk_inspect_serve(own, SIGUSR2), 0);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
#endif
}
static void a_child_of_fork_does_not_serve(void) {
    make_folder();
    CHECK_STATUS(csk_inspect_serve(path, SIGUSR2), 0);
    in_a_child(serve_in_child, NULL);
    CHECK(strncmp(ask("text\n"), "process ", 8) == 0);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
}

/* What the library calls instead of the system's function forks, as another thread might at that moment. */
static void (*at_bind)(void);
int bind_or_fork(int file, const void *address, socklen_t size) __asm__("bind");
int bind_or_fork(int file, const void *address, socklen_t size) {
    if (at_bind != NULL) at_bind();
    return (int)syscall(SYS_bind, file, address, size);
}

static void stay(void *has_begun) {
    STORE((uint32_t *)has_begun, 1);
    for (;;) pause();
}
static pid_t start_child_that_stays(void) {
    uint32_t *has_begun = shared_page();
    pid_t child = start_child(stay, has_begun);
    wait_until(LOAD(has_begun) != 0);
    CHECK_EQ(munmap(has_begun, 4096), 0);
    return child;
}
static void end_child(pid_t child) {
    CHECK_EQ(kill(child, SIGKILL), 0);
    wait_for_child(child);
}

static pid_t forked;
static void fork_once(void) {
    at_bind = NULL;
    forked = start_child_that_stays();
}
static void a_child_that_was_forked_meanwhile_keeps_no_lock_of_the_folder(void) {
    make_folder();
    at_bind = fork_once;
    CHECK_STATUS(csk_inspect_serve(path, 0), 0);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
    CHECK_STATUS(csk_inspect_serve(path, 0), 0);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
    end_child(forked);
}

static void serve_and_be_gone(void *child) {
    at_bind = fork_once;
    CHECK_STATUS(csk_inspect_serve(path, 0), 0);
    *(pid_t *)child = forked;
}
static void a_child_that_was_forked_meanwhile_keeps_no_socket_alive(void) {
#ifdef __SANITIZE_THREAD__
    printf("(no threads in children) ");
    return;
#endif
    make_folder();
    pid_t *child = shared_page();
    in_a_child(serve_and_be_gone, child);
    CHECK(mode_of(path) != 0);
    CHECK_STATUS(csk_inspect_serve(path, 0), 0);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
    CHECK_EQ(kill(*child, SIGKILL), 0);
    CHECK_EQ(munmap(child, 4096), 0);
}

/* The same with what removes the socket's file. */
static void (*at_unlink)(void);
int unlink_or_fork(const char *name) __asm__("unlink");
int unlink_or_fork(const char *name) {
    if (at_unlink != NULL) at_unlink();
    return (int)syscall(SYS_unlinkat, AT_FDCWD, name, 0);
}

static bool are_callbacks_listed(void) {
    csk_inspection_t view = { .object_room = 0 };
    CHECK_STATUS(csk_inspect(&view), 0);
    return view.lists_callbacks != 0;
}
static void expect_no_list(void *unused) {
    (void)unused;
    CHECK(!are_callbacks_listed());
    CHECK_STATUS(csk_inspect_end_serving(), EPERM);
    csk_inspect_callbacks(true);
    CHECK(are_callbacks_listed());
    csk_inspect_callbacks(false);
    CHECK(!are_callbacks_listed());
}
static void fork_and_expect_no_list(void) { in_a_child(expect_no_list, NULL); }
static void a_child_that_was_forked_meanwhile_does_not_list_callbacks(void) {
    make_folder();
    at_bind = at_unlink = fork_and_expect_no_list;
    CHECK_STATUS(csk_inspect_serve(path, 0), 0);
    CHECK(are_callbacks_listed());
    fork_and_expect_no_list();
    CHECK_STATUS(csk_inspect_end_serving(), 0);
    CHECK(!are_callbacks_listed());
    at_bind = at_unlink = NULL;
}

TEST_MAIN(TEST(text_and_json_are_answered), TEST(other_lines_are_refused),
          TEST(silent_clients_hold_nobody_up_and_are_dropped), TEST(threads_that_are_stuck_are_answered_for),
          TEST(what_can_not_be_served_is_refused), TEST(a_socket_that_is_left_behind_is_replaced_and_a_live_one_is_not),
          TEST(another_user_is_not_answered), TEST(a_child_of_fork_does_not_serve),
          TEST(a_child_that_was_forked_meanwhile_keeps_no_lock_of_the_folder),
          TEST(a_child_that_was_forked_meanwhile_keeps_no_socket_alive),
          TEST(a_child_that_was_forked_meanwhile_does_not_list_callbacks), TEST(nothing_is_left_in_the_folder))
