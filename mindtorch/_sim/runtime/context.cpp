// Contexts, the calling thread's current one, and the parameters that are kept per context or per process.
#include "capture.h"
#include "stream.h"

namespace sim {

namespace {

constexpr uint32_t kContexts = 4096;

std::map<aclSysParamOpt, int64_t> &processParams() {
  // Determinism has a value from the start: torch_npu reads it before it sets any.
  static auto &params = *new std::map<aclSysParamOpt, int64_t>{{ACL_OPT_DETERMINISTIC, 0}};
  return params;
}

aclError checkOption(const char *function, aclSysParamOpt opt) {
  if (opt <= ACL_OPT_ENABLE_KERNEL_EARLY_START) return ACL_SUCCESS;
  return badValue(function, "opt", opt, "a member of aclSysParamOpt");
}

aclError getParam(const char *function, const std::map<aclSysParamOpt, int64_t> &params, aclSysParamOpt opt,
                  int64_t *value) {
  const auto found = params.find(opt);
  if (found == params.end()) {
    return simFail(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "EE1001", "%s: opt %d was never set", function,
                   static_cast<int>(opt));
  }
  *value = found->second;
  return ACL_SUCCESS;
}

}  // namespace

HandleTable<Context> &contexts() {
  static HandleTable<Context> &table = *new HandleTable<Context>(kContexts);
  return table;
}

void contextsAtFork(Fork stage) { contexts().atFork(stage); }

void makeCurrent(Context *context) {
  thread_state.context = context;
  thread_state.context_id = context == nullptr ? 0 : context->id.load(std::memory_order_acquire);
}

Context *contextOrDefault() {
  if (Context *context = currentContext()) return context;
  Device *device = findDevice(defaultDevice());
  if (device == nullptr || retainDevice(*device) != ACL_SUCCESS) return nullptr;
  return currentContext();
}

aclError noContext(const char *function) {
  if (isForkedChild()) return noDevices(function);
  return simFail(ACL_ERROR_RT_CONTEXT_NULL, "EE1001",
                 "%s: the calling thread has no context; call aclrtSetDevice or aclrtSetCurrentContext in it",
                 function);
}

Context *openContext(Device &device, bool primary) {
  static std::atomic<uint64_t> ids{0};
  if (device.streams.load() >= kStreamsPerDevice) return nullptr;
  Context *context = contexts().take();
  if (context == nullptr) return nullptr;
  Stream *stream = streams().take();
  if (stream == nullptr) {
    contexts().release(context);
    return nullptr;
  }
  stream->open(context, 0, 0);
  streams().publish(stream);
  device.streams.fetch_add(1);
  context->device = &device;
  context->primary = primary;
  context->stopped = false;
  context->default_stream = stream;
  context->streams = {stream};
  context->sys_params.clear();
  context->id.store(++ids, std::memory_order_release);
  contexts().publish(context);
  simCount(SIM_CONTEXT, 1);
  return context;
}

void closeContext(Context *context) {
  discardCaptures(*context);
  std::vector<Stream *> closing;
  {
    std::lock_guard<std::mutex> lock(lifecycleMutex());
    if (!contexts().retire(context)) return;
    context->id.store(0, std::memory_order_release);
    closing.swap(context->streams);
  }
  for (Stream *stream : closing) {
    if (!streams().retire(stream)) continue;
    if (stream != context->default_stream) simCount(SIM_STREAM, -1);
    context->device->streams.fetch_sub(1);
    stream->close(true);
  }
  simCount(SIM_CONTEXT, -1);
  contexts().release(context);
}

}  // namespace sim

using namespace sim;

aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId) {
  SIM_ENTER(aclrtCreateContext);
  SIM_REQUIRE_POINTER(context);
  SIM_REQUIRE_DEVICE(device, deviceId);
  std::lock_guard<std::mutex> lock(lifecycleMutex());
  if (!device->memory.open(config().memory_bytes)) return noAddressRange(__func__);
  Context *created = openContext(*device, false);
  if (created == nullptr) {
    return simFail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "EE1001", "%s: device %d has no stream left for another context",
                   __func__, deviceId);
  }
  makeCurrent(created);
  *context = created;
  return ACL_SUCCESS;
}

aclError aclrtDestroyContext(aclrtContext context) {
  SIM_ENTER(aclrtDestroyContext);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(context);
  Context *found = contexts().find(context);
  if (found == nullptr) return badHandle(__func__, "context", context);
  if (found->primary) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001",
                   "%s: a device's default context is destroyed by aclrtResetDevice only", __func__);
  }
  closeContext(found);
  return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext context) {
  SIM_ENTER(aclrtSetCurrentContext);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(context);
  Context *found = contexts().find(context);
  if (found == nullptr) return badHandle(__func__, "context", context);
  makeCurrent(found);
  return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext *context) {
  SIM_ENTER(aclrtGetCurrentContext);
  SIM_REQUIRE_POINTER(context);
  SIM_REQUIRE_CONTEXT(current);
  *context = current;
  return ACL_SUCCESS;
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream *stream) {
  SIM_ENTER(aclrtCtxGetCurrentDefaultStream);
  SIM_REQUIRE_POINTER(stream);
  SIM_REQUIRE_CONTEXT(context);
  *stream = context->default_stream;
  return ACL_SUCCESS;
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags, int32_t *active) {
  SIM_ENTER(aclrtGetPrimaryCtxState);
  SIM_REQUIRE_DEVICE(device, deviceId);
  SIM_REQUIRE_POINTER(active);
  std::lock_guard<std::mutex> lock(lifecycleMutex());
  if (flags != nullptr) *flags = 0;
  *active = device->primary == nullptr ? 0 : 1;
  return ACL_SUCCESS;
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value) {
  SIM_ENTER(aclrtCtxGetSysParamOpt);
  SIM_REQUIRE_POINTER(value);
  SIM_REQUIRE_CONTEXT(context);
  SIM_TRY(checkOption(__func__, opt));
  std::lock_guard<std::mutex> lock(lifecycleMutex());
  return getParam(__func__, context->sys_params, opt, value);
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  SIM_ENTER(aclrtCtxSetSysParamOpt);
  SIM_REQUIRE_CONTEXT(context);
  SIM_TRY(checkOption(__func__, opt));
  std::lock_guard<std::mutex> lock(lifecycleMutex());
  context->sys_params[opt] = value;
  return ACL_SUCCESS;
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value) {
  SIM_ENTER(aclrtGetSysParamOpt);
  SIM_REQUIRE_POINTER(value);
  SIM_TRY(checkOption(__func__, opt));
  std::lock_guard<std::mutex> lock(lifecycleMutex());
  return getParam(__func__, processParams(), opt, value);
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  SIM_ENTER(aclrtSetSysParamOpt);
  SIM_TRY(checkOption(__func__, opt));
  std::lock_guard<std::mutex> lock(lifecycleMutex());
  processParams()[opt] = value;
  return ACL_SUCCESS;
}
