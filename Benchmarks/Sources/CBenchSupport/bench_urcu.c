#include "bench_support.h"

/* liburcu's own sections, inlined as its header has them: what nothing built on it can beat. */
#include <urcu/urcu-bp.h>
#include <urcu/static/urcu-bp.h>

long bench_urcu_reads(long times, const long *value) {
    long sum = 0;
    urcu_bp_register_thread();
    for (long i = 0; i < times; i++) {
        _urcu_bp_read_lock();
        sum += *(const volatile long *)value;
        _urcu_bp_read_unlock();
    }
    return sum;
}
