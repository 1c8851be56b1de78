/* Several dimensions indexed at once, as NumPy does it: index, index_put, and what is one index along a dimension. */
#include "opapi/indexing.h"

namespace sim {
namespace {

/* The dimensions that the indices make: where they begin in the result, and their sizes. */
struct Picked {
  int32_t place = 0;
  Shape shape;
};

bool broadcastIndices(const Operand *indices, int32_t count, Picked *picked) {
  int32_t first = -1, last = -1, used = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (indices[i].count == 0) continue;
    if (!broadcastInto(&picked->shape, indices[i])) return false;
    if (first < 0) first = i;
    last = i;
    ++used;
  }
  /* Indices that stand apart put their dimensions first. */
  picked->place = used > 0 && last - first + 1 == used ? first : 0;
  return true;
}

bool isIndexed(const Operand *indices, int32_t count, int32_t dim) { return dim < count && indices[dim].count > 0; }

/* An operand laid over the result: its dimension `dim` there is `place` here; along all others it does not move. */
Operand overResult(const Operand &operand, const Shape &result) {
  Operand laid = operand;
  laid.rank = result.rank;
  laid.count = 1;
  for (int32_t i = 0; i < result.rank; ++i) {
    laid.dims[i] = result.dims[i];
    laid.strides[i] = 0;
    laid.count *= result.dims[i];
  }
  return laid;
}

Shape resultShape(const Operand &indexed, const Operand *indices, int32_t count, const Picked &picked) {
  Shape shape;
  for (int32_t dim = 0; dim <= indexed.rank; ++dim) {
    for (int32_t i = 0; dim == picked.place && i < picked.shape.rank; ++i) {
      shape.dims[shape.rank++] = picked.shape.dims[i];
    }
    if (dim < indexed.rank && !isIndexed(indices, count, dim)) shape.dims[shape.rank++] = indexed.dims[dim];
  }
  return shape;
}

}  // namespace

PickCursor::PickCursor(const Operand &indexed, const Operand *indices, int32_t count) {
  Picked picked;
  broadcastIndices(indices, count, &picked);
  const Shape shape = resultShape(indexed, indices, count, picked);
  Operand rest = overResult(indexed, shape);
  int32_t at = picked.place == 0 ? picked.shape.rank : 0;
  for (int32_t dim = 0; dim < indexed.rank; ++dim) {
    if (!isIndexed(indices, count, dim)) {
      if (at == picked.place && picked.place > 0) at += picked.shape.rank;
      rest.strides[at++] = indexed.strides[dim];
      continue;
    }
    Operand index = overResult(indices[dim], shape);
    index.compute = kI64;
    const int32_t shift = picked.place + picked.shape.rank - indices[dim].rank;
    for (int32_t i = 0; i < indices[dim].rank; ++i) {
      index.strides[shift + i] = indices[dim].dims[i] == 1 ? 0 : indices[dim].strides[i];
    }
    Axis &axis = axes_[axis_count_++];
    axis.size = indexed.dims[dim];
    axis.stride = indexed.strides[dim] * indexed.item;
    axis.index.emplace(index);
  }
  rest_.emplace(rest);
}

bool PickCursor::read(char **addresses, int64_t count) {
  int64_t buffer[kBlock];
  for (int64_t i = 0; i < count; ++i, rest_->skip(1)) addresses[i] = rest_->position();
  for (int32_t k = 0; k < axis_count_; ++k) {
    Axis &axis = axes_[k];
    const int64_t *indices = static_cast<const int64_t *>(axis.index->read(buffer, count));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t index = indices[i] < 0 ? indices[i] + axis.size : indices[i];
      if (index < 0 || index >= axis.size) return false;
      addresses[i] += index * axis.stride;
    }
  }
  return true;
}

aclnnStatus pickShape(const aclOpExecutor &executor, const Operand &indexed, const Operand *indices, int32_t count,
                      Shape *shape) {
  if (count > indexed.rank) return refuse(executor, "{} indices for {} dimensions", count, indexed.rank);
  for (int32_t i = 0; i < count; ++i) {
    if (indices[i].count == 0) continue;
    if (indices[i].type == ACL_BOOL || indices[i].type == ACL_UINT8) return refuseType(executor, indices[i].type);
    if (indices[i].type == ACL_FLOAT) return refuse(executor, "indices has data type FLOAT, expected INT32 or INT64");
  }
  Picked picked;
  if (!broadcastIndices(indices, count, &picked)) return refuse(executor, "the indices do not broadcast");
  if (indexed.rank + picked.shape.rank > static_cast<int32_t>(kMaxRank)) {
    return refuse(executor, "the indices make {} dimensions of {}", picked.shape.rank, indexed.rank);
  }
  *shape = resultShape(indexed, indices, count, picked);
  return ACLNN_SUCCESS;
}

