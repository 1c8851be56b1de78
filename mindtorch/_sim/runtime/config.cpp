// The environment that shapes the simulated machine.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "runtime.h"

namespace sim {

namespace {

constexpr uint64_t kDefaultMemory = uint64_t{32} << 30;
constexpr uint64_t kLeastMemory = uint64_t{2} << 20;

// "32GiB", "512MiB", "4KiB" or bytes; the default where it cannot be read.
uint64_t parseMemory(const char *text) {
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
    std::fprintf(stderr, "mindtorch simulator: MINDTORCH_SIM_MEMORY=%s is not a size such as 32GiB; using 32GiB\n",
                 text);
    return kDefaultMemory;
  }
  const uint64_t pages = static_cast<uint64_t>(bytes) / kLeastMemory;  // addresses are laid out in 2 MiB steps
  return std::max<uint64_t>(pages, 1) * kLeastMemory;
}

int32_t parseCount(const char *text) {
  if (text == nullptr || *text == '\0') return 1;
  char *end = nullptr;
  const long count = std::strtol(text, &end, 10);
  if (*end == '\0' && count >= 0 && count <= kMaxDevices) return static_cast<int32_t>(count);
  std::fprintf(stderr, "mindtorch simulator: MINDTORCH_SIM_DEVICES=%s is not a number from 0 to %d; using 1\n", text,
               kMaxDevices);
  return 1;
}

// The physical devices in the order of a list such as "2,0"; as with its CUDA twin, the first bad entry ends the list.
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

std::unique_ptr<const Config> readConfig() {
  const char *soc = std::getenv("MINDTORCH_SIM_SOC");
  const char *kernels = std::getenv("MINDTORCH_SIM_KERNELS");
  auto config = std::make_unique<Config>();
  Config &read = *config;
  read.memory_bytes = parseMemory(std::getenv("MINDTORCH_SIM_MEMORY"));
  read.physical =
      visibleDevices(std::getenv("ASCEND_RT_VISIBLE_DEVICES"), parseCount(std::getenv("MINDTORCH_SIM_DEVICES")));
  read.soc = soc == nullptr || *soc == '\0' ? "Ascend910B1" : soc;
  read.null_kernels = kernels != nullptr && std::strcmp(kernels, "null") == 0;
  return config;
}

}  // namespace

// No lock, as a fork may come in between: of two threads that read it at once, one reads in vain.
const Config &config() {
  static std::atomic<const Config *> instance{nullptr};
  const Config *known = instance.load(std::memory_order_acquire);
  if (__builtin_expect(known != nullptr, 1)) return *known;
  auto read = readConfig();
  return instance.compare_exchange_strong(known, read.get()) ? *read.release() : *known;
}

}  // namespace sim
