// Memory: device blocks, virtual memory, pinned host memory.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "host_memory.h"
#include "runtime.h"
#include "stream.h"

// Device memory: the address ranges, the blocks and mappings in them, and the check that every access goes through.

namespace sim {

std::atomic<uint64_t> memory_generation{1};

namespace {

constexpr uint64_t kBlockAlignment = 512;  // clients count on more than the 64 that are documented
constexpr uint64_t kTail = 32;             // hardware moves 32-byte blocks: kernels may touch as much past the end
constexpr uint64_t kVirtualAlignment = uint64_t{2} << 20;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kGiveBackFrom = uint64_t{256}
                                   << 10;  // smaller blocks keep their pages, as the system call is expensive
constexpr size_t kReuseDelay = 64;

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
  freed_.clear();
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
    for (const auto &[first, length] : freed_) addresses_.release(first, length);
    freed_.clear();
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
  releasePages(start - base_.load(std::memory_order_relaxed), charged);
  freed_.emplace_back(start, roundUp(charged, kBlockAlignment));
  if (freed_.size() > kReuseDelay) {
    addresses_.release(freed_.front().first, freed_.front().second);
    freed_.pop_front();
  }
  simCount(SIM_DEVICE_MEMORY, -1);
  return ACL_SUCCESS;
}

void DeviceMemory::releasePages(uint64_t offset, uint64_t size) {
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
  releasePages(offset, size);
  physical_.release(offset, size);
  used_.fetch_sub(size, std::memory_order_relaxed);
}

bool DeviceMemory::reserveAddresses(uint64_t size, void **address) {
  std::unique_lock<std::shared_mutex> lock(mutex_);
  uint64_t start = 0;
  // One page behind each reservation is left free, to detect overruns.
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

// The thread's cache of recent look-ups: large blocks by their 2 MiB page, small blocks, of which a page holds many, by
// address. An entry is valid as long as nothing has been freed since, so a hit needs no lock.
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
  // Read before the look-up, so that a concurrent free invalidates the entry.
  const uint64_t generation = memory_generation.load(std::memory_order_acquire);
  const Recent &large = largeEntry(at);
  if (covers(large, at, bytes, generation)) return toPointer(at + large.distance);
  const Recent &small = smallEntry(at);
  if (__builtin_expect(covers(small, at, bytes, generation), 1)) return toPointer(at + small.distance);
  return lookUp(at, bytes, generation);
}

// The functions of the C API on device memory, and what kind of memory an address is.

namespace sim {

namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;
constexpr uint32_t kMemTypeDevice = 2;  // ACL_RT_MEM_TYPE_DEV
constexpr uint32_t kKnownMemTypes = 2 | 8 | 16;

// Only pages of 1 GiB come without the 32-byte tail.
bool isGigabytePolicy(uint32_t policy) {
  return policy == ACL_MEM_MALLOC_HUGE1G_ONLY || policy == ACL_MEM_MALLOC_HUGE1G_ONLY_P2P;
}

enum class Tail { kAdded, kNone };

aclError mallocDevice(const char *function, void **address, size_t size, uint32_t policy, Tail tail) {
  if (address == nullptr) return nullArgument(function, "devPtr");
  if (size == 0) return simFail(ACL_ERROR_INVALID_PARAM, "EE1003", "%s: size is 0, expected more", function);
  if (policy > ACL_MEM_MALLOC_HUGE1G_ONLY_P2P) {
    return badValue(function, "policy", policy, "a policy without bandwidth or access bits");
  }
  Context *context = contextOrDefault();
  if (context == nullptr) return noContext(function);
  return context->device->memory.allocate(function, size, tail == Tail::kAdded && !isGigabytePolicy(policy), address);
}

aclError freeDevice(const char *function, void *address) {
  if (isForkedChild()) return noDevices(function);
  if (address == nullptr) return nullArgument(function, "devPtr");
  for (int32_t id = 0; id < deviceCount(); ++id) {
    if (device(id).memory.owns(address)) return device(id).memory.release(function, address);
  }
  return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: devPtr %p is not device memory", function, address);
}

aclError requireDeviceRange(const char *function, const void *address, size_t size) {
  if (contextOrDefault() == nullptr) return noContext(function);
  if (address == nullptr) return nullArgument(function, "devPtr");
  if (pointerInfo(address, size).kind == PointerInfo::kDevice) return ACL_SUCCESS;
  return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: [%p, +%zu) is not inside one live block", function, address,
                 size);
}

}  // namespace

