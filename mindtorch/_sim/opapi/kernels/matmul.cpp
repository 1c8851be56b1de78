/* Matrix products. A BLAS does the float32 work; strided and 16-bit matrices are packed into the workspace first. */
#include <algorithm>

#include "opapi/blas.h"
#include "opapi/kernels/matrices.h"
#include "opapi/kernels/reduce.h"
#include "opapi/scan_sort.h"

namespace sim {
namespace {

constexpr int64_t kSumParts = 16; /* partial sums of a loop */
template <class C>
using Accumulated = std::conditional_t<std::is_same<C, float>::value, double, C>;

constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;

enum Attribute { kLeft, kRight, kResult, kBias, kInPlace };

/* What phase 1 has loaded. */
Sgemm sgemmOf(const aclOpExecutor &executor) { return reinterpret_cast<Sgemm>(const_cast<void *>(executor.kernel)); }

/* How the BLAS can read the matrix where it lies. */
bool isRowMajor(const Operand &matrix) {
  int64_t row = matrix.strides[matrix.rank - 2], column = matrix.strides[matrix.rank - 1];
  return matrix.type == ACL_FLOAT && column == 1 && row >= std::max<int64_t>(1, columnsOf(matrix)) && row < INT32_MAX;
}

bool isColumnMajor(const Operand &matrix) {
  int64_t row = matrix.strides[matrix.rank - 2], column = matrix.strides[matrix.rank - 1];
  return matrix.type == ACL_FLOAT && row == 1 && column >= std::max<int64_t>(1, rowsOf(matrix)) && column < INT32_MAX;
}

/* One matrix of a batch at `base`. */
Operand matrixAt(const Operand &operand, char *base) { return partAt(operand, 2, base, kF32); }

struct Factor {
  const float *data;
  int transpose;
  int leading;
};

Factor factorOf(const Operand &matrix, float *workspace) {
  if (isRowMajor(matrix)) {
    return {reinterpret_cast<const float *>(matrix.host), kNoTranspose, static_cast<int>(matrix.strides[0])};
  }
  if (isColumnMajor(matrix)) {
    return {reinterpret_cast<const float *>(matrix.host), kTranspose, static_cast<int>(matrix.strides[1])};
  }
  Operand packed = matrix;
  packed.type = ACL_FLOAT;
  packed.item = sizeof(float);
  packed.host = reinterpret_cast<char *>(workspace);
  packed.strides[0] = columnsOf(matrix);
  packed.strides[1] = 1;
  convertView(matrix, packed);
  return {workspace, kNoTranspose, static_cast<int>(std::max<int64_t>(1, columnsOf(matrix)))};
}

/* out = product + beta * bias. As in torch, beta 0 ignores NaN in the bias. */
void combine(const float *product, const Operand &out, const Operand *bias, float beta) {
  float values[kBlock], buffer[kBlock];
  Cursor target(out), addend(bias != nullptr ? *bias : out);
  for (int64_t first = 0, total = sizeOf(out); first < total; first += kBlock) {
    int64_t count = std::min(kBlock, total - first);
    std::memcpy(values, product + first, static_cast<size_t>(count) * sizeof(float));
    if (bias != nullptr) {
      const float *added = static_cast<const float *>(addend.read(buffer, count));
      for (int64_t i = 0; i < count; ++i) values[i] += beta * added[i];
    }
    target.write(values, count);
  }
}

/* Workspace of a product: copies of factors that the BLAS cannot read in place, and the product if the BLAS cannot
 * write the result in place or if the result overlaps a factor. */
struct BufferSizes {
  int64_t left, right, product; /* floats of each; 0: none is needed */

