// subjects.cpp: the list of locks.
#include "subject.h"

#include "locks_ours.h"
#include "locks_peers.h"
#include "locks_pthread.h"

template <class Lock>
static Subject make(const char *name, bool ours = false) {
    return {
        name,
        ours,
        Lock::timed,
        uncontended<Lock>,
        throughput<Lock>,
        waits<Lock>,
        priority_waits<Lock>,
        lateness<Lock>,
        [](uint64_t pairs) {
            IdleThread second;
            Protected<Lock> target;
            single_operations(target.lock, pairs);
        },
    };
}

const std::vector<Subject> &all_subjects() {
    static const std::vector<Subject> subjects = [] {
        std::vector<Subject> list = {
            make<PthreadPlain>("pthread_mutex"),
            make<PthreadAdaptive>("pthread_adaptive"),
            make<PthreadInherit>("pthread_pi"),
        };
#ifdef HAVE_ABSL
        // With it, which is Debian's default, a lock takes four times as long.
        absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
        list.push_back(make<AbslLock>("absl::Mutex"));
#endif
#ifdef HAVE_NSYNC
        list.push_back(make<NsyncLock>("nsync_mu"));
#endif
#ifdef HAVE_CK
        list.push_back(make<CkLock>("ck_spinlock_fas"));
#endif
#ifdef HAVE_PARKING_LOT
        list.push_back(make<ParkingLotLock>("parking_lot"));
#endif
        list.push_back(make<GateLock<CSK_GATE_FAST>>("gate_fast", true));
        list.push_back(make<GateLock<CSK_GATE_STRICT>>("gate_strict", true));
        list.push_back(make<KernelMutex>("csk_mutex", true));
        return list;
    }();
    return subjects;
}
