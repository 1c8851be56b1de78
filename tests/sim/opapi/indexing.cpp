/* gather and scatter in every layout; an index out of range is a device fault. */
#include "aclnnop/aclnn_embedding_renorm.h"
#include "aclnnop/aclnn_gather.h"
#include "aclnnop/aclnn_index_select.h"
#include "aclnnop/aclnn_put.h"
#include "aclnnop/aclnn_scatter_add.h"
#include "aclnnop/aclnn_scatter_nd.h"
#include "aclnnop/aclnn_scatter_nd_update.h"
#include "aclnnop/aclnn_take.h"
#include "op_test.h"

namespace {

/* Position in an array of `dims` of the element with the position `i` in one of `shape`, but `index` in `dim`. */
size_t placeOf(size_t i, const Dims &shape, const Dims &dims, size_t dim, double index) {
  size_t place = 0, step = 1;
  for (size_t k = dims.size(); k-- > 0;) {
    const size_t own = i % static_cast<size_t>(shape[k]);
    i /= static_cast<size_t>(shape[k]);
    place += (k == dim ? static_cast<size_t>(index) : own) * step;
    step *= static_cast<size_t>(dims[k]);
  }
  return place;
}

void test(aclDataType type, aclDataType index_type, const Dims &dims, const Dims &shape, size_t dim, Layout layout) {
  Values values(static_cast<size_t>(product(dims))), indices(static_cast<size_t>(product(shape)));
  Values source(indices.size()), gathered, added;
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 23);
  for (size_t i = 0; i < indices.size(); ++i) {
    indices[i] = static_cast<double>(i * 7 % static_cast<size_t>(dims[dim]));
    source[i] = static_cast<double>(i % 3);
  }
  added = values;
  for (size_t i = 0; i < indices.size(); ++i) {
    gathered.push_back(values[placeOf(i, shape, dims, dim, indices[i])]);
    added[placeOf(i, shape, dims, dim, indices[i])] += source[i];
  }
  Tensor self(type, dims, values, layout), index(index_type, shape, indices, layout);
  Tensor out(type, shape, {}, static_cast<Layout>(kLayouts - 1 - layout));
  currentCase() = "gather";
  EXPECT(RUN(aclnnGather, self, static_cast<int64_t>(dim), index, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), gathered, 0);
  currentCase() = "scatter_add";
  Tensor src(type, shape, source), sums(type, dims, {});
  EXPECT(RUN(aclnnScatterAdd, self, static_cast<int64_t>(dim), index, src, sums) == ACLNN_SUCCESS);
  EXPECT_VALUES(sums.read(), added, 0);
  EXPECT_VALUES(self.read(), values, 0);

  currentCase() = "index_select";
  Dims selected_dims = dims;
  selected_dims[dim] = 4;
  Values line = {2, 0, 1, 1}, selected(static_cast<size_t>(product(selected_dims)));
  for (size_t i = 0; i < selected.size(); ++i) {
    const size_t k =
        i / static_cast<size_t>(product({selected_dims.begin() + static_cast<int64_t>(dim) + 1, selected_dims.end()})) %
        4;
    selected[i] = values[placeOf(i, selected_dims, dims, dim, line[k])];
  }
  Tensor row(index_type, {4}, line), some(type, selected_dims, {}, layout);
  EXPECT(RUN(aclnnIndexSelect, self, static_cast<int64_t>(dim), row, some) == ACLNN_SUCCESS);
  EXPECT_VALUES(some.read(), selected, 0);
}

void testRefusals() {
  currentCase() = "refusals";
  Tensor self(ACL_FLOAT, {3, 4}, {}), index(ACL_INT64, {2, 4}, {}), wide(ACL_INT64, {2, 5}, {}),
      out(ACL_FLOAT, {2, 4}, {});
  Tensor line(ACL_INT64, {4}, {}), other(ACL_DOUBLE, {2, 4}, {}), result(ACL_FLOAT, {3, 4}, {}),
      real(ACL_FLOAT, {2, 4}, {});
  EXPECT(RUN(aclnnGather, self, 0, wide, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnGather, self, 0, line, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnGather, self, 2, index, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnGather, self, 0, index, self) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnGather, self, 0, index, other) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnGather, self, 0, real, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnIndexSelect, self, 0, index, self) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnIndexSelect, self, 1, line, out) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnScatterAdd, self, 0, index, other, result) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnScatterAdd, self, 0, index, out, out) == ACLNN_ERR_PARAM_INVALID);
}

