/* One step of an optimizer, written to the parameters and to their state. */
#include <algorithm>
#include <cmath>
#include <cstring>

#include "opapi/loops.h"

namespace sim {
namespace {

constexpr uint32_t kMostStates = 5;

/* Reads blocks of several tensors of the same shape in double, updates them and writes them back. */
class StateBlocks {
 public:
  StateBlocks(const Operand *const *operands, uint32_t count) : count_(count), total_(operands[0]->count) {
    for (uint32_t k = 0; k < count; ++k) {
      Operand operand = *operands[k];
      operand.compute = kF64;
      written_[k] = (operand.role & kOut) != 0;
      readers_[k] = new (room_[k][0]) Cursor(operand);
      writers_[k] = new (room_[k][1]) Cursor(operand);
    }
  }

  template <class Update>
  void update(Update update) {
    for (int64_t first = 0; first < total_; first += kBlock) {
      const int64_t count = std::min(kBlock, total_ - first);
      double *values[kMostStates];
      for (uint32_t k = 0; k < count_; ++k) {
        values[k] = blocks_[k];
        const double *read = static_cast<const double *>(readers_[k]->read(blocks_[k], count));
        if (read != blocks_[k]) std::copy(read, read + count, blocks_[k]);
      }
      for (int64_t i = 0; i < count; ++i) update(values, i);
      for (uint32_t k = 0; k < count_; ++k) {
        if (written_[k]) writers_[k]->write(blocks_[k], count);
      }
    }
  }

