// How tasks of different streams, and host threads, wait for one another.
#ifndef MINDTORCH_SIM_RUNTIME_SIGNAL_H_
#define MINDTORCH_SIM_RUNTIME_SIGNAL_H_
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "fork.h"

namespace sim {

using Clock = std::chrono::steady_clock;

// The ends of waits.
inline Clock::time_point forever() { return Clock::time_point::max(); }
inline Clock::time_point afterMilliseconds(int64_t timeout) {
  return timeout < 0 ? forever() : Clock::now() + std::chrono::milliseconds(timeout);
}
// Waits of tasks are in seconds, and 0 means for ever.
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

// One lock and one condition for all that tasks wait for: waits are rare and short lists, so waking all is cheap, and
// whoever cancels a wait need not know what it waits for.
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
  // False where the time ran out.
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

// A point that a stream passes once: what one record of an event leaves behind. Shared by the event, the task that
// completes it and the waits for it, so that none of them outlives it.
struct Marker {
  std::atomic<bool> done{false};
  std::atomic<int64_t> nanoseconds{0};  // when it was passed
  std::atomic<int32_t> waits{0};        // waits of streams for it that are not over
};
using MarkerPtr = std::shared_ptr<Marker>;

inline void complete(Marker &marker) {
  if (marker.done.load(std::memory_order_acquire)) return;
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch());
  signal().raise([&] {
    marker.nanoseconds.store(now.count(), std::memory_order_relaxed);
    marker.done.store(true, std::memory_order_release);
  });
}

}  // namespace sim
#endif
