/* csynckernel.h: the whole kernel.
 *
 * The library can be built without read-copy-update; it then needs nothing but the C library. What is missing in that
 * form is what rcu.h, snapshot.h and rcu_map.h declare: csk_rcu_*, csk_snapshot_*, csk_hash_int and csk_hash_bytes.
 *
 * - Built by CMake with -DCSYNCKERNEL_RCU=OFF: pkg-config and find_package define CSK_WITHOUT_RCU for programs. With
 *   that macro this header leaves the three out, and including one of them is an error.
 * - Built by SwiftPM without the package trait RCU: nothing can define a macro for importers there. The functions stay
 *   declared, and a program that calls one does not link. */
#ifndef CSK_CSYNCKERNEL_H
#define CSK_CSYNCKERNEL_H

#include "base.h"
#include "tls.h"
#include "block.h"
#include "arrivals.h"
#include "heap.h"
#include "timer.h"
#include "waiter.h"
#include "pool.h"
#include "observe.h"
#include "profile.h"
#include "metrics.h"
#include "gate.h"
#include "await.h"
#include "mutex.h"
#include "cond.h"
#include "sem.h"
#include "pqueue.h"
#include "rwlock.h"
#include "name.h"
#include "workqueue.h"
#include "delayed.h"
#include "inspect.h"
#include "task.h"
#include "order.h"
#include "mark.h"
#include "deadlock.h"
#ifndef CSK_WITHOUT_RCU
#include "rcu.h"
#include "snapshot.h"
#include "rcu_map.h"
#endif

#endif
