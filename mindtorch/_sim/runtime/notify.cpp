// Notifies: a flag that one record raises and one wait takes down.
#include "stream.h"

namespace sim {

namespace {

// Shared with the tasks that use it, so that a notify may be destroyed while they are queued.
struct Flag {
  bool raised = false;  // guarded by signal()
};

struct Notify {
  Device *device = nullptr;
  std::shared_ptr<Flag> flag;
};

constexpr uint64_t kDeviceUseOnly = 1;  // ACL_NOTIFY_DEVICE_USE_ONLY

HandleTable<Notify> &notifies() {
  static HandleTable<Notify> &table = *new HandleTable<Notify>(kMaxDevices * kNotifiesPerDevice);
  return table;
}

void closeNotify(Notify *notify) {
  notify->device->notifies.fetch_sub(1);
  notify->flag.reset();
  notifies().release(notify);
  simCount(SIM_NOTIFY, -1);
}

aclError resolveNotify(const char *function, aclrtNotify handle, Notify **notify) {
  if (handle == nullptr) return nullArgument(function, "notify");
  *notify = notifies().find(handle);
  return *notify == nullptr ? badHandle(function, "notify", handle) : ACL_SUCCESS;
}

aclError waitNotify(const char *function, Stream &stream, const std::shared_ptr<Flag> &flag, uint32_t seconds) {
  return submitWork(stream, function, [=]() -> aclError {
    const auto take = [&] {  // called with the lock of signal() held, so that one record ends one wait
      const bool raised = flag->raised;
      flag->raised = false;
      return raised;
    };
    bool taken = false;
    const bool in_time = signal().wait(afterSeconds(seconds), [&] {
      taken = taken || take();
      return taken || running_stream->cancelled();
    });
    if (in_time) return ACL_SUCCESS;
    return simFail(ACL_ERROR_RT_WAIT_TIMEOUT, "EE9999", "%s: the notify was not recorded in time", function);
  });
}

}  // namespace

void carryNotifiesOver(Fork stage) { notifies().carryOver(stage); }

void releaseNotifies(const Device *device) {
  notifies().forEachLive([&](Notify *notify) {
    if (notify->device == device && notifies().retire(notify)) closeNotify(notify);
  });
}

}  // namespace sim

using namespace sim;

aclError aclrtCreateNotify(aclrtNotify *notify, uint64_t flag) {
  SIM_ENTER(aclrtCreateNotify);
  SIM_REQUIRE_POINTER(notify);
  SIM_REQUIRE_CONTEXT(context);
  if (flag > kDeviceUseOnly) return badValue(__func__, "flag", static_cast<int64_t>(flag), "0 or 1");
  Device &device = *context->device;
  Notify *created = device.notifies.load() < kNotifiesPerDevice ? notifies().take() : nullptr;
  if (created == nullptr) {
    return simFail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "EE1001", "%s: all %d notifies of device %d are in use", __func__,
                   kNotifiesPerDevice, device.id);
  }
  created->device = &device;
  created->flag = std::make_shared<Flag>();
  device.notifies.fetch_add(1);
  notifies().publish(created);
  simCount(SIM_NOTIFY, 1);
  *notify = created;
  return ACL_SUCCESS;
}

aclError aclrtDestroyNotify(aclrtNotify notify) {
  SIM_ENTER(aclrtDestroyNotify);
  SIM_REQUIRE_DEVICES();
  SIM_RESOLVE(Notify, found, resolveNotify, notify);
  if (!notifies().retire(found)) return badHandle(__func__, "notify", notify);
  closeNotify(found);
  return ACL_SUCCESS;
}

aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream) {
  SIM_ENTER(aclrtRecordNotify);
  SIM_REQUIRE_STREAM(found_stream, stream);
  SIM_RESOLVE(Notify, found, resolveNotify, notify);
  SIM_TRY(found_stream->device().check(__func__));
  return submitWork(*found_stream, __func__, [flag = found->flag]() -> aclError {
    signal().raise([&] { flag->raised = true; });
    return ACL_SUCCESS;
  });
}

aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout) {
  SIM_ENTER(aclrtWaitAndResetNotify);
  SIM_REQUIRE_STREAM(found_stream, stream);
  SIM_RESOLVE(Notify, found, resolveNotify, notify);
  SIM_TRY(found_stream->device().check(__func__));
  return waitNotify(__func__, *found_stream, found->flag, timeout);
}

aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t *notifyId) {
  SIM_ENTER(aclrtGetNotifyId);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(notifyId);
  SIM_RESOLVE(Notify, found, resolveNotify, notify);
  *notifyId = notifies().indexOf(found);
  return ACL_SUCCESS;
}
