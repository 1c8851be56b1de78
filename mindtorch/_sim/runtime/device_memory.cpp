// Device memory: the address ranges, the blocks and mappings in them, and the check that every access goes through.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "host_memory.h"
#include "runtime.h"

namespace sim {

std::atomic<uint64_t> memory_generation{1};

namespace {

constexpr uint64_t kBlockAlignment = 512;  // clients count on more than the 64 that are documented
constexpr uint64_t kTail = 32;             // hardware moves 32-byte blocks: kernels may touch as much past the end
constexpr uint64_t kVirtualAlignment = uint64_t{2} << 20;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kGiveBackFrom = uint64_t{256} << 10;  // smaller blocks keep their pages: a system call each is dear
constexpr size_t kRestingBlocks = 64;

uint64_t roundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }
uint64_t toInteger(const void *address) { return reinterpret_cast<uint64_t>(address); }
void *toPointer(uint64_t address) { return reinterpret_cast<void *>(address); }

void addressesChanged() { memory_generation.fetch_add(1, std::memory_order_release); }

}  // namespace

void RangeAllocator::reset(uint64_t start, uint64_t size) {
  free_.clear();
  free_.emplace(start, size);
}

bool RangeAllocator::allocate(uint64_t size, uint64_t alignment, uint64_t *start) {
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const auto [first, length] = *range;
    const uint64_t aligned = roundUp(first, alignment);
    if (aligned - first > length || length - (aligned - first) < size) continue;
    free_.erase(range);
    if (aligned > first) free_.emplace(first, aligned - first);
    if (aligned + size < first + length) free_.emplace(aligned + size, first + length - aligned - size);
    *start = aligned;
    return true;
  }
  return false;
}

void RangeAllocator::release(uint64_t start, uint64_t size) {
  auto next = free_.lower_bound(start);
  if (next != free_.end() && next->first == start + size) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto previous = std::prev(next);
    if (previous->first + previous->second == start) {
      previous->second += size;
      return;
    }
  }
  free_.emplace(start, size);
}

bool DeviceMemory::open(uint64_t capacity) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  if (base_.load(std::memory_order_relaxed) != 0) return true;
  const int file = memfd_create("mindtorch_sim", MFD_CLOEXEC);
  if (file < 0) return false;
  void *range = MAP_FAILED;
  uint64_t factor = 32, length = 0;
  const bool backed = ftruncate(file, static_cast<off_t>(4 * capacity)) == 0;
  while (backed && range == MAP_FAILED && factor > 2) {
    factor /= 2;
    length = (2 + factor) * capacity;
    range = mmap(nullptr, 2 * length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  if (range == MAP_FAILED) {
    close(file);
    return false;
  }
  const uint64_t base = toInteger(range);
  if (mmap(toPointer(base + length), 2 * capacity, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file,
           0) == MAP_FAILED) {
    munmap(range, 2 * length);
    close(file);
    return false;
  }
  madvise(range, 2 * length, MADV_DONTFORK);  // a forked child has no device, and must not write to its parent's
  capacity_ = capacity;
  virtual_factor_ = factor;
  file_ = file;
  addresses_.reset(base, 2 * capacity);
  virtual_addresses_.reset(base + 2 * capacity, factor * capacity);
  physical_.reset(2 * capacity, 2 * capacity);
  base_.store(base, std::memory_order_release);
  return true;
}

void DeviceMemory::forget() {
  if (base_.exchange(0) == 0) return;
  close(file_);
  used_ = peak_ = 0;
  addressesChanged();
}

void DeviceMemory::freeAll() {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  const uint64_t base = base_.load(std::memory_order_relaxed);
  if (base == 0) return;
  simCount(SIM_DEVICE_MEMORY, -static_cast<int64_t>(blocks_.size()));
  simCount(SIM_RESERVED_ADDRESS, -static_cast<int64_t>(reservations_.size()));
  for (const auto &[start, block] : blocks_) used_.fetch_sub(block.charged, std::memory_order_relaxed);
  for (const auto &[start, mapping] : mappings_) unmapAlias(start, mapping.size);
  blocks_.clear();
  reservations_.clear();
  mappings_.clear();
  resting_.clear();
  addresses_.reset(base, 2 * capacity_);
  virtual_addresses_.reset(base + 2 * capacity_, virtual_factor_ * capacity_);
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(2 * capacity_));
  addressesChanged();
}

