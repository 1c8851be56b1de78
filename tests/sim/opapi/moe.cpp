/* The operators of mixture of experts, for 3 tokens of width 2 and 2 of 4 experts each. */
#include "aclnnop/aclnn_moe_compute_expert_tokens.h"
#include "aclnnop/aclnn_moe_finalize_routing.h"
#include "aclnnop/aclnn_moe_gating_top_k.h"
#include "aclnnop/aclnn_moe_gating_top_k_softmax.h"
#include "aclnnop/aclnn_moe_init_routing.h"
#include "aclnnop/aclnn_moe_init_routing_v3.h"
#include "aclnnop/aclnn_moe_token_permute.h"
#include "aclnnop/aclnn_moe_token_permute_grad.h"
#include "aclnnop/aclnn_moe_token_unpermute.h"
#include "aclnnop/aclnn_moe_token_unpermute_grad.h"
#include "op_test.h"

namespace {

const Values kTokens = {1, 2, 3, 4, 5, 6}, kExperts = {3, 0, 1, 3, 0, 1};
/* The copies by expert are those of tokens 0 2 1 2 0 1: where each copy went. */
const Values kPlaces = {4, 0, 2, 5, 1, 3}, kCopies = {1, 2, 5, 6, 3, 4, 5, 6, 1, 2, 3, 4};

void testGating(Layout layout) {
  currentCase() = "gating";
  Tensor x(ACL_FLOAT, {2, 3}, {0, std::log(2.0), 0, 1, 1, 1}, layout), done(ACL_BOOL, {2}, {0, 1}, layout);
  Tensor y(ACL_FLOAT, {2, 2}, {}), experts(ACL_INT32, {2, 2}, {}), rows(ACL_INT32, {2, 2}, {});
  Tensor half(ACL_FLOAT16, {2, 2}, {}), flat(ACL_FLOAT, {3}, {});
  EXPECT(RUN(aclnnMoeGatingTopKSoftmax, x, nullptr, 2, y, experts, rows) == ACLNN_SUCCESS);
  EXPECT_VALUES(y.read(), {0.5, 0.25, 1.0 / 3, 1.0 / 3}, 1e-6);
  EXPECT_VALUES(experts.read(), {1, 0, 0, 1}, 0);
  EXPECT_VALUES(rows.read(), {0, 2, 1, 3}, 0);
  EXPECT(RUN(aclnnMoeGatingTopKSoftmax, x, done, 2, y, experts, rows) == ACLNN_SUCCESS);
  EXPECT_VALUES(experts.read(), {1, 0, 3, 3}, 0);
  EXPECT(RUN(aclnnMoeGatingTopKSoftmax, x, nullptr, 4, y, experts, rows) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMoeGatingTopKSoftmax, x, nullptr, 1, y, experts, rows) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMoeGatingTopKSoftmax, x, nullptr, 2, half, experts, rows) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMoeGatingTopKSoftmax, flat, nullptr, 2, y, experts, rows) == ACLNN_ERR_PARAM_INVALID);
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void testGroupedGating(Layout layout) {
  currentCase() = "gating by groups";
  /* The second group has the largest score, the first one the largest two together. */
  const Values scores = {1, 0.5, -1, 2, -2, -3};
  Tensor x(ACL_FLOAT, {1, 6}, scores, layout), bias(ACL_FLOAT, {6}, {0, 0, 0.6, 0, 0, 0}, layout);
  Tensor y(ACL_FLOAT, {1, 2}, {}), ids(ACL_INT32, {1, 2}, {}), all(ACL_FLOAT, {1, 6}, {}), three(ACL_INT32, {1, 3}, {});
  const auto run = [&](aclTensor *added, int64_t kept, int64_t groups, int64_t by_two, int64_t norm, aclTensor *to) {
    return RUN(aclnnMoeGatingTopK, x, added, 2, kept, groups, by_two, 0, norm, true, 3.0, 1e-20, y, to, all);
  };
  EXPECT(run(nullptr, 1, 2, 0, 1, ids) == ACLNN_SUCCESS);
  const double first = sigmoid(2), second = sigmoid(-2);
  EXPECT_VALUES(ids.read(), {3, 4}, 0);
  EXPECT_VALUES(y.read(), (Values{3 * first / (first + second), 3 * second / (first + second)}), 1e-5);
  EXPECT_VALUES(all.read(), (Values{sigmoid(1), sigmoid(0.5), sigmoid(-1), first, second, sigmoid(-3)}), 1e-5);
  EXPECT(run(nullptr, 1, 2, 1, 1, ids) == ACLNN_SUCCESS);
  EXPECT_VALUES(ids.read(), {0, 1}, 0);
  EXPECT(run(bias, 1, 2, 1, 1, ids) == ACLNN_SUCCESS); /* chosen with the bias, weighed without */
  EXPECT_VALUES(ids.read(), {2, 0}, 0);
  EXPECT_VALUES(y.read(),
                (Values{3 * sigmoid(-1) / (sigmoid(-1) + sigmoid(1)), 3 * sigmoid(1) / (sigmoid(-1) + sigmoid(1))}),
                1e-5);
  EXPECT(run(nullptr, 1, 1, 0, 0, ids) == ACLNN_SUCCESS);
  double sum = 0;
  for (double score : scores) sum += std::exp(score);
  EXPECT_VALUES(y.read(), (Values{3 * std::exp(2) / sum, 3 * std::exp(1) / sum}), 1e-5);
  EXPECT(run(nullptr, 1, 4, 0, 1, ids) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(run(nullptr, 3, 2, 0, 1, ids) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(run(nullptr, 1, 6, 0, 1, ids) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(run(nullptr, 1, 2, 2, 1, ids) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(run(nullptr, 1, 2, 0, 1, three) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(run(y, 1, 2, 0, 1, ids) == ACLNN_ERR_PARAM_INVALID);
}

void testRoutingV3(Layout layout) {
  currentCase() = "routing of a range of experts";
  Tensor x(ACL_FLOAT, {3, 2}, kTokens), experts(ACL_INT32, {3, 2}, kExperts), given(ACL_FLOAT, {3}, {7, 8, 9});
  Tensor out(ACL_FLOAT, {6, 2}, {}, layout), places(ACL_INT32, {6}, {}, layout), scales(ACL_FLOAT, {6}, {}, layout);
  Tensor counts(ACL_INT64, {4}, {}, layout), pairs(ACL_INT64, {4, 2}, {}, layout), two(ACL_INT64, {2}, {}),
      bytes(ACL_INT8, {6, 2}, {});
  const IntArray whole = {0, 4}, middle = {1, 3}, wrong = {2, 5};
  const auto run = [&](aclTensor *scale, int64_t count_type, int64_t quantized, aclIntArray *range, int64_t rows,
                       aclTensor *to, aclTensor *numbers) {
    return RUN(aclnnMoeInitRoutingV3, x, experts, scale, nullptr, 6, 0, 4, 0, count_type, true, quantized, range, rows,
               to, places, numbers, scales);
  };
  EXPECT(run(nullptr, 1, -1, whole, 0, out, counts) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), kCopies, 0);
  EXPECT_VALUES(places.read(), kPlaces, 0);
  EXPECT_VALUES(counts.read(), {2, 2, 0, 2}, 0);
  EXPECT(run(given, 0, -1, nullptr, 1, out, counts) == ACLNN_SUCCESS);
  EXPECT_VALUES(places.read(), {1, 4, 2, 5, 0, 3}, 0);
  EXPECT_VALUES(scales.read(), {7, 9, 8, 9, 7, 8}, 0);
  EXPECT_VALUES(counts.read(), {2, 4, 4, 6}, 0);
  EXPECT(run(nullptr, 2, -1, whole, 0, out, pairs) == ACLNN_SUCCESS);
  EXPECT_VALUES(pairs.read(), {0, 2, 1, 2, 3, 2, 0, 0}, 0);
  EXPECT(run(nullptr, 1, -1, middle, 0, out, two) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {3, 4, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0}, 0);
  EXPECT_VALUES(places.read(), {-1, -1, 0, -1, -1, 1}, 0);
  EXPECT_VALUES(two.read(), {2, 0}, 0);
  EXPECT(run(nullptr, 1, 1, whole, 0, bytes, counts) == ACLNN_SUCCESS);
  EXPECT_VALUES(bytes.read(), {64, 127, 106, 127, 95, 127, 106, 127, 64, 127, 95, 127}, 0);
  EXPECT_VALUES(scales.read(), (Values{2.0 / 127, 6.0 / 127, 4.0 / 127, 6.0 / 127, 2.0 / 127, 4.0 / 127}), 1e-6);
  EXPECT(run(nullptr, 1, -1, wrong, 0, out, two) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(run(nullptr, 3, -1, whole, 0, out, counts) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(run(nullptr, 1, 0, whole, 0, out, counts) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(run(nullptr, 1, 1, whole, 0, out, counts) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(run(nullptr, 1, -1, whole, 0, out, two) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(run(x, 1, -1, whole, 0, out, counts) == ACLNN_ERR_PARAM_INVALID);
  currentCase() = "tokens of each expert";
  Tensor sorted(ACL_INT32, {6}, {0, 0, 1, 1, 3, 3}, layout), ends(ACL_INT32, {4}, {});
  EXPECT(RUN(aclnnMoeComputeExpertTokens, sorted, 4, ends) == ACLNN_SUCCESS);
  EXPECT_VALUES(ends.read(), {2, 4, 4, 6}, 0);
  EXPECT(RUN(aclnnMoeComputeExpertTokens, sorted, 3, ends) == ACLNN_ERR_PARAM_INVALID);
}

void testRouting(Layout layout) {
  currentCase() = "routing";
  Tensor x(ACL_FLOAT, {3, 2}, kTokens, layout), experts(ACL_INT32, {3, 2}, kExperts, layout);
  Tensor rows(ACL_INT32, {3, 2}, {0, 3, 1, 4, 2, 5}, layout), out(ACL_FLOAT, {4, 2}, {}), places(ACL_INT32, {6}, {});
  Tensor sorted(ACL_INT32, {6}, {}), all(ACL_FLOAT, {6, 2}, {});
  EXPECT(RUN(aclnnMoeInitRouting, x, rows, experts, 2, out, places, sorted) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), Values(kCopies.begin(), kCopies.begin() + 8), 0);
  EXPECT_VALUES(sorted.read(), {0, 0, 1, 1, 3, 3}, 0);
  EXPECT_VALUES(places.read(), {4, 2, 1, 0, 5, 3}, 0);
  EXPECT(RUN(aclnnMoeInitRouting, x, rows, experts, 9, all, places, sorted) == ACLNN_SUCCESS);
  EXPECT_VALUES(all.read(), kCopies, 0);
  EXPECT(RUN(aclnnMoeInitRouting, x, rows, experts, 1, out, places, sorted) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMoeInitRouting, x, places, experts, 2, out, places, sorted) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMoeInitRouting, x, rows, experts, -1, out, places, sorted) == ACLNN_ERR_PARAM_INVALID);
  currentCase() = "finalizing";
  Tensor scales(ACL_FLOAT, {3, 2}, {1, 2, 3, 4, 5, 6}, layout),
      bias(ACL_FLOAT, {4, 2}, {1, 0, 0, 1, 0, 0, 2, 2}, layout);
  Tensor result(ACL_FLOAT, {3, 2}, {}), skip(ACL_FLOAT, {3, 2}, {10, 20, 30, 40, 50, 60}, layout);
  Values expected(6);
  const Values biases = {1, 0, 0, 1, 0, 0, 2, 2}, from = places.read();
  for (size_t i = 0; i < 6; ++i) {
    expected[i] = 2 * static_cast<double>(i + 1) * 10;
    for (size_t k = 0; k < 2; ++k) {
      const size_t row = static_cast<size_t>(from[i / 2 + k * 3]),
                   expert = static_cast<size_t>(kExperts[i / 2 * 2 + k]);
      expected[i] += static_cast<double>(i / 2 * 2 + k + 1) * (kCopies[row * 2 + i % 2] + biases[expert * 2 + i % 2]);
    }
  }
  EXPECT(RUN(aclnnMoeFinalizeRouting, all, skip, skip, bias, scales, places, experts, result) == ACLNN_SUCCESS);
  EXPECT_VALUES(result.read(), expected, 1e-4);
  EXPECT(RUN(aclnnMoeFinalizeRouting, all, skip, nullptr, bias, scales, places, experts, result) == ACLNN_SUCCESS);
  for (size_t i = 0; i < 6; ++i) expected[i] -= static_cast<double>(i + 1) * 10;
  EXPECT_VALUES(result.read(), expected, 1e-4);
  EXPECT(RUN(aclnnMoeFinalizeRouting, out, skip, skip, bias, scales, places, experts, result) ==
         ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMoeFinalizeRouting, all, skip, skip, bias, scales, experts, experts, result) ==
         ACLNN_ERR_PARAM_INVALID);
}

void testPermute(Layout layout) {
  currentCase() = "permute";
  Tensor tokens(ACL_FLOAT, {3, 2}, kTokens, layout), experts(ACL_INT64, {3, 2}, kExperts, layout);
  Tensor out(ACL_FLOAT, {6, 2}, {}), some(ACL_FLOAT, {4, 2}, {}), places(ACL_INT32, {6}, {});
  Tensor bytes(ACL_INT8, {3, 2}, kTokens, layout), byte_out(ACL_INT8, {6, 2}, {});
  EXPECT(RUN(aclnnMoeTokenPermute, tokens, experts, 0, false, out, places) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), kCopies, 0);
  EXPECT_VALUES(places.read(), kPlaces, 0);
  EXPECT(RUN(aclnnMoeTokenPermute, bytes, experts, 0, false, byte_out, places) == ACLNN_SUCCESS);
  EXPECT_VALUES(byte_out.read(), kCopies, 0);
  for (int64_t kept : {4, -2}) {
    EXPECT(RUN(aclnnMoeTokenPermute, tokens, experts, kept, false, some, places) == ACLNN_SUCCESS);
    EXPECT_VALUES(some.read(), Values(kCopies.begin(), kCopies.begin() + 8), 0);
  }
  EXPECT(RUN(aclnnMoeTokenPermute, tokens, experts, 0, false, some, places) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMoeTokenPermute, tokens, experts, 0, true, out, places) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMoeTokenPermute, tokens, places, 0, false, out, places) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMoeTokenPermute, tokens, experts, 0, false, byte_out, places) == ACLNN_ERR_PARAM_INVALID);
  currentCase() = "unpermute";
  Tensor probs(ACL_FLOAT, {3, 2}, {1, 2, 3, 4, 5, 6}, layout), back(ACL_FLOAT, {3, 2}, {}), rows(ACL_FLOAT, {6, 2}, {});
  Tensor copies(ACL_FLOAT, {6, 2}, kCopies, layout), fewer(ACL_FLOAT, {4, 2}, {1, 2, 5, 6, 3, 4, 5, 6}, layout);
  Values weighted(6), doubled(6), kept(6), plain(12);
  for (size_t i = 0; i < 6; ++i) {
    const double first = static_cast<double>(i / 2 * 2 + 1);
    weighted[i] = kTokens[i] * (2 * first + 1);
    doubled[i] = 2 * kTokens[i];
    for (size_t k = 0; k < 2; ++k)
      kept[i] += kPlaces[i / 2 * 2 + k] < 4 ? kTokens[i] * (first + static_cast<double>(k)) : 0;
  }
  for (size_t i = 0; i < 12; ++i) plain[i] = kTokens[i / 4 * 2 + i % 2];
  EXPECT(RUN(aclnnMoeTokenUnpermute, copies, places, probs, false, nullptr, back) == ACLNN_SUCCESS);
  EXPECT_VALUES(back.read(), weighted, 1e-5);
  EXPECT(RUN(aclnnMoeTokenUnpermute, fewer, places, probs, false, nullptr, back) == ACLNN_SUCCESS);
  EXPECT_VALUES(back.read(), kept, 1e-5);
  EXPECT(RUN(aclnnMoeTokenUnpermute, copies, places, nullptr, false, nullptr, rows) == ACLNN_SUCCESS);
  EXPECT_VALUES(rows.read(), plain, 0);
  EXPECT(RUN(aclnnMoeTokenPermuteGrad, copies, places, 2, false, back) == ACLNN_SUCCESS);
  EXPECT_VALUES(back.read(), doubled, 1e-5);
  EXPECT(RUN(aclnnMoeTokenUnpermute, copies, places, probs, true, nullptr, back) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMoeTokenUnpermute, copies, places, some, false, nullptr, back) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMoeTokenUnpermute, copies, places, probs, false, nullptr, rows) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMoeTokenPermuteGrad, copies, places, 4, false, back) == ACLNN_ERR_PARAM_INVALID);
}