PointerInfo pointerInfo(const void *address, uint64_t bytes) {
  for (int32_t id = 0; id < deviceCount(); ++id) {
    if (!device(id).memory.owns(address)) continue;
    const bool live = simDeviceMemory(address, bytes) != nullptr;
    return {live ? PointerInfo::kDevice : PointerInfo::kInvalid, &device(id)};
  }
  uint64_t start = 0;
  uint64_t size = 0;
  if (!pinnedRange(address, &start, &size)) return {PointerInfo::kPageable, nullptr};
  const bool inside = bytes <= start + size - reinterpret_cast<uint64_t>(address);
  return {inside ? PointerInfo::kPinned : PointerInfo::kInvalid, nullptr};
}

}  // namespace sim

int32_t simDeviceTotal(void) { return deviceCount(); }

int32_t simForeignDevice(const void *address) {
  const Context *context = currentContext();
  if (context == nullptr) return -1;
  for (int32_t id = 0; id < deviceCount(); ++id) {
    if (!sim::device(id).memory.owns(address)) continue;
    const bool reachable = id == context->device->id || (context->device->peers.load() >> id & 1) != 0;
    return reachable ? -1 : id;
  }
  return -1;
}

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
  SIM_ENTER(aclrtMalloc);
  return mallocDevice(__func__, devPtr, size, policy, Tail::kAdded);
}

aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
  SIM_ENTER(aclrtMallocAlign32);
  return mallocDevice(__func__, devPtr, size, policy, Tail::kNone);
}

aclError aclrtMallocCached(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
  SIM_ENTER(aclrtMallocCached);
  return mallocDevice(__func__, devPtr, size, policy, Tail::kAdded);
}

aclError aclrtMallocWithCfg(void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg) {
  SIM_ENTER(aclrtMallocWithCfg);
  if (cfg != nullptr && cfg->numAttrs > 0) SIM_REQUIRE_POINTER(cfg->attrs);
  for (size_t i = 0; cfg != nullptr && i < cfg->numAttrs; ++i) {
    if (cfg->attrs[i].attr > ACL_RT_MEM_ATTR_VA_FLAG) {
      return badValue(__func__, "cfg->attrs[].attr", cfg->attrs[i].attr, "a member of aclrtMallocAttrType");
    }
  }
  constexpr uint32_t kExtraBits =
      ACL_MEM_TYPE_LOW_BAND_WIDTH | ACL_MEM_TYPE_HIGH_BAND_WIDTH | ACL_MEM_ACCESS_USER_SPACE_READONLY;
  return mallocDevice(__func__, devPtr, size, static_cast<uint32_t>(policy) & ~kExtraBits, Tail::kAdded);
}

aclError aclrtFree(void *devPtr) {
  SIM_ENTER(aclrtFree);
  return freeDevice(__func__, devPtr);
}

aclError aclrtFreeWithDevSync(void *devPtr) {
  SIM_ENTER(aclrtFreeWithDevSync);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(devPtr);
  const aclError waited = synchronizeContext(__func__, forever());
  const aclError freed = freeDevice(__func__, devPtr);
  return waited != ACL_SUCCESS ? waited : freed;
}

aclError aclrtMemFlush(void *devPtr, size_t size) {
  SIM_ENTER(aclrtMemFlush);
  return requireDeviceRange(__func__, devPtr, size);
}

aclError aclrtMemInvalidate(void *devPtr, size_t size) {
  SIM_ENTER(aclrtMemInvalidate);
  return requireDeviceRange(__func__, devPtr, size);
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total) {
  SIM_ENTER(aclrtGetMemInfo);
  SIM_REQUIRE_POINTER(free);
  SIM_REQUIRE_POINTER(total);
  SIM_REQUIRE_CONTEXT(context);
  const bool supported = attr <= ACL_HBM_MEM_NORMAL;  // the peer-to-peer and 1 GiB pools do not exist here
  const DeviceMemory &memory = context->device->memory;
  *total = supported ? memory.capacity() : 0;
  *free = supported ? memory.capacity() - memory.used() : 0;
  return ACL_SUCCESS;
}

aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo *memUsageInfo, size_t inputNum, size_t *outputNum) {
  SIM_ENTER(aclrtGetMemUsageInfo);
  SIM_REQUIRE_POINTER(memUsageInfo);
  SIM_REQUIRE_POINTER(outputNum);
  SIM_REQUIRE_DEVICE(device, deviceId);
  if (inputNum == 0) return badValue(__func__, "inputNum", 0, "at least 1");
  memUsageInfo[0] = aclrtMemUsageInfo{};
  std::strcpy(memUsageInfo[0].name, "APP");
  memUsageInfo[0].curMemSize = device->memory.used();
  memUsageInfo[0].memPeakSize = device->memory.peak();
  *outputNum = 1;
  return ACL_SUCCESS;
}

aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes) {
  SIM_ENTER(aclrtPointerGetAttributes);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(ptr);
  SIM_REQUIRE_POINTER(attributes);
  const PointerInfo info = pointerInfo(ptr, 1);
  *attributes = aclrtPtrAttributes{};
  attributes->location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
  attributes->pageSize = 4096;
  if (info.kind == PointerInfo::kPinned) attributes->location.type = ACL_MEM_LOCATION_TYPE_HOST;
  if (info.kind == PointerInfo::kDevice) {
    attributes->location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    attributes->location.id = static_cast<uint32_t>(info.device->id);
    attributes->pageSize = kHugePage;
  }
  return ACL_SUCCESS;
}

aclError aclrtCheckMemType(void **addrList, uint32_t size, uint32_t memType, uint32_t *checkResult, uint32_t reserve) {
  SIM_ENTER(aclrtCheckMemType);
  SIM_REQUIRE_POINTER(addrList);
  SIM_REQUIRE_POINTER(checkResult);
  if (contextOrDefault() == nullptr) return noContext(__func__);
  if (size == 0) return badValue(__func__, "size", size, "at least 1");
  if (reserve != 0) return badValue(__func__, "reserve", reserve, "0");
  if (memType == 0 || (memType & ~kKnownMemTypes) != 0) {
    return badValue(__func__, "memType", memType, "ACL_RT_MEM_TYPE_* flags");
  }
  bool all = (memType & kMemTypeDevice) != 0;
  for (uint32_t i = 0; i < size && all; ++i) all = pointerInfo(addrList[i], 1).kind == PointerInfo::kDevice;
  *checkResult = all ? 1 : 0;
  return ACL_SUCCESS;
}

aclError aclrtMemGetAddressRange(void *ptr, void **pbase, size_t *psize) {
  SIM_ENTER(aclrtMemGetAddressRange);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(ptr);
  uint64_t start = 0;
  uint64_t size = 0;
  bool found = false;
  for (int32_t id = 0; id < deviceCount() && !found; ++id) {
    found = sim::device(id).memory.owns(ptr) && sim::device(id).memory.block(ptr, &start, &size);
  }
  if (!found) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: ptr %p is not in device memory that is in use", __func__,
                   ptr);
  }
  if (pbase != nullptr) *pbase = reinterpret_cast<void *>(start);
  if (psize != nullptr) *psize = size;
  return ACL_SUCCESS;
}

// Virtual memory: reserved addresses, physical memory, and mappings of one into the other.

