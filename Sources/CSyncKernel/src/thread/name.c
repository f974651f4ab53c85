/* name.c: the table of names, by the addresses of objects, and the places behind objects.
 *
 * A mutex protects the table. Nothing is allocated, freed or called under it, and its holder takes no other lock. So it
 * may be taken at any place outside of the internal locks: by reporters, observers, and destroying calls. A name is
 * copied out under it, so that the name may be ended meanwhile.
 *
 * A fork takes the mutex before, and gives it back in the parent and in the child (fork.h): the child finds the table
 * whole. If the system does not call the stages at a fork, nothing is named.
 *
 * A place is read without a lock. It is written before the object is shared, and so is the mark that says that there is
 * one. */
#include "thread/name.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/report.h"
#include "csynckernel/workqueue.h"
#include "thread/fork.h"

typedef struct entry {
    struct entry *next;
    const void *object;
    size_t length;
    char name[];
} entry_t;

enum { FEWEST_LISTS = 64 };

size_t csk_name_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static entry_t **lists;   /* by the addresses' hash */
static size_t list_count; /* 0, or a power of two */

/* Called under the mutex. The link to the object's entry, or to the end of its list. */
static entry_t **find(const void *object) {
    uint64_t hash = (uint64_t)(uintptr_t)object * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    entry_t **link = &lists[hash & (list_count - 1)];
    while (*link != NULL && (*link)->object != object) link = &(*link)->next;
    return link;
}

/* Called under the mutex. Moves all entries into the lists `fresh`, which are empty, and returns the lists that there
 * were. */
static entry_t **replace_lists(entry_t **fresh, size_t count) {
    entry_t **former = lists;
    size_t former_count = list_count;
    lists = fresh;
    list_count = count;
    for (size_t i = 0; i < former_count; i++)
        for (entry_t *entry = former[i], *next; entry != NULL; entry = next) {
            next = entry->next;
            entry_t **link = find(entry->object);
            entry->next = NULL;
            *link = entry;
        }
    return former;
}

/* Takes the mutex, with room for one more entry: at most one for each list on average. The lists are allocated without
 * the mutex, so another thread may have been faster. */
static int lock_with_room(void) {
    pthread_mutex_lock(&mutex);
    while (csk_name_count >= list_count) {
        size_t count = list_count != 0 ? 2 * list_count : FEWEST_LISTS;
        pthread_mutex_unlock(&mutex);
        entry_t **fresh = calloc(count, sizeof *fresh);
        if (fresh == NULL) return ENOMEM;
        pthread_mutex_lock(&mutex);
        if (count > list_count) fresh = replace_lists(fresh, count);
        pthread_mutex_unlock(&mutex);
        free(fresh);
        pthread_mutex_lock(&mutex);
    }
    return 0;
}

static bool is_name(const char *name, size_t length) {
    if (length == 0 || length > CSK_NAME_MAX) return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f) return false;
    return true;
}

int csk_name(const void *object, const char *name) {
    if (object == NULL || name == NULL) return EINVAL;
    size_t length = strnlen(name, CSK_NAME_MAX + 1);
    if (!is_name(name, length)) return EINVAL;
    if (csk_fork_handled() != 0) return ENOMEM;
    entry_t *entry = malloc(sizeof *entry + length + 1);
    if (entry == NULL) return ENOMEM;
    entry->object = object;
    entry->length = length;
    memcpy(entry->name, name, length + 1);
    if (lock_with_room() != 0) {
        free(entry);
        return ENOMEM;
    }
    entry_t **link = find(object), *former = *link;
    entry->next = former != NULL ? former->next : NULL;
    *link = entry;
    if (former == NULL) csk_store(&csk_name_count, csk_name_count + 1, CSK_RELAXED);
    pthread_mutex_unlock(&mutex);
    free(former);
    return 0;
}

void csk_unname(const void *object) {
    if (csk_load(&csk_name_count, CSK_RELAXED) == 0) return;
    pthread_mutex_lock(&mutex);
    entry_t **link = list_count != 0 ? find(object) : NULL, *entry = link != NULL ? *link : NULL;
    if (entry != NULL) {
        *link = entry->next;
        csk_store(&csk_name_count, csk_name_count - 1, CSK_RELAXED);
    }
    pthread_mutex_unlock(&mutex);
    free(entry);
}

