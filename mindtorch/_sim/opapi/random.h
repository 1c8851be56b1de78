/* Random numbers by counting: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
 *
 * The words of an element follow from the seed, the offset and the element's logical index alone, so layout and order
 * of a tensor change nothing. */
#ifndef MINDTORCH_SIM_OPAPI_RANDOM_H_
#define MINDTORCH_SIM_OPAPI_RANDOM_H_
#include <cstdint>

#include "opapi/op.h"

namespace sim {

struct Philox {
  uint64_t seed;
  uint64_t offset;

  /* The four words of one value of the counter. */
  void block(uint64_t index, uint32_t words[4]) const {
    uint32_t a = static_cast<uint32_t>(index), b = static_cast<uint32_t>(index >> 32);
    uint32_t c = static_cast<uint32_t>(offset), d = static_cast<uint32_t>(offset >> 32);
    uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round, key0 += 0x9E3779B9u, key1 += 0xBB67AE85u) {
      const uint64_t left = uint64_t{0xD2511F53u} * a, right = uint64_t{0xCD9E8D57u} * c;
      a = static_cast<uint32_t>(right >> 32) ^ b ^ key0;
      c = static_cast<uint32_t>(left >> 32) ^ d ^ key1;
      b = static_cast<uint32_t>(right);
      d = static_cast<uint32_t>(left);
    }
    words[0] = a;
    words[1] = b;
    words[2] = c;
    words[3] = d;
  }
};

/* Fills operands[0] by a loop that reads its two parameters from numbers[0] and numbers[1] (real), and the seed and the
 * offset from the same two (integer): randomLoop<F, C>, F::apply(words, first parameter, second parameter). */
aclnnStatus prepareRandom(aclOpExecutor &executor, const Loop *loops, double first, double second, uint64_t seed,
                          uint64_t offset);

template <class F, class C>
void randomLoop(const LoopArguments &arguments) {
  const Number *numbers = arguments.numbers;
  const Philox philox{static_cast<uint64_t>(numbers[0].integer), static_cast<uint64_t>(numbers[1].integer)};
  C *out = static_cast<C *>(arguments.out);
  uint32_t words[4];
  for (int64_t i = 0; i < arguments.count; ++i) {
    const uint64_t element = static_cast<uint64_t>(arguments.first + i); /* two words for each */
    if (i == 0 || element % 2 == 0) philox.block(element / 2, words);
    out[i] = static_cast<C>(F::apply(words + element % 2 * 2, numbers[0].real, numbers[1].real));
  }
}

/* By compute type; integers and bool are rounded towards zero as any double is. */
template <class F>
constexpr Loop kRandomOf[] = {randomLoop<F, float>, randomLoop<F, double>};

}  // namespace sim
#endif
