#include "opapi/kernels/reduce.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sim {
namespace {

template <class C>
C *valuesOf(Lanes *lanes) {
  return reinterpret_cast<C *>(lanes->values);
}

/* The number of independent partial results of a loop, which the processor can overlap. */
constexpr int64_t kParts = 32;

/* With Nan, NaN counts as 0. */
template <class C, bool Nan>
struct SumOf {
  using Value = std::conditional_t<std::is_same<C, float>::value, double, C>;

  static SIM_INLINE Value term(C value) {
    if constexpr (Nan) return isNan(value) ? Value(0) : Value(value);
    return Value(value);
  }

  SIM_CLONES static void along(Lanes *lanes, int64_t lane, const void *block, int64_t count, int64_t) {
    const C *values = static_cast<const C *>(block);
    Value &sum = valuesOf<Value>(lanes)[lane];
    int64_t i = 0;
    if (count >= kParts) {
      Value parts[kParts] = {};
      for (; i + kParts <= count; i += kParts) {
        for (int64_t k = 0; k < kParts; ++k) parts[k] = add(parts[k], term(values[i + k]));
      }
      for (Value part : parts) sum = add(sum, part);
    }
    for (; i < count; ++i) sum = add(sum, term(values[i]));
  }
  SIM_CLONES static void across(Lanes *lanes, const void *row, int64_t count, int64_t) {
    const C *values = static_cast<const C *>(row);
    Value *sums = valuesOf<Value>(lanes);
    SIM_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) sums[i] = add(sums[i], term(values[i]));
  }
};
template <class C>
using Sum = SumOf<C, false>;
template <class C>
using NanSum = SumOf<C, true>;

/* The first extreme element, or the first NaN. WithIndex: records its index, too. */
template <class C, bool Largest, bool WithIndex>
struct Extreme {
  using Value = C;
  static SIM_INLINE bool isBetter(C a, C b) { return Largest ? a > b : a < b; }
  static SIM_INLINE C pick(C a, C b) { return isBetter(a, b) ? a : b; }

  /* The extreme of the block and of `best`; a NaN where there is one. */
  static SIM_INLINE C extremeOf(const C *values, int64_t count, C best) {
    int64_t i = 0;
    if (count >= kParts) {
      C parts[kParts], nans[kParts] = {};
      std::fill(parts, parts + kParts, best);
      for (; i + kParts <= count; i += kParts) {
        for (int64_t k = 0; k < kParts; ++k) {
          const C value = values[i + k];
          parts[k] = pick(value, parts[k]);
          nans[k] = isNan(value) ? value : nans[k];
        }
      }
      for (int64_t k = 0; k < kParts; ++k) {
        if (isNan(nans[k])) return nans[k];
        best = pick(parts[k], best);
      }
    }
    for (; i < count; ++i) {
      if (isNan(values[i])) return values[i];
      best = pick(values[i], best);
    }
    return best;
  }

  SIM_CLONES static void along(Lanes *lanes, int64_t lane, const void *block, int64_t count, int64_t position) {
    const C *values = static_cast<const C *>(block);
    C &best = valuesOf<C>(lanes)[lane];
    if (position == 0) best = values[0];
    if (isNan(best)) return;
    const C extreme = extremeOf(values, count, best);
    if (!isBetter(extreme, best) && !isNan(extreme)) return;
    best = extreme;
    if (!WithIndex) return;
    int64_t i = 0;
    while (isNan(extreme) ? !isNan(values[i]) : values[i] != extreme) ++i;
    lanes->integers[lane] = position + i;
  }
  SIM_CLONES static void across(Lanes *lanes, const void *row, int64_t count, int64_t position) {
    const C *values = static_cast<const C *>(row);
    C *best = valuesOf<C>(lanes);
    if (position == 0) std::copy(values, values + count, best);
    SIM_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) {
      const C value = values[i], old = best[i];
      const bool better = isBetter(value, old) | (isNan(value) & !isNan(old));
      best[i] = better ? value : old;
      if constexpr (WithIndex) lanes->integers[i] = better ? position : lanes->integers[i];
    }
  }
};
template <class C>
using Maximum = Extreme<C, true, false>;
template <class C>
using Minimum = Extreme<C, false, false>;
template <class C>
using ArgMaximum = Extreme<C, true, true>;
template <class C>
using ArgMinimum = Extreme<C, false, true>;

