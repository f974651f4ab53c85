/* inspect_client.h: a folder for the sockets of views, and clients that ask there. */
#ifndef CSK_TEST_INSPECT_CLIENT_H
#define CSK_TEST_INSPECT_CLIENT_H

#include "test.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

static char folder[] = "/tmp/csk-inspect-XXXXXX", path[64];

static inline void make_folder(void) {
    if (path[0] != 0) return;
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/waits", folder);
}

/* The last test of each program. */
static inline void nothing_is_left_in_the_folder(void) {
    make_folder();
    CHECK_EQ(rmdir(folder), 0);
}

static inline struct sockaddr_un address_of(const char *of) {
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "%s", of);
    return address;
}

static inline int connect_to(const char *to) {
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = address_of(to);
    CHECK(file >= 0);
    if (connect(file, (struct sockaddr *)&address, sizeof address) == 0) return file;
    close(file);
    return -1;
}

/* Reads until the other end closes, or for so long. Returns how many bytes came; -1 where it was not closed. */
static inline ssize_t read_all(int file, char *to, size_t size, int most_ms) {
    size_t used = 0;
    for (;;) {
        struct pollfd poll_for = { .fd = file, .events = POLLIN };
        if (poll(&poll_for, 1, most_ms) == 0) return -1;
        ssize_t count = read(file, to + used, size - 1 - used);
        if (count < 0) return -1;
        to[used += (size_t)count] = 0;
        if (count == 0) return (ssize_t)used;
    }
}

static char answer[262144];
static inline const char *ask(const char *line) {
    int file = connect_to(path);
    CHECK(file >= 0);
    CHECK_EQ(send(file, line, strlen(line), MSG_NOSIGNAL), strlen(line));
    CHECK(read_all(file, answer, sizeof answer, 30000) >= 0);
    close(file);
    return answer;
}

#endif
