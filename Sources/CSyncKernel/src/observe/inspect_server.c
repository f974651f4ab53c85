/* inspect_server.c: a thread that answers on a Unix socket, and to a signal, with a view.
 *
 * The thread waits in one call of the system for its event, for new clients, and for those that it has. The handler of
 * the signal, and the thread that ends the serving, only write the event. A client's answer is made at once when its
 * line has come, into memory of its own, and is sent as the client takes it: a slow client holds no other up, and each
 * has a deadline. All calls that may wait go through syscall, and so are no cancellation points.
 *
 * The standard error stream is served like one more client, which a signal makes, and may be a pipe without a reader.
 * O_NONBLOCK would hold for all users of the stream, so a pipe or a terminal is opened anew. Where that is refused the
 * thread writes at most PIPE_BUF bytes when the system says that there is room. Such a write blocks only if another
 * process takes the room just then.
 *
 * state
 *   OFF       nothing is open
 *   BUSY      a thread begins or ends the serving, and changes what is below
 *   SERVES    the thread runs
 *   from OFF to BUSY and from SERVES to BUSY by compare-and-swap (acquire), from BUSY by a store (release).
 *
 * The file. A socket of a process that is gone refuses connections, and is replaced. Two processes that find it so at
 * once must not remove each other's, and one that has bound and does not listen yet must not be taken for gone. So the
 * folder is locked (flock) meanwhile. The mode is set before the socket is bound, so there is no moment in which others
 * may connect, and once more after it, since a umask takes away from it.
 *
 * fork. The child closes its copies of the files, and gives the signal its former disposition. A file's number is taken
 * out of its variable before the file is closed, so the child closes no other file at that number. A copy that the
 * child has keeps what the file stands for: a lock of the folder is held, and a socket listens, until the last copy is
 * closed. The numbers are recorded as soon as there are any, but a fork may come just before that. So the lock is given
 * up, and the listening ended, before the file is closed.
 *
 * The event. A handler may have read the event's number on another thread, and write only after the serving has ended.
 * So the event stays for the rest of the process, and the next serving uses it again; a number that is closed could be
 * that of another file by then. What is written to it so late makes the next serving write one view more. A child
 * closes its copy, which is its parent's event too, and makes its own. In the child no other thread is in the handler.
 *
 * `lists` (relaxed) says that callbacks are listed for the serving. It is set once they are, and cleared before they no
 * longer are. So a child never ends that twice. Where the fork comes between the two steps callbacks stay listed in the
 * child, which costs it some time and nothing else.
 *
 * The other words. `ended` (release, acquire) brings all that the thread did to the thread that ends the serving. What
 * that one did before `ending` the thread needs not, and it looks at `ending` behind its reading of the event, which
 * the system orders behind the writing: relaxed. So are the numbers of files. Besides the threads that `state` and
 * `ended` order only a handler of the signal and a child of fork read them, and these use nothing but the number.
 *
 * More than 400 lines: what the socket, the signal and the fork need of each other is one struct. */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "csynckernel/inspect.h"
#include "thread/fork.h"

enum { CLIENTS = 8, STREAM = CLIENTS, SERVED, LINE_SIZE = 64, BACKLOG = 16 };
static const int64_t line_ns = INT64_C(2000000000), answer_ns = INT64_C(5000000000), folder_ns = 1000000000,
                     pause_ns = 100000000;
static const size_t answer_size = 65536;

typedef struct {
    int file; /* -1: none */
    int64_t deadline_ns;
    char line[LINE_SIZE];
    size_t line_used;
    char *answer; /* NULL until its line has come */
    size_t size, used, sent;
} client_t;

enum { OFF = 0, BUSY, SERVES };

static struct {
    uint32_t state;
    uint32_t ending, ended; /* `ended`: a park word */
    int event, listener, folder;
    int signal; /* 0: none */
    struct sigaction before;
    struct sockaddr_un address;
    dev_t device; /* of the file, with its number */
    ino_t number;
    int64_t accepts_ns; /* no client is accepted before that */
    uint32_t lists;
    bool asked;               /* by a signal */
    client_t clients[SERVED]; /* the last place, STREAM, is that of the standard error stream */
} server = { .event = -1, .listener = -1, .folder = -1 };