bool DeviceMemory::charge(uint64_t bytes) {
  const uint64_t used = used_.load(std::memory_order_relaxed);
  if (bytes > capacity_ || used > capacity_ - bytes) return false;
  used_.store(used + bytes, std::memory_order_relaxed);
  peak_.store(std::max(peak_.load(std::memory_order_relaxed), used + bytes), std::memory_order_relaxed);
  return true;
}

aclError DeviceMemory::allocate(const char *function, uint64_t size, bool with_tail, void **address) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  const uint64_t tail = with_tail ? kTail : 0;
  const uint64_t charged = size > capacity_ ? size : roundUp(size, 32) + tail;
  uint64_t start = 0;
  bool fits = charge(charged);
  if (fits && !addresses_.allocate(roundUp(charged, kBlockAlignment), kBlockAlignment, &start)) {
    for (const auto &[first, length] : resting_) addresses_.release(first, length);
    resting_.clear();
    fits = addresses_.allocate(roundUp(charged, kBlockAlignment), kBlockAlignment, &start);
    if (!fits) used_.fetch_sub(charged, std::memory_order_relaxed);
  }
  if (!fits) {
    return simFail(ACL_ERROR_RT_MEMORY_ALLOCATION, "EL0004",
                   "%s: out of device memory: %llu bytes asked for, %llu of %llu free", function,
                   static_cast<unsigned long long>(size), static_cast<unsigned long long>(capacity_ - used()),
                   static_cast<unsigned long long>(capacity_));
  }
  blocks_.emplace(start, Block{start + charged, size, charged});
  simCount(SIM_DEVICE_MEMORY, 1);
  *address = toPointer(start);
  return ACL_SUCCESS;
}

aclError DeviceMemory::release(const char *function, void *address) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto found = blocks_.find(toInteger(address));
  if (found == blocks_.end()) {
    const auto after = blocks_.upper_bound(toInteger(address));
    const bool inside = after != blocks_.begin() && std::prev(after)->second.end > toInteger(address);
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: devPtr %p %s", function, address,
                   inside ? "points into a block, not to its start" : "is not allocated: freed before, or never");
  }
  const uint64_t start = found->first;
  const uint64_t charged = found->second.charged;
  blocks_.erase(found);
  addressesChanged();
  used_.fetch_sub(charged, std::memory_order_relaxed);
  giveBackPages(start - base_.load(std::memory_order_relaxed), charged);
  resting_.emplace_back(start, roundUp(charged, kBlockAlignment));
  if (resting_.size() > kRestingBlocks) {
    addresses_.release(resting_.front().first, resting_.front().second);
    resting_.pop_front();
  }
  simCount(SIM_DEVICE_MEMORY, -1);
  return ACL_SUCCESS;
}

void DeviceMemory::giveBackPages(uint64_t offset, uint64_t size) {
  if (size < kGiveBackFrom) return;
  const uint64_t first = roundUp(offset, kPage);
  const uint64_t last = (offset + size) / kPage * kPage;
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(first),
            static_cast<off_t>(last - first));
}

bool DeviceMemory::takePhysical(uint64_t size, uint64_t *offset) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  if (!charge(size)) return false;
  if (physical_.allocate(size, kVirtualAlignment, offset)) return true;
  used_.fetch_sub(size, std::memory_order_relaxed);
  return false;
}

void DeviceMemory::returnPhysical(uint64_t offset, uint64_t size) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  giveBackPages(offset, size);
  physical_.release(offset, size);
  used_.fetch_sub(size, std::memory_order_relaxed);
}

bool DeviceMemory::reserveAddresses(uint64_t size, void **address) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  uint64_t start = 0;
  // Room of one page behind each reservation keeps them apart, so that an overrun never ends in a neighbour.
  const uint64_t length = roundUp(size, kVirtualAlignment);
  if (size > 2 * capacity_ || !virtual_addresses_.allocate(length + kVirtualAlignment, kVirtualAlignment, &start)) {
    return false;
  }
  reservations_.emplace(start, length);
  simCount(SIM_RESERVED_ADDRESS, 1);
  *address = toPointer(start);
  return true;
}