namespace sim {

namespace {

constexpr uint64_t kGigabytePage = uint64_t{1} << 30;
constexpr uint32_t kHandles = 1 << 17;

// What aclrtMallocPhysical gave out. Exported and imported handles share one Store.
struct Store {
  Device *device = nullptr;
  uint64_t offset = 0;  // in the device's file
  uint64_t size = 0;
  ~Store() {
    if (size != 0) device->memory.returnPhysical(offset, size);
  }
};

struct Physical {
  std::mutex mutex;  // guards the members below
  std::shared_ptr<Store> store;
  bool mapped = false;
  bool freed = false;  // aclrtFreePhysical was called while it was mapped: the end comes with the unmapping
};

HandleTable<Physical> &handles() {
  static HandleTable<Physical> &table = *new HandleTable<Physical>(kHandles);
  return table;
}

struct Shareables {
  std::mutex mutex;
  std::map<uint64_t, std::weak_ptr<Store>> by_id;
  uint64_t last = 0;
};

Shareables &shareables() {
  static Shareables &instance = *new Shareables;
  return instance;
}

// 0: no memory of that kind.
uint64_t granularity(aclrtMemAttr attr) {
  switch (attr) {
    case ACL_HBM_MEM_HUGE1G:
    case ACL_HBM_MEM_P2P_HUGE1G:
    case ACL_MEM_HUGE1G:
    case ACL_MEM_P2P_HUGE1G:
      return kGigabytePage;
    default:
      return attr <= ACL_MEM_P2P_HUGE1G ? kHugePage : 0;
  }
}

aclError checkProperties(const char *function, const aclrtPhysicalMemProp *prop, uint64_t *unit) {
  if (prop == nullptr) return nullArgument(function, "prop");
  if (prop->location.type != ACL_MEM_LOCATION_TYPE_DEVICE) {
    return simFail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "EE1001", "%s: prop->location.type is %d: only device memory",
                   function, static_cast<int>(prop->location.type));
  }
  if (findDevice(static_cast<int32_t>(prop->location.id)) == nullptr) return badDevice(function, prop->location.id);
  if (prop->allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED) {
    return badValue(function, "prop->allocationType", prop->allocationType, "ACL_MEM_ALLOCATION_TYPE_PINNED");
  }
  *unit = granularity(prop->memAttr);
  return *unit != 0 ? ACL_SUCCESS : badValue(function, "prop->memAttr", prop->memAttr, "a member of aclrtMemAttr");
}

aclError openHandle(const char *function, std::shared_ptr<Store> store, aclrtDrvMemHandle *handle) {
  Physical *created = handles().take();
  if (created == nullptr) {
    return simFail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "EL0005", "%s: no memory handle is left", function);
  }
  {
    std::lock_guard<std::mutex> lock(created->mutex);
    created->store = std::move(store);
    created->mapped = created->freed = false;
  }
  handles().publish(created);
  simCount(SIM_PHYSICAL_MEMORY, 1);
  *handle = created;
  return ACL_SUCCESS;
}

void closeHandle(Physical *physical) {
  {
    std::lock_guard<std::mutex> lock(physical->mutex);
    physical->store.reset();
  }
  handles().release(physical);
  simCount(SIM_PHYSICAL_MEMORY, -1);
}

// The device whose address range holds `address`, for functions that are given addresses only.
Device *ownerOf(const void *address) {
  for (int32_t id = 0; id < deviceCount(); ++id) {
    if (device(id).memory.owns(address)) return &device(id);
  }
  return nullptr;
}

aclError foreignAddress(const char *function, const void *address) {
  return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: virPtr %p is not from aclrtReserveMemAddress", function,
                 address);
}

aclError mapHandle(const char *function, void *address, size_t size, Physical &physical) {
  std::lock_guard<std::mutex> lock(physical.mutex);
  const Store &store = *physical.store;
  Device *owner = ownerOf(address);
  if (owner == nullptr) return foreignAddress(function, address);
  if (owner != store.device) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: memory of device %d into a range of device %d", function,
                   store.device->id, owner->id);
  }
  if (size != store.size) {
    return badValue(function, "size", static_cast<int64_t>(size), "the size of the physical memory");
  }
  if (reinterpret_cast<uint64_t>(address) % kHugePage != 0) {
    return simFail(ACL_ERROR_RT_ADDR_UNALIGNED, "EE1001", "%s: virPtr %p is not aligned to 2 MiB", function, address);
  }
  if (physical.mapped || physical.freed) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: the memory is %s already", function,
                   physical.mapped ? "mapped" : "freed");
  }
  const aclError error = owner->memory.map(function, address, size, &physical, store.offset);
  physical.mapped = error == ACL_SUCCESS;
  return error;
}

}  // namespace

void physicalMemoryAtFork(Fork stage) {
  if (stage == Fork::kPrepare) handles().atFork(stage);
  atFork(shareables().mutex, stage);
  if (stage != Fork::kPrepare) handles().atFork(stage);
}

void releasePhysicalMemory(Device &device) {
  handles().forEachLive([&](Physical *physical) {
    {
      std::lock_guard<std::mutex> lock(physical->mutex);
      if (physical->store == nullptr || physical->store->device != &device) return;
    }
    if (handles().retire(physical)) closeHandle(physical);
  });
}

}  // namespace sim

