#include "opapi/indexing.h"

#include "opapi/kernels/matrices.h"
#include "opapi/loops.h"
#include "opapi/scan_sort.h"

namespace sim {
namespace {

enum Attribute { kDim, kReduction, kIncludeSelf, kAccumulate, kPadding, kByFrequency };

/* For each element of `index` the address of that element of `indexed`, counted as if it were one line; what is below 0
 * counts from the end. */
class FlatIndexCursor {
 public:
  FlatIndexCursor(const Operand &indexed, Operand index) : indexed_(indexed), index_(as64(&index)) {}

  /* The next `count` (at most kBlock) addresses. False: an index out of range, which faults on the device. */
  bool read(char **addresses, int64_t count) {
    int64_t buffer[kBlock];
    const int64_t *indices = static_cast<const int64_t *>(index_.read(buffer, count));
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = indices[i] < 0 ? indices[i] + indexed_.count : indices[i];
      if (rest < 0 || rest >= indexed_.count) return inBounds(indices[i], indexed_.count);
      addresses[i] = indexed_.host;
      for (int32_t dim = indexed_.rank; dim-- > 0; rest /= indexed_.dims[dim]) {
        addresses[i] += rest % indexed_.dims[dim] * indexed_.strides[dim] * indexed_.item;
      }
    }
    return true;
  }

 private:
  static const Operand &as64(Operand *index) {
    index->compute = kI64;
    return *index;
  }

  const Operand &indexed_;
  Cursor index_;
};

/* The elements at the target, one after the other: bits are moved as they are. */
template <class Target>
aclError gatherElements(Target &source, const Operand &out) {
  char *addresses[kBlock];
  alignas(64) char buffer[kBlockBytes];
  Cursor target(out);
  for (int64_t first = 0, count; first < out.count; first += count) {
    count = std::min(kBlock, out.count - first);
    if (!source.read(addresses, count)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    gatherItems(buffer, addresses, count, out.item);
    target.write(buffer, count);
  }
  return ACL_SUCCESS;
}

/* self, dim, index, out */
aclError runGather(const aclOpExecutor &executor) {
  IndexCursor target(executor.operands[0], static_cast<int32_t>(executor.attributes[kDim]), executor.operands[1]);
  return gatherElements(target, executor.operands[2]);
}

/* self, index, out */
aclError runTake(const aclOpExecutor &executor) {
  FlatIndexCursor target(executor.operands[0], executor.operands[1]);
  return gatherElements(target, executor.operands[2]);
}

/* selfRef, index, source */
aclError runPut(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &index = executor.operands[1], &source = executor.operands[2];
  FlatIndexCursor target(self, index);
  return foldElements(target, self, source, index.count,
                      (executor.attributes[0] != 0 ? kFoldOf<Addition> : kFoldOf<Replacement>)[source.compute]);
}

bool isContiguous(const Operand &operand) {
  StridedRun run;
  return asStridedRun(operand, &run) && (run.count == 1 || run.stride == operand.item);
}

/* One slice for each index, moved at once. */
aclError runIndexSelect(const aclOpExecutor &executor) {
  Operand in = executor.operands[0], index = executor.operands[1], out = executor.operands[2];
  if (out.count == 0) return ACL_SUCCESS;
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  const int64_t size = in.rank == 0 ? 1 : in.dims[dim];
  const int64_t from_step = in.rank == 0 ? 0 : in.strides[dim] * in.item;
  const int64_t to_step = out.rank == 0 ? 0 : out.strides[dim] * out.item;
  const int64_t bytes = out.count / index.count * out.item;
  if (in.rank > 0) in.dims[dim] = out.dims[dim] = 1;
  const bool whole = isContiguous(in) && isContiguous(out);
  index.compute = kI64;
  Cursor indices(index);
  char *const start = in.host;
  int64_t buffer[kBlock];
  for (int64_t first = 0, length; first < index.count; first += length) {
    length = std::min(kBlock, index.count - first);
    const int64_t *places = static_cast<const int64_t *>(indices.read(buffer, length));
    for (int64_t i = 0; i < length; ++i, out.host += to_step) {
      if (!inBounds(places[i], size)) return ACL_ERROR_RT_AICORE_EXCEPTION;
      in.host = start + places[i] * from_step;
      if (whole) {
        std::memcpy(out.host, in.host, static_cast<size_t>(bytes));
      } else {
        convertView(in, out);
      }
    }
  }
  return ACL_SUCCESS;
}

/* self, index, src, out */
aclError runScatterAdd(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &out = executor.operands[3];
  if (self.address != out.address) convertView(self, out); /* else in place */
  return scatterElements(out, static_cast<int32_t>(executor.attributes[kDim]), executor.operands[1],
                         executor.operands[2], kFoldOf<Addition>[executor.operands[2].compute]);
}

/* data, indices, updates, then out where there is one: each line of indices is the position of a slice of updates. */
aclError runScatterNd(const aclOpExecutor &executor) {
  const Operand &data = executor.operands[0], &out = executor.operands.back();
  Operand indices = executor.operands[1];
  const Operand &updates = executor.operands[2];
  if (data.address != out.address) convertView(data, out); /* else in place */
  indices.compute = kI64;
  const int64_t length = indices.dims[indices.rank - 1];
  const int32_t trailing = out.rank - static_cast<int32_t>(length);
  Cursor lines(indices), slices(batchOf(updates, trailing));
  for (int64_t i = 0; i < indices.count; i += length, slices.skip(1)) {
    int64_t buffer[kMaxRank];
    const int64_t *line = static_cast<const int64_t *>(lines.read(buffer, length));
    char *address = out.host;
    for (int64_t dim = 0; dim < length; ++dim) {
      if (!inBounds(line[dim], out.dims[dim])) return ACL_ERROR_RT_AICORE_EXCEPTION;
      address += line[dim] * out.strides[dim] * out.item;
    }
    convertView(partAt(updates, trailing, slices.position(), updates.compute),
                partAt(out, trailing, address, out.compute));
  }
  return ACL_SUCCESS;
}

/* self, index, out: one value at all indices along dim. */
aclError runIndexFill(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0];
  Operand index = executor.operands[1], part = executor.operands[2];
  if (self.address != part.address) convertView(self, part);
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  const int64_t size = part.rank == 0 ? 1 : part.dims[dim], step = part.rank == 0 ? 0 : part.strides[dim] * part.item;
  if (part.rank > 0) part.dims[dim] = 1;
  const Constant value(executor.scalars[0], computeOf(part.type), part);
  Operand slice = part;
  slice.compute = value.operand().compute;
  index.compute = kI64;
  Cursor indices(index);
  for (int64_t i = 0; i < index.count; ++i) {
    int64_t buffer;
    int64_t at = *static_cast<const int64_t *>(indices.read(&buffer, 1));
    if (at < 0) at += size;
    if (!inBounds(at, size)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    slice.host = part.host + at * step;
    convertView(value.operand(), slice);
  }
  return ACL_SUCCESS;
}

/* selfRef, index, source: a slice of source for each index. */
aclError runIndexCopy(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0];
  Operand index = executor.operands[1], source = executor.operands[2], out = executor.operands.back();
  if (self.address != out.address) convertView(self, out);
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  const int64_t size = out.rank == 0 ? 1 : out.dims[dim], step = out.rank == 0 ? 0 : out.strides[dim] * out.item;
  const int64_t from_step = source.rank == 0 ? 0 : source.strides[dim] * source.item;
  if (out.rank > 0) out.dims[dim] = source.dims[dim] = 1;
  index.compute = kI64;
  Cursor indices(index);
  char *const start = out.host;
  for (int64_t i = 0; i < index.count; ++i, source.host += from_step) {
    int64_t buffer;
    const int64_t at = *static_cast<const int64_t *>(indices.read(&buffer, 1));
    if (!inBounds(at, size)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    out.host = start + at * step;
    convertView(source, out);
  }
  return ACL_SUCCESS;
}

/* self, on, off, out: one_hot; an index out of range gives `off` everywhere. */
aclError runOneHot(const aclOpExecutor &executor) {
  Operand self = executor.operands[0], on = executor.operands[1], off = executor.operands[2],
          out = executor.operands[3];
  for (Operand *operand : {&on, &off, &out}) operand->compute = kF64;
  self.compute = kI64;
  const int32_t axis = static_cast<int32_t>(executor.attributes[kDim]);
  const int64_t classes = out.dims[axis];
  double on_buffer;
  const double hot = *static_cast<const double *>(Cursor(on).read(&on_buffer, 1));
  double other;
  const double cold = *static_cast<const double *>(Cursor(off).read(&other, 1));
  Operand lines = out;
  lines.dims[axis] = 1;
  Cursor values(self), starts(lines);
  const StoreStrided store = storeStrided(out.type, kF64);
  for (int64_t i = 0; i < self.count; ++i, starts.skip(1)) {
    int64_t buffer;
    const int64_t value = *static_cast<const int64_t *>(values.read(&buffer, 1));
    for (int64_t c = 0; c < classes; ++c) {
      store(c == value ? &hot : &cold, starts.position() + c * out.strides[axis] * out.item, 0, 1);
    }
  }
  return ACL_SUCCESS;
}

aclnnStatus requireType(const aclOpExecutor &executor, const Operand &operand, aclDataType type) {
  if (operand.type == type) return ACLNN_SUCCESS;
  return refuse(executor, "{} has data type {}, expected {}, as self has", operand, operand.type, type);
}

aclnnStatus prepareGather(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &in = executor.operands[0], &index = executor.operands[1], &out = executor.operands[2];
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, in.rank, &dim));
  SIM_TRY(checkIndex(executor, index, in, dim));
  SIM_TRY(requireShape(executor, out, shapeOf(index)));
  SIM_TRY(requireType(executor, out, in.type));
  executor.attributes[kDim] = dim;
  executor.run = runGather;
  return ACLNN_SUCCESS;
}

