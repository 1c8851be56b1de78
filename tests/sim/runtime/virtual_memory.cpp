// Reserved addresses, physical memory, mappings.
#include "../check.h"

namespace {

constexpr size_t kPage = size_t{2} << 20;
constexpr size_t kCapacity = size_t{64} << 20;

aclrtPhysicalMemProp properties(aclrtMemAttr attr = ACL_HBM_MEM_HUGE, uint32_t device = 0) {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = attr;
  prop.location = {device, ACL_MEM_LOCATION_TYPE_DEVICE};
  return prop;
}

size_t freeBytes() {
  size_t free = 0;
  size_t total = 0;
  CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  return free;
}

aclrtDrvMemHandle physical(size_t size) {
  aclrtDrvMemHandle handle = nullptr;
  const aclrtPhysicalMemProp prop = properties();
  CHECK_OK(aclrtMallocPhysical(&handle, size, &prop, 0));
  return handle;
}

char *at(void *address, size_t offset) { return static_cast<char *>(address) + offset; }

void testGranularity() {
  size_t unit = 0;
  aclrtPhysicalMemProp prop = properties();
  CHECK_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &unit));
  CHECK(unit == kPage);
  prop = properties(ACL_HBM_MEM_HUGE1G);
  CHECK_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED, &unit));
  CHECK(unit == size_t{1} << 30);
  prop = properties(ACL_HBM_MEM_HUGE, 9);
  CHECK_CODE(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &unit),
             ACL_ERROR_RT_INVALID_DEVICEID);
}

