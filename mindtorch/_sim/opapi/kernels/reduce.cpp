#include "opapi/kernels/reduce.h"

#include <algorithm>
#include <cstring>

namespace sim {
namespace {

template <class C>
C *valuesOf(Lanes *lanes) {
  return reinterpret_cast<C *>(lanes->values);
}

template <class C>
struct Sum {
  /* Several partial sums: one would wait for its own last addition. */
  static void along(Lanes *lanes, int64_t lane, const void *block, int64_t count, int64_t) {
    constexpr int64_t kParts = 8;
    const C *values = static_cast<const C *>(block);
    C parts[kParts] = {};
    int64_t i = 0;
    for (; i + kParts <= count; i += kParts) {
      for (int64_t k = 0; k < kParts; ++k) parts[k] = add(parts[k], values[i + k]);
    }
    for (; i < count; ++i) parts[0] = add(parts[0], values[i]);
    C &sum = valuesOf<C>(lanes)[lane];
    for (C part : parts) sum = add(sum, part);
  }
  static void across(Lanes *lanes, const void *row, int64_t count, int64_t) {
    const C *values = static_cast<const C *>(row);
    C *sums = valuesOf<C>(lanes);
    for (int64_t i = 0; i < count; ++i) sums[i] = add(sums[i], values[i]);
  }
};

/* The first extreme element wins, and the first NaN wins over everything. Placed: its position is wanted too. */
template <class C, bool Largest, bool Placed>
struct Extreme {
  static bool beats(C a, C b) { return Largest ? a > b : a < b; }
  static C pick(C a, C b) { return beats(a, b) ? a : b; }

  /* The extreme of the block and of `best`; a NaN where there is one. */
  static C extremeOf(const C *values, int64_t count, C best) {
    constexpr int64_t kParts = 8;
    C parts[kParts], nans[kParts] = {};
    std::fill(parts, parts + kParts, best);
    int64_t i = 0;
    for (; i + kParts <= count; i += kParts) {
      for (int64_t k = 0; k < kParts; ++k) {
        parts[k] = pick(values[i + k], parts[k]);
        nans[k] = isNan(values[i + k]) ? values[i + k] : nans[k];
      }
    }
    for (; i < count; ++i) {
      parts[0] = pick(values[i], parts[0]);
      nans[0] = isNan(values[i]) ? values[i] : nans[0];
    }
    for (int64_t k = 0; k < kParts; ++k) {
      if (isNan(nans[k])) return nans[k];
      best = pick(parts[k], best);
    }
    return best;
  }

