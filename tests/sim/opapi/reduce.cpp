/* Reductions, softmax and joining against plain loops. */
#include "aclnnop/aclnn_all.h"
#include "aclnnop/aclnn_amax.h"
#include "aclnnop/aclnn_amin.h"
#include "aclnnop/aclnn_any.h"
#include "aclnnop/aclnn_arg_max.h"
#include "aclnnop/aclnn_arg_min.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_chunk_cat.h"
#include "aclnnop/aclnn_log_softmax.h"
#include "aclnnop/aclnn_log_softmax_backward.h"
#include "aclnnop/aclnn_max.h"
#include "aclnnop/aclnn_max_dim.h"
#include "aclnnop/aclnn_mean.h"
#include "aclnnop/aclnn_mean_v2.h"
#include "aclnnop/aclnn_min.h"
#include "aclnnop/aclnn_min_dim.h"
#include "aclnnop/aclnn_reduce_nansum.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "aclnnop/aclnn_softmax.h"
#include "aclnnop/aclnn_softmax_backward.h"
#include "aclnnop/aclnn_stack.h"
#include "op_test.h"

namespace {

const aclDataType kFloatTypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE};

/* Values of a (A, B, C) tensor that every type here holds exactly. */
struct Cube {
  static constexpr int64_t A = 3, B = 5, C = 2;
  Dims dims = {A, B, C};
  Values values = Values(A * B * C);
  Cube() {
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 7 % 11) - 5;
  }
  double at(int64_t a, int64_t b, int64_t c) const { return values[static_cast<size_t>((a * B + b) * C + c)]; }
};

Values sumMiddle(const Cube &cube, double scale) {
  Values sums;
  for (int64_t a = 0; a < Cube::A; ++a) {
    for (int64_t c = 0; c < Cube::C; ++c) {
      double sum = 0;
      for (int64_t b = 0; b < Cube::B; ++b) sum += cube.at(a, b, c);
      sums.push_back(sum * scale);
    }
  }
  return sums;
}

void testNanSums() {
  currentCase() = "sum without NaN";
  const Values values = {1, kNan, 3, kNan, kNan, -2};
  IntArray rows{0}, columns{1};
  for (int layout = 0; layout < kLayouts; ++layout) {
    Tensor self(ACL_FLOAT, {2, 3}, values, static_cast<Layout>(layout));
    Tensor across(ACL_FLOAT, {3}, {}), along(ACL_FLOAT, {2, 1}, {}), whole(ACL_INT64, {3}, {});
    EXPECT(RUN(aclnnReduceNansum, self, rows, false, ACL_FLOAT, across) == ACLNN_SUCCESS);
    EXPECT_VALUES(across.read(), (Values{1, 0, 1}), 0);
    EXPECT(RUN(aclnnReduceNansum, self, columns, true, ACL_FLOAT, along) == ACLNN_SUCCESS);
    EXPECT_VALUES(along.read(), (Values{4, -2}), 0);
    EXPECT(RUN(aclnnReduceNansum, self, rows, false, ACL_INT64, whole) == ACLNN_SUCCESS);
    EXPECT_VALUES(whole.read(), (Values{1, 0, 1}), 0);
  }
}

