// Capture and graphs: stored tasks, their order, joining streams, forbidden calls.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "../check.h"

namespace {

std::vector<int> order;  // written by one stream at a time

aclError note(aclrtStream stream, int value, const char *name = "note") {
  return launch(
      stream,
      [value] {
        order.push_back(value);
        return ACL_SUCCESS;
      },
      name);
}

struct Streams {
  aclrtStream first = nullptr;
  aclrtStream second = nullptr;
  aclrtEvent event = nullptr;
  aclrtEvent back = nullptr;
  Streams() {
    CHECK_OK(aclrtCreateStream(&first));
    CHECK_OK(aclrtCreateStream(&second));
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    CHECK_OK(aclrtCreateEventExWithFlag(&back, ACL_EVENT_SYNC));
  }
  ~Streams() {
    CHECK_OK(aclrtDestroyEvent(back));
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_OK(aclrtDestroyStream(second));
    CHECK_OK(aclrtDestroyStream(first));
  }
};

aclError begin(aclrtStream stream, aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) {
  return aclmdlRICaptureBegin(stream, mode);
}

aclmdlRI end(aclrtStream stream) {
  aclmdlRI graph = nullptr;
  CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
  CHECK(graph != nullptr);
  return graph;
}

aclmdlRICaptureStatus status(aclrtStream stream) {
  aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
  aclmdlRI graph = nullptr;
  CHECK_OK(aclmdlRICaptureGetInfo(stream, &status, &graph));
  CHECK((graph != nullptr) == (status != ACL_MODEL_RI_CAPTURE_STATUS_NONE));
  return status;
}

// A capture that `call` spoils, with `code`; the stream works as before afterwards.
void spoils(const char *what, int code, const std::function<int(Streams &)> &call,
            aclmdlRICaptureMode mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL) {
  Streams streams;
  aclmdlRI graph = nullptr;
  CHECK_OK(begin(streams.first, mode));
  const int got = call(streams);
  if (got != code) std::fprintf(stderr, "%s: %d, expected %d\n", what, got, code);
  CHECK(got == code);
  CHECK(status(streams.first) == ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED);
  CHECK_CODE(note(streams.first, 0), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  CHECK_CODE(aclmdlRICaptureEnd(streams.first, &graph), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
  CHECK(graph == nullptr && status(streams.first) == ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  CHECK_OK(aclrtSynchronizeStream(streams.first));
  CHECK_OK(aclrtSynchronizeDevice());
  lastMessage();
}

void testStoredAndRunAgain() {
  Streams streams;
  order.clear();
  CHECK_OK(note(streams.first, 0));
  CHECK_OK(begin(streams.first));
  CHECK(status(streams.first) == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  CHECK_OK(note(streams.first, 1));
  CHECK_OK(note(streams.first, 2));
  const aclmdlRI graph = end(streams.first);
  CHECK_OK(aclrtSynchronizeStream(streams.first));
  CHECK((order == std::vector<int>{0}));
  CHECK_OK(aclmdlRIExecuteAsync(graph, streams.second));
  CHECK_OK(aclmdlRIExecuteAsync(graph, streams.second));
  CHECK_OK(aclrtSynchronizeStream(streams.second));
  CHECK_OK(aclmdlRIExecuteAsync(graph, nullptr));
  CHECK_OK(aclrtSynchronizeStream(nullptr));
  CHECK_OK(aclmdlRIExecute(graph, -1));
  CHECK((order == std::vector<int>{0, 1, 2, 1, 2, 1, 2, 1, 2}));
  CHECK_CODE(aclmdlRIExecute(graph, -2), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclmdlRIDestroy(graph));
  CHECK_CODE(aclmdlRIDestroy(graph), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_CODE(aclmdlRIExecuteAsync(graph, nullptr), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_CODE(aclmdlRIExecuteAsync(nullptr, nullptr), ACL_ERROR_INVALID_PARAM);
}

// Whoever destroys a graph need not wait for its executions, nor do executions on several streams run at once.
void testExecutionsFollowOneAnother() {
  Streams streams;
  order.clear();
  Gate gate;
  CHECK_OK(begin(streams.first));
  for (int i = 0; i < 3; ++i) CHECK_OK(note(streams.first, i));
  const aclmdlRI graph = end(streams.first);
  CHECK_OK(block(streams.first, gate));
  CHECK_OK(aclmdlRIExecuteAsync(graph, streams.first));
  CHECK_OK(aclmdlRIExecuteAsync(graph, streams.second));
  CHECK_CODE(aclrtSynchronizeStreamWithTimeout(streams.second, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  CHECK_OK(aclmdlRIDestroy(graph));
  gate.open();
  CHECK_OK(aclrtSynchronizeDevice());
  CHECK((order == std::vector<int>{0, 1, 2, 0, 1, 2}));
}

void testForkAndJoin() {
  Streams streams;
  order.clear();
  CHECK_OK(begin(streams.first));
  CHECK_OK(note(streams.first, 1));
  CHECK_OK(aclrtRecordEvent(streams.event, streams.first));
  CHECK_OK(aclrtStreamWaitEvent(streams.second, streams.event));
  CHECK(status(streams.second) == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  CHECK_OK(note(streams.second, 2));
  CHECK_OK(aclrtRecordEvent(streams.back, streams.second));
  CHECK_OK(note(streams.first, 3));
  CHECK_OK(aclrtStreamWaitEvent(streams.first, streams.back));
  CHECK_OK(note(streams.first, 4));
  aclmdlRI graph = nullptr;
  CHECK_CODE(aclmdlRICaptureEnd(streams.second, &graph), ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED);
  graph = end(streams.first);
  CHECK(status(streams.second) == ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  CHECK(order.empty());
  CHECK_OK(aclmdlRIExecute(graph, -1));
  CHECK((order == std::vector<int>{1, 2, 3, 4}));
  // The events stood for places in the capture, and stand for nothing now.
  aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  CHECK_CODE(aclrtQueryEventStatus(streams.event, &recorded), ACL_ERROR_RT_EVENT_CAPTURED);
  CHECK_CODE(aclrtSynchronizeEvent(streams.event), ACL_ERROR_RT_EVENT_CAPTURED);
  CHECK_CODE(aclrtStreamWaitEvent(streams.second, streams.event), ACL_ERROR_RT_EVENT_CAPTURED);
  CHECK_OK(aclrtRecordEvent(streams.event, streams.first));
  CHECK_OK(aclrtSynchronizeEvent(streams.event));
  CHECK_OK(aclmdlRIDestroy(graph));
}

void testUnjoined() {
  const std::function<void(Streams &)> forgets[] = {[](Streams &) {},
                                                    [](Streams &streams) {
                                                      CHECK_OK(aclrtRecordEvent(streams.back, streams.second));
                                                      CHECK_OK(note(streams.second, 5));
                                                      CHECK_OK(aclrtStreamWaitEvent(streams.first, streams.back));
                                                    }};
  for (const auto &forget : forgets) {
    Streams streams;
    aclmdlRI graph = nullptr;
    CHECK_OK(begin(streams.first));
    CHECK_OK(aclrtRecordEvent(streams.event, streams.first));
    CHECK_OK(aclrtStreamWaitEvent(streams.second, streams.event));
    forget(streams);
    CHECK_CODE(aclmdlRICaptureEnd(streams.first, &graph), ACL_ERROR_RT_STREAM_UNJOINED);
    CHECK(graph == nullptr && status(streams.second) == ACL_MODEL_RI_CAPTURE_STATUS_NONE);
    CHECK_OK(aclrtSynchronizeDevice());
  }
}

void testRefusedAtBegin() {
  Streams streams;
  aclmdlRI graph = nullptr;
  CHECK_CODE(begin(nullptr), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(begin(streams.first, static_cast<aclmdlRICaptureMode>(3)), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclmdlRICaptureEnd(streams.first, &graph), ACL_ERROR_RT_STREAM_NOT_CAPTURED);
  CHECK_CODE(aclmdlRICaptureEnd(streams.first, nullptr), ACL_ERROR_INVALID_PARAM);
  CHECK_OK(begin(streams.first));
  CHECK_CODE(begin(streams.first), ACL_ERROR_RT_STREAM_CAPTURED);
  CHECK(status(streams.first) == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  CHECK_OK(aclmdlRIDestroy(end(streams.first)));
}

void testThreads() {
  for (const auto mode : {ACL_MODEL_RI_CAPTURE_MODE_GLOBAL, ACL_MODEL_RI_CAPTURE_MODE_RELAXED}) {
    Streams streams;
    aclmdlRI graph = nullptr;
    aclrtContext context = nullptr;
    CHECK_OK(aclrtGetCurrentContext(&context));
    CHECK_OK(begin(streams.first, mode));
    const bool relaxed = mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
    std::thread([&] {
      CHECK_OK(aclrtSetCurrentContext(context));
      CHECK_CODE(aclmdlRICaptureEnd(streams.first, &graph),
                 relaxed ? ACL_SUCCESS : ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD);
    }).join();
    if (!relaxed) graph = end(streams.first);
    CHECK_OK(aclmdlRIDestroy(graph));
  }
}

// Queries and waits of the host are refused; the capture goes on.
void testWaitingIsRefused() {
  Streams streams;
  order.clear();
  aclrtStreamStatus stream_status = ACL_STREAM_STATUS_RESERVED;
  aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  CHECK_OK(begin(streams.second));
  const aclmdlRI other = end(streams.second);
  CHECK_OK(begin(streams.first));
  CHECK_OK(note(streams.first, 1));
  CHECK_OK(aclrtRecordEvent(streams.event, streams.first));
  CHECK_CODE(aclrtSynchronizeStream(streams.first), ACL_ERROR_RT_STREAM_CAPTURED);
  CHECK_CODE(aclrtStreamQuery(streams.first, &stream_status), ACL_ERROR_RT_STREAM_CAPTURED);
  CHECK_CODE(aclrtSynchronizeDevice(), ACL_ERROR_RT_STREAM_CAPTURED);
  CHECK_CODE(aclrtDestroyStream(streams.first), ACL_ERROR_RT_STREAM_CAPTURED);
  CHECK_CODE(aclrtSynchronizeEvent(streams.event), ACL_ERROR_RT_EVENT_CAPTURED);
  CHECK_CODE(aclrtQueryEventStatus(streams.event, &recorded), ACL_ERROR_RT_EVENT_CAPTURED);
  CHECK_CODE(aclmdlRIExecuteAsync(other, streams.first), ACL_ERROR_RT_STREAM_CAPTURED);
  CHECK(status(streams.first) == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE);
  CHECK_OK(note(streams.first, 2));
  const aclmdlRI graph = end(streams.first);
  CHECK_OK(aclmdlRIExecute(graph, -1));
  CHECK((order == std::vector<int>{1, 2}));
  CHECK_OK(aclmdlRIDestroy(graph));
  CHECK_OK(aclmdlRIDestroy(other));
}

// The callbacks of a graph are run by the thread that processes reports, anew in each execution.
void testCapturedCallback() {
  Streams streams;
  order.clear();
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> thread_id{0};
  std::thread worker([&] {
    thread_id = static_cast<uint64_t>(pthread_self());
    while (!stop) aclrtProcessReport(10);
  });
  while (thread_id == 0) std::this_thread::yield();
  CHECK_OK(aclrtSubscribeReport(thread_id, streams.first));
  CHECK_OK(begin(streams.first));
  CHECK_OK(aclrtLaunchCallback([](void *) { order.push_back(1); }, nullptr, ACL_CALLBACK_BLOCK, streams.first));
  CHECK_OK(note(streams.first, 2));
  const aclmdlRI graph = end(streams.first);
  CHECK(order.empty());
  CHECK_OK(aclmdlRIExecute(graph, -1));
  CHECK_OK(aclmdlRIExecute(graph, -1));
  CHECK((order == std::vector<int>{1, 2, 1, 2}));
  stop = true;
  worker.join();
  CHECK_OK(aclmdlRIDestroy(graph));
  CHECK_OK(aclrtUnSubscribeReport(thread_id, streams.first));
}

void testWrongEventsSpoil() {
  aclrtEvent plain = nullptr;
  Streams outside;
  CHECK_OK(aclrtCreateEventExWithFlag(&plain, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
  CHECK_OK(aclrtRecordEvent(plain, outside.first));
  spoils("an event from outside", ACL_ERROR_RT_CAPTURE_DEPENDENCY,
         [&](Streams &streams) { return aclrtStreamWaitEvent(streams.first, plain); });
  spoils("the default stream", ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, [](Streams &streams) {
    CHECK_OK(aclrtRecordEvent(streams.event, streams.first));
    return aclrtStreamWaitEvent(nullptr, streams.event);
  });
  spoils("two captures", ACL_ERROR_STREAM_CAPTURE_CONFLICT, [](Streams &streams) {
    aclmdlRI graph = nullptr;
    CHECK_OK(begin(streams.second));
    CHECK_OK(aclrtRecordEvent(streams.event, streams.first));
    const int code = aclrtStreamWaitEvent(streams.second, streams.event);
    CHECK_CODE(aclmdlRICaptureEnd(streams.second, &graph), ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    return code;
  });
  CHECK_OK(aclrtDestroyEvent(plain));
}

// Which threads may copy at once, by the mode of the capture and the caller's own.
void testModes() {
  void *memory = nullptr;
  char pageable[64] = "pageable";
  CHECK_OK(aclrtMalloc(&memory, sizeof pageable, ACL_MEM_MALLOC_HUGE_FIRST));
  const auto copy = [&] { return aclrtMemcpy(memory, 64, pageable, 64, ACL_MEMCPY_HOST_TO_DEVICE); };
  spoils("memcpy", ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, [&](Streams &) { return copy(); });
  spoils(
      "memset", ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, [&](Streams &) { return aclrtMemset(memory, 64, 0, 64); },
      ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL);
  spoils("pageable elsewhere", ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC, [&](Streams &streams) {
    return aclrtMemcpyAsync(memory, 64, pageable, 64, ACL_MEMCPY_HOST_TO_DEVICE, streams.second);
  });
  spoils(
      "pageable captured", ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC,
      [&](Streams &streams) {
        return aclrtMemcpyAsync(memory, 64, pageable, 64, ACL_MEMCPY_HOST_TO_DEVICE, streams.first);
      },
      ACL_MODEL_RI_CAPTURE_MODE_RELAXED);
  aclrtContext context = nullptr;
  CHECK_OK(aclrtGetCurrentContext(&context));
  struct Case {
    aclmdlRICaptureMode capture, caller;
    bool other_thread, allowed;
  };
  const auto global = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
  const auto local = ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL;
  const auto relaxed = ACL_MODEL_RI_CAPTURE_MODE_RELAXED;
  const Case cases[] = {{global, global, true, false},  {global, local, true, true},  {global, relaxed, false, true},
                        {local, global, true, true},    {local, local, false, false}, {local, relaxed, false, true},
                        {relaxed, global, false, true}, {relaxed, global, true, true}};
  for (const Case &each : cases) {
    Streams streams;
    aclmdlRI graph = nullptr;
    CHECK_OK(begin(streams.first, each.capture));
    const auto call = [&] {
      aclmdlRICaptureMode mode = each.caller;
      CHECK_OK(aclrtSetCurrentContext(context));
      CHECK_OK(aclmdlRICaptureThreadExchangeMode(&mode));
      CHECK(mode == global);
      CHECK((copy() == ACL_SUCCESS) == each.allowed);
      CHECK_OK(aclmdlRICaptureThreadExchangeMode(&mode));
      CHECK(mode == each.caller);
    };
    if (each.other_thread) {
      std::thread(call).join();
    } else {
      call();
    }
    CHECK_CODE(aclmdlRICaptureEnd(streams.first, &graph),
               each.allowed ? ACL_SUCCESS : ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED);
    if (graph != nullptr) CHECK_OK(aclmdlRIDestroy(graph));
  }
  CHECK_OK(aclrtFree(memory));
  lastMessage();
}

void testPinnedCopies() {
  Streams streams;
  void *memory = nullptr;
  void *from = nullptr;
  void *to = nullptr;
  CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK_OK(aclrtMallocHost(&from, 64));
  CHECK_OK(aclrtMallocHost(&to, 64));
  CHECK_OK(begin(streams.first));
  CHECK_OK(aclrtMemcpyAsync(memory, 64, from, 64, ACL_MEMCPY_HOST_TO_DEVICE, streams.first));
  CHECK_OK(aclrtMemcpyAsync(to, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST, streams.first));
  const aclmdlRI graph = end(streams.first);
  for (const char *text : {"once", "and again"}) {
    std::strcpy(static_cast<char *>(from), text);
    CHECK_OK(aclmdlRIExecute(graph, 10000));
    CHECK(std::strcmp(static_cast<char *>(to), text) == 0);
  }
  CHECK_OK(aclrtFree(memory));  // which the graph still uses
  CHECK_CODE(aclmdlRIExecute(graph, -1), ACL_ERROR_RT_SYS_DMA);
  CHECK(contains(lastMessage(), "task 0 of the graph, aclrtMemcpyAsync, failed"));
  CHECK_OK(aclmdlRIDestroy(graph));
  CHECK_OK(aclrtFreeHost(from));
  CHECK_OK(aclrtFreeHost(to));
}

// Events of the older sort are flags that a graph waits for, takes down and raises whenever it is run.
void testFlags() {
  aclrtStream stream = nullptr;
  aclrtEvent flag = nullptr;
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK_OK(aclrtCreateEventWithFlag(&flag, ACL_EVENT_SYNC));
  order.clear();
  CHECK_OK(begin(stream));
  CHECK_OK(aclrtStreamWaitEvent(stream, flag));
  CHECK_OK(aclrtResetEvent(flag, stream));
  CHECK_OK(note(stream, 1));
  const aclmdlRI graph = end(stream);
  for (size_t times = 1; times <= 2; ++times) {
    CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
    CHECK_CODE(aclrtSynchronizeStreamWithTimeout(stream, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    CHECK_OK(aclrtRecordEvent(flag, nullptr));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(order.size() == times);
  }
  CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
  CHECK_OK(aclmdlRIAbort(graph));
  CHECK_OK(aclrtStreamAbort(stream));
  CHECK_OK(aclrtSynchronizeStream(stream));
  CHECK(order.size() == 2);
  CHECK_OK(aclmdlRIDestroy(graph));
  CHECK_OK(aclrtDestroyEvent(flag));
  CHECK_OK(aclrtDestroyStream(stream));
  lastMessage();
}

void testUpdates() {
  Streams streams;
  aclrtTaskGrp group = nullptr;
  order.clear();
  CHECK_CODE(aclmdlRICaptureTaskGrpBegin(streams.first), ACL_ERROR_RT_STREAM_NOT_CAPTURED);
  CHECK_OK(begin(streams.first));
  CHECK_CODE(aclmdlRICaptureTaskGrpEnd(streams.first, &group), ACL_ERROR_STREAM_TASK_GROUP_STATUS);
  CHECK_OK(note(streams.first, 1));
  CHECK_OK(aclmdlRICaptureTaskGrpBegin(streams.first));
  CHECK_CODE(aclmdlRICaptureTaskGrpBegin(streams.first), ACL_ERROR_STREAM_TASK_GROUP_STATUS);
  CHECK_OK(note(streams.first, 2));
  CHECK_OK(note(streams.first, 3, "another"));
  CHECK_OK(aclmdlRICaptureTaskGrpEnd(streams.first, &group));
  CHECK_OK(note(streams.first, 4));
  const aclmdlRI graph = end(streams.first);
  CHECK_OK(aclmdlRICaptureTaskUpdateBegin(streams.second, group));
  CHECK_CODE(aclrtSynchronizeStream(streams.second), ACL_ERROR_STREAM_TASK_GROUP_STATUS);
  CHECK_OK(note(streams.second, 20));
  CHECK_OK(note(streams.second, 30, "another"));
  CHECK_OK(aclmdlRICaptureTaskUpdateEnd(streams.second));
  CHECK_OK(aclrtSynchronizeStream(streams.second));
  CHECK(order.empty());
  CHECK_OK(aclmdlRIExecute(graph, -1));
  CHECK((order == std::vector<int>{1, 20, 30, 4}));
  const char *const others[] = {"note", nullptr};  // another operator, and one too few
  for (const char *other : others) {
    CHECK_OK(aclmdlRICaptureTaskUpdateBegin(streams.second, group));
    CHECK_OK(note(streams.second, 200));
    if (other != nullptr) CHECK_OK(note(streams.second, 300, other));
    CHECK_CODE(aclmdlRICaptureTaskUpdateEnd(streams.second), ACL_ERROR_RT_MODEL_UPDATE_FAILED);
  }
  CHECK_CODE(aclmdlRICaptureTaskUpdateEnd(streams.second), ACL_ERROR_STREAM_TASK_GROUP_STATUS);
  order.clear();
  CHECK_OK(aclmdlRIExecute(graph, -1));
  CHECK((order == std::vector<int>{1, 20, 30, 4}));
  CHECK_OK(aclmdlRIDestroy(graph));
  CHECK_CODE(aclmdlRICaptureTaskUpdateBegin(streams.second, group), ACL_ERROR_RT_INVALID_HANDLE);
  lastMessage();
}

void testPrinted() {
  Streams streams;
  CHECK_OK(begin(streams.first));
  CHECK_OK(note(streams.first, 1, "a \"task\""));
  const aclmdlRI graph = end(streams.first);
  const std::string path = "/tmp/mindtorch_graph_" + std::to_string(getpid()) + ".json";
  CHECK_OK(aclmdlRIDebugJsonPrint(graph, path.c_str(), 0));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  CHECK(contains(text.str(), "\"name\": \"a \\\"task\\\"\"}\n]}"));
  CHECK(std::remove(path.c_str()) == 0);
  CHECK_CODE(aclmdlRIDebugJsonPrint(graph, "/no/such/folder/graph.json", 0), ACL_ERROR_INVALID_FILE);
  CHECK_CODE(aclmdlRIDebugJsonPrint(graph, path.c_str(), 2), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclmdlRIDebugPrint(graph));
  CHECK_OK(aclmdlRIDestroy(graph));
}

// Captures and graphs go with their stream or device.
void testTakenAlong() {
  aclrtStream stream = nullptr;
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK_OK(begin(stream));
  CHECK_OK(note(stream, 1));
  CHECK_OK(aclrtDestroyStreamForce(stream));
  CHECK(simLive(SIM_GRAPH) == 0);
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK_OK(begin(stream));
  CHECK_OK(note(stream, 1));
  end(stream);
  CHECK_OK(begin(stream));
  CHECK(simLive(SIM_GRAPH) == 2);
  CHECK_OK(aclrtResetDeviceForce(0));
  CHECK(simLive(SIM_GRAPH) == 0);
  CHECK_OK(aclrtSetDevice(0));
}

void testManyThreadsCapture() {
  aclrtContext context = nullptr;
  CHECK_OK(aclrtGetCurrentContext(&context));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      CHECK_OK(aclrtSetCurrentContext(context));
      aclrtStream stream = nullptr;
      std::atomic<int> runs{0};
      CHECK_OK(aclrtCreateStream(&stream));
      for (int round = 0; round < 20; ++round) {
        CHECK_OK(begin(stream, ACL_MODEL_RI_CAPTURE_MODE_THREAD_LOCAL));
        for (int i = 0; i < 5; ++i) {
          CHECK_OK(launch(stream, [&runs] {
            ++runs;
            return ACL_SUCCESS;
          }));
        }
        const aclmdlRI graph = end(stream);
        for (int i = 0; i < 3; ++i) CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
        CHECK_OK(aclmdlRIDestroy(graph));
      }
      CHECK_OK(aclrtSynchronizeStream(stream));
      CHECK(runs == 300);
      CHECK_OK(aclrtDestroyStream(stream));
    });
  }
  for (std::thread &thread : threads) thread.join();
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_MEMORY", "64MiB", 1);
  start();
  testStoredAndRunAgain();
  testExecutionsFollowOneAnother();
  testForkAndJoin();
  testUnjoined();
  testRefusedAtBegin();
  testThreads();
  testWaitingIsRefused();
  testCapturedCallback();
  testWrongEventsSpoil();
  testModes();
  testPinnedCopies();
  CHECK_OK(aclrtResetDeviceForce(0));  // its fault
  CHECK_OK(aclrtSetDevice(0));
  testFlags();
  testUpdates();
  testPrinted();
  testTakenAlong();
  testManyThreadsCapture();
  return finalizeAndCheckLive();
}
