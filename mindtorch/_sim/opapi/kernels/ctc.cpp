/* Connectionist temporal classification: the loss sums over all paths of labels with blanks between and around them,
 * forwards for the loss, backwards too for the gradient. */
#include <algorithm>

#include "opapi/kernels/matrices.h"

namespace sim {
namespace {

enum Attribute { kBlank, kZeroInfinity };

constexpr double kNever = -std::numeric_limits<double>::infinity();

double addLogs(double a, double b) {
  const double most = std::max(a, b);
  return most == kNever ? kNever : most + std::log(std::exp(a - most) + std::exp(b - most));
}

/* A sample's numbers in the workspace. */
struct Sample {
  double *logs;  /* (time, classes) */
  double *alpha; /* (time, states) */
  double *beta, *later;
  double *shares; /* of a time, by class */
  int64_t *labels;
  int64_t times, count, classes, states, longest;
  int64_t blank;

  int64_t label(int64_t state) const { return state % 2 == 0 ? blank : labels[state / 2]; }
  /* Whether `state` may be reached from the one two before it. */
  bool skips(int64_t state) const { return state > 1 && label(state) != blank && label(state) != label(state - 2); }
};

void moveMatrix(Operand part, double *plain, bool to_plain) {
  Operand flat = part;
  flat.type = ACL_DOUBLE;
  flat.item = sizeof(double);
  flat.host = reinterpret_cast<char *>(plain);
  flat.strides[0] = part.dims[1];
  flat.strides[1] = 1;
  part.compute = flat.compute = kF64;
  to_plain ? convertView(part, flat) : convertView(flat, part);
}

/* The (time, classes) of one sample of (time, batch, classes). */
Operand planeOf(const Operand &operand, int64_t sample) {
  Operand plane = partAt(operand, 2, operand.host + sample * operand.strides[1] * operand.item, kF64);
  plane.dims[0] = operand.dims[0];
  plane.strides[0] = operand.strides[0];
  plane.count = plane.dims[0] * plane.dims[1];
  return plane;
}

/* False: a label is no class, which faults on the device. */
bool readLabels(const aclOpExecutor &executor, const Operand &targets, int64_t n, Sample *sample) {
  const int64_t batch = static_cast<int64_t>(executor.integers.size() / 2);
  int64_t first = 0;
  for (int64_t i = 0; i < n; ++i) first += executor.integers[static_cast<uint32_t>(batch + i)];
  const int64_t last = targets.rank - 1;
  const int64_t start = targets.rank == 2 ? n * targets.strides[0] : first * targets.strides[0];
  loadRow(targets.type, kI64)(targets.host + start * targets.item, targets.strides[last] * targets.item, sample->labels,
                              sample->count);
  return std::all_of(sample->labels, sample->labels + sample->count,
                     [&](int64_t label) { return label >= 0 && label < sample->classes; });
}

/* The workspace: a sample's matrices, and the labels behind them. */
Sample sampleRooms(const aclOpExecutor &executor, const Operand &logs, int64_t longest) {
  Sample sample;
  sample.classes = logs.dims[2];
  sample.longest = longest;
  sample.blank = executor.attributes[kBlank];
  sample.logs = reinterpret_cast<double *>(executor.workspace);
  sample.alpha = sample.logs + logs.dims[0] * sample.classes;
  sample.beta = sample.alpha + logs.dims[0] * (2 * longest + 1);
  sample.later = sample.beta + 2 * longest + 1;
  sample.shares = sample.later + 2 * longest + 1;
  sample.labels = reinterpret_cast<int64_t *>(sample.shares + sample.classes);
  return sample;
}

int64_t longestOf(const aclOpExecutor &executor) {
  int64_t longest = 0;
  for (uint32_t i = executor.integers.size() / 2; i < executor.integers.size(); ++i) {
    longest = std::max(longest, executor.integers[i]);
  }
  return longest;
}

bool readSample(const aclOpExecutor &executor, const Operand &logs, const Operand &targets, int64_t n, Sample *sample) {
  sample->times = executor.integers[static_cast<uint32_t>(n)];
  sample->count = executor.integers[static_cast<uint32_t>(n) + executor.integers.size() / 2];
  sample->states = 2 * sample->count + 1;
  moveMatrix(planeOf(logs, n), sample->logs, true);
  return readLabels(executor, targets, n, sample);
}

void scoreBeginnings(const Sample &s) {
  for (int64_t t = 0; t < s.times; ++t) {
    const double *before = s.alpha + (t - 1) * s.states, *logs = s.logs + t * s.classes;
    for (int64_t i = 0; i < s.states; ++i) {
      double reached = i < 2 ? 0.0 : kNever;
      if (t > 0) {
        reached = before[i];
        if (i > 0) reached = addLogs(reached, before[i - 1]);
        if (s.skips(i)) reached = addLogs(reached, before[i - 2]);
      }
      s.alpha[t * s.states + i] = reached + logs[s.label(i)];
    }
  }
}

double lossOf(const Sample &s) {
  if (s.times == 0) return s.count == 0 ? 0.0 : -kNever;
  const double *end = s.alpha + s.times * s.states;
  return -(s.count == 0 ? end[-1] : addLogs(end[-1], end[-2]));
}

/* log_probs, targets, loss, log_alpha */
aclError runLoss(const aclOpExecutor &executor) {
  const Operand &logs = executor.operands[0], &targets = executor.operands[1];
  const Operand &losses = executor.operands[2], &alphas = executor.operands[3];
  Sample s = sampleRooms(executor, logs, longestOf(executor));
  const StoreRow store = storeRow(losses.type, kF64), keep = storeRow(alphas.type, kF64);
  for (int64_t n = 0; n < logs.dims[1]; ++n) {
    if (!readSample(executor, logs, targets, n, &s)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    scoreBeginnings(s);
    double loss = lossOf(s);
    if (executor.attributes[kZeroInfinity] != 0 && std::isinf(loss)) loss = 0.0;
    store(&loss, losses.host + n * losses.strides[0] * losses.item, 0, 1);
    for (int64_t t = 0; t < logs.dims[0]; ++t) {
      for (int64_t i = 0; i < alphas.dims[2]; ++i) {
        const double score = t < s.times && i < s.states ? s.alpha[t * s.states + i] : kNever;
        keep(&score,
             alphas.host + (n * alphas.strides[0] + t * alphas.strides[1] + i * alphas.strides[2]) * alphas.item, 0, 1);
      }
    }
  }
  return ACL_SUCCESS;
}

/* The scores of all endings from time t on, in beta; those from the next time on are in `later`. */
void scoreEndings(const Sample &s, int64_t t) {
  for (int64_t i = 0; i < s.states; ++i) {
    double reached = i >= s.states - 2 ? 0.0 : kNever;
    if (t < s.times - 1) {
      reached = s.later[i];
      if (i + 1 < s.states) reached = addLogs(reached, s.later[i + 1]);
      if (i + 2 < s.states && s.skips(i + 2)) reached = addLogs(reached, s.later[i + 2]);
    }
    s.beta[i] = reached + s.logs[t * s.classes + s.label(i)];
  }
}

/* exp(log_probs) less the share of the paths that go through each class, into the place of log_probs. */
void takeSlopes(Sample *s, double loss, double grad) {
  for (int64_t t = s->times; t-- > 0;) {
    scoreEndings(*s, t);
    std::fill_n(s->shares, s->classes, kNever);
    for (int64_t i = 0; i < s->states; ++i) {
      double *share = s->shares + s->label(i);
      *share = addLogs(*share, s->alpha[t * s->states + i] + s->beta[i]);
    }
    double *logs = s->logs + t * s->classes;
    for (int64_t c = 0; c < s->classes; ++c) {
      logs[c] = (std::exp(logs[c]) - std::exp(s->shares[c] + loss - logs[c])) * grad;
    }
    std::swap(s->beta, s->later);
  }
}

/* grad, log_probs, targets, loss, log_alpha, out */
aclError runLossBackward(const aclOpExecutor &executor) {
  const Operand &grads = executor.operands[0], &logs = executor.operands[1], &out = executor.operands[5];
  Sample s = sampleRooms(executor, logs, longestOf(executor));
  for (int64_t n = 0; n < logs.dims[1]; ++n) {
    if (!readSample(executor, logs, executor.operands[2], n, &s)) return ACL_ERROR_RT_AICORE_EXCEPTION;
    scoreBeginnings(s);
    double grad;
    loadRow(grads.type, kF64)(grads.host + n * grads.strides[0] * grads.item, 0, &grad, 1);
    const double loss = lossOf(s);
    int64_t kept = s.times;
    if (executor.attributes[kZeroInfinity] != 0 && std::isinf(loss)) {
      kept = 0;
    } else {
      takeSlopes(&s, loss, grad);
    }
    std::fill(s.logs + kept * s.classes, s.logs + logs.dims[0] * s.classes, 0.0);
    moveMatrix(planeOf(out, n), s.logs, false);
  }
  return ACL_SUCCESS;
}

/* Keeps the lengths of a batch, each from 0 to `most`. */
aclnnStatus keepLengths(aclOpExecutor &executor, const char *name, const void *array, int64_t batch, int64_t most) {
  const aclIntArray *lengths = static_cast<const aclIntArray *>(array);
  if (static_cast<int64_t>(lengths->size) != batch) {
    return refuse(executor, "{} has {} elements, expected {}", name, lengths->size, batch);
  }
  for (uint64_t i = 0; i < lengths->size; ++i) {
    if (lengths->items[i] < 0 || lengths->items[i] > most) {
      return refuse(executor, "{} has the element {}, expected 0 to {}", name, lengths->items[i], most);
    }
    executor.integers.push() = lengths->items[i];
  }
  return ACLNN_SUCCESS;
}

aclnnStatus prepareShared(aclOpExecutor &executor, const Operand &logs, const Operand &targets,
                          const Argument *arguments, const Argument &blank, const Argument &zero_infinity) {
  if (logs.rank != 3) return refuse(executor, "logProbs has {} dimensions, expected 3", logs.rank);
  if (targets.rank != 1 && targets.rank != 2) {
    return refuse(executor, "targets has {} dimensions, expected 1 or 2", targets.rank);
  }
  if (blank.integer < 0 || blank.integer >= logs.dims[2]) {
    return refuse(executor, "blank is {}, there are {} classes", blank.integer, logs.dims[2]);
  }
  const int64_t batch = logs.dims[1], room = targets.dims[targets.rank - 1];
  SIM_TRY(keepLengths(executor, "inputLengths", arguments[0].pointer, batch, logs.dims[0]));
  SIM_TRY(keepLengths(executor, "targetLengths", arguments[1].pointer, batch, room));
  int64_t total = 0;
  for (uint32_t i = static_cast<uint32_t>(batch); i < executor.integers.size(); ++i) total += executor.integers[i];
  if (targets.rank == 1 ? total != room : targets.dims[0] != batch) return refuse(executor, "targets do not fit");
  executor.attributes[kBlank] = blank.integer;
  executor.attributes[kZeroInfinity] = zero_infinity.integer;
  const int64_t longest = longestOf(executor), states = 2 * longest + 1;
  const int64_t words = logs.dims[0] * (logs.dims[2] + states) + 2 * states + logs.dims[2] + longest;
  executor.workspace_size = roundUp(static_cast<uint64_t>(words) * sizeof(double));
  return ACLNN_SUCCESS;
}

aclnnStatus requireSamples(const aclOpExecutor &executor, const Operand &losses, int64_t batch) {
  return requireShape(executor, losses, {1, {batch}});
}

aclnnStatus requireScores(const aclOpExecutor &executor, const Operand &scores, const Operand &logs) {
  return requireShape(executor, scores, {3, {logs.dims[1], logs.dims[0], 2 * longestOf(executor) + 1}});
}

/* logProbs, targets, inputLengths, targetLengths, blank, zeroInfinity, negLogLikelihood, logAlpha */
aclnnStatus prepareLoss(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const auto &operands = executor.operands;
  SIM_TRY(prepareShared(executor, operands[0], operands[1], arguments + 2, arguments[4], arguments[5]));
  SIM_TRY(requireSamples(executor, operands[2], operands[0].dims[1]));
  SIM_TRY(requireScores(executor, operands[3], operands[0]));
  executor.run = runLoss;
  return ACLNN_SUCCESS;
}

/* gradOut, logProbs, targets, inputLengths, targetLengths, negLogLikelihood, logAlpha, blank, zeroInfinity, out */
aclnnStatus prepareLossBackward(aclOpExecutor &executor, const Argument *arguments, const OpBody &) {
  const auto &operands = executor.operands;
  SIM_TRY(prepareShared(executor, operands[1], operands[2], arguments + 3, arguments[7], arguments[8]));
  for (uint32_t index : {0u, 3u}) {
    SIM_TRY(requireSamples(executor, operands[index], operands[1].dims[1]));
  }
  SIM_TRY(requireScores(executor, operands[4], operands[1]));
  SIM_TRY(requireShape(executor, operands[5], shapeOf(operands[1])));
  executor.run = runLossBackward;
  return ACLNN_SUCCESS;
}

}  // namespace

SIM_OP(aclnnCtcLoss, prepareLoss, nullptr, 0)
SIM_OP(aclnnCtcLossBackward, prepareLossBackward, nullptr, 0)

}  // namespace sim
