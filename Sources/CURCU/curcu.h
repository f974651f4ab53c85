/* curcu.h: names liburcu to SwiftPM, whose targets must have a header. The kernel's sources include what they use;
 * nothing of liburcu is in a public header. */
#include <urcu/urcu-bp.h>
