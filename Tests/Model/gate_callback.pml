/* gate_callback.pml: callback waiters of the two-word gate: deadlines, cancelling, provisional grants, closing.
 *
 * Holds: two callback waiters, 0 before 1 in order, and the closing waiter behind both; the timer thread with its
 * deadlines and graces, and cancelling a timer, which waits for a function that runs; functions called behind the
 * section that made them due, by the timer thread behind its own function; adopting, losing a grant, queueing again,
 * forgetting; the leaver's plain store in a store buffer and publications that become visible early or late; looking
 * again behind a membarrier. Waiter 0 is adoptable, with -DBOTH waiter 1 too.
 * Options: -DTIMED each may have a deadline; -DCANCEL somebody cancels one of them; -DTHREAD a thread may pass through
 * the gate; -DCLOSE somebody closes it. Whoever should adopt for waiter 0 may be stuck until waiter 1 has had its turn.
 * Each accepted waiter's function is called once, with no timer left that would touch the waiter; the closing waiter
 * comes last and for good; at the end the gate is free or the closing waiter's.
 *
 * Leaves out: thread waiters (gate_timeout.pml and gate_one_word.pml have them), time (a started timer may fire at once
 * or never), the queue lock's and the timers' inside, misuse such as adopting twice, fork. */
#ifdef CLOSE
#define CLOSING 1
#else
#define CLOSING 0
#endif
#define NONE 255
#define NOBODY 100
#define CLOSER 2
#define THREAD_ID 2                         /* who leaves: owners 0 and 1, the thread */
#define OTHERS 3
#define IDLE 0
#define QUEUED 1
#define GRANTED 2
#define LOST 3
#define GRACE 10                            /* timers: i the deadline of waiter i, GRACE + i its grace */

byte held; bit pub;                         /* pub: the summary says that somebody waits, for a hand-over */
bit Q, closed; byte pending = NONE; byte lost;
byte state[3]; bit cancelled_status[3]; bit dl_started[3], grace_started[3];
bit dl_timer[3], grace_timer[3];            /* in the timers' heap */
byte firing = NONE; bit may_touch;          /* the timer whose function runs; it has not had its section yet */
bit owed[3], called[3], finished[3];
bit buf[4];                                 /* 3 stays empty */
byte inside; bit over;

#define flush(i) if :: buf[i] -> held = 0; buf[i] = 0 :: else fi
#ifdef CLOSERFIRST
#define lost_bars 0
#else
#define lost_bars (lost > 0)
#endif
#define is_queued(i) (state[i] == QUEUED)
#define next (is_queued(0) -> 0 : (is_queued(1) -> 1 : ((is_queued(CLOSER) && !lost_bars) -> CLOSER : NONE)))
#define anybody (is_queued(0) || is_queued(1) || is_queued(CLOSER))
#ifdef BOTH
#define adoptable(i) (i < 2)
#else
#define adoptable(i) (i == 0)
#endif

inline start_grace() {
  if :: grace_started[pending] -> skip :: else -> grace_started[pending] = 1; grace_timer[pending] = 1 fi }
inline make_due(i, s) { cancelled_status[i] = s; ready = ready | (1 << i) }
inline mark_granted(i) {
  state[i] = GRANTED; held = NOBODY;
  if :: adoptable(i) -> pending = i; grace_started[i] = 0; if :: anybody -> start_grace() :: else fi :: else fi;
  make_due(i, 0) }
inline publish() { pub = (next != NONE) }
inline settle() {
  if :: d_step { publish() } :: skip fi;
  d_step { if :: next != NONE && held == 0 -> publish(); x = next; mark_granted(x); x = 0 :: else fi } }
inline unlock_queue() { d_step { publish(); Q = 0 } }

inline stop_timer(t, is_timer_thread) {
  atomic { if :: t < GRACE -> dl_timer[t] = 0 :: else -> grace_timer[t - GRACE] = 0 fi };
  if :: is_timer_thread -> skip :: else -> (firing != t) fi }

