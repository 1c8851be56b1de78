/* Filling, copying, joining and rearranging elements. */
#include <algorithm>

#include "opapi/loops.h"

/* Filling, counting up, copying, converting. */

namespace sim {
namespace {

template <class C>
void fillLoop(const LoopArguments &arguments) {
  C value = scalarAs<C>(arguments.scalars[0]);
  C *out = static_cast<C *>(arguments.out);
  for (int64_t i = 0; i < arguments.count; ++i) out[i] = value;
}

SIM_ELEMENT(Zero, 1, kAll, 0, C(0))
SIM_ELEMENT(Same, 1, kAll, 0, x)

constexpr Loop kFill[] = {fillLoop<float>, fillLoop<double>, fillLoop<int64_t>, fillLoop<Complex>};

/* The operand is written only. */
aclnnStatus prepareFillWith(aclOpExecutor &executor, const Scalar &value) {
  Operand &out = executor.operands[0];
  executor.scalars[0] = value;
  executor.scalar_count = 1;
  out.role = kOut;
  executor.attributes[0] = computeOf(out.type);
  executor.kernel = &kFill[computeOf(out.type)];
  executor.run = runElementwise;
  return ACLNN_SUCCESS;
}

aclnnStatus prepareFillConstant(aclOpExecutor &executor, const Argument *, const OpBody &body) {
  return prepareFillWith(executor, {true, ACL_INT64, body.variant, static_cast<double>(body.variant), 0.0});
}

aclnnStatus prepareFillScalar(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Scalar value = executor.scalars[0];
  if (categoryOf(value.type) == kComplex && categoryOf(executor.operands[0].type) != kComplex) {
    return refuse(executor, "value is complex, selfRef is not");
  }
  return prepareFillWith(executor, value);
}

aclnnStatus prepareFillTensor(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Operand &value = executor.operands[1];
  if (value.count != 1 || value.rank > 1) {
    return refuse(executor, "value has {} elements in {} dimensions, expected one element", value.count, value.rank);
  }
  value.rank = 0;
  return prepareCopy(executor, value, executor.operands[0]);
}

aclnnStatus prepareInplaceCopy(aclOpExecutor &executor, const Argument *, const OpBody &) {
  return prepareCopy(executor, executor.operands[1], executor.operands[0]);
}

aclnnStatus prepareCast(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Operand &out = executor.operands[1];
  aclDataType type = static_cast<aclDataType>(arguments[1].integer);
  if (type != out.type) return refuse(executor, "out has data type {}, expected dtype, which is {}", out.type, type);
  SIM_TRY(requireShape(executor, out, shapeOf(executor.operands[0])));
  return prepareCopy(executor, executor.operands[0], out);
}

/* Integer outputs count in int64, others in double. */
template <class C>
void arangeLoop(const LoopArguments &arguments) {
  using Step = std::conditional_t<std::is_same<C, int64_t>::value, int64_t, double>;
  Step start = scalarAs<Step>(arguments.scalars[0]), step = scalarAs<Step>(arguments.scalars[2]);
  C *out = static_cast<C *>(arguments.out);
  for (int64_t i = 0; i < arguments.count; ++i) {
    out[i] = static_cast<C>(add(start, multiply(static_cast<Step>(arguments.first + i), step)));
  }
}

constexpr Loop kArange[] = {arangeLoop<float>, arangeLoop<double>, arangeLoop<int64_t>};

/* ceil((end - start) / step), exact for integers: a double would round those beyond 2^53. */
double lengthOf(const Scalar *scalars, bool integral) {
  if (!integral) return std::ceil((scalars[1].real - scalars[0].real) / scalars[2].real);
  uint64_t start = static_cast<uint64_t>(scalars[0].integer), end = static_cast<uint64_t>(scalars[1].integer);
  uint64_t step = static_cast<uint64_t>(scalars[2].integer);
  bool up = scalars[2].integer > 0;
  uint64_t span = up ? end - start : start - end, pace = up ? step : 0 - step;
  return static_cast<double>(span / pace + (span % pace != 0));
}

aclnnStatus prepareArange(aclOpExecutor &executor, const Argument *, const OpBody &) {
  Operand &out = executor.operands[0];
  const Scalar *scalars = executor.scalars;
  double start = scalars[0].real, end = scalars[1].real, step = scalars[2].real;
  if (step == 0.0 || isNan(step) || (step > 0.0 ? start > end : start < end)) {
    return refuse(executor, "no sequence goes from {} to {} in steps of {}", start, end, step);
  }
  uint8_t compute = computeOf(out.type);
  bool integral = compute == kI64 && std::all_of(scalars, scalars + 3,
                                                 [](const Scalar &number) { return computeOf(number.type) == kI64; });
  double length = lengthOf(scalars, integral);
  if (!(length < 0x1p62))
    return refuse(executor, "the sequence from {} to {} in steps of {} is too long", start, end, step);
  if (out.count != static_cast<int64_t>(length)) {
    return refuse(executor, "out has {} elements, the sequence from {} to {} in steps of {} has {}", out.count, start,
                  end, step, length);
  }
  executor.attributes[0] = compute;
  executor.kernel = &kArange[compute];
  executor.run = runElementwise;
  return ACLNN_SUCCESS;
}

/* Computed from the nearer end, so that both ends are exact. */
template <class C>
void linspaceLoop(const LoopArguments &arguments) {
  using Real = std::conditional_t<std::is_same<C, float>::value, float, double>;
  const Real start = scalarAs<Real>(arguments.scalars[0]), end = scalarAs<Real>(arguments.scalars[1]);
  const int64_t steps = arguments.scalars[2].integer;
  const Real step = steps > 1 ? (end - start) / static_cast<Real>(steps - 1) : 0;
  C *out = static_cast<C *>(arguments.out);
  for (int64_t i = 0; i < arguments.count; ++i) {
    const int64_t index = arguments.first + i, left = steps - 1 - index;
    const bool from_start = index < steps / 2 || steps == 1;
    out[i] =
        static_cast<C>(from_start ? start + step * static_cast<Real>(index) : end - step * static_cast<Real>(left));
  }
}

constexpr Loop kLinspace[] = {linspaceLoop<float>, linspaceLoop<double>, linspaceLoop<int64_t>};

aclnnStatus prepareLinspace(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Operand &out = executor.operands[0];
  Shape shape = {1, {arguments[2].integer}};
  if (shape.dims[0] < 0) return refuse(executor, "steps is {}", shape.dims[0]);
  SIM_TRY(requireShape(executor, out, shape));
  const uint8_t compute = computeOf(out.type);
  executor.scalars[2] = {true, ACL_INT64, shape.dims[0], 0.0, 0.0};
  executor.attributes[0] = compute;
  executor.kernel = &kLinspace[compute];
  executor.run = runElementwise;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnInplaceZero, prepareFillConstant, nullptr, 0)
SIM_OP(aclnnInplaceOne, prepareFillConstant, nullptr, 1)
SIM_OP(aclnnInplaceFillScalar, prepareFillScalar, nullptr, 0)
SIM_OP(aclnnInplaceFillTensor, prepareFillTensor, nullptr, 0)
SIM_OP(aclnnInplaceCopy, prepareInplaceCopy, nullptr, 0)
SIM_OP(aclnnCast, prepareCast, nullptr, 0)
SIM_OP(aclnnArange, prepareArange, nullptr, 0)
SIM_OP(aclnnLinspace, prepareLinspace, nullptr, 0)
SIM_FOREACH(aclnnForeachZeroInplace, Zero)
SIM_FOREACH(aclnnForeachCopy, Same)

/* cat and stack copy each input to its slice of the output. */

namespace {

/* As in torch, cat ignores empty one-dimensional tensors. */
bool isLegacyEmpty(const Operand &operand) { return operand.rank == 1 && operand.dims[0] == 0; }

aclError runJoin(const aclOpExecutor &executor) {
  uint32_t inputs = executor.operands.size() - 1;
  Operand out = executor.operands[inputs];
  const int32_t dim = static_cast<int32_t>(executor.attributes[0]);
  const bool stack = executor.attributes[1] != 0;
  for (uint32_t i = 0; i < inputs; ++i) {
    Operand in = executor.operands[i];
    if (in.count == 0) continue;
    if (stack) {
      for (int32_t k = in.rank++; k > dim; --k) {
        in.dims[k] = in.dims[k - 1];
        in.strides[k] = in.strides[k - 1];
      }
      in.dims[dim] = 1;
      in.strides[dim] = 0;
    }
    Operand slice = out;
    slice.dims[dim] = in.dims[dim];
    slice.compute = in.compute;
    convertView(in, slice);
    out.host += in.dims[dim] * out.strides[dim] * out.item;
  }
  return ACL_SUCCESS;
}

aclnnStatus checkInputs(const aclOpExecutor &executor, uint32_t inputs) {
  if (inputs == 0) return refuse(executor, "tensors is empty");
  return ACLNN_SUCCESS;
}

aclnnStatus prepareJoin(aclOpExecutor &executor, int32_t dim, const Shape &shape, bool stack) {
  uint32_t inputs = executor.operands.size() - 1;
  Operand &out = executor.operands[inputs];
  SIM_TRY(requireShape(executor, out, shape));
  aclDataType type = executor.operands[0].type;
  for (uint32_t i = 1; i < inputs; ++i) type = promoteTypes(type, executor.operands[i].type);
  SIM_TRY(requireCast(executor, type, out));
  for (uint32_t i = 0; i < inputs; ++i) executor.operands[i].compute = copyCompute(executor.operands[i].type, out.type);
  executor.attributes[0] = dim;
  executor.attributes[1] = stack;
  executor.run = runJoin;
  executor.workspace_size = out.count > 0 ? roundUp(inputs * sizeof(uint64_t)) : 0; /* the address table */
  return ACLNN_SUCCESS;
}

aclnnStatus prepareCat(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  uint32_t inputs = executor.operands.size() - 1;
  SIM_TRY(checkInputs(executor, inputs));
  const Operand *model = &executor.operands[0];
  for (uint32_t i = 0; i < inputs && isLegacyEmpty(*model); ++i) model = &executor.operands[i];
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, model->rank, &dim));
  if (model->rank == 0) return refuse(executor, "tensors holds a 0-d tensor, which cannot be concatenated");
  Shape shape = shapeOf(*model);
  shape.dims[dim] = 0;
  for (uint32_t i = 0; i < inputs; ++i) {
    const Operand &in = executor.operands[i];
    if (isLegacyEmpty(in)) continue;
    bool fits = in.rank == shape.rank;
    for (int32_t k = 0; fits && k < in.rank; ++k) fits = k == dim || in.dims[k] == shape.dims[k];
    if (!fits) return refuse(executor, "tensor {} of tensors differs from the others beside dim {}", i, dim);
    shape.dims[dim] += in.dims[dim];
  }
  return prepareJoin(executor, dim, shape, false);
}

aclnnStatus prepareStack(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  uint32_t inputs = executor.operands.size() - 1;
  SIM_TRY(checkInputs(executor, inputs));
  const Operand &first = executor.operands[0];
  if (first.rank >= static_cast<int32_t>(kMaxRank)) return refuse(executor, "tensors has {} dimensions", first.rank);
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, first.rank + 1, &dim));
  for (uint32_t i = 1; i < inputs; ++i) SIM_TRY(requireShape(executor, executor.operands[i], shapeOf(first)));
  Shape shape = shapeOf(first);
  for (int32_t k = shape.rank++; k > dim; --k) shape.dims[k] = shape.dims[k - 1];
  shape.dims[dim] = inputs;
  return prepareJoin(executor, dim, shape, true);
}

