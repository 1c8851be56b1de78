/* grid_sampler, affine grids, average pooling, unpooling and antialiased upsampling against plain formulas; gradients
 * against finite differences; in every layout. */
#include "aclnnop/aclnn_affine_grid.h"
#include "aclnnop/aclnn_avg_pool2d.h"
#include "aclnnop/aclnn_avg_pool2d_backward.h"
#include "aclnnop/aclnn_grid_sampler2_d.h"
#include "aclnnop/aclnn_grid_sampler2_d_backward.h"
#include "aclnnop/aclnn_grid_sampler3_d.h"
#include "aclnnop/aclnn_grid_sampler3_d_backward.h"
#include "aclnnop/aclnn_max_unpool2d.h"
#include "aclnnop/aclnn_max_unpool3d.h"
#include "aclnnop/aclnn_upsample_bicubic2d_aa.h"
#include "aclnnop/aclnn_upsample_bicubic2d_aa_grad.h"
#include "aclnnop/aclnn_upsample_bilinear2d_aa.h"
#include "aclnnop/aclnn_upsample_bilinear2d_aa_backward.h"
#include "op_test.h"

namespace {

struct BoolArray {
  BoolArray(bool first, bool second) {
    const bool values[] = {first, second};
    handle = aclCreateBoolArray(values, 2);
  }
  BoolArray(const BoolArray &) = delete;
  ~BoolArray() { aclDestroyBoolArray(handle); }
  operator aclBoolArray *() const { return handle; }
  aclBoolArray *handle;
};

const Dims kImage = {2, 2, 3, 4}, kPlaces = {2, 2, 2, 2}, kSamples = {2, 2, 2, 2};

Values numbers(int64_t count, double scale) {
  Values values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = (static_cast<double>(i * 37 % 23) / 11.3 - 1.0) * scale;
  return values;
}

/* One sample of a plane of 3 by 4: bilinear, zeros outside, corners not aligned. */
double bilinear(const double *plane, double x, double y) {
  x = ((x + 1) * 4 - 1) / 2;
  y = ((y + 1) * 3 - 1) / 2;
  double sum = 0;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 4; ++column) {
      const double weight = std::max(0.0, 1 - std::fabs(x - column)) * std::max(0.0, 1 - std::fabs(y - row));
      sum += weight * plane[row * 4 + column];
    }
  }
  return sum;
}

Values samples(const Values &image, const Values &grid) {
  Values out(16);
  for (size_t i = 0; i < 16; ++i) {
    const size_t place = (i / 8 * 4 + i % 4) * 2;
    out[i] = bilinear(&image[i / 4 * 12], grid[place], grid[place + 1]);
  }
  return out;
}

double weighed(const Values &image, const Values &grid, const Values &grads) {
  const Values out = samples(image, grid);
  double sum = 0;
  for (size_t i = 0; i < out.size(); ++i) sum += out[i] * grads[i];
  return sum;
}

void testBilinear(aclDataType type, Layout layout) {
  currentCase() = "grid_sampler 2d";
  const double tolerance = type == ACL_FLOAT16 ? 2e-2 : 1e-4;
  const Values image = numbers(48, 2), grid = numbers(16, 1.21), grads = numbers(16, 1);
  Tensor input(type, kImage, image, layout), places(type, kPlaces, grid, layout), grad(type, kSamples, grads, layout);
  Tensor out(type, kSamples, {}, layout), of_image(type, kImage, {}, layout), of_grid(type, kPlaces, {}, layout);
  EXPECT(RUN(aclnnGridSampler2D, input, places, 0, 0, false, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), samples(image, grid), tolerance);
  const BoolArray both(true, true);
  EXPECT(RUN(aclnnGridSampler2DBackward, grad, input, places, 0, 0, false, both, of_image, of_grid) == ACLNN_SUCCESS);
  const auto of = [&](const Values &x) { return weighed(x, grid, grads); };
  EXPECT_VALUES(of_image.read(), slopes(image, of), tolerance);
  const auto at = [&](const Values &x) { return weighed(image, x, grads); };
  EXPECT_VALUES(of_grid.read(), slopes(grid, at), tolerance);
}

