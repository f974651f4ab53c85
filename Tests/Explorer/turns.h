/* turns.h: fair turns. Most schedules favour some threads, and a loop that waits for a neglected one goes on for long.
 * So a schedule that is longer than any should be goes on by turns: all that can happen gets its turn, one after the
 * other, and loads read what is newest. If it does not end by that, the fault is the program's. If the turns come to a
 * state in which they were before, that can be said at once, and with the steps of the cycle. */
#ifndef EXPLORER_TURNS_H
#define EXPLORER_TURNS_H

#include "machine.h"

/* Schedules of the clients that pass have at most some 1000 steps. */
enum { FAIR_FROM = 4000 };

void turns_begin(void);
/* Whose turn it is. */
int turns_choose(const choice_t *choices, int count);
/* Somebody has read the clock, or time has passed: two states are not one. */
void turns_clock(void);
/* Whether all have been in this state before; asked after each choice. */
bool turns_repeat(void);

/* What is said of a schedule without an end, of which the threads, or what they do, are told one by one. */
void turns_describe_blocked(char *text, size_t size, const char *how);
void turns_describe_cycle(char *text, size_t size);
void turns_describe_endless(char *text, size_t size, int steps);

#endif
