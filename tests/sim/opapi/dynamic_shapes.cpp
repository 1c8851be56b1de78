/* Operators whose output size depends on values: results in every layout, and the reported shape. */
#include "aclnnop/aclnn_bincount.h"
#include "aclnnop/aclnn_masked_scatter.h"
#include "aclnnop/aclnn_masked_select.h"
#include "aclnnop/aclnn_nonzero.h"
#include "aclnnop/aclnn_nonzero_v2.h"
#include "aclnnop/aclnn_unique2.h"
#include "aclnnop/aclnn_unique_consecutive.h"
#include "aclnnop/aclnn_unique_dim.h"
#include "op_test.h"

namespace {

Dims shapeOf(const Tensor &tensor) {
  int64_t *dims = nullptr;
  uint64_t rank = 0;
  EXPECT(aclGetViewShape(tensor, &dims, &rank) == ACLNN_SUCCESS);
  Dims shape(dims, dims + rank);
  delete[] dims;
  return shape;
}

Values firstOf(const Tensor &tensor, int64_t count) {
  Values values = tensor.read();
  values.resize(static_cast<size_t>(count));
  return values;
}

void testSelect(aclDataType type, const Dims &dims, Layout layout) {
  currentCase() = "masked_select";
  const size_t count = static_cast<size_t>(product(dims));
  Values values(count), mask(count), kept, rows, columns;
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<double>(i % 100);
    mask[i] = i % 3 == 1;
    if (mask[i] == 0) continue;
    kept.push_back(values[i]);
    rows.push_back(static_cast<double>(i / static_cast<size_t>(dims[1])));
    columns.push_back(static_cast<double>(i % static_cast<size_t>(dims[1])));
  }
  const int64_t found = static_cast<int64_t>(kept.size());
  Tensor self(type, dims, values, layout), truths(ACL_BOOL, dims, mask, layout), out(type, {product(dims)}, {});
  EXPECT(shapeOf(out) == Dims({product(dims)}));
  EXPECT(RUN(aclnnMaskedSelect, self, truths, out) == ACLNN_SUCCESS);
  EXPECT(shapeOf(out) == Dims({found}));
  EXPECT_VALUES(firstOf(out, found), kept, 0);

  currentCase() = "masked_scatter";
  Tensor target(type, dims, {}, layout), source(type, {found}, kept);
  Values expected(count);
  for (size_t i = 0; i < count; ++i) expected[i] = mask[i] != 0 ? values[i] : 0;
  target.write(Values(count));
  EXPECT(RUN(aclnnInplaceMaskedScatter, target, truths, source) == ACLNN_SUCCESS);
  EXPECT_VALUES(target.read(), expected, 0);

  currentCase() = "nonzero";
  Values both, pairs;
  both.insert(both.end(), rows.begin(), rows.end());
  both.insert(both.end(), columns.begin(), columns.end());
  for (size_t i = 0; i < rows.size(); ++i) pairs.insert(pairs.end(), {rows[i], columns[i]});
  Tensor places(ACL_INT64, {product(dims), 2}, {}), transposed(ACL_INT64, {2, product(dims)}, {});
  EXPECT(RUN(aclnnNonzero, truths, places) == ACLNN_SUCCESS);
  EXPECT(shapeOf(places) == Dims({found, 2}));
  EXPECT_VALUES(firstOf(places, 2 * found), pairs, 0);
  EXPECT(RUN(aclnnNonzeroV2, truths, transposed) == ACLNN_SUCCESS);
  EXPECT(shapeOf(transposed) == Dims({2, found}));
  EXPECT_VALUES(firstOf(transposed, 2 * found), both, 0);
}

void testUnique(aclDataType type, Layout layout) {
  const Values values = {3, 1, 1, 2, 3, 3};
  Tensor self(type, {2, 3}, values, layout), out(type, {6}, {}), inverse(ACL_INT64, {2, 3}, {});
  Tensor counts(ACL_INT64, {6}, {}), nothing(ACL_INT64, {0}, {});
  currentCase() = "unique";
  EXPECT(RUN(aclnnUnique2, self, true, true, true, out, inverse, counts) == ACLNN_SUCCESS);
  EXPECT(shapeOf(out) == Dims({3}) && shapeOf(counts) == Dims({3}) && shapeOf(inverse) == Dims({2, 3}));
  EXPECT_VALUES(firstOf(out, 3), {1, 2, 3}, 0);
  EXPECT_VALUES(inverse.read(), {2, 0, 0, 1, 2, 2}, 0);
  EXPECT_VALUES(firstOf(counts, 3), {2, 1, 3}, 0);
  EXPECT(RUN(aclnnUnique2, self, true, false, false, out, nothing, nothing) == ACLNN_SUCCESS);
  EXPECT(shapeOf(out) == Dims({3}) && shapeOf(nothing) == Dims({0}));
  currentCase() = "unique_consecutive";
  EXPECT(RUN(aclnnUniqueConsecutive, self, true, true, int64_t{1000}, out, inverse, counts) == ACLNN_SUCCESS);
  EXPECT(shapeOf(out) == Dims({4}));
  EXPECT_VALUES(firstOf(out, 4), {3, 1, 2, 3}, 0);
  EXPECT_VALUES(inverse.read(), {0, 1, 1, 2, 3, 3}, 0);
  EXPECT_VALUES(firstOf(counts, 4), {1, 2, 1, 2}, 0);
}

