/* Products of matrices of int8, of which scales make real numbers, and of groups of rows or columns, each with a matrix
 * of its own. They add up in double, which holds sums of products of int8 exactly. */
#include <algorithm>

#include "opapi/kernels/matrices.h"
#include "opapi/vector.h"

namespace sim {
namespace {

const aclError kFault = ACL_ERROR_RT_AICORE_EXCEPTION;

/* A tensor of the call, by the place of its parameter; an absent one has no tensor. Of a list, its only tensor. */
Operand operandOf(const aclOpExecutor &executor, uint32_t parameter) {
  for (const Operand &operand : executor.operands) {
    if (operand.parameter == parameter) return operand;
  }
  return Operand{};
}

bool isGiven(const Operand &operand) { return operand.tensor != nullptr; }

/* Numbers of which a product has one for each column, or one for all. */
struct PerColumn {
  const double *values = nullptr; /* NULL: none */
  int64_t step = 0;

  double at(int64_t column) const { return values[column * step]; }
};

/* What becomes of the sums of a row: ((sum + early bias) * scale * token's scale) + late bias + offset. */
struct Epilogue {
  PerColumn early, scale, late, offset;
};

void finishRow(const Epilogue &epilogue, double token_scale, int64_t count, double *sums) {
  for (int64_t j = 0; j < count; ++j) {
    double value = sums[j];
    if (epilogue.early.values != nullptr) value += epilogue.early.at(j);
    if (epilogue.scale.values != nullptr) value *= epilogue.scale.at(j);
    value *= token_scale;
    if (epilogue.late.values != nullptr) value += epilogue.late.at(j);
    if (epilogue.offset.values != nullptr) value += epilogue.offset.at(j);
    sums[j] = value;
  }
}

/* sums[j] = sum of x[i] * weight[i * n + j] */
SIM_CLONES void multiplyRow(const double *x, const double *weight, int64_t k, int64_t n, double *sums) {
  std::fill_n(sums, n, 0.0);
  for (int64_t i = 0; i < k; ++i) {
    const double factor = x[i], *row = weight + i * n;
    SIM_INDEPENDENT
    for (int64_t j = 0; j < n; ++j) sums[j] += factor * row[j];
  }
}

/* The part of a matrix from row or column `first` on. */
Operand slice(Operand matrix, int32_t dim, int64_t first, int64_t count) {
  matrix.host += first * matrix.strides[dim] * matrix.item;
  matrix.dims[dim] = count;
  matrix.count = matrix.dims[0] * matrix.dims[1];
  return matrix;
}

void readAll(const Operand &operand, double *to) {
  if (operand.count > 0) readElements(operand, to);
}

/* The sums of integers that are to become int8 are rounded and kept within its range. */
void writeRow(const Operand &out, double *sums) {
  if (out.type == ACL_INT8) {
    for (int64_t j = 0; j < out.count; ++j) sums[j] = std::fmin(std::fmax(std::nearbyint(sums[j]), -128.0), 127.0);
  }
  writeElements(out, sums);
}

/* out = x @ weight, of matrices. The buffer has room for a row of x, the weight and a row of out. */
void multiply(const Operand &x, const Operand &weight, const Operand &out, const Epilogue &epilogue,
              const double *token_scales, double *buffer) {
  const int64_t m = rowsOf(x), k = columnsOf(x), n = columnsOf(weight);
  double *factors = buffer + k, *sums = factors + k * n;
  if (m == 0 || n == 0) return;
  readAll(weight, factors);
  for (int64_t i = 0; i < m; ++i) {
    readAll(slice(x, 0, i, 1), buffer);
    multiplyRow(buffer, factors, k, n, sums);
    finishRow(epilogue, token_scales != nullptr ? token_scales[i] : 1.0, n, sums);
    writeRow(slice(out, 0, i, 1), sums);
  }
}

int64_t bufferOf(int64_t k, int64_t n) { return k + k * n + n; }

void transpose(Operand *matrix) {
  const int32_t last = matrix->rank - 1;
  std::swap(matrix->dims[last], matrix->dims[last - 1]);
  std::swap(matrix->strides[last], matrix->strides[last - 1]);
}

/* Scales: as they are, or what aclnnTransQuantParamV2 has made of them, an integer with the bits of a float in it. */
PerColumn readScales(const Operand &operand, int64_t columns, double *to) {
  if (!isGiven(operand)) return {};
  if (operand.type == ACL_INT64 || operand.type == ACL_UINT64) {
    int64_t *packed = reinterpret_cast<int64_t *>(to);
    readElements(operand, packed);
    for (int64_t i = 0; i < operand.count; ++i)
      to[i] = static_cast<double>(bitsToFloat(static_cast<uint32_t>(packed[i])));
  } else {
    readAll(operand, to);
  }
  return {to, operand.count == 1 && columns > 1 ? 0 : 1};
}

bool isPerColumn(const Operand &operand, int64_t columns) {
  return !isGiven(operand) || (operand.rank == 1 && (operand.dims[0] == 1 || operand.dims[0] == columns));
}

/* --- aclnnQuantMatmulV4: x1, x2, scale, offset, pertokenScale, bias, transposeX1, transposeX2, out ------------------
 */

enum Quantized : uint32_t { kX1, kX2, kScale, kOffset, kTokenScale, kBias, kTransposeX1, kTransposeX2, kOut };

aclError runQuantMatmul(const aclOpExecutor &executor) {
  const Operand x1 = operandOf(executor, kX1), x2 = operandOf(executor, kX2), out = operandOf(executor, kOut);
  const Operand scale = operandOf(executor, kScale), offset = operandOf(executor, kOffset);
  const Operand token_scale = operandOf(executor, kTokenScale), bias = operandOf(executor, kBias);
  if (out.count == 0) return ACL_SUCCESS;
  const int64_t m = rowsOf(x1), n = columnsOf(x2);
  double *scales = reinterpret_cast<double *>(executor.workspace), *biases = scales + n, *token_scales = biases + n;
  double *offsets = token_scales + m, *buffer = offsets + n;
  Epilogue epilogue;
  epilogue.scale = readScales(scale, n, scales);
  epilogue.offset = readScales(offset, n, offsets);
  (bias.type == ACL_INT32 ? epilogue.early : epilogue.late) = readScales(bias, n, biases);
  if (isGiven(token_scale)) readAll(token_scale, token_scales);
  const Operand outs = batchOf(out);
  Cursor a(batchOf(x1)), b(batchOf(x2)), c(outs);
  for (int64_t count = countOf(outs); count > 0; --count, a.skip(1), b.skip(1), c.skip(1)) {
    multiply(partAt(x1, 2, a.position(), kF64), partAt(x2, 2, b.position(), kF64), partAt(out, 2, c.position(), kF64),
             epilogue, isGiven(token_scale) ? token_scales : nullptr, buffer);
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareQuantMatmul(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Operand &x1 = executor.operands[kX1], &x2 = executor.operands[kX2];
  const Operand &scale = executor.operands[kScale], &offset = executor.operands[kOffset];
  const Operand &token_scale = executor.operands[kTokenScale], &bias = executor.operands[kBias];
  const Operand &out = executor.operands[6];
  if (x1.type != ACL_INT8 || x2.type != ACL_INT8)
    return refuse(executor, "x1 and x2 are not INT8, which this kernel takes");
  if (out.type == ACL_INT32) return refuseType(executor, out.type);
  if (arguments[kTransposeX1].integer != 0) transpose(&x1);
  if (arguments[kTransposeX2].integer != 0) transpose(&x2);
  if (columnsOf(x1) != rowsOf(x2)) {
    return refuse(executor, "the inner dimensions {} and {} differ", columnsOf(x1), rowsOf(x2));
  }
  Shape shape = shapeOf(x1);
  shape.rank -= 2;
  if (!broadcastInto(&shape, batchOf(x2))) return refuse(executor, "the batches of x1 and x2 do not fit");
  expandBatch(&x1, shape);
  expandBatch(&x2, shape);
  const int64_t m = rowsOf(x1), n = columnsOf(x2);
  shape.dims[shape.rank++] = m;
  shape.dims[shape.rank++] = n;
  SIM_TRY(requireShape(executor, out, shape));
  for (const Operand *each : {&scale, &offset, &bias}) {
    if (!isPerColumn(*each, n)) return refuse(executor, "{} has neither 1 nor {} elements in one dimension", *each, n);
  }
  if (isGiven(offset) && out.type != ACL_INT8) return refuse(executor, "offset is given, and out is not INT8");
  if (isGiven(token_scale)) {
    SIM_TRY(requireShape(executor, token_scale, vectorShape(m)));
    if (out.type == ACL_INT8) return refuse(executor, "pertokenScaleOptional is given, and out is INT8");
  }
  executor.run = runQuantMatmul;
  executor.workspace_size = roundUp(static_cast<uint64_t>(3 * n + m + bufferOf(columnsOf(x1), n)) * sizeof(double));
  return ACLNN_SUCCESS;
}

/* --- aclnnTransQuantParamV2: scale, offset, out --------------------------------------------------------------------
 */

/* The upper 19 bits of the float, nine bits of the offset above them, and a bit that says that it is such a number. */
aclError runTransQuantParam(const aclOpExecutor &executor) {
  const Operand &scale = executor.operands[0], &offset = executor.operands[1], &out = executor.operands[2];
  if (out.count == 0) return ACL_SUCCESS;
  double *scales = reinterpret_cast<double *>(executor.workspace), *offsets = scales + out.count;
  int64_t *packed = reinterpret_cast<int64_t *>(offsets + out.count);
  readAll(scale, scales);
  std::fill_n(offsets, out.count, 0.0);
  if (isGiven(offset)) readAll(offset, offsets);
  for (int64_t i = 0; i < out.count; ++i) {
    const double whole =
        std::fmin(std::fmax(std::nearbyint(offsets[isGiven(offset) && offset.count > 1 ? i : 0]), -256), 255);
    const int64_t bits = floatToBits(static_cast<float>(scales[scale.count > 1 ? i : 0])) & 0xFFFFE000u;
    packed[i] = bits | (static_cast<int64_t>(whole) & 0x1FF) << 37 | int64_t{1} << 46;
  }
  writeElements(out, packed);
  return ACL_SUCCESS;
}

aclnnStatus prepareTransQuantParam(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const Operand &scale = executor.operands[0], &offset = executor.operands[1], &out = executor.operands[2];
  Shape shape = shapeOf(scale);
  if (isGiven(offset) && !broadcastInto(&shape, offset)) return refuse(executor, "scale and offset do not fit");
  SIM_TRY(requireShape(executor, out, shape));
  executor.run = runTransQuantParam;
  executor.workspace_size = roundUp(static_cast<uint64_t>(3 * out.count) * sizeof(double));
  return ACLNN_SUCCESS;
}

/* --- aclnnWeightQuantBatchMatmulV2: x, weight, antiquantScale, antiquantOffset, quantScale, quantOffset, bias,
 *     antiquantGroupSize, y --------------------------------------------------------------------------------------- */

enum WeightQuantized : uint32_t {
  kX,
  kWeight,
  kWeightScale,
  kWeightOffset,
  kQuantScale,
  kQuantOffset,
  kAdded,
  kGroup,
  kY
};

/* x @ ((weight + offset) * scale) + bias */
aclError runWeightQuant(const aclOpExecutor &executor) {
  const Operand x = operandOf(executor, kX), weight = operandOf(executor, kWeight), y = operandOf(executor, kY);
  const Operand offset = operandOf(executor, kWeightOffset), bias = operandOf(executor, kAdded);
  if (y.count == 0) return ACL_SUCCESS;
  const int64_t m = rowsOf(x), k = columnsOf(x), n = columnsOf(weight);
  double *scales = reinterpret_cast<double *>(executor.workspace), *offsets = scales + n, *biases = offsets + n;
  double *row = biases + n, *factors = row + k, *sums = factors + k * n;
  const PerColumn scale = readScales(operandOf(executor, kWeightScale), n, scales);
  const PerColumn shift = readScales(offset, n, offsets);
  Epilogue epilogue;
  epilogue.late = readScales(bias, n, biases);
  readAll(weight, factors);
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double &each = factors[i * n + j];
      each = (each + (shift.values != nullptr ? shift.at(j) : 0.0)) * scale.at(j);
    }
  }
  for (int64_t i = 0; i < m; ++i) {
    readAll(slice(x, 0, i, 1), row);
    multiplyRow(row, factors, k, n, sums);
    finishRow(epilogue, 1.0, n, sums);
    writeRow(slice(y, 0, i, 1), sums);
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareWeightQuant(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand x = operandOf(executor, kX), weight = operandOf(executor, kWeight), y = operandOf(executor, kY);
  if (x.rank != 2 || weight.rank != 2 || columnsOf(x) != rowsOf(weight)) {
    return refuse(executor, "x and weight are no matrices with equal inner dimensions");
  }
  if (weight.type != ACL_INT8)
    return refuse(executor, "weight has data type {}, this kernel has INT8 only", weight.type);
  if (arguments[kGroup].integer != 0) return refuse(executor, "antiquantGroupSize is not 0, which this kernel takes");
  if (isGiven(operandOf(executor, kQuantScale)) || isGiven(operandOf(executor, kQuantOffset))) {
    return refuse(executor, "quantScaleOptional or quantOffsetOptional is given, this kernel has them left out only");
  }
  SIM_TRY(requireShape(executor, y, {2, {rowsOf(x), columnsOf(weight)}}));
  if (y.type != x.type) return refuse(executor, "x and y have different data types");
  const Operand scale = operandOf(executor, kWeightScale), offset = operandOf(executor, kWeightOffset);
  const Operand bias = operandOf(executor, kAdded);
  if (scale.type != x.type) return refuse(executor, "x and antiquantScale have different data types");
  for (const Operand *each : {&scale, &offset, &bias}) {
    if (!isPerColumn(*each, columnsOf(weight))) {
      return refuse(executor, "{} has neither 1 nor {} elements in one dimension", *each, columnsOf(weight));
    }
  }
  executor.run = runWeightQuant;
  const int64_t floats = 3 * columnsOf(weight) + bufferOf(columnsOf(x), columnsOf(weight));
  executor.workspace_size = roundUp(static_cast<uint64_t>(floats) * sizeof(double));
  return ACLNN_SUCCESS;
}

/* --- aclnnGroupedMatmulV4, of one tensor each ----------------------------------------------------------------------
 */

enum Grouped : uint32_t {
  kRows,
  kWeights,
  kBiases,
  kScales,
  kOffsets,
  kAntiquantScales,
  kAntiquantOffsets,
  kTokenScales,
  kGroups,
  kActivation,
  kActivationScale,
  kActivationOffset,
  kSplitItem,
  kGroupType,
  kGroupListType,
  kActType,
  kResult,
  kFeature,
  kDynamicScale,
};

constexpr int64_t kGroupsOfRows = 0, kGroupsOfColumns = 2, kSizes = 1;

/* The vector or matrix of a group, of a tensor that has one for each. */
Operand partOf(const Operand &operand, int64_t group) {
  return partAt(operand, operand.rank - 1, operand.host + group * operand.strides[0] * operand.item, kF64);
}

aclError runGroupedMatmul(const aclOpExecutor &executor) {
  const Operand x = operandOf(executor, kRows), weight = operandOf(executor, kWeights);
  const Operand out = operandOf(executor, kResult), bias = operandOf(executor, kBiases);
  const Operand scale = operandOf(executor, kScales), token_scale = operandOf(executor, kTokenScales);
  const Operand groups = operandOf(executor, kGroups);
  const bool of_rows = executor.attributes[0] == kGroupsOfRows;
  const int64_t n = columnsOf(out), all = of_rows ? rowsOf(x) : columnsOf(x);
  int64_t *sizes = reinterpret_cast<int64_t *>(executor.workspace);
  double *scales = reinterpret_cast<double *>(sizes + groups.count), *biases = scales + n, *token_scales = biases + n;
  double *buffer = token_scales + rowsOf(x);
  if (groups.count > 0) readElements(groups, sizes);
  if (isGiven(token_scale)) readAll(token_scale, token_scales);
  int64_t first = 0;
  for (int64_t group = 0; group < groups.count; ++group) {
    const int64_t end = executor.attributes[1] == kSizes ? first + sizes[group] : sizes[group];
    if (end < first || end > all) return kFault;
    if (of_rows) {
      Epilogue epilogue;
      if (isGiven(scale)) epilogue.scale = readScales(partOf(scale, group), n, scales);
      if (isGiven(bias)) {
        (bias.type == ACL_INT32 ? epilogue.early : epilogue.late) = readScales(partOf(bias, group), n, biases);
      }
      multiply(slice(x, 0, first, end - first), partOf(weight, group), slice(out, 0, first, end - first), epilogue,
               isGiven(token_scale) ? token_scales + first : nullptr, buffer);
    } else {
      multiply(slice(x, 1, first, end - first), slice(weight, 0, first, end - first), partOf(out, group), {}, nullptr,
               buffer);
    }
    first = end;
  }
  if (of_rows && first < all && n > 0) { /* rows of no group */
    std::fill_n(buffer, n, 0.0);
    for (int64_t row = first; row < all; ++row) writeElements(slice(out, 0, row, 1), buffer);
  }
  return ACL_SUCCESS;
}

aclnnStatus refuseFurther(const aclOpExecutor &executor) {
  for (uint32_t parameter : {kOffsets, kAntiquantScales, kAntiquantOffsets, kActivation, kActivationScale,
                             kActivationOffset, kFeature, kDynamicScale}) {
    const Operand operand = operandOf(executor, parameter);
    if (isGiven(operand)) return refuse(executor, "{} is given, this kernel has it left out only", operand);
  }
  return ACLNN_SUCCESS;
}

/* One tensor in each list that is given: the simulator has no call for several. */
aclnnStatus requireSingle(const aclOpExecutor &executor) {
  for (uint32_t i = 1; i < executor.operands.size(); ++i) {
    if (executor.operands[i].parameter == executor.operands[i - 1].parameter) {
      return refuse(executor, "{} has several tensors, this kernel takes one", executor.operands[i]);
    }
  }
  return ACLNN_SUCCESS;
}

aclnnStatus checkScales(const aclOpExecutor &executor, int64_t groups, int64_t m, int64_t n) {
  const Operand scale = operandOf(executor, kScales), token_scale = operandOf(executor, kTokenScales);
  const bool integers = operandOf(executor, kRows).type == ACL_INT8;
  if (integers != isGiven(scale)) {
    return refuse(executor,
                  integers ? "x is INT8, and scaleOptional is left out" : "scaleOptional is given, and x is not INT8");
  }
  if (isGiven(scale)) SIM_TRY(requireShape(executor, scale, {2, {groups, n}}));
  if (!isGiven(token_scale)) return ACLNN_SUCCESS;
  if (!integers) return refuse(executor, "perTokenScaleOptional is given, and x is not INT8");
  return requireShape(executor, token_scale, vectorShape(m));
}

aclnnStatus prepareGroupedMatmul(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  SIM_TRY(requireSingle(executor));
  SIM_TRY(refuseFurther(executor));
  const Operand x = operandOf(executor, kRows), weight = operandOf(executor, kWeights);
  const Operand out = operandOf(executor, kResult), groups = operandOf(executor, kGroups);
  const Operand bias = operandOf(executor, kBiases);
  const int64_t type = arguments[kGroupType].integer, list_type = arguments[kGroupListType].integer;
  if (type != kGroupsOfRows && type != kGroupsOfColumns)
    return refuse(executor, "groupType is {}, this kernel has 0 and 2", type);
  if (list_type != 0 && list_type != kSizes)
    return refuse(executor, "groupListType is {}, this kernel has 0 and 1", list_type);
  if (arguments[kActType].integer != 0) return refuse(executor, "actType is not 0, which this kernel takes");
  if (arguments[kSplitItem].integer < 2) return refuse(executor, "splitItem is not 2 or 3, which this kernel takes");
  if (!isGiven(groups) || groups.rank != 1) return refuse(executor, "groupListOptional is no vector");
  const bool of_rows = type == kGroupsOfRows;
  if (x.rank != 2 || weight.rank != (of_rows ? 3 : 2))
    return refuse(executor, "x is no matrix, or weight has another rank");
  if (weight.type != x.type) return refuse(executor, "x and weight have different data types");
  if (of_rows && weight.dims[0] != groups.dims[0]) return refuse(executor, "weight has no matrix for each group");
  if (columnsOf(x) != rowsOf(weight)) {
    return refuse(executor, "the inner dimensions {} and {} differ", columnsOf(x), rowsOf(weight));
  }
  const int64_t m = rowsOf(x), n = columnsOf(weight);
  SIM_TRY(requireShape(executor, out, of_rows ? Shape{2, {m, n}} : Shape{3, {groups.dims[0], m, n}}));
  if (x.type != ACL_INT8 && out.type != x.type) return refuse(executor, "x and out have different data types");
  if (isGiven(bias)) {
    if (!of_rows) return refuse(executor, "biasOptional is given for groups of columns");
    SIM_TRY(requireShape(executor, bias, {2, {groups.dims[0], n}}));
  }
  SIM_TRY(checkScales(executor, groups.dims[0], m, n));
  executor.attributes[0] = type;
  executor.attributes[1] = list_type;
  executor.run = runGroupedMatmul;
  const int64_t numbers = groups.count + 2 * n + m + bufferOf(columnsOf(x), n);
  executor.workspace_size = roundUp(static_cast<uint64_t>(numbers) * sizeof(double));
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnQuantMatmulV4, prepareQuantMatmul, nullptr, 0)
SIM_OP(aclnnTransQuantParamV2, prepareTransQuantParam, nullptr, 0)
SIM_OP(aclnnWeightQuantBatchMatmulV2, prepareWeightQuant, nullptr, 0)
SIM_OP(aclnnGroupedMatmulV4, prepareGroupedMatmul, nullptr, 0)

}  // namespace sim
