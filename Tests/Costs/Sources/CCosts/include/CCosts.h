/* CCosts.h: what callgrind counts between two calls, under a name. */
#ifndef C_COSTS_H
#define C_COSTS_H

/* Turns of a loop that is counted; it is counted with twice as many too, and the difference is what the turns cost. */
enum { COSTS_TURNS = 1024 };

/* Counts the calling thread's instructions and the process's allocations from one to the other. The end writes the
 * allocations to standard output, and has callgrind write the instructions, under the same name. Outside of valgrind
 * only allocations are counted. */
void costs_begin(void);
void costs_end(const char *name);

/* A hundred instructions that do nothing, one more, four more, and an allocation that is given back: the guard counts
 * them to show that it counts right. */
void costs_hundred(void);
void costs_one_more(void);
void costs_four_more(void);
void costs_allocate(void);

#endif
