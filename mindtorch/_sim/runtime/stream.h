// A stream: a queue of tasks and a thread of its own, started with the first task that cannot complete at once. Who
// waits for the stream runs brief tasks itself: waking two threads costs more than most kernels.
#ifndef MINDTORCH_SIM_RUNTIME_STREAM_H_
#define MINDTORCH_SIM_RUNTIME_STREAM_H_
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "runtime.h"
#include "signal.h"

namespace sim {

class Stream {
 public:
  static constexpr uint64_t kDepth = 2013;  // usable tasks of a queue on A2 and A3

  // ---- life: a Stream is a slot of streams(), opened and closed many times
  void open(Context *context, uint32_t priority, uint32_t flags);
  // Drops what is queued and lets go of the slot once the running task has ended; `wait`: only return then.
  void close(bool wait);

  // ---- any thread
  Context *context() const { return context_.load(std::memory_order_relaxed); }
  Device &device() const { return *context()->device; }
  uint32_t priority() const { return priority_.load(std::memory_order_relaxed); }
  uint32_t flags() const { return flags_.load(std::memory_order_relaxed); }
  // Capturing streams, and PERSISTENT, DEVICE_USE_ONLY and CPU_SCHEDULE ones: their tasks are never run from here.
  bool stores() const {
    return storing.load(std::memory_order_acquire) ||
           (flags() & (ACL_STREAM_PERSISTENT | ACL_STREAM_DEVICE_USE_ONLY | ACL_STREAM_CPU_SCHEDULE)) != 0;
  }
  // True when every task has been run: what they wrote may be read.
  bool idle() const { return pending_.load(std::memory_order_acquire) == 0; }

  // Appends; blocks while the queue is full. On failure the task stays the caller's.
  aclError submit(const char *function, const SimTask &task, uint64_t *ticket = nullptr);
  // Until the task of `ticket` has been run (default: all that were submitted before this call). Without an end in
  // time, this runs tasks that the stream's thread has not begun.
  aclError wait(const char *function, Clock::time_point end, uint64_t ticket = 0);
  // The modelled device (cost.h) works `nanoseconds` longer; blocks while its queue is full.
  void addDeviceTime(int64_t nanoseconds);
  // When the modelled device will have done all that was submitted, in nanoseconds of Clock; 0 where none is modelled.
  int64_t due() const { return due_.load(std::memory_order_relaxed); }
  void startAfter(int64_t due);  // what is submitted from now on
  bool modelledDone() const { return due() == 0 || due() <= nanosecondsOf(Clock::now()); }
  // Drops what is queued and ends waits; blocked callers return `code`.
  void abort(aclError code);
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }

  // A kernel past the limit of aclrtSetOpExecuteTimeOut fails, when it ends.
  static aclError runTimed(const SimTask &task);

  std::atomic<bool> storing{false};  // tasks go to capture.cpp, which changes this with its lock held
  std::atomic<uint64_t> failure_mode{0};
  std::atomic<bool> failure_mode_set{false};
  std::atomic<uint32_t> overflow_switch{0};
  std::atomic<uint32_t> custom_tag{0};
  std::atomic<uint32_t> cache_op_info{0};
  std::atomic<uint32_t> core_limits[kCoreKinds]{};  // 0: its device's
  std::atomic<uint64_t> subscriber{0};              // thread that runs the callbacks of aclrtLaunchCallback; 0: none

 private:
  void work();
  void runFront(std::unique_lock<std::mutex> &lock);  // of the queue; with the lock dropped while it runs
  void run(const SimTask &task);
  void wakeThread();  // where nobody runs the tasks that there are
  // Runs a task, or waits until there may be news of the one of `ticket`; false where the time ran out.
  bool advance(std::unique_lock<std::mutex> &lock, Clock::time_point end, uint64_t ticket);
  void notifyWaiters();
  void cancel(std::unique_lock<std::mutex> &lock);  // returns with the lock dropped
  void leave(std::unique_lock<std::mutex> &lock);   // one user less; the last gives the slot back

  // Read through handles that another thread may destroy and reuse meanwhile.
  std::atomic<Context *> context_{nullptr};
  std::atomic<uint32_t> priority_{0};
  std::atomic<uint32_t> flags_{0};
  std::atomic<uint64_t> pending_{0};    // submitted, not completed; changes with the mutex held
  std::atomic<bool> cancelled_{false};  // the running task is to give up waiting
  std::atomic<int64_t> due_{0};         // changes with the mutex held

  std::mutex mutex_;                  // guards all below
  std::condition_variable work_;      // for the thread: a task that nobody runs, or closing
  std::condition_variable progress_;  // for the others: an awaited task completed, aborted, or the thread is gone
  std::deque<SimTask> queue_;
  std::deque<int64_t> under_way_;  // when the modelled device will have done its kernels
  uint64_t submitted_ = 0;
  uint64_t completed_ = 0;
  uint64_t awaited_ = UINT64_MAX;  // the first ticket whose completion is to be announced
  uint64_t aborts_ = 0;
  aclError abort_code_ = ACL_SUCCESS;
  int32_t users_ = 0;  // the owner, the thread and blocked callers
  bool thread_ = false;
  bool sleeping_ = false;
  bool running_ = false;
  bool closing_ = false;
};

HandleTable<Stream> &streams();

// A task of a stream that is storing: stored, with the result *error. False: the stream is not storing any more.
bool storeTask(const char *function, Stream &stream, const SimTask &task, aclError *error);

// The live stream behind `handle` (NULL: the default stream of the current context), which must be the current
// context's own.
aclError resolveStream(const char *function, aclrtStream handle, Stream **stream);

// The stream that this thread serves.
inline thread_local const Stream *running_stream = nullptr;

// For a task that waits: until done() holds, the time is up, or the stream that runs it is cancelled.
enum class WaitResult { kDone, kTimeout, kCancelled };
template <class Done>
WaitResult waitInTask(Clock::time_point end, Done done) {
  const Stream &stream = *running_stream;
  if (!signal().wait(end, [&] { return done() || stream.cancelled(); })) return WaitResult::kTimeout;
  return done() ? WaitResult::kDone : WaitResult::kCancelled;
}

// Waits for all streams of the current context.
aclError synchronizeContext(const char *function, Clock::time_point end);

uint32_t opWaitSeconds();          // of aclrtSetOpWaitTimeout; 0: for ever
uint64_t opExecuteMicroseconds();  // of aclrtSetOpExecuteTimeOut and the like; 0: without limit

// Submits a callable `aclError work()`; it is destroyed when it has been run, or dropped without.
template <class Work>
aclError submitWork(Stream &stream, const char *function, Work work, uint64_t *ticket = nullptr,
                    SimTaskKind kind = SIM_TASK_ANY) {
  auto argument = std::make_unique<Work>(std::move(work));
  SimTask task{};
  task.run = [](void *it) { return (*static_cast<Work *>(it))(); };
  task.drop = [](void *it) { delete static_cast<Work *>(it); };
  task.argument = argument.get();
  task.name = function;
  task.kind = kind;
  const aclError error = stream.submit(function, task, ticket);
  if (error == ACL_SUCCESS) argument.release();
  return error;
}

// The same for work that does not wait and calls no code of users.
template <class Work>
aclError submitBrief(Stream &stream, const char *function, Work work, uint64_t *ticket = nullptr) {
  return submitWork(stream, function, std::move(work), ticket, SIM_TASK_BRIEF);
}

}  // namespace sim

// Declares `found`, the stream behind a handle.
#define SIM_REQUIRE_STREAM(found, handle) SIM_RESOLVE(sim::Stream, found, sim::resolveStream, handle)
#endif
