/* Convolution in one to three dimensions: im2col and a matrix product for some samples. A transposed convolution is
 * the adjoint: the product, then col2im. */
#include "opapi/kernels/convolution.h"

#include <algorithm>

namespace sim {

SlidingWindow convolutionWindow(const aclOpExecutor &executor, const Operand &image, const Operand &positions,
                                const Operand &weight) {
  const int32_t dims = weight.rank - 2;
  SlidingWindow window;
  for (int32_t i = 0; i < 3; ++i) {
    const int32_t from = i - (3 - dims); /* in the call's dimensions; below 0: unused */
    window.image[i] = from < 0 ? 1 : image.dims[from + 2];
    window.kernel[i] = from < 0 ? 1 : weight.dims[from + 2];
    window.positions[i] = from < 0 ? 1 : positions.dims[from + 2];
    window.stride[i] = from < 0 ? 1 : executor.attributes[kStride + from];
    window.padding[i] = from < 0 ? 0 : executor.attributes[kPadding + from];
    window.dilation[i] = from < 0 ? 1 : executor.attributes[kDilation + from];
  }
  return window;
}

int64_t samplesPerProduct(const SlidingWindow &window, int64_t channels, int64_t samples, bool transposed) {
  constexpr int64_t kEnoughPositions = 256, kMostElements = 1 << 21;
  if (transposed) return 1;
  const int64_t positions = std::max<int64_t>(window.positionCount(), 1);
  const int64_t elements =
      std::max({channels * window.kernelSize() * positions, channels * window.imageSize(), int64_t{1}});
  return std::max<int64_t>(std::min({kEnoughPositions / positions, kMostElements / elements, samples}), 1);
}

Operand samplesOf(const Operand &batch, int64_t n, int64_t count) {
  Operand samples = batch;
  samples.host += n * batch.strides[0] * batch.item;
  samples.dims[0] = count;
  return samples;
}

Operand channelsFirst(const Operand &batch, int64_t n, int64_t count) {
  Operand samples = samplesOf(batch, n, count);
  std::swap(samples.dims[0], samples.dims[1]);
  std::swap(samples.strides[0], samples.strides[1]);
  return samples;
}

bool isPlainFloat(const Operand &operand) {
  int64_t expected = 1;
  for (int32_t i = operand.rank; i-- > 0;) {
    if (operand.dims[i] > 1 && operand.strides[i] != expected) return false;
    expected *= operand.dims[i];
  }
  return operand.type == ACL_FLOAT;
}

const float *floatsOf(const Operand &operand, float *buffer) {
  if (isPlainFloat(operand)) return reinterpret_cast<const float *>(operand.host);
  readElements(operand, buffer);
  return buffer;
}

aclnnStatus readSizes(aclOpExecutor &executor, const char *name, const void *array, int32_t dims, int64_t least,
                      int64_t *sizes) {
  const aclIntArray *values = static_cast<const aclIntArray *>(array);
  if (values->size != static_cast<uint64_t>(dims)) {
    return refuse(executor, "{} has {} elements, expected {}", name, values->size, dims);
  }
  for (int32_t i = 0; i < dims; ++i) {
    if (values->items[i] < least || values->items[i] > INT32_MAX) {
      return refuse(executor, "{} is {} in dimension {}, expected {} or more", name, values->items[i], i, least);
    }
    sizes[i] = values->items[i];
  }
  return ACLNN_SUCCESS;
}

aclnnStatus takeSgemm(aclOpExecutor &executor) {
  const char *reason;
  executor.kernel = reinterpret_cast<const void *>(loadSgemm(&reason));
  if (executor.kernel != nullptr) return ACLNN_SUCCESS;
  return fail(ACLNN_ERR_INNER_FIND_KERNEL_ERROR, "EZ9999", "%s: %s", executor.op->name, reason);
}

namespace {

enum { kInput, kWeight, kBias, kOutput };

/* The window slides over the input, or over the output of a transposed convolution. */
SlidingWindow windowOf(const aclOpExecutor &executor) {
  const bool transposed = executor.attributes[kTransposed] != 0;
  return convolutionWindow(executor, executor.operands[transposed ? kOutput : kInput],
                           executor.operands[transposed ? kInput : kOutput], executor.operands[kWeight]);
}

/* Floats in the workspace: weight, bias, input and output of `samples` samples, their columns of one group. */
struct BufferSizes {
  int64_t samples, weight, bias, input, output, columns;
  int64_t total() const { return weight + bias + input + output + columns; }
};

BufferSizes bufferSizes(const aclOpExecutor &executor, const SlidingWindow &window) {
  const Operand &input = executor.operands[kInput], &output = executor.operands[kOutput];
  const bool transposed = executor.attributes[kTransposed] != 0;
  const int64_t channels = (transposed ? output : input).dims[1] / executor.attributes[kGroups];
  const int64_t image = window.imageSize(), positions = window.positionCount();
  const int64_t samples = samplesPerProduct(window, channels, input.dims[0], transposed);
  return {samples,
          executor.operands[kWeight].count,
          output.dims[1],
          samples * input.dims[1] * (transposed ? positions : image),
          samples * output.dims[1] * (transposed ? image : positions),
          samples * channels * window.kernelSize() * positions};
}

struct Samples {
  int64_t count; /* 1 of a transposed convolution */
  const float *weight;
  const float *input;
  float *output; /* (channels, samples, positions); holds the bias already */
  float *columns;
};

void convolve(const aclOpExecutor &executor, const SlidingWindow &window, const Samples &samples, Sgemm sgemm) {
  const int64_t groups = executor.attributes[kGroups];
  const bool transposed = executor.attributes[kTransposed] != 0;
  const int64_t in_channels = executor.operands[kInput].dims[1] / groups;
  const int64_t out_channels = executor.operands[kOutput].dims[1] / groups;
  const int64_t positions = window.positionCount(), image = window.imageSize(), kernel = window.kernelSize();
  const int n = static_cast<int>(samples.count * positions), m = static_cast<int>(out_channels);
  const bool plain = samples.count == 1 && window.isPlain(); /* the image is its columns */
  for (int64_t g = 0; g < groups; ++g) {
    const float *weight = samples.weight + g * in_channels * out_channels * kernel;
    if (transposed) {
      const int rows = static_cast<int>(out_channels * kernel), inner = static_cast<int>(in_channels);
      sgemm(kRowMajor, kTranspose, kNoTranspose, rows, n, inner, 1.0f, weight, rows,
            samples.input + g * in_channels * positions, n, 0.0f, samples.columns, n);
      col2im(samples.columns, out_channels, window, samples.output + g * out_channels * image, n);
    } else {
      const int inner = static_cast<int>(in_channels * kernel);
      const float *input = samples.input + g * in_channels * image;
      if (in_channels == 1) { /* products of one row are slower than their sums */
        for (int64_t i = 0; i < samples.count * out_channels; ++i) {
          const int64_t s = i / out_channels, c = i % out_channels;
          slideWindow(input + s * groups * image, window, weight + c * kernel,
                      samples.output + ((g * out_channels + c) * samples.count + s) * positions);
        }
        continue;
      }
      for (int64_t s = 0; s < samples.count && !plain; ++s, input += groups * in_channels * image) {
        im2col(input, in_channels, window, samples.columns + s * positions, n);
      }
      sgemm(kRowMajor, kNoTranspose, kNoTranspose, m, n, inner, 1.0f, weight, inner, plain ? input : samples.columns, n,
            1.0f, samples.output + g * out_channels * n, n);
    }
  }
}

aclError runConvolution(const aclOpExecutor &executor) {
  const Operand &input = executor.operands[kInput], &output = executor.operands[kOutput];
  const Operand &weight = executor.operands[kWeight], &bias = executor.operands[kBias];
  if (output.count == 0) return ACL_SUCCESS;
  const SlidingWindow window = windowOf(executor);
  const BufferSizes sizes = bufferSizes(executor, window);
  float *weights = reinterpret_cast<float *>(executor.workspace), *biases = weights + sizes.weight;
  float *in = biases + sizes.bias, *out = in + sizes.input, *columns = out + sizes.output;
  const int64_t channels = output.dims[1], plane = sizes.output / sizes.samples / channels;
  const float *weight_elements = floatsOf(weight, weights);
  std::fill_n(biases, channels, 0.0f);
  if (bias.tensor != nullptr) readElements(bias, biases);
  for (int64_t n = 0; n < output.dims[0]; n += sizes.samples) {
    const int64_t count = std::min(sizes.samples, output.dims[0] - n);
    const Operand results = channelsFirst(output, n, count);
    const bool direct = isPlainFloat(results);
    float *to = direct ? reinterpret_cast<float *>(results.host) : out;
    for (int64_t c = 0; c < channels; ++c) std::fill_n(to + c * count * plane, count * plane, biases[c]);
    if (input.count > 0) {
      convolve(executor, window, {count, weight_elements, floatsOf(samplesOf(input, n, count), in), to, columns},
               reinterpret_cast<Sgemm>(const_cast<void *>(executor.kernel)));
    }
    if (!direct) writeElements(results, out);
  }
  return ACL_SUCCESS;
}

/* Groups, channels and ranks. */
aclnnStatus checkChannels(const aclOpExecutor &executor, int64_t groups, bool transposed, int64_t *out_channels) {
  const Operand &input = executor.operands[kInput], &weight = executor.operands[kWeight];
  const Operand &bias = executor.operands[kBias];
  if (input.rank != weight.rank) {
    return refuse(executor, "input has {} dimensions, weight has {}", input.rank, weight.rank);
  }
  if (groups < 1 || weight.dims[0] % groups != 0 || input.dims[1] % groups != 0) {
    return refuse(executor, "groups is {}, expected a divisor of the channels", groups);
  }
  const int64_t expected = transposed ? weight.dims[0] : weight.dims[1] * groups;
  if (input.dims[1] != expected) return refuse(executor, "input has {} channels, expected {}", input.dims[1], expected);
  *out_channels = transposed ? weight.dims[1] * groups : weight.dims[0];
  if (bias.tensor == nullptr || (bias.rank == 1 && bias.dims[0] == *out_channels)) return ACLNN_SUCCESS;
  return refuse(executor, "bias has {} dimensions and {} elements, expected one dimension of {}", bias.rank, bias.count,
                *out_channels);
}

aclnnStatus outputShape(aclOpExecutor &executor, const int64_t *output_padding, Shape *shape) {
  const Operand &input = executor.operands[kInput], &weight = executor.operands[kWeight];
  shape->rank = input.rank;
  shape->dims[0] = input.dims[0];
  for (int32_t i = 0; i < input.rank - 2; ++i) {
    const int64_t stride = executor.attributes[kStride + i], padding = executor.attributes[kPadding + i];
    const int64_t reach = executor.attributes[kDilation + i] * (weight.dims[i + 2] - 1);
    const int64_t size = input.dims[i + 2], extent = size + 2 * padding - reach - 1;
    const bool transposed = executor.attributes[kTransposed] != 0;
    const int64_t positions = extent < 0 ? 0 : extent / stride + 1;
    shape->dims[i + 2] = transposed ? (size - 1) * stride - 2 * padding + reach + output_padding[i] + 1 : positions;
    if (weight.dims[i + 2] < 1 || shape->dims[i + 2] < 1) {
      return refuse(executor, "the kernel does not fit into dimension {} of input, which has size {}", i + 2, size);
    }
  }
  return ACLNN_SUCCESS;
}

aclnnStatus planWorkspace(aclOpExecutor &executor) {
  const BufferSizes sizes = bufferSizes(executor, windowOf(executor));
  for (int64_t extent : {sizes.weight, sizes.input, sizes.output, sizes.columns}) {
    if (extent > INT32_MAX) return refuse(executor, "a sample of {} elements is too large", extent);
  }
  executor.workspace_size = roundUp(static_cast<uint64_t>(sizes.total()) * sizeof(float));
  return takeSgemm(executor);
}

/* input, weight, bias, stride, padding, dilation, transposed, outputPadding, groups, output, cubeMathType */
aclnnStatus prepareConvolution(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &input = executor.operands[kInput], &weight = executor.operands[kWeight];
  const Operand &output = executor.operands[kOutput];
  const bool transposed = arguments[6].integer != 0;
  const int32_t dims = input.rank - 2;
  int64_t output_padding[3] = {}, *attributes = executor.attributes;
  Shape shape;
  attributes[kGroups] = arguments[8].integer;
  attributes[kTransposed] = transposed;
  SIM_TRY(checkChannels(executor, arguments[8].integer, transposed, &shape.dims[1]));
  const auto read = [&](const char *name, int argument, int64_t least, int64_t *sizes) {
    return readSizes(executor, name, arguments[argument].pointer, dims, least, sizes);
  };
  SIM_TRY(read("stride", 3, 1, attributes + kStride));
  SIM_TRY(read("padding", 4, 0, attributes + kPadding));
  SIM_TRY(read("dilation", 5, 1, attributes + kDilation));
  if (transposed) SIM_TRY(read("outputPadding", 7, 0, output_padding));
  SIM_TRY(outputShape(executor, output_padding, &shape));
  SIM_TRY(requireShape(executor, output, shape));
  SIM_TRY(requireCast(executor, promoteTypes(input.type, weight.type), output));
  executor.run = runConvolution;
  if (weight.count > 0) { /* one product and sum for each weight that an element meets */
    const int64_t elements = transposed ? input.count : output.count;
    executor.flops = 2.0 * static_cast<double>(elements * (weight.count / weight.dims[0]));
  }
  return output.count == 0 ? ACLNN_SUCCESS : planWorkspace(executor);
}

}  // namespace

SIM_OP(aclnnConvolution, prepareConvolution, nullptr, 0)

namespace {

/* The positions along one dimension at which kernel element `k` meets the image: from `first` to before `last`. */
struct Span {
  int64_t first;
  int64_t last;
  int64_t start; /* position in the image of position 0 */
};

Span spanOf(const SlidingWindow &w, int d, int64_t k) {
  const int64_t start = k * w.dilation[d] - w.padding[d];
  const int64_t first = start < 0 ? (-start + w.stride[d] - 1) / w.stride[d] : 0;
  const int64_t last = start < w.image[d] ? (w.image[d] - 1 - start) / w.stride[d] + 1 : 0;
  return {std::min(first, w.positions[d]), std::max(std::min(last, w.positions[d]), std::min(first, w.positions[d])),
          start};
}

/* Calls row(column, pixel of the image, count) for each row of positions at which one kernel element meets the
 * image. */
template <class Row>
void forEachRow(const SlidingWindow &w, int64_t element, Row row) {
  const int64_t k[3] = {element / (w.kernel[1] * w.kernel[2]), element / w.kernel[2] % w.kernel[1],
                        element % w.kernel[2]};
  const Span z = spanOf(w, 0, k[0]), y = spanOf(w, 1, k[1]), x = spanOf(w, 2, k[2]);
  for (int64_t i = z.first; i < z.last; ++i) {
    for (int64_t j = y.first; j < y.last; ++j) {
      const int64_t position = (i * w.positions[1] + j) * w.positions[2];
      const int64_t line = (z.start + i * w.stride[0]) * w.image[1] + y.start + j * w.stride[1];
      row(position + x.first, line * w.image[2] + x.start + x.first * w.stride[2], x.last - x.first);
    }
  }
}

}  // namespace

void im2col(const float *image, int64_t channels, const SlidingWindow &w, float *columns, int64_t row) {
  const int64_t step = w.stride[2];
  for (int64_t c = 0; c < channels; ++c, image += w.imageSize()) {
    for (int64_t element = 0; element < w.kernelSize(); ++element, columns += row) {
      std::fill_n(columns, w.positionCount(), 0.0f);
      forEachRow(w, element, [&](int64_t column, int64_t pixel, int64_t count) {
        const float *from = image + pixel;
        float *to = columns + column;
        if (step == 1) {
          std::copy(from, from + count, to);
        } else {
          for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
        }
      });
    }
  }
}

namespace {

SIM_CLONES void addProducts(const float *from, int64_t step, int64_t count, float factor, float *to) {
  if (step == 1) {
    SIM_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
  } else {
    SIM_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) to[i] += factor * from[i * step];
  }
}

}  // namespace

void slideWindow(const float *image, const SlidingWindow &w, const float *weight, float *positions) {
  for (int64_t element = 0; element < w.kernelSize(); ++element) {
    forEachRow(w, element, [&](int64_t position, int64_t pixel, int64_t count) {
      addProducts(image + pixel, w.stride[2], count, weight[element], positions + position);
    });
  }
}

void col2im(const float *columns, int64_t channels, const SlidingWindow &w, float *image, int64_t row) {
  const int64_t step = w.stride[2];
  for (int64_t c = 0; c < channels; ++c, image += w.imageSize()) {
    for (int64_t element = 0; element < w.kernelSize(); ++element, columns += row) {
      forEachRow(w, element, [&](int64_t column, int64_t pixel, int64_t count) {
        float *to = image + pixel;
        for (int64_t i = 0; i < count; ++i) to[i * step] += columns[column + i];
      });
    }
  }
}

}  // namespace sim
