/* Kernels that reach elements through an index tensor: gather, scatter, and what is built on them. */
#ifndef MINDTORCH_SIM_OPAPI_INDEXING_H_
#define MINDTORCH_SIM_OPAPI_INDEXING_H_
#include <algorithm>

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
      if (indices[i] < 0 || indices[i] >= size_) return false;
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

/* torch's rule for gather and scatter: as many dimensions, none larger beside `dim`. */
aclnnStatus checkIndex(const aclOpExecutor &executor, const Operand &index, const Operand &indexed, int32_t dim);

/* out[.. index ..] = fold(out[.. index ..], source), element by element in the compute type, in logical order. */
using FoldElement = void (*)(char *element, LoadRow load, StoreRow store, const void *value);
aclError scatterElements(const Operand &out, int32_t dim, const Operand &index, const Operand &source,
                         FoldElement fold);

template <class F, class C>
void foldElement(char *element, LoadRow load, StoreRow store, const void *value) {
  C old;
  load(element, 0, &old, 1);
  const C result = F::apply(old, *static_cast<const C *>(value));
  store(&result, element, 0, 1);
}

template <class F>
constexpr FoldElement kFoldOf[] = {foldElement<F, float>, foldElement<F, double>, foldElement<F, int64_t>,
                                   foldElement<F, Complex>};

}  // namespace sim
#endif
