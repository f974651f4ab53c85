/* litmus_tests.c: programs whose outcomes under RC11 are published, and programs with membarrier, of which each has its
 * argument. litmus.h has the notation.
 *
 * Sources
 *   L17    Lahav, Vafeiadis, Kang, Hur, Dreyer, "Repairing sequential consistency in C/C++11", PLDI 2017: RC11 itself
 *   K17    Kang, Hur, Lahav, Vafeiadis, Dreyer, "A promising semantics for relaxed-memory concurrency", POPL 2017
 *   B11    Batty, Owens, Sarkar, Sewell, Weber, "Mathematizing C++ concurrency", POPL 2011
 *   M12    Maranget, Sarkar, Sewell, "A tutorial introduction to the ARM and POWER relaxed memory models", 2012: shapes
 *   A14    Alglave, Maranget, Tautschnig, "Herding cats", TOPLAS 2014: shapes
 *   Bo12   Boehm, "Can seqlocks get along with programming language memory models?", MSPC 2012
 *   P0668  Boehm, Giroux, Vafeiadis, "Revising the C++ memory model", P0668R5
 *   P0982  Boehm, Giroux, Vafeiadis, "Weaken release sequences", P0982R1
 *   C20    ISO C++ 2020, [intro.races] and [atomics.order]
 *   G      the suite of the model checker GenMC, tests/correct/litmus
 *   P1202  Goldblatt, "Asymmetric fences", P1202R5
 *   arg    the argument beside it
 * Where a source has a shape and C++ orders are put into it, the verdict follows from rc11.cat of herd, which
 * Tests/Explorer/litmus_axioms.py computes for each of these programs anew. */
#include "litmus.h"

#include <stddef.h>

