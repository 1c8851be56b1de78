/* softmax and log_softmax over one dimension, forward and backward, computed in double. */
#include <algorithm>

#include "opapi/kernels/reduce.h"

namespace sim {
namespace {

/* One line along the dimension, visited in blocks. */
struct Line {
  LoadRow load;
  StoreRow store;
  int64_t stride;
  int64_t length;

  explicit Line(const Operand &operand, int32_t dim)
      : load(loadRow(operand.type, kF64)),
        store(storeRow(operand.type, kF64)),
        stride(operand.rank == 0 ? operand.item : operand.strides[dim] * operand.item),
        length(operand.rank == 0 ? 1 : operand.dims[dim]) {}

  template <class Visit>
  void forEach(const char *base, Visit visit) const {
    double values[kBlock];
    for (int64_t first = 0; first < length; first += kBlock) {
      int64_t count = std::min(kBlock, length - first);
      load(base + first * stride, stride, values, count);
      for (int64_t i = 0; i < count; ++i) visit(values[i]);
    }
  }

  template <class Function>
  void map(const char *from, const Line &target, char *to, Function function) const {
    double values[kBlock];
    for (int64_t first = 0; first < length; first += kBlock) {
      int64_t count = std::min(kBlock, length - first);
      load(from + first * stride, stride, values, count);
      for (int64_t i = 0; i < count; ++i) values[i] = function(values[i]);
      target.store(values, to + first * target.stride, target.stride, count);
    }
  }
};

template <bool Logarithm>
void forwardLine(const Line &in, const char *from, const Line &out, char *to) {
  double largest = -std::numeric_limits<double>::infinity(), sum = 0.0;
  in.forEach(from, [&](double x) { largest = larger(x, largest); });
  in.forEach(from, [&](double x) { sum += std::exp(x - largest); });
  if (Logarithm) {
    double shift = largest + std::log(sum);
    in.map(from, out, to, [&](double x) { return std::isinf(largest) ? x - largest - std::log(sum) : x - shift; });
  } else {
    in.map(from, out, to, [&](double x) { return std::exp(x - largest) / sum; });
  }
}

uint32_t maskOf(const Operand &in, int64_t dim) { return in.rank == 0 ? 0 : 1u << dim; }

int64_t linesOf(const Operand &kept) {
  int64_t count = 1;
  for (int32_t i = 0; i < kept.rank; ++i) count *= kept.dims[i];
  return count;
}

template <bool Logarithm>
aclError runForward(const aclOpExecutor &executor) {
  const Operand &in = executor.operands[0], &out = executor.operands[1];
  if (in.count == 0) return ACL_SUCCESS;
  int32_t dim = static_cast<int32_t>(executor.attributes[0]);
  Line source(in, dim), target(out, dim);
  Operand in_lines = divide(in, maskOf(in, dim)).kept, out_lines = divide(out, maskOf(in, dim)).kept;
  Cursor from(in_lines), to(out_lines);
  for (int64_t i = linesOf(in_lines); i > 0; --i, from.skip(1), to.skip(1)) {
    forwardLine<Logarithm>(source, from.position(), target, to.position());
  }
  return ACL_SUCCESS;
}

/* gradOutput, output: softmax gives y (g - sum(g y)), log_softmax g - exp(y) sum(g). */
template <bool Logarithm>
aclError runBackward(const aclOpExecutor &executor) {
  const Operand &gradient = executor.operands[0], &output = executor.operands[1], &out = executor.operands[2];
  if (gradient.count == 0) return ACL_SUCCESS;
  int32_t dim = static_cast<int32_t>(executor.attributes[0]);
  uint32_t mask = maskOf(out, dim);
  Line g_line(gradient, dim), y_line(output, dim), target(out, dim);
  Operand g_lines = divide(gradient, mask).kept, y_lines = divide(output, mask).kept, lines = divide(out, mask).kept;
  Cursor g_at(g_lines), y_at(y_lines), to(lines);
  double g[kBlock], y[kBlock];
  for (int64_t i = linesOf(lines); i > 0; --i, g_at.skip(1), y_at.skip(1), to.skip(1)) {
    double sum = 0.0;
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t first = 0; first < target.length; first += kBlock) {
        int64_t count = std::min(kBlock, target.length - first);
        g_line.load(g_at.position() + first * g_line.stride, g_line.stride, g, count);
        y_line.load(y_at.position() + first * y_line.stride, y_line.stride, y, count);
        for (int64_t k = 0; pass == 0 && k < count; ++k) sum += Logarithm ? g[k] : g[k] * y[k];
        if (pass == 0) continue;
        for (int64_t k = 0; k < count; ++k) g[k] = Logarithm ? g[k] - std::exp(y[k]) * sum : y[k] * (g[k] - sum);
        target.store(g, to.position() + first * target.stride, target.stride, count);
      }
    }
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
  executor.workspace_size = roundUp(static_cast<uint64_t>(out.count > 0 ? 1 : 0));
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
