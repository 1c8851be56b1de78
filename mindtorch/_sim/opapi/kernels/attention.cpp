/* Flash attention over (batch, heads, length, width) in any layout. Blocks of queries keep the scores in the cache.
 * The gradient recomputes the weights from the saved statistics. */
#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "opapi/kernels/convolution.h"
#include "opapi/kernels/matrices.h"

namespace sim {
namespace {

constexpr int64_t kScores = 1 << 16; /* of a block */
constexpr int64_t kStatistics = 8;   /* equal numbers for each query, as the hardware lays them out */

enum Attribute { kBefore, kBehind, kScale, kKeep, kBounded }; /* kScale, kKeep: the bits of a float */

struct Sizes {
  int64_t batch, heads, shared, queries, keys, width, value_width;
};

Sizes sizesOf(const Operand &query, const Operand &key, const Operand &value) {
  return {query.dims[0], query.dims[1], key.dims[1], query.dims[2], key.dims[2], query.dims[3], value.dims[3]};
}

float scaleOf(const aclOpExecutor &executor) { return bitsToFloat(static_cast<uint32_t>(executor.attributes[kScale])); }

/* Queries of a block. */
int64_t rowsOfBlock(const Sizes &sizes) { return std::min(sizes.queries, std::max<int64_t>(16, kScores / sizes.keys)); }

Operand headOf(const Operand &operand, int64_t batch, int64_t head) {
  return partAt(operand, 2, operand.host + (batch * operand.strides[0] + head * operand.strides[1]) * operand.item,
                kF32);
}

/* The queries of one block: rows [first, first + count), which see keys before `end`. */
struct Block {
  int64_t first, count, end;
};

/* If the call is bounded, a query attends to keys up to a given distance behind its own position. */
Block blockAt(const aclOpExecutor &executor, const Sizes &sizes, int64_t first) {
  const int64_t count = std::min(rowsOfBlock(sizes), sizes.queries - first);
  if (executor.attributes[kBounded] == 0) return {first, count, sizes.keys};
  const int64_t reach = executor.attributes[kBehind];
  const int64_t end = reach >= sizes.keys ? sizes.keys : first + count + reach;
  return {first, count, std::max<int64_t>(0, std::min(sizes.keys, end))};
}

/* scores = -inf for masked keys. */
SIM_CLONES void maskScores(const uint8_t *masked, int64_t count, float *scores) {
  const float nothing = -std::numeric_limits<float>::infinity();
  SIM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) scores[i] = masked[i] ? nothing : scores[i];
}

SIM_CLONES float largest(const float *values, int64_t count) {
  float lanes[8];
  std::fill_n(lanes, 8, -std::numeric_limits<float>::infinity());
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int lane = 0; lane < 8; ++lane) lanes[lane] = values[i + lane] > lanes[lane] ? values[i + lane] : lanes[lane];
  }
  for (; i < count; ++i) lanes[0] = values[i] > lanes[0] ? values[i] : lanes[0];
  return *std::max_element(lanes, lanes + 8);
}

/* values = factor * exp(values - offset); returns the sum of the exponentials. */
SIM_CLONES float exponentials(float *values, int64_t count, float offset, float factor) {
  float lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int lane = 0; lane < 8; ++lane) {
      const float power = vec::exp(values[i + lane] - offset);
      lanes[lane] += power;
      values[i + lane] = factor * power;
    }
  }
  for (; i < count; ++i) {
    const float power = vec::exp(values[i] - offset);
    lanes[0] += power;
    values[i] = factor * power;
  }
  float sum = 0.0f;
  for (float lane : lanes) sum += lane;
  return sum;
}

SIM_CLONES void multiplyBy(float *values, int64_t count, float factor) {
  SIM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) values[i] *= factor;
}

/* values = weights * (values - common) * scale */
SIM_CLONES void scoreGradient(const float *weights, int64_t count, float common, float scale, float *values) {
  SIM_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) values[i] = weights[i] * (values[i] - common) * scale;
}

