// The functions of the C API on streams.
#include <climits>

#include "capture.h"
#include "stream.h"

namespace sim {

namespace {

constexpr uint32_t kKnownFlags = ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC | ACL_STREAM_PERSISTENT |
                                 ACL_STREAM_HUGE | ACL_STREAM_CPU_SCHEDULE | ACL_STREAM_DEVICE_USE_ONLY;
constexpr uint32_t kLeastPriority = 7;  // the greatest is 0

struct Timeouts {
  std::atomic<uint32_t> wait_seconds{0};          // 0: a task waits for ever
  std::atomic<uint64_t> execute_microseconds{0};  // 0: a kernel runs as long as it likes
};
Timeouts timeouts;
constexpr uint64_t kExecuteInterval = 1000000;  // granularity of the execution timeout, in microseconds

aclError createStream(const char *function, aclrtStream *stream, uint32_t priority, uint32_t flags) {
  if (stream == nullptr) return nullArgument(function, "stream");
  Context *context = contextOrDefault();
  if (context == nullptr) return noContext(function);
  if (priority > kLeastPriority) return badValue(function, "priority", priority, "0 to 7");
  if ((flags & ~kKnownFlags) != 0) return badValue(function, "flag", flags, "ACL_STREAM_* flags");
  std::lock_guard<std::mutex> lock(lifecycleMutex());
  Stream *created = context->device->streams.load() < kStreamsPerDevice ? streams().take() : nullptr;
  if (created == nullptr) {
    return simFail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "EE1001", "%s: all %d streams of device %d are in use", function,
                   kStreamsPerDevice, context->device->id);
  }
  created->open(context, priority, flags);
  context->streams.push_back(created);
  context->device->streams.fetch_add(1);
  streams().publish(created);
  simCount(SIM_STREAM, 1);
  *stream = created;
  return ACL_SUCCESS;
}

aclError destroyStream(const char *function, aclrtStream handle, bool force) {
  if (handle == nullptr) return nullArgument(function, "stream");
  Stream *stream = nullptr;
  SIM_TRY(resolveStream(function, handle, &stream));
  Context *context = stream->context();
  if (stream == context->default_stream) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: the default stream ends with its context only", function);
  }
  if (!force) {
    SIM_TRY(refuseCapturing(function, *stream));
  }
  abandonCaptures(*stream);
  // A fault of the device does not keep a stream from being destroyed.
  if (!force && (context->device->attention.load() & Device::kFaulted) == 0) {
    if (aclError error = stream->wait(function, forever()); error == ACL_ERROR_RT_STREAM_ABORT) return error;
  }
  {
    std::lock_guard<std::mutex> lock(lifecycleMutex());
    if (!streams().retire(stream)) return badHandle(function, "stream", handle);
    auto &all = context->streams;
    for (auto it = all.begin(); it != all.end(); ++it) {
      if (*it != stream) continue;
      all.erase(it);
      break;
    }
    context->device->streams.fetch_sub(1);
    simCount(SIM_STREAM, -1);
  }
  stream->close(false);
  return ACL_SUCCESS;
}

aclError synchronize(const char *function, aclrtStream handle, Clock::time_point end) {
  Stream *stream = nullptr;
  SIM_TRY(resolveStream(function, handle, &stream));
  SIM_TRY(refuseCapturing(function, *stream));
  return stream->wait(function, end);
}

}  // namespace

uint64_t opExecuteMicroseconds() { return timeouts.execute_microseconds.load(std::memory_order_relaxed); }
uint32_t opWaitSeconds() { return timeouts.wait_seconds.load(std::memory_order_relaxed); }

}  // namespace sim

using namespace sim;

aclError aclrtCreateStream(aclrtStream *stream) {
  SIM_ENTER(aclrtCreateStream);
  return createStream(__func__, stream, 0, 0);
}

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag) {
  SIM_ENTER(aclrtCreateStreamWithConfig);
  return createStream(__func__, stream, priority, flag);
}

aclError aclrtDestroyStream(aclrtStream stream) {
  SIM_ENTER(aclrtDestroyStream);
  return destroyStream(__func__, stream, false);
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  SIM_ENTER(aclrtDestroyStreamForce);
  return destroyStream(__func__, stream, true);
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  SIM_ENTER(aclrtSynchronizeStream);
  return synchronize(__func__, stream, forever());
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  SIM_ENTER(aclrtSynchronizeStreamWithTimeout);
  if (timeout < -1) return badValue(__func__, "timeout", timeout, "-1 or milliseconds");
  return synchronize(__func__, stream, afterMilliseconds(timeout));
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status) {
  SIM_ENTER(aclrtStreamQuery);
  SIM_REQUIRE_POINTER(status);
  SIM_REQUIRE_STREAM(found, stream);
  SIM_TRY(refuseCapturing(__func__, *found));
  SIM_TRY(found->device().check(__func__));
  *status = found->idle() || found->stores() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t *priority) {
  SIM_ENTER(aclrtStreamGetPriority);
  SIM_REQUIRE_POINTER(priority);
  SIM_REQUIRE_STREAM(found, stream);
  *priority = found->priority();
  return ACL_SUCCESS;
}

aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t *flags) {
  SIM_ENTER(aclrtStreamGetFlags);
  SIM_REQUIRE_POINTER(flags);
  SIM_REQUIRE_STREAM(found, stream);
  *flags = found->flags();
  return ACL_SUCCESS;
}

aclError aclrtStreamGetId(aclrtStream stream, int32_t *streamId) {
  SIM_ENTER(aclrtStreamGetId);
  SIM_REQUIRE_POINTER(streamId);
  SIM_REQUIRE_STREAM(found, stream);
  *streamId = static_cast<int32_t>(streams().indexOf(found));
  return ACL_SUCCESS;
}

