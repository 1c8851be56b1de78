/* softmax and log_softmax over one dimension, forward and backward, computed in double.
 *
 * A sheet of neighbouring lines is brought to the workspace, worked on and written back: [element of the line][line]
 * where lines are neighbours in memory, and one whole line at a time where its own elements are. */
#include <algorithm>

#include "opapi/kernels/reduce.h"

namespace sim {
namespace {

constexpr int64_t kSheet = 1 << 15; /* doubles that stay in the cache */

/* The lines of one operand along the dimension. */
class Lines {
 public:
  Lines(const Operand &operand, int32_t dim) : Lines(operand, divide(operand, operand.rank == 0 ? 0 : 1u << dim)) {}

  int64_t count() const { return count_; }
  int64_t length() const { return length_; }
  int64_t width() const { return width_; } /* lines before the next jump in memory */
  bool rowwise() const { return rowwise_; }

  void load(double *sheet, int64_t lines) const {
    if (lines == 1) return load_(kept_.position(), stride_, sheet, length_);
    for (int64_t i = 0; i < length_; ++i) load_(kept_.position() + i * stride_, step_, sheet + i * lines, lines);
  }
  void store(const double *sheet, int64_t lines) const {
    if (lines == 1) return store_(sheet, kept_.position(), stride_, length_);
    for (int64_t i = 0; i < length_; ++i) store_(sheet + i * lines, kept_.position() + i * stride_, step_, lines);
  }
  void skip(int64_t lines) { kept_.skip(lines); }

 private:
  Lines(const Operand &operand, const Division &view)
      : load_(loadRow(operand.type, kF64)),
        store_(storeRow(operand.type, kF64)),
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
int64_t sheetWidth(const Lines &lines) {
  if (!lines.rowwise()) return 1;
  return std::min({std::max<int64_t>(8, kSheet / lines.length()), lines.width(), kBlock});
}

template <bool Logarithm>
void forwardSheet(double *sheet, int64_t length, int64_t lines) {
  double largest[kBlock], sums[kBlock] = {};
  std::copy(sheet, sheet + lines, largest);
  for (int64_t i = 1; i < length; ++i) {
    for (int64_t k = 0; k < lines; ++k) largest[k] = larger(sheet[i * lines + k], largest[k]);
  }
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t k = 0; k < lines; ++k) {
      double &x = sheet[i * lines + k], power = std::exp(x - largest[k]);
      sums[k] += power;
      x = Logarithm ? x - largest[k] : power;
    }
  }
  for (int64_t k = 0; Logarithm && k < lines; ++k) sums[k] = std::log(sums[k]);
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t k = 0; k < lines; ++k) {
      double &x = sheet[i * lines + k];
      x = Logarithm ? x - sums[k] : x / sums[k];
    }
  }
}

/* softmax: y (g - sum(g y)); log_softmax: g - exp(y) sum(g). The result takes the place of g. */
template <bool Logarithm>
void backwardSheet(double *g, const double *y, int64_t length, int64_t lines) {
  double sums[kBlock] = {};
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t k = 0; k < lines; ++k) sums[k] += Logarithm ? g[i * lines + k] : g[i * lines + k] * y[i * lines + k];
  }
  for (int64_t i = 0; i < length; ++i) {
    for (int64_t k = 0; k < lines; ++k) {
      const int64_t at = i * lines + k;
      g[at] = Logarithm ? g[at] - std::exp(y[at]) * sums[k] : y[at] * (g[at] - sums[k]);
    }
  }
}

template <bool Logarithm>
aclError runForward(const aclOpExecutor &executor) {
  if (executor.operands[0].count == 0) return ACL_SUCCESS;
  const int32_t dim = static_cast<int32_t>(executor.attributes[0]);
  Lines from(executor.operands[0], dim), to(executor.operands[1], dim);
  double *sheet = reinterpret_cast<double *>(executor.workspace);
  const int64_t most = sheetWidth(from);
  for (int64_t first = 0, lines; first < from.count(); first += lines, from.skip(lines), to.skip(lines)) {
    lines = std::min(most, from.width() - first % from.width());
    from.load(sheet, lines);
    forwardSheet<Logarithm>(sheet, from.length(), lines);
    to.store(sheet, lines);
  }
  return ACL_SUCCESS;
}

/* gradOutput, output, out */
template <bool Logarithm>
aclError runBackward(const aclOpExecutor &executor) {
  if (executor.operands[0].count == 0) return ACL_SUCCESS;
  const int32_t dim = static_cast<int32_t>(executor.attributes[0]);
  Lines gradient(executor.operands[0], dim), output(executor.operands[1], dim), to(executor.operands[2], dim);
  const int64_t most = sheetWidth(gradient);
  double *g = reinterpret_cast<double *>(executor.workspace), *y = g + gradient.length() * most;
  for (int64_t first = 0, lines; first < gradient.count(); first += lines) {
    lines = std::min(most, gradient.width() - first % gradient.width());
    gradient.load(g, lines);
    output.load(y, lines);
    backwardSheet<Logarithm>(g, y, gradient.length(), lines);
    to.store(g, lines);
    for (Lines *each : {&gradient, &output, &to}) each->skip(lines);
  }
  return ACL_SUCCESS;
}

aclnnStatus prepare(aclOpExecutor &executor, int64_t dim, aclError (*run)(const aclOpExecutor &)) {
  Operand &out = firstOut(executor);
  int32_t normalized;
  aclnnStatus status = normalizeDim(executor, dim, out.rank, &normalized);
  if (status != ACLNN_SUCCESS) return status;
  for (const Operand &operand : executor.operands) {
    status = requireShape(executor, operand, shapeOf(out));
    if (status == ACLNN_SUCCESS) status = requireCast(executor, operand.type, out);
    if (status != ACLNN_SUCCESS) return status;
    if (categoryOf(operand.type) != kFloating) return refuseType(executor, operand.type);
  }
  executor.attributes[0] = normalized;
  executor.run = run;
  if (out.count == 0) return ACLNN_SUCCESS;
  Lines lines(executor.operands[0], normalized);
  const int64_t sheets = static_cast<int64_t>(executor.operands.size()) - 1; /* one for each input */
  executor.workspace_size =
      roundUp(static_cast<uint64_t>(sheets * lines.length() * sheetWidth(lines)) * sizeof(double));
  return ACLNN_SUCCESS;
}

aclnnStatus prepareForward(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  return prepare(executor, arguments[1].integer, body.variant != 0 ? runForward<true> : runForward<false>);
}

aclnnStatus prepareBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  return prepare(executor, arguments[2].integer, body.variant != 0 ? runBackward<true> : runBackward<false>);
}

}  // namespace

SIM_OP(aclnnSoftmax, prepareForward, nullptr, 0)
SIM_OP(aclnnLogSoftmax, prepareForward, nullptr, 1)
SIM_OP(aclnnSoftmaxBackward, prepareBackward, nullptr, 0)
SIM_OP(aclnnLogSoftmaxBackward, prepareBackward, nullptr, 1)

}  // namespace sim