void maskBlockScores(const aclOpExecutor &executor, const Operand &mask, const Block &block, int64_t batch,
                     int64_t head, uint8_t *line, float *scores) {
  const bool masked = mask.tensor != nullptr;
  const int64_t stride = masked ? mask.strides[3] : 0; /* of one byte an element */
  const char *rows = masked ? mask.host + batch * mask.strides[0] + head * mask.strides[1] : nullptr;
  for (int64_t i = 0; i < block.count; ++i, scores += block.end) {
    const uint8_t *row = nullptr;
    if (masked) row = reinterpret_cast<const uint8_t *>(rows + (block.first + i) * mask.strides[2]);
    if (!masked) {
      /* only the positions below are masked */
    } else if (stride == 1) {
      maskScores(row, block.end, scores);
    } else {
      for (int64_t k = 0; k < block.end; ++k) line[k] = row[k * stride];
      maskScores(line, block.end, scores);
    }
    const int64_t position = block.first + i, behind = executor.attributes[kBehind],
                  before = executor.attributes[kBefore];
    const float nothing = -std::numeric_limits<float>::infinity();
    const int64_t start = std::max<int64_t>(0, std::min(block.end, position - before));
    const int64_t end =
        behind >= block.end ? block.end : std::max<int64_t>(0, std::min(block.end, position + behind + 1));
    std::fill(scores, scores + start, nothing);
    std::fill(scores + end, scores + block.end, nothing);
  }
}

int asInt(int64_t size) { return static_cast<int>(size); }

Sgemm sgemmOf(const aclOpExecutor &executor) { return reinterpret_cast<Sgemm>(const_cast<void *>(executor.kernel)); }

/* scores = scale * queries * keys^T, -inf where masked. */
void computeScores(const aclOpExecutor &executor, const Sizes &sizes, const Block &block, const float *queries,
                   const float *keys, const Operand &mask, int64_t batch, int64_t head, uint8_t *line, float *scores) {
  sgemmOf(executor)(kRowMajor, kNoTranspose, kTranspose, asInt(block.count), asInt(block.end), asInt(sizes.width),
                    scaleOf(executor), queries + block.first * sizes.width, asInt(sizes.width), keys,
                    asInt(sizes.width), 0.0f, scores, asInt(block.end));
  if (executor.attributes[kBounded] != 0) maskBlockScores(executor, mask, block, batch, head, line, scores);
}

/* values = values / keep where the mask, of one bit for each score of the call, has a 1, else 0. */
void dropScores(const aclOpExecutor &executor, const Operand &mask, const Sizes &sizes, const Block &block,
                int64_t batch, int64_t head, float *values) {
  if (mask.tensor == nullptr) return;
  const float factor = 1.0f / bitsToFloat(static_cast<uint32_t>(executor.attributes[kKeep]));
  const uint8_t *bits = reinterpret_cast<const uint8_t *>(mask.host);
  for (int64_t i = 0; i < block.count; ++i, values += block.end) {
    const int64_t row = ((batch * sizes.heads + head) * sizes.queries + block.first + i) * sizes.keys;
    for (int64_t k = 0; k < block.end; ++k) {
      const bool kept = (bits[(row + k) / 8] >> ((row + k) % 8) & 1) != 0;
      values[k] = kept ? values[k] * factor : 0.0f;
    }
  }
}

void writeStatistic(const Operand &operand, int64_t batch, int64_t head, int64_t row, float value) {
  char *address =
      operand.host + (batch * operand.strides[0] + head * operand.strides[1] + row * operand.strides[2]) * operand.item;
  for (int64_t i = 0; i < kStatistics; ++i) {
    std::memcpy(address + i * operand.strides[3] * operand.item, &value, sizeof value);
  }
}

float readStatistic(const Operand &operand, int64_t batch, int64_t head, int64_t row) {
  float value;
  std::memcpy(
      &value,
      operand.host + (batch * operand.strides[0] + head * operand.strides[1] + row * operand.strides[2]) * operand.item,
      sizeof value);
  return value;
}

/* query, key, value, realShift, dropMask, paddingMask, attenMask, softmaxMax, softmaxSum, softmaxOut, attentionOut */
enum Forward { kQuery, kKey, kValue, kShift, kDrop, kPaddingMask, kMask, kMax, kSum, kSoftmax, kResult };

