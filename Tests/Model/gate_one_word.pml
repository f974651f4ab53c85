/* gate_one_word.pml: the one-word gate: its flags stand in `held`, and it may be freed as soon as it is unlocked.
 *
 * Holds: entering by a look at the summary and a compare-and-swap of the whole word; queueing; parking and waking;
 * designation, giving it back, asking for a hand-over; the leaver's loop, which designates before it frees and wakes
 * behind that; a granted thread's way through the queue lock. -DSTRICT hands over always. -DTIMED lets each thread's
 * deadline pass once, at any moment; it then comes back without one. -DASYNC adds a callback waiter above all threads,
 * which may be cancelled once and queues again. Thread 0 outranks the other threads. Whoever finds that it is the last
 * user frees the gate when its unlocking has returned; each access to the gate checks that it is still there. At the
 * end nobody holds it or waits.
 *
 * Leaves out: store buffers (every store to `held` or to a waiter's word is, or is followed under the queue lock by, a
 * locked instruction), time, spinning, bypass limits, spurious wakes, the inside of the queue lock (whose own unlock
 * touches nothing behind its exchange). */
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
#define NOBODY 100
#define WAITING 0
#define PARKED 1
#define TRY 2
#define GRANTED 3
#ifdef ASYNC
#define USERS (N + 1)
#else
#define USERS N
#endif
#define CALLBACK N                /* the callback waiter's number */

byte held; bit hW, hD, hH;        /* the word: holder and flags */
bit sW, sH; byte sR;              /* the summary */
bit Q, handover;
byte queue[N + 1]; byte waiting;
byte word[N + 1]; bit granted[N + 1];
bit asleep[N + 1];
bit due;                          /* the callback waiter's function is called */
byte inside, users = USERS, done;
bit gone;                         /* the gate's memory */

#define touch assert(!gone)
#define designated (word[queue[0]] == TRY)   /* where somebody waits */
#define rank(i) (i == CALLBACK -> 2 : (i == 0 -> 1 : 0))
#ifdef STRICT
#define wants_hand_over 1
#else
#define wants_hand_over (handover || queue[0] == CALLBACK)
#endif

inline insert(i) {
  k = waiting;
  do :: k > 0 && rank(i) > rank(queue[k - 1]) -> queue[k] = queue[k - 1]; k-- :: else -> break od;
  queue[k] = i; waiting++; word[i] = WAITING; granted[i] = 0; k = 0 }

inline unlink(i, by_grant) {
  if :: by_grant || queue[0] == i -> handover = 0 :: else fi;
  k = 0;
  do :: k < waiting && queue[k] != i -> k++ :: else -> break od;
  do :: k + 1 < waiting -> queue[k] = queue[k + 1]; k++ :: else -> break od;
  waiting--; queue[waiting] = 0; k = 0 }

inline tell(i, w) { if :: word[i] == PARKED -> wake = i :: else fi; word[i] = w }
inline publish_summary() {
  sW = (waiting > 0); sH = (waiting > 0 && wants_hand_over);
  if :: waiting > 0 -> sR = rank(queue[0]) :: else -> sR = 0 fi }
#ifdef NOREPEAT
#define publish_flags() skip
#else
inline publish_flags() { hW = (waiting > 0); hD = (waiting > 0 && designated); hH = (waiting > 0 && wants_hand_over) }
#endif
inline grant(i) {
  unlink(i, 1); granted[i] = 1;
  if :: i == CALLBACK -> held = NOBODY; ready = 1 :: else -> held = i + 1; tell(i, GRANTED) fi }
inline designate(i) { tell(i, TRY) }

inline publish() { d_step { touch; publish_summary() }; d_step { touch; publish_flags() } }
inline settle() {
  publish();
  d_step { touch; if
    :: waiting == 0 || held != 0 -> skip
    :: else -> t = queue[0];
      if :: wants_hand_over -> grant(t) :: else -> if :: designated -> skip :: else -> designate(t) fi fi
  fi; t = 0 };
  publish() }
inline unlock_queue() { d_step { touch; Q = 0 } }
inline perform() {
  if :: wake != NONE -> d_step { asleep[wake] = 0; wake = NONE } :: else fi;
  if :: ready -> d_step { ready = 0; assert(!due); due = 1 } :: else fi }

/* SELF is what `held` says of the leaver. */
inline leave(SELF) {
  later = NONE;
  do
  :: atomic { touch; assert(held == SELF); fW = hW; fD = hD; fH = hH };
#ifdef FREEFIRST
    d_step { held = 0 };
    d_step { touch; fW = hW; fD = hD; fH = hH };
    if :: fW && !(fD && !fH) ->
      atomic { !Q -> touch; Q = 1;
               d_step { if :: waiting > 0 && !wants_hand_over && !designated -> t = queue[0]; designate(t); t = 0
                           :: else fi } };
      settle(); unlock_queue(); perform()
    :: else fi;
    break
#else
    if
    :: !fW || (fD && !fH) ->
#ifdef PLAINSTORE
      d_step { touch; held = 0; hW = fW; hD = fD; hH = fH; seen = 1 };
#else
      d_step { touch; seen = (hW == fW && hD == fD && hH == fH); if :: seen -> held = 0 :: else fi };
#endif
      if :: seen -> break :: else fi
    :: else ->
      atomic { !Q -> touch; Q = 1; d_step {
        seen = (waiting > 0 && wants_hand_over);
        if :: waiting == 0 -> skip
           :: else -> t = queue[0];
                      if :: seen -> grant(t) :: else -> if :: designated -> skip :: else -> designate(t) fi fi
        fi; t = 0 } };
      publish(); unlock_queue();
      if :: seen ->
#ifndef NOEARLIERWAKE
          if :: later != NONE -> d_step { asleep[later] = 0; later = NONE } :: else fi;
#endif
          perform(); later = NONE; break
         :: else -> d_step {
              if :: wake != NONE ->
#ifndef NOFIRSTWAKE
                    if :: later != NONE -> asleep[later] = 0 :: else fi;
#endif
                    later = wake; wake = NONE
                 :: else fi }
      fi
    fi
#endif
  od;
#ifndef NOWAKE
  if :: later != NONE -> d_step { asleep[later] = 0 } :: else fi;
#endif
  atomic { later = NONE; fW = 0; fD = 0; fH = 0; seen = 0 } }

