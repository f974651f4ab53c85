#include "csynckernel/base.h"

#include <string.h>

#include "base/platform.h"

#define CSK_TEXT2(number) #number
#define CSK_TEXT(number) CSK_TEXT2(number)

const char *csk_version(void) {
    return CSK_TEXT(CSK_VERSION_MAJOR) "." CSK_TEXT(CSK_VERSION_MINOR) "." CSK_TEXT(CSK_VERSION_PATCH);
}

int64_t csk_now(void) { return csk_platform_now(); }

int32_t csk_thread_id(void) { return csk_platform_thread_id(); }

int64_t csk_deadline_after(int64_t nanoseconds) {
    int64_t deadline;
    return __builtin_add_overflow(csk_platform_now(), nanoseconds, &deadline) ? CSK_NEVER : deadline;
}

const char *csk_status_text(int status) {
    switch (status) {
    case 0: return "success";
    case ETIMEDOUT: return "timed out";
    case ECANCELED: return "cancelled, dropped or cut short";
    case EDEADLK: return "would deadlock: the call would wait for its own thread";
    case EPERM: return "not permitted: the caller has not taken or begun it, or lacks a privilege";
    case EBUSY: return "busy: held, full, empty, waited for or in use";
    case EINVAL: return "invalid argument, or one that does not fit the state of the object";
    case EUSERS: return "as many wait as may";
    case ENOBUFS: return "the call needs spare memory of the caller's";
    case ENOMEM: return "out of memory";
    case EAGAIN: return "not available now: taken back, at its limit, or no thread for it";
    case EOVERFLOW: return "more than there may be";
    case ESHUTDOWN: return "closed, shut down or ended";
    case EOWNERDEAD: return "held by a thread that has ended";
    case ENOENT: return "not there, or not there any more: too late";
    case EEXIST: return "there already";
    case ENOTSUP: return "not supported by this object or this system";
    case EACCES: return "the file system does not permit it";
    case EADDRINUSE: return "in use by another process, or no socket";
    case ENAMETOOLONG: return "the path is too long";
    case EINPROGRESS: return "accepted: waits for room";
    default: return "unknown status";
    }
}
