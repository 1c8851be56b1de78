/* LSTM cell from the products of inputs and hidden state, and its gradients. The gates are in the order input,
 * forget, cell, output; the storage holds the activated gates. */
#include <algorithm>

#include "opapi/loops.h"

namespace sim {
namespace {

enum Gate { kInput, kForget, kCell, kOutput };
enum Attribute { kHasBias };

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

Operand inDouble(Operand operand) {
  operand.compute = kF64;
  return operand;
}

/* Reads and writes the rows of a tensor as doubles; an absent tensor gives zeros. */
class Rows {
 public:
  Rows(const Operand &operand, int64_t size, double *row)
      : cursor_(inDouble(operand)), present_(operand.tensor != nullptr), size_(size), row_(row) {
    std::fill_n(row, size, 0.0);
  }
  const double *next() {
    for (int64_t at = 0; present_ && at < size_; at += kBlock) {
      const int64_t count = std::min(kBlock, size_ - at);
      const double *values = static_cast<const double *>(cursor_.read(buffer_, count));
      std::copy_n(values, count, row_ + at);
    }
    return row_;
  }
  void write() {
    for (int64_t at = 0; at < size_; at += kBlock) cursor_.write(row_ + at, std::min(kBlock, size_ - at));
  }
  double *row() { return row_; }

