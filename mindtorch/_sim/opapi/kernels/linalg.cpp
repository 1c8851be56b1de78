/* Linear algebra on batches of matrices by LAPACK, one matrix after the other, in complex double and column-major
 * order. */
#include <algorithm>

#include "opapi/blas.h"
#include "opapi/kernels/matrices.h"

namespace sim {
namespace {

constexpr int kColumns = 102, kLeft = 141, kUpper = 121, kLower = 122, kAsIs = 111, kTransposed = 112, kNonUnit = 131;
constexpr int kUnit = 132;

const Lapack &lapackOf(const aclOpExecutor &executor) { return *static_cast<const Lapack *>(executor.kernel); }

int sizeAs(int64_t size) { return static_cast<int>(size); }
int leadingOf(int64_t rows) { return static_cast<int>(std::max<int64_t>(1, rows)); }

/* A column-major operand with the shape of `like` over an array. */
Operand packed(const Operand &like, Complex *array) {
  Operand made = like;
  made.type = ACL_COMPLEX128;
  made.item = sizeof(Complex);
  made.compute = kC128;
  made.host = reinterpret_cast<char *>(array);
  int64_t stride = 1;
  for (int32_t i = 0; i < made.rank; ++i) {
    made.strides[i] = stride;
    stride *= made.dims[i];
  }
  return made;
}

void load(const Operand &part, Complex *array) { convertView(part, packed(part, array)); }
void store(Complex *array, const Operand &part) { convertView(packed(part, array), part); }

void fill(Complex *array, int64_t count, double value) { std::fill_n(array, count, Complex(value)); }

/* Calls `each` for every element of the batch with the operands' last `trailing` dimensions. */
template <size_t N, class Each>
aclError forEach(const aclOpExecutor &executor, const int32_t (&trailing)[N], Each each) {
  Operand parts[N];
  const Operand batch = batchOf(executor.operands[0], trailing[0]);
  Cursor *cursors = reinterpret_cast<Cursor *>(executor.workspace);
  for (uint32_t i = 0; i < N; ++i) new (&cursors[i]) Cursor(batchOf(executor.operands[i], trailing[i]));
  for (int64_t count = countOf(batch); count > 0; --count) {
    for (uint32_t i = 0; i < N; ++i) {
      parts[i] = partAt(executor.operands[i], trailing[i], cursors[i].position(), kC128);
      cursors[i].skip(1);
    }
    each(parts);
  }
  return ACL_SUCCESS;
}

constexpr uint64_t kCursorBytes = 8 * sizeof(Cursor) + 64;

Complex *arraysOf(const aclOpExecutor &executor) {
  const uintptr_t start = reinterpret_cast<uintptr_t>(executor.workspace) + kCursorBytes;
  return reinterpret_cast<Complex *>((start + 63) / 64 * 64);
}

/* The last step of every prepare function. `elements`: workspace of one matrix. */
aclnnStatus plan(aclOpExecutor &executor, int64_t elements, aclError (*run)(const aclOpExecutor &)) {
  for (const Operand &operand : executor.operands) {
    for (int32_t i = 0; i < operand.rank; ++i) {
      if (operand.dims[i] > INT32_MAX) return refuse(executor, "a dimension is too large");
    }
  }
  executor.run = run;
  executor.workspace_size = roundUp(kCursorBytes + 64 + static_cast<uint64_t>(elements) * sizeof(Complex));
  const char *reason;
  executor.kernel = loadLapack(&reason);
  if (executor.kernel != nullptr) return ACLNN_SUCCESS;
  return fail(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, "EZ9999", "%s: %s", executor.op->name, reason);
}

aclnnStatus requireSquare(const aclOpExecutor &executor, const Operand &matrix) {
  if (matrix.rank >= 2 && rowsOf(matrix) == columnsOf(matrix)) return ACLNN_SUCCESS;
  return refuse(executor, "{} is no batch of square matrices", matrix);
}

/* The batch of `matrix`, then `rows` and `columns` as far as they are not -1. */
Shape shapeLike(const Operand &matrix, int64_t rows, int64_t columns) {
  Shape shape = shapeOf(matrix);
  shape.rank -= 2;
  if (rows >= 0) shape.dims[shape.rank++] = rows;
  if (columns >= 0) shape.dims[shape.rank++] = columns;
  return shape;
}

/* --- inverse, determinant, Cholesky --------------------------------------------------------------------------------*/

/* A singular matrix gives NaN. */
aclError runInverse(const aclOpExecutor &executor) {
  const int64_t n = rowsOf(executor.operands[0]);
  Complex *a = arraysOf(executor), *work = a + n * n;
  int *pivots = reinterpret_cast<int *>(work + n);
  return forEach(executor, {2, 2}, [&](const Operand *parts) {
    load(parts[0], a);
    int info = lapackOf(executor).getrf(kColumns, sizeAs(n), sizeAs(n), a, leadingOf(n), pivots);
    if (info == 0) info = lapackOf(executor).getri(kColumns, sizeAs(n), a, leadingOf(n), pivots, work, leadingOf(n));
    if (info != 0) fill(a, n * n, NAN);
    store(a, parts[1]);
  });
}

/* self, out */
aclnnStatus prepareInverse(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const Operand &self = executor.operands[0];
  SIM_TRY(requireSquare(executor, self));
  SIM_TRY(requireShape(executor, executor.operands[1], shapeOf(self)));
  SIM_TRY(requireCast(executor, self.type, executor.operands[1]));
  return plan(executor, sizeOf(self) + 2 * rowsOf(self), runInverse);
}

aclError runSlogdet(const aclOpExecutor &executor) {
  const int64_t n = rowsOf(executor.operands[0]);
  const aclDataType type = executor.operands[0].type;
  const bool complex = type == ACL_COMPLEX64 || type == ACL_COMPLEX128;
  Complex *a = arraysOf(executor);
  int *pivots = reinterpret_cast<int *>(a + n * n);
  return forEach(executor, {2, 0, 0}, [&](const Operand *parts) {
    Complex sign(1), log(0);
    load(parts[0], a);
    if (n > 0) lapackOf(executor).getrf(kColumns, sizeAs(n), sizeAs(n), a, leadingOf(n), pivots);
    for (int64_t i = 0; i < n; ++i) {
      const Complex pivot = a[i * n + i];
      const double size = std::abs(pivot);
      sign *= pivots[i] == i + 1 ? 1.0 : -1.0;
      if (complex)
        sign *= size == 0 ? Complex(0) : pivot / size;
      else
        sign *= (pivot.real() > 0) - (pivot.real() < 0);  // 0 for NaN
      log += std::log(size);
    }
    store(&sign, parts[1]);
    store(&log, parts[2]);
  });
}

/* self, signOut, logOut */
aclnnStatus prepareSlogdet(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const Operand &self = executor.operands[0];
  SIM_TRY(requireSquare(executor, self));
  for (uint32_t i = 1; i < 3; ++i) SIM_TRY(requireShape(executor, executor.operands[i], shapeLike(self, -1, -1)));
  SIM_TRY(requireCast(executor, self.type, executor.operands[1]));
  return plan(executor, sizeOf(self) + rowsOf(self), runSlogdet);
}

/* A matrix that is not positive definite gives NaN. */
aclError runCholesky(const aclOpExecutor &executor) {
  const int64_t n = rowsOf(executor.operands[0]);
  const bool upper = executor.attributes[0] != 0;
  Complex *a = arraysOf(executor);
  return forEach(executor, {2, 2}, [&](const Operand *parts) {
    load(parts[0], a);
    if (lapackOf(executor).potrf(kColumns, upper ? 'U' : 'L', sizeAs(n), a, leadingOf(n)) != 0) fill(a, n * n, NAN);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < i; ++j) a[upper ? j * n + i : i * n + j] = 0;
    }
    store(a, parts[1]);
  });
}