/* What is due behind a section: first the deadlines are stopped, then the functions are called. */
#ifdef NODEADLINESTOP
#define stop_deadline(i, is_timer_thread) skip
#else
inline stop_deadline(i, is_timer_thread) {
  if :: (ready & (1 << i)) && dl_started[i] -> dl_started[i] = 0; stop_timer(i, is_timer_thread) :: else fi }
#endif
inline no_deadline(i) { assert(!dl_timer[i] && !(firing == i && may_touch)) }
inline no_grace(i) { assert(!grace_timer[i] && !(firing == GRACE + i && may_touch)) }
inline call(i) {
  if :: ready & (1 << i) -> d_step { assert(owed[i] && !called[i]); owed[i] = 0; called[i] = 1; no_deadline(i) }
     :: else fi }
inline perform() {
  stop_deadline(0, 0); stop_deadline(1, 0);
  call(0); call(1); call(CLOSER); ready = 0 }

inline membarrier() { d_step { flush(0); flush(1); flush(2) } }
inline post() {
  atomic { !Q -> flush(me); Q = 1 };
  settle(); unlock_queue(); perform() }
inline look_again() { membarrier(); atomic { seen = (held == 0 && pub) }; if :: seen -> post() :: else fi }

/* Whether leavers saw a summary without waiters until now: the closing waiter does not show while grants are lost. */
#ifdef FIRSTBYROOT
#define nobody_seen !anybody
#else
#define nobody_seen !pub
#endif

inline grant_or_insert(i) {
  first = nobody_seen;
  if
  :: held == 0 && (next == NONE || i < next) && (i != CLOSER || !lost_bars) -> first = 0; mark_granted(i)
  :: else ->
    state[i] = QUEUED;
#ifndef NOGRACE
    if :: pending != NONE -> start_grace() :: else fi;
#endif
    if :: timed -> dl_started[i] = 1; dl_timer[i] = 1 :: else fi
  fi }

inline take_out(i, s, by_timer) {
  atomic { !Q -> Q = 1; if :: by_timer -> may_touch = 0 :: else fi;
#ifdef CANCELGRANTED
    d_step { if :: state[i] == QUEUED || state[i] == GRANTED -> state[i] = IDLE; make_due(i, 1); seen = 1
                :: else -> seen = 0 fi }
#else
    d_step { if :: state[i] == QUEUED -> state[i] = IDLE; make_due(i, 1); seen = 1 :: else -> seen = 0 fi }
#endif
  };
  if :: seen -> settle() :: else fi;
  unlock_queue() }

inline critical() { d_step { inside++; assert(inside == 1 && !over) }; atomic { inside--; assert(!over) } }

inline leave() {
  atomic { seen = pub };
  if :: seen ->
    atomic { !Q -> Q = 1; d_step { seen = (next != NONE); if :: seen -> x = next; mark_granted(x); x = 0 :: else fi } };
    unlock_queue(); perform()
  :: else fi;
  if :: seen -> skip
     :: else -> buf[me] = 1; atomic { seen = pub }; if :: seen -> post() :: else fi
  fi }

#define STUCK (me == 0 && !adoptable(1))

active [2] proctype owner() {
  byte me = _pid, ready = 0, x = 0; bit seen = 0, first = 0, timed = 0, stop = 0;
#ifdef TIMED
  if :: timed = 1 :: timed = 0 fi;
#endif
  atomic { !Q -> Q = 1; d_step { seen = closed; if :: !seen -> owed[me] = 1; grant_or_insert(me) :: else fi } };
  if :: !seen -> settle() :: else fi;
  unlock_queue();
  if :: seen -> goto end_owner :: else fi;
turn:
  perform();
  if :: first -> look_again(); first = 0 :: else fi;
  called[me]; called[me] = 0;
  if :: cancelled_status[me] -> atomic { assert(state[me] == IDLE); no_grace(me) }; goto end_owner :: else fi;
  if
  :: !adoptable(me) -> atomic { state[me] = IDLE; assert(held == NOBODY); no_grace(me) }
  :: else ->
    if :: STUCK -> finished[1] :: skip fi;
    atomic { !Q -> Q = 1; d_step { flush(me); seen = (state[me] == GRANTED); assert(seen || state[me] == LOST);
      if :: seen -> assert(held == NOBODY && pending == me); state[me] = IDLE; pending = NONE; held = me + 1 :: else fi;
      stop = grace_started[me]; grace_started[me] = 0; Q = 0 } };
#ifndef NOGRACESTOP
    if :: stop -> stop_timer(GRACE + me, 0) :: else fi;
#endif
    if
    :: seen -> no_grace(me)
    :: else ->                              /* the grant was lost: queue again, or forget it */
      if
      :: atomic { !Q -> flush(me); Q = 1; d_step { state[me] = IDLE; lost--; owed[me] = 1; grant_or_insert(me) } };
        settle(); unlock_queue(); goto turn
      :: atomic { !Q -> flush(me); Q = 1; d_step { first = nobody_seen; state[me] = IDLE; lost-- } };
        settle(); unlock_queue(); perform();
#ifndef NOFORGETLOOK
        if :: first -> look_again(); first = 0 :: else fi;
#endif
        goto end_owner
      fi
    fi
  fi;
  critical();
  leave();
end_owner:
  atomic { finished[me] = 1; seen = 0; stop = 0; first = 0 }
}

