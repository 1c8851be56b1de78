/* Batches of matrices: the last two dimensions of an operand, or fewer. */
#ifndef MINDTORCH_SIM_OPAPI_KERNELS_MATRICES_H_
#define MINDTORCH_SIM_OPAPI_KERNELS_MATRICES_H_
#include "opapi/loops.h"

namespace sim {

inline int64_t rowsOf(const Operand &matrix) { return matrix.dims[matrix.rank - 2]; }
inline int64_t columnsOf(const Operand &matrix) { return matrix.dims[matrix.rank - 1]; }
inline int64_t sizeOf(const Operand &matrix) { return rowsOf(matrix) * columnsOf(matrix); }

/* The dimensions before the last `trailing` ones. */
inline Operand batchOf(const Operand &operand, int32_t trailing = 2) {
  Operand batch = operand;
  batch.rank -= trailing;
  return batch;
}

/* What the last `trailing` dimensions hold at `base`: one matrix, vector or element of the batch. */
inline Operand partAt(const Operand &operand, int32_t trailing, char *base, uint8_t compute) {
  Operand part = operand;
  part.rank = trailing;
  part.count = 1;
  for (int32_t i = 0; i < trailing; ++i) {
    part.dims[i] = operand.dims[operand.rank - trailing + i];
    part.strides[i] = operand.strides[operand.rank - trailing + i];
    part.count *= part.dims[i];
  }
  part.compute = compute;
  part.host = base;
  return part;
}

inline int64_t countOf(const Operand &batch) {
  int64_t count = 1;
  for (int32_t i = 0; i < batch.rank; ++i) count *= batch.dims[i];
  return count;
}

/* Puts a dimension of size 1 at `at`. */
inline void insertOne(Operand *operand, int32_t at) {
  for (int32_t i = operand->rank++; i > at; --i) {
    operand->dims[i] = operand->dims[i - 1];
    operand->strides[i] = operand->strides[i - 1];
  }
  operand->dims[at] = 1;
  operand->strides[at] = 0;
}

/* Expands the dimensions before the matrix to those of `batch`. */
inline void expandBatch(Operand *operand, const Shape &batch) {
  Shape shape = batch;
  for (int i = 2; i > 0; --i) shape.dims[shape.rank++] = operand->dims[operand->rank - i];
  expandTo(operand, shape);
}

}  // namespace sim
#endif
