// Conditions that the environment asks for: slow links, a rank that dies, ranks that come in another order, and a trace
// of all operations.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <thread>

#include "communicator.h"

namespace sim::hccl {

namespace {

struct SlowLink {
  uint32_t first, second;
  double milliseconds;
  double bytes_per_second;  // 0: as fast as the machine
};

struct Conditions {
  std::vector<SlowLink> slow;  // MINDTORCH_SIM_HCCL_SLOW
  bool drops = false;          // MINDTORCH_SIM_HCCL_DROP
  uint32_t dropped_rank = 0;
  uint64_t dropped_at = 0;
  bool reorders = false;  // MINDTORCH_SIM_HCCL_REORDER
  uint64_t seed = 0;
  std::string trace;  // MINDTORCH_SIM_HCCL_TRACE
  std::string problem;
};

constexpr double kLongestReorderMilliseconds = 2;

// "0-1:5" or "0-1:5:1e8", separated by commas.
bool readSlow(const std::string &text, std::vector<SlowLink> *links) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    SlowLink link{0, 0, 0, 0};
    const std::string part = text.substr(begin, end - begin);
    int read = 0;
    const int fields = std::sscanf(part.c_str(), "%u-%u:%lf%n:%lf%n", &link.first, &link.second, &link.milliseconds,
                                   &read, &link.bytes_per_second, &read);
    if (fields < 3 || static_cast<size_t>(read) != part.size() || link.milliseconds < 0 || link.bytes_per_second < 0) {
      return false;
    }
    links->push_back(link);
    begin = end + 1;
  }
  return true;
}

Conditions read() {
  Conditions result;
  const auto text = [](const char *name) -> std::string {
    const char *value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  const auto refuse = [&](const char *name, const char *expected) {
    if (result.problem.empty()) result.problem = std::string(name) + " is \"" + text(name) + "\", expected " + expected;
  };
  const std::string slow = text("MINDTORCH_SIM_HCCL_SLOW");
  if (!slow.empty() && !readSlow(slow, &result.slow)) {
    refuse("MINDTORCH_SIM_HCCL_SLOW", "RANK-RANK:MILLISECONDS[:BYTES_PER_SECOND],...");
  }
  int end = 0;
  const std::string drop = text("MINDTORCH_SIM_HCCL_DROP");
  unsigned long long number = 0;
  result.drops = !drop.empty();
  if (result.drops && (std::sscanf(drop.c_str(), "%u:%llu%n", &result.dropped_rank, &number, &end) != 2 ||
                       static_cast<size_t>(end) != drop.size())) {
    refuse("MINDTORCH_SIM_HCCL_DROP", "RANK:NUMBER");
  }
  result.dropped_at = number;
  const std::string reorder = text("MINDTORCH_SIM_HCCL_REORDER");
  result.reorders = !reorder.empty();
  if (result.reorders &&
      (std::sscanf(reorder.c_str(), "%llu%n", &number, &end) != 1 || static_cast<size_t>(end) != reorder.size())) {
    refuse("MINDTORCH_SIM_HCCL_REORDER", "a number, the seed");
  }
  result.seed = number;
  result.trace = text("MINDTORCH_SIM_HCCL_TRACE");
  if (!result.trace.empty() && access(result.trace.c_str(), W_OK | X_OK) != 0) {
    refuse("MINDTORCH_SIM_HCCL_TRACE", "a folder that can be written to");
  }
  return result;
}

const Conditions &conditions() {
  static const Conditions &instance = *new Conditions(read());
  return instance;
}

void pause(const Communicator &communicator, double milliseconds) {
  const auto end = Clock::now() + std::chrono::microseconds(static_cast<int64_t>(milliseconds * 1e3));
  while (Clock::now() < end && !communicator.destroyed.load() && !simTaskCancelled()) {
    std::this_thread::sleep_for(std::min<Clock::duration>(end - Clock::now(), std::chrono::milliseconds(20)));
  }
}

double microseconds() {
  return std::chrono::duration<double, std::micro>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The count of a call; of one that has counts by rank, what the rank sends, of messages what they hold.
uint64_t elementsOf(const Operation &operation) {
  if (operation.count != 0) return operation.count;
  uint64_t elements = std::accumulate(operation.send_counts.begin(), operation.send_counts.end(), uint64_t{0});
  for (const HcclSendRecvItem &item : operation.items) elements += item.count;
  return elements;
}

}  // namespace

const std::string &problemOfConditions() { return conditions().problem; }

void delayOrDrop(const Communicator &communicator, uint64_t number) {
  const Conditions &all = conditions();
  if (all.drops && communicator.rank == all.dropped_rank && number >= all.dropped_at) std::raise(SIGKILL);
  if (!all.reorders) return;
  std::mt19937_64 random(all.seed ^ (communicator.rank * 0x9E3779B97F4A7C15ull) ^ (number << 20));
  pause(communicator, std::uniform_real_distribution<double>(0, kLongestReorderMilliseconds)(random));
}

void delayTransfers(const Communicator &communicator, const std::vector<Transfer> &transfers) {
  const Conditions &all = conditions();
  double longest = 0;
  for (const SlowLink &link : all.slow) {
    uint64_t sent = 0;
    uint64_t received = 0;
    bool crosses = false;
    for (const Transfer &transfer : transfers) {
      const auto ends = std::minmax(communicator.rank, transfer.peer);
      if (ends != std::minmax(link.first, link.second)) continue;
      crosses = true;
      (transfer.sends ? sent : received) += transfer.bytes;
    }
    if (!crosses) continue;
    const double moving =
        link.bytes_per_second == 0 ? 0 : static_cast<double>(std::max(sent, received)) / link.bytes_per_second * 1e3;
    longest = std::max(longest, link.milliseconds + moving);
  }
  if (longest != 0) pause(communicator, longest);
}

Tracing::Tracing(const Operation &operation, uint64_t number)
    : operation_(operation), number_(number), begun_(conditions().trace.empty() ? 0 : microseconds()) {}

void Tracing::end(aclError result) const {
  if (begun_ == 0) return;
  const Communicator &communicator = *operation_.communicator;
  const HcclDataType data_type = operation_.items.empty() ? operation_.data_type : operation_.items.front().dataType;
  const std::string path = conditions().trace + "/hccl-" + std::to_string(getpid()) + ".jsonl";
  std::FILE *file = std::fopen(path.c_str(), "a");
  if (file == nullptr) return;
  std::fprintf(file,
               "{\"communicator\": \"%s\", \"rank\": %u, \"ranks\": %u, \"device\": %d, \"number\": %llu, "
               "\"function\": \"%s\", \"count\": %llu, \"data_type\": %d, \"begin_us\": %.1f, \"end_us\": %.1f, "
               "\"status\": %d}\n",
               communicator.id.c_str(), communicator.rank, communicator.size(), communicator.device,
               static_cast<unsigned long long>(number_), operation_.function,
               static_cast<unsigned long long>(elementsOf(operation_)), static_cast<int>(data_type), begun_,
               microseconds(), result);
  std::fclose(file);
}

}  // namespace sim::hccl
