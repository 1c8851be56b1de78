/* softmax and log_softmax over one dimension, forward and backward, in float, or in double if a tensor is double. A
 * tile of neighbouring slices is copied to the workspace, processed and written back: [element][slice] if slices are
 * neighbours in memory, else one slice at a time. */
#include <algorithm>

#include "opapi/kernels/reduce.h"
#include "opapi/scan_sort.h"

namespace sim {
namespace {

constexpr int64_t kTile = 1 << 15; /* elements that stay in the cache */

/* The slices of one operand along the dimension. */
template <class T>
class SliceTiles {
 public:
  SliceTiles(const Operand &operand, int32_t dim)
      : SliceTiles(operand, splitDims(operand, operand.rank == 0 ? 0 : 1u << dim)) {}

  int64_t count() const { return count_; }
  int64_t length() const { return length_; }
  int64_t width() const { return width_; } /* slices before the next jump in memory */
  bool rowwise() const { return rowwise_; }

  void load(T *tile, int64_t slices) const {
    if (slices == 1) return load_(kept_.position(), stride_, tile, length_);
    for (int64_t i = 0; i < length_; ++i) load_(kept_.position() + i * stride_, step_, tile + i * slices, slices);
  }
  void store(const T *tile, int64_t slices) const {
    if (slices == 1) return store_(tile, kept_.position(), stride_, length_);
    for (int64_t i = 0; i < length_; ++i) store_(tile + i * slices, kept_.position() + i * stride_, step_, slices);
  }
  void skip(int64_t slices) { kept_.skip(slices); }

 private:
  SliceTiles(const Operand &operand, const ReductionView &view)
      : load_(loadStrided(operand.type, computeOfType<T>())),
        store_(storeStrided(operand.type, computeOfType<T>())),
        stride_(view.reduced.rank == 0 ? operand.item : view.reduced.strides[0] * operand.item),
        step_(view.kept.rank == 0 ? 0 : view.kept.strides[view.kept.rank - 1] * operand.item),
        length_(elementsOf(view.reduced)),
        width_(view.kept.rank == 0 ? 1 : view.kept.dims[view.kept.rank - 1]),
        count_(elementsOf(view.kept)),
        rowwise_(isRowwise(view)),
        kept_(view.kept) {}

