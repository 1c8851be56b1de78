/* Access to elements by index tensors: gather, scatter, advanced indexing. */
#ifndef MINDTORCH_SIM_OPAPI_INDEXING_H_
#define MINDTORCH_SIM_OPAPI_INDEXING_H_
#include <algorithm>
#include <cstring>
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
    line_.addresses(addresses, count);
    for (int64_t i = 0; i < count; ++i) {
      if (!inBounds(indices[i], size_)) return false;
      addresses[i] += indices[i] * stride_;
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

/* Folds `count` values of a compute type into the elements of `type` at the addresses, one after the other. */
using FoldElements = void (*)(char *const *addresses, aclDataType type, const void *values, int64_t count);

/* out[.. index ..] = fold(out[.. index ..], source), element by element in the compute type, in logical order. */
aclError scatterElements(const Operand &out, int32_t dim, const Operand &index, const Operand &source,
                         FoldElements fold);

/* The same for any set of target elements: `target` yields the addresses of `count` elements that have the type of
 * `out`. */
template <class Target>
aclError foldElements(Target &target, const Operand &out, const Operand &source, int64_t count, FoldElements fold) {
  char *addresses[kBlock];
  alignas(64) char buffer[kBlockBytes];
  Cursor values(source);
  for (int64_t first = 0, length; first < count; first += length) {
    length = std::min(kBlock, count - first);
    if (!target.read(addresses, length)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    fold(addresses, out.type, values.read(buffer, length), length);
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
void foldInto(char *const *addresses, aclDataType type, const void *array, int64_t count) {
  const C *values = static_cast<const C *>(array);
  if (type == kTypeOf<C>) { /* nothing to convert */
    for (int64_t i = 0; i < count; ++i) {
      C element;
      std::memcpy(&element, addresses[i], sizeof element);
      element = F::apply(element, values[i]);
      std::memcpy(addresses[i], &element, sizeof element);
    }
    return;
  }
  const LoadStrided load = loadStrided(type, computeOfType<C>());
  const StoreStrided store = storeStrided(type, computeOfType<C>());
  for (int64_t i = 0; i < count; ++i) {
    C element;
    load(addresses[i], 0, &element, 1);
    element = F::apply(element, values[i]);
    store(&element, addresses[i], 0, 1);
  }
}

/* The elements at the addresses as an array: bits are moved as they are. */
void gatherItems(char *to, char *const *addresses, int64_t count, int32_t item);

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
constexpr FoldElements kFoldOf[] = {foldInto<F, float>, foldInto<F, double>, foldInto<F, int64_t>,
                                    foldInto<F, Complex>};

}  // namespace sim
#endif
