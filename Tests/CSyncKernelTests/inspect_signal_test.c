/* inspect_signal_test.c: a signal writes a view to the standard error stream, whatever that is and whoever reads it. */
#include "child.h"
#include "inspect_client.h"

#include <csynckernel/csynckernel.h>
#include <fcntl.h>
#include <sys/stat.h>

static void ignore(int number) { (void)number; }

/* The file is the standard error stream until the returned one is given back. */
static int error_goes_to(int file) {
    int before = dup(STDERR_FILENO);
    CHECK(before >= 0);
    CHECK(dup2(file, STDERR_FILENO) >= 0);
    return before;
}
static void give_error_back(int before) {
    CHECK(dup2(before, STDERR_FILENO) >= 0);
    close(before);
}

static void a_signal_writes_the_text_to_the_error_stream(void) {
    int pipe_of[2];
    CHECK_EQ(pipe(pipe_of), 0);
    CHECK_STATUS(csk_inspect_serve(NULL, SIGUSR2), 0);
    int error = error_goes_to(pipe_of[1]);
    CHECK_EQ(kill(getpid(), SIGUSR2), 0);
    struct pollfd poll_for = { .fd = pipe_of[0], .events = POLLIN };
    CHECK_EQ(poll(&poll_for, 1, 30000), 1);
    ssize_t count = read(pipe_of[0], answer, sizeof answer - 1);
    give_error_back(error);
    CHECK(count > 8);
    CHECK(strncmp(answer, "process ", 8) == 0);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
    close(pipe_of[0]);
    close(pipe_of[1]);
    struct sigaction now;
    CHECK_EQ(sigaction(SIGUSR2, NULL, &now), 0);
    CHECK(now.sa_handler == SIG_DFL);
    signal(SIGUSR2, ignore);
    CHECK_STATUS(csk_inspect_serve(NULL, SIGUSR2), EBUSY);
    signal(SIGUSR2, SIG_DFL);
}

static void a_handler_that_the_program_has_set_meanwhile_stays(void) {
    struct sigaction now;
    CHECK_STATUS(csk_inspect_serve(NULL, SIGUSR2), 0);
    signal(SIGUSR2, ignore);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
    CHECK_EQ(sigaction(SIGUSR2, NULL, &now), 0);
    CHECK(now.sa_handler == ignore);
    signal(SIGUSR2, SIG_DFL);
}

static void fill(const int *pipe_of) {
    CHECK_EQ(fcntl(pipe_of[1], F_SETFL, O_NONBLOCK), 0);
    static const char garbage[4096];
    while (write(pipe_of[1], garbage, sizeof garbage) > 0) {}
    CHECK_EQ(fcntl(pipe_of[1], F_SETFL, 0), 0);
}
/* Until the text begins that comes behind what has filled the pipe. */
static void read_until_text(const int *pipe_of) {
    char byte = 0;
    while (byte == 0) CHECK_EQ(read(pipe_of[0], &byte, 1), 1);
    answer[0] = byte;
    for (int i = 1; i < 8; i++) CHECK_EQ(read(pipe_of[0], &answer[i], 1), 1);
    CHECK(strncmp(answer, "process ", 8) == 0);
}
static void signal_with_a_full_error_stream(void *unused) {
    (void)unused;
    int pipe_of[2];
    CHECK_EQ(pipe(pipe_of), 0);
    fill(pipe_of);
    CHECK_STATUS(csk_inspect_serve(path, SIGUSR2), 0);
    int error = error_goes_to(pipe_of[1]);
    CHECK_EQ(kill(getpid(), SIGUSR2), 0);
    CHECK(strncmp(ask("text\n"), "process ", 8) == 0);
    CHECK(strncmp(ask("text\n"), "process ", 8) == 0);
    CHECK_EQ(fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK, 0);
    read_until_text(pipe_of);
    fill(pipe_of);
    CHECK_EQ(kill(getpid(), SIGUSR2), 0);
    CHECK(strncmp(ask("text\n"), "process ", 8) == 0);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
    give_error_back(error);
    close(pipe_of[0]);
    close(pipe_of[1]);
}
static void an_error_stream_that_nobody_reads_holds_nobody_up(void) {
    make_folder();
    signal_with_a_full_error_stream(NULL);
}

