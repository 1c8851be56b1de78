/* Cumulative and sorting operators: line by line, in the workspace. */
#include "opapi/lines.h"

namespace sim {
namespace {

enum Attribute { kDim, kCompute, kDescending };

int64_t lineCount(const Operand &operand, int64_t length) { return length == 0 ? 0 : operand.count / length; }

aclError runScan(const aclOpExecutor &executor) {
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  const uint8_t compute = static_cast<uint8_t>(executor.attributes[kCompute]);
  LineCursor in(executor.operands[0], dim, compute), out(executor.operands[1], dim, compute);
  const auto run = static_cast<const Scan *>(executor.kernel)->run[compute];
  for (int64_t i = lineCount(executor.operands[0], in.length()); i > 0; --i, in.next(), out.next()) {
    in.read(executor.workspace);
    run(executor.workspace, in.length());
    out.write(executor.workspace);
  }
  return ACL_SUCCESS;
}

template <class C, bool Descending>
aclError runSort(const aclOpExecutor &executor) {
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  LineCursor in(executor.operands[0], dim, computeOfType<C>());
  LineCursor values_out(executor.operands[1], dim, computeOfType<C>()), indices_out(executor.operands[2], dim, kI64);
  const int64_t length = in.length();
  Ranked<C> *ranked = reinterpret_cast<Ranked<C> *>(executor.workspace);
  int64_t *indices = reinterpret_cast<int64_t *>(ranked + length);
  C *values = reinterpret_cast<C *>(indices + length);
  for (int64_t line = lineCount(executor.operands[0], length); line > 0; --line) {
    in.read(values);
    for (int64_t i = 0; i < length; ++i) ranked[i] = {values[i], i};
    std::sort(ranked, ranked + length, comesBefore<C, Descending>);
    for (int64_t i = 0; i < length; ++i) {
      values[i] = ranked[i].value;
      indices[i] = ranked[i].index;
    }
    values_out.write(values);
    indices_out.write(indices);
    for (LineCursor *each : {&in, &values_out, &indices_out}) each->next();
  }
  return ACL_SUCCESS;
}

template <bool Descending>
constexpr aclError (*kSort[])(const aclOpExecutor &) = {runSort<float, Descending>, runSort<double, Descending>,
                                                        runSort<int64_t, Descending>};

struct CumulativeSum {
  template <class C>
  static C apply(C sum, C x) {
    return add(sum, x);
  }
};

/* self, dim, dtype, out */
aclnnStatus prepareCumsum(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  return prepareScan(executor, *static_cast<const Scan *>(body.kernel), arguments[1].integer,
                     static_cast<aclDataType>(arguments[2].integer));
}

struct CumulativeProduct {
  template <class C>
  static C apply(C product, C x) {
    return multiply(product, x);
  }
};

/* input, dim as a scalar, dtype, out */
aclnnStatus prepareCumprod(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  return prepareScan(executor, *static_cast<const Scan *>(body.kernel), executor.numbers[0].integer,
                     static_cast<aclDataType>(arguments[2].integer));
}

/* self, stable, dim, descending, valuesOut, indicesOut. Always stable. */
aclnnStatus prepareSort(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &in = executor.operands[0], &values = executor.operands[1];
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[2].integer, in.rank, &dim));
  SIM_TRY(requireShape(executor, values, shapeOf(in)));
  SIM_TRY(requireShape(executor, executor.operands[2], shapeOf(in)));
  SIM_TRY(requireCast(executor, in.type, values));
  const uint8_t compute = computeOf(in.type);
  if (compute > kI64 || in.type == ACL_UINT64) return refuseType(executor, in.type); /* no order in the compute type */
  executor.attributes[kDim] = dim;
  executor.run = arguments[3].integer != 0 ? kSort<true>[compute] : kSort<false>[compute];
  const int64_t length = in.rank == 0 ? 1 : in.dims[dim];
  if (in.count > 0) executor.workspace_size = roundUp(static_cast<uint64_t>(length) * 4 * sizeof(int64_t));
  return ACLNN_SUCCESS;
}

}  // namespace

aclnnStatus prepareScan(aclOpExecutor &executor, const Scan &scan, int64_t dim, aclDataType dtype) {
  const Operand &in = executor.operands[0], &out = executor.operands[1];
  if (dtype != out.type) {
    return refuse(executor, "{} has data type {}, expected dtype, which is {}", out, out.type, dtype);
  }
  int32_t normalized;
  SIM_TRY(normalizeDim(executor, dim, in.rank, &normalized));
  SIM_TRY(requireShape(executor, out, shapeOf(in)));
  const uint8_t compute = computeOf(dtype) == kF32 ? kF64 : computeOf(dtype);
  if (compute >= kRaw || scan.run[compute] == nullptr) return refuseType(executor, dtype);
  executor.attributes[kDim] = normalized;
  executor.attributes[kCompute] = compute;
  executor.kernel = &scan;
  executor.run = runScan;
  const int64_t length = in.rank == 0 ? 1 : in.dims[normalized];
  if (in.count > 0) executor.workspace_size = roundUp(static_cast<uint64_t>(length) * sizeof(Complex));
  return ACLNN_SUCCESS;
}

SIM_OP(aclnnCumsum, prepareCumsum, &kScanOf<CumulativeSum>, 0)
SIM_OP(aclnnCumprod, prepareCumprod, &kScanOf<CumulativeProduct>, 0)
SIM_OP(aclnnSort, prepareSort, nullptr, 0)

}  // namespace sim