static void close_file(int *file) {
    int closed = csk_exchange(file, -1, CSK_RELAXED);
    if (closed >= 0) syscall(SYS_close, closed);
}

/* ---- Clients ----------------------------------------------------------------------------------------------------- */

static bool is_stream(const client_t *client) { return client == &server.clients[STREAM]; }

static void drop(client_t *client) {
    /* Where something is left to read, closing would take the answer away from the client. */
    char rest[256];
    while (!is_stream(client) && client->file >= 0 && syscall(SYS_read, client->file, rest, sizeof rest) > 0) {}
    close_file(&client->file);
    if (client->answer != NULL) munmap(client->answer, client->size);
    client->answer = NULL;
}

static int append(void *context, const void *bytes, size_t count) {
    client_t *client = context;
    while (client->size - client->used < count) {
        char *more = mremap(client->answer, client->size, 2 * client->size, MREMAP_MAYMOVE);
        if (more == MAP_FAILED) return ENOMEM;
        client->answer = more;
        client->size *= 2;
    }
    memcpy(client->answer + client->used, bytes, count);
    client->used += count;
    return 0;
}

/* Returns whether there is memory; else the client is dropped. */
static bool begin_answer(client_t *client) {
    client->size = answer_size;
    client->used = client->sent = 0;
    client->deadline_ns = csk_platform_now() + answer_ns;
    char *memory = mmap(NULL, client->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    client->answer = memory != MAP_FAILED ? memory : NULL;
    if (client->answer == NULL) drop(client);
    return client->answer != NULL;
}

static void append_view(client_t *client, uint32_t format) {
    int status = csk_inspect_print(NULL, format, append, client);
    if (status == 0) return;
    client->used = 0;
    const char *text = csk_status_text(status);
    append(client, "error: ", 7);
    append(client, text, strlen(text));
    append(client, "\n", 1);
}

static void answer(client_t *client) {
    size_t length = client->line_used;
    while (length != 0 && (client->line[length - 1] == '\n' || client->line[length - 1] == '\r')) length--;
    if (!begin_answer(client)) return;
    static const char refusal[] = "error: the line is text or json\n";
    if (length == 4 && memcmp(client->line, "text", 4) == 0) append_view(client, CSK_INSPECT_TEXT);
    else if (length == 4 && memcmp(client->line, "json", 4) == 0) append_view(client, CSK_INSPECT_JSON);
    else append(client, refusal, sizeof refusal - 1);
}

static void read_line(client_t *client) {
    long count = syscall(SYS_read, client->file, client->line + client->line_used, LINE_SIZE - client->line_used);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count < 0 || (count == 0 && client->line_used == 0)) {
        drop(client);
        return;
    }
    const char *end = memchr(client->line + client->line_used, '\n', (size_t)count);
    client->line_used = end != NULL ? (size_t)(end + 1 - client->line) : client->line_used + (size_t)count;
    if (end != NULL || count == 0 || client->line_used == LINE_SIZE) answer(client);
}

/* SIGPIPE is blocked on this thread. */
static long send_some(const client_t *client) {
    const char *from = client->answer + client->sent;
    size_t size = client->used - client->sent;
    if (is_stream(client) && size > PIPE_BUF) size = PIPE_BUF;
    long count = syscall(SYS_sendto, client->file, from, size, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);
    bool may_be_no_socket = count < 0 && is_stream(client) && errno != EAGAIN && errno != EINTR;
    return may_be_no_socket ? syscall(SYS_write, client->file, from, size) : count;
}

static void send_answer(client_t *client) {
    long count = send_some(client);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count > 0) client->sent += (size_t)count;
    if (count < 0 || client->sent == client->used) drop(client);
}

static bool is_permitted(int file) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
    return peer.uid == geteuid() || peer.uid == 0;
}

static client_t *free_client(void) {
    for (int i = 0; i < CLIENTS; i++)
        if (server.clients[i].file < 0) return &server.clients[i];
    return NULL;
}