aclError aclrtReserveMemAddress(void **virPtr, size_t size, size_t alignment, void *expectPtr, uint64_t flags) {
  SIM_ENTER(aclrtReserveMemAddress);
  SIM_REQUIRE_POINTER(virPtr);
  SIM_REQUIRE_CONTEXT(context);
  if (size == 0) return badValue(__func__, "size", 0, "more than 0");
  if (alignment != 0) return badValue(__func__, "alignment", static_cast<int64_t>(alignment), "0");
  if (expectPtr != nullptr) {
    return simFail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "EE1001", "%s: expectPtr is %p, expected NULL", __func__,
                   expectPtr);
  }
  if (flags > 1) return badValue(__func__, "flags", static_cast<int64_t>(flags), "0 or 1");
  if (context->device->memory.reserveAddresses(size, virPtr)) return ACL_SUCCESS;
  return simFail(ACL_ERROR_RT_MEMORY_ALLOCATION, "EL0004", "%s: no range of %zu addresses is left", __func__, size);
}

aclError aclrtReleaseMemAddress(void *virPtr) {
  SIM_ENTER(aclrtReleaseMemAddress);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(virPtr);
  Device *owner = ownerOf(virPtr);
  return owner == nullptr ? foreignAddress(__func__, virPtr) : owner->memory.releaseAddresses(__func__, virPtr);
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t size, const aclrtPhysicalMemProp *prop, uint64_t flags) {
  SIM_ENTER(aclrtMallocPhysical);
  SIM_REQUIRE_POINTER(handle);
  if (contextOrDefault() == nullptr) return noContext(__func__);
  uint64_t unit = 0;
  SIM_TRY(checkProperties(__func__, prop, &unit));
  if (flags != 0) return badValue(__func__, "flags", static_cast<int64_t>(flags), "0");
  if (size == 0 || size % unit != 0) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1003", "%s: size is %zu, expected a multiple of %llu", __func__, size,
                   static_cast<unsigned long long>(unit));
  }
  Device &device = sim::device(static_cast<int32_t>(prop->location.id));
  auto store = std::make_shared<Store>();
  store->device = &device;
  if (!device.memory.open(config().memory_bytes) || !device.memory.takePhysical(size, &store->offset)) {
    return simFail(ACL_ERROR_RT_MEMORY_ALLOCATION, "EL0004", "%s: out of device memory: %zu bytes asked for, %llu free",
                   __func__, size, static_cast<unsigned long long>(device.memory.capacity() - device.memory.used()));
  }
  store->size = size;
  return openHandle(__func__, std::move(store), handle);
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  SIM_ENTER(aclrtFreePhysical);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(handle);
  Physical *physical = handles().find(handle);
  if (physical == nullptr) return badHandle(__func__, "handle", handle);
  {
    std::lock_guard<std::mutex> lock(physical->mutex);
    if (physical->freed) return badHandle(__func__, "handle", handle);
    physical->freed = true;
    if (physical->mapped) return ACL_SUCCESS;
  }
  if (handles().retire(physical)) closeHandle(physical);
  return ACL_SUCCESS;
}

aclError aclrtMapMem(void *virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags) {
  SIM_ENTER(aclrtMapMem);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(virPtr);
  SIM_REQUIRE_POINTER(handle);
  if (offset != 0) return badValue(__func__, "offset", static_cast<int64_t>(offset), "0");
  if (flags != 0) return badValue(__func__, "flags", static_cast<int64_t>(flags), "0");
  Physical *physical = handles().find(handle);
  if (physical == nullptr) return badHandle(__func__, "handle", handle);
  return mapHandle(__func__, virPtr, size, *physical);
}

aclError aclrtUnmapMem(void *virPtr) {
  SIM_ENTER(aclrtUnmapMem);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(virPtr);
  Device *owner = ownerOf(virPtr);
  if (owner == nullptr) return foreignAddress(__func__, virPtr);
  void *mapped = nullptr;
  SIM_TRY(owner->memory.unmap(__func__, virPtr, &mapped));
  auto *physical = static_cast<Physical *>(mapped);
  bool last = false;
  {
    std::lock_guard<std::mutex> lock(physical->mutex);
    physical->mapped = false;
    last = physical->freed;
  }
  if (last && handles().retire(physical)) closeHandle(physical);
  return ACL_SUCCESS;
}

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp *prop, aclrtMemGranularityOptions option,
                                          size_t *granularity) {
  SIM_ENTER(aclrtMemGetAllocationGranularity);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(granularity);
  if (option > ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
    return badValue(__func__, "option", option, "MINIMUM or RECOMMENDED");
  }
  uint64_t unit = 0;
  SIM_TRY(checkProperties(__func__, prop, &unit));
  *granularity = unit;
  return ACL_SUCCESS;
}

aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle, aclrtMemHandleType handleType, uint64_t flags,
                                         uint64_t *shareableHandle) {
  SIM_ENTER(aclrtMemExportToShareableHandle);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(handle);
  SIM_REQUIRE_POINTER(shareableHandle);
  if (handleType != ACL_MEM_HANDLE_TYPE_NONE) return badValue(__func__, "handleType", handleType, "0");
  if (flags > 1) return badValue(__func__, "flags", static_cast<int64_t>(flags), "0 or 1");
  Physical *physical = handles().find(handle);
  if (physical == nullptr) return badHandle(__func__, "handle", handle);
  std::lock_guard<std::mutex> lock(physical->mutex);
  Shareables &all = shareables();
  std::lock_guard<std::mutex> all_lock(all.mutex);
  all.by_id[++all.last] = physical->store;
  *shareableHandle = all.last;
  return ACL_SUCCESS;
}

namespace {

// Simulated memory lives in one process, so a handle can be imported only where it was exported.
aclError findShareable(const char *function, uint64_t id, std::shared_ptr<Store> *store) {
  Shareables &all = shareables();
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.by_id.find(id);
  if (found != all.by_id.end()) *store = found->second.lock();
  if (*store != nullptr) return ACL_SUCCESS;
  return simFail(ACL_ERROR_RT_INVALID_HANDLE, "EE1001",
                 "%s: shareableHandle %llu was not exported by this process, or its memory is gone", function,
                 static_cast<unsigned long long>(id));
}

}  // namespace

aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId, aclrtDrvMemHandle *handle) {
  SIM_ENTER(aclrtMemImportFromShareableHandle);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(handle);
  if (findDevice(deviceId) == nullptr) return badDevice(__func__, deviceId);
  std::shared_ptr<Store> store;
  SIM_TRY(findShareable(__func__, shareableHandle, &store));
  return openHandle(__func__, std::move(store), handle);
}

aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t *pid, size_t pidNum) {
  SIM_ENTER(aclrtMemSetPidToShareableHandle);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(pid);
  if (pidNum == 0) return badValue(__func__, "pidNum", 0, "at least 1");
  std::shared_ptr<Store> store;
  return findShareable(__func__, shareableHandle, &store);
}

aclError aclrtMemSetAccess(void *virPtr, size_t size, aclrtMemAccessDesc *desc, size_t count) {
  SIM_ENTER(aclrtMemSetAccess);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(virPtr);
  SIM_REQUIRE_POINTER(desc);
  Device *owner = ownerOf(virPtr);
  if (owner == nullptr) return foreignAddress(__func__, virPtr);
  if (count == 0) return badValue(__func__, "count", 0, "at least 1");
  for (size_t i = 0; i < count; ++i) {
    const bool own = desc[i].location.type == ACL_MEM_LOCATION_TYPE_DEVICE &&
                     desc[i].location.id == static_cast<uint32_t>(owner->id);
    if (!own) {
      return simFail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "EE1001", "%s: desc[%zu] is not the device that owns the memory",
                     __func__, i);
    }
    SIM_TRY(owner->memory.setAccess(__func__, virPtr, size, desc[i].flags));
  }
  return ACL_SUCCESS;
}

aclError aclrtMemGetAccess(void *virPtr, aclrtMemLocation *location, uint64_t *flag) {
  SIM_ENTER(aclrtMemGetAccess);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(virPtr);
  SIM_REQUIRE_POINTER(location);
  SIM_REQUIRE_POINTER(flag);
  Device *owner = ownerOf(virPtr);
  aclrtMemAccessFlags access = ACL_RT_MEM_ACCESS_FLAGS_NONE;
  if (owner == nullptr || !owner->memory.access(virPtr, &access)) return foreignAddress(__func__, virPtr);
  const bool own = location->type == ACL_MEM_LOCATION_TYPE_DEVICE && location->id == static_cast<uint32_t>(owner->id);
  *flag = own ? access : ACL_RT_MEM_ACCESS_FLAGS_NONE;
  return ACL_SUCCESS;
}

// Pinned host memory: allocated by the runtime, or the program's own and registered.

