/* Quantization to int8, and fake quantization, which rounds numbers to the grid that an integer type of few bits would
 * have. */
#include <cstring>

#include "opapi/scan_sort.h"

namespace sim {
namespace {

enum { kSelf, kScale, kZeroPoint, kOut, kMask };

/* One number for each channel, expanded to the shape of self. */
Operand perChannel(const Operand &numbers, const Operand &self, int32_t axis) {
  Operand result = numbers;
  result.rank = self.rank - axis;
  for (int32_t i = 1; i < result.rank; ++i) result.dims[i] = 1;
  expandTo(&result, shapeOf(self));
  return result;
}

/* self, scale, zeroPoint, out, mask */
aclError runFakeQuantize(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[kSelf];
  if (self.count == 0) return ACL_SUCCESS;
  const int32_t axis = static_cast<int32_t>(executor.attributes[0]), last = self.rank - 1;
  const float least = static_cast<float>(executor.attributes[1]), most = static_cast<float>(executor.attributes[2]);
  SliceCursor from(self, last, kF32), scales(perChannel(executor.operands[kScale], self, axis), last, kF32);
  SliceCursor zero_points(perChannel(executor.operands[kZeroPoint], self, axis), last, kF32);
  SliceCursor to(executor.operands[kOut], last, kF32), mask(executor.operands[kMask], last, kBoolean8);
  const int64_t length = from.length();
  float *x = reinterpret_cast<float *>(executor.workspace), *scale = x + length, *zero_point = scale + length;
  Boolean *in_range = reinterpret_cast<Boolean *>(zero_point + length);
  for (int64_t first = 0; first < self.count; first += length) {
    from.read(x);
    scales.read(scale);
    zero_points.read(zero_point);
    for (int64_t i = 0; i < length; ++i) {
      const float quantized = std::nearbyint(x[i] * (1.0f / scale[i])) + zero_point[i];
      in_range[i] = static_cast<Boolean>(quantized >= least && quantized <= most);
      x[i] = (std::fmin(std::fmax(quantized, least), most) - zero_point[i]) * scale[i];
    }
    to.write(x);
    mask.write(in_range);
    for (SliceCursor *each : {&from, &scales, &zero_points, &to, &mask}) each->next();
  }
  return ACL_SUCCESS;
}

/* self, scale, zeroPoint, axis, quantMin, quantMax, out, mask */
aclnnStatus prepareFakeQuantize(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &self = executor.operands[kSelf];
  const int64_t quant_min = arguments[4].integer, quant_max = arguments[5].integer;
  int32_t axis;
  SIM_TRY(normalizeDim(executor, arguments[3].integer, self.rank, &axis));
  const Shape channels = vectorShape(self.rank == 0 ? 1 : self.dims[axis]);
  SIM_TRY(requireShape(executor, executor.operands[kScale], channels));
  SIM_TRY(requireShape(executor, executor.operands[kZeroPoint], channels));
  SIM_TRY(requireShape(executor, executor.operands[kOut], shapeOf(self)));
  SIM_TRY(requireShape(executor, executor.operands[kMask], shapeOf(self)));
  if (quant_min > quant_max) return refuse(executor, "quantMin is {}, quantMax is {}", quant_min, quant_max);
  if (executor.operands[kOut].type != self.type) return refuse(executor, "self and out have different data types");
  executor.attributes[0] = axis;
  executor.attributes[1] = quant_min;
  executor.attributes[2] = quant_max;
  const int64_t length = self.rank == 0 ? 1 : self.dims[self.rank - 1];
  executor.workspace_size = roundUp(static_cast<uint64_t>(length) * (3 * sizeof(float) + sizeof(Boolean)));
  executor.run = runFakeQuantize;
  return ACLNN_SUCCESS;
}

/* x, smoothScalesOptional, yOut, scaleOut: for each line the scale that takes its largest number to 127. The scale of a
 * line with a NaN is NaN; its numbers, and those of a line of zeros, become 0. */
aclError runDynamicQuant(const aclOpExecutor &executor) {
  const Operand &x = executor.operands[0], &smooth = executor.operands[1];
  if (x.count == 0) return ACL_SUCCESS;
  const int32_t last = x.rank - 1;
  Operand scale_out = executor.operands[3];
  scale_out.compute = kF32;
  Cursor scales(scale_out);
  SliceCursor from(x, last, kF32), to(executor.operands[2], last, kF32);
  const int64_t length = from.length();
  float *line = reinterpret_cast<float *>(executor.workspace), *factors = line + length;
  std::fill_n(factors, length, 1.0f);
  if (smooth.tensor != nullptr) SliceCursor(smooth, 0, kF32).read(factors);
  for (int64_t first = 0; first < x.count; first += length, from.next(), to.next()) {
    from.read(line);
    float largest = 0.0f;
    for (int64_t i = 0; i < length; ++i) {
      line[i] *= factors[i];
      const float size = std::fabs(line[i]);
      if (size > largest || std::isnan(size)) largest = size; /* a NaN stays: nothing is larger */
    }
    const float scale = largest / 127.0f;
    for (int64_t i = 0; i < length; ++i) line[i] = scale > 0.0f ? std::nearbyint(line[i] / scale) : 0.0f;
    scales.write(&scale, 1);
    to.write(line);
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareDynamicQuant(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const Operand &x = executor.operands[0], &smooth = executor.operands[1], &y = executor.operands[2];
  if (x.rank < 2) return refuse(executor, "x has {} dimensions, expected 2 or more", x.rank);
  const int64_t length = x.dims[x.rank - 1];
  if (length == 0) return refuse(executor, "the lines of x have no elements");
  if (y.type != ACL_INT8) return refuse(executor, "yOut has data type {}, this kernel has INT8 only", y.type);
  Shape shape = shapeOf(x);
  SIM_TRY(requireShape(executor, y, shape));
  shape.rank -= 1;
  SIM_TRY(requireShape(executor, executor.operands[3], shape));
  if (smooth.tensor != nullptr) {
    SIM_TRY(requireShape(executor, smooth, vectorShape(length)));
    if (smooth.type != x.type) return refuse(executor, "x and smoothScalesOptional have different data types");
  }
  executor.workspace_size = roundUp(static_cast<uint64_t>(length) * 2 * sizeof(float));
  executor.run = runDynamicQuant;
  return ACLNN_SUCCESS;
}

/* x1, x2, gamma, scales1, scales2, zeroPoints1, zeroPoints2, and y1, y2, x: the sum, its RMS norm by two scales. */
enum NormQuant { kFirst, kSecond, kGamma, kScale1, kScale2, kZero1, kZero2, kY1, kY2, kSum };

struct NormQuantFactors {
  double epsilon;
  int64_t divides;
};

aclError runNormQuant(const aclOpExecutor &executor) {
  const auto &operands = executor.operands;
  const Operand &x = operands[kFirst];
  if (x.count == 0) return ACL_SUCCESS;
  NormQuantFactors call;
  std::memcpy(&call, executor.attributes, sizeof call);
  const int32_t last = x.rank - 1;
  SliceCursor first(x, last, kF32), second(operands[kSecond], last, kF32), sums(operands[kSum], last, kF32);
  SliceCursor out[2] = {SliceCursor(operands[kY1], last, kF32), SliceCursor(operands[kY2], last, kF32)};
  const int64_t n = first.length();
  float *line = reinterpret_cast<float *>(executor.workspace), *other = line + n, *gamma = other + n;
  float *scale[2] = {gamma + n, gamma + 2 * n}, *zero[2] = {gamma + 3 * n, gamma + 4 * n};
  readElements(operands[kGamma], gamma);
  for (int i = 0; i < 2; ++i) {
    const Operand &scales = operands[i == 0 ? kScale1 : kScale2], &points = operands[i == 0 ? kZero1 : kZero2];
    std::fill_n(zero[i], n, 0.0f);
    if (scales.tensor != nullptr) readElements(scales, scale[i]);
    if (points.tensor != nullptr) readElements(points, zero[i]);
  }
  for (int64_t done = 0; done < x.count; done += n) {
    first.read(line);
    second.read(other);
    double squares = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      line[i] += other[i];
      squares += static_cast<double>(line[i]) * static_cast<double>(line[i]);
    }
    sums.write(line);
    const float factor = static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(n) + call.epsilon));
    for (int64_t i = 0; i < n; ++i) line[i] *= factor * gamma[i];
    for (int side = 0; side < 2; ++side) {
      if (operands[side == 0 ? kScale1 : kScale2].tensor == nullptr) continue;
      for (int64_t i = 0; i < n; ++i) {
        const float scaled = call.divides != 0 ? line[i] / scale[side][i] : line[i] * scale[side][i];
        other[i] = std::fmin(std::fmax(std::nearbyint(scaled + zero[side][i]), -128.0f), 127.0f);
      }
      out[side].write(other);
    }
    for (SliceCursor *each : {&first, &second, &sums, &out[0], &out[1]}) each->next();
  }
  return ACL_SUCCESS;
}

/* ..., axis, epsilon, divMode, ... */
aclnnStatus prepareNormQuant(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const auto &operands = executor.operands;
  const Operand &x = operands[kFirst];
  if (x.rank == 0 || operands[kGamma].rank != 1) return refuse(executor, "x1 is a number, or gamma is no vector");
  const int64_t n = x.dims[x.rank - 1];
  for (int index : {kSecond, kSum, kY1})
    SIM_TRY(requireShape(executor, operands[static_cast<uint32_t>(index)], shapeOf(x)));
  for (int index : {kGamma, kScale1, kScale2, kZero1, kZero2}) {
    const Operand &operand = operands[static_cast<uint32_t>(index)];
    if (operand.tensor != nullptr) SIM_TRY(requireShape(executor, operand, vectorShape(n)));
  }
  for (int index : {kSecond, kGamma, kSum}) {
    const Operand &operand = operands[static_cast<uint32_t>(index)];
    if (operand.type != x.type) return refuse(executor, "x1 and {} have different data types", operand);
  }
  for (int index : {kY1, kY2}) {
    const Operand &operand = operands[static_cast<uint32_t>(index)];
    if (operand.type != ACL_INT8)
      return refuse(executor, "{} has data type {}, this kernel has INT8 only", operand, operand.type);
  }
  if (operands[kScale2].tensor != nullptr) SIM_TRY(requireShape(executor, operands[kY2], shapeOf(x)));
  const NormQuantFactors call = {arguments[8].real, arguments[9].integer};
  std::memcpy(executor.attributes, &call, sizeof call);
  executor.workspace_size = roundUp(static_cast<uint64_t>(n) * 7 * sizeof(float));
  executor.run = runNormQuant;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnAddRmsNormQuant, prepareNormQuant, nullptr, 0)
SIM_OP(aclnnDynamicQuant, prepareDynamicQuant, nullptr, 0)
SIM_OP(aclnnFakeQuantPerChannelAffineCachemask, prepareFakeQuantize, nullptr, 0)

}  // namespace sim