/* chunk_cat cuts each tensor into chunks of equal length along dim, the last of which zeros complete, and joins the
 * chunks of the same number: out has the number of the chunk in place of dim, and all their elements behind it. */

int64_t chunkLength(int64_t size, int64_t chunks) { return (size - 1) / chunks + 1; } /* of size > 0 */

int64_t elementsFrom(const Operand &in, int32_t dim) {
  int64_t count = 1;
  for (int32_t k = dim; k < in.rank; ++k) count *= in.dims[k];
  return count;
}

aclError runChunkCat(const aclOpExecutor &executor) {
  const uint32_t inputs = executor.operands.size() - 1;
  const Operand &out = executor.operands[inputs];
  const auto dim = static_cast<int32_t>(executor.attributes[0]);
  std::memset(out.host, 0, static_cast<size_t>(out.count * out.item));
  int64_t start = 0;
  for (uint32_t i = 0; i < inputs; ++i) {
    const Operand &in = executor.operands[i];
    const int64_t length = chunkLength(in.dims[dim], out.dims[dim]);
    const int64_t row = elementsFrom(in, dim + 1);
    for (int64_t chunk = 0; chunk < out.dims[dim] && chunk * length < in.dims[dim]; ++chunk) {
      Operand piece = in;
      piece.dims[dim] = std::min(length, in.dims[dim] - chunk * length);
      piece.host += chunk * length * in.strides[dim] * in.item;
      piece.count = in.count / in.dims[dim] * piece.dims[dim];
      Operand position = out;
      position.rank = in.rank;
      position.compute = in.compute;
      position.count = piece.count;
      position.host += (chunk * out.strides[dim] + start) * out.item;
      int64_t stride = 1;
      for (int32_t k = in.rank - 1; k >= dim; --k) {
        position.dims[k] = piece.dims[k];
        position.strides[k] = stride;
        stride *= piece.dims[k];
      }
      convertView(piece, position);
    }
    start += length * row;
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareChunkCat(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const uint32_t inputs = executor.operands.size() - 1;
  SIM_TRY(checkInputs(executor, inputs));
  const Operand &first = executor.operands[0];
  const Operand &out = executor.operands[inputs];
  const int64_t chunks = arguments[2].integer;
  if (chunks < 1) return refuse(executor, "numChunks is {}", chunks);
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, first.rank, &dim));
  if (dim + 2 > static_cast<int32_t>(kMaxRank))
    return refuse(executor, "dim is {}, and out has one dimension more", dim);
  Shape shape{};
  shape.rank = dim + 2;
  for (int32_t k = 0; k < dim; ++k) shape.dims[k] = first.dims[k];
  shape.dims[dim] = chunks;
  for (uint32_t i = 0; i < inputs; ++i) {
    Operand &in = executor.operands[i];
    bool fits = in.rank > dim && in.count != 0 && in.type == first.type;
    for (int32_t k = 0; fits && k < dim; ++k) fits = in.dims[k] == first.dims[k];
    if (!fits)
      return refuse(executor, "tensor {} of tensors is empty, or does not fit the others before dim {}", i, dim);
    shape.dims[dim + 1] += chunkLength(in.dims[dim], chunks) * elementsFrom(in, dim + 1);
    in.compute = copyCompute(in.type, out.type);
  }
  SIM_TRY(requireShape(executor, out, shape));
  executor.attributes[0] = dim;
  executor.run = runChunkCat;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnCat, prepareCat, nullptr, 0)