template <class C, bool All>
struct BoolReduction {
  using Value = C;
  SIM_CLONES static void along(Lanes *lanes, int64_t lane, const void *block, int64_t count, int64_t) {
    const C *values = static_cast<const C *>(block);
    C found = 0; /* an element that decides */
    for (int64_t i = 0; i < count; ++i) found |= static_cast<C>((values[i] != 0) != All);
    if (found != 0) lanes->integers[lane] = !All;
  }
  SIM_CLONES static void across(Lanes *lanes, const void *row, int64_t count, int64_t) {
    const C *values = static_cast<const C *>(row);
    SIM_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) {
      lanes->integers[i] = (values[i] != 0) != All ? static_cast<int64_t>(!All) : lanes->integers[i];
    }
  }
};
template <class C>
using AllOf = BoolReduction<C, true>;
template <class C>
using AnyOf = BoolReduction<C, false>;

template <template <class> class Fold, class C>
constexpr void addFold(Reducer *reducer) {
  constexpr Compute compute = computeOfType<C>();
  reducer->along[compute] = Fold<C>::along;
  reducer->across[compute] = Fold<C>::across;
  reducer->result[compute] = computeOfType<typename Fold<C>::Value>();
}

template <template <class> class Fold, class... Types>
constexpr Reducer reducerOf(int64_t start, bool truth, bool needs_elements, bool mean = false) {
  Reducer reducer{{}, {}, {}, start, mean, truth, needs_elements};
  (addFold<Fold, Types>(&reducer), ...);
  return reducer;
}

template <template <class> class Fold>
constexpr Reducer extremes() {
  return reducerOf<Fold, float, double, int64_t>(0, false, true);
}

constexpr Reducer kSum = reducerOf<Sum, float, double, int64_t, Complex>(0, false, false);
constexpr Reducer kNanSum = reducerOf<NanSum, float, double, int64_t>(0, false, false);
constexpr Reducer kMean = reducerOf<Sum, float, double, int64_t, Complex>(0, false, false, true);
constexpr Reducer kMaximum = extremes<Maximum>(), kMinimum = extremes<Minimum>();
constexpr Reducer kArgMaximum = extremes<ArgMaximum>(), kArgMinimum = extremes<ArgMinimum>();
constexpr Reducer kAllOf = reducerOf<AllOf, Boolean>(1, true, false),
                  kAnyOf = reducerOf<AnyOf, Boolean>(0, true, false);

enum Attribute { kMask, kCompute, kValueOut, kIndexOut };

template <class C>
void divideBy(Lanes *lanes, int64_t count, double divisor) {
  for (int64_t i = 0; i < count; ++i) valuesOf<C>(lanes)[i] /= divisor;
}

/* The reducer and the operands for values and indices; -1: none. */
struct Goal {
  const Reducer &reducer;
  int64_t values, indices;
};

/* Writes blocks of results. */
class Results {
 public:
  Results(const aclOpExecutor &executor, const Goal &goal)
      : reducer_(goal.reducer),
        compute_(reducer_.result[executor.attributes[kCompute]]),
        has_values_(goal.values >= 0),
        has_indices_(goal.indices >= 0),
        values_(outAt(executor, has_values_ ? goal.values : goal.indices, reducer_.truth ? uint8_t{kI64} : compute_)),
        indices_(outAt(executor, has_indices_ ? goal.indices : goal.values, kI64)) {}

