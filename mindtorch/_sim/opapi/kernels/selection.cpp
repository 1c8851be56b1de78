/* Outputs that are as long as the values decide: masked_select, nonzero, bincount. */
#include "opapi/lines.h"

namespace sim {
namespace {

/* --- aclnnMaskedSelect, aclnnInplaceMaskedScatter ------------------------------------------------------------------*/

/* self, mask, out: bits are moved as they are. */
aclError runMaskedSelect(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &out = executor.operands[2];
  Cursor values(self), mask(executor.operands[1]), target(out);
  alignas(64) char buffer[kBlockBytes];
  Truth truths[kBlock];
  int64_t found = 0;
  const int64_t total = executor.operands[1].count;
  for (int64_t first = 0, count; first < total; first += count) {
    count = std::min(kBlock, total - first);
    const Truth *wanted = static_cast<const Truth *>(mask.read(truths, count));
    int64_t kept = 0;
    for (int64_t i = 0; i < count; ++i, values.skip(1)) {
      if (wanted[i] == 0) continue;
      std::memcpy(buffer + kept++ * self.item, values.position(), static_cast<size_t>(self.item));
    }
    if (found + kept > out.count) return ACL_ERROR_RT_AICORE_EXCEPTION;
    if (kept > 0) target.write(buffer, kept);
    found += kept;
  }
  reportShape(executor, 0, vectorShape(found));
  return ACL_SUCCESS;
}

int64_t elementsOf(const Shape &shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; ++i) count *= shape.dims[i];
  return count;
}

void spread(Operand *operand, const Shape &shape) {
  expandTo(operand, shape);
  operand->count = elementsOf(shape);
}

aclnnStatus prepareMaskedSelect(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Operand &self = executor.operands[0], &mask = executor.operands[1];
  const Operand &out = executor.operands[2];
  Shape shape = shapeOf(self);
  if (!broadcastInto(&shape, mask)) return refuse(executor, "the shape of mask cannot be broadcast with that of self");
  if (out.type != self.type) {
    return refuse(executor, "out has data type {}, expected {}", out.type, self.type);
  }
  SIM_TRY(requireShape(executor, out, vectorShape(elementsOf(shape)))); /* room for all there may be */
  spread(&self, shape);
  spread(&mask, shape);
  mask.compute = kTruth;
  expectShape(executor, out, 0);
  executor.run = runMaskedSelect;
  return ACLNN_SUCCESS;
}

/* selfRef, mask, source: as many elements of source as the mask holds, one after the other. */
aclError runMaskedScatter(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &source = executor.operands[2];
  Cursor places(self), mask(executor.operands[1]), values(source);
  Truth truths[kBlock];
  int64_t taken = 0;
  for (int64_t first = 0, count; first < self.count; first += count) {
    count = std::min(kBlock, self.count - first);
    const Truth *wanted = static_cast<const Truth *>(mask.read(truths, count));
    for (int64_t i = 0; i < count; ++i, places.skip(1)) {
      if (wanted[i] == 0) continue;
      if (taken++ == source.count) return ACL_ERROR_RT_AICORE_EXCEPTION;
      std::memcpy(places.position(), values.position(), static_cast<size_t>(self.item));
      values.skip(1);
    }
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareMaskedScatter(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const Operand &self = executor.operands[0], &source = executor.operands[2];
  Operand &mask = executor.operands[1];
  Shape shape = shapeOf(self);
  if (!broadcastInto(&shape, mask) || elementsOf(shape) != self.count || shape.rank != self.rank) {
    return refuse(executor, "the shape of mask cannot be broadcast to that of selfRef");
  }
  if (source.type != self.type) {
    return refuse(executor, "source has data type {}, expected {}", source.type, self.type);
  }
  spread(&mask, shape);
  mask.compute = kTruth;
  executor.run = runMaskedScatter;
  return ACLNN_SUCCESS;
}

/* --- aclnnNonzero, aclnnNonzeroV2 ----------------------------------------------------------------------------------*/

int64_t countTruths(const Operand &self) {
  Cursor values(self);
  Truth buffer[kBlock];
  int64_t found = 0;
  for (int64_t first = 0, length; first < self.count; first += length) {
    length = std::min(kBlock, self.count - first);
    const Truth *truth = static_cast<const Truth *>(values.read(buffer, length));
    for (int64_t i = 0; i < length; ++i) found += truth[i] != 0;
  }
  return found;
}

/* The positions of all elements that are not 0, a row each (V2: a column each), as a dense tensor of the shape found;
 * what is left of out stays as it is. */
aclError runNonzero(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &out = executor.operands[1];
  Cursor values(self);
  Truth buffer[kBlock];
  const int32_t along = executor.attributes[0] != 0 ? 1 : 0;
  Shape shape = shapeOf(out);
  shape.dims[along] = countTruths(self);
  if (shape.dims[along] * self.rank > out.count) return ACL_ERROR_RT_AICORE_EXCEPTION;
  const int64_t step = along == 1 ? 1 : self.rank, across = along == 1 ? shape.dims[1] : 1;
  int64_t position[kMaxRank] = {}, *to = reinterpret_cast<int64_t *>(out.host);
  for (int64_t first = 0, length; first < self.count; first += length) {
    length = std::min(kBlock, self.count - first);
    const Truth *truth = static_cast<const Truth *>(values.read(buffer, length));
    for (int64_t i = 0; i < length; ++i) {
      if (truth[i] != 0) {
        for (int32_t dim = 0; dim < self.rank; ++dim) to[dim * across] = position[dim];
        to += step;
      }
      for (int32_t dim = self.rank; dim-- > 0 && ++position[dim] == self.dims[dim];) position[dim] = 0;
    }
  }
  reportShape(executor, 0, shape);
  return ACL_SUCCESS;
}

aclnnStatus prepareNonzero(aclOpExecutor &executor, const Argument *, const OpBody &body) {
  Operand &self = executor.operands[0];
  const Operand &out = executor.operands[1];
  const int32_t along = body.variant != 0 ? 1 : 0;
  if (out.rank != 2 || out.dims[1 - along] != self.rank || out.dims[along] > self.count) {
    return refuse(executor, "out does not have {} positions of {} dimensions, which is all there may be", self.count,
                  self.rank);
  }
  self.compute = kTruth;
  expectShape(executor, out, 0);
  executor.attributes[0] = body.variant;
  executor.run = runNonzero;
  return ACLNN_SUCCESS;
}

/* --- aclnnBincount -------------------------------------------------------------------------------------------------*/

/* self, weights, minlength, out: a value beyond out is a fault. */
aclError runBincount(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &weights = executor.operands[1];
  Operand out = executor.operands[2];
  double *sums = reinterpret_cast<double *>(executor.workspace);
  std::fill_n(sums, out.count, 0.0);
  Cursor values(self), amounts(weights);
  for (int64_t i = 0; i < self.count; ++i) {
    int64_t room;
    double amount = 1.0;
    const int64_t value = *static_cast<const int64_t *>(values.read(&room, 1));
    if (executor.attributes[0] != 0) amount = *static_cast<const double *>(amounts.read(&amount, 1));
    if (value < 0 || value >= out.count) return ACL_ERROR_RT_AICORE_EXCEPTION;
    sums[value] += amount;
  }
  out.compute = kF64;
  Cursor target(out);
  for (int64_t i = 0; i < out.count; ++i) target.write(&sums[i], 1);
  return ACL_SUCCESS;
}

aclnnStatus prepareBincount(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Operand &self = executor.operands[0], &weights = executor.operands[1];
  const Operand &out = executor.operands[2];
  if (self.rank > 1 || out.rank != 1) return refuse(executor, "self or out is no line");
  if (out.count < arguments[2].integer) return refuse(executor, "out is shorter than minlength");
  if (weights.tensor != nullptr && weights.count != self.count) {
    return refuse(executor, "weights has {} elements, expected {}", weights.count, self.count);
  }
  executor.attributes[0] = weights.tensor != nullptr;
  if (weights.tensor == nullptr) weights = self; /* never read */
  self.compute = kI64;
  weights.compute = kF64;
  executor.run = runBincount;
  executor.workspace_size = roundUp(static_cast<uint64_t>(out.count) * sizeof(double));
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnMaskedSelect, prepareMaskedSelect, nullptr, 0)
SIM_OP(aclnnInplaceMaskedScatter, prepareMaskedScatter, nullptr, 0)
SIM_OP(aclnnNonzero, prepareNonzero, nullptr, 0)
SIM_OP(aclnnNonzeroV2, prepareNonzero, nullptr, 1)
SIM_OP(aclnnBincount, prepareBincount, nullptr, 0)

}  // namespace sim
