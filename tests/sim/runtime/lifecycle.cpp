// aclInit and aclFinalize, devices, contexts, the state of a thread, forks.
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "../check.h"

namespace {

void testBeforeInit() {
  void *memory = nullptr;
  aclrtStream stream = nullptr;
  uint32_t count = 0;
  int32_t device = -1;
  CHECK_CODE(aclFinalize(), ACL_ERROR_UNINITIALIZE);
  CHECK(contains(lastMessage(), "aclInit was not called"));
  CHECK_OK(aclrtGetDeviceCount(&count));
  CHECK(count == 2);
  CHECK_CODE(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
  CHECK_CODE(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
  CHECK_CODE(aclrtCreateStream(&stream), ACL_ERROR_RT_CONTEXT_NULL);
  CHECK_CODE(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL);
  // aclInit prepares operators; a device needs none.
  CHECK_OK(aclrtSetDevice(1));
  CHECK_OK(aclrtGetDevice(&device));
  CHECK(device == 1);
  CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  const pid_t child = fork();
  if (child == 0) _exit(aclrtFree(memory) == ACL_ERROR_UNINITIALIZE && contains(lastMessage(), "forked") ? 0 : 1);
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_OK(aclrtFree(memory));
  CHECK_OK(aclrtResetDevice(1));
}

void testReferences() {
  uint64_t left = 0;
  CHECK_OK(aclInit(nullptr));
  CHECK_CODE(aclInit(""), ACL_ERROR_REPEAT_INITIALIZE);
  CHECK_OK(aclFinalizeReference(&left));
  CHECK(left == 1);
  CHECK_OK(aclrtSetDevice(0));
  CHECK_OK(aclFinalizeReference(&left));
  CHECK(left == 0);
  CHECK_CODE(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL);
  CHECK_CODE(aclFinalizeReference(&left), ACL_ERROR_REPEAT_FINALIZE);
  CHECK_OK(aclInit(nullptr));
  CHECK_CODE(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  CHECK_OK(aclFinalize());  // at once, whatever the count
  CHECK_CODE(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
}

void testConfiguration() {
  CHECK_CODE(aclInit("/nonexistent/acl.json"), ACL_ERROR_INVALID_FILE);
  char path[] = "/tmp/mindtorch_sim_XXXXXX";
  close(mkstemp(path));
  std::ofstream(path) << "{ \"dump\": [ }";
  CHECK_CODE(aclInit(path), ACL_ERROR_PARSE_FILE);
  std::ofstream(path) << "{ \"defaultDevice\": { \"default_device\": \"1\" } }";
  CHECK_OK(aclInit(path));
  int32_t device = -1;
  CHECK_OK(aclrtGetDevice(&device));
  CHECK(device == 1);
  CHECK_OK(aclFinalize());
  unlink(path);
}

void testDevices() {
  int32_t device = -1;
  CHECK_OK(aclInit(nullptr));
  CHECK_CODE(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
  CHECK_CODE(aclrtSetDevice(2), ACL_ERROR_RT_INVALID_DEVICEID);
  CHECK_CODE(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
  CHECK_CODE(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_NULL);
  CHECK_OK(aclrtSetDevice(0));
  CHECK_OK(aclrtSetDevice(1));
  CHECK_OK(aclrtGetDevice(&device));
  CHECK(device == 1);
  CHECK_OK(aclrtSetDevice(0));
  CHECK_OK(aclrtResetDevice(0));  // one of two
  CHECK_OK(aclrtGetDevice(&device));
  CHECK(device == 0);
  void *memory = nullptr;
  CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(simLive(SIM_DEVICE_MEMORY) == 1 && simLive(SIM_CONTEXT) == 2);
  CHECK_OK(aclrtResetDevice(0));
  CHECK(simLive(SIM_DEVICE_MEMORY) == 0 && simLive(SIM_CONTEXT) == 1);
  CHECK_CODE(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
  CHECK_CODE(aclrtFree(memory), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclrtSetDevice(1));
  CHECK_OK(aclrtResetDeviceForce(1));
  CHECK_CODE(aclrtResetDevice(1), ACL_ERROR_RT_CONTEXT_NULL);
  CHECK_OK(aclFinalize());
}

void testContexts() {
  start();
  aclrtContext first = nullptr;
  aclrtContext own = nullptr;
  aclrtContext current = nullptr;
  int32_t device = -1;
  uint32_t flags = 7;
  int32_t active = 0;
  CHECK_OK(aclrtGetCurrentContext(&first));
  CHECK_OK(aclrtCreateContext(&own, 1));
  CHECK_OK(aclrtGetCurrentContext(&current));
  CHECK(current == own);
  CHECK_OK(aclrtGetDevice(&device));
  CHECK(device == 1);
  CHECK_OK(aclrtGetPrimaryCtxState(1, &flags, &active));
  CHECK(flags == 0 && active == 0);
  CHECK_OK(aclrtGetPrimaryCtxState(0, nullptr, &active));
  CHECK(active == 1);

  aclrtStream own_stream = nullptr;
  CHECK_OK(aclrtCreateStream(&own_stream));
  CHECK_OK(aclrtSetCurrentContext(first));
  CHECK_OK(aclrtGetDevice(&device));
  CHECK(device == 0);
  CHECK_CODE(aclrtSynchronizeStream(own_stream), ACL_ERROR_RT_STREAM_CONTEXT);
  CHECK_CODE(aclrtDestroyStream(own_stream), ACL_ERROR_RT_STREAM_CONTEXT);
  CHECK_CODE(aclrtDestroyContext(first), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_CODE(aclrtDestroyContext(nullptr), ACL_ERROR_INVALID_PARAM);
  CHECK_OK(aclrtDestroyContext(own));
  CHECK_CODE(aclrtDestroyContext(own), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_CODE(aclrtSetCurrentContext(own), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_CODE(aclrtSynchronizeStream(own_stream), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK_CODE(aclrtSetCurrentContext(&device), ACL_ERROR_RT_INVALID_HANDLE);
  CHECK(simLive(SIM_CONTEXT) == 1 && simLive(SIM_STREAM) == 0);
  CHECK_OK(aclFinalize());
}

void testThreads() {
  start();
  aclrtContext context = nullptr;
  CHECK_OK(aclrtGetCurrentContext(&context));
  std::thread([&] {
    int32_t device = -1;
    aclrtContext shared = nullptr;
    CHECK_CODE(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtGetCurrentContext(&shared));
    CHECK(shared == context);
    CHECK_OK(aclrtSetDevice(1));
  }).join();
  int32_t device = -1;
  CHECK_OK(aclrtGetDevice(&device));
  CHECK(device == 0);
  std::thread([] { CHECK_OK(aclrtResetDeviceForce(0)); }).join();
  CHECK_CODE(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
  CHECK_OK(aclFinalize());
}

void testParameters() {
  start();
  int64_t value = 0;
  CHECK_CODE(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), ACL_ERROR_RT_SYSPARAMOPT_NOT_SET);
  CHECK_OK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
  CHECK_OK(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  CHECK(value == 1);
  CHECK_OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  CHECK(value == 0);
  CHECK_CODE(aclrtGetSysParamOpt(ACL_OPT_ENABLE_DEBUG_KERNEL, &value), ACL_ERROR_RT_SYSPARAMOPT_NOT_SET);
  CHECK_OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 2));
  CHECK_OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  CHECK(value == 2);
  CHECK_CODE(aclrtSetSysParamOpt(static_cast<aclSysParamOpt>(99), 0), ACL_ERROR_RT_PARAM_INVALID);
  CHECK_OK(aclFinalize());
}

// A child of a process that has started the runtime has no devices, and says so; it neither hangs nor crashes.
void testFork() {
  start();
  aclrtStream stream = nullptr;
  void *memory = nullptr;
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK_OK(launch(stream, [] { return ACL_SUCCESS; }));
  CHECK_OK(aclrtSynchronizeStream(stream));
  const pid_t child = fork();
  if (child == 0) {
    bool right = aclrtSynchronizeStream(stream) == ACL_ERROR_UNINITIALIZE;
    right &= contains(lastMessage(), "forked");
    right &= aclrtDestroyStream(stream) == ACL_ERROR_UNINITIALIZE;
    right &= aclrtFree(memory) == ACL_ERROR_UNINITIALIZE;
    right &= aclInit(nullptr) == ACL_ERROR_UNINITIALIZE;
    right &= aclFinalize() == ACL_ERROR_UNINITIALIZE;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_OK(aclrtFree(memory));
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_DEVICES", "4", 1);
  setenv("ASCEND_RT_VISIBLE_DEVICES", "3,1,9,0", 1);  // the list ends at the first that does not exist
  setenv("MINDTORCH_SIM_MEMORY", "64MiB", 1);
  testBeforeInit();
  testReferences();
  testConfiguration();
  testDevices();
  testContexts();
  testThreads();
  testParameters();
  testFork();
  return finalizeAndCheckLive();
}