  int64_t total() const { return left + right + product; }
};

bool disjoint(const Operand &a, const Operand &b) {
  return a.address + static_cast<uint64_t>(a.bytes) <= b.address ||
         b.address + static_cast<uint64_t>(b.bytes) <= a.address;
}

bool isReadable(const Operand &matrix) { return isRowMajor(matrix) || isColumnMajor(matrix); }

BufferSizes bufferSizes(const Operand &left, const Operand &right, const Operand &out, bool in_place) {
  return {isReadable(left) ? 0 : sizeOf(left), isReadable(right) ? 0 : sizeOf(right), in_place ? 0 : sizeOf(out)};
}

void multiplyOne(const Operand &left, const Operand &right, const Operand &out, const Operand *bias, float alpha,
                 float beta, const BufferSizes &sizes, float *workspace, Sgemm sgemm) {
  const int64_t m = rowsOf(left), n = columnsOf(right), k = columnsOf(left);
  const bool in_place = sizes.product == 0;
  float *target = in_place ? reinterpret_cast<float *>(out.host) : workspace + sizes.left + sizes.right;
  const int leading = static_cast<int>(in_place ? out.strides[0] : std::max<int64_t>(1, n));
  const bool added = in_place && bias != nullptr;
  if (added) convertView(*bias, out);
  const float kept = added ? beta : 0.0f; /* factor of what the target already holds */
  if (k == 0) {
    for (int64_t i = 0; i < m; ++i) {
      for (float *value = target + i * leading; value < target + i * leading + n; ++value) {
        *value = added ? kept * *value : 0.0f;
      }
    }
  } else {
    Factor a = factorOf(left, workspace), b = factorOf(right, workspace + sizes.left);
    sgemm(kRowMajor, a.transpose, b.transpose, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), alpha,
          a.data, a.leading, b.data, b.leading, kept, target, leading);
  }
  if (!in_place) combine(target, out, bias, beta);
}

aclError runMatmul(const aclOpExecutor &executor) {
  const Operand &left = executor.operands[static_cast<uint32_t>(executor.attributes[kLeft])];
  const Operand &right = executor.operands[static_cast<uint32_t>(executor.attributes[kRight])];
  const Operand &out = executor.operands[static_cast<uint32_t>(executor.attributes[kResult])];
  const int64_t bias_index = executor.attributes[kBias];
  const Operand *bias = bias_index < 0 ? nullptr : &executor.operands[static_cast<uint32_t>(bias_index)];
  if (out.count == 0) return ACL_SUCCESS;
  float alpha = 1.0f, beta = 0.0f;
  if (executor.scalar_count == 2) {
    beta = static_cast<float>(executor.scalars[0].real);
    alpha = static_cast<float>(executor.scalars[1].real);
  }
  float *workspace = reinterpret_cast<float *>(executor.workspace);
  const BufferSizes sizes = bufferSizes(left, right, out, executor.attributes[kInPlace] != 0);
  const Operand outs = batchOf(out);
  Cursor a(batchOf(left)), b(batchOf(right)), c(outs), d(batchOf(bias != nullptr ? *bias : out));
  for (int64_t count = countOf(outs); count > 0; --count, a.skip(1), b.skip(1), c.skip(1), d.skip(1)) {
    Operand target = matrixAt(out, c.position()), added;
    if (bias != nullptr && beta != 0.0f) added = matrixAt(*bias, d.position());
    multiplyOne(matrixAt(left, a.position()), matrixAt(right, b.position()), target,
                bias != nullptr && beta != 0.0f ? &added : nullptr, alpha, beta, sizes, workspace, sgemmOf(executor));
  }
  return ACL_SUCCESS;
}

aclnnStatus checkProduct(const aclOpExecutor &executor, const Operand &left, const Operand &right, const Operand &out) {
  if (columnsOf(left) != rowsOf(right)) {
    return refuse(executor, "the inner dimensions {} and {} differ", columnsOf(left), rowsOf(right));
  }
  for (int64_t size : {rowsOf(left), columnsOf(left), columnsOf(right)}) {
    if (size > INT32_MAX) return refuse(executor, "a dimension of {} is too large", size);
  }
  return requireCast(executor, promoteTypes(left.type, right.type), out);
}

aclnnStatus plan(aclOpExecutor &executor, uint32_t left, uint32_t right, uint32_t out, int64_t bias) {
  executor.attributes[kLeft] = left;
  executor.attributes[kRight] = right;
  executor.attributes[kResult] = out;
  executor.attributes[kBias] = bias;
  executor.run = runMatmul;
  executor.flops = 2.0 * static_cast<double>(executor.operands[out].count * columnsOf(executor.operands[left]));
  if (executor.operands[out].count == 0) return ACLNN_SUCCESS;
  const Operand &first = executor.operands[left], &second = executor.operands[right], &result = executor.operands[out];
  const bool in_place = isRowMajor(result) && disjoint(result, first) && disjoint(result, second);
  executor.attributes[kInPlace] = in_place;
  const BufferSizes sizes = bufferSizes(first, second, result, in_place);
  executor.workspace_size = roundUp(std::max<uint64_t>(1, static_cast<uint64_t>(sizes.total()) * sizeof(float)));
  const char *reason;
  executor.kernel = reinterpret_cast<const void *>(loadSgemm(&reason));
  if (executor.kernel != nullptr) return ACLNN_SUCCESS;
  return fail(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, "EZ9999", "%s: %s", executor.op->name, reason);
}

/* self, mat2, out of any rank: vectors become matrices, the rest broadcasts. */
aclnnStatus prepareMatmul(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Operand &left = executor.operands[0], &right = executor.operands[1], &out = executor.operands[2];
  if (left.rank == 0 || right.rank == 0) return refuse(executor, "self and mat2 need 1 dimension at least");
  const bool left_vector = left.rank == 1, right_vector = right.rank == 1;
  if (left_vector) insertOne(&left, 0);
  if (right_vector) insertOne(&right, 1);
  Shape batch = shapeOf(left);
  batch.rank -= 2;
  if (!broadcastInto(&batch, batchOf(right))) return refuse(executor, "the batches of self and mat2 do not fit");
  Shape expected = batch;
  if (!left_vector) expected.dims[expected.rank++] = rowsOf(left);
  if (!right_vector) expected.dims[expected.rank++] = columnsOf(right);
  SIM_TRY(checkProduct(executor, left, right, out));
  SIM_TRY(requireShape(executor, out, expected));
  if (right_vector) insertOne(&out, out.rank);
  if (left_vector) insertOne(&out, out.rank - 1);
  expandBatch(&left, batch);
  expandBatch(&right, batch);
  return plan(executor, 0, 1, 2, -1);
}

/* self, two factors, beta, alpha, out: expands self to the product's shape, which has `rank` dimensions. */
aclnnStatus checkAddedProduct(aclOpExecutor &executor, int32_t rank) {
  Operand &bias = executor.operands[0], &left = executor.operands[1], &right = executor.operands[2];
  Operand &out = executor.operands[3];
  SIM_TRY(checkProduct(executor, left, right, out));
  if (left.rank == 3 && left.dims[0] != right.dims[0])
    return refuse(executor, "the batches of batch1 and batch2 differ");
  Shape shape;
  if (rank == 3) shape.dims[shape.rank++] = left.dims[0];
  shape.dims[shape.rank++] = rowsOf(left);
  shape.dims[shape.rank++] = columnsOf(right);
  SIM_TRY(requireShape(executor, out, shape));
  Shape widened = shape;
  if (!broadcastInto(&widened, bias) || widened.rank != shape.rank ||
      !std::equal(shape.dims, shape.dims + shape.rank, widened.dims)) {
    return refuse(executor, "self cannot be broadcast to the product's shape");
  }
  expandTo(&bias, shape);
  return ACLNN_SUCCESS;
}

/* self, mat1, mat2 (or batch1, batch2), beta, alpha, out; the variant is the rank of the product */
aclnnStatus prepareAddedProduct(aclOpExecutor &executor, const Argument *, const OpBody &body) {
  SIM_TRY(checkAddedProduct(executor, static_cast<int32_t>(body.variant)));
  return plan(executor, 1, 2, 3, 0);
}

/* The products of the batch are summed by the BLAS. */
aclError runAddbmm(const aclOpExecutor &executor) {
  const Operand &bias = executor.operands[0], &left = executor.operands[1], &right = executor.operands[2];
  const Operand &out = executor.operands[3];
  if (out.count == 0) return ACL_SUCCESS;
  const float beta = static_cast<float>(executor.scalars[0].real), alpha = static_cast<float>(executor.scalars[1].real);
  const int m = static_cast<int>(rowsOf(left)), n = static_cast<int>(columnsOf(right));
  const int k = static_cast<int>(columnsOf(left));
  float *workspace = reinterpret_cast<float *>(executor.workspace);
  float *product = workspace + sizeOf(left) + sizeOf(right);
  std::fill_n(product, sizeOf(out), 0.0f);
  Cursor a(batchOf(left)), b(batchOf(right));
  for (int64_t count = k == 0 ? 0 : left.dims[0]; count > 0; --count, a.skip(1), b.skip(1)) {
    Factor x = factorOf(matrixAt(left, a.position()), workspace);
    Factor y = factorOf(matrixAt(right, b.position()), workspace + sizeOf(left));
    sgemmOf(executor)(kRowMajor, x.transpose, y.transpose, m, n, k, alpha, x.data, x.leading, y.data, y.leading, 1.0f,
                      product, n);
  }
  const Operand added = matrixAt(bias, bias.host);
  combine(product, matrixAt(out, out.host), beta != 0.0f ? &added : nullptr, beta);
  return ACL_SUCCESS;
}

aclnnStatus prepareAddbmm(aclOpExecutor &executor, const Argument *, const OpBody &) {
  SIM_TRY(checkAddedProduct(executor, 2));
  SIM_TRY(plan(executor, 1, 2, 3, 0));
  executor.run = runAddbmm;
  if (executor.workspace_size > 0) { /* a copy of each matrix */
    const int64_t floats = sizeOf(executor.operands[1]) + sizeOf(executor.operands[2]) + sizeOf(executor.operands[3]);
    executor.workspace_size = roundUp(static_cast<uint64_t>(floats) * sizeof(float));
  }
  return ACLNN_SUCCESS;
}

/* Sums of floats accumulate in double, in partial sums that the processor can overlap. */
template <class C>
SIM_CLONES void addProducts(const C *a, const C *b, int64_t count, Accumulated<C> *sum) {
  Accumulated<C> parts[kSumParts] = {};
  int64_t i = 0;
  for (; i + kSumParts <= count; i += kSumParts) {
    for (int64_t k = 0; k < kSumParts; ++k) {
      parts[k] = add(parts[k], multiply(Accumulated<C>(a[i + k]), Accumulated<C>(b[i + k])));
    }
  }
  for (; i < count; ++i) *sum = add(*sum, multiply(Accumulated<C>(a[i]), Accumulated<C>(b[i])));
  for (const Accumulated<C> &part : parts) *sum = add(*sum, part);
}

template <class C>
void sumProducts(const Operand &x, const Operand &y, Operand out) {
  alignas(64) char buffers[2][kBlockBytes];
  Cursor left(x), right(y);
  Accumulated<C> sum(0);
  for (int64_t first = 0; first < x.count; first += kBlock) {
    int64_t count = std::min(kBlock, x.count - first);
    const C *a = static_cast<const C *>(left.read(buffers[0], count));
    const C *b = static_cast<const C *>(right.read(buffers[1], count));
    addProducts(a, b, count, &sum);
  }
  out.compute = computeOfType<Accumulated<C>>();
  Cursor(out).write(&sum, 1);
}

aclError runDot(const aclOpExecutor &executor) {
  const Operand &x = executor.operands[0], &y = executor.operands[1], &out = executor.operands[2];
  if (x.compute == kI64) {
    sumProducts<int64_t>(x, y, out);
  } else if (x.compute == kF32) {
    sumProducts<float>(x, y, out);
  } else {
    sumProducts<double>(x, y, out);
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareDot(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Operand &x = executor.operands[0], &y = executor.operands[1];
  SIM_TRY(requireShape(executor, y, shapeOf(x)));
  SIM_TRY(requireShape(executor, executor.operands[2], Shape()));
  aclDataType type = promoteTypes(x.type, y.type);
  SIM_TRY(requireCast(executor, type, executor.operands[2]));
  const Compute compute = computeOf(type) == kF32 || computeOf(type) == kI64 ? computeOf(type) : kF64;
  x.compute = y.compute = compute;
  executor.run = runDot;
  executor.workspace_size = x.count > 0 ? roundUp(1) : 0;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnMatmul, prepareMatmul, nullptr, 0)
SIM_OP(aclnnMm, prepareMatmul, nullptr, 0)
SIM_OP(aclnnBatchMatMul, prepareMatmul, nullptr, 0)
SIM_OP(aclnnMv, prepareMatmul, nullptr, 0)
SIM_OP(aclnnAddmm, prepareAddedProduct, nullptr, 2)
SIM_OP(aclnnBaddbmm, prepareAddedProduct, nullptr, 3)
SIM_OP(aclnnAddbmm, prepareAddbmm, nullptr, 0)
SIM_OP(aclnnDot, prepareDot, nullptr, 0)

/* Products and norms of vectors. */

namespace {

SIM_ELEMENT(Product, 2, kAll, 0, multiply(x, y))
/* A beta of 0 ignores NaN in self. */
SIM_ELEMENT(AddedProduct, 3, kAll, 2,
            p[0] == C(0) ? multiply(p[1], multiply(y, z)) : add(multiply(p[0], x), multiply(p[1], multiply(y, z))))

aclnnStatus requireVectors(const aclOpExecutor &executor, const Operand &x, const Operand &y) {
  if (x.rank == 1 && y.rank == 1) return ACLNN_SUCCESS;
  return refuse(executor, "the operands have {} and {} dimensions, expected 1 each", x.rank, y.rank);
}

/* self, vec2, out */
aclnnStatus prepareGer(aclOpExecutor &executor, const Argument *, const OpBody &) {
  SIM_TRY(requireVectors(executor, executor.operands[0], executor.operands[1]));
  insertOne(&executor.operands[0], 1);
  return prepareLoops(executor, kLoopsOf<Product>, kSameType);
}

/* self, vec1, vec2, beta, alpha, out */
aclnnStatus prepareAddr(aclOpExecutor &executor, const Argument *, const OpBody &) {
  SIM_TRY(requireVectors(executor, executor.operands[1], executor.operands[2]));
  insertOne(&executor.operands[1], 1);
  return prepareLoops(executor, kLoopsOf<AddedProduct>, kSameType);
}

/* --- aclnnAddmv ----------------------------------------------------------------------------------------------------*/

template <class C>
aclError runAddmv(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &mat = executor.operands[1], &vec = executor.operands[2];
  const Operand &out = executor.operands[3];
  alignas(64) char buffers[2][kBlockBytes];
  const C alpha = scalarAs<C>(executor.scalars[0]), beta = scalarAs<C>(executor.scalars[1]);
  Cursor addend(self), element(mat), target(out);
  for (int64_t row = 0; row < mat.dims[0]; ++row) {
    Cursor weight(vec);
    C sum(0), added;
    for (int64_t first = 0; first < vec.count; first += kBlock) {
      const int64_t count = std::min(kBlock, vec.count - first);
      const C *a = static_cast<const C *>(element.read(buffers[0], count));
      const C *b = static_cast<const C *>(weight.read(buffers[1], count));
      for (int64_t i = 0; i < count; ++i) sum = add(sum, multiply(a[i], b[i]));
    }
    added = *static_cast<const C *>(addend.read(buffers[0], 1));
    sum = multiply(alpha, sum);
    if (beta != C(0)) sum = add(sum, multiply(beta, added));
    target.write(&sum, 1);
  }
  return ACL_SUCCESS;
}

/* self, mat, vec, alpha, beta, out, cubeMathType */
aclnnStatus prepareAddmv(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Operand &self = executor.operands[0], &mat = executor.operands[1], &vec = executor.operands[2];
  if (mat.rank != 2 || vec.rank != 1 || mat.dims[1] != vec.dims[0]) return refuse(executor, "mat and vec do not fit");
  Shape shape = {1, {mat.dims[0]}};
  SIM_TRY(requireShape(executor, executor.operands[3], shape));
  const aclDataType type = promoteTypes(self.type, promoteTypes(mat.type, vec.type));
  SIM_TRY(requireCast(executor, type, executor.operands[3]));
  if (self.rank > 1 || (self.rank == 1 && self.dims[0] != 1 && self.dims[0] != mat.dims[0])) {
    return refuse(executor, "self cannot be broadcast to the product's shape");
  }
  expandTo(&self, shape);
  const bool whole = categoryOf(type) <= kInteger;
  for (Operand &operand : executor.operands) operand.compute = whole ? kI64 : kF64;
  executor.run = whole ? runAddmv<int64_t> : runAddmv<double>;
  executor.workspace_size = mat.dims[0] > 0 ? roundUp(1) : 0;
  return ACLNN_SUCCESS;
}

/* --- aclnnLinalgCross ----------------------------------------------------------------------------------------------*/

template <class C>
aclError runCross(const aclOpExecutor &executor) {
  const int32_t dim = static_cast<int32_t>(executor.attributes[0]);
  const Compute compute = computeOfType<C>();
  SliceCursor left(executor.operands[0], dim, compute), right(executor.operands[1], dim, compute);
  SliceCursor out(executor.operands[2], dim, compute);
  for (int64_t line = executor.operands[2].count / 3; line > 0; --line) {
    C a[3], b[3], c[3];
    left.read(a);
    right.read(b);
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      c[i] = subtract(multiply(a[j], b[k]), multiply(a[k], b[j]));
    }
    out.write(c);
    for (SliceCursor *each : {&left, &right, &out}) each->next();
  }
  return ACL_SUCCESS;
}

constexpr aclError (*kCross[])(const aclOpExecutor &) = {runCross<float>, runCross<double>, runCross<int64_t>,
                                                         runCross<Complex>};

/* self, other, dim, out */
aclnnStatus prepareCross(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Operand &left = executor.operands[0], &right = executor.operands[1];
  if (left.rank == 0 || left.rank != right.rank) return refuse(executor, "self and other differ in rank, or have none");
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[2].integer, left.rank, &dim));
  if (left.dims[dim] != 3 || right.dims[dim] != 3) return refuse(executor, "dimension dim must have the size 3");
  Shape shape = shapeOf(left);
  if (!broadcastInto(&shape, right)) return refuse(executor, "the shapes of self and other do not fit");
  const aclDataType type = promoteTypes(left.type, right.type);
  SIM_TRY(requireShape(executor, executor.operands[2], shape));
  SIM_TRY(requireCast(executor, type, executor.operands[2]));
  if (computeOf(type) > kC128) return refuseType(executor, type);
  expandTo(&left, shape);
  expandTo(&right, shape);
  executor.attributes[0] = dim;
  executor.run = kCross[computeOf(type)];
  return ACLNN_SUCCESS;
}

/* --- aclnnLinalgVectorNorm -----------------------------------------------------------------------------------------*/

/* What a norm reads the elements in. Sums are in double. Those of narrower elements have terms, and in the end a total,
   of the range of float: what a float does not hold becomes infinity or 0 there, as on the NPU and in torch. */
uint8_t computeOfNorm(const Operand &of) { return of.type == ACL_DOUBLE ? kF64 : kF32; }

template <class C>
SIM_CLONES double sumOfSizes(const C *values, int64_t count, bool squares) {
  double parts[kSumParts] = {}, sum = 0;
  int64_t i = 0;
  if (squares) {
    for (; i + kSumParts <= count; i += kSumParts) {
      for (int64_t k = 0; k < kSumParts; ++k) parts[k] += static_cast<double>(values[i + k] * values[i + k]);
    }
    for (; i < count; ++i) sum += static_cast<double>(values[i] * values[i]);
  } else {
    for (; i + kSumParts <= count; i += kSumParts) {
      for (int64_t k = 0; k < kSumParts; ++k) parts[k] += static_cast<double>(std::fabs(values[i + k]));
    }
    for (; i < count; ++i) sum += static_cast<double>(std::fabs(values[i]));
  }
  for (double part : parts) sum += part;
  return sum;
}

template <class C>
double normIn(Cursor *values, int64_t total, double order) {
  C buffer[kBlock];
  double norm = std::isinf(order) && order < 0 ? HUGE_VAL : 0;
  for (int64_t first = 0; first < total; first += kBlock) {
    const int64_t count = std::min(kBlock, total - first);
    const C *block = static_cast<const C *>(values->read(buffer, count));
    if (order == 1 || order == 2) {
      norm += sumOfSizes(block, count, order == 2);
      continue;
    }
    for (int64_t i = 0; i < count; ++i) {
      const double size = static_cast<double>(std::fabs(block[i]));
      if (std::isinf(order)) {
        norm = order > 0 ? larger(size, norm) : smaller(size, norm);
      } else {
        norm += order == 0 ? size != 0 : static_cast<double>(static_cast<C>(std::pow(size, order)));
      }
    }
  }
  if (std::isinf(order) || order == 0) return norm;
  const double whole = static_cast<double>(static_cast<C>(norm));
  return order == 2 ? std::sqrt(whole) : std::pow(whole, 1 / order);
}

/* The norm of the elements that `values` walks over, in computeOfNorm. */
double normOf(Cursor *values, const Operand &of, int64_t total, double order) {
  return of.type == ACL_DOUBLE ? normIn<double>(values, total, order) : normIn<float>(values, total, order);
}

aclError runNorm(const aclOpExecutor &executor) {
  Operand in = executor.operands[0], out = executor.operands[1];
  in.compute = computeOfNorm(in);
  out.compute = kF64;
  const ReductionView view = splitDims(in, static_cast<uint32_t>(executor.attributes[0]));
  Cursor kept(view.kept), target(out);
  for (int64_t i = 0; i < out.count; ++i, kept.skip(1)) {
    Operand part = view.reduced;
    part.host = kept.position();
    Cursor values(part);
    const double norm = normOf(&values, in, elementsOf(part), executor.scalars[0].real);
    target.write(&norm, 1);
  }
  return ACL_SUCCESS;
}

/* self, ord, dims, keepDims, then dtype (variant 0: aclnnNorm has none), out */
aclnnStatus prepareNorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &in = executor.operands[0], &out = executor.operands[1];
  uint32_t mask;
  SIM_TRY(readDims(executor, arguments[2].pointer, in.rank, &mask));
  SIM_TRY(requireShape(executor, out, reducedShape(in, mask, arguments[3].integer != 0)));
  if (body.variant != 0 && static_cast<aclDataType>(arguments[4].integer) != out.type) {
    return refuse(executor, "out has data type {}, expected dtype", out.type);
  }
  executor.attributes[0] = mask;
  executor.run = runNorm;
  return ACLNN_SUCCESS;
}

