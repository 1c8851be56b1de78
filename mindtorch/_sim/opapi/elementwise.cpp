/* Type and shape checks of elementwise operators, and the loop over blocks of their operands. */
#include <algorithm>
#include <cstring>
#include <utility>

#include "opapi/loops.h"

namespace sim {
namespace {

constexpr uint32_t kMaxInputs = 4;

/* As in torch, a scalar changes the type only if its category is higher than that of the tensors. */
aclDataType promoteScalar(aclDataType type, const Scalar &number) {
  Category category = categoryOf(number.type);
  if (!number.present || category <= categoryOf(type)) return type;
  if (category == kInteger) return ACL_INT64;
  if (category == kFloating) return ACL_FLOAT;
  return type == ACL_DOUBLE ? ACL_COMPLEX128 : ACL_COMPLEX64;
}

aclnnStatus checkScalars(const aclOpExecutor &executor, const Loops &loops, aclDataType type) {
  for (int i = 0; i < loops.scalars; ++i) {
    Category category = categoryOf(executor.scalars[i].type);
    if (category > kInteger && category > categoryOf(type)) {
      return refuse(executor, "a scalar of type {} does not go with tensors of type {}", executor.scalars[i].type,
                    type);
    }
  }
  return ACLNN_SUCCESS;
}

aclDataType resultType(aclDataType type, int64_t variant) {
  if (variant & kBoolResult) return ACL_BOOL;
  if ((variant & kRealResult) && categoryOf(type) == kComplex) return type == ACL_COMPLEX64 ? ACL_FLOAT : ACL_DOUBLE;
  return type;
}

bool sameShape(const Operand &a, const Operand &b) {
  if (a.rank != b.rank) return false;
  for (int32_t i = 0; i < a.rank; ++i) {
    if (a.dims[i] != b.dims[i]) return false;
  }
  return true;
}

/* Sorts the dimensions of all operands by descending strides of `model`, so that memory is accessed in order. All
 * operands have the same shape. */
void orderDims(aclOpExecutor &executor, const Operand &model) {
  const auto step = [&model](int32_t i) { return model.dims[i] == 1 ? INT64_MAX : model.strides[i]; };
  for (int32_t i = 1; i < model.rank; ++i) {
    for (int32_t k = i; k > 0 && step(k - 1) < step(k); --k) {
      for (Operand &operand : executor.operands) {
        std::swap(operand.dims[k - 1], operand.dims[k]);
        std::swap(operand.strides[k - 1], operand.strides[k]);
      }
    }
  }
}

}  // namespace

aclnnStatus prepareElementwise(aclOpExecutor &executor, const Argument *, const OpBody &body) {
  return prepareLoops(executor, *static_cast<const Loops *>(body.kernel), body.variant);
}

aclnnStatus prepareLoops(aclOpExecutor &executor, const Loops &loops, int64_t variant) {
  Operand &out = firstOut(executor);
  Operand &first = executor.operands[0];
  aclDataType type = first.type;
  bool equal_shapes = true;
  for (Operand &operand : executor.operands) {
    if ((operand.role & kIn) == 0) continue;
    if (operand.type != type) type = promoteTypes(type, operand.type);
    equal_shapes &= sameShape(operand, out);
  }
  if (variant & kPromoteFirst) type = promoteScalar(type, executor.scalars[0]);
  if (variant & kPromoteSecond) type = promoteScalar(type, executor.scalars[1]);
  if ((variant & kFloatResult) && categoryOf(type) < kFloating) type = ACL_FLOAT;
  uint8_t compute = loops.loop[kBoolean8] != nullptr ? kBoolean8 : computeOf(type);
  if (compute >= kRaw || loops.loop[compute] == nullptr) return refuseType(executor, type);
  if ((variant & kOrdered) && type == ACL_UINT64) return refuseType(executor, type);
  SIM_TRY(requireCast(executor, resultType(type, variant), out));
  if (loops.scalars > 0) SIM_TRY(checkScalars(executor, loops, type));
  if (!equal_shapes) {
    Shape shape = shapeOf(first);
    for (const Operand &operand : executor.operands) {
      if ((operand.role & kIn) && !broadcastInto(&shape, operand)) {
        return refuse(executor, "the shape of {} cannot be broadcast with the others", operand);
      }
    }
    SIM_TRY(requireShape(executor, out, shape));
    for (Operand &operand : executor.operands) {
      if (operand.role == kIn) expandTo(&operand, shape);
    }
  }
  for (Operand &operand : executor.operands) operand.compute = compute;
  orderDims(executor, out);
  executor.attributes[0] = loops.result[compute];
  executor.kernel = &loops.loop[compute];
  executor.run = runElementwise;
  return ACLNN_SUCCESS;
}

/* attributes[0] is the compute type of the result, which may differ from that of the inputs. */
aclError runElementwise(const aclOpExecutor &executor) {
  Operand out = firstOut(executor);
  out.compute = static_cast<uint8_t>(executor.attributes[0]);
  const Operand *inputs[kMaxInputs];
  uint32_t count = 0;
  for (const Operand &operand : executor.operands) {
    if (operand.role & kIn) inputs[count++] = &operand;
  }
  runLoop(inputs, count, out, *static_cast<const Loop *>(executor.kernel), executor.scalars);
  return ACL_SUCCESS;
}

void runLoop(const Operand *const *operands, uint32_t count, const Operand &out, Loop loop, const Scalar *scalars) {
  const int64_t total = out.count;
  if (total == 0) return;
  alignas(64) char buffers[kMaxInputs + 1][kBlockBytes];
  alignas(Cursor) char storage[kMaxInputs][sizeof(Cursor)];
  Cursor *inputs[kMaxInputs];
  for (uint32_t i = 0; i < count; ++i) inputs[i] = new (storage[i]) Cursor(*operands[i]);
  Cursor output(out);
  LoopArguments arguments{};
  arguments.scalars = scalars;
  for (int64_t first = 0; first < total; first += arguments.count) {
    int64_t run = output.directRun();
    for (uint32_t i = 0; i < count; ++i) run = std::min(run, inputs[i]->directRun());
    arguments.first = first;
    arguments.count =
        std::max(run, std::min(kBlock, total - first)); /* a whole contiguous run at once if nothing is converted */
    for (uint32_t i = 0; i < count; ++i) arguments.in[i] = inputs[i]->read(buffers[i], arguments.count);
    void *direct = output.direct(arguments.count);
    arguments.out = direct != nullptr ? direct : buffers[kMaxInputs];
    loop(arguments);
    if (direct != nullptr) {
      output.skip(arguments.count);
    } else {
      output.write(arguments.out, arguments.count);
    }
  }
}

/* The compute type that converts every value with one rounding. */
uint8_t copyCompute(aclDataType from, aclDataType to) {
  if (from == to) return kRaw;
  return from == ACL_UINT64 && categoryOf(to) >= kFloating ? kF64 : computeOf(from);
}

void convertView(const Operand &in, const Operand &out) {
  int64_t total = 1; /* not out.count, for slices of an operand */
  for (int32_t i = 0; i < out.rank; ++i) total *= out.dims[i];
  if (total == 0) return;
  alignas(64) char buffer[kBlockBytes];
  Cursor input(in), output(out);
  for (int64_t first = 0; first < total; first += kBlock) {
    const int64_t count = std::min(kBlock, total - first);
    void *direct = output.direct(count);
    const void *values = input.read(direct != nullptr ? direct : buffer, count);
    if (direct == nullptr) {
      output.write(values, count);
      continue;
    }
    if (values != direct) std::memmove(direct, values, static_cast<size_t>(count * out.item));
    output.skip(count);
  }
}

bool asStridedRun(const Operand &operand, StridedRun *run) {
  *run = {1, operand.item};
  for (int32_t i = operand.rank; i-- > 0;) {
    if (operand.dims[i] == 1) continue;
    const int64_t stride = operand.strides[i] * operand.item;
    if (run->count == 1) {
      run->stride = stride;
    } else if (stride != run->stride * run->count) {
      return false;
    }
    run->count *= operand.dims[i];
  }
  return true;
}

Operand contiguousOperand(const Operand &like, aclDataType type, const void *array) {
  Operand operand = like;
  operand.type = type;
  operand.compute = type == ACL_BOOL ? kBoolean8 : computeOf(type);
  operand.item = static_cast<int32_t>(itemSize(type));
  operand.host = static_cast<char *>(const_cast<void *>(array));
  operand.count = 1;
  for (int32_t i = operand.rank; i-- > 0; operand.count *= operand.dims[i]) operand.strides[i] = operand.count;
  return operand;
}

namespace {

aclError runCopy(const aclOpExecutor &executor) {
  convertView(executor.operands[static_cast<uint32_t>(executor.attributes[0])],
              executor.operands[static_cast<uint32_t>(executor.attributes[1])]);
  return ACL_SUCCESS;
}

}  // namespace

aclnnStatus prepareCopy(aclOpExecutor &executor, Operand &in, Operand &out) {
  Shape shape = shapeOf(out);
  if (!broadcastInto(&shape, in)) return refuse(executor, "{} cannot be broadcast to the shape of {}", in, out);
  SIM_TRY(requireShape(executor, out, shape));
  expandTo(&in, shape);
  in.compute = out.compute = copyCompute(in.type, out.type);
  orderDims(executor, out);
  executor.attributes[0] = &in - executor.operands.begin();
  executor.attributes[1] = &out - executor.operands.begin();
  executor.run = runCopy;
  return ACLNN_SUCCESS;
}

/* Operators on lists of tensors. executor.operands holds list after list. */

namespace {

constexpr uint32_t kMostTensors = 256; /* of one list */

bool alike(const Operand &a, const Operand &b) {
  if (a.rank != b.rank) return false;
  for (int32_t i = 0; i < a.rank; ++i) {
    if (a.dims[i] != b.dims[i]) return false;
  }
  return true;
}

/* attributes: [0] compute type of the results, [1] lists, [2] tensors in each, [3] whether each has its own number */
aclError runForeach(const aclOpExecutor &executor) {
  const uint32_t lists = static_cast<uint32_t>(executor.attributes[1]);
  const uint32_t tensors = static_cast<uint32_t>(executor.attributes[2]);
  const Loop loop = *static_cast<const Loop *>(executor.kernel);
  for (uint32_t i = 0; i < tensors; ++i) {
    const Operand *inputs[4];
    uint32_t count = 0;
    for (uint32_t k = 0; k < lists; ++k) {
      const Operand &operand = executor.operands[k * tensors + i];
      if (operand.role & kIn) inputs[count++] = &operand;
    }
    Operand out = executor.operands[(lists - 1) * tensors + i];
    out.compute = static_cast<uint8_t>(executor.attributes[0]);
    runLoop(inputs, count, out, loop, executor.attributes[3] != 0 ? &executor.scalar_list[i] : executor.scalars);
  }
  return ACL_SUCCESS;
}

}  // namespace

aclnnStatus checkLists(const aclOpExecutor &executor, uint32_t *lists, uint32_t *tensors) {
  *lists = executor.operands.back().ordinal - executor.operands[0].ordinal + 1;
  *tensors = executor.operands.size() / *lists;
  if (*tensors == 0 || *tensors > kMostTensors) {
    return refuse(executor, "the lists hold {} tensors, expected 1 to {}", *tensors, kMostTensors);
  }
  for (uint32_t k = 0; k < executor.operands.size(); ++k) {
    const Operand &operand = executor.operands[k], &first = executor.operands[k % *tensors];
    const char *name = executor.op->parameters[operand.parameter].name;
    if (operand.ordinal - executor.operands[0].ordinal != k / *tensors) {
      return refuse(executor, "{} has another length than {}", name, first);
    }
    if (!alike(operand, first)) return refuse(executor, "tensor {} of {} has another shape", k % *tensors, name);
    if (operand.type != executor.operands[0].type) {
      return refuse(executor, "tensor {} of {} is a {}, the first tensor a {}", k % *tensors, name, operand.type,
                    executor.operands[0].type);
    }
  }
  return ACLNN_SUCCESS;
}

aclnnStatus prepareForeach(aclOpExecutor &executor, const Argument *, const OpBody &body) {
  return prepareForeachLoops(executor, *static_cast<const Loops *>(body.kernel));
}

aclnnStatus prepareForeachOf(aclOpExecutor &executor, const Argument *, const OpBody &body) {
  return prepareForeachLoops(executor, *static_cast<const Loops *>(static_cast<const OpBody *>(body.kernel)->kernel));
}

aclnnStatus prepareForeachByTensor(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  auto &operands = executor.operands;
  const uint32_t tensors = operands.size() / 2; /* the operands are: inputs, the scalar tensor, outputs */
  if (operands.size() % 2 == 0 || tensors == 0 || operands[tensors].element != -1) {
    return refuse(executor, "the lists have different lengths, or are empty");
  }
  const Operand number = operands[tensors];
  if (number.count != 1) return refuse(executor, "{} has {} elements, expected 1", number, number.count);
  /* Replace the scalar tensor by a list of views of it, expanded to the shapes of the inputs. */
  SmallArray<Operand, 6> results;
  for (uint32_t i = 0; i < tensors; ++i) results.push() = operands[tensors + 1 + i];
  while (operands.size() > tensors) operands.pop();
  for (uint32_t i = 0; i < tensors; ++i) {
    Operand repeated = operands[i];
    repeated.tensor = number.tensor;
    repeated.base = number.base;
    repeated.given = number.given;
    repeated.address = number.address;
    repeated.bytes = number.bytes;
    repeated.type = number.type;
    repeated.role = number.role;
    repeated.parameter = number.parameter;
    repeated.ordinal = number.ordinal;
    repeated.element = i;
    repeated.item = number.item;
    std::fill_n(repeated.strides, kMaxRank, 0);
    operands.push() = repeated;
  }
  for (const Operand &result : results) operands.push() = result;
  return prepareForeach(executor, arguments, body);
}

aclnnStatus prepareForeachLoops(aclOpExecutor &executor, const Loops &loops) {
  uint32_t lists, tensors;
  if (executor.operands.size() == 0) return refuse(executor, "the lists are empty");
  SIM_TRY(checkLists(executor, &lists, &tensors));
  const aclDataType type = executor.operands[0].type;
  const uint8_t compute = computeOf(type);
  if (compute >= kRaw || loops.loop[compute] == nullptr) return refuseType(executor, type);
  const uint32_t scalars = executor.scalar_list.size();
  if (scalars != 0 && scalars != tensors) {
    return refuse(executor, "there are {} scalars for {} tensors", scalars, tensors);
  }
  for (Operand &operand : executor.operands) operand.compute = compute;
  executor.attributes[0] = loops.result[compute];
  executor.attributes[1] = lists;
  executor.attributes[2] = tensors;
  executor.attributes[3] = scalars;
  executor.kernel = &loops.loop[compute];
  executor.run = runForeach;
  return ACLNN_SUCCESS;
}

}  // namespace sim
