/* Flash attention and its gradient, against plain loops over the keys of each query. */
#include "aclnnop/aclnn_flash_attention_score.h"
#include "aclnnop/aclnn_flash_attention_score_grad.h"
#include "op_test.h"

namespace {

struct Case {
  int64_t batch, heads, shared, queries, keys, width;
  bool masked;
  int64_t behind; /* nextTokens */
  double scale;

  Dims query() const { return {batch, heads, queries, width}; }
  Dims key() const { return {batch, shared, keys, width}; }
  Dims statistics() const { return {batch, heads, queries, 8}; }
};

Values numbers(const Dims &dims, int64_t step, int64_t period) {
  Values values(static_cast<size_t>(product(dims)));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>((static_cast<int64_t>(i) * step) % period - period / 2) / 4;
  }
  return values;
}

/* Key 0 is never hidden by the mask itself, so every query sees one. */
Values maskOf(const Case &c) {
  Values mask(static_cast<size_t>(c.queries * c.keys));
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = i % static_cast<size_t>(c.keys) != 0 && i % 3 == 1;
  return mask;
}

struct Found {
  Values out, of_query, of_key, of_value;
};

bool sees(const Case &c, const Values &mask, int64_t query, int64_t key) {
  if (!c.masked) return true;
  return mask[static_cast<size_t>(query * c.keys + key)] == 0 && key <= query + c.behind;
}

/* One query of one head: its weights, its result, and what it adds to the gradients. */
void attendOne(const Case &c, const Values &mask, const double *q, const double *k, const double *v, const double *grad,
               int64_t query, double *out, double *of_q, double *of_k, double *of_v) {
  std::vector<double> weights(static_cast<size_t>(c.keys));
  double total = 0;
  for (int64_t j = 0; j < c.keys; ++j) {
    if (!sees(c, mask, query, j)) continue;
    double score = 0;
    for (int64_t d = 0; d < c.width; ++d) score += q[d] * k[j * c.width + d];
    total += weights[static_cast<size_t>(j)] = std::exp(score * c.scale);
  }
  double common = 0;
  for (int64_t j = 0; j < c.keys; ++j) {
    double &weight = weights[static_cast<size_t>(j)];
    weight /= total;
    for (int64_t d = 0; d < c.width; ++d) {
      out[d] += weight * v[j * c.width + d];
      common += weight * v[j * c.width + d] * grad[d];
    }
  }
  for (int64_t j = 0; j < c.keys; ++j) {
    const double weight = weights[static_cast<size_t>(j)];
    double slope = 0;
    for (int64_t d = 0; d < c.width; ++d) slope += v[j * c.width + d] * grad[d];
    slope = weight * (slope - common) * c.scale;
    for (int64_t d = 0; d < c.width; ++d) {
      of_q[d] += slope * k[j * c.width + d];
      of_k[j * c.width + d] += slope * q[d];
      of_v[j * c.width + d] += weight * grad[d];
    }
  }
}

Found expected(const Case &c, const Values &q, const Values &k, const Values &v, const Values &grad) {
  const Values mask = maskOf(c);
  Found found{Values(q.size()), Values(q.size()), Values(k.size()), Values(k.size())};
  for (int64_t b = 0; b < c.batch; ++b) {
    for (int64_t h = 0; h < c.heads; ++h) {
      const size_t keys = static_cast<size_t>((b * c.shared + h / (c.heads / c.shared)) * c.keys * c.width);
      for (int64_t i = 0; i < c.queries; ++i) {
        const size_t row = static_cast<size_t>(((b * c.heads + h) * c.queries + i) * c.width);
        attendOne(c, mask, &q[row], &k[keys], &v[keys], &grad[row], i, &found.out[row], &found.of_query[row],
                  &found.of_key[keys], &found.of_value[keys]);
      }
    }
  }
  return found;
}

char kLayout[] = "BNSD";
constexpr int64_t kEverything = INT32_MAX;