  static void along(Lanes *lanes, int64_t lane, const void *block, int64_t count, int64_t position) {
    const C *values = static_cast<const C *>(block);
    C &best = valuesOf<C>(lanes)[lane];
    if (position == 0) best = values[0];
    if (isNan(best)) return;
    const C extreme = extremeOf(values, count, best);
    if (!beats(extreme, best) && !isNan(extreme)) return;
    int64_t i = 0;
    while (isNan(extreme) ? !isNan(values[i]) : values[i] != extreme) ++i;
    best = values[i];
    lanes->integers[lane] = position + i;
  }
  static void across(Lanes *lanes, const void *row, int64_t count, int64_t position) {
    const C *values = static_cast<const C *>(row);
    C *best = valuesOf<C>(lanes);
    if (position == 0) std::copy(values, values + count, best);
    for (int64_t i = 0; i < count; ++i) {
      bool better = beats(values[i], best[i]) || (isNan(values[i]) && (!Placed || !isNan(best[i])));
      best[i] = better ? values[i] : best[i];
      if (Placed) lanes->integers[i] = better ? position : lanes->integers[i];
    }
  }
};
template <class C>
using Maximum = Extreme<C, true, false>;
template <class C>
using Minimum = Extreme<C, false, false>;
template <class C>
using MaximumAt = Extreme<C, true, true>;
template <class C>
using MinimumAt = Extreme<C, false, true>;

template <class C, bool All>
struct Truth {
  static void along(Lanes *lanes, int64_t lane, const void *block, int64_t count, int64_t) {
    const C *values = static_cast<const C *>(block);
    for (int64_t i = 0; i < count; ++i) {
      if ((values[i] != C(0)) != All) lanes->integers[lane] = !All;
    }
  }
  static void across(Lanes *lanes, const void *row, int64_t count, int64_t) {
    const C *values = static_cast<const C *>(row);
    for (int64_t i = 0; i < count; ++i) {
      if ((values[i] != C(0)) != All) lanes->integers[i] = !All;
    }
  }
};
template <class C>
using AllOf = Truth<C, true>;
template <class C>
using AnyOf = Truth<C, false>;

template <template <class> class Fold, class C>
constexpr void addFold(Reducer *reducer) {
  reducer->along[computeOfType<C>()] = Fold<C>::along;
  reducer->across[computeOfType<C>()] = Fold<C>::across;
}

template <template <class> class Fold>
constexpr Reducer ofReals(int64_t start, bool truth, bool needs_elements) {
  Reducer reducer{{}, {}, start, false, truth, needs_elements};
  addFold<Fold, double>(&reducer);
  addFold<Fold, int64_t>(&reducer);
  return reducer;
}

constexpr Reducer sums(bool mean) {
  Reducer reducer = ofReals<Sum>(0, false, false);
  addFold<Sum, Complex>(&reducer);
  reducer.mean = mean;
  return reducer;
}

constexpr Reducer kSum = sums(false), kMean = sums(true);
constexpr Reducer kMaximum = ofReals<Maximum>(0, false, true), kMinimum = ofReals<Minimum>(0, false, true);
constexpr Reducer kMaximumAt = ofReals<MaximumAt>(0, false, true), kMinimumAt = ofReals<MinimumAt>(0, false, true);
constexpr Reducer kAllOf = ofReals<AllOf>(1, true, false), kAnyOf = ofReals<AnyOf>(0, true, false);

enum Attribute { kMask, kCompute, kValueOut, kIndexOut };

template <class C>
void divideBy(Lanes *lanes, int64_t count, double divisor) {
  for (int64_t i = 0; i < count; ++i) valuesOf<C>(lanes)[i] /= divisor;
}

/* Where the results go, a block at a time. */
class Results {
 public:
  explicit Results(const aclOpExecutor &executor)
      : reducer_(*static_cast<const Reducer *>(executor.kernel)),
        compute_(static_cast<uint8_t>(executor.attributes[kCompute])),
        has_values_(executor.attributes[kValueOut] >= 0),
        has_indices_(executor.attributes[kIndexOut] >= 0),
        values_(outAt(executor, kValueOut, kIndexOut, reducer_.truth ? uint8_t{kI64} : compute_)),
        indices_(outAt(executor, kIndexOut, kValueOut, kI64)) {}

  void begin(Lanes *lanes, int64_t count) const {
    std::memset(lanes->values, 0, static_cast<size_t>(count) * sizeof(Complex));
    std::fill_n(lanes->integers, count, reducer_.start);
  }

  void store(Lanes *lanes, int64_t count, int64_t elements) {
    if (reducer_.mean && compute_ == kF64) divideBy<double>(lanes, count, static_cast<double>(elements));
    if (reducer_.mean && compute_ == kC128) divideBy<Complex>(lanes, count, static_cast<double>(elements));
    if (has_values_) values_.write(reducer_.truth ? static_cast<void *>(lanes->integers) : lanes->values, count);
    if (has_indices_) indices_.write(lanes->integers, count);
  }

 private:
  static Cursor outAt(const aclOpExecutor &executor, Attribute which, Attribute other, uint8_t compute) {
    int64_t index = executor.attributes[executor.attributes[which] < 0 ? other : which];
    Operand out = executor.operands[static_cast<uint32_t>(index)];
    out.compute = compute;
    return Cursor(out);
  }

