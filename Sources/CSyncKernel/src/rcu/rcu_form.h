/* rcu_form.h: whether the kernel is built with read-copy-update. The sources of this folder are empty without it.
 *
 * CMake leaves them out, and defines CSK_WITHOUT_RCU. SwiftPM compiles all sources, and can define a macro for a trait
 * that is on, but none for a trait that is off. */
#ifndef CSK_INTERNAL_RCU_FORM_H
#define CSK_INTERNAL_RCU_FORM_H

#if defined(CSK_BY_TRAITS) && !defined(CSK_TRAIT_RCU) && !defined(CSK_WITHOUT_RCU)
#define CSK_WITHOUT_RCU 1
#endif

#endif
