// Memory errors that a chip could not correct: those that simInjectMemoryError says there are.
#include <algorithm>
#include <vector>

#include "runtime.h"

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

void carryMemoryErrorsOver(Fork stage) { carryOver(errors().mutex, stage); }

void forgetMemoryErrors() {
  std::lock_guard<std::mutex> lock(errors().mutex);
  for (auto &of_device : errors().by_device) of_device.clear();
}

}  // namespace sim

using namespace sim;

void simInjectMemoryError(int32_t device, void *address, uint64_t size) {
  if (deviceOrNull(device) == nullptr) return;
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
  if (deviceOrNull(deviceId) == nullptr) return badDevice(__func__, deviceId);
  if (arraySize == 0) return badValue(__func__, "arraySize", 0, "at least 1");
  std::lock_guard<std::mutex> lock(errors().mutex);
  const auto &known = errors().by_device[deviceId];
  *retSize = std::min(arraySize, known.size());
  std::copy_n(known.begin(), *retSize, memUceInfoArray);
  return ACL_SUCCESS;
}
