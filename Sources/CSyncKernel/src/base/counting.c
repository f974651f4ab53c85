/* counting.c: see counting.h. */
#include "base/counting.h"

uint32_t csk_counting;
