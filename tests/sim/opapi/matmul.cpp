/* Matrix products and losses against plain loops. */
#include "aclnnop/aclnn_addmm.h"
#include "aclnnop/aclnn_batch_mat_mul.h"
#include "aclnnop/aclnn_dot.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_mm.h"
#include "aclnnop/aclnn_multilabel_margin_loss.h"
#include "aclnnop/aclnn_mv.h"
#include "aclnnop/aclnn_nll_loss.h"
#include "aclnnop/aclnn_nll_loss2d.h"
#include "aclnnop/aclnn_nll_loss2d_backward.h"
#include "aclnnop/aclnn_nll_loss_backward.h"
#include "op_test.h"

namespace {

Values pattern(int64_t count, int64_t seed) {
  Values values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>((static_cast<int64_t>(i) * 5 + seed) % 9 - 4) / 4;
  }
  return values;
}

Values multiply(const Values &a, const Values &b, int64_t m, int64_t k, int64_t n) {
  Values out(static_cast<size_t>(m * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t l = 0; l < k; ++l) {
        out[static_cast<size_t>(i * n + j)] += a[static_cast<size_t>(i * k + l)] * b[static_cast<size_t>(l * n + j)];
      }
    }
  }
  return out;
}

const aclDataType kTypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16};

void testProducts() {
  const int64_t m = 7, k = 5, n = 3;
  Values a = pattern(m * k, 1), b = pattern(k * n, 3), c = pattern(n, 2), product = multiply(a, b, m, k, n);
  for (aclDataType type : kTypes) {
    for (int layout = 0; layout < kLayouts * kLayouts * kLayouts; ++layout) {
      Tensor left(type, {m, k}, a, static_cast<Layout>(layout % kLayouts));
      Tensor right(type, {k, n}, b, static_cast<Layout>(layout / kLayouts % kLayouts));
      Tensor out(type, {m, n}, {}, static_cast<Layout>(layout / kLayouts / kLayouts));
      currentCase() = "mm";
      EXPECT(RUN(aclnnMm, left, right, out, 0) == ACLNN_SUCCESS);
      EXPECT_VALUES(out.read(), product, toleranceOf(type));
      currentCase() = "addmm";
      Tensor bias(type, {n}, c);
      Scalar two(2), half(0.5);
      Values expected(product.size());
      for (size_t i = 0; i < product.size(); ++i) expected[i] = 2 * c[i % 3] + 0.5 * product[i];
      EXPECT(RUN(aclnnAddmm, bias, left, right, two, half, out, 0) == ACLNN_SUCCESS);
      EXPECT_VALUES(out.read(), expected, toleranceOf(type));
    }
  }
  currentCase() = "in place";
  Tensor left(ACL_FLOAT, {m, k}, a), right(ACL_FLOAT, {k, n}, b), self(ACL_FLOAT, {m, n}, product);
  Tensor nans(ACL_FLOAT, {n}, Values(3, kNan)), out(ACL_FLOAT, {m, n}, {}), wrong(ACL_FLOAT, {n, m}, {});
  Scalar one(1), minus(-1), zero(0);
  EXPECT(RUN(aclnnInplaceAddmm, self, left, right, one, minus, 0) == ACLNN_SUCCESS);
  EXPECT_VALUES(self.read(), Values(product.size(), 0.0), 1e-6);
  EXPECT(RUN(aclnnAddmm, nans, left, right, zero, one, out, 0) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), product, 1e-6);
  EXPECT(RUN(aclnnMm, left, right, wrong, 0) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMm, right, left, out, 0) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMm, left, nans, out, 0) == ACLNN_ERR_PARAM_INVALID);
  Tensor doubles(ACL_DOUBLE, {m, k}, a);
  EXPECT(RUN(aclnnMm, doubles, right, out, 0) == ACLNN_ERR_PARAM_INVALID);
  currentCase() = "no inner dimension";
  Tensor thin(ACL_FLOAT, {2, 0}, {}), flat(ACL_FLOAT, {0, 2}, {}), square(ACL_FLOAT, {2, 2}, {1, 2, 3, 4});
  EXPECT(RUN(aclnnMm, thin, flat, square, 0) == ACLNN_SUCCESS);
  EXPECT_VALUES(square.read(), {0, 0, 0, 0}, 0);
}