SIM_OP(aclnnChunkCat, prepareChunkCat, nullptr, 0)
SIM_OP(aclnnStack, prepareStack, nullptr, 0)

/* Operators that rearrange elements without reading their values: flip, roll, repeat, triangles, and other maps from
 * an output index to an input index. */

namespace {

constexpr int64_t kFillZero = -1; /* the element is 0; for the last dimension only */

/* The input index along `dim` of the output element `position`. */
using Source = int64_t (*)(const aclOpExecutor &executor, int32_t dim, const int64_t *position);

/* Copies operands[0] to operands[1] by the map `source`; attributes[dim] is its parameter for a dimension. */
template <Source source>
aclError runMap(const aclOpExecutor &executor) {
  const Operand &in = executor.operands[0], &out = executor.operands[1];
  Cursor target(out);
  const int32_t last = out.rank - 1;
  const int64_t length = out.rank == 0 ? 1 : out.dims[last], step = out.rank == 0 ? 0 : in.strides[last] * in.item;
  alignas(64) char buffer[kBlockBytes];
  int64_t position[kMaxRank] = {};
  for (int64_t row = 0; row < out.count; row += length) {
    const char *line = in.host;
    for (int32_t dim = 0; dim < last; ++dim) line += source(executor, dim, position) * in.strides[dim] * in.item;
    for (int64_t first = 0, count; first < length; first += count) {
      count = std::min(kBlock, length - first);
      for (int64_t i = 0; i < count; ++i) {
        char *const to = buffer + i * out.item;
        if (out.rank > 0) position[last] = first + i;
        const int64_t at = out.rank == 0 ? 0 : source(executor, last, position);
        at == kFillZero ? std::memset(to, 0, static_cast<size_t>(out.item))
                        : std::memcpy(to, line + at * step, static_cast<size_t>(out.item));
      }
      target.write(buffer, count);
    }
    for (int32_t dim = last; dim-- > 0 && ++position[dim] == out.dims[dim];) position[dim] = 0;
  }
  return ACL_SUCCESS;
}

/* Elements written one after the other. */
class ElementWriter {
 public:
  explicit ElementWriter(const Operand &out) : target_(out), item_(static_cast<size_t>(out.item)) {}
  void add(const char *element) {
    std::memcpy(buffer_ + static_cast<size_t>(count_) * item_, element, item_);
    if (++count_ == kBlock) flush();
  }
  void flush() {
    if (count_ > 0) target_.write(buffer_, count_);
    count_ = 0;
  }

