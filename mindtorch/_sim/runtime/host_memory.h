// Pinned host memory.
#ifndef MINDTORCH_SIM_RUNTIME_HOST_MEMORY_H_
#define MINDTORCH_SIM_RUNTIME_HOST_MEMORY_H_
#include <cstdint>
#include <shared_mutex>

namespace sim {

// The pinned block or registered range around `address`.
bool pinnedRange(const void *address, uint64_t *start, uint64_t *size);
// The same for ranges that the device may use by their host address.
bool mappedRange(const void *address, uint64_t *start, uint64_t *end);

// Keeps pinned memory from being freed while a copy uses it.
class PinnedGuard {
 public:
  PinnedGuard(const void *address, uint64_t bytes);
  bool held() const { return held_; }  // false: the range is not pinned any more

 private:
  std::shared_lock<std::shared_mutex> lock_;
  bool held_ = false;
};

}  // namespace sim
#endif