  void reset(Lanes *lanes, int64_t count) const {
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
  static Cursor outAt(const aclOpExecutor &executor, int64_t index, uint8_t compute) {
    Operand out = executor.operands[static_cast<uint32_t>(index)];
    out.compute = compute;
    return Cursor(out);
  }

  const Reducer &reducer_;
  const uint8_t compute_;
  const bool has_values_, has_indices_;
  Cursor values_, indices_;
};

/* Reduces the elements of one result after the other. */
void reduceAlong(const aclOpExecutor &executor, const Goal &goal, const ReductionView &view, uint8_t compute) {
  const Reducer &reducer = goal.reducer;
  const int64_t total = elementsOf(view.kept), inner = elementsOf(view.reduced);
  Results results(executor, goal);
  Cursor kept(view.kept), elements(view.reduced);
  Lanes lanes;
  alignas(64) char buffer[kBlockBytes];
  for (int64_t first = 0; first < total; first += kBlock) {
    const int64_t count = std::min(kBlock, total - first);
    results.reset(&lanes, count);
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

/* Reduces rows of elements into a row of results, if neighbours in memory belong to neighbouring results. */
void reduceAcross(const aclOpExecutor &executor, const Goal &goal, const ReductionView &view, uint8_t compute) {
  const Reducer &reducer = goal.reducer;
  const int64_t total = elementsOf(view.kept), inner = elementsOf(view.reduced);
  const int64_t width = view.kept.dims[view.kept.rank - 1];
  Operand row = view.kept; /* the elements next to each other in memory, of as many results */
  row.compute = compute;
  row.dims[0] = width;
  row.strides[0] = view.kept.strides[view.kept.rank - 1];
  row.rank = 1;
  Cursor across(row);
  Results results(executor, goal);
  Cursor kept(view.kept), elements(view.reduced);
  Lanes lanes;
  alignas(64) char buffer[kBlockBytes];
  for (int64_t first = 0, count; first < total; first += count, kept.skip(count)) {
    count = std::min(kBlock, width - first % width);
    results.reset(&lanes, count);
    elements.moveTo(kept.position());
    for (int64_t at = 0; at < inner; ++at, elements.skip(1)) {
      across.moveTo(elements.position());
      reducer.across[compute](&lanes, across.read(buffer, count), count, at);
    }
    results.store(&lanes, count, inner);
  }
}

void reduceTo(const aclOpExecutor &executor, const Goal &goal) {
  const uint8_t compute = static_cast<uint8_t>(executor.attributes[kCompute]);
  ReductionView view = splitDims(executor.operands[0], static_cast<uint32_t>(executor.attributes[kMask]));
  view.reduced.compute = compute;
  orderReduced(&view);
  (isRowwise(view) ? reduceAcross : reduceAlong)(executor, goal, view, compute);
}

aclError runReduce(const aclOpExecutor &executor) {
  reduceTo(executor, {*static_cast<const Reducer *>(executor.kernel), executor.attributes[kValueOut],
                      executor.attributes[kIndexOut]});
  return ACL_SUCCESS;
}

/* self, ..., minOut, maxOut */
aclError runExtremes(const aclOpExecutor &executor) {
  reduceTo(executor, {kMinimum, 1, -1});
  reduceTo(executor, {kMaximum, 2, -1});
  return ACL_SUCCESS;
}

}  // namespace

ReductionView splitDims(const Operand &in, uint32_t mask) {
  ReductionView view{in, in};
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
    SIM_TRY(normalizeDim(executor, dims->items[i], rank, &dim));
    if (*mask >> dim & 1u) return refuse(executor, "dim {} is named twice", dim);
    *mask |= 1u << dim;
  }
  return ACLNN_SUCCESS;
}

int64_t elementsOf(const Operand &view) {
  int64_t count = 1;
  for (int32_t i = 0; i < view.rank; ++i) count *= view.dims[i];
  return count;
}

/* At most one dimension where positions count: the order of the others is free. */
void orderReduced(ReductionView *view) {
  Operand &part = view->reduced;
  for (int32_t i = 1; i < part.rank; ++i) {
    for (int32_t k = i; k > 0 && part.strides[k - 1] < part.strides[k]; --k) {
      std::swap(part.dims[k - 1], part.dims[k]);
      std::swap(part.strides[k - 1], part.strides[k]);
    }
  }
}

bool isRowwise(const ReductionView &view) {
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
  if (reducer.truth) compute = kBoolean8;
  if (compute >= kRaw || reducer.along[compute] == nullptr) return refuseType(executor, in.type);
  Shape shape = reducedShape(in, mask, keep);
  for (const Operand &operand : executor.operands) {
    if ((operand.role & kOut) == 0) continue;
    SIM_TRY(requireShape(executor, operand, shape));
  }
  for (int32_t i = 0; reducer.needs_elements && i < in.rank; ++i) {
    if ((mask >> i & 1u) && in.dims[i] == 0) return refuse(executor, "dimension {} to reduce has no elements", i);
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
  if (type != out.type) return refuse(executor, "out has data type {}, expected dtype, which is {}", out.type, type);
  uint32_t mask;
  SIM_TRY(readDims(executor, arguments[1].pointer, in.rank, &mask));
  if (type == ACL_BOOL) { /* a sum of truth values, not the truth of a sum */
    return prepareReducer(executor, kAnyOf, computeOf(in.type), mask, arguments[2].integer != 0);
  }
  return prepareReducer(executor, *static_cast<const Reducer *>(body.kernel), computeOf(type), mask,
                        arguments[2].integer != 0);
}

/* self, dim, keepDim, noopWithEmptyAxes, out */
aclnnStatus prepareMeanV2(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &in = executor.operands[0];
  Operand &out = executor.operands[1];
  const aclIntArray *dims = static_cast<const aclIntArray *>(arguments[1].pointer);
  if (arguments[3].integer != 0 && (dims == nullptr || dims->size == 0)) {
    SIM_TRY(requireShape(executor, out, shapeOf(in)));
    return prepareCopy(executor, executor.operands[0], out);
  }
  uint32_t mask;
  SIM_TRY(readDims(executor, dims, in.rank, &mask));
  return prepareReducer(executor, kMean, categoryOf(in.type) < kFloating ? kF64 : computeOf(in.type), mask,
                        arguments[2].integer != 0);
}

aclnnStatus prepareMean(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  uint8_t compute = computeOf(static_cast<aclDataType>(arguments[3].integer));
  if (compute == kI64) return refuse(executor, "dtype is an integer, expected a floating or complex type");
  return prepareSum(executor, arguments, body);
}

/* self, dim, keepDim, out: Amax, Amin, All, Any. Variant 1: any output type, 0: castable from the input's. */
aclnnStatus prepareDims(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &in = executor.operands[0];
  uint32_t mask;
  SIM_TRY(readDims(executor, arguments[1].pointer, in.rank, &mask));
  if (body.variant == 0) SIM_TRY(requireCast(executor, in.type, executor.operands[1]));
  return prepareReducer(executor, *static_cast<const Reducer *>(body.kernel), computeOf(in.type), mask,
                        arguments[2].integer != 0);
}

/* self, out: the extreme of all elements */
aclnnStatus prepareWhole(aclOpExecutor &executor, const Argument *, const OpBody &body) {
  const Operand &in = executor.operands[0];
  SIM_TRY(requireCast(executor, in.type, executor.operands[1]));
  return prepareReducer(executor, *static_cast<const Reducer *>(body.kernel), computeOf(in.type), (1u << in.rank) - 1,
                        false);
}

/* self, dim, keepdim, then [out,] indices. Variant 1: positions only. */
aclnnStatus prepareDim(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &in = executor.operands[0];
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, in.rank, &dim));
  if (body.variant == 0) SIM_TRY(requireCast(executor, in.type, executor.operands[1]));
  uint32_t mask = in.rank == 0 ? 0 : 1u << dim;
  SIM_TRY(prepareReducer(executor, *static_cast<const Reducer *>(body.kernel), computeOf(in.type), mask,
                         arguments[2].integer != 0));
  executor.attributes[kValueOut] = body.variant != 0 ? -1 : 1;
  executor.attributes[kIndexOut] = body.variant != 0 ? 1 : 2;
  return ACLNN_SUCCESS;
}

