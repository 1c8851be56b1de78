/* What follows from the order of a line's elements: selections, running extrema, searches, histograms. */
#include "opapi/lines.h"

namespace sim {
namespace {

enum Attribute { kDim, kFirst, kRight, kSorter };

int64_t lineLength(const Operand &operand, int32_t dim) { return operand.rank == 0 ? 1 : operand.dims[dim]; }
int64_t lineCount(const Operand &operand, int64_t length) { return length == 0 ? 0 : operand.count / length; }

template <class C>
void rank(const C *values, Ranked<C> *ranked, int64_t length) {
  for (int64_t i = 0; i < length; ++i) ranked[i] = {values[i], i};
}

/* Each selects from `ranked`, of which `length` are in the order they came, what goes to the outputs. */
template <bool Largest>
struct Top {
  template <class C>
  static int64_t select(const aclOpExecutor &executor, Ranked<C> *ranked, int64_t length) {
    const int64_t count = executor.attributes[kFirst];
    std::partial_sort(ranked, ranked + count, ranked + length, comesBefore<C, Largest>);
    return count;
  }
};

struct Kth {
  template <class C>
  static int64_t select(const aclOpExecutor &executor, Ranked<C> *ranked, int64_t length) {
    std::nth_element(ranked, ranked + executor.attributes[kFirst] - 1, ranked + length, comesBefore<C, false>);
    ranked[0] = ranked[executor.attributes[kFirst] - 1];
    return 1;
  }
};

/* The lower of the middle elements. NaN in a line is its median, unless NaN is ignored and there are others. */
template <bool IgnoreNan>
struct Median {
  template <class C>
  static int64_t select(const aclOpExecutor &, Ranked<C> *ranked, int64_t length) {
    std::sort(ranked, ranked + length, comesBefore<C, false>);
    int64_t numbers = length;
    while (numbers > 0 && isNan(ranked[numbers - 1].value)) --numbers;
    const bool spoilt = IgnoreNan ? numbers == 0 : numbers < length;
    ranked[0] = ranked[spoilt ? numbers : (numbers - 1) / 2];
    return 1;
  }
};

/* operands: self, values, and indices where they are wanted. */
template <class S, class C>
aclError runSelect(const aclOpExecutor &executor) {
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  const Operand &in = executor.operands[0];
  const bool has_indices = executor.operands.size() > 2;
  Operand values_out = executor.operands[1], indices_out = executor.operands[has_indices ? 2 : 1];
  values_out.compute = computeOfType<C>();
  indices_out.compute = kI64;
  const int64_t length = lineLength(in, dim);
  Ranked<C> *ranked = reinterpret_cast<Ranked<C> *>(executor.workspace);
  int64_t *indices = reinterpret_cast<int64_t *>(ranked + length);
  C *values = reinterpret_cast<C *>(indices + length);
  LineCursor lines(in, dim, computeOfType<C>());
  LineCursor values_lines(values_out, dim, computeOfType<C>()), indices_lines(indices_out, dim, kI64);
  for (int64_t line = lineCount(in, length); line > 0;
       --line, lines.next(), values_lines.next(), indices_lines.next()) {
    lines.read(values);
    rank(values, ranked, length);
    const int64_t count = S::select(executor, ranked, length);
    for (int64_t i = 0; i < count; ++i) {
      values[i] = ranked[i].value;
      indices[i] = ranked[i].index;
    }
    values_lines.write(values);
    if (has_indices) indices_lines.write(indices);
  }
  return ACL_SUCCESS;
}

/* self flattened in logical order is one line. */
template <class S, class C>
aclError runSelectWhole(const aclOpExecutor &executor) {
  Operand in = executor.operands[0], out = executor.operands[1];
  in.compute = out.compute = computeOfType<C>();
  if (in.count == 0) {
    const C nothing = std::numeric_limits<C>::quiet_NaN();
    Cursor(out).write(&nothing, 1);
    return ACL_SUCCESS;
  }
  Ranked<C> *ranked = reinterpret_cast<Ranked<C> *>(executor.workspace);
  C *values = reinterpret_cast<C *>(ranked + in.count);
  Cursor elements(in);
  alignas(64) char buffer[kBlockBytes];
  for (int64_t at = 0; at < in.count; at += kBlock) {
    const int64_t count = std::min(kBlock, in.count - at);
    std::memcpy(values + at, elements.read(buffer, count), static_cast<size_t>(count) * sizeof(C));
  }
  rank(values, ranked, in.count);
  S::select(executor, ranked, in.count);
  Cursor(out).write(&ranked[0].value, 1);
  return ACL_SUCCESS;
}

/* The extremum so far and where it was met last; NaN replaces all. */
template <bool Largest, class C>
aclError runRunning(const aclOpExecutor &executor) {
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  const Operand &in = executor.operands[0];
  LineCursor lines(in, dim, computeOfType<C>());
  LineCursor values_out(executor.operands[1], dim, computeOfType<C>()), indices_out(executor.operands[2], dim, kI64);
  const int64_t length = lines.length();
  int64_t *indices = reinterpret_cast<int64_t *>(executor.workspace);
  C *values = reinterpret_cast<C *>(indices + length);
  for (int64_t line = lineCount(in, length); line > 0; --line, lines.next(), values_out.next(), indices_out.next()) {
    lines.read(values);
    indices[0] = 0;
    for (int64_t i = 1; i < length; ++i) {
      const C so_far = values[i - 1], x = values[i];
      const bool newer = isNan(x) || (Largest ? x >= so_far : x <= so_far);
      values[i] = newer ? x : so_far;
      indices[i] = newer ? i : indices[i - 1];
    }
    values_out.write(values);
    indices_out.write(indices);
  }
  return ACL_SUCCESS;
}

using Run = aclError (*)(const aclOpExecutor &);
struct Runs {
  Run by_compute[kI64 + 1];
};
template <class S>
constexpr Runs kSelect = {{runSelect<S, float>, runSelect<S, double>, runSelect<S, int64_t>}};
template <class S>
constexpr Runs kSelectWhole = {{runSelectWhole<S, float>, runSelectWhole<S, double>, runSelectWhole<S, int64_t>}};
template <bool Largest>
constexpr Runs kRunning = {{runRunning<Largest, float>, runRunning<Largest, double>, runRunning<Largest, int64_t>}};

/* `length` elements of a line, each with its place, are in the workspace. */
aclnnStatus prepareOrdered(aclOpExecutor &executor, const Runs &runs, int32_t dim, int64_t length) {
  const Operand &in = executor.operands[0];
  const uint8_t compute = computeOf(in.type);
  if (compute > kI64 || in.type == ACL_UINT64) return refuseType(executor, in.type); /* no order in the compute type */
  if (executor.operands[1].type != in.type) return requireCast(executor, in.type, executor.operands[1]);
  executor.attributes[kDim] = dim;
  executor.run = runs.by_compute[compute];
  if (in.count > 0) executor.workspace_size = roundUp(static_cast<uint64_t>(length) * 4 * sizeof(int64_t));
  return ACLNN_SUCCESS;
}

aclnnStatus requireShapes(const aclOpExecutor &executor, const Shape &shape) {
  for (uint32_t i = 1; i < executor.operands.size(); ++i) {
    SIM_TRY(requireShape(executor, executor.operands[i], shape));
  }
  return ACLNN_SUCCESS;
}

/* self, k, dim, largest, sorted, valuesOut, indicesOut. Always sorted. */
aclnnStatus prepareTopk(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &in = executor.operands[0];
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[2].integer, in.rank, &dim));
  const int64_t k = arguments[1].integer, length = lineLength(in, dim);
  if (k < 0 || k > length) {
    return refuse(executor, "k is {}, dimension {} has {} elements", k, dim, length);
  }
  Shape shape = shapeOf(in);
  if (in.rank > 0) shape.dims[dim] = k;
  SIM_TRY(requireShapes(executor, shape));
  executor.attributes[kFirst] = k;
  const Runs &runs = arguments[3].integer != 0 ? kSelect<Top<true>> : kSelect<Top<false>>;
  return prepareOrdered(executor, runs, dim, length);
}