/* Softmax of the block's rows; writes their statistics. */
void takeWeights(const aclOpExecutor &executor, const Block &block, int64_t batch, int64_t head, float *scores) {
  for (int64_t i = 0; i < block.count; ++i, scores += block.end) {
    float most = largest(scores, block.end);
    if (!(most > -std::numeric_limits<float>::infinity()) && !isNan(most)) most = 0.0f; /* it may look nowhere */
    const float sum = exponentials(scores, block.end, most, 1.0f);
    multiplyBy(scores, block.end, sum == 0.0f ? 0.0f : 1.0f / sum);
    writeStatistic(executor.operands[kMax], batch, head, block.first + i, most);
    writeStatistic(executor.operands[kSum], batch, head, block.first + i, sum);
  }
}

aclError runAttention(const aclOpExecutor &executor) {
  const Operand &query = executor.operands[kQuery], &key = executor.operands[kKey], &value = executor.operands[kValue];
  const Operand &mask = executor.operands[kMask], &result = executor.operands[kResult];
  const Sizes s = sizesOf(query, key, value);
  float *queries = reinterpret_cast<float *>(executor.workspace), *keys = queries + s.queries * s.width;
  float *values = keys + s.keys * s.width, *results = values + s.keys * s.value_width;
  float *scores = results + s.queries * s.value_width;
  uint8_t *line = reinterpret_cast<uint8_t *>(scores + rowsOfBlock(s) * s.keys);
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      if (h % (s.heads / s.shared) == 0) {
        readElements(headOf(key, b, h / (s.heads / s.shared)), keys);
        readElements(headOf(value, b, h / (s.heads / s.shared)), values);
      }
      readElements(headOf(query, b, h), queries);
      for (int64_t first = 0; first < s.queries; first += rowsOfBlock(s)) {
        const Block block = blockAt(executor, s, first);
        float *rows = results + first * s.value_width;
        std::fill_n(rows, block.count * s.value_width, 0.0f);
        if (block.end > 0) computeScores(executor, s, block, queries, keys, mask, b, h, line, scores);
        takeWeights(executor, block, b, h, scores);
        if (block.end == 0) continue;
        dropScores(executor, executor.operands[kDrop], s, block, b, h, scores);
        sgemmOf(executor)(kRowMajor, kNoTranspose, kNoTranspose, asInt(block.count), asInt(s.value_width),
                          asInt(block.end), 1.0f, scores, asInt(block.end), values, asInt(s.value_width), 0.0f, rows,
                          asInt(s.value_width));
      }
      writeElements(headOf(result, b, h), results);
    }
  }
  return ACL_SUCCESS;
}

/* query, keyIn, value, dy, pseShift, dropMask, paddingMask, attenMask, softmaxMax, softmaxSum, softmaxIn, attentionIn,
 * dq, dk, dv, dpse */
enum Backward {
  kGrad = kValue + 1,
  kGradDrop = kGrad + 2,
  kGradMask = kGrad + 4,
  kGradMax,
  kGradSum,
  kSoftmaxIn,
  kAttention,
  kGradQuery,
  kGradKey,
  kGradValue,
  kGradShift
};

/* The matrices of one head in the workspace. Query heads that share keys and values share their matrices. */
struct Head {
  float *queries, *keys, *values, *grads, *results, *of_queries, *of_keys, *of_values, *weights, *scores;
  uint8_t *line;
};

Head headBuffers(const aclOpExecutor &executor, const Sizes &s) {
  Head head;
  head.queries = reinterpret_cast<float *>(executor.workspace);
  head.of_queries = head.queries + s.queries * s.width;
  head.keys = head.of_queries + s.queries * s.width;
  head.of_keys = head.keys + s.keys * s.width;
  head.values = head.of_keys + s.keys * s.width;
  head.of_values = head.values + s.keys * s.value_width;
  head.grads = head.of_values + s.keys * s.value_width;
  head.results = head.grads + s.queries * s.value_width;
  head.weights = head.results + s.queries * s.value_width;
  head.scores = head.weights + rowsOfBlock(s) * s.keys;
  head.line = reinterpret_cast<uint8_t *>(head.scores + rowsOfBlock(s) * s.keys);
  return head;
}