void test(const Case &c) {
  const Values q = numbers(c.query(), 7, 11), k = numbers(c.key(), 5, 13), v = numbers(c.key(), 3, 7);
  const Values grad = numbers(c.query(), 11, 9);
  const Found right = expected(c, q, k, v, grad);
  for (int layout = 0; layout < kLayouts; ++layout) {
    for (aclDataType type : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16}) {
      const Layout each = static_cast<Layout>(layout);
      const double tolerance = type == ACL_FLOAT ? 1e-5 : 4 * toleranceOf(type);
      Tensor query(type, c.query(), q, each), key(type, c.key(), k, each), value(type, c.key(), v, each);
      Tensor hidden(ACL_BOOL, {c.queries, c.keys}, maskOf(c), each), dy(type, c.query(), grad, each);
      Tensor most(ACL_FLOAT, c.statistics(), {}), sum(ACL_FLOAT, c.statistics(), {}), out(type, c.query(), {}, each);
      Tensor nothing(type, {0}, {}), dq(type, c.query(), {}, each), dk(type, c.key(), {}, each),
          dv(type, c.key(), {}, each);
      aclTensor *mask = c.masked ? static_cast<aclTensor *>(hidden) : nullptr;
      EXPECT(RUN(aclnnFlashAttentionScore, query, key, value, nullptr, nullptr, nullptr, mask, nullptr, c.scale, 1.0,
                 kEverything, c.behind, c.heads, kLayout, 0, 0, most, sum, nothing, out) == ACLNN_SUCCESS);
      EXPECT_VALUES(out.read(), right.out, tolerance);
      EXPECT(RUN(aclnnFlashAttentionScoreGrad, query, key, value, dy, nullptr, nullptr, nullptr, mask, most, sum,
                 nullptr, out, nullptr, c.scale, 1.0, kEverything, c.behind, c.heads, kLayout, 0, 0, dq, dk, dv,
                 nothing) == ACLNN_SUCCESS);
      EXPECT_VALUES(dq.read(), right.of_query, 4 * tolerance);
      EXPECT_VALUES(dk.read(), right.of_key, 4 * tolerance);
      EXPECT_VALUES(dv.read(), right.of_value, 4 * tolerance);
    }
  }
}

/* A query that sees nothing gives zeros, and gets and gives no gradient. */
void testBlind() {
  Tensor query(ACL_FLOAT, {1, 1, 2, 2}, {1, 2, 3, 4}), key(ACL_FLOAT, {1, 1, 2, 2}, {1, 0, 0, 1});
  Tensor mask(ACL_BOOL, {2, 2}, {1, 1, 0, 1}), most(ACL_FLOAT, {1, 1, 2, 8}, {}), sum(ACL_FLOAT, {1, 1, 2, 8}, {});
  Tensor nothing(ACL_FLOAT, {0}, {}), out(ACL_FLOAT, {1, 1, 2, 2}, {}), dq(ACL_FLOAT, {1, 1, 2, 2}, {}),
      dk(ACL_FLOAT, {1, 1, 2, 2}, {}), dv(ACL_FLOAT, {1, 1, 2, 2}, {});
  EXPECT(RUN(aclnnFlashAttentionScore, query, key, key, nullptr, nullptr, nullptr, mask, nullptr, 1.0, 1.0, kEverything,
             kEverything, 1, kLayout, 0, 0, most, sum, nothing, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), Values{0, 0, 1, 0}, 0);
  EXPECT(RUN(aclnnFlashAttentionScoreGrad, query, key, key, query, nullptr, nullptr, nullptr, mask, most, sum, nullptr,
             out, nullptr, 1.0, 1.0, kEverything, kEverything, 1, kLayout, 0, 0, dq, dk, dv, nothing) == ACLNN_SUCCESS);
  EXPECT_VALUES(dq.read(), Values{0, 0, 0, 0}, 0);
  EXPECT_VALUES(dv.read(), Values{3, 4, 0, 0}, 0);
}

