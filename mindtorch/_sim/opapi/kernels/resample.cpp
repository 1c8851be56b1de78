/* Operators whose results are weighted sums of elements of an image: upsampling, average pooling, reflection and
 * replication padding. A rule lists the elements and weights (taps) of each output position along a dimension. One
 * loop applies the rules of up to three dimensions; another is its adjoint, the gradient. */
#include <cstring>

#include "opapi/kernels/planes.h"

namespace sim {
namespace {

/* Parameters; each operator uses some of them. */
enum Attribute {
  kDims,     /* dimensions that are resampled: the last ones */
  kMostTaps, /* of any position in any dimension */
  kAlign,    /* align_corners */
  kScale,    /* by dimension, the bits of a double: the given scale (input / output), or 0 */
  kKernel = kScale,
  kStride = kScale + 3,
  kPadding = kStride + 3, /* before the image */
  kCountPadding = kPadding + 3,
  kDivisor, /* 0: the window's size */
};

struct Axis {
  const aclOpExecutor &executor;
  int index;
  int64_t image, positions;
  bool wide; /* the image is of doubles */
};

/* Fills indices and weights of one position, returns how many. */
using TapRule = int64_t (*)(const Axis &axis, int64_t position, int64_t *indices, double *weights);

struct Resampler {
  TapRule rule;
  int dims;
  bool backward;
};

double scaleGiven(const Axis &axis) {
  double scale;
  std::memcpy(&scale, &axis.executor.attributes[kScale + axis.index], sizeof scale);
  return scale;
}

/* --- rules ------------------------------------------------------------------------------------------------------- */

/* Positions are found in double for images of double, in float for all others: as torch does. */
double rounded(const Axis &axis, double value) {
  return axis.wide ? value : static_cast<double>(static_cast<float>(value));
}

/* Image elements per position. */
double stepOf(const Axis &axis) {
  const double image = static_cast<double>(axis.image), positions = static_cast<double>(axis.positions);
  if (axis.executor.attributes[kAlign]) return positions > 1.0 ? rounded(axis, (image - 1.0) / (positions - 1.0)) : 0.0;
  const double given = scaleGiven(axis);
  return rounded(axis, given > 0.0 ? 1.0 / given : image / positions);
}

int64_t nearestTaps(const Axis &axis, int64_t position, int64_t *indices, double *weights) {
  const double at = rounded(axis, static_cast<double>(position) * stepOf(axis));
  indices[0] = std::min(static_cast<int64_t>(std::floor(at)), axis.image - 1);
  weights[0] = 1.0;
  return 1;
}

int64_t nearestExactTaps(const Axis &axis, int64_t position, int64_t *indices, double *weights) {
  const double at = rounded(axis, (static_cast<double>(position) + 0.5) * stepOf(axis));
  indices[0] = std::min(static_cast<int64_t>(std::floor(at)), axis.image - 1);
  weights[0] = 1.0;
  return 1;
}

double positionOf(const Axis &axis, int64_t position) {
  const double step = stepOf(axis), at = static_cast<double>(position);
  if (axis.executor.attributes[kAlign]) return rounded(axis, at * step);
  return rounded(axis, rounded(axis, (at + 0.5) * step) - 0.5);
}

int64_t linearTaps(const Axis &axis, int64_t position, int64_t *indices, double *weights) {
  const double at = std::max(positionOf(axis, position), 0.0);
  const int64_t first = std::min(static_cast<int64_t>(at), axis.image - 1);
  const double fraction = std::min(std::max(at - static_cast<double>(first), 0.0), 1.0);
  indices[0] = first;
  indices[1] = std::min(first + 1, axis.image - 1);
  weights[0] = 1.0 - fraction;
  weights[1] = fraction;
  return 2;
}

/* Cubic convolution with A = -0.75, at the distance x. */
double cubicWeight(double x) {
  constexpr double a = -0.75;
  if (x <= 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  return ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a;
}

int64_t cubicTaps(const Axis &axis, int64_t position, int64_t *indices, double *weights) {
  const double at = positionOf(axis, position), below = std::floor(at);
  const double fraction = at - below, distances[4] = {fraction + 1.0, fraction, 1.0 - fraction, 2.0 - fraction};
  for (int64_t i = 0; i < 4; ++i) {
    indices[i] = std::min(std::max(static_cast<int64_t>(below) - 1 + i, int64_t{0}), axis.image - 1);
    weights[i] = cubicWeight(distances[i]);
  }
  return 4;
}

/* An antialiasing filter: it widens when downsampling; its weights are normalized to the sum 1. */
template <class Filter>
int64_t wideTaps(const Axis &axis, int64_t position, int64_t *indices, double *weights, double reach, Filter filter) {
  const double step = stepOf(axis), stretch = std::max(step, 1.0),
               center = step * (static_cast<double>(position) + 0.5);
  const int64_t first = std::max(static_cast<int64_t>(center - reach * stretch + 0.5), int64_t{0});
  const int64_t last = std::min(static_cast<int64_t>(center + reach * stretch + 0.5), axis.image);
  double sum = 0.0;
  for (int64_t i = first; i < last; ++i) {
    indices[i - first] = i;
    sum += weights[i - first] = filter(std::fabs((static_cast<double>(i) - center + 0.5) / stretch));
  }
  for (int64_t i = first; i < last; ++i) weights[i - first] /= sum;
  return std::max(last - first, int64_t{0});
}

int64_t wideLinearTaps(const Axis &axis, int64_t position, int64_t *indices, double *weights) {
  return wideTaps(axis, position, indices, weights, 1.0, [](double x) { return std::max(1.0 - x, 0.0); });
}

/* Cubic convolution with A = -0.5. */
int64_t wideCubicTaps(const Axis &axis, int64_t position, int64_t *indices, double *weights) {
  return wideTaps(axis, position, indices, weights, 2.0, [](double x) {
    if (x < 1.0) return (1.5 * x - 2.5) * x * x + 1.0;
    return x < 2.0 ? ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0 : 0.0;
  });
}

int64_t evenTaps(int64_t first, int64_t last, double weight, int64_t *indices, double *weights) {
  for (int64_t i = first; i < last; ++i) {
    indices[i - first] = i;
    weights[i - first] = weight;
  }
  return std::max(last - first, int64_t{0});
}

/* Adaptive average: windows that cover the image, of nearly equal sizes. */
int64_t adaptiveAvgPoolTaps(const Axis &axis, int64_t position, int64_t *indices, double *weights) {
  const int64_t first = position * axis.image / axis.positions;
  const int64_t last = ((position + 1) * axis.image + axis.positions - 1) / axis.positions;
  return evenTaps(first, last, 1.0 / static_cast<double>(last - first), indices, weights);
}

int64_t avgPoolTaps(const Axis &axis, int64_t position, int64_t *indices, double *weights) {
  const int64_t *attributes = axis.executor.attributes;
  const int64_t kernel = attributes[kKernel + axis.index], padding = attributes[kPadding + axis.index];
  const int64_t start = position * attributes[kStride + axis.index] - padding;
  const int64_t first = std::max(start, int64_t{0}), last = std::min(start + kernel, axis.image);
  int64_t size = attributes[kCountPadding] ? std::min(start + kernel, axis.image + padding) - start : last - first;
  if (attributes[kDivisor] != 0) size = axis.index == 0 ? attributes[kDivisor] : 1; /* one of the dimensions divides */
  return evenTaps(first, last, 1.0 / static_cast<double>(size), indices, weights);
}

int64_t replicateTaps(const Axis &axis, int64_t position, int64_t *indices, double *weights) {
  const int64_t at = position - axis.executor.attributes[kPadding + axis.index];
  indices[0] = std::min(std::max(at, int64_t{0}), axis.image - 1);
  weights[0] = 1.0;
  return 1;
}

/* Mirrored at the centre of the first and the last element. */
int64_t reflectTaps(const Axis &axis, int64_t position, int64_t *indices, double *weights) {
  const int64_t at = std::abs(position - axis.executor.attributes[kPadding + axis.index]);
  indices[0] = at < axis.image ? at : 2 * (axis.image - 1) - at;
  weights[0] = 1.0;
  return 1;
}

/* --- the loops --------------------------------------------------------------------------------------------------- */

struct Table { /* of one dimension, `most` entries a position */
  int64_t image, positions, most;
  int64_t *counts, *indices;
  double *weights;
};

struct Plan {
  Table tables[3];
  Operand image, positions;
  int64_t image_size, position_count;
  char *image_plane, *positions_plane, *line; /* a line of the image */
};

const Operand &imageOf(const aclOpExecutor &executor) {
  const bool backward = static_cast<const Resampler *>(executor.kernel)->backward;
  return backward ? firstOut(executor) : executor.operands[0];
}
const Operand &positionsOf(const aclOpExecutor &executor) {
  const bool backward = static_cast<const Resampler *>(executor.kernel)->backward;
  return backward ? executor.operands[0] : firstOut(executor);
}

constexpr int64_t kItem = sizeof(Complex); /* the largest compute type */

uint64_t workspaceOf(const aclOpExecutor &executor) {
  const int dims = static_cast<int>(executor.attributes[kDims]);
  int64_t image = 1, positions = 1, entries = 0;
  for (int i = 0; i < 3; ++i) {
    const int axis = i - (3 - dims);
    image *= planeSize(imageOf(executor), dims, axis);
    positions *= planeSize(positionsOf(executor), dims, axis);
    entries += planeSize(positionsOf(executor), dims, axis) * (1 + 2 * executor.attributes[kMostTaps]);
  }
  const int64_t line = planeSize(imageOf(executor), dims, dims - 1);
  return roundUp(static_cast<uint64_t>((image + positions + line) * kItem + entries * 8));
}

void fillTable(const aclOpExecutor &executor, int axis, Table *table) {
  const TapRule rule = static_cast<const Resampler *>(executor.kernel)->rule;
  const bool wide = imageOf(executor).type == ACL_DOUBLE;
  for (int64_t position = 0; position < table->positions; ++position) {
    int64_t *indices = table->indices + position * table->most;
    double *weights = table->weights + position * table->most;
    if (axis < 0) {
      indices[0] = 0;
      weights[0] = 1.0;
      table->counts[position] = 1;
    } else {
      table->counts[position] =
          rule({executor, axis, table->image, table->positions, wide}, position, indices, weights);
    }
  }
}

Plan planOf(const aclOpExecutor &executor) {
  Plan plan;
  plan.image = imageOf(executor);
  plan.positions = positionsOf(executor);
  plan.image_size = plan.position_count = 1;
  const int dims = static_cast<int>(executor.attributes[kDims]);
  int64_t *extent = reinterpret_cast<int64_t *>(executor.workspace);
  for (int i = 0; i < 3; ++i) {
    const int axis = i - (3 - dims);
    Table &table = plan.tables[i];
    table.image = planeSize(plan.image, dims, axis);
    table.positions = planeSize(plan.positions, dims, axis);
    table.most = executor.attributes[kMostTaps];
    table.counts = extent;
    table.indices = table.counts + table.positions;
    table.weights = reinterpret_cast<double *>(table.indices + table.positions * table.most);
    extent = table.indices + 2 * table.positions * table.most;
    fillTable(executor, axis, &table);
    plan.image_size *= table.image;
    plan.position_count *= table.positions;
  }
  plan.image_plane = reinterpret_cast<char *>(extent);
  plan.positions_plane = plan.image_plane + plan.image_size * kItem;
  plan.line = plan.positions_plane + plan.position_count * kItem;
  return plan;
}

template <class C>
struct SumOf {
  using Type = C;
};
template <>
struct SumOf<float> {
  using Type = double;
};

/* Whether each position has one element, which counts as it is. */
bool copies(const Plan &plan) {
  for (const Table &table : plan.tables) {
    for (int64_t i = 0; i < table.positions; ++i) {
      if (table.counts[i] != 1 || table.weights[i * table.most] != 1.0) return false;
    }
  }
  return true;
}

/* Calls row(first position, line(tap)) for each row of positions, where line(use) calls use(line of the image, weight)
 * for the lines that the row is made of. */
template <class Row>
void forEachRow(const Plan &plan, Row row) {
  const Table &z = plan.tables[0], &y = plan.tables[1], &x = plan.tables[2];
  int64_t position = 0;
  for (int64_t i = 0; i < z.positions; ++i) {
    for (int64_t j = 0; j < y.positions; ++j, position += x.positions) {
      row(position, [&, i, j](auto use) {
        for (int64_t a = i * z.most; a < i * z.most + z.counts[i]; ++a) {
          for (int64_t b = j * y.most; b < j * y.most + y.counts[j]; ++b) {
            use((z.indices[a] * y.image + y.indices[b]) * x.image, z.weights[a] * y.weights[b]);
          }
        }
      });
    }
  }
}

template <class To, class From, class Weight>
SIM_CLONES void addLine(To *to, const From *from, Weight weight, int64_t count) {
  SIM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) {
    to[i] = static_cast<To>(add(static_cast<Weight>(to[i]), multiply(weight, static_cast<Weight>(from[i]))));
  }
}

/* A row of positions is made of one line, the weighted sum of those of the image. */
template <class C>
void gatherPlane(const Plan &plan) {
  using Sum = typename SumOf<C>::Type;
  const Table &x = plan.tables[2];
  const C *image = reinterpret_cast<const C *>(plan.image_plane);
  C *positions = reinterpret_cast<C *>(plan.positions_plane);
  Sum *line = reinterpret_cast<Sum *>(plan.line);
  const bool copied = copies(plan);
  forEachRow(plan, [&](int64_t first, auto lines) {
    C *row = positions + first;
    if (copied) {
      lines([&](int64_t start, double) {
        for (int64_t k = 0; k < x.positions; ++k) row[k] = image[start + x.indices[k * x.most]];
      });
      return;
    }
    std::fill_n(line, x.image, Sum(0));
    lines([&](int64_t start, double weight) { addLine(line, image + start, static_cast<Sum>(weight), x.image); });
    for (int64_t k = 0; k < x.positions; ++k) {
      const int64_t *indices = x.indices + k * x.most;
      const double *weights = x.weights + k * x.most;
      Sum sum = Sum(0);
      for (int64_t c = 0; c < x.counts[k]; ++c) {
        sum = add(sum, multiply(static_cast<Sum>(weights[c]), line[indices[c]]));
      }
      row[k] = static_cast<C>(sum);
    }
  });
}

template <class C>
void scatterPlane(const Plan &plan) {
  using Sum = typename SumOf<C>::Type;
  const Table &x = plan.tables[2];
  C *image = reinterpret_cast<C *>(plan.image_plane);
  const C *positions = reinterpret_cast<const C *>(plan.positions_plane);
  Sum *line = reinterpret_cast<Sum *>(plan.line);
  std::fill_n(image, plan.image_size, C(0));
  const bool copied = copies(plan);
  forEachRow(plan, [&](int64_t first, auto lines) {
    const C *row = positions + first;
    if (copied) {
      lines([&](int64_t start, double) {
        for (int64_t k = 0; k < x.positions; ++k) {
          C &element = image[start + x.indices[k * x.most]];
          element = add(element, row[k]);
        }
      });
      return;
    }
    std::fill_n(line, x.image, Sum(0));
    for (int64_t k = 0; k < x.positions; ++k) {
      const int64_t *indices = x.indices + k * x.most;
      const double *weights = x.weights + k * x.most;
      for (int64_t c = 0; c < x.counts[k]; ++c) {
        line[indices[c]] = add(line[indices[c]], multiply(static_cast<Sum>(weights[c]), static_cast<Sum>(row[k])));
      }
    }
    lines([&](int64_t start, double weight) { addLine(image + start, line, static_cast<Sum>(weight), x.image); });
  });
}

constexpr void (*kGather[])(const Plan &) = {gatherPlane<float>, gatherPlane<double>, gatherPlane<int64_t>,
                                             gatherPlane<Complex>};
constexpr void (*kScatter[])(const Plan &) = {scatterPlane<float>, scatterPlane<double>, scatterPlane<int64_t>,
                                              scatterPlane<Complex>};

aclError runResample(const aclOpExecutor &executor) {
  Plan plan = planOf(executor);
  const int64_t dims = executor.attributes[kDims];
  const bool backward = static_cast<const Resampler *>(executor.kernel)->backward;
  plan.image.compute = plan.positions.compute = computeOf(plan.image.type);
  const Operand &read = backward ? plan.positions : plan.image, &written = backward ? plan.image : plan.positions;
  char *read_plane = backward ? plan.positions_plane : plan.image_plane;
  char *written_plane = backward ? plan.image_plane : plan.positions_plane;
  const auto run = (backward ? kScatter : kGather)[plan.image.compute];
  Planes from(read, dims), to(written, dims);
  for (int64_t i = planeCount(read, dims); i-- > 0; from.next(), to.next()) {
    from.read(read_plane);
    run(plan);
    to.write(written_plane);
  }
  return ACL_SUCCESS;
}

/* --- phase 1 ----------------------------------------------------------------------------------------------------- */

const Resampler &resamplerOf(const OpBody &body) { return *static_cast<const Resampler *>(body.kernel); }

aclnnStatus planRun(aclOpExecutor &executor, const OpBody &body, int64_t most_taps) {
  executor.attributes[kDims] = resamplerOf(body).dims;
  executor.attributes[kMostTaps] = most_taps;
  executor.kernel = body.kernel;
  const Operand &image = imageOf(executor), &positions = positionsOf(executor);
  if (image.type != positions.type) return refuse(executor, "types differ: {} and {}", image.type, positions.type);
  executor.run = runResample;
  if (firstOut(executor).count > 0) executor.workspace_size = workspaceOf(executor);
  return ACLNN_SUCCESS;
}

/* The image's leading dimensions, and these sizes behind them. */
aclnnStatus requireLast(const aclOpExecutor &executor, const Operand &tensor, const Operand &image, int dims,
                        const int64_t *sizes) {
  Shape shape = shapeOf(image);
  if (image.rank < dims + 1) {
    return refuse(executor, "a tensor of {} dimensions, expected {} or more", image.rank, dims + 1);
  }
  for (int i = 0; i < dims; ++i) {
    shape.dims[shape.rank - dims + i] = sizes[i];
    if (image.dims[image.rank - dims + i] < 1 || sizes[i] < 1) return refuse(executor, "an image of size 0");
  }
  return requireShape(executor, tensor, shape);
}

enum UpsampleVariant : int64_t { kPlain = 0, kAligned = 1, kScaled = 2, kWide = 4 };

/* Of filters that reach two elements to each side, more where the image shrinks. */
int64_t mostTaps(aclOpExecutor &executor, const OpBody &body) {
  int64_t most = 4;
  executor.kernel = body.kernel;
  const Operand &image = imageOf(executor), &positions = positionsOf(executor);
  const int dims = resamplerOf(body).dims;
  for (int i = 0; (body.variant & kWide) != 0 && i < dims; ++i) {
    const Axis axis = {executor, i, planeSize(image, dims, i), planeSize(positions, dims, i), image.type == ACL_DOUBLE};
    most = std::max(most, std::min(static_cast<int64_t>(4.0 * std::max(stepOf(axis), 1.0)) + 2, axis.image));
  }
  return most;
}

/* self, outputSize, [alignCorners], [a scale for each dimension], out
 * gradOut, outputSize, inputSize, [alignCorners], [a scale for each dimension], out */
aclnnStatus prepareUpsample(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Resampler &resampler = resamplerOf(body);
  const int dims = resampler.dims;
  const Operand &given = executor.operands[0], &out = firstOut(executor);
  int64_t sizes[3], input[5] = {}, next = 2;
  SIM_TRY(readInts(executor, arguments[1].pointer, dims, INT64_MIN, sizes));
  if (resampler.backward) {
    SIM_TRY(readInts(executor, arguments[next++].pointer, dims + 2, INT64_MIN, input));
    SIM_TRY(requireLast(executor, given, out, dims, sizes));
    SIM_TRY(requireLast(executor, out, given, dims, input + 2));
  } else {
    SIM_TRY(requireLast(executor, out, given, dims, sizes));
  }
  executor.attributes[kAlign] = (body.variant & kAligned) != 0 && arguments[next++].integer != 0;
  for (int i = 0; i < 3; ++i) {
    const double scale = (body.variant & kScaled) != 0 && i < dims ? arguments[next++].real : 0.0;
    std::memcpy(&executor.attributes[kScale + i], &scale, sizeof scale);
  }
  return planRun(executor, body, mostTaps(executor, body));
}

/* self, outputSize, out
 * gradOutput, self, out */
aclnnStatus prepareAdaptiveAvgPool(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Resampler &resampler = resamplerOf(body);
  const Operand &image = resampler.backward ? executor.operands[1] : executor.operands[0];
  const Operand &positions = resampler.backward ? executor.operands[0] : firstOut(executor);
  int64_t sizes[3], most = 1;
  for (int i = 0; i < resampler.dims && resampler.backward && positions.rank == image.rank; ++i) {
    sizes[i] = positions.dims[positions.rank - resampler.dims + i];
  }
  if (!resampler.backward) SIM_TRY(readInts(executor, arguments[1].pointer, resampler.dims, INT64_MIN, sizes));
  if (positions.count > 0) {
    SIM_TRY(positions.rank == image.rank ? requireLast(executor, positions, image, resampler.dims, sizes)
                                         : refuse(executor, "ranks differ: {} and {}", positions.rank, image.rank));
  }
  if (resampler.backward) SIM_TRY(requireShape(executor, firstOut(executor), shapeOf(image)));
  for (int i = 0; i < resampler.dims; ++i) {
    most = std::max(most, image.dims[image.rank - resampler.dims + i] / std::max(sizes[i], int64_t{1}) + 2);
  }
  return planRun(executor, body, most);
}

/* self, kernelSize, strides, paddings, ceilMode, countIncludePad, divisorOverride, ..., out
 * gradOutput, self, kernelSize, ... */
aclnnStatus prepareAvgPool(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Resampler &resampler = resamplerOf(body);
  const int dims = resampler.dims, at = resampler.backward ? 2 : 1;
  int64_t *attributes = executor.attributes;
  const Operand &image = resampler.backward ? executor.operands[1] : executor.operands[0];
  const Operand &positions = resampler.backward ? executor.operands[0] : firstOut(executor);
  SIM_TRY(readInts(executor, arguments[at].pointer, dims, INT64_MIN, attributes + kKernel));
  const void *strides = arguments[at + 1].pointer; /* an empty array: the sizes of the window */
  if (static_cast<const aclIntArray *>(strides)->size == 0) strides = arguments[at].pointer;
  SIM_TRY(readInts(executor, strides, dims, INT64_MIN, attributes + kStride));
  SIM_TRY(readInts(executor, arguments[at + 2].pointer, dims, INT64_MIN, attributes + kPadding));
  const bool ceil = arguments[at + 3].integer != 0;
  int64_t sizes[3], most = 1;
  for (int i = 0; i < dims; ++i) {
    const int64_t kernel = attributes[kKernel + i], stride = attributes[kStride + i],
                  padding = attributes[kPadding + i];
    const int64_t size = image.rank >= dims ? image.dims[image.rank - dims + i] : 0;
    const int64_t extent = size + 2 * padding - kernel;
    if (kernel < 1 || stride < 1 || padding < 0 || 2 * padding > kernel || extent < 0) {
      return refuse(executor, "a window of {}, stride {}, padding {} on an image of {}", kernel, stride, padding, size);
    }
    sizes[i] = (extent + (ceil ? stride - 1 : 0)) / stride + 1;
    if (ceil && (sizes[i] - 1) * stride >= size + padding) --sizes[i];
    most = std::max(most, kernel);
  }
  attributes[kCountPadding] = arguments[at + 4].integer != 0;
  attributes[kDivisor] = arguments[at + 5].integer;
  SIM_TRY(requireLast(executor, positions, image, dims, sizes));
  if (resampler.backward) SIM_TRY(requireShape(executor, firstOut(executor), shapeOf(image)));
  return planRun(executor, body, most);
}

/* self, padding (pairs, from the last dimension), out
 * gradOutput, self, padding, gradInput */
aclnnStatus preparePad(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Resampler &resampler = resamplerOf(body);
  const int dims = resampler.dims;
  const Operand &image = resampler.backward ? executor.operands[1] : executor.operands[0];
  const Operand &positions = resampler.backward ? executor.operands[0] : firstOut(executor);
  int64_t pads[6], sizes[3];
  SIM_TRY(readInts(executor, arguments[resampler.backward ? 2 : 1].pointer, 2 * dims, INT64_MIN, pads));
  for (int i = 0; i < dims; ++i) {
    const int64_t size = image.rank > dims ? image.dims[image.rank - dims + i] : 0;
    const int64_t before = pads[2 * (dims - 1 - i)], after = pads[2 * (dims - 1 - i) + 1];
    if (resampler.rule == reflectTaps && (before >= size || after >= size)) {
      return refuse(executor, "padding of {} and {}, expected less than the size {}", before, after, size);
    }
    executor.attributes[kPadding + i] = before;
    sizes[i] = size + before + after;
  }
  SIM_TRY(requireLast(executor, positions, image, dims, sizes));
  if (resampler.backward) SIM_TRY(requireShape(executor, firstOut(executor), shapeOf(image)));
  return planRun(executor, body, 1);
}

template <TapRule Rule, int Dims, bool Backward>
constexpr Resampler kResampler = {Rule, Dims, Backward};
constexpr bool kForward = false, kBackward = true;
constexpr int64_t kBoth = kAligned | kScaled, kFiltered = kBoth | kWide;

}  // namespace

SIM_OP(aclnnUpsampleNearest1d, prepareUpsample, &kResampler<nearestTaps, 1, kForward>, kPlain)
SIM_OP(aclnnUpsampleNearest1dV2, prepareUpsample, &kResampler<nearestTaps, 1, kForward>, kScaled)
SIM_OP(aclnnUpsampleNearest1dBackward, prepareUpsample, &kResampler<nearestTaps, 1, kBackward>, kScaled)
SIM_OP(aclnnUpsampleNearest2d, prepareUpsample, &kResampler<nearestTaps, 2, kForward>, kPlain)
SIM_OP(aclnnUpsampleNearest2dV2, prepareUpsample, &kResampler<nearestTaps, 2, kForward>, kScaled)
SIM_OP(aclnnUpsampleNearest2dBackward, prepareUpsample, &kResampler<nearestTaps, 2, kBackward>, kScaled)
SIM_OP(aclnnUpsampleNearest3d, prepareUpsample, &kResampler<nearestTaps, 3, kForward>, kScaled)
SIM_OP(aclnnUpsampleNearest3dBackward, prepareUpsample, &kResampler<nearestTaps, 3, kBackward>, kScaled)
SIM_OP(aclnnUpsampleNearestExact1d, prepareUpsample, &kResampler<nearestExactTaps, 1, kForward>, kScaled)
SIM_OP(aclnnUpsampleNearestExact1dBackward, prepareUpsample, &kResampler<nearestExactTaps, 1, kBackward>, kScaled)
SIM_OP(aclnnUpsampleNearestExact2d, prepareUpsample, &kResampler<nearestExactTaps, 2, kForward>, kScaled)
SIM_OP(aclnnUpsampleNearestExact2dBackward, prepareUpsample, &kResampler<nearestExactTaps, 2, kBackward>, kScaled)
SIM_OP(aclnnUpsampleNearestExact3d, prepareUpsample, &kResampler<nearestExactTaps, 3, kForward>, kScaled)
SIM_OP(aclnnUpsampleNearestExact3dBackward, prepareUpsample, &kResampler<nearestExactTaps, 3, kBackward>, kScaled)
SIM_OP(aclnnUpsampleLinear1d, prepareUpsample, &kResampler<linearTaps, 1, kForward>, kBoth)
SIM_OP(aclnnUpsampleLinear1dBackward, prepareUpsample, &kResampler<linearTaps, 1, kBackward>, kBoth)
SIM_OP(aclnnUpsampleBilinear2d, prepareUpsample, &kResampler<linearTaps, 2, kForward>, kBoth)
SIM_OP(aclnnUpsampleBilinear2dBackward, prepareUpsample, &kResampler<linearTaps, 2, kBackward>, kBoth)
SIM_OP(aclnnUpsampleBilinear2dBackwardV2, prepareUpsample, &kResampler<linearTaps, 2, kBackward>, kBoth)
SIM_OP(aclnnUpsampleTrilinear3d, prepareUpsample, &kResampler<linearTaps, 3, kForward>, kBoth)
SIM_OP(aclnnUpsampleTrilinear3dBackward, prepareUpsample, &kResampler<linearTaps, 3, kBackward>, kBoth)
SIM_OP(aclnnUpsampleBicubic2d, prepareUpsample, &kResampler<cubicTaps, 2, kForward>, kBoth)
SIM_OP(aclnnUpsampleBicubic2dBackward, prepareUpsample, &kResampler<cubicTaps, 2, kBackward>, kBoth)
SIM_OP(aclnnUpsampleBilinear2dAA, prepareUpsample, &kResampler<wideLinearTaps, 2, kForward>, kFiltered)
SIM_OP(aclnnUpsampleBilinear2dAABackward, prepareUpsample, &kResampler<wideLinearTaps, 2, kBackward>, kFiltered)
SIM_OP(aclnnUpsampleBicubic2dAA, prepareUpsample, &kResampler<wideCubicTaps, 2, kForward>, kFiltered)
SIM_OP(aclnnUpsampleBicubic2dAAGrad, prepareUpsample, &kResampler<wideCubicTaps, 2, kBackward>, kFiltered)
SIM_OP(aclnnAdaptiveAvgPool2d, prepareAdaptiveAvgPool, &kResampler<adaptiveAvgPoolTaps, 2, kForward>, 0)
SIM_OP(aclnnAdaptiveAvgPool2dBackward, prepareAdaptiveAvgPool, &kResampler<adaptiveAvgPoolTaps, 2, kBackward>, 0)
SIM_OP(aclnnAdaptiveAvgPool3d, prepareAdaptiveAvgPool, &kResampler<adaptiveAvgPoolTaps, 3, kForward>, 0)
SIM_OP(aclnnAdaptiveAvgPool3dBackward, prepareAdaptiveAvgPool, &kResampler<adaptiveAvgPoolTaps, 3, kBackward>, 0)
SIM_OP(aclnnAvgPool2d, prepareAvgPool, &kResampler<avgPoolTaps, 2, kForward>, 0)
SIM_OP(aclnnAvgPool2dBackward, prepareAvgPool, &kResampler<avgPoolTaps, 2, kBackward>, 0)
SIM_OP(aclnnAvgPool3d, prepareAvgPool, &kResampler<avgPoolTaps, 3, kForward>, 0)
SIM_OP(aclnnAvgPool3dBackward, prepareAvgPool, &kResampler<avgPoolTaps, 3, kBackward>, 0)
SIM_OP(aclnnReflectionPad1d, preparePad, &kResampler<reflectTaps, 1, kForward>, 0)
SIM_OP(aclnnReflectionPad1dBackward, preparePad, &kResampler<reflectTaps, 1, kBackward>, 0)
SIM_OP(aclnnReflectionPad2d, preparePad, &kResampler<reflectTaps, 2, kForward>, 0)
SIM_OP(aclnnReflectionPad2dBackward, preparePad, &kResampler<reflectTaps, 2, kBackward>, 0)
SIM_OP(aclnnReflectionPad3d, preparePad, &kResampler<reflectTaps, 3, kForward>, 0)
SIM_OP(aclnnReflectionPad3dBackward, preparePad, &kResampler<reflectTaps, 3, kBackward>, 0)
SIM_OP(aclnnReplicationPad1d, preparePad, &kResampler<replicateTaps, 1, kForward>, 0)
SIM_OP(aclnnReplicationPad1dBackward, preparePad, &kResampler<replicateTaps, 1, kBackward>, 0)
SIM_OP(aclnnReplicationPad2d, preparePad, &kResampler<replicateTaps, 2, kForward>, 0)
SIM_OP(aclnnReplicationPad2dBackward, preparePad, &kResampler<replicateTaps, 2, kBackward>, 0)
SIM_OP(aclnnReplicationPad3d, preparePad, &kResampler<replicateTaps, 3, kForward>, 0)
SIM_OP(aclnnReplicationPad3dBackward, preparePad, &kResampler<replicateTaps, 3, kBackward>, 0)

}  // namespace sim
