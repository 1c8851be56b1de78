// Notifies, and host functions of both kinds.
#include <pthread.h>

#include <atomic>
#include <thread>
#include <vector>

#include "../check.h"

namespace {

void testNotify() {
  aclrtStream first = nullptr;
  aclrtStream second = nullptr;
  aclrtNotify notify = nullptr;
  uint32_t id = 0;
  CHECK_OK(aclrtCreateStream(&first));
  CHECK_OK(aclrtCreateStream(&second));
  CHECK_CODE(aclrtCreateNotify(&notify, 5), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtCreateNotify(&notify, 0));
  CHECK_OK(aclrtGetNotifyId(notify, &id));
  for (int round = 0; round < 3; ++round) {  // one record ends one wait
    CHECK_OK(aclrtWaitAndResetNotify(notify, second, 0));
    CHECK_CODE(aclrtSynchronizeStreamWithTimeout(second, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    CHECK_OK(aclrtRecordNotify(notify, first));
    CHECK_OK(aclrtSynchronizeStream(second));
  }
  CHECK_OK(aclrtRecordNotify(notify, first));  // the record may come first
  CHECK_OK(aclrtSynchronizeStream(first));
  CHECK_OK(aclrtWaitAndResetNotify(notify, second, 1));
  CHECK_OK(aclrtSynchronizeStream(second));
  CHECK_OK(aclrtDestroyNotify(notify));
  CHECK_CODE(aclrtDestroyNotify(notify), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_CODE(aclrtRecordNotify(notify, first), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_CODE(aclrtRecordNotify(nullptr, first), ACL_ERROR_INVALID_PARAM);
  CHECK_OK(aclrtDestroyStream(first));
  CHECK_OK(aclrtDestroyStream(second));
}

struct Log {
  Gate *gate = nullptr;
  std::vector<int> *order = nullptr;
  int value = 0;
  std::thread::id thread;
};

void note(void *argument) {
  auto *log = static_cast<Log *>(argument);
  if (log->gate != nullptr) log->gate->wait();
  log->thread = std::this_thread::get_id();
  log->order->push_back(log->value);
}

void testHostFunction() {
  aclrtStream stream = nullptr;
  Gate gate;
  std::vector<int> order;
  Log first{&gate, &order, 1, {}};
  Log second{nullptr, &order, 3, {}};
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK_OK(aclrtLaunchHostFunc(stream, note, &first));
  CHECK_OK(launch(stream, [&] {
    order.push_back(2);
    return ACL_SUCCESS;
  }));
  CHECK_OK(aclrtLaunchHostFunc(stream, note, &second));
  CHECK_CODE(aclrtSynchronizeStreamWithTimeout(stream, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  gate.open();
  CHECK_OK(aclrtSynchronizeStream(stream));
  CHECK((order == std::vector<int>{1, 2, 3}));
  CHECK(first.thread != std::this_thread::get_id());
  CHECK_CODE(aclrtLaunchHostFunc(stream, nullptr, nullptr), ACL_ERROR_INVALID_PARAM);
  CHECK_OK(aclrtDestroyStream(stream));
}

// aclrtLaunchCallback: the thread that subscribed runs the callbacks, and a blocking one holds the stream.
void testReports() {
  aclrtStream stream = nullptr;
  std::vector<int> order;
  CHECK_OK(aclrtCreateStream(&stream));
  Log callback{nullptr, &order, 1, {}};
  CHECK_CODE(aclrtLaunchCallback(note, &callback, ACL_CALLBACK_BLOCK, stream), ACL_ERROR_RT_STREAM_NO_CB_REG);
  CHECK_CODE(aclrtProcessReport(10), ACL_ERROR_RT_THREAD_SUBSCRIBE);
  std::atomic<bool> stop{false};
  std::atomic<int> processed{0};
  std::atomic<uint64_t> thread_id{0};
  Gate subscribed;
  std::thread worker([&] {
    thread_id = static_cast<uint64_t>(pthread_self());
    subscribed.wait();
    while (!stop) {
      const aclError error = aclrtProcessReport(20);
      if (error == ACL_SUCCESS) ++processed;
      CHECK(error == ACL_SUCCESS || error == ACL_ERROR_RT_REPORT_TIMEOUT);
    }
  });
  while (thread_id == 0) std::this_thread::yield();
  CHECK_OK(aclrtSubscribeReport(thread_id, stream));
  CHECK_CODE(aclrtSubscribeReport(thread_id, stream), ACL_ERROR_RT_STREAM_SUBSCRIBE);
  CHECK_CODE(aclrtLaunchHostFunc(stream, note, &callback), ACL_ERROR_RT_STREAM_SUBSCRIBE);
  CHECK_OK(aclrtLaunchCallback(note, &callback, ACL_CALLBACK_BLOCK, stream));
  CHECK_OK(launch(stream, [&] {
    order.push_back(2);
    return ACL_SUCCESS;
  }));
  subscribed.open();
  CHECK_OK(aclrtSynchronizeStream(stream));
  CHECK((order == std::vector<int>{1, 2}));
  CHECK(callback.thread == worker.get_id());
  CHECK_OK(aclrtLaunchCallback(note, &callback, ACL_CALLBACK_NO_BLOCK, stream));
  CHECK_OK(aclrtSynchronizeStream(stream));
  while (processed < 2) std::this_thread::yield();
  stop = true;
  worker.join();
  CHECK(order.size() == 3);
  CHECK_CODE(aclrtUnSubscribeReport(thread_id + 1, stream), ACL_ERROR_RT_THREAD_SUBSCRIBE);
  CHECK_OK(aclrtUnSubscribeReport(thread_id, stream));
  CHECK_CODE(aclrtProcessReport(0), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtDestroyStream(stream));
}

// Nobody processes the report; the stream can be got rid of all the same.
void testAbandonedCallback() {
  aclrtStream stream = nullptr;
  std::vector<int> order;
  Log callback{nullptr, &order, 1, {}};
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK_OK(aclrtSubscribeReport(12345, stream));
  CHECK_OK(aclrtLaunchCallback(note, &callback, ACL_CALLBACK_BLOCK, stream));
  CHECK_CODE(aclrtSynchronizeStreamWithTimeout(stream, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  CHECK_OK(aclrtDestroyStreamForce(stream));
  CHECK(order.empty());
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_MEMORY", "64MiB", 1);
  start();
  testNotify();
  testHostFunction();
  testReports();
  testAbandonedCallback();
  return finalizeAndCheckLive();
}
