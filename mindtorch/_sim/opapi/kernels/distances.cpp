/* Distances of rows by p-norms: of two batches of matrices, with the gradient, and of the pairs of one matrix. */
#include "opapi/kernels/planes.h"

namespace sim {
namespace {

enum Attribute { kNorm }; /* a double's bits */

double normOf(const aclOpExecutor &executor) {
  double p;
  std::memcpy(&p, &executor.attributes[kNorm], sizeof p);
  return p;
}

/* The loops of frequent norms keep partial sums, which the processor can overlap. */
constexpr int64_t kParts = 16;

template <bool Squares>
SIM_CLONES double sumOfDifferences(const double *x, const double *y, int64_t count) {
  double parts[kParts] = {}, sum = 0.0;
  int64_t i = 0;
  for (; i + kParts <= count; i += kParts) {
    for (int64_t k = 0; k < kParts; ++k) {
      const double step = x[i + k] - y[i + k];
      parts[k] += Squares ? step * step : std::fabs(step);
    }
  }
  for (; i < count; ++i) {
    const double step = x[i] - y[i];
    sum += Squares ? step * step : std::fabs(step);
  }
  for (double part : parts) sum += part;
  return sum;
}

/* Of an infinite p, a NaN counts in the distances of the pairs of one matrix alone. */
double distance(const double *x, const double *y, int64_t count, double p, bool nan_counts) {
  if (p == 2.0) return std::sqrt(sumOfDifferences<true>(x, y, count));
  if (p == 1.0) return sumOfDifferences<false>(x, y, count);
  double sum = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    const double size = std::fabs(x[i] - y[i]);
    if (std::isinf(p)) {
      sum = size > sum || (nan_counts && isNan(size)) ? size : sum;
    } else if (p == 0.0) {
      sum += isNan(size) ? size : size != 0.0 ? 1.0 : 0.0;
    } else {
      sum += std::pow(size, p);
    }
  }
  return p == 0.0 || std::isinf(p) ? sum : std::pow(sum, 1.0 / p);
}

/* The derivative of a distance by a coordinate of its first row. */
double distanceGradOf(double difference, double distance, double p) {
  if (isNan(difference) && p != 0.0) return NAN;
  if (std::isinf(p) && (std::isinf(difference) || isNan(distance))) return NAN;
  if (p == 0.0 || difference == 0.0 || distance == 0.0) return 0.0;
  const double sign = difference < 0.0 ? -1.0 : 1.0, size = std::fabs(difference);
  if (p == 1.0) return sign;
  if (std::isinf(p)) return size == distance ? sign : 0.0;
  return sign * std::pow(size / distance, p - 1.0);
}

/* Those of the norm of p = 2, times the gradient: `scale` is that over the distance. */
SIM_CLONES void addShares(double *slopes, const double *x, const double *y, int64_t count, double scale) {
  for (int64_t i = 0; i < count; ++i) {
    const double difference = x[i] - y[i], share = scale * difference;
    slopes[i] += difference == 0.0 ? 0.0 : share;
  }
}

Operand inDouble(Operand operand) {
  operand.compute = kF64;
  return operand;
}

int64_t rowsOf(const Operand &matrices) { return matrices.dims[matrices.rank - 2]; }
int64_t columnsOf(const Operand &matrices) { return matrices.dims[matrices.rank - 1]; }

/* x1, x2, p, compute_mode, out */
aclError runCdist(const aclOpExecutor &executor) {
  const Operand &x1 = executor.operands[0], &x2 = executor.operands[1], &out = executor.operands[2];
  const int64_t rows = rowsOf(x1), others = rowsOf(x2), columns = columnsOf(x1);
  const double p = normOf(executor);
  double *one = reinterpret_cast<double *>(executor.workspace), *other = one + rows * columns;
  double *found = other + others * columns;
  Planes from(inDouble(x1), 2), others_from(inDouble(x2), 2), to(inDouble(out), 2);
  for (int64_t n = planeCount(out, 2); n-- > 0; from.next(), others_from.next(), to.next()) {
    from.read(one);
    others_from.read(other);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t k = 0; k < others; ++k) {
        found[i * others + k] = distance(one + i * columns, other + k * columns, columns, p, false);
      }
    }
    to.write(found);
  }
  return ACL_SUCCESS;
}

/* grad, x1, x2, cdist, p, out */
aclError runCdistBackward(const aclOpExecutor &executor) {
  const auto &operands = executor.operands;
  const Operand &x1 = operands[1], &x2 = operands[2], &out = operands[4];
  const int64_t rows = rowsOf(x1), others = rowsOf(x2), columns = columnsOf(x1);
  const double p = normOf(executor);
  double *one = reinterpret_cast<double *>(executor.workspace), *other = one + rows * columns;
  double *grads = other + others * columns, *distances = grads + rows * others, *slopes = distances + rows * others;
  Planes from(inDouble(x1), 2), others_from(inDouble(x2), 2), to(inDouble(out), 2);
  Planes grads_from(inDouble(operands[0]), 2), distances_from(inDouble(operands[3]), 2);
  for (int64_t n = planeCount(out, 2); n-- > 0;
       from.next(), others_from.next(), to.next(), grads_from.next(), distances_from.next()) {
    from.read(one);
    others_from.read(other);
    grads_from.read(grads);
    distances_from.read(distances);
    /* The largest difference is found from the inputs, as the stored distances may be rounded. A NaN stays. */
    for (int64_t i = 0; std::isinf(p) && i < rows * others; ++i) {
      if (isNan(distances[i])) continue;
      distances[i] = distance(one + i / others * columns, other + i % others * columns, columns, p, false);
    }
    std::fill_n(slopes, rows * columns, 0.0);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t k = 0; k < others; ++k) {
        const double grad = grads[i * others + k], found = distances[i * others + k];
        const double *x = one + i * columns, *y = other + k * columns;
        if (p == 2.0) {
          if (found != 0.0) addShares(slopes + i * columns, x, y, columns, grad / found);
          continue;
        }
        for (int64_t c = 0; c < columns; ++c) {
          slopes[i * columns + c] += grad * distanceGradOf(x[c] - y[c], found, p);
        }
      }
    }
    to.write(slopes);
  }
  return ACL_SUCCESS;
}

