// The modelled host and device (MINDTORCH_SIM_COST=<name or file>): how long each function keeps the calling thread,
// and how long the device works on what it is given. Without the variable nothing is modelled, and calls take the time
// that the simulator itself needs.
//
// The device has no thread that burns time. Each stream knows when the modelled device will have done what was
// submitted (Stream::due), and whoever waits for the stream waits until then.
#ifndef MINDTORCH_SIM_RUNTIME_COST_H_
#define MINDTORCH_SIM_RUNTIME_COST_H_
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "signal.h"
#include "sim.h"

namespace sim {

struct Cost {
  bool modelled = false;
  std::vector<std::pair<std::string, int64_t>> calls;  // pattern of names -> nanoseconds; the first that fits counts
  int64_t least_kernel = 0;                            // nanoseconds
  double memory_rate = 0;                              // bytes a second, of the device's memory
  double cube_rate = 0;                                // floating point operations a second, of matrix products
  double link_rate = 0;                                // bytes a second, between host and device
  uint64_t queue_depth = 0;                            // kernels of a stream that may be under way

  int64_t call(const char *name) const;
  int64_t kernel(int64_t bytes, double flops) const;
  int64_t copy(uint64_t bytes, bool crosses_link) const;
};

// `setting` is the name of a profile or the path of a file; what is wrong with it goes to *problem.
Cost readCost(const char *setting, std::string *problem);

// Keeps the calling thread until then. It sleeps through long waits only: on Linux a sleep ends 50 us and more after
// its time (measured: 57 us for 1 us), and the costs of calls are a few microseconds.
void pauseUntil(Clock::time_point end);

// Until the modelled device is there, at `due` nanoseconds of Clock, but not past `end`; false where it is not.
bool pauseUntilDue(int64_t due, Clock::time_point end);

}  // namespace sim

// Nanoseconds that a call of the function, or another line of the profile, costs the calling thread; for reports.
extern "C" SIM_API int64_t simCost(const char *name);

#endif
