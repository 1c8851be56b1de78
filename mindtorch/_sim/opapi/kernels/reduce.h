/* Reductions over any set of dimensions, along the elements of one result or across a row of results. */
#ifndef MINDTORCH_SIM_OPAPI_KERNELS_REDUCE_H_
#define MINDTORCH_SIM_OPAPI_KERNELS_REDUCE_H_
#include "opapi/loops.h"

namespace sim {

/* Partial results of up to kBlock neighbouring results. Sums of floats accumulate in double. */
struct Lanes {
  alignas(64) char values[kBlockBytes]; /* in the reducer's compute type */
  alignas(64) int64_t integers[kBlock]; /* positions of the extreme elements, or truth values */
};

/* By compute type of the elements; `position` counts the reduced elements that came before. */
struct Reducer {
  using Along = void (*)(Lanes *lanes, int64_t lane, const void *block, int64_t count, int64_t position);
  using Across = void (*)(Lanes *lanes, const void *row, int64_t count, int64_t position);
  Along along[kComputeCount];    /* a block of elements of one result */
  Across across[kComputeCount];  /* one element for each result */
  uint8_t result[kComputeCount]; /* compute type of the values */
  int64_t start;                 /* of the integers; values start at 0 */
  bool mean;                     /* the sum is divided by the number of elements */
  bool truth;                    /* the integers are the result; elements are read as truth values */
  bool needs_elements;           /* has no value for an empty set */
};

/* The dimensions of a view that are kept and those that are reduced, both without dimensions of size 1. */
struct ReductionView {
  Operand kept;
  Operand reduced;
};
ReductionView splitDims(const Operand &in, uint32_t mask);
void orderReduced(ReductionView *view);    /* so that memory is accessed in order */
bool isRowwise(const ReductionView &view); /* whether the last kept dimension has the smallest stride */
int64_t elementsOf(const Operand &view);

/* Fills the mask from a dim array (NULL or empty: all). */
aclnnStatus readDims(const aclOpExecutor &executor, const void *array, int32_t rank, uint32_t *mask);
Shape reducedShape(const Operand &in, uint32_t mask, bool keep);
/* operands[0] is reduced to its last outputs; `indices` is NULL or takes the position of the extreme element. */
aclnnStatus prepareReducer(aclOpExecutor &executor, const Reducer &reducer, uint8_t compute, uint32_t mask, bool keep);

}  // namespace sim
#endif