/* Of one element of each line: the outputs get the dimension back, so that all have lines along it. */
aclnnStatus prepareOne(aclOpExecutor &executor, const Runs &runs, int64_t wanted_dim, bool keep) {
  const Operand &in = executor.operands[0];
  int32_t dim;
  SIM_TRY(normalizeDim(executor, wanted_dim, in.rank, &dim));
  const int64_t length = lineLength(in, dim);
  if (length == 0) return refuse(executor, "dimension {} to select from has no elements", dim);
  Shape shape = shapeOf(in);
  if (in.rank > 0 && keep) shape.dims[dim] = 1;
  if (in.rank > 0 && !keep) {
    std::copy(shape.dims + dim + 1, shape.dims + shape.rank, shape.dims + dim);
    --shape.rank;
  }
  SIM_TRY(requireShapes(executor, shape));
  SIM_TRY(prepareOrdered(executor, runs, dim, length));
  if (in.rank == 0 || keep) return ACLNN_SUCCESS;
  for (uint32_t i = 1; i < executor.operands.size(); ++i) {
    Operand &out = executor.operands[i];
    std::copy_backward(out.dims + dim, out.dims + out.rank, out.dims + out.rank + 1);
    std::copy_backward(out.strides + dim, out.strides + out.rank, out.strides + out.rank + 1);
    out.dims[dim] = out.strides[dim] = 1;
    ++out.rank;
  }
  return ACLNN_SUCCESS;
}

