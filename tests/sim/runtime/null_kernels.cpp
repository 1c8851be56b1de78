// MINDTORCH_SIM_KERNELS=null: kernels are not run; everything else is, in its order.
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

  simInjectDeviceFault(0, ACL_ERROR_RT_AICORE_EXCEPTION);
  CHECK_OK(simLaunchKernel(nullptr, task));
  CHECK_CODE(aclrtSynchronizeStream(nullptr), ACL_ERROR_RT_AICORE_EXCEPTION);
  return finish();
}
