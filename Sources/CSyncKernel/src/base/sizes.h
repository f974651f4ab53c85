/* sizes.h: what base.h says of the first member of attributes and views. */
#ifndef CSK_SIZES_H
#define CSK_SIZES_H

/* All have the sizes of version 0.1 so far: a struct that grows needs a copy, with zeros behind what the caller knows
 * of it. What is added must make the struct larger, also where it has padding at its end. */
#define CSK_KNOWS_SIZE_OF(pointer) ((pointer)->size == 0 || (pointer)->size == sizeof *(pointer))

#endif
