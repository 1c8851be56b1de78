// Virtual memory: reserved addresses, physical memory, and mappings of one into the other.
#include "runtime.h"

namespace sim {

namespace {

constexpr uint64_t kHugePage = uint64_t{2} << 20;  // a multiple of every host's page, so that normal memory has it too
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
  if (deviceOrNull(static_cast<int32_t>(prop->location.id)) == nullptr) return badDevice(function, prop->location.id);
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

void carryPhysicalMemoryOver(Fork stage) {
  if (stage == Fork::kBefore) handles().carryOver(stage);
  carryOver(shareables().mutex, stage);
  if (stage != Fork::kBefore) handles().carryOver(stage);
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

using namespace sim;

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
  if (deviceOrNull(deviceId) == nullptr) return badDevice(__func__, deviceId);
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
