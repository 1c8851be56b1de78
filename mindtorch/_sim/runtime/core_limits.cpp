// How many cores operators may use: of a device, of a stream, of the calling thread. The numbers are kept, and the
// simulator's operators run on the host's cores all the same.
#include "runtime.h"
#include "stream.h"

using namespace sim;

namespace {

thread_local uint32_t thread_limits[kCoreKinds];  // 0: what the device has

aclError checkLimit(const char *function, aclrtDevResLimitType type, uint32_t value) {
  const uint32_t cores = coreCount(type);
  if (cores == 0) return badValue(function, "type", type, "a member of aclrtDevResLimitType");
  return value >= 1 && value <= cores ? ACL_SUCCESS : badValue(function, "value", value, "1 to the chip's cores");
}

uint32_t limitOf(const Device &device, aclrtDevResLimitType type) {
  const uint32_t limit = device.core_limits[type];
  return limit != 0 ? limit : coreCount(type);
}

}  // namespace

aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
  SIM_ENTER(aclrtSetDeviceResLimit);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_DEVICE(device, deviceId);
  SIM_TRY(checkLimit(__func__, type, value));
  device->core_limits[type] = value;
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t *value) {
  SIM_ENTER(aclrtGetDeviceResLimit);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(value);
  SIM_REQUIRE_DEVICE(device, deviceId);
  SIM_TRY(checkLimit(__func__, type, 1));
  *value = limitOf(*device, type);
  return ACL_SUCCESS;
}

aclError aclrtResetDeviceResLimit(int32_t deviceId) {
  SIM_ENTER(aclrtResetDeviceResLimit);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_DEVICE(device, deviceId);
  for (auto &limit : device->core_limits) limit = 0;
  return ACL_SUCCESS;
}

aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value) {
  SIM_ENTER(aclrtSetStreamResLimit);
  SIM_REQUIRE_STREAM(found, stream);
  SIM_TRY(checkLimit(__func__, type, value));
  found->core_limits[type] = value;
  return ACL_SUCCESS;
}

aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t *value) {
  SIM_ENTER(aclrtGetStreamResLimit);
  SIM_REQUIRE_POINTER(value);
  SIM_REQUIRE_STREAM(found, stream);
  SIM_TRY(checkLimit(__func__, type, 1));
  const uint32_t limit = found->core_limits[type];
  *value = limit != 0 ? limit : limitOf(found->device(), type);
  return ACL_SUCCESS;
}

aclError aclrtResetStreamResLimit(aclrtStream stream) {
  SIM_ENTER(aclrtResetStreamResLimit);
  SIM_REQUIRE_STREAM(found, stream);
  for (auto &limit : found->core_limits) limit = 0;
  return ACL_SUCCESS;
}

aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
  SIM_ENTER(aclrtUseStreamResInCurrentThread);
  SIM_REQUIRE_STREAM(found, stream);
  for (int kind = 0; kind < kCoreKinds; ++kind) thread_limits[kind] = found->core_limits[kind];
  return ACL_SUCCESS;
}

aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
  SIM_ENTER(aclrtUnuseStreamResInCurrentThread);
  SIM_REQUIRE_STREAM(found, stream);
  for (uint32_t &limit : thread_limits) limit = 0;
  return ACL_SUCCESS;
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value) {
  SIM_ENTER(aclrtGetResInCurrentThread);
  SIM_REQUIRE_POINTER(value);
  SIM_REQUIRE_CONTEXT(context);
  SIM_TRY(checkLimit(__func__, type, 1));
  *value = thread_limits[type] != 0 ? thread_limits[type] : limitOf(*context->device, type);
  return ACL_SUCCESS;
}