void testSums() {
  Cube cube;
  IntArray middle{1}, negative{-2}, none{}, outer{0, 2}, twice{1, -2}, beyond{3};
  for (aclDataType type : kFloatTypes) {
    for (int layout = 0; layout < kLayouts; ++layout) {
      currentCase() = "sum";
      Tensor self(type, cube.dims, cube.values, static_cast<Layout>(layout));
      Tensor out(type, {3, 2}, {}, kTransposed), kept(type, {3, 1, 2}, {}), whole(type, {}, {}), column(type, {5}, {});
      EXPECT(RUN(aclnnReduceSum, self, middle, false, type, out) == ACLNN_SUCCESS);
      EXPECT_VALUES(out.read(), sumMiddle(cube, 1), 0);
      EXPECT(RUN(aclnnReduceSum, self, negative, true, type, kept) == ACLNN_SUCCESS);
      EXPECT_VALUES(kept.read(), sumMiddle(cube, 1), 0);
      double total = 0;
      for (double value : cube.values) total += value;
      EXPECT(RUN(aclnnReduceSum, self, none, false, type, whole) == ACLNN_SUCCESS);
      EXPECT_VALUES(whole.read(), {total}, 0);
      EXPECT(RUN(aclnnReduceSum, self, nullptr, false, type, whole) == ACLNN_SUCCESS);
      EXPECT(RUN(aclnnReduceSum, self, outer, false, type, column) == ACLNN_SUCCESS);
      EXPECT(RUN(aclnnReduceSum, self, twice, false, type, out) == ACLNN_ERR_PARAM_INVALID);
      EXPECT(RUN(aclnnReduceSum, self, beyond, false, type, out) == ACLNN_ERR_PARAM_INVALID);
      EXPECT(RUN(aclnnReduceSum, self, middle, true, type, out) == ACLNN_ERR_PARAM_INVALID);
      currentCase() = "mean";
      EXPECT(RUN(aclnnMean, self, middle, false, type, out) == ACLNN_SUCCESS);
      EXPECT_VALUES(out.read(), sumMiddle(cube, 0.2), toleranceOf(type));
      EXPECT(RUN(aclnnMeanV2, self, middle, true, false, kept) == ACLNN_SUCCESS);
      EXPECT_VALUES(kept.read(), sumMiddle(cube, 0.2), toleranceOf(type));
    }
  }
  currentCase() = "sum of integers";
  Tensor bytes(ACL_UINT8, {1000}, Values(1000, 200)), sum(ACL_INT64, {}, {}), narrow(ACL_UINT8, {}, {});
  EXPECT(RUN(aclnnReduceSum, bytes, none, false, ACL_INT64, sum) == ACLNN_SUCCESS);
  EXPECT_VALUES(sum.read(), {200000}, 0);
  EXPECT(RUN(aclnnReduceSum, bytes, none, false, ACL_UINT8, narrow) == ACLNN_SUCCESS);
  EXPECT_VALUES(narrow.read(), {200000 % 256}, 0);
  EXPECT(RUN(aclnnReduceSum, bytes, none, false, ACL_FLOAT, sum) == ACLNN_ERR_PARAM_INVALID);
  Tensor signs(ACL_INT32, {2}, {1, -1}), truth(ACL_BOOL, {}, {});
  EXPECT(RUN(aclnnReduceSum, signs, none, false, ACL_BOOL, truth) == ACLNN_SUCCESS);
  EXPECT_VALUES(truth.read(), {1}, 0); /* of truth values, which do not cancel */
  currentCase() = "nothing to sum";
  Tensor empty(ACL_FLOAT, {0, 2}, {}), zeros(ACL_FLOAT, {2}, {1, 1}), mean(ACL_FLOAT, {}, {});
  IntArray first{0};
  EXPECT(RUN(aclnnReduceSum, empty, first, false, ACL_FLOAT, zeros) == ACLNN_SUCCESS);
  EXPECT_VALUES(zeros.read(), {0, 0}, 0);
  EXPECT(RUN(aclnnMean, empty, none, false, ACL_FLOAT, mean) == ACLNN_SUCCESS);
  EXPECT_VALUES(mean.read(), {kNan}, 0);
  EXPECT(RUN(aclnnAmax, empty, first, false, zeros) == ACLNN_ERR_PARAM_INVALID);
}