/* clang-format off: a table, one test in two lines */
const litmus_t litmus_tests[] = {
    /* ---- Coherence ---- */
    { "CoRR", "B11, C20 intro.races", "x=1 || a=x; b=x", "-a=1 b=0; +a=0 b=1" },
    { "CoRR2", "A14, G CoRR2", "x=1 || x=2 || a=x; b=x || c=x; d=x",
      "-a=1 b=2 c=2 d=1; +a=1 b=2 c=1 d=2; +a=1 b=2 c=2 d=2" },
    { "CoWW", "B11, C20 intro.races", "x=1; x=2", "-x=1; +x=2" },
    { "CoRW1", "A14", "a=x; x=1", "-a=1; +a=0" },
    { "CoRW2", "B11, A14", "a=x; x=1 || x=2", "-a=2 x=2; +a=2 x=1; +a=0 x=2; +a=0 x=1" },
    { "CoWR0", "A14", "x=1; a=x", "-a=0; +a=1" },
    { "CoWR", "B11, G CoWR", "x=1; a=x || x=2", "-a=0; -a=2 x=1; +a=2 x=2; +a=1 x=1" },
    { "CoRW+hb", "B11", "x=1; y=1.rel || a=y.acq; x=2", "-a=1 x=1; +a=1 x=2; +a=0 x=1" },

    /* ---- Message passing ---- */
    { "MP", "M12", "x=1; y=1 || a=y; b=x", "+a=1 b=0; +a=1 b=1; +a=0 b=1" },
    { "MP+rel+rlx", "B11", "x=1; y=1.rel || a=y; b=x", "+a=1 b=0" },
    { "MP+rlx+acq", "B11", "x=1; y=1 || a=y.acq; b=x", "+a=1 b=0" },
    { "MP+rel+acq", "B11, G MP+rel+acq", "x=1; y=1.rel || a=y.acq; b=x", "-a=1 b=0; +a=0 b=0; +a=0 b=1" },
    { "MP+relF+acqF", "B11, G MP+relf+acqf", "x=1; F.rel; y=1 || a=y; F.acq; b=x", "-a=1 b=0" },
    { "MP+rel+acqF", "B11, G MP+rel+acqf", "x=1; y=1.rel || a=y; F.acq; b=x", "-a=1 b=0" },
    { "MP+relF+acq", "B11, G MP+relf+acq", "x=1; F.rel; y=1 || a=y.acq; b=x", "-a=1 b=0" },
    { "MP+sc", "B11", "x=1.sc; y=1.sc || a=y.sc; b=x.sc", "-a=1 b=0" },
    { "MP+flag-sc", "L17", "x=1; y=1.sc || a=y.sc; b=x", "-a=1 b=0" },
    { "MP+scF+rlx", "B11", "x=1; F.sc; y=1 || a=y; b=x", "+a=1 b=0" },
    { "MP+scF+scF", "B11", "x=1; F.sc; y=1 || a=y; F.sc; b=x", "-a=1 b=0" },
    { "MP+late-relF+acq", "C20 atomics.fences", "x=1; y=1; F.rel || a=y.acq; b=x", "+a=1 b=0" },
    { "MP+rel+early-acqF", "C20 atomics.fences", "x=1; y=1.rel || F.acq; a=y; b=x", "+a=1 b=0" },
    { "seqlock", "Bo12", "z=1; F.rel; x=1; z=2.rel || a=z.acq; b=x; F.acq; c=z", "-b=1 c=0; +b=1 c=1; +a=0 b=0 c=2" },

    /* ---- Release sequences ---- */
    { "MP+rel-rlx+acq", "P0982", "x=1; y=1.rel; y=2 || a=y.acq; b=x", "+a=2 b=0; -a=1 b=0" },
    { "MP+relF-rlx-rlx+acq", "C20 atomics.fences", "x=1; F.rel; y=1; y=2 || a=y.acq; b=x", "-a=2 b=0; -a=1 b=0" },
    { "MP+rel-other+acq", "P0982, B11", "x=1; y=1.rel || y=2 || a=y.acq; b=x", "+a=2 b=0" },
    { "MPU+rel+acq", "C20, G MPU+rel+acq", "x=1; y=1.rel || a=add(y,1) || b=y.acq; c=x", "-a=1 b=2 c=0; +a=0 b=1 c=0" },
    { "MPU2+rel+acq", "C20, G MPU2+rel+acq", "x=1; y=1.rel || a=add(y,1) || d=add(y,1) || b=y.acq; c=x",
      "-b=3 c=0; +a=1 d=2 b=3 c=1" },
    { "MPU+relF+acqF", "C20, G MPU+relf+acqf", "x=1; F.rel; y=1 || a=add(y,1) || b=y; F.acq; c=x", "-a=1 b=2 c=0" },
    { "MPU+own", "C20", "x=1; y=1.rel; a=add(y,1) || b=y.acq; c=x", "-b=2 c=0" },
    { "MPU+swap", "C20", "x=1; y=1.rel || a=swap(y,5) || b=y.acq; c=x", "-a=1 b=5 c=0; +a=0 b=5 c=0" },
    { "MPU+broken", "P0982", "x=1; y=1.rel; y=2 || a=add(y,10) || b=y.acq; c=x", "+a=2 b=12 c=0; -a=1 b=11 c=0" },

    /* ---- Read-modify-writes ---- */
    { "two-adds", "B11, G fai", "a=add(x,1) || b=add(x,1)", "-a=0 b=0; -x=1; +a=0 b=1 x=2; +a=1 b=0 x=2" },
    { "two-cas", "L17", "a=cas(x,0,1) || b=cas(x,0,2)", "-a=0 b=0; +a=0 b=1; +a=2 b=0" },
    { "add-and-store", "L17, rmw atomicity", "a=add(x,1) || x=5", "-a=0 x=1; +a=0 x=5; +a=5 x=6" },
    { "add-between-stores", "L17, rmw atomicity", "x=1; x=2 || a=add(x,10)",
      "+a=1 x=2; +a=0 x=2; +a=2 x=12; -a=1 x=11" },
    { "cas-fails-acq", "C20 atomics.order", "x=1; y=1.rel || a=cas(y,5,6).rlx.acq; b=x", "-a=1 b=0" },
    { "cas-fails-rlx", "C20 atomics.order", "x=1; y=1.rel || a=cas(y,5,6).acq.rlx; b=x", "+a=1 b=0" },
    { "cas-fails-releases-not", "C20 atomics.order", "x=1; a=cas(y,5,6).rel.rlx; z=1 || b=z.acq; c=x", "+b=1 c=0" },
    { "cas-fails-stale", "B11", "x=1; y=1 || a=y; b=cas(x,1,2)", "+a=1 b=0; +a=1 b=1" },
    { "cas-is-strong", "C20", "x=1; y=1.rel || a=y.acq; b=cas(x,1,2)", "-a=1 b=0; +a=1 b=1 x=2; -a=1 x=1" },
    { "SB+rmw-as-fence", "K17, L17", "x=1; a=add(z,0).ar; b=y || y=1; c=add(z,0).ar; d=x", "-b=0 d=0" },

    /* ---- Store buffering ---- */
    { "SB", "M12", "x=1; a=y || y=1; b=x", "+a=0 b=0; +a=1 b=1" },
    { "SB+rel+acq", "B11", "x=1.rel; a=y.acq || y=1.rel; b=x.acq", "+a=0 b=0" },
    { "SB+sc", "B11", "x=1.sc; a=y.sc || y=1.sc; b=x.sc", "-a=0 b=0" },
    { "SB+scF", "B11, L17", "x=1; F.sc; a=y || y=1; F.sc; b=x", "-a=0 b=0" },
    { "SB+scF+rlx", "B11", "x=1; F.sc; a=y || y=1; b=x", "+a=0 b=0" },
    { "SB+arF", "B11", "x=1; F.ar; a=y || y=1; F.ar; b=x", "+a=0 b=0" },
    { "SB+scF+sc", "L17", "x=1; F.sc; a=y || y=1.sc; b=x.sc", "-a=0 b=0" },
    { "SB+sc-stores+acq", "L17", "x=1.sc; a=y.acq || y=1.sc; b=x.acq", "+a=0 b=0" },
    { "SB+swap-ar", "B11", "a=swap(x,1).ar; b=y.acq || c=swap(y,1).ar; d=x.acq", "+b=0 d=0" },
    { "SB+swap-sc+rlx", "L17", "a=swap(x,1).sc; b=y || c=swap(y,1).sc; d=x", "+b=0 d=0" },
    { "SB+swap-sc+sc", "L17", "a=swap(x,1).sc; b=y.sc || c=swap(y,1).sc; d=x.sc", "-b=0 d=0" },
    { "3.SB+scF", "A14", "x=1; F.sc; a=y || y=1; F.sc; b=z || z=1; F.sc; c=x", "-a=0 b=0 c=0" },
    { "3.SB+scF+rlx", "A14", "x=1; F.sc; a=y || y=1; F.sc; b=z || z=1; c=x", "+a=0 b=0 c=0" },

    /* ---- Load buffering: RC11 keeps program order and reads-from without a cycle ---- */
    { "LB", "L17", "a=x; y=1 || b=y; x=1", "-a=1 b=1; +a=1 b=0" },
    { "LB+rel+acq", "B11, G LB+rel", "a=x.acq; y=1.rel || b=y.acq; x=1.rel", "-a=1 b=1" },
    { "LB+data", "L17, B11", "a=x; y=a || b=y; x=b", "-a=1; -b=1; +a=0 b=0" },
    { "3.LB", "A14, G LB3", "a=x; y=1 || b=y; z=1 || c=z; x=1", "-a=1 b=1 c=1" },

    /* ---- S, R, 2+2W ---- */
    { "S", "M12", "x=2; y=1 || a=y; x=1", "+a=1 x=2; +a=1 x=1" },
    { "S+rel+acq", "A14", "x=2; y=1.rel || a=y.acq; x=1", "-a=1 x=2" },
    { "S+rel+rlx", "A14", "x=2; y=1.rel || a=y; x=1", "+a=1 x=2" },
    { "R", "M12", "x=1; y=1 || y=2; a=x", "+y=2 a=0" },
    { "R+rel+acq", "A14", "x=1; y=1.rel || y=2.rel; a=x.acq", "+y=2 a=0" },
    { "R+scF", "A14, L17", "x=1; F.sc; y=1 || y=2; F.sc; a=x", "-y=2 a=0" },
    { "R+sc", "B11", "x=1.sc; y=1.sc || y=2.sc; a=x.sc", "-y=2 a=0" },
    { "R+rlx-sc+sc", "L17", "x=1; y=1.sc || y=2.sc; a=x.sc", "+y=2 a=0" },
    { "2+2W", "M12, G 2+2W", "x=1; y=2 || y=1; x=2", "+x=1 y=1; +x=2 y=2; +x=1 y=2" },
    { "2+2W+rel", "A14", "x=1; y=2.rel || y=1; x=2.rel", "+x=1 y=1" },
    { "2+2W+scF", "A14, L17", "x=1; F.sc; y=2 || y=1; F.sc; x=2", "-x=1 y=1" },
    { "2+2W+sc", "B11", "x=1.sc; y=2.sc || y=1.sc; x=2.sc", "-x=1 y=1" },
    { "2+2W+3sc+rel", "G 2+2W+3sc+rel", "x=1.sc; y=2.sc || y=1.sc; x=2.rel", "+x=1 y=1" },
    { "2+2W+2sc+scF", "G 2+2W+2sc+scf", "x=1.sc; y=2.sc || y=1; F.sc; x=2", "-x=1 y=1" },
    { "3.2W+scF", "A14", "x=1; F.sc; y=2 || y=1; F.sc; z=2 || z=1; F.sc; x=2", "-x=1 y=1 z=1" },

    /* ---- Three and four threads ---- */
    { "WRC", "M12", "x=1 || a=x; y=1 || b=y; c=x", "+a=1 b=1 c=0" },
    { "WRC+rel+acq", "B11, M12", "x=1 || a=x; y=1.rel || b=y.acq; c=x", "-a=1 b=1 c=0" },
    { "WRC+rlx+acq", "M12", "x=1 || a=x; y=1 || b=y.acq; c=x.acq", "+a=1 b=1 c=0" },
    { "ISA2", "M12", "x=1; y=1 || a=y; z=1 || b=z; c=x", "+a=1 b=1 c=0" },
    { "ISA2+rel+acq", "M12, A14", "x=1; y=1.rel || a=y.acq; z=1.rel || b=z.acq; c=x", "-a=1 b=1 c=0" },
    { "ISA2+rlx-middle", "B11", "x=1; y=1.rel || a=y; z=1.rel || b=z.acq; c=x", "+a=1 b=1 c=0" },
    { "IRIW", "M12", "x=1 || a=x; b=y || c=y; d=x || y=1", "+a=1 b=0 c=1 d=0" },
    { "IRIW+rel+acq", "B11", "x=1.rel || a=x.acq; b=y.acq || c=y.acq; d=x.acq || y=1.rel", "+a=1 b=0 c=1 d=0" },
    { "IRIW+sc", "B11", "x=1.sc || a=x.sc; b=y.sc || c=y.sc; d=x.sc || y=1.sc", "-a=1 b=0 c=1 d=0" },
    { "IRIW+scF", "L17", "x=1 || a=x; F.sc; b=y || c=y; F.sc; d=x || y=1", "-a=1 b=0 c=1 d=0" },
    { "IRIW-acq-sc", "L17, G IRIW-acq-sc", "x=1.sc || a=x.acq; b=y.sc || c=y.acq; d=x.sc || y=1.sc",
      "+a=1 b=0 c=1 d=0" },
    { "RWC+syncs", "L17", "x=1 || a=x; F.sc; b=y || y=1; F.sc; c=x", "-a=1 b=0 c=0" },
    { "RWC+arF", "A14", "x=1 || a=x; F.ar; b=y || y=1; F.ar; c=x", "+a=1 b=0 c=0" },
    { "W+RWC", "L17", "x=1; z=1.rel || a=z.acq; F.sc; b=y || y=1; F.sc; c=x", "-a=1 b=0 c=0" },
    { "Z6.0", "A14", "x=1; y=1 || y=2; z=1 || a=z; b=x", "+y=2 a=1 b=0" },
    { "Z6.0+scF", "A14", "x=1; F.sc; y=1 || y=2; F.sc; z=1 || a=z; F.sc; b=x", "-y=2 a=1 b=0" },
    { "Z6.U", "L17", "x=1.sc; y=1.rel || b=add(y,1).acq; c=y || y=3.sc; a=x.sc", "+b=1 c=3 a=0" },
    { "scF+rlx-chain+scF", "L17, psc", "x=1; F.sc; y=1 || a=y; z=1 || b=z; F.sc; c=x", "+a=1 b=1 c=0" },
    { "scF+rel-chain+scF", "L17, psc", "x=1; F.sc; y=1 || a=y.acq; z=1.rel || b=z.acq; F.sc; c=x", "-a=1 b=1 c=0" },

    /* ---- membarrier: a fence of each other thread, at a point of its own, in the order of sequentially consistent
     * steps behind the call's begin B and before its end E ---- */
    /* The point P of the first thread is behind its store: then E, b=0, the store and P are a cycle. Or it is before
     * its load: then P, a=0, y=1 and B are one. */
    { "SB+M", "P1202, arg", "x=1; a=y || y=1; M; b=x", "-a=0 b=0; +a=0 b=1; +a=1 b=0" },
    /* What a compiler may make of the first thread where no signal fence stands between: P is behind the load and
     * before the store. */
    { "SB+M+exchanged", "arg", "a=y; x=1 || y=1; M; b=x", "+a=0 b=0" },
    /* With a full fence in the place of the membarrier the other side has none: that is SB+scF+rlx. Before the store
     * the membarrier's points may all be too early. */
    { "SB+early-M", "arg", "x=1; a=y || M; y=1; b=x", "+a=0 b=0" },
    /* Behind y=1 was read, P is behind y=1 too, or at least behind x=1, or the point would be before B in time. So E,
     * b=0, x=1 and P are a cycle. */
    { "MP+rlx+M", "P1202, arg", "x=1; y=1 || a=y; M; b=x", "-a=1 b=0; +a=0 b=0" },
    /* The load of y=1 comes after E, so P is before both loads: x=1, B, P, b=0. */
    { "MP+M+rlx", "P1202, arg", "x=1; M; y=1 || a=y; b=x", "-a=1 b=0; +a=0 b=1" },
    /* As MP+rlx+M: the store x=1 behind E is later in modification order than x=2, which is before P. */
    { "S+rlx+M", "arg", "x=2; y=1 || a=y; M; x=1", "-a=1 x=2; +a=1 x=1" },
    /* P is behind x=1: E, a=0, x=1, P. Or it is before y=1: P, y=1, y=2, B. */
    { "R+rlx+M", "arg", "x=1; y=1 || y=2; M; a=x", "-y=2 a=0; +y=1 a=0" },
    /* P is behind x=1: E, x=2, x=1, P. Or it is before y=2: P, y=2, y=1, B. */
    { "2+2W+rlx+M", "arg", "x=1; y=2 || y=1; M; x=2", "-x=1 y=1; +x=2 y=2" },
    /* The third thread's point is behind c=1: E, b=0, y=1, c=1, P. Or it is before d=0: P, d=0, x=1, a=1, B. */
    { "IRIW+M+rlx", "arg", "x=1 || a=x; M; b=y || c=y; d=x || y=1", "-a=1 b=0 c=1 d=0; +a=1 b=0 c=1 d=1" },
    /* The second thread's point is behind a=1: E, c=0, x=1, a=1, P. Or it is before b=0: P, b=0, y=1, B. */
    { "RWC+rlx+M", "arg", "x=1 || a=x; b=y || y=1; M; c=x", "-a=1 b=0 c=0; +a=1 b=0 c=1" },
    /* Nothing orders the points of two threads with each other: both may be before everything, or behind it. */
    { "SB+M-elsewhere", "P1202, arg", "x=1; a=y || y=1; b=x || M", "+a=0 b=0" },
    /* A point in each of two threads does not synchronize: both may be too early. */
    { "MP+M-elsewhere", "arg", "x=1; y=1 || M || a=y; b=x", "+a=1 b=0" },
    /* Two membarriers are as good as two fences. */
    { "SB+M+M", "arg", "x=1; M; a=y || y=1; M; b=x", "-a=0 b=0" },
    /* A membarrier beside an ordinary fence: B and E are fences of the caller. */
    { "SB+scF+M", "arg", "x=1; F.sc; a=y || y=1; M; b=x", "-a=0 b=0" },
    { NULL, NULL, NULL, NULL },
};
/* clang-format on */
