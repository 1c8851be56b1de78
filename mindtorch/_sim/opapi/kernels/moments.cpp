/* Reductions that need more than one pass, or more than a sum: variance, logarithm of a sum, product. */
#include "opapi/kernels/reduce.h"

namespace sim {
namespace {

enum Attribute { kMask };
constexpr int kMostOuts = 2;

/* One result in the making. A fold sees all elements in each of its passes, then writes its results. */
struct Moments {
  static constexpr int kPasses = 2;
  using Element = double;
  double mean = 0, squares = 0;
  int64_t count;
  explicit Moments(const aclOpExecutor &, int64_t elements) : count(elements) {}
  void add(int pass, double x) {
    if (pass == 0) {
      mean += x;
    } else {
      squares += (x - mean) * (x - mean);
    }
  }
  void endPass(int pass) {
    if (pass == 0) mean /= static_cast<double>(count);
  }
  double variance(const aclOpExecutor &executor) const {
    const int64_t freedom = count - executor.numbers[0].integer;
    return squares / static_cast<double>(freedom > 0 ? freedom : 0);
  }
};

struct Variance : Moments {
  using Moments::Moments;
  void results(const aclOpExecutor &executor, double *out) const {
    out[0] = variance(executor);
    out[1] = mean;
  }
};

struct Deviation : Moments {
  using Moments::Moments;
  void results(const aclOpExecutor &executor, double *out) const {
    out[0] = std::sqrt(variance(executor));
    out[1] = mean;
  }
};

struct LogSumExp {
  static constexpr int kPasses = 2;
  using Element = double;
  double largest = -std::numeric_limits<double>::infinity(), sum = 0;
  explicit LogSumExp(const aclOpExecutor &, int64_t) {}
  void add(int pass, double x) {
    if (pass == 0) {
      largest = larger(largest, x);
    } else {
      sum += std::exp(x - largest);
    }
  }
  void endPass(int pass) {
    if (pass == 0 && std::isinf(largest)) largest = 0;
  }
  void results(const aclOpExecutor &, double *out) const { out[0] = std::log(sum) + largest; }
};

template <class C>
struct Product {
  static constexpr int kPasses = 1;
  using Element = C;
  C value = C(1);
  explicit Product(const aclOpExecutor &, int64_t) {}
  void add(int, C x) { value = multiply(value, x); }
  void endPass(int) {}
  void results(const aclOpExecutor &, C *out) const { out[0] = value; }
};

template <>
void Product<Truth>::add(int, Truth x) {
  value = value != 0 && x != 0;
}

template <class F>
aclError runFold(const aclOpExecutor &executor) {
  using C = typename F::Element;
  Division view = divide(executor.operands[0], static_cast<uint32_t>(executor.attributes[kMask]));
  view.reduced.compute = computeOfType<C>();
  orderReduced(&view);
  const int64_t total = elementsOf(view.kept), inner = elementsOf(view.reduced);
  const uint32_t outs = executor.operands.size() - 1;
  Operand written[kMostOuts] = {executor.operands[1], executor.operands[outs]};
  for (Operand &out : written) out.compute = computeOfType<C>();
  Cursor results[kMostOuts] = {Cursor(written[0]), Cursor(written[1])};
  Cursor kept(view.kept), elements(view.reduced);
  alignas(64) char buffer[kBlockBytes];
  for (int64_t i = 0; i < total; ++i, kept.skip(1)) {
    F fold(executor, inner);
    for (int pass = 0; pass < F::kPasses; ++pass) {
      elements.moveTo(kept.position());
      for (int64_t at = 0; at < inner; at += kBlock) {
        const int64_t count = std::min(kBlock, inner - at);
        const C *values = static_cast<const C *>(elements.read(buffer, count));
        for (int64_t k = 0; k < count; ++k) fold.add(pass, values[k]);
      }
      fold.endPass(pass);
    }
    C values[kMostOuts] = {};
    fold.results(executor, values);
    for (uint32_t out = 0; out < outs; ++out) results[out].write(&values[out], 1);
  }
  return ACL_SUCCESS;
}

using Run = aclError (*)(const aclOpExecutor &);
template <class F>
constexpr Run kFold = runFold<F>;

aclnnStatus prepareFold(aclOpExecutor &executor, Run run, uint32_t mask, bool keep) {
  const Operand &in = executor.operands[0];
  const Shape shape = reducedShape(in, mask, keep);
  for (const Operand &operand : executor.operands) {
    if ((operand.role & kOut) == 0) continue;
    SIM_TRY(requireShape(executor, operand, shape));
  }
  executor.attributes[kMask] = mask;
  executor.run = run;
  executor.workspace_size = roundUp(static_cast<uint64_t>(in.count > 0 ? 1 : 0));
  return ACLNN_SUCCESS;
}

/* self, dim, correction, keepdim, then one or two outputs */
aclnnStatus prepareMoments(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  uint32_t mask;
  SIM_TRY(readDims(executor, arguments[1].pointer, executor.operands[0].rank, &mask));
  executor.numbers[0].integer = arguments[2].integer;
  return prepareFold(executor, *static_cast<const Run *>(body.kernel), mask, arguments[3].integer != 0);
}

/* self, dim, keepDim, out */
aclnnStatus prepareLogSumExp(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  uint32_t mask;
  SIM_TRY(readDims(executor, arguments[1].pointer, executor.operands[0].rank, &mask));
  return prepareFold(executor, runFold<LogSumExp>, mask, arguments[2].integer != 0);
}

/* The product in the type of `dtype`. */
aclnnStatus prepareProduct(aclOpExecutor &executor, aclDataType type, uint32_t mask, bool keep) {
  static constexpr Run runs[kComputeCount] = {runFold<Product<double>>, runFold<Product<double>>,
                                              runFold<Product<int64_t>>, runFold<Product<Complex>>,
                                              runFold<Product<Truth>>};
  const Operand &out = executor.operands[1];
  if (type != out.type) {
    return refuse(executor, "out has data type {}, expected dtype, which is {}", out.type, type);
  }
  const uint8_t compute = type == ACL_BOOL ? uint8_t{kTruth} : uint8_t{computeOf(type)}; /* of truth values */
  if (compute >= kRaw || runs[compute] == nullptr) return refuseType(executor, type);
  return prepareFold(executor, runs[compute], mask, keep);
}

/* self, dtype, out */
aclnnStatus prepareProd(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  return prepareProduct(executor, static_cast<aclDataType>(arguments[1].integer), (1u << executor.operands[0].rank) - 1,
                        false);
}

/* self, dim, keepDim, dtype, out */
aclnnStatus prepareProdDim(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const int32_t rank = executor.operands[0].rank;
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, rank, &dim));
  return prepareProduct(executor, static_cast<aclDataType>(arguments[3].integer), rank == 0 ? 0 : 1u << dim,
                        arguments[2].integer != 0);
}

}  // namespace

SIM_OP(aclnnVarCorrection, prepareMoments, &kFold<Variance>, 0)
SIM_OP(aclnnStd, prepareMoments, &kFold<Deviation>, 0)
SIM_OP(aclnnVarMean, prepareMoments, &kFold<Variance>, 0)
SIM_OP(aclnnStdMeanCorrection, prepareMoments, &kFold<Deviation>, 0)
SIM_OP(aclnnLogSumExp, prepareLogSumExp, nullptr, 0)
SIM_OP(aclnnProd, prepareProd, nullptr, 0)
SIM_OP(aclnnProdDim, prepareProdDim, nullptr, 0)

}  // namespace sim
