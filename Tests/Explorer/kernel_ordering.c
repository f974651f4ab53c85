/* kernel_ordering.c: the kernel's ordering.c; each schedule begins without a checker. */
#include "explorer.h"

#include "base/ordering.c"

#include "internal.h"

void kernel_reset_ordering(void) { csk_ordering = NULL; }