/* self, k, dim, keepdim, valuesOut, indicesOut */
aclnnStatus prepareKthvalue(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const int64_t k = arguments[1].integer;
  SIM_TRY(prepareOne(executor, kSelect<Kth>, arguments[2].integer, arguments[3].integer != 0));
  const int64_t length = lineLength(executor.operands[0], static_cast<int32_t>(executor.attributes[kDim]));
  if (k < 1 || k > length) {
    return refuse(executor, "k is {}, there are {} elements", k, length);
  }
  executor.attributes[kFirst] = k;
  return ACLNN_SUCCESS;
}

/* self, dim, keepDim, valuesOut, indicesOut */
aclnnStatus prepareMedianDim(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  return prepareOne(executor, *static_cast<const Runs *>(body.kernel), arguments[1].integer, arguments[2].integer != 0);
}

/* self, valuesOut. No elements have the median NaN. */
aclnnStatus prepareMedian(aclOpExecutor &executor, const Argument *, const OpBody &body) {
  const Operand &in = executor.operands[0];
  SIM_TRY(requireShapes(executor, Shape()));
  return prepareOrdered(executor, *static_cast<const Runs *>(body.kernel), 0, in.count);
}

/* self, dim, valuesOut, indicesOut */
aclnnStatus prepareRunning(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  const Operand &in = executor.operands[0];
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[1].integer, in.rank, &dim));
  SIM_TRY(requireShapes(executor, shapeOf(in)));
  return prepareOrdered(executor, *static_cast<const Runs *>(body.kernel), dim, lineLength(in, dim));
}

/* The place in a sorted line, reached through the sorter if there is one; NaN is above all numbers. */
template <class C>
int64_t placeOf(C value, const C *line, const int64_t *sorter, int64_t length, bool right) {
  int64_t low = 0, high = length;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const C x = line[sorter == nullptr ? middle : sorter[middle]];
    const bool before = right ? !(value < x || (isNan(x) && !isNan(value))) : x < value || (isNan(value) && !isNan(x));
    (before ? low : high) = before ? middle + 1 : middle;
  }
  return low;
}

/* operands: sortedSequence, self, [sorter,] out */
template <class C>
aclError runSearch(const aclOpExecutor &executor) {
  const Operand &sequence = executor.operands[0], &values = executor.operands[1];
  const bool sorted_by = executor.attributes[kSorter] != 0, right = executor.attributes[kRight] != 0;
  const int64_t length = sequence.dims[sequence.rank - 1];
  const int64_t row = values.rank == 0 ? 1 : values.dims[values.rank - 1];
  LineCursor lines(sequence, sequence.rank - 1, computeOfType<C>());
  LineCursor sorters(sorted_by ? executor.operands[2] : sequence, sequence.rank - 1,
                     sorted_by ? kI64 : computeOfType<C>());
  Operand wanted = values, found = firstOut(executor);
  wanted.compute = computeOfType<C>();
  found.compute = kI64;
  Cursor reader(wanted), writer(found);
  C *line = reinterpret_cast<C *>(executor.workspace);
  int64_t *sorter = sorted_by ? reinterpret_cast<int64_t *>(line + length) : nullptr;
  alignas(64) char buffer[kBlockBytes];
  int64_t places[kBlock];
  if (values.count == 0) return ACL_SUCCESS;
  const int64_t rows = sequence.rank == 1 ? 1 : values.count / row;
  const int64_t width = values.count / rows;
  for (int64_t i = 0; i < rows; ++i, lines.next(), sorters.next()) {
    lines.read(line);
    if (sorted_by) sorters.read(sorter);
    for (int64_t k = 0; sorted_by && k < length; ++k) {
      if (sorter[k] < 0 || sorter[k] >= length) return ACL_ERROR_RT_AICORE_EXCEPTION;
    }
    for (int64_t at = 0; at < width; at += kBlock) {
      const int64_t count = std::min(kBlock, width - at);
      const C *block = static_cast<const C *>(reader.read(buffer, count));
      for (int64_t k = 0; k < count; ++k) places[k] = placeOf(block[k], line, sorter, length, right);
      writer.write(places, count);
    }
  }
  return ACL_SUCCESS;
}

