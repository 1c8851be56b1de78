// Pinned host memory: allocated by the runtime, or the program's own and registered.
#include "host_memory.h"

#include <cstdlib>
#include <map>
#include <shared_mutex>

#include "runtime.h"
#include "stream.h"

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

uint64_t toInteger(const void *address) { return reinterpret_cast<uint64_t>(address); }

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
  if (lostInFork()) return noDevices(function);
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

void carryPinnedMemoryOver(Fork stage) { carryOver(ranges().mutex, stage); }

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

using namespace sim;

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
  if (type != ACL_HOST_REGISTER_MAPPED) {
    return badValue(__func__, "type", type, "ACL_HOST_REGISTER_MAPPED");
  }
  if (toInteger(ptr) % kHostPage != 0) {
    return simFail(ACL_ERROR_RT_ADDR_UNALIGNED, "EE1001", "%s: ptr %p is not aligned to 4 KiB", __func__, ptr);
  }
  SIM_TRY(registerHost(__func__, ptr, size, true));
  *devPtr = ptr;
  return ACL_SUCCESS;
}

aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag) {
  SIM_ENTER(aclrtHostRegisterV2);
  if (flag == 0 || (flag & ~kRegisterFlags) != 0) {
    return badValue(__func__, "flag", flag, "ACL_HOST_REG_* flags");
  }
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