 private:
  Cursor target_;
  size_t item_;
  int64_t count_ = 0;
  alignas(64) char buffer_[kBlockBytes];
};

int64_t flipped(const aclOpExecutor &executor, int32_t dim, const int64_t *position) {
  return executor.attributes[dim] != 0 ? executor.operands[0].dims[dim] - 1 - position[dim] : position[dim];
}

int64_t rolled(const aclOpExecutor &executor, int32_t dim, const int64_t *position) {
  const int64_t size = executor.operands[0].dims[dim], at = position[dim] - executor.attributes[dim];
  return at < 0 ? at + size : at;
}

int64_t repeated(const aclOpExecutor &executor, int32_t dim, const int64_t *position) {
  return position[dim] % executor.operands[0].dims[dim];
}

int64_t interleaved(const aclOpExecutor &executor, int32_t dim, const int64_t *position) {
  return position[dim] / executor.attributes[dim];
}

/* attributes[0]: groups, of which each channel of the output takes the next. */
int64_t shuffled(const aclOpExecutor &executor, int32_t dim, const int64_t *position) {
  const int64_t groups = executor.attributes[0], each = executor.operands[0].dims[1] / groups;
  return dim == 1 ? position[1] % groups * each + position[1] / groups : position[dim];
}

template <bool Upper>
int64_t inTriangle(const aclOpExecutor &executor, int32_t dim, const int64_t *position) {
  const int32_t rank = executor.operands[0].rank;
  if (dim != rank - 1) return position[dim];
  const int64_t past = position[rank - 1] - position[rank - 2], diagonal = executor.attributes[0];
  return (Upper ? past >= diagonal : past <= diagonal) ? position[dim] : kFillZero;
}

aclnnStatus requireType(const aclOpExecutor &executor) {
  const Operand &in = executor.operands[0], &out = executor.operands[1];
  if (in.type == out.type) return ACLNN_SUCCESS;
  return refuse(executor, "out has data type {}, expected {}", out.type, in.type);
}

aclnnStatus plan(aclOpExecutor &executor, const Shape &shape, aclError (*run)(const aclOpExecutor &)) {
  SIM_TRY(requireShape(executor, executor.operands[1], shape));
  SIM_TRY(requireType(executor));
  executor.run = run;
  return ACLNN_SUCCESS;
}

/* self, dims, out */
aclnnStatus prepareFlip(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const aclIntArray *dims = static_cast<const aclIntArray *>(arguments[1].pointer);
  const Operand &in = executor.operands[0];
  std::fill_n(executor.attributes, kMaxRank, 0);
  for (uint64_t i = 0; i < dims->size; ++i) {
    int32_t dim;
    SIM_TRY(normalizeDim(executor, dims->items[i], in.rank, &dim));
    if (executor.attributes[dim]++ != 0) return refuse(executor, "dim {} is named twice", dim);
  }
  return plan(executor, shapeOf(in), runMap<flipped>);
}

/* Rolls the flattened tensor: its end, then its beginning. */
aclError runRollFlat(const aclOpExecutor &executor) {
  const Operand &in = executor.operands[0];
  const int64_t shift = executor.attributes[0];
  ElementWriter writer(executor.operands[1]);
  Cursor end(in), beginning(in);
  end.skip(in.count - shift);
  for (int64_t i = 0; i < shift; ++i, end.skip(1)) writer.add(end.position());
  for (int64_t i = shift; i < in.count; ++i, beginning.skip(1)) writer.add(beginning.position());
  writer.flush();
  return ACL_SUCCESS;
}

/* x, shifts, dims, out: without dims the flattened tensor is shifted. */
aclnnStatus prepareRoll(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const aclIntArray *shifts = static_cast<const aclIntArray *>(arguments[1].pointer);
  const aclIntArray *dims = static_cast<const aclIntArray *>(arguments[2].pointer);
  const Operand &in = executor.operands[0];
  const bool flat = dims->size == 0 && shifts->size == 1;
  SIM_TRY(plan(executor, shapeOf(in), flat ? runRollFlat : runMap<rolled>));
  std::fill_n(executor.attributes, kMaxRank, 0);
  if (!flat && dims->size != shifts->size) {
    return refuse(executor, "shifts has {} elements, dims {}", shifts->size, dims->size);
  }
  for (uint64_t i = 0; i < shifts->size && in.count > 0; ++i) {
    int32_t dim = 0;
    if (!flat) SIM_TRY(normalizeDim(executor, dims->items[i], in.rank, &dim));
    const int64_t size = flat ? in.count : in.rank == 0 ? 1 : in.dims[dim];
    executor.attributes[dim] = ((executor.attributes[dim] + shifts->items[i] % size) % size + size) % size;
  }
  return ACLNN_SUCCESS;
}

/* self, repeats, out: missing dimensions come first. */
aclnnStatus prepareRepeat(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const aclIntArray *repeats = static_cast<const aclIntArray *>(arguments[1].pointer);
  Operand &in = executor.operands[0];
  const int32_t rank = static_cast<int32_t>(repeats->size);
  if (rank < in.rank || rank > static_cast<int32_t>(kMaxRank)) {
    return refuse(executor, "repeats has {} elements for {} dimensions", rank, in.rank);
  }
  Shape shape;
  shape.rank = rank;
  for (int32_t i = rank; i-- > 0;) {
    const int32_t own = i - (rank - in.rank);
    in.dims[i] = own >= 0 ? in.dims[own] : 1;
    in.strides[i] = own >= 0 ? in.strides[own] : 0;
    if (repeats->items[i] < 0) return refuse(executor, "a number below 0 in repeats");
    shape.dims[i] = in.dims[i] * repeats->items[i];
  }
  in.rank = rank;
  return plan(executor, shape, runMap<repeated>);
}

/* The repeats of each index; a single number stands for all. */
class Repeats {
 public:
  explicit Repeats(Operand repeats) : single_(repeats.count == 1), numbers_(as64(&repeats)) {
    if (single_) read();
  }
  explicit Repeats(int64_t number, const Operand &unread) : single_(true), number_(number), numbers_(unread) {}
  int64_t next() {
    if (!single_) read();
    return number_;
  }