/* self, p, out */
aclError runPdist(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0];
  const int64_t rows = self.dims[0], columns = self.dims[1];
  const double p = normOf(executor);
  double *values = reinterpret_cast<double *>(executor.workspace);
  Planes(inDouble(self), 2).read(values);
  Cursor out(inDouble(executor.operands[1]));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = i + 1; k < rows; ++k) {
      const double found = distance(values + i * columns, values + k * columns, columns, p, true);
      out.write(&found, 1);
    }
  }
  return ACL_SUCCESS;
}

/* --- phase 1 ----------------------------------------------------------------------------------------------------- */

aclnnStatus planDistances(aclOpExecutor &executor, double p, aclError (*run)(const aclOpExecutor &), int64_t elements) {
  if (!(p >= 0.0)) return refuse(executor, "p is {}, expected 0 or more", p);
  for (const Operand &operand : executor.operands) {
    if (operand.type != executor.operands[0].type) {
      return refuse(executor, "types differ: {} and {}", executor.operands[0].type, operand.type);
    }
  }
  std::memcpy(&executor.attributes[kNorm], &p, sizeof p);
  executor.run = run;
  executor.workspace_size = roundUp(static_cast<uint64_t>(elements) * sizeof(double));
  return ACLNN_SUCCESS;
}

/* Broadcasts the batches of both and expands the matrices to them. */
bool commonBatch(Operand *x1, Operand *x2, Shape *batch) {
  if (x1->rank < 2 || x2->rank < 2 || columnsOf(*x1) != columnsOf(*x2)) return false;
  for (Operand *matrices : {x1, x2}) {
    Operand outer = *matrices;
    outer.rank -= 2;
    if (!broadcastInto(batch, outer)) return false;
  }
  for (Operand *matrices : {x1, x2}) {
    Shape shape = *batch;
    shape.dims[shape.rank++] = rowsOf(*matrices);
    shape.dims[shape.rank++] = columnsOf(*matrices);
    expandTo(matrices, shape);
  }
  return true;
}

aclnnStatus prepareCdist(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Operand &x1 = executor.operands[0], &x2 = executor.operands[1];
  Shape shape;
  if (!commonBatch(&x1, &x2, &shape)) return refuse(executor, "the shapes of x1 and x2 do not fit");
  shape.dims[shape.rank++] = rowsOf(x1);
  shape.dims[shape.rank++] = rowsOf(x2);
  SIM_TRY(requireShape(executor, executor.operands[2], shape));
  if (arguments[3].integer < 0 || arguments[3].integer > 2) {
    return refuse(executor, "compute_mode is {}, expected 0 to 2", arguments[3].integer);
  }
  const int64_t elements = (rowsOf(x1) + rowsOf(x2)) * columnsOf(x1) + rowsOf(x1) * rowsOf(x2);
  return planDistances(executor, arguments[2].real, runCdist, elements);
}

aclnnStatus prepareCdistBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Operand &x1 = executor.operands[1], &x2 = executor.operands[2];
  Shape shape;
  SIM_TRY(requireShape(executor, executor.operands[4], shapeOf(x1)));
  if (!commonBatch(&x1, &x2, &shape)) return refuse(executor, "the shapes of x1 and x2 do not fit");
  shape.dims[shape.rank++] = rowsOf(x1);
  shape.dims[shape.rank++] = rowsOf(x2);
  SIM_TRY(requireShape(executor, executor.operands[0], shape));
  SIM_TRY(requireShape(executor, executor.operands[3], shape));
  const int64_t elements = (2 * rowsOf(x1) + rowsOf(x2)) * columnsOf(x1) + 2 * rowsOf(x1) * rowsOf(x2);
  return planDistances(executor, arguments[4].real, runCdistBackward, elements);
}

aclnnStatus preparePdist(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &self = executor.operands[0];
  Shape shape = {1, {self.dims[0] * (self.dims[0] - 1) / 2}};
  SIM_TRY(requireShape(executor, executor.operands[1], shape));
  return planDistances(executor, arguments[1].real, runPdist, self.count);
}

}  // namespace

SIM_OP(aclnnCdist, prepareCdist, nullptr, 0)
SIM_OP(aclnnCdistBackward, prepareCdistBackward, nullptr, 0)
SIM_OP(aclnnPdist, preparePdist, nullptr, 0)

}  // namespace sim
