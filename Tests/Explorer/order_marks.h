/* order_marks.h: what order_sites.py has the preprocessor make of each atomic access: a mark that names what it is, its
 * orders, where it stands, and its address. */
#include <features.h>
#ifdef ORDER_MARKS_OTHER_LIBC
#undef __GLIBC__
#endif
#define __atomic_load_n(p, order) order_site(load, order, 0, __FILE__, __LINE__, p)
#define __atomic_store_n(p, value, order) (order_site(store, order, 0, __FILE__, __LINE__, p), (value))
#define __atomic_exchange_n(p, value, order) (order_site(exchange, order, 0, __FILE__, __LINE__, p), (value))
#define __atomic_fetch_add(p, value, order) (order_site(add, order, 0, __FILE__, __LINE__, p), (value))
#define __atomic_fetch_or(p, value, order) (order_site(or, order, 0, __FILE__, __LINE__, p), (value))
#define __atomic_fetch_and(p, value, order) (order_site(and, order, 0, __FILE__, __LINE__, p), (value))
#define __atomic_compare_exchange_n(p, expected, desired, weak, success, failure) \
    (order_site(cas, success, failure, __FILE__, __LINE__, p), (expected), (desired))
#define __atomic_thread_fence(order) order_site(fence, order, 0, __FILE__, __LINE__, )
#define __atomic_signal_fence(order) order_site(signal_fence, order, 0, __FILE__, __LINE__, )
