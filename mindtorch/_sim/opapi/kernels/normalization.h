/* What all normalizations share: a tensor is cut into parts of equal size, each normalized by its own statistics. */
#ifndef MINDTORCH_SIM_OPAPI_KERNELS_NORMALIZATION_H_
#define MINDTORCH_SIM_OPAPI_KERNELS_NORMALIZATION_H_
#include <initializer_list>

#include "opapi/loops.h"

namespace sim {

struct Parts {
  int64_t leading;  /* dimensions from the first on, of which each index makes parts of its own */
  int64_t chunk;    /* channels (dimension 1) of a part; 0: channels are not told apart */
  int64_t run;      /* neighbouring elements of a part with the same weight */
  int64_t count;    /* parts */
  int64_t elements; /* of one part */
  int64_t weights;  /* elements of weight and bias */
};

struct NormOptions {
  double epsilon = 0.0;
  bool training = true; /* false: the running statistics are used */
  double momentum = 0.0;
  bool centred = true; /* the mean is subtracted */
};

/* operands: input, weight, bias, running mean, running variance, output, mean, reciprocal deviation; NULL where there
 * is none. */
aclnnStatus planForward(aclOpExecutor &executor, const Parts &parts, const NormOptions &options);
/* operands: gradient, input, mean, reciprocal deviation (without training: variance), weight, gradients of input,
 * weight and bias. */
aclnnStatus planBackward(aclOpExecutor &executor, const Parts &parts, const NormOptions &options);
/* What these have planned, with `input` in the place of the operand. */
aclError runNormalization(const aclOpExecutor &executor, const Operand &input);
aclError runNormalizationBackward(const aclOpExecutor &executor, const Operand &input);

/* The operands in the order that planForward and planBackward expect; -1: there is none. */
void arrange(aclOpExecutor &executor, std::initializer_list<int> order);
int64_t productOf(const Operand &operand, int32_t from, int32_t to);
Parts linesOf(const Operand &input, int32_t dims); /* the last `dims` dimensions make a part */
NormOptions rmsOptions(double epsilon);
void keepParts(aclOpExecutor &executor, const Parts &parts, const NormOptions &options);

}  // namespace sim
#endif
