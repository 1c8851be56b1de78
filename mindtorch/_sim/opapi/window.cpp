#include "opapi/window.h"

#include <algorithm>

namespace sim {
namespace {

/* The places along one dimension at which kernel element `k` meets the image: from `first` to before `last`. */
struct Span {
  int64_t first;
  int64_t last;
  int64_t start; /* position in the image of place 0 */
};

Span spanOf(const Window &w, int d, int64_t k) {
  const int64_t start = k * w.dilation[d] - w.padding[d];
  const int64_t first = start < 0 ? (-start + w.stride[d] - 1) / w.stride[d] : 0;
  const int64_t last = start < w.image[d] ? (w.image[d] - 1 - start) / w.stride[d] + 1 : 0;
  return {std::min(first, w.places[d]), std::max(std::min(last, w.places[d]), std::min(first, w.places[d])), start};
}

/* Calls row(place, position in the image, count) for each row of places at which one kernel element meets the image. */
template <class Row>
void forEachRow(const Window &w, int64_t element, Row row) {
  const int64_t k[3] = {element / (w.kernel[1] * w.kernel[2]), element / w.kernel[2] % w.kernel[1],
                        element % w.kernel[2]};
  const Span z = spanOf(w, 0, k[0]), y = spanOf(w, 1, k[1]), x = spanOf(w, 2, k[2]);
  for (int64_t i = z.first; i < z.last; ++i) {
    for (int64_t j = y.first; j < y.last; ++j) {
      const int64_t place = (i * w.places[1] + j) * w.places[2];
      const int64_t line = (z.start + i * w.stride[0]) * w.image[1] + y.start + j * w.stride[1];
      row(place + x.first, line * w.image[2] + x.start + x.first * w.stride[2], x.last - x.first);
    }
  }
}

}  // namespace

void imageToColumns(const float *image, int64_t channels, const Window &w, float *columns) {
  const int64_t step = w.stride[2];
  std::fill_n(columns, channels * w.kernelSize() * w.placeCount(), 0.0f);
  for (int64_t c = 0; c < channels; ++c, image += w.imageSize()) {
    for (int64_t element = 0; element < w.kernelSize(); ++element, columns += w.placeCount()) {
      forEachRow(w, element, [&](int64_t place, int64_t position, int64_t count) {
        const float *from = image + position;
        float *to = columns + place;
        if (step == 1) {
          std::copy(from, from + count, to);
        } else {
          for (int64_t i = 0; i < count; ++i) to[i] = from[i * step];
        }
      });
    }
  }
}

void columnsToImage(const float *columns, int64_t channels, const Window &w, float *image) {
  const int64_t step = w.stride[2];
  for (int64_t c = 0; c < channels; ++c, image += w.imageSize()) {
    for (int64_t element = 0; element < w.kernelSize(); ++element, columns += w.placeCount()) {
      forEachRow(w, element, [&](int64_t place, int64_t position, int64_t count) {
        float *to = image + position;
        for (int64_t i = 0; i < count; ++i) to[i * step] += columns[place + i];
      });
    }
  }
}

}  // namespace sim
