/* Maximum pooling with the flat index of each window's first maximum, over fixed and adaptive windows, its gradients,
 * and the reverse. */
#include "opapi/kernels/planes.h"

namespace sim {
namespace {

enum Attribute { kDims, kKernel, kStride = kKernel + 3, kPadding = kStride + 3, kDilation = kPadding + 3 };

/* Elements of the image that one window sees along one dimension: first, first + step, ... before last. */
struct Span {
  int64_t first, last, step;
};
using SpanRule = Span (*)(const aclOpExecutor &, int axis, int64_t image, int64_t positions, int64_t position);

Span fixedSpan(const aclOpExecutor &executor, int axis, int64_t image, int64_t, int64_t position) {
  const int64_t *attributes = executor.attributes;
  const int64_t step = attributes[kDilation + axis];
  const int64_t start = position * attributes[kStride + axis] - attributes[kPadding + axis];
  const int64_t last = std::min(start + (attributes[kKernel + axis] - 1) * step + 1, image);
  return {start < 0 ? start + (-start + step - 1) / step * step : start, last, step};
}

Span adaptiveSpan(const aclOpExecutor &, int, int64_t image, int64_t positions, int64_t position) {
  return {position * image / positions, ((position + 1) * image + positions - 1) / positions, 1};
}

struct Pool {
  SpanRule rule;
  int dims;
};

struct Sizes {
  int64_t image[3], positions[3];
  int64_t imageSize() const { return image[0] * image[1] * image[2]; }
  int64_t positionCount() const { return positions[0] * positions[1] * positions[2]; }
};

Sizes sizesOf(const Operand &image, const Operand &positions, int dims) {
  Sizes sizes;
  for (int i = 0; i < 3; ++i) {
    sizes.image[i] = planeSize(image, dims, i - (3 - dims));
    sizes.positions[i] = planeSize(positions, dims, i - (3 - dims));
  }
  return sizes;
}

Span spanOf(const aclOpExecutor &executor, const Sizes &sizes, int i, int64_t position) {
  const Pool &pool = *static_cast<const Pool *>(executor.kernel);
  const int axis = i - (3 - pool.dims);
  return axis < 0 ? Span{0, 1, 1} : pool.rule(executor, axis, sizes.image[i], sizes.positions[i], position);
}

void poolPlane(const aclOpExecutor &executor, const Sizes &s, const double *image, double *values, int64_t *indices) {
  for (int64_t z = 0; z < s.positions[0]; ++z) {
    const Span depth = spanOf(executor, s, 0, z);
    for (int64_t y = 0; y < s.positions[1]; ++y) {
      const Span height = spanOf(executor, s, 1, y);
      for (int64_t x = 0; x < s.positions[2]; ++x, ++values, ++indices) {
        const Span width = spanOf(executor, s, 2, x);
        int64_t best = -1;
        for (int64_t i = depth.first; i < depth.last; i += depth.step) {
          for (int64_t j = height.first; j < height.last; j += height.step) {
            for (int64_t k = width.first; k < width.last; k += width.step) {
              const int64_t at = (i * s.image[1] + j) * s.image[2] + k;
              if (best < 0 || image[at] > image[best] || (isNan(image[at]) && !isNan(image[best]))) best = at;
            }
          }
        }
        *indices = best;
        *values = best < 0 ? -std::numeric_limits<double>::infinity() : image[best];
      }
    }
  }
}

Operand as(Operand operand, Compute compute) {
  operand.compute = compute;
  return operand;
}

aclError runPool(const aclOpExecutor &executor) {
  const int dims = static_cast<const Pool *>(executor.kernel)->dims;
  const Operand &image = executor.operands[0], &positions = executor.operands[1];
  const Sizes sizes = sizesOf(image, positions, dims);
  double *plane = reinterpret_cast<double *>(executor.workspace), *values = plane + sizes.imageSize();
  int64_t *indices = reinterpret_cast<int64_t *>(values + sizes.positionCount());
  Planes from(as(image, kF64), dims), to(as(positions, kF64), dims), where(as(executor.operands[2], kI64), dims);
  for (int64_t i = planeCount(image, dims); i-- > 0; from.next(), to.next(), where.next()) {
    from.read(plane);
    poolPlane(executor, sizes, plane, values, indices);
    to.write(values);
    where.write(indices);
  }
  return ACL_SUCCESS;
}

/* gradOutput, self, indices, ..., gradInput: each gradient is added where its maximum was. */
aclError runBackward(const aclOpExecutor &executor) {
  const int dims = static_cast<const Pool *>(executor.kernel)->dims;
  const Operand &grad = executor.operands[0], &image = executor.operands[3];
  const Sizes sizes = sizesOf(image, grad, dims);
  double *plane = reinterpret_cast<double *>(executor.workspace), *values = plane + sizes.imageSize();
  int64_t *indices = reinterpret_cast<int64_t *>(values + sizes.positionCount());
  Planes to(as(image, kF64), dims), from(as(grad, kF64), dims), where(as(executor.operands[2], kI64), dims);
  for (int64_t i = planeCount(image, dims); i-- > 0; from.next(), to.next(), where.next()) {
    from.read(values);
    where.read(indices);
    std::fill_n(plane, sizes.imageSize(), 0.0);
    for (int64_t p = 0; p < sizes.positionCount(); ++p) {
      if (indices[p] < 0 || indices[p] >= sizes.imageSize()) return ACL_ERROR_RT_AICORE_EXCEPTION;
      plane[indices[p]] += values[p];
    }
    to.write(plane);
  }
  return ACL_SUCCESS;
}

/* self, out, mask: the format of the mask is internal to CANN's operators. Here it stays unused, and the gradient
 * finds the maxima again. */
aclError runMasked(const aclOpExecutor &executor) {
  const Operand &image = executor.operands[0], &positions = executor.operands[1];
  const Sizes sizes = sizesOf(image, positions, 2);
  double *plane = reinterpret_cast<double *>(executor.workspace), *values = plane + sizes.imageSize();
  int64_t *indices = reinterpret_cast<int64_t *>(values + sizes.positionCount());
  Planes from(as(image, kF64), 2), to(as(positions, kF64), 2);
  for (int64_t i = planeCount(image, 2); i-- > 0; from.next(), to.next()) {
    from.read(plane);
    poolPlane(executor, sizes, plane, values, indices);
    to.write(values);
  }
  return ACL_SUCCESS;
}

/* gradOutput, self, mask, gradInput */
aclError runMaskedBackward(const aclOpExecutor &executor) {
  const Operand &grad = executor.operands[0], &image = executor.operands[1];
  const Sizes sizes = sizesOf(image, grad, 2);
  double *plane = reinterpret_cast<double *>(executor.workspace), *values = plane + sizes.imageSize();
  int64_t *indices = reinterpret_cast<int64_t *>(values + sizes.positionCount());
  Planes seen(as(image, kF64), 2), from(as(grad, kF64), 2), to(as(executor.operands[3], kF64), 2);
  for (int64_t i = planeCount(image, 2); i-- > 0; seen.next(), from.next(), to.next()) {
    seen.read(plane);
    poolPlane(executor, sizes, plane, values, indices);
    from.read(values);
    std::fill_n(plane, sizes.imageSize(), 0.0);
    for (int64_t p = 0; p < sizes.positionCount(); ++p) plane[indices[p]] += values[p];
    to.write(plane);
  }
  return ACL_SUCCESS;
}

/* self, indices, ..., out: writes each element at its index, zeros elsewhere. The bits of 0 are the same for double
 * and int64. */
aclError runUnpool(const aclOpExecutor &executor) {
  const int dims = static_cast<const Pool *>(executor.kernel)->dims;
  const Operand &positions = executor.operands[0], &image = executor.operands[2];
  const Sizes sizes = sizesOf(image, positions, dims);
  const Compute compute = categoryOf(image.type) < kFloating ? kI64 : kF64;
  int64_t *plane = reinterpret_cast<int64_t *>(executor.workspace), *values = plane + sizes.imageSize();
  int64_t *indices = values + sizes.positionCount();
  Planes from(as(positions, compute), dims), where(as(executor.operands[1], kI64), dims), to(as(image, compute), dims);
  for (int64_t i = planeCount(image, dims); i-- > 0; from.next(), where.next(), to.next()) {
    from.read(values);
    where.read(indices);
    std::fill_n(plane, sizes.imageSize(), 0);
    for (int64_t p = 0; p < sizes.positionCount(); ++p) {
      if (indices[p] < 0 || indices[p] >= sizes.imageSize()) return ACL_ERROR_RT_AICORE_EXCEPTION;
      plane[indices[p]] = values[p];
    }
    to.write(plane);
  }
  return ACL_SUCCESS;
}

aclnnStatus requirePositions(const aclOpExecutor &executor, const Operand &image, const int64_t *sizes, int dims,
                             const Operand &positions, const Operand &indices) {
  Shape shape = shapeOf(image);
  if (image.rank != dims + 1 && image.rank != dims + 2) {
    return refuse(executor, "an image of {} dimensions, expected {} or {}", image.rank, dims + 1, dims + 2);
  }
  for (int i = 0; i < dims; ++i) shape.dims[shape.rank - dims + i] = sizes[i];
  SIM_TRY(requireShape(executor, positions, shape));
  return requireShape(executor, indices, shape);
}

aclnnStatus planRun(aclOpExecutor &executor, const OpBody &body, const Operand &image, const Operand &positions,
                    aclError (*run)(const aclOpExecutor &)) {
  executor.kernel = body.kernel;
  executor.run = run;
  const Sizes sizes = sizesOf(image, positions, static_cast<const Pool *>(body.kernel)->dims);
  const int64_t elements = sizes.imageSize() + 2 * sizes.positionCount();
  if (firstOut(executor).count > 0) executor.workspace_size = roundUp(static_cast<uint64_t>(elements) * 8);
  return ACLNN_SUCCESS;
}

/* Reads kernel, stride, padding, dilation and ceilMode from the argument `at` on; computes the output sizes. */
aclnnStatus readPoolArguments(aclOpExecutor &executor, const Argument *arguments, int at, int dims,
                              const Operand &image, int64_t *sizes) {
  int64_t *attributes = executor.attributes;
  const int offsets[] = {kKernel, kStride, kPadding, kDilation};
  for (int i = 0; i < 4; ++i) {
    SIM_TRY(readInts(executor, arguments[at + i].pointer, dims, i == 2 ? 0 : 1, attributes + offsets[i]));
  }
  const bool ceil = arguments[at + 4].integer != 0;
  for (int i = 0; i < dims && image.rank > dims; ++i) {
    const int64_t stride = attributes[kStride + i], padding = attributes[kPadding + i];
    const int64_t size = planeSize(image, dims, i);
    const int64_t reach = attributes[kDilation + i] * (attributes[kKernel + i] - 1) + 1;
    const int64_t extent = size + 2 * padding - reach + (ceil ? stride - 1 : 0);  // of the places of windows
    if (2 * padding > reach || extent < 0) {
      return refuse(executor, "a window that reaches {} with a padding of {} on an image of {}", reach, padding, size);
    }
    sizes[i] = extent / stride + 1;
    if (ceil && (sizes[i] - 1) * stride >= size + padding) --sizes[i];
  }
  return ACLNN_SUCCESS;
}

/* self, kernelSize, stride, padding, dilation, ceilMode, out, indices */
aclnnStatus preparePool(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const int dims = static_cast<const Pool *>(body.kernel)->dims;
  const Operand &image = executor.operands[0], &out = executor.operands[1];
  int64_t sizes[3] = {};
  SIM_TRY(readPoolArguments(executor, arguments, 1, dims, image, sizes));
  SIM_TRY(requirePositions(executor, image, sizes, dims, out, executor.operands[2]));
  return planRun(executor, body, image, out, runPool);
}

/* self, outputSize, out, indices */
aclnnStatus prepareAdaptive(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const int dims = static_cast<const Pool *>(body.kernel)->dims;
  const Operand &image = executor.operands[0], &out = executor.operands[1];
  int64_t sizes[3] = {};
  SIM_TRY(readInts(executor, arguments[1].pointer, dims, 0, sizes));
  SIM_TRY(requirePositions(executor, image, sizes, dims, out, executor.operands[2]));
  return planRun(executor, body, image, out, runPool);
}

/* self, indices, outputSize, [stride, padding,] out */
aclnnStatus prepareUnpool(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const int dims = static_cast<const Pool *>(body.kernel)->dims;
  const Operand &positions = executor.operands[0], &image = executor.operands[2];
  int64_t sizes[3] = {};
  SIM_TRY(readInts(executor, arguments[2].pointer, dims, 1, sizes));
  SIM_TRY(requirePositions(executor, positions, sizes, dims, image, image));
  SIM_TRY(requireShape(executor, executor.operands[1], shapeOf(positions)));
  if (image.type != positions.type) return refuse(executor, "types differ: {} and {}", positions.type, image.type);
  return planRun(executor, body, image, positions, runUnpool);
}

/* gradOutput, self, indices, ..., gradInput */
aclnnStatus prepareBackward(aclOpExecutor &executor, const Argument *, const OpBody &body) {
  const Operand &grad = executor.operands[0], &image = executor.operands[1];
  SIM_TRY(requireShape(executor, executor.operands[2], shapeOf(grad)));
  SIM_TRY(requireShape(executor, executor.operands[3], shapeOf(image)));
  if (grad.rank != image.rank) {
    return refuse(executor, "gradOutput has {} dimensions, self has {}", grad.rank, image.rank);
  }
  return planRun(executor, body, image, grad, runBackward);
}

/* self, kernelSize, stride, padding, dilation, ceilMode, out, mask */
aclnnStatus prepareMasked(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &image = executor.operands[0], &out = executor.operands[1];
  int64_t sizes[3] = {};
  SIM_TRY(readPoolArguments(executor, arguments, 1, 2, image, sizes));
  SIM_TRY(requirePositions(executor, image, sizes, 2, out, out));
  return planRun(executor, body, image, out, runMasked);
}

/* gradOutput, self, mask, kernelSize, stride, padding, dilation, ceilMode, gradInput */
aclnnStatus prepareMaskedBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &grad = executor.operands[0], &image = executor.operands[1];
  int64_t sizes[3] = {};
  SIM_TRY(readPoolArguments(executor, arguments, 3, 2, image, sizes));
  SIM_TRY(requirePositions(executor, image, sizes, 2, grad, grad));
  SIM_TRY(requireShape(executor, executor.operands[3], shapeOf(image)));
  return planRun(executor, body, image, grad, runMaskedBackward);
}

template <SpanRule Rule, int Dims>
constexpr Pool kPool = {Rule, Dims};

}  // namespace

