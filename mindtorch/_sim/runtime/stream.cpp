// The queue and the thread of a stream, and the launch of kernels.
#include "stream.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>

namespace sim {

HandleTable<Stream> &streams() {
  static HandleTable<Stream> &table = *new HandleTable<Stream>(kMaxDevices * kStreamsPerDevice);
  return table;
}

void carryStreamsOver(Fork stage) { streams().carryOver(stage); }

void Stream::open(Context *context, uint32_t priority, uint32_t flags) {
  std::lock_guard<std::mutex> lock(mutex_);
  context_ = context;
  priority_ = priority;
  flags_ = flags;
  diverted = false;
  failure_mode = 0;
  failure_mode_set = false;
  overflow_switch = custom_tag = cache_op_info = 0;
  subscriber = 0;
  for (auto &limit : core_limits) limit = 0;
  submitted_ = completed_ = aborts_ = 0;
  closing_ = false;
  users_ = 1;
}

aclError Stream::submit(const char *function, const SimTask &task, uint64_t *ticket) {
  if (diverted.load(std::memory_order_acquire)) {
    aclError error = ACL_SUCCESS;
    if (divert(function, *this, task, &error)) return error;
  }
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
  return device().check(function);
}

bool Stream::advance(std::unique_lock<std::mutex> &lock, Clock::time_point end, uint64_t ticket) {
  if (!running_ && !queue_.empty() && queue_.front().kind != SIM_TASK_ANY && end == forever()) {
    const MessagesOfTask others;
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
  if (completed_ >= awaited_ || closing_) announce();
}

void Stream::announce() {
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
    const char *text = aclGetRecentErrMsg();
    device.fail(code, std::string(task.name == nullptr ? "a task" : task.name) + " on stream " +
                          std::to_string(streams().indexOf(this)) + (text == nullptr ? "" : std::string(": ") + text));
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
  completed_ += dropped.size();
  pending_.fetch_sub(dropped.size(), std::memory_order_release);
  cancelled_.store(running_, std::memory_order_release);
  announce();
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

aclError launchQueued(aclrtStream handle, SimTask task) {
  Stream *stream = nullptr;
  const char *name = task.name == nullptr ? "simLaunchKernel" : task.name;
  SIM_TRY(resolveStream(name, handle, &stream));
  SIM_TRY(stream->device().check(name));
  if (simNullKernels()) task.run = nullptr;
  task.kind = SIM_TASK_KERNEL;
  return stream->submit(name, task);
}

}  // namespace
}  // namespace sim

using namespace sim;

void simSetNullKernels(int32_t null_kernels) {
  config().null_kernels.store(null_kernels != 0, std::memory_order_relaxed);
}

int32_t simNullKernels(void) { return config().null_kernels.load(std::memory_order_relaxed) ? 1 : 0; }

aclError simLaunchKernel(aclrtStream handle, SimTask task) {
  if (simNullKernels()) {
    Context *context = currentContext();
    if (context != nullptr) {
      Stream *stream = handle == nullptr ? context->default_stream : streams().find(handle);
      // Nothing is ahead of the kernel, so it is complete. A task that another thread appends meanwhile is unordered
      // with this one anyway.
      if (stream != nullptr && stream->context() == context && stream->idle() && !stream->stores() &&
          context->device->attention.load(std::memory_order_relaxed) == 0) {
        ++thread_state.last_task;
        if (task.drop != nullptr) task.drop(task.argument);
        return ACL_SUCCESS;
      }
    }
  }
  return launchQueued(handle, task);
}
