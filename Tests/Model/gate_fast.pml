/* gate_fast.pml: the two-word gate's protocol between threads, with the leaver's plain store in a store buffer.
 *
 * Entering is a compare-and-swap on v, leaving a plain store and a look at w. Thread 0 outranks the others. A leaver
 * may hand over whenever somebody waits. Each NO... option removes one part, and must then fail; Tests/Model/check runs
 * them all. */
#ifndef N
#define N 3
#endif
#ifndef OPS
#define OPS 1
#endif
#define NONE 255
bit v; bit WAITERS, DESIG, QLOCK;     /* the lock; the bits of w */
byte toppr;                           /* w's copy of the highest waiting priority + 1, 0 = none */
bit inheap[N]; byte prio[N]; byte seq[N]; byte nextseq;
byte st[N];                           /* 0 parked, 1 try, 2 granted */
bit buf[N];                           /* a store v=0 waits in thread i's store buffer */
byte incs;                            /* threads inside */
byte top;                             /* computed under QLOCK */
inline computetop() { d_step { top = NONE; k = 0;
  do :: k < N -> if :: inheap[k] ->
                       if :: top == NONE -> top = k
                          :: top != NONE &&
                             (prio[k] > prio[top] || (prio[k] == prio[top] && seq[k] < seq[top])) -> top = k
                          :: else fi
                    :: else fi; k++
     :: else -> break od; k = 0 } }
inline drain(i) { if :: buf[i] -> v = 0; buf[i] = 0 :: else fi }
#define WZERO (!WAITERS && !DESIG && !QLOCK && toppr == 0)
inline qlock(i) { atomic { !QLOCK -> drain(i); QLOCK = 1 } }
inline qunlock(i, setd, clrd) { atomic {
  drain(i); computetop(); WAITERS = (top != NONE); toppr = (top != NONE -> prio[top] + 1 : 0);
  if :: clrd -> DESIG = 0 :: else fi; if :: setd -> DESIG = 1 :: else fi; QLOCK = 0; top = 0 } }
inline take(i) { atomic { drain(i); if :: v == 0 -> v = 1; got = 1 :: else -> got = 0 fi } }
inline membarrier_all() { atomic {
  k = 0; do :: k < N -> if :: buf[k] -> v = 0; buf[k] = 0 :: else fi; k++ :: else -> break od; k = 0 } }
inline post(i) {
  atomic { seen = (WAITERS && !DESIG) };                   /* no fence: who makes this false executes membarrier */
  if :: seen -> qlock(i); atomic { computetop(); tt = top; top = 0 };
       if :: tt == NONE || DESIG -> qunlock(i, 0, 0)
          :: else -> atomic { if :: st[tt] == 0 -> st[tt] = 1 :: else fi }; qunlock(i, 1, 0)
       fi
     :: else fi }
active [N] proctype user() {
  byte me = _pid; byte k = 0; byte tt; bit got; bit seen; bit first; bit s; byte op = 0; bit mayv; bit handed;
  atomic { prio[me] = (me == 0 -> 1 : 0) }                  /* thread 0 outranks the others */
  do :: op < OPS ->
    /* lock */
    got = 0;
    atomic { seen = WZERO };
    if :: seen -> take(me) :: else fi;
    if :: got -> goto inside :: else fi;
    qlock(me);
    atomic { mayv = (toppr <= prio[me] + 1) };
    if :: mayv -> take(me) :: else -> got = 0 fi;
    if :: got -> qunlock(me, 0, 0); goto inside :: else fi;
    atomic { computetop(); first = (top == NONE); top = 0; inheap[me] = 1; seq[me] = nextseq; nextseq++; st[me] = 0 };
    qunlock(me, 0, 0);
#ifndef NOMEMBARRIER
    if :: first -> membarrier_all() :: else fi;
#endif
    if :: first -> atomic { s = (v == 0) }; if :: s -> post(me) :: else fi :: else fi;
again:
    (st[me] != 0);
    if :: st[me] == 2 -> goto granted :: else fi;
    qlock(me);
    if :: st[me] == 2 -> qunlock(me, 0, 0); goto granted :: else fi;
    atomic { computetop(); tt = top; top = 0 };
    if :: tt != me -> skip
       :: else -> take(me); if :: got -> inheap[me] = 0; qunlock(me, 0, 1); goto inside :: else fi fi;
    st[me] = 0; qunlock(me, 0, 1);
#ifndef NOGIVEUPBARRIER
    membarrier_all();
#endif
#ifndef NORECHECK
    atomic { s = (v == 0) }; if :: s -> post(me) :: else fi;
#endif
    goto again;
granted:
#ifndef NOPASS
    qlock(me); qunlock(me, 0, 0);                             /* the granter has published */
#else
    skip;
#endif
inside:
    atomic { incs++; assert(incs == 1) };
    atomic { incs--;  };
    /* unlock */
    atomic { seen = (WAITERS); handed = 0 };
    if :: seen -> 
         if :: qlock(me); atomic { computetop(); tt = top; top = 0 };
                if :: tt == NONE -> qunlock(me, 0, 0)
                   :: else -> inheap[tt] = 0;
                              if :: st[tt] == 1 -> st[tt] = 2; qunlock(me, 0, 1)
                                 :: else -> st[tt] = 2; qunlock(me, 0, 0) fi; handed = 1 fi
            :: skip
         fi
       :: else fi;
    if :: handed -> skip
       :: else -> atomic { buf[me] = 1 };
#ifndef NOREREAD  /* the leaver looks at w behind its store */
            atomic { seen = (WZERO || (WAITERS && DESIG)) };
            if :: seen -> skip :: else -> post(me) fi
#endif
    fi;
    op++
  :: else -> break
  od
}
active proctype storebuffers() { byte k;
end: do :: atomic { buf[0] -> v = 0; buf[0] = 0 }
        :: atomic { buf[1] -> v = 0; buf[1] = 0 }
#if N > 2
        :: atomic { buf[2] -> v = 0; buf[2] = 0 }
#endif
     od }
