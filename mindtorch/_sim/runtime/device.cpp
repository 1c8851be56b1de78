// Devices: choosing and giving back, waiting, faults, peers, attributes and core limits; and versions.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "capture.h"
#include "runtime.h"
#include "stream.h"

// Devices: choosing and giving back, waiting, what they are, peers, and their faults.

namespace sim {

namespace {

struct Devices {
  Device all[kMaxDevices];
  Devices() {
    for (int32_t id = 0; id < kMaxDevices; ++id) all[id].id = id;
  }
};

// Destroys the contexts of a device with their streams, then everything that was created on it.
void releaseDevice(Device &device) {
  std::vector<Context *> closing;
  {
    std::lock_guard<std::mutex> lock(lifecycleMutex());
    contexts().forEachLive([&](Context *context) {
      if (context->device == &device) closing.push_back(context);
    });
    device.primary = nullptr;
    device.set_count = 0;
  }
  for (Context *context : closing) closeContext(context);
  releaseGraphs(&device);
  releaseEvents(&device);
  releaseNotifies(&device);
  device.memory.freeAll();
  releasePhysicalMemory(device);
  device.peers.store(0);
  for (auto &limit : device.core_limits) limit = 0;
  device.clearFault();
}

}  // namespace

aclError synchronizeContext(const char *function, Clock::time_point end) {
  Context *context = contextOrDefault();
  if (context == nullptr) return noContext(function);
  SIM_TRY(refuseCapturing(function, *context));
  std::vector<Stream *> waiting;
  {
    std::lock_guard<std::mutex> lock(lifecycleMutex());
    waiting = context->streams;
  }
  for (Stream *stream : waiting) {
    if (streams().find(stream) == nullptr) continue;
    SIM_TRY(stream->wait(function, end));
  }
  return context->device->check(function);
}

std::mutex &lifecycleMutex() {
  static std::mutex &mutex = *new std::mutex;
  return mutex;
}

int32_t deviceCount() { return static_cast<int32_t>(config().physical.size()); }

Device &device(int32_t id) {
  static Devices &devices = *new Devices;
  return devices.all[id];
}

Device *findDevice(int32_t id) { return id >= 0 && id < deviceCount() ? &device(id) : nullptr; }

aclError badDevice(const char *function, int64_t id) {
  return simFail(ACL_ERROR_RT_INVALID_DEVICEID, "EE1001", "%s: device %lld does not exist, there are %d", function,
                 static_cast<long long>(id), deviceCount());
}

aclError noAddressRange(const char *function) {
  return simFail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "EL9999",
                 "%s: the host has no address range for %llu bytes of simulated memory; lower MINDTORCH_SIM_MEMORY",
                 function, static_cast<unsigned long long>(config().memory_bytes));
}

void armDevice(int32_t id, aclError code) {
  if (Device *found = findDevice(id)) found->arm(code);
}

void disarmDevices() {
  for (int32_t id = 0; id < kMaxDevices; ++id) device(id).arm(ACL_SUCCESS);
}

void Device::fail(aclError code, const std::string &text) {
  std::lock_guard<std::mutex> lock(fault_mutex_);
  if (fault_code_ != ACL_SUCCESS) return;
  fault_code_ = code;
  fault_text_ = text;
  attention.fetch_or(kFaulted, std::memory_order_release);
}

aclError Device::report(const char *function) {
  std::lock_guard<std::mutex> lock(fault_mutex_);
  return simFail(fault_code_, "EZ9999",
                 "%s: device %d is unusable until it is reset, because of an earlier task: %s (code %d)", function, id,
                 fault_text_.c_str(), fault_code_);
}

void Device::arm(aclError code) {
  std::lock_guard<std::mutex> lock(fault_mutex_);
  armed_code_ = code;
  if (code == ACL_SUCCESS) {
    attention.fetch_and(~kArmed);
  } else {
    attention.fetch_or(kArmed);
  }
}

aclError Device::takeArmed() {
  std::lock_guard<std::mutex> lock(fault_mutex_);
  attention.fetch_and(~kArmed);
  const aclError code = armed_code_;
  armed_code_ = ACL_SUCCESS;
  return code;
}