float sumOfProducts(const float *a, const float *b, int64_t count) {
  double sum = 0.0;
  for (int64_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return static_cast<float>(sum);
}

void blockBackward(const aclOpExecutor &executor, const Sizes &s, const Head &head, const Block &block, int64_t b,
                   int64_t h) {
  const Sgemm sgemm = sgemmOf(executor);
  const int count = asInt(block.count), end = asInt(block.end), width = asInt(s.width), wide = asInt(s.value_width);
  const float *grads = head.grads + block.first * s.value_width, *results = head.results + block.first * s.value_width;
  computeScores(executor, s, block, head.queries, head.keys, executor.operands[kGradMask], b, h, head.line,
                head.weights);
  sgemm(kRowMajor, kNoTranspose, kTranspose, count, end, wide, 1.0f, grads, wide, head.values, wide, 0.0f, head.scores,
        end);
  const Operand &drop = executor.operands[kGradDrop];
  dropScores(executor, drop, s, block, b, h, head.scores);
  for (int64_t i = 0; i < block.count; ++i) {
    float *weights = head.weights + i * block.end;
    const float most = readStatistic(executor.operands[kGradMax], b, h, block.first + i);
    const float sum = readStatistic(executor.operands[kGradSum], b, h, block.first + i);
    exponentials(weights, block.end, most, sum == 0.0f ? 0.0f : 1.0f / sum);
    const float common = sumOfProducts(grads + i * s.value_width, results + i * s.value_width, s.value_width);
    scoreGradient(weights, block.end, common, scaleOf(executor), head.scores + i * block.end);
  }
  sgemm(kRowMajor, kNoTranspose, kNoTranspose, count, width, end, 1.0f, head.scores, end, head.keys, width, 0.0f,
        head.of_queries + block.first * s.width, width);
  sgemm(kRowMajor, kTranspose, kNoTranspose, end, width, count, 1.0f, head.scores, end,
        head.queries + block.first * s.width, width, 1.0f, head.of_keys, width);
  dropScores(executor, drop, s, block, b, h, head.weights);
  sgemm(kRowMajor, kTranspose, kNoTranspose, end, wide, count, 1.0f, head.weights, end, grads, wide, 1.0f,
        head.of_values, wide);
}

aclError runAttentionBackward(const aclOpExecutor &executor) {
  const auto &operands = executor.operands;
  const Sizes s = sizesOf(operands[kQuery], operands[kKey], operands[kValue]);
  const Head head = headBuffers(executor, s);
  const int64_t sharing = s.heads / s.shared;
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t h = 0; h < s.heads; ++h) {
      if (h % sharing == 0) {
        readElements(headOf(operands[kKey], b, h / sharing), head.keys);
        readElements(headOf(operands[kValue], b, h / sharing), head.values);
        std::fill_n(head.of_keys, s.keys * s.width, 0.0f);
        std::fill_n(head.of_values, s.keys * s.value_width, 0.0f);
      }
      readElements(headOf(operands[kQuery], b, h), head.queries);
      readElements(headOf(operands[kGrad], b, h), head.grads);
      readElements(headOf(operands[kAttention], b, h), head.results);
      std::fill_n(head.of_queries, s.queries * s.width, 0.0f);
      for (int64_t first = 0; first < s.queries; first += rowsOfBlock(s)) {
        const Block block = blockAt(executor, s, first);
        if (block.end > 0) blockBackward(executor, s, head, block, b, h);
      }
      writeElements(headOf(operands[kGradQuery], b, h), head.of_queries);
      if ((h + 1) % sharing != 0) continue;
      writeElements(headOf(operands[kGradKey], b, h / sharing), head.of_keys);
      writeElements(headOf(operands[kGradValue], b, h / sharing), head.of_values);
    }
  }
  return ACL_SUCCESS;
}

/* Options of both operators. */
struct Options {
  double scale, keep;
  int64_t before, behind, heads;
  const char *layout;
  int64_t precise, sparse;
};

Options optionsFrom(const Argument *arguments) {
  return {arguments[0].real,    arguments[1].real,    arguments[2].integer,
          arguments[3].integer, arguments[4].integer, static_cast<const char *>(arguments[5].pointer),
          arguments[6].integer, arguments[7].integer};
}