/* self, dim, keepDim, minOut, maxOut: dim is an array; in variant 1 one dimension, in variant 2 it is absent. */
aclnnStatus prepareExtremes(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &in = executor.operands[0];
  uint32_t mask = (1u << in.rank) - 1;
  int32_t dim = 0;
  if (body.variant == 0) SIM_TRY(readDims(executor, arguments[1].pointer, in.rank, &mask));
  if (body.variant == 1) SIM_TRY(normalizeDim(executor, arguments[1].integer, in.rank, &dim));
  if (body.variant == 1 && in.rank > 0) mask = 1u << dim;
  for (uint32_t i = 1; i < 3; ++i) SIM_TRY(requireCast(executor, in.type, executor.operands[i]));
  SIM_TRY(prepareReducer(executor, kMinimum, computeOf(in.type), mask, body.variant != 2 && arguments[2].integer != 0));
  executor.run = runExtremes;
  return ACLNN_SUCCESS;
}

/* self, out: the diagonal is a line of its own. */
aclnnStatus prepareTrace(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Operand &in = executor.operands[0];
  const Operand &out = executor.operands[1];
  const aclDataType type = categoryOf(in.type) < kFloating ? ACL_INT64 : in.type;
  if (out.type != type) return refuse(executor, "out has data type {}, expected {}", out.type, type);
  in.rank = 1;
  in.count = in.dims[0] = std::min(in.dims[0], in.dims[1]);
  in.strides[0] += in.strides[1];
  return prepareReducer(executor, kSum, computeOf(type), 1, false);
}

}  // namespace