 private:
  static const Operand &as64(Operand *operand) {
    operand->compute = kI64;
    return *operand;
  }
  void read() {
    int64_t buffer;
    number_ = *static_cast<const int64_t *>(numbers_.read(&buffer, 1));
  }

  bool single_;
  int64_t number_ = 0;
  Cursor numbers_;
};

/* self, [repeats,] out, without a dim: each element as often as its number says. */
aclError runInterleaveFlat(const aclOpExecutor &executor) {
  const Operand &in = executor.operands[0], &out = executor.operands.back();
  Repeats repeats = executor.operands.size() == 2 ? Repeats(executor.attributes[0], in) : Repeats(executor.operands[1]);
  ElementWriter writer(out);
  Cursor elements(in);
  int64_t written = 0;
  for (int64_t i = 0; i < in.count; ++i, elements.skip(1)) {
    const int64_t number = repeats.next();
    if (number < 0 || written + number > out.count) return ACL_ERROR_RT_AICORE_EXCEPTION;
    for (int64_t k = 0; k < number; ++k) writer.add(elements.position());
    written += number;
  }
  writer.flush();
  return written == out.count ? ACL_SUCCESS : ACL_ERROR_RT_AICORE_EXCEPTION;
}

/* self, repeats[, dim], outputSize, out; the variant tells whether there is a dim */
aclnnStatus prepareInterleave(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &in = executor.operands[0];
  const int64_t repeats = arguments[1].integer;
  if (repeats < 0) return refuse(executor, "repeats is {}", repeats);
  if (body.variant == 0) {
    executor.attributes[0] = repeats;
    return plan(executor, vectorShape(in.count * repeats), runInterleaveFlat);
  }
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[2].integer, in.rank, &dim));
  Shape shape = shapeOf(in);
  shape.dims[dim] *= repeats;
  std::fill_n(executor.attributes, kMaxRank, 1);
  executor.attributes[dim] = repeats;
  return plan(executor, shape, runMap<interleaved>);
}