enum { NOBODY = 65534 };
static void signal_as_nobody(void *unused) {
    CHECK_EQ(setgid(NOBODY), 0);
    CHECK_EQ(setuid(NOBODY), 0);
    signal_with_a_full_error_stream(unused);
}
static void an_error_stream_that_can_not_be_opened_anew_holds_nobody_up(void) {
#ifdef __SANITIZE_THREAD__
    printf("(no threads in children) ");
    return;
#endif
    make_folder();
    if (geteuid() != 0) {
        printf("(not root) ");
        return;
    }
    CHECK_EQ(chmod(folder, 0777), 0);
    in_a_child(signal_as_nobody, NULL);
    CHECK_EQ(chmod(folder, 0700), 0);
}

static void a_signal_writes_behind_what_a_file_has_already(void) {
    make_folder();
    char name[80];
    snprintf(name, sizeof name, "%s.errors", path);
    int file = open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    CHECK(file >= 0);
    CHECK_EQ(write(file, "before\n", 7), 7);
    int error = error_goes_to(file);
    CHECK_STATUS(csk_inspect_serve(NULL, SIGUSR2), 0);
    CHECK_EQ(kill(getpid(), SIGUSR2), 0);
    wait_until(pread(file, answer, sizeof answer - 1, 0) >= 15);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
    give_error_back(error);
    CHECK(strncmp(answer, "before\nprocess ", 15) == 0);
    close(file);
    CHECK_EQ(unlink(name), 0);
}

static void what_comes_to_an_error_stream_that_is_a_socket_is_not_read(void) {
    int pair[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    CHECK_EQ(write(pair[0], "for the program", 15), 15);
    int error = error_goes_to(pair[1]);
    CHECK_STATUS(csk_inspect_serve(NULL, SIGUSR2), 0);
    CHECK_EQ(kill(getpid(), SIGUSR2), 0);
    CHECK_EQ(recv(pair[0], answer, 8, MSG_WAITALL), 8);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
    give_error_back(error);
    CHECK(strncmp(answer, "process ", 8) == 0);
    CHECK_EQ(read(pair[1], answer, 15), 15);
    close(pair[0]);
    close(pair[1]);
}

/* The highest of the process's files that is an event; -1 where there is none. */
static int event_file(void) {
    int found = -1;
    for (int file = 0; file < 64; file++) {
        char link[32], what[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", file);
        ssize_t length = readlink(link, what, sizeof what - 1);
        what[length > 0 ? length : 0] = 0;
        if (strstr(what, "eventfd") != NULL) found = file;
    }
    return found;
}
static void expect_an_event_of_its_own(void *unused) {
    (void)unused;
    CHECK_EQ(event_file(), -1);
#ifndef __SANITIZE_THREAD__
    CHECK_STATUS(csk_inspect_serve(NULL, SIGUSR2), 0);
    CHECK(event_file() >= 0);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
#endif
}
/* A handler on another thread that has just read the event's number may write there after the end. */
static void a_handler_that_is_late_finds_no_other_file_at_the_events_number(void) {
    CHECK_STATUS(csk_inspect_serve(NULL, SIGUSR2), 0);
    int event = event_file();
    CHECK(event >= 0);
    for (int i = 0; i < 10; i++) {
        CHECK_STATUS(csk_inspect_end_serving(), 0);
        CHECK_EQ(event_file(), event);
        in_a_child(expect_an_event_of_its_own, NULL);
        CHECK_STATUS(csk_inspect_serve(NULL, SIGUSR2), 0);
        CHECK_EQ(event_file(), event);
    }
    in_a_child(expect_an_event_of_its_own, NULL);
    CHECK_STATUS(csk_inspect_end_serving(), 0);
}

TEST_MAIN(TEST(a_signal_writes_the_text_to_the_error_stream), TEST(a_handler_that_the_program_has_set_meanwhile_stays),
          TEST(an_error_stream_that_nobody_reads_holds_nobody_up),
          TEST(an_error_stream_that_can_not_be_opened_anew_holds_nobody_up),
          TEST(a_signal_writes_behind_what_a_file_has_already),
          TEST(what_comes_to_an_error_stream_that_is_a_socket_is_not_read),
          TEST(a_handler_that_is_late_finds_no_other_file_at_the_events_number), TEST(nothing_is_left_in_the_folder))
