/* scatter in all its forms, and filling under a mask. */
#include "opapi/indexing.h"

namespace sim {

Constant::Constant(const Number &number, uint8_t compute, const Operand &shape) : operand_(shape) {
  static constexpr aclDataType kTypes[] = {ACL_FLOAT, ACL_DOUBLE, ACL_INT64, ACL_COMPLEX128};
  const Complex complex(number.real, number.imaginary);
  const double real = number.real;
  const float single = static_cast<float>(number.real);
  const void *const values[] = {&single, &real, &number.integer, &complex};
  static constexpr int32_t kItems[] = {sizeof(float), sizeof(double), sizeof(int64_t), sizeof(Complex)};
  operand_.type = kTypes[compute];
  operand_.compute = compute;
  operand_.item = kItems[compute];
  operand_.host = value_;
  std::memcpy(value_, values[compute], static_cast<size_t>(operand_.item));
  std::fill(operand_.strides, operand_.strides + operand_.rank, 0);
}

namespace {

enum Attribute { kDim, kReduction, kIncludeSelf };
enum Reduction { kReplace, kAdd, kMultiply, kLargest, kSmallest, kMean, kReductionCount };

struct Product {
  template <class C>
  static C apply(C old, C value) {
    return multiply(old, value);
  }
};
struct Largest {
  template <class C>
  static C apply(C old, C value) {
    if constexpr (std::is_same<C, Complex>::value) {
      return old; /* refused by prepare */
    } else {
      return larger(old, value);
    }
  }
};
struct Smallest {
  template <class C>
  static C apply(C old, C value) {
    if constexpr (std::is_same<C, Complex>::value) {
      return old;
    } else {
      return smaller(old, value);
    }
  }
};
constexpr const FoldElement *kFolds[] = {kFoldOf<Replacement>, kFoldOf<Addition>, kFoldOf<Product>,
                                         kFoldOf<Largest>,     kFoldOf<Smallest>, kFoldOf<Addition>};

struct Scattered {
  const Operand &self, &index, &out;
  Operand source;
};

/* self, index, [src,] out */
Scattered scatteredOf(const aclOpExecutor &executor) {
  const auto &operands = executor.operands;
  return {operands[0], operands[1], operands.back(), operands[operands.size() > 3 ? 2 : 1]};
}

/* Divides by how many elements went into each. The counts lie in the workspace. */
template <class C>
void divideLine(char *element, LoadRow load, StoreRow store, int64_t count) {
  C value;
  load(element, 0, &value, 1);
  if constexpr (std::is_same<C, int64_t>::value) {
    value = value / count - (value % count != 0 && value < 0); /* torch rounds down */
  } else {
    value = value / static_cast<C>(static_cast<double>(count));
  }
  store(&value, element, 0, 1);
}
using DivideElement = void (*)(char *, LoadRow, StoreRow, int64_t);
constexpr DivideElement kDivide[] = {divideLine<float>, divideLine<double>, divideLine<int64_t>, divideLine<Complex>};

aclError average(const aclOpExecutor &executor, const Scattered &call, int32_t dim) {
  Operand counts = call.out;
  counts.type = ACL_INT64;
  counts.compute = kI64;
  counts.item = sizeof(int64_t);
  counts.host = executor.workspace;
  int64_t stride = 1;
  for (int32_t i = counts.rank; i-- > 0; stride *= counts.dims[i]) counts.strides[i] = stride;
  int64_t *const count = reinterpret_cast<int64_t *>(executor.workspace);
  std::fill(count, count + counts.count, executor.attributes[kIncludeSelf]);
  const Constant one({true, ACL_INT64, 1, 1.0, 0.0}, kI64, call.index);
  SIM_TRY(scatterElements(counts, dim, call.index, one.operand(), kFoldOf<Addition>[kI64]));
  const uint8_t compute = computeOf(call.out.type);
  const LoadRow load = loadRow(call.out.type, compute);
  const StoreRow store = storeRow(call.out.type, compute);
  Cursor elements(call.out);
  for (int64_t i = 0; i < counts.count; ++i, elements.skip(1)) {
    if (count[i] > 1) kDivide[compute](elements.position(), load, store, count[i]);
  }
  return ACL_SUCCESS;
}

aclError runScatter(const aclOpExecutor &executor) {
  const Scattered call = scatteredOf(executor);
  const int64_t reduction = executor.attributes[kReduction];
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  const uint8_t compute = computeOf(call.out.type);
  if (call.self.address != call.out.address) convertView(call.self, call.out);
  if (call.index.count == 0) return ACL_SUCCESS;
  const Constant number(executor.numbers[0], compute, call.index);
  const Operand &source = executor.number_count > 0 ? number.operand() : call.source;
  if (executor.attributes[kIncludeSelf] == 0) { /* what was there gives way to the reduction's neutral element */
    const int64_t neutral = reduction == kMultiply;
    const Constant start({true, ACL_INT64, neutral, static_cast<double>(neutral), 0.0}, compute, call.index);
    const bool ordered = reduction == kLargest || reduction == kSmallest; /* any element of source is */
    SIM_TRY(
        scatterElements(call.out, dim, call.index, ordered ? source : start.operand(), kFoldOf<Replacement>[compute]));
  }
  SIM_TRY(scatterElements(call.out, dim, call.index, source, kFolds[reduction][compute]));
  return reduction == kMean ? average(executor, call, dim) : ACL_SUCCESS;
}

/* self, dim, index, src or value, reduce, [includeSelf,] [out] */
aclnnStatus prepareScatter(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const bool with_self = body.variant != 0; /* the operator has includeSelf */
  const int64_t reduction = arguments[4].integer;
  Operand &self = executor.operands[0], &index = executor.operands[1];
  const Scattered call = scatteredOf(executor);
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, self.rank, &dim));
  SIM_TRY(checkIndex(executor, index, self, dim));
  SIM_TRY(requireShape(executor, call.out, shapeOf(self)));
  if (reduction < 0 || reduction >= (with_self ? kReductionCount : kLargest)) {
    return refuse(executor, "reduce is {}", reduction);
  }
  if (executor.number_count == 0) {
    SIM_TRY(checkIndex(executor, index, call.source, -1));
    executor.operands[2].compute = computeOf(self.type);
  }
  if (call.out.type != self.type || (executor.number_count == 0 && call.source.type != self.type)) {
    return refuse(executor, "src and out must have self's data type, which is {}", self.type);
  }
  if (categoryOf(self.type) == kComplex && index.count > 0 && (reduction == kLargest || reduction == kSmallest)) {
    return refuseType(executor, self.type);
  }
  executor.attributes[kDim] = dim;
  executor.attributes[kReduction] = reduction;
  executor.attributes[kIncludeSelf] = with_self ? arguments[5].integer : 1;
  if (reduction == kMean) executor.workspace_size = roundUp(static_cast<uint64_t>(self.count) * sizeof(int64_t));
  executor.run = runScatter;
  return ACLNN_SUCCESS;
}

