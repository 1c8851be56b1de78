/* Distances of rows, extremes of both kinds, and the cell of an LSTM: by plain formulas, gradients by finite
 * differences. */
#include "aclnnop/aclnn_aminmax.h"
#include "aclnnop/aclnn_aminmax_all.h"
#include "aclnnop/aclnn_aminmax_dim.h"
#include "aclnnop/aclnn_cdist.h"
#include "aclnnop/aclnn_cdist_backward.h"
#include "aclnnop/aclnn_pdist.h"
#include "aclnnop/aclnn_thnn_fused_lstm_cell.h"
#include "aclnnop/aclnn_thnn_fused_lstm_cell_backward.h"
#include "op_test.h"

namespace {

Values numbers(int64_t count, double scale) {
  Values values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = (static_cast<double>(i * 37 % 23) / 11.3 - 1.0) * scale;
  return values;
}

/* --- distances --------------------------------------------------------------------------------------------------- */

double norm(const double *x, const double *y, double p) {
  double sum = 0, most = 0, count = 0;
  for (int i = 0; i < 3; ++i) {
    const double size = std::fabs(x[i] - y[i]);
    sum += std::pow(size, p);
    most = std::max(most, size);
    count += size != 0;
  }
  return p == 0 ? count : std::isinf(p) ? most : std::pow(sum, 1 / p);
}

/* Of 4 rows to 2, all of 3 numbers. */
Values distances(const Values &x, const Values &y, double p) {
  Values found(8);
  for (size_t i = 0; i < 8; ++i) found[i] = norm(&x[i / 2 * 3], &y[i % 2 * 3], p);
  return found;
}

void testDistances(double p, Layout layout) {
  currentCase() = "cdist";
  const float norm_p = static_cast<float>(p);
  const Values x = numbers(12, 2), y = {0.3, -1.2, 0.7, 1.9, 0.15, -0.4}, grads = numbers(8, 1);
  Tensor one(ACL_FLOAT, {4, 3}, x, layout), other(ACL_FLOAT, {2, 3}, y, layout), out(ACL_FLOAT, {4, 2}, {}, layout);
  Tensor grad(ACL_FLOAT, {4, 2}, grads, layout), of_one(ACL_FLOAT, {4, 3}, {}, layout);
  EXPECT(RUN(aclnnCdist, one, other, norm_p, 0, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), distances(x, y, p), 1e-5);
  EXPECT(RUN(aclnnCdistBackward, grad, one, other, out, norm_p, of_one) == ACLNN_SUCCESS);
  const auto weighed = [&](const Values &rows) {
    const Values found = distances(rows, y, p);
    double sum = 0;
    for (size_t i = 0; i < 8; ++i) sum += found[i] * grads[i];
    return sum;
  };
  EXPECT_VALUES(of_one.read(), slopes(x, weighed), 1e-3);
  Tensor pairs(ACL_FLOAT, {6}, {});
  EXPECT(RUN(aclnnPdist, one, norm_p, pairs) == ACLNN_SUCCESS);
  Values expected;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t k = i + 1; k < 4; ++k) expected.push_back(norm(&x[i * 3], &x[k * 3], p));
  }
  EXPECT_VALUES(pairs.read(), expected, 1e-5);
}

void testDistanceRefusals() {
  currentCase() = "cdist refusals";
  Tensor one(ACL_FLOAT, {2, 4, 3}, {}), other(ACL_FLOAT, {3, 3}, {}), out(ACL_FLOAT, {2, 4, 3}, {});
  Tensor narrow(ACL_FLOAT, {3, 2}, {}), half(ACL_FLOAT16, {3, 3}, {});
  EXPECT(RUN(aclnnCdist, one, other, 1.0f, 0, out) == ACLNN_SUCCESS); /* one batch for both */
  EXPECT(RUN(aclnnCdist, one, other, -1.0f, 0, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnCdist, one, other, 1.0f, 3, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnCdist, one, narrow, 1.0f, 0, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnCdist, one, half, 1.0f, 0, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnPdist, other, 1.0f, other) == ACLNN_ERR_PARAM_INVALID);
}

/* --- extremes ---------------------------------------------------------------------------------------------------- */

void testExtremes(aclDataType type, Layout layout) {
  currentCase() = "aminmax";
  const IntArray rows{1};
  Tensor self(type, {2, 3}, {4, 1, 6, 2, 5, 3}, layout), low(type, {2}, {}), high(type, {2}, {});
  Tensor least(type, {1, 3}, {}), most(type, {1, 3}, {}), lowest(type, {}, {}), highest(type, {}, {});
  EXPECT(RUN(aclnnAminmax, self, rows, false, low, high) == ACLNN_SUCCESS);
  EXPECT_VALUES(low.read(), {1, 2}, 0);
  EXPECT_VALUES(high.read(), {6, 5}, 0);
  EXPECT(RUN(aclnnAminmaxDim, self, 0, true, least, most) == ACLNN_SUCCESS);
  EXPECT_VALUES(least.read(), {2, 1, 3}, 0);
  EXPECT_VALUES(most.read(), {4, 5, 6}, 0);
  EXPECT(RUN(aclnnAminmaxAll, self, lowest, highest) == ACLNN_SUCCESS);
  EXPECT_VALUES(lowest.read(), {1}, 0);
  EXPECT_VALUES(highest.read(), {6}, 0);
  EXPECT(RUN(aclnnAminmaxDim, self, 2, true, least, most) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnAminmax, self, rows, false, low, most) == ACLNN_ERR_PARAM_INVALID);
}