void testFault() {
  currentCase() = "index out of range";
  Tensor self(ACL_FLOAT, {3}, {1, 2, 3}), index(ACL_INT64, {2}, {0, 3}), out(ACL_FLOAT, {2}, {});
  EXPECT(RUN(aclnnGather, self, 0, index, out) == ACL_ERROR_RT_AICORE_EXCEPTION);
}

void testLine(aclDataType type, Layout layout) {
  Values values(12);
  for (size_t i = 0; i < 12; ++i) values[i] = static_cast<double>(i + 1);
  Tensor self(type, {3, 4}, values, layout), index(ACL_INT64, {2, 2}, {11, 0, -1, 5}, layout);
  Tensor out(type, {2, 2}, {}, static_cast<Layout>(kLayouts - 1 - layout)), wide(type, {4}, {});
  currentCase() = "take";
  EXPECT(RUN(aclnnTake, self, index, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {12, 1, 12, 6}, 0);
  EXPECT(RUN(aclnnTake, self, index, wide) == ACLNN_ERR_PARAM_INVALID);
  currentCase() = "put";
  Tensor source(type, {2, 2}, {1, 2, 3, 4}, layout), places(ACL_INT32, {4}, {11, 0, 11, 5}), few(type, {3}, {1, 2, 3});
  EXPECT(RUN(aclnnInplacePut, self, places, source, false) == ACLNN_SUCCESS);
  EXPECT_VALUES(self.read(), {2, 2, 3, 4, 5, 4, 7, 8, 9, 10, 11, 3}, 0);
  EXPECT(RUN(aclnnInplacePut, self, places, source, true) == ACLNN_SUCCESS);
  EXPECT_VALUES(self.read(), {4, 2, 3, 4, 5, 8, 7, 8, 9, 10, 11, 7}, 0);
  EXPECT(RUN(aclnnInplacePut, self, places, few, true) == ACLNN_ERR_PARAM_INVALID);
}

void testRenorm(aclDataType type, Layout layout) {
  currentCase() = "embedding_renorm";
  const Values values = {3, 4, 1, 0, 6, 8};
  Tensor euclid(type, {3, 2}, values, layout), largest(type, {3, 2}, values, layout), index(ACL_INT32, {3}, {2, 1, 2});
  EXPECT(RUN(aclnnEmbeddingRenorm, euclid, index, 5.0, 2.0) == ACLNN_SUCCESS);
  EXPECT_VALUES(euclid.read(), {3, 4, 1, 0, 3, 4}, 1e-2);
  EXPECT(RUN(aclnnEmbeddingRenorm, largest, index, 4.0, kInf) == ACLNN_SUCCESS);
  EXPECT_VALUES(largest.read(), {3, 4, 1, 0, 3, 4}, 1e-2);
  EXPECT(RUN(aclnnEmbeddingRenorm, largest, index, 4.0, kNan) == ACLNN_ERR_PARAM_INVALID);
}

void testScatterNd(aclDataType type, aclDataType index_type, Layout layout) {
  currentCase() = "scatter_nd";
  Values before(24), after;
  for (size_t i = 0; i < 24; ++i) before[i] = rounded(static_cast<double>(i + 30), type);
  const Layout other = static_cast<Layout>(kLayouts - 1 - layout);
  /* Lines of 1, 2 and 3 numbers: matrices, rows and elements of (2, 3, 4). */
  const Values all_lines[] = {{1}, {1, 0, 0, 2, 1, 1}, {1, 0, 0, 0, 2, 3, 1, 1, 1}};
  const Values new_values = {1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  for (size_t length : {1, 2, 3}) {
    const Values &lines = all_lines[length - 1];
    const size_t slice = length == 1 ? 12 : length == 2 ? 4 : 1, count = length == 1 ? 1 : 3;
    const Dims index_dims = {static_cast<int64_t>(count), 1, static_cast<int64_t>(length)};
    Dims update_dims = {static_cast<int64_t>(count), 1};
    for (size_t dim = length; dim < 3; ++dim) update_dims.push_back(dim == 1 ? 3 : 4);
    after = before;
    Values values(count * slice);
    for (size_t line = 0; line < count; ++line) {
      size_t place = 0;
      for (size_t dim = 0; dim < length; ++dim) {
        place += static_cast<size_t>(lines[line * length + dim]) * (dim == 0 ? 12u : dim == 1 ? 4u : 1u);
      }
      for (size_t i = 0; i < slice; ++i) {
        after[place + i] = values[line * slice + i] = rounded(new_values[line * slice + i], type);
      }
    }
    Tensor self(type, {2, 3, 4}, before, layout), updates(type, update_dims, values, other);
    Tensor indices(index_type, index_dims, lines, other);
    if (type != ACL_INT64 && type != ACL_INT8) { /* which aclnnScatterNd does not take */
      Tensor out(type, {2, 3, 4}, {}, other);
      EXPECT(RUN(aclnnScatterNd, self, indices, updates, out) == ACLNN_SUCCESS);
      EXPECT_VALUES(out.read(), after, 0);
      EXPECT_VALUES(self.read(), before, 0);
    }
    EXPECT(RUN(aclnnScatterNdUpdate, self, indices, updates) == ACLNN_SUCCESS);
    EXPECT_VALUES(self.read(), after, 0);
  }
}

void testScatterNdLimits() {
  currentCase() = "what scatter_nd refuses";
  Tensor self(ACL_FLOAT, {2, 3}, {1, 2, 3, 4, 5, 6}), rows(ACL_INT64, {1, 1}, {1}), row(ACL_FLOAT, {1, 3}, {7, 8, 9});
  Tensor out(ACL_FLOAT, {3, 2}, {}), half(ACL_FLOAT16, {1, 3}, {}), wide(ACL_FLOAT, {1, 2}, {});
  Tensor real(ACL_FLOAT, {1, 1}, {});
  Tensor no_lines(ACL_INT64, {}, {0}), empty_lines(ACL_INT64, {1, 0}, {}), long_lines(ACL_INT64, {1, 3}, {0, 0, 0});
  Tensor number(ACL_FLOAT, {1}, {0}), integers(ACL_INT32, {2, 3}, {});
  EXPECT(RUN(aclnnScatterNdUpdate, self, rows, wide) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnScatterNdUpdate, self, rows, half) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnScatterNdUpdate, self, real, row) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnScatterNdUpdate, self, no_lines, row) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnScatterNdUpdate, self, empty_lines, row) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnScatterNdUpdate, self, long_lines, number) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnScatterNdUpdate, integers, rows, row) == ACLNN_ERR_PARAM_INVALID);
  EXPECT(RUN(aclnnScatterNd, self, rows, row, out) == ACLNN_ERR_PARAM_INVALID);
  Tensor none(ACL_INT64, {0, 1}, {}), nothing(ACL_FLOAT, {0, 3}, {});
  EXPECT(RUN(aclnnScatterNdUpdate, self, none, nothing) == ACLNN_SUCCESS);
  EXPECT_VALUES(self.read(), {1, 2, 3, 4, 5, 6}, 0);
}