void testBatches() {
  currentCase() = "batches";
  Values a = pattern(2 * 3 * 4, 1), b = pattern(2 * 4 * 2, 5), expected;
  for (size_t i = 0; i < 2; ++i) {
    Values one =
        multiply(Values(a.begin() + static_cast<long>(i) * 12, a.begin() + static_cast<long>(i + 1) * 12),
                 Values(b.begin() + static_cast<long>(i) * 8, b.begin() + static_cast<long>(i + 1) * 8), 3, 4, 2);
    expected.insert(expected.end(), one.begin(), one.end());
  }
  for (int layout = 0; layout < kLayouts; ++layout) {
    Tensor left(ACL_FLOAT, {2, 3, 4}, a, static_cast<Layout>(layout)), right(ACL_FLOAT, {2, 4, 2}, b);
    Tensor out(ACL_FLOAT, {2, 3, 2}, {}, static_cast<Layout>(layout));
    EXPECT(RUN(aclnnBatchMatMul, left, right, out, 0) == ACLNN_SUCCESS);
    EXPECT_VALUES(out.read(), expected, 1e-6);
  }
  currentCase() = "broadcast batch";
  Values matrix(b.begin(), b.begin() + 8);
  Tensor left(ACL_FLOAT, {2, 3, 4}, a), right(ACL_FLOAT, {4, 2}, matrix), out(ACL_FLOAT, {2, 3, 2}, {});
  EXPECT(RUN(aclnnMatmul, left, right, out, 0) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), multiply(a, matrix, 6, 4, 2), 1e-6);
  currentCase() = "vectors";
  Tensor row(ACL_FLOAT, {4}, {1, 2, 3, 4}), pair(ACL_FLOAT, {2}, {}), dot(ACL_FLOAT, {}, {}),
      rows(ACL_FLOAT, {2, 3}, {});
  EXPECT(RUN(aclnnMatmul, row, right, pair, 0) == ACLNN_SUCCESS);
  EXPECT_VALUES(pair.read(), multiply({1, 2, 3, 4}, matrix, 1, 4, 2), 1e-6);
  EXPECT(RUN(aclnnMatmul, left, row, rows, 0) == ACLNN_SUCCESS);
  EXPECT_VALUES(rows.read(), multiply(a, {1, 2, 3, 4}, 6, 4, 1), 1e-6);
  EXPECT(RUN(aclnnMatmul, row, row, dot, 0) == ACLNN_SUCCESS);
  EXPECT_VALUES(dot.read(), {30}, 0);
  EXPECT(RUN(aclnnDot, row, row, dot) == ACLNN_SUCCESS);
  EXPECT_VALUES(dot.read(), {30}, 0);
  Tensor turned(ACL_FLOAT, {2, 4}, {1, 0, 0, 0, 0, 0, 0, 2}, kTransposed), result(ACL_FLOAT, {2}, {});
  EXPECT(RUN(aclnnMv, turned, row, result, 0) == ACLNN_SUCCESS);
  EXPECT_VALUES(result.read(), {1, 8}, 0);
}

