/* Kernels that work on 1-D slices along a dimension: scans, sorts, norms. Each slice is copied to a contiguous array.
 */
#ifndef MINDTORCH_SIM_OPAPI_SCAN_SORT_H_
#define MINDTORCH_SIM_OPAPI_SCAN_SORT_H_
#include <algorithm>

#include "opapi/loops.h"

namespace sim {

/* Iterates over the 1-D slices of an operand along `dim`. A 0-d operand is one slice of one element. */
class SliceCursor {
 public:
  SliceCursor(const Operand &operand, int32_t dim, uint8_t compute)
      : load_(loadStrided(operand.type, compute)),
        store_(storeStrided(operand.type, compute)),
        length_(operand.rank == 0 ? 1 : operand.dims[dim]),
        stride_(operand.rank == 0 ? operand.item : operand.strides[dim] * operand.item),
        lines_(withoutDim(operand, dim)) {}

  int64_t length() const { return length_; }
  void read(void *array) const { load_(lines_.position(), stride_, array, length_); }
  void write(const void *array) const { store_(array, lines_.position(), stride_, length_); }
  void next() { lines_.skip(1); }

 private:
  static Operand withoutDim(const Operand &operand, int32_t dim) {
    Operand lines = operand;
    if (lines.rank > 0) lines.dims[dim] = 1;
    return lines;
  }

  LoadStrided load_;
  StoreStrided store_;
  int64_t length_, stride_;
  Cursor lines_;
};

/* In-place scans of a slice, by compute type; NULL if the type has none. */
struct Scan {
  void (*run[kComputeCount])(void *line, int64_t length);
};

template <class F, class C>
void scanLine(void *line, int64_t length) {
  C *values = static_cast<C *>(line);
  for (int64_t i = 1; i < length; ++i) values[i] = F::apply(values[i - 1], values[i]);
}

template <class F>
constexpr Scan kScanOf = {{nullptr, scanLine<F, double>, scanLine<F, int64_t>, scanLine<F, Complex>, nullptr}};

/* Scans operands[0] along `dim` into operands[1], in the type `dtype`. Floats accumulate in double. */
aclnnStatus prepareScan(aclOpExecutor &executor, const Scan &scan, int64_t dim, aclDataType dtype);

/* An element with its index in the slice. */
template <class C>
struct Ranked {
  C value;
  int64_t index;
};

/* Order of a stable sort. NaN is greater than all numbers. */
template <class C, bool Descending>
bool comesBefore(const Ranked<C> &a, const Ranked<C> &b) {
  const C first = Descending ? b.value : a.value, second = Descending ? a.value : b.value;
  if (first < second || (isNan(second) && !isNan(first))) return true;
  const bool equal = first == second || (isNan(first) && isNan(second));
  return equal && a.index < b.index;
}

}  // namespace sim
#endif
