// Environment variables, settings of the process, the chip, texts of statuses.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "communicator.h"

namespace sim::hccl {

HcclResult fail(HcclResult code, const char *id, const char *format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  simFail(ACL_ERROR_INVALID_PARAM, id, "%s", text);
  return code;
}

HcclResult nullArgument(const char *function, const char *argument) {
  return fail(HCCL_E_PTR, "EI0003", "%s: %s is a null pointer", function, argument);
}

namespace {

// A number from the environment, within bounds; an invalid value is noted in `problem`.
template <class T>
void readNumber(const char *name, double least, double most, T *value, std::string *problem) {
  const char *text = std::getenv(name);
  if (text == nullptr || *text == '\0') return;
  char *end = nullptr;
  const double number = std::strtod(text, &end);
  if (*end == '\0' && number >= least && number <= most) {
    *value = static_cast<T>(number);
  } else if (problem->empty()) {
    char bounds[64];
    std::snprintf(bounds, sizeof(bounds), "%.10g to %.10g", least, most);
    *problem = std::string(name) + " is \"" + text + "\", expected " + bounds;
  }
}

Environment read() {
  Environment result;
  std::string *problem = &result.problem;
  readNumber("HCCL_CONNECT_TIMEOUT", 120, 7200, &result.connect_seconds, problem);
  readNumber("HCCL_EXEC_TIMEOUT", 0, 2147483647, &result.execute_seconds, problem);
  readNumber("HCCL_BUFFSIZE", 1, 1048576, &result.buffer_megabytes, problem);
  readNumber("HCCL_IF_BASE_PORT", 1024, 65520, &result.base_port, problem);
  readNumber("MINDTORCH_SIM_HCCL_TIMEOUT_SCALE", 1e-6, 1, &result.scale, problem);
  readNumber("MINDTORCH_SIM_HCCL_RANKS", 1, 1048576, &result.modelled_ranks, problem);
  if (const char *text = std::getenv("HCCL_DETERMINISTIC")) {
    const char *const values[] = {"false", "true", "strict"};
    for (int32_t value = 0; value < 3; ++value) {
      if (strcasecmp(text, values[value]) == 0) result.deterministic = value;
    }
    if (result.deterministic < 0 && problem->empty()) {
      *problem = std::string("HCCL_DETERMINISTIC is \"") + text + "\", expected false, true or strict";
    }
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> interfaces(int family) {  // name, address
  std::vector<std::pair<std::string, std::string>> result;
  ifaddrs *all = nullptr;
  if (getifaddrs(&all) != 0) return result;
  for (const ifaddrs *it = all; it != nullptr; it = it->ifa_next) {
    if (it->ifa_addr == nullptr || it->ifa_addr->sa_family != family || (it->ifa_flags & IFF_UP) == 0) continue;
    const void *address = family == AF_INET6
                              ? static_cast<const void *>(&reinterpret_cast<sockaddr_in6 *>(it->ifa_addr)->sin6_addr)
                              : &reinterpret_cast<sockaddr_in *>(it->ifa_addr)->sin_addr;
    char text[INET6_ADDRSTRLEN] = {};
    inet_ntop(family, address, text, sizeof(text));
    if (std::strncmp(text, "fe80:", 5) != 0) result.emplace_back(it->ifa_name, text);  // it would need its interface
  }
  freeifaddrs(all);
  std::sort(result.begin(), result.end());
  return result;
}

bool startsWith(const std::string &text, const std::string &prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

// HCCL_SOCKET_IFNAME: "eth" and "eth,en" are prefixes, "=eth0" a name, "^eth" all others, "^=eth0" likewise.
bool chosen(const std::string &interface, std::string choice) {
  bool except = false;
  bool exact = false;
  while (!choice.empty() && (choice[0] == '^' || choice[0] == '=')) {
    (choice[0] == '^' ? except : exact) = true;
    choice.erase(0, 1);
  }
  bool found = false;
  for (size_t begin = 0; begin <= choice.size();) {
    const size_t end = std::min(choice.find(',', begin), choice.size());
    const std::string part = choice.substr(begin, end - begin);
    found |= !part.empty() && (exact ? interface == part : startsWith(interface, part));
    begin = end + 1;
  }
  return found != except;
}

}  // namespace

const Environment &environment() {
  static const Environment &instance = *new Environment(read());
  return instance;
}

Clock::time_point connectDeadline(double more_seconds) {
  const double seconds = (environment().connect_seconds + more_seconds) * environment().scale;
  return Clock::now() + std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
}

std::string hostAddress() {
  if (const char *ip = std::getenv("HCCL_IF_IP")) return ip;
  const char *family = std::getenv("HCCL_SOCKET_FAMILY");
  const auto all = interfaces(family != nullptr && std::strcmp(family, "AF_INET6") == 0 ? AF_INET6 : AF_INET);
  const char *choice = std::getenv("HCCL_SOCKET_IFNAME");
  const auto rank = [](const std::string &name) { return name == "lo" ? 2 : startsWith(name, "docker") ? 1 : 0; };
  const std::pair<std::string, std::string> *best = nullptr;
  for (const auto &one : all) {
    if (choice != nullptr && !chosen(one.first, choice)) continue;
    if (best == nullptr || rank(one.first) < rank(best->first)) best = &one;
  }
  return best == nullptr ? "" : best->second;
}

Chip chip() {
  static const Chip found = [] {
    const char *name = aclrtGetSocName();
    const std::string soc = name == nullptr ? "" : name;
    if (startsWith(soc, "Ascend910B")) return Chip::k910B;
    if (startsWith(soc, "Ascend910_93")) return Chip::k910_93;
    if (startsWith(soc, "Ascend950")) return Chip::k950;
    if (startsWith(soc, "Ascend310P")) return Chip::k310P;
    return Chip::k910;
  }();
  return found;
}

namespace {
std::atomic<int32_t> settings[HCCL_CONFIG_RESERVED] = {};
}

int32_t deterministicSetting() {
  const int32_t variable = environment().deterministic;
  return variable >= 0 ? variable : settings[HCCL_DETERMINISTIC].load();
}

}  // namespace sim::hccl

using namespace sim::hccl;

HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
  HCCL_ENTER(HcclSetConfig);
  if (static_cast<uint32_t>(config) >= HCCL_CONFIG_RESERVED) {
    return fail(HCCL_E_PARA, "EI0003", "%s: config %d is not a member of HcclConfig", __func__,
                static_cast<int>(config));
  }
  if (config == HCCL_DETERMINISTIC && environment().deterministic < 0) {
    if (configValue.value < 0 || configValue.value > 2) {
      return fail(HCCL_E_PARA, "EI0003", "%s: configValue is %d, expected 0 to 2", __func__, configValue.value);
    }
    if (configValue.value == 2 && chip() != Chip::k910B) {
      return fail(HCCL_E_NOT_SUPPORT, "EI0003", "%s: this chip has no strict determinism", __func__);
    }
  }
  settings[config].store(configValue.value);
  return HCCL_SUCCESS;
}

HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue) {
  HCCL_ENTER(HcclGetConfig);
  if (configValue == nullptr) return nullArgument(__func__, "configValue");
  if (static_cast<uint32_t>(config) >= HCCL_CONFIG_RESERVED) {
    return fail(HCCL_E_PARA, "EI0003", "%s: config %d is not a member of HcclConfig", __func__,
                static_cast<int>(config));
  }
  configValue->value = config == HCCL_DETERMINISTIC ? deterministicSetting() : settings[config].load();
  return HCCL_SUCCESS;
}

uint32_t HcclGetCommConfigCapability(void) { return HCCL_COMM_CONFIG_RESERVED; }

const char *HcclGetErrorString(HcclResult code) {
  static const char *const kTexts[HCCL_E_RESERVED] = {
      "no error",
      "parameter error",
      "empty pointer",
      "memory error",
      "internal error",
      "feature not supported",
      "resource not found",
      "resource unavailable",
      "system call failed",
      "timeout",
      "file cannot be opened",
      "tcp connection failed",
      "roce connection failed",
      "tcp transfer failed",
      "roce transfer failed",
      "runtime call failed",
      "driver call failed",
      "profiling call failed",
      "cce call failed",
      "network call failed",
      "repeat the operation",
      "error of a remote rank",
      "the communicator is suspended",
      "retry of the operation failed",
      "out of memory",
  };
  const auto index = static_cast<uint32_t>(code);
  return index < HCCL_E_RESERVED ? kTexts[index] : "unknown error";
}
