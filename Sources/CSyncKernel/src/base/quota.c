/* quota.c: the quota that the cgroups of this process give it. /proc/self/cgroup says in which group the process is,
 * and /proc/self/mountinfo where the groups are. Each folder from the group's own up to the mount point may have a
 * quota:
 *
 *   version 2   line "0::PATH"            file system "cgroup2"                cpu.max: "QUOTA PERIOD", "max PERIOD"
 *   version 1   line "N:...cpu...:PATH"   file system "cgroup", option "cpu"   cpu.cfs_quota_us, -1: none, and
 *                                                                              cpu.cfs_period_us
 *
 * A mount shows a part of the tree, which begins at the mount's root. A path below that root is looked up without it.
 * Any other path (of a group that this namespace doesn't show) counts as the mount point itself.
 *
 * What is read stands in static memory, some 35 KiB. The caller's stack may be small, and the pool asks once. */
#include "base/quota.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct {
    const char *root;
    char group[2][PATH_MAX]; /* the path in version 1 and 2; "": the process is in none */
    char path[PATH_MAX];     /* the file that is read */
    bool read;               /* a quota, or that there is none, was found */
    double least;            /* the least quota in processors; 0: none */
} search_t;

/* ---- Files ------------------------------------------------------------------------------------------------------- */

/* Reads lines, and cuts a line that is longer than the caller's buffer. It goes through syscall, which is no
 * cancellation point. */
typedef struct {
    int file;
    long length, next;
    char text[4096];
} reader_t;

static bool open_file(reader_t *reader, const char *root, const char *path) {
    static char whole[PATH_MAX];
    if ((size_t)snprintf(whole, sizeof whole, "%s%s", root, path) >= sizeof whole) return false;
    reader->file = (int)syscall(SYS_openat, AT_FDCWD, whole, O_RDONLY | O_CLOEXEC);
    reader->length = reader->next = 0;
    return reader->file >= 0;
}

static int next_character(reader_t *reader) {
    if (reader->next == reader->length) {
        reader->length = syscall(SYS_read, reader->file, reader->text, sizeof reader->text);
        reader->next = 0;
        if (reader->length <= 0) {
            reader->length = 0;
            return EOF;
        }
    }
    return (unsigned char)reader->text[reader->next++];
}

static bool read_line(reader_t *reader, char *line, size_t size) {
    size_t length = 0;
    int character;
    while ((character = next_character(reader)) != EOF && character != '\n')
        if (length + 1 < size) line[length++] = (char)character;
    line[length] = 0;
    return character != EOF || length > 0;
}

static void close_file(reader_t *reader) { syscall(SYS_close, reader->file); }

/* Reads the first line of a file in a group's folder. */
static bool read_value(const search_t *search, const char *folder, const char *name, char *line, size_t size) {
    static char path[PATH_MAX];
    static reader_t reader;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path ||
        !open_file(&reader, search->root, path))
        return false;
    bool found = read_line(&reader, line, size);
    close_file(&reader);
    return found;
}

/* ---- What they say ----------------------------------------------------------------------------------------------- */

/* Whether `word` stands in a list that commas separate. */
static bool lists(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        if (*at == ',') at++;
        if (strncmp(at, word, length) == 0 && (at[length] == 0 || at[length] == ',')) return true;
    }
    return false;
}

/* A line of /proc/self/cgroup: "NUMBER:CONTROLLERS:PATH" */
static void note_group(search_t *search, char *line) {
    char *controllers = strchr(line, ':'), *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (path == NULL || strlen(path + 1) >= sizeof search->group[0]) return;
    *controllers++ = 0;
    *path++ = 0;
    if (strcmp(line, "0") == 0 && *controllers == 0) strcpy(search->group[1], path);
    else if (lists(controllers, "cpu")) strcpy(search->group[0], path);
}

/* "max" and -1 are no quota. */
static void note_quota(search_t *search, long long quota, long long period) {
    search->read = true;
    if (quota <= 0 || period <= 0) return;
    double processors = (double)quota / (double)period;
    if (search->least == 0 || processors < search->least) search->least = processors;
}

