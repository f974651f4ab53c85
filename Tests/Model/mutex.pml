/* mutex.pml: the recursive mutex: levels, the owner check, and freeing by the last user.
 *
 * Holds: the compare-and-swap from a word of zero; the owner check, which ignores the flags in that word; `depth`, a
 * plain field of the holder; trylock; unlocking by anybody, refused unless it holds; the leaver's loop while others
 * wait. Each thread does OPS actions of its choice with up to DEPTH levels, then takes the mutex once more if it has
 * to, and gives all levels back; who finds then that it was the last user frees the mutex, and each access checks that
 * it is still there.
 *
 * Leaves out: how waiters queue, are ordered and woken: one step each here, gate_one_word.pml has them; deadlines; the
 * decision of the form of zero-filled memory; 2^32 levels. */
#ifndef N
#define N 2
#endif
#ifndef OPS
#define OPS 3
#endif
#ifndef DEPTH
#define DEPTH 2
#endif
byte owner; bit W, D;                 /* the word: 1 + thread, and its flags */
byte depth;
byte waiting, woken;                  /* the queue, and how many of it were told to try */
byte inside, users = N;
bit gone;

#define touch assert(!gone)

/* In the word's owner bits; -DFLAGSCOUNT compares the whole word. */
#ifdef FLAGSCOUNT
#define is_mine (owner == me && !W && !D)
#else
#define is_mine (owner == me)
#endif

inline lock() {
  d_step { touch; r = 0;
           if :: owner == 0 && !W && !D -> owner = me; r = 1 :: else -> if :: is_mine -> r = 2 :: else fi fi };
  if
  :: r == 1 -> skip
  :: r == 2 ->
    d_step { touch; depth++ }
  :: else ->
    d_step { touch; if :: owner == 0 -> owner = me; r = 1 :: else -> waiting++; W = 1 fi };
    do
    :: r == 1 -> break
    :: r != 1 -> atomic { woken > 0 -> woken--; touch;
        if :: owner == 0 -> owner = me; waiting--; W = (waiting > 0); r = 1 :: else fi; D = 0 }
    od
  fi;
  levels++;
  if :: levels == 1 -> d_step { inside++; assert(inside == 1) } :: else fi;
  assert(owner == me && depth == levels - 1) }

inline trylock() {
  atomic { touch; r = is_mine };
  if :: r -> lock()
     :: else -> d_step { touch; if :: owner == 0 -> owner = me; r = 1 :: else fi };
       if :: r -> levels++; d_step { inside++; assert(inside == 1 && levels == 1 && depth == 0) } :: else fi
  fi }

inline unlock() {
  atomic { touch; r = is_mine };
#ifdef NOOWNERCHECK
  r = 1;
#endif
  if
  :: !r -> assert(levels == 0)                                 /* EPERM */
  :: else ->
    if :: levels > 0 -> levels--; if :: levels == 0 -> inside-- :: else fi :: else fi;
    atomic { touch; r = (depth != 0) };
#ifdef INNERFREES
    r = 0;
#endif
    if
    :: r -> d_step { touch; depth-- }
    :: else ->
      late = 0;
      do
      :: atomic { touch; fW = W; fD = D };
        if
        :: fW && !fD -> d_step { touch; D = 1; late = 1 }
        :: else ->
#ifdef PLAINSTORE
          d_step { touch; owner = 0; W = fW; D = fD; r = 1 };
#else
          d_step { touch; r = (fW == W && fD == D); if :: r -> owner = 0 :: else fi };
#endif
          if :: r -> break :: else fi
        fi
      od;
#ifdef DEPTHLATE
      atomic { touch; depth = 0 };
#endif
      if :: late -> woken++ :: else fi;                        /* a wake by address: no access */
      atomic { late = 0; fW = 0; fD = 0 }
    fi
  fi;
  r = 0 }

active [N] proctype user() {
  byte me = _pid + 1, levels = 0, op = 0, r = 0;
  bit fW = 0, fD = 0, late = 0, last = 0;
  do
  :: op < OPS ->
    if
    :: levels < DEPTH -> lock()
    :: levels < DEPTH -> trylock()
    :: unlock()
    fi;
    r = 0; op++
  :: else -> break
  od;
  if :: levels == 0 -> lock(); r = 0 :: else fi;
  d_step { users--; last = (users == 0) };
  do :: levels > 0 -> unlock() :: else -> break od;
  if :: last -> assert(owner == 0 && depth == 0 && waiting == 0 && !W && !D && woken == 0); gone = 1 :: else fi
}