/* selfRef, mask, [value] */
aclError runMaskedFill(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &mask = executor.operands[1];
  char *addresses[kBlock];
  alignas(64) char value[sizeof(Complex)];
  Truth truths[kBlock];
  if (executor.number_count > 0) {
    const Constant number(executor.numbers[0], computeOf(self.type), self);
    storeRow(self.type, computeOf(self.type))(number.operand().host, value, 0, 1);
  } else {
    std::memcpy(value, executor.operands[2].host, static_cast<size_t>(self.item));
  }
  Cursor elements(self), masked(mask);
  for (int64_t first = 0, length; first < self.count; first += length) {
    length = std::min(kBlock, self.count - first);
    const Truth *truth = static_cast<const Truth *>(masked.read(truths, length));
    for (int64_t i = 0; i < length; ++i, elements.skip(1)) addresses[i] = elements.position();
    for (int64_t i = 0; i < length; ++i) {
      if (truth[i] != 0) std::memcpy(addresses[i], value, static_cast<size_t>(self.item));
    }
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareMaskedFill(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const Operand &self = executor.operands[0];
  Operand &mask = executor.operands[1];
  Shape shape = shapeOf(self);
  if (!broadcastInto(&shape, mask)) return refuse(executor, "mask does not broadcast to selfRef");
  SIM_TRY(requireShape(executor, self, shape));
  if (executor.number_count == 0 && executor.operands[2].type != self.type) {
    return refuse(executor, "value has data type {}, expected {}", executor.operands[2].type, self.type);
  }
  expandTo(&mask, shape);
  mask.count = self.count;
  mask.compute = kTruth;
  executor.run = runMaskedFill;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnScatter, prepareScatter, nullptr, 0)
SIM_OP(aclnnScatterValue, prepareScatter, nullptr, 0)
SIM_OP(aclnnScatterReduce, prepareScatter, nullptr, 1)
SIM_OP(aclnnInplaceMaskedFillScalar, prepareMaskedFill, nullptr, 0)
SIM_OP(aclnnInplaceMaskedFillTensor, prepareMaskedFill, nullptr, 0)

}  // namespace sim