  LoadStrided load_;
  StoreStrided store_;
  int64_t stride_, step_, length_, width_, count_;
  bool rowwise_;
  Cursor kept_;
};

/* SliceTiles in a tile, at most. */
template <class T>
int64_t tileWidth(const SliceTiles<T> &slices) {
  if (!slices.rowwise()) return 1;
  return std::min({std::max<int64_t>(8, kTile / slices.length()), slices.width(), kBlock});
}

/* The fold of value(i) over each line of a tile, from `start` on. */
template <class A, class Value, class Fold>
SIM_INLINE void reduceTile(A *folds, int64_t length, int64_t slices, A start, Value value, Fold fold) {
  constexpr int64_t kParts = 16;
  if (slices > 1) {
    std::fill(folds, folds + slices, start);
    for (int64_t i = 0; i < length; ++i) {
      SIM_INDEPENDENT
      for (int64_t k = 0; k < slices; ++k) folds[k] = fold(value(i * slices + k), folds[k]);
    }
    return;
  }
  A parts[kParts];
  std::fill(parts, parts + kParts, start);
  int64_t i = 0;
  for (; i + kParts <= length; i += kParts) {
    /* Unrolled, the loop of a maximum would not be vectorised. */
    SIM_NOT_UNROLLED
    for (int64_t k = 0; k < kParts; ++k) parts[k] = fold(value(i + k), parts[k]);
  }
  for (; i < length; ++i) parts[0] = fold(value(i), parts[0]);
  for (int64_t half = kParts / 2; half > 0; half /= 2) {
    for (int64_t k = 0; k < half; ++k) parts[k] = fold(parts[k + half], parts[k]);
  }
  *folds = parts[0];
}

/* Writes value(i, k) for each element i of a tile, which is in line k. */
template <class T, class Value>
SIM_INLINE void mapTile(T *tile, int64_t length, int64_t slices, Value value) {
  if (slices == 1) {
    SIM_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) tile[i] = value(i, int64_t{0});
    return;
  }
  for (int64_t first = 0; first < length * slices; first += slices) {
    SIM_INDEPENDENT
    for (int64_t k = 0; k < slices; ++k) tile[first + k] = value(first + k, k);
  }
}

/* By line of a tile. */
template <class T>
struct Folds {
  double sums[kBlock];
  T largest[kBlock], scale[kBlock];
};

constexpr auto kAdd = [](double x, double sum) { return sum + x; };

template <class T, bool Logarithm>
SIM_CLONES void forwardTile(T *x, Folds<T> *folds, int64_t length, int64_t slices) {
  T *largest = folds->largest, *scale = folds->scale;
  double *sums = folds->sums;
  const auto element = [x](int64_t i) { return x[i]; };
  const auto power = [x](int64_t i) { return static_cast<double>(vec::exp(x[i])); };
  reduceTile(largest, length, slices, -std::numeric_limits<T>::infinity(), element, larger<T>);
  mapTile(x, length, slices, [&](int64_t i, int64_t k) { return x[i] - largest[k]; });
  if (!Logarithm) mapTile(x, length, slices, [x](int64_t i, int64_t) { return vec::exp(x[i]); });
  if (Logarithm) {
    reduceTile(sums, length, slices, 0.0, power, kAdd);
  } else {
    reduceTile(sums, length, slices, 0.0, element, kAdd);
  }
  for (int64_t k = 0; k < slices; ++k) scale[k] = static_cast<T>(Logarithm ? std::log(sums[k]) : sums[k]);
  mapTile(x, length, slices, [&](int64_t i, int64_t k) { return Logarithm ? x[i] - scale[k] : x[i] / scale[k]; });
}

/* softmax: y (g - sum(g y)); log_softmax: g - exp(y) sum(g). The result takes the place of g. */
template <class T, bool Logarithm>
SIM_CLONES void backwardTile(T *g, const T *y, Folds<T> *folds, int64_t length, int64_t slices) {
  double *sums = folds->sums;
  T *scale = folds->scale;
  const auto product = [g, y](int64_t i) { return static_cast<double>(g[i]) * (Logarithm ? 1.0 : y[i]); };
  reduceTile(sums, length, slices, 0.0, product, kAdd);
  for (int64_t k = 0; k < slices; ++k) scale[k] = static_cast<T>(sums[k]);
  mapTile(g, length, slices, [&](int64_t i, int64_t k) {
    return Logarithm ? g[i] - vec::exp(y[i]) * scale[k] : y[i] * (g[i] - scale[k]);
  });
}

template <class T, bool Logarithm>
aclError runForward(const aclOpExecutor &executor) {
  if (executor.operands[0].count == 0) return ACL_SUCCESS;
  const int32_t dim = static_cast<int32_t>(executor.attributes[0]);
  SliceTiles<T> from(executor.operands[0], dim), to(executor.operands[1], dim);
  T *tile = reinterpret_cast<T *>(executor.workspace);
  Folds<T> folds;
  const int64_t most = tileWidth(from);
  for (int64_t first = 0, slices; first < from.count(); first += slices, from.skip(slices), to.skip(slices)) {
    slices = std::min(most, from.width() - first % from.width());
    from.load(tile, slices);
    forwardTile<T, Logarithm>(tile, &folds, from.length(), slices);
    to.store(tile, slices);
  }
  return ACL_SUCCESS;
}

/* gradOutput, output, out */
template <class T, bool Logarithm>
aclError runBackward(const aclOpExecutor &executor) {
  if (executor.operands[0].count == 0) return ACL_SUCCESS;
  const int32_t dim = static_cast<int32_t>(executor.attributes[0]);
  SliceTiles<T> gradient(executor.operands[0], dim), output(executor.operands[1], dim), to(executor.operands[2], dim);
  Folds<T> folds;
  const int64_t most = tileWidth(gradient);
  T *g = reinterpret_cast<T *>(executor.workspace), *y = g + gradient.length() * most;
  for (int64_t first = 0, slices; first < gradient.count(); first += slices) {
    slices = std::min(most, gradient.width() - first % gradient.width());
    gradient.load(g, slices);
    output.load(y, slices);
    backwardTile<T, Logarithm>(g, y, &folds, gradient.length(), slices);
    to.store(g, slices);
    for (SliceTiles<T> *each : {&gradient, &output, &to}) each->skip(slices);
  }
  return ACL_SUCCESS;
}

/* The run functions of one operator, for float and for double. */
struct Runs {
  aclError (*single)(const aclOpExecutor &);
  aclError (*wide)(const aclOpExecutor &);
};
constexpr Runs kForward[] = {{runForward<float, false>, runForward<double, false>},
                             {runForward<float, true>, runForward<double, true>}};
constexpr Runs kBackward[] = {{runBackward<float, false>, runBackward<double, false>},
                              {runBackward<float, true>, runBackward<double, true>}};

aclnnStatus prepare(aclOpExecutor &executor, int64_t dim, const Runs &runs) {
  Operand &out = firstOut(executor);
  int32_t normalized;
  SIM_TRY(normalizeDim(executor, dim, out.rank, &normalized));
  bool wide = false;
  for (const Operand &operand : executor.operands) {
    wide |= operand.type == ACL_DOUBLE;
    SIM_TRY(requireShape(executor, operand, shapeOf(out)));
    SIM_TRY(requireCast(executor, operand.type, out));
    if (categoryOf(operand.type) != kFloating) return refuseType(executor, operand.type);
  }
  executor.attributes[0] = normalized;
  executor.run = wide ? runs.wide : runs.single;
  if (out.count == 0) return ACLNN_SUCCESS;
  SliceTiles<double> slices(executor.operands[0], normalized);              /* as many elements in float */
  const int64_t tiles = static_cast<int64_t>(executor.operands.size()) - 1; /* one for each input */
  executor.workspace_size = roundUp(static_cast<uint64_t>(tiles * slices.length() * tileWidth(slices)) *
                                    (wide ? sizeof(double) : sizeof(float)));
  return ACLNN_SUCCESS;
}

aclnnStatus prepareForward(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  return prepare(executor, arguments[1].integer, kForward[body.variant]);
}

aclnnStatus prepareBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  return prepare(executor, arguments[2].integer, kBackward[body.variant]);
}

}  // namespace