/* self, upper, out */
aclnnStatus prepareCholesky(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &self = executor.operands[0];
  SIM_TRY(requireSquare(executor, self));
  SIM_TRY(requireShape(executor, executor.operands[1], shapeOf(self)));
  SIM_TRY(requireCast(executor, self.type, executor.operands[1]));
  executor.attributes[0] = arguments[1].integer;
  return plan(executor, sizeOf(self), runCholesky);
}

/* --- QR ------------------------------------------------------------------------------------------------------------*/

enum QrMode : int64_t { kReduced, kComplete, kOnlyR };

aclError runQr(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0];
  const int64_t m = rowsOf(self), n = columnsOf(self), least = std::min(m, n), mode = executor.attributes[0];
  const int64_t p = mode == kComplete ? m : least;
  Complex *a = arraysOf(executor), *q = a + m * n, *r = q + m * p, *tau = r + p * n, *work = tau + least;
  const auto decompose = [&](const Operand *parts) {
    load(parts[0], a);
    if (least > 0) lapackOf(executor).geqrf(kColumns, sizeAs(m), sizeAs(n), a, leadingOf(m), tau, work, leadingOf(n));
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < p; ++i) r[j * p + i] = i <= j ? a[j * m + i] : Complex(0);
    }
  };
  if (mode == kOnlyR) {
    return forEach(executor, {2, 0, 2}, [&](const Operand *parts) {
      decompose(parts);
      store(r, parts[2]);
    });
  }
  return forEach(executor, {2, 2, 2}, [&](const Operand *parts) {
    decompose(parts);
    for (int64_t i = 0; i < m * p; ++i) q[i] = i < m * least ? a[i] : Complex(0);
    if (p > 0) {
      lapackOf(executor).ungqr(kColumns, sizeAs(m), sizeAs(p), sizeAs(least), q, leadingOf(m), tau, work, leadingOf(p));
    }
    store(q, parts[1]);
    store(r, parts[2]);
  });
}

