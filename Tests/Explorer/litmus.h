/* litmus.h: small programs of which it is known what they may end with; they test model_rc11.c.
 *
 * A program has threads with || between them, and a thread has statements with ; between them:
 *
 *   x=1            stores; a value may be a register      x=1.rel
 *   a=x            loads into a register                  a=x.acq
 *   a=swap(x,1)    exchanges; a is what was there         a=add(x,1).ar
 *   a=cas(x,0,1)   compares and swaps; a is what was there; a=cas(x,0,1).acq.rlx has the order of a failure too
 *   F.sc           a fence                                M   a membarrier
 *
 * Locations are s to z, 0 in the beginning; registers a to h, 0 too. Orders: rlx (where none is written) acq rel ar sc.
 *
 * Expectations have ; between them: +a=1 b=0 must be seen, -a=1 b=0 must not. A location's value is the last in its
 * modification order. */
#ifndef EXPLORER_LITMUS_H
#define EXPLORER_LITMUS_H

typedef struct {
    const char *name, *source, *program, *expected;
} litmus_t;

/* litmus_tests.c; the last has no name. */
extern const litmus_t litmus_tests[];

/* The command line behind `explore litmus`. */
int litmus_main(int argc, char **argv);

#endif
