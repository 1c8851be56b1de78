// Profiles of the modelled host and device, and their files.
#include "cost.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

namespace sim {

namespace {

constexpr const char *kNames[] = {"low", "medium", "high"};
constexpr int kProfiles = 3;

// Nobody has measured these on hardware for this project. "Assumed" marks a figure without a source; what is concluded
// from the model has to hold in all three profiles.
constexpr struct {
  const char *name;
  double values[kProfiles];
} kLines[] = {
    // --- the calling thread, nanoseconds
    // Assumed: phase 1 and 2 together take "several to twenty microseconds" on hosts of an Ascend 910B.
    {"phase1", {3000, 8000, 15000}},
    {"phase2", {4000, 5000, 8000}},
    // Assumed: CANN still hashes all arguments and makes the wrapper, but neither infers shapes nor tiles.
    {"phase1.hit", {1000, 2000, 4000}},
    // Assumed: one look-up by a key that the caller has made, and a copied list of addresses.
    {"PTA*ExecCache", {400, 800, 1500}},
    // Assumed: a small object each, from a free list.
    {"aclCreateTensor", {100, 150, 300}},
    {"aclCreate*", {50, 80, 150}},
    {"aclDestroy*", {30, 50, 100}},
    // opbase's source: the address is written to the tensor, and to the executor of a single kernel. Assumed: as
    // little as to destroy an object. The first of them, once for each executor, looks through its kernels.
    {"aclSetAclOpExecutorRepeatable", {100, 150, 300}},
    {"[aA]clSet*TensorAddr", {30, 50, 100}},
    // Assumed: page tables of the device change.
    {"aclrtMalloc*", {20000, 50000, 100000}},
    {"aclrtFree*", {20000, 50000, 100000}},
    // Assumed: a task in a queue; a synchronous copy waits for its completion too.
    {"aclrtMemcpyAsync*", {2000, 4000, 8000}},
    {"aclrtMemsetAsync", {2000, 4000, 8000}},
    {"aclrtMemcpy*", {8000, 12000, 20000}},
    {"aclrtMemset", {8000, 12000, 20000}},
    {"aclrtRecordEvent", {1000, 2000, 4000}},
    {"aclrtStreamWaitEvent*", {1000, 2000, 4000}},
    {"aclrtQueryEvent*", {300, 500, 1000}},
    {"aclrtStreamQuery", {300, 500, 1000}},
    // Assumed: to be woken when the device is done.
    {"aclrtSynchronize*", {3000, 5000, 10000}},
    // Assumed: a graph is one task of the queue, with a little more to say.
    {"aclmdlRIExecuteAsync", {4000, 8000, 15000}},
    // --- the device
    // Assumed: the shortest time of a kernel, nanoseconds.
    {"kernel.least", {2000, 2000, 2000}},
    // Assumed: articles on the Ascend 910B give 0.4 to 1.6 TB/s for its HBM2e.
    {"memory.rate", {1.2e12, 1.2e12, 1.2e12}},
    // Assumed: half of the 256 to 320 TFLOP/s that articles give for 16-bit floats.
    {"cube.rate", {1.5e14, 1.5e14, 1.5e14}},
    // PCI Express 4.0 with 16 lanes has 31.5 GB/s in each direction; assumed: four fifths of it.
    {"link.rate", {2.5e10, 2.5e10, 2.5e10}},
    // --- collectives (hccl/collectives.cpp)
    // Assumed: for each of them, all devices of a server exchange their pieces at once.
    {"hccl.latency", {5000, 10000, 20000}},
    // Articles give an Ascend 910B 196 GB/s in each direction to the seven others of its server; assumed: three
    // quarters.
    {"hccl.rate", {1.5e11, 1.5e11, 1.5e11}},
    // Assumed: of a step between servers, of which there are log2(servers).
    {"hccl.net.latency", {10000, 20000, 40000}},
    // A card of 200 Gbit/s for each device has 25 GB/s; assumed: four fifths of it.
    {"hccl.net.rate", {2e10, 2e10, 2e10}},
    // Usable tasks of a stream's queue on A2 and A3 (runtime's table of the chip), as without a model.
    {"queue.depth", {2013, 2013, 2013}},
};

std::string trimmed(const std::string &text) {
  const size_t first = text.find_first_not_of(" \t\r");
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// False where the value makes no sense for the name.
bool set(Cost *cost, const std::string &name, double value) {
  if (!(value >= 0) || value > 1e18) return false;
  const bool rate = value >= 1;  // that something is divided by
  if (name == "kernel.least") return cost->least_kernel = std::llround(value), true;
  if (name == "memory.rate") return cost->memory_rate = value, rate;
  if (name == "cube.rate") return cost->cube_rate = value, rate;
  if (name == "link.rate") return cost->link_rate = value, rate;
  if (name == "queue.depth") return cost->queue_depth = static_cast<uint64_t>(value), rate;
  cost->calls.emplace_back(name, std::llround(value));
  return true;
}

// "8us", "150ns", "0.1ms", or a plain number: nanoseconds, or a rate or depth.
bool readValue(const std::string &text, double *value) {
  char *unit = nullptr;
  *value = std::strtod(text.c_str(), &unit);
  if (unit == text.c_str()) return false;
  for (const auto &[name, factor] :
       {std::pair("", 1.0), std::pair("ns", 1.0), std::pair("us", 1e3), std::pair("ms", 1e6)}) {
    if (std::strcmp(unit, name) != 0) continue;
    *value *= factor;
    return true;
  }
  return false;
}

Cost profile(int index) {
  Cost cost;
  cost.modelled = true;
  for (const auto &line : kLines) set(&cost, line.name, line.values[index]);
  return cost;
}

// A line of a file: "name = value  # comment", or "base = <profile>" first, whose lines count where no other does.
Cost readFile(const char *path, std::string *problem) {
  const std::string which = std::string("MINDTORCH_SIM_COST=") + path;
  std::ifstream file(path);
  if (!file) *problem = which + " is not low, medium, high or a file that can be read";
  Cost base = profile(1), cost;
  bool based = false;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    const std::string name = equals == std::string::npos ? "" : trimmed(line.substr(0, equals));
    const std::string text = equals == std::string::npos ? "" : trimmed(line.substr(equals + 1));
    if (name == "base") {
      for (int index = 0; index < kProfiles && !based; ++index) {
        if (text == kNames[index]) base = profile(index), based = true;
      }
      if (based) continue;
    }
    double value = 0;
    if (name.empty() || name == "base" || !readValue(text, &value) || !set(&cost, name, value)) {
      *problem = which + ", line " + std::to_string(number) + ": \"" + line + "\" is not such as \"phase1 = 8us\"";
      break;
    }
  }
  cost.modelled = true;
  cost.calls.insert(cost.calls.end(), base.calls.begin(), base.calls.end());
  if (cost.least_kernel == 0) cost.least_kernel = base.least_kernel;
  if (cost.memory_rate == 0) cost.memory_rate = base.memory_rate;
  if (cost.cube_rate == 0) cost.cube_rate = base.cube_rate;
  if (cost.link_rate == 0) cost.link_rate = base.link_rate;
  if (cost.queue_depth == 0) cost.queue_depth = base.queue_depth;
  return cost;
}

}  // namespace

int64_t Cost::call(const char *name) const {
  for (const auto &[pattern, nanoseconds] : calls) {
    if (fnmatch(pattern.c_str(), name, 0) == 0) return nanoseconds;
  }
  return 0;
}

int64_t Cost::kernel(int64_t bytes, double flops) const {
  if (!modelled) return 0;
  const double seconds = std::max(static_cast<double>(bytes) / memory_rate, flops / cube_rate);
  return std::max(least_kernel, static_cast<int64_t>(1e9 * seconds));
}

int64_t Cost::copy(uint64_t bytes, bool crosses_link) const {
  if (!modelled) return 0;
  return static_cast<int64_t>(1e9 * static_cast<double>(bytes) / (crosses_link ? link_rate : memory_rate / 2));
}

Cost readCost(const char *setting, std::string *problem) {
  if (setting == nullptr || *setting == '\0') return Cost{};
  for (int index = 0; index < kProfiles; ++index) {
    if (std::strcmp(setting, kNames[index]) == 0) return profile(index);
  }
  return readFile(setting, problem);
}

void pauseUntil(Clock::time_point end) {
  constexpr std::chrono::microseconds kLate{150};  // by which a sleep may be
  if (end - Clock::now() > 2 * kLate) std::this_thread::sleep_until(end - kLate);
  while (Clock::now() < end) {
  }
}

bool pauseUntilDue(int64_t due, Clock::time_point end) {
  const Clock::time_point time{std::chrono::nanoseconds(due)};
  if (due != 0) pauseUntil(std::min(time, end));
  return due == 0 || time <= end;
}

}  // namespace sim
