// Shared by the files of libascendcl: configuration, devices, contexts, thread state, argument checks.
//
// Order of locks: lifecycleMutex() before a stream's mutex before signal(), and all others as in kParts (init.cpp).
// Nobody waits for a stream, or calls a function of the program, while holding one of these.
#ifndef MINDTORCH_SIM_RUNTIME_RUNTIME_H_
#define MINDTORCH_SIM_RUNTIME_RUNTIME_H_
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api.h"
#include "cost.h"
#include "fork.h"
#include "handles.h"
#include "memory.h"
#include "sim.h"

namespace sim {

constexpr int32_t kMaxDevices = 16;
constexpr int kCoreKinds = 2;  // aclrtDevResLimitType
constexpr int32_t kStreamsPerDevice = 1984;
constexpr int32_t kEventIdsPerDevice = 65536;
constexpr int32_t kNotifiesPerDevice = 8192;

class Stream;

// Read from the environment at first use.
struct Config {
  uint64_t memory_bytes;          // MINDTORCH_SIM_MEMORY
  std::vector<int32_t> physical;  // MINDTORCH_SIM_DEVICES and ASCEND_RT_VISIBLE_DEVICES: device id -> physical id
  std::string soc;                // MINDTORCH_SIM_SOC
  std::string problem;            // a variable whose value is not understood; without one it is empty
  Cost cost;                      // MINDTORCH_SIM_COST
  // MINDTORCH_SIM_KERNELS=null; simSetNullKernels
  mutable std::atomic<bool> null_kernels;
};
const Config &config();

struct Context {
  std::atomic<uint64_t> id{0};  // unique among all contexts ever made; 0 while not live
  struct Device *device = nullptr;
  bool primary = false;
  std::atomic<bool> stopped{false};  // a stream with STOP_ON_FAILURE has failed
  Stream *default_stream = nullptr;
  std::vector<Stream *> streams;                 // with the default one; lifecycle mutex
  std::map<aclSysParamOpt, int64_t> sys_params;  // lifecycle mutex
};

struct Device {
  // Bits of `attention`; zero on the fast path of a launch.
  static constexpr uint32_t kArmed = 1;    // the next task is to fail
  static constexpr uint32_t kFaulted = 2;  // a task has failed; unusable until the device is reset

  int32_t id = 0;
  std::atomic<uint32_t> attention{0};
  std::atomic<uint64_t> peers{0};  // bit p: this device may access device p
  std::atomic<int32_t> streams{0};
  std::atomic<int32_t> event_ids{0};
  std::atomic<int32_t> notifies{0};
  std::atomic<int32_t> saturation_mode{ACL_RT_OVERFLOW_MODE_INFNAN};
  std::atomic<uint32_t> core_limits[kCoreKinds]{};  // 0: all cores
  int64_t set_count = 0;                            // aclrtSetDevice minus aclrtResetDevice; lifecycle mutex
  Context *primary = nullptr;                       // lifecycle mutex
  DeviceMemory memory;

  // Records the first failure of a task, which later calls report.
  void fail(aclError code, const std::string &text);
  // ACL_SUCCESS, or the code of the task that failed, with a message that names `function`.
  aclError check(const char *function) {
    return (attention.load(std::memory_order_relaxed) & kFaulted) == 0 ? ACL_SUCCESS : report(function);
  }
  void arm(aclError code);
  aclError takeArmed();  // the code to fail with, once; ACL_SUCCESS where nothing is armed
  void clearFault();
  static void faultsAtFork(Fork stage) { atFork(fault_mutex_, stage); }

