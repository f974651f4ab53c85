/* gate_timeout.pml: the two-word gate with waiters whose deadlines may pass at any moment.
 *
 * Holds: entering by a look at the summary and a compare-and-swap; queueing; parking on the waiter's own word and being
 * woken by its address; designation, giving it back, asking for a hand-over; leaving the queue because of the deadline;
 * settling; looking again behind a membarrier; a granted thread's way through the queue lock. The leaver's plain store
 * waits in a store buffer, and what a section under the queue lock publishes becomes visible before its look at `held`
 * or only when it unlocks. Thread 0 outranks the others. Each waiter chooses between a deadline and none. At the end
 * the gate is free, and nobody is queued. -DLATE lets a waiter that was told to try be passed over, at any moment,
 * until it comes. With -DNEVER thread 1 may never come, unless it is granted the gate: the others go on.
 *
 * Leaves out: the time (every deadline and the end of every patience may come at once or never), spinning and the
 * second round of a designated waiter (more of the same looks), callbacks, bypass limits, closing, waiter memory that
 * is used again. */
#ifndef N
#define N 3
#endif
#ifndef OPS
#define OPS 1
#endif
#ifdef EXTRA                      /* one thread of the lower rank does one round more */
#define ROUNDS(i) (i == N - 1 -> OPS + 1 : OPS)
#else
#define ROUNDS(i) OPS
#endif
#define NONE 255
#define WAITING 0
#define PARKED 1
#define TRY 2
#define GRANTED 3

byte held;                        /* 0 free, else 1 + thread */
bit sW, sD, sH, sR;               /* the summary: waiters, designated, hand-over, rank of the next */
bit Q, handover;                  /* the queue lock, and what it protects */
byte queue[N]; byte waiting;      /* in order */
byte word[N]; bit granted[N];
bit asleep[N];
bit buf[N + 1];                   /* thread i's store held = 0 is in its store buffer */
byte inside, done;
#ifdef LATE
bit away[N];                      /* thread i was passed over, and has not come back */
#endif

#define rank(i) (i == 0)
#define designated (word[queue[0]] == TRY)   /* where somebody waits */
#define calls_nobody(W, D, H) (!(W) || ((D) && !(H)))
#define flush(i) if :: buf[i] -> held = 0; buf[i] = 0 :: else fi

inline insert(i) {
  k = waiting;
  do :: k > 0 && rank(i) > rank(queue[k - 1]) -> queue[k] = queue[k - 1]; k-- :: else -> break od;
  queue[k] = i; waiting++; word[i] = WAITING; granted[i] = 0; k = 0 }

#ifdef LATE
inline insert_again(i) {          /* in front of those of its rank, and as it is: told to try */
  k = waiting;
  do :: k > 0 && rank(i) >= rank(queue[k - 1]) -> queue[k] = queue[k - 1]; k-- :: else -> break od;
  queue[k] = i; waiting++; k = 0 }
#endif

inline unlink(i, by_grant) {
  if :: by_grant || queue[0] == i -> handover = 0 :: else fi;
  k = 0;
  do :: k < waiting && queue[k] != i -> k++ :: else -> break od;
  do :: k + 1 < waiting -> queue[k] = queue[k + 1]; k++ :: else -> break od;
  waiting--; queue[waiting] = 0; k = 0 }

inline tell(i, w) { if :: word[i] == PARKED -> wake = i :: else fi; word[i] = w }
inline publish() {
  sW = (waiting > 0); sD = (waiting > 0 && designated); sH = (waiting > 0 && handover);
  sR = (waiting > 0 && rank(queue[0])) }
inline grant(i) { unlink(i, 1); held = i + 1; granted[i] = 1; tell(i, GRANTED) }
inline designate(i) { tell(i, TRY) }

/* A section: lock; the change; settle; unlock; wake. The publication is a plain store: seen at once, or with the
 * next locked instruction, of which the unlock is one. */
inline settle() {
  if :: d_step { publish() } :: skip fi;
  d_step { if
    :: waiting == 0 || held != 0 -> skip
    :: else -> publish();
      if :: handover -> t = queue[0]; grant(t)
         :: else -> if :: designated -> skip :: else -> t = queue[0]; designate(t) fi
      fi
  fi; t = 0 } }
/* Whether leavers that relied on the queue as it was may have to call somebody now. */
#ifdef NOABOVE
inline asks() { relied = relied && waiting == 1 }
#else
inline asks() { relied = relied && !calls_nobody(waiting > 0, designated, handover) }
#endif
inline unlock_queue() {
  d_step { publish(); Q = 0 };
  if :: wake != NONE -> d_step { asleep[wake] = 0; wake = NONE } :: else fi }

inline post() {
  atomic { seen = (sW && !(sD && !sH)) };
  if :: seen ->
    atomic { !Q -> flush(me); Q = 1;
             d_step { if :: waiting > 0 && !designated && !handover -> t = queue[0]; designate(t); t = 0
                         :: else fi } };
    settle(); unlock_queue()
  :: else fi }

inline membarrier() { d_step { k = 0; do :: k < N -> flush(k); k++ :: else -> break od; k = 0 } }
inline look_again() { membarrier(); atomic { seen = (held == 0) }; if :: seen -> post() :: else fi }

