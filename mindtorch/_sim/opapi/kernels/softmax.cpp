/* softmax and log_softmax over one dimension, forward and backward, computed in float, or in double where a tensor is.
 *
 * A sheet of neighbouring lines is brought to the workspace, worked on and written back: [element of the line][line]
 * where lines are neighbours in memory, and one whole line at a time where its own elements are. */
#include <algorithm>

#include "opapi/kernels/reduce.h"
#include "opapi/lines.h"

namespace sim {
namespace {

constexpr int64_t kSheet = 1 << 15; /* elements that stay in the cache */

/* The lines of one operand along the dimension. */
template <class T>
class Lines {
 public:
  Lines(const Operand &operand, int32_t dim) : Lines(operand, divide(operand, operand.rank == 0 ? 0 : 1u << dim)) {}

  int64_t count() const { return count_; }
  int64_t length() const { return length_; }
  int64_t width() const { return width_; } /* lines before the next jump in memory */
  bool rowwise() const { return rowwise_; }

  void load(T *sheet, int64_t lines) const {
    if (lines == 1) return load_(kept_.position(), stride_, sheet, length_);
    for (int64_t i = 0; i < length_; ++i) load_(kept_.position() + i * stride_, step_, sheet + i * lines, lines);
  }
  void store(const T *sheet, int64_t lines) const {
    if (lines == 1) return store_(sheet, kept_.position(), stride_, length_);
    for (int64_t i = 0; i < length_; ++i) store_(sheet + i * lines, kept_.position() + i * stride_, step_, lines);
  }
  void skip(int64_t lines) { kept_.skip(lines); }

 private:
  Lines(const Operand &operand, const Division &view)
      : load_(loadRow(operand.type, computeOfType<T>())),
        store_(storeRow(operand.type, computeOfType<T>())),
        stride_(view.reduced.rank == 0 ? operand.item : view.reduced.strides[0] * operand.item),
        step_(view.kept.rank == 0 ? 0 : view.kept.strides[view.kept.rank - 1] * operand.item),
        length_(elementsOf(view.reduced)),
        width_(view.kept.rank == 0 ? 1 : view.kept.dims[view.kept.rank - 1]),
        count_(elementsOf(view.kept)),
        rowwise_(isRowwise(view)),
        kept_(view.kept) {}

