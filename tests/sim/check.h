// Checks and helpers of the native tests. A program ends with `return finalizeAndCheckLive();`, which prints "ok".
#ifndef MINDTORCH_TESTS_SIM_CHECK_H_
#define MINDTORCH_TESTS_SIM_CHECK_H_
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "acl/acl.h"
#include "sim.h"

#define CHECK(condition)                                                                \
  do {                                                                                  \
    if (!(condition)) {                                                                 \
      const char *message = aclGetRecentErrMsg();                                       \
      std::fprintf(stderr, "%s:%d: not true: %s\n%s\n", __FILE__, __LINE__, #condition, \
                   message == nullptr ? "" : message);                                  \
      std::_Exit(1);                                                                    \
    }                                                                                   \
  } while (0)

#define CHECK_CODE(call, expected)                                                                     \
  do {                                                                                                 \
    const int got = static_cast<int>(call);                                                            \
    if (got != (expected)) {                                                                           \
      const char *message = aclGetRecentErrMsg();                                                      \
      std::fprintf(stderr, "%s:%d: %s returned %d, expected %d\n%s\n", __FILE__, __LINE__, #call, got, \
                   static_cast<int>(expected), message == nullptr ? "" : message);                     \
      std::_Exit(1);                                                                                   \
    }                                                                                                  \
  } while (0)

#define CHECK_OK(call) CHECK_CODE(call, ACL_SUCCESS)

// The message of the last failure of this thread; clears it.
inline std::string lastMessage() {
  const char *message = aclGetRecentErrMsg();
  return message == nullptr ? "" : message;
}

inline bool contains(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

// A gate that the test opens and tasks wait for.
class Gate {
 public:
  void open() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    condition_.notify_all();
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    condition_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool open_ = false;
};

// Launches a C++ callable as a kernel.
inline aclError launch(aclrtStream stream, std::function<aclError()> work, const char *name = "test kernel") {
  auto *argument = new std::function<aclError()>(std::move(work));
  SimTask task{};
  task.run = [](void *it) { return (*static_cast<std::function<aclError()> *>(it))(); };
  task.drop = [](void *it) { delete static_cast<std::function<aclError()> *>(it); };
  task.argument = argument;
  task.name = name;
  const aclError error = simLaunchKernel(stream, task);
  if (error != ACL_SUCCESS) delete argument;
  return error;
}

// Keeps a stream busy until the gate opens, by a host function, as kernels must not wait.
inline aclError block(aclrtStream stream, Gate &gate) {
  return aclrtLaunchHostFunc(stream, [](void *it) { static_cast<Gate *>(it)->wait(); }, &gate);
}

inline void start(int device = 0) {
  CHECK_OK(aclInit(nullptr));
  CHECK_OK(aclrtSetDevice(device));
}

// Finalises the runtime and checks that no object is alive.
inline int finalizeAndCheckLive() {
  CHECK_OK(aclFinalize());
  for (int kind = 0; simKindName(static_cast<SimKind>(kind)) != nullptr; ++kind) {
    const auto live = simLive(static_cast<SimKind>(kind));
    if (live == 0) continue;
    std::fprintf(stderr, "alive at the end: %s %lld\n", simKindName(static_cast<SimKind>(kind)),
                 static_cast<long long>(live));
    return 1;
  }
  std::puts("ok");
  return 0;
}

#endif