void Device::clearFault() {
  std::lock_guard<std::mutex> lock(fault_mutex_);
  fault_code_ = ACL_SUCCESS;
  fault_text_.clear();
  attention.fetch_and(~kFaulted);
}

// Increments the use count of the device and makes its default context current.
aclError retainDevice(Device &device) {
  std::lock_guard<std::mutex> lock(lifecycleMutex());
  if (!device.memory.open(config().memory_bytes)) return noAddressRange("aclrtSetDevice");
  if (device.primary == nullptr) {
    device.primary = openContext(device, true);
    if (device.primary == nullptr) {
      return simFail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "EE1001", "aclrtSetDevice: device %d has no stream left",
                     device.id);
    }
  }
  ++device.set_count;
  makeCurrent(device.primary);
  return ACL_SUCCESS;
}

void releaseAllDevices() {
  for (int32_t id = 0; id < deviceCount(); ++id) releaseDevice(device(id));
  forgetSubscriptions();
}

}  // namespace sim

using namespace sim;

aclError aclrtSetDevice(int32_t deviceId) {
  SIM_ENTER(aclrtSetDevice);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_SETTINGS();
  Device *device = findDevice(deviceId);
  return device == nullptr ? badDevice(__func__, deviceId) : retainDevice(*device);
}

aclError aclrtResetDevice(int32_t deviceId) {
  SIM_ENTER(aclrtResetDevice);
  SIM_REQUIRE_DEVICE(device, deviceId);
  {
    std::lock_guard<std::mutex> lock(lifecycleMutex());
    if (device->set_count == 0) {
      return simFail(ACL_ERROR_RT_CONTEXT_NULL, "EE1001", "%s: device %d is not set, or was reset already", __func__,
                     deviceId);
    }
    if (--device->set_count > 0) return ACL_SUCCESS;
  }
  releaseDevice(*device);
  return ACL_SUCCESS;
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  SIM_ENTER(aclrtResetDeviceForce);
  SIM_REQUIRE_DEVICE(device, deviceId);
  releaseDevice(*device);
  return ACL_SUCCESS;
}

aclError aclrtGetDevice(int32_t *deviceId) {
  SIM_ENTER(aclrtGetDevice);
  SIM_REQUIRE_POINTER(deviceId);
  SIM_REQUIRE_CONTEXT(context);
  *deviceId = context->device->id;
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceCount(uint32_t *count) {
  SIM_ENTER(aclrtGetDeviceCount);
  SIM_REQUIRE_SETTINGS();
  SIM_REQUIRE_POINTER(count);
  *count = static_cast<uint32_t>(deviceCount());
  return ACL_SUCCESS;
}

aclError aclrtSynchronizeDevice(void) {
  SIM_ENTER(aclrtSynchronizeDevice);
  return synchronizeContext(__func__, forever());
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  SIM_ENTER(aclrtSynchronizeDeviceWithTimeout);
  if (timeout < -1) return badValue(__func__, "timeout", timeout, "-1 or milliseconds");
  return synchronizeContext(__func__, afterMilliseconds(timeout));
}

aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout) {
  SIM_ENTER(aclrtDeviceTaskAbort);
  SIM_REQUIRE_DEVICES();
  (void)timeout;  // tasks end as soon as they are told
  SIM_REQUIRE_DEVICE(device, deviceId);
  std::vector<Stream *> aborting;
  streams().forEachLive([&](Stream *stream) {
    if (&stream->device() == device) aborting.push_back(stream);
  });
  for (Stream *stream : aborting) stream->abort(ACL_ERROR_RT_DEVICE_TASK_ABORT);
  return ACL_SUCCESS;
}

aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  SIM_ENTER(aclrtDeviceCanAccessPeer);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(canAccessPeer);
  if (findDevice(deviceId) == nullptr) return badDevice(__func__, deviceId);
  if (findDevice(peerDeviceId) == nullptr) return badDevice(__func__, peerDeviceId);
  if (deviceId == peerDeviceId) return badValue(__func__, "peerDeviceId", peerDeviceId, "another device");
  *canAccessPeer = 1;
  return ACL_SUCCESS;
}

