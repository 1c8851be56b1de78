// What copies from the device bring the host, on record: later ones can be given the same, whatever memory then holds.
#include "reads.h"

#include <cstring>
#include <mutex>
#include <vector>

#include "runtime.h"

namespace sim {

std::atomic<int32_t> reads_mode{SIM_READS_PLAIN};

namespace {

struct Tape {
  std::mutex mutex;
  std::vector<std::vector<unsigned char>> reads;
  size_t next = 0;
};

Tape &tape() {
  static Tape instance;
  return instance;
}

}  // namespace

void carryReadsOver(Fork stage) { carryOver(tape().mutex, stage); }

aclError onRecord(const char *function, unsigned char *bytes, uint64_t count) {
  Tape &tape = sim::tape();
  std::lock_guard<std::mutex> guard(tape.mutex);
  if (reads_mode.load(std::memory_order_relaxed) == SIM_READS_RECORD) {
    tape.reads.emplace_back(bytes, bytes + count);
    return ACL_SUCCESS;
  }
  if (tape.reads.empty() || tape.reads[tape.next].size() != count) {
    return simFail(ACL_ERROR_RT_PARAM_INVALID, "EE1001", "%s: the read of %llu bytes is not the one on record",
                   function, static_cast<unsigned long long>(count));
  }
  std::memcpy(bytes, tape.reads[tape.next].data(), count);
  tape.next = (tape.next + 1) % tape.reads.size();
  return ACL_SUCCESS;
}

}  // namespace sim

using namespace sim;

void simSetReads(int32_t mode) {
  Tape &tape = sim::tape();
  std::lock_guard<std::mutex> guard(tape.mutex);
  if (mode == SIM_READS_RECORD) tape.reads.clear();
  tape.next = 0;
  reads_mode.store(mode, std::memory_order_relaxed);
}