/* self, mode, Q, R; without Q in the last mode */
aclnnStatus prepareQr(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &self = executor.operands[0];
  if (self.rank < 2) return refuse(executor, "self is no batch of matrices");
  const int64_t m = rowsOf(self), n = columnsOf(self), mode = arguments[1].integer;
  if (mode < kReduced || mode > kOnlyR) return refuse(executor, "mode is {}", mode);
  const int64_t p = mode == kComplete ? m : std::min(m, n);
  if (mode != kOnlyR) SIM_TRY(requireShape(executor, executor.operands[1], shapeLike(self, m, p)));
  SIM_TRY(requireShape(executor, executor.operands[2], shapeLike(self, p, n)));
  SIM_TRY(requireCast(executor, self.type, executor.operands[2]));
  if (mode == kOnlyR) { /* nothing is written there */
    executor.operands[1] = executor.operands[2];
    executor.operands[1].rank -= 2;
  }
  executor.attributes[0] = mode;
  return plan(executor, m * n + m * p + p * n + std::min(m, n) + std::max(m, n) + 1, runQr);
}

/* --- singular values -----------------------------------------------------------------------------------------------*/

struct SvdSizes {
  int64_t m, n, least, most, u, v;
  SvdSizes(const Operand &self, bool full, bool vectors)
      : m(rowsOf(self)), n(columnsOf(self)), least(std::min(m, n)), most(std::max(m, n)) {
    u = vectors ? (full ? m : least) : 0;
    v = vectors ? (full ? n : least) : 0;
  }
  int64_t work() const { return least * least + 3 * least + most + 64; }
  int64_t realWork() const {
    return std::max(5 * least * least + 7 * least, 2 * most * least + 2 * least * least + least);
  }
  int64_t elements() const { return m * n + m * u + v * n + n * v + 2 * least + work() + realWork() + 4 * least + 8; }
};

aclError runSvd(const aclOpExecutor &executor) {
  const bool full = executor.attributes[0] != 0, vectors = executor.attributes[1] != 0;
  const SvdSizes size(executor.operands[0], full, vectors);
  Complex *a = arraysOf(executor), *u = a + size.m * size.n, *vt = u + size.m * size.u, *v = vt + size.v * size.n;
  Complex *sigma = v + size.n * size.v, *work = sigma + size.least;
  double *values = reinterpret_cast<double *>(work + size.work()), *real_work = values + size.least;
  int *int_work = reinterpret_cast<int *>(real_work + size.realWork());
  const auto decompose = [&](const Operand *parts) {
    load(parts[0], a);
    const auto is_finite = [](const Complex &x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); };
    if (!std::all_of(a, a + size.m * size.n, is_finite)) { /* for which LAPACK may look without end */
      std::fill(values, values + size.least, NAN);
      std::fill(u, u + size.m * size.u, NAN);
      std::fill(vt, vt + size.v * size.n, NAN);
    } else if (size.least > 0) {
      lapackOf(executor).gesdd(kColumns, vectors ? (full ? 'A' : 'S') : 'N', sizeAs(size.m), sizeAs(size.n), a,
                               leadingOf(size.m), values, u, leadingOf(size.m), vt, leadingOf(size.v), work,
                               sizeAs(size.work()), real_work, int_work);
    }
    std::copy(values, values + size.least, sigma);
    store(sigma, parts[1]);
  };
  if (!vectors) return forEach(executor, {2, 1}, decompose);
  return forEach(executor, {2, 1, 2, 2}, [&](const Operand *parts) {
    decompose(parts);
    if (size.least == 0) {
      for (int64_t i = 0; i < size.m * size.u; ++i) u[i] = i % (size.m + 1) == 0 ? 1.0 : 0.0;
      for (int64_t i = 0; i < size.v * size.n; ++i) vt[i] = i % (size.n + 1) == 0 ? 1.0 : 0.0;
    }
    for (int64_t i = 0; i < size.n; ++i) {
      for (int64_t j = 0; j < size.v; ++j) v[j * size.n + i] = std::conj(vt[i * size.v + j]);
    }
    store(u, parts[2]);
    store(v, parts[3]);
  });
}

