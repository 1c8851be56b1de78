/* Convolutions of one to three dimensions, plain and transposed, against the defining sum. */
#include "aclnnop/aclnn_convolution.h"
#include "op_test.h"

namespace {

struct Case {
  Dims input, weight; /* (N, C, ...), and (O, C / groups, ...) or, transposed, (C, O / groups, ...) */
  Dims stride, padding, dilation, output_padding;
  int64_t groups;
  bool transposed;
};

size_t at(const Dims &dims, const Dims &index) {
  int64_t place = 0;
  for (size_t i = 0; i < dims.size(); ++i) place = place * dims[i] + index[i];
  return static_cast<size_t>(place);
}

/* The next index in `dims`; false behind the last. */
bool advance(Dims *index, const Dims &dims) {
  for (size_t i = dims.size(); i-- > 0;) {
    if (++(*index)[i] < dims[i]) return true;
    (*index)[i] = 0;
  }
  return false;
}

Dims outputDims(const Case &c) {
  Dims dims = {c.input[0], c.transposed ? c.weight[1] * c.groups : c.weight[0]};
  for (size_t i = 0; i < c.stride.size(); ++i) {
    const int64_t size = c.input[i + 2], reach = c.dilation[i] * (c.weight[i + 2] - 1);
    dims.push_back(c.transposed ? (size - 1) * c.stride[i] - 2 * c.padding[i] + reach + c.output_padding[i] + 1
                                : (size + 2 * c.padding[i] - reach - 1) / c.stride[i] + 1);
  }
  return dims;
}

/* Every product of an input element and a weight goes where the definition says. */
Values expected(const Case &c, const Values &input, const Values &weight, const Values &bias) {
  const Dims dims = outputDims(c);
  Values out(static_cast<size_t>(product(dims)));
  if (out.empty()) return out;
  Dims index(dims.size());
  do out[at(dims, index)] = bias[static_cast<size_t>(index[1])];
  while (advance(&index, dims));
  const Dims &small = c.transposed ? c.input : dims, &large = c.transposed ? dims : c.input;
  const int64_t small_channels = small[1] / c.groups;
  Dims place(dims.size());
  do { /* over the places of the window, and the weights of the place's channel */
    Dims w(dims.size());
    do {
      if (w[0] != 0) continue; /* the place's channel stands there */
      Dims image = {place[0], place[1] / small_channels * (large[1] / c.groups) + w[1]}, element = w;
      element[0] = place[1];
      bool inside = true;
      for (size_t i = 2; i < dims.size(); ++i) {
        image.push_back(place[i] * c.stride[i - 2] + w[i] * c.dilation[i - 2] - c.padding[i - 2]);
        inside = inside && image[i] >= 0 && image[i] < large[i];
      }
      if (!inside) continue;
      const double product = weight[at(c.weight, element)] * input[at(c.input, c.transposed ? place : image)];
      out[at(dims, c.transposed ? image : place)] += product;
    } while (advance(&w, c.weight));
  } while (advance(&place, small));
  return out;
}

aclnnStatus run(const Case &c, const Tensor &input, const Tensor &weight, aclTensor *bias, const Tensor &out) {
  aclIntArray *stride = aclCreateIntArray(c.stride.data(), c.stride.size());
  aclIntArray *padding = aclCreateIntArray(c.padding.data(), c.padding.size());
  aclIntArray *dilation = aclCreateIntArray(c.dilation.data(), c.dilation.size());
  aclIntArray *output_padding = aclCreateIntArray(c.output_padding.data(), c.output_padding.size());
  const aclnnStatus status = RUN(aclnnConvolution, input, weight, bias, stride, padding, dilation, c.transposed,
                                 output_padding, c.groups, out, int8_t{0});
  for (aclIntArray *array : {stride, padding, dilation, output_padding}) aclDestroyIntArray(array);
  return status;
}

void test(const Case &c) {
  const Dims dims = outputDims(c);
  Values input(static_cast<size_t>(product(c.input))), weight(static_cast<size_t>(product(c.weight)));
  Values bias(static_cast<size_t>(dims[1])), none(bias.size());
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<double>(i * 7 % 11) - 5;
  for (size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<double>(i * 5 % 7) - 3;
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<double>(i) / 2;
  for (int layout = 0; layout < kLayouts; ++layout) {
    const Layout each = static_cast<Layout>(layout);
    for (aclDataType type : {ACL_FLOAT, ACL_FLOAT16}) { /* small integers: exact in both */
      Tensor x(type, c.input, input, each), w(type, c.weight, weight, each), b(type, {dims[1]}, bias);
      Tensor out(type, dims, {}, each);
      EXPECT(run(c, x, w, b, out) == ACLNN_SUCCESS);
      EXPECT_VALUES(out.read(), expected(c, input, weight, bias), 0);
      EXPECT(run(c, x, w, nullptr, out) == ACLNN_SUCCESS);
      EXPECT_VALUES(out.read(), expected(c, input, weight, none), 0);
    }
  }
}

void refuse(const Case &c, const Dims &out_dims, const Dims &bias_dims = {4}) {
  Tensor x(ACL_FLOAT, c.input, {}), w(ACL_FLOAT, c.weight, {}), b(ACL_FLOAT, bias_dims, {}),
      out(ACL_FLOAT, out_dims, {});
  EXPECT(run(c, x, w, b, out) == ACLNN_ERR_PARAM_INVALID);
}

}  // namespace

int main() {
  Session session;
  currentCase() = "plain";
  test({{2, 3, 9}, {4, 3, 3}, {2}, {1}, {1}, {0}, 1, false});
  test({{2, 4, 7, 6}, {6, 2, 3, 2}, {1, 2}, {1, 0}, {2, 1}, {0, 0}, 2, false});
  test({{1, 2, 5, 4, 6}, {3, 2, 2, 3, 2}, {2, 1, 1}, {1, 1, 0}, {1, 1, 2}, {0, 0, 0}, 1, false});
  test({{3, 4, 5, 5}, {4, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, 4, false});
  test({{1, 1, 2, 2}, {1, 1, 3, 3}, {3, 3}, {4, 4}, {2, 2}, {0, 0}, 1, false}); /* places that see padding only */
  currentCase() = "transposed";
  test({{2, 3, 5}, {3, 4, 3}, {2}, {1}, {1}, {1}, 1, true});
  test({{2, 4, 4, 3}, {4, 3, 3, 2}, {2, 1}, {1, 0}, {1, 2}, {1, 0}, 2, true});
  test({{1, 2, 3, 2, 3}, {2, 2, 2, 3, 2}, {2, 1, 1}, {1, 1, 0}, {1, 1, 2}, {0, 0, 0}, 1, true});
  currentCase() = "no samples";
  test({{0, 3, 9}, {4, 3, 3}, {1}, {0}, {1}, {0}, 1, false});
  currentCase() = "refusals";
  const Case good = {{2, 3, 9}, {4, 3, 3}, {1}, {0}, {1}, {0}, 1, false};
  refuse(good, {2, 4, 8});
  refuse(good, {2, 4, 7}, {3});
  Case bad = good;
  bad.groups = 2;
  refuse(bad, {2, 4, 7});
  bad = good;
  bad.stride = {0};
  refuse(bad, {2, 4, 7});
  bad = good;
  bad.padding = {0, 0};
  refuse(bad, {2, 4, 7});
  bad = good;
  bad.dilation = {5};
  refuse(bad, {2, 4, 1});
  bad = good;
  bad.weight = {4, 2, 3};
  refuse(bad, {2, 4, 7});
}