/* --- the cell of an LSTM, for 2 samples of size 3 ---------------------------------------------------------------- */

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Cell {
  Values hy, cy, gates;
};

Cell cellOf(const Values &input, const Values &hidden, const Values &cx, const Values &bias) {
  Cell cell = {Values(6), Values(6), Values(24)};
  for (size_t n = 0; n < 2; ++n) {
    for (size_t k = 0; k < 12; ++k) {
      const double sum = input[n * 12 + k] + hidden[n * 12 + k] + bias[k] - 2 * bias[k];
      cell.gates[n * 12 + k] = k / 3 == 2 ? std::tanh(sum) : sigmoid(sum);
    }
    for (size_t k = 0; k < 3; ++k) {
      const double *gates = &cell.gates[n * 12 + k];
      cell.cy[n * 3 + k] = gates[3] * cx[n * 3 + k] + gates[0] * gates[6];
      cell.hy[n * 3 + k] = gates[9] * std::tanh(cell.cy[n * 3 + k]);
    }
  }
  return cell;
}

void testCell(Layout layout) {
  currentCase() = "lstm cell";
  const Values input = numbers(24, 1.5), hidden = numbers(24, -0.7), cx = numbers(6, 1), bias = numbers(12, 0.3);
  Values twice = bias;
  for (double &value : twice) value *= -2;
  const Values of_hy = {1, -0.5, 2, 0.3, 0.7, -1}, of_cy = {0.2, 0.4, -0.6, 1, -2, 0.1};
  const Cell expected = cellOf(input, hidden, cx, bias);
  Tensor x(ACL_FLOAT, {2, 12}, input, layout), h(ACL_FLOAT, {2, 12}, hidden, layout), c(ACL_FLOAT, {2, 3}, cx, layout);
  Tensor b(ACL_FLOAT, {12}, bias), b2(ACL_FLOAT, {12}, twice), hy(ACL_FLOAT, {2, 3}, {}), cy(ACL_FLOAT, {2, 3}, {});
  Tensor gates(ACL_FLOAT, {2, 12}, {}, layout);
  EXPECT(RUN(aclnnThnnFusedLstmCell, x, h, c, b, b2, hy, cy, gates) == ACLNN_SUCCESS);
  EXPECT_VALUES(hy.read(), expected.hy, 1e-6);
  EXPECT_VALUES(cy.read(), expected.cy, 1e-6);
  EXPECT_VALUES(gates.read(), expected.gates, 1e-6);
  EXPECT(RUN(aclnnThnnFusedLstmCell, x, h, c, b, nullptr, hy, cy, gates) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnThnnFusedLstmCell, x, h, x, nullptr, nullptr, hy, cy, gates) == ACLNN_ERR_PARAM_INVALID);

  Tensor ghy(ACL_FLOAT, {2, 3}, of_hy, layout), gcy(ACL_FLOAT, {2, 3}, of_cy, layout), of_c(ACL_FLOAT, {2, 3}, {});
  Tensor of_gates(ACL_FLOAT, {2, 12}, {}, layout), of_bias(ACL_FLOAT, {12}, {});
  EXPECT(RUN(aclnnThnnFusedLstmCellBackward, ghy, gcy, c, cy, gates, true, of_gates, of_c, of_bias) == ACLNN_SUCCESS);
  const auto weighed = [&](const Values &sums, const Values &state) {
    const Cell cell = cellOf(sums, hidden, state, bias);
    double sum = 0;
    for (size_t i = 0; i < 6; ++i) sum += cell.hy[i] * of_hy[i] + cell.cy[i] * of_cy[i];
    return sum;
  };
  const Values of_sums = slopes(input, [&](const Values &v) { return weighed(v, cx); });
  EXPECT_VALUES(of_gates.read(), of_sums, 1e-5);
  EXPECT_VALUES(of_c.read(), slopes(cx, [&](const Values &v) { return weighed(input, v); }), 1e-5);
  Values summed(12);
  for (size_t k = 0; k < 12; ++k) summed[k] = of_sums[k] + of_sums[k + 12];
  EXPECT_VALUES(of_bias.read(), summed, 1e-5);
  EXPECT(RUN(aclnnThnnFusedLstmCellBackward, nullptr, gcy, c, cy, gates, false, of_gates, of_c, nullptr) ==
         ACLNN_SUCCESS);
  EXPECT(RUN(aclnnThnnFusedLstmCellBackward, nullptr, nullptr, c, cy, gates, false, of_gates, of_c, nullptr) ==
         ACLNN_ERR_PARAM_INVALID);
}

}  // namespace

int main() {
  Session session;
  for (int layout = 0; layout < kLayouts; ++layout) {
    for (double p : {0.0, 0.5, 1.0, 2.0, 3.0, kInf}) testDistances(p, static_cast<Layout>(layout));
    for (aclDataType type : {ACL_FLOAT, ACL_INT64, ACL_BF16}) testExtremes(type, static_cast<Layout>(layout));
    testCell(static_cast<Layout>(layout));
  }
  testDistanceRefusals();
}