active [N] proctype user() {
  byte me = _pid, k = 0, t = 0, wake = NONE, op = 0;
  bit seen = 0, first = 0, relied = 0, timed = 0, given = 0;
  do :: op < ROUNDS(me) ->
    seen = 0; first = 0;
    /* take_without_queue: what it read of the summary may be stale by the time it enters */
    atomic { seen = (!sH && (!sW || rank(me) >= sR)) };
    if :: seen -> d_step { seen = 0; flush(me); if :: held == 0 -> held = me + 1; seen = 1 :: else fi } :: else fi;
    if :: seen -> goto entered :: else fi;
    /* under the queue lock: enter after all, or queue */
    atomic { !Q -> flush(me); Q = 1;
      d_step { if
        :: held == 0 && (waiting == 0 || (!handover && rank(me) >= rank(queue[0]))) -> held = me + 1; seen = 1
        :: else -> first = 1; relied = calls_nobody(sW, sD, sH); insert(me)
      fi } };
    settle(); d_step { asks() }; unlock_queue();
    if :: seen -> goto entered :: else fi;
    if :: first && relied -> look_again() :: else fi;
    first = 0; relied = 0;
    if :: timed = 1 :: timed = 0 fi;
park:
    atomic { if :: word[me] == WAITING -> word[me] = PARKED :: else fi };
    d_step { if :: word[me] == PARKED -> asleep[me] = 1 :: else fi };          /* the kernel compares the word */
    if :: !asleep[me]
       :: timed -> atomic { asleep[me] = 0; if :: word[me] == PARKED -> goto leave_queue :: else fi }
    fi;
    if :: word[me] == GRANTED ->
#ifndef NOPASS
        atomic { !Q -> skip };            /* the granter has published */
#endif
        goto entered
       :: word[me] == TRY -> skip
       :: else -> goto park
    fi;
#ifdef NEVER
    if :: skip :: me == 1 -> goto end_late fi;
#endif
    /* told to try: only the next in order enters, anybody else gives the designation back */
    atomic { !Q -> Q = 1; d_step { flush(me); seen = 0; given = 0;
#ifdef LATE
      if :: away[me] && !granted[me] -> away[me] = 0; insert_again(me) :: else fi;
#endif
      if :: granted[me] -> seen = 1
         :: !granted[me] && queue[0] == me && held == 0 ->
              held = me + 1; unlink(me, 1); granted[me] = 1; word[me] = GRANTED; seen = 1
         :: else -> word[me] = WAITING; given = 1
      fi } };
    if :: given && queue[0] == me -> if :: handover = 1 :: skip fi :: else fi;  /* its patience may be over */
    settle(); unlock_queue();
    if :: seen -> goto entered :: else fi;
    look_again();
    if :: goto park :: timed -> goto leave_queue fi;
leave_queue:
    atomic { !Q -> Q = 1; d_step { flush(me); seen = granted[me]; given = 0;
#ifdef NOGRANTCHECK
      if :: seen -> seen = 0 :: else -> given = (word[me] == TRY); unlink(me, 0) fi
#else
      if :: seen -> skip
         :: else -> given = (word[me] == TRY);
#ifdef LATE
           if :: away[me] -> away[me] = 0 :: else -> unlink(me, 0) fi
#else
           unlink(me, 0)
#endif
      fi
#endif
      } };
#ifdef NOSETTLE
    atomic { Q = 0 };
#else
    relied = calls_nobody(sW, sD, sH);
    if :: !seen -> settle(); d_step { asks() } :: else relied = 0 fi;
#ifdef NOWAKE
    wake = NONE;
#endif
    unlock_queue();
#endif
    if :: seen -> goto entered :: else fi;
#ifndef NOLOOKAGAIN
#ifdef NOLEAVEBARRIER
    if :: given -> atomic { seen = (held == 0) }; if :: seen -> post() :: else fi :: else fi;
#else
    if :: given || relied -> look_again() :: else fi;
    relied = 0;
#endif
#endif
    goto next_op;
entered:
    assert(held == me + 1 && !buf[me]);
    inside++; assert(inside == 1);
    inside--;
    /* leave: hand over if that was asked for, else store and look */
    atomic { seen = sH };
    if :: seen ->
      atomic { !Q -> Q = 1; d_step { seen = (waiting > 0); if :: seen -> t = queue[0]; grant(t); t = 0 :: else fi } };
      unlock_queue()
    :: else fi;
    if :: seen -> goto next_op :: else fi;
    buf[me] = 1;
    atomic { seen = (sW && !(sD && !sH)) };
    if :: seen -> post() :: else fi;
next_op:
    atomic { op++; seen = 0; first = 0; given = 0; timed = 0 }
  :: else -> break
  od;
  goto ended;
end_late:                                /* a valid end: it runs no more */
#ifdef NEVER
  atomic { word[me] == GRANTED -> skip };
  goto park;
#endif
ended:
  atomic { flush(me); done++;
    if :: done == N -> assert(held == 0 && waiting == 0 && !handover && !sW && !Q) :: else fi }
}

#ifdef LATE
/* Who looks for a late waiter, and stands in no queue itself: another waiter, which goes on as before. */
active proctype looks() {
  byte me = N, k = 0, t = 0, wake = NONE;
  bit seen = 0, relied = 0;
end: do :: atomic { waiting > 1 && designated && !handover && !Q -> Q = 1; relied = calls_nobody(sW, sD, sH);
            d_step { t = queue[0]; unlink(t, 0); away[t] = 1; t = 0 } };
       settle(); d_step { asks() };
       d_step { publish(); Q = 0 };
       if :: wake != NONE -> d_step { asleep[wake] = 0; wake = NONE } :: else fi;
#ifndef NOLATELOOK
       if :: relied -> look_again() :: else fi;
#endif
       relied = 0
     od }
#endif

active proctype store_buffers() {
end: do
  :: atomic { buf[0] -> held = 0; buf[0] = 0 }
  :: atomic { buf[1] -> held = 0; buf[1] = 0 }
#if N > 2
  :: atomic { buf[2] -> held = 0; buf[2] = 0 }
#endif
  od }