SIM_OP(aclnnMaxPool2dWithIndices, preparePool, &kPool<fixedSpan, 2>, 0)
SIM_OP(aclnnMaxPool2dWithIndicesBackward, prepareBackward, &kPool<fixedSpan, 2>, 0)
SIM_OP(aclnnMaxPool2dWithMask, prepareMasked, &kPool<fixedSpan, 2>, 0)
SIM_OP(aclnnMaxPool2dWithMaskBackward, prepareMaskedBackward, &kPool<fixedSpan, 2>, 0)
SIM_OP(aclnnMaxPool3dWithArgmax, preparePool, &kPool<fixedSpan, 3>, 0)
SIM_OP(aclnnMaxPool3dWithArgmaxBackward, prepareBackward, &kPool<fixedSpan, 3>, 0)
SIM_OP(aclnnMaxUnpool2d, prepareUnpool, &kPool<fixedSpan, 2>, 0)
SIM_OP(aclnnMaxUnpool3d, prepareUnpool, &kPool<fixedSpan, 3>, 0)
SIM_OP(aclnnAdaptiveMaxPool2d, prepareAdaptive, &kPool<adaptiveSpan, 2>, 0)
SIM_OP(aclnnAdaptiveMaxPool2dBackward, prepareBackward, &kPool<adaptiveSpan, 2>, 0)
SIM_OP(aclnnAdaptiveMaxPool3d, prepareAdaptive, &kPool<adaptiveSpan, 3>, 0)
SIM_OP(aclnnAdaptiveMaxPool3dBackward, prepareBackward, &kPool<adaptiveSpan, 3>, 0)

}  // namespace sim
