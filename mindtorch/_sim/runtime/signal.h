// Waiting of streams and host threads for each other.
#ifndef MINDTORCH_SIM_RUNTIME_SIGNAL_H_
#define MINDTORCH_SIM_RUNTIME_SIGNAL_H_
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "fork.h"

namespace sim {

using Clock = std::chrono::steady_clock;

inline int64_t nanosecondsOf(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// Deadlines of waits.
inline Clock::time_point forever() { return Clock::time_point::max(); }
inline Clock::time_point afterMilliseconds(int64_t timeout) {
  return timeout < 0 ? forever() : Clock::now() + std::chrono::milliseconds(timeout);
}
// Timeouts of tasks are in seconds; 0 means no timeout.
inline Clock::time_point afterSeconds(int64_t timeout) {
  return timeout == 0 ? forever() : Clock::now() + std::chrono::seconds(timeout);
}

template <class Done>
bool waitUntil(std::condition_variable &condition, std::unique_lock<std::mutex> &lock, Clock::time_point end,
               Done done) {
  if (end != forever()) return condition.wait_until(lock, end, done);
  condition.wait(lock, done);
  return true;
}

// One lock and one condition variable for all waits of tasks. Waits are rare, so waking all waiters is cheap, and a
// wait can be cancelled without knowing what it waits for.
class Signal {
 public:
  template <class Change>
  void raise(Change change) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      change();
    }
    condition_.notify_all();
  }
  // Returns false on timeout.
  template <class Done>
  bool wait(Clock::time_point end, Done done) {
    std::unique_lock<std::mutex> lock(mutex_);
    return waitUntil(condition_, lock, end, done);
  }
  void atFork(Fork stage) {
    sim::atFork(mutex_, stage);
    if (stage == Fork::kChild) new (&condition_) std::condition_variable;  // its waiters stayed with the parent
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
};

inline Signal &signal() {
  static Signal &instance = *new Signal;
  return instance;
}

// Completion of one record of an event. The event, the task that completes it and the waits for it share it.
struct Marker {
  std::atomic<bool> done{false};
  std::atomic<int64_t> nanoseconds{0};  // when it was passed
  std::atomic<int64_t> due{0};          // when the modelled device passes it; 0 where none is modelled
  std::atomic<int32_t> waits{0};        // waits of streams for it that are not over

  bool passed() const {
    return done.load(std::memory_order_acquire) && (due.load() == 0 || due.load() <= nanosecondsOf(Clock::now()));
  }
};
using MarkerPtr = std::shared_ptr<Marker>;

inline void complete(Marker &marker) {
  if (marker.done.load(std::memory_order_acquire)) return;
  const int64_t passed = std::max(nanosecondsOf(Clock::now()), marker.due.load());
  signal().raise([&] {
    marker.nanoseconds.store(passed, std::memory_order_relaxed);
    marker.done.store(true, std::memory_order_release);
  });
}

}  // namespace sim
#endif
