/* Filling, counting up, copying, converting. */
#include <algorithm>

#include "opapi/loops.h"

namespace sim {
namespace {

template <class C>
void fillLoop(const LoopArguments &arguments) {
  C value = numberAs<C>(arguments.numbers[0]);
  C *out = static_cast<C *>(arguments.out);
  for (int64_t i = 0; i < arguments.count; ++i) out[i] = value;
}

SIM_ELEMENT(Zero, 1, kAll, 0, C(0))
SIM_ELEMENT(Same, 1, kAll, 0, x)

constexpr Loop kFill[] = {fillLoop<float>, fillLoop<double>, fillLoop<int64_t>, fillLoop<Complex>};

/* Nothing is read: the operand becomes an output only. */
aclnnStatus prepareFillWith(aclOpExecutor &executor, const Number &value) {
  Operand &out = executor.operands[0];
  executor.numbers[0] = value;
  executor.number_count = 1;
  out.role = kOut;
  executor.attributes[0] = computeOf(out.type);
  executor.kernel = &kFill[computeOf(out.type)];
  executor.run = runElementwise;
  return ACLNN_SUCCESS;
}

aclnnStatus prepareFillConstant(aclOpExecutor &executor, const Argument *, const OpBody &body) {
  return prepareFillWith(executor, {true, ACL_INT64, body.variant, static_cast<double>(body.variant), 0.0});
}

aclnnStatus prepareFillScalar(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Number value = executor.numbers[0];
  if (categoryOf(value.type) == kComplex && categoryOf(executor.operands[0].type) != kComplex) {
    return refuse(executor, "value is complex, selfRef is not");
  }
  return prepareFillWith(executor, value);
}

aclnnStatus prepareFillTensor(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Operand &value = executor.operands[1];
  if (value.count != 1 || value.rank > 1) {
    return refuse(executor, "value has {} elements in {} dimensions, expected one element", value.count, value.rank);
  }
  value.rank = 0;
  return prepareCopy(executor, value, executor.operands[0]);
}

aclnnStatus prepareInplaceCopy(aclOpExecutor &executor, const Argument *, const OpBody &) {
  return prepareCopy(executor, executor.operands[1], executor.operands[0]);
}

aclnnStatus prepareCast(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Operand &out = executor.operands[1];
  aclDataType type = static_cast<aclDataType>(arguments[1].integer);
  if (type != out.type) {
    return refuse(executor, "out has data type {}, expected dtype, which is {}", out.type, type);
  }
  SIM_TRY(requireShape(executor, out, shapeOf(executor.operands[0])));
  return prepareCopy(executor, executor.operands[0], out);
}

/* The compute type of the output decides whether it counts in integers or in double. */
template <class C>
void arangeLoop(const LoopArguments &arguments) {
  using Step = std::conditional_t<std::is_same<C, int64_t>::value, int64_t, double>;
  Step start = numberAs<Step>(arguments.numbers[0]), step = numberAs<Step>(arguments.numbers[2]);
  C *out = static_cast<C *>(arguments.out);
  for (int64_t i = 0; i < arguments.count; ++i) {
    out[i] = static_cast<C>(add(start, multiply(static_cast<Step>(arguments.first + i), step)));
  }
}

constexpr Loop kArange[] = {arangeLoop<float>, arangeLoop<double>, arangeLoop<int64_t>};

/* ceil((end - start) / step), exact for integers: a double would round those beyond 2^53. */
double lengthOf(const Number *numbers, bool integral) {
  if (!integral) return std::ceil((numbers[1].real - numbers[0].real) / numbers[2].real);
  uint64_t start = static_cast<uint64_t>(numbers[0].integer), end = static_cast<uint64_t>(numbers[1].integer);
  uint64_t step = static_cast<uint64_t>(numbers[2].integer);
  bool up = numbers[2].integer > 0;
  uint64_t span = up ? end - start : start - end, pace = up ? step : 0 - step;
  return static_cast<double>(span / pace + (span % pace != 0));
}

aclnnStatus prepareArange(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Operand &out = executor.operands[0];
  const Number *numbers = executor.numbers;
  double start = numbers[0].real, end = numbers[1].real, step = numbers[2].real;
  if (step == 0.0 || isNan(step) || (step > 0.0 ? start > end : start < end)) {
    return refuse(executor, "no sequence goes from {} to {} in steps of {}", start, end, step);
  }
  uint8_t compute = computeOf(out.type);
  bool integral = compute == kI64 && std::all_of(numbers, numbers + 3,
                                                 [](const Number &number) { return computeOf(number.type) == kI64; });
  double length = lengthOf(numbers, integral);
  if (!(length < 0x1p62))
    return refuse(executor, "the sequence from {} to {} in steps of {} is too long", start, end, step);
  if (out.count != static_cast<int64_t>(length)) {
    return refuse(executor, "out has {} elements, the sequence from {} to {} in steps of {} has {}", out.count, start,
                  end, step, length);
  }
  executor.attributes[0] = compute;
  executor.kernel = &kArange[compute];
  executor.run = runElementwise;
  return ACLNN_SUCCESS;
}

/* From the start in the first half, from the end in the second: both ends come out exactly. */
template <class C>
void linspaceLoop(const LoopArguments &arguments) {
  using Real = std::conditional_t<std::is_same<C, float>::value, float, double>;
  const Real start = numberAs<Real>(arguments.numbers[0]), end = numberAs<Real>(arguments.numbers[1]);
  const int64_t steps = arguments.numbers[2].integer;
  const Real step = steps > 1 ? (end - start) / static_cast<Real>(steps - 1) : 0;
  C *out = static_cast<C *>(arguments.out);
  for (int64_t i = 0; i < arguments.count; ++i) {
    const int64_t index = arguments.first + i, left = steps - 1 - index;
    const bool from_start = index < steps / 2 || steps == 1;
    out[i] =
        static_cast<C>(from_start ? start + step * static_cast<Real>(index) : end - step * static_cast<Real>(left));
  }
}

constexpr Loop kLinspace[] = {linspaceLoop<float>, linspaceLoop<double>, linspaceLoop<int64_t>};

aclnnStatus prepareLinspace(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Operand &out = executor.operands[0];
  Shape shape = {1, {arguments[2].integer}};
  if (shape.dims[0] < 0) return refuse(executor, "steps is {}", shape.dims[0]);
  SIM_TRY(requireShape(executor, out, shape));
  const uint8_t compute = computeOf(out.type);
  executor.numbers[2] = {true, ACL_INT64, shape.dims[0], 0.0, 0.0};
  executor.attributes[0] = compute;
  executor.kernel = &kLinspace[compute];
  executor.run = runElementwise;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnInplaceZero, prepareFillConstant, nullptr, 0)
SIM_OP(aclnnInplaceOne, prepareFillConstant, nullptr, 1)
SIM_OP(aclnnInplaceFillScalar, prepareFillScalar, nullptr, 0)
SIM_OP(aclnnInplaceFillTensor, prepareFillTensor, nullptr, 0)
SIM_OP(aclnnInplaceCopy, prepareInplaceCopy, nullptr, 0)
SIM_OP(aclnnCast, prepareCast, nullptr, 0)
SIM_OP(aclnnArange, prepareArange, nullptr, 0)
SIM_OP(aclnnLinspace, prepareLinspace, nullptr, 0)
SIM_FOREACH(aclnnForeachZeroInplace, Zero)
SIM_FOREACH(aclnnForeachCopy, Same)

}  // namespace sim
