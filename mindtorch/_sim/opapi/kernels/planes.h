/* Kernels that work on whole planes, the last dimensions of a tensor, as plain arrays of one compute type. */
#ifndef MINDTORCH_SIM_OPAPI_KERNELS_PLANES_H_
#define MINDTORCH_SIM_OPAPI_KERNELS_PLANES_H_
#include "opapi/loops.h"

namespace sim {

inline aclDataType plainType(uint8_t compute) {
  return compute == kF32 ? ACL_FLOAT : compute == kF64 ? ACL_DOUBLE : compute == kI64 ? ACL_INT64 : ACL_COMPLEX128;
}

/* A dense operand like `part` over an array of its compute type. */
inline Operand plainOperand(const Operand &part, void *plain) {
  Operand flat = part;
  flat.type = plainType(part.compute);
  flat.item = static_cast<int32_t>(part.compute == kF32 ? 4 : part.compute == kC128 ? 16 : 8);
  flat.host = static_cast<char *>(plain);
  int64_t stride = 1;
  for (int32_t i = flat.rank; i-- > 0; stride *= flat.dims[i]) flat.strides[i] = stride;
  return flat;
}

/* The planes of an operand that has a compute type, one after the other. */
class Planes {
 public:
  Planes(const Operand &operand, int64_t dims) : plane_(operand), starts_(first(operand, dims)) {
    for (int64_t i = 0; i < operand.rank - dims; ++i) plane_.dims[i] = 1;
  }
  void read(void *plain) { convertView(here(), plainOperand(here(), plain)); }
  void write(void *plain) { convertView(plainOperand(here(), plain), here()); }
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
