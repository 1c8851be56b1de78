/* Copies, conversions, filling and counting. */
#include "aclnnop/aclnn_arange.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_fill_tensor.h"
#include "aclnnop/aclnn_one.h"
#include "aclnnop/aclnn_zero.h"
#include "op_test.h"

namespace {

const aclDataType kTypes[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16,  ACL_DOUBLE, ACL_INT8,   ACL_INT16,
                              ACL_INT32, ACL_INT64,   ACL_UINT8, ACL_UINT16, ACL_UINT32, ACL_BOOL};

void testCopies() {
  currentCase() = "copy";
  const Values values = {0, 1, 2, 100, 5, 6};
  for (aclDataType from : kTypes) {
    for (aclDataType to : kTypes) {
      for (int layout = 0; layout < kLayouts * kLayouts; ++layout) {
        Values expected(values.size());
        for (size_t i = 0; i < values.size(); ++i) expected[i] = rounded(rounded(values[i], from), to);
        Tensor source(from, {2, 3}, values, static_cast<Layout>(layout % kLayouts));
        if (from == ACL_BOOL) source.write({0, 1, 1, 1, 1, 1});
        Tensor target(to, {2, 3}, {}, static_cast<Layout>(layout / kLayouts));
        EXPECT(RUN(aclnnInplaceCopy, target, source) == ACLNN_SUCCESS);
        EXPECT_VALUES(target.read(), expected, 0);
        EXPECT(RUN(aclnnCast, source, to, target) == ACLNN_SUCCESS);
        EXPECT_VALUES(target.read(), expected, 0);
      }
    }
  }
  currentCase() = "broadcast copy";
  Tensor row(ACL_FLOAT, {3}, {1, 2, 3}), grid(ACL_FLOAT, {2, 3}, {}, kTransposed), small(ACL_FLOAT, {2, 1}, {});
  EXPECT(RUN(aclnnInplaceCopy, grid, row) == ACLNN_SUCCESS);
  EXPECT_VALUES(grid.read(), {1, 2, 3, 1, 2, 3}, 0);
  EXPECT(RUN(aclnnInplaceCopy, row, grid) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnInplaceCopy, small, row) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnCast, row, ACL_INT32, grid) == ACLNN_ERR_PARAM_INVALID);
}

void testRounding() {
  currentCase() = "rounding to 16 bits";
  Values values;
  for (int bits = 0; bits < 0x10000; bits += 3) { /* every third float16, what lies between, and both signs */
    double value = decode16(static_cast<uint16_t>(bits), 5);
    if (std::isnan(value)) continue;
    values.push_back(value);
    values.push_back(value * (1 + 1.0 / 2048));
    values.push_back(value * (1 + 1.0 / 4096));
    values.push_back(value * 3e4);
  }
  values.insert(values.end(), {65519, 65520, -65520, 1e30, 0x1p-25, 0x1.8p-25, 0x1p-24, kNan, kInf, -0.0, 3.4e38});
  Dims dims = {static_cast<int64_t>(values.size())};
  Tensor floats(ACL_FLOAT, dims, values), halves(ACL_FLOAT16, dims, {}), bfloats(ACL_BF16, dims, {});
  Values exact = floats.read(), to_half(exact.size()), to_bfloat(exact.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    to_half[i] = rounded(exact[i], ACL_FLOAT16);
    to_bfloat[i] = rounded(exact[i], ACL_BF16);
  }
  EXPECT(RUN(aclnnCast, floats, ACL_FLOAT16, halves) == ACLNN_SUCCESS);
  EXPECT_VALUES(halves.read(), to_half, 0);
  EXPECT(RUN(aclnnCast, floats, ACL_BF16, bfloats) == ACLNN_SUCCESS);
  EXPECT_VALUES(bfloats.read(), to_bfloat, 0);
  EXPECT(RUN(aclnnCast, halves, ACL_FLOAT, floats) == ACLNN_SUCCESS);
  EXPECT_VALUES(floats.read(), to_half, 0);
}