#ifdef THREAD
active proctype thread() {
  byte me = THREAD_ID, ready = 0, x = 0; bit seen = 0;
  atomic { seen = (!pub && !closed) };
  if :: seen -> d_step { seen = (held == 0); if :: seen -> held = 3 :: else fi } :: else fi;
  if :: seen -> critical(); leave() :: else fi
}
#endif

#ifdef CANCEL
active proctype canceller() {
  byte me = OTHERS, ready = 0, x = 0; bit seen = 0;
  if :: take_out(0, 1, 0) :: take_out(1, 1, 0) fi;
  perform()
}
#endif

#ifdef CLOSE
active proctype closing() {
  byte me = OTHERS, ready = 0, x = 0; bit seen = 0, first = 0, timed = 0;
  atomic { !Q -> Q = 1; d_step { closed = 1; owed[CLOSER] = 1; grant_or_insert(CLOSER) } };
  settle(); unlock_queue(); perform();
  if :: first -> look_again(); first = 0 :: else fi;
  called[CLOSER];
  d_step { assert(held == NOBODY && lost == 0 && inside == 0 && state[0] != QUEUED && state[1] != QUEUED); over = 1 }
}
#endif

active proctype timers() {
  byte me = OTHERS, ready = 0, x = 0, i = 0; bit seen = 0, lose = 0;
end: do
  :: atomic { dl_timer[0] -> dl_timer[0] = 0; firing = 0; may_touch = 1; i = 0 }; goto deadline
  :: atomic { dl_timer[1] -> dl_timer[1] = 0; firing = 1; may_touch = 1; i = 1 }; goto deadline
  :: atomic { grace_timer[0] -> grace_timer[0] = 0; firing = GRACE; may_touch = 1; i = 0 }; goto grace
  :: atomic { grace_timer[1] -> grace_timer[1] = 0; firing = GRACE + 1; may_touch = 1; i = 1 }; goto grace
  od;
deadline:
  take_out(i, 1, 1); goto behind;
grace:
  atomic { !Q -> Q = 1; d_step { grace_started[i] = 0; may_touch = 0;
#ifdef GRACETAKES
    lose = (next != NONE && next != CLOSER);
#else
    lose = (pending == i && next != NONE && next != CLOSER);
#endif
    if :: lose -> pending = NONE; lost++; state[i] = LOST; x = next; mark_granted(x); x = 0 :: else fi; lose = 0 } };
  unlock_queue();
behind:
  stop_deadline(0, 1); stop_deadline(1, 1);
  firing = NONE;
  call(0); call(1); call(CLOSER);
  atomic { ready = 0; i = 0; seen = 0 };
  goto end
}

active proctype store_buffers() {
end: do
  :: atomic { buf[0] -> held = 0; buf[0] = 0 }
  :: atomic { buf[1] -> held = 0; buf[1] = 0 }
  :: atomic { buf[2] -> held = 0; buf[2] = 0 }
  :: atomic { timeout -> assert((CLOSING && over && held == NOBODY) || (!CLOSING && held == 0));
       assert(!anybody && lost == 0 && pending == NONE && !pub && !Q); break }
  od }
