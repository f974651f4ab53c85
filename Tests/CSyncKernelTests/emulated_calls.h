/* emulated_calls.h: what test programs for an emulator have in the place of system calls that it lacks. It stands in
 * front of the C library's syscall() and madvise(), by which the kernel makes them. So the kernel's own code runs, and
 * only the answer is not the system's. What the C library itself calls is not seen here. Other programs have none of
 * this. */
#ifndef CSK_TEST_EMULATED_CALLS_H
#define CSK_TEST_EMULATED_CALLS_H

/* From now on the call fails with that error, in the whole process. */
void emulated_refuse(long call, int error);
/* From now on the call ends with what this function returns for its first argument: a result, or a negative error. */
void emulated_answer(long call, long (*answer)(long argument));
/* Makes the call all the same. */
long emulated_pass(long call, long argument);

/* For a pthread_create of the program's own, with the context that it was given: it is about to call the C library's,
 * and nobody forks until the thread runs; and that call has failed. */
void emulated_begin_start(void *context);
void emulated_end_start(void *context);

#endif