/* sparseMode: which keys are masked by position, in addition to the mask. */
enum Sparse : int64_t { kDefault, kAllMask, kLeftUp, kRightDown, kBand };

/* This kernel supports no position bias and no prefix. */
aclnnStatus checkOptions(const aclOpExecutor &executor, const Options &options, const void *prefix) {
  const aclIntArray *array = static_cast<const aclIntArray *>(prefix);
  if (options.sparse < kDefault || options.sparse > kBand || (array != nullptr && array->size > 0)) {
    return refuse(executor, "sparseMode is {}, this kernel has 0 to 4 only, and no prefix", options.sparse);
  }
  if (!(options.keep > 0.0 && options.keep <= 1.0)) {
    return refuse(executor, "keepProb is {}, expected more than 0 and 1 at most", options.keep);
  }
  if (options.heads != executor.operands[kQuery].dims[1]) {
    return refuse(executor, "headNum is {}, query has {} heads", options.heads, executor.operands[kQuery].dims[1]);
  }
  return ACLNN_SUCCESS;
}

aclnnStatus checkAbsent(const aclOpExecutor &executor, int index) {
  const Operand &operand = executor.operands[static_cast<uint32_t>(index)];
  if (operand.tensor == nullptr || operand.count == 0) return ACLNN_SUCCESS;
  return refuse(executor, "{} is given, this kernel has it left out only", operand);
}

aclnnStatus checkOperands(const aclOpExecutor &executor) {
  const Operand &query = executor.operands[kQuery], &key = executor.operands[kKey], &value = executor.operands[kValue];
  for (const Operand *operand : {&query, &key, &value}) {
    if (operand->rank != 4) return refuse(executor, "an operand has {} dimensions, expected 4", operand->rank);
    if (operand->count == 0) return refuse(executor, "an operand is empty");
    if (operand->type != query.type) return refuse(executor, "query, key and value have different data types");
    for (int i = 0; i < 4; ++i) {
      if (operand->dims[i] > INT32_MAX) return refuse(executor, "a dimension is too large");
    }
  }
  if (key.dims[0] != query.dims[0] || key.dims[3] != query.dims[3] || query.dims[1] % key.dims[1] != 0) {
    return refuse(executor, "key does not fit query: {} and {} batches, {} and {} heads, widths {} and {}", key.dims[0],
                  query.dims[0], key.dims[1], query.dims[1], key.dims[3], query.dims[3]);
  }
  Shape shape = shapeOf(key);
  shape.dims[3] = value.dims[3];
  return requireShape(executor, value, shape);
}

/* Views the operand as (batch, heads, length, width). */
aclnnStatus arrange(const aclOpExecutor &executor, const char *layout, int64_t heads, Operand *operand) {
  if (std::strcmp(layout, "BNSD") == 0) return ACLNN_SUCCESS; /* the rank is checked with the others */
  const bool narrow = std::strcmp(layout, "BSH") == 0 || std::strcmp(layout, "SBH") == 0;
  if (operand->rank != (narrow ? 3 : 4)) {
    return refuse(executor, "an operand has {} dimensions, which is not {}", operand->rank, layout);
  }
  const Operand given = *operand;
  if (narrow && (heads <= 0 || given.dims[2] % heads != 0)) {
    return refuse(executor, "{} elements in the last dimension, expected a multiple of the number of heads",
                  given.dims[2]);
  }
  const int batch = layout[0] == 'B' ? 0 : 1, length = 1 - batch;
  const int64_t width = narrow ? given.dims[2] / heads : given.dims[3];
  const int64_t dims[] = {given.dims[batch], narrow ? heads : given.dims[2], given.dims[length], width};
  const int64_t along = given.strides[narrow ? 2 : 3];
  const int64_t strides[] = {given.strides[batch], narrow ? width * along : given.strides[2], given.strides[length],
                             along};
  operand->rank = 4;
  std::copy(dims, dims + 4, operand->dims);
  std::copy(strides, strides + 4, operand->strides);
  return ACLNN_SUCCESS;
}

