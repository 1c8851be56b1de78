/* Images sampled at the points of a grid, with both gradients, and the grids of affine maps.
 *
 * Along each dimension a position takes up to four elements of the image (its taps). A sample is the sum over the
 * products of taps; `slope` is the derivative of a weight by a coordinate of the grid. */
#include <algorithm>

#include "opapi/kernels/planes.h"

namespace sim {
namespace {

enum Attribute { kMode, kPadding, kAlign, kOfImage, kOfGrid };
enum Mode { kBilinear, kNearest, kBicubic };
enum Padding { kZeros, kBorder, kReflection };

struct Sizes {
  int dims;
  int64_t samples, channels, image, points; /* elements of a plane, points of a sample */
  int64_t lengths[3];                       /* of the image */
};

Sizes sizesOf(const Operand &image, const Operand &grid) {
  Sizes sizes = {image.rank - 2, image.dims[0], image.dims[1], 1, 1, {}};
  for (int i = 0; i < sizes.dims; ++i) {
    sizes.lengths[i] = image.dims[i + 2];
    sizes.image *= image.dims[i + 2];
    sizes.points *= grid.dims[i + 1];
  }
  return sizes;
}

/* --- taps along one dimension ------------------------------------------------------------------------------------ */

template <class C>
struct Position {
  C at, direction; /* derivative by the coordinate: 1, -1 after a reflection, 0 if clamped to the border */
};

/* Reflects at both ends; `low` and `high` are twice the positions of the ends. */
template <class C>
Position<C> reflected(C at, C low, C high) {
  if (low == high) return {C(0), C(0)};
  const C least = low / 2, span = (high - low) / 2, distance = std::fabs(at - least);
  const C turns = std::floor(distance / span), rest = std::fmod(distance, span);
  const bool odd = std::fmod(turns, C(2)) == C(1);
  return {(odd ? span - rest : rest) + least, (at < least) != odd ? C(-1) : C(1)};
}

template <class C>
Position<C> bounded(C at, int64_t length, const int64_t *attributes) {
  const C last = static_cast<C>(length - 1);
  if (attributes[kPadding] == kZeros) return {at, C(1)};
  Position<C> found = {at, C(1)};
  if (attributes[kPadding] == kReflection) {
    found = attributes[kAlign] ? reflected(at, C(0), 2 * last) : reflected(at, C(-1), 2 * last + 1);
  }
  if (!(found.at > C(0) && found.at < last)) found.direction = C(0);
  found.at = std::fmin(std::fmax(found.at, C(0)), last); /* of NaN and a number they give the number */
  return found;
}

template <class C>
struct Tap {
  int64_t element; /* -1: outside the image */
  C weight, slope;
};

template <class C>
struct AxisTaps {
  int count;
  Tap<C> taps[4];
};

template <class C>
int64_t elementAt(C at, int64_t length) {
  return at >= C(0) && at <= static_cast<C>(length - 1) ? static_cast<int64_t>(at) : -1;
}

/* Cubic convolution with A = -0.75: tap i lies at the distance `fraction` + 1 - i. */
template <class C>
Tap<C> cubicTap(C fraction, int i) {
  const C signed_distance = fraction + static_cast<C>(1 - i), x = std::fabs(signed_distance);
  const C sign = i < 2 ? C(1) : C(-1);
  if (i == 1 || i == 2) return {0, (C(1.25) * x - C(2.25)) * x * x + C(1), sign * (C(3.75) * x - C(4.5)) * x};
  return {0, ((C(-0.75) * x + C(3.75)) * x - C(6)) * x + C(3), sign * ((C(-2.25) * x + C(7.5)) * x - C(6))};
}

template <class C>
AxisTaps<C> axisTaps(C coordinate, int64_t length, const int64_t *attributes) {
  const C size = static_cast<C>(length);
  const C scale = attributes[kAlign] ? (size - 1) / 2 : size / 2;
  const C at = attributes[kAlign] ? (coordinate + 1) * scale : ((coordinate + 1) * size - 1) / 2;
  AxisTaps<C> line = {};
  if (attributes[kMode] == kBicubic) {
    const C below = std::floor(at);
    for (line.count = 0; line.count < 4; ++line.count) {
      Tap<C> &tap = line.taps[line.count] = cubicTap(at - below, line.count);
      tap.slope *= scale;
      tap.element = elementAt(bounded(below + static_cast<C>(line.count - 1), length, attributes).at, length);
    }
    return line;
  }
  const Position<C> found = bounded(at, length, attributes);
  if (attributes[kMode] == kNearest) {
    line.count = 1;
    line.taps[0] = {elementAt(std::nearbyint(found.at), length), C(1), C(0)};
    return line;
  }
  const C below = std::floor(found.at), slope = found.direction * scale;
  line.count = 2;
  line.taps[0] = {elementAt(below, length), below + 1 - found.at, -slope};
  line.taps[1] = {elementAt(below + 1, length), found.at - below, slope};
  return line;
}

/* --- taps of a position ---------------------------------------------------------------------------------------------
 */

template <class C>
struct Element {
  int64_t at;
  double weight, slopes[3]; /* by dimension of the image */
};

constexpr int kMostElements = 16; /* four by four; two by two by two */

/* Lists the elements of the image that a point depends on, without those outside of it. */
template <class C>
int elementsOf(const Sizes &sizes, const C *coordinates, const int64_t *attributes, Element<C> *elements) {
  elements[0] = {0, 1.0, {1.0, 1.0, 1.0}};
  int count = 1;
  for (int dim = 0; dim < sizes.dims; ++dim) {
    const AxisTaps<C> line = axisTaps(coordinates[sizes.dims - 1 - dim], sizes.lengths[dim], attributes);
    Element<C> before[kMostElements];
    std::copy_n(elements, count, before);
    int made = 0;
    for (int i = 0; i < count; ++i) {
      for (int t = 0; t < line.count; ++t) {
        const Tap<C> &tap = line.taps[t];
        if (tap.element < 0) continue;
        Element<C> &element = elements[made++] = before[i];
        element.at = before[i].at * sizes.lengths[dim] + tap.element;
        element.weight *= static_cast<double>(tap.weight);
        for (int k = 0; k < sizes.dims; ++k)
          element.slopes[k] *= static_cast<double>(k == dim ? tap.slope : tap.weight);
      }
    }
    count = made;
  }
  return count;
}

/* --- the kernels ------------------------------------------------------------------------------------------------- */

/* Allocates contiguous arrays for whole tensors in the workspace. */
template <class C>
class WorkspaceArrays {
 public:
  explicit WorkspaceArrays(const aclOpExecutor &executor) : free_(reinterpret_cast<C *>(executor.workspace)) {}
  C *take(const Operand &operand) {
    C *array = free_;
    free_ += operand.count;
    return array;
  }
  C *read(const Operand &operand) {
    C *array = take(operand);
    readElements(operand, array);
    return array;
  }

