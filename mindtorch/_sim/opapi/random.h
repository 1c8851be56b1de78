/* Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011). The random words of an element
 * depend on the seed, the offset and the element's logical index only, not on strides or on the order of evaluation. */
#ifndef MINDTORCH_SIM_OPAPI_RANDOM_H_
#define MINDTORCH_SIM_OPAPI_RANDOM_H_
#include <algorithm>
#include <cstdint>

#include "opapi/op.h"
#include "opapi/vector.h"

namespace sim {

struct Philox {
  uint64_t seed;
  uint64_t offset;

  /* The four words of each of `Lanes` values of the counter. */
  template <int Lanes>
  SIM_INLINE void blocks(uint64_t first, uint32_t *words) const {
    uint32_t a[Lanes], b[Lanes], c[Lanes], d[Lanes];
    for (int i = 0; i < Lanes; ++i) {
      a[i] = static_cast<uint32_t>(first + static_cast<uint64_t>(i));
      b[i] = static_cast<uint32_t>((first + static_cast<uint64_t>(i)) >> 32);
      c[i] = static_cast<uint32_t>(offset);
      d[i] = static_cast<uint32_t>(offset >> 32);
    }
    uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round, key0 += 0x9E3779B9u, key1 += 0xBB67AE85u) {
      for (int i = 0; i < Lanes; ++i) {
        const uint64_t left = uint64_t{0xD2511F53u} * a[i], right = uint64_t{0xCD9E8D57u} * c[i];
        a[i] = static_cast<uint32_t>(right >> 32) ^ b[i] ^ key0;
        c[i] = static_cast<uint32_t>(left >> 32) ^ d[i] ^ key1;
        b[i] = static_cast<uint32_t>(right);
        d[i] = static_cast<uint32_t>(left);
      }
    }
    for (int i = 0; i < Lanes; ++i) {
      words[4 * i] = a[i];
      words[4 * i + 1] = b[i];
      words[4 * i + 2] = c[i];
      words[4 * i + 3] = d[i];
    }
  }

  void block(uint64_t index, uint32_t words[4]) const { blocks<1>(index, words); }
};

/* Whether seed and offset are values, or tensors of one element that are read at run time, followed by a value that
 * is added to the offset. */
enum SeedForm : int64_t { kScalars, kTensors };

/* takeSeed stores seed and offset from arguments[position] on in the attributes from kSeed on; philoxOf reads them at
 * run time. */
constexpr int kSeed = 13;
aclnnStatus takeSeed(aclOpExecutor &executor, const Argument *arguments, int position, int64_t form);
Philox philoxOf(const aclOpExecutor &executor);

/* Fills operands[0] by a loop that reads its two parameters from scalars[0] and scalars[1] (real), and the seed and the
 * offset from the same two (integer): randomLoop<F, C>, F::apply(words, first parameter, second parameter). */
aclnnStatus prepareRandom(aclOpExecutor &executor, const Loop *loops, double first, double second);

template <class F, class C>
SIM_CLONES void randomLoop(const LoopArguments &arguments) {
  constexpr int kBlocks = 32; /* of two elements each */
  const Scalar *scalars = arguments.scalars;
  const Philox philox{static_cast<uint64_t>(scalars[0].integer), static_cast<uint64_t>(scalars[1].integer)};
  C *out = static_cast<C *>(arguments.out);
  uint32_t words[4 * kBlocks];
  for (int64_t i = 0; i < arguments.count;) {
    const uint64_t element = static_cast<uint64_t>(arguments.first + i);
    const int64_t skipped = static_cast<int64_t>(element % 2);
    const int64_t count = std::min<int64_t>(arguments.count - i, 2 * kBlocks - skipped);
    if (skipped + count <= 2) { /* fast path for one or two elements */
      philox.block(element / 2, words);
    } else {
      philox.blocks<kBlocks>(element / 2, words);
    }
    const uint32_t *mine = words + 2 * skipped;
    for (int64_t j = 0; j < count; ++j) {
      out[i + j] = static_cast<C>(F::apply(mine + 2 * j, scalars[0].real, scalars[1].real));
    }
    i += count;
  }
}

/* By compute type; integers and bool are rounded towards zero as any double is. */
template <class F>
constexpr Loop kRandomOf[] = {randomLoop<F, float>, randomLoop<F, double>};

}  // namespace sim
#endif
