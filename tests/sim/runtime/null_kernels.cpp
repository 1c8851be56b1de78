// MINDTORCH_SIM_KERNELS=null: kernels compute nothing; all other tasks run in order.
#include "../check.h"

int main() {
  setenv("MINDTORCH_SIM_MEMORY", "64MiB", 1);
  setenv("MINDTORCH_SIM_KERNELS", "null", 1);
  start();
  CHECK(simNullKernels() == 1);
  bool ran = false;
  bool dropped = false;
  SimTask task{};
  task.run = [](void *) -> aclError { return ACL_ERROR_FAILURE; };
  task.drop = [](void *it) { *static_cast<bool *>(it) = true; };
  task.argument = &dropped;
  CHECK_OK(simLaunchKernel(nullptr, task));
  CHECK(dropped);  // complete at once
  CHECK_OK(aclrtSynchronizeStream(nullptr));

  // Behind a copy that waits for its turn, a kernel takes its place in the queue.
  aclrtStream stream = nullptr;
  Gate gate;
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK_OK(aclrtLaunchHostFunc(stream, [](void *it) { static_cast<Gate *>(it)->wait(); }, &gate));
  dropped = false;
  CHECK_OK(simLaunchKernel(stream, task));
  CHECK_OK(launch(stream, [&] {
    ran = true;
    return ACL_SUCCESS;
  }));
  aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
  CHECK_OK(aclrtStreamQuery(stream, &status));
  CHECK(status == ACL_STREAM_STATUS_NOT_READY);
  gate.open();
  CHECK_OK(aclrtSynchronizeStream(stream));
  CHECK(dropped && !ran);
  CHECK_OK(aclrtDestroyStream(stream));
  CHECK_CODE(simLaunchKernel(stream, task), ACL_ERROR_RT_INVALID_HANDLE);

  // Switched on, and off again, while the program runs.
  simSetNullKernels(0);
  CHECK_OK(launch(nullptr, [&] {
    ran = true;
    return ACL_SUCCESS;
  }));
  CHECK_OK(aclrtSynchronizeStream(nullptr));
  CHECK(ran && simNullKernels() == 0);
  simSetNullKernels(1);
  ran = false;
  CHECK_OK(launch(nullptr, [&] {
    ran = true;
    return ACL_SUCCESS;
  }));
  CHECK_OK(aclrtSynchronizeStream(nullptr));
  CHECK(!ran && simNullKernels() == 1);

  // What copies bring the host, on record and then again.
  void *memory = nullptr;
  unsigned char bytes[2] = {};
  CHECK_OK(aclrtMalloc(&memory, 32, ACL_MEM_MALLOC_HUGE_FIRST));
  simSetReads(SIM_READS_RECORD);
  for (const int value : {5, 7}) {
    CHECK_OK(aclrtMemset(memory, 32, value, 32));
    CHECK_OK(aclrtMemcpy(bytes, 1, memory, 1, ACL_MEMCPY_DEVICE_TO_HOST));
  }
  CHECK_OK(aclrtMemset(memory, 32, 9, 32));
  simSetReads(SIM_READS_REPEAT);
  for (const unsigned char value : {5, 7, 5}) {
    CHECK_OK(aclrtMemcpy(bytes, 1, memory, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(bytes[0] == value);
  }
  CHECK_CODE(aclrtMemcpy(bytes, 2, memory, 2, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_RT_PARAM_INVALID);
  simSetReads(SIM_READS_PLAIN);
  CHECK_OK(aclrtMemcpy(bytes, 1, memory, 1, ACL_MEMCPY_DEVICE_TO_HOST));
  CHECK(bytes[0] == 9);
  CHECK_OK(aclrtFree(memory));

  simInjectDeviceFault(0, ACL_ERROR_RT_AICORE_EXCEPTION);
  CHECK_OK(simLaunchKernel(nullptr, task));
  CHECK_CODE(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
  return finalizeAndCheckLive();
}
