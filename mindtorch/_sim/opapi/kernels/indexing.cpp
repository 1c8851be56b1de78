#include "opapi/indexing.h"

namespace sim {
namespace {

enum Attribute { kDim };

/* For each element of `index` the address of that element of `indexed`, counted as if it were one line; what is below 0
 * counts from the end. */
class LinePlaces {
 public:
  LinePlaces(const Operand &indexed, Operand index) : indexed_(indexed), index_(as64(&index)) {}

  /* The next `count` (at most kBlock) addresses. False: an index out of range, which faults on the device. */
  bool read(char **addresses, int64_t count) {
    int64_t buffer[kBlock];
    const int64_t *indices = static_cast<const int64_t *>(index_.read(buffer, count));
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = indices[i] < 0 ? indices[i] + indexed_.count : indices[i];
      if (rest < 0 || rest >= indexed_.count) return false;
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

/* The elements at the places, one after the other: bits are moved as they are. */
template <class Places>
aclError collect(Places &source, const Operand &out) {
  char *addresses[kBlock];
  alignas(64) char buffer[kBlockBytes];
  Cursor target(out);
  for (int64_t first = 0, count; first < out.count; first += count) {
    count = std::min(kBlock, out.count - first);
    if (!source.read(addresses, count)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(buffer + i * out.item, addresses[i], static_cast<size_t>(out.item));
    }
    target.write(buffer, count);
  }
  return ACL_SUCCESS;
}

/* self, dim, index, out */
aclError runGather(const aclOpExecutor &executor) {
  IndexCursor places(executor.operands[0], static_cast<int32_t>(executor.attributes[kDim]), executor.operands[1]);
  return collect(places, executor.operands[2]);
}

/* self, index, out */
aclError runTake(const aclOpExecutor &executor) {
  LinePlaces places(executor.operands[0], executor.operands[1]);
  return collect(places, executor.operands[2]);
}

/* selfRef, index, source */
aclError runPut(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0], &index = executor.operands[1], &source = executor.operands[2];
  LinePlaces places(self, index);
  return foldElements(places, self, source, index.count,
                      (executor.attributes[0] != 0 ? kFoldOf<Addition> : kFoldOf<Replacement>)[source.compute]);
}

/* One slice for each index, moved at once. */
aclError runIndexSelect(const aclOpExecutor &executor) {
  Operand in = executor.operands[0], index = executor.operands[1], out = executor.operands[2];
  if (out.count == 0) return ACL_SUCCESS;
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  const int64_t size = in.rank == 0 ? 1 : in.dims[dim];
  const int64_t from_step = in.rank == 0 ? 0 : in.strides[dim] * in.item;
  const int64_t to_step = out.rank == 0 ? 0 : out.strides[dim] * out.item;
  if (in.rank > 0) in.dims[dim] = out.dims[dim] = 1;
  index.compute = kI64;
  Cursor indices(index);
  char *const start = in.host;
  for (int64_t i = 0; i < index.count; ++i, out.host += to_step) {
    int64_t value;
    value = *static_cast<const int64_t *>(indices.read(&value, 1));
    if (value < 0 || value >= size) return ACL_ERROR_RT_AICORE_EXCEPTION;
    in.host = start + value * from_step;
    convertView(in, out);
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

/* self, index, out: one value at all indices along dim. */
aclError runIndexFill(const aclOpExecutor &executor) {
  const Operand &self = executor.operands[0];
  Operand index = executor.operands[1], part = executor.operands[2];
  if (self.address != part.address) convertView(self, part);
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  const int64_t size = part.rank == 0 ? 1 : part.dims[dim], step = part.rank == 0 ? 0 : part.strides[dim] * part.item;
  if (part.rank > 0) part.dims[dim] = 1;
  const Constant value(executor.numbers[0], computeOf(part.type), part);
  Operand slice = part;
  slice.compute = value.operand().compute;
  index.compute = kI64;
  Cursor indices(index);
  for (int64_t i = 0; i < index.count; ++i) {
    int64_t room;
    int64_t at = *static_cast<const int64_t *>(indices.read(&room, 1));
    if (at < 0) at += size;
    if (at < 0 || at >= size) return ACL_ERROR_RT_AICORE_EXCEPTION;
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
    int64_t room;
    const int64_t at = *static_cast<const int64_t *>(indices.read(&room, 1));
    if (at < 0 || at >= size) return ACL_ERROR_RT_AICORE_EXCEPTION;
    out.host = start + at * step;
    convertView(source, out);
  }
  return ACL_SUCCESS;
}

/* self, on, off, out: on where the index along the axis is the value, off elsewhere, which is all of it for a value out
 * of range. */
aclError runOneHot(const aclOpExecutor &executor) {
  Operand self = executor.operands[0], on = executor.operands[1], off = executor.operands[2],
          out = executor.operands[3];
  for (Operand *operand : {&on, &off, &out}) operand->compute = kF64;
  self.compute = kI64;
  const int32_t axis = static_cast<int32_t>(executor.attributes[kDim]);
  const int64_t classes = out.dims[axis];
  double room;
  const double hot = *static_cast<const double *>(Cursor(on).read(&room, 1));
  double other;
  const double cold = *static_cast<const double *>(Cursor(off).read(&other, 1));
  Operand lines = out;
  lines.dims[axis] = 1;
  Cursor values(self), starts(lines);
  const StoreRow store = storeRow(out.type, kF64);
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

}  // namespace

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
                         FoldElement fold) {
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
SIM_OP(aclnnTake, prepareTake, nullptr, 0)
SIM_OP(aclnnInplacePut, preparePut, nullptr, 0)

}  // namespace sim
