// Start and end of the runtime, its configuration, and what a forked child keeps of it.
#include <pthread.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "fork.h"
#include "runtime.h"

// The environment that shapes the simulated machine.

namespace sim {

namespace {

constexpr uint64_t kDefaultMemory = uint64_t{32} << 30;
constexpr uint64_t kLeastMemory = uint64_t{2} << 20;

// "MINDTORCH_SIM_MEMORY=many is not a size such as 32GiB"
std::string invalidValueMessage(const char *variable, const std::string &text, const std::string &expected) {
  return std::string(variable) + "=" + text + " is not " + expected;
}

// "32GiB", "512MiB", "4KiB" or bytes.
uint64_t parseMemory(const char *text, std::string *problem) {
  if (text == nullptr || *text == '\0') return kDefaultMemory;
  char *unit = nullptr;
  errno = 0;
  const double value = std::strtod(text, &unit);
  int shift = -1;
  if (std::strcmp(unit, "") == 0 || std::strcmp(unit, "B") == 0) shift = 0;
  if (std::strcmp(unit, "KiB") == 0) shift = 10;
  if (std::strcmp(unit, "MiB") == 0) shift = 20;
  if (std::strcmp(unit, "GiB") == 0) shift = 30;
  const double bytes = shift < 0 ? 0 : value * static_cast<double>(uint64_t{1} << shift);
  if (errno != 0 || !(bytes > 0) || bytes > static_cast<double>(uint64_t{1} << 42)) {
    *problem = invalidValueMessage("MINDTORCH_SIM_MEMORY", text, "a size such as 32GiB");
    return kDefaultMemory;
  }
  const uint64_t pages = static_cast<uint64_t>(bytes) / kLeastMemory;  // addresses are laid out in 2 MiB steps
  return std::max<uint64_t>(pages, 1) * kLeastMemory;
}

int32_t parseCount(const char *text, std::string *problem) {
  if (text == nullptr || *text == '\0') return 1;
  char *end = nullptr;
  const long count = std::strtol(text, &end, 10);
  if (*end == '\0' && count >= 0 && count <= kMaxDevices) return static_cast<int32_t>(count);
  *problem = invalidValueMessage("MINDTORCH_SIM_DEVICES", text, "a number from 0 to " + std::to_string(kMaxDevices));
  return 0;
}

// Physical device ids from a list such as "2,0". As with CUDA_VISIBLE_DEVICES, an invalid entry ends the list.
std::vector<int32_t> visibleDevices(const char *list, int32_t count) {
  std::vector<int32_t> visible;
  if (list == nullptr) {
    for (int32_t id = 0; id < count; ++id) visible.push_back(id);
    return visible;
  }
  std::istringstream entries(list);
  for (std::string entry; std::getline(entries, entry, ',');) {
    char *end = nullptr;
    const long id = std::strtol(entry.c_str(), &end, 10);
    const bool repeated = std::find(visible.begin(), visible.end(), id) != visible.end();
    if (end == entry.c_str() || *end != '\0' || id < 0 || id >= count || repeated) break;
    visible.push_back(static_cast<int32_t>(id));
  }
  return visible;
}

// A processor by CANN's names: Ascend910B1, Ascend910_9391, Ascend310P3, ...
std::string parseSoc(const char *text, std::string *problem) {
  if (text == nullptr || *text == '\0') return "Ascend910B1";
  for (const char *family : {"Ascend310", "Ascend610", "Ascend910", "Ascend950"}) {
    if (std::strncmp(text, family, std::strlen(family)) == 0) return text;
  }
  *problem = invalidValueMessage("MINDTORCH_SIM_SOC", text, "the name of an Ascend processor such as Ascend910B1");
  return text;
}

bool parseNullKernels(const char *text, std::string *problem) {
  if (text == nullptr || *text == '\0') return false;
  if (std::strcmp(text, "null") != 0) *problem = invalidValueMessage("MINDTORCH_SIM_KERNELS", text, "null");
  return true;
}

std::unique_ptr<const Config> readConfig() {
  auto config = std::make_unique<Config>();
  Config &read = *config;
  read.memory_bytes = parseMemory(std::getenv("MINDTORCH_SIM_MEMORY"), &read.problem);
  read.physical = visibleDevices(std::getenv("ASCEND_RT_VISIBLE_DEVICES"),
                                 parseCount(std::getenv("MINDTORCH_SIM_DEVICES"), &read.problem));
  read.soc = parseSoc(std::getenv("MINDTORCH_SIM_SOC"), &read.problem);
  read.null_kernels = parseNullKernels(std::getenv("MINDTORCH_SIM_KERNELS"), &read.problem);
  read.cost = readCost(std::getenv("MINDTORCH_SIM_COST"), &read.problem);
  return config;
}

}  // namespace

// Lock-free, as a fork may happen at any time. If two threads read the environment at once, one result is discarded.
const Config &config() {
  static std::atomic<const Config *> instance{nullptr};
  const Config *known = instance.load(std::memory_order_acquire);
  if (__builtin_expect(known != nullptr, 1)) return *known;
  auto read = readConfig();
  if (read->cost.modelled) __atomic_fetch_or(&simArmed, SIM_MODELLED, __ATOMIC_RELAXED);
  return instance.compare_exchange_strong(known, read.get()) ? *read.release() : *known;
}

// Start and end of the runtime, and what a forked child keeps of it.

namespace {

struct Lifetime {
  std::mutex mutex;                     // one aclInit or aclFinalize at a time
  std::atomic<uint64_t> references{0};  // aclInit minus aclFinalizeReference; 0: not initialised
  std::atomic<bool> finalised_once{false};
  std::atomic<bool> lost_in_fork{false};
  std::atomic<int32_t> default_device{-1};
};

Lifetime &lifetime() {
  static Lifetime &instance = *new Lifetime;
  return instance;
}

struct Configuration {
  int32_t default_device = -1;
  bool shared_messages = false;
};

bool bracesMatch(const std::string &text) {
  std::string open;
  bool quoted = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
      continue;
    }
    if (c == '"') quoted = true;
    if (c == '{' || c == '[') open.push_back(c == '{' ? '}' : ']');
    if (c == '}' || c == ']') {
      if (open.empty() || open.back() != c) return false;
      open.pop_back();
    }
  }
  return open.empty() && !quoted;
}