aclError DeviceMemory::releaseAddresses(const char *function, void *address) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto found = reservations_.find(toInteger(address));
  if (found == reservations_.end()) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: virPtr %p is not the start of a reserved range", function,
                   address);
  }
  const auto [start, size] = *found;
  const auto mapped = mappings_.lower_bound(start);
  if (mapped != mappings_.end() && mapped->first < start + size) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: memory is still mapped at %p in the range", function,
                   toPointer(mapped->first));
  }
  virtual_addresses_.release(start, size + kVirtualAlignment);
  reservations_.erase(found);
  simCount(SIM_RESERVED_ADDRESS, -1);
  return ACL_SUCCESS;
}

aclError DeviceMemory::map(const char *function, void *address, uint64_t size, void *physical, uint64_t offset) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  const uint64_t start = toInteger(address);
  auto reservation = reservations_.upper_bound(start);
  if (reservation == reservations_.begin() ||
      std::prev(reservation)->first + std::prev(reservation)->second < start + size) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: [%p, +%llu) is not inside a reserved range", function,
                   address, static_cast<unsigned long long>(size));
  }
  const auto next = mappings_.lower_bound(start);
  const bool overlaps = (next != mappings_.end() && next->first < start + size) ||
                        (next != mappings_.begin() && std::prev(next)->first + std::prev(next)->second.size > start);
  if (overlaps) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: memory is mapped already in [%p, +%llu)", function,
                   address, static_cast<unsigned long long>(size));
  }
  if (mmap(toPointer(start + distance()), size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_,
           static_cast<off_t>(offset)) == MAP_FAILED) {
    return simFail(ACL_ERROR_RT_MEMORY_ALLOCATION, "EL0004", "%s: the host refused the mapping", function);
  }
  madvise(toPointer(start + distance()), size, MADV_DONTFORK);
  mappings_.emplace(start, Mapping{size, physical, ACL_RT_MEM_ACCESS_FLAGS_READWRITE});
  return ACL_SUCCESS;
}

void DeviceMemory::unmapAlias(uint64_t start, uint64_t size) {
  mmap(toPointer(start + distance()), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

aclError DeviceMemory::unmap(const char *function, void *address, void **physical) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  const auto found = mappings_.find(toInteger(address));
  if (found == mappings_.end()) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: virPtr %p is not the start of a mapping", function,
                   address);
  }
  *physical = found->second.physical;
  unmapAlias(found->first, found->second.size);
  mappings_.erase(found);
  addressesChanged();
  return ACL_SUCCESS;
}

aclError DeviceMemory::setAccess(const char *function, void *address, uint64_t size, aclrtMemAccessFlags access) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  uint64_t at = toInteger(address);
  const uint64_t end = at + size;
  auto mapping = mappings_.find(at);
  for (; mapping != mappings_.end() && mapping->first == at && at < end; ++mapping) at += mapping->second.size;
  if (at != end || size == 0) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: [%p, +%llu) is not made of whole mappings", function,
                   address, static_cast<unsigned long long>(size));
  }
  for (mapping = mappings_.find(toInteger(address)); mapping != mappings_.end() && mapping->first < end; ++mapping) {
    mapping->second.access = access;
  }
  addressesChanged();
  return ACL_SUCCESS;
}

bool DeviceMemory::access(const void *address, aclrtMemAccessFlags *access) {
  std::shared_lock<std::shared_mutex> lock(mutex_);
  const auto next = mappings_.upper_bound(toInteger(address));
  if (next == mappings_.begin()) return false;
  const auto &[start, mapping] = *std::prev(next);
  *access = mapping.access;
  return toInteger(address) < start + mapping.size;
}

bool DeviceMemory::owns(const void *address) const {
  const uint64_t base = base_.load(std::memory_order_acquire);
  return base != 0 && toInteger(address) - base < distance();
}