namespace sim {

namespace {

constexpr uint64_t kHostAlignment = 64;
constexpr uint64_t kHostPage = 4096;
constexpr uint32_t kRegisterFlags =
    ACL_HOST_REG_MAPPED | ACL_HOST_REG_IOMEMORY | ACL_HOST_REG_READONLY | ACL_HOST_REG_PINNED;

struct HostRange {
  uint64_t size;
  bool allocated;  // by aclrtMallocHost; otherwise registered
  bool mapped;     // the device may use it by the same address
};

struct HostRanges {
  std::shared_mutex mutex;
  std::map<uint64_t, HostRange> by_start;
};

HostRanges &ranges() {
  static HostRanges &instance = *new HostRanges;
  return instance;
}

// With the mutex held: the range around an address, or end().
std::map<uint64_t, HostRange>::const_iterator rangeAround(const void *address) {
  const auto &all = ranges().by_start;
  const auto next = all.upper_bound(toInteger(address));
  if (next == all.begin()) return all.end();
  const auto found = std::prev(next);
  return toInteger(address) < found->first + found->second.size ? found : all.end();
}

aclError mallocHost(const char *function, void **address, uint64_t size) {
  if (address == nullptr) return nullArgument(function, "hostPtr");
  if (size == 0) return simFail(ACL_ERROR_INVALID_PARAM, "EE1003", "%s: size is 0, expected more", function);
  if (contextOrDefault() == nullptr) return noContext(function);
  const uint64_t rounded = (size + kHostAlignment - 1) / kHostAlignment * kHostAlignment;
  void *allocated = size > PTRDIFF_MAX ? nullptr : std::aligned_alloc(kHostAlignment, rounded);
  if (allocated == nullptr) {
    return simFail(ACL_ERROR_RT_MEMORY_ALLOCATION, "EL0004", "%s: the host has no %llu bytes", function,
                   static_cast<unsigned long long>(size));
  }
  std::unique_lock<std::shared_mutex> lock(ranges().mutex);
  ranges().by_start.emplace(toInteger(allocated), HostRange{size, true, false});
  simCount(SIM_HOST_MEMORY, 1);
  *address = allocated;
  return ACL_SUCCESS;
}

aclError freeHost(const char *function, void *address) {
  if (isForkedChild()) return noDevices(function);
  if (address == nullptr) return nullArgument(function, "hostPtr");
  {
    std::unique_lock<std::shared_mutex> lock(ranges().mutex);
    const auto found = ranges().by_start.find(toInteger(address));
    if (found == ranges().by_start.end() || !found->second.allocated) {
      return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: hostPtr %p is not from aclrtMallocHost, or was freed",
                     function, address);
    }
    ranges().by_start.erase(found);
  }
  std::free(address);
  simCount(SIM_HOST_MEMORY, -1);
  return ACL_SUCCESS;
}

aclError registerHost(const char *function, void *address, uint64_t size, bool mapped) {
  if (contextOrDefault() == nullptr) return noContext(function);
  if (address == nullptr) return nullArgument(function, "ptr");
  const uint64_t start = toInteger(address);
  if (size == 0 || size > UINT64_MAX - start) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1003", "%s: [%p, +%llu) is no range of addresses", function, address,
                   static_cast<unsigned long long>(size));
  }
  std::unique_lock<std::shared_mutex> lock(ranges().mutex);
  auto &all = ranges().by_start;
  const auto next = all.lower_bound(start);
  const bool overlaps = (next != all.end() && next->first < start + size) || rangeAround(address) != all.end();
  if (overlaps) {
    return simFail(ACL_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "EE1001", "%s: [%p, +%llu) is pinned already, or in part",
                   function, address, static_cast<unsigned long long>(size));
  }
  all.emplace(start, HostRange{size, false, mapped});
  return ACL_SUCCESS;
}

aclError checkConfig(const char *function, const aclrtMallocConfig *cfg) {
  if (cfg == nullptr || cfg->numAttrs == 0) return ACL_SUCCESS;
  if (cfg->attrs == nullptr) return nullArgument(function, "cfg->attrs");
  for (size_t i = 0; i < cfg->numAttrs; ++i) {
    if (cfg->attrs[i].attr > ACL_RT_MEM_ATTR_VA_FLAG) {
      return badValue(function, "cfg->attrs[].attr", cfg->attrs[i].attr, "a member of aclrtMallocAttrType");
    }
  }
  return ACL_SUCCESS;
}

}  // namespace

bool pinnedRange(const void *address, uint64_t *start, uint64_t *size) {
  std::shared_lock<std::shared_mutex> lock(ranges().mutex);
  const auto found = rangeAround(address);
  if (found == ranges().by_start.cend()) return false;
  *start = found->first;
  *size = found->second.size;
  return true;
}

