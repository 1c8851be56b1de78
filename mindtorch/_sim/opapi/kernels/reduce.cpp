#include "opapi/kernels/reduce.h"

#include <algorithm>

namespace sim {
namespace {

template <class C>
void foldSum(Accumulator *accumulator, const void *block, int64_t count) {
  const C *values = static_cast<const C *>(block);
  if constexpr (std::is_same<C, int64_t>::value) {
    int64_t sum = accumulator->integer;
    for (int64_t i = 0; i < count; ++i) sum = add(sum, values[i]);
    accumulator->integer = sum;
  } else {
    C sum(0);
    for (int64_t i = 0; i < count; ++i) sum += values[i];
    accumulator->real += std::real(sum);
    accumulator->imaginary += std::imag(sum);
  }
}

void finishMean(Accumulator *accumulator, uint8_t) {
  double count = static_cast<double>(accumulator->count);
  accumulator->real /= count;
  accumulator->imaginary /= count;
}

template <class C>
C &extremeOf(Accumulator *accumulator) {
  if constexpr (std::is_same<C, int64_t>::value) {
    return accumulator->integer;
  } else {
    return accumulator->real;
  }
}

/* The first extreme element wins, and the first NaN wins over everything. */
template <class C, bool Largest>
void foldExtreme(Accumulator *accumulator, const void *block, int64_t count) {
  const C *values = static_cast<const C *>(block);
  C &best = extremeOf<C>(accumulator);
  if (accumulator->count == 0 && count > 0) best = values[0];
  for (int64_t i = 0; i < count; ++i) {
    bool better = Largest ? values[i] > best : values[i] < best;
    if (better || (isNan(values[i]) && !isNan(best))) {
      best = values[i];
      accumulator->position = accumulator->count + i;
    }
  }
}

template <class C, bool All>
void foldTruth(Accumulator *accumulator, const void *block, int64_t count) {
  const C *values = static_cast<const C *>(block);
  for (int64_t i = 0; i < count; ++i) {
    if ((values[i] != C(0)) != All) accumulator->integer = !All;
  }
}

constexpr Reducer kSum = {{nullptr, foldSum<double>, foldSum<int64_t>, foldSum<Complex>}, nullptr, 0.0, false};
constexpr Reducer kMean = {{nullptr, foldSum<double>, nullptr, foldSum<Complex>}, finishMean, 0.0, false};
constexpr Reducer kMaximum = {
    {nullptr, foldExtreme<double, true>, foldExtreme<int64_t, true>, nullptr}, nullptr, 0.0, true};
constexpr Reducer kMinimum = {
    {nullptr, foldExtreme<double, false>, foldExtreme<int64_t, false>, nullptr}, nullptr, 0.0, true};
constexpr Reducer kAllOf = {{nullptr, foldTruth<double, true>, foldTruth<int64_t, true>, nullptr}, nullptr, 1.0, false};
constexpr Reducer kAnyOf = {
    {nullptr, foldTruth<double, false>, foldTruth<int64_t, false>, nullptr}, nullptr, 0.0, false};

enum Attribute { kMask, kCompute, kValueOut, kIndexOut };

void storeAccumulator(const Operand &out, Cursor *cursor, const Accumulator &accumulator, uint8_t compute) {
  if (compute == kI64) {
    storeRow(out.type, kI64)(&accumulator.integer, cursor->position(), 0, 1);
  } else if (compute == kC128) {
    Complex value(accumulator.real, accumulator.imaginary);
    storeRow(out.type, kC128)(&value, cursor->position(), 0, 1);
  } else {
    storeRow(out.type, kF64)(&accumulator.real, cursor->position(), 0, 1);
  }
  cursor->skip(1);
}

const Operand *outAt(const aclOpExecutor &executor, Attribute which) {
  int64_t index = executor.attributes[which];
  return index < 0 ? nullptr : &executor.operands[static_cast<uint32_t>(index)];
}

int64_t elementsOf(const Operand &view) {
  int64_t count = 1;
  for (int32_t i = 0; i < view.rank; ++i) count *= view.dims[i];
  return count;
}

aclError runReduce(const aclOpExecutor &executor) {
  const Reducer &reducer = *static_cast<const Reducer *>(executor.kernel);
  const uint8_t compute = static_cast<uint8_t>(executor.attributes[kCompute]);
  Division view = divide(executor.operands[0], static_cast<uint32_t>(executor.attributes[kMask]));
  view.reduced.compute = compute;
  const Operand *value = outAt(executor, kValueOut), *index = outAt(executor, kIndexOut);
  const int64_t outer = elementsOf(view.kept), inner = elementsOf(view.reduced);
  Cursor kept(view.kept), elements(view.reduced);
  Cursor values(value != nullptr ? *value : *index), indices(index != nullptr ? *index : *value);
  alignas(64) char buffer[kBlockBytes];
  for (int64_t i = 0; i < outer; ++i, kept.skip(1)) {
    Accumulator accumulator{reducer.start, 0.0, static_cast<int64_t>(reducer.start), 0, 0};
    elements.moveTo(kept.position());
    while (accumulator.count < inner) {
      int64_t count = std::min(kBlock, inner - accumulator.count);
      reducer.fold[compute](&accumulator, elements.read(buffer, count), count);
      accumulator.count += count;
    }
    if (reducer.finish != nullptr) reducer.finish(&accumulator, compute);
    bool truth = reducer.fold[kF64] == kAllOf.fold[kF64] || reducer.fold[kF64] == kAnyOf.fold[kF64];
    if (value != nullptr) storeAccumulator(*value, &values, accumulator, truth ? uint8_t{kI64} : compute);
    if (index != nullptr) {
      accumulator.integer = accumulator.position;
      storeAccumulator(*index, &indices, accumulator, kI64);
    }
  }
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
  if (compute >= kRaw || reducer.fold[compute] == nullptr) return refuseType(executor, in.type);
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
SIM_OP(aclnnMaxDim, prepareDim, &kMaximum, 0)
SIM_OP(aclnnMinDim, prepareDim, &kMinimum, 0)
SIM_OP(aclnnArgMax, prepareDim, &kMaximum, 1)
SIM_OP(aclnnArgMin, prepareDim, &kMinimum, 1)

}  // namespace sim
