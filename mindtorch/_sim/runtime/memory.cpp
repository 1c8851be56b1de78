// The functions of the C API on device memory, and what kind of memory an address is.
#include <cstring>

#include "host_memory.h"
#include "stream.h"

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
  if (lostInFork()) return noDevices(function);
  if (address == nullptr) return nullArgument(function, "devPtr");
  for (int32_t id = 0; id < deviceCount(); ++id) {
    if (device(id).memory.owns(address)) return device(id).memory.release(function, address);
  }
  return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: devPtr %p is not device memory", function, address);
}

aclError requireDeviceRange(const char *function, const void *address, size_t size) {
  if (contextOrDefault() == nullptr) return noContext(function);
  if (address == nullptr) return nullArgument(function, "devPtr");
  if (placeOf(address, size).kind == Place::kDevice) return ACL_SUCCESS;
  return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: [%p, +%zu) is not inside one live block", function, address,
                 size);
}

}  // namespace

Place placeOf(const void *address, uint64_t bytes) {
  for (int32_t id = 0; id < deviceCount(); ++id) {
    if (!device(id).memory.owns(address)) continue;
    const bool live = simDeviceMemory(address, bytes) != nullptr;
    return {live ? Place::kDevice : Place::kInvalid, &device(id)};
  }
  uint64_t start = 0;
  uint64_t size = 0;
  if (!pinnedRange(address, &start, &size)) return {Place::kPageable, nullptr};
  const bool inside = bytes <= start + size - reinterpret_cast<uint64_t>(address);
  return {inside ? Place::kPinned : Place::kInvalid, nullptr};
}

}  // namespace sim

using namespace sim;

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
  SIM_REQUIRE_DEVICES();
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
  const Place place = placeOf(ptr, 1);
  *attributes = aclrtPtrAttributes{};
  attributes->location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
  attributes->pageSize = 4096;
  if (place.kind == Place::kPinned) attributes->location.type = ACL_MEM_LOCATION_TYPE_HOST;
  if (place.kind == Place::kDevice) {
    attributes->location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    attributes->location.id = static_cast<uint32_t>(place.device->id);
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
  for (uint32_t i = 0; i < size && all; ++i) all = placeOf(addrList[i], 1).kind == Place::kDevice;
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
