/* MINDTORCH_SIM_COST: what calls cost the calling thread, when the modelled device is done, and settings that are
 * refused. Only least times are checked: the machine may always be slower. */
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "aclnnop/aclnn_add.h"
#include "op_test.h"

extern "C" int64_t simCost(const char *name); /* runtime/cost.h */

namespace {

using Clock = std::chrono::steady_clock;

constexpr char kProfile[] =
    "# each line a name and a value\n"
    "base = high\n"
    "phase1 = 3ms\n"
    "phase1.hit = 1ms   # a call that was kept\n"
    "phase2 = 2000us\n"
    "aclCreateT* = 4000000ns\n"
    "kernel.least = 20ms\n"
    "link.rate = 1e6\n"
    "queue.depth = 3\n";

double milliseconds(const std::function<void()> &run) {
  const auto begin = Clock::now();
  run();
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

struct Sum {
  Tensor x{ACL_FLOAT, {2}, {1, 2}}, out{ACL_FLOAT, {2}, {}};
  Scalar one{1.0};
  uint64_t size = 0;
  aclOpExecutor *executor = nullptr;
  void phase1() { EXPECT(aclnnAddGetWorkspaceSize(x, x, one, out, &size, &executor) == ACLNN_SUCCESS); }
  void phase2(aclrtStream stream = nullptr) { EXPECT(aclnnAdd(nullptr, 0, executor, stream) == ACLNN_SUCCESS); }
  void launch(aclrtStream stream = nullptr) {
    phase1();
    phase2(stream);
  }
};

void synchronize(aclrtStream stream = nullptr) { EXPECT(aclrtSynchronizeStream(stream) == ACL_SUCCESS); }

void testCalls() {
  currentCase() = "calls";
  simCountCalls(1);
  EXPECT(milliseconds([] { Tensor(ACL_FLOAT, {1}, {1}); }) >= 4);
  Sum sum;
  EXPECT(milliseconds([&] { sum.phase1(); }) >= 3);
  EXPECT(milliseconds([&] { sum.phase2(); }) >= 2);
  sum.launch();
  EXPECT(simCalls("phase1") == 1 && simCalls("phase1.hit") == 1 && simCalls("phase2") == 2);
  simSetLatency("aclnnAdd", 5000000); /* in addition */
  sum.phase1();
  EXPECT(milliseconds([&] { sum.phase2(); }) >= 7);
  simClearFaults(); /* the model stays */
  EXPECT(milliseconds([&] { sum.launch(); }) >= 3);
  simCountCalls(0);
  EXPECT(simArmed == SIM_MODELLED);
  synchronize();
}

void testDevice() {
  currentCase() = "device";
  Sum sum;
  synchronize();
  const double took = milliseconds([&] {
    sum.launch();
    synchronize();
  });
  EXPECT(took >= 23);
  EXPECT_VALUES(sum.out.read(), {2, 4}, 0);
  const auto four = [&] {
    for (int i = 0; i < 4; ++i) sum.launch();
  };
  EXPECT(milliseconds([&] {
           EXPECT(milliseconds(four) >= 20); /* three are under way at most */
           synchronize();
         }) >= 80);
  char bytes[10000] = {};
  void *memory = nullptr;
  EXPECT(aclrtMalloc(&memory, sizeof bytes, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  const auto copy = [&] { aclrtMemcpy(memory, sizeof bytes, bytes, sizeof bytes, ACL_MEMCPY_HOST_TO_DEVICE); };
  EXPECT(milliseconds(copy) >= 10); /* at 1 MB/s */
  EXPECT(aclrtFree(memory) == ACL_SUCCESS);
}

void testEvents() {
  currentCase() = "events";
  Sum sum;
  aclrtStream other;
  aclrtEvent begin, end;
  EXPECT(aclrtCreateStream(&other) == ACL_SUCCESS);
  for (aclrtEvent *event : {&begin, &end}) {
    EXPECT(aclrtCreateEventExWithFlag(event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE) == ACL_SUCCESS);
  }
  synchronize();
  EXPECT(aclrtRecordEvent(begin, nullptr) == ACL_SUCCESS);
  sum.launch();
  EXPECT(aclrtRecordEvent(end, nullptr) == ACL_SUCCESS);
  aclrtEventRecordedStatus status;
  aclrtStreamStatus busy;
  float elapsed = 0;
  EXPECT(aclrtQueryEventStatus(end, &status) == ACL_SUCCESS && status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
  EXPECT(aclrtStreamQuery(nullptr, &busy) == ACL_SUCCESS && busy == ACL_STREAM_STATUS_NOT_READY);
  EXPECT(aclrtEventElapsedTime(&elapsed, begin, end) == ACL_ERROR_RT_EVENT_NOT_COMPLETE);
  EXPECT(aclrtStreamWaitEvent(other, end) == ACL_SUCCESS);
  EXPECT(aclrtSynchronizeStreamWithTimeout(other, 1) == ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
  EXPECT(aclrtSynchronizeEventWithTimeout(end, 1) == ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  EXPECT(milliseconds([&] {
           sum.launch(other); /* begins when the event has come */
           EXPECT(aclrtSynchronizeEvent(end) == ACL_SUCCESS);
           synchronize(other);
         }) >= 20);
  EXPECT(aclrtQueryEventStatus(end, &status) == ACL_SUCCESS && status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
  EXPECT(aclrtStreamQuery(nullptr, &busy) == ACL_SUCCESS && busy == ACL_STREAM_STATUS_COMPLETE);
  EXPECT(aclrtEventElapsedTime(&elapsed, begin, end) == ACL_SUCCESS && elapsed >= 20);
  EXPECT(aclrtDestroyEvent(begin) == ACL_SUCCESS && aclrtDestroyEvent(end) == ACL_SUCCESS);
  EXPECT(aclrtDestroyStream(other) == ACL_SUCCESS);
}

void testGraph() {
  currentCase() = "graph";
  Sum sum;
  aclrtStream stream;
  aclmdlRI graph;
  EXPECT(aclrtCreateStream(&stream) == ACL_SUCCESS);
  EXPECT(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED) == ACL_SUCCESS);
  for (int i = 0; i < 3; ++i) sum.launch(stream);
  EXPECT(aclmdlRICaptureEnd(stream, &graph) == ACL_SUCCESS);
  synchronize(stream); /* a capture takes no time of the device */
  const double took = milliseconds([&] {
    EXPECT(aclmdlRIExecuteAsync(graph, stream) == ACL_SUCCESS);
    synchronize(stream);
  });
  EXPECT(took >= 60);
  EXPECT_VALUES(sum.out.read(), {2, 4}, 0);
  EXPECT(aclmdlRIDestroy(graph) == ACL_SUCCESS);
  EXPECT(aclrtDestroyStream(stream) == ACL_SUCCESS);
}

/* Null kernels, which are complete at once, take their time of the device. */
void testNullKernels() {
  currentCase() = "null kernels";
  simSetNullKernels(1);
  Sum sum;
  EXPECT(milliseconds([&] {
           sum.launch();
           synchronize();
         }) >= 20);
  simSetNullKernels(0);
}

void testThreads() {
  currentCase() = "threads";
  const auto work = [] {
    aclrtStream stream;
    EXPECT(aclrtSetDevice(0) == ACL_SUCCESS && aclrtCreateStream(&stream) == ACL_SUCCESS);
    Sum sum, other;
    for (int i = 0; i < 4; ++i) sum.launch(stream);
    other.launch(); /* on the stream of both threads */
    synchronize(stream);
    synchronize();
    EXPECT_VALUES(sum.out.read(), {2, 4}, 0);
    EXPECT(aclrtDestroyStream(stream) == ACL_SUCCESS);
  };
  std::thread other(work);
  work();
  other.join();
}

void testProducts() {
  currentCase() = "products";
  EXPECT(simKernelTime(1, 0) == 20000000);
  EXPECT(simKernelTime(int64_t{1} << 40, 0) > 500000000); /* a terabyte */
  EXPECT(simKernelTime(1, 1.5e14) >= 1000000000);         /* a second's worth of products */
}

/* Settings that are refused, each with what the message says. */
const struct {
  const char *setting, *message;
} kRefused[] = {
    {"lwo", "MINDTORCH_SIM_COST=lwo is not low, medium, high or a file that can be read"},
    {"phase1 8us", "line 2: \"phase1 8us\" is not such as \"phase1 = 8us\""},
    {"phase1 = 8 lightyears", "line 2"},
    {"phase1 = -8us", "line 2"},
    {"base = lwo", "line 2"},
    {"queue.depth = 0", "line 2"},
    {"= 3us", "line 2"},
};

int testRefused(const char *message) {
  uint32_t count = 0;
  EXPECT(aclInit(nullptr) == ACL_ERROR_INVALID_PARAM && std::strstr(aclGetRecentErrMsg(), message) != nullptr);
  EXPECT(aclrtSetDevice(0) == ACL_ERROR_INVALID_PARAM && std::strstr(aclGetRecentErrMsg(), message) != nullptr);
  EXPECT(aclrtGetDeviceCount(&count) == ACL_ERROR_INVALID_PARAM);
  return 0;
}

std::string writeFile(const char *program, const std::string &text) {
  const std::string path = std::string(program) + ".cost";
  std::ofstream(path) << text;
  return path;
}

}  // namespace

int main(int count, char **arguments) {
  if (count > 1) {
    const char *message = std::getenv("REFUSED");
    if (message != nullptr) return testRefused(kRefused[std::atoi(message)].message);
    const bool modelled = std::getenv("MINDTORCH_SIM_COST")[0] != '\0';
    Session session;
    EXPECT((simKernelTime(1, 0) > 0) == modelled && (simArmed != 0) == modelled);
    for (const char *name : {"aclSetAclOpExecutorRepeatable", "aclSetTensorAddr", "AclSetDynamicOutputTensorAddr"}) {
      EXPECT((simCost(name) > 0) == modelled);
    }
    return 0;
  }
  for (size_t i = 0; i < sizeof kRefused / sizeof kRefused[0]; ++i) {
    currentCase() = kRefused[i].setting;
    const std::string file = writeFile(arguments[0], std::string("# a profile\n") + kRefused[i].setting);
    setenv("REFUSED", std::to_string(i).c_str(), 1);
    EXPECT(runAs(arguments[0], "MINDTORCH_SIM_COST", i == 0 ? kRefused[i].setting : file) == 0);
  }
  unsetenv("REFUSED");
  for (const char *profile : {"low", "medium", "high", ""}) {
    currentCase() = profile;
    EXPECT(runAs(arguments[0], "MINDTORCH_SIM_COST", profile) == 0);
  }
  setenv("MINDTORCH_SIM_OP_CACHE", "1", 1);
  setenv("MINDTORCH_SIM_COST", writeFile(arguments[0], kProfile).c_str(), 1);
  Session session;
  testCalls();
  testDevice();
  testEvents();
  testGraph();
  testNullKernels();
  testThreads();
  testProducts();
}
