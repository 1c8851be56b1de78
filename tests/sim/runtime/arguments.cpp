// Every function of the library with invalid arguments.
#include "../arguments.h"

// Nobody can tell how long the program's own memory is, so no copy goes from it into itself.
template <>
std::vector<aclrtMemcpyKind> arguments::choices() {
  return {ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE,
          static_cast<aclrtMemcpyKind>(-1)};
}

namespace {

// A device without anything on it, and without tasks that wait for what a call before this one asked for.
void renew() {
  aclInit(nullptr);
  aclrtResetDeviceForce(0);
  CHECK_OK(aclrtSetDevice(0));
}

void destroyHandles() {
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  aclrtNotify notify = nullptr;
  aclrtContext context = nullptr;
  void *memory = nullptr;
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK_OK(aclrtCreateEvent(&event));
  CHECK_OK(aclrtCreateNotify(&notify, 0));
  CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK_OK(aclrtDestroyStream(stream));
  CHECK_OK(aclrtDestroyEvent(event));
  CHECK_OK(aclrtDestroyNotify(notify));
  CHECK_OK(aclrtFree(memory));
  CHECK_OK(aclrtCreateContext(&context, 0));
  CHECK_OK(aclrtDestroyContext(context));
  arguments::dead() = {stream, event, notify, context, memory};
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_MEMORY", "64MiB", 1);
  start();
  destroyHandles();
#define DECLARED(function) arguments::sweep(#function, renew, function);
#include "declared.inc"
  renew();
  return finalizeAndCheckLive();
}