/* self, repeats, dim, outputSize, out: a number of repeats for each index along dim, or one for all. */
aclError runInterleaveTensor(const aclOpExecutor &executor) {
  Operand in = executor.operands[0], out = executor.operands[2];
  Repeats repeats(executor.operands[1]);
  const int32_t dim = static_cast<int32_t>(executor.attributes[0]);
  const int64_t size = in.dims[dim], buffer = out.dims[dim];
  int64_t written = 0;
  in.dims[dim] = out.dims[dim] = 1;
  char *const source = in.host, *const target = out.host;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t number = repeats.next();
    if (number < 0 || written + number > buffer) return ACL_ERROR_RT_AICORE_EXCEPTION;
    in.host = source + i * in.strides[dim] * in.item;
    for (int64_t k = 0; k < number && in.count > 0; ++k, ++written) {
      out.host = target + written * out.strides[dim] * out.item;
      convertView(in, out);
    }
  }
  return written == buffer || in.count == 0 ? ACL_SUCCESS : ACL_ERROR_RT_AICORE_EXCEPTION;
}

aclnnStatus prepareInterleaveTensor(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &in = executor.operands[0], &repeats = executor.operands[1], &out = executor.operands[2];
  const bool flat = body.variant == 0;
  int32_t dim = 0;
  SIM_TRY(flat ? ACLNN_SUCCESS : normalizeDim(executor, arguments[2].integer, in.rank, &dim));
  if (repeats.count != 1 && repeats.count != (flat ? in.count : in.dims[dim])) {
    return refuse(executor, "repeats has {} elements, expected one for each index", repeats.count);
  }
  Shape shape = flat ? vectorShape(0) : shapeOf(in);
  shape.dims[dim] = arguments[flat ? 2 : 3].integer;
  SIM_TRY(requireShape(executor, out, shape));
  if (out.type != in.type) return refuse(executor, "out has another data type than self");
  executor.attributes[0] = dim;
  executor.run = flat ? runInterleaveFlat : runInterleaveTensor;
  return ACLNN_SUCCESS;
}

