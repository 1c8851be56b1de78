// Forks while other threads are inside the library: a child must not wait for a lock that another thread held.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "../check.h"

namespace {

// AddressSanitizer's allocator is itself no better than a lock that stays behind, so a child must not allocate.
#ifdef __SANITIZE_ADDRESS__
constexpr bool kChildMayAllocate = false;
#else
constexpr bool kChildMayAllocate = true;
#endif
constexpr int kForks = 100;

// Runs `child` in a child; true where it ended with true. The alarm turns a hang into a failure.
template <class Child>
bool inChild(Child child) {
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    alarm(100);
    _exit(!kChildMayAllocate || child() ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(pid, &status, 0) == pid);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Threads that call a function over and over until the end of the block.
class Busy {
 public:
  void add(std::function<void()> work) {
    threads_.emplace_back([this, work = std::move(work)] {
      while (!over_) work();
    });
  }
  ~Busy() {
    over_ = true;
    for (std::thread &thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::vector<std::thread> threads_;
};

void useDevice() {
  CHECK_OK(aclrtSetDevice(0));
  void *memory = nullptr;
  void *pinned = nullptr;
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  aclrtNotify notify = nullptr;
  CHECK_OK(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK_OK(aclrtMallocHost(&pinned, 4096));
  CHECK_OK(aclrtCreateStream(&stream));
  CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  CHECK_OK(aclrtCreateNotify(&notify, 0));
  CHECK_OK(launch(stream, [] { return ACL_SUCCESS; }));
  CHECK_OK(aclrtMemcpyAsync(memory, 4096, pinned, 4096, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  CHECK_OK(aclrtRecordEvent(event, stream));
  CHECK_OK(aclrtSynchronizeEvent(event));
  CHECK_OK(aclrtSynchronizeStream(stream));
  CHECK_OK(aclrtDestroyNotify(notify));
  CHECK_OK(aclrtDestroyEvent(event));
  CHECK_OK(aclrtDestroyStream(stream));
  CHECK_OK(aclrtFreeHost(pinned));
  CHECK_OK(aclrtFree(memory));
  CHECK_OK(aclrtResetDevice(0));
}

// What needs no device, or fails.
void useHost() {
  int64_t value = 0;
  const char data[] = "data";
  aclDataBuffer *buffer = aclCreateDataBuffer(const_cast<char *>(data), sizeof data);
  CHECK_OK(aclDestroyDataBuffer(buffer));
  CHECK_OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
  CHECK_OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  CHECK(aclrtFree(nullptr) != ACL_SUCCESS);
  CHECK(contains(lastMessage(), "aclrtFree"));
  simSetLatency("aclrtGetNotifyId", 1);
  simClearFaults();
}

bool devicesAreLost() {
  void *memory = nullptr;
  aclrtStream stream = nullptr;
  aclrtEvent event = nullptr;
  return aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_ERROR_UNINITIALIZE &&
         contains(lastMessage(), "forked") && aclrtCreateStream(&stream) == ACL_ERROR_UNINITIALIZE &&
         aclrtCreateEvent(&event) == ACL_ERROR_UNINITIALIZE && aclrtSynchronizeDevice() == ACL_ERROR_UNINITIALIZE &&
         aclrtSetDevice(0) == ACL_ERROR_UNINITIALIZE && aclInit(nullptr) == ACL_ERROR_UNINITIALIZE &&
         simDeviceMemory(&memory, 1) == nullptr;
}

void testWithDevices() {
  start();
  Busy busy;
  busy.add(useDevice);
  busy.add(useDevice);
  busy.add(useHost);
  for (int i = 0; i < kForks; ++i) {
    CHECK(inChild([] {
      lastMessage();
      const bool lost = devicesAreLost();
      lastMessage();
      useHost();
      return lost;
    }));
  }
}

// A child of a process whose runtime has ended starts its own, with memory of its own.
void testAfterTheEnd() {
  CHECK_OK(aclFinalize());
  Busy busy;
  busy.add(useHost);
  for (int i = 0; i < kForks / 10; ++i) {
    CHECK(inChild([] {
      if (aclInit(nullptr) != ACL_SUCCESS) return false;
      // Starting threads in a child is what ThreadSanitizer refuses.
#ifndef __SANITIZE_THREAD__
      useDevice();
#endif
      return aclFinalize() == ACL_SUCCESS;
    }));
  }
}

// One thread starts and ends the runtime all the time: the child has one or has lost it, and knows.
void testWhileStarting() {
  Busy busy;
  busy.add([] {
    CHECK_OK(aclInit(nullptr));
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclFinalize());
  });
  for (int i = 0; i < kForks; ++i) {
    CHECK(inChild([] {
      const aclError started = aclInit(nullptr);
      if (started == ACL_ERROR_UNINITIALIZE) return contains(lastMessage(), "forked");
      return started == ACL_SUCCESS && aclFinalize() == ACL_SUCCESS;
    }));
  }
}

// A host function that forks while its stream is being ended.
void testInHostFunction() {
  start();
  CHECK_OK(aclrtLaunchHostFunc(nullptr, [](void *) { CHECK(inChild([] { return devicesAreLost(); })); }, nullptr));
}

}  // namespace

int main() {
  setenv("MINDTORCH_SIM_MEMORY", "64MiB", 1);
  setenv("MINDTORCH_SIM_DEVICES", "2", 1);
  testWithDevices();
  testAfterTheEnd();
  testWhileStarting();
  testInHostFunction();
  return finalizeAndCheckLive();
}
