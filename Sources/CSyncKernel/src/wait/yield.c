#include "wait/yield.h"

/* How often the calling thread still parks at once. */
static __thread uint32_t skips __attribute__((tls_model("initial-exec")));

csk_yields_t csk_yields_begin(void) {
    if (skips > 0) {
        skips--;
        return (csk_yields_t){ .left = 0 };
    }
    return (csk_yields_t){ .left = CSK_YIELDS, .since_ns = csk_platform_now() };
}

bool csk_yield(csk_yields_t *yields) {
    if (yields->left == 0) return false;
    yields->left--;
    csk_platform_yield();
    int64_t now_ns = csk_platform_now();
    if (now_ns - yields->since_ns > CSK_YIELD_LONG_NS) {
        skips = CSK_YIELD_SKIPS;
        yields->left = 0;
    }
    yields->since_ns = now_ns;
    return true;
}