// The number behind `"key":`, quoted or not; -1 where there is none.
int32_t numberOf(const std::string &text, const char *key) {
  const std::string quoted = std::string("\"") + key + "\"";
  size_t at = text.find(quoted);
  if (at == std::string::npos) return -1;
  at = text.find_first_not_of(" \t\r\n:\"", at + quoted.size());
  if (at == std::string::npos || text[at] < '0' || text[at] > '9') return -1;
  return static_cast<int32_t>(std::strtol(text.c_str() + at, nullptr, 10));
}

aclError readConfiguration(const char *path, Configuration *configuration) {
  std::ifstream file(path);
  if (!file) return simFail(ACL_ERROR_INVALID_FILE, "EE1001", "aclInit: configPath \"%s\" cannot be read", path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return ACL_SUCCESS;
  if (text[first] != '{' || !bracesMatch(text)) {
    return simFail(ACL_ERROR_PARSE_FILE, "EE1001", "aclInit: configPath \"%s\" does not hold a JSON object", path);
  }
  configuration->shared_messages = numberOf(text, "err_msg_mode") == 1;
  configuration->default_device = numberOf(text, "default_device");
  if (configuration->default_device >= 0 && findDevice(configuration->default_device) == nullptr) {
    return simFail(ACL_ERROR_INVALID_PARAM, "EE1001", "aclInit: default_device is %d, there are %d devices",
                   configuration->default_device, deviceCount());
  }
  return ACL_SUCCESS;
}

bool initialised() { return lifetime().references.load(std::memory_order_relaxed) != 0; }

aclError notRunning(const char *function) {
  if (isForkedChild()) return noDevices(function);
  if (!lifetime().finalised_once) {
    return simFail(ACL_ERROR_UNINITIALIZE, "EE1001", "%s: aclInit was not called", function);
  }
  return simFail(ACL_ERROR_REPEAT_FINALIZE, "EE1001", "%s: ACL was finalised before", function);
}

void finalise() {
  Lifetime &life = lifetime();
  life.references.store(0);
  life.finalised_once.store(true);
  releaseAllDevices();
  releasePinnedMemory();
  setSharedMessages(false);
  life.default_device.store(-1);
}

}  // namespace

