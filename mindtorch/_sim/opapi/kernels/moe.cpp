/* Mixture of experts: gating, copies of tokens sorted by expert, and the weighted sum of the experts' results.
 * Indices are checked on the stream's thread; an invalid one is a device fault. */
#include <cstring>

#include "opapi/scan_sort.h"

namespace sim {
namespace {

const aclError kFault = ACL_ERROR_RT_AICORE_EXCEPTION;

/* Rows of a matrix, in float. */
class Rows {
 public:
  explicit Rows(const Operand &operand)
      : operand_(operand), load_(loadStrided(operand.type, kF32)), store_(storeStrided(operand.type, kF32)) {}

  int64_t count() const { return operand_.dims[0]; }
  int64_t width() const { return operand_.dims[1]; }
  void read(int64_t row, float *to) const { load_(address(row), step(), to, width()); }
  void write(int64_t row, const float *from) const { store_(from, address(row), step(), width()); }

 private:
  char *address(int64_t row) const { return operand_.host + row * operand_.strides[0] * operand_.item; }
  int64_t step() const { return operand_.strides[1] * operand_.item; }

  const Operand &operand_;
  LoadStrided load_;
  StoreStrided store_;
};

/* Stable argsort. */
void sortByValue(const int64_t *values, int64_t count, int64_t *order) {
  for (int64_t i = 0; i < count; ++i) order[i] = i;
  std::sort(order, order + count,
            [values](int64_t a, int64_t b) { return values[a] < values[b] || (values[a] == values[b] && a < b); });
}

aclnnStatus requireMatrix(const aclOpExecutor &executor, const Operand &operand, int64_t rows, int64_t columns) {
  return requireShape(executor, operand, {2, {rows, columns}});
}

aclnnStatus requireVector(const aclOpExecutor &executor, const Operand &operand, int64_t count) {
  return requireShape(executor, operand, {1, {count}});
}

aclnnStatus requireSameType(const aclOpExecutor &executor, const Operand &first, const Operand &second) {
  if (first.type == second.type) return ACLNN_SUCCESS;
  return refuse(executor, "{} and {} have different data types", first, second);
}

aclnnStatus refusePadding(const aclOpExecutor &executor, const Argument &padded) {
  return padded.integer == 0 ? ACLNN_SUCCESS : refuse(executor, "paddedMode is true, this kernel has false only");
}

aclnnStatus planRun(aclOpExecutor &executor, aclError (*run)(const aclOpExecutor &), int64_t bytes) {
  executor.run = run;
  executor.workspace_size = roundUp(static_cast<uint64_t>(bytes));
  return ACLNN_SUCCESS;
}

/* --- gating: x, finished, y, experts, rows ------------------------------------------------------------------------ */

aclError runGating(const aclOpExecutor &executor) {
  const Operand &x = executor.operands[0], &finished = executor.operands[1];
  const int64_t k = executor.attributes[0], experts = x.dims[x.rank - 1];
  if (x.count == 0) return ACL_SUCCESS;
  const int64_t tokens = x.count / experts;
  int64_t *order = reinterpret_cast<int64_t *>(executor.workspace), *chosen = order + experts;
  int64_t *rows = chosen + tokens * k;
  float *line = reinterpret_cast<float *>(rows + tokens * k), *best = line + experts;
  Boolean *done = reinterpret_cast<Boolean *>(best + tokens * k);
  std::fill_n(done, tokens, Boolean{0});
  if (finished.tensor != nullptr) readElements(finished, done);
  SliceCursor from(x, x.rank - 1, kF32);
  for (int64_t i = 0; i < tokens; ++i, from.next()) {
    from.read(line);
    const float largest = *std::max_element(line, line + experts);
    double sum = 0.0;
    for (int64_t e = 0; e < experts; ++e) {
      line[e] = vec::exp(line[e] - largest);
      sum += static_cast<double>(line[e]);
      order[e] = e;
    }
    std::sort(order, order + experts,
              [line](int64_t a, int64_t b) { return line[a] > line[b] || (line[a] == line[b] && a < b); });
    for (int64_t j = 0; j < k; ++j) {
      best[i * k + j] = static_cast<float>(static_cast<double>(line[order[j]]) / sum);
      chosen[i * k + j] = done[i] != 0 ? experts : order[j]; /* a finished token gets no expert */
      rows[i * k + j] = j * tokens + i;
    }
  }
  writeElements(executor.operands[2], best);
  writeElements(executor.operands[3], chosen);
  writeElements(executor.operands[4], rows);
  return ACL_SUCCESS;
}

aclnnStatus prepareGating(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const auto &operands = executor.operands;
  const Operand &x = operands[0], &finished = operands[1];
  const int64_t k = arguments[2].integer;
  if (x.rank < 2 || x.rank > 3) return refuse(executor, "x has {} dimensions, expected 2 or 3", x.rank);
  const int64_t experts = x.dims[x.rank - 1];
  if (k < 1 || k > experts) return refuse(executor, "k is {}, expected 1 to the number of experts, {}", k, experts);
  Shape shape = shapeOf(x);
  shape.dims[x.rank - 1] = k;
  SIM_TRY(requireSameType(executor, x, operands[2]));
  for (uint32_t index : {2u, 3u, 4u}) SIM_TRY(requireShape(executor, operands[index], shape));
  if (finished.tensor != nullptr) {
    shape.rank -= 1;
    SIM_TRY(requireShape(executor, finished, shape));
  }
  executor.attributes[0] = k;
  const int64_t tokens = x.count / std::max<int64_t>(experts, 1), chosen = tokens * k;
  return planRun(executor, runGating, (experts + chosen) * 4 + (experts + 2 * chosen) * 8 + tokens);
}

/* --- routing to the experts: x, row index, expert index, expanded x, its rows, its experts ---------------------------
 */

aclError runInitRouting(const aclOpExecutor &executor) {
  const auto &operands = executor.operands;
  const int64_t copies = operands[2].count, tokens = operands[0].dims[0];
  int64_t *experts = reinterpret_cast<int64_t *>(executor.workspace), *rows = experts + copies, *order = rows + copies;
  int64_t *sorted = order + copies, *positions = sorted + copies;
  float *line = reinterpret_cast<float *>(positions + copies);
  readElements(operands[2], experts);
  readElements(operands[1], rows);
  sortByValue(experts, copies, order);
  const Rows from(operands[0]), to(operands[3]);
  for (int64_t i = 0; i < copies; ++i) {
    const int64_t row = rows[order[i]];
    if (row < 0 || row >= copies) return kFault;
    sorted[i] = experts[order[i]];
    positions[row] = i;
    if (i >= to.count()) continue;
    from.read(row % tokens, line);
    to.write(i, line);
  }
  writeElements(operands[4], positions);
  writeElements(operands[5], sorted);
  return ACL_SUCCESS;
}

aclnnStatus prepareInitRouting(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const auto &operands = executor.operands;
  const Operand &x = operands[0], &experts = operands[2];
  if (x.rank != 2 || experts.rank != 2 || experts.dims[0] != x.dims[0]) {
    return refuse(executor, "x and expertIdx are no matrices with a row for each token");
  }
  if (arguments[3].integer < 0) return refuse(executor, "activeNum is negative");
  const int64_t rows = std::min(x.dims[0], arguments[3].integer) * experts.dims[1];
  SIM_TRY(requireShape(executor, operands[1], shapeOf(experts)));
  SIM_TRY(requireMatrix(executor, operands[3], rows, x.dims[1]));
  SIM_TRY(requireSameType(executor, x, operands[3]));
  for (uint32_t index : {4u, 5u}) SIM_TRY(requireVector(executor, operands[index], experts.count));
  return planRun(executor, runInitRouting, 5 * experts.count * 8 + x.dims[1] * 4);
}

/* --- back from the experts: expanded x, x1, x2, bias, scales, rows, experts, out ------------------------------------
 */

enum Finalize : uint32_t { kExpanded, kSkip1, kSkip2, kBias, kScales, kRowIndex, kExpertIndex, kResult };

aclError runFinalizeRouting(const aclOpExecutor &executor) {
  const auto &operands = executor.operands;
  const int64_t tokens = operands[kScales].dims[0], k = operands[kScales].dims[1], width = operands[kResult].dims[1];
  int64_t *rows = reinterpret_cast<int64_t *>(executor.workspace), *experts = rows + tokens * k;
  float *scales = reinterpret_cast<float *>(experts + tokens * k), *sum = scales + tokens * k, *line = sum + width;
  float *bias = line + width;
  readElements(operands[kScales], scales);
  readElements(operands[kRowIndex], rows);
  readElements(operands[kExpertIndex], experts);
  const Rows expanded(operands[kExpanded]), biases(operands[kBias]), result(operands[kResult]);
  for (int64_t i = 0; i < tokens; ++i) {
    std::fill_n(sum, width, 0.0f);
    for (uint32_t skip : {kSkip1, kSkip2}) {
      if (operands[skip].tensor == nullptr) continue;
      Rows(operands[skip]).read(i, line);
      for (int64_t j = 0; j < width; ++j) sum[j] += line[j];
    }
    for (int64_t c = 0; c < k; ++c) {
      const int64_t row = rows[i + c * tokens], expert = experts[i * k + c];
      if (row < 0 || row >= expanded.count() || expert < 0 || expert >= biases.count()) return kFault;
      expanded.read(row, line);
      biases.read(expert, bias);
      for (int64_t j = 0; j < width; ++j) sum[j] += scales[i * k + c] * (line[j] + bias[j]);
    }
    result.write(i, sum);
  }
  return ACL_SUCCESS;
}

aclnnStatus prepareFinalizeRouting(aclOpExecutor &executor, const Argument *, const OpBody &) {
  const auto &operands = executor.operands;
  const Operand &expanded = operands[kExpanded], &scales = operands[kScales], &bias = operands[kBias];
  if (expanded.rank != 2 || scales.rank != 2 || bias.rank != 2) {
    return refuse(executor, "expandedX, scales and bias are not all matrices");
  }
  const int64_t tokens = scales.dims[0], k = scales.dims[1], width = expanded.dims[1];
  SIM_TRY(requireMatrix(executor, expanded, tokens * k, width));
  SIM_TRY(requireMatrix(executor, bias, bias.dims[0], width));
  for (uint32_t index : {kSkip1, kSkip2, kResult}) {
    if (operands[index].tensor == nullptr) continue;
    SIM_TRY(requireMatrix(executor, operands[index], tokens, width));
    SIM_TRY(requireSameType(executor, expanded, operands[index]));
  }
  SIM_TRY(requireVector(executor, operands[kRowIndex], tokens * k));
  SIM_TRY(requireMatrix(executor, operands[kExpertIndex], tokens, k));
  return planRun(executor, runFinalizeRouting, 2 * tokens * k * 8 + (tokens * k + 3 * width) * 4);
}

/* --- copies of tokens in the order of their experts: tokens, indices, permuted tokens, sorted indices ----------------
 */

/* The number of copies that are kept: all for 0, else as a slice's end. */
int64_t keptOf(int64_t asked, int64_t copies) {
  if (asked == 0) return copies;
  return std::max<int64_t>(0, std::min(copies, asked < 0 ? copies + asked : asked));
}

aclError runPermute(const aclOpExecutor &executor) {
  const Operand &tokens = executor.operands[0], &indices = executor.operands[1], &out = executor.operands[2];
  const int64_t copies = indices.count, width = tokens.dims[1];
  int64_t *values = reinterpret_cast<int64_t *>(executor.workspace), *order = values + copies,
          *position = order + copies;
  char *row = reinterpret_cast<char *>(position + copies);
  readElements(indices, values);
  sortByValue(values, copies, order);
  const uint8_t compute = computeOf(tokens.type);
  const LoadStrided load = loadStrided(tokens.type, compute);
  const StoreStrided store = storeStrided(out.type, compute);
  const int64_t each = copies / std::max<int64_t>(tokens.dims[0], 1); /* copies of a token */
  for (int64_t i = 0; i < copies; ++i) {
    position[order[i]] = i;
    if (i >= out.dims[0]) continue;
    load(tokens.host + order[i] / each * tokens.strides[0] * tokens.item, tokens.strides[1] * tokens.item, row, width);
    store(row, out.host + i * out.strides[0] * out.item, out.strides[1] * out.item, width);
  }
  writeElements(executor.operands[3], position);
  return ACL_SUCCESS;
}

aclnnStatus preparePermute(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &tokens = executor.operands[0], &indices = executor.operands[1];
  SIM_TRY(refusePadding(executor, arguments[3]));
  const bool fits = tokens.rank == 2 && (indices.rank == 1 || indices.rank == 2) && indices.dims[0] == tokens.dims[0];
  if (!fits) return refuse(executor, "tokens is no matrix, or indices has no row for each of its rows");
  SIM_TRY(requireSameType(executor, tokens, executor.operands[2]));
  SIM_TRY(requireMatrix(executor, executor.operands[2], keptOf(arguments[2].integer, indices.count), tokens.dims[1]));
  SIM_TRY(requireVector(executor, executor.operands[3], indices.count));
  return planRun(executor, runPermute, 3 * indices.count * 8 + tokens.dims[1] * 16);
}

/* Adds up the rows at `positions`, weighted by probabilities if given. Positions behind the last row were dropped.
 * Returns false for a negative position. */
bool sumRows(const Rows &rows, const int64_t *positions, const float *probabilities, int64_t count, float *line,
             float *sum) {
  std::fill_n(sum, rows.width(), 0.0f);
  for (int64_t c = 0; c < count; ++c) {
    if (positions[c] < 0) return false;
    if (positions[c] >= rows.count()) continue;
    rows.read(positions[c], line);
    const float factor = probabilities != nullptr ? probabilities[c] : 1.0f;
    for (int64_t j = 0; j < rows.width(); ++j) sum[j] += factor * line[j];
  }
  return true;
}

/* permuted tokens or their gradients, sorted indices, probabilities (of Unpermute), out */
aclError runSum(const aclOpExecutor &executor) {
  const auto &operands = executor.operands;
  const uint32_t last = operands.size() - 1;
  const Rows from(operands[0]), to(operands[last]);
  const int64_t copies = operands[1].count, each = copies / std::max<int64_t>(to.count(), 1);
  int64_t *positions = reinterpret_cast<int64_t *>(executor.workspace);
  float *probabilities = reinterpret_cast<float *>(positions + copies), *line = probabilities + copies;
  float *sum = line + from.width();
  const bool weighted = last == 3 && operands[2].tensor != nullptr;
  readElements(operands[1], positions);
  if (weighted) readElements(operands[2], probabilities);
  for (int64_t i = 0; i < to.count(); ++i) {
    const float *factors = weighted ? probabilities + i * each : nullptr;
    if (!sumRows(from, positions + i * each, factors, each, line, sum)) return kFault;
    to.write(i, sum);
  }
  return ACL_SUCCESS;
}

aclnnStatus planSum(aclOpExecutor &executor, int64_t each) {
  const Operand &from = executor.operands[0], &indices = executor.operands[1];
  const Operand &out = executor.operands[executor.operands.size() - 1];
  if (from.rank != 2 || indices.rank != 1 || each < 1 || indices.count % each != 0) {
    return refuse(executor, "the rows are no matrix, or sortedIndices is no vector with {} for each token", each);
  }
  SIM_TRY(requireMatrix(executor, out, indices.count / each, from.dims[1]));
  SIM_TRY(requireSameType(executor, from, out));
  return planRun(executor, runSum, indices.count * 12 + 2 * from.dims[1] * 4);
}

/* permuted gradients, sorted indices, numTopk, paddedMode, out */
aclnnStatus preparePermuteGrad(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  SIM_TRY(refusePadding(executor, arguments[3]));
  return planSum(executor, arguments[2].integer);
}

/* The number of experts of a token. */
int64_t choicesOf(const Operand &probabilities) {
  return probabilities.tensor != nullptr && probabilities.rank == 2 ? probabilities.dims[1] : 1;
}

aclnnStatus checkProbabilities(const aclOpExecutor &executor, const Operand &indices, const Operand &probabilities) {
  if (probabilities.tensor == nullptr) return ACLNN_SUCCESS;
  if (probabilities.rank == 2 && probabilities.count == indices.count) return ACLNN_SUCCESS;
  return refuse(executor, "probs is no matrix with an element for each of sortedIndices");
}

/* permuted tokens, sorted indices, probabilities, paddedMode, restoreShape, out */
aclnnStatus prepareUnpermute(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  SIM_TRY(refusePadding(executor, arguments[3]));
  SIM_TRY(checkProbabilities(executor, executor.operands[1], executor.operands[2]));
  return planSum(executor, choicesOf(executor.operands[2]));
}

/* permuted tokens, gradient, sorted indices, probabilities, and the gradients of permuted tokens and probabilities */
enum UnpermuteGrad : uint32_t { kPermuted, kGradient, kSorted, kProbabilities, kOfPermuted, kOfProbabilities };

aclError runUnpermuteGrad(const aclOpExecutor &executor) {
  const auto &operands = executor.operands;
  const bool weighted = operands[kProbabilities].tensor != nullptr;
  const int64_t copies = operands[kSorted].count, each = choicesOf(operands[kProbabilities]);
  const Rows gradient(operands[kGradient]), of_permuted(operands[kOfPermuted]);
  const int64_t width = gradient.width();
  int64_t *positions = reinterpret_cast<int64_t *>(executor.workspace);
  float *probabilities = reinterpret_cast<float *>(positions + copies), *found = probabilities + copies;
  float *line = found + copies, *scaled = line + width;
  readElements(operands[kSorted], positions);
  if (weighted) readElements(operands[kProbabilities], probabilities);
  std::fill_n(scaled, width, 0.0f);
  for (int64_t row = 0; row < of_permuted.count(); ++row) of_permuted.write(row, scaled);
  for (int64_t i = 0; i < copies; ++i) {
    found[i] = 0.0f;
    if (positions[i] < 0) return kFault;
    if (positions[i] >= of_permuted.count()) continue;
    gradient.read(i / each, line);
    const float factor = weighted ? probabilities[i] : 1.0f;
    for (int64_t j = 0; j < width; ++j) scaled[j] = factor * line[j];
    of_permuted.write(positions[i], scaled);
    if (!weighted) continue;
    Rows(operands[kPermuted]).read(positions[i], scaled);
    double sum = 0.0;
    for (int64_t j = 0; j < width; ++j) sum += static_cast<double>(line[j]) * static_cast<double>(scaled[j]);
    found[i] = static_cast<float>(sum);
  }
  if (weighted) writeElements(operands[kOfProbabilities], found);
  return ACL_SUCCESS;
}

/* permuted tokens, gradient, sorted indices, probabilities, paddedMode, restoreShape, two gradients */
aclnnStatus prepareUnpermuteGrad(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const auto &operands = executor.operands;
  const Operand &gradient = operands[kGradient], &sorted = operands[kSorted], &probabilities = operands[kProbabilities];
  SIM_TRY(refusePadding(executor, arguments[4]));
  SIM_TRY(checkProbabilities(executor, sorted, probabilities));
  const int64_t each = choicesOf(probabilities);
  const bool fits = gradient.rank == 2 && sorted.rank == 1 && gradient.dims[0] * each == sorted.count;
  if (!fits) return refuse(executor, "unpermutedTokensGrad is no matrix with a row for each token");
  const Operand &out = operands[kOfPermuted];
  if (out.rank != 2) return refuse(executor, "permutedTokensGradOut is no matrix");
  SIM_TRY(requireMatrix(executor, out, out.dims[0], gradient.dims[1]));
  if (probabilities.tensor != nullptr) {
    SIM_TRY(requireShape(executor, operands[kOfProbabilities], shapeOf(probabilities)));
    if (operands[kPermuted].tensor == nullptr) return refuse(executor, "probs is given, but not permuteTokens");
    SIM_TRY(requireShape(executor, operands[kPermuted], shapeOf(out)));
  }
  return planRun(executor, runUnpermuteGrad, sorted.count * 16 + 2 * gradient.dims[1] * 4);
}

/* --- gating by groups of experts: x, bias, y, experts, the scores ----------------------------------------------------
 */

enum GroupedGating : uint32_t { kChosen, kKeptGroups, kGroupCount, kByTwo, kSigmoid, kRenorm, kScores };

struct GatingFactors {
  double scaling, epsilon;
};

/* The places of the `count` largest of `values`, of equal ones the first first. */
void largestFirst(const float *values, int64_t total, int64_t count, int64_t *order) {
  for (int64_t i = 0; i < total; ++i) order[i] = i;
  std::partial_sort(order, order + count, order + total, [values](int64_t a, int64_t b) {
    return values[a] > values[b] || (values[a] == values[b] && a < b);
  });
}

/* Softmax or sigmoid of a token's scores. */
void normalizeScores(const float *line, int64_t experts, bool sigmoid, float *scores) {
  if (sigmoid) {
    for (int64_t e = 0; e < experts; ++e) scores[e] = vec::sigmoid(line[e]);
    return;
  }
  const float largest = *std::max_element(line, line + experts);
  double sum = 0.0;
  for (int64_t e = 0; e < experts; ++e) {
    scores[e] = vec::exp(line[e] - largest);
    sum += static_cast<double>(scores[e]);
  }
  for (int64_t e = 0; e < experts; ++e) scores[e] = static_cast<float>(static_cast<double>(scores[e]) / sum);
}

/* What a group of experts is worth: its largest score, or the sum of its two largest. */
float worthOf(const float *scores, int64_t count, bool by_two) {
  float first = -INFINITY, second = -INFINITY;
  for (int64_t i = 0; i < count; ++i) {
    if (scores[i] > first) {
      second = first;
      first = scores[i];
    } else if (scores[i] > second) {
      second = scores[i];
    }
  }
  return by_two && count > 1 ? first + second : first;
}

aclError runGroupedGating(const aclOpExecutor &executor) {
  const Operand &x = executor.operands[0], &bias = executor.operands[1];
  const int64_t *attributes = executor.attributes;
  const int64_t k = attributes[kChosen], experts = x.dims[x.rank - 1], groups = attributes[kGroupCount];
  if (x.count == 0) return ACL_SUCCESS;
  const int64_t each = experts / groups;
  int64_t *order = reinterpret_cast<int64_t *>(executor.workspace), *chosen = order + experts;
  GatingFactors factors;
  std::memcpy(&factors, attributes + 8, sizeof factors);
  float *line = reinterpret_cast<float *>(chosen + k), *scores = line + experts, *shifted = scores + experts;
  float *added = shifted + experts, *worth = added + experts, *best = worth + groups;
  std::fill_n(added, experts, 0.0f);
  if (bias.tensor != nullptr) readElements(bias, added);
  SliceCursor from(x, x.rank - 1, kF32), to(executor.operands[2], x.rank - 1, kF32);
  SliceCursor places(executor.operands[3], x.rank - 1, kI64);
  Operand kept = attributes[kScores] != 0 ? executor.operands[4] : x;
  SliceCursor out(kept, x.rank - 1, kF32);
  for (int64_t i = x.count / experts; i > 0; --i) {
    from.read(line);
    normalizeScores(line, experts, attributes[kSigmoid] != 0, scores);
    if (attributes[kScores] != 0) out.write(scores);
    for (int64_t e = 0; e < experts; ++e) shifted[e] = scores[e] + added[e];
    for (int64_t g = 0; g < groups; ++g) worth[g] = worthOf(shifted + g * each, each, attributes[kByTwo] != 0);
    largestFirst(worth, groups, attributes[kKeptGroups], order);
    for (int64_t g = attributes[kKeptGroups]; g < groups; ++g) {
      std::fill_n(shifted + order[g] * each, each, -INFINITY);
    }
    largestFirst(shifted, experts, k, order);
    double sum = 0.0;
    for (int64_t j = 0; j < k; ++j) sum += static_cast<double>(scores[order[j]]);
    const bool divided = attributes[kSigmoid] != 0 || attributes[kRenorm] != 0;
    const double divisor = divided ? sum + factors.epsilon : 1.0;
    for (int64_t j = 0; j < k; ++j) {
      best[j] = static_cast<float>(static_cast<double>(scores[order[j]]) / divisor * factors.scaling);
      chosen[j] = order[j];
    }
    to.write(best);
    places.write(chosen);
    for (SliceCursor *cursor : {&from, &to, &places, &out}) cursor->next();
  }
  return ACL_SUCCESS;
}

/* x, bias, k, kGroup, groupCount, groupSelectMode, renorm, normType, outFlag, routedScalingFactor, eps, y, ids, scores
 */
aclnnStatus prepareGroupedGating(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const auto &operands = executor.operands;
  const Operand &x = operands[0], &bias = operands[1];
  const int64_t k = arguments[2].integer, kept = arguments[3].integer, groups = arguments[4].integer;
  if (x.rank != 2) return refuse(executor, "x has {} dimensions, expected 2", x.rank);
  const int64_t experts = x.dims[1];
  if (groups < 1 || experts % groups != 0) {
    return refuse(executor, "groupCount is {}, expected a divisor of the number of experts, {}", groups, experts);
  }
  if (kept < 1 || kept > groups) return refuse(executor, "kGroup is {}, expected 1 to groupCount, {}", kept, groups);
  if (k < 1 || k > experts / groups * kept) {
    return refuse(executor, "k is {}, expected 1 to the number of experts of kGroup groups, {}", k,
                  experts / groups * kept);
  }
  for (uint32_t index : {5u, 6u, 7u}) {
    const int64_t value = arguments[index].integer;
    if (value != 0 && value != 1)
      return refuse(executor, "groupSelectMode, renorm or normType is {}, expected 0 or 1", value);
  }
  if (bias.tensor != nullptr) {
    SIM_TRY(requireVector(executor, bias, experts));
    SIM_TRY(requireSameType(executor, x, bias));
  }
  SIM_TRY(requireSameType(executor, x, operands[2]));
  for (uint32_t index : {2u, 3u}) SIM_TRY(requireMatrix(executor, operands[index], x.dims[0], k));
  const bool wanted = arguments[8].integer != 0;
  if (wanted) SIM_TRY(requireShape(executor, operands[4], shapeOf(x)));
  const int64_t values[] = {k, kept, groups, arguments[5].integer, arguments[7].integer, arguments[6].integer, wanted};
  std::copy(std::begin(values), std::end(values), executor.attributes);
  const GatingFactors factors = {arguments[9].real, arguments[10].real};
  std::memcpy(executor.attributes + 8, &factors, sizeof factors);
  return planRun(executor, runGroupedGating, (experts + k) * 8 + (4 * experts + groups + k) * 4);
}

/* --- copies of tokens by expert, of a range of experts: x, experts, scale, offset, and four results ------------------
 */

enum Route : uint32_t { kToken, kExpert, kScaleIn, kOffsetIn, kExpanded3, kRowIndex3, kCounts, kScaleOut };
enum RouteAttribute : uint32_t { kStart, kEnd, kCountType, kDynamic, kScatter };

/* An int8 line, and its scale: the largest number becomes 127. */
float quantizeLine(float *line, const float *factors, int64_t width) {
  float largest = 0.0f;
  for (int64_t j = 0; j < width; ++j) {
    if (factors != nullptr) line[j] *= factors[j];
    largest = std::max(largest, std::fabs(line[j]));
  }
  const float scale = largest / 127.0f;
  for (int64_t j = 0; j < width; ++j) line[j] = scale > 0.0f ? std::nearbyint(line[j] / scale) : 0.0f;
  return scale;
}

/* The number of copies of each expert of the range, summed up to each, or in pairs with the expert. */
void writeCounts(const aclOpExecutor &executor, const int64_t *counts, int64_t *values) {
  const int64_t range = executor.attributes[kEnd] - executor.attributes[kStart], type = executor.attributes[kCountType];
  int64_t sum = 0, pairs = 0;
  if (type == 2) std::fill_n(values, executor.operands[kCounts].count, 0);
  for (int64_t e = 0; e < range; ++e) {
    if (type < 2) {
      sum += counts[e];
      values[e] = type == 0 ? sum : counts[e];
    } else if (counts[e] > 0) {
      values[2 * pairs] = executor.attributes[kStart] + e;
      values[2 * pairs++ + 1] = counts[e];
    }
  }
  writeElements(executor.operands[kCounts], values);
}

aclError runRoute(const aclOpExecutor &executor) {
  const auto &operands = executor.operands;
  const int64_t *attributes = executor.attributes;
  const int64_t copies = operands[kExpert].count, k = operands[kExpert].dims[1], width = operands[kToken].dims[1];
  const int64_t start = attributes[kStart], end = attributes[kEnd], range = end - start;
  int64_t *experts = reinterpret_cast<int64_t *>(executor.workspace), *order = experts + copies, *rows = order + copies;
  int64_t *counts = rows + copies, *values = counts + range + 1;
  float *scales = reinterpret_cast<float *>(values + operands[kCounts].count), *line = scales + copies;
  float *factors = line + width, *given = factors + width;
  std::fill_n(counts, range + 1, 0);
  std::fill_n(rows, copies, -1);
  std::fill_n(scales, copies, 0.0f);
  readElements(operands[kExpert], experts);
  sortByValue(experts, copies, order);
  const bool dynamic = attributes[kDynamic] != 0, scaled = operands[kScaleIn].tensor != nullptr;
  if (scaled && !dynamic) readElements(operands[kScaleIn], given);
  const Rows from(operands[kToken]), to(operands[kExpanded3]);
  int64_t at = 0;
  for (int64_t i = 0; i < copies; ++i) {
    const int64_t copy = order[i], expert = experts[copy];
    if (expert < start || expert >= end) continue;
    ++counts[expert - start];
    rows[attributes[kScatter] != 0 ? at : copy] = attributes[kScatter] != 0 ? copy : at;
    if (at < to.count()) {
      from.read(copy / k, line);
      if (dynamic) {
        if (scaled) Rows(operands[kScaleIn]).read(expert - start, factors);
        scales[at] = quantizeLine(line, scaled ? factors : nullptr, width);
      } else if (scaled) {
        scales[at] = given[copy / k];
      }
      to.write(at, line);
    }
    ++at;
  }
  std::fill_n(line, width, 0.0f);
  for (int64_t i = at; i < to.count(); ++i) to.write(i, line);
  writeElements(operands[kRowIndex3], rows);
  writeElements(operands[kScaleOut], scales);
  writeCounts(executor, counts, values);
  return ACL_SUCCESS;
}

/* x, expertIdx, scale, offset, activeNum, expertCapacity, expertNum, dropPadMode, expertTokensNumType,
 * expertTokensNumFlag, quantMode, activeExpertRange, rowIdxType, expandedX, expandedRowIdx, counts, expandedScale */
aclnnStatus prepareRoute(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const auto &operands = executor.operands;
  const Operand &x = operands[kToken], &experts = operands[kExpert], &scale = operands[kScaleIn];
  const int64_t number = arguments[6].integer, count_type = arguments[8].integer, quantized = arguments[10].integer;
  if (x.rank != 2 || experts.rank != 2 || experts.dims[0] != x.dims[0]) {
    return refuse(executor, "x and expertIdx are no matrices with a row for each token");
  }
  const int64_t copies = experts.count, width = x.dims[1];
  if (arguments[4].integer != copies) return refuse(executor, "activeNum is not the number of copies, {}", copies);
  if (arguments[7].integer != 0) return refuse(executor, "dropPadMode is not 0, which this kernel takes");
  if (arguments[9].integer == 0) return refuse(executor, "expertTokensNumFlag is false, this kernel has true only");
  if (count_type < 0 || count_type > 2)
    return refuse(executor, "expertTokensNumType is {}, expected 0 to 2", count_type);
  if (quantized != -1 && quantized != 1)
    return refuse(executor, "quantMode is {}, this kernel has -1 and 1", quantized);
  if (operands[kOffsetIn].tensor != nullptr)
    return refuse(executor, "offsetOptional is given, this kernel has it left out only");
  const aclIntArray *active = static_cast<const aclIntArray *>(arguments[11].pointer);
  const bool whole = active == nullptr || active->size == 0;
  if (!whole && active->size != 2)
    return refuse(executor, "activeExpertRangeOptional has {} numbers, expected 2", active->size);
  const int64_t start = whole ? 0 : active->items[0], end = whole ? number : active->items[1];
  if (start < 0 || end < start || end > number) {
    return refuse(executor, "experts {} to {} of {} are no range", start, end, number);
  }
  SIM_TRY(requireMatrix(executor, operands[kExpanded3], copies, width));
  SIM_TRY(requireVector(executor, operands[kRowIndex3], copies));
  SIM_TRY(requireVector(executor, operands[kScaleOut], copies));
  const int64_t range = end - start;
  SIM_TRY(requireShape(executor, operands[kCounts], count_type == 2 ? Shape{2, {number, 2}} : vectorShape(range)));
  const aclDataType type = quantized == 1 ? ACL_INT8 : x.type;
  if (operands[kExpanded3].type != type)
    return refuse(executor, "expandedXOut has data type {}, expected {}", operands[kExpanded3].type, type);
  if (scale.tensor != nullptr) {
    SIM_TRY(quantized == 1 ? requireMatrix(executor, scale, range, width) : requireVector(executor, scale, x.dims[0]));
  }
  const int64_t values[] = {start, end, count_type, quantized == 1, arguments[12].integer};
  std::copy(std::begin(values), std::end(values), executor.attributes);
  const int64_t integers = 3 * copies + range + 1 + operands[kCounts].count;
  return planRun(executor, runRoute, integers * 8 + (copies + 2 * width + x.dims[0]) * 4);
}

/* How many of the sorted experts are not above each expert: sortedExperts, out */
aclError runExpertTokens(const aclOpExecutor &executor) {
  const Operand &sorted = executor.operands[0], &out = executor.operands[1];
  int64_t *experts = reinterpret_cast<int64_t *>(executor.workspace), *ends = experts + sorted.count;
  if (sorted.count > 0) readElements(sorted, experts);
  for (int64_t e = 0, i = 0; e < out.count; ++e) {
    while (i < sorted.count && experts[i] <= e) ++i;
    ends[e] = i;
  }
  writeElements(out, ends);
  return ACL_SUCCESS;
}

/* sortedExperts, numExperts, out */
aclnnStatus prepareExpertTokens(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Operand &sorted = executor.operands[0], &out = executor.operands[1];
  const int64_t experts = arguments[1].integer;
  if (sorted.rank != 1 || experts < 1)
    return refuse(executor, "sortedExperts is no vector, or numExperts is {}", experts);
  SIM_TRY(requireVector(executor, out, experts));
  SIM_TRY(requireSameType(executor, sorted, out));
  return planRun(executor, runExpertTokens, (sorted.count + experts) * 8);
}

}  // namespace

SIM_OP(aclnnMoeGatingTopK, prepareGroupedGating, nullptr, 0)
SIM_OP(aclnnMoeInitRoutingV3, prepareRoute, nullptr, 0)
SIM_OP(aclnnMoeComputeExpertTokens, prepareExpertTokens, nullptr, 0)
SIM_OP(aclnnMoeGatingTopKSoftmax, prepareGating, nullptr, 0)
SIM_OP(aclnnMoeInitRouting, prepareInitRouting, nullptr, 0)
SIM_OP(aclnnMoeFinalizeRouting, prepareFinalizeRouting, nullptr, 0)
SIM_OP(aclnnMoeTokenPermute, preparePermute, nullptr, 0)
SIM_OP(aclnnMoeTokenPermuteGrad, preparePermuteGrad, nullptr, 0)
SIM_OP(aclnnMoeTokenUnpermute, prepareUnpermute, nullptr, 0)
SIM_OP(aclnnMoeTokenUnpermuteGrad, prepareUnpermuteGrad, nullptr, 0)

}  // namespace sim
