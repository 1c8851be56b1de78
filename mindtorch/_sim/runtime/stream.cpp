// Streams: the task queue and its thread, kernel launches.
#include "stream.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <deque>
#include <map>
#include <system_error>
#include <thread>

#include "capture.h"

namespace sim {

HandleTable<Stream> &streams() {
  static HandleTable<Stream> &table = *new HandleTable<Stream>(kMaxDevices * kStreamsPerDevice);
  return table;
}

void streamsAtFork(Fork stage) { streams().atFork(stage); }

void Stream::open(Context *context, uint32_t priority, uint32_t flags) {
  std::lock_guard<std::mutex> lock(mutex_);
  context_ = context;
  priority_ = priority;
  flags_ = flags;
  storing = false;
  failure_mode = 0;
  failure_mode_set = false;
  overflow_switch = custom_tag = cache_op_info = 0;
  subscriber = 0;
  for (auto &limit : core_limits) limit = 0;
  submitted_ = completed_ = aborts_ = 0;
  due_ = 0;
  under_way_.clear();
  closing_ = false;
  users_ = 1;
}

void Stream::addDeviceTime(int64_t nanoseconds) {
  if (nanoseconds == 0) return;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    const int64_t now = nanosecondsOf(Clock::now());
    while (!under_way_.empty() && under_way_.front() <= now) under_way_.pop_front();
    if (under_way_.size() < config().cost.queue_depth) {
      due_ = std::max(now, due()) + nanoseconds;
      under_way_.push_back(due());
      return;
    }
    const int64_t slot_free = under_way_.front();
    lock.unlock();
    pauseUntilDue(slot_free, forever());
    lock.lock();
  }
}

void Stream::startAfter(int64_t due) {
  if (due == 0) return;
  std::lock_guard<std::mutex> lock(mutex_);
  due_ = std::max(this->due(), due);
}

aclError Stream::submit(const char *function, const SimTask &task, uint64_t *ticket) {
  if (storing.load(std::memory_order_acquire)) {
    aclError error = ACL_SUCCESS;
    if (storeTask(function, *this, task, &error)) return error;
  }
  if (!stores()) addDeviceTime(task.device_ns);
  std::unique_lock<std::mutex> lock(mutex_);
  if (closing_) return badHandle(function, "stream", this);
  if (pending_.load(std::memory_order_relaxed) >= kDepth) {
    if (stores()) {
      return simFail(ACL_ERROR_RT_STREAM_TASK_FULL, "EE9999", "%s: the stream stores %llu tasks, no more fit", function,
                     static_cast<unsigned long long>(kDepth));
    }
    const uint64_t aborts = aborts_;
    ++users_;
    while (pending_.load() >= kDepth && !closing_ && aborts_ == aborts) advance(lock, forever(), completed_ + 1);
    if (closing_ || aborts_ != aborts) {
      leave(lock);
      return simFail(ACL_ERROR_RT_STREAM_ABORT, "EE9999", "%s: the stream was aborted", function);
    }
    --users_;  // not the last one: the stream is open, so its owner is there
  }
  if (!thread_ && !stores()) {
    try {
      std::thread([this] { work(); }).detach();
    } catch (const std::system_error &error) {
      return simFail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "EL0005", "%s: no thread for the stream: %s", function,
                     error.what());
    }
    thread_ = true;
    ++users_;
  }
  queue_.push_back(task);
  ++submitted_;
  pending_.fetch_add(1, std::memory_order_relaxed);
  if (ticket != nullptr) *ticket = submitted_;
  ++thread_state.last_task;
  if (sleeping_) work_.notify_one();
  return ACL_SUCCESS;
}

aclError Stream::wait(const char *function, Clock::time_point end, uint64_t ticket) {
  if (!idle() && !stores()) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (ticket == 0) ticket = submitted_;
    const uint64_t aborts = aborts_;
    const auto over = [&] { return completed_ >= ticket || aborts_ != aborts; };
    ++users_;
    bool in_time = true;
    while (in_time && !over()) in_time = advance(lock, end, ticket) || over();
    wakeThread();
    const bool aborted = aborts_ != aborts;  // a stream that is destroyed with its work done is no failure
    const aclError code = abort_code_;
    leave(lock);
    if (aborted) return simFail(code, "EE9999", "%s: the stream was aborted while it was waited for", function);
    if (!in_time) {
      return simFail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "EE9999", "%s: the stream did not complete in time", function);
    }
  }
  if (!pauseUntilDue(due(), end)) {
    return simFail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "EE9999", "%s: the stream did not complete in time", function);
  }
  return device().check(function);
}