 private:
  C *free_;
};

/* input, grid, ..., out */
template <class C>
aclError runSample(const aclOpExecutor &executor) {
  const Sizes sizes = sizesOf(executor.operands[0], executor.operands[1]);
  WorkspaceArrays<C> arrays(executor);
  const C *image = arrays.read(executor.operands[0]), *grid = arrays.read(executor.operands[1]);
  C *out = arrays.take(executor.operands[2]);
  Element<C> elements[kMostElements];
  for (int64_t n = 0; n < sizes.samples; ++n) {
    const C *planes = image + n * sizes.channels * sizes.image;
    for (int64_t p = 0; p < sizes.points; ++p) {
      const int count = elementsOf(sizes, grid + (n * sizes.points + p) * sizes.dims, executor.attributes, elements);
      for (int64_t c = 0; c < sizes.channels; ++c) {
        double sum = 0.0;
        for (int i = 0; i < count; ++i) {
          sum += elements[i].weight * static_cast<double>(planes[c * sizes.image + elements[i].at]);
        }
        out[(n * sizes.channels + c) * sizes.points + p] = static_cast<C>(sum);
      }
    }
  }
  writeElements(executor.operands[2], out);
  return ACL_SUCCESS;
}

/* gradOutput, input, grid, ..., inputGrad, gridGrad */
template <class C>
aclError runSampleBackward(const aclOpExecutor &executor) {
  const Sizes sizes = sizesOf(executor.operands[1], executor.operands[2]);
  WorkspaceArrays<C> arrays(executor);
  const C *grads = arrays.read(executor.operands[0]), *image = arrays.read(executor.operands[1]);
  const C *grid = arrays.read(executor.operands[2]);
  C *of_image = arrays.take(executor.operands[3]), *of_grid = arrays.take(executor.operands[4]);
  std::fill_n(of_image, executor.operands[3].count, C(0));
  Element<C> elements[kMostElements];
  for (int64_t n = 0; n < sizes.samples; ++n) {
    for (int64_t p = 0; p < sizes.points; ++p) {
      const int64_t position = (n * sizes.points + p) * sizes.dims;
      const int count = elementsOf(sizes, grid + position, executor.attributes, elements);
      double slopes[3] = {};
      for (int64_t c = n * sizes.channels; c < (n + 1) * sizes.channels; ++c) {
        const double grad = static_cast<double>(grads[c * sizes.points + p]);
        for (int i = 0; i < count; ++i) {
          const int64_t at = c * sizes.image + elements[i].at;
          of_image[at] = static_cast<C>(static_cast<double>(of_image[at]) + grad * elements[i].weight);
          for (int k = 0; k < sizes.dims; ++k)
            slopes[k] += grad * elements[i].slopes[k] * static_cast<double>(image[at]);
        }
      }
      for (int k = 0; k < sizes.dims; ++k) of_grid[position + sizes.dims - 1 - k] = static_cast<C>(slopes[k]);
    }
  }
  if (executor.attributes[kOfImage]) writeElements(executor.operands[3], of_image);
  if (executor.attributes[kOfGrid]) writeElements(executor.operands[4], of_grid);
  return ACL_SUCCESS;
}

/* theta, size, alignCorners, out */
template <class C>
aclError runAffineGrid(const aclOpExecutor &executor) {
  const Operand &theta = executor.operands[0], &out = executor.operands[1];
  const int dims = static_cast<int>(theta.dims[1]);
  WorkspaceArrays<C> arrays(executor);
  const C *maps = arrays.read(theta);
  C *points = arrays.take(out), *position = points;
  const int64_t count = out.count / dims / std::max<int64_t>(out.dims[0], 1);
  for (int64_t n = 0; n < out.dims[0]; ++n) {
    for (int64_t p = 0; p < count; ++p) {
      double base[3] = {};
      int64_t rest = p;
      for (int k = 0; k < dims; ++k) { /* the last dimension is x */
        const int64_t length = out.dims[dims - k], at = rest % length;
        rest /= length;
        if (!executor.attributes[kAlign]) {
          base[k] = static_cast<double>(2 * at + 1) / static_cast<double>(length) - 1.0;
        } else if (length > 1) {
          base[k] = 2.0 * static_cast<double>(at) / static_cast<double>(length - 1) - 1.0;
        }
      }
      for (int row = 0; row < dims; ++row) {
        const C *map = maps + (n * dims + row) * (dims + 1);
        double sum = static_cast<double>(map[dims]);
        for (int k = 0; k < dims; ++k) sum += static_cast<double>(map[k]) * base[k];
        *position++ = static_cast<C>(sum);
      }
    }
  }
  writeElements(out, points);
  return ACL_SUCCESS;
}

/* --- phase 1 ----------------------------------------------------------------------------------------------------- */

using Run = aclError (*)(const aclOpExecutor &);

aclnnStatus planRun(aclOpExecutor &executor, Run of_float, Run of_double) {
  const Operand &first = executor.operands[0];
  int64_t count = 0;
  for (const Operand &operand : executor.operands) {
    if (operand.type != first.type) return refuse(executor, "types differ: {} and {}", first.type, operand.type);
    count += operand.count;
  }
  const bool wide = first.type == ACL_DOUBLE;
  executor.run = wide ? of_double : of_float;
  executor.workspace_size = roundUp(static_cast<uint64_t>(count) * (wide ? sizeof(double) : sizeof(float)));
  return ACLNN_SUCCESS;
}

aclnnStatus checkGrid(aclOpExecutor &executor, const Operand &image, const Operand &grid, const Argument *modes) {
  bool fits = image.rank == grid.rank && image.dims[0] == grid.dims[0] && grid.dims[grid.rank - 1] == grid.rank - 2;
  for (int32_t i = 2; fits && i < image.rank; ++i) fits = image.dims[i] > 0;
  if (!fits) {
    return refuse(executor, "an image of rank {} and a grid of rank {} whose sizes do not fit", image.rank, grid.rank);
  }
  const int64_t mode = modes[0].integer, padding = modes[1].integer;
  if (mode < 0 || mode > (image.rank == 4 ? kBicubic : kNearest) || padding < 0 || padding > kReflection) {
    return refuse(executor, "interpolationMode {} and paddingMode {}", mode, padding);
  }
  executor.attributes[kMode] = mode;
  executor.attributes[kPadding] = padding;
  executor.attributes[kAlign] = modes[2].integer != 0;
  return ACLNN_SUCCESS;
}

Shape sampledShape(const Operand &image, const Operand &grid) {
  Shape shape = shapeOf(image);
  for (int32_t i = 2; i < shape.rank; ++i) shape.dims[i] = grid.dims[i - 1];
  return shape;
}

aclnnStatus prepareSample(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &image = executor.operands[0], &grid = executor.operands[1];
  SIM_TRY(checkGrid(executor, image, grid, arguments + 2));
  SIM_TRY(requireShape(executor, executor.operands[2], sampledShape(image, grid)));
  return planRun(executor, runSample<float>, runSample<double>);
}

aclnnStatus prepareSampleBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &image = executor.operands[1], &grid = executor.operands[2];
  const aclBoolArray *mask = static_cast<const aclBoolArray *>(arguments[6].pointer);
  if (mask->size != 2) return refuse(executor, "outputMask has {} elements, expected 2", mask->size);
  executor.attributes[kOfImage] = mask->items[0];
  executor.attributes[kOfGrid] = mask->items[1];
  SIM_TRY(checkGrid(executor, image, grid, arguments + 3));
  SIM_TRY(requireShape(executor, executor.operands[0], sampledShape(image, grid)));
  SIM_TRY(requireShape(executor, executor.operands[3], shapeOf(image)));
  SIM_TRY(requireShape(executor, executor.operands[4], shapeOf(grid)));
  return planRun(executor, runSampleBackward<float>, runSampleBackward<double>);
}

aclnnStatus prepareAffineGrid(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &theta = executor.operands[0];
  const aclIntArray *size = static_cast<const aclIntArray *>(arguments[1].pointer);
  const uint64_t dims = size->size - 2;
  if ((size->size != 4 && size->size != 5) || theta.rank != 3 || theta.dims[0] != size->items[0] ||
      theta.dims[1] != static_cast<int64_t>(dims) || theta.dims[2] != static_cast<int64_t>(dims + 1)) {
    return refuse(executor, "size has {} elements, which theta does not fit", size->size);
  }
  executor.attributes[kAlign] = arguments[2].integer != 0;
  Shape shape;
  shape.rank = static_cast<int32_t>(size->size);
  shape.dims[0] = size->items[0];
  for (uint64_t i = 0; i < dims; ++i) shape.dims[i + 1] = size->items[i + 2];
  shape.dims[dims + 1] = static_cast<int64_t>(dims);
  SIM_TRY(requireShape(executor, executor.operands[1], shape));
  return planRun(executor, runAffineGrid<float>, runAffineGrid<double>);
}

}  // namespace

SIM_OP(aclnnGridSampler2D, prepareSample, nullptr, 0)
SIM_OP(aclnnGridSampler3D, prepareSample, nullptr, 0)
SIM_OP(aclnnGridSampler2DBackward, prepareSampleBackward, nullptr, 0)
SIM_OP(aclnnGridSampler3DBackward, prepareSampleBackward, nullptr, 0)
SIM_OP(aclnnAffineGrid, prepareAffineGrid, nullptr, 0)

}  // namespace sim
