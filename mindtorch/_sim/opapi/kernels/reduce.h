/* Reductions over any set of dimensions: one fold function a compute type over blocks of the reduced elements. */
#ifndef MINDTORCH_SIM_OPAPI_KERNELS_REDUCE_H_
#define MINDTORCH_SIM_OPAPI_KERNELS_REDUCE_H_
#include "opapi/loops.h"

namespace sim {

/* One output element in the making. Floating point accumulates in double: exact enough for every order. */
struct Accumulator {
  double real;
  double imaginary;
  int64_t integer;
  int64_t count;    /* elements folded so far */
  int64_t position; /* of the extreme element */
};

struct Reducer {
  void (*fold[4])(Accumulator *accumulator, const void *block, int64_t count); /* by compute type */
  void (*finish)(Accumulator *accumulator, uint8_t compute);                   /* may be NULL */
  double start;
  bool needs_elements; /* has no value for an empty set */
};

/* A view divided into the dimensions that stay and those that go. */
struct Division {
  Operand kept;
  Operand reduced;
};
Division divide(const Operand &in, uint32_t mask);

/* Fills the mask from a dim array (NULL or empty: all). */
aclnnStatus readDims(const aclOpExecutor &executor, const void *array, int32_t rank, uint32_t *mask);
Shape reducedShape(const Operand &in, uint32_t mask, bool keep);
/* operands[0] is reduced to its last outputs; `indices` is NULL or takes the position of the extreme element. */
aclnnStatus prepareReducer(aclOpExecutor &executor, const Reducer &reducer, uint8_t compute, uint32_t mask, bool keep);

}  // namespace sim
#endif
