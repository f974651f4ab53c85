// The kernel's locks as C++ has its own: classes that std::unique_lock and std::scoped_lock take, deadlines from
// std::chrono, and a table that many threads update while one of high priority reads it against a deadline.
#include <csynckernel/csynckernel.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace sync {

using clock = std::chrono::steady_clock; // CLOCK_MONOTONIC here: the clock of the kernel's deadlines

inline std::int64_t deadline_ns(clock::time_point deadline) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count();
}

inline void require(int status, const char *what) {
    if (status != 0) throw std::system_error(status, std::generic_category(), what);
}

// Where the deadline passed or the lock was busy: false. What else can go wrong is the caller's mistake, and an
// exception.
inline bool acquired(int status, const char *what) {
    if (status == ETIMEDOUT || status == EBUSY) return false;
    require(status, what);
    return true;
}

// A gate. `gate.at(priority)` is what a std:: lock takes: gate and priority together.
class gate {
public:
    class entrance {
    public:
        void lock() { require(csk_gate_lock(gate_, priority_), "gate::lock"); }
        bool try_lock() { return acquired(csk_gate_trylock(gate_, priority_), "gate::try_lock"); }
        bool try_lock_until(clock::time_point deadline) {
            return acquired(csk_gate_timedlock(gate_, priority_, deadline_ns(deadline)), "gate::try_lock_until");
        }
        template <class Rep, class Period>
        bool try_lock_for(std::chrono::duration<Rep, Period> span) {
            return try_lock_until(clock::now() + span);
        }
        void unlock() { csk_gate_unlock(gate_); }

    private:
        friend class gate;
        entrance(csk_gate_t *gate, std::int32_t priority) : gate_(gate), priority_(priority) {}
        csk_gate_t *gate_;
        std::int32_t priority_;
    };

    gate() = default;
    gate(const gate &) = delete;
    gate &operator=(const gate &) = delete;
    ~gate() { csk_gate_destroy(&gate_); }

    entrance at(std::int32_t priority) { return entrance(&gate_, priority); }

private:
    csk_gate_t gate_ = CSK_GATE_INITIALIZER;
};

// In place of std::recursive_timed_mutex.
class mutex {
public:
    mutex() = default;
    mutex(const mutex &) = delete;
    mutex &operator=(const mutex &) = delete;
    ~mutex() { csk_mutex_destroy(&mutex_); }

    void lock() { require(csk_mutex_lock(&mutex_), "mutex::lock"); }
    bool try_lock() { return acquired(csk_mutex_trylock(&mutex_), "mutex::try_lock"); }
    bool try_lock_until(clock::time_point deadline) {
        return acquired(csk_mutex_timedlock(&mutex_, deadline_ns(deadline)), "mutex::try_lock_until");
    }
    void unlock() { csk_mutex_unlock(&mutex_); }

private:
    csk_mutex_t mutex_ = CSK_MUTEX_INITIALIZER;
};

} // namespace sync

// An account book: transfers are recursive (a fee is a transfer within a transfer), so it uses the mutex.
class book {
public:
    void transfer(const std::string &from, const std::string &to, long amount) {
        std::lock_guard<sync::mutex> held(mutex_);
        balance_[from] -= amount;
        balance_[to] += amount;
        if (to != "fees") transfer(from, "fees", 1);
    }
    long sum() {
        std::lock_guard<sync::mutex> held(mutex_);
        long total = 0;
        for (const auto &[name, balance] : balance_) total += balance;
        return total;
    }
    long of(const std::string &name) {
        std::lock_guard<sync::mutex> held(mutex_);
        return balance_[name];
    }

private:
    sync::mutex mutex_;
    std::map<std::string, long> balance_;
};

int main() {
    constexpr int threads = 4, rounds = 20000;
    book accounts;
    sync::gate gate;
    long hits = 0;

    std::vector<std::thread> workers;
    for (int worker = 0; worker < threads; worker++) {
        workers.emplace_back([&] {
            for (int round = 0; round < rounds; round++) {
                accounts.transfer("alice", "bob", 5);
                auto entrance = gate.at(0);
                std::lock_guard<sync::gate::entrance> held(entrance);
                hits++;
            }
        });
    }

    using namespace std::chrono_literals;
    int seen = 0, late = 0;
    for (long now = 0; now < long{threads} * rounds;) {
        auto urgent = gate.at(10);
        std::unique_lock<sync::gate::entrance> held(urgent, sync::clock::now() + 1ms);
        if (held) now = hits;
        (held ? seen : late)++;
        held = {};
        std::this_thread::sleep_for(100us);
    }
    for (auto &worker : workers) worker.join();

    bool deadlock_reported = false;
    try {
        auto twice = gate.at(0);
        std::lock_guard<sync::gate::entrance> held(twice);
        twice.lock();
    } catch (const std::system_error &error) {
        deadlock_reported = error.code() == std::errc::resource_deadlock_would_occur;
    }

    long fees = accounts.of("fees");
    std::printf("csynckernel %s: %ld hits, %ld in fees, sum %ld, %d urgent looks, %d too late, deadlock %s\n",
                csk_version(), hits, fees, accounts.sum(), seen, late, deadlock_reported ? "reported" : "missed");
    bool right = hits == long{threads} * rounds && fees == hits && accounts.sum() == 0 && deadlock_reported;
    return right ? 0 : 1;
}