  LoadRow load_;
  StoreRow store_;
  int64_t stride_, step_, length_, width_, count_;
  bool rowwise_;
  Cursor kept_;
};

/* Lines in a sheet, at most. */
template <class T>
int64_t sheetWidth(const Lines<T> &lines) {
  if (!lines.rowwise()) return 1;
  return std::min({std::max<int64_t>(8, kSheet / lines.length()), lines.width(), kBlock});
}

/* The fold of value(i) over each line of a sheet, from `start` on. */
template <class A, class Value, class Fold>
SIM_INLINE void foldLines(A *folds, int64_t length, int64_t lines, A start, Value value, Fold fold) {
  constexpr int64_t kParts = 16;
  if (lines > 1) {
    std::fill(folds, folds + lines, start);
    for (int64_t i = 0; i < length; ++i) {
      SIM_INDEPENDENT
      for (int64_t k = 0; k < lines; ++k) folds[k] = fold(value(i * lines + k), folds[k]);
    }
    return;
  }
  A parts[kParts];
  std::fill(parts, parts + kParts, start);
  int64_t i = 0;
  for (; i + kParts <= length; i += kParts) {
    for (int64_t k = 0; k < kParts; ++k) parts[k] = fold(value(i + k), parts[k]);
  }
  for (; i < length; ++i) parts[0] = fold(value(i), parts[0]);
  *folds = start;
  for (A part : parts) *folds = fold(part, *folds);
}

/* Writes value(i, k) for each element i of a sheet, which is in line k. */
template <class T, class Value>
SIM_INLINE void writeLines(T *sheet, int64_t length, int64_t lines, Value value) {
  if (lines == 1) {
    SIM_INDEPENDENT
    for (int64_t i = 0; i < length; ++i) sheet[i] = value(i, int64_t{0});
    return;
  }
  for (int64_t first = 0; first < length * lines; first += lines) {
    SIM_INDEPENDENT
    for (int64_t k = 0; k < lines; ++k) sheet[first + k] = value(first + k, k);
  }
}

/* By line of a sheet. */
template <class T>
struct Folds {
  double sums[kBlock];
  T largest[kBlock], scale[kBlock];
};

constexpr auto kAdd = [](double x, double sum) { return sum + x; };

template <class T, bool Logarithm>
SIM_CLONES void forwardSheet(T *x, Folds<T> *folds, int64_t length, int64_t lines) {
  T *largest = folds->largest, *scale = folds->scale;
  double *sums = folds->sums;
  const auto element = [x](int64_t i) { return x[i]; };
  const auto power = [x](int64_t i) { return static_cast<double>(vec::exp(x[i])); };
  foldLines(largest, length, lines, -std::numeric_limits<T>::infinity(), element, larger<T>);
  writeLines(x, length, lines, [&](int64_t i, int64_t k) { return x[i] - largest[k]; });
  if (!Logarithm) writeLines(x, length, lines, [x](int64_t i, int64_t) { return vec::exp(x[i]); });
  if (Logarithm) {
    foldLines(sums, length, lines, 0.0, power, kAdd);
  } else {
    foldLines(sums, length, lines, 0.0, element, kAdd);
  }
  for (int64_t k = 0; k < lines; ++k) scale[k] = static_cast<T>(Logarithm ? std::log(sums[k]) : sums[k]);
  writeLines(x, length, lines, [&](int64_t i, int64_t k) { return Logarithm ? x[i] - scale[k] : x[i] / scale[k]; });
}

/* softmax: y (g - sum(g y)); log_softmax: g - exp(y) sum(g). The result takes the place of g. */
template <class T, bool Logarithm>
SIM_CLONES void backwardSheet(T *g, const T *y, Folds<T> *folds, int64_t length, int64_t lines) {
  double *sums = folds->sums;
  T *scale = folds->scale;
  const auto product = [g, y](int64_t i) { return static_cast<double>(g[i]) * (Logarithm ? 1.0 : y[i]); };
  foldLines(sums, length, lines, 0.0, product, kAdd);
  for (int64_t k = 0; k < lines; ++k) scale[k] = static_cast<T>(sums[k]);
  writeLines(g, length, lines, [&](int64_t i, int64_t k) {
    return Logarithm ? g[i] - vec::exp(y[i]) * scale[k] : y[i] * (g[i] - scale[k]);
  });
}

template <class T, bool Logarithm>
aclError runForward(const aclOpExecutor &executor) {
  if (executor.operands[0].count == 0) return ACL_SUCCESS;
  const int32_t dim = static_cast<int32_t>(executor.attributes[0]);
  Lines<T> from(executor.operands[0], dim), to(executor.operands[1], dim);
  T *sheet = reinterpret_cast<T *>(executor.workspace);
  Folds<T> folds;
  const int64_t most = sheetWidth(from);
  for (int64_t first = 0, lines; first < from.count(); first += lines, from.skip(lines), to.skip(lines)) {
    lines = std::min(most, from.width() - first % from.width());
    from.load(sheet, lines);
    forwardSheet<T, Logarithm>(sheet, &folds, from.length(), lines);
    to.store(sheet, lines);
  }
  return ACL_SUCCESS;
}

/* gradOutput, output, out */
template <class T, bool Logarithm>
aclError runBackward(const aclOpExecutor &executor) {
  if (executor.operands[0].count == 0) return ACL_SUCCESS;
  const int32_t dim = static_cast<int32_t>(executor.attributes[0]);
  Lines<T> gradient(executor.operands[0], dim), output(executor.operands[1], dim), to(executor.operands[2], dim);
  Folds<T> folds;
  const int64_t most = sheetWidth(gradient);
  T *g = reinterpret_cast<T *>(executor.workspace), *y = g + gradient.length() * most;
  for (int64_t first = 0, lines; first < gradient.count(); first += lines) {
    lines = std::min(most, gradient.width() - first % gradient.width());
    gradient.load(g, lines);
    output.load(y, lines);
    backwardSheet<T, Logarithm>(g, y, &folds, gradient.length(), lines);
    to.store(g, lines);
    for (Lines<T> *each : {&gradient, &output, &to}) each->skip(lines);
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
  Lines<double> lines(executor.operands[0], normalized);                     /* as many elements in float */
  const int64_t sheets = static_cast<int64_t>(executor.operands.size()) - 1; /* one for each input */
  executor.workspace_size = roundUp(static_cast<uint64_t>(sheets * lines.length() * sheetWidth(lines)) *
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

/* Softmax along the last dimension of scaled scores, of which a mask takes some away, and its gradient. */

namespace {

constexpr float kHidden = -10000.0f; /* what stands for a score that the mask takes away: a line has always a sum */

LineCursor linesOf(const Operand &operand, uint8_t compute) { return LineCursor(operand, operand.rank - 1, compute); }

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
  LineCursor from = linesOf(x, kF32), hidden = linesOf(executor.operands[1], kTruth);
  LineCursor to = linesOf(executor.operands[2], kF32);
  const int64_t length = from.length();
  const float scale = bitsToFloat(static_cast<uint32_t>(executor.attributes[0]));
  float *line = reinterpret_cast<float *>(executor.workspace);
  Truth *mask = reinterpret_cast<Truth *>(line + length);
  for (int64_t first = 0; first < x.count; first += length) {
    from.read(line);
    hidden.read(mask);
    for (int64_t i = 0; i < length; ++i) line[i] = mask[i] != 0 ? kHidden : line[i] * scale;
    softmaxOf(line, length);
    to.write(line);
    for (LineCursor *each : {&from, &hidden, &to}) each->next();
  }
  return ACL_SUCCESS;
}

/* gradOutput, y, mask, out */
aclError runMaskedBackward(const aclOpExecutor &executor) {
  const Operand &grad = executor.operands[0];
  if (grad.count == 0) return ACL_SUCCESS;
  LineCursor grads = linesOf(grad, kF32), from = linesOf(executor.operands[1], kF32);
  LineCursor hidden = linesOf(executor.operands[2], kTruth), to = linesOf(executor.operands[3], kF32);
  const int64_t length = from.length();
  const float scale = bitsToFloat(static_cast<uint32_t>(executor.attributes[0]));
  float *g = reinterpret_cast<float *>(executor.workspace), *y = g + length;
  Truth *mask = reinterpret_cast<Truth *>(y + length);
  for (int64_t first = 0; first < grad.count; first += length) {
    grads.read(g);
    from.read(y);
    hidden.read(mask);
    double sum = 0.0;
    for (int64_t i = 0; i < length; ++i) sum += static_cast<double>(g[i]) * static_cast<double>(y[i]);
    const float common = static_cast<float>(sum);
    for (int64_t i = 0; i < length; ++i) g[i] = mask[i] != 0 ? 0.0f : y[i] * (g[i] - common) * scale;
    to.write(g);
    for (LineCursor *each : {&grads, &from, &hidden, &to}) each->next();
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
  executor.workspace_size = roundUp(static_cast<uint64_t>(x.dims[3]) * (scores * sizeof(float) + sizeof(Truth)));
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