/* sortedSequence, self, outInt32, right, sorter, out */
aclnnStatus prepareSearch(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  static constexpr Run runs[] = {runSearch<float>, runSearch<double>, runSearch<int64_t>};
  const Operand &sequence = executor.operands[0], &values = executor.operands[1], &out = executor.operands.back();
  if (sequence.rank == 0) return refuse(executor, "sortedSequence has no dimension");
  bool fits = sequence.rank == 1 || sequence.rank == values.rank;
  for (int32_t i = 0; fits && sequence.rank > 1 && i + 1 < sequence.rank; ++i)
    fits = sequence.dims[i] == values.dims[i];
  if (!fits) return refuse(executor, "the shapes of sortedSequence and self differ before the last dimension");
  const aclDataType wanted = arguments[2].integer != 0 ? ACL_INT32 : ACL_INT64;
  if (out.type != wanted) {
    return refuse(executor, "out has data type {}, outInt32 asks for {}", out.type, wanted);
  }
  if (sequence.type != values.type) {
    return refuse(executor, "self has data type {}, sortedSequence {}", values.type, sequence.type);
  }
  SIM_TRY(requireShape(executor, out, shapeOf(values)));
  const bool sorted_by = arguments[4].pointer != nullptr;
  if (sorted_by) SIM_TRY(requireShape(executor, executor.operands[2], shapeOf(sequence)));
  const uint8_t compute = computeOf(sequence.type);
  if (compute > kI64) return refuseType(executor, sequence.type);
  executor.attributes[kRight] = arguments[3].integer;
  executor.attributes[kSorter] = sorted_by;
  executor.run = runs[compute];
  if (values.count > 0) {
    executor.workspace_size =
        roundUp(static_cast<uint64_t>(sequence.dims[sequence.rank - 1] + 1) * 2 * sizeof(int64_t));
  }
  return ACLNN_SUCCESS;
}

template <class Visit>
void visitAll(const Operand &operand, Visit visit) {
  Cursor elements(operand);
  alignas(64) char buffer[kBlockBytes];
  for (int64_t at = 0; at < operand.count; at += kBlock) {
    const int64_t count = std::min(kBlock, operand.count - at);
    const double *values = static_cast<const double *>(elements.read(buffer, count));
    for (int64_t k = 0; k < count; ++k) visit(values[k]);
  }
}

/* Equal bounds mean the elements' own, one less and one more where these are equal too. */
aclError runHistc(const aclOpExecutor &executor) {
  Operand in = executor.operands[0], out = executor.operands[1];
  in.compute = out.compute = kF64;
  double low = executor.numbers[0].real, high = executor.numbers[1].real;
  if (low == high && in.count > 0) {
    low = std::numeric_limits<double>::infinity();
    high = -low;
    visitAll(in, [&](double x) {
      low = smaller(low, x);
      high = larger(high, x);
    });
  }
  if (!std::isfinite(low) || !std::isfinite(high)) return ACL_ERROR_RT_AICORE_EXCEPTION;
  if (low == high) {
    low -= 1;
    high += 1;
  }
  const int64_t bins = out.count;
  double *counts = reinterpret_cast<double *>(executor.workspace);
  std::fill_n(counts, bins, 0.0);
  visitAll(in, [&](double x) {
    if (!(x >= low && x <= high)) return;
    const int64_t place = static_cast<int64_t>((x - low) / (high - low) * static_cast<double>(bins));
    counts[std::min(place, bins - 1)] += 1;
  });
  Cursor results(out);
  for (int64_t at = 0; at < bins; at += kBlock) results.write(counts + at, std::min(kBlock, bins - at));
  return ACL_SUCCESS;
}

/* self, bins, min, max, out */
aclnnStatus prepareHistc(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const int64_t bins = arguments[1].integer;
  if (bins <= 0) return refuse(executor, "bins is {}, expected more than 0", bins);
  if (executor.numbers[0].real > executor.numbers[1].real) return refuse(executor, "max is less than min");
  Shape shape = {1, {bins}};
  SIM_TRY(requireShape(executor, executor.operands[1], shape));
  executor.run = runHistc;
  executor.workspace_size = roundUp(static_cast<uint64_t>(bins) * sizeof(double));
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnTopk, prepareTopk, nullptr, 0)
SIM_OP(aclnnKthvalue, prepareKthvalue, nullptr, 0)
SIM_OP(aclnnMedian, prepareMedian, &kSelectWhole<Median<false>>, 0)
SIM_OP(aclnnNanMedian, prepareMedian, &kSelectWhole<Median<true>>, 0)
SIM_OP(aclnnMedianDim, prepareMedianDim, &kSelect<Median<false>>, 0)
SIM_OP(aclnnNanMedianDim, prepareMedianDim, &kSelect<Median<true>>, 0)
SIM_OP(aclnnCummax, prepareRunning, &kRunning<true>, 0)
SIM_OP(aclnnCummin, prepareRunning, &kRunning<false>, 0)
SIM_OP(aclnnSearchSorted, prepareSearch, nullptr, 0)
SIM_OP(aclnnHistc, prepareHistc, nullptr, 0)

}  // namespace sim
