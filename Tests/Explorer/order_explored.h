/* order_explored.h: the small tables of the checker of lock order. */
#ifndef EXPLORER_ORDER_EXPLORED_H
#define EXPLORER_ORDER_EXPLORED_H

#include "explorer.h"

#define CSK_ORDER_SIZES
enum {
    ORDER_OBJECTS = 8,
    ORDER_CLASSES = 8,
    ORDER_STEPS = 8,
    ORDER_CHAINS = 16,
    ORDER_CIRCLES = 2,
    ORDER_FRAMES = 2,
    ORDER_UNCOVERED = 2,
    ORDER_TEXT = 16
};

#include "seen.h"

#endif
