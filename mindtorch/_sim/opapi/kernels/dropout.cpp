/* Dropout in two calls: a mask of one bit an element, lowest bit first, and what is done with it. */
#include <algorithm>

#include "opapi/loops.h"
#include "opapi/random.h"

namespace sim {
namespace {

constexpr int64_t kMaskBits = 128; /* the mask has a multiple of as many */

int64_t maskBytes(int64_t elements) { return (elements + kMaskBits - 1) / kMaskBits * (kMaskBits / 8); }

/* out: a bit is 1 with the probability 1 - prob. */
aclError runGenerate(const aclOpExecutor &executor) {
  const Philox philox = philoxOf(executor);
  const double drop = executor.numbers[0].real;
  Operand out = firstOut(executor);
  out.compute = kI64;
  Cursor target(out);
  for (int64_t byte = 0; byte < out.count; ++byte) {
    uint32_t words[8];
    int64_t bits = 0;
    philox.blocks<2>(2 * static_cast<uint64_t>(byte), words);
    for (int bit = 0; bit < 8; ++bit) bits |= static_cast<int64_t>(words[bit] * 0x1p-32 >= drop) << bit;
    target.write(&bits, 1);
  }
  return ACL_SUCCESS;
}

aclnnStatus checkProbability(const aclOpExecutor &executor, double drop) {
  if (drop >= 0.0 && drop <= 1.0) return ACLNN_SUCCESS;
  return refuse(executor, "prob is {}, expected a value from 0 to 1", drop);
}

/* shape, prob, seed, offset, probDataType, out */
aclnnStatus prepareGenerate(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const aclIntArray *shape = static_cast<const aclIntArray *>(arguments[0].pointer);
  int64_t elements = 1;
  for (uint64_t i = 0; i < shape->size; ++i) {
    if (shape->items[i] < 0) return refuse(executor, "a dimension below 0 in shape");
    elements *= shape->items[i];
  }
  Shape bytes = {1, {maskBytes(elements)}};
  SIM_TRY(checkProbability(executor, arguments[1].real));
  SIM_TRY(requireShape(executor, firstOut(executor), bytes));
  SIM_TRY(takeSeed(executor, arguments, 2, body.variant));
  executor.numbers[0] = {true, ACL_DOUBLE, 0, arguments[1].real, 0.0};
  executor.run = runGenerate;
  return ACLNN_SUCCESS;
}

/* self, mask, out: what stays is divided by the probability to stay. */
aclError runApply(const aclOpExecutor &executor) {
  Operand self = executor.operands[0], mask = executor.operands[1], out = executor.operands[2];
  self.compute = out.compute = kF64;
  mask.compute = kI64;
  const double keep = 1.0 - executor.numbers[0].real;
  Cursor values(self), bytes(mask), target(out);
  double block[8];
  for (int64_t first = 0; first < self.count; first += 8) {
    const int64_t count = std::min<int64_t>(8, self.count - first);
    int64_t room;
    const int64_t bits = *static_cast<const int64_t *>(bytes.read(&room, 1));
    const double *x = static_cast<const double *>(values.read(block, count));
    double kept[8];
    for (int64_t i = 0; i < count; ++i) kept[i] = (bits >> i & 1) != 0 ? x[i] / keep : 0.0;
    target.write(kept, count);
  }
  return ACL_SUCCESS;
}

/* self, mask, prob, out */
aclnnStatus prepareApply(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &self = executor.operands[0], &mask = executor.operands[1], &out = executor.operands[2];
  SIM_TRY(checkProbability(executor, arguments[2].real));
  SIM_TRY(requireShape(executor, out, shapeOf(self)));
  SIM_TRY(requireCast(executor, self.type, out));
  if (mask.count < maskBytes(self.count)) {
    SIM_TRY(refuse(executor, "mask has {} bytes, expected {}", mask.count, maskBytes(self.count)));
  }
  executor.numbers[0] = {true, ACL_DOUBLE, 0, arguments[2].real, 0.0};
  executor.run = runApply;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnDropoutGenMaskV2, prepareGenerate, nullptr, kNumbers)
SIM_OP(aclnnDropoutGenMaskV2Tensor, prepareGenerate, nullptr, kTensors)
SIM_OP(aclnnDropoutDoMask, prepareApply, nullptr, 0)

}  // namespace sim
