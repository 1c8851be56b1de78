/* Rearranging operators in every layout, against index arithmetic; dropout masks. */
#include "aclnnop/aclnn_channel_shuffle.h"
#include "aclnnop/aclnn_dropout_do_mask.h"
#include "aclnnop/aclnn_dropout_gen_mask_v2.h"
#include "aclnnop/aclnn_eye.h"
#include "aclnnop/aclnn_flip.h"
#include "aclnnop/aclnn_index_copy.h"
#include "aclnnop/aclnn_index_fill.h"
#include "aclnnop/aclnn_repeat.h"
#include "aclnnop/aclnn_repeat_interleave.h"
#include "aclnnop/aclnn_repeat_interleave_int.h"
#include "aclnnop/aclnn_repeat_interleave_int_with_dim.h"
#include "aclnnop/aclnn_repeat_interleave_tensor.h"
#include "aclnnop/aclnn_repeat_interleave_with_dim.h"
#include "aclnnop/aclnn_roll.h"
#include "aclnnop/aclnn_tril.h"
#include "aclnnop/aclnn_triu.h"
#include "aclnnop/aclnn_unfold_grad.h"
#include "op_test.h"

namespace {

const Dims kDims = {3, 4};

double at(const Values &values, int64_t row, int64_t column) { return values[static_cast<size_t>(row * 4 + column)]; }

void testRearrangements(aclDataType type, Layout layout) {
  Values values(12), flipped, rolled, line, repeated, doubled, lower, upper;
  for (size_t i = 0; i < 12; ++i) values[i] = static_cast<double>(i + 1);
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t c = 0; c < 4; ++c) {
      flipped.push_back(at(values, 2 - r, 3 - c));
      rolled.push_back(at(values, (r + 2) % 3, (c + 2) % 4));
      lower.push_back(c <= r ? at(values, r, c) : 0);
      upper.push_back(c >= r + 1 ? at(values, r, c) : 0);
      line.push_back(values[static_cast<size_t>((r * 4 + c + 9) % 12)]);
    }
  }
  for (int64_t k = 0; k < 2; ++k) {
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t c = 0; c < 8; ++c) repeated.push_back(at(values, r, c % 4));
    }
  }
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t c = 0; c < 8; ++c) doubled.push_back(at(values, r, c / 2));
  }
  Tensor self(type, kDims, values, layout), out(type, kDims, {}, static_cast<Layout>(kLayouts - 1 - layout));
  currentCase() = "flip";
  const IntArray both = {0, -1}, twice = {1, -1}, shifts = {1, -2}, three = {3}, none = {}, repeats = {2, 1, 2},
                 few = {2};
  EXPECT(RUN(aclnnFlip, self, both, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), flipped, 0);
  EXPECT(RUN(aclnnFlip, self, twice, out) == ACLNN_ERR_PARAM_INVALID);
  currentCase() = "roll";
  EXPECT(RUN(aclnnRoll, self, shifts, both, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), rolled, 0);
  EXPECT(RUN(aclnnRoll, self, three, none, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), line, 0);
  EXPECT(RUN(aclnnRoll, self, three, both, out) == ACLNN_ERR_PARAM_INVALID);
  currentCase() = "repeat";
  Tensor wide(type, {2, 3, 8}, {}), pairs(type, {3, 8}, {}, layout);
  EXPECT(RUN(aclnnRepeat, self, repeats, wide) == ACLNN_SUCCESS);
  EXPECT_VALUES(wide.read(), repeated, 0);
  EXPECT(RUN(aclnnRepeat, self, few, wide) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnRepeatInterleaveIntWithDim, self, 2, 1, 8, pairs) == ACLNN_SUCCESS);
  EXPECT_VALUES(pairs.read(), doubled, 0);
  Tensor numbers(ACL_INT64, {3}, {0, 2, 1}), some(type, kDims, {});
  EXPECT(RUN(aclnnRepeatInterleaveWithDim, self, numbers, 0, 3, some) == ACLNN_SUCCESS);
  EXPECT_VALUES(some.read(), {5, 6, 7, 8, 5, 6, 7, 8, 9, 10, 11, 12}, 0);
  EXPECT(RUN(aclnnRepeatInterleaveWithDim, self, numbers, 1, 3, some) == ACLNN_ERR_PARAM_INVALID);
  Values twofold, odd;
  for (double value : values) twofold.insert(twofold.end(), {value, value});
  for (size_t i = 1; i < 12; i += 2) odd.push_back(values[i]);
  Tensor all(type, {24}, {}), half(type, {6}, {}), every(ACL_INT32, {12}, {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}, layout);
  EXPECT(RUN(aclnnRepeatInterleaveInt, self, 2, 24, all) == ACLNN_SUCCESS);
  EXPECT_VALUES(all.read(), twofold, 0);
  EXPECT(RUN(aclnnRepeatInterleaveInt, self, 3, 24, all) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnRepeatInterleave, self, every, 6, half) == ACLNN_SUCCESS);
  EXPECT_VALUES(half.read(), odd, 0);
  EXPECT(RUN(aclnnRepeatInterleave, self, numbers, 6, half) == ACLNN_ERR_PARAM_INVALID);
  currentCase() = "triangles";
  EXPECT(RUN(aclnnTril, self, 0, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), lower, 0);
  EXPECT(RUN(aclnnTriu, self, 1, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), upper, 0);
  EXPECT(RUN(aclnnTriu, numbers, 1, numbers) == ACLNN_ERR_PARAM_INVALID);
  currentCase() = "index_copy and index_fill";
  const Scalar nine(9);
  Tensor index(ACL_INT64, {2}, {2, 0}), source(type, {2, 4}, {21, 22, 23, 24, 31, 32, 33, 34}, layout);
  EXPECT(RUN(aclnnIndexFill, self, 0, index, nine, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {9, 9, 9, 9, 5, 6, 7, 8, 9, 9, 9, 9}, 0);
  EXPECT(RUN(aclnnInplaceIndexCopy, self, 0, index, source) == ACLNN_SUCCESS);
  EXPECT_VALUES(self.read(), {31, 32, 33, 34, 5, 6, 7, 8, 21, 22, 23, 24}, 0);
  EXPECT(RUN(aclnnInplaceIndexCopy, self, 1, index, source) == ACLNN_ERR_PARAM_INVALID);
}

