/* The vectorised float functions have an error of at most 2 ulp over the whole range, including infinities, NaN,
 * subnormals and both zeros. The reference is libm in double. */
#include "aclnnop/aclnn_erf.h"
#include "aclnnop/aclnn_exp.h"
#include "aclnnop/aclnn_log.h"
#include "aclnnop/aclnn_sigmoid.h"
#include "aclnnop/aclnn_tanh.h"
#include "op_test.h"

namespace {

/* Bit patterns all over the range, and the values where a function changes its way. */
Values inputs() {
  Values values = {0.0,      -0.0,      kInf,     -kInf, kNan, 1.0,  -1.0,
                   0x1p-149, -0x1p-149, 0x1p-126, 0.55,  4.0,  10.0, 3.4028234e38};
  for (double x : {88.0, 88.72283, 88.72284, 89.5, -87.33654, -87.4, -103.2, -103.97, -103.98, -104.5}) {
    values.push_back(static_cast<float>(x));
  }
  for (uint64_t bits = 0; bits < 1ull << 32; bits += 64007) {
    const uint32_t pattern = static_cast<uint32_t>(bits);
    float value;
    std::memcpy(&value, &pattern, sizeof value);
    values.push_back(value);
  }
  return values;
}

/* 0 where float's exp(-x) overflows, as torch's. */
double logistic(double x) {
  if (std::isinf(std::exp(-static_cast<float>(x)))) return 0;
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

/* How many floats lie between; 0 for the same infinity, and for two NaNs. */
double distance(double actual, double expected) {
  const float nearest = static_cast<float>(expected);
  if (std::isnan(nearest) || std::isinf(nearest) || std::isinf(actual)) {
    return (std::isnan(nearest) && std::isnan(actual)) || actual == nearest ? 0 : kInf;
  }
  if (std::signbit(actual) != std::signbit(nearest)) return kInf;
  int exponent;
  std::frexp(nearest, &exponent);
  return std::fabs(actual - expected) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

template <class Function>
void check(const char *name, Function expected, const Values &values, const Values &results) {
  currentCase() = name;
  for (size_t i = 0; i < values.size(); ++i) {
    const double error = distance(results[i], expected(values[i]));
    if (!(error <= 2)) std::fprintf(stderr, "%s(%a) is %a, %g units off\n", name, values[i], results[i], error);
    EXPECT(error <= 2);
  }
}

#define CHECK_FUNCTION(op, function)                                      \
  {                                                                       \
    currentCase() = #op;                                                  \
    EXPECT(RUN(op, self, out) == ACLNN_SUCCESS);                          \
    check(#op, [](double x) { return function(x); }, values, out.read()); \
  }

}  // namespace

int main() {
  Session session;
  const Values values = inputs();
  const Dims dims = {static_cast<int64_t>(values.size())};
  Tensor self(ACL_FLOAT, dims, values), out(ACL_FLOAT, dims, {});
  CHECK_FUNCTION(aclnnExp, std::exp)
  CHECK_FUNCTION(aclnnLog, std::log)
  CHECK_FUNCTION(aclnnTanh, std::tanh)
  CHECK_FUNCTION(aclnnSigmoid, logistic)
  CHECK_FUNCTION(aclnnErf, std::erf)
}
