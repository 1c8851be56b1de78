/* Cumulative operators, sorting, selection by rank, searches, histograms and distinct elements. */
#include <numeric>

#include "opapi/scan_sort.h"

/* Cumulative and sorting operators, slice by slice in the workspace. */

namespace sim {
namespace {

enum Attribute { kDim, kCompute, kFirst, kSorted, kRight, kSorter, kInverse, kCounts, kConsecutive };

int64_t lineCount(const Operand &operand, int64_t length) { return length == 0 ? 0 : operand.count / length; }

aclError runScan(const aclOpExecutor &executor) {
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  const uint8_t compute = static_cast<uint8_t>(executor.attributes[kCompute]);
  SliceCursor in(executor.operands[0], dim, compute), out(executor.operands[1], dim, compute);
  const auto run = static_cast<const Scan *>(executor.kernel)->run[compute];
  for (int64_t i = lineCount(executor.operands[0], in.length()); i > 0; --i, in.next(), out.next()) {
    in.read(executor.workspace);
    run(executor.workspace, in.length());
    out.write(executor.workspace);
  }
  return ACL_SUCCESS;
}

template <class C, bool Descending>
aclError runSort(const aclOpExecutor &executor) {
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  SliceCursor in(executor.operands[0], dim, computeOfType<C>());
  SliceCursor values_out(executor.operands[1], dim, computeOfType<C>()), indices_out(executor.operands[2], dim, kI64);
  const int64_t length = in.length();
  Ranked<C> *ranked = reinterpret_cast<Ranked<C> *>(executor.workspace);
  int64_t *indices = reinterpret_cast<int64_t *>(ranked + length);
  C *values = reinterpret_cast<C *>(indices + length);
  for (int64_t line = lineCount(executor.operands[0], length); line > 0; --line) {
    in.read(values);
    for (int64_t i = 0; i < length; ++i) ranked[i] = {values[i], i};
    std::sort(ranked, ranked + length, comesBefore<C, Descending>);
    for (int64_t i = 0; i < length; ++i) {
      values[i] = ranked[i].value;
      indices[i] = ranked[i].index;
    }
    values_out.write(values);
    indices_out.write(indices);
    for (SliceCursor *each : {&in, &values_out, &indices_out}) each->next();
  }
  return ACL_SUCCESS;
}

template <bool Descending>
constexpr aclError (*kSort[])(const aclOpExecutor &) = {runSort<float, Descending>, runSort<double, Descending>,
                                                        runSort<int64_t, Descending>};

struct CumulativeSum {
  template <class C>
  static C apply(C sum, C x) {
    return add(sum, x);
  }
};

/* self, dim, dtype, out */
aclnnStatus prepareCumsum(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  return prepareScan(executor, *static_cast<const Scan *>(body.kernel), arguments[1].integer,
                     static_cast<aclDataType>(arguments[2].integer));
}

struct CumulativeProduct {
  template <class C>
  static C apply(C product, C x) {
    return multiply(product, x);
  }
};

/* input, dim as a scalar, dtype, out */
aclnnStatus prepareCumprod(aclOpExecutor &executor, const Argument *arguments, const OpBody &body) {
  return prepareScan(executor, *static_cast<const Scan *>(body.kernel), executor.scalars[0].integer,
                     static_cast<aclDataType>(arguments[2].integer));
}

/* self, stable, dim, descending, valuesOut, indicesOut. Always stable. */
aclnnStatus prepareSort(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &in = executor.operands[0], &values = executor.operands[1];
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[2].integer, in.rank, &dim));
  SIM_TRY(requireShape(executor, values, shapeOf(in)));
  SIM_TRY(requireShape(executor, executor.operands[2], shapeOf(in)));
  SIM_TRY(requireCast(executor, in.type, values));
  const uint8_t compute = computeOf(in.type);
  if (compute > kI64 || in.type == ACL_UINT64) return refuseType(executor, in.type); /* no order in the compute type */
  executor.attributes[kDim] = dim;
  executor.run = arguments[3].integer != 0 ? kSort<true>[compute] : kSort<false>[compute];
  const int64_t length = in.rank == 0 ? 1 : in.dims[dim];
  if (in.count > 0) executor.workspace_size = roundUp(static_cast<uint64_t>(length) * 4 * sizeof(int64_t));
  return ACLNN_SUCCESS;
}

}  // namespace