/* What one call of `layout` gives for these queries, keys and values; `mask` and `drop` may be NULL. */
Values attend(const char *layout, const Dims &dims, const Values &q, const Values &k, const Values &v, int64_t batch,
              int64_t heads, int64_t queries, aclTensor *mask, int64_t sparse, aclTensor *drop = nullptr,
              double keep = 1.0, int64_t before = kEverything, int64_t behind = kEverything) {
  std::string name(layout);
  Dims statistics = {batch, heads, queries, 8};
  Tensor query(ACL_FLOAT, dims, q), key(ACL_FLOAT, dims, k), value(ACL_FLOAT, dims, v), out(ACL_FLOAT, dims, {});
  Tensor most(ACL_FLOAT, statistics, {}), sum(ACL_FLOAT, statistics, {}), nothing(ACL_FLOAT, {0}, {});
  Tensor dq(ACL_FLOAT, dims, {}), dk(ACL_FLOAT, dims, {}), dv(ACL_FLOAT, dims, {});
  EXPECT(RUN(aclnnFlashAttentionScore, query, key, value, nullptr, drop, nullptr, mask, nullptr, 0.5, keep, before,
             behind, heads, &name[0], 0, sparse, most, sum, nothing, out) == ACLNN_SUCCESS);
  EXPECT(RUN(aclnnFlashAttentionScoreGrad, query, key, value, query, nullptr, drop, nullptr, mask, most, sum, nullptr,
             out, nullptr, 0.5, keep, before, behind, heads, &name[0], 0, sparse, dq, dk, dv,
             nothing) == ACLNN_SUCCESS);
  Values all = out.read();
  for (const Tensor *gradient : {&dq, &dk, &dv}) {
    const Values values = gradient->read();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

/* Every layout gives the numbers of BNSD, in its own order. */
void testLayouts() {
  const Dims dims = {2, 2, 3, 4}; /* batch, heads, length, width */
  const Values q = numbers(dims, 7, 11), k = numbers(dims, 5, 13), v = numbers(dims, 3, 7);
  const size_t count = q.size();
  struct Order {
    const char *layout;
    Dims dims;
    std::function<size_t(size_t b, size_t n, size_t s)> row; /* of 4 elements */
  };
  const Order orders[] = {
      {"BSND", {2, 3, 2, 4}, [](size_t b, size_t n, size_t s) { return (b * 3 + s) * 2 + n; }},
      {"BSH", {2, 3, 8}, [](size_t b, size_t n, size_t s) { return (b * 3 + s) * 2 + n; }},
      {"SBH", {3, 2, 8}, [](size_t b, size_t n, size_t s) { return (s * 2 + b) * 2 + n; }},
  };
  const Values plain = attend("BNSD", dims, q, k, v, 2, 2, 3, nullptr, 0);
  for (const Order &order : orders) {
    currentCase() = order.layout;
    const auto moved = [&](const Values &values) {
      Values result(values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        const size_t row = i % count / 4;
        result[i / count * count + order.row(row / 6, row / 3 % 2, row % 3) * 4 + i % 4] = values[i];
      }
      return result;
    };
    EXPECT_VALUES(attend(order.layout, order.dims, moved(q), moved(k), moved(v), 2, 2, 3, nullptr, 0), moved(plain),
                  1e-6);
  }
}

/* The causal modes, with their triangle of a fixed size, are the mask that hides what comes later; a band hides what is
 * too early, too. */
void testCausal() {
  currentCase() = "causal";
  const Dims dims = {1, 2, 3, 4};
  const Values q = numbers(dims, 7, 11), k = numbers(dims, 5, 13), v = numbers(dims, 3, 7);
  Tensor mask(ACL_BOOL, {3, 3}, {0, 1, 1, 0, 0, 1, 0, 0, 0}), triangle(ACL_BOOL, {2048, 2048}, {});
  const Values expected = attend("BNSD", dims, q, k, v, 1, 2, 3, mask, 0);
  for (int64_t sparse : {2, 3}) {
    EXPECT_VALUES(attend("BNSD", dims, q, k, v, 1, 2, 3, triangle, sparse), expected, 0);
  }
  EXPECT_VALUES(attend("BNSD", dims, q, k, v, 1, 2, 3, mask, 1), expected, 0);
  Tensor band(ACL_BOOL, {3, 3}, {0, 1, 1, 0, 0, 1, 1, 0, 0});
  EXPECT_VALUES(attend("BNSD", dims, q, k, v, 1, 2, 3, triangle, 4, nullptr, 1.0, 1, 0),
                attend("BNSD", dims, q, k, v, 1, 2, 3, band, 0), 0);
}

/* A key that is dropped everywhere counts for the weights, not for the result; the others count for more. */
void testDropout() {
  currentCase() = "dropout";
  const Dims dims = {1, 1, 2, 2};
  const Values same = {1, 1, 1, 1}, v = {2, 4, 6, 8};
  Tensor drop(ACL_UINT8, {16}, {0x5});
  const Values all = attend("BNSD", dims, same, same, v, 1, 1, 2, nullptr, 0, drop, 0.5);
  EXPECT_VALUES({all.begin(), all.begin() + 4}, {2, 4, 2, 4}, 1e-6);
  EXPECT_VALUES({all.begin() + 12, all.end()}, {2, 2, 0, 0}, 1e-6);
}

struct Wrong {
  const char *name;
  Dims query, key, value, mask, statistics, out;
  double keep;
  int64_t heads, sparse;
  const char *layout;
};

void refuse(const Wrong &wrong) {
  currentCase() = wrong.name;
  Tensor query(ACL_FLOAT, wrong.query, {}), key(ACL_FLOAT, wrong.key, {}), value(ACL_FLOAT, wrong.value, {});
  Tensor mask(ACL_BOOL, wrong.mask, {}), most(ACL_FLOAT, wrong.statistics, {}), sum(ACL_FLOAT, wrong.statistics, {});
  Tensor nothing(ACL_FLOAT, {0}, {}), out(ACL_FLOAT, wrong.out, {});
  std::string layout(wrong.layout);
  EXPECT(RUN(aclnnFlashAttentionScore, query, key, value, nullptr, nullptr, nullptr, mask, nullptr, 1.0, wrong.keep,
             kEverything, kEverything, wrong.heads, &layout[0], 0, wrong.sparse, most, sum, nothing,
             out) == ACLNN_ERR_PARAM_INVALID);
  Tensor dq(ACL_FLOAT, wrong.query, {}), dk(ACL_FLOAT, wrong.key, {}), dv(ACL_FLOAT, wrong.value, {});
  EXPECT(RUN(aclnnFlashAttentionScoreGrad, query, key, value, out, nullptr, nullptr, nullptr, mask, most, sum, nullptr,
             out, nullptr, 1.0, wrong.keep, kEverything, kEverything, wrong.heads, &layout[0], 0, wrong.sparse, dq, dk,
             dv, nothing) == ACLNN_ERR_PARAM_INVALID);
}

}  // namespace

int main() {
  Session session;
  currentCase() = "values";
  test({2, 2, 2, 3, 5, 4, false, kEverything, 0.5});
  test({1, 4, 2, 3, 5, 4, true, kEverything, 0.5});
  test({1, 2, 1, 6, 5, 3, true, 0, 0.7});
  test({1, 1, 1, 40, 4100, 2, true, 4000, 0.3}); /* several blocks */
  testLayouts();
  testCausal();
  testDropout();
  currentCase() = "blind";
  testBlind();
  const Dims good = {1, 2, 3, 4}, keys = {1, 2, 5, 4}, statistics = {1, 2, 3, 8}, mask = {3, 5};
  refuse({"rank", {2, 3, 4}, keys, keys, mask, statistics, good, 1, 2, 0, "BNSD"});
  refuse({"width", good, {1, 2, 5, 3}, keys, mask, statistics, good, 1, 2, 0, "BNSD"});
  refuse({"heads", {1, 3, 3, 4}, keys, keys, mask, {1, 3, 3, 8}, {1, 3, 3, 4}, 1, 3, 0, "BNSD"});
  refuse({"head number", good, keys, keys, mask, statistics, good, 1, 3, 0, "BNSD"});
  refuse({"values", good, keys, {1, 2, 4, 4}, mask, statistics, good, 1, 2, 0, "BNSD"});
  refuse({"mask", good, keys, keys, {3, 4}, statistics, good, 1, 2, 0, "BNSD"});
  refuse({"statistics", good, keys, keys, mask, {1, 2, 3, 4}, good, 1, 2, 0, "BNSD"});
  refuse({"result", good, keys, keys, mask, statistics, {1, 2, 3, 3}, 1, 2, 0, "BNSD"});
  refuse({"dropout", good, keys, keys, mask, statistics, good, 0.5, 2, 0, "BNSD"});
  refuse({"sparse mode", good, keys, keys, mask, statistics, good, 1, 2, 5, "BNSD"});
  refuse({"layout", good, keys, keys, mask, statistics, good, 1, 2, 0, "BSND"});
  refuse({"unknown layout", good, keys, keys, mask, statistics, good, 1, 2, 0, "TND"});
}
