// What a device is: its name, its sizes, its abilities.
#include <unistd.h>

#include <cstring>

#include "runtime.h"

using namespace sim;

namespace {

// An Ascend 910B1.
constexpr int64_t kCubeCores = 24;
constexpr int64_t kVectorCores = 48;
constexpr int64_t kAicpuCores = 6;
constexpr int64_t kL2Bytes = int64_t{192} << 20;
constexpr int64_t kUnifiedBufferBytes = int64_t{192} << 10;
constexpr int64_t kNpuArchitecture = 2201;

struct Attribute {
  aclrtDevAttr attr;
  int64_t value;
};
constexpr Attribute kAttributes[] = {
    {ACL_DEV_ATTR_AICPU_CORE_NUM, kAicpuCores},
    {ACL_DEV_ATTR_AICORE_CORE_NUM, kCubeCores},
    {ACL_DEV_ATTR_CUBE_CORE_NUM, kCubeCores},
    {ACL_DEV_ATTR_VECTOR_CORE_NUM, kVectorCores},
    {ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE, kUnifiedBufferBytes},
    {ACL_DEV_ATTR_L2_CACHE_SIZE, kL2Bytes},
    {ACL_DEV_ATTR_SMP_ID, 0},
    {ACL_DEV_ATTR_IS_VIRTUAL, 0},
    {ACL_DEV_ATTR_CUST_OP_PRIVILEGE, 0},
    {ACL_DEV_ATTR_NPU_ARCH, kNpuArchitecture},
};

constexpr aclCannAttr kCannAttributes[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16, ACL_CANN_ATTR_JIT_COMPILE};

}  // namespace

uint32_t sim::coreCount(aclrtDevResLimitType kind) {
  switch (kind) {
    case ACL_RT_DEV_RES_CUBE_CORE:
      return kCubeCores;
    case ACL_RT_DEV_RES_VECTOR_CORE:
      return kVectorCores;
    default:
      return 0;
  }
}

const char *aclrtGetSocName(void) {
  SIM_ENTER_VALUE(aclrtGetSocName, nullptr);
  return config().soc.c_str();
}

aclError aclrtGetRunMode(aclrtRunMode *runMode) {
  SIM_ENTER(aclrtGetRunMode);
  SIM_REQUIRE_POINTER(runMode);
  *runMode = ACL_HOST;
  return ACL_SUCCESS;
}

aclError aclGetCannAttributeList(const aclCannAttr **cannAttrList, size_t *num) {
  SIM_ENTER(aclGetCannAttributeList);
  SIM_REQUIRE_POINTER(cannAttrList);
  SIM_REQUIRE_POINTER(num);
  *cannAttrList = kCannAttributes;
  *num = sizeof kCannAttributes / sizeof *kCannAttributes;
  return ACL_SUCCESS;
}

aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t *value) {
  SIM_ENTER(aclGetCannAttribute);
  SIM_REQUIRE_POINTER(value);
  for (const aclCannAttr known : kCannAttributes) {
    if (cannAttr != known) continue;
    *value = 1;
    return ACL_SUCCESS;
  }
  return badValue(__func__, "cannAttr", cannAttr, "a member of aclCannAttr");
}

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t *value) {
  SIM_ENTER(aclGetDeviceCapability);
  SIM_REQUIRE_POINTER(value);
  if (deviceOrNull(static_cast<int32_t>(deviceId)) == nullptr) return badDevice(__func__, deviceId);
  switch (deviceInfo) {
    case ACL_DEVICE_INFO_AI_CORE_NUM:
      *value = kCubeCores;
      return ACL_SUCCESS;
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
      *value = kVectorCores;
      return ACL_SUCCESS;
    case ACL_DEVICE_INFO_L2_SIZE:
      *value = kL2Bytes;
      return ACL_SUCCESS;
    default:
      return badValue(__func__, "deviceInfo", deviceInfo, "a member of aclDeviceInfo");
  }
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t *value) {
  SIM_ENTER(aclrtGetDeviceInfo);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(value);
  SIM_REQUIRE_DEVICE(device, static_cast<int32_t>(deviceId));
  if (attr == ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE) {
    *value = static_cast<int64_t>(config().memory_bytes);
    return ACL_SUCCESS;
  }
  if (attr == ACL_DEV_ATTR_PHY_CHIP_ID) {
    *value = config().physical[deviceId];
    return ACL_SUCCESS;
  }
  for (const Attribute &known : kAttributes) {
    if (known.attr != attr) continue;
    *value = known.value;
    return ACL_SUCCESS;
  }
  return simFail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "EE1001", "%s: attr %d does not exist on this chip", __func__,
                 static_cast<int>(attr));
}

aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo *utilizationInfo) {
  SIM_ENTER(aclrtGetDeviceUtilizationRate);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(utilizationInfo);
  SIM_REQUIRE_DEVICE(device, deviceId);
  const uint64_t capacity = config().memory_bytes;
  utilizationInfo->cubeUtilization = 0;
  utilizationInfo->vectorUtilization = 0;
  utilizationInfo->aicpuUtilization = 0;
  utilizationInfo->memoryUtilization = static_cast<int32_t>(device->memory.used() * 100 / capacity);
  utilizationInfo->utilizationExtend = nullptr;
  return ACL_SUCCESS;
}

aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus *deviceStatus) {
  SIM_ENTER(aclrtQueryDeviceStatus);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(deviceStatus);
  SIM_REQUIRE_DEVICE(device, deviceId);
  const bool faulted = (device->attention.load() & Device::kFaulted) != 0;
  *deviceStatus = faulted ? ACL_RT_DEVICE_STATUS_ABNORMAL : ACL_RT_DEVICE_STATUS_NORMAL;
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceCapability(int32_t deviceId, aclrtDevFeatureType devFeatureType, int32_t *value) {
  SIM_ENTER(aclrtGetDeviceCapability);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(value);
  if (deviceOrNull(deviceId) == nullptr) return badDevice(__func__, deviceId);
  if (devFeatureType != ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV &&
      devFeatureType != ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV) {
    return badValue(__func__, "devFeatureType", devFeatureType, "a member of aclrtDevFeatureType");
  }
  *value = 0;
  return ACL_SUCCESS;
}

aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid *uuid) {
  SIM_ENTER(aclrtDeviceGetUuid);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(uuid);
  if (deviceOrNull(deviceId) == nullptr) return badDevice(__func__, deviceId);
  constexpr char kPrefix[] = "mindtorch-sim--";
  static_assert(sizeof kPrefix == sizeof uuid->bytes, "the last byte tells the devices apart");
  std::memcpy(uuid->bytes, kPrefix, sizeof kPrefix - 1);
  uuid->bytes[sizeof uuid->bytes - 1] = static_cast<char>(config().physical[static_cast<size_t>(deviceId)]);
  return ACL_SUCCESS;
}

aclError aclrtDeviceGetBareTgid(int32_t *pid) {
  SIM_ENTER(aclrtDeviceGetBareTgid);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(pid);
  *pid = static_cast<int32_t>(getpid());
  return ACL_SUCCESS;
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  SIM_ENTER(aclrtSetDeviceSatMode);
  SIM_REQUIRE_CONTEXT(context);
  if (mode >= ACL_RT_OVERFLOW_MODE_UNDEF) return badValue(__func__, "mode", mode, "SATURATION or INFNAN");
  context->device->saturation_mode = mode;
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode) {
  SIM_ENTER(aclrtGetDeviceSatMode);
  SIM_REQUIRE_POINTER(mode);
  SIM_REQUIRE_CONTEXT(context);
  *mode = static_cast<aclrtFloatOverflowMode>(context->device->saturation_mode.load());
  return ACL_SUCCESS;
}
