/* Gradients of convolution, as outputMask selects them. With the columns of im2col, the image's gradient is
 * col2im(weight^T * positions), that of the positions weight * columns, that of the weight positions * columns^T. */
#include "opapi/kernels/convolution.h"

namespace sim {
namespace {

enum { kGrad, kInput, kWeight, kGradInput, kGradWeight, kGradBias };
constexpr int kMask = kDilation + 3;

struct Sides {
  int image, positions; /* operands: which of gradient and input the windows slide over */
};

Sides sidesOf(const aclOpExecutor &executor) {
  return executor.attributes[kTransposed] ? Sides{kGrad, kInput} : Sides{kInput, kGrad};
}

SlidingWindow windowOf(const aclOpExecutor &executor) {
  const Sides sides = sidesOf(executor);
  return convolutionWindow(executor, executor.operands[sides.image], executor.operands[sides.positions],
                           executor.operands[kWeight]);
}

bool wanted(const aclOpExecutor &executor, int result) {
  return (executor.attributes[kMask] >> (result - kGradInput) & 1) != 0;
}

/* Floats in the workspace: weight and its gradient; of `samples` samples each side, the input's gradient, and the
 * columns of one group. */
struct BufferSizes {
  int64_t samples, weight, image, positions, input, columns;
  int64_t total() const { return 2 * weight + image + positions + input + columns; }
};

BufferSizes bufferSizes(const aclOpExecutor &executor, const SlidingWindow &window) {
  const Sides sides = sidesOf(executor);
  const Operand &image = executor.operands[sides.image];
  const bool transposed = executor.attributes[kTransposed] != 0;
  const int64_t channels = image.dims[1] / executor.attributes[kGroups];
  const int64_t samples = samplesPerProduct(window, channels, image.dims[0], transposed);
  const int64_t pixels = samples * image.dims[1] * window.imageSize();
  const int64_t positions = samples * executor.operands[sides.positions].dims[1] * window.positionCount();
  return {
      samples,   executor.operands[kWeight].count, pixels,
      positions, transposed ? positions : pixels,  samples * channels * window.kernelSize() * window.positionCount()};
}

/* The positions are (channels, samples, positions), image and gradient (samples, channels, ...). */
struct Buffers {
  float *weight, *grad_weight, *image, *positions, *grad_input, *columns;
  /* The elements, there or in the operands themselves. */
  const float *weight_elements, *image_elements, *position_elements;
};

Buffers buffersOf(const aclOpExecutor &executor, const BufferSizes &sizes) {
  Buffers b;
  b.weight = reinterpret_cast<float *>(executor.workspace);
  b.grad_weight = b.weight + sizes.weight;
  b.image = b.grad_weight + sizes.weight;
  b.positions = b.image + sizes.image;
  b.grad_input = b.positions + sizes.positions;
  b.columns = b.grad_input + sizes.input;
  return b;
}

void oneGroup(const aclOpExecutor &executor, const SlidingWindow &window, const Buffers &b, int64_t samples,
              int64_t group) {
  const Sgemm sgemm = reinterpret_cast<Sgemm>(const_cast<void *>(executor.kernel));
  const Sides sides = sidesOf(executor);
  const int64_t groups = executor.attributes[kGroups];
  const int64_t image_channels = executor.operands[sides.image].dims[1] / groups;
  const int rows = static_cast<int>(executor.operands[sides.positions].dims[1] / groups);
  const int inner = static_cast<int>(image_channels * window.kernelSize());
  const int positions = static_cast<int>(samples * window.positionCount());
  const int64_t sample = groups * image_channels * window.imageSize();
  const int64_t first = group * image_channels * window.imageSize();
  const bool transposed = executor.attributes[kTransposed] != 0;
  const int64_t weights = int64_t{rows} * inner;
  const float *weight = b.weight_elements + group * weights,
              *at_positions = b.position_elements + group * rows * int64_t{positions};
  if (wanted(executor, kGradWeight) || (transposed && wanted(executor, kGradInput))) {
    for (int64_t s = 0; s < samples; ++s) {
      im2col(b.image_elements + s * sample + first, image_channels, window, b.columns + s * window.positionCount(),
             positions);
    }
  }
  if (wanted(executor, kGradWeight)) {
    sgemm(kRowMajor, kNoTranspose, kTranspose, rows, inner, positions, 1.0f, at_positions, positions, b.columns,
          positions, 1.0f, b.grad_weight + group * weights, inner);
  }
  if (!wanted(executor, kGradInput)) return;
  if (transposed) {
    sgemm(kRowMajor, kNoTranspose, kNoTranspose, rows, positions, inner, 1.0f, weight, inner, b.columns, positions,
          0.0f, b.grad_input + group * rows * int64_t{positions}, positions);
  } else {
    sgemm(kRowMajor, kTranspose, kNoTranspose, inner, positions, rows, 1.0f, weight, inner, at_positions, positions,
          0.0f, b.columns, positions);
    for (int64_t s = 0; s < samples; ++s) {
      col2im(b.columns + s * window.positionCount(), image_channels, window, b.grad_input + s * sample + first,
             positions);
    }
  }
}

/* The bias reaches every position of its channel. */
void sumOverPositions(const aclOpExecutor &executor) {
  const Operand &grad = executor.operands[kGrad], &out = executor.operands[kGradBias];
  const StoreStrided store = storeStrided(out.type, kF64);
  for (int64_t c = 0; c < grad.dims[1]; ++c) {
    Operand channel = grad;
    channel.host += c * grad.strides[1] * grad.item;
    channel.dims[1] = 1;
    channel.compute = kF64;
    const int64_t count = grad.count / grad.dims[1];
    Cursor cursor(channel);
    double buffer[kBlock], sum = 0.0;
    for (int64_t done = 0; done < count; done += kBlock) {
      const int64_t block = std::min(kBlock, count - done);
      const double *values = static_cast<const double *>(cursor.read(buffer, block));
      for (int64_t i = 0; i < block; ++i) sum += values[i];
    }
    store(&sum, out.host + c * out.strides[0] * out.item, 0, 1);
  }
}

aclError runBackward(const aclOpExecutor &executor) {
  const Operand &input = executor.operands[kInput], &weight = executor.operands[kWeight];
  const Sides sides = sidesOf(executor);
  const SlidingWindow window = windowOf(executor);
  const BufferSizes sizes = bufferSizes(executor, window);
  Buffers b = buffersOf(executor, sizes);
  b.weight_elements = floatsOf(weight, b.weight);
  std::fill_n(b.grad_weight, sizes.weight, 0.0f);
  for (int64_t n = 0; n < input.dims[0]; n += sizes.samples) {
    const int64_t count = std::min(sizes.samples, input.dims[0] - n);
    b.image_elements = floatsOf(samplesOf(executor.operands[sides.image], n, count), b.image);
    b.position_elements = floatsOf(channelsFirst(executor.operands[sides.positions], n, count), b.positions);
    std::fill_n(b.grad_input, sizes.input, 0.0f);
    for (int64_t g = 0; g < executor.attributes[kGroups]; ++g) oneGroup(executor, window, b, count, g);
    if (wanted(executor, kGradInput)) writeElements(samplesOf(executor.operands[kGradInput], n, count), b.grad_input);
  }
  if (wanted(executor, kGradWeight)) writeElements(executor.operands[kGradWeight], b.grad_weight);
  if (wanted(executor, kGradBias)) sumOverPositions(executor);
  return ACL_SUCCESS;
}

/* Checks the shapes of the selected gradients. Others may be NULL. */
aclnnStatus checkResults(aclOpExecutor &executor, const aclBoolArray *mask) {
  if (mask->size != 3) return refuse(executor, "outputMask has {} elements, expected 3", mask->size);
  Shape shapes[3] = {shapeOf(executor.operands[kInput]), shapeOf(executor.operands[kWeight]), {}};
  shapes[2].rank = 1;
  shapes[2].dims[0] = executor.operands[kGrad].dims[1];
  for (int i = 0; i < 3; ++i) {
    if (!mask->items[i]) continue;
    const Operand &result = executor.operands[static_cast<uint32_t>(kGradInput + i)];
    if (result.tensor == nullptr) return refuse(executor, "result {} is NULL, but outputMask asks for it", i);
    SIM_TRY(requireShape(executor, result, shapes[i]));
    SIM_TRY(requireCast(executor, executor.operands[kGrad].type, result));
    executor.attributes[kMask] |= int64_t{1} << i;
  }
  return ACLNN_SUCCESS;
}

aclnnStatus checkSides(const aclOpExecutor &executor) {
  const Operand &grad = executor.operands[kGrad], &input = executor.operands[kInput];
  const Operand &weight = executor.operands[kWeight];
  const Sides sides = sidesOf(executor);
  const int64_t groups = executor.attributes[kGroups];
  if (grad.rank != weight.rank || input.rank != weight.rank || weight.rank < 3 || weight.rank > 5) {
    return refuse(executor, "gradOutput, input and weight have {}, {} and {} dimensions, expected 3 to 5, equally many",
                  grad.rank, input.rank, weight.rank);
  }
  const Operand &image = executor.operands[sides.image], &positions = executor.operands[sides.positions];
  if (groups < 1 || positions.dims[1] != weight.dims[0] || image.dims[1] != weight.dims[1] * groups ||
      weight.dims[0] % groups != 0) {
    return refuse(executor, "the channels do not fit: {} and {}, a weight of ({}, {}, ...), {} groups", image.dims[1],
                  positions.dims[1], weight.dims[0], weight.dims[1], groups);
  }
  if (grad.dims[0] == input.dims[0]) return ACLNN_SUCCESS;
  return refuse(executor, "gradOutput has {} samples, input has {}", grad.dims[0], input.dims[0]);
}

/* As many positions as the windows have along the image. */
aclnnStatus checkPositions(const aclOpExecutor &executor) {
  const SlidingWindow w = windowOf(executor);
  for (int i = 0; i < 3; ++i) {
    const int64_t extent = w.image[i] + 2 * w.padding[i] - w.dilation[i] * (w.kernel[i] - 1) - 1;
    const int64_t fit = extent < 0 ? 0 : extent / w.stride[i] + 1;
    /* The output padding of a transposed convolution may hold further windows. */
    if (fit == w.positions[i] || (executor.attributes[kTransposed] && fit > w.positions[i])) continue;
    return refuse(executor, "{} positions do not fit an image of size {}", w.positions[i], w.image[i]);
  }
  return ACLNN_SUCCESS;
}

/* gradOutput, input, weight, biasSizes, stride, padding, dilation, transposed, outputPadding, groups, outputMask,
 * cubeMathType, gradInput, gradWeight, gradBias */
aclnnStatus prepareBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const int32_t dims = executor.operands[kWeight].rank - 2;
  int64_t *attributes = executor.attributes;
  attributes[kGroups] = arguments[9].integer;
  attributes[kTransposed] = arguments[7].integer != 0;
  attributes[kMask] = 0;
  SIM_TRY(checkSides(executor));
  const auto read = [&](const char *name, int argument, int64_t least, int64_t *sizes) {
    return readSizes(executor, name, arguments[argument].pointer, dims, least, sizes);
  };
  SIM_TRY(read("stride", 4, 1, attributes + kStride));
  SIM_TRY(read("padding", 5, 0, attributes + kPadding));
  SIM_TRY(read("dilation", 6, 1, attributes + kDilation));
  SIM_TRY(checkPositions(executor));
  SIM_TRY(checkResults(executor, static_cast<const aclBoolArray *>(arguments[10].pointer)));
  executor.run = runBackward;
  const Operand &weight = executor.operands[kWeight];
  if (weight.count > 0) { /* twice those of the forward */
    const int64_t elements = executor.operands[attributes[kTransposed] ? kInput : kGrad].count;
    executor.flops = 4.0 * static_cast<double>(elements * (weight.count / weight.dims[0]));
  }
  const BufferSizes sizes = bufferSizes(executor, windowOf(executor));
  for (int64_t extent : {sizes.weight, sizes.image, sizes.positions, sizes.columns}) {
    if (extent > INT32_MAX) return refuse(executor, "a sample of {} elements is too large", extent);
  }
  executor.workspace_size = roundUp(static_cast<uint64_t>(sizes.total()) * sizeof(float));
  return takeSgemm(executor);
}

}  // namespace

SIM_OP(aclnnConvolutionBackward, prepareBackward, nullptr, 0)

}  // namespace sim
