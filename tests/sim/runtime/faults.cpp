// Fault injection, latencies, call counts, messages and last errors, device faults.
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "../check.h"

namespace {

aclError allocate() {
  void *memory = nullptr;
  const aclError error = aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST);
  if (error == ACL_SUCCESS) CHECK_OK(aclrtFree(memory));
  return error;
}

void testInjectedFaults() {
  simInjectFault("aclrtMalloc", 2, 2, ACL_ERROR_RT_MEMORY_ALLOCATION);
  CHECK_OK(allocate());
  CHECK_CODE(allocate(), ACL_ERROR_RT_MEMORY_ALLOCATION);
  CHECK(contains(lastMessage(), "aclrtMalloc"));
  CHECK_CODE(allocate(), ACL_ERROR_RT_MEMORY_ALLOCATION);
  CHECK_OK(allocate());
  simInjectFault("aclrtMalloc", 1, 5, ACL_ERROR_FAILURE);
  simInjectFault("aclrtMalloc", 0, 0, ACL_ERROR_NONE);
  CHECK_OK(allocate());
  simInjectFault("aclrtMalloc", 1, 1, ACL_ERROR_FAILURE);
  simClearFaults();
  CHECK_OK(allocate());
  CHECK(simArmed == 0);
  lastMessage();
}

void testCountsAndLatency() {
  simCountCalls(1);
  CHECK_OK(allocate());
  CHECK_OK(allocate());
  CHECK(simCalls("aclrtMalloc") == 2 && simCalls("aclrtFree") == 2 && simCalls("aclrtMemcpy") == 0);
  CHECK(std::string(simFunctions()) == "aclrtFree\naclrtMalloc\n");
  simCountCalls(0);
  CHECK_OK(allocate());
  CHECK(simCalls("aclrtMalloc") == 2);
  simSetLatency("aclrtMalloc", 5000000);
  const auto begin = std::chrono::steady_clock::now();
  CHECK_OK(allocate());
  CHECK(std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(5));
  simSetLatency("aclrtMalloc", 0);
  CHECK(simArmed == 0);
}

void testMessages() {
  CHECK(aclGetRecentErrMsg() == nullptr);
  CHECK_CODE(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  CHECK_CODE(aclrtDestroyEvent(nullptr), ACL_ERROR_INVALID_PARAM);
  std::thread([] { CHECK(aclGetRecentErrMsg() == nullptr); }).join();  // of the failing thread only
  const std::string message = lastMessage();
  CHECK(message.find("aclrtDestroyEvent") < message.find("aclrtFree"));  // the newest on top
  CHECK(aclGetRecentErrMsg() == nullptr);
  CHECK_CODE(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_INVALID_PARAM);
  CHECK_CODE(aclrtGetLastError(ACL_RT_THREAD_LEVEL), ACL_ERROR_INVALID_PARAM);
  CHECK_OK(aclrtGetLastError(ACL_RT_THREAD_LEVEL));
}

void testSharedMessages() {
  char path[] = "/tmp/mindtorch_sim_XXXXXX";
  close(mkstemp(path));
  std::ofstream(path) << "{\"err_msg_mode\": \"1\"}";
  CHECK_OK(aclFinalize());
  CHECK_OK(aclInit(path));
  std::thread([] { CHECK_CODE(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM); }).join();
  CHECK(contains(lastMessage(), "aclrtFree"));
  CHECK_OK(aclFinalize());
  unlink(path);
  start();
}

// A kernel that fails is reported by a later call, and the device is of no use until it is reset.
void testDeviceFault(bool injected) {
  aclrtStream stream = nullptr;
  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
  void *memory = nullptr;
  bool later_ran = false;
  const int code = ACL_ERROR_RT_AICORE_EXCEPTION;
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK_OK(aclrtCreateStream(&other));
  CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  Gate gate;
  CHECK_OK(block(stream, gate));
  if (injected) {
    simInjectDeviceFault(0, code);  // the blocked task has begun or takes it: either way one task fails
    CHECK_OK(launch(stream, [] { return ACL_SUCCESS; }, "victim"));
  } else {
    CHECK_OK(launch(stream, [] { return simFail(507015, "EZ9999", "index out of range"); }, "victim"));
  }
  CHECK_OK(launch(stream, [&] {
    later_ran = true;
    return ACL_SUCCESS;
  }));
  gate.open();
  CHECK_CODE(aclrtSynchronizeStream(stream), code);
  const std::string message = lastMessage();
  CHECK(contains(message, "aclrtSynchronizeStream") && contains(message, "device 0"));
  if (!injected) CHECK(contains(message, "victim") && contains(message, "index out of range"));
  CHECK(later_ran);  // CONTINUE_ON_FAILURE
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  char host[8] = "";
  CHECK_CODE(aclrtStreamQuery(other, &status), code);
  CHECK_CODE(aclrtQueryEventStatus(event, &recorded), code);
  CHECK_CODE(aclrtMemcpy(host, 8, memory, 8, ACL_MEMCPY_DEVICE_TO_HOST), code);
  CHECK_CODE(aclrtMemcpyAsync(host, 8, memory, 8, ACL_MEMCPY_DEVICE_TO_HOST, other), code);
  CHECK_CODE(aclrtRecordEvent(event, other), code);
  CHECK_CODE(aclrtSynchronizeDevice(), code);
  CHECK_CODE(launch(other, [] { return ACL_SUCCESS; }), code);
  aclrtDeviceStatus device = ACL_RT_DEVICE_STATUS_END;
  CHECK_OK(aclrtQueryDeviceStatus(0, &device));
  CHECK(device == ACL_RT_DEVICE_STATUS_ABNORMAL);
  CHECK_OK(aclrtDestroyStream(stream));  // cleaning up is possible
  CHECK_OK(aclrtDestroyStreamForce(other));
  CHECK_OK(aclrtDestroyEvent(event));
  CHECK_OK(aclrtFree(memory));
  CHECK_OK(aclrtResetDevice(0));
  CHECK_OK(aclrtSetDevice(0));
  CHECK_OK(aclrtSynchronizeDevice());
  CHECK_OK(launch(nullptr, [] { return ACL_SUCCESS; }));
  CHECK_OK(aclrtSynchronizeStream(nullptr));
}

void testStopOnFailure() {
  aclrtStream stream = nullptr;
  bool later_ran = false;
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK_OK(aclrtSetStreamFailureMode(stream, 1));
  Gate gate;
  CHECK_OK(block(stream, gate));
  CHECK_OK(launch(stream, [] { return ACL_ERROR_RT_VECTOR_CORE_EXCEPTION; }));
  CHECK_OK(launch(stream, [&] {
    later_ran = true;
    return ACL_SUCCESS;
  }));
  gate.open();
  CHECK_CODE(aclrtSynchronizeDevice(), ACL_ERROR_RT_VECTOR_CORE_EXCEPTION);
  CHECK(!later_ran);
  CHECK_OK(aclrtResetDevice(0));
  CHECK_OK(aclrtSetDevice(0));
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_MEMORY", "64MiB", 1);
  start();
  testInjectedFaults();
  testCountsAndLatency();
  aclrtGetLastError(ACL_RT_THREAD_LEVEL);
  testMessages();
  testSharedMessages();
  testDeviceFault(false);
  testDeviceFault(true);
  testStopOnFailure();
  return finalizeAndCheckLive();
}