void testUnpermuteGrad(Layout layout) {
  currentCase() = "unpermute gradients";
  const Values factors = {1, 2, 3, 4, 5, 6};
  Tensor copies(ACL_FLOAT, {6, 2}, kCopies), places(ACL_INT32, {6}, kPlaces, layout),
      grad(ACL_FLOAT, {3, 2}, kTokens, layout);
  Tensor probs(ACL_FLOAT, {3, 2}, factors, layout), of_copies(ACL_FLOAT, {6, 2}, {}), of_probs(ACL_FLOAT, {3, 2}, {});
  Tensor rows(ACL_FLOAT, {6, 2}, kCopies, layout), nothing(ACL_FLOAT, {0}, {});
  Values copy_slopes(12), prob_slopes(6), moved(12);
  for (size_t i = 0; i < 6; ++i) {
    const size_t place = static_cast<size_t>(kPlaces[i]), token = i / 2;
    for (size_t j = 0; j < 2; ++j) {
      copy_slopes[place * 2 + j] = factors[i] * kTokens[token * 2 + j];
      prob_slopes[i] += kTokens[token * 2 + j] * kCopies[place * 2 + j];
      moved[place * 2 + j] = kCopies[i * 2 + j];
    }
  }
  EXPECT(RUN(aclnnMoeTokenUnpermuteGrad, copies, grad, places, probs, false, nullptr, of_copies, of_probs) ==
         ACLNN_SUCCESS);
  EXPECT_VALUES(of_copies.read(), copy_slopes, 1e-5);
  EXPECT_VALUES(of_probs.read(), prob_slopes, 1e-5);
  EXPECT(RUN(aclnnMoeTokenUnpermuteGrad, copies, rows, places, nullptr, false, nullptr, of_copies, nothing) ==
         ACLNN_SUCCESS);
  EXPECT_VALUES(of_copies.read(), moved, 0);
  EXPECT(RUN(aclnnMoeTokenUnpermuteGrad, nullptr, grad, places, probs, false, nullptr, of_copies, of_probs) ==
         ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMoeTokenUnpermuteGrad, copies, rows, places, probs, false, nullptr, of_copies, of_probs) ==
         ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMoeTokenUnpermuteGrad, copies, grad, places, probs, false, nullptr, of_copies, nothing) ==
         ACLNN_ERR_PARAM_INVALID);
}

}  // namespace

int main() {
  Session session;
  for (int layout = 0; layout < kLayouts; ++layout) {
    testGating(static_cast<Layout>(layout));
    testGroupedGating(static_cast<Layout>(layout));
    testRoutingV3(static_cast<Layout>(layout));
    testRouting(static_cast<Layout>(layout));
    testPermute(static_cast<Layout>(layout));
    testUnpermuteGrad(static_cast<Layout>(layout));
  }
}
