/* csynckernel.h: the whole kernel. */
#ifndef CSK_CSYNCKERNEL_H
#define CSK_CSYNCKERNEL_H

#include "base.h"
#include "tls.h"
#include "block.h"
#include "heap.h"
#include "timer.h"
#include "pool.h"
#include "observe.h"
#include "gate.h"
#include "mutex.h"
#include "pqueue.h"
#include "rwlock.h"
#include "workqueue.h"
#include "delayed.h"
#include "rcu.h"
#include "snapshot.h"
#include "rcu_map.h"

#endif
