// What tests ask of the runtime: faults and latencies on demand, the time that modelled calls take, memory errors,
// recorded reads, counts of live objects.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "reads.h"
#include "runtime.h"

// Fault injection, latencies and call counts. They cost one relaxed load a call while none is set.

int32_t simArmed = 0;

using namespace sim;

namespace {

struct Watch {
  int64_t calls_until_fault = 0;  // 0: no fault armed; 1: the next call fails
  int64_t faults_left = 0;
  aclError code = ACL_SUCCESS;
  int64_t latency_ns = 0;  // simSetLatency
  int64_t cost_ns = 0;     // MINDTORCH_SIM_COST
  int64_t calls = 0;
};

struct Watches {
  std::mutex mutex;
  std::map<std::string, Watch, std::less<>> by_function;
  bool counting = false;

  // Called with the mutex held, after each change of what is watched.
  void updateWatched() {
    bool watched = counting;
    for (const auto &[name, watch] : by_function) watched |= watch.faults_left > 0 || watch.latency_ns > 0;
    if (watched) {
      __atomic_fetch_or(&simArmed, SIM_WATCHED, __ATOMIC_RELAXED);
    } else {
      __atomic_fetch_and(&simArmed, ~SIM_WATCHED, __ATOMIC_RELAXED);
    }
  }

  // Its address is for good.
  Watch &of(const char *function) {
    const auto found = by_function.find(std::string_view(function));
    if (found != by_function.end()) return found->second;
    Watch &watch = by_function[function];
    watch.cost_ns = config().cost.call(function);
    return watch;
  }
};

Watches &watches() {
  static Watches &instance = *new Watches;  // never destroyed: libraries may call in during process exit
  return instance;
}

}  // namespace

void sim::watchesAtFork(Fork stage) { atFork(watches().mutex, stage); }

void simInjectFault(const char *function, int64_t nth, int64_t times, aclError code) {
  if (function == nullptr) return;
  Watches &all = watches();
  std::lock_guard<std::mutex> lock(all.mutex);
  Watch &watch = all.of(function);
  const bool armed = code != ACL_SUCCESS && nth > 0 && times > 0;
  watch.calls_until_fault = armed ? nth : 0;
  watch.faults_left = armed ? times : 0;
  watch.code = code;
  all.updateWatched();
}

void simSetLatency(const char *function, int64_t nanoseconds) {
  if (function == nullptr) return;
  Watches &all = watches();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.of(function).latency_ns = nanoseconds;
  all.updateWatched();
}

void simClearFaults(void) {
  Watches &all = watches();
  {
    std::lock_guard<std::mutex> lock(all.mutex);
    for (auto &[name, watch] : all.by_function) watch.calls_until_fault = watch.faults_left = watch.latency_ns = 0;
    all.updateWatched();
  }
  disarmDevices();
  forgetMemoryErrors();
}

void simCountCalls(int32_t on) {
  Watches &all = watches();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (on) {
    for (auto &[name, watch] : all.by_function) watch.calls = 0;
  }
  all.counting = on != 0;
  all.updateWatched();
}

int64_t simCalls(const char *function) {
  Watches &all = watches();
  std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = function == nullptr ? all.by_function.end() : all.by_function.find(std::string_view(function));
  return found == all.by_function.end() ? 0 : found->second.calls;
}

const char *simFunctions(void) {
  thread_local std::string names;
  Watches &all = watches();
  std::lock_guard<std::mutex> lock(all.mutex);
  names.clear();
  for (const auto &[name, watch] : all.by_function) {
    if (watch.calls > 0) names.append(name).append("\n");
  }
  return names.c_str();
}

aclError simEnterArmed(const char *function, void **site) {
  Watch *watch = site == nullptr ? nullptr : static_cast<Watch *>(__atomic_load_n(site, __ATOMIC_ACQUIRE));
  const bool watched = (__atomic_load_n(&simArmed, __ATOMIC_RELAXED) & SIM_WATCHED) != 0;
  if (watch != nullptr && !watched && watch->cost_ns == 0) return ACL_SUCCESS;
  const auto entered = Clock::now();
  int64_t latency_ns = 0;
  aclError code = ACL_SUCCESS;
  if (watch == nullptr || watched) {  // without a lock where the costs alone count, as threads call at once
    Watches &all = watches();
    std::lock_guard<std::mutex> lock(all.mutex);
    watch = &all.of(function);
    if (site != nullptr) __atomic_store_n(site, watch, __ATOMIC_RELEASE);
    if (all.counting) ++watch->calls;
    latency_ns = watch->latency_ns;
    if (watch->faults_left > 0 && --watch->calls_until_fault <= 0) {
      code = watch->code;
      if (--watch->faults_left == 0) all.updateWatched();
    }
  }
  latency_ns += watch->cost_ns;
  if (latency_ns > 0) pauseUntil(entered + std::chrono::nanoseconds(latency_ns));
  if (code == ACL_SUCCESS) return ACL_SUCCESS;
  return simFail(code, "EZ9999", "%s: this call fails with %d because a fault was injected", function, code);
}

int64_t simCost(const char *name) { return name == nullptr ? 0 : config().cost.call(name); }

int64_t simKernelTime(int64_t bytes, double flops) { return config().cost.kernel(bytes, flops); }

void simInjectDeviceFault(int32_t device, aclError code) { armDevice(device, code); }

// Uncorrectable memory errors, as simInjectMemoryError sets them.

namespace {

struct MemoryErrors {
  std::mutex mutex;
  std::vector<aclrtMemUceInfo> by_device[sim::kMaxDevices];
};

MemoryErrors &errors() {
  static MemoryErrors &instance = *new MemoryErrors;
  return instance;
}

}  // namespace

