// Device memory: addresses that the host cannot read, and a second mapping of the same memory through which kernels and
// copies access it.
#ifndef MINDTORCH_SIM_RUNTIME_MEMORY_H_
#define MINDTORCH_SIM_RUNTIME_MEMORY_H_
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <shared_mutex>

#include "api.h"
#include "fork.h"
#include "sim.h"

namespace sim {

struct Device;

// First-fit allocator over [start, start + size). Released neighbours merge.
class RangeAllocator {
 public:
  void reset(uint64_t start, uint64_t size);
  bool allocate(uint64_t size, uint64_t alignment, uint64_t *start);
  void release(uint64_t start, uint64_t size);

 private:
  std::map<uint64_t, uint64_t> free_;  // start -> size
};

// Note [Address layout]: the device reserves addresses without access. aclrtMalloc returns addresses from a range of
// twice the capacity, so that fragmentation does not exhaust it. aclrtReserveMemAddress returns addresses from the
// range behind it, which is as large as the host allows. An alias of both ranges follows at the constant distance(). A
// sparse file of four times the capacity backs them: its first half backs the first range; its second half holds the
// memory of aclrtMallocPhysical, which aclrtMapMem maps into the alias of the second range. Use of memory is counted.
class DeviceMemory {
 public:
  struct Block {
    uint64_t end;        // one past what may be touched, the 32-byte tail included
    uint64_t requested;  // bytes asked for
    uint64_t charged;    // bytes taken off the free memory
  };
  struct Mapping {
    uint64_t size;
    void *physical;
    aclrtMemAccessFlags access;
  };

  bool open(uint64_t capacity);  // reserves the addresses, once
  void freeAll();                // blocks, mappings and reservations; the addresses stay reserved
  void atFork(Fork stage) { sim::atFork(mutex_, stage); }
  void forget();  // in a forked child, which does not inherit the mappings: open() reserves new addresses

  aclError allocate(const char *function, uint64_t size, bool with_tail, void **address);
  aclError release(const char *function, void *address);
  // Reserve capacity for physical memory; the offset is one of the file.
  bool takePhysical(uint64_t size, uint64_t *offset);
  void returnPhysical(uint64_t offset, uint64_t size);

  bool reserveAddresses(uint64_t size, void **address);
  aclError releaseAddresses(const char *function, void *address);
  aclError map(const char *function, void *address, uint64_t size, void *physical, uint64_t offset);
  aclError unmap(const char *function, void *address, void **physical);
  aclError setAccess(const char *function, void *address, uint64_t size, aclrtMemAccessFlags access);
  bool access(const void *address, aclrtMemAccessFlags *access);

  bool owns(const void *address) const;
  // The largest accessible range around `address`: a block, or adjacent mappings.
  bool extent(const void *address, uint64_t *start, uint64_t *end);
  // Start and requested size of the block, or of the mapping.
  bool block(const void *address, uint64_t *start, uint64_t *size);
  uint64_t distance() const { return (2 + virtual_factor_) * capacity_; }
  uint64_t capacity() const { return capacity_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  bool charge(uint64_t bytes);  // mutex held
  void releasePages(uint64_t offset, uint64_t size);
  void unmapAlias(uint64_t start, uint64_t size);
  bool extentOfMappings(uint64_t at, uint64_t *start, uint64_t *end) const;

  std::atomic<uint64_t> base_{0};  // 0 until opened
  uint64_t capacity_ = 0;
  uint64_t virtual_factor_ = 0;  // addresses to reserve, in multiples of the capacity
  int file_ = -1;
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> peak_{0};

  mutable std::shared_mutex mutex_;  // guards all below
  RangeAllocator addresses_;
  RangeAllocator virtual_addresses_;
  RangeAllocator physical_;
  std::map<uint64_t, Block> blocks_;                 // by start
  std::map<uint64_t, uint64_t> reservations_;        // start -> size
  std::map<uint64_t, Mapping> mappings_;             // by start
  std::deque<std::pair<uint64_t, uint64_t>> freed_;  // freed (start, size), not handed out again yet
};

// Bumped whenever an address stops being valid; see simDeviceMemory.
extern std::atomic<uint64_t> memory_generation;

// Where an address lies.
struct PointerInfo {
  enum Kind { kPageable, kPinned, kDevice, kInvalid } kind;
  Device *device;  // of kDevice
};
// kInvalid: device memory or pinned memory that [address, address + bytes) leaves, or that was freed.
PointerInfo pointerInfo(const void *address, uint64_t bytes);

}  // namespace sim
#endif
