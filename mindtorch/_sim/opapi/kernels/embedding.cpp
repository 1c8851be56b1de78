/* Rows of a table by their numbers, and the gradient of the table. */
#include "opapi/lines.h"
#include "opapi/loops.h"

namespace sim {
namespace {

/* The numbers of rows, one after the other. */
class RowNumbers {
 public:
  RowNumbers(Operand indices, int64_t rows) : rows_(rows), cursor_(as64(indices)) {}

  /* False: there is no such row, which faults on the device. */
  bool next(int64_t *row) {
    int64_t buffer;
    *row = *static_cast<const int64_t *>(cursor_.read(&buffer, 1));
    return *row >= 0 && *row < rows_;
  }

 private:
  static Operand &as64(Operand &indices) {
    indices.compute = kI64;
    return indices;
  }

  int64_t rows_;
  Cursor cursor_;
};

/* weight, indices, out */
aclError runEmbedding(const aclOpExecutor &executor) {
  const Operand &weight = executor.operands[0], &indices = executor.operands[1], &out = executor.operands[2];
  if (out.count == 0) return ACL_SUCCESS;
  const uint8_t compute = computeOf(weight.type);
  const LoadRow load = loadRow(weight.type, compute);
  RowNumbers numbers(indices, weight.dims[0]);
  LineCursor target(out, out.rank - 1, compute);
  for (int64_t i = 0, row; i < indices.count; ++i, target.next()) {
    if (!numbers.next(&row)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    load(weight.host + row * weight.strides[0] * weight.item, weight.strides[1] * weight.item, executor.workspace,
         weight.dims[1]);
    target.write(executor.workspace);
  }
  return ACL_SUCCESS;
}

/* How often each row is asked for. */
bool countRows(const Operand &indices, int64_t *counts, int64_t rows) {
  std::fill(counts, counts + rows, 0);
  RowNumbers numbers(indices, rows);
  for (int64_t i = 0, row; i < indices.count; ++i) {
    if (!numbers.next(&row)) return false;
    ++counts[row];
  }
  return true;
}

enum Attribute { kPadding, kByFrequency };

/* grad, indices, out: sums in double, rounded once a row. */
aclError runEmbeddingBackward(const aclOpExecutor &executor) {
  const Operand &grad = executor.operands[0], &indices = executor.operands[1], &out = executor.operands[2];
  const int64_t rows = out.dims[0], width = out.dims[1];
  if (out.count == 0) return ACL_SUCCESS;
  int64_t *counts = reinterpret_cast<int64_t *>(executor.workspace);
  double *sums = reinterpret_cast<double *>(counts + rows), *line = sums + rows * width;
  if (!countRows(indices, counts, rows)) return ACL_ERROR_RT_AICORE_EXCEPTION;
  std::fill(sums, sums + rows * width, 0.0);
  RowNumbers numbers(indices, rows);
  LineCursor source(grad, grad.rank - 1, kF64);
  for (int64_t i = 0, row; i < indices.count; ++i, source.next()) {
    numbers.next(&row);
    if (row == executor.attributes[kPadding]) continue;
    const double scale = executor.attributes[kByFrequency] != 0 ? 1.0 / static_cast<double>(counts[row]) : 1.0;
    source.read(line);
    for (int64_t k = 0; k < width; ++k) sums[row * width + k] += line[k] * scale;
  }
  LineCursor target(out, 1, kF64);
  for (int64_t row = 0; row < rows; ++row, target.next()) target.write(sums + row * width);
  return ACL_SUCCESS;
}

/* selfRef, indices, maxNorm, normType: rows that are longer are shortened, each once. */
double lengthOf(const double *line, int64_t count, double p) {
  double total = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double size = std::fabs(line[i]);
    total = std::isinf(p) ? larger(total, size) : total + (p == 0 ? size != 0 : std::pow(size, p));
  }
  return std::isinf(p) || p == 0 ? total : std::pow(total, 1 / p);
}

aclError runEmbeddingRenorm(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &indices = executor.operands[1];
  const int64_t rows = self.dims[0], width = self.dims[1];
  const double most = executor.numbers[0].real, p = executor.numbers[1].real;
  double *line = reinterpret_cast<double *>(executor.workspace);
  int64_t *counts = reinterpret_cast<int64_t *>(line + width);
  if (!countRows(indices, counts, rows)) return ACL_ERROR_RT_AICORE_EXCEPTION;
  LineCursor place(self, 1, kF64);
  for (int64_t row = 0; row < rows; ++row, place.next()) {
    if (counts[row] == 0) continue;
    place.read(line);
    const double length = lengthOf(line, width, p);
    if (!(length > most)) continue;
    for (int64_t i = 0; i < width; ++i) line[i] *= most / (length + 1e-7);
    place.write(line);
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareEmbeddingRenorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &self = executor.operands[0];
  const double p = arguments[3].real;
  if (std::isnan(p) || (std::isinf(p) && p < 0)) return refuse(executor, "normType is {}", p);
  executor.numbers[0] = {true, self.type, 0, arguments[2].real, 0};
  executor.numbers[1] = {true, self.type, 0, p, 0};
  executor.workspace_size = roundUp(static_cast<uint64_t>(self.dims[0] + self.dims[1]) * 8);
  executor.run = runEmbeddingRenorm;
  return ACLNN_SUCCESS;
}

/* The shape of the indices, with the table's width behind it. */
aclnnStatus requireRows(const aclOpExecutor &executor, const Operand &table, const Operand &indices,
                        const Operand &rows) {
  if (table.rank != 2) return refuse(executor, "the table has {} dimensions, expected 2", table.rank);
  if (categoryOf(indices.type) != kInteger) return refuseType(executor, indices.type);
  Shape shape = shapeOf(indices);
  if (shape.rank == kMaxRank) return refuse(executor, "indices has {} dimensions, too many", shape.rank);
  shape.dims[shape.rank++] = table.dims[1];
  return requireShape(executor, rows, shape);
}

aclnnStatus prepareEmbedding(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const Operand &weight = executor.operands[0], &out = executor.operands[2];
  if (out.type != weight.type) return refuse(executor, "out has data type {}", out.type);
  SIM_TRY(requireRows(executor, weight, executor.operands[1], out));
  executor.workspace_size = roundUp(static_cast<uint64_t>(weight.dims[1]) * sizeof(Complex));
  executor.run = runEmbedding;
  return ACLNN_SUCCESS;
}

/* grad, indices, numWeights, paddingIdx, scaleGradByFreq, out */
aclnnStatus prepareEmbeddingBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &grad = executor.operands[0], &out = executor.operands[2];
  if (categoryOf(grad.type) != kFloating) return refuseType(executor, grad.type);
  SIM_TRY(requireRows(executor, out, executor.operands[1], grad));
  if (out.dims[0] != arguments[2].integer) {
    return refuse(executor, "out has {} rows, numWeights is {}", out.dims[0], arguments[2].integer);
  }
  executor.attributes[kPadding] = arguments[3].integer;
  executor.attributes[kByFrequency] = arguments[4].integer;
  executor.workspace_size = roundUp(static_cast<uint64_t>(out.dims[0] + (out.dims[0] + 1) * out.dims[1]) * 8);
  executor.run = runEmbeddingBackward;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnEmbedding, prepareEmbedding, nullptr, 0)
SIM_OP(aclnnEmbeddingDenseBackward, prepareEmbeddingBackward, nullptr, 0)
SIM_OP(aclnnEmbeddingRenorm, prepareEmbeddingRenorm, nullptr, 0)

}  // namespace sim
