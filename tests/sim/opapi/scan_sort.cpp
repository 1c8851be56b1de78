/* Scans and sorts along every dimension, in every layout, with NaN and with equal elements. */
#include "aclnnop/aclnn_apply_top_k_top_p.h"
#include "aclnnop/aclnn_cumsum.h"
#include "aclnnop/aclnn_sort.h"
#include "op_test.h"

namespace {

/* Position of element i of a line in a contiguous array. */
struct Lines {
  int64_t length, after = 1, count = 1;
  Lines(const Dims &dims, size_t dim) : length(dims[dim]) {
    for (size_t i = 0; i < dims.size(); ++i) {
      if (i != dim) count *= dims[i];
      if (i > dim) after *= dims[i];
    }
  }
  size_t at(int64_t line, int64_t i) const {
    return static_cast<size_t>((line / after * length + i) * after + line % after);
  }
};

void testCumsum(aclDataType from, aclDataType to, const Dims &dims, size_t dim, Layout layout) {
  currentCase() = "cumsum";
  const Lines lines(dims, dim);
  Values values(static_cast<size_t>(product(dims))), sums(values.size());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 31 % 17) - 6;
  for (int64_t line = 0; line < lines.count; ++line) {
    double sum = 0;
    for (int64_t i = 0; i < lines.length; ++i) sums[lines.at(line, i)] = sum += values[lines.at(line, i)];
  }
  Tensor self(from, dims, values, layout), out(to, dims, {}, static_cast<Layout>(kLayouts - 1 - layout));
  EXPECT(RUN(aclnnCumsum, self, static_cast<int64_t>(dim), to, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), sums, 0);
  const int64_t negative = static_cast<int64_t>(dim) - static_cast<int64_t>(dims.size());
  EXPECT(RUN(aclnnCumsum, self, negative, to, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), sums, 0);
}

void testSort(aclDataType type, const Dims &dims, size_t dim, bool descending, Layout layout) {
  currentCase() = "sort";
  const Lines lines(dims, dim);
  Values values(static_cast<size_t>(product(dims))), sorted(values.size()), places(values.size());
  const bool floating = type != ACL_INT32 && type != ACL_INT64;
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 31 % 13) - 6;
  for (size_t i = 3; floating && i < values.size(); i += 11) values[i] = i % 2 == 0 ? kNan : kInf;
  for (int64_t line = 0; line < lines.count; ++line) {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < lines.length; ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      double x = values[lines.at(line, a)], y = values[lines.at(line, b)];
      if (descending) std::swap(x, y);
      return std::isnan(y) ? !std::isnan(x) : x < y;
    });
    for (int64_t i = 0; i < lines.length; ++i) {
      sorted[lines.at(line, i)] = values[lines.at(line, order[static_cast<size_t>(i)])];
      places[lines.at(line, i)] = static_cast<double>(order[static_cast<size_t>(i)]);
    }
  }
  Tensor self(type, dims, values, layout), out(type, dims, {}, layout), indices(ACL_INT64, dims, {}, kTransposed);
  EXPECT(RUN(aclnnSort, self, true, static_cast<int64_t>(dim), descending, out, indices) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), sorted, 0);
  EXPECT_VALUES(indices.read(), places, 0);
}

void testTopKTopP(Layout layout) {
  currentCase() = "the likeliest";
  const double none = -kInf;
  const Values logits = {std::log(0.1), std::log(0.4), std::log(0.2), std::log(0.3), 1, 2, 3, 4};
  Tensor x(ACL_FLOAT, {2, 4}, logits, layout), p(ACL_FLOAT, {2}, {0.65, 1}, layout), k(ACL_INT32, {2}, {3, 1}, layout);
  Tensor out(ACL_FLOAT, {2, 4}, {}, layout), half(ACL_FLOAT16, {2, 4}, {}), three(ACL_INT32, {3}, {1, 1, 1});
  EXPECT(RUN(aclnnApplyTopKTopP, x, p, nullptr, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), (Values{none, logits[1], none, logits[3], 1, 2, 3, 4}), 1e-6);
  EXPECT(RUN(aclnnApplyTopKTopP, x, nullptr, k, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), (Values{none, logits[1], logits[2], logits[3], none, none, none, 4}), 1e-6);
  EXPECT(RUN(aclnnApplyTopKTopP, x, p, k, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), (Values{none, logits[1], none, logits[3], none, none, none, 4}), 1e-6);
  EXPECT(RUN(aclnnApplyTopKTopP, x, p, three, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnApplyTopKTopP, x, p, k, half) == ACLNN_ERR_PARAM_INVALID);
}

void testRefusals() {
  currentCase() = "refusals";
  Tensor self(ACL_FLOAT, {2, 3}, {}), out(ACL_FLOAT, {2, 3}, {}), narrow(ACL_FLOAT, {2, 2}, {});
  Tensor indices(ACL_INT64, {2, 3}, {}), wrong(ACL_INT32, {2, 3}, {});
  EXPECT(RUN(aclnnCumsum, self, 2, ACL_FLOAT, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnCumsum, self, 0, ACL_FLOAT, narrow) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnCumsum, self, 0, ACL_DOUBLE, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnSort, self, false, -3, false, out, indices) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnSort, self, false, 0, false, narrow, indices) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnSort, self, false, 0, false, wrong, indices) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnSort, self, false, 0, false, out, wrong) == ACLNN_ERR_PARAM_INVALID);
}

}  // namespace

int main() {
  Session session;
  for (const Dims &dims : {Dims{600, 3}, Dims{2, 30, 5}, Dims{7}, Dims{2, 0, 3}}) {
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      for (int layout = 0; layout < kLayouts; ++layout) {
        testCumsum(ACL_FLOAT, ACL_FLOAT, dims, dim, static_cast<Layout>(layout));
        testCumsum(ACL_INT8, ACL_INT64, dims, dim, static_cast<Layout>(layout));
        for (aclDataType type : {ACL_FLOAT, ACL_BF16, ACL_INT32}) {
          testSort(type, dims, dim, layout % 2 == 0, static_cast<Layout>(layout));
        }
      }
    }
  }
  currentCase() = "one element";
  Tensor one(ACL_FLOAT, {}, {5}), out(ACL_FLOAT, {}, {});
  EXPECT(RUN(aclnnCumsum, one, -1, ACL_FLOAT, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {5}, 0);
  for (int layout = 0; layout < kLayouts; ++layout) testTopKTopP(static_cast<Layout>(layout));
  testRefusals();
}
