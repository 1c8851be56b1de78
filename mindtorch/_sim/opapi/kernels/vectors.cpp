/* Products and norms of vectors. */
#include "opapi/kernels/matrices.h"
#include "opapi/kernels/reduce.h"
#include "opapi/lines.h"

namespace sim {
namespace {

SIM_ELEMENT(Product, 2, kAll, 0, multiply(x, y))
/* A beta of 0 hides even a NaN in self. */
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
  const C alpha = numberAs<C>(executor.numbers[0]), beta = numberAs<C>(executor.numbers[1]);
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
  LineCursor left(executor.operands[0], dim, compute), right(executor.operands[1], dim, compute);
  LineCursor out(executor.operands[2], dim, compute);
  for (int64_t line = executor.operands[2].count / 3; line > 0; --line) {
    C a[3], b[3], c[3];
    left.read(a);
    right.read(b);
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      c[i] = subtract(multiply(a[j], b[k]), multiply(a[k], b[j]));
    }
    out.write(c);
    for (LineCursor *each : {&left, &right, &out}) each->next();
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

/* The norm of the elements that `values` walks over, in double. */
double normOf(Cursor *values, int64_t total, double order) {
  double buffer[kBlock], norm = std::isinf(order) && order < 0 ? HUGE_VAL : 0;
  for (int64_t first = 0; first < total; first += kBlock) {
    const int64_t count = std::min(kBlock, total - first);
    const double *block = static_cast<const double *>(values->read(buffer, count));
    for (int64_t i = 0; i < count; ++i) {
      const double size = std::fabs(block[i]);
      if (std::isinf(order)) {
        norm = order > 0 ? larger(size, norm) : smaller(size, norm);
      } else if (order == 2) {
        norm += size * size;
      } else {
        norm += order == 0 ? size != 0 : std::pow(size, order);
      }
    }
  }
  if (order == 2) return std::sqrt(norm);
  return std::isinf(order) || order == 0 ? norm : std::pow(norm, 1 / order);
}

aclError runNorm(const aclOpExecutor &executor) {
  Operand in = executor.operands[0], out = executor.operands[1];
  in.compute = out.compute = kF64;
  const Division view = divide(in, static_cast<uint32_t>(executor.attributes[0]));
  Cursor kept(view.kept), target(out);
  for (int64_t i = 0; i < out.count; ++i, kept.skip(1)) {
    Operand part = view.reduced;
    part.host = kept.position();
    Cursor values(part);
    const double norm = normOf(&values, elementsOf(part), executor.numbers[0].real);
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
  const double order = executor.numbers[0].real, most = executor.numbers[1].real;
  double buffer[kBlock];
  for (int64_t i = 0; self.count > 0 && i < self.dims[dim]; ++i) {
    const Operand slice = sliceOf(self, dim, i);
    Cursor measured(slice), values(slice), target(sliceOf(out, dim, i));
    const float norm = static_cast<float>(normOf(&measured, slice.count, order));
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
  if (!(executor.numbers[0].real > 0))
    return refuse(executor, "p is {}, expected more than 0", executor.numbers[0].real);
  if (!(executor.numbers[1].real >= 0)) {
    return refuse(executor, "maxNorm is {}, expected 0 or more", executor.numbers[1].real);
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
    in.compute = out.compute = kF64;
    Cursor values(in), target(out);
    const double norm = normOf(&values, in.count, executor.numbers[0].real);
    target.write(&norm, 1);
  }
  return ACL_SUCCESS;
}

/* x, scalar, out: a 0-d tensor for each. */
aclnnStatus prepareForeachNorm(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const uint32_t tensors = executor.operands.size() / 2;
  if (executor.numbers[0].real != 1 && executor.numbers[0].real != 2) {
    return refuse(executor, "scalar is {}, expected 1 or 2", executor.numbers[0].real);
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
