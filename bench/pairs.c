/* One loop for every allocator: each is a pair of functions. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

typedef void *(*Take)(size_t bytes);
typedef void (*Give)(void *block);

static double thread_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

void give_all(Give give, void **blocks, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (blocks[i]) give(blocks[i]);
  free(blocks);
}

/* `count` blocks, their sizes in turn; NULL where memory is short. */
void **take_all(Take take, Give give, const uint64_t *sizes, size_t kinds, size_t count) {
  void **blocks = calloc(count, sizeof(void *));
  for (size_t i = 0; blocks && i < count; ++i)
    if (!(blocks[i] = take(sizes[i % kinds]))) {
      give_all(give, blocks, i);
      return NULL;
    }
  return blocks;
}

/* Gives back every second one. */
void make_gaps(Give give, void **blocks, size_t count) {
  for (size_t i = 0; i < count; i += 2) {
    give(blocks[i]);
    blocks[i] = NULL;
  }
}

/* Nanoseconds of the thread for a pair: takes a block and gives back the one taken `window` pairs before, `count`
 * times. `kinds` and `window` are powers of two. Negative where memory is short. */
double time_pairs(Take take, Give give, const uint64_t *sizes, size_t kinds, size_t window, size_t count) {
  void **blocks = take_all(take, give, sizes, kinds, window);
  double start = thread_nanoseconds(), end;
  if (!blocks) return -1;
  for (size_t i = 0; i < count; ++i) {
    size_t slot = i & (window - 1);
    give(blocks[slot]);
    blocks[slot] = take(sizes[i & (kinds - 1)]);
  }
  end = thread_nanoseconds();
  give_all(give, blocks, window);
  return (end - start) / (double)count;
}
