// What a fork does to the runtime: the child gets all that is guarded by locks in a whole state, and no devices.
#include "fork.h"

#include <pthread.h>

#include <iterator>

#include "runtime.h"

namespace sim {

namespace {

void carryLifecycleOver(Fork stage) { carryOver(lifecycleMutex(), stage); }

void carryDeviceMemoryOver(Fork stage) {
  for (int32_t id = 0; id < kMaxDevices; ++id) device(id).memory.carryOver(stage);
}

// In the order in which they nest. Left out are the locks inside streams, events and handles of physical memory, which
// no child can reach, and the one around aclInit and aclFinalize, for they wait for host functions, which may fork.
constexpr void (*kParts[])(Fork) = {
    carryLifecycleOver,      carryCapturesOver,     carryGraphsOver,   carryContextsOver,
    carryStreamsOver,        carryEventsOver,       carryNotifiesOver, carryPinnedMemoryOver,
    carryPhysicalMemoryOver, carryDeviceMemoryOver, carrySignalOver,   Device::carryFaultsOver,
    carryDataBuffersOver,    carryWatchesOver,      carryMessagesOver, carryMemoryErrorsOver,
    carryReadsOver,
};

void release(Fork stage) {
  for (auto part = std::rbegin(kParts); part != std::rend(kParts); ++part) (*part)(stage);
}

void beforeFork() {
  for (const auto part : kParts) part(Fork::kBefore);
}

void inParent() { release(Fork::kInParent); }

void inChild() {
  release(Fork::kInChild);
  if (loseDevicesInChild()) return;
  for (int32_t id = 0; id < kMaxDevices; ++id) device(id).memory.forget();
}

[[maybe_unused]] const int registered = pthread_atfork(beforeFork, inParent, inChild);

}  // namespace
}  // namespace sim
