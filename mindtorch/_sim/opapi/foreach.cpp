/* The operators on lists of tensors: operand i of each list goes together, list after list in executor.operands. */
#include <algorithm>

#include "opapi/loops.h"

namespace sim {
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
    runLoop(inputs, count, out, loop, executor.attributes[3] != 0 ? &executor.listed_numbers[i] : executor.numbers);
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
  const uint32_t tensors = operands.size() / 2; /* before the number in the operands, and behind it */
  if (operands.size() % 2 == 0 || tensors == 0 || operands[tensors].element != -1) {
    return refuse(executor, "the lists have different lengths, or are empty");
  }
  const Operand number = operands[tensors];
  if (number.count != 1) {
    return refuse(executor, "{} has {} elements, expected 1", number, number.count);
  }
  /* The number becomes a list as long as the others, of the shapes that it meets there. */
  SmallArray<Operand, 6> results;
  for (uint32_t i = 0; i < tensors; ++i) results.push() = operands[tensors + 1 + i];
  while (operands.size() > tensors) operands.pop();
  for (uint32_t i = 0; i < tensors; ++i) {
    Operand repeated = operands[i];
    repeated.tensor = number.tensor;
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
  const uint32_t numbers = executor.listed_numbers.size();
  if (numbers != 0 && numbers != tensors) {
    return refuse(executor, "there are {} scalars for {} tensors", numbers, tensors);
  }
  for (Operand &operand : executor.operands) operand.compute = compute;
  executor.attributes[0] = loops.result[compute];
  executor.attributes[1] = lists;
  executor.attributes[2] = tensors;
  executor.attributes[3] = numbers;
  executor.kernel = &loops.loop[compute];
  executor.run = runForeach;
  return ACLNN_SUCCESS;
}

}  // namespace sim