aclnnStatus prepareTake(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const Operand &in = executor.operands[0], &out = executor.operands[2];
  SIM_TRY(requireShape(executor, out, shapeOf(executor.operands[1])));
  executor.run = runTake;
  return requireType(executor, out, in.type);
}

/* selfRef, index, source, accumulate */
aclnnStatus preparePut(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &self = executor.operands[0], &index = executor.operands[1];
  Operand &source = executor.operands[2];
  if (source.count != index.count) {
    return refuse(executor, "source has {} elements, expected {}, as index has", source.count, index.count);
  }
  source.compute = computeOf(self.type);
  executor.attributes[0] = arguments[3].integer;
  executor.run = runPut;
  return requireType(executor, source, self.type);
}

/* self, numClasses, onValue, offValue, axis, out: the classes are a new dimension */
aclnnStatus prepareOneHot(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &self = executor.operands[0], &on = executor.operands[1], &off = executor.operands[2];
  const int64_t classes = arguments[1].integer;
  int32_t axis;
  SIM_TRY(normalizeDim(executor, arguments[4].integer, self.rank + 1, &axis));
  if (classes < 0 || self.rank == static_cast<int32_t>(kMaxRank)) return refuse(executor, "no room for the classes");
  if (on.count != 1 || off.count != 1) return refuse(executor, "onValue or offValue is not one element");
  Shape shape = shapeOf(self);
  std::copy_backward(shape.dims + axis, shape.dims + shape.rank, shape.dims + shape.rank + 1);
  shape.dims[axis] = classes;
  ++shape.rank;
  executor.attributes[kDim] = axis;
  executor.run = runOneHot;
  return requireShape(executor, executor.operands[3], shape);
}

/* self, dim, index, value, out */
aclnnStatus prepareIndexFill(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &self = executor.operands[0], &index = executor.operands[1], &out = executor.operands[2];
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, self.rank, &dim));
  SIM_TRY(requireShape(executor, out, shapeOf(self)));
  SIM_TRY(requireType(executor, out, self.type));
  if (index.rank > 1) return refuse(executor, "index has {} dimensions, expected 1 at most", index.rank);
  executor.attributes[kDim] = dim;
  executor.run = runIndexFill;
  return ACLNN_SUCCESS;
}

/* selfRef, dim, index, source, then outRef where there is one */
aclnnStatus prepareIndexCopy(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand self = executor.operands[0];
  if (executor.operands.size() == 3) executor.operands.push() = self;
  const Operand &index = executor.operands[1], &source = executor.operands[2];
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, self.rank, &dim));
  if (index.rank > 1) return refuse(executor, "index has {} dimensions, expected 1 at most", index.rank);
  Shape shape = shapeOf(self);
  SIM_TRY(requireShape(executor, executor.operands.back(), shape));
  if (shape.rank > 0) shape.dims[dim] = index.count;
  SIM_TRY(requireShape(executor, source, shape));
  SIM_TRY(requireType(executor, source, self.type));
  SIM_TRY(requireType(executor, executor.operands.back(), self.type));
  executor.attributes[kDim] = dim;
  executor.run = runIndexCopy;
  return ACLNN_SUCCESS;
}

/* self, dim, index, out: index is a line, or one element. */
aclnnStatus prepareIndexSelect(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &in = executor.operands[0], &index = executor.operands[1], &out = executor.operands[2];
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, in.rank, &dim));
  if (index.rank > 1) return refuse(executor, "index has {} dimensions, expected 1 at most", index.rank);
  if (in.rank == 0 && index.count != 1) return refuse(executor, "self has no dimensions, index more than one element");
  Shape shape = shapeOf(in);
  if (in.rank > 0) shape.dims[dim] = index.count;
  SIM_TRY(requireShape(executor, out, shape));
  SIM_TRY(requireType(executor, out, in.type));
  executor.attributes[kDim] = dim;
  executor.run = runIndexSelect;
  return ACLNN_SUCCESS;
}