SIM_OP(aclnnTrace, prepareTrace, nullptr, 0)
SIM_OP(aclnnReduceSum, prepareSum, &kSum, 0)
SIM_OP(aclnnReduceNansum, prepareSum, &kNanSum, 0)
SIM_OP(aclnnMean, prepareMean, &kMean, 0)
SIM_OP(aclnnMeanV2, prepareMeanV2, nullptr, 0)
SIM_OP(aclnnAmax, prepareDims, &kMaximum, 0)
SIM_OP(aclnnAmin, prepareDims, &kMinimum, 0)
SIM_OP(aclnnAll, prepareDims, &kAllOf, 1)
SIM_OP(aclnnAny, prepareDims, &kAnyOf, 1)
SIM_OP(aclnnAminmax, prepareExtremes, nullptr, 0)
SIM_OP(aclnnAminmaxDim, prepareExtremes, nullptr, 1)
SIM_OP(aclnnAminmaxAll, prepareExtremes, nullptr, 2)
SIM_OP(aclnnMax, prepareWhole, &kMaximum, 0)
SIM_OP(aclnnMin, prepareWhole, &kMinimum, 0)
SIM_OP(aclnnMaxDim, prepareDim, &kArgMaximum, 0)
SIM_OP(aclnnMinDim, prepareDim, &kArgMinimum, 0)
SIM_OP(aclnnArgMax, prepareDim, &kArgMaximum, 1)
SIM_OP(aclnnArgMin, prepareDim, &kArgMinimum, 1)

/* Reductions that need several passes or are no sum: variance, logsumexp, product. */

