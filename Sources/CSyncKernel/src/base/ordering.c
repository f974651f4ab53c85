#include "base/ordering.h"

const csk_ordering_t *csk_ordering;
