/* The distinct elements or slices: aclnnUnique2, aclnnUniqueDim, aclnnUniqueConsecutive. NaN equals nothing. */
#include <numeric>

#include "opapi/lines.h"

namespace sim {
namespace {

enum Attribute { kInverse, kCounts, kConsecutive, kDim };
constexpr int64_t kFlat = -1; /* kDim: elements, whatever the shape */

/* The operand as so many slices of so many elements each. */
int64_t slicesOf(const Operand &self, int64_t dim) { return dim == kFlat ? self.count : self.dims[dim]; }

/* Slice `i` alone. */
Operand sliceAt(const Operand &self, int64_t dim, int64_t i) {
  Operand slice = self;
  slice.host += i * self.strides[dim] * self.item;
  slice.count = self.dims[dim] == 0 ? 0 : self.count / self.dims[dim];
  slice.dims[dim] = 1;
  return slice;
}

template <class C>
void readSlice(const Operand &slice, C *to) {
  Cursor elements(slice);
  C room[kBlock];
  for (int64_t first = 0, count; first < slice.count; first += count) {
    count = std::min(kBlock, slice.count - first);
    const C *values = static_cast<const C *>(elements.read(room, count));
    std::copy(values, values + count, to + first);
  }
}

/* The slices one after the other, by their indices: compared element by element, NaN above all. */
template <class C>
struct Slices {
  const C *values;
  int64_t count, length;