/* self, dim, index, src, out */
aclnnStatus prepareScatterAdd(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Operand &self = executor.operands[0], &index = executor.operands[1], &source = executor.operands[2];
  const Operand &out = executor.operands[3];
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, self.rank, &dim));
  SIM_TRY(checkIndex(executor, index, self, dim));
  SIM_TRY(checkIndex(executor, index, source, -1));
  SIM_TRY(requireShape(executor, out, shapeOf(self)));
  SIM_TRY(requireType(executor, source, self.type));
  SIM_TRY(requireType(executor, out, self.type));
  source.compute = computeOf(self.type);
  executor.attributes[kDim] = dim;
  executor.run = runScatterAdd;
  return ACLNN_SUCCESS;
}

/* data, indices, updates, then out where there is one */
aclnnStatus prepareScatterNd(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const Operand data = executor.operands[0];
  if (executor.operands.size() == 3) executor.operands.push() = data;
  const Operand &indices = executor.operands[1], &updates = executor.operands[2];
  if (indices.rank == 0) return refuse(executor, "indices has no dimensions, expected 1 or more");
  const int64_t length = indices.dims[indices.rank - 1];
  if (length < 1 || length > data.rank) {
    return refuse(executor, "indices has lines of {} numbers, expected 1 to {}", length, data.rank);
  }
  const int32_t lines = indices.rank - 1, trailing = data.rank - static_cast<int32_t>(length);
  if (lines + trailing > static_cast<int32_t>(kMaxRank)) {
    return refuse(executor, "updates would have {} dimensions", lines + trailing);
  }
  Shape shape = shapeOf(indices);
  shape.rank = lines + trailing;
  std::copy_n(data.dims + length, trailing, shape.dims + lines);
  SIM_TRY(requireShape(executor, updates, shape));
  SIM_TRY(requireShape(executor, executor.operands.back(), shapeOf(data)));
  SIM_TRY(requireType(executor, updates, data.type));
  SIM_TRY(requireType(executor, executor.operands.back(), data.type));
  executor.run = runScatterNd;
  return ACLNN_SUCCESS;
}

}  // namespace

namespace {

template <int Item>
void gatherAll(char *to, char *const *addresses, int64_t count) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(to + i * Item, addresses[i], Item);
}

/* Writes the value to the elements that the mask names. */
template <class Bits>
void fillMasked(char *const *addresses, const Boolean *mask, int64_t count, const char *value) {
  Bits bits;
  std::memcpy(&bits, value, sizeof bits);
  for (int64_t i = 0; i < count; ++i) {
    Bits element;
    std::memcpy(&element, addresses[i], sizeof element);
    element = mask[i] != 0 ? bits : element;
    std::memcpy(addresses[i], &element, sizeof element);
  }
}
using FillMasked = void (*)(char *const *addresses, const Boolean *mask, int64_t count, const char *value);

FillMasked fillMaskedOf(int32_t item) {
  switch (item) {
    case 1:
      return fillMasked<uint8_t>;
    case 2:
      return fillMasked<uint16_t>;
    case 4:
      return fillMasked<uint32_t>;
    case 8:
      return fillMasked<uint64_t>;
    default:
      return fillMasked<Complex>;
  }
}

}  // namespace

void gatherItems(char *to, char *const *addresses, int64_t count, int32_t item) {
  switch (item) {
    case 1:
      return gatherAll<1>(to, addresses, count);
    case 2:
      return gatherAll<2>(to, addresses, count);
    case 4:
      return gatherAll<4>(to, addresses, count);
    case 8:
      return gatherAll<8>(to, addresses, count);
    default:
      return gatherAll<sizeof(Complex)>(to, addresses, count);
  }
}

aclnnStatus checkIndex(const aclOpExecutor &executor, const Operand &index, const Operand &indexed, int32_t dim) {
  if (index.count == 0) return ACLNN_SUCCESS;
  const char *name = executor.op->parameters[indexed.parameter].name;
  if (std::max(index.rank, 1) != std::max(indexed.rank, 1)) {
    return refuse(executor, "index has {} dimensions, expected {}, as {} has", index.rank, indexed.rank, name);
  }
  for (int32_t i = 0; i < index.rank; ++i) {
    const int64_t size = indexed.rank == 0 ? 1 : indexed.dims[i];
    if (i == dim || index.dims[i] <= size) continue;
    return refuse(executor, "index has size {} in dim {}, expected {} at most, the size of {}", index.dims[i], i, size,
                  name);
  }
  return ACLNN_SUCCESS;
}

aclError scatterElements(const Operand &out, int32_t dim, const Operand &index, const Operand &source,
                         FoldElements fold) {
  Operand used = source; /* the part of it that index covers */
  for (int32_t i = 0; i < index.rank && i < used.rank; ++i) used.dims[i] = index.dims[i];
  IndexCursor target(out, dim, index);
  return foldElements(target, out, used, index.count, fold);
}

SIM_OP(aclnnGather, prepareGather, nullptr, 0)
SIM_OP(aclnnIndexSelect, prepareIndexSelect, nullptr, 0)
SIM_OP(aclnnOneHot, prepareOneHot, nullptr, 0)
SIM_OP(aclnnIndexFill, prepareIndexFill, nullptr, 0)
SIM_OP(aclnnIndexCopy, prepareIndexCopy, nullptr, 0)
SIM_OP(aclnnInplaceIndexCopy, prepareIndexCopy, nullptr, 0)
SIM_OP(aclnnScatterAdd, prepareScatterAdd, nullptr, 0)
SIM_OP(aclnnScatterNd, prepareScatterNd, nullptr, 0)
SIM_OP(aclnnScatterNdUpdate, prepareScatterNd, nullptr, 0)
SIM_OP(aclnnTake, prepareTake, nullptr, 0)
SIM_OP(aclnnInplacePut, preparePut, nullptr, 0)

/* Advanced indexing: index, index_put, index_add. */

namespace {

/* The dimensions that the indices broadcast to, and their position in the result. */
struct IndexedDims {
  int32_t position = 0;
  Shape shape;
};

bool broadcastIndices(const Operand *indices, int32_t count, IndexedDims *indexed_dims) {
  int32_t first = -1, last = -1, used = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (indices[i].count == 0) continue;
    if (!broadcastInto(&indexed_dims->shape, indices[i])) return false;
    if (first < 0) first = i;
    last = i;
    ++used;
  }
  /* Indices that are not adjacent put their dimensions first, as in NumPy. */
  indexed_dims->position = used > 0 && last - first + 1 == used ? first : 0;
  return true;
}

bool isIndexed(const Operand *indices, int32_t count, int32_t dim) { return dim < count && indices[dim].count > 0; }

/* A view with the dimensions of the result and strides of 0. */
Operand broadcastView(const Operand &operand, const Shape &result) {
  Operand view = operand;
  view.rank = result.rank;
  view.count = 1;
  for (int32_t i = 0; i < result.rank; ++i) {
    view.dims[i] = result.dims[i];
    view.strides[i] = 0;
    view.count *= result.dims[i];
  }
  return view;
}