namespace {

// The current device and a peer that is another one.
aclError resolvePeer(const char *function, int32_t peer, Device **own) {
  Context *context = contextOrDefault();
  if (context == nullptr) return noContext(function);
  if (findDevice(peer) == nullptr) return badDevice(function, peer);
  if (peer == context->device->id) return badValue(function, "peerDeviceId", peer, "another device");
  *own = context->device;
  return ACL_SUCCESS;
}

}  // namespace

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
  SIM_ENTER(aclrtDeviceEnablePeerAccess);
  if (flags != 0) return badValue(__func__, "flags", flags, "0");
  Device *own = nullptr;
  SIM_TRY(resolvePeer(__func__, peerDeviceId, &own));
  own->peers.fetch_or(uint64_t{1} << peerDeviceId);
  return ACL_SUCCESS;
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
  SIM_ENTER(aclrtDeviceDisablePeerAccess);
  Device *own = nullptr;
  SIM_TRY(resolvePeer(__func__, peerDeviceId, &own));
  own->peers.fetch_and(~(uint64_t{1} << peerDeviceId));
  return ACL_SUCCESS;
}

aclError aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId, int32_t *status) {
  SIM_ENTER(aclrtDevicePeerAccessStatus);
  SIM_REQUIRE_POINTER(status);
  SIM_REQUIRE_DEVICE(own, deviceId);
  if (findDevice(peerDeviceId) == nullptr) return badDevice(__func__, peerDeviceId);
  *status = (own->peers.load() >> peerDeviceId & 1) != 0 ? 1 : 0;
  return ACL_SUCCESS;
}

// Properties of a device.

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
  if (findDevice(static_cast<int32_t>(deviceId)) == nullptr) return badDevice(__func__, deviceId);
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
  if (findDevice(deviceId) == nullptr) return badDevice(__func__, deviceId);
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
  if (findDevice(deviceId) == nullptr) return badDevice(__func__, deviceId);
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

// Core limits of devices, streams and threads. They are stored only: the simulator uses the cores of the host.

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
  SIM_REQUIRE_DEVICE(device, deviceId);
  SIM_TRY(checkLimit(__func__, type, value));
  device->core_limits[type] = value;
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t *value) {
  SIM_ENTER(aclrtGetDeviceResLimit);
  SIM_REQUIRE_POINTER(value);
  SIM_REQUIRE_DEVICE(device, deviceId);
  SIM_TRY(checkLimit(__func__, type, 1));
  *value = limitOf(*device, type);
  return ACL_SUCCESS;
}

aclError aclrtResetDeviceResLimit(int32_t deviceId) {
  SIM_ENTER(aclrtResetDeviceResLimit);
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

// Versions: one CANN release for all packages that it is made of.

namespace {

struct Version {
  int32_t major;
  int32_t minor;
  int32_t patch;
};
constexpr Version kCann{8, 5, 0};
constexpr Version kDriver{25, 5, 0};
constexpr Version kInterface{1, 16, 0};  // of the ACL interface, which CANN 8.5.0 has

// Names of packages as their folders under share/info have them, with "_" for "-".
constexpr const char *kPackages[] = {
    "cann",       "runtime",     "compiler",    "toolkit",          "opp",        "opp_kernel", "hccl",
    "hcomm",      "metadef",     "opbase",      "ops_math",         "ops_nn",     "ops_cv",     "ops_transformer",
    "ops_legacy", "ge_compiler", "ge_executor", "bisheng_compiler", "asc_devkit", "oam_tools"};

const Version *versionOf(const char *package) {
  std::string name(package);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c == '-' ? '_' : std::tolower(c); });
  if (name == "driver") return &kDriver;
  const auto found = std::find(std::begin(kPackages), std::end(kPackages), name);
  return found == std::end(kPackages) ? nullptr : &kCann;
}

aclError unknownPackage(const char *function, const char *package) {
  return simFail(ACL_ERROR_INVALID_FILE, "EE1001", "%s: no package \"%s\" in this CANN", function, package);
}

}  // namespace

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion *version) {
  SIM_ENTER(aclsysGetCANNVersion);
  SIM_REQUIRE_POINTER(version);
  if (name > ACL_PKG_NAME_DRIVER) return badValue(__func__, "name", name, "a member of aclCANNPackageName");
  const Version &found = name == ACL_PKG_NAME_DRIVER ? kDriver : kCann;
  *version = aclCANNPackageVersion{};
  std::snprintf(version->version, sizeof version->version, "%d.%d.%d", found.major, found.minor, found.patch);
  std::snprintf(version->majorVersion, sizeof version->majorVersion, "%d", found.major);
  std::snprintf(version->minorVersion, sizeof version->minorVersion, "%d", found.minor);
  std::snprintf(version->releaseVersion, sizeof version->releaseVersion, "%d", found.patch);
  return ACL_SUCCESS;
}