 private:
  aclError report(const char *function);
  static inline std::mutex fault_mutex_;  // of all devices: faults are rare
  aclError fault_code_ = ACL_SUCCESS;
  std::string fault_text_;
  aclError armed_code_ = ACL_SUCCESS;
};

std::mutex &lifecycleMutex();
HandleTable<Context> &contexts();
int32_t deviceCount();
Device &device(int32_t id);  // 0 <= id < deviceCount()
Device *findDevice(int32_t id);
void armDevice(int32_t id, aclError code);
void disarmDevices();

// The calling thread's context: the last of aclrtSetDevice, aclrtCreateContext and aclrtSetCurrentContext.
struct ThreadState {
  Context *context = nullptr;
  uint64_t context_id = 0;  // the context is gone when its id is another
  uint32_t last_task = 0;
};
inline thread_local ThreadState thread_state;

inline Context *currentContext() {
  const ThreadState &state = thread_state;
  if (__builtin_expect(
          state.context == nullptr || state.context->id.load(std::memory_order_acquire) != state.context_id, 0)) {
    return nullptr;
  }
  return state.context;
}
void makeCurrent(Context *context);
// The current context, or the one of the default device that the configuration of aclInit names, or nullptr.
Context *contextOrDefault();
aclError noContext(const char *function);

// init.cpp
bool isForkedChild();  // a child of a process that used devices has none
aclError noDevices(const char *function);
int32_t defaultDevice();  // -1: none
void setSharedMessages(bool shared);

// Hides the thread's own messages and last error while it runs a task of a stream.
class TaskErrorScope {
 public:
  TaskErrorScope() { exchange(); }
  ~TaskErrorScope() { exchange(); }
  TaskErrorScope(const TaskErrorScope &) = delete;
  TaskErrorScope &operator=(const TaskErrorScope &) = delete;

 private:
  void exchange();
  std::string pending_;
  std::string returned_;
  aclError last_error_ = ACL_SUCCESS;
};

bool dropDevicesInChild();  // false: no device was used yet, so the child may start a runtime of its own

// The locks of each part across fork().
void contextsAtFork(Fork stage);
void streamsAtFork(Fork stage);
void eventsAtFork(Fork stage);
void notifiesAtFork(Fork stage);
void capturesAtFork(Fork stage);
void graphsAtFork(Fork stage);
void physicalMemoryAtFork(Fork stage);
void pinnedMemoryAtFork(Fork stage);
void dataBuffersAtFork(Fork stage);
void watchesAtFork(Fork stage);
void signalAtFork(Fork stage);
void messagesAtFork(Fork stage);
void memoryErrorsAtFork(Fork stage);
void readsAtFork(Fork stage);

uint32_t coreCount(aclrtDevResLimitType kind);  // of the chip; 0: there is no such kind
void forgetMemoryErrors();

// The end of a device releases what belongs to it.
void releaseAllDevices();
aclError retainDevice(Device &device);
Context *openContext(Device &device, bool primary);  // lifecycle mutex held; nullptr: no stream left
void closeContext(Context *context);                 // lifecycle mutex not held
void releaseEvents(const Device *device);
void releaseNotifies(const Device *device);
void releaseGraphs(const Device *device);
void releasePinnedMemory();
void releasePhysicalMemory(Device &device);
void forgetSubscriptions();

aclError nullArgument(const char *function, const char *argument);
aclError badValue(const char *function, const char *argument, int64_t value, const char *expected);
aclError badHandle(const char *function, const char *argument, const void *handle);
aclError badDevice(const char *function, int64_t id);
aclError noAddressRange(const char *function);

}  // namespace sim

#define SIM_REQUIRE_DEVICES()                                  \
  do {                                                         \
    if (sim::isForkedChild()) return sim::noDevices(__func__); \
  } while (0)
#define SIM_REQUIRE_SETTINGS()                                                                                    \
  do {                                                                                                            \
    const std::string &problem = sim::config().problem;                                                           \
    if (!problem.empty()) return simFail(ACL_ERROR_INVALID_PARAM, "EE1001", "%s: %s", __func__, problem.c_str()); \
  } while (0)
#define SIM_REQUIRE_POINTER(pointer)                                        \
  do {                                                                      \
    if ((pointer) == nullptr) return sim::nullArgument(__func__, #pointer); \
  } while (0)
// Declares `device`, the one with this id.
#define SIM_REQUIRE_DEVICE(device, id)       \
  SIM_REQUIRE_DEVICES();                     \
  sim::Device *device = sim::findDevice(id); \
  if (device == nullptr) return sim::badDevice(__func__, id)
// Declares `name`, the live object behind a handle, by a function such as resolveStream.
#define SIM_RESOLVE(Type, name, resolve, handle) \
  Type *name = nullptr;                          \
  SIM_TRY(resolve(__func__, handle, &name))
// Declares `context`, the current one.
#define SIM_REQUIRE_CONTEXT(context)               \
  sim::Context *context = sim::contextOrDefault(); \
  if (context == nullptr) return sim::noContext(__func__)

#endif