bool Stream::advance(std::unique_lock<std::mutex> &lock, Clock::time_point end, uint64_t ticket) {
  if (!running_ && !queue_.empty() && queue_.front().kind != SIM_TASK_ANY && end == forever()) {
    const TaskErrorScope others;
    runFront(lock);
    return true;
  }
  wakeThread();
  awaited_ = std::min(awaited_, ticket);
  if (end != forever()) return progress_.wait_until(lock, end) == std::cv_status::no_timeout;
  progress_.wait(lock);
  return true;
}

void Stream::wakeThread() {
  if (sleeping_ && !running_ && !queue_.empty()) work_.notify_one();
}

void Stream::work() {
  running_stream = this;
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    sleeping_ = true;
    work_.wait(lock, [&] { return (!queue_.empty() && !running_) || closing_; });
    sleeping_ = false;
    if (closing_) break;
    runFront(lock);
  }
  thread_ = false;
  progress_.notify_all();
  leave(lock);
}

void Stream::runFront(std::unique_lock<std::mutex> &lock) {
  const SimTask task = queue_.front();
  queue_.pop_front();
  running_ = true;
  lock.unlock();
  run(task);
  lock.lock();
  running_ = false;
  cancelled_.store(false, std::memory_order_relaxed);
  ++completed_;
  pending_.fetch_sub(1, std::memory_order_release);
  if (completed_ >= awaited_ || closing_) notifyWaiters();
}

void Stream::notifyWaiters() {
  awaited_ = UINT64_MAX;
  progress_.notify_all();
}

void Stream::run(const SimTask &task) {
  Device &device = this->device();
  aclError code = ACL_SUCCESS;
  if (device.attention.load(std::memory_order_acquire) & Device::kArmed) {
    code = device.takeArmed();
    if (code != ACL_SUCCESS) simFail(code, "EZ9999", "a fault was injected");
  }
  if (code == ACL_SUCCESS && task.run != nullptr && !context()->stopped.load(std::memory_order_relaxed)) {
    code = task.kind == SIM_TASK_KERNEL ? runTimed(task) : task.run(task.argument);
  }
  if (code != ACL_SUCCESS && !cancelled()) {
    const char *message = aclGetRecentErrMsg();
    std::string text = message == nullptr ? "" : std::string(": ") + message;
    if (!text.empty() && text.back() == '\n') text.pop_back();
    device.fail(code, std::string(task.name == nullptr ? "a task" : task.name) + " on stream " +
                          std::to_string(streams().indexOf(this)) + text);
    if (failure_mode.load() != 0) context()->stopped.store(true);
  }
  if (task.drop != nullptr) task.drop(task.argument);
}

aclError Stream::runTimed(const SimTask &task) {
  const uint64_t limit = opExecuteMicroseconds();
  if (limit == 0) return task.run(task.argument);
  const Clock::time_point begin = Clock::now();
  const aclError code = task.run(task.argument);
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
  if (code != ACL_SUCCESS || static_cast<uint64_t>(took) <= limit) return code;
  return simFail(ACL_ERROR_RT_AICORE_TIMEOUT, "EZ9999", "it ran for %lld us, the execution timeout is %llu us",
                 static_cast<long long>(took), static_cast<unsigned long long>(limit));
}

void Stream::cancel(std::unique_lock<std::mutex> &lock) {
  std::deque<SimTask> dropped;
  dropped.swap(queue_);
  due_ = 0;
  under_way_.clear();
  completed_ += dropped.size();
  pending_.fetch_sub(dropped.size(), std::memory_order_release);
  cancelled_.store(running_, std::memory_order_release);
  notifyWaiters();
  lock.unlock();
  signal().raise([] {});
  for (const SimTask &task : dropped) {
    if (task.drop != nullptr) task.drop(task.argument);
  }
}

void Stream::abort(aclError code) {
  std::unique_lock<std::mutex> lock(mutex_);
  ++aborts_;
  abort_code_ = code;
  cancel(lock);
}

void Stream::close(bool wait) {
  std::unique_lock<std::mutex> lock(mutex_);
  closing_ = true;
  if (running_ || !queue_.empty()) {  // destroyed by force
    ++aborts_;
    abort_code_ = ACL_ERROR_RT_STREAM_ABORT;
  }
  work_.notify_one();
  cancel(lock);
  lock.lock();
  if (wait) progress_.wait(lock, [&] { return !thread_ && !running_; });
  leave(lock);
}

