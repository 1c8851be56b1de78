/* Free lists for small objects. Rules: (1) Memory is never returned to the heap, so that stale handles can be read
 * and refused. (2) A thread caches at most kKept objects; the others, and all at thread exit, go to a process-wide
 * list. */
#ifndef MINDTORCH_SIM_NNOPBASE_POOL_H_
#define MINDTORCH_SIM_NNOPBASE_POOL_H_
#include <cstdint>
#include <mutex>

#include "fork.h"
#include "sim.h"

namespace sim {

/* T has a member `T *next_free`. */
template <class T>
class Pool {
 public:
  static T *allocate() {
    if (T *object = local_.head) {
      local_.head = object->next_free;
      --local_.count;
      return object;
    }
    return refill();
  }

  static void atFork(Fork stage) { sim::atFork(mutex_, stage); }

  static void release(T *object) {
    object->next_free = local_.head;
    local_.head = object;
    if (++local_.count > local_.limit) moveExcessToShared();
  }

 private:
  static constexpr uint32_t kKept = 256;
  static constexpr uint32_t kBatch = 128;

  struct List {
    T *head;
    uint32_t count;
    uint32_t limit; /* 0 until the thread has registered its exit handler */
    bool closed;    /* the thread is ending: keep nothing */
  };

  struct ExitHandler {
    ~ExitHandler() {
      local_.closed = true;
      local_.limit = 0;
      moveToShared(local_.count);
    }
    void touch() {}
  };

  /* A thread that only allocates also returns the rest of its last batch at exit. */
  static void registerExitHandler() {
    static thread_local ExitHandler handler;
    handler.touch();
    local_.limit = kKept;
  }

  SIM_COLD static T *refill() {
    if (local_.limit == 0 && !local_.closed) registerExitHandler();
    const uint32_t batch = local_.closed ? 1 : kBatch;
    std::lock_guard<std::mutex> guard(mutex_);
    for (uint32_t i = 0; shared_ != nullptr && i < batch; ++i) {
      T *object = shared_;
      shared_ = object->next_free;
      object->next_free = local_.head;
      local_.head = object;
      ++local_.count;
    }
    T *object = local_.head;
    if (object == nullptr) return new T();
    local_.head = object->next_free;
    --local_.count;
    return object;
  }

  SIM_COLD static void moveExcessToShared() {
    if (local_.closed) return moveToShared(local_.count);
    if (local_.limit == 0) return registerExitHandler();
    moveToShared(kBatch);
  }

  static void moveToShared(uint32_t count) {
    std::lock_guard<std::mutex> guard(mutex_);
    for (; count > 0 && local_.head != nullptr; --count, --local_.count) {
      T *object = local_.head;
      local_.head = object->next_free;
      object->next_free = shared_;
      shared_ = object;
    }
  }

  static inline thread_local List local_ = {};
  static inline T *shared_ = nullptr;
  static inline std::mutex mutex_;
};

}  // namespace sim
#endif