void testFloatToInteger() {
  currentCase() = "float to integer";
  Tensor floats(ACL_FLOAT, {7}, {1.9, -1.9, kNan, 1e30, -1e30, 300, -1});
  Tensor longs(ACL_INT64, {7}, {}), bytes(ACL_UINT8, {7}, {}), flags(ACL_BOOL, {7}, {});
  EXPECT(RUN(aclnnCast, floats, ACL_INT64, longs) == ACLNN_SUCCESS);
  EXPECT_VALUES(longs.read(), {1, -1, 0, 0x1p63, -0x1p63, 300, -1}, 0);
  EXPECT(RUN(aclnnCast, floats, ACL_UINT8, bytes) == ACLNN_SUCCESS);
  EXPECT_VALUES(bytes.read(), {1, 255, 0, 255, 0, 44, 255}, 0);
  EXPECT(RUN(aclnnCast, floats, ACL_BOOL, flags) == ACLNN_SUCCESS);
  EXPECT_VALUES(flags.read(), Values(7, 1), 0);
}

void testFill() {
  currentCase() = "fill";
  Scalar value(2.5), three(3);
  for (aclDataType type : kTypes) {
    for (int layout = 0; layout < kLayouts; ++layout) {
      Tensor self(type, {2, 3}, {}, static_cast<Layout>(layout));
      EXPECT(RUN(aclnnInplaceFillScalar, self, value) == ACLNN_SUCCESS);
      EXPECT_VALUES(self.read(), Values(6, rounded(2.5, type)), 0);
      if (type != ACL_UINT32) {
        EXPECT(RUN(aclnnInplaceOne, self) == ACLNN_SUCCESS);
        EXPECT_VALUES(self.read(), Values(6, 1), 0);
        EXPECT(RUN(aclnnInplaceZero, self) == ACLNN_SUCCESS);
        EXPECT_VALUES(self.read(), Values(6, 0), 0);
      }
    }
  }
  Tensor one(ACL_INT64, {1}, {3}), two(ACL_INT64, {2}, {3, 4}), self(ACL_FLOAT, {2, 2}, {}, kTransposed);
  EXPECT(RUN(aclnnInplaceFillTensor, self, one) == ACLNN_SUCCESS);
  EXPECT_VALUES(self.read(), {3, 3, 3, 3}, 0);
  EXPECT(RUN(aclnnInplaceFillTensor, self, two) == ACLNN_ERR_PARAM_INVALID);
  Tensor overlapping = Tensor::expanded(ACL_FLOAT, {2, 2}, 1);
  EXPECT(RUN(aclnnInplaceZero, overlapping) == ACLNN_ERR_PARAM_INVALID);
}

void testArange() {
  currentCase() = "arange";
  Scalar zero(0), ten(10), three(3), half(0.5), minus(-3), stop(2.1);
  Tensor ints(ACL_INT64, {4}, {}, kStepped), floats(ACL_FLOAT, {5}, {}), down(ACL_INT32, {4}, {});
  EXPECT(RUN(aclnnArange, zero, ten, three, ints) == ACLNN_SUCCESS);
  EXPECT_VALUES(ints.read(), {0, 3, 6, 9}, 0);
  EXPECT(RUN(aclnnArange, zero, stop, half, floats) == ACLNN_SUCCESS);
  EXPECT_VALUES(floats.read(), {0, 0.5, 1, 1.5, 2}, 0);
  EXPECT(RUN(aclnnArange, ten, zero, minus, down) == ACLNN_SUCCESS);
  EXPECT_VALUES(down.read(), {10, 7, 4, 1}, 0);
  Tensor square(ACL_INT64, {2, 2}, {}, kTransposed), single(ACL_INT64, {}, {7}); /* any rank */
  EXPECT(RUN(aclnnArange, zero, ten, three, square) == ACLNN_SUCCESS);
  EXPECT_VALUES(square.read(), {0, 3, 6, 9}, 0);
  EXPECT(RUN(aclnnArange, zero, three, three, single) == ACLNN_SUCCESS);
  EXPECT_VALUES(single.read(), {0}, 0);
  EXPECT(RUN(aclnnArange, zero, three, three, square) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnArange, zero, ten, minus, down) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnArange, zero, ten, zero, down) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnArange, zero, ten, half, down) == ACLNN_ERR_PARAM_INVALID);
}

}  // namespace

int main() {
  Session session;
  testCopies();
  testRounding();
  testFloatToInteger();
  testFill();
  testArange();
}
