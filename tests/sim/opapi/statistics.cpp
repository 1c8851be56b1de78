/* Moments, selection by rank, cumulative extrema, searches and histograms in every layout, and their errors. */
#include "aclnnop/aclnn_cummax.h"
#include "aclnnop/aclnn_cumprod.h"
#include "aclnnop/aclnn_histc.h"
#include "aclnnop/aclnn_kthvalue.h"
#include "aclnnop/aclnn_log_sum_exp.h"
#include "aclnnop/aclnn_median.h"
#include "aclnnop/aclnn_median_dim.h"
#include "aclnnop/aclnn_prod_dim.h"
#include "aclnnop/aclnn_search_sorted.h"
#include "aclnnop/aclnn_topk.h"
#include "aclnnop/aclnn_var_mean.h"
#include "op_test.h"

namespace {

const Values kRows = {3, 1, 2, 8, 5, 9};

void testLayout(Layout layout) {
  currentCase() = "layouts";
  Tensor self(ACL_FLOAT, {2, 3}, kRows, layout), whole(ACL_INT32, {2, 3}, kRows, layout);
  Tensor values(ACL_FLOAT, {2}, {}), more(ACL_FLOAT, {2}, {}), indices(ACL_INT64, {2}, {});
  IntArray last{1};
  Scalar dim(1);
  EXPECT(RUN(aclnnVarMean, self, last, 1, false, values, more) == ACLNN_SUCCESS);
  EXPECT_VALUES(values.read(), {1, 13.0 / 3}, 1e-6);
  EXPECT_VALUES(more.read(), {2, 22.0 / 3}, 1e-6);
  EXPECT(RUN(aclnnLogSumExp, self, last, false, values) == ACLNN_SUCCESS);
  EXPECT_VALUES(values.read(), {3.4076059, 9.3265629}, 1e-6);
  EXPECT(RUN(aclnnKthvalue, self, 2, 1, false, values, indices) == ACLNN_SUCCESS);
  EXPECT_VALUES(values.read(), {2, 8}, 0);
  EXPECT_VALUES(indices.read(), {2, 0}, 0);
  EXPECT(RUN(aclnnMedianDim, self, -1, false, values, indices) == ACLNN_SUCCESS);
  EXPECT_VALUES(values.read(), {2, 8}, 0);
  Tensor product(ACL_INT64, {3}, {});
  EXPECT(RUN(aclnnProdDim, whole, 0, false, ACL_INT64, product) == ACLNN_SUCCESS);
  EXPECT_VALUES(product.read(), {24, 5, 18}, 0);
  Tensor top(ACL_FLOAT, {2, 2}, {}), places(ACL_INT64, {2, 2}, {}, layout);
  EXPECT(RUN(aclnnTopk, self, 2, 1, true, true, top, places) == ACLNN_SUCCESS);
  EXPECT_VALUES(top.read(), {3, 2, 9, 8}, 0);
  EXPECT_VALUES(places.read(), {0, 2, 2, 0}, 0);
  Tensor running(ACL_FLOAT, {2, 3}, {}, layout), at(ACL_INT64, {2, 3}, {}, layout);
  EXPECT(RUN(aclnnCummax, self, 1, running, at) == ACLNN_SUCCESS);
  EXPECT_VALUES(running.read(), {3, 3, 3, 8, 8, 9}, 0);
  EXPECT_VALUES(at.read(), {0, 0, 0, 0, 0, 2}, 0);
  EXPECT(RUN(aclnnCumprod, self, dim, ACL_FLOAT, running) == ACLNN_SUCCESS);
  EXPECT_VALUES(running.read(), {3, 3, 6, 8, 40, 360}, 0);
}

void testWhole() {
  currentCase() = "medians";
  Tensor self(ACL_FLOAT, {4}, {2, kNan, 7, 1}), out(ACL_FLOAT, {}, {}), index(ACL_INT64, {}, {});
  EXPECT(RUN(aclnnMedian, self, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {kNan}, 0);
  EXPECT(RUN(aclnnMedianDim, self, 0, false, out, index) == ACLNN_SUCCESS);
  EXPECT_VALUES(index.read(), {1}, 0);
  currentCase() = "searches";
  Tensor line(ACL_INT32, {4}, {1, 3, 3, 5}), wanted(ACL_INT32, {3}, {0, 3, 9}), places(ACL_INT64, {3}, {});
  EXPECT(RUN(aclnnSearchSorted, line, wanted, false, false, nullptr, places) == ACLNN_SUCCESS);
  EXPECT_VALUES(places.read(), {0, 1, 4}, 0);
  EXPECT(RUN(aclnnSearchSorted, line, wanted, false, true, nullptr, places) == ACLNN_SUCCESS);
  EXPECT_VALUES(places.read(), {0, 3, 4}, 0);
  currentCase() = "histograms";
  Tensor points(ACL_FLOAT, {5}, {0, 1, 2, 3, 9}), counts(ACL_FLOAT, {3}, {});
  Scalar low(0.0), high(3.0);
  EXPECT(RUN(aclnnHistc, points, 3, low, high, counts) == ACLNN_SUCCESS);
  EXPECT_VALUES(counts.read(), {1, 1, 2}, 0);
}

void testRefusals() {
  currentCase() = "refusals";
  Tensor self(ACL_FLOAT, {2, 3}, {}), two(ACL_FLOAT, {2}, {}), three(ACL_FLOAT, {3}, {});
  Tensor indices(ACL_INT64, {2}, {}), wrong(ACL_INT64, {3}, {}), line(ACL_INT32, {3}, {}), one(ACL_FLOAT, {}, {});
  EXPECT(RUN(aclnnVarMean, self, IntArray{1}, 1, false, two, three) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnVarMean, self, IntArray{2}, 1, false, two, two) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnLogSumExp, self, IntArray{0}, false, two) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnProdDim, self, 1, false, ACL_DOUBLE, two) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnKthvalue, self, 4, 1, false, two, indices) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnKthvalue, self, 1, 1, false, two, wrong) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMedianDim, self, 5, false, two, indices) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnTopk, self, 4, 1, true, true, two, indices) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMedian, self, two) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnSearchSorted, line, three, false, false, nullptr, wrong) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnSearchSorted, three, three, true, false, nullptr, wrong) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnSearchSorted, one, three, false, false, nullptr, wrong) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnHistc, self, 0, Scalar(0.0), Scalar(1.0), three) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnHistc, self, 3, Scalar(1.0), Scalar(0.0), three) == ACLNN_ERR_PARAM_INVALID);
}

}  // namespace

int main() {
  Session session;
  for (int layout = 0; layout < kLayouts; ++layout) testLayout(static_cast<Layout>(layout));
  testWhole();
  testRefusals();
}