static void accept_client(client_t *client) {
    int file = (int)syscall(SYS_accept4, server.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (file < 0) {
        /* Where there is no descriptor left, the client would be there at once again. */
        if (errno != EAGAIN && errno != EINTR) server.accepts_ns = csk_platform_now() + pause_ns;
        return;
    }
    if (!is_permitted(file)) {
        syscall(SYS_close, file);
        return;
    }
    client->line_used = 0;
    client->answer = NULL;
    client->deadline_ns = csk_platform_now() + line_ns;
    csk_store(&client->file, file, CSK_RELAXED);
}

/* ---- The thread -------------------------------------------------------------------------------------------------- */

static int open_stream(void) {
    struct stat file;
    if (fstat(STDERR_FILENO, &file) != 0) return -1;
    int own = -1;
    if (S_ISFIFO(file.st_mode) || S_ISCHR(file.st_mode))
        own = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return own >= 0 ? own : (int)syscall(SYS_fcntl, STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
}

/* While one view is being written, the next waits. */
static void write_if_asked(void) {
    client_t *stream = &server.clients[STREAM];
    if (!server.asked || stream->file >= 0) return;
    server.asked = false;
    int file = open_stream();
    csk_store(&stream->file, file, CSK_RELAXED);
    if (file >= 0 && begin_answer(stream)) append_view(stream, CSK_INSPECT_TEXT);
}

static void take_event(void) {
    uint64_t count;
    if (syscall(SYS_read, server.event, &count, sizeof count) == (long)sizeof count) server.asked = true;
}

/* Waits for the files, at most until the first deadline. */
static void wait_for(struct pollfd *files, nfds_t count, int64_t until_ns) {
    int64_t left_ns = until_ns != CSK_NEVER ? until_ns - csk_platform_now() : 0;
    if (left_ns < 0) left_ns = 0;
    struct timespec left = { .tv_sec = left_ns / 1000000000, .tv_nsec = left_ns % 1000000000 };
    if (syscall(SYS_ppoll, files, count, until_ns != CSK_NEVER ? &left : NULL, NULL, 0) < 0)
        for (nfds_t i = 0; i < count; i++) files[i].revents = 0;
}

static void serve_client(client_t *client, short revents) {
    if (client->file < 0) return;
    if (revents != 0 && client->answer == NULL) read_line(client);
    else if (revents != 0) send_answer(client);
    if (client->file >= 0 && csk_platform_now() >= client->deadline_ns) drop(client);
}

static void serve_once(void) {
    write_if_asked();
    struct pollfd files[2 + SERVED] = { { .fd = server.event, .events = POLLIN }, { .fd = -1, .events = POLLIN } };
    int64_t now_ns = csk_platform_now(), until_ns = CSK_NEVER;
    bool accepts = now_ns >= server.accepts_ns && free_client() != NULL;
    if (accepts) files[1].fd = server.listener;
    else if (now_ns < server.accepts_ns) until_ns = server.accepts_ns;
    for (int i = 0; i < SERVED; i++) {
        const client_t *client = &server.clients[i];
        files[2 + i] = (struct pollfd){ .fd = client->file, .events = client->answer == NULL ? POLLIN : POLLOUT };
        if (client->file >= 0 && client->deadline_ns < until_ns) until_ns = client->deadline_ns;
    }
    wait_for(files, 2 + SERVED, until_ns);
    if (files[0].revents != 0) take_event();
    for (int i = 0; i < SERVED; i++) serve_client(&server.clients[i], files[2 + i].revents);
    client_t *client = files[1].revents != 0 ? free_client() : NULL;
    if (client != NULL) accept_client(client);
}

static void serve(void *context) {
    (void)context;
    while (csk_load(&server.ending, CSK_RELAXED) == 0) serve_once();
    for (int i = 0; i < SERVED; i++) drop(&server.clients[i]);
    csk_store(&server.ended, 1u, CSK_RELEASE);
    csk_platform_wake(&server.ended, 1);
}

static const csk_lasting_thread_t server_thread = { .body = serve, .name = "csk-inspect" };

/* ---- The file ---------------------------------------------------------------------------------------------------- */

/* Opens and locks the folder of the path. Returns 0, also where that can't be done, or EADDRINUSE where it could not be
 * locked in time. */
static int lock_folder(const char *path) {
    char folder[sizeof server.address.sun_path];
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    memcpy(folder, slash == NULL ? "." : path, slash == NULL ? 1 : length);
    folder[slash == NULL ? 1 : length] = 0;
    int file = (int)syscall(SYS_openat, AT_FDCWD, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    csk_store(&server.folder, file, CSK_RELAXED);
    int64_t until_ns = csk_platform_now() + folder_ns;
    for (uint32_t looks = 0; file >= 0 && syscall(SYS_flock, file, LOCK_EX | LOCK_NB) != 0; looks++) {
        if (errno != EWOULDBLOCK && errno != EINTR) return 0; /* a file system without locks */
        if (csk_platform_now() >= until_ns) return EADDRINUSE;
        csk_platform_await_step(looks);
    }
    return 0;
}

static void unlock_folder(void) {
    if (server.folder >= 0) syscall(SYS_flock, server.folder, LOCK_UN);
    close_file(&server.folder);
}

/* Whether the file is a socket without a listener. */
static bool is_left_behind(void) {
    struct stat file;
    if (lstat(server.address.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
    int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (probe < 0) return false;
    bool refused = syscall(SYS_connect, probe, &server.address, sizeof server.address) != 0 && errno == ECONNREFUSED;
    syscall(SYS_close, probe);
    return refused;
}

static int bind_file(int listener) {
    const struct sockaddr *address = (const struct sockaddr *)&server.address;
    if (bind(listener, address, sizeof server.address) == 0) return 0;
    if (errno != EADDRINUSE || !is_left_behind()) return errno;
    unlink(server.address.sun_path);
    return bind(listener, address, sizeof server.address) == 0 ? 0 : errno;
}

static int listen_at(int listener) {
    struct stat file;
    fchmod(listener, S_IRUSR | S_IWUSR);
    int status = bind_file(listener);
    if (status != 0) return status;
    if (chmod(server.address.sun_path, S_IRUSR | S_IWUSR) != 0 || listen(listener, BACKLOG) != 0 ||
        lstat(server.address.sun_path, &file) != 0) {
        status = errno;
        unlink(server.address.sun_path);
        return status;
    }
    server.device = file.st_dev;
    server.number = file.st_ino;
    return 0;
}

static void close_listener(void) {
    if (server.listener >= 0) shutdown(server.listener, SHUT_RDWR);
    close_file(&server.listener);
}

static int open_socket(const char *path) {
    int status = lock_folder(path);
    if (status == 0) {
        server.address = (struct sockaddr_un){ .sun_family = AF_UNIX };
        memcpy(server.address.sun_path, path, strlen(path) + 1);
        int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        csk_store(&server.listener, listener, CSK_RELAXED);
        status = listener < 0 ? errno : listen_at(listener);
        if (status != 0) close_listener();
    }
    unlock_folder();
    return status;
}

/* Another process may serve there by now: then the file is another one. */
static void close_socket(void) {
    if (server.listener < 0) return;
    struct stat file;
    if (lstat(server.address.sun_path, &file) == 0 && file.st_dev == server.device && file.st_ino == server.number)
        unlink(server.address.sun_path);
    close_listener();
}

/* ---- The signal -------------------------------------------------------------------------------------------------- */

static void tell(void) {
    static const uint64_t one = 1;
    syscall(SYS_write, csk_load(&server.event, CSK_RELAXED), &one, sizeof one);
}

static void handle(int signal) {
    (void)signal;
    int saved = errno;
    tell();
    errno = saved;
}

static void forget_events(void) {
    uint64_t count;
    syscall(SYS_read, server.event, &count, sizeof count);
}

static int take_signal(int signal) {
    if (signal == 0) return 0;
    struct sigaction mine = { .sa_handler = handle, .sa_flags = SA_RESTART }, before;
    sigemptyset(&mine.sa_mask);
    if (sigaction(signal, NULL, &before) != 0) return errno;
    if ((before.sa_flags & SA_SIGINFO) || (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)) return EBUSY;
    server.before = before;
    server.signal = signal; /* before the handler is there: a child gives back what it finds here */
    if (sigaction(signal, &mine, NULL) == 0) return 0;
    server.signal = 0;
    return errno;
}

/* The program may have given the signal another handler meanwhile, which stays. */
static void give_signal_back(void) {
    struct sigaction now;
    if (server.signal != 0 && sigaction(server.signal, NULL, &now) == 0 && now.sa_handler == handle)
        sigaction(server.signal, &server.before, NULL);
    server.signal = 0;
}

/* ---- Beginning and ending ---------------------------------------------------------------------------------------- */

static int begin(const char *path, int signal) {
    int status = csk_fork_handled();
    if (status != 0) return status;
    for (int i = 0; i < SERVED; i++) server.clients[i].file = -1;
    server.ending = server.ended = 0;
    server.accepts_ns = 0;
    server.asked = false;
    int event = csk_load(&server.event, CSK_RELAXED);
    if (event < 0) event = (int)syscall(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event < 0) return errno == ENOMEM ? ENOMEM : EAGAIN;
    csk_store(&server.event, event, CSK_RELAXED);
    if (path != NULL) status = open_socket(path);
    if (status == 0) status = take_signal(signal);
    if (status == 0) status = csk_platform_start_lasting_thread(&server_thread);
    if (status != 0) {
        give_signal_back();
        close_socket();
        forget_events();
    }
    return status;
}

static void end_listing(void) {
    if (csk_exchange(&server.lists, 0u, CSK_RELAXED) != 0) csk_inspect_callbacks(false);
}

int csk_inspect_serve(const char *path, int signal) {
    if ((path == NULL && signal == 0) || (path != NULL && path[0] == 0)) return EINVAL;
    if (signal < 0 || signal >= _NSIG || signal == SIGKILL || signal == SIGSTOP) return EINVAL;
    if (path != NULL && strlen(path) >= sizeof server.address.sun_path) return ENAMETOOLONG;
    uint32_t off = OFF;
    if (!csk_cas(&server.state, &off, (uint32_t)BUSY, CSK_ACQUIRE)) return EBUSY;
    int saved = errno, status = begin(path, signal);
    errno = saved;
    if (status == 0) {
        csk_inspect_callbacks(true);
        csk_store(&server.lists, 1u, CSK_RELAXED);
    }
    csk_store(&server.state, (uint32_t)(status == 0 ? SERVES : OFF), CSK_RELEASE);
    return status;
}

int csk_inspect_end_serving(void) {
    uint32_t serves = SERVES;
    if (!csk_cas(&server.state, &serves, (uint32_t)BUSY, CSK_ACQUIRE)) return EPERM;
    int saved = errno;
    give_signal_back();
    csk_store(&server.ending, 1u, CSK_RELAXED);
    tell();
    while (csk_load(&server.ended, CSK_ACQUIRE) == 0) csk_platform_park(&server.ended, 0, CSK_NEVER);
    close_socket();
    forget_events();
    end_listing();
    errno = saved;
    csk_store(&server.state, (uint32_t)OFF, CSK_RELEASE);
    return 0;
}

static void after_fork_in_child(void) {
    uint32_t state = csk_load(&server.state, CSK_RELAXED);
    give_signal_back();
    close_file(&server.event);
    if (state == OFF) return;
    close_file(&server.listener);
    close_file(&server.folder);
    for (int i = 0; i < SERVED; i++) close_file(&server.clients[i].file);
    end_listing();
    csk_store(&server.state, (uint32_t)OFF, CSK_RELAXED);
}

/* This runs when the library is loaded. */
__attribute__((constructor(101))) static void enroll_fork(void) {
    for (int i = 0; i < SERVED; i++) server.clients[i].file = -1;
    csk_fork_enroll(CSK_FORK_INSPECT, &(csk_fork_functions_t){ .in_child = after_fork_in_child });
}
