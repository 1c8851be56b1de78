// Devices: choosing and giving back, waiting, what they are, peers, and their faults.
#include <cstring>

#include "capture.h"
#include "stream.h"

namespace sim {

namespace {

struct Devices {
  Device all[kMaxDevices];
  Devices() {
    for (int32_t id = 0; id < kMaxDevices; ++id) all[id].id = id;
  }
};

// The end of a device: its contexts with their streams, then what was made on it.
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

Device *deviceOrNull(int32_t id) { return id >= 0 && id < deviceCount() ? &device(id) : nullptr; }

aclError badDevice(const char *function, int64_t id) {
  return simFail(ACL_ERROR_RT_INVALID_DEVICEID, "EE1001", "%s: device %lld does not exist, there are %d", function,
                 static_cast<long long>(id), deviceCount());
}

aclError noAddresses(const char *function) {
  return simFail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "EL9999",
                 "%s: the host has no address range for %llu bytes of simulated memory; lower MINDTORCH_SIM_MEMORY",
                 function, static_cast<unsigned long long>(config().memory_bytes));
}

void armDevice(int32_t id, aclError code) {
  if (Device *found = deviceOrNull(id)) found->arm(code);
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

// One more user of the device; its default context becomes the calling thread's.
aclError retainDevice(Device &device) {
  std::lock_guard<std::mutex> lock(lifecycleMutex());
  if (!device.memory.open(config().memory_bytes)) return noAddresses("aclrtSetDevice");
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
  Device *device = deviceOrNull(deviceId);
  return device == nullptr ? badDevice(__func__, deviceId) : retainDevice(*device);
}

aclError aclrtResetDevice(int32_t deviceId) {
  SIM_ENTER(aclrtResetDevice);
  SIM_REQUIRE_DEVICES();
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
  SIM_REQUIRE_DEVICES();
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
  if (deviceOrNull(deviceId) == nullptr) return badDevice(__func__, deviceId);
  if (deviceOrNull(peerDeviceId) == nullptr) return badDevice(__func__, peerDeviceId);
  if (deviceId == peerDeviceId) return badValue(__func__, "peerDeviceId", peerDeviceId, "another device");
  *canAccessPeer = 1;
  return ACL_SUCCESS;
}

namespace {

// The current device and a peer that is another one.
aclError resolvePeer(const char *function, int32_t peer, Device **own) {
  Context *context = contextOrDefault();
  if (context == nullptr) return noContext(function);
  if (deviceOrNull(peer) == nullptr) return badDevice(function, peer);
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
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(status);
  SIM_REQUIRE_DEVICE(own, deviceId);
  if (deviceOrNull(peerDeviceId) == nullptr) return badDevice(__func__, peerDeviceId);
  *status = (own->peers.load() >> peerDeviceId & 1) != 0 ? 1 : 0;
  return ACL_SUCCESS;
}