bool mappedRange(const void *address, uint64_t *start, uint64_t *end) {
  std::shared_lock<std::shared_mutex> lock(ranges().mutex);
  const auto found = rangeAround(address);
  if (found == ranges().by_start.cend() || !found->second.mapped) return false;
  *start = found->first;
  *end = found->first + found->second.size;
  return true;
}

PinnedGuard::PinnedGuard(const void *address, uint64_t bytes) : lock_(ranges().mutex) {
  const auto found = rangeAround(address);
  held_ = found != ranges().by_start.cend() && toInteger(address) + bytes <= found->first + found->second.size;
}

void pinnedMemoryAtFork(Fork stage) { atFork(ranges().mutex, stage); }

void releasePinnedMemory() {
  std::unique_lock<std::shared_mutex> lock(ranges().mutex);
  for (const auto &[start, range] : ranges().by_start) {
    if (!range.allocated) continue;
    std::free(reinterpret_cast<void *>(start));
    simCount(SIM_HOST_MEMORY, -1);
  }
  ranges().by_start.clear();
  memory_generation.fetch_add(1);
}

}  // namespace sim

aclError aclrtMallocHost(void **hostPtr, size_t size) {
  SIM_ENTER(aclrtMallocHost);
  return mallocHost(__func__, hostPtr, size);
}

aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size, aclrtMallocConfig *cfg) {
  SIM_ENTER(aclrtMallocHostWithCfg);
  SIM_TRY(checkConfig(__func__, cfg));
  return mallocHost(__func__, ptr, size);
}

aclError aclrtFreeHost(void *hostPtr) {
  SIM_ENTER(aclrtFreeHost);
  return freeHost(__func__, hostPtr);
}

aclError aclrtFreeHostWithDevSync(void *hostPtr) {
  SIM_ENTER(aclrtFreeHostWithDevSync);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(hostPtr);
  const aclError waited = synchronizeContext(__func__, forever());
  const aclError freed = freeHost(__func__, hostPtr);
  return waited != ACL_SUCCESS ? waited : freed;
}

aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr) {
  SIM_ENTER(aclrtHostRegister);
  SIM_REQUIRE_POINTER(devPtr);
  if (type != ACL_HOST_REGISTER_MAPPED) return badValue(__func__, "type", type, "ACL_HOST_REGISTER_MAPPED");
  if (toInteger(ptr) % kHostPage != 0) {
    return simFail(ACL_ERROR_RT_ADDR_UNALIGNED, "EE1001", "%s: ptr %p is not aligned to 4 KiB", __func__, ptr);
  }
  SIM_TRY(registerHost(__func__, ptr, size, true));
  *devPtr = ptr;
  return ACL_SUCCESS;
}

aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag) {
  SIM_ENTER(aclrtHostRegisterV2);
  if (flag == 0 || (flag & ~kRegisterFlags) != 0) return badValue(__func__, "flag", flag, "ACL_HOST_REG_* flags");
  return registerHost(__func__, ptr, size, (flag & ACL_HOST_REG_MAPPED) != 0);
}

aclError aclrtHostUnregister(void *ptr) {
  SIM_ENTER(aclrtHostUnregister);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(ptr);
  std::unique_lock<std::shared_mutex> lock(ranges().mutex);
  const auto found = ranges().by_start.find(toInteger(ptr));
  if (found == ranges().by_start.end() || found->second.allocated) {
    return simFail(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "EE1001", "%s: ptr %p is not the start of a registered range",
                   __func__, ptr);
  }
  ranges().by_start.erase(found);
  memory_generation.fetch_add(1);
  return ACL_SUCCESS;
}

aclError aclrtHostGetDevicePointer(void *pHost, void **pDevice, uint32_t flag) {
  SIM_ENTER(aclrtHostGetDevicePointer);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(pHost);
  SIM_REQUIRE_POINTER(pDevice);
  if (flag != 0) return badValue(__func__, "flag", flag, "0");
  uint64_t start = 0;
  uint64_t end = 0;
  if (!mappedRange(pHost, &start, &end)) {
    return simFail(ACL_ERROR_HOST_MEMORY_NOT_REGISTERED, "EE1001", "%s: pHost %p is not in a mapped registered range",
                   __func__, pHost);
  }
  *pDevice = pHost;
  return ACL_SUCCESS;
}