static void look_into(search_t *search, const char *folder, int version) {
    char quota[64], period[64];
    if (version == 2) {
        if (!read_value(search, folder, "cpu.max", quota, sizeof quota)) return;
        char *end = strchr(quota, ' ');
        note_quota(search, strtoll(quota, NULL, 10), end != NULL ? strtoll(end, NULL, 10) : 100000);
    } else if (read_value(search, folder, "cpu.cfs_quota_us", quota, sizeof quota) &&
               read_value(search, folder, "cpu.cfs_period_us", period, sizeof period)) {
        note_quota(search, strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
    }
}

/* Looks into the group's folder, and into those above it up to the mount point. A group of version 2 that has no quota,
 * the first one for example, has no file either. Beside a version 1 that controls the processors this says nothing. */
static void look_along(search_t *search, const char *mount, const char *root, const char *group, int version) {
    size_t root_length = strcmp(root, "/") == 0 ? 0 : strlen(root), mount_length = strlen(mount);
    bool below = strncmp(group, root, root_length) == 0 && (group[root_length] == '/' || group[root_length] == 0);
    const char *rest = below && strstr(group, "/..") == NULL ? group + root_length : "";
    if ((size_t)snprintf(search->path, sizeof search->path, "%s%s", mount, strcmp(rest, "/") == 0 ? "" : rest) >=
        sizeof search->path)
        return;
    char *end;
    do {
        look_into(search, search->path, version);
        end = strrchr(search->path, '/');
        if (end != NULL) *end = 0;
    } while (end != NULL && strlen(search->path) >= mount_length);
    if (version == 2 && search->group[0][0] == 0) search->read = true;
}

/* mountinfo writes a space, a tab, a line's end and a backslash as \040 and so on. */
static void decode(char *text) {
    char *to = text;
    for (const char *from = text; *from != 0; to++) {
        bool escaped = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] != 0 && from[3] != 0;
        *to = escaped ? (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0')) : *from;
        from += escaped ? 4 : 1;
    }
    *to = 0;
}

/* A line of /proc/self/mountinfo: "ID PARENT DEVICE ROOT MOUNT OPTIONS [...] - TYPE SOURCE OPTIONS" */
static void note_mount(search_t *search, char *line) {
    char *fields[5], *rest = line, *tail = strstr(line, " - ");
    if (tail == NULL) return;
    *tail = 0;
    for (int i = 0; i < 5; i++)
        if ((fields[i] = strsep(&rest, " ")) == NULL) return;
    tail += 3;
    char *type = strsep(&tail, " "), *source = strsep(&tail, " "), *options = tail;
    if (type == NULL || source == NULL) return;
    int version = strcmp(type, "cgroup2") == 0                                              ? 2
                  : strcmp(type, "cgroup") == 0 && options != NULL && lists(options, "cpu") ? 1
                                                                                            : 0;
    if (version == 0 || search->group[version - 1][0] == 0) return;
    decode(fields[3]);
    decode(fields[4]);
    look_along(search, fields[4], fields[3], search->group[version - 1], version);
}

static bool read_lines(search_t *search, const char *path, void (*note)(search_t *, char *)) {
    static char line[PATH_MAX];
    static reader_t reader;
    if (!open_file(&reader, search->root, path)) return false;
    while (read_line(&reader, line, sizeof line)) note(search, line);
    close_file(&reader);
    return true;
}

csk_quota_t csk_quota_read(const char *root) {
    int saved = errno;
    static search_t search;
    memset(&search, 0, sizeof search);
    search.root = root;
    bool found = read_lines(&search, "/proc/self/cgroup", note_group) &&
                 read_lines(&search, "/proc/self/mountinfo", note_mount);
    bool in_none = search.group[0][0] == 0 && search.group[1][0] == 0;
    errno = saved;
    csk_quota_t quota = { .known = found && (search.read || in_none) };
    if (search.least > UINT32_MAX) return quota;
    quota.processors = (uint32_t)search.least;
    if ((double)quota.processors < search.least) quota.processors++;
    return quota;
}