/* Arranges the operands that have as many heads as the queries, and those that have as many as the keys. */
aclnnStatus arrangeAll(aclOpExecutor &executor, const Options &options, std::initializer_list<uint32_t> of_queries,
                       std::initializer_list<uint32_t> of_keys) {
  static const char *const kLayouts[] = {"BNSD", "BSND", "BSH", "SBH"};
  const char *layout = options.layout;
  const bool known = layout != nullptr && std::any_of(std::begin(kLayouts), std::end(kLayouts),
                                                      [&](const char *name) { return std::strcmp(layout, name) == 0; });
  if (!known) return refuse(executor, "inputLayout is {}, expected BNSD, BSND, BSH or SBH", layout ? layout : "NULL");
  const Operand query = executor.operands[kQuery], key = executor.operands[kKey];
  int64_t shared = options.heads;
  if (query.rank == 3 && key.rank == 3 && options.heads > 0 && query.dims[2] >= options.heads) {
    shared = key.dims[2] / (query.dims[2] / options.heads); /* keys are as wide as queries */
  }
  for (uint32_t index : of_queries) SIM_TRY(arrange(executor, layout, options.heads, &executor.operands[index]));
  for (uint32_t index : of_keys) SIM_TRY(arrange(executor, layout, shared, &executor.operands[index]));
  return ACLNN_SUCCESS;
}

/* One bit for each score. */
aclnnStatus prepareDrop(aclOpExecutor &executor, const Options &options, uint32_t index) {
  Operand &drop = executor.operands[index];
  if (drop.tensor == nullptr || drop.count == 0 || options.keep == 1.0) {
    drop.tensor = nullptr;
    drop.count = 0;
    if (options.keep == 1.0) return ACLNN_SUCCESS;
    return refuse(executor, "keepProb is {}, but there is no dropMask", options.keep);
  }
  const Operand &query = executor.operands[kQuery];
  const int64_t scores = query.dims[0] * query.dims[1] * query.dims[2] * executor.operands[kKey].dims[2];
  if (drop.rank == 1 && drop.strides[0] == 1 && drop.count >= (scores + 7) / 8) return ACLNN_SUCCESS;
  return refuse(executor, "dropMask has {} bytes, expected one bit for each of {} scores", drop.count, scores);
}

/* Expands the mask over batches and heads. In the causal and band modes the mask is a fixed triangle that is not
 * read, as the positions imply it. */
aclnnStatus prepareMask(aclOpExecutor &executor, const Options &options, uint32_t index) {
  Operand &mask = executor.operands[index];
  if (options.sparse >= kLeftUp) {
    if (mask.tensor == nullptr) return refuse(executor, "attenMask is NULL, expected the triangle of the sparse mode");
    mask.tensor = nullptr;
    mask.count = 0;
    return ACLNN_SUCCESS;
  }
  if (mask.tensor == nullptr) return ACLNN_SUCCESS;
  Shape shape = shapeOf(executor.operands[kQuery]);
  shape.dims[3] = executor.operands[kKey].dims[2];
  Shape widened = shape;
  const bool whole =
      mask.rank >= 2 && mask.dims[mask.rank - 2] == shape.dims[2] && mask.dims[mask.rank - 1] == shape.dims[3];
  if (!whole || !broadcastInto(&widened, mask) || !std::equal(shape.dims, shape.dims + 4, widened.dims)) {
    return refuse(executor, "attenMask does not fit the queries and keys");
  }
  expandTo(&mask, shape);
  return ACLNN_SUCCESS;
}

aclnnStatus requireStatistics(const aclOpExecutor &executor, uint32_t index) {
  Shape shape = shapeOf(executor.operands[kQuery]);
  shape.dims[3] = kStatistics;
  return requireShape(executor, executor.operands[index], shape);
}