/* --- aclnnRenorm ---------------------------------------------------------------------------------------------------*/

Operand sliceOf(const Operand &whole, int32_t dim, int64_t index) {
  Operand slice = whole;
  slice.host += index * whole.strides[dim] * whole.item;
  slice.dims[dim] = 1;
  slice.count = whole.count / whole.dims[dim];
  slice.compute = kF64;
  return slice;
}

aclError runRenorm(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &out = executor.operands[1];
  const int32_t dim = static_cast<int32_t>(executor.attributes[0]);
  const double order = executor.scalars[0].real, most = executor.scalars[1].real;
  double buffer[kBlock];
  for (int64_t i = 0; self.count > 0 && i < self.dims[dim]; ++i) {
    const Operand slice = sliceOf(self, dim, i);
    Operand elements = slice;
    elements.compute = computeOfNorm(self);
    Cursor measured(elements), values(slice), target(sliceOf(out, dim, i));
    const float norm = static_cast<float>(normOf(&measured, self, slice.count, order));
    const float scale = norm > most ? static_cast<float>(most) / (norm + 1e-7F) : 1.0F;
    for (int64_t first = 0; first < slice.count; first += kBlock) {
      const int64_t count = std::min(kBlock, slice.count - first);
      const double *block = static_cast<const double *>(values.read(buffer, count));
      for (int64_t k = 0; k < count; ++k) buffer[k] = block[k] * scale;
      target.write(buffer, count);
    }
  }
  return ACL_SUCCESS;
}