void testExtremes() {
  currentCase() = "extremes";
  Tensor self(ACL_FLOAT, {2, 4}, {1, 5, 5, -1, 2, kNan, 9, kNan}, kTransposed);
  Tensor values(ACL_FLOAT, {2}, {}), indices(ACL_INT64, {2}, {}), narrow(ACL_INT32, {2, 1}, {});
  Tensor kept(ACL_FLOAT, {2, 1}, {}), whole(ACL_FLOAT, {}, {});
  IntArray last{-1};
  EXPECT(RUN(aclnnMaxDim, self, 1, false, values, indices) == ACLNN_SUCCESS);
  EXPECT_VALUES(values.read(), {5, kNan}, 0);
  EXPECT_VALUES(indices.read(), {1, 1}, 0);
  EXPECT(RUN(aclnnMinDim, self, -1, true, kept, narrow) == ACLNN_SUCCESS);
  EXPECT_VALUES(kept.read(), {-1, kNan}, 0);
  EXPECT_VALUES(narrow.read(), {3, 1}, 0);
  EXPECT(RUN(aclnnArgMax, self, 1, false, indices) == ACLNN_SUCCESS);
  EXPECT_VALUES(indices.read(), {1, 1}, 0);
  EXPECT(RUN(aclnnArgMin, self, 1, true, narrow) == ACLNN_SUCCESS);
  EXPECT_VALUES(narrow.read(), {3, 1}, 0);
  EXPECT(RUN(aclnnAmax, self, last, false, values) == ACLNN_SUCCESS);
  EXPECT_VALUES(values.read(), {5, kNan}, 0);
  EXPECT(RUN(aclnnAmin, self, last, true, kept) == ACLNN_SUCCESS);
  EXPECT_VALUES(kept.read(), {-1, kNan}, 0);
  EXPECT(RUN(aclnnMax, self, whole) == ACLNN_SUCCESS);
  EXPECT_VALUES(whole.read(), {kNan}, 0);
  EXPECT(RUN(aclnnArgMax, self, 2, false, indices) == ACLNN_ERR_PARAM_INVALID);
  Tensor integers(ACL_INT64, {3}, {-3, -9007199254740993.0, -5}), smallest(ACL_INT64, {}, {});
  EXPECT(RUN(aclnnMin, integers, smallest) == ACLNN_SUCCESS);
  EXPECT_VALUES(smallest.read(), {-9007199254740992.0}, 0);
  currentCase() = "all, any";
  Tensor truths(ACL_FLOAT, {3, 2}, {1, 0, kNan, 2, 0, 0}), flags(ACL_BOOL, {3}, {});
  EXPECT(RUN(aclnnAll, truths, last, false, flags) == ACLNN_SUCCESS);
  EXPECT_VALUES(flags.read(), {0, 1, 0}, 0);
  EXPECT(RUN(aclnnAny, truths, last, false, flags) == ACLNN_SUCCESS);
  EXPECT_VALUES(flags.read(), {1, 1, 0}, 0);
}