/* input, fullMatrices, computeUV, sigma, u, v */
aclnnStatus prepareSvd(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &self = executor.operands[0];
  if (self.rank < 2) return refuse(executor, "input is no batch of matrices");
  executor.attributes[0] = arguments[1].integer;
  executor.attributes[1] = arguments[2].integer;
  const SvdSizes size(self, arguments[1].integer != 0, arguments[2].integer != 0);
  SIM_TRY(requireShape(executor, executor.operands[1], shapeLike(self, size.least, -1)));
  if (arguments[2].integer != 0) {
    SIM_TRY(requireShape(executor, executor.operands[2], shapeLike(self, size.m, size.u)));
    SIM_TRY(requireShape(executor, executor.operands[3], shapeLike(self, size.n, size.v)));
    SIM_TRY(requireCast(executor, self.type, executor.operands[2]));
  }
  return plan(executor, size.elements(), runSvd);
}

/* --- triangular systems --------------------------------------------------------------------------------------------*/

/* Of real numbers: a zero on the diagonal leaves infinity, which products of complex numbers would make NaN. */
void substitute(const Complex *a, Complex *b, int64_t n, bool upper, bool transpose, bool unit) {
  for (int64_t step = 0; step < n; ++step) {
    const bool downwards = upper == transpose;
    const int64_t k = downwards ? step : n - 1 - step;
    const double x = unit ? b[k].real() : b[k].real() / a[k + k * n].real();
    b[k] = x;
    for (int64_t i = downwards ? k + 1 : 0; i < (downwards ? n : k); ++i) {
      b[i] -= (transpose ? a[k + i * n] : a[i + k * n]).real() * x;
    }
  }
}

aclError runTriangularSolve(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0];
  const int64_t n = rowsOf(self), columns = columnsOf(self);
  Complex *a = arraysOf(executor), *b = a + n * n;
  const int triangle = executor.attributes[0] != 0 ? kUpper : kLower;
  const int transpose = executor.attributes[1] != 0 ? kTransposed : kAsIs;
  const int diagonal = executor.attributes[2] != 0 ? kUnit : kNonUnit;
  const Complex one(1);
  return forEach(executor, {2, 2, 2, 2}, [&](const Operand *parts) {
    load(parts[0], b);
    load(parts[1], a);
    if (categoryOf(self.type) != kComplex) {
      const int64_t *flags = executor.attributes;
      for (int64_t i = 0; i < columns; ++i) substitute(a, b + i * n, n, flags[0] != 0, flags[1] != 0, flags[2] != 0);
    } else if (n > 0 && columns > 0) {
      lapackOf(executor).trsm(kColumns, kLeft, triangle, transpose, diagonal, sizeAs(n), sizeAs(columns), &one, a,
                              leadingOf(n), b, leadingOf(n));
    }
    store(b, parts[2]);
    store(a, parts[3]);
  });
}

/* self, A, upper, transpose, unitriangular, xOut, mOut */
aclnnStatus prepareTriangularSolve(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Operand &self = executor.operands[0], &matrix = executor.operands[1];
  SIM_TRY(requireSquare(executor, matrix));
  if (self.rank < 2 || rowsOf(self) != rowsOf(matrix)) return refuse(executor, "self and A do not fit");
  Shape batch = shapeLike(self, -1, -1);
  if (!broadcastInto(&batch, batchOf(matrix))) return refuse(executor, "the batches of self and A do not fit");
  expandBatch(&self, batch);
  expandBatch(&matrix, batch);
  SIM_TRY(requireShape(executor, executor.operands[2], shapeOf(self)));
  SIM_TRY(requireShape(executor, executor.operands[3], shapeOf(matrix)));
  for (uint32_t i = 2; i < 4; ++i) {
    SIM_TRY(requireCast(executor, promoteTypes(self.type, matrix.type), executor.operands[i]));
  }
  for (int i = 0; i < 3; ++i) executor.attributes[i] = arguments[2 + i].integer;
  return plan(executor, sizeOf(self) + sizeOf(matrix), runTriangularSolve);
}

}  // namespace

SIM_OP(aclnnInverse, prepareInverse, nullptr, 0)
SIM_OP(aclnnSlogdet, prepareSlogdet, nullptr, 0)
SIM_OP(aclnnLinalgCholesky, prepareCholesky, nullptr, 0)
SIM_OP(aclnnLinalgQr, prepareQr, nullptr, 0)
SIM_OP(aclnnSvd, prepareSvd, nullptr, 0)
SIM_OP(aclnnTriangularSolve, prepareTriangularSolve, nullptr, 0)

}  // namespace sim