aclnnStatus plan(aclOpExecutor &executor, const Options &options, uint32_t mask, int64_t floats,
                 aclError (*run)(const aclOpExecutor &)) {
  const int64_t everything = std::numeric_limits<int32_t>::max();
  const int64_t queries = executor.operands[kQuery].dims[2], keys = executor.operands[kKey].dims[2];
  executor.attributes[kBefore] = options.sparse == kDefault ? options.before
                                 : options.sparse == kBand  ? options.before - (keys - queries)
                                                            : everything;
  executor.attributes[kBehind] = options.sparse == kDefault     ? options.behind
                                 : options.sparse == kLeftUp    ? 0
                                 : options.sparse == kRightDown ? keys - queries
                                 : options.sparse == kBand      ? options.behind + (keys - queries)
                                                                : everything;
  executor.attributes[kBounded] = options.sparse >= kLeftUp || executor.operands[mask].tensor != nullptr;
  executor.attributes[kKeep] = floatToBits(static_cast<float>(options.keep));
  executor.attributes[kScale] = floatToBits(static_cast<float>(options.scale));
  executor.run = run;
  const Sizes s = sizesOf(executor.operands[kQuery], executor.operands[kKey], executor.operands[kValue]);
  executor.flops = 2.0 * static_cast<double>(s.batch * s.heads * queries * keys * (s.width + s.value_width));
  if (run == runAttentionBackward) executor.flops *= 2.5; /* five products in the place of two */
  executor.workspace_size = roundUp(static_cast<uint64_t>(floats) * sizeof(float) + static_cast<uint64_t>(keys));
  return takeSgemm(executor);
}

Shape resultShape(const aclOpExecutor &executor) {
  Shape shape = shapeOf(executor.operands[kQuery]);
  shape.dims[3] = executor.operands[kValue].dims[3];
  return shape;
}

/* ..., prefix, scaleValue, keepProb, preTokens, nextTokens, headNum, inputLayout, innerPrecise, sparseMode, ... */
aclnnStatus prepareAttention(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Options options = optionsFrom(arguments + 8);
  SIM_TRY(arrangeAll(executor, options, {kQuery, kResult}, {kKey, kValue}));
  SIM_TRY(checkOperands(executor));
  SIM_TRY(checkOptions(executor, options, arguments[7].pointer));
  for (int index : {kShift, kPaddingMask}) SIM_TRY(checkAbsent(executor, index));
  SIM_TRY(prepareDrop(executor, options, kDrop));
  SIM_TRY(prepareMask(executor, options, kMask));
  for (uint32_t index : {kMax, kSum}) SIM_TRY(requireStatistics(executor, index));
  SIM_TRY(requireShape(executor, executor.operands[kResult], resultShape(executor)));
  const Sizes s = sizesOf(executor.operands[kQuery], executor.operands[kKey], executor.operands[kValue]);
  return plan(executor, options, kMask, (s.queries + s.keys) * (s.width + s.value_width) + rowsOfBlock(s) * s.keys,
              runAttention);
}

/* ..., attentionIn, prefix, scaleValue, ... as above */
aclnnStatus prepareAttentionBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const Options options = optionsFrom(arguments + 13);
  SIM_TRY(arrangeAll(executor, options, {kQuery, kGrad, kAttention, kGradQuery}, {kKey, kValue, kGradKey, kGradValue}));
  SIM_TRY(checkOperands(executor));
  SIM_TRY(checkOptions(executor, options, arguments[12].pointer));
  for (int index : {kGrad + 1, kGradMask - 1}) SIM_TRY(checkAbsent(executor, index));
  SIM_TRY(prepareDrop(executor, options, kGradDrop));
  SIM_TRY(prepareMask(executor, options, kGradMask));
  for (uint32_t index : {kGradMax, kGradSum}) SIM_TRY(requireStatistics(executor, index));
  for (uint32_t index : {static_cast<uint32_t>(kGrad), static_cast<uint32_t>(kAttention)}) {
    SIM_TRY(requireShape(executor, executor.operands[index], resultShape(executor)));
  }
  for (uint32_t i = 0; i < 3; ++i) {
    SIM_TRY(requireShape(executor, executor.operands[kGradQuery + i], shapeOf(executor.operands[i])));
  }
  const Sizes s = sizesOf(executor.operands[kQuery], executor.operands[kKey], executor.operands[kValue]);
  const int64_t floats = 2 * (s.queries + s.keys) * (s.width + s.value_width) + 2 * rowsOfBlock(s) * s.keys;
  return plan(executor, options, kGradMask, floats, runAttentionBackward);
}

}  // namespace

SIM_OP(aclnnFlashAttentionScore, prepareAttention, nullptr, 0)
SIM_OP(aclnnFlashAttentionScoreGrad, prepareAttentionBackward, nullptr, 0)

}  // namespace sim