aclError aclrtStreamAbort(aclrtStream stream) {
  SIM_ENTER(aclrtStreamAbort);
  SIM_REQUIRE_STREAM(found, stream);
  found->abort(spoil(*found, ACL_ERROR_RT_STREAM_ABORT));
  return ACL_SUCCESS;
}

namespace {

aclError setFailureMode(const char *function, Stream &stream, uint64_t mode) {
  constexpr uint64_t kStopOnFailure = 1;
  if (mode > kStopOnFailure) {
    return badValue(function, "mode", static_cast<int64_t>(mode), "ACL_CONTINUE_ON_FAILURE or ACL_STOP_ON_FAILURE");
  }
  if (stream.failure_mode_set.exchange(true) && stream.failure_mode.load() != mode) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: the failure mode of a stream can be set once", function);
  }
  stream.failure_mode.store(mode);
  return ACL_SUCCESS;
}

}  // namespace

aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
  SIM_ENTER(aclrtSetStreamFailureMode);
  SIM_REQUIRE_STREAM(found, stream);
  return setFailureMode(__func__, *found, mode);
}

aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value) {
  SIM_ENTER(aclrtSetStreamAttribute);
  SIM_REQUIRE_POINTER(value);
  SIM_REQUIRE_STREAM(found, stream);
  switch (stmAttrType) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
      return setFailureMode(__func__, *found, value->failureMode);
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
      found->overflow_switch = value->overflowSwitch;
      return ACL_SUCCESS;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
      found->custom_tag = value->userCustomTag;
      return ACL_SUCCESS;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
      found->cache_op_info = value->cacheOpInfoSwitch;
      return ACL_SUCCESS;
    default:
      return badValue(__func__, "stmAttrType", stmAttrType, "an attribute that can be set");
  }
}

aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType, aclrtStreamAttrValue *value) {
  SIM_ENTER(aclrtGetStreamAttribute);
  SIM_REQUIRE_POINTER(value);
  SIM_REQUIRE_STREAM(found, stream);
  switch (stmAttrType) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
      value->failureMode = found->failure_mode;
      return ACL_SUCCESS;
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
      value->overflowSwitch = found->overflow_switch;
      return ACL_SUCCESS;
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
      value->userCustomTag = found->custom_tag;
      return ACL_SUCCESS;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
      value->cacheOpInfoSwitch = found->cache_op_info;
      return ACL_SUCCESS;
    case ACL_STREAM_ATTR_PRIORITY:
      value->streamPriority = found->priority();
      return ACL_SUCCESS;
    default:
      return badValue(__func__, "stmAttrType", stmAttrType, "a member of aclrtStreamAttr");
  }
}

aclError aclrtGetStreamAvailableNum(uint32_t *streamCount) {
  SIM_ENTER(aclrtGetStreamAvailableNum);
  SIM_REQUIRE_POINTER(streamCount);
  SIM_REQUIRE_CONTEXT(context);
  *streamCount = static_cast<uint32_t>(kStreamsPerDevice - context->device->streams.load());
  return ACL_SUCCESS;
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t *leastPriority, int32_t *greatestPriority) {
  SIM_ENTER(aclrtDeviceGetStreamPriorityRange);
  SIM_REQUIRE_DEVICES();
  if (leastPriority != nullptr) *leastPriority = kLeastPriority;
  if (greatestPriority != nullptr) *greatestPriority = 0;
  return ACL_SUCCESS;
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  SIM_ENTER(aclrtSetOpWaitTimeout);
  if (contextOrDefault() == nullptr) return noContext(__func__);
  timeouts.wait_seconds.store(timeout);
  return ACL_SUCCESS;
}

aclError aclrtSetOpExecuteTimeOut(uint32_t timeout) {
  SIM_ENTER(aclrtSetOpExecuteTimeOut);
  if (contextOrDefault() == nullptr) return noContext(__func__);
  timeouts.execute_microseconds.store(uint64_t{timeout} * 1000000);
  return ACL_SUCCESS;
}

aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout) {
  SIM_ENTER(aclrtSetOpExecuteTimeOutWithMs);
  if (contextOrDefault() == nullptr) return noContext(__func__);
  timeouts.execute_microseconds.store(uint64_t{timeout} * 1000);
  return ACL_SUCCESS;
}

aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout) {
  SIM_ENTER(aclrtSetOpExecuteTimeOutV2);
  SIM_REQUIRE_POINTER(actualTimeout);
  if (contextOrDefault() == nullptr) return noContext(__func__);
  const uint64_t steps = timeout / kExecuteInterval + (timeout % kExecuteInterval == 0 ? 0 : 1);
  *actualTimeout = steps > UINT64_MAX / kExecuteInterval ? UINT64_MAX : steps * kExecuteInterval;
  timeouts.execute_microseconds.store(*actualTimeout);
  return ACL_SUCCESS;
}

aclError aclrtGetOpTimeOutInterval(uint64_t *interval) {
  SIM_ENTER(aclrtGetOpTimeOutInterval);
  SIM_REQUIRE_POINTER(interval);
  SIM_REQUIRE_DEVICES();
  *interval = kExecuteInterval;
  return ACL_SUCCESS;
}

aclError aclrtGetThreadLastTaskId(uint32_t *taskId) {
  SIM_ENTER(aclrtGetThreadLastTaskId);
  SIM_REQUIRE_POINTER(taskId);
  *taskId = thread_state.last_task;
  return ACL_SUCCESS;
}