 private:
  alignas(64) double buffer_[kBlock];
  Cursor cursor_;
  const bool present_;
  const int64_t size_;
  double *row_;
};

/* A function that gives an operand the next `count` numbers of the workspace, from `*row` on. */
auto rowsIn(const aclOpExecutor &executor, double **row) {
  return [&executor, row](uint32_t index, int64_t count) {
    double *taken = *row;
    *row += count;
    return Rows(executor.operands[index], count, taken);
  };
}

/* inputGates, hiddenGates, cx, inputBias, hiddenBias, hy, cy, storage */
aclError runCell(const aclOpExecutor &executor) {
  const auto &operands = executor.operands;
  const int64_t batch = operands[2].dims[0], size = operands[2].dims[1];
  double *row = reinterpret_cast<double *>(executor.workspace);
  const auto take = rowsIn(executor, &row);
  Rows input = take(0, 4 * size), hidden = take(1, 4 * size), cx = take(2, size);
  Rows input_bias = take(3, 4 * size), hidden_bias = take(4, 4 * size);
  Rows hy = take(5, size), cy = take(6, size), storage = take(7, 4 * size);
  const double *first = input_bias.next(), *second = hidden_bias.next();
  for (int64_t n = 0; n < batch; ++n) {
    const double *x = input.next(), *h = hidden.next(), *c = cx.next();
    double *gates = storage.row();
    for (int64_t k = 0; k < 4 * size; ++k) {
      const double sum = x[k] + h[k] + first[k] + second[k];
      gates[k] = k / size == kCell ? std::tanh(sum) : sigmoid(sum);
    }
    for (int64_t k = 0; k < size; ++k) {
      const double cell = gates[kForget * size + k] * c[k] + gates[kInput * size + k] * gates[kCell * size + k];
      cy.row()[k] = cell;
      hy.row()[k] = gates[kOutput * size + k] * std::tanh(cell);
    }
    hy.write();
    cy.write();
    storage.write();
  }
  return ACL_SUCCESS;
}

/* gradHy, gradC, cx, cy, storage, hasBias, gradGates, gradCx, gradBias */
aclError runCellBackward(const aclOpExecutor &executor) {
  const auto &operands = executor.operands;
  const int64_t batch = operands[2].dims[0], size = operands[2].dims[1];
  double *row = reinterpret_cast<double *>(executor.workspace);
  const auto take = rowsIn(executor, &row);
  Rows grad_hy = take(0, size), grad_cy = take(1, size), cx = take(2, size), cy = take(3, size);
  Rows storage = take(4, 4 * size), grad_gates = take(5, 4 * size), grad_cx = take(6, size);
  double *bias = row;
  std::fill_n(bias, 4 * size, 0.0);
  for (int64_t n = 0; n < batch; ++n) {
    const double *of_hidden = grad_hy.next(), *of_cell = grad_cy.next(), *before = cx.next(), *after = cy.next();
    const double *gates = storage.next();
    double *slopes = grad_gates.row();
    for (int64_t k = 0; k < size; ++k) {
      const double i = gates[kInput * size + k], f = gates[kForget * size + k], g = gates[kCell * size + k],
                   o = gates[kOutput * size + k], squashed = std::tanh(after[k]);
      const double arriving = of_cell[k] + of_hidden[k] * o * (1.0 - squashed * squashed);
      slopes[kInput * size + k] = arriving * g * i * (1.0 - i);
      slopes[kForget * size + k] = arriving * before[k] * f * (1.0 - f);
      slopes[kCell * size + k] = arriving * i * (1.0 - g * g);
      slopes[kOutput * size + k] = of_hidden[k] * squashed * o * (1.0 - o);
      grad_cx.row()[k] = arriving * f;
    }
    for (int64_t k = 0; k < 4 * size; ++k) bias[k] += slopes[k];
    grad_gates.write();
    grad_cx.write();
  }
  if (executor.attributes[kHasBias]) Cursor(inDouble(operands[7])).write(bias, 4 * size);
  return ACL_SUCCESS;
}

/* --- phase 1 ----------------------------------------------------------------------------------------------------- */

/* The cell state is (batch, size). `wide` operands (gates) have four times that size; biases have no batch. */
aclnnStatus checkSizes(aclOpExecutor &executor, const Operand &cell, const bool *wide, int64_t elements) {
  if (cell.rank != 2) return refuse(executor, "the cell state has {} dimensions, expected 2", cell.rank);
  for (uint32_t i = 0; i < executor.operands.size(); ++i) {
    const Operand &operand = executor.operands[i];
    if (operand.tensor == nullptr) continue;
    Shape shape = shapeOf(cell);
    if (wide[i]) shape.dims[1] *= 4;
    if (operand.rank == 1 && wide[i]) {
      shape.rank = 1;
      shape.dims[0] = shape.dims[1];
    }
    SIM_TRY(requireShape(executor, operand, shape));
    if (operand.type != cell.type) return refuse(executor, "types differ: {} and {}", cell.type, operand.type);
  }
  executor.workspace_size = roundUp(static_cast<uint64_t>(elements * cell.dims[1]) * sizeof(double));
  return ACLNN_SUCCESS;
}

aclnnStatus prepareCell(aclOpExecutor &executor, const Argument *, const OpBody &) {
  static constexpr bool kWide[] = {true, true, false, true, true, false, false, true};
  if ((executor.operands[3].tensor == nullptr) != (executor.operands[4].tensor == nullptr)) {
    return refuse(executor, "one bias without the other");
  }
  executor.run = runCell;
  return checkSizes(executor, executor.operands[2], kWide, 23);
}

aclnnStatus prepareCellBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  static constexpr bool kWide[] = {false, false, false, false, true, true, false, true};
  if (executor.operands[0].tensor == nullptr && executor.operands[1].tensor == nullptr) {
    return refuse(executor, "gradHy and gradC are both NULL");
  }
  executor.attributes[kHasBias] = arguments[5].integer != 0;
  if (executor.attributes[kHasBias] && executor.operands[7].tensor == nullptr) {
    return refuse(executor, "gradBiasOut is NULL, but hasBias asks for it");
  }
  executor.run = runCellBackward;
  return checkSizes(executor, executor.operands[2], kWide, 17);
}

}  // namespace

SIM_OP(aclnnThnnFusedLstmCell, prepareCell, nullptr, 0)
SIM_OP(aclnnThnnFusedLstmCellBackward, prepareCellBackward, nullptr, 0)

}  // namespace sim