namespace {

constexpr int kMostOuts = 2;

/* The state of one result. A fold sees all elements in each of its passes, then writes its results. */
struct Moments {
  static constexpr int kPasses = 2;
  using Element = double;
  double mean = 0, squares = 0;
  int64_t count;
  explicit Moments(const aclOpExecutor &, int64_t elements) : count(elements) {}
  void add(int pass, const double *values, int64_t length) {
    for (int64_t i = 0; i < length; ++i) {
      if (pass == 0) {
        mean += values[i];
      } else {
        squares += (values[i] - mean) * (values[i] - mean);
      }
    }
  }
  void endPass(int pass) {
    if (pass == 0) mean /= static_cast<double>(count);
  }
  double variance(const aclOpExecutor &executor) const {
    const int64_t freedom = count - executor.scalars[0].integer;
    return squares / static_cast<double>(freedom > 0 ? freedom : 0);
  }
};

struct Variance : Moments {
  using Moments::Moments;
  void results(const aclOpExecutor &executor, double *out) const {
    out[0] = variance(executor);
    out[1] = mean;
  }
};

struct Deviation : Moments {
  using Moments::Moments;
  void results(const aclOpExecutor &executor, double *out) const {
    out[0] = std::sqrt(variance(executor));
    out[1] = mean;
  }
};

struct LogSumExp {
  static constexpr int kPasses = 2;
  using Element = double;
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  explicit LogSumExp(const aclOpExecutor &, int64_t) {}
  void add(int pass, const double *values, int64_t length) {
    for (int64_t i = 0; i < length; ++i) {
      if (pass == 0) {
        largest = larger(largest, values[i]);
      } else {
        sum += std::exp(values[i] - largest);
      }
    }
  }
  void endPass(int pass) {
    if (pass == 0 && std::isinf(largest)) largest = 0;
  }
  void results(const aclOpExecutor &, double *out) const { out[0] = std::log(sum) + largest; }
};

/* In partial products, which the processor can overlap. */
template <class C>
SIM_CLONES C productOf(const C *values, int64_t count) {
  C parts[kParts], product = C(1);
  int64_t i = 0;
  if (count >= kParts) {
    std::fill(parts, parts + kParts, C(1));
    for (; i + kParts <= count; i += kParts) {
      for (int64_t k = 0; k < kParts; ++k) parts[k] = multiply(parts[k], values[i + k]);
    }
    for (const C &part : parts) product = multiply(product, part);
  }
  for (; i < count; ++i) product = multiply(product, values[i]);
  return product;
}

template <class C>
struct Product {
  static constexpr int kPasses = 1;
  using Element = C;
  C value = C(1);
  explicit Product(const aclOpExecutor &, int64_t) {}
  void add(int, const C *values, int64_t count) { value = multiply(value, productOf(values, count)); }
  void endPass(int) {}
  void results(const aclOpExecutor &, C *out) const { out[0] = value; }
};

template <>
void Product<Boolean>::add(int, const Boolean *values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) value = value != 0 && values[i] != 0;
}

template <class F>
aclError runFold(const aclOpExecutor &executor) {
  using C = typename F::Element;
  ReductionView view = splitDims(executor.operands[0], static_cast<uint32_t>(executor.attributes[kMask]));
  view.reduced.compute = computeOfType<C>();
  orderReduced(&view);
  const int64_t total = elementsOf(view.kept), inner = elementsOf(view.reduced);
  const uint32_t outs = executor.operands.size() - 1;
  Operand written[kMostOuts] = {executor.operands[1], executor.operands[outs]};
  for (Operand &out : written) out.compute = computeOfType<C>();
  Cursor results[kMostOuts] = {Cursor(written[0]), Cursor(written[1])};
  Cursor kept(view.kept), elements(view.reduced);
  alignas(64) char buffer[kBlockBytes];
  for (int64_t i = 0; i < total; ++i, kept.skip(1)) {
    F fold(executor, inner);
    for (int pass = 0; pass < F::kPasses; ++pass) {
      elements.moveTo(kept.position());
      for (int64_t at = 0; at < inner; at += kBlock) {
        const int64_t count = std::min(kBlock, inner - at);
        const C *values = static_cast<const C *>(elements.read(buffer, count));
        fold.add(pass, values, count);
      }
      fold.endPass(pass);
    }
    C values[kMostOuts] = {};
    fold.results(executor, values);
    for (uint32_t out = 0; out < outs; ++out) results[out].write(&values[out], 1);
  }
  return ACL_SUCCESS;
}

