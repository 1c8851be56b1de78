// Events of both kinds: waits, queries, times, limits.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "../check.h"

namespace {

constexpr uint32_t kTimed = ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE;

aclrtEventRecordedStatus recorded(aclrtEvent event) {
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  CHECK_OK(aclrtQueryEventStatus(event, &status));
  return status;
}

struct Streams {
  aclrtStream first = nullptr;
  aclrtStream second = nullptr;
  Streams() {
    CHECK_OK(aclrtCreateStream(&first));
    CHECK_OK(aclrtCreateStream(&second));
  }
  ~Streams() {
    CHECK_OK(aclrtDestroyStream(first));
    CHECK_OK(aclrtDestroyStream(second));
  }
};

void testWaitUsesLatestRecord() {
  Streams streams;
  aclrtEvent event = nullptr;
  CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  CHECK(recorded(event) == ACL_EVENT_RECORDED_STATUS_COMPLETE);  // before the first record
  CHECK_OK(aclrtStreamWaitEvent(streams.second, event));
  CHECK_OK(aclrtSynchronizeStream(streams.second));

  Gate early;
  Gate late;
  int value = 0;
  int seen = -1;
  CHECK_OK(block(streams.first, early));
  CHECK_OK(launch(streams.first, [&] {
    value = 1;
    return ACL_SUCCESS;
  }));
  CHECK_OK(aclrtRecordEvent(event, streams.first));
  CHECK_OK(aclrtStreamWaitEvent(streams.second, event));
  CHECK_OK(launch(streams.second, [&] {
    seen = value;
    return ACL_SUCCESS;
  }));
  CHECK_OK(block(streams.first, late));
  CHECK_OK(aclrtRecordEvent(event, streams.first));  // the wait before it is for the earlier record
  CHECK(recorded(event) == ACL_EVENT_RECORDED_STATUS_NOT_READY);
  early.open();
  CHECK_OK(aclrtSynchronizeStream(streams.second));
  CHECK(seen == 1);
  CHECK(recorded(event) == ACL_EVENT_RECORDED_STATUS_NOT_READY);
  CHECK_CODE(aclrtSynchronizeEventWithTimeout(event, 20), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  late.open();
  CHECK_OK(aclrtSynchronizeEvent(event));
  CHECK(recorded(event) == ACL_EVENT_RECORDED_STATUS_COMPLETE);

  aclrtEventStatus old_status = ACL_EVENT_STATUS_RESERVED;
  aclrtEventWaitStatus wait_status = ACL_EVENT_WAIT_STATUS_RESERVED;
  CHECK_CODE(aclrtResetEvent(event, streams.first), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  CHECK_CODE(aclrtQueryEvent(event, &old_status), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  CHECK_CODE(aclrtQueryEventWaitStatus(event, &wait_status), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  CHECK_OK(aclrtDestroyEvent(event));
}

void testHardwareEvents() {
  Streams streams;
  aclrtEvent event = nullptr;
  aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
  aclrtEventWaitStatus wait_status = ACL_EVENT_WAIT_STATUS_RESERVED;
  uint32_t before = 0;
  uint32_t after = 0;
  CHECK_OK(aclrtGetEventAvailNum(&before));
  CHECK_OK(aclrtCreateEvent(&event));
  CHECK_OK(aclrtGetEventAvailNum(&after));
  CHECK(before == 65536 && after == 65535);
  CHECK_OK(aclrtQueryEvent(event, &status));
  CHECK(status == ACL_EVENT_STATUS_NOT_READY);
  CHECK_CODE(aclrtSynchronizeEvent(event), ACL_ERROR_RT_PARAM_INVALID);

  for (int round = 0; round < 3; ++round) {  // a wait before the record waits for it
    bool passed = false;
    CHECK_OK(aclrtStreamWaitEvent(streams.second, event));
    CHECK_OK(launch(streams.second, [&] {
      passed = true;
      return ACL_SUCCESS;
    }));
    CHECK_CODE(aclrtSynchronizeStreamWithTimeout(streams.second, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    CHECK_OK(aclrtQueryEventWaitStatus(event, &wait_status));
    CHECK(wait_status == ACL_EVENT_WAIT_STATUS_NOT_READY);
    CHECK_OK(aclrtRecordEvent(event, streams.first));
    CHECK_OK(aclrtSynchronizeStream(streams.second));
    CHECK(passed);
    CHECK_OK(aclrtQueryEvent(event, &status));
    CHECK(status == ACL_EVENT_STATUS_COMPLETE);
    CHECK_OK(aclrtQueryEventWaitStatus(event, &wait_status));
    CHECK(wait_status == ACL_EVENT_WAIT_STATUS_COMPLETE);
    CHECK_OK(aclrtResetEvent(event, streams.second));
  }
  CHECK_OK(aclrtDestroyEvent(event));
  CHECK_OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_TIME_LINE));
  CHECK_CODE(aclrtStreamWaitEvent(streams.second, event), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  CHECK_CODE(aclrtResetEvent(event, streams.second), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  CHECK_OK(aclrtDestroyEvent(event));
}

void testTimes() {
  Streams streams;
  aclrtEvent begin = nullptr;
  aclrtEvent end = nullptr;
  aclrtEvent untimed = nullptr;
  float ms = -1;
  uint64_t from = 0;
  uint64_t to = 0;
  CHECK_OK(aclrtCreateEventExWithFlag(&begin, kTimed));
  CHECK_OK(aclrtCreateEventExWithFlag(&end, kTimed));
  CHECK_OK(aclrtCreateEventExWithFlag(&untimed, ACL_EVENT_SYNC));
  CHECK_CODE(aclrtEventElapsedTime(&ms, begin, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  Gate gate;
  CHECK_OK(aclrtRecordEvent(begin, streams.first));
  CHECK_OK(block(streams.first, gate));
  CHECK_OK(aclrtRecordEvent(end, streams.first));
  CHECK_CODE(aclrtEventElapsedTime(&ms, begin, end), ACL_ERROR_RT_EVENT_NOT_COMPLETE);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  gate.open();
  CHECK_OK(aclrtSynchronizeEvent(end));
  CHECK_OK(aclrtEventElapsedTime(&ms, begin, end));
  CHECK(ms >= 20 && ms < 20000);
  CHECK_OK(aclrtEventGetTimestamp(begin, &from));
  CHECK_OK(aclrtEventGetTimestamp(end, &to));
  CHECK(to - from >= 20000);
  CHECK_CODE(aclrtEventElapsedTime(&ms, end, begin), ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL);
  CHECK_OK(aclrtRecordEvent(untimed, streams.first));
  CHECK_CODE(aclrtEventElapsedTime(&ms, begin, untimed), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
  for (aclrtEvent event : {begin, end, untimed}) CHECK_OK(aclrtDestroyEvent(event));
}

void testDestroyBeforeCompletion() {
  Streams streams;
  aclrtEvent event = nullptr;
  Gate gate;
  bool passed = false;
  CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  CHECK_OK(block(streams.first, gate));
  CHECK_OK(aclrtRecordEvent(event, streams.first));
  CHECK_OK(aclrtStreamWaitEvent(streams.second, event));
  CHECK_OK(launch(streams.second, [&] {
    passed = true;
    return ACL_SUCCESS;
  }));
  CHECK_OK(aclrtDestroyEvent(event));
  CHECK_CODE(aclrtDestroyEvent(event), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_CODE(aclrtRecordEvent(event, streams.first), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_CODE(aclrtSynchronizeStreamWithTimeout(streams.second, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  gate.open();
  CHECK_OK(aclrtSynchronizeStream(streams.second));
  CHECK(passed);
}

void testArguments() {
  aclrtEvent event = nullptr;
  uint32_t id = 0;
  CHECK_CODE(aclrtCreateEventExWithFlag(&event, 0), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC | ACL_EVENT_SYNC), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtCreateEventExWithFlag(&event, 0x1000), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtCreateEvent(nullptr), ACL_ERROR_INVALID_PARAM);
  CHECK_CODE(aclrtRecordEvent(nullptr, nullptr), ACL_ERROR_INVALID_PARAM);
  CHECK_CODE(aclrtStreamWaitEvent(nullptr, &event), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_EXTERNAL));
  CHECK_OK(aclrtGetEventId(event, &id));
  CHECK_OK(aclrtDestroyEvent(event));
}

void testOtherDevice() {
  aclrtEvent event = nullptr;
  aclrtStream stream = nullptr;
  CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  CHECK_OK(aclrtSetDevice(1));
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK_CODE(aclrtRecordEvent(event, stream), ACL_ERROR_RT_STREAM_CONTEXT);
  CHECK_OK(aclrtStreamWaitEvent(stream, event));
  CHECK_OK(aclrtDestroyStream(stream));
  CHECK_OK(aclrtResetDevice(1));
  CHECK_OK(aclrtSetDevice(0));
  CHECK_OK(aclrtDestroyEvent(event));
}

// A ring of streams, each waiting for the one before.
void testRing() {
  constexpr int kStreams = 4;
  std::vector<aclrtStream> streams(kStreams);
  std::vector<aclrtEvent> events(kStreams);
  for (aclrtStream &stream : streams) CHECK_OK(aclrtCreateStream(&stream));
  for (aclrtEvent &event : events) CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  int64_t total = 0;
  for (int round = 0; round < 200; ++round) {
    const int at = round % kStreams;
    CHECK_OK(aclrtStreamWaitEvent(streams[at], events[(at + kStreams - 1) % kStreams]));
    CHECK_OK(launch(streams[at], [&total, round] {
      total = total * 3 % 1000003 + round;
      return ACL_SUCCESS;
    }));
    CHECK_OK(aclrtRecordEvent(events[at], streams[at]));
  }
  CHECK_OK(aclrtSynchronizeDevice());
  int64_t expected = 0;
  for (int round = 0; round < 200; ++round) expected = expected * 3 % 1000003 + round;
  CHECK(total == expected);
  for (aclrtStream stream : streams) CHECK_OK(aclrtDestroyStream(stream));
  for (aclrtEvent event : events) CHECK_OK(aclrtDestroyEvent(event));
}

// An event that other processes may know, opened by its handle as they would.
void testIpc() {
  Streams streams;
  aclrtEvent plain = nullptr;
  aclrtEvent made = nullptr;
  aclrtEvent opened = nullptr;
  aclrtIpcEventHandle handle{};
  aclrtEventRecordedStatus status;
  CHECK_OK(aclrtCreateEventExWithFlag(&plain, ACL_EVENT_SYNC));
  CHECK_CODE(aclrtIpcGetEventHandle(plain, &handle), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  CHECK_CODE(aclrtIpcOpenEventHandle(handle, &opened), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtCreateEventExWithFlag(&made, ACL_EVENT_IPC));
  CHECK_CODE(aclrtIpcGetEventHandle(made, nullptr), ACL_ERROR_INVALID_PARAM);
  CHECK_OK(aclrtIpcGetEventHandle(made, &handle));
  CHECK_OK(aclrtIpcOpenEventHandle(handle, &opened));
  CHECK_OK(aclrtQueryEventStatus(opened, &status));
  CHECK(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);

  std::atomic<bool> released{false};
  std::atomic<bool> first_done{false};
  bool ordered = false;
  CHECK_OK(launch(streams.first, [&] {
    while (!released) std::this_thread::yield();
    first_done = true;
    return ACL_SUCCESS;
  }));
  CHECK_OK(aclrtRecordEvent(made, streams.first));
  CHECK_OK(aclrtQueryEventStatus(opened, &status));
  CHECK(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
  CHECK_CODE(aclrtSynchronizeEventWithTimeout(opened, 1), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  CHECK_OK(aclrtStreamWaitEvent(streams.second, opened));
  CHECK_OK(launch(streams.second, [&] {
    ordered = first_done;
    return ACL_SUCCESS;
  }));
  released = true;
  CHECK_OK(aclrtSynchronizeEvent(opened));
  CHECK_OK(aclrtSynchronizeStream(streams.second));
  CHECK(ordered);
  CHECK_OK(aclrtDestroyEvent(made));
  CHECK_CODE(aclrtIpcOpenEventHandle(handle, &made), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtDestroyEvent(opened));
  CHECK_OK(aclrtDestroyEvent(plain));
}

void testWaitTimesOut() {
  Streams streams;
  aclrtEvent event = nullptr;
  CHECK_OK(aclrtCreateEvent(&event));
  CHECK_CODE(aclrtStreamWaitEventWithTimeout(streams.second, event, -1), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtStreamWaitEventWithTimeout(streams.second, event, 1));
  CHECK_CODE(aclrtSynchronizeStream(streams.second), ACL_ERROR_RT_WAIT_TIMEOUT);
  CHECK_OK(aclrtDestroyEvent(event));
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_MEMORY", "64MiB", 1);
  setenv("MINDTORCH_SIM_DEVICES", "2", 1);
  start();
  testWaitUsesLatestRecord();
  testHardwareEvents();
  testTimes();
  testDestroyBeforeCompletion();
  testArguments();
  testOtherDevice();
  testRing();
  testIpc();
  testWaitTimesOut();  // last: it leaves the device with a fault
  return finalizeAndCheckLive();
}