/* repeats, outputSize, out: each index as often as its element says. */
aclError runInterleaveIndices(const aclOpExecutor &executor) {
  const Operand &scalars = executor.operands[0];
  Operand out = executor.operands[1];
  Repeats repeats(scalars);
  out.compute = kI64;
  Cursor target(out);
  int64_t written = 0;
  for (int64_t i = 0; i < scalars.count; ++i) {
    const int64_t number = repeats.next();
    if (number < 0 || written + number > out.count) return ACL_ERROR_RT_AICORE_EXCEPTION;
    for (int64_t k = 0; k < number; ++k) target.write(&i, 1);
    written += number;
  }
  return written == out.count ? ACL_SUCCESS : ACL_ERROR_RT_AICORE_EXCEPTION;
}

aclnnStatus prepareInterleaveIndices(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  executor.run = runInterleaveIndices;
  return requireShape(executor, executor.operands[1], vectorShape(arguments[1].integer));
}

/* self, groups, out */
aclnnStatus prepareChannelShuffle(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &in = executor.operands[0];
  const int64_t groups = executor.attributes[0] = arguments[1].integer;
  if (groups <= 0 || in.dims[1] % groups != 0) {
    return refuse(executor, "{} channels cannot be divided into {} groups", in.dims[1], groups);
  }
  return plan(executor, shapeOf(in), runMap<shuffled>);
}

/* self, diagonal, out */
template <bool Upper>
aclnnStatus prepareTriangle(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &in = executor.operands[0];
  if (in.rank < 2) return refuse(executor, "self has {} dimensions, expected 2 or more", in.rank);
  executor.attributes[0] = arguments[1].integer;
  return plan(executor, shapeOf(in), runMap<inTriangle<Upper>>);
}

