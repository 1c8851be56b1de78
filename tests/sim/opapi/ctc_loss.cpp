/* CTC loss and its gradient, against the sum over all alignments. */
#include "aclnnop/aclnn_ctc_loss.h"
#include "aclnnop/aclnn_ctc_loss_backward.h"
#include "op_test.h"

namespace {

using Labels = std::vector<int64_t>;

struct Case {
  int64_t times, classes, blank;
  std::vector<Labels> targets;
  Labels lengths; /* of the inputs */

  int64_t batch() const { return static_cast<int64_t>(targets.size()); }
  int64_t longest() const {
    size_t most = 0;
    for (const Labels &labels : targets) most = std::max(most, labels.size());
    return static_cast<int64_t>(most);
  }
};

/* What a path says once repetitions and blanks are taken away. */
Labels collapsed(const Labels &path, int64_t blank) {
  Labels labels;
  for (size_t t = 0; t < path.size(); ++t) {
    if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) labels.push_back(path[t]);
  }
  return labels;
}

/* Calls visit(path, probability) for every path that says `labels`. */
template <class Visit>
void forEachPath(const Case &c, const Values &logs, size_t n, Visit visit) {
  Labels path(static_cast<size_t>(c.lengths[n]), 0);
  for (;;) {
    if (collapsed(path, c.blank) == c.targets[n]) {
      double score = 0;
      for (size_t t = 0; t < path.size(); ++t) {
        score += logs[(t * c.targets.size() + n) * static_cast<size_t>(c.classes) + static_cast<size_t>(path[t])];
      }
      visit(path, std::exp(score));
    }
    size_t t = 0;
    while (t < path.size() && ++path[t] == c.classes) path[t++] = 0;
    if (t == path.size()) return;
  }
}

void test(const Case &c) {
  const int64_t batch = c.batch(), states = 2 * c.longest() + 1;
  const Dims dims = {c.times, batch, c.classes};
  Values logs(static_cast<size_t>(product(dims))), slopes(logs.size()), losses, grads;
  for (size_t i = 0; i < logs.size(); ++i) logs[i] = -static_cast<double>(i * 7 % 5 + 1) / 4;
  Values targets(static_cast<size_t>(batch * c.longest()));
  Labels target_lengths;
  for (size_t n = 0; n < c.targets.size(); ++n) {
    double total = 0;
    std::vector<double> share(logs.size());
    forEachPath(c, logs, n, [&](const Labels &path, double probability) {
      total += probability;
      for (size_t t = 0; t < path.size(); ++t) {
        share[(t * c.targets.size() + n) * static_cast<size_t>(c.classes) + static_cast<size_t>(path[t])] +=
            probability;
      }
    });
    losses.push_back(-std::log(total));
    grads.push_back(static_cast<double>(n) + 0.5);
    for (size_t t = 0; t < static_cast<size_t>(c.lengths[n]); ++t) {
      for (size_t k = 0; k < static_cast<size_t>(c.classes); ++k) {
        const size_t i = (t * c.targets.size() + n) * static_cast<size_t>(c.classes) + k;
        slopes[i] = (std::exp(logs[i]) - share[i] / total) * grads.back();
      }
    }
    target_lengths.push_back(static_cast<int64_t>(c.targets[n].size()));
    for (size_t s = 0; s < c.targets[n].size(); ++s) {
      targets[n * static_cast<size_t>(c.longest()) + s] = static_cast<double>(c.targets[n][s]);
    }
  }
  for (int layout = 0; layout < kLayouts; ++layout) {
    const Layout each = static_cast<Layout>(layout);
    Tensor x(ACL_FLOAT, dims, logs, each), labels(ACL_INT64, {batch, c.longest()}, targets, each);
    Tensor loss(ACL_FLOAT, {batch}, {}), alpha(ACL_FLOAT, {batch, c.times, states}, {}),
        grad(ACL_FLOAT, {batch}, grads);
    Tensor out(ACL_FLOAT, dims, {}, each);
    aclIntArray *inputs = aclCreateIntArray(c.lengths.data(), c.lengths.size());
    aclIntArray *lengths = aclCreateIntArray(target_lengths.data(), target_lengths.size());
    EXPECT(RUN(aclnnCtcLoss, x, labels, inputs, lengths, c.blank, false, loss, alpha) == ACLNN_SUCCESS);
    EXPECT_VALUES(loss.read(), losses, 1e-5);
    EXPECT(RUN(aclnnCtcLossBackward, grad, x, labels, inputs, lengths, loss, alpha, c.blank, false, out) ==
           ACLNN_SUCCESS);
    EXPECT_VALUES(out.read(), slopes, 1e-5);
    aclDestroyIntArray(inputs);
    aclDestroyIntArray(lengths);
  }
}

void refuse(const char *name, const Dims &logs, const Dims &targets, const Labels &inputs, const Labels &lengths,
            int64_t blank, const Dims &loss, const Dims &alpha) {
  currentCase() = name;
  Tensor x(ACL_FLOAT, logs, {}), labels(ACL_INT64, targets, {}), a(ACL_FLOAT, loss, {}), b(ACL_FLOAT, alpha, {});
  Tensor out(ACL_FLOAT, logs, {});
  aclIntArray *of_inputs = aclCreateIntArray(inputs.data(), inputs.size());
  aclIntArray *of_labels = aclCreateIntArray(lengths.data(), lengths.size());
  EXPECT(RUN(aclnnCtcLoss, x, labels, of_inputs, of_labels, blank, false, a, b) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnCtcLossBackward, a, x, labels, of_inputs, of_labels, a, b, blank, false, out) ==
         ACLNN_ERR_PARAM_INVALID);
  aclDestroyIntArray(of_inputs);
  aclDestroyIntArray(of_labels);
}

}  // namespace

int main() {
  Session session;
  currentCase() = "values";
  test({5, 3, 0, {{1, 2}, {2, 2}, {1}}, {5, 5, 4}});
  test({4, 3, 2, {{0, 1, 0}, {1, 0, 1}}, {4, 3}});
  const Dims logs = {4, 2, 3}, targets = {2, 2}, loss = {2}, alpha = {2, 4, 5};
  refuse("rank", {4, 3}, targets, {4, 4}, {2, 2}, 0, loss, alpha);
  refuse("blank", logs, targets, {4, 4}, {2, 2}, 3, loss, alpha);
  refuse("inputs", logs, targets, {4, 5}, {2, 2}, 0, loss, alpha);
  refuse("number of inputs", logs, targets, {4}, {2, 2}, 0, loss, alpha);
  refuse("labels", logs, targets, {4, 4}, {3, 2}, 0, loss, alpha);
  refuse("targets", logs, {3, 2}, {4, 4}, {2, 2}, 0, loss, alpha);
  refuse("flat targets", logs, {3}, {4, 4}, {2, 2}, 0, loss, alpha);
  refuse("loss", logs, targets, {4, 4}, {2, 2}, 0, {3}, alpha);
  refuse("scores", logs, targets, {4, 4}, {2, 2}, 0, loss, {2, 4, 7});
}