using Run = aclError (*)(const aclOpExecutor &);
template <class F>
constexpr Run kFold = runFold<F>;

aclnnStatus prepareFold(aclOpExecutor &executor, Run run, uint32_t mask, bool keep) {
  const Operand &in = executor.operands[0];
  const Shape shape = reducedShape(in, mask, keep);
  for (const Operand &operand : executor.operands) {
    if ((operand.role & kOut) == 0) continue;
    SIM_TRY(requireShape(executor, operand, shape));
  }
  executor.attributes[kMask] = mask;
  executor.run = run;
  executor.workspace_size = roundUp(static_cast<uint64_t>(in.count > 0 ? 1 : 0));
  return ACLNN_SUCCESS;
}

/* self, dim, correction, keepdim, then one or two outputs */
aclnnStatus prepareMoments(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  uint32_t mask;
  SIM_TRY(readDims(executor, arguments[1].pointer, executor.operands[0].rank, &mask));
  executor.scalars[0].integer = arguments[2].integer;
  return prepareFold(executor, *static_cast<const Run *>(body.kernel), mask, arguments[3].integer != 0);
}

/* self, dim, keepDim, out */
aclnnStatus prepareLogSumExp(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  uint32_t mask;
  SIM_TRY(readDims(executor, arguments[1].pointer, executor.operands[0].rank, &mask));
  return prepareFold(executor, runFold<LogSumExp>, mask, arguments[2].integer != 0);
}

/* The product in the type of `dtype`. */
aclnnStatus prepareProduct(aclOpExecutor &executor, aclDataType type, uint32_t mask, bool keep) {
  static constexpr Run runs[kComputeCount] = {runFold<Product<double>>, runFold<Product<double>>,
                                              runFold<Product<int64_t>>, runFold<Product<Complex>>,
                                              runFold<Product<Boolean>>};
  const Operand &out = executor.operands[1];
  if (type != out.type) return refuse(executor, "out has data type {}, expected dtype, which is {}", out.type, type);
  const uint8_t compute = type == ACL_BOOL ? uint8_t{kBoolean8} : uint8_t{computeOf(type)}; /* of truth values */
  if (compute >= kRaw || runs[compute] == nullptr) return refuseType(executor, type);
  return prepareFold(executor, runs[compute], mask, keep);
}

/* self, dtype, out */
aclnnStatus prepareProd(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  return prepareProduct(executor, static_cast<aclDataType>(arguments[1].integer), (1u << executor.operands[0].rank) - 1,
                        false);
}

/* self, dim, keepDim, dtype, out */
aclnnStatus prepareProdDim(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const int32_t rank = executor.operands[0].rank;
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, rank, &dim));
  return prepareProduct(executor, static_cast<aclDataType>(arguments[3].integer), rank == 0 ? 0 : 1u << dim,
                        arguments[2].integer != 0);
}

}  // namespace

SIM_OP(aclnnVarCorrection, prepareMoments, &kFold<Variance>, 0)
SIM_OP(aclnnStd, prepareMoments, &kFold<Deviation>, 0)
SIM_OP(aclnnVarMean, prepareMoments, &kFold<Variance>, 0)
SIM_OP(aclnnStdMeanCorrection, prepareMoments, &kFold<Deviation>, 0)
SIM_OP(aclnnLogSumExp, prepareLogSumExp, nullptr, 0)
SIM_OP(aclnnProd, prepareProd, nullptr, 0)
SIM_OP(aclnnProdDim, prepareProdDim, nullptr, 0)

}  // namespace sim
