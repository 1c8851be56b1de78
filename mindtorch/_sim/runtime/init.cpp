// Start and end of the runtime, and what a forked child keeps of it.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "runtime.h"

namespace sim {

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
  if (configuration->default_device >= 0 && deviceOrNull(configuration->default_device) == nullptr) {
    return simFail(ACL_ERROR_INVALID_PARAM, "EE1001", "aclInit: default_device is %d, there are %d devices",
                   configuration->default_device, deviceCount());
  }
  return ACL_SUCCESS;
}

bool initialised() { return lifetime().references.load(std::memory_order_relaxed) != 0; }

aclError notRunning(const char *function) {
  if (lostInFork()) return noDevices(function);
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

// The threads of the streams and the memory of the devices stay with the parent; a child that goes on using its copy of
// the handles gets errors rather than waits for threads that are not there.
bool loseDevicesInChild() {
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

bool lostInFork() { return lifetime().lost_in_fork.load(std::memory_order_relaxed); }

aclError noDevices(const char *function) {
  return simFail(ACL_ERROR_UNINITIALIZE, "EE1001",
                 "%s: this process was forked after the first use of a device and has no devices", function);
}

}  // namespace sim

using namespace sim;

aclError aclInit(const char *configPath) {
  SIM_ENTER(aclInit);
  Lifetime &life = lifetime();
  if (lostInFork()) return noDevices(__func__);
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
