// Host functions in streams: aclrtLaunchHostFunc runs them itself, aclrtLaunchCallback hands them to a thread of the
// program that sits in aclrtProcessReport.
#include <pthread.h>

#include <deque>
#include <map>

#include "capture.h"
#include "stream.h"

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

// One stream less for the thread; callbacks that it has not run yet are dropped with the last, and nobody waits on.
void unsubscribe(uint64_t thread) {
  signal().raise([&] {
    const auto found = subscribers().find(thread);
    if (found == subscribers().end() || --found->second.streams > 0) return;
    for (const Callback &callback : found->second.callbacks) callback.finished->done.store(true);
    subscribers().erase(found);
  });
}

// Run more than once where a graph stores it.
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

void carrySignalOver(Fork stage) { signal().carryOver(stage); }

void forgetSubscriptions() {
  signal().raise([] { subscribers().clear(); });
}

}  // namespace sim

using namespace sim;

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
  if (!in_time) {
    return simFail(ACL_ERROR_RT_REPORT_TIMEOUT, "EE9999", "%s: no callback came in time", __func__);
  }
  for (const Callback &callback : callbacks) {
    callback.function(callback.argument);
    complete(*callback.finished);
  }
  return ACL_SUCCESS;
}
