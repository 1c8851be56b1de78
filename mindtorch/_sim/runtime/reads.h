#ifndef MINDTORCH_SIM_RUNTIME_READS_H_
#define MINDTORCH_SIM_RUNTIME_READS_H_
#include <atomic>
#include <cstdint>

#include "sim.h"

namespace sim {

extern std::atomic<int32_t> reads_mode;

// Of a copy from the device that has just put `count` bytes there, if reads_mode is not SIM_READS_PLAIN.
aclError recordOrReplay(const char *function, unsigned char *bytes, uint64_t count);

}  // namespace sim
#endif