void testLoss() {
  currentCase() = "nll loss";
  Tensor logs(ACL_FLOAT, {3, 2}, {-1, -2, -3, -4, -5, -6}, kTransposed), target(ACL_INT64, {3}, {0, 1, 1});
  Tensor weight(ACL_FLOAT, {2}, {1, 3}), each(ACL_FLOAT, {3}, {}), loss(ACL_FLOAT, {}, {}), total(ACL_FLOAT, {}, {});
  EXPECT(RUN(aclnnNLLLoss, logs, target, weight, 0, -100, each, total) == ACLNN_SUCCESS);
  EXPECT_VALUES(each.read(), {1, 12, 18}, 0);
  EXPECT(RUN(aclnnNLLLoss, logs, target, weight, 1, -100, loss, total) == ACLNN_SUCCESS);
  EXPECT_VALUES(loss.read(), {31.0 / 7}, 1e-6);
  EXPECT_VALUES(total.read(), {7}, 0);
  EXPECT(RUN(aclnnNLLLoss, logs, target, weight, 2, 1, loss, total) == ACLNN_SUCCESS);
  EXPECT_VALUES(loss.read(), {1}, 0);
  EXPECT_VALUES(total.read(), {1}, 0);
  EXPECT(RUN(aclnnNLLLoss, logs, target, weight, 3, 1, loss, total) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnNLLLoss, logs, target, weight, 0, 1, loss, total) == ACLNN_ERR_PARAM_INVALID);
  currentCase() = "nll loss backward";
  Tensor gradient(ACL_FLOAT, {}, {2}), sum(ACL_FLOAT, {}, {7}), out(ACL_FLOAT, {3, 2}, {});
  EXPECT(RUN(aclnnNLLLossBackward, gradient, logs, target, weight, 1, -100, sum, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {-2.0 / 7, 0, 0, -6.0 / 7, 0, -6.0 / 7}, 1e-6);
  EXPECT(RUN(aclnnNLLLossBackward, gradient, logs, target, weight, 2, 0, sum, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {0, 0, 0, -6, 0, -6}, 0);
}

/* Two classes at each of 2 x 1 x 2 places; the weight is left out. */
void testLossOfImages() {
  currentCase() = "nll loss of images";
  Tensor logs(ACL_FLOAT, {2, 2, 1, 2}, {-1, -2, -3, -4, -5, -6, -7, -8}, kTransposed);
  Tensor target(ACL_INT64, {2, 1, 2}, {0, 1, 1, 0}, kTransposed), flat(ACL_INT64, {4}, {0, 1, 1, 0});
  Tensor each(ACL_FLOAT, {2, 1, 2}, {}), loss(ACL_FLOAT, {}, {}), total(ACL_FLOAT, {}, {});
  EXPECT(RUN(aclnnNLLLoss2d, logs, target, nullptr, 0, -100, each, total) == ACLNN_SUCCESS);
  EXPECT_VALUES(each.read(), {1, 4, 7, 6}, 0);
  EXPECT(RUN(aclnnNLLLoss2d, logs, target, nullptr, 1, 0, loss, total) == ACLNN_SUCCESS);
  EXPECT_VALUES(loss.read(), {5.5}, 1e-6);
  EXPECT_VALUES(total.read(), {2}, 0);
  EXPECT(RUN(aclnnNLLLoss2d, logs, target, nullptr, 0, 0, loss, total) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnNLLLoss2d, logs, flat, nullptr, 2, 0, loss, total) == ACLNN_ERR_PARAM_INVALID);
  Tensor gradient(ACL_FLOAT, {2, 1, 2}, {1, 2, 3, 4}), out(ACL_FLOAT, {2, 2, 1, 2}, {}, kTransposed);
  EXPECT(RUN(aclnnNLLLoss2dBackward, gradient, logs, target, nullptr, 0, -100, total, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {-1, 0, 0, -2, 0, -4, -3, 0}, 0);
  EXPECT(RUN(aclnnNLLLoss2dBackward, loss, logs, target, nullptr, 1, 0, total, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {0, 0, 0, -2.75, 0, 0, -2.75, 0}, 1e-6);
}

/* Two samples with the labels {2, 0} and {1}. */
void testLabels() {
  currentCase() = "multilabel margin loss";
  Tensor x(ACL_FLOAT, {2, 3}, {0.5, 1, -0.5, 0, 2, 1.5}, kTransposed), out(ACL_FLOAT, {2}, {}), sum(ACL_FLOAT, {}, {});
  Tensor labels(ACL_INT64, {2, 3}, {2, 0, -1, 1, -1, 0}, kTransposed), marks(ACL_FLOAT, {2, 3}, {}, kTransposed);
  Tensor wrong(ACL_INT64, {3, 2}, {0, 0, 0, 0, 0, 0}), one(ACL_FLOAT, {3}, {0.5, 1, -0.5}), mark(ACL_FLOAT, {3}, {});
  EXPECT(RUN(aclnnMultilabelMarginLoss, x, labels, 0, out, marks) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {(2.5 + 1.5) / 3, 0.5 / 3}, 1e-6);
  EXPECT_VALUES(marks.read(), {1, 0, 1, 0, 1, 0}, 0);
  EXPECT(RUN(aclnnMultilabelMarginLoss, x, labels, 1, sum, marks) == ACLNN_SUCCESS);
  EXPECT_VALUES(sum.read(), {4.5 / 6}, 1e-6);
  Tensor row(ACL_INT64, {3}, {2, 0, -1});
  EXPECT(RUN(aclnnMultilabelMarginLoss, one, row, 2, sum, mark) == ACLNN_SUCCESS);
  EXPECT_VALUES(sum.read(), {4.0 / 3}, 1e-6);
  EXPECT(RUN(aclnnMultilabelMarginLoss, x, labels, 3, sum, marks) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMultilabelMarginLoss, x, labels, 0, sum, marks) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMultilabelMarginLoss, x, wrong, 0, out, marks) == ACLNN_ERR_PARAM_INVALID);
}

/* Phase 1 while kernels do nothing, phase 2 when they do their work again. */
void testNullKernels() {
  currentCase() = "null kernels";
  Tensor left(ACL_FLOAT, {2, 2}, {1, 2, 3, 4}), right(ACL_FLOAT, {2, 2}, {1, 1, 0, 1}), out(ACL_FLOAT, {2, 2}, {});
  void *workspace = nullptr;
  uint64_t size = 0;
  aclOpExecutor *executor = nullptr;
  simSetNullKernels(1);
  EXPECT(aclnnMmGetWorkspaceSize(left, right, out, 0, &size, &executor) == ACLNN_SUCCESS);
  simSetNullKernels(0);
  EXPECT(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  EXPECT(aclnnMm(workspace, size, executor, nullptr) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), (Values{1, 3, 3, 7}), 0);
  EXPECT(aclrtFree(workspace) == ACL_SUCCESS);
}

}  // namespace

int main() {
  Session session;
  testProducts();
  testNullKernels();
  testBatches();
  testLoss();
  testLossOfImages();
  testLabels();
}