aclError aclsysGetVersionStr(char *pkgName, char *versionStr) {
  SIM_ENTER(aclsysGetVersionStr);
  SIM_REQUIRE_POINTER(pkgName);
  SIM_REQUIRE_POINTER(versionStr);
  const Version *found = versionOf(pkgName);
  if (found == nullptr) return unknownPackage(__func__, pkgName);
  std::snprintf(versionStr, ACL_PKG_VERSION_MAX_SIZE, "%d.%d.%d", found->major, found->minor, found->patch);
  return ACL_SUCCESS;
}

aclError aclsysGetVersionNum(char *pkgName, int32_t *versionNum) {
  SIM_ENTER(aclsysGetVersionNum);
  SIM_REQUIRE_POINTER(pkgName);
  SIM_REQUIRE_POINTER(versionNum);
  const Version *found = versionOf(pkgName);
  if (found == nullptr) return unknownPackage(__func__, pkgName);
  *versionNum = found->major * 10000000 + found->minor * 100000 + found->patch * 1000;
  return ACL_SUCCESS;
}

aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion) {
  SIM_ENTER(aclrtGetVersion);
  SIM_REQUIRE_POINTER(majorVersion);
  SIM_REQUIRE_POINTER(minorVersion);
  SIM_REQUIRE_POINTER(patchVersion);
  *majorVersion = kInterface.major;
  *minorVersion = kInterface.minor;
  *patchVersion = kInterface.patch;
  return ACL_SUCCESS;
}

// Functions that the simulator does not support, and dumps, which can be switched on and off but write nothing.

namespace {

std::atomic<bool> dumping{false};

aclError noDeviceBinaries(const char *function) {
  return simFail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "EE1001",
                 "%s: the simulator has no processor for device binaries; its operators are in libopapi", function);
}

}  // namespace

aclError aclrtBinaryLoadFromData(const void *, size_t, const aclrtBinaryLoadOptions *, aclrtBinHandle *) {
  SIM_ENTER(aclrtBinaryLoadFromData);
  return noDeviceBinaries(__func__);
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle, const char *, aclrtFuncHandle *) {
  SIM_ENTER(aclrtBinaryGetFunction);
  return noDeviceBinaries(__func__);
}

aclError aclrtGetFunctionAddr(aclrtFuncHandle, void **, void **) {
  SIM_ENTER(aclrtGetFunctionAddr);
  return noDeviceBinaries(__func__);
}

aclError aclmdlInitDump(void) {
  SIM_ENTER(aclmdlInitDump);
  SIM_REQUIRE_DEVICES();
  if (!dumping.exchange(true)) return ACL_SUCCESS;
  return simFail(ACL_ERROR_DUMP_ALREADY_RUN, "EE1001", "%s: called before", __func__);
}

aclError aclmdlSetDump(const char *dumpCfgPath) {
  SIM_ENTER(aclmdlSetDump);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(dumpCfgPath);
  if (!dumping) return simFail(ACL_ERROR_DUMP_NOT_RUN, "EE1001", "%s: aclmdlInitDump was not called", __func__);
  if (std::ifstream(dumpCfgPath)) return ACL_SUCCESS;
  return simFail(ACL_ERROR_INVALID_DUMP_CONFIG, "EE1001", "%s: dumpCfgPath \"%s\" cannot be read", __func__,
                 dumpCfgPath);
}

aclError aclmdlFinalizeDump(void) {
  SIM_ENTER(aclmdlFinalizeDump);
  SIM_REQUIRE_DEVICES();
  if (dumping.exchange(false)) return ACL_SUCCESS;
  return simFail(ACL_ERROR_DUMP_NOT_RUN, "EE1001", "%s: aclmdlInitDump was not called", __func__);
}