void testPlaces() {
  currentCase() = "repeat_interleave of numbers alone";
  for (aclDataType type : {ACL_INT32, ACL_INT64}) {
    for (int layout = 0; layout < kLayouts; ++layout) {
      Tensor numbers(type, {4}, {2, 0, 1, 3}, static_cast<Layout>(layout)), places(type, {6}, {});
      EXPECT(RUN(aclnnRepeatInterleaveTensor, numbers, 6, places) == ACLNN_SUCCESS);
      EXPECT_VALUES(places.read(), {0, 0, 2, 3, 3, 3}, 0);
      EXPECT(RUN(aclnnRepeatInterleaveTensor, numbers, 5, places) == ACLNN_ERR_PARAM_INVALID);
    }
  }
}

void testChannelShuffle(aclDataType type, Layout layout) {
  currentCase() = "channel_shuffle";
  Tensor self(type, {2, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, layout);
  Tensor out(type, {2, 4, 2}, {}, static_cast<Layout>(kLayouts - 1 - layout));
  EXPECT(RUN(aclnnChannelShuffle, self, 2, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {1, 2, 5, 6, 3, 4, 7, 8, 9, 10, 13, 14, 11, 12, 15, 16}, 0);
  EXPECT(RUN(aclnnChannelShuffle, self, 3, out) == ACLNN_ERR_PARAM_INVALID);
}

void testUnfoldGrad(aclDataType type) {
  currentCase() = "unfold_backward";
  const IntArray sizes = {2, 5}, short_sizes = {2, 4};
  Tensor windows(type, {2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), out(type, {2, 5}, {}),
      few(type, {2, 4}, {});
  EXPECT(RUN(aclnnUnfoldGrad, windows, sizes, -1, 3, 2, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {1, 2, 7, 5, 6, 7, 8, 19, 11, 12}, 0);
  EXPECT(RUN(aclnnUnfoldGrad, windows, sizes, 1, 2, 2, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnUnfoldGrad, windows, sizes, 1, 3, 0, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnUnfoldGrad, windows, short_sizes, 1, 3, 2, few) == ACLNN_ERR_PARAM_INVALID);
}

void testEye() {
  currentCase() = "eye";
  Tensor out(ACL_FLOAT, {2, 3}, {}, kTransposed);
  EXPECT(RUN(aclnnEye, 2, 3, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {1, 0, 0, 0, 1, 0}, 0);
  EXPECT(RUN(aclnnEye, 3, 3, out) == ACLNN_ERR_PARAM_INVALID);
}

void testDropout() {
  currentCase() = "dropout";
  const IntArray shape = {40, 50};
  const int64_t bytes = 2048 / 8;
  Tensor mask(ACL_UINT8, {bytes}, {}), again(ACL_UINT8, {bytes}, {}), small(ACL_UINT8, {8}, {});
  EXPECT(RUN(aclnnDropoutGenMaskV2, shape, 0.25, 7, 1, ACL_FLOAT, mask) == ACLNN_SUCCESS);
  EXPECT(RUN(aclnnDropoutGenMaskV2, shape, 0.25, 7, 1, ACL_FLOAT, again) == ACLNN_SUCCESS);
  EXPECT_VALUES(again.read(), mask.read(), 0);
  EXPECT(RUN(aclnnDropoutGenMaskV2, shape, 0.25, 7, 2, ACL_FLOAT, again) == ACLNN_SUCCESS);
  EXPECT(again.read() != mask.read());
  const Values bits = mask.read(), ones(2000, 1.0);
  Values expected(2000);
  double kept = 0;
  for (size_t i = 0; i < 2000; ++i) {
    kept += expected[i] = (static_cast<int>(bits[i / 8]) >> (i % 8) & 1) != 0;
    expected[i] /= 0.75;
  }
  EXPECT(kept > 1400 && kept < 1600);
  Tensor self(ACL_FLOAT, {40, 50}, ones, kTransposed), out(ACL_FLOAT, {40, 50}, {});
  EXPECT(RUN(aclnnDropoutDoMask, self, mask, 0.25, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), expected, 1e-6);
  EXPECT(RUN(aclnnDropoutGenMaskV2, shape, 0.25, 7, 1, ACL_FLOAT, small) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnDropoutGenMaskV2, shape, 1.5, 7, 1, ACL_FLOAT, mask) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnDropoutDoMask, self, small, 0.25, out) == ACLNN_ERR_PARAM_INVALID);
}

}  // namespace

int main() {
  Session session;
  for (int layout = 0; layout < kLayouts; ++layout) {
    for (aclDataType type : {ACL_FLOAT, ACL_INT64, ACL_UINT8}) testChannelShuffle(type, static_cast<Layout>(layout));
    for (aclDataType type : {ACL_FLOAT, ACL_BF16, ACL_INT64, ACL_UINT8})
      testRearrangements(type, static_cast<Layout>(layout));
  }
  testPlaces();
  for (aclDataType type : {ACL_FLOAT, ACL_BF16}) testUnfoldGrad(type);
  testEye();
  testDropout();
}