namespace sim {

void memoryErrorsAtFork(Fork stage) { atFork(errors().mutex, stage); }

void forgetMemoryErrors() {
  std::lock_guard<std::mutex> lock(errors().mutex);
  for (auto &of_device : errors().by_device) of_device.clear();
}

}  // namespace sim

void simInjectMemoryError(int32_t device, void *address, uint64_t size) {
  if (findDevice(device) == nullptr) return;
  aclrtMemUceInfo info{};
  info.addr = address;
  info.len = size;
  std::lock_guard<std::mutex> lock(errors().mutex);
  errors().by_device[device].push_back(info);
}

aclError aclrtGetMemUceInfo(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray, size_t arraySize, size_t *retSize) {
  SIM_ENTER(aclrtGetMemUceInfo);
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_POINTER(memUceInfoArray);
  SIM_REQUIRE_POINTER(retSize);
  if (findDevice(deviceId) == nullptr) return badDevice(__func__, deviceId);
  if (arraySize == 0) return badValue(__func__, "arraySize", 0, "at least 1");
  std::lock_guard<std::mutex> lock(errors().mutex);
  const auto &known = errors().by_device[deviceId];
  *retSize = std::min(arraySize, known.size());
  std::copy_n(known.begin(), *retSize, memUceInfoArray);
  return ACL_SUCCESS;
}

// Copies from device to host can be recorded, and later copies can return the recorded bytes in the same order, from
// the first again after the last. A copy of another size fails. So programs that read results can run with null
// kernels.

namespace sim {

std::atomic<int32_t> reads_mode{SIM_READS_PLAIN};

namespace {

struct RecordedReads {
  std::mutex mutex;
  std::vector<std::vector<unsigned char>> reads;
  size_t next = 0;
};

RecordedReads &recordedReads() {
  static RecordedReads instance;
  return instance;
}

}  // namespace

void readsAtFork(Fork stage) { atFork(recordedReads().mutex, stage); }

aclError recordOrReplay(const char *function, unsigned char *bytes, uint64_t count) {
  RecordedReads &recorded = recordedReads();
  std::lock_guard<std::mutex> guard(recorded.mutex);
  if (reads_mode.load(std::memory_order_relaxed) == SIM_READS_RECORD) {
    recorded.reads.emplace_back(bytes, bytes + count);
    return ACL_SUCCESS;
  }
  if (recorded.reads.empty() || recorded.reads[recorded.next].size() != count) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: the read of %llu bytes is not the one on record",
                   function, static_cast<unsigned long long>(count));
  }
  std::memcpy(bytes, recorded.reads[recorded.next].data(), count);
  recorded.next = (recorded.next + 1) % recorded.reads.size();
  return ACL_SUCCESS;
}

}  // namespace sim

void simSetReads(int32_t mode) {
  RecordedReads &recorded = recordedReads();
  std::lock_guard<std::mutex> guard(recorded.mutex);
  if (mode == SIM_READS_RECORD) recorded.reads.clear();
  recorded.next = 0;
  reads_mode.store(mode, std::memory_order_relaxed);
}

// Counts of live objects. Every thread counts in its own block with plain stores, and readers add up all blocks, as an
// atomic addition for each object would be too slow.

namespace {

struct alignas(64) Block {
  std::atomic<int64_t> counts[SIM_KIND_COUNT] = {};
  std::atomic<bool> taken{true};
  Block *next = nullptr;
};

// Blocks are never removed, so readers need no lock, even in a forked child. The block of a thread that has ended keeps
// its counts and is reused by the next new thread.
std::atomic<Block *> first_block{nullptr};

struct ThreadBlock {
  Block *block = nullptr;
  ~ThreadBlock() {
    if (block != nullptr) block->taken.store(false, std::memory_order_release);
    block = nullptr;
  }
};

thread_local Block *own_block = nullptr;

SIM_COLD Block *adoptBlock() {
  thread_local ThreadBlock owner;
  Block *block = first_block.load(std::memory_order_acquire);
  for (; block != nullptr; block = block->next) {
    bool taken = false;
    if (block->taken.compare_exchange_strong(taken, true, std::memory_order_acquire)) break;
  }
  if (block == nullptr) {
    block = new Block;
    block->next = first_block.load(std::memory_order_relaxed);
    while (!first_block.compare_exchange_weak(block->next, block, std::memory_order_release)) {
    }
  }
  owner.block = block;
  own_block = block;
  return block;
}

constexpr const char *kNames[SIM_KIND_COUNT] = {
    "context",          "stream",   "event",       "notify",    "device_memory", "host_memory", "physical_memory",
    "reserved_address", "tensor",   "scalar",      "int_array", "float_array",   "bool_array",  "tensor_list",
    "scalar_list",      "executor", "data_buffer", "graph",     "communicator"};

}  // namespace

void simCount(SimKind kind, int64_t change) {
  Block *block = own_block;
  if (__builtin_expect(block == nullptr, 0)) block = adoptBlock();
  std::atomic<int64_t> &count = block->counts[kind];
  count.store(count.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

int64_t simLive(SimKind kind) {
  if (kind >= SIM_KIND_COUNT) return 0;
  int64_t sum = 0;
  for (Block *block = first_block.load(std::memory_order_acquire); block != nullptr; block = block->next) {
    sum += block->counts[kind].load(std::memory_order_relaxed);
  }
  return sum;
}

const char *simKindName(SimKind kind) { return kind < SIM_KIND_COUNT ? kNames[kind] : nullptr; }