void testSoftmax() {
  Cube cube;
  for (aclDataType type : kFloatTypes) {
    for (int layout = 0; layout < kLayouts; ++layout) {
      currentCase() = "softmax";
      Values soft(cube.values.size()), logs(soft.size());
      for (int64_t a = 0; a < Cube::A; ++a) {
        for (int64_t c = 0; c < Cube::C; ++c) {
          double sum = 0;
          for (int64_t b = 0; b < Cube::B; ++b) sum += std::exp(cube.at(a, b, c));
          for (int64_t b = 0; b < Cube::B; ++b) {
            size_t i = static_cast<size_t>((a * Cube::B + b) * Cube::C + c);
            soft[i] = std::exp(cube.at(a, b, c)) / sum;
            logs[i] = cube.at(a, b, c) - std::log(sum);
          }
        }
      }
      Tensor self(type, cube.dims, cube.values, static_cast<Layout>(layout));
      Tensor out(type, cube.dims, {}, static_cast<Layout>(kLayouts - 1 - layout));
      EXPECT(RUN(aclnnSoftmax, self, 1, out) == ACLNN_SUCCESS);
      EXPECT_VALUES(out.read(), soft, toleranceOf(type));
      EXPECT(RUN(aclnnLogSoftmax, self, -2, out) == ACLNN_SUCCESS);
      EXPECT_VALUES(out.read(), logs, toleranceOf(type));
    }
  }
  currentCase() = "softmax backward";
  Tensor gradient(ACL_FLOAT, {3}, {1, 2, 4}), output(ACL_FLOAT, {3}, {0.5, 0.25, 0.25}), out(ACL_FLOAT, {3}, {});
  EXPECT(RUN(aclnnSoftmaxBackward, gradient, output, 0, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {-0.5, 0, 0.5}, 1e-6);
  Tensor logs(ACL_FLOAT, {3}, {std::log(0.5), std::log(0.25), std::log(0.25)});
  EXPECT(RUN(aclnnLogSoftmaxBackward, gradient, logs, 0, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {-2.5, 0.25, 2.25}, 1e-6);
}

struct List {
  explicit List(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
    std::vector<aclTensor *> handles;
    for (Tensor &tensor : tensors_) handles.push_back(tensor.release());
    handle_ = aclCreateTensorList(handles.data(), handles.size());
  }
  ~List() { aclDestroyTensorList(handle_); }
  operator aclTensorList *() const { return handle_; }

 private:
  std::vector<Tensor> tensors_;
  aclTensorList *handle_;
};

template <class... T>
std::vector<Tensor> tensors(T &&...items) {
  std::vector<Tensor> all;
  (all.push_back(std::forward<T>(items)), ...);
  return all;
}

void testJoin() {
  currentCase() = "cat";
  List list(tensors(Tensor(ACL_FLOAT, {2, 2}, {1, 2, 3, 4}, kTransposed), Tensor(ACL_FLOAT, {0}, {}),
                    Tensor(ACL_INT32, {2, 1}, {5, 6}, kStepped)));
  Tensor out(ACL_FLOAT, {2, 3}, {}, kTransposed), wrong(ACL_FLOAT, {3, 2}, {});
  EXPECT(RUN(aclnnCat, list, 1, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {1, 2, 5, 3, 4, 6}, 0);
  EXPECT(RUN(aclnnCat, list, 1, wrong) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnCat, list, 0, wrong) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnCat, nullptr, 0, wrong) == ACLNN_ERR_PARAM_NULLPTR);
  currentCase() = "cat of many";
  std::vector<Tensor> many;
  Values expected;
  for (int i = 0; i < 40; ++i) {
    many.emplace_back(ACL_INT64, Dims{1}, Values{static_cast<double>(i)});
    expected.push_back(i);
  }
  List long_list(std::move(many));
  Tensor joined(ACL_INT64, {40}, {});
  EXPECT(RUN(aclnnCat, long_list, 0, joined) == ACLNN_SUCCESS);
  EXPECT_VALUES(joined.read(), expected, 0);
  currentCase() = "stack";
  List pair(tensors(Tensor(ACL_FLOAT16, {2}, {1, 2}), Tensor(ACL_FLOAT16, {2}, {3, 4}, kStepped)));
  Tensor rows(ACL_FLOAT16, {2, 2}, {});
  EXPECT(RUN(aclnnStack, pair, 0, rows) == ACLNN_SUCCESS);
  EXPECT_VALUES(rows.read(), {1, 2, 3, 4}, 0);
  EXPECT(RUN(aclnnStack, pair, -1, rows) == ACLNN_SUCCESS);
  EXPECT_VALUES(rows.read(), {1, 3, 2, 4}, 0);
  currentCase() = "chunk_cat";
  List uneven(tensors(Tensor(ACL_FLOAT, {3, 2}, {1, 2, 3, 4, 5, 6}, kTransposed), Tensor(ACL_FLOAT, {1}, {7})));
  Tensor chunks(ACL_FLOAT, {2, 5}, {}), narrow(ACL_FLOAT, {2, 4}, {});
  EXPECT(RUN(aclnnChunkCat, uneven, 0, 2, chunks) == ACLNN_SUCCESS);
  EXPECT_VALUES(chunks.read(), {1, 2, 3, 4, 7, 5, 6, 0, 0, 0}, 0);
  EXPECT(RUN(aclnnChunkCat, uneven, 0, 2, narrow) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnChunkCat, uneven, 0, 0, chunks) == ACLNN_ERR_PARAM_INVALID);
}

}  // namespace

int main() {
  Session session;
  testSums();
  testNanSums();
  testExtremes();
  testSoftmax();
  testJoin();
}