// A segment that grows page by page and is used as one piece.
void testGrowingSegment() {
  void *address = nullptr;
  CHECK_OK(aclrtReserveMemAddress(&address, 16 * kPage, 0, nullptr, 1));
  CHECK(freeBytes() == kCapacity);
  aclrtDrvMemHandle first = physical(kPage);
  aclrtDrvMemHandle second = physical(2 * kPage);
  CHECK(freeBytes() == kCapacity - 3 * kPage);
  CHECK_OK(aclrtMapMem(address, kPage, 0, first, 0));
  CHECK(simDeviceMemory(address, kPage + 1) == nullptr);
  CHECK_OK(aclrtMapMem(at(address, kPage), 2 * kPage, 0, second, 0));
  CHECK(simDeviceMemory(address, 3 * kPage) != nullptr);
  CHECK(simDeviceMemory(at(address, kPage - 8), 16) != nullptr);
  CHECK(simDeviceMemory(at(address, kPage), 2 * kPage + 1) == nullptr);

  const char text[] = "over the edge of two pages";
  char back[sizeof text] = "";
  void *edge = at(address, kPage - 10);
  CHECK_OK(aclrtMemcpy(edge, sizeof text, text, sizeof text, ACL_MEMCPY_HOST_TO_DEVICE));
  CHECK_OK(aclrtMemcpy(back, sizeof text, edge, sizeof text, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK(std::strcmp(text, back) == 0);
  void *base = nullptr;
  size_t size = 0;
  CHECK_OK(aclrtMemGetAddressRange(at(address, kPage + 5), &base, &size));
  CHECK(base == at(address, kPage) && size == 2 * kPage);

  CHECK_CODE(aclrtMapMem(at(address, kPage), kPage, 0, first, 0), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtReleaseMemAddress(address), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtFreePhysical(first));  // takes effect with the unmapping
  CHECK_CODE(aclrtFreePhysical(first), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK(freeBytes() == kCapacity - 3 * kPage);
  CHECK_OK(aclrtUnmapMem(address));
  CHECK(freeBytes() == kCapacity - 2 * kPage);
  CHECK(simDeviceMemory(address, 1) == nullptr && simDeviceMemory(at(address, kPage), 1) != nullptr);
  CHECK_CODE(aclrtUnmapMem(address), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtUnmapMem(at(address, kPage)));
  CHECK_OK(aclrtMapMem(address, 2 * kPage, 0, second, 0));  // mapped elsewhere, it keeps what it holds
  CHECK_OK(aclrtMemcpy(back, 4, address, 4, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK(std::memcmp(back, text + 10, 4) == 0);
  CHECK_OK(aclrtUnmapMem(address));
  CHECK_OK(aclrtFreePhysical(second));
  CHECK_OK(aclrtReleaseMemAddress(address));
  CHECK(freeBytes() == kCapacity && simLive(SIM_PHYSICAL_MEMORY) == 0 && simLive(SIM_RESERVED_ADDRESS) == 0);
}

void testRefusals() {
  void *address = nullptr;
  aclrtDrvMemHandle handle = nullptr;
  aclrtPhysicalMemProp prop = properties();
  CHECK_CODE(aclrtMallocPhysical(&handle, kPage + 4096, &prop, 0), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtMallocPhysical(&handle, 2 * kCapacity, &prop, 0), ACL_ERROR_RT_MEMORY_ALLOCATION);
  CHECK_CODE(aclrtReserveMemAddress(&address, 0, 0, nullptr, 0), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtReserveMemAddress(&address, kPage, 64, nullptr, 0), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtReserveMemAddress(&address, kPage, 0, &address, 0), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  CHECK_OK(aclrtReserveMemAddress(&address, kPage, 0, nullptr, 0));
  handle = physical(2 * kPage);
  CHECK_CODE(aclrtMapMem(address, kPage, 0, handle, 0), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtMapMem(address, 2 * kPage, 0, handle, 0), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtMapMem(&prop, 2 * kPage, 0, handle, 0), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtMapMem(address, kPage, 0, &prop, 0), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_CODE(aclrtReleaseMemAddress(at(address, 4096)), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtFreePhysical(handle));
  CHECK_OK(aclrtReleaseMemAddress(address));
  CHECK_CODE(aclrtReleaseMemAddress(address), ACL_ERROR_RT_PARAM_INVALID);
}

void testSharing() {
  uint64_t shared = 0;
  void *address = nullptr;
  int32_t pid = 1;
  aclrtDrvMemHandle imported = nullptr;
  aclrtDrvMemHandle handle = physical(kPage);
  CHECK_OK(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &shared));
  CHECK_OK(aclrtMemSetPidToShareableHandle(shared, &pid, 1));
  CHECK_OK(aclrtMemImportFromShareableHandle(shared, 0, &imported));
  CHECK_CODE(aclrtMemImportFromShareableHandle(shared + 1, 0, &imported), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_OK(aclrtFreePhysical(handle));
  CHECK(freeBytes() == kCapacity - kPage);
  CHECK_OK(aclrtReserveMemAddress(&address, kPage, 0, nullptr, 0));
  CHECK_OK(aclrtMapMem(address, kPage, 0, imported, 0));

  aclrtMemAccessDesc access{};
  access.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  access.flags = ACL_RT_MEM_ACCESS_FLAGS_NONE;
  uint64_t flags = 0;
  CHECK_OK(aclrtMemGetAccess(address, &access.location, &flags));
  CHECK(flags == ACL_RT_MEM_ACCESS_FLAGS_READWRITE);
  CHECK_OK(aclrtMemSetAccess(address, kPage, &access, 1));
  CHECK(simDeviceMemory(address, 1) == nullptr);
  access.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
  CHECK_OK(aclrtMemSetAccess(address, kPage, &access, 1));
  CHECK(simDeviceMemory(address, 1) != nullptr);
  CHECK_CODE(aclrtMemSetAccess(address, kPage / 2, &access, 1), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtUnmapMem(address));
  CHECK_OK(aclrtFreePhysical(imported));
  CHECK_OK(aclrtReleaseMemAddress(address));
  CHECK(freeBytes() == kCapacity);
}

// What is left when the device is reset goes with it.
void testReset() {
  void *address = nullptr;
  CHECK_OK(aclrtReserveMemAddress(&address, kPage, 0, nullptr, 0));
  CHECK_OK(aclrtMapMem(address, kPage, 0, physical(kPage), 0));
  CHECK_OK(aclrtResetDevice(0));
  CHECK(simLive(SIM_PHYSICAL_MEMORY) == 0 && simLive(SIM_RESERVED_ADDRESS) == 0);
  CHECK_OK(aclrtSetDevice(0));
  CHECK(freeBytes() == kCapacity);
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_MEMORY", "64MiB", 1);
  start();
  testGranularity();
  testGrowingSegment();
  testRefusals();
  testSharing();
  testReset();
  return finalizeAndCheckLive();
}