Shape resultShape(const Operand &indexed, const Operand *indices, int32_t count, const IndexedDims &indexed_dims) {
  Shape shape;
  for (int32_t dim = 0; dim <= indexed.rank; ++dim) {
    for (int32_t i = 0; dim == indexed_dims.position && i < indexed_dims.shape.rank; ++i) {
      shape.dims[shape.rank++] = indexed_dims.shape.dims[i];
    }
    if (dim < indexed.rank && !isIndexed(indices, count, dim)) shape.dims[shape.rank++] = indexed.dims[dim];
  }
  return shape;
}

}  // namespace

AdvancedIndexCursor::AdvancedIndexCursor(const Operand &indexed, const Operand *indices, int32_t count) {
  IndexedDims indexed_dims;
  broadcastIndices(indices, count, &indexed_dims);
  const Shape shape = resultShape(indexed, indices, count, indexed_dims);
  Operand rest = broadcastView(indexed, shape);
  int32_t at = indexed_dims.position == 0 ? indexed_dims.shape.rank : 0;
  for (int32_t dim = 0; dim < indexed.rank; ++dim) {
    if (!isIndexed(indices, count, dim)) {
      if (at == indexed_dims.position && indexed_dims.position > 0) at += indexed_dims.shape.rank;
      rest.strides[at++] = indexed.strides[dim];
      continue;
    }
    Operand index = broadcastView(indices[dim], shape);
    index.compute = kI64;
    const int32_t shift = indexed_dims.position + indexed_dims.shape.rank - indices[dim].rank;
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

bool AdvancedIndexCursor::read(char **addresses, int64_t count) {
  int64_t buffer[kBlock];
  rest_->addresses(addresses, count);
  for (int32_t k = 0; k < axis_count_; ++k) {
    Axis &axis = axes_[k];
    const int64_t *indices = static_cast<const int64_t *>(axis.index->read(buffer, count));
    for (int64_t i = 0; i < count; ++i) {
      const int64_t index = indices[i] < 0 ? indices[i] + axis.size : indices[i];
      if (index < 0 || index >= axis.size) return inBounds(indices[i], axis.size);
      addresses[i] += index * axis.stride;
    }
  }
  return true;
}

aclnnStatus advancedIndexShape(const aclOpExecutor &executor, const Operand &indexed, const Operand *indices,
                               int32_t count, Shape *shape) {
  if (count > indexed.rank) return refuse(executor, "{} indices for {} dimensions", count, indexed.rank);
  for (int32_t i = 0; i < count; ++i) {
    if (indices[i].count == 0) continue;
    if (indices[i].type == ACL_BOOL || indices[i].type == ACL_UINT8) return refuseType(executor, indices[i].type);
    if (indices[i].type == ACL_FLOAT) return refuse(executor, "indices has data type FLOAT, expected INT32 or INT64");
  }
  IndexedDims indexed_dims;
  if (!broadcastIndices(indices, count, &indexed_dims)) return refuse(executor, "the indices do not broadcast");
  int32_t rank = indexed.rank + indexed_dims.shape.rank;
  for (int32_t i = 0; i < count; ++i) rank -= indices[i].count > 0;
  if (rank > static_cast<int32_t>(kMaxRank)) {
    return refuse(executor, "the result has {} dimensions, expected {} at most", rank, kMaxRank);
  }
  *shape = resultShape(indexed, indices, count, indexed_dims);
  return ACLNN_SUCCESS;
}

namespace {

/* self, indices.., out: bits are moved as they are. */
aclError runIndex(const aclOpExecutor &executor) {
  const int32_t count = static_cast<int32_t>(executor.operands.size()) - 2;
  const Operand &out = executor.operands.end()[-1];
  char *addresses[kBlock];
  alignas(64) char buffer[kBlockBytes];
  AdvancedIndexCursor source(executor.operands[0], executor.operands.begin() + 1, count);
  Cursor target(out);
  for (int64_t first = 0, length; first < out.count; first += length) {
    length = std::min(kBlock, out.count - first);
    if (!source.read(addresses, length)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    gatherItems(buffer, addresses, length, out.item);
    target.write(buffer, length);
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareIndex(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const int32_t count = static_cast<int32_t>(executor.operands.size()) - 2;
  const Operand &self = executor.operands[0];
  Operand &out = executor.operands.back();
  Shape shape;
  SIM_TRY(advancedIndexShape(executor, self, executor.operands.begin() + 1, count, &shape));
  SIM_TRY(requireShape(executor, out, shape));
  if (out.type != self.type) SIM_TRY(refuse(executor, "out has data type {}, expected {}", out.type, self.type));
  out.compute = kRaw;
  executor.run = runIndex;
  return ACLNN_SUCCESS;
}

/* selfRef, indices.., values */
aclError runIndexPut(const aclOpExecutor &executor) {
  const int32_t count = static_cast<int32_t>(executor.operands.size()) - 2;
  const Operand &out = executor.operands[0], &values = executor.operands.end()[-1];
  AdvancedIndexCursor target(out, executor.operands.begin() + 1, count);
  const FoldElements *fold = executor.attributes[kAccumulate] != 0 ? kFoldOf<Addition> : kFoldOf<Replacement>;
  return foldElements(target, out, values, values.count, fold[values.compute]);
}

aclnnStatus prepareIndexPut(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const int32_t count = static_cast<int32_t>(executor.operands.size()) - 2;
  const Operand &self = executor.operands[0];
  Operand &values = executor.operands.back();
  Shape shape;
  SIM_TRY(advancedIndexShape(executor, self, executor.operands.begin() + 1, count, &shape));
  Shape broadcast = shape;
  if (!broadcastInto(&broadcast, values) || broadcast.rank != shape.rank ||
      !std::equal(shape.dims, shape.dims + shape.rank, broadcast.dims)) {
    return refuse(executor, "values does not broadcast to what the indices pick");
  }
  if (values.type != self.type) return refuse(executor, "values has data type {}, expected {}", values.type, self.type);
  expandTo(&values, shape);
  values.count = 1;
  for (int32_t i = 0; i < shape.rank; ++i) values.count *= shape.dims[i];
  values.compute = computeOf(self.type);
  executor.attributes[kAccumulate] = arguments[3].integer;
  executor.run = runIndexPut;
  return ACLNN_SUCCESS;
}

template <class C>
void scaleBlock(void *block, int64_t count, const Scalar &number) {
  C *values = static_cast<C *>(block), factor = scalarAs<C>(number);
  for (int64_t i = 0; i < count; ++i) values[i] = multiply(values[i], factor);
}
using ScaleBlock = void (*)(void *, int64_t, const Scalar &);
constexpr ScaleBlock kScale[] = {scaleBlock<float>, scaleBlock<double>, scaleBlock<int64_t>, scaleBlock<Complex>};

constexpr int64_t kFewColumns = 4; /* so many elements of a row are added one by one */

/* False where one of the indices, of `size` places, counts from the end. */
bool countsFromFront(Operand indices, int64_t size) {
  indices.compute = kI64;
  Cursor cursor(indices);
  int64_t buffer[kBlock];
  for (int64_t first = 0, length; first < indices.count; first += length) {
    length = std::min(kBlock, indices.count - first);
    const int64_t *values = static_cast<const int64_t *>(cursor.read(buffer, length));
    for (int64_t i = 0; i < length; ++i) {
      if (values[i] < 0) return inBounds(values[i], size);
    }
  }
  return true;
}

template <class C>
SIM_CLONES void addRow(C *to, const C *from, C factor, int64_t count) {
  SIM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) to[i] = add(to[i], multiply(from[i], factor));
}

/* Whether `operand` has the compute type C and contiguous slices of its first dimension. */
template <class C>
bool hasRows(Operand operand) {
  if (operand.rank == 0 || operand.type != kTypeOf<C>) return false;
  operand.dims[0] = 1;
  return isContiguous(operand);
}

/* The same of such slices, each at once. */
template <class C>
aclError addRows(const Operand &index, const Operand &source, const Operand &out, C factor) {
  const int64_t width = source.count / source.dims[0];
  const int64_t from_step = source.strides[0] * source.item, to_step = out.strides[0] * out.item;
  Operand indices = index;
  indices.compute = kI64;
  Cursor cursor(indices);
  int64_t buffer[kBlock];
  const char *from = source.host;
  for (int64_t first = 0, length; first < index.count; first += length) {
    length = std::min(kBlock, index.count - first);
    const int64_t *places = static_cast<const int64_t *>(cursor.read(buffer, length));
    for (int64_t i = 0; i < length; ++i, from += from_step) {
      if (!inBounds(places[i], out.dims[0])) return ACL_ERROR_RT_AICORE_EXCEPTION;
      addRow(reinterpret_cast<C *>(out.host + places[i] * to_step), reinterpret_cast<const C *>(from), factor, width);
    }
  }
  return ACL_SUCCESS;
}

/* self, index, source, out: alpha times a slice of source is added to each slice that index names. */
aclError runIndexAdd(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &source = executor.operands[2], &out = executor.operands[3];
  const int64_t places = out.rank == 0 ? 1 : out.dims[executor.attributes[kDim]];
  if (!countsFromFront(executor.operands[1], places)) return ACL_ERROR_RT_AICORE_EXCEPTION;
  if (self.address != out.address) convertView(self, out);
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  if (source.count == 0) return ACL_SUCCESS;
  if (dim == 0 && source.count / executor.operands[1].count >= kFewColumns && hasRows<float>(source) &&
      hasRows<float>(out)) {
    return addRows<float>(executor.operands[1], source, out, scalarAs<float>(executor.scalars[0]));
  }
  Operand indices[kMaxRank] = {}; /* none but that of `dim` */
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
  AdvancedIndexCursor target(line, indices, dim + 1);
  Cursor values(source);
  char *addresses[kBlock];
  alignas(64) char buffer[kBlockBytes], scaled[kBlockBytes];
  const int64_t item = source.compute == kF32 ? sizeof(float) : source.compute == kC128 ? sizeof(Complex) : 8;
  for (int64_t first = 0, length; first < source.count; first += length) {
    length = std::min(kBlock, source.count - first);
    if (!target.read(addresses, length)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    std::memcpy(scaled, values.read(buffer, length), static_cast<size_t>(length * item));
    kScale[source.compute](scaled, length, executor.scalars[0]);
    kFoldOf<Addition>[source.compute](addresses, out.type, scaled, length);
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

/* scatter with all reductions, masked_fill. */

Constant::Constant(const Scalar &number, uint8_t compute, const Operand &shape) : operand_(shape) {
  const Complex complex(number.real, number.imaginary);
  const double real = number.real;
  const float single = static_cast<float>(number.real);
  const void *const values[] = {&single, &real, &number.integer, &complex};
  operand_ = contiguousOperand(shape, kComputeTypes[compute], value_);
  std::memcpy(value_, values[compute], static_cast<size_t>(operand_.item));
  std::fill(operand_.strides, operand_.strides + operand_.rank, 0);
}

namespace {

enum Reduction { kReplace, kAdd, kMultiply, kLargest, kSmallest, kMean, kReductionCount };

struct Product {
  template <class C>
  static C apply(C old, C value) {
    return multiply(old, value);
  }
};
struct Largest {
  template <class C>
  static C apply(C old, C value) {
    if constexpr (std::is_same<C, Complex>::value) {
      return old; /* refused by prepare */
    } else {
      return larger(old, value);
    }
  }
};
struct Smallest {
  template <class C>
  static C apply(C old, C value) {
    if constexpr (std::is_same<C, Complex>::value) {
      return old;
    } else {
      return smaller(old, value);
    }
  }
};
constexpr const FoldElements *kFolds[] = {kFoldOf<Replacement>, kFoldOf<Addition>, kFoldOf<Product>,
                                          kFoldOf<Largest>,     kFoldOf<Smallest>, kFoldOf<Addition>};

struct Scattered {
  const Operand &self, &index, &out;
  Operand source;
};

/* self, index, [src,] out */
Scattered scatteredOf(const aclOpExecutor &executor) {
  const auto &operands = executor.operands;
  return {operands[0], operands[1], operands.back(), operands[operands.size() > 3 ? 2 : 1]};
}

/* Divides by how many elements went into each. The counts lie in the workspace. */
template <class C>
void divideLine(char *element, LoadStrided load, StoreStrided store, int64_t count) {
  C value;
  load(element, 0, &value, 1);
  if constexpr (std::is_same<C, int64_t>::value) {
    value = value / count - (value % count != 0 && value < 0); /* torch rounds down */
  } else {
    value = value / static_cast<C>(static_cast<double>(count));
  }
  store(&value, element, 0, 1);
}
using DivideElement = void (*)(char *, LoadStrided, StoreStrided, int64_t);
constexpr DivideElement kDivide[] = {divideLine<float>, divideLine<double>, divideLine<int64_t>, divideLine<Complex>};

aclError average(const aclOpExecutor &executor, const Scattered &call, int32_t dim) {
  const Operand counts = contiguousOperand(call.out, ACL_INT64, executor.workspace);
  int64_t *const count = reinterpret_cast<int64_t *>(executor.workspace);
  std::fill(count, count + counts.count, executor.attributes[kIncludeSelf]);
  const Constant one({true, ACL_INT64, 1, 1.0, 0.0}, kI64, call.index);
  SIM_TRY(scatterElements(counts, dim, call.index, one.operand(), kFoldOf<Addition>[kI64]));
  const uint8_t compute = computeOf(call.out.type);
  const LoadStrided load = loadStrided(call.out.type, compute);
  const StoreStrided store = storeStrided(call.out.type, compute);
  Cursor elements(call.out);
  for (int64_t i = 0; i < counts.count; ++i, elements.skip(1)) {
    if (count[i] > 1) kDivide[compute](elements.position(), load, store, count[i]);
  }
  return ACL_SUCCESS;
}

aclError runScatter(const aclOpExecutor &executor) {
  const Scattered call = scatteredOf(executor);
  const int64_t reduction = executor.attributes[kReduction];
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  const uint8_t compute = computeOf(call.out.type);
  if (call.self.address != call.out.address) convertView(call.self, call.out);
  if (call.index.count == 0) return ACL_SUCCESS;
  const Constant number(executor.scalars[0], compute, call.index);
  const Operand &source = executor.scalar_count > 0 ? number.operand() : call.source;
  if (executor.attributes[kIncludeSelf] == 0) { /* replace self by the neutral element of the reduction */
    const int64_t neutral = reduction == kMultiply;
    const Constant start({true, ACL_INT64, neutral, static_cast<double>(neutral), 0.0}, compute, call.index);
    const bool ordered = reduction == kLargest || reduction == kSmallest; /* which is any element of source */
    SIM_TRY(
        scatterElements(call.out, dim, call.index, ordered ? source : start.operand(), kFoldOf<Replacement>[compute]));
  }
  SIM_TRY(scatterElements(call.out, dim, call.index, source, kFolds[reduction][compute]));
  return reduction == kMean ? average(executor, call, dim) : ACL_SUCCESS;
}

/* self, dim, index, src or value, reduce, [includeSelf,] [out] */
aclnnStatus prepareScatter(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const bool with_self = body.variant != 0; /* the operator has includeSelf */
  const int64_t reduction = arguments[4].integer;
  Operand &self = executor.operands[0], &index = executor.operands[1];
  const Scattered call = scatteredOf(executor);
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, self.rank, &dim));
  SIM_TRY(checkIndex(executor, index, self, dim));
  SIM_TRY(requireShape(executor, call.out, shapeOf(self)));
  if (reduction < 0 || reduction >= (with_self ? kReductionCount : kLargest)) {
    return refuse(executor, "reduce is {}", reduction);
  }
  if (executor.scalar_count == 0) {
    SIM_TRY(checkIndex(executor, index, call.source, -1));
    executor.operands[2].compute = computeOf(self.type);
  }
  if (call.out.type != self.type || (executor.scalar_count == 0 && call.source.type != self.type)) {
    return refuse(executor, "src and out must have self's data type, which is {}", self.type);
  }
  if (categoryOf(self.type) == kComplex && index.count > 0 && (reduction == kLargest || reduction == kSmallest)) {
    return refuseType(executor, self.type);
  }
  executor.attributes[kDim] = dim;
  executor.attributes[kReduction] = reduction;
  executor.attributes[kIncludeSelf] = with_self ? arguments[5].integer : 1;
  if (reduction == kMean) executor.workspace_size = roundUp(static_cast<uint64_t>(self.count) * sizeof(int64_t));
  executor.run = runScatter;
  return ACLNN_SUCCESS;
}

/* selfRef, mask, [value] */
aclError runMaskedFill(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &mask = executor.operands[1];
  char *addresses[kBlock];
  alignas(64) char value[sizeof(Complex)];
  Boolean truths[kBlock];
  if (executor.scalar_count > 0) {
    const Constant number(executor.scalars[0], computeOf(self.type), self);
    storeStrided(self.type, computeOf(self.type))(number.operand().host, value, 0, 1);
  } else {
    std::memcpy(value, executor.operands[2].host, static_cast<size_t>(self.item));
  }
  const FillMasked fill = fillMaskedOf(self.item);
  Cursor elements(self), masked(mask);
  for (int64_t first = 0, length; first < self.count; first += length) {
    length = std::min(kBlock, self.count - first);
    const Boolean *truth = static_cast<const Boolean *>(masked.read(truths, length));
    elements.addresses(addresses, length);
    fill(addresses, truth, length, value);
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareMaskedFill(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const Operand &self = executor.operands[0];
  Operand &mask = executor.operands[1];
  Shape shape = shapeOf(self);
  if (!broadcastInto(&shape, mask)) return refuse(executor, "mask does not broadcast to selfRef");
  SIM_TRY(requireShape(executor, self, shape));
  if (executor.scalar_count == 0 && executor.operands[2].type != self.type) {
    return refuse(executor, "value has data type {}, expected {}", executor.operands[2].type, self.type);
  }
  expandTo(&mask, shape);
  mask.count = self.count;
  mask.compute = kBoolean8;
  executor.run = runMaskedFill;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnScatter, prepareScatter, nullptr, 0)
SIM_OP(aclnnScatterValue, prepareScatter, nullptr, 0)
SIM_OP(aclnnScatterReduce, prepareScatter, nullptr, 1)
SIM_OP(aclnnInplaceMaskedFillScalar, prepareMaskedFill, nullptr, 0)
SIM_OP(aclnnInplaceMaskedFillTensor, prepareMaskedFill, nullptr, 0)

/* Embedding and the gradient of its table. */

namespace {

/* Iterates over row indices. */
class RowIndices {
 public:
  RowIndices(Operand indices, int64_t rows) : rows_(rows), cursor_(as64(indices)) {}

  /* False: there is no such row, which faults on the device. */
  bool next(int64_t *row) {
    int64_t buffer;
    *row = *static_cast<const int64_t *>(cursor_.read(&buffer, 1));
    return inBounds(*row, rows_);
  }

 private:
  static Operand &as64(Operand &indices) {
    indices.compute = kI64;
    return indices;
  }

  int64_t rows_;
  Cursor cursor_;
};

/* weight, indices, out */
aclError runEmbedding(const aclOpExecutor &executor) {
  const Operand &weight = executor.operands[0], &indices = executor.operands[1], &out = executor.operands[2];
  if (out.count == 0) return ACL_SUCCESS;
  const uint8_t compute = computeOf(weight.type);
  const LoadStrided load = loadStrided(weight.type, compute);
  RowIndices scalars(indices, weight.dims[0]);
  SliceCursor target(out, out.rank - 1, compute);
  for (int64_t i = 0, row; i < indices.count; ++i, target.next()) {
    if (!scalars.next(&row)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    load(weight.host + row * weight.strides[0] * weight.item, weight.strides[1] * weight.item, executor.workspace,
         weight.dims[1]);
    target.write(executor.workspace);
  }
  return ACL_SUCCESS;
}

/* How often each row is asked for. */
bool countRows(const Operand &indices, int64_t *counts, int64_t rows) {
  std::fill(counts, counts + rows, 0);
  RowIndices scalars(indices, rows);
  for (int64_t i = 0, row; i < indices.count; ++i) {
    if (!scalars.next(&row)) return false;
    ++counts[row];
  }
  return true;
}

/* grad, indices, out: sums in double, rounded once a row. */
aclError runEmbeddingBackward(const aclOpExecutor &executor) {
  const Operand &grad = executor.operands[0], &indices = executor.operands[1], &out = executor.operands[2];
  const int64_t rows = out.dims[0], width = out.dims[1];
  if (out.count == 0) return ACL_SUCCESS;
  int64_t *counts = reinterpret_cast<int64_t *>(executor.workspace);
  double *sums = reinterpret_cast<double *>(counts + rows), *line = sums + rows * width;
  if (!countRows(indices, counts, rows)) return ACL_ERROR_RT_AICORE_EXCEPTION;
  std::fill(sums, sums + rows * width, 0.0);
  RowIndices scalars(indices, rows);
  SliceCursor source(grad, grad.rank - 1, kF64);
  for (int64_t i = 0, row; i < indices.count; ++i, source.next()) {
    scalars.next(&row);
    if (row == executor.attributes[kPadding]) continue;
    const double scale = executor.attributes[kByFrequency] != 0 ? 1.0 / static_cast<double>(counts[row]) : 1.0;
    source.read(line);
    for (int64_t k = 0; k < width; ++k) sums[row * width + k] += line[k] * scale;
  }
  SliceCursor target(out, 1, kF64);
  for (int64_t row = 0; row < rows; ++row, target.next()) target.write(sums + row * width);
  return ACL_SUCCESS;
}

/* selfRef, indices, maxNorm, normType: rows that are longer are shortened, each once. */
double lengthOf(const double *line, int64_t count, double p) {
  double total = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double size = std::fabs(line[i]);
    total = std::isinf(p) ? larger(total, size) : total + (p == 0 ? size != 0 : std::pow(size, p));
  }
  return std::isinf(p) || p == 0 ? total : std::pow(total, 1 / p);
}

aclError runEmbeddingRenorm(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &indices = executor.operands[1];
  const int64_t rows = self.dims[0], width = self.dims[1];
  const double most = executor.scalars[0].real, p = executor.scalars[1].real;
  double *line = reinterpret_cast<double *>(executor.workspace);
  int64_t *counts = reinterpret_cast<int64_t *>(line + width);
  if (!countRows(indices, counts, rows)) return ACL_ERROR_RT_AICORE_EXCEPTION;
  SliceCursor position(self, 1, kF64);
  for (int64_t row = 0; row < rows; ++row, position.next()) {
    if (counts[row] == 0) continue;
    position.read(line);
    const double length = lengthOf(line, width, p);
    if (!(length > most)) continue;
    for (int64_t i = 0; i < width; ++i) line[i] *= most / (length + 1e-7);
    position.write(line);
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareEmbeddingRenorm(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &self = executor.operands[0];
  const double p = arguments[3].real;
  if (std::isnan(p) || (std::isinf(p) && p < 0)) return refuse(executor, "normType is {}", p);
  executor.scalars[0] = {true, self.type, 0, arguments[2].real, 0};
  executor.scalars[1] = {true, self.type, 0, p, 0};
  executor.workspace_size = roundUp(static_cast<uint64_t>(self.dims[0] + self.dims[1]) * 8);
  executor.run = runEmbeddingRenorm;
  return ACLNN_SUCCESS;
}

/* The shape of the indices, with the table's width behind it. */
aclnnStatus requireRows(const aclOpExecutor &executor, const Operand &table, const Operand &indices,
                        const Operand &rows) {
  if (table.rank != 2) return refuse(executor, "the table has {} dimensions, expected 2", table.rank);
  if (categoryOf(indices.type) != kInteger) return refuseType(executor, indices.type);
  Shape shape = shapeOf(indices);
  if (shape.rank == kMaxRank) return refuse(executor, "indices has {} dimensions, too many", shape.rank);
  shape.dims[shape.rank++] = table.dims[1];
  return requireShape(executor, rows, shape);
}

aclnnStatus prepareEmbedding(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const Operand &weight = executor.operands[0], &out = executor.operands[2];
  if (out.type != weight.type) return refuse(executor, "out has data type {}", out.type);
  SIM_TRY(requireRows(executor, weight, executor.operands[1], out));
  executor.workspace_size = roundUp(static_cast<uint64_t>(weight.dims[1]) * sizeof(Complex));
  executor.run = runEmbedding;
  return ACLNN_SUCCESS;
}

/* grad, indices, numWeights, paddingIdx, scaleGradByFreq, out */
aclnnStatus prepareEmbeddingBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &grad = executor.operands[0], &out = executor.operands[2];
  if (categoryOf(grad.type) != kFloating) return refuseType(executor, grad.type);
  SIM_TRY(requireRows(executor, out, executor.operands[1], grad));
  if (out.dims[0] != arguments[2].integer) {
    return refuse(executor, "out has {} rows, numWeights is {}", out.dims[0], arguments[2].integer);
  }
  executor.attributes[kPadding] = arguments[3].integer;
  executor.attributes[kByFrequency] = arguments[4].integer;
  executor.workspace_size = roundUp(static_cast<uint64_t>(out.dims[0] + (out.dims[0] + 1) * out.dims[1]) * 8);
  executor.run = runEmbeddingBackward;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnEmbedding, prepareEmbedding, nullptr, 0)
SIM_OP(aclnnEmbeddingDenseBackward, prepareEmbeddingBackward, nullptr, 0)
SIM_OP(aclnnEmbeddingRenorm, prepareEmbeddingRenorm, nullptr, 0)

/* Operators whose output size depends on values: masked_select, nonzero, bincount. */

namespace {

/* --- aclnnMaskedSelect, aclnnInplaceMaskedScatter ------------------------------------------------------------------*/

/* self, mask, out: bits are moved as they are. */
aclError runMaskedSelect(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &out = executor.operands[2];
  Cursor values(self), mask(executor.operands[1]), target(out);
  alignas(64) char buffer[kBlockBytes];
  Boolean truths[kBlock];
  int64_t found = 0;
  const int64_t total = executor.operands[1].count;
  for (int64_t first = 0, count; first < total; first += count) {
    count = std::min(kBlock, total - first);
    const Boolean *wanted = static_cast<const Boolean *>(mask.read(truths, count));
    int64_t kept = 0;
    for (int64_t i = 0; i < count; ++i, values.skip(1)) {
      if (wanted[i] == 0) continue;
      std::memcpy(buffer + kept++ * self.item, values.position(), static_cast<size_t>(self.item));
    }
    if (found + kept > out.count) return ACL_ERROR_RT_AICORE_EXCEPTION;
    if (kept > 0) target.write(buffer, kept);
    found += kept;
  }
  reportShape(executor, 0, vectorShape(found));
  return ACL_SUCCESS;
}

int64_t elementsOf(const Shape &shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; ++i) count *= shape.dims[i];
  return count;
}

void expandAndCount(Operand *operand, const Shape &shape) {
  expandTo(operand, shape);
  operand->count = elementsOf(shape);
}

aclnnStatus prepareMaskedSelect(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Operand &self = executor.operands[0], &mask = executor.operands[1];
  const Operand &out = executor.operands[2];
  Shape shape = shapeOf(self);
  if (!broadcastInto(&shape, mask)) return refuse(executor, "the shape of mask cannot be broadcast with that of self");
  if (out.type != self.type) return refuse(executor, "out has data type {}, expected {}", out.type, self.type);
  SIM_TRY(requireShape(executor, out, vectorShape(elementsOf(shape)))); /* room for all there may be */
  expandAndCount(&self, shape);
  expandAndCount(&mask, shape);
  mask.compute = kBoolean8;
  expectShape(executor, out, 0);
  executor.run = runMaskedSelect;
  return ACLNN_SUCCESS;
}

/* selfRef, mask, source: as many elements of source as the mask holds, one after the other. */
aclError runMaskedScatter(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &source = executor.operands[2];
  Cursor target(self), mask(executor.operands[1]), values(source);
  Boolean truths[kBlock];
  int64_t taken = 0;
  for (int64_t first = 0, count; first < self.count; first += count) {
    count = std::min(kBlock, self.count - first);
    const Boolean *wanted = static_cast<const Boolean *>(mask.read(truths, count));
    for (int64_t i = 0; i < count; ++i, target.skip(1)) {
      if (wanted[i] == 0) continue;
      if (taken++ == source.count) return ACL_ERROR_RT_AICORE_EXCEPTION;
      std::memcpy(target.position(), values.position(), static_cast<size_t>(self.item));
      values.skip(1);
    }
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareMaskedScatter(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const Operand &self = executor.operands[0], &source = executor.operands[2];
  Operand &mask = executor.operands[1];
  Shape shape = shapeOf(self);
  if (!broadcastInto(&shape, mask) || elementsOf(shape) != self.count || shape.rank != self.rank) {
    return refuse(executor, "the shape of mask cannot be broadcast to that of selfRef");
  }
  if (source.type != self.type) return refuse(executor, "source has data type {}, expected {}", source.type, self.type);
  expandAndCount(&mask, shape);
  mask.compute = kBoolean8;
  executor.run = runMaskedScatter;
  return ACLNN_SUCCESS;
}

/* --- aclnnNonzero, aclnnNonzeroV2 ----------------------------------------------------------------------------------*/

int64_t countTrue(const Operand &self) {
  Cursor values(self);
  Boolean buffer[kBlock];
  int64_t found = 0;
  for (int64_t first = 0, length; first < self.count; first += length) {
    length = std::min(kBlock, self.count - first);
    const Boolean *truth = static_cast<const Boolean *>(values.read(buffer, length));
    for (int64_t i = 0; i < length; ++i) found += truth[i] != 0;
  }
  return found;
}

/* The positions of all elements that are not 0, a row each (V2: a column each), as a dense tensor of the shape found;
 * what is left of out stays as it is. */
aclError runNonzero(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &out = executor.operands[1];
  Cursor values(self);
  Boolean buffer[kBlock];
  const int32_t along = executor.attributes[0] != 0 ? 1 : 0;
  Shape shape = shapeOf(out);
  shape.dims[along] = countTrue(self);
  if (shape.dims[along] * self.rank > out.count) return ACL_ERROR_RT_AICORE_EXCEPTION;
  const int64_t step = along == 1 ? 1 : self.rank, across = along == 1 ? shape.dims[1] : 1;
  int64_t position[kMaxRank] = {}, *to = reinterpret_cast<int64_t *>(out.host);
  for (int64_t first = 0, length; first < self.count; first += length) {
    length = std::min(kBlock, self.count - first);
    const Boolean *truth = static_cast<const Boolean *>(values.read(buffer, length));
    for (int64_t i = 0; i < length; ++i) {
      if (truth[i] != 0) {
        for (int32_t dim = 0; dim < self.rank; ++dim) to[dim * across] = position[dim];
        to += step;
      }
      for (int32_t dim = self.rank; dim-- > 0 && ++position[dim] == self.dims[dim];) position[dim] = 0;
    }
  }
  reportShape(executor, 0, shape);
  return ACL_SUCCESS;
}

aclnnStatus prepareNonzero(aclOpExecutor &executor, const Argument *, const OpBody &body) {
  Operand &self = executor.operands[0];
  const Operand &out = executor.operands[1];
  const int32_t along = body.variant != 0 ? 1 : 0;
  if (out.rank != 2 || out.dims[1 - along] != self.rank || out.dims[along] > self.count) {
    return refuse(executor, "out does not have {} positions of {} dimensions, which is all there may be", self.count,
                  self.rank);
  }
  self.compute = kBoolean8;
  expectShape(executor, out, 0);
  executor.attributes[0] = body.variant;
  executor.run = runNonzero;
  return ACLNN_SUCCESS;
}

/* --- aclnnBincount -------------------------------------------------------------------------------------------------*/

/* self, weights, minlength, out: a value beyond out is a fault. */
aclError runBincount(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &weights = executor.operands[1];
  Operand out = executor.operands[2];
  double *sums = reinterpret_cast<double *>(executor.workspace);
  std::fill_n(sums, out.count, 0.0);
  Cursor values(self), amounts(weights);
  for (int64_t i = 0; i < self.count; ++i) {
    int64_t buffer;
    double amount = 1.0;
    const int64_t value = *static_cast<const int64_t *>(values.read(&buffer, 1));
    if (executor.attributes[0] != 0) amount = *static_cast<const double *>(amounts.read(&amount, 1));
    if (value < 0 || value >= out.count) return ACL_ERROR_RT_AICORE_EXCEPTION;
    sums[value] += amount;
  }
  writeElements(out, sums);
  return ACL_SUCCESS;
}

aclnnStatus prepareBincount(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Operand &self = executor.operands[0], &weights = executor.operands[1];
  const Operand &out = executor.operands[2];
  if (self.rank > 1 || out.rank != 1) return refuse(executor, "self or out is no line");
  if (out.count < arguments[2].integer) return refuse(executor, "out is shorter than minlength");
  if (weights.tensor != nullptr && weights.count != self.count) {
    return refuse(executor, "weights has {} elements, expected {}", weights.count, self.count);
  }
  executor.attributes[0] = weights.tensor != nullptr;
  if (weights.tensor == nullptr) weights = self; /* never read */
  self.compute = kI64;
  weights.compute = kF64;
  executor.run = runBincount;
  executor.workspace_size = roundUp(static_cast<uint64_t>(out.count) * sizeof(double));
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnMaskedSelect, prepareMaskedSelect, nullptr, 0)
SIM_OP(aclnnInplaceMaskedScatter, prepareMaskedScatter, nullptr, 0)
SIM_OP(aclnnNonzero, prepareNonzero, nullptr, 0)
SIM_OP(aclnnNonzeroV2, prepareNonzero, nullptr, 1)
SIM_OP(aclnnBincount, prepareBincount, nullptr, 0)

}  // namespace sim
