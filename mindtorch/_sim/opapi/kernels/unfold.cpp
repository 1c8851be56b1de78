/* Padding with a constant; windows of an image as columns, and columns added up to an image. */
#include "opapi/kernels/convolution.h"
#include "opapi/kernels/planes.h"

namespace sim {
namespace {

/* --- constant padding -------------------------------------------------------------------------------------------- */

/* The number as one element of the compute type. */
Operand constantOf(const Operand &out, const Scalar &number, Complex *extent) {
  Operand constant = contiguousOperand(out, kComputeTypes[out.compute], extent);
  for (int32_t i = 0; i < constant.rank; ++i) constant.strides[i] = 0;
  if (out.compute == kF32) *reinterpret_cast<float *>(extent) = static_cast<float>(number.real);
  if (out.compute == kF64) *reinterpret_cast<double *>(extent) = number.real;
  if (out.compute == kI64) *reinterpret_cast<int64_t *>(extent) = number.integer;
  if (out.compute == kC128) *extent = Complex(number.real, number.imaginary);
  return constant;
}

aclError runConstantPad(const aclOpExecutor &executor) {
  Operand in = executor.operands[0], out = executor.operands[1];
  Complex extent;
  in.compute = out.compute = computeOf(out.type);
  convertView(constantOf(out, executor.scalars[0], &extent), out);
  for (int32_t i = 0; i < in.rank; ++i) {
    const int64_t before = executor.attributes[i], after = out.dims[i] - in.dims[i] - before;
    const int64_t cut = std::max(-before, int64_t{0});
    in.host += cut * in.strides[i] * in.item;
    out.host += std::max(before, int64_t{0}) * out.strides[i] * out.item;
    in.dims[i] -= cut + std::max(-after, int64_t{0});
    out.dims[i] = in.dims[i];
    if (in.dims[i] <= 0) return ACL_SUCCESS;
  }
  convertView(in, out);
  return ACL_SUCCESS;
}

/* self, pad (pairs, from the last dimension), value, out */
aclnnStatus prepareConstantPad(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &in = executor.operands[0], &out = executor.operands[1];
  const aclIntArray *pad = static_cast<const aclIntArray *>(arguments[1].pointer);
  if (pad->size % 2 != 0 || pad->size > 2 * static_cast<uint64_t>(in.rank)) {
    return refuse(executor, "pad has {} elements, expected an even number, at most {}", pad->size, 2 * in.rank);
  }
  Shape shape = shapeOf(in);
  for (int32_t i = 0; i < in.rank; ++i) executor.attributes[i] = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(pad->size / 2); ++i) {
    const int32_t dim = in.rank - 1 - i;
    executor.attributes[dim] = pad->items[2 * i];
    shape.dims[dim] += pad->items[2 * i] + pad->items[2 * i + 1];
    if (shape.dims[dim] < 0) return refuse(executor, "pad leaves less than nothing of dimension {}", dim);
  }
  SIM_TRY(requireShape(executor, out, shape));
  if (in.type != out.type) SIM_TRY(requireCast(executor, in.type, out));
  executor.run = runConstantPad;
  return ACLNN_SUCCESS;
}

/* --- columns ----------------------------------------------------------------------------------------------------- */

enum Attribute { kKernel, kDilation = kKernel + 2, kPadding = kDilation + 2, kStride = kPadding + 2 };

SlidingWindow windowOf(const aclOpExecutor &executor, const Operand &image) {
  const int64_t *attributes = executor.attributes;
  SlidingWindow w;
  w.image[0] = w.kernel[0] = w.positions[0] = w.stride[0] = w.dilation[0] = 1;
  w.padding[0] = 0;
  for (int i = 0; i < 2; ++i) {
    w.image[i + 1] = planeSize(image, 2, i);
    w.kernel[i + 1] = attributes[kKernel + i];
    w.stride[i + 1] = attributes[kStride + i];
    w.padding[i + 1] = attributes[kPadding + i];
    w.dilation[i + 1] = attributes[kDilation + i];
    const int64_t extent = w.image[i + 1] + 2 * w.padding[i + 1] - w.dilation[i + 1] * (w.kernel[i + 1] - 1) - 1;
    w.positions[i + 1] = extent < 0 ? 0 : extent / w.stride[i + 1] + 1;
  }
  return w;
}

/* Calls meet(column element, image element) for every element of a channel's columns; -1 stands for the padding. */
template <class Meet>
void forEachColumnElement(const SlidingWindow &w, Meet meet) {
  int64_t column = 0;
  for (int64_t element = 0; element < w.kernelSize(); ++element) {
    const int64_t down = element / w.kernel[2] * w.dilation[1] - w.padding[1];
    const int64_t right = element % w.kernel[2] * w.dilation[2] - w.padding[2];
    for (int64_t i = 0; i < w.positions[1]; ++i) {
      const int64_t y = i * w.stride[1] + down;
      for (int64_t j = 0; j < w.positions[2]; ++j, ++column) {
        const int64_t x = j * w.stride[2] + right;
        const bool inside = y >= 0 && y < w.image[1] && x >= 0 && x < w.image[2];
        meet(column, inside ? y * w.image[2] + x : -1);
      }
    }
  }
}

template <class C>
void columnsOf(const SlidingWindow &w, const char *from, char *to) {
  const C *image = reinterpret_cast<const C *>(from);
  C *columns = reinterpret_cast<C *>(to);
  forEachColumnElement(w, [&](int64_t column, int64_t at) { columns[column] = at < 0 ? C(0) : image[at]; });
}

template <class C>
void addColumns(const SlidingWindow &w, const char *from, char *to) {
  const C *columns = reinterpret_cast<const C *>(from);
  C *image = reinterpret_cast<C *>(to);
  std::fill_n(image, w.imageSize(), C(0));
  forEachColumnElement(w, [&](int64_t column, int64_t at) {
    if (at >= 0) image[at] = add(image[at], columns[column]);
  });
}

using Move = void (*)(const SlidingWindow &, const char *, char *);
constexpr Move kColumns[] = {columnsOf<float>, columnsOf<double>, columnsOf<int64_t>, columnsOf<Complex>};
constexpr Move kAdd[] = {addColumns<float>, addColumns<double>, addColumns<int64_t>, addColumns<Complex>};
constexpr int64_t kItem = sizeof(Complex);

/* (..., C, H, W) and (..., C, kernel elements, positions): a plane of two dimensions each. */
Operand byChannel(const Operand &columns, const SlidingWindow &window) {
  Operand split = columns;
  split.rank = columns.rank + 1;
  const int32_t last = columns.rank - 1;
  split.dims[last + 1] = columns.dims[last];
  split.strides[last + 1] = columns.strides[last];
  split.dims[last] = window.kernelSize();
  split.strides[last] = columns.strides[last - 1];
  split.dims[last - 1] = columns.dims[last - 1] / window.kernelSize();
  split.strides[last - 1] = columns.strides[last - 1] * window.kernelSize();
  split.compute = computeOf(columns.type);
  return split;
}

aclError runColumns(const aclOpExecutor &executor) {
  const bool adding = executor.kernel == kAdd;
  Operand image = executor.operands[adding ? 1 : 0];
  image.compute = computeOf(image.type);
  const SlidingWindow window = windowOf(executor, image);
  const Operand columns = byChannel(executor.operands[adding ? 0 : 1], window);
  char *read = executor.workspace;
  char *written = read + (adding ? window.kernelSize() * window.positionCount() : window.imageSize()) * kItem;
  const Move move = static_cast<const Move *>(executor.kernel)[image.compute];
  Planes from(adding ? columns : image, 2), to(adding ? image : columns, 2);
  for (int64_t i = planeCount(image, 2); i-- > 0; from.next(), to.next()) {
    from.read(read);
    move(window, read, written);
    to.write(written);
  }
  return ACL_SUCCESS;
}

aclnnStatus planColumns(aclOpExecutor &executor, const Operand &image, const Operand &columns, const Move *moves) {
  const SlidingWindow window = windowOf(executor, image);
  if (image.rank != 3 && image.rank != 4) {
    return refuse(executor, "an image of {} dimensions, expected 3 or 4", image.rank);
  }
  if (image.type != columns.type) return refuse(executor, "types differ: {} and {}", image.type, columns.type);
  Shape shape = shapeOf(image);
  shape.rank = image.rank - 1;
  shape.dims[shape.rank - 2] = image.dims[image.rank - 3] * window.kernelSize();
  shape.dims[shape.rank - 1] = window.positionCount();
  SIM_TRY(requireShape(executor, columns, shape));
  executor.kernel = moves;
  executor.run = runColumns;
  const int64_t elements = window.imageSize() + window.kernelSize() * window.positionCount();
  if (firstOut(executor).count > 0) executor.workspace_size = roundUp(static_cast<uint64_t>(elements * kItem));
  return ACLNN_SUCCESS;
}

/* Kernel, dilation, padding and stride from the argument `at` on. */
aclnnStatus readPairs(aclOpExecutor &executor, const Argument *arguments, int at) {
  const int offsets[] = {kKernel, kDilation, kPadding, kStride};
  for (int i = 0; i < 4; ++i) {
    SIM_TRY(readInts(executor, arguments[at + i].pointer, 2, i == 2 ? 0 : 1, executor.attributes + offsets[i]));
  }
  return ACLNN_SUCCESS;
}

/* self, kernelSize, dilation, padding, stride, out */
aclnnStatus prepareIm2col(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  SIM_TRY(readPairs(executor, arguments, 1));
  return planColumns(executor, executor.operands[0], executor.operands[1], kColumns);
}

/* gradOutput, inputSize, kernelSize, dilation, padding, stride, out */
aclnnStatus prepareCol2im(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &image = executor.operands[1];
  int64_t size[2] = {};
  SIM_TRY(readInts(executor, arguments[1].pointer, 2, 1, size));
  SIM_TRY(readPairs(executor, arguments, 2));
  if (image.rank < 3 || planeSize(image, 2, 0) != size[0] || planeSize(image, 2, 1) != size[1]) {
    return refuse(executor, "out does not have the size that inputSize states");
  }
  return planColumns(executor, image, executor.operands[0], kAdd);
}

}  // namespace

SIM_OP(aclnnConstantPadNd, prepareConstantPad, nullptr, 0)
SIM_OP(aclnnIm2col, prepareIm2col, nullptr, 0)
SIM_OP(aclnnIm2colBackward, prepareCol2im, nullptr, 0)

}  // namespace sim
