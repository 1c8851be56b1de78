/* The operator cache, as CANN has it: one for all threads, of ACLNN_CACHE_LIMIT calls (10000). It is on, as on CANN;
 * MINDTORCH_SIM_OP_CACHE=0 switches it off. Phase 2 puts a call in; the next equal one finds its executor, in phase 1
 * or by the caller's own key (include/aclnn/op_cache.h). An executor from there cannot be made repeatable.
 *
 * Rules: (1) A call whose phase 2 has not succeeded is not found. (2) Nor is one whose executor was made repeatable, or
 * whose results have shapes that the elements decide. (3) When the cache is full of calls by 64-bit keys, no more are
 * kept; when it is full of others, the 30 that were not used for longest make room. (4) A key finds only a call of the
 * operator that CanUsePTACache has named. */
#ifndef MINDTORCH_SIM_NNOPBASE_OP_CACHE_H_
#define MINDTORCH_SIM_NNOPBASE_OP_CACHE_H_
#include <string>

#include "fork.h"
#include "nnopbase/executor.h"

namespace sim {

/* 0: the cache is off; 1: it is on; -1: the setting was not read yet */
extern SIM_API int32_t simOpCache;
SIM_API bool readOpCacheSetting();
inline bool opCacheEnabled() {
  const int32_t setting = __atomic_load_n(&simOpCache, __ATOMIC_RELAXED);
  return __builtin_expect(setting != 0, 0) && (setting > 0 || readOpCacheSetting());
}

void opCacheAtFork(Fork stage); /* its lock comes before those of the pools */

/* The key that the caller has set for its next call, or NULL. */
SIM_API const std::string *callerKey();
/* At the end of phase 1: whether a call with this key was kept; the executor remembers it. An empty key finds nothing.
 */
SIM_API bool findCall(aclOpExecutor *executor, std::string key);
/* In phase 2, while the descriptors are alive: keeps the call of phase 1. */
SIM_API void keepCall(const aclOpExecutor &executor);
/* A copy of the work: all but the workspace's address and what the protocol of the two phases needs. */
SIM_API aclOpExecutor *copyExecutor(const aclOpExecutor &executor);

}  // namespace sim
#endif
