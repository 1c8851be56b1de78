// Faults, latencies and call counts on demand. All of it costs one relaxed load per call while nothing is armed.
#include <chrono>
#include <map>
#include <mutex>
#include <string>

#include "runtime.h"

int32_t simArmed = 0;

using namespace sim;

namespace {

struct Watch {
  int64_t calls_until_fault = 0;  // 0: no fault armed; 1: the next call fails
  int64_t faults_left = 0;
  aclError code = ACL_SUCCESS;
  int64_t latency_ns = 0;
  int64_t calls = 0;
};

struct Watches {
  std::mutex mutex;
  std::map<std::string, Watch, std::less<>> by_function;
  bool counting = false;

  // Called with the mutex held, after each change of what is armed.
  void arm() {
    bool armed = counting;
    for (const auto &[name, watch] : by_function) armed |= watch.faults_left > 0 || watch.latency_ns > 0;
    __atomic_store_n(&simArmed, armed ? 1 : 0, __ATOMIC_RELAXED);
  }
};

Watches &watches() {
  static Watches &instance = *new Watches;  // never destroyed: libraries may call in during process exit
  return instance;
}

void busyWait(int64_t nanoseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanoseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

}  // namespace

void sim::carryWatchesOver(Fork stage) { carryOver(watches().mutex, stage); }

void simInjectFault(const char *function, int64_t nth, int64_t times, aclError code) {
  if (function == nullptr) return;
  Watches &all = watches();
  std::lock_guard<std::mutex> lock(all.mutex);
  Watch &watch = all.by_function[function];
  const bool armed = code != ACL_SUCCESS && nth > 0 && times > 0;
  watch.calls_until_fault = armed ? nth : 0;
  watch.faults_left = armed ? times : 0;
  watch.code = code;
  all.arm();
}

void simSetLatency(const char *function, int64_t nanoseconds) {
  if (function == nullptr) return;
  Watches &all = watches();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.by_function[function].latency_ns = nanoseconds;
  all.arm();
}

void simClearFaults(void) {
  Watches &all = watches();
  {
    std::lock_guard<std::mutex> lock(all.mutex);
    for (auto &[name, watch] : all.by_function) {
      watch.calls_until_fault = watch.faults_left = watch.latency_ns = 0;
    }
    all.arm();
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
  all.arm();
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

aclError simEnterArmed(const char *function) {
  int64_t latency_ns = 0;
  aclError code = ACL_SUCCESS;
  {
    Watches &all = watches();
    std::lock_guard<std::mutex> lock(all.mutex);
    auto found = all.by_function.find(std::string_view(function));
    if (found == all.by_function.end()) {
      if (!all.counting) return ACL_SUCCESS;
      found = all.by_function.emplace(function, Watch{}).first;
    }
    Watch &watch = found->second;
    if (all.counting) ++watch.calls;
    latency_ns = watch.latency_ns;
    if (watch.faults_left > 0 && --watch.calls_until_fault <= 0) {
      code = watch.code;
      if (--watch.faults_left == 0) all.arm();
    }
  }
  if (latency_ns > 0) busyWait(latency_ns);
  if (code == ACL_SUCCESS) return ACL_SUCCESS;
  return simFail(code, "EZ9999", "%s: this call fails with %d because a fault was injected", function, code);
}

void simInjectDeviceFault(int32_t device, aclError code) { armDevice(device, code); }