static size_t copy(const char *text, size_t length, char *buffer, size_t size) {
    if (size != 0) {
        size_t copied = length < size - 1 ? length : size - 1;
        memcpy(buffer, text, copied);
        buffer[copied] = 0;
    }
    return length;
}

/* Called under the mutex, and drops it. */
static size_t copy_and_unlock(const void *object, char *buffer, size_t size) {
    const entry_t *entry = list_count != 0 ? *find(object) : NULL;
    size_t length = entry != NULL ? copy(entry->name, entry->length, buffer, size) : 0;
    pthread_mutex_unlock(&mutex);
    return length;
}

static size_t given_name(const void *object, char *buffer, size_t size) {
    if (csk_load(&csk_name_count, CSK_RELAXED) == 0) return 0;
    pthread_mutex_lock(&mutex);
    return copy_and_unlock(object, buffer, size);
}

/* As printf writes "%s:%llu", which takes four times as long, and waits that are counted come here. */
static size_t copy_place(const csk_place_t *place, char *buffer, size_t size) {
    char line[24];
    size_t begin = sizeof line, length = copy(place->text, strlen(place->text), buffer, size);
    uint64_t rest = place->line;
    do line[--begin] = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    line[--begin] = ':';
    size_t room = length < size ? size - length : 0;
    return length + copy(line + begin, sizeof line - begin, room != 0 ? buffer + length : buffer, room);
}

size_t csk_place_text(const csk_place_t *place, char *buffer, size_t size) {
    if (size != 0) buffer[0] = 0;
    if (place->text == NULL) return 0;
    if (place->line == 0) return copy(place->text, strlen(place->text), buffer, size);
    return copy_place(place, buffer, size);
}

/* Returns the place behind the object, or NULL. */
static const csk_place_t *place_of(const void *object, uint32_t kind) {
    switch (kind) {
    case CSK_OBJECT_GATE:
        return ((const csk_gate_t *)object)->grace_and_place & 1 ? &((const csk_placed_gate_t *)object)->place : NULL;
    case CSK_OBJECT_RWLOCK:
        return ((const csk_rwlock_t *)object)->has_place ? &((const csk_placed_rwlock_t *)object)->place : NULL;
    case CSK_OBJECT_SEM:
        return ((const csk_sem_t *)object)->has_place ? &((const csk_placed_sem_t *)object)->place : NULL;
    case CSK_OBJECT_PQUEUE:
        return ((const csk_pqueue_t *)object)->has_place ? &((const csk_placed_pqueue_t *)object)->place : NULL;
    default: return NULL;
    }
}

/* The name that it has without csk_name. */
static size_t own_name(const void *object, uint32_t kind, char *buffer, size_t size) {
    if (kind == CSK_OBJECT_WORKQUEUE) {
        const char *name = ((const csk_workqueue_t *)object)->name;
        return name != NULL ? copy(name, strlen(name), buffer, size) : 0;
    }
    const csk_place_t *place = place_of(object, kind);
    return place != NULL ? csk_place_text(place, buffer, size) : 0;
}

size_t csk_name_of(const void *object, uint32_t kind, char *buffer, size_t size) {
    if (size != 0) buffer[0] = 0;
    if (object == NULL) return 0;
    size_t length = given_name(object, buffer, size);
    return length != 0 ? length : own_name(object, kind, buffer, size);
}

bool csk_name_try_of(const void *object, uint32_t kind, char *buffer, size_t size, bool (*goes_on)(void *context),
                     void *context) {
    buffer[0] = 0;
    bool tries = csk_load(&csk_name_count, CSK_RELAXED) != 0;
    while (tries && pthread_mutex_trylock(&mutex) != 0)
        if (goes_on == NULL || !goes_on(context)) {
            own_name(object, kind, buffer, size);
            return false;
        }
    if (!tries || copy_and_unlock(object, buffer, size) == 0) own_name(object, kind, buffer, size);
    return true;
}

/* ---- Fork, and events -------------------------------------------------------------------------------------------- */

static void hold(void) { pthread_mutex_lock(&mutex); }
static void let_go(void) { pthread_mutex_unlock(&mutex); }

/* This runs when the library is loaded. */
__attribute__((constructor(101))) static void begin(void) {
    csk_fork_enroll(CSK_FORK_NAMES, &(csk_fork_functions_t){ hold, let_go, let_go });
    csk_store(&csk_observe_name, csk_name_of, CSK_RELAXED);
}