// Streams' threads and device memory are not inherited by a child. Its calls fail instead of waiting for threads that
// do not exist.
bool dropDevicesInChild() {
  Lifetime &life = lifetime();
  if (life.lost_in_fork.load()) return true;
  const bool between = !life.mutex.try_lock();  // another thread was in the midst of aclInit or aclFinalize
  if (!between) life.mutex.unlock();
  bool used = between || life.references.load() != 0;
  contexts().forEachLive([&](Context *) { used = true; });  // aclrtSetDevice does not ask for aclInit
  if (!used) return false;
  life.references.store(0);
  life.lost_in_fork.store(true);
  thread_state = ThreadState{};
  memory_generation.fetch_add(1);
  return true;
}

int32_t defaultDevice() { return lifetime().default_device.load(std::memory_order_relaxed); }

bool isForkedChild() { return lifetime().lost_in_fork.load(std::memory_order_relaxed); }

aclError noDevices(const char *function) {
  return simFail(ACL_ERROR_UNINITIALIZE, "EE1001",
                 "%s: this process was forked after the first use of a device and has no devices", function);
}

}  // namespace sim

using namespace sim;

aclError aclInit(const char *configPath) {
  SIM_ENTER(aclInit);
  Lifetime &life = lifetime();
  SIM_REQUIRE_DEVICES();
  SIM_REQUIRE_SETTINGS();
  std::lock_guard<std::mutex> lock(life.mutex);
  if (life.references.load() > 0) {
    life.references.fetch_add(1);
    return simFail(ACL_ERROR_REPEAT_INITIALIZE, "EE1001", "aclInit: called before; this call may be ignored");
  }
  Configuration configuration;
  if (configPath != nullptr && *configPath != '\0') {
    const aclError error = readConfiguration(configPath, &configuration);
    if (error != ACL_SUCCESS) return error;
  }
  life.default_device.store(configuration.default_device);
  setSharedMessages(configuration.shared_messages);
  life.references.store(1);
  return ACL_SUCCESS;
}

aclError aclFinalize(void) {
  SIM_ENTER(aclFinalize);
  Lifetime &life = lifetime();
  if (!initialised()) return notRunning(__func__);
  std::lock_guard<std::mutex> lock(life.mutex);
  finalise();
  return ACL_SUCCESS;
}

aclError aclFinalizeReference(uint64_t *refCount) {
  SIM_ENTER(aclFinalizeReference);
  Lifetime &life = lifetime();
  if (!initialised()) return notRunning(__func__);
  std::lock_guard<std::mutex> lock(life.mutex);
  const uint64_t left = life.references.load() - 1;
  if (left == 0) {
    finalise();
  } else {
    life.references.store(left);
  }
  if (refCount != nullptr) *refCount = left;
  return ACL_SUCCESS;
}

// Fork handling: the child inherits all locked data in a consistent state, and no devices.

namespace sim {

namespace {

void lifecycleAtFork(Fork stage) { atFork(lifecycleMutex(), stage); }

void deviceMemoryAtFork(Fork stage) {
  for (int32_t id = 0; id < kMaxDevices; ++id) device(id).memory.atFork(stage);
}

// In lock order. Not included: the locks inside streams, events and physical memory handles, which a child cannot use,
// and the lock of aclInit and aclFinalize, as they wait for host functions, which may fork.
constexpr void (*kParts[])(Fork) = {
    lifecycleAtFork,    capturesAtFork,       graphsAtFork,       contextsAtFork,       streamsAtFork,
    eventsAtFork,       notifiesAtFork,       pinnedMemoryAtFork, physicalMemoryAtFork, deviceMemoryAtFork,
    signalAtFork,       Device::faultsAtFork, dataBuffersAtFork,  watchesAtFork,        messagesAtFork,
    memoryErrorsAtFork, readsAtFork,
};

void release(Fork stage) {
  for (auto part = std::rbegin(kParts); part != std::rend(kParts); ++part) (*part)(stage);
}

void beforeFork() {
  for (const auto part : kParts) part(Fork::kPrepare);
}

void inParent() { release(Fork::kParent); }

void inChild() {
  release(Fork::kChild);
  if (dropDevicesInChild()) return;
  for (int32_t id = 0; id < kMaxDevices; ++id) device(id).memory.forget();
}

[[maybe_unused]] const int registered = pthread_atfork(beforeFork, inParent, inChild);

}  // namespace
}  // namespace sim
