/* order.h: finds deadlocks that have not happened yet, by the order in which locks are taken.
 *
 * While the checker is on, each thread has a list of what it holds. When a thread enters B while it holds A, the
 * checker keeps that B was taken inside of A. If A was ever taken inside of B, directly or by way of others, then
 * threads that do both at once can wait for each other for ever. That is reported (CSK_EVENT_LOCK_ORDER) the first time
 * that the second order is seen, in whatever thread, before it waits. So a run with a single thread is enough. The
 * report names the circle, and csk_order_print shows where each of its steps was taken first. The order that closed it
 * leads nowhere from then on: a further circle that goes through this reversed pair is not reported, until a run in
 * which the pair's first order is gone.
 *
 *     csk_order_start();                                       or CSK_LOCK_ORDER=1 in the environment
 *     ... csynckernel: locks are taken in a circle: sessions -> users -> sessions; csk_order_print shows where
 *
 * The environment is read where the checker is part of the program: with the shared library, and with the archive if
 * the program names a function of this header.
 *
 * Classes. What is kept is an order of classes, not of objects. Objects with one name (name.h), or with one place, are
 * one class. An object with neither is a class of its own, until an object begins at its address anew. Objects of one
 * class that are taken one inside of the other are a circle of one step: give them levels (csk_order_level), or names.
 * An object's class is found at its first use; name it before that.
 *
 * Room. The checker knows 65 536 addresses of objects, 4096 classes and 16 384 steps. None is given back when an object
 * ends; one that begins at an address that is known needs no other, nor another class, unless the one before it was
 * entered inside of others, or they inside of it. A program that goes on making ordered objects at new addresses uses
 * the addresses up. From then on objects at further addresses are entered unchecked: each such entry is counted as lost
 * (csk_order_count), csk_order_level and csk_order_ignore return ENOBUFS for them, and all other objects are checked as
 * before. What would be a further class or step is left out and counted in the same way. Since an address is looked for
 * in 32 places of the table, single ones may find no room before it is full.
 *
 * What is covered. An object decides at its first use whether it is ordered, so the checker is to be started before
 * objects are used. From then on an ordered object costs 7 to 36 ns more to enter and to leave together, the first time
 * in a new order some microseconds, and others cost what they cost without the checker.
 *
 *   gates                         those first used while it is on, of every policy, recursive ones too
 *   mutexes                       those given to csk_mutex_init while it is on. A mutex of CSK_MUTEX_INITIALIZER is
 *                                 ordered from the first time that a thread finds it taken; or from its first use on,
 *                                 in files that are compiled with CSK_LOCK_ORDER defined, as the CMake option
 *                                 CSYNCKERNEL_LOCK_ORDER has it
 *   read-write locks              all of them, in a library that was built with that option, else none
 *   semaphores and others' locks  where the program says when it enters and leaves (csk_order_comes)
 *
 * What a thread is granted without waiting for it, since it tried or was a callback, begins no order: what it takes
 * inside of that does. Callbacks and tasks that hold a gate without a thread, and conditions, are not covered. A read
 * counts as a write does, but for a lock that the thread reads already. What is not covered is counted once for each
 * object at which a thread waits, and csk_order_print names it.
 *
 * No function here may be called from a signal handler. Reporters may call all.
 *
 * fork. The child knows the orders that the parent knew, and its thread's list.
 *
 * Example: one thread takes two gates in both orders.
 *
 *     #include <csynckernel/csynckernel.h>
 *     #include <stdio.h>
 *     #include <string.h>
 *
 *     static csk_gate_t sessions, users;
 *     static char circle[64];
 *
 *     static void keep(const csk_event_t *event) {
 *         if (event->kind == CSK_EVENT_LOCK_ORDER)
 *             snprintf(circle, sizeof circle, "%s", event->name);
 *     }
 *
 *     static int nest(csk_gate_t *outer, csk_gate_t *inner) {
 *         if (csk_gate_lock(outer, 0) != 0) return 1;
 *         if (csk_gate_lock(inner, 0) != 0) return 1;
 *         csk_gate_leave(inner);
 *         csk_gate_leave(outer);
 *         return 0;
 *     }
 *
 *     int main(void) {
 *         csk_set_reporter(keep);
 *         if (csk_order_start() != 0) return 1;
 *         if (csk_name(&sessions, "sessions") != 0) return 1;
 *         if (csk_name(&users, "users") != 0) return 1;
 *         if (nest(&sessions, &users) != 0 || circle[0] != 0) return 1;
 *         if (nest(&users, &sessions) != 0) return 1;
 *         return strcmp(circle, "users -> sessions -> users");
 *     }
 */
#ifndef CSK_ORDER_H
#define CSK_ORDER_H

#include "base.h"

CSK_BEGIN_DECLS

/* The highest level, and the most that the checker knows of what one thread holds. */
enum { CSK_ORDER_LEVELS = 7, CSK_ORDER_DEPTH = 48 };

/* Starts the checker, or goes on after csk_order_stop. It maps 6 MiB of memory, of which it uses what it needs. Returns
 * 0 or ENOMEM. */
CSK_API int csk_order_start(void);
/* Nothing is checked from now on. What it knows stays. Objects that are ordered stay a little slower. */
CSK_API void csk_order_stop(void);

/* Objects of one class with different levels are different classes: a parent may be held while its child is entered.
 * It is for the object that is there, or that begins there next; another one that begins there later has level 0.
 * Returns 0; EINVAL for a level above CSK_ORDER_LEVELS; EAGAIN where the checker was never started; or ENOBUFS where
 * the table of objects is full around this one. */
CSK_API int csk_order_level(const void *object, uint32_t level);
/* The object is left out, in the same way. Returns 0, EAGAIN or ENOBUFS, as above. */
CSK_API int csk_order_ignore(const void *object);

/* For locks that are not covered: of others, or a semaphore of one permit. `kind` is CSK_OBJECT_SEM and so on, or
 * CSK_OBJECT_OTHER. The first is called by a thread that is about to enter, and may wait; not by one that only tries.
 * The second by one that has entered, the third by one that leaves. They do nothing while the checker is off. The last
 * one says that another lock begins at the address, which has nothing to do with the one before: call it where memory
 * is used anew for a lock of others. csk_sem_init calls it itself. None may be called from a signal handler. */
CSK_API void csk_order_comes(const void *object, uint32_t kind);
CSK_API void csk_order_entered(const void *object, uint32_t kind);
CSK_API void csk_order_leaves(const void *object);
CSK_API void csk_order_begins(const void *object);

typedef struct csk_order_counts {
    uint64_t classes;
    uint64_t steps;     /* of one class inside of another */
    uint64_t chains;    /* different lists of what a thread held, that were looked at once each */
    uint64_t circles;   /* reported */
    uint64_t lost;      /* entries that were not checked, since a table was full, or a thread held too much */
    uint64_t uncovered; /* objects at which threads have waited that are not ordered */
} csk_order_counts_t;

/* Stores the counts so far. */
CSK_API void csk_order_count(csk_order_counts_t *counts);

/* Writes each circle that was reported, with the call stack at which each of its steps was taken first, the objects
 * that are not covered, and how much was not checked for want of room. Returns 0, what `print` returned, or ENOMEM. May
 * be called from a reporter. */
CSK_API int csk_order_print(csk_print_t print, void *context);

CSK_END_DECLS

CSK_STATIC_ASSERT(sizeof(csk_order_counts_t) == 48, "csk_order_counts_t is part of the ABI");

#endif