void testScatterNdFault(int64_t index) {
  currentCase() = "scatter_nd: an index out of range";
  Tensor self(ACL_FLOAT, {3}, {1, 2, 3}), lines(ACL_INT64, {1, 1}, {static_cast<double>(index)});
  Tensor updates(ACL_FLOAT, {1}, {7});
  EXPECT(RUN(aclnnScatterNdUpdate, self, lines, updates) == ACL_ERROR_RT_AICORE_EXCEPTION);
}

void testValues() {
  for (int layout = 0; layout < kLayouts; ++layout) {
    const Layout each = static_cast<Layout>(layout);
    for (aclDataType type : {ACL_FLOAT, ACL_BF16, ACL_INT64, ACL_INT8}) {
      testLine(type, each);
      if (type == ACL_FLOAT || type == ACL_BF16) testRenorm(type, each);
      test(type, ACL_INT64, {5, 40, 3}, {9, 40, 2}, 0, each);
      test(type, ACL_INT32, {5, 4, 3}, {5, 2, 3}, 1, each);
      test(type, ACL_INT64, {700, 3}, {600, 4}, 1, each);
    }
  }
  for (int layout = 0; layout < kLayouts; ++layout) {
    for (aclDataType type : {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_INT64, ACL_INT8, ACL_BOOL}) {
      testScatterNd(type, layout % 2 == 0 ? ACL_INT32 : ACL_INT64, static_cast<Layout>(layout));
    }
  }
  testScatterNdLimits();
  currentCase() = "no dimensions";
  Tensor one(ACL_FLOAT, {}, {5}), index(ACL_INT64, {3}, {0, 0, 0}), out(ACL_FLOAT, {3}, {});
  EXPECT(RUN(aclnnGather, one, 0, index, out) == ACLNN_SUCCESS);
  EXPECT_VALUES(out.read(), {5, 5, 5}, 0);
  testRefusals();
}

}  // namespace

int main() {
  {
    Session session;
    testValues();
    testFault();
  }
  for (int64_t index : {3, -1}) { /* a device that has failed must be reset */
    Session session;
    testScatterNdFault(index);
  }
}