void Stream::leave(std::unique_lock<std::mutex> &lock) {
  const bool last = --users_ == 0;
  if (last) std::deque<SimTask>().swap(queue_);
  lock.unlock();
  if (last) streams().release(this);
}

aclError resolveStream(const char *function, aclrtStream handle, Stream **stream) {
  Context *context = contextOrDefault();
  if (context == nullptr) return noContext(function);
  Stream *found = handle == nullptr ? context->default_stream : streams().find(handle);
  if (found == nullptr) return badHandle(function, "stream", handle);
  if (found->context() != context) {
    return simFail(ACL_ERROR_RT_STREAM_CONTEXT, "EE1001",
                   "%s: stream %p belongs to another context (device %d) than the current one (device %d)", function,
                   handle, found->device().id, context->device->id);
  }
  *stream = found;
  return ACL_SUCCESS;
}

namespace {

aclError launchQueued(aclrtStream handle, SimTask task, SimTaskKind kind) {
  Stream *stream = nullptr;
  const char *name = task.name == nullptr ? "simLaunchKernel" : task.name;
  SIM_TRY(resolveStream(name, handle, &stream));
  SIM_TRY(stream->device().check(name));
  if (simNullKernels()) task.run = nullptr;
  task.kind = kind;
  return stream->submit(name, task);
}

aclError launch(aclrtStream handle, const SimTask &task, SimTaskKind kind) {
  if (simNullKernels()) {
    Context *context = currentContext();
    if (context != nullptr) {
      Stream *stream = handle == nullptr ? context->default_stream : streams().find(handle);
      // Nothing is ahead of the kernel, so it is complete. A task that another thread appends meanwhile is unordered
      // with this one anyway.
      if (stream != nullptr && stream->context() == context && stream->idle() && !stream->stores() &&
          context->device->attention.load(std::memory_order_relaxed) == 0) {
        ++thread_state.last_task;
        if (task.device_ns != 0) stream->addDeviceTime(task.device_ns);
        if (task.drop != nullptr) task.drop(task.argument);
        return ACL_SUCCESS;
      }
    }
  }
  return launchQueued(handle, task, kind);
}

}  // namespace
}  // namespace sim

using namespace sim;

void simSetNullKernels(int32_t null_kernels) {
  config().null_kernels.store(null_kernels != 0, std::memory_order_relaxed);
}

int32_t simNullKernels(void) { return config().null_kernels.load(std::memory_order_relaxed) ? 1 : 0; }

aclError simLaunchKernel(aclrtStream handle, SimTask task) { return launch(handle, task, SIM_TASK_KERNEL); }

aclError simLaunchTask(aclrtStream handle, SimTask task) { return launch(handle, task, SIM_TASK_ANY); }

int32_t simTaskCancelled(void) { return running_stream != nullptr && running_stream->cancelled() ? 1 : 0; }

// The functions of the C API on streams.

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
  if (!force) SIM_TRY(refuseCapturing(function, *stream));
  discardCaptures(*stream);
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
  const bool complete = (found->idle() && found->modelledDone()) || found->stores();
  *status = complete ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
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
  found->abort(invalidateCapture(*found, ACL_ERROR_RT_STREAM_ABORT));
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

// Host functions in streams: the stream's thread runs those of aclrtLaunchHostFunc; a thread of the program that calls
// aclrtProcessReport runs those of aclrtLaunchCallback.