/* self, p, dim, maxNorm, out */
aclnnStatus prepareRenorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &self = executor.operands[0], &out = executor.operands[1];
  if (!(executor.scalars[0].real > 0))
    return refuse(executor, "p is {}, expected more than 0", executor.scalars[0].real);
  if (!(executor.scalars[1].real >= 0)) {
    return refuse(executor, "maxNorm is {}, expected 0 or more", executor.scalars[1].real);
  }
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[2].integer, self.rank, &dim));
  SIM_TRY(requireShape(executor, out, shapeOf(self)));
  if (out.type != self.type) return refuse(executor, "self and out differ in data type");
  executor.attributes[0] = dim;
  executor.run = runRenorm;
  return ACLNN_SUCCESS;
}

aclError runForeachNorm(const aclOpExecutor &executor) {
  const uint32_t tensors = executor.operands.size() / 2;
  for (uint32_t i = 0; i < tensors; ++i) {
    Operand in = executor.operands[i], out = executor.operands[tensors + i];
    in.compute = computeOfNorm(in);
    out.compute = kF64;
    Cursor values(in), target(out);
    const double norm = normOf(&values, in, in.count, executor.scalars[0].real);
    target.write(&norm, 1);
  }
  return ACL_SUCCESS;
}

/* x, scalar, out: a 0-d tensor for each. */
aclnnStatus prepareForeachNorm(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const uint32_t tensors = executor.operands.size() / 2;
  if (executor.scalars[0].real != 1 && executor.scalars[0].real != 2) {
    return refuse(executor, "scalar is {}, expected 1 or 2", executor.scalars[0].real);
  }
  for (uint32_t i = 0; i < executor.operands.size(); ++i) {
    const Operand &operand = executor.operands[i];
    if ((operand.role == kOut) != (i >= tensors)) return refuse(executor, "x and out differ in length");
    if (operand.type != executor.operands[0].type) return refuse(executor, "the tensors differ in data type");
    if (operand.role == kOut && operand.count != 1) {
      return refuse(executor, "tensor {} of out has {} elements, expected one", i - tensors, operand.count);
    }
  }
  executor.run = runForeachNorm;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnGer, prepareGer, nullptr, 0)
SIM_OP(aclnnAddr, prepareAddr, nullptr, 0)
SIM_OP(aclnnAddmv, prepareAddmv, nullptr, 0)
SIM_OP(aclnnLinalgCross, prepareCross, nullptr, 0)
SIM_OP(aclnnLinalgVectorNorm, prepareNorm, nullptr, 1)
SIM_OP(aclnnNorm, prepareNorm, nullptr, 0)
SIM_OP(aclnnForeachNorm, prepareForeachNorm, nullptr, 0)
SIM_OP(aclnnRenorm, prepareRenorm, nullptr, 0)

}  // namespace sim