/* Nearest elements and the three ways past the border, by hand, on a line. */
void testBorders() {
  currentCase() = "grid_sampler borders";
  Tensor image(ACL_FLOAT, {1, 1, 1, 3}, {1, 2, 4}), volume(ACL_FLOAT, {1, 1, 1, 1, 3}, {1, 2, 4});
  Tensor grid(ACL_FLOAT, {1, 1, 4, 2}, {-3, 0, -1, 0, 0.5, 0, 2, 0}), out(ACL_FLOAT, {1, 1, 1, 4}, {});
  Tensor places(ACL_FLOAT, {1, 1, 1, 2, 3}, {-3, 0, 0, 0.5, 0, 0}), found(ACL_FLOAT, {1, 1, 1, 1, 2}, {});
  EXPECT(RUN(aclnnGridSampler2D, image, grid, 1, 0, true, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {0, 1, 4, 0}, 0);
  EXPECT(RUN(aclnnGridSampler2D, image, grid, 0, 1, true, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {1, 1, 3, 4}, 1e-6);
  EXPECT(RUN(aclnnGridSampler2D, image, grid, 0, 2, true, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {4, 1, 3, 2}, 1e-6); /* -3 lies 2 before the end: mirrored to 2 behind it */
  EXPECT(RUN(aclnnGridSampler2D, image, grid, 2, 1, true, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {1, 1, -0.09375 * (1 + 4) + 0.59375 * (2 + 4), 4}, 1e-6);
  EXPECT(RUN(aclnnGridSampler3D, volume, places, 0, 1, true, found) == ACLNN_SUCCESS);
  EXPECT_VALUES(found.read(), {1, 3}, 1e-6);
  EXPECT(RUN(aclnnGridSampler3D, volume, places, 2, 1, true, found) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnGridSampler2D, image, grid, 3, 1, true, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnGridSampler2D, image, grid, 0, 3, true, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnGridSampler2D, image, out, 0, 0, true, out) == ACLNN_ERR_PARAM_INVALID);
}

void testAffineGrid(Layout layout) {
  currentCase() = "affine_grid";
  const Values theta = {1, 0.5, -1, 2, -3, 0.25};
  const IntArray plane{1, 5, 2, 3}, more{2, 5, 2, 3}, deep{1, 5, 1, 2, 3};
  Tensor maps(ACL_FLOAT, {1, 2, 3}, theta, layout), out(ACL_FLOAT, {1, 2, 3, 2}, {}, layout);
  for (bool aligned : {true, false}) {
    Values expected;
    for (int row = 0; row < 2; ++row) {
      for (int column = 0; column < 3; ++column) {
        const double x = aligned ? column - 1.0 : (2 * column + 1) / 3.0 - 1, y = aligned ? 2.0 * row - 1 : row - 0.5;
        expected.push_back(theta[0] * x + theta[1] * y + theta[2]);
        expected.push_back(theta[3] * x + theta[4] * y + theta[5]);
      }
    }
    EXPECT(RUN(aclnnAffineGrid, maps, plane, aligned, out) == ACLNN_SUCCESS);
    EXPECT_VALUES(out.read(), expected, 1e-5);
  }
  EXPECT(RUN(aclnnAffineGrid, maps, more, true, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnAffineGrid, maps, deep, true, out) == ACLNN_ERR_PARAM_INVALID);
}

void testUnpool(Layout layout) {
  currentCase() = "max_unpool";
  const IntArray small{2, 2}, wide{2, 3}, size3{3, 1, 2}, ones{1, 1, 1}, zeros{0, 0, 0};
  Tensor self(ACL_FLOAT, {1, 1, 2}, {5, 7}, layout), places(ACL_INT64, {1, 1, 2}, {3, 1}, layout);
  Tensor out(ACL_FLOAT, {1, 2, 2}, {}, layout), self3(ACL_INT64, {1, 1, 1, 2}, {5, 7}, layout);
  Tensor places3(ACL_INT64, {1, 1, 1, 2}, {0, 5}, layout), out3(ACL_INT64, {1, 3, 1, 2}, {}, layout);
  EXPECT(RUN(aclnnMaxUnpool2d, self, places, small, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {0, 7, 0, 5}, 0);
  EXPECT(RUN(aclnnMaxUnpool3d, self3, places3, size3, ones, zeros, out3) == ACLNN_SUCCESS);
  EXPECT_VALUES(out3.read(), {5, 0, 0, 0, 0, 7}, 0);
  EXPECT(RUN(aclnnMaxUnpool2d, self, places, wide, out) == ACLNN_ERR_PARAM_INVALID);
}

/* From 4 to 2 elements the tent reaches over 2: weights 3/8 3/8 1/4 ... at each end. */
void testAntialias(Layout layout) {
  currentCase() = "antialias";
  Tensor image(ACL_FLOAT, {1, 1, 1, 4}, {8, 16, 32, 64}, layout), out(ACL_FLOAT, {1, 1, 1, 2}, {}, layout);
  Tensor grad(ACL_FLOAT, {1, 1, 1, 2}, {1, 0}), of_image(ACL_FLOAT, {1, 1, 1, 4}, {}, layout);
  const IntArray to{1, 2}, from{1, 1, 1, 4};
  EXPECT(RUN(aclnnUpsampleBilinear2dAA, image, to, false, 0, 0, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {(3 * 8 + 3 * 16 + 32) / 7.0, (16 + 3 * 32 + 3 * 64) / 7.0}, 1e-5);
  EXPECT(RUN(aclnnUpsampleBilinear2dAABackward, grad, to, from, false, 0, 0, of_image) == ACLNN_SUCCESS);
  EXPECT_VALUES(of_image.read(), {3 / 7.0, 3 / 7.0, 1 / 7.0, 0}, 1e-6);
  Tensor even(ACL_FLOAT, {1, 1, 1, 4}, {3, 3, 3, 3}, layout);
  EXPECT(RUN(aclnnUpsampleBicubic2dAA, even, to, false, 0, 0, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {3, 3}, 1e-6);
  EXPECT(RUN(aclnnUpsampleBicubic2dAAGrad, grad, to, from, false, 0, 0, of_image) == ACLNN_SUCCESS);
  double sum = 0;
  for (double value : of_image.read()) sum += value;
  EXPECT(std::fabs(sum - 1) < 1e-6);
  EXPECT(RUN(aclnnUpsampleBilinear2dAA, image, from, false, 0, 0, out) == ACLNN_ERR_PARAM_INVALID);
}

/* Without strides the windows lie side by side. */
void testAverageWithoutStrides() {
  currentCase() = "average pooling without strides";
  const IntArray window{1, 2}, none{}, flat{0, 0};
  Tensor image(ACL_FLOAT, {1, 2, 4}, {1, 3, 5, 7, 2, 4, 6, 8}), out(ACL_FLOAT, {1, 2, 2}, {});
  Tensor slope(ACL_FLOAT, {1, 2, 2}, {2, 4, 6, 8}), back(ACL_FLOAT, {1, 2, 4}, {});
  EXPECT(RUN(aclnnAvgPool2d, image, window, none, flat, false, true, 0, 0, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {2, 6, 3, 7}, 0);
  EXPECT(RUN(aclnnAvgPool2dBackward, slope, image, window, none, flat, false, true, 0, 0, back) == ACLNN_SUCCESS);
  EXPECT_VALUES(back.read(), {1, 1, 2, 2, 3, 3, 4, 4}, 0);
}

}  // namespace

int main() {
  Session session;
  for (int layout = 0; layout < kLayouts; ++layout) {
    for (aclDataType type : {ACL_FLOAT, ACL_DOUBLE, ACL_FLOAT16}) testBilinear(type, static_cast<Layout>(layout));
    testAffineGrid(static_cast<Layout>(layout));
    testUnpool(static_cast<Layout>(layout));
    testAntialias(static_cast<Layout>(layout));
  }
  testBorders();
  testAverageWithoutStrides();
}