/* gradOut, inputSizes, dim, size, step, gradIn: each element of the input gets the sum over all windows that it is in.
 */
aclError runUnfoldGrad(const aclOpExecutor &executor) {
  Operand windows = executor.operands[0], out = executor.operands[1];
  windows.compute = out.compute = kF64;
  const int32_t dim = static_cast<int32_t>(executor.attributes[0]), last = windows.rank - 1;
  double *const sums = reinterpret_cast<double *>(executor.workspace);
  std::fill_n(sums, out.count, 0.0);
  Cursor values(windows);
  int64_t position[kMaxRank] = {};
  for (int64_t i = 0; i < windows.count; ++i) {
    int64_t at = 0;
    for (int32_t d = 0; d < last; ++d) {
      at = at * out.dims[d] + (d == dim ? position[d] * executor.attributes[1] + position[last] : position[d]);
    }
    double value;
    sums[at] += *static_cast<const double *>(values.read(&value, 1));
    for (int32_t d = last + 1; d-- > 0 && ++position[d] == windows.dims[d];) position[d] = 0;
  }
  writeElements(out, sums);
  return ACL_SUCCESS;
}

aclnnStatus prepareUnfoldGrad(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const aclIntArray *sizes = static_cast<const aclIntArray *>(arguments[1].pointer);
  const Operand &windows = executor.operands[0], &out = executor.operands[1];
  const int64_t size = arguments[3].integer, step = arguments[4].integer;
  Shape shape;
  shape.rank = static_cast<int32_t>(std::min<uint64_t>(sizes->size, kMaxRank - 1));
  std::copy_n(sizes->items, shape.rank, shape.dims);
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[2].integer, shape.rank, &dim));
  SIM_TRY(requireShape(executor, out, shape));
  if (shape.rank == 0 || step <= 0 || size < 0 || size > shape.dims[dim]) {
    return refuse(executor, "size is {}, step {}", size, step);
  }
  shape.dims[dim] = (shape.dims[dim] - size) / step + 1;
  shape.dims[shape.rank++] = size;
  executor.attributes[0] = dim;
  executor.attributes[1] = step;
  executor.run = runUnfoldGrad;
  executor.workspace_size = roundUp(static_cast<uint64_t>(out.count) * sizeof(double));
  SIM_TRY(requireShape(executor, windows, shape));
  return out.type != windows.type ? refuseType(executor, out.type) : ACLNN_SUCCESS;
}

/* n, m, out */
aclError runEye(const aclOpExecutor &executor) {
  Operand out = executor.operands[0];
  out.compute = kI64;
  Cursor target(out);
  for (int64_t i = 0; i < out.count; ++i) {
    const int64_t one = i / out.dims[1] == i % out.dims[1];
    target.write(&one, 1);
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareEye(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  Shape shape = {2, {arguments[0].integer, arguments[1].integer}};
  executor.run = runEye;
  return requireShape(executor, executor.operands[0], shape);
}

}  // namespace

SIM_OP(aclnnFlip, prepareFlip, nullptr, 0)
SIM_OP(aclnnRoll, prepareRoll, nullptr, 0)
SIM_OP(aclnnRepeat, prepareRepeat, nullptr, 0)
SIM_OP(aclnnRepeatInterleaveInt, prepareInterleave, nullptr, 0)
SIM_OP(aclnnRepeatInterleaveIntWithDim, prepareInterleave, nullptr, 1)
SIM_OP(aclnnRepeatInterleave, prepareInterleaveTensor, nullptr, 0)
SIM_OP(aclnnRepeatInterleaveWithDim, prepareInterleaveTensor, nullptr, 1)
SIM_OP(aclnnRepeatInterleaveTensor, prepareInterleaveIndices, nullptr, 0)
SIM_OP(aclnnTril, prepareTriangle<false>, nullptr, 0)
SIM_OP(aclnnTriu, prepareTriangle<true>, nullptr, 0)
SIM_OP(aclnnChannelShuffle, prepareChannelShuffle, nullptr, 0)
SIM_OP(aclnnUnfoldGrad, prepareUnfoldGrad, nullptr, 0)
SIM_OP(aclnnEye, prepareEye, nullptr, 0)

}  // namespace sim
