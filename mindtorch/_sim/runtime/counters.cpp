// Counts of live objects. Every thread adds to a block of its own with plain stores, readers sum all blocks: an op
// counts several objects, and a locked instruction each would be a tenth of its budget.
#include <atomic>

#include "runtime.h"

namespace {

struct alignas(64) Block {
  std::atomic<int64_t> counts[SIM_KIND_COUNT] = {};
  std::atomic<bool> taken{true};
  Block *next = nullptr;
};

// Blocks are only ever added, so readers walk the list without a lock, in a forked child too. The block of a thread
// that has ended keeps its counts and goes to the next new thread.
std::atomic<Block *> first_block{nullptr};

struct ThreadBlock {
  Block *block = nullptr;
  ~ThreadBlock() {
    if (block != nullptr) block->taken.store(false, std::memory_order_release);
    block = nullptr;
  }
};

thread_local Block *own_block = nullptr;

Block *adoptBlock() {
  thread_local ThreadBlock owner;
  Block *block = first_block.load(std::memory_order_acquire);
  for (; block != nullptr; block = block->next) {
    bool taken = false;
    if (block->taken.compare_exchange_strong(taken, true, std::memory_order_acquire)) break;
  }
  if (block == nullptr) {
    block = new Block;
    block->next = first_block.load(std::memory_order_relaxed);
    while (!first_block.compare_exchange_weak(block->next, block, std::memory_order_release)) {
    }
  }
  owner.block = block;
  own_block = block;
  return block;
}

constexpr const char *kNames[SIM_KIND_COUNT] = {
    "context",         "stream",           "event",       "notify",   "device_memory", "host_memory",
    "physical_memory", "reserved_address", "tensor",      "scalar",   "int_array",     "float_array",
    "bool_array",      "tensor_list",      "scalar_list", "executor", "data_buffer",   "graph"};

}  // namespace

void simCount(SimKind kind, int64_t change) {
  Block *block = own_block;
  if (__builtin_expect(block == nullptr, 0)) block = adoptBlock();
  std::atomic<int64_t> &count = block->counts[kind];
  count.store(count.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

int64_t simLive(SimKind kind) {
  if (kind >= SIM_KIND_COUNT) return 0;
  int64_t sum = 0;
  for (Block *block = first_block.load(std::memory_order_acquire); block != nullptr; block = block->next) {
    sum += block->counts[kind].load(std::memory_order_relaxed);
  }
  return sum;
}

const char *simKindName(SimKind kind) { return kind < SIM_KIND_COUNT ? kNames[kind] : nullptr; }
