// peers.hpp: which other libraries are installed. In a list of subjects, WITH_ABSL(Absl) stands for `, Absl` where absl
// is, and for nothing elsewhere.
#pragma once

#ifdef HAVE_ABSL
#include <absl/synchronization/mutex.h>
#define WITH_ABSL(...) , __VA_ARGS__
#else
#define WITH_ABSL(...)
#endif

#ifdef HAVE_NSYNC
#include <nsync.h>
#define WITH_NSYNC(...) , __VA_ARGS__
#else
#define WITH_NSYNC(...)
#endif

#ifdef HAVE_CK
#define WITH_CK(...) , __VA_ARGS__
#else
#define WITH_CK(...)
#endif

#ifdef HAVE_PARKING_LOT
#define WITH_PARKING_LOT(...) , __VA_ARGS__
#else
#define WITH_PARKING_LOT(...)
#endif

#ifdef HAVE_MOODYCAMEL
#define WITH_MOODYCAMEL(...) , __VA_ARGS__
#else
#define WITH_MOODYCAMEL(...)
#endif

#ifdef HAVE_TBB
#define WITH_TBB(...) , __VA_ARGS__
#else
#define WITH_TBB(...)
#endif

#ifdef HAVE_UV
#define WITH_UV(...) , __VA_ARGS__
#else
#define WITH_UV(...)
#endif