bool DeviceMemory::extentOfMappings(uint64_t at, uint64_t *start, uint64_t *end) const {
  auto next = mappings_.upper_bound(at);
  if (next == mappings_.begin()) return false;
  const auto found = std::prev(next);
  if (at >= found->first + found->second.size) return false;
  *start = found->first;
  *end = found->first + found->second.size;
  const auto usable = [](const Mapping &mapping) { return mapping.access == ACL_RT_MEM_ACCESS_FLAGS_READWRITE; };
  if (!usable(found->second)) return false;
  for (; next != mappings_.end() && next->first == *end && usable(next->second); ++next) *end += next->second.size;
  for (auto before = found; before != mappings_.begin();) {
    --before;
    if (before->first + before->second.size != *start || !usable(before->second)) break;
    *start = before->first;
  }
  return true;
}

bool DeviceMemory::extent(const void *address, uint64_t *start, uint64_t *end) {
  const uint64_t at = toInteger(address);
  std::shared_lock<std::shared_mutex> lock(mutex_);
  if (at - base_.load(std::memory_order_relaxed) >= 2 * capacity_) return extentOfMappings(at, start, end);
  const auto next = blocks_.upper_bound(at);
  if (next == blocks_.begin()) return false;
  *start = std::prev(next)->first;
  *end = std::prev(next)->second.end;
  return at <= *end;
}

bool DeviceMemory::block(const void *address, uint64_t *start, uint64_t *size) {
  const uint64_t at = toInteger(address);
  std::shared_lock<std::shared_mutex> lock(mutex_);
  const auto next = blocks_.upper_bound(at);
  if (next != blocks_.begin() && at < std::prev(next)->second.end) {
    *start = std::prev(next)->first;
    *size = std::prev(next)->second.requested;
    return true;
  }
  const auto mapping = mappings_.upper_bound(at);
  if (mapping == mappings_.begin() || at >= std::prev(mapping)->first + std::prev(mapping)->second.size) return false;
  *start = std::prev(mapping)->first;
  *size = std::prev(mapping)->second.size;
  return true;
}

namespace {

// What this thread looked up lately: large blocks by the 2 MiB piece of the address space, small ones, of which many
// share a piece, by their own address. An entry holds only as long as nothing was freed anywhere since, so a hit needs
// no lock.
struct Recent {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t generation = 0;
  uint64_t distance = 0;
};
constexpr uint64_t kRecent = 8;
constexpr uint64_t kRecentSmall = 32;
constexpr uint64_t kLarge = uint64_t{1} << 21;
struct Recents {
  Recent large[kRecent];
  Recent small[kRecentSmall];
};
thread_local Recents recents;

Recent &largeEntry(uint64_t at) { return recents.large[(at >> 21) % kRecent]; }
Recent &smallEntry(uint64_t at) { return recents.small[(at >> 9) % kRecentSmall]; }

inline bool covers(const Recent &entry, uint64_t at, uint64_t bytes, uint64_t generation) {
  return entry.generation == generation && at >= entry.start && at <= entry.end && bytes <= entry.end - at;
}

void remember(uint64_t at, const Recent &found) {
  (found.end - found.start >= kLarge ? largeEntry(at) : smallEntry(at)) = found;
}

__attribute__((noinline)) void *lookUp(uint64_t at, uint64_t bytes, uint64_t generation) {
  for (int32_t id = 0; id < deviceCount(); ++id) {
    DeviceMemory &memory = device(id).memory;
    if (!memory.owns(toPointer(at))) continue;
    Recent found;
    if (!memory.extent(toPointer(at), &found.start, &found.end)) return nullptr;
    found.generation = generation;
    found.distance = memory.distance();
    remember(at, found);
    if (bytes > found.end - at) return nullptr;
    return toPointer(at + found.distance);
  }
  Recent found;
  if (!mappedRange(toPointer(at), &found.start, &found.end) || bytes > found.end - at) return nullptr;
  found.generation = generation;
  remember(at, found);
  return toPointer(at);
}

}  // namespace
}  // namespace sim

using namespace sim;

void *simDeviceMemory(const void *address, uint64_t bytes) {
  const uint64_t at = toInteger(address);
  // Read before the look-up: a free that comes in between makes the entry stale at once.
  const uint64_t generation = memory_generation.load(std::memory_order_acquire);
  const Recent &large = largeEntry(at);
  if (covers(large, at, bytes, generation)) return toPointer(at + large.distance);
  const Recent &small = smallEntry(at);
  if (__builtin_expect(covers(small, at, bytes, generation), 1)) return toPointer(at + small.distance);
  return lookUp(at, bytes, generation);
}