aclnnStatus prepareScan(aclOpExecutor &executor, const Scan &scan, int64_t dim, aclDataType dtype) {
  const Operand &in = executor.operands[0], &out = executor.operands[1];
  if (dtype != out.type) {
    return refuse(executor, "{} has data type {}, expected dtype, which is {}", out, out.type, dtype);
  }
  int32_t normalized;
  SIM_TRY(normalizeDim(executor, dim, in.rank, &normalized));
  SIM_TRY(requireShape(executor, out, shapeOf(in)));
  const uint8_t compute = computeOf(dtype) == kF32 ? kF64 : computeOf(dtype);
  if (compute >= kRaw || scan.run[compute] == nullptr) return refuseType(executor, dtype);
  executor.attributes[kDim] = normalized;
  executor.attributes[kCompute] = compute;
  executor.kernel = &scan;
  executor.run = runScan;
  const int64_t length = in.rank == 0 ? 1 : in.dims[normalized];
  if (in.count > 0) executor.workspace_size = roundUp(static_cast<uint64_t>(length) * sizeof(Complex));
  return ACLNN_SUCCESS;
}

SIM_OP(aclnnCumsum, prepareCumsum, &kScanOf<CumulativeSum>, 0)
SIM_OP(aclnnCumprod, prepareCumprod, &kScanOf<CumulativeProduct>, 0)
SIM_OP(aclnnSort, prepareSort, nullptr, 0)

/* Selection by rank, running extrema, searches, histograms. */