inline finish() {
  if :: last -> gone = 1 :: else fi;
  atomic { last = 0; done++;
           if :: done == USERS -> assert(gone && held == 0 && waiting == 0 && !handover && !Q)
              :: else fi } }

active [N] proctype user() {
  byte me = _pid, k = 0, t = 0, wake = NONE, later = NONE, op = 0;
  bit seen = 0, timed = 0, late = 0, ready = 0, fW = 0, fD = 0, fH = 0, last = 0;
  do :: op < ROUNDS(me) ->
    late = 0;
again:
    atomic { touch; seen = (!sH && (!sW || rank(me) >= sR)); fW = sW };
    if :: seen -> d_step { touch; seen = 0;
#ifdef NOSTALECHECK
        if :: held == 0 -> held = me + 1; seen = 1 :: else fi;
#else
        if :: held == 0 && (fW || !(hW || hD || hH)) -> held = me + 1; seen = 1 :: else fi;
#endif
#ifdef STRICT
        assert(!seen || !hW);
#endif
        fW = 0 }
    :: else -> fW = 0 fi;
    if :: seen -> goto entered :: else fi;
    atomic { !Q -> touch; Q = 1; d_step {
      seen = (waiting == 0);
#ifndef STRICT
      if :: !seen && !handover && queue[0] != CALLBACK -> seen = (rank(me) >= rank(queue[0])) :: else fi;
#endif
      if :: seen && held == 0 -> held = me + 1 :: else -> seen = 0; insert(me) fi } };
    settle(); unlock_queue(); perform();
    if :: seen -> goto entered :: else fi;
#ifdef TIMED
    if :: !late -> timed = 1 :: timed = 0 fi;
#endif
park:
    atomic { if :: word[me] == WAITING -> word[me] = PARKED :: else fi };
    d_step { if :: word[me] == PARKED -> asleep[me] = 1 :: else fi };
    if :: !asleep[me]
       :: timed -> atomic { asleep[me] = 0; if :: word[me] == PARKED -> goto leave_queue :: else fi }
    fi;
    if :: word[me] == GRANTED ->
#ifndef NOPASS
        atomic { touch; !Q -> touch };
#endif
        goto entered
       :: word[me] == TRY -> skip
       :: else -> goto park
    fi;
    atomic { !Q -> touch; Q = 1; d_step { seen = 0;
      if :: granted[me] -> seen = 1
         :: !granted[me] && queue[0] == me && held == 0 ->
              held = me + 1; unlink(me, 1); granted[me] = 1; word[me] = GRANTED; seen = 1
         :: else -> word[me] = WAITING
      fi } };
    if :: !seen && queue[0] == me -> if :: handover = 1 :: skip fi :: else fi;
    settle(); unlock_queue(); perform();
    if :: seen -> goto entered :: else fi;
    if :: goto park :: timed -> goto leave_queue fi;
leave_queue:
    atomic { !Q -> touch; Q = 1; d_step { seen = granted[me]; if :: seen -> skip :: else -> unlink(me, 0) fi } };
#ifndef NOSETTLE
    if :: !seen -> settle() :: else fi;
#endif
    unlock_queue(); perform();
    if :: seen -> goto entered :: else -> late = 1; timed = 0; goto again fi;
entered:
    atomic { touch; assert(held == me + 1); timed = 0 };
    inside++; assert(inside == 1);
    if :: op + 1 == ROUNDS(me) -> d_step { users--; last = (users == 0) } :: else fi;
    inside--;
    leave(me + 1);
    op++
  :: else -> break
  od;
  finish()
}

#ifdef ASYNC
active proctype callback() {
  byte me = CALLBACK, k = 0, t = 0, wake = NONE, later = NONE;
  bit seen = 0, ready = 0, fW = 0, fD = 0, fH = 0, last = 0, cancelled = 0;
again:
  atomic { !Q -> touch; Q = 1; d_step {
    seen = (waiting == 0);
#ifndef STRICT
    if :: !seen && !handover -> seen = 1 :: else fi;
#endif
    if :: seen && held == 0 -> held = NOBODY; granted[me] = 1; ready = 1 :: else -> insert(me) fi; seen = 0 } };
  settle(); unlock_queue(); perform();
  if :: due -> skip
     :: !cancelled -> cancelled = 1;
        atomic { !Q -> touch; Q = 1; d_step { seen = granted[me]; if :: seen -> skip :: else -> unlink(me, 0) fi } };
        if :: !seen -> settle() :: else fi;
        unlock_queue(); perform();
        if :: seen -> due :: else -> goto again fi
  fi;
  d_step { due = 0; touch; assert(held == NOBODY) };
  inside++; assert(inside == 1);
  d_step { users--; last = (users == 0) };
  inside--;
  leave(NOBODY);
  finish()
}
#endif