void testUniqueSlices(aclDataType type, Layout layout) {
  Tensor self(type, {3, 2, 2}, {4, 1, 3, 3, 2, 1, 3, 3, 4, 1, 3, 3}, layout), out(type, {3, 2, 2}, {});
  Tensor inverse(ACL_INT64, {3}, {}), counts(ACL_INT64, {3}, {}), columns(ACL_INT64, {2}, {}), few(type, {2}, {});
  currentCase() = "unique_dim";
  EXPECT(RUN(aclnnUniqueDim, self, true, true, 0, out, inverse, counts) == ACLNN_SUCCESS);
  EXPECT(shapeOf(out) == Dims({2, 2, 2}) && shapeOf(counts) == Dims({2}));
  EXPECT_VALUES(firstOf(out, 8), {2, 1, 3, 3, 4, 1, 3, 3}, 0);
  EXPECT_VALUES(inverse.read(), {1, 0, 1}, 0);
  EXPECT_VALUES(firstOf(counts, 2), {1, 2}, 0);
  EXPECT(RUN(aclnnUniqueDim, self, true, true, -1, out, columns, columns) == ACLNN_SUCCESS);
  EXPECT(shapeOf(out) == Dims({3, 2, 2}));
  EXPECT_VALUES(out.read(), {1, 4, 3, 3, 1, 2, 3, 3, 1, 4, 3, 3}, 0);
  EXPECT(RUN(aclnnUniqueDim, self, true, true, 3, out, inverse, counts) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnUniqueDim, self, true, true, 0, few, inverse, counts) == ACLNN_ERR_PARAM_INVALID);
  currentCase() = "unique_consecutive of slices";
  EXPECT(RUN(aclnnUniqueConsecutive, self, true, true, int64_t{0}, out, inverse, counts) == ACLNN_SUCCESS);
  EXPECT(shapeOf(out) == Dims({3, 2, 2}));
  EXPECT_VALUES(inverse.read(), {0, 1, 2}, 0);
  Tensor same(type, {2, 3}, {5, 5, 6, 5, 5, 6}, layout), kept(type, {2, 3}, {});
  EXPECT(RUN(aclnnUniqueConsecutive, same, true, true, int64_t{1}, kept, inverse, counts) == ACLNN_SUCCESS);
  EXPECT(shapeOf(kept) == Dims({2, 2}));
  EXPECT_VALUES(firstOf(kept, 4), {5, 6, 5, 6}, 0);
  EXPECT_VALUES(inverse.read(), {0, 0, 1}, 0);
}

void testBincount() {
  currentCase() = "bincount";
  Tensor self(ACL_INT32, {4}, {1, 3, 1, 0}), weights(ACL_FLOAT, {4}, {0.5, 2, 1, 4}), out(ACL_INT64, {5}, {});
  Tensor sums(ACL_DOUBLE, {4}, {}), few(ACL_INT64, {3}, {});
  EXPECT(RUN(aclnnBincount, self, nullptr, 5, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {1, 2, 0, 1, 0}, 0);
  EXPECT(RUN(aclnnBincount, self, weights, 0, sums) == ACLNN_SUCCESS);
  EXPECT_VALUES(sums.read(), {4, 1.5, 0, 2}, 0);
  EXPECT(RUN(aclnnBincount, self, nullptr, 5, few) == ACLNN_ERR_PARAM_INVALID);
}

void testRefusals() {
  currentCase() = "refusals";
  Tensor self(ACL_FLOAT, {2, 3}, {}), mask(ACL_BOOL, {2, 3}, {}), odd(ACL_BOOL, {4}, {}), out(ACL_FLOAT, {6}, {});
  Tensor small(ACL_FLOAT, {5}, {}), other(ACL_DOUBLE, {6}, {}), inverse(ACL_INT64, {6}, {}),
      places(ACL_INT64, {6, 3}, {});
  EXPECT(RUN(aclnnMaskedSelect, self, odd, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMaskedSelect, self, mask, small) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMaskedSelect, self, mask, other) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnMaskedSelect, self, nullptr, out) == ACLNN_ERR_PARAM_NULLPTR);
  EXPECT(RUN(aclnnMaskedSelect, self, self, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnInplaceMaskedScatter, self, odd, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnInplaceMaskedScatter, self, mask, other) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnNonzeroV2, self, places) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnUnique2, self, true, true, false, out, inverse, inverse) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnUnique2, self, true, false, false, small, inverse, inverse) == ACLNN_ERR_PARAM_INVALID);
}

/* The descriptor may be gone before the kernel runs, and the executor before anyone asks. */
void testLifetimes() {
  currentCase() = "lifetimes";
  Tensor self(ACL_FLOAT, {3}, {1, 2, 3}), mask(ACL_BOOL, {3}, {1, 0, 1}), out(ACL_FLOAT, {3}, {});
  const int64_t dims[] = {3};
  aclTensor *brief = aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, out.memory());
  uint64_t size = 0;
  aclOpExecutor *executor = nullptr;
  EXPECT(aclnnMaskedSelectGetWorkspaceSize(self, mask, brief, &size, &executor) == ACLNN_SUCCESS);
  EXPECT(aclnnMaskedSelect(nullptr, 0, executor, nullptr) == ACLNN_SUCCESS);
  EXPECT(aclDestroyTensor(brief) == ACLNN_SUCCESS);
  EXPECT_VALUES(firstOf(out, 2), {1, 3}, 0);
  EXPECT(shapeOf(out) == Dims({3})); /* another descriptor of the same memory */
}

}  // namespace

int main() {
  Session session;
  for (int layout = 0; layout < kLayouts; ++layout) {
    const Layout each = static_cast<Layout>(layout);
    for (aclDataType type : {ACL_FLOAT, ACL_BF16, ACL_INT64, ACL_UINT8}) {
      testSelect(type, {5, 4}, each);
      testSelect(type, {40, 30}, each);
      testUnique(type, each);
      testUniqueSlices(type, each);
    }
  }
  testBincount();
  testRefusals();
  testLifetimes();
}
