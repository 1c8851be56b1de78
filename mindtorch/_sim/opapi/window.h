/* Windows that slide over an image of one to three dimensions: convolution, pooling, unfold and fold. */
#ifndef MINDTORCH_SIM_OPAPI_WINDOW_H_
#define MINDTORCH_SIM_OPAPI_WINDOW_H_
#include <cstdint>

namespace sim {

/* Sizes by dimension; unused leading dimensions have size 1, stride 1, no padding. */
struct Window {
  int64_t image[3];
  int64_t kernel[3];
  int64_t places[3]; /* where the window stands: the output of a convolution */
  int64_t stride[3];
  int64_t padding[3];
  int64_t dilation[3];

  int64_t imageSize() const { return image[0] * image[1] * image[2]; }
  int64_t kernelSize() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t placeCount() const { return places[0] * places[1] * places[2]; }
};

/* columns[channel][kernel element][place] = image[channel][...], 0 in the padding. */
void imageToColumns(const float *image, int64_t channels, const Window &window, float *columns);
/* The adjoint: image[channel][...] += columns[channel][kernel element][place]. */
void columnsToImage(const float *columns, int64_t channels, const Window &window, float *image);

}  // namespace sim
#endif
