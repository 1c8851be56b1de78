// Streams: order, depth, waiting, aborting, destroying; launches from several threads.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "../check.h"

namespace {

aclrtStreamStatus status(aclrtStream stream) {
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  CHECK_OK(aclrtStreamQuery(stream, &status));
  return status;
}

void testOrderAndQuery() {
  aclrtStream stream = nullptr;
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK(status(stream) == ACL_STREAM_STATUS_COMPLETE);
  Gate gate;
  std::vector<int> order;
  CHECK_OK(block(stream, gate));
  for (int i = 0; i < 100; ++i) {
    CHECK_OK(launch(stream, [&order, i] {
      order.push_back(i);
      return ACL_SUCCESS;
    }));
  }
  CHECK(status(stream) == ACL_STREAM_STATUS_NOT_READY);  // also while the last task is being run
  CHECK_CODE(aclrtSynchronizeStreamWithTimeout(stream, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  CHECK_CODE(aclrtSynchronizeDeviceWithTimeout(20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  CHECK_CODE(aclrtSynchronizeStreamWithTimeout(stream, -2), ACL_ERROR_RT_PARAM_INVALID);
  gate.open();
  CHECK_OK(aclrtSynchronizeStreamWithTimeout(stream, -1));
  CHECK(order.size() == 100 && order.front() == 0 && order.back() == 99);
  CHECK(status(stream) == ACL_STREAM_STATUS_COMPLETE);
  CHECK_OK(aclrtDestroyStream(stream));
}

void testDefaultStream() {
  aclrtStream stream = nullptr;
  CHECK_OK(aclrtCtxGetCurrentDefaultStream(&stream));
  bool done = false;
  CHECK_OK(launch(nullptr, [&] {
    done = true;
    return ACL_SUCCESS;
  }));
  CHECK_OK(aclrtSynchronizeStream(stream));
  CHECK(done);
  CHECK_OK(aclrtSynchronizeStream(nullptr));
  CHECK_CODE(aclrtDestroyStream(stream), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtDestroyStream(nullptr), ACL_ERROR_INVALID_PARAM);
}

void testHostBlocksWhenFull() {
  constexpr int kDepth = 2013;
  aclrtStream stream = nullptr;
  CHECK_OK(aclrtCreateStream(&stream));
  Gate gate;
  std::atomic<int> launched{0};
  std::thread host([&] {
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(block(stream, gate));
    for (launched = 1; launched < kDepth + 10; ++launched) CHECK_OK(launch(stream, [] { return ACL_SUCCESS; }));
  });
  while (launched < kDepth) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  CHECK(launched == kDepth);
  gate.open();
  host.join();
  CHECK(launched == kDepth + 10);
  CHECK_OK(aclrtSynchronizeStream(stream));
  CHECK_OK(aclrtDestroyStream(stream));
  CHECK_OK(aclrtResetDevice(0));
}

void testDestroy() {
  aclrtStream stream = nullptr;
  bool done = false;
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK_OK(launch(stream, [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    done = true;
    return ACL_SUCCESS;
  }));
  CHECK_OK(aclrtDestroyStream(stream));
  CHECK(done);
  CHECK_CODE(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_CODE(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_CODE(launch(stream, [] { return ACL_SUCCESS; }), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_CODE(aclrtSynchronizeStream(&done), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_CODE(aclrtSynchronizeStream(reinterpret_cast<aclrtStream>(0x10)), ACL_ERROR_RT_INVALID_HANDLE);

  Gate gate;
  auto ran = std::make_shared<std::atomic<bool>>(false);
  CHECK_OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC));
  CHECK_OK(block(stream, gate));
  CHECK_OK(launch(stream, [ran] {
    *ran = true;
    return ACL_SUCCESS;
  }));
  CHECK_OK(aclrtDestroyStreamForce(stream));  // does not wait; what is queued is never run
  gate.open();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(!*ran);
}

void testAbort() {
  aclrtStream stream = nullptr;
  Gate gate;
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK_OK(block(stream, gate));
  std::atomic<bool> waiting{false};
  std::thread host([&] {
    CHECK_OK(aclrtSetDevice(0));
    waiting = true;
    CHECK_CODE(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_ABORT);
  });
  while (!waiting) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK_OK(aclrtStreamAbort(stream));
  host.join();
  CHECK_OK(aclrtResetDevice(0));
  gate.open();
  CHECK_OK(aclrtSynchronizeStream(stream));
  bool done = false;
  CHECK_OK(launch(stream, [&] {
    done = true;
    return ACL_SUCCESS;
  }));
  CHECK_OK(aclrtSynchronizeStream(stream));
  CHECK(done);
  CHECK_OK(aclrtDeviceTaskAbort(0, 1000));
  CHECK_OK(aclrtDestroyStream(stream));
}

void testProperties() {
  aclrtStream stream = nullptr;
  uint32_t value = 0;
  uint32_t available = 0;
  int32_t id = -1;
  int32_t least = 0;
  int32_t greatest = 0;
  aclrtStreamAttrValue attribute{};
  CHECK_OK(aclrtGetStreamAvailableNum(&available));
  CHECK(available == 1983);
  CHECK_OK(aclrtCreateStreamWithConfig(&stream, 3, ACL_STREAM_FAST_LAUNCH));
  CHECK_OK(aclrtGetStreamAvailableNum(&available));
  CHECK(available == 1982);
  CHECK_OK(aclrtStreamGetPriority(stream, &value));
  CHECK(value == 3);
  CHECK_OK(aclrtStreamGetFlags(stream, &value));
  CHECK(value == ACL_STREAM_FAST_LAUNCH);
  CHECK_OK(aclrtStreamGetId(stream, &id));
  CHECK(id >= 0);
  CHECK_OK(aclrtDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(least == 7 && greatest == 0);
  CHECK_OK(aclrtSetStreamFailureMode(stream, 1));
  CHECK_CODE(aclrtSetStreamFailureMode(stream, 0), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtSetStreamFailureMode(stream, 2), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_FAILURE_MODE, &attribute));
  CHECK(attribute.failureMode == 1);
  attribute.userCustomTag = 42;
  CHECK_OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &attribute));
  CHECK_OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &attribute));
  CHECK(attribute.userCustomTag == 42);
  CHECK_CODE(aclrtGetStreamAttribute(stream, static_cast<aclrtStreamAttr>(77), &attribute), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtDestroyStream(stream));
  CHECK_CODE(aclrtCreateStreamWithConfig(&stream, 8, 0), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtCreateStreamWithConfig(&stream, 0, 0x1000), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtCreateStream(nullptr), ACL_ERROR_INVALID_PARAM);
}

void testStoringStream() {
  aclrtStream stream = nullptr;
  bool ran = false;
  CHECK_OK(aclrtCreateStreamWithConfig(&stream, 0, ACL_STREAM_PERSISTENT));
  CHECK_OK(launch(stream, [&] {
    ran = true;
    return ACL_SUCCESS;
  }));
  CHECK_OK(aclrtSynchronizeStream(stream));
  CHECK(!ran && status(stream) == ACL_STREAM_STATUS_COMPLETE);
  CHECK_OK(aclrtDestroyStream(stream));
}

void testManyStreams() {
  std::vector<aclrtStream> streams;
  aclrtStream stream = nullptr;
  while (aclrtCreateStream(&stream) == ACL_SUCCESS) streams.push_back(stream);
  CHECK(streams.size() == 1983);
  CHECK_CODE(aclrtCreateStream(&stream), ACL_ERROR_RT_NO_STREAM_RESOURCE);
  for (aclrtStream each : streams) CHECK_OK(aclrtDestroyStream(each));
  lastMessage();
}

void testTimeouts() {
  uint64_t interval = 0;
  uint64_t actual = 0;
  CHECK_OK(aclrtGetOpTimeOutInterval(&interval));
  CHECK_OK(aclrtSetOpExecuteTimeOutV2(interval + 1, &actual));
  CHECK(actual == 2 * interval);
  CHECK_OK(aclrtSetOpWaitTimeout(0));
  CHECK_OK(aclrtSetOpExecuteTimeOut(0));
}

void work(std::chrono::milliseconds duration) { std::this_thread::sleep_for(duration); }

aclError launchFor(std::chrono::milliseconds duration) {
  return launch(
      nullptr,
      [duration] {
        work(duration);
        return ACL_SUCCESS;
      },
      "slow kernel");
}

// A kernel past the limit is a fault of the device, which the next synchronise reports.
void testExecuteTimeouts() {
  struct Limit {
    aclError (*set)();
    std::chrono::milliseconds past;
  };
  const Limit limits[] = {{[] { return aclrtSetOpExecuteTimeOutWithMs(20); }, std::chrono::milliseconds(21)},
                          {[] { return aclrtSetOpExecuteTimeOut(1); }, std::chrono::milliseconds(1001)},
                          {[] {
                             uint64_t actual = 0;
                             return aclrtSetOpExecuteTimeOutV2(1, &actual);
                           },
                           std::chrono::milliseconds(1001)}};
  for (const Limit &limit : limits) {
    CHECK_OK(limit.set());
    CHECK_OK(launchFor(limit.past));
    CHECK_CODE(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_AICORE_TIMEOUT);
    const std::string message = lastMessage();
    CHECK(contains(message, "slow kernel") && contains(message, "the execution timeout is"));
    CHECK_OK(aclrtResetDeviceForce(0));
    CHECK_OK(aclrtSetDevice(0));
  }
  CHECK_OK(aclrtSetOpExecuteTimeOutWithMs(20));  // host functions are no kernels
  CHECK_OK(aclrtLaunchHostFunc(nullptr, [](void *) { work(std::chrono::milliseconds(21)); }, nullptr));
  CHECK_OK(aclrtSynchronizeStream(nullptr));
  CHECK_OK(aclrtSetOpExecuteTimeOut(0));
  CHECK_OK(launchFor(std::chrono::milliseconds(21)));
  CHECK_OK(aclrtSynchronizeStream(nullptr));
}

void testThreads() {
  constexpr int kThreads = 8;
  constexpr int kTasks = 300;
  int64_t sums[kThreads] = {};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&sums, t] {
      CHECK_OK(aclrtSetDevice(0));
      aclrtStream stream = nullptr;
      CHECK_OK(aclrtCreateStream(&stream));
      for (int i = 0; i < kTasks; ++i) {
        CHECK_OK(launch(stream, [&sums, t, i] {
          sums[t] += i;
          return ACL_SUCCESS;
        }));
        if (i % 50 == 0) CHECK_OK(aclrtSynchronizeStream(stream));
      }
      CHECK_OK(aclrtSynchronizeStream(stream));
      uint32_t last = 0;
      CHECK_OK(aclrtGetThreadLastTaskId(&last));
      CHECK(last >= kTasks);
      CHECK_OK(aclrtDestroyStream(stream));
    });
  }
  for (std::thread &thread : threads) thread.join();
  for (int64_t sum : sums) CHECK(sum == int64_t{kTasks} * (kTasks - 1) / 2);
}