SIM_OP(aclnnSoftmax, prepareForward, nullptr, 0)
SIM_OP(aclnnLogSoftmax, prepareForward, nullptr, 1)
SIM_OP(aclnnSoftmaxBackward, prepareBackward, nullptr, 0)
SIM_OP(aclnnLogSoftmaxBackward, prepareBackward, nullptr, 1)

/* Scaled masked softmax along the last dimension, and its gradient. */

namespace {

constexpr float kMaskedScore = -10000.0f; /* the value of masked scores, as in CANN */

SliceCursor slicesOf(const Operand &operand, uint8_t compute) {
  return SliceCursor(operand, operand.rank - 1, compute);
}

void softmaxOf(float *line, int64_t length) {
  const float largest = *std::max_element(line, line + length);
  double sum = 0.0;
  for (int64_t i = 0; i < length; ++i) {
    line[i] = vec::exp(line[i] - largest);
    sum += static_cast<double>(line[i]);
  }
  for (int64_t i = 0; i < length; ++i) line[i] = static_cast<float>(static_cast<double>(line[i]) / sum);
}

/* x, mask, y */
aclError runMasked(const aclOpExecutor &executor) {
  const Operand &x = executor.operands[0];
  if (x.count == 0) return ACL_SUCCESS;
  SliceCursor from = slicesOf(x, kF32), masks = slicesOf(executor.operands[1], kBoolean8);
  SliceCursor to = slicesOf(executor.operands[2], kF32);
  const int64_t length = from.length();
  const float scale = bitsToFloat(static_cast<uint32_t>(executor.attributes[0]));
  float *line = reinterpret_cast<float *>(executor.workspace);
  Boolean *mask = reinterpret_cast<Boolean *>(line + length);
  for (int64_t first = 0; first < x.count; first += length) {
    from.read(line);
    masks.read(mask);
    for (int64_t i = 0; i < length; ++i) line[i] = mask[i] != 0 ? kMaskedScore : line[i] * scale;
    softmaxOf(line, length);
    to.write(line);
    for (SliceCursor *each : {&from, &masks, &to}) each->next();
  }
  return ACL_SUCCESS;
}

/* gradOutput, y, mask, out */
aclError runMaskedBackward(const aclOpExecutor &executor) {
  const Operand &grad = executor.operands[0];
  if (grad.count == 0) return ACL_SUCCESS;
  SliceCursor grads = slicesOf(grad, kF32), from = slicesOf(executor.operands[1], kF32);
  SliceCursor masks = slicesOf(executor.operands[2], kBoolean8), to = slicesOf(executor.operands[3], kF32);
  const int64_t length = from.length();
  const float scale = bitsToFloat(static_cast<uint32_t>(executor.attributes[0]));
  float *g = reinterpret_cast<float *>(executor.workspace), *y = g + length;
  Boolean *mask = reinterpret_cast<Boolean *>(y + length);
  for (int64_t first = 0; first < grad.count; first += length) {
    grads.read(g);
    from.read(y);
    masks.read(mask);
    double sum = 0.0;
    for (int64_t i = 0; i < length; ++i) sum += static_cast<double>(g[i]) * static_cast<double>(y[i]);
    const float common = static_cast<float>(sum);
    for (int64_t i = 0; i < length; ++i) g[i] = mask[i] != 0 ? 0.0f : y[i] * (g[i] - common) * scale;
    to.write(g);
    for (SliceCursor *each : {&grads, &from, &masks, &to}) each->next();
  }
  return ACL_SUCCESS;
}

/* `scores`: how many of the first operands hold scores; the mask comes after them. */
aclnnStatus prepareScaledMasked(aclOpExecutor &executor, const Argument *options, uint32_t scores,
                                aclError (*run)(const aclOpExecutor &)) {
  const Operand &x = executor.operands[0];
  if (x.rank != 4) return refuse(executor, "an operand has {} dimensions, expected 4", x.rank);
  for (uint32_t index = 0; index < executor.operands.size(); ++index) {
    const Operand &operand = executor.operands[index];
    if (index == scores) continue;
    if (operand.type != x.type) return refuse(executor, "the operands have different data types");
    SIM_TRY(requireShape(executor, operand, shapeOf(x)));
  }
  Operand &mask = executor.operands[scores];
  Shape shape = shapeOf(x);
  if (mask.rank != 4 || !broadcastInto(&shape, mask) || !std::equal(x.dims, x.dims + 4, shape.dims)) {
    return refuse(executor, "mask does not fit the shape of the scores");
  }
  if (options[1].integer != 0) return refuse(executor, "a fixed triangular mask is asked for, which CANN has not yet");
  expandTo(&mask, shape);
  executor.attributes[0] = floatToBits(static_cast<float>(options[0].real));
  executor.run = run;
  executor.workspace_size = roundUp(static_cast<uint64_t>(x.dims[3]) * (scores * sizeof(float) + sizeof(Boolean)));
  return ACLNN_SUCCESS;
}

/* x, mask, scale, fixedTriuMask, y */
aclnnStatus prepareMasked(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  return prepareScaledMasked(executor, arguments + 2, 1, runMasked);
}

/* gradOutput, y, mask, scale, fixTriuMask, out */
aclnnStatus prepareMaskedBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  return prepareScaledMasked(executor, arguments + 3, 2, runMaskedBackward);
}

}  // namespace

SIM_OP(aclnnScaledMaskedSoftmax, prepareMasked, nullptr, 0)
SIM_OP(aclnnScaledMaskedSoftmaxBackward, prepareMaskedBackward, nullptr, 0)

}  // namespace sim
