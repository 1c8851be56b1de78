/* Kernels that work on planes, the last dimensions of a tensor, as contiguous arrays. */
#ifndef MINDTORCH_SIM_OPAPI_KERNELS_PLANES_H_
#define MINDTORCH_SIM_OPAPI_KERNELS_PLANES_H_
#include "opapi/loops.h"

namespace sim {

/* The planes of an operand that has a compute type, one after the other. */
class Planes {
 public:
  Planes(const Operand &operand, int64_t dims) : plane_(operand), starts_(first(operand, dims)) {
    for (int64_t i = 0; i < operand.rank - dims; ++i) plane_.dims[i] = 1;
  }
  void read(void *array) { convertView(here(), contiguousOperand(here(), kComputeTypes[here().compute], array)); }
  void write(void *array) { convertView(contiguousOperand(here(), kComputeTypes[here().compute], array), here()); }
  void next() { starts_.skip(1); }

 private:
  static Operand first(Operand operand, int64_t dims) {
    for (int64_t i = operand.rank - dims; i < operand.rank; ++i) operand.dims[i] = 1;
    return operand;
  }
  const Operand &here() {
    plane_.host = starts_.position();
    return plane_;
  }

  Operand plane_;
  Cursor starts_;
};

inline int64_t planeCount(const Operand &operand, int64_t dims) {
  int64_t count = 1;
  for (int64_t i = 0; i < operand.rank - dims; ++i) count *= operand.dims[i];
  return count;
}

/* Size of one of the last `dims` dimensions; 1 for those before them, which `axis` below 0 names. */
inline int64_t planeSize(const Operand &operand, int dims, int axis) {
  return axis < 0 ? 1 : operand.dims[operand.rank - dims + axis];
}

}  // namespace sim
#endif
