/* CFaults.h: an allocator in front of the C library's that fails at one allocation, and children to use it in; and
 * threads that the system refuses. */
#ifndef CFAULTS_H
#define CFAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    bool failed;       /* the allocation was asked for, and refused */
    int64_t asked;     /* allocations since the marker */
    int status;        /* as waitpid has it */
    char output[4096]; /* what the child wrote to its standard error stream: the beginning */
} fault_attempt_t;

/* Runs work() twice in a child; the second time the `which`th allocation fails (0: none). A child that is still there
 * after `limit_s` is ended by SIGALRM. To be called while this process has one thread. */
fault_attempt_t fault_attempt(int64_t which, unsigned limit_s, void (*work)(void));

bool fault_exited_well(const fault_attempt_t *attempt);
/* The signal that ended the child, or 0. */
int fault_signal(const fault_attempt_t *attempt);
const char *fault_output(const fault_attempt_t *attempt);

/* From now on pthread_create() refuses threads to this program and what is linked into it, as the library is, but not
 * to shared libraries, as Dispatch is one; false ends that. */
void fault_refuse_threads(bool refuse);

#endif