namespace {

/* self, indices.., out: bits are moved as they are. */
aclError runIndex(const aclOpExecutor &executor) {
  const int32_t count = static_cast<int32_t>(executor.operands.size()) - 2;
  const Operand &out = executor.operands.end()[-1];
  char *addresses[kBlock];
  alignas(64) char buffer[kBlockBytes];
  PickCursor source(executor.operands[0], executor.operands.begin() + 1, count);
  Cursor target(out);
  for (int64_t first = 0, length; first < out.count; first += length) {
    length = std::min(kBlock, out.count - first);
    if (!source.read(addresses, length)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    for (int64_t i = 0; i < length; ++i) {
      std::memcpy(buffer + i * out.item, addresses[i], static_cast<size_t>(out.item));
    }
    target.write(buffer, length);
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareIndex(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const int32_t count = static_cast<int32_t>(executor.operands.size()) - 2;
  const Operand &self = executor.operands[0];
  Operand &out = executor.operands.back();
  Shape shape;
  SIM_TRY(pickShape(executor, self, executor.operands.begin() + 1, count, &shape));
  SIM_TRY(requireShape(executor, out, shape));
  if (out.type != self.type) {
    SIM_TRY(refuse(executor, "out has data type {}, expected {}", out.type, self.type));
  }
  out.compute = kRaw;
  executor.run = runIndex;
  return ACLNN_SUCCESS;
}

enum Attribute { kAccumulate, kDim };

/* selfRef, indices.., values */
aclError runIndexPut(const aclOpExecutor &executor) {
  const int32_t count = static_cast<int32_t>(executor.operands.size()) - 2;
  const Operand &out = executor.operands[0], &values = executor.operands.end()[-1];
  PickCursor places(out, executor.operands.begin() + 1, count);
  const FoldElement *fold = executor.attributes[kAccumulate] != 0 ? kFoldOf<Addition> : kFoldOf<Replacement>;
  return foldElements(places, out, values, values.count, fold[values.compute]);
}

aclnnStatus prepareIndexPut(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const int32_t count = static_cast<int32_t>(executor.operands.size()) - 2;
  const Operand &self = executor.operands[0];
  Operand &values = executor.operands.back();
  Shape shape;
  SIM_TRY(pickShape(executor, self, executor.operands.begin() + 1, count, &shape));
  Shape broadcast = shape;
  if (!broadcastInto(&broadcast, values) || broadcast.rank != shape.rank ||
      !std::equal(shape.dims, shape.dims + shape.rank, broadcast.dims)) {
    return refuse(executor, "values does not broadcast to what the indices pick");
  }
  if (values.type != self.type) {
    return refuse(executor, "values has data type {}, expected {}", values.type, self.type);
  }
  expandTo(&values, shape);
  values.count = 1;
  for (int32_t i = 0; i < shape.rank; ++i) values.count *= shape.dims[i];
  values.compute = computeOf(self.type);
  executor.attributes[kAccumulate] = arguments[3].integer;
  executor.run = runIndexPut;
  return ACLNN_SUCCESS;
}

template <class C>
void scaleBlock(void *block, int64_t count, const Number &number) {
  C *values = static_cast<C *>(block), factor = numberAs<C>(number);
  for (int64_t i = 0; i < count; ++i) values[i] = multiply(values[i], factor);
}
using ScaleBlock = void (*)(void *, int64_t, const Number &);
constexpr ScaleBlock kScale[] = {scaleBlock<float>, scaleBlock<double>, scaleBlock<int64_t>, scaleBlock<Complex>};

/* self, index, source, out: alpha times a slice of source is added to each slice that index names. */
aclError runIndexAdd(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &source = executor.operands[2], &out = executor.operands[3];
  if (self.address != out.address) convertView(self, out);
  Operand indices[kMaxRank] = {}; /* none but that of `dim` */
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  indices[dim] = executor.operands[1];
  indices[dim].rank = 1;
  if (executor.operands[1].rank == 0) {
    indices[dim].dims[0] = 1;
    indices[dim].strides[0] = 0;
  }
  Operand line = out;
  if (line.rank == 0) {
    line.rank = 1;
    line.dims[0] = 1;
    line.strides[0] = 0;
  }
  PickCursor places(line, indices, dim + 1);
  Cursor values(source);
  char *addresses[kBlock];
  alignas(64) char buffer[kBlockBytes], scaled[kBlockBytes];
  const LoadRow load = loadRow(out.type, source.compute);
  const StoreRow store = storeRow(out.type, source.compute);
  const int64_t item = source.compute == kF32 ? sizeof(float) : source.compute == kC128 ? sizeof(Complex) : 8;
  for (int64_t first = 0, length; first < source.count; first += length) {
    length = std::min(kBlock, source.count - first);
    if (!places.read(addresses, length)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    std::memcpy(scaled, values.read(buffer, length), static_cast<size_t>(length * item));
    kScale[source.compute](scaled, length, executor.numbers[0]);
    const FoldElement fold = kFoldOf<Addition>[source.compute];
    for (int64_t i = 0; i < length; ++i) fold(addresses[i], load, store, scaled + i * item);
  }
  return ACL_SUCCESS;
}

/* self, dim, index, source, alpha, out */
aclnnStatus prepareIndexAdd(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &self = executor.operands[0], &index = executor.operands[1], &out = executor.operands[3];
  Operand &source = executor.operands[2];
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, self.rank, &dim));
  SIM_TRY(requireShape(executor, out, shapeOf(self)));
  if (source.type != self.type || out.type != self.type) {
    return refuse(executor, "source and out have data types {} and {}, expected {}", source.type, out.type, self.type);
  }
  bool fits = source.rank == self.rank || source.rank + self.rank == 1;
  for (int32_t i = 0; fits && i < std::max(source.rank, 1); ++i) {
    const int64_t size = source.rank == 0 ? 1 : source.dims[i];
    fits = size == (i == dim ? index.count : self.rank == 0 ? 1 : self.dims[i]);
  }
  if (!fits || index.rank > 1) return refuse(executor, "index, source and self do not fit together");
  source.compute = computeOf(self.type);
  executor.attributes[kDim] = dim;
  executor.run = runIndexAdd;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnIndex, prepareIndex, nullptr, 0)
SIM_OP(aclnnIndexPutImpl, prepareIndexPut, nullptr, 0)
SIM_OP(aclnnIndexAdd, prepareIndexAdd, nullptr, 0)

}  // namespace sim