// Who waits for a stream runs its kernels, so several waiters and the stream's thread take turns, in order.
void testWaitersOfOneStream() {
  constexpr int kThreads = 4;
  constexpr int kTasks = 500;
  aclrtStream stream = nullptr;
  CHECK_OK(aclrtCreateStream(&stream));
  int64_t ran = 0;  // by one thread at a time: no lock
  std::vector<int> last(kThreads, -1);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      CHECK_OK(aclrtSetDevice(0));
      for (int i = 0; i < kTasks; ++i) {
        CHECK_OK(launch(stream, [&, t, i] {
          CHECK(last[t] == i - 1);
          last[t] = i;
          ++ran;
          return ACL_SUCCESS;
        }));
        if (i % 3 == 0) CHECK_OK(aclrtSynchronizeStream(stream));
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  CHECK_OK(aclrtSynchronizeStream(stream));
  CHECK(ran == kThreads * kTasks);
  CHECK_OK(aclrtDestroyStream(stream));
}

// A task that fails on the thread that waits leaves this thread's own messages alone.
void testMessagesOfWaiters() {
  for (int i = 0; i < 50; ++i) {
    CHECK_CODE(aclrtSetStreamFailureMode(nullptr, 2), ACL_ERROR_RT_PARAM_INVALID);
    CHECK_OK(launch(nullptr, [] { return simFail(ACL_ERROR_RT_AICORE_EXCEPTION, "EZ9999", "index out of range"); }));
    CHECK_CODE(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
    const std::string message = lastMessage();
    CHECK(contains(message, "aclrtSetStreamFailureMode") && contains(message, "index out of range"));
    CHECK_OK(aclrtResetDeviceForce(0));
    CHECK_OK(aclrtSetDevice(0));
  }
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_MEMORY", "64MiB", 1);
  start();
  testProperties();
  testOrderAndQuery();
  testDefaultStream();
  testHostBlocksWhenFull();
  testDestroy();
  testAbort();
  testStoringStream();
  testManyStreams();
  testTimeouts();
  testExecuteTimeouts();
  testThreads();
  testWaitersOfOneStream();
  testMessagesOfWaiters();
  return finalizeAndCheckLive();
}