 private:
  uint32_t count_;
  int64_t total_;
  bool written_[kMostStates];
  Cursor *readers_[kMostStates];
  Cursor *writers_[kMostStates];
  alignas(Cursor) char room_[kMostStates][2][sizeof(Cursor)];
  double blocks_[kMostStates][kBlock];
};

/* An attribute of type double, kept between the phases. */
void setReal(aclOpExecutor &executor, int index, double value) {
  std::memcpy(&executor.attributes[index], &value, sizeof value);
}

double realOf(const aclOpExecutor &executor, int index) {
  double value;
  std::memcpy(&value, &executor.attributes[index], sizeof value);
  return value;
}

aclnnStatus checkShapes(const aclOpExecutor &executor, const Operand *const *operands, uint32_t count) {
  for (uint32_t k = 1; k < count; ++k) SIM_TRY(requireShape(executor, *operands[k], shapeOf(*operands[0])));
  return ACLNN_SUCCESS;
}

/* --- aclnnApplyAdamWV2 ---------------------------------------------------------------------------------------------*/

/* The operands: var, m, v, (the largest v,) grad, and step at last. */
uint32_t adamOperands(const aclOpExecutor &executor, const Operand **operands) {
  uint32_t count = 0;
  for (const Operand &operand : executor.operands) {
    if (&operand != &executor.operands.back() && operand.tensor != nullptr) operands[count++] = &operand;
  }
  return count;
}

/* The step counts the updates before this one. attributes: lr, beta1, beta2, weightDecay, eps, maximize */
aclError runAdam(const aclOpExecutor &executor) {
  const Operand *operands[kMostStates] = {};
  const uint32_t count = adamOperands(executor, operands);
  Operand counter = executor.operands.back();
  counter.compute = kF64;
  double room[kBlock];
  const double step = *static_cast<const double *>(Cursor(counter).read(room, 1)) + 1;
  const double lr = realOf(executor, 0), beta1 = realOf(executor, 1), beta2 = realOf(executor, 2);
  const double decay = 1 - lr * realOf(executor, 3), eps = realOf(executor, 4), sign = executor.attributes[5] ? -1 : 1;
  const double first_correction = 1 - std::pow(beta1, step), second_correction = 1 - std::pow(beta2, step);
  StateBlocks(operands, count).update([=](double **x, int64_t i) {
    const double grad = sign * x[count - 1][i];
    double &m = x[1][i], &v = x[2][i];
    m = beta1 * m + (1 - beta1) * grad;
    v = beta2 * v + (1 - beta2) * grad * grad;
    double variance = v;
    if (count == 5) variance = x[3][i] = larger(x[3][i], v);
    x[0][i] = x[0][i] * decay - lr * (m / first_correction) / (std::sqrt(variance / second_correction) + eps);
  });
  return ACL_SUCCESS;
}

/* varRef, mRef, vRef, maxGradNormOptionalRef, grad, step, lr, beta1, beta2, weightDecay, eps, amsgrad, maximize */
aclnnStatus prepareAdam(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand *operands[kMostStates] = {};
  const uint32_t count = adamOperands(executor, operands);
  if ((count == 5) != (arguments[11].integer != 0)) {
    return refuse(executor, "maxGradNormOptionalRef goes with amsgrad, which is {}",
                  arguments[11].integer != 0 ? "true" : "false");
  }
  if (executor.operands.back().count != 1) return refuse(executor, "step does not have one element");
  SIM_TRY(checkShapes(executor, operands, count));
  for (int i = 0; i < 5; ++i) setReal(executor, i, arguments[6 + i].real);
  executor.attributes[5] = arguments[12].integer;
  executor.run = runAdam;
  return ACLNN_SUCCESS;
}

/* --- aclnnFusedSgd -------------------------------------------------------------------------------------------------*/

/* attributes: weightDecay, momentum, lr, dampening, nesterov, maximize, isFirstStep, lists, tensors */
aclError runSgd(const aclOpExecutor &executor) {
  const uint32_t lists = static_cast<uint32_t>(executor.attributes[7]);
  const uint32_t tensors = static_cast<uint32_t>(executor.attributes[8]);
  const double decay = realOf(executor, 0), momentum = realOf(executor, 1), lr = realOf(executor, 2);
  const double dampening = realOf(executor, 3), sign = executor.attributes[5] ? -1 : 1;
  const bool nesterov = executor.attributes[4] != 0, first = executor.attributes[6] != 0;
  for (uint32_t i = 0; i < tensors; ++i) {
    const Operand *operands[3] = {};
    for (uint32_t k = 0; k < lists; ++k) operands[k] = &executor.operands[k * tensors + i];
    StateBlocks(operands, lists).update([=](double **x, int64_t at) {
      double grad = sign * x[1][at] + decay * x[0][at];
      if (lists == 3) {
        double &buffer = x[2][at];
        buffer = first ? grad : momentum * buffer + (1 - dampening) * grad;
        grad = nesterov ? grad + momentum * buffer : buffer;
      }
      x[0][at] -= lr * grad;
    });
  }
  return ACL_SUCCESS;
}

/* paramsRef, gradsRef, momentumBufferListOptionalRef, gradScaleOptional, weightDecay, momentum, lr, dampening,
 * nesterov, maximize, isFirstStep */
aclnnStatus prepareSgd(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  if (arguments[3].pointer != nullptr) return refuse(executor, "gradScaleOptional has no kernel in the simulator");
  uint32_t lists, tensors;
  while (executor.operands.back().tensor == nullptr) executor.operands.pop();
  SIM_TRY(checkLists(executor, &lists, &tensors));
  for (int i = 0; i < 4; ++i) setReal(executor, i, arguments[4 + i].real);
  for (int i = 0; i < 3; ++i) executor.attributes[4 + i] = arguments[8 + i].integer;
  executor.attributes[7] = lists;
  executor.attributes[8] = tensors;
  executor.run = runSgd;
  return ACLNN_SUCCESS;
}

/* --- aclnnForeachNonFiniteCheckAndUnscale, aclnnAmpUpdateScale -----------------------------------------------------*/

double readOne(Operand operand) {
  double room[kBlock];
  operand.compute = kF64;
  return *static_cast<const double *>(Cursor(operand).read(room, 1));
}

void writeOne(Operand operand, double value) {
  operand.compute = kF64;
  Cursor(operand).write(&value, 1);
}

aclError runUnscale(const aclOpExecutor &executor) {
  const uint32_t tensors = executor.operands.size() - 2;
  const Operand &found = executor.operands[tensors];
  const double inverse = readOne(executor.operands[tensors + 1]);
  bool finite = true;
  for (uint32_t i = 0; i < tensors; ++i) {
    const Operand *gradient = &executor.operands[i];
    StateBlocks(&gradient, 1).update([&](double **x, int64_t at) {
      finite = finite && std::isfinite(x[0][at]);
      x[0][at] *= inverse;
    });
  }
  if (!finite) writeOne(found, 1);
  return ACL_SUCCESS;
}

/* scaledGrads, foundInf, invScale */
aclnnStatus prepareUnscale(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const uint32_t tensors = executor.operands.size() - 2;
  for (uint32_t k = 0; k < tensors; ++k) {
    if (executor.operands[k].type != executor.operands[0].type) {
      return refuse(executor, "tensor {} of scaledGrads is a {}, the first tensor a {}", k, executor.operands[k].type,
                    executor.operands[0].type);
    }
  }
  if (executor.operands[tensors].count != 1 || executor.operands[tensors + 1].count != 1) {
    return refuse(executor, "foundInf and invScale have one element each");
  }
  executor.run = runUnscale;
  return ACLNN_SUCCESS;
}

/* operands: currentScale, growthTracker, foundInf, updatedScale, updatedGrowthTracker
 * attributes: growthFactor, backoffFactor, growthInterval */
aclError runUpdateScale(const aclOpExecutor &executor) {
  const double scale = readOne(executor.operands[0]);
  double steps = readOne(executor.operands[1]) + 1, updated = scale;
  if (readOne(executor.operands[2]) != 0) {
    updated = scale * realOf(executor, 1);
    steps = 0;
  } else if (steps == static_cast<double>(executor.attributes[2])) {
    const double grown = scale * realOf(executor, 0);
    if (std::isfinite(static_cast<float>(grown))) updated = grown;
    steps = 0;
  }
  writeOne(executor.operands[3], updated);
  writeOne(executor.operands[4], steps);
  return ACL_SUCCESS;
}

aclnnStatus prepareUpdateScale(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  for (const Operand &operand : executor.operands) {
    if (operand.count != 1) return refuse(executor, "the tensors have one element each");
  }
  setReal(executor, 0, arguments[3].real);
  setReal(executor, 1, arguments[4].real);
  executor.attributes[2] = arguments[5].integer;
  executor.run = runUpdateScale;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnApplyAdamWV2, prepareAdam, nullptr, 0)
SIM_OP(aclnnFusedSgd, prepareSgd, nullptr, 0)
SIM_OP(aclnnForeachNonFiniteCheckAndUnscale, prepareUnscale, nullptr, 0)
SIM_OP(aclnnAmpUpdateScale, prepareUpdateScale, nullptr, 0)

}  // namespace sim
