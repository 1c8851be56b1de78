/* Shared by convolution and its gradients. A window slides over an image; its positions are the output of a
 * convolution or the input of a transposed one. */
#ifndef MINDTORCH_SIM_OPAPI_KERNELS_CONVOLUTION_H_
#define MINDTORCH_SIM_OPAPI_KERNELS_CONVOLUTION_H_
#include "opapi/blas.h"
#include "opapi/loops.h"

namespace sim {

/* Sizes by dimension. Unused leading dimensions have size 1, stride 1, no padding. */
struct SlidingWindow {
  int64_t image[3];
  int64_t kernel[3];
  int64_t positions[3]; /* positions of the window: the output of a convolution */
  int64_t stride[3];
  int64_t padding[3];
  int64_t dilation[3];

  int64_t imageSize() const { return image[0] * image[1] * image[2]; }
  int64_t kernelSize() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t positionCount() const { return positions[0] * positions[1] * positions[2]; }
  /* Each position sees the pixel at its own place alone. */
  bool isPlain() const {
    return kernelSize() == 1 && imageSize() == positionCount() && padding[0] + padding[1] + padding[2] == 0;
  }
};

/* columns[channel][kernel element][position] = image[channel][...], 0 in the padding. `row` is the distance between the
 * rows of columns, which may hold the positions of several samples. */
void im2col(const float *image, int64_t channels, const SlidingWindow &window, float *columns, int64_t row);
/* The adjoint: image[channel][...] += columns[channel][kernel element][position]. */
void col2im(const float *columns, int64_t channels, const SlidingWindow &window, float *image, int64_t row);

/* positions[position] += the product of the window's elements with the image there, of one channel. */
void slideWindow(const float *image, const SlidingWindow &window, const float *weight, float *positions);

/* The elements in order: those of the operand itself where they are float and contiguous, else read to `buffer`. */
const float *floatsOf(const Operand &operand, float *buffer);
bool isPlainFloat(const Operand &operand);

constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;

enum ConvolutionAttribute { kGroups, kTransposed, kStride, kPadding = kStride + 3, kDilation = kPadding + 3 };

SlidingWindow convolutionWindow(const aclOpExecutor &executor, const Operand &image, const Operand &positions,
                                const Operand &weight);
/* How many samples share a matrix product: where there are few positions, a product mostly copies the weight.
 * `channels` are those of the image in a group. */
int64_t samplesPerProduct(const SlidingWindow &window, int64_t channels, int64_t samples, bool transposed);
Operand samplesOf(const Operand &batch, int64_t n, int64_t count);
Operand channelsFirst(const Operand &batch, int64_t n, int64_t count); /* the same as (channels, samples, ...) */
/* Up to three numbers from an array of `dims`. */
aclnnStatus readSizes(aclOpExecutor &executor, const char *name, const void *array, int32_t dims, int64_t least,
                      int64_t *sizes);
aclnnStatus takeSgemm(aclOpExecutor &executor); /* into executor.kernel */

}  // namespace sim
#endif
