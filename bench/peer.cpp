// The caching allocator of torch_npu as two C functions, for the loop of pairs.c.
#include "torch_npu/csrc/core/npu/NPUCachingAllocator.h"

extern "C" void *take(size_t bytes) { return c10_npu::NPUCachingAllocator::raw_alloc(bytes); }

extern "C" void give(void *block) { c10_npu::NPUCachingAllocator::raw_delete(block); }