namespace {

int64_t lineLength(const Operand &operand, int32_t dim) { return operand.rank == 0 ? 1 : operand.dims[dim]; }

template <class C>
void rank(const C *values, Ranked<C> *ranked, int64_t length) {
  for (int64_t i = 0; i < length; ++i) ranked[i] = {values[i], i};
}

/* Each selects the outputs from the `length` elements in `ranked` and returns their number. */

/* By the steps of torch's CPU: which of equal elements are chosen, and their order, are the same. */
template <bool Largest>
struct Top {
  template <class C>
  static bool before(const Ranked<C> &a, const Ranked<C> &b) {
    const C first = Largest ? b.value : a.value, second = Largest ? a.value : b.value;
    return first < second || (isNan(second) && !isNan(first));
  }
  template <class C>
  static int64_t select(const aclOpExecutor &executor, Ranked<C> *ranked, int64_t length) {
    const int64_t count = executor.attributes[kFirst];
    if (count * 64 <= length) {
      std::partial_sort(ranked, ranked + count, ranked + length, before<C>);
    } else if (count > 0) {
      std::nth_element(ranked, ranked + count - 1, ranked + length, before<C>);
      if (executor.attributes[kSorted] != 0) std::sort(ranked, ranked + count - 1, before<C>);
    }
    return count;
  }
};

/* By the steps of torch's CPU, whose pivot is the median of three: which of equal elements is chosen is the same. */
struct Kth {
  template <class C>
  static int64_t select(const aclOpExecutor &executor, Ranked<C> *ranked, int64_t length) {
    const auto before = Top<false>::before<C>;
    const auto order = [=](int64_t one, int64_t other) {
      if (before(ranked[other], ranked[one])) std::swap(ranked[one], ranked[other]);
    };
    const int64_t wanted = executor.attributes[kFirst] - 1;
    int64_t first = 0, last = length - 1;
    while (last - first > 1) {
      std::swap(ranked[first + (last - first) / 2], ranked[first + 1]);
      order(first + 1, last);
      order(first, last);
      order(first + 1, first);
      const Ranked<C> pivot = ranked[first];
      int64_t low = first + 1, high = last;
      while (true) {
        do ++low;
        while (before(ranked[low], pivot));
        do --high;
        while (before(pivot, ranked[high]));
        if (high < low) break;
        std::swap(ranked[low], ranked[high]);
      }
      std::swap(ranked[first], ranked[high]);
      if (high <= wanted) first = low;
      if (high >= wanted) last = high - 1;
    }
    if (last > first) order(first, last);
    ranked[0] = ranked[wanted];
    return 1;
  }
};

/* The lower median. NaN is the median of a slice with NaN, unless NaN is ignored and there are other elements. */
template <bool IgnoreNan>
struct Median {
  template <class C>
  static int64_t select(const aclOpExecutor &, Ranked<C> *ranked, int64_t length) {
    int64_t scalars = 0;
    for (int64_t i = 0; i < length; ++i) scalars += !isNan(ranked[i].value);
    const bool spoilt = IgnoreNan ? scalars == 0 : scalars < length;
    const int64_t wanted = spoilt ? scalars : (scalars - 1) / 2;
    std::nth_element(ranked, ranked + wanted, ranked + length, comesBefore<C, false>);
    ranked[0] = ranked[wanted];
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
  SliceCursor slices(in, dim, computeOfType<C>());
  SliceCursor values_lines(values_out, dim, computeOfType<C>()), indices_lines(indices_out, dim, kI64);
  for (int64_t line = lineCount(in, length); line > 0;
       --line, slices.next(), values_lines.next(), indices_lines.next()) {
    slices.read(values);
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

/* Selects from the flattened tensor. */
template <class S, class C>
aclError runSelectWhole(const aclOpExecutor &executor) {
  Operand in = executor.operands[0], out = executor.operands[1];
  in.compute = out.compute = computeOfType<C>();
  if (in.count == 0) {
    C nothing = std::numeric_limits<C>::quiet_NaN();
    if constexpr (std::is_integral_v<C>) { /* what torch's CPU makes of NaN */
      nothing = in.type == ACL_INT32 ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int64_t>::min();
    }
    Cursor(out).write(&nothing, 1);
    return ACL_SUCCESS;
  }
  Ranked<C> *ranked = reinterpret_cast<Ranked<C> *>(executor.workspace);
  C *values = reinterpret_cast<C *>(ranked + in.count);
  readElements(in, values);
  rank(values, ranked, in.count);
  S::select(executor, ranked, in.count);
  Cursor(out).write(&ranked[0].value, 1);
  return ACL_SUCCESS;
}

/* Cumulative extremum and the index of its last occurrence; NaN replaces all. */
template <bool Largest, class C>
aclError runRunning(const aclOpExecutor &executor) {
  const int32_t dim = static_cast<int32_t>(executor.attributes[kDim]);
  const Operand &in = executor.operands[0];
  SliceCursor slices(in, dim, computeOfType<C>());
  SliceCursor values_out(executor.operands[1], dim, computeOfType<C>()), indices_out(executor.operands[2], dim, kI64);
  const int64_t length = slices.length();
  int64_t *indices = reinterpret_cast<int64_t *>(executor.workspace);
  C *values = reinterpret_cast<C *>(indices + length);
  for (int64_t line = lineCount(in, length); line > 0; --line, slices.next(), values_out.next(), indices_out.next()) {
    slices.read(values);
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

/* The workspace holds `length` elements with their indices. */
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
  for (uint32_t i = 1; i < executor.operands.size(); ++i) SIM_TRY(requireShape(executor, executor.operands[i], shape));
  return ACLNN_SUCCESS;
}

/* self, k, dim, largest, sorted, valuesOut, indicesOut */
aclnnStatus prepareTopk(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &in = executor.operands[0];
  int32_t dim;
  SIM_TRY(normalizeDim(executor, arguments[2].integer, in.rank, &dim));
  const int64_t k = arguments[1].integer, length = lineLength(in, dim);
  if (k < 0 || k > length) return refuse(executor, "k is {}, dimension {} has {} elements", k, dim, length);
  Shape shape = shapeOf(in);
  if (in.rank > 0) shape.dims[dim] = k;
  SIM_TRY(requireShapes(executor, shape));
  executor.attributes[kFirst] = in.rank > 0 ? k : 1;
  executor.attributes[kSorted] = arguments[4].integer;
  const Runs &runs = arguments[3].integer != 0 ? kSelect<Top<true>> : kSelect<Top<false>>;
  return prepareOrdered(executor, runs, dim, length);
}

/* For operators that select one element of each slice: the outputs get the dimension back, so that all operands have
 * slices along it. */
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
  if (k < 1 || k > length) return refuse(executor, "k is {}, there are {} elements", k, length);
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

/* Binary search in a sorted slice, optionally through `sorter`; NaN is greater than all numbers. */
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
  SliceCursor slices(sequence, sequence.rank - 1, computeOfType<C>());
  SliceCursor sorters(sorted_by ? executor.operands[2] : sequence, sequence.rank - 1,
                      sorted_by ? kI64 : computeOfType<C>());
  Operand wanted = values, found = firstOut(executor);
  wanted.compute = computeOfType<C>();
  found.compute = kI64;
  Cursor reader(wanted), writer(found);
  C *line = reinterpret_cast<C *>(executor.workspace);
  int64_t *sorter = sorted_by ? reinterpret_cast<int64_t *>(line + length) : nullptr;
  alignas(64) char buffer[kBlockBytes];
  int64_t positions[kBlock];
  if (values.count == 0) return ACL_SUCCESS;
  const int64_t rows = sequence.rank == 1 ? 1 : values.count / row;
  const int64_t width = values.count / rows;
  for (int64_t i = 0; i < rows; ++i, slices.next(), sorters.next()) {
    slices.read(line);
    if (sorted_by) sorters.read(sorter);
    for (int64_t k = 0; sorted_by && k < length; ++k) {
      if (sorter[k] < 0 || sorter[k] >= length) return ACL_ERROR_RT_AICORE_EXCEPTION;
    }
    for (int64_t at = 0; at < width; at += kBlock) {
      const int64_t count = std::min(kBlock, width - at);
      const C *block = static_cast<const C *>(reader.read(buffer, count));
      for (int64_t k = 0; k < count; ++k) positions[k] = placeOf(block[k], line, sorter, length, right);
      writer.write(positions, count);
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
  if (out.type != wanted) return refuse(executor, "out has data type {}, outInt32 asks for {}", out.type, wanted);
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

/* The bin of a number, computed as torch's CPU does, in the type of the elements. */
template <class C>
int64_t binOf(C x, C low, C high, int64_t bins) {
  return std::min(static_cast<int64_t>((x - low) * static_cast<C>(bins) / (high - low)), bins - 1);
}

/* Equal bounds stand for the extrema of the elements, widened by one if these are equal, too. */
aclError runHistc(const aclOpExecutor &executor) {
  Operand in = executor.operands[0], out = executor.operands[1];
  in.compute = out.compute = kF64;
  double low = executor.scalars[0].real, high = executor.scalars[1].real;
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
  const bool narrow = computeOf(in.type) == kF32;
  if (narrow) {
    low = static_cast<float>(low);
    high = static_cast<float>(high);
  }
  double *counts = reinterpret_cast<double *>(executor.workspace);
  std::fill_n(counts, bins, 0.0);
  visitAll(in, [&](double x) {
    if (!(x >= low && x <= high)) return;
    counts[narrow ? binOf(static_cast<float>(x), static_cast<float>(low), static_cast<float>(high), bins)
                  : binOf(x, low, high, bins)] += 1;
  });
  writeElements(out, counts);
  return ACL_SUCCESS;
}

/* self, bins, min, max, out */
aclnnStatus prepareHistc(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const int64_t bins = arguments[1].integer;
  if (bins <= 0) return refuse(executor, "bins is {}, expected more than 0", bins);
  if (executor.scalars[0].real > executor.scalars[1].real) return refuse(executor, "max is less than min");
  Shape shape = {1, {bins}};
  SIM_TRY(requireShape(executor, executor.operands[1], shape));
  executor.run = runHistc;
  executor.workspace_size = roundUp(static_cast<uint64_t>(bins) * sizeof(double));
  return ACLNN_SUCCESS;
}

/* logits, p, k, out: -infinity in place of what is not among the k largest, and of the least whose probabilities do not
 * exceed 1 - p together; the largest always stays. */
aclError runTopKTopP(const aclOpExecutor &executor) {
  const Operand &logits = executor.operands[0], &most = executor.operands[1], &count = executor.operands[2];
  if (logits.count == 0) return ACL_SUCCESS;
  SliceCursor in(logits, 1, kF32), out(executor.operands[3], 1, kF32);
  const int64_t length = in.length(), lines = logits.dims[0];
  Ranked<float> *ranked = reinterpret_cast<Ranked<float> *>(executor.workspace);
  int64_t *counts = reinterpret_cast<int64_t *>(ranked + length);
  float *values = reinterpret_cast<float *>(counts + lines), *shares = values + length, *probabilities = shares + lines;
  if (count.tensor != nullptr) readElements(count, counts);
  if (most.tensor != nullptr) readElements(most, shares);
  for (int64_t line = 0; line < lines; ++line, in.next(), out.next()) {
    in.read(values);
    for (int64_t i = 0; i < length; ++i) ranked[i] = {values[i], i};
    std::sort(ranked, ranked + length, comesBefore<float, false>);
    if (count.tensor != nullptr) {
      if (counts[line] < 1 || counts[line] > length) return ACL_ERROR_RT_AICORE_EXCEPTION;
      const float least = ranked[length - counts[line]].value;
      for (int64_t i = 0; i < length; ++i) ranked[i].value = ranked[i].value < least ? -INFINITY : ranked[i].value;
    }
    if (most.tensor != nullptr) {
      const float largest = ranked[length - 1].value;
      double whole = 0.0, sum = 0.0;
      for (int64_t i = 0; i < length; ++i) {
        probabilities[i] = std::exp(ranked[i].value - largest);
        whole += static_cast<double>(probabilities[i]);
      }
      for (int64_t i = 0; i + 1 < length; ++i) {
        sum += static_cast<double>(probabilities[i]) / whole;
        if (sum <= 1.0 - static_cast<double>(shares[line])) ranked[i].value = -INFINITY;
      }
    }
    for (int64_t i = 0; i < length; ++i) values[ranked[i].index] = ranked[i].value;
    out.write(values);
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareTopKTopP(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const Operand &logits = executor.operands[0], &out = executor.operands[3];
  if (logits.rank != 2) return refuse(executor, "logits has {} dimensions, expected 2", logits.rank);
  for (uint32_t index : {1u, 2u}) {
    const Operand &operand = executor.operands[index];
    if (operand.tensor != nullptr) SIM_TRY(requireShape(executor, operand, vectorShape(logits.dims[0])));
  }
  SIM_TRY(requireShape(executor, out, shapeOf(logits)));
  if (out.type != logits.type) return refuse(executor, "logits and out have different data types");
  const uint64_t length = static_cast<uint64_t>(logits.dims[1]), lines = static_cast<uint64_t>(logits.dims[0]);
  executor.run = runTopKTopP;
  executor.workspace_size =
      roundUp(length * (sizeof(Ranked<float>) + 2 * sizeof(float)) + lines * (sizeof(int64_t) + sizeof(float)));
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnApplyTopKTopP, prepareTopKTopP, nullptr, 0)
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

/* The distinct elements or slices: aclnnUnique2, aclnnUniqueDim, aclnnUniqueConsecutive. NaN equals nothing. */

namespace {

constexpr int64_t kFlat = -1; /* kDim: elements, whatever the shape */

/* The number of slices. */
int64_t slicesOf(const Operand &self, int64_t dim) { return dim == kFlat ? self.count : self.dims[dim]; }

/* Slice `i` alone. */
Operand sliceAt(const Operand &self, int64_t dim, int64_t i) {
  Operand slice = self;
  slice.host += i * self.strides[dim] * self.item;
  slice.count = self.dims[dim] == 0 ? 0 : self.count / self.dims[dim];
  slice.dims[dim] = 1;
  return slice;
}

constexpr int64_t kFewSlices = 16; /* that torch sorts by insertion */

/* Slices in one array, compared lexicographically; NaN is greater than all numbers. */
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
  bool hasNan() const { return std::any_of(values, values + count * length, isNan<C>); }

  /* Whether the first elements of which one is less put `a` first: NaN is neither less nor greater. */
  bool beforeButForNan(int64_t a, int64_t b) const {
    for (int64_t i = 0; i < length; ++i) {
      if (at(a)[i] < at(b)[i]) return true;
      if (at(b)[i] < at(a)[i]) return false;
    }
    return false;
  }

  /* torch's order of a few slices with NaN, which is not transitive: insertion from the end, smallest ones at once. */
  void insertInOrder(int64_t *order) const {
    for (int64_t i = 0; i < count; ++i) {
      int64_t position = i;
      if (i > 0 && beforeButForNan(i, order[0])) position = 0;
      while (position > 0 && beforeButForNan(i, order[position - 1])) --position;
      std::copy_backward(order + position, order + i, order + i + 1);
      order[position] = i;
    }
  }
};

/* A contiguous tensor of the resulting shape at the start of `out`. */
Operand resultView(const Operand &out, int64_t dim, int64_t groups) {
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
  if (dim == kFlat) readElements(self, values);
  for (int64_t i = 0; dim != kFlat && i < count; ++i) readElements(sliceAt(self, dim, i), values + i * slices.length);
  std::iota(order, order + count, int64_t{0});
  if (executor.attributes[kConsecutive] == 0 && dim != kFlat && count <= kFewSlices && slices.hasNan()) {
    slices.insertInOrder(order);
  } else if (executor.attributes[kConsecutive] == 0) {
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
  const Operand found = resultView(out, dim, groups);
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
  if (inverse) SIM_TRY(requireShape(executor, executor.operands[2], flat ? shapeOf(self) : vectorShape(count)));
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
