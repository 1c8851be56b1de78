/* Reductions and softmax over several blocks, in every layout and along every dimension. */
#include "aclnnop/aclnn_all.h"
#include "aclnnop/aclnn_amax.h"
#include "aclnnop/aclnn_arg_min.h"
#include "aclnnop/aclnn_log_softmax.h"
#include "aclnnop/aclnn_log_softmax_backward.h"
#include "aclnnop/aclnn_mean.h"
#include "aclnnop/aclnn_min_dim.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "aclnnop/aclnn_softmax.h"
#include "aclnnop/aclnn_softmax_backward.h"
#include "op_test.h"

namespace {

/* Lines along one dimension of a contiguous array. */
struct Lines {
  int64_t before = 1, length, after = 1;
  Lines(const Dims &dims, size_t dim) : length(dims[dim]) {
    for (size_t i = 0; i < dims.size(); ++i) (i < dim ? before : i > dim ? after : unused) *= dims[i];
  }
  int64_t count() const { return before * after; }
  size_t at(int64_t line, int64_t i) const {
    return static_cast<size_t>((line / after * length + i) * after + line % after);
  }

 private:
  int64_t unused = 1;
};

/* Of the first smallest element, or of the first NaN. */
int64_t findLeast(const Values &values, const Lines &lines, int64_t line) {
  int64_t best = 0;
  for (int64_t i = 1; i < lines.length; ++i) {
    double value = values[lines.at(line, i)], least = values[lines.at(line, best)];
    if (value < least || (std::isnan(value) && !std::isnan(least))) best = i;
  }
  return best;
}

void testReductions(const Dims &dims, size_t dim, Layout layout) {
  currentCase() = "reductions";
  const Lines lines(dims, dim);
  Values values(static_cast<size_t>(product(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7919 % 1013) - 500;
  values[values.size() / 2] = kNan;
  values[values.size() / 2 + 1] = kNan;
  Values sum, mean, most, least, where, all;
  for (int64_t line = 0; line < lines.count(); ++line) {
    double total = 0, largest = -kInf;
    for (int64_t i = 0; i < lines.length; ++i) {
      double value = values[lines.at(line, i)];
      total += value;
      largest = std::isnan(value) || std::isnan(largest) ? kNan : std::max(largest, value);
    }
    sum.push_back(total);
    mean.push_back(total / static_cast<double>(lines.length));
    most.push_back(largest);
    where.push_back(static_cast<double>(findLeast(values, lines, line)));
    least.push_back(values[lines.at(line, static_cast<int64_t>(where.back()))]);
    bool truth = true;
    for (int64_t i = 0; i < lines.length; ++i) truth &= values[lines.at(line, i)] != 0;
    all.push_back(truth);
  }
  Dims left = dims;
  left.erase(left.begin() + static_cast<int64_t>(dim));
  IntArray axis{static_cast<int64_t>(dim)};
  const int64_t index = static_cast<int64_t>(dim);
  Tensor self(ACL_FLOAT, dims, values, layout), out(ACL_FLOAT, left, {}, layout), truths(ACL_BOOL, left, {});
  Tensor places(ACL_INT64, left, {}, layout);
  EXPECT(RUN(aclnnReduceSum, self, axis, false, ACL_FLOAT, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), sum, 1e-6);
  EXPECT(RUN(aclnnMean, self, axis, false, ACL_FLOAT, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), mean, 1e-6);
  EXPECT(RUN(aclnnAmax, self, axis, false, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), most, 0);
  EXPECT(RUN(aclnnMinDim, self, index, false, out, places) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), least, 0);
  EXPECT_VALUES(places.read(), where, 0);
  EXPECT(RUN(aclnnArgMin, self, index, false, places) == ACLNN_SUCCESS);
  EXPECT_VALUES(places.read(), where, 0);
  EXPECT(RUN(aclnnAll, self, axis, false, truths) == ACLNN_SUCCESS);
  EXPECT_VALUES(truths.read(), all, 0);
}

void testSoftmax(const Dims &dims, size_t dim, Layout layout) {
  currentCase() = "softmax";
  const Lines lines(dims, dim);
  Values values(static_cast<size_t>(product(dims))), soft(values.size()), logs(values.size());
  Values gradient(values.size()), back(values.size()), log_back(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(i * 7919 % 101) / 16 - 3;
    gradient[i] = static_cast<double>(i * 31 % 17) / 8 - 1;
  }
  for (int64_t line = 0; line < lines.count(); ++line) {
    double sum = 0, product = 0, total = 0;
    for (int64_t i = 0; i < lines.length; ++i) sum += std::exp(values[lines.at(line, i)]);
    for (int64_t i = 0; i < lines.length; ++i) {
      size_t at = lines.at(line, i);
      soft[at] = std::exp(values[at]) / sum;
      logs[at] = values[at] - std::log(sum);
      product += gradient[at] * soft[at];
      total += gradient[at];
    }
    for (int64_t i = 0; i < lines.length; ++i) {
      size_t at = lines.at(line, i);
      back[at] = soft[at] * (gradient[at] - product);
      log_back[at] = gradient[at] - soft[at] * total;
    }
  }
  const int64_t index = static_cast<int64_t>(dim);
  const Layout other = static_cast<Layout>(kLayouts - 1 - layout);
  Tensor self(ACL_DOUBLE, dims, values, layout), out(ACL_DOUBLE, dims, {}, other);
  Tensor g(ACL_FLOAT, dims, gradient, layout), y(ACL_FLOAT, dims, soft, other), log_y(ACL_FLOAT, dims, logs);
  Tensor result(ACL_FLOAT, dims, {}, layout);
  EXPECT(RUN(aclnnSoftmax, self, index, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), soft, 1e-13);
  EXPECT(RUN(aclnnLogSoftmax, self, index, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), logs, 1e-13);
  EXPECT(RUN(aclnnSoftmaxBackward, g, y, index, result) == ACLNN_SUCCESS);
  EXPECT_VALUES(result.read(), back, 1e-5);
  EXPECT(RUN(aclnnLogSoftmaxBackward, g, log_y, index, result) == ACLNN_SUCCESS);
  EXPECT_VALUES(result.read(), log_back, 1e-5);
}

}  // namespace

int main() {
  Session session;
  for (const Dims &dims : {Dims{600, 3, 5}, Dims{2, 530, 9}, Dims{1, 3, 1100}, Dims{1030}}) {
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      for (int layout = 0; layout < kLayouts; ++layout) {
        testReductions(dims, dim, static_cast<Layout>(layout));
        testSoftmax(dims, dim, static_cast<Layout>(layout));
      }
    }
  }
}