  const C *at(int64_t i) const { return values + i * length; }
  bool before(int64_t a, int64_t b) const {
    for (int64_t i = 0; i < length; ++i) {
      const C x = at(a)[i], y = at(b)[i];
      if (x < y || (isNan(y) && !isNan(x))) return true;
      if (y < x || (isNan(x) && !isNan(y))) return false;
    }
    return a < b;
  }
  bool equal(int64_t a, int64_t b) const { return std::equal(at(a), at(a) + length, at(b)); }
};

/* A dense tensor of the shape that was found, at the beginning of `out`. */
Operand foundIn(const Operand &out, int64_t dim, int64_t groups) {
  Operand found = out;
  if (dim == kFlat) {
    found.rank = 1;
    dim = 0;
  }
  found.dims[dim] = groups;
  found.count = 1;
  for (int32_t i = found.rank; i-- > 0; found.count *= found.dims[i]) found.strides[i] = found.count;
  return found;
}

/* operands: self, valueOut, inverseOut, countsOut. In the workspace: the order of the slices, the inverse, the slices.
 */
template <class C>
aclError runUnique(const aclOpExecutor &executor) {
  Operand self = executor.operands[0], out = executor.operands[1], inverse_out = executor.operands[2];
  Operand counts_out = executor.operands[3];
  self.compute = out.compute = computeOfType<C>();
  inverse_out.compute = counts_out.compute = kI64;
  const int64_t dim = executor.attributes[kDim], count = slicesOf(self, dim);
  int64_t *order = reinterpret_cast<int64_t *>(executor.workspace), *inverse = order + count;
  C *values = reinterpret_cast<C *>(inverse + count);
  const Slices<C> slices{values, count, count == 0 ? 0 : self.count / count};
  if (dim == kFlat) readSlice(self, values);
  for (int64_t i = 0; dim != kFlat && i < count; ++i) readSlice(sliceAt(self, dim, i), values + i * slices.length);
  std::iota(order, order + count, int64_t{0});
  if (executor.attributes[kConsecutive] == 0) {
    std::sort(order, order + count, [&](int64_t a, int64_t b) { return slices.before(a, b); });
  }
  Cursor counts(counts_out), inverses(inverse_out);
  int64_t groups = 0;
  for (int64_t i = 0, next; i < count; i = next, ++groups) {
    for (next = i + 1; next < count && slices.equal(order[next], order[i]);) ++next;
    for (int64_t k = i; k < next; ++k) inverse[order[k]] = groups;
    const int64_t alike = next - i;
    if (executor.attributes[kCounts] != 0) counts.write(&alike, 1);
    order[groups] = order[i];
  }
  const Operand found = foundIn(out, dim, groups);
  Cursor line(found);
  for (int64_t g = 0; g < groups; ++g) {
    if (dim == kFlat) {
      line.write(slices.at(order[g]), 1);
      continue;
    }
    Cursor slice(sliceAt(found, dim, g));
    for (int64_t k = 0; k < slices.length; ++k) slice.write(slices.at(order[g]) + k, 1);
  }
  for (int64_t i = 0; executor.attributes[kInverse] != 0 && i < count; ++i) inverses.write(&inverse[i], 1);
  reportShape(executor, 0, shapeOf(found));
  reportShape(executor, 1, shapeOf(inverse_out));
  reportShape(executor, 2, vectorShape(executor.attributes[kCounts] != 0 ? groups : 0));
  return ACL_SUCCESS;
}

aclnnStatus prepareGroups(aclOpExecutor &executor, bool consecutive, bool inverse, bool counts, int64_t dim) {
  static constexpr aclError (*runs[])(const aclOpExecutor &) = {runUnique<float>, runUnique<double>,
                                                                runUnique<int64_t>};
  const Operand &self = executor.operands[0], &values = executor.operands[1];
  const uint8_t compute = computeOf(self.type);
  if (compute > kI64 || self.type == ACL_UINT64) return refuseType(executor, self.type);
  if (values.type != self.type) {
    return refuse(executor, "valueOut has data type {}, expected {}", values.type, self.type);
  }
  const int64_t count = slicesOf(self, dim);
  const bool flat = dim == kFlat; /* outputs have room for all there may be */
  SIM_TRY(requireShape(executor, values, flat ? vectorShape(count) : shapeOf(self)));
  if (inverse) {
    SIM_TRY(requireShape(executor, executor.operands[2], flat ? shapeOf(self) : vectorShape(count)));
  }
  if (counts) SIM_TRY(requireShape(executor, executor.operands[3], vectorShape(count)));
  for (int i = 0; i < 3; ++i) expectShape(executor, executor.operands[static_cast<uint32_t>(1 + i)], i);
  executor.attributes[kInverse] = inverse;
  executor.attributes[kCounts] = counts;
  executor.attributes[kConsecutive] = consecutive;
  executor.attributes[kDim] = dim;
  executor.run = runs[compute];
  executor.workspace_size =
      roundUp(static_cast<uint64_t>(self.count) * sizeof(double) + static_cast<uint64_t>(count) * 2 * sizeof(int64_t));
  return ACLNN_SUCCESS;
}

/* self, sorted, returnInverse, returnCounts, valueOut, inverseOut, countsOut. Always sorted. */
aclnnStatus prepareUnique2(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const bool counts = arguments[3].integer != 0;
  return prepareGroups(executor, false, arguments[2].integer != 0 || counts, counts, kFlat);
}

/* self, sorted, returnInverse, dim, valueOut, inverseOut, countsOut. Always sorted. */
aclnnStatus prepareUniqueDim(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  int32_t dim;
  const Operand &self = executor.operands[0];
  SIM_TRY(normalizeDim(executor, arguments[3].integer, self.rank, &dim));
  if (self.rank == 0) return refuse(executor, "self has no dimensions");
  return prepareGroups(executor, false, arguments[2].integer != 0, true, dim);
}

/* self, returnInverse, returnCounts, dim, valueOut, inverseOut, countsOut: a dim out of range stands for the flattened
 * tensor. */
aclnnStatus prepareUniqueConsecutive(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const int64_t rank = executor.operands[0].rank, given = arguments[3].integer;
  const bool flat = given < -rank || given >= rank;
  return prepareGroups(executor, true, arguments[1].integer != 0, arguments[2].integer != 0,
                       flat ? kFlat : (given + rank) % rank);
}

}  // namespace

SIM_OP(aclnnUnique2, prepareUnique2, nullptr, 0)
SIM_OP(aclnnUniqueDim, prepareUniqueDim, nullptr, 0)
SIM_OP(aclnnUniqueConsecutive, prepareUniqueConsecutive, nullptr, 0)

}  // namespace sim
