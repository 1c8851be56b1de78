// Tables of handles that recognise destroyed, foreign and invalid handles without a lock and without reading freed
// memory.
#ifndef MINDTORCH_SIM_RUNTIME_HANDLES_H_
#define MINDTORCH_SIM_RUNTIME_HANDLES_H_
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>

#include "fork.h"

namespace sim {

// A pool of T whose slots are never moved or freed. A T is constructed when its slot is first used, and its owner
// resets it at take() and release(). So a stale handle always points to a valid T, and `live` tells whether it may be
// used.
template <class T>
class HandleTable {
 public:
  explicit HandleTable(uint32_t capacity)
      : capacity_(capacity), slots_(static_cast<Slot *>(std::calloc(capacity, sizeof(Slot)))) {}

  // A free slot, not live yet; nullptr if all are in use.
  T *take() {
    std::lock_guard<std::mutex> lock(mutex_);
    const uint32_t used = used_.load(std::memory_order_relaxed);
    if (used < capacity_ && free_.size() < kReuseDelay) {
      Slot *slot = new (&slots_[used]) Slot;
      used_.store(used + 1, std::memory_order_release);
      return &slot->object;
    }
    if (free_.empty()) return nullptr;
    const uint32_t index = free_.front();
    free_.pop_front();
    return &slots_[index].object;
  }

  void publish(T *object) { slotOf(object)->live.store(true, std::memory_order_release); }

  // Returns false if the handle was not live: of two threads that destroy it, one succeeds.
  bool retire(T *object) { return slotOf(object)->live.exchange(false, std::memory_order_acq_rel); }

  // After retire(), once nothing uses the object any more.
  void release(T *object) {
    std::lock_guard<std::mutex> lock(mutex_);
    free_.push_back(indexOf(object));
  }

  // The live object behind a handle, or nullptr.
  T *find(const void *handle) const {
    const uintptr_t offset = reinterpret_cast<uintptr_t>(handle) - reinterpret_cast<uintptr_t>(slots_);
    const uintptr_t index = offset / sizeof(Slot);
    if (index >= used_.load(std::memory_order_acquire)) return nullptr;
    Slot &slot = slots_[index];
    if (handle != &slot.object || !slot.live.load(std::memory_order_acquire)) return nullptr;
    return &slot.object;
  }

  uint32_t indexOf(const T *object) const { return static_cast<uint32_t>(slotOf(const_cast<T *>(object)) - slots_); }

  template <class Visit>
  void forEachLive(Visit visit) {
    const uint32_t used = used_.load(std::memory_order_acquire);
    for (uint32_t index = 0; index < used; ++index) {
      if (slots_[index].live.load(std::memory_order_acquire)) visit(&slots_[index].object);
    }
  }

  // The locks inside used slots are not valid in a child, so the child uses new slots.
  void atFork(Fork stage) {
    sim::atFork(mutex_, stage);
    if (stage == Fork::kChild) free_.clear();
  }

 private:
  struct Slot {
    T object;
    std::atomic<bool> live{false};
  };
  // The number of freed slots that are not reused yet, so that stale handles are detected.
  static constexpr size_t kReuseDelay = 64;

  Slot *slotOf(T *object) const { return reinterpret_cast<Slot *>(object); }  // `object` is the first member

  const uint32_t capacity_;
  Slot *const slots_;
  std::atomic<uint32_t> used_{0};
  std::mutex mutex_;
  std::deque<uint32_t> free_;
};

}  // namespace sim
#endif