namespace sim {

namespace {

struct Callback {
  aclrtCallback function;
  void *argument;
  MarkerPtr finished;
};

struct Subscriber {
  int32_t streams = 0;
  std::deque<Callback> callbacks;
};

// Guarded by signal(). The key is what pthread_self() returns in the thread that is to process the reports.
std::map<uint64_t, Subscriber> &subscribers() {
  static auto &all = *new std::map<uint64_t, Subscriber>;
  return all;
}

uint64_t callingThread() { return static_cast<uint64_t>(pthread_self()); }

// Removes one subscription of the thread. With the last one, pending callbacks are dropped and their waits end.
void unsubscribe(uint64_t thread) {
  signal().raise([&] {
    const auto found = subscribers().find(thread);
    if (found == subscribers().end() || --found->second.streams > 0) return;
    for (const Callback &callback : found->second.callbacks) callback.finished->done.store(true);
    subscribers().erase(found);
  });
}

// May run several times if a graph stores it.
struct CallbackWork {
  uint64_t thread;
  aclrtCallback function;
  void *argument;
  bool blocks;
  aclError operator()() const {
    const Callback callback{function, argument, std::make_shared<Marker>()};
    bool posted = false;
    signal().raise([&] {
      const auto found = subscribers().find(thread);
      if (found == subscribers().end()) return;
      found->second.callbacks.push_back(callback);
      posted = true;
    });
    const auto finished = [&] { return callback.finished->done.load(); };
    if (posted && blocks) waitInTask(forever(), finished);
    return ACL_SUCCESS;
  }
};

}  // namespace

void signalAtFork(Fork stage) { signal().atFork(stage); }

void forgetSubscriptions() {
  signal().raise([] { subscribers().clear(); });
}

}  // namespace sim

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args) {
  SIM_ENTER(aclrtLaunchHostFunc);
  if (fn == nullptr) return nullArgument(__func__, "fn");
  SIM_REQUIRE_STREAM(found, stream);
  SIM_TRY(found->device().check(__func__));
  if (found->subscriber.load() != 0) {
    return simFail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "EE1001",
                   "%s: the stream is subscribed for aclrtLaunchCallback; the two do not mix", __func__);
  }
  return submitWork(*found, __func__, [fn, args]() -> aclError {
    fn(args);
    return ACL_SUCCESS;
  });
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  SIM_ENTER(aclrtSubscribeReport);
  SIM_REQUIRE_STREAM(found, stream);
  if (threadId == 0) return badValue(__func__, "threadId", 0, "the id of a thread");
  uint64_t nobody = 0;
  if (!found->subscriber.compare_exchange_strong(nobody, threadId)) {
    return simFail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "EE1001", "%s: the stream is subscribed already", __func__);
  }
  signal().raise([&] { ++subscribers()[threadId].streams; });
  return ACL_SUCCESS;
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  SIM_ENTER(aclrtUnSubscribeReport);
  SIM_REQUIRE_STREAM(found, stream);
  uint64_t subscriber = threadId;
  if (threadId == 0 || !found->subscriber.compare_exchange_strong(subscriber, 0)) {
    return simFail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "EE1001", "%s: the stream is not subscribed to thread %llu", __func__,
                   static_cast<unsigned long long>(threadId));
  }
  unsubscribe(threadId);
  return ACL_SUCCESS;
}

aclError aclrtLaunchCallback(aclrtCallback fn, void *userData, aclrtCallbackBlockType blockType, aclrtStream stream) {
  SIM_ENTER(aclrtLaunchCallback);
  if (fn == nullptr) return nullArgument(__func__, "fn");
  if (blockType > ACL_CALLBACK_BLOCK) return badValue(__func__, "blockType", blockType, "0 or 1");
  SIM_REQUIRE_STREAM(found, stream);
  SIM_TRY(found->device().check(__func__));
  const uint64_t thread = found->subscriber.load();
  if (thread == 0) {
    return simFail(ACL_ERROR_RT_STREAM_NO_CB_REG, "EE1001", "%s: call aclrtSubscribeReport for the stream first",
                   __func__);
  }
  return submitWork(*found, __func__, CallbackWork{thread, fn, userData, blockType == ACL_CALLBACK_BLOCK});
}

aclError aclrtProcessReport(int32_t timeout) {
  SIM_ENTER(aclrtProcessReport);
  SIM_REQUIRE_DEVICES();
  if (timeout < -1 || timeout == 0) return badValue(__func__, "timeout", timeout, "-1 or milliseconds");
  const uint64_t thread = callingThread();
  std::deque<Callback> callbacks;
  bool subscribed = true;
  const bool in_time = signal().wait(afterMilliseconds(timeout), [&] {
    const auto found = subscribers().find(thread);
    subscribed = found != subscribers().end();
    if (subscribed) callbacks.swap(found->second.callbacks);
    return !subscribed || !callbacks.empty();
  });
  if (!subscribed) {
    return simFail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "EE1001", "%s: no stream is subscribed to the calling thread",
                   __func__);
  }
  if (!in_time) return simFail(ACL_ERROR_RT_REPORT_TIMEOUT, "EE9999", "%s: no callback came in time", __func__);
  for (const Callback &callback : callbacks) {
    callback.function(callback.argument);
    complete(*callback.finished);
  }
  return ACL_SUCCESS;
}
