/* What convolution shares with its gradients. Windows of an image stand at places: the input and the output of a
 * convolution, or the output and the input of a transposed one. */
#ifndef MINDTORCH_SIM_OPAPI_KERNELS_CONVOLUTION_H_
#define MINDTORCH_SIM_OPAPI_KERNELS_CONVOLUTION_H_
#include "opapi/blas.h"
#include "opapi/loops.h"
#include "opapi/window.h"

namespace sim {

constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;

enum ConvolutionAttribute { kGroups, kTransposed, kStride, kPadding = kStride + 3, kDilation = kPadding + 3 };

Window convolutionWindow(const aclOpExecutor &executor, const Operand &image, const Operand &places,
                         const Operand &weight);
/* A part of an operand, from and to plain floats. */
void copyPlain(Operand part, float *plain, bool to_plain);
Operand sampleOf(const Operand &batch, int64_t n);
/* Up to three numbers from an array of `dims`. */
aclnnStatus readSizes(aclOpExecutor &executor, const char *name, const void *array, int32_t dims, int64_t least,
                      int64_t *sizes);
aclnnStatus takeSgemm(aclOpExecutor &executor); /* into executor.kernel */

}  // namespace sim
#endif
