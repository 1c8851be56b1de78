/* Access to elements by index tensors: gather, scatter, advanced indexing. */
#ifndef MINDTORCH_SIM_OPAPI_INDEXING_H_
#define MINDTORCH_SIM_OPAPI_INDEXING_H_
#include <algorithm>
#include <optional>

#include "opapi/loops.h"

namespace sim {

/* For each element of `index`, in logical order, the address of the element of `indexed` with the same position but the
 * index in `dim`. Beside `dim`, `index` may be smaller than `indexed`. */
class IndexCursor {
 public:
  IndexCursor(const Operand &indexed, int32_t dim, const Operand &index)
      : size_(indexed.rank == 0 ? 1 : indexed.dims[dim]),
        stride_(indexed.rank == 0 ? 0 : indexed.strides[dim] * indexed.item),
        index_(as64(index)),
        line_(lineStarts(indexed, dim, index)) {}

  /* The next `count` (at most kBlock) addresses. False: an index out of range, which faults on the device. */
  bool read(char **addresses, int64_t count) {
    int64_t buffer[kBlock];
    const int64_t *indices = static_cast<const int64_t *>(index_.read(buffer, count));
    for (int64_t i = 0; i < count; ++i, line_.skip(1)) {
      if (!inBounds(indices[i], size_)) return false;
      addresses[i] = line_.position() + indices[i] * stride_;
    }
    return true;
  }

 private:
  static Operand as64(Operand index) {
    index.compute = kI64;
    return index;
  }
  static Operand lineStarts(const Operand &indexed, int32_t dim, const Operand &index) {
    Operand starts = indexed;
    for (int32_t i = 0; i < indexed.rank && i < index.rank; ++i) starts.dims[i] = index.dims[i];
    if (indexed.rank == 0) {
      starts.rank = 1;
      starts.dims[0] = index.count;
    }
    starts.strides[dim] = 0;
    return starts;
  }

  int64_t size_, stride_;
  Cursor index_, line_;
};

/* NumPy's advanced indexing: yields, for each element of the result in logical order, the address of the element of
 * `indexed`. `indices` has one entry for each leading dimension; an empty tensor stands for the whole dimension. */
class AdvancedIndexCursor {
 public:
  AdvancedIndexCursor(const Operand &indexed, const Operand *indices, int32_t count);

  /* The next `count` (at most kBlock) addresses. False: an index out of range, which faults on the device. */
  bool read(char **addresses, int64_t count);

 private:
  struct Axis {
    int64_t size, stride; /* stride in bytes */
    std::optional<Cursor> index;
  };
  Axis axes_[kMaxRank];
  int32_t axis_count_ = 0;
  std::optional<Cursor> rest_; /* the dimensions without index */
};

/* The shape of the result. Refuses indices of a wrong type, indices that do not broadcast, and too many dimensions. */
aclnnStatus advancedIndexShape(const aclOpExecutor &executor, const Operand &indexed, const Operand *indices,
                               int32_t count, Shape *shape);

/* torch's rule for gather and scatter: as many dimensions, none larger beside `dim`. */
aclnnStatus checkIndex(const aclOpExecutor &executor, const Operand &index, const Operand &indexed, int32_t dim);

/* out[.. index ..] = fold(out[.. index ..], source), element by element in the compute type, in logical order. */
using FoldElement = void (*)(char *element, LoadStrided load, StoreStrided store, const void *value);
aclError scatterElements(const Operand &out, int32_t dim, const Operand &index, const Operand &source,
                         FoldElement fold);

/* The same for any set of target elements: `target` yields the addresses of `count` elements that have the type of
 * `out`. */
template <class Target>
aclError foldElements(Target &target, const Operand &out, const Operand &source, int64_t count, FoldElement fold) {
  char *addresses[kBlock];
  alignas(64) char buffer[kBlockBytes];
  Cursor values(source);
  const LoadStrided load = loadStrided(out.type, source.compute);
  const StoreStrided store = storeStrided(out.type, source.compute);
  const int64_t item = source.compute == kF32 ? sizeof(float) : source.compute == kC128 ? sizeof(Complex) : 8;
  for (int64_t first = 0, length; first < count; first += length) {
    length = std::min(kBlock, count - first);
    if (!target.read(addresses, length)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    const char *value = static_cast<const char *>(values.read(buffer, length));
    for (int64_t i = 0; i < length; ++i) fold(addresses[i], load, store, value + i * item);
  }
  return ACL_SUCCESS;
}

/* A scalar as an operand of `shape`, all elements of which are equal. */
class Constant {
 public:
  Constant(const Scalar &number, uint8_t compute, const Operand &shape);
  const Operand &operand() const { return operand_; }

 private:
  Operand operand_;
  alignas(16) char value_[sizeof(Complex)];
};

template <class F, class C>
void foldElement(char *element, LoadStrided load, StoreStrided store, const void *value) {
  C old;
  load(element, 0, &old, 1);
  const C result = F::apply(old, *static_cast<const C *>(value));
  store(&result, element, 0, 1);
}

struct Replacement {
  template <class C>
  static C apply(C, C value) {
    return value;
  }
};
struct Addition {
  template <class C>
  static C apply(C old, C value) {
    return add(old, value);
  }
};

template <class F>
constexpr FoldElement kFoldOf[] = {foldElement<F, float>, foldElement<F, double>, foldElement<F, int64_t>,
                                   foldElement<F, Complex>};

}  // namespace sim
#endif