  const Reducer &reducer_;
  const uint8_t compute_;
  const bool has_values_, has_indices_;
  Cursor values_, indices_;
};

/* Each result reads its elements in turn. */
void reduceAlong(const aclOpExecutor &executor, const Division &view, uint8_t compute) {
  const Reducer &reducer = *static_cast<const Reducer *>(executor.kernel);
  const int64_t total = elementsOf(view.kept), inner = elementsOf(view.reduced);
  Results results(executor);
  Cursor kept(view.kept), elements(view.reduced);
  Lanes lanes;
  alignas(64) char buffer[kBlockBytes];
  for (int64_t first = 0; first < total; first += kBlock) {
    const int64_t count = std::min(kBlock, total - first);
    results.begin(&lanes, count);
    for (int64_t lane = 0; lane < count; ++lane, kept.skip(1)) {
      elements.moveTo(kept.position());
      for (int64_t at = 0; at < inner; at += kBlock) {
        int64_t size = std::min(kBlock, inner - at);
        reducer.along[compute](&lanes, lane, elements.read(buffer, size), size, at);
      }
    }
    results.store(&lanes, count, inner);
  }
}

/* Neighbours in memory belong to neighbouring results: a row of results reads a row of elements at a time. */
void reduceAcross(const aclOpExecutor &executor, const Division &view, uint8_t compute) {
  const Reducer &reducer = *static_cast<const Reducer *>(executor.kernel);
  const int64_t total = elementsOf(view.kept), inner = elementsOf(view.reduced);
  const int64_t width = view.kept.dims[view.kept.rank - 1];
  const int64_t step = view.kept.strides[view.kept.rank - 1] * view.kept.item;
  const LoadRow load = loadRow(view.kept.type, compute);
  Results results(executor);
  Cursor kept(view.kept), elements(view.reduced);
  Lanes lanes;
  alignas(64) char buffer[kBlockBytes];
  for (int64_t first = 0, count; first < total; first += count, kept.skip(count)) {
    count = std::min(kBlock, width - first % width);
    results.begin(&lanes, count);
    elements.moveTo(kept.position());
    for (int64_t at = 0; at < inner; ++at, elements.skip(1)) {
      load(elements.position(), step, buffer, count);
      reducer.across[compute](&lanes, buffer, count, at);
    }
    results.store(&lanes, count, inner);
  }
}

aclError runReduce(const aclOpExecutor &executor) {
  const uint8_t compute = static_cast<uint8_t>(executor.attributes[kCompute]);
  Division view = divide(executor.operands[0], static_cast<uint32_t>(executor.attributes[kMask]));
  view.reduced.compute = compute;
  (isRowwise(view) ? reduceAcross : reduceAlong)(executor, view, compute);
  return ACL_SUCCESS;
}

/* Floating types fold in double, integers in int64, complex types in themselves. */
uint8_t foldCompute(aclDataType type) {
  uint8_t compute = computeOf(type);
  return compute == kF32 ? uint8_t{kF64} : compute;
}

}  // namespace

Division divide(const Operand &in, uint32_t mask) {
  Division view{in, in};
  view.kept.rank = view.reduced.rank = 0;
  for (int32_t i = 0; i < in.rank; ++i) {
    if (in.dims[i] == 1) continue;
    Operand &part = mask >> i & 1u ? view.reduced : view.kept;
    part.dims[part.rank] = in.dims[i];
    part.strides[part.rank++] = in.strides[i];
  }
  return view;
}

aclnnStatus readDims(const aclOpExecutor &executor, const void *array, int32_t rank, uint32_t *mask) {
  const aclIntArray *dims = static_cast<const aclIntArray *>(array);
  *mask = (1u << rank) - 1;
  if (dims == nullptr || dims->size == 0) return ACLNN_SUCCESS;
  *mask = 0;
  for (uint64_t i = 0; i < dims->size; ++i) {
    int32_t dim;
    aclnnStatus status = normalizeDim(executor, dims->items[i], rank, &dim);
    if (status != ACLNN_SUCCESS) return status;
    if (*mask >> dim & 1u) return refuse(executor, "dim %d is named twice", dim);
    *mask |= 1u << dim;
  }
  return ACLNN_SUCCESS;
}

int64_t elementsOf(const Operand &view) {
  int64_t count = 1;
  for (int32_t i = 0; i < view.rank; ++i) count *= view.dims[i];
  return count;
}

bool isRowwise(const Division &view) {
  if (view.kept.rank == 0 || view.reduced.rank == 0) return false;
  const int64_t step = view.kept.strides[view.kept.rank - 1];
  for (int32_t i = 0; i < view.reduced.rank; ++i) {
    if (view.reduced.strides[i] <= step) return false;
  }
  return view.kept.dims[view.kept.rank - 1] > 1;
}

Shape reducedShape(const Operand &in, uint32_t mask, bool keep) {
  Shape shape;
  for (int32_t i = 0; i < in.rank; ++i) {
    bool reduced = (mask >> i & 1u) != 0;
    if (!reduced || keep) shape.dims[shape.rank++] = reduced ? 1 : in.dims[i];
  }
  return shape;
}

aclnnStatus prepareReducer(aclOpExecutor &executor, const Reducer &reducer, uint8_t compute, uint32_t mask, bool keep) {
  const Operand &in = executor.operands[0];
  if (compute >= kRaw || reducer.along[compute] == nullptr) return refuseType(executor, in.type);
  Shape shape = reducedShape(in, mask, keep);
  for (const Operand &operand : executor.operands) {
    if ((operand.role & kOut) == 0) continue;
    aclnnStatus status = requireShape(executor, operand, shape);
    if (status != ACLNN_SUCCESS) return status;
  }
  for (int32_t i = 0; reducer.needs_elements && i < in.rank; ++i) {
    if ((mask >> i & 1u) && in.dims[i] == 0) return refuse(executor, "dimension %d to reduce has no elements", i);
  }
  executor.attributes[kMask] = mask;
  executor.attributes[kCompute] = compute;
  executor.attributes[kValueOut] = 1;
  executor.attributes[kIndexOut] = -1;
  executor.kernel = &reducer;
  executor.run = runReduce;
  executor.workspace_size = roundUp(static_cast<uint64_t>(in.count > 0 ? 1 : 0));
  return ACLNN_SUCCESS;
}

namespace {

/* self, dims, keepDims, dtype, out: the input is converted to dtype and summed there. */
aclnnStatus prepareSum(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &in = executor.operands[0];
  Operand &out = executor.operands[1];
  aclDataType type = static_cast<aclDataType>(arguments[3].integer);
  if (type != out.type) {
    return refuse(executor, "out has data type %s, expected dtype, which is %s", typeName(out.type), typeName(type));
  }
  uint32_t mask;
  aclnnStatus status = readDims(executor, arguments[1].pointer, in.rank, &mask);
  if (status != ACLNN_SUCCESS) return status;
  if (type == ACL_BOOL) { /* a sum of truth values, not the truth of a sum */
    return prepareReducer(executor, kAnyOf, foldCompute(in.type), mask, arguments[2].integer != 0);
  }
  return prepareReducer(executor, *static_cast<const Reducer *>(body.kernel), foldCompute(type), mask,
                        arguments[2].integer != 0);
}

/* self, dim, keepDim, noopWithEmptyAxes, out */
aclnnStatus prepareMeanV2(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &in = executor.operands[0];
  Operand &out = executor.operands[1];
  const aclIntArray *dims = static_cast<const aclIntArray *>(arguments[1].pointer);
  if (arguments[3].integer != 0 && (dims == nullptr || dims->size == 0)) {
    aclnnStatus status = requireShape(executor, out, shapeOf(in));
    return status != ACLNN_SUCCESS ? status : prepareCopy(executor, executor.operands[0], out);
  }
  uint32_t mask;
  aclnnStatus status = readDims(executor, dims, in.rank, &mask);
  if (status != ACLNN_SUCCESS) return status;
  return prepareReducer(executor, kMean, in.type == ACL_COMPLEX64 || in.type == ACL_COMPLEX128 ? kC128 : kF64, mask,
                        arguments[2].integer != 0);
}

aclnnStatus prepareMean(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  uint8_t compute = foldCompute(static_cast<aclDataType>(arguments[3].integer));
  if (compute == kI64) return refuse(executor, "dtype is an integer, expected a floating or complex type");
  return prepareSum(executor, arguments, body);
}

/* self, dim, keepDim, out: Amax, Amin, All, Any. Variant 1: any output type, 0: castable from the input's. */
aclnnStatus prepareDims(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &in = executor.operands[0];
  uint32_t mask;
  aclnnStatus status = readDims(executor, arguments[1].pointer, in.rank, &mask);
  if (status == ACLNN_SUCCESS && body.variant == 0) status = requireCast(executor, in.type, executor.operands[1]);
  if (status != ACLNN_SUCCESS) return status;
  return prepareReducer(executor, *static_cast<const Reducer *>(body.kernel), foldCompute(in.type), mask,
                        arguments[2].integer != 0);
}

/* self, out: the extreme of all elements */
aclnnStatus prepareWhole(aclOpExecutor &executor, const Argument *, const OpBody &body) {
  const Operand &in = executor.operands[0];
  aclnnStatus status = requireCast(executor, in.type, executor.operands[1]);
  if (status != ACLNN_SUCCESS) return status;
  return prepareReducer(executor, *static_cast<const Reducer *>(body.kernel), foldCompute(in.type), (1u << in.rank) - 1,
                        false);
}

/* self, dim, keepdim, then [out,] indices. Variant 1: positions only. */
aclnnStatus prepareDim(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &in = executor.operands[0];
  int32_t dim;
  aclnnStatus status = normalizeDim(executor, arguments[1].integer, in.rank, &dim);
  if (status == ACLNN_SUCCESS && body.variant == 0) status = requireCast(executor, in.type, executor.operands[1]);
  if (status != ACLNN_SUCCESS) return status;
  uint32_t mask = in.rank == 0 ? 0 : 1u << dim;
  status = prepareReducer(executor, *static_cast<const Reducer *>(body.kernel), foldCompute(in.type), mask,
                          arguments[2].integer != 0);
  executor.attributes[kValueOut] = body.variant != 0 ? -1 : 1;
  executor.attributes[kIndexOut] = body.variant != 0 ? 1 : 2;
  return status;
}

}  // namespace

SIM_OP(aclnnReduceSum, prepareSum, &kSum, 0)
SIM_OP(aclnnMean, prepareMean, &kMean, 0)
SIM_OP(aclnnMeanV2, prepareMeanV2, nullptr, 0)
SIM_OP(aclnnAmax, prepareDims, &kMaximum, 0)
SIM_OP(aclnnAmin, prepareDims, &kMinimum, 0)
SIM_OP(aclnnAll, prepareDims, &kAllOf, 1)
SIM_OP(aclnnAny, prepareDims, &kAnyOf, 1)
SIM_OP(aclnnMax, prepareWhole, &kMaximum, 0)
SIM_OP(aclnnMin, prepareWhole, &kMinimum, 0)
SIM_OP(aclnnMaxDim, prepareDim, &kMaximumAt, 0)
SIM_OP(aclnnMinDim, prepareDim, &kMinimumAt, 0)
SIM_OP(aclnnArgMax, prepareDim, &kMaximumAt, 1)
SIM_OP(aclnnArgMin, prepareDim, &kMinimumAt, 1)

}  // namespace sim
